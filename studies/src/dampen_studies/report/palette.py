"""One colour and one name per method, everywhere; safe for colour-blind eyes, light and dark.

The hues are those of Okabe and Ito.  Permute-and-flip on a score has the colour of the score and a
dashed line, so that the pair reads as a pair.  `dampen` is what the library does by default, in
every figure; its lines are thicker.
"""

from typing import NamedTuple


class Ink(NamedTuple):
    """A colour on a light and on a dark page."""

    light: str
    dark: str


class Look(NamedTuple):
    """How a method is shown."""

    label: str
    about: str
    ink: Ink
    dashes: tuple[float, ...] = ()
    width: float = 1.8


TEXT = Ink("#1b1e23", "#e9ebee")
MUTED = Ink("#676d76", "#9aa1ab")
GRID = Ink("#e3e5e9", "#30353d")

_BLACK = Ink("#3d434c", "#d3d7dd")
_ORANGE = Ink("#c77700", "#f0a830")
_GREEN = Ink("#00805e", "#2fc79d")
_BLUE = Ink("#0068a8", "#57b4ec")
_RED = Ink("#c4450c", "#ff8552")
_PINK = Ink("#a8457f", "#e58fc0")
_VIOLET = Ink("#6b50c0", "#ad9af5")
_GREY = Ink("#8a9099", "#858c97")
_SHORT = (3.0, 1.6)
_DOTS = (1.0, 1.4)
_THICK = 2.8

OURS = "dampen"
BOUNDS = frozenset({"degree-ceiling", "triangle-ceiling", "limit"})
"""What no private method is meant to reach; dotted."""

