"""`tune`: the best of several private analyses, at a proved total cost.

Trying m settings and keeping the best costs m ε, even if only the best is shown.  Trying a *random*
number of them costs a small multiple of ε, whatever m is (Liu and Talwar 2019; Papernot and Steinke
2022).  Each of K runs takes one of the m settings, uniformly, and gives a result with a score, both
together ε-DP; the result of the largest score is released, and K is not.

K has the truncated negative binomial distribution of shape η, -1 < η <= 1, and q in (0, 1):

    P(K = k)  proportional to  q^k · (1+η)/2 · (2+η)/3 ··· (k-1+η)/k,    k = 1, 2, ...

which is geometric for η = 1 and logarithmic for η = 0.  Its generating function f(x) = E[x^K] has
the derivative f'(x) = c (1 - q x)^-(1+η).

**Theorem.** The release is (2 + η) ε-DP.  Proof: one run gives y with probability Q(y).  Order the
y by their scores, and let C be the y that tie with a given y.  The best of k runs lies in C with
probability Q(<=C)^k - Q(<C)^k and, the first of equals being taken, is y with a share Q(y) / Q(C)
of it.  Summed over k, with x(u) = Q(<C) + u Q(C),

    P(y) = Q(y)/Q(C) · (f(Q(<=C)) - f(Q(<C))) = Q(y) · (integral of f'(x(u)) over 0 < u < 1).

On a neighbouring database Q'(y) <= e^ε Q(y).  And 1 - x'(u) = Q'(>C) + (1-u) Q'(C) is at most e^ε
times 1 - x(u), so 1 - q x' = (1-q) + q (1 - x') <= e^ε (1 - q x), for every u.  Exchanged, this
bounds f'(x'(u)) by e^((1+η) ε) f'(x(u)).  Together e^((2+η) ε).  The settings are drawn without
regard to the data, so the mixture Q is ε-DP as its parts are.

**In zCDP** the release costs what any ε-DP one does, ε tanh(ε/2) of the total: four times the ρ of
one run where ε is small and η = 0, however many runs are to be expected.  Runs that are ρ-zCDP and
not pure have a bound too (Papernot and Steinke 2022, Theorem 2, for λ > 1 and all λ' >= 1):

    D_λ <= λρ + (1+η)(λ' - 1) ρ + (1+η) ln(1/(1-q)) / λ' + ln E[K] / (λ-1).

As a cost in zCDP it is of no use: D_λ / λ must be bounded for λ near 1 too, where only
D_λ <= D_λ'' for a larger λ'' helps, or the cost of all K runs.  For 10 expected runs of ρ = .01 the
least ρ of the whole is 31 times that of one run; for 1,000 runs of .1 it is 36 times (a test
computes both).  So runs have to be pure: a run at ε = √(2ρ) makes it 4 times.

With η = 0 the total is 2 ε, with η = 1 it is 3 ε and one run alone is less likely; below 0, which
the proof allows, most tunings would be one run.  K must stay secret: given K, nothing better than
K ε holds.  Time tells it, so do not let others measure how long a tuning took.
"""

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dampen.core.sampling import Entropy, discrete_laplace, random_order
from dampen.core.selection import Neighbours
from dampen.data.memory import MemoryTable
from dampen.data.units import Shares, UnitTable, quantum_of
from dampen.epsilon import Epsilon, decimal_text
from dampen.errors import BudgetError, DataError, ParameterError
from dampen.releases.accuracy import UNKNOWN
from dampen.releases.answer import pay
from dampen.releases.cost import Budget, Cost, Price, composed_cost
from dampen.releases.release import Release
from dampen.schema.schema import protected

__all__ = ["Share", "Tuned", "noisy_hits", "number_of_runs", "tune"]

C = TypeVar("C")
T = TypeVar("T")

MOST_RUNS = 1000
BLOCK = 64


