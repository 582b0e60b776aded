"""Directed edges whose sources are protected, with all their edges: in-degrees by sources."""

import math
from fractions import Fraction
from itertools import permutations, product

import networkx
import numpy as np
import pytest

import dampen
from dampen.core.mechanisms import PF, probabilities
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import Neighbours
from dampen.questions.frequency import (
    ALL_IN_FULL_FROM,
    CHOICE,
    ChosenNames,
    FrequencyQuestion,
    distinct_selection,
)
from dampen.questions.nodes.graphs import graph_of
from goodness import assert_draws_follow, counts_of, draw_many

rng = np.random.default_rng(4)
SOURCE = rng.integers(0, 12, 60)
TARGET = rng.choice(4, 60, p=[0.1, 0.2, 0.3, 0.4])
DEGREES = np.array([len(set(SOURCE[node == TARGET])) for node in range(4)])


def asked(data=(SOURCE, TARGET), **options):
    return dampen.top_k(data, n=4, metric="indegree", unit="source", **options)


def law(degrees, epsilon, k=1):
    """Of one node, or of every sequence of two: permute-and-flip at ε/k each."""
    share = Fraction(epsilon) / k

    def first(nodes):
        return probabilities(distinct_selection(degrees[nodes]), epsilon=share, mechanism=PF)

    everyone = list(range(4))
    if k == 1:
        return first(everyone)
    made = []
    for one, other in permutations(everyone, 2):
        left = [node for node in everyone if node != one]
        made.append(first(everyone)[one] * first(left)[left.index(other)])
    return np.array(made)


@pytest.mark.parametrize("k", [1, 2])
def test_nodes_are_drawn_as_enumerated(k):
    bits = InsecureEntropy(7, allow_release=True)
    found = draw_many(lambda: tuple(asked(k=k, epsilon="0.5", entropy=bits).answer), 800)
    outcomes = [(node,) for node in range(4)] if k == 1 else list(permutations(range(4), 2))
    assert_draws_follow(counts_of(found, outcomes), law(DEGREES, "0.5", k), law(DEGREES, "0.05", k))


def test_a_source_with_all_edges_changes_no_law_by_more():
    """One more source with 10^6 edges to all nodes, repeated."""
    more = np.r_[SOURCE, np.full(10**6, 99)], np.r_[TARGET, np.arange(10**6) % 4]
    degrees = np.array([len(np.unique(more[0][node == more[1]])) for node in range(4)])
    assert (degrees - DEGREES == 1).all()
    for some in ([0], [1, 3], [0, 2, 3]):
        with_some = DEGREES.copy()
        with_some[some] += 1
        for k in (1, 2):
            moved = np.log(law(with_some, 1, k)) - np.log(law(DEGREES, 1, k))
            assert np.abs(moved).max() <= 1 + 1e-9
    assert asked(more, k=4, epsilon=50).parameters["counted"] == "people"


@pytest.mark.parametrize("kind", ["pairs", "table", "csv", "networkx", "text"])
def test_any_list_of_directed_edges(kind, tmp_path):
    pairs = list(zip(SOURCE.tolist(), TARGET.tolist(), strict=True))
    options = {}
    data = pairs
    if kind == "table":
        data = {"source": [f"u{i}" for i in SOURCE], "target": TARGET}
        options = {"source": "source", "target": "target"}
    elif kind == "csv":
        data = tmp_path / "edges.csv"
        data.write_text("source,target\n" + "\n".join(f"{a},{b}" for a, b in pairs))
    elif kind == "networkx":
        data = networkx.DiGraph([(f"u{a}", b) for a, b in pairs])
    elif kind == "text":
        data = ([f"u{a}" for a, _ in pairs], [f"t{b}" for _, b in pairs])
        made = dampen.top_k(data, nodes=["t0", "t1", "t2", "t3"], metric="indegree", unit="source",
                            k=4, epsilon=400)  # fmt: skip
        assert [DEGREES[int(name[1])] for name in made.answer] == sorted(DEGREES)[::-1]
        return
    made = asked(data, k=4, epsilon=400, **options)
    assert [DEGREES[node] for node in made.answer] == sorted(DEGREES)[::-1]
    assert made.neighbours is Neighbours.ADD_REMOVE_UNIT
    assert made.protects == "one source, with all its edges"


def test_many_names_come_from_one_draw_of_weights():
    source = rng.integers(0, 3000, 9000)
    target = rng.integers(0, 200, 9000) ** 2 // 200
    given = {"n": 200, "k": 20, "metric": "indegree", "unit": "source"}
    bits = InsecureEntropy(3, allow_release=True)
    made = dampen.top_k((source, target), **given, epsilon="0.005", entropy=bits)
    assert made.mechanism == "ranking"
    assert made.parameters["groups_per_unit"] == 1
    assert made.epsilon == Fraction(1, 200)
    assert made.numbers is None
    assert len(set(made.answer)) == 20
    few = dampen.top_k((source, target), **given, epsilon=100, entropy=bits)
    assert few.parameters["groups_per_unit"] == 20