LOOKS: dict[str, Look] = {
    "em": Look("EM", "exponential mechanism, global sensitivity", _BLACK),
    "pf": Look("PF", "permute-and-flip, global sensitivity", _BLACK, _SHORT),
    "em-fair": Look("EM 1-sided", "EM without the needless factor 1/2", _ORANGE),
    "ld": Look("LD", "local dampening", _GREEN),
    "ld-pf": Look("LD·PF", "permute-and-flip on dampened scores", _GREEN, _SHORT),
    "sld": Look("SLD", "shifted local dampening, as in the paper", _BLUE),
    "sld-pf": Look("SLD·PF", "permute-and-flip on shifted scores", _BLUE, _SHORT),
    "sld-n": Look("SLD n−1", "SLD with D = n−1: no assumption on degrees", _ORANGE),
    "sld-down": Look("SLD down", "SLD towards −∞, the other way round", _BLUE, _DOTS),
    "ld-shifted": Look("LD, private shift", "LD·PF after a private shift", _VIOLET),
    "auto": Look("auto", "the default for a problem of your own", _RED, _DOTS, _THICK),
    "gem": Look("GEM", "generalised exponential mechanism", _ORANGE, _DOTS),
    "share 1/10": Look("share 1/10", "private shift by a tenth of ε", _GREY),
    "share 2/5": Look("share 2/5", "private shift by two fifths of ε", _GREY, _SHORT),
    "target 1/2": Look("target 1/2", "private shift, half as far", _PINK, _DOTS),
    "target 2": Look("target 2", "private shift, twice as far", _VIOLET, _SHORT),
    "degree": Look("degree", "EM on the degree, one-sided: the control", _PINK),
    "degree-joint": Look(
        "joint deg.", "all degrees + Laplace(2/ε), any k for one ε", _PINK, _SHORT
    ),
    "max": Look("max tree", "criterion max, one-sided permute-and-flip", _VIOLET),
    "max-multiway": Look("max, multiway", "criterion max, one branch per value", _VIOLET, _SHORT),
    "sulq": Look("SuLQ", "noisy counts for every attribute", _GREY),
    "sld-binary": Look("SLD, binary", "SLD with two branches per node", _BLUE, _DOTS),
    "ld-pf-binary": Look("LD·PF, binary", "LD·PF with two branches", _GREEN, _DOTS),
    "sld-pf-binary": Look("SLD·PF, binary", "SLD·PF with two branches", _BLUE, _DOTS),
    "control": Look("private median each", "a private median for each group", _PINK, _SHORT),
    OURS: Look("dampen", "what the library does by default", _RED, (), _THICK),
    "value": Look("value", "dampen, asked for the value instead", _RED, _SHORT, _THICK),
    "dampen-depth": Look("dampen, own depth", "at the depth it chooses", _RED, _SHORT, _THICK),
    "swapped": Look("dampen, swapped", "training and test parts exchanged", _RED, _DOTS, _THICK),
    "plain": Look("no privacy", "an ordinary tree", _GREY, _SHORT),
    "opendp": Look("OpenDP", "its private quantile, size known", _BLACK),
    "diffprivlib": Look("diffprivlib", "its quantile", _GREY),
    "private-sql": Look("PSQL", "PrivateSQL: noisy counts, derived sensitivity", _ORANGE),
    "private-sql-flex": Look(
        "PSQL flex", "PrivateSQL: noisy counts, elastic sensitivity", _ORANGE, _SHORT
    ),
    "private-sql-nnls": Look(
        "PSQL nnls", "PrivateSQL: one view, non-negative least squares", _GREEN
    ),
    "private-sql-rows": Look(
        "PSQL rows", "noise on the rows that the SQL returns: not private", _GREY, _DOTS
    ),
    "degree-ceiling": Look("degree, no noise", "what the degree finds without noise", _PINK, _DOTS),
    "triangle-ceiling": Look(
        "triangles, no noise", "degrees less triangles, without noise", _RED, _DOTS
    ),
    "itself": Look("core, itself", "permute-and-flip on core numbers, ε / k each", _GREEN, _SHORT),
    "limit": Look("limit", "e^(hε) / (1 + e^(hε)): nobody is surer of the last node", _GREY, _DOTS),
    "former": Look("dampen 0.1", "its default tree before", _RED, _DOTS),
    "bayes": Look("naive Bayes", "dampen's, from noisy histograms", _VIOLET, _DOTS),
    "gaussian": Look("Gaussian NB", "diffprivlib's naive Bayes", _BLACK, _SHORT),
    "dpl-tree": Look("dpl tree", "diffprivlib's tree, depth 5", _BLACK, _DOTS),
    "dpl-forest": Look("dpl forest", "diffprivlib's forest, ten trees", _GREY, _DOTS),
    "probabilities": Look("dampen, odds", "a tree with probabilities", _RED, _SHORT, _THICK),
    "dp-ebm": Look("DP-EBM", "interpret's boosted curves, δ = 10^-6", _ORANGE),
    "logistic": Look("logistic", "diffprivlib's logistic regression", _GREEN, _DOTS),
    "nodes": Look("nodes", "every node", _BLUE),
    "reach": Look("dampen", "what the library does by default: reach", _RED, (), _THICK),
    "inverse": Look("inverse", "the signed number of rows that decide", _ORANGE, _SHORT),
    "rule": Look("dampen", "what the library does by default for persons", _RED, (), _THICK),
    "weights": Look("weights", "everyone weighs one", _GREEN),
    "min-max": Look("min-max", "one person in every group", _BLUE),
    "1 row": Look("1 row", "one row of every person", _BLACK),
    "2 rows": Look("2 rows", "two rows of every person at ε / 2", _BLACK, _DOTS),
    "5 rows": Look("5 rows", "five rows of every person at ε / 5", _BLACK, _SHORT),
    **{
        f"{m} in full": Look(f"{m} in full", f"targets of a source in full: {m}", _BLUE)
        for m in (1, 2, 4, 8, 16, 32, "all")
    },
    "cut": Look("cut", "edges of a source cut to the best cap", _GREY),
    "opendp 1": Look("OpenDP, 1 row", "one row of every person", _BLACK),
    "opendp 4": Look("OpenDP, 4 rows", "four rows of every person", _BLACK, _SHORT),
    "opendp 16": Look("OpenDP, 16 rows", "sixteen rows of every person", _BLACK, _DOTS),
    "row per group": Look("row per group", "one row of every person and group", _GREY),
    "smooth": Look("smooth", "noise by smooth sensitivity", _GREY, _SHORT),
    "ld shifted": Look("LD shifted", "LD of the statistic minus its range", _GREEN, _DOTS),
    "two stages": Look("dampen", "what the library does by default: two stages", _RED, (), _THICK),
    "dampened": Look("LD·PF range", "one draw, dampened", _GREEN, _SHORT),
    "form": Look("λ", "the error that no method of this form is below", _GREY, _DOTS),
    "symmetric": Look("bound", "what treating labels alike implies", _GREY, _SHORT),
    "together": Look("dampen", "what the library does by default: together", _RED, (), _THICK),
    "together, rows": Look(
        "dampen, rows", "together, for adding or removing a row", _RED, _SHORT, _THICK
    ),
    "alone": Look("alone", "each percentile for the whole ε", _GREY, _DOTS),
    "split": Look("equal shares", "every percentile by an equal share of ε", _PINK),
    "one by one": Look("one by one", "k labels by dampening, at ε/k each", _GREEN, _SHORT),
    "nearest": Look("nearest", "what the k nearest labels have", _GREY, _DOTS),
}


def look(method: str) -> Look:
    """How a method is shown; by its own name where nothing else was agreed on."""
    return LOOKS.get(method) or Look(method, "", _GREY)


def variable(method: str) -> str:
    """The CSS custom property of a method's colour."""
    return "--m-" + "".join(c if c.isalnum() else "-" for c in method)


def variables(dark: bool) -> str:
    """The colours as CSS custom properties."""
    inks = {"text": TEXT, "muted": MUTED, "grid": GRID}
    named = {f"--{name}": ink for name, ink in inks.items()}
    named |= {variable(name): look.ink for name, look in LOOKS.items()}
    return " ".join(f"{name}: {ink.dark if dark else ink.light};" for name, ink in named.items())


def variable_of() -> dict[str, str]:
    """From a light colour, as drawn, to the CSS property that replaces it on the page."""
    known = {TEXT.light: "--text", MUTED.light: "--muted", GRID.light: "--grid"}
    for name, look in LOOKS.items():
        known.setdefault(look.ink.light, variable(name))
    return known


def darkened(svg: str) -> str:
    """A drawing in light colours, in dark ones."""
    inks = [TEXT, MUTED, GRID, *(look.ink for look in LOOKS.values())]
    for ink in dict.fromkeys(inks):
        svg = svg.replace(ink.light, ink.dark)
    return svg
