"""No release is charged less ρ than it loses, nor more than the tight price that is proved.

What every release charges at ε = 0.6 is in `asks`; here are the laws behind prices that are below
ε tanh(ε/2), which any ε-DP release may be charged, and behind the losses that releases state.
"""

import warnings
from fractions import Fraction
from functools import reduce
from itertools import permutations, product

import numpy as np
import pytest
from flint import arb, ctx, fmpq

import dampen
from asking import EPSILON, PURE
from asks import ASKS
from dampen.core.losses import ANY, Loss, text_of_losses
from dampen.core.noise import EXPONENTIAL, GUMBEL, laplace_rho, permute_and_flip, pure_rho
from dampen.core.selection import Neighbours
from dampen.paper.id3 import ShiftedLocalDiffPID3
from dampen.questions.nodes.methods import DegreesMethod
from dampen.questions.nodes.metric import Degree, counted
from dampen.releases.cost import Cost, Price
from dampen.testing import Universe
from renyi import least_rho
from small_graphs import all_graphs
from sticks import sticks, summed

EPSILONS = [Fraction(e) for e in ("1e-6", "0.1", "1", "5", "40")]
ORDERS = [1 + Fraction(10) ** i for i in (-12, -6, -3, -1)]
ORDERS += [Fraction(a) for a in (2, 3, 5, 10, 30, 100, 10**4)]


def exactly(value):
    return arb(fmpq(Fraction(value).numerator, Fraction(value).denominator))


def moment(epsilon, steps, alpha):
    """(α - 1) D_α of discrete Laplace noise and of what is so many steps from it, as a ball.

    The sum over all outcomes: beyond both centres, and between them.
    """
    e, t = exactly(epsilon), 2 * exactly(alpha) - 1
    b = e / steps
    outside = 2 * (e * t / 2).cosh() / (1 - (-b).exp())
    inside = ((steps - 1) * b * t / 2).sinh() / (b * t / 2).sinh()
    return ((outside + inside) * (-e / 2).exp() * (b / 2).tanh()).log()


@pytest.mark.parametrize("steps", [1, 2, 3, 10, 1000])
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_integer_noise_costs_what_theorem_3_says(epsilon, steps):
    """In balls, for eleven orders; a price that is a millionth lower is found for α -> 1."""
    price = laplace_rho(epsilon, steps)
    assert laplace_rho(epsilon) <= price <= pure_rho(epsilon)
    with ctx.workprec(500):
        for alpha in ORDERS:
            scale = exactly(alpha * (alpha - 1))
            assert moment(epsilon, steps, alpha) <= exactly(price) * scale
        nearly_one = ORDERS[0]
        twin = price * (1 - Fraction(1, 10**6)) * nearly_one * (nearly_one - 1)
        assert moment(epsilon, steps, nearly_one) > exactly(twin)


def test_one_step_is_any_pure_release_and_many_are_continuous_noise():
    for epsilon in EPSILONS:
        assert laplace_rho(epsilon, 1) == pure_rho(epsilon)
        assert laplace_rho(epsilon, 10**9) <= laplace_rho(epsilon) * (1 + Fraction(1, 10**9))


Z = np.arange(-600, 601)


def lost_by(scale, moved):
    """What discrete Laplace noise of a scale loses if a whole number moves."""
    laws = [-np.abs(Z - d) / float(scale) for d in (0, moved)]
    return least_rho(*(law - np.logaddexp.reduce(law) for law in laws))


def test_the_sum_of_all_outcomes_is_the_closed_form():
    for steps, epsilon in product((1, 3, 10), (0.5, 2.0)):
        price = float(laplace_rho(Fraction(str(epsilon)), steps))
        assert 0.999 * price < lost_by(steps / epsilon, steps) <= price * (1 + 1e-9)


