"""`measure="value"`: the value of the records that were named, and its exact noise."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import dampen
from dampen import InsecureEntropy, Release
from dampen.data.memory import MemoryTable
from dampen.errors import ParameterError
from dampen.questions.percentile.record import CELLS, RecordQuestion, RecordValues
from dampen.releases.answer import expect

SHOPS = {"sales": [12.0, 30.0, 31.0, 95.0], "shop": ["north", "east", "south", "west"]}
ASKED = {"p": 100, "upper": 100, "labels": "shop"}


def seeded(seed=1):
    return InsecureEntropy(seed, allow_release=True)


def test_the_value_comes_with_the_name_and_an_interval():
    made = dampen.percentile_record(
        SHOPS, "sales", **ASKED, measure="value", epsilon=200, entropy=seeded()
    )
    low, high = made.interval(0.95)
    assert made.answer == "west"
    assert low <= 95 <= high
    assert (made.parameters["measure"], made.parameters["share"]) == ("value", "0.25")
    assert "The number: In at least 9 of 10 runs the value is off by" in made.accuracy.sentence
    several = dampen.percentile_record(
        SHOPS, "sales", **ASKED, k=2, measure="value", epsilon=4000, entropy=seeded()
    )
    assert set(several.numbers) == set(several.answer)
    true = dict(zip(SHOPS["shop"], SHOPS["sales"], strict=True))
    for name, number in several.numbers.items():
        assert number == pytest.approx(true[name], abs=2)
    back = Release.from_json(several.to_json())
    assert back.interval(0.9) == several.interval(0.9)


def test_both_accuracies_are_stated_before_the_charge():
    question = RecordQuestion(value="sales", measure="value", **ASKED)
    plan = expect(question, SHOPS, epsilon=2)
    assert "no record is named with a probability above" in plan.accuracy.sentence
    assert "That is more than the range, 100." in plan.accuracy.sentence
    assert plan.cost.epsilon == 2


@pytest.mark.parametrize(
    "wrong",
    [{"share": "0.5"}, {"measure": "rank"}, {"measure": "value", "share": 1}],
    ids=str,
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ParameterError):
        dampen.percentile_record(SHOPS, "sales", **ASKED, **wrong, epsilon=1)


def pair_law(values, epsilon, share, exponent=1):
    """Of (name, noisy cell) of three records on a grid of two steps; the name by ranks."""
    u = -np.abs(np.array(values) - sorted(values)[1])
    weight = np.exp((1 - share) * epsilon * u / 4)
    names = weight / weight.sum()
    a = math.exp(-exponent * share * epsilon / 2)
    cells = np.arange(-8, 11)
    laws = []
    for name, value in zip(names, values, strict=True):
        p = a ** np.abs(cells - value) * (1 - a) / (1 + a)
        p[0] = a ** (value + 8) / (1 + a)
        p[-1] = a ** (10 - value) / (1 + a)
        laws.append(name * p)
    return np.concatenate(laws)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_name_and_value_together_lose_at_most_epsilon(epsilon):
    """All pairs of three records on the cells 0, 1, 2; a twin with too little noise is rejected."""
    assert pair_loss(epsilon, 1) <= epsilon + 1e-9
    assert pair_loss(epsilon, 3) > epsilon


def pair_loss(epsilon, exponent):
    worst = 0.0
    for values in product(range(3), repeat=3):
        for place, other in product(range(3), range(3)):
            moved = [*values]
            moved[place] = other
            one, two = (pair_law(each, epsilon, 0.25, exponent) for each in (values, moved))
            worst = max(worst, float(np.abs(np.log(one / two)).max()))
    return worst


def test_the_noise_has_its_stated_law_and_the_interval_covers():
    """20,000 draws with injected bits; six standard deviations of slack."""
    method = RecordValues(RecordQuestion(value="sales", **ASKED), ["west"])
    source = method.question.open(MemoryTable(SHOPS))
    epsilon = Fraction(1, 2)
    entropy = seeded(3)
    off, held = [], 0
    for _ in range(20_000):
        drawn = method.draw(source, epsilon, entropy)
        low, high = drawn.law.interval(drawn.numbers["west"], Fraction(1, 20))
        held += low <= 95 <= high
        off.append(drawn.numbers["west"] - 95)
    scale = 100 / 0.5
    assert np.mean(np.abs(off)) == pytest.approx(scale, rel=6 / np.sqrt(20_000))
    assert abs(held / 20_000 - 0.95) < 6 * math.sqrt(0.05 * 0.95 / 20_000)
    assert method.scale(epsilon) == CELLS / epsilon


def test_streams_places_and_missing_values():
    rng = np.random.default_rng(5)
    values = rng.uniform(0, 100, 2_000)
    values[::50] = np.nan
    made = dampen.percentile_record(
        values, p=50, upper=100, k=3, measure="value", epsilon=2 * 10**5, entropy=seeded()
    )
    for place, number in made.numbers.items():
        assert number == pytest.approx(np.nan_to_num(values[place]), abs=0.1)
