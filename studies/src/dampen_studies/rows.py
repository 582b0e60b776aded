"""Rows of a study's CSV: choose them, and read curves off them."""

from collections.abc import Iterable

from dampen_studies.study import Rows, Value, number


def where(rows: Iterable[dict[str, Value]], **wanted: Value) -> list[dict[str, Value]]:
    """The rows with these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def values(rows: Iterable[dict[str, Value]], column: str) -> list[Value]:
    """The different values of a column, in the order of their first appearance."""
    return list(dict.fromkeys(row[column] for row in rows))


def curve(rows: Rows, x: str, y: str, **wanted: Value) -> tuple[list[float], list[float]]:
    """The points of one curve: y averaged where several rows share an x, x ascending."""
    at: dict[float, list[float]] = {}
    for row in where(rows, **wanted):
        at.setdefault(number(row, x), []).append(number(row, y))
    xs = sorted(at)
    return xs, [sum(at[point]) / len(at[point]) for point in xs]


def listed(rows: Iterable[dict[str, Value]], column: str) -> str:
    """The different values of a column, as words.

    >>> listed([{"k": 5.0}, {"k": 20.0}, {"k": 5.0}], "k")
    '5 and 20'
    """
    words = [f"{v:g}" if isinstance(v, float) else str(v) for v in values(rows, column)]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
