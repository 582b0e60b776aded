"""The best group where one person has many rows: weights and min-max against dropped rows.

For add/remove one person with all their rows.  `weights` is reach where everyone weighs one,
`min-max` the score for persons in many groups, `rule` the one of them that `top_groups` takes, told
how many groups the median person is in.  Rivals drop rows: `row per group` keeps one row of every
person in every group, at ε divided by the largest number L of groups of a person; `1 row`, `2 rows`
and `5 rows` keep so many rows of every person, drawn at random, at ε divided by their number.

There are two right answers: the best group of the average person, where a person's rows share one
weight, and the best group by persons in each group.  The rule is judged by the one that it
estimates, which is the first for weights and the second for min-max.  A rival may be judged by
either: the better one counts.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dampen.core.sampling import InsecureEntropy, uniform_words
from dampen.core.selection import FloatArray, IntArray
from dampen.data.memory import MemoryTable
from dampen.data.units import Shares, UnitTable
from dampen.questions.groups.problem import BestGroup, ByReach
from dampen.questions.groups.statistics import BySum
from dampen_studies.datasets.people import TABLES
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study

Q = 840
EPSILONS = tuple(f"{10 ** (i / 6):.3g}" for i in range(-11, 9))
"""Six a decade, from 0.015 to 22."""
KEPT = {"1 row": 1, "2 rows": 2, "5 rows": 5}
RIVALS = ("row per group", *KEPT)
METHODS = ("rule", "weights", "min-max", *RIVALS)
RUNS = 200
FEW_GROUPS = 2


def _cells(quick: bool) -> Sequence[Parameters]:
    names = [table.name for table in TABLES]
    return [
        {"dataset": name, "runs": 5 if quick else RUNS} for name in (names[5:7] if quick else names)
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    [table] = [each for each in TABLES if each.name == cell["dataset"]]
    unit, group, value, names = table.load()
    problem = BestGroup(groups=names, lower=table.lower, upper=table.upper, step=table.step)
    rows = _Rows(problem, unit, group, value)
    runs = int(cell["runs"])
    laws = {method: rows.laws(method, runs, entropy) for method in METHODS[1:]}
    ruled = "weights" if rows.usual_groups <= FEW_GROUPS else "min-max"
    laws["rule"] = laws[ruled]
    right = {"weights": rows.best[:1], "min-max": rows.best[1:]}
    right["rule"] = right[ruled]
    known = (table.name, len(unit), int(unit.max()) + 1, len(names), rows.usual_groups)
    return [
        (
            *known,
            float(epsilon),
            method,
            runs,
            round(float(laws[method][i, right.get(method, rows.best)].max()), 4),
        )
        for method in METHODS
        for i, epsilon in enumerate(EPSILONS)
    ]


class _Rows:
    """A public table."""

    def __init__(
        self, problem: BestGroup, unit: IntArray, group: IntArray, value: FloatArray
    ) -> None:
        self.problem = problem
        self.unit = unit
        self.group = group
        self.cell = problem.grid.cells(value)
        pairs = np.unique(np.column_stack([unit, group]), axis=0)
        of_units = np.bincount(pairs[:, 0])
        self.usual_groups = int(np.median(of_units))
        self.most_groups = int(of_units.max())
        self.shared = self._weights(Shares(Q))
        self.within = self._weights(Shares(Q, within_lines=True))
        self.best = [self._winner(counts) for counts in (self.shared, self.within)]

    def laws(self, method: str, runs: int, entropy: InsecureEntropy) -> FloatArray:
        """The probability of every group at every ε: exact for min-max, else the share of runs."""
        everyone = range(len(self.problem.candidates))
        epsilons = [Fraction(each) for each in EPSILONS]
        if method == "min-max":
            contest = self._of(Q).min_max(self.within, Q)
            return np.array([contest.probabilities(everyone, each) for each in epsilons])
        found = np.zeros((len(epsilons), len(everyone)))
        weights = self._of(Q).contest(self.shared)
        for _ in range(runs):
            kept, steps = (weights, Q) if method == "weights" else self._kept(method, entropy)
            for i, epsilon in enumerate(epsilons):
                found[i, kept.winners(1, epsilon / steps, entropy)[0]] += 1
        return found / runs

    def _kept(self, method: str, entropy: InsecureEntropy) -> tuple[ByReach | BySum, int]:
        """Kept rows, drawn anew, and what ε is divided by."""
        per_group = method == "row per group"
        owner = self.unit * (int(self.group.max()) + 1) + self.group if per_group else self.unit
        most = KEPT.get(method, 1)
        order = np.lexsort((uniform_words(len(owner), entropy), owner))
        first = np.flatnonzero(np.diff(owner[order], prepend=-1))
        place = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
        kept = order[place < most]
        counts = np.zeros(self.shared.shape, dtype=np.int64)
        np.add.at(counts, (self.group[kept], self.cell[kept]), 1)
        return self._of(1).contest(counts), self.most_groups if per_group else most

    def _of(self, quantum: int) -> BestGroup:
        asked = self.problem
        return BestGroup(
            groups=asked.groups, lower=asked.lower, upper=asked.upper, step=asked.step,
            min_rows=quantum,
        )  # fmt: skip

    def _weights(self, weighing: Shares) -> IntArray:
        width = self.problem.grid.top + 2
        opened = MemoryTable({"unit": self.unit, "cell": self.group * width + self.cell})
        size = width * len(self.problem.candidates)
        counted = UnitTable(opened, "unit", weighing, width).counts(
            {"cell": "any"}, lambda batch: np.asarray(batch["cell"]), size
        )
        return counted[:-1].reshape(-1, width)[:, :-1]

    def _winner(self, counts: IntArray) -> int:
        """Without noise."""
        reach = self._of(1).contest(counts).reach  # type: ignore[union-attr]
        everyone = np.arange(len(counts))
        keys = reach.at(everyone, np.zeros(len(counts), dtype=np.int64)).ordinals()
        return int(np.lexsort(keys[::-1])[-1])


def _caption(rows: Rows) -> str:
    return f"One person more or less; {listed(rows, 'runs')} runs, min-max by its exact law."


STUDY = Study(
    name="people",
    title="One person, many rows",
    figure="beyond the paper",
    about="The probability of the best group where ε protects a person with all their rows: "
    "weights, min-max and rows that are dropped.",
    finding="Weights and min-max keep all rows, and need less ε than dropping rows.",
    caption=_caption,
    columns=(
        "dataset",
        "rows",
        "units",
        "groups",
        "groups_per_unit",
        "epsilon",
        "method",
        "runs",
        "right",
    ),
    cells=_cells,
    run=_run,
    revision=2,
    minutes=10,
)
