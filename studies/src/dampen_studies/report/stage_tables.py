"""Labels in two stages beside their rivals and bounds, in a table."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from dampen_studies.experiments.two_stages import HUMPS
from dampen_studies.report.figures import geometric_mean
from dampen_studies.rows import values, where
from dampen_studies.study import Rows, number


def two_stages(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Labels in two stages: ratios to dampening and to the two bounds, on histograms."""
    return _staged([row for row in rows if not _made_up(row)])


def next_to_gaps(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """The same on generated columns of two humps."""
    return _staged([row for row in rows if _made_up(row)])


def _made_up(row: Mapping[str, object]) -> bool:
    return str(row["dataset"]).startswith(HUMPS)


def _staged(rows: Rows) -> tuple[list[str], list[list[str]]]:
    lines = []
    for e in [*values(rows, "epsilon"), None]:
        here = list(rows) if e is None else where(rows, epsilon=e)
        error = {m: [number(r, "error") for r in where(here, method=m)] for m in STAGED}
        gain = _quotients(error["two stages"], error["dampened"])
        lines.append([
            "all" if e is None else f"{e:g}",
            f"{geometric_mean(gain):.3f}",
            f"{max(gain):.2f}",
            f"{100 * fmean(ratio > 1 for ratio in gain):.1f} %",
            *(
                f"{geometric_mean(_quotients(error[m], error['form'])):.3g}"
                for m in ("two stages", "dampened", "symmetric")
            ),
        ])  # fmt: skip
    header = ["ε", "mean", "worst", "cells above 1", "two stages / λ", "dampened / λ", "bound / λ"]
    return header, lines


def several(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Several labels as one release: ratios to one by one, and to one label."""
    lines = []
    for e in values(rows, "epsilon"):
        alone = _errors(where(rows, epsilon=e, k=1.0), "together")
        for k in values(rows, "k"):
            here = where(rows, epsilon=e, k=k)
            together = _errors(here, "together")
            gain = _quotients(together, _errors(here, "one by one"))
            lines.append([
                f"{e:g}",
                f"{k:g}",
                f"{geometric_mean(gain):.3f}",
                f"{max(gain):.2f}",
                f"{geometric_mean(_quotients(together, alone)):.2f}",
            ])  # fmt: skip
    return ["ε", "k", "together / one by one, mean", "worst", "k labels / one label, mean"], lines


def _errors(rows: Rows, method: str) -> list[float]:
    return [number(row, "error") for row in where(rows, method=method)]


STAGED = ("dampened", "two stages", "form", "symmetric")
LEAST = 1e-12


def _quotients(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Of errors; one that is zero, as a bound may be, counts as `LEAST`."""
    return [max(a, LEAST) / max(b, LEAST) for a, b in zip(above, below, strict=True)]


def own_problems(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """One line per problem: errors in percent of chance, at every ε; and where `auto` loses."""
    shown = {
        "EM": ("em",),
        "PF": ("pf",),
        "LD": ("ld",),
        "SLD, better way": ("sld", "sld-down"),
        "GEM": ("gem",),
        "private shift": ("ld-shifted",),
        "auto": ("auto",),
    }
    epsilons = sorted({number(row, "epsilon") for row in rows})
    lines = []
    good = 0
    for problem in values(rows, "problem"):
        cells = [_cell_of(where(rows, problem=problem, epsilon=e)) for e in epsilons]
        behind = [
            f"{e:g}"
            for e, cell in zip(epsilons, cells, strict=True)
            if cell["auto"] > min(cell["em"], cell["ld"]) * (1 + 1e-9)
        ]
        good += len(cells) - len(behind)
        errors = [
            " / ".join(_percent(min(cell[method] for method in methods)) for cell in cells)
            for methods in shown.values()
        ]
        lines.append([str(problem), *errors, ", ".join(behind) or "never"])
    told = f"auto at least as good in {good} of {len(lines) * len(epsilons)}"
    lines.append(["all", *[""] * len(shown), told])
    heads = ["problem, ε = " + " / ".join(f"{e:g}" for e in epsilons), *shown]
    return [*heads, "auto behind the better of EM and LD at ε"], lines


def _cell_of(rows: Rows) -> dict[str, float]:
    return {str(row["method"]): number(row, "error") / number(row, "chance") for row in rows}


def _percent(share: float) -> str:
    return f"{100 * share:.1f}" if share < 0.0995 else f"{100 * share:.0f}"
