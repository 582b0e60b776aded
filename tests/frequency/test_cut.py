"""Names that are drawn in secret and cut: the law is enumerated, δ by hockey sticks."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest

import dampen
from dampen.core.noise import pure_rho
from dampen.core.sampling import InsecureEntropy
from dampen.core.zcdp import rho_within
from dampen.data.units import Pairs
from dampen.questions.frequency import FrequencyQuestion
from dampen.questions.keys import by_weights
from dampen.questions.limited_domain import (
    FOR_LEAD,
    FOR_MANY,
    ChosenMethod,
    CutMethod,
    Domain,
    KeysOfPersons,
    LimitedMethod,
)
from dampen.releases.cost import Price
from dampen.schema import Schema
from goodness import FALSE_ALARM, assert_draws_follow, p_value


def method(k, limit, delta, converted="0", of=CutMethod):
    delta, converted = Fraction(delta), Fraction(converted)
    return of(delta, k, limit, converted)


def law(counts, of, epsilon):
    """P of every published list, over all orders of the names and all sizes."""
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    ranked = [pair for pair in ranked if pair[1]]
    domain = ranked[: of.limit]
    outside = ranked[of.limit][1] if len(ranked) > of.limit else 0
    names = [key for key, _ in domain] + [None] * (of.limit - len(domain))
    scores = [c for _, c in domain] + [0] * (of.limit - len(domain))
    weights = np.exp(float(of.each(epsilon)) * np.array(scores, dtype=float))
    enough = outside + of.bonus(epsilon)
    found: Counter = Counter()
    for order in permutations(range(of.limit), of.k):
        chance, left = 1.0, weights.sum()
        for place in order:
            chance *= weights[place] / left
            left -= weights[place]
        least = [min([enough, *(scores[place] for place in order[:j])]) for j in range(of.k + 1)]
        sizes = np.exp(float(of.of_size(epsilon)) * (np.array(least, dtype=float) - enough))
        sizes[-1] *= 60 * of.k
        for size, share in enumerate(sizes / sizes.sum()):
            published = []
            for place in order[:size]:
                if names[place] is None:
                    break
                published.append(names[place])
            found[tuple(published)] += chance * share
    return found


def true_delta(one, other, epsilon):
    return sum(max(p - np.exp(float(epsilon)) * other[answer], 0) for answer, p in one.items())


def worst_delta(of, epsilon, most, keys="abc"):
    """Over all counts up to `most`, and a person who comes with any keys."""
    worst = 0.0
    steps = list(product((0, 1), repeat=len(keys)))
    for counts in combinations_with_replacement(range(most + 1), len(keys)):
        one = law(dict(zip(keys, counts, strict=True)), of, epsilon)
        for step in steps:
            more = [c + s for c, s in zip(counts, step, strict=True)]
            other = law(dict(zip(keys, more, strict=True)), of, epsilon)
            worst = max(worst, true_delta(one, other, epsilon), true_delta(other, one, epsilon))
    return worst


CASES = [(1, 1, 9), (1, 2, 9), (2, 2, 9), (2, 3, 6)]


@pytest.mark.parametrize(("k", "limit", "most"), CASES)
@pytest.mark.parametrize(("epsilon", "delta"), [(1, "0.3"), (4, "0.05")])
def test_the_true_delta_is_at_most_the_stated_one(k, limit, most, epsilon, delta):
    of = method(k, limit, delta)
    assert 0 < worst_delta(of, Fraction(epsilon), most) <= float(of.delta)
    assert k * of.each(Fraction(epsilon)) + of.of_size(Fraction(epsilon)) == epsilon


@pytest.mark.parametrize(("k", "limit", "most"), [(2, 2, 9), (2, 3, 6)])
@pytest.mark.parametrize(("epsilon", "delta"), [(1, "0.3"), (4, "0.05")])
def test_draws_whose_rho_is_added_up_keep_delta(k, limit, most, epsilon, delta):
    of = method(k, limit, delta, converted=Fraction(delta) / 2)
    paid = k * of.each(Fraction(epsilon)) ** 2 + of.of_size(Fraction(epsilon)) ** 2
    assert 0.999 < paid / 8 / rho_within(Fraction(epsilon), of.converted) <= 1
    assert 0 < worst_delta(of, Fraction(epsilon), most) <= float(of.delta)


@dataclass(frozen=True)
class Hasty(CutMethod):
    """The broken twin: names are shown without B people more than others have."""

    def bonus(self, epsilon):
        return 1


def test_names_that_are_not_far_above_others_are_not_private():
    assert worst_delta(method(1, 2, "0.05", of=Hasty), Fraction(4), 5) > 0.3


@dataclass(frozen=True)
class Unpaid(CutMethod):
    """Another broken twin: all of ε goes to the names, and as much to their number."""

    def each(self, epsilon):
        return epsilon / self.k

    def of_size(self, epsilon):
        return epsilon


def test_a_number_of_names_that_is_not_paid_for_is_not_private():
    """Where a share for it is paid, the same counts lose less than 0.05."""
    assert worst_delta(method(2, 3, "0.05", of=Unpaid), Fraction(4), 6) > 0.06


@pytest.mark.parametrize(("k", "limit"), [(1, 2), (2, 2), (2, 3), (3, 3)])
def test_draws_follow_the_law(k, limit):
    of = method(k, limit, "0.3")
    counts = {"a": 9, "b": 8, "c": 6, "d": 1}
    domain = Domain.of(counts, limit)
    entropy = InsecureEntropy(7)
    drawn = Counter(tuple(of.names(domain, Fraction(2), entropy)) for _ in range(20_000))
    right, wrong = (law(counts, of, e) for e in (Fraction(2), Fraction(3)))
    answers = sorted(right)
    assert set(drawn) <= set(answers)
    observed = np.array([drawn[each] for each in answers])
    expected, other = (np.array([of_law[each] for each in answers]) for of_law in (right, wrong))
    assert_draws_follow(observed, expected, other)


def test_more_names_than_keys_can_be_asked_for():
    of = method(9, 4, "0.3")
    named = of.names(Domain.of({"a": 900, "b": 800}, 4), Fraction(2), InsecureEntropy(3))
    assert set(named) <= {"a", "b"}


def test_a_cut_list_needs_a_smaller_lead():
    """At ε = 0.3 and δ = 10^-6: the numbers of docs/lab-frequency.md."""
    epsilon = Fraction(3, 10)
    leads = {k: method(k, 3000, "1e-6").paid(epsilon).bonus(epsilon) for k in (3, 10)}
    assert leads == {3: 183, 10: 258}


def test_the_looks_move_by_one_at_most():
    """Over all small worlds and persons who come: the lead and D."""
    persons = [set(c) for c in ("a", "ab", "b", "abc", "c")]
    for n in range(4):
        for world in combinations_with_replacement(persons, n):
            for person in persons:
                moved = [_looks([*world, person])[i] - _looks(world)[i] for i in (0, 1)]
                assert max(map(abs, moved)) <= 1


def _looks(world, k=2, limit=2):
    counts = Counter(key for person in world for key in person)
    owner = [i for i, person in enumerate(world) for _ in person]
    cell = ["abc".index(key) for person in world for key in sorted(person)]
    persons = KeysOfPersons()
    weights = persons.weights(Pairs(*(np.array(each, dtype=int) for each in (owner, cell, owner))))
    assert weights.tolist() == [1] * len(owner)
    return Domain.of(counts, limit).lead(k), persons.more


def test_most_persons_decide():
    owner = np.repeat(np.arange(5), [24, 30, 1, 23, 99])
    persons = KeysOfPersons()
    persons.weights(Pairs(owner, np.arange(len(owner)), np.ones(len(owner), dtype=int)))
    assert persons.more == 3 - 2


def chosen(price, **facts):
    delta = Fraction(1, 10**6)
    limited = LimitedMethod("keys", ("v",), delta, 3, "who", "ranking")
    schema = Schema(unit="who", **facts)
    question = FrequencyQuestion(value="v", k=3, delta="1e-6")
    weights = by_weights(question.method(None, schema, price), schema, price)
    return ChosenMethod(limited, CutMethod(delta, 3), weights, schema.groups_per_unit)


def test_all_that_is_drawn_is_paid_for():
    of = chosen(Price("1"))
    cost = of.cost(Price("1"))
    rest = 1 - FOR_LEAD
    assert (cost.epsilon, cost.delta, cost.neighbours) == (1, Fraction(1, 10**6), "add-remove-unit")
    ways = [
        of.limited.paid(Price(rest)).cost(Price(rest)).rho,
        of.cut.paid(rest).rho(rest),
        of.weights.cost(Price(rest - FOR_MANY)).rho + pure_rho(FOR_MANY),
    ]
    assert cost.rho == pure_rho(FOR_LEAD) + max(ways)


WORDS = [f"w{i:02d}" for i in range(30)]


def asked(people, words, **facts):
    table = {
        "who": [i for i in range(people) for _ in words],
        "word": list(words) * people,
    }
    data = dampen.dataset(table, unit="who", **facts)
    return data.most_frequent("word", k=3, epsilon=1, delta="1e-6")


@pytest.mark.parametrize(
    ("people", "words", "facts", "way"),
    [
        (2_000, 3, {}, "limited"),
        (50, 30, {}, "cut"),
        (50, 3, {}, "weights"),
        (50, 3, {"groups_per_unit": 24}, "cut"),
        (50, 30, {"groups_per_unit": 5}, "weights"),
    ],
)
def test_the_looks_choose_the_way(people, words, facts, way, monkeypatch):
    """Leads of 2,000 and 50 people; a wrong look has a probability below e^-20, or e^-1.2 / 2
    where 50 persons have many or few keys."""
    taken = []
    for name, of in (("limited", LimitedMethod), ("cut", CutMethod)):
        drawn = of.names
        monkeypatch.setattr(
            of, "names", lambda *args, name=name, drawn=drawn: taken.append(name) or drawn(*args)
        )
    ways = [asked(people, WORDS[:words], **facts) for _ in range(7)]
    usual = Counter([*taken, *["weights"] * (7 - len(taken))]).most_common(1)[0][0]
    assert usual == way
    assert all(made.mechanism == "chosen-domain" for made in ways)
    assert all("people" in made.accuracy.sentence for made in ways)


@pytest.mark.parametrize("more", [-30, 0, 5])
def test_the_look_at_the_persons_follows_its_law(more):
    of = chosen(Price("1"))
    entropy = InsecureEntropy(11)
    many = sum(of._have_many(more, Fraction(1), entropy) for _ in range(4_000))
    observed = np.array([4_000 - many, many])
    right, wrong = (_above(more, e) for e in (1 / 40, 1 / 4))
    assert p_value(observed, np.array([1 - right, right])) > FALSE_ALARM
    assert more == 0 or p_value(observed, np.array([1 - wrong, wrong])) < FALSE_ALARM


def _above(lead, epsilon):
    """P(lead + noise > 0)."""
    a = np.exp(-epsilon)
    return 1 - a**lead / (1 + a) if lead >= 1 else a ** (1 - lead) / (1 + a)
