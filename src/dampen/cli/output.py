"""Output: plain tables, colours only on a terminal, JSON on request; and what was paid for.

Everything that a command prints goes through `write`, in one piece.  Text may come from files, so
nothing is printed that could command a terminal.

What a command has paid for is known at any moment (`Receipt`).
"""

import errno
import getpass
import json
import os
import shlex
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from unicodedata import combining, east_asian_width

import click

from dampen import errors
from dampen.cli.interrupts import held
from dampen.printing import printable

if TYPE_CHECKING:
    from dampen.ledger import Account, Ledger
    from dampen.releases.cost import Budget, Cost
    from dampen.schema import Schema

__all__ = [
    "Receipt",
    "Unprinted",
    "cell",
    "complain",
    "examples",
    "facts_text",
    "json_line",
    "json_text",
    "open_ledger",
    "print_facts",
    "print_json",
    "print_table",
    "printable",
    "show_warnings",
    "table_text",
    "write",
]

GAP = "   "


class Unprinted(Exception):
    """Standard output could not be written."""

    def __init__(self, reason: str, *, reader_left: bool = False) -> None:
        super().__init__(f"Cannot write to standard output: {reason}.")
        self.reason = reason
        self.reader_left = reader_left

    @classmethod
    def of(cls, error: BaseException) -> Self | None:
        """The error as `Unprinted`, if writing failed; None for other errors."""
        if isinstance(error, cls):
            return error
        codes = (errno.EPIPE, errno.ENOSPC, errno.EBADF, errno.EIO, errno.EDQUOT, errno.EFBIG)
        if not isinstance(error, OSError) or error.filename or error.errno not in codes:
            return None
        return cls(error.strerror or "it is broken", reader_left=error.errno == errno.EPIPE)


def write(text: str) -> None:
    """Writes lines to standard output, all of them.

    Raises:
        Unprinted: if that failed.
    """
    if sys.stdout is None:
        raise Unprinted("it is closed")
    try:
        click.echo(text, color=_colour())
    except OSError as error:
        # Python would try, and complain, once more when it flushes at exit.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise (Unprinted.of(error) or Unprinted(error.strerror or "it is broken")) from None


def complain(
    text: str, facts: Mapping[str, Any] | None = None, *, answer: str | None = None
) -> None:
    """One line on standard error, JSON where there are facts; an answer, if any, in a second."""
    line = " ".join(text.split())
    if facts is None:
        _to_stderr(f"{_styled('dampen:', 'red')} {printable(line)}")
        if answer is not None:
            _to_stderr(json_line(answer))
        return
    told = {"exit_code": facts["exit_code"], "message": line, **facts}
    _to_stderr(json_text(told if answer is None else told | {"answer": json.loads(answer)}))


def show_warnings(*, as_json: bool = False) -> None:
    """Shows dampen's own warnings, one line each; those of other libraries may quote data."""
    from dampen.cli.lazy import in_options

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if category.__module__ == errors.__name__:
            context = click.get_current_context(silent=True)
            told = str(message) if context is None else in_options(str(message), context.command)
            text = " ".join(told.split())
            line = f"{_styled('warning:', 'yellow')} {printable(text)}"
            _to_stderr(json_text({"warning": text}) if as_json else line)

    warnings.showwarning = show


def examples(*lines: str) -> str:
    """The end of a help text: commands to copy, kept as they are."""
    return "\n  ".join(["\b", "Example:", *lines]).replace("\b\n  ", "\b\n")


