"""Counts, totals and means beside OpenDP and diffprivlib; groups above a threshold.

**numbers**: the mean absolute error at the same ε and the same public range, on ten columns.
dampen and OpenDP are ε-DP for adding or removing one row.  OpenDP has no mean where the number of
rows is private: it is its sum by its count, each at ε/2.  diffprivlib protects one replaced row and
publishes the number of rows, which is weaker.  OpenDP draws from the operating system, so that its
rows differ from run to run, within their errors.

Where the number of rows is public to dampen too (`units_public`), it protects a replaced row as
diffprivlib does.

**unbounded-numbers**: nobody knows the range.  dampen finds one with a part of ε, or answers "too
few rows"; `answered` is how often it does not.  OpenDP and diffprivlib are given a range around 0
that is ten times as wide as needed.  Without any, diffprivlib takes it from the data, which is not
private: it is shown for comparison alone.

**above**: which groups have a median of at least a threshold?  The probability of a wrong side, the
mean over all groups, computed from the laws: reach, and a private median of every group at the full
ε.  Thresholds are the quartiles of the whole column.

**shares**: what a share of ε for the winner's own median costs its name, and buys.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dampen.core.noise import permute_and_flip
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import FloatArray, IntArray
from dampen.data.memory import MemoryTable
from dampen.questions.counts import CountQuestion
from dampen.questions.groups.above import AboveQuestion
from dampen.questions.groups.problem import BestGroup
from dampen.questions.groups.statistics import QuantileMethod
from dampen.questions.means import MeanQuestion, TotalQuestion
from dampen.releases.answer import planned
from dampen.releases.cost import Price
from dampen.schema.schema import Schema
from dampen_studies.datasets.grouped import GROUPED, TABLES, GroupedTable, made_up
from dampen_studies.experiments.diffprivlib_names import diffprivlib
from dampen_studies.experiments.unbounded import sample
from dampen_studies.rivals.groups import quantile_laws, true_statistics
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study, Value

COLUMNS = {f"{each.item}.{each.value}": each for each in reversed(TABLES)}
TEN = tuple(name for name in dict.fromkeys(f"{each.item}.{each.value}" for each in TABLES))[:10]
"""The first ten different columns of the tables of groups."""
PUBLIC_ROWS = "dampen, public rows"
NO_BOUNDS = (
    "dampen, no bounds",
    "opendp, wide bounds",
    "diffprivlib, wide bounds",
    "diffprivlib, no bounds",
)
LIBRARIES = ("dampen", "opendp", "diffprivlib", PUBLIC_ROWS)
WIDE = 10
"""How many times as wide as needed a range is that is guessed."""
COUNT = "count above the median"
STATISTICS = (COUNT, "total", "mean")
EPSILONS = ("0.1", "1")
ROWS = 2_000
RUNS = 4_000
FEWER_RUNS = 400
"""Of what is compared beside the three libraries with bounds and a private number of rows."""
QUICK = "wards"
QUARTILES = (25, 50, 75)
ABOVE_EPSILONS = ("0.01", "0.03", "0.1", "0.3", "1", "3")
Draw = Callable[[], float]


def _cells(quick: bool) -> Sequence[Parameters]:
    columns = (QUICK,) if quick else TEN
    return [
        {"column": name, "statistic": statistic, "epsilon": epsilon, "library": library}
        for name in columns
        for statistic in STATISTICS
        for epsilon in EPSILONS
        for library in (LIBRARIES[:3] if statistic == COUNT else LIBRARIES)
    ]


def _unbounded_cells(quick: bool) -> Sequence[Parameters]:
    others = [cell for cell in _cells(quick) if cell["library"] == PUBLIC_ROWS]
    return [{**cell, "library": library} for cell in others for library in NO_BOUNDS]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    name = str(cell["column"])
    statistic = str(cell["statistic"])
    library = str(cell["library"])
    table = GroupedTable("", "", "", "", 0, 100, "1") if name == QUICK else COLUMNS[name]
    whole = made_up()[0] if name == QUICK else table.load()[0]
    values = np.clip(sample(whole, ROWS), table.lower, table.upper)
    runs = 200 if name == QUICK else RUNS if library in LIBRARIES[:3] else FEWER_RUNS
    above = int((values > np.median(values)).sum())
    true = {COUNT: above, "total": values.sum(), "mean": values.mean()}[statistic]
    make = {"dampen": dampen_answer, "opendp": opendp_answer, "diffprivlib": diffprivlib_answer}
    make |= {PUBLIC_ROWS: partial(dampen_answer, facts=Schema(units_public=True))}
    wide = [partial(wide_answer, of=each) for each in (opendp_answer, diffprivlib_answer)]
    make |= dict(zip(NO_BOUNDS, (unbounded_answer, *wide, leaking_answer), strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draw = make[library](values, table, statistic, str(cell["epsilon"]), entropy)
        errors = np.abs([draw() - true for _ in range(runs)])
    known = (name, len(values), statistic, float(cell["epsilon"]), library, runs)
    answered = errors[~np.isnan(errors)]
    if not len(answered):
        return [(*known, "none", "none", 0.0)]
    error = float(answered.mean())
    spread = float(answered.std(ddof=1) / np.sqrt(len(answered)))
    return [(*known, error, spread, len(answered) / runs)]


def dampen_answer(
    values: FloatArray,
    table: GroupedTable,
    statistic: str,
    epsilon: str,
    entropy: InsecureEntropy,
    *,
    facts: Schema = Schema(),  # noqa: B008  # frozen
) -> Draw:
    """What the public functions draw."""
    if statistic == COUNT:
        values = values[values > np.median(values)]
    question: CountQuestion | TotalQuestion | MeanQuestion = CountQuestion()
    if statistic == "total":
        question = TotalQuestion(value="v", lower=table.lower, upper=table.upper)
    elif statistic == "mean":
        question = MeanQuestion(value="v", lower=table.lower, upper=table.upper)
    source = question.open(MemoryTable({"v": values}))
    method = question.method(source, facts, Price(epsilon))
    return lambda: float(method.draw(source, Fraction(epsilon), entropy).answer)


def unbounded_answer(
    values: FloatArray,
    table: GroupedTable,
    statistic: str,
    epsilon: str,
    entropy: InsecureEntropy,
) -> Draw:
    """A part of ε finds the range; NaN for too few rows."""
    del table
    question = TotalQuestion(value="v") if statistic == "total" else MeanQuestion(value="v")
    source = question.open(MemoryTable({"v": values}))
    plan = planned(question, source, Price(epsilon))

    def draw() -> float:
        found = plan.method.draw(source, plan.cost.epsilon, entropy).answer
        return math.nan if found is None else float(found)

    return draw


def wide_answer(
    values: FloatArray,
    table: GroupedTable,
    statistic: str,
    epsilon: str,
    entropy: InsecureEntropy,
    *,
    of: Callable[..., Draw],
) -> Draw:
    """A library that has to be given bounds: a range around 0 that is ten times as wide."""
    end = WIDE * max(abs(table.lower), abs(table.upper))
    guessed = replace(table, lower=0 if table.lower >= 0 else -end, upper=end)
    return of(values, guessed, statistic, epsilon, entropy)


def leaking_answer(
    values: FloatArray,
    table: GroupedTable,
    statistic: str,
    epsilon: str,
    entropy: InsecureEntropy,
) -> Draw:
    """diffprivlib takes bounds that nobody states from the data: not private."""
    ends = replace(table, lower=float(values.min()), upper=float(values.max()))
    return diffprivlib_answer(values, ends, statistic, epsilon, entropy)


def opendp_answer(
    values: FloatArray,
    table: GroupedTable,
    statistic: str,
    epsilon: str,
    entropy: InsecureEntropy,
) -> Draw:
    """Whole numbers of the same fine grid as dampen's, whose noise is exact."""
    import opendp.prelude as dp

    del entropy  # it draws from the operating system
    dp.enable_features("contrib")
    units = 100_000 / (table.upper - table.lower)
    cells = [int(each) for each in np.rint(values * units)]
    ends = (int(np.floor(table.lower * units)), int(np.ceil(table.upper * units)))
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    largest = max(map(abs, ends))
    share = float(epsilon) / (2 if statistic == "mean" else 1)
    count = space >> dp.t.then_count() >> dp.m.then_laplace(scale=1 / share)
    added: Any = dp.t.then_sum  # which has no types
    clamped = space >> dp.t.then_clamp(ends) >> added()
    total = clamped >> dp.m.then_laplace(scale=largest / share)
    if statistic == COUNT:
        above = [1] * int((values > np.median(values)).sum())
        return lambda: float(count(above))
    if statistic == "total":
        return lambda: total(cells) / units
    middle = (table.lower + table.upper) / 2

    def mean() -> float:
        rows = count(cells)
        found = total(cells) / units / rows if rows > 0 else middle
        return float(np.clip(found, table.lower, table.upper))

    return mean


