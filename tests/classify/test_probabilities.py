"""Probabilities from noisy counts: the posterior mean by its definition, and calibration."""

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dampen import (
    Classifier,
    InsecureEntropy,
    NaiveBayesClassifier,
    ParameterError,
    TreeClassifier,
)
from dampen.core.mechanisms import probabilities
from dampen.core.sampling import SystemEntropy
from dampen.core.selection import Selection
from dampen.core.sensitivity import constant
from dampen.paper.id3 import DiffPID3
from dampen.questions.classify.encoding import Categories, candidates_of
from dampen.questions.classify.growing import Rows, grown, level_rule
from dampen.questions.classify.model import chances, expected_counts, leading
from dampen.questions.classify.plan import (
    CLEAR_TABLES,
    FEW_TABLES,
    FOR_ODDS,
    PLENTY,
    PLENTY_TABLES,
    RANKING_TABLES,
    tree_plan,
)
from dampen.questions.classify.splits import split_selection
from dampen.testing.universe import Universe
from goodness import assert_draws_follow, counts_of


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 4.0])
def test_the_mean_of_a_count_given_its_noisy_value(epsilon):
    t = np.arange(2000)
    for z in (-40, -1, 0, 1, 7, 300):
        weights = np.exp(-epsilon * np.abs(t - z) + epsilon * abs(min(z, 0)))
        [found] = expected_counts(np.array([z]), epsilon)
        assert found == pytest.approx(weights @ t / weights.sum(), rel=1e-9)


def log_loss(chances, y):
    return -np.mean(np.log(np.maximum(chances[np.arange(len(y)), y], 1e-6)))


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, 3))
    return X, (rng.random(n) < 0.15 + 0.2 * X[:, 0]).astype(int)


def test_a_tree_with_noisy_counts_is_calibrated_and_beats_zeros_and_ones():
    """40 fits; rows in ten groups by chance, whose share of ones is within .05 of it."""
    X, y = table(20_000, 1)
    said, losses = [], []
    for seed in range(40):
        rows, classes = table(1500, 100 + seed)
        tree = DiffPID3(
            "0.6", mechanism="sld", max_depth=1, domains=[4, 4, 4], classes=[0, 1],
            max_rows=1500, entropy=InsecureEntropy(seed, allow_release=True),
        ).fit(rows, classes)  # fmt: skip
        p = tree.predict_proba(X)
        released = tree.model_.tree
        counts = np.maximum(released.counts[released.apply(X)], 0)
        plain = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        said.append(p[:, 1])
        losses.append([log_loss(q, y) for q in (p, plain, np.eye(2)[p.argmax(axis=1)])])
    ours, plain, certain = np.mean(losses, axis=0)
    assert ours < plain < certain
    every, true = np.concatenate(said), np.tile(y, 40)
    for group in np.array_split(np.argsort(every), 10):
        assert abs(every[group].mean() - true[group].mean()) < 0.05


def test_naive_bayes_is_less_sure_where_attributes_repeat_each_other():
    X, y = table(3000, 5)
    domains = [4] * 12
    model = NaiveBayesClassifier(
        "3", domains=domains, classes=[0, 1], entropy=InsecureEntropy(1, allow_release=True)
    ).fit(np.tile(X, 4), y)
    p = model.predict_proba(np.tile(X, 4))
    scores = model.tables_.log_scores(np.tile(X, 4))
    sure = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    assert log_loss(p, y) < log_loss(sure, y)
    np.testing.assert_array_equal(p.argmax(axis=1), sure.argmax(axis=1))


def test_chances_add_up_to_one_and_grow_with_the_counts():
    p = chances(np.array([[5, 0, -3], [0, 0, 0]]), 0.5)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert p[0, 0] > p[0, 1] == p[0, 2]
    np.testing.assert_allclose(p[1], 1 / 3)


DOMAINS = [Categories((0, 1)), Categories("abc")]
PAID = Fraction(2)


