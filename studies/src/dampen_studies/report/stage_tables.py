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
