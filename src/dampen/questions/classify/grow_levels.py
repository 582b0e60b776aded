"""Growing a tree level by level: one pass over the rows per level, one selection per node.

Empty nodes are grown like any others: leaving them out would tell that they are empty.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Literal, Protocol

import numpy as np

from dampen.core import sensitivity
from dampen.core.mechanisms import MECHANISMS, PF, Mechanism, select
from dampen.core.sampling import Entropy, InsecureEntropy, discrete_laplace
from dampen.core.selection import FloatArray, IntArray, Selection
from dampen.kernels import splits as kernel
from dampen.kernels.compile import interruptible
from dampen.kernels.joint_subtrees import count_ends
from dampen.questions.classify.candidates import BoolArray, Candidates, candidates_of
from dampen.questions.classify.encoding import Categories, Domain
from dampen.questions.classify.joint_subtrees import Menu
from dampen.questions.classify.plan import SULQ, Plan, TreeCriterion
from dampen.questions.classify.splits import split_selection

CHUNK_CELLS = 1 << 22
"""Tables of one chunk of nodes: at most 32 MB."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A released tree: arrays with one entry per node, the root first.  Nothing here is private.

    Attributes:
        attribute: the attribute a node splits by, -1 for a leaf.
        route_start: where a node's routes begin.
        routes: the child for every code of the attribute, node after node.
        label: the class of a leaf, -1 inside the tree.
        level: the distance from the root.
        counts: the noisy class counts of the leaves, where leaves were made from them.
    """

    attribute: IntArray
    route_start: IntArray
    routes: IntArray
    label: IntArray
    level: IntArray
    counts: IntArray | None

    @property
    def leaves(self) -> IntArray:
        """The nodes that are leaves, in their order."""
        return np.flatnonzero(self.attribute < 0)

    @property
    def slots(self) -> IntArray:
        """The place of every leaf among the leaves; -1 inside the tree."""
        leaf = self.attribute < 0
        return np.where(leaf, np.cumsum(leaf) - 1, -1)

    def apply(self, codes: Any) -> IntArray:
        """The leaf of every row."""
        node = np.zeros(len(codes), dtype=np.int64)
        moving = np.flatnonzero(self.attribute[node] >= 0)
        while len(moving):
            at = node[moving]
            node[moving] = self.routes[self.route_start[at] + codes[moving, self.attribute[at]]]
            moving = moving[self.attribute[node[moving]] >= 0]
        return node


class LevelRows(Protocol):
    """The private rows, as a level of a tree asks for them; nodes are numbered in their level."""

    def class_counts(self) -> IntArray:
        """Counts (node, class) of the current level."""
        ...

    def tables(self, nodes: list[int], first: IntArray, /) -> IntArray:
        """Counts (node, value, class) of the given nodes, in one pass over their rows."""
        ...

    def move(
        self, attribute: IntArray, route_start: IntArray, routes: IntArray, nodes: int, /
    ) -> None:
        """Every row to its child in the next level, which has so many nodes."""
        ...

    def ends(self, tree: Tree, menu: Menu, trees: range, first: IntArray, /) -> IntArray:
        """Counts (leaf, tree of the menu, its end, value, class), for some trees of the menu."""
        ...


class Rows:
    """The private table, coded and held, and the node of the current level of every row."""

    def __init__(self, codes: Any, classes: Any, n_classes: int) -> None:
        self.codes = codes
        self.classes = classes
        self.n_classes = n_classes
        self.node = np.zeros(len(codes), dtype=np.int64)
        self.order, self.begins = interruptible(kernel.group_rows)(self.node, 1)

    def class_counts(self) -> IntArray:
        """Counts (node, class) of the current level."""
        cells = self.node[self.order] * self.n_classes + self.classes[self.order]
        nodes = len(self.begins) - 1
        counts = np.bincount(cells, minlength=nodes * self.n_classes)
        return counts.reshape(nodes, self.n_classes)

    def tables(self, nodes: list[int], first: IntArray) -> IntArray:
        """Counts (node, value, class) of the given nodes, in one pass over their rows."""
        rows = [self.order[self.begins[i] : self.begins[i + 1]] for i in nodes]
        begins = np.concatenate([[0], np.cumsum([len(r) for r in rows], dtype=np.int64)])
        tables = np.zeros((len(nodes), int(first[-1]), self.n_classes), dtype=np.int64)
        groups = (np.concatenate(rows), begins)
        kernel.count_tables(self.codes, self.classes, groups, first, tables)
        return tables

    def move(
        self, attribute: IntArray, route_start: IntArray, routes: IntArray, nodes: int
    ) -> None:
        """Every row to its child in the next level, which has so many nodes."""
        kernel.move_rows(self.codes, self.node, attribute, route_start, routes)
        self.order, self.begins = interruptible(kernel.group_rows)(self.node, nodes)

    def ends(self, tree: Tree, menu: Menu, trees: range, first: IntArray) -> IntArray:
        """Counts (leaf, tree, end, value, class), in one pass over the rows for each tree."""
        shape = len(tree.leaves), len(trees), menu.ends, int(first[-1]), self.n_classes
        tables = np.zeros(shape, dtype=np.int64)
        slot = tree.slots[tree.apply(self.codes)]
        count = interruptible(count_ends)
        counted = trees.start, first, tables
        count(self.codes, self.classes, slot, menu.arrays, counted)
        return tables


def grow(
    plan: Plan, domains: Sequence[Domain], n_classes: int, rows: LevelRows, *, entropy: Entropy
) -> Tree:
    """A private tree from coded rows; spends exactly what `plan.charges` says."""
    growth = _Growth(plan, candidates_of(domains, plan.branching), n_classes, entropy)
    allowed = np.ones((1, int(growth.candidates.first[-1])), dtype=np.bool_)
    for level in range(plan.depth + 1):
        totals = rows.class_counts()
        chosen = growth.choose(level, rows, totals, allowed)
        growth.make_leaves(level, totals, [split is None for split in chosen])
        allowed = growth.make_children(level, allowed, chosen)
        rows.move(*growth.routes_of_level(level), len(allowed))
    return growth.tree()


@cache
def prepare(
    criterion: TreeCriterion, mechanism: Mechanism | Literal["sulq"], rows_bound: int
) -> None:
    """Compiles or loads all kernels of a fit, on no rows, before anything is paid.

    Raises:
        ParameterError: if the mechanism does not suit a split among so many rows.
    """
    third = Fraction(1, 3)
    chosen = MECHANISMS[0] if mechanism == SULQ else mechanism
    tiny = Plan(
        Fraction(1), rows_bound, (1, 1), (third,) * 3, chosen, criterion, "binary", False, "pf",
        True, candidates=2, classes=2,
    )  # fmt: skip
    codes = np.empty((0, 2), dtype=np.int16)
    none = np.empty(0, dtype=np.int64)
    kernel.level_cells(codes, none, none, np.array([0, 2, 4]), 2)
    rows = Rows(codes, none, 2)
    grow(tiny, [Categories((0, 1)), Categories((0, 1))], 2, rows, entropy=InsecureEntropy(0))


@cache
def prepare_counting() -> None:
    """Compiles or loads the kernels that count rows by value and class, on no rows."""
    codes = np.empty((0, 2), dtype=np.int16)
    none = np.empty(0, dtype=np.int64)
    Rows(codes, none, 2).tables([0], np.array([0, 2, 4]))


class _Growth:
    """The nodes made so far, level by level."""

    def __init__(
        self, plan: Plan, candidates: Candidates, n_classes: int, entropy: Entropy
    ) -> None:
        self.plan = plan
        self.candidates = candidates
        self.entropy = entropy
        self.n_classes = n_classes
        self.begins = [0]  # where each level begins
        self.attribute: list[int] = []
        self.label: list[int] = []
        self.level: list[int] = []
        self.route_start: list[int] = []
        self.routes: list[int] = []
        self.counts: list[IntArray] = []

    def choose(
        self, level: int, rows: LevelRows, totals: IntArray, allowed: BoolArray
    ) -> list[int | None]:
        """The split of every node of a level, `None` for a leaf."""
        chosen: list[int | None] = [None] * len(totals)
        if level == self.plan.depth:
            return chosen
        large = self._large_enough(level, totals)
        possible = {i: np.flatnonzero(self.candidates.possible(allowed[i])) for i in large}
        splitting = [i for i in large if len(possible[i])]
        for part in _chunks(splitting, int(self.candidates.first[-1]) * self.n_classes):
            tables = rows.tables(part, self.candidates.first)
            two_way = self.candidates.tables(tables) if self._binary else tables
            for i, table in zip(part, two_way, strict=True):
                chosen[i] = self._choose_one(level, table, possible[i])
        return chosen

    @property
    def _binary(self) -> bool:
        return self.candidates.branching == "binary"

    def _large_enough(self, level: int, totals: IntArray) -> list[int]:
        """The paper's stop rule, on noisy counts: N / (t |C|) < sqrt(2) / ε' makes a leaf."""
        if not self.plan.stopping:
            return list(range(len(totals)))
        epsilon = self.plan.count_epsilon(level)
        noisy = totals.sum(axis=1) + discrete_laplace(1 / epsilon, len(totals), self.entropy)
        widest = 2 if self._binary else int(np.diff(self.candidates.first).max())
        enough = noisy >= math.sqrt(2) / float(epsilon) * widest * self.n_classes
        return [int(i) for i in np.flatnonzero(enough)]

    def _choose_one(self, level: int, table: IntArray, candidates: IntArray) -> int:
        """One selection among the candidates that a node's path leaves."""
        epsilon = self.plan.query_epsilon(level)
        rows, starts = self._rows_of(table, candidates)
        if self.plan.mechanism == SULQ:
            best = _noisiest_gain(rows, starts, epsilon, self.entropy)
        else:
            best = choose_split(self.plan, level, rows, starts, self.entropy)
        return int(candidates[best])

    def _rows_of(self, table: IntArray, candidates: IntArray) -> tuple[IntArray, IntArray]:
        """The counts of the given candidates below each other, and where each begins."""
        if self._binary:
            rows = table[candidates].reshape(-1, self.n_classes)
            return rows, np.arange(0, len(rows) + 1, 2)
        first = self.candidates.first
        parts = [table[first[a] : first[a + 1]] for a in candidates]
        sizes = [0, *(len(p) for p in parts)]
        return np.concatenate(parts), np.cumsum(sizes, dtype=np.int64)

    def make_leaves(self, level: int, totals: IntArray, is_leaf: list[bool]) -> None:
        """Appends the nodes of a level, and labels those that are leaves."""
        epsilon = self.plan.leaf_epsilon(level)
        leaf = np.flatnonzero(is_leaf)
        label = np.full(len(totals), -1, dtype=np.int64)
        counts = np.zeros_like(totals)
        label[leaf], counts[leaf] = _labels(totals[leaf], epsilon, self.plan, self.entropy)
        self.attribute += [-1] * len(totals)
        self.label += label.tolist()
        self.level += [level] * len(totals)
        self.counts.append(counts)

    def make_children(self, level: int, allowed: BoolArray, chosen: list[int | None]) -> BoolArray:
        """Routes to the next level; the values that the path of each of its nodes allows."""
        begin = self.begins[level]
        self.begins.append(begin + len(chosen))
        children: list[BoolArray] = []
        for i, split in enumerate(chosen):
            self.route_start.append(len(self.routes))
            if split is not None:
                self.attribute[begin + i] = int(self.candidates.attribute[split])
                next_node = self.begins[level + 1] + len(children)
                children += self._branch(split, allowed[i], next_node)
        return np.array(children, dtype=np.bool_).reshape(-1, allowed.shape[1])

    def _branch(self, split: int, allowed: BoolArray, next_node: int) -> list[BoolArray]:
        """Routes every code of an attribute to one of the children, numbered from `next_node`."""
        a = self.candidates.attribute[split]
        values = slice(self.candidates.first[a], self.candidates.first[a + 1])
        branches = self.candidates.branches(split)
        route = np.empty(values.stop - values.start, dtype=np.int64)
        children: list[BoolArray] = []
        for k, codes in enumerate(branches):
            route[codes] = next_node + k
            child = allowed.copy()
            child[values] = False
            child[values][codes] = allowed[values][codes]
            children.append(child)
        self.routes += route.tolist()
        return children

    def routes_of_level(self, level: int) -> tuple[IntArray, IntArray, IntArray]:
        """Attributes, where routes start, and routes, numbered inside their levels."""
        begin = self.begins[level]
        end = self.begins[level + 1]
        attribute = np.array(self.attribute[begin:end], dtype=np.int64)
        start = np.array(self.route_start[begin:end], dtype=np.int64)
        return attribute, start, np.array(self.routes, dtype=np.int64) - end

    def tree(self) -> Tree:
        """The finished tree."""
        noisy = self.plan.leaves == "noisy-counts"
        return Tree(
            np.array(self.attribute, dtype=np.int64),
            np.array(self.route_start, dtype=np.int64),
            np.array(self.routes, dtype=np.int64),
            np.array(self.label, dtype=np.int64),
            np.array(self.level, dtype=np.int64),
            np.concatenate(self.counts) if noisy else None,
        )