def diffprivlib_answer(
    values: FloatArray,
    table: GroupedTable,
    statistic: str,
    epsilon: str,
    entropy: InsecureEntropy,
) -> Draw:
    tools = diffprivlib().tools
    same = {"epsilon": float(epsilon)}
    bounds = (float(table.lower), float(table.upper))

    def seed() -> int:
        return int.from_bytes(entropy.read(4), "big")

    if statistic == COUNT:
        above = values > np.median(values)
        return lambda: float(tools.count_nonzero(above, random_state=seed(), **same))
    asked = tools.sum if statistic == "total" else tools.mean
    return lambda: float(asked(values, bounds=bounds, random_state=seed(), **same))


def _caption(rows: Rows) -> str:
    columns = len({row["column"] for row in rows})
    return f"{columns} columns, {listed(rows, 'rows')} rows each, {listed(rows, 'runs')} runs."


NUMBERS = Study(
    name="numbers",
    title="Counts, totals and means beside OpenDP and diffprivlib",
    figure="beyond the paper",
    about="The mean absolute error of a count, a total and a mean at the same ε and range.",
    finding="Counts are equal. Means are ahead of both libraries, because two sums share one ε. "
    "Totals are equal to OpenDP's; diffprivlib's are smaller where the range does not reach 0, "
    "because it publishes the number of rows.",
    caption=_caption,
    columns=("column", "rows", "statistic", "epsilon", "library", "runs", "error", "se"),
    cells=_cells,
    run=lambda cell, entropy: [row[:-1] for row in _run(cell, entropy)],
    minutes=4,
)


