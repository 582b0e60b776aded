"""People, not rows: tables in which a column names the person that a row belongs to.

Neighbours differ in one person with all their rows.  Two views of a table make questions about
rows questions about persons; both are `Opened` and wrap any other.

**Weights** (`UnitTable`).  Everyone weighs the same.  With a public Q, the *quantum*, and a public
m, the *cap*, let a person have c_1, c_2, ... rows in the public cells, in their order, r in all,
C_j = c_1 + ... + c_j and R = max(r, m).  The person adds

    ⌊Q C_j / R⌋ - ⌊Q C_{j-1} / R⌋

to the count of cell j.  Up to m rows count in full, Q/m each; more rows share Q, as evenly as whole
numbers can.  Rows that are in no cell, because they are filtered or not listed, do not count in r.

**Theorem.**  A person who comes moves the counts upwards only, by at most Q in the 1-norm, whatever
rows they have.  So whatever is ε/Q-DP for adding or removing one row, as a function of the counts
alone, is ε-DP for adding or removing one person on these counts; and ρ/Q²-zCDP becomes ρ-zCDP.
Proof.  Every person's weights depend on their own rows, C_j never falls, and the weights add up to
⌊Q r / R⌋ <= Q.  The counts with the person are reached from those without by at most Q steps, each
one row more in one cell; group privacy adds up the steps. ∎

Without the floors, or with a count of rows in place of weights, one person moves the counts by more
than Q: tests show that the loss then exceeds ε.

Where nothing but a ranking of k cells is shown, at most k cells need share Q (`Shares.shared_by`):
R = max(min(r, k), m) for cells in which a person counts once.  A person then moves the counts by at
most Q in the 1-norm, or every count by at most Q/k; `dampen.questions.frequency.RankedWeights` has
the theorem.

What is estimated is the *average person* for m = 1: everybody's rows weigh the same in total.  With
a larger m it is the rows, where those of heavy users are cut to the weight of m rows.

**Kept rows** (`KeptRows`).  Questions that look at rows, not counts, see at most m rows of every
person, drawn at random among the person's own rows without regard to others.  Given the draws of
all others, a person who comes adds at most m rows: whatever is ε/m-DP for one row is ε-DP for one
person; a mixture over independent draws keeps that.

**Who is who.**  Rows whose id is missing (null, NaN or an empty text) belong to nobody and are left
out.  Ids are equal where the type of their column says so: text byte by byte.

Memory.  An engine (PostgreSQL, SQLite, Spark, and DuckDB beyond 2^25 rows) adds up weights where
the rows are, and sends one number for every cell.  Where rows are read, from memory, files and
DuckDB, the ids and 16 bytes each of at most 2^25 rows are held: a large file with more rows that
count is read again once for every part of the persons, 2^24 rows each on average.  Of kept rows at
most three times the wanted columns of the rows that are kept in the end, and one batch.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dampen.core.sampling import Entropy, uniform_words
from dampen.core.selection import IntArray
from dampen.data.cells import ValueCounts, ValuesOf
from dampen.data.columns import (
    as_keys,
    as_labels,
    as_written,
    is_arrow,
    is_key,
    missing_in,
    public_order,
    with_one_zero,
)
from dampen.data.source import (
    Batch,
    CellOf,
    Chunk,
    Field,
    Kind,
    Opened,
    PassedOn,
    counted,
    has_arrow,
    reading,
)
from dampen.errors import DataError

__all__ = [
    "MOST_HELD",
    "Amounts",
    "KeptRows",
    "Pairs",
    "People",
    "Present",
    "Shares",
    "UnitTable",
    "Weighing",
    "WeighsUnits",
    "quantum_of",
    "unit_codes",
    "unit_kind",
    "weights_by_key",
    "without_id",
]

LEAST_QUANTUM = 840
"""Q for m = 1: up to 8 rows, and 10, 12, 14 or 15, share it without a remainder."""
MOST_KEYS = 1 << 62
"""Persons times cells, which are sorted as one number."""
MOST_HELD = 1 << 25
"""Rows that are held at a time where they can be read again: beyond it, a part of the persons."""
FITS = 1 << 62
"""Products below it fit into 64 bits."""
PRUNED = 1 << 17
"""Rows that are gathered before all but the kept ones are let go."""


def quantum_of(cap: int) -> int:
    """Q for a cap m: the least multiple of m that is at least 840, so that Q/m is whole.

    >>> [quantum_of(m) for m in (1, 8, 11)]
    [840, 840, 847]
    """
    return cap * -(-LEAST_QUANTUM // cap)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pairs:
    """Every person and cell once, sorted by person, then cell; private.

    Attributes:
        owner: of the pair: the person, or the person within one line of cells.
        cell: of the pair.
        rows: that the person has in the cell.
    """

    owner: IntArray
    cell: IntArray
    rows: IntArray


class Weighing(Protocol):
    """What a person adds to the count of a cell."""

    @property
    def within_lines(self) -> bool:
        """Whether a person weighs that much in every line of cells, such as a group."""
        ...

    def weights(self, pairs: Pairs, /) -> IntArray:
        """One weight per pair, from the pairs of the same owner alone."""
        ...


@dataclass(frozen=True, slots=True)
class Shares:
    """Everyone weighs `quantum`, shared by their rows; see the theorem of this module.

    Attributes:
        quantum: Q.
        cap: m.
        distinct: whether a person counts once in a cell, however many rows they have there.
        within_lines: whether a person weighs Q in every line of cells; they then move the counts of
            each line by at most Q.
        shared_by: the most cells that share Q, a divisor of it, for distinct ones; None for all.
    """

    quantum: int
    cap: int = 1
    distinct: bool = False
    within_lines: bool = False
    shared_by: int | None = None

    def weights(self, pairs: Pairs, /) -> IntArray:
        rows = np.ones_like(pairs.rows) if self.distinct else pairs.rows
        return _shared(pairs.owner, rows, self.quantum, self.cap, self.shared_by)


def _shared(
    owner: IntArray, rows: Any, quantum: int, cap: int, shared_by: int | None = None
) -> Any:
    """⌊Q C_j / R⌋ - ⌊Q C_{j-1} / R⌋ for every pair: see the theorem of this module."""
    if len(rows) == 0:
        return rows
    first = _first_pairs(owner)
    size = np.diff(first, append=len(rows))
    running = np.cumsum(rows)
    before = np.repeat(running[first] - rows[first], size)
    own = np.repeat(np.add.reduceat(rows, first), size)
    if shared_by is not None:
        own = np.minimum(own, shared_by)
    up_to = quantum * (running - before) // np.maximum(own, cap)
    weights = np.diff(up_to, prepend=0)
    weights[first] = up_to[first]
    return weights


def _first_pairs(owner: IntArray) -> IntArray:
    """Where the pairs of every person begin."""
    return np.flatnonzero(np.diff(owner, prepend=owner[:1] - 1))


@dataclass(frozen=True, slots=True)
class Amounts:
    """What a person adds to totals of whole numbers: all of it, up to `most` in absolute value.

    A row of the value v is |v| coins.  A person with c_1, c_2, ... coins in their cells, c in all,
    C_j = c_1 + ... + c_j, adds ⌊M C_j / R⌋ - ⌊M C_{j-1} / R⌋ of them to cell j, R = max(c, M),
    with the sign of the cell's value.  **Theorem.**  A person who comes moves the totals of any
    public groups of cells by at most M in the 1-norm: the theorem of this module, for coins in
    place of rows and Q = m = M.  ∎  A person with at most M coins adds the exact total.

    Attributes:
        most: M.
        cells: of one group; cell number i of each has the value first + i step.
        first: see above.
        step: see above.
    """

    most: int
    cells: int
    first: int
    step: int
    within_lines = False

    def weights(self, pairs: Pairs, /) -> IntArray:
        value = self.first + self.step * (pairs.cell % self.cells)
        largest = int(np.abs(value).max(initial=0))
        coins: Any = pairs.rows.astype(object if int(pairs.rows.sum()) * largest >= FITS else int)
        coins = coins * np.abs(value)
        first = _first_pairs(pairs.owner)
        if int(max(np.add.reduceat(coins, first), default=0)) * self.most >= FITS:
            coins = coins.astype(object)
        shared = _shared(pairs.owner, coins, self.most, self.most)
        return np.sign(value) * shared.astype(np.int64)


@dataclass(frozen=True, slots=True)
class Present:
    """A person counts once in every cell where they have rows: distinct persons.

    A person who comes moves every count by 0 or 1, upwards only.
    """

    within_lines = False

    def weights(self, pairs: Pairs, /) -> IntArray:
        return np.ones_like(pairs.rows)


@dataclass(frozen=True, slots=True)
class People:
    """What of a `UnitTable` an engine has to know; public.

    Attributes:
        unit: the column that names the person.
        weighing: what a person adds.
        width: the cells of a line, 0 if there are no lines.
    """

    unit: str
    weighing: Shares | Present
    width: int


@runtime_checkable
class WeighsUnits(Protocol):
    """A table in an engine that adds up the weights of persons where the rows are."""

    def weights(
        self,
        wanted: Mapping[str, Kind],
        cell_of: CellOf,
        size: int,
        people: "People",
        /,
    ) -> IntArray | None:
        """The counts of a `UnitTable`; None where the engine's own rules might differ."""
        ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UnitTable:
    """An opened table whose counts are of persons' weights; rows of no cell are left out.

    An engine that can adds them up by itself, in one query with a window over each person's cells;
    DuckDB only for tables that are too large to be held.  Else rows are read.

    Attributes:
        opened: the table.
        unit: the column that names the person.
        weighing: what a person adds.
        width: where cells come in lines, such as one for every group, the cells of a line; the last
            of them holds rows of no cell, which are left out too.  0 if there are no lines.
    """

    opened: Opened
    unit: str
    weighing: Weighing
    width: int = 0
    rows = None
    ordered = False

    title = PassedOn[str]()
    fields = PassedOn[Sequence[Field]]()
    declared = PassedOn[bool]()
    streams = PassedOn[bool]()

    def batches(self, _: Mapping[str, Kind], /) -> Iterator[Batch]:
        """Rows have no weights: a question that looks at them is asked of `KeptRows`."""
        raise DataError("This question needs rows, and the data set protects persons.")

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        by_engine = self._by_engine(wanted, cell_of, size)
        if by_engine is not None:
            return by_engine
        total = np.zeros(size + 1, dtype=np.int64)
        for ids, cells in self._pieces(wanted, cell_of):
            pairs = _paired(ids.codes(MOST_KEYS // size), cells, size, self._line)
            np.add.at(total, pairs.cell, self.weighing.weights(pairs))
        return total

    def added(self, wanted: Mapping[str, Kind], cell_of: CellOf, /) -> tuple[IntArray, IntArray]:
        """The cells that somebody is in, and their weights, where cells are too many to count.

        A cell that is in several parts of the persons occurs once for each.
        """
        found = []
        for ids, cells in self._pieces(wanted, cell_of):
            different, place = np.unique(cells, return_inverse=True)
            size = max(len(different), 1)
            numbered = _paired(ids.codes(MOST_KEYS // size), place, size, 0)
            pairs = Pairs(numbered.owner, different[numbered.cell], numbered.rows)
            found.append((pairs.cell, self.weighing.weights(pairs)))
        cells, weights = (np.concatenate(each) for each in zip(*found, strict=True))
        return cells, weights

    def value_counts(self, asked: ValuesOf, /) -> ValueCounts:
        """Weights by group and number; the cells are the numbers of every group, in their order.

        A person's weights depend on the order of their own rows alone, so that cells which nobody
        has may be left out.
        """
        ids = _Ids()
        group = [np.empty(0, dtype=np.int64)]
        number = [np.empty(0)]
        needed = {self.unit: unit_kind(self.opened, self.unit), **asked.wanted}
        with reading(self.opened.batches(needed)) as stream:
            for batch in stream:
                place, value = asked.places(batch)
                kept = np.flatnonzero(~without_id(batch[self.unit]) & (place >= 0))
                ids.add(taken(batch[self.unit], kept))
                group.append(place[kept])
                number.append(value[kept])
        cells = asked.cells(np.concatenate(group), np.concatenate(number))
        size = max(len(cells.group), 1)
        # Codes are multiplied by the number of cells, then by that of groups.
        codes = ids.codes(MOST_KEYS // max(size, asked.size))
        pairs = _paired(codes, cells.of_row, size, 0)
        if self.weighing.within_lines:
            owner = pairs.owner * asked.size + cells.group[pairs.cell]
            pairs = Pairs(owner, pairs.cell, pairs.rows)
        weight = np.zeros(len(cells.group), dtype=np.int64)
        np.add.at(weight, pairs.cell, self.weighing.weights(pairs))
        none = np.zeros(asked.size, dtype=np.int64)
        return ValueCounts(cells.group, cells.number, weight, none)

    def _by_engine(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int) -> IntArray | None:
        if not isinstance(self.opened, WeighsUnits) or type(self.weighing) not in (Shares, Present):
            return None
        people = People(self.unit, cast("Shares | Present", self.weighing), self.width)
        return self.opened.weights(wanted, cell_of, size, people)

    def _pieces(
        self, wanted: Mapping[str, Kind], cell_of: CellOf
    ) -> "Iterator[tuple[_Ids, IntArray]]":
        """The ids and cells of all rows that count, a part of the persons at a time."""
        parts = 1
        part = 0
        while part < parts:
            ids, cells, rows = self._held(wanted, cell_of, part, parts)
            if rows > MOST_HELD and parts == 1 and self.opened.streams:
                parts = 1 + rows // (MOST_HELD // 2)
                continue
            yield ids, cells
            part += 1

    def _held(
        self, wanted: Mapping[str, Kind], cell_of: CellOf, part: int, parts: int
    ) -> "tuple[_Ids, IntArray, int]":
        """The ids and cells of the rows of one part of the persons, and how many such rows are.

        Of more rows than may be held none is, so that their number is all that is learnt.
        """
        ids = _Ids()
        cells = [np.empty(0, dtype=np.int64)]
        rows = 0
        whole = parts == 1 and self.opened.streams
        needed = {self.unit: unit_kind(self.opened, self.unit), **wanted}
        with reading(self.opened.batches(needed)) as stream:
            for batch in stream:
                of_unit = batch[self.unit]
                cell = cell_of(batch)
                chosen = ~without_id(of_unit) & self._in_cells(cell)
                if parts > 1:
                    chosen &= _part_of(of_unit, parts) == part
                kept = np.flatnonzero(chosen)
                rows += len(kept)
                if whole and rows > MOST_HELD:
                    ids = _Ids()
                    cells = cells[:1]
                    continue
                ids.add(taken(of_unit, kept))
                cells.append(cell[kept])
        return ids, np.concatenate(cells), rows

    def _in_cells(self, cell: IntArray) -> NDArray[np.bool_]:
        inside = cell >= 0
        if self.width:
            inside &= cell % self.width != self.width - 1
        return inside

    @property
    def _line(self) -> int:
        return self.width if self.weighing.within_lines else 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KeptRows:
    """An opened table with at most `most` rows of every person, drawn once.

    Attributes:
        opened: the table.
        unit: the column that names the person.
        most: m.
        entropy: of the draw.
    """

    opened: Opened
    unit: str
    most: int
    entropy: Entropy
    rows = None
    ordered = False
    streams = False
    _held: list[list[Batch]] = field(default_factory=list)

    title = PassedOn[str]()
    fields = PassedOn[Sequence[Field]]()
    declared = PassedOn[bool]()

    @property
    def named(self) -> bool:
        """Whether the columns have names of their own."""
        return bool(getattr(self.opened, "named", True))

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        """The kept rows: the same ones whenever they are asked for."""
        if not self._held:
            self._held.append(self._drawn(wanted))
        [drawn] = self._held  # no batch at all where an engine has no rows
        # A second draw would show other rows of the same person, more than m in all.
        held = (wanted.keys() <= batch.keys() for batch in drawn)
        assert all(held), "columns that the draw did not hold"
        for batch in drawn:
            yield {name: batch[name] for name in wanted}

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        return counted(self.batches(wanted), cell_of, size)

    def _drawn(self, wanted: Mapping[str, Kind]) -> list[Batch]:
        needed = {self.unit: unit_kind(self.opened, self.unit), **wanted}
        held: list[_Piece] = []
        fresh = 0
        with reading(self.opened.batches(needed)) as stream:
            for batch in stream:
                size = len(batch[self.unit])
                piece = _Piece(batch, uniform_words(size, self.entropy))
                held.append(piece.taken(np.flatnonzero(~without_id(batch[self.unit]))))
                fresh += size
                if fresh > max(PRUNED, 2 * (sum(map(len, held)) - fresh)):
                    held = self._pruned(held)
                    fresh = 0
        return [piece.batch for piece in self._pruned(held)]

    def _pruned(self, held: "list[_Piece]") -> "list[_Piece]":
        """The rows with the m smallest words of every person."""
        ids = _Ids()
        for piece in held:
            ids.add(piece.batch[self.unit])
        codes = ids.codes()
        words = np.concatenate([np.empty(0, np.uint64), *(piece.words for piece in held)])
        order = np.lexsort((words, codes))
        first = np.flatnonzero(np.diff(codes[order], prepend=-1))
        place = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
        kept = np.zeros(len(order), dtype=np.bool_)
        kept[order[place < self.most]] = True
        ends = np.cumsum([len(piece) for piece in held])
        parts = np.split(kept, ends[:-1]) if held else []
        return [p.taken(np.flatnonzero(keep)) for p, keep in zip(held, parts, strict=True)]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Piece:
    """Rows with a random word each."""

    batch: Batch
    words: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.words)

    def taken(self, rows: IntArray) -> "_Piece":
        batch = {name: taken(chunk, rows) for name, chunk in self.batch.items()}
        return _Piece(batch, self.words[rows])


def unit_kind(opened: Opened, unit: str) -> Kind:
    """How ids are read: declared numbers as they are, else text: pieces of a file may differ."""
    [found] = [each for each in opened.fields if each.name == unit]
    return "any" if found.holds == "numbers" else "text"


def unit_codes(opened: Opened, unit: str) -> tuple[IntArray, NDArray[np.bool_], Mapping[int, Any]]:
    """For a curator: the person of every row that has one, which rows have one, and the ids."""
    ids = _Ids()
    known = [np.empty(0, dtype=np.bool_)]
    with reading(opened.batches({unit: unit_kind(opened, unit)})) as stream:
        for batch in stream:
            known.append(~without_id(batch[unit]))
            ids.add(taken(batch[unit], np.flatnonzero(known[-1])))
    codes = ids.codes()
    labels = as_labels(ids.chunks)
    _, first = np.unique(codes, return_index=True)
    return codes, np.concatenate(known), {int(codes[i]): labels[i] for i in first.tolist()}


def weights_by_key(
    opened: Opened, unit: str, names: Sequence[str], weighing: Weighing
) -> dict[Hashable, int]:
    """What persons add to the keys that they have, where nobody listed the keys; private.

    A key is a value of a column, or a tuple of values of several.  The keys of a person stand in
    the order of their text, which does not depend on anybody else.
    """
    ids = _Ids()
    columns = [_Ids() for _ in names]
    needed: dict[str, Kind] = {**dict.fromkeys(names, "any"), unit: unit_kind(opened, unit)}
    holds = {each.name: each.holds for each in opened.fields}
    declared = [holds.get(name) is not None for name in names]
    with reading(opened.batches(needed)) as stream:
        for batch in stream:
            absent = [missing_in(batch[name]) for name in names]
            kept = np.flatnonzero(~np.logical_or.reduce([without_id(batch[unit]), *absent]))
            ids.add(taken(batch[unit], kept))
            for name, column, known in zip(names, columns, declared, strict=True):
                column.add(as_written(taken(batch[name], kept), declared=known))
    keys, place = _numbered_keys(columns, declared)
    found = place >= 0
    pairs = _paired(ids.codes(MOST_KEYS // max(len(keys), 1))[found], place[found], len(keys), 0)
    total = np.zeros(len(keys), dtype=np.int64)
    np.add.at(total, pairs.cell, weighing.weights(pairs))
    return {key: weight for key, weight in zip(keys, total.tolist(), strict=True) if weight}


def _numbered_keys(
    columns: "Sequence[_Ids]", declared: Sequence[bool]
) -> tuple[list[Hashable], IntArray]:
    """The different keys of all rows in their public order, and the place of every row's key."""
    coded = columns[0].codes()
    for column in columns[1:]:
        more = column.codes()
        coded = np.unique(coded, return_inverse=True)[1] * (more.max(initial=0) + 1) + more
    _, first, inverse = np.unique(coded, return_index=True, return_inverse=True)
    labels = [
        as_keys(column.labels(first), declared=known)
        for column, known in zip(columns, declared, strict=True)
    ]
    found = labels[0] if len(labels) == 1 else list(zip(*labels, strict=True))
    order = sorted(
        (i for i in range(len(found)) if is_key(found[i])), key=lambda i: public_order(found[i])
    )
    place = np.full(len(found), -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    return [found[i] for i in order], place[inverse]


def taken(chunk: Chunk, rows: IntArray) -> Chunk:
    """Some rows of a chunk."""
    if isinstance(chunk, np.ndarray):
        return chunk[rows]
    if len(rows) == len(chunk):
        return chunk
    if isinstance(chunk, list | tuple):
        return [chunk[i] for i in rows.tolist()]
    kept: Chunk = chunk.take(_arrow(rows))
    return kept


def _paired(codes: IntArray, cells: IntArray, size: int, line: int) -> Pairs:
    """Every person and cell once; codes times `size` fit into 63 bits."""
    keys = codes * size + cells
    keys.sort()
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    rows = np.diff(first, append=len(keys))
    keys = keys[first]
    owner, cell = np.divmod(keys, size)
    return Pairs(keys // line if line else owner, cell, rows)


class _Ids:
    """The ids of rows, gathered piece by piece."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []

    def add(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)

    def codes(self, most: int = 0) -> IntArray:
        """0, 1, ... for every row: equal where the ids are.

        Whole numbers that are close to each other stay as they are, less the smallest, if that
        makes no number above `most`.
        """
        if not has_arrow():
            return self._numpy_codes(most)
        import pyarrow as pa

        try:
            arrays = [_alike(chunk) for chunk in self.chunks if len(chunk)]
            if not arrays:
                return np.empty(0, dtype=np.int64)
            close = _close(arrays, most)
            if close is not None:
                return close
            encoded = pa.chunked_array(arrays).dictionary_encode()
            words = (chunk.dictionary.buffers()[-1] for chunk in encoded.chunks)
            if len({each and each.address for each in words}) > 1:
                encoded = encoded.unify_dictionaries()
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return self._python_codes()
        indices = pa.chunked_array([chunk.indices for chunk in encoded.chunks])
        return np.asarray(indices.to_numpy(), dtype=np.int64)

    def labels(self, rows: IntArray) -> list[Hashable]:
        """The ids of some rows."""
        ends = np.cumsum([0, *(len(chunk) for chunk in self.chunks)])
        piece = np.searchsorted(ends, rows, side="right") - 1
        found: list[Hashable] = [None] * len(rows)
        for i in np.unique(piece).tolist():
            here = np.flatnonzero(piece == i)
            part = as_labels([taken(self.chunks[i], rows[here] - ends[i])])
            for at, label in zip(here.tolist(), part, strict=True):
                found[at] = label
        return found

    def _numpy_codes(self, most: int) -> IntArray:
        """Codes of ids without Arrow."""
        arrays = [chunk for chunk in self.chunks if len(chunk)]
        if not all(isinstance(each, np.ndarray) and each.dtype.kind == "i" for each in arrays):
            return self._python_codes()
        ids = np.concatenate([np.empty(0, dtype=np.int64), *arrays])
        low = int(ids.min()) if len(ids) else 0
        if len(ids) and int(ids.max()) - low < most:
            return np.asarray(ids - low)
        return np.unique(ids, return_inverse=True)[1]

    def _python_codes(self) -> IntArray:
        """Codes of ids of several types: of keys by their equality, of objects within a class.

        An object may equal whatever it likes, or raise an error: it has no say in who others are.
        """
        known: dict[type, dict[Any, int]] = {}
        codes: list[int] = []
        ids = as_labels(self.chunks)
        new = 0
        for label, key in zip(ids, as_keys(ids), strict=True):
            plain = is_key(key)
            alike = known.setdefault(object if plain else type(label), {})
            try:
                code = alike.setdefault(key if plain else label, new)
            except Exception:  # whatever an object does when it is compared
                code = new
            codes.append(code)
            new += code == new
        return np.array(codes, dtype=np.int64)


def without_id(chunk: Chunk) -> NDArray[np.bool_]:
    """Which rows belong to nobody."""
    missing = missing_in(chunk)
    if is_arrow(chunk):
        import pyarrow as pa
        import pyarrow.compute as pc

        plain = with_one_zero(chunk)
        if pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type):
            empty = pc.equal(pc.utf8_length(plain), 0).fill_null(True)
            return missing | empty.to_numpy(zero_copy_only=False)
        return missing
    if isinstance(chunk, np.ndarray) and chunk.dtype.kind != "O":
        return missing | (chunk == "") if chunk.dtype.kind == "U" else missing
    nobody = (_is_empty(each) or not _is_hashable(each) for each in chunk)
    return missing | np.fromiter(nobody, dtype=np.bool_, count=len(chunk))


def _is_empty(cell: Any) -> bool:
    """Whether it is an empty text, whatever its own class says."""
    return isinstance(cell, str) and str.__len__(cell) == 0


def _part_of(chunk: Chunk, parts: int) -> IntArray:
    """Which part of all persons an id belongs to: that of its hash, equal for equal ids."""
    labels = as_labels([chunk])
    part = {each: hash(each) % parts for each in set(labels)}
    return np.fromiter((part[each] for each in labels), dtype=np.int64, count=len(labels))


def _arrow(chunk: Chunk) -> Any:
    import pyarrow as pa

    return chunk if is_arrow(chunk) else pa.array(chunk)


def _close(arrays: list[Any], most: int) -> IntArray | None:
    """Whole numbers less the smallest, if the largest is then at most `most`."""
    import pyarrow as pa

    if any(not pa.types.is_signed_integer(array.type) or array.null_count for array in arrays):
        return None
    ids = np.concatenate([array.to_numpy() for array in arrays]).astype(np.int64, copy=False)
    low = int(ids.min())
    return ids - low if int(ids.max()) - low < most else None


def _alike(chunk: Chunk) -> Any:
    """Ids of one type as an Arrow array, in which they are equal where Python's are.

    Raises:
        TypeError: if they are of several types, which Arrow would convert.
    """
    import pyarrow as pa

    if is_arrow(chunk):
        return with_one_zero(chunk)
    if isinstance(chunk, np.ndarray) and chunk.dtype.kind != "O":
        return with_one_zero(pa.array(chunk))
    kinds = set(map(type, chunk))
    if kinds not in ({str}, {int}):
        raise TypeError
    return pa.array(chunk, type=pa.string() if kinds == {str} else pa.int64())


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except Exception:  # whatever an object does
        return False
    return True
