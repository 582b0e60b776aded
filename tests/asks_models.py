"""The models that are released, each as one entry of the contract of releases (`asks`)."""

from collections.abc import Mapping
from typing import Any

import dampen
from asking import EPSILON, GUMBEL, Ask, armed_table, cost, several, shown
from dampen import Release
from dampen.core.noise import laplace_rho, pure_rho
from dampen.paper.id3 import GlobalDiffPID3
from dampen.questions.classify.plan import FEW_TABLES, FOR_ODDS, FOR_VALUES, split_shares
from leaks import NUMBER, WORD


def _fitted(data: Any, **options: Any) -> Release:
    tree = dampen.TreeClassifier(**options).fit(*data)
    return tree.release_


def _fitted_table(data: Any, columns: Any = None, **options: Any) -> Release:
    tree = dampen.TreeClassifier(**options)
    return tree.fit_table(data, target="c", columns=columns).release_


def _id3(data: Any, **options: Any) -> Release:
    return GlobalDiffPID3(**options).fit(*data).release_


def _bayes(data: Any, **options: Any) -> Release:
    return dampen.NaiveBayesClassifier(**options).fit(*data).release_


def _bayes_table(data: Any, columns: Any = None, **options: Any) -> Release:
    model = dampen.NaiveBayesClassifier(**options)
    return model.fit_table(data, target="c", columns=columns).release_


def _regressed(data: Any, **options: Any) -> Release:
    return dampen.TreeRegressor(**options).fit(*data).release_


def _regressed_table(data: Any, columns: Any = None, **options: Any) -> Release:
    model = dampen.TreeRegressor(**options)
    return model.fit_table(data, target="c", columns=columns).release_


def _chosen(data: Any, **options: Any) -> Release:
    return dampen.Classifier(**options).fit(*data).release_


def _chosen_table(data: Any, columns: Any = None, **options: Any) -> Release:
    model = dampen.Classifier(**options)
    return model.fit_table(data, target="c", columns=columns).release_


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
        "max_rows": [0, "9", 2**40],
        "delta": [0, 1, "x", -1],
        "public": ["all", True],
    }
)
WRONG_TABLE = several({"columns": [["x", "nope"], ["x", "c"], ["x", "x"], [], "x"]})
TWO_TABLES = 2 * pure_rho(EPSILON / 2)
PUBLIC_BAYES = {name: PUBLIC_TREE[name] for name in ("domains", "classes")}
WRONG_TREE = WRONG_MODEL + several({"max_depth": [-1, 99, 1.5], "stages": [(7,), (2, 2), (), "2"]})
WRONG_ID3 = WRONG_MODEL + several(
    {"mechanism": ["no such", "joint", None], "max_depth": [-1, 99, 1.5, None]}
)
PUBLIC_DEFAULT = {name: PUBLIC_TREE[name] for name in ("domains", "classes", "max_rows")}
OF_ID3 = shown(3 * pure_rho(EPSILON / 4) + GUMBEL / 16)
LEVELS = sum(laplace_rho(EPSILON * share) for share in split_shares((1,)))
FIRST, LAST = (EPSILON * share for share in split_shares((1, 2)))
STAGES = laplace_rho(FIRST) + LAST**2 / 8
ODDS, TABLES = (EPSILON * share for share in (FOR_ODDS, FEW_TABLES))
CHANCES = pure_rho(ODDS) + 2 * pure_rho(TABLES / 2) + (EPSILON - ODDS - TABLES) ** 2 / 8
STAGED = "joint-subtrees"
"""At ε = 0.6 and nine rows, the default decides all levels and the classes at once."""


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

NUMBERS = {**TABLE, "c": [2.0, 7.5, 3.0]}
BAD_NUMBERS = (
    *({**each, "c": NUMBERS["c"]} for each in BAD_TABLES[:4]),
    {**NUMBERS, "c": [2.0, 7.5, WORD]},
    {**NUMBERS, "c": [2.0, None, NUMBER]},
    {name: column * 4 for name, column in NUMBERS.items()},
)
PUBLIC_NUMBERS = {
    **{name: PUBLIC_TREE[name] for name in ("domains", "max_rows")},
    "lower": 0,
    "upper": 10,
}
WRONG_NUMBERS = (
    *(each for each in WRONG_MODEL if "classes" not in each),
    *several({"max_depth": [-1, 99, 1.5], "lower": ["x", 10, None, float("nan")]}),
)
VALUED = pure_rho(EPSILON * FOR_VALUES) + (EPSILON * (1 - FOR_VALUES)) ** 2 / 8

