"""Growing a tree: level by level, or some levels and then several at once with the leaves' classes.

- `grow`, `grow_in_stages`: the two ways.
- `Menu`, `Weights`, `Choices`, `TakenBack`: several levels of a tree and the classes of its leaves
  by one exponential mechanism.
- `Rows`, `StreamedRows`: the private rows of a table, as growing a tree asks for them: held in
  memory, or where they live.

**Level by level** (`grow`): one pass over the rows per level, one selection per node.  How a node
is decided is a `Rule`; `Selections` is that of `TreeClassifier`, and the paper's ID3 has its own
(`dampen.paper.id3`).

**In stages** (`grow_in_stages`): the levels that come first are selected one by one, by the same
rule.  Below them, in every leaf so far, one release decides a small tree and its classes
(see below).  Leaves hold disjoint rows, so a stage costs what one
node costs; see `dampen.questions.classify.plan`.

Empty nodes are grown like any others: leaving them out would tell that they are empty.

**Several levels in one release.**  Growing level by level pays for a choice at every level, and for
the classes of the leaves besides.  Here one release decides all of them together: T, a tree of up
to h levels from a public menu, and a class for each of its leaves.  Add/remove one row; K is the
number of classes, τ_lc counts the rows of class c at leaf l, π is a public prior over trees, and
e > 0.  Among all labelled trees, one is drawn with

    P(T, c)  proportional to  π(T) Π_l (1/K) exp(e τ_{l c_l}).

**Theorem.**  The release of T and c is e-DP.  Proof: Σ_l τ_{l c_l} is the number of rows that the
labelled tree classifies rightly.  A row more raises it by 0 or 1, whatever T and c are.  So every
weight grows by a factor from 1 to e^e, so does their sum, and a probability changes by a factor
from e^-e to e^e.  (The exponential mechanism for a one-sided utility of sensitivity 1.)

*Of numbers* (a window w > 1): the classes are steps, and τ_lc is replaced by s_lc / w, where
s_lc = Σ_k τ_lk (w - |k-c|)⁺.  A row more raises Σ_l s_{l c_l} / w by 0 to 1, whatever T and c are,
so that the same proof holds.  s is a whole number: all below is done with s and e / w.

There are astronomically many labelled trees, but the law factorises.

**How it is drawn.**  The prior is that of a branching process: a node is a leaf with probability
1/10; else its split is one of those that the menu has for it, each as likely, and on the last level
any split, each column as likely and each split of it; but the score of naive Bayes
(`dampen.questions.classify.plan`) is as likely as all columns together.  Let Z of a node
be the sum of the weights of all labelled trees below it,

    Z = (1/10) m(τ) + (9/10) Σ_s π(s) Z(inside s) Z(outside s),     m(τ) = (1/K) Σ_c exp(e τ_c),

and Z = m(τ) below the last level.  A split (or none) is drawn from the root on, each by its term of
Z; given the splits above it, every leaf gets class c with probability proportional to exp(e τ_c).
The product of these probabilities telescopes to P(T, c).

*Rounding.*  Terms of Z are floats, taken as exact numbers when one is drawn
(`dampen.core.sampling.noisy_top`).  At a node of n rows let every ln of a term be within
η_n = 2^-48 (e n + S + K + 64) of what it stands for, for S splits: ln of a prior, plus ln of the
exact sums of the terms that are drawn from below.  The nodes of one level have at most N rows
together, and there are less than 2^h nodes on h levels.  So ln of the product of all probabilities
is off by at most η = 2^-48 (h e N + 2^h (S + K + 64)), ln of the sum of all weights is too, on
either of two neighbours: the loss is at most e + 4 η; h counts the levels of U where they may be
taken back.  `TreePlan.joint_epsilon` makes e so much smaller than the ε that is paid.  At a node of
n rows |ln Z| <= e n + ln(20 S) + 3, as a leaf alone has a twentieth of the weight or more.  A sum
of K or S exponentials, its logarithm and three additions are right to
2^-52 (e n + ln(20 S) + K + 9) in absolute terms, and η_n is far more.
"""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from dampen.core import sensitivity
from dampen.core.mechanisms import PF, Mechanism, named, select
from dampen.core.noise import GUMBEL
from dampen.core.sampling import Entropy, noisy_top
from dampen.core.selection import FloatArray, IntArray, Selection
from dampen.data.columns import as_labels, is_missing
from dampen.data.source import Batch, Kind, Opened, reading
from dampen.errors import DataError
from dampen.kernels import trees as kernel
from dampen.questions.classify.encoding import (
    Bins,
    BoolArray,
    Candidates,
    Categories,
    Classes,
    Domain,
    attributes_of,
    bins,
    encode_batch,
    first_codes,
    leaked_domain,
    numbers_of,
)
from dampen.questions.classify.found import Found, Search
from dampen.questions.classify.model import Score, Tree, collapsed
from dampen.questions.classify.plan import STEPS, TreePlan
from dampen.questions.classify.splits import Criterion, scored, split_selection
from dampen.releases.numbers import LAPLACE, with_noise

