"""The input of a mechanism: utilities, a sensitivity function and a bound.

Notation, as in the paper: x is the private database, r a candidate, u(x, r) its utility,
δ(x, t, r) a sensitivity function at distance t, Δ the global sensitivity, T the horizon from which
on δ equals the bound.  A `Selection` belongs to one database x: its arrays have one entry per
candidate and are private; its other fields are public.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dampen.errors import DataError, ParameterError, did_you_mean

__all__ = ["FloatArray", "IntArray", "Neighbours", "Problem", "Selection", "Sensitivity", "check_k"]

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
X_contra = TypeVar("X_contra", contravariant=True)

LARGEST_SCORE = 2.0**28
"""Utilities and scores, in units of sensitivity, are clamped to this range; see `core.scores`."""

SMALL_ROUNDING = 2.0**-28

OWN_RELATION = re.compile(r"own:[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)

MOST_TABULATED = 2**23
"""Numbers of δ that are kept where it has no closed form: 128 MB with their sums."""


class Neighbours(StrEnum):
    """What two neighbouring databases differ in.  Releases of different kinds share no budget.

    A relation of your own has a name of your own, `own:NAME`, in small letters, digits and
    hyphens.  Budgets keep it apart from all others, as they do any relation.

    >>> Neighbours("own:one-client-moves")
    <Neighbours.OWN: 'own:one-client-moves'>
    """

    REPLACE_ONE = "replace-one"
    ADD_REMOVE_EDGE = "add-remove-edge"
    ADD_REMOVE_ROW = "add-remove-row"
    ADD_REMOVE_UNIT = "add-remove-unit"

    @classmethod
    def _missing_(cls, value: object) -> "Neighbours | None":
        if not isinstance(value, str) or not OWN_RELATION.fullmatch(value):
            return None
        made = str.__new__(cls, value)
        made._name_ = "OWN"
        made._value_ = value
        return made

    def __hash__(self) -> int:
        return hash(self.value)

    @classmethod
    def named(cls, name: "Neighbours | str") -> "Neighbours":
        """A relation by its name.

        Raises:
            ParameterError: if there is none of that name.
        """
        try:
            return cls(name)
        except ValueError:
            known = [each.value for each in cls]
            raise ParameterError(
                f"Expected neighbours to be one of {', '.join(known)}, or own:NAME for a relation "
                f"of your own, got {name!r}.{did_you_mean(str(name), known)}"
            ) from None


class Sensitivity(Protocol):
    """δ(x, ·, ·) for one private database x.  `horizon` and `at` are all that it must have.

    `horizon` is T, a public number: from T on δ equals the bound of the selection, whatever `at`
    says.  `None` means that there is no such T.  δ never decreases in t.

    What more a function can do, it says by having it; a selection looks once, when it takes it.
    What is missing, or None, has a default:

    | attribute | promise | default |
    |---|---|---|
    | `at_each(t)` | δ(x, t_r, r), one t < T per candidate | `at` for every t |
    | `sum_to(t)` | the sum of δ(x, j, r) over j < t_r, one t <= T per candidate | a walk over t |
    | `steps_within(u)` | the largest t <= T with sum_to(t) <= u_r | bisection |
    | `part(candidates)` | the same function for a slice of the candidates | all at once |
    | `cap` | its own bound, which without a horizon it always equals | `bound=` is required |
    | `covers_at_zero` | a theorem that abs(u(x, r)) <= δ(x, 0, r) | False |
    | `check(size, bound)` | raises if it is wrong as a whole | every row is checked on use |

    `sum_to` has a relative error of at most 2^-50 and is exactly 0 where the sum is.  With it and
    `at_each` LD is a bisection and SLD a single sum; with `part` too they work in blocks that stay
    in the cache, which for a million candidates is some four times faster.  `steps_within` replaces
    the bisection; where u is within the rounding of a sum, either neighbour will do.
    """

    @property
    def horizon(self) -> int | None: ...

    def at(self, t: int, /) -> FloatArray:
        """δ(x, t, ·), one value per candidate."""
        ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Selection:
    """One private selection, ready for any mechanism.

    Attributes:
        utility: u(x, r), one per candidate.  Exact, or rounded by at most 2^-50 |u| and at most
            2^-28 δ(x, 0, r), or `rounding` δ(x, 0, r), and zero where the exact value is.
        sensitivity: δ(x, ·, ·), from `dampen.core.sensitivity` or a problem's own.
        bound: a public number, at least Δ; from the horizon on δ equals it.  May be left out where
            the sensitivity function knows it (a constant, a bounded function).
        one_sided: under add/remove, adding a record moves every utility in one direction only.
            Concerns global scores alone: a dampened score of a one-sided utility is not one-sided.
        separable: one neighbour step changes the utility *and* the sensitivity of one candidate
            only, as for rows that belong to one group each.  Concerns every pointwise score.
        joint: for a score, how much one neighbour step can change the whole vector of its values,
            in the 1-norm: `{Shifted(): 2.0}`.  A bound holds for the score that it is stated for
            and for no other.  Public.
        exact: the utilities are exact numbers, as counts are.
        utility_range: a public bound on |u| / bound; shifted scores clamp to it.
        ends: the public least and largest utility, None if not known; a private shift lies between
            them.  They bound |u| too.
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
    sensitivity: "Completed"
    bound: float
    one_sided: bool
    separable: bool
    joint: Mapping[Any, float]
    exact: bool
    utility_range: float
    ends: tuple[float, float] | None
    rounding: float

    def __init__(
        self,
        utility: ArrayLike,
        sensitivity: Sensitivity,
        bound: float | None = None,
        *,
        one_sided: bool = False,
        separable: bool = False,
        joint: Mapping[Any, float] | None = None,
        exact: bool = False,
        utility_range: float = LARGEST_SCORE,
        ends: tuple[float, float] | None = None,
        rounding: float = SMALL_ROUNDING,
    ) -> None:
        cap = _checked_bound(bound, sensitivity)
        u = _checked_utility(utility)
        assign = object.__setattr__
        assign(self, "utility", u)
        assign(self, "bound", cap)
        assign(self, "sensitivity", complete(sensitivity, len(u), cap))
        assign(self, "one_sided", one_sided)
        assign(self, "separable", separable)
        assign(self, "joint", _checked_joint(joint))
        assign(self, "exact", exact)
        assign(self, "utility_range", _range_of(_checked_ends(ends), cap, utility_range))
        assign(self, "ends", ends)
        assign(self, "rounding", max(rounding, SMALL_ROUNDING))

    def __len__(self) -> int:
        return len(self.utility)

    def __repr__(self) -> str:
        return f"<Selection of {len(self)} candidates, bound {self.bound:g}>"


