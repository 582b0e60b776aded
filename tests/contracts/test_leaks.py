"""The leak detector: secrets in data of every kind, and no place in which one comes out.

Errors with all that they came from, warnings, logs, standard output and error, the release and its
JSON, the ledger with the answers that it keeps: the bytes of all of them are searched.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dampen
from contracts.backends import BACKENDS
from dampen.errors import BudgetError, DataError, ParameterError
from dampen.ledger import Account, Ledger, worker
from leaks import NUMBER, WORD, Ears, listening, said_in, secrets_in

ROWS = 12
TREE = {
    "domains": {"salary": dampen.bins(0, 1000, 4), "diagnosis": ["flu", "cold"]},
    "classes": ["low", "high"],
    "max_rows": 2 * ROWS,
    "max_depth": 1,
}


def table(**changes: Any) -> pa.Table:
    """A legal table; nobody asks for its first two columns."""
    return pa.table(
        {
            "person": [f"{WORD}{i}" for i in range(ROWS)],
            "phone": [NUMBER + i for i in range(ROWS)],
            "badge": [f"B{i}" for i in range(ROWS)],
            "diagnosis": ["flu" if i % 3 else "cold" for i in range(ROWS)],
            "salary": [float(10 * i) for i in range(ROWS)],
            "income": ["low" if i % 2 else "high" for i in range(ROWS)],
            "source": [i % 5 for i in range(ROWS)],
            "target": [i % 7 for i in range(ROWS)],
        }
        | changes
    )


def last(values: list[Any], value: Any) -> list[Any]:
    return [*values[:-1], value]


PLANTED: dict[str, Callable[[], pa.Table]] = {
    "beside": table,
    "words": lambda: table(
        diagnosis=last(["flu"] * ROWS, WORD), income=last(["low"] * ROWS, WORD),
        salary=last(["1"] * ROWS, WORD), source=[WORD] * ROWS, target=[WORD] * ROWS,
    ),
    "numbers": lambda: table(
        diagnosis=[NUMBER] * ROWS, income=[NUMBER] * ROWS,
        salary=[float(NUMBER + i) for i in range(ROWS)],
        source=last([1] * ROWS, NUMBER), target=last([2] * ROWS, -NUMBER),
    ),
    "missing": lambda: table(
        salary=last([float(NUMBER)] * ROWS, None), diagnosis=last([WORD] * ROWS, None),
        source=last([NUMBER] * ROWS, None),
    ),
    "ends": lambda: table(
        salary=[1e308] * ROWS, source=last([1] * ROWS, 2**63 - 1), target=[NUMBER + 0.5] * ROWS
    ),
}  # fmt: skip

ASKED: dict[str, Callable[..., Any]] = {
    "most_frequent": lambda data, **given: dampen.most_frequent(
        data, "diagnosis", categories=["flu", "cold"], **given
    ),
    "percentile, value": lambda data, **given: dampen.percentile(
        data, "salary", p=50, upper=1000, step=10, **given
    ),
    "percentile record": lambda data, **given: dampen.percentile_record(
        data, "salary", p=50, upper=1000, labels="badge", **given
    ),
    "percentile by group": lambda data, **given: dampen.percentile(
        data, "salary", p=50, upper=1000, step=10, by="diagnosis",
        groups=["flu", "cold"], **given,
    ),
    "top_groups": lambda data, **given: dampen.top_groups(
        data, "salary", by="diagnosis", groups=["flu", "cold"], lower=0, upper=1000, step=10,
        **given,
    ),
    "top_k": lambda data, **given: dampen.top_k(
        data, source="source", target="target", n=9, **given
    ),
    "tree": lambda data, budget, epsilon, **where: dampen.TreeClassifier(
        epsilon=epsilon, budget=budget, **TREE
    ).fit_table(data, target="income", **where).release_,
}  # fmt: skip


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = Ledger(tmp_path / "books" / "ledger.sqlite3")
    for relation in ("add-remove-row", "replace-one", "add-remove-edge"):
        ledger.create(relation, epsilon=10_000, neighbours=relation)
    yield ledger
    worker.close_all()


def relation_of(name: str) -> str:
    if name == "top_k":
        return "add-remove-edge"
    return "replace-one" if name == "percentile record" else "add-remove-row"


@pytest.mark.parametrize("planted", PLANTED)
@pytest.mark.parametrize("backend", BACKENDS)
def test_secrets_stay_inside(
    backend: str, planted: str, ledger: Ledger, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").mkdir()
    said, ends = [], set()
    with BACKENDS[backend](tmp_path / "data") as hold:
        for name, ask in ASKED.items():
            try:
                data, where = hold(PLANTED[planted]())
            except (OverflowError, pa.ArrowException):
                pytest.skip("it cannot hold such values")
            ears, made = asked(ask, data, Account(ledger, relation_of(name)), where)
            ends.add(type(ears.error).__name__)
            said += [ears.text(), made, made and made.to_json()]
    assert planted != "beside" or ends == {"NoneType"}
    worker.close_all()
    assert secrets_in(*said, *capfd.readouterr(), said_in(tmp_path / "books")) == []


def asked(
    ask: Callable[..., Any], data: Any, budget: Account, where: dict[str, Any]
) -> tuple[Ears, Any]:
    made = None
    with listening(ParameterError, DataError, BudgetError) as ears:
        made = ask(data, epsilon="0.5", budget=budget, **where)
    return ears, made


def test_the_detector_finds_a_leak() -> None:
    """A detector that finds nothing would pass all of the above."""
    with listening(ValueError) as ears:
        try:
            raise KeyError(WORD)
        except KeyError:
            raise ValueError("harmless") from None
    assert secrets_in(ears.text()) == [WORD]
    assert secrets_in(str(NUMBER)) != []
    assert secrets_in("harmless", 7, None) == []
