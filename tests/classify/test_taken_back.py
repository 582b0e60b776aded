"""Splits that the release which ends a tree may take back: law, loss, draws, rows, rounding."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from dampen import InsecureEntropy, TreeClassifier, bins
from dampen.core.sampling import SystemEntropy
from dampen.data.open import open_table
from dampen.questions.classify import growing
from dampen.questions.classify.encoding import Categories, candidates_of, first_codes
from dampen.questions.classify.growing import (
    LEAF,
    STAY,
    STOP,
    Choices,
    Coding,
    Rows,
    Selections,
    StreamedRows,
    TakenBack,
    Weights,
    draw_menu,
)
from dampen.questions.classify.plan import MOST_E, TreePlan, rounded_epsilon, split_shares
from dampen.testing.universe import Universe
from goodness import assert_draws_follow

DOMAINS = [Categories((0, 1)), Categories("ab")]
CANDIDATES = candidates_of(DOMAINS)
EVERY_ROW = list(itertools.product(range(2), repeat=3))
FIRST_SPLITS = {"one": (0,), "two": (0, 1)}
"""The splits of U: the root by the first column, then perhaps its first side by the second.  With
one, a level of a menu follows, with two the last level.
"""


def grown_by(splits):
    """U, as growing a tree makes it."""
    growth = growing._Nodes(CANDIDATES)
    leaf = 0
    for attribute in splits:
        leaf = growth.split(leaf, attribute, 0, 1)[0][1]
    return growth


def menu_of(growth):
    allowed = [growth.allowed[leaf] for leaf in growth.tree().leaves]
    widths = (1,) if len(allowed) == 2 else ()
    return draw_menu(CANDIDATES, widths, allowed, InsecureEntropy(1))


def rows_of(rows):
    codes = np.array([r[:-1] for r in rows], dtype=np.int64).reshape(-1, len(DOMAINS))
    return Rows(codes, np.array([r[-1] for r in rows], dtype=np.int64), 2)


def split_rows(rows, split):
    a, low, high = split
    inside = [r for r in rows if low <= r[a] < high]
    return inside, [r for r in rows if not low <= r[a] < high]


def table_of(rows):
    table = np.zeros((int(CANDIDATES.first[-1]), 2), dtype=np.int64)
    for *codes, c in rows:
        for a, code in enumerate(codes):
            table[CANDIDATES.first[a] + code, c] += 1
    return table


def softmax(terms):
    powers = np.exp(np.asarray(terms) - np.max(terms))
    return powers / powers.sum()


def both(key, prior, left, right):
    return [((key, a, b), prior * p * q) for (a, p), (b, q) in itertools.product(left, right)]


class Law:
    """The distribution of labelled trees: of every pick, as it is drawn from the root on."""

    def __init__(self, rows, splits, epsilon, taken_back=TakenBack):
        growth = grown_by(splits)
        self.rows = rows
        self.tree = growth.tree()
        self.menu = menu_of(growth)
        self.weights = Weights(CANDIDATES, epsilon)
        private = rows_of(rows)
        ends = private.ends(self.tree, self.menu, range(self.menu.trees), CANDIDATES.first)
        self.choices = Choices(self.menu, self.weights, *self.weights.ends(ends))
        tables = private.ends(self.tree, STAY, range(1), CANDIDATES.first)[:, 0, 0]
        self.back = taken_back(self.tree, self.weights, tables, self.choices.sums)

    def labels(self, rows):
        counts = np.bincount([r[-1] for r in rows], minlength=2)
        return [(("label", c), p) for c, p in enumerate(softmax(self.weights.epsilon * counts))]

    def last_level(self, rows):
        terms = softmax(self.weights.last_level(table_of(rows)))
        found = [(key, terms[0] * p) for key, p in self.labels(rows)]
        for s in range(len(CANDIDATES)):
            sides = split_rows(rows, CANDIDATES.codes(s))
            found += both(s, terms[1 + s], *map(self.labels, sides))
        return found

    def small_tree(self, rows, slot):
        if not self.menu.widths:
            return self.last_level(rows)
        stay, split = softmax(self.choices.at(slot, 0, 0, 0))
        sides = split_rows(rows, self.menu.split(slot, 0, 0, 0))
        found = [(("menu", key), stay * p) for key, p in self.labels(rows)]
        return found + both("menu", split, *map(self.last_level, sides))

    def node(self, rows, node=0):
        if self.tree.attribute[node] < 0:
            return self.small_tree(rows, int(self.tree.slots[node]))
        end, keep = softmax(self.back.terms[node])
        found = [(("end", key), end * p) for key, p in self.last_level(rows)]
        sides = split_rows(rows, (int(self.tree.attribute[node]), 0, 1))
        below = [self.node(s, int(c)) for s, c in zip(sides, self.tree.children(node), strict=True)]
        return found + both("kept", keep, *below)

    def probabilities(self):
        return dict(self.node(self.rows))


def by_definition(rows, splits, epsilon):
    """π(T) times exp(e · rows that are classified rightly), over all labelled trees."""
    growth = grown_by(splits)
    tree = growth.tree()
    menu = menu_of(growth)

    def leaf(rows):
        right = np.bincount([r[-1] for r in rows], minlength=2)
        return [(("label", c), 0.5 * math.exp(epsilon * n)) for c, n in enumerate(right)]

    def last_level(rows):
        found = [(key, LEAF * w) for key, w in leaf(rows)]
        for s in range(len(CANDIDATES)):
            sides = split_rows(rows, CANDIDATES.codes(s))
            found += both(s, (1 - LEAF) / len(CANDIDATES), *map(leaf, sides))
        return found

    def node(rows, at):
        if tree.attribute[at] < 0 and not menu.widths:
            return last_level(rows)
        if tree.attribute[at] < 0:
            sides = split_rows(rows, menu.split(int(tree.slots[at]), 0, 0, 0))
            found = [(("menu", key), LEAF * w) for key, w in leaf(rows)]
            return found + both("menu", 1 - LEAF, *map(last_level, sides))
        found = [(("end", key), STOP * w) for key, w in last_level(rows)]
        sides = split_rows(rows, (int(tree.attribute[at]), 0, 1))
        below = [node(side, int(c)) for side, c in zip(sides, tree.children(at), strict=True)]
        return found + both("kept", 1 - STOP, *below)

    weights = dict(node(rows, 0))
    total = sum(weights.values())
    return {key: w / total for key, w in weights.items()}


@pytest.mark.parametrize("splits", FIRST_SPLITS.values(), ids=FIRST_SPLITS)
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_picks_from_the_root_on_have_the_law_of_one_exponential_mechanism(epsilon, splits):
    rng = np.random.default_rng(0)
    for n in (0, 1, 7):
        rows = [tuple(r) for r in rng.integers(0, 2, (n, 3)).tolist()]
        found = Law(rows, splits, epsilon).probabilities()
        expected = by_definition(rows, splits, epsilon)
        assert found.keys() == expected.keys()
        np.testing.assert_allclose(
            list(found.values()), [expected[key] for key in found], rtol=1e-9
        )


def largest_loss(splits, epsilon, max_rows, taken_back=TakenBack):
    every = Universe.add_remove_row(EVERY_ROW, max_rows=max_rows)
    laws = [Law(x, splits, epsilon, taken_back).probabilities() for x in every.databases]
    log_p = np.log([[p[key] for key in laws[0]] for p in laws])
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1)
    left, right = every.neighbours.T
    return np.abs(log_p[left] - log_p[right]).max()


def plan_of(epsilon, stages=(1, 2), widths=(1,)):
    candidates = len(CANDIDATES)
    shares = split_shares(stages)
    plan = TreePlan(Fraction(1), 1000, stages, shares, candidates, 2, widths, 2, scored=True)
    return replace(plan, epsilon=Fraction(epsilon) / plan.shares[-1])


@pytest.mark.parametrize("epsilon", ["1/2", "4"])
@pytest.mark.parametrize("splits", FIRST_SPLITS.values(), ids=FIRST_SPLITS)
def test_privacy_loss_of_what_is_taken_back_and_of_all_that_follows(splits, epsilon):
    """Splits taken back, small trees and classes together: at most ε, not ε for each of them."""
    plan = plan_of(epsilon, (*(1 for _ in splits), 2))
    loss = largest_loss(splits, plan.joint_epsilon, 2)
    paid = float(Fraction(epsilon))
    assert 0.5 * paid < loss <= paid + 1e-9


def test_twins_are_found():
    """Splits kept where rows are on both sides of them, and weights at another e than the rest."""

    class Occupied(TakenBack):
        def __init__(self, tree, weights, tables, sums):
            super().__init__(tree, weights, tables, sums)
            if not tables.sum(axis=(1, 2)).all():
                self.terms[0, 1] -= 1

    class Tripled(TakenBack):
        def __init__(self, tree, weights, tables, sums):
            super().__init__(tree, weights, tables, sums)
            self.terms *= 3

    assert largest_loss((0,), 0.5, 2, Occupied) > 0.55
    assert largest_loss((0,), 4.0, 2, Tripled) > 4.1


def test_fits_follow_the_law(monkeypatch):
    """700 trees against the law of what is taken back; an ε 30 % off would be rejected."""
    rng = np.random.default_rng(4)
    rows = [(a, b, int(b or rng.random() < 0.3)) for a, b in rng.integers(0, 2, (16, 2))]
    rows = [tuple(map(int, r)) for r in rows]
    menu = menu_of(grown_by((0,)))
    picked = []

    def draw(*arguments, draw=growing._draw):
        picked[-1].append(draw(*arguments))
        return picked[-1][-1]

    monkeypatch.setattr(growing, "draw_menu", lambda *_: menu)
    monkeypatch.setattr(growing, "_draw", draw)
    monkeypatch.setattr(Selections, "choose", lambda *_: 0)  # the split by the first column
    plan = plan_of("0.4")
    for _ in range(700):
        picked.append([])
        growing.grow_in_stages(plan, CANDIDATES, rows_of(rows), entropy=SystemEntropy())
    keys = [("end", s) for s in range(1 + len(CANDIDATES))] + ["kept"]
    counts = dict.fromkeys(keys, 0)
    for keep, *others in picked:
        counts["kept" if keep else ("end", others[0])] += 1

    def law(epsilon):
        found = dict.fromkeys(keys, 0.0)
        for (kind, *rest), p in Law(rows, (0,), epsilon).probabilities().items():
            split = rest[0][0] if kind == "end" else None
            key = ("end", 0 if split == "label" else 1 + split) if kind == "end" else "kept"
            found[key] += p
        return np.array(list(found.values()))

    assert_draws_follow(np.array(list(counts.values())), law(plan.joint_epsilon), law(2.4))


def test_rows_are_followed_anew_where_splits_are_taken_back():
    """In memory and in a stream: the counts of a smaller tree after those of a larger one."""
    rng = np.random.default_rng(2)
    codes, classes = rng.integers(0, 2, (50, 2)), rng.integers(0, 2, 50)
    growth = grown_by((0, 1))
    larger = growth.tree()
    number = growth.cut([larger.children(0)[0]])
    smaller = growth.tree()
    assert number == {0: 0, 1: 1, 2: 2}
    assert smaller.attribute.tolist() == [0, -1, -1]
    assert len(larger.attribute) == 5
    growth.split(2, 1, 0, 1)
    first = first_codes(DOMAINS)
    columns = {"a": codes[:, 0], "b": np.array(["a", "b"])[codes[:, 1]], "y": classes}
    table = open_table(duckdb.from_arrow(pa.table(columns)))
    coding = Coding(dict(zip("ab", DOMAINS, strict=True)), "y", range(2))
    held = Rows(codes, classes, 2)
    for tree in (larger, smaller, growth.tree(), larger):
        new = Rows(codes, classes, 2).ends(tree, STAY, range(1), first)
        np.testing.assert_array_equal(held.ends(tree, STAY, range(1), first), new)
        streamed = StreamedRows(table, coding).ends(tree, STAY, range(1), first)
        np.testing.assert_array_equal(streamed, new)


@pytest.mark.parametrize("scale", [1, 10**4, 2**29])
@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1.0])
def test_terms_are_within_the_paid_rounding(epsilon, scale):
    """In arithmetic of 300 bits, from the counts of the leaves and the logarithms of their sums."""
    from flint import arb, ctx

    rng = np.random.default_rng(scale)
    tree = grown_by((0, 1)).tree()
    weights = Weights(CANDIDATES, epsilon)
    corner = rng.integers(0, scale + 1, (2, 2, 2))  # of both columns, and the class
    tables = np.array(
        [
            [corner[1].sum(axis=0) * 0, corner[1].sum(axis=0), corner[1, 0], corner[1, 1]],
            [corner[0, 0], corner[0, 0] * 0, corner[0, 0], corner[0, 0] * 0],
            [corner[0, 1], corner[0, 1] * 0, corner[0, 1] * 0, corner[0, 1]],
        ]
    )
    sums = weights.leaves(tables[:, :2].sum(axis=1))
    back = TakenBack(tree, weights, tables, sums)
    ctx.prec = 300
    total = dict(zip(tree.leaves.tolist(), [arb(float(each)) for each in sums], strict=True))
    held = dict(zip(tree.leaves.tolist(), tables, strict=True))
    for node in (1, 0):
        children = np.unique(tree.children(node)).tolist()
        held[node] = sum(held[child] for child in children)
        ends = arb(0)
        for term in weights.last_level(held[node]).tolist():
            ends += arb(term).exp()
        end = ends.log() + arb(STOP).log()
        keep = sum((total[child] for child in children), arb(1 - STOP).log())
        eta = 2.0**-48 * (epsilon * int(held[node][:2].sum()) + len(CANDIDATES) + 2 + 64)
        for term, exact in zip(back.terms[node].tolist(), (end, keep), strict=True):
            assert abs(arb(term) - exact) <= eta
        total[node] = arb(float(np.logaddexp(*back.terms[node])))


def test_all_levels_pay_for_rounding_where_they_may_be_taken_back():
    plan = plan_of("1", (1, 1, 1, 2))
    size = len(CANDIDATES) + 2
    assert plan.joint_epsilon == rounded_epsilon(plan.label_epsilon, 5, size)
    unscored = replace(plan, scored=False)
    assert unscored.joint_epsilon == rounded_epsilon(plan.label_epsilon, 2, size)
    assert plan.joint_epsilon < unscored.joint_epsilon


def additive(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 12)) + 0.8 * y[:, None], y


def test_one_cut_of_the_score_takes_the_place_of_many_levels():
    """Of an additive table; e is at most 1, and what is left of its share goes to the tables."""
    model = TreeClassifier(
        "10",
        domains=[bins(-4, 5)] * 12,
        classes=[0, 1],
        max_rows=3000,
        entropy=InsecureEntropy(1, allow_release=True),
    )
    plan = model.plan()
    assert plan.scored
    assert len(plan.stages) > 4
    assert 0.98 * MOST_E < plan.joint_epsilon < 1.01 * MOST_E
    assert plan.tables > 3
    assert sum(charge.epsilon for charge in plan.facts.charges) == 10
    assert sum(plan.shares) == 1
    model.fit(*additive())
    assert model.get_n_leaves() < 8
    X, y = additive(seed=1)
    assert np.mean(model.predict(X) == y) > 0.9
