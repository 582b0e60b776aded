"""How percentiles are drawn by rank on a grid, and records in two stages; and what both are worth.

- `EqualShares`, `Together`: the values of percentiles from ranks: each at its share of ε, or all
  together.
- `TwoStages`: which record is the p-th percentile?  In two stages: where it is, by rank
  (`Windows`); then who is there (`Staircase`).
- `value_accuracy`, `record_accuracy`: what an answer about a percentile will be worth, from public
  facts alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from dampen.core import sensitivity
from dampen.core.mechanisms import PF, Mechanism, select
from dampen.core.noise import Words, pure_rho
from dampen.core.sampling import Entropy, noisy_top
from dampen.core.scores import Dampened, Global
from dampen.core.selection import FloatArray, IntArray, Neighbours, Selection
from dampen.data.cells import GridKey, end_cell
from dampen.data.columns import finite_range
from dampen.errors import ParameterError
from dampen.paper.percentile_selection import Percent, as_fraction, rank
from dampen.questions.percentile.halving import Ranks
from dampen.questions.percentile.joint_tight import Way
from dampen.questions.percentile.values import PercentileValue, PercentileValueOfRows, ValueGrid
from dampen.releases.accuracy import (
    UNKNOWN,
    Accuracy,
    by_distance,
    by_likeliest,
    even_distance,
    lead,
    least_probability,
)
from dampen.releases.cost import Cost, Price, composed_cost, selection_cost

if TYPE_CHECKING:
    from flint import arb

__all__ = [
    "Drawn",
    "Draws",
    "EqualShares",
    "Shares",
    "Staircase",
    "Together",
    "TwoStages",
    "Windows",
    "likeliest_in_one_draw",
    "likeliest_in_two_stages",
    "most_ranks",
    "record_accuracy",
    "value_accuracy",
    "worth_it",
]

PART = 4
"""Utilities are whole numbers of 1/PART."""


@dataclass(frozen=True)
class Windows:
    """The windows of so many cells.

    **Why not single cells.**  By rank alone all cells of a gap are as good as its ends.  Next to a
    gap, or next to the end of a large tie, hundreds of empty cells would then outweigh the one with
    the percentile, and an interval would begin where nobody is.  No private rule can tell a cell
    with one record from an empty one; it can tell t records, t being a few times 1/ε.  So a
    candidate is a window that must hold t records, and be no wider than it takes.

    **Windows.**  Every cell; and for each size 2, 4, 8, ... the runs of so many cells that start at
    multiples of half the size, and the last run.  A gap holds many windows, all of them t records
    short; around its ends there are a few of each size.

    **Utility.**  With L values in cells below the window, R up to its end, N = R - L inside, and M
    the most values in any of its runs of half the size (at steps of a quarter; 0 for a single
    cell),

        u = -max(0, L+1-k, k-R, t-N, (M-t)/4).

    Rank distance and want of records count fully; a window that is too wide is a lesser evil.  Each
    of L, R, N, M changes by at most 1 if one record is replaced, and so does u: sensitivity 1.
    """

    cells: int

    def selection(self, counts: IntArray, k: int, t: int) -> Selection:
        """The selection by rank and number, from the values in every cell; k is the rank."""
        up_to = np.concatenate([[0], np.cumsum(counts)])
        low = up_to[self.starts]
        high = up_to[self.ends]
        short = np.maximum(np.maximum(low + 1 - k, k - high), t - (high - low))
        u = -np.maximum(np.maximum(PART * short, self._fullest_half(up_to) - t), 0)
        return Selection(u, sensitivity.constant(PART), exact=True)

    @cached_property
    def centres(self) -> IntArray:
        """The cell in the middle of every window."""
        return (self.starts + self.ends) // 2

    @cached_property
    def starts(self) -> IntArray:
        return np.concatenate([starts for starts, _ in self._sizes])

    @cached_property
    def ends(self) -> IntArray:
        return np.concatenate([starts + size for starts, size in self._sizes])

    @cached_property
    def _sizes(self) -> list[tuple[IntArray, int]]:
        """The starts of the windows of every size."""
        found = [(np.arange(self.cells), 1)]
        size = 2
        while size <= self.cells:
            steps = np.arange(0, self.cells - size + 1, size // 2)
            found.append((np.union1d(steps, [self.cells - size]), size))
            size *= 2
        return found

    def _fullest_half(self, up_to: IntArray) -> IntArray:
        """M."""
        fullest = [np.zeros(self.cells, dtype=np.int64)]
        for starts, size in self._sizes[1:]:
            half = size // 2
            step = max(size // 4, 1)
            within = [
                up_to[starts + shift + half] - up_to[starts + shift]
                for shift in range(0, half + 1, step)
            ]
            fullest.append(np.max(within, axis=0))
        return np.concatenate(fullest)


LEAST = Fraction(1, 1 << 40)
"""Of ε: below it a label says nothing, and floats are not precise enough for the first pass."""


@dataclass(frozen=True, slots=True)
class Staircase:
    """S in units of 1 / `scale`, by a uniform number: its first bit is the sign, the rest a W.

    S = Z + U - 1/2, with Z a whole number, P(Z = z) proportional to exp(-ε |z|), and U uniform on
    [0, 1]: whole numbers whose ties are broken by chance.

    S is symmetric.  With a = e^-ε and c = 2 / (1+a), P[|S| > j - 1/2] = c a^j for j = 1, 2, ...,
    and the tail is linear in between.  So |S| = (1-W) (1+a) / (2 (1-a)) if W > c a; else, with
    q = log(c / W) / ε and j its floor, |S| = j - 1/2 + (1 - e^(-ε (q-j))) / (1-a).

    **Theorem.**  Let replacing one record change the utility of one label only, by at most 1.  The
    k labels with the largest u + S, in any order, are ε-differentially private, whatever k is.
    Proof.  The density of S is constant on steps of length 1, and falls by e^ε from one step to the
    next on both sides of the middle one, so that two points at a distance of at most 1 are on the
    same step or on neighbouring ones: the density of u + S for the one label that changed is
    multiplied by at most e^ε at every point.  The others' is the same, and the noise independent;
    so the density of the whole noisy vector, of which the k labels are a function, is multiplied by
    at most e^ε. ∎

    Not so with exponential noise, where a set of k may lose k ε: permute-and-flip peels at ε/k.

    **No noise names a set better**, where utilities are 0 and 1 and there are many labels, so that
    the noisy value x of the last label named is nearly certain.  Let P0 and P1 be the probabilities
    that a label outside and one inside is named, i.e. exceeds x.  Differential privacy demands
    P1 <= min(e^ε P0, 1 - e^-ε (1 - P0)).  Here it is an equation, for every x: above x = 1/2, x and
    x-1 are on neighbouring steps of the falling side, where tails fall by e^ε from step to step, so
    that P1 = e^ε P0; below, 1 - P1 = e^-ε (1 - P0) in the same way.

    Attributes:
        epsilon: the ε of the theorem, at least 2^-40.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        if self.epsilon < LEAST:
            raise ParameterError(
                "Expected noise of a scale of at most 2^40 for several labels. Raise epsilon."
            )

    @property
    def scale(self) -> Fraction:
        """What utilities are multiplied by: so the noise is of order 1 for every ε."""
        return min(self.epsilon, Fraction(1))

    def upper(self, words: Words, bits: int, /) -> FloatArray:
        """At least the value, up to 2^-41 for the rounding of floats; may be infinite."""
        return self._bound(words, bits, 0.0)

    def lower(self, words: Words, bits: int, /) -> FloatArray:
        """At most the value, up to 2^-41 for the rounding of floats; may be -infinite."""
        return self._bound(words, bits, 1.0)

    def ball(self, word: int, bits: int, /) -> "arb":
        """A certified enclosure at the working precision; not finite while W may be 0."""
        negative, rest = divmod(word, 1 << (bits - 1))
        far, near = (self._distance(rest + end, bits - 1) for end in (0, 1))
        size = far.union(near) * _exact(self.scale)
        return -size if negative else size

    def _bound(self, words: Words, bits: int, end: float) -> FloatArray:
        """At the given end of W where the value is positive, at the other where it is negative."""
        first = np.uint32(1 << (bits - 1))
        negative = words >= first
        w = ((words & (first - np.uint32(1))) + np.abs(end - negative)) * 2.0 ** (1 - bits)
        e = min(float(self.epsilon), 1e300)
        rest = -np.expm1(-e)
        c = 2 / (1 + np.exp(-e))
        with np.errstate(divide="ignore", invalid="ignore"):
            q = np.log(c / w) / e
            j = np.floor(q)
            stair = j - 0.5 + np.expm1((j - q) * e) / -rest
            size = np.where(q < 1, (1 - w) / (c * rest), stair)
        size[w == 0] = np.inf
        size *= float(self.scale)
        return np.copysign(size, 0.5 - negative, out=size)

    def _distance(self, word: int, bits: int) -> "arb":
        """|S| at W = word / 2^bits; not finite at 0, nor where j is not certain yet."""
        from flint import arb

        w = arb(word) / arb(2) ** bits
        e = _exact(self.epsilon)
        rest = 1 - (-e).exp()
        c = 2 / (1 + (-e).exp())
        q = (c / w).log() / e
        if not q.is_finite():
            return arb("nan")
        j = q.floor().unique_fmpz()
        if j is None:
            return arb("nan")
        if j < 1:
            return (1 - w) / (c * rest)
        return j - arb(0.5) + (1 - (e * (j - q)).exp()) / rest


