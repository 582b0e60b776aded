"""What may be asked: each question is a call of the library whose public parameters are facts.

An analyst names columns and says p, k, ε; bounds, grids, categories, groups and nodes are those of
the curator's public facts.  A column that is not among them does not exist for an analyst, whatever
the file holds, so that no name of a column ever reaches a file or a database unchecked.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from typing import Any, cast

from dampen.core.sampling import Entropy
from dampen.epsilon import decimal_text, exact
from dampen.errors import ParameterError, did_you_mean
from dampen.releases.cost import Budget
from dampen.releases.release import Release
from dampen.schema import Names, Numbers, Schema
from dampen.service.cache import Memory
from dampen.service.configuration import Served

__all__ = ["Question", "question"]

Ask = Callable[..., Release]

DRAWN = frozenset({"epsilon", "rho", "mechanism", "k", "ordered"})
"""What changes only the draw, not the public cells that rows are counted in."""


DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "percentile": {"release": "value", "neighbours": "replace-one"},
    "most-frequent": {},
    "top-groups": {"smallest": False, "ordered": False, "neighbours": "add-remove-row"},
    "top-k": {"metric": "betweenness"},
    "tree": {},
}
"""What a question means that says nothing about it."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question about one data set, checked against its public facts.

    Attributes:
        served: the data set.
        kind: such as "percentile".
        options: what was asked for, without what was left out; ε and ρ as exact text.
        text: a few words for the ledger.
        ask: the release, of a memory of the data, a budget and entropy.
        candidates: how many answers are possible, in each group and to each percentile.
        cells: names the one histogram that it looks at, for a question that is answered from it in
            no time; empty for others.
        mark: the same for the same question about the same facts, and for no other.
    """

    served: Served
    kind: str
    options: Mapping[str, Any]
    text: str
    ask: Callable[[Memory, Budget | None, Entropy | None], Release]
    candidates: int
    cells: str = ""
    mark: str = field(init=False)

    def __post_init__(self) -> None:
        asked = [self.served.name, self.kind, dict(self.options), self.served.digest]
        mark = sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:32]
        object.__setattr__(self, "mark", mark)

    def shown(self) -> dict[str, Any]:
        """As JSON: what to send to ask it again."""
        return {"dataset": self.served.name, "kind": self.kind, "options": dict(self.options)}


def question(served: Served, kind: str, options: Mapping[str, Any]) -> Question:
    """The question that an analyst put together.

    Raises:
        ParameterError: if the data set does not answer it, or a column is not public.
    """
    if kind not in served.questions:
        known = served.questions
        raise ParameterError(
            f"Expected one of {', '.join(known)} of {served.name!r}, got {kind!r}."
            f"{did_you_mean(kind, known)}"
        )
    return _MAKERS[kind](served, _canonical(kind, options))


def _canonical(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The same for the same question, however it is spelled: it must not be paid for twice."""
    given = {
        key: _number_as_is(value) if key in ("p", "caution") else value
        for key, value in options.items()
        if value is not None and DEFAULTS[kind].get(key) != value
    }
    if kind == "top-groups" and given.get("statistic") == "median" and "p" not in given:
        del given["statistic"]
    for key in given.keys() & {"epsilon", "rho"}:
        given[key] = decimal_text(exact(given[key], key))
    return given


def _number_as_is(value: Any) -> Any:
    """50 for "50" and 50.0; a number that is not whole as exact text; other things as they are."""
    if isinstance(value, list):
        return [_number_as_is(each) for each in value]
    try:
        number = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        return value
    return int(number) if number.denominator == 1 else decimal_text(number)


def _percentile(served: Served, given: Mapping[str, Any]) -> Question:
    from dampen.questions.percentile.release import percentile

    facts = served.schema
    name = str(given["column"])
    column = _numbers(facts, name)
    options: dict[str, Any] = {"lower": column.lower, "upper": column.upper}
    by = _groups(facts, given)
    if given.get("release", "value") == "label":
        options["labels"] = _only_label(facts)
        candidates = facts.rows or 1
    else:
        options["step"] = _step(column, name)
        candidates = _grid(column)
    asked = {key: value for key, value in given.items() if key != "column"}
    cells = _cells("percentile", given, "p")

    def ask(memory: Memory, budget: Budget | None, entropy: Entropy | None) -> Release:
        data = memory.remembered(cells)
        return percentile(
            data, name, **{"release": "value", **asked, **options, **by},
            budget=budget, entropy=entropy,
        )  # fmt: skip

    shown = ",".join(map(str, given["p"])) if isinstance(given["p"], list) else given["p"]
    one = isinstance(given["p"], int) and "step" in options and not by
    several = f"k={given['k']} at " if "k" in given else ""
    text = f"{several}p={shown} of {name}"
    return Question(served, "percentile", given, text, ask, candidates, cells if one else "")