__all__ = [
    "STAY",
    "Choices",
    "Coding",
    "LevelRows",
    "Menu",
    "ReadRows",
    "Rows",
    "Rule",
    "Selections",
    "Statement",
    "StreamedRows",
    "Weights",
    "draw_menu",
    "grow",
    "grow_in_stages",
    "grown",
    "leaked_rows",
    "most_frequent",
    "read_rows",
]


ATTEMPTS = 3
"""How often a split is drawn that could tell rows apart."""
LEAF = 0.1
"""The prior probability that a node is a leaf."""
STOP = 0.5
"""The prior probability that a split is taken back, where those above it are not."""
MOST_POWERS = 2**16


@dataclass(frozen=True, eq=False)
class Menu:
    """Public splits for some leaves; see `dampen.kernels.trees` for the arrays."""

    attribute: IntArray
    low: IntArray
    high: IntArray
    widths: tuple[int, ...]

    @property
    def ends(self) -> int:
        """The number of ends of a drawn tree, before its last level."""
        return int(2 ** len(self.widths))

    @property
    def trees(self) -> int:
        """How many trees have to be counted, so that all splits are."""
        return math.prod(self.widths)

    @cached_property
    def start(self) -> IntArray:
        """Where the splits of each level are."""
        sizes = [math.prod(self.widths[: i + 1]) << i for i in range(len(self.widths))]
        return np.cumsum([0, *sizes], dtype=np.int64)

    @property
    def arrays(self) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
        widths = np.array(self.widths, dtype=np.int64)
        return self.attribute, self.low, self.high, self.start, widths

    def split(self, leaf: int, level: int, choice: int, place: int) -> tuple[int, int, int]:
        """The attribute of a split, and the codes low .. high - 1 that it sets apart."""
        at = leaf, self.start[level] + (choice << level) + place
        return int(self.attribute[at]), int(self.low[at]), int(self.high[at])


def _blank(leaves: int, widths: tuple[int, ...]) -> Menu:
    size = sum(math.prod(widths[: i + 1]) << i for i in range(len(widths)))
    attribute, low, high = np.zeros((3, leaves, size), dtype=np.int64)
    return Menu(attribute, low, high, widths)


STAY = _blank(1, ())
"""The menu without splits: what it counts is the leaves themselves."""


def draw_menu(
    candidates: Candidates, widths: tuple[int, ...], allowed: Sequence[BoolArray], entropy: Entropy
) -> Menu:
    """Random splits for leaves, of which `allowed` tells the values that their paths leave.

    A function of public sizes and of randomness, never of the data.

    The menu is drawn without looking at the data, so it costs nothing; how it is drawn is a matter
    of accuracy alone.  A node of level l has widths[l] splits drawn at random, and each of their
    two sides has splits of its own, so that few splits make very many trees.
    """
    if not len(candidates):
        return STAY
    menu = _blank(len(allowed), widths)
    first = candidates.first
    begin = first[candidates.attribute]
    splits = [candidates.attribute, candidates.low - begin, candidates.high - begin]
    where = np.unique(candidates.column, return_index=True)[1]
    shape = *menu.attribute.shape, ATTEMPTS
    words = np.frombuffer(entropy.read(8 * math.prod(shape)), dtype="<i8").reshape(shape)
    first_split = np.array([*where, len(candidates)], dtype=np.int64)
    values = np.stack(allowed).view(np.uint8)
    bits = words & (2**63 - 1)
    kernel.draw_splits(bits, np.column_stack(splits), first_split, first, values, *menu.arrays)
    return menu


