"""`top_groups`: which group has the largest median, mean, quantile or sum, privately.

Reach answers for all statistics but the sum, a mechanism on the sums for the sum; see
`dampen.questions.groups.problem` and `dampen.questions.groups.sums` for the theorems.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

from dampen.core.mechanisms import check_k
from dampen.core.sampling import Entropy
from dampen.core.selection import Neighbours
from dampen.data.open import open_columns, open_table
from dampen.data.source import Opened, require_numbers
from dampen.data.units import Shares, UnitTable, quantum_of
from dampen.epsilon import Epsilon, decimal_text
from dampen.errors import ParameterError
from dampen.questions.groups.histograms import Exact, usual_step
from dampen.questions.groups.min_max import MIN_MAX
from dampen.questions.groups.problem import STATISTICS, BestGroup
from dampen.questions.groups.statistics import Mean, Quantile
from dampen.questions.groups.sums import sum_lead, sum_mechanism
from dampen.releases.accuracy import UNKNOWN, Accuracy, by_lead, by_rows, likely_noise, of_all
from dampen.releases.answer import answer
from dampen.releases.cost import Budget, Cost, Price, composed_cost, selection_cost
from dampen.releases.method import Drawn, Leak, Method
from dampen.releases.question import Fact, Shape, parameter, where_parameter
from dampen.releases.release import Release
from dampen.releases.units import weighed
from dampen.schema.schema import Schema

__all__ = ["GroupsQuestion", "top_groups"]

WHO = ("group", "groups")
UNIT = "rows per group"
FEW_GROUPS = 2
"""Up to so many groups a person, weights that are shared by all groups are better than min-max."""
MOST_WEIGHT = 10**9


@dataclass(frozen=True, kw_only=True)
class GroupsQuestion:
    """Which group has the largest statistic?"""

    value: str = parameter("column", "Column of the private numbers.", holds="numbers")
    by: str = parameter("column", "Column of the groups.", label="Group by", holds="categories")
    groups: Sequence[Hashable] = parameter(
        "labels",
        "Public list of the groups; rows of other groups are dropped.",
        fact=Fact("values", of="by"),
    )
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
    lower: Exact = parameter(
        "exact",
        "Public lower end of the values; smaller ones count as this.",
        fact=Fact("lower", of="value"),
    )
    upper: Exact = parameter(
        "exact",
        "Public upper end of the values; larger ones count as this.",
        fact=Fact("upper", of="value"),
    )
    step: Exact | None = parameter(
        "exact",
        "Public distance of the grid to which values are rounded; it divides the range. If left "
        "out, the range is cut into at least 1,000 equal steps.",
        default=None,
        fact=Fact("step", of="value", optional=True),
    )
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
    caution: Exact = parameter(
        "exact",
        "Penalty for small groups, so that a group with few rows does not win by noise. 0 disables "
        "it.",
        default=1,
    )
    ordered: bool = parameter(
        "flag", "The k groups best first; each of them gets a share of ε.", default=False
    )
    where: str | None = where_parameter()
    name: ClassVar[str] = "top-groups"
    title: ClassVar[str] = "Group with the largest statistic"
    data: ClassVar[Literal["table", "edges"]] = "table"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen top-groups stays.csv --value days --by hospital --groups H1,H2,H3 --lower 0 "
        "--upper 100 --step 1 --epsilon 0.3",
        "dampen top-groups stays.csv --value days --by hospital --groups H1,H2,H3 --lower 0 "
        "--upper 100 --step 1 --statistic quantile -p 90 -k 2 --epsilon 0.3",
    )

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Opened:
        where, value = self.where, self.value
        opened = open_table(data, header=header, table=table, where=where, value=value)
        require_numbers(opened, self.value)
        self.problem.grouping.check_column(opened, self.by, self.value)
        return opened

    def method(self, source: Any, schema: Schema, price: Price, /) -> Method:
        """Under replacement too where everyone's group is public and fixed: one group changes."""
        del source, price
        check_k(self.k, len(self.problem.candidates))
        fixed = self.where is None and schema.is_fixed(self.by)
        problem = replace(
            self.problem, neighbours=schema.relation if fixed else Neighbours.ADD_REMOVE_ROW
        )
        return SumMethod(self, problem) if problem.by_sum else ReachMethod(self, problem)

    def unit_method(self, source: Any, schema: Schema, price: Price, /) -> Method:
        """The weights of persons, shared by all groups; min-max where persons are in many groups.

        They cross at two groups a person (`groups_per_unit`, a public hint).  Sums and trimmed
        means have no min-max.
        """
        cap = schema.rows_per_unit
        quantum = quantum_of(cap)
        if self.min_rows * quantum > MOST_WEIGHT:
            raise ParameterError(
                f"Expected min_rows <= {MOST_WEIGHT // quantum:,} where ε protects "
                f"{schema.protected}, got min_rows={self.min_rows}."
            )
        many = (schema.groups_per_unit or 1) > FEW_GROUPS
        scaled = self if self.problem.by_sum else self._of_weights(quantum // cap)
        if many and isinstance(self.problem.compared, Quantile | Mean):
            check_k(self.k, len(self.problem.candidates))
            return MinMaxMethod(scaled, str(schema.people), Shares(quantum, cap, within_lines=True))
        width = self.problem.grid.top + 2
        return weighed(scaled.method, source, schema, price, width=width)

    def _of_weights(self, row: int) -> "GroupsQuestion":
        """The same question of weights, of which a row has so many."""
        return replace(self, min_rows=self.min_rows * row)

    def shown(self) -> Mapping[str, Any]:
        return {**self.problem.public, "k": self.k, "ordered": self.ordered}

    def text(self) -> str:
        return f"{self.problem.named.name} of {self.value} by {self.by}"

    def shape(self) -> Shape:
        if self.k is None:
            return "name"
        return "ranking" if self.ordered else "set"

    def resolved(self, price: Price, /) -> Mapping[str, Any]:
        del price
        return {"statistic": self.problem.named.name}

    @cached_property
    def problem(self) -> BestGroup:
        """The problem without the names of its columns and the size of the answer.

        Raises:
            ParameterError: if a public parameter is wrong.
        """
        return BestGroup(
            groups=self.groups,
            statistic=self.statistic,
            p=self.p,
            lower=self.lower,
            upper=self.upper,
            step=usual_step(self.lower, self.upper) if self.step is None else self.step,
            min_rows=self.min_rows,
            caution=self.caution,
            smallest=self.smallest,
        )

    @property
    def size(self) -> int:
        """How many groups are released."""
        return self.k or 1

    def picked(
        self, problem: BestGroup, source: Opened, epsilon: Fraction, entropy: Entropy
    ) -> Any:
        """Counts the rows and draws the answer, with the guarantee of `BestGroup.contest`."""
        contest = problem.contest(problem.opened_counts(source, self.value, self.by))
        draw = contest.ranking if self.ordered else contest.winners
        names = [problem.candidates[i] for i in draw(self.size, epsilon, entropy)]
        return names[0] if self.k is None else names


@dataclass(frozen=True)
class ReachMethod:
    """The reach mechanism of `dampen.questions.groups.problem`: ε once for a set of any size.

    Best first it is asked k times for one group, at ε/k.
    """

    question: GroupsQuestion
    problem: BestGroup

    def cost(self, price: Price, /) -> Cost:
        """ε once; in zCDP ε²/2, and ε²/2k where k draws take ε/k each."""
        question = self.question
        cost = composed_cost(
            self.problem.neighbours,
            price,
            query=question.name,
            mechanism="reach",
            shares=self._draws,
        )
        self.problem.exact_epsilon(cost.epsilon)
        return cost

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """How many rows of every group the noise is worth.

        The answer is the best group after every group was judged as if z0 + Z_g of its rows had
        been added or removed in its favour (below zero: against it).  All |Z_g| are at most B with
        probability (1 - 2 a^(B+1) / (1+a))^m, a = exp(-ε), for m groups: whatever the data is, the
        answer is then the best group of data that differ from it by at most B + |z0| rows of each
        group.
        """
        question = self.question
        m = len(self.problem.candidates)
        k = question.size
        if k == m and not question.ordered:
            return of_all(UNIT, who=WHO, ordered=False)
        share = epsilon / self._draws
        changed = likely_noise(share, m * self._draws) - self.problem.offset(share)
        return by_rows(changed, who=WHO, k=k, epsilon=epsilon, most=rows, ordered=question.ordered)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        picked = self.question.picked(self.problem, source, epsilon, entropy)
        if not self.question.ordered:
            return Drawn(picked)
        return Drawn(picked, {"epsilon_each": decimal_text(epsilon / self._draws)})

    @property
    def _draws(self) -> int:
        """How many times ε is divided."""
        return self.question.size if self.question.ordered else 1


@dataclass(frozen=True)
class MinMaxMethod:
    """The min-max score of `dampen.questions.groups.min_max`, for persons in many groups.

    Attributes:
        question: what is asked, of weights.
        unit: the column that names the person.
        weighing: of persons, within each group.
    """

    question: GroupsQuestion
    unit: str
    weighing: Shares

    def cost(self, price: Price, /) -> Cost:
        return selection_cost(
            Neighbours.ADD_REMOVE_UNIT,
            price,
            query=self.question.name,
            mechanism=MIN_MAX,
            k=self.question.size,
        )

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
        weights = UnitTable(source, self.unit, self.weighing, problem.grid.top + 2)
        counts = problem.opened_counts(weights, question.value, question.by)
        contest = problem.min_max(counts, self.weighing.quantum)
        best = contest.ranking(question.size, epsilon, entropy)
        names = [problem.candidates[i] for i in (best if question.ordered else sorted(best))]
        answered = names[0] if question.k is None else names
        return Drawn(answered, {"unit": self.unit, "rows_per_unit": self.weighing.cap})


@dataclass(frozen=True)
class SumMethod:
    """A mechanism on the sums of the groups, see `dampen.questions.groups.sums`.

    The order of the k largest comes at no cost.
    """

    question: GroupsQuestion
    problem: BestGroup

    def cost(self, price: Price, /) -> Cost:
        k = self.question.size
        return selection_cost(
            self.problem.neighbours,
            price,
            query=self.question.name,
            mechanism=sum_mechanism(k),
            k=k,
        )

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """The lead that a group needs, times what one row changes a sum by."""
        problem = self.problem
        m = len(problem.candidates)
        k = self.question.size
        if k == m:
            return of_all("units", who=WHO, ordered=self.question.ordered)
        needed = sum_lead(problem.grid, problem.neighbours, m=m, k=k, epsilon=epsilon)
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
        return Drawn(self.question.picked(self.problem, source, epsilon, entropy))


def top_groups(
    data: Any,
    value: str | None = None,
    *,
    by: Any,
    groups: Sequence[Hashable],
    statistic: str | None = None,
    p: Exact | None = None,
    lower: Exact,
    upper: Exact,
    step: Exact | None = None,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    k: int | None = None,
    smallest: bool = False,
    min_rows: int = 1,
    caution: Exact = 1,
    ordered: bool = False,
    where: str | None = None,
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
        by: the column of groups, or its name.
        groups: the public list of candidates; rows of other groups are dropped.
        statistic: the name of one of `dampen.questions.groups.STATISTICS`, such as "quantile" (with
            p), "mean" or "sum"; the median by default, the quantile if p is given.
        p: in percent, for statistics that have one: which quantile, or how much the trimmed mean
            cuts off at each end.
        lower: public lower end of the values; smaller ones count as this.
        upper: public upper end of the values; larger ones count as this.
        step: public distance of the grid to which values are rounded; it divides the range.  If
            left out, the range is cut into at least 1,000 equal steps.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        k: how many groups; None for one that is not in a list.  The answer for k is a *set*, in the
            order of `groups`.
        smallest: ask for the smallest statistic instead.
        min_rows: public; groups with fewer rows rank last.
        caution: public; a penalty for small groups, so that a group with few rows does not win by
            noise.  0 disables it.  The statistic of a group is judged as if caution / ε rows had
            been chosen against it.  More helps where some groups are small or empty, less where the
            best group is.
        ordered: the k groups best first.  It asks k times for one group, at ε/k, and the release
            says so (`epsilon_each`); for the sum the order comes at no cost.
        where: a condition on every row, such as "age >= 65 and ward == 'A'"; other rows are left
            out (see `dampen.data.expressions`).
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
    ...     stays, "days", by="ward", groups=["A", "B"], lower=0, upper=30, epsilon=0.5
    ... ).answer
    'B'
    """
    if by is None:
        raise ParameterError("Expected by=, the column of groups, got None.")
    source, names = open_columns(data, value=value, by=by, header=header, table=table)
    question = GroupsQuestion(
        value=names["value"],
        by=names["by"],
        groups=groups,
        statistic=statistic,
        p=p,
        lower=lower,
        upper=upper,
        step=step,
        k=k,
        smallest=smallest,
        min_rows=min_rows,
        caution=caution,
        ordered=ordered,
        where=where,
    )
    return answer(question, source, epsilon=epsilon, rho=rho, budget=budget, entropy=entropy)
