"""What is asked of a table in any engine: every application, on real tables and graphs.

Each question takes the data and the keywords of a holder and gives an answer that can be compared.
The tables are those that come with scikit-learn and networkx.
"""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
from sklearn.datasets import load_wine

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.data import open_edges, open_table
from dampen.data.cells import Keyed
from dampen.paper.id3 import DiffPID3, GlobalDiffPID3
from dampen.questions.frequency import MostFrequent
from dampen.questions.groups.problem import BestGroup
from dampen.questions.nodes.graphs import load_degrees, load_graph
from dampen.questions.percentile.values import ValueGrid

SEEDS = range(4)
REGIONS = ["north", "south", "west"]
GRID = {"lower": 300, "upper": 1600, "step": 12.5}


def wine() -> pa.Table:
    """178 wines: numbers with ties, numbers missing nowhere, text, whole numbers, decimals."""
    data = load_wine()
    columns = dict(zip(data.feature_names, data.data.T, strict=True))
    rows = len(data.target)
    return pa.table(
        {
            "proline": columns["proline"],
            "alcohol": columns["alcohol"],
            "magnesium": columns["magnesium"].astype(np.int64),
            "region": [REGIONS[i * i % 3 if i % 5 else 2] for i in range(rows)],
            "cultivar": data.target.astype(np.int64),
            "bottle": [f"bottle {i}" for i in range(rows)],
        }
    )


def many_wines() -> pa.Table:
    """1,424 of them."""
    many = pa.concat_tables([wine()] * 8)
    names = pa.array([f"bottle {i}" for i in range(len(many))])
    return many.set_column(many.column_names.index("bottle"), "bottle", names)


def friends() -> pa.Table:
    """Zachary's karate club, with directions mixed, some edges twice and a loop."""
    edges = [*nx.karate_club_graph().edges()]
    edges += [(b, a) for a, b in edges[::3]] + edges[::7] + [(5, 5)]
    return pa.table({"a": [a for a, _ in edges], "b": [b for _, b in edges]})


def named_friends() -> pa.Table:
    return pa.table(
        {name: [f"Person {i}" for i in friends()[name].to_pylist()] for name in ("a", "b")}
    )


def seeded(seed: int) -> InsecureEntropy:
    return InsecureEntropy(seed, allow_release=True)


def drawn(ask: Callable[..., Any], *args: Any, **keywords: Any) -> list[Any]:
    return [ask(*args, entropy=seeded(seed), **keywords).answer for seed in SEEDS]


def category_counts(data: Any, where: dict[str, Any]) -> Any:
    return MostFrequent(REGIONS).opened_counts(open_table(data, **where), "region").tolist()


def grid_counts(data: Any, where: dict[str, Any]) -> Any:
    grid, opened = ValueGrid(**GRID), open_table(data, **where)
    cell_of = Keyed({"proline": grid.key}, itemgetter("proline"))
    return opened.counts({"proline": "numbers"}, cell_of, grid.size).tolist()


def group_counts(data: Any, where: dict[str, Any]) -> Any:
    problem = BestGroup(groups=REGIONS, lower=300, upper=1600, step=50)
    return problem.opened_counts(open_table(data, **where), "proline", "region").tolist()


def most_frequent(data: Any, where: dict[str, Any]) -> Any:
    one = drawn(dampen.most_frequent, data, "region", categories=REGIONS, epsilon="0.02", **where)
    whole = drawn(
        dampen.most_frequent, data, "cultivar", categories=[0, 1, 2], epsilon="0.1", k=2, **where
    )
    return one, whole


def percentile_value(data: Any, where: dict[str, Any]) -> Any:
    public = {"epsilon": "0.5", **GRID, **where}
    one = drawn(dampen.percentile, data, "proline", p=90, **public)
    several = drawn(dampen.percentile, data, "proline", p=[10, "99.5"], **public)
    groups = drawn(dampen.percentile, data, "proline", p=50, by="region", groups=REGIONS, **public)
    return one, several, groups


