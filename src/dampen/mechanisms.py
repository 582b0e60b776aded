"""Mechanisms: a score of sensitivity 1 times a draw.  No mechanism knows any problem.

| name | score | noise | is |
|---|---|---|---|
| `em` | global | Gumbel | the exponential mechanism (Def. 14) |
| `pf` | global | exponential | permute-and-flip |
| `ld` | dampened | Gumbel | local dampening (Def. 15) |
| `sld` | shifted to +infinity | Gumbel | shifted local dampening (Def. 17) |
| `ld-pf`, `sld-pf` | dampened, shifted | exponential | permute-and-flip on dampened scores |
| `joint` | shifted to +infinity | Laplace | all scores released at once; any k for one ε |

Other directions, public shifts and caps: make a `Mechanism` of your own, for instance
`Mechanism("sld-down", Shifted(towards=-1), GUMBEL)`.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dampen.epsilon import Epsilon, exact
from dampen.errors import ParameterError, did_you_mean
from dampen.noise import EXPONENTIAL, GUMBEL, LAPLACE, Noise
from dampen.sampling import Entropy, SystemEntropy, noisy_top
from dampen.scores import Dampened, Global, Score, Scores, Shifted
from dampen.selection import FloatArray, Selection


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A score times a draw; the name is what a release reports."""

    name: str
    score: Score
    noise: Noise


EM = Mechanism("em", Global(), GUMBEL)
PF = Mechanism("pf", Global(), EXPONENTIAL)
LD = Mechanism("ld", Dampened(), GUMBEL)
SLD = Mechanism("sld", Shifted(), GUMBEL)
LD_PF = Mechanism("ld-pf", Dampened(), EXPONENTIAL)
SLD_PF = Mechanism("sld-pf", Shifted(), EXPONENTIAL)
JOINT = Mechanism("joint", Shifted(), LAPLACE)

MECHANISMS = (EM, PF, LD, SLD, LD_PF, SLD_PF, JOINT)


def named(mechanism: str | Mechanism) -> Mechanism:
    """The mechanism of that name; a mechanism object is returned as it is."""
    if isinstance(mechanism, Mechanism):
        return mechanism
    names = [m.name for m in MECHANISMS]
    if mechanism in names:
        return MECHANISMS[names.index(mechanism)]
    hint = did_you_mean(str(mechanism), names)
    raise ParameterError(
        f"Expected a mechanism, one of {', '.join(names)}, got {mechanism!r}.{hint}"
    )


def select(
    selection: Selection,
    *,
    epsilon: Epsilon,
    mechanism: str | Mechanism,
    k: int | None = None,
    entropy: Entropy | None = None,
) -> int | list[int]:
    """Draws the index of one candidate, or a list of k different ones, best first, with ε-DP.

    Guarantee: ε-differential privacy for the neighbour relation under which the selection's δ is
    admissible (`dampen.testing` checks that), whatever k is.  Gumbel noise is drawn once at ε/k,
    which equals k draws without replacement; permute-and-flip peels k times at ε/k; `joint` uses ε
    once for any k.

    >>> import dampen
    >>> s = dampen.Selection([30, 0, 0], dampen.sensitivity.constant(1))
    >>> dampen.select(s, epsilon=10, mechanism="pf")
    0
    """
    chosen, size = named(mechanism), check_k(k, len(selection))
    epsilon = exact(epsilon)
    scores = chosen.score.of(selection)
    top = draw(selection, scores, epsilon, chosen, k=size, entropy=entropy or SystemEntropy())
    return top[0] if k is None else top


def probabilities(
    selection: Selection, *, epsilon: Epsilon, mechanism: str | Mechanism
) -> FloatArray:
    """The probability of every candidate under one draw, to about 1e-12; not private.

    >>> import dampen
    >>> delta = dampen.sensitivity.table([[3] * 8, [5] * 8])
    >>> s = dampen.Selection([6.5, 6.5, 0, 0, 0, 0, 0, 0], delta, bound=7.5)
    >>> dampen.probabilities(s, epsilon=2, mechanism="ld").round(2)
    array([0.32, 0.32, 0.06, 0.06, 0.06, 0.06, 0.06, 0.06])
    """
    chosen, epsilon = named(mechanism), exact(epsilon)
    scores = chosen.score.of(selection)
    c = noise_scale(selection, scores, epsilon, chosen, 1)
    with np.errstate(over="ignore"):
        a = np.maximum(
            (scores.values - scores.values.max()) * float(min(c, Fraction(10**300))), -1e300
        )
    return chosen.noise.law(a)


def draw(
    selection: Selection,
    scores: Scores,
    epsilon: Fraction,
    mechanism: Mechanism,
    *,
    k: int,
    entropy: Entropy,
) -> list[int]:
    """k different candidates, best first, from scores that are computed already."""
    c = noise_scale(selection, scores, epsilon, mechanism, k)
    if mechanism.noise.one_draw:
        return noisy_top(scores.values, c, mechanism.noise, k, entropy)
    return _peel(scores.values, c, mechanism.noise, k, entropy)


def noise_scale(
    selection: Selection, scores: Scores, epsilon: Fraction, mechanism: Mechanism, k: int
) -> Fraction:
    """The exact factor on `scores.values` at which the noise has scale 1; pays for rounding.

    Scores within η of exact ones of sensitivity 1 have sensitivity 1 + 2η; a one-sided score then
    spans 1 + 4η; the 1-norm of n of them grows by 2nη.
    """
    if mechanism.noise.joint:
        if selection.joint is None:
            raise ParameterError(
                f"Expected a selection with joint=, its 1-norm sensitivity, for {mechanism.name!r}."
            )
        span = Fraction(selection.joint) + 2 * len(selection) * scores.eta
        return epsilon / (span * scores.unit)
    if selection.one_sided and mechanism.score.keeps_one_sided:
        span = 1 + 4 * scores.eta
    else:
        span = 2 * (1 + 2 * scores.eta)
    return epsilon / (k * span * scores.unit)


def check_k(k: int | None, candidates: int) -> int:
    """How many to draw: 1 for None; at least 1 and at most the number of candidates."""
    if k is None:
        return 1
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError(f"Expected k to be an integer >= 1, got k={k!r}.")
    if k > candidates:
        raise ParameterError(f"Expected k <= {candidates}, the number of candidates, got k={k}.")
    return int(k)


def _peel(values: FloatArray, c: Fraction, noise: Noise, k: int, entropy: Entropy) -> list[int]:
    """k draws without replacement, each with noise of its own."""
    left = np.arange(len(values))
    top: list[int] = []
    for _ in range(k):
        [best] = noisy_top(values[left], c, noise, 1, entropy)
        top.append(int(left[best]))
        left = np.delete(left, best)
    return top
