"""The command of a question, made from its declaration: `dampen most-frequent FILE ...`."""

import functools
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dampen.cli.delivery import show_plan, show_release
from dampen.cli.options import (
    budget_options,
    epsilon_option,
    expect_option,
    file_argument,
    header_option,
    json_option,
    output_option,
    table_option,
    verbose_option,
)
from dampen.cli.output import examples
from dampen.cli.question_options import (
    option_name,
    options_of,
    read_schema,
    schema_option,
    typed_value,
)
from dampen.cli.reading import check_output
from dampen.cli.receipt import Receipt
from dampen.errors import ParameterError
from dampen.questions import question_type
from dampen.releases.question import first_missing, parameters, with_facts
from dampen.schema.columns import Names
from dampen.schema.schema import Schema

if TYPE_CHECKING:
    from dampen.releases.question import Question

__all__ = ["command_of", "question_command", "stated_question"]

FILES = {
    "table": "FILE is CSV, TSV, JSON lines, Parquet or Feather, packed or not, or a DuckDB or "
    "SQLite file; - is standard input.",
    "edges": "FILE is an edge list: CSV, TSV, JSON lines, Parquet, npz or two columns of text, "
    "packed or not, or a table of DuckDB or SQLite; - is standard input.",
}
WIDTH = 84
COMMON: tuple[Callable[..., Any], ...] = (
    schema_option,
    table_option,
    epsilon_option,
    expect_option,
    budget_options,
    output_option("Write the answer to this file, as JSON."),
    verbose_option,
    json_option,
)
"""The options that every question has, after its own; of tables also --header."""


def question_command(name: str) -> click.Command:
    """The command that asks a question.

    Raises:
        KeyError: if there is no question of that name.
    """
    kind = question_type(name)
    help = f"{_description(kind)}\n\n{FILES[kind.data]}"
    return command_of(kind, _ask, COMMON, help=help, epilog=_examples(kind))


def command_of(
    kind: "type[Question]",
    run: Callable[..., Any],
    common: Sequence[Callable[..., Any]],
    *,
    help: str,
    epilog: str | None = None,
) -> click.Command:
    """A command with the options that a question declares, before those that are common.

    Args:
        kind: the class that declares the question; `run` gets it first.
        run: what the command does.
        common: what adds each of the other options, in their order; of tables also --header.
        help: what the command is for.
        epilog: examples.
    """
    called: Callable[..., Any] = functools.partial(run, kind)
    for add in reversed(common):
        called = add(called)
    if kind.data == "table":
        called = header_option(called)
    command = click.command(kind.name, help=help, epilog=epilog)(file_argument(called))
    own = [option for each in parameters(kind) for option in options_of(each)]
    file, *others = command.params
    command.params = [file, *own, *others]
    return command


def _description(kind: "type[Question]") -> str:
    """The docstring of a question, whose first line is its summary."""
    return textwrap.dedent("    " + (kind.__doc__ or "")).strip()


def _examples(kind: "type[Question]") -> str:
    return examples(*(line for each in kind.examples for line in _lines(each)))


def _lines(command: str) -> list[str]:
    """A command in lines that fit; an option and its value stay together."""
    parts = command.split(" -")
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) > WIDTH:
            lines[-1] += " \\"
            lines.append(" ")
        lines[-1] += f" -{part}"
    return lines


def _ask(
    kind: "type[Question]",
    *,
    file: str,
    schema_file: Path | None,
    table: str | None,
    epsilon: str | None,
    rho: str | None,
    expect: bool,
    output: Path | None,
    verbose: bool,
    as_json: bool,
    receipt: Receipt,
    header: bool = False,
    **options: Any,
) -> None:
    from dampen.releases import answer as releases

    schema = facts_of(read_schema(schema_file, options.get("target")), receipt.schema)
    question = stated_question(kind, options, schema)
    check_output(output, file, schema_file, receipt.ledger)
    asked: dict[str, Any] = {
        "epsilon": epsilon,
        "rho": rho,
        "schema": schema,
        "header": header,
        "table": table,
    }
    shown: dict[str, Any] = {"as_json": as_json, "verbose": verbose}
    if expect:
        show_plan(releases.expect(question, file, **asked), receipt, **shown)
        return
    receipt.asked = question.text()
    release = releases.answer(question, file, budget=receipt.budget, **asked)
    show_release(release, receipt, question.shape(), output=output, **shown)


def facts_of(typed: "Schema | None", registered: "Schema | None") -> "Schema | None":
    """The facts of a data set: those that are registered come before those of `--schema`.

    Whoever asks can add columns, but cannot change what is protected: not the unit, not whether
    the number of units is public, and not which columns are public and fixed.
    """
    if typed is None or registered is None:
        return typed or registered
    added = {
        name: column if isinstance(column, Names) else replace(column, public=False)
        for name, column in typed.columns.items()
    }
    return replace(
        typed,
        unit=registered.unit,
        units_public=registered.units_public,
        rows=registered.rows or typed.rows,
        columns={**added, **registered.columns},
        graph=registered.graph or typed.graph,
    )


def stated_question(
    kind: "type[Question]", options: Mapping[str, Any], schema: "Schema | None"
) -> "Question":
    """The question, from what was typed and, for facts that were not, from the schema."""
    edges = kind.data == "edges"
    stated = {each.name: typed_value(each, options, edges=edges) for each in parameters(kind)}
    known = with_facts(kind, stated, schema or Schema())
    lacking = first_missing(kind, known)
    if lacking is not None:
        named = "" if lacking.kind == "other" else f"{option_name(lacking)} or "
        raise ParameterError(f"Expected {named}--schema FILE. {lacking.help}")
    return kind(**known)
