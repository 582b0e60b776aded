"""The private rows of a table, as growing a tree asks for them: held in memory, or where they live.

**Rows that stay where they live**: a level of a tree is one question for counts.  A node's rows are
those whose path, through the splits released so far, leads to it: a public function of a row.  So a
backend counts (node, value, class) for all nodes of a level in one pass, wherever the rows are, and
a tree of depth d takes d passes; the class counts of a level are sums of the counts above it.  What
is held is the counts of one level, 8 bytes each.

A tree that is grown in stages asks for the same at the ends of small trees, some at a time.

Several passes see one table only if it does not change between them.  The counts of a node are
compared with those that its parent promised; a table that changed is an error.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from dampen.core.selection import IntArray
from dampen.data.columns import as_labels, is_missing
from dampen.data.source import Batch, Kind, Opened, reading
from dampen.errors import DataError
from dampen.kernels import splits as kernel
from dampen.kernels.joint_subtrees import count_ends, end_cells
from dampen.questions.classify.encoding import (
    Categories,
    Domain,
    encode_batch,
    first_codes,
    leaked_domain,
)
from dampen.questions.classify.joint_subtrees import Menu
from dampen.questions.classify.released_tree import Tree

__all__ = ["Coding", "LevelRows", "ReadRows", "Rows", "StreamedRows", "read_rows"]


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
        self.codes = np.ascontiguousarray(codes, dtype=np.int16)
        self.classes = np.ascontiguousarray(classes)
        self.n_classes = n_classes
        self.node = np.zeros(len(codes), dtype=np.int64)
        self.order, self.begins = kernel.group_rows(self.node, 1)

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

    def ends(self, tree: Tree, menu: Menu, trees: range, first: IntArray) -> IntArray:
        """Counts (leaf, tree, end, value, class), in one pass over the rows for each tree."""
        shape = len(tree.leaves), len(trees), menu.ends, int(first[-1]), self.n_classes
        tables = np.zeros(shape, dtype=np.int64)
        slot = tree.slots[tree.apply(self.codes)]
        count_ends(self.codes, self.classes, slot, *menu.arrays, trees.start, first, tables)
        return tables


@dataclass(frozen=True)
class Coding:
    """How rows become codes: public domains, the target and its classes."""

    domains: Mapping[str, Domain]
    target: str
    classes: Sequence[Hashable]

    @cached_property
    def labels(self) -> Categories:
        return Categories(tuple(self.classes))

    @property
    def wanted(self) -> dict[str, Kind]:
        kinds = {name: domain.kind for name, domain in self.domains.items()}
        return kinds | {self.target: self.labels.kind}

    @property
    def first(self) -> IntArray:
        """Where the values of each attribute begin when all are written below each other."""
        return first_codes(list(self.domains.values()))

    def coded(self, batch: Batch) -> tuple[IntArray, IntArray]:
        """The codes of rows, one column per attribute, and their classes.

        Rows with a value outside its domain, or without a public class, are dropped.
        """
        codes = encode_batch(batch, self.domains)
        classes = self.labels.encode(batch[self.target])
        if codes.min(initial=0) >= 0 and classes.min(initial=0) >= 0:
            return codes, classes
        whole = (codes >= 0).all(axis=1) & (classes >= 0)
        return codes[whole], classes[whole]


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
        n_classes = len(self.coding.classes)
        cells: IntArray = kernel.level_cells(codes, classes, slot, first, n_classes)
        return cells


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
        cells: IntArray = end_cells(codes, classes, slot, *self.menu.arrays, *counted)
        return cells


class StreamedRows:
    """A private table that is asked for counts, level after level; see `growing`."""

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
    classes: Sequence[Hashable]
    size: int


def read_rows(
    table: Opened,
    domains: Mapping[str, Domain | None],
    target: str,
    classes: Sequence[Hashable] | None,
) -> ReadRows:
    """Reads and codes the rows; what is not given is taken from them, which was warned of.

    Where the table streams and all is given, its rows stay where they are.
    """
    leaked = None
    if classes is None or None in domains.values():
        leaked = list(table.batches(_wanted(domains, target, classes)))
        classes = _leaked_classes(leaked, target) if classes is None else classes
        domains = _completed(domains, leaked)
    known = {name: domain for name, domain in domains.items() if domain is not None}
    coding = Coding(known, target, classes)
    if leaked is None and table.streams:
        streamed = StreamedRows(table, coding)
        return ReadRows(streamed, known, classes, int(streamed.class_counts().sum()))
    with reading(table.batches(coding.wanted) if leaked is None else iter(leaked)) as stream:
        held = _held(stream, coding)
    return ReadRows(held, known, classes, len(held.codes))


def _held(batches: Iterable[Batch], coding: Coding) -> Rows:
    codes: list[Any] = [np.empty((0, len(coding.domains)), dtype=np.int16)]
    class_codes: list[IntArray] = [np.empty(0, dtype=np.int64)]
    for batch in batches:
        found, classes = coding.coded(batch)
        codes.append(found)
        class_codes.append(classes)
    return Rows(np.concatenate(codes), np.concatenate(class_codes), len(coding.classes))


def _wanted(
    domains: Mapping[str, Domain | None], target: str, classes: Sequence[Hashable] | None
) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {
        name: "any" if domain is None else domain.kind for name, domain in domains.items()
    }
    return kinds | {target: "any" if classes is None else Categories(tuple(classes)).kind}


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


def _completed(
    domains: Mapping[str, Domain | None], batches: Sequence[Batch]
) -> dict[str, Domain | None]:
    return {
        name: leaked_domain([batch[name] for batch in batches]) if domain is None else domain
        for name, domain in domains.items()
    }
