"""From the rows of a study to the panels of its figure."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from dampen.paper.drawing import Line, Panel
from dampen.paper.study import Value, number

Rows: TypeAlias = Sequence[dict[str, Value]]


def panels(study: str, rows: Rows) -> list[Panel]:
    """The panels of a study's figure; none where a table shows more."""
    draw = _DRAWN.get(study)
    return draw(rows) if draw is not None and rows else []


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


def spread(rows: Rows, x: str, column: str, **wanted: Value) -> list[float]:
    """Standard errors along a curve, one row per point."""
    found = sorted(where(rows, **wanted), key=lambda row: number(row, x))
    return [number(row, column) for row in found]


def _beta(rows: Rows) -> list[Panel]:
    lines = [Line(str(m), *curve(rows, "beta", "error", method=m)) for m in values(rows, "method")]
    return [Panel("beta", "u = 10, 20, 30 · Δ = 100 · ε = 1", "β", "expected error", lines)]


def _correlation(rows: Rows) -> list[Panel]:
    found = []
    for dataset in values(rows, "dataset"):
        here = [r for r in where(rows, dataset=dataset) if number(r, "ebc_mean") > 0]
        x, y = [number(r, "ebc_mean") for r in here], [number(r, "delta") for r in here]
        title = f"{_name(dataset)} · Spearman {number(here[0], 'spearman'):.2f}"
        points = Line("nodes", x, y, marks=True)
        found.append(
            Panel(
                f"correlation-{dataset}", title, "mean EBC of one degree", "δ at t = 0",
                [points], log_y=True,
            )
        )  # fmt: skip
    return found


def _percentiles(rows: Rows) -> list[Panel]:
    return [
        Panel(
            f"percentiles-{dataset}-{p:.0f}",
            f"{_name(dataset)} · p = {p:.0f}",
            "ε",
            "expected error",
            _lines(where(rows, dataset=dataset, p=p), "epsilon", "error"),
        )
        for dataset in values(rows, "dataset")
        for p in sorted(number(r, "p") for r in _firsts(where(rows, dataset=dataset), "p"))
    ]


def _topk(rows: Rows) -> list[Panel]:
    found = []
    for dataset in values(rows, "dataset"):
        for k in values(where(rows, dataset=dataset), "k"):
            here = where(rows, dataset=dataset, k=k)
            lines = [
                Line(
                    str(m),
                    *curve(here, "epsilon", "accuracy", method=m),
                    spread=spread(here, "epsilon", "spread", method=m),
                )
                for m in values(here, "method")
            ]
            title = f"{_name(dataset)} · k = {k:.0f}"
            found.append(
                Panel(
                    f"topk-{dataset}-{k:.0f}", title, "ε", "share of the true top k", lines,
                    y_range=(-0.03, 1.03),
                )
            )  # fmt: skip
    return found


def _private_sql(rows: Rows) -> list[Panel]:
    return [
        Panel(
            f"privatesql-{dataset}",
            f"{_name(dataset)} · mean over k = 1, 2, 3",
            "ε",
            "share of the true top k",
            _lines(where(rows, dataset=dataset), "epsilon", "accuracy"),
            y_range=(-0.03, 1.03),
        )
        for dataset in values(rows, "dataset")
    ]


def _trees(rows: Rows) -> list[Panel]:
    return [
        Panel(
            f"trees-{dataset}-{depth:.0f}",
            f"{_name(dataset)} · depth {depth:.0f}",
            "ε",
            "accuracy",
            _lines(where(rows, dataset=dataset, depth=depth), "epsilon", "accuracy"),
        )
        for dataset in values(rows, "dataset")
        for depth in sorted(
            number(r, "depth") for r in _firsts(where(rows, dataset=dataset), "depth")
        )
    ]


def _lines(rows: Rows, x: str, y: str) -> list[Line]:
    return [Line(str(m), *curve(rows, x, y, method=m)) for m in values(rows, "method")]


def _firsts(rows: Rows, column: str) -> list[dict[str, Value]]:
    return list({row[column]: row for row in rows}.values())


def _name(dataset: Value) -> str:
    known = {"github": "GitHub", "adult": "Adult", "enron": "Enron"}
    return known.get(str(dataset), str(dataset).upper())


_DRAWN: dict[str, Callable[[Rows], list[Panel]]] = {
    "beta": _beta,
    "correlation": _correlation,
    "percentiles": _percentiles,
    "topk": _topk,
    "privatesql": _private_sql,
    "trees": _trees,
}
