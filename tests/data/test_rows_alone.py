"""Every row by itself, in every kind of column: one odd cell has no say in what others are read as.

Rows are opened with and without an odd one.  What questions read of the others, as numbers, labels,
keys, dates, conditions, nodes and ids, has to be the same, and nothing may raise an error.
"""

import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dampen
from dampen.data import columns, expressions, memory, units
from dampen.data.cells import Numbering
from dampen.data.cells import as_labels as as_nodes
from dampen.data.open import open_table
from dampen.data.source import Opened
from dampen.errors import MISSING, OTHER, ParameterError
from dampen.questions.keys import tally

MOST = 40
"""Odd cells that are tried of a kind."""


class Raises:
    """Raises whatever it is asked."""

    def __hash__(self) -> int:
        return 1

    def __eq__(self, _: object) -> bool:
        raise RuntimeError

    def __str__(self) -> str:
        raise RuntimeError

    def __float__(self) -> float:
        raise RuntimeError


class Liar:
    """Equals whatever has its hash."""

    def __init__(self, of: Any) -> None:
        self.of = of

    def __hash__(self) -> int:
        return hash(self.of)

    def __eq__(self, _: object) -> bool:
        return True


class Whole(int):
    """A whole number of a class of its own."""

    def __int__(self) -> int:
        return 10**5000

    def __eq__(self, _: object) -> bool:
        return True

    def __hash__(self) -> int:
        return int.__hash__(self)


class Word(str):
    """A text that cannot be compared."""

    def __eq__(self, _: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        return str.__hash__(self)


NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)
OBJECTS: list[Any] = [
    *(None, True, False, 1, 0, 1.0, 2.5, -0.0, 0.0, float("nan"), float("inf"), 10**20, 2**63),
    *(2**53 + 1, 10**400, 10**5000, "a", "b", "1", "1.0", "", "\ud800", "a\x00b", "\ufffd"),
    *("9" * 5000, "a\u0301", "2020-01-01", "True", "1e999", b"1", b"\xff", bytearray(b"1")),
    *(Decimal("1.50"), Decimal("sNaN"), Decimal("1e999999"), Decimal("-0"), Fraction(1, 3)),
    *(1 + 0j, date.max, NOON, NOON.astimezone(timezone(timedelta(hours=8))), datetime(2020, 1, 1)),
    *(timedelta.max, pd.NA, np.datetime64("NaT"), np.datetime64("30000-01-01")),
    *(np.datetime64(2**62, "Y"), np.bool_(True), np.timedelta64(1), np.timedelta64(1, "D")),
    *(np.int8(1), np.float16(1), np.longdouble("0.1"), np.str_("a"), np.array(1)),
    *(np.array([1, 2]), np.ma.masked, [1], (), (1,), (None,), {"a": 1}),
    *(Raises(), Liar("a"), Liar(1), Whole(1), Word("a"), Word(""), pd.Timestamp(1)),
    pd.Period("2020"),
]  # fmt: skip
TEXTS = ["a", "b", "", None, "1", "1e999", "a\x00b", "a\u0301", "2020-01-01", "nan", "\ufffd"]
FLOATS = [0.0, -0.0, 1.0, float("nan"), float("inf"), 5e-324, 2.5, None]
WORDS = [0, 1, -1, -(2**63), 2**63 - 1, 2**62, 10**15, 18262, 1577836800]
"""Moments of every unit, beyond Python's calendar and within."""
BYTES = [b"a", b"", b"\xff", b"\xfe", b"1", None]


def objects(cells: Sequence[Any]) -> Any:
    return np.fromiter(cells, dtype=object, count=len(cells))


def in_numpy(kind: str, cells: Sequence[Any]) -> Any:
    return {"c": np.array(cells, dtype=kind)}


def moments(kind: str, cells: Sequence[Any]) -> Any:
    return {"c": np.array(cells, dtype="i8").view(kind)}


def in_arrow(kind: Any, cells: Sequence[Any]) -> Any:
    return pa.table({"c": pa.array(cells, kind)})


