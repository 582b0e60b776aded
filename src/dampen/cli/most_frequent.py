"""`dampen most-frequent`: the most frequent categories of a column."""

from pathlib import Path
from typing import Any

import click

from dampen.cli.delivery import show_release
from dampen.cli.options import (
    column_option,
    file_argument,
    group_options,
    header_option,
    release_options,
    table_option,
)
from dampen.cli.output import examples
from dampen.cli.reading import listing
from dampen.cli.receipt import Receipt

__all__ = ["most_frequent"]


@click.command(
    "most-frequent",
    epilog=examples(
        "dampen most-frequent visits.csv --column diagnosis --categories flu,cold,covid \\",
        "  --epsilon 0.5",
    ),
)
@file_argument
@column_option("--column", required=True, help="The private categories.")
@click.option("--categories", metavar="A,B,...", help="The public list of categories.")
@click.option(
    "--categories-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The same, one per line.",
)
@click.option("-k", "k", type=int, help="How many. [default: one]")
@group_options(required=False)
@header_option
@table_option
@release_options
def most_frequent(
    *,
    file: str,
    column: str,
    categories: str | None,
    categories_file: Path | None,
    receipt: Receipt,
    as_json: bool,
    **options: Any,
) -> None:
    """Releases the most frequent category, or the K most frequent, of a column of FILE.

    With --by and --groups it does so for every group, for one epsilon.

    Protects each row (neighbours: add or remove one). FILE is CSV, TSV, JSON lines, Parquet or
    Feather, packed or not, or a DuckDB or SQLite file; - is standard input.
    """
    from dampen.questions.frequency import most_frequent as release_most_frequent

    receipt.asked = f"k={options['k'] or 1} of {column}"
    release = release_most_frequent(
        file,
        column,
        categories=listing("categories", categories, categories_file),
        budget=receipt.budget,
        **options,
    )
    show_release(release, receipt, as_json=as_json)
