"""Checks of a problem by brute force: what its selections claim, and what mechanisms lose.

- `check_public`, `check_admissible` and so on: public facts, admissibility, sensitivity, sides,
  separability.
- `privacy_loss`: the privacy loss of a mechanism, computed from its law, not sampled.
- `verify`: every check that applies to a problem, and what could not be checked.

All of them look at every database of a universe and at all pairs of neighbours; what fails comes
back as a counterexample in words.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dampen.core.mechanisms import JOINT, Mechanism, Prepared, named, prepare
from dampen.core.noise import EXPONENTIAL, GUMBEL, LAPLACE, Noise
from dampen.core.scores import Dampened, Global, Score, Shifted
from dampen.core.selection import FloatArray, Problem, Selection
from dampen.epsilon import Epsilon, decimal_text, exact
from dampen.errors import DataError, ParameterError
from dampen.testing.universe import (
    ROUNDING,
    Remembering,
    Universe,
    Verdict,
    both_ways,
    check_pairs,
    deltas,
    fails,
    holds,
    instances,
    largest,
    last_distance,
    not_checked,
    scope,
    scores,
    utilities,
)

X = TypeVar("X")


def local_sensitivity(problem: Problem[X], universe: Universe[X], t: int) -> FloatArray:
    """LS(x, t, r) within the universe, by its definition: one row per database.

    Near the rim of a universe (its largest databases) this can be below the true value, because
    neighbours outside are missing; it never is above it.

    Args:
        problem: public parameters, and the utilities and sensitivity of every database.
        universe: all small databases, and which of them are neighbours.
        t: the distance.

    Returns:
        One row per database, one column per candidate.
    """
    u = utilities(instances(problem, universe))
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


def check_public(problem: Problem[X], universe: Universe[X]) -> Verdict:
    """The bound, the horizon and what else a selection says in public are the same for all data.

    Args:
        problem: public parameters, and the utilities and sensitivity of every database.
        universe: all small databases, and which of them are neighbours.

    Returns:
        A `Verdict`: it holds, or fails with a counterexample.
    """
    claim = "public facts do not depend on the data"
    facts = [_public_facts(s) for s in instances(problem, universe)]
    for x, found in enumerate(facts):
        changed = [name for name in found if found[name] != facts[0][name]]
        if changed:
            name = changed[0]
            text = f"{name} is {facts[0][name]} and {found[name]}"
            return fails(claim, problem, universe, (0, None), text, y=x)
    return holds(claim, universe)


def check_admissible(
    problem: Problem[X], universe: Universe[X], distances: int | None = None
) -> Verdict:
    """Def. 6: (1) δ(x, 0, r) >= LS(x, 0, r) and (2) δ(x, t+1, r) >= δ(y, t, r) for neighbours.

    Also that the bound is at least Δ and that δ never exceeds it.  Looks at t = 0, 1, ... up to
    `distances`, by default the horizon (at most 12).

    >>> from dampen.questions.frequency import MostFrequent
    >>> universe = Universe.add_remove_row(["a", "b"], max_rows=3)
    >>> print(check_admissible(MostFrequent(["a", "b"]), universe))
    admissible: holds for 10 databases and 12 pairs of neighbours

    Args:
        problem: public parameters, and the utilities and sensitivity of every database.
        universe: all small databases, and which of them are neighbours.
        distances: how many distances to look at.

    Returns:
        A `Verdict`: it holds, or fails with a counterexample.
    """
    made = instances(problem, universe)
    last, remark = last_distance(made, distances)
    ls = local_sensitivity(problem, universe, 0)
    bound = made[0].bound
    tolerance = ROUNDING * bound
    delta = deltas(made, 0)
    claim = "admissible"
    worst = ls - delta
    if (ls > bound + tolerance).any():
        return fails(claim, problem, universe, largest(ls), f"LS is above the bound {bound:g}")
    if (worst > tolerance).any():
        x, r = largest(worst)
        text = f"(1) δ(x, 0) = {delta[x, r]:g} < LS(x, 0) = {ls[x, r]:g}"
        return fails(claim, problem, universe, (x, r), text)
    for t in range(last):
        following = deltas(made, t + 1)
        for one, other in both_ways(universe):
            gap = delta[other] - following[one]
            if (gap > tolerance).any():
                pair, r = largest(gap)
                x = one[pair]
                y = other[pair]
                text = f"(2) δ(x, {t + 1}) = {following[x, r]:g} < δ(y, {t}) = {delta[y, r]:g}"
                return fails(claim, problem, universe, (x, r), text, y=y)
        delta = following
    change = float(ls.max(initial=0))
    weak = _slack("no step here changes a utility by more than", change, "the bound", bound)
    return holds(claim, universe, value=change, remarks=[weak, remark])


def check_exact_sensitivity(problem: Problem[X], universe: Universe[X], distances: int) -> Verdict:
    """δ(x, t, r) = LS(x, t, r) for t < distances: not only admissible but as small as can be.

    Args:
        problem: public parameters, and the utilities and sensitivity of every database.
        universe: all small databases, and which of them are neighbours.
        distances: how many distances to look at.

    Returns:
        A `Verdict`: it holds, or fails with a counterexample.
    """
    made = instances(problem, universe)
    claim = "δ equals the element local sensitivity"
    for t in range(distances):
        ls = local_sensitivity(problem, universe, t)
        delta = deltas(made, t)
        gap = np.abs(ls - delta)
        if (gap > ROUNDING * made[0].bound).any():
            x, r = largest(gap)
            text = f"δ(x, {t}) = {delta[x, r]:g}, LS(x, {t}) = {ls[x, r]:g}"
            return fails(claim, problem, universe, (x, r), text)
    return holds(claim, universe)


def check_unit_sensitivity(
    problem: Problem[X], universe: Universe[X], score: Score | str | Mechanism
) -> Verdict:
    """Neighbours' scores differ by at most 1 + 2η (Lemma 4 for D).  `value`: the largest change.

    Args:
        problem: public parameters, and the utilities and sensitivity of every database.
        universe: all small databases, and which of them are neighbours.
        score: a score, a mechanism or its name.

    Returns:
        A `Verdict`: it holds, or fails with a counterexample.
    """
    chosen = score_of(score)
    q, eta = scores(instances(problem, universe), chosen)
    left, right = universe.neighbours.T
    change = np.abs(q[left] - q[right])
    claim = f"sensitivity 1 of {words(chosen)}"
    if (change > 1 + 2 * eta + ROUNDING).any():
        pair, r = largest(change)
        x = left[pair]
        y = right[pair]
        text = f"the score changes by {change[pair, r]:.6g}, from {q[x, r]:.6g} to {q[y, r]:.6g}"
        return fails(claim, problem, universe, (x, r), text, y=y)
    most = float(change.max(initial=0))
    weak = _slack("no score here changes by more than", most, "the allowed", 1, 2 * eta)
    return holds(claim, universe, value=most, remarks=[weak])


def check_joint_sensitivity(
    problem: Problem[X], universe: Universe[X], score: Score | str | Mechanism = "joint"
) -> Verdict:
    """The vector of scores changes by at most its bound in `joint`, + 2nη, in the 1-norm.

    Args:
        problem: public parameters, and the utilities and sensitivity of every database.
        universe: all small databases, and which of them are neighbours.
        score: whose vector is looked at: a score, a mechanism or its name.

    Returns:
        A `Verdict`: it holds, or fails with a counterexample.

    Raises:
        ParameterError: if the selection states no bound for the score.
    """
    chosen = score_of(score)
    made = instances(problem, universe)
    joint = made[0].joint.get(chosen)
    if joint is None:
        raise ParameterError(
            f"Expected a problem whose selections state joint= for {words(chosen)}; these do not."
        )
    q, eta = scores(made, chosen)
    left, right = universe.neighbours.T
    norm = np.abs(q[left] - q[right]).sum(axis=1)
    claim = f"1-norm sensitivity {joint:g} of {words(chosen)}"
    rounding = 2 * q.shape[1] * eta
    if (norm > joint + rounding + ROUNDING).any():
        pair = int(norm.argmax())
        text = f"the scores change by {norm[pair]:.6g} in the 1-norm"
        return fails(claim, problem, universe, (left[pair], None), text, y=right[pair])
    most = float(norm.max(initial=0))
    weak = _slack("no step here changes them by more than", most, "the stated", joint, rounding)
    return holds(claim, universe, value=most, remarks=[weak])


def check_one_sided(problem: Problem[X], universe: Universe[X]) -> Verdict:
    """Adding a record moves the utilities of all candidates in one direction only.

    Args:
        problem: public parameters, and the utilities and sensitivity of every database.
        universe: all small databases, and which of them are neighbours.

    Returns:
        A `Verdict`: it holds, or fails with a counterexample.
    """
    made = instances(problem, universe)
    u = utilities(made)
    left, right = universe.neighbours.T
    rise = u[right] - u[left]
    claim = "one-sided utilities"
    scale = ROUNDING * made[0].bound + 2.0**-48 * float(np.abs(u).max(initial=0))
    if (rise > scale).any() and (rise < -scale).any():
        pair, r = largest(rise if (rise > scale).sum() < (rise < -scale).sum() else -rise)
        text = f"the utility moves by {rise[pair, r]:.6g}, against the others' direction"
        return fails(claim, problem, universe, (left[pair], r), text, y=right[pair])
    moved = float(np.abs(rise).max(initial=0))
    return holds(claim, universe, value=moved, remarks=["no utility moves here"] * (moved <= scale))


def check_separable(
    problem: Problem[X], universe: Universe[X], distances: int | None = None
) -> Verdict:
    """One step changes the utility and the sensitivity of one candidate only, at every t.

    Args:
        problem: public parameters, and the utilities and sensitivity of every database.
        universe: all small databases, and which of them are neighbours.
        distances: how many distances to look at.

    Returns:
        A `Verdict`: it holds, or fails with a counterexample.
    """
    made = instances(problem, universe)
    last, remark = last_distance(made, distances)
    left, right = universe.neighbours.T
    tolerance = ROUNDING * made[0].bound
    changed = np.zeros((len(left), len(made[0])), dtype=np.bool_)
    for values in (utilities(made), *(deltas(made, t) for t in range(last + 1))):
        changed |= np.abs(values[left] - values[right]) > tolerance
    claim = "separable: one step changes one candidate"
    count = changed.sum(axis=1)
    if (count > 1).any():
        pair = int(count.argmax())
        names = [repr(problem.candidates[r]) for r in np.flatnonzero(changed[pair]).tolist()]
        text = f"utility or sensitivity of {' and '.join(names)} change at once"
        return fails(claim, problem, universe, (left[pair], None), text, y=right[pair])
    weak = ["no candidate changes here"] * int(not changed.any())
    return holds(claim, universe, value=float(count.max()), remarks=[*weak, remark])


def score_of(score: Score | str | Mechanism) -> Score:
    """The score meant: itself, or that of a mechanism."""
    return named(score).score if isinstance(score, str | Mechanism) else score


def words(score: Score) -> str:
    """A score in a sentence: its kind, and what is not as usual about it."""
    if score in (Global(), Dampened(), Shifted()):
        return f"{type(score).__name__.lower()} scores"
    return f"scores {score!r}"


def _public_facts(s: Selection) -> dict[str, Any]:
    names = (
        *("bound", "one_sided", "separable", "joint", "exact", "utility_range", "ends"),
        "rounding",
    )
    return {"horizon": s.sensitivity.horizon} | {name: getattr(s, name) for name in names}


def _slack(text: str, found: float, name: str, bound: float, rounding: float = 0.0) -> str:
    """A remark if a bound was never reached: a weak universe, or a bound larger than needed."""
    if found >= bound - rounding - ROUNDING * bound:
        return ""
    return f"{text} {found:.4g} of {name} {bound:g}"


def privacy_loss(
    problem: Problem[X],
    universe: Universe[X],
    *,
    epsilon: Epsilon,
    mechanism: str | Mechanism,
    k: int = 1,
) -> Verdict:
    """The largest log-ratio of output probabilities over all neighbours.

    `value` is the loss; the verdict holds if it is at most ε.  With k > 1, over all sequences of k
    candidates (not for a joint release, whose k is free: see `check_joint_sensitivity`).

    >>> from dampen.questions.frequency import MostFrequent
    >>> universe = Universe.add_remove_row(["a", "b"], max_rows=3)
    >>> print(privacy_loss(MostFrequent(["a", "b"]), universe, epsilon="1", mechanism="pf"))
    privacy loss 1 of epsilon 1 (pf): holds for 10 databases and 12 pairs of neighbours

    Args:
        problem: public parameters, and the utilities and sensitivity of every database.
        universe: all small databases, and which of them are neighbours.
        epsilon: the privacy parameter, exact (see `dampen.epsilon`).
        mechanism: a name of `dampen.core.mechanisms.MECHANISMS`, or a `Mechanism`.
        k: how many candidates are released.

    Returns:
        A `Verdict`: it holds, or fails with a counterexample.
    """
    chosen = named(mechanism)
    limit = exact(epsilon)
    laws = [outputs(s, limit, chosen, k) for s in instances(problem, universe)]
    loss = _losses(laws, universe)
    worst = float(loss.max(initial=0))
    claim = f"privacy loss {worst:.4g} of epsilon {decimal_text(limit)} ({chosen.name})"
    if worst > float(limit) * (1 + ROUNDING) + ROUNDING:
        pair, r = largest(loss)
        x, y = universe.neighbours[pair]
        text = f"log-ratio {worst:.6g} > {float(limit):g}"
        where = (x, r if k == 1 else None)
        return fails(claim, problem, universe, where, text, y=y, value=worst)
    return holds(claim, universe, value=worst)


def law_loss(
    law: Callable[[X], ArrayLike], universe: Universe[X], *, epsilon: Epsilon, name: str = "law"
) -> Verdict:
    """The same for a release that is no mechanism on scores but known by its law.

    Args:
        law: the probabilities of all outputs, in one order, given a database; of infinitely many,
            those of some.
        universe: the databases.
        epsilon: what the loss may be.
        name: what the verdict calls the release.

    Returns:
        A `Verdict`: it holds, or fails with a counterexample.

    Raises:
        ParameterError: if what `law` gives are no probabilities, or there are no neighbours.

    >>> universe = Universe.add_remove_row(["a", "b"], max_rows=3)
    >>> print(law_loss(lambda rows: [0.5, 0.5], universe, epsilon="1", name="a coin"))
    privacy loss 0 of epsilon 1 (a coin): holds for 10 databases and 12 pairs of neighbours
    """
    limit = exact(epsilon)
    check_pairs(universe)
    laws = [_probabilities(law(x), universe.describe(x)) for x in universe.databases]
    if len({len(p) for p in laws}) > 1:
        raise ParameterError(
            "Expected the probabilities of the same outputs for every database; some have more."
        )
    left_out = 1 - min(float(p.sum()) for p in laws)
    weak = f"outputs of probability {left_out:.3g} were left out" if left_out > ROUNDING else ""
    loss = _losses(laws, universe)
    worst = float(loss.max(initial=0))
    claim = f"privacy loss {worst:.4g} of epsilon {decimal_text(limit)} ({name})"
    if worst <= float(limit) * (1 + ROUNDING) + ROUNDING:
        return holds(claim, universe, value=worst, remarks=[weak])
    pair, output = largest(loss)
    one, other = (universe.describe(universe.databases[i]) for i in universe.neighbours[pair])
    text = f"x = {one}, y = {other}, output {output}: log-ratio {worst:.6g} > {float(limit):g}"
    return Verdict(claim, "fails", scope(universe), counterexample=text, value=worst)


def _probabilities(given: ArrayLike, x: str) -> FloatArray:
    """What a law gives for a database.

    Raises:
        ParameterError: if these are no probabilities; NaN would be taken for impossible outputs.
    """
    p = np.asarray(given, dtype=np.float64)
    if p.ndim == 1 and (p >= 0).all() and 0 < p.sum() <= 1 + ROUNDING:
        return p
    raise ParameterError(
        "Expected the probabilities of all outputs, each at least 0 and at most 1 together, for "
        f"every database; those for {x} are others."
    )


def _losses(laws: Sequence[ArrayLike], universe: Universe[X]) -> FloatArray:
    """The log-ratio of every output, one line for every pair of neighbours."""
    with np.errstate(divide="ignore"):
        log_p = np.log(np.asarray(laws, dtype=np.float64))
    left, right = universe.neighbours.T
    with np.errstate(invalid="ignore"):
        loss = np.abs(log_p[left] - log_p[right])
    loss[np.isnan(loss)] = 0.0  # an output that is impossible under both
    return loss


def outputs(s: Selection, epsilon: Fraction, mechanism: Mechanism, k: int) -> FloatArray:
    """The probabilities of all outputs: candidates, or sequences of k different candidates."""
    ready = prepare(s, mechanism)
    if k == 1:
        return ready.probabilities(epsilon=epsilon)
    if not isinstance(ready, Prepared):
        return sum(
            (weight * outputs(s, left, way, k) for way, left, weight in ready.parts(epsilon, k)),
            start=np.zeros(()),
        )
    if mechanism.noise.joint:
        raise ParameterError(
            "Expected k=1 for a joint release: its privacy for every k at once is what "
            "check_joint_sensitivity shows."
        )
    a = ready.scores.values * float(ready.noise_scale(epsilon, k))
    sequences = itertools.permutations(range(len(s)), k)
    return np.array([_sequence_probability(a, seq, mechanism.noise) for seq in sequences])


def _sequence_probability(a: FloatArray, sequence: tuple[int, ...], noise: Noise) -> float:
    """k draws without replacement."""
    left = list(range(len(a)))
    p = 1.0
    for r in sequence:
        p *= float(noise.law(a[left] - a[left].max())[left.index(r)])
        left.remove(r)
    return p


def verify(
    problem: Problem[X],
    universe: Universe[X],
    *,
    epsilon: Epsilon = "1",
    mechanisms: Iterable[str | Mechanism] = ("em", "pf", "ld", "sld", "ld-pf", "sld-pf"),
    k: int = 1,
) -> list[Verdict]:
    """All checks that apply to a problem, each with its verdict.

    Joint releases are checked for every score that has a bound.  A mechanism that cannot be checked
    on this problem is reported as not checked, whatever its name, and so is noise of your own.

    Args:
        problem: public parameters, and the utilities and sensitivity of every database.
        universe: all small databases, and which of them are neighbours.
        epsilon: the privacy parameter, exact (see `dampen.epsilon`).
        mechanisms: names or `Mechanism` objects.
        k: how many candidates are released; their losses are over all sequences of k.

    Returns:
        One `Verdict` per check.
    """
    limit = exact(epsilon)
    made_once = Remembering(problem)
    first = instances(made_once, universe)[0]
    chosen = [named(m) for m in mechanisms]
    chosen += [m for m in _joint_releases(first) if m not in chosen]
    return [
        *_claims(made_once, universe, first),
        *_scores(made_once, universe, first, chosen),
        *_loss_verdicts(made_once, universe, first, chosen, epsilon=limit, k=k),
        *_noises(universe, chosen),
    ]


def _claims(problem: Problem[X], universe: Universe[X], first: Selection) -> Iterable[Verdict]:
    """What the selection itself says."""
    yield check_public(problem, universe)
    yield check_admissible(problem, universe)
    if first.one_sided:
        yield check_one_sided(problem, universe)
    if first.separable:
        yield check_separable(problem, universe)


def _scores(
    problem: Problem[X], universe: Universe[X], first: Selection, chosen: Iterable[Mechanism]
) -> Iterable[Verdict]:
    for score in dict.fromkeys(m.score for m in chosen):
        claim = f"sensitivity 1 of {words(score)}"
        if reason := _obstacle(score, first):
            yield not_checked(claim, universe, reason)
        else:
            yield _unless_refused(
                claim, universe, partial(check_unit_sensitivity, problem, universe, score)
            )
    for score in first.joint:
        if reason := _obstacle(score, first):
            yield not_checked(f"1-norm sensitivity of {words(score)}", universe, reason)
        else:
            yield check_joint_sensitivity(problem, universe, score)


def _loss_verdicts(
    problem: Problem[X],
    universe: Universe[X],
    first: Selection,
    chosen: Iterable[Mechanism],
    *,
    epsilon: Fraction,
    k: int,
) -> Iterable[Verdict]:
    for mechanism in chosen:
        reason = _obstacle(mechanism.score, first)
        if mechanism.noise.joint and k > 1:
            reason = "every k at once is what the 1-norm sensitivity shows"
        if mechanism.noise.joint and mechanism.score not in first.joint:
            reason = f"no 1-norm bound is stated for {words(mechanism.score)}: it is refused"
        claim = f"privacy loss of at most epsilon {decimal_text(epsilon)} ({mechanism.name})"
        if reason:
            yield not_checked(claim, universe, reason)
        else:
            loss = partial(
                privacy_loss, problem, universe, epsilon=epsilon, mechanism=mechanism, k=k
            )
            yield _unless_refused(claim, universe, loss)


def _noises(universe: Universe[X], chosen: Iterable[Mechanism]) -> Iterable[Verdict]:
    """Noise of somebody's own: losses are computed from the law that it states."""
    for noise in dict.fromkeys(m.noise for m in chosen):
        if noise not in (GUMBEL, EXPONENTIAL, LAPLACE):
            yield not_checked(
                f"noise {noise.name} is drawn by the law that it states",
                universe,
                "compare draws with the law; its rho and its being joint are not checked either",
            )


def _unless_refused(claim: str, universe: Universe[X], check: Callable[[], Verdict]) -> Verdict:
    """A check; not checked where scores refuse the δ, which another verdict then says."""
    try:
        return check()
    except DataError as error:
        return not_checked(claim, universe, str(error))


def _obstacle(score: Score, first: Selection) -> str:
    """Why a score is not defined for a problem; empty if it is."""
    if score.needs_horizon and first.sensitivity.horizon is None:
        return "δ has no horizon; wrap it in dampen.sensitivity.bounded"
    return ""


def _joint_releases(first: Selection) -> list[Mechanism]:
    return [
        JOINT if score == JOINT.score else Mechanism(f"joint, {words(score)}", score, LAPLACE)
        for score in first.joint
    ]
