"""`dampen budget`: create budgets, show what was spent, audit the ledger; `dampen report`."""

from pathlib import Path
from typing import Any, TypeVar

import click

from dampen.cli.options import (
    check_output,
    config_option,
    json_option,
    known_budgets,
    known_relations,
    ledger_option,
    output_option,
    write_text,
)
from dampen.cli.output import (
    examples,
    json_line,
    json_text,
    open_ledger,
    print_facts,
    print_json,
    print_table,
    write,
)
from dampen.core.losses import text_of_losses
from dampen.core.selection import Neighbours
from dampen.epsilon import decimal_text, short_text
from dampen.errors import ParameterError
from dampen.ledger import Account, Balance, Charge, Ledger, backup, restore, verify
from dampen.ledger import report as report_text
from dampen.ledger.policy import near_ledger, payable_by
from dampen.ledger.state import composed, spent
from dampen.printing import csv_text

__all__ = ["budget", "report"]

RELATIONS = [relation.value for relation in Neighbours]

F = TypeVar("F", bound=Any)


def _who(command: F) -> F:
    return click.option(
        "--who", metavar="WHO", default="", help="Who does this, for the record. [default: you]"
    )(command)


def _book(ledger: str | None, name: str | None = None, config: str | None = None) -> Ledger:
    """The ledger that was named, else that of the dampen.toml which lists the budget."""
    if ledger is not None:
        return open_ledger(ledger)
    if name is None:
        return open_ledger(near_ledger(config))
    registered = payable_by(name, config)
    return open_ledger(None if registered is None else registered.ledger)


def _why(command: F) -> F:
    return click.option("--why", metavar="TEXT", default="", help="The reason, for the record.")(
        command
    )


def _name(command: F) -> F:
    return click.argument("name", shell_complete=known_budgets)(command)


@click.group(
    epilog=examples(
        "dampen budget create payroll --epsilon 3 --neighbours replace-one",
        "dampen percentile salaries.csv --value salary --step 1000 -p 50 \\",
        "  --upper 500000 --epsilon 0.5 --budget payroll",
        "dampen budget show payroll",
    )
)
def budget() -> None:
    """Manages budgets of epsilon, one for each data set and neighbour relation."""


@budget.command(
    epilog=examples(
        "dampen budget create payroll --epsilon 3 --neighbours replace-one",
        "dampen budget create visits --epsilon 3 --delta 1e-6 --neighbours add-remove-row",
        "dampen budget create stays --epsilon 3 --neighbours add-remove-unit --unit patient",
        "dampen budget create first-try --epsilon 1 --neighbours add-remove-row --trial",
    )
)
@click.argument("name")
@click.option(
    "--epsilon", required=True, metavar="E", help="Total epsilon that the budget can spend."
)
@click.option(
    "--delta",
    metavar="D",
    help="Account in zCDP, and promise (epsilon, delta) in total. Half of D pays for questions "
    "with a delta of their own.",
)
@click.option(
    "--neighbours",
    metavar="RELATION",
    shell_complete=known_relations,
    help=f"What epsilon protects: one of {', '.join(RELATIONS)}, own:NAME. [default: what the "
    "facts of the data set say, if dampen.toml lists this budget]",
)
@click.option(
    "--unit",
    metavar="NAME",
    default="",
    help="For add-remove-unit, the column that names what is protected, such as patient. "
    "[default: that of the data set, else that of the first charge]",
)
@click.option(
    "--dataset", metavar="NAME", default="", help="The only data set that the budget pays for."
)
@click.option("--largest", metavar="E", help="The largest epsilon of one question.")
@click.option("--each", metavar="E", help="The most that one analyst may spend in total.")
@click.option("--trial", is_flag=True, help="Mark the budget as a trial.")
@_who
@ledger_option
@config_option
def create(
    *,
    name: str,
    epsilon: str,
    delta: str | None,
    neighbours: str | None,
    unit: str,
    dataset: str,
    largest: str | None,
    each: str | None,
    trial: bool,
    who: str,
    ledger: str | None,
    config: str | None,
) -> None:
    """Opens a budget of EPSILON for one neighbour relation.

    add-remove-row protects one row of a table, add-remove-unit one person with all their rows,
    replace-one what one row says where the number of rows is public, add-remove-edge one edge of a
    graph, own:NAME what a problem of your own says. If dampen.toml lists this budget, relation and
    ledger are those of its data set.
    """
    registered = payable_by(name, config)
    if neighbours is None:
        if registered is None:
            raise ParameterError(
                f"Expected --neighbours, one of {', '.join(RELATIONS)}, or a dampen.toml whose "
                f"data set lists the budget {name!r}."
            )
        neighbours = str(registered.schema.relation)
        unit = unit or registered.schema.unit_name
    account = _book(ledger, name, config).create(
        name,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        unit=unit,
        dataset=dataset,
        largest=largest,
        each=each,
        trial=trial,
        who=who,
    )
    print_facts(_facts(account.balance) | {"ledger": str(account.ledger)})


