"""The most influential node of a graph (application 2 of the paper).

Add/remove one edge between public nodes, degrees at most D (public; n - 1 always holds).  With d(v)
the degree of v and q(m) = max(m(m-1)/4, m):

- u(G, v) = EBC(v), the egocentric betweenness: see `dampen.egocentric_betweenness`.
- Δ = q(D) (Lemma 8 of the paper).
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

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, Protocol

import numpy as np

from dampen.core.scores import Global, Score, Shifted
from dampen.core.selection import FloatArray, IntArray, Neighbours, Selection
from dampen.errors import DataError, ParameterError, did_you_mean
from dampen.questions.nodes.graphs import (
    LARGEST_N,
    Degrees,
    Graph,
    betweenness,
    codegrees,
    graph_of,
    node_set,
)
from dampen.questions.nodes.metrics import Brokerage, Core, OnlyInRounds, Triangles, counted

Delta = Literal["degree", "codegree"]


class Metric(Protocol):
    """An influence metric with its own sensitivity function: pass one of your own as `metric=`.

    A frozen dataclass of public parameters with one method.  Its guarantee is the admissibility of
    the δ in the selections that it makes, for graphs that differ by one edge and whose degrees are
    at most `max_degree`; `dampen.testing` checks that on all small graphs.
    """

    def selection(self, graph: Graph, max_degree: int, /) -> Selection:
        """Utilities and sensitivities, one per node, in the order of `graph.nodes`."""
        ...


@dataclass(frozen=True)
class InfluentialNode:
    """Which of the public nodes has the largest influence?

    Attributes:
        n: the nodes are 0, 1, ..., n - 1; or else
        nodes: their labels.
        max_degree: D, a public bound on all degrees, by default n - 1.  A smaller one is an
            assumption: a graph that violates it is a `DataError`.
        metric: "betweenness" (egocentric), "degree", "triangles", "brokerage", "core", or a
            `Metric` of your own; "eigenvector" and "pagerank" have no selection.
        delta: for betweenness, the sensitivity function, "degree" (the paper's) or "codegree".
        cap_degree: for betweenness, D' >= D; by default D.

    >>> InfluentialNode(n=4).selection(([0, 0, 0], [1, 2, 3])).utility
    array([3., 0., 0., 0.])
    """

    n: int | None = None
    nodes: Sequence[Hashable] | None = None
    max_degree: int | None = None
    metric: str | Metric = "betweenness"
    delta: Delta = "degree"
    cap_degree: int | None = None
    neighbours = Neighbours.ADD_REMOVE_EDGE

    def __post_init__(self) -> None:
        known = node_set(self.nodes, self.n)
        if known is None:
            raise ParameterError("Expected n= or nodes=, the public nodes of the graph; got none.")
        object.__setattr__(self, "nodes", known)
        object.__setattr__(self, "n", len(known))
        largest = _degree("max_degree", self.max_degree, 1, LARGEST_N, default=len(known) - 1)
        object.__setattr__(self, "max_degree", max(1, min(largest, len(known) - 1)))
        _ = self.chosen_metric  # raises where there is none

    @property
    def candidates(self) -> Sequence[Hashable]:
        assert self.nodes is not None
        return self.nodes

    @property
    def joint(self) -> Mapping[Score, float] | None:
        """The 1-norm bounds of the metric, by score; None where a metric of your own says none."""
        return getattr(self.chosen_metric, "joint", None)

    def selection(self, graph: Any, /) -> Selection:
        """Takes (src, dst) arrays, or any graph that `dampen.top_k` takes.

        Raises:
            DataError: if an edge ends outside the nodes, or a degree is above `max_degree`.
        """
        made: Any = graph if isinstance(graph, Degrees) else graph_of(graph, self.candidates)
        assert self.max_degree is not None
        self._check_degrees(made.degrees)
        return self.chosen_metric.selection(made, self.max_degree)

    def graph(self, graph: Any, /) -> Graph:
        """The same graph on the public nodes, its degrees checked; raises as `selection` does."""
        made = graph_of(graph, self.candidates)
        self._check_degrees(made.degrees)
        return made

    def _check_degrees(self, degrees: IntArray) -> None:
        assert self.max_degree is not None
        if degrees.max() > self.max_degree:
            raise DataError(
                "Expected no degree above max_degree, the public bound; at least one is. Drop "
                "edges by a public rule, or leave max_degree out: n - 1 always holds."
            )

    def with_cap_degree(self, stretch: int) -> "InfluentialNode":
        """The same problem with D' = stretch times D."""
        assert self.max_degree is not None
        return replace(self, cap_degree=min(stretch * self.max_degree, LARGEST_N))

    @property
    def chosen_metric(self) -> Metric:
        """The metric as an object."""
        if not isinstance(self.metric, str):
            return self.metric
        assert self.max_degree is not None
        if self.metric in (simple := _simple_metrics(self.max_degree)):
            return simple[self.metric]
        if self.metric != "betweenness":
            known = ("betweenness", *simple)
            hint = did_you_mean(self.metric, known)
            raise ParameterError(
                f"Expected a metric, one of {', '.join(known)}, got {self.metric!r}.{hint}"
            )
        if self.delta not in ("degree", "codegree"):
            hint = did_you_mean(str(self.delta), ("degree", "codegree"))
            raise ParameterError(
                f"Expected delta 'degree' or 'codegree', got {self.delta!r}.{hint}"
            )
        D = self.max_degree
        return Betweenness(self.delta, _degree("cap_degree", self.cap_degree, D, LARGEST_N, D))


@dataclass(frozen=True)
class Degree:
    """The number of neighbours: integers, Δ = 1, and one edge changes exactly two of them."""

    joint = MappingProxyType[Score, float]({Global(): 2.0, Shifted(): 2.0})

    def selection(self, graph: Graph | Degrees, max_degree: int, /) -> Selection:
        return counted(graph.degrees, self.joint, max_degree)


@dataclass(frozen=True)
class Betweenness:
    """Egocentric betweenness, with one of two sensitivity functions and the cap q(cap_degree)."""

    delta: Delta
    cap_degree: int

    @property
    def joint(self) -> Mapping[Score, float]:
        return {Shifted(): 2.0} if self.delta == "degree" else {}

    def selection(self, graph: Graph, max_degree: int, /) -> Selection:  # noqa: ARG002
        return self.with_utility(betweenness(graph), graph.degrees, self.codegrees(graph))

    def codegrees(self, graph: Graph) -> IntArray:
        """What stands in for the codegrees: the degrees themselves in the degree version."""
        return graph.degrees if self.delta == "degree" else codegrees(graph)

    def with_utility(self, u: FloatArray, d: IntArray, C: IntArray) -> Selection:
        """The selection among nodes of these EBC, degrees and codegrees."""
        cap = q(self.cap_degree)
        return Selection(
            u,
            EgoSensitivity.of(d, C, cap, self.cap_degree),
            bound=cap,
            joint=self.joint,
            # EBC is at most D(D-1)/2, which is at most 2 q(D).
            utility_range=2.0,
        )


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


def _simple_metrics(max_degree: int) -> dict[str, Metric]:
    """Those without a choice of sensitivity function."""
    return {
        "degree": Degree(),
        "triangles": Triangles(),
        "brokerage": Brokerage(max_degree),
        "core": Core(),
        "eigenvector": OnlyInRounds("eigenvector"),
        "pagerank": OnlyInRounds("pagerank"),
    }


def _first_above(cap: float) -> int:
    """The smallest m with m(m-1)/4 >= cap."""
    m = int(np.sqrt(4 * cap))
    while m * (m - 1) / 4 < cap:
        m += 1
    return m


def _degree(name: str, value: int | None, low: int, high: int, default: int) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ParameterError(f"Expected {name} to be an integer, got {name}={value!r}.")
    if not low <= value <= high:
        raise ParameterError(f"Expected {name} >= {low}, got {name}={value}.")
    return int(value)
