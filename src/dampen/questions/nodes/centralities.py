"""Eigenvector centrality, core numbers, PageRank and triangles: metrics of more than the degree.

- `CentralRounds`: eigenvector centrality, core numbers and PageRank, in two rounds.
- `Core`: core numbers in one round.
- `Triangles`, `Brokerage`: influence by triangles, how many there are at a node and how few.

**Eigenvector centrality, core numbers and PageRank, in two rounds.**  No local bound limits what
one edge does to any of them, but a step or two of the iterations that end at them find most of
their largest nodes.  A step sums over neighbours, and an edge changes two sums, if what is summed
is public.

**Round 1** is that of `dampen.questions.nodes.two_rounds`: noisy degrees d~ of all nodes, with a
part ε1 of ε.  Everything named next is a public function of d~, n, k and ε (`Leaders`): estimates e
of all degrees, the *breadth* h, the largest number such that h nodes have an e of h or more, and a
shortlist R of the m largest d~.

**Round 2** adds discrete Laplace noise of scale S / ε2 to one vector of integers, over c in R:

- *eigenvector*: f_c is the sum of w_u over the neighbours u of c, with public weights
  w = min(e / h, 1): the second step of power iteration, the degrees being the first;
- *core*: the same with w = 1 where e >= 3/5 h, else 0: a node of core number k has k neighbours of
  that degree at least;
- *PageRank*: f_c is the sum of y_u over the neighbours of c, where y_u stands for the PageRank of u
  divided by its degree, after two steps from y = 1 / average degree:
  y_u = (c1 + sum of t_w over the neighbours w of u) / d_u and t_w = c0 + c2 / d_w, with true
  degrees, for u and w outside R; on R both are a public number r_u <= τ/2, with τ = c0 + c2.

Or else, where that does not pay off, it refines round 1 as `two_rounds` does: the answer is that of
one round about degrees.  It pays off where h is large against the noise on a neighbour and degrees
tell hubs from others, since the k-th is some times the average or ranks are many noises apart
(`Signal`).  Among nodes that are much alike noisy sums rank by noise sooner than noisy degrees do.

Neither is the metric itself.  That is computed of a noisy copy of the graph, from an ε of about
log(10 n) on (`dampen.questions.nodes.graphs.noisy_copy`).  More private steps of the iterations
were tried: they find less than one step at nearly every ε below that, and less than the copy above.

**Theorem.**  One edge changes f by at most S in the 1-norm, whatever d~ is.  Hence both rounds
together are (ε1 + ε2)-DP, as in `two_rounds`.  `Weighted` and `Walk` say what S is, and prove it.

**What was chosen, and how.**  All constants were tuned on wiki-Vote, ego-Facebook, ca-HepTh, Enron,
GitHub and DBLP; the other graphs of docs/lab-nodes.md were looked at once, afterwards.  What pays
off was decided on the small graphs of the study `growing` too.

**Triangles.**  T(v) is the number of edges among the neighbours of v.  An edge ab between nodes
with c common neighbours changes T(a) and T(b) by c and T of every common neighbour by 1, all in one
direction.  Degrees are at most D, so c <= D - 1.  Tests repeat all of it on all small graphs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dampen.core import sensitivity
from dampen.core.scores import Global, Score, Shifted
from dampen.core.selection import FloatArray, IntArray, Selection
from dampen.questions.nodes.graphs import Graph, for_all
from dampen.questions.nodes.metric import TWO_ROUNDS, OnlyInRounds, Usual, counted
from dampen.questions.nodes.two_rounds import (
    Second,
    Shares,
    TriangleRounds,
    WithNoise,
    largest,
    spread,
)


def triangles(graph: Graph) -> IntArray:
    """T of every node."""
    from dampen.kernels.graphs import outside_and_triangles

    n = len(graph.nodes)
    nobody = np.zeros(n, dtype=np.uint8)
    everyone = np.arange(n)
    listed = graph.first, graph.to, everyone, nobody, np.full(n, n, dtype=np.int32)
    stop = np.zeros(1, dtype=np.uint8)
    result = np.zeros((n, 2), dtype=np.int64)

    def worker() -> Any:
        mark = np.zeros(n, dtype=np.uint8)
        return lambda *nodes: outside_and_triangles(*nodes, *listed, mark, stop, result)

    for_all(worker, graph.degrees, stop, "Triangles")
    return result[:, 1]


@dataclass(frozen=True)
class Triangles:
    """The number of edges among the neighbours of a node.

    u = T, Δ = D - 1.  The c of an edge at v is at most d(v), and other edges change T(v) by at most
    1, only where d(v) >= 2; one edge changes d(v) by at most 1.  So
    δ(G, t, v) = min(d(v) + t, D - 1) is admissible.  One-sided; the vector changes by 3c <= 3Δ in
    the 1-norm.
    """

    name: ClassVar[str] = "triangles"
    help: ClassVar[str] = "edges among the neighbours of a node"
    rounds: ClassVar[TriangleRounds] = TriangleRounds()
    joint = MappingProxyType[Score, float]({Global(): 3.0})

    def usual(self, n: int, k: int, epsilon: Fraction, /) -> Usual:
        """In two rounds."""
        del n, k, epsilon
        return Usual(self, TWO_ROUNDS)

    def values(self, graph: Graph, /) -> IntArray:
        """The triangles of every node; private."""
        return triangles(graph)

    def selection(self, graph: Graph, max_degree: int, /) -> Selection:
        cap = float(max(max_degree - 1, 1))
        return Selection(
            triangles(graph),
            DegreeSensitivity(graph.degrees, cap, max_degree),
            bound=cap,
            one_sided=True,
            joint=self.joint,
            exact=True,
            ends=(0.0, max(max_degree, 2) * cap / 2),
        )


@dataclass(frozen=True)
class Brokerage:
    """The degree less triangles, as far as a public bound on degrees allows.

    u = d - κ T / (D - 1) with κ = 4/3, for who has a public bound D on degrees: a neighbour counts
    less the more others it knows.  With x = κ c / (D - 1), an edge changes u at its ends by 1 - x
    and at the c common neighbours by x together, in the 1-norm by 2 |1 - x| + x, which is at most 2
    for x <= κ = 4/3 (2 - x below 1, 3x - 2 above).  With κ = 3/2 it is 2.5.  Here in integers:
    3 (D - 1) d - 4 T, so that Δ = 3 (D - 1): an end of an edge changes by 3 (D - 1) - 4c, a common
    neighbour by 4.  A bound of 3 stands in for smaller ones: it holds where they do.
    """

    name: ClassVar[str] = "brokerage"
    help: ClassVar[str] = "the degree less triangles, for a public max_degree"
    rounds: ClassVar[None] = None
    unit: ClassVar[str] = "neighbours"
    joint = MappingProxyType[Score, float]({Global(): 2.0, Shifted(): 2.0})

    def usual(self, n: int, k: int, epsilon: Fraction, /) -> Usual:
        """All nodes at once."""
        del n, k, epsilon
        return Usual(self, "joint")

    def selection(self, graph: Graph, max_degree: int, /) -> Selection:
        neighbour = 3 * (max(max_degree, 3) - 1)
        # Selections hold floats: whole numbers beyond 2^53 are rounded once.
        return Selection(
            neighbour * graph.degrees - 4 * triangles(graph),
            sensitivity.constant(neighbour),
            joint=self.joint,
            exact=neighbour * max_degree <= 2**53,
            utility_range=float(max_degree),
            rounding=2.0**-50 * max_degree,
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DegreeSensitivity:
    """min(d + t, cap) in closed form, exact below 2^53; `horizon` is public."""

    d: IntArray
    cap: float
    horizon: int

    def part(self, candidates: slice, /) -> "DegreeSensitivity":
        return DegreeSensitivity(self.d[candidates], self.cap, self.horizon)

    def at(self, t: int, /) -> FloatArray:
        return np.minimum(self.d + t, self.cap)

    def at_each(self, t: IntArray, /) -> FloatArray:
        return np.minimum(self.d + t, self.cap)

    def sum_to(self, t: IntArray, /) -> FloatArray:
        rising = np.minimum(t, np.maximum(int(self.cap) - self.d, 0))
        return rising * (2 * self.d + rising - 1) / 2 + (t - rising) * self.cap


UNIT = 1 << 16
"""The grid of weights."""
WIDE = 20
DEEP = 4
"""How many times k, and the breadth, a shortlist is long."""
CORE = 0.6
"""Of the breadth: the degree from which on a neighbour counts for the core."""
COARSE = 18
"""Answers about PageRank are multiples of 2^-COARSE."""
FOLLOWED = Fraction(17, 20)
"""The usual damping of PageRank."""


class Signal(NamedTuple):
    """How far noisy degrees stand out, as far as a question about them matters; public.

    Attributes:
        breadth: h, in scales of the noise on a neighbour.
        height: the k-th largest degree, in parts of the average.
        spread: the distance between degrees around the k-th, in scales of that noise.
    """

    breadth: float
    height: float
    spread: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Leaders:
    """What noisy degrees tell; all of it public.

    Attributes:
        estimates: of all degrees: the noisy ones, drawn to their average as far as noise explains
            them.
        nodes: the shortlist.
        breadth: h.
        noise: the scale of the noise on degrees.
    """

    estimates: FloatArray
    nodes: IntArray
    breadth: int
    noise: float

    @classmethod
    def of(cls, noisy: IntArray, k: int, noise: float) -> "Leaders":
        n = len(noisy)
        average = max(float(noisy.mean()), 1.0)
        order = np.argsort(-noisy, kind="stable")
        rank = np.arange(1, n + 1)
        above = np.maximum(noisy[order] - average, 0.0)
        # Of those so far above, as many would be there by noise alone.
        by_chance = np.minimum(n / 2 * np.exp(-above / noise) / rank, 1.0)
        sorted_estimates = average + (1 - by_chance) * above
        estimates = np.empty(n)
        estimates[order] = np.maximum.accumulate(sorted_estimates[::-1])[::-1]
        breadth = max(int(np.count_nonzero(estimates[order] >= rank)), 1)
        size = min(n, max(WIDE * k, DEEP * breadth))
        return cls(estimates, order[:size], breadth, noise)

    @property
    def average(self) -> Fraction:
        """About the average degree, at least 1; the estimates are not below it."""
        return Fraction(float(self.estimates.min()))

    def signal(self, k: int, noise: float) -> Signal:
        """What tells whether a question with this noise on a neighbour pays off."""
        first = self.estimates[self.nodes[: 2 * k]]
        height = float(first[k - 1] / self.average)
        return Signal(self.breadth / noise, height, spread(first, k) / noise)

    def settled(self, answers: IntArray, scale: float) -> FloatArray:
        """Answers averaged with what the degrees alone would have them be."""
        e = self.estimates[self.nodes]
        slope = max(float(answers @ e / (e @ e)), 0.0)
        theirs = 2 * (slope * self.noise) ** 2
        ours = 2 * scale**2
        unlike = float(np.mean((answers - slope * e) ** 2)) - theirs - ours
        expected = theirs + max(unlike, 0.0)
        return (answers * expected + slope * e * ours) / (expected + ours)


@dataclass(frozen=True)
class CentralRounds:
    """A sum over neighbours.

    Attributes:
        asked: the question about the leaders.
        pays_off: whether it finds more than degrees do.
    """

    asked: "Callable[[Leaders], Weighted | Walk]"
    pays_off: Callable[[Signal], bool]

    def after(self, noisy: IntArray, k: int, shares: Shares, /) -> Second | None:
        leaders = Leaders.of(noisy, k, shares.noise)
        question = self.question_about(leaders, k, shares)
        if question is None:
            return None
        return WithNoise(Settled(leaders, question, float(question.norm / shares.second)))

    def question_about(self, leaders: Leaders, k: int, shares: Shares) -> "Weighted | Walk | None":
        """What to ask; None for the degrees themselves."""
        question = self.asked(leaders)
        if not question.worth_its_norm:
            return None
        noise = float(question.norm / shares.second / question.neighbour)
        return question if self.pays_off(leaders.signal(k, noise)) else None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Settled:
    """A question whose noisy answers, of this scale, are averaged with what degrees tell.

    f and d~ are both noisy.  Where neighbours were all alike, f would be a multiple b of the
    degree: b, and how far f is from that, are fitted on R; then f is averaged with b e, each with
    the weight of its precision.  All of it is public by then.
    """

    leaders: Leaders
    question: "Weighted | Walk"
    scale: float

    @property
    def norm(self) -> int:
        return self.question.norm

    def vector(self, graph: Graph, /) -> IntArray:
        return self.question.vector(graph)

    def best(self, answers: IntArray, k: int, /) -> IntArray:
        leaders = self.leaders
        return leaders.nodes[largest(leaders.settled(answers, self.scale), k)]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Weighted:
    """The sum of public weights over the neighbours of each node of a shortlist.

    An edge uv changes f_u by w_v and f_v by w_u, if these are on R, and nothing else: S is the sum
    of the two largest weights on R, or the largest outside if that is more.
    """

    nodes: IntArray
    weights: IntArray
    worth_its_norm = True
    neighbour = Fraction(UNIT)

    @property
    def norm(self) -> int:
        outside = self.weights.copy()
        outside[self.nodes] = 0
        on_it = np.sort(self.weights[self.nodes])[-2:]
        return max(int(on_it.sum()), int(outside.max()), 1)

    def vector(self, graph: Graph, /) -> IntArray:
        return over_neighbours(graph, self.nodes, self.weights)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Walk:
    """Two steps of PageRank, on a grid of 2^-bits; answers on one of 2^-COARSE.

    Guarantee: 0 <= c2 <= c1, and `levels` are at most (c0 + c2) / 2; c0 + c1 + c2 <= 2^bits.

    With 0 <= c2 <= c1 and r <= ρ <= τ/2, S is the largest of c1 + ρ/2 + 9τ/16, 9τ/8, 2ρ + c2/2,
    τ + c0 and c1 + τ/2, before rounding.  Proof.  Let u outside R have d neighbours, j of them on
    R, and let x = j/d.  Then y_u = s/d with s <= c1 + d (τ (1-x) + ρx).  An edge from u to a node
    whose t is t moves y_u to (s + t) / (d+1), towards t, by |t - y_u| / (d+1), and t_u by
    c2 / (d (d+1)), for which the y_w of its neighbours outside R change by 1/d_w of that, each
    counted at no more than d_w nodes: by (1-x) c2 / (d+1) together.
    (1) c on R, u not: f_c gains the new y_u, and j others change with y_u.  If t = r_c <= y_u, it
    is ((1+x) s + (1-j) t + (1-x) c2) / (d+1) together.  As (1+x) (τ (1-x) + ρx) <=
    τ (1 + x/2 - x²/2) <= 9τ/8, that is for j > 0 a mean of at most 2 c1, with weight
    1 / (d+1) <= 1/2, and of 9τ/8, and for j = 0 of c1 + ρ + c2 and τ.  If t > y_u, it is at most
    t + t + c2/2.  If d = 0, it is c1 + t.
    (2) Both ends outside R: an end with d = 0 is counted nowhere.  Any other changes by at most
    (x d |t - y| + (1-x) c2) / (d+1), t being that of the other end after the step.  If t >= y, that
    is at most t or c2/2; else it is a mean of at most c1 and of x τ (1 - x/2) <= τ/2, so at most
    c1/2 + τ/4 or τ/2.  t is at most τ, and c0 + c2/2 if the other end had a neighbour before.
    (3) Both ends on R: their r, at most 2ρ <= τ together.
    Rounding: t and y are rounded down to a grid so fine that sums fit into 64 bits, hence y by less
    than 2 of its units, f_c by less than 2n of them; f is rounded down to a coarser grid.  So its
    places differ from those of a vector with the norm above by less than 1 + 2n / (one step of that
    grid), which is paid for at every place.

    Attributes:
        nodes: the shortlist.
        levels: r, one for each of them.
        c0, c1, c2: see the module.
        bits: the sum of n numbers below 2^bits is below 2^62.
        n: how many nodes there are.
    """

    nodes: IntArray
    levels: IntArray
    c0: int
    c1: int
    c2: int
    bits: int
    n: int

    @classmethod
    def of(cls, leaders: Leaders) -> "Walk":
        n = len(leaders.estimates)
        bits = 62 - n.bit_length()
        jump = 1 - FOLLOWED
        c0, c1, c2 = (
            int(part * 2**bits) for part in (FOLLOWED**2 / leaders.average, jump, FOLLOWED * jump)
        )
        levels = c0 + (c2 / leaders.estimates[leaders.nodes]).astype(np.int64)
        return cls(leaders.nodes, np.minimum(levels, (c0 + c2) // 2), c0, c1, c2, bits, n)

    @property
    def step(self) -> int:
        """The step of the coarser grid, in units of the finer one."""
        return 1 << max(self.bits - COARSE, 0)

    @property
    def exact_norm(self) -> Fraction:
        """Before rounding, in steps."""
        c0 = self.c0
        c1 = self.c1
        c2 = self.c2
        both = self.c0 + self.c2
        top = int(self.levels.max())
        largest_of = max(
            16 * c1 + 8 * top + 9 * both,
            18 * both,
            32 * top + 8 * c2,
            16 * (both + c0),
            16 * c1 + 8 * both,
        )
        return Fraction(largest_of, 16 * self.step)

    @property
    def norm(self) -> int:
        rounding = len(self.nodes) * (1 + Fraction(2 * self.n, self.step))
        return -int(-(self.exact_norm + rounding) // 1)

    @property
    def neighbour(self) -> Fraction:
        """About what one of them adds: y is 1 / average at first."""
        return self.c0 / (FOLLOWED**2 * self.step)

    @property
    def worth_its_norm(self) -> bool:
        """Whether rounding costs less than a half more: it does up to ten million nodes."""
        return self.norm < self.exact_norm * 3 / 2

    def vector(self, graph: Graph, /) -> IntArray:
        everyone = np.arange(self.n)
        d = np.maximum(graph.degrees, 1)
        once = self.c0 + self.c2 // d
        once[self.nodes] = self.levels
        twice = (self.c1 + over_neighbours(graph, everyone, once)) // d
        twice[self.nodes] = self.levels
        return over_neighbours(graph, self.nodes, twice) // self.step


def by_estimates(leaders: Leaders) -> Weighted:
    """Neighbours count by their estimated degrees, up to the breadth."""
    weights = np.minimum(leaders.estimates / leaders.breadth, 1.0)
    return Weighted(leaders.nodes, (UNIT * weights).astype(np.int64))


def by_level(leaders: Leaders) -> Weighted:
    """Neighbours count if their estimated degrees are a large part of the breadth."""
    weights = leaders.estimates / leaders.breadth >= CORE
    return Weighted(leaders.nodes, (UNIT * weights).astype(np.int64))


def over_neighbours(graph: Graph, nodes: IntArray, weights: IntArray) -> Any:
    """For each of some nodes, the sum of these weights over its neighbours."""
    from dampen.kernels.graphs import weighted_degrees

    result = np.empty(len(nodes), dtype=np.int64)
    weighted_degrees(graph.first, graph.to, nodes, weights, result)
    return result


def core_numbers(graph: Graph) -> IntArray:
    """The core number of every node."""
    from dampen.kernels.graphs import peel

    core = graph.degrees.copy()
    peel(graph.first, graph.to, core)
    return core


MOST_STEPS = 1000
CLOSE = 1e-12
"""How far a step moves all values together, as a share of their sum, where it is the last."""
KRYLOV = 20


def eigenvector(graph: Graph) -> FloatArray:
    """Of the adjacency matrix, for its largest eigenvalue, by Lanczos' method with restarts."""
    sums = _sums(graph)

    def step(x: FloatArray) -> FloatArray:
        basis = [x / np.linalg.norm(x)]
        images = list[FloatArray]()
        while len(images) < KRYLOV:
            images.append(sums(basis[-1]))
            space = np.array(basis)
            left = images[-1] - space.T @ (space @ images[-1])
            left -= space.T @ (space @ left)
            length = float(np.linalg.norm(left))
            if length <= CLOSE * (1 + float(np.linalg.norm(images[-1]))):
                break
            basis.append(left / length)
        space = np.array(basis[: len(images)])
        _, vectors = np.linalg.eigh(space @ np.array(images).T)
        best = np.abs(vectors[:, -1] @ space)
        return best / best.sum()

    return _settled(step, len(graph.nodes))