@budget.command(epilog=examples("dampen budget show payroll", "dampen budget show --json"))
@click.argument("name", required=False, shell_complete=known_budgets)
@ledger_option
@config_option
@json_option
def show(name: str | None, ledger: str | None, config: str | None, as_json: bool) -> None:
    """Shows one budget with its charges, or all budgets."""
    book = _book(ledger, name, config)
    if name is None:
        _show_all(book, as_json)
    else:
        _show_one(book[name], as_json)


@budget.command(name="raise", epilog=examples("dampen budget raise payroll --epsilon 5"))
@_name
@click.option(
    "--epsilon", required=True, metavar="E", help="Total epsilon that the budget can spend."
)
@_who
@ledger_option
def raise_(name: str, epsilon: str, who: str, ledger: str | None) -> None:
    """Raises a budget to a total of EPSILON."""
    account = _book(ledger, name)[name]
    account.raise_to(epsilon, who=who)
    print_facts(_facts(account.balance))


@budget.command(epilog=examples("dampen budget cap payroll --epsilon 0.5 --analyst intern"))
@_name
@click.option(
    "--epsilon", required=True, metavar="E", help="The most that this analyst may spend in total."
)
@click.option(
    "--analyst",
    metavar="WHO",
    default="*",
    help="Whom to limit. [default: every analyst without a limit of their own]",
)
@_who
@ledger_option
def cap(name: str, epsilon: str, analyst: str, who: str, ledger: str | None) -> None:
    """Limits what one analyst, or every analyst, may spend of a budget."""
    account = _book(ledger, name)[name]
    account.cap(epsilon, analyst=analyst, who=who)
    print_facts(_facts(account.balance))


@budget.command(epilog=examples("dampen budget freeze payroll --why 'audit of May'"))
@_name
@_why
@_who
@ledger_option
def freeze(name: str, why: str, who: str, ledger: str | None) -> None:
    """Freezes a budget: it pays nothing until you thaw it."""
    account = _book(ledger, name)[name]
    account.freeze(why=why, who=who)
    print_facts(_facts(account.balance))


@budget.command(epilog=examples("dampen budget thaw payroll"))
@_name
@click.option(
    "--spent", metavar="E", help="After a restore, the epsilon that was spent since the backup."
)
@_why
@_who
@ledger_option
def thaw(name: str, spent: str | None, why: str, who: str, ledger: str | None) -> None:
    """Thaws a frozen budget, so that it pays again."""
    account = _book(ledger, name)[name]
    account.thaw(spent=spent, why=why, who=who)
    print_facts(_facts(account.balance))


@budget.command(epilog=examples("dampen budget close payroll --why 'data deleted'"))
@_name
@_why
@_who
@ledger_option
def close(name: str, why: str, who: str, ledger: str | None) -> None:
    """Closes a budget for good: it never pays again."""
    account = _book(ledger, name)[name]
    account.close(why=why, who=who)
    print_facts(_facts(account.balance))


