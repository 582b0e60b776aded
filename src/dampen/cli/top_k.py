"""`dampen top-k`: the most influential nodes of a graph in a file."""

from pathlib import Path
from typing import Any

import click

from dampen.cli.delivery import show_release
from dampen.cli.options import column_option, file_argument, release_options, table_option
from dampen.cli.output import examples
from dampen.cli.receipt import Receipt

__all__ = ["top_k"]

METRICS = [
    "betweenness", "degree", "triangles", "brokerage", "eigenvector", "core", "pagerank",
]  # fmt: skip


@click.command(
    "top-k",
    epilog=examples(
        "dampen top-k follows.csv.gz -k 10 --epsilon 0.5 --n 40",
        "zcat follows.csv.gz | dampen top-k - --epsilon 0.5 --n 40",
    ),
)
@file_argument
@click.option("-k", "k", type=int, help="How many nodes. [default: one]")
@click.option(
    "--nodes",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The public nodes, one per line. [default: those with an edge: a leak]",
)
@click.option("--n", type=int, help="The public nodes are 0 to n-1.")
@column_option("--source", help="In a table: the column with one end of every edge.")
@column_option("--target", help="In a table: the column with the other end.")
@table_option
@click.option("--max-degree", type=int, help="Public bound on the degrees. [default: n-1]")
@click.option(
    "--metric",
    metavar="NAME",
    default="betweenness",
    show_default=True,
    shell_complete=lambda *_: METRICS,
    help="What influence means: betweenness, degree, triangles, brokerage, eigenvector, core or "
    "pagerank.",
)
@release_options
def top_k(
    *, file: str, nodes: Path | None, receipt: Receipt, as_json: bool, **options: Any
) -> None:
    """Releases the most influential node, or the K most influential, of the graph in FILE.

    Protects each edge (neighbours: add or remove one). FILE is an edge list: CSV, TSV, JSON lines,
    Parquet, npz or two columns of text, packed or not, or a table of DuckDB or SQLite; - is
    standard input. The nodes are public.
    """
    from dampen.data.edge_files import read_nodes
    from dampen.questions.nodes import top_k as release_top_k

    if nodes is not None:
        options["nodes"] = read_nodes(nodes)
    receipt.asked = f"k={options['k'] or 1} by {options['metric']}"
    release = release_top_k(file, budget=receipt.budget, **options)
    show_release(release, receipt, as_json=as_json)
