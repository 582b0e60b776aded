"""`dampen percentile`: who, or what value, is at a percentile of a column."""

from fractions import Fraction
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
from dampen.epsilon import decimal_text
from dampen.errors import ParameterError
from dampen.releases.question import Shape

__all__ = ["percentile"]

MOST_STEPS = 10_000


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
    help="Which percentile, 0 to 100; for values also several: 5,50,95 or 10,20,...,90, quartiles, "
    "deciles.",
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
    from dampen.questions.percentile.release import percentile as release_percentile

    points = _points(p)
    receipt.asked = f"p={','.join(points)} of {column}"
    release = release_percentile(
        file,
        column,
        labels=label,
        p=points if len(points) > 1 else points[0],
        budget=receipt.budget,
        **options,
    )
    shape: Shape = "points" if options["release"] == "value" else "set"
    show_release(release, receipt, shape, as_json=as_json)


def _points(p: str) -> list[str]:
    """The percentiles of a name, a list, or a list with an ellipsis before its last one."""
    from dampen.questions.percentile.record import as_fraction
    from dampen.questions.percentile.release import LISTS

    if p in LISTS:
        return [str(q) for q in LISTS[p]]
    parts = [part.strip() for part in p.split(",")]
    if "..." not in parts:
        return parts
    if len(parts) < 4:
        raise _no_progression(p)
    *first, before, start, dots, last = parts
    if dots != "..." or "..." in (*first, before, start, last):
        raise _no_progression(p)
    low, high, end = (as_fraction(q) for q in (before, start, last))
    steps = (end - high) / (high - low) if high > low else Fraction(-1)
    if steps < 0 or steps.denominator != 1 or steps > MOST_STEPS:
        raise _no_progression(p)
    onward = [high + (i + 1) * (high - low) for i in range(int(steps))]
    return [*first, before, start, *(decimal_text(q) for q in onward)]


def _no_progression(p: str) -> ParameterError:
    return ParameterError(
        f"Expected percentiles in equal steps around an ellipsis, such as 10,20,...,90, got p={p}."
    )
