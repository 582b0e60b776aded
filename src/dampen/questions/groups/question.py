"""`top_groups`: which group has the largest median, mean, quantile or sum, privately.

Reach answers for all statistics but the sum, a mechanism on the sums for the sum; see
`dampen.questions.groups.problem` and `dampen.questions.groups.statistics` for the theorems.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from dampen.core.losses import equal_parts
from dampen.core.mechanisms import Mechanism
from dampen.core.sampling import Entropy
from dampen.core.selection import Neighbours, check_k
from dampen.data.cells import ANY_GROUP
from dampen.data.columns import as_bound, measure_of, measured, shown_as
from dampen.data.open import open_columns, open_table
from dampen.data.source import Opened, require_numbers
from dampen.data.units import Shares, UnitTable, quantum_of
from dampen.epsilon import Epsilon, decimal_text, short_text
from dampen.errors import ParameterError
from dampen.questions.groups.problem import (
    STATISTICS,
    BestGroup,
    divided,
    group_step,
    row_weight,
    step_of,
)
from dampen.questions.groups.reach import MIN_MAX, MIN_MAX_FOR_RHO, min_max_offset
from dampen.questions.groups.statistics import (
    Exact,
    Mean,
    Quantile,
    QuantileMethod,
    sum_lead,
    sum_mechanism,
)
from dampen.questions.keys import finding_groups
from dampen.releases.accuracy import UNKNOWN, Accuracy, by_lead, by_rows, likely_push, of_all
from dampen.releases.answer import answer
from dampen.releases.cost import Budget, Cost, Price, composed_cost, selection_cost
from dampen.releases.method import (
    Drawn,
    Finding,
    InOwnType,
    Leak,
    Measured,
    Method,
    checked_share,
)
from dampen.releases.numbers import GAUSSIAN, LAPLACE, IntegerNoise, noise_for
from dampen.releases.question import (
    Shape,
    checked_choice,
    delta_parameter,
    groups_parameter,
    kind_parameter,
    lower_parameter,
    parameter,
    upper_parameter,
    weigh_parameter,
    where_parameter,
)
from dampen.releases.release import Release
from dampen.releases.units import persons, weighed
from dampen.schema.schema import Schema

if TYPE_CHECKING:
    from dampen.questions.counts import CountQuestion
    from dampen.questions.means import MeanQuestion, TotalQuestion

__all__ = ["GroupsQuestion", "top_groups"]

WHO = ("group", "groups")
UNIT = "rows"
FEW_GROUPS = 2
"""Up to so many groups a person, weights that are shared by all groups are better than min-max."""


@dataclass(frozen=True, kw_only=True)
class GroupsQuestion:
    """Which group has the largest statistic?"""

    value: str = parameter("column", "Column of the private numbers.", holds="numbers")
    by: str = parameter(
        "column",
        "Column of the groups; several with commas.",
        label="Group by",
        holds="categories",
        several=True,
    )
    groups: Sequence[Hashable] | None = groups_parameter()
    delta: Epsilon | None = delta_parameter()
    statistic: str | None = parameter(
        "word",
        "What groups are compared by; the median if left out, the quantile if p is given. "
        + " ".join(f"{known.name}: {known.help}." for known in STATISTICS),
        default=None,
        choices=tuple(known.name for known in STATISTICS),
        label="Compared by",
    )
    p: Exact | None = parameter(
        "exact",
        f"Percentage, for {' and '.join(each.name for each in STATISTICS if each.percent)}.",
        default=None,
        label="Percent",
        short="p",
    )
    lower: Exact | None = lower_parameter(optional=True)
    upper: Exact | None = upper_parameter(optional=True)
    step: Exact | None = group_step()
    kind: str | None = kind_parameter()
    k: int | None = parameter(
        "count", "How many groups; one if left out.", default=None, label="How many", short="k"
    )
    smallest: bool = parameter(
        "flag",
        "Ask for the smallest statistic instead.",
        default=False,
        label="The smallest instead",
    )
    min_rows: int = parameter("count", "Groups with fewer rows rank last.", default=1)
    caution: Exact | None = parameter(
        "exact",
        "Penalty for small groups, so that a group with few rows does not win by noise. 0 disables "
        "it; chosen from ε and the statistic if left out.",
        default=None,
    )
    ordered: bool = parameter(
        "flag", "The k groups best first; each of them gets a share of ε.", default=False
    )
    measure: str | None = parameter(
        "word",
        "Give the winner's own number too, for a share of ε: its statistic, or how many rows it "
        "has.",
        default=None,
        choices=("statistic", "count"),
        label="Also its",
    )
    share: Exact | None = parameter(
        "exact", "Share of ε for the number; a quarter if left out.", default=None
    )
    where: str | None = where_parameter()
    weigh: str | None = weigh_parameter()
    name: ClassVar[str] = "top-groups"
    title: ClassVar[str] = "Group with the largest statistic"
    data: ClassVar[Literal["table", "edges"]] = "table"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen top-groups stays.csv --value days --by hospital --groups H1,H2,H3 --epsilon 0.3",
        "dampen top-groups stays.csv --value days --by hospital --groups H1,H2,H3 --lower 0 "
        "--upper 100 --step 1 --statistic quantile -p 90 -k 2 --epsilon 0.3",
    )

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Opened:
        opened = open_table(data, header=header, table=table, where=self.where, value=self.value)
        opened = measured(opened, self.value, (self.lower, self.upper), self.kind)
        require_numbers(opened, self.value)
        self.finding  # noqa: B018  # groups that are neither listed nor found are refused here
        self.problem.grouping.check_column(opened, self.by, self.value)
        return opened

    def method(self, source: Any, schema: Schema, price: Price, /) -> Method:
        """Under replacement too where everyone's group is public and fixed: one group changes."""
        check_k(self.k, len(self.problem.candidates))
        fixed = self.where is None and self.measure is None and schema.is_fixed(self.by)
        problem = replace(
            self.problem, neighbours=schema.relation if fixed else Neighbours.ADD_REMOVE_ROW
        )
        noise = noise_for(price)
        way = SumMethod if problem.by_sum else ReachMethod
        method: Method = way(self, problem, noise)
        return self._measured(method, lambda groups: self._number_of(groups, source))

    def _measured(
        self, method: Method, number_of: Callable[[Sequence[Hashable]], Method]
    ) -> Method:
        """A method that names groups, and measures them if that is asked for."""
        if self.measure is None:
            if self.share is not None:
                raise ParameterError("Expected measure= with share=, such as measure='statistic'.")
            return method
        expected = [*self.problem.candidates][: self.size]
        return Measured(method, number_of, checked_share(self.share), expected)

    def _number_of(self, groups: Sequence[Hashable], source: Any) -> Method:
        """The method that measures groups which are public by now, in rows."""
        measuring = self._measuring(groups)
        if isinstance(measuring, QuantileMethod):
            return self._typed(measuring, source)
        return measuring.method(source, Schema(), Price(Fraction(1)))

    def _typed(self, measuring: QuantileMethod, source: Any) -> Method:
        """A quantile in the type of the column."""
        measure = measure_of(source, self.value, (self.lower, self.upper), self.kind)
        shown = shown_as(source, self.value, measure)
        return measuring if shown is None else InOwnType(measuring, shown)

    def _number_of_people(self, groups: Sequence[Hashable], source: Any, schema: Schema) -> Method:
        """The same of persons, who share their weight among these groups alone."""
        measuring = self._measuring(groups)
        price = Price(Fraction(1))
        if not isinstance(measuring, QuantileMethod):
            return measuring.unit_method(source, schema, price)
        typed = self._typed(measuring, source)
        return weighed(lambda *_: typed, source, schema, price, width=self.problem.width)

    def _measuring(
        self, groups: Sequence[Hashable]
    ) -> "QuantileMethod | CountQuestion | MeanQuestion | TotalQuestion":
        """What measures groups which are public by now: a method, or a question that has one.

        Raises:
            ParameterError: if the statistic has no number of its own.
        """
        from dampen.questions.counts import CountQuestion
        from dampen.questions.means import MeanQuestion, TotalQuestion

        checked_choice("measure", self.measure, ("statistic", "count"))
        compared = self.problem.compared
        if self.measure == "count":
            return CountQuestion(by=self.by, groups=groups)
        if not self.problem.has_grid:
            raise ParameterError(
                "Expected lower= and upper= with measure='statistic', the public ends of the "
                "values. Or ask for measure='count'."
            )
        if isinstance(compared, Quantile):
            return QuantileMethod(self.value, self.by, groups, self.problem.grid, compared.p)
        given: dict[str, Any] = {
            "value": self.value, "lower": self.lower, "upper": self.upper, "step": self.step,
            "kind": self.kind, "by": self.by, "groups": groups,
        }  # fmt: skip
        if isinstance(compared, Mean):
            return MeanQuestion(**given)
        if self.problem.by_sum:
            return TotalQuestion(**given)
        raise ParameterError(
            f"The {self.problem.named.name} of one group cannot be measured. Ask for "
            "measure='count', or by another statistic."
        )

    def unit_method(self, source: Any, schema: Schema, price: Price, /) -> Method:
        """The weights of persons, shared by all groups; min-max where persons are in many groups.

        They cross at two groups a person (`groups_per_unit`, a public hint).  Sums and trimmed
        means have no min-max.
        """
        naming = replace(self, measure=None, share=None)._named_people(source, schema, price)
        return self._measured(naming, lambda groups: self._number_of_people(groups, source, schema))

    def _named_people(self, source: Any, schema: Schema, price: Price) -> Method:
        cap = schema.rows_per_unit
        quantum = quantum_of(cap)
        row = row_weight(self.min_rows, schema)
        many = (schema.groups_per_unit or 1) > FEW_GROUPS
        scaled = self if self.problem.by_sum else self._of_weights(row)
        if many and isinstance(self.problem.compared, Quantile | Mean):
            check_k(self.k, len(self.problem.candidates))
            weighing = Shares(quantum, cap, within_lines=True)
            mechanism = MIN_MAX if price.pure else MIN_MAX_FOR_RHO
            return MinMaxMethod(scaled, str(schema.people), weighing, mechanism)
        return weighed(scaled.method, source, schema, price, width=self.problem.width)

    def _of_weights(self, row: int) -> "GroupsQuestion":
        """The same question of weights, of which a row has so many."""
        return replace(self, min_rows=self.min_rows * row)

    def shown(self) -> Mapping[str, Any]:
        facts = {**self.problem.public, "k": self.k, "ordered": self.ordered}
        if self.measure is not None:
            facts |= {"measure": self.measure, "share": decimal_text(checked_share(self.share))}
        return facts

    def text(self) -> str:
        return f"{self.problem.named.name} of {self.value} by {self.by}"

    def shape(self) -> Shape:
        if self.k is None:
            return "name"
        return "ranking" if self.ordered else "set"

    def resolved(self, price: Price, /) -> Mapping[str, Any]:
        del price
        return {"statistic": self.problem.named.name}

    @property
    def finding(self) -> Finding | None:
        """How groups are found that nobody lists."""
        if self.groups is not None and self.delta is None:
            return None
        nothing: Any = None if self.k is None else []
        found = finding_groups(self, nothing=nothing, cells=self.problem.width or 1)
        assert found is not None
        filled = found.filled
        return replace(found, filled=lambda groups: _of_as_many(filled(groups)))

    @cached_property
    def problem(self) -> BestGroup:
        """The problem without the names of its columns and the size of the answer.

        Raises:
            ParameterError: if a public parameter is wrong.
        """
        return BestGroup(
            groups=ANY_GROUP if self.groups is None else self.groups,
            statistic=self.statistic,
            p=self.p,
            lower=as_bound(self.lower),
            upper=as_bound(self.upper),
            step=step_of(self.lower, self.upper, self.step),
            min_rows=self.min_rows,
            caution=self.caution,
            smallest=self.smallest,
        )

    @property
    def size(self) -> int:
        """How many groups are released."""
        return self.k or 1

    def picked(
        self,
        problem: BestGroup,
        source: Opened,
        epsilon: Fraction,
        entropy: Entropy,
        noise: IntegerNoise = LAPLACE,
    ) -> Any:
        """Counts the rows and draws the answer, with the guarantee of `BestGroup.contest`."""
        contest = problem.contest(problem.look(source, self.value, self.by), noise)
        draw = contest.ranking if self.ordered else contest.winners
        names = [problem.candidates[i] for i in draw(self.size, epsilon, entropy)]
        return names[0] if self.k is None else names


