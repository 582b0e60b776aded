"""How far is a mechanism's answer from the best one?  (Section 4.4 of the paper.)

The error of an answer r is u* - u(x, r), with u* the largest utility.  Everything here looks at the
data and is *not* private: for study on public or synthetic data.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dampen.core.mechanisms import (
    Mechanism,
    Prepared,
    PreparedShift,
    named,
    prepare,
)
from dampen.core.scores import Shifted
from dampen.core.selection import FloatArray, Selection
from dampen.epsilon import Epsilon, decimal_text, exact, short_text
from dampen.errors import ParameterError
from dampen.printing import html_table

__all__ = [
    "Comparison",
    "Comparisons",
    "ErrorDistribution",
    "compare",
    "dominates",
    "epsilon_for_error",
    "error_distribution",
    "expected_error",
    "tail_probability",
]


class ErrorDistribution(NamedTuple):
    """The possible errors, ascending, and the probability of each."""

    error: FloatArray
    probability: FloatArray


def error_distribution(
    selection: Selection,
    *,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    mechanism: str | Mechanism,
) -> ErrorDistribution:
    """The distribution of the error of one draw, at an ε or at a ρ.

    Args:
        selection: utilities, their sensitivity and its bound.
        epsilon: the privacy parameter, exact (see `dampen.epsilon`).
        rho: in place of ε, the privacy parameter of zCDP.
        mechanism: a name of `dampen.core.mechanisms.MECHANISMS`, or a `Mechanism`.

    Returns:
        Errors in ascending order and the probability of each.
    """
    chosen = named(mechanism)
    return _errors(prepare(selection, chosen), chosen.asked_epsilon(epsilon, rho))


def expected_error(
    selection: Selection,
    *,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    mechanism: str | Mechanism,
) -> float:
    """The expected error of one draw, at an ε or at a ρ.

    Args:
        selection: utilities, their sensitivity and its bound.
        epsilon: the privacy parameter, exact (see `dampen.epsilon`).
        rho: in place of ε, the privacy parameter of zCDP.
        mechanism: a name of `dampen.core.mechanisms.MECHANISMS`, or a `Mechanism`.

    Returns:
        The mean of u* - u over the law of the answer.

    >>> import dampen
    >>> s = dampen.Selection([1, 0], dampen.sensitivity.constant(1))
    >>> round(dampen.accuracy.expected_error(s, epsilon=2, mechanism="em"), 4)
    0.2689
    """
    return _mean(error_distribution(selection, epsilon=epsilon, rho=rho, mechanism=mechanism))


def tail_probability(
    selection: Selection,
    *,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    mechanism: str | Mechanism,
    theta: float,
) -> float:
    """P[error >= theta] of one draw, at an ε or at a ρ.

    Args:
        selection: utilities, their sensitivity and its bound.
        epsilon: the privacy parameter, exact (see `dampen.epsilon`).
        rho: in place of ε, the privacy parameter of zCDP.
        mechanism: a name of `dampen.core.mechanisms.MECHANISMS`, or a `Mechanism`.
        theta: the error that is asked about.

    Returns:
        A probability.
    """
    error, p = error_distribution(selection, epsilon=epsilon, rho=rho, mechanism=mechanism)
    return float(p[error >= theta].sum())


def epsilon_for_error(
    selection: Selection,
    *,
    mechanism: str | Mechanism,
    error: float,
    lowest: Epsilon = "1e-4",
    highest: Epsilon = "1e4",
) -> Fraction:
    """The smallest ε, to 0.1 %, at which the expected error is at most `error`.

    The expected error of every mechanism here is non-increasing in ε where its score keeps the
    order of the utilities; where it does not, this is one crossing point.

    Args:
        selection: utilities, their sensitivity and its bound.
        mechanism: a name of `dampen.core.mechanisms.MECHANISMS`, or a `Mechanism`.
        error: the expected error to be reached.
        lowest: where the search begins.
        highest: where it ends.

    Returns:
        That ε, at least `lowest`.

    Raises:
        ParameterError: if even `highest` does not reach it.
    """
    low = exact(lowest)
    high = exact(highest)
    if error < 0:
        raise ParameterError(f"Expected error >= 0, got error={error:g}.")
    ready = prepare(selection, mechanism)
    if _mean(_errors(ready, high)) > error:
        raise ParameterError(
            f"Expected an error that {ready.mechanism.name!r} reaches at some epsilon up to "
            f"{decimal_text(high)}; it does not."
        )
    if _mean(_errors(ready, low)) <= error:
        return low
    while high / low > Fraction(1001, 1000):
        middle = Fraction(repr(float(f"{float(low * high) ** 0.5:.6g}")))
        if _mean(_errors(ready, middle)) <= error:
            high = middle
        else:
            low = middle
    return high


@dataclass(frozen=True, slots=True)
class Comparison:
    """One line of `compare`: a mechanism at one ε, and what a draw costs in zCDP."""

    mechanism: str
    epsilon: Fraction
    rho: Fraction
    expected_error: float
    best_probability: float


class Comparisons(list[Comparison]):
    """The lines of `compare`; a table in a notebook."""

    def _repr_html_(self) -> str:
        columns = ["mechanism", "ε", "ρ", "expected error", "probability of the best"]
        return html_table(columns, map(_cells, self))


def compare(
    selection: Selection,
    *,
    epsilons: Iterable[Epsilon] = (),
    rhos: Iterable[Epsilon] = (),
    mechanisms: Iterable[str | Mechanism] = ("em", "pf", "ld", "sld", "ld-pf", "sld-pf"),
) -> Comparisons:
    """Mechanisms side by side: expected error, and the probability of a best candidate.

    At one ε permute-and-flip is never worse than the exponential mechanism; at one ρ, from a budget
    with a δ, Gumbel noise has twice the ε of other noise:

    Args:
        selection: utilities, their sensitivity and its bound.
        epsilons: the ε to compare at.
        rhos: the ρ to compare at; each mechanism then has its own ε.
        mechanisms: names or `Mechanism` objects.

    Returns:
        One line per price and mechanism; a table in a notebook.

    Raises:
        ParameterError: if neither epsilons nor rhos are given.

    >>> import dampen
    >>> s = dampen.Selection([3, 0, 0], dampen.sensitivity.constant(1))
    >>> for line in dampen.accuracy.compare(s, rhos=["0.5"], mechanisms=["em", "pf"]):
    ...     print(line.mechanism, round(float(line.epsilon), 3), round(line.expected_error, 2))
    em 2.0 0.27
    pf 1.198 0.47
    """
    prices = [(epsilon, None) for epsilon in epsilons] + [(None, rho) for rho in rhos]
    if not prices:
        raise ParameterError("Expected epsilons= or rhos=, at least one of them.")
    prepared = [(named(m), prepare(selection, m)) for m in mechanisms]
    lines = Comparisons()
    for epsilon, rho in prices:
        for mechanism, ready in prepared:
            e = mechanism.asked_epsilon(epsilon, rho)
            found = _errors(ready, e)
            cost = mechanism.rho(e)
            best = float(found.probability[0])
            lines.append(Comparison(mechanism.name, e, cost, _mean(found), best))
    return lines


def dominates(first: Selection, second: Selection, *, towards: int = 1) -> bool:
    """Whether SLD with the first δ is never worse than with the second, by Lemma 6, corrected.

    Order the candidates by utility, best first, and let α = (sum of the second δ) - (sum of the
    first) over all t.  Towards -infinity the first dominates if α does not increase along that
    order, which is the paper's condition; towards +infinity if it does not *decrease*: the printed
    order is reversed there.  Neither needs α >= 0, since a constant changes no probability.  Then
    the ratio of the two distributions is monotone in the utility, so that P[error >= θ] is at most
    as large for every θ and every ε.

    Args:
        first: a selection.
        second: a selection with the utilities and the bound of the first.
        towards: +1 or -1: the direction of the shift.

    Returns:
        True if that follows from the lemma; False says nothing.

    Raises:
        ParameterError: if utilities or bounds differ.

    >>> from dampen import Selection, sensitivity
    >>> def instance(*delta):
    ...     return Selection([1, 0], sensitivity.table([delta] * 5), bound=10)
    >>> dominates(instance(2, 2), instance(8, 2)), dominates(instance(8, 2), instance(2, 2))
    (False, True)
    """
    if not np.array_equal(first.utility, second.utility) or first.bound != second.bound:
        raise ParameterError("Expected two selections with the same utilities and bound.")
    score = Shifted(towards)
    gain = score.of(first).values - score.of(second).values
    order = np.lexsort((gain, first.utility))
    steps = np.diff(gain[order])
    ties = np.diff(first.utility[order]) == 0
    tolerance = 2 * float(score.of(first).eta + score.of(second).eta)
    return bool(((steps >= -tolerance) | ties).all())


def _cells(line: Comparison) -> list[str]:
    return [
        line.mechanism,
        short_text(line.epsilon, up=True),
        short_text(line.rho, up=True),
        f"{line.expected_error:.3g}",
        f"{line.best_probability:.3f}",
    ]


def _errors(ready: Prepared | PreparedShift, epsilon: Fraction) -> ErrorDistribution:
    p = ready.probabilities(epsilon=epsilon)
    u = ready.selection.utility
    error, where = np.unique(u.max() - u, return_inverse=True)
    return ErrorDistribution(error, np.bincount(where, weights=p).astype(np.float64))


def _mean(found: ErrorDistribution) -> float:
    return float(found.error @ found.probability)
