"""`dampen top-k`: the most influential nodes of a graph in a file."""

from pathlib import Path
from typing import Any

import click

from dampen.cli.printing import example
from dampen.cli.releasing import check_edge_list, release_options, show_release
from dampen.cli.till import Till


@click.command(
    "top-k",
    epilog=example(
        "dampen top-k follows.csv.gz -k 10 --epsilon 0.5",
        "dampen top-k edges.txt -k 5 --epsilon 0.2 --n 36692 --budget social",
    ),
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-k", "k", type=int, required=True, help="How many nodes.")
@click.option(
    "--nodes",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The public nodes, one per line. [default: those with an edge: a leak]",
)
@click.option("--n", type=int, help="The public nodes are 0 to n-1.")
@click.option("--max-degree", type=int, help="Public bound on the degrees. [default: n-1]")
@click.option(
    "--metric",
    type=click.Choice(["betweenness", "degree"]),
    default="betweenness",
    show_default=True,
    help="What influence means.",
)
@release_options
def top_k(*, file: Path, nodes: Path | None, till: Till, as_json: bool, **options: Any) -> None:
    """Releases the K most influential nodes of the graph in FILE, an edge list.

    Protects each edge (neighbours: add or remove one). FILE is CSV, TSV, Parquet or two columns of
    text, gzip or not; the nodes are public.
    """
    from dampen.data.edge_files import read_nodes
    from dampen.influence.release import top_k as release_top_k

    if nodes is not None:
        options["nodes"] = read_nodes(nodes)
    check_edge_list(file)
    till.asked = f"k={options['k']} by {options['metric']}"
    with till.open():
        answer = release_top_k(file, budget=till, **options)
    show_release(answer, till, as_json=as_json)
