"""The options that commands share, and how a shell completes their values.

- `read_text`, `check_output`: small public files that commands read, and files that they may not
  write over.
- `options_of`, `typed_value`: a declared parameter as options of the command line, and what was
  typed as its value.
- `read_schema`: facts of a data set that are not typed come from a file: `--schema FILE`.
"""

import csv
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, replace
from fractions import Fraction
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from dampen.cli.output import Receipt, open_ledger
from dampen.epsilon import decimal_text
from dampen.errors import DampenError, DataError, ParameterError, raise_alone
from dampen.releases.question import Parameter

if TYPE_CHECKING:
    from dampen.schema import Schema

__all__ = [
    "budget_options",
    "check_output",
    "config_option",
    "epsilon_option",
    "expect_option",
    "file_argument",
    "header_option",
    "json_option",
    "known_budgets",
    "known_columns",
    "known_relations",
    "ledger_option",
    "looking_at",
    "option_name",
    "options_of",
    "output_option",
    "paying_options",
    "public_option",
    "read_schema",
    "read_text",
    "schema_option",
    "starting",
    "table_option",
    "typed_value",
    "unit_options",
    "verbose_option",
    "with_unit",
    "write_text",
]


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
            raise ParameterError(
                f"Cannot write to {file}, because the data is read from it. Choose another file."
            )


def write_text(output: Path, text: str) -> None:
    """Writes a file.

    Raises:
        OSError: if it cannot be written.
    """
    output.write_text(text, encoding="utf-8", errors="backslashreplace")


@contextmanager
def looking_at(file: str) -> Iterator[None]:
    """Turns every failure to read public data into one sentence about the file."""
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


F = TypeVar("F", bound=Callable[..., Any])


def epsilon_option(command: F) -> F:
    """Adds --epsilon, and --rho in its place."""
    add_rho = click.option(
        "--rho",
        metavar="R",
        help="Privacy parameter of zCDP, in place of --epsilon, for a budget with a delta.",
    )
    add_epsilon = click.option(
        "--epsilon",
        metavar="E",
        help="Privacy parameter, an exact number; smaller is more private.",
    )
    return add_epsilon(add_rho(command))


def budget_options(command: F) -> F:
    """Adds `paying_options`; the command gets its `receipt`.

    What a policy does not allow is refused here, before any data is read.
    """

    @paying_options
    @functools.wraps(command)
    def with_receipt(
        *,
        budget: str | None,
        ledger: str | None,
        analyst: str | None,
        dataset: str | None,
        config: str | None,
        **options: Any,
    ) -> Any:
        receipt = click.get_current_context().ensure_object(Receipt)
        place, table = receipt.open(
            options["file"],
            budget=budget,
            ledger=ledger,
            analyst=analyst,
            dataset=dataset,
            config=config,
        )
        options["file"] = place
        if table is not None and options.get("table") is None:
            options["table"] = table
        return command(receipt=receipt, **options)

    return with_receipt  # type: ignore[return-value]


def paying_options(command: F) -> F:
    """Adds --budget, --ledger, --analyst, --dataset and --config."""
    for add in reversed(
        [
            click.option(
                "--budget",
                metavar="NAME",
                shell_complete=known_budgets,
                help="Charge epsilon to this budget.",
            ),
            ledger_option,
            click.option(
                "--analyst", metavar="WHO", help="Recorded with the charge. [default: you]"
            ),
            click.option(
                "--dataset", metavar="WHAT", help="Recorded with the charge. [default: the file]"
            ),
            config_option,
        ]
    ):
        command = add(command)
    return command


def ledger_option(command: F) -> F:
    """Adds --ledger."""
    return click.option(
        "--ledger",
        metavar="PLACE",
        help="Where budgets are kept: a file, or postgresql://host/name. "
        "[default: that of dampen.toml, else $DAMPEN_LEDGER, else your data directory]",
    )(command)


def config_option(command: F) -> F:
    """Adds --config."""
    return click.option(
        "--config",
        metavar="FILE",
        help="Data sets, their facts and budgets. [default: $DAMPEN_CONFIG, else dampen.toml]",
    )(command)


