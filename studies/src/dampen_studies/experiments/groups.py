"""The best group: reach beside everything else that could answer, on real tables.

Which group has the largest median, 90th percentile, mean?  The probability of naming it is computed
from each method's law, not sampled; `needed` is the smallest ε from which on it is at least 0.9.
All methods are ε-DP under adding or removing one row and get the best form known for them
(`dampen_studies.rivals.groups`); the control is a private quantile of every group, at the
full ε each.

`caution` is the development data of the default caution: the same `needed` for quantiles, with
caution 1 and 3 for all groups, and with caution 1 for all and 4 for groups that noise of c / ε rows
can push anywhere, for several c.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from statistics import geometric_mean

from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import FloatArray
from dampen.questions.groups.problem import FEW, MORE, BestGroup, ByReach
from dampen.questions.groups.reach import Reach, winning_probabilities
from dampen.questions.groups.statistics import Quantile
from dampen_studies.datasets.grouped import GROUPED, made_up
from dampen_studies.rivals.groups import (
    GroupMethod,
    epsilon_for_best,
    group_methods,
    true_statistics,
)
from dampen_studies.rows import where
from dampen_studies.study import Parameters, Row, Rows, Study, number

QUICK = "wards"
STATISTICS = {"median": ("median", None), "p90": ("quantile", 90), "mean": ("mean", None)}
EPSILONS = ("0.01", "0.1", "1")
NEVER = "never"


def _cells(quick: bool) -> Sequence[Parameters]:
    names = [QUICK] if quick else list(GROUPED)
    statistics = ["median"] if quick else list(STATISTICS)
    return [{"dataset": name, "statistic": each} for each in statistics for name in names]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    del entropy  # probabilities are computed, not sampled
    name = str(cell["dataset"])
    statistic = str(cell["statistic"])
    word, p = STATISTICS[statistic]
    problem, values, by = _asked(name, word, p)
    counts = problem.counts(values, by)
    best = true_statistics(problem, counts)
    rows = []
    for method in group_methods(problem, counts):
        needed = epsilon_for_best(method, best)
        chances = [method.best_probability(best, epsilon=epsilon) for epsilon in EPSILONS]
        shown = NEVER if needed == float("inf") else needed
        known = (name, statistic, len(values), len(problem.groups))
        rows.append((*known, method.name, shown, *chances))
    return rows


def _asked(name: str, statistic: str, p: int | None) -> tuple[BestGroup, FloatArray, list[str]]:
    """The question about a table, its values and groups."""
    if name == QUICK:
        (values, by) = made_up()
        (lower, upper, step) = (0.0, 100.0, "1")
    else:
        table = GROUPED[name]
        (values, by) = table.load()
        (lower, upper, step) = (table.lower, table.upper, table.step)
    problem = BestGroup(
        groups=sorted(set(by)), statistic=statistic, p=p, lower=lower, upper=upper, step=step
    )
    return problem, values, by


def _caption(rows: Rows) -> str:
    tables = len({row["dataset"] for row in rows})
    return f"{tables} tables; probabilities are computed, not sampled."


STUDY = Study(
    name="groups",
    title="The best group: what ε it takes to name it",
    figure="beyond the paper",
    about="The smallest ε at which the group with the largest statistic is named with probability "
    "0.9, on real tables with 7 to 86 groups: reach, the exponential mechanism, local dampening, "
    "smooth sensitivity, signed inverse sensitivity, and a private answer for every group.",
    finding="Reach needs several times less ε than a private quantile for every group. The "
    "exponential mechanism and local dampening do not name the best group at any ε worth having, "
    "but where it is the smallest: shifted local dampening ranks groups by their size.",
    caption=_caption,
    columns=(
        "dataset", "statistic", "rows", "groups", "method", "needed", "p_0.01", "p_0.1", "p_1",
    ),
    cells=_cells,
    run=_run,
    minutes=3,
)  # fmt: skip


PERCENTS = (50, 75, 90)
TRIED = (1, 2, 3, 4, 5)
MOST = 1.1
"""No question may need more than so many times the ε of caution 1."""


def _caution_cells(quick: bool) -> Sequence[Parameters]:
    names = [QUICK] if quick else list(GROUPED)
    return [{"dataset": name, "p": p} for p in PERCENTS[: 1 if quick else None] for name in names]


def _guarded(reach: Reach, few: int) -> Callable[[Fraction], FloatArray]:
    """The law with more caution for groups that noise of few / ε rows can push anywhere."""
    assert isinstance(reach.statistic, Quantile)
    share = reach.steps.pushed_share(reach.statistic.p)

    def law(epsilon: Fraction) -> FloatArray:
        guard = floor(few / (epsilon * share)), _rounded(MORE / epsilon)
        return winning_probabilities(replace(reach, guard=guard), epsilon, -_rounded(1 / epsilon))

    return law


def _rounded(rows: Fraction) -> int:
    return floor(rows + Fraction(1, 2))


def _run_caution(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    del entropy  # probabilities are computed, not sampled
    name = str(cell["dataset"])
    p = int(cell["p"])
    problem, values, by = _asked(name, "quantile", p)
    counts = problem.counts(values, by)
    best = true_statistics(problem, counts)
    contest = problem.contest(counts)
    assert isinstance(contest, ByReach)
    rules: dict[str, Callable[[Fraction], FloatArray]]
    rules = {f"caution {c}": replace(contest, caution=c).probabilities for c in (1, 3)}
    rules |= {f"few {few}": _guarded(contest.reach, few) for few in TRIED}
    found = list[Row]()
    once = float("inf")
    for rule, law in rules.items():
        highest = 100.0 if once == float("inf") else min(100.0, 4 * once)
        needed = epsilon_for_best(GroupMethod(rule, law), best, highest=highest)
        once = min(once, needed) if rule == "caution 1" else once
        ratio = round(min(needed / once, 4.0), 3) if once < float("inf") else 1.0
        shown = NEVER if needed == float("inf") else round(needed, 6)
        found.append((name, p, len(values), len(problem.groups), rule, shown, ratio))
    return found


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


def _caution_caption(rows: Rows) -> str:
    tables = len({row["dataset"] for row in rows})
    return f"{tables} tables; probabilities are computed, not sampled; the default c is {FEW}."


CAUTION = Study(
    name="caution",
    title="The best group: how much caution",
    figure="beyond the paper",
    about="The smallest ε at which the group with the largest quantile is named with probability "
    "0.9, with the same caution for all groups, and with more for groups that noise of c / ε rows "
    "can push anywhere; ratios to caution 1.",
    finding="More caution for small groups alone needs much less ε where there are such groups, "
    "and hardly ever more; more caution for all groups often loses.",
    caption=_caution_caption,
    columns=("dataset", "p", "rows", "groups", "rule", "needed", "ratio"),
    cells=_caution_cells,
    run=_run_caution,
    minutes=10,
)
