"""Influential nodes in two rounds: above what the degree alone can tell.

- `two_rounds`: the k most influential nodes, by the rounds below.
- `Oriented`, `Shortlist`, `TriangleList`: what round 2 may ask, once round 1 has told about how
  large degrees are.
- `oriented_degrees`, `counts_around`: what it counts, from rows that hold every edge once.
- `nested_laplace`: noise that can be taken back in part: a noisy number first, and a less noisy one
  if need be.

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
of scale 2 / (ε1 + ε2), which is then given out itself (`nested_laplace`).  That is what one round
with all the ε would have said: nothing is lost by having asked twice.

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

**What was chosen, and how.**  The share ε1 = 3/10 ε, α and all margins were tuned on DBLP, Enron,
GitHub, ca-HepTh, ego-Facebook, wiki-Vote and on small and synthetic graphs.  The others of
docs/lab-nodes.md had been seen with earlier versions, those that the study `sweep` holds out with
none.  What decides are ε, n, k and d~; see `question_after`.

**Counting.**  All results of `oriented_degrees` and `counts_around` are integers, which depend
neither on the order of edges nor on the number of threads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, isqrt, log
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dampen.core.sampling import (
    LARGEST_SCALE,
    Entropy,
    discrete_laplace,
    geometric,
    random_order,
)
from dampen.core.selection import FloatArray, IntArray
from dampen.errors import ParameterError
from dampen.questions.nodes.graphs import Graph, Rows, Run

STRIDE = 32
"""One in at most so many values shows which can be among the largest."""


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

    Nothing is drawn but by `dampen.core.sampling.geometric`.

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
    """What round 2 asks: public, made from the answer of round 1.

    By the theorem of the module one edge changes each of these vectors by at most its norm,
    whatever the answer of round 1 was.
    """

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
PLENTY = 4
LARGEST_NORM = 3
"""Of a question, in units of a neighbour, where ε2 is below `PLENTY`."""
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

    def after(self, noisy: IntArray, k: int, shares: Shares, /) -> Second | None:
        """What to ask once the noisy degrees are known; None for the degrees themselves."""
        ...


def two_rounds(
    graph: Graph,
    rounds: Rounds,
    *,
    k: int,
    epsilon: Fraction,
    entropy: Entropy,
) -> list[int]:
    """The k most influential nodes, best first: ε-DP under adding or removing one edge."""
    shares = Shares.of(epsilon)
    fine, coarse = nested_laplace(2 / epsilon, FIRST_SHARE, len(graph.nodes), entropy)
    second = rounds.after(graph.degrees + coarse, k, shares)
    if second is None:
        return refined(graph.degrees + fine(), k, entropy)
    return second.draw(graph, k=k, epsilon=shares.second, entropy=entropy)


def refined(noisy: IntArray | FloatArray, k: int, entropy: Entropy) -> list[int]:
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
    """Neighbours less triangles."""

    def after(self, noisy: IntArray, k: int, shares: Shares, /) -> Second | None:
        question = question_after(noisy, k, shares)
        return None if question is None else WithNoise(question)


@dataclass(frozen=True, slots=True)
class TriangleRounds:
    """Triangles of a shortlist."""

    def after(self, noisy: IntArray, k: int, shares: Shares, /) -> Second | None:
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
    apart = spread(leaders, k)
    shortlist = _shortlist(leaders, noisy, apart, k, shares)
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


def spread(leaders: FloatArray, k: int) -> float:
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
    if shares.second < PLENTY:
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
