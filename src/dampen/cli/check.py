"""Commands for the curator of a data set, before any charge.

- `dampen check`: exact counts of a data set.
- `dampen draft`: a first `dampen.toml` for a table, for its curator to confirm.
"""

import os
from pathlib import Path

import click

from dampen.cli.options import (
    check_output,
    config_option,
    file_argument,
    header_option,
    json_option,
    looking_at,
    output_option,
    read_schema,
    schema_option,
    table_option,
    write_text,
)
from dampen.cli.output import examples, print_json, write
from dampen.errors import ParameterError

__all__ = ["check", "draft"]


@click.command(epilog=examples("dampen check stays", "dampen check stays.csv --schema stays.toml"))
@file_argument
@schema_option
@table_option
@header_option
@config_option
@json_option
def check(
    *,
    file: str,
    schema_file: Path | None,
    table: str | None,
    header: bool,
    config: str | None,
    as_json: bool,
) -> None:
    """Counts how questions would read the cells of FILE, or of a registered data set.

    NOT PRIVATE: it reads all rows and prints exact counts, for the curator alone. It charges
    nothing.
    """
    from dampen.datasets import Dataset
    from dampen.ledger.policy import registered_name

    registered = registered_name(file, config)
    schema = read_schema(schema_file, None)
    if schema is None and registered is None:
        raise ParameterError(
            f"Expected the name of a registered data set, or --schema FILE with the facts of "
            f"{file}. `dampen draft {file}` writes a first one."
        )
    place = file if registered is None else registered.only_place
    facts = schema or (registered.schema if registered is not None else None)
    assert facts is not None
    table = table or (None if registered is None else registered.table)
    with looking_at(place):
        found = Dataset(place, facts, header=header, table=table).check()
    if as_json:
        print_json(found.to_dict())
    else:
        write(str(found))


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
    from dampen.schema.grammar import draft_data, name_of

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
