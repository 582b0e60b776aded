"""`dampen tree`: a private decision tree, from a table to a file."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dampen.cli.delivery import deliver, release_facts
from dampen.cli.interrupts import held
from dampen.cli.options import (
    column_option,
    file_argument,
    header_option,
    output_option,
    release_options,
)
from dampen.cli.output import examples, facts_text, json_line
from dampen.cli.reading import check_output, read_text, write_text
from dampen.cli.receipt import Receipt

if TYPE_CHECKING:
    from dampen.trees import TreeClassifier

__all__ = ["tree"]


@click.command(
    epilog=examples(
        "dampen tree census.csv --target income --schema census.toml --epsilon 1 --depth 4 \\",
        "  -o tree.json",
        "dampen predict tree.json new.csv",
    )
)
@file_argument
@column_option("--target", required=True, help="The column of classes.")
@click.option(
    "--schema",
    "schema_file",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The public bins, values, classes and number of rows; see `dampen schema`.",
)
@click.option("--depth", type=int, help="Levels of splits. [default: from epsilon and the schema]")
@output_option("Write the tree as JSON.")
@header_option
@release_options
def tree(
    *,
    file: str,
    target: str,
    schema_file: Path,
    epsilon: str | None,
    rho: str | None,
    depth: int | None,
    mechanism: str | None,
    output: Path | None,
    header: bool,
    receipt: Receipt,
    as_json: bool,
) -> None:
    """Grows a private decision tree from the table in FILE.

    Protects each row (neighbours: add or remove one). Uses the columns that the schema describes.
    FILE is CSV, TSV, JSON lines, Parquet or Feather, packed or not; - is standard input.
    """
    from dampen.trees import TreeClassifier
    from dampen.trees.schema import parse_schema

    schema = parse_schema(read_text(schema_file, "a schema"), str(schema_file))
    check_output(output, file, schema_file, receipt.ledger)
    receipt.asked = f"for {target}"
    model = TreeClassifier(
        epsilon,
        rho=rho,
        max_depth=depth,
        mechanism=mechanism or "pf",
        domains=dict(schema.columns),
        classes=schema.classes,
        max_rows=schema.rows,
        budget=receipt.budget,
    ).fit_table(file, target=target, header=header)
    with held():
        _show(model, receipt, output, as_json=as_json)


def _show(model: "TreeClassifier", receipt: Receipt, output: Path | None, *, as_json: bool) -> None:
    """Writes and prints a tree; one that cannot be written is printed whole."""
    answer, facts, failed = model.to_json(), release_facts(model.release_, receipt), ""
    if output is not None:
        try:
            write_text(output, answer + "\n")
            facts["written to"] = str(output)
        except OSError as error:
            failed = f"Cannot write {output}: {error.strerror}. The tree is on standard output."
    shown = f"{model.report()}\n\n{facts_text(facts)}"
    deliver(json_line(answer) if as_json or failed else shown, receipt, answer)
    if failed:
        raise click.ClickException(f"{failed} {receipt.told}".strip())
