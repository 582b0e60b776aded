"""Growing a tree in stages: in each, every leaf so far becomes a small tree of a public menu.

Leaves hold disjoint rows, so a stage costs what one selection costs; see `dampen.trees.plan`.  All
leaves are grown, empty ones too: leaving them out would tell that they are empty.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Literal

import numpy as np

from dampen._kernels.menus import end_cells
from dampen.mechanisms import PF, Mechanism, select
from dampen.sampling import Entropy, InsecureEntropy
from dampen.selection import FloatArray
from dampen.trees.candidates import BoolArray, candidates_of
from dampen.trees.encoding import Categories, Domain, first_codes
from dampen.trees.growing import (
    CHUNK_CELLS,
    LevelRows,
    Rows,
    Tree,
    label_leaves,
    prepare,
)
from dampen.trees.menus import STAY, Menu, draw_menu, free_energies, menu_selection
from dampen.trees.plan import Plan, checked_criterion

__all__ = ["grow_in_stages", "prepare_all"]

CHUNK_TREES = 64
"""Trees that are counted in one pass over the rows."""
SMALLEST = 2.0**-60
"""Any public number may stand for ε in a utility; this one keeps utilities finite."""


def grow_in_stages(
    plan: Plan, domains: Sequence[Domain], n_classes: int, rows: LevelRows, *, entropy: Entropy
) -> Tree:
    """A private tree from coded rows; spends exactly what `plan.charges` says."""
    candidates, growth = candidates_of(domains, plan.branching), _Growth(domains)
    for stage, height in enumerate(plan.stages):
        menu, tree = draw_menu(candidates, height, plan.menu, entropy), growth.tree()
        utility = _utilities(plan, tree, menu, rows, n_classes)
        for leaf, choices in zip(tree.leaves.tolist(), utility, strict=True):
            chosen = _choose(plan, stage, choices, menu, entropy)
            growth.expand(leaf, menu, chosen)
    tree = growth.tree()
    counts = rows.ends(tree, STAY)[:, 0, 0]
    return label_leaves(tree, counts, plan, entropy)


@cache
def prepare_all(
    criterion: str | None, mechanism: Mechanism | Literal["sulq"], rows_bound: int
) -> None:
    """Compiles or loads all kernels of a fit, on no rows, before anything is paid.

    Raises:
        ParameterError: if the mechanism does not suit a split among so many rows.
    """
    level_by_level = None if criterion == "free-energy" else criterion
    prepare(checked_criterion(level_by_level, mechanism), mechanism, rows_bound)
    codes, none = np.empty((0, 2), dtype=np.int16), np.empty(0, dtype=np.int64)
    half, domains = (Fraction(1, 2),) * 2, [Categories((0, 1)), Categories((0, 1))]
    tiny = Plan(
        Fraction(1), rows_bound, (2,), half, PF, "free-energy", "binary", False, "pf", True,
        candidates=2, classes=2, menu=2,
    )  # fmt: skip
    end_cells(codes, none, none, STAY.arrays, 2)
    grow_in_stages(tiny, domains, 2, Rows(codes, none, 2), entropy=InsecureEntropy(0))


def _utilities(plan: Plan, tree: Tree, menu: Menu, rows: LevelRows, n_classes: int) -> FloatArray:
    """What every tree of the menu would be worth at every leaf: (leaf, tree)."""
    epsilon = max(float(plan.label_epsilon), SMALLEST)
    cells = len(tree.leaves) * menu.ends * n_classes
    size = max(1, min(CHUNK_TREES, CHUNK_CELLS // cells))
    parts = [menu.part(i, i + size) for i in range(0, len(menu), size)]
    return np.concatenate([free_energies(rows.ends(tree, part), epsilon) for part in parts], axis=1)


def _choose(plan: Plan, stage: int, utility: FloatArray, menu: Menu, entropy: Entropy) -> int:
    assert isinstance(plan.mechanism, Mechanism)
    epsilon = plan.query_epsilon(stage)
    weight = max(float(epsilon), SMALLEST)
    node = menu_selection(utility, menu.log_prior, weight, plan.max_rows, one_sided=plan.one_sided)
    picked = select(node, epsilon=epsilon, mechanism=plan.mechanism, entropy=entropy)
    assert isinstance(picked, int)
    return picked


class _Growth:
    """The nodes made so far; children come after their parents."""

    def __init__(self, domains: Sequence[Domain]) -> None:
        self.first = first_codes(domains)
        self.attribute, self.level = [-1], [0]
        self.routes: list[list[int]] = [[]]
        self.allowed: list[BoolArray] = [np.ones(int(self.first[-1]), dtype=np.bool_)]

    def expand(self, leaf: int, menu: Menu, tree: int, node: int = 0) -> None:
        """Puts a tree of the menu, from one of its nodes on, in place of a leaf.

        A split that cannot tell apart the rows of its path is left out: one side gets all of them.
        """
        if node + 1 >= 2 ** int(menu.height[tree]):
            return
        a, low, high = (int(array[tree, node]) for array in menu.arrays[:3])
        allowed = self.allowed[leaf]
        values = slice(int(self.first[a]), int(self.first[a + 1]))
        inside = np.zeros_like(allowed)
        inside[values.start + low : values.start + high] = True
        left, right = (allowed & inside)[values].any(), (allowed & ~inside)[values].any()
        if not (left and right):
            self.expand(leaf, menu, tree, 2 * node + (1 if left else 2))
            return
        self.attribute[leaf] = a
        outside = ~inside
        outside[: values.start] = outside[values.stop :] = True
        inside[: values.start] = inside[values.stop :] = True
        children = [self._add(leaf, allowed & side) for side in (inside, outside)]
        self.routes[leaf] = [children[0] if yes else children[1] for yes in inside[values]]
        for k, child in enumerate(children):
            self.expand(child, menu, tree, 2 * node + 1 + k)

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
