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

q(m) and the two sensitivity functions of egocentric betweenness, in closed form.

The theory is in `dampen.questions.nodes.betweenness`.

Draws that compute betweenness only where the order is still open.

A score of a node is known from its degree up to little: EBC lies between 0 and d(d-1)/2, so that
the shifted score is known to 2 units, and the dampened one to about as much.  Noise decides the
order of nearly all nodes long before that matters.  So scores are refined as noise is: every node
has an interval, from its degree and from the known bits of its noise; EBC is computed for the nodes
that may still be among the k best, and for no others.

**The same answer.**  Let the interval of node v for its noisy score be [l(v), h(v)] when EBC is
known and [L(v), H(v)], which contains it, when only the degree is.  The k nodes of largest H have
some least L, called t; so k nodes have l >= t, and whoever has h < t is not among the k best.
All others have H >= h >= t: they are asked for.  `dampen.core.sampling.settle` then sees the same
bits, scores and largest score (the nodes that may have it are asked for as well) as after a
computation of all scores: the law is the same, and for the same bits the answer is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from dampen.core.noise import LAPLACE, Noise
from dampen.core.sampling import Contenders, Entropy, contenders, settle
from dampen.core.selection import FloatArray, IntArray
from dampen.questions.nodes.graphs import Graph, betweenness


def q(m: int) -> float:
    """max(m(m-1)/4, m): how much one edge can change the EBC of a node of degree m, at most."""
    return max(m * (m - 1) / 4, float(m))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EgoSensitivity:
    """min(max((C+t)(C+t-1)/4, d+t), cap), in closed form; C = d gives min(q(d+t), cap).

    Guarantee: `at_each` and `sum_to` have a relative error of at most 2^-50: all terms are positive
    but one, which is a third of what it is taken from, and each is a product of integers up to a
    few roundings.  Where those products are below 2^53, `at_each` is exact.

    Attributes:
        d, C: degrees and codegrees, C <= d; integers, as floats.
        cap, horizon: public; δ has reached the cap by then.
        curve: from this t on the first term of the maximum is the larger one.
        top: from this t on δ is the cap.
    """

    d: FloatArray
    C: FloatArray
    cap: float
    horizon: int
    curve: FloatArray
    top: FloatArray

    @classmethod
    def of(cls, d: IntArray, C: IntArray, cap: float, horizon: int) -> "EgoSensitivity":
        # (C+t)(C+t-1) >= 4(d+t), in m = C+t: m² - 5m >= 4(d-C), for good from its larger root on.
        # The root in floats may be off by one; two exact comparisons correct that.
        m = ((5 + np.sqrt(25 + 16.0 * (d - C))) / 2).astype(np.int64) - 1
        for _ in range(3):
            m += m * (m - 5) < 4 * (d - C)
        top = np.minimum(_first_above(cap) - C, int(np.ceil(cap)) - d)
        numbers = d, C, np.maximum(m - C, 0), np.clip(top, 0, horizon)
        degrees, codegrees, curve, end = (x.astype(np.float64) for x in numbers)
        return cls(degrees, codegrees, cap, horizon, curve, end)

    def part(self, candidates: slice, /) -> "EgoSensitivity":
        d, C, curve, top = (a[candidates] for a in (self.d, self.C, self.curve, self.top))
        return EgoSensitivity(d, C, self.cap, self.horizon, curve, top)

    def at(self, t: int, /) -> FloatArray:
        return self._at(t)

    def at_each(self, t: IntArray, /) -> FloatArray:
        return self._at(t)

    def _at(self, t: int | IntArray) -> FloatArray:
        m = self.C + t
        delta = m * (m - 1)
        delta *= 0.25
        np.maximum(delta, self.d + t, out=delta)
        return np.minimum(delta, self.cap, out=delta)

    def sum_to(self, t: IntArray, /) -> FloatArray:
        return self._sum(t)

    def _sum(self, t: IntArray | FloatArray) -> FloatArray:
        if t.max(initial=0) <= 1:
            return t * self._at(0)
        below = np.minimum(t, self.top)
        straight = np.minimum(below, self.curve)
        # The sum of m(m-1)/4 over a <= m < b is (b-a) ((a+b)(a+b-3) - ab + 2) / 12.
        a = self.C + straight
        b = self.C + below
        both = a + b
        squares = both * (both - 3)
        squares -= a * b
        squares += 2
        b -= a
        squares *= b
        squares /= 12
        squares += straight * (2 * self.d + (straight - 1)) * 0.5
        squares += (t - below) * self.cap
        return squares

    def steps_within(self, u: FloatArray, /) -> IntArray:
        """The largest t with `sum_to(t)` <= u.

        EBC <= 2 q(d) is within two steps of the degree version.
        """
        one = self._at(0)
        two = self._at(1)
        two += one
        if (u < two).all():
            return (u >= one).astype(np.int64)
        return self._by_roots(u)

    def _by_roots(self, u: FloatArray) -> IntArray:
        """The sums are a parabola, then a cubic, then a line.

        With B = 2d - 1, the root of t² + Bt = 2u is 4u / (B + sqrt(B² + 8u)), without cancellation.
        """
        B = 2 * self.d - 1
        t = np.sqrt(B * B + 8 * u)
        t += B
        t = 4 * u / np.maximum(t, 1e-300)
        curved = t > self.curve
        if curved.any():
            np.copyto(t, self._along_the_curve(u), where=curved)
        at_top = self._sum(self.top)
        above = u >= at_top
        if above.any():
            np.copyto(t, self.top + np.maximum(u - at_top, 0) / self.cap, where=above)
        return t.astype(np.int64)

    def _along_the_curve(self, u: FloatArray) -> FloatArray:
        """The sum of m(m-1)/4 over m < M is (y³ - y) / 12 with y = M - 1.

        Of y³ - y = v, for y >= 1, the root is cbrt(v) and one step of Newton's method.
        """
        start = self.C + (self.curve - 1)
        v = 12 * (u - self._sum(self.curve)) + start * (start * start - 1)
        y = np.cbrt(np.maximum(v, 1.0))
        y -= (y * (y * y - 1) - v) / (3 * y * y - 1)
        return y + 1 - self.C


