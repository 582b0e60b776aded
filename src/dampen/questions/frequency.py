"""The most frequent category: the simplest question, and a pattern for your own.

Add/remove one row.  u(x, r) = the number of rows of category r: integers, Δ = 1, and one-sided,
because adding a row never lowers a count.  One row changes one count: the selection is separable,
so that no score pays a factor 2, and the whole vector of counts has 1-norm sensitivity 1, so that
`joint` reads off any k for one ε.

Groups hold disjoint rows, so that an answer for every group costs ε once (parallel composition).

The default is permute-and-flip for one answer and the joint release for several: there every count
gets Laplace noise of scale 1/ε once, whatever k is, where permute-and-flip would draw k times at
ε/k.
"""

import sys
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from dampen.core import sensitivity
from dampen.core.mechanisms import MECHANISMS, Mechanism, check_joint, check_k, named, select
from dampen.core.noise import LAPLACE
from dampen.core.sampling import Entropy
from dampen.core.scores import Global, Shifted
from dampen.core.selection import IntArray, Neighbours, Selection
from dampen.data.cells import Grouping, Keyed, LabelKey
from dampen.data.columns import Lookup, as_labels
from dampen.data.memory import MemoryTable, is_counts
from dampen.data.open import open_columns, open_table
from dampen.data.source import Kind, Opened, is_opened, reading, require_labels
from dampen.data.units import Present, UnitTable
from dampen.epsilon import Epsilon
from dampen.errors import DataError, ParameterError
from dampen.releases.accuracy import UNKNOWN, Accuracy, by_lead, lead
from dampen.releases.answer import answer
from dampen.releases.cost import Budget, Cost, Price, selection_cost
from dampen.releases.method import Drawn, Leak, Method
from dampen.releases.question import Fact, Shape, parameter
from dampen.releases.release import Release
from dampen.releases.units import weighed
from dampen.schema.schema import Schema

__all__ = ["FrequencyQuestion", "MostFrequent", "most_frequent"]

MANY = 10
"""From so many answers on, one noisy draw may beat as many draws."""
EXACT_JOINT = Mechanism("joint", Global(), LAPLACE)
"""On counts as they are: other scores would be cut at 2^28."""


