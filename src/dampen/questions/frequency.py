"""The most frequent category; a model for questions of your own.

Add/remove one row.  u(x, r) = the number of rows of category r: integers, Δ = 1, and one-sided,
because adding a row never lowers a count.  One row changes one count: the selection is separable,
so that no score pays a factor 2, and the whole vector of counts has 1-norm sensitivity 1, so that
`joint` reads off any k for one ε.

Groups hold disjoint rows, so that an answer for every group costs ε once (parallel composition).

The default is permute-and-flip for one answer and the joint release for several: there every count
gets discrete Laplace noise of scale 1/ε once, whatever k is, where permute-and-flip would draw k
times at ε/k.  Numbers come with both: `dampen.releases.numbers`.
"""

import sys
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import count, takewhile
from math import floor, lcm, log
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from dampen.core import sensitivity
from dampen.core.mechanisms import (
    EM,
    JOINT,
    MECHANISMS,
    PF,
    Mechanism,
    check_joint,
    named,
    select,
)
from dampen.core.noise import LAPLACE, pure_rho
from dampen.core.sampling import Entropy, discrete_laplace, geometric
from dampen.core.scores import Global, Shifted
from dampen.core.selection import IntArray, Neighbours, Selection, check_k
from dampen.data.cells import ANY_GROUP, Grouping, Keyed, LabelKey
from dampen.data.columns import Lookup, as_labels, public_labels
from dampen.data.memory import MemoryTable, as_counts, is_counts
from dampen.data.open import open_columns, open_table
from dampen.data.source import Kind, Opened, is_opened, reading, require_labels
from dampen.data.units import LEAST_QUANTUM, Present, Shares, UnitTable, quantum_of
from dampen.epsilon import Epsilon
from dampen.errors import DataError, ParameterError
from dampen.questions.keys import (
    KeysMethod,
    PublicUniverse,
    UniverseMethod,
    by_weights,
    exact_delta,
    finding_groups,
)
from dampen.questions.limited_domain import (
    ChosenMethod,
    CutMethod,
    LimitedMethod,
    names_are_limited,
)
from dampen.releases.accuracy import UNKNOWN, Accuracy, by_lead, lead, likely_noise
from dampen.releases.answer import answer
from dampen.releases.cost import Budget, Cost, Price, composed_cost, selection_cost
from dampen.releases.method import Drawn, Finding, Leak, Method
from dampen.releases.numbers import (
    GAUSSIAN,
    IntegerNoise,
    Law,
    MarginLaw,
    ShiftLaw,
    check_scale,
    largest,
    noise_cost,
    ranked,
    winner,
)
from dampen.releases.numbers import LAPLACE as LAPLACE_NOISE
from dampen.releases.question import (
    Fact,
    Shape,
    by_parameter,
    delta_parameter,
    groups_parameter,
    parameter,
    public_parameter,
    weigh_parameter,
    where_parameter,
)
from dampen.releases.release import Release
from dampen.releases.units import OfUnits, persons, weighed
from dampen.schema.schema import Schema

__all__ = ["FrequencyQuestion", "MostFrequent", "most_frequent"]

WHO = ("category", "categories")
MOST_NAMED = 10_000
"""Values of a universe, in one answer."""
SEVERAL = 3
"""From so many answers on, one noisy draw may beat as many draws."""
DRAWN_ONE_BY_ONE = 500
"""For ρ, names are drawn one by one up to k^1.5 of so many ε; see `unit_method`."""
COUNTED_IN_FULL = 400
"""In one noisy draw, the categories of a person that count in full, times k/ε."""
MOST_IN_FULL = 1000
CHOICE = Fraction(1, 20)
"""Of ε, for the noisy count that chooses how many categories of a person count in full."""
TWO_IN_FULL_FROM = 7.0
ALL_IN_FULL_FROM = 2.0
"""Levels of `ChosenNames` from which two categories count in full, and all, for each of k names."""
EXACT_JOINT = Mechanism("joint", Global(), LAPLACE)
"""On counts as they are: other scores would be cut at 2^28."""


