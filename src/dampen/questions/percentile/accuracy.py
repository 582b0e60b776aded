"""What an answer about a percentile will be worth, from public facts alone.

**Values.**  Let r be the lead that one of as many candidates as the grid has points needs
(`dampen.releases.accuracy`).  Points whose rank error is by more than r above the best point's are
drawn with a probability of at most 0.1, for the best one beats all of them with a probability of
0.9.

**Several values together.**  The bound of `Taut.farthest`, for all of them at once.

**What is possible.**  Of n values no point is more than max(k, n + 1 - k) ranks from the rank k.

**Records in two stages.**  Whatever the interval is, the utility of a record is 0 or 1, so that no
record is more likely than one that is alone inside: the probability of `least_probability` at a
lead of ε3 among n records.  Of k records: with no record inside, each is named with probability
k/n, and to move one inside changes that by e^ε3 at most, and 1 - k/n too.  So no record is named
with a probability above min(e^ε3 k/n, 1 - e^-ε3 (1 - k/n)), whatever else is inside: others only
lower it.

**Records in one draw.**  If all scores lie within s of each other, no record is more likely than
one that is s above all others, in any of k draws at ε/k each.  s is 1 for u / Λ and for D = u / δ,
both in [-1, 0].  For D of u - Λ it is 7/3: -D is at least 1, since δ <= Λ; and at most 10/3, since
δ(0) >= |u|, and the remaining Λ is covered by δ(1) >= Λ/3 and δ(t) >= Λ/2 for t >= 2
(`dampen.paper.percentile_selection`).  SLD has no such bound.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import exp

from dampen.core.mechanisms import PF, Mechanism
from dampen.core.scores import Dampened, Global
from dampen.paper.percentile_selection import Percent, as_fraction, rank
from dampen.questions.percentile.record_two_stages import Shares
from dampen.releases.accuracy import (
    UNKNOWN,
    Accuracy,
    by_distance,
    by_likeliest,
    least_probability,
)

__all__ = [
    "likeliest_in_one_draw",
    "likeliest_in_two_stages",
    "most_ranks",
    "record_accuracy",
    "value_accuracy",
]


def value_accuracy(
    ranks: float | None, subject: str, *, epsilon: Fraction, most: float | None
) -> Accuracy:
    """Of one value or several that are at most so many ranks off; None where that is not known."""
    if ranks is None:
        return UNKNOWN
    return by_distance(
        ranks,
        "ranks",
        subject=subject,
        target="the percentile" if subject.startswith("the value") else "its percentile",
        than="the best point of the grid",
        epsilon=epsilon,
        most=most,
    )


def most_ranks(points: Sequence[Percent], n: int, *, public: bool) -> float:
    """The farthest that any value can be from its percentile, of at most n values.

    Args:
        points: the percentiles.
        n: the number of values, or a bound on it.
        public: whether it is the number that neighbours share.
    """
    if public:
        ranks = [rank(p, max(n, 1)) for p in points]
        return float(max(max(k, n + 1 - k) for k in ranks))
    shares = [as_fraction(p) / 100 for p in points]
    return float(n * max(max(q, 1 - q) for q in shares))


def likeliest_in_two_stages(n: int, epsilon: Fraction, k: int = 1) -> float:
    """The largest probability with which any record can be named, whatever the data is."""
    share = min(k / n, 1.0)
    e = float(Shares.of(epsilon).label)
    if k > 1:
        return min(exp(min(e, 300.0)) * share, 1 - exp(-e) * (1 - share))
    found = least_probability(PF, m=n, k=1, g=e)
    assert found is not None
    return found


def likeliest_in_one_draw(
    mechanism: Mechanism, n: int, epsilon: Fraction, *, k: int = 1, width: float
) -> float | None:
    """The same where k records are drawn one after the other; None if no bound is known.

    Args:
        mechanism: how they are drawn.
        n: how many records there are.
        epsilon: of all draws together.
        k: how many are named.
        width: Λ.
    """
    span = _span(mechanism, width)
    if span is None:
        return None
    total = 0.0
    for named in range(min(k, n)):
        one = least_probability(mechanism, m=n - named, k=1, g=span * float(epsilon) / (2 * k))
        if one is None:
            return None
        total += one
    return min(total, 1.0)


def record_accuracy(likeliest: float | None, n: int, k: int, epsilon: Fraction) -> Accuracy:
    """Of k of n records, none of which is named with a larger probability than `likeliest`."""
    if likeliest is None:
        return UNKNOWN
    return by_likeliest(
        likeliest,
        who=("record", "records"),
        n=n,
        k=k,
        epsilon=epsilon,
        instead="Ask for the value with dampen.percentile, or use a larger ε.",
    )


def _span(mechanism: Mechanism, width: float) -> float | None:
    """s."""
    match mechanism.score:
        case Global():
            return 1.0
        case Dampened(shift=shift) if shift == 0:
            return 1.0
        case Dampened(shift=shift) if shift == width:
            return 7 / 3
    return None
