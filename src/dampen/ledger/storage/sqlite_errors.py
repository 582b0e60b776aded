"""Why a file cannot be used, in one line: SQLite's errors and those of the place it lies at."""

import sqlite3
from pathlib import Path
from typing import TypeAlias

from dampen.errors import BudgetError

__all__ = ["FAILURES", "Failure", "code", "explanation", "is_busy", "no_head", "unusable"]

PATIENCE_SECONDS = 60.0
"""How long an operation waits for other processes before it gives up."""

Failure: TypeAlias = sqlite3.Error | UnicodeDecodeError
FAILURES = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises; of a damaged file its message may quote bytes that are no text."""


def is_busy(error: Failure) -> bool:
    """Whether another process holds the file."""
    return code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def code(error: Failure) -> int:
    """SQLite's primary result code."""
    if isinstance(error, UnicodeDecodeError):
        return sqlite3.SQLITE_CORRUPT
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def explanation(error: Failure, path: Path, *, uncertain: bool = False) -> BudgetError:
    """An error of SQLite for people."""
    match code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            why = f"another process has held it for {PATIENCE_SECONDS:.0f} seconds"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            why = "it is read-only"
        case sqlite3.SQLITE_FULL:
            why = "the disk is full"
        case sqlite3.SQLITE_IOERR:
            why = "the disk reports an error"
        case sqlite3.SQLITE_CANTOPEN:
            why = "it cannot be opened; are the file and its directory writable?"
        case sqlite3.SQLITE_NOTADB:
            return BudgetError(f"{path} is not a ledger of dampen.")
        case sqlite3.SQLITE_CORRUPT:
            why = "the file is damaged; restore it from a backup: dampen budget restore FILE"
        case _:
            why = str(error).rstrip(".")
    return unusable(path, why, uncertain=uncertain)


def unusable(path: Path, why: str, *, uncertain: bool = False) -> BudgetError:
    """The refusal of a ledger that cannot be used now."""
    end = "It is not certain whether this was charged; no data was read."
    return BudgetError(
        f"The ledger {path} cannot be used: {why}. {end if uncertain else 'Nothing was charged.'}"
    )


def no_head(path: Path) -> BudgetError:
    """The refusal of a ledger without a head, which may be older than what was spent."""
    return BudgetError(
        f"The ledger {path} has no valid head file beside it, so charges may be missing from it: "
        "is it a copy or a backup? Nothing was charged. If it shall count from now on, put it in "
        "place with: dampen budget restore FILE."
    )
