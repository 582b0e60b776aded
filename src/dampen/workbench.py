"""The workbench for problems of your own, from a utility to a suitable mechanism.

    problem    what is asked: candidates, utility, bound, and a δ if you have one (`OwnProblem`)
    δ          by enumeration: of the data, or of a few numbers per candidate (`enumerated`)
    proof      every database of a universe, and a guided search far beyond it (`check`, `search`)
    accuracy   all mechanisms on public data, pictures, and advice in words (`study`)

`dampen.release` then answers, by `mechanism="auto"`, and `dampen study my_problem.py` does all of
it on the command line.  Everything here but `OwnProblem` looks at data without privacy: use public
or synthetic data of the same kind as yours.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from math import inf
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dampen.core.error_analysis import Comparison, Comparisons, compare, expected_error
from dampen.core.mechanisms import LD_PF, LD_SHIFTED, SLD, Mechanism, named, prepare
from dampen.core.noise import GUMBEL
from dampen.core.sampling import InsecureEntropy, uniform_below
from dampen.core.scores import Dampened, Shifted
from dampen.core.selection import (
    SMALL_ROUNDING,
    FloatArray,
    Neighbours,
    Problem,
    Selection,
    Sensitivity,
)
from dampen.core.sensitivity import bounded, classify, constant, function, table
from dampen.epsilon import Epsilon, exact, short_text
from dampen.errors import DataError, ParameterError
from dampen.testing import Universe, Verdict, verify
from dampen.testing.universe import ROUNDING, check_relation, key_of

__all__ = [
    "MECHANISMS",
    "SLD_DOWN",
    "AddRemove",
    "Checked",
    "OwnProblem",
    "ReplaceOne",
    "Study",
    "check",
    "enumerated",
    "enumerated_by_summary",
    "search",
    "study",
    "suited",
]

X = TypeVar("X")
S = TypeVar("S", bound=Hashable)

SLD_DOWN = Mechanism("sld-down", Shifted(towards=-1), GUMBEL)
MECHANISMS: tuple[str | Mechanism, ...] = (
    "em",
    "pf",
    "ld",
    "ld-pf",
    "sld",
    SLD_DOWN,
    "ld-shifted",
    "auto",
)
"""What a study compares."""


@dataclass(frozen=True)
class OwnProblem(Generic[X]):
    """A problem that is defined by its utility, for `dampen.release` and the proof kit.

    Attributes:
        candidates: public, in the order of utilities.
        utility: from data to one number per candidate.
        bound: public; one step moves no utility by more than this.
        neighbours: the relation by its name; one of your own is `own:NAME`.
        delta: from data and a distance t to δ(x, t, ·), one number per candidate or one for all;
            above the bound it counts as the bound.  None if you have none: the bound itself.
        horizon: public; from this distance on δ is the bound.
        one_sided: adding a record moves every utility in one direction only.
        separable: one step changes one candidate alone.
        exact: utilities are whole numbers.
        ends: public; the least and the largest utility there can be.  A private shift needs them
            to be good.

    >>> problem = OwnProblem("ab", lambda rows: [rows.count("a"), rows.count("b")], bound=1)
    >>> problem.selection("aab").utility
    array([2., 1.])
    """

    candidates: Sequence[Any]
    utility: Callable[[X], ArrayLike]
    bound: float
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE_ROW
    delta: Callable[[X, int], ArrayLike] | None = None
    horizon: int = 0
    one_sided: bool = False
    separable: bool = False
    exact: bool = False
    ends: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        Neighbours.named(self.neighbours)
        bound: Any = self.bound
        number = isinstance(bound, Real) and not isinstance(bound, bool)
        if not (number and 0 < bound < inf):
            raise ParameterError(
                "Expected bound > 0, the most by which one step moves a utility, got "
                f"bound={self.bound!r}."
            )
        if self.delta is not None and self.horizon < 1:
            raise ParameterError(
                "Expected horizon >= 1 with delta=, the public distance from which on δ is the "
                f"bound; got horizon={self.horizon}."
            )

    def selection(self, data: X, /) -> Selection:
        """Utilities and sensitivities of one database."""
        given = self.delta
        delta: Sensitivity = constant(self.bound)
        if given is not None:
            inner = function(lambda t: np.asarray(given(data, t), dtype=np.float64), self.horizon)
            delta = bounded(inner, self.bound, self.horizon)
        utility = np.asarray(self.utility(data))
        if utility.shape != (len(self.candidates),):
            raise DataError(
                f"Expected utility to return {len(self.candidates)} numbers, one for each "
                f"candidate, got an array of shape {utility.shape}."
            )
        return Selection(
            utility,
            delta,
            self.bound,
            one_sided=self.one_sided,
            separable=self.separable,
            exact=self.exact,
            ends=self.ends,
        )


@dataclass(frozen=True)
class AddRemove:
    """The neighbours of a tuple of rows: one of the given rows more, or one row fewer.

    >>> list(AddRemove("ab", most=2)(("a",)))
    [('a', 'a'), ('a', 'b'), ()]
    """

    rows: Sequence[Any]
    most: int | None = None
    relation: ClassVar[str] = Neighbours.ADD_REMOVE_ROW.value

    def __call__(self, x: tuple[Any, ...], /) -> Iterator[tuple[Any, ...]]:
        if self.most is None or len(x) < self.most:
            for row in self.rows:
                yield self._sorted((*x, row))
        for i in range(len(x)):
            if x[i] not in x[:i]:
                yield (*x[:i], *x[i + 1 :])

    def some(self, x: tuple[Any, ...], pick: Callable[[int], int], /) -> tuple[Any, ...]:
        """One neighbour at random."""
        grows = self.most is None or len(x) < self.most
        if x and (not grows or pick(3) == 0):
            i = pick(len(x))
            return (*x[:i], *x[i + 1 :])
        return self._sorted((*x, self.rows[pick(len(self.rows))]))

    def _sorted(self, x: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(sorted(x, key=self.rows.index))


@dataclass(frozen=True)
class ReplaceOne:
    """The neighbours of a tuple of values: one of them is another of the given values.

    >>> list(ReplaceOne((0, 1))((0, 1)))
    [(1, 1), (0, 0)]
    """

    values: Sequence[Any]
    relation: ClassVar[str] = Neighbours.REPLACE_ONE.value

    def __call__(self, x: tuple[Any, ...], /) -> Iterator[tuple[Any, ...]]:
        for i in range(len(x)):
            for value in self.values:
                if value != x[i]:
                    yield (*x[:i], value, *x[i + 1 :])

    def some(self, x: tuple[Any, ...], pick: Callable[[int], int], /) -> tuple[Any, ...]:
        """One neighbour at random; now and then the same."""
        i = pick(len(x))
        return (*x[:i], self.values[pick(len(self.values))], *x[i + 1 :])


def enumerated(
    utility: Callable[[X], ArrayLike],
    x: X,
    neighbours: Callable[[X], Iterable[X]],
    distances: int,
    *,
    most: int = 200_000,
) -> Sensitivity:
    """LS(x, t, ·) for t < distances, by its definition: a δ that is exact, ready for a selection.

    Exact local sensitivity is admissible; from `distances` on δ is the bound of the selection, so
    that `distances` must be a public number, the same for all data.

    Args:
        utility: from a database to one number per candidate.
        x: the database.
        neighbours: all neighbours of a database.
        distances: how many; every database within this many steps is looked at.
        most: databases; more are refused.

    Returns:
        A sensitivity function.

    Raises:
        ParameterError: if there are too many databases.

    >>> delta = enumerated(lambda x: [max(x, default=0)], (1, 5), AddRemove((1, 5, 9)), 2)
    >>> [delta.at(t).tolist() for t in range(2)]
    [[4.0], [8.0]]
    """
    return table(_local_sensitivity(utility, x, neighbours, distances, most=most, values={}))


def enumerated_by_summary(
    value: Callable[[S], float],
    summaries: Iterable[S],
    neighbours: Callable[[S], Iterable[S]],
    distances: int,
    *,
    most: int = 200_000,
) -> Sensitivity:
    """The same where a candidate's utility follows from a few numbers, for data of any size.

    `summaries` has one for every candidate, such as its counts of right and wrong rows, and
    `neighbours` gives all that one step can make of one.  LS(x, t, r) looks at one candidate
    alone, so that enumerating summaries gives it exactly; if some of them belong to no database,
    it is larger, which is safe.

    Args:
        value: the utility of a summary.
        summaries: of the data, one for every candidate; hashable.
        neighbours: all summaries that one step makes of one.
        distances: how many, a public number.
        most: summaries within that distance of one; more are refused.

    Returns:
        A sensitivity function.

    >>> def f1(s):
    ...     return 2 * s[0] / (2 * s[0] + s[1]) if any(s) else 0.0
    >>> def steps(s):
    ...     around = [(s[0] + 1, s[1]), (s[0] - 1, s[1]), (s[0], s[1] + 1), (s[0], s[1] - 1)]
    ...     return [each for each in around if min(each) >= 0]
    >>> delta = enumerated_by_summary(f1, [(50, 20), (5, 2)], steps, 3)
    >>> delta.at(0).round(4).tolist(), delta.at(2).round(4).tolist()
    ([0.007, 0.0758], [0.0072, 0.1111])
    """
    known: dict[S, FloatArray] = {}
    values: dict[Any, FloatArray] = {}
    columns = []
    for summary in summaries:
        if summary not in known:
            known[summary] = _local_sensitivity(
                lambda s: [value(s)], summary, neighbours, distances, most=most, values=values
            )[:, 0]
        columns.append(known[summary])
    return table(np.array(columns).T)


def _local_sensitivity(
    utility: Callable[[Any], ArrayLike],
    x: Any,
    neighbours: Callable[[Any], Iterable[Any]],
    distances: int,
    *,
    most: int,
    values: dict[Any, FloatArray],
) -> FloatArray:
    """One row per distance; `values` remembers utilities."""

    def value(database: Any, key: Any) -> FloatArray:
        if key not in values:
            values[key] = np.asarray(utility(database), dtype=np.float64)
        return values[key]

    start = key_of(x)
    largest = np.zeros_like(value(x, start))
    seen = {start}
    rim = [(x, start)]
    rows = []
    for _ in range(distances):
        following = []
        for database, key in rim:
            u = value(database, key)
            for y in neighbours(database):
                other = key_of(y)
                np.maximum(largest, np.abs(value(y, other) - u), out=largest)
                if other not in seen:
                    seen.add(other)
                    following.append((y, other))
        if len(seen) > most:
            raise ParameterError(
                f"Expected at most {most} databases within {distances} steps, got more. Take fewer "
                "distances, or enumerate summaries (dampen.workbench.enumerated_by_summary)."
            )
        rows.append(largest.copy())
        rim = following
    return np.array(rows)


# -- the guided search ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Seen:
    """A database with what a search looks at: u, δ at every distance, what is public."""

    x: Any
    u: FloatArray
    delta: FloatArray
    public: tuple[Any, ...]


@dataclass(slots=True)
class _Search(Generic[X]):
    """Hill climbing over neighbours, by goals that change with every walk."""

    problem: Problem[X]
    neighbours: Callable[[X], Iterable[X]]
    distances: int
    entropy: InsecureEntropy
    seen: dict[Any, _Seen] = field(default_factory=dict)
    pairs: int = 0

    def pick(self, below: int) -> int:
        return uniform_below(below, self.entropy)

    def look(self, x: X) -> _Seen:
        key = key_of(x)
        if key not in self.seen:
            s = self.problem.selection(x)
            T = s.sensitivity.horizon
            last = self.distances if T is None else min(self.distances, T)
            delta = np.array([s.sensitivity.at(t) for t in range(last + 1)])
            public = (
                *(s.bound, T, s.one_sided, s.separable, s.exact, s.ends),
                *(s.rounding, s.utility_range, tuple(s.joint.items())),
            )
            self.seen[key] = _Seen(x, s.utility, delta, public)
        return self.seen[key]

    def some(self, x: X, count: int) -> list[X]:
        """Some neighbours: by the function's own `some`, or a sample of those it lists."""
        draw = getattr(self.neighbours, "some", None)
        if draw is not None:
            return [draw(x, self.pick) for _ in range(count)]
        listed = list(islice(self.neighbours(x), MOST_LISTED))
        if len(listed) <= count:
            return listed
        return [listed[self.pick(len(listed))] for _ in range(count)]

    def walk(self, x: X, length: int) -> "tuple[_Seen, _Seen, str] | None":
        """Looks at pairs on the way to a goal; what is wrong with one, or None."""
        here = self.look(x)
        goal = self.goal(here)
        for _ in range(length):
            best: _Seen | None = None
            for y in self.some(here.x, BREADTH):
                there = self.look(y)
                self.pairs += 1
                if wrong := fault(here, there, self.problem.candidates):
                    return here, there, wrong
                if best is None or goal(there) > goal(best):
                    best = there
            if best is None:
                return None
            if self.pick(4) == 0:
                best = self.look(self.some(here.x, 1)[0])
            here = best
        return None

    def goal(self, here: _Seen) -> Callable[[_Seen], float]:
        """Something to climb: a utility, a lead, a sensitivity, up or down, or the size."""
        sign = 1 if self.pick(2) else -1
        r = self.pick(len(here.u))
        other = self.pick(len(here.u))
        t = self.pick(len(here.delta))
        goals: list[Callable[[_Seen], float]] = [
            lambda seen: sign * float(seen.u[r]),
            lambda seen: float(seen.u[r] - seen.u[other]),
            lambda seen: sign * float(seen.delta[t, r]),
            lambda seen: sign * float(seen.u.sum()),
            lambda seen: sign * float(len(seen.x)) if hasattr(seen.x, "__len__") else 0.0,
            lambda seen: -float(np.abs(seen.u - seen.u[r]).sum()),
        ]
        return goals[self.pick(len(goals))]

    def smaller(self, found: "tuple[_Seen, _Seen, str]") -> "tuple[_Seen, _Seen, str]":
        """The same kind of fault on smaller databases, as long as there are some."""
        for _ in range(MOST_SHRINKING):
            found_smaller = self._one_smaller(found)
            if found_smaller is None:
                return found
            found = found_smaller
        return found

    def _one_smaller(self, found: "tuple[_Seen, _Seen, str]") -> "tuple[_Seen, _Seen, str] | None":
        x, y, _ = found
        if not hasattr(x.x, "__len__"):
            return None
        looked = 0
        for near in islice(self.neighbours(x.x), MOST_LISTED):
            if len(near) > len(x.x):  # type: ignore[arg-type]
                continue
            here = self.look(near)
            for far in islice(self.neighbours(near), MOST_LISTED):
                smaller = len(near) + len(far) < len(x.x) + len(y.x)  # type: ignore[arg-type]
                if not smaller or looked >= MOST_LOOKS:
                    continue
                looked += 1
                there = self.look(far)
                if wrong := fault(here, there, self.problem.candidates):
                    return here, there, wrong
        return None


