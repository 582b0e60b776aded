"""`dampen naive-bayes`: a private naive Bayes, from a table to a file."""

from pathlib import Path

import click

from dampen.cli.interrupts import held
from dampen.cli.models import public_schema, schema_option, show_model
from dampen.cli.options import (
    budget_options,
    column_option,
    epsilon_option,
    file_argument,
    header_option,
    json_option,
    output_option,
    table_option,
)
from dampen.cli.output import examples
from dampen.cli.receipt import Receipt

__all__ = ["naive_bayes"]


@click.command(
    "naive-bayes",
    epilog=examples(
        "dampen naive-bayes census.csv --target income --schema census.toml --epsilon 1 \\",
        "  -o model.json",
        "dampen predict model.json new.csv",
    ),
)
@file_argument
@column_option("--target", required=True, help="The column of classes.")
@schema_option
@output_option("Write the model as JSON.")
@header_option
@table_option
@epsilon_option
@budget_options
@json_option
def naive_bayes(
    *,
    file: str,
    target: str,
    schema_file: Path,
    epsilon: str | None,
    rho: str | None,
    output: Path | None,
    header: bool,
    table: str | None,
    receipt: Receipt,
    as_json: bool,
) -> None:
    """Fits a private naive Bayes to the table in FILE: noisy counts, in one pass.

    Protects each row (neighbours: add or remove one). Uses the columns that the schema describes;
    each makes the noise on all counts larger. FILE is CSV, TSV, JSON lines, Parquet or Feather,
    packed or not, or a DuckDB or SQLite file; - is standard input.
    """
    from dampen.questions.classify import NaiveBayesClassifier

    schema = public_schema(schema_file, target, file, output, receipt)
    receipt.asked = f"for {target}"
    model = NaiveBayesClassifier(
        epsilon,
        rho=rho,
        domains=dict(schema.columns),
        classes=schema.classes,
        budget=receipt.budget,
    ).fit_table(file, target=target, header=header, table=table)
    with held():
        show_model(model, "model", receipt, output, as_json=as_json)
