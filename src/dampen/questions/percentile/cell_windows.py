"""Where a percentile may be: runs of public cells, from one cell to all of them.

**Why not single cells.**  By rank alone all cells of a gap are as good as its ends.  Next to a gap,
or next to the end of a large tie, hundreds of empty cells would then outweigh the one with the
percentile, and an interval would begin where nobody is.  No private rule can tell a cell with one
record from an empty one; it can tell t records, t being a few times 1/ε.  So a candidate is a
window that must hold t records, and be no wider than it takes.

**Windows.**  Every cell; and for each size 2, 4, 8, ... the runs of so many cells that start at
multiples of half the size, and the last run.  A gap holds many windows, all of them t records
short; around its ends there are a few of each size.

**Utility.**  With L values in cells below the window, R up to its end, N = R - L inside, and M the
most values in any of its runs of half the size (at steps of a quarter; 0 for a single cell),

    u = -max(0, L+1-k, k-R, t-N, (M-t)/4).

Rank distance and want of records count fully; a window that is too wide is a lesser evil.  Each of
L, R, N, M changes by at most 1 if one record is replaced, and so does u: sensitivity 1.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dampen.core import sensitivity
from dampen.core.selection import IntArray, Selection

__all__ = ["Windows"]

PART = 4
"""Utilities are whole numbers of 1/PART."""


@dataclass(frozen=True)
class Windows:
    """The windows of so many cells."""

    cells: int

    def selection(self, counts: IntArray, k: int, t: int) -> Selection:
        """By rank and number, from the number of values in every cell; k is the rank wanted."""
        up_to = np.concatenate([[0], np.cumsum(counts)])
        low = up_to[self.starts]
        high = up_to[self.ends]
        short = np.maximum(np.maximum(low + 1 - k, k - high), t - (high - low))
        u = -np.maximum(np.maximum(PART * short, self._fullest_half(up_to) - t), 0)
        return Selection(u, sensitivity.constant(PART), exact=True)

    @cached_property
    def centres(self) -> IntArray:
        """The cell in the middle of every window."""
        return (self.starts + self.ends) // 2

    @cached_property
    def starts(self) -> IntArray:
        return np.concatenate([starts for starts, _ in self._sizes])

    @cached_property
    def ends(self) -> IntArray:
        return np.concatenate([starts + size for starts, size in self._sizes])

    @cached_property
    def _sizes(self) -> list[tuple[IntArray, int]]:
        """The starts of the windows of every size."""
        found = [(np.arange(self.cells), 1)]
        size = 2
        while size <= self.cells:
            steps = np.arange(0, self.cells - size + 1, size // 2)
            found.append((np.union1d(steps, [self.cells - size]), size))
            size *= 2
        return found

    def _fullest_half(self, up_to: IntArray) -> IntArray:
        """M."""
        fullest = [np.zeros(self.cells, dtype=np.int64)]
        for starts, size in self._sizes[1:]:
            half = size // 2
            step = max(size // 4, 1)
            within = [
                up_to[starts + shift + half] - up_to[starts + shift]
                for shift in range(0, half + 1, step)
            ]
            fullest.append(np.max(within, axis=0))
        return np.concatenate(fullest)
