"""ρ as a currency: what releases are charged in zCDP, what they lose, and what ρ buys."""

from fractions import Fraction

import numpy as np
import pytest

import dampen
from dampen import Ledger
from dampen.core.noise import laplace_rho, pure_rho
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import Neighbours
from dampen.errors import BudgetError
from dampen.problems import BestGroup
from dampen.questions.classify.model import bayes_rho, noise_scale
from dampen.questions.groups.above import AboveQuestion
from dampen.questions.groups.problem import divided
from dampen.questions.nodes.metric import Degree, counted
from dampen.releases.cost import Price
from dampen.releases.numbers import GAUSSIAN, LAPLACE
from dampen.testing import Universe
from goodness import assert_draws_follow
from renyi import least_rho, least_rho_of
from small_graphs import all_graphs

pytestmark = pytest.mark.filterwarnings("ignore::dampen.errors.AccuracyWarning")
FAR = 400
Z = np.arange(-FAR, FAR + 1)
BINS = {f"x{i}": [0, 1] for i in range(10)}
ROWS = {**{name: [0, 1] * 10 for name in BINS}, "y": [0, 1] * 10}
MODEL = {"target": "y", "domains": BINS, "classes": [0, 1], "max_rows": 100}


def log_law(noise, scale, moved=0):
    """The logarithms of P(Z + moved = z)."""
    away = (Z - moved) / float(scale)
    log = -(away**2) / 2 if noise == GAUSSIAN else -np.abs(away)
    return log - np.logaddexp.reduce(log)


@pytest.mark.parametrize(
    ("ask", "before", "now"),
    [
        (lambda e: dampen.NaiveBayesClassifier(epsilon=e, **_given()).fit(*_rows()), 0.5, 0.05),
        (lambda e: _tree(e, (3,)), 0.5, 0.125),
        (lambda e: _tree(e, (1, 3)), 0.5, 0.1222),
        (lambda e: _degree(e), 0.5, 0.2131),
        (lambda e: _percentiles(e, [50, 75]), 0.25, 0.125),
        (lambda e: _percentiles(e, [10, 30, 50, 70, 90]), 0.1667, 0.125),
        (lambda e: _record(e), 0.5, 0.2522),
        (lambda e: dampen.count(ROWS, epsilon=e), 0.5, 0.4621),
    ],
    ids=["bayes", "joint tree", "stages", "degree", "two", "five", "record", "count"],
)
def test_the_charge_of_a_release_at_epsilon_1(ask, before, now):
    """The table of docs/lab-budgets.md: half a unit of ε² before, the parts' own prices now."""
    made = ask(1)
    release = getattr(made, "release_", made)
    assert float(release.rho) == pytest.approx(now, abs=5e-5)
    assert now < before


def _given():
    return {"domains": list(BINS.values()), "classes": [0, 1]}


def _rows():
    return np.array([ROWS[name] for name in BINS]).T, ROWS["y"]


def _tree(epsilon, stages):
    tree = dampen.TreeClassifier(epsilon=epsilon, stages=stages, max_rows=100, **_given())
    return tree.fit(*_rows())


def _degree(epsilon):
    return dampen.top_k(
        [(0, 1), (1, 2)], k=1, metric="degree", n=4, mechanism="joint", epsilon=epsilon
    )


def _percentiles(epsilon, points):
    return dampen.percentile(range(50), p=points, upper=100, step=1, epsilon=epsilon)


def _record(epsilon):
    return dampen.percentile_record(range(2000), p=50, upper=2000, epsilon=epsilon)


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN])
@pytest.mark.parametrize("attributes", [1, 3, 10])
def test_naive_bayes_loses_what_it_is_charged(attributes, noise):
    """One count of each table moves by 1.  A twin that forgets a table of three is found."""
    e = Fraction(1)
    scale = noise_scale(attributes, e, noise)
    lost = attributes * least_rho(log_law(noise, scale), log_law(noise, scale, 1))
    stated = float(bayes_rho(attributes, noise)(e))
    assert 0.98 * stated < lost <= stated * (1 + 1e-9)
    if noise == LAPLACE:
        assert lost > float((attributes - 1) * pure_rho(e / attributes))


def test_gaussian_noise_of_naive_bayes_has_half_the_variance_of_laplace_noise():
    rho = Fraction("0.05")
    laplace = Price(rho=rho).asked(bayes_rho(10))
    gaussian = Price(rho=rho).asked(bayes_rho(10, GAUSSIAN))
    wide, narrow = noise_scale(10, laplace), noise_scale(10, gaussian, GAUSSIAN)
    assert float(narrow**2 / (2 * wide**2)) == pytest.approx(0.5, rel=0.01)
    assert narrow**2 >= 10 / (2 * rho)


