"""All that a mechanism may know: utilities, a sensitivity function, a bound.

Notation, as in the paper: x is the private database, r a candidate, u(x, r) its utility,
δ(x, t, r) a sensitivity function at distance t, Δ the global sensitivity, T the horizon from which
on δ equals the bound.  A `Selection` belongs to one database x: its arrays have one entry per
candidate and are private; its other fields are public.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dampen.errors import DataError, ParameterError

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
X_contra = TypeVar("X_contra", contravariant=True)

LARGEST_SCORE = 2.0**28
"""Utilities and scores, in units of sensitivity, are clamped to this range: see `dampen.scores`."""

SMALL_ROUNDING = 2.0**-28


class Neighbours(StrEnum):
    """What two neighbouring databases differ in.  Releases of different kinds share no budget."""

    REPLACE_ONE = "replace-one"
    ADD_REMOVE_EDGE = "add-remove-edge"
    ADD_REMOVE_ROW = "add-remove-row"


class Sensitivity(Protocol):
    """δ(x, ·, ·) for one private database x.

    `horizon` is T, a public number: from T on δ equals the bound of the selection, whatever `at`
    says.  `None` means that there is no such T.  δ never decreases in t.
    """

    @property
    def horizon(self) -> int | None: ...

    def at(self, t: int, /) -> FloatArray:
        """δ(x, t, ·), one value per candidate."""
        ...


@runtime_checkable
class ClosedForm(Sensitivity, Protocol):
    """A sensitivity function whose sums need no loop over t.

    Both methods take one t per candidate, 0 <= t <= horizon.  `sum_to` has a relative error of at
    most 2^-50 and is exactly 0 where the sum is.
    """

    def at_each(self, t: IntArray, /) -> FloatArray:
        """δ(x, t_r, r) for every candidate r, for t_r < horizon."""
        ...

    def sum_to(self, t: IntArray, /) -> FloatArray:
        """The sum of δ(x, j, r) over j < t_r, for every candidate r."""
        ...


@runtime_checkable
class Sliceable(Protocol):
    """A closed form that can be cut into blocks of candidates, which then stay in the cache.

    Optional: without it LD is right but, for a million candidates, some four times slower.
    """

    def part(self, candidates: slice, /) -> ClosedForm:
        """The same function for these candidates only."""
        ...


@runtime_checkable
class Capped(Protocol):
    """A sensitivity function that knows its own bound; without a horizon it is that constant."""

    @property
    def cap(self) -> float: ...


@runtime_checkable
class Checked(Protocol):
    """A sensitivity function that can be checked as a whole when a selection takes it."""

    def check(self, size: int, bound: float, /) -> None: ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Selection:
    """One private selection, ready for any mechanism.

    Attributes:
        utility: u(x, r), one per candidate.  Exact, or rounded by at most 2^-50 |u| and at most
            2^-28 δ(x, 0, r), or `rounding` δ(x, 0, r), and zero where the exact value is.
        sensitivity: δ(x, ·, ·), from `dampen.sensitivity` or a problem's own.
        bound: a public number, at least Δ; from the horizon on δ equals it.  May be left out where
            the sensitivity function knows it (a constant, a bounded function).
        one_sided: under add/remove, adding a record moves every utility in one direction only.
            Concerns global scores alone: a dampened score of a one-sided utility is not one-sided.
        joint: how much one neighbour step can change the whole vector of shifted scores, in the
            1-norm, where that is known.  Public.
        exact: the utilities are exact numbers, as counts are.
        utility_range: a public bound on |u| / bound; shifted scores clamp to it.
        rounding: a public number, for utilities so large that 2^-50 of them is more than
            2^-28 δ(x, 0, r).

    >>> import dampen
    >>> s = dampen.Selection([6.5, 0], dampen.sensitivity.table([[3, 3], [5, 5]]), bound=7.5)
    >>> s
    <Selection of 2 candidates, bound 7.5>
    >>> s.sensitivity.at(1), s.sensitivity.at(2)
    (array([5., 5.]), array([7.5, 7.5]))
    """

    utility: FloatArray
    sensitivity: Sensitivity
    bound: float
    one_sided: bool = False
    joint: float | None = None
    exact: bool = False
    utility_range: float = LARGEST_SCORE
    rounding: float = SMALL_ROUNDING

    def __init__(
        self,
        utility: ArrayLike,
        sensitivity: Sensitivity,
        bound: float | None = None,
        *,
        one_sided: bool = False,
        joint: float | None = None,
        exact: bool = False,
        utility_range: float = LARGEST_SCORE,
        rounding: float = SMALL_ROUNDING,
    ) -> None:
        cap = _checked_bound(bound, sensitivity)
        u = _checked_utility(utility)
        assign = object.__setattr__
        assign(self, "utility", u)
        assign(self, "bound", cap)
        assign(self, "sensitivity", complete(sensitivity, len(u), cap))
        assign(self, "one_sided", one_sided)
        assign(self, "joint", joint)
        assign(self, "exact", exact)
        assign(self, "utility_range", utility_range)
        assign(self, "rounding", max(rounding, SMALL_ROUNDING))

    def __len__(self) -> int:
        return len(self.utility)

    def __repr__(self) -> str:
        return f"<Selection of {len(self)} candidates, bound {self.bound:g}>"


class Problem(Protocol[X_contra]):
    """A selection problem: a frozen dataclass of PUBLIC parameters.

    Private data is an argument of `selection`, never a field.
    """

    @property
    def neighbours(self) -> Neighbours: ...

    @property
    def candidates(self) -> Sequence[Any]: ...

    def selection(self, data: X_contra, /) -> Selection:
        """Turns private data into utilities and sensitivities, one per candidate."""
        ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Completed:
    """δ as given before its horizon, the bound from there on, checked on every use."""

    given: Sensitivity
    horizon: int | None
    size: int
    bound: float

    def at(self, t: int, /) -> FloatArray:
        if t < 0:
            raise ParameterError(f"Expected a distance t >= 0, got t={t}.")
        if self.horizon is not None and t >= self.horizon:
            return np.full(self.size, self.bound)
        return checked_delta(self.given.at(t), self.size, self.bound)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CompletedClosedForm:
    """`Completed`, for a closed form.  The proof kit, not every call, checks its values."""

    given: ClosedForm
    horizon: int | None
    size: int
    bound: float

    def at(self, t: int, /) -> FloatArray:
        return Completed(self.given, self.horizon, self.size, self.bound).at(t)

    def blocks(self, length: int) -> Iterator[tuple[slice, "CompletedClosedForm"]]:
        """The function in blocks of candidates where it can be cut, else whole."""
        if not isinstance(self.given, Sliceable):
            yield slice(0, self.size), self
            return
        for start in range(0, self.size, length):
            part = slice(start, min(start + length, self.size))
            given = self.given.part(part)
            yield part, CompletedClosedForm(given, self.horizon, part.stop - start, self.bound)

    def at_each(self, t: IntArray, /) -> FloatArray:
        if self.horizon is None:
            return self.given.at_each(t)
        if self.horizon == 0:
            return np.full(self.size, self.bound)
        inside = self.given.at_each(np.minimum(t, self.horizon - 1))
        return np.where(t < self.horizon, inside, self.bound)

    def sum_to(self, t: IntArray, /) -> FloatArray:
        if self.horizon is None:
            return self.given.sum_to(t)
        if self.horizon == 0:
            return t.astype(np.float64) * self.bound
        inside = self.given.sum_to(np.minimum(t, self.horizon))
        return inside + np.maximum(t - self.horizon, 0) * self.bound


def complete(given: Sensitivity, size: int, bound: float) -> Sensitivity:
    """δ for `size` candidates, equal to the bound from its horizon on."""
    if isinstance(given, Checked):
        given.check(size, bound)
    constant = given.horizon is None and isinstance(given, Capped) and given.cap == bound
    horizon = 0 if constant else given.horizon
    if isinstance(given, ClosedForm):
        return CompletedClosedForm(given, horizon, size, bound)
    return Completed(given, horizon, size, bound)


def checked_delta(values: ArrayLike, size: int, bound: float) -> FloatArray:
    """One row of δ: one finite number per candidate, between zero and the bound."""
    delta = np.asarray(values, dtype=np.float64)
    if delta.ndim and delta.shape != (size,):
        raise ParameterError(
            f"Expected one sensitivity per candidate ({size}), got an array of shape {delta.shape}."
        )
    if not (np.isfinite(delta).all() and (delta >= 0).all()):
        raise DataError("Expected sensitivities that are finite and >= 0; some are not.")
    if (delta > bound).any():
        raise DataError(
            f"Expected sensitivities of at most the bound {bound:g}; some are above it. "
            "Raise the bound, or wrap them in dampen.sensitivity.bounded."
        )
    return np.broadcast_to(delta, (size,))


def _checked_bound(bound: float | None, sensitivity: Sensitivity) -> float:
    known = sensitivity.cap if isinstance(sensitivity, Capped) else None
    if bound is None:
        bound = known
    if bound is None:
        raise ParameterError(
            "Expected bound=, a public number that is at least the global sensitivity."
        )
    try:
        value = float(bound)
    except (TypeError, ValueError):
        raise ParameterError(f"Expected bound > 0, a number, got bound={bound!r}.") from None
    if not (np.isfinite(value) and value > 0):
        raise ParameterError(f"Expected bound > 0 and finite, got bound={value:g}.")
    if known is not None and known > value:
        raise ParameterError(
            f"Expected bound >= {known:g}, the cap of the sensitivity function, "
            f"got bound={value:g}."
        )
    return value


def _checked_utility(utility: ArrayLike) -> FloatArray:
    try:
        u = np.asarray(utility, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("Expected utilities to be numbers, one per candidate.") from None
    if u.ndim != 1 or len(u) == 0:
        raise ParameterError(
            f"Expected at least one candidate, utilities in one dimension; got shape {u.shape}."
        )
    if not np.isfinite(u).all():
        raise DataError("Expected finite utilities; some are NaN or infinite.")
    return u
