"""The README's figure: three questions, every curve from the full run.

Four files: light and dark, the three panels in a row or, for phones, one below the other.
"""

import io
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dampen.errors import ParameterError
from dampen_studies.claims import Tables
from dampen_studies.report.drawing import STYLE, short
from dampen_studies.report.palette import LOOKS, MUTED, TEXT, darkened
from dampen_studies.rows import curve
from dampen_studies.study import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Question(NamedTuple):
    """One panel."""

    study: str
    setting: dict[str, Value]
    measure: str
    methods: tuple[str, ...]
    title: str


QUESTIONS = (
    Question(
        "topk",
        {"dataset": "enron", "k": 20.0},
        "accuracy",
        ("em", "ld", "sld", "degree", "dampen"),
        "The 20 most influential of 36,692 nodes\n(Enron; share of the true 20)",
    ),
    Question(
        "percentiles",
        {"dataset": "hepth", "p": 99.0},
        "error",
        ("em", "ld", "dampen", "value"),
        "99th percentile of 4,096 values up to 755\n(HEPTH; expected error)",
    ),
    Question(
        "trees",
        {"dataset": "adult", "depth": 5.0},
        "accuracy",
        ("em", "sld", "max", "dampen", "plain"),
        "Decision trees of depth 5\n(Adult; cross-validated accuracy)",
    ),
)


def write(tables: Tables, target: Path) -> list[Path]:
    """Writes NAME.svg, NAME-dark.svg, NAME-phone.svg and NAME-phone-dark.svg.

    Raises:
        ParameterError: if a study behind it was not run in full.
    """
    missing = [q.study for q in QUESTIONS if q.study not in tables]
    if missing:
        raise ParameterError(f"The figure needs the full run: dampen-studies run {missing[0]}")
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

    shape, size = ((3, 1), (4.6, 10.2)) if phone else ((1, 3), (12.0, 3.9))
    buffer = io.StringIO()
    with rc_context(STYLE | {"svg.hashsalt": "dampen"}):
        figure = Figure(figsize=size, layout="constrained")
        for axes, question in zip(figure.subplots(*shape), QUESTIONS, strict=True):
            _panel(axes, question, tables)
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    return buffer.getvalue()


def _panel(axes: "Axes", question: Question, tables: Tables) -> None:
    from matplotlib.ticker import FuncFormatter

    for name in question.methods:
        look = LOOKS[name]
        points = curve(
            tables[question.study], "epsilon", question.measure, method=name, **question.setting
        )
        style = (0, look.dashes) if look.dashes else "solid"
        axes.plot(*points, color=look.ink.light, lw=look.width, linestyle=style, label=look.label)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.minorticks_off()
    axes.set_title(question.title, fontsize=10, color=TEXT.light, loc="left")
    axes.set_xlabel("ε", color=MUTED.light)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, alpha=0.25)
    axes.legend(frameon=False, fontsize=9, loc="best", labelcolor=TEXT.light)
