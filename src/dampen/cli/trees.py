"""`dampen tree`, `dampen predict` and `dampen schema`: private trees from files to files."""

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

import click
import numpy as np
from numpy.typing import NDArray

from dampen.cli.printing import example, print_facts, print_json
from dampen.cli.releasing import release_options
from dampen.cli.till import Till
from dampen.data.tables import Kind, Table, open_table
from dampen.epsilon import decimal_text
from dampen.errors import DataError, ParameterError
from dampen.trees.schema import Bins, Schema, load_schema

if TYPE_CHECKING:
    from dampen.trees import TreeClassifier

PREDICTIONS = "prediction"


@click.command(
    epilog=example(
        "dampen tree census.csv --target income --schema census.toml --epsilon 1 --depth 4 \\",
        "  -o tree.json",
        "dampen predict tree.json new.csv > predictions.csv",
    )
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--target", required=True, help="The column of classes.")
@click.option(
    "--schema",
    "schema_file",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The public bins, values, classes and number of rows; see `dampen schema`.",
)
@click.option("--depth", type=int, help="Levels of splits. [default: from epsilon and the schema]")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the tree as JSON.")
@release_options
def tree(
    *,
    file: Path,
    target: str,
    schema_file: Path,
    epsilon: str,
    depth: int | None,
    mechanism: str | None,
    output: Path | None,
    till: Till,
    as_json: bool,
) -> None:
    """Grows a private decision tree from the table in FILE.

    Protects each row (neighbours: add or remove one). Uses the columns that the schema describes.
    """
    schema, table = load_schema(schema_file), open_table(file)
    _check_columns(schema, table, target)
    _check_writable(output)
    rows = PrivateRows(table, _kinds(schema.columns), target)
    model = _classifier(schema, epsilon, depth, mechanism, till)
    till.asked = f"for {target}"
    with till.open():
        model.fit(Attributes(rows), Classes(rows))
    model.feature_names_in_ = np.array(list(schema.columns), dtype=object)
    if output is not None:
        _write(model, output)
    if as_json:
        click.echo(model.to_json())
    else:
        _show_tree(model, till, output)


@click.command(epilog=example("dampen predict tree.json new.csv > predictions.csv"))
@click.argument("tree_file", metavar="TREE", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="A JSON list, for machines.")
def predict(tree_file: Path, file: Path, as_json: bool) -> None:
    """Predicts the class of every row of FILE with the tree in TREE, as CSV.

    Costs nothing: the tree is released already, and the rows stay with you.
    """
    model, table = _load_tree(tree_file), open_table(file)
    names = [str(name) for name in model.feature_names_in_]
    table.require(*names)
    rows = PrivateRows(table, _kinds(dict(zip(names, model.domains_, strict=True))))
    with catch_warnings():
        # The names were checked above; scikit-learn looks for them in data frames only.
        filterwarnings("ignore", message="X does not have valid feature names")
        classes = model.predict(Attributes(rows)).tolist() if len(rows) else []
    if as_json:
        print_json(classes)
    else:
        click.echo("\n".join([PREDICTIONS, *map(_csv_cell, classes)]))


class PrivateRows:
    """Columns of a table that are read when they are first looked at, which is after the charge."""

    def __init__(self, table: Table, kinds: dict[str, Kind], target: str | None = None) -> None:
        self.table, self.kinds, self.target = table, kinds, target

    def __len__(self) -> int:
        return len(next(iter(self._read.values())))

    @property
    def names(self) -> list[str]:
        """The attributes, which are public."""
        return list(self.kinds)

    @property
    def attributes(self) -> NDArray[Any]:
        """One row per row, one column per attribute."""
        return np.column_stack([self._read[name].astype(object) for name in self.kinds])

    @property
    def classes(self) -> NDArray[Any]:
        """The target of every row."""
        return self._read[str(self.target)].astype(str)

    @cached_property
    def _read(self) -> dict[str, NDArray[Any]]:
        target: dict[str, Kind] = {} if self.target is None else {self.target: "text"}
        columns = self.table.read(self.kinds | target)
        for name, kind in self.kinds.items():
            if kind == "numbers" and np.isnan(columns[name]).any():
                raise DataError(f"Expected a number in every row of column {name!r}.")
        if self.target is not None and len(columns[self.target]) == 0:
            raise DataError(f"Expected rows in {self.table.path}.")
        return columns


class Attributes:
    """The rows as scikit-learn sees a table: columns known, values on demand."""

    def __init__(self, rows: PrivateRows) -> None:
        self._rows, self.columns = rows, rows.names

    @property
    def shape(self) -> tuple[int, int]:
        return len(self._rows), len(self.columns)

    def __len__(self) -> int:
        return len(self._rows)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self._rows.attributes, dtype=dtype)


