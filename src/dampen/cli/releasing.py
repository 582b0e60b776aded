"""What every releasing command shares: its options, and how its answer is shown."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dampen.cli.printing import print_facts, print_json, print_table
from dampen.cli.till import Till, budget_options
from dampen.epsilon import decimal_text

if TYPE_CHECKING:
    from dampen.releases import Release

F = TypeVar("F", bound=Callable[..., Any])


def release_options(command: F) -> F:
    """Adds --epsilon, --mechanism, --json and the options of a budget."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="One line of JSON, for machines."),
        budget_options,
        click.option("--mechanism", metavar="NAME", help="[default: the best known here]"),
        click.option("--epsilon", required=True, metavar="E", help="The privacy parameter, exact."),
    ):
        command = option(command)
    return command


def show_release(release: "Release", till: Till, *, as_json: bool) -> None:
    """Prints an answer and the public facts about it."""
    if as_json:
        print_json(json.loads(release.to_json()) | till.facts())
        return
    facts: dict[str, Any] = {
        "epsilon": decimal_text(release.epsilon),
        "mechanism": release.mechanism,
        "neighbours": release.neighbours,
    }
    if budget := till.facts().get("budget"):
        facts["budget"] = f"{budget['name']}, {budget['left']} of {budget['total']} left"
    if isinstance(release.answer, list):
        print_table(["rank", "answer"], enumerate(release.answer, start=1))
        print_facts(facts)
    else:
        print_facts({"answer": release.answer} | facts)