def _most_frequent(served: Served, given: Mapping[str, Any]) -> Question:
    from dampen.questions.frequency import most_frequent

    facts = served.schema
    name = str(given["column"])
    values = facts.fact("values", name)
    by = _groups(facts, given)
    asked = {key: value for key, value in given.items() if key != "column"}
    cells = _cells("most-frequent", given)

    def ask(memory: Memory, budget: Budget | None, entropy: Entropy | None) -> Release:
        data = memory.remembered(cells)
        return most_frequent(
            data, name, **{**asked, **by}, categories=values, budget=budget, entropy=entropy
        )

    text = f"k={given.get('k', 1)} of {name}"
    return Question(served, "most-frequent", given, text, ask, len(values), "" if by else cells)


def _top_groups(served: Served, given: Mapping[str, Any]) -> Question:
    from dampen.questions.groups import top_groups

    facts = served.schema
    name = str(given["value"])
    column = _numbers(facts, name)
    by = _groups(facts, given)
    bounds = {"lower": column.lower, "upper": column.upper, "step": _step(column, name)}
    asked = {key: value for key, value in given.items() if key != "value"}

    def ask(memory: Memory, budget: Budget | None, entropy: Entropy | None) -> Release:
        data = memory.remembered(_cells("top-groups", given))
        return top_groups(data, name, **{**asked, **by, **bounds}, budget=budget, entropy=entropy)

    statistic = given.get("statistic") or ("quantile" if "p" in given else "median")
    text = f"{statistic} of {name} by {given['by']}"
    return Question(served, "top-groups", given, text, ask, len(by["groups"]))


def _top_k(served: Served, given: Mapping[str, Any]) -> Question:
    from dampen.questions.nodes import top_k

    graph = served.schema.graph
    assert graph is not None
    nodes: dict[str, Any] = (
        {"n": graph.nodes} if isinstance(graph.nodes, int) else {"nodes": list(graph.nodes)}
    )

    def ask(memory: Memory, budget: Budget | None, entropy: Entropy | None) -> Release:
        data, table = memory.source.data()
        return top_k(
            data, source=graph.source, target=graph.target, table=table, **given,
            **nodes, budget=budget, entropy=entropy,
        )  # fmt: skip

    text = f"k={given.get('k', 1)} by {given.get('metric', 'betweenness')}"
    return Question(served, "top-k", given, text, ask, graph.size)


def _tree(served: Served, given: Mapping[str, Any]) -> Question:
    facts = served.schema
    target = str(given["target"])
    classes = facts.fact("classes", target)
    possible = [name for name in facts.fact("domains") if name != target]
    domains = {name: facts.column(name) for name in given.get("columns", possible)}
    if target in domains or not domains:
        raise ParameterError(f"Expected columns other than the target {target!r}, at least one.")

    def ask(memory: Memory, budget: Budget | None, entropy: Entropy | None) -> Release:
        from dampen.questions.classify import TreeClassifier

        tree = TreeClassifier(
            given.get("epsilon"), rho=given.get("rho"), max_depth=given.get("depth"),
            mechanism=given.get("mechanism", "pf"), domains=domains, classes=classes,
            max_rows=facts.rows, budget=budget, entropy=entropy,
        )  # fmt: skip
        release: Release = tree.fit_table(memory.opened(), target=target).release_
        return release

    splits = sum(getattr(facts.columns[n], "bins", 0) or 2 for n in domains)
    return Question(served, "tree", given, f"for {target}", ask, splits)


_MAKERS: Mapping[str, Callable[[Served, Mapping[str, Any]], Question]] = {
    "percentile": _percentile,
    "most-frequent": _most_frequent,
    "top-groups": _top_groups,
    "top-k": _top_k,
    "tree": _tree,
}


def _cells(kind: str, given: Mapping[str, Any], *drawn: str) -> str:
    """Names the public cells of a question: all that was asked, but for what changes the draw."""
    kept = {key: value for key, value in given.items() if key not in DRAWN.union(drawn)}
    return json.dumps([kind, kept], sort_keys=True)


def _groups(facts: Schema, given: Mapping[str, Any]) -> dict[str, Any]:
    if "by" not in given:
        return {}
    return {"by": given["by"], "groups": list(facts.fact("values", given["by"]))}


def _numbers(facts: Schema, name: str) -> Numbers:
    facts.fact("lower", name)
    return cast(Numbers, facts.column(name))


def _step(column: Numbers, name: str) -> float:
    if column.step is None:
        raise ParameterError(f"Expected a column with a public step, {name!r} has none.")
    return column.step


def _grid(column: Numbers) -> int:
    return int((column.upper - column.lower) / column.step) + 1 if column.step else 1


def _only_label(facts: Schema) -> str:
    labels = facts.of_kind(Names)
    if len(labels) != 1:
        raise ParameterError("Expected release 'value': the rows have no public names.")
    return labels[0]
