"""Verification of the whole log in the background, while a ledger is in use.

Opening a ledger reads the entries behind its last checkpoint.  A process that lives long, such as a
service, has the others verified beside its work: in slices, on a connection of its own, so that no
charge waits for it.
"""

import threading
from contextlib import suppress
from itertools import islice

from dampen.errors import BudgetError
from dampen.ledger.accounts import Ledger
from dampen.ledger.log import damaged
from dampen.ledger.state import State
from dampen.ledger.storage import Storage, open_storage
from dampen.ledger.worker import worker_at

__all__ = ["Watch", "watch"]

SLICE = 4096
"""Entries that are verified in one transaction."""


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
