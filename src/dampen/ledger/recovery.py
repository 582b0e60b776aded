"""Checking, copying and restoring a ledger.

The restore rule: charges that were made after a backup are not in it, and whoever restores it must
not get them back. If a head is known, from the head file at the place or from the caller, and every
head that is known is in the backup, nothing that was acknowledged is lost. Otherwise every budget
is frozen until the curator says what was spent since (`Account.thaw(spent=...)`). The files that
were at the place are kept, under another name.

Opening a ledger reads the entries behind its last checkpoint. A process that lives long, such as a
service, has the others verified beside its work (`watch`): in slices, on a connection of its own,
so that no charge waits for it.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from dampen.errors import BudgetError
from dampen.ledger.accounts import Ledger, signature
from dampen.ledger.log import Draft, Head, Kind, Row, damaged, sealed
from dampen.ledger.state import State
from dampen.ledger.storage import Storage, open_storage
from dampen.ledger.storage.head_file import Witness, open_witness
from dampen.ledger.storage.sqlite import read_copy, write_copy
from dampen.ledger.worker import forget, worker_at

__all__ = ["Watch", "backup", "restore", "verify", "watch"]

SLICE = 4096
"""Entries that are verified in one transaction."""


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
        BudgetError: if the ledger is not whole, or the file exists or cannot be written, or this
            role does not see all answers.
    """
    target = Path(file).absolute()
    return worker_at(ledger.place).scan(lambda _, rows: write_copy(target, map(_shown, rows)))


def _shown(row: Row) -> Row:
    if row.is_withheld():
        raise BudgetError("This role does not see all answers. Back up with the curator's role.")
    return row


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


class Watch:
    """A thread that verifies a ledger again and again.  `stop` it."""

    def __init__(self, ledger: Ledger, pause: float) -> None:
        self.rounds = 0
        """How often the whole log was found whole."""
        self._ledger = ledger
        self._pause = pause
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dampen-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the slice that it is at."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        storage = open_storage(self._ledger.place)
        while not self._stopped.is_set():
            # A storage that cannot be read now is no damage: the next round tries again.
            with suppress(BudgetError):
                self._verify(storage)
            storage.close()
            self._stopped.wait(self._pause)

    def _verify(self, storage: Storage) -> None:
        state = State()
        while not self._stopped.is_set():
            with storage.read() as transaction:
                head = transaction.head()
                rows = list(islice(transaction.rows(state.head.seq), SLICE))
            try:
                for row in rows:
                    state.apply(row)
                if len(rows) < SLICE and state.head != head:
                    raise damaged(f"entry {state.head.seq + 1} is missing or was changed")
            except BudgetError as error:
                worker_at(self._ledger.place).distrust(error)
                self._stopped.set()
                return
            if len(rows) < SLICE:
                self.rounds += 1
                return


def watch(ledger: Ledger, *, pause: float = 3600.0) -> Watch:
    """Verifies every entry now and then again `pause` seconds after each round.

    If an entry was edited or is missing, this process charges nothing more and shows no totals.
    """
    return Watch(ledger, pause)