@dataclass(frozen=True, eq=False)
class Weights:
    """ln m and ln Z from counts, at e = `epsilon` for a whole window."""

    candidates: Candidates
    epsilon: float
    window: int = 1

    @property
    def step(self) -> float:
        """e for one step of the window."""
        return self.epsilon / self.window

    @cached_property
    def powers(self) -> FloatArray:
        most = min(MOST_POWERS, int(746 / self.step) + 1)
        return np.exp(-self.step * np.arange(most))

    @cached_property
    def log_prior(self) -> FloatArray:
        """The log prior of no split, and of every candidate on the last level."""
        candidates = self.candidates
        able, where, counts = np.unique(candidates.column, return_inverse=True, return_counts=True)
        if not len(able):
            return np.zeros(1)
        late = np.isin(able, candidates.column[candidates.attribute == candidates.late])
        shares = np.where(late, max(1, len(able) - 1), 1.0)  # as likely as all others together
        return np.log([LEAF, *(1 - LEAF) * (shares / shares.sum() / counts)[where]])

    @cached_property
    def splits(self) -> IntArray:
        """For every candidate: where its attribute begins, the split, where the attribute ends."""
        c = self.candidates
        begin = c.first[c.attribute]
        end = c.first[c.attribute + 1]
        return np.column_stack([begin, c.low, c.high, end])

    def leaves(self, counts: IntArray) -> FloatArray:
        """ln m from counts (..., class)."""
        rows = scored(counts, self.window).reshape(-1, counts.shape[-1])
        found: FloatArray = kernel.log_means(rows, self.step, self.powers)
        return found.reshape(counts.shape[:-1])

    def ends(self, tables: IntArray) -> tuple[FloatArray, IntArray]:
        """ln Z before the last level, and class counts, from counts (..., value, class)."""
        counts = tables[..., : self.candidates.first[1], :].sum(axis=-2)
        given = scored(tables, self.window).reshape(-1, *tables.shape[-2:])
        classes = scored(counts, self.window).reshape(-1, counts.shape[-1])
        prior = np.exp(self.log_prior)
        found: FloatArray = kernel.end_weights(
            given, classes, self.splits, prior, self.step, self.powers
        )
        return found.reshape(tables.shape[:-2]), counts

    def last_level(self, table: IntArray) -> FloatArray:
        """ln of the terms of Z on the last level: no split, and every candidate."""
        first = self.candidates.first
        stay = self.leaves(table[: first[1]].sum(axis=0)[None])
        scores = scored(table, self.window)[None]
        splits = kernel.split_weights(
            scores, self.splits, self.log_prior[1:], self.step, self.powers
        )
        return np.concatenate([self.log_prior[:1] + stay, splits])


class Choices:
    """ln of the terms of Z for all nodes of a menu, level by level."""

    def __init__(self, menu: Menu, weights: Weights, ends: FloatArray, counts: IntArray) -> None:
        """From ln Z (leaf, tree, end) and class counts (leaf, tree, end, class)."""
        self.stay: list[FloatArray] = []
        self.splits: list[FloatArray] = []
        leaves = len(ends)
        below = ends
        for level, width in reversed(list(enumerate(menu.widths))):
            before = math.prod(menu.widths[:level])
            nodes = 2**level
            pairs = below.reshape(leaves, before, width, nodes, 2).sum(axis=-1)
            splits = pairs + math.log((1 - LEAF) / width)
            # The rows of a node are the same in all trees with the same choices above it.
            one = counts.reshape(leaves, before, -1, *counts.shape[2:])[:, :, 0]
            here = one.reshape(leaves, before, nodes, -1, counts.shape[-1]).sum(axis=3)
            stay = weights.leaves(here) + math.log(LEAF)
            self.stay.insert(0, stay)
            self.splits.insert(0, splits)
            below = _log_sums(np.concatenate([stay[:, :, None], splits], axis=2))
        self.sums: FloatArray = below.reshape(leaves)  # ln Z of every leaf

    def at(self, leaf: int, level: int, choice: int, place: int) -> FloatArray:
        """No split, then every split of the menu: ln of the terms of one node."""
        stay = self.stay[level]
        splits = self.splits[level]
        return np.array([stay[leaf, choice, place], *splits[leaf, choice, :, place]])


def _log_sums(terms: FloatArray) -> FloatArray:
    largest = terms.max(axis=2, keepdims=True)
    total: FloatArray = np.log(np.exp(terms - largest).sum(axis=2)) + largest[:, :, 0]
    return total


class TakenBack:
    """ln of the terms of Z for all nodes of a tree whose splits may be taken back.

    *Splits that are taken back* (`TreePlan.scored`).  Where a score is one more attribute, the
    release also decides which of the splits that were selected one by one stay.  U is the tree that
    they make, and T may be any tree that is left of U after some nodes become ends, with small
    trees of the menu below the leaves of U that are left, and a single split or none at the nodes
    that became ends.  From the root on, a node inside U becomes an end with prior probability
    `STOP`, and has then the prior of the last level; with the rest it keeps its split:

        Z = STOP Z_last + (1 - STOP) Z(left) Z(right),

    Z at a leaf of U being that of its menu.  U was released before, so that all these labelled
    trees are public, and the theorem of the module is about any public prior over trees: T and c
    cost e, once, for all rows.  So evidence for one cut of the score at the root is weighed against
    that for all levels.
    """

    def __init__(self, tree: Tree, weights: Weights, tables: IntArray, sums: FloatArray) -> None:
        """From counts (leaf, value, class) and ln Z of the leaves."""
        nodes = len(tree.attribute)
        held = np.zeros((nodes, *tables.shape[1:]), dtype=np.int64)
        held[tree.leaves] = tables
        found = np.zeros(nodes)
        found[tree.leaves] = sums
        self.tree = tree
        self.terms = np.zeros((nodes, 2))
        for node in reversed(range(nodes)):  # children come after their parents
            children = np.unique(tree.children(node))
            if len(children):
                held[node] = held[children].sum(axis=0)
                end = _log_sums(weights.last_level(held[node])[None, None])[0, 0]
                self.terms[node] = end, found[children].sum()
                self.terms[node] += np.log([STOP, 1 - STOP])
                found[node] = _log_sums(self.terms[node][None, None])[0, 0]

    def drawn(self, entropy: Entropy) -> list[int]:
        """The nodes that become ends, from the root on."""
        ends = []
        waiting = [0]
        while waiting:
            node = waiting.pop()
            children = np.unique(self.tree.children(node)).tolist()
            if not children:
                continue
            if _draw(self.terms[node], Fraction(1), entropy):
                waiting += reversed(children)
            else:
                ends.append(node)
        return ends


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

    def with_score(self, score: Score, /) -> "LevelRows":
        """The same rows, before any of them moved, with one more attribute after all others."""
        ...

    def ends(self, tree: Tree, menu: Menu, trees: range, first: IntArray, /) -> IntArray:
        """Counts (leaf, tree of the menu, its end, value, class), for some trees of the menu."""
        ...


