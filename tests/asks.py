"""Every function that releases, each as one entry: how to ask it, and what a question costs.

The contract of releases (`tests/contracts`) runs over all of them; a new one is one more entry.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import dampen
from asking import EPSILON, FLIPPED, Armed, Ask, armed_table, cost, several, shown
from asks_models import MODELS
from dampen import Release
from dampen.core.mechanisms import JOINT
from dampen.core.noise import laplace_rho
from dampen.core.selection import Neighbours
from dampen.questions.frequency import MostFrequent
from dampen.questions.percentile.joint_tight import together
from dampen.questions.percentile.question import PercentileQuestion
from dampen.releases.answer import answer
from dampen.schema import Schema
from leaks import NUMBER, WORD


def _of_loader(data: Any, **options: Any) -> Release:
    """The generic `release`, of a problem of one's own."""
    load = data if callable(data) else lambda: data
    options = {"mechanism": "pf", "query": "mine", **options}
    return dampen.release(MostFrequent(("a", "b")), load, **options)


QUARTERS = tuple(Fraction(i, 4) for i in (1, 2, 3))
TOGETHER = shown(together(QUARTERS, Neighbours.ADD_REMOVE_ROW, 11).rho(EPSILON))
TEN_STEPS = shown(laplace_rho(EPSILON, 10))
TWO_ENDS = shown(JOINT.rho(EPSILON, norm=2.0))
LETTERS = ["a", "a", "b"]


def of_a_million(data: Any, **options: Any) -> Release:
    """A percentile of a column with a stated number of rows, which is charged once."""
    paying = ("epsilon", "rho", "budget", "entropy")
    paid = {name: options.pop(name) for name in paying if name in options}
    question = PercentileQuestion(value="v", **options)
    return answer(question, {"v": data}, schema=Schema(rows=10**6), **paid)


NUMBERS = [1.0, 2.0, 3.0]
EDGES = ([0, 0, 1], [1, 2, 2])
GROUPED = {"v": [1.0, 2.0, 9.0], "g": ["a", "a", "b"]}


