"""An open ledger of one process: verified once, then followed; commits in groups.

Every use of the storage happens in a worker thread.  So an interrupt (Ctrl-C) ends the waiting and
never a transaction, and charges that threads ask for while the disk is busy share the next
synchronisation.  A charge returns when it is on disk.

Workers are kept per process, so that making a `Ledger` again costs nothing.  Before a fork, and
when the process ends, they finish their transaction and are closed; after a fork both processes
open theirs again: neither a thread nor a connection crosses it.
"""

import atexit
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from dampen.errors import BudgetError
from dampen.ledger.log import START, Draft, Entry, Head, Row, damaged
from dampen.ledger.rules import Refused
from dampen.ledger.state import State
from dampen.ledger.storage import Log, Storage, Transaction, open_storage
from dampen.ledger.storage.head_file import Witness, open_witness, overtaken

__all__ = ["Change", "Look", "Unwanted", "Worker", "close_all", "forget", "worker_at"]

T = TypeVar("T")
Change = Callable[[State, Log], Draft]

OPEN_WORKERS = 8
"""Files that a process keeps open; the one that was not used for longest is closed first."""

LARGEST_GROUP = 512
"""Charges that share a transaction."""

SECONDS_IDLE = 5.0
"""How long a thread waits for work before it ends."""

Look = Callable[[list[Entry], Head], Collection[int]]
"""Takes in new entries, and says which of the changes that follow are not wanted any more."""


class Unwanted(Exception):
    """A change that `Look` took back; nothing was charged."""


@dataclass(eq=False, slots=True)
class _Job:
    """One thing to do, and what came of it."""

    change: Change | None = None
    question: Callable[[State, Transaction], Any] | None = None
    create: bool = False
    first: bool = False
    done: threading.Event = field(default_factory=threading.Event)
    result: Any = None
    error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        # Each waiting thread gets an error of its own: a traceback belongs to one of them.
        self.error = BudgetError(str(error)) if isinstance(error, BudgetError) else error
        self.done.set()


@dataclass(frozen=True, slots=True)
class _Pending:
    """A log with the rows that will be appended to it when the transaction ends."""

    transaction: Transaction
    rows: list[Row]

    def row(self, seq: int) -> Row | None:
        return next((each for each in self.rows if each.seq == seq), self.transaction.row(seq))

    def answers(self, charge: int) -> Iterator[Row]:
        yield from self.transaction.answers(charge)
        start = f'{{"charge":"{charge}-'
        yield from (row for row in self.rows if row.content.startswith(start))