def test_naive_bayes_for_rho_tells_its_noise(tmp_path):
    model = dampen.NaiveBayesClassifier(rho="0.05", **_given()).fit(*_rows())
    assert model.release_.epsilon is None
    assert model.release_.mechanism == GAUSSIAN
    assert "discrete Gaussian noise of standard deviation 10" in model.report()
    assert model.tables_.noise == GAUSSIAN
    assert "rho <0.05" in str(dampen.NaiveBayesClassifier(rho="0.05", **_given()).plan())
    ledger = Ledger(tmp_path / "ledger.jsonl")
    pure = ledger.create("pure", epsilon=9, neighbours="add-remove-row")
    with pytest.raises(BudgetError, match="no pure epsilon"):
        dampen.NaiveBayesClassifier(rho="0.05", budget=pure, **_given()).fit(*_rows())


PROBLEM = BestGroup(groups=["a", "b", "c"], lower=0, upper=2, step=1, caution=0)


def reach_law(rows, sigma, k, far=14):
    """The probability of every set of k of three groups, by adding up over all noise."""
    values, by = [v for _, v in rows], [g for g, _ in rows]
    contest = PROBLEM.contest(PROBLEM.counts(values, by), GAUSSIAN)
    z = np.arange(-far, far + 1)
    p = np.exp(-(z**2) / (2 * sigma**2))
    p /= p.sum()
    who = np.repeat(np.arange(3), len(z))
    whole, high, low = (x.reshape(3, -1) for x in contest.reach.at(who, np.tile(z, 3)).ordinals())
    level = np.unique(np.stack([whole, high, low], -1).reshape(-1, 3), axis=0, return_inverse=True)
    level = level[1].reshape(3, -1)
    f = np.zeros((3, level.max() + 1))
    for g in range(3):
        np.add.at(f[g], level[g], p)
    below = np.cumsum(f, axis=1) - f
    if k == 2:  # all but the smallest
        below = 1 - below - f
    law = []
    for g in range(3):
        b, c = (h for h in range(3) if h != g)
        both = below[b] * below[c] + (f[b] * below[c] + below[b] * f[c]) / 2 + f[b] * f[c] / 3
        law.append(f[g] @ both)
    return np.array(law)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("sigma", [0.7, 1.0, 2.0])
def test_reach_with_gaussian_noise_loses_at_most_rho(k, sigma):
    """1/(2σ²) for every k, over all tables of three rows.  A twin of half the scale is found."""
    rows = [(g, v) for g in "abc" for v in (0, 2)]
    universe = Universe.add_remove_row(rows, max_rows=3)
    rho = 1 / (2 * sigma**2)
    laws = np.log([reach_law(x, sigma, k) for x in universe.databases])
    lost = least_rho_of(laws, universe)
    assert 0.3 * rho < lost <= rho
    twin = np.log([reach_law(x, sigma / 2, k) for x in universe.databases])
    assert least_rho_of(twin, universe) > rho


def test_reach_for_rho_is_drawn_as_its_law_says():
    """False alarms below 1e-6; noise of a scale that is 30 % off is rejected."""
    rows = [("a", 2), ("a", 1), ("b", 1), ("b", 1), ("b", 2), ("c", 0), ("c", 2)]
    values, by = [v for _, v in rows], [g for g, _ in rows]
    contest = PROBLEM.contest(PROBLEM.counts(values, by), GAUSSIAN)
    entropy = InsecureEntropy(2)
    drawn = [contest.winners(1, Fraction(1), entropy)[0] for _ in range(4000)]
    counts = np.bincount(drawn, minlength=3)
    assert_draws_follow(counts, reach_law(rows, 1.0, 1), reach_law(rows, 2.0, 1))


def test_groups_above_with_gaussian_noise_lose_at_most_rho():
    """A bit is a half-line of the noise, which moves by at most 1; a twin at half of ρ is found."""
    for sigma in (0.7, 1.0, 3.0):
        p = np.exp(log_law(GAUSSIAN, sigma))
        above = np.cumsum(p[::-1])[::-1]
        middle = slice(FAR - int(3 * sigma), FAR + int(3 * sigma) + 2)
        bits = np.log(np.stack([above, 1 - above], -1)[middle])
        lost = least_rho(bits[:-1], bits[1:])
        assert 0.25 / sigma**2 < lost <= 0.5 / sigma**2


