"""Influential nodes in two rounds: above what the degree alone can tell.

The degree is known with noise of scale 2/ε, because one edge counts at two ends, and it does not
know whether the neighbours of a node know each other.  Both can be helped if the degrees are asked
first, with a part of ε: what follows may depend on the answer in any way, since it is public then.

**Round 1.**  d~ = d + discrete Laplace noise of scale 2/ε1 on every node.  One edge changes two
degrees by 1 each and P(z) falls by exp(-ε1/2) with every step of z: ε1-DP, exactly.

**Round 2** asks for one vector f of norm S, whose form and whose public parameters follow from d~,
and adds discrete Laplace noise of scale S/ε2 to it (on a grid of 1/`UNIT`, on which f lies; of 1/q
for triangles):

- *oriented degrees*, where d~ does not yet tell who the k best may be: f_i is the number of
  neighbours of i that are below it in the order of d~ (at equal d~, of names);
- *a shortlist* R of the m largest d~, where they do: for c in R,
  f_c = |N(c) outside R| + |N(c) in R| / 2 - κ_c T_c, where T_c counts the edges yz among the
  neighbours of c outside R such that y and z are on each other's *list*: the first q neighbours
  outside R, in the public order of names;
- *triangles*, where they are what is asked for: f_c = T_c / q for at most q nodes c of a shortlist;
- *a whole shortlist*, where noise matters little: f_c = d_c - κ_c T_c, where nobody is left out of
  T_c, nor of lists.

The slopes κ_c >= 0 and the length q are public.  Let Σ be the sum of all κ_c, and let
r = max(1, κ_c q - 1 for every c).  S = 1 for oriented degrees, max(r, Σ) for a shortlist, 1 for
triangles and 2r + Σ for a whole shortlist.  Steeper slopes, longer lists and more nodes have their
price in S, and what ε allows of it is spent on them: `Shortlist.whole_of`.  Slopes are parts of
1 / (the k-th largest d~); where that is below 1 there is no shortlist, for they would be negative.

Or, where nothing of that is better, it refines round 1: d~ is made as a blurred copy of d + noise
of scale 2 / (ε1 + ε2), which is then given out itself (see below).
That is what one round with all the ε would have said: nothing is lost by having asked twice.

**Theorem.**  One edge changes f by at most S in the 1-norm, whatever d~ is.  Hence both rounds
together are (ε1 + ε2)-DP.

Proof.  Let the answer be (d~, a).  Where d~ leads to a question with fresh noise, the chance of d~
changes by exp(ε1) at most and that of a given d~ by exp(ε2).  Where it leads to the refinement, d~
depends on a alone, not on the graph, and the chance of a changes by exp(ε1 + ε2).  So every (d~, a)
keeps the bound.  It remains to bound f.  An oriented edge counts at one end, by 1.  For a
shortlist, an edge that is added is of one of three kinds.
(1) Both ends in R: f changes by 1/2 at each; lists and triangles have no node in R but c itself.
(2) c in R, y not: only f_c changes.  Lists are unchanged.  T_c rises by the number of neighbours of
c that are on y's list and have y on theirs, some x with 0 <= x <= q, so that f_c changes by
1 - κ_c x, at most r.
(3) y and z outside R: only T changes.  z may join y's list and push its last node y' from it, and y
may join z's list and push z' from it; no other list changes.  So T_c gains at most the edge yz and
loses at most yy' and zz'.  If it loses both, then z is on y's list and y on z's, and y, z are
neighbours of c: it gains yz.  So T_c changes by at most 1, and f by at most Σ.
For triangles, (1) changes nothing, (2) f_c by x / q and (3) f by at most m / q.
For a whole shortlist, f changes at the ends of the edge that are in R by 1 - κ_c x as in (2), for
T_c has no edge at c and so does not see its list; and at all others by at most κ_c as in (3):
2r + Σ together, if both ends are in R.
Without lists (2) fails: 12 on random graphs.  Tests repeat all of it on all small graphs.

What it ranks by: EBC is d(d-1)/2 less the triangles T less a share of the pairs of neighbours that
have other neighbours between them.  Near c0, the k-th largest d~, a triangle therefore weighs as
much as 1 / c0 of a neighbour, and in real graphs more, for the pairs: κ_c = α / max(c0, d~_c) with
α = 5/2 at most where c0 is far above the average, and 3/2 elsewhere.  Steep slopes with short lists
mislead: they miss the triangles with hubs.  So a whole shortlist starts at α = 1, gets steeper only
with lists of 4/3 c0, and takes half of what noise leaves it, as a ratio: noise still falls as ε
grows.  Edges among a shortlist that is not whole count half: their ends have many common
neighbours.  Nothing here takes a root: roots would have to be rounded, and rounding paid for.

**Betweenness itself.**  With ε so large that noise on EBC is small against the distance between
ranks, as d~ foretells it, round 2 asks for EBC, cut off above the k-th if need be (see below).  In
the end nothing is cut off and all nodes are compared: it ends at the true k best.

**What was chosen, and how.**  The share ε1 = 3/10 ε, α and all margins were tuned on DBLP, Enron,
GitHub, ca-HepTh, ego-Facebook, wiki-Vote and on small and synthetic graphs.  The others of
docs/lab-nodes.md had been seen with earlier versions, those that the study `sweep` holds out with
none.  What decides are ε, n, k and d~; see `question_after`.

Noise that can be taken back in part: a noisy number first, and a less noisy one if need be.

Nothing is drawn here but by `dampen.core.sampling.geometric`.

What the second of two rounds counts, from rows that hold every edge once.

What it is good for is said above.  All results are integers, which
depend neither on the order of edges nor on the number of threads.

What round 2 may ask, once round 1 has told about how large degrees are.

By the theorem above one edge changes each of these vectors by
at most its norm, whatever the answer of round 1 was.

Betweenness itself, for a public shortlist and a public level of degrees.

EBC is not released as it is: one edge can change it by q(D), D = n - 1.  But who is compared has
been found out (`dampen.questions.nodes.two_rounds`), and about how large degrees are: let L >= 5 be
a public level and R a public shortlist of m nodes.  With δ(G, t, v) = max(q(d(v) + t), q(L)), which
is admissible because the degree version is, take the dampened score D(v) of EBC.  As EBC(v) is at
most d(d-1)/2 <= 2 q(d), it needs two pieces only: EBC / q(L) where d < L, so that the order of such
nodes is that of EBC, and for larger ones b = max(q(d), q(L)), b' = max(q(d + 1), q(L)) and D = EBC
/ b up to 1, then 1 + (EBC - b) / b'.

**Theorem.**  One edge changes the vector of D over R by at most S = 2 + 2m / (L - 1) in the 1-norm.
Proof.  The two ends change by at most 1 each (Lemma 4 of the paper).  Of all others only common
neighbours w of both change; the degree of w stays and its EBC falls by at most 1 + (d - 2)/2 = d/2
(see `dampen.questions.nodes.betweenness`), hence D by at most
(d/2) / max(q(d), q(L)) <= 2 / (L - 1), because q(d) >= d(d-1)/4.

**Cut off.**  Where the k-th degree is far below the largest, noise of the size of q(L) is too much.
For a public *cut* C > 0 take u(v) = min(EBC(v) / max(C, C d(v) / L), 1) instead.

**Theorem.**  One edge changes the vector of u over R by at most S = 2 + m L / (2 C) in the 1-norm.
Proof.  u is between 0 and 1, so the two ends change by at most 1 each.  Of all others only common
neighbours w of both change; the degree d of w stays and its EBC falls by at most d/2, hence u by at
most (d/2) / max(C, C d / L) <= L / (2 C). ∎

The k-th largest EBC is at most d (d-1) / 2, d being the k-th largest degree.  With a C above that,
and an L above all degrees, whoever is cut off is among the k best, and the others have the order of
EBC.  A smaller L is less noise; then hubs count in full if their EBC is C d / L or more.

D and u are computed with an error below 2^-48: S + 2m 2^-48 is paid for.

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
from functools import cache
from math import ceil, isqrt, log
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dampen.core.noise import LAPLACE, Noise
from dampen.core.sampling import (
    LARGEST_SCALE,
    Contenders,
    Entropy,
    contenders,
    discrete_laplace,
    geometric,
    random_order,
    settle,
)
from dampen.core.selection import FloatArray, IntArray
from dampen.errors import ParameterError
from dampen.questions.nodes.graphs import Graph, Rows, Run, betweenness


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


STRIDE = 32
"""One in at most so many values shows which can be among the largest."""
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
    """The nodes that may be among the k best, or have the largest score; in units of scores."""
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
    """The shortlist, the level L and the cut C, if there is one; all public."""

    nodes: IntArray
    level: int
    cut: int | None = None

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
        differ.  Nothing is cut off if ε is large enough, else as high a level is kept as it allows.
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
        allowed = float(min(epsilon, Fraction(10**300))) * gap / (CLEARER + log(n))
        needed = int(np.count_nonzero(noisy >= kth - MARGIN * noise))
        least = min(n, max(needed, wide))
        size = int(min(n, (allowed / q(level) - 2) * (level - 1) / 2))
        if size >= least:
            return cls(largest(noisy, size), level)
        highest = max(min(int(kth) + ceil(MARGIN * noise), level), 5)
        cut = highest * (highest - 1) // 2
        for lower in (level, min(2 * highest, level)):
            size = int(min(n, 2 * (allowed - 2 * cut) / lower))
            if size >= least:
                return cls(largest(noisy, size), lower, cut)
        return None

    @property
    def norm(self) -> Fraction:
        """By how much one edge can change the scores, in the 1-norm, rounding included."""
        m = len(self.nodes)
        if self.cut is None:
            return 2 + Fraction(2 * m, self.level - 1) + 2 * m * ETA
        return 2 + Fraction(m * self.level, 2 * self.cut) + 2 * m * ETA

    def scores(self, u: FloatArray, d: IntArray) -> FloatArray:
        """D, or u, for nodes of these EBC and degrees."""
        if self.cut is not None:
            return np.minimum(u / (self.cut * np.maximum(d / self.level, 1.0)), 1.0)
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
    """The places of the k largest, the largest first.

    Of many, those behind the k-th of a part are left out first.
    """
    n = len(values)
    part = values[:: max(1, min(STRIDE, n // (STRIDE * k)))]
    least = np.partition(part, len(part) - k)[len(part) - k]
    pool = np.flatnonzero(values >= least)
    top = pool[np.argpartition(values[pool], len(pool) - k)[len(pool) - k :]]
    return top[np.argsort(-values[top], kind="stable")]


def _q(m: IntArray) -> FloatArray:
    return np.maximum(m * (m - 1) / 4, m)


def nested_laplace(
    scale: Fraction, ratio: Fraction, size: int, entropy: Entropy
) -> tuple[Callable[[], IntArray], IntArray]:
    """Two discrete Laplace numbers in each place, the second a blurred copy of the first.

    Guarantee: X has P(x) proportional to exp(-|x| / scale), Z the same law with scale / ratio, and
    Z - X is independent of X, all exactly.  Who has x + Z can later be given x + X: both together
    cost what x + X does alone (gradual release; Koufogiannis, Han and Pappas 2015).

    Z = C - C' is the difference of two geometric numbers of ratio w = exp(-ratio / scale).  Let D
    be an independent one of ratio v = exp(-(1 - ratio) / scale).  Then P(min(C, D) = a, C - min =
    b) is w^(a+b) (1-w) v^a, times 1 - v if b > 0: a product of (v w)^a and of something in b alone.
    So min(C, D) is geometric of ratio v w = exp(-1 / scale), and independent of what C exceeds it
    by.  X is the difference of two such numbers, drawn when it is asked for.

    Returns:
        What gives X, always the same; and Z.

    Raises:
        ParameterError: if scale / ratio or scale / (1 - ratio) is above 2^40.
    """
    coarse = scale / ratio
    rest = scale / (1 - ratio)
    if not 0 < max(coarse, rest) <= LARGEST_SCALE:
        raise ParameterError("Expected noise of a scale above 0 and at most 2^40. Raise epsilon.")
    bits = 32 if max(coarse, rest) <= COARSE else 53
    rise, fall = (geometric(coarse, size, entropy, bits=bits) for _ in range(2))

    @cache
    def fine() -> IntArray:
        up, down = (geometric(rest, size, entropy, bits=bits) for _ in range(2))
        return np.minimum(rise, up) - np.minimum(fall, down)

    return fine, rise - fall


COARSE = 1 << 12
"""Of scales: up to here 32 bits of a number nearly always settle it."""
WORD = 64
"""Bits of a word, one for each node of a part of the shortlist."""


def oriented_degrees(graph: Graph, level: IntArray) -> IntArray:
    """How many neighbours of every node have a lower level; at equal levels the name decides."""
    from dampen.kernels.graphs import count_oriented

    rows = graph.rows
    results = list[NDArray[np.int32]]()

    def worker() -> Run:
        own = np.zeros(len(level), dtype=np.int32)
        results.append(own)
        return lambda *nodes: count_oriented(*nodes, *rows.half, level, own)

    rows.share(worker)
    return np.sum(results, axis=0, dtype=np.int64)


def counts_around(
    nodes: IntArray, length: int, graph: Graph, *, whole: bool = False
) -> tuple[IntArray, IntArray]:
    """How many neighbours outside a shortlist, and how many edges among them, on both lists.

    The list of a node has its first `length` neighbours outside the shortlist, by their places in
    `graph.nodes`.  With `whole`, nobody is left out.
    """
    from dampen.kernels.graphs import count_outside, fill_lists, fill_words

    rows = graph.rows
    n = len(graph.nodes)
    on_it = np.zeros(n, dtype=np.bool_)
    number = np.full(n, -1, dtype=np.int32)
    on_it[nodes] = not whole
    number[nodes] = np.arange(len(nodes))
    last = np.full(n, n, dtype=np.int32)
    long = (rows.degrees > length) & ~on_it
    edges = _edges_at(long | (number >= 0), rows)
    left_out = on_it.view(np.uint8)
    fill_lists(*edges, *rows.half, left_out, last, long.view(np.uint8), length)
    outside, found = np.zeros((2, len(nodes)), dtype=np.int64)
    count_outside(*edges, number, left_out, outside)
    for begin in range(0, len(nodes), WORD):
        words = np.zeros(n, dtype=np.uint64)
        part = found[begin : begin + WORD]
        fill_words(*edges, number, left_out, begin, words)
        part += _triangles(words, last, rows)[: len(part)]
    return outside, found


def _edges_at(chosen: NDArray[np.bool_], rows: Rows) -> tuple[NDArray[np.int32], ...]:
    """All edges with an end among the chosen nodes: lower ends, which rise, and higher ends."""
    from dampen.kernels.graphs import fill_touching

    marked = chosen.view(np.uint8)
    begins, ends, _ = rows.half
    most = int(rows.degrees[chosen].sum())
    found = dict[int, tuple[NDArray[np.int32], ...]]()

    def fill(begin: int, end: int) -> None:
        room = min(int(ends[end - 1] - begins[begin]), most)
        low, high = np.empty((2, room), dtype=np.int32)
        count = fill_touching(begin, end, *rows.half, marked, low, high)
        found[begin] = low[:count], high[:count]

    rows.share(lambda: fill)
    parts = [found[begin] for begin, _ in rows.ranges()]
    return np.concatenate([low for low, _ in parts]), np.concatenate([high for _, high in parts])


def _triangles(words: NDArray[np.uint64], last: NDArray[np.int32], rows: Rows) -> IntArray:
    """Per bit of a word, the edges between nodes that have it, as far as their lists go."""
    from dampen.kernels.graphs import count_triangles

    results = list[IntArray]()

    def worker() -> Run:
        own = np.zeros(WORD, dtype=np.int64)
        results.append(own)
        return lambda *nodes: count_triangles(*nodes, *rows.half, last, words, own)

    rows.share(worker)
    return np.sum(results, axis=0, dtype=np.int64)


UNIT = 6 << 14
"""The grid of round 2: its vectors are integers, in units of 1/UNIT."""
SURE = 3
"""In noise scales: beyond this a noisy degree hides one node in forty."""
SLOPES = tuple(Fraction(x, 4) for x in range(4, 11))
"""Those of a whole shortlist, in parts of 1 / level: from the triangles' own share upwards."""
ROOM = Fraction(4, 3)
"""How long lists of a whole shortlist are at least, in parts of the k-th degree."""
LONGEST = 600
"""Of shortlists.  Longer ones cost time, and their slopes are too small to matter."""