class Rows:
    """The private table, coded and held, and the node of the current level of every row."""

    def __init__(self, codes: Any, classes: Any, n_classes: int) -> None:
        self.codes = np.ascontiguousarray(codes, dtype=np.int16)
        self.classes = np.ascontiguousarray(classes)
        self.n_classes = n_classes
        self.node = np.zeros(len(codes), dtype=np.int64)
        self.order, self.begins = kernel.group_rows(self.node, 1)
        self.cells = np.empty((len(codes), 0), dtype=np.int32)
        self.slots: tuple[Tree, IntArray] | None = None
        self.leaf = self.node.copy()

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
        order = np.concatenate(rows)
        kernel.count_tables(self.codes, self.classes, order, begins, first, tables)
        return tables

    def move(
        self, attribute: IntArray, route_start: IntArray, routes: IntArray, nodes: int
    ) -> None:
        """Every row to its child in the next level, which has so many nodes."""
        kernel.move_rows(self.codes, self.node, attribute, route_start, routes)
        self.order, self.begins = kernel.group_rows(self.node, nodes)

    def with_score(self, score: Score) -> "Rows":
        """The same rows, before any of them moved, with one more attribute after all others."""
        return Rows(score.appended(self.codes), self.classes, self.n_classes)

    def ends(self, tree: Tree, menu: Menu, trees: range, first: IntArray) -> IntArray:
        """Counts (leaf, tree, end, value, class), in one pass over the rows for each tree."""
        shape = len(tree.leaves), len(trees), menu.ends, int(first[-1]), self.n_classes
        tables = np.zeros(shape, dtype=np.int64)
        width = len(first) - 1
        if width > self.cells.shape[1]:
            values = (self.codes[:, :width] + first[:-1]) * self.n_classes
            self.cells = (values + self.classes[:, None]).astype(np.int32)
        if self.slots is None or self.slots[0] is not tree:  # the same for all parts of a menu
            if self.slots is None or not _grew(tree, self.slots[0]):
                self.leaf = np.zeros_like(self.leaf)
            self.leaf = tree.apply(self.codes, self.leaf)
            self.slots = tree, tree.slots[self.leaf]
        counted = self.slots[1], *menu.arrays, trees.start, width, tables
        kernel.count_ends(self.codes, self.cells, *counted)
        return tables


def _grew(tree: Tree, before: Tree) -> bool:
    """Whether a tree has all splits of another one, with the same numbers of nodes."""
    inner = np.flatnonzero(before.attribute >= 0)
    return len(tree.attribute) >= len(before.attribute) and all(
        tree.attribute[node] == before.attribute[node]
        and np.array_equal(tree.children(node), before.children(node))
        for node in inner.tolist()
    )


@dataclass(frozen=True)
class Coding:
    """How rows become codes: public domains, the target and its classes."""

    domains: Mapping[str, Domain]
    target: str
    classes: Classes
    score: Score | None = None

    @cached_property
    def labels(self) -> Domain:
        return domain_of(self.classes)

    @property
    def wanted(self) -> dict[str, Kind]:
        kinds = {name: domain.kind for name, domain in self.domains.items()}
        return kinds | {self.target: self.labels.kind}

    @property
    def first(self) -> IntArray:
        """Where the values of each attribute begin when all are written below each other."""
        late = [] if self.score is None else [self.score.domain]
        return first_codes([*attributes_of(list(self.domains.values())), *late])

    def coded(self, batch: Batch) -> tuple[IntArray, IntArray]:
        """The codes of rows, one column per attribute, and their classes.

        Rows with a value outside its domain, or without a public class, are dropped.
        """
        codes = encode_batch(batch, self.domains)
        classes = self.labels.encode(batch[self.target])
        if codes.min(initial=0) < 0 or classes.min(initial=0) < 0:
            whole = (codes >= 0).all(axis=1) & (classes >= 0)
            codes = codes[whole]
            classes = classes[whole]
        return codes if self.score is None else self.score.appended(codes), classes


