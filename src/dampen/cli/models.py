"""What the commands that fit a model share: the schema in, the model out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dampen.cli.delivery import deliver, release_facts
from dampen.cli.output import facts_text, json_line
from dampen.cli.reading import check_output, read_text, write_text
from dampen.cli.receipt import Receipt
from dampen.errors import ParameterError

if TYPE_CHECKING:
    from dampen.schema import Column

__all__ = ["public_schema", "schema_option", "show_model"]

F = TypeVar("F", bound=Callable[..., Any])


def schema_option(command: F) -> F:
    """Adds --schema, the path `schema_file`."""
    return click.option(
        "--schema",
        "schema_file",
        type=click.Path(path_type=Path),
        required=True,
        metavar="FILE",
        help="The public bins, values, classes and number of rows; see `dampen schema`.",
    )(command)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a model needs of a schema: a bound on the rows, columns, and classes."""

    rows: int
    columns: "Mapping[str, Column]"
    classes: tuple[str, ...]


def public_schema(
    schema_file: Path, target: str, file: str, output: Path | None, receipt: Receipt
) -> ModelFacts:
    """Reads the schema, once it is clear that the model will not be written over a file in use."""
    from dampen.schema import parse_schema

    text = read_text(schema_file, "a schema")
    schema = parse_schema(text, str(schema_file), target=target)
    check_output(output, file, schema_file, receipt.ledger)
    if schema.rows is None:
        raise ParameterError(
            f"Expected rows = N in {schema_file}, a public upper bound on the number of rows."
        )
    classes = schema.fact("classes", target)
    domains = {name: each for name, each in schema.fact("domains").items() if name != target}
    return ModelFacts(schema.rows, domains, classes)


def show_model(
    model: Any, what: str, receipt: Receipt, output: Path | None, *, as_json: bool
) -> None:
    """Writes and prints a fitted model; one that cannot be written is printed whole."""
    answer = model.to_json()
    facts = release_facts(model.release_, receipt)
    failed = ""
    if output is not None:
        try:
            write_text(output, answer + "\n")
            facts["written to"] = str(output)
        except OSError as error:
            failed = f"Cannot write {output}: {error.strerror}. The {what} is on standard output."
    shown = f"{model.report()}\n\n{facts_text(facts)}"
    deliver(json_line(answer) if as_json or failed else shown, receipt, answer)
    if failed:
        raise click.ClickException(f"{failed} {receipt.told}".strip())
