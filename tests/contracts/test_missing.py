"""Missing values, in every release and every column: answered, or refused after the charge.

A row whose group is missing belongs to no group, as one whose group is not listed.  Tables answer
whatever is missing (`test_total.py` says what); of graphs nothing is told.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from asking import Ask
from asks import ASKS
from dampen.core.sampling import InsecureEntropy
from dampen.errors import DataError, ParameterError

pytestmark = pytest.mark.filterwarnings("ignore::dampen.errors.AccuracyWarning")  # of few rows

GROUPS = {
    "groups_above",
    "most_frequent by group",
    "percentile by group",
    "percentile without bounds by group",
    "top_groups",
}
SKIPPED = {
    "count by group",
    "histogram",
    "mean by group",
    "total",
    "keys",
    "most_frequent, unlisted",
    "percentile without bounds",
    "percentile without bounds by group",
}
"""Rows without a value are rows less."""
SEEDS = range(3)


class Recorder:
    def __init__(self) -> None:
        self.charges = 0

    def charge(self, _: Any, /) -> str:
        self.charges += 1
        return "id"


HOLDERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "objects": lambda values: np.array(values, dtype=object),
    "pandas": pd.Series,
    "pandas objects": lambda values: pd.Series(values, dtype=object),
    "pandas nullable": lambda values: pd.Series(values).convert_dtypes(),
    "pandas category": lambda values: pd.Series(values, dtype="category"),
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow chunks": lambda values: pa.chunked_array([values[:1], values[1:]]),
}
MISSING = [None, float("nan"), pd.NA, pd.NaT]


def columns_of(ask: Ask) -> list[Any]:
    """The way to every column of legal data."""
    if isinstance(ask.data, dict):
        return list(ask.data)
    if not isinstance(ask.data, tuple):
        return [None]
    table = ask.data[0]
    return [*((0, name) for name in table), 1] if isinstance(table, dict) else [0, 1]


def with_column(data: Any, way: Any, change: Callable[[Any], Any]) -> Any:
    """The data with one column changed."""
    if way is None:
        return change(data)
    if isinstance(way, tuple):
        return with_column(data[0], way[1], change), data[1]
    if isinstance(data, tuple):
        return tuple(change(part) if i == way else part for i, part in enumerate(data))
    return {**data, way: change(data[way])}


def is_skipped(ask: Ask, way: Any) -> bool:
    return ask.name in SKIPPED or (ask.name in GROUPS and way == "g")


CASES = [(ask, way) for ask in ASKS if ask.name != "release" for way in columns_of(ask)]


@pytest.mark.parametrize(("ask", "way"), CASES, ids=lambda x: getattr(x, "name", str(x)))
def test_missing_values(ask: Ask, way: Any) -> None:
    answered = 0
    for hold, missing in product(HOLDERS.values(), MISSING):
        try:
            data = with_column(
                ask.data, way, lambda values, hold=hold, m=missing: hold([m, *list(values)[1:]])
            )
        except (pa.ArrowException, TypeError, ValueError):
            continue  # it cannot hold such a value
        answered += is_answered(ask, data, skipped=is_skipped(ask, way))
    assert answered > 10


def is_answered(ask: Ask, data: Any, *, skipped: bool) -> bool:
    """Whether the data was looked at; where a type says that it cannot be right, it was not."""
    budget = Recorder()
    try:
        if skipped:
            assert_a_row_less(ask, data)
        else:
            with suppress(DataError):  # of graphs
                ask(data, budget=budget)
            assert budget.charges == 1
    except ParameterError as error:
        refused = re.search("(holds|type is) (float|double|null|Float|Object|Null)", str(error))
        if refused is None:
            raise
    return budget.charges > 0 or skipped


def assert_a_row_less(ask: Ask, data: Any) -> None:
    fewer: Any = ask.data
    if isinstance(ask.data, list):
        fewer = ask.data[1:]
    if isinstance(ask.data, dict):
        fewer = {name: list(column)[1:] for name, column in ask.data.items()}
    if ask.name == "count by group" and data["g"] is ask.data["g"]:
        fewer = ask.data  # the column is not looked at
    for seed in SEEDS:
        entropy = [InsecureEntropy(seed, allow_release=True) for _ in range(2)]
        with_it, without = ask(data, entropy=entropy[0]), ask(fewer, entropy=entropy[1])
        assert with_it.answer == without.answer


@pytest.mark.parametrize(("ask", "way"), CASES, ids=lambda x: getattr(x, "name", str(x)))
def test_a_column_of_nothing_else(ask: Ask, way: Any) -> None:
    for empty in ([None] * 3, pa.nulls(3), np.full(3, np.nan), pd.Series([pd.NA] * 3)):
        data = with_column(ask.data, way, lambda _, empty=empty: empty)
        if is_skipped(ask, way):
            with suppress(ParameterError):  # a type that holds no group or number
                ask(data)
        else:
            with suppress(DataError, ParameterError):
                ask(data)
