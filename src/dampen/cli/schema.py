"""`dampen schema`: draft the public description of a table, from data that is public."""

from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from dampen.cli.printing import example
from dampen.data.tables import open_table
from dampen.errors import DataError, ParameterError
from dampen.trees.schema import Bins, Column, Schema, Values, format_schema

FEW = 12
"""Whole numbers with at most so many different values are codes, not quantities."""
MANY = 1000
"""A column with more different texts than this names things; it splits nothing."""


@click.group(epilog=example("dampen schema init census.csv --target income --public"))
def schema() -> None:
    """The public description of a table: bins, values, classes, number of rows."""


@schema.command(
    epilog=example("dampen schema init census.csv --target income --public > census.toml")
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--target", help="The column of classes. [default: the last column]")
@click.option("--public", is_flag=True, help="Confirms that FILE is public.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="[default: print it]")
def init(file: Path, target: str | None, public: bool, output: Path | None) -> None:
    """Drafts a schema from FILE, which must be public: the draft shows its values.

    For private data write the schema from what is known without it, or draft it from public data
    of the same form, and widen it.
    """
    if not public:
        raise ParameterError(
            "Expected --public: a schema drafted from private data would publish its values, "
            "bounds and number of rows. Write it by hand instead."
        )
    table = open_table(file)
    target = target or table.columns[-1]
    table.require(target, *table.columns)
    text = format_schema(_draft(table.read(dict.fromkeys(table.columns, "text")), target))
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"Cannot write {output}: {error.strerror}.") from None


def _draft(columns: dict[str, NDArray[Any]], target: str) -> Schema:
    classes = sorted(set(columns[target]))
    if len(classes) < 2 or len(classes) > MANY:
        raise DataError(f"Expected 2 to {MANY} different classes in column {target!r}.")
    drafted = {name: _column(values) for name, values in columns.items() if name != target}
    kept = {name: column for name, column in drafted.items() if column is not None}
    if not kept:
        raise DataError("Expected a column besides the target that could split the rows.")
    return Schema(rows=len(columns[target]), columns=kept, classes=tuple(classes))


def _column(values: NDArray[Any]) -> Column | None:
    different = sorted(set(values))
    numbers = _numbers(different)
    if numbers is not None and not (len(different) <= FEW and (numbers == np.rint(numbers)).all()):
        return Bins(float(numbers.min()), float(numbers.max()), 10)
    if len(different) > MANY:
        return None
    return Values(tuple(different))


def _numbers(texts: list[str]) -> NDArray[np.float64] | None:
    try:
        numbers = np.array(texts, dtype=np.float64)
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None
