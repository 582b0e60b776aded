"""The committed table of long lists: of the study as it is, and what it is cited for."""

import csv
import math
from pathlib import Path
from statistics import geometric_mean

from dampen.questions.percentile.joint_tight import CROWDED
from dampen_studies.experiments.long_lists import (
    RULE,
    STUDY,
    THRESHOLDS,
    left_out,
    worst_ratio,
)
from dampen_studies.study import Value, number

TABLE = Path(__file__).parents[1] / "results" / "long-lists.csv"


def rows() -> list[dict[str, str]]:
    with TABLE.open() as file:
        return list(csv.DictReader(file))


def test_the_table_is_of_this_study() -> None:
    known = ("dataset", "percentiles", "neighbours", "epsilon", "method", "runs")

    def key(row: dict[str, str]) -> tuple[str, ...]:
        return tuple(f"{float(row[k]):g}" if k == "epsilon" else str(row[k]) for k in known)

    found = rows()
    assert tuple(found[0]) == STUDY.columns
    asked = {key({k: str(v) for k, v in cell.items()}) for cell in STUDY.cells(False)}
    assert {key(row) for row in found} <= asked
    assert {a for a in asked if "joint" not in a} <= {key(row) for row in found}


def test_the_tree_is_no_worse_than_halving() -> None:
    """In 60 lists of 99 and 90 longer ones: by more than chance nowhere, and less in the mean."""
    found = {
        (r["dataset"], r["percentiles"], r["neighbours"], r["epsilon"], r["method"]): r
        for r in rows()
    }
    ratios = list[float]()
    for (*cell, method), halving in found.items():
        if method == "halving":
            ours = found[(*cell, "tree" if cell[1] == "99" else "dampen")]
            chance = math.hypot(float(ours["spread"]), float(halving["spread"]))
            assert float(ours["error"]) <= 1.03 * float(halving["error"]) + 2 * chance
            ratios.append(float(ours["error"]) / float(halving["error"]))
    assert len(ratios) == 150
    assert geometric_mean(ratios) < 0.8


RULED = TABLE.with_name("list-rule.csv")


def ruled() -> list[dict[str, Value]]:
    with RULED.open() as file:
        return [{**row} for row in csv.DictReader(file)]


def test_the_rule_is_near_the_better_of_halving_and_the_joint_draw() -> None:
    """In sixty cells at most 1.2 times, errors below a hundredth of a rank aside."""
    found = ruled()
    assert tuple(found[0]) == RULE.columns
    assert len(found) == len(RULE.cells(False)) == 60
    for row in found:
        best = max(min(number(row, "joint"), number(row, "halving")), 0.01)
        assert number(row, "dampen") <= 1.2 * best + 0.01


def test_the_threshold_is_the_chosen_one_and_holds_without_each_column() -> None:
    found = ruled()
    assert worst_ratio(found, CROWDED) <= min(worst_ratio(found, t) for t in THRESHOLDS) + 0.05
    assert max(worst for _, _, worst in left_out(found)) <= 1.25
