"""The most frequent keys of persons with many keys: the law is enumerated, δ by hockey sticks."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product

import numpy as np
import pytest

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.core.zcdp import rho_within
from dampen.questions.keys import ROOT_QUANTUM, RootMethod
from dampen.questions.limited_domain import (
    Domain,
    LimitedMethod,
    ends_above,
    names_are_limited,
)
from dampen.releases.cost import Price
from dampen.schema import Schema
from goodness import assert_draws_follow

KEYS = "abc"
PERSONS = [c for size in (1, 2, 3) for c in combinations(KEYS, size)]
SMALL = [x for n in range(4) for x in combinations_with_replacement(PERSONS, n)]


def method(k, limit, delta, converted="0"):
    delta, converted = Fraction(delta), Fraction(converted)
    return LimitedMethod("keys", ("v",), delta, k, "who", "ranking", limit, converted)


def law(x, of, epsilon):
    """P of every published list, by peeling candidate after candidate."""
    counts = Counter(key for person in x for key in person)
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    domain = ranked[: of.limit]
    outside = ranked[of.limit][1] if len(ranked) > of.limit else 0
    names = [key for key, _ in domain] + [None] * (of.limit - len(domain) + 1)
    scores = [c for _, c in domain] + [0] * (of.limit - len(domain))
    scores.append(outside + 1 + of.bonus(epsilon))
    weights = np.exp(float(of.each(epsilon)) * np.array(scores, dtype=float))
    found: Counter = Counter()
    for order in permutations(range(len(names)), min(of.k, len(names))):
        chance, left = 1.0, weights.sum()
        for place in order:
            chance *= weights[place] / left
            left -= weights[place]
        published = []
        for place in order:
            if names[place] is None:
                break
            published.append(names[place])
        found[tuple(published)] += chance
    return found


def true_delta(one, other, epsilon):
    return sum(max(p - np.exp(float(epsilon)) * other[answer], 0) for answer, p in one.items())


def worst_delta(of, epsilon):
    worst = 0.0
    for x, person in product(SMALL, PERSONS):
        one, other = law(x, of, epsilon), law((*x, person), of, epsilon)
        worst = max(worst, true_delta(one, other, epsilon), true_delta(other, one, epsilon))
    return worst


CASES = [(1, 1), (1, 2), (2, 2), (2, 3), (1, 4)]


@pytest.mark.parametrize(("k", "limit"), CASES)
@pytest.mark.parametrize(("epsilon", "delta"), [(1, "0.3"), (4, "0.05"), (3, "0.001")])
def test_the_true_delta_is_at_most_the_stated_one(k, limit, epsilon, delta):
    of = method(k, limit, delta)
    assert 0 < worst_delta(of, Fraction(epsilon)) <= float(of.delta)


@pytest.mark.parametrize(("k", "limit"), [(2, 2), (2, 3), (3, 3)])
@pytest.mark.parametrize(("epsilon", "delta"), [(1, "0.3"), (2, "0.05"), (1, "0.001")])
def test_draws_whose_rho_is_added_up_keep_delta(k, limit, epsilon, delta):
    of = method(k, limit, delta, converted=Fraction(delta) / 2)
    assert k * of.each(Fraction(epsilon)) ** 2 / 8 <= rho_within(Fraction(epsilon), of.converted)
    assert 0 < worst_delta(of, Fraction(epsilon)) <= float(of.delta)


@dataclass(frozen=True)
class Eager(LimitedMethod):
    """Another broken twin: each draw gets the rho of all of them."""

    def each(self, epsilon):
        return self.k * super().each(epsilon)


def test_draws_that_each_take_all_of_epsilon_are_not_private():
    of = Eager("keys", ("v",), Fraction(1, 20), 3, "who", "ranking", 3, Fraction(1, 40))
    assert worst_delta(of, Fraction(1)) > 0.05


def test_many_draws_have_a_larger_epsilon_each_than_its_share():
    price = Price("1")
    few, many = (method(k, 3000, "1e-6").paid(price) for k in (5, 10))
    assert few.converted == 0
    assert float(many.each(Fraction(1))) == pytest.approx(0.1355, abs=1e-4)
    assert many.cost(price).epsilon == 1
    assert many.cost(price).rho >= 10 * many.each(Fraction(1)) ** 2 / 8
    assert method(10, 3000, "1e-6").paid(Price(None, "0.01")).converted == 0


@dataclass(frozen=True)
class Hasty(LimitedMethod):
    """The broken twin: "end" is where the last key of the domain is, without B."""

    def bonus(self, epsilon):
        return 0


def test_a_domain_without_a_gap_is_not_private():
    of = Hasty("keys", ("v",), Fraction(1, 20), 1, "who", "ranking", 2)
    assert worst_delta(of, Fraction(4)) > 0.05


@pytest.mark.parametrize(("k", "limit"), CASES)
def test_draws_follow_the_law(k, limit):
    of = method(k, limit, "0.1")
    x = [("a", "b"), ("a",), ("a", "c"), ("b",), ("a", "b")]
    counts = dict(Counter(key for person in x for key in person))
    entropy = InsecureEntropy(7)
    domain = Domain.of(counts, limit)
    drawn = Counter(tuple(of.names(domain, Fraction(2), entropy)) for _ in range(10_000))
    right, wrong = (law(x, of, e) for e in (Fraction(2), Fraction(3)))
    answers = sorted(right)
    assert set(drawn) <= set(answers)
    observed = np.array([drawn[each] for each in answers])
    expected, other = (np.array([of_law[each] for each in answers]) for of_law in (right, wrong))
    assert_draws_follow(observed, expected, other)


@pytest.mark.parametrize("delta", ["0.5", "1e-6", "1e-12"])
@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "3"])
def test_the_gap_is_the_least_one(delta, epsilon):
    gap = ends_above(3000, Fraction(delta), Fraction(epsilon))
    e = float(Fraction(epsilon))
    assert 3000 / (1 + np.exp(e * gap)) <= float(Fraction(delta)) * (1 + 1e-9)
    assert 3000 / (1 + np.exp(e * (gap - 2))) > float(Fraction(delta))


def test_the_rule_is_public():
    ten = method(10, 3000, "1e-6")
    few, many = Fraction(1), Fraction(1, 10)
    assert names_are_limited(ten, Schema(unit="who"), few)
    assert not names_are_limited(ten, Schema(unit="who"), many)
    assert not names_are_limited(ten, Schema(unit="who", groups_per_unit=1), few)
    assert names_are_limited(ten, Schema(unit="who", rows=10**7), many)


def test_persons_with_many_keys_name_what_most_people_have():
    """900 persons have "rare" alone, 2,000 others have all ten words: by weight "rare" would win.
    By persons the words lead by 1,100, at ε/k = 0.1.  False alarms: below 1e-40."""
    words = [f"w{i}" for i in range(10)]
    rows = [(i, "rare") for i in range(900)]
    rows += [(i, word) for i in range(1000, 3000) for word in words]
    table = {"who": [i for i, _ in rows], "word": [word for _, word in rows]}
    made = dampen.most_frequent(table, "word", unit="who", k=10, epsilon=1, delta="1e-6")
    assert made.mechanism == "chosen-domain"
    assert (made.delta, made.neighbours) == (Fraction(1, 10**6), "add-remove-unit")
    assert sorted(made.answer) == words
    assert "people" in made.accuracy.sentence


def test_few_people_have_nothing_in_common():
    table = {"who": [1, 2, 3], "word": ["a", "b", "a"]}
    made = dampen.most_frequent(table, "word", unit="who", k=3, epsilon=1, delta="1e-9")
    assert made.answer == []  # a key is named with probability below 1e-8


def test_fewer_names_need_a_smaller_lead():
    """The numbers of docs/lab-frequency.md, at ε = 0.3 and δ = 10^-6."""
    epsilon, delta = Fraction(3, 10), Fraction(1, 10**6)
    leads = {k: method(k, 3000, delta).paid(Price(epsilon)).bonus(epsilon) for k in (1, 3, 10)}
    assert leads == {1: 73, 3: 219, 10: 517}
    roots = RootMethod("keys", ("v",), delta, None, "who", 50)
    assert round(roots.threshold(epsilon) / ROOT_QUANTUM * 50**0.5) == 577
    shown = [0.0]
    while shown[-1] <= 0.5:
        grown = np.exp(0.3) * shown[-1] + 1e-6
        shown.append(min(grown, 1 - np.exp(-0.3) * (1 - shown[-1] - 1e-6)))
    assert len(shown) - 1 == 41  # the largest probability that ε and δ allow for one key