MOST_LISTED = 512
BREADTH = 6
WALK = 48
MOST_SHRINKING = 40
MOST_LOOKS = 2000


def fault(x: _Seen, y: _Seen, candidates: Sequence[Any]) -> str:
    """What is wrong with a pair of neighbours, in words; empty if nothing is."""
    if x.public != y.public:
        return "a public fact (bound, horizon, one_sided, ...) depends on the data"
    tolerance = ROUNDING * x.public[0]
    for left, large, right, small in _inequalities(x, y):
        gap = large - small
        r = int(gap.argmax())
        if gap[r] > tolerance:
            said = f"{left} = {large[r]:.6g} > {right} = {small[r]:.6g}"
            return f"{said}, candidate {candidates[r]!r}"
    return _unkept(x, y, tolerance)


def _inequalities(x: _Seen, y: _Seen) -> Iterator[tuple[str, FloatArray, str, FloatArray]]:
    """What Def. 7 asks of two neighbours: names and numbers, the smaller first."""
    change = np.abs(x.u - y.u)
    for one, other, a, b in ((x, y, "x", "y"), (y, x, "y", "x")):
        yield "(1) the change of u", change, f"δ({a}, 0)", one.delta[0]
        for t in range(len(one.delta) - 1):
            following = f"δ({a}, {t + 1})", one.delta[t + 1]
            yield f"(2) δ({b}, {t})", other.delta[t], *following
            yield f"(2) δ({a}, {t})", one.delta[t], *following


