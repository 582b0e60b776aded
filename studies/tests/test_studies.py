"""Every study on tiny data; the reference numbers of the theory on the real data, where it is."""

import os
from fractions import Fraction
from itertools import product

import networkx as nx
import numpy as np
import pytest

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.epsilon import exact
from dampen.questions.classify import Categories
from dampen_studies import studies
from dampen_studies.claims.percentiles import largest_reduction
from dampen_studies.datasets import Edges, small
from dampen_studies.experiments import (
    examples,
    found,
    graph_methods,
    key_names,
    percentiles,
    privatesql,
    topk,
    tree_methods,
    trees,
)
from dampen_studies.experiments.diffprivlib_names import diffprivlib
from dampen_studies.report import figures, palette

GRID = np.logspace(-1, 2, 30)
needs_data = pytest.mark.skipif(
    "DAMPEN_DATA" not in os.environ, reason="needs the real data: set DAMPEN_DATA"
)


@pytest.mark.parametrize("study", studies.ALL, ids=lambda s: s.name)
def test_a_cell_gives_the_same_rows_again_and_fills_the_columns(study, bundled, monkeypatch):
    monkeypatch.setattr(found, "RUNS", 10)  # the study that takes longest
    cell = study.cells(True)[0]
    rows = study.compute(cell)
    assert list(rows) == list(study.compute(cell))
    assert rows
    assert {len(row) for row in rows} == {len(study.columns)}
    numbers = [value for row in rows for value in row if isinstance(value, float)]
    assert np.isfinite(numbers).all()
    named = [dict(zip(study.columns, row, strict=True)) for row in rows]
    assert study.caption(named)
    assert {row["method"] for row in named if "method" in row} <= palette.LOOKS.keys()
    for panel in figures.panels(study.name, named):
        looks = [(palette.LOOKS[m].ink, palette.LOOKS[m].dashes) for m in _methods(panel)]
        assert len(set(looks)) == len(looks), "two methods of one panel look alike"
        assert (palette.OURS in _methods(panel)) == (study.name not in ("beta", "correlation"))


def _methods(panel):
    return [line.method for line in panel.lines]


def test_the_expected_share_of_a_top_k_is_that_of_all_outcomes(monkeypatch):
    """Four keys with a noise of three values each: all 81 outcomes."""
    monkeypatch.setattr(key_names, "K", 2)
    counts = np.array([4, 3, 2, 3])
    noise = [(-1, 0.3), (0, 0.5), (2, 0.2)]

    def law(count):
        noisy = count + np.arange(-1, 3)
        chance = np.array([0.3, 0.5, 0.0, 0.2])
        return noisy, np.where(noisy > 2, chance, 0)

    right = many = 0.0
    for outcome in product(noise, repeat=4):
        chance = np.prod([p for _, p in outcome])
        noisy = [(-(c + x), i) for i, (c, (x, _)) in enumerate(zip(counts, outcome, strict=True))]
        shown = sorted(each for each in noisy if -each[0] > 2)
        right += chance * sum(counts[i] >= 3 for _, i in shown[:2]) / 2
        many += chance * len(shown)
    assert key_names.expected(counts, law) == pytest.approx((right, many))


def test_labels_are_names():
    """One name for what the library does by default, whatever it does; one for each of the rest."""
    labels = [look.label for look in palette.LOOKS.values()]
    ours = palette.LOOKS[palette.OURS].label
    assert ours == "dampen"
    others = [label for label in labels if label != ours]
    assert len(set(others)) == len(others)


def test_both_halves_of_diffprivlib_are_there():
    assert diffprivlib().models.GaussianNB
    assert diffprivlib().tools.quantile


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("epsilon", ["0.1", "20", "1e6"])
@pytest.mark.filterwarnings("ignore::dampen.errors.AccuracyWarning")  # of small graphs
def test_dampen_is_what_the_library_does_by_default(k, epsilon):
    edges = small.graph("karate")
    _, tops = graph_methods.methods(edges)
    made = dampen.top_k(
        (edges.src, edges.dst),
        n=edges.n,
        k=k,
        epsilon=epsilon,
        entropy=InsecureEntropy(k, allow_release=True),
    )
    assert made.answer == tops["dampen"](k, Fraction(epsilon), InsecureEntropy(k))


