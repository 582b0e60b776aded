"""Every row by itself: what one row is does not follow from another, and no cell ends a fit."""

import itertools
import json
import warnings
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dampen import MISSING, OTHER, Classifier, InsecureEntropy, TreeClassifier
from dampen.core.thresholds import Threshold
from dampen.data import columns, memory
from dampen.data.source import Batch
from dampen.questions.classify import found
from dampen.questions.classify.encoding import Bins, Branches, Categories, Domain, numbers_of
from dampen.questions.classify.estimator import Supervised
from dampen.questions.classify.found import Hashes, Search, Tallies

NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)
EVENING = NOON.astimezone(timezone(timedelta(hours=8)))


class Hostile:
    """Raises whatever it is asked."""

    def __hash__(self) -> int:
        return 1

    def __eq__(self, _: object) -> bool:
        raise RuntimeError

    def __ne__(self, _: object) -> bool:
        raise RuntimeError

    def __str__(self) -> str:
        raise RuntimeError

    def __float__(self) -> float:
        raise RuntimeError


class Unhashable:
    """In place of an id."""

    def __hash__(self) -> int:
        raise RuntimeError


CELLS: list[Any] = [
    *(None, True, 1, 1.0, 2.5, -0.0, float("nan"), float("inf"), 10**5000, 2**53 + 1, 2.0**53),
    *("1", "1.0", "a", "", "nan", "True", "\ud800", b"1", b"\xff"),
    *(Decimal("1.0"), Decimal("sNaN"), Decimal("1e999"), Fraction(1), Fraction(1, 3), 1j, 1 + 0j),
    *(NOON, EVENING, date(2020, 1, 1), date.max, timedelta(3), pd.NA, pd.NaT),
    *(np.datetime64("2020-01-01"), np.datetime64("30000-01-01"), np.timedelta64(3, "D")),
    *(np.float32(0.1), np.int8(1), np.bool_(True), [1], [1, 2], (1,), (True,), {"a": 1}),
    *(np.array([1, 2]), np.array(1.0), Hostile()),
]
DOMAINS: dict[str, Domain] = {
    "bins": Bins([0, 1, 2, 3]),
    "days": Bins([0, 1e4, 3e4], "own", days=True),
    "categories": Categories((1, 2.5, "a", MISSING, OTHER)),
    "large": Categories((2**53 + 1, 0, 1)),
    "branches beside": Categories(("1", "a", MISSING), branches=7),
    "branches": Branches(32, 5),
}


def objects(cells: list[Any]) -> Any:
    return np.fromiter(cells, dtype=object, count=len(cells))


TABLES: dict[str, Callable[[list[Any]], Any]] = {
    "list in a dict": lambda cells: {"c": list(cells)},
    "objects": lambda cells: {"c": objects(cells)},
    "pandas": lambda cells: pd.DataFrame({"c": pd.Series(objects(cells), dtype=object)}),
    "rows": lambda cells: [[cell] for cell in cells],
    "tuples": lambda cells: tuple((cell,) for cell in cells),
}
MASKED: list[Any] = [
    np.array([True, False]),
    np.array([1.5, 2.5]),
    np.array([1, 2**53 + 1]),
    np.array(["1", "a"]),
    np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"),
    np.array([1, 2], dtype="m8[D]"),
]


def batch_of(X: Any, rows: int) -> Batch:
    source = Supervised.open(X, [0] * rows, domains=[None])
    [name] = source.names
    [batch] = source.batches({name: "any"})
    return {"c": batch[name]}


def found_in(batch: Batch) -> dict[str, Any]:
    """What is made of every row."""
    found = {name: domain.encode(batch["c"]) for name, domain in DOMAINS.items()}
    return found | {"numbers": numbers_of(batch["c"])}


def differs(tables: Callable[[list[Any]], Any], cells: list[Any]) -> set[str]:
    """What of the other rows is another one where one row is left out."""
    whole = found_in(batch_of(tables(cells), len(cells)))
    found = set()
    for i in range(len(cells)):
        left = [*cells[:i], *cells[i + 1 :]]
        for name, alone in found_in(batch_of(tables(left), len(left))).items():
            if not np.array_equal(np.delete(whole[name], i), alone, equal_nan=name == "numbers"):
                found.add(name)
    return found


@pytest.mark.parametrize("kind", TABLES)
def test_a_row_says_nothing_of_another_one(kind: str) -> None:
    pairs = itertools.combinations(CELLS, 2)
    assert set[str]().union(*(differs(TABLES[kind], list(pair)) for pair in pairs)) == set()


@pytest.mark.parametrize("values", MASKED, ids=lambda values: str(values.dtype))
def test_a_masked_cell_says_nothing_of_another_row(values: Any) -> None:
    def masked(cells: list[Any]) -> Any:
        held = np.array([value for value, _ in cells], dtype=values.dtype)
        return {"c": np.ma.array(held, mask=[mask for _, mask in cells])}

    cells = list(itertools.product(values, (False, True)))
    for several in itertools.combinations(cells, 2):
        assert differs(masked, list(several)) == set()