def _unkept(x: _Seen, y: _Seen, tolerance: float) -> str:
    """What a selection says of itself and does not keep."""
    _, _, one_sided, separable, *_ = x.public
    if one_sided and (x.u - y.u > tolerance).any() and (y.u - x.u > tolerance).any():
        return "one_sided is stated, and utilities move in both directions"
    moved = (np.abs(x.delta - y.delta) > tolerance).any(axis=0) | (np.abs(x.u - y.u) > tolerance)
    if separable and moved.sum() > 1:
        return "separable is stated, and several candidates change"
    return ""


def search(
    problem: Problem[X],
    starts: Iterable[X],
    neighbours: Callable[[X], Iterable[X]],
    *,
    pairs: int = 20_000,
    distances: int = 24,
    seed: int = 0,
    describe: Callable[[X], str] = repr,
) -> Verdict:
    """Looks for a counterexample to admissibility on databases far too large to enumerate.

    Walks from the given databases over their neighbours, each walk towards a goal of its own (a
    large or small utility, lead, sensitivity or size), and checks Def. 7 at every distance on
    every pair that it meets: δ(x, 0) against the change of u, δ(x, t+1) against δ(y, t); also what
    the selection says in public.  A counterexample is made small before it is shown.  Finding none
    proves nothing; a universe does, as far as it goes.

    Args:
        problem: public parameters, and the utilities and sensitivity of every database.
        starts: databases to start from, such as an empty one and a synthetic large one.
        neighbours: all neighbours of a database; one with a method `some`, as `AddRemove` and
            `ReplaceOne` have it, need not list them.
        pairs: of neighbours to look at, about.
        distances: how far δ is looked at.
        seed: another one walks elsewhere.
        describe: a database in words.

    Returns:
        A `Verdict`: fails with a counterexample, or holds for what was looked at.

    >>> def delta(rows, t):            # forgets that the sixth row counts twice
    ...     return 1
    >>> def utility(rows):
    ...     return [len(rows) + (len(rows) >= 6), 0]
    >>> wrong = OwnProblem("ab", utility, bound=2, delta=delta, horizon=9)
    >>> print(search(wrong, [()], AddRemove(["row"])))
    admissible, searched: FAILS: (1) the change of u = 2 > δ(x, 0) = 1, candidate 'a', for
    x = ('row', 'row', 'row', 'row', 'row'), y = ('row', 'row', 'row', 'row', 'row', 'row')
    """
    listed = list(starts)
    if not listed:
        raise ParameterError("Expected at least one database to start from, got none.")
    check_relation(problem, str(getattr(neighbours, "relation", "")))
    looking = _Search(problem, neighbours, distances, InsecureEntropy(seed))
    walk = 0
    claim = "admissible, searched"
    while looking.pairs < pairs and walk < pairs:
        start = listed[walk % len(listed)]
        known = list(looking.seen.values())
        if walk % 3 == 2 and known:
            start = known[looking.pick(len(known))].x
        found = looking.walk(start, WALK)
        walk += 1
        if found is not None:
            x, y, wrong = looking.smaller(found)
            told = f"{wrong}, for x = {describe(x.x)}, y = {describe(y.x)}"
            return Verdict(claim, "fails", _scope(looking), told)
        if len(looking.seen) > MOST_KEPT:
            looking.seen.clear()
    if not looking.pairs:
        return Verdict(claim, "not checked", _scope(looking), remark="no neighbours are given")
    last = f"δ was looked at up to t = {distances}"
    return Verdict(claim, "holds", _scope(looking), remark=last)


