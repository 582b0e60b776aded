"""`dampen compare`: mechanisms side by side, on data that is public."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from dampen.cli.charts import draw_probabilities
from dampen.cli.options import (
    column_option,
    file_argument,
    group_options,
    header_option,
    json_option,
    output_option,
    public_option,
)
from dampen.cli.output import examples, print_json, print_table
from dampen.cli.reading import check_output, looking_at
from dampen.epsilon import asked_epsilon, decimal_text, exact
from dampen.errors import ParameterError

__all__ = ["compare"]


@dataclass(frozen=True)
class Price:
    """A column of the table: one ε, or one ρ, of which each mechanism makes its own ε."""

    epsilon: Fraction | None
    rho: Fraction | None

    @property
    def heading(self) -> str:
        if self.epsilon is not None:
            return f"ε = {decimal_text(self.epsilon)}"
        assert self.rho is not None
        return f"ρ = {decimal_text(self.rho)}"

    def at(self, unit: Fraction) -> Fraction:
        """The ε of a mechanism that costs ρ = `unit` at ε = 1."""
        return asked_epsilon(self.epsilon, self.rho, unit)


@click.command(
    epilog=examples(
        "dampen compare follows.csv.gz -k 10 --epsilon 0.1,0.5,1 --public",
        "dampen compare salaries.csv --column salary -p 95 --upper 500000 --epsilon 1,5 --public",
        "dampen compare stays.csv --column days --by hospital --groups H1,H2,H3 --upper 100 \\",
        "  --step 1 --epsilon 0.01,0.1,1 --public",
    )
)
@file_argument
@click.option("--epsilon", metavar="E,E,...", help="One or more, with commas.")
@click.option(
    "--rho",
    metavar="R,R,...",
    help="The same in zCDP: each mechanism at the epsilon that it has there.",
)
@public_option
@click.option("-k", "k", type=int, default=1, show_default=True, help="Graphs: how many nodes.")
@click.option("--nodes", type=click.Path(path_type=Path), metavar="FILE", help="Graphs: all nodes.")
@click.option("--n", type=int, help="Graphs: the nodes are 0 to n-1.")
@click.option("--max-degree", type=int, help="Graphs: bound on the degrees.")
@click.option("--runs", type=click.IntRange(1), default=40, show_default=True, help="Graphs.")
@column_option("--column", help="Tables: compare percentiles of this column.")
@click.option("-p", "p", metavar="P", help="Tables: which percentile. [default: 50]")
@group_options(required=False)
@click.option("--statistic", metavar="NAME", help="Groups: as in top-groups. [default: median]")
@click.option("--step", type=float, help="Groups: the width of the public grid.")
@click.option("--min-rows", type=int, default=1, show_default=True, help="Groups.")
@click.option("--caution", metavar="C", default="1", show_default=True, help="Groups.")
@output_option("Groups: a chart of the probabilities; its name ends in svg, pdf or png.")
@click.option("--upper", type=float, help="Tables: upper bound of the values.")
@click.option("--lower", type=float, default=0.0, show_default=True, help="Tables: lower bound.")
@header_option
@json_option
def compare(
    *,
    file: str,
    epsilon: str | None,
    rho: str | None,
    public: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Compares mechanisms on FILE, a graph or (with --column) a table, which must be public.

    For graphs: the share of the true top k that is found, mean of several runs. For percentiles:
    the expected error, exactly. With --by: the probability of the group with the largest
    statistic, exactly. Looks at the data without privacy. At one rho, of a budget with a delta,
    Gumbel noise (em, ld, sld) has a larger epsilon than other noise, and for K answers the larger.
    """
    if not public:
        raise ParameterError(
            "Expected --public: compare looks at the data without privacy. Use public data of the "
            "same kind to choose a mechanism."
        )
    prices = [Price(exact(e), None) for e in _parts(epsilon)]
    prices += [Price(None, exact(r, "rho")) for r in _parts(rho)]
    if not prices:
        raise ParameterError("Expected --epsilon, --rho or both.")
    compared: Callable[..., list[dict[str, Any]]] = _nodes
    if options["column"] is not None:
        compared = _percentile if options["groups"] is None else _groups
    lines = compared(file, prices, **options)
    if as_json:
        print_json(lines)
    else:
        print_table(list(lines[0]), [line.values() for line in lines])


