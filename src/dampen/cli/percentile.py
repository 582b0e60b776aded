"""`dampen percentile`: who, or what value, is at a percentile of a column."""

from typing import Any

import click

from dampen.cli.delivery import show_release
from dampen.cli.options import (
    column_option,
    file_argument,
    group_options,
    header_option,
    known_relations,
    release_options,
    table_option,
)
from dampen.cli.output import examples
from dampen.cli.receipt import Receipt

__all__ = ["percentile"]


@click.command(
    epilog=examples(
        "dampen percentile salaries.csv --column salary --label employee -p 95 \\",
        "  --upper 500000 --epsilon 2",
        "dampen percentile salaries.csv --column salary --label employee -p 95 -k 5 \\",
        "  --upper 500000 --epsilon 8",
        "dampen percentile salaries.csv --column salary --release value --step 1000 -p deciles \\",
        "  --upper 500000 --epsilon 0.5",
        "dampen percentile stays.csv --column days --release value --step 1 -p 50 --upper 100 \\",
        "  --by hospital --groups H1,H2,H3 --epsilon 1",
    )
)
@file_argument
@column_option("--column", required=True, help="The private numbers.")
@column_option("--label", help="Public names of the rows. [default: row numbers from 0]")
@click.option(
    "-p",
    "p",
    required=True,
    metavar="P",
    help="Which percentile, 0 to 100; for values also P,P,..., quartiles or deciles.",
)
@click.option("--upper", type=float, required=True, help="Public bound; larger values are clipped.")
@click.option("--lower", type=float, default=0.0, show_default=True, help="Public bound.")
@click.option(
    "--release",
    type=click.Choice(["label", "value"]),
    default="label",
    show_default=True,
    help="Which row is there, or what value.",
)
@click.option(
    "-k",
    "--k",
    "k",
    type=int,
    help="For labels: how many, those nearest to the percentile. [default: one]",
)
@click.option("--step", type=float, help="For values: the width of the public grid.")
@group_options(required=False)
@click.option(
    "--neighbours",
    metavar="NAME",
    shell_complete=known_relations,
    help="For values: replace-one, or add-remove-row, which hides the number of rows. "
    "[default: replace-one; with --by add-remove-row]",
)
@header_option
@table_option
@release_options
def percentile(
    *,
    file: str,
    column: str,
    label: str | None,
    p: str,
    receipt: Receipt,
    as_json: bool,
    **options: Any,
) -> None:
    """Releases who, or what value, is at the P-th percentile of a column of FILE.

    With -k it names the K rows whose values are nearest to it: a set, in the order of the rows.

    Protects each row's value (neighbours: replace one). The number of rows and their labels are
    public. With --by and --groups it releases the value of every group, for one epsilon, and
    protects each row (neighbours: add or remove one). FILE is CSV, TSV, JSON lines, Parquet or
    Feather, packed or not, or a DuckDB or SQLite file; - is standard input.
    """
    from dampen.percentiles.release import LISTS
    from dampen.percentiles.release import percentile as release_percentile

    points = [str(q) for q in LISTS[p]] if p in LISTS else [part.strip() for part in p.split(",")]
    receipt.asked = f"p={','.join(points)} of {column}"
    release = release_percentile(
        file,
        column,
        labels=label,
        p=points if len(points) > 1 else points[0],
        budget=receipt.budget,
        **options,
    )
    of_values = options["release"] == "value"
    show_release(release, receipt, as_json=as_json, names=("p", points), ranked=of_values)