def test_the_default_for_labels_is_the_library_s():
    made = dampen.percentile_record([1, 2, 3], p=50, epsilon=1, upper=9)
    counts = np.array([1, 2, 9])
    *_, (name, _, mechanism) = percentiles.label_selections(counts, 50, ("em",))
    assert (name, mechanism.name) == ("dampen", made.mechanism)


def test_worked_examples_use_the_definition():
    for seed in range(3):
        above = np.triu(np.random.default_rng(seed).random((8, 8)) < 0.4, 1)
        graph = nx.from_numpy_array((above | above.T).astype(int))
        expected = [
            nx.betweenness_centrality(nx.ego_graph(graph, c), normalized=False)[c] for c in graph
        ]
        assert np.allclose(examples.betweenness(above | above.T), expected)


def test_accuracy_rises_with_epsilon(bundled):
    rows = [
        row
        for cell in topk.STUDY.cells(True)
        if cell["dataset"] == "karate" and cell["k"] == 1
        for row in topk.STUDY.compute(cell)
    ]
    for method in ("em", "sld", "degree"):
        found = [row[5] for row in rows if row[3] == method]
        assert found[-1] == 1.0
        assert found[0] < 0.5


def test_true_top_breaks_ties_by_id():
    assert graph_methods.true_top(np.array([1.0, 3.0, 3.0, 2.0]), 1) == {1}
    assert graph_methods.share([1, 5], {1, 2}) == 0.5


def test_samples_are_connected_and_induced():
    edges = small.graph("miserables")
    graph = nx.Graph(zip(edges.src.tolist(), edges.dst.tolist(), strict=True))
    sample = privatesql.sample(edges, 20, InsecureEntropy(5))
    taken = nx.Graph(zip(sample.src.tolist(), sample.dst.tolist(), strict=True))
    assert sample.n == 20
    assert nx.is_connected(taken)
    assert len(taken) == 20
    assert taken.number_of_edges() <= graph.number_of_edges()
    assert (sample.src < sample.dst).all()


def test_views_without_noise_find_the_truth():
    edges = privatesql.sample(small.graph("miserables"), 20, InsecureEntropy(5))
    ebc, _ = graph_methods.methods(edges)
    counts = privatesql.sql_views.views(edges, truncation=20)
    exactly = privatesql.noisy_betweenness(counts, 1, exact("1e6"), InsecureEntropy(1))
    assert np.allclose(exactly, ebc)
    noisy = privatesql.noisy_betweenness(counts, 37, exact("0.1"), InsecureEntropy(1))
    assert not np.allclose(noisy, ebc, atol=1)
    fitted = privatesql.fitted_betweenness(counts, 1, exact("1e6"), InsecureEntropy(1))
    assert np.allclose(fitted, ebc)
    rows = privatesql.betweenness_of_rows(counts, 1, exact("1e6"), InsecureEntropy(1))
    assert np.allclose(rows, ebc)


def test_folds_partition_the_rows():
    parts = list(trees.folds(103, 10, 0, "x"))
    assert sorted(np.concatenate([test for _, test in parts]).tolist()) == list(range(103))
    for train, test in parts:
        assert len(train) + len(test) == 103
        assert not set(train.tolist()) & set(test.tolist())
    again = [test.tolist() for _, test in trees.folds(103, 10, 0, "x")]
    assert again == [test.tolist() for _, test in parts]
    assert again != [test.tolist() for _, test in trees.folds(103, 10, 1, "x")]


@pytest.mark.parametrize("method", tree_methods.makers())
def test_every_tree_finds_the_attribute_that_decides(method):
    X = np.column_stack([np.arange(60) % 3, np.arange(60) % 5])
    Y = (X[:, 0] == 1).astype(np.int64)
    domains = [Categories(range(3)), Categories(range(5))]
    public = {"domains": domains, "classes": [0, 1], "max_rows": 100}
    tree = tree_methods.makers()[method]("1000", 2, **public).fit(X, Y)
    assert tree.score(X, Y) == 1.0


def test_bundled_graphs_are_simple():
    for name, n, m in (("karate", 34, 78), ("miserables", 77, 254)):
        edges: Edges = small.graph(name)
        assert (edges.n, len(edges.src)) == (n, m)
        assert (edges.src < edges.dst).all()


