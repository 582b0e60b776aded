"""The keys that most people have, where a person may have any number and nobody lists them.

All ways count distinct people: a person who comes moves every count by 0 or 1, upwards only, and
however many counts.  The names are drawn among the keys with the largest counts (`Domain`), which
are not published: `LimitedMethod` ends the list by a last candidate, `CutMethod` draws the names
in secret and publishes as many of them as are far above all other keys.  `ChosenMethod` chooses
between the two and the weights of persons (`dampen.questions.keys.by_weights`) by noisy looks.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import takewhile
from math import ceil, isqrt, log
from typing import Any, ClassVar, Literal

import numpy as np

from dampen.core import sensitivity
from dampen.core.mechanisms import EM
from dampen.core.noise import GUMBEL, pure_rho
from dampen.core.sampling import Entropy, discrete_laplace, noisy_top, weighted_best
from dampen.core.selection import FloatArray, IntArray, Neighbours, Selection
from dampen.core.zcdp import rho_within
from dampen.data.columns import public_order
from dampen.data.units import Pairs, Present, weights_by_key
from dampen.epsilon import exact
from dampen.questions.keys import EitherMethod, KeysMethod, RootMethod
from dampen.releases.accuracy import Accuracy, by_lead, lead, rounded_up
from dampen.releases.cost import Cost, Price, selection_cost
from dampen.releases.method import Drawn, Leak
from dampen.schema.schema import Schema

__all__ = [
    "ChosenMethod",
    "CutMethod",
    "Domain",
    "KeysOfPersons",
    "LimitedMethod",
    "ends_above",
    "names_are_limited",
]

Wanted = Literal["ranking", "name"]
LIMIT = 3000
"""k̄: so many keys can be named, those that most people have."""
DIGITS_OF_ROOT = 10**15


@dataclass(frozen=True)
class Domain:
    """The k̄ keys with the largest counts, equal ones in their public order; private.

    Where fewer keys occur, keys that nobody has, of count 0, fill it up.

    Attributes:
        names: the keys that somebody has.
        counts: of all k̄ keys, largest first.
        outside: c*, the largest count outside of it, 0 if there is none.
    """

    names: Sequence[Hashable]
    counts: FloatArray
    outside: int

    @classmethod
    def of(cls, found: Mapping[Hashable, int], limit: int) -> "Domain":
        """From how many people have each key."""
        ranked = sorted(found.items(), key=lambda pair: (-pair[1], *public_order(pair[0])))
        counts = np.zeros(limit)
        counts[: len(ranked)] = [count for _, count in ranked[:limit]]
        outside = ranked[limit][1] if len(ranked) > limit else 0
        return cls([key for key, _ in ranked[:limit]], counts, outside)

    def lead(self, k: int) -> int:
        """By how much the k-th largest count is above c*."""
        return int(self.counts[min(k, len(self.counts)) - 1]) - self.outside

    def published(self, places: Sequence[int]) -> list[Hashable]:
        """The keys at these places, up to the first that is not one that somebody has."""
        return [self.names[i] for i in takewhile(lambda i: i < len(self.names), places)]


@dataclass(frozen=True)
class LimitedMethod:
    """The k keys that most people have, where a person may have any number of keys.

    After Durfee and Rogers (2019).  c_i is the number of people who have the key i, D the k̄ keys
    with the largest counts and c* the largest count outside of it (`Domain`).  One more candidate,
    "end", has the count c* + 1 + B.  The k best of ε₀ c_i + Gumbel noise are drawn among D and
    "end".  Keys are published, best first, until "end" comes or a key that nobody has.

    **Theorem.**  (k ε₀, δ₂)-DP for one person more or less, with δ₂ = k̄ / (1 + e^(ε₀ B)); and
    (ε, δ₁ + δ₂)-DP, if k ε₀²/8-zCDP is (ε, δ₁)-DP.
    Proof.  x' is x with one person more, so that every count grows by 0 or 1.  Let E be the keys of
    D(x) that are not in D(x'), and E' those of D(x') that are not in D(x); |E| = |E'|, and they can
    be paired.  For e in E and e' in E', c_e >= c_e' and c'_e' >= c'_e, so that
    c_e <= c'_e <= c'_e' <= c_e' + 1 <= c_e + 1.
    (1) Hence c_e <= c_e' + 1 <= c* + 1 and c'_e' <= c_e + 1 <= c'_e + 1 <= c'* + 1.  So on either
    side a key of E, or of E', comes before "end" with probability at most 1 / (1 + e^(ε₀ B)), the
    law of a difference of two Gumbel numbers, and any of them with probability at most δ₂.
    (2) Give the two keys of a pair one name.  Then x and x' draw from the same names, and from x to
    x' the count of each, "end" among them, moves by 0 to 1.  So each weight e^(ε₀ c), and each sum
    of weights, grows by a factor from 1 to e^ε₀: every draw is an exponential mechanism of range
    ε₀, and the k draws are kε₀-DP, and kε₀²/8-zCDP, hence (ε, δ₁)-DP.
    (3) What is published is a function of the draws up to "end", the same one on both sides unless
    a pair is among them.  With S₁ the answers of S that hold no key of E or E', P(S) <= δ₂ + P(S₁)
    <= δ₂ + δ₁ + e^ε P'(S₁) <= δ₁ + δ₂ + e^ε P'(S).  ∎
    In zCDP the k draws cost k ε₀²/8, and δ₂.  Which ε₀ is larger, ε/k or the root of 8ρ/k with half
    of δ for δ₁, is public: from k = 6 on it is the root, at ε = 1 and δ = 1e-6.

    Attributes:
        query: what is asked, for the ledger.
        columns: of the values; a key has one value of each.
        delta: the exact δ.
        k: how many at most.
        unit: the column that names the person.
        wanted: "ranking" for a list, "name" for the first or None.
        limit: k̄.
        converted: δ₁; 0 where ε₀ is ε/k, or ρ is paid.
    """

    query: str
    columns: tuple[str, ...]
    delta: Fraction
    k: int
    unit: str
    wanted: Wanted
    limit: int = LIMIT
    converted: Fraction = Fraction(0)

    def paid(self, price: Price) -> "LimitedMethod":
        """The same with the larger ε₀, where ε is paid."""
        if price.epsilon is None or price.rho is not None:
            return self
        epsilon = exact(price.epsilon)
        rooted = replace(self, converted=self.delta / 2)
        return rooted if rooted.each(epsilon) > self.each(epsilon) else self

    def cost(self, price: Price, /) -> Cost:
        people = Neighbours.ADD_REMOVE_UNIT
        cost = selection_cost(people, price, query=self.query, mechanism=EM, k=self.k)
        if self.converted:
            rho = rho_within(cost.epsilon, self.converted)
            cost = replace(cost, rho=rho)
        return replace(cost, mechanism="limited-domain", delta=self.delta)

    def each(self, epsilon: Fraction) -> Fraction:
        """ε₀."""
        if not self.converted:
            return epsilon / self.k
        return _root(8 * rho_within(epsilon, self.converted) / self.k)

    def bonus(self, epsilon: Fraction) -> int:
        """B, rounded up: the true δ is never above the stated one."""
        return ends_above(self.limit, self.delta - self.converted, self.each(epsilon))

    def accuracy(self, epsilon: Fraction, rows: int | None, /, more: int = 0) -> Accuracy:
        """With `more` people than the noise takes."""
        del rows
        in_all = self.k * self.each(epsilon)
        return _accuracy(in_all, self.limit, self.k, self.bonus(epsilon) + more, epsilon)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        found = weights_by_key(source, self.unit, self.columns, Present())
        names = self.names(Domain.of(found, self.limit), epsilon, entropy)
        return _answered(names, self.wanted, self.unit)

    def names(self, domain: Domain, epsilon: Fraction, entropy: Entropy) -> list[Hashable]:
        """The keys that are published: (ε, δ)-DP.

        Args:
            domain: of the keys and how many people have each; private.
            epsilon: of all of it.
            entropy: of random bits.
        """
        end = domain.outside + 1 + self.bonus(epsilon)
        scores = np.append(domain.counts, end)
        best = noisy_top(scores, self.each(epsilon), GUMBEL, min(self.k, len(scores)), entropy)
        return domain.published(best)


@dataclass(frozen=True)
class CutMethod:
    """The k keys that most people have, drawn in secret and cut where they are not common enough.

    D, c_i and c* are those of `LimitedMethod`.  (1) k names r_1, ..., r_k are drawn among D alone:
    the k best of ε₀ c_i + Gumbel noise.  They are not shown.  (2) How many of them are is drawn as
    J = 0, ..., k with P(J) proportional to b_J exp(ε₁ min(c_r1, ..., c_rJ, c* + B)), b_J = 1, but
    b_k = 60 k.  Shown are r_1, ..., r_J up to the first key that nobody has.

    In `LimitedMethod` a key at the end of D is hidden by the noise of each of k draws, which takes
    a lead of ln(k̄/δ) / ε₀.  Here it takes ln(61 k/δ) / ε₁, and ε₁ is not a k-th of ε.

    **Theorem.**  (k ε₀ + ε₁, δ₂)-DP for one person more or less, with δ₂ = S / (1 + e^(ε₁ (B - 1)))
    and S = b_1 + ... + b_k; and (ε, δ₁ + δ₂)-DP, if (k ε₀² + ε₁²)/8-zCDP is (ε, δ₁)-DP.
    Proof.  x' has one person more; take E, E' and their pairs from the proof of `LimitedMethod`.
    (1) A key e of E has c_e <= c* + 1, and one of E' has at most c'* + 1 under x'.  If e is r_j,
    then every J >= j has the weight b_J e^(ε₁ (c* + 1)) at most, and J = 0 has e^(ε₁ (c* + B)).  So
    whatever the names are, e is among the first J with probability at most δ₂, and so is any of E,
    or of E': take the first j of them.
    (2) Give the two keys of a pair one name.  Then from x to x' the count of every name grows by 0
    to 1, and each of the k draws has range ε₀.  With the same names c_r1, ..., c_rk and c* grow by
    0 to 1, so min(c_r1, ..., c_rJ, c* + B) does, each weight grows by a factor from 1 to e^ε₁, and
    the draw of J has range ε₁.  By adaptive composition the names and J are (k ε₀ + ε₁)-DP, and
    (k ε₀² + ε₁²)/8-zCDP, hence (ε, δ₁)-DP.
    (3) What is shown is a function of the names and of J, the same one on both sides unless a pair
    is among the first J.  The rest is step (3) of `LimitedMethod`.  ∎

    A share of 7/20 of ε, or of ρ, is for J.  Which way to pay makes ε₀ larger is public.

    Attributes:
        delta: the exact δ.
        k: how many at most.
        limit: k̄.
        converted: δ₁; 0 where ε is k ε₀ + ε₁.
    """

    delta: Fraction
    k: int
    limit: int = LIMIT
    converted: Fraction = Fraction(0)

    def paid(self, epsilon: Fraction) -> "CutMethod":
        """The same with the larger ε₀."""
        rooted = replace(self, converted=self.delta / 2)
        return rooted if rooted.each(epsilon) > self.each(epsilon) else self

    def rho(self, epsilon: Fraction) -> Fraction:
        """What it costs in zCDP, next to δ."""
        if self.converted:
            return rho_within(epsilon, self.converted)
        return (self.k * self.each(epsilon) ** 2 + self.of_size(epsilon) ** 2) / 8

    def each(self, epsilon: Fraction) -> Fraction:
        """ε₀."""
        if not self.converted:
            return (1 - FOR_SIZE) * epsilon / self.k
        return _root(8 * (1 - FOR_SIZE) * rho_within(epsilon, self.converted) / self.k)

    def of_size(self, epsilon: Fraction) -> Fraction:
        """ε₁."""
        if not self.converted:
            return FOR_SIZE * epsilon
        return _root(8 * FOR_SIZE * rho_within(epsilon, self.converted))

    def bonus(self, epsilon: Fraction) -> int:
        """B, rounded up."""
        weights = int(self._weights.sum()) - 1
        return 1 + ends_above(weights, self.delta - self.converted, self.of_size(epsilon))

    def accuracy(self, epsilon: Fraction) -> Accuracy:
        in_all = self.k * self.each(epsilon)
        return _accuracy(in_all, self.limit, self.k, self.bonus(epsilon), epsilon)

    def names(self, domain: Domain, epsilon: Fraction, entropy: Entropy) -> list[Hashable]:
        """The keys that are published: (ε, δ)-DP.

        Args:
            domain: of the keys and how many people have each; private.
            epsilon: of all of it.
            entropy: of random bits.
        """
        drawn = noisy_top(domain.counts, self.each(epsilon), GUMBEL, self._drawn, entropy)
        least = np.minimum.accumulate(domain.counts[drawn])
        enough = domain.outside + self.bonus(epsilon)
        scores = np.concatenate([[enough], np.minimum(least, enough)])
        size = weighted_best(scores, self._weights, self.of_size(epsilon), entropy)
        return domain.published(drawn[:size])

    @property
    def _drawn(self) -> int:
        return min(self.k, self.limit)

    @property
    def _weights(self) -> IntArray:
        """b_0, ..., b_k."""
        weights = np.ones(self._drawn + 1, dtype=np.int64)
        weights[-1] = ALL_OR_LESS * self._drawn
        return weights


FOR_SIZE = Fraction(7, 20)
ALL_OR_LESS = 60


@dataclass(slots=True, eq=False)
class KeysOfPersons:
    """Distinct persons of every key; and D, those with `MANY_KEYS` keys or more, minus all others.

    Attributes:
        more: D, once the persons are counted; private.
    """

    more: int = 0
    within_lines: ClassVar[bool] = False

    def weights(self, pairs: Pairs, /) -> IntArray:
        many = np.unique(pairs.owner, return_counts=True)[1] >= MANY_KEYS
        self.more = 2 * int(many.sum()) - len(many)
        return Present().weights(pairs)


@dataclass(frozen=True)
class ChosenMethod:
    """The k keys that most people have, by the way that noisy looks at the data suggest.

    The *lead* is the k-th largest number of people of a key, minus c* (`LimitedMethod`), with
    discrete Laplace noise of scale 20/ε.  The limited domain is taken if the lead is at least its
    B, else `CutMethod` if the lead is at least 8/5 of the B there.  Else D is looked at, by how
    many more people have 24 keys or more than have fewer, with noise of scale 40/ε: `CutMethod` is
    taken if it is above 0, the weights of persons, which serve persons with few keys, if not.
    Where the number of keys of a person is stated, it takes the place of D, for no ε.

    **Theorem.**  (ε, δ)-DP for one person.  Proof.  A person who comes moves the k-th largest count
    and c* by 0 to 1, so that the lead moves by at most 1; D moves by 1.  So the looks are ε/20-DP
    and ε/40-DP, and what is drawn by what is left of ε is (19/20 ε, δ)-DP, or (37/40 ε, δ)-DP:
    adaptive composition.  ∎

    Attributes:
        limited: for keys far above all others.
        cut: for keys above others, and persons with many keys.
        weights: for persons with few keys.
        groups_per_unit: how many keys a person usually has, where it is stated.
    """

    limited: LimitedMethod
    cut: CutMethod
    weights: KeysMethod | RootMethod | EitherMethod
    groups_per_unit: int | None

    def cost(self, price: Price, /) -> Cost:
        epsilon = price.asked()
        rest = epsilon - FOR_LEAD * epsilon
        least = self.left(epsilon)
        weights = self.weights.cost(Price(least))
        counted = [self._limited(rest).cost(Price(rest)).rho, self._cut(rest).rho(rest)]
        looked = pure_rho(self._for_many(epsilon)) if rest > least else Fraction(0)
        last = looked + max(weights.rho, self._cut(least).rho(least))
        rho = pure_rho(FOR_LEAD * epsilon) + max(*counted, last)
        return replace(weights, epsilon=epsilon, rho=rho, mechanism="chosen-domain")

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """That of the limited domain, which is taken if the lead is above its B by 40/ε, unless
        noise is below -40/ε: with probability e^-2 / 2.
        """
        del rows
        rest = epsilon - FOR_LEAD * epsilon
        surely = ceil(2 / (FOR_LEAD * epsilon))
        return self._limited(rest).accuracy(rest, None, surely)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        persons = KeysOfPersons()
        found = weights_by_key(source, self.limited.unit, self.limited.columns, persons)
        domain = Domain.of(found, self.cut.limit)
        named = self.named(domain, persons.more, epsilon, entropy)
        return self._of_weights(source, epsilon, entropy) if named is None else named

    def named(self, domain: Domain, more: int, epsilon: Fraction, entropy: Entropy) -> Drawn | None:
        """The names by the numbers of people, or None where the weights are to be taken.

        Args:
            domain: of the keys and how many people have each; private.
            more: D.
            epsilon: of all of it, the weights among it.
            entropy: of random bits.
        """
        rest = epsilon - FOR_LEAD * epsilon
        lead = domain.lead(self.cut.k) + _noise(FOR_LEAD * epsilon, entropy)
        limited = self._limited(rest)
        cut = self._cut(rest)
        if lead >= limited.bonus(rest):
            names = limited.names(domain, rest, entropy)
            return _answered(names, limited.wanted, limited.unit, limited.accuracy(rest, None))
        if lead < ENOUGH * cut.bonus(rest):
            if not self._have_many(more, epsilon, entropy):
                return None
            rest = self.left(epsilon)
            cut = self._cut(rest)
        names = cut.names(domain, rest, entropy)
        return _answered(names, limited.wanted, limited.unit, cut.accuracy(rest))

    def left(self, epsilon: Fraction) -> Fraction:
        """What both looks leave of ε."""
        return epsilon - FOR_LEAD * epsilon - self._for_many(epsilon)

    def _of_weights(self, source: Any, epsilon: Fraction, entropy: Entropy) -> Drawn:
        left = self.left(epsilon)
        drawn = self.weights.draw(source, left, entropy)
        return replace(drawn, accuracy=drawn.accuracy or self.weights.accuracy(left, None))

    def _have_many(self, more: int, epsilon: Fraction, entropy: Entropy) -> bool:
        if self.groups_per_unit is not None:
            return self.groups_per_unit >= MANY_KEYS
        return more + _noise(self._for_many(epsilon), entropy) > 0

    def _for_many(self, epsilon: Fraction) -> Fraction:
        """The ε of the look at D."""
        return FOR_MANY * epsilon if self.groups_per_unit is None else Fraction(0)

    def _limited(self, epsilon: Fraction) -> LimitedMethod:
        return self.limited.paid(Price(epsilon))

    def _cut(self, epsilon: Fraction) -> CutMethod:
        return self.cut.paid(epsilon)


FOR_LEAD = Fraction(1, 20)
FOR_MANY = Fraction(1, 40)
ENOUGH = Fraction(8, 5)
MANY_KEYS = 24


def _noise(epsilon: Fraction, entropy: Entropy) -> int:
    """Of a number that moves by at most 1."""
    return int(discrete_laplace(1 / epsilon, 1, entropy)[0])


def _answered(
    names: Sequence[Hashable], wanted: Wanted, unit: str, accuracy: Accuracy | None = None
) -> Drawn:
    answer: Any = names if wanted == "ranking" else next(iter(names), None)
    return Drawn(answer, {"unit": unit}, accuracy)


def _accuracy(in_all: Fraction, limit: int, k: int, above: int, epsilon: Fraction) -> Accuracy:
    """Of k draws by the exponential mechanism, of which those far above c* are shown."""
    tiny = Selection([0.0], sensitivity.constant(1), one_sided=True, exact=True)
    needed = lead(tiny, EM, m=limit + 1, k=k, epsilon=in_all)
    assert needed is not None, "the scores have a lead at every ε"
    who = ("value", "values")
    told = by_lead(needed, "people", who=who, k=k, epsilon=epsilon, most=None)
    sentence = (
        f"{told.sentence} A value is named if at least {above + rounded_up(needed):,} people more "
        f"have it than any value beyond the {limit:,} most frequent ones."
    )
    return replace(told, sentence=sentence)


def _root(square: Fraction) -> Fraction:
    """The square root, rounded down."""
    return Fraction(isqrt(int(square * DIGITS_OF_ROOT**2)), DIGITS_OF_ROOT)


def ends_above(limit: int, delta: Fraction, epsilon: Fraction) -> int:
    """The least whole number B with limit / (1 + e^(εB)) <= δ, or one more."""
    needed = log(limit) - log(delta.numerator) + log(delta.denominator)
    # The logarithms of Python are off by less than 2^-40 of themselves.
    return max(ceil(Fraction(needed * (1 + 2.0**-30)) / epsilon), 1)


def names_are_limited(limited: LimitedMethod, schema: Schema, epsilon: Fraction) -> bool:
    """Whether keys of persons are named by `LimitedMethod`, not by their weights: a public rule.

    The weights of persons with many keys rank keys by weight, not by the number of persons; but the
    domain needs B people.  So it is used where persons may have several keys and k/ε is at most 20,
    or the rows are known to be at least 200 B (`dampen-studies run key-names`).
    """
    if schema.groups_per_unit == 1:
        return False
    if limited.k <= FEW_NAMES * epsilon:
        return True
    return schema.rows is not None and schema.rows >= MANY_ROWS * limited.bonus(epsilon)


FEW_NAMES = 20
MANY_ROWS = 200
