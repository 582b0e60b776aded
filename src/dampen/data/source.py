"""How tables are opened: public facts at once, rows only after the charge.

*Opened* data is what a release needs to know before its charge, that is the names of the columns,
their types where the holder declares them, and the number of rows where the holder knows it
without looking; and a way to the rows that is used only after the charge.  Memory
(`dampen.data.memory`), files (`dampen.data.files`) and engines are backends: each answers this
small contract, and `tests/contracts/test_backends.py` holds all of them to it.

An application asks for little: *counts* of rows by a public function of a row, or *columns*.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    Protocol,
    TypeAlias,
    TypeGuard,
    TypeVar,
    cast,
    runtime_checkable,
)

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import IntArray
from dampen.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

    from dampen.data.cells import Numbering, ValueCounts, ValuesOf

__all__ = [
    "Batch",
    "Chunk",
    "CountsDegrees",
    "CountsValues",
    "Field",
    "Kind",
    "Opened",
    "PassedOn",
    "columns_of",
    "counted",
    "has_arrow",
    "is_opened",
    "is_opened_type",
    "joined_columns",
    "named_columns",
    "reading",
    "require",
    "require_arrow",
    "require_labels",
    "require_numbers",
    "whole_columns",
]

Kind: TypeAlias = Literal["numbers", "text", "any"]
"""How to read a column of a file: as numbers, as text, or as the type that it declares or shows."""

Chunk: TypeAlias = "NDArray[Any] | pa.Array | list[Any] | tuple[Any, ...]"
Batch: TypeAlias = Mapping[str, Chunk]
X = TypeVar("X")
CellOf: TypeAlias = Callable[[Batch], IntArray]


@dataclass(frozen=True, slots=True)
class Field:
    """A column by its public facts: its name, and its type where that is declared.

    Attributes:
        name: as the holder writes it.
        type: in the holder's words, `int64` or `string`; None where only the values would tell.
        holds: what that type is good for: numbers (which are labels too), labels, or other things
            such as lists; None where only the values would tell.
        dates: whether public facts say that it holds dates, which its type does not say.
    """

    name: str
    type: str | None = None
    holds: Literal["numbers", "labels", "other"] | None = None
    dates: bool = False


T_co = TypeVar("T_co", covariant=True)


class PassedOn(Generic[T_co]):
    """A fact that a table which shows another one otherwise has from that one, its `opened`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, table: Any, owner: type | None = None) -> T_co:
        found: Any = self if table is None else getattr(table.opened, self._name)
        return cast("T_co", found)


@runtime_checkable
class Opened(Protocol):
    """A table that was opened and not looked at.

    Attributes:
        title: what errors call it; public.
        fields: its columns.
        declared: whether the names of the columns are surely names.  The first line of a text file
            may be data, so its words are never quoted unless the caller says that it is a header.
        rows: how many rows there are, where the holder knows without looking, else None.
        ordered: whether rows have places of their own, so that "the third row" means something.
            Those of an engine have none: their order may depend on their values.
        streams: whether rows had better stay where they are, so that who needs them twice asks
            twice: true of engines and of large files.
    """

    @property
    def title(self) -> str: ...
    @property
    def fields(self) -> Sequence[Field]: ...
    @property
    def declared(self) -> bool: ...
    @property
    def rows(self) -> int | None: ...
    @property
    def ordered(self) -> bool: ...
    @property
    def streams(self) -> bool: ...

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        """The rows of the wanted columns, in order, in pieces; private."""
        ...

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        """How many rows fall into each of the public cells 0 .. size-1; private.

        `cell_of` gives the cell, or several cells, of every row of a batch; what is below 0 is no
        cell and is counted in one more entry at the end.  It runs where the rows live, so it must
        be a function of the row and of public parameters alone.
        """
        ...


def is_opened(data: Any) -> TypeGuard[Opened]:
    """Whether `data` is an `Opened`; does not ask for its facts, for which it may look at files."""
    return is_opened_type(data.__class__) or isinstance(data, Opened)


@lru_cache(maxsize=256)
def is_opened_type(kind: type) -> bool:
    """Whether a class has the members of `Opened`; looks at no instance."""
    facts = ("title", "fields", "declared", "rows", "ordered", "streams", "batches", "counts")
    return all(hasattr(kind, name) for name in facts)


@runtime_checkable
class CountsDegrees(Protocol):
    """A table of edges in an engine that counts neighbours where the edges lie."""

    def degrees(self, source: str, target: str, numbering: "Numbering", /) -> IntArray | None:
        """How many different neighbours each of the numbered nodes has among them; private.

        Direction, loops and repeated edges do not matter; rows that do not join two of the nodes
        are dropped.  None where only the product's own rules tell which labels are equal.
        """
        ...


@runtime_checkable
class CountsValues(Protocol):
    """A table that counts rows by group and number where they lie, or by persons' weights."""

    def value_counts(self, asked: "ValuesOf", /) -> "ValueCounts":
        """How many rows, or which weight, every group has at every number; private."""
        ...


