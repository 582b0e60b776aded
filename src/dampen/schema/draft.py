"""A first schema of a table that is public; what is drafted shows its values."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dampen.core.selection import FloatArray
from dampen.data.columns import as_labels
from dampen.data.open import open_table
from dampen.data.source import require_labels, whole_columns
from dampen.errors import DataError
from dampen.schema.columns import Categories, Column, Numbers, Rule, Word
from dampen.schema.schema import Schema

__all__ = ["draft_schema"]

BINS = 10
FEW = 12
"""Whole numbers with at most so many different values are codes, not quantities."""
MANY = 1000
"""A column with more different texts than this names things; it splits nothing."""


def draft_schema(data: Any, *, target: str | None = None, header: bool = False) -> Schema:
    """A schema read off a public table: bins over the range of numbers, lists of other values.

    Args:
        data: any table (see `dampen.data`).
        target: the column of classes; the last one by default.
        header: says that the first line of a text file surely holds the names of its columns.

    Raises:
        ParameterError: if there is no such table or column.
        DataError: if the target has not between 2 and 1000 classes, or nothing could split rows.
    """
    table = open_table(data, header=header)
    names = [field.name for field in table.fields]
    classes_in = target if target is not None else names[-1]
    require_labels(table, classes_in, *names)
    columns = whole_columns(table, dict.fromkeys(names, "text"))
    texts = {name: as_labels(chunks) for name, chunks in columns.items()}
    classes = _different(texts.pop(classes_in))
    if not 2 <= len(classes) <= MANY or None in classes:
        raise DataError(f"Expected 2 to {MANY} different classes in column {classes_in!r}.")
    drafted = {name: _drafted(values) for name, values in texts.items()}
    kept = {name: column for name, column in drafted.items() if column is not None}
    if not kept:
        raise DataError("Expected a column besides the target that could split the rows.")
    rows = sum(map(len, columns[classes_in]))
    target_column = Categories(tuple(map(Word, classes)))
    return Schema(rows=max(rows, 1), columns={**kept, classes_in: target_column})


def _drafted(values: Sequence[Any]) -> Column | None:
    """Numbers in bins, or listed values; None for a column that splits nothing."""
    different = _different(values)
    present = [value for value in different if value is not None]
    missing: Rule | None = "own" if len(present) < len(different) else None
    numbers = _numbers(present)
    if numbers is not None and not _are_codes(numbers):
        return Numbers(float(numbers.min()), float(numbers.max()), bins=BINS, missing=missing)
    if not 1 <= len(present) <= MANY:
        return None
    return Categories(tuple(map(Word, present)), missing=missing)


def _different(values: Sequence[Any]) -> list[Any]:
    """The distinct texts, sorted; a missing one last.  An empty cell of a text file is missing."""
    found = {None if value in (None, "") else str(value) for value in values}
    return [
        *sorted(value for value in found if value is not None),
        *([None] if None in found else []),
    ]


def _numbers(texts: Sequence[str]) -> FloatArray | None:
    try:
        numbers = np.array(texts, dtype=np.float64)
    except ValueError:
        return None
    return numbers if len(numbers) and np.isfinite(numbers).all() else None


def _are_codes(numbers: FloatArray) -> bool:
    """Few whole numbers, or one number that leaves no range."""
    few_whole = len(numbers) <= FEW and bool((numbers == np.rint(numbers)).all())
    return few_whole or bool(numbers.min() == numbers.max())
