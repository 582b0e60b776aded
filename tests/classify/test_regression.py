"""Trees of numbers: `dampen.TreeRegressor`, its law, and its exact privacy loss."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import dampen
from dampen.core.mechanisms import probabilities
from dampen.core.sampling import InsecureEntropy, SystemEntropy
from dampen.core.selection import Selection
from dampen.core.sensitivity import constant
from dampen.errors import ParameterError
from dampen.questions.classify import TreeRegressor, bins
from dampen.questions.classify.encoding import Categories, candidates_of
from dampen.questions.classify.growing import (
    Rows,
    Weights,
    grown,
    level_rule,
    noisy_leaves,
)
from dampen.questions.classify.plan import FOR_VALUES, STEPS, WINDOW, tree_plan
from dampen.questions.classify.splits import scored, split_bound, split_selection
from dampen.testing.universe import Universe
from goodness import assert_draws_follow, counts_of

SEEDED = InsecureEntropy(5, allow_release=True)
CLASSES = 4
WIDE = 2
"""Classes and window of the small universes."""


@pytest.mark.filterwarnings("ignore::dampen.errors.PrivacyLeakWarning")
@parametrize_with_checks(
    [TreeRegressor(epsilon=10_000, max_depth=3, public="data", entropy=SEEDED)]
)
def test_scikit_learn_checks(estimator, check):
    """Of shallow trees: with an ε like this one a tree of its own depth takes long to grow."""
    check(estimator)


@pytest.mark.parametrize("window", [1, 2, 3, 4])
def test_scores_against_their_definition(window):
    counts = np.random.default_rng(window).integers(0, 2**31, (5, 3, CLASSES))
    expected = np.zeros_like(counts)
    for k, c in itertools.product(range(CLASSES), repeat=2):
        expected[..., c] += counts[..., k] * max(0, window - abs(k - c))
    assert scored(counts, window).tolist() == expected.tolist()


@pytest.mark.parametrize("window", [1, 2, 4])
def test_a_row_moves_a_split_by_at_most_the_window_and_upwards(window):
    """All tables of two values and four steps with at most two rows in a cell; more than N."""
    reached = 0.0
    for cells in itertools.product(range(2), repeat=2 * CLASSES):
        table = np.array(cells).reshape(2, CLASSES)
        before = split_selection(table, np.array([0, 2]), 3, "max", window=window)
        for cell in itertools.product(range(2), range(CLASSES)):
            more = table.copy()
            more[cell] += 1
            after = split_selection(more, np.array([0, 2]), 3, "max", window=window)
            change = after.utility[0] - before.utility[0]
            assert 0 <= change <= split_bound("max", 3, window) == window
            reached = max(reached, change)
    assert reached == window


def labelled_law(rows, weights):
    """ln P of one split, or none, and the labels of its leaves, as they are drawn."""
    candidates = weights.candidates
    table = np.zeros((int(candidates.first[-1]), CLASSES), dtype=np.int64)
    for code, step in rows:
        table[code, step] += 1

    def log_shares(terms):
        largest = max(terms)
        total = math.log(sum(math.exp(term - largest) for term in terms)) + largest
        return [term - total for term in terms]

    def labels(counts):
        return log_shares((weights.step * scored(counts, weights.window)).tolist())

    terms = log_shares(weights.last_level(table).tolist())
    found = [terms[0] + label for label in labels(table.sum(axis=0))]
    for s in range(len(candidates)):
        _, low, high = candidates.codes(s)
        inside = table[low:high].sum(axis=0)
        sides = labels(inside), labels(table.sum(axis=0) - inside)
        found += [terms[1 + s] + a + b for a, b in itertools.product(*sides)]
    return np.array(found)


def largest_loss(weights, rows=3):
    every = Universe.add_remove_row(list(itertools.product(range(2), range(CLASSES))), rows)
    laws = np.array([labelled_law(x, weights) for x in every.databases])
    np.testing.assert_allclose(np.exp(laws).sum(axis=1), 1)
    left, right = every.neighbours.T
    return float(np.abs(laws[left] - laws[right]).max())


def test_the_privacy_loss_of_a_split_and_the_labels_of_its_leaves():
    """At most e in all.  A twin that pays for one step and not for the window is found."""
    candidates = candidates_of([Categories((0, 1))])
    for e in (0.5, 3.0):
        assert 0.5 * e < largest_loss(Weights(candidates, e, WIDE)) <= e + 1e-9
        assert largest_loss(Weights(candidates, e * WIDE, WIDE)) > 1.1 * e


def sums_loss(window, scale, rows=3):
    """The largest ln P(z | x) / P(z | x') of the noisy sums of a leaf, over all its labels."""
    every = Universe.add_remove_row(list(range(CLASSES)), rows)
    losses = []
    for label in range(CLASSES):
        sums = []
        for x in every.databases:
            away = [min(max(step - label, -window), window) for step in x]
            sums.append((sum(window + d for d in away), sum(window - d for d in away)))
        for a, b in every.neighbours:
            moved = sum(abs(p - q) for p, q in zip(sums[a], sums[b], strict=True))
            losses.append(moved / scale)  # the loss of Laplace noise, which far outcomes reach
    return max(losses)


def test_the_privacy_loss_of_the_noisy_sums_of_a_leaf():
    """Exactly ε.  A twin whose noise is for one of the two sums is found."""
    epsilon = 0.5
    assert sums_loss(WIDE, 2 * WIDE / epsilon) == pytest.approx(epsilon)
    assert sums_loss(WIDE, WIDE / epsilon) == pytest.approx(2 * epsilon)


def test_noisy_sums_follow_their_law():
    """Noise of 3,000 leaves; an ε that is 30 % off would be rejected, but for 1 in 10^12 runs."""
    counts = np.random.default_rng(3).integers(0, 9, (3000, STEPS))
    label = np.random.default_rng(4).integers(0, STEPS, 3000)
    epsilon = Fraction(2)
    found = noisy_leaves(counts, label, epsilon, WINDOW, SystemEntropy())
    away = np.clip(np.arange(STEPS) - label[:, None], -WINDOW, WINDOW)
    true = np.stack([(counts * (WINDOW + s * away)).sum(axis=1) for s in (1, -1)], axis=1)
    z = np.arange(-80, 81)
    drawn = counts_of(np.clip(found - true, -80, 80).ravel().tolist(), z.tolist())
    rate = float(epsilon) / (2 * WINDOW)
    assert_draws_follow(drawn, np.exp(-rate * np.abs(z)), np.exp(-1.3 * rate * np.abs(z)))


def test_labels_of_leaves_follow_their_law():
    """1,500 trees without a split, against permute-and-flip on the scores of the steps."""
    domains = [Categories((0,))]
    plan = tree_plan(Fraction(1), domains, classes=STEPS, max_rows=9, max_depth=0, numbers=True)
    steps = np.array([3, 3, 4, 9, 20])
    picked = [
        int(
            grown(
                plan, candidates_of(domains), Rows(np.zeros((5, 1)), steps, STEPS),
                entropy=SystemEntropy(),
            ).label[0]
        )
        for _ in range(1500)
    ]  # fmt: skip
    counts = np.bincount(steps, minlength=STEPS)
    leaf = Selection(scored(counts, WINDOW), constant(WINDOW), one_sided=True, exact=True)
    rule = level_rule(plan)
    assert rule.leaf_epsilon(0) == 1 - FOR_VALUES
    right, wrong = (
        np.array(probabilities(leaf, epsilon=e, mechanism=rule.labelling))
        for e in (rule.leaf_epsilon(0), 4 * rule.leaf_epsilon(0))
    )
    assert_draws_follow(np.bincount(picked, minlength=STEPS), right, wrong)


def test_shares_add_up_to_epsilon():
    plan = tree_plan(Fraction(1), [bins(0, 9, 9)], classes=STEPS, max_rows=900, numbers=True)
    assert plan.facts.epsilon == 1
    assert sum(line.epsilon for line in plan.facts.charges) == 1
    assert plan.facts.spent("value") == FOR_VALUES
    assert set(plan.criteria) <= {"max"}


def jobs(rows=6000):
    X = {"job": ["none", "farm", "office"] * (rows // 3)}
    return X, [4, 44, 36] * (rows // 3)


def regressor(**options):
    public = {"lower": 0, "upper": 64, "domains": {"job": ["none", "farm", "office"]}}
    return TreeRegressor(**{"epsilon": 2, "max_rows": 10_000, **public, **options})


def test_a_tree_of_numbers_predicts_and_survives_json():
    X, y = jobs()
    model = regressor(entropy=SEEDED).fit(X, y)
    found = model.predict({"job": ["none", "farm", "office"]})
    assert np.abs(found - [4, 44, 36]).max() < 3
    again = TreeRegressor.from_json(model.to_json())
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert model.predict_table(X).tolist() == model.predict(X).tolist()
    assert "Private regression tree" in model.report()
    assert "Private regression tree" in model._repr_html_inner()
    with pytest.raises(ParameterError, match="JSON of a tree"):
        dampen.TreeClassifier.from_json(model.to_json())


def test_ends_are_public_and_asked_for_before_the_charge():
    class Account:
        def charge(self, cost, /):
            raise AssertionError(cost)

    X, y = jobs(30)
    for wrong in ({"lower": None}, {"lower": 64}, {"upper": "inf"}, {"upper": "x"}):
        with pytest.raises(ParameterError, match=r"lower|upper"):
            regressor(budget=Account(), **wrong).fit(X, y)


def test_far_numbers_count_as_the_ends_and_others_than_numbers_not_at_all():
    X, y = jobs(30)
    plain = regressor(entropy=SEEDED).fit({"job": X["job"]}, [min(v, 40) for v in y])
    far = regressor(entropy=SEEDED, upper=40).fit({"job": X["job"]}, y)
    near = regressor(entropy=SEEDED, upper=40).fit({"job": X["job"]}, [min(v, 40) for v in y])
    assert far.to_json() == near.to_json() != plain.to_json()
    more = {"job": [*X["job"], "farm", "none"]}
    odd = regressor(entropy=SEEDED, upper=40).fit(more, [*y, None, float("nan")])
    assert odd.to_json() == near.to_json()