@pytest.mark.parametrize("ask", ["top_groups", "groups_above"])
def test_questions_of_groups_take_rho_and_no_pure_budget_pays(ask, tmp_path):
    data = {"v": [1, 2, 9, 9, 9, 9], "g": ["a", "a", "b", "b", "b", "b"]}
    given = {"by": "g", "groups": ["a", "b"], "rho": "0.5"}
    given |= {"threshold": 3} if ask == "groups_above" else {}
    made = getattr(dampen, ask)(data, "v", **given)
    assert (made.epsilon, made.rho) == (None, Fraction(1, 2))
    ledger = Ledger(tmp_path / "ledger.jsonl")
    pure = ledger.create("pure", epsilon=9, neighbours="add-remove-row")
    with pytest.raises(BudgetError, match="no pure epsilon"):
        getattr(dampen, ask)(data, "v", budget=pure, **given)


def test_groups_best_first_divide_rho():
    assert divided(Fraction(1), 4, LAPLACE) == Fraction(1, 4)
    assert divided(Fraction(1), 4, GAUSSIAN) == Fraction(1, 2)
    data = {"v": [1, 2, 9], "g": ["a", "b", "b"]}
    made = dampen.top_groups(data, "v", by="g", groups=["a", "b"], k=2, ordered=True, rho="0.5")
    assert made.rho == Fraction(1, 2)
    assert made.parameters["rho_each"] == "0.25"


def test_one_selection_for_rho_has_gumbel_noise():
    """Twice the ε of permute-and-flip, at the same ρ."""
    rows = {"v": list(range(20)), "c": ["a"] * 15 + ["b"] * 5}
    made = [
        dampen.percentile(rows, "v", p=50, upper=20, step=1, rho="0.02"),
        dampen.most_frequent(rows, "c", categories=["a", "b"], rho="0.02"),
        dampen.top_groups(
            rows, "v", by="c", groups=["a", "b"], statistic="sum", lower=0, upper=20, rho="0.02"
        ),
        dampen.top_k([(0, 1), (1, 2)], k=1, metric="degree", n=3, rho="0.02"),
    ]
    assert [(each.mechanism, each.epsilon) for each in made] == [("em", Fraction(2, 5))] * 4
    few = dampen.percentile_record(range(50), p=50, upper=50, rho="0.02")
    assert (few.mechanism, few.epsilon) == ("ld-range", Fraction(2, 5))
    tree = _tree_for_rho((1, 1))
    assert tree.release_.mechanism == "em"
    assert float(tree.release_.rho) == pytest.approx(0.02)


def _tree_for_rho(stages):
    tree = dampen.TreeClassifier(rho="0.02", stages=stages, max_rows=100, **_given())
    return tree.fit(*_rows())


def test_a_joint_release_of_degrees_loses_at_most_its_price():
    """Over all graphs of four nodes, whoever is first: Laplace noise on two degrees.

    A twin that is charged for a quarter of ε is found.
    """
    every = all_graphs(4)
    selections = [counted(degrees, Degree.joint, 3) for degrees in every.d]
    laws = [dampen.probabilities(each, epsilon=1, mechanism="joint") for each in selections]
    lost = least_rho(np.log(laws)[every.left], np.log(laws)[every.right])
    price = dampen.mechanisms.JOINT.rho(Fraction(1), norm=2.0)
    assert float(2 * laplace_rho(Fraction(1, 8))) < lost <= float(price)


def test_a_number_beside_a_name_is_charged_its_own_price():
    """A twin that scales the prices of both at ε = 1 down would charge too little."""
    data = {"v": [1, 2, 9, 9], "g": ["a", "a", "b", "b"]}
    made = dampen.top_groups(
        data, "v", by="g", groups=["a", "b"], measure="count", share="1/4", epsilon=4
    )
    assert made.rho == pure_rho(Fraction(3)) + pure_rho(Fraction(1))
    twin = 16 * (pure_rho(Fraction(1)) * (Fraction(9, 16) + Fraction(1, 16)))
    small = dampen.top_groups(
        data, "v", by="g", groups=["a", "b"], measure="count", share="1/4", epsilon="1"
    )
    scaled = pure_rho(Fraction(1)) * Fraction(10, 16)
    assert small.rho > scaled
    assert twin > made.rho


def test_groups_of_steps_pay_the_lower_of_both_prices():
    """m² ρ, or ε tanh(ε/2) of all steps."""
    rows = dampen.dataset({"v": ["x", "y", "x"]}, units_public=True)
    made = rows.histogram("v", categories=["x", "y"], epsilon=4)
    assert made.neighbours is Neighbours.REPLACE_ONE
    assert made.rho == pure_rho(Fraction(4)) < 4 * pure_rho(Fraction(2))


def test_the_question_of_groups_above_is_asked_for_rho():
    question = AboveQuestion(value="v", by="g", groups=["a"], threshold=1)
    method = question.method(None, None, Price(rho=Fraction(1, 2)))
    assert method.noise == GAUSSIAN
    assert question.method(None, None, Price(Fraction(1))).noise == LAPLACE
