"""The proof kit: check a problem by brute force over every database of a small universe.

Nothing here is sampled.  Admissibility, unit sensitivity and the privacy loss are computed for all
pairs of neighbours, and what fails comes back as a counterexample in words.  A problem that passes
on universes that reach its corner cases (empty, full, ties, the ends of the domain) is one to
trust; the same checks reject the algorithms of the paper that are not private.

>>> import dampen
>>> from dampen.frequency.problem import MostFrequent
>>> universe = Universe.add_remove_row(["a", "b"], max_rows=3)
>>> print(check_admissible(MostFrequent(["a", "b"]), universe))
admissible: holds for 10 databases and 12 pairs of neighbours
>>> print(privacy_loss(MostFrequent(["a", "b"]), universe, epsilon="1", mechanism="pf"))
privacy loss 1 of epsilon 1 (pf): holds for 10 databases and 12 pairs of neighbours
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from dampen.epsilon import Epsilon, decimal_text, exact
from dampen.errors import DampenError, ParameterError
from dampen.mechanisms import Mechanism, named, noise_scale, probabilities
from dampen.noise import Noise
from dampen.scores import Score
from dampen.selection import FloatArray, IntArray, Problem, Selection
from dampen.testing.universes import Universe

X = TypeVar("X")

ROUNDING = 1e-9
"""What a comparison of floats forgives, relative to the bound of the problem."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found; true if it holds, else with a counterexample in words."""

    claim: str
    holds: bool
    scope: str
    counterexample: str = ""
    value: float = 0.0

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return f"{self.claim}: " + (
            f"holds for {self.scope}" if self.holds else f"FAILS: {self.counterexample}"
        )


def local_sensitivity(problem: Problem[X], universe: Universe[X], t: int) -> FloatArray:
    """LS(x, t, r) within the universe, by its definition: one row per database.

    Near the rim of a universe (its largest databases) this can be below the true value, because
    neighbours outside are missing; it never is above it.
    """
    u = _utilities(_instances(problem, universe))
    left, right = universe.neighbours.T
    step = np.abs(u[left] - u[right])
    ls = np.zeros_like(u)
    for side in (left, right):
        np.maximum.at(ls, side, step)
    for _ in range(t):
        wider = ls.copy()
        np.maximum.at(wider, left, ls[right])
        np.maximum.at(wider, right, ls[left])
        ls = wider
    return ls


def check_admissible(
    problem: Problem[X], universe: Universe[X], distances: int | None = None
) -> Verdict:
    """Def. 7: (1) δ(x, 0, r) >= LS(x, 0, r) and (2) δ(x, t+1, r) >= δ(y, t, r) for neighbours.

    Also that the bound is at least Δ and that δ never exceeds it.  Looks at t = 0, 1, ... up to
    `distances`, by default the horizon (at most 12).
    """
    instances = _instances(problem, universe)
    horizon = instances[0].sensitivity.horizon
    last = distances if distances is not None else min(12, 3 if horizon is None else horizon)
    ls, bound = local_sensitivity(problem, universe, 0), instances[0].bound
    tolerance = ROUNDING * bound
    delta = _deltas(instances, 0)
    claim, worst = "admissible", ls - delta
    if (ls > bound + tolerance).any():
        return _fails(claim, problem, universe, _argmax(ls), f"LS is above the bound {bound:g}")
    if (worst > tolerance).any():
        x, r = _argmax(worst)
        text = f"(1) δ(x, 0) = {delta[x, r]:g} < LS(x, 0) = {ls[x, r]:g}"
        return _fails(claim, problem, universe, (x, r), text)
    for t in range(last):
        following = _deltas(instances, t + 1)
        for one, other in _both_ways(universe):
            gap = delta[other] - following[one]
            if (gap > tolerance).any():
                pair, r = _argmax(gap)
                x, y = one[pair], other[pair]
                text = f"(2) δ(x, {t + 1}) = {following[x, r]:g} < δ(y, {t}) = {delta[y, r]:g}"
                return _fails(claim, problem, universe, (x, r), text, y=y)
        delta = following
    return Verdict(claim, True, _scope(universe))