class Classes:
    """The target as scikit-learn sees a column."""

    def __init__(self, rows: PrivateRows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self._rows.classes, dtype=dtype)


def _check_columns(schema: Schema, table: Table, target: str) -> None:
    if target in schema.columns:
        raise ParameterError(f"Expected the target {target!r} only in [target] of the schema.")
    table.require(target, *schema.columns)
    binned = [name for name, column in schema.columns.items() if isinstance(column, Bins)]
    table.require_numbers(*binned)


def _check_writable(output: Path | None) -> None:
    """Before the charge: a tree that cannot be kept should not be paid for."""
    if output is None:
        return
    place = output if os.path.lexists(output) else output.absolute().parent
    if os.path.isdir(output) or not os.access(place, os.W_OK):
        raise ParameterError(f"Cannot write {output}.")


def _write(model: "TreeClassifier", output: Path) -> None:
    try:
        output.write_text(model.to_json() + "\n", encoding="utf-8")
    except OSError as error:
        click.echo(model.to_json())  # it was paid for
        why = f"Cannot write {output}: {error.strerror}. The tree is on standard output."
        raise click.ClickException(why) from None


def _classifier(
    schema: Schema, epsilon: str, depth: int | None, mechanism: str | None, till: Till
) -> "TreeClassifier":
    from dampen.trees import Categories, TreeClassifier, bins

    domains = [
        bins(column.lower, column.upper, column.count)
        if isinstance(column, Bins)
        else Categories(column.values)
        for column in schema.columns.values()
    ]
    return TreeClassifier(
        epsilon,
        max_depth=depth,
        mechanism=mechanism or "pf",
        domains=domains,
        classes=schema.classes,
        max_rows=schema.rows,
        budget=till,
    )


def _show_tree(model: "TreeClassifier", till: Till, output: Path | None) -> None:
    click.echo(model.report())
    facts = {"epsilon": decimal_text(model.plan_.epsilon)}
    if budget := till.facts().get("budget"):
        facts["budget"] = f"{budget['name']}, {budget['left']} of {budget['total']} left"
    if output is not None:
        facts["written to"] = str(output)
    click.echo()
    print_facts(facts)


def _load_tree(path: Path) -> "TreeClassifier":
    from dampen.trees import TreeClassifier

    try:
        model = TreeClassifier.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParameterError(f"Cannot read {path}: {error.strerror}.") from None
    except (UnicodeDecodeError, KeyError, TypeError, ValueError):
        raise ParameterError(f"Expected a tree written by `dampen tree -o`, not {path}.") from None
    if getattr(model, "feature_names_in_", None) is None:
        raise ParameterError(f"Expected a tree with names of columns; {path} has none.")
    return model


def _kinds(columns: Mapping[str, Any]) -> dict[str, Kind]:
    """How to read each column: those with bins, of a schema or of a tree, are numbers."""
    from dampen.trees import Bins as TreeBins

    return {
        name: "numbers" if isinstance(column, Bins | TreeBins) else "text"
        for name, column in columns.items()
    }


def _csv_cell(value: Any) -> str:
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if set(text) & set('",\r\n') else text
