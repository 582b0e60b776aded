"""One colour and one name per method, everywhere; safe for colour-blind eyes, light and dark.

The hues are those of Okabe and Ito.  Permute-and-flip on a score has the colour of the score and a
dashed line, so that the pair reads as a pair.
"""

from typing import NamedTuple


class Ink(NamedTuple):
    """A colour on a light and on a dark page."""

    light: str
    dark: str


class Method(NamedTuple):
    """How a method is shown."""

    label: str
    about: str
    ink: Ink
    dashes: tuple[float, ...] = ()


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

METHODS: dict[str, Method] = {
    "em": Method("EM", "exponential mechanism, global sensitivity", _BLACK),
    "pf": Method("PF", "permute-and-flip, global sensitivity", _BLACK, _SHORT),
    "em-fair": Method("EM one-sided", "EM without the needless factor 1/2", _ORANGE),
    "ld": Method("LD", "local dampening", _GREEN),
    "ld-pf": Method("LD·PF", "permute-and-flip on dampened scores", _GREEN, _SHORT),
    "sld": Method("SLD", "shifted local dampening, as in the paper", _BLUE),
    "sld-pf": Method("SLD·PF", "permute-and-flip on shifted scores", _BLUE, _SHORT),
    "sld-n": Method("SLD, D = n−1", "SLD without an assumption on degrees", _ORANGE),
    "joint": Method("SLD joint", "all shifted scores at once, any k for one ε", _VIOLET),
    "degree": Method("degree", "EM on the degree, one-sided: the control", _PINK),
    "degree-joint": Method("degree joint", "degree + Laplace(2/ε), any k for one ε", _RED),
    "rank": Method("rank value", "the percentile's value by rank utility, not a label", _RED),
    "max": Method("max tree", "criterion max, one-sided permute-and-flip", _RED),
    "default": Method("default", "the default of dampen.TreeClassifier", _VIOLET),
    "plain": Method("not private", "an ordinary tree, without any privacy", _GREY, _SHORT),
    "private-sql": Method("PSQL", "PrivateSQL: noisy counts, derived sensitivity", _ORANGE),
    "private-sql-flex": Method(
        "PSQL elastic", "PrivateSQL: noisy counts, elastic sensitivity", _ORANGE, _SHORT
    ),
    "nodes": Method("nodes", "one point per degree", _BLUE),
}


def variables(dark: bool) -> str:
    """The colours as CSS custom properties."""
    inks = {"text": TEXT, "muted": MUTED, "grid": GRID}
    inks |= {f"m-{name}": method.ink for name, method in METHODS.items()}
    return " ".join(f"--{name}: {ink.dark if dark else ink.light};" for name, ink in inks.items())


def variable_of() -> dict[str, str]:
    """From a light colour, as drawn, to the CSS property that replaces it on the page."""
    known = {TEXT.light: "text", MUTED.light: "muted", GRID.light: "grid"}
    for name, method in METHODS.items():
        known.setdefault(method.ink.light, f"m-{name}")
    return known
