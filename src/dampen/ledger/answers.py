"""Releases that are kept beside their charges, so that an answer that got lost can be fetched."""

from collections.abc import Sequence

from dampen.errors import BudgetError
from dampen.ledger.log import Draft, Entry, Head, Kind, Row, damaged
from dampen.ledger.names import storable
from dampen.ledger.state import State
from dampen.ledger.storage import Log
from dampen.ledger.worker import Change, Worker

__all__ = ["fetch", "keep"]

LONGEST_ANSWER = 16 * 2**20
"""Characters of the JSON of a release that is kept."""


def keep(charge: str, answer: str) -> Change:
    """Keeps the JSON of a release.  A charge takes one answer.

    Raises:
        ParameterError: if that is no id of a charge.
    """
    wanted = Head.parse(charge)
    text = storable(answer)

    def change(_: State, log: Log) -> Draft:
        if len(text) > LONGEST_ANSWER:
            raise BudgetError(
                f"The ledger keeps answers no longer than {LONGEST_ANSWER:,} characters."
            )
        found = log.row(wanted.seq)
        if found is None or found.kind != Kind.CHARGE or not wanted.names(found):
            raise BudgetError(f"The ledger has no charge {charge}.")
        if any(True for _ in log.answers(wanted.seq)):
            raise BudgetError(
                f"The charge {charge} already has an answer. A charge takes one; the first stays."
            )
        id = Head(found.seq, found.digest).id
        return Draft(Kind.ANSWER, "", {"charge": id, "answer": text})

    return change


def fetch(worker: Worker, charges: Sequence[str]) -> list[str]:
    """The JSON of the releases that charges paid for, in one transaction.

    Raises:
        ParameterError: if one is no id.
        BudgetError: if there is no such charge, its answer was not kept, or was changed.
    """
    wanted = [Head.parse(charge) for charge in charges]
    found = worker.find(
        lambda log: [(log.row(each.seq), next(log.answers(each.seq), None)) for each in wanted]
    )
    return [_answer(each, *rows) for each, rows in zip(wanted, found, strict=True)]


def _answer(wanted: Head, paid: Row | None, kept: Row | None) -> str:
    if paid is None or paid.kind != Kind.CHARGE or not wanted.names(paid):
        raise BudgetError(f"The ledger has no charge {wanted.id}.")
    if kept is None:
        raise BudgetError(
            f"The charge {wanted.id} stands, but no answer to it was kept: the release was not "
            "made, or was interrupted."
        )
    entry = Entry.of(kept)
    if not Head.parse(entry.details["charge"]).names(paid):
        raise damaged(f"entry {kept.seq} was changed")
    return str(entry.details["answer"])
