"""What is said of an answer about nodes before it is paid for."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.errors import AccuracyWarning
from dampen.questions.nodes import NodesQuestion
from dampen.questions.nodes.methods import largest_lead
from dampen.questions.nodes.metrics import InfluentialNode
from dampen.questions.nodes.two_rounds import FIRST_SHARE, largest, nested_laplace
from dampen.releases.accuracy import UNKNOWN, Accuracy
from dampen.releases.answer import expect
from small_graphs import all_graphs

NOBODY = ([0], [1])


def expected(n: int, k: int, epsilon: str, **asked) -> Accuracy:
    question = NodesQuestion(n=n, k=k, **asked)
    return expect(question, NOBODY, epsilon=epsilon).accuracy


@pytest.mark.parametrize("k", [1, 2])
def test_the_accuracy_does_not_depend_on_the_graph(k):
    asks = {"n": 300, "k": k, "epsilon": "0.5", "metric": "degree"}
    one, other = (dampen.top_k(edges, **asks).accuracy for edges in (NOBODY, ([5, 5], [6, 7])))
    assert one == other == expected(**asks)
    assert one.unit == "neighbours"
    assert f"lead{'s' if k == 1 else ''} every other node by {one.error:.0f} neighbours" in str(one)


def test_a_star_with_the_stated_lead_is_found():
    """Its centre leads all others by as many neighbours; at half the lead it may be missed."""
    n = 200
    lead = int(expected(n, 1, "0.5", metric="degree").error)
    for leaves, enough in [(lead + 1, True), (lead // 2, False)]:
        graph = np.zeros(leaves, dtype=int), np.arange(1, leaves + 1)
        selection = InfluentialNode(n=n, metric="degree").selection(graph)
        law = dampen.probabilities(selection, epsilon="0.5", mechanism="pf")
        assert (law[0] >= 0.9) == enough


def test_the_largest_lead_is_the_largest_of_all_small_graphs():
    for n in (2, 3, 4, 5, 6):
        d = np.sort(all_graphs(n).d, axis=1)[:, ::-1]
        for k in range(1, n):
            for D in range(1, n):
                allowed = d[d[:, 0] <= D]
                found = (allowed[:, k - 1] - allowed[:, k]).max()
                assert found <= largest_lead(n, k, D)
                if D == n - 1:
                    assert found == largest_lead(n, k, D)


def test_a_graph_that_is_too_small_causes_a_warning_before_the_charge():
    told = expected(40, 5, "0.5")
    assert (told.chance, told.error) == (True, 34)
    assert told.sentence == (
        "This graph is too small for ε = 0.5: expect most of the top 5 to be wrong. Use ε ≥ 1.6."
    )

    class Account:
        def charge(self, cost):
            raise AssertionError("charged")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(AccuracyWarning, match=r"too small for ε = 0.5"):
            dampen.top_k(NOBODY, n=40, k=5, epsilon="0.5", budget=Account())
    one = expected(40, 1, "0.05", metric="degree")
    assert one.sentence.startswith("This graph is too small for ε = 0.05: expect the answer to be")


def test_one_node_is_suggested_where_it_can_be_found():
    told = expected(100, 30, "0.3", metric="degree", mechanism="pf")
    assert told.sentence.endswith(" or ask for one node.")
    assert not expected(100, 1, "0.3", metric="degree", mechanism="pf").chance


def test_the_epsilon_that_is_suggested_is_enough():
    for k, asked in [(1, {"metric": "degree"}), (5, {}), (5, {"metric": "brokerage"})]:
        told = expected(40, k, "0.01", **asked)
        assert told.chance
        enough = told.sentence.split("ε ≥ ")[1].split(" or")[0].rstrip(".")
        assert not expected(40, k, enough, **asked).chance


@pytest.mark.parametrize("metric", ["degree", "brokerage", "betweenness"])
def test_no_lead_is_above_what_is_possible(metric):
    for n in (2, 3, 9, 40, 3000):
        for k in {1, 2, n // 2, n - 1} & set(range(1, n)):
            for epsilon in ("0.01", "1", "100"):
                told = expected(n, k, epsilon, metric=metric)
                assert told.error <= n - 1


def test_two_rounds_say_one_number_of_every_graph():
    asks = {"n": 3000, "k": 20, "epsilon": "0.5"}
    one, other = (dampen.top_k(edges, **asks).accuracy for edges in (NOBODY, ([5, 5], [6, 7])))
    assert one == other
    assert one.sentence == (
        "In at least 9 of 10 runs 20 nodes that lead every other node by 180 neighbours reach the "
        "second round, which decides."
    )
    assert (one.error, one.unit, one.chance) == (180, "neighbours", False)
    assert dampen.top_k(NOBODY, n=20, k=20, epsilon="1").accuracy == UNKNOWN


@pytest.mark.parametrize(("k", "epsilon"), [(5, "0.3"), (20, "1"), (20, "4")])
def test_nodes_with_the_stated_lead_reach_the_second_round(k, epsilon):
    """False alarms: below 1 in 10^6, five standard errors."""
    n, runs = 3000, 600
    lead = int(expected(n, k, epsilon, mechanism="two-rounds").error)
    d = np.zeros(n, dtype=np.int64)
    found = dict.fromkeys((lead, lead // 2), 0)
    for each in found:
        d[:k] = each
        for seed in range(runs):
            noise = nested_laplace(2 / Fraction(epsilon), FIRST_SHARE, n, InsecureEntropy(seed))[1]
            found[each] += set(largest(d + noise, k).tolist()) == set(range(k))
    assert found[lead] / runs >= 0.9 - 5 * (0.09 / runs) ** 0.5
    assert found[lead // 2] / runs < 0.8


def test_no_accuracy_is_stated_for_other_rankings():
    made = dampen.top_k(NOBODY, n=5, k=1, epsilon="1", mechanism="sld")
    assert made.accuracy == UNKNOWN
