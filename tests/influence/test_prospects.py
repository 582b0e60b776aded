"""What is said of an answer about nodes before it is paid for."""

import re

import numpy as np
import pytest

import dampen
from dampen.influence.problem import InfluentialNode
from dampen.releases import UNTOLD


def neighbours_in(sentence: str) -> int:
    return int(re.search(r"by ([\d,]+) neighbours", sentence)[1].replace(",", ""))


@pytest.mark.parametrize("k", [1, 2])
def test_the_sentence_does_not_depend_on_the_graph(k):
    asks = {"n": 30, "k": k, "epsilon": "0.5", "metric": "degree"}
    one, other = (dampen.top_k(edges, **asks).accuracy for edges in (([0], [1]), ([5, 5], [6, 7])))
    assert one == other
    assert one.startswith("With 30 nodes and ε = 0.5, ")


def test_a_star_with_the_lead_that_is_told_is_found():
    """Its centre leads all others by as many neighbours; at half the lead it may be missed."""
    n = 200
    made = dampen.top_k(([0], [1]), n=n, k=1, epsilon="0.5", metric="degree")
    lead = neighbours_in(made.accuracy)
    for leaves, enough in [(lead + 1, True), (lead // 2, False)]:
        graph = np.zeros(leaves, dtype=int), np.arange(1, leaves + 1)
        selection = InfluentialNode(n=n, metric="degree").selection(graph)
        law = dampen.probabilities(selection, epsilon="0.5", mechanism="pf")
        assert (law[0] >= 0.9) == enough


def test_nothing_is_said_of_other_rankings():
    made = dampen.top_k(([0], [1]), n=5, k=1, epsilon="1", mechanism="sld")
    assert made.accuracy == UNTOLD