def law_of(rows, plan):
    """All trees of depth 1: log P, the counts of their leaves, and the tables of naive Bayes."""
    rule, candidates = level_rule(plan), candidates_of(DOMAINS)
    codes = np.array([r[:-1] for r in rows], dtype=np.int64).reshape(-1, 2)
    table = Rows(codes, np.array([r[-1] for r in rows], dtype=np.int64), 2).tables(
        [0], candidates.first
    )
    sides = candidates.tables(table)[0]
    starts = np.arange(0, 2 * len(candidates) + 1, 2)
    node = split_selection(sides.reshape(-1, 2), starts, rule.max_rows, rule.criteria[0])
    split = probabilities(node, epsilon=rule.split_epsilon(0), mechanism=rule.mechanism)
    logs = []
    for r, leaves in enumerate(sides):
        each = [
            probabilities(
                Selection(leaf, constant(1), one_sided=True, exact=True),
                epsilon=rule.leaf_epsilon(1), mechanism=rule.labelling,
            )
            for leaf in leaves
        ]  # fmt: skip
        logs.append([math.log(split[r] * p * q) for p in each[0] for q in each[1]])
    return np.array(logs), sides.reshape(len(sides), -1), table[0].ravel()


def cell_losses(scale):
    """The largest ln P(z | c) / P(z | c') of a noisy count over all z, for counts up to three."""
    z = np.arange(-20, 24)
    log_p = np.array([-np.abs(z - c) / float(scale) for c in range(4)])
    return (log_p[:, None] - log_p[None, :]).max(axis=2)


def largest_loss(plan, leaf_scale, table_scale):
    """Over all tables of at most three rows, all trees, all noisy counts."""
    rows = list(itertools.product(range(2), range(3), range(2)))
    every = Universe.add_remove_row(rows, max_rows=3)
    laws = [law_of(x, plan) for x in every.databases]
    of_leaf, of_table = cell_losses(leaf_scale), cell_losses(table_scale)
    losses = []
    for a, b in every.neighbours:
        for (logs, leaves, table), (others, *moved) in ((laws[a], laws[b]), (laws[b], laws[a])):
            by_tree = (logs - others).max(axis=1) + of_leaf[leaves, moved[0]].sum(axis=1)
            losses.append(by_tree.max() + of_table[table, moved[1]].sum())
    return max(losses)


def test_the_privacy_loss_of_a_tree_its_noisy_leaves_and_naive_bayes():
    """At most ε in all.  Twins whose counts have noise for a part of what they reveal are found."""
    plan = tree_plan(PAID, DOMAINS, classes=2, max_rows=1000, max_depth=1, probabilities=True)
    paid = float(plan.facts.epsilon)
    assert plan.facts.epsilon == PAID == plan.epsilon + plan.odds + plan.tables
    loss = largest_loss(plan, 1 / plan.odds, 2 / plan.tables)
    assert float(plan.odds + plan.tables) + 0.3 < loss <= paid + 1e-9
    whole = replace(plan, shares=(Fraction(1), Fraction(1)))  # each level pays for all
    assert largest_loss(whole, 1 / plan.odds, 2 / plan.tables) > loss + 0.2
    for_each = largest_loss(plan, 1 / plan.odds, 1 / plan.tables)  # one table pays for both
    assert for_each == pytest.approx(loss + float(plan.tables))
    twice = largest_loss(plan, 1 / (2 * plan.odds), 2 / plan.tables)  # inner nodes counted as well
    assert twice == pytest.approx(loss + float(plan.odds))


@pytest.mark.parametrize("stages", [(1,), (2,)])
def test_noisy_counts_of_leaves_follow_their_law(stages):
    """The noise of 600 trees; an ε that is 30 % off would be rejected, but for 1 in 10^12 runs."""
    X, y = table(40, 3)
    domains = [Categories(range(4))] * 3
    plan = tree_plan(PAID, domains, classes=2, max_rows=40, stages=stages, probabilities=True)
    noise = []
    for _ in range(600):
        rows = Rows(X, y, 2)
        tree = grown(plan, candidates_of(domains), rows, entropy=SystemEntropy())
        true = np.zeros_like(tree.counts)
        np.add.at(true, (tree.apply(X), y), 1)
        noise.append((tree.counts - true)[tree.leaves].ravel())
    z = np.arange(-60, 61)
    counts = counts_of(np.clip(np.concatenate(noise), -60, 60).tolist(), z.tolist())
    odds = float(PAID * FOR_ODDS)
    assert_draws_follow(counts, np.exp(-odds * np.abs(z)), np.exp(-1.3 * odds * np.abs(z)))