class Share:
    """What one run of `tune` may spend: a budget of exactly that size, for that run alone.

    Guarantee: the charges that it grants are pure and add up to at most `epsilon`, all under one
    relation and for one unit, and it grants none after the run has ended.  Nothing is charged
    elsewhere: `tune` has paid.

    Attributes:
        epsilon: the size, exact; pass it, or a part of it, as `epsilon=`.
        neighbours: the relation that it speaks of.
        unit: the column that names the person, where ε protects persons.
    """

    def __init__(self, epsilon: Fraction, neighbours: Neighbours, unit: str = "") -> None:
        self.epsilon = epsilon
        self.neighbours = neighbours
        self.unit = unit
        self._spent = Fraction(0)
        self._ended = False
        self._mutex = threading.Lock()

    def __repr__(self) -> str:
        of = f", unit={self.unit!r}" if self.unit else ""
        size = decimal_text(self.epsilon)
        return f"Share(epsilon={size!r}, neighbours={self.neighbours.value!r}{of})"

    def __copy__(self) -> Self:
        """Itself: a copy would be a second share."""
        return self

    def __deepcopy__(self, _: object) -> Self:
        """Itself: scikit-learn copies the parameters of estimators."""
        return self

    def charge(self, cost: Cost, /) -> None:
        """Takes a cost from the share.

        Raises:
            BudgetError: if the run has ended, the relation or the unit is another one, ε is not all
                that it loses, or too little is left.
        """
        with self._mutex:
            why = self._objection(cost)
            if why:
                raise BudgetError(f"{why} Nothing was charged.")
            self._spent += cost.epsilon

    def end(self) -> None:
        """Grants nothing from now on."""
        with self._mutex:
            self._ended = True

    def _objection(self, cost: Cost) -> str:
        if self._ended:
            return "This share was for one run of tune, and that run has ended."
        uncovered = self._of_another_relation(cost) or self._not_covered(cost)
        if uncovered or self._spent + cost.epsilon <= self.epsilon:
            return uncovered
        return (
            "A run of tune asked for more than its share of epsilon "
            f"{decimal_text(self.epsilon)}. Give each step of the run a part of "
            "share.epsilon, such as share.epsilon / 2."
        )

    def _of_another_relation(self, cost: Cost) -> str:
        if cost.neighbours != self.neighbours:
            return (
                f"This share is for {self.neighbours} neighbours, and a step of the run is for "
                f"{cost.neighbours}. Pass neighbours={cost.neighbours.value!r} to tune."
            )
        if cost.unit and self.unit and cost.unit != self.unit:
            return (
                f"This share protects {protected(self.neighbours, self.unit)}, and a step of the "
                f"run protects {cost.protects}. Pass unit={cost.unit!r} to tune."
            )
        return ""

    def _not_covered(self, cost: Cost) -> str:
        """Refuses what a pure ε says nothing about: the release of `tune` tells of nothing else."""
        if not cost.pure:
            return "A run of tune pays for releases with an epsilon; this one has a rho alone."
        if cost.delta:
            return (
                "A run of tune pays for releases without a delta, and this one has delta "
                f"{decimal_text(cost.delta)}. List the possible values instead."
            )
        if cost.leaks:
            return (
                f"A step of the run takes {', '.join(cost.leaks)} from the data, which epsilon "
                "does not cover. State what is public."
            )
        return ""


@dataclass(frozen=True, slots=True)
class Tuned(Generic[C, T]):
    """The best of several private analyses.

    Attributes:
        candidate: the setting that it came from.
        score: its private score.
        result: what its run returned.
        release: the public facts: total ε, ε of each run, the charge.
    """

    candidate: C
    score: float
    result: T
    release: Release


