"""What an answer about nodes will be worth, from public facts alone.

Permute-and-flip, and one joint release, on the degree name nodes that lead by enough
(`dampen.outlook`).  Nothing is said of other rankings, nor of two rounds, whose second question
depends on the first answer: what they need depends on the graph.
"""

from fractions import Fraction

from dampen.influence.problem import InfluentialNode
from dampen.influence.ways import OneRound, Way
from dampen.mechanisms import Mechanism
from dampen.outlook import lead, told_lead

__all__ = ["accuracy"]


def accuracy(way: Way, n: int, k: int, epsilon: Fraction) -> str:
    """A sentence about k of n nodes; empty where nothing is known beforehand."""
    if isinstance(way, OneRound) and way.degrees_only:
        return _by_degree(way.mechanism, n, k, epsilon)
    return ""


def _by_degree(mechanism: Mechanism, n: int, k: int, epsilon: Fraction) -> str:
    tiny = InfluentialNode(n=2, metric="degree").selection(([0], [1]))
    needed = lead(tiny, mechanism, m=n, k=k, epsilon=epsilon)
    return told_lead(needed, "neighbours", m=n, of="nodes", k=k, epsilon=epsilon)
