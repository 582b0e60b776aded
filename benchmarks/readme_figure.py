"""Draws the README's figure from the CSVs of `dampen paper run`.

`python benchmarks/readme_figure.py paper-results/full` writes docs/accuracy.svg.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import matplotlib as mpl
import matplotlib.pyplot as plt

from dampen_studies.report.palette import METHODS, MUTED, TEXT

PANELS = [
    (
        "topk.csv",
        {"dataset": "enron", "k": "20"},
        "accuracy",
        ["em", "ld", "sld", "degree", "joint"],
        "The 20 most influential of 36,692 nodes\n(Enron; share of the true 20)",
        (0.6, 0.45),
    ),
    (
        "percentiles.csv",
        {"dataset": "hepth", "p": "99"},
        "error",
        ["em", "ld", "rank"],
        "99th percentile of 4,096 values up to 755\n(HEPTH; expected error)",
        (0.75, 0.8),
    ),
    (
        "trees.csv",
        {"dataset": "adult", "depth": "5"},
        "accuracy",
        ["em", "sld", "max", "default", "plain"],
        "Decision trees of depth 5\n(Adult; cross-validated accuracy)",
        (0.83, 0.2),
    ),
]


def curves(path: Path, where: dict[str, str], value: str) -> dict[str, dict[float, float]]:
    """Mean of a column by method and ε, in the rows that match."""
    found: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if all(row[name] == wanted for name, wanted in where.items()):
                found[row["method"]][float(row["epsilon"])].append(float(row[value]))
    return {m: {e: fmean(v) for e, v in sorted(by.items())} for m, by in found.items()}


def main(results: Path) -> None:
    mpl.rcParams.update({"svg.hashsalt": "dampen", "font.size": 9, "svg.fonttype": "path"})
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained")
    for ax, (file, where, value, methods, title, legend) in zip(axes, PANELS, strict=True):
        found = curves(results / file, where, value)
        for name in methods:
            method, points = METHODS[name], found[name]
            style = {"dashes": method.dashes} if method.dashes else {}
            ax.plot(points.keys(), points.values(), color=method.ink.light, lw=2, **style)
            ax.plot([], [], color=method.ink.light, lw=2, label=method.label, **style)
        ax.set_xscale("log")
        ax.set_title(title, fontsize=9.5, color=TEXT.light, loc="left")
        ax.set_xlabel("ε", color=MUTED.light)
        ax.tick_params(colors=MUTED.light)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25)
        ax.legend(frameon=False, fontsize=8.5, loc="center", bbox_to_anchor=legend)
    out = Path(__file__).parents[1] / "docs" / "accuracy.svg"
    figure.savefig(out, metadata={"Date": None})
    print(f"wrote docs/{out.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
