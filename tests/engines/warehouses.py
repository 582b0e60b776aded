"""A small table with hard cells, questions about it, and the statements that they need."""

from typing import Any

import dampen
from dampen.data.memory import MemoryTable
from dampen.data.sql import KeyQuery
from dampen.data.warehouse import DIALECTS, WarehouseTable, _field, group_by

ROWS = [(i, ("A", "B", "C", None)[i % 4], i % 13, (i * 37 % 101) / 8) for i in range(400)]
ROWS += [(400, "A", None, None), (401, "B", -5, 1e300), (402, "o'Neill", 90, -0.0)]
COLUMNS = ("id", "ward", "days", "dose")
DATA = dict(zip(COLUMNS, map(list, zip(*ROWS, strict=True)), strict=True))
QUESTIONS = {
    "groups": ("top_groups", {"value": "days", "by": "ward", "groups": ["A", "B", "C"],
                              "lower": 0, "upper": 10, "step": 1}),
    "doses": ("top_groups", {"value": "dose", "by": "ward", "groups": ["A", "B", "o'Neill"],
                             "lower": 0, "upper": 10, "step": 0.1}),
    "percentile": ("percentile", {"value": "dose", "p": 50, "lower": 0, "upper": 12.5,
                                  "step": 0.01}),
    "frequency": ("most_frequent", {"value": "ward", "categories": ["A", "B", "C"], "k": 2}),
}  # fmt: skip


def queries(dialect: str, name: str) -> list[tuple[KeyQuery, Any, Any, int]]:
    """What a question asks of a table."""
    found: list[tuple[KeyQuery, Any, Any, int]] = []

    class Looking(WarehouseTable):
        def counts(self, wanted, cell_of, size, /):
            query = KeyQuery.of(cell_of, wanted, self.fields, DIALECTS[dialect])
            assert query is not None
            found.append((query, cell_of, wanted, size))
            return MemoryTable(DATA).counts(wanted, cell_of, size)

    question, options = QUESTIONS[name]
    looking = Looking(None, "stays", dialect, _fields(dialect))
    getattr(dampen, question)(looking, **options, epsilon=1)
    assert found
    return found


def _fields(dialect: str) -> list[Any]:
    kinds = {
        "bigquery": ("int64", "string", "int64", "float64"),
        "snowflake": ("number", "text", "number", "float"),
    }
    plain = ("integer", "text", "integer", "double precision")
    named = zip(COLUMNS, kinds.get(dialect, plain), strict=True)
    return [_field(name, kind, 0) for name, kind in named]


def assert_counts_as_memory(dialect: str, name: str, run: Any) -> None:
    """Whether the statement of a question, run by an engine, gives the counts of memory."""
    for query, cell_of, wanted, size in queries(dialect, name):
        answer = list(zip(*run(group_by(query, "stays", dialect)), strict=True))
        found = query.counted([answer], size)
        assert found.tolist() == MemoryTable(DATA).counts(wanted, cell_of, size).tolist()
