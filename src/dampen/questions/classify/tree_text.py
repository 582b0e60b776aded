"""A released tree as text and as a picture.  All of it is public."""

import textwrap
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dampen.epsilon import decimal_text
from dampen.errors import ParameterError
from dampen.printing import printable
from dampen.questions.classify.grow_levels import Tree
from dampen.questions.classify.plan import Plan
from dampen.questions.classify.tree_json import mechanism_name

if TYPE_CHECKING:
    from dampen.questions.classify.tree import TreeClassifier

__all__ = ["children_of", "node_text", "plot", "positions", "report"]

MOST_DRAWN_LEAVES = 200


def report(classifier: "TreeClassifier") -> str:
    """A heading, the budget, the tree."""
    plan = classifier.plan_
    heading = [
        f"Private decision tree: epsilon {decimal_text(plan.epsilon)} for adding or removing one "
        f"row, at most {plan.max_rows} rows",
        f"mechanism {mechanism_name(plan)}, criterion {plan.criterion}, {plan.branching} splits, "
        f"{plan.size}",
    ]
    if not classifier.secure_:
        heading.append("NOT SECURE: seeded randomness")
    if leaks := classifier.release_.leaks:
        heading.append(f"NOT COVERED BY EPSILON: {', '.join(leaks)}")
    lines = [*heading, "", *_budget_lines(plan), "", *_tree_lines(classifier)]
    return "\n".join(map(printable, lines))


def plot(classifier: "TreeClassifier", ax: Any = None) -> Any:
    """Nodes at their level, leaves side by side."""
    import matplotlib.pyplot as plt

    tree = classifier.tree_
    leaves = int((tree.attribute < 0).sum())
    if leaves > MOST_DRAWN_LEAVES:
        raise ParameterError(
            f"Expected at most {MOST_DRAWN_LEAVES} leaves to draw, the tree has {leaves}. "
            "Use report(), or a smaller max_depth."
        )
    if ax is None:
        size = (max(4.0, 1.4 * leaves), 1.2 + 1.3 * (int(tree.level.max()) + 1))
        ax = plt.subplots(figsize=size)[1]
    x = positions(tree)
    for node in range(len(tree.attribute)):
        text = node_text(classifier, tree, node)
        ax.text(x[node], -tree.level[node], text, **_box(tree, node))
        for child, condition in children_of(classifier, tree, node):
            ends = [x[node], x[child]], [-tree.level[node] - 0.12, -tree.level[child] + 0.12]
            ax.plot(*ends, color="0.6", linewidth=1, zorder=0)
            # Near the child, where branches are far enough apart for words.
            at = 0.3 * ends[0][0] + 0.7 * ends[0][1], 0.3 * ends[1][0] + 0.7 * ends[1][1]
            ax.text(*at, textwrap.shorten(condition, 18, placeholder="…"), **_LABEL)
    ax.set_xlim(-0.7, leaves - 0.3)
    ax.set_ylim(-int(tree.level.max()) - 0.5, 0.5)
    ax.set_axis_off()
    return ax


_LABEL: dict[str, Any] = {
    "ha": "center",
    "va": "center",
    "fontsize": 7,
    "bbox": {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"},
}


def _budget_lines(plan: Plan) -> Iterator[str]:
    yield f"budget, per {plan.stage_name} (a row is in one node of each)"
    for charge in plan.charges():
        share = decimal_text(charge.epsilon / plan.epsilon)
        spent = f"{decimal_text(charge.epsilon):>8}  ({share} of epsilon)"
        yield f"  {plan.stage_name} {charge.level:>2}  {charge.purpose:<5}  {spent}"
    total = sum((charge.epsilon for charge in plan.charges()), Fraction(0))
    yield f"  total            {decimal_text(total):>8}"


def _tree_lines(classifier: "TreeClassifier") -> Iterator[str]:
    """Depth first; one line per branch."""
    tree = classifier.tree_
    if tree.attribute[0] < 0:
        yield f"always -> {node_text(classifier, tree, 0)}"
        return
    stack = [(child, text, 0) for child, text in reversed(list(children_of(classifier, tree, 0)))]
    parent_name = {0: node_text(classifier, tree, 0)}
    names = {child: parent_name[0] for child, _, _ in stack}
    while stack:
        node, condition, depth = stack.pop()
        leaf = tree.attribute[node] < 0
        ending = f" -> {node_text(classifier, tree, node)}" if leaf else ""
        yield f"{'|   ' * depth}{names[node]}: {condition}{ending}"
        for child, text in reversed(list(children_of(classifier, tree, node))):
            names[child] = node_text(classifier, tree, node)
            stack.append((child, text, depth + 1))


def children_of(classifier: "TreeClassifier", tree: Tree, node: int) -> Iterator[tuple[int, str]]:
    """The children of a node, each with the values that lead to it."""
    a = int(tree.attribute[node])
    if a < 0:
        return
    domain = classifier.domains_[a]
    begin = int(tree.route_start[node])
    route = tree.routes[begin : begin + len(domain)]
    by_child = np.argsort(route, kind="stable")
    children, begins = np.unique(route[by_child], return_index=True)
    for child, codes in zip(children.tolist(), np.split(by_child, begins[1:]), strict=True):
        yield child, domain.describe(codes.tolist())


def node_text(classifier: "TreeClassifier", tree: Tree, node: int) -> str:
    """The class of a leaf, or the name of the attribute that a node asks for."""
    a = int(tree.attribute[node])
    if a < 0:
        return str(classifier.classes_[tree.label[node]])
    names = getattr(classifier, "feature_names_in_", None)
    return f"x{a}" if names is None else str(names[a])


def positions(tree: Tree) -> list[float]:
    """Leaves from left to right, every other node above the middle of its children."""
    x = [0.0] * len(tree.attribute)
    ends = np.append(tree.route_start[1:], len(tree.routes))
    leaves = iter(range(len(x)))

    def place(node: int) -> float:
        routes = tree.routes[tree.route_start[node] : ends[node]]
        children = [place(int(child)) for child in np.unique(routes)]
        x[node] = float(np.mean(children)) if children else float(next(leaves))
        return x[node]

    place(0)
    return x


def _box(tree: Tree, node: int) -> dict[str, Any]:
    leaf = tree.attribute[node] < 0
    colour = "#e8f1fa" if leaf else "#fff6e0"
    style = {"boxstyle": "round,pad=0.3", "facecolor": colour, "edgecolor": "0.5"}
    return {"ha": "center", "va": "center", "fontsize": 8, "bbox": style}