def test_an_item_of_a_list_without_cells_has_no_values() -> None:
    rows = [
        [1, 2],
        [3],
        "ab",
        {"x": 1, "y": 2},
        None,
        np.array([4, 5]),
        pd.Series([6, 7]),
        Hostile(),
    ]
    source = Supervised.open(rows, [0] * len(rows), domains=[None, None])
    [batch] = source.batches(dict.fromkeys(source.names, "any"))
    assert list(batch["x0"]) == [1, None, None, None, None, 4, 6, None]
    assert list(batch["x1"]) == [2, None, None, None, None, 5, 7, None]


@pytest.mark.parametrize("kind", [pl.Datetime("ns"), pl.Duration("ns"), pl.Int64(), pl.Float32()])
def test_a_missing_cell_says_nothing_of_another_row_without_arrow(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (memory, columns):
        monkeypatch.setattr(module, "has_arrow", lambda: False)

    def table(cells: list[Any]) -> Any:
        return {"c": pl.Series(cells, dtype=pl.Int64).cast(kind)}

    for pair in itertools.combinations([None, 0, 1, 10**15], 2):
        assert differs(table, list(pair)) == set()


def test_a_missing_class_says_nothing_of_another_row() -> None:
    """Of whole numbers in a table of one column numpy makes floats where one is missing."""
    large = 2**53 + 1
    for classes in ([large], [large, None]):
        y = pa.table({"y": pa.array(classes, pa.int64())})
        [batch] = Supervised.open({"c": classes}, y, domains=None).batches({"y=": "any"})
        assert Categories((0, large)).encode(batch["y="])[0] == 1


def tallied(cells: list[Any]) -> Tallies:
    tallies = Search({"c": "either"}, None, Fraction(1, 10**6), counts_rows=True).tallied()
    tallies.add({"c": objects(cells)}, len(cells))
    return tallies


@pytest.mark.parametrize("first", CELLS, ids=lambda cell: type(cell).__name__)
def test_one_row_moves_every_utility_and_every_count_of_a_name_by_at_most_one(first: Any) -> None:
    """Of 5 rows that are equal to it, or nearly, besides others."""
    hashes = Hashes()
    for other in (1, 1.0, Decimal("1.00"), NOON, EVENING, (1,), "1", "a"):
        rows = [first, *[other] * 5, "x"]
        with_it = tallied(rows)
        without = tallied(rows[1:])
        utilities = [hashes.utilities(each.cells("c")) for each in (with_it, without)]
        assert np.abs(utilities[0] - utilities[1]).max() <= 4
        more = with_it.names["c"] - without.names["c"]
        assert sum(more.values()) <= 1
        assert not without.names["c"] - with_it.names["c"]
        assert list(map(repr, without.names["c"])) == [
            repr(key) for key in with_it.names["c"] if key in without.names["c"]
        ]


def test_a_name_is_written_as_in_no_row_of_its_own() -> None:
    """True, 1 and 1.0 are equal: which of them came first is private."""
    rows = [True, 1, 1.0, Decimal("1.0"), 10**5000, float("inf"), NOON, MISSING] * 400 + ["a"] * 800
    for cells in (rows, rows[1:], rows[::-1]):
        tallies = tallied(cells)
        threshold = Threshold.of(Fraction(1), Fraction(1, 10**6))
        drawn = found._named(tallies.names["c"], threshold, len(cells), InsecureEntropy(1))
        assert list(map(repr, drawn.values)) == ["1", "'a'", repr(MISSING)]


@pytest.mark.parametrize("make", [TreeClassifier, Classifier])
def test_no_cell_ends_a_fit_or_causes_a_warning(make: Any) -> None:
    """Each alone among many others; neither a `DataError` nor a warning, which would tell it."""
    cells = [*CELLS, 1.7976931348623157e308, np.longdouble("1e4000")]
    many = ["x", "y"] * 60
    for cell in cells:
        X = {"c": objects([cell, *many]), "n": objects([cell, *range(120)])}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = make(1, classes=["no", "yes"], delta="1e-6")
            model.fit(X, objects([cell, *["no", "yes"] * 60]))
        json.loads(model.to_json())
        model.predict({"c": [cell], "n": [cell]})


def test_rows_with_ids_that_cannot_be_compared_are_left_out() -> None:
    model = TreeClassifier(1, classes=["no", "yes"], max_rows=121, domains=[["x", "y"]])
    unit = objects([Unhashable(), *range(120)])
    model.fit([["x"], *[["x"], ["y"]] * 60], ["no", *["no", "yes"] * 60], unit=unit)
    assert model.release_.epsilon == 1
