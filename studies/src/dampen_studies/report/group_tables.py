"""What ε it takes to find the best group, in a table."""

from collections.abc import Iterator
from statistics import median

from dampen_studies.rows import values, where
from dampen_studies.study import Rows, Value, number

GROUP_METHODS = ("reach", "control", "inverse", "smooth", "ld", "ld shifted", "sld", "em")


def group_rows(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """The ε that takes a probability of 0.9 for medians; medians over tables for all statistics."""
    of_median = where(rows, statistic="median")
    lines = []
    for dataset in values(of_median, "dataset"):
        here = where(of_median, dataset=dataset)
        known = [f"{number(here[0], 'rows'):,.0f}", f"{number(here[0], 'groups'):.0f}"]
        lines.append([str(dataset), *known, *_needed_by(here), *_ratio(here)])
    for statistic in values(rows, "statistic"):
        here = where(rows, statistic=statistic)
        title = f"median over tables: {statistic}"
        lines.append([title, "", "", *_needed_by(here), *_ratio(here)])
    return ["table", "rows", "groups", *GROUP_METHODS, "control / reach"], lines


def _needed_by(rows: Rows) -> Iterator[str]:
    for method in GROUP_METHODS:
        found = [needed(row) for row in where(rows, method=method)]
        yield _epsilon(median(found)) if found else "-"


def _ratio(rows: Rows) -> Iterator[str]:
    """The median over tables of what the control needs more; where both never do, nothing."""
    pairs = [
        (needed(ours), needed(theirs))
        for ours, theirs in zip(
            where(rows, method="reach"), where(rows, method="control"), strict=True
        )
    ]
    found = [theirs / ours for ours, theirs in pairs if ours < float("inf")]
    yield "-" if not found else "∞" if median(found) == float("inf") else f"{median(found):.1f}"


def needed(row: dict[str, Value]) -> float:
    """The ε of a row of the study of groups; infinite for never."""
    return float("inf") if isinstance(row["needed"], str) else number(row, "needed")


def _epsilon(value: float) -> str:
    return "never" if value == float("inf") else f"{value:.2g}"