def page_rank(graph: Graph) -> FloatArray:
    """The PageRank of every node, with the usual damping; nodes without edges jump anywhere."""
    n = len(graph.nodes)
    sums = _sums(graph)
    degrees = np.maximum(graph.degrees, 1)

    def step(x: FloatArray) -> FloatArray:
        followed = float(FOLLOWED) * sums(x / degrees)
        return followed + (1 - followed.sum()) / n

    return _settled(step, n)


def _sums(graph: Graph) -> Callable[[FloatArray], FloatArray]:
    """What sums values over the neighbours of every node."""
    n = len(graph.nodes)
    at = np.repeat(np.arange(n), graph.degrees)
    to = graph.to

    def sums(x: FloatArray) -> FloatArray:
        return np.bincount(at, weights=x[to], minlength=n).astype(np.float64, copy=False)

    return sums


def _settled(step: Callable[[FloatArray], FloatArray], n: int) -> FloatArray:
    """Where steps end that begin with equal values."""
    x = np.full(n, 1 / n)
    for _ in range(MOST_STEPS):
        before = x
        x = step(x)
        if np.abs(x - before).sum() < CLOSE:
            break
    return x


@dataclass(frozen=True)
class Core:
    """The core number of a node; two rounds find it best.

    u = the core number, the largest k for which v is in a subgraph of smallest degree k.  Without
    one edge that subgraph has smallest degree k - 1, so Δ = 1; an edge more lowers none.
    One-sided; any number of core numbers may change at once, so there is no joint release.
    """

    name: ClassVar[str] = "core"
    help: ClassVar[str] = "the core number: how dense a crowd a node belongs to"
    rounds: ClassVar[CentralRounds] = CentralRounds(
        by_level, lambda s: s.breadth >= 20 or (s.breadth >= 10 and s.height >= 5)
    )
    joint = MappingProxyType[Score, float]({})
    any_degree: ClassVar[bool] = True

    def usual(self, n: int, k: int, epsilon: Fraction, /) -> Usual:
        """In two rounds."""
        del n, k, epsilon
        return Usual(self, TWO_ROUNDS)

    def values(self, graph: Graph, /) -> IntArray:
        """The core number of every node; private."""
        return core_numbers(graph)

    def selection(self, graph: Graph, max_degree: int, /) -> Selection:
        return counted(core_numbers(graph), self.joint, max_degree)


EIGENVECTOR = OnlyInRounds(
    "eigenvector",
    "neighbours that have many themselves",
    CentralRounds(by_estimates, lambda s: s.breadth >= 10 and (s.height >= 4 or s.spread >= 15)),
    eigenvector,
)
PAGERANK = OnlyInRounds(
    "pagerank",
    "PageRank, with damping 0.85",
    CentralRounds(Walk.of, lambda s: s.breadth >= 10 and (s.height >= 5 or s.spread >= 10)),
    page_rank,
)