def _of_as_many(question: Any) -> Any:
    """A question of found groups, which asks for no more than there are."""
    if question is None or isinstance(question.k, bool) or not isinstance(question.k, int):
        return question
    return replace(question, k=min(question.k, len(question.groups)))


@dataclass(frozen=True)
class ReachMethod:
    """The reach mechanism of `dampen.questions.groups.problem`: ε once for a set of any size.

    Best first it is asked k times for one group, at ε/k.  For ρ its noise is Gaussian.
    """

    question: GroupsQuestion
    problem: BestGroup
    noise: IntegerNoise = LAPLACE

    def cost(self, price: Price, /) -> Cost:
        """ε once, or k draws of ε/k each."""
        cost = composed_cost(
            self.problem.neighbours,
            price,
            query=self.question.name,
            mechanism="reach",
            pure=self.noise != GAUSSIAN,
            losses=equal_parts(self._draws),
        )
        self.problem.exact_epsilon(cost.epsilon)
        return cost

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """How many rows decide between a group that is named and one that should be.

        **Theorem.**  Let S be the best k groups.  A group g outside S and one h in S are *t rows
        apart* if R(x_h, -a) <= R(x_g, b) for some a + b <= t, a, b >= 0: t rows, of both together,
        decide which is better.  With the probability of `likely_push`, every group that is named
        in place of one in S is at most t rows apart from it, whatever the data is.  Proof.  If h
        is not named and g is, R(x_h, W_h) <= R(x_g, W_g).  With a = max(-W_h, 0) and
        b = max(W_g, 0), R(x_h, -a) <= R(x_h, W_h) and R(x_g, W_g) <= R(x_g, b), as R never falls
        in w.  So they are at most a + b apart; a is at most the A of `likely_push`, b its B. ∎
        Best first, each of k draws names the best of the groups that are left, or one so close.

        With R' in place of R (a guard) the same holds for an h of at least N' + t rows: R' <= R,
        and R'(x_h, -a) = R(x_h, -a) where n_h - a >= N'.  For a smaller one R'(x_h, W_h) is still
        at least R(x_h, -a - A), so that t + A rows decide.  `error` is t.
        """
        question = self.question
        m = len(self.problem.candidates)
        k = question.size
        if k == m and not question.ordered:
            return of_all(UNIT, who=WHO, ordered=False)
        share = divided(epsilon, self._draws, self.noise)
        best = 1 if question.ordered else k
        rows_apart = likely_push(
            share,
            best,
            m - best,
            offset=self.problem.offset(share),
            noise=self.noise,
            draws=self._draws,
        )
        return by_rows(
            rows_apart,
            who=WHO,
            k=k,
            epsilon=epsilon,
            most=rows,
            ordered=question.ordered,
            guard=self.problem.guard(share, self.noise),
        )

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        picked = self.question.picked(self.problem, source, epsilon, entropy, self.noise)
        if not self.question.ordered:
            return Drawn(picked)
        if self.noise == GAUSSIAN:
            return Drawn(picked, {"rho_each": short_text(epsilon**2 / 2 / self._draws, up=True)})
        return Drawn(picked, {"epsilon_each": decimal_text(epsilon / self._draws)})

    @property
    def _draws(self) -> int:
        """How many times ε is divided."""
        return self.question.size if self.question.ordered else 1


