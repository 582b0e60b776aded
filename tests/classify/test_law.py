"""The exact law of whole trees of depth 1: their privacy loss, and that fits follow it."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dampen.core.mechanisms import PF, named, probabilities
from dampen.core.sampling import SystemEntropy
from dampen.core.selection import Selection
from dampen.core.sensitivity import constant
from dampen.questions.classify.encoding import Categories, candidates_of
from dampen.questions.classify.growing import Rows, Selections, grow, level_rule
from dampen.questions.classify.plan import split_shares, tree_plan
from dampen.questions.classify.splits import split_selection
from dampen.testing.universe import Universe
from goodness import assert_draws_follow
from renyi import least_rho_of

DOMAINS = [Categories((0, 1)), Categories("abc")]


def rule_of(epsilon, mechanism, criterion):
    return Selections(Fraction(epsilon), 1000, split_shares((1,)), (criterion,), named(mechanism))


@cache
def leaf_probabilities(counts, epsilon, mechanism=PF):
    leaf = Selection(counts, constant(1), one_sided=True, exact=True)
    return probabilities(leaf, epsilon=epsilon, mechanism=mechanism)


def tree_probabilities(rows, rule, candidates):
    """The distribution of all trees of depth 1, from the probabilities of each selection."""
    codes = np.array([r[:-1] for r in rows], dtype=np.int64).reshape(-1, 2)
    classes = np.array([r[-1] for r in rows], dtype=np.int64)
    table = candidates.tables(Rows(codes, classes, 2).tables([0], candidates.first))[0]
    starts = np.arange(0, 2 * len(candidates) + 1, 2)
    node = split_selection(table.reshape(-1, 2), starts, rule.max_rows, rule.criteria[0])
    split = probabilities(node, epsilon=rule.split_epsilon(0), mechanism=rule.mechanism)
    result = []
    of_leaf = rule.leaf_epsilon(1), rule.labelling
    for r in range(len(candidates)):
        leaf = [leaf_probabilities(tuple(c.tolist()), *of_leaf) for c in table[r]]
        result += [split[r] * p * q for p in leaf[0] for q in leaf[1]]
    return result


@pytest.mark.parametrize(
    ("mechanism", "criterion"),
    [
        ("pf", "max"), ("pf", "gini"), ("pf", "tsallis"), ("em", "tsallis"),
        ("em", "information-gain"), ("sld", "information-gain"),
    ],
)  # fmt: skip
def test_privacy_loss_of_a_whole_tree(mechanism, criterion):
    """Split and leaves together, over all tables with at most three rows: at most ε."""
    candidates = candidates_of(DOMAINS, "binary")
    every = Universe.add_remove_row(
        list(itertools.product(range(2), range(3), range(2))), max_rows=3
    )
    rule = rule_of("2", mechanism, criterion)
    log_p = np.log([tree_probabilities(x, rule, candidates) for x in every.databases])
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1)
    left, right = every.neighbours.T
    loss = np.abs(log_p[left] - log_p[right]).max()
    assert loss <= 2 + 1e-9
    assert loss > 0.3
    assert math.isfinite(loss)


@pytest.mark.parametrize("selection", ["pf", "em"])
def test_the_price_in_zcdp_covers_a_whole_tree(selection):
    """Its own ρ of the split and of the leaves.  A twin that forgets the leaves is found."""
    candidates = candidates_of(DOMAINS, "binary")
    every = Universe.add_remove_row(
        list(itertools.product(range(2), range(3), range(2))), max_rows=3
    )
    plan = tree_plan(
        Fraction(2), DOMAINS, classes=2, max_rows=1000, max_depth=1, selection=selection
    )
    laws = [tree_probabilities(x, level_rule(plan), candidates) for x in every.databases]
    lost = least_rho_of(np.log(laws), every)
    split, leaf = (named(selection).rho(plan.epsilon * share) for share in plan.shares)
    assert plan.rho == split + leaf
    assert float(split) < lost <= float(plan.rho)


@pytest.mark.parametrize(
    ("mechanism", "criterion"),
    [("pf", "gini"), pytest.param("sld", "information-gain", marks=pytest.mark.slow)],
)
def test_fits_follow_the_law(mechanism, criterion):
    """2,000 trees against all probabilities; an ε that is 30 % off would be rejected."""
    rng = np.random.default_rng(4)
    rows = [(a, b, int(a == 1 or b == 2)) for a, b in rng.integers(0, [2, 3], (9, 2)).tolist()]
    candidates = candidates_of(DOMAINS, "binary")
    rule = rule_of("6", mechanism, criterion)
    codes, classes = np.array(rows)[:, :2], np.array(rows)[:, 2]
    index = {(*candidates.branches(r)[0], a): r for r, a in enumerate(candidates.attribute)}
    counts = np.zeros(4 * len(candidates), dtype=np.int64)
    for _ in range(2050):
        tree = grow(rule, candidates, Rows(codes, classes, 2), entropy=SystemEntropy())
        left = np.flatnonzero(tree.routes == 1).tolist()
        r = index[(*left, int(tree.attribute[0]))]
        counts[4 * r + 2 * tree.label[1] + tree.label[2]] += 1
    right = tree_probabilities(rows, rule, candidates)
    wrong = tree_probabilities(rows, rule_of("7.8", mechanism, criterion), candidates)
    assert_draws_follow(counts, right, wrong)
