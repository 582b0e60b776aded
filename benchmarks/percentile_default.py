"""Why the default for labels is what it is: `python benchmarks/percentile_default.py <data>`.

Expected error of every mechanism on the paper's three histograms, then its ratio to `ld` over all
one-dimensional DPBench histograms in <data>/histograms: geometric mean and worst case.
"""

import sys
from pathlib import Path

import numpy as np

from dampen.accuracy import expected_error
from dampen.mechanisms import Mechanism
from dampen.noise import GUMBEL
from dampen.percentiles.labels import PercentileLabel
from dampen.percentiles.release import label_mechanism
from dampen.scores import Shifted

PAPER = ("PATENT", "HEPTH", "INCOME")
PERCENTILES = (50, 90, 99)
NAMES = ("em", "pf", "ld", "ld-pf", "sld", "sld-pf", "sld-down", "default")
DOWN = Mechanism("sld-down", Shifted(towards=-1), GUMBEL)


def errors(counts: np.ndarray, p: int, epsilon: float) -> list[float]:
    bound = int(counts.max())
    s = PercentileLabel(n=len(counts), p=p, upper=bound, delta="simple").selection(counts)
    special = {"default": label_mechanism(0, bound), "sld-down": DOWN}
    return [expected_error(s, epsilon=epsilon, mechanism=special.get(name, name)) for name in NAMES]


def show_paper(histograms: dict[str, np.ndarray]) -> None:
    print(f"| data | p | ε | {' | '.join(NAMES)} |\n|{'---|' * (3 + len(NAMES))}")
    for name in PAPER:
        for p in PERCENTILES:
            for epsilon in (1, 5, 20):
                row = " | ".join(f"{e:,.0f}" for e in errors(histograms[name], p, epsilon))
                print(f"| {name} | {p} | {epsilon} | {row} |", flush=True)


def show_all(histograms: dict[str, np.ndarray]) -> None:
    print(f"\n| ε | ratio to ld | {' | '.join(NAMES)} |\n|{'---|' * (2 + len(NAMES))}")
    for epsilon in (0.1, 1, 5, 10, 20, 50, 100):
        rows = np.array([errors(x, p, epsilon) for x in histograms.values() for p in PERCENTILES])
        rows = rows[(rows > 0).all(axis=1)]
        ratio = rows / rows[:, [NAMES.index("ld")]]
        for kind, line in (("mean", np.exp(np.log(ratio).mean(axis=0))), ("worst", ratio.max(0))):
            print(f"| {epsilon} | {kind} | {' | '.join(f'{a:.2f}' for a in line)} |", flush=True)


def main(data: str) -> None:
    files = sorted((Path(data) / "histograms").glob("*.npy"))
    histograms = {f.name.split(".")[0]: np.load(f) for f in files}
    show_paper(histograms)
    show_all(histograms)


if __name__ == "__main__":
    main(sys.argv[1])