@pytest.mark.parametrize("steps", [1, 4, 10])
def test_a_mean_loses_at_most_its_charge_for_every_value(steps):
    """Two sums move by c and m - c; all on one side is the worst.  Continuous noise costs less."""
    made = dampen.mean([1, 2], lower=0, upper=steps, step=1, epsilon=1)
    lost = [lost_by(steps, c) + lost_by(steps, steps - c) for c in range(steps + 1)]
    assert 0.999 * float(made.rho) < max(lost) <= float(made.rho) * (1 + 1e-9)
    assert max(lost) > float(laplace_rho(Fraction(1)))


@pytest.mark.parametrize(("lower", "upper", "largest"), [(0, 3, 3), (-5, 2, 5), (10, 20, 2)])
def test_a_total_loses_at_most_its_charge(lower, upper, largest):
    """In units: tens where lower and step are multiples of ten."""
    step = 10 if lower == 10 else 1
    made = dampen.total([1, 2], lower=lower, upper=upper, step=step, epsilon=1)
    assert 0.999 * float(made.rho) < lost_by(largest, largest) <= float(made.rho) * (1 + 1e-9)


def test_degrees_of_several_nodes_share_an_edge():
    """One degree that moves by 1, or two with twice the noise; a twin with half the price fails."""
    for names, scale in ((["a"], 1), (["a", "b", "c"], 2)):
        price = float(DegreesMethod(names).cost(Price(Fraction(1))).rho)
        lost = scale * lost_by(scale, 1)
        assert 0.999 * price < lost <= price * (1 + 1e-9)
        assert lost > price / 2


def test_noise_of_a_continuous_price_on_whole_numbers_is_a_twin_that_fails():
    assert lost_by(1, 1) > float(laplace_rho(Fraction(1)))


class Noted:
    """A budget that notes what is charged."""

    def __init__(self):
        self.costs = []

    def charge(self, cost: Cost, /):
        self.costs.append(cost)
        return "id"


def charged(ask, **given):
    """What a release charges."""
    budget = Noted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ask(budget=budget, **given)
    return budget.costs


STATED = {
    "total": "0.6 in 10 steps",
    "mean by group": "0.6 in 10 steps",
    "percentile, value": "0.6 in any steps",
    "percentile by group": "0.6 in any steps",
    "percentile without bounds": "0.6 in any steps",
    "percentile without bounds by group": "2 x 0.3 in any steps",
    "percentile_record": "0.6 in any steps",
    "release": "0.6 in any steps",
    "top_k": "0.6 in any steps",
    "top_k, brokerage": "0.6 in any steps",
    "NaiveBayesClassifier.fit": "2 x 0.3 in 1 step",
    "NaiveBayesClassifier.fit_table": "2 x 0.3 in 1 step",
}
"""What releases state; the others are charged as any release of their ε, or by their ρ."""


@pytest.mark.parametrize("ask", ASKS, ids=lambda ask: ask.name)
def test_no_release_states_losses_of_less_rho_than_it_is_charged(ask):
    """Its ρ is proved by itself, and the losses of its parts bound it."""
    costs = charged(ask)
    stated = [text_of_losses(each.losses) for each in costs]
    assert stated == [STATED.get(ask.name, "")] * len(costs)
    for each in costs:
        rho = sum(part.rho for part in each.parts)
        assert each.rho <= rho * (1 + Fraction(1, 10**12))


def of_losses(cost, points):
    """δ at every ε of the sum of the losses that are stated."""
    totals, chances = summed(list(cost.parts))
    return np.array([chances @ np.maximum(0, -np.expm1(each - totals)) for each in points])


def noisy(scale, moves, far=40):
    """P and Q of independent integer noise on numbers of which each moves."""
    z = np.arange(-far, far + 1)
    laws = [[np.exp(-np.abs(z - d) / float(scale)) for d in (0, each)] for each in moves]
    pairs = [[law / law.sum() for law in pair] for pair in laws]
    return (reduce(np.multiply.outer, each).ravel() for each in zip(*pairs, strict=True))


