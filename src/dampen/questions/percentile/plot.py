"""Released percentiles as a picture of the quantile function.  All of it is public."""

from collections.abc import Mapping
from typing import Any

from dampen.epsilon import decimal_text
from dampen.errors import ParameterError
from dampen.paper.percentile_selection import as_fraction
from dampen.questions.percentile.question import LISTS
from dampen.releases.release import Release

__all__ = ["plot"]


def plot(release: Release, ax: Any = None) -> Any:
    """Draws the values of several percentiles over p, one line per group; returns the axes.

    Needs matplotlib: `pip install dampen[plot]`.

    Raises:
        ParameterError: if the release is not one of several percentiles' values.
    """
    asked: Any = release.parameters.get("p")
    points: Any = LISTS.get(asked, asked) if isinstance(asked, str) else asked
    if isinstance(points, str) or not hasattr(points, "__len__"):
        raise ParameterError(
            "Expected a release of several values, such as percentile(..., p='deciles', "
            "step=1, ...): one answer is no curve."
        )
    ax = _axes() if ax is None else ax
    order = sorted(range(len(points)), key=lambda i: as_fraction(points[i]))
    p = [float(as_fraction(points[i])) for i in order]
    grouped = isinstance(release.answer, Mapping)
    for name, answers in (release.answer if grouped else {None: release.answer}).items():
        label = None if name is None else str(name)
        ax.plot(p, [answers[i] for i in order], "o-", markersize=4, linewidth=1.5, label=label)
    if grouped:
        ax.legend(frameon=False)
    ax.set(xlim=(0, 100), xlabel="percentile", ylabel="value")
    ax.set_title(
        f"ε = {decimal_text(release.epsilon)}, neighbours: {release.neighbours}", fontsize="medium"
    )
    return ax


def _axes() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ParameterError(
            "Expected matplotlib for a plot: pip install 'dampen[plot]'."
        ) from None
    return plt.subplots(figsize=(6, 4), layout="constrained")[1]
