"""Pictures of releases: bars with their intervals, and quantile functions.  All of it is public."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from dampen.errors import ParameterError
from dampen.printing import printable, text_of

if TYPE_CHECKING:
    from dampen.releases.release import Release

__all__ = ["html_bars", "plot"]

MOST_LINES = 60
"""Of a table in a notebook; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A number with its name, from the outside in, and its interval."""

    names: tuple[str, ...]
    height: float
    low: float
    high: float


def bars(release: "Release") -> list[Bar]:
    """The numbers of a release; none if it has none."""
    if release.law is None or release.numbers is None:
        return []
    return _bars(release, release.numbers, release.interval(), release.answer, ())


def _bars(
    release: "Release", numbers: Any, ends: Any, shown: Any, names: tuple[str, ...]
) -> list[Bar]:
    assert release.law is not None
    if release.law.is_number(numbers):
        told = shown if _is_number(shown) else numbers
        height = told["value"] if isinstance(told, Mapping) else told
        return [Bar(names, float(height), float(ends[0]), float(ends[1]))]
    found: list[Bar] = []
    for name, number in numbers.items():
        inside = shown.get(name) if isinstance(shown, Mapping) else None
        found += _bars(release, number, ends[name], inside, (*names, printable(str(name))))
    return found


def _is_number(shown: Any) -> bool:
    return isinstance(shown, int | float) and not isinstance(shown, bool)


def plot(release: "Release", ax: Any = None) -> Any:
    """Draws a release: bars with intervals where it has numbers, a curve of several percentiles.

    Raises:
        ParameterError: if it is neither, or matplotlib is not installed.
    """
    heights = bars(release)
    points = _points(release)
    if not heights and points is None:
        raise ParameterError(
            "Expected a release with numbers, such as dampen.histogram gives it, or several values "
            "of percentile(..., p='deciles'): one answer is no picture."
        )
    ax = _axes() if ax is None else ax
    if heights:
        _draw_bars(ax, heights)
    else:
        _draw_curve(ax, release.answer, points or [])
    cost = release.price.replace("epsilon ", "ε = ").replace("rho ", "ρ = ")
    ax.set_title(f"{cost}, neighbours: {release.neighbours}", fontsize="medium")
    return ax


def _draw_bars(ax: Any, heights: list[Bar]) -> None:
    """Bars by their innermost name; an outer name is a colour."""
    outer = list(dict.fromkeys(bar.names[:-1] for bar in heights))
    inner = list(dict.fromkeys(bar.names[-1:] for bar in heights))
    width = 0.8 / len(outer)
    for i, group in enumerate(outer):
        own = [bar for bar in heights if bar.names[:-1] == group]
        places = [inner.index(bar.names[-1:]) + (i - (len(outer) - 1) / 2) * width for bar in own]
        below = [max(bar.height - bar.low, 0.0) for bar in own]
        above = [max(bar.high - bar.height, 0.0) for bar in own]
        label = ", ".join(group) or None
        tall = [bar.height for bar in own]
        ax.bar(places, tall, 0.9 * width, yerr=[below, above], capsize=3, label=label)
    ax.set_xticks(range(len(inner)), [", ".join(name) for name in inner])
    if len(inner) > 8:
        ax.tick_params(axis="x", rotation=90)
    ax.set_ylabel("with 95 % interval")
    if len(outer) > 1:
        ax.legend(frameon=False)


def _draw_curve(ax: Any, answer: Any, points: list[float]) -> None:
    """Values of percentiles over p, one line per group."""
    order = sorted(range(len(points)), key=lambda i: points[i])
    p = [points[i] for i in order]
    grouped = isinstance(answer, Mapping)
    for name, values in (answer if grouped else {None: answer}).items():
        label = None if name is None else str(name)
        ax.plot(p, [values[i] for i in order], "o-", markersize=4, linewidth=1.5, label=label)
    if grouped:
        ax.legend(frameon=False)
    ax.set(xlim=(0, 100), xlabel="percentile", ylabel="value")


def _points(release: "Release") -> list[float] | None:
    """The percentiles of a release of several; a named list has equal distances."""
    asked = release.parameters.get("p")
    answer = release.answer
    if isinstance(answer, Mapping):
        answer = next(iter(answer.values()), None)
    if not isinstance(answer, list | tuple) or asked is None:
        return None
    if isinstance(asked, str):
        return [100 * (i + 1) / (len(answer) + 1) for i in range(len(answer))]
    if not hasattr(asked, "__len__"):
        return None
    return [float(each) for each in asked]


def _axes() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ParameterError(
            "Expected matplotlib for a plot: pip install 'dampen[plot]'."
        ) from None
    return plt.subplots(figsize=(6, 4), layout="constrained")[1]


def html_bars(release: "Release") -> str:
    """A table of the numbers with bars and intervals, for a notebook; empty if there are few.

    All text is escaped, and nothing is loaded from elsewhere.
    """
    heights = bars(release)
    if len(heights) < 2:
        return ""
    most = max((abs(bar.height) for bar in heights), default=0.0) or 1.0
    lines = [_html_line(bar, most) for bar in heights[:MOST_LINES]]
    if len(heights) > MOST_LINES:
        rest = f"and {len(heights) - MOST_LINES:,} more"
        lines.append(f'<tr><td colspan="4">{rest}</td></tr>')
    head = "<tr><th></th><th></th><th>number</th><th>95 % interval</th></tr>"
    return f"<table>{head}{''.join(lines)}</table>"


def _html_line(bar: Bar, most: float) -> str:
    share = max(0, round(100 * bar.height / most))
    colour = "background:#4878a8;height:0.8em"
    drawn = f'<div style="width:{share}px;{colour}"></div>'
    ends = f"{text_of(_short(bar.low))} to {text_of(_short(bar.high))}"
    return (
        f'<tr><th style="text-align:left">{escape(", ".join(bar.names))}</th><td>{drawn}</td>'
        f"<td>{escape(_short(bar.height))}</td><td>{escape(ends)}</td></tr>"
    )


def _short(number: float) -> str:
    return f"{number:,.0f}" if number.is_integer() else f"{number:,.6g}"