def viewed(kind: Any, cells: Sequence[Any]) -> Any:
    return pa.table({"c": pa.array(cells, pa.int64()).view(kind)})


def undecodable(kind: Any, cells: Sequence[Any]) -> Any:
    large = kind == pa.large_string()
    return pa.table({"c": pa.array(cells, pa.large_binary() if large else pa.binary()).view(kind)})


def coded(kind: Any, cells: Sequence[Any]) -> Any:
    """Chunks with a dictionary each."""
    chunks = [pa.array([cell], kind).dictionary_encode() for cell in cells]
    return pa.table({"c": pa.chunked_array(chunks)})


def in_pandas(kind: Any, cells: Sequence[Any]) -> Any:
    return pd.DataFrame({"c": pd.Series(objects(cells), dtype=object).astype(kind)})


def in_polars(kind: Any, cells: Sequence[Any]) -> Any:
    return pl.DataFrame({"c": pl.Series(cells, dtype=kind)})


ZONES = (None, "UTC", "Europe/Berlin")
UNITS = ("s", "ms", "us", "ns")
HOLDERS: dict[str, tuple[Callable[[Sequence[Any]], Any], Sequence[Any]]] = {
    "list": (lambda cells: {"c": list(cells)}, OBJECTS),
    "objects": (lambda cells: {"c": objects(cells)}, OBJECTS),
    "pandas": (partial(in_pandas, object), OBJECTS),
    "categories of objects": (
        lambda cells: pd.DataFrame({"c": pd.Categorical(pd.Series(objects(cells), dtype=object))}),
        ["a", "1", "1e999", "\ud800", "", True, b"1", date(2020, 1, 1), 7.5, Decimal("3.5"), "2.5"],
    ),
    "numpy text": (partial(in_numpy, "U5"), ["a", "", "b", "1", "\ud800", "nan"]),
    "numpy strings": (lambda c: {"c": np.array(c, np.dtypes.StringDType(na_object=None))}, TEXTS),
    "numpy floats": (partial(in_numpy, "f8"), FLOATS[:-1]),
    "numpy wide floats": (partial(in_numpy, "g"), FLOATS[:-1]),
    **{f"M8[{u}]": (partial(moments, f"M8[{u}]"), WORDS) for u in ("Y", "M", "h", *UNITS, "ps")},
    **{f"m8[{u}]": (partial(moments, f"m8[{u}]"), WORDS) for u in ("D", "s", "ns", "ps")},
    "pandas nullable": (partial(in_pandas, "Float64"), [0.0, -0.0, 1.5, None]),
    "polars categories": (partial(in_polars, pl.Categorical), TEXTS),
    "polars decimals": (partial(in_polars, pl.Decimal(9, 2)), [Decimal("1.50"), Decimal(0), None]),
    "arrow text": (partial(in_arrow, pa.string()), TEXTS),
    "arrow views": (partial(in_arrow, pa.string_view()), TEXTS),
    "arrow halves": (partial(in_arrow, pa.float16()), [0.0, -0.0, 1.0, None, float("nan")]),
    "arrow whole": (partial(in_arrow, pa.uint64()), [0, 1, 2**64 - 1, None]),
    "arrow nulls": (partial(in_arrow, pa.null()), [None]),
    "arrow codes": (partial(coded, pa.string()), TEXTS),
    "arrow float codes": (partial(coded, pa.float64()), FLOATS),
    "bytes as text": (partial(undecodable, pa.string()), BYTES),
    "bytes as long text": (partial(undecodable, pa.large_string()), BYTES),
    **{
        f"arrow {u} {z}": (partial(viewed, pa.timestamp(u, z)), WORDS) for u in UNITS for z in ZONES
    },
    **{f"arrow span {u}": (partial(viewed, pa.duration(u)), WORDS) for u in UNITS},
}
LISTS: tuple[Sequence[Any], ...] = (
    ("a", "b"), ("1", "a", MISSING, OTHER), (0, 1, 2, MISSING, OTHER), (1.0, 2.5), (True, False),
    (date(2020, 1, 1), NOON, timedelta(1)), (Decimal("1.5"), 2**53 + 1),
)  # fmt: skip
NODES = ([1, 2, 3], ["a", "1", "b"], range(3), [1, "a", 10**20])
CONDITIONS = ("c > 1", "c == 'a'", "c is missing", "c in [1, 2]", "c <= '2020-01-02'", "c - 1 < c")


