"""Trees in stages as a user meets them: what they find, say, refuse, and how deep they are."""

from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from dampen import InsecureEntropy, ParameterError, TreeClassifier
from dampen.questions.classify.encoding import Categories
from dampen.questions.classify.plan import (
    Sizes,
    default_stages,
    default_widths,
    rounded_epsilon,
)


def exclusive_or(n=4000):
    X = np.random.default_rng(0).integers(0, 10, (n, 6))
    return X, (X[:, 0] > 4) ^ (X[:, 1] > 4)


def model(epsilon, **options):
    return TreeClassifier(
        epsilon,
        domains=[Categories(range(10), ordered=True)] * 6,
        classes=[False, True],
        max_rows=4000,
        **options,
    )


def test_two_levels_at_once_find_what_one_level_cannot_see():
    X, y = exclusive_or()
    together = model(1, stages=(1, 2)).fit(X, y)
    plan = together.plan()
    assert sum(plan.shares) == 1
    assert together.plan_ == plan.facts
    spent = [plan.tables, *(plan.epsilon * share for share in plan.shares)]
    assert [c.epsilon for c in plan.facts.charges] == spent
    assert [c.purpose for c in plan.facts.charges] == ["table", "split", "tree"]
    assert "1 levels, then up to 2 levels at once" in str(together.plan())
    assert np.mean(model(1, stages=(3,)).fit(X, y).predict(X) == y) > 0.85


def test_a_tree_in_stages_survives_json_and_says_what_it_is():
    X, y = exclusive_or(500)
    tree = model("0.5", entropy=InsecureEntropy(1, allow_release=True)).fit(X, y)
    again = TreeClassifier.from_json(tree.to_json())
    np.testing.assert_array_equal(again.predict(X), tree.predict(X))
    assert again.plan_ == tree.plan_
    assert again.report() == tree.report()
    assert again.release_ == tree.release_
    assert "  tree" in tree.report()
    more = tree.to_json().replace('"charges": [', '"charges": [[0, "leaf", "1"], ')
    with pytest.raises(ParameterError):
        TreeClassifier.from_json(more)


def test_memory_and_streams_give_equal_trees():
    X, y = exclusive_or(600)
    entropy = InsecureEntropy(7, allow_release=True)
    names = [f"x{i}" for i in range(6)]
    domains = dict.fromkeys(names, Categories(range(10), ordered=True))
    columns = dict(zip(names, X.T, strict=True)) | {"y": y.astype(int)}
    make = {"domains": domains, "classes": [0, 1], "max_rows": 4000, "entropy": entropy}
    for stages in ((3,), (1, 1, 2)):
        held = TreeClassifier("0.3", stages=stages, **make).fit_table(columns, target="y")
        relation = duckdb.from_arrow(pa.table(columns))
        streamed = TreeClassifier("0.3", stages=stages, **make).fit_table(relation, target="y")
        assert held.to_json() == streamed.to_json()


@pytest.mark.parametrize(
    "options",
    [
        {"stages": (2,), "max_depth": 2},
        {"stages": (7,)},
        {"stages": (2, 2, 3)},
        {"stages": (1,) * 12 + (6,)},
        {"stages": (0,)},
        {"stages": ()},
        {"stages": "22"},
    ],
)
def test_contradictory_parameters_are_refused(options):
    with pytest.raises(ParameterError, match="Expected"):
        model(1, **options).fit(*exclusive_or(20))


def test_the_more_choices_epsilon_allows_the_more_levels_come_first():
    def stages(epsilon, classes=2, values=100):
        return default_stages(Fraction(epsilon), 10_000, Sizes(10, values, 90, classes))

    singles = [len(stages(e)) - 1 for e in ("0.001", "0.01", "0.1", "1", "10")]
    assert singles == sorted(singles)
    assert singles[0] == singles[1] == 0
    assert singles[-1] == 7
    assert stages("0.001") < stages("0.001", classes=30)
    assert set(stages("10", values=10**6)) == {1}  # too many counts to hold


def test_menus_are_smaller_where_rows_are_many():
    sizes = Sizes(10, 100, 90, 2)
    few, many = (default_widths((1, 3), n, sizes) for n in (10**4, 10**7))
    assert few == (12, 12)
    assert all(1 <= w < f for w, f in zip(many, few, strict=True))
    assert default_widths((1, 1), 10**4, sizes) == ()


def test_rounding_is_paid_for_or_refused():
    e = rounded_epsilon(Fraction(1, 100), 5, 1000)
    reserve = 4 * Fraction(1, 2**48) * (5 * Fraction(2**31, 100) + 32 * 1064)
    assert Fraction(1, 100) * Fraction(99, 100) < Fraction(e) <= Fraction(1, 100) - reserve
    assert rounded_epsilon(Fraction(1, 10**9), 5, 1000) is None
    with pytest.raises(ParameterError, match="max_depth"):
        model("1e-9", stages=(3,)).plan()
    assert set(default_stages(Fraction(1, 10**9), 10**6, Sizes(5, 50, 45, 2))) == {1}