ASKS = [
    Ask(
        "release",
        _of_loader,
        LETTERS,
        lambda hook: lambda: hook() or LETTERS,
        {},
        cost("mine", "pf", "add-remove-row", *FLIPPED),
        several({"k": [0, 3, 1.5], "mechanism": ["no such"]}),
        (["a", WORD], [NUMBER], [["a"]], 5, "ab" + WORD),
    ),
    Ask(
        "most_frequent",
        dampen.most_frequent,
        LETTERS,
        lambda hook: Armed(LETTERS, hook),
        {"categories": ["a", "b", "c"]},
        cost("most-frequent", "pf", "add-remove-row"),
        several(
            {
                "k": [0, 4],
                "categories": [[], ["a", "a"], "ab", [["a"]]],
                "by": [LETTERS],
                "mechanism": ["no such"],
            }
        ),
        (["a", WORD], ["a", NUMBER], ["a", None], [["a"]], {"a": 1, WORD: 2}, {"a": 1.5}),
        {"categories": None, "public": "data"},
        ("categories",),
    ),
    Ask(
        "most_frequent, several",
        dampen.most_frequent,
        LETTERS,
        lambda hook: Armed(LETTERS, hook),
        {"categories": ["a", "b", "c"], "k": 2},
        cost("most-frequent", "joint", "add-remove-row"),
        (),
        (["a", WORD],),
        {"categories": None, "public": "data"},
        ("categories",),
    ),
    Ask(
        "most_frequent, unlisted",
        dampen.most_frequent,
        LETTERS,
        lambda hook: Armed(LETTERS, hook),
        {"delta": "1e-6", "k": 2},
        replace(cost("most-frequent", "threshold", "add-remove-row"), delta=Fraction(1, 10**6)),
        several(
            {
                "k": [0, 1.5],
                "delta": [0, 1, "x", -1],
                "categories": [["a"]],
                "mechanism": ["pf"],
                "by": [LETTERS],
            }
        ),
        (),
    ),
    Ask(
        "keys",
        dampen.keys,
        LETTERS,
        lambda hook: Armed(LETTERS, hook),
        {"delta": "1e-6"},
        replace(cost("keys", "threshold", "add-remove-row"), delta=Fraction(1, 10**6)),
        several({"k": [0, 1.5, True], "delta": [0, 1, "x", -1, None]}),
        (),
    ),
    Ask(
        "most_frequent by group",
        lambda data, **options: dampen.most_frequent(data["v"], by=data["g"], **options),
        {"v": LETTERS, "g": LETTERS},
        lambda hook: armed_table({"v": LETTERS, "g": LETTERS}, hook),
        {"categories": ["a", "b", "c"], "groups": ["a", "b"]},
        cost("most-frequent", "pf", "add-remove-row"),
        several({"groups": [[], ["a", "a"], None]}),
        ({"v": ["a", WORD, "a"], "g": LETTERS},),
    ),
    Ask(
        "count by group",
        lambda data, **options: dampen.count(data, by="g", **options),
        GROUPED,
        lambda hook: armed_table(GROUPED, hook),
        {"groups": ["a", "b"]},
        cost("count", "discrete-laplace", "add-remove-row"),
        several({"groups": [[], ["a", "a"], None], "epsilon": ["1e-15"]}),
        (),
    ),
    Ask(
        "histogram",
        dampen.histogram,
        LETTERS,
        lambda hook: Armed(LETTERS, hook),
        {"categories": ["a", "b", "c"]},
        cost("histogram", "discrete-laplace", "add-remove-row"),
        several({"categories": [[], ["a", "a"], "ab", None], "bins": [3], "by": [LETTERS]}),
        (),
    ),
    Ask(
        "total",
        dampen.total,
        NUMBERS,
        lambda hook: Armed(NUMBERS, hook),
        {"lower": 0, "upper": 10, "step": 1},
        cost("total", "discrete-laplace", "add-remove-row", TEN_STEPS, "0.6 in 10 steps"),
        several({"lower": [10, "x"], "upper": [0, float("inf")], "step": [3, 0]}),
        ([1, 2, WORD],),
    ),
    Ask(
        "mean by group",
        lambda data, **options: dampen.mean(data, "v", by="g", **options),
        GROUPED,
        lambda hook: armed_table(GROUPED, hook),
        {"groups": ["a", "b"], "lower": 0, "upper": 10, "step": 1},
        cost("mean", "discrete-laplace", "add-remove-row", TEN_STEPS, "0.6 in 10 steps"),
        several({"groups": [[], ["a", "a"], None], "step": [3], "lower": [11]}),
        ({"v": [1, 2, WORD], "g": LETTERS},),
    ),
    Ask(
        "percentile_record",
        dampen.percentile_record,
        NUMBERS,
        lambda hook: Armed(NUMBERS, hook),
        {"p": 50, "upper": 10, "labels": ["x", "y", "z"]},
        cost("percentile-record", "ld-pf-range", "replace-one", *FLIPPED),
        several(
            {
                "p": [101, "x", [50, 60]],
                "upper": [0, "x", float("inf")],
                "labels": [["x"], ["x", "x", "y"], {"x", "y", "z"}],
                "delta": ["exat"],
                "mechanism": ["no such", "joint"],
                "k": [0, 4, True, "x"],
            }
        ),
        ([1, 2, WORD], [NUMBER, None, 3], [1, float("nan"), 2], [[1], [2], [NUMBER]]),
    ),
    Ask(
        "percentile, value",
        dampen.percentile,
        NUMBERS,
        lambda hook: Armed(NUMBERS, hook),
        {"p": 50, "upper": 10, "step": 1},
        cost("percentile", "pf", "add-remove-row", *FLIPPED),
        several({"p": [-1, []], "step": [0, "x"], "upper": [0]}),
        ([1, 2, WORD], [NUMBER, None, 3], [1, float("nan"), NUMBER]),
    ),
    Ask(
        "percentile without bounds",
        of_a_million,
        NUMBERS,
        lambda hook: Armed(NUMBERS, hook),
        {"p": 50},
        cost("percentile", "pf", "add-remove-row", *FLIPPED),
        several(
            {
                "p": [-1, [], "33.33333"],
                "step": [0, "x"],
                "upper": ["x", float("nan")],
                "lower": [1e20],
                "mechanism": ["ld", "no such"],
            }
        ),
        ([1, 2, WORD],),
    ),
    Ask(
        "percentile without bounds by group",
        lambda data, **options: dampen.percentile(data["v"], by=data["g"], **options),
        GROUPED,
        lambda hook: armed_table(GROUPED, hook),
        {"p": [10, 50], "groups": ["a", "b"]},
        cost(
            "percentile",
            "pf",
            "add-remove-row",
            2 * laplace_rho(EPSILON / 2),
            "2 x 0.3 in any steps",
        ),
        several({"groups": [[], ["a", "a"], None], "step": [0]}),
        ({"v": [1, 2, WORD], "g": LETTERS},),
    ),
    Ask(
        "percentile, several values",
        dampen.percentile,
        NUMBERS,
        lambda hook: Armed(NUMBERS, hook),
        {"p": [25, 50, 75], "upper": 10, "step": 1},
        cost("percentile", "joint-percentiles", "add-remove-row", TOGETHER),
        ({"p": [50, 101]},),
        ([1, 2, WORD],),
    ),
    Ask(
        "percentile by group",
        lambda data, **options: dampen.percentile(data["v"], by=data["g"], **options),
        GROUPED,
        lambda hook: armed_table(GROUPED, hook),
        {"p": 50, "upper": 10, "step": 1, "groups": ["a", "b"]},
        cost("percentile", "pf", "add-remove-row", *FLIPPED),
        several({"groups": [[], ["a", "a"], None]}),
        ({"v": [1, 2, WORD], "g": LETTERS}, {"v": [1, 2, None], "g": LETTERS}),
    ),
    Ask(
        "top_groups",
        lambda data, **options: dampen.top_groups(data, "v", by="g", **options),
        GROUPED,
        lambda hook: armed_table(GROUPED, hook),
        {"groups": ["a", "b"], "lower": 0, "upper": 10, "step": 1},
        cost("top-groups", "reach", "add-remove-row"),
        several({"k": [0, 3], "groups": [[], ["a", "a"]], "statistic": ["mode"], "step": [3]}),
        ({"v": [1, 2, WORD], "g": LETTERS}, {"v": [1, 2, None], "g": LETTERS}),
    ),
    Ask(
        "groups_above",
        lambda data, **options: dampen.groups_above(data, "v", by="g", **options),
        GROUPED,
        lambda hook: armed_table(GROUPED, hook),
        {"groups": ["a", "b"], "threshold": 5, "lower": 0, "upper": 10, "step": 1},
        cost("groups-above", "reach", "add-remove-row"),
        several({"groups": [[], ["a", "a"]], "statistic": ["mode", "sum"], "threshold": ["x"]}),
        ({"v": [1, 2, WORD], "g": LETTERS},),
    ),
    Ask(
        "top_k",
        dampen.top_k,
        EDGES,
        lambda hook: (Armed(EDGES[0], hook), Armed(EDGES[1], hook)),
        {"n": 400},
        cost("top-k", "pf", "add-remove-edge", *FLIPPED),
        several(
            {
                "k": [0, 401],
                "n": [0, -1, 1.5, 2**31],
                "metric": ["x"],
                "delta": ["x"],
                "max_degree": [0],
                "source": ["a"],
                "mechanism": ["no such"],
            }
        ),
        (([0], [NUMBER]), ([0], [WORD]), ([0], [None]), ([-NUMBER], [1])),
        {"n": None, "public": "data"},
        ("nodes",),
    ),
    Ask(
        "top_k, two rounds",
        dampen.top_k,
        EDGES,
        lambda hook: (Armed(EDGES[0], hook), Armed(EDGES[1], hook)),
        {"nodes": [0, 1, 2, *range(7, 400)], "k": 3},
        cost("top-k", "two-rounds", "add-remove-edge"),
        (
            {"delta": "codegree", "mechanism": "joint"},
            {"n": 400},
            *several({"nodes": ["graph", "abc", [1, 1, 2], [None, 1, 2], [[1], [2], [3]], [], 5]}),
            *several({"nodes": [range(0), range(2**31)]}),
        ),
        (([0], [NUMBER]), ([0], [WORD])),
        {"nodes": None, "public": "data"},
        ("nodes",),
    ),
    *(
        Ask(
            f"top_k, {metric}",
            dampen.top_k,
            EDGES,
            lambda hook: (Armed(EDGES[0], hook), Armed(EDGES[1], hook)),
            {"n": 400, "k": 2, "metric": metric},
            cost("top-k", "two-rounds", "add-remove-edge"),
            several({"k": [0, 401], "delta": ["codegree"], "mechanism": ["joint", "no such"]}),
            (([0], [NUMBER]), ([0], [WORD]), ([0], [None])),
            {"n": None, "public": "data"},
            ("nodes",),
        )
        for metric in ("triangles", "eigenvector", "core", "pagerank")
    ),
    Ask(
        "top_k, brokerage",
        dampen.top_k,
        EDGES,
        lambda hook: (Armed(EDGES[0], hook), Armed(EDGES[1], hook)),
        {"n": 400, "k": 2, "metric": "brokerage"},
        cost("top-k", "joint", "add-remove-edge", TWO_ENDS, "0.6 in any steps"),
        several({"k": [401], "max_degree": [0], "mechanism": ["two-rounds"]}),
        (([0], [NUMBER]), ([0], [WORD])),
        {"n": None, "public": "data"},
        ("nodes",),
    ),
    Ask(
        "top_k, dampened",
        dampen.top_k,
        EDGES,
        lambda hook: (Armed(EDGES[0], hook), Armed(EDGES[1], hook)),
        {"n": 400, "k": 2, "mechanism": "ld"},
        cost("top-k", "ld", "add-remove-edge", EPSILON**2 / 16),
        (),
        (([0], [NUMBER]),),
        {"n": None, "public": "data"},
        ("nodes",),
    ),
    *MODELS,
]
