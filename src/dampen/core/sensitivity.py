"""Sensitivity functions δ(x, t, r): how to make them, combine them, classify and compare them.

Admissible (Def. 6 of the paper): (1) δ(x, 0, r) >= LS(x, 0, r); (2) δ(x, t+1, r) >= δ(y, t, r) for
all neighbours x, y.  With y = x, δ never decreases in t.  Boundedness is *forced* here: the paper
derives it from LS(x, n, r) = Δ, which is false in general, so `bounded` first takes the minimum
with the cap and then jumps to the cap at a public horizon; both steps keep admissibility.

Admissibility speaks of neighbours, so `dampen.testing.check_admissible` checks it on a universe;
`classify` says what a single instance shows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dampen.core.selection import (
    FloatArray,
    IntArray,
    Selection,
    Sensitivity,
    checked_delta,
    prefix_sums,
)
from dampen.errors import DataError, ParameterError, a_thing

__all__ = [
    "Classification",
    "Sensitivity",
    "bounded",
    "classify",
    "constant",
    "flat",
    "function",
    "maximum",
    "table",
]


def constant(value: float) -> "Constant":
    """δ = value for every t and r: the global sensitivity, when value = Δ."""
    return Constant(_positive("value", value))


def table(rows: ArrayLike) -> "Table":
    """δ(x, t, ·) = rows[t]; after the last row, the bound of the selection."""
    try:
        values = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            "Expected rows of equal length, one row per distance t, one number per candidate."
        ) from None
    if values.ndim != 2:
        raise ParameterError(
            f"Expected rows in two dimensions (distance, candidate), got {values.ndim}."
        )
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise DataError("Expected sensitivities that are finite and >= 0; some are not.")
    if (np.diff(values, axis=0) < 0).any():
        raise DataError("Expected sensitivities that never decrease with t; some do.")
    return Table(values, prefix_sums(values))


def function(f: Callable[[int], ArrayLike], horizon: int) -> "Function":
    """δ(x, t, ·) = f(t) for t < horizon, then the bound of the selection.

    Args:
        f: one number, or one per candidate, for a distance.
        horizon: the distance from which on δ is the bound.

    The whole horizon is computed once, whatever the data is, and kept for all scores; 2^23 numbers
    at most.  Where the horizon is longer every score walks over it: write a class with `at`,
    `at_each` and `sum_to` instead (`Sensitivity`).
    """
    if not callable(f):
        raise ParameterError(f"Expected a function of t, got {a_thing(f)}.")
    return Function(f, _horizon(horizon))


def bounded(delta: Sensitivity, cap: float, horizon: int) -> "Bounded":
    """min(δ, cap) before the horizon, the cap from there on; both public.

    Admissible if δ is and the cap is at least Δ.

    Args:
        delta: a sensitivity function.
        cap: above 0.
        horizon: the distance from which on δ is the cap.
    """
    return Bounded(delta, _positive("cap", cap), _horizon(horizon))


def flat(delta: Sensitivity) -> Sensitivity:
    """The maximum over all candidates: admissible if δ is, the same for every candidate.

    Under SLD a flat function is exactly the exponential mechanism.
    """
    return delta if isinstance(delta, Constant) else Flat(delta)


def maximum(*deltas: Sensitivity) -> "Maximum":
    """The largest of several functions: admissible if all of them are (Lemma 2)."""
    if not deltas:
        raise ParameterError("Expected at least one sensitivity function, got none.")
    return Maximum(deltas)


@dataclass(frozen=True, slots=True, repr=False)
class Constant:
    """See `constant`."""

    cap: float
    horizon: None = None

    def at(self, _: int, /) -> FloatArray:
        return np.asarray(self.cap)

    def part(self, _: slice, /) -> "Constant":
        return self

    def at_each(self, t: IntArray, /) -> FloatArray:
        return np.full(len(t), self.cap)

    def sum_to(self, t: IntArray, /) -> FloatArray:
        return t.astype(np.float64) * self.cap


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table:
    """See `table`."""

    rows: FloatArray
    prefix: FloatArray

    @property
    def horizon(self) -> int:
        return len(self.rows)

    def check(self, size: int, bound: float, /) -> None:
        if len(self.rows):
            checked_delta(self.rows[-1], size, bound)

    def at(self, t: int, /) -> FloatArray:
        row: FloatArray = self.rows[t]
        return row

    def part(self, candidates: slice, /) -> "Table":
        return Table(self.rows[:, candidates], self.prefix[:, candidates])

    def at_each(self, t: IntArray, /) -> FloatArray:
        return self.rows[t, np.arange(len(t))]

    def sum_to(self, t: IntArray, /) -> FloatArray:
        return self.prefix[t, np.arange(len(t))]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Function:
    """See `function`."""

    f: Callable[[int], ArrayLike]
    horizon: int

    def check(self, size: int, bound: float, /) -> None:
        for t in {0, self.horizon - 1} if self.horizon else ():
            checked_delta(self.f(t), size, bound)

    def at(self, t: int, /) -> FloatArray:
        return np.asarray(self.f(t), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bounded:
    """See `bounded`.  It can do what the function inside can; the rest is None.

    A sum splits at the first t where δ reaches the cap, which is found by bisection.
    """

    delta: Any
    cap: float
    horizon: int
    _first: dict[int, IntArray] = field(default_factory=dict)

    def at(self, t: int, /) -> FloatArray:
        if t >= self._inside:
            return np.asarray(self.cap)
        return np.minimum(self.delta.at(t), self.cap)

    @property
    def at_each(self) -> Callable[[IntArray], FloatArray] | None:
        return self._at_each if self._can("at_each") else None

    @property
    def sum_to(self) -> Callable[[IntArray], FloatArray] | None:
        return self._sum_to if self._can("sum_to") else None

    @property
    def part(self) -> "Callable[[slice], Bounded] | None":
        return self._part if self._can("part") else None

    def _can(self, name: str) -> bool:
        return getattr(self.delta, name, None) is not None

    @property
    def _inside(self) -> int:
        """How many distances δ itself answers for."""
        given: int | None = self.delta.horizon
        return self.horizon if given is None else min(self.horizon, given)

    def _part(self, candidates: slice) -> "Bounded":
        return Bounded(self.delta.part(candidates), self.cap, self.horizon)

    def _at_each(self, t: IntArray) -> FloatArray:
        if self._inside == 0:
            return np.full(len(t), self.cap)
        given = self.delta.at_each(np.minimum(t, self._inside - 1))
        return np.where(t < self._inside, np.minimum(given, self.cap), self.cap)

    def _sum_to(self, t: IntArray) -> FloatArray:
        if self._inside == 0:
            return t.astype(np.float64) * self.cap
        below = np.minimum(t, self._first_at_cap(len(t)))
        return self.delta.sum_to(below) + (t - below) * self.cap

    def _first_at_cap(self, size: int) -> IntArray:
        if size not in self._first:
            self._first[size] = self._search_first_at_cap(size)
        return self._first[size]

    def _search_first_at_cap(self, size: int) -> IntArray:
        first = np.zeros(size, dtype=np.int64)
        for step in bisection_steps(self._inside):
            below = self.delta.at_each(first + (step - 1)) < self.cap
            first = np.where(below, first + step, first)
        return first


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Flat:
    """See `flat`."""

    delta: Sensitivity

    @property
    def horizon(self) -> int | None:
        return self.delta.horizon

    def at(self, t: int, /) -> FloatArray:
        return np.asarray(np.max(self.delta.at(t)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Maximum:
    """See `maximum`.  Once one of the functions has reached the bound, so has the maximum."""

    deltas: Sequence[Sensitivity]

    @property
    def horizon(self) -> int | None:
        horizons = [d.horizon for d in self.deltas if d.horizon is not None]
        return min(horizons, default=None)

    def at(self, t: int, /) -> FloatArray:
        largest = self.deltas[0].at(t)
        for delta in self.deltas[1:]:
            largest = np.maximum(largest, delta.at(t))
        return largest


Monotonicity = Literal["flat", "non-decreasing", "non-increasing", "none"]


@dataclass(frozen=True, slots=True)
class Classification:
    """What one instance shows of its δ (Defs. 8 to 12).

    Attributes:
        never_decreases: in t; a consequence of admissibility, which itself needs a universe.
        bounded: a public horizon exists from which on δ is the bound.
        monotonicity: of δ over the candidates, along their utility.
        stable: never_decreases, bounded and monotonic: as far as one instance can tell.
    """

    never_decreases: bool
    bounded: bool
    monotonicity: Monotonicity

    @property
    def stable(self) -> bool:
        return self.never_decreases and self.bounded and self.monotonicity != "none"


def classify(selection: Selection, distances: int | None = None) -> Classification:
    """Classifies δ at t = 0, 1, ..., up to its horizon or the given number of distances.

    Not private: for study on public or synthetic data.
    """
    horizon = selection.sensitivity.horizon
    if distances is None and horizon is None:
        raise ParameterError("Expected distances=, because δ has no horizon.")
    last = distances if distances is not None else horizon or 0
    order = np.argsort(selection.utility, kind="stable")
    rises = falls = grows = True
    previous = np.zeros(len(selection))
    for t in range(last + 1):
        delta = selection.sensitivity.at(t)
        grows = grows and bool((delta >= previous).all())
        up, down = _order_along(selection.utility[order], delta[order])
        rises = rises and up
        falls = falls and down
        previous = delta
    kind: Monotonicity = (
        "flat" if rises and falls else
        "non-decreasing" if rises else
        "non-increasing" if falls else "none"
    )  # fmt: skip
    return Classification(grows, horizon is not None, kind)


def _order_along(u: FloatArray, delta: FloatArray) -> tuple[bool, bool]:
    """Whether δ rises, and whether it falls, along sorted u; equal u must have equal δ for both."""
    steps = np.diff(delta)
    ties = np.diff(u) == 0
    rises = (steps >= 0) | ties
    falls = (steps <= 0) | ties
    # Def. 8 with u(r) = u(r') demands δ(r) >= δ(r') both ways.
    unequal_tie = bool((ties & (steps != 0)).any())
    return bool(rises.all()) and not unequal_tie, bool(falls.all()) and not unequal_tie


def bisection_steps(last: int) -> list[int]:
    """Steps that, taken or not, lead from 0 to every number up to `last` and never beyond it.

    >>> bisection_steps(5)
    [2, 2, 1]
    """
    bits = (last + 1).bit_length() - 1
    offset = last - ((1 << bits) - 1)
    return [offset][:offset] + [1 << bit for bit in reversed(range(bits))]


def _positive(name: str, value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ParameterError(f"Expected {name} > 0, a number, got {name}={value!r}.") from None
    if not (np.isfinite(number) and number > 0):
        raise ParameterError(f"Expected {name} > 0 and finite, got {name}={number:g}.")
    return number


def _horizon(value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise ParameterError(f"Expected horizon to be an integer >= 0, got horizon={value!r}.")
    return int(value)