def shown(cell: Any) -> Any:
    """A cell so that equal ones are alike in value and type."""
    if isinstance(cell, float | np.floating):
        return "nan" if cell != cell else repr(float(cell))
    plain = isinstance(cell, int | str | bytes | Decimal | Fraction | date | timedelta | bool)
    return (type(cell), str(cell)) if plain else type(cell)


def readings(opened: Opened) -> dict[str, list[Any]]:
    """What is read of every row, as every question would read it."""
    [field] = opened.fields
    known = field.holds is not None
    found: dict[str, list[Any]] = {}

    def read(name: str, kind: Any, of: Callable[[Any], Any]) -> None:
        pieces = [of(batch["c"]) for batch in opened.batches({"c": kind})]
        found[name] = [shown(cell) for piece in pieces for cell in piece]

    if field.holds != "labels":
        read("numbers", "numbers", columns.as_numbers)
    for measure in ("date", "time", "duration", "truth"):
        read(measure, "any", partial(columns.as_measured, measure=measure))
    for i, labels in enumerate(LISTS):
        lookup = columns.Lookup(labels)
        read(f"labels {i}", lookup.kind, lookup.positions)
    read("keys", "any", lambda c: columns.as_keys(columns.as_labels([c]), declared=known))
    for i, nodes in enumerate(NODES):
        numbering = Numbering(nodes)
        read(f"nodes {i}", "any", lambda c, n=numbering: n.positions(as_nodes(c)))
    for text in CONDITIONS:
        try:
            condition = expressions.parse_condition(text).fitted(opened)
        except ParameterError:
            continue
        read(text, condition.wanted["c"], lambda c, e=condition: e.keeps({"c": c}))
    return found


def persons(opened: Opened) -> list[int]:
    """Whose row each is, -1 for nobody's; numbered as they come."""
    kind = units.unit_kind(opened, "c")
    ids = units._Ids()
    known = [np.empty(0, dtype=bool)]
    for batch in opened.batches({"c": kind}):
        known.append(~units.without_id(batch["c"]))
        ids.add(units.taken(batch["c"], np.flatnonzero(known[-1])))
    codes = iter(ids.codes().tolist())
    return [next(codes) if own else -1 for own in np.concatenate(known)]


def renumbered(codes: Sequence[int]) -> list[int]:
    seen: dict[int, int] = {-1: -1}
    return [seen.setdefault(code, len(seen)) for code in codes]


def counted(opened: Opened) -> dict[Any, int]:
    return {shown(key): n for key, n in tally(opened, "c").items() if columns.is_key(key)}


def without(values: Sequence[Any], place: int) -> list[Any]:
    return [*values[:place], *values[place + 1 :]]


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_row_says_nothing_of_others(holder: str) -> None:
    made, cells = HOLDERS[holder]
    rng = random.Random(holder)
    for x in cells:
        rows = [rng.choice(cells) for _ in range(rng.choice([1, 2, 4]))]
        place = rng.randrange(len(rows) + 1)
        fewer, more = (open_table(made(each)) for each in (rows, [*rows[:place], x, *rows[place:]]))
        expected = readings(fewer)
        for name, found in readings(more).items():
            assert without(found, place) == expected[name], name
        assert renumbered(without(persons(more), place)) == renumbered(persons(fewer))
        before = counted(fewer)
        after = counted(more)
        changed = [after.get(key, 0) - before.get(key, 0) for key in {*before, *after}]
        assert sorted(changed)[:-1] == [0] * (len(changed) - 1)
        assert max(changed, default=0) in (0, 1)


