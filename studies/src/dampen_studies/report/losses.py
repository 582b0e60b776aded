"""Where dampen is not the best: what was aimed at, and what the record has, line by line."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean, geometric_mean, median
from typing import NamedTuple

from dampen.questions.groups.problem import FEW
from dampen_studies import studies
from dampen_studies.claims import Tables
from dampen_studies.experiments import bins, key_names
from dampen_studies.experiments.caution import DEVELOPMENT, FURTHER
from dampen_studies.experiments.model_methods import RIVALS
from dampen_studies.report.group_tables import STRONG
from dampen_studies.report.model_tables import margins, means, regression_summary
from dampen_studies.rows import values, where
from dampen_studies.study import Rows, Value, number

TIGHT = 3
"""How many times the real bound a stated one should be at most."""


class Loss(NamedTuple):
    """One line: a question, what was aimed at, and what was measured.

    Attributes:
        question: what is asked.
        aim: what was aimed at.
        study: whose record it is made from.
        measured: the sentence, from its rows.
        page: where the reasons are.
    """

    question: str
    aim: str
    study: str
    measured: Callable[[Rows], str]
    page: str


def losses(tables: Tables) -> tuple[list[str], list[list[str]]]:
    """All lines, from the records of `STUDIES`."""
    lines = [
        [each.question, each.aim, each.measured(tables[each.study]), f"`{each.study}`", each.page]
        for each in LOSSES
    ]
    return ["question", "aim", "measured", "study", "reasons"], lines


def _long_lists(rows: Rows) -> str:
    found = [number(row, "ratio") for row in rows]
    return f"{max(found):.2f} times at most, in {len(found)} cells"


def _bounds(rows: Rows) -> str:
    """Where answers were wrong at all in the runs; else a real bound is 0 and there is no ratio."""
    wrong = [row for row in rows if not isinstance(row["ratio"], str)]
    proved = [row for row in wrong if number(row, "ratio") <= TIGHT]
    others = [row for row in wrong if row not in proved]
    usual = [row for row in others if 1 / TIGHT <= number(row, "usual_ratio") <= TIGHT]
    return (
        f"{len(proved)} of {len(wrong)} lines; of the others, the second number of the sentence, "
        f"for values spread evenly, is within 1/{TIGHT} and {TIGHT} times in {len(usual)} of "
        f"{len(others)}"
    )


def _caution(rows: Rows) -> str:
    usual = where(rows, rule=f"few {FEW}")
    parts = []
    for name in (DEVELOPMENT, FURTHER):
        found = [number(row, "ratio") for row in where(usual, tables=name)]
        middle = f"{median(found):.2f} at the median, {geometric_mean(found):.2f} in the mean"
        parts.append(f"{middle}, {max(found):.2f} at most of {len(found)} questions ({name})")
    return "; ".join(parts)


def falls(before: dict[str, Value], after: dict[str, Value]) -> bool:
    """Whether what is found falls by more than 0.02, and by more than two standard errors."""
    fall = number(before, "found") - number(after, "found")
    error = (number(before, "spread") ** 2 + number(after, "spread") ** 2) ** 0.5
    return fall > max(0.02, 2 * error)


def _growing(rows: Rows) -> str:
    cells = dict.fromkeys((row["measure"], row["graph"]) for row in rows)
    steps = [
        pair
        for measure, graph in cells
        for pair in pairwise(where(rows, measure=measure, graph=graph))
    ]
    return f"{sum(falls(*pair) for pair in steps)} of {len(steps)} steps fall"


def _bins(rows: Rows) -> str:
    cells = bins.cells_of(rows)
    found = [cell.tree - cell.scores[bins.COUNTS[0]] for cell in cells]
    worst = min(found)
    return f"{fmean(found):+.3f} in the mean of {len(cells)} cells, {worst:+.3f} in the worst"


def _ahead(score: str) -> Callable[[Rows], str]:
    def measured(rows: Rows) -> str:
        mean = means(rows, score)
        cells = list(dict.fromkeys((name, epsilon) for name, epsilon, _ in mean))
        ahead = margins(mean, score, cells, tuple(RIVALS))
        return f"{sum(margin >= 0 for margin in ahead) / len(cells):.0%} of {len(cells)} cells"

    return measured


def _regression(rows: Rows) -> str:
    """Median ratio to the best rival's error, and on how many tables it is at most 1."""
    _, lines = regression_summary(rows)
    return ", ".join(f"{squares} at ε = {epsilon}" for epsilon, squares, *_ in lines)