def _parts(text: str | None) -> list[str]:
    return [] if text is None else [part.strip() for part in text.split(",")]


def _percentile(
    file: str,
    prices: list[Price],
    *,
    column: str,
    p: str | None,
    upper: float | None,
    lower: float,
    header: bool,
    **_: Any,
) -> list[dict[str, Any]]:
    from dampen.data.columns import joined_numbers
    from dampen.data.open import open_table
    from dampen.data.source import require_numbers, whole_columns
    from dampen.paper.percentile_selection import rank
    from dampen.questions.percentile.comparison import expected_errors

    if upper is None:
        raise ParameterError("Expected --upper with --column.")
    p = p or "50"
    rank(p, 1)
    table = open_table(file, header=header)
    require_numbers(table, column)
    with looking_at(file):
        values = joined_numbers(whole_columns(table, {column: "numbers"})[column])
        asked = [(price.epsilon, price.rho) for price in prices]
        found = expected_errors(values, p=p, upper=upper, lower=lower, prices=asked)
        return [
            {"expected error": name}
            | {price.heading: error for price, error in zip(prices, errors, strict=True)}
            for name, errors in found
        ]


def _groups(
    file: str,
    prices: list[Price],
    *,
    column: str,
    by: str | None,
    groups: list[str],
    statistic: str | None,
    p: str | None,
    upper: float | None,
    lower: float,
    step: float | None,
    min_rows: int,
    caution: str,
    header: bool,
    output: Path | None,
    **_: Any,
) -> list[dict[str, Any]]:
    from dampen.data.open import open_table
    from dampen.data.source import require_numbers
    from dampen.questions.groups.comparison import group_methods, true_statistics
    from dampen.questions.groups.problem import BestGroup

    if by is None or upper is None or step is None:
        raise ParameterError("Expected --by, --upper and --step with --groups.")
    check_output(output, file)
    epsilons = [float(price.epsilon) for price in prices if price.epsilon is not None]
    if output is not None and len(epsilons) < len(prices):
        raise ParameterError("Expected --epsilon, and no --rho, with a chart.")
    problem = BestGroup(
        groups=groups, statistic=statistic, p=p, lower=lower, upper=upper, step=step,
        min_rows=min_rows, caution=caution,
    )  # fmt: skip
    table = open_table(file, header=header)
    require_numbers(table, column)
    problem.grouping.check_column(table, by, column)
    with looking_at(file):
        counts = problem.opened_counts(table, column, by)
        best = true_statistics(problem, counts)
        curves = {
            method.name: [
                method.best_probability(best, epsilon=price.at(method.unit)) for price in prices
            ]
            for method in group_methods(problem, counts)
        }
    if output is not None:
        draw_probabilities(curves, epsilons, output)
    names = [price.heading for price in prices]
    return [
        {"probability of the best group": name}
        | {each: round(value, 4) for each, value in zip(names, curve, strict=True)}
        for name, curve in curves.items()
    ]


def _nodes(
    file: str,
    prices: list[Price],
    *,
    k: int,
    nodes: Path | None,
    n: int | None,
    max_degree: int | None,
    runs: int,
    **_: Any,
) -> list[dict[str, Any]]:
    import numpy as np

    from dampen.core.comparison import found_shares
    from dampen.core.mechanisms import check_k
    from dampen.data.edge_files import read_nodes
    from dampen.progress import progress
    from dampen.questions.nodes.comparison import node_methods
    from dampen.questions.nodes.graphs import graph_of, node_set

    public = node_set(None if nodes is None else read_nodes(nodes), n)
    with looking_at(file):
        methods = node_methods(graph_of(file, public), max_degree=max_degree)
    best = methods[0].selection.utility
    check_k(k, len(best))
    lines: list[dict[str, Any]] = []
    with progress(len(methods) * len(prices) * runs, "Comparing") as advance:
        for method in methods:
            line: dict[str, Any] = {f"share of the top {k}": method.name}
            drawing = method.ready()
            for price in prices:
                epsilon = method.asked_epsilon(price.epsilon, price.rho, k)
                shares = []
                for share in found_shares(drawing, epsilon=epsilon, best=best, k=k, runs=runs):
                    shares.append(share)
                    advance(1)
                line[price.heading] = round(float(np.mean(shares)), 3)
            lines.append(line)
    return lines
