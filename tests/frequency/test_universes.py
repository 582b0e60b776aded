"""Values of a public universe that nobody could list: the law is that of the whole universe."""

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.errors import ParameterError
from dampen.questions.frequency import MostFrequent
from dampen.questions.keys import Addresses, Integers, UniverseMethod, Words, universe
from dampen.testing import Universe, law_loss
from goodness import assert_draws_follow, counts_of, draw_many

SIX = Integers(0, 5)
ROWS = (0, 0, 0, 3, 3, 5)


def law(rows, epsilon, size=6):
    """By definition, on all values."""
    weights = np.exp(float(epsilon) * np.bincount(rows, minlength=size))
    return weights / weights.sum()


def law_by_method(rows, epsilon, size=6):
    """From the weights that are drawn: seen values one by one, the others together."""
    counts = Counter(rows)
    unseen = size - len(counts)
    total = unseen + sum(np.exp(float(epsilon) * c) for c in counts.values())
    rest = unseen / total
    return np.array(
        [np.exp(float(epsilon) * counts[i]) / total if i in counts else rest / unseen
         for i in range(size)]
    )  # fmt: skip


def test_the_law_is_that_of_the_exponential_mechanism_on_all_values():
    expected = dampen.probabilities(
        MostFrequent(range(6)).selection(list(ROWS)), epsilon=1, mechanism="em"
    )
    assert law(list(ROWS), 1) == pytest.approx(expected)
    assert law_by_method(ROWS, 1) == pytest.approx(expected)


@pytest.mark.parametrize("epsilon", ["1/2", "2"])
def test_the_loss_is_at_most_epsilon(epsilon):
    databases = Universe.add_remove_row(range(3), max_rows=4)
    verdict = law_loss(lambda x: law_by_method(x, Fraction(epsilon), 5), databases, epsilon=epsilon)
    assert verdict, verdict
    assert verdict.value > 0.75 * float(Fraction(epsilon))


def test_naming_seen_values_alone_is_not_private():
    """The broken twin takes the values that occur for the universe."""

    def twin(rows):
        seen = np.bincount(rows, minlength=5) if rows else np.ones(5)
        weights = np.where(seen > 0, np.exp(seen), 0)
        return weights / weights.sum()

    databases = Universe.add_remove_row(range(3), max_rows=3)
    assert not law_loss(twin, databases, epsilon="1")


def test_draws_follow_the_law():
    method = UniverseMethod("q", "v", SIX, None)
    entropy = InsecureEntropy(1)
    counts = dict(Counter(ROWS))
    drawn = draw_many(lambda: method.one(counts, [], Fraction(1, 2), entropy), 6_000)
    right, wrong = (law(list(ROWS), e) for e in (0.5, 0.65))
    assert_draws_follow(counts_of(drawn, range(6)), right, wrong)


def test_two_answers_follow_the_law_of_pairs():
    method = UniverseMethod("q", "v", Integers(0, 3), 2)
    entropy = InsecureEntropy(2)
    counts = Counter({1: 3, 2: 1})
    pairs = list(permutations(range(4), 2))

    def pair_law(epsilon):
        p = law([1, 1, 1, 2], epsilon / 2, 4)
        return [p[a] * p[b] / (1 - p[a]) for a, b in pairs]

    drawn = draw_many(lambda: tuple(method.draw(counts, Fraction(2), entropy).answer), 3_000)
    assert_draws_follow(counts_of(drawn, pairs), pair_law(2), pair_law(2.6))


@pytest.mark.parametrize("seed", range(5))
def test_all_values_of_a_small_universe_can_be_named(seed):
    entropy = InsecureEntropy(seed, allow_release=True)
    made = dampen.most_frequent([2, 2, 9, "x"], categories=SIX, k=6, epsilon=1, entropy=entropy)
    assert sorted(made.answer) == [0, 1, 2, 3, 4, 5]


UNIVERSES = [Words(3, "abc"), Words(12), Addresses(), Integers(-7, 12), Integers(0, 2**63 - 2)]


@pytest.mark.parametrize("values", UNIVERSES, ids=repr)
def test_places_and_values_belong_together(values):
    last = values.size - 1
    places = {0, 1, 2, last // 3, last - 1, last}
    for place in places if values.size > 1000 else range(values.size):
        assert values.place_of(values.value_at(place)) == place
    some = [values.value_at(place) for place in range(min(values.size, 500))]
    assert len(set(some)) == len(some)


def test_sizes():
    assert Words(3, "abc").size == 3 + 9 + 27
    assert Addresses().size == 2**32
    assert Integers(-7, 12).size == 20


@pytest.mark.parametrize(
    ("values", "strangers"),
    [
        (Words(3, "abc"), ["", "abcd", "Abc", "d", None, 5, float("nan")]),
        (Addresses(), ["1.2.3", "1.2.3.256", "01.2.3.4", "1.2.3.-4", "1.2.3.٤", "", None, 7,
                       "1.2.3." + "9" * 5000]),
        (Integers(0, 9), [10, -1, 0.5, True, "5", None, float("nan"), float("inf"), 10**400]),
    ],
)  # fmt: skip
def test_other_values_are_left_out(values, strangers):
    assert [values.place_of(stranger) for stranger in strangers] == [None] * len(strangers)


def test_the_rows_that_it_takes():
    for values, rows in ((universe(ipv4=True), 25), (universe(words=12), 42)):
        accuracy = UniverseMethod("q", "v", values, None).accuracy(Fraction(1), None)
        assert accuracy.error == rows
        assert not accuracy.chance
        assert UniverseMethod("q", "v", values, None).accuracy(Fraction(1), 10).chance


def test_releases():
    words = ["weather"] * 120 + ["news"] * 60 + ["Not a word"] * 90
    made = dampen.most_frequent(words, categories=universe(words=12), epsilon=2)
    assert made.answer == "weather"
    assert (made.mechanism, made.rho, made.delta) == ("em", Fraction(1, 2), 0)
    assert made.parameters["categories"] == universe(words=12).size
    two = dampen.most_frequent({"v": words}, "v", categories=universe(words=12), epsilon=4, k=2)
    assert two.answer == ["weather", "news"]
    hosts = dampen.most_frequent(
        Counter({"10.0.0.1": 90}), categories=universe(ipv4=True), epsilon=2
    )
    assert hosts.answer == "10.0.0.1"
    assert dampen.most_frequent(
        [], categories=universe(integers=(1, 9)), epsilon=1
    ).answer in range(1, 10)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "got none"),
        ({"words": 3, "ipv4": True}, "got several"),
        ({"words": 0}, "above 0"),
        ({"words": 20}, "2\\^63"),
        ({"words": 10**9, "alphabet": "a"}, "at most 100 letters"),
        ({"words": 3, "alphabet": "aa"}, "different letters"),
        ({"integers": (5, 1)}, "low <= high"),
        ({"integers": (0, 2**63)}, "2\\^63"),
        ({"integers": (0, 1.5)}, "whole number"),
    ],
)
def test_wrong_universes_are_refused(given, says):
    with pytest.raises(ParameterError, match=says):
        universe(**given)


@pytest.mark.parametrize("other", [{"mechanism": "pf"}, {"k": 7}, {"delta": "1e-6"}])
def test_contradictory_parameters_cost_nothing(other):
    with pytest.raises(ParameterError):
        dampen.most_frequent([1], categories=SIX, epsilon=1, **other)


def test_more_values_than_fit_into_memory_are_refused():
    with pytest.raises(ParameterError, match="at most 10,000 values"):
        dampen.most_frequent(["a"], categories=universe(words=12), k=10**12, epsilon=1)