def check_exact_sensitivity(problem: Problem[X], universe: Universe[X], distances: int) -> Verdict:
    """δ(x, t, r) = LS(x, t, r) for t < distances: not only admissible but as small as can be."""
    instances = _instances(problem, universe)
    claim = "δ equals the element local sensitivity"
    for t in range(distances):
        ls, delta = local_sensitivity(problem, universe, t), _deltas(instances, t)
        gap = np.abs(ls - delta)
        if (gap > ROUNDING * instances[0].bound).any():
            x, r = _argmax(gap)
            text = f"δ(x, {t}) = {delta[x, r]:g}, LS(x, {t}) = {ls[x, r]:g}"
            return _fails(claim, problem, universe, (x, r), text)
    return Verdict(claim, True, _scope(universe))


def check_unit_sensitivity(
    problem: Problem[X], universe: Universe[X], score: Score | str | Mechanism
) -> Verdict:
    """Neighbours' scores differ by at most 1 + 2η (Lemma 3 for D).  `value`: the largest change."""
    chosen = named(score).score if isinstance(score, str | Mechanism) else score
    q, allowed = _scores(_instances(problem, universe), chosen)
    left, right = universe.neighbours.T
    change = np.abs(q[left] - q[right])
    claim = f"sensitivity 1 of {type(chosen).__name__.lower()} scores"
    if (change > 1 + 2 * allowed + ROUNDING).any():
        pair, r = _argmax(change)
        x, y = left[pair], right[pair]
        text = f"the score changes by {change[pair, r]:.6g}, from {q[x, r]:.6g} to {q[y, r]:.6g}"
        return _fails(claim, problem, universe, (x, r), text, y=y)
    return Verdict(claim, True, _scope(universe), value=float(change.max(initial=0)))


def check_joint_sensitivity(
    problem: Problem[X], universe: Universe[X], mechanism: str | Mechanism = "joint"
) -> Verdict:
    """The vector of scores changes by at most `joint` + 2nη in the 1-norm."""
    instances = _instances(problem, universe)
    q, eta = _scores(instances, named(mechanism).score)
    joint = instances[0].joint
    if joint is None:
        raise ParameterError("Expected a problem whose selections state joint=; this one does not.")
    left, right = universe.neighbours.T
    norm = np.abs(q[left] - q[right]).sum(axis=1)
    claim = f"1-norm sensitivity {joint:g}"
    if (norm > joint + 2 * q.shape[1] * eta + ROUNDING).any():
        pair = int(norm.argmax())
        text = f"the scores change by {norm[pair]:.6g} in the 1-norm"
        return _fails(claim, problem, universe, (left[pair], None), text, y=right[pair])
    return Verdict(claim, True, _scope(universe), value=float(norm.max(initial=0)))


def check_one_sided(problem: Problem[X], universe: Universe[X]) -> Verdict:
    """Adding a record moves the utilities of all candidates in one direction only."""
    u = _utilities(_instances(problem, universe))
    left, right = universe.neighbours.T
    rise = u[right] - u[left]
    claim, scale = "one-sided utilities", ROUNDING * max(1.0, float(np.abs(u).max(initial=0)))
    if (rise > scale).any() and (rise < -scale).any():
        pair, r = _argmax(rise if (rise > scale).sum() < (rise < -scale).sum() else -rise)
        text = f"the utility moves by {rise[pair, r]:.6g}, against the others' direction"
        return _fails(claim, problem, universe, (left[pair], r), text, y=right[pair])
    return Verdict(claim, True, _scope(universe))


def privacy_loss(
    problem: Problem[X],
    universe: Universe[X],
    *,
    epsilon: Epsilon,
    mechanism: str | Mechanism,
    k: int = 1,
) -> Verdict:
    """The largest log-ratio of output probabilities over all neighbours, computed, not sampled.

    `value` is the loss; the verdict holds if it is at most ε.  With k > 1, over all sequences of k
    candidates (peeling mechanisms only).
    """
    chosen, limit = named(mechanism), exact(epsilon)
    with np.errstate(divide="ignore"):
        log_p = np.log([_outputs(s, limit, chosen, k) for s in _instances(problem, universe)])
    left, right = universe.neighbours.T
    with np.errstate(invalid="ignore"):
        loss = np.abs(log_p[left] - log_p[right])
    loss[np.isnan(loss)] = 0.0  # an output that is impossible under both
    worst = float(loss.max(initial=0))
    claim = f"privacy loss {worst:.4g} of epsilon {decimal_text(limit)} ({chosen.name})"
    if worst > float(limit) * (1 + ROUNDING) + ROUNDING:
        pair, r = _argmax(loss)
        text = f"log-ratio {worst:.6g} > {float(limit):g}"
        where = (left[pair], r if k == 1 else None)
        return _fails(claim, problem, universe, where, text, y=right[pair], value=worst)
    return Verdict(claim, True, _scope(universe), value=worst)