@budget.command(epilog=examples("dampen budget answer 42-0f9ab3c8e1d27745"))
@click.argument("charge", metavar="ID")
@ledger_option
def answer(charge: str, ledger: str | None) -> None:
    """Prints the answer that a charge paid for, as JSON."""
    write(json_line(_book(ledger).answer(charge)))


@budget.command(
    epilog=examples(
        "dampen budget witness /mnt/other/ledger-witness",
        "dampen budget witness append:/mnt/other/ledger-witness",
        "dampen budget witness postgresql://host/name",
    )
)
@click.argument("place")
@_who
@ledger_option
def witness(place: str, who: str, ledger: str | None) -> None:
    """Keeps the head of the ledger in a second PLACE, so that only one of several copies pays.

    PLACE is a new file, best on other storage; append:FILE for a file that is only ever appended
    to; or the address of a PostgreSQL database.
    """
    book = _book(ledger)
    book.set_witness(place, who=who)
    print_facts({"ledger": str(book), "witness": _witness(book)})


@budget.command(name="verify", epilog=examples("dampen budget verify --head $(cat head.txt)"))
@click.option("--head", metavar="H", help="A head that you saved earlier.")
@ledger_option
@json_option
def verify_(head: str | None, ledger: str | None, as_json: bool) -> None:
    """Reads every entry again and prints the head of the ledger, which you can save.

    With a head that you saved earlier, it finds edited and missing entries and older copies.
    """
    book = _book(ledger)
    found = verify(book, head)
    facts = {"ledger": str(book), "entries": found.seq, "head": str(found)}
    (print_json if as_json else print_facts)(facts)


@budget.command(name="backup", epilog=examples("dampen budget backup ledger-monday.sqlite3"))
@click.argument("file", type=click.Path(path_type=Path))
@ledger_option
def backup_(file: Path, ledger: str | None) -> None:
    """Writes a consistent copy of the ledger, also while it is in use, to a new FILE."""
    head = backup(_book(ledger), file)
    print_facts({"backup": file, "entries": head.seq, "head": str(head)})


@budget.command(name="restore", epilog=examples("dampen budget restore ledger-monday.sqlite3"))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--head", metavar="H", help="The newest head that you saved.")
@_who
@ledger_option
def restore_(file: Path, head: str | None, who: str, ledger: str | None) -> None:
    """Replaces a damaged, missing or outdated ledger by a backup.

    Charges that were made after the backup are not in it. Unless it contains the newest
    head that you saved, every budget stays frozen until you state what was spent since: dampen
    budget thaw NAME --spent E.
    """
    book = _book(ledger)
    lost = restore(file, book, head=head, who=who)
    print_facts({"ledger": str(book), "missing": "charges may be" if lost else "nothing"})
    _show_all(book, as_json=False)


@budget.command(epilog=examples("dampen budget export --format csv > ledger.csv"))
@click.argument("name", required=False, shell_complete=known_budgets)
@click.option(
    "--format",
    "style",
    type=click.Choice(["csv", "json"]),
    default="json",
    show_default=True,
    help="CSV with a header, or one JSON object per line.",
)
@ledger_option
def export(name: str | None, style: str, ledger: str | None) -> None:
    """Prints every entry of one budget, or of all."""
    rows = [entry.row() for entry in _book(ledger).entries(name)]
    if style == "csv":
        write(csv_text(rows).rstrip("\r\n"))
    else:
        write("\n".join(map(json_text, rows)))