@runtime_checkable
class AddsCells(Protocol):
    """A table in an engine that adds up the cells of a column of numbers where the rows lie."""

    def sums(
        self, wanted: Mapping[str, Kind], group_of: CellOf, size: int, value: str, key: Any, /
    ) -> IntArray | None:
        """The rows with a value, and the sum of their cells, of every public group 0 .. size-1.

        Private, and exact: cells are whole numbers.

        Args:
            wanted: the columns that `group_of` looks at.
            group_of: as `cell_of` of `Opened.counts`.
            size: how many groups there are.
            value: the column of the numbers.
            key: their `GridKey`.

        Returns:
            One line for every group; None where only the product's own rules tell a cell or group.
        """
        ...


def has_arrow() -> bool:
    """Whether pyarrow is installed; without it chunks are numpy arrays, lists and tuples."""
    return find_spec("pyarrow") is not None


def require_arrow(purpose: str, extra: str) -> None:
    """Checks that pyarrow is installed.

    Raises:
        ParameterError: if it is not, with the command that installs it.
    """
    if not has_arrow():
        raise ParameterError(f"Expected pyarrow, {purpose}: pip install 'dampen[{extra}]'.")


@contextmanager
def reading(stream: Iterator[X]) -> Iterator[Iterator[X]]:
    """Closes a stream when its reader is done or fails."""
    try:
        yield stream
    finally:
        if isinstance(stream, Generator):
            stream.close()


def counted(batches: Iterator[Batch], cell_of: CellOf, size: int) -> IntArray:
    """`Opened.counts` by one pass over batches."""
    total = np.zeros(size + 1, dtype=np.int64)
    with reading(batches) as stream:
        for batch in stream:
            cells = cell_of(batch)
            if cells.min(initial=0) < 0:
                cells = np.where(cells < 0, size, cells)
            if size > len(cells):
                np.add.at(total, cells, 1)
            else:
                total += np.bincount(cells, minlength=size + 1)
    return total


def whole_columns(opened: Opened, wanted: Mapping[str, Kind]) -> dict[str, list[Chunk]]:
    """The wanted columns as lists of chunks, in the order of the rows; private."""
    parts: dict[str, list[Chunk]] = {name: [] for name in wanted}
    with reading(opened.batches(wanted)) as stream:
        for batch in stream:
            for name in wanted:
                parts[name].append(batch[name])
    return parts


def columns_of(opened: Opened, name: str) -> tuple[str, ...]:
    """The column of that name, or the several columns whose names it joins with commas."""
    return named_columns(name, [field.name for field in opened.fields])


def named_columns(name: str, known: Collection[str]) -> tuple[str, ...]:
    """A name that is known, or the several known names that it joins with commas.

    >>> named_columns("ward,year", ["ward", "year"]), named_columns("a,b", ["a,b"])
    (('ward', 'year'), ('a,b',))
    """
    parts = tuple(part.strip() for part in name.split(","))
    return parts if name not in known and len(parts) > 1 else (name,)


def joined_columns(names: Sequence[str]) -> str:
    """Names of several columns as one, which `columns_of` takes apart.

    Raises:
        ParameterError: if there is none, one occurs twice, or one has a comma.
    """
    plain = all(isinstance(name, str) and name and "," not in name for name in names)
    if not names or not plain or len(set(names)) < len(names):
        raise ParameterError(
            "Expected a list of different names of columns without commas, such as "
            "['ward', 'year']."
        )
    return ",".join(names)


def require(opened: Opened, *names: str) -> None:
    """Checks that the columns exist, once each.

    Raises:
        ParameterError: if one does not.
    """
    known = [field.name for field in opened.fields]
    for name in names:
        if name not in known:
            raise ParameterError(
                f"Expected a column {name!r} in {opened.title}.{_hint(opened, name)}"
            )
        if known.count(name) > 1:
            raise ParameterError(f"Expected one column {name!r} in {opened.title}, got several.")


def require_numbers(opened: Opened, *names: str) -> None:
    """`require`, and that the declared type of the columns, if there is one, is of numbers."""
    require(opened, *names)
    for field in opened.fields:
        if field.name in names and field.holds in ("labels", "other"):
            raise ParameterError(
                f"Column {field.name!r} is not numeric (its type is {field.type}). "
                f"Choose a numeric column{_or_convert(field)}."
            )


TEXTS = ("str", "char", "text", "object", "utf8")
"""What the names of types of text have in them."""


def _or_convert(field: Field) -> str:
    is_text = any(name in (field.type or "").lower() for name in TEXTS)
    return ", or convert it if it holds numbers as text" if is_text else ""


def require_labels(opened: Opened, *names: str) -> None:
    """`require`, and that the declared type of the columns is not of lists, bytes and the like."""
    require(opened, *names)
    for field in opened.fields:
        if field.name in names and field.holds == "other":
            raise ParameterError(
                f"Column {field.name!r} holds {field.type}. Choose a column of text or numbers."
            )


MOST_NAMES = 20
"""Columns that an error lists."""


def _hint(opened: Opened, name: str) -> str:
    if opened.declared:
        if name in getattr(opened, "index", ()):
            return " It is in the index: pass data.reset_index()."
        names = [field.name for field in opened.fields]
        few = len(names) <= MOST_NAMES
        listed = f" Its columns are {', '.join(names)}." if few else ""
        return did_you_mean(name, names) or listed
    return " If its first line is a header, pass header=True to see its column names."
