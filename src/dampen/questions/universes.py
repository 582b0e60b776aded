"""Public universes: all values that are possible, too many to list.

    dampen.most_frequent(words, categories=dampen.universe(words=12), epsilon=1)

Add/remove one row.  The candidates are all N values of the universe; u(x, r) is the number of rows
with the value r, which a row more can only raise, by 1, for one value.

**Theorem.**  The exponential mechanism with P(r) proportional to exp(ε u(x, r)) is ε-DP.
Proof.  A row more with the value r multiplies the weight of r by e^ε and changes no other, so the
sum of all weights grows by a factor between 1 and e^ε: the probability of r grows by a factor
between 1 and e^ε, and that of any other falls by a factor between 1 and e^-ε. ∎
It has ε-bounded range, and so costs ε²/8 in zCDP.  k answers are k draws without replacement, at
ε/k each.

**The unseen values** have utility 0, all of them.  They are one candidate of weight N - s, where s
values were seen: `dampen.core.sampling.weighted_best` draws it exactly as often as one of them.  If
it wins, one of the unseen values is drawn uniformly, by its place among them.  So the law is that
of the whole universe, and the work grows with the values that occur.

**How many rows it takes.**  The most frequent value is named with probability 0.9 if it leads by
(ln N + ln 9) / ε rows: 25 for the addresses of IPv4 and 42 for words of up to 12 letters, at ε = 1.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import isfinite
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dampen.core import sensitivity
from dampen.core.mechanisms import EM
from dampen.core.sampling import Entropy, uniform_below, weighted_best
from dampen.core.selection import Neighbours, Selection
from dampen.data.source import is_opened
from dampen.errors import ParameterError
from dampen.questions.keys import given_counts, tally
from dampen.releases.accuracy import Accuracy, by_lead, lead
from dampen.releases.cost import Cost, Price, selection_cost
from dampen.releases.method import Drawn, Leak

__all__ = ["PublicUniverse", "UniverseMethod", "universe"]

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LARGEST = 2**63 - 1
LONGEST_WORD = 100
BYTES = frozenset(map(str, range(256)))


@runtime_checkable
class PublicUniverse(Protocol):
    """All possible values, each with a place from 0 to size - 1."""

    @property
    def size(self) -> int: ...

    def place_of(self, value: Any, /) -> int | None:
        """The place of a value; None if it is not in the universe."""
        ...

    def value_at(self, place: int, /) -> Hashable:
        """The value at a place."""
        ...


@dataclass(frozen=True)
class Words:
    """All words of one letter to `longest` letters of an alphabet."""

    longest: int
    alphabet: str = LETTERS

    def __post_init__(self) -> None:
        _check_whole("words", self.longest)
        if not self.alphabet or len(set(self.alphabet)) < len(self.alphabet):
            raise ParameterError("Expected alphabet to be a text of different letters.")
        if self.longest > LONGEST_WORD:
            raise ParameterError(f"Expected words of at most {LONGEST_WORD} letters.")
        _check_size(self.size)

    @property
    def size(self) -> int:
        return self._before(self.longest + 1)

    def place_of(self, value: Any, /) -> int | None:
        if not isinstance(value, str) or not 1 <= len(value) <= self.longest:
            return None
        digits = [self.alphabet.find(letter) for letter in value]
        if min(digits) < 0:
            return None
        within = list(accumulate(digits, lambda sum, digit: sum * len(self.alphabet) + digit))
        return self._before(len(value)) + within[-1]

    def value_at(self, place: int, /) -> str:
        length = next(n for n in range(1, self.longest + 1) if place < self._before(n + 1))
        rest = place - self._before(length)
        letters = []
        for _ in range(length):
            rest, digit = divmod(rest, len(self.alphabet))
            letters.append(self.alphabet[digit])
        return "".join(reversed(letters))

    def _before(self, length: int) -> int:
        """How many words are shorter."""
        return sum(len(self.alphabet) ** n for n in range(1, length))


@dataclass(frozen=True)
class Addresses:
    """All addresses of IPv4, as text such as 192.0.2.1."""

    size = 2**32

    def place_of(self, value: Any, /) -> int | None:
        parts = value.split(".") if isinstance(value, str) else []
        if len(parts) != 4 or not all(part in BYTES for part in parts):
            return None
        return int.from_bytes(bytes(map(int, parts)), "big")

    def value_at(self, place: int, /) -> str:
        return ".".join(map(str, place.to_bytes(4, "big")))


@dataclass(frozen=True)
class Integers:
    """All whole numbers from `low` to `high`."""

    low: int
    high: int

    def __post_init__(self) -> None:
        for name, value in (("low", self.low), ("high", self.high)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise ParameterError(f"Expected {name} to be a whole number, got {value!r}.")
        if self.low > self.high:
            raise ParameterError(f"Expected low <= high, got {self.low} and {self.high}.")
        _check_size(self.size)

    @property
    def size(self) -> int:
        return self.high - self.low + 1

    def place_of(self, value: Any, /) -> int | None:
        if isinstance(value, float | np.floating):
            value = int(value) if isfinite(value) and value == int(value) else None
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            return None
        return int(value) - self.low if self.low <= value <= self.high else None

    def value_at(self, place: int, /) -> int:
        return self.low + place


def universe(
    *,
    words: int | None = None,
    alphabet: str = LETTERS,
    ipv4: bool = False,
    integers: tuple[int, int] | None = None,
) -> PublicUniverse:
    """All possible values, too many to list, as the `categories` of `dampen.most_frequent`.

    With a universe `most_frequent` is ε-DP, without a δ and without a list.  Rows with values that
    are not in it are left out.  State one universe.

    Args:
        words: all words of up to so many letters.
        alphabet: the letters of these words.
        ipv4: all addresses of IPv4, written as 192.0.2.1.
        integers: all whole numbers from the first to the second.

    Returns:
        The universe.

    Raises:
        ParameterError: if none or several are stated, or there are 2^63 values or more.

    >>> import dampen
    >>> dampen.universe(words=12).size
    99246114928149462
    >>> visits = ["weather"] * 90 + ["news"] * 20
    >>> dampen.most_frequent(visits, categories=dampen.universe(words=12), epsilon=2).answer
    'weather'
    """
    stated = [words is not None, ipv4, integers is not None]
    if sum(stated) != 1:
        raise ParameterError(
            "Expected one universe: words=12, ipv4=True or integers=(0, 9999), got "
            f"{'several' if any(stated) else 'none'}."
        )
    if words is not None:
        return Words(words, alphabet)
    return Addresses() if integers is None else Integers(*integers)


@dataclass(frozen=True)
class UniverseMethod:
    """The exponential mechanism on a whole universe.

    Attributes:
        query: what is asked, for the ledger.
        column: of the values.
        universe: all possible values.
        k: how many answers; None for one that is not in a list.
    """

    query: str
    column: str
    universe: PublicUniverse
    k: int | None

    def cost(self, price: Price, /) -> Cost:
        rows = Neighbours.ADD_REMOVE_ROW
        return selection_cost(rows, price, query=self.query, mechanism=EM, k=self.k or 1)

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        k = self.k or 1
        tiny = Selection([0.0], sensitivity.constant(1), one_sided=True, exact=True)
        needed = lead(tiny, EM, m=self.universe.size, k=k, epsilon=epsilon)
        return by_lead(needed, "rows", who=("value", "values"), k=k, epsilon=epsilon, most=rows)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        found = tally(source, self.column) if is_opened(source) else given_counts(source)
        places = _by_place(found, self.universe.place_of)
        named: list[int] = []
        for _ in range(self.k or 1):
            one = self.one(places, named, epsilon / (self.k or 1), entropy)
            named.append(one)
        values = [self.universe.value_at(place) for place in named]
        return Drawn(values[0] if self.k is None else values)

    def one(
        self, counts: Mapping[int, int], named: list[int], epsilon: Fraction, entropy: Entropy
    ) -> int:
        """The place of one value that is not named yet: ε-DP.

        Args:
            counts: the rows of every value that occurs, by its place.
            named: the places of earlier answers.
            epsilon: of this draw.
            entropy: of random bits.
        """
        seen = [place for place in counts if place not in named]
        unseen = self.universe.size - len({*counts, *named})
        u = [float(counts[place]) for place in seen]
        weights = [1] * len(seen)
        if unseen:
            u.append(0.0)
            weights.append(unseen)
        scale = epsilon  # one-sided: no factor 1/2
        best = weighted_best(np.array(u), np.array(weights, dtype=np.int64), scale, entropy)
        if best < len(seen):
            return seen[best]
        return _place_outside(sorted({*counts, *named}), uniform_below(unseen, entropy))


def _by_place(
    found: Mapping[Hashable, int], place_of: Callable[[Any], int | None]
) -> dict[int, int]:
    """The rows of every value of the universe; others are left out."""
    counts: dict[int, int] = {}
    for value, rows in found.items():
        place = place_of(value)
        if place is not None:
            counts[place] = counts.get(place, 0) + rows
    return counts


def _place_outside(taken: list[int], rank: int) -> int:
    """The place of that rank among those that are not taken; `taken` is ascending."""
    free_before = np.array(taken, dtype=object) - np.arange(len(taken))
    low = 0
    high = len(taken)
    while low < high:
        middle = (low + high) // 2
        if free_before[middle] <= rank:
            low = middle + 1
        else:
            high = middle
    return rank + low


def _check_whole(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ParameterError(f"Expected {name} to be a whole number above 0, got {value!r}.")


def _check_size(size: int) -> None:
    if size > LARGEST:
        raise ParameterError("Expected a universe of fewer than 2^63 values. State a smaller one.")
