"""A released tree as text, as a picture, as JSON.  All of it is public."""

import json
import textwrap
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dampen.epsilon import decimal_text
from dampen.errors import ParameterError
from dampen.mechanisms import Mechanism
from dampen.trees.encoding import Bins, Categories, Domain
from dampen.trees.growing import Tree
from dampen.trees.plan import Plan, checked_mechanism

if TYPE_CHECKING:
    from dampen.trees.classifier import TreeClassifier

FORMAT = 1
MOST_DRAWN_LEAVES = 200


def report(classifier: "TreeClassifier") -> str:
    """A heading, the budget, the tree."""
    plan = classifier.plan_
    heading = [
        f"Private decision tree: epsilon {decimal_text(plan.epsilon)} for adding or removing one "
        f"row, at most {plan.max_rows} rows",
        f"mechanism {_name(plan.mechanism)}, criterion {plan.criterion}, {plan.branching} splits, "
        f"depth {plan.depth}",
    ]
    if not classifier.secure_:
        heading.append("NOT SECURE: seeded randomness")
    return "\n".join([*heading, "", *_budget_lines(plan), "", *_tree_lines(classifier)])


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
    x = _positions(tree)
    for node in range(len(tree.attribute)):
        ax.text(x[node], -tree.level[node], _node_text(classifier, node), **_box(tree, node))
        for child, condition in _children(classifier, node):
            ends = [x[node], x[child]], [-tree.level[node] - 0.12, -tree.level[child] + 0.12]
            ax.plot(*ends, color="0.6", linewidth=1, zorder=0)
            # Near the child, where branches are far enough apart for words.
            at = 0.3 * ends[0][0] + 0.7 * ends[0][1], 0.3 * ends[1][0] + 0.7 * ends[1][1]
            ax.text(*at, textwrap.shorten(condition, 18, placeholder="…"), **_LABEL)
    ax.set_xlim(-0.7, leaves - 0.3)
    ax.set_ylim(-int(tree.level.max()) - 0.5, 0.5)
    ax.set_axis_off()
    return ax


def to_json(classifier: "TreeClassifier") -> str:
    """All that prediction and the report need, with exact shares of ε."""
    tree, plan = classifier.tree_, classifier.plan_
    names = getattr(classifier, "feature_names_in_", None)
    content = {
        "format": FORMAT,
        "plan": {
            **{k: getattr(plan, k) for k in _PLAIN_FIELDS},
            "epsilon": str(plan.epsilon),
            "shares": [str(s) for s in plan.shares],
            "mechanism": _name(plan.mechanism),
        },
        "secure": classifier.secure_,
        "classes": classifier.classes_.tolist(),
        "features": None if names is None else [str(n) for n in names],
        "domains": [_domain_to_json(d) for d in classifier.domains_],
        "tree": {k: getattr(tree, k).tolist() for k in _TREE_ARRAYS},
        "counts": None if tree.counts is None else tree.counts.tolist(),
    }
    return json.dumps(content, ensure_ascii=False)


def restore(classifier: "TreeClassifier", text: str) -> None:
    """Fills an unfitted classifier from JSON."""
    try:
        content = json.loads(text)
        version = content["format"]
    except (ValueError, TypeError, KeyError):
        raise ParameterError("Expected the JSON of a tree, as to_json() writes it.") from None
    if version != FORMAT:
        raise ParameterError(f"Expected a tree of format {FORMAT}, got format {version!r}.")
    plan = _plan_from_json(content["plan"])
    classifier.set_params(**_parameters_of(plan), mechanism=_name(plan.mechanism))
    classifier.plan_, classifier.secure_ = plan, content["secure"]
    classifier.classes_ = np.asarray(content["classes"])
    classifier.domains_ = [_domain_from_json(d) for d in content["domains"]]
    classifier.n_features_in_ = len(classifier.domains_)
    if content["features"] is not None:
        classifier.feature_names_in_ = np.asarray(content["features"], dtype=object)
    arrays = {k: np.array(v, dtype=np.int64) for k, v in content["tree"].items()}
    counts = content["counts"]
    classifier.tree_ = Tree(
        **arrays, counts=None if counts is None else np.array(counts, dtype=np.int64)
    )


