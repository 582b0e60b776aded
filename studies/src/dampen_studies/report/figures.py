"""From the rows of a study to the panels of its figure.

Panels are in the order of reading: one row per setting, one column per data set.
"""

from collections.abc import Callable, Sequence
from math import exp, log

from dampen_studies.datasets.names import printed
from dampen_studies.experiments.correlation import correlations
from dampen_studies.report.drawing import Line, Panel
from dampen_studies.rows import curve, values, where
from dampen_studies.study import Rows, Value, number

DRAWN_TREES = ("em", "em-fair", "ld", "sld", "max", "dampen", "plain")
"""More lines than these cannot be told apart."""


def panels(study: str, rows: Rows) -> list[Panel]:
    """The panels of a study's figure; none where a table shows more."""
    draw = _DRAWN.get(study)
    return draw(rows) if draw is not None and rows else []


def _beta(rows: Rows) -> list[Panel]:
    lines = [Line(str(m), *curve(rows, "beta", "error", method=m)) for m in values(rows, "method")]
    return [Panel("beta", "u = 10, 20, 30 · Δ = 100 · ε = 1", "β", "expected error", lines)]


def _correlation(rows: Rows) -> list[Panel]:
    found = []
    for dataset in values(rows, "dataset"):
        here = where(rows, dataset=dataset)
        spearman = correlations(rows, dataset)[1]
        x = [1 + number(r, "ebc") for r in here]
        y = [number(r, "delta") for r in here]
        title = f"{_name(dataset)} · Spearman {spearman:.3f}"
        points = Line("nodes", x, y, marks=True)
        name = f"correlation-{dataset}"
        found.append(Panel(name, title, "1 + EBC", "δ at t = 0", [points], log_y=True))
    return found


def _over_epsilon(
    study: str,
    y: str,
    y_label: str,
    title: str,
    *,
    setting: str | None = None,
    methods: Sequence[str] = (),
) -> Callable[[Rows], list[Panel]]:
    """One panel per value of the setting and data set, methods over ε; shares go from 0 to 1."""
    y_range = (-0.03, 1.03) if y_label.startswith("share") else None

    def draw(rows: Rows) -> list[Panel]:
        found = []
        for value in values(rows, setting) if setting else [""]:
            of_value = where(rows, **{setting: value}) if setting else rows
            for dataset in values(of_value, "dataset"):
                here = where(of_value, dataset=dataset)
                name = "-".join([study, str(dataset), *([f"{value:.0f}"] if setting else [])])
                heading = f"{_name(dataset)} · {title.format(value)}"
                lines = _lines(here, y, methods)
                found.append(Panel(name, heading, "ε", y_label, lines, y_range=y_range))
        return found

    return draw


def _lines(rows: Rows, y: str, methods: Sequence[str]) -> list[Line]:
    """One line per method, with standard errors where the rows have them."""
    lines = []
    for method in methods or values(rows, "method"):
        x, heights = curve(rows, "epsilon", y, method=method)
        errors = curve(rows, "epsilon", "spread", method=method)[1] if "spread" in rows[0] else ()
        lines.append(Line(str(method), x, heights, spread=errors))
    return lines


def ratios(rows: Rows, method: Value, epsilon: Value, to: str = "ld") -> list[float]:
    """Errors of a method as ratios to another's, over data sets and percentiles; where one of
    them is zero there is no ratio.
    """
    found = []
    for row in where(rows, method=method, epsilon=epsilon):
        setting = {name: row[name] for name in ("dataset", "p", "epsilon")}
        ours = number(row, "error")
        theirs = number(where(rows, method=to, **setting)[0], "error")
        if ours > 0 and theirs > 0:
            found.append(ours / theirs)
    return found


def geometric_mean(found: Sequence[float]) -> float:
    """The mean of ratios.

    >>> geometric_mean([0.5, 2.0])
    1.0
    """
    return exp(sum(map(log, found)) / len(found))


def _labels(rows: Rows) -> list[Panel]:
    epsilons = [float(e) for e in values(rows, "epsilon")]
    found = []
    for name, title, over in (
        ("mean", "mean over histograms and p", geometric_mean),
        ("worst", "worst histogram and p", max),
    ):
        lines = [
            Line(str(m), epsilons, [over(ratios(rows, m, e)) for e in epsilons])
            for m in values(rows, "method")
        ]
        found.append(
            Panel(f"labels-{name}", title, "ε", "error as a ratio to LD", lines, log_y=True)
        )
    return found


def _name(dataset: Value) -> str:
    return printed(str(dataset))


_DRAWN: dict[str, Callable[[Rows], list[Panel]]] = {
    "beta": _beta,
    "correlation": _correlation,
    "percentiles": _over_epsilon(
        "percentiles", "error", "expected error", "p = {:.0f}", setting="p"
    ),
    "topk": _over_epsilon("topk", "accuracy", "share of the true top k", "k = {:.0f}", setting="k"),
    "nodes": _over_epsilon(
        "nodes", "accuracy", "share of the true top k", "k = {:.0f}", setting="k"
    ),
    "privatesql": _over_epsilon(
        "privatesql", "accuracy", "share of the true top k", "mean over k = 1, 2, 3"
    ),
    "trees": _over_epsilon(
        "trees", "accuracy", "accuracy", "depth {:.0f}", setting="depth", methods=DRAWN_TREES
    ),
    "labels": _labels,
}
