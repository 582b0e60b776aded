"""Growing a tree in stages: some levels one by one, then several at once with the leaves' classes.

The levels that come first are selected as `dampen.questions.classify.grow_levels` selects them.
Below them, in every leaf so far, one release decides a small tree and its classes
(`dampen.questions.classify.joint_subtrees`).  Leaves hold disjoint rows, so a stage costs what one
node costs; see `dampen.questions.classify.plan`.  All leaves are grown, empty ones too: leaving
them out would tell that they are empty.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Literal

import numpy as np

from dampen.core.mechanisms import PF, Mechanism
from dampen.core.noise import GUMBEL
from dampen.core.sampling import Entropy, InsecureEntropy, noisy_top
from dampen.core.selection import FloatArray, IntArray
from dampen.kernels.joint_subtrees import end_cells
from dampen.questions.classify.candidates import BoolArray, Candidates, candidates_of
from dampen.questions.classify.encoding import Categories, Domain, first_codes
from dampen.questions.classify.grow_levels import (
    CHUNK_CELLS,
    LevelRows,
    Rows,
    Tree,
    choose_split,
    prepare,
)
from dampen.questions.classify.joint_subtrees import STAY, Choices, Menu, Weights, draw_menu
from dampen.questions.classify.plan import Plan, checked_criterion

__all__ = ["grow_in_stages", "prepare_all"]

CHUNK_COUNTS = 256
"""Counts that one row adds to in one pass over the rows."""


def grow_in_stages(
    plan: Plan, domains: Sequence[Domain], n_classes: int, rows: LevelRows, *, entropy: Entropy
) -> Tree:
    """A private tree from coded rows; spends exactly what `plan.charges` says."""
    assert n_classes == plan.classes
    growth = _Growth(candidates_of(domains, plan.branching))
    for level in range(len(plan.stages) - 1):
        _grow_level(plan, level, growth, rows, entropy)
    weights = Weights(growth.candidates, plan.joint_epsilon)
    ends = _grow_together(plan, weights, growth, rows, entropy)
    _grow_last_level(weights, growth, ends, rows, entropy)
    return _labelled(growth.tree(), weights, rows, entropy)


@cache
def prepare_all(
    criterion: str | None, mechanism: Mechanism | Literal["sulq"], rows_bound: int
) -> None:
    """Compiles or loads all kernels of a fit, on no rows, before anything is paid.

    Raises:
        ParameterError: if the mechanism does not suit a split among so many rows.
    """
    prepare(checked_criterion(criterion, mechanism), mechanism, rows_bound)
    codes = np.empty((0, 2), dtype=np.int16)
    none = np.empty(0, dtype=np.int64)
    half = (Fraction(1, 2),) * 2
    domains = [Categories((0, 1)), Categories((0, 1))]
    tiny = Plan(
        Fraction(1), 9, (1, 2), half, PF, "tsallis", "binary", False, "pf", True,
        candidates=2, classes=2, widths=(1,),
    )  # fmt: skip
    end_cells(codes, none, none, STAY.arrays, (0, 1, first_codes(domains), 2))
    grow_in_stages(tiny, domains, 2, Rows(codes, none, 2), entropy=InsecureEntropy(0))


def _grow_level(
    plan: Plan, level: int, growth: "_Growth", rows: LevelRows, entropy: Entropy
) -> None:
    """Splits every leaf by one selection of its own."""
    candidates = growth.candidates
    tree = growth.tree()
    tables = candidates.tables(_tables(tree, rows, candidates.first))
    for leaf, table in zip(tree.leaves.tolist(), tables, strict=True):
        possible = np.flatnonzero(candidates.possible(growth.allowed[leaf]))
        if len(possible):
            sides = table[possible].reshape(-1, table.shape[-1])
            chosen = choose_split(plan, level, sides, np.arange(0, len(sides) + 1, 2), entropy)
            growth.split(leaf, *candidates.codes(int(possible[chosen])))


def _grow_together(
    plan: Plan, weights: Weights, growth: "_Growth", rows: LevelRows, entropy: Entropy
) -> list[int]:
    """In every leaf a small tree from the menu; those of its leaves that the last level follows."""
    tree = growth.tree()
    leaves = tree.leaves.tolist()
    allowed = [growth.allowed[leaf] for leaf in leaves]
    menu = draw_menu(weights.candidates, plan.widths, allowed, entropy)
    choices = _choices(plan, menu, weights, tree, rows)

    def descend(leaf: int, slot: int, level: int, choice: int, place: int) -> Iterator[int]:
        if level == len(menu.widths):
            yield leaf
            return
        picked = _draw(choices.at(slot, level, choice, place), Fraction(1), entropy)
        if picked:
            chosen = choice * menu.widths[level] + picked - 1
            for side, child in growth.split(leaf, *menu.split(slot, level, chosen, place)):
                yield from descend(child, slot, level + 1, chosen, 2 * place + side)

    return [end for slot, leaf in enumerate(leaves) for end in descend(leaf, slot, 0, 0, 0)]


def _choices(plan: Plan, menu: Menu, weights: Weights, tree: Tree, rows: LevelRows) -> Choices:
    """The weights of all choices of the menu in every leaf, from counts of some trees at a time."""
    first = weights.candidates.first
    cells = len(tree.leaves) * menu.ends * int(first[-1]) * plan.classes
    size = max(1, min(CHUNK_CELLS // cells, CHUNK_COUNTS // (len(first) - 1)))
    parts = [
        weights.ends(rows.ends(tree, menu, range(begin, min(begin + size, menu.trees)), first))
        for begin in range(0, menu.trees, size)
    ]
    ends, counts = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    return Choices(menu, weights, ends, counts)


def _grow_last_level(
    weights: Weights, growth: "_Growth", ends: list[int], rows: LevelRows, entropy: Entropy
) -> None:
    """Any single split, or none, for the given leaves."""
    tree = growth.tree()
    tables = _tables(tree, rows, growth.first)
    for leaf in ends:
        terms = weights.last_level(tables[tree.slots[leaf]])
        picked = _draw(terms, Fraction(1), entropy)
        if picked:
            growth.split(leaf, *weights.candidates.codes(picked - 1))


def _labelled(tree: Tree, weights: Weights, rows: LevelRows, entropy: Entropy) -> Tree:
    """The tree with classes at its leaves, by the exponential mechanism on their counts."""
    # Every row has one value of the first attribute.
    counts = _tables(tree, rows, weights.candidates.first[:2]).sum(axis=1)
    epsilon = Fraction(weights.epsilon)
    label = tree.label.copy()
    label[tree.leaves] = [_draw(c, epsilon, entropy) for c in counts.astype(np.float64)]
    return replace(tree, label=label)


def _tables(tree: Tree, rows: LevelRows, first: IntArray) -> IntArray:
    """Counts (leaf, value, class)."""
    return rows.ends(tree, STAY, range(1), first)[:, 0, 0]


def _draw(terms: FloatArray, scale: Fraction, entropy: Entropy) -> int:
    """An index, with probability proportional to exp(scale * term), exactly."""
    return noisy_top(terms, scale, GUMBEL, 1, entropy)[0]


class _Growth:
    """The nodes made so far; children come after their parents."""

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates
        self.first = candidates.first
        self.attribute = [-1]
        self.level = [0]
        self.routes: list[list[int]] = [[]]
        self.allowed: list[BoolArray] = [np.ones(int(self.first[-1]), dtype=np.bool_)]

    def split(self, leaf: int, attribute: int, low: int, high: int) -> list[tuple[int, int]]:
        """Splits a leaf: codes low .. high - 1 go to side 0, others to side 1; (side, node) each.

        A split that cannot tell apart the rows of its path is left out: one side gets all of them.
        """
        allowed = self.allowed[leaf]
        begin = int(self.first[attribute])
        values = slice(begin, int(self.first[attribute + 1]))
        inside = np.zeros(values.stop - begin, dtype=np.bool_)
        inside[low:high] = True
        reached = [bool((allowed[values] & side).any()) for side in (inside, ~inside)]
        if not all(reached):
            return [(0 if reached[0] else 1, leaf)]
        children = []
        for side in (inside, ~inside):
            left = allowed.copy()
            left[values] &= side
            children.append(self._add(leaf, left))
        self.attribute[leaf] = attribute
        self.routes[leaf] = [children[0] if yes else children[1] for yes in inside]
        return list(enumerate(children))

    def _add(self, parent: int, allowed: BoolArray) -> int:
        self.attribute.append(-1)
        self.level.append(self.level[parent] + 1)
        self.routes.append([])
        self.allowed.append(allowed)
        return len(self.attribute) - 1

    def tree(self) -> Tree:
        """The nodes as a tree whose leaves have no classes yet."""
        sizes = [len(route) for route in self.routes]
        return Tree(
            np.array(self.attribute, dtype=np.int64),
            np.cumsum([0, *sizes], dtype=np.int64)[:-1],
            np.array([child for route in self.routes for child in route], dtype=np.int64),
            np.full(len(sizes), -1, dtype=np.int64),
            np.array(self.level, dtype=np.int64),
            None,
        )
