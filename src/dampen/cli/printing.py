"""What a person sees: plain tables, colours on a terminal only, JSON on request."""

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 10_000
"""The width of a pipe: nothing is cut off."""


def example(*lines: str) -> str:
    """The end of a help text: commands to copy, kept as they are."""
    return "\n  ".join(["\b", "Example:", *lines]).replace("\b\n  ", "\b\n")


def complain(text: str, word: str = "dampen", colour: str = "red") -> None:
    """One line on standard error."""
    line = printable(" ".join(text.split()))
    click.echo(f"{click.style(word + ':', fg=colour, bold=True)} {line}", err=True, color=_colour())


def print_table(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """A table with a header; numbers to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    listed = [list(row) for row in rows]
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for i, column in enumerate(columns):
        numeric = listed and all(isinstance(row[i], int | float) for row in listed)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in listed:
        table.add_row(*[Text(cell(value)) for value in row])
    screen = console()
    with screen.capture() as drawn:
        screen.print(table)
    lines = [line.rstrip() for line in drawn.get().splitlines()]
    click.echo("\n".join(line for line in lines if line))


def print_facts(facts: Mapping[str, Any]) -> None:
    """Names and values, one pair per line."""
    width = max(map(len, facts))
    for name, value in facts.items():
        label = click.style(f"{name:<{width}}", dim=True)
        click.echo(f"{label}  {cell(value)}", color=_colour())


def print_json(value: Any) -> None:
    """One line of JSON."""
    click.echo(json.dumps(value, ensure_ascii=False))


def cell(value: Any) -> str:
    """A value as text of one line that cannot command the terminal."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(cell, value))
    return printable(str(value))


def printable(text: str) -> str:
    """Labels come from files: control characters in them are not sent to a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def console() -> "Console":
    """Standard output for tables."""
    from rich.console import Console

    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else WIDE)


def _colour() -> bool | None:
    return False if os.environ.get("NO_COLOR") else None