class Problem(Protocol[X_contra]):
    """A selection problem: a frozen dataclass of PUBLIC parameters.

    Private data is an argument of `selection`, never a field.  A problem may also have `joint`, the
    1-norm bounds of its selections, by score: what has none is then refused before data is read.
    """

    @property
    def neighbours(self) -> Neighbours | str: ...

    @property
    def candidates(self) -> Sequence[Any]: ...

    def selection(self, data: X_contra, /) -> Selection:
        """Turns private data into utilities and sensitivities, one per candidate."""
        ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Completed:
    """δ as given before its horizon, the bound from there on, and a default for what it lacks.

    Rows are checked on every use; the values of a closed form by the proof kit.
    """

    given: Any
    horizon: int | None
    size: int
    bound: float
    closed_form: bool
    covers_at_zero: bool
    steps_within: "Callable[[FloatArray], IntArray] | None"
    _part: "Callable[[slice], Sensitivity] | None"

    @classmethod
    def of(cls, given: Sensitivity, horizon: int | None, size: int, bound: float) -> "Completed":
        """Looks up once which optional methods the function has."""
        at_each, sum_to, part = (
            getattr(given, name, None) for name in ("at_each", "sum_to", "part")
        )
        closed = at_each is not None and sum_to is not None
        covers = bool(getattr(given, "covers_at_zero", False))
        inverse = getattr(given, "steps_within", None) if closed else None
        return cls(given, horizon, size, bound, closed, covers, inverse, part)

    def blocks(self, length: int) -> "Iterator[tuple[slice, Completed]]":
        """The function in blocks of candidates where it can be cut, else whole."""
        if self._part is None:
            yield slice(0, self.size), self
            return
        for start in range(0, self.size, length):
            part = slice(start, min(start + length, self.size))
            yield (
                part,
                Completed.of(self._part(part), self.horizon, part.stop - start, self.bound),
            )

    def at(self, t: int, /) -> FloatArray:
        if t < 0:
            raise ParameterError(f"Expected a distance t >= 0, got t={t}.")
        if self.horizon is not None and t >= self.horizon:
            return np.full(self.size, self.bound)
        return checked_delta(self.given.at(t), self.size, self.bound)

    def at_each(self, t: IntArray, /) -> FloatArray:
        if not self.closed_form:
            return self._pick_each(t)
        if self.horizon is None:
            return self.given.at_each(t)
        if self.horizon == 0:
            return np.full(self.size, self.bound)
        if t.max(initial=0) < self.horizon:
            return self.given.at_each(t)
        inside = self.given.at_each(np.minimum(t, self.horizon - 1))
        return np.where(t < self.horizon, inside, self.bound)

    def sum_to(self, t: IntArray, /) -> FloatArray:
        if not self.closed_form:
            return self._walk_to(t)
        if self.horizon is None:
            return self.given.sum_to(t)
        if self.horizon == 0:
            return t.astype(np.float64) * self.bound
        if t.max(initial=0) <= self.horizon:
            return self.given.sum_to(t)
        inside = self.given.sum_to(np.minimum(t, self.horizon))
        return inside + np.maximum(t - self.horizon, 0) * self.bound

    def steps(self, horizon: int) -> Iterator[FloatArray]:
        """δ(x, t, ·) for t = 0, 1, ..., horizon - 1, which must not decrease."""
        previous = np.zeros(self.size)
        for t in range(horizon):
            step = self.at(t)
            if (step < previous).any():
                raise DataError("Expected sensitivities that never decrease with t; some do.")
            yield step
            previous = step

    def _pick_each(self, t: IntArray) -> FloatArray:
        delta = np.empty(self.size)
        for distance in np.unique(t):
            here = t == distance
            delta[here] = self.at(int(distance))[here]
        return delta

    def _walk_to(self, t: IntArray) -> FloatArray:
        total = np.zeros(self.size)
        lost = np.zeros(self.size)
        everywhere = int(t.min(initial=0))
        for j, step in enumerate(self.steps(int(t.max(initial=0)))):
            total, error = two_sum(total, step if j < everywhere else np.where(j < t, step, 0.0))
            lost += error
        return total + lost