def assert_dominated(cost, laws, *, tight=False):
    """No hockey stick of two laws is above that of the losses; twins with more steps are found."""
    points = np.linspace(-3, 3, 61) * float(cost.epsilon) / 2
    true = np.max([np.maximum(sticks(p, q, points), sticks(q, p, points)) for p, q in laws], axis=0)
    assert np.all(true <= of_losses(cost, points) + 1e-8)
    if tight:
        assert true == pytest.approx(of_losses(cost, points), abs=1e-6)
        parts = tuple(Loss(each.epsilon, 50 * each.steps, each.times) for each in cost.parts)
        twin = Cost(cost.epsilon, cost.rho, "", "", cost.neighbours, losses=parts)
        assert np.any(true > of_losses(twin, points) + 1e-6)


ROWS = {"v": [1, 2, 2, 1], "g": ["a", "a", "b", "b"], "who": [1, 1, 2, 3]}
TWO = ["a", "b"]


@pytest.mark.parametrize("top", [1, 2, 3, 5])
def test_a_total_loses_what_it_states(top):
    [cost] = charged(dampen.total, data=[1], lower=0, upper=top, step=1, epsilon=3)
    assert text_of_losses(cost.parts) == f"3 in {top} step{'s' * (top > 1)}"
    assert_dominated(cost, [noisy(top / 3, [d]) for d in range(top + 1)], tight=True)


@pytest.mark.parametrize("top", [1, 2, 4])
def test_a_mean_loses_what_it_states(top):
    [cost] = charged(dampen.mean, data=[1], lower=0, upper=top, step=1, epsilon=3)
    assert_dominated(cost, [noisy(top / 3, [d, top - d]) for d in range(top + 1)], tight=True)


def test_degrees_lose_what_they_state():
    cost = DegreesMethod(["a", "b", "c"]).cost(Price(Fraction(3)))
    assert text_of_losses(cost.losses) == "2 x 1.5 in 1 step"
    assert_dominated(cost, [noisy(2 / 3, [1, 1])], tight=True)


def test_naive_bayes_loses_what_it_states():
    model = dampen.NaiveBayesClassifier
    given = {"domains": [["p", "q"]] * 2, "classes": ["no", "yes"], "epsilon": 3}
    rows = [["p", "q"]] * 4, ["no", "yes"] * 2
    [cost] = charged(lambda budget: model(budget=budget, **given).fit(*rows))
    assert text_of_losses(cost.losses) == "2 x 1.5 in 1 step"
    assert_dominated(cost, [noisy(2 / 3, [1, 1])], tight=True)


def test_replaced_rows_lose_two_steps():
    """A histogram of which one cell falls and another one rises; both steps in one for a count."""
    rows = dampen.dataset({"v": ["x", "y", "x"]}, units_public=True)
    [cost] = charged(rows.histogram, value="v", categories=["x", "y"], epsilon=3)
    assert text_of_losses(cost.losses) == "3 in 2 steps"
    assert_dominated(cost, [noisy(2 / 3, [1, -1]), noisy(2 / 3, [0, 0])])


@pytest.mark.parametrize(("most", "shares"), [(1, 840), (8, 840), (11, 847)])
def test_persons_lose_a_step_for_every_share(most, shares):
    """In one group or in several, which move together as the two sums of a mean do."""
    people = dampen.dataset(ROWS, unit="who", rows_per_unit=most)
    [cost] = charged(people.count, by="g", groups=TWO, epsilon=2)
    assert text_of_losses(cost.parts) == f"2 in {shares} steps"


def test_a_name_and_its_number_state_both():
    given = {"value": "v", "by": "g", "groups": TWO, "measure": "count", "epsilon": 2}
    [cost] = charged(dampen.top_groups, data=ROWS, **given)
    assert text_of_losses(cost.losses) == "1.5 in 1 step, 0.5 in 1 step"
    assert_dominated(cost, [noisy(1 / 1.5, [1])])
    assert_dominated(Cost(Fraction(1, 2), cost.rho, "", "", cost.neighbours), [noisy(2, [1])])


def test_names_by_gaussian_noise_state_nothing():
    given = {"value": "v", "by": "g", "groups": TWO, "measure": "count", "rho": "0.5"}
    [cost] = charged(dampen.top_groups, data=ROWS, **given)
    assert (cost.pure, cost.losses) == (False, ())


