"""`dampen sql`: one statement about a registered data set is one private question."""

from typing import Any

import click

from dampen.cli.options import (
    epsilon_option,
    expect_option,
    json_option,
    paying_options,
    verbose_option,
)
from dampen.cli.output import examples
from dampen.cli.question_command import show_plan, show_release
from dampen.cli.receipt import Receipt

__all__ = ["sql"]

EXAMPLE = "SELECT hospital FROM stays GROUP BY hospital ORDER BY MEDIAN(days) DESC LIMIT 1"


@click.command(epilog=examples(f'dampen sql "{EXAMPLE}" --epsilon 0.3'))
@click.argument("statement")
@epsilon_option
@expect_option
@paying_options
@verbose_option
@json_option
def sql(
    *,
    statement: str,
    epsilon: str | None,
    rho: str | None,
    expect: bool,
    verbose: bool,
    as_json: bool,
    **paying: Any,
) -> None:
    """Asks one SELECT STATEMENT about a data set that is registered in dampen.toml.

    It is parsed, never run: counts, sums, means, percentiles, the largest groups (ORDER BY with
    LIMIT) and groups above a threshold (HAVING). All else is refused before anything is charged.
    """
    from dampen.datasets import Dataset
    from dampen.schema import Schema
    from dampen.sql import parse

    receipt = click.get_current_context().ensure_object(Receipt)
    place, table = receipt.open(parse(statement).dataset, **paying)
    stays = Dataset(place, receipt.schema or Schema(), receipt.budget, table=table)
    asked = stays.statement(statement)
    question = stays.question(asked.question, **asked.stated)
    price: dict[str, Any] = {"epsilon": asked.offered(epsilon, rho), "rho": rho}
    shown: dict[str, Any] = {"as_json": as_json, "verbose": verbose}
    if expect:
        show_plan(stays.expect(asked.question, **price, **asked.stated), receipt, **shown)
        return
    receipt.asked = question.text()
    release = stays.ask(asked.question, **price, **asked.stated)
    show_release(release, receipt, question.shape(), **shown)