UNBOUNDED_NUMBERS = Study(
    name="unbounded-numbers",
    title="Totals and means without bounds beside OpenDP and diffprivlib",
    figure="beyond the paper",
    about="The mean absolute error of a total and a mean whose range nobody knows: dampen finds "
    "one with a part of ε or says that there are too few rows; OpenDP and diffprivlib are given "
    "one ten times as wide. Without one, diffprivlib takes it from the data, which is not private.",
    finding="dampen pays for the range with a part of ε; a guessed range costs its width.",
    caption=_caption,
    columns=(*NUMBERS.columns, "answered"),
    cells=_unbounded_cells,
    run=_run,
    minutes=4,
)


def _above_cells(quick: bool) -> Sequence[Parameters]:
    names = [QUICK] if quick else list(GROUPED)
    return [{"dataset": name, "quartile": each} for name in names for each in QUARTILES]


def _above_run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    del entropy  # probabilities are computed, not sampled
    name = str(cell["dataset"])
    quick = name == QUICK
    table = GroupedTable("", "", "", "", 0, 100, "1") if quick else GROUPED[name]
    values, by = made_up() if quick else table.load()
    step = Fraction(table.step)
    within = np.clip(values, table.lower, table.upper)
    quartile = float(np.quantile(within, int(cell["quartile"]) / 100))
    threshold = Fraction(str(table.lower)) + step * round((quartile - table.lower) / float(step))
    question = AboveQuestion(
        value="v", by="g", groups=sorted(set(by)), threshold=threshold, lower=table.lower,
        upper=table.upper, step=table.step,
    )  # fmt: skip
    counts = question.problem.counts(values, by)
    truly, rows_to_other = _sides(question, counts)
    rows: list[Row] = []
    for epsilon in ABOVE_EPSILONS:
        q = np.exp(-float(epsilon))
        reach = float(np.mean(q ** (rows_to_other + 1) / (1 + q)))
        medians = quantile_laws(counts, 0.5, Fraction(epsilon))
        chance = medians[:, math.ceil(question.cells) :].sum(axis=1)
        control = float(np.mean(np.where(truly, 1 - chance, chance)))
        known = (name, len(counts), int(cell["quartile"]), float(epsilon))
        rows.append((*known, float(f"{reach:.4g}"), float(f"{control:.4g}")))
    return rows


