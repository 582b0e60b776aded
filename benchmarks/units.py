"""Weights of persons against DuckDB's own GROUP BY of persons and groups.

    python benchmarks/units.py [ROWS]

A tenth as many persons as rows, 50 groups, 100 values; ids that are whole numbers, and text.  The
least processor time of three runs, on two threads.
"""

import sys
from collections.abc import Callable
from time import process_time

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dampen.data.open import open_table
from dampen.data.units import Shares, UnitTable
from dampen.questions.groups.problem import BestGroup

GROUPS = [f"g{i}" for i in range(50)]
PROBLEM = BestGroup(groups=GROUPS, lower=0, upper=99, step=1)


def seconds(run: Callable[[], object]) -> float:
    """The best of three."""
    taken = []
    for _ in range(3):
        start = process_time()
        run()
        taken.append(process_time() - start)
    return min(taken)


def weights(data: object) -> object:
    """Of persons, by group and value."""
    opened = UnitTable(open_table(data), "unit", Shares(840), PROBLEM.grid.top + 2)
    return PROBLEM.opened_counts(opened, "value", "grp")


def main() -> None:
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6
    ids = np.random.default_rng(1).integers(0, rows // 10, rows)
    compare("whole numbers", pa.array(ids))
    compare("text", pc.binary_join_element_wise("P", pa.array(ids).cast(pa.string()), "-"))


def compare(kind: str, ids: pa.Array) -> None:
    """Prints both times."""
    rows = len(ids)
    draw = np.random.default_rng(0)
    table = pa.table(
        {
            "unit": ids,
            "grp": pa.array(GROUPS).take(pa.array(draw.integers(0, 50, rows))),
            "value": draw.integers(0, 100, rows).astype(np.float64),
        }
    )
    connection = duckdb.connect(config={"threads": 2})
    connection.register("given", table)
    connection.execute("create table stays as select * from given")
    grouped = "select unit, grp, count(*) from stays group by all"
    own = seconds(lambda: connection.sql(grouped).to_arrow_table())
    inside = seconds(lambda: weights(connection.table("stays")))
    held = seconds(lambda: weights(table))
    print(f"{rows:,} rows, ids {kind}: GROUP BY unit, grp {own:.2f} s")
    print(f"weights in DuckDB {inside:.2f} s ({inside / own:.1f} times), in memory {held:.2f} s")


if __name__ == "__main__":
    main()
