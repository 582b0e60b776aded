"""Ledgers of 0.2 are read as they were written, and entries are written as they were."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from dampen.ledger.log import Draft, Kind, Row, sealed
from dampen.ledger.state import State, Status

ROWS = [
    Row(*json.loads(line))
    for line in Path(__file__).with_name("ledger-0.2.jsonl").read_text("utf-8").splitlines()
]


def test_a_ledger_of_0_2_is_read() -> None:
    state = State()
    for row in ROWS:
        state.apply(row)
    payroll = state.budgets["payroll"]
    assert (payroll.limit.epsilon, payroll.spent.epsilon, payroll.largest) == (Fraction(7, 2), 1, 2)
    assert (payroll.status, payroll.cap("ben").epsilon) == (Status.OPEN, 1)  # type: ignore[union-attr]
    many = state.budgets["many"]
    assert (many.spent.epsilon, many.spent.rho) == (None, Fraction(1, 800))
    assert (many.status, many.trial) == (Status.CLOSED, True)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.seq}-{row.kind}")
def test_an_entry_has_the_same_digest_today(row: Row) -> None:
    state = State()
    for before in ROWS[: row.seq - 1]:
        state.apply(before)
    draft = Draft(Kind(row.kind), row.budget, json.loads(row.content))
    assert sealed(draft, state.head) == row
