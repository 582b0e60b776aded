"""The most frequent category: the simplest problem, and a pattern for your own.

Add/remove one row.  u(x, r) = the number of rows of category r: integers, Δ = 1, and one-sided,
because adding a row never lowers a count.  One row changes one count: the selection is separable,
so that no score pays a factor 2, and the whole vector of counts has 1-norm sensitivity 1, so that
`joint` reads off any k for one ε.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from dampen.core import sensitivity
from dampen.core.scores import Global, Shifted
from dampen.core.selection import IntArray, Neighbours, Selection
from dampen.data.cells import Keyed, LabelKey
from dampen.data.columns import Lookup
from dampen.data.grouping import Grouping
from dampen.data.memory import MemoryTable
from dampen.data.source import Kind, Opened
from dampen.errors import DataError, ParameterError

__all__ = ["MostFrequent"]


@dataclass(frozen=True)
class MostFrequent:
    """Which of the public `categories` occurs most often?"""

    categories: Sequence[Hashable]
    neighbours = Neighbours.ADD_REMOVE_ROW
    joint = MappingProxyType({Global(): 1.0, Shifted(): 1.0})

    def __post_init__(self) -> None:
        if isinstance(self.categories, str):
            raise ParameterError("Expected categories to be a list, got one text.")
        if len(self.categories) == 0:
            raise ParameterError("Expected at least one category, got none.")
        try:
            different = len(set(self.categories))
        except TypeError:
            raise ParameterError("Expected categories such as text or numbers.") from None
        if different < len(self.categories):
            raise ParameterError("Expected different categories; some occur twice.")

    @property
    def candidates(self) -> Sequence[Hashable]:
        return self.categories

    def selection(self, values: Any, /) -> Selection:
        """A column of values, or the counts of the categories as a mapping.

        Raises:
            DataError: if a value is not among the categories.
        """
        return self.selection_of_counts(self.counts(values))

    def counts(self, values: Any, /) -> IntArray:
        """The rows of every category, then those of none of them; see `selection`."""
        if isinstance(values, Mapping):
            return self._given_counts(values)
        return self.opened_counts(MemoryTable({"": values}), "")

    def opened_counts(self, rows: Opened, column: str, /) -> IntArray:
        """The rows of every category, then those of none of them, of an opened table."""
        return rows.counts(self._wanted(column), self._cell_of(column), len(self.categories))

    def grouped_counts(self, rows: Opened, column: str, by: str, grouping: Grouping, /) -> IntArray:
        """`opened_counts` of every group, one line each."""
        wanted = self._wanted(column)
        cell_of = self._cell_of(column)
        return grouping.counts(rows, by, wanted, cell_of, len(self.categories))

    def selection_of_counts(self, counts: IntArray, /) -> Selection:
        """From the rows of every category, then those of none of them.

        Raises:
            DataError: if there are rows of none of the categories.
        """
        if counts[-1]:
            raise DataError(
                "Expected only values from the given categories; there is another one. Add it to "
                "categories= if it is public, or drop such rows before the release."
            )
        return Selection(
            counts[:-1],
            sensitivity.constant(1),
            one_sided=True,
            separable=True,
            joint=self.joint,
            exact=True,
        )

    def _wanted(self, column: str) -> dict[str, Kind]:
        return {column: Lookup(self.categories).kind}

    def _cell_of(self, column: str) -> Keyed:
        lookup = Lookup(self.categories)
        return Keyed(
            {column: LabelKey(self.categories)}, lambda keys: lookup.positions(keys[column])
        )

    def _given_counts(self, counts: Mapping[Any, Any]) -> IntArray:
        known = set(self.categories)
        others = sum(1 for value in counts if value not in known)
        given = [counts.get(category, 0) for category in self.categories]
        if not all(isinstance(c, int | np.integer) and 0 <= c < 2**53 for c in given):
            raise DataError("Expected counts that are whole numbers >= 0, as a Counter has.")
        return np.array([*given, others], dtype=np.int64)
