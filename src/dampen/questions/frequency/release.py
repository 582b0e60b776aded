"""`most_frequent`: which category occurs most often, privately."""

import sys
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dampen.core.mechanisms import Mechanism, check_joint, check_k, named
from dampen.core.sampling import Entropy
from dampen.core.selection import IntArray
from dampen.data.columns import as_labels
from dampen.data.grouping import Grouping
from dampen.data.memory import is_counts
from dampen.data.open import open_columns
from dampen.data.source import Opened, reading, require_labels
from dampen.epsilon import Epsilon
from dampen.errors import ParameterError, warn_leak
from dampen.questions.frequency.problem import MostFrequent
from dampen.releases.accuracy import lead, told_lead
from dampen.releases.release import Budget, Release, pay, selection_cost

__all__ = ["most_frequent"]


def most_frequent(
    data: Any,
    column: str | None = None,
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
        column: in a table, the name of the column of categories.
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
    chosen = named(mechanism or ("pf" if k is None or k == 1 else "joint"))
    check_joint(chosen, MostFrequent.joint)
    public = None if categories is None else MostFrequent(categories)
    check_k(k, sys.maxsize if public is None else len(public.candidates))
    grouping = _grouping(public, by, groups)
    counts_given = is_counts(data) and column is None and grouping is None
    opened, names = (
        (None, {}) if counts_given else _opened(data, column, by, header=header, table=table)
    )
    if opened is not None and grouping is not None:
        grouping.check_column(opened, names["by"], names["column"])
    cost = selection_cost(
        MostFrequent.neighbours,
        query="most-frequent",
        epsilon=epsilon,
        rho=rho,
        mechanism=chosen,
        k=k or 1,
        leaks=() if public is not None else ("categories",),
    )
    if public is None:
        warn_leak("categories", "Pass categories=, the public list of candidates.")
    else:
        cost = replace(cost, accuracy=_accuracy(public, chosen, k or 1, cost.epsilon))
    paid = pay(cost, budget=budget, entropy=entropy)
    with paid.looking():
        problem, tables = _counted(data, opened, names, public, grouping)
        answers = [
            paid.draw(problem.selection_of_counts(counts), problem.candidates, chosen, k)
            for counts in tables
        ]
    shown = {"categories": len(problem.candidates)} | ({} if k is None else {"k": k})
    if grouping is None:
        return paid.release(answers[0], shown)
    by_group = dict(zip(grouping.groups, answers, strict=True))
    return paid.release(by_group, shown | {"groups": len(by_group)})


def _accuracy(problem: MostFrequent, mechanism: Mechanism, k: int, epsilon: Fraction) -> str:
    tiny = problem.selection_of_counts(np.zeros(3, dtype=np.int64))
    m = len(problem.categories)
    rows = lead(tiny, mechanism, m=m, k=k, epsilon=epsilon)
    return told_lead(rows, "rows", m=m, of="categories", k=k, epsilon=epsilon)


def _grouping(
    public: MostFrequent | None, by: Any, groups: Sequence[Hashable] | None
) -> Grouping | None:
    if by is None and groups is None:
        return None
    if public is None or by is None or groups is None:
        raise ParameterError(
            "Expected by=, the column of groups, with groups= and categories=, both public lists."
        )
    grouping = Grouping(groups)
    grouping.check_size(len(public.categories))
    return grouping


def _opened(
    data: Any, column: str | None, by: Any, *, header: bool, table: str | None
) -> tuple[Opened, dict[str, str]]:
    opened, names = open_columns(data, column=column, by=by, header=header, table=table)
    require_labels(opened, names["column"])
    return opened, names


def _counted(
    data: Any,
    opened: Opened | None,
    names: Mapping[str, str],
    public: MostFrequent | None,
    grouping: Grouping | None,
) -> tuple[MostFrequent, Sequence[IntArray]]:
    """The problem, and its counts: one vector, or one for every group."""
    if opened is None or public is None:
        rows = data if opened is None else _tally(opened, names["column"])
        problem = public or MostFrequent(list(dict.fromkeys(rows)))
        return problem, [problem.counts(rows)]
    if grouping is None:
        return public, [public.opened_counts(opened, names["column"])]
    return public, list(public.grouped_counts(opened, names["column"], names["by"], grouping))


def _tally(opened: Opened, name: str) -> Counter[Hashable]:
    """The distinct values, as they occur, and their counts; only these are held."""
    tally: Counter[Hashable] = Counter()
    with reading(opened.batches({name: "any"})) as stream:
        for batch in stream:
            tally.update(as_labels([batch[name]]))
    return tally
