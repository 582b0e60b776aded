"""A declared parameter as options of the command line, and what was typed as its value.

Facts of a data set that are not typed come from a file: `--schema FILE`.
"""

import csv
import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from dampen.cli.options import known_columns, starting
from dampen.cli.reading import read_text
from dampen.epsilon import decimal_text
from dampen.errors import ParameterError
from dampen.releases.question import Parameter

if TYPE_CHECKING:
    from dampen.schema import Schema

__all__ = [
    "option_name",
    "options_of",
    "read_schema",
    "schema_option",
    "typed_value",
]

MOST_STEPS = 10_000
METAVARS = {
    "column": "COLUMN",
    "columns": "A,B,...",
    "exact": "NUMBER",
    "word": "NAME",
    "labels": "A,B,...",
    "percentiles": "P",
    "condition": "CONDITION",
}
LISTS = "Several are written as 5,50,95 or 10,20,...,90."


class WordOption(click.Option):
    """An option for one of a few words, which a shell completes; the question refuses others."""

    def __init__(self, names: list[str], choices: tuple[str, ...], **given: Any) -> None:
        super().__init__(names, **given)
        self.choices = choices

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        return [CompletionItem(word) for word in starting(incomplete, self.choices)]


def option_name(parameter: Parameter) -> str:
    """The long name of a parameter on the command line, or its letter if it has no other."""
    if parameter.short == parameter.name:
        return f"-{parameter.short}"
    return f"--{parameter.name.replace('_', '-')}"


def options_of(parameter: Parameter) -> list[click.Option]:
    """The options that a parameter is stated with; none if it is for Python alone."""
    if parameter.kind == "other":
        return []
    name = option_name(parameter)
    letter = f"-{parameter.short}" if parameter.short else name
    names = [parameter.name, *dict.fromkeys([letter, name])]
    given: dict[str, Any] = {
        "required": parameter.required and parameter.fact is None,
        "metavar": METAVARS.get(parameter.kind),
        "help": _help(parameter),
    }
    match parameter.kind:
        case "word":
            return [WordOption(names, parameter.choices, **given)]
        case "labels":
            return [click.Option(names, **given), _file_option(parameter)]
        case "count":
            given["type"] = int
        case "flag":
            given |= {"is_flag": True, "default": None}
        case "column" | "columns":
            given["shell_complete"] = _columns
    return [click.Option(names, **given)]


def typed_value(parameter: Parameter, options: Mapping[str, Any], *, edges: bool) -> Any:
    """The value of a parameter as it was typed; None if it was not.

    Raises:
        ParameterError: if it cannot be read.
    """
    if parameter.kind == "other":
        return None
    text = options[parameter.name]
    if parameter.kind == "labels":
        return _labels(parameter, text, options[f"{parameter.name}_file"], edges=edges)
    if text is None:
        return None
    match parameter.kind:
        case "columns":
            return _listed(option_name(parameter), text)
        case "percentiles":
            return _percentiles(text)
    return text


def _file_option(parameter: Parameter) -> click.Option:
    return click.Option(
        [f"{parameter.name}_file", f"{option_name(parameter)}-file"],
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The same, one per line.",
    )


def _help(parameter: Parameter) -> str:
    parts = [parameter.help, LISTS if parameter.kind == "percentiles" else ""]
    if not all(choice in parameter.help for choice in parameter.choices):
        parts.append(f"One of {', '.join(parameter.choices)}.")
    default = parameter.default
    if default is not MISSING and default is not None and default is not False:
        shown = f"{default:g}" if isinstance(default, float) else default
        parts.append(f"[default: {shown}]")
    return " ".join(part for part in parts if part)


def _columns(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of columns; of a list, those that may come last in it."""
    if param.metavar != METAVARS["columns"]:
        return known_columns(ctx, param, incomplete)
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in known_columns(ctx, param, last)]


def _labels(parameter: Parameter, text: str | None, file: Path | None, *, edges: bool) -> Any:
    name = option_name(parameter)
    if text is not None and file is not None:
        raise ParameterError(f"Expected either {name} or {name}-file, got both.")
    if file is not None:
        if edges:
            from dampen.data.edge_files import read_nodes

            return read_nodes(file)
        return read_text(file, f"one of the {parameter.name} per line").splitlines()
    if text is None:
        return None
    listed = _listed(name, text)
    if len(listed) == 1 and os.path.isfile(listed[0]):
        raise ParameterError(
            f"Expected {name} to be a list with commas, but {text} is a file. To read the list "
            f"from it, use {name}-file {text}."
        )
    # Nodes are integers in an edge list where all of them are written so.
    return [int(each) for each in listed] if edges and all(map(_is_integer, listed)) else listed


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and text.isascii()


def _listed(name: str, text: str) -> list[str]:
    """A list with commas, as one line of CSV: a label with a comma stands in quotes."""
    try:
        (words,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise ParameterError(
            f'Expected {name} to be a list with commas, such as a,b,"c, d". Quote labels that '
            f"hold a comma, or use a file with one per line: {name}-file FILE."
        ) from None
    return [word.strip() for word in words]


def _percentiles(text: str) -> str | list[str]:
    """A number or a name as it is; a list, also with an ellipsis before its last one."""
    parts = [part.strip() for part in text.split(",")]
    if "..." not in parts:
        return parts if len(parts) > 1 else parts[0]
    if len(parts) < 4:
        raise _no_progression(text)
    *first, before, start, dots, last = parts
    if dots != "..." or "..." in (*first, before, start, last):
        raise _no_progression(text)
    try:
        low, high, end = (Fraction(each) for each in (before, start, last))
    except (ValueError, ZeroDivisionError):
        raise _no_progression(text) from None
    steps = (end - high) / (high - low) if high > low else Fraction(-1)
    if steps < 0 or steps.denominator != 1 or steps > MOST_STEPS:
        raise _no_progression(text)
    onward = [high + (i + 1) * (high - low) for i in range(int(steps))]
    return [*first, before, start, *(decimal_text(each) for each in onward)]


def _no_progression(text: str) -> ParameterError:
    return ParameterError(
        f"Expected percentiles in equal steps around an ellipsis, such as 10,20,...,90, got {text}."
    )


F = TypeVar("F", bound=Callable[..., Any])


def schema_option(command: F) -> F:
    """Adds --schema, the path `schema_file`."""
    return click.option(
        "--schema",
        "schema_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Public facts of FILE that need not be typed; see `dampen draft`.",
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
