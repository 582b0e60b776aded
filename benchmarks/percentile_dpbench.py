"""Percentile labels on the DPBench histograms: `python benchmarks/percentile_dpbench.py <data>`.

The paper's experiment: the 4096 bin counts are the database, Λ is the largest count, ε runs over
logspace(-1, 2, 30).  Shown: the largest reduction of the expected error of `ld` against `em`, in
percent, beside the paper's.  <data> is the directory that holds `histograms/`.
"""

import sys
from pathlib import Path

import numpy as np

from dampen.accuracy import expected_error
from dampen.percentiles.labels import PercentileLabel

PAPER = {"PATENT": ("44", "52", "59"), "HEPTH": ("12", "52", "73"), "INCOME": ("-", "-", "3")}


def largest_reduction(counts: np.ndarray, p: int) -> float:
    s = PercentileLabel(n=len(counts), p=p, upper=int(counts.max())).selection(counts)
    epsilons = np.logspace(-1, 2, 30)
    ratios = [
        expected_error(s, epsilon=e, mechanism="ld") / expected_error(s, epsilon=e, mechanism="em")
        for e in epsilons
    ]
    return 100 * (1 - min(ratios))


def main(data: str) -> None:
    print("| data | p = 50 | p = 90 | p = 99 | the paper |\n|---|---|---|---|---|")
    for name, paper in PAPER.items():
        counts = np.load(Path(data) / "histograms" / f"{name}.n4096.npy")
        found = " | ".join(f"{largest_reduction(counts, p):.1f}" for p in (50, 90, 99))
        print(f"| {name} | {found} | {' / '.join(paper)} |")


if __name__ == "__main__":
    main(sys.argv[1])
