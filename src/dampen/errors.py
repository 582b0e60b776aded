"""The errors and warnings of dampen, in the order of the steps of a release, and two labels.

A release first checks its public parameters (`ParameterError`: nothing was charged), then charges
the budget (`BudgetError`: refused, nothing was charged), then looks at the data (`DataError`: the
charge stands).  A `DataError` is for the curator and never quotes a value, a count or a row.

`MISSING` and `OTHER` are labels that carry a rule: listed among public labels, they stand for cells
without one.
"""

import difflib
import sys
import warnings
from collections.abc import Iterable
from typing import NoReturn

__all__ = [
    "MISSING",
    "OTHER",
    "RULES",
    "AccuracyWarning",
    "BudgetError",
    "DampenError",
    "DataError",
    "ExposedLedgerWarning",
    "OldGrammarWarning",
    "ParameterError",
    "ParameterWarning",
    "PrivacyLeakWarning",
    "a_thing",
    "did_you_mean",
    "raise_alone",
    "warn_caller",
]


class DampenError(Exception):
    """Every error that dampen raises on purpose."""


class ParameterError(DampenError, ValueError):
    """A public parameter is not what was expected.  Nothing was charged, no data was read."""


class BudgetError(DampenError):
    """The budget refused a charge.  Nothing was charged, no data was read."""


class DataError(DampenError, ValueError):
    """The private data is not what the public parameters promise.  The charge, if any, stands."""


class ExposedLedgerWarning(UserWarning):
    """Users other than the owner may write the ledger, and so could forge it."""


class AccuracyWarning(UserWarning):
    """An answer will hardly be better than chance, as public facts show; nothing is charged yet."""


class OldGrammarWarning(FutureWarning):
    """A file is written as an older version wrote it; the text says what to write."""


class ParameterWarning(UserWarning):
    """A public parameter is allowed, but probably not what was meant; nothing is charged yet."""


class PrivacyLeakWarning(UserWarning):
    """A public parameter was taken from the private data; the guarantee does not cover it."""


def warn_caller(text: str, category: type[Warning]) -> None:
    """A warning at the caller's own line, above all frames of the library.

    Args:
        text: what is wrong and what to do.
        category: of the warning.
    """
    frame = sys._getframe(1)
    depth = 2
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__")):
        frame = frame.f_back
        depth += 1
    warnings.warn(text, category, stacklevel=depth)


def _is_ours(module: object) -> bool:
    return str(module).startswith("dampen.")


def raise_alone(error: Exception) -> NoReturn:
    """Raises an error without the one that is being handled, which may hold private data.

    `raise ... from None` only hides the other one from tracebacks: it stays in `__context__`, where
    crash reporters find it.

    Args:
        error: what to raise.

    Returns:
        Nothing: it raises.

    Raises:
        Exception: always, the one that was given.
    """
    try:
        raise error
    finally:
        error.__context__ = None


def a_thing(given: object) -> str:
    """What kind of object was given, for errors.

    Args:
        given: any object; nothing but its type is looked at.

    Returns:
        Such as "a list" or "an int"; "nothing" for None.
    """
    if given is None:
        return "nothing"
    kind = type(given).__name__
    return f"{'an' if kind[0] in 'aeioAEIO' else 'a'} {kind}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?`, or nothing where no known word is close.

    Args:
        word: what was written.
        known: what could have been meant.

    Returns:
        A sentence, or nothing.
    """
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), list(by_lower), n=1)
    return f" Did you mean {by_lower[close[0]]!r}?" if close else ""


MISSING = "(missing)"
"""Stands for missing cells."""
OTHER = "(other)"
"""Stands for values that are not listed."""
RULES = (MISSING, OTHER)