class Worker:
    """One storage, with all that its entries add up to."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._state: State | None = None
        self._reached: Head = START
        self._distrust: BudgetError | None = None
        self._jobs: list[_Job] = []
        self._thread: threading.Thread | None = None
        self._paused = False
        self._mutex = threading.Condition()

    def write(self, change: Change, *, create: bool = False) -> Entry:
        """Appends the entry that `change` makes of the state, durably.

        An error of `change` appends nothing, but for `Refused`, whose own entry is appended
        (`state`).  With `create` the storage is made first where there is none.
        """
        row: Row = self._do(_Job(change=change, create=create))
        return Entry.of(row)

    def write_all(self, changes: Sequence[Change]) -> list[str | BaseException]:
        """The same for several, which share transactions: for each the id of its entry, or why not.

        What one change is refused does not concern the others.
        """
        jobs = [_Job(change=change) for change in changes]
        self._do_all(jobs)
        return [job.error or Head(job.result.seq, job.result.digest).id for job in jobs]

    def follow_and_write_all(
        self, last: Head, look: Look, changes: Sequence[Change]
    ) -> list[str | BaseException]:
        """`entries_after` and `write_all` in one transaction.

        Args:
            last: a head that was seen before.
            look: is given the entries behind it and the head now, before the first change.
            changes: those that `look` names by their number are not made, but `Unwanted`.
        """
        unwanted: Collection[int] = ()

        def follow(state: State, transaction: Transaction) -> None:
            nonlocal unwanted
            unwanted = look(_entries_after(last, state, transaction), state.head)

        def wanted(i: int) -> Change:
            def change(state: State, log: Log) -> Draft:
                if i in unwanted:
                    raise Unwanted
                return changes[i](state, log)

            return change

        following = _Job(question=follow, first=True)
        jobs = [_Job(change=wanted(i)) for i in range(len(changes))]
        self._do_all([following, *jobs])
        if following.error is not None:
            raise following.error from None
        return [job.error or Head(job.result.seq, job.result.digest).id for job in jobs]

    def read(self, question: Callable[[State], T]) -> T:
        """An answer from the state as it is now.

        An error of `question` is an answer too: it leaves the storage open.
        """
        answer: Callable[[], T] = self._do(_Job(question=lambda state, _: _kept(question, state)))
        return answer()

    def scan(self, look: Callable[[State, Iterator[Row]], T]) -> T:
        """What `look` makes of all rows, which are read and checked again."""
        return self._do(_Job(question=lambda state, t: look(state, _verified(t, state.head))))

    def find(
        self, look: Callable[[Log], list[tuple[Row | None, ...]]]
    ) -> list[tuple[Row | None, ...]]:
        """Single rows, each checked against its neighbours in the chain.

        Raises:
            BudgetError: if a row that is found does not follow the one before it, or is not
                followed by the next one.
        """

        def found(state: State, transaction: Transaction) -> list[tuple[Row | None, ...]]:
            groups = look(transaction)
            for row in chain.from_iterable(groups):
                if row is not None:
                    _check_links(row, transaction, state.head)
            return groups

        return self._do(_Job(question=found))

    def entries_after(self, last: Head) -> tuple[list[Entry], Head]:
        """The entries behind a head that was seen before, and the head now.

        Raises:
            BudgetError: if the log does not go on from there.
        """

        def look(state: State, transaction: Transaction) -> tuple[list[Entry], Head]:
            return _entries_after(last, state, transaction), state.head

        return self._do(_Job(question=look))

    def entries(self, wanted: Callable[[Row], bool]) -> list[Entry]:
        """The entries that are wanted, oldest first, after the whole log was read again."""
        return self.scan(lambda _, rows: [Entry.of(row) for row in rows if wanted(row)])

    def distrust(self, error: BudgetError) -> None:
        """Pays and shows nothing from now on: the log was found damaged."""
        self._distrust = error

    def close(self) -> None:
        """Waits for the transaction in progress and gives back all handles."""
        self.pause()
        self.resume()

    def pause(self) -> None:
        """Closes, ends the thread, and begins no work before `resume`."""
        with self._mutex:
            self._paused = True
            self._mutex.notify_all()
            self._mutex.wait_for(lambda: not self._is_working())
            self.storage.close()
            self._state = None

    def resume(self) -> None:
        """Does what was asked for in the meantime."""
        with self._mutex:
            self._paused = False
            if self._jobs:
                self._start()

    def _do(self, job: _Job) -> Any:
        self._do_all([job])
        if job.error is not None:
            raise job.error from None
        return job.result

    def _do_all(self, jobs: Sequence[_Job]) -> None:
        """Has all of them done; each knows what came of it."""
        try:
            with self._mutex:
                self._jobs += jobs
                if self._is_working():
                    self._mutex.notify_all()
                elif jobs and not self._paused:
                    self._start()
            for job in jobs:
                job.done.wait()
        except BaseException as interrupt:
            for job in jobs:
                self._withdraw(job, interrupt)
            raise

    def _is_working(self) -> bool:
        # An interrupt may hit between the two lines of `_start`: hence not only `is not None`.
        return self._thread is not None and self._thread.is_alive()

    def _start(self) -> None:
        # A process may end while its thread waits for work: `close_all` sees to what is being done.
        self._thread = threading.Thread(target=self._work, name="dampen-ledger", daemon=True)
        self._thread.start()

    def _withdraw(self, job: _Job, interrupt: BaseException) -> None:
        """Takes a job back if it was not begun; otherwise waits, and says what became of it."""
        with self._mutex:
            if job in self._jobs:
                self._jobs.remove(job)
                return
        job.done.wait()
        if job.change is not None and job.error is None:
            entry = Entry.of(job.result)
            interrupt.add_note(f"The {entry.kind} {entry.id} stands.")

    def _work(self) -> None:
        while jobs := self._next_jobs():
            self._process(jobs)

    def _next_jobs(self) -> list[_Job]:
        """The next group; none if the thread shall end, because of a pause or for lack of work."""
        with self._mutex:
            self._mutex.wait_for(lambda: self._jobs or self._paused, SECONDS_IDLE)
            if self._paused or not self._jobs:
                self._thread = None
                self._mutex.notify_all()
                return []
            jobs = self._jobs[:LARGEST_GROUP]
            self._jobs = self._jobs[LARGEST_GROUP:]
            return jobs

    def _process(self, jobs: list[_Job]) -> None:
        try:
            changes = [job for job in jobs if job.change is not None]
            if any(job.create for job in changes):
                self.storage.create()
            if changes:
                self._change(changes, [job for job in jobs if job.first])
            for job in jobs:
                if job.question is not None and not job.done.is_set():
                    self._answer(job)
        except BaseException as error:
            self._state = None
            for job in jobs:
                if not job.done.is_set():
                    job.fail(error)

    def _change(self, jobs: list[_Job], first: list[_Job]) -> None:
        """All changes in one transaction, after the questions that come before them.

        An error in it is the error of all of them.
        """
        refusals: dict[_Job, BaseException] = {}
        if self._state is None:  # what takes long is read before others have to wait
            with self.storage.read() as transaction:
                self._current(transaction)
        with self.storage.write() as transaction:
            state = self._current(transaction)
            _check_witness(_seen(state.witness, state.origin), state, transaction)
            rows: list[Row] = []
            for job in first:
                assert job.question is not None
                job.result = job.question(state, transaction)
            for job in jobs:
                assert job.change is not None
                try:
                    draft = job.change(state, _Pending(transaction, rows))
                except Refused as refusal:
                    refusals[job] = refusal
                    recorded = state.refusals.entry(refusal.draft)
                    if recorded is None:
                        continue
                    draft = recorded
                except Exception as error:
                    refusals[job] = error
                    continue
                job.result = state.append(draft)
                rows.append(job.result)
            due = state.checkpoint_due() if rows and transaction.curator else None
            if due is not None:
                rows.append(state.append(due))
            if rows:
                transaction.append(rows)
        if rows and state.witness:
            self._move_witness(open_witness(state.witness, state.origin), state.head)
        for job in (*first, *jobs):
            if job in refusals:
                job.fail(refusals[job])
            else:
                job.done.set()

    def _answer(self, job: _Job) -> None:
        assert job.question is not None
        known = State() if self._state is None else self._state
        place = known.witness
        origin = known.origin
        while not job.done.is_set():
            # First the witness, then the view: so the view has come at least as far.
            seen = _seen(place, origin)
            with self.storage.read() as transaction:
                state = self._current(transaction)
                asked = state.witness == place
                if asked:
                    _check_witness(seen, state, transaction)
                    job.result = job.question(state, transaction)
            if asked:
                job.done.set()
            place = state.witness
            origin = state.origin

    def _move_witness(self, witness: Witness, head: Head) -> None:
        """Moves the witness to a head that was committed, unless it is further already.

        Raises:
            BudgetError: if it knows a head that is not in this log, or cannot be written.
        """
        while True:
            seen = witness.read()
            with self.storage.read() as transaction:
                found = None if seen is None else transaction.row(seen.seq)
            if seen is None or found is None or found.digest != seen.digest:
                raise overtaken(witness)
            if seen.seq >= head.seq or witness.advance(seen, head):
                return

    def _current(self, transaction: Transaction) -> State:
        """The state as of this transaction, every new entry checked.

        Raises:
            BudgetError: if the log is broken, ends too early, or went backwards.
        """
        if self._distrust is not None:
            raise self._distrust
        stored = transaction.head()
        reached = {self._reached, transaction.floor or START}
        if transaction.fresh or self._state is None:
            self._state = _resumed(transaction, stored, reached)
        state = self._state
        _check_reached(state.head, reached)
        if stored.seq < self._reached.seq:
            raise _backwards(self._reached)
        if transaction.fresh or state.head != stored:
            for row in transaction.rows(state.head.seq):
                state.apply(row)
                _check_reached(state.head, reached)
        if state.head != stored:
            raise damaged(f"entry {state.head.seq + 1} is missing")
        last = max(reached)
        if last.seq > state.head.seq:
            raise _backwards(last)
        self._reached = state.head
        return state


def _resumed(transaction: Transaction, stored: Head, reached: set[Head]) -> State:
    """The state at the last checkpoint before every head that must be in the log.

    The entries behind it lead to those heads, so what is read proves that they are in it.
    """
    last = min((head.seq for head in {stored, *reached} - {START}), default=START.seq)
    found = transaction.checkpoint(last)
    if found is None:
        return State()
    before = transaction.row(found.seq - 1)
    return State.resumed(found, START.digest if before is None else before.digest)


def _entries_after(last: Head, state: State, transaction: Transaction) -> list[Entry]:
    """The entries behind a head; those that are not held are read and checked again."""
    rows = state.rows_after(last)
    if rows is None:
        rows = list(_following(transaction.rows(last.seq), last, state.head))
    return [Entry.of(row) for row in rows]


def _seen(place: str, origin: str) -> Head | None:
    """The head that a witness knows; None if there is no witness, or it knows none."""
    return open_witness(place, origin).read() if place else None


def _check_witness(seen: Head | None, state: State, transaction: Transaction) -> None:
    """Checks that the log leads from the head that its witness knows to its own.

    Raises:
        BudgetError: if the witness knows no head, or one that is not in the log.
    """
    if not state.witness:
        return
    if seen is None:
        raise BudgetError(
            f"The witness {state.witness} of the ledger has no head, or is gone. Nothing was "
            "charged. Put it back, or restore the ledger: dampen budget restore FILE."
        )
    try:
        for _ in _following(transaction.rows(seen.seq), seen, state.head):
            pass
    except BudgetError:
        raise BudgetError(
            f"The witness {state.witness} knows entry {seen.id}, which is not in the ledger. This "
            f"ledger is an older state or a copy, and another copy was charged. Nothing was "
            f"charged. "
            "Use the other copy, or restore this one: dampen budget restore FILE."
        ) from None


def _check_reached(head: Head, reached: set[Head]) -> None:
    for each in reached:
        if each.seq == head.seq and each != head:
            raise _backwards(each)


def _kept(question: Callable[[State], T], state: State) -> Callable[[], T]:
    try:
        answer = question(state)
    except BudgetError as error:
        refusal = error

        def fail() -> T:
            raise refusal from None

        return fail
    return lambda: answer


def _backwards(floor: Head) -> BudgetError:
    return BudgetError(
        f"The ledger went backwards: entry {floor.id} was acknowledged and is not in it. An older "
        "copy was put back, or its log (-wal) was lost. Nothing was charged. Put the ledger back, "
        "or accept this copy: dampen budget restore FILE."
    )


def _verified(transaction: Transaction, head: Head) -> Iterator[Row]:
    """All rows up to a head, each checked again."""
    state = State()
    for row in transaction.rows(0):
        state.apply(row)
        yield row
    if state.head != head:
        raise damaged(f"entry {state.head.seq + 1} is missing or was changed")


def _check_links(row: Row, log: Log, head: Head) -> None:
    """An edit of one row alone, or of its digest, breaks one of its two links."""
    before = log.row(row.seq - 1)
    after = log.row(row.seq + 1)
    own = Head(row.seq, row.digest)
    intact = row.follows(START if before is None else Head(before.seq, before.digest))
    if not intact or not (own == head if after is None else after.follows(own)):
        raise damaged(f"entry {row.seq} was changed")


def _following(rows: Iterator[Row], last: Head, head: Head) -> Iterator[Row]:
    """The rows from one head to another, which was verified, each checked again."""
    for row in rows:
        if not row.follows(last):
            raise damaged(f"entry {last.seq + 1} is missing or was changed")
        last = Head(row.seq, row.digest)
        yield row
    if last != head:
        raise damaged(f"entry {last.seq + 1} is missing or was changed")


_workers: "OrderedDict[str, Worker]" = OrderedDict()
_workers_mutex = threading.Lock()


def worker_at(place: str) -> Worker:
    """The worker of this process for a place."""
    with _workers_mutex:
        worker = _workers.pop(place, None) or Worker(open_storage(place))
        _workers[place] = worker
        idle = [_workers.popitem(last=False)[1] for _ in range(len(_workers) - OPEN_WORKERS)]
    for each in idle:
        each.close()
    return worker


def forget(place: str) -> None:
    """Closes a worker and drops its state, because another ledger was put in its place."""
    with _workers_mutex:
        worker = _workers.pop(place, None)
    if worker is not None:
        worker.close()


def close_all() -> None:
    """Closes the workers of this process; the next use opens them again."""
    with _workers_mutex:
        workers = list(_workers.values())
        _workers.clear()
    for worker in workers:
        with suppress(Exception):
            worker.close()


def _before_fork() -> None:
    _workers_mutex.acquire()
    for worker in _workers.values():
        worker.pause()


def _after_fork_in_parent() -> None:
    for worker in _workers.values():
        worker.resume()
    _workers_mutex.release()


def _after_fork_in_child() -> None:
    """Begins with no workers: their locks may be held by threads that only the parent has."""
    global _workers_mutex  # noqa: PLW0603
    _workers.clear()
    _workers_mutex = threading.Lock()


atexit.register(close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