def tune(
    candidates: Sequence[C],
    run: Callable[[C, Share], tuple[float, T]],
    *,
    neighbours: Neighbours | str | None = None,
    unit: str | None = None,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    runs: int = 10,
    shape: Epsilon | int = 0,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Tuned[C, T]:
    """The best of several private analyses, at ε in all, however many there are.

    Guarantee: ε-DP under `neighbours`, if all that `run(candidate, share)` returns, the score
    included, is private at `share.epsilon` = ε / (2 + shape) under them.  Pass the share as
    `budget=` to every step of the run: it refuses what goes beyond it.  `tune` has charged ε before
    the first run; the runs charge nothing else.

    Args:
        candidates: public settings.
        run: one analysis: takes a setting and its `Share` of ε, returns a score (larger is better;
            NaN is worst) and any result, both private.
        neighbours: the relation that ε speaks of.
        unit: in place of it, the column that names the person a row belongs to: every step of a run
            states the same `unit=`, and ε protects a person with all their rows.
        epsilon: the total.
        rho: in place of ε, that of zCDP, for budgets with a δ.
        runs: how many runs to expect; the actual number is random and secret.
        shape: η of the distribution of that number, from 0 to 1: runs at ε / (2 + η).
        budget: where to charge ε.
        entropy: of random bits; the operating system's by default.

    Returns:
        The best result, its setting, and the `Release` that was paid for.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if a run fails, or asks for more than its share; the charge stands.

    >>> from dampen.core.sampling import InsecureEntropy
    >>> seed = InsecureEntropy(1, allow_release=True)
    >>> votes = [True] * 700 + [False] * 300
    >>> def run(flip, share):
    ...     right = [vote != flip for vote in votes]
    ...     hits = noisy_hits(right, [True] * 1000, epsilon=share.epsilon, budget=share)
    ...     return hits, None
    >>> best = tune([True, False], run, neighbours="add-remove-row", epsilon=1, entropy=seed)
    >>> best.release.parameters["each"]
    '0.5'
    """
    eta = checked_shape(shape)
    price = Price(epsilon, rho)
    total = price.asked()
    if not isinstance(runs, int) or not 1 < runs <= MOST_RUNS:
        raise ParameterError(f"Expected runs from 2 to {MOST_RUNS}, got runs={runs!r}.")
    if len(candidates) == 0:
        raise ParameterError("Expected candidates, got none.")
    scale = scale_for(runs, eta)
    each = total / (2 + eta)
    relation = _relation(neighbours, unit)
    cost = composed_cost(relation, price, query="tune", mechanism="best of random runs")
    cost = replace(cost, unit=unit or "")
    paid = pay(cost, budget=budget, entropy=entropy)
    with paid.looking():
        count = number_of_runs(scale, eta, paid.entropy)
        shares = (Share(each, relation, unit or "") for _ in range(count))
        best = _best(candidates, run, shares, paid.entropy)
    public: dict[str, Any] = {} if unit is None else {"unit": unit}
    public |= {"runs": runs, "shape": decimal_text(eta), "each": decimal_text(each)}
    candidate, score, result = best
    release = paid.release({"candidate": candidate, "score": score}, public, UNKNOWN)
    return Tuned(candidate, score, result, release)


def _best(
    candidates: Sequence[C],
    run: Callable[[C, Share], tuple[float, T]],
    shares: Iterable[Share],
    entropy: Entropy,
) -> tuple[C, float, T]:
    """The first of the largest scores of one run per share."""
    best: tuple[C, float, T] | None = None
    for share in shares:
        candidate = candidates[uniform(len(candidates), entropy)]
        try:
            given, result = run(candidate, share)
        finally:
            share.end()
        score = -math.inf if math.isnan(given) else given
        if best is None or score > best[1]:
            best = candidate, score, result
    assert best is not None
    return best


def number_of_runs(scale: Fraction, shape: Fraction, entropy: Entropy) -> int:
    """K with P(K = k) proportional to exp(-k / scale) (1+η)/2 ··· (k-1+η)/k, drawn exactly.

    By rejection: a discrete Laplace number that is not 0 has a geometric size k, which is kept with
    the probability of the product.
    """
    while True:
        for z in discrete_laplace(scale, BLOCK, entropy).tolist():
            if z and _kept(abs(z), shape, entropy):
                return abs(z)


def _kept(k: int, shape: Fraction, entropy: Entropy) -> bool:
    a = shape.numerator
    b = shape.denominator
    coins = ((i * b + a, (i + 1) * b) for i in range(1, k) if shape != 1)
    return all(uniform(of, entropy) < heads for heads, of in coins)


def uniform(size: int, entropy: Entropy) -> int:
    """A number below `size`, exactly uniform."""
    return int(random_order(size, entropy)[0])


def expected_runs(scale: float, shape: float) -> float:
    """E[K] = f'(1), with q = exp(-1 / scale)."""
    gamma = -math.expm1(-1 / scale)
    if abs(shape) < 1e-9:
        return (1 / gamma - 1) / -math.log(gamma)
    return shape * (1 - gamma) / (gamma * -math.expm1(shape * math.log(gamma)))


def scale_for(runs: int, shape: Fraction) -> Fraction:
    """A scale at which `runs` are to be expected; any public one is private."""
    lower = 1e-3
    upper = 1e12
    for _ in range(200):
        middle = math.sqrt(lower * upper)
        if expected_runs(middle, float(shape)) < runs:
            lower = middle
        else:
            upper = middle
    return Fraction(lower).limit_denominator(10**6)


def _relation(neighbours: Neighbours | str | None, unit: str | None) -> Neighbours:
    """What is protected: a relation by its name, or a person with all their rows.

    Raises:
        ParameterError: unless exactly one of both is stated.
    """
    if (neighbours is None) == (unit is None):
        raise ParameterError(
            "Expected neighbours=, such as 'add-remove-row', or unit=, the column that names the "
            "person a row belongs to."
        )
    return Neighbours.ADD_REMOVE_UNIT if neighbours is None else Neighbours.named(neighbours)


def checked_shape(shape: Epsilon | int) -> Fraction:
    """η, exactly.

    Raises:
        ParameterError: if it is not from 0 to 1, or not a simple fraction.
    """
    try:
        eta = Fraction(str(shape))
    except (ValueError, ZeroDivisionError):
        eta = Fraction(2)
    if not 0 <= eta <= 1 or eta.denominator > 100:
        raise ParameterError(
            "Expected 0 <= shape <= 1, a fraction of a denominator of at most 100, got "
            f"shape={str(shape)[:50]}."
        )
    return eta


def noisy_hits(
    predicted: ArrayLike,
    truth: ArrayLike,
    *,
    epsilon: Epsilon,
    unit: ArrayLike | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> float:
    """How many predictions are right, with discrete Laplace noise: a private score for `tune`.

    Guarantee: ε-DP under adding or removing one row, for predictions that were made without looking
    at these rows, or by a private model: one row changes the number by at most 1.  With `unit`,
    ε-DP under adding or removing one person with all their rows: everyone weighs one, shared by
    their rows (`dampen.data.units`), and the number is of persons.

    Args:
        predicted: one prediction per row.
        truth: what is right, one per row.
        unit: whose row it is, one id per row; None where every row is a person of its own.
        epsilon: the privacy parameter.
        budget: where to charge ε, such as the share of a run.
        entropy: of random bits; the operating system's by default.
    """
    cost = composed_cost(
        Neighbours.ADD_REMOVE_ROW if unit is None else Neighbours.ADD_REMOVE_UNIT,
        Price(epsilon),
        query="noisy hits",
        mechanism="discrete Laplace",
    )
    paid = pay(cost, budget=budget, entropy=entropy)
    with paid.looking():
        right = hits_of(predicted, truth)
        if unit is None:
            return int(right.sum()) + int(discrete_laplace(1 / paid.epsilon, 1, paid.entropy)[0])
        quantum = quantum_of(1)
        hits = _weight_of_hits(right, unit, quantum)
        return (hits + int(discrete_laplace(quantum / paid.epsilon, 1, paid.entropy)[0])) / quantum


def hits_of(predicted: Any, truth: Any) -> NDArray[np.bool_]:
    """Which predictions are right, each row by itself; private.

    An array for all of a list would have one type: one text among numbers would make texts of all.
    What cannot be compared, or is missing, is not right.

    Raises:
        DataError: if there is not one prediction per row.
    """
    sizes = {
        np.shape(values) if hasattr(values, "dtype") else (len(values),)
        for values in (predicted, truth)
    }
    if len(sizes) > 1 or len(sizes.pop()) > 1:
        raise DataError("Expected one prediction per row.")
    one, other = (_own_array(values) for values in (predicted, truth))
    if one is not None and other is not None:
        return np.broadcast_to(np.asarray(one == other, dtype=np.bool_), one.shape)
    equal = map(_are_equal, _objects_of(predicted), _objects_of(truth))
    return np.fromiter(equal, dtype=np.bool_, count=len(predicted))


def _own_array(values: Any) -> NDArray[Any] | None:
    """An array of values that are declared to have one type; None for others."""
    declared = getattr(values, "dtype", None)
    plain = isinstance(declared, np.dtype) and declared.kind != "O"
    return np.asarray(values) if plain else None


def _objects_of(values: Any) -> list[Any]:
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, name):
            return list(getattr(values, name)())
    return list(values)


def _are_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # whatever an object does
        return False


def _weight_of_hits(right: Any, unit: ArrayLike, quantum: int) -> int:
    """Where everyone weighs `quantum`, shared by their rows."""
    rows = MemoryTable({"unit": unit, "cell": np.where(right, 0, 1)})
    people = UnitTable(rows, "unit", Shares(quantum))
    return int(people.counts({"cell": "any"}, lambda batch: np.asarray(batch["cell"]), 2)[0])
