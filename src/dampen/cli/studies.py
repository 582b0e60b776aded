"""`dampen compare`: mechanisms side by side, on data that is public."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from dampen import accuracy
from dampen.cli.printing import example, print_json, print_table
from dampen.cli.releasing import check_edge_list
from dampen.data.tables import open_table
from dampen.epsilon import decimal_text, exact
from dampen.errors import ParameterError
from dampen.mechanisms import Mechanism, check_k, named, prepare
from dampen.progress import progress
from dampen.sampling import InsecureEntropy
from dampen.selection import FloatArray, Selection

if TYPE_CHECKING:
    from fractions import Fraction


class Method(NamedTuple):
    """A mechanism on one selection of the same candidates."""

    name: str
    selection: Selection
    mechanism: Mechanism


@click.command(
    epilog=example(
        "dampen compare follows.csv.gz -k 10 --epsilon 0.1,0.5,1 --public",
        "dampen compare salaries.csv --column salary -p 95 --upper 500000 --epsilon 1,5 --public",
    )
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--epsilon", required=True, metavar="E,E,...", help="One or more, with commas.")
@click.option("--public", is_flag=True, help="Confirms that FILE is public.")
@click.option("-k", "k", type=int, default=1, show_default=True, help="Graphs: how many nodes.")
@click.option("--nodes", type=click.Path(path_type=Path), metavar="FILE", help="Graphs: all nodes.")
@click.option("--n", type=int, help="Graphs: the nodes are 0 to n-1.")
@click.option("--max-degree", type=int, help="Graphs: bound on the degrees.")
@click.option("--runs", type=click.IntRange(1), default=40, show_default=True, help="Graphs.")
@click.option("--column", help="Tables: compare percentiles of this column.")
@click.option("-p", "p", default="50", show_default=True, help="Tables: which percentile.")
@click.option("--upper", type=float, help="Tables: upper bound of the values.")
@click.option("--lower", type=float, default=0.0, show_default=True, help="Tables: lower bound.")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON, for machines.")
def compare(
    *, file: Path, epsilon: str, public: bool, column: str | None, as_json: bool, **options: Any
) -> None:
    """Compares mechanisms on FILE, a graph or (with --column) a table, which must be public.

    For graphs: the share of the true top k that is found, mean of several runs. For percentiles:
    the expected error, exactly. Looks at the data without privacy.
    """
    if not public:
        raise ParameterError(
            "Expected --public: compare looks at the data without privacy. Use public data of the "
            "same kind to choose a mechanism."
        )
    epsilons = [exact(part.strip()) for part in epsilon.split(",")]
    if column is None:
        lines = _compare_top_k(file, epsilons, options)
    else:
        lines = _compare_percentile(file, column, epsilons, options)
    if as_json:
        print_json(lines)
    else:
        columns = list(lines[0])
        print_table(columns, [line.values() for line in lines])


def _compare_percentile(
    file: Path, column: str, epsilons: "list[Fraction]", options: dict[str, Any]
) -> list[dict[str, Any]]:
    from dampen.percentiles.labels import rank

    if options["upper"] is None:
        raise ParameterError("Expected --upper with --column.")
    rank(options["p"], 1)
    table = open_table(file)
    table.require_numbers(column)
    values = table.read({column: "numbers"})[column]
    lines = []
    for name, s, mechanism in percentile_methods(values, options):
        errors = {
            f"ε = {decimal_text(epsilon)}": accuracy.expected_error(
                s, epsilon=epsilon, mechanism=mechanism
            )
            for epsilon in epsilons
        }
        lines.append({"expected error": name} | errors)
    return lines


def percentile_methods(values: FloatArray, options: dict[str, Any]) -> Iterator[Method]:
    """What competes for labels: the paper's mechanisms, permute-and-flip, and the default."""
    from dampen.percentiles.labels import NEAR, PercentileLabel
    from dampen.percentiles.release import label_mechanism

    public = {name: options[name] for name in ("p", "upper", "lower")} | {"n": len(values)}
    paper = PercentileLabel(**public, delta="simple").selection(values)
    for name in ("em", "pf", "ld", "ld-pf", "sld", "sld-pf"):
        yield Method(name, paper, named(name))
    ours = PercentileLabel(**public, delta="exact", horizon=NEAR).selection(values)
    default = label_mechanism(options["lower"], options["upper"])
    yield Method(f"{default.name} (default)", ours, default)


def _compare_top_k(
    file: Path, epsilons: "list[Fraction]", options: dict[str, Any]
) -> list[dict[str, Any]]:
    methods, k = _methods(file, options), options["k"]
    check_k(k, len(methods[0].selection))
    best = methods[0].selection.utility
    cells = [(method, epsilon) for method in methods for epsilon in epsilons]
    lines: dict[str, dict[str, Any]] = {m.name: {f"share of the top {k}": m.name} for m in methods}
    with progress(len(cells) * options["runs"], "Comparing") as advance:
        for method, epsilon in cells:
            shares = []
            for share in found_shares(method, epsilon, best, k, options["runs"]):
                shares.append(share)
                advance(1)
            lines[method.name][f"ε = {decimal_text(epsilon)}"] = round(float(np.mean(shares)), 3)
    return list(lines.values())


def _methods(file: Path, options: dict[str, Any]) -> list[Method]:
    """What competes: the paper's mechanisms, permute-and-flip, joint release, and the degree."""
    from dampen.data.edge_files import read_nodes
    from dampen.influence.graphs import graph_of
    from dampen.influence.problem import InfluentialNode
    from dampen.influence.release import JOINT_STRETCH

    check_edge_list(file)
    given = None if options["nodes"] is None else read_nodes(options["nodes"])
    graph = graph_of(file, range(options["n"]) if options["n"] is not None else given)

    problem = InfluentialNode(nodes=graph.nodes, max_degree=options["max_degree"])
    between = problem.selection(graph)
    capped = problem.with_cap_degree(JOINT_STRETCH).selection(graph)
    degree = replace(problem, metric="degree").selection(graph)
    return [
        *[
            Method(f"betweenness {name}", between, named(name))
            for name in ("em", "pf", "ld", "sld")
        ],
        Method("betweenness joint", capped, named("joint")),
        *[Method(f"degree {name}", degree, named(name)) for name in ("em", "pf", "joint")],
    ]


def found_shares(
    method: Method, epsilon: "Fraction", best: FloatArray, k: int, runs: int
) -> Iterator[float]:
    """Of k released nodes, the share that is as good as the k-th best; one number per run."""
    threshold = np.partition(best, len(best) - k)[len(best) - k]
    ready = prepare(method.selection, method.mechanism)
    for seed in range(runs):
        top = ready.draw(epsilon=epsilon, k=k, entropy=InsecureEntropy(seed))
        yield float(np.mean(best[top] >= threshold))
