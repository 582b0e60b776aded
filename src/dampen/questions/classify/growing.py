"""Growing a tree: level by level, or some levels and then several at once with the leaves' classes.

**Level by level** (`grow`): one pass over the rows per level, one selection per node.  How a node
is decided is a `Rule`; `Selections` is that of `TreeClassifier`, and the paper's ID3 has its own
(`dampen.paper.id3`).

**In stages** (`grow_in_stages`): the levels that come first are selected one by one, by the same
rule.  Below them, in every leaf so far, one release decides a small tree and its classes
(`dampen.questions.classify.joint_subtrees`).  Leaves hold disjoint rows, so a stage costs what one
node costs; see `dampen.questions.classify.plan`.

Empty nodes are grown like any others: leaving them out would tell that they are empty.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np

from dampen.core import sensitivity
from dampen.core.mechanisms import PF, Mechanism, select
from dampen.core.noise import GUMBEL
from dampen.core.sampling import Entropy, noisy_top
from dampen.core.selection import FloatArray, IntArray, Selection
from dampen.questions.classify.candidates import BoolArray, Candidates
from dampen.questions.classify.joint_subtrees import STAY, Choices, Menu, Weights, draw_menu
from dampen.questions.classify.plan import TreePlan
from dampen.questions.classify.released_tree import Tree, collapsed
from dampen.questions.classify.rows import LevelRows
from dampen.questions.classify.splits import Criterion, split_selection

__all__ = [
    "Rule",
    "Selections",
    "grow",
    "grow_in_stages",
    "grown",
    "most_frequent",
]

CHUNK_CELLS = 1 << 22
"""Tables of one chunk of nodes: at most 32 MB."""
CHUNK_COUNTS = 256
"""Counts that one row adds to in one pass over the rows."""


class Rule(Protocol):
    """How the nodes of a level are decided.

    Attributes:
        depth: the most levels of splits.
    """

    @property
    def depth(self) -> int: ...

    def growing(self, level: int, totals: IntArray, entropy: Entropy, /) -> list[int]:
        """The nodes that are split, from counts (node, class) of a level; the others are leaves."""
        ...

    def choose(self, level: int, table: IntArray, starts: IntArray, entropy: Entropy, /) -> int:
        """One of several splits, whose counts (value, class) are below each other."""
        ...

    def labels(
        self, level: int, counts: IntArray, entropy: Entropy, /
    ) -> tuple[IntArray, IntArray | None]:
        """The classes of leaves from counts (leaf, class); noisy counts where they are bought."""
        ...


@dataclass(frozen=True)
class Selections:
    """Every split by one selection, the class of every leaf by permute-and-flip.

    Attributes:
        epsilon: of the whole tree.
        max_rows: a public bound on the number of rows.
        shares: of ε, for each level of splits and then for the leaves.
        criteria: what a split maximises, level by level.
        mechanism: how it is selected.
        one_sided: False makes `em` and `pf` pay the factor 2 that they need not.
    """

    epsilon: Fraction
    max_rows: int
    shares: tuple[Fraction, ...]
    criteria: tuple[Criterion, ...]
    mechanism: Mechanism = PF
    one_sided: bool = True

    @property
    def depth(self) -> int:
        return len(self.criteria)

    def split_epsilon(self, level: int) -> Fraction:
        """For a split."""
        return self.epsilon * self.shares[level]

    def leaf_epsilon(self, level: int) -> Fraction:
        """For a leaf: all that its path has not spent."""
        return self.epsilon * sum(self.shares[level:], Fraction(0))

    def growing(self, level: int, totals: IntArray, entropy: Entropy, /) -> list[int]:
        """All nodes: which are split is public."""
        del level, entropy
        return list(range(len(totals)))

    def choose(self, level: int, table: IntArray, starts: IntArray, entropy: Entropy, /) -> int:
        criterion = self.criteria[level]
        node = split_selection(table, starts, self.max_rows, criterion, one_sided=self.one_sided)
        epsilon = self.split_epsilon(level)
        picked = select(node, epsilon=epsilon, mechanism=self.mechanism, entropy=entropy)
        assert isinstance(picked, int)
        return picked

    def labels(
        self, level: int, counts: IntArray, entropy: Entropy, /
    ) -> tuple[IntArray, IntArray | None]:
        epsilon = self.leaf_epsilon(level)
        found = [most_frequent(leaf, epsilon, entropy) for leaf in counts]
        return np.array(found, dtype=np.int64), None


def most_frequent(counts: IntArray, epsilon: Fraction, entropy: Entropy) -> int:
    """A class by permute-and-flip on its count: sensitivity 1, one-sided, exact."""
    leaf = Selection(counts, sensitivity.constant(1), one_sided=True, exact=True)
    picked = select(leaf, epsilon=epsilon, mechanism=PF, entropy=entropy)
    assert isinstance(picked, int)
    return picked


def grown(plan: TreePlan, candidates: Candidates, rows: LevelRows, *, entropy: Entropy) -> Tree:
    """The tree of a plan; splits whose leaves agree are taken back."""
    if plan.staged:
        return collapsed(grow_in_stages(plan, candidates, rows, entropy=entropy))
    return collapsed(grow(level_rule(plan), candidates, rows, entropy=entropy))


def level_rule(plan: TreePlan) -> Selections:
    """How a plan decides the levels that are selected one by one."""
    return Selections(plan.epsilon, plan.max_rows, plan.shares, plan.criteria)


def grow(rule: Rule, candidates: Candidates, rows: LevelRows, *, entropy: Entropy) -> Tree:
    """A private tree from coded rows, level by level; spends what its rule spends."""
    growth = _Levels(rule, candidates, entropy)
    allowed = np.ones((1, int(candidates.first[-1])), dtype=np.bool_)
    for level in range(rule.depth + 1):
        totals = rows.class_counts()
        chosen = growth.choose(level, rows, totals, allowed)
        growth.make_leaves(level, totals, [split is None for split in chosen])
        allowed = growth.make_children(level, allowed, chosen)
        rows.move(*growth.routes_of_level(level), len(allowed))
    return growth.tree()


def grow_in_stages(
    plan: TreePlan, candidates: Candidates, rows: LevelRows, *, entropy: Entropy
) -> Tree:
    """A private tree from coded rows, in stages; spends exactly what `plan.charges` says."""
    growth = _Nodes(candidates)
    rule = level_rule(plan)
    for level in range(len(plan.stages) - 1):
        _grow_level(rule, level, growth, rows, entropy)
    weights = Weights(candidates, plan.joint_epsilon)
    ends = _grow_together(plan, weights, growth, rows, entropy)
    _grow_last_level(weights, growth, ends, rows, entropy)
    return _labelled(growth.tree(), weights, rows, entropy)


class _Levels:
    """The nodes made so far, level by level."""

    def __init__(self, rule: Rule, candidates: Candidates, entropy: Entropy) -> None:
        self.rule = rule
        self.candidates = candidates
        self.entropy = entropy
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
        if level == self.rule.depth:
            return chosen
        growing = self.rule.growing(level, totals, self.entropy)
        possible = {i: np.flatnonzero(self.candidates.possible(allowed[i])) for i in growing}
        splitting = [i for i in growing if len(possible[i])]
        for part in _chunks(splitting, int(self.candidates.first[-1]) * totals.shape[1]):
            tables = rows.tables(part, self.candidates.first)
            two_way = self.candidates.tables(tables) if self._binary else tables
            for i, table in zip(part, two_way, strict=True):
                chosen[i] = self._choose_one(level, table, possible[i])
        return chosen

    @property
    def _binary(self) -> bool:
        return self.candidates.branching == "binary"

    def _choose_one(self, level: int, table: IntArray, candidates: IntArray) -> int:
        """One selection among the candidates that a node's path leaves."""
        rows, starts = self._rows_of(table, candidates)
        return int(candidates[self.rule.choose(level, rows, starts, self.entropy)])

    def _rows_of(self, table: IntArray, candidates: IntArray) -> tuple[IntArray, IntArray]:
        """The counts of the given candidates below each other, and where each begins."""
        if self._binary:
            rows = table[candidates].reshape(-1, table.shape[-1])
            return rows, np.arange(0, len(rows) + 1, 2)
        first = self.candidates.first
        parts = [table[first[a] : first[a + 1]] for a in candidates]
        sizes = [0, *(len(p) for p in parts)]
        return np.concatenate(parts), np.cumsum(sizes, dtype=np.int64)

    def make_leaves(self, level: int, totals: IntArray, is_leaf: list[bool]) -> None:
        """Appends the nodes of a level, and labels those that are leaves."""
        leaf = np.flatnonzero(is_leaf)
        label = np.full(len(totals), -1, dtype=np.int64)
        label[leaf], noisy = self.rule.labels(level, totals[leaf], self.entropy)
        self.attribute += [-1] * len(totals)
        self.label += label.tolist()
        self.level += [level] * len(totals)
        if noisy is not None:
            counts = np.zeros_like(totals)
            counts[leaf] = noisy
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
        return Tree(
            np.array(self.attribute, dtype=np.int64),
            np.array(self.route_start, dtype=np.int64),
            np.array(self.routes, dtype=np.int64),
            np.array(self.label, dtype=np.int64),
            np.array(self.level, dtype=np.int64),
            np.concatenate(self.counts) if self.counts else None,
        )


