"""`keys` and public universes: values that nobody lists, because they are too many or not known.

- `KeysMethod`: which values do enough rows have, and how many rows?  Nobody needs to list the
  values.
- `RootMethod`, `EitherMethod`: the same for persons who may have many values.
- `UniverseMethod`: the most frequent one of a public universe: all values that are possible, too
  many to list.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from math import ceil, isfinite, isqrt
from statistics import NormalDist
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from dampen.core import sensitivity
from dampen.core.mechanisms import EM
from dampen.core.noise import pure_rho
from dampen.core.sampling import (
    Entropy,
    discrete_gaussian,
    discrete_laplace,
    uniform_below,
    uniform_words,
    weighted_best,
)
from dampen.core.selection import IntArray, Neighbours, Selection
from dampen.core.thresholds import Threshold
from dampen.core.zcdp import rho_within
from dampen.data.cells import ANY_GROUP, LARGEST_TABLE
from dampen.data.columns import (
    as_keys,
    as_labels,
    in_arrow,
    is_arrow,
    is_key,
    public_order,
    with_one_zero,
)
from dampen.data.open import open_columns, open_table
from dampen.data.source import (
    Chunk,
    Opened,
    columns_of,
    has_arrow,
    is_opened,
    joined_columns,
    reading,
    require_labels,
)
from dampen.data.units import Pairs, Shares, quantum_of, weights_by_key
from dampen.epsilon import Epsilon, exact
from dampen.errors import ParameterError
from dampen.releases.accuracy import (
    Accuracy,
    by_lead,
    by_threshold,
    counted_in_part,
    lead,
    rounded_up,
)
from dampen.releases.answer import answer
from dampen.releases.cost import Budget, Cost, Price, composed_cost, selection_cost
from dampen.releases.method import Drawn, Finding, Leak
from dampen.releases.numbers import ThresholdLaw, check_scale
from dampen.releases.question import Shape, parameter, weigh_parameter, where_parameter
from dampen.releases.release import Release
from dampen.releases.units import persons
from dampen.schema.schema import Schema

__all__ = [
    "ByGroup",
    "EitherMethod",
    "EitherShares",
    "KeysMethod",
    "KeysQuestion",
    "PublicUniverse",
    "RootMethod",
    "RootShares",
    "Sharing",
    "UniverseMethod",
    "by_weights",
    "exact_delta",
    "finding_groups",
    "given_counts",
    "keys",
    "tally",
    "universe",
]

MOST_ROWS = 2**53
ROWS = "rows"
Labels: TypeAlias = Callable[[IntArray], list[Hashable]]
"""The keys at some places."""
SHARE = Fraction(1, 2)
"""Of ε, for finding groups; chosen by `dampen-studies run found-groups`."""


@dataclass(frozen=True, kw_only=True)
class KeysQuestion:
    """Which values do enough rows have, and how many?"""

    value: str = parameter(
        "column", "Column of the values; several with commas.", holds="categories", several=True
    )
    delta: Epsilon = parameter(
        "exact", "Probability δ of a failure of ε, such as 1e-6.", label="δ", usual="0.000001"
    )
    k: int | None = parameter(
        "count", "At most so many values, those with the most rows.", default=None, short="k"
    )
    where: str | None = where_parameter()
    weigh: str | None = weigh_parameter()
    name: ClassVar[str] = "keys"
    title: ClassVar[str] = "Values and their counts"
    data: ClassVar[Literal["table", "edges"]] = "table"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen keys visits.csv --value diagnosis --epsilon 0.5 --delta 1e-6",
        "dampen keys visits.csv --value diagnosis -k 2 --epsilon 0.5 --delta 1e-6",
    )

    def __post_init__(self) -> None:
        exact_delta(self.delta)
        if self.k is not None:
            check_most(self.k)

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Opened:
        opened = open_table(data, header=header, table=table, where=self.where)
        require_labels(opened, *columns_of(opened, self.value))
        return opened

    def method(self, source: Opened, schema: Schema, price: Price, /) -> "KeysMethod":
        del schema, price
        columns = columns_of(source, self.value)
        return KeysMethod(self.name, columns, exact_delta(self.delta), self.k, "counts")

    def unit_method(
        self, source: Opened, schema: Schema, price: Price, /
    ) -> "KeysMethod | RootMethod | EitherMethod":
        """The method on the weights of persons, 1/√r for r keys where that finds more."""
        return by_weights(self.method(source, schema, price), schema, price)

    def shown(self) -> Mapping[str, Any]:
        return {} if self.k is None else {"k": self.k}

    def text(self) -> str:
        return f"values of {self.value}"

    def shape(self) -> Shape:
        return "value"


@dataclass(frozen=True)
class Sharing:
    """How persons share their weight among keys; all of it is public.

    Attributes:
        unit: the column that names the person.
        cap: up to so many keys, or rows, of a person count in full.
        distinct: whether a person counts once in a key, however many rows they have there.
    """

    unit: str
    cap: int
    distinct: bool

    @classmethod
    def of_people(cls, schema: Schema) -> "Sharing":
        """The sharing where persons are counted."""
        return cls(str(schema.people), schema.groups_per_unit or 1, distinct=True)

    @classmethod
    def of_rows(cls, schema: Schema) -> "Sharing":
        """The sharing where rows are counted, up to `rows_per_unit` of a person in full."""
        return cls(str(schema.people), schema.rows_per_unit, distinct=False)

    @property
    def quantum(self) -> int:
        """Q, the weight of a person."""
        return quantum_of(self.cap)

    @property
    def unit_weight(self) -> int:
        """The weight of one key, or row, of a person who has few."""
        return self.quantum // self.cap


@dataclass(frozen=True)
class KeysMethod:
    """Truncated noise and a threshold.

    Add/remove one row.  Every value that occurs is a key with a count.  Its count gets truncated
    noise, and it is published if the noisy count exceeds a threshold: (ε, δ)-DP, by the theorem in
    `dampen.core.thresholds`, since a row has one key.  Values that no row has are never published,
    and the noise of a key does not depend on the others, so that the possible values need not be
    known.

    The published keys with their noisy counts are the release.  Sorting them, with equal counts in
    the order of their text, and keeping the largest k is post-processing.  Rows without a value,
    and with one that cannot be compared, have no key.

    **Persons.**  Where a column names the person a row belongs to, everyone weighs Q, shared by
    their different keys (`dampen.data.units`): a person moves all weights together by at most Q,
    and the threshold is that of Q steps of ε/Q each.  Released is weight / Q times the public cap:
    about the number of persons, where nobody has more keys than the cap.

    **Several columns.**  A key is then a tuple with one value of each column; a row in which one of
    them is missing has no key.

    **Counts near the threshold are biased upwards**: a key of few rows is published only if its
    noise is large.  `Release.interval` is conditional on being published (`ThresholdLaw`).

    Attributes:
        query: what is asked, for the ledger.
        columns: of the values; a key has one value of each.
        delta: the exact δ.
        k: how many at most; None for all.
        wanted: "counts" for a dict, "ranking" for a list, "name" for the first or None.
        people: how persons share their weight, if ε protects them.
    """

    query: str
    columns: tuple[str, ...]
    delta: Fraction
    k: int | None
    wanted: Literal["counts", "ranking", "name"]
    people: Sharing | None = None

    def cost(self, price: Price, /) -> Cost:
        of_rows = self.people is None
        cost = composed_cost(
            Neighbours.ADD_REMOVE_ROW if of_rows else Neighbours.ADD_REMOVE_UNIT,
            price,
            query=self.query,
            mechanism="threshold",
            delta=self.delta,
        )
        self.threshold(cost.epsilon)
        return cost

    def threshold(self, epsilon: Fraction) -> Threshold:
        """The threshold for rows, or for the weights of persons."""
        steps = 1 if self.people is None else self.people.quantum
        return Threshold.of(epsilon / steps, self.delta, steps)

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        threshold = self.threshold(epsilon)
        what = "group" if self.query == "count" else "value"
        told = by_threshold(
            rounded_up(_surely_found(threshold) / self._one),
            rounded_up(threshold.high / self._one),
            epsilon=epsilon,
            delta=self.delta,
            rows=rows,
            unit="people" if self.people is not None and self.people.distinct else "rows",
            what=what,
        )
        if self.people is None or not self.people.distinct:
            return told
        return counted_in_part(told, self.people.cap, what)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        if is_opened(source) and self.people is None:
            counts, labels = key_counts(source, *self.columns)
            return self._published(counts, labels, epsilon, entropy)
        return self.of_counts(self.counted(source), epsilon, entropy)

    def counted(self, source: Any) -> dict[Hashable, int]:
        """The keys with their rows, or the weights of persons; private."""
        if not is_opened(source):
            return given_counts(source)
        assert self.people is not None
        weighing = Shares(self.people.quantum, self.people.cap, self.people.distinct)
        return weights_by_key(source, self.people.unit, self.columns, weighing)

    def of_counts(
        self, found: Mapping[Hashable, int], epsilon: Fraction, entropy: Entropy
    ) -> Drawn:
        """The answer, from the keys and their counts or weights."""
        counts, labels = _of_mapping(found)
        return self._published(counts, labels, epsilon, entropy)

    def _published(
        self, counts: IntArray, labels: Labels, epsilon: Fraction, entropy: Entropy
    ) -> Drawn:
        threshold = self.threshold(epsilon)
        shown, noisy = threshold.published(counts, entropy)
        places = np.flatnonzero(shown)
        found = zip(labels(places), noisy[places].tolist(), strict=True)
        published = [(key, count) for key, count in found if is_key(key)]
        # The order of the data is private, so equal counts need another one.
        published.sort(key=lambda pair: (-pair[1], *public_order(pair[0])))
        best = published[: self.k]
        told = {key: count if self._one == 1 else count / self._one for key, count in best}
        law = ThresholdLaw(threshold.epsilon, threshold.high, threshold.coin, self._one)
        answer = _as_wanted(told, self.wanted)
        return Drawn(answer, self._facts, numbers=told, law=law if told else None)

    @property
    def _one(self) -> int:
        """What a row, or a person, adds to a count."""
        return 1 if self.people is None else self.people.unit_weight

    @property
    def _facts(self) -> dict[str, Any]:
        if self.people is None:
            return {}
        counted = "groups_per_unit" if self.people.distinct else "rows_per_unit"
        return {"unit": self.people.unit, counted: self.people.cap}


def _as_wanted(told: Mapping[Hashable, Any], wanted: Literal["counts", "ranking", "name"]) -> Any:
    if wanted == "counts":
        return {key: round(count) for key, count in told.items()}
    ranking = list(told)
    return ranking if wanted == "ranking" else next(iter(ranking), None)


@dataclass(frozen=True, slots=True, eq=False)
class RootShares:
    """A person with r keys weighs Q/√r in each, rounded down; of more than `cap` keys, a random
    choice of `cap` of them counts.

    The squares of a person's weights add up to at most Q².

    Attributes:
        quantum: Q.
        cap: R.
        entropy: of the choice.
    """

    quantum: int
    cap: int
    entropy: Entropy
    within_lines = False

    def weights(self, pairs: Pairs, /) -> IntArray:
        if len(pairs.owner) == 0:
            return pairs.owner
        words = uniform_words(len(pairs.owner), self.entropy)
        order = np.lexsort((words, pairs.owner))  # by person, then at random
        owner = pairs.owner[order]
        first = np.flatnonzero(np.diff(owner, prepend=owner[0] - 1))
        size = np.diff(first, append=len(owner))
        place = np.arange(len(owner)) - np.repeat(first, size)
        each = np.array([0, *(isqrt(self.quantum**2 // r) for r in range(1, self.cap + 1))])
        own = np.repeat(each[np.minimum(size, self.cap)], size)
        weights = np.zeros(len(owner), dtype=np.int64)
        weights[order] = np.where(place < self.cap, own, 0)
        return weights


@dataclass(frozen=True)
class RootMethod:
    """Keys of persons with many keys: weights 1/√r, Gaussian noise and a threshold.

    After Gopi et al. (2020).  Weights are whole numbers in units of 1/Q (`RootShares`).  Every key
    that somebody has gets discrete Gaussian noise of scale s, and is published if the noisy weight
    is above T.

    **Theorem.**  (ε, δ₁ + δ₂)-DP for one person more or less, if ρ = Q²/2s² zCDP is (ε, δ₁)-DP and
    δ₂ >= r P(Q/√r + N > T) for all r <= R; and δ₂-approximately ρ-zCDP.
    Proof.  x' has one person more.  Let A be the keys of x, and B the r or fewer keys of the person
    that nobody of x has.  On A, x' moves the weights by a vector whose 2-norm is at most Q, and the
    choice of a person's keys does not depend on anybody else: P_A(S) <= e^ε P'_A(S) + δ₁, and the
    other way round (Canonne, Kamath and Steinke 2020).  No key of B is published with probability
    q >= 1 - δ₂, independently of A, so P'(S) = q P'_A(S) for outputs without B.  Hence
    P'(S) <= δ₂ + P'_A(S) <= e^ε P(S) + δ₁ + δ₂.  Also P(S) - e^ε P'(S) = P_A(S) - q e^ε P'_A(S).
    If e^ε P'_A(S) <= 1 that is at most δ₁ + (1 - q), else at most 1 - q.  ∎
    δ₁ = δ₂ = δ/2.  P(N >= t) is at most that of the continuous Gaussian for t - 1 (the same paper).

    A published number is Σ 1/√r over the people who have the key, with noise: at most about their
    number.

    Attributes:
        query: what is asked, for the ledger.
        columns: of the values; a key has one value of each.
        delta: the exact δ.
        k: how many at most; None for all.
        unit: the column that names the person.
        cap: R.
        wanted: "counts" for a dict, "ranking" for a list, "name" for the first or None.
    """

    query: str
    columns: tuple[str, ...]
    delta: Fraction
    k: int | None
    unit: str
    cap: int
    wanted: Literal["counts", "ranking", "name"] = "counts"

    def cost(self, price: Price, /) -> Cost:
        assert price.epsilon is not None, "weights serve a price in ρ"
        epsilon = exact(price.epsilon)
        check_scale(Fraction(self.scale(epsilon)))
        self.threshold(epsilon)
        rho = rho_within(epsilon, self.delta / 2)
        people = Neighbours.ADD_REMOVE_UNIT
        return Cost(epsilon, rho, self.query, "gaussian-threshold", people, delta=self.delta)

    def scale(self, epsilon: Fraction) -> int:
        """s, rounded up."""
        rho = rho_within(epsilon, self.delta / 2)
        return isqrt(int(Fraction(ROOT_QUANTUM**2) / (2 * rho))) + 1

    def threshold(self, epsilon: Fraction) -> int:
        """T: the least whole number that the theorem allows, or one more."""
        scale = self.scale(epsilon)
        least = 0
        for r in range(1, self.cap + 1):
            tail = float(self.delta / (2 * r))
            if tail < SMALLEST_TAIL:
                raise ParameterError("Expected delta of at least 1e-290.")
            far = -scale * NormalDist().inv_cdf(tail) * (1 + 2.0**-20)
            least = max(least, isqrt(ROOT_QUANTUM**2 // r) + ceil(far))
        return least

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """A key of people with R keys each is published in 9 of 10 runs if so many have it."""
        one = isqrt(ROOT_QUANTUM**2 // self.cap)
        far = NormalDist().inv_cdf(0.9) * self.scale(epsilon)
        found = rounded_up((self.threshold(epsilon) + far + 1) / one)
        farthest = rounded_up(self.threshold(epsilon) / one)
        unit = "people"
        told = by_threshold(
            found, farthest, epsilon=epsilon, delta=self.delta, rows=rows, unit=unit
        )
        alone = told.sentence.partition(" Released counts")[0]
        return replace(told, sentence=f"{alone} Released counts are weights, not people.")

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        weighing = RootShares(ROOT_QUANTUM, self.cap, entropy)
        found = weights_by_key(source, self.unit, self.columns, weighing)
        return self.of_weights(found, epsilon, entropy)

    def of_weights(
        self, found: Mapping[Hashable, int], epsilon: Fraction, entropy: Entropy
    ) -> Drawn:
        """The answer, from the keys and their weights."""
        told = self.published(found, epsilon, entropy)
        facts = {"unit": self.unit, "groups_per_unit": self.cap}
        return Drawn(_as_wanted(told, self.wanted), facts, numbers=told)

    def published(
        self, found: Mapping[Hashable, int], epsilon: Fraction, entropy: Entropy
    ) -> dict[Hashable, float]:
        """The published keys with their noisy weights, largest first: (ε, δ)-DP.

        Args:
            found: the weights, in units of 1/Q; private.
            epsilon: of all of it.
            entropy: of random bits.
        """
        noise = discrete_gaussian(Fraction(self.scale(epsilon)), len(found), entropy)
        noisy = zip(
            found, (np.array([*found.values()], dtype=np.int64) + noise).tolist(), strict=True
        )
        threshold = self.threshold(epsilon)
        kept = [(key, weight) for key, weight in noisy if weight > threshold]
        kept.sort(key=lambda pair: (-pair[1], *public_order(pair[0])))
        return {key: weight / ROOT_QUANTUM for key, weight in kept[: self.k]}


ROOT_QUANTUM = 1 << 12
SMALLEST_TAIL = 1e-300
MANY_KEYS = 50
"""R where nobody states it: a larger one than needed costs next to nothing."""
SEVERAL_KEYS = 4
"""From so many keys of a person on, roots find more keys than equal shares."""
FOR_CHOICE = Fraction(1, 20)
"""Of ε, for the choice between the two."""


@dataclass(slots=True, eq=False)
class EitherShares:
    """Weights 1/√r or 1/r, as most persons have several keys or few.

    D is the number of persons with `SEVERAL_KEYS` keys or more, minus that of the others.  Weights
    are those of `roots` if D + X > 0, X discrete Laplace noise of scale 1/ε.  **Theorem.**  The
    choice is ε-DP.  Proof.  One person more or less moves D by 1.  ∎

    Attributes:
        epsilon: of the choice.
        roots: for persons with several keys.
        equal: for persons with few.
        entropy: of the choice.
        rooted: what was chosen, once the weights are known.
    """

    epsilon: Fraction
    roots: RootShares
    equal: Shares
    entropy: Entropy
    rooted: bool = False
    within_lines: ClassVar[bool] = False

    def weights(self, pairs: Pairs, /) -> IntArray:
        several = np.unique(pairs.owner, return_counts=True)[1] >= SEVERAL_KEYS
        more = 2 * int(several.sum()) - len(several)
        [noise] = discrete_laplace(1 / self.epsilon, 1, self.entropy)
        self.rooted = more + int(noise) > 0
        return (self.roots if self.rooted else self.equal).weights(pairs)


@dataclass(frozen=True)
class EitherMethod:
    """Keys of persons of whom nobody states how many keys they have.

    A twentieth of ε chooses between `RootMethod` and `KeysMethod` (`EitherShares`), which gets the
    rest of ε and all of δ: (ε, δ)-DP, by adaptive composition.

    Attributes:
        mass: shares 1/r.
        roots: shares 1/√r.
    """

    mass: KeysMethod
    roots: RootMethod

    def cost(self, price: Price, /) -> Cost:
        cost = self.mass.cost(price)
        rest = Price(cost.epsilon - self._first(cost.epsilon))
        dearer = max(self.mass.cost(rest).rho, self.roots.cost(rest).rho)
        rho = pure_rho(self._first(cost.epsilon)) + dearer
        return replace(cost, rho=rho, mechanism="either-threshold")

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """For people with one key each; what is chosen is known after the charge."""
        return self.mass.accuracy(epsilon - self._first(epsilon), rows)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        assert self.mass.people is not None
        rest = epsilon - self._first(epsilon)
        roots = RootShares(ROOT_QUANTUM, self.roots.cap, entropy)
        equal = Shares(self.mass.people.quantum, self.mass.people.cap, distinct=True)
        weighing = EitherShares(self._first(epsilon), roots, equal, entropy)
        found = weights_by_key(source, self.mass.people.unit, self.mass.columns, weighing)
        if not weighing.rooted:
            return self.mass.of_counts(found, rest, entropy)
        drawn = self.roots.of_weights(found, rest, entropy)
        return replace(drawn, accuracy=self.roots.accuracy(rest, None))

    def _first(self, epsilon: Fraction) -> Fraction:
        return epsilon * FOR_CHOICE


def by_weights(
    method: KeysMethod, schema: Schema, price: Price
) -> KeysMethod | RootMethod | EitherMethod:
    """How the weights of persons answer, by public facts."""
    mass = replace(method, people=Sharing.of_people(schema))
    several = schema.groups_per_unit
    if several == 1 or price.epsilon is None or price.rho is not None:
        return mass
    unit = str(schema.people)
    cap = several or MANY_KEYS
    roots = RootMethod(mass.query, mass.columns, mass.delta, mass.k, unit, cap, mass.wanted)
    if several is None:
        return EitherMethod(mass, roots)
    return roots if roots_find_more(mass, roots, roots.cost(price).epsilon) else mass


def roots_find_more(mass: KeysMethod, roots: RootMethod, epsilon: Fraction) -> bool:
    """Whether a key needs fewer people by `RootMethod`, if everyone has R keys: a public rule."""
    assert mass.people is not None
    of_mass = Fraction(mass.threshold(epsilon).high, mass.people.unit_weight)
    one = isqrt(ROOT_QUANTUM**2 // roots.cap)
    return Fraction(roots.threshold(epsilon), one) < of_mass


class ByGroup(Protocol):
    """A question that can be asked of groups; a frozen dataclass."""

    @property
    def by(self) -> str | None: ...
    @property
    def groups(self) -> Sequence[Hashable] | None: ...
    @property
    def delta(self) -> Epsilon | None: ...


def finding_groups(asked: ByGroup, *, nothing: Any, cells: int = 1) -> Finding | None:
    """How groups are found that nobody listed; None where there is nothing to find.

    Args:
        asked: the question.
        nothing: its answer where no group is found.
        cells: of a group, of which all groups have at most `LARGEST_TABLE`: the largest are kept.

    Raises:
        ParameterError: if by, groups and delta do not fit together.
    """
    by = asked.by
    groups = asked.groups
    delta = asked.delta
    if by is None and (groups is not None or delta is not None):
        raise ParameterError("Expected by=, the column of groups, with groups= or delta=.")
    if groups is not None and delta is not None:
        raise ParameterError(
            "A delta takes the place of public groups. Pass either groups= or delta=."
        )
    if by is None or groups is not None:
        return None
    if delta is None:
        raise ParameterError(
            "Expected groups=, the public list of groups; or, if nobody can list them, delta=, "
            "such as '1e-6': a share of epsilon then finds them."
        )
    most = max(LARGEST_TABLE // cells, 1)

    def filled(found: Mapping[Hashable, int]) -> Any:
        listed: Any = asked
        return replace(listed, groups=list(found)[:most], delta=None) if found else None

    question = KeysQuestion(value=by, delta=delta)
    return Finding("groups", question, SHARE, [dict.fromkeys(ANY_GROUP, 0)], filled, nothing)


def exact_delta(delta: Epsilon) -> Fraction:
    """δ as an exact number.

    Raises:
        ParameterError: unless it is above 0 and below 1.
    """
    value = exact(delta, "delta")
    if value >= 1:
        raise ParameterError(f"Expected delta below 1, such as '1e-6', got delta={delta}.")
    return value


def check_most(k: int) -> None:
    """Checks how many keys are asked for.

    Raises:
        ParameterError: if it is no whole number above 0.
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError(f"Expected k to be an integer >= 1, got k={k!r}.")


