"""The log of a ledger: a hash chain of entries that are only ever appended.

Entry n has the digest SHA-256(digest of entry n-1, n, kind, budget, content).  So whoever knows the
head of a ledger, its last number and digest, knows every entry before it: an entry that was edited,
removed, inserted or put back from an older copy gives another head.  The log guards against
accidents and shows tampering to those who keep a head elsewhere; whoever may write the file can
forge a whole new log, so its permissions are part of the trust in the curator.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any, NamedTuple, Self

from dampen.errors import BudgetError, ParameterError

__all__ = ["START", "Draft", "Entry", "Head", "Kind", "Row", "damaged", "digest_of", "sealed"]

SHORT = 16
"""Hexadecimal digits of a digest in the id of an entry."""


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


class Row(NamedTuple):
    """An entry as it is stored; `content` is JSON."""

    seq: int
    kind: str
    budget: str
    content: str
    digest: str


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


def sealed(draft: Draft, after: Head) -> Row:
    """The row of a draft that follows a head."""
    content = json.dumps(dict(draft.details), ensure_ascii=False, separators=(",", ":"))
    seq = after.seq + 1
    digest = digest_of(after.digest, seq, draft.kind.value, draft.budget, content)
    return Row(seq, draft.kind.value, draft.budget, content, digest)


def digest_of(before: str, seq: int, kind: str, budget: str, content: str) -> str:
    """The digest of an entry.  No part but the last can hold a line feed, so parts stay apart."""
    return sha256(f"{before}\n{seq}\n{kind}\n{budget}\n{content}".encode()).hexdigest()


def damaged(why: str) -> BudgetError:
    """The refusal of a ledger that is not whole."""
    return BudgetError(
        f"The ledger is damaged: {why}. Nothing was charged. Restore it from a backup: "
        "dampen budget restore FILE."
    )
