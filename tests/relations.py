"""Questions under either relation: whether the number of rows is public decides which."""

from typing import Any

import dampen
from dampen.core.selection import Neighbours
from dampen.schema import Categories, Schema

RELATIONS = [str(Neighbours.REPLACE_ONE), str(Neighbours.ADD_REMOVE_ROW)]


def facts(relation: str, rows: int | None = None, **fixed: Any) -> Schema:
    """The facts of a table with that relation; columns whose values are public and fixed."""
    columns = {name: Categories(tuple(values), public=True) for name, values in fixed.items()}
    return Schema(units_public=relation == Neighbours.REPLACE_ONE, rows=rows, columns=columns)


def percentile(values: Any, relation: str, **given: Any) -> dampen.Release:
    """Percentiles of a column under that relation."""
    held = dampen.dataset({"v": values}, units_public=relation == Neighbours.REPLACE_ONE)
    return held.percentile("v", **given)
