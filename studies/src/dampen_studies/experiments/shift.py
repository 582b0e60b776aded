"""Which mechanism suits a problem of your own?  Sixteen problems, exact laws.

`ld-shifted` is local dampening with a private shift; `auto` what `dampen.release` does unless told
otherwise; `gem` the generalised exponential mechanism of Raskhodnikova and Smith (2016), the start
of arXiv 2501.05309, with a public sensitivity for every candidate.  Variants of the private shift
show what its share and its target do.  Errors are expectations of u* - u, computed, not sampled.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from dampen.core.mechanisms import AUTO, LD_SHIFTED, Mechanism, chosen_for, named, prepare
from dampen.core.noise import GUMBEL
from dampen.core.sampling import InsecureEntropy
from dampen.core.scores import Shifted
from dampen.core.selection import FloatArray, Problem, Selection
from dampen.problems import BestSplit, InfluentialNode
from dampen_studies import datasets
from dampen_studies.datasets import small
from dampen_studies.experiments import own_problems
from dampen_studies.experiments.coded_tables import load as load_table
from dampen_studies.experiments.percentiles import load as load_histogram
from dampen_studies.study import Parameters, Row, Rows, Study

EPSILONS = ("0.1", "0.3", "1", "3")
QUICK = ("best arm by mean", "1-median of a road network")
SLD_DOWN = Mechanism("sld-down", Shifted(towards=-1), GUMBEL)
MECHANISMS: dict[str, Mechanism] = {
    **{name: named(name) for name in ("em", "pf", "ld", "sld", "ld-pf")},
    "sld-down": SLD_DOWN,
    "ld-shifted": LD_SHIFTED,
    "auto": AUTO,
}
SHIFT = LD_SHIFTED.shift
assert SHIFT is not None
VARIANTS = {
    "share 1/10": replace(LD_SHIFTED, shift=replace(SHIFT, share=Fraction(1, 10))),
    "share 2/5": replace(LD_SHIFTED, shift=replace(SHIFT, share=Fraction(2, 5))),
    "target 1/2": replace(LD_SHIFTED, shift=replace(SHIFT, target=Fraction(1, 2))),
    "target 2": replace(LD_SHIFTED, shift=replace(SHIFT, target=Fraction(2))),
}
MOST_FOR_VARIANTS = 100
"""Candidates: the variants of more of them take too long."""
FAILURE = 0.05
"""β of the generalised exponential mechanism."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A selection, and a public sensitivity for every candidate."""

    selection: Selection
    own: FloatArray


def gem(instance: Instance, epsilon: float) -> FloatArray:
    """The law of the generalised exponential mechanism.

    s_i = max over j of ((t Δ_i - u_i) - (t Δ_j - u_j)) / (Δ_i + Δ_j) with t = 2 ln(n / β) / ε has
    sensitivity 1; the smallest is chosen by the exponential mechanism.
    """
    u = instance.selection.utility
    own = instance.own
    t = 2 * np.log(len(u) / FAILURE) / epsilon
    loss = t * own - u
    score = np.empty(len(u))
    for i in range(len(u)):
        score[i] = ((loss[i] - loss) / (own[i] + own)).max()
    return GUMBEL.law((score.min() - score) * epsilon / 2)


def instance(name: str) -> Instance:
    """One of `PROBLEMS` on its data."""
    selection, own = PROBLEMS[name]()
    return Instance(selection, np.full(len(selection), selection.bound) if own is None else own)


Made = tuple[Selection, FloatArray | None]


def _made(problem: Problem[Any], data: Any) -> Made:
    return problem.selection(data), getattr(problem, "own", None)


def _generator(seed: int) -> np.random.Generator:  # noqa: TID251  made-up data, not noise
    return np.random.default_rng(seed)  # noqa: TID251