def test_a_joint_release_of_degrees_states_continuous_noise():
    """Over all graphs of four nodes; a twin that is charged for half of ε is found."""
    every = all_graphs(4)
    selections = [counted(degrees, Degree.joint, 3) for degrees in every.d]
    laws = np.array([dampen.probabilities(s, epsilon=2, mechanism="joint") for s in selections])
    pairs = list(zip(laws[every.left], laws[every.right], strict=True))
    given = {"k": 1, "metric": "degree", "n": 4, "mechanism": "joint", "epsilon": 2}
    [cost] = charged(lambda budget: dampen.top_k([(0, 1)], budget=budget, **given))
    assert cost.losses == (Loss(Fraction(2), ANY),)
    fine = Cost(cost.epsilon, cost.rho, "", "", cost.neighbours, losses=(Loss(Fraction(2), 40),))
    assert_dominated(fine, pairs)
    half = Cost(Fraction(1, 2), cost.rho, "", "", cost.neighbours)
    with pytest.raises(AssertionError):
        assert_dominated(half, pairs)


def test_names_drawn_one_by_one_state_every_draw():
    """Two of three categories by permute-and-flip, over all tables of up to four rows."""
    names = ["a", "b", "c"]
    problem = dampen.problems.MostFrequent(names)
    universe = Universe.add_remove_row(names, max_rows=4)

    def law(rows):
        first = dampen.probabilities(problem.selection(rows), epsilon=1, mechanism="pf")
        found = []
        for one, two in permutations(range(3), 2):
            rest = [i for i in range(3) if i != one]
            left = dampen.problems.MostFrequent([names[i] for i in rest])
            kept = [row for row in rows if row != names[one]]
            then = dampen.probabilities(left.selection(kept), epsilon=1, mechanism="pf")
            found.append(first[one] * then[rest.index(two)])
        return np.array(found)

    laws = np.array([law(list(rows)) for rows in universe.databases])
    left, right = universe.neighbours.T
    [cost] = charged(
        dampen.most_frequent, data=["a"], categories=names, k=2, mechanism="pf", epsilon=2
    )
    assert text_of_losses(cost.losses) == "2 x 1 in any steps"
    fine = Cost(cost.epsilon, cost.rho, "", "", cost.neighbours, losses=(Loss(Fraction(1), 40, 2),))
    assert_dominated(fine, list(zip(laws[left], laws[right], strict=True)))


@pytest.mark.parametrize("both_ways", [False, True])
def test_a_name_by_permute_and_flip_loses_no_more_than_continuous_noise(both_ways):
    """Over all scores of three candidates in quarters, which move by up to 1, up or both ways."""
    scores = list(product(np.arange(0, 2.25, 0.25), repeat=2))
    moves = list(product(np.linspace(-1, 1, 5) if both_ways else (0, 0.5, 1), repeat=3))
    half = 1 / 2 if both_ways else 1
    pairs = [
        [permute_and_flip(2 * half * (at - at.max())) for at in (before, before + move)]
        for score in scores
        for before in [np.array([0, *score])]
        for move in map(np.array, moves)
    ]
    lost = max(
        max(least_rho(np.log(p), np.log(q)), least_rho(np.log(q), np.log(p))) for p, q in pairs
    )
    charged_rho = float(EXPONENTIAL.rho(Fraction(2)))
    assert charged_rho / 2 < lost <= charged_rho < float(pure_rho(Fraction(2)))
    fine = Cost(
        Fraction(2), Fraction(2), "", "", Neighbours.ADD_REMOVE_ROW, losses=(Loss(Fraction(2), 40),)
    )
    assert_dominated(fine, pairs)


def test_a_margin_in_whole_rows_is_charged_as_any_release_of_its_epsilon():
    [name] = charged(dampen.most_frequent, data=["a"], categories=["a", "b"], epsilon=2)
    assert (name.losses, name.mechanism) == ((), "pf")
    assert name.rho >= pure_rho(Fraction(2))