@dataclass(frozen=True)
class MostFrequent:
    """Which of the public `categories` occurs most often?"""

    categories: Sequence[Hashable]
    neighbours = Neighbours.ADD_REMOVE_ROW
    joint = MappingProxyType({Global(): 1.0, Shifted(): 1.0})

    def __post_init__(self) -> None:
        public_labels(self.categories, "categories")

    @property
    def candidates(self) -> Sequence[Hashable]:
        return self.categories

    def selection(self, values: Any, /) -> Selection:
        """A column of values, or the counts of the categories as a mapping.

        Values that are not among the categories are dropped.
        """
        return self.selection_of_counts(self.counts(values))

    def counts(self, values: Any, /) -> IntArray:
        """The rows of every category, then those of none of them; see `selection`."""
        if isinstance(values, Mapping):
            return self._given_counts(values)
        return self.opened_counts(MemoryTable({"": values}), "")

    def opened_counts(self, rows: Opened, column: str, /) -> IntArray:
        """The rows of every category, then those of none of them, of an opened table."""
        return rows.counts(self._wanted(column), self._cell_of(column), len(self.categories))

    def grouped_counts(self, rows: Opened, column: str, by: str, grouping: Grouping, /) -> IntArray:
        """`opened_counts` of every group, one line each."""
        wanted, cell_of = self._wanted(column), self._cell_of(column)
        return grouping.counts(rows, by, wanted, cell_of, len(self.categories))

    def selection_of_counts(self, counts: IntArray, /) -> Selection:
        """From the rows of every category, then those of none of them, which are dropped."""
        return Selection(
            counts[:-1],
            sensitivity.constant(1),
            one_sided=True,
            separable=True,
            joint=self.joint,
            exact=True,
        )

    @cached_property
    def _lookup(self) -> Lookup:
        return Lookup(self.categories)

    def _wanted(self, column: str) -> dict[str, Kind]:
        return {column: self._lookup.kind}

    def _cell_of(self, column: str) -> Keyed:
        lookup = self._lookup
        return Keyed(
            {column: LabelKey(self.categories)},
            lambda keys: lookup.positions(keys[column]),
            ("categories", column, tuple(self.categories)),
        )

    def _given_counts(self, counts: Mapping[Any, Any]) -> IntArray:
        known = set(self.categories)
        others = sum(1 for value in counts if value not in known)
        given = [counts.get(category, 0) for category in self.categories]
        if not all(isinstance(c, int | np.integer) and 0 <= c < 2**53 for c in given):
            raise DataError("Expected counts that are whole numbers >= 0, as a Counter has.")
        return np.array([*given, others], dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class FrequencyQuestion:
    """Which category occurs most often?"""

    value: str = parameter("column", "Column of the categories.", holds="categories")
    categories: Sequence[Hashable] | PublicUniverse | None = parameter(
        "labels",
        "Public list of the categories.",
        default=None,
        fact=Fact("values", of="value"),
    )
    k: int | None = parameter(
        "count", "How many categories; one if left out.", default=None, label="How many", short="k"
    )
    delta: Epsilon | None = delta_parameter("categories, or the groups")
    by: str | None = by_parameter()
    groups: Sequence[Hashable] | None = groups_parameter()
    mechanism: str | Mechanism | None = parameter(
        "word",
        "Mechanism; the best known one if left out.",
        default=None,
        choices=tuple(each.name for each in MECHANISMS),
    )
    where: str | None = where_parameter()
    public: str | None = public_parameter("categories")
    weigh: str | None = weigh_parameter()
    name: ClassVar[str] = "most-frequent"
    title: ClassVar[str] = "Most frequent category"
    data: ClassVar[Literal["table", "edges"]] = "table"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen most-frequent visits.csv --value diagnosis --categories flu,cold,covid "
        "--epsilon 0.5",
        "dampen most-frequent visits.csv --value diagnosis --categories flu,cold,covid -k 2 "
        "--epsilon 0.5 --expect",
        "dampen most-frequent visits.csv --value diagnosis --categories flu,cold,covid "
        "--by day --groups 1,2 --epsilon 0.5",
    )

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Any:
        """A table; or counts, as a mapping from categories, which need no column."""
        if not self.value and is_counts(data):
            if self.where is not None:
                raise ParameterError("Expected rows with where=, got the counts of categories.")
            return data
        opened = open_table(data, header=header, table=table, where=self.where)
        require_labels(opened, self.value)
        if self.grouping is not None:
            self.grouping.check_column(opened, str(self.by), self.value)
        return opened

    def method(
        self, source: Any, schema: Schema, price: Price, /
    ) -> "CountMethod | KeysMethod | UniverseMethod":
        """A threshold where a δ takes the place of the categories, else a mechanism on counts."""
        del source, schema
        if self.delta is not None:
            return self._unlisted(exact_delta(self.delta))
        if isinstance(self.categories, PublicUniverse):
            return self._of_universe(self.categories)
        if self.problem is None and self.public != "data":
            raise ParameterError(
                "Expected categories=, the public list of them; or, if nobody can list them, "
                "delta=, such as '1e-6'. In Python, public='data' takes them from data that is "
                "public itself."
            )
        mechanism = self.chosen_mechanism(price)
        check_joint(mechanism, MostFrequent.joint)
        problem = self.problem
        check_k(self.k, sys.maxsize if problem is None else len(problem.candidates))
        gaussian = not price.pure and self.mechanism is None and mechanism == JOINT
        return CountMethod(self, mechanism, GAUSSIAN if gaussian else LAPLACE_NOISE)

    def _of_universe(self, universe: PublicUniverse) -> UniverseMethod:
        if self.by is not None or (self.mechanism is not None and named(self.mechanism) is not EM):
            raise ParameterError(
                "Only mechanism='em' names values of a universe, and not by group. Leave out "
                "mechanism= and by=, or pass a list of categories."
            )
        if check_k(self.k, universe.size) > MOST_NAMED:
            raise ParameterError(
                f"Expected at most {MOST_NAMED:,} values of a universe, got k={self.k}."
            )
        return UniverseMethod(self.name, self.value, universe, self.k)

    def _unlisted(self, delta: Fraction) -> KeysMethod:
        if self.by is not None:
            raise ParameterError(
                "Expected categories=, the public list of them, with by=. If nobody can list them, "
                "ask for the counts of both columns together: "
                f"dampen.keys(data, [{self.by!r}, {self.value!r}], ...)."
            )
        if self.categories is not None or self.mechanism is not None:
            raise ParameterError(
                "A delta takes the place of public categories. Leave delta= out, or ask with it "
                "and without categories= and mechanism=."
            )
        check_k(self.k, sys.maxsize)
        wanted: Literal["name", "ranking"] = "name" if self.k is None else "ranking"
        return KeysMethod(self.name, (self.value,), delta, self.k or 1, wanted)

    def _unlisted_of_people(self, delta: Fraction, schema: Schema, price: Price) -> "Method":
        """Of three names or more noisy looks choose the way (`ChosenMethod`), else public facts."""
        method = self._unlisted(delta)
        weights = by_weights(method, schema, price)
        if schema.rows_per_unit > 1 or schema.groups_per_unit == 1:
            return weights
        k = self.k or 1
        wanted: Literal["name", "ranking"] = "name" if self.k is None else "ranking"
        unit = str(schema.people)
        limited = LimitedMethod(self.name, method.columns, delta, k, unit, wanted)
        if k >= SEVERAL and price.pure:
            return ChosenMethod(limited, CutMethod(delta, k), weights, schema.groups_per_unit)
        paid = limited.paid(price)
        return paid if names_are_limited(paid, schema, paid.cost(price).epsilon) else weights

    def unit_method(self, source: Any, schema: Schema, price: Price, /) -> "Method":
        """Distinct persons of every category; or the weights of persons, by a public rule.

        Weights serve an answer for every group, and rows (`rows_per_unit` above 1).  Else the noise
        of a ranking grows with the number m of categories of a person that count in full, but the
        weights of persons with more are biased.  Of three names or more a noisy count says what m
        is (`ChosenNames`).  For ρ, and where `groups_per_unit` is stated, a public rule does: k
        names are drawn one by one at ε/k each if k^1.5/ε is at most 500, else all from one draw of
        weights that shows them too, with m = 400 ε/k, at least 1.  Where a person is known to have
        one category (`groups_per_unit=1`), nobody's weight is shared, and one draw it is.
        """
        if self.delta is not None:
            return self._unlisted_of_people(exact_delta(self.delta), schema, price)
        if self.problem is None:
            raise ParameterError(
                f"Expected categories=, the public list of them, or delta=, where ε protects "
                f"{schema.protected}."
            )
        check_k(self.k, len(self.problem.candidates))
        of_rows = schema.rows_per_unit > 1
        by_group = self.grouping is not None
        in_full = 0 if of_rows or by_group else self._counted_in_full(schema, price)
        if of_rows or by_group or in_full:
            return self._one_draw(source, schema, price, in_full)
        mechanism = named(self.mechanism or price.selection)
        check_joint(mechanism, {})  # the counts of persons have no 1-norm
        one_by_one = DistinctMethod(self, mechanism, str(schema.people))
        open_choice = self.mechanism is None and schema.groups_per_unit is None and price.pure
        if (self.k or 1) < SEVERAL or not open_choice:
            return one_by_one
        return ChosenNames(self, str(schema.people))

    def _one_draw(self, source: Any, schema: Schema, price: Price, in_full: int) -> OfUnits:
        """All names from one noisy draw of the weights of persons, in every group if asked for."""
        assert self.problem is not None
        width = len(self.problem.candidates) + 1 if self.grouping is not None else 0
        named_joint = price.pure and self._several_or_joint(price)
        joint = replace(self, mechanism=EXACT_JOINT) if named_joint else self
        cap = in_full or schema.rows_per_unit

        def method_of(*asked: Any) -> CountMethod:
            method = joint.method(*asked)
            assert isinstance(method, CountMethod), "the categories are listed"
            return replace(method, steps=quantum_of(cap) // cap)

        return weighed(method_of, source, schema, price, width=width, distinct=in_full)

    def _several_or_joint(self, price: Price) -> bool:
        return self.chosen_mechanism(price).name == EXACT_JOINT.name

    def _counted_in_full(self, schema: Schema, price: Price) -> int:
        """m of one noisy draw of weights; 0 where none is taken by a public rule."""
        k = self.k or 1
        epsilon = price.asked()
        most = max(1, floor(COUNTED_IN_FULL * epsilon / k))
        if self.mechanism is not None:
            return min(schema.groups_per_unit or most, MOST_IN_FULL) * self._several_or_joint(price)
        if k < SEVERAL or (schema.groups_per_unit != 1 and drawn_one_by_one(k, epsilon)):
            return 0
        if price.pure and schema.groups_per_unit is None:
            return 0
        return min(schema.groups_per_unit or most, most)

    def shown(self) -> Mapping[str, Any]:
        facts: dict[str, Any] = {}
        if isinstance(self.categories, PublicUniverse):
            facts["categories"] = self.categories.size
        elif self.categories is not None:
            facts["categories"] = len(self.categories)
        if self.k is not None:
            facts["k"] = self.k
        if self.groups is not None:
            facts["groups"] = len(self.groups)
        return facts

    def text(self) -> str:
        return f"k={self.k or 1} of {self.value}".rstrip()

    def shape(self) -> Shape:
        return "name" if self.k is None else "ranking"

    def resolved(self, price: Price, /) -> Mapping[str, Any]:
        if isinstance(self.categories, PublicUniverse):
            return {"mechanism": EM.name}
        by_threshold = self.delta is not None and self.by is None
        return {"mechanism": "threshold" if by_threshold else self.chosen_mechanism(price).name}

    @property
    def finding(self) -> Finding | None:
        """How groups are found that nobody lists."""
        if self.by is None and self.groups is None:
            return None
        cells = 1 if self.problem is None else len(self.problem.categories) + 1
        return finding_groups(self, nothing={}, cells=cells)

    def chosen_mechanism(self, price: Price) -> Mechanism:
        """The one that is named, else the best known one."""
        several = self.k is not None and self.k > 1
        return named(self.mechanism or ("joint" if several else price.selection))

    @cached_property
    def problem(self) -> MostFrequent | None:
        """The problem, if the categories are public."""
        if self.categories is None or isinstance(self.categories, PublicUniverse):
            return None
        return MostFrequent(self.categories)

    @cached_property
    def grouping(self) -> Grouping | None:
        """The public groups, if an answer is asked for every group."""
        if self.by is None and self.groups is None:
            return None
        if self.problem is None:
            raise ParameterError(
                "Expected categories=, the public list of them, with by=. If nobody can list them, "
                "ask for the counts of both columns together: "
                f"dampen.keys(data, [{self.by!r}, {self.value!r}], delta=..., epsilon=...)."
            )
        if self.finding is not None:
            return Grouping(ANY_GROUP)
        assert self.groups is not None
        grouping = Grouping(self.groups)
        grouping.check_size(len(self.problem.categories))
        return grouping


@dataclass(frozen=True)
class CountMethod:
    """A mechanism on the counts of the categories, in every group if there are groups.

    Attributes:
        question: what is asked.
        mechanism: how it is drawn.
        noise: in all counts, where they are shown.
        steps: of the counts that one row, or one person, is worth.
    """

    question: FrequencyQuestion
    mechanism: Mechanism
    noise: IntegerNoise = LAPLACE_NOISE
    steps: int = 1

    def cost(self, price: Price, /) -> Cost:
        if self.noise == GAUSSIAN:
            cost = noise_cost(price, self.question.name, GAUSSIAN)
            check_scale(1 / cost.epsilon)
            return replace(cost, leaks=tuple(leak.parameter for leak in self.leaks()))
        leaks = tuple(leak.parameter for leak in self.leaks())
        if self.mechanism == JOINT:  # whose noise is discrete here
            cost = noise_cost(price, self.question.name, LAPLACE_NOISE)
            check_scale(1 / cost.epsilon)
            return replace(cost, mechanism=JOINT.name, leaks=leaks)
        if self._shows_margin:
            cost = composed_cost(
                MostFrequent.neighbours,
                price,
                query=self.question.name,
                mechanism=PF.name,
                leaks=leaks,
            )
            check_scale(1 / cost.epsilon)
            return cost
        return selection_cost(
            MostFrequent.neighbours,
            price,
            query=self.question.name,
            mechanism=self.mechanism,
            k=self.question.k or 1,
            leaks=leaks,
        )

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        problem = self.question.problem
        if problem is None:
            return UNKNOWN
        m = len(problem.categories)
        k = self.question.k or 1
        if self.noise == GAUSSIAN:
            most = 2 * likely_noise(epsilon, m, GAUSSIAN) + 1
            return by_lead(most, "rows", who=WHO, k=k, epsilon=epsilon, most=rows)
        tiny = problem.selection_of_counts(np.zeros(3, dtype=np.int64))
        needed = lead(tiny, self.mechanism, m=m, k=k, epsilon=epsilon)
        return by_lead(needed, "rows", who=WHO, k=k, epsilon=epsilon, most=rows)

    def leaks(self) -> tuple[Leak, ...]:
        if self.question.problem is not None:
            return ()
        remedy = "Pass categories=, the public list of candidates, or delta=, such as '1e-6'."
        return (Leak("categories", "The list of categories", remedy),)

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        """One name with its margin, or several with all noisy counts, where the noise allows it.

        Both are ε-DP together with the names: see `dampen.releases.numbers`.
        """
        problem, tables = self._counted(source)
        made = [self._named(problem, counts, epsilon, entropy) for counts in tables]
        shown = {"categories": len(problem.candidates)}
        law = self._law(epsilon, len(problem.candidates))
        answers: Any = made[0][0]
        numbers: Any = made[0][1]
        if self.question.grouping is not None:
            groups = self.question.grouping.groups
            answers = {group: each for group, (each, _) in zip(groups, made, strict=True)}
            numbers = {group: each for group, (_, each) in zip(groups, made, strict=True)}
        return Drawn(answers, shown, numbers=None if law is None else numbers, law=law)

    def _law(self, epsilon: Fraction, candidates: int) -> Law | None:
        """The law of the numbers that come with the names, if any do."""
        if self.mechanism == JOINT:
            return ShiftLaw(1 / epsilon, Fraction(1, self.steps), least=0, noise=self.noise)
        if not self._shows_margin or candidates == 1:  # one alone leads nobody
            return None
        return MarginLaw(1 / epsilon, candidates, self.steps)

    @property
    def _shows_margin(self) -> bool:
        """Whether one name comes with how far it leads."""
        return self.mechanism == PF and (self.question.k or 1) == 1

    def _named(
        self, problem: MostFrequent, counts: IntArray, epsilon: Fraction, entropy: Entropy
    ) -> tuple[Any, Any]:
        """The names, and the numbers that come with them."""
        selection = problem.selection_of_counts(counts)
        k = self.question.k
        names = problem.candidates
        if self.mechanism == JOINT:
            several = ranked(counts[:-1], k or 1, epsilon, entropy, self.noise)
            found = [names[i] for i in several.places]
            told = dict(zip(names, map(self._in_rows, several.numbers.tolist()), strict=True))
            return (found[0] if k is None else found), told
        if self._law(epsilon, len(names)) is not None:
            best = winner(counts[:-1], epsilon, entropy)
            name = names[best.place]
            return (name if k is None else [name]), self._in_rows(best.margin)
        picked = select(selection, epsilon=epsilon, mechanism=self.mechanism, k=k, entropy=entropy)
        if isinstance(picked, list):
            return [names[i] for i in picked], None
        return names[picked], None

    def _in_rows(self, steps: int) -> int | float:
        """A noisy number of rows, or of persons."""
        return steps if self.steps == 1 else steps / self.steps

    def _counted(self, source: Any) -> tuple[MostFrequent, Sequence[IntArray]]:
        """The problem, and its counts: one vector, or one for every group."""
        public = self.question.problem
        column = self.question.value
        if public is None or not is_opened(source):
            rows = _tally(source, column) if is_opened(source) else source
            problem = public or MostFrequent(list(dict.fromkeys(rows)))
            return problem, [problem.counts(rows)]
        if self.question.grouping is None:
            return public, [public.opened_counts(source, column)]
        by = str(self.question.by)
        return public, list(public.grouped_counts(source, column, by, self.question.grouping))


@dataclass(frozen=True)
class DistinctMethod:
    """A mechanism on the number of distinct persons of every category.

    **Theorem.**  A person who comes moves every count by 0 or 1, upwards only, however many
    categories they have.  So one answer of permute-and-flip, or of the exponential mechanism, with
    the exponent ε u is ε-DP for one person, as for every one-sided utility of sensitivity 1; and k
    answers at ε/k each are too.  The counts are neither separable nor of a bounded 1-norm: other
    scores pay a factor 2, and one noisy vector for all k is not private.

    Attributes:
        question: what is asked.
        mechanism: how it is drawn.
        unit: the column that names the person.
    """

    question: FrequencyQuestion
    mechanism: Mechanism
    unit: str

    def cost(self, price: Price, /) -> Cost:
        return selection_cost(
            Neighbours.ADD_REMOVE_UNIT,
            price,
            query=self.question.name,
            mechanism=self.mechanism,
            k=self.question.k or 1,
        )

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        m = len(self._problem.categories)
        k = self.question.k or 1
        tiny = distinct_selection(np.zeros(3, dtype=np.int64))
        needed = lead(tiny, self.mechanism, m=m, k=k, epsilon=epsilon)
        return by_lead(needed, "people", who=WHO, k=k, epsilon=epsilon, most=rows)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        selection = distinct_selection(_people_of(self.question, source, self.unit, Present()))
        k = self.question.k
        picked = select(selection, epsilon=epsilon, mechanism=self.mechanism, k=k, entropy=entropy)
        names = self._problem.candidates
        answered = [names[i] for i in picked] if isinstance(picked, list) else names[picked]
        return Drawn(answered, {"categories": len(names), "unit": self.unit, "counted": "people"})

    @property
    def _problem(self) -> MostFrequent:
        assert self.question.problem is not None
        return self.question.problem


@dataclass(frozen=True)
class RankedWeights:
    """The k categories with the largest noisy weights, of which nothing but the ranking is shown.

    A person counts once in each of their r categories: by 1 if r is at most m, else by m / r, and
    if r is above k by m / k.  Every weight gets discrete Laplace noise of scale m/ε; if m is k,
    where everybody counts in full, that noise is one-sided: P(g) ~ exp(-g ε/k) for g = 0, 1, ...
    Ties are broken at random.

    **Theorem.**  The ranking is ε-DP for one person.  Proof.  A person has weights w_i, W at most,
    and k W <= m or Σ w_i <= m.  Let S be a ranking of k categories.  If the person leaves, let the
    noise of every i in S be higher by w_i: what is in S stays as it was, all others fall or stay,
    and S is still the answer.  If the person comes, let the noise of every i in S be higher by
    W - w_i: what is in S rises by W, all others by W at most.  Either way k W is the most by which
    noise is raised in all, which lowers its probability by e^(k W ε / m) at most, one-sided or not.
    Where Σ w_i <= m, move the noise of each of the person's categories by w_i instead, down if they
    come and up if they leave, which leaves all as it was.  ∎

    So k names cost no more than a draw of each at ε/k, and come from one.  The noisy weights
    themselves would not be private: a person with many categories moves all of them.

    Attributes:
        question: what is asked.
        unit: the column that names the person.
        in_full: m, at most k.
    """

    question: FrequencyQuestion
    unit: str
    in_full: int

    @property
    def weighing(self) -> Shares:
        """Weights in whole numbers: Q is m, of which m and k are divisors."""
        k = self.question.k or 1
        if self.in_full == k:
            return Shares(k, k, distinct=True, shared_by=k)
        both = lcm(self.in_full, k)
        quantum = both * -(-LEAST_QUANTUM // both)
        return Shares(quantum, self.in_full, distinct=True, shared_by=k)

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        return self.drawn(
            _people_of(self.question, source, self.unit, self.weighing), epsilon, entropy
        )

    def drawn(self, weights: IntArray, epsilon: Fraction, entropy: Entropy) -> Drawn:
        """Names from the weights of all categories."""
        question = self.question
        assert question.problem is not None
        k = question.k or 1
        one_sided = self.in_full == k
        draw = geometric if one_sided else discrete_laplace
        noise = draw(self.weighing.quantum / epsilon, len(weights), entropy)
        names = question.problem.candidates
        places = largest(weights + noise, k, entropy)
        shown = {"categories": len(names), "unit": self.unit, "counted": "people"}
        return Drawn([names[i] for i in places], {**shown, "groups_per_unit": self.in_full})


@dataclass(frozen=True)
class ChosenNames:
    """A ranking by noisy weights, in which as many categories count in full as a noisy count says.

    Let T be the k-th largest number of distinct persons of a category, of n categories.  The
    *level* is ε (T + Z) / ln n, for discrete Laplace noise Z of scale 20/ε: about how many
    categories of a person can count in full before noise hides the k-th of them.  From 2 k on all
    do.  Below, m of them do (`RankedWeights`): the largest power of two up to k/2 of which
    7 (m/2)^(2/3) is at most the level, or 1.

    **Theorem.**  All of it is ε-DP.  Proof.  A person who comes moves every count of distinct
    persons by 0 or 1, upwards, and so T.  The noisy T is ε/20-DP, whatever is done with it costs
    nothing, and each ranking is 19/20 ε-DP: adaptive composition.  ∎

    `dampen-studies run names` compares the rankings, and has each of its relations, left out, judge
    the levels that the others choose.

    Attributes:
        question: what is asked.
        unit: the column that names the person.
    """

    question: FrequencyQuestion
    unit: str

    def cost(self, price: Price, /) -> Cost:
        epsilon = price.asked()
        parts = CHOICE * epsilon, (1 - CHOICE) * epsilon
        check_scale(1 / parts[0])
        check_scale(max(each.weighing.quantum for each in self._rankings) / parts[1])
        rho = sum(map(pure_rho, parts), Fraction(0))
        return Cost(epsilon, rho, self.question.name, RANKING, Neighbours.ADD_REMOVE_UNIT)

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """That of draws one by one, which have more noise; or all of T where weights are shared.

        Shares may rank a category of T persons below one of nobody.  All count in full, though, if
        T is above 2 k ln(n) / ε by 40/ε, unless Z is below -40/ε: with probability e^-2 / 2.
        """
        assert self.question.problem is not None
        n = len(self.question.problem.categories)
        k = self.question.k or 1
        tiny = distinct_selection(np.zeros(3, dtype=np.int64))
        needed = lead(tiny, PF, m=n, k=k, epsilon=(1 - CHOICE) * epsilon)
        assert needed is not None
        shared = (ALL_IN_FULL_FROM * k * log(n) + 2 / float(CHOICE)) / float(epsilon)
        return by_lead(max(needed, shared), "people", who=WHO, k=k, epsilon=epsilon, most=rows)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    @property
    def _rankings(self) -> list[RankedWeights]:
        """All that may be chosen."""
        k = self.question.k or 1
        powers = takewhile(lambda m: 2 * m <= min(k, MOST_IN_FULL), (1 << i for i in count()))
        return [RankedWeights(self.question, self.unit, m) for m in (*powers, k)]

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        counts = _people_of(self.question, source, self.unit, Present())
        k = self.question.k or 1
        kth = int(np.partition(counts, len(counts) - k)[len(counts) - k])
        noisy = kth + int(discrete_laplace(1 / (CHOICE * epsilon), 1, entropy)[0])
        in_full = counted_in_full(float(epsilon) * noisy / log(len(counts)), k)
        ranking = RankedWeights(self.question, self.unit, in_full)
        rest = (1 - CHOICE) * epsilon
        if in_full == k:
            return ranking.drawn(counts, rest, entropy)
        return ranking.draw(source, rest, entropy)


RANKING = "ranking"
"""The mechanism of `ChosenNames`."""


def counted_in_full(level: float, k: int) -> int:
    """How many categories of a person count in full.

    >>> [counted_in_full(level, k=20) for level in (5, 7, 12, 30, 40)]
    [1, 2, 4, 8, 20]
    """
    if level >= ALL_IN_FULL_FROM * k:
        return k
    in_full = 1
    while 4 * in_full <= min(k, MOST_IN_FULL) and level >= TWO_IN_FULL_FROM * in_full ** (2 / 3):
        in_full *= 2
    return in_full


def _people_of(
    question: FrequencyQuestion, source: Any, unit: str, weighing: Shares | Present
) -> IntArray:
    """What persons add to every category; private."""
    assert question.problem is not None
    people = UnitTable(source, unit, weighing)
    return question.problem.opened_counts(people, question.value)[:-1]


def drawn_one_by_one(k: int, epsilon: Fraction) -> bool:
    """Whether k names of persons' categories are drawn one by one; see `unit_method`."""
    return k**3 <= (DRAWN_ONE_BY_ONE * epsilon) ** 2


def distinct_selection(people: IntArray) -> Selection:
    """From the number of distinct persons of every category."""
    return Selection(people, sensitivity.constant(1), one_sided=True, exact=True)


def _tally(opened: Opened, name: str) -> Counter[Hashable]:
    """The distinct values, as they occur, and their counts; only these are held."""
    tally: Counter[Hashable] = Counter()
    with reading(opened.batches({name: "any"})) as stream:
        for batch in stream:
            tally.update(as_labels([batch[name]]))
    return tally


def most_frequent(
    data: Any,
    value: str | None = None,
    *,
    categories: Sequence[Hashable] | PublicUniverse | None = None,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    k: int | None = None,
    delta: Epsilon | None = None,
    mechanism: str | Mechanism | None = None,
    by: Any = None,
    groups: Sequence[Hashable] | None = None,
    where: str | None = None,
    public: str | None = None,
    weigh: str | None = None,
    unit: Any = None,
    rows_per_unit: int = 1,
    groups_per_unit: int | None = None,
    header: bool = False,
    table: str | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The most frequent category, or the k most frequent ones, with ε-differential privacy.

    Guarantee: ε-DP under adding or removing one value.  `categories` is the public list of
    candidates.  If nobody can list them, pass `delta`: the answer is then (ε, δ)-DP, and names only
    values that enough rows have (`dampen.keys` gives their counts too); it is None, or a shorter
    list, where there are too few.

    The default is permute-and-flip for one answer, the joint release for several: there every count
    gets discrete Laplace noise of scale 1/ε once, whatever k is, where permute-and-flip would draw
    k times at ε/k.  `Release.numbers` has the noisy counts of all categories, or for one answer its
    margin over all others; `Release.interval` says where the true numbers lie.  They cost no more.
    Several answers for ρ have discrete Gaussian noise of variance 1/(2ρ) instead.

    With `by=` and `groups=` the answer is a dict with the answer of every group, for one ε.  Rows
    of groups that are not listed are dropped, and groups without rows have an answer like others.

    Args:
        data: a column, a table or the path of a file (see `dampen.data`); or the counts themselves,
            as a mapping from categories, such as a `Counter`, or what `value_counts()` of pandas
            gives.
        value: in a table, the name of the column of categories.
        categories: the public candidates: a list, or all values of a `dampen.universe`.  Of files
            they are compared as text where all are text.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        k: how many; None for one that is not in a list.
        delta: in place of categories, or of groups, the probability with which ε may fail, such as
            "1e-6".
        mechanism: a name or a `Mechanism`; None for the best one.
        by: the column of groups, or its name; a list of names for several, such as
            ["ward", "year"]: groups are then tuples.
        groups: the public list of groups.
        where: a condition on every row, such as "age >= 65 and ward == 'A'"; other rows are left
            out (see `dampen.data.expressions`).
        public: "data" takes the categories from the data, which ε does not cover: for data that is
            public itself.
        weigh: where `unit` names the person: "people" for the statistic of the average person, the
            default; "rows" for that of the rows.
        unit: the column that names the person a row belongs to, or its name: ε then protects a
            person with all their rows (see `dampen.data.units`).
        rows_per_unit: how many rows of a person count in full.
        groups_per_unit: a hint, in how many groups or categories a person usually is.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database file (DuckDB, SQLite), which table.
        budget: where to charge ε.
        entropy: of random bits; the operating system's by default.

    Returns:
        A `Release`: the answer and the public facts about it.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the machine cannot read the data; the charge stands.

    >>> import dampen
    >>> votes = ["tea"] * 90 + ["coffee"] * 30
    >>> dampen.most_frequent(votes, categories=["coffee", "tea", "water"], epsilon="1").answer
    'tea'
    """
    if value is None:
        data = as_counts(data)
    source = data
    names = {"value": ""}
    if value is not None or by is not None or not is_counts(data):
        source, names = open_columns(
            data, value=value, by=by, unit=unit, header=header, table=table
        )
    question = FrequencyQuestion(
        value=names["value"],
        categories=categories,
        k=k,
        delta=delta,
        by=names.get("by"),
        groups=groups,
        mechanism=mechanism,
        where=where,
        public=public,
        weigh=weigh,
    )
    return answer(
        question,
        source,
        epsilon=epsilon,
        rho=rho,
        budget=budget,
        entropy=entropy,
        schema=persons(names, rows_per_unit, groups_per_unit),
    )