def _exact(number: Fraction) -> "arb":
    from flint import arb, fmpq

    return arb(fmpq(number.numerator, number.denominator))


LARGE = 1000
"""From so many labels on a fifth of ε finds the place."""
PER_OCTAVE = 8
SHELLS = 20 * PER_OCTAVE
"""H: the smallest distance is a millionth of the range."""
UNIT = 1 << 16
"""ψ is a table of integers, in units of 1/UNIT."""
SEEN = 16
"""How many records a window should hold, in units of the noise on the place."""
MORE = 6
"""t in units of the noise on the reach."""
CELLS = 64
"""J is so many times e^(ε3/2) + 1, how many best intervals fit into a uniform column."""
MOST_CELLS = 1 << 20
BLOCK = 1 << 14


@dataclass(frozen=True, slots=True)
class Shares:
    """What the three draws cost."""

    place: Fraction
    reach: Fraction
    label: Fraction

    @classmethod
    def of(cls, epsilon: Fraction) -> "Shares":
        """A fifth for the place, 3 % for the reach; more as ε grows, up to 30 % and an eighth."""
        place = epsilon * min(max(epsilon * 3 / 200, Fraction(1, 5)), Fraction(3, 10))
        reach = epsilon * min(max(epsilon / 100, Fraction(3, 100)), Fraction(1, 8))
        return cls(place, reach, epsilon - place - reach)

    def rho(self, mechanism: Mechanism = PF, count: int = 1) -> Fraction:
        """The zCDP cost: three draws of a mechanism; a set of labels is pure."""
        label = mechanism.rho(self.label) if count == 1 else pure_rho(self.label)
        return mechanism.rho(self.place) + mechanism.rho(self.reach) + label


