"""Influential nodes in two rounds: above what the degree alone can tell.

The degree is known with noise of scale 2/ε, because one edge counts at two ends, and it does not
know whether the neighbours of a node know each other.  Both can be helped if the degrees are asked
first, with a part of ε: what follows may depend on the answer in any way, since it is public then.

**Round 1.**  d~ = d + discrete Laplace noise of scale 2/ε1 on every node.  One edge changes two
degrees by 1 each and P(z) falls by exp(-ε1/2) with every step of z: ε1-DP, exactly.

**Round 2** asks for one vector f, whose form and whose public parameters follow from d~, and adds
discrete Laplace noise of scale 1/ε2 to it (on a grid of 1/`UNIT`, on which f lies):

- *oriented degrees*, where d~ does not yet tell who the k best may be: f_i is the number of
  neighbours of i that are below it in the order of d~ (at equal d~, of names);
- *a shortlist* R of the m largest d~, where they do: for c in R,
  f_c = |N(c) outside R| + |N(c) in R| / 2 - κ_c T_c, where T_c counts the edges yz among the
  neighbours of c outside R such that y and z are on each other's *list*: the first q neighbours
  outside R, in the public order of names;
- *halved degrees*, f_i = d_i / 2, where k is so large a part of n that neither helps.

Public slopes κ_c >= 0 and a length q with sum of κ_c <= 1 and κ_c q <= 2 for every c.

**Theorem.**  One edge changes f by at most 1 in the 1-norm, whatever d~ is.  Hence round 2 is
ε2-DP, and both rounds together are (ε1 + ε2)-DP (adaptive composition).

Proof.  An oriented edge counts at one end, by 1; a halved one at two, by 1/2.  For a shortlist, an
edge that is added is of one of three kinds.
(1) Both ends in R: f changes by 1/2 at each; lists and triangles have no node in R but c itself.
(2) c in R, y not: only f_c changes.  Lists are unchanged.  T_c rises by the number of neighbours of
c that are on y's list and have y on theirs, some x with 0 <= x <= q, so that f_c changes by
1 - κ_c x, between -1 and 1.
(3) y and z outside R: only T changes.  z may join y's list and push its last node y' from it, and y
may join z's list and push z' from it; no other list changes.  So T_c gains at most the edge yz and
loses at most yy' and zz'.  If it loses both, then z is on y's list and y on z's, and y, z are
neighbours of c: it gains yz.  So T_c changes by at most 1, and f by at most the sum of κ_c.
Without lists (2) fails: 12 on random graphs.  Tests repeat all of it on all small graphs.

What it ranks by: EBC is d(d-1)/2 less the triangles T less a share of the pairs of neighbours that
have other neighbours between them.  Near c0, the k-th largest d~, a triangle therefore weighs as
much as 1 / c0 of a neighbour, and in real graphs more, for the pairs: κ_c = α / max(c0, d~_c) with
α = 5/2 at most.  Edges among the shortlist count half: their ends have many common neighbours.

**Betweenness itself.**  With ε so large that noise on EBC is small against the distance between
ranks, as d~ foretells it, round 2 asks for EBC (see `dampen.influence.capped`), and so ends at the
true k best.

**What was chosen, and how.**  The share ε1 = 3/10 ε, the margins and α were fixed on DBLP, Enron,
GitHub, ca-HepTh, ego-Facebook, wiki-Vote and on small and synthetic graphs, before the others of
docs/influence.md were looked at.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, isqrt, log
from typing import Any, Protocol

import numpy as np

from dampen.influence.capped import CappedBetweenness, largest
from dampen.influence.graphs import Graph, for_all, prepare
from dampen.sampling import LARGEST_SCALE, Entropy, discrete_laplace
from dampen.selection import IntArray

UNIT = 1 << 16
"""The grid of round 2: its vectors are integers, in units of 1/UNIT."""
FIRST_SHARE = Fraction(3, 10)
SURE = 3
"""In noise scales: beyond this a noisy degree hides one node in forty."""
STEEPEST = Fraction(5, 2)
LONGEST = 600
"""Of shortlists.  Longer ones cost time, and their slopes are too small to matter."""
LEAST_FOR_BETWEENNESS = 4
"""The ε2 below which betweenness itself is not asked for: `for_the_best` allows at most ε2 / 2."""
FEW = 20
"""k is a small part of n if n is FEW times larger."""


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
    def rho(self) -> Fraction:
        """The cost in zCDP: that of two pure releases."""
        return (self.first**2 + self.second**2) / 2


def worth_it(n: int, k: int, epsilon: Fraction) -> bool:
    """Whether two rounds find more than one, as far as public facts can tell.

    Where k is a small part of n, always.  Otherwise, and for one or two nodes, where
    permute-and-flip on the degree is hard to beat, from the ε on at which the k-th largest degree,
    if it is what it usually is, would stand out in round 1.
    """
    shares = Shares.of(epsilon)
    if max(2 / shares.first, UNIT / shares.second) > LARGEST_SCALE:
        return False
    usual = isqrt(n) if k <= 2 else n / 6 if n < FEW * k else n
    return usual >= shares.noise * _standing_out(n, k) or (k > 2 and n >= FEW * k)


def two_rounds(
    graph: Graph, *, k: int, epsilon: Fraction, entropy: Entropy, max_degree: int | None = None
) -> list[int]:
    """The k most influential nodes, best first: ε-DP under adding or removing one edge.

    `max_degree` is a public bound on all degrees, if there is one.
    """
    shares, n = Shares.of(epsilon), len(graph.nodes)
    noisy = graph.degrees + discrete_laplace(2 / shares.first, n, entropy)
    itself = CappedBetweenness.for_the_best(noisy, k, shares.noise, shares.second, max_degree)
    if itself is not None:
        return itself.draw(graph, k=k, epsilon=shares.second, entropy=entropy)
    question = question_after(noisy, k, shares)
    answers = question.vector(graph)
    answers += discrete_laplace(UNIT / shares.second, len(answers), entropy)
    return question.best(answers, k).tolist()


def prepare_two_rounds(epsilon: Fraction) -> None:
    """Compiles or loads the kernels, before anything is paid."""
    _prepare_counts()
    if Shares.of(epsilon).second >= LEAST_FOR_BETWEENNESS:
        prepare("betweenness")


@cache
def _prepare_counts() -> None:
    graph = prepare("degree")
    Oriented(graph.degrees, Shares.of(Fraction(1))).vector(graph)
    Shortlist(np.array([2]), np.array([1]), 2).vector(graph)


class Question(Protocol):
    """What round 2 asks: public, made from the answer of round 1."""

    def vector(self, graph: Graph, /) -> IntArray:
        """Private integers, which one edge changes by at most UNIT in the 1-norm."""
        ...

    def best(self, answers: IntArray, k: int, /) -> IntArray:
        """The k best nodes by the vector plus noise, best first."""
        ...


def question_after(noisy: IntArray, k: int, shares: Shares) -> Question:
    """The question that suits the noisy degrees."""
    shortlist = Shortlist.of(noisy, k, shares.noise)
    if shortlist is not None:
        return shortlist
    if len(noisy) < FEW * k:
        return Halved(noisy, shares)
    return Oriented(noisy, shares)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Oriented:
    """How many neighbours of a node are below it."""

    noisy: IntArray
    shares: Shares

    def vector(self, graph: Graph, /) -> IntArray:
        from dampen._kernels.compile import interruptible
        from dampen._kernels.shortlist import oriented_degrees

        result = np.empty(len(graph.nodes), dtype=np.int64)
        interruptible(oriented_degrees)(graph.first, graph.to, self.noisy, result)
        return UNIT * result

    def best(self, answers: IntArray, k: int, /) -> IntArray:
        """An answer above the noisy degree is held back, by the ratio of the two scales."""
        s, held = answers / UNIT, float(self.shares.first / (2 * self.shares.second))
        return largest(s - held * np.maximum(s - self.noisy, 0), k)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Halved:
    """The degrees once more."""

    noisy: IntArray
    shares: Shares

    def vector(self, graph: Graph, /) -> IntArray:
        return graph.degrees * (UNIT // 2)

    def best(self, answers: IntArray, k: int, /) -> IntArray:
        """By the mean of both rounds, each with the weight of its variance."""
        first, second = float(self.shares.first) ** 2, float(self.shares.second) ** 2
        return largest(second * (answers * (2 / UNIT)) + first * self.noisy, k)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Shortlist:
    """The nodes that may be among the k best, with their slopes in units of 1/UNIT.

    Guarantee: sum of slopes <= UNIT and slope * length <= 2 UNIT for every slope.
    """

    nodes: IntArray
    slopes: IntArray
    length: int

    @classmethod
    def of(cls, noisy: IntArray, k: int, noise: float) -> "Shortlist | None":
        """None where the noisy degrees do not tell who may be among the k best."""
        n = len(noisy)
        level = int(np.partition(noisy, n - k)[n - k])
        if level < noise * _standing_out(n, k):
            return None
        near = int(np.count_nonzero(noisy >= level - SURE * noise))
        size = max(near, least_size(k))
        if size > min(n, 2 * level, LONGEST):
            return None
        nodes = largest(noisy, size)
        return cls(nodes, *slopes(np.maximum(noisy[nodes], level)))

    def vector(self, graph: Graph, /) -> IntArray:
        outside, triangles = self.counts(graph)
        inside = graph.degrees[self.nodes] - outside
        return UNIT * outside + (UNIT // 2) * inside - self.slopes * triangles

    def counts(self, graph: Graph) -> tuple[IntArray, IntArray]:
        """Neighbours outside the shortlist, and the edges among them that count."""
        from dampen._kernels.shortlist import Listed, Workspace, fill_lists, outside_and_triangles

        n = len(graph.nodes)
        on_it, stop = np.zeros(n, dtype=np.bool_), np.zeros(1, dtype=np.bool_)
        on_it[self.nodes] = True
        listed = Listed(graph.first, graph.to, self.nodes, on_it, np.empty(n, dtype=np.int32))
        fill_lists(listed, self.length)
        result = np.zeros((len(self.nodes), 2), dtype=np.int64)

        def worker() -> Any:
            work = Workspace(np.zeros(n, dtype=np.bool_), stop)
            return lambda begin, end: outside_and_triangles(begin, end, listed, work, result)

        for_all(worker, graph.degrees[self.nodes], stop, "Triangles")
        return result[:, 0], result[:, 1]

    def best(self, answers: IntArray, k: int, /) -> IntArray:
        return self.nodes[largest(answers, k)]


def slopes(levels: IntArray) -> tuple[IntArray, int]:
    """Slopes STEEPEST / level, all made smaller if their sum is above 1; and the length of lists.

    Integers only: the guarantee of `Shortlist` is not left to floats.
    """
    steep = STEEPEST.numerator * UNIT // (STEEPEST.denominator * levels)
    total = int(steep.sum())
    if total > UNIT:
        steep = steep * UNIT // total
    return steep, 2 * UNIT // max(int(steep.max()), 1)


def least_size(k: int) -> int:
    """A shortlist holds some nodes more than are asked for: degrees do not tell all."""
    return ceil(1.5 * k + 5)


def _standing_out(n: int, k: int) -> float:
    """How many noise scales the k-th of n must be above the many: fewer than e^-SURE k pass it."""
    return log(max(n / (2 * k), 1)) + SURE