def _sites(share: float) -> Made:
    g = _generator(7)
    side = np.linspace(0.02, 0.98, 15).tolist()
    sites = tuple((a, b) for a in side for b in side)
    near = g.normal((0.3, 0.4), 0.08, (560, 2))
    clients = np.clip(np.concatenate([near, g.uniform(0, 1, (441, 2))]), 0, 1)
    return _made(own_problems.SiteByQuantile(sites, len(clients), share), clients)


@lru_cache(maxsize=1)
def _predictions() -> FloatArray:
    """A rare class and 40 rules: some find much of it, some are seldom wrong."""
    g = _generator(8)
    true = g.random(5000) < 0.1
    false_alarm = np.sort(g.uniform(0.003, 0.14, 40))
    missed = g.uniform(0.05, 0.9, 40)
    drawn = g.random((5000, 40))
    found = np.where(true[:, None], drawn > missed, drawn < false_alarm)
    return np.column_stack([true, found]).astype(np.int64)


def _f1() -> Made:
    return _made(own_problems.FeatureByF1(40, 2500), _predictions())


def _accuracy() -> Made:
    return _made(own_problems.FeatureByAccuracy(40), _predictions())


def _cancer_areas() -> Made:
    from sklearn.datasets import load_breast_cancer

    values, classes = load_breast_cancer(return_X_y=True)
    rows = np.column_stack([1 - classes, values])
    return _made(own_problems.FeatureByAUC(values.shape[1], 300), rows)


def _information() -> Made:
    g = _generator(9)
    n = 3000
    sizes = tuple(g.integers(2, 9, 30).tolist())
    classes = g.integers(0, 3, n)
    columns = [
        np.where(g.random(n) < weight, classes % size, g.integers(0, size, n))
        for size, weight in zip(sizes, g.beta(1, 4, 30), strict=True)
    ]
    problem = own_problems.FeatureByInformation(sizes, 3, n, n)
    return _made(problem, np.column_stack([classes, *columns]))


def _similar() -> Made:
    g = _generator(10)
    n = 4000
    target = g.random(n) < 0.05
    sets = []
    for _ in range(60):
        elsewhere = 10 ** g.uniform(-3, -0.7)
        shared = g.beta(1, 3)
        sets.append(np.where(target, g.random(n) < shared, g.random(n) < elsewhere))
    rows = np.column_stack([target, *sets]).astype(np.int64)
    return _made(own_problems.MostSimilar(60, 2000), rows)


def _rewards() -> tuple[tuple[int, ...], list[FloatArray]]:
    g = _generator(11)
    sizes = tuple(g.integers(50, 800, 25).tolist())
    better = g.uniform(0, 3, 25)
    return sizes, [g.beta(2 + b, 4, size) for size, b in zip(sizes, better, strict=True)]


def _arm_median() -> Made:
    sizes, rewards = _rewards()
    return _made(own_problems.ArmByMedian(sizes), rewards)


def _arm_mean() -> Made:
    sizes, rewards = _rewards()
    arms = np.repeat(np.arange(len(sizes)), sizes)
    rows = np.column_stack([arms, np.concatenate(rewards)])
    return _made(own_problems.ArmByMean(len(sizes), 800), rows)


def _road() -> Made:
    import networkx as nx

    g = _generator(12)
    roads = nx.convert_node_labels_to_integers(nx.grid_2d_graph(12, 12))
    for a, b in roads.edges:
        roads[a][b]["weight"] = int(g.integers(1, 6))
    lengths = dict(nx.all_pairs_dijkstra_path_length(roads))
    n = len(roads)
    table = tuple(tuple(float(lengths[i][j]) for j in range(n)) for i in range(n))
    clients = np.concatenate([g.integers(0, 60, 300), g.integers(0, n, 100)])
    return _made(own_problems.RoadMedian(table), clients)


def _nodes(graph: str, metric: str) -> Made:
    edges = small.graph(graph) if graph in small.GRAPHS else datasets.load_graph(graph)
    problem = InfluentialNode(edges.n, metric=metric)
    return _made(problem, (edges.src, edges.dst))


