"""`dampen example`: the paper's running example, computed from the definition."""

from itertools import combinations

import click

from dampen.cli.output import examples, table_text, write

__all__ = ["example"]

NODES = ("a", "b", "v0", "v1", "v2", "v3", "v4", "v5")
EDGES = "a-b a-v0 a-v1 a-v2 a-v3 b-v2 b-v3 b-v4 b-v5 v0-v1 v4-v5"


@click.command(epilog=examples("dampen example"))
def example() -> None:
    """The running example of the paper: which of eight nodes has the largest betweenness?

    Prints the chance of every node at epsilon = 2 (Examples 5 and 6 of the paper).
    """
    import numpy as np

    from dampen import probabilities
    from dampen.core import sensitivity
    from dampen.core.scores import Dampened
    from dampen.core.selection import Selection

    u = _betweenness()
    s = Selection(u, sensitivity.table([np.full(8, 3.0), np.full(8, 5.0)]), bound=7.5)
    scores = Dampened().of(s)
    names = ("em", "pf", "ld", "sld", "ld-pf")
    chances = [probabilities(s, epsilon=2, mechanism=name).round(2).tolist() for name in names]
    rows = zip(NODES, u, (scores.values / float(scores.unit)).tolist(), *chances, strict=True)
    columns = ["node", "betweenness", "dampened", *[f"P[{name}]" for name in names]]
    remark = "This sensitivity is the same for all nodes, so SLD is the exponential mechanism."
    write("\n".join([f"edges: {EDGES}", table_text(columns, rows), remark]))


def _betweenness() -> list[float]:
    """Egocentric: one term per pair of neighbours that are not adjacent (Definition 19)."""
    near: dict[str, set[str]] = {node: set() for node in NODES}
    for edge in EDGES.split():
        one, other = edge.split("-")
        near[one].add(other)
        near[other].add(one)
    return [
        sum(
            1 / (1 + len(near[c] & near[u] & near[v]))
            for u, v in combinations(sorted(near[c]), 2)
            if v not in near[u]
        )
        for c in NODES
    ]