def test_labels_of_nodes_that_are_too_long_to_write_out() -> None:
    """As whole numbers they have a million digits, or as many as Python refuses to write."""
    for cell in (Decimal("1e999999"), Decimal("1e999999999"), 10**5000, -(10**5000)):
        for nodes in NODES:
            assert Numbering(nodes).positions(as_nodes([cell, 1]))[0] == -1


def test_spans_without_a_length_are_refused() -> None:
    for kind in ("m8[Y]", "m8[M]", "m8", "M8[as]"):
        with pytest.raises(ParameterError, match="holds"):
            dampen.most_frequent(moments(kind, [1, 2]), "c", categories=["a", "b"], epsilon=1)


def test_conditions_refuse_columns_of_other_things() -> None:
    """They were missing in every row, whatever they held."""
    for cells in ([[1], [2]], [{"x": 1}, None], [b"1", b"2"]):
        for where in ("c is missing", "c == 'a'", "c > 1"):
            with pytest.raises(ParameterError, match="Choose a column of text, numbers"):
                dampen.count(pa.table({"c": cells}), where=where, epsilon=1)


def test_negative_zero_is_the_same_person() -> None:
    for made in (partial(in_numpy, "f8"), partial(in_arrow, pa.float64()), lambda c: {"c": c}):
        codes = persons(open_table(made([0.0, -0.0, 1.0])))
        assert codes[0] == codes[1] != codes[2]


def test_text_that_reads_alike_in_sqlite_is_counted_once(tmp_path: Path) -> None:
    """Text that is not UTF-8 reads as U+FFFD; so does text that is U+FFFD."""
    from dampen.data.units import Shares, UnitTable
    from dampen.questions.frequency import FrequencyQuestion

    def weights(name: str, *rows: tuple[str, bytes]) -> list[int]:
        path = tmp_path / name
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("create table rows (who text, g text)")
            connection.executemany("insert into rows values (?, cast(? as text))", rows)
        people = UnitTable(open_table(path), "who", Shares(840, 8))
        question = FrequencyQuestion(value="g", categories=["a", OTHER])
        assert question.problem is not None
        return question.problem.opened_counts(people, "g").tolist()  # type: ignore[no-any-return]

    one = weights("1.db", ("p", "\ufffd".encode()), ("p", b"a"))
    two = weights("2.db", ("p", "\ufffd".encode()), ("p", b"a"), ("q", b"\xff"), ("q", b"\xff"))
    assert one == [105, 105, 0]
    assert two == [105, 315, 0]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_polars_times_beyond_the_calendar_without_arrow(
    monkeypatch: pytest.MonkeyPatch, unit: str
) -> None:
    """Of one of them polars panicked, after the charge, which is no `Exception`."""
    monkeypatch.setattr(memory, "has_arrow", lambda: False)
    monkeypatch.setattr(columns, "has_arrow", lambda: False)
    ticks = [0, 2**62, -(2**62), None]
    for kind in (pl.Datetime(unit), pl.Datetime(unit, "Europe/Berlin"), pl.Duration(unit)):  # type: ignore[arg-type]
        labels = columns.as_labels([memory.as_chunk(pl.Series(ticks).cast(kind))])
        alone = columns.as_labels([memory.as_chunk(pl.Series(ticks[:1]).cast(kind))])
        assert [shown(labels[0])] == [shown(label) for label in alone]
        assert columns.is_missing(labels[3])
        if unit == "ms":
            assert labels[1:] == [None, None, None]


def test_whole_numbers_of_a_categorical_stay_whole_without_arrow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A missing cell made floats of all others: other keys, and other numbers above 2^53."""
    monkeypatch.setattr(memory, "has_arrow", lambda: False)
    for cells in ([1, 2**53 + 1], [1, 2**53 + 1, None]):
        chunk = memory.as_chunk(pd.Series(cells, dtype=pd.CategoricalDtype([2**53 + 1, 1])))
        assert columns.as_labels([chunk]) == cells
        assert {type(each) for each in columns.as_labels([chunk])} <= {int, type(None)}
