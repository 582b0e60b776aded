"""A released tree as JSON, and back.  All of it is public; what comes back is not trusted.

A file may be damaged or hostile, so its structure is checked before anything is built from it:
children come after their parents (no cycles), every number lies in its range, sizes are bounded.
"""

from typing import TYPE_CHECKING, Any, Literal

from dampen.core.mechanisms import Mechanism
from dampen.core.selection import Neighbours
from dampen.epsilon import exact
from dampen.errors import ParameterError
from dampen.questions.classify import model_json
from dampen.questions.classify.encoding import Domain
from dampen.questions.classify.grow_levels import Tree
from dampen.questions.classify.model_json import (
    as_text,
    checked_integers,
    checked_text,
    common_content,
    fill_common,
)
from dampen.questions.classify.plan import (
    Branching,
    Leaves,
    Plan,
    check_size,
    checked_choice,
    checked_criterion,
    checked_mechanism,
    checked_shares,
    checked_stages,
    is_staged,
)
from dampen.questions.classify.splits import check_max_rows
from dampen.releases.release import Release

if TYPE_CHECKING:
    from dampen.questions.classify.tree import TreeClassifier

__all__ = ["content", "restore", "to_json"]

FORMAT = 5

_PLAIN_FIELDS = (
    "max_rows", "stages", "criterion", "branching", "stopping", "leaves", "one_sided", "candidates",
    "classes", "widths",
)  # fmt: skip
_TREE_ARRAYS = ("attribute", "route_start", "routes", "label", "level")


def to_json(classifier: "TreeClassifier") -> str:
    """All that prediction and the report need, with the facts that an auditor needs."""
    return as_text(content(classifier), classifier.release_)


def content(classifier: "TreeClassifier") -> dict[str, Any]:
    """The tree in plain Python, with exact shares of ε."""
    tree = classifier.tree_
    plan = classifier.plan_
    return {
        "format": FORMAT,
        "plan": {
            **{k: getattr(plan, k) for k in _PLAIN_FIELDS},
            "epsilon": str(plan.epsilon),
            "shares": [str(s) for s in plan.shares],
            "mechanism": mechanism_name(plan),
        },
        **common_content(classifier),
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
    model_json.restore(text, "a tree", lambda read: _fill(classifier, read))


def _fill(classifier: "TreeClassifier", read: Any) -> None:
    if read["format"] != FORMAT:
        raise ParameterError(f"Expected a tree of format {FORMAT}, got another format.")
    fill_common(classifier, read)
    domains = classifier.domains_
    plan = _plan_from_json(read["plan"], [len(d) for d in domains])
    classes = len(classifier.classes_)
    classifier.tree_ = _tree_from_json(read["tree"], read["counts"], domains, classes, plan)
    classifier.plan_ = plan
    classifier.set_params(**_parameters_of(plan), mechanism=mechanism_name(plan))
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
    mechanism = checked_mechanism(fields["mechanism"])
    check_max_rows(fields["max_rows"])
    stopping = fields["stopping"]
    one_sided = fields["one_sided"]
    if not (isinstance(stopping, bool) and isinstance(one_sided, bool)):
        raise ValueError
    branching = checked_choice("branching", fields["branching"], Branching)
    stages = _stages(fields["stages"], mechanism, branching)
    widths = _widths(fields["widths"])
    check_size(sizes, sum(stages), branching, stopping=stopping)
    if len(widths) not in {0, stages[-1] - 1 if is_staged(stages) else 0}:
        raise ValueError
    return Plan(
        epsilon=exact(checked_text(fields["epsilon"])),
        max_rows=fields["max_rows"],
        stages=stages,
        shares=checked_shares(
            [checked_text(s) for s in fields["shares"]], stages, stopping=stopping
        ),
        mechanism=mechanism,
        criterion=checked_criterion(checked_text(fields["criterion"]), mechanism),
        branching=branching,
        stopping=stopping,
        leaves=checked_choice("leaves", fields["leaves"], Leaves),
        one_sided=one_sided,
        candidates=_count(fields["candidates"]),
        classes=_count(fields["classes"]),
        widths=widths,
    )


def _stages(
    given: Any, mechanism: Mechanism | Literal["sulq"], branching: Branching
) -> tuple[int, ...]:
    """The levels of each stage; none for a tree without splits."""
    if not isinstance(given, list):
        raise ValueError
    if given:
        checked_stages(given, mechanism, branching)
    return tuple(given)


def _widths(given: Any) -> tuple[int, ...]:
    if not isinstance(given, list):
        raise ValueError
    return tuple(_count(width) for width in given)


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError
    return value


def _tree_from_json(
    fields: Any, counts: Any, domains: list[Domain], classes: int, plan: Plan
) -> Tree:
    arrays = {name: checked_integers(fields[name]) for name in _TREE_ARRAYS}
    noisy = None if counts is None else checked_integers(counts, dimensions=2)
    tree = Tree(**arrays, counts=noisy)
    _check_nodes(tree, classes, plan)
    _check_routes(tree, [len(domain) for domain in domains])
    return tree


def _check_nodes(tree: Tree, classes: int, plan: Plan) -> None:
    nodes = len(tree.attribute)
    leaf = tree.attribute < 0
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
        raise ValueError


def _check_routes(tree: Tree, sizes: list[int]) -> None:
    """Every code of a split leads to a later node, one level below; routes are dense."""
    begin = 0
    for node, attribute in enumerate(tree.attribute.tolist()):
        size = sizes[attribute] if 0 <= attribute < len(sizes) else 0
        route = tree.routes[begin : begin + size]
        inside = len(route) == size and bool(((route > node) & (route < len(tree.level))).all())
        if attribute >= len(sizes) or tree.route_start[node] != begin or not inside:
            raise ValueError
        if (tree.level[route] != tree.level[node] + 1).any():
            raise ValueError
        begin += size
    if begin != len(tree.routes):
        raise ValueError


def _parameters_of(plan: Plan) -> dict[str, Any]:
    """The constructor's parameters that would make the same plan."""
    same = ("max_rows", "criterion", "branching", "stopping", "leaves", "one_sided", "shares")
    depth = {"stages": plan.stages} if plan.staged else {"max_depth": plan.depth}
    return {"epsilon": plan.epsilon} | depth | {k: getattr(plan, k) for k in same}
