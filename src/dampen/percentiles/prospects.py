"""What an answer about a percentile will be worth, from public facts alone.

**Values.**  Let r be the lead that one of as many candidates as the grid has points needs
(`dampen.outlook`).  Points whose rank error is by more than r above the best point's are drawn with
a probability of at most 0.1, for the best one beats all of them with a probability of 0.9.

**Several values together.**  The bound of `Taut.farthest`, for all of them at once.

**Labels in two stages.**  Whatever the interval is, the utility of a label is 0 or 1, so that no
label is more likely than one that is alone inside: the probability of `least_probability` at a lead
of ε3 among n labels.
"""

from collections.abc import Sequence
from fractions import Fraction

from dampen.epsilon import decimal_text
from dampen.mechanisms import PF, Mechanism
from dampen.outlook import CONFIDENCE, lead, least_probability, rounded_up
from dampen.percentiles.joint import Joint
from dampen.percentiles.many import Halving
from dampen.percentiles.taut import Taut
from dampen.percentiles.two_stages import Shares
from dampen.selection import Selection

__all__ = ["joint_accuracy", "label_accuracy", "most_likely_label", "value_accuracy"]


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
    share, ranks = epsilon / len(kinds), 0.0
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


def joint_accuracy(drawn: Taut | Joint | Halving, *, points: int, epsilon: Fraction) -> str:
    """A sentence about several values that are drawn together; empty where no bound is known."""
    ranks = drawn.farthest(epsilon) if isinstance(drawn, Taut) else None
    if ranks is None:
        return ""
    return (
        f"With {points:,} points, {len(drawn.shares)} percentiles and ε = {decimal_text(epsilon)}, "
        f"all values are, with probability {CONFIDENCE:g} or more, at most {rounded_up(ranks):,} "
        "ranks farther from their percentiles than the best points, whatever the data is."
    )


def most_likely_label(n: int, epsilon: Fraction) -> float:
    """The largest probability that any label can have, whatever the data is."""
    found = least_probability(PF, m=n, k=1, g=float(Shares.of(epsilon).label))
    assert found is not None
    return found


def label_accuracy(n: int, epsilon: Fraction) -> str:
    """A sentence about a label in two stages."""
    return (
        f"Among {n:,} labels and at ε = {decimal_text(epsilon)}, no label is named with a "
        f"probability above {most_likely_label(n, epsilon):.2g}, whatever the data is."
    )