class Question(Protocol):
    """What round 2 asks: public, made from the answer of round 1."""

    @property
    def norm(self) -> int:
        """By how much one edge changes the vector at most, in the 1-norm."""
        ...

    def vector(self, graph: Graph, /) -> IntArray:
        """Private integers, in units of their own: `norm` is in the same."""
        ...

    def best(self, answers: IntArray, k: int, /) -> IntArray:
        """The k best nodes by the vector plus noise, best first."""
        ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Oriented:
    """How many neighbours of a node are below it."""

    noisy: IntArray
    held: float
    norm = UNIT

    def vector(self, graph: Graph, /) -> IntArray:
        return UNIT * oriented_degrees(graph, self.noisy)

    def best(self, answers: IntArray, k: int, /) -> IntArray:
        """An answer above the noisy degree is held back, by a public share."""
        s = answers / UNIT
        return largest(s - self.held * np.maximum(s - self.noisy, 0), k)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Shortlist:
    """The nodes that may be among the k best, with their slopes in units of 1/UNIT.

    Attributes:
        nodes: who is on it.
        slopes: what a triangle takes off.
        length: of everyone's list.
        whole: whether neighbours on the shortlist count as others do, and triangles with them.
    """

    nodes: IntArray
    slopes: IntArray
    length: int
    whole: bool = False

    @classmethod
    def of(cls, noisy: IntArray, k: int, noise: float, *, steepest: Fraction) -> "Shortlist | None":
        """The one of norm 1; None where the noisy degrees do not tell who may be among the best."""
        n = len(noisy)
        level = outstanding(noisy, k, noise)
        if level is None:
            return None
        size = likely(noisy, k, level, noise)
        if size > min(n, 2 * level, LONGEST):
            return None
        nodes = largest(noisy, size)
        levels = np.maximum(noisy[nodes], level)
        return cls(nodes, *slopes(levels, steepest, UNIT))

    @classmethod
    def whole_of(
        cls, noisy: IntArray, k: int, noise: float, *, steepest: Fraction, norm: float
    ) -> "Shortlist | None":
        """A whole shortlist, if slopes of 1 / level keep within the norm.

        What they leave of it is shared, as a ratio: half for less noise, and half for steeper
        slopes, then for more nodes, then for longer lists.
        """
        n = len(noisy)
        level = outstanding(noisy, k, noise)
        if level is None or (size := likely(noisy, k, level, noise)) > min(n, LONGEST):
            return None
        levels = np.maximum(noisy[largest(noisy, min(n, LONGEST))], level)
        sums = np.cumsum(1 / levels)
        least = whole_norm(Fraction(1), sums[size - 1])
        if least > norm:
            return None
        within = (least * norm) ** 0.5
        steep = max(s for s in SLOPES if s <= steepest and whole_norm(s, sums[size - 1]) <= within)
        if steep == steepest:
            spare = (within - whole_norm(steep, 0)) / float(steep)
            size = max(size, int(np.searchsorted(sums, spare)))
        slopes = steep.numerator * UNIT // (steep.denominator * levels[:size])
        rise = max(int(within * UNIT) - int(slopes.sum()), 2 * UNIT) // 2
        length = min((UNIT + rise) // max(int(slopes[-1]), 1), n)
        return cls(largest(noisy, size), slopes, length, whole=True)

    @property
    def norm(self) -> int:
        rise = max(UNIT, int(self.slopes.max()) * self.length - UNIT)
        fall = int(self.slopes.sum())
        return 2 * rise + fall if self.whole else max(rise, fall)

    def vector(self, graph: Graph, /) -> IntArray:
        outside, triangles = self.counts(graph)
        inside = graph.degrees[self.nodes] - outside
        return UNIT * outside + (UNIT // 2) * inside - self.slopes * triangles

    def counts(self, graph: Graph) -> tuple[IntArray, IntArray]:
        """Neighbours outside the shortlist, and the edges among them that count; or all."""
        return counts_around(self.nodes, self.length, graph, whole=self.whole)

    def best(self, answers: IntArray, k: int, /) -> IntArray:
        return self.nodes[largest(answers, k)]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TriangleList:
    """Triangles of a shortlist, of which at most `length` nodes are on it.

    The unit is 1 / length, which is the weight of a triangle: it gets finer as lists get longer,
    and nothing is rounded.
    """

    nodes: IntArray
    length: int

    @classmethod
    def of(cls, noisy: IntArray, k: int, noise: float, longest: int) -> "TriangleList | None":
        """The list; None where the noisy degrees do not show which nodes may be among the best.

        Nor is there one where its lists would be above `longest`, for which noise is too large.
        """
        size = 2 * k + 5
        level = outstanding(noisy, k, noise)
        if level is None or size > min(len(noisy), LONGEST):
            return None
        length = max(level // 2, size)
        return cls(largest(noisy, size), length) if length <= longest else None

    @property
    def norm(self) -> int:
        return self.length

    def vector(self, graph: Graph, /) -> IntArray:
        return counts_around(self.nodes, self.length, graph)[1]

    def best(self, answers: IntArray, k: int, /) -> IntArray:
        return self.nodes[largest(answers, k)]


def slopes(levels: IntArray, steepest: Fraction, unit: int) -> tuple[IntArray, int]:
    """Slopes steepest / level, all made smaller if their sum is above 1; and the length of lists.

    Integers only: the guarantee of `Shortlist` is not left to floats.
    """
    steep = steepest.numerator * unit // (steepest.denominator * levels)
    total = int(steep.sum())
    if total > unit:
        steep = steep * unit // total
    return steep, 2 * unit // max(int(steep.max()), 1)


def whole_norm(steep: Fraction, weight: float) -> float:
    """The norm of a whole shortlist with slopes of `steep` / level and the shortest lists.

    The weight is the sum of all 1 / level.
    """
    return 2 * max(1.0, float(ROOM * steep) - 1) + float(steep) * weight


def likely(noisy: IntArray, k: int, level: int, noise: float) -> int:
    """How many nodes may be among the k best; some more, for degrees do not tell all."""
    return max(int(np.count_nonzero(noisy >= level - SURE * noise)), least_size(k))


def least_size(k: int) -> int:
    """A shortlist holds some nodes more than are asked for: degrees do not tell all."""
    return ceil(1.5 * k + 5)


def outstanding(noisy: IntArray, k: int, noise: float) -> int | None:
    """The k-th largest noisy degree, if it is far enough above the average one.

    Guarantee: it is at least 1, so that the slopes that are made from it are not negative.
    """
    level = int(noisy[largest(noisy, k)[-1]])
    if level < 1 or level - noisy.mean() < noise * standing_out(len(noisy), k):
        return None
    return level


def standing_out(n: int, k: int) -> float:
    """How many noise scales the k-th of n must be above the many: fewer than e^-SURE k pass it."""
    return log(max(n / (2 * k), 1)) + SURE


FIRST_SHARE = Fraction(3, 10)
HELD = float(FIRST_SHARE / (2 * (1 - FIRST_SHARE)))
"""The ratio of the scales of both rounds, of round 2 to round 1."""
LEAST_EPSILON = 2 * Fraction(UNIT, LARGEST_SCALE)
"""Noise of all scales that are used is within `LARGEST_SCALE`."""
LEAST_FOR_BETWEENNESS = 4
"""The ε2 below which betweenness itself is not asked for: `for_the_best` allows at most ε2 / 2."""
LARGEST_NORM = 3
"""Of a question, in units of a neighbour, below that ε2."""
FEW = 50
"""k is a small part of n if n is FEW times larger."""
STEEP = Fraction(3, 2)
STEEPER = Fraction(5, 2)
"""What triangles take off at most, and where there are hubs far above the average."""
SKEWED = 0.27
HEADROOM = 2
"""How far the largest degree is above the 2k-th, in parts of the k-th, beyond some noise scales."""
FAR = 8
"""Or how many times the average the k-th degree is: both speak of hubs."""
DISTORTION = 0.07
"""Of the distance between degrees around the k-th: what a shortlist may hide among its own."""
QUIET = 0.05
STILL = 0.25
"""Of the same distance, or in neighbours: the noise on a whole shortlist."""
WORTH = 8
"""How many times the variance that is gained must exceed the one that is let in."""


@dataclass(frozen=True, slots=True)
class Shares:
    """What the rounds cost."""

    first: Fraction
    second: Fraction

    @classmethod
    def of(cls, epsilon: Fraction) -> "Shares":
        return cls(FIRST_SHARE * epsilon, (1 - FIRST_SHARE) * epsilon)

    @property
    def noise(self) -> float:
        """The scale of the noise on a degree in round 1."""
        return float(2 / self.first)

    @property
    def gain(self) -> float:
        """How much smaller the variance of the noise on a count of round 2 is than on a degree."""
        whole = float(self.first + self.second)
        return 8 / whole**2 - 2 / float(self.second) ** 2


def worth_it(n: int, k: int, epsilon: Fraction) -> bool:
    """Whether two rounds find more than one, as far as public facts can tell.

    For three nodes or more, always: what is not better asked in another way is asked as in one
    round.  For one or two, permute-and-flip on the degree is hard to beat, up to an ε at which
    degrees of a quarter of the root of n would stand out in round 1.
    """
    if epsilon < LEAST_EPSILON:
        return False
    return k > 2 or isqrt(n) / 4 >= Shares.of(epsilon).noise * standing_out(n, k)


class Second(Protocol):
    """What round 2 asks and how it is drawn; public, made from the answer of round 1."""

    def draw(self, graph: Graph, /, *, k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        """The k best nodes, best first: ε-DP under adding or removing one edge."""
        ...


class Rounds(Protocol):
    """What two rounds ask for a metric; public."""

    def after(
        self, noisy: IntArray, k: int, shares: Shares, max_degree: int | None, /
    ) -> Second | None:
        """What to ask once the noisy degrees are known; None for the degrees themselves."""
        ...


def two_rounds(
    graph: Graph,
    rounds: Rounds,
    *,
    k: int,
    epsilon: Fraction,
    entropy: Entropy,
    max_degree: int | None = None,
) -> list[int]:
    """The k most influential nodes, best first: ε-DP under adding or removing one edge.

    `max_degree` is a public bound on all degrees, if there is one.
    """
    shares = Shares.of(epsilon)
    fine, coarse = nested_laplace(2 / epsilon, FIRST_SHARE, len(graph.nodes), entropy)
    second = rounds.after(graph.degrees + coarse, k, shares, max_degree)
    if second is None:
        return refined(graph.degrees + fine(), k, entropy)
    return second.draw(graph, k=k, epsilon=shares.second, entropy=entropy)


def refined(noisy: IntArray, k: int, entropy: Entropy) -> list[int]:
    """The k largest, as in one round; equals in random order, lest names decide."""
    kth = noisy[largest(noisy, k)[-1]]
    may_be = np.flatnonzero(noisy >= kth)
    shuffled = may_be[random_order(len(may_be), entropy)]
    return shuffled[largest(noisy[shuffled], k)].tolist()


@dataclass(frozen=True, slots=True)
class WithNoise:
    """A question whose vector is asked for with discrete Laplace noise of scale norm / ε."""

    question: Question

    def draw(self, graph: Graph, /, *, k: int, epsilon: Fraction, entropy: Entropy) -> list[int]:
        answers = self.question.vector(graph)
        answers = answers + discrete_laplace(self.question.norm / epsilon, len(answers), entropy)
        return self.question.best(answers, k).tolist()


@dataclass(frozen=True, slots=True)
class BetweennessRounds:
    """Betweenness itself where ε is very large, else neighbours less triangles."""

    def after(
        self, noisy: IntArray, k: int, shares: Shares, max_degree: int | None, /
    ) -> Second | None:
        itself = CappedBetweenness.for_the_best(noisy, k, shares.noise, shares.second, max_degree)
        if itself is not None:
            return itself
        question = question_after(noisy, k, shares)
        return None if question is None else WithNoise(question)


@dataclass(frozen=True, slots=True)
class TriangleRounds:
    """Triangles of a shortlist."""

    def after(
        self, noisy: IntArray, k: int, shares: Shares, max_degree: int | None, /
    ) -> Second | None:
        del max_degree
        longest = int(LARGEST_SCALE * shares.second)
        question = TriangleList.of(noisy, k, shares.noise, longest)
        return None if question is None else WithNoise(question)


def check_epsilon(epsilon: Fraction) -> None:
    """Two rounds draw integers of 64 bits.

    Raises:
        ParameterError: if ε is so small that the noise would not fit into them.
    """
    if epsilon < LEAST_EPSILON:
        raise ParameterError("Expected epsilon >= 2^-22 for two rounds. Raise epsilon.")


def question_after(noisy: IntArray, k: int, shares: Shares) -> Question | None:
    """The question that suits the noisy degrees; None for the degrees themselves."""
    leaders = noisy[largest(noisy, min(2 * k, len(noisy)))].astype(np.float64)
    spread = _spread(leaders, k)
    shortlist = _shortlist(leaders, noisy, spread, k, shares)
    if shortlist is not None:
        return shortlist
    if len(noisy) >= FEW * k and _hides_little(leaders, noisy, k, shares):
        return Oriented(noisy, HELD)
    return None


def _shortlist(
    leaders: FloatArray, noisy: IntArray, spread: float, k: int, shares: Shares
) -> Shortlist | None:
    """The steeper one of those that suit."""
    far = leaders[k - 1] >= FAR * _total(noisy) / len(noisy)
    steepest = STEEPER if far else STEEP
    norm = _quiet_norm(spread, shares)
    whole = Shortlist.whole_of(noisy, k, shares.noise, steepest=steepest, norm=norm)
    if not (far or _skewed(leaders, k, shares)):
        return whole
    part = Shortlist.of(noisy, k, shares.noise, steepest=steepest)
    if part is None or not _tells_more(part, noisy, spread, k, shares):
        return whole
    return part if whole is None or part.slopes.max() > whole.slopes.max() else whole


def _skewed(leaders: FloatArray, k: int, shares: Shares) -> bool:
    """Whether the largest degrees differ by more than chance would have it."""
    beyond = leaders[0] - leaders[-1] - HEADROOM * shares.noise
    return bool(beyond >= SKEWED * leaders[k - 1])


def _spread(leaders: FloatArray, k: int) -> float:
    """The distance between degrees around the k-th, over about 1.5 k ranks; the denser side counts.

    A few hubs far above say nothing about how close the k-th is to the next.
    """
    above = leaders[(k - 1) // 2]
    kth = leaders[k - 1]
    below = leaders[-1]
    return float(1.5 * min(2 * (above - kth) if k > 1 else np.inf, kth - below))


def _quiet_norm(spread: float, shares: Shares) -> float:
    """The norm of a question whose noise matters little, or not at all."""
    quiet = max(QUIET * spread, STILL) * float(shares.second) / 2**0.5
    if shares.second < LEAST_FOR_BETWEENNESS:
        return min(quiet, LARGEST_NORM, float(LARGEST_SCALE * shares.second / UNIT))
    return quiet


def _tells_more(
    shortlist: Shortlist, noisy: IntArray, spread: float, k: int, shares: Shares
) -> bool:
    """Whether what a shortlist hides, beyond the noise it saves, is small against distances.

    Were edges drawn at random for the given degrees, a node of degree c would have about c times
    the share of the shortlist in all degrees as neighbours on it.  Each counts half.
    """
    listed = noisy[shortlist.nodes]
    share = min(float(listed.sum()) / _total(noisy), 1.0)
    hidden = 0.25 * float(listed[k - 1]) * share
    return bool(hidden <= shares.gain + (DISTORTION * spread) ** 2)


def _hides_little(leaders: FloatArray, noisy: IntArray, k: int, shares: Shares) -> bool:
    """Whether orientation hides few of the edges of the k best, against the noise that it saves.

    Again as for edges drawn at random; half of the k largest noises is taken off the k largest.
    """
    total = _total(noisy)
    noise = shares.noise * log(len(noisy) / (2 * k)) / 2
    best = np.maximum(leaders[:k] - noise, total / len(noisy))
    return bool(shares.gain >= WORTH * best[-1] * min(best.sum() / total, 1.0))


def _total(noisy: IntArray) -> float:
    return max(float(noisy.sum()), float(len(noisy)))
