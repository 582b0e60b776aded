"""A released model as text, and in a notebook.  All of it is public.

A tree is drawn as HTML with an inline SVG.  The root is at the left, so that a tree of many leaves
is long and not wide.  Lines and words have the colour of the surrounding text and leaves a
translucent one, so that one drawing suits light and dark pages.  Splits whose leaves agree are
drawn as one leaf.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape

import numpy as np

from dampen.epsilon import decimal_text
from dampen.printing import html_table, printable
from dampen.questions.classify.model import BayesModel, Columns, Model, TreeModel
from dampen.questions.classify.noisy_tables import deviation
from dampen.questions.classify.plan import TreeFacts
from dampen.questions.classify.released_tree import Tree, collapsed
from dampen.releases.release import Release

__all__ = ["html", "report"]

MOST_CLASSES = 8
MOST_ATTRIBUTES = 40
"""Of naive Bayes, what is shown in a notebook."""
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


def report(model: Model, release: Release) -> str:
    """What was released and what it cost, as text."""
    if isinstance(model, TreeModel):
        return "\n".join(map(printable, _tree_report(model, release)))
    return "\n".join(map(printable, _bayes_report(model, release)))


def html(model: Model, release: Release) -> str:
    """What a model is, its warnings, and its picture or table."""
    if isinstance(model, BayesModel):
        return _bayes_html(model, release)
    return _tree_html(model, release)


def _warnings(release: Release) -> Iterator[str]:
    if not release.secure:
        yield "NOT SECURE: seeded randomness"
    if release.leaks:
        yield f"NOT COVERED BY EPSILON: {', '.join(release.leaks)}"


def _tree_report(model: TreeModel, release: Release) -> Iterator[str]:
    """A heading, the budget, the tree."""
    facts = model.facts
    yield (
        f"Private decision tree: epsilon {decimal_text(facts.epsilon)} for adding or removing one "
        f"row, at most {facts.max_rows} rows"
    )
    yield f"mechanism {facts.mechanism}, {facts.size}"
    yield from _warnings(release)
    yield ""
    yield from _budget_lines(facts)
    yield ""
    yield from _tree_lines(model)


def _budget_lines(facts: TreeFacts) -> Iterator[str]:
    yield f"budget, per {facts.stage_name} (a row is in one node of each)"
    for charge in facts.charges:
        share = decimal_text(charge.epsilon / facts.epsilon)
        spent = f"{decimal_text(charge.epsilon):>8}  ({share} of epsilon)"
        yield f"  {facts.stage_name} {charge.level:>2}  {charge.purpose:<5}  {spent}"
    yield f"  total            {decimal_text(facts.epsilon):>8}"


def _tree_lines(model: TreeModel) -> Iterator[str]:
    """Depth first; one line per branch."""
    tree = model.tree
    if tree.attribute[0] < 0:
        yield f"always -> {_node_text(model, tree, 0)}"
        return
    stack = [(0, child, text, 0) for child, text in reversed(list(_branches(model, tree, 0)))]
    while stack:
        parent, node, condition, depth = stack.pop()
        leaf = tree.attribute[node] < 0
        ending = f" -> {_node_text(model, tree, node)}" if leaf else ""
        yield f"{'|   ' * depth}{_node_text(model, tree, parent)}: {condition}{ending}"
        for child, text in reversed(list(_branches(model, tree, node))):
            stack.append((node, child, text, depth + 1))


def _branches(model: TreeModel, tree: Tree, node: int) -> Iterator[tuple[int, str]]:
    """The children of a node, each with the values that lead to it."""
    a = int(tree.attribute[node])
    if a < 0:
        return
    route = tree.children(node)
    by_child = np.argsort(route, kind="stable")
    children, begins = np.unique(route[by_child], return_index=True)
    for child, codes in zip(children.tolist(), np.split(by_child, begins[1:]), strict=True):
        yield child, model.columns.domains[a].describe(codes.tolist())


def _node_text(model: TreeModel, tree: Tree, node: int) -> str:
    """The class of a leaf, or the name of the attribute that a node asks for."""
    a = int(tree.attribute[node])
    if a < 0:
        return str(model.columns.classes[tree.label[node]])
    return _name(model.columns, a)


def _name(columns: Columns, attribute: int) -> str:
    return f"x{attribute}" if columns.features is None else columns.features[attribute]


def _tree_html(model: TreeModel, release: Release) -> str:
    """What a tree is, its warnings, and its picture."""
    tree = collapsed(replace(model.tree, counts=None))
    if len(tree.leaves) > MOST_LEAVES:
        return f"<pre>{escape(report(model, release))}</pre>"
    head = _html_lines([_tree_heading(model.facts, tree), *_warnings(release)])
    return (
        f'{head}<div style="overflow-x:auto">{_svg(model, tree)}</div>'
        f"<div>{_legend(list(map(str, model.columns.classes)))}</div>"
    )


def _tree_heading(facts: TreeFacts, tree: Tree) -> str:
    leaves = len(tree.leaves)
    fewer = f" of {facts.depth} that were paid for" if tree.depth < facts.depth else ""
    return (
        f"Private decision tree, ε = {decimal_text(facts.epsilon)} for adding or removing one row: "
        f"{leaves} {'leaf' if leaves == 1 else 'leaves'}, depth {tree.depth}{fewer}"
    )


def _html_lines(lines: Sequence[str]) -> str:
    return f"<div>{'<br>'.join(escape(printable(line)) for line in lines)}</div>"


def _positions(tree: Tree) -> list[float]:
    """Leaves from left to right, every other node above the middle of its children."""
    x = [0.0] * len(tree.attribute)
    leaves = iter(range(len(x)))

    def place(node: int) -> float:
        children = [place(int(child)) for child in np.unique(tree.children(node))]
        x[node] = float(np.mean(children)) if children else float(next(leaves))
        return x[node]

    place(0)
    return x


def _legend(classes: Sequence[str]) -> str:
    shown = [
        f'<span style="white-space:nowrap"><span style="color:{_ink(i)}">■</span> '
        f"{escape(printable(name))}</span>"
        for i, name in enumerate(classes[: len(INKS)])
    ]
    if len(classes) > len(INKS):
        shown.append(f'<span style="color:{GREY}">■</span> others')
    return " &nbsp; ".join(shown)


def _svg(model: TreeModel, tree: Tree) -> str:
    leaf = _positions(tree)
    x = [(BOX_WIDE + GAP) * int(level) + 1.0 for level in tree.level]
    y = [PITCH * (place + 0.5) for place in leaf]
    wide = max(x) + BOX_WIDE + 1
    high = PITCH * (max(leaf) + 1)
    edges = []
    boxes = []
    for node in range(len(leaf)):
        for child, condition in _branches(model, tree, node):
            edges.append(_edge(x[node] + BOX_WIDE, y[node], y[child], condition))
        boxes.append(_box(x[node], y[node], _node_text(model, tree, node), tree, node))
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


def _bayes_report(model: BayesModel, release: Release) -> Iterator[str]:
    """What was released, the noise, and the estimated shares of the classes."""
    values, classes = model.tables.counts.shape
    yield (
        f"Private naive Bayes: epsilon {decimal_text(model.epsilon)} for adding or removing one row"
    )
    yield (
        f"{len(model.columns.domains)} attributes, {values} values, {classes} classes: "
        f"{values * classes} counts, each with discrete Laplace noise of standard deviation "
        f"{deviation(model.tables.scale):.3g}"
    )
    yield from _warnings(release)
    yield ""
    yield "classes, estimated"
    for name, log in zip(model.columns.classes, model.tables.log_priors.tolist(), strict=True):
        yield f"  {math.exp(log):6.1%}  {name}"


def _bayes_html(model: BayesModel, release: Release) -> str:
    """What it is, its warnings, and what is likeliest of every attribute in each class."""
    columns = model.columns
    heading = (
        f"Private naive Bayes, ε = {decimal_text(model.epsilon)} for adding or removing one row: "
        f"{len(columns.domains)} attributes, {len(columns.classes)} classes"
    )
    classes = [f"in {name}" for name in columns.classes[:MOST_CLASSES]]
    table = html_table(["likeliest", *classes], _bayes_rows(model))
    return f"{_html_lines([heading, *_warnings(release)])}{table}"


def _bayes_rows(model: BayesModel) -> Iterator[list[str]]:
    shares = np.exp(model.tables.log_priors)
    yield ["share of rows", *[f"{share:.0%}" for share in shares[:MOST_CLASSES]]]
    first = model.tables.first
    for a, domain in enumerate(model.columns.domains[:MOST_ATTRIBUTES]):
        likelihood = np.exp(model.tables.log_likelihoods[first[a] : first[a + 1]])
        best = likelihood.argmax(axis=0)[:MOST_CLASSES]
        cells = [f"{domain.describe([v])} ({likelihood[v, c]:.0%})" for c, v in enumerate(best)]
        yield [_name(model.columns, a), *cells]