class Routes(NamedTuple):
    """How rows leave a level: the attribute of every node, and the child for each of its codes."""

    attribute: IntArray
    start: IntArray
    child: IntArray


@dataclass(frozen=True)
class LevelCells:
    """The cells (node, value, class) of rows, one per attribute, for some nodes of a level.

    Attributes:
        coding: how rows become codes.
        path: the routes of all levels above.
        slot: the place of a node among those that are counted, -1 for others.
    """

    coding: Coding
    path: tuple[Routes, ...]
    slot: IntArray

    def __call__(self, batch: Batch) -> IntArray:
        codes, classes = self.coding.coded(batch)
        node = np.zeros(len(codes), dtype=np.int64)
        for routes in self.path:
            kernel.move_rows(codes, node, *routes)
        slot = np.where(node >= 0, self.slot[node], -1)
        first = self.coding.first
        kept = slot >= 0
        cells: IntArray = (slot[kept] * first[-1])[:, None] + first[:-1] + codes[kept]
        return (cells * len(self.coding.classes) + classes[kept, None]).ravel()


@dataclass(frozen=True)
class EndCells:
    """The cells (leaf, tree of a menu, its end, value, class) of rows.

    Attributes:
        coding: how rows become codes.
        tree: what was released so far, whose leaves are counted.
        menu: the public splits below it.
        trees: which trees of the menu.
        first: where the values of each attribute begin, of all or of the first ones.
    """

    coding: Coding
    tree: Tree
    menu: Menu
    trees: range
    first: IntArray

    def __call__(self, batch: Batch) -> IntArray:
        codes, classes = self.coding.coded(batch)
        slot = self.tree.slots[self.tree.apply(codes)]
        counted = self.trees.start, self.trees.stop, self.first, len(self.coding.classes)
        cells: IntArray = kernel.end_cells(codes, classes, slot, *self.menu.arrays, *counted)
        return cells


class StreamedRows:
    """A private table that is asked for counts, level after level.

    A level of a tree is one question for counts.  A node's rows are those whose path, through the
    splits released so far, leads to it: a public function of a row.  So a backend counts (node,
    value, class) for all nodes of a level in one pass, wherever the rows are, and a tree of depth d
    takes d passes; the class counts of a level are sums of the counts above it.  What is held is
    the counts of one level, 8 bytes each.

    A tree that is grown in stages asks for the same at the ends of small trees, some at a time.
    Where splits are taken back, rows are followed from the root once more.

    Several passes see one table only if it does not change between them.  The counts of a node are
    compared with those that its parent promised; a table that changed is an error.
    """

    def __init__(self, table: Opened, coding: Coding) -> None:
        self._table = table
        self._coding = coding
        self._path: tuple[Routes, ...] = ()
        self._held: dict[int, IntArray] = {}
        root = self._count([0], nodes=1)
        self._held[0], self._totals = root[0], self._class_counts(root)

    def class_counts(self) -> IntArray:
        """Counts (node, class) of the current level."""
        return self._totals

    def tables(self, nodes: list[int], _: IntArray) -> IntArray:
        """Counts (node, value, class) of the given nodes, in one pass over all rows.

        Raises:
            DataError: if the table is no longer what it was.
        """
        new = [node for node in nodes if node not in self._held]
        if new:
            counts = self._count(new, nodes=len(self._totals))
            _check_same(self._class_counts(counts), self._totals[new])
            self._held |= dict(zip(new, counts, strict=True))
        return np.stack([self._held[node] for node in nodes])

    def move(
        self, attribute: IntArray, route_start: IntArray, routes: IntArray, nodes: int
    ) -> None:
        """Every row to its child in the next level, which has so many nodes."""
        first = self._coding.first
        totals = np.zeros((nodes, len(self._coding.classes)), dtype=np.int64)
        for node in np.flatnonzero(attribute >= 0):
            a = attribute[node]
            begin = route_start[node]
            counts = self._held[int(node)][first[a] : first[a + 1]]
            np.add.at(totals, routes[begin : begin + len(counts)], counts)
        self._path += (Routes(attribute, route_start, routes),)
        self._totals = totals
        self._held = {}

    def with_score(self, score: Score) -> "StreamedRows":
        """The same rows, before any of them moved, with one more attribute; takes one pass."""
        scored = StreamedRows(self._table, replace(self._coding, score=score))
        _check_same(scored.class_counts(), self._totals)
        return scored

    def ends(self, tree: Tree, menu: Menu, trees: range, first: IntArray) -> IntArray:
        """Counts (leaf, tree of the menu, its end, value, class), in one pass over all rows.

        Raises:
            DataError: if the table is no longer what it was.
        """
        classes = len(self._coding.classes)
        shape = len(tree.leaves), len(trees), menu.ends, int(first[-1]), classes
        cell_of = EndCells(self._coding, tree, menu, trees, first)
        found = self._table.counts(self._coding.wanted, cell_of, int(np.prod(shape)))
        counts = found[:-1].reshape(shape)
        for table in counts.sum(axis=(0, 2)):
            _check_same(table[: first[1]].sum(axis=0), self._totals[0])
        return counts

    def _count(self, counted: list[int], nodes: int) -> IntArray:
        slot = np.full(nodes, -1, dtype=np.int64)
        slot[counted] = np.arange(len(counted))
        cell_of = LevelCells(self._coding, self._path, slot)
        shape = len(counted), int(self._coding.first[-1]), len(self._coding.classes)
        counts = self._table.counts(self._coding.wanted, cell_of, int(np.prod(shape)))
        return counts[:-1].reshape(shape)

    def _class_counts(self, tables: IntArray) -> IntArray:
        """Every row has one value of the first attribute."""
        totals: IntArray = tables[:, : self._coding.first[1]].sum(axis=1)
        return totals


