"""Finds domains that were not stated, privately, with a share of ε.

Add/remove one row.  Every part below is a release of its own; what it found is public from then on,
and the parts and the model compose adaptively: their ε add up to that of the fit, exactly.

**The number of rows** n~ = n + Z with P(Z = z) proportional to exp(-ε' |z|): one row more or less
moves n by 1, so this is ε'-DP.  n~ steers shares of ε and the size of the model, so that a wrong n~
costs accuracy and never privacy.

**Bins of a column of numbers.**  A *library* of binnings is public, each with a whole number as its
weight: w, 2w, 3w, ... or rather (i+1) w, ..., (i+B-1) w for widths w of 1, 2 or 5 times a power of
ten and whole numbers i; and c, 2c, 4c, ... and ..., -4c, -c, 0, c, 4c, ... for the same numbers c.
So edges are round numbers.  Of a binning b let τ_(1) >= τ_(2) >= ... be the rows in its bins, the
fullest first, and a = (4, 2, 2, 1, 1, 0, ...) / 4.  One binning is drawn with

    P(b)  proportional to  weight(b) exp(ε' u(b)),     u(b) = -Σ_j a_j τ_(j).

Rows that are spread over many bins make u large; rows without a number count nowhere.

**Theorem.**  The draw is ε'-DP.  Proof.  As a falls, Σ_j a_j τ_(j) is the largest of the sums
Σ_j a_σ(j) τ_j over all orders σ of the bins.  A row more raises each of these by 0 to a_1 = 1,
hence their largest too.  So every exp(ε' u) shrinks by a factor from e^-ε' to 1, so does their sum,
and a probability changes by a factor from e^-ε' to e^ε'. ∎  (The exponential mechanism for a
one-sided utility of sensitivity 1: no factor 1/2.)

*Why not quantiles.*  A binning is good enough as soon as it is not absurd.  Its utility then leads
by some half of all rows, so n ε' of about 30 is enough for a column, whatever its range; a median
alone, by rank, needs n ε' of about 100 to be within a tenth of the rows, and eight quantiles three
times that.

**One binning for several columns** of a kind.  Columns are often of one scale: marks, shares,
points of a picture.  Where own binnings would cost much of ε, one is tried for all.  With u_j the
utility for column j of m, a common binning b* is drawn by ū = Σ_j u_j / m at ε'.  Its *regret* is
r = max_j (max_b u_j(b) - u_j(b*)), that of the column that it suits worst.  If ⌊r⌋ + Z, with Z
discrete Laplace noise of scale 1/ε'', is at most a public part of n~, all m columns have b*.  If
not, each column draws its own, as above, but b* has a tenth of all weight: where it suits a column,
little ε is enough to stay with it.

**Theorem.**  The draw of b* is ε'-DP, the test is ε''-DP, and an own draw is as above.  Proof.  A
row more lowers every u_j(b) by 0 to 1, so that ū(b) falls by 0 to 1, and the proof above holds for
ū.  Given b*, max_b u_j(b) and u_j(b*) fall by 0 to 1 each, so that their difference moves by at
most 1 for every j.  So r moves by at most 1, and ⌊r⌋ too.  Weights that follow from b* are public
by then. ∎

**Numbers or text,** where nobody says which: so many columns as `BLOCK` are asked at once.  A row
*agrees* with a list of kinds if no number of its is in a column of text, and no text in a column of
numbers; missing cells agree with both.  Of m columns, one of the 2^m lists is drawn with

    P(k)  proportional to  exp(ε' · rows that agree with k).

**Theorem.**  The draw is ε'-DP.  Proof.  A row more raises each exponent by 0 or ε', hence every
term and their sum grow by a factor from 1 to e^ε'. ∎  One by one, each column would need as much ε
as all of them do together: nearly all rows agree with one list, where columns are of one kind.

Where the columns are several such blocks, rows without any number in them are first compared with
all other rows: if the former, minus the latter, plus discrete Laplace noise of scale 1/ε', are
above 0, all of these columns are text, for the price of one.  A row moves the difference by 1, so
this is ε'-DP.

**Categories of a column of text.**  Values that nobody listed have a branch by a public *hash* of
their text, and so have missing ones; a value that no row had has a branch too.  A hash looks at
each row alone.  Which hash, is drawn as a binning is: a library has hashes into B = 2 to 32
branches, 256 for each B, with a weight of 1 / B^2: a branch without rows makes splits harder to
find.  τ_(1) >= τ_(2) >= ... are the rows in the
branches, so that a hash which puts two frequent values into one branch has a small u.  All theorems
about binnings hold as they are, with a = (4, 1, 1) / 4, for a row is in one branch of a column: one
hash is tried for several columns too.  With a δ, values of many rows get a branch and a name of
their own where that is cheap: truncated noise and a threshold (`dampen.core.thresholds`),
(ε', δ')-DP for each of m columns with δ' = δ/m.  Then other values, of the same hash, share up to
`BRANCHES` branches.

**Public hashes.**  Where own hashes would cost more than they may, none is drawn.  A column then
has `PUBLIC_BRANCHES`, four hashes that follow from its place alone: they cost nothing, whatever the
rows are.  Each is an attribute of a tree, and they share the weight of their column among random
splits, so that two values which share a branch by one are told apart by another.  Small branches
matter for that: of values as few as their branches, one is often alone, and hardly any branch is
empty.  Naive Bayes looks at the first hash alone.
"""

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np