def table_text(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table with a header; numbers to the right."""
    listed = [list(row) for row in rows]
    drawn = [list(columns), *([cell(value) for value in row] for row in listed)]
    widths = [max(map(_width, column)) for column in zip(*drawn, strict=True)]
    right = [
        bool(listed) and all(isinstance(row[i], int | float) for row in listed)
        for i in range(len(columns))
    ]
    head, *lines = (_table_line(row, widths, right) for row in drawn)
    return "\n".join([head, "─" * (sum(widths) + len(GAP) * (len(widths) - 1)), *lines])


def _table_line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    blanks = [" " * (width - _width(text)) for text, width in zip(cells, widths, strict=True)]
    aligned = zip(cells, blanks, right, strict=True)
    return GAP.join(fill + text if end else text + fill for text, fill, end in aligned).rstrip()


def _width(text: str) -> int:
    """The columns of a terminal that a text takes: two for each wide character."""
    return sum(
        2 if east_asian_width(character) in "WF" else not combining(character) for character in text
    )


def facts_text(facts: Mapping[str, Any]) -> str:
    """Names and values, one pair per line."""
    width = max(map(len, facts))
    return "\n".join(
        f"{click.style(f'{name:<{width}}', dim=True)}  {cell(value)}"
        for name, value in facts.items()
    )


def json_text(value: Any) -> str:
    """One line of JSON."""
    return json_line(json.dumps(value, ensure_ascii=False))


def json_line(text: str) -> str:
    """JSON as it is, with all that is not printable written as JSON escapes it."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def print_table(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Prints `table_text`."""
    write(table_text(columns, rows))


def print_facts(facts: Mapping[str, Any]) -> None:
    """Prints `facts_text`."""
    write(facts_text(facts))


def print_json(value: Any) -> None:
    """Prints `json_text`."""
    write(json_text(value))


def cell(value: Any) -> str:
    """A value as one line of text without control characters."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(cell, value))
    return printable(str(value))


def _to_stderr(line: str) -> None:
    with suppress(OSError, ValueError):  # nobody is there to be told
        click.echo(line, err=True, color=_colour())


def _styled(word: str, colour: str) -> str:
    return click.style(word, fg=colour, bold=True)


def _colour() -> bool | None:
    return False if os.environ.get("NO_COLOR") else None


@dataclass
class Receipt:
    """The budget of one release, or none, and a record of what was charged and kept.

    It stands between a release and its account, so that whatever happens to the command, what it
    says about the charge is true.

    Attributes:
        account: who pays, if anybody.
        place: the ledger, if another than the default one was named.
        asked: public details of the question, for the ledger.
        charged: the id of the charge, once there is one.
        costs: what was asked of the account; a question may be charged in two parts.
        kept: whether the ledger holds the answer.
        schema: the public facts of registered data.
    """

    account: "Account | None" = None
    place: str | None = None
    asked: str = ""
    charged: str | None = None
    costs: "tuple[Cost, ...]" = ()
    kept: bool = False
    schema: "Schema | None" = None

    @property
    def budget(self) -> "Budget | None":
        """What to pass to a release."""
        return None if self.account is None else self

    @property
    def ledger(self) -> Path | None:
        """The file of the account that pays, if it is in a file."""
        from dampen.ledger.storage import is_address

        if self.account is None or is_address(self.account.ledger.place):
            return None
        return self.account.ledger.path

    def charge(self, cost: "Cost", /) -> str | None:
        """Charges the account, and records this before any interrupt is handled."""
        assert self.account is not None
        with held():
            asked = replace(cost, query=f"{cost.query} {self.asked}".strip())
            self.charged = self.account.charge(asked)
            self.costs = (*self.costs, cost)
        return self.charged

    def keep(self, charge: str, answer: str, /) -> None:
        """Stores the answer in the ledger; if that fails, the answer is still printed."""
        from dampen.errors import DampenError

        assert self.account is not None
        with held(), suppress(DampenError):
            self.account.keep(charge, answer)
            self.kept = True

    @property
    def told(self) -> str:
        """Sentences about the charge and the stored answer."""
        if self.account is None:
            return ""
        if self.charged is None:
            return "Nothing was charged."
        stands = f"The charge of {self.costs[-1].price} ({self.charged}) stands."
        return f"{stands} {self.fetching}".strip()

    @property
    def fetching(self) -> str:
        """How to get at an answer that was kept."""
        if not self.kept:
            return ""
        place = "" if self.place is None else f" --ledger {shlex.quote(self._shown_place())}"
        return f"The answer is kept: dampen budget answer {self.charged}{place}"

    def _shown_place(self) -> str:
        """The ledger as it was named; an address without its password."""
        from dampen.ledger.storage import is_address

        assert self.place is not None
        return str(self.account.ledger) if self.account and is_address(self.place) else self.place

    def balance(self, price: "Cost | None" = None) -> dict[str, Any]:
        """What was charged and what is left of the budget; nothing if the ledger cannot say.

        Given a price that was not paid yet, it stands in place of what was charged.
        """
        from dampen.epsilon import decimal_text, short_text
        from dampen.errors import DampenError
        from dampen.ledger.rules import steps_between

        parts = self.costs if price is None else (price,)
        if self.account is None or not parts:
            return {}
        try:
            left = self.account.remaining
            total = self.account.total
            own = self.account.neighbours
        except DampenError:
            return {}
        steps = [steps_between(each.neighbours, own) for each in parts]
        charged = sum((n * each.epsilon for n, each in zip(steps, parts, strict=True)), Fraction(0))
        pure = all(each.pure for each in parts)
        return {
            "budget": {
                "name": self.account.name,
                "charged": decimal_text(charged) if pure else None,
                "left": short_text(left, up=False),
                "total": decimal_text(total),
            }
        }

    def open(
        self,
        file: str,
        *,
        budget: str | None,
        ledger: str | None,
        analyst: str | None,
        dataset: str | None,
        config: str | None,
    ) -> tuple[str, str | None]:
        """Finds the account that pays, by what a policy allows; reads no data.

        Args:
            file: a path or address, or the name of a registered data set, which brings its budget.
            budget: the name of the budget, if one was named.
            ledger: where it is.
            analyst: who asks.
            dataset: what the charge records.
            config: the policy.

        Returns:
            Where the rows are, and which table of a database.

        Raises:
            ParameterError: if options do not fit together.
            BudgetError: if a policy does not allow the question.
        """
        from dampen.errors import ParameterError
        from dampen.ledger.policy import check_policy, registered_name

        named = registered_name(file, config)
        place = file if named is None else named.only_place
        if named is not None:
            budget = budget or named.budgets[0]
        if budget is None and (analyst or dataset or ledger):
            raise ParameterError("Expected --budget with --ledger, --analyst and --dataset.")
        registered = check_policy(place, budget, config) or named
        if registered is not None:
            ledger = registered.place(ledger)
            dataset = dataset or registered.name
            self.schema = registered.schema
        if budget is not None:
            self.place = ledger
            location, name = _location(place)
            account = open_ledger(ledger)[budget]
            self.account = account.by(analyst or _user(), dataset or name, location)
        return place, None if named is None else named.table


def _location(file: str) -> tuple[str, str]:
    """What the ledger records of where data is: its place, and a short name."""
    from dampen.data.postgres import is_address, shown

    if is_address(file):
        return shown(file), shown(file)
    if file == "-":
        return "", "standard input"
    return os.path.realpath(file), os.path.basename(os.path.abspath(file))


def open_ledger(place: str | None) -> "Ledger":
    """The ledger of that path or address, or the default one."""
    from dampen.ledger import Ledger, default_place

    return Ledger(place or default_place())


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
