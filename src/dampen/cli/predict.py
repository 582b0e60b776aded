"""`dampen predict`: the classes of new rows, by a tree that was released before."""

from pathlib import Path
from typing import Any

import click

from dampen.cli.options import file_argument, header_option, json_option
from dampen.cli.output import examples, print_json, printable, write
from dampen.cli.reading import looking_at, read_text
from dampen.errors import ParameterError, raise_alone

__all__ = ["predict"]

HEADING = "prediction"


@click.command(epilog=examples("dampen predict tree.json new.csv"))
@click.argument("tree_file", metavar="TREE", type=click.Path(path_type=Path))
@file_argument
@header_option
@json_option
def predict(tree_file: Path, file: str, header: bool, as_json: bool) -> None:
    """Predicts the class of every row of FILE with the tree in TREE, as CSV.

    Costs nothing: the tree is released already, and the rows stay with you. TREE is what `dampen
    tree -o` or `dampen budget answer` wrote.
    """
    from dampen.trees import TreeClassifier

    text = read_text(tree_file, "a tree")
    try:
        model = TreeClassifier.from_json(text)
    except ParameterError:
        raise_alone(
            ParameterError(f"Expected a tree written by `dampen tree -o`, not {tree_file}.")
        )
    with looking_at(file):
        classes = model.predict_table(file, header=header).tolist()
    if as_json:
        print_json(classes)
    else:
        write("\n".join([HEADING, *map(_csv_cell, classes)]))


def _csv_cell(value: Any) -> str:
    text = printable(str(value))
    return '"' + text.replace('"', '""') + '"' if set(text) & set('",') else text