@dataclass(frozen=True)
class MinMaxMethod:
    """The min-max score of `dampen.questions.groups.reach`, for persons in many groups.

    Attributes:
        question: what is asked, of weights.
        unit: the column that names the person.
        weighing: of persons, within each group.
        mechanism: that draws, for ε or for ρ.
    """

    question: GroupsQuestion
    unit: str
    weighing: Shares
    mechanism: Mechanism

    def cost(self, price: Price, /) -> Cost:
        size = self.question.size
        cost = selection_cost(
            Neighbours.ADD_REMOVE_UNIT,
            price,
            query=self.question.name,
            mechanism=self.mechanism,
            k=size,
        )
        caution = self.question.problem.exact_caution
        min_max_offset(caution, self.weighing.quantum, cost.epsilon / size)
        return cost

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """How many persons decide depends on how the values lie on the grid."""
        del epsilon, rows
        if self.question.size == len(self.question.problem.candidates):
            return of_all("people", who=WHO, ordered=self.question.ordered)
        return UNKNOWN

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        question = self.question
        problem = question.problem
        weights = UnitTable(source, self.unit, self.weighing, problem.width)
        looked = problem.look(weights, question.value, question.by)
        contest = replace(problem.min_max(looked, self.weighing.quantum), mechanism=self.mechanism)
        best = contest.ranking(question.size, epsilon, entropy)
        names = [problem.candidates[i] for i in (best if question.ordered else sorted(best))]
        answered = names[0] if question.k is None else names
        return Drawn(answered, {"unit": self.unit, "rows_per_unit": self.weighing.cap})


