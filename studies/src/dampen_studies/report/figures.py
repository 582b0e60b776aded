"""From the rows of a study to the panels of its figure."""

from collections.abc import Callable

from dampen_studies.report.drawing import Line, Panel
from dampen_studies.rows import Rows, curve, values, where
from dampen_studies.study import Value, number


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


def _over_epsilon(
    study: str, y: str, y_label: str, title: str, setting: str | None = None
) -> Callable[[Rows], list[Panel]]:
    """One panel per data set and value of the setting, methods over ε; shares go from 0 to 1."""
    y_range = (-0.03, 1.03) if y_label.startswith("share") else None

    def draw(rows: Rows) -> list[Panel]:
        found = []
        for dataset in values(rows, "dataset"):
            of_dataset = where(rows, dataset=dataset)
            for value in values(of_dataset, setting) if setting else [""]:
                here = where(of_dataset, **{setting: value}) if setting else of_dataset
                name = "-".join([study, str(dataset), *([f"{value:.0f}"] if setting else [])])
                heading = f"{_name(dataset)} · {title.format(value)}"
                found.append(Panel(name, heading, "ε", y_label, _lines(here, y), y_range=y_range))
        return found

    return draw


def _lines(rows: Rows, y: str) -> list[Line]:
    """One line per method, with standard errors where the rows have them."""
    lines = []
    for method in values(rows, "method"):
        x, heights = curve(rows, "epsilon", y, method=method)
        errors = curve(rows, "epsilon", "spread", method=method)[1] if "spread" in rows[0] else ()
        lines.append(Line(str(method), x, heights, spread=errors))
    return lines


def _name(dataset: Value) -> str:
    known = {"github": "GitHub", "adult": "Adult", "enron": "Enron"}
    return known.get(str(dataset), str(dataset).upper())


_DRAWN: dict[str, Callable[[Rows], list[Panel]]] = {
    "beta": _beta,
    "correlation": _correlation,
    "percentiles": _over_epsilon("percentiles", "error", "expected error", "p = {:.0f}", "p"),
    "topk": _over_epsilon("topk", "accuracy", "share of the true top k", "k = {:.0f}", "k"),
    "privatesql": _over_epsilon(
        "privatesql", "accuracy", "share of the true top k", "mean over k = 1, 2, 3"
    ),
    "trees": _over_epsilon("trees", "accuracy", "accuracy", "depth {:.0f}", "depth"),
}
