"""The best group: how much caution, and whether the sizes of groups can tell.

A rule says how many rows are taken off every group.  The answer is right if the best group is
named; `needed` is the smallest ε from which on that has a probability of at least 0.9, `ratio` is
`needed` relative to caution 1 for all groups.  Probabilities are computed from the law, not
sampled.

Rules of three kinds, all of them private:

- one caution for all groups;
- *stairs*: more caution for groups that noise of a few times 1/ε rows can push anywhere, which is
  R' of `dampen.questions.groups.reach` with any number of terms in place of two, at no cost in ε;
- caution that follows from the *sizes* of groups.  A release would have to buy them with noise;
  here they are exact and cost nothing, so that what is found is more than could be had.  One number
  is bought too: the sum of e^(-ε q n) over the groups, in which small groups count.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import geometric_mean
from typing import Literal

import numpy as np

from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import FloatArray, IntArray
from dampen.data.memory import MemoryTable
from dampen.questions.groups.problem import FEW, BestGroup, ByReach
from dampen.questions.groups.reach import Reach, _levels
from dampen.questions.groups.statistics import Quantile
from dampen_studies.datasets.grouped import FURTHER_GROUPED, GROUPED, made_up
from dampen_studies.rivals.groups import true_statistics
from dampen_studies.rows import where
from dampen_studies.study import Parameters, Row, Rows, Study, number

QUICK = "wards"
PERCENTS = (50, 75, 90)
MOST = 1.1
"""No question may need more than so many times the ε of caution 1."""
WORST = 4.0
"""A larger ratio counts as this."""
PROBABILITY = 0.9
RANGE = (3e-4, 100.0)
NEVER = "never"
DEVELOPMENT, FURTHER = "development", "further"
FIRST = "caution 1"

Offsets = tuple[FloatArray, FloatArray]
"""In rows, one line per term of R', one column per group: what is taken off, and how many rows a
group then has to have; the most rows and the least caution first."""
Rule = Callable[["Levels", float], float]
"""P(a best group is named), at an ε."""


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """R(x_g, w) of every group, as levels 0, 1, ... that have the order of all the statistics.

    Attributes:
        sizes: of the groups.
        share: q: so many of its rows push a group to any height.
        first: of every group the w of its first level.
        levels: of every group, ascending in w.
        best: the groups with the largest statistic.
    """

    sizes: IntArray
    share: float
    first: IntArray
    levels: Sequence[IntArray]
    best: Sequence[int]

    @classmethod
    def of(cls, reach: Reach, statistics: FloatArray) -> "Levels":
        """The levels of a table."""
        assert isinstance(reach.statistic, Quantile)
        assert reach.statistic.p >= 0.5, (
            "below, the rows that must remain change R itself more than by half a rank"
        )
        everyone = np.arange(len(reach.x.sizes))
        low, high = reach.ends(everyone)
        who = np.repeat(everyone, high - low + 1)
        start = np.cumsum(high - low + 1) - (high - low + 1)
        level = _levels(reach.at(who, np.arange(len(who)) - np.repeat(start - low, high - low + 1)))
        share = float(reach.steps.pushed_share(reach.statistic.p))
        best = np.flatnonzero(statistics == statistics.max()).tolist()
        return cls(reach.x.sizes, share, low, np.split(level, start[1:]), best)

    def right(self, epsilon: float, offsets: Offsets) -> float:
        """P(a best group is named)."""
        less, least = offsets
        return sum(self._wins(g, epsilon, less, least) for g in self.best)

    def _wins(self, g: int, epsilon: float, less: FloatArray, least: FloatArray) -> float:
        """Σ over the levels of g: the chance of the level by that of all others to be below."""
        begins = np.flatnonzero(np.diff(self.levels[g], prepend=-1))
        level = self.levels[g][begins]
        reached = self._reached(g, begins, epsilon, less, least)
        chance = reached - np.append(reached[1:], 0)
        seen = chance > NEGLIGIBLE
        # A tie is broken by the order of uniform numbers: u is that of g.
        below = np.ones((int(seen.sum()), len(NODES)))
        for h in range(len(self.sizes)):
            if h != g:
                ends = (np.searchsorted(self.levels[h], level[seen], side) for side in SIDES)
                lower, upper = (1 - self._reached(h, w, epsilon, less, least) for w in ends)
                below *= lower[:, None] + NODES * (upper - lower)[:, None]
        return float(chance[seen] @ (below @ WEIGHTS))

    def _reached(
        self, g: int, place: IntArray, epsilon: float, less: FloatArray, least: FloatArray
    ) -> FloatArray:
        """P(g reaches the level at a place of its list); 1 at the first, 0 behind the last one.

        R'(x, w) is the largest R(x, w - c) of all terms with n + w - c >= N.
        """
        w = place + self.first[g]
        terms = zip(less[:, g], least[:, g], strict=True)
        needed = np.min([np.maximum(w, rows - self.sizes[g]) + off for off, rows in terms], axis=0)
        tail = np.exp(-epsilon * np.where(needed > 0, needed, 1 - needed)) / (1 + np.exp(-epsilon))
        chance = np.where(needed > 0, tail, 1 - tail)
        return np.where(place == 0, 1.0, np.where(place == len(self.levels[g]), 0.0, chance))


SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
NEGLIGIBLE = 1e-12
NODES, WEIGHTS = (
    (x + at) / 2 for x, at in zip(np.polynomial.legendre.leggauss(8), (1, 0), strict=True)
)


def stairs(steps: Mapping[float, float], usual: float = 1.0) -> Rule:
    """Caution `usual`, and more for groups that noise of a / ε rows can push anywhere, by a."""
    return sized(lambda sizes: np.full(len(sizes), usual), steps)


def sized(caution: Callable[[FloatArray], FloatArray], steps: Mapping[float, float]) -> Rule:
    """The same with a usual caution that follows from sizes, in units of 1 / (ε q)."""

    def law(table: Levels, epsilon: float) -> float:
        usual = caution(np.asarray(table.sizes * (epsilon * table.share)))
        return table.right(epsilon, _offsets(table, epsilon, usual, steps))

    return law


def _offsets(
    table: Levels, epsilon: float, usual: FloatArray, steps: Mapping[float, float]
) -> Offsets:
    few = sorted(steps, reverse=True)
    unit = 1 / (epsilon * table.share)
    every = np.ones_like(usual)
    more = [np.zeros_like(usual), *(np.maximum(steps[a] - usual, 0) for a in few)]
    less = _rounded(usual / epsilon) + _rounded(np.array(more) / epsilon)
    least = np.array([*(np.maximum(np.floor(a * unit), 1) * every for a in few), every])
    return less, least


def _rounded(rows: FloatArray) -> FloatArray:
    return np.floor(rows + 0.5)


def bought(table: Levels, epsilon: float) -> float:
    """`_small` with the sum bought for a twentieth of ε, averaged over quantiles of its noise.

    A row changes the sum by at most 1 - e^(-ε q).
    """
    rest = (1 - SHARE) * epsilon
    total = np.exp(-table.sizes * rest * table.share).sum()
    scale = -np.expm1(-rest * table.share) / (SHARE * epsilon)
    chances = list[float]()
    for noise in scale * NOISE:
        caution = _more(max(total + noise, 0.0)) * np.ones(len(table.sizes))
        chances.append(table.right(rest, _offsets(table, rest, caution, {FEW: 4})))
    return float(np.mean(chances))


def _below(part: float, sizes: FloatArray) -> FloatArray:
    return np.where(sizes < part * np.median(sizes), 3.0, 1.0)


def _logarithm(sizes: FloatArray) -> FloatArray:
    return np.clip(1 + np.log(np.median(sizes) / np.maximum(sizes, 1e-9)) / 2, 0, 4)


def _rank(sizes: FloatArray) -> FloatArray:
    """More the more groups are larger."""
    return 1 + np.log1p((sizes[:, None] < sizes).sum(axis=1)) / 2


def _small(sizes: FloatArray) -> FloatArray:
    """More for all, the more small groups may err."""
    return np.full(len(sizes), _more(np.exp(-sizes).sum()))


def _more(small: float) -> float:
    return min(4.0, 1 + float(np.log1p(small)))


def _left_out(sizes: FloatArray) -> FloatArray:
    return np.where(sizes < FEW, 1e3, 1.0)


TRIED = (2, 3, 4, 5)
SHARE = 0.05
NOISE = np.array(
    [-np.log(2 * (1 - u)) if u > 0.5 else np.log(2 * u) for u in np.arange(1, 10, 2) / 10]
)
"""Five quantiles of Laplace noise."""
ALONE: Mapping[str, Rule] = {f"caution {c:g}": stairs({}, c) for c in (1, 0, 1.5, 2, 3)}
STAIRS: Mapping[str, Rule] = {
    **{f"few {a}": stairs({a: 4}) for a in TRIED},
    "6 below 2, 4 below 3": stairs({2: 6, 3: 4}),
    "4 below 3, 1.5 below 4": stairs({3: 4, 4: 1.5}),
    "4 below 3, 2.5 below 6, 1.5 below 12": stairs({3: 4, 6: 2.5, 12: 1.5}),
    "4 below 3, else 1.1": stairs({3: 4}, 1.1),
    "4 below 3, else 1.5": stairs({3: 4}, 1.5),
    "4 below 3, 1 below 30, else 0.5": stairs({3: 4, 30: 1}, 0.5),
}
SIZED: Mapping[str, Rule] = {
    "sizes: 3 below half the median": sized(partial(_below, 0.5), {3: 4}),
    "sizes: 3 below a quarter of it": sized(partial(_below, 0.25), {3: 4}),
    "sizes: by the logarithm": sized(_logarithm, {3: 4}),
    "sizes: by the larger groups": sized(_rank, {3: 4}),
    "sizes: by the small groups": sized(_small, {3: 4}),
    "sizes: by the small groups, bought": bought,
    "sizes: small groups left out": sized(_left_out, {}),
}
RULES: Mapping[str, Rule] = {**ALONE, **STAIRS, **SIZED}


def needed_epsilon(table: Levels, rule: Rule, highest: float = RANGE[1]) -> float:
    """The smallest ε, to 0.2 %, from which on the best group is named; infinite if none is.

    Goes down a grid that is the same for all rules, from the highest ε: to be right by luck at a
    small ε only does not count.
    """
    high = float("inf")
    grid = np.exp(np.arange(np.log(RANGE[1]), np.log(RANGE[0]), -np.log(1.2)))
    for epsilon in grid[grid <= highest]:
        if rule(table, float(epsilon)) < PROBABILITY:
            break
        high = float(epsilon)
    else:
        return high
    low = high / 1.2
    while low < high / 1.002 < float("inf"):
        middle = float(np.sqrt(low * high))
        enough = rule(table, middle) >= PROBABILITY
        low, high = (low, middle) if enough else (middle, high)
    return high


def _cells(quick: bool) -> Sequence[Parameters]:
    names = [QUICK] if quick else [*GROUPED, *FURTHER_GROUPED]
    return [{"dataset": name, "p": p} for p in PERCENTS[: 1 if quick else None] for name in names]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    del entropy  # probabilities are computed, not sampled
    name = str(cell["dataset"])
    p = int(cell["p"])
    rows, table = _table(name, p)
    [g, *_] = table.best
    tables = FURTHER if name in FURTHER_GROUPED else DEVELOPMENT
    above = round(float((table.sizes < table.sizes[g]).mean()), 3)
    known = (name, tables, p, rows, len(table.sizes), above)
    once = needed_epsilon(table, RULES[FIRST])
    found = list[Row]()
    for name_of, rule in RULES.items():
        if name_of == FIRST or once == float("inf"):
            needed, ratio = once, 1.0
        else:
            needed = needed_epsilon(table, rule, min(RANGE[1], 1.2 * WORST * once))
            ratio = min(needed / once, WORST)
        shown = NEVER if needed == float("inf") else float(f"{needed:.4g}")
        found.append((*known, name_of, shown, float(f"{ratio:.4g}")))
    return found


def _table(name: str, p: int) -> tuple[int, Levels]:
    """The number of rows, and the levels of a question."""
    if name in FURTHER_GROUPED:
        values, by = FURTHER_GROUPED[name].load()
        ends: dict[str, float | str] = {}
    elif name == QUICK:
        values, by = made_up()
        ends = {"lower": 0.0, "upper": 100.0, "step": "1"}
    else:
        table = GROUPED[name]
        values, by = table.load()
        ends = {"lower": table.lower, "upper": table.upper, "step": table.step}
    problem = BestGroup(groups=sorted(set(by)), p=p, **ends)  # type: ignore[arg-type]
    counts = problem.look(MemoryTable({"values": values, "by": by}), "values", "by")
    contest = problem.contest(counts)
    assert isinstance(contest, ByReach)
    return len(values), Levels.of(contest.reach, true_statistics(problem, counts))


def chosen_few(rows: Rows) -> int:
    """The c of the least mean ratio among those that no question loses more than a tenth by."""
    found = [
        (geometric_mean(ratios), few)
        for few in TRIED
        if max(ratios := [number(row, "ratio") for row in where(rows, rule=f"few {few}")]) <= MOST
    ]
    return min(found)[1] if found else min(TRIED)


def few_left_out(rows: Rows) -> dict[str, int]:
    """Of every table: the c that all others choose."""
    names = dict.fromkeys(str(row["dataset"]) for row in rows)
    return {name: chosen_few([row for row in rows if row["dataset"] != name]) for name in names}


def _caption(rows: Rows) -> str:
    tables = len({row["dataset"] for row in rows})
    return f"{tables} tables; probabilities are computed, not sampled; the default c is {FEW}."


STUDY = Study(
    name="caution",
    title="The best group: how much caution",
    figure="beyond the paper",
    about="The smallest ε at which the group with the largest quantile is named with probability "
    "0.9: the same caution for all groups, more for groups that noise of c / ε rows can push "
    "anywhere, and caution that follows from the sizes of groups; ratios to caution 1.",
    finding="More caution for the smallest groups alone needs much less ε where there are such "
    "groups.  Nothing gains on most tables without losing on others, not even with the exact "
    "sizes: the best group is as often smaller than the others as it is larger.",
    caption=_caption,
    columns=(
        "dataset", "tables", "p", "rows", "groups", "best_above", "rule", "needed", "ratio",
    ),
    cells=_cells,
    run=_run,
    minutes=40,
)  # fmt: skip
