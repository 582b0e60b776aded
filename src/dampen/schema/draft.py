"""A first `[[data]]` for a table, every fact of which the curator still has to confirm.

From the header alone it states no fact about any row: each column is a line to fill in.  With
`look` ranges and lists are read off the data, and each of them is marked: whoever keeps such a line
publishes what it says.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dampen.core.selection import FloatArray
from dampen.data.columns import as_labels, as_numbers
from dampen.data.open import open_table
from dampen.data.source import Field, Opened, whole_columns
from dampen.schema.grammar import written, written_key
from dampen.schema.schema import Categories, Column, Numbers, Word

__all__ = ["draft_data", "drafted_column", "name_of"]

FEW = 12
"""Whole numbers with at most so many different values are codes, not quantities."""
MANY = 1000
"""A column with more different texts than this names things."""
CONFIRM = """# A draft: confirm every line. State only what is known without looking at the data.

[[data]]
name = {name}
files = [{file}]
budgets = [{name}]
unit = "row"                # what ε protects: one row
units-public = false        # true only if the number of rows is public
# rows = 1000               # a public bound on the number of rows, if there is one

[data.columns]
"""
TAKEN = "# taken from the data: confirm that it is public"
NUMBERS = "{ lower = 0, upper = 100 }    # the public range"
VALUES = '["A", "B"]    # the public list of values'
EITHER = '["A", "B"]    # the public list of values; or { lower = 0, upper = 100 }, a public range'


def draft_data(data: Any, *, file: str, name: str, look: bool = False, header: bool = False) -> str:
    """The text of a draft.

    Args:
        data: any table (see `dampen.data`).
        file: how the draft names where the rows are.
        name: of the data set.
        look: whether ranges and values are read off the data, which the draft then shows.
        header: says that the first line of a text file surely holds the names of its columns.

    Raises:
        ParameterError: if there is no such table.
    """
    opened = open_table(data, header=header)
    lines = _looked(opened) if look else [_open_line(each) for each in opened.fields]
    return CONFIRM.format(name=written(name), file=written(file)) + "\n".join(lines) + "\n"


def _open_line(field: Field) -> str:
    """A column of which only its name, and perhaps its type, is known."""
    if field.holds == "other":
        return f"# {written_key(field.name)}: {field.type} cannot be asked about"
    facts = EITHER if field.holds is None else NUMBERS if field.holds == "numbers" else VALUES
    return f"# {written_key(field.name)} = {facts}"


def _looked(opened: Opened) -> list[str]:
    held = [each for each in opened.fields if each.holds != "other"]
    columns = whole_columns(opened, dict.fromkeys((each.name for each in held), "text"))
    lines: list[str] = []
    for each in opened.fields:
        column = drafted_column(as_labels(columns[each.name])) if each in held else None
        if column is None:
            lines.append(_open_line(each))
        else:
            lines.append(f"{written_key(each.name)} = {written(column)}  {TAKEN}")
    return lines


def drafted_column(values: Sequence[Any]) -> Column | None:
    """The range of numbers, or the listed values; None for a column that names things.

    Numbers are drafted where nine of ten different texts are: the others are cells such as "n/a".
    """
    present = sorted({str(value) for value in values if value not in (None, "")})
    numbers = _numbers(present)
    if 10 * len(numbers) >= 9 * len(present) > 0 and not _are_codes(numbers):
        return Numbers(float(numbers.min()), float(numbers.max()))
    if not 1 <= len(present) <= MANY:
        return None
    return Categories(tuple(map(Word, present)))


def _numbers(texts: Sequence[str]) -> FloatArray:
    """Those texts that are finite numbers."""
    numbers: FloatArray = as_numbers(list(map(_number, texts)))
    return numbers[np.isfinite(numbers)]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _are_codes(numbers: FloatArray) -> bool:
    """Few whole numbers, or one number that leaves no range."""
    if not len(numbers):
        return True
    few_whole = len(numbers) <= FEW and bool((numbers == np.rint(numbers)).all())
    return few_whole or bool(numbers.min() == numbers.max())


def name_of(file: str) -> str:
    """The name of a data set in a file."""
    return "table" if file == "-" else Path(file).name.partition(".")[0] or "table"