@dataclass(frozen=True)
class MostFrequent:
    """Which of the public `categories` occurs most often?"""

    categories: Sequence[Hashable]
    neighbours = Neighbours.ADD_REMOVE_ROW
    joint = MappingProxyType({Global(): 1.0, Shifted(): 1.0})

    def __post_init__(self) -> None:
        if isinstance(self.categories, str):
            raise ParameterError("Expected categories to be a list, got one text.")
        if len(self.categories) == 0:
            raise ParameterError("Expected at least one category, got none.")
        try:
            different = len(set(self.categories))
        except TypeError:
            raise ParameterError("Expected categories such as text or numbers.") from None
        if different < len(self.categories):
            raise ParameterError("Expected different categories; some occur twice.")

    @property
    def candidates(self) -> Sequence[Hashable]:
        return self.categories

    def selection(self, values: Any, /) -> Selection:
        """A column of values, or the counts of the categories as a mapping.

        Raises:
            DataError: if a value is not among the categories.
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
        """From the rows of every category, then those of none of them.

        Raises:
            DataError: if there are rows of none of the categories.
        """
        if counts[-1]:
            raise DataError(
                "Expected only values from the given categories; there is another one. Add it to "
                "categories= if it is public, or drop such rows before the release."
            )
        return Selection(
            counts[:-1],
            sensitivity.constant(1),
            one_sided=True,
            separable=True,
            joint=self.joint,
            exact=True,
        )

    def _wanted(self, column: str) -> dict[str, Kind]:
        return {column: Lookup(self.categories).kind}

    def _cell_of(self, column: str) -> Keyed:
        lookup = Lookup(self.categories)
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
    categories: Sequence[Hashable] | None = parameter(
        "labels",
        "Public list of the categories.",
        default=None,
        fact=Fact("values", of="value"),
    )
    k: int | None = parameter(
        "count", "How many categories; one if left out.", default=None, label="How many", short="k"
    )
    by: str | None = parameter(
        "column",
        "Column of groups: one answer for every group.",
        default=None,
        label="For every",
        holds="categories",
    )
    groups: Sequence[Hashable] | None = parameter(
        "labels", "Public list of the groups.", default=None, fact=Fact("values", of="by")
    )
    mechanism: str | Mechanism | None = parameter(
        "word",
        "Mechanism; the best known one if left out.",
        default=None,
        choices=tuple(each.name for each in MECHANISMS),
    )
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
            return data
        opened = open_table(data, header=header, table=table)
        require_labels(opened, self.value)
        if self.grouping is not None:
            self.grouping.check_column(opened, str(self.by), self.value)
        return opened

    def method(self, source: Any, schema: Schema, price: Price, /) -> "CountMethod":
        del source, schema, price
        mechanism = self.chosen_mechanism
        check_joint(mechanism, MostFrequent.joint)
        problem = self.problem
        check_k(self.k, sys.maxsize if problem is None else len(problem.candidates))
        return CountMethod(self, mechanism)

    def unit_method(self, source: Any, schema: Schema, price: Price, /) -> "Method":
        """Distinct persons of every category; or the weights of persons, by a public rule.

        Weights serve an answer for every group, rows (`rows_per_unit` above 1), and many
        categories of which a person has few: there one noisy draw names any k of them.
        """
        if self.problem is None:
            raise ParameterError(
                f"Expected categories=, the public list of them, where ε protects "
                f"{schema.protected}."
            )
        check_k(self.k, len(self.problem.candidates))
        of_rows = schema.rows_per_unit > 1
        by_group = self.grouping is not None
        if not of_rows and not by_group and not self._is_joint_for(schema):
            mechanism = named(self.mechanism or "pf")
            return DistinctMethod(self, mechanism, str(schema.people))
        width = len(self.problem.candidates) + 1 if by_group else 0
        joint = replace(self, mechanism=EXACT_JOINT) if self._several_or_joint else self
        distinct = not of_rows and not by_group
        return weighed(joint.method, source, schema, price, width=width, distinct=distinct)

    @property
    def _several_or_joint(self) -> bool:
        return self.chosen_mechanism.name == EXACT_JOINT.name

    def _is_joint_for(self, schema: Schema) -> bool:
        """Whether one noisy draw of weights beats k draws on distinct persons: a public rule."""
        if self.mechanism is not None:
            return self._several_or_joint
        k = self.k or 1
        return k >= MANY and 2 * (schema.groups_per_unit or k) <= k

    def shown(self) -> Mapping[str, Any]:
        facts: dict[str, Any] = {}
        if self.categories is not None:
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
        del price
        return {"mechanism": self.chosen_mechanism.name}

    @property
    def chosen_mechanism(self) -> Mechanism:
        """The one that is named, else the best known one."""
        several = self.k is not None and self.k > 1
        return named(self.mechanism or ("joint" if several else "pf"))

    @cached_property
    def problem(self) -> MostFrequent | None:
        """The problem, if the categories are public."""
        return None if self.categories is None else MostFrequent(self.categories)

    @cached_property
    def grouping(self) -> Grouping | None:
        """The public groups, if an answer is asked for every group."""
        if self.by is None and self.groups is None:
            return None
        if self.problem is None or self.by is None or self.groups is None:
            raise ParameterError(
                "Expected by=, the column of groups, with groups= and categories=, both public "
                "lists."
            )
        grouping = Grouping(self.groups)
        grouping.check_size(len(self.problem.categories))
        return grouping


@dataclass(frozen=True)
class CountMethod:
    """A mechanism on the counts of the categories, in every group if there are groups."""

    question: FrequencyQuestion
    mechanism: Mechanism

    def cost(self, price: Price, /) -> Cost:
        return selection_cost(
            MostFrequent.neighbours,
            price,
            query=self.question.name,
            mechanism=self.mechanism,
            k=self.question.k or 1,
            leaks=tuple(leak.parameter for leak in self.leaks()),
        )

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        problem = self.question.problem
        if problem is None:
            return UNKNOWN
        m = len(problem.categories)
        k = self.question.k or 1
        tiny = problem.selection_of_counts(np.zeros(3, dtype=np.int64))
        needed = lead(tiny, self.mechanism, m=m, k=k, epsilon=epsilon)
        who = ("category", "categories")
        return by_lead(needed, "rows", who=who, k=k, epsilon=epsilon, most=rows)

    def leaks(self) -> tuple[Leak, ...]:
        if self.question.problem is not None:
            return ()
        remedy = "Pass categories=, the public list of candidates."
        return (Leak("categories", "categories", remedy),)

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        problem, tables = self._counted(source)
        answers = [self._named(problem, counts, epsilon, entropy) for counts in tables]
        shown = {"categories": len(problem.candidates)}
        if self.question.grouping is None:
            return Drawn(answers[0], shown)
        return Drawn(dict(zip(self.question.grouping.groups, answers, strict=True)), shown)

    def _named(
        self, problem: MostFrequent, counts: IntArray, epsilon: Fraction, entropy: Entropy
    ) -> Any:
        selection = problem.selection_of_counts(counts)
        k = self.question.k
        picked = select(selection, epsilon=epsilon, mechanism=self.mechanism, k=k, entropy=entropy)
        if isinstance(picked, list):
            return [problem.candidates[i] for i in picked]
        return problem.candidates[picked]

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
        who = ("category", "categories")
        return by_lead(needed, "people", who=who, k=k, epsilon=epsilon, most=rows)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Any, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        people = UnitTable(source, self.unit, Present())
        counts = self._problem.opened_counts(people, self.question.value)
        selection = distinct_selection(counts[:-1])
        k = self.question.k
        picked = select(selection, epsilon=epsilon, mechanism=self.mechanism, k=k, entropy=entropy)
        names = self._problem.candidates
        answered = [names[i] for i in picked] if isinstance(picked, list) else names[picked]
        return Drawn(answered, {"categories": len(names), "unit": self.unit, "counted": "people"})

    @property
    def _problem(self) -> MostFrequent:
        assert self.question.problem is not None
        return self.question.problem


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
    categories: Sequence[Hashable] | None = None,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    k: int | None = None,
    mechanism: str | Mechanism | None = None,
    by: Any = None,
    groups: Sequence[Hashable] | None = None,
    header: bool = False,
    table: str | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The most frequent category, or the k most frequent ones, with ε-differential privacy.

    Guarantee: ε-DP under adding or removing one value.  `categories` is the public list of
    candidates; without it the distinct values are taken, with a `PrivacyLeakWarning`.

    The default is permute-and-flip for one answer, the joint release for several: there every count
    gets Laplace noise of scale 1/ε once, whatever k is, where permute-and-flip would draw k times
    at ε/k.

    With `by=` and `groups=` the answer is a dict with the answer of every group, for one ε.  Rows
    of groups that are not listed are dropped, and groups without rows have an answer like others.

    Args:
        data: a column, a table or the path of a file (see `dampen.data`); or the counts themselves,
            as a mapping from categories, such as a `Counter`.
        value: in a table, the name of the column of categories.
        categories: the public candidates.  Of files they are compared as text where all are text.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        k: how many; None for one that is not in a list.
        mechanism: a name or a `Mechanism`; None for the best one.
        by: the column of groups, or its name.
        groups: the public list of groups.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database file (DuckDB, SQLite), which table.
        budget: where to charge ε.
        entropy: of random bits; the operating system's by default.

    Returns:
        A `Release`: the answer and the public facts about it.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the data is not as promised; the charge stands.

    >>> import dampen
    >>> votes = ["tea"] * 90 + ["coffee"] * 30
    >>> dampen.most_frequent(votes, categories=["coffee", "tea", "water"], epsilon="1").answer
    'tea'
    """
    source = data
    names = {"value": ""}
    if value is not None or by is not None or not is_counts(data):
        source, names = open_columns(data, value=value, by=by, header=header, table=table)
    question = FrequencyQuestion(
        value=names["value"],
        categories=categories,
        k=k,
        by=names.get("by"),
        groups=groups,
        mechanism=mechanism,
    )
    return answer(question, source, epsilon=epsilon, rho=rho, budget=budget, entropy=entropy)