def _chunks(nodes: list[int], cells: int) -> Iterator[list[int]]:
    """Nodes in groups whose tables fit into memory."""
    size = max(1, CHUNK_CELLS // max(cells, 1))
    for start in range(0, len(nodes), size):
        yield nodes[start : start + size]


def _grow_level(
    rule: Rule, level: int, growth: "_Nodes", rows: LevelRows, entropy: Entropy
) -> None:
    """Splits every leaf by one selection of its own."""
    candidates = growth.candidates
    tree = growth.tree()
    tables = candidates.tables(_tables(tree, rows, candidates.first))
    for leaf, table in zip(tree.leaves.tolist(), tables, strict=True):
        possible = np.flatnonzero(candidates.possible(growth.allowed[leaf]))
        if len(possible):
            sides = table[possible].reshape(-1, table.shape[-1])
            chosen = rule.choose(level, sides, np.arange(0, len(sides) + 1, 2), entropy)
            growth.split(leaf, *candidates.codes(int(possible[chosen])))


def _grow_together(
    plan: TreePlan, weights: Weights, growth: "_Nodes", rows: LevelRows, entropy: Entropy
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


def _choices(plan: TreePlan, menu: Menu, weights: Weights, tree: Tree, rows: LevelRows) -> Choices:
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
    weights: Weights, growth: "_Nodes", ends: list[int], rows: LevelRows, entropy: Entropy
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


class _Nodes:
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