@needs_data
@pytest.mark.parametrize(
    ("name", "p", "expected"),
    [("patent", 50, 45), ("patent", 99, 60), ("hepth", 90, 53), ("hepth", 99, 74)],
)
def test_percentile_reductions_match_the_theory(name, p, expected):
    rows = [
        dict(zip(percentiles.STUDY.columns, row, strict=True))
        for epsilon in percentiles.epsilons(30)
        for row in _errors(name, p, epsilon)
    ]
    assert abs(largest_reduction(rows, name, p) - expected) < 1


def local_sensitivities(x, p):
    """At distance 0 for every label, x ascending: exact; as in Lemma 10; as in its proof."""
    k = -(-p * (len(x) + 1) // 100)
    m, above, below, top = x[k - 1], x[k], x[k - 2], x[-1]
    i = np.arange(1, len(x) + 1)
    steps = [abs(m - x), np.full(len(x), above - m), np.full(len(x), m - below)]

    def largest(up, at_k, down):
        chosen = np.where(i > k, up, np.where(i == k, at_k, down))
        return np.maximum.reduce([*steps, *chosen])

    at_k = np.array([[top - above], [below]])
    return {
        "exact": largest([top - x, abs(m + below - x)], at_k, [abs(m + above - x - top), x]),
        "text": largest([top - x, x], at_k, [top + x - 3 * m + above, 3 * m - x - below]),
        "proof": largest([top - x, abs(x - m + below)], at_k, [abs(m + above - x - top), x]),
    }


@needs_data
@pytest.mark.parametrize(
    ("name", "p", "printed", "text", "proof"),
    [
        ("patent", 50, 44, 43, 44), ("patent", 90, 52, 42, 50), ("patent", 99, 59, 27, 59),
        ("hepth", 50, 12, 12, 12), ("hepth", 90, 52, 47, 52), ("hepth", 99, 73, 47, 72),
        ("hepth", 95, 63, 50, 62), ("income", 99, 3, 3, 3),
    ],
)  # fmt: skip
def test_the_paper_s_reductions_are_those_of_the_exact_sensitivity(name, p, printed, text, proof):
    """Cut to whole per cent; the last of HEPTH is p = 95, which the paper does not show."""
    x = np.sort(percentiles.load(name)).astype(float)
    u = -abs(x[-(-p * (len(x) + 1) // 100) - 1] - x)

    def error(q, epsilon):
        weights = np.exp(epsilon * (q - q.max()) / 2)
        return -u @ weights / weights.sum()

    found = {
        how: int(max(100 * (1 - error(u / ls, e) / error(u / x[-1], e)) for e in GRID))
        for how, ls in local_sensitivities(x, p).items()
    }
    assert found == {"exact": printed, "text": text, "proof": proof}


def _errors(name, p, epsilon):
    from dampen.core import error_analysis
    from dampen.paper.percentile_selection import PercentileLabel

    values = percentiles.load(name)
    s = PercentileLabel(n=len(values), p=p, upper=float(values.max())).selection(values)
    return [
        (name, p, float(epsilon), m, error_analysis.expected_error(s, epsilon=epsilon, mechanism=m))
        for m in ("em", "ld")
    ]


@needs_data
def test_top_k_on_enron_is_of_the_right_order():
    """theory.md, 40 runs each: a mean within .2 of its, where one run has a deviation below .25.

    False alarms: the difference of a mean of 16 runs and theirs has a deviation below .075, so .2
    is beyond two and a half of them; with a fixed seed the outcome does not change from run to
    run.  Half of ε moves the mean of `sld` by .3, which is found.
    """
    ebc, ready = graph_methods.prepared("enron")
    entropy = InsecureEntropy(7)
    expected = {"sld": (0.34, "0.1"), "degree": (0.79, "0.05"), "degree-joint": (0.93, "0.05")}
    truth = graph_methods.true_top(ebc, 5)
    for method, (error, epsilon) in expected.items():
        found = [
            graph_methods.share(ready[method](5, exact(epsilon), entropy), truth) for _ in range(16)
        ]
        assert abs(np.mean(found) - error) < 0.2, method
