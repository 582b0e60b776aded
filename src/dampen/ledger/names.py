"""Names and texts of a ledger: bounded, printable, and one spelling for one name."""

import unicodedata
from functools import lru_cache

from dampen.errors import ParameterError

__all__ = ["LONGEST_NAME", "LONGEST_TEXT", "bounded", "budget_name", "folded", "key_of", "storable"]

LONGEST_NAME = 200
LONGEST_TEXT = 4000
"""Characters of a query, a mechanism, an analyst, a data set."""


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
