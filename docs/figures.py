"""Draws the figures of the guides from the library itself, and three bars from the README.

`python docs/figures.py` writes all of them. The bars are the third row of the README's table of
results, which `dampen-studies publish README.md` writes; the found nodes are those of
`studies/results/nodes.csv`.
"""

import csv
import re
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from dampen.core.mechanisms import probabilities
from dampen.problems import MostFrequent, PercentileValueOfRows
from dampen.questions.groups.reach import Reach, Rows
from dampen.questions.groups.statistics import Histograms, Quantile

HERE = Path(__file__).parent / "figures"
BLUE, ORANGE, GREY = "#0068a8", "#c8641e", "#8a9099"
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "dampen",
    "font.size": 11,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def save(figure: Figure, name: str) -> None:
    """On a white ground for light and dark pages; without a date, so that it is reproducible."""
    figure.savefig(HERE / name, format="svg", metadata={"Date": None})


def walk(steps: np.ndarray, utility: float) -> float:
    """D of a utility: how many growing steps lead to it, interpolated (Def. 12)."""
    heights = np.concatenate([[0.0], np.cumsum(steps)])
    return float(np.interp(utility, heights, np.arange(len(heights))))


def dampening() -> Figure:
    """Two candidates: utilities on the left, where the worst case and the walk put them."""
    steps = np.array(
        [0.6, 0.8, 1.1, 1.6, 2.3, 3.4, 20.0]
    )  # small near the data, Δ = 20 far from it
    utilities = {"a": (5.5, BLUE), "b": (2.0, ORANGE)}
    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    heights = np.concatenate([[0.0], np.cumsum(steps)])
    left.plot(np.arange(7), heights[:7], marker="o", color=GREY, lw=1.5)
    for t in range(6):
        left.annotate(
            f"δ(x, {t})", (t + 0.62, heights[t] + steps[t] * 0.12), color=GREY, fontsize=9
        )
    for name, (utility, colour) in utilities.items():
        d = walk(steps, utility)
        left.plot([0, d, d], [utility, utility, 0], color=colour, lw=1.5, ls="--")
        left.annotate(f"u({name}) = {utility:g}", (0.05, utility + 0.2), color=colour)
        left.annotate(f"D = {d:.1f}", (d + 0.06, 0.25), color=colour)
    left.set(xlabel="steps walked from zero", ylabel="utility reached", xlim=(0, 6), ylim=(0, 10))
    scores = {"u / Δ": [u / steps.max() for u, _ in utilities.values()]}
    scores["dampened"] = [walk(steps, u) for u, _ in utilities.values()]
    for i, (label, values) in enumerate(scores.items()):
        for value, (name, (_, colour)) in zip(values, utilities.items(), strict=True):
            right.plot(value, i, "o", color=colour, ms=9)
            right.annotate(name, (value, i + 0.12), ha="center", color=colour)
        right.annotate(
            f"{abs(values[0] - values[1]):.1f} apart",
            (max(values) + 0.25, i),
            va="center",
            fontsize=9,
        )
        right.annotate(label, (-0.05, i + 0.32), fontsize=10)
    right.set(xlabel="score; one step changes it by at most 1", xlim=(-0.1, 6.6), ylim=(-0.4, 1.6))
    right.set_yticks([])
    right.spines["left"].set_visible(False)
    return figure


def reach() -> Figure:
    """The medians that three groups could have if w of their rows changed."""
    cells = np.arange(31)
    shapes = {"Cedar": (14, 400, BLUE), "Oak": (11, 300, ORANGE), "Fir (12 rows)": (10, 12, GREY)}
    counts = np.array(
        [
            np.round(size * np.exp(-(((cells - centre) / 4) ** 2) / 2) / 10.03).astype(np.int64)
            for centre, size, _ in shapes.values()
        ]
    )
    staircase = Reach(Histograms(counts), Quantile(Fraction(1, 2)), Rows(), 1)
    w = np.arange(-60, 61)
    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    ax = figure.subplots()
    for i, (name, (_, _, colour)) in enumerate(shapes.items()):
        r = staircase.at(np.full(len(w), i), w)
        values = (r.whole + r.rest / r.of) / 2 - 0.5  # in halves of a cell
        ax.step(w, np.where(values < 0, np.nan, values), where="mid", color=colour, label=name)
    weight = np.exp(-0.1 * np.abs(w))
    ax.fill_between(w, 0, 4 * weight, color=GREY, alpha=0.25, lw=0)
    ax.annotate("how likely w is\nat ε = 0.1", (8, 2.2), color=GREY, fontsize=9)
    ax.set(
        xlabel="w: rows added or removed",
        ylabel="median that could be",
        xlim=(-60, 60),
        ylim=(0, 31),
    )
    ax.legend(frameon=False)
    return figure


