"""Checking, copying and restoring a ledger.

The restore rule: charges that were made after a backup are not in it, and whoever restores it must
not get them back. If a head is known, from the head file at the place or from the caller, and every
head that is known is in the backup, nothing that was acknowledged is lost. Otherwise every budget
is frozen until the curator says what was spent since (`Account.thaw(spent=...)`). The files that
were at the place are kept, under another name.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from dampen.errors import BudgetError
from dampen.ledger.accounts import Ledger
from dampen.ledger.actions import signature
from dampen.ledger.log import Draft, Head, Kind, Row, sealed
from dampen.ledger.state import State
from dampen.ledger.storage.copies import read_copy, write_copy
from dampen.ledger.storage.witness import Witness, open_witness
from dampen.ledger.worker import forget, worker_at

__all__ = ["backup", "restore", "verify"]


def verify(ledger: Ledger, head: str | None = None) -> Head:
    """Reads the whole log again, and says its head: keep it elsewhere.

    Args:
        ledger: to verify.
        head: one that was kept elsewhere, or the id of an entry: it must be in the log.

    Raises:
        BudgetError: if an entry was edited or is missing, or an older copy was put back.
    """
    kept = None if head is None else Head.parse(head)

    def check(state: State, rows: Iterator[Row]) -> Head:
        found = sum(kept is not None and kept.names(row) for row in rows)  # reads them all
        if kept is not None and not found:
            older = kept.seq > state.head.seq
            raise BudgetError(
                f"The ledger does not contain the entry {kept.id}: "
                + ("an older copy was put back." if older else "it was edited, or is another one.")
            )
        return state.head

    return worker_at(ledger.place).scan(check)


def backup(ledger: Ledger, file: str | os.PathLike[str]) -> Head:
    """Writes a consistent, verified copy of a ledger that may be in use; the head of the copy.

    Raises:
        BudgetError: if the ledger is not whole, or the file exists or cannot be written.
    """
    target = Path(file).absolute()
    return worker_at(ledger.place).scan(lambda _, rows: write_copy(target, rows))


def restore(
    file: str | os.PathLike[str], ledger: Ledger, *, head: str | None = None, who: str = ""
) -> bool:
    """Puts a backup, or a copy, in the place of a ledger that is damaged, gone or went backwards.

    Args:
        file: the backup; it may be the file at the place itself.
        ledger: the place.
        head: the newest head that is known.  It counts beside that of the head file at the place:
            an older one takes nothing from a later one.
        who: restores it; the user of the operating system by default.

    Returns:
        Whether charges are missing, or may be: then every budget is frozen until `Account.thaw`.

    Raises:
        BudgetError: if the ledger at the place is whole, or the backup is not.
    """
    _check_needed(ledger)
    storage = worker_at(ledger.place).storage
    source = Path(file).absolute()
    given = [] if head is None else [Head.parse(head)]
    beside = storage.known()
    state = _added_up(source)
    witness = open_witness(state.witness, state.origin) if state.witness else None
    seen = _seen(witness)
    known = [*given, *(each for each in (beside, seen) if each is not None)]
    missing = set(known)
    for row in read_copy(source):
        missing = {each for each in missing if not each.names(row)}
    lost = bool(missing) or not known or (witness is not None and seen is None)
    draft = _restore_draft(state.head, max(known, default=None), lost, who)
    last = sealed(draft, state.head)
    storage.replace(_followed(read_copy(source), last))
    if witness is not None:
        witness.reset(Head(last.seq, last.digest))
    forget(ledger.place)
    return lost


def _added_up(source: Path) -> State:
    state = State()
    for row in read_copy(source):
        state.apply(row)
    return state


def _seen(witness: Witness | None) -> Head | None:
    try:
        return None if witness is None else witness.read()
    except BudgetError:
        return None


def _check_needed(ledger: Ledger) -> None:
    try:
        verify(ledger)
    except BudgetError:
        worker_at(ledger.place).close()
        return
    raise BudgetError(f"The ledger {ledger} is whole: there is nothing to restore.")


def _restore_draft(backup: Head, known: Head | None, lost: bool, who: str) -> Draft:
    details = {"backup": backup.id, "known": "" if known is None else known.id, "lost": lost}
    return Draft(Kind.RESTORE, "", details | signature(who))


def _followed(rows: Iterator[Row], last: Row) -> Iterator[Row]:
    yield from rows
    yield last
