"""What was charged and released, followed entry by entry from the ledger, the only truth about it.

Several services may share a ledger: each sees the releases of the others at its next look.  Short
answers are held in memory, the others, and the oldest, are read from the ledger again.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dampen.ledger import Account, Charge, Entry, Head, Kind, Ledger
from dampen.ledger.log import START
from dampen.releases.cost import Cost

__all__ = ["History", "Record", "marked"]

MOST_CHARACTERS = 32 * 2**20
MARK = re.compile(r" #([0-9a-f]{32})$")


def marked(text: str, mark: str) -> str:
    """The text of a query that can be found again by its mark."""
    return f"{text[:500]} #{mark}"


@dataclass(frozen=True, slots=True)
class Record:
    """A charge, as analysts and curators see it; `released` once its answer is in the ledger."""

    charge: Charge
    budget: str
    mark: str | None
    released: bool = False

    @property
    def query(self) -> str:
        return MARK.sub("", self.charge.query)


@dataclass
class History:
    """The charges of a ledger, by id, by analyst and by question."""

    ledger: Ledger
    refusals: dict[str, int] = field(default_factory=dict)
    _records: dict[str, Record] = field(default_factory=dict)
    _by_mark: dict[str, str] = field(default_factory=dict)
    _answers: "OrderedDict[str, str]" = field(default_factory=OrderedDict)
    _held: int = 0
    _head: Head = START
    _looks: int = 0
    _looking: threading.Lock = field(default_factory=threading.Lock)
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    def follow(self) -> None:
        """Takes in what was written until now; callers at the same time share one look.

        A look that began after a call has seen all that was written before it.  Of those that are
        behind a caller when its turn comes, the last may have begun before it called.
        """
        before = self._looks
        with self._looking:
            if self._looks >= before + 2:
                return
            last = self._head
            self._take(last, *self.ledger.entries_after(last))
            self._looks += 1

    def charge(
        self, wanted: Sequence[tuple[Account, Cost, str | None]]
    ) -> list[str | BaseException]:
        """Charges for questions, unless one was answered meanwhile, in one look at the ledger.

        Args:
            wanted: who pays, what, and the mark of the question if a recorded answer will do.

        Returns:
            For each the id of the charge, or why there is none: `Unwanted` if it was answered.
        """
        last = self._head

        def look(entries: list[Entry], head: Head) -> set[int]:
            self._take(last, entries, head)
            return {i for i, (_, _, mark) in enumerate(wanted) if mark in self._by_mark}

        charges = [(account, cost) for account, cost, _ in wanted]
        return self.ledger.charge_all(charges, last=last, look=look)

    def _take(self, last: Head, entries: list[Entry], head: Head) -> None:
        """Takes in the entries from one head to another, unless another look was faster."""
        with self._mutex:
            if self._head != last:
                entries = [each for each in entries if Head.parse(each.id).seq > self._head.seq]
            for entry in entries:
                self._add(entry)
            self._head = max(self._head, head)

    def released(self, mark: str) -> tuple[Record, str] | None:
        """The charge and the JSON of the release that answered a question, if there is one."""
        self.follow()
        return self.answered(mark)

    def answered(self, mark: str) -> tuple[Record, str] | None:
        """The same, as of the last look."""
        charge = self._by_mark.get(mark)
        return None if charge is None else (self._records[charge], self.answer(charge))

    def record(self, charge: str) -> Record | None:
        """The charge of an id."""
        self.follow()
        return self._records.get(charge)

    def records(self, analyst: str | None = None) -> list[Record]:
        """The charges of one analyst, or of all, newest first."""
        self.follow()
        with self._mutex:
            found = list(self._records.values())
        return [r for r in reversed(found) if analyst is None or r.charge.analyst == analyst]

    def answer(self, charge: str) -> str:
        """The JSON of a release."""
        with self._mutex:
            if charge in self._answers:
                self._answers.move_to_end(charge)
                return self._answers[charge]
        return self.ledger.answer(charge)

    def answers(self, charges: Sequence[str]) -> dict[str, str]:
        """The JSON of several releases; those that are not held are read in one transaction."""
        with self._mutex:
            held = {each: self._answers[each] for each in charges if each in self._answers}
        old = [each for each in charges if each not in held]
        return held | dict(zip(old, self.ledger.answers(old) if old else [], strict=True))

    def _add(self, entry: Entry) -> None:
        match entry.kind:
            case Kind.CHARGE:
                charge = Charge.of(entry)
                found = MARK.search(charge.query)
                mark = found[1] if found else None
                self._records[entry.id] = Record(charge, entry.budget, mark)
            case Kind.ANSWER:
                self._keep(str(entry.details["charge"]), str(entry.details["answer"]))
            case Kind.REFUSAL:
                who = str(entry.details.get("analyst", ""))
                self.refusals[who] = self.refusals.get(who, 0) + 1 + entry.details.get("repeats", 0)

    def _keep(self, charge: str, answer: str) -> None:
        record = self._records.get(charge)
        if record is None or record.released:  # the first answer counts, as in the ledger
            return
        self._records[charge] = replace(record, released=True)
        if record.mark is not None:
            self._by_mark[record.mark] = charge
        self._answers[charge] = answer
        self._held += len(answer)
        while self._held > MOST_CHARACTERS:
            self._held -= len(self._answers.popitem(last=False)[1])
