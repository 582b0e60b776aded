"""Every function that releases, each as one entry: how to ask it, and what a question costs.

The contract of releases (`tests/contracts`) runs over all of them; a new one is one more entry.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

import dampen
from dampen import InsecureEntropy, Release
from dampen.frequency.problem import MostFrequent
from dampen.releases import Cost
from leaks import NUMBER, WORD

EPSILON = Fraction(3, 5)
PURE = EPSILON**2 / 2

Hook = Callable[[], Any]


class Armed(list[Any]):
    """A column with a length, which calls its hook whenever it is looked into."""

    def __init__(self, values: Any, hook: Hook) -> None:
        super().__init__(values)
        self.hook = hook

    def __getitem__(self, key: Any) -> Any:
        self.hook()
        return super().__getitem__(key)

    def __iter__(self) -> Any:
        self.hook()
        return super().__iter__()

    def __array__(self, *arguments: Any, **options: Any) -> Any:
        self.hook()
        return np.array(list(super().__iter__()), *arguments)


@dataclass(frozen=True)
class Ask:
    """One function that releases.

    Attributes:
        name: of the question.
        run: asks it, of data and with keyword arguments; a `Release` comes back.
        data: legal data.
        armed: the same data, which calls a hook when it is looked at.
        given: the public parameters.
        cost: what it has to charge, at ε = 0.6.
        wrong: changes of parameters that must be refused before anything else happens.
        bad: data that is not as the parameters promise; secrets are planted in it.
        leaky: a change that leaves public parameters out, and the names of those.
    """

    name: str
    run: Callable[..., Release]
    data: Any
    armed: Callable[[Hook], Any]
    given: Mapping[str, Any]
    cost: Cost
    wrong: tuple[Mapping[str, Any], ...]
    bad: tuple[Any, ...]
    leaky: Mapping[str, Any] = field(default_factory=dict)
    leaks: tuple[str, ...] = ()

    def __call__(self, data: Any = None, **changes: Any) -> Release:
        options = {"epsilon": EPSILON, **self.given, **changes}
        return self.run(self.data if data is None else data, **options)


ALWAYS_WRONG: tuple[Mapping[str, Any], ...] = (
    {"epsilon": 0},
    {"epsilon": None},
    {"epsilon": "1e999999999"},
    {"epsilon": float("nan")},
    {"epsilon": "1/" + "9" * 61},
    {"entropy": InsecureEntropy(1)},
    {"entropy": 42},
    {"budget": "payroll"},
)


def _cost(query: str, mechanism: str, neighbours: str, rho: Fraction = PURE) -> Cost:
    return Cost(EPSILON, rho, query, mechanism, dampen.Neighbours(neighbours))


def _of_loader(data: Any, **options: Any) -> Release:
    """The generic `release`, of a problem of one's own."""
    load = data if callable(data) else lambda: data
    options = {"mechanism": "pf", "query": "mine", **options}
    return dampen.release(MostFrequent(("a", "b")), load, **options)


def _fitted(data: Any, **options: Any) -> Release:
    tree = dampen.TreeClassifier(**options).fit(*data)
    return tree.release_


def _fitted_table(data: Any, **options: Any) -> Release:
    return dampen.TreeClassifier(**options).fit_table(data, target="c").release_


def _bayes(data: Any, **options: Any) -> Release:
    return dampen.NaiveBayesClassifier(**options).fit(*data).release_


def _bayes_table(data: Any, **options: Any) -> Release:
    return dampen.NaiveBayesClassifier(**options).fit_table(data, target="c").release_


def _chosen(data: Any, **options: Any) -> Release:
    return dampen.Classifier(**options).fit(*data).release_


def _chosen_table(data: Any, **options: Any) -> Release:
    return dampen.Classifier(**options).fit_table(data, target="c").release_


def _several(changes: Mapping[str, list[Any]]) -> tuple[Mapping[str, Any], ...]:
    return tuple({name: value} for name, values in changes.items() for value in values)


