"""`most_frequent`: which category occurs most often, privately."""

from collections.abc import Hashable, Sequence
from typing import Any

from dampen.epsilon import Epsilon
from dampen.errors import warn_leak
from dampen.mechanisms import Mechanism
from dampen.problems.frequency import MostFrequent
from dampen.releases import Budget, Release, release
from dampen.sampling import Source


def most_frequent(
    values: Any,
    categories: Sequence[Hashable] | None = None,
    *,
    epsilon: Epsilon,
    k: int | None = None,
    mechanism: str | Mechanism | None = None,
    budget: Budget | None = None,
    source: Source | None = None,
) -> Release:
    """The most frequent category, or the k most frequent ones, with ε-differential privacy.

    Guarantee: ε-DP under adding or removing one value.  `categories` is the public list of
    candidates; without it the distinct values are taken, with a `PrivacyLeakWarning`.

    The default is permute-and-flip for one answer, the joint release for several: there every count
    gets Laplace noise of scale 1/ε once, whatever k is, where permute-and-flip would draw k times
    at ε/k.

    >>> import dampen
    >>> votes = ["tea"] * 90 + ["coffee"] * 30
    >>> dampen.most_frequent(votes, categories=["coffee", "tea", "water"], epsilon="1").answer
    'tea'
    """
    given = list(categories) if categories is not None else _distinct(values)
    parameters = {"categories": len(given)} | ({} if k is None else {"k": k})
    return release(
        MostFrequent(given),
        lambda: list(values),
        query="most-frequent",
        epsilon=epsilon,
        mechanism=mechanism or ("pf" if k is None or k == 1 else "joint"),
        k=k,
        budget=budget,
        source=source,
        parameters=parameters,
    )


def _distinct(values: Any) -> list[Hashable]:
    warn_leak("categories", "Pass categories=, the public list of candidates.", stacklevel=4)
    return list(dict.fromkeys(values))
