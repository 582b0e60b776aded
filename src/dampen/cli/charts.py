"""A chart of methods side by side, on public data."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dampen.errors import ParameterError

__all__ = ["draw_probabilities"]

COLOURS = ("#1f5fa8", "#9aa0a8", "#c8643c", "#e0a458", "#7a9e7e", "#8c6bb1", "#c2b280", "#303030")


def draw_probabilities(
    curves: Mapping[str, Sequence[float]], epsilons: Sequence[float], output: Path
) -> None:
    """Draws the probability of the best answer against ε, one line per method.

    Raises:
        ParameterError: if matplotlib is missing, or the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ParameterError("Expected matplotlib for -o: pip install 'dampen[plot]'.") from None
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    ax = figure.subplots()
    for place, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[place % len(COLOURS)]
        width = 2.5 if place == 0 else 1.5
        ax.plot(epsilons, curve, "o-", color=colour, linewidth=width, label=name)
    ax.set_xscale("log")
    ax.set(xlabel="ε", ylabel="probability of the best group", ylim=(0, 1.02))
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#e3e5e9", linewidth=0.8)
    figure.legend(loc="outside right upper", frameon=False)
    try:
        figure.savefig(output, dpi=150)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "name it .svg, .pdf or .png"
        raise ParameterError(f"Cannot write {output}: {why}.") from None
