"""Small trees from a public menu: their utility, their counts, the law of whole trees."""

import itertools
import math
from fractions import Fraction
from functools import cache

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from flint import arb, ctx

from dampen import InsecureEntropy, ParameterError, TreeClassifier
from dampen.data.open import open_table
from dampen.mechanisms import PF, probabilities
from dampen.sampling import SystemEntropy
from dampen.selection import Selection
from dampen.sensitivity import constant
from dampen.testing.universes import Universe
from dampen.trees import staging
from dampen.trees.candidates import candidates_of
from dampen.trees.encoding import Categories, first_codes
from dampen.trees.growing import Rows
from dampen.trees.menus import STAY, draw_menu, free_energies, menu_selection
from dampen.trees.plan import Plan, checked_shares, default_stages
from dampen.trees.streaming import Coding, StreamedRows
from goodness import assert_draws_follow

DOMAINS = [Categories((0, 1)), Categories("ab"), Categories(range(3), ordered=True)]


def plan_of(epsilon, stages=(2,), menu=2, classes=2):
    return Plan(
        Fraction(epsilon),
        1000,
        stages,
        checked_shares(None, stages, stopping=False),
        PF,
        "free-energy",
        "binary",
        False,
        "pf",
        True,
        candidates=4,
        classes=classes,
        menu=menu,
    )


def rows_of(rows, columns=3, classes=2):
    codes = np.array([r[:-1] for r in rows], dtype=np.int64).reshape(-1, columns)
    return Rows(codes, np.array([r[-1] for r in rows], dtype=np.int64), classes)


def free_energy_in_balls(counts, epsilon):
    """The definition, to many digits."""
    ctx.prec = 300
    e, total = arb(epsilon), arb(0)
    for end in counts:
        mean = sum((e * int(t)).exp() for t in end) / len(end)
        total += mean.log() / e
    return total


@pytest.mark.parametrize("scale", [1, 30, 10**4, 2**31])
def test_free_energy_is_right_to_2_to_the_minus_47(scale):
    rng = np.random.default_rng(scale)
    for epsilon in (2.0**-60, 1e-9, 3e-4, 0.01, 0.7, 5.0, 1e6):
        counts = rng.integers(0, scale + 1, (1, 3, 4, 5)) * rng.integers(0, 2, (1, 3, 4, 5))
        found = free_energies(counts, epsilon)[0]
        for tree, u in zip(counts[0], found.tolist(), strict=True):
            exact = free_energy_in_balls(tree, epsilon)
            assert abs(arb(u) - exact) <= arb(2) ** -47 * exact + arb(2) ** -250


def test_free_energy_is_below_the_rows_that_a_label_gets_right_and_above_a_random_label():
    rng = np.random.default_rng(1)
    for epsilon in (0.003, 0.1, 2.0):
        counts = rng.integers(0, 60, (1, 200, 1, 4))
        found = free_energies(counts, epsilon)[0]
        for t, u in zip(counts[0, :, 0], found, strict=True):
            leaf = Selection(t, constant(1), one_sided=True, exact=True)
            label = probabilities(leaf, epsilon=str(epsilon), mechanism="em") @ t
            flip = probabilities(leaf, epsilon=str(epsilon), mechanism=PF) @ t
            assert t.mean() - 1e-9 <= u <= label + 1e-9
            assert label <= flip + 1e-9
            assert label <= u + math.log(4) / epsilon + 1e-9


def test_a_row_raises_free_energy_by_at_most_one():
    every = np.array(list(itertools.product(range(6), repeat=3)))
    for epsilon in (0.01, 1.0, 30.0):
        before = free_energies(every[None, :, None], epsilon)[0]
        for c in range(3):
            more = every.copy()
            more[:, c] += 1
            step = free_energies(more[None, :, None], epsilon)[0] - before
            assert -1e-12 <= step.min() <= step.max() <= 1 + 1e-12


def ends_by_hand(menu, codes):
    """Where every row ends in every tree, walking one split at a time."""
    found = np.zeros((len(codes), len(menu)), dtype=np.int64)
    for tree, row in itertools.product(range(len(menu)), range(len(codes))):
        node = 0
        for _ in range(menu.height[tree]):
            code = codes[row][menu.attribute[tree, node]]
            inside = menu.low[tree, node] <= code < menu.high[tree, node]
            node = 2 * node + (1 if inside else 2)
        found[row, tree] = node - (2 ** menu.height[tree] - 1)
    return found


