"""Egocentric betweenness: the most influential node of a graph (application 2 of the paper).

- `Betweenness`, `EgoSensitivity`: the metric, with the δ of two sensitivity functions.
- `lazy_top`, `draw_nodes`: draws that compute betweenness only where the order is still open.

Add/remove one edge between public nodes, degrees at most D (public; n - 1 always holds).  With d(v)
the degree of v and q(m) = max(m(m-1)/4, m):

- u(G, v) = EBC(v), the egocentric betweenness: see `dampen.egocentric_betweenness`.
- Δ = q(D) (Lemma 12 of the paper; enumeration finds q(D - 1)).
- δ(G, t, v) = min(q(d(v) + t), Δ): the *degree* version, the paper's.  It does not decrease with
  the degree, so SLD shifts to +infinity; T = D.
- δ(G, t, v) = min(max((C+t)(C+t-1)/4, d(v) + t), Δ), with C the largest number of neighbours that v
  shares with any other node: the *codegree* version.  Much smaller on real graphs: made for LD with
  a public shift; bad for SLD, which lives on the differences between the δ of two nodes.

Both are admissible, checked by brute force on all graphs with six vertices.

Differences from the paper: D is a public parameter, not the largest degree of the private graph.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dampen.core.mechanisms import Mechanism, select, with_scores
from dampen.core.noise import Noise
from dampen.core.sampling import Contenders, Entropy, contenders, settle
from dampen.core.scores import Dampened, Global, Score, Shifted
from dampen.core.selection import FloatArray, IntArray, Selection, check_k
from dampen.errors import ParameterError
from dampen.questions.nodes.graphs import LARGEST_N, Graph, betweenness, codegrees
from dampen.questions.nodes.metric import TWO_ROUNDS, Degree, Usual
from dampen.questions.nodes.two_rounds import BetweennessRounds, worth_it


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

    A score of a node is known from its degree up to little: EBC lies between 0 and d(d-1)/2, so
    that the shifted score is known to 2 units, and the dampened one to about as much.  Noise
    decides the order of nearly all nodes long before that matters.  So scores are refined as noise
    is: every node has an interval, from its degree and from the known bits of its noise; EBC is
    computed for the nodes that may still be among the k best, and for no others.

    **The same answer.**  Let the interval of node v for its noisy score be [l(v), h(v)] when EBC is
    known and [L(v), H(v)], which contains it, when only the degree is.  The k nodes of largest H
    have some least L, called t; so k nodes have l >= t, and whoever has h < t is not among the k
    best.  All others have H >= h >= t: they are asked for.  `dampen.core.sampling.settle` then sees
    the same bits, scores and largest score (the nodes that may have it are asked for as well) as
    after a computation of all scores: the law is the same, and for the same bits the answer is.
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


JOINT_STRETCH = 10
"""The joint release caps at q(10 D): the scores of the largest nodes are then not squeezed."""


@dataclass(frozen=True)
class Betweenness:
    """Egocentric betweenness, with one of two sensitivity functions and the cap q(cap_degree).

    **The cap.**  Any public number above Δ may play the role of Δ.  `cap_degree` = D' >= D makes it
    q(D') with T = D'; D' = D is the paper's SLD.  As D' grows, SLD turns into the exponential
    mechanism on the degree.

    **Joint release.**  The whole vector of shifted scores changes by at most 2 in the 1-norm.
    Proof, in units of 1/cap, for an edge that joins a and b, of degrees i and j <= N = D - 1 with c
    common neighbours.  For a neighbour x of one end only, let t be how many common neighbours it is
    adjacent to; t <= c, and there are i + j - 2c such x.

    (1) The score of a changes by cap - q(i) + gain, where gain is 1 / (1 + t) for each of its own
    x, for the new pair of x and b, less at most 1/2 for each of the c(c-1)/2 pairs of common
    neighbours.
    (2) Of all others only a common neighbour w changes: its degree stays, its EBC falls, by at most
    1 for the pair a, b and by 1/2 for each x adjacent to w.  Together: c + (sum of t) / 2.
    (3) If both ends rise, the total above 2 cap is at most -q(i) - q(j) + (i + j - 2c) κ + c, where
    κ is the largest 1 / (1 + t) + t/2, which is convex: max(1, 1 / (1 + c) + c/2).  As q is convex,
    that is at most -2 q(m) + 2 (m - c) κ + c with m = (i + j)/2.  For c <= 1 it is at most 0
    because of q(m) >= m; for c >= 2, with s = m - c, because q(m) >= m(m-1)/4 makes it at most
    -(s² - s (1 + 4 / (1+c)) + c² - 3c) / 2, except where m < 5 and c is 2 or 3, where q(m) = m
    does.
    (4) If only a falls, the total is at most q(i) - q(j) + j + c (m - 1/4) - 3c²/4, which is at
    most q(i) - q(j) + j + (m - 1/4)²/3 <= 3N²/8 + N/4 + 2.1 < N(N+1)/2 = 2 q(D) for N >= 5.  If
    both fall, it is at most q(i) + q(j) + m²/2 + m/2 - 2 cap <= N² - 2 cap < 2 cap.  A test
    enumerates smaller D, and all others up to 60.

    Joining two isolated nodes moves both their scores by exactly 1, so 2 is as small as can be.
    With the codegree version many δ change at once, so there is no joint release.

    What SLD ranks by: EBC(v) / q(D') is at most 2 score units; all the rest is the degree.  The
    degree itself (`metric="degree"`) is therefore the control to beat: integers, Δ = 1, one-sided,
    S = 2.
    """

    delta: Literal["degree", "codegree"] = "degree"
    cap_degree: int | None = None
    name: ClassVar[str] = "betweenness"
    help: ClassVar[str] = "egocentric betweenness: how far a node lies between its neighbours"
    rounds: ClassVar[BetweennessRounds] = BetweennessRounds()

    def usual(self, n: int, k: int, epsilon: Fraction, /) -> Usual:
        """Two rounds where they pay off, else the degree in one; codegrees are dampened."""
        if self.delta != "degree":
            return Usual(self, "ld-pf")
        if worth_it(n, k, epsilon):
            return Usual(self, TWO_ROUNDS)
        return Degree().usual(n, k, epsilon)

    def values(self, graph: Graph, /) -> FloatArray:
        """The egocentric betweenness of every node; private."""
        return betweenness(graph)

    @property
    def joint(self) -> Mapping[Score, float]:
        return {Shifted(): 2.0} if self.delta == "degree" else {}

    def suited(self, mechanism: Mechanism, max_degree: int, /) -> "Betweenness":
        """The cap is D, and 10 D for a joint release.

        Raises:
            ParameterError: for a joint release with codegrees.
        """
        if not mechanism.noise.joint:
            return self._capped(max_degree)
        if self.delta != "degree":
            raise ParameterError(
                f"Expected delta 'degree' for a joint release, got {self.delta!r}: with codegrees "
                "one edge can move any number of scores."
            )
        return replace(self, cap_degree=min(JOINT_STRETCH * max_degree, LARGEST_N))

    def draw(
        self, graph: Graph, mechanism: Mechanism, /, *, k: int, epsilon: Fraction, entropy: Entropy
    ) -> list[int]:
        """The k nodes that `select` would draw; EBC is computed where it matters, if it can be."""
        if _known_from_degrees(mechanism):
            return draw_nodes(graph, self, mechanism, epsilon=epsilon, k=k, entropy=entropy)
        assert self.cap_degree is not None
        whole = self.selection(graph, self.cap_degree)
        return select(whole, mechanism=mechanism, epsilon=epsilon, k=k, entropy=entropy)

    def selection(self, graph: Graph, max_degree: int, /) -> Selection:
        utility = betweenness(graph)
        capped = self._capped(max_degree)
        return capped.with_utility(utility, graph.degrees, self.codegrees(graph))

    def _capped(self, max_degree: int) -> "Betweenness":
        return self if self.cap_degree is not None else replace(self, cap_degree=max_degree)

    def codegrees(self, graph: Graph) -> IntArray:
        """What stands in for the codegrees: the degrees themselves in the degree version."""
        return graph.degrees if self.delta == "degree" else codegrees(graph)

    def with_utility(self, u: FloatArray, d: IntArray, C: IntArray) -> Selection:
        """The selection among nodes of these EBC, degrees and codegrees."""
        assert self.cap_degree is not None
        cap = q(self.cap_degree)
        return Selection(
            u,
            EgoSensitivity.of(d, C, cap, self.cap_degree),
            bound=cap,
            joint=self.joint,
            # EBC is at most D(D-1)/2, which is at most 2 q(D).
            ends=(0.0, 2 * cap),
        )


def draw_nodes(
    graph: Graph,
    metric: Betweenness,
    mechanism: Mechanism,
    *,
    epsilon: Fraction,
    k: int,
    entropy: Entropy,
) -> list[int]:
    """The k nodes that `select` would draw from `metric.selection(graph, ...)`, for the same bits.

    For a mechanism whose noise is drawn once, and whose score grows with the utility.
    """
    check_k(k, len(graph.nodes))
    d = graph.degrees
    C = metric.codegrees(graph)
    least = with_scores(metric.with_utility(np.zeros(len(d)), d, C), mechanism)
    most = with_scores(metric.with_utility(d * (d - 1) / 2, d, C), mechanism)
    error = 2 * float(least.scores.eta * least.scores.unit)

    def exactly(nodes: IntArray) -> FloatArray:
        u = betweenness(graph, nodes)
        return mechanism.score.of(metric.with_utility(u, d[nodes], C[nodes])).values

    c = least.noise_scale(epsilon, k)
    between = least.scores.values - error, most.scores.values + error
    return lazy_top(between, exactly, c, mechanism.noise, k=k, entropy=entropy)


def _known_from_degrees(mechanism: Mechanism) -> bool:
    """Whether a score grows with EBC, so that bounds on EBC bound it, and its noise is one draw."""
    scored = isinstance(mechanism.score, Global | Dampened | Shifted)
    return scored and mechanism.noise.one_draw and mechanism.shift is None
