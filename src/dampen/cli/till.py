"""The till of a command: which budget pays, whether it has paid, and who is told."""

import functools
import getpass
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import click

from dampen.epsilon import decimal_text
from dampen.errors import DampenError, DataError, ParameterError
from dampen.ledger import Account, Ledger, default_path
from dampen.releases import Budget, Cost

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Till:
    """A budget for a release, or none; it remembers that the moment of the charge has passed.

    Attributes:
        account: who pays, if anybody.
        asked: public details of the question, for the ledger.
        paid: ε, once the moment of the charge has passed.
    """

    account: Account | None = None
    asked: str = ""
    paid: Fraction | None = None

    def charge(self, cost: Cost, /) -> str | None:
        """Charges the account, if there is one."""
        whole = replace(cost, query=f"{cost.query} {self.asked}".strip())
        charge = None if self.account is None else self.account.charge(whole)
        self.paid = cost.epsilon
        return charge

    @contextmanager
    def open(self) -> Iterator["Till"]:
        """After the charge every failure is one of the data, and says that the charge stands."""
        try:
            yield self
        except BaseException as error:
            if self.paid is None:
                raise
            if isinstance(error, DampenError):
                raise DataError(" ".join([str(error), *self._notes()])) from None
            for note in self._notes():
                error.add_note(note)
            raise

    def facts(self) -> dict[str, Any]:
        """What is left, for people and machines."""
        if self.account is None:
            return {}
        left, total = decimal_text(self.account.remaining), decimal_text(self.account.total)
        return {"budget": {"name": self.account.name, "left": left, "total": total}}

    def _notes(self) -> list[str]:
        if self.account is None or self.paid is None:
            return []
        return [f"Budget {self.account.name!r} was charged epsilon {decimal_text(self.paid)}."]


def rehearse(release: Callable[[Budget], object]) -> Cost:
    """What a release would charge: runs it on made-up data, with a budget that only listens.

    So every public parameter is checked by the library itself, before a file is read or a budget
    is charged.
    """
    asked: list[Cost] = []

    class Listener:
        def charge(self, cost: Cost, /) -> None:
            asked.append(cost)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            release(Listener())
        except DataError as error:
            # Nothing is wrong with made-up data, and nothing was charged: drop the words about it.
            text, _, _ = str(error).partition(" The charge of epsilon")
            raise ParameterError(text) from None
    return asked[0]


def budget_options(command: F) -> F:
    """Adds --budget, --ledger, --analyst and --dataset; the command gets a `till`."""

    @click.option(
        "--budget",
        metavar="NAME",
        shell_complete=known_budgets,
        help="Charge epsilon to this budget.",
    )
    @ledger_option
    @click.option("--analyst", metavar="WHO", help="Recorded with the charge. [default: you]")
    @click.option("--dataset", metavar="WHAT", help="Recorded with the charge. [default: the file]")
    @functools.wraps(command)
    def with_till(
        *args: Any,
        budget: str | None,
        ledger: Path | None,
        analyst: str | None,
        dataset: str | None,
        **options: Any,
    ) -> Any:
        if budget is None and (analyst or dataset):
            raise ParameterError("Expected --budget with --analyst and --dataset.")
        till = Till()
        if budget is not None:
            data = dataset or Path(options["file"]).name
            till.account = open_ledger(ledger)[budget].by(analyst or _user(), data)
        return command(*args, till=till, **options)

    return with_till  # type: ignore[return-value]


def ledger_option(command: F) -> F:
    """Adds --ledger."""
    return click.option(
        "--ledger",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Where budgets are kept. [default: $DAMPEN_LEDGER, else your data directory]",
    )(command)


def known_budgets(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The budgets that a shell may complete to."""
    try:
        return [
            name for name in open_ledger(ctx.params.get("ledger")) if name.startswith(incomplete)
        ]
    except DampenError:
        return []


def open_ledger(path: Path | None) -> Ledger:
    """The ledger of that path, or the default one."""
    return Ledger(path or default_path())


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
