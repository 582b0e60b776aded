"""The k targets with the most sources, where ε protects a source with all its edges.

Distinct sources of every target are what `top_k(metric="indegree", unit="source")` and
`most_frequent(unit=...)` rank by.  `2 in full` adds noise to weights, of which two targets of a
source count in full, and so on up to `all in full`; each has what is left of ε once a noisy count
has chosen among them, and `rule` is what that choice gives, in expectation.
The rival `cut` keeps at most C random edges of every source and adds noise of scale C/ε to the
counts, with the C of 1, 2, 4, ..., 64 that is best in one half of the runs, judged by the other:
nobody knows it before.  `left out` is the rule with levels that all other relations would choose.

Edges of the graphs are known without their direction: each is taken in both.  Four relations are
real tables: students who rate lecturers and the other way round, planes that fly to airports and
the other way round.  Eight relations are made up, with power laws of both degrees.  Accuracy is the
share of a true top k that is found; among equals at the k-th place any will do.  Noise is drawn in
floats: the data is public.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import log

import numpy as np

from dampen.core.sampling import InsecureEntropy, uniform_words
from dampen.core.selection import FloatArray, IntArray
from dampen.questions.frequency import ALL_IN_FULL_FROM, CHOICE, TWO_IN_FULL_FROM
from dampen_studies.datasets import load_graph
from dampen_studies.datasets.people import PeopleTable
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study

GRAPHS = ("wiki-vote", "enron", "slashdot", "brightkite", "github", "dblp")
TABLES = {
    "ratings": PeopleTable("lme4", "InstEval", "s", "d", "y", 1, 5, "1"),
    "rated": PeopleTable("lme4", "InstEval", "d", "s", "y", 1, 5, "1"),
    "flights": PeopleTable("nycflights13", "flights", "tailnum", "dest", "distance", 0, 5000, "1"),
    "planes": PeopleTable("nycflights13", "flights", "dest", "tailnum", "distance", 0, 5000, "1"),
}


@dataclass(frozen=True)
class PowerLaws:
    """Sources with a power law of targets, and targets with one of sources.

    Attributes:
        sources: how many.
        targets: how many.
        out: the exponent of the number of targets of a source, P(more than x) = x^-out.
        within: that of the chance of a target, which falls with its place as place^(-1/within).
    """

    sources: int
    targets: int
    out: float
    within: float

    def pairs(self) -> tuple[IntArray, IntArray]:
        """Every source and target once."""
        entropy = InsecureEntropy(self.sources)
        wanted = uniform(self.sources, entropy) ** (-1 / self.out)
        degree = np.minimum(wanted, self.targets // 4).astype(np.int64)
        chance = np.cumsum(np.arange(1, self.targets + 1) ** (-1 / self.within))
        source = np.repeat(np.arange(self.sources), degree)
        target = np.searchsorted(chance / chance[-1], uniform(len(source), entropy))
        keys = np.unique(source * self.targets + target)
        return keys // self.targets, keys % self.targets


MADE = {
    "made-1": PowerLaws(5_000, 5_000, 1.2, 1.3),
    "made-2": PowerLaws(20_000, 2_000, 1.8, 2.0),
    "made-3": PowerLaws(3_000, 1_000, 0.8, 1.1),
    "made-4": PowerLaws(50_000, 20_000, 1.5, 1.2),
    "made-5": PowerLaws(10_000, 3_000, 1.0, 1.5),
    "made-6": PowerLaws(30_000, 500, 2.5, 1.0),
    "made-7": PowerLaws(2_000, 300, 0.7, 2.5),
    "made-8": PowerLaws(100_000, 50_000, 1.3, 1.0),
}
SIZES = (3, 5, 10, 20, 50)
SHOWN = (5, 20)
"""In the published table; its last lines are about all."""
EPSILONS = ("0.1", "0.3", "1", "3")
CAPS = (1, 2, 4, 8, 16, 32, 64)
ALL = "all in full"
LEVELS = tuple(product((4.0, 5.0, 6.0, 7.0, 8.0, 10.0), (1 / 2, 2 / 3, 1.0), (1.0, 1.5, 2.0, 3.0)))
"""From which two targets count in full; how it grows with their number; all of them, by k."""
CHOSEN = (TWO_IN_FULL_FROM, 2 / 3, ALL_IN_FULL_FROM)
SHORT = 0.02
"""The rule may be so much below the rival."""
RUNS = 96


def _cells(quick: bool) -> Sequence[Parameters]:
    names = ("flights",) if quick else (*GRAPHS, *TABLES, *MADE)
    return [
        {"dataset": name, "k": k, "runs": 4 if quick else RUNS} for name, k in product(names, SIZES)
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    name = str(cell["dataset"])
    source, target, n = _relation(name)
    k = int(cell["k"])
    runs = int(cell["runs"])
    truth = np.bincount(target, minlength=n)
    least = int(np.sort(truth)[-k])

    def right(found: IntArray) -> float:
        return float(np.mean(truth[found] >= least))

    def drawn(counts: FloatArray | IntArray, scale: float) -> float:
        return right(np.argpartition(-(counts + scale * _laplace(n, entropy)), k)[:k])

    def all_in_full(scale: float) -> float:
        return right(np.argpartition(scale * np.log(uniform(n, entropy)) - truth, k)[:k])

    def best_cap(epsilon: float) -> float:
        found = {
            cap: [drawn(cuts[i % len(cuts)][cap], cap / epsilon) for i in range(runs)]
            for cap in CAPS
        }
        halves = slice(None, runs // 2), slice(runs // 2, None)
        judged = [
            np.mean(found[max(CAPS, key=lambda cap: np.mean(found[cap][chosen]))][left])
            for chosen, left in (halves, halves[::-1])
        ]
        return float(np.mean(judged))

    cuts = [_cuts(source, target, n, entropy) for _ in range(max(runs // 8, 1))]
    weights = {m: _weights(source, target, n, m, k) for m in _in_full(k)}
    known = (name, len(np.unique(source)), n, len(source), k)
    rows = list[Row]()
    for text in EPSILONS:
        epsilon = float(text)
        left = epsilon * float(1 - CHOICE)
        found = {
            f"{m} in full": float(np.mean([drawn(weight, m / left) for _ in range(runs)]))
            for m, weight in weights.items()
        }
        found[ALL] = float(np.mean([all_in_full(k / left) for _ in range(runs)]))
        found["cut"] = best_cap(epsilon)
        level = epsilon * least / log(n)
        found["rule"] = expected(found, level, k, n, CHOSEN)
        rows += [
            (*known, epsilon, round(level, 4), method, runs, round(share, 4))
            for method, share in found.items()
        ]
    return rows


def _in_full(k: int) -> list[int]:
    """The numbers of targets that may count in full."""
    return [m for m in (1, 2, 4, 8, 16, 32) if m == 1 or 2 * m <= k]


def expected(
    found: Mapping[str, float], level: float, k: int, n: int, levels: tuple[float, float, float]
) -> float:
    """What the choice of a way by the noisy level gives.

    Args:
        found: the share that each way finds.
        level: without noise.
        k: how many names.
        n: of how many targets.
        levels: see `LEVELS`.
    """
    scale = 1 / float(CHOICE) / log(n)
    two, power, each = levels
    starts = {f"{m} in full": min(two * (m / 2) ** power, each * k) for m in _in_full(k)[1:]}
    starts[ALL] = each * k
    below = [0.0, *(_below((start - level) / scale) for start in starts.values()), 1.0]
    ways = ("1 in full", *starts)
    return sum(chance * found[way] for chance, way in zip(np.diff(below), ways, strict=True))


def left_out(rows: Rows) -> list[tuple[str, float]]:
    """Of every cell its relation and by how much the rule is ahead of the rival, left out."""
    cells = dict[tuple[str, float, float], dict[str, float]]()
    facts = dict[tuple[str, float, float], tuple[float, int, int]]()
    for row in rows:
        cell = str(row["dataset"]), float(row["k"]), float(row["epsilon"])
        cells.setdefault(cell, {})[str(row["method"])] = float(row["right"])
        facts[cell] = float(row["level"]), int(row["k"]), int(row["targets"])
    ahead = {
        each: {cell: expected(at, *facts[cell], each) - at["cut"] for cell, at in cells.items()}
        for each in LEVELS
    }
    judged = list[tuple[str, float]]()
    for name in dict.fromkeys(cell[0] for cell in cells):
        others = [cell for cell in cells if cell[0] != name]
        best = min(LEVELS, key=lambda each: _loss([ahead[each][cell] for cell in others]))
        judged += [(name, ahead[best][cell]) for cell in cells if cell[0] == name]
    return judged


def _loss(ahead: Sequence[float]) -> float:
    """What matters is to be below by little; then the mean."""
    short = np.maximum(-SHORT - np.array(ahead), 0)
    return float(10 * (short**2).sum() + short.sum() - SHORT * np.mean(ahead))


def _below(z: float) -> float:
    """P(Laplace noise of scale 1 < z)."""
    return 0.5 * np.exp(z) if z < 0 else 1 - 0.5 * np.exp(-z)


def uniform(n: int, entropy: InsecureEntropy) -> FloatArray:
    """Above 0 and below 1."""
    return np.asarray((uniform_words(n, entropy) + 0.5) / 2.0**64, dtype=np.float64)


def _laplace(n: int, entropy: InsecureEntropy) -> FloatArray:
    centred = uniform(n, entropy) - 0.5
    return -np.sign(centred) * np.log1p(-2 * np.abs(centred))


def _relation(name: str) -> tuple[IntArray, IntArray, int]:
    """Every source and target once, and the number of targets."""
    if name in MADE:
        return *MADE[name].pairs(), MADE[name].targets
    if name in TABLES:
        source, target, _, names = TABLES[name].load()
        pairs = np.unique(source * len(names) + target)
        return pairs // len(names), pairs % len(names), len(names)
    graph = load_graph(name)
    src, dst = (np.asarray(each, dtype=np.int64) for each in (graph.src, graph.dst))
    return np.concatenate([src, dst]), np.concatenate([dst, src]), graph.n


def _weights(source: IntArray, target: IntArray, n: int, m: int, k: int) -> FloatArray:
    """The weight of every target, in edges that count in full."""
    edges = np.bincount(source)[source]
    each = np.minimum(1, m / np.minimum(edges, k))
    return np.bincount(target, each, minlength=n).astype(np.float64)


def _cuts(
    source: IntArray, target: IntArray, n: int, entropy: InsecureEntropy
) -> dict[int, IntArray]:
    """The counts of at most so many random edges of every source."""
    order = np.lexsort((uniform_words(len(source), entropy), source))
    first = np.flatnonzero(np.diff(source[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
    kept = target[order]
    return {cap: np.bincount(kept[place < cap], minlength=n) for cap in CAPS}


def _caption(rows: Rows) -> str:
    return f"One source more or less; means of {listed(rows, 'runs')} runs."


STUDY = Study(
    name="names",
    title="Names by distinct persons: the most followed nodes",
    figure="beyond the paper",
    about="The share of the k targets with the most sources that is found, where ε protects a "
    "source with all its edges.",
    finding="A noisy count says how many targets of a source count in full; the ranking is ahead "
    "of that by edges cut to the best cap.",
    caption=_caption,
    columns=(
        "dataset", "sources", "targets", "edges", "k", "epsilon", "level", "method", "runs",
        "right",
    ),
    cells=_cells,
    run=_run,
    minutes=15,
)  # fmt: skip
