"""Betweenness itself, for a public shortlist and a public level of degrees.

EBC is not released as it is: one edge can change it by q(D), D = n - 1.  But who is compared has
been found out (`dampen.questions.nodes.two_rounds`), and about how large degrees are: let L >= 5 be
a public level and R a public shortlist of m nodes.  With δ(G, t, v) = max(q(d(v) + t), q(L)), which
is admissible because the degree version is, take the dampened score D(v) of EBC.  As EBC(v) is at
most d(d-1)/2 <= 2 q(d), it needs two pieces only: EBC / q(L) where d < L, so that the order of such
nodes is that of EBC, and for larger ones b = max(q(d), q(L)), b' = max(q(d + 1), q(L)) and D = EBC
/ b up to 1, then 1 + (EBC - b) / b'.

**Theorem.**  One edge changes the vector of D over R by at most S = 2 + 2m / (L - 1) in the 1-norm.
Proof.  The two ends change by at most 1 each (Lemma 3 of the paper).  Of all others only common
neighbours w of both change; the degree of w stays and its EBC falls by at most 1 + (d - 2)/2 = d/2
(see `dampen.questions.nodes.betweenness`), hence D by at most
(d/2) / max(q(d), q(L)) <= 2 / (L - 1), because q(d) >= d(d-1)/4.

D is computed with an error below 2^-48: S + 2m 2^-48 is paid for.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log

import numpy as np

from dampen.core.noise import LAPLACE
from dampen.core.sampling import Entropy
from dampen.core.selection import FloatArray, IntArray
from dampen.questions.nodes.ego_sensitivity import q
from dampen.questions.nodes.graphs import Graph, betweenness
from dampen.questions.nodes.lazy_betweenness import lazy_top

ETA = Fraction(1, 2**48)
MARGIN = 3
"""In noise scales: how far the level lies above the largest noisy degree."""
CLEARER = 6
"""How many scales of noise two ranks are apart, beyond those that the largest of n noises takes."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CappedBetweenness:
    """The shortlist and the level, both public."""

    nodes: IntArray
    level: int

    @classmethod
    def for_the_best(
        cls,
        noisy: IntArray,
        k: int,
        noise: float,
        epsilon: Fraction,
        max_degree: int | None = None,
    ) -> "CappedBetweenness | None":
        """The longest shortlist at which ε still tells the k-th node from the next, or None.

        Without triangles EBC is about d²/2; the noisy degrees around the k-th tell how much ranks
        differ.
        """
        n = len(noisy)
        wide = min(2 * k, len(noisy))
        ranked = noisy[largest(noisy, wide)].tolist()
        kth = ranked[k - 1]
        half = (k - 1) // 2
        level = max(min(ranked[0] + ceil(MARGIN * noise), max_degree or n - 1), 5)
        step = max((ranked[half] - ranked[-1]) / max(wide - 1 - half, 1), 1 / (2 * k))
        step, kth = (min(max(x, 0), level) for x in (step, kth))
        gap = min(step, kth) * (kth - min(step, kth) / 2)
        clear = (CLEARER + log(n)) * q(level)
        allowed = float(min(epsilon, Fraction(10**300))) * gap / clear
        size = int(min(n, (allowed - 2) * (level - 1) / 2))
        needed = int(np.count_nonzero(noisy >= kth - MARGIN * noise))
        if size < min(n, max(needed, wide)):
            return None
        return cls(largest(noisy, size), level)

    @property
    def norm(self) -> Fraction:
        """By how much one edge can change the scores, in the 1-norm, rounding included."""
        m = len(self.nodes)
        return 2 + Fraction(2 * m, self.level - 1) + 2 * m * ETA

    def scores(self, u: FloatArray, d: IntArray) -> FloatArray:
        """D for nodes of these EBC and degrees."""
        first, second = (np.maximum(_q(d + t), q(self.level)) for t in (0, 1))
        return np.where(u <= first, u / first, 1 + (u - first) / second)

    def draw(self, graph: Graph, *, k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """The k largest of D plus Laplace noise, best first; EBC is computed where it matters."""
        d = graph.degrees[self.nodes]

        def exactly(chosen: IntArray) -> FloatArray:
            return self.scores(betweenness(graph, self.nodes[chosen]), d[chosen])

        between = np.zeros(len(d)), self.scores(d * (d - 1) / 2, d) + 2.0**-40
        best = lazy_top(between, exactly, epsilon / self.norm, LAPLACE, k=k, entropy=entropy)
        return self.nodes[best].tolist()


def largest(values: IntArray | FloatArray, k: int) -> IntArray:
    """The places of the k largest, the largest first."""
    top = np.argpartition(values, len(values) - k)[len(values) - k :]
    return top[np.argsort(-values[top], kind="stable")]


def _q(m: IntArray) -> FloatArray:
    return np.maximum(m * (m - 1) / 4, m)
