"""`dampen check`: exact counts of a data set, for its curator, before any charge."""

from pathlib import Path

import click

from dampen.cli.options import (
    file_argument,
    header_option,
    json_option,
    looking_at,
    read_schema,
    schema_option,
    table_option,
)
from dampen.cli.output import examples, print_json, write
from dampen.errors import ParameterError

__all__ = ["check"]


@click.command(epilog=examples("dampen check stays", "dampen check stays.csv --schema stays.toml"))
@file_argument
@schema_option
@table_option
@header_option
@click.option("--config", metavar="FILE", help="[default: $DAMPEN_CONFIG, else dampen.toml]")
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
    """Counts what questions would make of the cells of FILE, or of a registered data set.

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
