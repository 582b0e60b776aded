"""The options that commands share, and how a shell completes their values."""

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from dampen.cli.reading import listing
from dampen.cli.receipt import Receipt, open_ledger
from dampen.errors import DampenError

__all__ = [
    "budget_options",
    "column_option",
    "epsilon_option",
    "expect_option",
    "file_argument",
    "group_options",
    "header_option",
    "json_option",
    "known_budgets",
    "known_columns",
    "known_relations",
    "ledger_option",
    "output_option",
    "paying_options",
    "public_option",
    "starting",
    "table_option",
    "verbose_option",
]

F = TypeVar("F", bound=Callable[..., Any])


def epsilon_option(command: F) -> F:
    """Adds --epsilon, and --rho in its place."""
    add_rho = click.option(
        "--rho", metavar="R", help="In place of --epsilon: that of zCDP, for a budget with a delta."
    )
    add_epsilon = click.option("--epsilon", metavar="E", help="The privacy parameter, exact.")
    return add_epsilon(add_rho(command))


def group_options(*, required: bool) -> Callable[[F], F]:
    """Adds --by, --groups and --groups-file; the command gets `by` and the list `groups`."""

    def add(command: F) -> F:
        @column_option("--by", required=required, help="The column of groups.")
        @click.option("--groups", metavar="A,B,...", help="The public list of groups.")
        @click.option(
            "--groups-file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="The same, one per line.",
        )
        @functools.wraps(command)
        def with_groups(*, groups: str | None, groups_file: Path | None, **options: Any) -> Any:
            given = (groups, groups_file) != (None, None)
            listed = listing("groups", groups, groups_file) if required or given else None
            return command(groups=listed, **options)

        return with_groups  # type: ignore[return-value]

    return add


def budget_options(command: F) -> F:
    """Adds `paying_options`; the command gets its `receipt`.

    What a policy does not allow is refused here, before any data is read.
    """

    @paying_options
    @functools.wraps(command)
    def with_receipt(
        *,
        budget: str | None,
        ledger: str | None,
        analyst: str | None,
        dataset: str | None,
        config: str | None,
        **options: Any,
    ) -> Any:
        receipt = click.get_current_context().ensure_object(Receipt)
        place, table = receipt.open(
            options["file"],
            budget=budget,
            ledger=ledger,
            analyst=analyst,
            dataset=dataset,
            config=config,
        )
        options["file"] = place
        if table is not None and options.get("table") is None:
            options["table"] = table
        return command(receipt=receipt, **options)

    return with_receipt  # type: ignore[return-value]


def paying_options(command: F) -> F:
    """Adds --budget, --ledger, --analyst, --dataset and --config."""
    for add in reversed(
        [
            click.option(
                "--budget",
                metavar="NAME",
                shell_complete=known_budgets,
                help="Charge epsilon to this budget.",
            ),
            ledger_option,
            click.option(
                "--analyst", metavar="WHO", help="Recorded with the charge. [default: you]"
            ),
            click.option(
                "--dataset", metavar="WHAT", help="Recorded with the charge. [default: the file]"
            ),
            click.option(
                "--config",
                metavar="FILE",
                help="Data sets, their facts and budgets. "
                "[default: $DAMPEN_CONFIG, else dampen.toml]",
            ),
        ]
    ):
        command = add(command)
    return command


def ledger_option(command: F) -> F:
    """Adds --ledger."""
    return click.option(
        "--ledger",
        metavar="PLACE",
        help="Where budgets are kept: a file, or postgresql://host/name. "
        "[default: $DAMPEN_LEDGER, else your data directory]",
    )(command)


def json_option(command: F) -> F:
    """Adds --json, the flag `as_json`."""
    return click.option(
        "--json", "as_json", is_flag=True, help="One line of JSON, for machines; also for errors."
    )(command)


def expect_option(command: F) -> F:
    """Adds --expect."""
    return click.option(
        "--expect",
        is_flag=True,
        help="Print the price and the accuracy only: costs nothing, reads no row.",
    )(command)


def verbose_option(command: F) -> F:
    """Adds --verbose."""
    return click.option(
        "--verbose", is_flag=True, help="Print also the mechanism and what epsilon protects."
    )(command)


def header_option(command: F) -> F:
    """Adds --header."""
    return click.option(
        "--header",
        is_flag=True,
        help="The first line of FILE surely is a header: messages and completion may show it.",
    )(command)


def table_option(command: F) -> F:
    """Adds --table."""
    return click.option(
        "--table",
        metavar="NAME",
        help="Of a DuckDB or SQLite FILE: which table. [default: its only one]",
    )(command)


def public_option(command: F) -> F:
    """Adds --public."""
    return click.option("--public", is_flag=True, help="Confirms that FILE is public.")(command)


def output_option(help: str) -> Callable[[F], F]:
    """Adds -o."""
    return click.option("-o", "--output", type=click.Path(path_type=Path), help=help)


def file_argument(command: F) -> F:
    """Adds the FILE that a command reads; - is standard input."""
    return click.argument("file", type=click.Path())(command)


def column_option(name: str, *, help: str, required: bool = False) -> Callable[[F], F]:
    """Adds an option that names a column of FILE."""
    return click.option(
        name, required=required, metavar="COLUMN", shell_complete=known_columns, help=help
    )


def known_budgets(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The budgets that a shell may complete to."""
    try:
        return starting(incomplete, open_ledger(ctx.params.get("ledger")))
    except DampenError:
        return []


def known_relations(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """The neighbour relations."""
    from dampen.core.selection import Neighbours

    return starting(incomplete, [relation.value for relation in Neighbours])


def known_columns(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The names of columns, only where they surely are names, and never from a pipe."""
    from dampen.data.open import open_table

    # click gives up parsing at the option that is being completed, and leaves FILE where it was.
    file = ctx.params.get("file") or next(iter(ctx.args), None)
    if file is None or not (Path(file).is_file() or Path(file).is_dir()):
        return []
    try:
        table = open_table(
            file, header=bool(ctx.params.get("header")), table=ctx.params.get("table")
        )
    except DampenError:
        return []
    return starting(incomplete, [field.name for field in table.fields]) if table.declared else []


def starting(incomplete: str, words: Iterable[str]) -> list[str]:
    """The words that a shell may complete to."""
    return [word for word in words if word.startswith(incomplete) and word.isprintable()]
