"""The best group where one person has many rows: weights and min-max against dropped rows.

For add/remove one person with all their rows.  `weights` is reach where everyone weighs one,
`min-max` the score for persons in many groups, `rule` the one of them that `top_groups` takes, told
how many groups the median person is in.  `one row` keeps one row of every person, drawn at random,
at ε; `five rows` five of them at ε/5; `row per group` one row of every person in every group, at ε
divided by the largest number of groups of a person.

There are two right answers: the best group of the average person (`person`), where a person's rows
share one weight, and the best group by persons in each group (`in_group`).  Both are reported.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from dampen.core.sampling import InsecureEntropy, uniform_words
from dampen.core.selection import FloatArray, IntArray
from dampen.data.memory import MemoryTable
from dampen.data.units import Shares, UnitTable
from dampen.questions.groups.problem import BestGroup
from dampen_studies.datasets.people import TABLES
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study

Q = 840
EPSILONS = ("0.1", "0.3", "1", "3", "10")
METHODS = ("rule", "weights", "min-max", "one row", "five rows", "row per group")
RUNS = 40
FEW_GROUPS = 2


def _cells(quick: bool) -> Sequence[Parameters]:
    names = [table.name for table in TABLES]
    return [
        {"dataset": name, "epsilon": epsilon, "runs": 5 if quick else RUNS}
        for name, epsilon in product(names[5:7] if quick else names, EPSILONS)
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    [table] = [each for each in TABLES if each.name == cell["dataset"]]
    unit, group, value, names = table.load()
    problem = BestGroup(groups=names, lower=table.lower, upper=table.upper, step=table.step)
    rows = _Rows(problem, unit, group, value)
    epsilon = Fraction(str(cell["epsilon"]))
    runs = int(cell["runs"])
    laws = {method: rows.law(method, epsilon, runs, entropy) for method in METHODS[1:]}
    laws["rule"] = laws["weights" if rows.usual_groups <= FEW_GROUPS else "min-max"]
    known = (table.name, len(unit), int(unit.max()) + 1, len(names), rows.usual_groups)
    return [
        (
            *known,
            float(epsilon),
            method,
            runs,
            *(round(float(laws[method][b]), 3) for b in rows.best),
        )
        for method in METHODS
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

    def law(
        self, method: str, epsilon: Fraction, runs: int, entropy: InsecureEntropy
    ) -> FloatArray:
        """The probability of every group: exact for min-max, else the share of runs."""
        everyone = range(len(self.problem.candidates))
        if method == "min-max":
            return self._of(Q).min_max(self.within, Q).probabilities(everyone, epsilon)
        if method == "weights":
            contest = self._of(Q).contest(self.shared)
            drawn = [contest.winners(1, epsilon / Q, entropy)[0] for _ in range(runs)]
            return np.bincount(drawn, minlength=len(everyone)) / runs
        drawn = [self._of_kept(method, epsilon, entropy) for _ in range(runs)]
        return np.bincount(drawn, minlength=len(everyone)) / runs

    def _of_kept(self, method: str, epsilon: Fraction, entropy: InsecureEntropy) -> int:
        per_group = method == "row per group"
        owner = self.unit * (int(self.group.max()) + 1) + self.group if per_group else self.unit
        most, share = {
            "one row": (1, 1), "five rows": (5, 5), "row per group": (1, self.most_groups),
        }[method]  # fmt: skip
        order = np.lexsort((uniform_words(len(owner), entropy), owner))
        first = np.flatnonzero(np.diff(owner[order], prepend=-1))
        place = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
        kept = order[place < most]
        counts = np.zeros(self.shared.shape, dtype=np.int64)
        np.add.at(counts, (self.group[kept], self.cell[kept]), 1)
        return self._of(1).contest(counts).winners(1, epsilon / share, entropy)[0]

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
    finding="Weights and min-max keep all rows, and need less ε than dropping rows on most tables.",
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
        "person",
        "in_group",
    ),
    cells=_cells,
    run=_run,
    minutes=5,
)
