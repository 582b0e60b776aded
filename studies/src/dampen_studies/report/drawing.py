"""Draws panels: log axes, direct labels, the same colour for a method everywhere.

One drawing serves two readers: files for papers (PNG, SVG) and SVG inside the page, where colours
become CSS properties so that the page can be light or dark.
"""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dampen_studies.report import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 4.3
HEIGHT = 3.0
LABEL_GAP = 11.5
"""Points between two direct labels."""
LABEL_SIZE = 9.5


@dataclass(frozen=True, slots=True)
class Line:
    """One method's curve; `spread` are standard errors, `marks` draws points only."""

    method: str
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] = field(default=())
    marks: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One small plot: one dataset and setting."""

    name: str
    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    log_x: bool = True
    log_y: bool = False
    y_range: tuple[float, float] | None = None


def draw(panel: Panel) -> "Figure":
    """A matplotlib figure, in the colours of the light page, without a title of its own."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, HEIGHT))
        left = 0.145
        axes = figure.add_axes((left, 0.165, 1 - left - _label_room(panel.lines), 0.81))
        _frame(axes, panel)
        for line in panel.lines:
            _plot(axes, line)
        _label_lines(axes, panel.lines)
    return figure


def save(figure: "Figure", folder: Path, name: str) -> None:
    """PNG and SVG for papers."""
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    with rc_context(STYLE | {"svg.hashsalt": name}):
        figure.savefig(folder / f"{name}.png", dpi=220, metadata={"Software": None})
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None}, transparent=True)


def svg(figure: "Figure", name: str, title: str) -> str:
    """SVG to put inside a page: no size, colours by CSS, ids that are unique on the page."""
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context(STYLE | {"svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", text)
    for colour, variable in palette.variable_of().items():
        text = text.replace(colour, f"var({variable})")
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", text)
    label = f'<svg role="img" aria-label="{title}"'
    return text.replace("<svg", label, 1)


STYLE: Any = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "axes.edgecolor": palette.MUTED.light,
    "axes.labelcolor": palette.MUTED.light,
    "xtick.color": palette.MUTED.light,
    "ytick.color": palette.MUTED.light,
    "text.color": palette.TEXT.light,
    "axes.linewidth": 0.8,
    "path.simplify": False,
}


def _label_room(lines: Sequence[Line]) -> float:
    """The share of the width that direct labels need: none where there are none."""
    from matplotlib.textpath import TextPath

    texts = [palette.look(line.method).label for line in _labelled(lines)]
    widths = [TextPath((0, 0), text, size=LABEL_SIZE).get_extents().width for text in texts]
    return (14 + 1.06 * max(widths)) / (72 * WIDTH) if widths else 0.03


def _frame(axes: "Axes", panel: Panel) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    if panel.log_x:
        axes.set_xscale("log")
    if panel.log_y:
        axes.set_yscale("log")
    if panel.y_range is not None:
        axes.set_ylim(*panel.y_range)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.grid(True, which="major", color=palette.GRID.light, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=0, labelsize=9.5)
    for axis, is_log in ((axes.xaxis, panel.log_x), (axes.yaxis, panel.log_y)):
        axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
        if is_log:
            axis.set_minor_formatter(NullFormatter())
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def short(value: float) -> str:
    """A number for an axis.

    >>> short(0.001), short(5000), short(20_000), short(1.5e6)
    ('0.001', '5000', '20k', '1.5M')
    """
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if abs(value) >= 1e4 else f"{value:g}"


def _plot(axes: "Axes", line: Line) -> None:
    look = palette.look(line.method)
    colour = look.ink.light
    if line.marks:
        axes.scatter(line.x, line.y, s=5, color=colour, alpha=0.5, linewidths=0)
        return
    style: Any = {
        "linestyle": (0, look.dashes) if look.dashes else "solid",
        "linewidth": look.width,
    }
    axes.plot(line.x, line.y, color=colour, solid_capstyle="round", **style)
    if line.spread:
        low = [y - 2 * s for y, s in zip(line.y, line.spread, strict=True)]
        high = [y + 2 * s for y, s in zip(line.y, line.spread, strict=True)]
        axes.fill_between(line.x, low, high, color=colour, alpha=0.13, linewidth=0)


def _label_lines(axes: "Axes", lines: Sequence[Line]) -> None:
    """A label at the end of every line, pushed apart so that none covers another."""
    drawn = _labelled(lines)
    if not drawn:
        return
    axes.autoscale_view()  # limits are lazy, and the places of labels depend on them
    scale = 72 / axes.figure.dpi  # display units to points
    to_points = axes.transData.transform
    ends = [to_points((line.x[-1], line.y[-1])) * scale for line in drawn]
    middle = [sum(line.y[len(line.y) // 3 :]) for line in drawn]
    order = sorted(range(len(drawn)), key=lambda i: (round(ends[i][1] / 4), middle[i]))
    box = axes.get_window_extent()
    places = _apart([ends[i][1] for i in order], box.y0 * scale + 4, box.y1 * scale - 4)
    for i, y in zip(order, places, strict=True):
        look = palette.look(drawn[i].method)
        colour = look.ink.light
        end = (drawn[i].x[-1], drawn[i].y[-1])
        x = box.x1 * scale + 9
        place: dict[str, Any] = {
            "xytext": (x, y),
            "textcoords": "figure points",
            "annotation_clip": False,
        }
        axes.annotate(look.label, end, color=colour, fontsize=LABEL_SIZE, va="center", **place)
        leader = {"arrowstyle": "-", "color": colour, "lw": 0.6, "alpha": 0.5, "shrinkA": 2}
        axes.annotate("", end, arrowprops=leader, **place)


def _labelled(lines: Sequence[Line]) -> list[Line]:
    """Lines to be named at their ends; points and the dotted bounds are in the legend alone."""
    return [line for line in lines if not line.marks and line.method not in palette.BOUNDS]


def _apart(wanted: Sequence[float], low: float, high: float) -> list[float]:
    """Places in the given order, at least a gap apart, as near to the wanted ones as fits.

    >>> _apart([10, 10, 50], 0, 100)
    [10, 21.5, 50]
    """
    gap = min(LABEL_GAP, (high - low) / max(len(wanted) - 1, 1))
    places: list[float] = []
    for y in wanted:
        places.append(max(y, low) if not places else max(y, places[-1] + gap))
    excess = places[-1] - high
    if excess > 0:
        places[-1] = high
        for i in range(len(places) - 2, -1, -1):
            places[i] = min(places[i], places[i + 1] - gap)
    return places