def _sides(question: AboveQuestion, counts: IntArray) -> tuple[NDArray[np.bool_], IntArray]:
    """Who is above, and how many rows may come or go without bringing them to the other side."""
    reach = question.reach(counts)
    who = np.arange(len(counts))
    most = int(counts.sum()) + 2
    low = np.full(len(who), -most)
    high = np.full(len(who), most)
    while (high - low > 1).any():
        middle = (low + high) // 2
        passes = question.passes(reach.at(who, middle), question.cells)
        high = np.where(passes, middle, high)
        low = np.where(passes, low, middle)
    truly = high <= 0
    away: IntArray = np.where(truly, -high, high - 1)
    return truly, away


def _above_caption(rows: Rows) -> str:
    tables = len({row["dataset"] for row in rows})
    return f"{tables} tables; probabilities are computed, not sampled."


ABOVE = Study(
    name="above",
    title="Groups above a threshold",
    figure="beyond the paper",
    about="The share of groups that are put on the wrong side of a threshold: one bit of reach, "
    "and a private median of every group at the full ε.",
    finding="Reach makes about half of the errors at small ε, and a small part of them at ε = 1.",
    caption=_above_caption,
    columns=("dataset", "groups", "quartile", "epsilon", "reach", "private_median"),
    cells=_above_cells,
    run=_above_run,
    minutes=1,
)


SHARES = ("0", "0.05", "0.1", "0.25", "0.5", "0.75")
SHARE_EPSILONS = ("0.1", "0.3", "1", "3")


def _share_cells(quick: bool) -> Sequence[Parameters]:
    return [{"dataset": name} for name in ([QUICK] if quick else list(GROUPED))]


def _share_run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    del entropy  # probabilities are computed, not sampled
    name = str(cell["dataset"])
    quick = name == QUICK
    table = GroupedTable("", "", "", "", 0, 100, "1") if quick else GROUPED[name]
    values, by = made_up() if quick else table.load()
    problem = BestGroup(
        groups=sorted(set(by)), lower=table.lower, upper=table.upper, step=table.step
    )
    counts = problem.counts(values, by)
    best = int(np.argmax(true_statistics(problem, counts)))
    contest = problem.contest(counts)
    measuring = QuantileMethod("v", "g", ["best"], problem.grid, Fraction(1, 2))
    off = measuring.rows_off(counts[best], 0) / 2
    rows: list[Row] = []
    for epsilon in SHARE_EPSILONS:
        for share in SHARES:
            part = Fraction(share) * Fraction(epsilon)
            chance = float(contest.probabilities(Fraction(epsilon) - part)[best])
            wrong: Value = "none"
            if part:
                law = permute_and_flip(np.maximum(-off * float(part / 3), -1e300))
                wrong = float(f"{float(law @ off):.4g}")
            known = (name, len(counts), int(counts[best].sum()), float(epsilon), float(share))
            rows.append((*known, round(chance, 4), wrong))
    return rows


MEASURED = Study(
    name="shares",
    title="The share of ε for the winner's own number",
    figure="beyond the paper",
    about="How probable the best group is, and how many rows its median is off, where a share of ε "
    "is kept for the median.",
    finding="A quarter of ε costs the name little of its probability; of more the number gains "
    "less than the name loses.",
    caption=_above_caption,
    columns=("dataset", "groups", "rows", "epsilon", "share", "best", "rows_off"),
    cells=_share_cells,
    run=_share_run,
    minutes=1,
)
