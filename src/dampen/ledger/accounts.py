"""The budget ledger: an append-only SQLite file with one row per charge.

Guarantees, each with its test in `tests/ledger/`:

- A charge that was granted is on disk, synchronised, before `charge` returns; only then may a
  release look at data.  A crash after it costs the charge and never gives a free look.
- The sum of all charges of a budget never exceeds its ε.  Sums are exact (`Fraction`); the check
  and the row are one transaction that starts by taking the write lock, so any number of processes
  may share a ledger.
- A refused charge changes nothing.
- One budget, one neighbour relation: ε under different relations cannot be added up.
- Rows are never changed nor removed: triggers forbid it.  They guard against accidents; whoever
  may write the file may also forge it, so its permissions are part of the trust in the curator.

Charges add up (basic composition).  Mechanism, relation and ρ are recorded beside ε, so that a
tighter accounting can come later without a new format: an ε-DP release is ε²/2-zCDP (Bun and
Steinke 2016, Proposition 1.4), and that is the ρ of a row unless the caller knows a smaller one.
"""

import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from sqlite3 import Connection
from typing import Self

from dampen.epsilon import Epsilon, decimal_text, exact
from dampen.errors import BudgetError, ParameterError, did_you_mean
from dampen.ledger import storage
from dampen.releases import Cost, library_version
from dampen.selection import Neighbours


@dataclass(frozen=True, slots=True)
class Charge:
    """One row of the ledger."""

    epsilon: Fraction
    rho: Fraction
    query: str
    mechanism: str
    neighbours: Neighbours
    analyst: str
    dataset: str
    time: datetime
    version: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """A file of budgets.  It holds no connection: share it between threads and processes freely.

    >>> import tempfile
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "ledger.sqlite3")
    >>> payroll = ledger.create("payroll", epsilon="0.3", neighbours="replace-one")
    >>> for _ in range(3):
    ...     _ = ledger.charge("payroll", 0.1)
    >>> ledger.remaining("payroll")
    Fraction(0, 1)
    >>> ledger.charge("payroll", 0.1)
    Traceback (most recent call last):
    dampen.errors.BudgetError: Budget 'payroll' cannot pay epsilon 0.1: 0 of 0.3 is left. Nothing...
    """

    path: Path

    def __init__(self, path: str | os.PathLike[str]) -> None:
        object.__setattr__(self, "path", Path(path))

    def create(self, name: str, *, epsilon: Epsilon, neighbours: Neighbours | str) -> "Account":
        """Opens a new budget of ε for releases under one neighbour relation.

        Raises:
            ParameterError: if the name is empty, ε is not above zero, the relation is unknown.
            BudgetError: if the ledger has a budget of that name, or cannot be written.
        """
        row = (_checked_name(name), decimal_text(exact(epsilon)), _relation(neighbours).value)

        def insert(connection: Connection) -> None:
            if _find(connection, name):
                raise BudgetError(f"The ledger already has a budget {name!r}.")
            connection.execute(
                "INSERT INTO budget (name, epsilon, neighbours, time, version)"
                " VALUES (?, ?, ?, ?, ?)",
                (*row, *_stamp()),
            )

        storage.create(self.path)
        storage.write(self.path, insert)
        return Account(self, name)

    def charge(
        self,
        name: str,
        epsilon: Epsilon,
        *,
        query: str = "",
        mechanism: str = "",
        neighbours: Neighbours | str | None = None,
        analyst: str = "",
        dataset: str = "",
        rho: Epsilon | None = None,
    ) -> str:
        """Takes ε from a budget, durably, and returns the charge's id; or refuses.

        Args:
            name: the budget.
            epsilon: what the release costs.
            query: what was asked: public parameters only.
            mechanism: how it was answered.
            neighbours: the relation of the release; it must be that of the budget.
            analyst: who asked.
            dataset: of which data.
            rho: the zCDP cost, where it is known to be below ε²/2.

        Raises:
            ParameterError: if ε, ρ or the relation is not valid.
            BudgetError: if there is no such budget, too little is left of it, it belongs to
                another relation, or the ledger cannot be written.
        """
        cost = exact(epsilon)
        zcdp = cost**2 / 2 if rho is None else exact(rho, "rho")
        relation = None if neighbours is None else _relation(neighbours)

        def grant(connection: Connection) -> str:
            total, own = _known(connection, name)
            _check_relation(name, own, relation)
            _check_funds(name, total, _spent(connection, name), cost)
            amounts = (decimal_text(cost), decimal_text(zcdp))
            row = connection.execute(
                "INSERT INTO charge (budget, epsilon, rho, query, mechanism, neighbours,"
                " analyst, dataset, time, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (name, *amounts, query, mechanism, own.value, analyst, dataset, *_stamp()),
            )
            return str(row.lastrowid)

        return storage.write(self.path, grant)

    def total(self, name: str) -> Fraction:
        """The ε that a budget was created with."""
        return storage.read(self.path, lambda connection: _known(connection, name))[0]

    def neighbours(self, name: str) -> Neighbours:
        """The neighbour relation of a budget."""
        return storage.read(self.path, lambda connection: _known(connection, name))[1]

    def spent(self, name: str) -> Fraction:
        """The exact sum of all charges of a budget."""

        def total(connection: Connection) -> Fraction:
            _known(connection, name)
            return _spent(connection, name)

        return storage.read(self.path, total)

    def remaining(self, name: str) -> Fraction:
        """What is left of a budget, exactly."""
        return self.total(name) - self.spent(name)

    def history(self, name: str) -> list[Charge]:
        """The charges of a budget, oldest first."""

        def rows(connection: Connection) -> list[Charge]:
            _known(connection, name)
            connection.row_factory = sqlite3.Row
            query = "SELECT * FROM charge WHERE budget = ? ORDER BY id"
            return [_charge(row) for row in connection.execute(query, (name,))]

        return storage.read(self.path, rows)

    def __iter__(self) -> Iterator[str]:
        """The names of the budgets, in the order of their creation."""
        query = "SELECT name FROM budget ORDER BY id"
        return iter(storage.read(self.path, lambda c: [name for (name,) in c.execute(query)]))

    def __getitem__(self, name: str) -> "Account":
        """The budget of that name, to pass to a release as `budget=`."""
        storage.read(self.path, lambda connection: _known(connection, name))
        return Account(self, name)


