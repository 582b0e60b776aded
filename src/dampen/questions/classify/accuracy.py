"""What a leaf of a tree will be worth, from the public plan alone; see `dampen.releases.accuracy`.

The class of a leaf is drawn by permute-and-flip on the counts of its rows, as the most frequent
category is, or by the exponential mechanism, where levels above it are drawn with it.  So a class
that leads every other one by some number of rows *in its leaf* is named with a probability of 0.9,
whatever the splits are.  Where not even all rows together make such a lead, every leaf is close to
chance.
"""

import warnings

import numpy as np

from dampen.core.mechanisms import named
from dampen.core.selection import Selection
from dampen.core.sensitivity import constant
from dampen.epsilon import decimal_text
from dampen.errors import AccuracyWarning
from dampen.questions.classify.plan import Plan
from dampen.releases.accuracy import CONFIDENCE, lead, likely_noise, rounded_up

__all__ = ["accuracy", "leaf_lead", "warn_of_chance"]

COUNTS = Selection(np.zeros(3, dtype=np.int64), constant(1), one_sided=True, exact=True)


def leaf_lead(plan: Plan) -> float:
    """The lead in rows at which the class of a deepest leaf is right with probability 0.9.

    Noisy counts keep a lead that is more than twice what any of them is likely to be off.
    """
    epsilon = plan.label_epsilon
    if plan.leaves == "noisy-counts":
        return 2 * likely_noise(epsilon, plan.classes) + 1
    mechanism = named("em" if plan.staged else "pf")
    needed = lead(COUNTS, mechanism, m=plan.classes, k=1, epsilon=epsilon)
    assert needed is not None
    return needed


def accuracy(plan: Plan) -> str:
    """A sentence about the leaves; what noise does to splits is in the text of the plan.

    >>> from dampen.questions.classify import TreeClassifier
    >>> tree = TreeClassifier(1, max_depth=3, domains=[2, 2, 2], classes=[0, 1], max_rows=1000)
    >>> accuracy(tree.plan())
    'With 2 classes and ε = 1, a leaf at depth 3 names the class that leads every other by 5 of ...'
    """
    if plan.classes < 2:
        return "There is one class, and every leaf names it."
    leaf = "a leaf" if plan.staged else f"a leaf at depth {plan.depth}"
    return (
        f"With {plan.classes} classes and ε = {decimal_text(plan.epsilon)}, {leaf} names the class "
        f"that leads every other "
        f"by {rounded_up(leaf_lead(plan)):,} of its rows with probability {CONFIDENCE:g} or more."
    )


def warn_of_chance(plan: Plan, *, stacklevel: int) -> None:
    """Before the charge, where no leaf can be told from chance."""
    if plan.classes > 1 and leaf_lead(plan) > plan.max_rows:
        warnings.warn(
            f"{accuracy(plan)} There are at most {plan.max_rows:,} rows in all, so the tree is "
            "nearly chance: raise epsilon.",
            AccuracyWarning,
            stacklevel=stacklevel,
        )