MOST_KEPT = 50_000


def _scope(looking: _Search[Any]) -> str:
    return f"{len(looking.seen)} databases and {looking.pairs} pairs of neighbours met on walks"


@dataclass(frozen=True, slots=True)
class Checked:
    """What the proof kit and the search found, and what kind of δ it is.

    Attributes:
        verdicts: on privacy; all must hold.
        shape: bounded, monotonic, stable: for accuracy, not for privacy.
    """

    verdicts: tuple[Verdict, ...]
    shape: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Something was checked, and nothing fails."""
        none_fails = not any(verdict.fails for verdict in self.verdicts)
        return none_fails and any(verdict.holds for verdict in self.verdicts)

    def __bool__(self) -> bool:
        return self.sound

    def __str__(self) -> str:
        return "\n".join([*map(str, self.verdicts), *self.shape])


def check(
    problem: Problem[X],
    *,
    universe: Universe[X] | None = None,
    neighbours: Callable[[X], Iterable[X]] | None = None,
    starts: Iterable[X] = (),
    pairs: int = 20_000,
    epsilon: Epsilon = "1",
    mechanisms: Iterable[str | Mechanism] = ("em", "pf", "ld", "sld", "ld-pf", "sld-pf"),
    k: int = 1,
) -> Checked:
    """Everything that can be checked of a problem: on a universe, and by search beyond it.

    Args:
        problem: public parameters, and the utilities and sensitivity of every database.
        universe: small databases, for exact losses; None for none.
        neighbours: all neighbours of a database, for the search; None for none.
        starts: where the search begins.
        pairs: of neighbours that the search looks at.
        epsilon: for the privacy loss.
        mechanisms: for the privacy loss.
        k: how many candidates are released.

    Returns:
        What was found; false if something fails.

    Raises:
        ParameterError: if there is neither a universe nor a function with starts.
    """
    begin = list(starts)
    if universe is None and (neighbours is None or not begin):
        raise ParameterError(
            "Expected universe=, or neighbours= with starts=, the databases to begin from."
        )
    verdicts: list[Verdict] = []
    looked = [*begin]
    if universe is not None:
        verdicts += verify(problem, universe, epsilon=epsilon, mechanisms=mechanisms, k=k)
        looked += universe.databases
    if neighbours is not None and begin:
        verdicts.append(search(problem, begin, neighbours, pairs=pairs))
    return Checked(tuple(verdicts), tuple(_shape(problem, looked)))


def _shape(problem: Problem[X], databases: Sequence[X]) -> Iterator[str]:
    """Bounded, monotonic and stable in words."""
    made = [problem.selection(x) for x in islice(databases, MOST_LISTED)]
    T = made[0].sensitivity.horizon
    if T is None:
        yield "bounded: no, δ has no horizon; wrap it in dampen.sensitivity.bounded for sld"
        return
    yield f"bounded: yes, δ is the bound from t = {T} on"
    kinds = [classify(s, min(T, MOST_DISTANCES)).monotonicity for s in made]
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    told = ", ".join(f"{kind} on {count} of {len(made)}" for kind, count in counts.items())
    yield f"monotonic along the utility (for accuracy, not for privacy): {told} databases"
    up = counts.get("non-decreasing", 0) + counts.get("flat", 0) == len(made)
    down = counts.get("non-increasing", 0) + counts.get("flat", 0) == len(made)
    yield "stable: " + (
        "yes, shift towards +infinity" if up else "yes, shift towards -infinity" if down else "no"
    )


MOST_DISTANCES = 64


# -- accuracy ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Study:
    """All mechanisms on one public database: a table, advice, pictures.

    Attributes:
        selection: what was looked at.
        candidates: their names.
        lines: expected error and probability of the best, per mechanism and ε.
        advice: sentences.
    """

    selection: Selection
    candidates: Sequence[Any]
    lines: Comparisons
    advice: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([*self._table(), "", *self.advice])

    def _repr_html_(self) -> str:
        return self.lines._repr_html_() + "".join(f"<p>{each}</p>" for each in self.advice)

    @property
    def epsilons(self) -> list[Fraction]:
        return sorted({line.epsilon for line in self.lines})

    @property
    def errors(self) -> Mapping[str, list[float]]:
        """Expected errors of every mechanism, in the order of `epsilons`."""
        found: dict[str, list[float]] = {}
        for line in sorted(self.lines, key=lambda line: line.epsilon):
            found.setdefault(line.mechanism, []).append(line.expected_error)
        return found

    def frame(self) -> Any:
        """A pandas DataFrame, one line per mechanism and ε."""
        try:
            import pandas as pd
        except ImportError:
            raise ParameterError("Expected pandas for a frame: pip install pandas.") from None
        return pd.DataFrame([dict(zip(COLUMNS, _values(line), strict=True)) for line in self.lines])

    def csv(self) -> str:
        """The same as CSV."""
        rows = [",".join(map(str, _values(line))) for line in self.lines]
        return "\n".join([",".join(COLUMNS), *rows, ""])

    def latex(self) -> str:
        """Expected errors as a LaTeX table: one line per mechanism, one column per ε."""
        head = " & ".join(
            ["mechanism", *(f"$\\varepsilon={short_text(e, up=True)}$" for e in self.epsilons)]
        )
        rows = [
            " & ".join([name, *(f"{error:.3g}" for error in errors)]) + r" \\"
            for name, errors in self.errors.items()
        ]
        columns = "l" + "r" * len(self.epsilons)
        begin = rf"\begin{{tabular}}{{{columns}}}"
        return "\n".join([begin, r"\hline", head + r" \\", r"\hline", *rows, r"\hline",
                          r"\end{tabular}", ""])  # fmt: skip

    def save(self, folder: str | Path) -> list[Path]:
        """Writes study.csv, study.tex, advice.txt and, with matplotlib, study.svg."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        texts = {
            "study.csv": self.csv(),
            "study.tex": self.latex(),
            "advice.txt": "\n".join([*self.advice, ""]),
        }
        for name, text in texts.items():
            (place / name).write_text(text, encoding="utf-8")
        written = [place / name for name in texts]
        try:
            figure = self.plot()
        except ParameterError:
            return written
        figure.savefig(place / "study.svg")
        return [*written, place / "study.svg"]

    def plot(self, epsilon: Epsilon | None = None) -> Any:
        """Five pictures: u, δ over t, D over u, the laws at one ε, the error over ε.

        Raises:
            ParameterError: if matplotlib is not installed.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ParameterError(
                "Expected matplotlib for a plot: pip install 'dampen[plot]'."
            ) from None
        figure = Figure(figsize=(13, 7), layout="constrained")
        axes = figure.subplots(2, 3).ravel()
        e = self.epsilons[len(self.epsilons) // 2] if epsilon is None else exact(epsilon)
        self._draw_data(axes)
        self._draw_laws(axes[3], e)
        for name, errors in self.errors.items():
            axes[4].plot([float(each) for each in self.epsilons], errors, "o-", label=name)
        axes[4].set(xscale="log", xlabel="ε", ylabel="expected error", title="error over ε")
        axes[4].legend(frameon=False, fontsize="small")
        axes[5].axis("off")
        text = "\n\n".join(self.advice)
        axes[5].text(0, 1, text, va="top", wrap=True, fontsize="small", transform=axes[5].transAxes)
        return figure

    def _draw_data(self, axes: Any) -> None:
        s = self.selection
        order = np.argsort(-s.utility, kind="stable")
        axes[0].plot(np.arange(1, len(s) + 1), s.utility[order], ".-")
        axes[0].set(xlabel="rank", ylabel="u", title="utility")
        T = s.sensitivity.horizon or 1
        t = np.unique(np.linspace(0, T, 200).astype(np.int64))
        rows = np.array([s.sensitivity.at(int(each)) for each in t])
        for name, r in (("best", 0), ("middle", len(s) // 2), ("last", len(s) - 1)):
            axes[1].plot(t, rows[:, order[r]], label=f"{name}: {self.candidates[order[r]]}")
        axes[1].axhline(s.bound, color="0.6", linestyle=":", label="bound")
        axes[1].set(xlabel="t", ylabel="δ", title="sensitivity at distance t")
        axes[1].legend(frameon=False, fontsize="small")
        if s.sensitivity.horizon is not None:
            axes[2].plot(s.utility, Dampened().of(s).values, ".", label="no shift")
            middle = float(np.median(s.utility))
            if not _vague(s):
                shifted = Dampened(shift=middle).of(s).values
                axes[2].plot(s.utility, shifted, ".", label=f"shift {middle:.3g}")
            axes[2].legend(frameon=False, fontsize="small")
        axes[2].set(xlabel="u", ylabel="D", title="dampened scores")

    def _draw_laws(self, ax: Any, epsilon: Fraction) -> None:
        order = np.argsort(-self.selection.utility, kind="stable")
        for name in self.errors:
            law = prepare(self.selection, _mechanism(name)).probabilities(epsilon=epsilon)
            ax.plot(np.arange(1, len(law) + 1), np.cumsum(law[order]), label=name)
        ax.set(xlabel="rank", ylabel="probability up to this rank", ylim=(0, 1.02))
        ax.set_title(f"laws at ε = {short_text(epsilon, up=True)}")

    def _table(self) -> list[str]:
        heads = [f"ε = {short_text(e, up=True)}" for e in self.epsilons]
        rows = [
            [name, *(f"{error:.4g}" for error in errors)] for name, errors in self.errors.items()
        ]
        table_ = [["mechanism", *heads], *rows]
        widths = [max(len(row[i]) for row in table_) for i in range(len(heads) + 1)]
        return [
            "  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip()
            for row in table_
        ]


COLUMNS = ("mechanism", "epsilon", "rho", "expected_error", "probability_of_the_best")


def _values(line: Comparison) -> list[Any]:
    best = round(line.best_probability, 6)
    return [line.mechanism, float(line.epsilon), float(line.rho), line.expected_error, best]


def _mechanism(name: str) -> Mechanism:
    return SLD_DOWN if name == SLD_DOWN.name else named(name)


def study(
    problem: Problem[X],
    data: X,
    *,
    epsilons: Epsilon | Iterable[Epsilon] = ("0.1", "0.3", "1", "2"),
    mechanisms: Iterable[str | Mechanism] = MECHANISMS,
) -> Study:
    """All mechanisms on public data of your kind, with advice.  Not private.

    Args:
        problem: your problem.
        data: public or synthetic.
        epsilons: to compare at; one, or several.
        mechanisms: what to compare; those that do not suit the problem are left out.

    Returns:
        A table, advice in words and pictures: `print` it, `frame`, `csv`, `latex`, `plot`, `save`.
    """
    selection = problem.selection(data)
    if isinstance(epsilons, str) or not isinstance(epsilons, Iterable):
        epsilons = (epsilons,)
    prices = [exact(each) for each in epsilons]
    lines = compare(selection, epsilons=prices, mechanisms=suited(selection, mechanisms))
    made = Study(selection, problem.candidates, lines, ())
    return replace(made, advice=tuple(_advice(made)))


def suited(
    selection: Selection, mechanisms: Iterable[str | Mechanism] = MECHANISMS
) -> list[Mechanism]:
    """Those of the mechanisms that a selection can be answered by.

    Args:
        selection: of a problem on its data.
        mechanisms: names or `Mechanism` objects.

    Returns:
        The mechanisms.
    """
    return [each for each in map(named, mechanisms) if _suits(selection, each)]


def _suits(s: Selection, mechanism: Mechanism) -> bool:
    if mechanism.score.needs_horizon and s.sensitivity.horizon is None:
        return False
    if mechanism.noise.joint and mechanism.score not in s.joint:
        return False
    return not (mechanism.name == LD_SHIFTED.name and _vague(s))


def _vague(s: Selection) -> bool:
    """A shift would be refused: utilities are rounded too much for one."""
    return s.rounding > SMALL_ROUNDING and not s.exact


def _advice(made: Study) -> Iterator[str]:
    s = made.selection
    e = made.epsilons[len(made.epsilons) // 2]
    at = f"at ε = {short_text(e, up=True)}"
    errors = {name: found[made.epsilons.index(e)] for name, found in made.errors.items()}
    spread = float((s.utility.max() - s.utility).mean())
    yield f"A random answer has error {spread:.4g}. All numbers below are {at}."
    if s.sensitivity.horizon == 0:
        yield "δ is constant, so there is nothing to dampen. Use pf, or auto, which chooses pf."
        return
    best = min(errors, key=lambda name: errors[name])
    yield f"Least error: {best}, {errors[best]:.4g}." + (
        f" EM has {errors['em']:.4g}." if "em" in errors and best != "em" else ""
    )
    small = float(np.median(s.sensitivity.at(0)))
    yield (
        f"Sensitivity: δ(x, 0) of the middle candidate is {small / s.bound:.2g} of the bound. "
        + ("Dampening has little to gain." if small > s.bound / 2 else "Dampening can gain.")
    )
    if not _vague(s):
        yield _shift_advice(s, e, errors)
    if s.sensitivity.horizon is not None:
        yield _direction_advice(s, errors)
        yield _horizon_advice(s, e)


def _shift_advice(s: Selection, e: Fraction, errors: Mapping[str, float]) -> str:
    shifts = np.linspace(s.utility.min(), s.utility.max(), 33).tolist()
    tried = {
        shift: expected_error(s, epsilon=e, mechanism=replace(LD_PF, score=Dampened(shift=shift)))
        for shift in shifts
    }
    best = min(tried, key=lambda shift: tried[shift])
    plain = errors.get("ld-pf", expected_error(s, epsilon=e, mechanism=LD_PF))
    private = errors.get("ld-shifted", expected_error(s, epsilon=e, mechanism="ld-shifted"))
    told = (
        f"Shift: dampening without one has error {plain:.4g}, with the best public one "
        f"({best:.4g}) {tried[best]:.4g}, with a private one {private:.4g}. "
    )
    if plain <= min(private, 1.05 * tried[best]):
        return told + "No shift is needed. Use ld-pf."
    if private <= plain:
        return told + "Use ld-shifted, or Dampened(shift=...) if you know a good one without data."
    return told + "A private shift does not help here; a constant known beforehand may."


def _direction_advice(s: Selection, errors: Mapping[str, float]) -> str:
    up = errors.get("sld")
    down = errors.get("sld-down")
    kind = classify(s, min(s.sensitivity.horizon or 0, MOST_DISTANCES)).monotonicity
    told = f"Direction: along the utility δ is {'mixed' if kind == 'none' else kind}. "
    if up is None or down is None:
        return told
    better = "+infinity (sld)" if up <= down else "-infinity (sld-down)"
    return told + (
        f"SLD has error {up:.4g} towards +infinity and {down:.4g} towards -infinity: if at all, "
        f"{better}."
    )


def _horizon_advice(s: Selection, e: Fraction) -> str:
    T = s.sensitivity.horizon
    assert T is not None
    tried = {}
    for horizon in sorted({max(1, round(T * share)) for share in HORIZONS}):
        made = Selection(s.utility, bounded(s.sensitivity, s.bound, horizon), s.bound)
        found = [expected_error(made, epsilon=e, mechanism=m) for m in (SLD, SLD_DOWN)]
        tried[horizon] = min(found)
    best = min(tried, key=lambda horizon: tried[horizon])
    told = f"Horizon: SLD has error {tried[max(tried)]:.4g} with T = {T}"
    if tried[best] > 0.98 * tried[max(tried)]:
        told += "; a shorter one does not help."
    else:
        told += f" and {tried[best]:.4g} with T = {best}."
    reach = s.sensitivity.sum_to(np.full(len(s), T, dtype=np.int64))
    if (np.ptp(s.utility) > np.median(reach)) and np.median(s.sensitivity.at(T - 1)) < s.bound:
        told += " For LD it is too short: T steps do not span the utilities, and beyond T all is "
        told += "the bound."
    return told + " A horizon is public: choose it by public data, not by yours."


HORIZONS = (0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
