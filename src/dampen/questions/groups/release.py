"""`top_groups`: which group has the largest median, mean, quantile or sum, privately."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from dampen.core.mechanisms import check_k, named
from dampen.core.sampling import Entropy
from dampen.core.selection import Neighbours
from dampen.data.open import open_columns
from dampen.data.source import require_numbers
from dampen.epsilon import Epsilon, decimal_text
from dampen.errors import ParameterError
from dampen.questions.groups.accuracy import accuracy
from dampen.questions.groups.draws import sum_mechanism
from dampen.questions.groups.grid import Exact
from dampen.questions.groups.problem import BestGroup, relation
from dampen.releases.answer import pay
from dampen.releases.cost import Budget, Cost, composed_cost, selection_cost
from dampen.releases.release import Release

__all__ = ["top_groups"]


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
    step: Exact,
    epsilon: Epsilon | None = None,
    rho: Epsilon | None = None,
    k: int | None = None,
    smallest: bool = False,
    min_rows: int = 1,
    caution: Exact = 1,
    ordered: bool = False,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE_ROW,
    header: bool = False,
    table: str | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The group, or the k groups, with the largest statistic, with ε-differential privacy.

    Guarantee: ε-DP under adding or removing one row; with `neighbours="replace-one"` under
    replacing one row's value, where everyone's group is public and fixed.  (Where a replacement may
    change the group too, the release under add/remove-row costs 2ε.)  How many rows a group has,
    and whether there are rows of groups that are not listed, stays private.

    Args:
        data: a column of numbers, a table, or the path of a file (see `dampen.data`).
        value: in a table, the name of the column of numbers.
        by: the column of groups, or its name.
        groups: the public list of candidates; rows of other groups are dropped.
        statistic: "median", "quantile" (with p), "mean", "trimmed-mean" or "sum"; the median by
            default, the quantile if p is given.
        p: which quantile, or how much the trimmed mean cuts off at each end, in percent.
        lower: public lower end of the values; smaller ones count as this.
        upper: public upper end of the values; larger ones count as this.
        step: public distance of the grid to which values are rounded; it divides the range.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        k: how many groups; None for one that is not in a list.  The answer for k is a *set*, in the
            order of `groups`.
        smallest: ask for the smallest statistic instead.
        min_rows: public; groups with fewer rows rank last.
        caution: public; how much small groups must prove themselves.  The statistic of a group is
            judged as if caution / ε rows had been chosen against it.  More helps where some groups
            are small or empty, less where the best group is.
        ordered: the k groups best first.  It asks k times for one group, at ε/k, and the release
            says so (`epsilon_each`); for the sum the order comes at no cost.
        neighbours: what ε speaks of, see above.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database file (DuckDB, SQLite), which table.
        budget: where to charge ε; None charges nothing.
        entropy: of random bits; the operating system's by default.

    Returns:
        A `Release`: the answer and the public facts about it.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the data is not as promised; the charge stands.

    >>> import dampen
    >>> stays = {"days": [2, 3, 4] * 40 + [5, 6, 9] * 40, "ward": ["A"] * 120 + ["B"] * 120}
    >>> dampen.top_groups(
    ...     stays, "days", by="ward", groups=["A", "B"], lower=0, upper=30, step=1, epsilon="0.5"
    ... ).answer
    'B'
    """
    problem = BestGroup(
        groups=groups, statistic=statistic, p=p, lower=lower, upper=upper, step=step,
        min_rows=min_rows, caution=caution, smallest=smallest,
        neighbours=relation(neighbours),
    )  # fmt: skip
    if by is None:
        raise ParameterError("Expected by=, the column of groups, got None.")
    size = check_k(k, len(problem.candidates))
    cost = _cost(problem, size, epsilon, rho, ordered=ordered)
    cost = replace(cost, accuracy=accuracy(problem, size, cost.epsilon, ordered=ordered))
    opened, names = open_columns(data, value=value, by=by, header=header, table=table)
    require_numbers(opened, names["value"])
    problem.grouping.check_column(opened, names["by"], names["value"])
    paid = pay(cost, budget=budget, entropy=entropy)
    with paid.looking():
        contest = problem.contest(problem.opened_counts(opened, names["value"], names["by"]))
        draw = contest.ranking if ordered else contest.winners
        answer = [problem.candidates[i] for i in draw(size, paid.epsilon, paid.entropy)]
    shown = {**problem.public, "k": k, "ordered": ordered}
    if ordered and not problem.by_sum:
        shown["epsilon_each"] = decimal_text(paid.epsilon / size)
    return paid.release(answer[0] if k is None else answer, shown)


def _cost(
    problem: BestGroup, k: int, epsilon: Epsilon | None, rho: Epsilon | None, *, ordered: bool
) -> Cost:
    """ε once; in zCDP ε²/2, and ε²/2k where k draws take ε/k each."""
    near = problem.neighbours
    query = "top-groups"
    if problem.by_sum:
        mechanism = named(sum_mechanism(k))
        return selection_cost(near, query=query, epsilon=epsilon, rho=rho, mechanism=mechanism, k=k)
    cost = composed_cost(
        near, query=query, epsilon=epsilon, rho=rho, mechanism="reach", shares=k if ordered else 1
    )
    problem.exact_epsilon(cost.epsilon)
    return cost