def choose_split(
    plan: Plan, level: int, table: IntArray, starts: IntArray, entropy: Entropy
) -> int:
    """One selection among splits, whose counts (value, class) are below each other."""
    assert isinstance(plan.mechanism, Mechanism)
    criterion = plan.criterion_at(level)
    node = split_selection(table, starts, plan.max_rows, criterion, one_sided=plan.one_sided)
    epsilon = plan.query_epsilon(level)
    picked = select(node, epsilon=epsilon, mechanism=plan.mechanism, entropy=entropy)
    assert isinstance(picked, int)
    return picked


def _labels(
    counts: IntArray, epsilon: Fraction, plan: Plan, entropy: Entropy
) -> tuple[IntArray, IntArray]:
    """The classes of leaves and, where they are bought, noisy counts (leaf, class); else zeros."""
    if plan.leaves == "noisy-counts":
        noise = discrete_laplace(1 / epsilon, counts.size, entropy)
        noisy = counts + noise.reshape(counts.shape)
        return noisy.argmax(axis=1), noisy
    labels = [_most_frequent(leaf, epsilon, entropy) for leaf in counts]
    return np.array(labels, dtype=np.int64), np.zeros_like(counts)


def _most_frequent(counts: IntArray, epsilon: Fraction, entropy: Entropy) -> int:
    """A class by permute-and-flip on its count: sensitivity 1, one-sided, exact."""
    leaf = Selection(counts, sensitivity.constant(1), one_sided=True, exact=True)
    picked = select(leaf, epsilon=epsilon, mechanism=PF, entropy=entropy)
    assert isinstance(picked, int)
    return picked


def _noisiest_gain(table: IntArray, starts: IntArray, epsilon: Fraction, entropy: Entropy) -> int:
    """SuLQ-based ID3 (Blum et al. 2005): the best information gain of noisy counts.

    Every attribute gets an equal part of ε, half for the counts τ_j and half for the τ_jc.
    """
    scale = 2 * (len(starts) - 1) / epsilon
    cells = table + discrete_laplace(scale, table.size, entropy).reshape(table.shape)
    values = table.sum(axis=1) + discrete_laplace(scale, len(table), entropy)
    whole = np.maximum(values, 1)[:, None]
    part = np.clip(cells, 1, whole)
    gains: FloatArray = np.where(cells > 0, part * np.log2(part / whole), 0.0).sum(axis=1)
    return int(np.argmax(np.add.reduceat(gains, starts[:-1])))


def _chunks(nodes: list[int], cells: int) -> Iterator[list[int]]:
    """Nodes in groups whose tables fit into memory."""
    size = max(1, CHUNK_CELLS // max(cells, 1))
    for start in range(0, len(nodes), size):
        yield nodes[start : start + size]
