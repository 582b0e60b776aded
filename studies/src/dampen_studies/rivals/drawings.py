"""Methods side by side on one data set.

Everything here looks at the data and is *not* private: for study on public or synthetic data.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np

from dampen.core.mechanisms import Mechanism, prepare
from dampen.core.sampling import Entropy, InsecureEntropy
from dampen.core.selection import FloatArray, Selection, check_k
from dampen.epsilon import Epsilon

__all__ = ["Drawing", "Method", "found_shares"]


class Drawing(Protocol):
    """What draws k different candidates, best first."""

    def draw(self, *, epsilon: Epsilon, k: int, entropy: Entropy) -> list[int]: ...


class Method(NamedTuple):
    """A mechanism on one selection of the same candidates."""

    name: str
    selection: Selection
    mechanism: Mechanism

    def asked_epsilon(self, epsilon: Epsilon | None, rho: Epsilon | None, k: int) -> Fraction:
        """The ε of k answers that were asked for by ε, or by ρ."""
        return self.mechanism.asked_epsilon(epsilon, rho, k)

    def ready(self) -> Drawing:
        """With its scores computed."""
        return prepare(self.selection, self.mechanism)


def found_shares(
    drawing: Drawing, *, epsilon: Epsilon, best: FloatArray, k: int, runs: int
) -> Iterator[float]:
    """Of k released candidates, the share that is as good as the k-th best; one number per run.

    Args:
        drawing: what is tried.
        epsilon: the privacy parameter of one run.
        best: the utility that counts, one per candidate; what is tried may use another one.
        k: how many candidates a run releases.
        runs: how often, each with the seed of its number.
    """
    check_k(k, len(best))
    threshold = np.partition(best, len(best) - k)[len(best) - k]
    for seed in range(runs):
        top = drawing.draw(epsilon=epsilon, k=k, entropy=InsecureEntropy(seed))
        yield float(np.mean(best[top] >= threshold))
