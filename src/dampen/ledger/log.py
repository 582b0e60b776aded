"""The log of a ledger: a hash chain of entries that are only ever appended.

Entry n has the digest SHA-256(digest of entry n-1, n, kind, budget, content).  So whoever knows the
head of a ledger, its last number and digest, knows every entry before it: an entry that was edited,
removed, inserted or put back from an older copy gives another head.  The log guards against
accidents and shows tampering to those who keep a head elsewhere; whoever may write the file can
forge a whole new log, so its permissions are part of the trust in the curator.

Names and texts in entries are bounded, and one name has one spelling (`key_of`).
"""

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple, Self

from dampen.core.losses import Loss, check_losses, read_losses
from dampen.core.selection import Neighbours
from dampen.errors import BudgetError, ParameterError
from dampen.versions import library_version

__all__ = [
    "START",
    "WITHHELD",
    "Charge",
    "Draft",
    "Entry",
    "Head",
    "Kind",
    "Row",
    "bounded",
    "budget_name",
    "damaged",
    "digest_of",
    "folded",
    "key_of",
    "sealed",
    "stamp",
    "storable",
]

SHORT = 16
"""Hexadecimal digits of a digest in the id of an entry."""

LONGEST_NAME = 200
LONGEST_TEXT = 4000
"""Characters of a query, a mechanism, an analyst, a data set."""


class Kind(StrEnum):
    """What an entry says."""

    OPEN = "open"
    CREATE = "create"
    CHARGE = "charge"
    REFUSAL = "refusal"
    ANSWER = "answer"
    RAISE = "raise"
    CAP = "cap"
    FREEZE = "freeze"
    THAW = "thaw"
    CLOSE = "close"
    RESTORE = "restore"
    CHECKPOINT = "checkpoint"
    WITNESS = "witness"
    NOTE = "note"


class _Withheld(str):
    """A content that is not shown; a class of its own, so that no text in a file is one."""

    __slots__ = ()


WITHHELD = _Withheld("{}")
"""The content of an answer that belongs to another role."""


class Row(NamedTuple):
    """An entry as it is stored; `content` is JSON."""

    seq: int
    kind: str
    budget: str
    content: str
    digest: str

    def follows(self, before: "Head") -> bool:
        """Whether this is the entry after a head, as far as its content is shown."""
        if self.seq != before.seq + 1:
            return False
        if self.is_withheld():
            return True
        return self.digest == digest_of(before.digest, *self[:4])

    def is_withheld(self) -> bool:
        """Whether this is an answer that belongs to another role."""
        return isinstance(self.content, _Withheld) and self.kind == Kind.ANSWER


