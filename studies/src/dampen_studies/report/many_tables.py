"""The table of many percentiles: rank errors, and how many times less one draw has."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from dampen_studies.datasets.names import printed
from dampen_studies.experiments.many import FINE
from dampen_studies.rows import values, where
from dampen_studies.study import Rows, Value, number

Cell: TypeAlias = Mapping[str, Mapping[str, Value]]
"""The rows of one list and data set, by method."""


def many_rows(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """One line per list and data set, then one for all histograms of a list."""
    methods = [str(m) for m in values(rows, "method")]
    lines = []
    for count, e in dict.fromkeys((r["percentiles"], r["epsilon"]) for r in rows):
        here = where(rows, percentiles=count, epsilon=e)
        asked = [f"{count:g}", f"{e:g}"]
        cells = {name: _cell(where(here, dataset=name)) for name in values(here, "dataset")}
        for name, cell in cells.items():
            shown = [_with_spread(cell[m]) if m in cell else "-" for m in methods]
            lines.append([*asked, printed(str(name)), *shown, *_times_less([cell])])
        tied = [cell for name, cell in cells.items() if name != FINE]
        lines.append([*asked, "all histograms", *[""] * len(methods), *_times_less(tied)])
    return ["m", "ε", "data", *methods, "split / together", "the same, rows"], lines


def _cell(rows: Rows) -> Cell:
    return {str(row["method"]): row for row in rows}


def _with_spread(row: Mapping[str, Value]) -> str:
    spread = f" ± {number(row, 'spread'):.2f}" if number(row, "runs") > 1 else ""
    return f"{number(row, 'error'):.2f}{spread}"


def _times_less(cells: Sequence[Cell]) -> list[str]:
    """The mean error of equal shares over that of one draw, for both relations."""
    return [_ratio(cells, "split", "together"), _ratio(cells, "split, rows", "together, rows")]


def _ratio(cells: Sequence[Cell], of: str, to: str) -> str:
    """Of the sums over the cells, with its standard error."""
    pairs = [(cell[of], cell[to]) for cell in cells if of in cell and to in cell]
    mean, other = (sum(number(pair[i], "error") for pair in pairs) for i in (0, 1))
    off, other_off = (math.hypot(*(number(p[i], "spread") for p in pairs)) for i in (0, 1))
    if mean == 0:
        return "-"
    if other == 0:
        return "no error"
    times = mean / other
    digits = 0 if times >= 100 else 1
    spread = times * math.hypot(off / mean, other_off / other)
    return f"{times:,.{digits}f} ± {spread:,.{digits}f}"