def worth_it(n: int) -> bool:
    """Whether two stages find more than one: a public rule."""
    return n >= LARGE


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """What stage 1 made public: which cells are within reach of the place, and their interval."""

    inside: NDArray[np.bool_]
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Drawn:
    """The positions of the labels, ascending, and the interval that was released on the way."""

    labels: list[int]
    interval: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class TwoStages:
    """Which label has the value nearest to the p-th percentile?  All fields are public.

    Replace one record; n, the labels, the range and p are public.  Scores that measure distance, as
    local dampening does, must hide where the percentile is and who is near it in one draw.  Asked
    in turn both are easy: a place is hidden among ranks, and once it is public, a label's weight
    depends on its own value alone.

    **Cells.**  Every value falls into one of J public cells, narrow at both ends of the range and
    wide in between: with s = (v - lower) / (upper - lower) and r = s^(1/4), r' = (1-s)^(1/4), cell
    floor(J r / (r + r')), whose midpoint stands for it.  A tie stays a tie.

    **Stage 1** (ε1 + ε2) makes an interval public, by two draws of permute-and-flip (for ρ, with
    Gumbel noise, as in stage 2):

    - *the place* c, the cell in the middle of a window, a run of cells, at ε1: a window should hold
      the rank k and some records, and no more cells than that takes (`Windows`; of sensitivity 1);
    - *the reach* h, one of the public distances h_j = (upper - lower) 2^(-(H-j)/8), at ε2.  With
      s_i the number of values between h_{i-1} and h_i from c, let g_j = Σ_i s_i ψ_j(i) - t_j, where
      ψ is a public table with values in [-1/2, 1/2] and t_j a public number; for several labels,
      the smaller of that and of Σ_{i<=j} s_i - w, with w public.  Replacing one record moves g_j by
      at most 1.  Where g crosses zero is asked: u(j) = -max(0, -g_j, g_{j-1}), of sensitivity 1.
      (|g_j| would do too, but a tie at the end of a gap makes g jump, and the side of the jump
      without the tie may then be nearer to zero.)

    **Stage 2** (ε3) draws a label by permute-and-flip with the utility 1 if its value is within h
    of c and 0 if not; several labels by the noise for sets of `Staircase`, as one set.

    **Theorem.**  The place, the reach and the label, or the set of labels, together are
    (ε1 + ε2 + ε3)-differentially private.
    Proof.  Stage 1 is two selections of sensitivity 1, the second with c public: ε1 + ε2, with the
    usual factor 1/2, which is needed: a record changes many candidates at once.  With the interval
    public, u(r) is a function of x_r alone, so that replacing one record changes the utility of one
    label, by at most 1.  For several labels the theorem of the noise for sets says the rest.  For
    one, let h be that label, and its utility rise from 0 to 1.  Its noisy value Z + ε3 wins if it
    exceeds the largest Y of the others; P[Z + ε3 > y] is at most e^ε3 P[Z > y] for exponential
    noise Z, and at least P[Z > y].  For another label g to win, Z_g + ε3 u(g) must exceed both the
    rest and Z_h + ε3 u(h).  The first falls by at most e^ε3 as u(h) rises: take Z_g = ε3 + Z'_g
    given that it exceeds ε3, which has probability e^-ε3, and Z'_g is distributed as Z_g: if g wins
    with Z'_g before the rise, it wins with Z'_g + ε3 after it.  So every probability changes by a
    factor of at most e^ε3, and no factor 1/2 is due: the selection is separable.  Adaptive
    composition adds the three. ∎

    **Why an interval, and which.**  Let e_r be the error |x_(k) - x_r| and let weights lie in
    [1, M].  The mean error Σ w e / Σ w is least for w = M where e < λ and w = 1 elsewhere, with λ
    that least value itself, i.e. with Σ_{e<λ} M (λ - e) = Σ_{e>λ} (e - λ): two weights are best,
    and the interval is by distance, not by rank.  That holds too where the percentile is not known,
    with e_r its mean given what is public: more than two weights gain nothing.  ψ asks for that
    balance: (1 - d/h)/2 inside and -min((d-h) / (Mh), 1)/2 outside, with M = e^ε3, so that a single
    record far away, which no private mechanism can see, counts no more than one nearby.  What
    cannot be seen is assumed: t_j adds one record at the far end of the range, at its full weight,
    for there often is one.  And t_j asks for some records more than balance, so that noise seldom
    leaves the interval empty.  Of several labels, w asks for as many inside as are named, and some
    more for the noise: what is not inside is filled up from everywhere.  λ at M = e^ε is what this
    form would reach if the percentile were known for nothing; `dampen-studies run two-stages` shows
    how close it comes.

    **What was chosen, and how**: the shares of ε, J, t, the windows, w, and from which n on two
    stages are worth it (below: local dampening, `label_mechanism`), on generated columns (uniform,
    normal, exponential, lognormal, Pareto, with 50 to 98 % zeros, two and three humps, five values,
    counts of humps), also at percentiles a few ranks beyond a gap or the end of a tie.  The cap of
    n/4 on J was chosen on such columns too, but after a look at the histograms of
    docs/lab-percentile.md had shown that 4n is too many next to the end of a large tie.

    Attributes:
        n: how many values there are.
        p: which percentile, 0 to 100; a decimal is taken exactly.
        upper: upper end of the values.
        lower: lower end of the values.
        shares: what the draws cost.
        count: how many labels are named, from 1 to n.
        cells: J; None chooses by n and the shares.
        mechanism: of every draw of one candidate.
    """

    n: int
    p: Percent
    upper: float
    lower: float = 0.0
    shares: Shares
    count: int = 1
    cells: int | None = None
    mechanism: Mechanism = PF
    neighbours = Neighbours.REPLACE_ONE

    def __post_init__(self) -> None:
        rank(self.p, self.n)
        finite_range(self.lower, self.upper)

    def draw(self, values: FloatArray, entropy: Entropy) -> Drawn:
        """Labels of n values within the range: ε-DP for the sum of the shares."""
        cells = self.cells_of(values)
        near = self.near(np.bincount(cells, minlength=len(self.points)), entropy)
        return Drawn(self.named(self.label(near.inside[cells]), entropy), near.interval)

    def named(self, labels: Selection, entropy: Entropy) -> list[int]:
        """Stage 2: one label by the mechanism, several by noise that hides a set."""
        if self.count == 1:
            label = self.shares.label
            return [select(labels, epsilon=label, mechanism=self.mechanism, entropy=entropy)]
        noise = Staircase(self.shares.label)
        return sorted(noisy_top(labels.utility, noise.scale, noise, self.count, entropy))

    def near(self, counts: IntArray, entropy: Entropy) -> Near:
        """Stage 1, from the number of values in every cell."""
        drawn_by = self.mechanism
        window = select(
            self.place(counts), epsilon=self.shares.place, mechanism=drawn_by, entropy=entropy
        )
        place = int(self.windows.centres[window])
        shells = self.shells(place)
        among = self.reach(counts, shells)
        reach = select(among, epsilon=self.shares.reach, mechanism=drawn_by, entropy=entropy)
        return Near(shells <= reach, self.interval(place, reach))

    @cached_property
    def points(self) -> FloatArray:
        """The midpoint of every cell, ascending."""
        J = self.cells or _cells(self.n, self.shares.label)
        return self._at((np.arange(J) + 0.5) / J)

    @cached_property
    def distances(self) -> FloatArray:
        """h_0 < ... < h_H, the last the whole range."""
        return self._range * _shares_of_range()

    @cached_property
    def balance(self) -> IntArray:
        """ψ in units of 1/UNIT: one row per reach, one column per shell."""
        h = _shares_of_range()
        M = self._weight
        d = np.concatenate([[0.0], h[1:] * 2 ** (-0.5 / PER_OCTAVE)])
        inside = 1 - np.minimum(d / h[:, None], 1)
        outside = np.minimum((d - h[:, None]) / (M * h[:, None]), 1)
        psi = np.where(np.tri(SHELLS + 1, dtype=np.bool_), inside, -outside)
        return np.clip(np.rint(psi * (UNIT // 2)), -UNIT // 2, UNIT // 2).astype(np.int64)

    @property
    def key(self) -> GridKey:
        """The cells of a column, as engines may count them by themselves."""
        ends = float(self.lower), float(self.upper)
        return GridKey(self.cells_in, ends, end_cell(*ends, len(self.points)))

    def cells_in(self, numbers: FloatArray) -> IntArray:
        """The cell of every number, -1 for NaN; numbers beyond an end belong to that end."""
        missing = np.isnan(numbers)
        held = np.where(missing, self.lower, np.clip(numbers, self.lower, self.upper))
        return np.where(missing, -1, self.cells_of(held))

    @cached_property
    def surplus(self) -> IntArray:
        """t_j in units of 1/UNIT: more than balance, and one record at the far end."""
        h = _shares_of_range()
        more = float(min(MORE / self.shares.reach, Fraction(self.n, 4)))
        far = (1 - h) / (2 * self._weight * h)
        return np.rint(UNIT * np.minimum(more + far, self.n)).astype(np.int64)

    def cells_of(self, values: FloatArray) -> IntArray:
        """The cell of every value: each depends on that value alone."""
        J = len(self.points)
        cells = np.empty(len(values), dtype=np.int64)
        for start in range(0, len(values), BLOCK):
            s = (values[start : start + BLOCK] - float(self.lower)) / self._range
            r = np.sqrt(np.sqrt(s))
            rest = np.sqrt(np.sqrt(1 - s))
            cells[start : start + BLOCK] = np.minimum(J * (r / (r + rest)), J - 1)
        return cells

    @cached_property
    def windows(self) -> Windows:
        """What the place is chosen from."""
        return Windows(len(self.points))

    def place(self, counts: IntArray) -> Selection:
        """A window, from the number of values in every cell."""
        t = round(min(SEEN / self.shares.place, Fraction(self.n, 4)))
        return self.windows.selection(counts, rank(self.p, self.n), max(t, 1))

    def shells(self, place: int) -> IntArray:
        """For every cell, the first h_j that reaches it from the place."""
        return np.searchsorted(self.distances[:-1], np.abs(self.points - self.points[place]))

    def reach(self, counts: IntArray, shells: IntArray) -> Selection:
        """The reach by balance, from the number of values in every cell."""
        within = np.bincount(shells, weights=counts, minlength=SHELLS + 1)
        return self.reach_of(within.astype(np.int64))

    def reach_of(self, within: IntArray) -> Selection:
        """The reach by balance, from the number of values in every shell; exact integers."""
        g = self.balance @ within - self.surplus
        if self.count > 1:
            g = np.minimum(g, UNIT * (np.cumsum(within) - self.wanted))
        u = -np.maximum(-g, 0)
        u[1:] = np.minimum(u[1:], -g[:-1])
        return Selection(u, sensitivity.constant(UNIT), exact=True)

    @property
    def wanted(self) -> int:
        """w: as many as are named, and some more; at most all."""
        return min(self.count + int(MORE / self.shares.reach), self.n)

    def label(self, inside: NDArray[np.bool_]) -> Selection:
        """1 for the labels inside, 0 for the others."""
        return Selection(
            inside.astype(np.float64), sensitivity.constant(1), separable=True, exact=True
        )

    def interval(self, place: int, reach: int) -> tuple[float, float]:
        """What was made public: from the first to the last cell within reach, whole cells."""
        inside = np.flatnonzero(self.shells(place) <= reach)
        low, high = self._at(np.array([inside[0], inside[-1] + 1]) / len(self.points)).tolist()
        return low, high

    def _at(self, t: FloatArray) -> FloatArray:
        """The value at a share t of the cells."""
        s = t**4 / (t**4 + (1 - t) ** 4)
        return float(self.lower) + s * self._range

    @property
    def _weight(self) -> float:
        """M."""
        return exp(min(float(self.shares.label), 300.0))

    @property
    def _range(self) -> float:
        return float(self.upper) - float(self.lower)


def _shares_of_range() -> FloatArray:
    """h_j over the whole range."""
    return np.exp2(-np.arange(SHELLS, -1, -1) / PER_OCTAVE)


def _cells(n: int, label: Fraction) -> int:
    """At least 64, at most n/4: finer cells than the interval only add places to choose from."""
    wanted = CELLS * (exp(min(float(label) / 2, 30.0)) + 1)
    return int(min(wanted, max(n // 4, CELLS), MOST_CELLS))


class Draws(Protocol):
    """How the points of a grid are drawn; public parameters alone."""

    def cost(self, price: Price, query: str, /) -> Cost:
        """What all of them cost together."""
        ...

    def farthest(self, epsilon: Fraction, size: int | None, /) -> float | None:
        """How many ranks off they are, in 9 of 10 runs; None if unknown.

        Of `EqualShares` that is said of each alone, beyond the error of the best point; of
        `Together` of all at once, records between two points not counted.  `size` is the number of
        records where it is public.
        """
        ...

    def usual(self, epsilon: Fraction, size: int | None, /) -> float | None:
        """The same where values are spread evenly; None if unknown."""
        ...

    def draw(self, ranks: Ranks, n: int, epsilon: Fraction, entropy: Entropy, /) -> list[int]:
        """One point per percentile, in their order, none above that of a larger percentile."""
        ...


@dataclass(frozen=True)
class EqualShares:
    """Each percentile by a mechanism on ranks, at an equal and exact share of ε.

    ε-DP in total, by sequential composition, and sorting the answers is post-processing.

    Raises:
        ParameterError: if a percentile has more decimals than its relation allows.
    """

    points: tuple[Percent, ...]
    grid: ValueGrid
    neighbours: Neighbours
    mechanism: Mechanism

    def __post_init__(self) -> None:
        self._of_nothing()

    def cost(self, price: Price, query: str, /) -> Cost:
        k = len(self.points)
        return selection_cost(self.neighbours, price, query=query, mechanism=self.mechanism, k=k)

    def farthest(self, epsilon: Fraction, _: int | None, /) -> float | None:
        share = epsilon / len(self.points)
        m = len(self.grid.points)
        return self._largest(lambda tiny: lead(tiny, self.mechanism, m=m, k=1, epsilon=share))

    def usual(self, epsilon: Fraction, _: int | None, /) -> float | None:
        share = epsilon / len(self.points)
        return self._largest(lambda tiny: even_distance(tiny, self.mechanism, epsilon=share))

    def _largest(self, in_scores: Callable[[Selection], float | None]) -> float | None:
        """The largest number of all percentiles, in ranks."""
        found = [in_scores(tiny) for tiny in self._of_nothing()]
        pairs = zip(self.points, found, strict=True)
        ranks = [each / self._one_rank(p) for p, each in pairs if each is not None]
        return max(ranks) if len(ranks) == len(found) else None

    def draw(self, ranks: Ranks, n: int, epsilon: Fraction, entropy: Entropy, /) -> list[int]:
        share = epsilon / len(self.points)
        picked = [
            select(one, epsilon=share, mechanism=self.mechanism, entropy=entropy)
            for one in self._selections(ranks.less, ranks.at_most, n)
        ]
        in_order = sorted(range(len(picked)), key=lambda i: as_fraction(self.points[i]))
        answers = [0] * len(picked)
        for i, drawn in zip(in_order, sorted(picked), strict=True):
            answers[i] = drawn
        return answers

    def _of_nothing(self) -> list[Selection]:
        """A selection of every percentile's kind."""
        none = np.zeros(1, np.int64)
        return list(self._selections(none, none, 1))

    def _selections(self, less: IntArray, at_most: IntArray, n: int) -> Iterator[Selection]:
        """One per percentile.  Of no values at all every candidate is as good."""
        lower = self.grid.lower
        upper = self.grid.upper
        step = self.grid.step
        for p in self.points:
            if self.neighbours is Neighbours.REPLACE_ONE and n > 0:
                known = PercentileValue(n=n, p=p, lower=lower, upper=upper, step=step)
                yield known.selection_of_ranks(less, at_most)
            else:
                rows = PercentileValueOfRows(p=p, lower=lower, upper=upper, step=step)
                yield rows.selection_of_ranks(less, at_most, n)

    def _one_rank(self, p: Percent) -> int:
        """What one rank counts in the utility."""
        if self.neighbours is Neighbours.REPLACE_ONE:
            return 1
        return (as_fraction(p) / 100).denominator


@dataclass(frozen=True)
class Together:
    """Different percentiles in one release, for one ε (`dampen.questions.percentile.joint_tight`).

    Attributes:
        points: the percentiles as they were asked for, in any order, some perhaps twice.
        way: how they are drawn.
    """

    points: tuple[Percent, ...]
    way: Way

    def cost(self, price: Price, query: str, /) -> Cost:
        return composed_cost(
            self.way.neighbours,
            price,
            query=query,
            mechanism=self.way.name,
            rho=self.way.rho,
        )

    def farthest(self, epsilon: Fraction, size: int | None, /) -> float | None:
        return self.way.farthest(epsilon, size)

    def usual(self, epsilon: Fraction, size: int | None, /) -> float | None:
        return self.way.usual(epsilon, size)

    def draw(self, ranks: Ranks, n: int, epsilon: Fraction, entropy: Entropy, /) -> list[int]:
        del n
        drawn = self.way.draw(ranks, epsilon, entropy)
        at = dict(zip(self.way.shares, drawn, strict=True))
        return [at[as_fraction(p) / 100] for p in self.points]


def value_accuracy(
    ranks: float | None,
    subject: str,
    *,
    epsilon: Fraction,
    most: float | None,
    together: bool = False,
    usual: float | None = None,
) -> Accuracy:
    """The accuracy of values that are at most so many ranks off, or of an unknown distance.

    **Values.**  Let r be the lead that one of as many candidates as the grid has points needs
    (`dampen.releases.accuracy`).  Points whose rank error is by more than r above the best point's
    are drawn with a probability of at most 0.1, for the best one beats all of them with a
    probability of 0.9.

    **Several values together.**  The bound of `Taut.farthest`, for all of them at once.

    **Usual values.**  These bounds are nearly attained, on data with gaps: many possible answers
    lie between two records, all as good.  Public facts do not tell.  So a second number is stated,
    the one for values that are spread evenly and densely, where every rank has as many possible
    answers: see `dampen.releases.accuracy.even_distance` and `Taut.usual`.
    `dampen-studies run accuracy-bounds` compares both with what happens.
    """
    if ranks is None:
        return UNKNOWN
    return by_distance(
        ranks,
        "ranks",
        subject=subject,
        target="the percentile" if subject.startswith("the value") else "its percentile",
        than="" if together else "the best point of the grid",
        aside="values between two points of the grid" if together else "",
        epsilon=epsilon,
        most=most,
        usual=usual,
    )


def most_ranks(points: Sequence[Percent], n: int, *, public: bool) -> float:
    """The farthest that any value can be from its percentile, of at most n values.

    Of n values no point is more than max(k, n + 1 - k) ranks from the rank k.

    Args:
        points: the percentiles.
        n: the number of values, or a bound on it.
        public: whether it is the number that neighbours share.
    """
    if public:
        ranks = [rank(p, max(n, 1)) for p in points]
        return float(max(max(k, n + 1 - k) for k in ranks))
    shares = [as_fraction(p) / 100 for p in points]
    return float(n * max(max(q, 1 - q) for q in shares))


def likeliest_in_two_stages(
    n: int, epsilon: Fraction, k: int = 1, mechanism: Mechanism = PF
) -> float:
    """The largest probability with which any record can be named, whatever the data is.

    Whatever the interval is, the utility of a record is 0 or 1, so that no record is more likely
    than one that is alone inside: the probability of `least_probability` at a lead of ε3 among n
    records.  Of k records: with no record inside, each is named with probability k/n, and to move
    one inside changes that by e^ε3 at most, and 1 - k/n too.  So no record is named with a
    probability above min(e^ε3 k/n, 1 - e^-ε3 (1 - k/n)), whatever else is inside: others only lower
    it.
    """
    share = min(k / n, 1.0)
    e = float(Shares.of(epsilon).label)
    if k > 1:
        return min(exp(min(e, 300.0)) * share, 1 - exp(-e) * (1 - share))
    found = least_probability(mechanism, m=n, k=1, g=e)
    assert found is not None
    return found


def likeliest_in_one_draw(
    mechanism: Mechanism, n: int, epsilon: Fraction, *, k: int = 1, width: float
) -> float | None:
    """The same where k records are drawn one after the other; None if no bound is known.

    If all scores lie within s of each other, no record is more likely than one that is s above all
    others, in any of k draws at ε/k each.  s is 1 for u / Λ and for D = u / δ, both in [-1, 0].
    For D of u - Λ it is 7/3: -D is at least 1, since δ <= Λ; and at most 10/3, since δ(0) >= |u|,
    and the remaining Λ is covered by δ(1) >= Λ/3 and δ(t) >= Λ/2 for t >= 2
    (`dampen.paper.percentile_selection`).  SLD has no such bound.

    Args:
        mechanism: how they are drawn.
        n: how many records there are.
        epsilon: of all draws together.
        k: how many are named.
        width: Λ.
    """
    span = _span(mechanism, width)
    if span is None:
        return None
    total = 0.0
    for named in range(min(k, n)):
        one = least_probability(mechanism, m=n - named, k=1, g=span * float(epsilon) / (2 * k))
        if one is None:
            return None
        total += one
    return min(total, 1.0)


def record_accuracy(likeliest: float | None, n: int, k: int, epsilon: Fraction) -> Accuracy:
    """The accuracy of k of n records, each named with a probability of at most `likeliest`."""
    if likeliest is None:
        return UNKNOWN
    return by_likeliest(
        likeliest,
        who=("record", "records"),
        n=n,
        k=k,
        epsilon=epsilon,
        instead="Ask for the value with dampen.percentile, or use a larger ε.",
    )


def _span(mechanism: Mechanism, width: float) -> float | None:
    """s."""
    match mechanism.score:
        case Global():
            return 1.0
        case Dampened(shift=shift) if shift == 0:
            return 1.0
        case Dampened(shift=shift) if shift == width:
            return 7 / 3
    return None
