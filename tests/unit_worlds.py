"""Small worlds of persons, and what questions count in them."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dampen.data.memory import MemoryTable
from dampen.data.units import UnitTable, Weighing
from dampen.questions.groups.problem import BestGroup
from dampen.testing import Universe

GROUPS = ("a", "b", "c")
PAIRS = [(group, value) for group in GROUPS for value in (0, 1)]

TWO_PERSONS = Universe.units(PAIRS, max_units=2, max_rows=3)
"""Three groups, two values, any memberships."""
THREE_PERSONS = Universe.units([("a", 1), ("b", 0), ("b", 1), ("c", 1)], max_units=3, max_rows=3)
UNIVERSES = {"two persons": TWO_PERSONS, "three persons": THREE_PERSONS}

Persons = Sequence[tuple[Any, ...]]
Counts = NDArray[np.int64]


def table(persons: Persons) -> dict[str, Any]:
    """The rows of persons, each of whom has an id of their own."""
    rows = [(i, *row) for i, person in enumerate(persons) for row in person]
    unit, group, value = zip(*rows, strict=True) if rows else ((), (), ())
    return {
        "unit": np.array(unit, dtype=np.int64),
        "group": np.array(group, dtype=str),
        "value": np.array(value, dtype=np.float64),
    }


def problem(**options: Any) -> BestGroup:
    """Groups compared by their values from 0 to 1."""
    given = {"groups": GROUPS, "lower": 0, "upper": 1, "step": 1, "caution": 1} | options
    return BestGroup(**given)


@cache
def weights(name: str, weighing: Weighing) -> Counts:
    """By database, group and value: all databases of a universe as one table, side by side."""
    rows = [
        (where, f"{where} {i}", 3 * GROUPS.index(group) + value)
        for where, persons in enumerate(UNIVERSES[name].databases)
        for i, person in enumerate(persons)
        for group, value in person
    ]
    where, unit, cell = zip(*rows, strict=True)
    opened = MemoryTable({"unit": unit, "cell": 9 * np.array(where) + np.array(cell)})
    size = 9 * len(UNIVERSES[name].databases)
    counted = UnitTable(opened, "unit", weighing, width=3).counts(
        {"cell": "any"}, lambda batch: np.asarray(batch["cell"]), size
    )
    return counted[:-1].reshape(-1, 3, 3)[:, :, :2]


def moves(name: str, weighing: Weighing) -> Counts:
    """What a person who comes changes, for every pair of neighbours."""
    counts = weights(name, weighing)
    left, right = UNIVERSES[name].neighbours.T
    return counts[right] - counts[left]
