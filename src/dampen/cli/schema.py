"""`dampen schema`: draft the public description of a table, from data that is public."""

import os
from pathlib import Path

import click

from dampen.cli.options import (
    column_option,
    file_argument,
    header_option,
    output_option,
    public_option,
)
from dampen.cli.output import examples, write
from dampen.cli.reading import check_output, looking_at, write_text
from dampen.errors import ParameterError

__all__ = ["schema"]


@click.group(epilog=examples("dampen schema init census.csv --target income --public"))
def schema() -> None:
    """The public facts of a table: ranges, listed values, number of rows."""


@schema.command(
    epilog=examples("dampen schema init census.csv --target income --public -o draft.toml")
)
@file_argument
@column_option("--target", help="The column of classes. [default: the last column]")
@public_option
@output_option("[default: print it]")
@header_option
def init(file: str, target: str | None, public: bool, output: Path | None, header: bool) -> None:
    """Drafts a schema from FILE, which must be public: the draft shows its values.

    For private data write the schema from what is known without it, or draft it from public data
    of the same form, and widen it.
    """
    from dampen.schema import format_schema
    from dampen.schema.draft import draft_schema

    if not public:
        raise ParameterError(
            "Expected --public: a schema drafted from private data would publish its values, "
            "bounds and number of rows. Write it by hand instead."
        )
    check_output(output, file)
    with looking_at(file):
        drafted = draft_schema(file, target=target, header=header)
    name = "table" if file == "-" else Path(file).name.partition(".")[0] or "table"
    files = [] if file == "-" else [_relative(file, output)]
    text = format_schema(drafted, name=name, files=files, budgets=[name])
    if output is None:
        write("\n".join(map(_escaped, text.rstrip("\n").split("\n"))))
        return
    try:
        write_text(output, text)
    except OSError as error:
        raise ParameterError(f"Cannot write {output}: {error.strerror}.") from None


def _relative(file: str, output: Path | None) -> str:
    """The path of the table, seen from the schema."""
    start = Path() if output is None else output.parent
    try:
        return os.path.relpath(file, start)
    except ValueError:  # another drive
        return file


def _escaped(line: str) -> str:
    """TOML as it is, with all that is not printable written as TOML escapes it."""
    return "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in line)
