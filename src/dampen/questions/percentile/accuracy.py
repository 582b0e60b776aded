"""What an answer about a percentile will be worth, from public facts alone.

**Values.**  Let r be the lead that one of as many candidates as the grid has points needs
(`dampen.releases.accuracy`).  Points whose rank error is by more than r above the best point's are
drawn with a probability of at most 0.1, for the best one beats all of them with a probability of
0.9.

**Several values together.**  The bound of `Taut.farthest`, for all of them at once.

**Labels in two stages.**  Whatever the interval is, the utility of a label is 0 or 1, so that no
label is more likely than one that is alone inside: the probability of `least_probability` at a lead
of ε3 among n labels.  Of k labels: with no label inside, each is named with probability k/n, and to
move one inside changes that by e^ε3 at most, and 1 - k/n too.  So no label is named with a
probability above min(e^ε3 k/n, 1 - e^-ε3 (1 - k/n)), whatever else is inside: others only lower it.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import exp

from dampen.core.mechanisms import PF, Mechanism
from dampen.core.selection import Selection
from dampen.epsilon import decimal_text
from dampen.questions.percentile.joint_tight import Way
from dampen.questions.percentile.record_two_stages import Shares
from dampen.releases.accuracy import CONFIDENCE, lead, least_probability, rounded_up

__all__ = [
    "joint_accuracy",
    "label_accuracy",
    "most_likely_label",
    "nearly_chance",
    "value_accuracy",
]

CHANCE = 0.1
"""Labels that nobody can have with this much more than chance are nearly chance."""


def value_accuracy(
    kinds: Sequence[tuple[Selection, int]],
    mechanism: Mechanism,
    *,
    points: int,
    epsilon: Fraction,
) -> str:
    """A sentence about one value or several, each at its share of ε.

    Args:
        kinds: of every value, any selection of its kind, and what one rank counts in its utility.
        mechanism: how it is drawn.
        points: of the grid.
        epsilon: of all values together.
    """
    share = epsilon / len(kinds)
    ranks = 0.0
    for tiny, unit in kinds:
        needed = lead(tiny, mechanism, m=points, k=1, epsilon=share)
        if needed is None:
            return ""
        ranks = max(ranks, needed / unit)
    subject = "the value" if len(kinds) == 1 else "each value"
    return (
        f"With {points:,} points and ε = {decimal_text(epsilon)}, {subject} is, with probability "
        f"{CONFIDENCE:g} or more, at most {rounded_up(ranks):,} ranks farther from the percentile "
        "than the best point."
    )


def joint_accuracy(drawn: Way, *, points: int, epsilon: Fraction) -> str:
    """A sentence about several values that are drawn together; empty where no bound is known."""
    ranks = drawn.farthest(epsilon)
    if ranks is None:
        return ""
    return (
        f"With {points:,} points, {len(drawn.shares)} percentiles and ε = {decimal_text(epsilon)}, "
        f"all values are, with probability {CONFIDENCE:g} or more, at most {rounded_up(ranks):,} "
        "ranks farther from their percentiles than the best points, whatever the data is."
    )


def most_likely_label(n: int, epsilon: Fraction, k: int = 1) -> float:
    """The largest probability with which any label can be named, whatever the data is."""
    share = k / n
    e = float(Shares.of(epsilon).label)
    if k > 1:
        return min(exp(min(e, 300.0)) * share, 1 - exp(-e) * (1 - share))
    found = least_probability(PF, m=n, k=1, g=e)
    assert found is not None
    return found


def nearly_chance(n: int, epsilon: Fraction, k: int = 1) -> bool:
    """Whether every label is named about as often as by chance, k times in n."""
    return most_likely_label(n, epsilon, k) < k / n + CHANCE * (1 - k / n)


def label_accuracy(n: int, epsilon: Fraction, k: int = 1) -> str:
    """A sentence about one label, or k of them, in two stages."""
    named = "named" if k == 1 else f"among the {k:,}"
    return (
        f"Among {n:,} labels and at ε = {decimal_text(epsilon)}, no label is {named} with a "
        f"probability above {most_likely_label(n, epsilon, k):.2g}, whatever the data is."
    )
