"""A filter keeps the same rows in every engine, by its own SQL or as rows are read."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dampen.data.expressions import FilteredTable, filtered
from dampen.data.open import open_table
from engines.holders import HOLDERS

ROWS = 40
BY_SQL = [
    "age > 2",
    "age != 2",
    "not (age >= 2)",
    "age == pay",
    "age in [1, 3]",
    "size > 2 or age < 0",
    "ward == 'A'",
    "ward != 'A'",
    "ward in ['A', 'Ä']",
    "ward not in ['A']",
    "age is missing",
    "ward is missing",
    "ward is not missing and pay <= 3",
]
BY_ROWS = ["age + 1 > pay", "pay / size > 1", "-age < 0"]


def people() -> pa.Table:
    rng = np.random.default_rng(1)
    age = [None if i % 7 == 0 else float(v) for i, v in enumerate(rng.integers(-2, 6, ROWS))]
    ward = [None if i % 5 == 0 else str(v) for i, v in enumerate(rng.choice([*"AaBÄ"], ROWS))]
    return pa.table(
        {
            "id": np.arange(ROWS),
            "age": pa.array(age),
            "pay": rng.integers(0, 6, ROWS).astype(float),
            "size": rng.integers(0, 5, ROWS),
            "ward": pa.array(ward),
        }
    )


def kept(data: Any, condition: str, **options: Any) -> list[int]:
    view = filtered(open_table(data, **options), condition)
    found = [int(each) for batch in view.batches({"id": "any"}) for each in np.asarray(batch["id"])]
    return sorted(found)


@pytest.mark.parametrize("holder", HOLDERS)
def test_every_engine_keeps_the_same_rows(holder: str, tmp_path: Any) -> None:
    with HOLDERS[holder](tmp_path) as hold:
        data, options = hold(people())
        for condition in [*BY_SQL, *BY_ROWS]:
            assert kept(data, condition, **options) == kept(people(), condition), condition
        opened = open_table(data, **options)
        by_sql = [not isinstance(filtered(opened, each), FilteredTable) for each in BY_SQL]
        assert all(by_sql) == (holder in ("relation", "duckdb", "postgresql"))
        assert all(isinstance(filtered(opened, each), FilteredTable) for each in BY_ROWS)
