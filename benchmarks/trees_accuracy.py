"""Cross-validated accuracy of every tree method on the paper's tables, with confidence intervals.

    DAMPEN_DATA=... python benchmarks/trees_accuracy.py --out trees.csv        # about half an hour
    DAMPEN_DATA=... python benchmarks/trees_accuracy.py --quick                # about two minutes

10-fold cross-validation, 10 repetitions, depth 2 and 5, ε from 0.01 to 2.  An accuracy is the mean
over the folds of a repetition; the interval is Student's, 95 %, over the repetitions.  After the
table come the paper's claims, each against the largest paired difference that was measured.
"""

import argparse
import csv
import itertools
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from scipy import stats
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier

from dampen.sampling import InsecureEntropy
from dampen.trees import TreeClassifier
from dampen_studies.experiments.paper_trees import paper_tree
from trees_data import CodedTable, paper_tables

EPSILONS = ("0.01", "0.05", "0.1", "0.5", "1", "2")
DEPTHS = (2, 5)
PAPER: dict[str, tuple[str, dict[str, str]]] = {
    "GlobalDiffPID3": ("GlobalDiffPID3", {}),
    "GlobalDiffPID3-fair": ("GlobalDiffPID3-fair", {}),
    "LocalDiffPID3": ("LocalDiffPID3", {}),
    "ShiftedLocalDiffPID3": ("ShiftedLocalDiffPID3", {}),
    "SuLQ-ID3": ("SuLQ-ID3", {}),
    "pf, IG": ("GlobalDiffPID3-fair", {"mechanism": "pf"}),
    "ld-pf, IG": ("LocalDiffPID3", {"mechanism": "ld-pf"}),
    "sld-pf, IG": ("ShiftedLocalDiffPID3", {"mechanism": "sld-pf"}),
}
"""The paper's template, with its own selections and with permute-and-flip."""
OTHERS: dict[str, dict[str, Any]] = {
    "pf, max": {"criterion": "max", "branching": "multiway", "stopping": True},
    "sld, IG, binary": {"mechanism": "sld"},
    "default": {},
}
METHODS = (*PAPER, *OTHERS, "default, own depth", "not private")


def make(method: str, epsilon: str, depth: int, public: dict[str, Any]) -> Any:
    """An estimator, not yet fitted."""
    if method in PAPER:
        algorithm, changes = PAPER[method]
        return paper_tree(algorithm, epsilon=epsilon, max_depth=depth, **changes, **public)
    if method in OTHERS:
        return TreeClassifier(epsilon=epsilon, max_depth=depth, **OTHERS[method], **public)
    if method == "default, own depth":
        return TreeClassifier(epsilon=epsilon, **public)
    return DecisionTreeClassifier(criterion="entropy", max_depth=depth)


@dataclass(frozen=True)
class Cell:
    """One number of the table: a repetition of one method in one setting."""

    table: str
    depth: int
    epsilon: str
    method: str
    repetition: int


@cache
def _tables() -> dict[str, CodedTable]:
    return {t.name: t for t in paper_tables()}


def accuracy(cell: Cell, folds: int) -> float:
    """The mean over the folds of one shuffled cross-validation."""
    table = _tables()[cell.table]
    scores = []
    split = KFold(folds, shuffle=True, random_state=cell.repetition).split(table.codes)
    for fold, (train, test) in enumerate(split):
        seed = crc32(repr((cell.depth, cell.epsilon, cell.repetition, fold)).encode())
        entropy = InsecureEntropy(seed, allow_release=True)
        public = {**table.public(), "entropy": entropy}
        tree = make(cell.method, cell.epsilon, cell.depth, public)
        tree.fit(table.codes[train], table.classes[train])
        scores.append(tree.score(table.codes[test], table.classes[test]))
    return float(np.mean(scores))


def study(cells: list[Cell], folds: int, workers: int, file: Path | None) -> dict[Cell, float]:
    """All cells; those in the file are not computed again, and new ones are added to it."""
    found = _read(file, cells) if file and file.exists() else {}
    missing = [cell for cell in cells if cell not in found]
    with ProcessPoolExecutor(workers) as pool:
        work = pool.map(accuracy, missing, itertools.repeat(folds), chunksize=4)
        for i, (cell, value) in enumerate(zip(missing, work, strict=True), 1):
            found[cell] = value
            if file:
                _append(file, cell, value)
            if i % 100 == 0:
                print(f"{i} of {len(missing)} cells", file=sys.stderr, flush=True)
    return found