def json_option(command: F) -> F:
    """Adds --json, the flag `as_json`."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one line of JSON; errors too."
    )(command)


def expect_option(command: F) -> F:
    """Adds --expect."""
    return click.option(
        "--expect",
        is_flag=True,
        help="Print only the price and the accuracy. Free; no row is read.",
    )(command)


def verbose_option(command: F) -> F:
    """Adds --verbose."""
    return click.option(
        "--verbose", is_flag=True, help="Print also the mechanism and what epsilon protects."
    )(command)


def header_option(command: F) -> F:
    """Adds --header."""
    return click.option(
        "--header",
        is_flag=True,
        help="States that the first line of FILE is a header, so that messages may show it.",
    )(command)


def table_option(command: F) -> F:
    """Adds --table."""
    return click.option(
        "--table",
        metavar="NAME",
        help="Table of a DuckDB or SQLite FILE. [default: its only one]",
    )(command)


def public_option(command: F) -> F:
    """Adds --public."""
    return click.option("--public", is_flag=True, help="Confirms that FILE is public.")(command)


def output_option(help: str) -> Callable[[F], F]:
    """Adds -o."""
    return click.option("-o", "--output", type=click.Path(path_type=Path), help=help)


def file_argument(command: F) -> F:
    """Adds the FILE that a command reads; - is standard input."""
    return click.argument("file", type=click.Path())(command)


def known_budgets(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The budgets that a shell may complete to."""
    try:
        return starting(incomplete, open_ledger(ctx.params.get("ledger")))
    except DampenError:
        return []


def known_relations(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """The neighbour relations."""
    from dampen.core.selection import Neighbours

    return starting(incomplete, [relation.value for relation in Neighbours])


def known_columns(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The names of columns, if the file certainly has a header; never from a pipe."""
    from dampen.data.open import open_table

    # click gives up parsing at the option that is being completed, and leaves FILE where it was.
    file = ctx.params.get("file") or next(iter(ctx.args), None)
    if file is None or not (Path(file).is_file() or Path(file).is_dir()):
        return []
    try:
        table = open_table(
            file, header=bool(ctx.params.get("header")), table=ctx.params.get("table")
        )
    except DampenError:
        return []
    return starting(incomplete, [field.name for field in table.fields]) if table.declared else []


def starting(incomplete: str, words: Iterable[str]) -> list[str]:
    """The words that a shell may complete to."""
    return [word for word in words if word.startswith(incomplete) and word.isprintable()]


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
    return _long_name(parameter)


def _long_name(parameter: Parameter) -> str:
    return f"--{parameter.name.replace('_', '-')}"


def options_of(parameter: Parameter) -> list[click.Option]:
    """The options that a parameter is stated with; none if it is for Python alone."""
    if parameter.kind == "other":
        return []
    name = option_name(parameter)
    letter = f"-{parameter.short}" if parameter.short else name
    names = [parameter.name, *dict.fromkeys([letter, name, _long_name(parameter)])]
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
        listed = _labels(parameter, text, options[f"{parameter.name}_file"], edges=edges)
        return _tuples(parameter, text, listed) if _is_several(parameter, options) else listed
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
        help=f"Read the {parameter.name} from this file, one per line.",
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
    """Completions for a list of columns: those that may come last."""
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
            from dampen.data.edges import read_nodes

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


def _is_several(parameter: Parameter, options: Mapping[str, Any]) -> bool:
    """Whether labels are of several columns, which are named with commas."""
    fact = parameter.fact
    return fact is not None and "," in str(options.get(fact.of) or "")


def _tuples(parameter: Parameter, text: str | None, listed: Any) -> Any:
    """Groups of several columns: A,2020;B,2021 on the command line, one per line in a file."""
    if listed is None:
        return None
    groups = listed if text is None else text.split(";")
    return [tuple(_listed(option_name(parameter), group)) for group in groups]


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


def schema_option(command: F) -> F:
    """Adds --schema, the path `schema_file`."""
    return click.option(
        "--schema",
        "schema_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Read the public facts of FILE from this file; see `dampen draft`.",
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


def unit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --unit and --rows-per-unit."""
    add_rows = click.option(
        "--rows-per-unit",
        type=int,
        metavar="INTEGER",
        help="How many rows of a person count in full.",
    )
    add_unit = click.option(
        "--unit",
        metavar="COLUMN",
        help="Column that names the person a row belongs to. Epsilon then protects persons, not "
        "rows.",
    )
    return add_unit(add_rows(command))


def with_unit(
    schema: "Schema | None", unit: str | None, rows_per_unit: int | None
) -> "Schema | None":
    """The facts of --schema with what was typed of persons.

    Raises:
        ParameterError: if both name a unit, and not the same.
    """
    from dampen.schema import Schema

    if unit is None and rows_per_unit is None:
        return schema
    facts = schema or Schema()
    if unit is not None and facts.unit not in ("row", unit):
        raise ParameterError(f"The data set protects {facts.protected}. Leave --unit out.")
    return replace(
        facts,
        unit=unit or facts.unit,
        rows_per_unit=facts.rows_per_unit if rows_per_unit is None else rows_per_unit,
    )
