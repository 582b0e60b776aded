"""Rows and what is counted from them, against sets of neighbours, whatever holds the edges."""

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest

from dampen.core.selection import IntArray
from dampen.questions.nodes import graphs
from dampen.questions.nodes.graphs import graph_of, rows_of
from dampen.questions.nodes.two_rounds import counts_around, oriented_degrees

Ends = tuple[np.ndarray, np.ndarray]
rng = np.random.default_rng(7)


def neighbours(src: np.ndarray, dst: np.ndarray, n: int) -> list[list[int]]:
    """The definition: sorted sets."""
    near: list[set[int]] = [set() for _ in range(n)]
    for u, v in zip(src.tolist(), dst.tolist(), strict=True):
        if u != v:
            near[u].add(v)
            near[v].add(u)
    return [sorted(row) for row in near]


def multigraphs() -> Iterator[tuple[str, Ends, int]]:
    """Loops, repeats, both directions, nodes without edges and hubs, in any order and sorted."""
    for n, m in ((1, 0), (1, 5), (2, 40), (7, 0), (50, 30), (90, 600), (300, 4000)):
        src = (rng.integers(0, n, m) * rng.random(m) ** 2).astype(np.int32)
        dst = rng.integers(0, n, m).astype(np.int32)
        yield "any order", (src, dst), n
        yield "both directions", (np.append(src, dst), np.append(dst, src)), n
        low, high = np.minimum(src, dst), np.maximum(src, dst)
        order = np.lexsort((high, low))
        low, high = low[order], high[order]
        yield "sorted", (low, high), n
        codes = np.unique(low[low < high].astype(np.int64) * n + high[low < high])
        once = (codes // n).astype(np.int32), (codes % n).astype(np.int32)
        yield "sorted, each once", once, n
        yield "sorted by the higher end", (once[1], once[0]), n
        if len(codes):
            for last in ((codes[-1] // n, codes[-1] % n), (n - 1, n - 1), (codes[0] % n, 0)):
                ends = (np.append(end, np.int32(e)) for end, e in zip(once, last, strict=True))
                yield "sorted but for the last", (next(ends), next(ends)), n


SIZES = [
    *((1 << 20, 1 << 16, 14, 1, 500), (1 << 20, 1 << 16, 14, 1, 0)),
    *((64, 32, 3, 2, 0), (7, 5, 5, 7, 0), (1, 1, 1, 3, 0)),
]


@pytest.fixture(params=SIZES, ids=str)
def _sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One part or many, a bucket for all or for a few edges, one thread or several."""
    part, bucket, bits, cores, few = request.param
    monkeypatch.setattr(graphs, "FEW", few)
    monkeypatch.setattr(graphs, "PART", part)
    monkeypatch.setattr(graphs, "BUCKET", bucket)
    monkeypatch.setattr(graphs, "CELL_BITS", bits)
    monkeypatch.setattr(graphs, "cores", lambda: cores)


@pytest.mark.usefixtures("_sizes")
def test_rows_are_sorted_sets_of_neighbours() -> None:
    for kind, (src, dst), n in multigraphs():
        expected, before = neighbours(src, dst, n), (src.copy(), dst.copy())
        made = rows_of(src, dst, n)
        assert made.degrees.tolist() == list(map(len, expected)), kind
        for _ in range(2):  # from the edges, and from whole rows
            higher = [
                sorted(made.half[2][a:b].tolist()) for a, b in zip(*made.half[:2], strict=True)
            ]
            assert higher == [[v for v in row if v > u] for u, row in enumerate(expected)], kind
            first, to = made.whole
            assert first.tolist() == [0, *np.cumsum(list(map(len, expected))).tolist()], kind
            assert to.tolist() == [v for row in expected for v in row], kind
        assert np.array_equal((src, dst), before), kind


def brute_counts(near: list[list[int]], nodes: IntArray, length: int, whole: bool) -> Any:
    out = set() if whole else set(nodes.tolist())
    lists = [set([v for v in row if v not in out][:length]) for row in near]
    counts = []
    for c in nodes.tolist():
        outside = [v for v in near[c] if v not in out]
        edges = [
            (y, z) for y in outside for z in outside if y < z and z in lists[y] and y in lists[z]
        ]
        counts.append((len(outside), len(edges)))
    return counts


@pytest.mark.usefixtures("_sizes")
@pytest.mark.parametrize("whole", [False, True])
def test_counts_from_half_rows_and_from_whole_ones(whole: bool) -> None:
    """Also for more nodes than a word has bits."""
    graph = nx.powerlaw_cluster_graph(200, 8, 0.5, seed=3)
    ends = rng.permutation(np.array(graph.edges))
    src, dst = np.append(ends[:, 0], ends[:50, 1]), np.append(ends[:, 1], ends[:50, 0])
    near = neighbours(src, dst, 210)
    level = rng.integers(0, 9, 210)
    below = [sum((level[u], u) < (level[v], v) for u in near[v]) for v in range(210)]
    for size, length in ((1, 3), (30, 1), (64, 6), (65, 20), (150, 9), (210, 400)):
        nodes = rng.permutation(210)[:size]
        expected = brute_counts(near, nodes, length, whole)
        made = graph_of((src, dst), range(210))
        for _ in range(2):
            found = np.stack(counts_around(nodes, length, made, whole=whole), axis=1)
            assert list(map(tuple, found.tolist())) == expected
            assert oriented_degrees(made, level).tolist() == below
            _ = made.to


def test_an_interrupt_leaves_nothing_half_done(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(graphs, "PART", 100)
    monkeypatch.setattr(graphs, "BUCKET", 100)
    monkeypatch.setattr(graphs, "cores", lambda: 3)
    graph = nx.barabasi_albert_graph(500, 4, seed=1)
    made, chosen = graph_of(graph), np.arange(20)
    before = counts_around(chosen, 9, made)
    with monkeypatch.context() as patch:
        patch.setattr(graphs, "_watch", interrupted)
        for ask in (lambda: graph_of(graph), lambda: counts_around(chosen, 9, made)):
            with pytest.raises(KeyboardInterrupt):
                ask()
    assert np.array_equal(counts_around(chosen, 9, made), before)
    assert np.array_equal(graph_of(graph).to, made.to)


def stored(column: list[int], kind: str) -> np.ndarray:
    if kind == "every second":
        return np.repeat(np.array(column, dtype=np.int32), 2)[::2]
    if kind == "not aligned":
        return np.frombuffer(b"x" + np.array(column, dtype=np.int32).tobytes(), np.int32, offset=1)
    array = np.array(
        column, dtype=">i4" if kind == "other byte order" else kind.removesuffix(" read-only")
    )
    array.flags.writeable = not kind.endswith("read-only")
    return array


@pytest.mark.parametrize(
    "kind",
    ["int8", "int32", "int32 read-only", "int64", "int64 read-only", "uint32", "every second",
     "not aligned", "other byte order"],
)  # fmt: skip
def test_arrays_however_they_are_stored(kind: str) -> None:
    src, dst = [3, 0, 2, 2, 1, 2, 3], [0, 1, 0, 2, 0, 0, 2]
    ends = stored(src, kind), stored(dst, kind)
    made = graph_of(ends, range(5))
    assert made.degrees.tolist() == [3, 1, 2, 2, 0]
    assert made.to.tolist() == [1, 2, 3, 0, 0, 3, 0, 2]
    assert [end.tolist() for end in ends] == [src, dst]


@pytest.mark.parametrize("large", [5, 2**31 + 1, 2**32 + 1, 2**40, -1, -(2**32) + 1])
def test_ids_that_would_wrap_are_dropped(large: int) -> None:
    for ends in (([0, large], [1, 2]), ([0, 2], [1, large])):
        made = graph_of(tuple(np.array(end) for end in ends), range(5))
        assert made.degrees.tolist() == [1, 1, 0, 0, 0]


def test_a_graph_does_not_change_with_the_arrays_that_it_came_from() -> None:
    src, dst = np.array([0, 1, 2], dtype=np.int32), np.array([1, 2, 3], dtype=np.int32)
    made = graph_of((src, dst), range(4))
    src[:], dst[:] = 3, 0
    assert made.to.tolist() == [1, 0, 2, 1, 3, 2]
    with pytest.raises(ValueError, match="read-only"):
        made.degrees[0] = 7