def percentile_label(data: Any, where: dict[str, Any]) -> Any:
    public = {"labels": "bottle", "epsilon": "5", "upper": 20, **where}
    one = drawn(dampen.percentile_record, data, "alcohol", p=75, **public)
    return one, drawn(dampen.percentile_record, data, "alcohol", p=75, k=3, **public)


def percentile_of_many(data: Any, where: dict[str, Any]) -> Any:
    """Of so many labels that they are drawn in two stages."""
    public = {"labels": "bottle", "epsilon": "12", **where}
    one = drawn(dampen.percentile_record, data, "alcohol", p=75, upper=20, **public)
    return one, drawn(dampen.percentile_record, data, "alcohol", p=75, k=7, upper=20, **public)


def percentile_of_many_whole_numbers(data: Any, where: dict[str, Any]) -> Any:
    public = {"labels": "bottle", "epsilon": "12", **where}
    return drawn(dampen.percentile_record, data, "magnesium", p=10, lower=80, upper=150, **public)


def top_groups(data: Any, where: dict[str, Any]) -> Any:
    return drawn(
        dampen.top_groups, data, "proline", by="region", groups=REGIONS, lower=300, upper=1600,
        step=50, epsilon="0.1", **where,
    )  # fmt: skip


TREES: list[tuple[Any, int]] = [
    (dampen.TreeClassifier, 3), (dampen.TreeClassifier, 0), (DiffPID3, 2), (GlobalDiffPID3, 3),
]  # fmt: skip


def tree(data: Any, where: dict[str, Any]) -> Any:
    made = []
    for seed, (make, depth) in enumerate(TREES):
        classifier = make(
            "2",
            domains={
                "proline": dampen.bins(250, 1700, 7),
                "alcohol": dampen.bins(11, 15, 5),
                "region": REGIONS,
            },
            classes=[0, 1, 2],
            max_rows=300,
            entropy=seeded(seed),
            max_depth=depth,
        )
        made.append(classifier.fit_table(data, target="cultivar", **where).to_json())
    return made


def tree_in_stages(data: Any, where: dict[str, Any]) -> Any:
    classifier = dampen.TreeClassifier(
        "2",
        stages=(2,),
        probabilities=True,
        domains={"proline": dampen.bins(250, 1700, 7), "region": REGIONS},
        classes=[0, 1, 2],
        max_rows=2**31,  # a small menu: few passes
        entropy=seeded(1),
    )
    return classifier.fit_table(data, target="cultivar", **where).to_json()


def edges(data: Any, where: dict[str, Any]) -> Any:
    graph = load_graph(open_edges(data, **where), range(34))
    return graph.first.tolist(), graph.to.tolist()


def degrees(data: Any, where: dict[str, Any]) -> Any:
    return load_degrees(open_edges(data, **where), range(40)).degrees.tolist()


def degrees_as_text(data: Any, where: dict[str, Any]) -> Any:
    names = [str(i) for i in range(34)]
    return load_degrees(open_edges(data, **where), names).degrees.tolist()


def degrees_of_names(data: Any, where: dict[str, Any]) -> Any:
    names = [f"Person {i}" for i in range(34)]
    return load_degrees(open_edges(data, **where), names).degrees.tolist()


def top_k(data: Any, where: dict[str, Any]) -> Any:
    ends = {"source": "a", "target": "b", "n": 34, **where}
    return [
        drawn(dampen.top_k, data, epsilon="0.5", **ends),
        drawn(dampen.top_k, data, k=5, epsilon="0.5", **ends),
        drawn(dampen.top_k, data, k=3, metric="degree", epsilon="0.5", **ends),
    ]


ABOUT_WINE = [
    category_counts, grid_counts, group_counts, most_frequent, percentile_value, percentile_label,
    top_groups, tree, tree_in_stages,
]  # fmt: skip
ABOUT_FRIENDS = [edges, degrees, top_k]