_LABEL: dict[str, Any] = {
    "ha": "center",
    "va": "center",
    "fontsize": 7,
    "bbox": {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"},
}
_PLAIN_FIELDS = (
    "max_rows", "depth", "criterion", "branching", "stopping", "leaves", "one_sided",
)  # fmt: skip
_TREE_ARRAYS = ("attribute", "route_start", "routes", "label", "level")


def _plan_from_json(fields: dict[str, Any]) -> Plan:
    return Plan(
        **{k: fields[k] for k in _PLAIN_FIELDS},
        epsilon=Fraction(fields["epsilon"]),
        shares=tuple(Fraction(s) for s in fields["shares"]),
        mechanism=checked_mechanism(fields["mechanism"]),
    )


def _parameters_of(plan: Plan) -> dict[str, Any]:
    """The constructor's parameters that would make the same plan."""
    same = ("max_rows", "criterion", "branching", "stopping", "leaves", "one_sided", "shares")
    return {"epsilon": plan.epsilon, "max_depth": plan.depth} | {k: getattr(plan, k) for k in same}


def _domain_to_json(domain: Domain) -> dict[str, Any]:
    if isinstance(domain, Bins):
        return {"edges": list(domain.edges)}
    return {"values": list(domain.values), "ordered": domain.ordered}


def _domain_from_json(fields: dict[str, Any]) -> Domain:
    if "edges" in fields:
        return Bins(fields["edges"])
    return Categories(tuple(fields["values"]), ordered=fields["ordered"])


def _name(mechanism: Mechanism | str) -> str:
    return mechanism if isinstance(mechanism, str) else mechanism.name


def _budget_lines(plan: Plan) -> Iterator[str]:
    yield "budget, per level (a row is in one node of each)"
    for charge in plan.charges():
        share = decimal_text(charge.epsilon / plan.epsilon)
        spent = f"{decimal_text(charge.epsilon):>8}  ({share} of epsilon)"
        yield f"  level {charge.level:>2}  {charge.purpose:<5}  {spent}"
    total = sum((charge.epsilon for charge in plan.charges()), Fraction(0))
    yield f"  total            {decimal_text(total):>8}"


def _tree_lines(classifier: "TreeClassifier") -> Iterator[str]:
    """Depth first; one line per branch."""
    if classifier.tree_.attribute[0] < 0:
        yield f"always -> {_node_text(classifier, 0)}"
        return
    stack = [(child, text, 0) for child, text in reversed(list(_children(classifier, 0)))]
    parent_name = {0: _node_text(classifier, 0)}
    names = {child: parent_name[0] for child, _, _ in stack}
    while stack:
        node, condition, depth = stack.pop()
        leaf = classifier.tree_.attribute[node] < 0
        ending = f" -> {_node_text(classifier, node)}" if leaf else ""
        yield f"{'|   ' * depth}{names[node]}: {condition}{ending}"
        for child, text in reversed(list(_children(classifier, node))):
            names[child] = _node_text(classifier, node)
            stack.append((child, text, depth + 1))


def _children(classifier: "TreeClassifier", node: int) -> Iterator[tuple[int, str]]:
    """The children of a node, each with the values that lead to it."""
    tree = classifier.tree_
    a = int(tree.attribute[node])
    if a < 0:
        return
    domain = classifier.domains_[a]
    begin = int(tree.route_start[node])
    route = tree.routes[begin : begin + len(domain)]
    for child in np.unique(route):
        yield int(child), domain.describe(np.flatnonzero(route == child).tolist())


def _node_text(classifier: "TreeClassifier", node: int) -> str:
    a = int(classifier.tree_.attribute[node])
    if a < 0:
        return str(classifier.classes_[classifier.tree_.label[node]])
    names = getattr(classifier, "feature_names_in_", None)
    return f"x{a}" if names is None else str(names[a])


def _positions(tree: Tree) -> list[float]:
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