def _first_above(cap: float) -> int:
    """The smallest m with m(m-1)/4 >= cap."""
    m = int(np.sqrt(4 * cap))
    while m * (m - 1) / 4 < cap:
        m += 1
    return m


ROUNDING = 2.0**-36
"""Relative: far above what floats lose here, far below what matters."""


def lazy_top(
    between: tuple[FloatArray, FloatArray],
    exactly: Callable[[IntArray], FloatArray],
    scale: Fraction,
    noise: Noise,
    *,
    k: int,
    entropy: Entropy,
) -> list[int]:
    """`dampen.core.sampling.noisy_top` for scores that are known to lie between two numbers each.

    `exactly` is asked once, for the scores of those whose order the noise leaves open.
    """
    high = between[1]
    drawn = contenders(high, scale, noise, len(high), entropy)  # everyone, with the bits so far
    chosen = np.flatnonzero(_may_matter(between, drawn, scale, noise, k))
    values = exactly(chosen)
    block = Contenders(chosen, values, drawn.words[chosen], drawn.bits, float(values.max()))
    return settle([block], scale, noise, k, entropy)


def _may_matter(
    between: tuple[FloatArray, FloatArray], drawn: Contenders, scale: Fraction, noise: Noise, k: int
) -> NDArray[np.bool_]:
    """Who may be among the k best, or have the largest score; in units of scores."""
    low, high = between
    unit = float(min(max(1 / scale, Fraction(1, 10**300)), Fraction(10**300)))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        upper = high + unit * noise.upper(drawn.words, drawn.bits)
        leaders = np.argpartition(upper, -k)[-k:] if k < len(high) else np.arange(len(high))
        lower = low[leaders] + unit * noise.lower(drawn.words[leaders], drawn.bits)
        size = np.abs(high).max() + np.abs(low).max() + unit + np.abs(upper)
        within = upper + ROUNDING * size >= lower.min()
    return within | ~np.isfinite(upper) | (high >= low.max())


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
