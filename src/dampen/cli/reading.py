"""Small public files that commands read, and files that they may not write over."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path

from dampen.errors import DampenError, DataError, ParameterError, raise_alone

__all__ = ["check_output", "listing", "looking_at", "read_text", "write_text"]

MOST_BYTES = 1 << 28


def read_text(path: str | Path, what: str) -> str:
    """The text of a public file.

    Raises:
        ParameterError: if it cannot be read, is not UTF-8 or is larger than 256 MiB.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise ParameterError(f"Cannot read {path}: {error.strerror}.") from None
    except ValueError:  # not UTF-8, or a name that no file can have
        raise ParameterError(f"Expected {what}, text in UTF-8, not {path}.") from None
    if len(content) > MOST_BYTES:
        raise ParameterError(f"Expected {what} of at most {MOST_BYTES} bytes, not {path}.")
    return text


def listing(what: str, text: str | None, file: Path | None) -> list[str]:
    """A public list, from `--what A,B,...` or from `--what-file`, one per line.

    Raises:
        ParameterError: unless exactly one of the two was given.
    """
    if (text is None) == (file is None):
        raise ParameterError(f"Expected either --{what} or --{what}-file.")
    if text is not None:
        return [word.strip() for word in text.split(",")]
    return read_text(str(file), f"one of the {what} per line").splitlines()


def check_output(output: Path | None, *inputs: str | Path | None) -> None:
    """Before a charge: refuses a place that cannot be written, or that is one of the inputs.

    Raises:
        ParameterError: if it is.
    """
    if output is None:
        return
    place = output if os.path.lexists(output) else output.absolute().parent
    if os.path.isdir(output) or not os.access(place, os.W_OK):
        raise ParameterError(f"Cannot write {output}.")
    for file in inputs:
        if file is not None and any(_is_same(output, each) for each in _files_of(str(file))):
            raise ParameterError(f"Expected another file than {file} to write to: it is read.")


def write_text(output: Path, text: str) -> None:
    """Writes a file.

    Raises:
        OSError: if it cannot be written.
    """
    output.write_text(text, encoding="utf-8", errors="backslashreplace")


@contextmanager
def looking_at(file: str) -> Iterator[None]:
    """Where public data is looked at: every failure is one sentence about the file."""
    try:
        yield
    except DampenError:
        raise
    except Exception as error:
        if os.environ.get("DAMPEN_TRACEBACK"):
            raise
        kind = type(error).__name__
        raise_alone(DataError(f"Expected data that can be read and used in {file}; got a {kind}."))


def _files_of(name: str) -> Iterator[str]:
    """A file, or the files of a directory or a pattern."""
    yield name
    if os.path.isdir(name):
        yield from map(str, Path(name).rglob("*"))
    elif not os.path.lexists(name):
        yield from glob(name, recursive=True)


def _is_same(one: Path, other: str) -> bool:
    """Whether two names lead to one file, through links of any kind."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False