@dataclass(frozen=True)
class SumMethod:
    """A mechanism on the sums of the groups, see `dampen.questions.groups.statistics`.

    The order of the k largest comes at no cost.  `noise` is Gaussian for ρ; one sum is then drawn
    with Gumbel noise.
    """

    question: GroupsQuestion
    problem: BestGroup
    noise: IntegerNoise = LAPLACE

    def cost(self, price: Price, /) -> Cost:
        k = self.question.size
        return selection_cost(
            self.problem.neighbours,
            price,
            query=self.question.name,
            mechanism=self._mechanism,
            k=k,
        )

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """The lead that a group needs, times what one row changes a sum by."""
        problem = self.problem
        m = len(problem.candidates)
        k = self.question.size
        if k == m:
            return of_all("units", who=WHO, ordered=self.question.ordered)
        needed = sum_lead(
            problem.grid, problem.neighbours, self._mechanism, m=m, k=k, epsilon=epsilon
        )
        largest = float(max(abs(problem.grid.lower), abs(problem.grid.upper)))
        return by_lead(
            needed,
            "units",
            who=WHO,
            k=k,
            epsilon=epsilon,
            most=None if rows is None else rows * largest,
            of="its sum" if k == 1 else "their sums",
        )

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        return Drawn(self.question.picked(self.problem, source, epsilon, entropy, self.noise))

    @property
    def _mechanism(self) -> Mechanism:
        return sum_mechanism(self.question.size, "pf" if self.noise == LAPLACE else "em")