def _check_same(found: IntArray, promised: IntArray) -> None:
    if not np.array_equal(found, promised):
        raise DataError(
            "Expected a table that does not change while a tree is grown; it did. Make a copy of "
            "it first, or drop what is random in the query."
        )


class ReadRows(NamedTuple):
    """The private rows, ready to be counted, and the public domains by which they are coded."""

    rows: LevelRows
    domains: dict[str, Domain]
    classes: Classes
    found: Found


@dataclass(frozen=True)
class Statement:
    """The public facts of the columns of a table.

    Attributes:
        domains: of every column to predict from, None where it is not stated.
        target: the column of classes.
        classes: None only where they are taken from the data.
        numbers: whether classes that are taken from it are steps of a number.
    """

    domains: Mapping[str, Domain | None]
    target: str
    classes: Classes | None
    numbers: bool = False

    @property
    def wanted(self) -> dict[str, Kind]:
        """How the columns are read, those without a domain as they are."""
        kinds: dict[str, Kind] = {
            name: "any" if domain is None else domain.kind for name, domain in self.domains.items()
        }
        classes = "any" if self.classes is None else domain_of(self.classes).kind
        return kinds | {self.target: classes}


def read_rows(
    table: Opened, stated: Statement, search: Search, epsilon: Fraction, entropy: Entropy
) -> ReadRows:
    """Reads and codes the rows, by domains of which some are found first; see `Search`.

    Where the table streams its rows stay where they are: what is found takes one more pass.
    """
    assert stated.classes is not None
    tallies = search.tallied()
    held: list[Batch] = []
    looks = search.needs_rows or bool(search.kinds)
    if looks:
        labels = domain_of(stated.classes)
        with reading(table.batches(stated.wanted | search.wanted)) as stream:
            for batch in stream:
                tallies.add(batch, int((labels.encode(batch[stated.target]) >= 0).sum()))
                held += [] if table.streams else [batch]  # rows of a reader come once
    found = search.find(tallies, epsilon, entropy)
    domains = {name: each or found.domains[name] for name, each in stated.domains.items()}
    coding = Coding(domains, stated.target, stated.classes)
    if table.streams:
        return ReadRows(StreamedRows(table, coding), domains, stated.classes, found)
    with reading(iter(held) if looks else table.batches(coding.wanted)) as stream:
        return ReadRows(_held(stream, coding), domains, stated.classes, found)


def leaked_rows(table: Opened, stated: Statement, max_rows: int | None) -> ReadRows:
    """Reads and codes the rows; what is not stated is taken from them, which was warned of."""
    leaked = list(table.batches(stated.wanted))
    taken = leaked_steps if stated.numbers else _leaked_classes
    classes = stated.classes or taken(leaked, stated.target)
    domains = {
        name: domain or leaked_domain([batch[name] for batch in leaked])
        for name, domain in stated.domains.items()
    }
    held = _held(leaked, Coding(domains, stated.target, classes))
    return ReadRows(held, domains, classes, Found({}, max_rows or max(1, len(held.codes))))


def _held(batches: Iterable[Batch], coding: Coding) -> Rows:
    codes: list[Any] = [np.empty((0, len(coding.first) - 1), dtype=np.int16)]
    class_codes: list[IntArray] = [np.empty(0, dtype=np.int64)]
    for batch in batches:
        found, classes = coding.coded(batch)
        codes.append(found)
        class_codes.append(classes)
    return Rows(np.concatenate(codes), np.concatenate(class_codes), len(coding.classes))


def domain_of(classes: Classes) -> Domain:
    """Equal steps of a number as they are, a list of classes as categories."""
    return classes if isinstance(classes, Bins) else Categories(tuple(classes))


def leaked_steps(batches: Sequence[Batch], target: str) -> Bins:
    """The steps between the least and the largest number of a column."""
    numbers = np.concatenate([np.empty(0), *(numbers_of(batch[target]) for batch in batches)])
    if not len(numbers) or not np.isfinite(numbers).all():
        raise DataError("Expected numbers in y; some are missing (NaN) or infinite (inf).")
    low = float(numbers.min())
    return bins(low, max(float(numbers.max()), low + max(1e-9, abs(low) / 2**20)), STEPS)


