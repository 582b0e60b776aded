"""The most influential node of a graph (application 2 of the paper).

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

**The cap.**  Any public number above Δ may play the role of Δ.  `cap_degree` = D' >= D makes it
q(D') with T = D'; D' = D is the paper's SLD.  As D' grows, SLD turns into the exponential mechanism
on the degree.

**Joint release.**  The whole vector of shifted scores changes by at most 2 in the 1-norm.  Proof,
in units of 1/cap, for an edge that joins a and b, of degrees i and j <= N = D - 1 with c common
neighbours.  For a neighbour x of one end only, let t be how many common neighbours it is adjacent
to; t <= c, and there are i + j - 2c such x.

(1) The score of a changes by cap - q(i) + gain, where gain is 1 / (1 + t) for each of its own x,
for the new pair of x and b, less at most 1/2 for each of the c(c-1)/2 pairs of common neighbours.
(2) Of all others only a common neighbour w changes: its degree stays, its EBC falls, by at most 1
for the pair a, b and by 1/2 for each x adjacent to w.  Together: c + (sum of t) / 2.
(3) If both ends rise, the total above 2 cap is at most -q(i) - q(j) + (i + j - 2c) κ + c, where κ
is the largest 1 / (1 + t) + t/2, which is convex: max(1, 1 / (1 + c) + c/2).  As q is convex, that
is at most -2 q(m) + 2 (m - c) κ + c with m = (i + j)/2.  For c <= 1 it is at most 0 because of
q(m) >= m; for c >= 2, with s = m - c, because q(m) >= m(m-1)/4 makes it at most
-(s² - s (1 + 4 / (1+c)) + c² - 3c) / 2, except where m < 5 and c is 2 or 3, where q(m) = m does.
(4) If only a falls, the total is at most q(i) - q(j) + j + c (m - 1/4) - 3c²/4, which is at most
q(i) - q(j) + j + (m - 1/4)²/3 <= 3N²/8 + N/4 + 2.1 < N(N+1)/2 = 2 q(D) for N >= 5.  If both fall,
it is at most q(i) + q(j) + m²/2 + m/2 - 2 cap <= N² - 2 cap < 2 cap.  A test enumerates smaller D,
and all others up to 60.

Joining two isolated nodes moves both their scores by exactly 1, so 2 is as small as can be.
With the codegree version many δ change at once, so there is no joint release.

What SLD ranks by: EBC(v) / q(D') is at most 2 score units; all the rest is the degree.  The degree
itself (`metric="degree"`) is therefore the control to beat: integers, Δ = 1, one-sided, S = 2.

Differences from the paper: D is a public parameter, not the largest degree of the private graph.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from dampen.core.mechanisms import Mechanism, select, with_scores
from dampen.core.sampling import Entropy
from dampen.core.scores import Dampened, Global, Score, Shifted
from dampen.core.selection import FloatArray, IntArray, Selection, check_k
from dampen.errors import ParameterError
from dampen.questions.nodes.graphs import LARGEST_N, Graph, betweenness, codegrees
from dampen.questions.nodes.metric import TWO_ROUNDS, Degree, Usual
from dampen.questions.nodes.two_rounds import (
    BetweennessRounds,
    EgoSensitivity,
    lazy_top,
    q,
    worth_it,
)

JOINT_STRETCH = 10
"""The joint release caps at q(10 D): the scores of the largest nodes are then not squeezed."""


@dataclass(frozen=True)
class Betweenness:
    """Egocentric betweenness, with one of two sensitivity functions and the cap q(cap_degree)."""

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