def noise() -> Figure:
    """How likely each error of a count is, and the intervals that hold 95 of 100 runs."""
    figure = Figure(figsize=(8.4, 3.2), layout="constrained")
    ax = figure.subplots()
    z = np.arange(-12, 13)
    for epsilon, colour, shift, height in ((1, BLUE, -0.2, 0.5), (0.5, ORANGE, 0.2, 0.42)):
        law = np.exp(-epsilon * np.abs(z)) * np.tanh(epsilon / 2)
        ax.bar(z + shift, law, width=0.4, color=colour, label=f"ε = {epsilon:g}")
        half = next(m for m in range(13) if law[np.abs(z) <= m].sum() >= 0.95)
        ax.plot([-half, half], [height, height], color=colour, marker="|", ms=10)
        ax.annotate(f"95 of 100: ±{half}", (half + 0.3, height), va="center", color=colour)
    ax.set(xlabel="error of a count, in rows", ylabel="probability", xlim=(-12.5, 12.5))
    ax.legend(frameon=False, loc="center right")
    return figure


def percentile() -> Figure:
    """The probability of every answer when the median of 1,000 values is asked for."""
    levels = (np.arange(1000) + 0.5) / 1000
    values = np.rint(50 + 12 * np.log(levels / (1 - levels))).clip(0, 100)
    problem = PercentileValueOfRows(p=50, upper=100, step=1)
    figure = Figure(figsize=(8.4, 3.2), layout="constrained")
    ax = figure.subplots()
    rows = np.bincount(values.astype(np.int64), minlength=101)
    ax.bar(np.arange(101), rows / rows.max() * 0.25, width=1.0, color=GREY, alpha=0.3)
    ax.annotate("the private values", (66, 0.13), color=GREY)
    for epsilon, colour, shift in ((1, BLUE, -0.2), (0.1, ORANGE, 0.2)):
        law = probabilities(problem.selection(values), epsilon=epsilon, mechanism="pf")
        label = f"answers at ε = {epsilon:g}"
        ax.bar(np.arange(101) + shift, law, width=0.4, color=colour, label=label)
    ax.set(xlabel="value", ylabel="probability", xlim=(20, 80))
    ax.legend(frameon=False)
    return figure


def frequency() -> Figure:
    """How often the most frequent of ten categories is named, by its lead."""
    leads = np.arange(0, 61)
    names = [*"abcdefghij"]
    problem = MostFrequent(names)
    figure = Figure(figsize=(8.4, 3.2), layout="constrained")
    ax = figure.subplots()
    for epsilon, colour in ((1, BLUE), (0.3, ORANGE), (0.1, GREY)):
        right = [
            probabilities(
                problem.selection({name: 100 + lead * (name == "a") for name in names}),
                epsilon=epsilon,
                mechanism="pf",
            )[0]
            for lead in leads
        ]
        ax.plot(leads, right, color=colour, label=f"ε = {epsilon:g}")
    ax.axhline(0.9, color=GREY, lw=0.8, ls=":")
    ax.set(
        xlabel="lead of the most frequent category, in rows",
        ylabel="share of right answers",
        ylim=(0, 1.02),
        xlim=(0, 60),
    )
    ax.legend(frameon=False, loc="lower right")
    return figure


METHODS = {
    "dampen": ("dampen", BLUE),
    "degree-joint": ("noisy degrees", ORANGE),
    "sld": ("shifted local dampening", GREY),
}


