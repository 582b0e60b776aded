"""`dampen top-groups`: which groups of a table have the largest statistic."""

from typing import Any

import click

from dampen.cli.delivery import show_release
from dampen.cli.options import (
    budget_options,
    column_option,
    epsilon_option,
    file_argument,
    group_options,
    header_option,
    json_option,
    known_relations,
    table_option,
)
from dampen.cli.output import examples
from dampen.cli.receipt import Receipt

__all__ = ["top_groups"]


@click.command(
    "top-groups",
    epilog=examples(
        "dampen top-groups stays.csv --value days --by hospital --groups H1,H2,H3 \\",
        "  --lower 0 --upper 100 --step 1 --epsilon 0.3",
        "dampen top-groups stays.csv --value days --by hospital --groups H1,H2,H3 \\",
        "  --statistic quantile -p 90 -k 2 --lower 0 --upper 100 --step 1 --epsilon 0.3",
    ),
)
@file_argument
@column_option("--value", required=True, help="The private numbers.")
@group_options(required=True)
@click.option(
    "--statistic",
    metavar="NAME",
    shell_complete=lambda *_: ["median", "quantile", "mean", "trimmed-mean", "sum"],
    help="median, quantile (with -p), mean, trimmed-mean or sum. [default: median]",
)
@click.option("-p", "p", metavar="P", help="Which quantile, or how much is trimmed, in percent.")
@click.option(
    "--lower", type=float, required=True, help="Public bound; smaller values count as it."
)
@click.option("--upper", type=float, required=True, help="Public bound; larger values count as it.")
@click.option(
    "--step", type=float, required=True, help="Width of the public grid; divides the range."
)
@click.option("-k", "k", type=int, help="How many groups: a set. [default: one]")
@click.option("--ordered", is_flag=True, help="Best first; asks K times, at epsilon / K.")
@click.option("--smallest", is_flag=True, help="The smallest statistic instead.")
@click.option(
    "--min-rows", type=int, default=1, show_default=True, help="Smaller groups rank last."
)
@click.option(
    "--caution",
    metavar="C",
    default="1",
    show_default=True,
    help="How much small groups must prove themselves; 0 for not at all.",
)
@click.option(
    "--neighbours",
    metavar="NAME",
    default="add-remove-row",
    show_default=True,
    shell_complete=known_relations,
    help="Or replace-one, where everyone's group is public.",
)
@header_option
@table_option
@epsilon_option
@budget_options
@json_option
def top_groups(*, file: str, value: str, receipt: Receipt, as_json: bool, **options: Any) -> None:
    """Releases the group of rows of FILE with the largest statistic, or the K such groups.

    Protects each row (neighbours: add or remove one): its value, its group and that it is there.
    The groups and the grid of values are public; rows of other groups are dropped. FILE is CSV,
    TSV, JSON lines, Parquet or Feather, packed or not, or a DuckDB or SQLite file; - is standard
    input.
    """
    from dampen.questions.groups import top_groups as release_top_groups

    receipt.asked = f"{options['statistic'] or 'groups'} of {value} by {options['by']}"
    release = release_top_groups(file, value, budget=receipt.budget, **options)
    show_release(release, receipt, as_json=as_json, ranked=options["ordered"])
