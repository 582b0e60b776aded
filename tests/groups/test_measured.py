"""Winners with their own numbers: the loss of the pair, twins that fail, laws and intervals."""

from fractions import Fraction
from functools import partial
from itertools import product

import networkx as nx
import numpy as np
import pytest

import dampen
from dampen import Release
from dampen.core.mechanisms import probabilities
from dampen.core.noise import permute_and_flip, pure_rho
from dampen.core.sampling import InsecureEntropy
from dampen.data.memory import MemoryTable
from dampen.errors import ParameterError
from dampen.questions.groups.problem import BestGroup
from dampen.questions.groups.question import GroupsQuestion
from dampen.questions.groups.statistics import Grid, QuantileMethod
from dampen.questions.nodes.metric import Degree
from dampen.questions.nodes.metrics import InfluentialNode
from dampen.releases.answer import expect
from dampen.releases.cost import Price
from dampen.schema import Schema
from dampen.testing import Universe
from dampen.testing.checks import law_loss
from goodness import assert_draws_follow, counts_of

EPSILON = Fraction(1)
SHARE = Fraction(1, 4)
GRID = {"lower": 0, "upper": 2, "step": 1}
GROUPS = ["a", "b"]
ROWS = [*product([0.0, 1.0, 2.0], GROUPS)]


def table(rows):
    rows = [*rows]
    return MemoryTable({"v": np.array([v for v, _ in rows]), "g": [g for _, g in rows]})


def laplace(z, scale):
    a = np.exp(-1 / float(scale))
    return (1 - a) / (1 + a) * a ** np.abs(z)


def winning(rows, statistic, share=SHARE):
    problem = BestGroup(groups=GROUPS, statistic=statistic, caution=1, **GRID)
    counts = problem.opened_counts(table(rows), "v", "g")
    return problem.contest(counts).probabilities((1 - share) * EPSILON), counts


def mean_law(counts, scale):
    """Of both noisy sums, in a window."""
    above = counts @ np.arange(3)
    below = 2 * counts.sum() - above
    window = np.arange(-2, 9)
    return np.multiply.outer(laplace(window - above, scale), laplace(window - below, scale)).ravel()


def count_law(counts, scale):
    return laplace(np.arange(-3, 8) - counts.sum(), scale)


METHOD = QuantileMethod("v", "g", GROUPS, Grid.between(0, 2, 1), Fraction(1, 2))


def quantile_law(counts, epsilon, away=1, half=2):
    """Of the value and both ends before they are put in order."""
    law = np.ones(1)
    for aim in (0, -away, away):
        off = METHOD.rows_off(counts, aim) / 2
        scores = -off * float(epsilon / 3) / (half * 0.5)
        law = np.multiply.outer(law, permute_and_flip(scores)).ravel()
    return law


def pair_loss(statistic, number_law):
    """The loss of the winner and its number together."""

    def law(rows):
        chances, counts = winning(rows, statistic)
        return np.concatenate(
            [chance * number_law(line) for chance, line in zip(chances, counts, strict=True)]
        )

    return law_loss(law, Universe.add_remove_row(ROWS, max_rows=3), epsilon=EPSILON)


@pytest.mark.parametrize(
    ("statistic", "number_law"),
    [
        ("mean", partial(mean_law, scale=2 / (SHARE * EPSILON))),
        ("median", partial(count_law, scale=1 / (SHARE * EPSILON))),
        ("median", partial(quantile_law, epsilon=SHARE * EPSILON)),
    ],
    ids=["mean", "count", "quantile"],
)
def test_the_loss_of_a_winner_with_its_number_is_at_most_epsilon(statistic, number_law):
    verdict = pair_loss(statistic, number_law)
    assert verdict
    assert verdict.value > 0.6


def test_a_number_for_more_than_its_share_is_not_private():
    """The broken twin: the number of the winner at the ε that the name had."""
    verdict = pair_loss("median", partial(count_law, scale=1 / EPSILON))
    assert not verdict
    assert verdict.value > 1.3