def tally(opened: Opened, *names: str) -> dict[Hashable, int]:
    """The different keys of one or several columns and how many rows have each; private.

    Missing values, empty texts, and values that cannot be compared, are left out.
    """
    counts, labels = key_counts(opened, *names)
    return dict(zip(labels(np.arange(len(counts))), counts.tolist(), strict=True))


def key_counts(opened: Opened, *names: str) -> tuple[IntArray, Labels]:
    """The same as arrays: the rows of every key, and the keys at some places; private.

    Of keys in Arrow only those are made Python's objects that are asked for.
    """
    found: Counter[Hashable] = Counter()
    columnar: list[Any] = []
    holds = {each.name: each.holds for each in opened.fields}
    declared = [holds.get(name) is not None for name in names]
    with reading(opened.batches(dict.fromkeys(names, "any"))) as stream:
        for batch in stream:
            arrays = [_as_arrow(batch[name]) for name in names]
            if any(array is None for array in arrays):
                found.update(_keys_of([batch[name] for name in names], declared))
            else:
                columnar.append(_counted(arrays))
    tables = [_with_keys(table) for table in _merged(columnar)]
    if len(tables) == 1 and not found:
        [table] = tables
        return table[ROWS].to_numpy(), lambda places: _labels(table.take(places), declared)
    for table in tables:
        for key, count in zip(_labels(table, declared), table[ROWS].to_pylist(), strict=True):
            if is_key(key):
                found[key] += count
    return _of_mapping(found)


