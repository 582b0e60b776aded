"""Schemas: what is read is what was meant; what is wrong is said in one line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dampen.errors import ParameterError
from dampen.questions.classify import Bins, Categories, bins
from dampen.questions.classify.schema import Schema, format_schema, load_schema, parse_schema

TEXT = """
rows = 50_000
[columns.age]
bins = [17, 90, 10]
[columns."marital status"]
values = ["Single", "Married", 3]
[target]
classes = ["<=50K", ">50K"]
"""


def test_a_schema_is_read() -> None:
    schema = parse_schema(TEXT)
    assert schema == Schema(
        rows=50_000,
        columns={
            "age": bins(17, 90, 10),
            "marital status": Categories(("Single", "Married", "3")),
        },
        classes=("<=50K", ">50K"),
    )
    assert list(schema.columns) == ["age", "marital status"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rows = 50_000", "", "rows = N"),
        ("rows = 50_000", "rows = 0", "rows = N"),
        ("rows = 50_000", "row = 5", "Did you mean 'rows'"),
        ("rows = 50_000", "rows = [", "not valid TOML"),
        ("[17, 90, 10]", "[90, 17, 10]", "lower < upper"),
        ("[17, 90, 10]", "[17, 90]", r"bins = \[lower, upper, count\]"),
        ("[17, 90, 10]", "[17, 90, 1.5]", "whole count"),
        ("[17, 90, 10]", "[17, inf, 10]", "lower < upper"),
        ("[17, 90, 10]", "['a', 'b', 10]", "lower < upper"),
        ("[17, 90, 10]", "[17, 90, 1_000_000_000]", "whole count from 1 to 32767"),
        ("[17, 90, 10]", f"[17, 1{'0' * 400}, 10]", "lower < upper"),
        ("[17, 90, 10]", "[17, 90, 10]\nmissing = 'mine'", 'missing = "own"'),
        ("bins = [17, 90, 10]", "edges = [1]", "ascending, finite edges"),
        ("bins = [17, 90, 10]", f"edges = [1, 1{'0' * 400}]", "ascending, finite edges"),
        ("rows = 50_000", f"rows = {'9' * 5000}", "not valid TOML"),
        ("rows = 50_000", f"rows = {'[' * 5000}{']' * 5000}", "not valid TOML"),
        ("rows = 50_000", f"rows = {'9' * 20}", "rows = N"),
        ("bins =", "bin =", "Did you mean 'bins'"),
        ('"Married", 3', '"Single", 3', "occur twice"),
        ('"Married", 3', "1.5", "text or whole numbers"),
        ('["<=50K", ">50K"]', '["<=50K"]', "at least 2"),
        ("classes", "class", "Did you mean 'classes'"),
        ("[target]\nclasses", "[other]\nclasses", "got 'other'"),
        (
            "bins = [17, 90, 10]",
            "bins = [17, 90, 10]\nvalues = ['a']",
            "either bins, edges or values",
        ),
    ],
)
def test_a_mistake_is_one_line(old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(ParameterError, match=message) as caught:
        parse_schema(TEXT.replace(old, new, 1))
    assert "\n" not in str(caught.value)


def test_files(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="No such file"):
        load_schema(tmp_path / "none.toml")
    path = tmp_path / "s.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParameterError, match="not UTF-8"):
        load_schema(path)
    path.write_text(TEXT)
    assert load_schema(path) == parse_schema(TEXT)


words = st.text(st.characters(codec="utf-8"), max_size=8)
own = st.sampled_from([None, "own"])
numbers = st.floats(-1e6, 1e6)
column = st.one_of(
    st.builds(
        lambda a, width, n, missing: bins(a, a + width, n, missing=missing),
        numbers,
        st.floats(1e-3, 1e6),
        st.integers(1, 100),
        own,
    ),
    st.builds(
        lambda edges, missing: Bins(sorted(edges), missing),
        st.sets(numbers, min_size=2).filter(lambda edges: max(edges) - min(edges) > 1e-200),
        own,
    ),
    st.builds(
        lambda values, missing: Categories((*values, None) if missing else values),
        st.lists(words, min_size=1, max_size=4, unique=True).map(tuple),
        own,
    ),
)


@given(
    st.builds(
        Schema,
        rows=st.integers(1, 10**9),
        columns=st.dictionaries(words, column, min_size=1, max_size=4),
        classes=st.lists(words, min_size=2, max_size=4, unique=True).map(tuple),
    )
)
def test_what_is_written_is_read_back(schema: Schema) -> None:
    assert parse_schema(format_schema(schema)) == schema