@dataclass(frozen=True, slots=True)
class Account:
    """One budget of a ledger, with the name of who spends it on which data."""

    ledger: Ledger
    name: str
    analyst: str = ""
    dataset: str = ""

    def by(self, analyst: str = "", dataset: str = "") -> Self:
        """The same budget; its charges record the analyst and the dataset."""
        return replace(self, analyst=analyst or self.analyst, dataset=dataset or self.dataset)

    def charge(self, cost: Cost, /) -> str:
        """`Ledger.charge` on this budget."""
        return self.ledger.charge(
            self.name,
            cost.epsilon,
            query=cost.query,
            mechanism=cost.mechanism,
            neighbours=cost.neighbours,
            analyst=self.analyst,
            dataset=self.dataset,
            rho=cost.rho,
        )

    @property
    def total(self) -> Fraction:
        return self.ledger.total(self.name)

    @property
    def neighbours(self) -> Neighbours:
        return self.ledger.neighbours(self.name)

    @property
    def spent(self) -> Fraction:
        return self.ledger.spent(self.name)

    @property
    def remaining(self) -> Fraction:
        return self.ledger.remaining(self.name)

    @property
    def history(self) -> list[Charge]:
        return self.ledger.history(self.name)


def default_path() -> Path:
    """`$DAMPEN_LEDGER`, else a file in the user's data directory."""
    if named := os.environ.get("DAMPEN_LEDGER"):
        return Path(named)
    from platformdirs import user_data_path

    return user_data_path("dampen", appauthor=False) / "ledger.sqlite3"


def _find(connection: Connection, name: str) -> tuple[str, str] | None:
    query = "SELECT epsilon, neighbours FROM budget WHERE name = ?"
    found: tuple[str, str] | None = connection.execute(query, (name,)).fetchone()
    return found


def _known(connection: Connection, name: str) -> tuple[Fraction, Neighbours]:
    found = _find(connection, name)
    if found is None:
        names = [row[0] for row in connection.execute("SELECT name FROM budget ORDER BY id")]
        raise BudgetError(f"The ledger has no budget {name!r}.{did_you_mean(name, names)}")
    return Fraction(found[0]), Neighbours(found[1])


def _spent(connection: Connection, name: str) -> Fraction:
    # Equal charges have equal texts, so SQLite counts them and exact sums stay short.
    groups = connection.execute(
        "SELECT epsilon, count(*) FROM charge WHERE budget = ? GROUP BY epsilon", (name,)
    )
    return sum((Fraction(epsilon) * count for epsilon, count in groups), Fraction(0))


def _check_relation(name: str, own: Neighbours, asked: Neighbours | None) -> None:
    if asked is not None and asked is not own:
        raise BudgetError(
            f"Budget {name!r} is for {own} neighbours, this release is for {asked}; "
            "they cannot share a budget. Nothing was charged."
        )


def _check_funds(name: str, total: Fraction, spent: Fraction, cost: Fraction) -> None:
    if spent + cost > total:
        raise BudgetError(
            f"Budget {name!r} cannot pay epsilon {decimal_text(cost)}: "
            f"{decimal_text(total - spent)} of {decimal_text(total)} is left. Nothing was charged."
        )


def _checked_name(name: str) -> str:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise ParameterError("Expected a name for the budget, such as 'payroll'.")
    return name


def _relation(neighbours: Neighbours | str) -> Neighbours:
    try:
        return Neighbours(neighbours)
    except ValueError:
        known = [relation.value for relation in Neighbours]
        raise ParameterError(
            f"Expected neighbours to be one of {', '.join(known)}, got {neighbours!r}."
            f"{did_you_mean(str(neighbours), known)}"
        ) from None


def _stamp() -> tuple[str, str]:
    return datetime.now(UTC).isoformat(timespec="milliseconds"), library_version()


def _charge(row: sqlite3.Row) -> Charge:
    return Charge(
        epsilon=Fraction(row["epsilon"]),
        rho=Fraction(row["rho"]),
        query=row["query"],
        mechanism=row["mechanism"],
        neighbours=Neighbours(row["neighbours"]),
        analyst=row["analyst"],
        dataset=row["dataset"],
        time=datetime.fromisoformat(row["time"]),
        version=row["version"],
    )
