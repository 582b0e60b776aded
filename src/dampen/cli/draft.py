"""`dampen draft`: a first `dampen.toml` for a table, for its curator to confirm."""

import os
from pathlib import Path

import click

from dampen.cli.options import (
    check_output,
    file_argument,
    header_option,
    looking_at,
    output_option,
    write_text,
)
from dampen.cli.output import examples, write
from dampen.errors import ParameterError

__all__ = ["draft"]


@click.command(
    epilog=examples("dampen draft stays.csv", "dampen draft census.csv --look -o dampen.toml")
)
@file_argument
@click.option(
    "--look",
    is_flag=True,
    help="Read ranges and lists off the data. NOT PRIVATE: the draft shows them, each marked.",
)
@output_option("[default: print it]")
@header_option
def draft(file: str, look: bool, output: Path | None, header: bool) -> None:
    """Drafts the public facts of FILE, from its header alone.

    Every fact is left for the curator to confirm. No row is read, unless --look is given.
    """
    from dampen.schema.draft import draft_data, name_of

    check_output(output, file)
    with looking_at(file):
        text = draft_data(
            file, file=_relative(file, output), name=name_of(file), look=look, header=header
        )
    if output is None:
        write("\n".join(map(_escaped, text.rstrip("\n").split("\n"))))
        return
    try:
        write_text(output, text)
    except OSError as error:
        raise ParameterError(f"Cannot write {output}: {error.strerror}.") from None


def _relative(file: str, output: Path | None) -> str:
    """The path of the table, seen from the draft."""
    start = Path() if output is None else output.parent
    try:
        return os.path.relpath(file, start)
    except ValueError:  # another drive
        return file


def _escaped(line: str) -> str:
    """TOML as it is, with all that is not printable written as TOML escapes it."""
    return "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in line)
