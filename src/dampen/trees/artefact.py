"""A released tree as JSON, and back.  All of it is public; what comes back is not trusted.

A file may be damaged or hostile, so its structure is checked before anything is built from it:
children come after their parents (no cycles), every number lies in its range, sizes are bounded.
"""

import json
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dampen.epsilon import exact
from dampen.errors import ParameterError
from dampen.mechanisms import Mechanism
from dampen.releases import Release
from dampen.selection import IntArray, Neighbours
from dampen.trees.encoding import Bins, Categories, Domain, checked_classes, class_array
from dampen.trees.growing import Tree
from dampen.trees.plan import (
    Branching,
    Leaves,
    Plan,
    check_size,
    checked_choice,
    checked_criterion,
    checked_depth,
    checked_mechanism,
    checked_shares,
)
from dampen.trees.splits import check_max_rows

if TYPE_CHECKING:
    from dampen.trees.classifier import TreeClassifier

__all__ = ["content", "restore", "to_json"]

FORMAT = 2
MOST_CHARACTERS = 1 << 28

_PLAIN_FIELDS = (
    "max_rows", "depth", "criterion", "branching", "stopping", "leaves", "one_sided",
)  # fmt: skip
_TREE_ARRAYS = ("attribute", "route_start", "routes", "label", "level")


def to_json(classifier: "TreeClassifier") -> str:
    """All that prediction and the report need, with the facts that an auditor needs."""
    release = classifier.release_
    facts = {"leaks": list(release.leaks), "charge": release.charge, "version": release.version}
    return json.dumps(content(classifier) | facts, ensure_ascii=False)


def content(classifier: "TreeClassifier") -> dict[str, Any]:
    """The tree in plain Python, with exact shares of ε."""
    tree, plan = classifier.tree_, classifier.plan_
    names = getattr(classifier, "feature_names_in_", None)
    return {
        "format": FORMAT,
        "plan": {
            **{k: getattr(plan, k) for k in _PLAIN_FIELDS},
            "epsilon": str(plan.epsilon),
            "shares": [str(s) for s in plan.shares],
            "mechanism": mechanism_name(plan),
        },
        "secure": classifier.secure_,
        "classes": classifier.classes_.tolist(),
        "features": None if names is None else [str(n) for n in names],
        "domains": [_domain_to_json(d) for d in classifier.domains_],
        "tree": {k: getattr(tree, k).tolist() for k in _TREE_ARRAYS},
        "counts": None if tree.counts is None else tree.counts.tolist(),
    }


def mechanism_name(plan: Plan) -> str:
    """The name by which the mechanism of a plan is known."""
    return plan.mechanism.name if isinstance(plan.mechanism, Mechanism) else plan.mechanism


def restore(classifier: "TreeClassifier", text: str) -> None:
    """Fills an unfitted classifier from JSON.

    Raises:
        ParameterError: if the text is not a tree that `to_json` could have written.
    """
    try:
        if len(text) > MOST_CHARACTERS:
            _refuse()
        _fill(classifier, json.loads(text))
    except ParameterError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError):
        _refuse()


def _refuse() -> NoReturn:
    raise ParameterError("Expected the JSON of a tree, as to_json() writes it.") from None


def _fill(classifier: "TreeClassifier", read: Any) -> None:
    if "answer" in read:  # a release as a whole, as a ledger keeps it
        read = read["answer"] | {name: read[name] for name in ("leaks", "charge", "version")}
    if read["format"] != FORMAT:
        raise ParameterError(f"Expected a tree of format {FORMAT}, got another format.")
    classes = checked_classes(read["classes"])
    domains = [_domain_from_json(d) for d in read["domains"]]
    plan = _plan_from_json(read["plan"], [len(d) for d in domains])
    tree = _tree_from_json(read["tree"], read["counts"], domains, len(classes), plan)
    names = read["features"]
    if names is not None and [len(names), *{type(n) for n in names}] != [len(domains), str]:
        _refuse()
    classifier.set_params(**_parameters_of(plan), mechanism=mechanism_name(plan))
    classifier.plan_, classifier.tree_, classifier.domains_ = plan, tree, domains
    classifier.classes_ = class_array(classes.values)
    classifier.n_features_in_ = len(domains)
    if names is not None:
        classifier.feature_names_in_ = np.asarray(names, dtype=object)
    classifier.secure_ = bool(read["secure"])
    classifier.release_ = Release(
        content(classifier),
        plan.epsilon,
        mechanism_name(plan),
        Neighbours.ADD_REMOVE_ROW,
        {"depth": plan.depth},
        classifier.secure_,
        tuple(map(str, read["leaks"])),
        None if read["charge"] is None else str(read["charge"]),
        str(read["version"]),
    )