LETTERS = ["a", "a", "b"]
NUMBERS = [1.0, 2.0, 3.0]
EDGES = ([0, 0, 1], [1, 2, 2])
TABLE = {"x": ["p", "q", "p"], "z": [1.0, 5.0, 9.0], "c": ["no", "yes", "no"]}
GROUPED = {"v": [1.0, 2.0, 9.0], "g": ["a", "a", "b"]}
PUBLIC_TREE = {
    "domains": {"x": ["p", "q"], "z": dampen.bins(0, 10, 5)},
    "classes": ["no", "yes"],
    "max_rows": 9,
    "max_depth": 1,
}
WRONG_MODEL = _several(
    {
        "classes": [["no"], ["no", "no"], "no", 5, [["no"], ["yes"]]],
        "domains": [{"x": ["p"], "nope": 3}, {"x": 1.5, "z": 3}, 5, {"x": "pq"}],
    }
)
PUBLIC_CHOICE = {name: PUBLIC_TREE[name] for name in ("domains", "classes", "max_rows")}
PUBLIC_BAYES = {name: PUBLIC_TREE[name] for name in ("domains", "classes")}
WRONG_TREE = WRONG_MODEL + _several(
    {
        "mechanism": ["no such", "joint", None],
        "max_depth": [-1, 99, 1.5],
        "criterion": ["entropy", 7],
        "branching": ["ternary"],
        "leaves": ["none"],
        "shares": [["0.5", "0.4"], 3, "11"],
        "max_rows": [0, "9"],
    }
)


def _armed_table(table: Mapping[str, Any], hook: Hook) -> Any:
    return {name: Armed(column, hook) for name, column in table.items()}


def _split(table: Mapping[str, Any]) -> Any:
    return {name: table[name] for name in ("x", "z")}, table["c"]


BAD_TABLES = (
    {**TABLE, "x": ["p", "q", WORD]},
    {**TABLE, "x": ["p", "q", None]},
    {**TABLE, "z": [1.0, 5.0, WORD]},
    {**TABLE, "z": [1.0, float("nan"), NUMBER]},
    {**TABLE, "c": ["no", "yes", WORD]},
    {**TABLE, "c": ["no", None, NUMBER]},
    {name: column * 4 for name, column in TABLE.items()},
)

