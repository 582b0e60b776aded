"""`dampen predict`: the classes of new rows, by a model that was released before."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from dampen.cli.options import file_argument, header_option, json_option, table_option
from dampen.cli.output import examples, print_json, printable, write
from dampen.cli.reading import looking_at, read_text
from dampen.errors import ParameterError

__all__ = ["predict"]

HEADING = "prediction"


@click.command(epilog=examples("dampen predict tree.json new.csv"))
@click.argument("model_file", metavar="MODEL", type=click.Path(path_type=Path))
@file_argument
@header_option
@table_option
@json_option
def predict(model_file: Path, file: str, header: bool, table: str | None, as_json: bool) -> None:
    """Predicts the class of every row of FILE with the model in MODEL, as CSV.

    Costs nothing: the model is released already, and the rows stay with you. MODEL is what `dampen
    tree -o`, `dampen naive-bayes -o`, `dampen classifier -o` or `dampen budget answer` wrote.
    """
    model = _model(model_file)
    with looking_at(file):
        classes = model.predict_table(file, header=header, table=table).tolist()
    if as_json:
        print_json(classes)
    else:
        write("\n".join([HEADING, *map(_csv_cell, classes)]))


def _model(path: Path) -> Any:
    from dampen.questions.classify import Classifier

    text = read_text(path, "a model")
    with suppress(ParameterError):
        return Classifier.from_json(text)
    raise ParameterError(
        f"Expected a model written by `dampen tree -o`, `dampen naive-bayes -o` or `dampen "
        f"classifier -o`, not {path}."
    )


def _csv_cell(value: Any) -> str:
    text = printable(str(value))
    return '"' + text.replace('"', '""') + '"' if set(text) & set('",') else text
