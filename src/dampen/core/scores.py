"""Scores of sensitivity 1: global, dampened, shifted (theory: Defs. 13, 17, 18 of the paper).

A mechanism is a score times a draw.  A score turns a selection into one number q(x, r) per
candidate such that neighbours differ by at most 1; the draw adds noise and takes the largest.

**Rounding.** Scores are computed in floats, so they come with η, a public constant that bounds
their distance from the exact score; the mechanism pays for it by using ε / (1 + 2η).  η is never
computed from scores.  To make it constant, dampened and shifted scores are clamped to a public
range (which keeps sensitivity 1) and rounded to a public grid:

| score | η | why |
|---|---|---|
| global | `rounding`, or 0 for exact utilities | the utility's own; u and Δ are used exactly |
| dampened | 2^-20 | relative error 2^-49 of a score of at most 2^28; half a grid step |
| shifted | 2^-48 (T + utility_range) | relative error 2^-49 of u / Δ and of a sum of T terms |

The utility's own rounding is at most 2^-50 |u|, hence at most 2^-50 of a public bound on |u| / δ.
2^-28 covers 2^22 such units, and so most problems; gini on N rows has η = max(2^-28, 2^-51 N).

Relative errors are what the arithmetic gives: δ never decreases in t, so b(i) <= i δ(i), and a
relative error of b or u moves D by at most (D + 1) times it.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np

from dampen.core.selection import (
    LARGEST_SCORE,
    SMALL_ROUNDING,
    Completed,
    FloatArray,
    IntArray,
    Selection,
    two_sum,
)
from dampen.core.sensitivity import bisection_steps
from dampen.errors import ParameterError

__all__ = ["Dampened", "Global", "Score", "Scores", "Shifted"]

LARGEST_HORIZON = 2**40
BLOCK = 1 << 14
DAMPENED_ETA = Fraction(1, 2**20)


class Scores(NamedTuple):
    """q = values / unit, each within eta of the exact score."""

    values: FloatArray
    unit: Fraction
    eta: Fraction


class Score(Protocol):
    """Turns a selection into scores of sensitivity 1: a frozen dataclass of public parameters.

    Attributes:
        keeps_one_sided: the score of a one-sided utility is one-sided.
        pointwise: q(x, r) depends on the utility and the sensitivity of r alone.
        needs_horizon: it is defined only for a δ that equals its bound from a public T on.
    """

    @property
    def keeps_one_sided(self) -> bool: ...

    @property
    def pointwise(self) -> bool: ...

    @property
    def needs_horizon(self) -> bool: ...

    def of(self, selection: Selection, /) -> Scores:
        """The scores of all candidates, and how far rounding can have moved them."""
        ...


@dataclass(frozen=True, slots=True)
class Global:
    """q = u / Δ, used exactly; a public cap above Δ may take its place."""

    cap: float | None = None
    keeps_one_sided = True
    pointwise = True
    needs_horizon = False

    def of(self, selection: Selection, /) -> Scores:
        eta = Fraction(0 if selection.exact else selection.rounding)
        return Scores(selection.utility, Fraction(_cap(self.cap, selection)), eta)


@dataclass(frozen=True, slots=True)
class Dampened:
    """q = D(x, r), the dampening function (Def. 12), of u minus a public shift.

    D is odd and interpolates linearly through (b(i), i), where b(i) is the sum of δ(x, j, r) over
    j < i; D(0) = 0, and a run of zero deltas is stepped over as soon as |u| > 0.  Lemma 4:
    neighbours differ by at most 1.  D is *not* one-sided, even where u is.

    Without a shift relative errors are enough; a shift may cancel most of u, and then its rounding
    must be small.
    """

    shift: float = 0.0
    cap: float | None = None
    keeps_one_sided = False
    pointwise = True
    needs_horizon = False

    def of(self, selection: Selection, /) -> Scores:
        delta = selection.sensitivity
        cap = _cap(self.cap, selection)
        if self.shift != 0 and selection.rounding > SMALL_ROUNDING and not selection.exact:
            raise ParameterError(
                "Expected utilities with a rounding of at most 2^-28 for dampening with a shift, "
                f"got rounding={selection.rounding:g}. A shift could leave nothing but rounding "
                f"errors."
            )
        if self.shift == 0 and delta.covers_at_zero:
            return _of_covered(selection.utility, delta)
        u = selection.utility - self.shift
        size = np.abs(u)
        D = np.empty(len(u))
        dampen = _dampen_by_sums if delta.closed_form else _dampen_by_walk
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            for part, block in delta.blocks(BLOCK):
                D[part] = dampen(size[part], block, cap)
        return _on_grid(np.copysign(D, u, out=D), LARGEST_SCORE, DAMPENED_ETA)


@dataclass(frozen=True, slots=True)
class Shifted:
    """The limit of D as the shift goes to ±infinity (Defs. 17, 18), in closed form.

    With δ = cap for all t >= T: q = (u + sum over t < T of δ) / cap towards +infinity, and with a
    minus towards -infinity; here less the public constant T, so that a constant δ gives u / Δ.
    The direction is a public choice: +1 suits a δ that does not decrease with utility, -1 one
    that does not increase.  For a flat δ both are the exponential mechanism.
    """

    towards: int = 1
    cap: float | None = None
    keeps_one_sided = False
    pointwise = True
    needs_horizon = True

    def __post_init__(self) -> None:
        if self.towards not in (-1, 1):
            raise ParameterError(f"Expected towards=1 or towards=-1, got towards={self.towards}.")

    def of(self, selection: Selection, /) -> Scores:
        T = _finite_horizon(selection.sensitivity)
        cap = _cap(self.cap, selection)
        reach = selection.utility_range
        with np.errstate(over="ignore"):
            u = np.clip(selection.utility / cap, -reach, reach)
        if not np.isfinite(T * cap):
            raise ParameterError(f"Expected horizon times cap below 1e308, got {T} times {cap:g}.")
        q = u - self.towards * _deficit(selection.sensitivity, T, cap)
        eta = Fraction(T + int(np.ceil(reach)), 2**48)
        return _on_grid(q, T + reach, eta)


def _of_covered(u: FloatArray, delta: Completed) -> Scores:
    """D = u / δ(x, 0, ·), and 0 where δ is, since |u| <= δ; in blocks, without an array of δ."""
    q = np.zeros(len(u))
    for part, block in delta.blocks(BLOCK):
        delta_0 = block.at(0)
        np.divide(u[part], delta_0, out=q[part], where=delta_0 > 0)
        _on_grid(q[part], LARGEST_SCORE, DAMPENED_ETA)
    return Scores(q, Fraction(1), DAMPENED_ETA)


def _dampen_by_sums(u: FloatArray, delta: Completed, cap: float) -> FloatArray:
    """D(u) for u >= 0: the largest i with b(i) <= u; then one linear piece."""
    last = int(LARGEST_SCORE) if delta.horizon is None else min(delta.horizon, int(LARGEST_SCORE))
    if delta.steps_within is None:
        i = _largest_within(u, delta, last)
    else:
        i = np.clip(delta.steps_within(u), 0, last)
    slope = delta.at_each(i)
    at_last = i == last
    if last == delta.horizon:
        np.copyto(slope, cap, where=at_last)
    D = _ratio(u - delta.sum_to(i), slope)
    np.maximum(D, 0, out=D)
    np.minimum(D, 1, out=D, where=~at_last)
    D += i
    np.copyto(D, 0.0, where=u == 0)
    return D


def _largest_within(u: FloatArray, delta: Completed, last: int) -> IntArray:
    """The largest i <= last with b(i) <= u, bit by bit."""
    i = np.zeros(len(u), dtype=np.int64)
    trial = np.empty(len(u), dtype=np.int64)
    for step in bisection_steps(last):
        np.add(i, step, out=trial)
        np.copyto(i, trial, where=delta.given.sum_to(trial) <= u)
    return i


def _dampen_by_walk(u: FloatArray, delta: Completed, cap: float) -> FloatArray:
    """D(u) for u >= 0, where δ has no closed form: t adds 1, 0, or a share on the last piece."""
    b = np.zeros(len(u))
    lost = np.zeros(len(u))
    D = np.zeros(len(u))
    for step in delta.steps(_finite_horizon(delta)):
        D += np.clip(_ratio(u - b - lost, step), 0, 1)
        b, error = two_sum(b, step)
        lost = np.where(np.isfinite(b), lost + error, 0)
    return D + np.maximum(_ratio(u - b - lost, np.asarray(cap)), 0)


def _deficit(delta: Completed, T: int, cap: float) -> FloatArray:
    """The sum of 1 - δ / cap over t < T: how far δ stays below the cap, in score units."""
    deficit = np.empty(delta.size)
    for part, block in delta.blocks(BLOCK):
        deficit[part] = T - block.sum_to(np.full(block.size, T, dtype=np.int64)) / cap
    return deficit


def _ratio(u: FloatArray, delta: FloatArray) -> FloatArray:
    """u / δ, and for δ = 0 the limit: nothing for u <= 0, infinity for u > 0."""
    if delta.min(initial=1.0) > 0:
        return u / delta
    return np.where(delta > 0, u / delta, np.where(u > 0, np.inf, 0.0))


def _on_grid(q: FloatArray, reach: float, eta: Fraction) -> Scores:
    """Clamps to the public range and rounds to a grid of at most eta / 2, in place."""
    grid = 2.0 ** np.floor(np.log2(float(eta)) - 1)
    np.clip(q, -reach, reach, out=q)
    q /= grid
    np.rint(q, out=q)
    q *= grid
    return Scores(q, Fraction(1), eta)


def _cap(cap: float | None, selection: Selection) -> float:
    if cap is None:
        return selection.bound
    if not (np.isfinite(cap) and cap >= selection.bound):
        raise ParameterError(
            f"Expected cap >= {selection.bound:g}, the bound of the selection, got cap={cap:g}."
        )
    return float(cap)


def _finite_horizon(delta: Completed) -> int:
    if delta.horizon is None:
        raise ParameterError(
            "Expected a sensitivity function with a finite horizon. Wrap it in "
            "dampen.core.sensitivity.bounded(delta, cap, horizon) with a public horizon."
        )
    if delta.horizon > LARGEST_HORIZON:
        raise ParameterError(f"Expected a horizon of at most 2^40, got {delta.horizon}.")
    return delta.horizon