from dampen.core.sampling import Entropy, discrete_laplace, uniform_below, weighted_best
from dampen.core.selection import FloatArray, IntArray
from dampen.core.thresholds import Threshold
from dampen.data.columns import WHOLE, as_keys, as_labels, public_order
from dampen.data.source import Batch, Field, Kind
from dampen.epsilon import decimal_text
from dampen.errors import MISSING, RULES, ParameterError
from dampen.questions.classify.encoding import (
    CELLS,
    MOST_VALUES,
    Bins,
    Branches,
    Categories,
    Domain,
    cells_of,
    days_of,
    mixed,
    numbers_of,
)
from dampen.questions.classify.plan import Purpose, Spending
from dampen.questions.classify.splits import MOST_ROWS

__all__ = [
    "Cells",
    "ColumnKind",
    "Found",
    "Hashes",
    "Library",
    "Search",
    "SearchPlan",
    "Tally",
    "kind_of",
]

ColumnKind: TypeAlias = Literal["numbers", "whole", "days", "flags", "text", "either"]
"""What is public of a column without a domain: "either" is text or numbers, nobody says which."""

FOR_ROWS = Fraction(1, 100)
"""The share of ε for the number of rows."""
ENOUGH = 30
"""n ε' for a binning of one column."""
MOST_FOR_BINS = Fraction(40, 100)
"""All parts together are at most .95 of ε, so that something is left for the model."""
ENOUGH_FOR_COMMON = 45
MOST_FOR_COMMON = Fraction(8, 100)
FEW_COLUMNS = 4
"""So many columns of a kind try a common binning where own ones cost more than `DEAR`."""
DEAR = Fraction(1, 8)
MANY_COLUMNS = 8
"""So many try it where own ones cost more than `CHEAP`."""
CHEAP = Fraction(3, 100)
LIKELY = 9
"""Where the common one does not serve all, its weight in own draws is a tenth of all weight."""
ENOUGH_FOR_REGRET = 20
"""Noise is then a twentieth of the rows, and what is allowed at least twice that."""
MOST_FOR_REGRET = Fraction(2, 100)
MOST_REGRET = Fraction(25, 100)
"""Of the rows: a common binning may cost a column so much, and more where own ones are too dear."""
MOST_REGRET_OF_A_HASH = Fraction(10, 100)
BLOCK = 10
"""So many columns are asked at once whether they hold numbers or text."""
ENOUGH_FOR_KINDS = 16
MOST_FOR_KINDS = Fraction(6, 100)
ENOUGH_FOR_ALL_KINDS = 8
MOST_FOR_ALL_KINDS = Fraction(2, 100)
ENOUGH_FOR_NAMES = 300
"""n ε' for the names of one column; a threshold is then about n / 25."""
MOST_FOR_NAMES = Fraction(6, 100)
"""Names that would cost more are left out."""
RAREST = 8
"""Names are left out where only values of more than n / 8 rows would get one."""
ENOUGH_FOR_BRANCHES = 30
"""n ε' for the hash of one column."""
MOST_FOR_BRANCHES = Fraction(16, 100)
ABSENT = 0
NUMBER = 1
TEXT = 2
FEW_BINS = 10
MANY_BINS = 20
MANY = 2048
"""n ε from which columns get `MANY_BINS`."""
BRANCHES = 32
BRANCH_COUNTS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, BRANCHES)
SALTS = 256
"""Hashes of each number of branches."""
PUBLIC_BRANCHES = (8, 4, 4, 4)
"""Of the hashes of a column where none is drawn; the first is that of naive Bayes too."""
PUBLIC_SALT = 2**16
FINEST_WEIGHT = 2**20
"""Over B^2: the weight of a hash into B branches."""
MOST_AT_ONCE = 2**22
"""Counts of hashes that are held at once."""
EXAMPLES = (1_000, 10_000, 100_000)
"""Numbers of rows that a plan shows where theirs is private."""
PARTS = 10_000
"""Shares of ε are whole multiples of 1 / PARTS."""
LEAST_EPSILON = Fraction(1, 10_000)
WEIGHTS = (4, 2, 2, 1, 1)
"""4 a."""
HASH_WEIGHTS = (4, 1, 1)
"""4 a for hashes."""
DIGITS = 2.0**17
"""Numbers are rounded to so many parts of a power of two before bins are chosen for them."""
SIZES = (1, 2, 5)
TIMES = ("date", "timestamp", "duration", "timedelta")
"""How the names of types of days and of spans of time begin."""


def kind_of(field: Field) -> ColumnKind:
    """What the declared type of a column says of its cells; public.

    >>> kind_of(Field("born", "date32[day]", "labels")), kind_of(Field("x"))
    ('days', 'either')
    """
    name = (field.type or "").lower()
    if field.holds == "numbers":
        return "whole" if name.startswith(WHOLE) else "numbers"
    if field.holds is None or not name:
        return "either"
    if name.startswith("bool"):
        return "flags"
    return "days" if name.startswith(TIMES) else "text"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tally:
    """The numbers of a column, ascending, and how often each occurs; private."""

    numbers: FloatArray
    counts: IntArray

    @classmethod
    def of(cls, numbers: FloatArray) -> "Tally":
        """From numbers in any order; missing ones are left out."""
        rounded = _rounded(numbers[~np.isnan(numbers)])
        return cls(*np.unique(rounded, return_counts=True))

    @classmethod
    def joined(cls, parts: Sequence["Tally"]) -> "Tally":
        """The tally of several pieces of a column."""
        numbers = np.concatenate([np.empty(0), *(part.numbers for part in parts)])
        counts = np.concatenate([np.empty(0, dtype=np.int64), *(part.counts for part in parts)])
        distinct, place = np.unique(numbers, return_inverse=True)
        total = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(total, place, counts)
        return cls(distinct, total)

    @property
    def n(self) -> int:
        """How many rows have a number."""
        return int(self.counts.sum())