MODELS = [
    Ask(
        "TreeRegressor.fit",
        _regressed,
        split(NUMBERS),
        lambda hook: split(armed_table(NUMBERS, hook)),
        PUBLIC_NUMBERS,
        cost("regression-tree", STAGED, "add-remove-row", VALUED),
        WRONG_NUMBERS,
        tuple(map(split, BAD_NUMBERS)),
        {"domains": {"x": ["p", "q"]}, "max_rows": None, "public": "data"},
        ("domains", "max_rows"),
    ),
    Ask(
        "TreeRegressor.fit_table",
        _regressed_table,
        NUMBERS,
        lambda hook: armed_table(NUMBERS, hook),
        PUBLIC_NUMBERS,
        cost("regression-tree", STAGED, "add-remove-row", VALUED),
        WRONG_NUMBERS + WRONG_TABLE,
        BAD_NUMBERS,
        {"max_rows": None, "public": "data"},
        ("max_rows",),
    ),
    Ask(
        "TreeClassifier.fit",
        _fitted,
        split(TABLE),
        lambda hook: split(armed_table(TABLE, hook)),
        PUBLIC_TREE,
        cost("tree", "pf", "add-remove-row", LEVELS),
        WRONG_TREE,
        tuple(map(split, BAD_TABLES)),
        {"domains": {"x": ["p", "q"]}, "max_rows": None, "classes": None, "public": "data"},
        ("domains", "classes", "max_rows"),
    ),
    Ask(
        "TreeClassifier.fit_table",
        _fitted_table,
        TABLE,
        lambda hook: armed_table(TABLE, hook),
        PUBLIC_TREE,
        cost("tree", "pf", "add-remove-row", LEVELS),
        WRONG_TREE + WRONG_TABLE,
        BAD_TABLES,
        {"max_rows": None, "classes": None, "public": "data"},
        ("classes", "max_rows"),
    ),
    Ask(
        "TreeClassifier.fit, default",
        _fitted,
        split(TABLE),
        lambda hook: split(armed_table(TABLE, hook)),
        PUBLIC_DEFAULT,
        cost("tree", STAGED, "add-remove-row", GUMBEL),
        WRONG_TREE,
        tuple(map(split, BAD_TABLES)),
        {"domains": {"x": ["p", "q"]}, "max_rows": None, "classes": None, "public": "data"},
        ("domains", "classes", "max_rows"),
    ),
    Ask(
        "TreeClassifier.fit, levels and stages",
        _fitted,
        split(TABLE),
        lambda hook: split(armed_table(TABLE, hook)),
        {**PUBLIC_DEFAULT, "stages": (1, 2)},
        cost("tree", "pf + joint-subtrees", "add-remove-row", STAGES),
        WRONG_MODEL,
        tuple(map(split, BAD_TABLES)),
    ),
    Ask(
        "TreeClassifier.fit, probabilities",
        _fitted,
        split(TABLE),
        lambda hook: split(armed_table(TABLE, hook)),
        {**PUBLIC_DEFAULT, "probabilities": True},
        cost("tree", STAGED, "add-remove-row", CHANCES),
        (*WRONG_MODEL, *several({"probabilities": ["yes", None, 1]})),
        tuple(map(split, BAD_TABLES)),
    ),
    Ask(
        "GlobalDiffPID3.fit",
        _id3,
        split(TABLE),
        lambda hook: split(armed_table(TABLE, hook)),
        {**PUBLIC_TREE, "max_rows": 400},
        cost("id3", "em + noisy-counts", "add-remove-row", OF_ID3),
        WRONG_ID3,
        tuple(map(split, BAD_TABLES[:-1])),
        {"domains": {"x": ["p", "q"]}, "max_rows": None, "classes": None, "public": "data"},
        ("domains", "classes", "max_rows"),
    ),
    Ask(
        "NaiveBayesClassifier.fit",
        _bayes,
        split(TABLE),
        lambda hook: split(armed_table(TABLE, hook)),
        PUBLIC_BAYES,
        cost("naive-bayes", "discrete-laplace", "add-remove-row", TWO_TABLES, "2 x 0.3 in 1 step"),
        (*WRONG_MODEL, {"epsilon": "1e-13"}),
        tuple(map(split, BAD_TABLES[:-1])),
        {"domains": {"x": ["p", "q"]}, "classes": None, "public": "data"},
        ("domains", "classes"),
    ),
    Ask(
        "NaiveBayesClassifier.fit_table",
        _bayes_table,
        TABLE,
        lambda hook: armed_table(TABLE, hook),
        PUBLIC_BAYES,
        cost("naive-bayes", "discrete-laplace", "add-remove-row", TWO_TABLES, "2 x 0.3 in 1 step"),
        WRONG_MODEL + WRONG_TABLE,
        BAD_TABLES[:-1],
        {"classes": None, "public": "data"},
        ("classes",),
    ),
    Ask(
        "Classifier.fit",
        _chosen,
        split(TABLE),
        lambda hook: split(armed_table(TABLE, hook)),
        PUBLIC_DEFAULT,
        cost("classifier", STAGED, "add-remove-row", GUMBEL),
        WRONG_MODEL,
        tuple(map(split, BAD_TABLES)),
        {"domains": {"x": ["p", "q"]}, "max_rows": None, "classes": None, "public": "data"},
        ("domains", "classes", "max_rows"),
    ),
    Ask(
        "Classifier.fit_table",
        _chosen_table,
        TABLE,
        lambda hook: armed_table(TABLE, hook),
        PUBLIC_DEFAULT,
        cost("classifier", STAGED, "add-remove-row", GUMBEL),
        WRONG_MODEL + WRONG_TABLE,
        BAD_TABLES,
        {"max_rows": None, "classes": None, "public": "data"},
        ("classes", "max_rows"),
    ),
]
