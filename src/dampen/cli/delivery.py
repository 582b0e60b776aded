"""Showing a release, and seeing to it that an answer that was paid for is not lost.

An answer is printed; if that fails it is in the ledger, and the message says how to fetch it; if it
is not there either, it goes to standard error.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dampen.cli.interrupts import held
from dampen.cli.output import Unprinted, facts_text, json_text, table_text, write
from dampen.cli.receipt import Receipt
from dampen.epsilon import decimal_text

if TYPE_CHECKING:
    from dampen.releases.release import Release

__all__ = ["Undelivered", "deliver", "release_facts", "show_release"]


class Undelivered(Exception):
    """An answer could not be printed; `answer` holds its JSON if it is nowhere else."""

    def __init__(self, message: str, answer: str | None) -> None:
        super().__init__(message)
        self.answer = answer


def show_release(
    release: "Release",
    receipt: Receipt,
    *,
    as_json: bool,
    names: tuple[str, Sequence[Any]] | None = None,
    ranked: bool = True,
) -> None:
    """Prints an answer and the public facts about it.

    Several answers are ranked, or carry the `names`: a heading and one name each; those of groups
    carry the groups.  A set is not ranked.
    """
    with held():
        facts = release_facts(release, receipt)
        if as_json:
            text = json_text(json.loads(release.to_json()) | receipt.balance())
        elif isinstance(release.answer, dict):
            table = table_text(["group", "answer"], release.answer.items())
            text = f"{table}\n{facts_text(facts)}"
        elif isinstance(release.answer, list) and ranked:
            heading, each = names or ("rank", range(1, len(release.answer) + 1))
            table = table_text([heading, "answer"], zip(each, release.answer, strict=True))
            text = f"{table}\n{facts_text(facts)}"
        else:
            text = facts_text({"answer": release.answer} | facts)
        deliver(text, receipt, release.to_json())


def release_facts(release: "Release", receipt: Receipt) -> dict[str, Any]:
    """What stands below an answer."""
    facts: dict[str, Any] = {
        "epsilon": decimal_text(release.epsilon),
        "mechanism": release.mechanism,
        "neighbours": release.neighbours,
    }
    if release.accuracy:
        facts["accuracy"] = release.accuracy
    if release.leaks:
        facts["NOT COVERED BY EPSILON"] = release.leaks
    if release.charge is not None:
        facts["charge"] = release.charge
    if budget := receipt.balance().get("budget"):
        facts["budget"] = f"{budget['name']}, {budget['left']} of {budget['total']} left"
        if budget["charged"] != facts["epsilon"]:
            facts["charged"] = f"epsilon {budget['charged']}, for the neighbours of this budget"
    return facts


def deliver(text: str, receipt: Receipt, answer: str) -> None:
    """Prints what was paid for.

    Raises:
        Undelivered: if it could not be printed; with the answer, unless that is kept.
    """
    with held():
        try:
            write(text)
        except Unprinted as error:
            lost = f"The answer could not be printed: {error.reason}. {receipt.told}".strip()
            where = "" if receipt.kept else " The answer follows."
            raise Undelivered(lost + where, None if receipt.kept else answer) from None
