"""`dampen predict`: the classes of new rows, by a model that was released before."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dampen.cli.options import (
    file_argument,
    header_option,
    json_option,
    looking_at,
    read_text,
    table_option,
)
from dampen.cli.output import examples, print_json, printable, write
from dampen.errors import ParameterError

if TYPE_CHECKING:
    from dampen.questions.classify.model import Model

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
    from dampen.data.open import open_table
    from dampen.questions.classify.question import predicted_places

    model = _model(model_file)
    with looking_at(file):
        places = predicted_places(model, open_table(file, header=header, table=table))
    classes = model.columns.classes[places].tolist()
    if as_json:
        print_json(classes)
    else:
        write("\n".join([HEADING, *map(_csv_cell, classes)]))


def _model(path: Path) -> "Model":
    from dampen.questions.classify.model import model_of, read_release

    text = read_text(path, "a model")
    with suppress(ParameterError):
        return model_of(read_release(text).answer)
    raise ParameterError(
        f"Expected a model written by `dampen tree -o`, `dampen naive-bayes -o` or `dampen "
        f"classifier -o`, not {path}."
    )


def _csv_cell(value: Any) -> str:
    text = printable(str(value))
    return '"' + text.replace('"', '""') + '"' if set(text) & set('",') else text
