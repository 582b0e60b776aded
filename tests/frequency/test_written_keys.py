"""Keys that nobody listed: how they are written does not depend on one row, and none fails."""

import json
import warnings
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from uuid import UUID

import numpy as np
import pandas as pd
import pytest

import dampen
from dampen.data.columns import as_keys

NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)
EAST = timezone(timedelta(hours=1))
DAWN = datetime(2020, 1, 1, 3)
EQUAL = [
    (True, 1),
    (1.0, 1),
    (np.float32(1), 1),
    (Decimal("1.00"), 1),
    (Fraction(1), 1),
    (1 + 0j, 1),
    (-0.0, 0.0),
    (Decimal("0.10"), Decimal("0.1")),
    (Decimal("0.50"), 0.5),
    (np.str_("a"), "a"),
    (NOON.astimezone(EAST), NOON),
    (NOON.replace(fold=1), NOON),
    (Fraction(1, 10), Decimal("0.1")),
    (complex(-0.0, 1), 1j),
    (np.bytes_(b"a"), b"a"),
    (pd.Timedelta(seconds=1), timedelta(seconds=1)),
    (pd.Timestamp(DAWN), DAWN),
    (DAWN.replace(fold=1), DAWN),
    (time(13, tzinfo=EAST), time(12, tzinfo=UTC)),
    (np.datetime64(DAWN, "s"), DAWN),
]
PEOPLE = 300


def asked(name, column, unit, **options):
    table = {"key": column, "who": list(range(len(column)))}
    data = dampen.dataset(table, unit="who") if unit else dampen.dataset(table)
    return getattr(data, name)(epsilon=9, delta="1e-2", **options)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize(("first", "others"), EQUAL, ids=repr)
def test_the_first_row_does_not_tell_how_a_key_is_written(first, others, unit):
    """Under the rule before, (True, 1, 1, ...) released True and (1, 1, ...) released 1."""
    assert first == others
    for name, options in (
        ("keys", {"value": "key"}),
        ("most_frequent", {"value": "key"}),
        ("most_frequent", {"value": "key", "k": 3}),
        ("count", {"by": "key"}),
    ):
        written = [
            [repr(each) for each in (answer if isinstance(answer, dict | list) else [answer])]
            for column in ([others] * PEOPLE, [first] + [others] * PEOPLE)
            for answer in [asked(name, column, unit, **options).answer]
        ]
        assert written[0] == written[1]


@pytest.mark.parametrize("unit", [False, True])
def test_numbers_of_arrow_have_one_zero(unit):
    """Rows of -0.0 were a key beside those of 0.0, and one of both counts was lost."""
    pa = pytest.importorskip("pyarrow")
    floats = pa.array([0.0, -0.0] * PEOPLE)
    for column in (floats, floats.dictionary_encode(), floats.cast(pa.float16())):
        table = pa.table({"key": column, "who": range(2 * PEOPLE)})
        data = dampen.dataset(table, unit="who" if unit else "row")
        [(key, count)] = data.keys("key", epsilon=9, delta="1e-2").answer.items()
        assert (repr(key), abs(count - 2 * PEOPLE) < PEOPLE / 10) == ("0.0", True)


def test_decimals_of_a_declared_column_are_written_without_zeros_at_the_end():
    """PostgreSQL keeps 1.0 and 1.00 in one column of numeric."""
    pairs = [("1.00", "1"), ("1.50", "1.5"), ("1E+2", "100"), ("-0.0", "0"), ("-20.0", "-20")]
    for stored, expected in pairs:
        assert str(*as_keys([Decimal(stored)], declared=True)) == expected
    assert as_keys([Decimal("1E+9999"), 1.0, True], declared=True) == [None, 1.0, True]


class Colour(Enum):
    RED = 1


def test_objects_that_may_be_equal_and_written_differently_are_missing():
    """frozenset({1}) was written as frozenset({True}) if the first row held that."""
    for label in (frozenset({1}), range(0), pd.Interval(0, 1), object()):
        assert as_keys([label, (label, 1)]) == [None, (None, 1)]
    kept = [Colour.RED, UUID(int=3), date(2020, 1, 1), time(1), b"a", pd.Timestamp(1)]
    assert as_keys(kept) == kept


