"""What is said of an answer about nodes before it is paid for."""

import re
from fractions import Fraction

import numpy as np
import pytest

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.questions.nodes.accuracy import DISCRETE
from dampen.questions.nodes.gradual_noise import nested_laplace
from dampen.questions.nodes.problem import InfluentialNode
from dampen.questions.nodes.shortlist_betweenness import largest
from dampen.questions.nodes.two_rounds import FIRST_SHARE, HELD, Shares
from dampen.releases.accuracy import UNKNOWN


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


TOLD = re.compile(r"every other by ([\d,]+) neighbours.*?(?:differ by ([\d,]+) neighbours|$)")


def told(n: int, k: int, epsilon: str) -> tuple[int, int | None]:
    """The two numbers of the sentence about two rounds."""
    made = dampen.top_k(([0], [1]), n=n, k=k, epsilon=epsilon, mechanism="two-rounds")
    first, second = TOLD.search(made.accuracy).groups()
    return int(first.replace(",", "")), int(second.replace(",", "")) if second else None


def test_two_rounds_say_the_same_of_every_graph_and_less_where_betweenness_may_be_asked_for():
    asks = {"n": 3000, "k": 20, "epsilon": "0.5"}
    one, other = (dampen.top_k(edges, **asks).accuracy for edges in (([0], [1]), ([5, 5], [6, 7])))
    assert one == other
    assert told(3000, 20, "0.5")[1] == 23
    assert told(3000, 20, "6")[1] is None
    assert dampen.top_k(([0], [1]), n=20, k=20, epsilon="1").accuracy == UNKNOWN


@pytest.mark.parametrize(("k", "epsilon"), [(5, "0.3"), (20, "1"), (20, "4")])
def test_nodes_with_the_lead_that_is_told_reach_the_second_round(k, epsilon):
    """False alarms: below 1 in 10^6, five standard errors."""
    n, runs = 3000, 600
    lead = told(n, k, epsilon)[0]
    d = np.zeros(n, dtype=np.int64)
    found = dict.fromkeys((lead, lead // 2), 0)
    for each in found:
        d[:k] = each
        for seed in range(runs):
            noise = nested_laplace(2 / Fraction(epsilon), FIRST_SHARE, n, InsecureEntropy(seed))[1]
            found[each] += set(largest(d + noise, k).tolist()) == set(range(k))
    assert found[lead] / runs >= 0.9 - 5 * (0.09 / runs) ** 0.5
    assert found[lead // 2] / runs < 0.8


@pytest.mark.parametrize("epsilon", ["0.3", "1", "4"])
def test_two_nodes_that_differ_as_told_are_told_apart_by_every_question(epsilon):
    """False alarms: below 1 in 10^6 for each, five standard errors of 20,000 pairs."""
    g, shares, size = told(3000, 20, epsilon)[1], Shares.of(Fraction(epsilon)), 20_000
    rng = np.random.default_rng(1)
    N, other = rng.laplace(0, 1 / float(shares.second), (2, size))
    M = rng.laplace(0, shares.noise, size)
    apart = {
        "shortlist": other - N,
        "whole": 3 * (other - N),
        "refined": 2 * (other - N) * float(shares.second) / float(Fraction(epsilon)),
        "oriented": other - N + HELD * np.maximum(N - M, 0),
    }
    share = {name: (noise < g - DISCRETE).mean() for name, noise in apart.items()}
    assert min(share.values()) >= 0.9 - 5 * (0.09 / size) ** 0.5
    assert share["whole"] == min(share.values())
    assert (apart["whole"] < (g - DISCRETE) / 2).mean() < 0.85


def test_nothing_is_said_of_other_rankings():
    made = dampen.top_k(([0], [1]), n=5, k=1, epsilon="1", mechanism="sld")
    assert made.accuracy == UNKNOWN
