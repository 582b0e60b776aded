"""The public facts of a data set from a file, in place of options: `--schema FILE`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dampen.cli.reading import read_text

if TYPE_CHECKING:
    from dampen.releases.question import Fact
    from dampen.schema import Schema

__all__ = ["known_fact", "read_schema", "schema_option"]

F = TypeVar("F", bound=Callable[..., Any])


def schema_option(command: F) -> F:
    """Adds --schema, the path `schema_file`."""
    return click.option(
        "--schema",
        "schema_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Public facts of FILE that need not be typed; see `dampen schema`.",
    )(command)


def read_schema(path: Path | None, target: str | None) -> "Schema | None":
    """The facts of the one data set in a file; None if no file is named.

    Args:
        path: of the file.
        target: the column that `[target]` of a schema of 0.2 is about.

    Raises:
        ParameterError: if it cannot be read or is no schema.
    """
    if path is None:
        return None
    from dampen.schema import parse_schema

    return parse_schema(read_text(path, "a schema"), str(path), target=target)


def known_fact(schema: "Schema | None", fact: "Fact", stated: Mapping[str, Any]) -> Any:
    """A fact of the column that another parameter names, or of the data set; None if absent."""
    if schema is None:
        return None
    if not fact.of:
        return schema.fact(fact.name)
    column = stated.get(fact.of)
    return None if column is None else schema.fact(fact.name, column)