PURE_BY_NATURE = {
    "pf": "the margin of the name is in whole rows",
    "reach": "a half-line of discrete Laplace noise that moves by 1 is randomised response",
    "discrete-laplace": "a count moves by 1",
    "joint": "a count moves by 1",
    "threshold": "a count moves by 1",
    "two-rounds": "the refinement of the first round has no lower proved price",
}
"""Why a release is charged what any ε-DP one is."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ask", ASKS, ids=lambda ask: ask.name)
def test_charges_of_any_pure_release_have_a_reason(ask):
    """A new release either has its own price, or says here why it has none."""
    made = ask()
    assert made.rho <= PURE
    assert (made.rho == PURE) <= (made.mechanism in PURE_BY_NATURE)


def test_a_half_line_of_noise_is_randomised_response():
    """P(Z >= 0) against P(Z >= 1): reach, and which groups exceed a threshold."""
    e = float(EPSILON)
    yes = 1 / (1 + np.exp(-e))
    lost = least_rho(np.log([yes, 1 - yes]), np.log([1 - yes, yes]))
    assert 0.999 * float(PURE) < lost <= float(PURE) * (1 + 1e-9)


def test_a_fit_of_the_paper_is_charged_the_sum_of_its_queries():
    table = ([["p"], ["q"]] * 20, ["no", "yes"] * 20)
    given = {"domains": [["p", "q"]], "classes": ["no", "yes"], "max_rows": 100}
    e = Fraction(1, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = ShiftedLocalDiffPID3(epsilon=1, max_depth=2, **given).fit(*table)
    sums = 4 * pure_rho(e) + 2 * GUMBEL.rho(e)
    assert float(sums) == pytest.approx(float(made.release_.rho), rel=1e-9)
    assert sums < pure_rho(Fraction(1)) / 4


@pytest.mark.parametrize("epsilon", [1, 50, 400])
def test_a_first_look_at_persons_is_charged_at_most_what_any_pure_release_is(epsilon):
    """Group privacy multiplies ρ by the square of the steps, which many steps exceed ε by."""
    stays = {"days": [1.0, 2.0] * 200, "patient": [*range(50)] * 8}
    people = dampen.dataset(stays, unit="patient", rows_per_unit=8)
    asked = {"value": "days", "p": [10, 50], "weigh": "rows", "epsilon": epsilon}
    plan = people.expect("percentile", **asked)
    first = plan.first_cost
    assert first.rho <= pure_rho(first.epsilon)
    assert first.rho + plan.rest_cost.rho == plan.cost.rho <= pure_rho(plan.cost.epsilon)


@pytest.mark.parametrize("name", ["total", "mean"])
def test_a_range_that_is_found_never_costs_more_than_was_charged(name):
    """Fewer steps of the grid cost more: a column of two steps where thousands were possible."""
    ask = getattr(dampen, name)
    made = ask({"v": [0.0, 0.001] * 30_000}, "v", step="0.001", epsilon=8)
    found = Fraction(made.parameters["epsilon_for_range"])
    low, high = (Fraction(made.parameters[end]) for end in ("lower", "upper"))
    assert high - low <= Fraction("0.01")
    listed = ask([1], lower=low, upper=high, step="0.001", epsilon=8 - found)
    assert made.rho >= listed.rho + _of_range(found, centred=name == "mean")


def _of_range(epsilon, *, centred):
    """ρ of the size, the centre and the radius: shares of 2, 1 and 3, or of 2 and 3."""
    part = epsilon / (6 if centred else 5)
    centre = GUMBEL.rho(part) if centred else 0
    return GUMBEL.rho(2 * part) + centre + pure_rho(3 * part)


def test_a_step_of_many_digits_is_the_unit_of_a_total():
    """What the noise is a multiple of does not depend on the ends that were found."""
    values = {"v": [0.0, 1.3, 2.7] * 30_000}
    made = dampen.total(values, "v", step="0.123456789012345678", epsilon=3)
    assert made.answer == pytest.approx(sum(values["v"]), rel=0.1)
