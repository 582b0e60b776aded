"""Counts by group and cell, ready for questions about ranks.

For a group x with n rows on the cells 0, 1, ..., m of a public grid, B_v is the number of rows
below cell v (B_0 = 0, B_{m+1} = n), and A_v the sum of their cells.  Questions come in arrays:
`who` is the group's row in the counts, and all arguments have, or broadcast to, one shape.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dampen.core.selection import IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Histograms:
    """Private counts, one row per group, one column per cell."""

    counts: IntArray

    @property
    def top(self) -> int:
        """m, the highest cell."""
        return self.counts.shape[1] - 1

    @cached_property
    def sizes(self) -> IntArray:
        """n of every group."""
        return self.counts.sum(axis=1)

    @cached_property
    def mirrored(self) -> "Histograms":
        """Every value v becomes m - v."""
        return Histograms(self.counts[:, ::-1])

    def below(self, who: IntArray, cell: IntArray) -> IntArray:
        """B_cell, for cell = 0..m+1."""
        return self._ladder[who * (self.top + 2) + cell] - who * self._stride

    def cell_after(self, who: IntArray, rank: IntArray) -> IntArray:
        """The cell v of the lowest row that has `rank` rows before it: B_v <= rank < B_{v+1}.

        For rank = 0..n; m+1 for rank = n.
        """
        found = np.searchsorted(self._ladder, who * self._stride + rank, side="right")
        return found - who * (self.top + 2) - 1

    def lowest(self, who: IntArray, count: IntArray) -> IntArray:
        """The sum of the cells of the `count` lowest rows; rows beyond n count as cell m."""
        inside = np.minimum(count, self.sizes[who])
        cell = self.cell_after(who, inside)
        partial = (inside - self.below(who, cell)) * cell
        return self._sums[who * (self.top + 2) + cell] + partial + (count - inside) * self.top

    @cached_property
    def _stride(self) -> int:
        return int(self.sizes.max()) + 1

    @cached_property
    def _ladder(self) -> IntArray:
        """All B_v, group after group, each group a stride higher: one ascending array to search."""
        ladder = _running(self.counts)
        ladder += np.arange(len(ladder))[:, None] * self._stride
        return ladder.ravel()

    @cached_property
    def _sums(self) -> IntArray:
        """All A_v, group after group."""
        return _running(self.counts * np.arange(self.top + 1)).ravel()


def _running(counts: IntArray) -> IntArray:
    """Sums over the cells below each of the cells 0..m+1."""
    sums = np.zeros((counts.shape[0], counts.shape[1] + 1), dtype=np.int64)
    np.cumsum(counts, axis=1, out=sums[:, 1:])
    return sums
