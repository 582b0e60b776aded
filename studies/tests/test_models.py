"""The studies of classifiers: their tables, their splits, their published summaries."""

import itertools

import numpy as np
import pytest

from dampen_studies.datasets import packaged
from dampen_studies.experiments import bins, model_methods, models
from dampen_studies.report import model_tables


def test_a_bundled_table_is_coded_in_its_domains():
    table = packaged.load("wine", 5)
    assert table.codes.shape == (178, 13)
    assert table.n_classes == 3
    assert (table.codes.min(axis=0) == 0).all()
    assert (table.codes.max(axis=0) == np.array(table.sizes) - 1).all()
    assert set(table.sizes) == {5}
    assert all(table.ordered)


def test_columns_of_text_and_missing_numbers_have_codes_of_their_own():
    pd = pytest.importorskip("pandas")
    codes, size, ordered = packaged._coded(pd.Series([0.0, np.nan, 10.0, 4.9]), 2)
    assert (codes.tolist(), size, ordered) == ([0, 2, 1, 0], 3, True)
    codes, size, ordered = packaged._coded(pd.Series(["b", "a", "b"]), 2)
    assert (codes.tolist(), size, ordered) == ([1, 0, 1], 2, False)


def test_every_row_is_for_fitting_or_for_testing():
    train, test = models.parts("wine", 178, 3)
    assert len(train) == 124
    assert sorted([*train, *test]) == list(range(178))
    assert not np.array_equal(train, models.parts("wine", 178, 4)[0])


def test_the_default_of_0_1_is_what_it_was():
    """Depth 1, 3, 5 and the shares that its documentation stated."""
    domains = packaged.load("digits", 10).domains()
    public = {"domains": domains, "classes": range(10), "max_rows": 30_000}
    trees = [model_methods.former(e, None, **public) for e in ("0.01", "0.1", "1")]
    assert [tree.rule.depth for tree in trees] == [1, 3, 5]
    assert [str(share) for share in trees[1].rule.shares] == ["4/15", "4/15", "4/15", "1/5"]
    assert trees[1].rule.criteria == ("gini", "gini", "max")


def made_up(scores):
    names, methods = ("one", "two"), ("dampen", "former", "bayes", *model_methods.PEERS)
    return [
        {"dataset": n, "classes": 2.0, "rows": 70.0, "epsilon": e, "seed": float(seed),
         "method": m, "accuracy": scores(n, e, m) + 0.01 * seed}
        for n, e, m, seed in itertools.product(names, (0.1, 1.0), methods, (0, 1))
    ]  # fmt: skip


def test_the_summary_counts_losses_and_wins():
    def scores(name, epsilon, method):
        if (name, epsilon, method) == ("one", 1.0, "bayes"):
            return 0.9
        return {"dampen": 0.7, "former": 0.65 if name == "one" else 0.72}.get(method, 0.5)

    _, lines = model_tables.models_summary(made_up(scores))
    by_epsilon = {line[0]: line[1:] for line in lines}
    assert by_epsilon["0.1"] == [
        ".705",
        ".690",
        ".505",
        ".505",
        "1 (1) of 2",
        ".020",
        "100% (100%)",
    ]
    assert by_epsilon["1"][-1] == "50% (50%)"
    assert by_epsilon["all"][4:] == ["2 (2) of 4", ".020", "75% (75%)"]
    header, table = model_tables.models(made_up(scores))
    assert header == ["table", "model", "ε = 0.1", "ε = 1"]
    assert table[0] == ["one, 2 classes, 70 rows", "default", ".705", ".705"]
    assert table[2] == ["", "naive Bayes", ".505", ".905"]
    assert len(table) == 8


def test_scores_of_probabilities_are_those_of_scikit_learn():
    from sklearn.metrics import log_loss, roc_auc_score

    rng = np.random.default_rng(3)
    classes = rng.integers(0, 3, 90)
    chances = rng.dirichlet([1, 1, 1], 90).round(1) + 0.1
    chances /= chances.sum(axis=1, keepdims=True)
    expected = roc_auc_score(classes, chances, multi_class="ovr")
    assert models.mean_area(classes, chances) == pytest.approx(expected)
    expected = log_loss(classes, chances) / np.log(3)
    assert models.log_loss(classes, chances) == pytest.approx(expected)
    assert models.log_loss(np.array([0]), np.array([[0.0, 1.0]])) == pytest.approx(
        np.log(1e6) / np.log(2)
    )


@pytest.mark.filterwarnings("ignore:scipy.optimize:DeprecationWarning")
def test_logistic_regression_of_diffprivlib_learns():
    table = packaged.load("wine", 5)
    model = model_methods.COMPARED["logistic"](table, "1e4", 178, 1)
    chances = model.fit(table.codes, table.classes).predict_proba(table.codes)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert models.mean_area(table.classes, chances) > 0.95


def test_the_number_of_bins_of_a_coded_table_is_left_to_the_model():
    table = packaged.load("digits", 160)
    model = model_methods.FREE["dampen"](table, "1", 1000, 1)
    model.fit(table.numbers()[:1000], table.classes[:1000])
    assert {len(domain) for domain in model.domains_} <= {*range(1, 11), 41}
    missing = table._replace(codes=table.codes.copy(), sizes=(161, *table.sizes[1:]))
    missing.codes[3, 0] = 160
    assert np.isnan(missing.numbers()).nonzero() == ([3], [0])


def test_rules_are_scored_by_what_they_take_and_by_tables_left_out():
    def cell(name, ten, many):
        scores = dict.fromkeys(bins.COUNTS, ten) | {"160": many, "bayes": 0.9}
        return bins.Cell(name, 1.0, 700, 2, 4, 9, scores)

    cells = [cell("one", 0.5, 0.7), cell("two", 0.5, 0.6), cell("three", 0.8, 0.2)]
    assert bins.chosen_bins(cells[:2]) == 3200  # 2 columns, 9 classes, 160 bins
    assert bins.chosen_bins(cells) == 1000
    left = bins.left_out(cells, lambda others, c: c.with_bins(bins.chosen_bins(others)))
    assert left == [0.5, 0.5, 0.2]
    assert cells[0].tree == 0.7
    assert cells[0].bayes_by_rule
    assert cells[0].by(bins.NEVER) == 0.7
    assert bins.chosen_bayes(cells) == bins.BayesRule(8, 1, 4, 16)


def test_a_class_that_a_model_did_not_see_has_no_chance():
    class Model:
        classes_ = (0, 2)

        def predict_proba(self, codes):
            return np.array([[0.25, 0.75], [np.nan, 1.0]])

    assert models.chances_of(Model(), np.zeros((2, 1)), 3).tolist() == [[0.25, 0, 0.75], [0, 0, 1]]
