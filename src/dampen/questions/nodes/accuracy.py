"""What an answer about nodes will be worth, from public facts alone.

A mechanism on the degree, or on brokerage, names nodes that lead by enough
(`dampen.releases.accuracy`).  Nothing is said of other rankings in one round.

**Two rounds.**  What the second one asks depends on the first answer, so only that is said which
holds whatever it is: k nodes that lead all others by g degrees have the k largest noisy degrees
with probability 0.9, by the theorem of `dampen.releases.accuracy` for noise of scale 2/ε1; every
second question is about those at least.  Discrete noise of a scale is less than 1 away from
continuous noise of that scale (the floors of two exponential numbers, subtracted): two degrees more
are enough.  So is 2B + 1, if all noises are at most B with probability 0.9: that is less where ε is
large.

**The largest lead.**  Let k of n nodes have degrees of d <= D or more, of which at most k - 1 are
among each other.  Then at least k (d - k + 1) edges go to the n - k others, of which one has at
least the average.  So the lead is at most d - ⌈k (d - k + 1) / (n - k)⌉, which does not fall with d
if 2k <= n and does not rise if 2k >= n, from d = k - 1 on: the largest is at one of the ends.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dampen.core.mechanisms import JOINT, Mechanism
from dampen.questions.nodes.degree import Degree
from dampen.questions.nodes.graphs import made_up_graph
from dampen.questions.nodes.two_rounds import Shares
from dampen.releases.accuracy import UNKNOWN, Accuracy, by_neighbours, lead, likely_noise

__all__ = ["largest_lead", "of_one_round", "of_two_rounds"]

DISCRETE = 2


def of_one_round(
    metric: Any, mechanism: Mechanism, *, n: int, k: int, max_degree: int, epsilon: Fraction
) -> Accuracy:
    """The accuracy of k of n nodes by a mechanism on a metric, where neighbours are its unit."""
    if getattr(metric, "unit", None) != "neighbours" or k >= n:
        return UNKNOWN
    tiny = metric.selection(made_up_graph(), max_degree)
    by_degree = isinstance(metric, Degree)

    def needed(count: int, at: Fraction) -> float | None:
        return lead(tiny, mechanism, m=n, k=count, epsilon=at)

    def most(count: int) -> int:
        return largest_lead(n, count, max_degree) if by_degree else max_degree

    of = "" if by_degree else metric.name
    return _by_leads(needed, most, k, epsilon, of=of)


def of_two_rounds(*, n: int, k: int, max_degree: int, epsilon: Fraction) -> Accuracy:
    """The accuracy of k of n nodes in two rounds."""
    if k >= n:
        return UNKNOWN
    degrees = Degree().selection(made_up_graph(), max_degree)

    def needed(count: int, at: Fraction) -> float:
        first = Shares.of(at).first
        continuous = lead(degrees, JOINT, m=n, k=count, epsilon=first)
        assert continuous is not None
        return min(continuous + DISCRETE, 2 * likely_noise(first / 2, n) + 1)

    def most(count: int) -> int:
        return largest_lead(n, count, max_degree)

    return _by_leads(needed, most, k, epsilon, decides=False)


def _by_leads(
    needed: Callable[[int, Fraction], float | None],
    most: Callable[[int], int],
    k: int,
    epsilon: Fraction,
    *,
    decides: bool = True,
    of: str = "",
) -> Accuracy:
    """From the leads that some nodes need at an ε, and the largest that they can have."""

    def suffices(count: int, at: Fraction) -> bool:
        lead_at = needed(count, at)
        return lead_at is None or lead_at <= most(count)

    return by_neighbours(
        needed(k, epsilon),
        k=k,
        epsilon=epsilon,
        most=most(k),
        enough=float(epsilon) if most(k) < 1 else _enough(lambda at: suffices(k, at), epsilon),
        one_is_enough=suffices(1, epsilon),
        decides=decides,
        of=of,
    )


def _enough(suffices: Callable[[Fraction], bool], epsilon: Fraction) -> float:
    """The smallest ε that suffices, from above, to about one part in a thousand."""
    if suffices(epsilon):
        return float(epsilon)
    low = epsilon
    high = 2 * epsilon
    while not suffices(high):
        low, high = high, 2 * high
    for _ in range(10):
        middle = (low + high) / 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return float(high)


def largest_lead(n: int, k: int, max_degree: int) -> int:
    """How many neighbours k < n nodes can have more than each of the others.

    >>> largest_lead(40, 1, 39), largest_lead(40, 5, 39), largest_lead(40, 30, 39)
    (38, 34, 29)
    """

    def with_degree(d: int) -> int:
        outside = k * max(d - k + 1, 0)
        return d - -(-outside // (n - k))

    return max(with_degree(max_degree), with_degree(min(max_degree, k - 1)))