def chance_of_all_in_full(kth, epsilon, k=3, n=4, factor=1):
    """P(the noisy level is high enough)."""
    scale = float(CHOICE) * epsilon * factor
    least = math.ceil(ALL_IN_FULL_FROM * k * math.log(n) / epsilon - 1e-12) - kth
    a = math.exp(-scale)
    return a**least / (1 + a) if least > 0 else 1 - a ** (1 - least) / (1 + a)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_which_way_is_taken_loses_its_share_alone(epsilon):
    """For every k-th count, which a person moves by 1 at most; a twin with less noise fails."""
    share = epsilon * float(CHOICE)
    for factor, holds in ((1, True), (1.2, False)):
        p = np.array([chance_of_all_in_full(t, epsilon, factor=factor) for t in range(400)])
        steps = np.concatenate([np.diff(np.log(p[p > 0])), np.diff(np.log1p(-p[p < 1 - 1e-9]))])
        assert (np.abs(steps).max() <= share * (1 + 1e-6)) == holds


def test_a_source_moves_the_kth_count_by_one_at_most():
    """All sources with any targets: counts rise by 0 or 1, and so does each order statistic."""
    for counts in product(range(3), repeat=4):
        for moved in product(range(2), repeat=4):
            change = np.sort(np.add(counts, moved)) - np.sort(counts)
            assert set(change.tolist()) <= {0, 1}


def test_ways_are_taken_as_enumerated():
    """1,200 draws with injected bits."""
    bits = InsecureEntropy(9, allow_release=True)
    epsilon = 0.4
    kth = int(np.sort(DEGREES)[-3])
    asks = [asked(k=3, epsilon="0.4", entropy=bits) for _ in range(1200)]
    law = chance_of_all_in_full(kth, epsilon)
    assert 0.2 < law < 0.8
    seen = sum(made.parameters["groups_per_unit"] == 3 for made in asks)
    assert abs(seen - 1200 * law) < 6 * math.sqrt(1200 * law * (1 - law))


def test_other_metrics_are_refused_with_the_nearest_question():
    for metric in ("betweenness", "degree", "pagerank"):
        with pytest.raises(dampen.ParameterError, match="metric='indegree'"):
            dampen.top_k((SOURCE, TARGET), n=4, metric=metric, unit="source", epsilon=1)
    graph = graph_of((SOURCE, TARGET))
    with pytest.raises(dampen.ParameterError, match="like any other node"):
        dampen.top_k(graph, metric="indegree", unit="source", epsilon=1)
    with pytest.raises(dampen.ParameterError, match="public nodes"):
        dampen.top_k((SOURCE, TARGET), metric="indegree", unit="source", epsilon=1)
    with pytest.raises(dampen.ParameterError, match="unit='edge' or unit='source'"):
        dampen.top_k((SOURCE, TARGET), n=4, unit="node", epsilon=1)


def test_a_data_set_of_edges():
    data = {"source": [f"u{i}" for i in SOURCE], "target": TARGET}
    edges = dampen.dataset(
        data, unit="source", nodes=4, source="source", target="target",
        columns={"target": [0, 1, 2, 3]},
    )  # fmt: skip
    best = edges.top_k(metric="indegree", epsilon=50).answer
    assert DEGREES[best] == DEGREES.max()
    assert DEGREES[edges.most_frequent("target", epsilon=50).answer] == DEGREES.max()
    assert (
        dampen.most_frequent(
            data, "target", categories=range(4), unit="source", epsilon=50
        ).protects
        == "one source, with all its edges"
    )


def test_in_degrees_where_edges_are_protected():
    """One edge changes one in-degree; listed in both directions, two."""
    made = dampen.top_k((SOURCE, TARGET + 12), n=16, k=2, metric="indegree", epsilon=50)
    assert made.neighbours is Neighbours.ADD_REMOVE_EDGE
    assert sorted(DEGREES[np.array(made.answer) - 12]) == sorted(DEGREES)[-2:]


@pytest.mark.parametrize(("n", "k"), [(4, 3), (200, 3), (200, 20), (5000, 50)])
def test_the_stated_accuracy_holds_whatever_counts_in_full(n, k):
    """With T above the stated number, all count in full and no noise is larger in 9 runs of 10."""
    question = FrequencyQuestion(value="target", categories=range(n), k=k)
    stated = ChosenNames(question, "source").accuracy(Fraction(1, 2), None).error
    kth = math.ceil(stated)
    not_all = 1 - chance_of_all_in_full(kth, 0.5, k=k, n=n)
    too_noisy = n * math.exp(-stated * 0.5 * float(1 - CHOICE) / k)
    assert not_all + too_noisy <= 0.1
