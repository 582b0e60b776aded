"""`dampen budget`: create budgets, show what was spent."""

from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from dampen.cli.options import known_budgets, known_relations, ledger_option
from dampen.cli.output import examples as example
from dampen.cli.output import print_facts, print_json, print_table
from dampen.cli.receipt import open_ledger
from dampen.epsilon import decimal_text
from dampen.ledger import Account, Charge, Ledger
from dampen.selection import Neighbours

RELATIONS = [relation.value for relation in Neighbours]


@click.group(
    epilog=example(
        "dampen budget create payroll --epsilon 3 --neighbours replace-one",
        "dampen percentile salaries.csv ... --epsilon 0.5 --budget payroll",
        "dampen budget show payroll",
    )
)
def budget() -> None:
    """Budgets of epsilon that last: one per data set and neighbour relation."""


@budget.command(epilog=example("dampen budget create payroll --epsilon 3 --neighbours replace-one"))
@click.argument("name")
@click.option("--epsilon", required=True, metavar="E", help="All that may ever be spent.")
@click.option(
    "--neighbours",
    required=True,
    metavar="RELATION",
    shell_complete=known_relations,
    help=f"What epsilon protects: one of {', '.join(RELATIONS)}.",
)
@ledger_option
def create(name: str, epsilon: str, neighbours: str, ledger: Path | None) -> None:
    """Opens a budget of EPSILON for one neighbour relation.

    replace-one protects the values of one record (percentile); add-remove-edge one edge of a graph
    (top-k); add-remove-row one row of a table (tree, most-frequent).
    """
    account = open_ledger(ledger).create(name, epsilon=epsilon, neighbours=neighbours)
    print_facts(_facts(account) | {"ledger": account.ledger.path})


@budget.command(epilog=example("dampen budget show payroll", "dampen budget show --json"))
@click.argument("name", required=False, shell_complete=known_budgets)
@ledger_option
@click.option("--json", "as_json", is_flag=True, help="For machines.")
def show(name: str | None, ledger: Path | None, as_json: bool) -> None:
    """Shows one budget with its charges, or all budgets."""
    book = open_ledger(ledger)
    if name is None:
        _show_all(book, as_json)
    else:
        _show_one(book[name], as_json)


def _show_all(book: Ledger, as_json: bool) -> None:
    lines = [_facts(book[name]) for name in book]
    if as_json:
        print_json(lines)
    else:
        print_table(
            ["budget", "neighbours", "epsilon", "spent", "left"], [d.values() for d in lines]
        )


def _show_one(account: Account, as_json: bool) -> None:
    charges = [_line(charge) for charge in account.history]
    if as_json:
        print_json(_facts(account) | {"charges": charges})
        return
    print_facts(_facts(account))
    if charges:
        columns = ["time", "epsilon", "query", "mechanism", "analyst", "dataset"]
        print_table(columns, [[_short(line[column]) for column in columns] for line in charges])


def _facts(account: Account) -> dict[str, str]:
    spent, total = account.spent, account.total
    return {
        "budget": account.name,
        "neighbours": str(account.neighbours),
        "epsilon": decimal_text(total),
        "spent": decimal_text(spent),
        "left": decimal_text(total - spent),
    }


def _line(charge: Charge) -> dict[str, Any]:
    fields = {name: getattr(charge, name) for name in Charge.__dataclass_fields__}
    return {name: _plain(value) for name, value in fields.items()}


def _plain(value: Any) -> str:
    if isinstance(value, Fraction):
        return decimal_text(value)
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _short(text: str) -> str:
    """A time to the second; any other text as it is."""
    return text.partition(".")[0].replace("T", " ") if text.endswith("+00:00") else text
