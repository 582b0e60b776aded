"""Graphs from objects and files: the same graph from everywhere, and errors that tell no data."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from dampen.data import edges as edge_lists
from dampen.data.edges import TextForm, _load_integers, open_edges, read_nodes
from dampen.errors import DataError, ParameterError
from dampen.questions.nodes.graphs import Graph, egocentric_betweenness, graph_of, load_graph

SRC = [3, 0, 2, 2, 1, 2, 3]
DST = [0, 1, 0, 2, 0, 0, 2]
"""Edges 0-1, 0-2, 0-3, 2-3: one repeated, one turned round, one loop.  Node 4 has none."""
NEIGHBOURS = {0: {1, 2, 3}, 1: {0}, 2: {0, 3}, 3: {0, 2}, 4: set[int]()}


def neighbours(data: Any, nodes: Any = None) -> dict[Any, set[Any]]:
    return neighbours_of(graph_of(data, nodes))


def neighbours_of(graph: Graph) -> dict[Any, set[Any]]:
    rows = np.split(graph.to, graph.first[1:-1])
    return {
        label: {graph.nodes[i] for i in row} for label, row in zip(graph.nodes, rows, strict=True)
    }


def digraph() -> nx.DiGraph:
    graph = nx.MultiDiGraph(zip(SRC, DST, strict=True))
    graph.add_node(4)
    return graph


def matrix() -> sp.csr_matrix:
    entries = sp.coo_matrix((np.ones(len(SRC)), (SRC, DST)), shape=(5, 5))
    return (entries.tocsr() != 0).astype(np.int8)


OBJECTS: dict[str, Callable[[], Any]] = {
    "networkx": digraph,
    "igraph": lambda: igraph.Graph(5, list(zip(SRC, DST, strict=True)), directed=True),
    "scipy matrix": matrix,
    "scipy array": lambda: sp.coo_array(matrix()),
    "lists": lambda: (SRC, DST),
    "arrays": lambda: (np.array(SRC, dtype=np.uint16), np.array(DST, dtype=np.int32)),
    "one array": lambda: np.column_stack([SRC, DST]),
    "pandas": lambda: pd.DataFrame({"a": SRC, "b": DST}),
    "polars": lambda: pl.DataFrame({"a": SRC, "b": DST}),
    "pyarrow": lambda: pa.table({"a": SRC, "b": DST}),
    "named among others": lambda: pd.DataFrame({"when": 7, "Source": SRC, "Target": DST}),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_the_same_graph_from_every_object(kind: str) -> None:
    assert neighbours(OBJECTS[kind](), range(5)) == NEIGHBOURS


@pytest.mark.parametrize("kind", ["networkx", "igraph"])
def test_graph_objects_carry_nodes_that_may_be_data(kind: str) -> None:
    data = OBJECTS[kind]()
    opened = open_edges(data)
    assert opened.nodes is None
    assert opened.carried is not None
    assert set(opened.carried()) == set(range(5))
    assert neighbours(data) == NEIGHBOURS


def test_the_shape_of_a_matrix_states_the_nodes() -> None:
    assert open_edges(matrix()).nodes == range(5)
    assert neighbours(matrix()) == NEIGHBOURS


def lines(separator: str, header: str = "", comment: str = "") -> str:
    rows = [f"{a}{separator}{b}" for a, b in zip(SRC, DST, strict=True)]
    return "".join(f"{line}\n" for line in [comment, header, *rows] if line)


TEXTS = {
    "comma": lines(","),
    "comma and header": lines(",", "from,to"),
    "text above integers": lines(",", "person,friend"),
    "semicolon": lines(" ; ", "source;target"),
    "tab and comments": lines("\t", comment="# Directed graph\n# FromNodeId\tToNodeId\n% done"),
    "blanks": lines("   "),
    "blanks and a comment inside": lines(" ").replace("2 0", "# hello\n\n 2 0 ", 1),
    "carriage returns": lines(",", "id_1,id_2").replace("\n", "\r\n"),
    "no last line end": lines(",").rstrip(),
    "byte order mark": "\ufeff" + lines(",", "source,target"),
    "more columns": "time,src,dst,note\n" + "".join(
        f"9.5,{a},{b},\n" for a, b in zip(SRC, DST, strict=True)
    ),
    "plus signs": lines(",+"),
}  # fmt: skip


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kind", TEXTS)
def test_the_same_graph_from_every_text(kind: str, compressed: bool, tmp_path: Path) -> None:
    file, content = tmp_path / "edges", TEXTS[kind].encode()
    file.write_bytes(gzip.compress(content) if compressed else content)
    assert neighbours(file, range(5)) == NEIGHBOURS
    assert neighbours(str(file)) == {v: near for v, near in NEIGHBOURS.items() if near}


def test_the_same_graph_from_parquet_and_npz(tmp_path: Path) -> None:
    pq.write_table(pa.table({"u": SRC, "v": DST, "kind": ["x"] * len(SRC)}), tmp_path / "edges")
    np.savez(tmp_path / "edges.npz", src=np.array(SRC), dst=np.array(DST), n=5)
    assert neighbours(tmp_path / "edges", range(5)) == NEIGHBOURS
    assert neighbours(tmp_path / "edges.npz") == NEIGHBOURS


def test_labels_come_back_unchanged(tmp_path: Path) -> None:
    pairs = [("Ann Lee", "Bö"), ("Bö", "007")]
    for separator in (",", "\t", ";"):
        (tmp_path / "edges").write_text("".join(f"{a}{separator}{b}\n" for a, b in pairs), "utf-8")
        assert list(neighbours(tmp_path / "edges")) == ["Ann Lee", "Bö", "007"]
    assert neighbours(nx.Graph([((0, 1), (2, 3))])) == {(0, 1): {(2, 3)}, (2, 3): {(0, 1)}}
    for large in (2**63 - 2, 2**64 - 1, 2**80):
        assert neighbours(([large], [5]), [large, 5]) == {large: {5}, 5: {large}}
    unsigned = np.array([2**64 - 1], dtype=np.uint64), np.array([2**53 + 1], dtype=np.uint64)
    assert list(neighbours(unsigned, [2**64 - 1, 2**53 + 1])) == [2**64 - 1, 2**53 + 1]
    assert neighbours(unsigned, [2**64 - 1, 2**53]) == {2**64 - 1: set(), 2**53: set()}
    assert neighbours(([np.int32(1)], [np.int64(0)]), range(2)) == {0: {1}, 1: {0}}
    assert neighbours(pl.DataFrame({"a": ["x"], "b": ["y"]})) == {"x": {"y"}, "y": {"x"}}
    assert neighbours(igraph.Graph.TupleList([("x", "y")])) == {"x": {"y"}, "y": {"x"}}


def test_text_nodes_of_a_file_of_integers_stay_text(tmp_path: Path) -> None:
    (tmp_path / "edges").write_text("007,8\n")
    assert neighbours(tmp_path / "edges", ["007", "8", "9"])["007"] == {"8"}
    assert neighbours(tmp_path / "edges") == {7: {8}, 8: {7}}


def test_quoted_labels_and_a_file_without_edges(tmp_path: Path) -> None:
    (tmp_path / "edges").write_text('source,target\n"Lee, Ann",Bo\n')
    assert neighbours(tmp_path / "edges") == {"Lee, Ann": {"Bo"}, "Bo": {"Lee, Ann"}}
    (tmp_path / "edges").write_text("# nothing\n")
    assert neighbours(tmp_path / "edges", range(2)) == {0: set(), 1: set()}
    with pytest.raises(ParameterError, match="at least one node"):
        graph_of(tmp_path / "edges")


BROKEN = {
    "one,two,three\n1,2,3\n": "two columns",
    "1,2,3\n4,5,6\n": "two columns",
    "alone\n": "two labels in every line",
    "# x\n\nalone\n": "two labels in every line",
    "\0\1\2": "two labels in every line",
    "source,target,weight\n1,2,0.5\n": "unweighted",
}
DROPPED = {
    "integers": [
        "3,secret", "3", "3,", ",3", "3,4,5", "3,99999999999999999999", "1.5,2", "٣,2", "3\r4,5",
        "3;4", "3\0,4", '"3,4"', '"3,4', "x" * 200_000 + ",3", "-", ",", "'3','4'", "1e3,2",
    ],
    "labels": [
        "c", "c,", ",c", "c,d,e", "c\r,d", "c,\0d", "x" * 200_000 + ",c", "x" * 5_000_000, '"c,d',
    ],
}  # fmt: skip
"""Lines that hold no edge, whatever they hold."""


@pytest.mark.parametrize("content", BROKEN)
def test_a_file_of_unknown_form_is_refused_before_it_is_read(content: str, tmp_path: Path) -> None:
    (tmp_path / "edges").write_text(content)
    with pytest.raises(ParameterError, match=BROKEN[content]):
        open_edges(tmp_path / "edges")


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    ("kind", "line"), [(kind, line) for kind, lines in DROPPED.items() for line in lines]
)
def test_a_line_of_another_form_is_dropped(
    kind: str, line: str, place: int, tmp_path: Path
) -> None:
    """At the beginning too: neither the form nor any message depends on it."""
    lines = ["1,2", "3,4", "0,3"] if kind == "integers" else ["a,b", "c,d", "a,d"]
    nodes = range(5) if kind == "integers" else ["a", "b", "c", "d"]
    (tmp_path / "edges").write_text("\n".join(lines))
    expected = neighbours(tmp_path / "edges", nodes), neighbours(tmp_path / "edges")
    lines.insert(place, line)
    (tmp_path / "edges").write_text("\n".join(lines), newline="")
    assert (neighbours(tmp_path / "edges", nodes), neighbours(tmp_path / "edges")) == expected


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="Cannot read"):
        open_edges(tmp_path / "absent")
    with pytest.raises(ParameterError, match="there are none"):
        open_edges(tmp_path)
    edges = np.random.default_rng(1).integers(10**6, size=(300_000, 2))
    cut = gzip.compress("\n".join(f"{a},{b}" for a, b in edges).encode(), 1)[:-20]
    (tmp_path / "cut.gz").write_bytes(cut)
    with pytest.raises(DataError, match="to its end"):
        graph_of(tmp_path / "cut.gz")


@pytest.mark.parametrize("content", ["a,b\nü,x\n", "ü,x\na,b\n", "x,ü\na,b\n"])
def test_an_end_that_cannot_be_decoded_is_dropped(content: str, tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(content.encode("latin-1"))
    assert neighbours(tmp_path / "latin") == {"a": {"b"}, "b": {"a"}}


def test_other_columns_may_hold_anything(tmp_path: Path) -> None:
    notes = [b"", b"gr\xfc\xdfe", b'"a, b"', b'"""a"", b"', b'"open', b"\0"]
    for separator in (b",", b"\t", b";"):
        rows = [separator.join([b"%d" % i, note, b"%d" % (i + 1)]) for i, note in enumerate(notes)]
        head = separator.join([b"source", b"note", b"target"])
        (tmp_path / "edges").write_bytes(b"\n".join([head, *rows]))
        found = neighbours(tmp_path / "edges", range(7))
        assert [found[i] >= {i + 1} for i in range(4)] == [True] * 4, separator