@click.command(
    epilog=examples(
        "dampen report payroll",
        "dampen report payroll --format html -o payroll.html",
        "dampen report --format yaml",
    )
)
@click.argument("name", required=False, shell_complete=known_budgets)
@click.option(
    "--format",
    "style",
    type=click.Choice(["markdown", "html", "yaml"]),
    default="markdown",
    show_default=True,
    help="YAML has the fields of the Differential Privacy Deployments Registry.",
)
@output_option("Write the report to this file.")
@ledger_option
def report(name: str | None, style: str, output: Path | None, ledger: str | None) -> None:
    """Writes a report for a privacy officer, on one budget or on all.

    Whom epsilon protects, epsilon, delta and rho, promised and spent; every question with its
    mechanism, its price and who asked; what the curator changed. It comes from the ledger, which is
    checked first, and holds no answer and no data.
    """
    book = _book(ledger, name)
    check_output(output, book.place)
    names = list(book) if name is None else [book[name].name]
    known = {each: payable_by(each) for each in names}
    words = {each: found.schema.protected for each, found in known.items() if found is not None}
    text = report_text(book, names, style=style, protects=words)
    if output is None:
        write(text)
    else:
        write_text(output, text + "\n")
        print_facts({"report": output})


def _show_all(book: Ledger, as_json: bool) -> None:
    lines = [_facts(book.balance(name)) for name in book]
    if as_json:
        print_json(lines)
        return
    columns = ["budget", "neighbours", "epsilon", "delta", "spent", "left", "status"]
    columns += ["trial"] if any("trial" in line for line in lines) else []
    print_table(columns, [[line.get(column, "") for column in columns] for line in lines])
    print_facts({"witness": _witness(book)})


def _show_one(account: Account, as_json: bool) -> None:
    charges = account.history
    facts = _facts(account.balance)
    if "delta" in facts and charges:
        found = short_text(composed(account.balance, charges), up=True)
        told = f"{found} if all prices and noise were fixed beforehand"
        facts["composed"] = found if as_json else told
    if as_json:
        facts |= {"witness": account.ledger.witness}
        print_json(facts | {"charges": [_charge(each) for each in charges]})
        return
    print_facts(facts | {"witness": _witness(account.ledger)})
    if charges:
        price = ["epsilon", "delta"] if "delta" in facts else ["epsilon"]
        columns = ["time", *price, "query", "mechanism", "analyst", "dataset", "id"]
        lines = [_charge(each) | {"time": f"{each.time:%Y-%m-%d %H:%M:%S}"} for each in charges]
        print_table(columns, [[line[column] for column in columns] for line in lines])


def _facts(balance: Balance) -> dict[str, str]:
    """What is shown of a budget; a rounded number is marked."""
    limit = balance.limit
    used = spent(balance)
    facts = {
        "budget": balance.name,
        "neighbours": str(balance.neighbours),
        "protects": balance.protects,
        "epsilon": decimal_text(limit.epsilon),
    }
    if limit.delta is not None and limit.rho is not None:
        left = max(limit.rho - balance.spent.rho, type(limit.rho)(0))
        facts |= {
            "delta": decimal_text(limit.delta),
            "delta spent": short_text(balance.spent.delta, up=True),
            "rho": short_text(limit.rho, up=False),
            "rho left": short_text(left, up=False),
        }
    facts |= {
        "spent": short_text(used, up=True),
        "left": short_text(limit.epsilon - used, up=False),
        "status": str(balance.status),
    }
    if balance.trial:
        facts["trial"] = "yes"
    if balance.dataset:
        facts["dataset"] = balance.dataset
    if balance.largest is not None:
        facts["largest"] = decimal_text(balance.largest)
    for who, most in balance.caps.items():
        facts[f"cap of {who}"] = decimal_text(most.epsilon)
    return facts


def _witness(book: Ledger) -> str:
    return book.witness or "none, so copies are not detected (see dampen budget witness)"


def _charge(charge: Charge) -> dict[str, Any]:
    fields = {name: getattr(charge, name) for name in Charge.__dataclass_fields__}
    return fields | {
        "epsilon": "" if charge.epsilon is None else decimal_text(charge.epsilon),
        "rho": decimal_text(charge.rho),
        "delta": decimal_text(charge.delta) if charge.delta else "",
        "neighbours": str(charge.neighbours),
        "leaks": list(charge.leaks),
        "losses": text_of_losses(charge.losses),
        "time": charge.time.isoformat(),
    }
