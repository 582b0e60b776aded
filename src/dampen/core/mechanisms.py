"""Mechanisms: a score of sensitivity 1 times a draw.  No mechanism knows any problem.

| name | score | noise | is |
|---|---|---|---|
| `em` | global | Gumbel | the exponential mechanism (Def. 14) |
| `pf` | global | exponential | permute-and-flip |
| `ld` | dampened | Gumbel | local dampening (Def. 13) |
| `sld` | shifted to +infinity | Gumbel | shifted local dampening (Def. 15) |
| `ld-pf`, `sld-pf` | dampened, shifted | exponential | permute-and-flip on dampened scores |
| `ld-shifted` | dampened, shifted privately | exponential | a shift first, then permute-and-flip |
| `joint` | shifted to +infinity | Laplace | all scores released at once; any k for one ε |
| `auto` | global or dampened | exponential | `pf` or `ld-shifted`, for a problem of your own |

Other directions, public shifts and caps: make a `Mechanism` of your own, for instance
`Mechanism("sld-down", Shifted(towards=-1), GUMBEL)`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import log
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np

from dampen.core.noise import EXPONENTIAL, GUMBEL, LAPLACE, Noise
from dampen.core.sampling import Contenders, Entropy, SystemEntropy, contenders, noisy_top, settle
from dampen.core.scores import DAMPENED_ETA, Dampened, Global, Score, Scores, Shifted
from dampen.core.selection import SMALL_ROUNDING, FloatArray, Selection, check_k
from dampen.epsilon import Epsilon, asked_epsilon, exact
from dampen.errors import ParameterError, did_you_mean

__all__ = [
    "AUTO",
    "EM",
    "JOINT",
    "LD",
    "LD_PF",
    "LD_SHIFTED",
    "MECHANISMS",
    "PF",
    "SLD",
    "SLD_PF",
    "Dampened",
    "Global",
    "Mechanism",
    "Prepared",
    "PreparedShift",
    "PrivateShift",
    "Shifted",
    "chosen_for",
    "named",
    "prepare",
    "probabilities",
    "select",
    "select_streamed",
    "with_scores",
]

X = TypeVar("X")
ENTRY = 1 + Fraction(1, 2**20)
"""What one step moves one of n scores by, at most, where noise is scaled to the 1-norm S: with an
error of η each, (1 + 2η) S / (S + 2nη), which is at most 1 where n >= S."""


@dataclass(frozen=True, slots=True)
class PrivateShift:
    """How the shift of a dampened score is found privately (the paper's section 4.2 asks for it).

    LD depends on where u is zero: D spreads utilities well near zero, where steps are as small as
    δ(x, 0, r), and badly far from it; where δ differs much it even reverses their order.  The best
    zero lies a little below the largest utility, which is private.  So it is drawn: with ε1 =
    share ε from a public grid of shifts s, by permute-and-flip on -|f(s) - c|, where f(s) is the
    largest D_{u-s}(x, r) over r, for k answers the k-th largest.  Then k answers are drawn from the
    dampened scores of u - s with ε2 = ε - ε1.

    **Theorem.**  The shift and the answers together are ε-DP.  Proof.  For every public s, u - s
    has the sensitivity of u, so each D_{u-s}(x, r) moves by at most 1 (Lemma 4 of the paper).  So
    does the k-th largest of them, and its distance from the public c.  The first draw is ε1-DP with
    the factor 1/2 of two-sided scores; given s, the second is ε2-DP; and losses add up.  Scores are
    within η of exact ones, so that is paid for in both.  ∎

    **The target c.**  A draw by noise of scale 1 / σ tells a candidate from n others if its score
    is ln(n) / σ above theirs.  With s between two candidates their scores differ by a + b, the
    steps that the better one is above s and the other below it.  δ does not decrease in t, so D is
    concave on each side, and for candidates of like δ the sum is largest at a = b.  Hence
    c = ln(n) / 2σ; in all, k ln(n) / ε2 for scores that need the factor 1/2.

    **The share.**  A shift that misses c by z costs, of that sum, nothing where δ is constant and
    z² / c where it grows linearly with t: the loss is of second order.  z is about 2 / ε1.  The
    separation that is needed, 2 ln(n) / ε2, plus the mean of this loss is least at a share between
    0 (constant δ) and .42 (linear δ, n = 200).  1/4 is within 1.2 of the least for n from 30 on
    where the loss is a quarter of the linear one, and within 1.4 from 200 on where it is linear.
    In the study `shift` it errs less than shares of 1/10 and 2/5 do.

    **The grid.**  Whatever its fineness, an even grid costs the logarithm of range over good width,
    so that only the range matters: state the public least and largest utility (`Selection.ends`).
    Up to 2,048 shifts, fewer for very many candidates, since each costs one pass over them.

    Attributes:
        share: of ε, for the shift.
        target: c, in units of ln(n) / 2σ.
        points: half of the number of shifts.
    """

    share: Fraction = Fraction(1, 4)
    target: Fraction = Fraction(1)
    points: int = 1024

    def grid(self, selection: Selection) -> FloatArray:
        """Public shifts: evenly between the ends, if they are stated; else up to the range on both
        sides, if it is within 256 times the bound; else up to 16 times the bound, and beyond it by
        eighths of an octave.
        """
        reach = selection.utility_range
        inner = reach if reach <= WIDE_RANGE else UNKNOWN_RANGE
        few = min(self.points, MOST_PASSES // len(selection))
        points = max(few, min(self.points, LEAST_POINTS))
        if selection.ends is not None:
            return np.linspace(*selection.ends, 2 * points + 1)
        octaves = np.arange(1, int(8 * np.log2(reach / inner)) + 1) / 8
        even = np.linspace(0, inner, points + 1)
        sizes = np.concatenate([even, inner * 2.0**octaves]) * selection.bound
        return np.unique(np.concatenate([-sizes, sizes]))


WIDE_RANGE = 256.0
UNKNOWN_RANGE = 16.0
MOST_PASSES = 2**22
LEAST_POINTS = 128
FEW_CANDIDATES = 2**9


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A score times a draw; the name is what a release reports.

    With a `shift`, the score is dampened and its shift is drawn privately first.
    """

    name: str
    score: Score
    noise: Noise
    shift: PrivateShift | None = None

    def asked_epsilon(
        self, epsilon: Epsilon | None, rho: Epsilon | None = None, k: int = 1, norm: float = 1.0
    ) -> Fraction:
        """The ε of k answers that were asked for by ε, or by ρ.

        At one ρ, Gumbel noise allows about twice the ε of other noise, and √k times as much for k
        answers.

        >>> [EM.asked_epsilon(None, "0.02"), EM.asked_epsilon(None, "0.02", 4)]
        [Fraction(2, 5), Fraction(4, 5)]
        >>> float(PF.asked_epsilon(None, "0.02"))
        0.2068...
        """
        return asked_epsilon(epsilon, rho, lambda e: self.rho(e, k, norm))

    def rho(self, epsilon: Fraction, k: int = 1, norm: float = 1.0) -> Fraction:
        """The zCDP cost of k answers that are ε-DP together.

        Args:
            epsilon: of all of them.
            k: how many.
            norm: of a joint release, what one step moves all scores by in the 1-norm.  No score
                moves by more than `ENTRY` (theorem 2 of `core.noise`).
        """
        if self.shift is None:
            entries = max(Fraction(norm) / ENTRY, Fraction(1)) if self.noise.joint else Fraction(1)
            return entries * self.noise.rho(epsilon / entries, k)
        first = self.shift.share * epsilon
        shifted = SHIFT_NOISE.rho(first) + self.noise.rho(epsilon - first, k)
        return max(PF.rho(epsilon, k), shifted) if self.name == AUTO.name else shifted


EM = Mechanism("em", Global(), GUMBEL)
PF = Mechanism("pf", Global(), EXPONENTIAL)
LD = Mechanism("ld", Dampened(), GUMBEL)
SLD = Mechanism("sld", Shifted(), GUMBEL)
LD_PF = Mechanism("ld-pf", Dampened(), EXPONENTIAL)
SLD_PF = Mechanism("sld-pf", Shifted(), EXPONENTIAL)
LD_SHIFTED = Mechanism("ld-shifted", Dampened(), EXPONENTIAL, PrivateShift())
JOINT = Mechanism("joint", Shifted(), LAPLACE)
AUTO = Mechanism("auto", Dampened(), EXPONENTIAL, PrivateShift())
"""`pf` or `ld-shifted`, by public facts: see `chosen_for`."""

MECHANISMS = (EM, PF, LD, SLD, LD_PF, SLD_PF, LD_SHIFTED, JOINT)
SHIFT_NOISE = EXPONENTIAL
"""By which a private shift is drawn."""


def named(mechanism: str | Mechanism) -> Mechanism:
    """The mechanism of that name; a mechanism object is returned as it is.

    Args:
        mechanism: a name of `dampen.core.mechanisms.MECHANISMS`, or a `Mechanism`.

    Returns:
        The mechanism.

    Raises:
        ParameterError: if there is none of that name.
    """
    if isinstance(mechanism, Mechanism):
        return mechanism
    known = {each.name: each for each in (*MECHANISMS, AUTO)}
    names = list(known)
    if mechanism in known:
        return known[mechanism]
    hint = did_you_mean(str(mechanism), names)
    raise ParameterError(
        f"Expected a mechanism, one of {', '.join(names)}, got {mechanism!r}.{hint}"
    )


@overload
def select(
    selection: Selection,
    *,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    mechanism: str | Mechanism,
    k: None = None,
    entropy: Entropy | None = None,
) -> int: ...
@overload
def select(
    selection: Selection,
    *,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    mechanism: str | Mechanism,
    k: int,
    entropy: Entropy | None = None,
) -> list[int]: ...
def select(
    selection: Selection,
    *,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    mechanism: str | Mechanism,
    k: int | None = None,
    entropy: Entropy | None = None,
) -> int | list[int]:
    """Draws the index of one candidate, or a list of k different ones, best first, with ε-DP.

    Guarantee: ε-differential privacy for the neighbour relation under which the selection's δ is
    admissible (`dampen.testing` checks that), whatever k is.  Gumbel noise is drawn once at ε/k,
    which equals k draws without replacement; permute-and-flip peels k times at ε/k; `joint` uses ε
    once for any k.  In place of ε, ρ may be given: the draw is then ρ-zCDP.

    Args:
        selection: utilities, their sensitivity and its bound.
        epsilon: the privacy parameter, exact (see `dampen.epsilon`).
        rho: in place of ε, the privacy parameter of zCDP.
        mechanism: a name of `dampen.core.mechanisms.MECHANISMS`, or a `Mechanism`.
        k: how many candidates; None for one, which then comes without a list.
        entropy: where random bits come from.  The operating system's by default.

    Returns:
        An index, or with `k` a list of them.

    Raises:
        ParameterError: if a parameter is wrong or does not suit the selection.

    >>> import dampen
    >>> s = dampen.Selection([30, 0, 0], dampen.sensitivity.constant(1))
    >>> dampen.select(s, epsilon=10, mechanism="pf")
    0
    """
    chosen = named(mechanism)
    e = chosen.asked_epsilon(epsilon, rho, check_k(k, len(selection)))
    return prepare(selection, chosen).draw(epsilon=e, k=k, entropy=entropy)


def select_streamed(
    blocks: Iterable[tuple[Selection, Callable[[int], X]]],
    *,
    epsilon: Epsilon,
    mechanism: Mechanism,
    entropy: Entropy,
) -> X:
    """Draws one candidate of a selection that comes in blocks, in the memory of one block.

    Guarantee: the law of `select` on the whole selection, exactly; for the same bits the same
    candidate.  Every block leaves its contenders alone (`dampen.core.sampling.contenders`).

    Args:
        blocks: parts of one selection, each with the name of its i-th candidate.
        epsilon: the privacy parameter.
        mechanism: one whose scores are pointwise, so that a block's do not depend on the others.
        entropy: of random bits.

    Returns:
        The name of the candidate.
    """
    assert mechanism.score.pointwise, "the scores of a block depend on other blocks"
    assert mechanism.shift is None, "a private shift looks at all blocks"
    left = list[Contenders]()
    names = dict[int, X]()
    scales = set[Fraction]()
    start = 0
    for selection, name in blocks:
        ready = with_scores(selection, mechanism)
        scale = ready.noise_scale(exact(epsilon), 1)
        found = contenders(ready.scores.values, scale, mechanism.noise, 1, entropy, start=start)
        left.append(found)
        names |= {i: name(i - start) for i in found.ids.tolist()}
        scales.add(scale)
        start += len(selection)
    [scale] = scales  # of one selection there is one
    [best] = settle(left, scale, mechanism.noise, 1, entropy)
    return names[best]


def probabilities(
    selection: Selection, *, epsilon: Epsilon, mechanism: str | Mechanism
) -> FloatArray:
    """The probability of every candidate under one draw, to about 1e-12; not private.

    Args:
        selection: utilities, their sensitivity and its bound.
        epsilon: the privacy parameter, exact (see `dampen.epsilon`).
        mechanism: a name of `dampen.core.mechanisms.MECHANISMS`, or a `Mechanism`.

    Returns:
        One probability per candidate, in their order; they add up to 1.

    Raises:
        ParameterError: if a parameter is wrong or does not suit the selection.

    >>> import dampen
    >>> delta = dampen.sensitivity.table([[3] * 8, [5] * 8])
    >>> s = dampen.Selection([6.5, 6.5, 0, 0, 0, 0, 0, 0], delta, bound=7.5)
    >>> dampen.probabilities(s, epsilon=2, mechanism="ld").round(2)
    array([0.32, 0.32, 0.06, 0.06, 0.06, 0.06, 0.06, 0.06])
    """
    return prepare(selection, mechanism).probabilities(epsilon=epsilon)


def prepare(selection: Selection, mechanism: str | Mechanism) -> "Prepared | PreparedShift":
    """Computes the scores of a selection once, for any number of draws.

    Every draw costs its own ε: this saves time, not privacy.

    Args:
        selection: utilities, their sensitivity and its bound.
        mechanism: a name of `dampen.core.mechanisms.MECHANISMS`, or a `Mechanism`.

    Returns:
        The selection with its scores, ready to draw from.

    Raises:
        ParameterError: if the mechanism does not suit the selection.

    >>> import dampen
    >>> s = dampen.Selection([30, 0, 0], dampen.sensitivity.constant(1))
    >>> ready = dampen.mechanisms.prepare(s, "pf")
    >>> [ready.draw(epsilon=10) for _ in range(3)], ready.draw(epsilon=10, k=1)
    ([0, 0, 0], [0])
    """
    chosen = named(mechanism)
    check_joint(chosen, selection.joint)
    if chosen.name == AUTO.name:
        chosen = chosen_for(selection, chosen)
    if chosen.shift is not None:
        return PreparedShift(selection, chosen, chosen.shift)
    return with_scores(selection, chosen)


def chosen_for(selection: Selection, mechanism: Mechanism = AUTO) -> Mechanism:
    """What `auto` is for a selection: permute-and-flip, or dampening with a private shift.

    A constant δ has nothing to dampen.  One-sided utilities are drawn from without the factor 1/2
    by global scores, and dampened scores are not one-sided: dampening would have to save more than
    half of every step.  Utilities that are rounded too much for a shift have none.  For these
    permute-and-flip, for all others a private shift.  `dampen-studies run shift` says how good a
    rule that is, and where it is not.

    **Theorem.**  `auto` is ε-DP if both are.  Proof.  It looks at nothing but what a selection says
    in public, which is the same for all databases of a problem (`dampen.testing.check_public`): for
    one problem it is always one of the two.  Its ρ is the larger of the two, so that what is
    charged covers either.  ∎

    Args:
        selection: of a problem.
        mechanism: `auto`, or the same with another private shift.

    Returns:
        The mechanism.
    """
    vague = selection.rounding > SMALL_ROUNDING and not selection.exact
    if selection.sensitivity.horizon == 0 or selection.one_sided or vague:
        return PF
    return replace(mechanism, name=LD_SHIFTED.name)


def with_scores(selection: Selection, mechanism: Mechanism) -> "Prepared":
    """A selection with its scores under a mechanism without a private shift.

    Args:
        selection: the candidates and their utilities.
        mechanism: the score, and the noise that is added to it.

    Returns:
        Both, ready to draw from.
    """
    return Prepared(selection, mechanism, mechanism.score.of(selection))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Prepared:
    """A selection with its scores under one mechanism: see `prepare`."""

    selection: Selection
    mechanism: Mechanism
    scores: Scores

    @overload
    def draw(self, *, epsilon: Epsilon, k: None = None, entropy: Entropy | None = None) -> int: ...
    @overload
    def draw(self, *, epsilon: Epsilon, k: int, entropy: Entropy | None = None) -> list[int]: ...
    def draw(
        self, *, epsilon: Epsilon, k: int | None = None, entropy: Entropy | None = None
    ) -> int | list[int]:
        """One candidate, or a list of k different ones, best first: as `select`."""
        count = check_k(k, len(self.selection))
        source = entropy or SystemEntropy()
        noise = self.mechanism.noise
        values = self.scores.values
        c = self.noise_scale(exact(epsilon), count)
        if noise.one_draw:
            top = noisy_top(values, c, noise, count, source)
        else:
            top = _peel(values, c, noise, count, source)
        return top[0] if k is None else top

    def probabilities(self, *, epsilon: Epsilon) -> FloatArray:
        """The probability of every candidate under one draw, to about 1e-12; not private."""
        c = float(min(self.noise_scale(exact(epsilon), 1), Fraction(10**300)))
        with np.errstate(over="ignore"):
            a = np.maximum((self.scores.values - self.scores.values.max()) * c, -1e300)
        return self.mechanism.noise.law(a)

    def noise_scale(self, epsilon: Fraction, k: int) -> Fraction:
        """The exact factor on `scores.values` at which the noise has scale 1; pays for rounding.

        What protects a draw is how far apart one neighbour step can move two scores.  Scores of
        sensitivity 1 move by at most 1 each, against each other by 2.  One-sided ones move in one
        direction, and of a separable selection only one moves: against each other by 1.  With an
        error of η each, that is 2 (1 + 2η) and 1 + 4η.  A joint release is protected by the 1-norm
        of the whole vector, to which n errors add 2nη.
        """
        score = self.mechanism.score
        eta = self.scores.eta
        if self.mechanism.noise.joint:
            span = Fraction(self.selection.joint[score]) + 2 * len(self.selection) * eta
            return epsilon / (span * self.scores.unit)
        one_sided = self.selection.one_sided and score.keeps_one_sided
        separable = self.selection.separable and score.pointwise
        span = 1 + 4 * eta if one_sided or separable else 2 * (1 + 2 * eta)
        return epsilon / (k * span * self.scores.unit)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PreparedShift:
    """A selection whose shift is drawn with every answer: see `PrivateShift`."""

    selection: Selection
    mechanism: Mechanism
    shift: PrivateShift
    _heights: dict[int, FloatArray] = field(default_factory=dict)
    _kept: dict[float, Prepared] = field(default_factory=dict)

    @overload
    def draw(self, *, epsilon: Epsilon, k: None = None, entropy: Entropy | None = None) -> int: ...
    @overload
    def draw(self, *, epsilon: Epsilon, k: int, entropy: Entropy | None = None) -> list[int]: ...
    def draw(
        self, *, epsilon: Epsilon, k: int | None = None, entropy: Entropy | None = None
    ) -> int | list[int]:
        """One candidate, or a list of k different ones, best first: as `select`."""
        source = entropy or SystemEntropy()
        e = exact(epsilon)
        values, scale = self._shift_scores(e, check_k(k, len(self.selection)))
        [place] = noisy_top(values, scale, SHIFT_NOISE, 1, source)
        ready = self.at(float(self.shift.grid(self.selection)[place]))
        return ready.draw(epsilon=self._rest(e), k=k, entropy=source)

    def probabilities(self, *, epsilon: Epsilon) -> FloatArray:
        """The probability of every candidate under one draw, to about 1e-12; not private."""
        law = np.zeros(len(self.selection))
        for mechanism, left, weight in self.parts(exact(epsilon), 1):
            law += weight * self.by(mechanism).probabilities(epsilon=left)
        return law / law.sum()

    def parts(self, epsilon: Fraction, k: int) -> "list[Part]":
        """Every shift with its probability, and the selection that follows it; not private.

        Shifts of a probability below 1e-18 are left out.
        """
        left = self._rest(epsilon)
        return [(self.at(s).mechanism, left, weight) for s, weight in self.shift_law(epsilon, k)]

    def shift_law(self, epsilon: Fraction, k: int) -> list[tuple[float, float]]:
        """The shifts with their probabilities, of a whole ε; not private."""
        values, scale = self._shift_scores(epsilon, k)
        law = SHIFT_NOISE.law((values - values.max()) * float(scale))
        grid = self.shift.grid(self.selection)
        return [(float(grid[i]), float(law[i])) for i in np.flatnonzero(law > NEGLIGIBLE)]

    def at(self, s: float) -> Prepared:
        """The same after a public shift; where candidates are few, kept for the next draw."""
        if s in self._kept:
            return self._kept[s]
        assert isinstance(self.mechanism.score, Dampened), "only dampened scores have a shift"
        score = replace(self.mechanism.score, shift=s)
        made = with_scores(self.selection, replace(self.mechanism, score=score, shift=None))
        if len(self.selection) <= FEW_CANDIDATES:
            self._kept[s] = made
        return made

    def by(self, mechanism: Mechanism) -> Prepared:
        """One of `parts`, ready to draw from."""
        assert isinstance(mechanism.score, Dampened)
        return self.at(mechanism.score.shift)

    def _rest(self, epsilon: Fraction) -> Fraction:
        return epsilon * (1 - self.shift.share)

    def _shift_scores(self, epsilon: Fraction, k: int) -> tuple[FloatArray, Fraction]:
        """-|f(s) - c| of every shift, and the factor at which noise of scale 1 pays for rounding.

        f is a multiple of 2^-21 of at most 2^28, and c is taken as one, so that floats hold the
        difference exactly.
        """
        grid = self.shift.grid(self.selection).tolist()
        if k not in self._heights:
            found = [np.partition(self.at(s).scores.values, -k)[-k] for s in grid]
            self._heights[k] = np.array(found)
        steepness = self.at(grid[0]).noise_scale(self._rest(epsilon), k)
        half = self.shift.target * Fraction(log(len(self.selection))) / (2 * steepness)
        c = np.rint(float(min(half, LARGEST_TARGET)) * 2**21) / 2**21
        scale = self.shift.share * epsilon / (2 * (1 + 2 * DAMPENED_ETA))
        return -np.abs(self._heights[k] - c), scale


Part: TypeAlias = tuple[Mechanism, Fraction, float]
"""A mechanism that is drawn by, its ε, and how probable that is."""

NEGLIGIBLE = 1e-18


LARGEST_TARGET = Fraction(2**27)


def check_joint(mechanism: Mechanism, joint: Mapping[Any, float]) -> None:
    """Raises a `ParameterError` if the noise is for all scores at once and these have no bound.

    `joint` is that of a selection, or of a problem, which knows it before any data is read.
    """
    if not mechanism.noise.joint or mechanism.score in joint:
        return
    stated = ", ".join(map(str, joint)) or "none"
    raise ParameterError(
        f"Expected a score with a 1-norm bound for {mechanism.name!r}, whose noise protects all "
        f"scores at once, got {mechanism.score}. Bounds are stated by joint=, here for: {stated}."
    )


def _peel(values: FloatArray, c: Fraction, noise: Noise, k: int, entropy: Entropy) -> list[int]:
    """k draws without replacement, each with noise of its own."""
    left = np.arange(len(values))
    top: list[int] = []
    for _ in range(k):
        [best] = noisy_top(values[left], c, noise, 1, entropy)
        top.append(int(left[best]))
        left = np.delete(left, best)
    return top
