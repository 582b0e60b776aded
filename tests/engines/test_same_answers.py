"""Wherever the data lives, counts are those of memory, and so is the answer to the same bits."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from dampen.data import files
from dampen.questions.classify import growing
from engines import holders, questions


@pytest.fixture(params=holders.HOLDERS)
def hold(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[holders.Hold]:
    with holders.HOLDERS[request.param](tmp_path) as hold:
        yield hold


@pytest.fixture(autouse=True)
def stream_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files would be held."""
    monkeypatch.setattr(files, "MOST_HELD", 0)


@pytest.mark.parametrize("question", questions.ABOUT_WINE, ids=lambda q: q.__name__)
def test_about_a_table(question, hold: holders.Hold) -> None:
    wine = questions.wine()
    assert question(*hold(wine)) == question(wine, {})


@pytest.mark.parametrize(
    "question", [*questions.ABOUT_WINE, *questions.ABOUT_FRIENDS], ids=lambda q: q.__name__
)
def test_duckdb_without_pyarrow(question, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = questions.wine() if question in questions.ABOUT_WINE else questions.friends()
    expected = question(data, {})
    with holders.HOLDERS["duckdb"](tmp_path) as hold:
        held, options = hold(data)
        monkeypatch.setattr("dampen.data.source.find_spec", lambda name: None)
        assert question(held, options) == expected


def test_about_many_labels(hold: holders.Hold) -> None:
    many = questions.many_wines()
    for ask in (questions.percentile_of_many, questions.percentile_of_many_whole_numbers):
        assert ask(*hold(many)) == ask(many, {})


@pytest.mark.parametrize("question", questions.ABOUT_FRIENDS, ids=lambda q: q.__name__)
def test_about_a_graph(question, hold: holders.Hold) -> None:
    assert question(*hold(questions.friends())) == question(questions.friends(), {})


def test_labels_of_nodes_are_compared_as_in_memory(hold: holders.Hold) -> None:
    numbers, names = questions.friends(), questions.named_friends()
    expected = questions.degrees_of_names(names, {})
    assert questions.degrees_of_names(*hold(names)) == expected
    assert questions.degrees_as_text(*hold(numbers)) == expected


BAD_EDGES = {
    "integers": [(34, 0), (-1, 2), (None, 5), (6, None), (2**40, 1), (2**32, 3), (-(2**63), 1)],
    "floats": [(0.5, 1.0), (float("nan"), 2.0), (1.0, float("inf")), (None, 3.0), (1e300, 0.0)],
    "text": [("x", "0"), ("", "1"), (None, "2"), ("1.5", "3"), ("9" * 30, "4"), ("\u0663", "5")],
}


@pytest.mark.parametrize("kind", BAD_EDGES)
def test_rows_that_join_no_two_nodes_are_dropped(hold: holders.Hold, kind: str) -> None:
    """The graph, the degrees and the answers for equal bits are those without these growing."""
    friends = questions.friends()
    ask = [questions.edges, questions.top_k, questions.degrees]
    expected = [question(friends, {}) for question in ask]
    arrow = {"integers": pa.int64(), "floats": pa.float64(), "text": pa.string()}[kind]
    bad = [pa.array(column, arrow) for column in zip(*BAD_EDGES[kind], strict=True)]
    table = pa.table(
        {
            name: pa.chunked_array([more, friends[name].combine_chunks().cast(arrow), more])
            for name, more in zip("ab", bad, strict=True)
        }
    )
    if kind == "integers":
        ask[-1] = questions.degrees_as_text
        expected[-1] = expected[-1][:34]
    assert [question(*hold(table)) for question in ask] == expected


def test_a_level_of_a_tree_is_one_question(
    hold: holders.Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Depth d: d passes, and one where there is no split at all."""
    asked = []
    count = growing.StreamedRows._count
    monkeypatch.setattr(
        growing.StreamedRows, "_count", lambda *a, **k: asked.append(1) or count(*a, **k)
    )
    questions.tree(*hold(questions.wine()))
    depths = [depth for _, depth in questions.TREES]  # those of the paper may stop earlier
    assert sum(max(1, depth) for depth in depths[:2]) < len(asked)
    assert len(asked) <= sum(max(1, depth) for depth in depths)


def test_empty_tables(hold: holders.Hold) -> None:
    wine = questions.wine()
    empty, where = hold(wine[:0])
    assert sum(questions.category_counts(empty, where)) == 0
    none = pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())})
    assert questions.degrees(*hold(none)) == [0] * 40
