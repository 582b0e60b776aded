"""The public facts of a data set from a file, in place of options: `--schema FILE`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dampen.cli.reading import read_text

if TYPE_CHECKING:
    from dampen.questions.classify.schema import Schema
    from dampen.releases.question import Fact

__all__ = ["SchemaFile", "read_schema", "schema_option"]

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


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """The facts that a schema states, if there is one."""

    schema: "Schema | None"

    @property
    def rows(self) -> int | None:
        """The public bound on the number of rows."""
        return None if self.schema is None else self.schema.rows

    def fact(self, fact: "Fact", stated: Mapping[str, Any]) -> Any:
        """A fact of the column that another parameter names, or of the data set; None if absent."""
        if self.schema is None:
            return None
        if fact.of:
            return self._of_column(fact.name, str(stated.get(fact.of, "")))
        facts = {
            "rows": self.schema.rows,
            "domains": dict(self.schema.columns),
            "classes": self.schema.classes,
        }
        return facts.get(fact.name)

    def _of_column(self, name: str, column: str) -> Any:
        assert self.schema is not None
        domain = self.schema.columns.get(column)
        if name == "values":
            return getattr(domain, "values", None)
        edges = getattr(domain, "edges", None)
        ends = {"lower": 0, "upper": -1}
        return None if edges is None or name not in ends else edges[ends[name]]


def read_schema(path: Path | None) -> SchemaFile:
    """The facts in a file; none if no file is named.

    Raises:
        ParameterError: if it cannot be read or is no schema.
    """
    if path is None:
        return SchemaFile(None)
    from dampen.questions.classify.schema import parse_schema

    return SchemaFile(parse_schema(read_text(path, "a schema"), str(path)))
