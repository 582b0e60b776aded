"""A ledger on every storage: what is tested with `ledger` holds on all of them."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dampen.ledger import Ledger, worker

sys.path.insert(0, str(Path(__file__).parent))
import servers

STORAGES = ["sqlite", "postgresql"]


@pytest.fixture(autouse=True)
def _workers_are_closed() -> Iterator[None]:
    yield
    worker.close_all()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[servers.Server]:
    """A server that lives as long as the tests."""
    pytest.importorskip("psycopg")
    if servers.program("initdb") is None:
        pytest.skip("needs PostgreSQL's initdb and pg_ctl: apt-get install postgresql")
    with servers.running() as server:
        yield server


@pytest.fixture(params=STORAGES)
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Gives a place for a ledger where there is none yet, each time another."""
    count = iter(range(1000))
    if request.param == "sqlite":
        return lambda: str(tmp_path / f"new{next(count)}" / "ledger.sqlite3")
    server = request.getfixturevalue("postgresql")
    return server.new_schema


@pytest.fixture
def ledger(new_place: Callable[[], str]) -> Ledger:
    """With one budget of ε = 3, `payroll`."""
    ledger = Ledger(new_place())
    ledger.create("payroll", epsilon="3", neighbours="replace-one")
    return ledger