def top_groups(
    data: Any,
    value: str | None = None,
    *,
    by: Any,
    groups: Sequence[Hashable] | None = None,
    delta: Epsilon | None = None,
    statistic: str | None = None,
    p: Exact | None = None,
    lower: Exact | None = None,
    upper: Exact | None = None,
    step: Exact | None = None,
    kind: str | None = None,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    k: int | None = None,
    smallest: bool = False,
    min_rows: int = 1,
    caution: Exact | None = None,
    ordered: bool = False,
    measure: str | None = None,
    share: Exact | None = None,
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
    """The group, or the k groups, with the largest statistic, with ε-differential privacy.

    Guarantee: ε-DP under adding or removing one row.  How many rows a group has, and whether there
    are rows of groups that are not listed, stays private.  Of a data set whose number of rows is
    public (`dampen.dataset`), ε-DP under replacing one row.

    Args:
        data: a column of numbers, a table, or the path of a file (see `dampen.data`).
        value: in a table, the name of the column of numbers.
        by: the column of groups, or its name; a list of names for several, such as
            ["ward", "year"]: groups are then tuples.
        groups: the public list of candidates; rows of other groups are dropped.
        delta: in place of groups, the probability with which ε may fail, such as "1e-6": a share of
            ε then finds the groups that enough rows have.
        statistic: the name of one of `dampen.questions.groups.STATISTICS`, such as "quantile" (with
            p), "mean" or "sum"; the median by default, the quantile if p is given.
        p: in percent, for statistics that have one: which quantile, or how much the trimmed mean
            cuts off at each end.
        lower: public lower end of the values; smaller ones count as this.
        upper: public upper end of the values; larger ones count as this.
        step: public distance of the grid to which values are rounded; it divides the range.  If
            left out, the range is cut into at least 1,000 equal steps.
        kind: what a column without a declared type holds, if not numbers: "date", "time",
            "duration" or "bool", as for a Python list or a text file.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        k: how many groups; None for one that is not in a list.  The answer for k is a *set*, in the
            order of `groups`.
        smallest: ask for the smallest statistic instead.
        min_rows: public; groups with fewer rows rank last.
        caution: public; a penalty for small groups, so that a group with few rows does not win by
            noise.  0 disables it.  The statistic of a group is judged as if caution / ε rows had
            been chosen against it.  More helps where some groups are small or empty, less where the
            best group is.  If left out it is 1, and for medians and quantiles 4 for groups so
            small that noise can push them anywhere, at no cost in privacy.
        ordered: the k groups best first.  It asks k times for one group, at ε/k, and the release
            says so (`epsilon_each`); for the sum the order comes at no cost.
        measure: "statistic" or "count": give the winner's own number too, for a share of ε.
            `Release.numbers` has it, by group if there is a k, and `Release.interval` says where
            the true one lies.
        share: of ε, for that number; a quarter if left out.
        where: a condition on every row, such as "age >= 65 and ward == 'A'"; other rows are left
            out (see `dampen.data.expressions`).
        weigh: where `unit` names the person: "people" for the statistic of the average person, the
            default; "rows" for that of the rows.
        unit: the column that names the person a row belongs to, or its name: ε then protects a
            person with all their rows (see `dampen.data.units`).
        rows_per_unit: how many rows of a person count in full.
        groups_per_unit: a hint, in how many groups or categories a person usually is.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database file (DuckDB, SQLite), which table.
        budget: where to charge ε; None charges nothing.
        entropy: of random bits; the operating system's by default.

    Returns:
        A `Release`: the answer and the public facts about it.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the machine cannot read the data; the charge stands.

    >>> import dampen
    >>> stays = {"days": [2, 3, 4] * 40 + [5, 6, 9] * 40, "ward": ["A"] * 120 + ["B"] * 120}
    >>> dampen.top_groups(
    ...     stays, "days", by="ward", groups=["A", "B"], epsilon=0.5
    ... ).answer
    'B'
    """
    if by is None:
        raise ParameterError("Expected by=, the column of groups, got None.")
    source, names = open_columns(data, value=value, by=by, unit=unit, header=header, table=table)
    question = GroupsQuestion(
        value=names["value"],
        by=names["by"],
        groups=groups,
        delta=delta,
        statistic=statistic,
        p=p,
        lower=lower,
        upper=upper,
        step=step,
        kind=kind,
        k=k,
        smallest=smallest,
        min_rows=min_rows,
        caution=caution,
        ordered=ordered,
        measure=measure,
        share=share,
        where=where,
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
