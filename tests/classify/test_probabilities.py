"""Probabilities from noisy counts: the posterior mean by its definition, and calibration."""

import numpy as np
import pytest

from dampen import InsecureEntropy, NaiveBayesClassifier
from dampen.paper.id3 import DiffPID3
from dampen.questions.classify.model import chances, expected_counts


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