def test_counts_at_the_ends_in_memory_and_in_a_stream():
    rng = np.random.default_rng(2)
    codes, classes = rng.integers(0, [2, 2, 3], (50, 3)), rng.integers(0, 4, 50)
    menu = draw_menu(candidates_of(DOMAINS, "binary"), 3, 20, InsecureEntropy(3))
    root = staging._Growth(DOMAINS).tree()
    found = Rows(codes, classes, 4).ends(root, menu)
    expected = np.zeros_like(found)
    for ends, c in zip(ends_by_hand(menu, codes), classes, strict=True):
        expected[0, np.arange(len(menu)), ends, c] += 1
    np.testing.assert_array_equal(found, expected)
    named = {"a": codes[:, 0], "b": np.array(["a", "b"])[codes[:, 1]], "c": codes[:, 2]}
    table = open_table(duckdb.from_arrow(pa.table(named | {"y": classes})))
    coding = Coding(dict(zip("abc", DOMAINS, strict=True)), "y", range(4))
    np.testing.assert_array_equal(StreamedRows(table, coding).ends(root, menu), expected)


def test_a_menu_has_no_split_all_single_splits_and_trees_that_tell_rows_apart():
    candidates = candidates_of(DOMAINS, "binary")
    menu = draw_menu(candidates, 4, 300, SystemEntropy())
    assert menu.height.tolist()[: 1 + len(candidates)] == [0] + [1] * len(candidates)
    assert set(menu.height.tolist()[1 + len(candidates) :]) == {2, 3, 4}
    assert np.exp(menu.log_prior).sum() == pytest.approx(1)
    grown = [staging._Growth(DOMAINS) for _ in range(len(menu))]
    for i, growth in enumerate(grown):
        growth.expand(0, menu, i)
    full = [len(g.attribute) == 2 ** (h + 1) - 1 for g, h in zip(grown, menu.height, strict=True)]
    deep = [f for f, h in zip(full, menu.height, strict=True) if h == 2]
    assert np.mean(deep) > 0.9  # a split that tells nothing apart was drawn again


def test_an_attribute_of_one_value_splits_nothing():
    domains = [Categories("a"), Categories((0, 1))]
    menu = draw_menu(candidates_of(domains, "binary"), 3, 50, SystemEntropy())
    splitting = menu.attribute[1:, 0]
    assert set(splitting.tolist()) == {1}
    assert len(draw_menu(candidates_of(domains[:1], "binary"), 3, 50, SystemEntropy())) == 1


@cache
def leaf_probabilities(counts, epsilon):
    leaf = Selection(counts, constant(1), one_sided=True, exact=True)
    return probabilities(leaf, epsilon=epsilon, mechanism=PF)


def law(rows, plan, menu, utility=free_energies):
    """The distribution of (tree of the menu, classes of its ends), from both selections."""
    root = staging._Growth(DOMAINS).tree()
    tables = rows_of(rows).ends(root, menu)
    label = float(plan.leaf_epsilon(1))
    u = utility(tables, label)[0]
    node = menu_selection(u, menu.log_prior, float(plan.query_epsilon(0)), plan.max_rows)
    chosen = probabilities(node, epsilon=plan.query_epsilon(0), mechanism=PF)
    outcomes = []
    for tree, p in enumerate(chosen):
        ends = tables[0, tree, : 2 ** menu.height[tree]]
        leaves = [leaf_probabilities(tuple(t), plan.leaf_epsilon(1)) for t in ends.tolist()]
        outcomes += [p * math.prod(classes) for classes in itertools.product(*leaves)]
    return outcomes


def largest_loss(plan, menu, **changes):
    every = Universe.add_remove_row(
        list(itertools.product(range(2), range(2), range(1), range(2))), max_rows=3
    )
    log_p = np.log([law(x, plan, menu, **changes) for x in every.databases])
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1)
    left, right = every.neighbours.T
    return np.abs(log_p[left] - log_p[right]).max()


SMALL_MENUS = [(2, seed) for seed in range(4)] + [(1, 0)]


@pytest.mark.parametrize(("height", "seed"), SMALL_MENUS)
@pytest.mark.parametrize("epsilon", ["1/2", "4"])
def test_privacy_loss_of_a_whole_tree_from_a_menu(epsilon, height, seed):
    """Tree and leaves together, over all tables with at most three rows: at most ε."""
    menu = draw_menu(candidates_of(DOMAINS, "binary"), height, 3, InsecureEntropy(seed))
    loss = largest_loss(plan_of(epsilon, (height,)), menu)
    assert 0.3 * float(Fraction(epsilon)) < loss <= float(Fraction(epsilon)) + 1e-9


def test_the_same_with_a_utility_of_four_times_the_sensitivity_is_rejected():
    menu = draw_menu(candidates_of(DOMAINS, "binary"), 2, 3, InsecureEntropy(0))

    def steeper(tables, epsilon):
        return 4 * free_energies(tables, epsilon)

    assert largest_loss(plan_of("4"), menu, utility=steeper) > 4.2


def test_the_same_with_a_penalty_that_depends_on_the_rows_is_rejected():
    """Leaving out ends without rows tells that they are empty."""
    menu = draw_menu(candidates_of(DOMAINS, "binary"), 2, 3, InsecureEntropy(0))

    def of_occupied(tables, epsilon):
        return free_energies(tables, epsilon) + 3.0 * (tables.sum(axis=3) > 0).sum(axis=2)

    assert largest_loss(plan_of("4"), menu, utility=of_occupied) > 4.2


