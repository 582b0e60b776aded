"""What a person sees: plain tables, colours on a terminal only, JSON on request.

Everything that a command prints goes through `write`, in one piece.  Text may come from files, so
nothing is printed that could command a terminal.
"""

import errno
import json
import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self
from unicodedata import combining, east_asian_width

import click

from dampen import errors
from dampen.printing import printable

__all__ = [
    "Unprinted",
    "cell",
    "complain",
    "examples",
    "facts_text",
    "json_line",
    "json_text",
    "print_facts",
    "print_json",
    "print_table",
    "printable",
    "show_warnings",
    "table_text",
    "write",
]

GAP = "   "


class Unprinted(Exception):
    """Standard output did not take what was written to it."""

    def __init__(self, reason: str, *, reader_left: bool = False) -> None:
        super().__init__(f"Cannot write to standard output: {reason}.")
        self.reason = reason
        self.reader_left = reader_left

    @classmethod
    def of(cls, error: BaseException) -> Self | None:
        """What an error of writing means; None for errors of another kind."""
        if isinstance(error, cls):
            return error
        codes = (errno.EPIPE, errno.ENOSPC, errno.EBADF, errno.EIO, errno.EDQUOT, errno.EFBIG)
        if not isinstance(error, OSError) or error.filename or error.errno not in codes:
            return None
        return cls(error.strerror or "it is broken", reader_left=error.errno == errno.EPIPE)


def write(text: str) -> None:
    """Writes lines to standard output, all of them.

    Raises:
        Unprinted: if that failed.
    """
    if sys.stdout is None:
        raise Unprinted("it is closed")
    try:
        click.echo(text, color=_colour())
    except OSError as error:
        # Python would try, and complain, once more when it flushes at exit.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise (Unprinted.of(error) or Unprinted(error.strerror or "it is broken")) from None


def complain(
    text: str, facts: Mapping[str, Any] | None = None, *, answer: str | None = None
) -> None:
    """One line on standard error, JSON where there are facts; an answer, if any, in a second."""
    line = " ".join(text.split())
    if facts is None:
        _to_stderr(f"{_styled('dampen:', 'red')} {printable(line)}")
        if answer is not None:
            _to_stderr(json_line(answer))
        return
    told = {"exit_code": facts["exit_code"], "message": line, **facts}
    _to_stderr(json_text(told if answer is None else told | {"answer": json.loads(answer)}))


def show_warnings(*, as_json: bool = False) -> None:
    """Shows dampen's own warnings, one line each; those of other libraries may quote data."""
    from dampen.cli.lazy import in_options

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if category.__module__ == errors.__name__:
            context = click.get_current_context(silent=True)
            told = str(message) if context is None else in_options(str(message), context.command)
            text = " ".join(told.split())
            line = f"{_styled('warning:', 'yellow')} {printable(text)}"
            _to_stderr(json_text({"warning": text}) if as_json else line)

    warnings.showwarning = show


def examples(*lines: str) -> str:
    """The end of a help text: commands to copy, kept as they are."""
    return "\n  ".join(["\b", "Example:", *lines]).replace("\b\n  ", "\b\n")


def table_text(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table with a header; numbers to the right."""
    listed = [list(row) for row in rows]
    drawn = [list(columns), *([cell(value) for value in row] for row in listed)]
    widths = [max(map(_width, column)) for column in zip(*drawn, strict=True)]
    right = [
        bool(listed) and all(isinstance(row[i], int | float) for row in listed)
        for i in range(len(columns))
    ]
    head, *lines = (_table_line(row, widths, right) for row in drawn)
    return "\n".join([head, "─" * (sum(widths) + len(GAP) * (len(widths) - 1)), *lines])


def _table_line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    blanks = [" " * (width - _width(text)) for text, width in zip(cells, widths, strict=True)]
    aligned = zip(cells, blanks, right, strict=True)
    return GAP.join(fill + text if end else text + fill for text, fill, end in aligned).rstrip()


def _width(text: str) -> int:
    """The columns of a terminal that a text takes: two for each wide character."""
    return sum(
        2 if east_asian_width(character) in "WF" else not combining(character) for character in text
    )


def facts_text(facts: Mapping[str, Any]) -> str:
    """Names and values, one pair per line."""
    width = max(map(len, facts))
    return "\n".join(
        f"{click.style(f'{name:<{width}}', dim=True)}  {cell(value)}"
        for name, value in facts.items()
    )


def json_text(value: Any) -> str:
    """One line of JSON."""
    return json_line(json.dumps(value, ensure_ascii=False))


def json_line(text: str) -> str:
    """JSON as it is, with all that is not printable written as JSON escapes it."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def print_table(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Prints `table_text`."""
    write(table_text(columns, rows))


def print_facts(facts: Mapping[str, Any]) -> None:
    """Prints `facts_text`."""
    write(facts_text(facts))


def print_json(value: Any) -> None:
    """Prints `json_text`."""
    write(json_text(value))


def cell(value: Any) -> str:
    """A value as text of one line that cannot command the terminal."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(cell, value))
    return printable(str(value))


def _to_stderr(line: str) -> None:
    with suppress(OSError, ValueError):  # nobody is there to be told
        click.echo(line, err=True, color=_colour())


def _styled(word: str, colour: str) -> str:
    return click.style(word, fg=colour, bold=True)


def _colour() -> bool | None:
    return False if os.environ.get("NO_COLOR") else None
