"""The three applications on small real data that comes with the dependencies.

The data is public, so the true answers may stand beside the private ones, and the randomness may be
seeded: a demo shows the same every time.  `dampen.cli.demo` prints what is computed here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dampen import accuracy
from dampen.comparison import Drawing, Method, found_shares
from dampen.errors import ParameterError
from dampen.influence.comparison import DefaultNodes
from dampen.influence.graphs import graph_of
from dampen.influence.problem import InfluentialNode
from dampen.influence.release import top_k
from dampen.mechanisms import named
from dampen.percentiles.comparison import label_methods
from dampen.percentiles.labels import rank
from dampen.percentiles.release import percentile
from dampen.sampling import InsecureEntropy
from dampen.trees import TreeClassifier, bins

DAMPEN, EXPONENTIAL = "dampen", "exponential mechanism"
RUNS = 100
TREE_RUNS = 20


@dataclass(frozen=True)
class Scene:
    """One application: a few answers beside the true ones, and how good they are at every ε."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    measure: str
    larger_is_better: bool
    curves: Mapping[str, Mapping[float, float]]
    remark: str


def influence() -> Scene:
    """Who is influential in Les Misérables?"""
    graph, k = _les_miserables(), 5
    nodes = list(graph)
    between = InfluentialNode(nodes=nodes).selection(graph)
    true = [nodes[i] for i in np.argsort(-between.utility, kind="stable")[:k]]
    answers = [
        top_k(graph, nodes="graph", k=k, epsilon="2", mechanism=name, entropy=_seed(1)).answer
        for name in (None, "em")
    ]
    methods: dict[str, Drawing] = {
        DAMPEN: DefaultNodes(graph_of(graph, nodes)),
        EXPONENTIAL: Method(EXPONENTIAL, between, named("em")).ready(),
    }
    epsilons = (0.5, 1.0, 2.0, 5.0, 10.0)
    return Scene(
        title=f"The {k} most influential of the {len(nodes)} characters of Les Misérables, ε = 2",
        columns=["rank", "true", DAMPEN, EXPONENTIAL],
        rows=list(zip(range(1, k + 1), true, *answers, strict=True)),
        measure=f"share of the true {k}, mean of {RUNS} runs",
        larger_is_better=True,
        curves={
            name: {e: _mean_share(drawing, e, between.utility, k) for e in epsilons}
            for name, drawing in methods.items()
        },
        remark="One edge, that two characters meet, is protected; the characters are public. What "
        "is asked are degrees and triangles; betweenness itself takes ε = 1000 here.",
    )


def tumours() -> Scene:
    """Which tumour, and which radius, is at the 90th percentile?"""
    radius = _cancer().data[:, 0]
    upper, p = 30.0, 90
    k = rank(p, len(radius))
    true = int(np.argsort(radius, kind="stable")[k - 1])
    methods = list(label_methods(radius, p=p, upper=upper))
    compared = {DAMPEN: methods[-1], EXPONENTIAL: methods[0]}
    common: dict[str, Any] = {"p": p, "upper": upper, "epsilon": "10"}
    value = percentile(radius, release="value", step=0.1, entropy=_seed(1), **common).answer
    named_ones = [
        [percentile(radius, mechanism=name, entropy=_seed(i), **common).answer for i in range(5)]
        for name in (None, "em")
    ]
    rows: list[list[Any]] = [
        ["the value there", float(radius[true]), float(value), "-"],
        ["a tumour there", true, *[answers[0] for answers in named_ones]],
        ["radius, five runs", float(radius[true]), *[radius[i].tolist() for i in named_ones]],
    ]
    epsilons = (0.5, 1.0, 2.0, 5.0, 10.0)
    return Scene(
        title=f"The {p}th percentile of the radius of {len(radius)} tumours, in mm, ε = 10",
        columns=["", "true", DAMPEN, EXPONENTIAL],
        rows=rows,
        measure="expected error of the released tumour's radius, mm",
        larger_is_better=False,
        curves={name: {e: _expected_error(m, e) for e in epsilons} for name, m in compared.items()},
        remark="One tumour's radius is protected. Below ε = 5 hardly any method can name a tumour, "
        "hence ε = 10 above; its value is easy: ask for what you need.",
    )


def diagnosis() -> Scene:
    """Is a tumour malignant?"""
    data = _cancer()
    names = list(PUBLIC_RANGES)
    X = data.data[:, [list(data.feature_names).index(name) for name in names]]
    y = data.target_names[data.target]
    test = np.arange(len(y)) % 3 == 0
    public = {
        "domains": [bins(0, upper, 10) for upper in PUBLIC_RANGES.values()],
        "classes": list(data.target_names),
        "max_rows": 600,
    }

    def score(make: Any, epsilon: float) -> float:
        runs = [
            make(epsilon, entropy=_seed(run), **public)
            .fit(X[~test], y[~test])
            .score(X[test], y[test])
            for run in range(TREE_RUNS)
        ]
        return float(np.mean(runs))

    def exponential(epsilon: float, **options: Any) -> TreeClassifier:
        return TreeClassifier(
            epsilon,
            max_depth=2,
            mechanism="em",
            criterion="information-gain",
            branching="multiway",
            stopping=True,
            leaves="noisy-counts",
            one_sided=False,
            **options,
        )

    curves = {
        name: {e: score(make, e) for e in (0.1, 0.5, 1.0, 2.0, 5.0)}
        for name, make in ((DAMPEN, TreeClassifier), (EXPONENTIAL, exponential))
    }
    most = max(float(np.mean(y[test] == name)) for name in data.target_names)
    rows = [[f"ε = {e:g}", curves[DAMPEN][e], curves[EXPONENTIAL][e]] for e in (0.5, 1.0, 2.0)]
    return Scene(
        title=f"A decision tree for tumours, {int((~test).sum())} rows to learn from",
        columns=["accuracy", DAMPEN, EXPONENTIAL],
        rows=[*rows, ["always the larger class", most, most]],
        measure=f"accuracy on {int(test.sum())} other tumours, mean of {TREE_RUNS} trees",
        larger_is_better=True,
        curves=curves,
        remark="One row is protected. Bins, classes and the bound on the rows are public.",
    )


PUBLIC_RANGES = {
    "mean radius": 30,
    "mean texture": 40,
    "mean smoothness": 0.2,
    "mean concavity": 0.5,
    "worst area": 5000,
    "worst concave points": 0.3,
}
"""Attributes and their upper ends, rounded up from the documentation of the data set."""


def _les_miserables() -> Any:
    try:
        import networkx as nx
    except ImportError:
        raise ParameterError("The demo needs networkx: pip install 'dampen[demo]'.") from None
    return nx.les_miserables_graph()


def _cancer() -> Any:
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer()


def _expected_error(method: Method, epsilon: float) -> float:
    return accuracy.expected_error(method.selection, epsilon=epsilon, mechanism=method.mechanism)


def _mean_share(drawing: Drawing, epsilon: float, utility: Any, k: int) -> float:
    shares = found_shares(drawing, epsilon=epsilon, best=utility, k=k, runs=RUNS)
    return float(np.mean(list(shares)))


def _seed(seed: int) -> InsecureEntropy:
    return InsecureEntropy(seed, allow_release=True)