def nodes() -> Figure:
    """The share of the true 20 that is found among the authors of DBLP."""
    with (HERE.parents[1] / "studies" / "results" / "nodes.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (row["dataset"], row["k"]) == ("dblp", "20")]
    figure = Figure(figsize=(8.4, 3.2), layout="constrained")
    ax = figure.subplots()
    for method, (name, colour) in METHODS.items():
        own = [row for row in rows if row["method"] == method]
        points = sorted((float(row["epsilon"]), float(row["accuracy"])) for row in own)
        ax.plot(*zip(*points, strict=True), marker="o", color=colour, label=name)
    ax.set(xscale="log", xlabel="ε", ylabel="share of the true 20", ylim=(0, 1.02))
    ax.set_xticks([0.05, 0.1, 0.5, 1, 5], ["0.05", "0.1", "0.5", "1", "5"])
    ax.minorticks_off()
    ax.legend(frameon=False)
    return figure


def tree() -> Figure:
    """A released tree: what each level is paid, and what is in it."""
    figure = Figure(figsize=(8.4, 3.2), layout="constrained")
    ax = figure.subplots()
    ax.set_axis_off()
    ax.set(xlim=(0, 10), ylim=(0, 3.4))
    places = {
        "job is office": (4.4, 2.9),
        "hours ≥ 30": (2.6, 1.7),
        "poor ": (6.2, 1.7),
        "rich": (1.6, 0.5),
        "poor": (3.6, 0.5),
    }
    edges = [
        ("job is office", "hours ≥ 30", "yes"), ("job is office", "poor ", "no"),
        ("hours ≥ 30", "rich", "yes"), ("hours ≥ 30", "poor", "no"),
    ]  # fmt: skip
    for above, below, label in edges:
        (x, y), (u, v) = places[above], places[below]
        ax.plot([x, u], [y - 0.22, v + 0.22], color=GREY)
        ax.annotate(label, ((x + u) / 2 + 0.12, (y + v) / 2), color=GREY, fontsize=9)
    for name, (x, y) in places.items():
        leaf = name.strip() in ("rich", "poor")
        box = {"boxstyle": "round,pad=.35", "fc": "white", "ec": ORANGE if leaf else BLUE}
        ax.annotate(name.strip(), (x, y), ha="center", va="center", bbox=box)
    shares = {2.9: "0.25 of ε: one split", 1.7: "0.33 of ε: splits", 0.5: "0.42 of ε: classes"}
    for y, text in shares.items():
        ax.annotate(text, (7.6, y), va="center", color=GREY)
    return figure


ROW = re.compile(r"^\| What are all 99 percentiles.*$", re.MULTILINE)
LIGHT = {"ink": "#1b2430", "soft": "#56606b", "bar": "#a8b1ba", "own": "#0068a8"}
DARK = {"ink": "#e6ebf0", "soft": "#aab4be", "bar": "#5d6873", "own": "#6cb8f0"}


def results() -> dict[str, float]:
    """The error in ranks of the usual method, the best other way and dampen, from the README."""
    found = ROW.search((HERE.parents[1] / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    cells = [cell.strip(" *") for cell in found[0].strip("|").split("|")]
    usual, best, own = cells[2:]
    error, name = best.split(", ")
    return {
        "usual method (exponential mechanism)": float(usual),
        f"best other way ({name})": float(error),
        "dampen": float(own),
    }


def three_bars(errors: dict[str, float], colours: dict[str, str]) -> str:
    """One question and three bars, readable on a phone."""
    top = max(errors.values())
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 250" role="img" '
        'font-family="system-ui, sans-serif" font-size="15">',
        f"<title>{escape(summary(errors))}</title>",
        f'<text x="8" y="24" font-size="18" font-weight="600" fill="{colours["ink"]}">'
        "How far off are published salary percentiles?</text>",
        f'<text x="8" y="46" fill="{colours["soft"]}">99 percentiles of 100,534 salaries, privacy '
        "ε = 0.5</text>",
    ]
    for i, (name, error) in enumerate(errors.items()):
        y = 78 + 58 * i
        colour = colours["own"] if name == "dampen" else colours["bar"]
        weight = ' font-weight="600"' if name == "dampen" else ""
        width = max(3.0, 300 * error / top)
        lines += [
            f'<text x="8" y="{y}" fill="{colours["ink"]}"{weight}>{escape(name)}</text>',
            f'<rect x="8" y="{y + 8}" width="{width:.1f}" height="22" rx="3" fill="{colour}"/>',
            f'<text x="{width + 16:.1f}" y="{y + 25}" fill="{colours["ink"]}"{weight}>'
            f"{error:g} people</text>",
        ]
    return "\n".join([*lines, "</svg>", ""])


def summary(errors: dict[str, float]) -> str:
    """The picture in words."""
    parts = [f"{name} {error:g} people" for name, error in errors.items()]
    return f"Mean error of 99 percentiles of 100,534 salaries at ε = 0.5: {', '.join(parts)}"


if __name__ == "__main__":
    for suffix, colours in (("", LIGHT), ("-dark", DARK)):
        (HERE / f"three-bars{suffix}.svg").write_text(three_bars(results(), colours))
    with mpl.rc_context(STYLE):
        save(dampening(), "dampening.svg")
        save(reach(), "reach.svg")
        save(noise(), "noise.svg")
        save(percentile(), "percentile.svg")
        save(frequency(), "frequency.svg")
        save(nodes(), "nodes.svg")
        save(tree(), "tree.svg")
