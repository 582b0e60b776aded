"""Views of an opened table: some of its rows (`where=`), or one more column (a formula).

Both are `Opened` themselves, so that questions need not know of them.  What they add is a public
function of one row (`dampen.data.expressions`), worked out where the rows are read, after the
charge.  The number of rows that a filter keeps is private: a filtered table has no public `rows`.

An engine that can filter by itself does so (`Filters`), where its SQL surely keeps the same rows
(`dampen.data.pushdown`); else rows are filtered as they come.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dampen.core.selection import IntArray
from dampen.data.expressions import Bools, Expression, is_formula, parse_condition, parse_formula
from dampen.data.source import Batch, CellOf, Field, Kind, Opened, reading
from dampen.errors import ParameterError

__all__ = ["DerivedTable", "FilteredTable", "Filters", "derived", "filtered", "kept"]


@runtime_checkable
class Filters(Protocol):
    """A table in an engine that can filter rows by itself."""

    def filtered(self, condition: Expression, /) -> Opened | None:
        """The rows that a condition keeps; None where the engine's own rules might differ."""
        ...


def filtered(opened: Opened, where: str | None) -> Opened:
    """The rows of a table for which a condition holds; no row is read.

    Args:
        opened: the table.
        where: the condition, or None for all rows.

    Raises:
        ParameterError: if it is no condition on the columns of this table.
    """
    if where is None:
        return opened
    condition = parse_condition(where).fitted(opened)
    if not condition.columns:
        raise ParameterError(f"Expected a condition on a column in where={where!r}; it names none.")
    return kept(opened, condition)


def kept(opened: Opened, condition: Expression) -> Opened:
    """The rows that a fitted condition keeps."""
    by_engine = opened.filtered(condition) if isinstance(opened, Filters) else None
    return FilteredTable(opened, condition) if by_engine is None else by_engine


def derived(opened: Opened, value: str) -> Opened:
    """A table that has a column `value`: as it is, or with a formula of that text worked out.

    Raises:
        ParameterError: if it is a formula that cannot be read, or not of this table.
    """
    if not is_formula(value, opened):
        return opened
    formula = parse_formula(value).fitted(opened)
    return DerivedTable(opened, formula) if formula.columns else opened


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FilteredTable:
    """The rows of a table for which a condition holds."""

    opened: Opened
    condition: Expression

    @property
    def title(self) -> str:
        return self.opened.title

    @property
    def fields(self) -> Sequence[Field]:
        return self.opened.fields

    @property
    def declared(self) -> bool:
        return self.opened.declared

    @property
    def rows(self) -> None:
        """How many rows are kept is private."""

    @property
    def ordered(self) -> bool:
        return self.opened.ordered

    @property
    def streams(self) -> bool:
        return self.opened.streams

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        needed = {**self.condition.wanted, **wanted}
        with reading(self.opened.batches(needed)) as stream:
            for batch in stream:
                yield _kept_rows(batch, wanted, self.condition)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        needed = {**self.condition.wanted, **wanted}
        cells = KeptCells(self.condition, dict(wanted), cell_of)
        return self.opened.counts(needed, cells, size)


@dataclass(frozen=True, slots=True)
class KeptCells:
    """The cells of the rows that are kept; a `CellOf` that skips the others."""

    condition: Expression
    wanted: Mapping[str, Kind]
    cell_of: CellOf

    def __call__(self, batch: Batch) -> IntArray:
        return self.cell_of(_kept_rows(batch, self.wanted, self.condition))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DerivedTable:
    """A table with one more column of numbers, which has the text of its formula as its name."""

    opened: Opened
    formula: Expression

    @property
    def title(self) -> str:
        return self.opened.title

    @property
    def fields(self) -> Sequence[Field]:
        return [*self.opened.fields, Field(self.formula.text, "double", "numbers")]

    @property
    def declared(self) -> bool:
        return self.opened.declared

    @property
    def rows(self) -> int | None:
        return self.opened.rows

    @property
    def ordered(self) -> bool:
        return self.opened.ordered

    @property
    def streams(self) -> bool:
        return self.opened.streams

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        with reading(self.opened.batches(self._needed(wanted))) as stream:
            for batch in stream:
                yield _with_formula(batch, wanted, self.formula)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        if self.formula.text not in wanted:
            return self.opened.counts(wanted, cell_of, size)
        cells = DerivedCells(self.formula, dict(wanted), cell_of)
        return self.opened.counts(self._needed(wanted), cells, size)

    def _needed(self, wanted: Mapping[str, Kind]) -> dict[str, Kind]:
        own = {name: kind for name, kind in wanted.items() if name != self.formula.text}
        return own if len(own) == len(wanted) else {**self.formula.wanted, **own}


@dataclass(frozen=True, slots=True)
class DerivedCells:
    """The cells of rows with a formula worked out; a `CellOf`."""

    formula: Expression
    wanted: Mapping[str, Kind]
    cell_of: CellOf

    def __call__(self, batch: Batch) -> IntArray:
        return self.cell_of(_with_formula(batch, self.wanted, self.formula))


def _with_formula(batch: Batch, wanted: Mapping[str, Kind], formula: Expression) -> Batch:
    return {
        name: formula.numbers(batch) if name == formula.text else batch[name] for name in wanted
    }


def _kept_rows(batch: Batch, wanted: Mapping[str, Kind], condition: Expression) -> Batch:
    """The wanted columns of the rows that are kept."""
    keeps = condition.keeps(batch)
    if keeps.all():
        return {name: batch[name] for name in wanted}
    return {name: _taken(batch[name], keeps) for name in wanted}


def _taken(chunk: Any, keeps: Bools) -> Any:
    if isinstance(chunk, np.ndarray):
        return chunk[keeps]
    if hasattr(chunk, "to_pylist"):
        import pyarrow as pa

        return chunk.filter(pa.array(keeps))
    return [chunk[i] for i in np.flatnonzero(keeps)]