def complete(given: Sensitivity, size: int, bound: float) -> Completed:
    """δ for `size` candidates, equal to the bound from its horizon on."""
    if isinstance(given, Completed):
        given = given.given
    check = getattr(given, "check", None)
    if check is not None:
        check(size, bound)
    constant = given.horizon is None and getattr(given, "cap", None) == bound
    made = Completed.of(given, 0 if constant else given.horizon, size, bound)
    if made.closed_form or not made.horizon or made.horizon * size > MOST_TABULATED:
        return made
    return Completed.of(Tabulated(made), made.horizon, size, bound)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tabulated:
    """δ without a closed form, computed once for all scores that ask for more than `at`."""

    walked: Completed
    _sums: list[FloatArray] = field(default_factory=list)

    @property
    def horizon(self) -> int | None:
        return self.walked.horizon

    @property
    def covers_at_zero(self) -> bool:
        return self.walked.covers_at_zero

    def at(self, t: int, /) -> FloatArray:
        return self._rows[t] if self._sums else self.walked.at(t)

    def at_each(self, t: IntArray, /) -> FloatArray:
        return self._rows[t, np.arange(len(t))]

    def sum_to(self, t: IntArray, /) -> FloatArray:
        self._tabulate()
        return self._sums[1][t, np.arange(len(t))]

    @property
    def _rows(self) -> FloatArray:
        self._tabulate()
        return self._sums[0]

    def _tabulate(self) -> None:
        if not self._sums:
            assert self.walked.horizon is not None
            rows = np.array(list(self.walked.steps(self.walked.horizon)))
            self._sums.extend((rows, prefix_sums(rows)))


def prefix_sums(rows: FloatArray) -> FloatArray:
    """Sums over t < i, one row per i, each within one rounding of the exact sum.

    Plain running sums lose a digit for every ten rows; the second array carries what they lose.
    """
    sums = np.zeros((len(rows) + 1, rows.shape[1]))
    lost = np.zeros(rows.shape[1])
    high = np.zeros(rows.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for i, row in enumerate(rows):
            high, error = two_sum(high, row)
            lost = lost + error
            sums[i + 1] = np.where(np.isfinite(high), high + lost, np.inf)
    return sums


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The rounded sum and its exact rounding error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


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
    known = getattr(sensitivity, "cap", None)
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


def _checked_ends(ends: tuple[float, float] | None) -> tuple[float, float] | None:
    if ends is not None and not (np.isfinite(ends).all() and ends[0] <= ends[1]):
        raise ParameterError(
            f"Expected ends=(least, largest), two finite numbers in order, got ends={ends!r}."
        )
    return ends


def _range_of(ends: tuple[float, float] | None, bound: float, stated: float) -> float:
    """|u| / bound is at most this."""
    if ends is None:
        return stated
    return min(stated, max(abs(float(end)) for end in ends) / bound)


def _checked_joint(joint: Mapping[Any, float] | None) -> Mapping[Any, float]:
    if joint is None:
        return {}
    if not isinstance(joint, Mapping):
        raise ParameterError(
            f"Expected joint= to name the score that it holds for, such as {{Shifted(): 2.0}}, got "
            f"joint={joint!r}."
        )
    for score, bound in joint.items():
        if not (np.isfinite(bound) and bound > 0):
            raise ParameterError(f"Expected joint > 0 and finite, got joint={bound!r} for {score}.")
    return dict(joint)


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


def check_k(k: int | None, candidates: int) -> int:
    """How many to draw: 1 for None; at least 1 and at most the number of candidates."""
    if k is None:
        return 1
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError(f"Expected k to be an integer >= 1, got k={k!r}.")
    if k > candidates:
        raise ParameterError(f"Expected k <= {candidates}, the number of candidates, got k={k}.")
    return int(k)