ASKS = [
    Ask(
        "release",
        _of_loader,
        LETTERS,
        lambda hook: lambda: hook() or LETTERS,
        {},
        _cost("mine", "pf", "add-remove-row"),
        _several({"k": [0, 3, 1.5], "mechanism": ["no such"]}),
        (["a", WORD], [NUMBER], [["a"]], 5, "ab" + WORD),
    ),
    Ask(
        "most_frequent",
        dampen.most_frequent,
        LETTERS,
        lambda hook: Armed(LETTERS, hook),
        {"categories": ["a", "b", "c"]},
        _cost("most-frequent", "pf", "add-remove-row"),
        _several(
            {
                "k": [0, 4],
                "categories": [[], ["a", "a"], "ab", [["a"]]],
                "by": [LETTERS],
                "mechanism": ["no such"],
            }
        ),
        (["a", WORD], ["a", NUMBER], ["a", None], [["a"]], {"a": 1, WORD: 2}, {"a": 1.5}),
        {"categories": None},
        ("categories",),
    ),
    Ask(
        "most_frequent, several",
        dampen.most_frequent,
        LETTERS,
        lambda hook: Armed(LETTERS, hook),
        {"categories": ["a", "b", "c"], "k": 2},
        _cost("most-frequent", "joint", "add-remove-row"),
        (),
        (["a", WORD],),
        {"categories": None},
        ("categories",),
    ),
    Ask(
        "most_frequent by group",
        lambda data, **options: dampen.most_frequent(data["v"], by=data["g"], **options),
        {"v": LETTERS, "g": LETTERS},
        lambda hook: _armed_table({"v": LETTERS, "g": LETTERS}, hook),
        {"categories": ["a", "b", "c"], "groups": ["a", "b"]},
        _cost("most-frequent", "pf", "add-remove-row"),
        _several({"groups": [[], ["a", "a"], None]}),
        ({"v": ["a", WORD, "a"], "g": LETTERS},),
    ),
    Ask(
        "percentile, label",
        dampen.percentile,
        NUMBERS,
        lambda hook: Armed(NUMBERS, hook),
        {"p": 50, "upper": 10, "labels": ["x", "y", "z"]},
        _cost("percentile-label", "ld-pf-range", "replace-one"),
        _several(
            {
                "p": [101, "x", [50, 60]],
                "upper": [0, "x", float("inf")],
                "step": [1],
                "release": ["vlue"],
                "labels": [["x"], ["x", "x", "y"], {"x", "y", "z"}],
                "delta": ["exat"],
                "mechanism": ["no such", "joint"],
            }
        ),
        ([1, 2, WORD], [NUMBER, None, 3], [1, float("nan"), 2], [[1], [2], [NUMBER]]),
    ),
    Ask(
        "percentile, value",
        dampen.percentile,
        NUMBERS,
        lambda hook: Armed(NUMBERS, hook),
        {"p": 50, "upper": 10, "release": "value", "step": 1},
        _cost("percentile-value", "pf", "replace-one"),
        _several({"p": [-1, []], "step": [0, None, "x"], "labels": [["x", "y", "z"]]}),
        ([1, 2, WORD], [NUMBER, None, 3], [1, float("nan"), NUMBER]),
    ),
    Ask(
        "percentile, several values",
        dampen.percentile,
        NUMBERS,
        lambda hook: Armed(NUMBERS, hook),
        {"p": [25, 50, 75], "upper": 10, "release": "value", "step": 1},
        _cost("percentile-value", "joint-percentiles", "replace-one", PURE / 2),
        ({"p": [50, 101]},),
        ([1, 2, WORD],),
    ),
    Ask(
        "percentile by group",
        lambda data, **options: dampen.percentile(data["v"], by=data["g"], **options),
        GROUPED,
        lambda hook: _armed_table(GROUPED, hook),
        {"p": 50, "upper": 10, "release": "value", "step": 1, "groups": ["a", "b"]},
        _cost("percentile-value", "pf", "add-remove-row"),
        _several({"groups": [[], ["a", "a"], None], "neighbours": ["add-remove-edge"]}),
        ({"v": [1, 2, WORD], "g": LETTERS}, {"v": [1, 2, None], "g": LETTERS}),
    ),
    Ask(
        "top_groups",
        lambda data, **options: dampen.top_groups(data, "v", by="g", **options),
        GROUPED,
        lambda hook: _armed_table(GROUPED, hook),
        {"groups": ["a", "b"], "lower": 0, "upper": 10, "step": 1},
        _cost("top-groups", "reach", "add-remove-row"),
        _several({"k": [0, 3], "groups": [[], ["a", "a"]], "statistic": ["mode"], "step": [3]}),
        ({"v": [1, 2, WORD], "g": LETTERS}, {"v": [1, 2, None], "g": LETTERS}),
    ),
    Ask(
        "top_k",
        dampen.top_k,
        EDGES,
        lambda hook: (Armed(EDGES[0], hook), Armed(EDGES[1], hook)),
        {"n": 5},
        _cost("top-k", "pf", "add-remove-edge"),
        _several(
            {
                "k": [0, 6],
                "n": [0, -1, 1.5, 2**31],
                "metric": ["x"],
                "delta": ["x"],
                "max_degree": [0],
                "source": ["a"],
                "mechanism": ["no such"],
            }
        ),
        (([0], [NUMBER]), ([0], [WORD]), ([0], [None]), ([0, 1], [1]), ([-NUMBER], [1])),
        {"n": None},
        ("nodes",),
    ),
    Ask(
        "top_k, two rounds",
        dampen.top_k,
        EDGES,
        lambda hook: (Armed(EDGES[0], hook), Armed(EDGES[1], hook)),
        {"nodes": [0, 1, 2, 7], "k": 3},
        _cost("top-k", "two-rounds", "add-remove-edge"),
        (
            {"delta": "codegree", "mechanism": "joint"},
            {"n": 5},
            *_several({"nodes": ["graph", "abc", [1, 1, 2], [None, 1, 2], [[1], [2], [3]], [], 5]}),
            *_several({"nodes": [range(0), range(2**31)]}),
        ),
        (([0], [NUMBER]), ([0], [WORD])),
        {"nodes": None},
        ("nodes",),
    ),
    *(
        Ask(
            f"top_k, {metric}",
            dampen.top_k,
            EDGES,
            lambda hook: (Armed(EDGES[0], hook), Armed(EDGES[1], hook)),
            {"n": 5, "k": 2, "metric": metric},
            _cost("top-k", "two-rounds", "add-remove-edge"),
            _several({"k": [0, 6], "delta": ["codegree"], "mechanism": ["joint", "no such"]}),
            (([0], [NUMBER]), ([0], [WORD]), ([0], [None]), ([0, 1], [1])),
            {"n": None},
            ("nodes",),
        )
        for metric in ("eigenvector", "core", "pagerank")
    ),
    Ask(
        "top_k, dampened",
        dampen.top_k,
        EDGES,
        lambda hook: (Armed(EDGES[0], hook), Armed(EDGES[1], hook)),
        {"n": 5, "k": 2, "mechanism": "ld"},
        _cost("top-k", "ld", "add-remove-edge", EPSILON**2 / 16),
        (),
        (([0], [NUMBER]),),
        {"n": None},
        ("nodes",),
    ),
    Ask(
        "TreeClassifier.fit",
        _fitted,
        _split(TABLE),
        lambda hook: _split(_armed_table(TABLE, hook)),
        PUBLIC_TREE,
        _cost("tree", "pf", "add-remove-row"),
        WRONG_TREE,
        tuple(map(_split, BAD_TABLES)),
        {"domains": {"x": ["p", "q"]}, "max_rows": None, "classes": None},
        ("domains", "classes", "max_rows"),
    ),
    Ask(
        "TreeClassifier.fit_table",
        _fitted_table,
        TABLE,
        lambda hook: _armed_table(TABLE, hook),
        PUBLIC_TREE,
        _cost("tree", "pf", "add-remove-row"),
        (*WRONG_TREE, {"domains": {"x": ["p"], "c": ["no"]}}),
        BAD_TABLES,
        {"max_rows": None, "classes": None},
        ("classes", "max_rows"),
    ),
    Ask(
        "NaiveBayesClassifier.fit",
        _bayes,
        _split(TABLE),
        lambda hook: _split(_armed_table(TABLE, hook)),
        PUBLIC_BAYES,
        _cost("naive-bayes", "discrete-laplace", "add-remove-row"),
        (*WRONG_MODEL, {"epsilon": "1e-13"}),
        tuple(map(_split, BAD_TABLES[:-1])),
        {"domains": {"x": ["p", "q"]}, "classes": None},
        ("domains", "classes"),
    ),
    Ask(
        "NaiveBayesClassifier.fit_table",
        _bayes_table,
        TABLE,
        lambda hook: _armed_table(TABLE, hook),
        PUBLIC_BAYES,
        _cost("naive-bayes", "discrete-laplace", "add-remove-row"),
        (*WRONG_MODEL, {"domains": {"x": ["p"], "c": ["no"]}}),
        BAD_TABLES[:-1],
        {"classes": None},
        ("classes",),
    ),
    Ask(
        "Classifier.fit",
        _chosen,
        _split(TABLE),
        lambda hook: _split(_armed_table(TABLE, hook)),
        PUBLIC_CHOICE,
        _cost("tree", "pf", "add-remove-row"),
        (*WRONG_MODEL, {"max_rows": 0}),
        tuple(map(_split, BAD_TABLES)),
        {"domains": {"x": ["p", "q"]}, "max_rows": None, "classes": None},
        ("domains", "classes", "max_rows"),
    ),
    Ask(
        "Classifier.fit_table",
        _chosen_table,
        TABLE,
        lambda hook: _armed_table(TABLE, hook),
        PUBLIC_CHOICE,
        _cost("tree", "pf", "add-remove-row"),
        (*WRONG_MODEL, {"domains": {"x": ["p"], "c": ["no"]}}),
        BAD_TABLES,
        {"max_rows": None, "classes": None},
        ("classes", "max_rows"),
    ),
]