def _of_mapping(found: Mapping[Hashable, int]) -> tuple[IntArray, Labels]:
    keys = list(found)
    counts: IntArray = np.fromiter(found.values(), dtype=np.int64, count=len(found))
    return counts, lambda places: [keys[i] for i in places.tolist()]


def _labels(table: Any, declared: Sequence[bool]) -> list[Hashable]:
    """The keys of a table, tuples where they are of several columns."""
    columns = [
        as_keys(as_labels([table[name]]), declared=known)
        for name, known in zip(table.column_names[:-1], declared, strict=True)
    ]
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def _with_keys(table: Any) -> Any:
    """The rows of a table in which no key is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in table.column_names[:-1]:
        column = table[name]
        held = pc.is_valid(column)
        if pa.types.is_floating(column.type):
            held = pc.and_(held, pc.invert(pc.is_nan(column).fill_null(True)))
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            held = pc.and_(held, pc.greater(pc.binary_length(column), 0).fill_null(False))
        table = table.filter(held)
    return table


def given_counts(counts: Mapping[Hashable, Any]) -> dict[Hashable, int]:
    """Counts that come as a mapping; what is no count of rows is left out."""
    whole = (int, np.integer)
    return {
        key: int(count)
        for key, count in zip(as_keys(counts), counts.values(), strict=True)
        if isinstance(count, whole) and 0 < count < MOST_ROWS and is_key(key)
    }


def _as_arrow(chunk: Chunk) -> Any:
    """The chunk as an Arrow array where that keeps its values, else None."""
    if not has_arrow():
        return None
    if is_arrow(chunk):
        return with_one_zero(chunk)
    if isinstance(chunk, np.ndarray) and chunk.dtype.kind in "iuUMmb":
        return in_arrow(chunk)
    return None


def _counted(arrays: list[Any]) -> Any:
    """A table of the different keys of a batch and their rows."""
    import pyarrow as pa

    if len(arrays) == 1:
        counted = arrays[0].value_counts()
        return pa.table([counted.field("values"), counted.field("counts")], ["0", ROWS])
    names = [str(i) for i in range(len(arrays))]
    table = pa.table(arrays, names).group_by(names).aggregate([([], "count_all")])
    return table.select([*names, "count_all"]).rename_columns([*names, ROWS])


def _merged(parts: list[Any]) -> list[Any]:
    """Counts of batches, added up where their values have one type."""
    if len(parts) > 1 and len({part.schema for part in parts}) == 1:
        import pyarrow as pa

        names = parts[0].column_names[:-1]
        added = pa.concat_tables(parts).group_by(names).aggregate([(ROWS, "sum")])
        return [added.select([*names, f"{ROWS}_sum"]).rename_columns([*names, ROWS])]
    return parts


def _keys_of(chunks: Sequence[Chunk], declared: Sequence[bool]) -> list[Hashable]:
    """The keys of Python objects that a dict can hold."""
    columns = [
        as_keys(as_labels([chunk]), declared=known)
        for chunk, known in zip(chunks, declared, strict=True)
    ]
    keys = columns[0] if len(columns) == 1 else zip(*columns, strict=True)
    return [key for key in keys if is_key(key)]


def _surely_found(threshold: Threshold) -> int:
    """The fewest rows of a key that is published in 9 of 10 runs."""
    low = 0
    high = 2 * threshold.high + 1
    while high - low > 1:
        middle = (low + high) // 2
        if threshold.chance(middle) >= 0.9:
            high = middle
        else:
            low = middle
    return high


def keys(
    data: Any,
    value: str | Sequence[str] | None = None,
    *,
    epsilon: Epsilon | None = None,
    delta: Epsilon,
    rho: Epsilon | None = None,
    k: int | None = None,
    where: str | None = None,
    weigh: str | None = None,
    unit: Any = None,
    rows_per_unit: int = 1,
    groups_per_unit: int | None = None,
    header: bool = False,
    table: str | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The values that enough rows have, with noisy counts, and (ε, δ)-differential privacy.

    Guarantee: (ε, δ)-DP under adding or removing one row.  Nobody needs to know which values are
    possible.  Values of few rows are not released; `Release.accuracy` says how many rows are
    enough.  A released count is never farther from the true one than the accuracy says, and
    `Release.interval` tells where the true one lies.

    Args:
        data: a column, a table or the path of a file (see `dampen.data`).
        value: in a table, the name of the column; a list of names for several, such as
            ["ward", "year"]: keys are then tuples.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        delta: the probability with which ε may fail, exact: well below 1 / rows, such as "1e-6".
        rho: in place of ε, the privacy parameter of zCDP.
        k: at most so many values, those with the largest noisy counts; None for all.
        where: a condition on every row, such as "age >= 65 and ward == 'A'"; other rows are left
            out (see `dampen.data.expressions`).
        weigh: where `unit` names the person: "people" for the statistic of the average person, the
            default; "rows" for that of the rows.
        unit: the column that names the person a row belongs to, or its name: ε then protects a
            person with all their rows (see `dampen.data.units`).
        rows_per_unit: how many rows of a person count in full.
        groups_per_unit: a hint, how many of the values a person usually has.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database file (DuckDB, SQLite), which table.
        budget: where to charge ε and δ; None charges nothing.
        entropy: of random bits; the operating system's by default.

    Returns:
        A `Release` whose answer is a dict from values to noisy counts, largest first.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the data cannot be read; the charge stands.

    >>> import dampen
    >>> searches = ["weather"] * 400 + ["news"] * 90 + ["my own name"]
    >>> list(dampen.keys(searches, epsilon=1, delta="1e-9").answer)
    ['weather', 'news']
    """
    if value is not None and not isinstance(value, str):
        value = joined_columns(value)
    opened, names = open_columns(data, value=value, unit=unit, header=header, table=table)
    question = KeysQuestion(value=names["value"], delta=delta, k=k, where=where, weigh=weigh)
    return answer(
        question,
        opened,
        epsilon=epsilon,
        rho=rho,
        budget=budget,
        entropy=entropy,
        schema=persons(names, rows_per_unit, groups_per_unit),
    )


