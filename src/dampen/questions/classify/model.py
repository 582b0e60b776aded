"""What is released of a classifier, in plain Python that JSON can hold, and the model made of it.

All of it is public; what comes back is not trusted.  A file may be damaged or hostile, so its size
and its structure are checked before anything is built from it: children come after their parents
(no cycles), every number lies in its range, sizes are bounded.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import FloatArray, IntArray
from dampen.epsilon import exact
from dampen.errors import ParameterError, raise_alone
from dampen.questions.classify.encoding import (
    Bins,
    Categories,
    Domain,
    checked_classes,
    class_array,
    first_codes,
)
from dampen.questions.classify.noisy_tables import NoisyTables, noise_scale
from dampen.questions.classify.plan import PURPOSES, Spending, TreeFacts, checked_depth
from dampen.questions.classify.released_tree import Tree, chances
from dampen.questions.classify.splits import check_max_rows
from dampen.releases.release import Release

__all__ = [
    "BayesModel",
    "Columns",
    "Model",
    "TreeModel",
    "bayes_content",
    "model_of",
    "read_release",
    "tree_content",
]

TREE = "tree 6"
BAYES = "naive-bayes 2"
MOST_CHARACTERS = 1 << 28
MOST_LINES = 64
_TREE_ARRAYS = ("attribute", "route_start", "routes", "label", "level")


@dataclass(frozen=True, eq=False)
class Columns:
    """The public columns of a model.

    Attributes:
        classes: what is predicted.
        features: the names of the columns, None where they have none.
        domains: of every column.
    """

    classes: NDArray[Any]
    features: tuple[str, ...] | None
    domains: tuple[Domain, ...]

    @property
    def by_name(self) -> dict[str, Domain]:
        """The domains by the names of their columns, x0, x1, ... where they have none."""
        names = self.features or [f"x{i}" for i in range(len(self.domains))]
        return dict(zip(names, self.domains, strict=True))


@dataclass(frozen=True, eq=False)
class TreeModel:
    """A released tree that predicts."""

    columns: Columns
    facts: TreeFacts
    tree: Tree

    def predicted(self, codes: Any) -> IntArray:
        """The class of every row, by its place."""
        found: IntArray = self.tree.label[self.tree.apply(codes)]
        return found

    def chances(self, codes: Any) -> FloatArray:
        """P(class | row) from noisy counts where they are bought; else zeros and a one."""
        leaf = self.tree.apply(codes)
        if self.tree.counts is None:
            return np.eye(len(self.columns.classes))[self.tree.label[leaf]]
        return chances(self.tree.counts[leaf], float(self.facts.charges[-1].epsilon))


@dataclass(frozen=True, eq=False)
class BayesModel:
    """A released naive Bayes that predicts."""

    columns: Columns
    epsilon: Fraction
    tables: NoisyTables

    def predicted(self, codes: Any) -> IntArray:
        """The likeliest class of every row, by its place."""
        found: IntArray = self.tables.log_scores(codes).argmax(axis=1)
        return found

    def chances(self, codes: Any) -> FloatArray:
        """P(class | row), tempered: (n_c Π_a P(v_a | c)) to the power 1/√m, for m attributes."""
        scores = self.tables.log_scores(codes) / np.sqrt(codes.shape[1])
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


Model: TypeAlias = TreeModel | BayesModel


def tree_content(
    domains: Mapping[str, Domain],
    classes: Sequence[Hashable],
    facts: TreeFacts,
    tree: Tree,
    *,
    named: bool,
) -> dict[str, Any]:
    """A tree in plain Python, with exact parts of ε."""
    return {
        "format": TREE,
        **_columns_content(domains, classes, named=named),
        "plan": {
            "epsilon": str(facts.epsilon),
            "max_rows": facts.max_rows,
            "depth": facts.depth,
            "mechanism": facts.mechanism,
            "charges": [[line.level, line.purpose, str(line.epsilon)] for line in facts.charges],
        },
        "tree": {name: getattr(tree, name).tolist() for name in _TREE_ARRAYS},
        "counts": None if tree.counts is None else tree.counts.tolist(),
    }


def bayes_content(
    domains: Mapping[str, Domain],
    classes: Sequence[Hashable],
    epsilon: Fraction,
    tables: NoisyTables,
    *,
    named: bool,
) -> dict[str, Any]:
    """A naive Bayes in plain Python, with its exact ε."""
    return {
        "format": BAYES,
        **_columns_content(domains, classes, named=named),
        "epsilon": str(epsilon),
        "counts": tables.counts.tolist(),
    }


def read_release(text: str) -> Release:
    """The release of a model, from its JSON.

    Raises:
        ParameterError: if it is something else.
    """
    if len(text) > MOST_CHARACTERS:
        raise ParameterError(f"Expected a model of at most {MOST_CHARACTERS:,} characters.")
    return Release.from_json(text)


def model_of(content: Any) -> Model:
    """The model that was released, from `Release.answer`.

    Raises:
        ParameterError: if it is not what a release of a model could hold.
    """
    try:
        if content["format"] == TREE:
            return _tree_model(content)
        if content["format"] == BAYES:
            return _bayes_model(content)
    except ParameterError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError):
        raise_alone(ParameterError("Expected a whole tree or naive Bayes; something is damaged."))
    raise ParameterError(
        f"Expected a model of the format {TREE!r} or {BAYES!r}, got another format."
    )


def _tree_model(content: Any) -> TreeModel:
    columns = _columns_of(content)
    facts = _facts_of(content["plan"])
    arrays = {name: _integers(content["tree"][name]) for name in _TREE_ARRAYS}
    counts = content["counts"]
    noisy = None if counts is None else _integers(counts, dimensions=2)
    tree = Tree(**arrays, counts=noisy)
    _check_nodes(tree, len(columns.classes), facts.depth)
    _check_routes(tree, [len(domain) for domain in columns.domains])
    return TreeModel(columns, facts, tree)


def _bayes_model(content: Any) -> BayesModel:
    columns = _columns_of(content)
    epsilon = exact(_text(content["epsilon"]))
    first = first_codes(columns.domains)
    counts = _integers(content["counts"], dimensions=2)
    if counts.shape != (first[-1], len(columns.classes)):
        raise ValueError
    return BayesModel(
        columns, epsilon, NoisyTables(first, counts, noise_scale(len(first) - 1, epsilon))
    )


def _facts_of(plan: Any) -> TreeFacts:
    check_max_rows(plan["max_rows"])
    checked_depth(plan["depth"])
    epsilon = exact(_text(plan["epsilon"]))
    if len(plan["charges"]) > MOST_LINES:
        raise ValueError
    charges = tuple(_spending(*line) for line in plan["charges"])
    if sum((line.epsilon for line in charges), Fraction(0)) != epsilon:
        raise ValueError
    depth = 0 if plan["depth"] is None else int(plan["depth"])
    return TreeFacts(epsilon, int(plan["max_rows"]), depth, _text(plan["mechanism"]), charges)


def _spending(level: Any, purpose: Any, epsilon: Any) -> Spending:
    if purpose not in PURPOSES:
        raise ValueError
    checked_depth(level)
    return Spending(int(level), purpose, exact(_text(epsilon)))


def _columns_content(
    domains: Mapping[str, Domain], classes: Sequence[Hashable], *, named: bool
) -> dict[str, Any]:
    return {
        "classes": class_array(classes).tolist(),
        "features": list(domains) if named else None,
        "domains": [_domain_content(domain) for domain in domains.values()],
    }


def _columns_of(content: Any) -> Columns:
    classes = checked_classes(content["classes"])
    domains = tuple(_domain_of(domain) for domain in content["domains"])
    names = content["features"]
    if not domains:
        raise ValueError
    if names is not None and [len(names), *{type(name) for name in names}] != [len(domains), str]:
        raise ValueError
    features = None if names is None else tuple(names)
    return Columns(class_array(classes.values), features, domains)


def _domain_content(domain: Domain) -> dict[str, Any]:
    if isinstance(domain, Bins):
        return {"edges": list(domain.edges), "missing": domain.missing}
    return {"values": list(domain.values), "ordered": domain.ordered}


def _domain_of(content: Any) -> Domain:
    if "edges" in content:
        return Bins(content["edges"], content["missing"])
    if not isinstance(content["values"], list) or not isinstance(content["ordered"], bool):
        raise ValueError
    return Categories(tuple(content["values"]), ordered=content["ordered"])


def _integers(values: Any, dimensions: int = 1) -> IntArray:
    """An array of integers of so many dimensions, or a `ValueError`."""
    array = np.array(values)
    if array.size == 0 and dimensions == 1:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind != "i" or array.ndim != dimensions:
        raise ValueError
    return array.astype(np.int64)


def _text(value: Any) -> str:
    """Text of a bearable length, or a `ValueError`."""
    if not isinstance(value, str) or len(value) > 1000:
        raise ValueError
    return value


def _check_nodes(tree: Tree, classes: int, depth: int) -> None:
    nodes = len(tree.attribute)
    leaf = tree.attribute < 0
    sizes = {nodes, len(tree.route_start), len(tree.label), len(tree.level)}
    label = tree.label[leaf] if nodes else tree.label
    fits = (
        nodes > 0
        and sizes == {nodes}
        and bool(((label >= 0) & (label < classes)).all())
        and bool(((tree.level >= 0) & (tree.level <= depth)).all())
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
