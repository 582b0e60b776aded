"""A leak detector: secrets to plant in data, and everything in which one could come out."""

import contextlib
import logging
import re
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Put together here, so that no line of source that a traceback shows holds them.
WORD = "".join(["qz", "vx", "Klartext"])
NUMBER = int("9182" + "73645")
SECRETS = (WORD, str(NUMBER), str(NUMBER)[:6])


def said_by(error: BaseException | None) -> str:
    """All that an exception says: itself, its parts, its notes, and all that it came from."""
    told, seen = [], set[int]()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        told += [str(one), repr(one), repr(one.args), *getattr(one, "__notes__", [])]
        told += traceback.format_exception(one)
        waiting += [one.__cause__, one.__context__]
    return "\n".join(told)


DIGEST = re.compile("[0-9a-f]{32,}")
"""Of all the digests of a run, one now and then has six digits of a secret."""


def said_in(folder: Path) -> str:
    """The bytes of all files in a folder, such as a ledger with its logs."""
    return "\n".join(
        path.read_bytes().decode("utf-8", errors="replace")
        for path in folder.rglob("*")
        if path.is_file()
    )


def secrets_in(*said: Any) -> list[str]:
    """The planted secrets that can be read in what was said."""
    text = DIGEST.sub("", "\n".join(map(str, said)).lower())
    return [secret for secret in SECRETS if secret.lower() in text]


class Ears:
    """What was logged, warned of, or raised while they listened."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.error: BaseException | None = None

    def text(self) -> str:
        return "\n".join([*self.heard, said_by(self.error)])


@contextlib.contextmanager
def listening(*expected: type[BaseException]) -> Iterator[Ears]:
    """Hears all logs and warnings, and catches the expected errors."""
    ears, root = Ears(), logging.getLogger()
    handler, level = _Handler(ears), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                yield ears
            except expected as error:
                ears.error = error
        ears.heard += [str(warning.message) for warning in caught]
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


class _Handler(logging.Handler):
    def __init__(self, ears: Ears) -> None:
        super().__init__(logging.DEBUG)
        self.ears = ears

    def emit(self, record: logging.LogRecord) -> None:
        self.ears.heard.append(self.format(record))
