"""Releases that are kept beside their charges, so that an answer that got lost can be fetched."""

from dampen.errors import BudgetError
from dampen.ledger.log import Draft, Entry, Head, Kind, damaged
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


def fetch(worker: Worker, charge: str) -> str:
    """The JSON of the release that a charge paid for.

    Raises:
        ParameterError: if that is no id.
        BudgetError: if there is no such charge, its answer was not kept, or was changed.
    """
    wanted = Head.parse(charge)
    paid, kept = worker.find(lambda log: (log.row(wanted.seq), next(log.answers(wanted.seq), None)))
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
