"""Methods side by side on one data set.

Everything here looks at the data and is *not* private: for study on public or synthetic data.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dampen.epsilon import Epsilon
from dampen.mechanisms import Mechanism, check_k, prepare
from dampen.sampling import InsecureEntropy
from dampen.selection import FloatArray, Selection

__all__ = ["Method", "found_shares"]


class Method(NamedTuple):
    """A mechanism on one selection of the same candidates."""

    name: str
    selection: Selection
    mechanism: Mechanism


def found_shares(
    method: Method, *, epsilon: Epsilon, best: FloatArray, k: int, runs: int
) -> Iterator[float]:
    """Of k released candidates, the share that is as good as the k-th best; one number per run.

    Args:
        method: what is tried.
        epsilon: the privacy parameter of one run.
        best: the utility that counts, one per candidate; the method may use another one.
        k: how many candidates a run releases.
        runs: how often, each with the seed of its number.
    """
    check_k(k, len(best))
    threshold = np.partition(best, len(best) - k)[len(best) - k]
    ready = prepare(method.selection, method.mechanism)
    for seed in range(runs):
        top = ready.draw(epsilon=epsilon, k=k, entropy=InsecureEntropy(seed))
        yield float(np.mean(best[top] >= threshold))
