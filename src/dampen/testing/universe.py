"""Universes, the selections of a problem on them, and what a check found.

- `Universe`: every database of a small world, and which of them are neighbours.
- `instances`, `utilities`, `deltas`, `scores`: a problem on every database of a universe: what all
  checks look at.
- `Verdict`: what a check found: it holds, it fails, or it was not checked.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import numpy as np

from dampen.core.scores import Score
from dampen.core.selection import FloatArray, IntArray, Neighbours, Problem, Selection
from dampen.errors import DampenError, ParameterError

Outcome: TypeAlias = Literal["holds", "fails", "not checked"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One claim about a problem, checked on a universe.  True only if it holds.

    Attributes:
        claim: in words.
        outcome: "holds", "fails" or "not checked".
        scope: the databases and pairs of neighbours that were looked at.
        counterexample: in words, if it fails.
        value: the number that the claim bounds, as large as it was found.
        remark: why it was not checked; or, if it holds, what the universe was too weak to show.
    """

    claim: str
    outcome: Outcome
    scope: str
    counterexample: str = ""
    value: float = 0.0
    remark: str = ""

    @property
    def holds(self) -> bool:
        return self.outcome == "holds"

    @property
    def fails(self) -> bool:
        return self.outcome == "fails"

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.fails:
            return f"{self.claim}: FAILS: {self.counterexample}"
        if not self.holds:
            return f"{self.claim}: NOT CHECKED: {self.remark}"
        return f"{self.claim}: holds for {self.scope}" + (f"; {self.remark}" * bool(self.remark))


X = TypeVar("X")
Graph = tuple[IntArray, IntArray]


