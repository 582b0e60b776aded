"""The best group by its definitions: balls of databases, one by one.  The oracle of the tests."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import floor, inf

Histogram = tuple[int, ...]
Value = Fraction | float
"""A fraction, or -infinity."""

Statistic = Callable[[Histogram], Fraction]
Relation = Callable[[Histogram], frozenset[Histogram]]


def histograms(cells: int, most: int) -> Iterator[Histogram]:
    """All groups of at most so many rows."""
    for n in range(most + 1):
        for rows in combinations_with_replacement(range(cells), n):
            yield tuple(rows.count(v) for v in range(cells))


def rows_of(x: Histogram) -> list[int]:
    return [v for v, count in enumerate(x) for _ in range(count)]


def quantile(p: Fraction, end: str = "middle") -> Statistic:
    """v + (p n - b) / c, by walking through the cells.

    Where a cell ends: halfway to the next, or that end, or the start of the next.
    """

    def statistic(x: Histogram) -> Fraction:
        target, b = p * sum(x), 0
        for v, c in enumerate(x):
            if b < target < b + c:
                return v + (target - b) / c
            b += c
            if b == target:
                following = next(u for u in range(v + 1, len(x)) if x[u])
                places = {"lower": v + 1, "upper": following, "middle": (v + 1 + following) / 2}
                return Fraction(places[end])
        raise AssertionError

    return statistic


def mean(x: Histogram) -> Fraction:
    return Fraction(sum(rows_of(x)), sum(x))


def trimmed_mean(alpha: Fraction) -> Statistic:
    def statistic(x: Histogram) -> Fraction:
        cut = floor(alpha * sum(x))
        kept = rows_of(x)[cut : sum(x) - cut]
        return Fraction(sum(kept), len(kept))

    return statistic


@cache
def row_neighbours(x: Histogram) -> frozenset[Histogram]:
    added = [(*x[:v], x[v] + 1, *x[v + 1 :]) for v in range(len(x))]
    removed = [(*x[:v], x[v] - 1, *x[v + 1 :]) for v in range(len(x)) if x[v]]
    return frozenset(added + removed)


@cache
def value_neighbours(x: Histogram) -> frozenset[Histogram]:
    """One row's value replaced: out of one cell, into another."""
    moved = set()
    for v in range(len(x)):
        for u in range(len(x)):
            if x[v] and u != v:
                y = list(x)
                y[v] -= 1
                y[u] += 1
                moved.add(tuple(y))
    return frozenset(moved)


@cache
def reach(x: Histogram, w: int, min_rows: int, statistic: Statistic, near: Relation) -> Value:
    """R(x, w) by its definition; a ball is the union of the smaller balls around x's neighbours."""
    if w == 0:
        return statistic(x) if sum(x) >= max(min_rows, 1) else -inf
    inner, extreme = (w - 1, max) if w > 0 else (w + 1, min)
    return extreme(reach(y, inner, min_rows, statistic, near) for y in near(x) | {x})