def _read(file: Path, cells: list[Cell]) -> dict[Cell, float]:
    wanted = set(cells)
    with file.open(newline="") as lines:
        rows = [row for row in csv.reader(lines) if row[0] != "table"]
    found = {Cell(t, int(d), e, m, int(r)): float(a) for t, d, e, m, r, a in rows}
    return {cell: value for cell, value in found.items() if cell in wanted}


def _append(file: Path, cell: Cell, value: float) -> None:
    new = not file.exists()
    with file.open("a", newline="") as lines:
        writer = csv.writer(lines)
        if new:
            writer.writerow(["table", "depth", "epsilon", "method", "repetition", "accuracy"])
        writer.writerow([*astuple(cell), value])


def interval(values: Iterable[float]) -> tuple[float, float]:
    """Mean and half-width of Student's 95 % interval."""
    v = np.array(list(values))
    if len(v) < 2:
        return float(v.mean()), float("nan")
    half = stats.t.ppf(0.975, len(v) - 1) * v.std(ddof=1) / np.sqrt(len(v))
    return float(v.mean()), float(half)


def _methods(found: dict[Cell, float]) -> list[str]:
    measured = {cell.method for cell in found}
    return [method for method in METHODS if method in measured]


def print_tables(found: dict[Cell, float], repetitions: int) -> None:
    settings = sorted({(c.table, c.depth) for c in found})
    epsilons = [e for e in EPSILONS if any(c.epsilon == e for c in found)]
    for table, depth in settings:
        print(f"\n### {table}, depth {depth}\n\n| method | " + " | ".join(epsilons) + " |")
        print("|---|" + "---|" * len(epsilons))
        for method in _methods(found):
            cells = []
            for e in epsilons:
                mean, half = interval(
                    found[Cell(table, depth, e, method, r)] for r in range(repetitions)
                )
                cells.append(f"{100 * mean:.1f} ± {100 * half:.1f}")
            print(f"| {method} | " + " | ".join(cells) + " |")


CLAIMS = (
    ("LD over EM, up to 5 %", "LocalDiffPID3", ("NLTCS", "ACS", "Adult")),
    ("SLD over EM on ACS, up to 8 %", "ShiftedLocalDiffPID3", ("ACS",)),
    ("SLD over EM on Adult, up to 4 %", "ShiftedLocalDiffPID3", ("Adult",)),
    ("the default over EM", "default", ("NLTCS", "ACS", "Adult")),
)


def print_claims(found: dict[Cell, float], repetitions: int) -> None:
    print("\n### Largest paired differences, in points of accuracy\n")
    print("| claim | control | largest | smallest |\n|---|---|---|---|")
    for text, method, tables in CLAIMS:
        for control in ("GlobalDiffPID3", "GlobalDiffPID3-fair"):
            gains = []
            for table, depth, e in sorted(
                {(c.table, c.depth, c.epsilon) for c in found if c.table in tables}
            ):
                mean, half = interval(
                    found[Cell(table, depth, e, method, r)]
                    - found[Cell(table, depth, e, control, r)]
                    for r in range(repetitions)
                )
                where = f"{100 * mean:+.1f} ± {100 * half:.1f} ({table}, depth {depth}, ε = {e})"
                gains.append((mean, where))
            if gains:
                print(f"| {text} | {control} | {max(gains)[1]} | {min(gains)[1]} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2 repetitions of 5 folds, two ε")
    parser.add_argument(
        "--out", type=Path, help="a CSV file of all repetitions; an old one is continued"
    )
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS, metavar="METHOD")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    repetitions, folds = (2, 5) if options.quick else (10, 10)
    epsilons = ("0.1", "1") if options.quick else EPSILONS
    cells = [
        Cell(t, d, e, m, r)
        for t, d, e, m in itertools.product(
            ("NLTCS", "ACS", "Adult"), DEPTHS, epsilons, options.methods
        )
        for r in range(repetitions)
    ]
    found = study(cells, folds, options.workers, options.out)
    print_tables(found, repetitions)
    if set(options.methods) == set(METHODS):
        print_claims(found, repetitions)


if __name__ == "__main__":
    main()
