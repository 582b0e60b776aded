"""`most_frequent`: which category occurs most often, privately."""

import sys
from collections.abc import Hashable, Sequence
from typing import Any

from dampen.epsilon import Epsilon
from dampen.errors import warn_leak
from dampen.frequency.problem import MostFrequent
from dampen.mechanisms import Mechanism, check_joint, check_k, named
from dampen.releases import Budget, Release, after_the_charge, pay
from dampen.sampling import Entropy


def most_frequent(
    values: Any,
    categories: Sequence[Hashable] | None = None,
    *,
    epsilon: Epsilon,
    k: int | None = None,
    mechanism: str | Mechanism | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
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
    chosen = named(mechanism or ("pf" if k is None or k == 1 else "joint"))
    check_joint(chosen, MostFrequent.joint)
    public = None if categories is None else MostFrequent(list(categories))
    check_k(k, sys.maxsize if public is None else len(public.candidates))
    if public is None:
        warn_leak("categories", "Pass categories=, the public list of candidates.")
    paid = pay(
        MostFrequent.neighbours,
        query="most-frequent",
        epsilon=epsilon,
        mechanism=chosen,
        budget=budget,
        entropy=entropy,
    )
    with after_the_charge():
        rows = list(values)
        problem = public or MostFrequent(list(dict.fromkeys(rows)))
    parameters = {"categories": len(problem.candidates)} | ({} if k is None else {"k": k})
    return paid.release(problem, lambda: rows, k=k, parameters=parameters)