def _labels(histogram: str, p: int) -> Made:
    from dampen.paper.percentile_selection import PercentileLabel

    counts = load_histogram(histogram)
    top = float(counts.max())
    return _made(PercentileLabel(n=len(counts), p=p, upper=top, delta="simple"), counts)


def _gain(table: str) -> Made:
    coded = load_table(table)
    sizes = [len(domain) for domain in coded.domains]
    problem = BestSplit(domains=sizes, classes=2, max_rows=coded.max_rows)
    return _made(problem, np.column_stack([coded.codes, coded.classes]))


PROBLEMS: dict[str, Callable[[], Made]] = {
    "site by median distance": lambda: _sites(0.5),
    "site by 90th percentile": lambda: _sites(0.9),
    "feature by F1": _f1,
    "feature by AUC": _cancer_areas,
    "feature by mutual information": _information,
    "feature by accuracy": _accuracy,
    "set by Jaccard": _similar,
    "best arm by median": _arm_median,
    "best arm by mean": _arm_mean,
    "1-median of a road network": _road,
    "betweenness, Les Misérables": lambda: _nodes("miserables", "betweenness"),
    "triangles, Les Misérables": lambda: _nodes("miserables", "triangles"),
    "betweenness, Enron": lambda: _nodes("enron", "betweenness"),
    "label at p = 50, made up": lambda: _labels("steep", 50),
    "label at p = 99, HEPTH": lambda: _labels("hepth", 99),
    "information gain, NLTCS": lambda: _gain("nltcs"),
}
DATASETS = {
    "betweenness, Enron": "enron",
    "label at p = 99, HEPTH": "hepth",
    "information gain, NLTCS": "nltcs",
}


def _cells(quick: bool) -> Sequence[Parameters]:
    names = QUICK if quick else tuple(PROBLEMS)
    epsilons = EPSILONS[-2:] if quick else EPSILONS
    return [
        {
            "problem": name,
            "dataset": DATASETS.get(name, "made up"),
            "epsilons": " ".join(epsilons),
            "variants": 0 if quick else MOST_FOR_VARIANTS,
        }
        for name in names
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    del entropy  # laws are computed, not sampled
    name = str(cell["problem"])
    made = instance(name)
    error = made.selection.utility.max() - made.selection.utility
    chance = float(error.mean())
    mechanisms = MECHANISMS | (VARIANTS if len(error) <= int(cell["variants"]) else {})
    ready = {method: prepare(made.selection, each) for method, each in mechanisms.items()}
    if chosen_for(made.selection) == LD_SHIFTED:
        del ready["auto"]
    rows: list[Row] = []
    for epsilon in str(cell["epsilons"]).split():
        laws = {method: each.probabilities(epsilon=epsilon) for method, each in ready.items()}
        laws.setdefault("auto", laws["ld-shifted"])
        laws["gem"] = gem(made, float(epsilon))
        rows += [
            (name, len(error), float(epsilon), method, float(error @ law), best(law, error), chance)
            for method, law in laws.items()
        ]
    return rows


def best(law: FloatArray, error: FloatArray) -> float:
    """The probability of a best candidate."""
    return float(law[error == 0].sum())


def _caption(rows: Rows) -> str:
    return f"{len({row['problem'] for row in rows})} problems; expected errors, not sampled."


STUDY = Study(
    name="shift",
    title="Problems of your own: which mechanism?",
    figure="beyond the paper (its section 4.2 asks)",
    about="The expected error, and the probability of a best candidate, of global, dampened and "
    "shifted scores, of a private shift, of `auto` and of the generalised exponential mechanism.",
    finding="A private shift is at least as good as the better of EM and LD on most problems; "
    "global scores win where utilities are one-sided and the sensitivity is near its bound.",
    caption=_caption,
    columns=("problem", "candidates", "epsilon", "method", "error", "best", "chance"),
    cells=_cells,
    run=_run,
    minutes=40,
)
