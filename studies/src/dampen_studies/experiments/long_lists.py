"""Long lists of percentiles: what `dampen.percentile` does, beside each of its ways alone.

99 percentiles and more, for one ε, on histograms of real data, on a sample of 9,415 of their
records, and on generated columns with few ties.  `dampen` is the way that is chosen by public
facts; `joint` the joint draw, where it fits, whatever the facts are; `tree` the tree of noisy
counts; `halving`.  The rank error is the mean over the list, in records.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import FloatArray, IntArray, Neighbours
from dampen.paper.percentile_selection import rank
from dampen.questions.percentile.halving import Halving, NoisyTree, Ranks
from dampen.questions.percentile.joint_tight import Taut, Way, together
from dampen_studies.experiments import many
from dampen_studies.experiments.percentiles import load
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study

GENERATED = ("hepth-9415", "lognormal-4096", "uniform-4096", many.FINE)
DATASETS = ("md-sal-fa", "hepth", "nettrace", "adult-loss", "bids-fj", "patent", *GENERATED)
LONGER = ("md-sal-fa", "hepth", "nettrace", "hepth-9415", many.FINE)
EPSILONS = ("0.1", "0.5", "1")
METHODS = ("dampen", "tree", "joint", "halving")
RELATIONS = (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ROW)
RUNS = 12


class JointAlone(Taut):
    """The joint draw, even where empty points may outweigh the data."""

    def crowded(self, _size: int, _epsilon: Fraction) -> bool:
        return False


def ranks_of(name: str) -> Ranks:
    """L and R of every point of a public grid."""
    counts = _counts(name).astype(np.int64)
    at_most = np.cumsum(counts)
    return Ranks(at_most - counts, at_most)


def _counts(name: str) -> IntArray:
    generator = np.random.default_rng(5)  # noqa: TID251  made-up data, not noise
    if name == "hepth-9415":
        return generator.multivariate_hypergeometric(load("hepth"), 9415, method="marginals")
    if name == "lognormal-4096":
        x = np.minimum(200 * generator.lognormal(0, 1, 16_384), 4095)
        return np.bincount(x.astype(np.int64), minlength=4096)
    if name == "uniform-4096":
        return np.bincount(generator.integers(0, 4096, 9415), minlength=4096)
    if name == many.FINE:
        x, bins = many.records(name)
        return np.bincount(x.astype(np.int64), minlength=bins)
    return load(name)


def way(
    method: str, shares: tuple[Fraction, ...], neighbours: Neighbours, points: int
) -> Way | None:
    """How a method draws; None where nothing but `dampen` does."""
    if method == "tree":
        return NoisyTree(shares, neighbours, points)
    if method == "halving":
        return Halving.on(points, shares, neighbours)
    chosen = together(shares, neighbours, points)
    if method == "dampen":
        return chosen
    if not isinstance(chosen, Taut):
        return None
    return JointAlone(shares, neighbours, points, chosen.otherwise)


def rank_errors(ranks: Ranks, shares: Sequence[Fraction], drawn: Sequence[int]) -> FloatArray:
    """Of every answer."""
    k = np.array([rank(100 * q, int(ranks.at_most[-1])) for q in shares])
    less, at_most = (r[np.array(drawn)] for r in (ranks.less, ranks.at_most))
    return np.maximum(np.maximum(less + 1 - k, k - at_most), 0).astype(np.float64)


def _cells(quick: bool) -> Sequence[Parameters]:
    names = ("lognormal-4096",) if quick else DATASETS
    epsilons = EPSILONS[-1:] if quick else EPSILONS
    asked = [(99, *a) for a in product(names, RELATIONS, epsilons, METHODS)]
    if not quick:
        methods = ("dampen", "halving")
        asked += list(product((199, 499, 999), LONGER, RELATIONS, EPSILONS, methods))
    return [
        {
            "dataset": name,
            "percentiles": m,
            "neighbours": neighbours.value,
            "epsilon": epsilon,
            "method": method,
            "runs": 2 if quick else RUNS if m == 99 else RUNS // 4,
        }
        for m, name, neighbours, epsilon, method in asked
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    name = str(cell["dataset"])
    m = int(cell["percentiles"])
    method = str(cell["method"])
    epsilon = Fraction(str(cell["epsilon"]))
    ranks = ranks_of(name)
    shares = tuple(Fraction(i, m + 1) for i in range(1, m + 1))
    drawn_by = way(method, shares, Neighbours(str(cell["neighbours"])), len(ranks.less))
    if drawn_by is None:
        return []
    runs = int(cell["runs"])
    drawn = [drawn_by.draw(ranks, epsilon, entropy) for _ in range(runs)]
    errors = [float(rank_errors(ranks, shares, one).mean()) for one in drawn]
    spread = float(np.std(errors, ddof=1) / np.sqrt(runs))
    known = (name, m, str(cell["neighbours"]), float(epsilon), method, runs)
    return [(*known, round(float(np.mean(errors)), 2), round(spread, 2))]


def _caption(rows: Rows) -> str:
    return f"One ε for the list; mean of {listed(rows, 'runs')} runs."


STUDY = Study(
    name="long-lists",
    title="Long lists of percentiles",
    figure="beyond the paper",
    about="The rank error of 99 to 999 percentiles for one ε: by the chosen way, by a tree of "
    "noisy counts, by the joint draw, by halving.",
    finding="A tree of noisy counts has less error than halving on every long list, and than the "
    "joint draw where few records lie between two percentiles.",
    caption=_caption,
    columns=(
        "dataset",
        "percentiles",
        "neighbours",
        "epsilon",
        "method",
        "runs",
        "error",
        "spread",
    ),
    cells=_cells,
    run=_run,
    minutes=15,
)
