"""What an answer about nodes will be worth, from public facts alone.

Permute-and-flip, and one joint release, on the degree name nodes that lead by enough
(`dampen.releases.accuracy`).  Nothing is said of other rankings.

**Two rounds.**  What the second one asks depends on the first answer, so two things are said that
hold whatever it is.

(1) k nodes that lead all others by g1 degrees have the k largest noisy degrees with probability
0.9, by the theorem of `dampen.releases.accuracy` for noise of scale 2/ε1; every second question is
about those at least.

(2) Of two nodes that differ by g2 in what is asked then, in units of a neighbour, the larger one is
ranked first with probability 0.9: g2 is the lead of one node of two at the scale 3/ε2, the largest
that a whole shortlist may have.  Others are 1/ε2 for a shortlist and 2/ε where round 1 is refined.
Oriented degrees f have 1/ε2 too, but an answer s is held back by ρ (s - d~)_+: as f <= d, the order
of two nodes turns only if the noises N, N' of round 2 and M of round 1 have
N' - N + ρ (N - M)_+ > g2.  ρ M has scale 1/ε2 as well; the sum of the three has its 0.9-quantile
below 3/ε2, and g2 is above 6/ε2.  Betweenness itself has other units, so (2) is said only of an ε
at which it is not asked for; nor is it said of eigenvector centrality, cores and PageRank, where
neighbours count by weights that follow from the first answer.

Discrete noise of a scale is less than 1 away from continuous noise of that scale (the floors of two
exponential numbers, subtracted): two degrees more are enough.
"""

from fractions import Fraction
from functools import cache

from dampen.core.mechanisms import JOINT, Mechanism
from dampen.epsilon import decimal_text
from dampen.questions.nodes.centralities import CENTRAL
from dampen.questions.nodes.methods import OneRound, TwoRounds, Way
from dampen.questions.nodes.problem import InfluentialNode
from dampen.questions.nodes.two_rounds import LARGEST_NORM, LEAST_FOR_BETWEENNESS, Shares
from dampen.releases.accuracy import CONFIDENCE, lead, rounded_up, told_lead

__all__ = ["accuracy"]

DISCRETE = 2


def accuracy(way: Way, n: int, k: int, epsilon: Fraction) -> str:
    """A sentence about k of n nodes; empty where nothing is known beforehand."""
    if isinstance(way, OneRound) and way.degrees_only:
        return told_lead(
            _lead(way.mechanism, n, k, epsilon), "neighbours", m=n, of="nodes", k=k, epsilon=epsilon
        )
    if isinstance(way, TwoRounds) and way.asked.metric in ("betweenness", *CENTRAL) and k < n:
        units_known = way.asked.metric == "betweenness"
        return _of_two_rounds(n, k, epsilon, units_known=units_known)
    return ""


def _of_two_rounds(n: int, k: int, epsilon: Fraction, *, units_known: bool) -> str:
    shares = Shares.of(epsilon)
    reach, differ = _needed(n, k, shares)
    who, leads = ("one", "leads") if k == 1 else (f"{k}", "lead")
    sentence = (
        f"With {n:,} nodes and ε = {decimal_text(epsilon)}, {who} that {leads} every other by "
        f"{reach:,} neighbours are compared in the second round with probability "
        f"{CONFIDENCE:g} or more"
    )
    if not units_known or shares.second >= LEAST_FOR_BETWEENNESS:
        return sentence + "."
    return (
        f"{sentence}; there, two that differ by {differ:,} neighbours, triangles taken off, are "
        f"told apart with probability {CONFIDENCE:g} or more."
    )


def _needed(n: int, k: int, shares: Shares) -> tuple[int, int]:
    """g1 and g2, in whole neighbours."""
    first = _lead(JOINT, n, k, shares.first)
    # A degree has the norm 2.
    second = _lead(JOINT, 2, 1, shares.second * Fraction(2, LARGEST_NORM))
    assert first is not None
    assert second is not None
    return rounded_up(first + DISCRETE), rounded_up(second + DISCRETE)


def _lead(mechanism: Mechanism, n: int, k: int, epsilon: Fraction) -> float | None:
    """How many neighbours k nodes must have more than all others, by the degree alone."""
    at_one = _lead_at_one(mechanism, n, k)
    return None if at_one is None else at_one / float(epsilon)


@cache
def _lead_at_one(mechanism: Mechanism, n: int, k: int) -> float | None:
    """The lead for ε = 1: degrees are exact, so noise grows as 1/ε does."""
    tiny = InfluentialNode(n=2, metric="degree").selection(([0], [1]))
    return lead(tiny, mechanism, m=n, k=k, epsilon=Fraction(1))
