"""Four questions of the README on small data: a made-up table, and real data of the dependencies.

The data is public, so the true answers may stand beside the private ones, and the randomness may be
seeded: a demo shows the same every time.  `dampen.cli.demo` prints what is computed here.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dampen.core import error_analysis
from dampen.core.comparison import Drawing, Method, found_shares
from dampen.core.mechanisms import named, probabilities
from dampen.core.sampling import InsecureEntropy
from dampen.errors import ParameterError
from dampen.questions.classify import TreeClassifier, bins
from dampen.questions.groups import top_groups
from dampen.questions.groups.comparison import GroupMethod, group_methods, true_statistics
from dampen.questions.groups.problem import BestGroup
from dampen.questions.nodes import top_k
from dampen.questions.nodes.comparison import DefaultNodes
from dampen.questions.nodes.graphs import graph_of
from dampen.questions.nodes.problem import InfluentialNode
from dampen.questions.percentile.comparison import label_methods
from dampen.questions.percentile.record import rank
from dampen.questions.percentile.release import percentile
from dampen.questions.percentile.values import PercentileValue

DAMPEN = "dampen"
EXPONENTIAL = "exponential mechanism"
RUNS = 100
TREE_RUNS = 20
EPSILONS = (0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True)
class Scene:
    """One question: a private answer beside the true one, and how good it is at every ε.

    Attributes:
        question: in words.
        data: what it is asked of, and what is protected.
        epsilon: at which the private answer was drawn.
        beside: what the private answer is to be held against, usually the true one, and its name.
        private: the answer of dampen.
        measure: what the curves show.
        larger_is_better: which way they should go.
        curves: the measure by ε, for every method.
    """

    question: str
    data: str
    epsilon: str
    beside: tuple[str, str]
    private: str
    measure: str
    larger_is_better: bool
    curves: Mapping[str, Mapping[float, float]]


def hospitals(file: Path) -> Scene:
    """Which hospital has the longest median stay?"""
    groups = ["H1", "H2", "H3"]
    epsilon = "0.3"
    problem = BestGroup(groups=groups, lower=0, upper=100, step=1)
    answer = top_groups(
        str(file), "days", by="hospital", groups=groups, lower=0, upper=100, step=1,
        epsilon=epsilon, entropy=_seed(1),
    ).answer  # fmt: skip
    with file.open(encoding="utf-8", newline="") as lines:
        rows = [(row["hospital"], float(row["days"])) for row in csv.DictReader(lines)]
    counts = problem.counts([days for _, days in rows], [hospital for hospital, _ in rows])
    statistics = true_statistics(problem, counts)
    by_name = {method.name: method for method in group_methods(problem, counts)}
    compared = {DAMPEN: by_name["reach"], EXPONENTIAL: by_name["em"]}
    return Scene(
        question="Which hospital has the longest median stay?",
        data=f"{len(rows)} made-up stays in {len(groups)} hospitals; one stay is protected",
        epsilon=epsilon,
        beside=("true answer", groups[int(np.argmax(statistics))]),
        private=answer,
        measure="probability of the right answer",
        larger_is_better=True,
        curves={name: _curve(m, statistics) for name, m in compared.items()},
    )


def influence() -> Scene:
    """Who is the most influential character of Les Misérables?"""
    graph = _les_miserables()
    epsilon = "1"
    nodes = list(graph)
    between = InfluentialNode(nodes=nodes).selection(graph)
    answer = top_k(graph, nodes="graph", epsilon=epsilon, entropy=_seed(1)).answer
    methods: dict[str, Drawing] = {
        DAMPEN: DefaultNodes(graph_of(graph, nodes)),
        EXPONENTIAL: Method(EXPONENTIAL, between, named("em")).ready(),
    }
    return Scene(
        question="Who is the most influential character of Les Misérables?",
        data=f"{len(nodes)} characters; that any two of them meet is protected",
        epsilon=epsilon,
        beside=("true answer", nodes[int(np.argmax(between.utility))]),
        private=answer,
        measure=f"probability of the right answer, {RUNS} runs",
        larger_is_better=True,
        curves={
            name: {e: _mean_share(drawing, e, between.utility) for e in EPSILONS}
            for name, drawing in methods.items()
        },
    )


def tumours() -> Scene:
    """What is the 90th percentile of the radius?"""
    radius = _cancer().data[:, 0]
    upper = 30.0
    step = 0.1
    p = 90
    epsilon = "0.5"
    true = float(np.sort(radius, kind="stable")[rank(p, len(radius)) - 1])
    answer = percentile(
        radius, release="value", p=p, upper=upper, step=step, epsilon=epsilon, entropy=_seed(1)
    ).answer
    values = PercentileValue(n=len(radius), p=p, upper=upper, step=step)
    near = np.abs(np.asarray(values.candidates, dtype=np.float64) - true)
    drawn = Method(DAMPEN, values.selection(radius), named("pf"))
    label = next(iter(label_methods(radius, p=p, upper=upper)))
    return Scene(
        question=f"Below which radius are {p} % of all tumours?",
        data=f"{len(radius)} tumours, radius in mm; one of them is protected",
        epsilon=epsilon,
        beside=("true answer", f"{true:g}"),
        private=f"{answer:g}",
        measure="expected error in mm",
        larger_is_better=False,
        curves={
            DAMPEN: {e: _mean_distance(drawn, e, near) for e in EPSILONS},
            f"{EXPONENTIAL}, naming one": {e: _expected_error(label, e) for e in EPSILONS},
        },
    )


def diagnosis() -> Scene:
    """Is a tumour malignant?"""
    data = _cancer()
    epsilon = 1.0
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

    curves = {
        name: {e: score(make, e) for e in EPSILONS}
        for name, make in ((DAMPEN, TreeClassifier), (f"{EXPONENTIAL}, ID3", _id3))
    }
    most = max(float(np.mean(y[test] == name)) for name in data.target_names)
    return Scene(
        question="Is a tumour malignant? A decision tree",
        data=f"{int((~test).sum())} tumours to learn from, {int(test.sum())} to try it on; one row "
        "is protected",
        epsilon=f"{epsilon:g}",
        beside=("always the larger class", f"{most:.2f} right"),
        private=f"{curves[DAMPEN][epsilon]:.2f} right",
        measure=f"share of right answers, mean of {TREE_RUNS} trees",
        larger_is_better=True,
        curves=curves,
    )


def _id3(epsilon: float, **options: Any) -> TreeClassifier:
    """What one would do without this library: ID3 by the exponential mechanism."""
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


def _curve(method: GroupMethod, statistics: Any) -> dict[float, float]:
    return {e: method.best_probability(statistics, epsilon=e) for e in EPSILONS}


def _expected_error(method: Method, epsilon: float) -> float:
    return error_analysis.expected_error(
        method.selection, epsilon=epsilon, mechanism=method.mechanism
    )


def _mean_distance(method: Method, epsilon: float, distance: Any) -> float:
    law = probabilities(method.selection, epsilon=epsilon, mechanism=method.mechanism)
    return float(law @ distance)


def _mean_share(drawing: Drawing, epsilon: float, utility: Any) -> float:
    shares = found_shares(drawing, epsilon=epsilon, best=utility, k=1, runs=RUNS)
    return float(np.mean(list(shares)))


def _seed(seed: int) -> InsecureEntropy:
    return InsecureEntropy(seed, allow_release=True)
