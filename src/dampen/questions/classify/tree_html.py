"""A released tree drawn for a notebook: HTML with an inline SVG.  All of it is public.

The root is at the left, so that a tree of many leaves is long and not wide.  Lines and words have
the colour of the surrounding text and leaves a translucent one, so that one drawing suits light and
dark pages.  Splits whose leaves agree are drawn as one leaf.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from dampen.epsilon import decimal_text
from dampen.printing import printable
from dampen.questions.classify.grow_levels import Tree
from dampen.questions.classify.prune import collapsed
from dampen.questions.classify.tree_text import children_of, node_text, positions, report

if TYPE_CHECKING:
    from dampen.questions.classify.tree import TreeClassifier

__all__ = ["html"]

MOST_LEAVES = 64
"""More do not fit on a page; the tree is then shown as text."""

INKS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5cc9")
"""One colour per class, told apart by colour-blind eyes too; further classes are grey."""
GREY = "#888888"

BOX_WIDE = 118
BOX_HIGH = 24
GAP = 84
PITCH = 32
"""A box, the way to the next one, and the distance of two leaves, in pixels."""

NAME_LETTERS = 17
CONDITION_LETTERS = 14
"""Of what is written; the whole is shown where the pointer rests."""


def html(classifier: "TreeClassifier") -> str:
    """What a fitted tree is, its warnings, and its picture."""
    tree = collapsed(replace(classifier.tree_, counts=None))
    if int((tree.attribute < 0).sum()) > MOST_LEAVES:
        return f"<pre>{escape(report(classifier))}</pre>"
    head = "<br>".join(escape(printable(line)) for line in _head(classifier, tree))
    return (
        f'<div>{head}</div><div style="overflow-x:auto">{_svg(classifier, tree)}</div>'
        f"<div>{_legend(list(map(str, classifier.classes_)))}</div>"
    )


def _head(classifier: "TreeClassifier", tree: Tree) -> Iterator[str]:
    plan = classifier.plan_
    leaves = int((tree.attribute < 0).sum())
    levels = int(tree.level.max())
    yield (
        f"Private decision tree, ε = {decimal_text(plan.epsilon)} for adding or removing one row: "
        f"{leaves} {'leaf' if leaves == 1 else 'leaves'}, depth {levels}"
        + (f" of {plan.depth} that were paid for" if levels < plan.depth else "")
    )
    if not classifier.secure_:
        yield "NOT SECURE: seeded randomness"
    if leaks := classifier.release_.leaks:
        yield f"NOT COVERED BY EPSILON: {', '.join(leaks)}"


def _legend(classes: Sequence[str]) -> str:
    shown = [
        f'<span style="white-space:nowrap"><span style="color:{_ink(i)}">■</span> '
        f"{escape(printable(name))}</span>"
        for i, name in enumerate(classes[: len(INKS)])
    ]
    if len(classes) > len(INKS):
        shown.append(f'<span style="color:{GREY}">■</span> others')
    return " &nbsp; ".join(shown)


def _svg(classifier: "TreeClassifier", tree: Tree) -> str:
    leaf = positions(tree)
    x = [(BOX_WIDE + GAP) * int(level) + 1.0 for level in tree.level]
    y = [PITCH * (place + 0.5) for place in leaf]
    wide = max(x) + BOX_WIDE + 1
    high = PITCH * (max(leaf) + 1)
    edges = []
    boxes = []
    for node in range(len(leaf)):
        for child, condition in children_of(classifier, tree, node):
            edges.append(_edge(x[node] + BOX_WIDE, y[node], y[child], condition))
        boxes.append(_box(x[node], y[node], node_text(classifier, tree, node), tree, node))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:g}" height="{high:g}" '
        f'viewBox="0 0 {wide:g} {high:g}" role="img" aria-label="decision tree" '
        'font-family="system-ui, sans-serif" font-size="12" text-anchor="middle" '
        f'fill="currentColor">{"".join(edges)}{"".join(boxes)}</svg>'
    )


def _edge(x: float, y: float, to_y: float, condition: str) -> str:
    bend = x + 14
    end = x + GAP
    return (
        f'<path d="M{x:g} {y:g}C{bend:g} {y:g} {x:g} {to_y:g} {bend:g} {to_y:g}H{end:g}" '
        'fill="none" stroke="currentColor" stroke-opacity=".35"/>'
        f'<g font-size="11" opacity=".85">'
        f"{_words((bend + end) / 2, to_y - 4, condition, CONDITION_LETTERS)}</g>"
    )


def _box(x: float, y: float, name: str, tree: Tree, node: int) -> str:
    leaf = tree.attribute[node] < 0
    ink = _ink(int(tree.label[node])) if leaf else "currentColor"
    fill = f'fill="{ink}" fill-opacity=".28"' if leaf else 'fill="none"'
    return (
        f'<rect x="{x:g}" y="{y - BOX_HIGH / 2:g}" width="{BOX_WIDE}" height="{BOX_HIGH}" '
        f'rx="{BOX_HIGH / 2 if leaf else 4:g}" {fill} stroke="{ink}" '
        f'stroke-opacity="{1 if leaf else 0.5}"/>'
        f"{_words(x + BOX_WIDE / 2, y + 4, name, NAME_LETTERS)}"
    )


def _words(x: float, y: float, text: str, letters: int) -> str:
    whole = printable(text)
    short = whole if len(whole) <= letters else f"{whole[: letters - 1].rstrip()}…"
    title = "" if short == whole else f"<title>{escape(whole)}</title>"
    return f'<text x="{x:g}" y="{y:g}">{title}{escape(short)}</text>'


def _ink(label: int) -> str:
    return INKS[label] if label < len(INKS) else GREY
