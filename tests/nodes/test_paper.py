"""The paper's room: its formulas are those of the problem, its algorithm names every node once."""

import networkx as nx
import pytest

from dampen.core.mechanisms import probabilities
from dampen.errors import ParameterError
from dampen.paper.influential_nodes import (
    EBC,
    MECHANISMS,
    InfluentialNode,
    PrivTopk,
    delta_by_codegree,
    delta_by_degree,
    delta_global,
)
from dampen.questions.nodes.graphs import codegrees, graph_of

GRAPH = nx.karate_club_graph()


@pytest.mark.parametrize("delta", ["degree", "codegree"])
def test_the_formulas_are_those_of_the_problem(delta: str) -> None:
    made = graph_of(GRAPH)
    D = 33
    selection = InfluentialNode(n=34, delta=delta).selection(GRAPH)  # type: ignore[arg-type]
    assert selection.bound == delta_global(D)
    assert selection.utility.tolist() == list(EBC(GRAPH).values())
    pairs = list(zip(made.degrees.tolist(), codegrees(made).tolist(), strict=True))
    for t in range(D + 1):
        by_formula = [
            delta_by_degree(d, t, D) if delta == "degree" else delta_by_codegree(d, C, t, D)
            for d, C in pairs
        ]
        assert selection.sensitivity.at(t).tolist() == by_formula


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: each.name)
def test_every_mechanism_names_k_different_nodes(mechanism) -> None:
    made = PrivTopk(GRAPH, 34, n=34, epsilon="1", mechanism=mechanism)
    assert sorted(made.answer) == list(range(34))
    assert (made.mechanism, made.epsilon) == (mechanism.name, 1)
    best = max(EBC(GRAPH), key=EBC(GRAPH).__getitem__)
    law = probabilities(InfluentialNode(n=34).selection(GRAPH), epsilon=999, mechanism=mechanism)
    assert (law.argmax() == best) == (mechanism.name != "ld")  # LD inverts (section 6.5)


def test_public_parameters_come_first() -> None:
    class Account:
        def charge(self, cost: object) -> str:
            raise AssertionError("charged")

    for wrong in ({"k": 35}, {"delta": "x"}, {"max_degree": 0}, {"mechanism": "x"}, {"n": None}):
        given = {"k": 1, "n": 34, "epsilon": "1", "budget": Account()} | wrong
        with pytest.raises(ParameterError):
            PrivTopk(GRAPH, **given)