def test_choices_follow_the_law(monkeypatch):
    """1,000 trees against all probabilities; an ε that is 30 % off would be rejected."""
    menu = draw_menu(candidates_of(DOMAINS, "binary"), 2, 6, InsecureEntropy(5))
    rng = np.random.default_rng(4)
    given = [
        (a, b, c, int(a == b or rng.random() < 0.2))
        for a, b, c in rng.integers(0, [2, 2, 3], (30, 3)).tolist()
    ]
    picked = []

    def choose(*arguments, draw=staging._choose):
        picked.append(draw(*arguments))
        return picked[-1]

    monkeypatch.setattr(staging, "draw_menu", lambda *_: menu)
    monkeypatch.setattr(staging, "_choose", choose)
    plan = plan_of("2")
    for _ in range(1000):
        staging.grow_in_stages(plan, DOMAINS, 2, rows_of(given), entropy=SystemEntropy())
    tables = rows_of(given).ends(staging._Growth(DOMAINS).tree(), menu)
    u = free_energies(tables, float(plan.leaf_epsilon(1)))[0]
    node = menu_selection(u, menu.log_prior, float(plan.query_epsilon(0)), plan.max_rows)
    right, wrong = (
        probabilities(node, epsilon=plan_of(e).query_epsilon(0), mechanism=PF) for e in ("2", "2.6")
    )
    assert_draws_follow(np.bincount(picked, minlength=len(menu)), right, wrong)


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
    together = model(1, stages=(2, 2, 3)).fit(X, y)
    assert np.mean(together.predict(X) == y) > 0.9
    shares = together.plan_.shares
    assert sum(shares) == 1
    assert [c.epsilon for c in together.plan_.charges()] == list(shares)
    assert "up to 2, then 2, then 3 levels" in str(together.plan())


def test_a_tree_in_stages_survives_json_and_says_what_it_is():
    X, y = exclusive_or(500)
    tree = model("0.5", entropy=InsecureEntropy(1, allow_release=True)).fit(X, y)
    again = TreeClassifier.from_json(tree.to_json())
    np.testing.assert_array_equal(again.predict(X), tree.predict(X))
    assert again.plan_ == tree.plan_
    assert again.report() == tree.report()
    assert again.stages == (2, 2, 3)
    assert "stage  0  tree" in tree.report()
    with pytest.raises(ParameterError):
        TreeClassifier.from_json(tree.to_json().replace('"menu": 333', '"menu": 0'))


def test_memory_and_streams_give_equal_trees():
    X, y = exclusive_or(600)
    entropy = InsecureEntropy(7, allow_release=True)
    names = [f"x{i}" for i in range(6)]
    domains = dict.fromkeys(names, Categories(range(10), ordered=True))
    columns = dict(zip(names, X.T, strict=True)) | {"y": y.astype(int)}
    make = {"domains": domains, "classes": [0, 1], "max_rows": 4000, "entropy": entropy}
    held = TreeClassifier("0.3", **make).fit_table(columns, target="y")
    relation = duckdb.from_arrow(pa.table(columns))
    streamed = TreeClassifier("0.3", **make).fit_table(relation, target="y")
    assert held.to_json() == streamed.to_json()


@pytest.mark.parametrize(
    "options",
    [
        {"stages": (2,), "max_depth": 2},
        {"stages": (7,)},
        {"stages": (6, 6, 6)},
        {"stages": (0,)},
        {"stages": ()},
        {"stages": "22"},
        {"stages": (2,), "branching": "multiway"},
        {"stages": (2,), "mechanism": "sld"},
        {"stages": (2,), "criterion": "max"},
        {"stages": (2,), "stopping": True},
        {"stages": (2,), "shares": ["1/3", "1/3", "1/3"]},
        {"criterion": "free-energy", "max_depth": 2},
    ],
)
def test_what_does_not_go_together_is_refused(options):
    with pytest.raises(ParameterError, match="Expected"):
        model(1, **options).fit(*exclusive_or(20))


def test_the_fewer_choices_epsilon_allows_the_more_levels_each_decides():
    def stages(epsilon):
        return default_stages(Fraction(epsilon), 10_000, 100, 2)

    assert stages("0.01") == (6,)
    assert stages("0.1") == (2, 2, 3)
    assert set(stages("1")) == {1}


def test_noisy_counts_at_the_leaves_of_a_tree_in_stages():
    X, y = exclusive_or()
    tree = model(3, stages=(2, 3), leaves="noisy-counts").fit(X, y)
    shares = tree.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert np.mean(shares[np.arange(len(y)), y.astype(int)]) > 0.8


def test_the_counts_of_classes_come_from_the_tree_without_splits():
    rows = rows_of([(0, 0, 0, 1), (1, 0, 2, 1), (1, 1, 1, 0)])
    tree = staging._Growth(DOMAINS).tree()
    assert rows.ends(tree, STAY).tolist() == [[[[1, 2]]]]
    assert first_codes(DOMAINS).tolist() == [0, 2, 4, 7]
