"""`most_frequent`: which category occurs most often, privately."""

import sys
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from dampen.data.columns import as_labels
from dampen.data.open import open_columns
from dampen.data.opened import Opened, require_labels, whole_columns
from dampen.epsilon import Epsilon
from dampen.errors import warn_leak
from dampen.frequency.problem import MostFrequent
from dampen.mechanisms import Mechanism, check_k, named
from dampen.releases import Budget, Release, pay, selection_cost
from dampen.sampling import Entropy

__all__ = ["most_frequent"]


def most_frequent(
    data: Any,
    column: str | None = None,
    *,
    categories: Sequence[Hashable] | None = None,
    epsilon: Epsilon,
    k: int | None = None,
    mechanism: str | Mechanism | None = None,
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

    Args:
        data: a column, a table or the path of a file (see `dampen.data`); or the counts themselves,
            as a mapping from categories, such as a `Counter`.
        column: in a table, the name of the column of categories.
        categories: the public candidates.  Of files they are compared as text where all are text.
        epsilon: the privacy parameter.
        k: how many; None for one that is not in a list.
        mechanism: a name or a `Mechanism`; None for the best one.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database file (DuckDB, SQLite), which table.
        budget: where to charge ε.
        entropy: of random bits; the operating system's by default.

    >>> import dampen
    >>> votes = ["tea"] * 90 + ["coffee"] * 30
    >>> dampen.most_frequent(votes, categories=["coffee", "tea", "water"], epsilon="1").answer
    'tea'
    """
    chosen = named(mechanism or ("pf" if k is None or k == 1 else "joint"))
    public = None if categories is None else MostFrequent(categories)
    check_k(k, sys.maxsize if public is None else len(public.candidates))
    counts_given = isinstance(data, Mapping) and column is None
    opened, name = (None, "") if counts_given else _opened(data, column, header, table)
    cost = selection_cost(
        MostFrequent.neighbours,
        query="most-frequent",
        epsilon=epsilon,
        mechanism=chosen,
        leaks=() if public is not None else ("categories",),
    )
    if public is None:
        warn_leak("categories", "Pass categories=, the public list of candidates.")
    paid = pay(cost, budget=budget, entropy=entropy)
    with paid.looking():
        if opened is not None and public is not None:
            problem, counts = public, public.opened_counts(opened, name)
            selection = problem.selection_of_counts(counts)
        else:
            rows = data if opened is None else _labels(opened, name)
            problem = public or MostFrequent(list(dict.fromkeys(rows)))
            selection = problem.selection(rows)
        answer = paid.draw(selection, problem.candidates, chosen, k)
    parameters = {"categories": len(problem.candidates)} | ({} if k is None else {"k": k})
    return paid.release(answer, parameters)


def _opened(
    data: Any, column: str | None, header: bool, table: str | None
) -> tuple[Opened, str]:
    opened, names = open_columns(data, column=column, header=header, table=table)
    require_labels(opened, names["column"])
    return opened, names["column"]


def _labels(opened: Opened, name: str) -> list[Hashable]:
    return as_labels(whole_columns(opened, {name: "any"})[name])