@pytest.mark.parametrize("rows", [1, PEOPLE])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize(
    ("kind", "far"),
    [("datetime64[s]", 2**40), ("timedelta64[s]", 2**60), ("datetime64[D]", 2**22)],
)
def test_a_moment_beyond_the_calendar_is_no_key(kind, far, unit, rows):
    """Enough rows of one made the question fail after the charge."""
    known = np.full(PEOPLE, 1).astype(kind)
    column = np.concatenate([known, np.full(rows, far).astype(kind)])
    for name, options in (("keys", {}), ("most_frequent", {"k": 3})):
        assert [*asked(name, column, unit, value="key", **options).answer] == known[:1].tolist()


@pytest.mark.parametrize("first", ["1.0", "1e0", "01", "1"])
def test_a_number_in_a_file_does_not_tell_how_a_key_is_written(first, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(["key", first, *["1"] * PEOPLE]))
    made = dampen.keys(str(path), "key", epsilon=9, delta="1e-2", header=True)
    assert [*json.loads(made.to_json())["answer"]] == ["1"]


def test_columns_that_declare_their_type_keep_it():
    floats = np.array([-0.0, *[0.0] * PEOPLE, *[2.0] * PEOPLE])
    truths = np.array([True, False] * PEOPLE)
    for column, expected in ((floats, ["0.0", "2.0"]), (truths, ["False", "True"])):
        for unit in (False, True):
            assert sorted(map(repr, asked("keys", column, unit, value="key").answer)) == expected


def test_equal_labels_are_one_key_and_stay_equal():
    labels = [each for pair in EQUAL for each in pair]
    labels += [10**2999, 0.1, "1", float("inf"), (1.0, "a"), None]
    assert as_keys(labels) == labels
    assert [*map(repr, as_keys([True, (1.0, np.float64(0.5)), Decimal("Infinity")]))] == [
        "1",
        "(1, 0.5)",
        "inf",
    ]


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize(
    "cell",
    [
        10**5000,
        -(10**5000),
        Decimal("1e999999"),
        Decimal("sNaN"),
        Fraction(10**5000),
        Fraction(1, 10**5000),
    ],
    ids=["int", "negative", "decimal", "signalling", "fraction", "small"],
)
def test_a_key_that_python_cannot_write_is_missing(cell, unit):
    """Of one row or of all: such a question failed, and told that somebody has such a number."""
    for rows in (1, PEOPLE):
        column = ["a", "b"] * PEOPLE + [cell] * rows
        for name, options in (("keys", {}), ("most_frequent", {"k": 3})):
            made = asked(name, column, unit, value="key", **options)
            assert {*made.answer} == {"a", "b"}
            assert made.to_json()


@pytest.mark.parametrize("key", [Decimal("Infinity"), Decimal("1e400"), Decimal("0.125")])
def test_decimals_of_any_size_are_written_as_json(key):
    made = asked("keys", [key] * PEOPLE, False, value="key")
    assert len(json.loads(made.to_json())["answer"]) == 1
    assert asked("most_frequent", [key] * PEOPLE, False, value="key").to_json()


def test_the_largest_floats_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in (1.7e308, -1.7e308):
            for ask in (dampen.mean, dampen.percentile):
                options = {"p": 50} if ask is dampen.percentile else {}
                assert ask([1.0, 2.0] * 500 + [value], epsilon=3, **options).answer is not None


@pytest.mark.parametrize("cell", [np.complex64(1), 1 + 0j, np.array([1.0]), np.array([1, 2])])
def test_a_condition_warns_of_no_cell(cell):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = {"key": [1.0, 2.0] * 100 + [cell]}
        for where in ("key >= 2", "key == 2", "key + 1 > 2", "key != 'a'"):
            assert dampen.count(table, where=where, epsilon=9).answer > 50
