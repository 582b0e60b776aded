"""Universes: every database of a small world, and which of them are neighbours."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from dampen.core.selection import IntArray

X = TypeVar("X")
Graph = tuple[IntArray, IntArray]


@dataclass(frozen=True, slots=True, repr=False)
class Universe(Generic[X]):
    """Databases, and which of them are neighbours: index pairs, the smaller database first."""

    databases: Sequence[X]
    neighbours: IntArray
    describe: Callable[[X], str] = repr

    def __repr__(self) -> str:
        return f"<Universe of {len(self.databases)} databases, {len(self.neighbours)} pairs>"

    @classmethod
    def of(cls, databases: Iterable[X], are_neighbours: Callable[[X, X], bool]) -> "Universe[X]":
        """Any databases, with a symmetric relation that says which are neighbours."""
        listed = list(databases)
        pairs = [
            (i, j)
            for i, j in itertools.combinations(range(len(listed)), 2)
            if are_neighbours(listed[i], listed[j])
        ]
        return cls(listed, _pairs(pairs))

    @classmethod
    def replace_one(cls, values: Iterable[Any], n: int) -> "Universe[tuple[Any, ...]]":
        """All n-tuples of the values; neighbours differ in one place."""
        domain = list(values)
        databases = list(itertools.product(domain, repeat=n))
        index = {x: i for i, x in enumerate(databases)}
        pairs = [
            (index[x], index[(*x[:place], value, *x[place + 1 :])])
            for x in databases
            for place in range(n)
            for value in domain[domain.index(x[place]) + 1 :]
        ]
        return Universe(databases, _pairs(pairs))

    @classmethod
    def add_remove_row(cls, rows: Iterable[Any], max_rows: int) -> "Universe[tuple[Any, ...]]":
        """All multisets of at most `max_rows` rows; neighbours differ by one row."""
        domain = list(rows)
        position = {row: i for i, row in enumerate(domain)}
        databases = [
            x
            for size in range(max_rows + 1)
            for x in itertools.combinations_with_replacement(domain, size)
        ]
        index = {x: i for i, x in enumerate(databases)}
        pairs = [
            (index[x], index[tuple(sorted((*x, row), key=position.__getitem__))])
            for x in databases
            if len(x) < max_rows
            for row in domain
        ]
        return Universe(databases, _pairs(pairs))

    @classmethod
    def graphs(cls, n: int) -> "Universe[Graph]":
        """All graphs with n vertices, as (src, dst) arrays; neighbours differ by one edge."""
        edges = np.array(list(itertools.combinations(range(n), 2)), dtype=np.int64).reshape(-1, 2)
        count = 1 << len(edges)
        bits = np.arange(count)[:, None] >> np.arange(len(edges)) & 1
        databases = [(edges[row == 1, 0], edges[row == 1, 1]) for row in bits]
        pairs = [
            (x, x | 1 << edge)
            for x in range(count)
            for edge in range(len(edges))
            if not x >> edge & 1
        ]
        return Universe(databases, _pairs(pairs), _describe_graph)


def _pairs(pairs: list[tuple[int, int]]) -> IntArray:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _describe_graph(graph: Graph) -> str:
    return "{" + ", ".join(f"{a}-{b}" for a, b in zip(*graph, strict=True)) + "}"
