"""Run by itself: which questions compile or load a kernel after they have charged.

One process per question, forked from one that has compiled nothing.  Prints one line for each.
"""

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numba.core.dispatcher import Dispatcher

import dampen
from asks import ASKS
from dampen.paper.id3 import DiffPID3

LABELS = 1 << 19
"""Enough labels for percentiles to use a compiled kernel."""
TREE = {
    "epsilon": 1,
    "domains": {"x": 3, "z": dampen.bins(0, 10, 5)},
    "classes": ["a", "b"],
    "max_rows": 99,
    "max_depth": 2,
}


def questions() -> dict[str, Callable[[Any], Any]]:
    """Every kind of release, and the kinds of data that choose other kernels."""
    asked: dict[str, Callable[[Any], Any]] = {
        ask.name: lambda budget, ask=ask: ask(budget=budget) for ask in ASKS
    }
    numbers = np.arange(LABELS) % 977.0
    for size, choice in ((5, {}), (5, {"mechanism": "sld"}), (LABELS, {})):
        asked[f"{size} labels with {choice}"] = lambda budget, size=size, choice=choice: (
            dampen.percentile_record(
                numbers[:size], p=90, upper=1000, epsilon=40, budget=budget, **choice
            )
        )
    graph = nx.barbell_graph(20, 3)
    ends = np.array(graph.edges()).T
    for kind, data, public in (
        ("networkx", graph, {"nodes": "graph"}),
        ("int32", (ends[0].astype(np.int32), ends[1].astype(np.int32)), {"n": 43}),
        ("uint64", (ends[0].astype(np.uint64), ends[1].astype(np.uint64)), {"n": 43}),
        ("text", ([f"{i}" for i in ends[0]], [f"{i}" for i in ends[1]]),
         {"nodes": [f"{i}" for i in range(43)]}),
    ):  # fmt: skip
        asked[f"top_k of {kind}"] = lambda budget, data=data, public=public: dampen.top_k(
            data, k=2, epsilon=1, budget=budget, **public
        )
    for choice in ({"delta": "codegree"}, {"metric": "degree"}, {"k": 9}):
        asked[f"top_k with {choice}"] = lambda budget, choice=choice: dampen.top_k(
            (ends[0], ends[1]), **{"n": 43, "k": 2, "epsilon": 1, "budget": budget, **choice}
        )
    frame = pd.DataFrame({"x": [0, 1, 2] * 20, "z": [1.5, 7.0, 9.9] * 20})
    for make, choice in (
        (dampen.TreeClassifier, {}), (dampen.TreeClassifier, {"max_depth": None}),
        (dampen.TreeClassifier, {"classes": None, "max_rows": None}),
        (dampen.TreeClassifier, {"domains": None}),
        (DiffPID3, {"mechanism": "sld"}), (DiffPID3, {"mechanism": "em", "one_sided": False}),
        (DiffPID3, {"mechanism": "ld-pf"}), (DiffPID3, {"mechanism": "sulq"}),
        (DiffPID3, {"classes": None, "max_rows": None}),
    ):  # fmt: skip
        asked[f"{make.__name__} with {choice}"] = lambda budget, make=make, choice=choice: make(
            **{**TREE, "epsilon": 100, "budget": budget, **choice}
        ).fit(frame, ["a", "b", "b"] * 20)
    return asked


class Watch:
    """A budget; what is compiled after its charge is noted."""

    def __init__(self) -> None:
        self.late: list[str] = []

    def charge(self, _: Any, /) -> str:
        compile_now = Dispatcher.compile
        noted = self.late

        def noting(dispatcher: Any, signature: Any) -> Any:
            noted.append(f"{dispatcher.py_func.__name__}{signature}")
            return compile_now(dispatcher, signature)

        Dispatcher.compile = noting
        return "id"


def outcome(ask: Callable[[Any], Any]) -> str:
    watch = Watch()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ask(watch)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "; ".join(watch.late) or "fine"


if __name__ == "__main__":
    for name, ask in questions().items():
        sys.stdout.flush()
        if os.fork() == 0:
            print(f"{name}: {outcome(ask)}", flush=True)
            os._exit(0)
        os.wait()
