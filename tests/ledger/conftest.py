"""A ledger on every storage: what is tested with `ledger` holds on all of them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dampen.ledger import Ledger, books

STORAGES = ["sqlite"]


@pytest.fixture(autouse=True)
def _books_are_closed() -> Iterator[None]:
    yield
    books.close_all()


@pytest.fixture(params=STORAGES)
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Gives a place for a ledger where there is none yet, each time another."""
    count = iter(range(1000))
    return lambda: str(tmp_path / f"new{next(count)}" / "ledger.sqlite3")


@pytest.fixture
def ledger(new_place: Callable[[], str]) -> Ledger:
    """With one budget of ε = 3, `payroll`."""
    ledger = Ledger(new_place())
    ledger.create("payroll", epsilon="3", neighbours="replace-one")
    return ledger
