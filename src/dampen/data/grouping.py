"""Rows split by public groups: counts by group and cell, one pass over the data.

**Parallel composition.**  A row belongs to one group at most, so adding or removing one changes the
counts of one group.  If every group's counts go through an ε-DP release of their own, all of them
together are ε-DP under add/remove-row.  Where everyone's group is public and fixed and one value is
replaced, again one group changes: ε-DP under replace-one, with releases that are so.  A replacement
that may change the group as well is a row less in one group and one more in another: 2ε.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from dampen.core.selection import IntArray
from dampen.data.cells import Keyed, LabelKey
from dampen.data.columns import Lookup
from dampen.data.memory import MemoryTable, StreamTable
from dampen.data.source import Field, Kind, Opened, require_labels
from dampen.errors import ParameterError

__all__ = ["LARGEST_TABLE", "Grouping"]

LARGEST_TABLE = 50_000_000


@dataclass(frozen=True, slots=True)
class Grouping:
    """The public list of groups; rows of other groups are dropped, and nobody learns of them.

    Raises:
        ParameterError: if it is no list, is empty or names a group twice.
    """

    groups: Sequence[Hashable]

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", _listed(self.groups))
        try:
            different = len(set(self.groups))
        except TypeError:
            raise ParameterError("Expected groups such as text or whole numbers.") from None
        if different < len(self.groups):
            raise ParameterError("Expected different groups; some occur twice.")

    def check_column(self, opened: Opened, by: str, values: str) -> None:
        """Checks that the column of groups exists, and by its declared type can hold these groups.

        Rows of other groups are dropped silently, so numbers that never equal a text would show in
        nothing but a random answer.

        Raises:
            ParameterError: if it does not, or is the column of the values.
        """
        if by == values:
            raise ParameterError("Expected by=, the column of groups, beside that of the values.")
        require_labels(opened, by)
        [field] = [field for field in opened.fields if field.name == by]
        in_memory = isinstance(opened, MemoryTable | StreamTable)  # of files numbers become text
        text = all(isinstance(group, str) for group in self.groups)
        numbers = all(isinstance(group, Number) for group in self.groups)
        told = f"{field.type}" if opened.declared else "another type"
        if (text and in_memory and field.holds == "numbers") or (numbers and _is_text(field)):
            got = "text" if text else "numbers"
            raise ParameterError(
                f"Expected groups as they stand in column {by!r}, which holds {told}; got {got}."
            )

    def check_size(self, cells: int) -> None:
        """Refuses more counts than fit into memory."""
        if len(self.groups) * cells > LARGEST_TABLE:
            raise ParameterError(
                f"Expected at most {LARGEST_TABLE:,} counts, groups times cells, got "
                f"{len(self.groups)} times {cells:,}. Take a larger step, or fewer groups."
            )

    def counts(
        self, rows: Opened, by: str, wanted: Mapping[str, Kind], cell_of: Keyed, cells: int
    ) -> IntArray:
        """Rows by group, one line each, and cell; in one more column at the end those of no cell.

        Args:
            rows: the opened data.
            by: the name of the column of groups.
            wanted: the columns that `cell_of` looks at.
            cell_of: as in `Opened.counts`, within a group.
            cells: how many cells a group has.
        """
        lookup = Lookup(self.groups)
        width = cells + 1

        def place_of(keys: Mapping[str, Any]) -> IntArray:
            group = lookup.positions(keys[by])
            place = cell_of.cells(keys)
            place[place < 0] = cells
            place += group * width
            place[group < 0] = -1
            return place

        needed: dict[str, Kind] = {**wanted, by: lookup.kind}
        of = None if cell_of.of is None else (cell_of.of, by, self.groups, cells)
        keyed = Keyed({**cell_of.keys, by: LabelKey(self.groups)}, place_of, of)
        total = rows.counts(needed, keyed, len(self.groups) * width)
        return np.asarray(total[:-1].reshape(len(self.groups), width))


def _listed(groups: Any) -> tuple[Hashable, ...]:
    """The groups in their public order, numpy's scalars as plain ones."""
    if isinstance(groups, str | bytes | Set | Mapping) or not isinstance(groups, Collection):
        raise ParameterError(
            f"Expected groups, a public list of them, got {type(groups).__name__}."
        )
    listed = tuple(groups.tolist() if hasattr(groups, "tolist") else groups)
    if not listed:
        raise ParameterError("Expected groups, a public list of them, got none.")
    return listed


def _is_text(field: Field) -> bool:
    return field.type is not None and field.type.lower().startswith(("str", "large_str", "utf8"))