def _leaked_classes(batches: Sequence[Batch], target: str) -> Sequence[Hashable]:
    labels = as_labels(batch[target] for batch in batches)
    if any(map(is_missing, labels)):
        raise DataError("Expected a class in every row; some are missing (NaN).")
    if any(isinstance(label, float) and not label.is_integer() for label in labels):
        raise DataError(
            "Unknown label type: expected classes, not continuous numbers, fractions or infinite "
            "ones (inf)."
        )
    classes = sorted(set(labels), key=lambda label: (isinstance(label, str), label))
    if len(classes) < 2:
        raise DataError("Expected rows of at least two classes; all are of one class.")
    return classes


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
    """Every split by one selection, the class of every leaf by permute-and-flip, or as it is named.

    Attributes:
        epsilon: of the whole tree.
        max_rows: a public bound on the number of rows.
        shares: of ε, for each level of splits and then for the leaves.
        criteria: what a split maximises, level by level.
        mechanism: how it is selected.
        labelling: how the class of a leaf is.
        one_sided: False makes `em` and `pf` pay the factor 2 that they need not.
        odds: ε of noisy counts, or sums, of the leaves besides; 0 buys none.
        window: more than 1 where the classes are steps of a number.
    """

    epsilon: Fraction
    max_rows: int
    shares: tuple[Fraction, ...]
    criteria: tuple[Criterion, ...]
    mechanism: Mechanism = PF
    labelling: Mechanism = PF
    one_sided: bool = True
    odds: Fraction = Fraction(0)
    window: int = 1

    @property
    def depth(self) -> int:
        return len(self.criteria)

    def split_epsilon(self, level: int) -> Fraction:
        """ε for a split."""
        return self.epsilon * self.shares[level]

    def leaf_epsilon(self, level: int) -> Fraction:
        """ε for a leaf: the part that its path has not spent."""
        return self.epsilon * sum(self.shares[level:], Fraction(0))

    def growing(self, level: int, totals: IntArray, entropy: Entropy, /) -> list[int]:
        """All nodes: which are split is public."""
        del level, entropy
        return list(range(len(totals)))

    def choose(self, level: int, table: IntArray, starts: IntArray, entropy: Entropy, /) -> int:
        criterion = self.criteria[level]
        node = split_selection(
            table, starts, self.max_rows, criterion, one_sided=self.one_sided, window=self.window
        )
        epsilon = self.split_epsilon(level)
        picked = select(node, epsilon=epsilon, mechanism=self.mechanism, entropy=entropy)
        assert isinstance(picked, int)
        return picked

    def labels(
        self, level: int, counts: IntArray, entropy: Entropy, /
    ) -> tuple[IntArray, IntArray | None]:
        epsilon = self.leaf_epsilon(level)
        found = [
            most_frequent(leaf, epsilon, entropy, self.labelling, self.window) for leaf in counts
        ]
        label = np.array(found, dtype=np.int64)
        return label, noisy_leaves(counts, label, self.odds, self.window, entropy)


def noisy_leaves(
    counts: IntArray, label: IntArray, epsilon: Fraction, window: int, entropy: Entropy
) -> IntArray | None:
    """Noisy counts (leaf, class), or of numbers the two noisy sums of every leaf; None for ε = 0.

    **Theorem.**  Counts with discrete Laplace noise of scale 1/ε are ε-DP, as a row is in one of
    them.  Of numbers, let d be the steps of a row from the label of its leaf, which is public by
    now, moved into -w .. w.  The sums of w + d and of w - d with noise of scale 2w/ε are ε-DP.
    Proof: a row changes the two sums of one leaf, by w + d and w - d, which are at least 0 and
    add up to 2w. ∎  (As those of a mean, `dampen.questions.means`.)
    """
    if not epsilon:
        return None
    if window == 1:
        return with_noise(counts, LAPLACE, 1 / epsilon, entropy)
    away = np.clip(np.arange(counts.shape[1]) - label[:, None], -window, window)
    sums = [(counts * (window + away)).sum(axis=1), (counts * (window - away)).sum(axis=1)]
    return with_noise(np.stack(sums, axis=1), LAPLACE, 2 * window / epsilon, entropy)


def most_frequent(
    counts: IntArray,
    epsilon: Fraction,
    entropy: Entropy,
    mechanism: Mechanism = PF,
    window: int = 1,
) -> int:
    """A class by a mechanism on its count, or its score: one-sided, exact, of sensitivity w."""
    scores = scored(counts, window)
    leaf = Selection(scores, sensitivity.constant(window), one_sided=True, exact=True)
    picked = select(leaf, epsilon=epsilon, mechanism=mechanism, entropy=entropy)
    assert isinstance(picked, int)
    return picked


