"""What an answer about groups will be worth, from public facts alone.

**Reach.**  The answer is the best group after every group was judged as if z0 + Z_g of its rows had
been added or removed in its favour (below zero: against it).  All |Z_g| are at most B with
probability (1 - 2 a^(B+1) / (1+a))^m, a = exp(-ε), for m groups: whatever the data is, the answer
is then the best group of data that differ from it by at most B + |z0| rows of each group.

**Sums.**  The lead that a group needs is that of `dampen.releases.accuracy`, times the sensitivity
of a sum.
"""

from fractions import Fraction

from dampen.core import sensitivity
from dampen.core.mechanisms import named
from dampen.core.scores import Global, Shifted
from dampen.core.selection import Neighbours, Selection
from dampen.epsilon import decimal_text
from dampen.questions.groups.draws import sum_mechanism
from dampen.questions.groups.problem import BestGroup
from dampen.releases.accuracy import CONFIDENCE, lead, likely_noise, told_lead

__all__ = ["accuracy"]

UNIT_SUMS = Selection(
    [0, 0], sensitivity.constant(1), separable=True, joint={Global(): 1.0, Shifted(): 1.0},
    exact=True,
)  # fmt: skip
"""Sums in units of what one row can change."""


def accuracy(problem: BestGroup, k: int, epsilon: Fraction, *, ordered: bool) -> str:
    """A sentence about k of the groups; empty where all of them are released as a set."""
    m = len(problem.candidates)
    if k == m and not ordered:
        return ""
    if problem.by_sum:  # the order of sums comes at no cost
        return _by_lead(problem, m, k, epsilon)
    return _by_noise(problem, m, k, epsilon, ordered=ordered)


def _by_noise(problem: BestGroup, m: int, k: int, epsilon: Fraction, *, ordered: bool) -> str:
    draws, share = (k, epsilon / k) if ordered else (1, epsilon)
    rows = likely_noise(share, m * draws) - problem.offset(share)
    which = "the best group" if k == 1 else f"the best {k} groups"
    replaced = problem.neighbours == Neighbours.REPLACE_ONE
    return (
        f"With {m:,} groups and ε = {decimal_text(epsilon)}, the answer is, with probability "
        f"{CONFIDENCE:g} or more, {which} after at most {rows:,} rows of each were "
        f"{'replaced' if replaced else 'added or removed'}."
    )


def _by_lead(problem: BestGroup, m: int, k: int, epsilon: Fraction) -> str:
    needed = lead(UNIT_SUMS, named(sum_mechanism(k)), m=m, k=k, epsilon=epsilon)
    assert needed is not None
    low = problem.grid.lower
    high = problem.grid.lower + problem.grid.top * problem.grid.step
    replaced = problem.neighbours == Neighbours.REPLACE_ONE
    change = high - low if replaced else max(abs(low), abs(high))
    whose = "whose sum" if k == 1 else "whose sums"
    sums = needed * float(change)
    return told_lead(sums, "", m=m, of="groups", k=k, epsilon=epsilon, whose=whose)