def test_probabilities_of_the_default_tree_are_calibrated_and_predict():
    """40 fits; rows in ten groups by chance, whose share of ones is within .1 of it."""
    X, y = table(20_000, 1)
    said, losses = [], []
    for seed in range(40):
        tree = TreeClassifier(
            "1", probabilities=True, domains=[4] * 3, classes=[0, 1], max_rows=1500,
            entropy=InsecureEntropy(seed, allow_release=True),
        ).fit(*table(1500, 100 + seed))  # fmt: skip
        p = tree.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        np.testing.assert_array_equal(tree.predict(X), p.argmax(axis=1))
        said.append(p[:, 1])
        losses.append([log_loss(p, y), log_loss(np.eye(2)[p.argmax(axis=1)], y)])
    ours, certain = np.mean(losses, axis=0)
    assert ours < 0.64 < certain
    every, true = np.concatenate(said), np.tile(y, 40)
    for group in np.array_split(np.argsort(every), 10):
        assert abs(every[group].mean() - true[group].mean()) < 0.1


def test_the_class_of_a_leaf_is_its_likeliest_and_others_keep_their_order():
    p = leading(np.array([0.3, 0.25, 0.4, 0.05]), 1)
    assert p.argmax() == 1
    assert p.sum() == pytest.approx(1)
    assert p[0] == pytest.approx(0.3, abs=1e-3)
    np.testing.assert_allclose(leading(np.array([0.7, 0.3]), 0), [0.7, 0.3], atol=1e-3)


def test_a_tree_with_probabilities_survives_json_and_its_damages_are_refused():
    X, y = table(500, 2)
    model = Classifier(
        "1", probabilities=True, domains=[4] * 3, classes=[0, 1], max_rows=500,
        entropy=InsecureEntropy(1, allow_release=True),
    ).fit(X, y)  # fmt: skip
    assert [c.purpose for c in model.model_.facts.charges][:2] == ["table", "odds"]
    assert "%)" in model.report()
    text = model.to_json()
    again = Classifier.from_json(text)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    content = json.loads(text)
    tables = content["answer"]["tables"]
    for change in ({"tables": tables[1:]}, {"tables": None}, {"counts": None}):
        damaged = content | {"answer": content["answer"] | change}
        with pytest.raises(ParameterError):
            Classifier.from_json(json.dumps(damaged))


def test_probabilities_mix_leaves_and_naive_bayes():
    X, y = table(500, 2)
    model = TreeClassifier(
        "4", probabilities=True, domains=[4] * 3, classes=[0, 1], max_rows=500,
        entropy=InsecureEntropy(1, allow_release=True),
    ).fit(X, y)  # fmt: skip
    assert '"tree 8"' in model.to_json()
    released = model.model_
    leaves = released.leaf_chances[released.tree.apply(X)]
    rows = released.tree.counts.sum()
    each = float(released.facts.spent("table")) * rows / released.tables.counts.size

    weight = 2 / 5 * each / (each + 1)
    odds = np.exp(2 * released.tables.log_scores(X) / math.sqrt(3))
    mixed = (1 - weight) * leaves + weight * odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), mixed)
    with pytest.raises(ParameterError):
        TreeClassifier.from_json(model.to_json().replace('"tree 8"', '"tree 6"'))


def test_the_share_of_naive_bayes_follows_from_public_facts():
    def share(rows, classes, domains=DOMAINS):
        plan = tree_plan(Fraction(1), domains, classes=classes, max_rows=rows, probabilities=True)
        tables, odds, *others = [line.epsilon for line in plan.facts.charges]
        assert odds == FOR_ODDS == 1 - tables - sum(others)
        assert "in every count of naive Bayes" in str(plan)
        return tables, plan.scored

    assert share(9, 2) == (FEW_TABLES, False)  # 2 + 3 values, two classes
    assert share(10, 2) == (RANKING_TABLES, False)  # a tree needs no score of two columns
    assert share(20, 2, DOMAINS * 2) == (RANKING_TABLES, True)
    assert share(1999, 2, DOMAINS * 2) == (RANKING_TABLES, True)
    assert share(2000, 2, DOMAINS * 2) == (CLEAR_TABLES, True)
    assert share(PLENTY - 1, 3) == (FEW_TABLES, False)
    assert share(PLENTY, 3) == (PLENTY_TABLES, False)