LETTERS = "abcdefghijklmnopqrstuvwxyz"
LARGEST = 2**63 - 1
LONGEST_WORD = 100
BYTES = frozenset(map(str, range(256)))


@runtime_checkable
class PublicUniverse(Protocol):
    """All possible values, each with a place from 0 to size - 1."""

    @property
    def size(self) -> int: ...

    def place_of(self, value: Any, /) -> int | None:
        """The place of a value; None if it is not in the universe."""
        ...

    def value_at(self, place: int, /) -> Hashable:
        """The value at a place."""
        ...


@dataclass(frozen=True)
class Words:
    """All words of one letter to `longest` letters of an alphabet."""

    longest: int
    alphabet: str = LETTERS

    def __post_init__(self) -> None:
        _check_whole("words", self.longest)
        if not self.alphabet or len(set(self.alphabet)) < len(self.alphabet):
            raise ParameterError("Expected alphabet to be a text of different letters.")
        if self.longest > LONGEST_WORD:
            raise ParameterError(f"Expected words of at most {LONGEST_WORD} letters.")
        _check_size(self.size)

    @property
    def size(self) -> int:
        return self._before(self.longest + 1)

    def place_of(self, value: Any, /) -> int | None:
        if not isinstance(value, str) or not 1 <= len(value) <= self.longest:
            return None
        digits = [self.alphabet.find(letter) for letter in value]
        if min(digits) < 0:
            return None
        within = list(accumulate(digits, lambda sum, digit: sum * len(self.alphabet) + digit))
        return self._before(len(value)) + within[-1]

    def value_at(self, place: int, /) -> str:
        length = next(n for n in range(1, self.longest + 1) if place < self._before(n + 1))
        rest = place - self._before(length)
        letters = []
        for _ in range(length):
            rest, digit = divmod(rest, len(self.alphabet))
            letters.append(self.alphabet[digit])
        return "".join(reversed(letters))

    def _before(self, length: int) -> int:
        """How many words are shorter."""
        return sum(len(self.alphabet) ** n for n in range(1, length))