def test_quoted_integers(tmp_path: Path) -> None:
    (tmp_path / "edges").write_text('"source","target"\n"1","2"\n"2",0\n')
    assert neighbours(tmp_path / "edges", range(3)) == {0: {2}, 1: {2}, 2: {0, 1}}


@pytest.mark.parametrize(
    "arrays",
    [{"a": [1]}, {"src": [1], "dst": [1]}, {"src": [1], "dst": [1, 2], "n": 3},
     {"src": [[1]], "dst": [[1]], "n": 3}, {"src": ["x"], "dst": ["y"], "n": 3},
     {"src": [1], "dst": [1], "n": -1},
     {"src": [1], "dst": [1], "n": 2.5}, {"src": [1], "dst": [1], "n": np.inf},
     {"src": [1], "dst": [1], "n": [3]}, {"src": [1], "dst": [1], "n": np.zeros(10_000)}],
    ids=str,
)  # fmt: skip
def test_npz_files_of_another_form(arrays: dict[str, Any], tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", **arrays)
    with pytest.raises(ParameterError, match="src and dst"):
        open_edges(tmp_path / "other.npz")


@pytest.mark.parametrize(
    "data",
    [42, "", (SRC,), sp.csr_matrix((2, 3)), pd.DataFrame({"a": SRC, "b": DST, "c": 1}),
     pd.DataFrame({"source": SRC, "target": DST, "weight": 1.0}), {(0, 1)}, np.zeros((3, 3)),
     (iter(SRC), iter(DST)), (pa.array([[1]]), pa.array([[2]])), ([0, 1], [1]),
     (np.array([True]), [1]), (np.array(["2020-01-01"], "M8[D]"), [1]), (np.array([b"x"]), [1])],
    ids=["number", "empty path", "one column", "not square", "three columns", "weights", "set",
         "three wide", "iterators", "lists as labels", "other lengths", "booleans", "dates",
         "bytes"],
)  # fmt: skip
def test_inputs_of_unknown_form(data: Any) -> None:
    with pytest.raises(ParameterError, match=r"Expected|Cannot read"):
        open_edges(data)


def test_columns_that_are_called_like_the_parts_of_a_graph() -> None:
    assert neighbours(pd.DataFrame({"nodes": SRC, "edges": DST}), range(5)) == NEIGHBOURS


def test_ends_by_name(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": 1.5, "a": SRC, "b": DST})
    frame.to_csv(tmp_path / "edges.csv", index=False)
    for data in (frame, tmp_path / "edges.csv"):
        opened = open_edges(data, source="a", target="b")
        assert neighbours_of(load_graph(opened, range(5))) == NEIGHBOURS
    with pytest.raises(ParameterError, match="both source= and target="):
        open_edges(frame, source="a")


def test_a_list_is_one_of_edges_and_a_tuple_is_two_columns() -> None:
    assert neighbours([(0, 2), (1, 2)], range(3)) == {0: {2}, 1: {2}, 2: {0, 1}}
    assert neighbours([[0, 2], [1, 2]], range(3)) == {0: {2}, 1: {2}, 2: {0, 1}}
    assert neighbours(((0, 2), (1, 2)), range(3)) == {0: {1}, 1: {0}, 2: set()}
    assert neighbours(([0, 2], [1, 2]), range(3)) == {0: {1}, 1: {0}, 2: set()}
    assert neighbours([np.array([0, 1]), ("a", "b")], [0, 1, "a", "b"])["a"] == {"b"}
    assert neighbours([], range(2)) == {0: set(), 1: set()}
    assert neighbours([(0, 2), (1, 2)]) == {0: {2}, 1: {2}, 2: {0, 1}}
    odd = [(0,), (0, 1, 2), 5, None, "01", {0: 1}, (0, None), ([0], 1)]
    assert neighbours([(0, 2), *odd], range(3)) == neighbours([(0, 2)], range(3))


@pytest.mark.parametrize("entry", [2, 0.5, -1, np.inf], ids=str)
def test_every_entry_of_a_matrix_is_an_edge(entry: float) -> None:
    assert neighbours(sp.csr_matrix([[0, entry], [0, 0]])) == {0: {1}, 1: {0}}
    missing = sp.coo_matrix(([np.nan, 0.0], ([0, 1], [1, 0])), shape=(2, 2))
    assert neighbours(missing) == {0: set(), 1: set()}


def test_node_files(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("# all\n3\n1\n\n2\n")
    assert read_nodes(tmp_path / "nodes") == [3, 1, 2]
    (tmp_path / "nodes").write_text("x y\n 1 \n")
    assert read_nodes(tmp_path / "nodes") == ["x y", "1"]
    (tmp_path / "nodes").write_text("9" * 5000)
    assert read_nodes(tmp_path / "nodes") == ["9" * 5000]
    with pytest.raises(ParameterError, match="Cannot read"):
        read_nodes(tmp_path / "absent")


def test_betweenness_takes_files(tmp_path: Path) -> None:
    (tmp_path / "edges").write_text("a b\na c\n")
    assert egocentric_betweenness(tmp_path / "edges") == {"a": 1, "b": 0, "c": 0}


LINES = [
    *("1\t2", "1 2", "1,2", " 1\t2", "1\t2 ", "1\t2\r", "", "# 1\t2", "-1\t2", "+3\t4", "1\t\t2"),
    *("1\t123456789012345678", "1\t9223372036854775807", "007\t8", "1\t2\t3", "1", "x\t2", "1\t"),
]
"""Edges as they are written, and what is none."""


@pytest.mark.parametrize("separator", ["\t", ",", ""])
def test_plain_lines_are_read_as_the_others_are(separator: str) -> None:
    """Every odd line beside a plain one: the short cut changes nothing about what is accepted."""
    plain = f"5{separator or ' '}6"
    for odd in LINES:
        content = f"{plain}\n{odd}\n{plain}".encode()
        form = TextForm(separator, 0, 2, (0, 1), True)
        src, dst = _load_integers(content, form)
        assert list(zip(src.tolist(), dst.tolist(), strict=True)) == by_words(content, separator)


def by_words(content: bytes, separator: str) -> list[tuple[int, int]]:
    """The same by Python's own means."""
    edges = []
    for line in content.decode().split("\n"):
        if not line.strip() or line.strip()[0] in "#%":
            continue
        words = line.split(separator) if separator == "," else line.split()
        if len(words) == 2 and all(re.fullmatch("[+-]?[0-9]+", w.strip()) for w in words):
            edges.append((int(words[0]), int(words[1])))
    return edges


def test_a_text_in_parts_is_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    ends = rng.integers(0, 10 ** rng.integers(1, 12, (500, 1)), (500, 2))
    content = "\n".join(f"{a},{b}" for a, b in ends.tolist()).encode()
    form = TextForm(",", 0, 2, (0, 1), True)
    monkeypatch.setattr(edge_lists, "PART", 100)
    for cores in (1, 2, 7, 64):
        monkeypatch.setattr(edge_lists.os, "cpu_count", lambda cores=cores: cores)
        assert np.array_equal(np.stack(_load_integers(content, form), axis=1), ends)
        assert np.array_equal(np.stack(_load_integers(content + b"\n1,x", form), axis=1), ends)


def test_one_column_cannot_hold_both_ends(tmp_path):
    file = tmp_path / "edges.csv"
    file.write_text("a,b,c\n1,2,3\n")
    with pytest.raises(ParameterError, match="two columns for the ends of edges, got 'a' twice"):
        open_edges(file, source="a", target="a")