def _rounded(numbers: FloatArray) -> FloatArray:
    """Numbers of at most 17 binary digits, which are few different ones; each row by itself."""
    part, power = np.frexp(numbers)
    return np.ldexp(np.rint(part * DIGITS) / DIGITS, power)


@dataclass(frozen=True)
class Library:
    """Public binnings and their weights; see the theorem of the module.

    Attributes:
        bins: B, how many bins each has.
        decades: the powers of ten of widths.
        starts: |i| is below this power of two.
    """

    bins: int
    decades: range = range(-6, 10)
    starts: int = 4096

    def draw(
        self, tally: Tally, epsilon: Fraction, entropy: Entropy, likely: int | None = None
    ) -> int:
        """One binning, by its number: ε-DP.  A likely one has a tenth of the weight."""
        utility, mass = self.runs(tally)
        if likely is not None:
            utility = np.append(utility, self.utility(tally, likely))
            mass = np.append(mass, mass.sum() // LIKELY)
        run = weighted_best(utility, mass, epsilon / WEIGHTS[0], entropy)
        if likely is not None and run == len(mass) - 1:
            return likely
        return self._candidate(tally, run, entropy)

    def utility(self, tally: Tally, candidate: int) -> int:
        """4u of one candidate; private."""
        upto = np.concatenate([[0], np.cumsum(tally.counts)])
        below = upto[np.searchsorted(tally.numbers, self.edges(candidate), side="left")]
        return -int(_fullest(below[None], tally.n)[0])

    def utilities(self, tally: Tally) -> IntArray:
        """4u of every candidate; private."""
        return np.concatenate(
            [
                np.repeat(-fullest[order], (high - low + 1)[order])
                for _, low, high, fullest in self._scored(tally)
                for order in [np.argsort(low)]
            ]
        )

    def runs(self, tally: Tally) -> tuple[FloatArray, IntArray]:
        """4u and the weight of runs of candidates with equal rows; private."""
        scored = list(self._scored(tally))
        utility = np.concatenate([-fullest for *_, fullest in scored])
        mass = np.concatenate([self._masses(low, high) for _, low, high, _ in scored])
        return utility.astype(np.float64), mass

    def __len__(self) -> int:
        return len(self._widths) * self._each

    @property
    def _each(self) -> int:
        """Candidates of one width: those of equal bins, and two of growing ones."""
        return 2 * self.starts - 1 + 2

    @cached_property
    def prior(self) -> IntArray:
        """The weights of all candidates."""
        return self.weights(np.arange(len(self)))

    @cached_property
    def _widths(self) -> list[tuple[int, int]]:
        return [(size, decade) for decade in self.decades for size in SIZES]

    @cached_property
    def _of_width(self) -> IntArray:
        """The weights of the candidates of one width, in their order.

        Most columns begin at 0, or lie around it.
        """
        i = np.abs(np.arange(1 - self.starts, self.starts)) + 1
        equal = self.starts >> (np.frexp(i)[1].astype(np.int64) - 1)
        equal[self.starts - 1] += 8 * self.starts
        equal[max(self.starts - 1 - self.bins // 2, 0)] += 4 * self.starts
        growing = 8 * self.starts
        return np.concatenate([equal, [growing, growing]])

    def weights(self, candidates: IntArray) -> IntArray:
        """The weights of candidates, by their numbers."""
        width, place = np.divmod(candidates, self._each)
        decade = np.array([each for _, each in self._widths])[width]
        away = np.maximum(np.abs(decade - 1) - 2, 0)
        return self._of_width[place] * (8 >> np.minimum((away + 1) // 2, 3))

    def edges(self, candidate: int) -> FloatArray:
        """The inner edges of a binning, by its number: the floats nearest to round decimals."""
        width, place = divmod(candidate, self._each)
        size, decade = self._widths[width]
        equal = 2 * self.starts - 1
        if place < equal:
            first = place - (self.starts - 1) + 1
            multiples = np.arange(first, first + self.bins - 1)
        elif place == equal:
            multiples = 2 ** np.arange(self.bins - 1)
        else:
            half = 4 ** np.arange((self.bins - 1) // 2)
            middle = np.zeros((self.bins - 1) % 2, dtype=np.int64)
            multiples = np.concatenate([-half[::-1], middle, half])
        return _decimal(multiples * size, decade)

    def _scored(self, tally: Tally) -> Any:
        """For every width: its number, the first and last candidate of each run, and -4u."""
        upto = np.concatenate([[0], np.cumsum(tally.counts)])
        n = tally.n
        for width, (size, decade) in enumerate(self._widths):
            first = 2 - self.starts
            multiples = np.arange(first, self.starts + self.bins - 1)
            edges = _decimal(multiples * size, decade)
            below = upto[np.searchsorted(tally.numbers, edges, side="left")]
            starts = 2 * self.starts - 1
            low = int(np.searchsorted(below[self.bins - 2 :], 0, side="right"))
            high = int(np.searchsorted(below[:starts], n, side="left"))
            low = min(low, high)
            windows = np.lib.stride_tricks.sliding_window_view(below, self.bins - 1)[low:high]
            begin = width * self._each
            growing = np.array(
                [
                    upto[np.searchsorted(tally.numbers, self.edges(begin + starts + j), "left")]
                    for j in range(2)
                ]
            )
            scores = np.concatenate([_fullest(windows, n), _fullest(growing, n)])
            single = np.concatenate([np.arange(low, high), [starts, starts + 1]]) + begin
            merged = [(begin, begin + low)] if low else []
            merged += [(begin + high, begin + starts)] if high < starts else []
            ends = np.array(merged, dtype=np.int64).reshape(-1, 2)
            yield (
                width,
                np.concatenate([single, ends[:, 0]]),
                np.concatenate([single, ends[:, 1] - 1]),
                np.concatenate([scores, np.full(len(ends), WEIGHTS[0] * n)]),
            )

    def _masses(self, low: IntArray, high: IntArray) -> IntArray:
        upto = self._weights_upto
        return upto[high + 1] - upto[low]

    @cached_property
    def _weights_upto(self) -> IntArray:
        return np.concatenate([[0], np.cumsum(self.prior)])

    def _candidate(self, tally: Tally, run: int, entropy: Entropy) -> int:
        """A candidate of a run, by weight."""
        parts = [(low, high) for _, low, high, _ in self._scored(tally)]
        low = int(np.concatenate([each for each, _ in parts])[run])
        high = int(np.concatenate([each for _, each in parts])[run])
        upto = self._weights_upto
        place = int(upto[low]) + uniform_below(int(upto[high + 1] - upto[low]), entropy)
        return int(np.searchsorted(upto, place, side="right")) - 1


def _decimal(multiples: IntArray, decade: int) -> FloatArray:
    """multiples · 10^decade, each the nearest float."""
    whole = multiples.astype(np.float64)
    return whole * 10.0**decade if decade >= 0 else whole / 10.0**-decade


def _fullest(below: IntArray, n: int) -> IntArray:
    """-4u from the rows below every inner edge, a line for each binning."""
    size = len(below)
    ends = np.zeros((size, 1), dtype=np.int64), np.full((size, 1), n, dtype=np.int64)
    counts = np.diff(np.concatenate([ends[0], below, ends[1]], axis=1), axis=1)
    weights = np.array(WEIGHTS[: counts.shape[1]])
    fullest = np.sort(counts, axis=1)[:, ::-1][:, : len(weights)]
    return np.asarray(fullest @ weights)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cells:
    """The cells that the values of a column of text have, and the rows in each; private."""

    cells: IntArray
    counts: IntArray

    @classmethod
    def of(cls, rows: IntArray) -> "Cells":
        """From the rows of every cell, of which many may have none."""
        cells = np.flatnonzero(rows)
        return cls(cells, rows[cells])


@dataclass(frozen=True)
class Hashes:
    """Public hashes of text and their weights; see the module.

    Attributes:
        sizes: the numbers of branches.
        salts: how many hashes of each there are.
    """

    sizes: tuple[int, ...] = BRANCH_COUNTS
    salts: int = SALTS

    def draw(
        self, column: Cells, epsilon: Fraction, entropy: Entropy, likely: int | None = None
    ) -> int:
        """One hash, by its number: ε-DP.  A likely one has a tenth of the weight."""
        mass = self.prior.copy()
        if likely is not None:
            mass[likely] += mass.sum() // LIKELY
        utility = self.utilities(column).astype(np.float64)
        return weighted_best(utility, mass, epsilon / WEIGHTS[0], entropy)

    @cached_property
    def prior(self) -> IntArray:
        """The weights of all hashes: the inverse of the square of their branches."""
        each = [FINEST_WEIGHT // size**2 for size in self.sizes]
        return np.repeat(each, self.salts)

    def utilities(self, column: Cells) -> IntArray:
        """4u of every hash; private."""
        most = max(self.sizes)
        total = np.zeros((len(self.sizes), self.salts, most), dtype=np.int64)
        step = max(1, MOST_AT_ONCE // self.salts)
        for begin in range(0, len(column.cells), step):
            cells = column.cells[begin : begin + step]
            counts = np.repeat(column.counts[begin : begin + step], self.salts)
            words = mixed(cells[:, None], np.arange(self.salts)[None])
            for place, size in enumerate(self.sizes):
                branch = (words % np.uint64(size)).astype(np.int64) + np.arange(self.salts) * most
                np.add.at(total[place].reshape(-1), branch.reshape(-1), counts)
        fullest = np.sort(total.reshape(-1, most), axis=1)[:, ::-1][:, : len(HASH_WEIGHTS)]
        return np.asarray(-(fullest @ np.array(HASH_WEIGHTS[: fullest.shape[1]])))

    def branches(self, candidate: int) -> Branches:
        """The domain of a hash, by its number."""
        size, salt = divmod(candidate, self.salts)
        return Branches(self.sizes[size], salt)

    def __len__(self) -> int:
        return len(self.sizes) * self.salts


def public_hashes(place: int) -> Branches:
    """The hashes of a column of text that has none of its own, by its place among such columns."""
    salt = PUBLIC_SALT + len(PUBLIC_BRANCHES) * place
    own, *further = [Branches(size, salt + i) for i, size in enumerate(PUBLIC_BRANCHES)]
    return replace(own, further=tuple(further))


Column_contra = TypeVar("Column_contra", contravariant=True)


class Choices(Protocol[Column_contra]):
    """A library of binnings or of hashes."""

    @property
    def prior(self) -> IntArray: ...

    def utilities(self, column: Column_contra, /) -> IntArray: ...

    def draw(
        self,
        column: Column_contra,
        epsilon: Fraction,
        entropy: Entropy,
        likely: int | None = None,
        /,
    ) -> int: ...


def draw_common(
    choices: Choices[Column_contra],
    columns: Sequence[Column_contra],
    epsilon: Fraction,
    entropy: Entropy,
) -> int:
    """One binning or hash for several columns, by its number: ε-DP."""
    utility = np.zeros(len(choices.prior))
    for column in columns:
        utility += choices.utilities(column)
    return weighted_best(utility, choices.prior, epsilon / (WEIGHTS[0] * len(columns)), entropy)


def regret(choices: Choices[Column_contra], columns: Sequence[Column_contra], chosen: int) -> int:
    """⌊r⌋ of the theorem about common binnings; private."""
    utilities = map(choices.utilities, columns)
    return max(int(each.max() - each[chosen]) for each in utilities) // WEIGHTS[0]


@dataclass(frozen=True)
class Found:
    """What was found of a table; public.

    Attributes:
        domains: of every column that had none.
        rows: n~, or the stated bound.
        charges: what each part cost.
    """

    domains: Mapping[str, Domain]
    rows: int
    charges: tuple[Spending, ...] = ()

    @property
    def epsilon(self) -> Fraction:
        """What all of it cost."""
        return sum((each.epsilon for each in self.charges), Fraction(0))


@dataclass(frozen=True)
class Search:
    """What has to be found of a table, with what it is paid; public.

    Attributes:
        kinds: of the columns without a domain.
        max_rows: a stated bound on the rows, which need not be counted then.
        delta: for the names of categories; 0 gives them none.
        counts_rows: whether the rows are counted even if all domains are known.
    """

    kinds: Mapping[str, ColumnKind]
    max_rows: int | None
    delta: Fraction
    counts_rows: bool

    @property
    def needs_rows(self) -> bool:
        """Whether the number of rows is bought."""
        finds = any(kind != "flags" for kind in self.kinds.values())
        return self.max_rows is None and (finds or self.counts_rows)

    @property
    def wanted(self) -> dict[str, Kind]:
        """How the columns are read."""
        kinds: dict[ColumnKind, Kind] = {"days": "any", "flags": "any", "text": "text"}
        kinds["either"] = "text"
        return {name: kinds.get(kind, "numbers") for name, kind in self.kinds.items()}

    @property
    def needed_delta(self) -> Fraction:
        """δ, where a column may hold text; columns of numbers need none."""
        text = any(kind in ("text", "either") for kind in self.kinds.values())
        return self.delta if text else Fraction(0)

    def check(self, epsilon: Fraction) -> None:
        """Refuses an ε that is too small to share.

        Raises:
            ParameterError: if it is.
        """
        if (self.needs_rows or self.kinds) and epsilon < LEAST_EPSILON:
            raise ParameterError(
                f"Expected epsilon >= {decimal_text(LEAST_EPSILON)} to find bins, categories or "
                "the number of rows, or domains= and max_rows=."
            )
        if self.needed_delta:
            Threshold.of(epsilon / PARTS / len(self.kinds), self.delta / len(self.kinds))

    def tallied(self) -> "Tallies":
        """A place for what is counted of the rows."""
        return Tallies(self.kinds, named=self.delta > 0)

    def find(self, tallies: "Tallies", epsilon: Fraction, entropy: Entropy) -> Found:
        """Finds all missing facts: (ε', δ)-DP, where ε' is the sum of its charges."""
        rows = self._rows(tallies, epsilon, entropy)
        costs: dict[Purpose, Fraction] = {}
        costs["rows"] = epsilon * FOR_ROWS if self.needs_rows else Fraction(0)
        shares = Shares(self, epsilon, rows)
        kinds, costs["kinds"] = self._told(tallies, shares, entropy)
        known = replace(shares, search=replace(self, kinds=kinds))
        domains: dict[str, Domain] = {
            name: Categories((False, True, MISSING)) for name in kinds if kinds[name] == "flags"
        }
        costs["bins"] = Fraction(0)
        for kind in ("numbers", "whole", "days"):
            names = [name for name in kinds if kinds[name] == kind]
            if names:
                columns = [tallies.columns[name] for name in names]
                binned, cost = known.binnings(kind, columns, entropy)
                domains |= zip(names, binned, strict=True)
                costs["bins"] += cost
        texts = [name for name in kinds if kinds[name] == "text"]
        named = known.names(len(texts))
        if named is not None:
            for name in texts:
                domains[name] = _named(tallies.names[name], named, rows, entropy)
            costs["names"] = named.epsilon * len(texts)
        elif texts:
            hashed, costs["branches"] = known.hashes([tallies.cells(n) for n in texts], entropy)
            domains |= zip(texts, hashed, strict=True)
        charges = tuple(Spending(0, purpose, cost) for purpose, cost in costs.items() if cost)
        return Found({name: domains[name] for name in self.kinds}, rows, charges)

    def _told(
        self, tallies: "Tallies", shares: "Shares", entropy: Entropy
    ) -> tuple[dict[str, ColumnKind], Fraction]:
        """The kind of every column, numbers or text by most of its rows: ε'-DP, and ε'."""
        blocks = blocks_of(self.kinds)
        told = dict(self.kinds)
        cost = Fraction(0)
        if len(blocks) > 1:
            cost += shares.one_kind
            held = tallies.with_numbers
            if are_more(tallies.without_numbers, held, shares.one_kind, entropy):
                return told | dict.fromkeys(itertools.chain(*blocks), "text"), cost
        for block, agreeing in zip(blocks, tallies.agreeing, strict=True):
            numbers = drawn_kinds(agreeing, shares.block_kinds, entropy)
            told |= {n: "numbers" if k else "text" for n, k in zip(block, numbers, strict=True)}
            cost += shares.block_kinds
        return told, cost

    def _rows(self, tallies: "Tallies", epsilon: Fraction, entropy: Entropy) -> int:
        if not self.needs_rows:
            return self.max_rows or 1
        [noise] = discrete_laplace(1 / (epsilon * FOR_ROWS), 1, entropy)
        return min(max(tallies.rows + int(noise), 1), MOST_ROWS)


@dataclass(frozen=True)
class Shares:
    """What each part of a search costs; public.

    Attributes:
        search: what is to be found.
        epsilon: of the whole fit.
        rows: how many there are, about.
    """

    search: Search
    epsilon: Fraction
    rows: int

    @property
    def numbers(self) -> int:
        """Columns that are, or may be, numbers."""
        return sum(kind not in ("flags", "text") for kind in self.search.kinds.values())

    @property
    def unknown(self) -> int:
        """Columns that are numbers or text, nobody says which."""
        return sum(kind == "either" for kind in self.search.kinds.values())

    @property
    def blocks(self) -> int:
        """How often their kinds are asked for."""
        return -(-self.unknown // BLOCK)

    @property
    def one_kind(self) -> Fraction:
        """ε' for whether all of them are text."""
        return self._part(ENOUGH_FOR_ALL_KINDS, 1, MOST_FOR_ALL_KINDS)

    @property
    def block_kinds(self) -> Fraction:
        """ε' for the kinds of a block of columns."""
        return self._part(ENOUGH_FOR_KINDS, self.blocks, MOST_FOR_KINDS)

    def hashes(self, columns: Sequence[Cells], entropy: Entropy) -> tuple[list[Branches], Fraction]:
        """The hashes of columns of text: ε'-DP, and ε'."""
        if self.hashes_are_public(len(columns)):
            return [*map(public_hashes, range(len(columns)))], Fraction(0)
        hashes = Hashes()
        wanted = Fraction(ENOUGH_FOR_BRANCHES * len(columns))
        allowed = self._allowed(MOST_REGRET_OF_A_HASH, wanted, MOST_FOR_BRANCHES)
        each = self.branches(len(columns))
        tries = self._tries(len(columns), wanted)
        drawn, spent = self._drawn(hashes, columns, each, allowed if tries else None, entropy)
        return [hashes.branches(i) for i in drawn], spent

    def hashes_are_public(self, columns: int) -> bool:
        """Whether so many columns of text have public hashes, because own ones are too dear.

        Hashes of little ε would often put frequent values into one branch.
        """
        wanted = ENOUGH_FOR_BRANCHES * columns
        return wanted > MOST_FOR_BRANCHES * self.epsilon * self.rows

    def binnings(
        self, kind: ColumnKind, tallies: Sequence[Tally], entropy: Entropy
    ) -> tuple[list[Bins], Fraction]:
        """The bins of columns of one kind: ε'-DP, and ε'."""
        library = Library(self.bin_count, range(0, 10) if kind == "whole" else range(-6, 10))
        allowed = self._allowed(MOST_REGRET, Fraction(ENOUGH * self.numbers), MOST_FOR_BINS)
        tries = self.tries_common(kind, len(tallies))
        drawn, spent = self._drawn(
            library, tallies, self.each_bins, allowed if tries else None, entropy
        )
        return [_bins(library.edges(i), kind) for i in drawn], spent

    def _drawn(
        self,
        choices: Choices[Column_contra],
        columns: Sequence[Column_contra],
        each: Fraction,
        allowed: Fraction | None,
        entropy: Entropy,
    ) -> tuple[list[int], Fraction]:
        """One choice for all columns, if its regret is allowed, or own ones: ε'-DP, and ε'."""
        spent = each * len(columns)
        if allowed is None:
            return [choices.draw(column, each, entropy) for column in columns], spent
        common = draw_common(choices, columns, self.common, entropy)
        [noise] = discrete_laplace(1 / self.test, 1, entropy)
        if regret(choices, columns, common) + int(noise) <= allowed:
            return [common] * len(columns), self.trial
        own = [choices.draw(column, each, entropy, common) for column in columns]
        return own, self.trial + spent

    def tries_common(self, kind: ColumnKind, columns: int) -> bool:
        """Whether columns of a kind try one binning for all of them, because own ones are dear."""
        return kind in ("numbers", "whole") and self._tries(columns, Fraction(ENOUGH * columns))

    def _tries(self, columns: int, wanted: Fraction) -> bool:
        """By what own choices want of n ε."""
        strength = self.epsilon * self.rows
        few = columns >= FEW_COLUMNS and wanted > DEAR * strength
        return few or (columns >= MANY_COLUMNS and wanted > CHEAP * strength)

    def _allowed(self, part: Fraction, wanted: Fraction, most: Fraction) -> Fraction:
        """In rows; the more, the less of what they want own choices would have."""
        return part * max(wanted / (self.epsilon * self.rows * most), Fraction(1)) * self.rows

    @property
    def common(self) -> Fraction:
        """ε' of a binning or a hash for all columns of a kind."""
        return self._part(ENOUGH_FOR_COMMON, 1, MOST_FOR_COMMON)

    @property
    def test(self) -> Fraction:
        """ε' of the test whether it serves."""
        return self._part(ENOUGH_FOR_REGRET, 1, MOST_FOR_REGRET)

    @property
    def trial(self) -> Fraction:
        """ε' of both."""
        return self.common + self.test

    @property
    def each_bins(self) -> Fraction:
        """ε' of the binning of one column."""
        return self._part(ENOUGH, self.numbers, MOST_FOR_BINS)

    def branches(self, columns: int) -> Fraction:
        """ε' of the hash of each of so many columns."""
        return self._part(ENOUGH_FOR_BRANCHES, columns, MOST_FOR_BRANCHES)

    def _part(self, wanted: int, columns: int, most: Fraction) -> Fraction:
        """ε' of each of several columns that want so much n ε'."""
        return self.epsilon * _share(wanted * columns, self.epsilon * self.rows, most) / columns

    @property
    def bin_count(self) -> int:
        """B."""
        return MANY_BINS if self.epsilon * self.rows >= MANY else FEW_BINS

    def names(self, columns: int) -> Threshold | None:
        """How names are published in each of so many columns; None where hardly any would be."""
        if not columns or not self.search.delta:
            return None
        share = _share(ENOUGH_FOR_NAMES * columns, self.epsilon * self.rows, Fraction(1))
        if share > MOST_FOR_NAMES:
            return None
        threshold = Threshold.of(self.epsilon * share / columns, self.search.delta / columns)
        return threshold if RAREST * threshold.high <= self.rows else None

    def lines(self) -> list[tuple[str, Fraction, str]]:
        """Purpose, ε, and what it buys."""
        search = self.search
        found = []
        if search.needs_rows:
            noise = float(3 / (self.epsilon * FOR_ROWS))
            found.append(("rows", self.epsilon * FOR_ROWS, f"their number, within {noise:,.0f}"))
        if self.unknown:
            joint = self.one_kind if self.blocks > 1 else 0
            bought = f"whether {_columns(self.unknown)} holds numbers or text"
            found.append(("kinds", joint + self.block_kinds * self.blocks, bought))
        if self.numbers:
            kinds = Counter("numbers" if k == "either" else k for k in search.kinds.values())
            tried = sum(self.tries_common(kind, count) for kind, count in kinds.items())
            common = tried * self.trial
            bought = f"{self.bin_count} bins for {_columns(self.numbers)}"
            found.append(("bins", common + self.each_bins * self.numbers, bought))
        texts = sum(kind in ("text", "either") for kind in search.kinds.values())
        named = self.names(texts)
        if named is not None:
            bought = f"names of values of {named.high} rows or more in {_columns(texts)}"
            found.append(("names", named.epsilon * texts, bought))
        elif texts:
            sure = sum(kind == "text" for kind in search.kinds.values())
            most = max(map(self._for_hashes, range(max(sure, 1), texts + 1)))
            bought = f"a hash into 2 to {BRANCHES} branches for {_columns(texts)}"
            if self.hashes_are_public(texts):
                bought = f"{len(PUBLIC_BRANCHES)} public hashes for {_columns(texts)}"
                bought += ", or own ones if fewer hold text" if most else ""
            found.append(("branches", most, bought))
        return found

    def _for_hashes(self, columns: int) -> Fraction:
        """ε' of the hashes of so many columns, at most."""
        if self.hashes_are_public(columns):
            return Fraction(0)
        common = self._tries(columns, Fraction(ENOUGH_FOR_BRANCHES * columns)) * self.trial
        return common + self.branches(columns) * columns


@dataclass(frozen=True)
class SearchPlan:
    """What a fit would spend on what nobody stated, before the model; public.

    Attributes:
        epsilon: of the whole fit.
        search: what is to be found.
    """

    epsilon: Fraction
    search: Search

    def __str__(self) -> str:
        """What each share buys; for several numbers of rows, where theirs is not stated."""
        return "\n".join(self._lines())

    def shares(self, rows: int) -> Shares:
        """The shares for a number of rows."""
        return Shares(self.search, self.epsilon, rows)

    def _lines(self) -> Iterator[str]:
        delta = self.search.needed_delta
        also = f" and delta {decimal_text(delta)}" if delta else ""
        yield f"A model for epsilon {decimal_text(self.epsilon)}{also}"
        stated = self.search.max_rows
        for rows in EXAMPLES if stated is None else (stated,):
            yield f"with {rows:,} rows"
            left = Fraction(1)
            for purpose, cost, bought in self.shares(rows).lines():
                left -= cost / self.epsilon
                yield f"  {purpose:<8}  {float(cost / self.epsilon):>6.1%} of epsilon: {bought}"
            yield f"  model     {float(left):>6.1%} of epsilon"
        if self.shares(1).numbers or self.shares(1).unknown:
            yield "Each part may cost less: the model gets what is left."
        yield from self._notes()

    def _notes(self) -> Iterator[str]:
        text = [name for name, kind in self.search.kinds.items() if kind in ("text", "either")]
        if text:
            shown = ", ".join(text[:5]) + (", ..." if len(text) > 5 else "")
            yield f"Values without a name share up to {BRANCHES} branches by a hash: {shown}."
            if not self.search.delta:
                yield "Pass delta= to give frequent ones a branch and a name of their own."


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"each of {count} columns"


def _share(wanted: int, strength: Fraction, most: Fraction) -> Fraction:
    """wanted / strength, rounded up to a multiple of 1 / PARTS, at most `most`."""
    return min(Fraction(-(-wanted * PARTS // strength), PARTS), most)


def blocks_of(kinds: Mapping[str, ColumnKind]) -> list[list[str]]:
    """The columns of no known kind, in blocks of nearly equal size; public."""
    unknown = [name for name, kind in kinds.items() if kind == "either"]
    count = -(-len(unknown) // BLOCK)
    return [unknown[i::count] for i in range(count)]


class Tallies:
    """The counts of the rows for a search; private."""

    def __init__(self, kinds: Mapping[str, ColumnKind], *, named: bool) -> None:
        """Of columns without a domain; `named` says whether frequent values may have names."""
        self.kinds = kinds
        self.rows = 0
        self.with_numbers = 0
        self.without_numbers = 0
        self._parts: dict[str, list[Tally]] = {
            name: [] for name, kind in kinds.items() if kind not in ("flags", "text")
        }
        texts = [name for name, kind in kinds.items() if kind in ("text", "either")]
        self.names: dict[str, Counter[Hashable]] = {name: Counter() for name in texts if named}
        self._cells = {name: np.zeros(CELLS + 1, dtype=np.int64) for name in texts}
        self._blocks = blocks_of(kinds)
        self._patterns = [np.zeros(3 ** len(block), dtype=np.int64) for block in self._blocks]

    def add(self, batch: Batch, rows: int) -> None:
        """Counts the rows of a batch, of which so many have a public class."""
        self.rows += rows
        size = len(next(iter(batch.values())))
        states: dict[str, IntArray] = {}
        for name, parts in self._parts.items():
            chunk = batch[name]
            numbers = days_of(chunk) if self.kinds[name] == "days" else numbers_of(chunk)
            parts.append(Tally.of(numbers))
            states[name] = (~np.isnan(numbers)).astype(np.int64)
        held = np.zeros(size, dtype=bool)
        for name, counter in self.names.items():
            counter.update(filter(_is_name, as_keys(as_labels([batch[name]]))))
        for name, total in self._cells.items():
            cells = cells_of(batch[name])
            np.add.at(total, cells, 1)
            if self.kinds[name] == "either":
                number = states[name] == 1
                states[name] = np.where(number, NUMBER, np.where(cells > 0, TEXT, ABSENT))
                held |= number
        self.with_numbers += int(held.sum())
        self.without_numbers += int((~held).sum())
        for i, block in enumerate(self._blocks):
            pattern = np.zeros(size, dtype=np.int64)
            for name in block:
                pattern = 3 * pattern + states[name]
            self._patterns[i] += np.bincount(pattern, minlength=3 ** len(block))

    @cached_property
    def columns(self) -> dict[str, Tally]:
        """The tallies of the columns that are, or may be, numbers."""
        return {name: Tally.joined(parts) for name, parts in self._parts.items()}

    @property
    def agreeing(self) -> list[IntArray]:
        """For every block, how many rows agree with each list of kinds."""
        return [agreeing_rows(patterns) for patterns in self._patterns]

    def cells(self, name: str) -> Cells:
        """The cells of a column that is, or may be, text."""
        return Cells.of(self._cells[name])


def agreeing_rows(patterns: IntArray) -> IntArray:
    """Rows that agree with each list of kinds, from the rows of each pattern of cells.

    A column is a digit of the place in both: of 0 for text and 1 for numbers in the result, of
    `ABSENT`, `NUMBER` and `TEXT` in the patterns.
    """
    agreeing = patterns
    digits = round(math.log(len(patterns), 3))
    for _ in range(digits):  # the first digit becomes the last
        absent, numbers, texts = agreeing.reshape(3, -1)
        agreeing = np.stack([absent + texts, absent + numbers], axis=1).reshape(-1)
    return agreeing


def drawn_kinds(agreeing: IntArray, epsilon: Fraction, entropy: Entropy) -> list[bool]:
    """Whether each column of a block holds numbers: ε-DP."""
    weights = np.ones(len(agreeing), dtype=np.int64)
    drawn = weighted_best(agreeing.astype(np.float64), weights, epsilon, entropy)
    columns = len(agreeing).bit_length() - 1
    return [bool(drawn >> place & 1) for place in reversed(range(columns))]


def _is_name(key: Hashable) -> bool:
    """Whether a key from `as_keys` can be the name of a branch; others have one by the hash."""
    if isinstance(key, float):
        return math.isfinite(key)
    return isinstance(key, str | int) and key != "" and key not in RULES


def _named(
    texts: Mapping[Hashable, int], threshold: Threshold, rows: int, entropy: Entropy
) -> Categories:
    """The values of many rows by name, others by the hash: (ε, δ)-DP.

    The fewer rows the published counts leave to others, the fewer branches these have.
    """
    values = list(texts)
    counts = np.fromiter(texts.values(), dtype=np.int64, count=len(values))
    shown, noisy = threshold.published(counts, entropy)
    left = 1 - min(int(noisy[shown].sum()) / rows, 1)
    # The order of the data is private.
    kept = sorted((values[i] for i in np.flatnonzero(shown)), key=public_order)
    branches = max(1, round(BRANCHES * left))
    return Categories((*kept[: MOST_VALUES // 2], MISSING), branches=branches)


def are_more(some: int, others: int, epsilon: Fraction, entropy: Entropy) -> bool:
    """Whether some rows are more than others, of which no row is one: ε-DP."""
    [noise] = discrete_laplace(1 / epsilon, 1, entropy)
    return some - others + int(noise) > 0


def _bins(inner: FloatArray, kind: ColumnKind) -> Bins:
    """Bins with a value of its own for what is missing; both ends are open.

    One more edge tells 0 from 1: columns of flags are many, and rare ones hardly move u.
    """
    if kind != "days":
        inner = np.unique([*inner, 1.0 if kind == "whole" else 0.5])
    low = 2 * inner[0] - inner[1]
    high = 2 * inner[-1] - inner[-2]
    return Bins((low, *inner.tolist(), high), "own", days=kind == "days")
