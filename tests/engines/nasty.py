"""Public grids, and numbers on which rounding could decide wrongly: points and their neighbours."""

import math
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from dampen.data import open_table
from dampen.data.cells import Grouping, Keyed
from dampen.questions.groups.statistics import Grid
from dampen.questions.percentile.values import ValueGrid

GRIDS = [
    ValueGrid(0, 1, 0.1), ValueGrid(0, 500_000, 500), ValueGrid(-0.7, 2.05, 0.3),
    ValueGrid(5, 6, 7), ValueGrid(0, 0.3, 0.1), ValueGrid(2**30, 2**30 + 7, 1),
    ValueGrid(2**28, 2**28 + 5, 0.25), ValueGrid(2**43, 2**43 + 2, 0.0625),
    ValueGrid(-(2**44), 1 - 2**44, 0.3),
    ValueGrid(-(10**6), 10**6, 0.37), ValueGrid(1e-5, 1e-3, 1e-5), ValueGrid(-1, 1e7, 1.1),
    Grid.between(0, 1, 0.1), Grid.between(-3, 69_997, 7), Grid.between(0, 9.9, 0.33),
]  # fmt: skip


def numbers_near(points: Any, seed: int = 3) -> pa.Array:
    """Points with the floats around them, numbers between and beyond, zeros, infinities, NaN."""
    random = np.random.default_rng(seed)
    some = np.asarray(points, dtype=np.float64)
    some = random.choice(some, size=min(len(some), 2000), replace=False)
    around = [np.nextafter(some, -np.inf), some, np.nextafter(some, np.inf)]
    between = random.uniform(some.min() - 1, some.max() + 1, 2000)
    odd = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e308, -1e308, 5e-324]
    return pa.array([*np.concatenate([*around, between]).tolist(), *odd, None, None])


def points_of(grid: ValueGrid | Grid) -> Any:
    if isinstance(grid, ValueGrid):
        return grid.points
    # Half a cell: where the nearest point changes.
    return np.array([float(grid.value(k / 2)) for k in range(2 * grid.top + 1)])


def cells_of(data: Any, grid: ValueGrid | Grid) -> Any:
    """The counts of the columns x and w by cell and label."""
    size = grid.size if isinstance(grid, ValueGrid) else grid.top + 1
    wanted, cell_of = {"x": "numbers"}, Keyed({"x": grid.key}, itemgetter("x"))
    return Grouping(["a", "b"]).counts(open_table(data), "w", wanted, cell_of, size).tolist()


def table_of(numbers: Any) -> pa.Table:
    return pa.table(
        {"x": numbers, "w": [["a", "b", "c", None][i % 4] for i in range(len(numbers))]}
    )