def _unbounded(rows: Rows) -> str:
    strong = [row for row in rows if number(row, "strength") >= STRONG]
    gaps = [number(row, "error") - number(row, "linear") for row in strong]
    lost = [gap for gap in gaps if gap > 0]
    ours, points = (fmean(number(row, way) for row in strong) for way in ("error", "linear"))
    return (
        f"at most theirs in {1 - len(lost) / len(gaps):.0%} of {len(gaps)} cells, else "
        f"{median(lost):.1f} ranks more at the median; mean error {ours:.1f} against {points:.1f}"
    )


def _undeclared(rows: Rows) -> str:
    reported = where(rows, part="reported")
    parts = []
    for epsilon, most in ((0.1, 0.03), (1.0, 0.01)):
        gaps = {}
        for name in values(reported, "dataset"):
            here = where(reported, dataset=name, epsilon=epsilon)
            gaps[name] = fmean(number(row, "found") - number(row, "declared") for row in here)
        near = sum(gap >= -most for gap in gaps.values())
        parts.append(f"{near} of {len(gaps)} at ε = {epsilon:g} (worst {min(gaps.values()):+.3f})")
    return ", ".join(parts)


def _keys(rows: Rows) -> str:
    parts = []
    for epsilon in values(rows, "epsilon"):
        here = where(rows, epsilon=epsilon, k=key_names.K, relation="person", way="rule")
        shown = [row for row in here if row["dataset"] in key_names.TABLES]
        near = sum(number(row, "of_best") >= 0.9 for row in shown)
        parts.append(f"{near} of {len(shown)} at ε = {epsilon:g}")
    return ", ".join(parts)


_PERCENTILE = "[percentiles](lab-percentile.md)"
_TREES = "[trees](lab-trees.md)"

LOSSES: Sequence[Loss] = (
    Loss(
        "99 percentiles at once",
        "at most 1.2 times the error of the better of halving and the joint draw",
        "list-rule",
        _long_lists,
        _PERCENTILE,
    ),
    Loss(
        "stated accuracy, all questions",
        "at most 3 times what nine of ten runs keep to",
        "accuracy-bounds",
        _bounds,
        _PERCENTILE,
    ),
    Loss(
        "percentiles without bounds",
        "at most the error of 500 points from the smallest to the largest value",
        "unbounded",
        _unbounded,
        _PERCENTILE,
    ),
    Loss(
        "the best group",
        "with the default caution, .9 at the median of the ε that caution 1 needs, 1.1 at most",
        "caution",
        _caution,
        "[groups](lab-groups.md)",
    ),
    Loss(
        "nodes by five measures",
        "what is found falls by at most .02 as ε doubles",
        "growing",
        _growing,
        "[nodes](lab-nodes.md)",
    ),
    Loss(
        "names of persons' keys that nobody listed",
        ".9 of the best way, that with a list of all keys among them",
        "key-names",
        _keys,
        "[frequencies](lab-frequency.md)",
    ),
    Loss("bins of a tree", "better than ten on every table", "bins", _bins, _TREES),
    Loss(
        "trees where classes alone are declared",
        "accuracy within .03 at ε = .1 and .01 at ε = 1 of declared columns",
        "undeclared",
        _undeclared,
        _TREES,
    ),
    Loss(
        "the class of a row",
        "accuracy at or above every rival in 90 % of cells",
        "rivals",
        _ahead("accuracy"),
        _TREES,
    ),
    Loss(
        "probabilities of classes",
        "area under the curve at or above every rival in 80 % of cells",
        "rivals",
        _ahead("auc"),
        _TREES,
    ),
    Loss(
        "a number predicted for a row",
        "at most the best rival's root of squares (ratio, tables)",
        "regression",
        _regression,
        _TREES,
    ),
)
STUDIES = tuple(study.name for study in studies.LOSSES)