def _plan_from_json(fields: Any, sizes: list[int]) -> Plan:
    mechanism, depth = checked_mechanism(fields["mechanism"]), fields["depth"]
    checked_depth(depth)
    check_max_rows(fields["max_rows"])
    stopping, one_sided = fields["stopping"], fields["one_sided"]
    if not (isinstance(stopping, bool) and isinstance(one_sided, bool)):
        _refuse()
    branching = checked_choice("branching", fields["branching"], Branching)
    check_size(sizes, depth, branching, stopping=stopping)
    return Plan(
        epsilon=exact(_text(fields["epsilon"])),
        max_rows=fields["max_rows"],
        depth=depth,
        shares=checked_shares([_text(s) for s in fields["shares"]], depth, stopping=stopping),
        mechanism=mechanism,
        criterion=checked_criterion(_text(fields["criterion"]), mechanism),
        branching=branching,
        stopping=stopping,
        leaves=checked_choice("leaves", fields["leaves"], Leaves),
        one_sided=one_sided,
    )


def _tree_from_json(
    fields: Any, counts: Any, domains: list[Domain], classes: int, plan: Plan
) -> Tree:
    arrays = {name: _integers(fields[name]) for name in _TREE_ARRAYS}
    noisy = None if counts is None else _integers(counts, dimensions=2)
    tree = Tree(**arrays, counts=noisy)
    _check_nodes(tree, classes, plan)
    _check_routes(tree, [len(domain) for domain in domains])
    return tree


def _check_nodes(tree: Tree, classes: int, plan: Plan) -> None:
    nodes, leaf = len(tree.attribute), tree.attribute < 0
    sizes = {nodes, len(tree.route_start), len(tree.label), len(tree.level)}
    label = tree.label[leaf] if nodes else tree.label
    fits = (
        nodes > 0
        and sizes == {nodes}
        and bool(((label >= 0) & (label < classes)).all())
        and bool(((tree.level >= 0) & (tree.level <= plan.depth)).all())
        and (tree.counts is None or tree.counts.shape == (nodes, classes))
    )
    if not fits:
        _refuse()


def _check_routes(tree: Tree, sizes: list[int]) -> None:
    """Every code of a split leads to a later node, one level below; routes are dense."""
    begin = 0
    for node, attribute in enumerate(tree.attribute.tolist()):
        size = sizes[attribute] if 0 <= attribute < len(sizes) else 0
        route = tree.routes[begin : begin + size]
        inside = len(route) == size and bool(((route > node) & (route < len(tree.level))).all())
        if attribute >= len(sizes) or tree.route_start[node] != begin or not inside:
            _refuse()
        if (tree.level[route] != tree.level[node] + 1).any():
            _refuse()
        begin += size
    if begin != len(tree.routes):
        _refuse()


def _integers(values: Any, dimensions: int = 1) -> IntArray:
    array = np.array(values)
    if array.size == 0 and dimensions == 1:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind != "i" or array.ndim != dimensions:
        _refuse()
    return array.astype(np.int64)


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 1000:
        _refuse()
    return value


def _parameters_of(plan: Plan) -> dict[str, Any]:
    """The constructor's parameters that would make the same plan."""
    same = ("max_rows", "criterion", "branching", "stopping", "leaves", "one_sided", "shares")
    return {"epsilon": plan.epsilon, "max_depth": plan.depth} | {k: getattr(plan, k) for k in same}


def _domain_to_json(domain: Domain) -> dict[str, Any]:
    if isinstance(domain, Bins):
        return {"edges": list(domain.edges), "missing": domain.missing}
    return {"values": list(domain.values), "ordered": domain.ordered}


def _domain_from_json(fields: Any) -> Domain:
    if "edges" in fields:
        return Bins(fields["edges"], fields["missing"])
    if not isinstance(fields["values"], list) or not isinstance(fields["ordered"], bool):
        _refuse()
    return Categories(tuple(fields["values"]), ordered=fields["ordered"])