@dataclass(frozen=True, slots=True, repr=False)
class Universe(Generic[X]):
    """Databases, and which of them are neighbours: index pairs, the smaller database first.

    Attributes:
        databases: all of them.
        neighbours: the pairs.
        describe: a database in words.
        relation: the name of the relation, where it is known: problems that protect another one are
            refused.
    """

    databases: Sequence[X]
    neighbours: IntArray
    describe: Callable[[X], str] = repr
    relation: str = ""

    def __repr__(self) -> str:
        return f"<Universe of {len(self.databases)} databases, {len(self.neighbours)} pairs>"

    @classmethod
    def of(cls, databases: Iterable[X], are_neighbours: Callable[[X, X], bool]) -> "Universe[X]":
        """Any databases, with a symmetric relation that says which are neighbours."""
        listed = list(databases)
        pairs = [
            (i, j)
            for i, j in itertools.combinations(range(len(listed)), 2)
            if are_neighbours(listed[i], listed[j])
        ]
        return cls(listed, _pairs(pairs))

    @classmethod
    def around(
        cls,
        x: X,
        neighbours: Callable[[X], Iterable[X]],
        radius: int,
        *,
        most: int = 200_000,
        describe: Callable[[X], str] = repr,
    ) -> "Universe[X]":
        """All databases within `radius` steps of x, by a function that gives all neighbours of one.

        Databases that are not hashable are told apart by their repr.

        Args:
            x: the database in the middle, the first of the universe.
            neighbours: all neighbours of a database; the relation must be symmetric.
            radius: how many steps.
            most: databases; more are refused.
            describe: a database in words.

        Returns:
            The universe.

        Raises:
            ParameterError: if there are too many databases, or the relation is not symmetric.

        >>> Universe.around(0, lambda n: (n - 1, n + 1), 3)
        <Universe of 7 databases, 6 pairs>
        """
        found: dict[Any, int] = {key_of(x): 0}
        databases = [x]
        rim = [0]
        steps = dict[int, set[int]]()
        for distance in range(radius + 1):
            following = list[int]()
            for i in rim:
                near = steps.setdefault(i, set())
                for y in neighbours(databases[i]):
                    key = key_of(y)
                    if key not in found and distance < radius:
                        found[key] = len(databases)
                        databases.append(y)
                        following.append(found[key])
                        if len(databases) > most:
                            raise ParameterError(
                                f"Expected at most {most} databases within {radius} steps, got "
                                "more. Take a smaller radius, or a smaller database."
                            )
                    if key in found and found[key] != i:
                        near.add(found[key])
            rim = following
        pairs = {(min(i, j), max(i, j)) for i, near in steps.items() for j in near}
        for i, j in pairs:
            if i not in steps[j] or j not in steps[i]:
                raise ParameterError(
                    "Expected a symmetric relation; of these databases one is a neighbour of the "
                    f"other and not the other way round: {describe(databases[i])} and "
                    f"{describe(databases[j])}."
                )
        relation = str(getattr(neighbours, "relation", ""))
        return cls(databases, _pairs(sorted(pairs)), describe, relation)

    @classmethod
    def replace_one(cls, values: Iterable[Any], n: int) -> "Universe[tuple[Any, ...]]":
        """All n-tuples of the values; neighbours differ in one place."""
        domain = list(values)
        databases = list(itertools.product(domain, repeat=n))
        index = {x: i for i, x in enumerate(databases)}
        pairs = [
            (index[x], index[(*x[:place], value, *x[place + 1 :])])
            for x in databases
            for place in range(n)
            for value in domain[domain.index(x[place]) + 1 :]
        ]
        return Universe(databases, _pairs(pairs), relation=Neighbours.REPLACE_ONE.value)

    @classmethod
    def add_remove_row(cls, rows: Iterable[Any], max_rows: int) -> "Universe[tuple[Any, ...]]":
        """All multisets of at most `max_rows` rows; neighbours differ by one row."""
        domain = list(rows)
        position = {row: i for i, row in enumerate(domain)}
        databases = [
            x
            for size in range(max_rows + 1)
            for x in itertools.combinations_with_replacement(domain, size)
        ]
        index = {x: i for i, x in enumerate(databases)}
        pairs = [
            (index[x], index[tuple(sorted((*x, row), key=position.__getitem__))])
            for x in databases
            if len(x) < max_rows
            for row in domain
        ]
        return Universe(databases, _pairs(pairs), relation=Neighbours.ADD_REMOVE_ROW.value)

    @classmethod
    def units(
        cls, rows: Iterable[Any], max_units: int, max_rows: int
    ) -> "Universe[tuple[tuple[Any, ...], ...]]":
        """All multisets of at most `max_units` persons; neighbours differ by one person.

        A person is a multiset of 1 to `max_rows` of the rows.

        >>> Universe.units("ab", max_units=2, max_rows=2)
        <Universe of 21 databases, 30 pairs>
        """
        domain = list(rows)
        people = [
            person
            for size in range(1, max_rows + 1)
            for person in itertools.combinations_with_replacement(domain, size)
        ]
        people_more_or_less = Universe.add_remove_row(people, max_units)
        return replace(people_more_or_less, relation=Neighbours.ADD_REMOVE_UNIT.value)

    @classmethod
    def graphs(cls, n: int) -> "Universe[Graph]":
        """All graphs with n vertices, as (src, dst) arrays; neighbours differ by one edge."""
        edges = np.array(list(itertools.combinations(range(n), 2)), dtype=np.int64).reshape(-1, 2)
        count = 1 << len(edges)
        bits = np.arange(count)[:, None] >> np.arange(len(edges)) & 1
        databases = [(edges[row == 1, 0], edges[row == 1, 1]) for row in bits]
        pairs = [
            (x, x | 1 << edge)
            for x in range(count)
            for edge in range(len(edges))
            if not x >> edge & 1
        ]
        edges_more_or_less = Neighbours.ADD_REMOVE_EDGE.value
        return Universe(databases, _pairs(pairs), _describe_graph, edges_more_or_less)


def key_of(database: Any) -> Any:
    """What tells databases apart: themselves, or their repr if they cannot be hashed."""
    try:
        hash(database)
    except TypeError:
        return repr(database)
    return database


def _pairs(pairs: list[tuple[int, int]]) -> IntArray:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _describe_graph(graph: Graph) -> str:
    return "{" + ", ".join(f"{a}-{b}" for a, b in zip(*graph, strict=True)) + "}"


ROUNDING = 1e-9
"""What a comparison of floats forgives, relative to the bound of the problem."""
DISTANCES = 12
"""How far checks look at δ unless told otherwise."""


@dataclass(frozen=True, slots=True, repr=False)
class Remembering(Generic[X]):
    """A problem that makes the selection of each database once."""

    problem: Problem[X]
    _made: dict[int, Selection] = field(default_factory=dict)

    @property
    def neighbours(self) -> Neighbours | str:
        return self.problem.neighbours

    @property
    def candidates(self) -> Sequence[Any]:
        return self.problem.candidates

    def selection(self, data: X, /) -> Selection:
        if id(data) not in self._made:
            self._made[id(data)] = self.problem.selection(data)
        return self._made[id(data)]