def grown(plan: TreePlan, candidates: Candidates, rows: LevelRows, *, entropy: Entropy) -> Tree:
    """The tree of a plan; splits whose leaves agree are taken back."""
    if plan.staged:
        return collapsed(grow_in_stages(plan, candidates, rows, entropy=entropy))
    return collapsed(grow(level_rule(plan), candidates, rows, entropy=entropy))


def level_rule(plan: TreePlan) -> Selections:
    """How a plan decides the levels that are selected one by one."""
    drawn_by = named(plan.selection)
    return Selections(
        plan.epsilon,
        plan.max_rows,
        plan.shares,
        plan.criteria,
        drawn_by,
        labelling=drawn_by,
        odds=plan.odds,
        window=plan.window,
    )


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
    weights = Weights(candidates, plan.joint_epsilon, plan.window)
    ends = _grow_together(plan, weights, growth, rows, entropy)
    _grow_last_level(weights, growth, ends, rows, entropy)
    return _labelled(growth.tree(), weights, rows, plan.odds, entropy)


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
            counts = np.zeros((len(totals), noisy.shape[1]), dtype=np.int64)
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
        early = candidates.attribute != candidates.late
        possible = np.flatnonzero(candidates.possible(growth.allowed[leaf]) & early)
        if len(possible):
            sides = table[possible].reshape(-1, table.shape[-1])
            chosen = rule.choose(level, sides, np.arange(0, len(sides) + 1, 2), entropy)
            growth.split(leaf, *candidates.codes(int(possible[chosen])))


def _grow_together(
    plan: TreePlan, weights: Weights, growth: "_Nodes", rows: LevelRows, entropy: Entropy
) -> list[int]:
    """In every leaf a small tree from the menu; those of its leaves that the last level follows.

    With a score, splits of the tree may be taken back first; the last level follows these too.
    """
    tree = growth.tree()
    leaves = tree.leaves.tolist()
    allowed = [growth.allowed[leaf] for leaf in leaves]
    menu = draw_menu(weights.candidates, plan.widths, allowed, entropy)
    choices = _choices(plan, menu, weights, tree, rows)
    back = _taken_back(tree, weights, choices, rows, entropy) if plan.scored else []
    number = growth.cut(back)

    def descend(leaf: int, slot: int, level: int, choice: int, place: int) -> Iterator[int]:
        if level == len(menu.widths):
            yield leaf
            return
        picked = _draw(choices.at(slot, level, choice, place), Fraction(1), entropy)
        if picked:
            chosen = choice * menu.widths[level] + picked - 1
            for side, child in growth.split(leaf, *menu.split(slot, level, chosen, place)):
                yield from descend(child, slot, level + 1, chosen, 2 * place + side)

    left = [(slot, number[leaf]) for slot, leaf in enumerate(leaves) if leaf in number]
    ends = [end for slot, leaf in left for end in descend(leaf, slot, 0, 0, 0)]
    return [*ends, *(number[node] for node in back)]


def _taken_back(
    tree: Tree, weights: Weights, choices: Choices, rows: LevelRows, entropy: Entropy
) -> list[int]:
    """The nodes that become ends; a tree without splits has none."""
    if len(tree.attribute) == 1:
        return []
    tables = _tables(tree, rows, weights.candidates.first)
    return TakenBack(tree, weights, tables, choices.sums).drawn(entropy)


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


def _labelled(
    tree: Tree, weights: Weights, rows: LevelRows, odds: Fraction, entropy: Entropy
) -> Tree:
    """The tree with classes at its leaves, by the exponential mechanism on their counts.

    Noisy counts, or sums, of the leaves besides, where ε `odds` pays for them.
    """
    # Every row has one value of the first attribute.
    counts = _tables(tree, rows, weights.candidates.first[:2]).sum(axis=1)
    epsilon = Fraction(weights.epsilon) / weights.window
    label = tree.label.copy()
    scores = scored(counts, weights.window).astype(np.float64)
    label[tree.leaves] = [_draw(leaf, epsilon, entropy) for leaf in scores]
    noisy = noisy_leaves(counts, label[tree.leaves], odds, weights.window, entropy)
    if noisy is None:
        return replace(tree, label=label)
    every = np.zeros((len(label), noisy.shape[1]), dtype=np.int64)
    every[tree.leaves] = noisy
    return replace(tree, label=label, counts=every)


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

    def cut(self, ends: Sequence[int]) -> dict[int, int]:
        """Takes back all splits at and below some nodes; the new number of every node left."""
        left = [0]
        for node in left:  # grows on the way
            if node in ends:
                self.attribute[node] = -1
                self.routes[node] = []
            left += sorted(set(self.routes[node]))
        number = {node: place for place, node in enumerate(sorted(left))}
        self.attribute = [self.attribute[node] for node in number]
        self.level = [self.level[node] for node in number]
        self.routes = [[number[child] for child in self.routes[node]] for node in number]
        self.allowed = [self.allowed[node] for node in number]
        return number

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