def test_draws_by_rank_need_the_factor_two():
    """The broken twin: a row more moves the aim as well as the ranks."""

    def law(rows, half):
        counts = np.bincount([int(v) for v, _ in rows], minlength=3)
        off = METHOD.rows_off(counts, 0) / 2
        return permute_and_flip(-off * float(EPSILON) / (half * 0.5))

    universe = Universe.add_remove_row([(v, "a") for v in (0.0, 1.0, 2.0)], max_rows=4)
    assert law_loss(partial(law, half=2), universe, epsilon=EPSILON)
    assert not law_loss(partial(law, half=1), universe, epsilon=EPSILON)


def degrees_loss(k, scale):
    """Of one or two named nodes with their degrees, on all graphs of four nodes."""
    problem = InfluentialNode(nodes=range(4), metric=Degree())
    window = np.arange(-2, 7)

    def law(graph):
        degrees = problem.graph(graph).degrees
        chances = probabilities(problem.selection(graph), epsilon=0.75, mechanism="pf")
        found = []
        for first in range(4):
            # With two, the second is the next node: public once the first is.
            named = [first, (first + 1) % 4][:k]
            numbers = np.ones(1)
            for node in named:
                numbers = np.multiply.outer(numbers, laplace(window - degrees[node], scale))
            found.append(chances[first] * numbers.ravel())
        return np.concatenate(found)

    return law_loss(law, Universe.graphs(4), epsilon=EPSILON)


def test_the_loss_of_nodes_with_their_degrees_is_at_most_epsilon():
    assert degrees_loss(1, 1 / SHARE)
    assert degrees_loss(2, 2 / SHARE)
    assert not degrees_loss(2, Fraction(1, 2) / SHARE)


STAYS = {
    "v": [3.0] * 300 + [1.0] * 200 + [2.0] * 150 + [4.0] * 50,
    "g": ["a"] * 300 + ["b"] * 200 + ["c"] * 200,
}
ASKED = {"by": "g", "groups": ["a", "b", "c"], "lower": 0, "upper": 6, "step": 1}


@pytest.mark.parametrize(
    ("given", "number"),
    [
        ({"statistic": "median"}, {"value": 3, "low": 3, "high": 3}),
        ({"p": 90, "smallest": True}, {"value": 1, "low": 1, "high": 1}),
        ({"statistic": "sum"}, 900),
        ({"measure": "count"}, 300),
    ],
    ids=["median", "quantile", "sum", "count"],
)
def test_a_winner_has_its_number(given, number):
    asked = {"measure": "statistic", **ASKED, **given}
    made = dampen.top_groups(STAYS, "v", **asked, epsilon="300")
    assert made.numbers == number
    low, high = made.interval()
    assert low <= (number["value"] if isinstance(number, dict) else number) <= high
    several = dampen.top_groups(STAYS, "v", **asked, k=2, epsilon="300")
    assert set(several.numbers) == set(several.answer) == set(several.interval())
    assert Release.from_json(several.to_json()).interval() == several.interval()


def test_the_mean_of_a_winner_has_its_sums_too():
    made = dampen.top_groups(STAYS, "v", statistic="mean", measure="statistic", **ASKED, epsilon=99)
    assert made.answer == "a"
    assert set(made.numbers) == {"value", "sum", "count"}
    assert made.numbers["value"] == pytest.approx(3, abs=0.1)


def test_nodes_have_their_degrees():
    graph = nx.star_graph(30)
    one = dampen.top_k(graph, n=31, measure="degree", epsilon="200")
    assert (one.answer, one.numbers, one.interval()) == (0, 30, (30, 30))
    several = dampen.top_k(graph, n=31, k=2, metric="degree", measure="degree", epsilon="400")
    assert several.numbers[0] == 30
    assert several.parameters["measure"] == "degree"