def verify(
    problem: Problem[X],
    universe: Universe[X],
    *,
    epsilon: Epsilon = "1",
    mechanisms: Iterable[str | Mechanism] = ("em", "pf", "ld", "sld", "ld-pf", "sld-pf"),
) -> list[Verdict]:
    """All checks that apply to a problem, each with its verdict."""
    first = _instances(problem, universe)[0]
    chosen = [named(m) for m in mechanisms]
    if first.sensitivity.horizon is None:
        chosen = [m for m in chosen if not m.name.startswith("sld")]
    verdicts = [check_admissible(problem, universe)]
    scores = {m.score: None for m in chosen}
    verdicts += [check_unit_sensitivity(problem, universe, score) for score in scores]
    if first.one_sided:
        verdicts.append(check_one_sided(problem, universe))
    if first.joint is not None:
        verdicts.append(check_joint_sensitivity(problem, universe))
        chosen.append(named("joint"))
    return verdicts + [
        privacy_loss(problem, universe, epsilon=epsilon, mechanism=m) for m in chosen
    ]


def _instances(problem: Problem[X], universe: Universe[X]) -> list[Selection]:
    if not universe.databases:
        raise ParameterError("Expected a universe with at least one database, got none.")
    instances = []
    for x in universe.databases:
        try:
            instances.append(problem.selection(x))
        except DampenError as error:
            # The universe is synthetic, so its databases may be quoted.
            raise ParameterError(
                f"Expected a problem that accepts every database of the universe; "
                f"{universe.describe(x)} gave: {error}"
            ) from error
    return instances


def _utilities(instances: list[Selection]) -> FloatArray:
    return np.array([s.utility for s in instances])


def _deltas(instances: list[Selection], t: int) -> FloatArray:
    return np.array([s.sensitivity.at(t) for s in instances])


def _scores(instances: list[Selection], score: Score) -> tuple[FloatArray, float]:
    scores = [score.of(s) for s in instances]
    return np.array([s.values / float(s.unit) for s in scores]), float(scores[0].eta)


def _outputs(s: Selection, epsilon: Any, mechanism: Mechanism, k: int) -> FloatArray:
    """The probabilities of all outputs: candidates, or sequences of k different candidates."""
    if k == 1:
        return probabilities(s, epsilon=epsilon, mechanism=mechanism)
    if mechanism.noise.joint:
        raise ParameterError(
            "Expected k=1 for a joint release: its privacy for every k at once is what "
            "check_joint_sensitivity shows."
        )
    scores = mechanism.score.of(s)
    a = scores.values * float(noise_scale(s, scores, epsilon, mechanism, k))
    sequences = itertools.permutations(range(len(s)), k)
    return np.array([_sequence_probability(a, seq, mechanism.noise) for seq in sequences])


def _sequence_probability(a: FloatArray, sequence: tuple[int, ...], noise: Noise) -> float:
    left, p = list(range(len(a))), 1.0
    for r in sequence:
        rest = a[left] - a[left].max()
        p *= float(noise.law(rest)[left.index(r)])
        left.remove(r)
    return p


def _fails(
    claim: str,
    problem: Problem[X],
    universe: Universe[X],
    where: tuple[int, int | None],
    text: str,
    *,
    y: int | None = None,
    value: float = 0.0,
) -> Verdict:
    x, r = where
    databases = f"x = {universe.describe(universe.databases[x])}"
    if y is not None:
        databases += f", y = {universe.describe(universe.databases[y])}"
    candidate = "" if r is None else f", candidate {problem.candidates[r]!r}"
    return Verdict(claim, False, _scope(universe), f"{text}, for {databases}{candidate}", value)


def _scope(universe: Universe[X]) -> str:
    return f"{len(universe.databases)} databases and {len(universe.neighbours)} pairs of neighbours"


def _both_ways(universe: Universe[X]) -> list[tuple[IntArray, IntArray]]:
    """Every pair in both directions, and every database with itself (d(x, y) <= 1)."""
    left, right = universe.neighbours.T
    itself = np.arange(len(universe.databases))
    return [(left, right), (right, left), (itself, itself)]


def _argmax(values: FloatArray) -> tuple[int, int]:
    row, column = np.unravel_index(int(np.argmax(values)), values.shape)
    return int(row), int(column)
