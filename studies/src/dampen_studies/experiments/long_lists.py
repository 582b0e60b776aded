"""Long lists of percentiles: what `dampen.percentile` does, beside each of its ways alone.

99 percentiles and more, for one ε, on histograms of real data, on a sample of 9,415 of their
records, and on generated columns with few ties.  `dampen` is the way that is chosen by public
facts; `joint` the joint draw, where it fits, whatever the facts are; `tree` the tree of noisy
counts; `halving`.  The rank error is the mean over the list, in records.

`list-rule` is the development data of the public rule between tree and joint draw: the same seeds
for all ways, so that what the rule takes is one of them, run by run.  `left_out` says what the rule
would have been without a column, and how it does on that column.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import FloatArray, IntArray, Neighbours
from dampen.paper.percentile_selection import rank
from dampen.questions.percentile.halving import Halving, NoisyTree, Ranks
from dampen.questions.percentile.joint_tight import CROWDED, Taut, Way, together
from dampen_studies.experiments import many
from dampen_studies.experiments.percentiles import load
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study, number, seed_of

GENERATED = ("hepth-9415", "lognormal-4096", "uniform-4096", many.FINE)
DATASETS = ("md-sal-fa", "hepth", "nettrace", "adult-loss", "bids-fj", "patent", *GENERATED)
LONGER = ("md-sal-fa", "hepth", "nettrace", "hepth-9415", many.FINE)
EPSILONS = ("0.1", "0.5", "1")
METHODS = ("dampen", "tree", "joint", "halving")
RELATIONS = (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ROW)
RUNS = 12
RULE_COLUMNS = (
    "md-sal-fa",
    "hepth",
    "nettrace",
    "bids-fj",
    "hepth-9415",
    "md-sal-3000",
    "ages-3000",
    "bimodal-9415",
    "uniform-4096",
    "lognormal-3000",
)
BORDER = frozenset(
    {
        ("nettrace", Neighbours.REPLACE_ONE, "0.1"),
        ("nettrace", Neighbours.ADD_REMOVE_ROW, "0.1"),
        ("hepth-9415", Neighbours.ADD_REMOVE_ROW, "0.2"),
        ("md-sal-3000", Neighbours.REPLACE_ONE, "1"),
        ("uniform-4096", Neighbours.ADD_REMOVE_ROW, "0.2"),
        ("bimodal-9415", Neighbours.ADD_REMOVE_ROW, "0.2"),
        ("lognormal-3000", Neighbours.REPLACE_ONE, "1"),
        ("lognormal-3000", Neighbours.ADD_REMOVE_ROW, "1"),
    }
)
"""Near the threshold, from 0.15 to 0.32: there are three times as many runs."""
SAMPLED = {"hepth-9415": "hepth", "md-sal-3000": "md-sal-fa"}
"""So many records of a histogram."""
NARROW = 10_000
MADE_UP = {
    "lognormal-4096": (16_384, 4096),
    "lognormal-3000": (3000, 10_000),
    "uniform-4096": (9415, 4096),
    "bimodal-9415": (9415, 2000),
    "ages-3000": (3000, 100),
}
"""Records and points."""
RULE_EPSILONS = ("0.1", "0.2", "1")
THRESHOLDS = tuple(round(0.01 * i, 2) for i in range(5, 41))
"""What `CROWDED` was chosen from."""


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
    """Of every point.  Made-up columns are rows of a distribution, the same in every run."""
    generator = np.random.default_rng(5)  # noqa: TID251  made-up data, not noise
    kind, _, size = name.rpartition("-")
    if name in SAMPLED:
        counts = load(SAMPLED[name])
        return generator.multivariate_hypergeometric(counts, int(size), method="marginals")
    if name == many.FINE:
        x, bins = many.records(name)
        return _binned(x, bins)
    if name in MADE_UP:
        n, bins = MADE_UP[name]
        return _binned(_column(kind, n, generator), bins)
    return load(name)


def _column(kind: str, n: int, generator: Any) -> FloatArray:
    match kind:
        case "lognormal":
            return (200 if n > NARROW else 300) * generator.lognormal(0, 1, n)
        case "bimodal":
            means = np.where(generator.random(n) < 0.5, 300, 1500)
            return generator.normal(means, 0.1 * means)
        case "ages":
            return generator.normal(42, 15, n)
    return generator.integers(0, 4096, n).astype(np.float64)


def _binned(x: FloatArray, bins: int) -> IntArray:
    return np.bincount(np.clip(x, 0, bins - 1).astype(np.int64), minlength=bins)


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
    finding="A tree of noisy counts has less error than halving on long lists, and than the "
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


def _rule_cells(quick: bool) -> Sequence[Parameters]:
    names = ("ages-3000",) if quick else RULE_COLUMNS
    epsilons = RULE_EPSILONS[-1:] if quick else RULE_EPSILONS
    return [
        {
            "dataset": name,
            "neighbours": neighbours.value,
            "epsilon": epsilon,
            "runs": 2 if quick else RUNS * (3 if (name, neighbours, epsilon) in BORDER else 1),
        }
        for name, neighbours, epsilon in product(names, RELATIONS, epsilons)
    ]


def _run_rule(cell: Parameters, _: InsecureEntropy) -> Sequence[Row]:
    name = str(cell["dataset"])
    neighbours = Neighbours(str(cell["neighbours"]))
    epsilon = Fraction(str(cell["epsilon"]))
    ranks = ranks_of(name)
    n = int(ranks.at_most[-1])
    shares = tuple(Fraction(i, 100) for i in range(1, 100))
    ways = {m: way(m, shares, neighbours, len(ranks.less)) for m in ("tree", "joint", "halving")}
    joint = ways["joint"]
    assert isinstance(joint, Taut), "the columns of this study fit"
    rest = epsilon - joint.rounding(epsilon)
    errors: dict[str, list[float]] = {m: [] for m in (*ways, "dampen")}
    for i in range(int(cell["runs"])):
        seed = seed_of(f"{name} {neighbours.value} {epsilon} {i}")
        for method, drawn_by in ways.items():
            assert drawn_by is not None
            if method == "halving" and i % 2:
                continue  # it is the slowest, and the best one seldom
            drawn = drawn_by.draw(ranks, epsilon, InsecureEntropy(seed))
            errors[method].append(float(rank_errors(ranks, shares, drawn).mean()))
        size = joint.size(n, rest, InsecureEntropy(seed))
        assert size is not None
        taken = "tree" if Taut.crowded(joint, size, rest) else "joint"
        errors["dampen"].append(errors[taken][-1])
    means = {method: float(np.mean(each)) for method, each in errors.items()}
    crowd = crowding(joint, n, rest)
    shown = (round(means[m], 2) for m in ("tree", "joint", "halving", "dampen"))
    ratio = means["dampen"] / max(min(means["joint"], means["halving"]), 1e-9)
    known = (name, n, len(ranks.less), neighbours.value, float(epsilon), int(cell["runs"]))
    return [(*known, round(crowd, 4), *shown, round(ratio, 2))]


def crowding(joint: Taut, n: int, epsilon: Fraction) -> float:
    """What the rule compares with `CROWDED`."""
    between = joint.alpha(epsilon) * n / len(joint.apart)
    return float(between / (np.log(joint.points) * np.log(len(joint.shares))))


def worst_ratio(rows: Rows, threshold: float) -> float:
    """The largest error of the rule with a threshold, over the better of halving and joint."""
    found = [1.0]
    for row in rows:
        taken = "tree" if number(row, "crowd") < threshold else "joint"
        best = min(number(row, "joint"), number(row, "halving"))
        found.append(number(row, taken) / max(best, 0.01))
    return max(found)


def chosen_threshold(rows: Rows) -> float:
    """The one with the least worst ratio; the middle one of those."""
    worst = [worst_ratio(rows, each) for each in THRESHOLDS]
    best = [t for t, w in zip(THRESHOLDS, worst, strict=True) if w <= min(worst) * 1.001]
    return best[len(best) // 2]


def left_out(rows: Rows) -> list[tuple[str, float, float]]:
    """Of every column: the threshold that all others choose, and its worst ratio on this one."""
    names = sorted({str(row["dataset"]) for row in rows})
    found = []
    for name in names:
        threshold = chosen_threshold([row for row in rows if row["dataset"] != name])
        here = [row for row in rows if row["dataset"] == name]
        found.append((name, threshold, worst_ratio(here, threshold)))
    return found


def _rule_caption(rows: Rows) -> str:
    return (
        f"99 percentiles; mean of {listed(rows, 'runs')} runs; the rule's threshold is {CROWDED}."
    )


RULE = Study(
    name="list-rule",
    title="Tree or joint draw",
    figure="beyond the paper",
    about="The rank error of 99 percentiles for one ε by every way, and by the public rule that "
    "chooses between the tree of noisy counts and the joint draw.",
    finding="The rule is never far above the better of halving and the joint draw.",
    caption=_rule_caption,
    columns=(
        "dataset",
        "rows",
        "points",
        "neighbours",
        "epsilon",
        "runs",
        "crowd",
        "tree",
        "joint",
        "halving",
        "dampen",
        "ratio",
    ),
    cells=_rule_cells,
    run=_run_rule,
    minutes=8,
)