@dataclass(frozen=True)
class Addresses:
    """All addresses of IPv4, as text such as 192.0.2.1."""

    size = 2**32

    def place_of(self, value: Any, /) -> int | None:
        parts = value.split(".") if isinstance(value, str) else []
        if len(parts) != 4 or not all(part in BYTES for part in parts):
            return None
        return int.from_bytes(bytes(map(int, parts)), "big")

    def value_at(self, place: int, /) -> str:
        return ".".join(map(str, place.to_bytes(4, "big")))


@dataclass(frozen=True)
class Integers:
    """All whole numbers from `low` to `high`."""

    low: int
    high: int

    def __post_init__(self) -> None:
        for name, value in (("low", self.low), ("high", self.high)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise ParameterError(f"Expected {name} to be a whole number, got {value!r}.")
        if self.low > self.high:
            raise ParameterError(f"Expected low <= high, got {self.low} and {self.high}.")
        _check_size(self.size)

    @property
    def size(self) -> int:
        return self.high - self.low + 1

    def place_of(self, value: Any, /) -> int | None:
        if isinstance(value, float | np.floating):
            value = int(value) if isfinite(value) and value == int(value) else None
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            return None
        return int(value) - self.low if self.low <= value <= self.high else None

    def value_at(self, place: int, /) -> int:
        return self.low + place


def universe(
    *,
    words: int | None = None,
    alphabet: str = LETTERS,
    ipv4: bool = False,
    integers: tuple[int, int] | None = None,
) -> PublicUniverse:
    """All possible values, too many to list, as the `categories` of `dampen.most_frequent`.

    With a universe `most_frequent` is ε-DP, without a δ and without a list.  Rows with values that
    are not in it are left out.  State one universe.

    Args:
        words: all words of up to so many letters.
        alphabet: the letters of these words.
        ipv4: all addresses of IPv4, written as 192.0.2.1.
        integers: all whole numbers from the first to the second.

    Returns:
        The universe.

    Raises:
        ParameterError: if none or several are stated, or there are 2^63 values or more.

    >>> import dampen
    >>> dampen.universe(words=12).size
    99246114928149462
    >>> visits = ["weather"] * 90 + ["news"] * 20
    >>> dampen.most_frequent(visits, categories=dampen.universe(words=12), epsilon=2).answer
    'weather'
    """
    stated = [words is not None, ipv4, integers is not None]
    if sum(stated) != 1:
        raise ParameterError(
            "Expected one universe: words=12, ipv4=True or integers=(0, 9999), got "
            f"{'several' if any(stated) else 'none'}."
        )
    if words is not None:
        return Words(words, alphabet)
    return Addresses() if integers is None else Integers(*integers)


@dataclass(frozen=True)
class UniverseMethod:
    """The exponential mechanism on a whole universe.

        dampen.most_frequent(words, categories=dampen.universe(words=12), epsilon=1)

    Add/remove one row.  The candidates are all N values of the universe; u(x, r) is the number of
    rows with the value r, which a row more can only raise, by 1, for one value.

    **Theorem.**  The exponential mechanism with P(r) proportional to exp(ε u(x, r)) is ε-DP.
    Proof.  A row more with the value r multiplies the weight of r by e^ε and changes no other, so
    the sum of all weights grows by a factor between 1 and e^ε: the probability of r grows by a
    factor between 1 and e^ε, and that of any other falls by a factor between 1 and e^-ε. ∎
    It has ε-bounded range, and so costs ε²/8 in zCDP.  k answers are k draws without replacement,
    at ε/k each.

    **The unseen values** have utility 0, all of them.  They are one candidate of weight N - s,
    where s values were seen: `dampen.core.sampling.weighted_best` draws it exactly as often as one
    of them.  If it wins, one of the unseen values is drawn uniformly, by its place among them.  So
    the law is that of the whole universe, and the work grows with the values that occur.

    **How many rows it takes.**  The most frequent value is named with probability 0.9 if it leads
    by (ln N + ln 9) / ε rows: 25 for the addresses of IPv4 and 42 for words of up to 12 letters, at
    ε = 1.

    Attributes:
        query: what is asked, for the ledger.
        column: of the values.
        universe: all possible values.
        k: how many answers; None for one that is not in a list.
    """

    query: str
    column: str
    universe: PublicUniverse
    k: int | None

    def cost(self, price: Price, /) -> Cost:
        rows = Neighbours.ADD_REMOVE_ROW
        return selection_cost(rows, price, query=self.query, mechanism=EM, k=self.k or 1)

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        k = self.k or 1
        tiny = Selection([0.0], sensitivity.constant(1), one_sided=True, exact=True)
        needed = lead(tiny, EM, m=self.universe.size, k=k, epsilon=epsilon)
        return by_lead(needed, "rows", who=("value", "values"), k=k, epsilon=epsilon, most=rows)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        found = tally(source, self.column) if is_opened(source) else given_counts(source)
        places = _by_place(found, self.universe.place_of)
        named: list[int] = []
        for _ in range(self.k or 1):
            one = self.one(places, named, epsilon / (self.k or 1), entropy)
            named.append(one)
        values = [self.universe.value_at(place) for place in named]
        return Drawn(values[0] if self.k is None else values)

    def one(
        self, counts: Mapping[int, int], named: list[int], epsilon: Fraction, entropy: Entropy
    ) -> int:
        """The place of one value that is not named yet: ε-DP.

        Args:
            counts: the rows of every value that occurs, by its place.
            named: the places of earlier answers.
            epsilon: of this draw.
            entropy: of random bits.
        """
        seen = [place for place in counts if place not in named]
        unseen = self.universe.size - len({*counts, *named})
        u = [float(counts[place]) for place in seen]
        weights = [1] * len(seen)
        if unseen:
            u.append(0.0)
            weights.append(unseen)
        scale = epsilon  # one-sided: no factor 1/2
        best = weighted_best(np.array(u), np.array(weights, dtype=np.int64), scale, entropy)
        if best < len(seen):
            return seen[best]
        return _place_outside(sorted({*counts, *named}), uniform_below(unseen, entropy))


def _by_place(
    found: Mapping[Hashable, int], place_of: Callable[[Any], int | None]
) -> dict[int, int]:
    """The rows of every value of the universe; others are left out."""
    counts: dict[int, int] = {}
    for value, rows in found.items():
        place = place_of(value)
        if place is not None:
            counts[place] = counts.get(place, 0) + rows
    return counts


def _place_outside(taken: list[int], rank: int) -> int:
    """The place of that rank among those that are not taken; `taken` is ascending."""
    free_before = np.array(taken, dtype=object) - np.arange(len(taken))
    low = 0
    high = len(taken)
    while low < high:
        middle = (low + high) // 2
        if free_before[middle] <= rank:
            low = middle + 1
        else:
            high = middle
    return rank + low


def _check_whole(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ParameterError(f"Expected {name} to be a whole number above 0, got {value!r}.")


def _check_size(size: int) -> None:
    if size > LARGEST:
        raise ParameterError("Expected a universe of fewer than 2^63 values. State a smaller one.")
