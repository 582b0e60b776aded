"""The models that are released, each as one entry of the contract of releases (`asks`)."""

from collections.abc import Mapping
from typing import Any

import dampen
from asking import Ask, armed_table, cost, several
from dampen import Release
from leaks import NUMBER, WORD


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


TABLE = {"x": ["p", "q", "p"], "z": [1.0, 5.0, 9.0], "c": ["no", "yes", "no"]}
PUBLIC_TREE = {
    "domains": {"x": ["p", "q"], "z": dampen.bins(0, 10, 5)},
    "classes": ["no", "yes"],
    "max_rows": 9,
    "max_depth": 1,
}
WRONG_MODEL = several(
    {
        "classes": [["no"], ["no", "no"], "no", 5, [["no"], ["yes"]]],
        "domains": [{"x": ["p"], "nope": 3}, {"x": 1.5, "z": 3}, 5, {"x": "pq"}],
    }
)
PUBLIC_CHOICE = {name: PUBLIC_TREE[name] for name in ("domains", "classes", "max_rows")}
PUBLIC_BAYES = {name: PUBLIC_TREE[name] for name in ("domains", "classes")}
WRONG_TREE = WRONG_MODEL + several(
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


def split(table: Mapping[str, Any]) -> Any:
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

MODELS = [
    Ask(
        "TreeClassifier.fit",
        _fitted,
        split(TABLE),
        lambda hook: split(armed_table(TABLE, hook)),
        PUBLIC_TREE,
        cost("tree", "pf", "add-remove-row"),
        WRONG_TREE,
        tuple(map(split, BAD_TABLES)),
        {"domains": {"x": ["p", "q"]}, "max_rows": None, "classes": None},
        ("domains", "classes", "max_rows"),
    ),
    Ask(
        "TreeClassifier.fit_table",
        _fitted_table,
        TABLE,
        lambda hook: armed_table(TABLE, hook),
        PUBLIC_TREE,
        cost("tree", "pf", "add-remove-row"),
        (*WRONG_TREE, {"domains": {"x": ["p"], "c": ["no"]}}),
        BAD_TABLES,
        {"max_rows": None, "classes": None},
        ("classes", "max_rows"),
    ),
    Ask(
        "NaiveBayesClassifier.fit",
        _bayes,
        split(TABLE),
        lambda hook: split(armed_table(TABLE, hook)),
        PUBLIC_BAYES,
        cost("naive-bayes", "discrete-laplace", "add-remove-row"),
        (*WRONG_MODEL, {"epsilon": "1e-13"}),
        tuple(map(split, BAD_TABLES[:-1])),
        {"domains": {"x": ["p", "q"]}, "classes": None},
        ("domains", "classes"),
    ),
    Ask(
        "NaiveBayesClassifier.fit_table",
        _bayes_table,
        TABLE,
        lambda hook: armed_table(TABLE, hook),
        PUBLIC_BAYES,
        cost("naive-bayes", "discrete-laplace", "add-remove-row"),
        (*WRONG_MODEL, {"domains": {"x": ["p"], "c": ["no"]}}),
        BAD_TABLES[:-1],
        {"classes": None},
        ("classes",),
    ),
    Ask(
        "Classifier.fit",
        _chosen,
        split(TABLE),
        lambda hook: split(armed_table(TABLE, hook)),
        PUBLIC_CHOICE,
        cost("tree", "pf", "add-remove-row"),
        (*WRONG_MODEL, {"max_rows": 0}),
        tuple(map(split, BAD_TABLES)),
        {"domains": {"x": ["p", "q"]}, "max_rows": None, "classes": None},
        ("domains", "classes", "max_rows"),
    ),
    Ask(
        "Classifier.fit_table",
        _chosen_table,
        TABLE,
        lambda hook: armed_table(TABLE, hook),
        PUBLIC_CHOICE,
        cost("tree", "pf", "add-remove-row"),
        (*WRONG_MODEL, {"domains": {"x": ["p"], "c": ["no"]}}),
        BAD_TABLES,
        {"max_rows": None, "classes": None},
        ("classes", "max_rows"),
    ),
]