def test_the_cost_is_epsilon_and_the_sum_of_both_parts_in_zcdp():
    question = GroupsQuestion(value="v", measure="count", share="0.5", **ASKED)
    source = question.open(STAYS)
    cost = question.method(source, Schema(), Price("1")).cost(Price("1"))
    half = pure_rho(Fraction(1, 2))
    assert (cost.epsilon, cost.rho) == (1, 2 * half)
    by_rho = question.method(source, Schema(), Price(rho="0.25")).cost(Price(rho="0.25"))
    assert not by_rho.pure
    each = by_rho.epsilon / 2
    exact = each**2 / 2 + pure_rho(each)
    assert exact <= by_rho.rho <= exact * (1 + Fraction(1, 10**10))
    assert Fraction("0.2499") < by_rho.rho <= Fraction(1, 4)


def test_expect_states_both_accuracies():
    question = GroupsQuestion(value="v", measure="count", **ASKED)
    told = expect(question, STAYS, epsilon="1").accuracy.sentence
    assert "rows decide" in told
    assert "The number: In at least 9 of 10 runs the number is off by at most" in told


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"measure": "statistic", "statistic": "trimmed-mean", "p": 10}, "cannot be measured"),
        ({"measure": "size"}, "one of statistic, count"),
        ({"share": "0.5"}, "measure= with share="),
        ({"measure": "count", "share": "1"}, "between 0 and 1"),
    ],
)
def test_wrong_parameters_are_refused(wrong, says):
    with pytest.raises(ParameterError, match=says):
        dampen.top_groups(STAYS, "v", **{**ASKED, **wrong}, epsilon="1")


@pytest.mark.parametrize("facts", [{}, {"groups_per_unit": 3}, {"rows_per_unit": 2}], ids=str)
@pytest.mark.parametrize(
    ("given", "right"),
    [({"measure": "count"}, 300), ({"measure": "statistic", "statistic": "mean"}, None)],
    ids=str,
)
def test_persons_are_measured_too(given, right, facts):
    """Everyone has one row; hardly any noise.  The number is that of persons, with its interval."""
    data = dampen.dataset({**STAYS, "who": [*range(700)]}, unit="who", **facts)
    made = data.top_groups("v", **ASKED, **given, epsilon="400")
    alone = dampen.top_groups(STAYS, "v", **ASKED, **given, epsilon="400")
    assert made.answer == alone.answer
    assert made.protects == "one who, with all their rows"
    low, high = made.interval(0.95)
    if right is None:
        assert made.numbers["value"] == pytest.approx(alone.numbers["value"], abs=0.2)
        assert low <= made.numbers["value"] <= high
    else:
        assert abs(made.numbers - right) <= 2
    told = data.expect("top-groups", value="v", **ASKED, **given, epsilon="400").accuracy
    assert "The number: " in told.sentence


def test_draws_follow_the_law_of_the_draws_by_rank():
    """False alarms below 1e-7; an ε that is 30 % off is rejected."""
    counts = np.array([3, 1, 2])
    off = METHOD.rows_off(counts, -2)
    entropy = InsecureEntropy(3)
    drawn = [METHOD._drawn(off, EPSILON, entropy) for _ in range(4000)]
    right, wrong = (permute_and_flip(-off / 2 * e) for e in (1.0, 1.3))
    assert_draws_follow(counts_of(drawn, range(4)), right, wrong)


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("rows", [0, 7, 400])
def test_quantiles_are_held_as_often_as_stated(p, rows):
    """At least 95 %, whatever the data is: 1,500 draws, with three standard deviations of slack."""
    method = QuantileMethod("v", "g", ["a"], Grid.between(0, 60, 1), p)
    values = np.random.default_rng(4).integers(0, 61, rows)
    counts = np.bincount(values, minlength=61)
    k = max(1, int(np.ceil(float(p) * rows)))
    entropy = InsecureEntropy(5)
    made = [method.measured(counts, Fraction(1, 2), entropy) for _ in range(1500)]
    assert all(0 <= each["low"] <= each["value"] <= each["high"] <= 60 for each in made)
    if rows:
        true = np.sort(values)[k - 1]
        held = np.mean([each["low"] <= true <= each["high"] for each in made])
        assert held > 0.95 - 3 * np.sqrt(0.05 / 1500)
