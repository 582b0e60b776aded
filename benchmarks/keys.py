"""The ten most frequent of a million words that nobody listed, beside DuckDB's GROUP BY.

    python benchmarks/keys.py [rows]

Processor time of both in one process, on words in memory; the median of three runs.
"""

import sys
from statistics import median
from time import process_time

import duckdb
import numpy as np
import pyarrow as pa

import dampen

WORDS = 1_000_000
RUNS = 3


def table(rows: int) -> pa.Table:
    """Words of which few are frequent, each of them at least once."""
    words = pa.array([f"w{i}" for i in range(WORDS)])
    rng = np.random.default_rng(1)
    places = np.minimum((rng.pareto(0.9, rows) * 200).astype(np.int64), WORDS - 1)
    places[:WORDS] = np.arange(WORDS)
    return pa.table({"word": words.take(pa.array(places))})


def main(rows: int) -> None:
    held = table(rows)
    seconds: dict[str, list[float]] = {"GROUP BY": [], "dampen": []}
    for _ in range(RUNS):
        start = process_time()
        connection = duckdb.connect()
        counted = (
            connection.from_arrow(held).aggregate("word, count(*) as n", "word").to_arrow_table()
        )
        middle = process_time()
        made = dampen.most_frequent(held, "word", k=10, delta="1e-6", epsilon=1)
        seconds["GROUP BY"].append(middle - start)
        seconds["dampen"].append(process_time() - middle)
    best = set(counted.sort_by([("n", "descending")])["word"][:10].to_pylist())
    usual, ours = (median(each) for each in seconds.values())
    print(f"GROUP BY {usual:.2f} s, dampen {ours:.2f} s, ratio {ours / usual:.2f}")
    print(f"{len(best & set(made.answer))} of the true ten")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