class Head(NamedTuple):
    """The last entry of a log: all that has to be kept elsewhere to find a ledger changed."""

    seq: int
    digest: str

    def __str__(self) -> str:
        return f"{self.seq}-{self.digest}"

    @property
    def id(self) -> str:
        """The id of the entry."""
        return f"{self.seq}-{self.digest[:SHORT]}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """A head, or the id of an entry, from its text.

        Raises:
            ParameterError: if it is neither.
        """
        number, dash, digest = text.strip().partition("-")
        hexadecimal = len(digest) >= SHORT and set(digest) <= set("0123456789abcdef")
        if not (dash and number.isascii() and number.isdigit() and len(number) < 19):
            hexadecimal = False
        if not hexadecimal:
            raise ParameterError(
                f"Expected a head or an id such as 42-{'0f' * (SHORT // 2)}, got {text[:100]!r}."
            )
        return cls(int(number), digest)

    def names(self, row: Row) -> bool:
        """Whether this is the head, or the id, of that entry."""
        return self.seq == row.seq and row.digest.startswith(self.digest)


START = Head(0, "0" * 64)
"""The head of an empty log."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry before it has a place in the log."""

    kind: Kind
    budget: str
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the log, for people and programs that read it."""

    id: str
    kind: Kind
    budget: str
    details: Mapping[str, Any]

    @classmethod
    def of(cls, row: Row) -> Self:
        """The entry in a row whose place in the log was checked."""
        return cls(
            Head(row.seq, row.digest).id, Kind(row.kind), row.budget, json.loads(row.content)
        )

    def row(self) -> dict[str, Any]:
        """The entry as the row of a table."""
        return {"id": self.id, "kind": str(self.kind), "budget": self.budget, **self.details}


@dataclass(frozen=True, slots=True)
class Charge:
    """One charge of a budget; `epsilon` is None if the release had no pure ε."""

    id: str
    epsilon: Fraction | None
    rho: Fraction
    query: str
    mechanism: str
    neighbours: Neighbours
    analyst: str
    dataset: str
    leaks: tuple[str, ...]
    converted: str
    time: datetime
    version: str
    delta: Fraction = Fraction(0)
    unit: str = ""
    losses: tuple[Loss, ...] = ()

    @classmethod
    def of(cls, entry: Entry) -> Self:
        """The charge in an entry."""
        details = dict(entry.details)
        return cls(
            id=entry.id,
            epsilon=Fraction(details["epsilon"]) if details["epsilon"] else None,
            rho=Fraction(details["rho"]),
            query=details["query"],
            mechanism=details["mechanism"],
            neighbours=Neighbours(details["neighbours"]),
            analyst=details["analyst"],
            dataset=details["dataset"],
            leaks=tuple(details["leaks"]),
            converted=details.get("converted", ""),
            time=datetime.fromisoformat(details["time"]),
            version=details["version"],
            delta=Fraction(details.get("delta", 0)),
            unit=details.get("unit", ""),
            losses=_stated_losses(details),
        )


def _stated_losses(details: Mapping[str, Any]) -> tuple[Loss, ...]:
    """What the parts of a charge lose; none where nothing is said that can be relied on."""
    try:
        losses = read_losses(str(details.get("losses", "")))
        check_losses(losses, Fraction(details["epsilon"] or 0), Fraction(details.get("delta", 0)))
    except ParameterError:
        return ()
    return losses


def sealed(draft: Draft, after: Head) -> Row:
    """The row of a draft that follows a head."""
    content = _content(dict(draft.details))
    seq = after.seq + 1
    digest = digest_of(after.digest, seq, draft.kind.value, draft.budget, content)
    return Row(seq, draft.kind.value, draft.budget, content, digest)


_content = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def digest_of(before: str, seq: int, kind: str, budget: str, content: str) -> str:
    """The digest of an entry.  No part but the last can hold a line feed, so parts stay apart."""
    return sha256(f"{before}\n{seq}\n{kind}\n{budget}\n{content}".encode()).hexdigest()


def damaged(why: str) -> BudgetError:
    """The refusal of a ledger that is not whole."""
    return BudgetError(
        f"The ledger is damaged: {why}. Nothing was charged. Restore it from a backup: "
        "dampen budget restore FILE."
    )


def stamp() -> dict[str, str]:
    """When, and by which version of dampen."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "version": library_version(),
    }


def budget_name(name: str) -> str:
    """A name for a budget, in Unicode's composed form and without surrounding blanks.

    Raises:
        ParameterError: if it is empty, too long or cannot be printed.
    """
    if not isinstance(name, str) or not name.strip() or not name.strip().isprintable():
        raise ParameterError("Expected a name for the budget, such as 'payroll'.")
    composed = unicodedata.normalize("NFC", name.strip())
    if len(composed) > LONGEST_NAME:
        raise ParameterError(f"Expected a name of at most {LONGEST_NAME} characters.")
    return composed


def key_of(name: str) -> str:
    """What the spellings of one budget's name have in common: names differ by more than case."""
    return folded(budget_name(name))


@lru_cache(maxsize=4096)
def folded(text: str) -> str:
    """What the spellings of one name have in common."""
    composed = unicodedata.normalize("NFC", text.strip())
    return unicodedata.normalize("NFC", composed.casefold())


def bounded(text: str, what: str) -> str:
    """A text of a ledger.

    Raises:
        ParameterError: if it is too long.
    """
    if len(text) > LONGEST_TEXT:
        raise ParameterError(
            f"Expected {what} of at most {LONGEST_TEXT:,} characters, got {len(text):,}."
        )
    return storable(text)


def storable(text: str) -> str:
    """A text that every storage can keep: what is not Unicode (a file name of bytes) is escaped."""
    return text.encode("utf-8", "backslashreplace").decode()
