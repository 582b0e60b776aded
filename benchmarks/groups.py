"""The best group: `top_groups` against `numpy.sort`, and against DuckDB's medians.

    python benchmarks/groups.py

A whole release, from opening the data to the answer, 100 groups, a grid of 2001 points.  10^6 rows
of a pandas DataFrame, with groups as text, as categories and as whole numbers, against
`numpy.sort` of the values.  10^7 rows of a Parquet file against DuckDB's
`SELECT g, median(v) ... GROUP BY g` on the same file.  Beside the clock, the time of all
processors, which a busy machine changes less.
"""

import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import dampen
from timing import Times, compare

GROUPS = [f"H{i}" for i in range(100)]
PUBLIC = {"lower": 0, "upper": 200, "step": "0.1", "epsilon": "0.1"}


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    group = generator.integers(len(GROUPS), size=n)
    return generator.exponential(15 + group / 10), group


def best(data: object, groups: object, **options: object) -> dampen.Release:
    return dampen.top_groups(data, "v", by="g", groups=groups, **PUBLIC, **options)


def processors(found: dict[str, Times], peer: str) -> None:
    each = ", ".join(f"{name} {times.cpu / found[peer].cpu:.2f}" for name, times in found.items())
    print(f"\nprocessor time, times {peer}: {each}", flush=True)


def frames() -> None:
    v, group = rows(10**6)
    text = pd.DataFrame({"v": v, "g": np.array(GROUPS)[group]})
    category = text.astype({"g": "category"})
    number = pd.DataFrame({"v": v, "g": group})
    found = compare(
        "10^6 rows of a DataFrame",
        {
            "numpy.sort": lambda: np.sort(v),
            "median, groups as text": lambda: best(text, GROUPS),
            "median, groups as categories": lambda: best(category, GROUPS),
            "median, groups as numbers": lambda: best(number, range(100)),
            "mean, groups as text": lambda: best(text, GROUPS, statistic="mean"),
            "10 of them, groups as text": lambda: best(text, GROUPS, k=10),
        },
        "numpy.sort",
    )
    processors(found, "numpy.sort")


def files() -> None:
    v, group = rows(10**7)
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        file = Path(folder) / "rows.parquet"
        pq.write_table(pa.table({"v": v, "g": np.array(GROUPS)[group]}), file)
        query = f"SELECT g, median(v) FROM '{file}' GROUP BY g"
        found = compare(
            "10^7 rows of a Parquet file",
            {
                "DuckDB": lambda: connection.execute(query).fetchall(),
                "median": lambda: best(str(file), GROUPS),
            },
            "DuckDB",
            rounds=5,
        )
    processors(found, "DuckDB")


if __name__ == "__main__":
    frames()
    files()