def instances(problem: Problem[X], universe: Universe[X]) -> list[Selection]:
    """The selection of every database.

    Raises:
        ParameterError: if they prove nothing: there are no neighbours, or those of another relation
            than the problem protects, or the candidates follow from the data.
    """
    check_pairs(universe)
    check_relation(problem, universe.relation)
    candidates = list(problem.candidates)
    made = []
    for x in universe.databases:
        try:
            made.append(problem.selection(x))
        except DampenError as error:
            # The universe is synthetic, so its databases may be quoted.
            raise ParameterError(
                f"Expected a problem that accepts every database of the universe; "
                f"{universe.describe(x)} gave: {error}"
            ) from error
        if list(problem.candidates) != candidates:
            raise ParameterError(
                "Expected public candidates, the same for every database and in the same order; "
                f"they change with {universe.describe(x)}."
            )
    sizes = {len(s) for s in made}
    if sizes != {len(problem.candidates)}:
        raise ParameterError(
            f"Expected one utility per candidate ({len(problem.candidates)}) for every database, "
            f"got selections of {', '.join(map(str, sorted(sizes)))}."
        )
    return made


def check_pairs(universe: Universe[Any]) -> None:
    """Refuses a universe without neighbours.

    Raises:
        ParameterError: if it has none.
    """
    if len(universe.neighbours) == 0:
        raise ParameterError(
            "Expected a universe with at least one pair of neighbours, got none: every claim would "
            "hold of it."
        )


def check_relation(problem: Problem[X], relation: str) -> None:
    """Refuses steps of a relation that is known not to be that of the problem.

    Raises:
        ParameterError: if it is another one.
    """
    known = {each.value for each in Neighbours}
    own = str(Neighbours.named(problem.neighbours))
    if relation in known and own in known and own != relation:
        raise ParameterError(
            f"Expected steps of {own}, which the problem protects, got those of {relation}: what "
            f"holds there says nothing of {own}."
        )


def utilities(made: list[Selection]) -> FloatArray:
    return np.array([s.utility for s in made])


def deltas(made: list[Selection], t: int) -> FloatArray:
    return np.array([s.sensitivity.at(t) for s in made])


def scores(made: list[Selection], score: Score) -> tuple[FloatArray, float]:
    """The scores of every database, in score units, and their η."""
    found = [score.of(s) for s in made]
    return np.array([s.values / float(s.unit) for s in found]), float(found[0].eta)


def last_distance(made: list[Selection], distances: int | None) -> tuple[int, str]:
    """The largest t to look at, and a remark if that is not all there is."""
    horizon = made[0].sensitivity.horizon
    last = distances if distances is not None else min(DISTANCES, 3 if horizon is None else horizon)
    if horizon is not None and last >= horizon:
        return last, ""
    beyond = "no horizon" if horizon is None else f"its horizon at {horizon}"
    return last, f"δ was looked at up to t = {last}; it has {beyond}"


def both_ways(universe: Universe[X]) -> list[tuple[IntArray, IntArray]]:
    """Every pair in both directions, and every database with itself (d(x, y) <= 1)."""
    left, right = universe.neighbours.T
    itself = np.arange(len(universe.databases))
    return [(left, right), (right, left), (itself, itself)]


def largest(values: FloatArray) -> tuple[int, int]:
    row, column = np.unravel_index(int(np.argmax(values)), values.shape)
    return int(row), int(column)


def scope(universe: Universe[X]) -> str:
    return f"{len(universe.databases)} databases and {len(universe.neighbours)} pairs of neighbours"


def holds(
    claim: str, universe: Universe[X], *, value: float = 0.0, remarks: Sequence[str] = ()
) -> Verdict:
    told = "; ".join(remark for remark in remarks if remark)
    return Verdict(claim, "holds", scope(universe), value=value, remark=told)


def not_checked(claim: str, universe: Universe[X], reason: str) -> Verdict:
    return Verdict(claim, "not checked", scope(universe), remark=reason)


def fails(
    claim: str,
    problem: Problem[X],
    universe: Universe[X],
    where: tuple[int, int | None],
    text: str,
    *,
    y: int | None = None,
    value: float = 0.0,
) -> Verdict:
    """A counterexample in words: the databases by index, and the candidate."""
    x, r = where
    databases = f"x = {universe.describe(universe.databases[x])}"
    if y is not None:
        databases += f", y = {universe.describe(universe.databases[y])}"
    candidate = "" if r is None else f", candidate {problem.candidates[r]!r}"
    told = f"{text}, for {databases}{candidate}"
    return Verdict(claim, "fails", scope(universe), told, value)
