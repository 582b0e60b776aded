"""The README's figure: three questions, what the library does by default and what others do.

Four files: light and dark, the three panels in a row or, for phones, one below the other.
"""

import io
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from dampen.errors import ParameterError
from dampen_studies.claims import Tables
from dampen_studies.report.drawing import STYLE, short
from dampen_studies.report.group_tables import needed
from dampen_studies.report.palette import LOOKS, MUTED, OURS, TEXT, darkened
from dampen_studies.rows import curve, values, where
from dampen_studies.study import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Line(NamedTuple):
    """One curve: whose it is, and its points."""

    method: str
    epsilons: list[float]
    shares: list[float]


class Panel(NamedTuple):
    """One question, from the rows of one study."""

    study: str
    title: str
    lines: Callable[[Rows], list[Line]]


def _named_groups(rows: Rows) -> list[Line]:
    """Of all tables, on how many a method names the best group with probability 0.9 at ε."""
    here = where(rows, statistic="median")
    epsilons = [10 ** (i / 20 - 3) for i in range(81)]
    found = []
    for look, method in (("em", "em"), ("control", "control"), (OURS, "reach")):
        needs = [needed(row) for row in where(here, method=method)]
        found.append(Line(look, epsilons, [fmean(need <= e for need in needs) for e in epsilons]))
    return found


def _found_nodes(rows: Rows) -> list[Line]:
    here = where(rows, dataset="dblp", k=20.0)
    return [
        Line(method, *curve(here, "epsilon", "accuracy", method=method))
        for method in ("em", "sld", "degree-joint", OURS)
    ]


def _right_classes(rows: Rows) -> list[Line]:
    return [
        Line(method, *curve(rows, "epsilon", "accuracy", method=method))
        for method in ("dpl-tree", "dpl-forest", "gaussian", "bayes", OURS)
    ]


WORDS = {
    OURS: "dampen",
    "em": "exponential mechanism",
    "degree-joint": "noisy degrees",
    "bayes": "dampen's naive Bayes",
    "dpl-tree": "diffprivlib's tree",
    "dpl-forest": "diffprivlib's forest",
}
"""For those who do not know the names of the report."""

PANELS = (
    Panel(
        "groups",
        "The group with the largest median\n(share of {tables} tables on which it is named)",
        _named_groups,
    ),
    Panel(
        "nodes",
        "The 20 most influential of 317,080 nodes\n(DBLP; share of the true 20)",
        _found_nodes,
    ),
    Panel(
        "models",
        "The class of a row\n(mean accuracy over {tables} tables)",
        _right_classes,
    ),
)


def write(tables: Tables, target: Path) -> list[Path]:
    """Writes NAME.svg, NAME-dark.svg, NAME-phone.svg and NAME-phone-dark.svg.

    Raises:
        ParameterError: if a study behind it is not in the record.
    """
    missing = [panel.study for panel in PANELS if panel.study not in tables]
    if missing:
        raise ParameterError(
            f"The figure needs the record of {', '.join(missing)}. Run it in full (`dampen-studies "
            "run`), then `dampen-studies keep`."
        )
    written = []
    for suffix, phone in (("", False), ("-phone", True)):
        light = _drawn(tables, phone)
        for end, svg in (("", light), ("-dark", darkened(light))):
            path = target.with_name(f"{target.stem}{suffix}{end}.svg")
            path.write_text(svg, encoding="utf-8")
            written.append(path)
    return written


def _drawn(tables: Tables, phone: bool) -> str:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    shape, size = ((3, 1), (4.6, 13.2)) if phone else ((1, 3), (12.0, 4.6))
    buffer = io.StringIO()
    with rc_context(STYLE | {"svg.hashsalt": "dampen"}):
        figure = Figure(figsize=size, layout="constrained")
        for axes, panel in zip(figure.subplots(*shape), PANELS, strict=True):
            _draw(axes, panel, tables[panel.study])
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    return buffer.getvalue()


def _draw(axes: "Axes", panel: Panel, rows: Rows) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter

    for line in panel.lines(rows):
        look = LOOKS[line.method]
        style = (0, look.dashes) if look.dashes else "solid"
        axes.plot(
            line.epsilons, line.shares, color=look.ink.light, lw=look.width, linestyle=style,
            label=WORDS.get(line.method, look.about),
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_ylim(-0.02, 1.02)
    axes.xaxis.set_major_locator(FixedLocator([0.001, 0.01, 0.1, 1, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.minorticks_off()
    title = panel.title.format(tables=len(values(rows, "dataset")))
    axes.set_title(title, fontsize=10, color=TEXT.light, loc="left")
    axes.set_xlabel("ε", color=MUTED.light)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, alpha=0.25)
    axes.legend(
        frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(-0.02, -0.2), reverse=True,
        labelcolor=TEXT.light,
    )  # fmt: skip
