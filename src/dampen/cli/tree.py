"""`dampen tree`: a private decision tree, from a table to a file."""

from pathlib import Path

import click

from dampen.cli.interrupts import held
from dampen.cli.models import public_schema, schema_option, show_model
from dampen.cli.options import (
    column_option,
    file_argument,
    header_option,
    output_option,
    release_options,
    table_option,
)
from dampen.cli.output import examples
from dampen.cli.receipt import Receipt

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
@schema_option
@click.option("--depth", type=int, help="Levels of splits. [default: from epsilon and the schema]")
@output_option("Write the tree as JSON.")
@header_option
@table_option
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
    table: str | None,
    receipt: Receipt,
    as_json: bool,
) -> None:
    """Grows a private decision tree from the table in FILE.

    Protects each row (neighbours: add or remove one). Uses the columns that the schema describes.
    FILE is CSV, TSV, JSON lines, Parquet or Feather, packed or not, or a DuckDB or SQLite file;
    - is standard input.
    """
    from dampen.questions.classify import TreeClassifier

    schema = public_schema(schema_file, target, file, output, receipt)
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
    ).fit_table(file, target=target, header=header, table=table)
    with held():
        show_model(model, "tree", receipt, output, as_json=as_json)
