"""The core against a plain numpy Gumbel-max: `python benchmarks/core.py`.

The peer is not private (floats, a seeded generator): it is the least that any noisy maximum costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np

from dampen.core.noise import EXPONENTIAL, GUMBEL, LAPLACE
from dampen.core.sampling import SystemEntropy, noisy_top
from dampen.core.scores import Dampened, Shifted
from dampen.core.selection import FloatArray, IntArray, Selection
from timing import compare

PEER = "numpy Gumbel-max"


@dataclass(frozen=True)
class Growing:
    """δ(x, t, r) = start_r + t: the closed form of a problem whose sensitivity grows by one."""

    start: FloatArray
    horizon: int

    def part(self, candidates: slice, /) -> Growing:
        return Growing(self.start[candidates], self.horizon)

    def at(self, t: int, /) -> FloatArray:
        return self.start + t

    def at_each(self, t: IntArray, /) -> FloatArray:
        return self.start + t

    def sum_to(self, t: IntArray, /) -> FloatArray:
        return t * (self.start + (t - 1) * 0.5)


def measure(n: int) -> None:
    rng = np.random.default_rng(0)
    utility = np.floor(rng.exponential(200, n))
    start = 1 + np.floor(rng.exponential(20, n))
    selection = Selection(utility, Growing(start, 1000), bound=float(start.max() + 1000))
    half = Fraction(1, 2)
    entropy = SystemEntropy()
    shapes = {"flat": np.zeros(n), "peaked": np.r_[1e3, np.zeros(n - 1)], "spread": utility}
    tasks: dict[str, Callable[[], object]] = {
        PEER: lambda: np.argmax(utility * 0.5 + rng.gumbel(size=n))
    }
    for noise, k in product((GUMBEL, EXPONENTIAL, LAPLACE), (1, 20)):
        for shape, values in shapes.items():
            tasks[f"exact draw, {noise.name}, {shape}, k = {k}"] = partial(
                noisy_top, values, half, noise, k, entropy
            )
    tasks["LD scores, closed form"] = lambda: Dampened().of(selection)
    tasks["SLD scores, closed form"] = lambda: Shifted().of(selection)
    compare(f"{n:,} candidates", tasks, PEER)


if __name__ == "__main__":
    for size in (10**3, 10**4, 10**5, 10**6):
        measure(size)
