"""The k targets with the most sources, where ε protects a source with all its edges.

Distinct sources of every target are what `top_k(metric="indegree", unit="source")` and
`most_frequent(unit=...)` rank by.  `rule` is what they do; `one by one` draws k names at ε/k each,
`one draw` adds noise once to weights, of which m targets of a source count in full; the rule takes
one of both.  The rival `cut` keeps at most C random edges of every source and adds noise of scale
C/ε to the counts, with the C of 1, 2, 4, ..., 64 that turns out best, which nobody knows before.

Edges of the graphs are known without their direction: each is taken in both.  Two tables are real
directed relations: students who rate lecturers, planes that fly to airports.  Accuracy is the share
of a true top k that is found; among equals at the k-th place any will do.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from dampen.core.mechanisms import named, select
from dampen.core.sampling import InsecureEntropy, uniform_words
from dampen.core.selection import IntArray
from dampen.data.units import Pairs, Shares, quantum_of
from dampen.questions.frequency import COUNTED_IN_FULL, distinct_selection, drawn_one_by_one
from dampen.releases.numbers import ranked
from dampen_studies.datasets import load_graph
from dampen_studies.datasets.people import PeopleTable
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study

GRAPHS = ("wiki-vote", "enron", "slashdot", "brightkite", "github")
TABLES = {
    "ratings": PeopleTable("lme4", "InstEval", "s", "d", "y", 1, 5, "1"),
    "flights": PeopleTable("nycflights13", "flights", "tailnum", "dest", "distance", 0, 5000, "1"),
}
SIZES = (5, 20)
EPSILONS = ("0.1", "0.3", "0.5", "1", "2")
CAPS = (1, 2, 4, 8, 16, 32, 64)
RUNS = 12


def _cells(quick: bool) -> Sequence[Parameters]:
    names = ("flights",) if quick else (*GRAPHS, *TABLES)
    return [
        {"dataset": name, "k": k, "runs": 3 if quick else RUNS} for name, k in product(names, SIZES)
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    name = str(cell["dataset"])
    source, target, n = _relation(name)
    k = int(cell["k"])
    runs = int(cell["runs"])
    truth = np.bincount(target, minlength=n)
    least = int(np.sort(truth)[-k])

    def right(places: Sequence[int]) -> float:
        return float(np.mean(truth[list(places)] >= least))

    cuts = [_cuts(source, target, n, entropy) for _ in range(runs)]
    known = (name, len(np.unique(source)), n, len(source), k)
    rows = list[Row]()
    for text in EPSILONS:
        epsilon = Fraction(text)
        m = max(1, int(COUNTED_IN_FULL * epsilon / k))
        share = epsilon / quantum_of(m)
        weights = _weights(source, target, n, m)
        found = {
            "one by one": [right(_one_by_one(truth, k, epsilon, entropy)) for _ in cuts],
            "one draw": [right(ranked(weights, k, share, entropy).places) for _ in cuts],
        }
        rivals = [
            [right(ranked(each[cap], k, epsilon / cap, entropy).places) for each in cuts]
            for cap in CAPS
        ]
        found["cut"] = max(rivals, key=np.mean)
        found["rule"] = found["one by one" if drawn_one_by_one(k, epsilon) else "one draw"]
        rows += [
            (*known, float(epsilon), method, runs, round(float(np.mean(shares)), 4))
            for method, shares in found.items()
        ]
    return rows


def _relation(name: str) -> tuple[IntArray, IntArray, int]:
    """Every source and target once, and the number of targets."""
    if name in TABLES:
        source, target, _, names = TABLES[name].load()
        pairs = np.unique(source * len(names) + target)
        return pairs // len(names), pairs % len(names), len(names)
    graph = load_graph(name)
    src, dst = (np.asarray(each, dtype=np.int64) for each in (graph.src, graph.dst))
    return np.concatenate([src, dst]), np.concatenate([dst, src]), graph.n


def _one_by_one(truth: IntArray, k: int, epsilon: Fraction, entropy: InsecureEntropy) -> list[int]:
    return select(
        distinct_selection(truth), epsilon=epsilon, mechanism=named("pf"), k=k, entropy=entropy
    )


def _weights(source: IntArray, target: IntArray, n: int, m: int) -> IntArray:
    keys = np.sort(source * n + target)
    pairs = Pairs(keys // n, keys % n, np.ones_like(keys))
    total = np.zeros(n, dtype=np.int64)
    np.add.at(total, pairs.cell, Shares(quantum_of(m), m, distinct=True).weights(pairs))
    return total


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
    finding="Names that are drawn one by one are ahead of edges cut to the best cap unless k/ε is "
    "large; there one draw of weights is close to it.",
    caption=_caption,
    columns=(
        "dataset", "sources", "targets", "edges", "k", "epsilon", "method", "runs", "right",
    ),
    cells=_cells,
    run=_run,
    minutes=10,
)  # fmt: skip
