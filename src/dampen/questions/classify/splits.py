"""Which attribute to split a node by: information gain, `max`, `gini`, `tsallis` (application 3).

Add/remove one row.  A candidate is a split: every row falls into one of its public values j, and
has a class c.  τ_jc counts rows, τ_j = Σ_c τ_jc, and N is a public bound on the number of rows that
information gain tells apart; more rows break no guarantee.

**Information gain.**  u = Σ_jc τ_jc log2(τ_jc / τ_j) = -τ H(C|A) <= 0, the larger the better (the
paper prints the opposite sign).  With φ(x) = (x+1) log2(x+1) - x log2 x, adding a row of class c
to value j lowers u by φ(τ_j) - φ(τ_jc) >= 0: u is one-sided, Δ = log2(N+1) + 1/ln 2.

*More than N rows.*  u = Σ_j (Σ_c F(τ_jc) - F(τ_j)) with F(x) = x log2 x, F(x+1) - F(x) = φ(x).
From x = N+1 on F goes on as a line of slope φ(N): its differences are min(φ(x), φ(N)), so that a
row lowers u by at least 0 and at most φ(N) <= Δ, however many rows there are; up to N rows nothing
changes.  As min(., φ(N)) is monotone and shortens differences, LS below is still an upper bound.

*LS at distance t.*  φ is concave and increasing.  A row in the cell a = τ_j, b = τ_jc matters by
h(a, b) = φ(a-1) - φ(b-1) if b >= 1 (removing it; by concavity more than adding one more), and φ(a)
if b = 0: in one formula φ(n) - φ(m) with n = a - [b >= 1], m = max(b-1, 0).  A neighbour step
raises it most by removing a row of the cell (n-1, m-1) or adding one of another class (n+1, m).
Theory's three numbers of removals shrink to one path, and all cells to one per value:

- at equal n a smaller m is larger at every t, so of value j only its rarest class counts;
- the rarest of at least two classes has n >= 2m + 1, and then removing first is never worse:
  R(t) = φ(n-t) - φ(m-t) while t < m, and φ(n-2m+t) from there on;
- a value with smaller n and larger m than another is never the largest.

LS(x, t, A) is the upper envelope of R over the values left.  Two of them cross at most twice: the
slope of their difference has the sign of a polynomial that changes it at most once (see
`dampen.kernels.trees`), so that halving builds the envelope in O(values log values) steps of
bisection, and Σ φ telescopes.  Rows are never touched.  δ = min(LS, Δ) before T = N, Δ from T on.
R(0) = LS(x, 0, A) >= 1 unless the node is empty.

The paper's algorithm Candidates drops the insertion when all rows share a value (`a < τ`); that δ
is not admissible and is not offered.

**max.**  u = Σ_j max_c τ_jc, the rows that a leaf per value would classify rightly.  One more row
raises one maximum by 0 or 1: Δ = 1, one-sided, exact.

*With a window* w, for classes that are equal steps of a number: u = Σ_j max_c Σ_k τ_jk (w-|k-c|)⁺.
A row of class k is worth w - |k - c| to a label c within w steps of it, and nothing to one that is
farther; w = 1 counts rows that are right, as above.  One more row raises every sum by 0 to w, hence
every maximum too, and of a candidate one alone: Δ = w, one-sided, exact.  -u is, up to w per row,
the sum of the distances from the best label of each value (its median), none counted beyond w: the
absolute deviation, of which a far value takes no more than w.  In units of Δ a narrow window tells
more than one of all K steps, for which a middling row pays as much as the farthest could.

**gini.**  u = -Σ_j (τ_j - Σ_c τ_jc² / τ_j).  One more row in a cell (a, b), with S = Σ_c τ_jc²,
lowers u by (a - 2b + S/a) / (a+1).  From b² <= S <= b² + (a-b)² this is at least (a-b)²/(a(a+1))
>= 0 and at most 2(a-b)²/(a(a+1)) < 2: Δ = 2, one-sided.

**tsallis.**  u = -Σ_jc τ_jc (1 - √(τ_jc / τ_j)), half of Tsallis' entropy of order 3/2, between
information gain (order 1) and gini (order 2).  Of one value with a = τ_j it is -g with
g = a - a^(-1/2) Σ_c τ_jc^(3/2), and with p_c = τ_jc / a and S = Σ_c p_c^(3/2) <= 1,

    ∂g/∂τ_jc = 1 + S/2 - (3/2) √p_c <= 3/2,

and, with s = √p_c and S >= s³, at least 1 + s³/2 - 3s/2 = (1-s)² (s+2) / 2 >= 0.  Adding a row is
a path along which τ_jc grows by 1 (from an empty value, g stays 0): Δ = 3/2, one-sided.  A split
of n rows of K equal classes into halves gains .28 n / √K in units of Δ; gini gains n / 2K, less
from 4 classes on, and information gain n / (log2 N + 1.44), less up to 18 classes for N = 14,000.
(`max` gains n / K, but by any split that sets a single class apart.)

**Rounding.**  The terms of information gain, gini and tsallis have one sign each and are added with
compensation, so that u is right to 2^-50 of itself: counts are integers below 2^53, and a term
takes a logarithm of a quotient (4.8 units of 2^-53), a quotient of integers below 2^62 (2 of them),
or b ((a-b)/a) / (1 + √(b/a)) with a root that is rounded once (6 of them).  u is clamped from below
at -N log2 C, or -N, and not before 2^22 δ: that changes nothing up to N rows, and no difference of
two u grows by it.  So |u| has a public bound however many rows there are, while δ(x, 0, A) >= 1,
or Δ, if u is not 0: `Selection.rounding` says so, and the scores pay for it.

For all but information gain δ = Δ: dampening changes nothing but the price of a factor 2.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from dampen.core import sensitivity
from dampen.core.selection import FloatArray, IntArray, Neighbours, Selection, Sensitivity
from dampen.errors import DataError, ParameterError, did_you_mean

Criterion: TypeAlias = Literal["information-gain", "max", "gini", "tsallis"]
CRITERIA: tuple[str, ...] = get_args(Criterion)
MOST_ROWS = 2**31
"""Up to it the squares in `gini` are exact in 64 bits."""
FREE = 2**22
"""A range of utilities, in units of δ, whose rounding is free: scores reserve 2^-28 anyway."""


@dataclass(frozen=True)
class BestSplit:
    """Which attribute tells most about the class?

    Attributes:
        domains: the number of values of every attribute; they are coded 0, 1, ...
        classes: the number of classes, at least 2, coded likewise.
        max_rows: N, the number of rows to expect at most.
        criterion: `information-gain`, `max`, `gini` or `tsallis`.

    >>> import dampen
    >>> problem = BestSplit(domains=[2, 2], classes=2, max_rows=100)
    >>> s = problem.selection([(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1)])
    >>> s.utility
    array([ 0., -4.])
    """

    domains: Sequence[int]
    classes: int
    max_rows: int
    criterion: Criterion = "information-gain"
    neighbours = Neighbours.ADD_REMOVE_ROW

    def __post_init__(self) -> None:
        if len(self.domains) == 0:
            raise ParameterError("Expected at least one attribute in domains, got none.")
        for size in self.domains:
            check_integer("every size in domains", size, 1)
        check_integer("classes", self.classes, 2)
        check_max_rows(self.max_rows)
        check_criterion(self.criterion)

    @property
    def candidates(self) -> Sequence[int]:
        return range(len(self.domains))

    def selection(self, rows: ArrayLike, /) -> Selection:
        """Rows of integer codes, the class last."""
        return split_selection(
            self._table(_coded(rows, self._sizes)), self._starts, self.max_rows, self.criterion
        )

    @property
    def _sizes(self) -> list[int]:
        return [*self.domains, self.classes]

    @property
    def _starts(self) -> IntArray:
        return np.concatenate([[0], np.cumsum(self.domains, dtype=np.int64)])

    def _table(self, rows: IntArray) -> IntArray:
        cells = (rows[:, :-1] + self._starts[:-1]) * self.classes + rows[:, -1:]
        size = int(self._starts[-1]) * self.classes
        return np.bincount(cells.ravel(), minlength=size).reshape(-1, self.classes)


def split_selection(
    table: IntArray,
    starts: IntArray,
    max_rows: int,
    criterion: Criterion,
    *,
    one_sided: bool = True,
    window: int = 1,
) -> Selection:
    """The selection of one node, from the counts of all its candidate splits.

    Args:
        table: τ_jc, one row per value j, the values of all candidates below each other.
        starts: candidate r has the rows starts[r] .. starts[r+1] - 1.
        max_rows: N.
        criterion: what to maximise.
        one_sided: False makes `em` and `pf` pay the factor 2 that they need not, as the paper does.
        window: of `max`, how many steps away a label is worth something.
    """
    from dampen.kernels import trees as kernel

    bound = split_bound(criterion, max_rows, window)
    delta: Sensitivity = sensitivity.constant(bound)
    largest = float(max_rows)
    smallest_delta = bound
    match criterion:
        case "information-gain":
            u: FloatArray = kernel.impurities(table, starts, 1.0)
            crowded = np.maximum.reduceat(table.sum(axis=1), starts[:-1]) > max_rows + 1
            for r in np.flatnonzero(crowded):
                u[r] = _gain_of_many(table[starts[r] : starts[r + 1]], max_rows)
            delta = EnvelopeSensitivity(table, starts, max_rows, bound)
            largest = max_rows * math.log2(table.shape[1])
            smallest_delta = 1.0
        case "max":
            best = scored(table, window).max(axis=1)
            u = np.add.reduceat(best, starts[:-1]).astype(np.float64)
            largest = float(max_rows * window)
        case "gini":
            u = kernel.impurities(table, starts, 2.0)
        case "tsallis":
            u = kernel.impurities(table, starts, 1.5)
    least = max(largest, FREE * smallest_delta)
    return Selection(
        np.maximum(u, -least),
        delta,
        bound,
        one_sided=one_sided,
        exact=criterion == "max",
        ends=(0.0, largest) if criterion == "max" else (-largest, 0.0),
        rounding=2.0**-50 * least / smallest_delta,
    )


def _gain_of_many(table: IntArray, max_rows: int) -> float:
    """Information gain of one candidate that has more than N rows, rounded once."""
    most = max_rows + 1
    with localcontext(prec=50):

        def big_f(count: int) -> Decimal:
            if count <= most:
                return count * Decimal(max(count, 1)).ln()
            slope = most * Decimal(most).ln() - max_rows * Decimal(max_rows).ln()
            return most * Decimal(most).ln() + (count - most) * slope

        cells = sum(map(big_f, table.ravel().tolist()), Decimal(0))
        values = sum(map(big_f, table.sum(axis=1).tolist()), Decimal(0))
        return float((cells - values) / Decimal(2).ln())


def scored(counts: IntArray, window: int) -> IntArray:
    """What rows are worth to every label, from counts (..., class): the counts for a window of 1.

    >>> scored(np.array([1, 0, 0, 2]), 2).tolist()
    [2, 1, 2, 4]
    """
    if window == 1:
        return counts
    steps = np.arange(counts.shape[-1])
    worth = np.maximum(0, window - np.abs(steps[:, None] - steps))
    # Products of floats are fast, and exact up to 2^53; one of all rows, since numpy would start
    # and stop the threads of its library for every table of a stack.
    rows = counts.reshape(-1, counts.shape[-1]).astype(np.float64)
    scores: IntArray = (rows @ worth.astype(np.float64)).astype(np.int64)
    return scores.reshape(counts.shape)


def split_bound(criterion: Criterion, max_rows: int, window: int = 1) -> float:
    """Δ of a criterion; N = `max_rows`."""
    match criterion:
        case "information-gain":
            return math.log2(max_rows + 1) + 1 / math.log(2)
        case "max":
            return float(window)
        case "gini":
            return 2.0
        case "tsallis":
            return 1.5


@dataclass(frozen=True, eq=False, repr=False)
class EnvelopeSensitivity:
    """δ of information gain for one node: see the module's docstring.

    The envelope is built when it is first asked for: global scores never do.
    """

    table: IntArray
    starts: IntArray
    horizon: int
    cap: float

    def at(self, t: int, /) -> FloatArray:
        return self.at_each(np.full(len(self.starts) - 1, t, dtype=np.int64))

    def at_each(self, t: IntArray, /) -> FloatArray:
        from dampen.kernels.trees import envelope

        begins, pieces, sums = self._envelope
        values: FloatArray = envelope(begins, pieces, sums[:0], t, self.horizon, self.cap)
        return values

    def sum_to(self, t: IntArray, /) -> FloatArray:
        from dampen.kernels.trees import envelope

        values: FloatArray = envelope(*self._envelope, t, self.horizon, self.cap)
        return values

    @cached_property
    def _envelope(self) -> Any:
        from dampen.kernels.trees import envelopes

        return envelopes(self.table, self.starts, self.horizon, self.cap)


def check_criterion(criterion: str) -> None:
    """Raises a `ParameterError` unless the criterion is known."""
    if criterion not in CRITERIA:
        hint = did_you_mean(str(criterion), CRITERIA)
        raise ParameterError(
            f"Expected criterion to be one of {', '.join(CRITERIA)}, got {criterion!r}.{hint}"
        )


def check_max_rows(max_rows: int) -> None:
    """Raises a `ParameterError` unless 1 <= max_rows <= 2^31."""
    check_integer("max_rows", max_rows, 1)
    if max_rows > MOST_ROWS:
        raise ParameterError(f"Expected max_rows <= 2^31, got max_rows={max_rows}.")


def check_integer(name: str, value: Any, least: int) -> None:
    """Raises a `ParameterError` unless the value is an integer that is large enough."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise ParameterError(f"Expected {name} to be an integer >= {least}, got {value!r}.")


def _coded(rows: ArrayLike, sizes: Sequence[int]) -> IntArray:
    """The rows as integers, every column inside its domain."""
    table = np.asarray(rows)
    if table.size == 0:
        return np.empty((0, len(sizes)), dtype=np.int64)
    if table.dtype.kind not in "iu" or table.ndim != 2 or table.shape[1] != len(sizes):
        raise DataError(
            f"Expected rows of {len(sizes)} integer codes: {len(sizes) - 1} attributes, then the "
            "class."
        )
    for column, size in enumerate(sizes):
        codes = table[:, column]
        if codes.min() < 0 or codes.max() >= size:
            name = f"attribute {column}" if column < len(sizes) - 1 else "the class"
            raise DataError(f"Expected codes 0 to {size - 1} for {name}; there are others.")
    return table.astype(np.int64)
