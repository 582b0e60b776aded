"""The command of a question, made from its declaration, and commands beside it.

- `dampen most-frequent FILE ...`: the command of any question (`question_command`).
- `dampen predict`: the classes of new rows, by a model that was released before.
- `dampen sql`: one statement about a registered data set is one private question.
- `dampen watch`: are there enough rows now?  A run of looks costs ε once.

All show a release, and see to it that an answer that was paid for is not lost.

An answer is printed; if that fails it is in the ledger, and the message says how to fetch it; if it
is not there either, it goes to standard error.  The answer comes first, then its accuracy, what it
cost and what is left; mechanism and relation only on request, and in JSON.
"""

import functools
import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dampen.cli.interrupts import held
from dampen.cli.lazy import in_options
from dampen.cli.options import (
    budget_options,
    check_output,
    epsilon_option,
    expect_option,
    file_argument,
    header_option,
    json_option,
    looking_at,
    option_name,
    options_of,
    output_option,
    paying_options,
    read_schema,
    read_text,
    schema_option,
    table_option,
    typed_value,
    unit_options,
    verbose_option,
    with_unit,
    write_text,
)
from dampen.cli.output import (
    Receipt,
    Unprinted,
    examples,
    facts_text,
    json_text,
    print_json,
    printable,
    table_text,
    write,
)
from dampen.epsilon import decimal_text, short_text
from dampen.errors import ParameterError
from dampen.questions import question_type
from dampen.releases.question import first_missing, parameters, with_facts
from dampen.schema.schema import Names, Schema

if TYPE_CHECKING:
    from dampen.questions.classify.model import Model
    from dampen.releases.accuracy import Accuracy
    from dampen.releases.answer import Planned
    from dampen.releases.cost import Cost
    from dampen.releases.question import Question, Shape
    from dampen.releases.release import Release

__all__ = [
    "Undelivered",
    "command_of",
    "deliver",
    "predict",
    "question_command",
    "release_facts",
    "show_plan",
    "show_release",
    "sql",
    "stated_question",
    "watch",
]


class Undelivered(Exception):
    """An answer could not be printed; `answer` holds its JSON if it is nowhere else."""

    def __init__(self, message: str, answer: str | None) -> None:
        super().__init__(message)
        self.answer = answer


def show_release(
    release: "Release",
    receipt: Receipt,
    shape: "Shape",
    *,
    as_json: bool,
    verbose: bool = False,
    points: str = "p",
    output: Path | None = None,
) -> None:
    """Prints an answer as its question has it read (`shape`), and the public facts about it.

    Several values carry the `points` that they are for: the name of a parameter of the release.

    Raises:
        Undelivered: if it could not be printed.
    """
    with held():
        kept = release.to_json()
        facts = release_facts(release, receipt, verbose=verbose)
        failed = _failure(output, kept)
        if output is not None and not failed:
            facts["written to"] = str(output)
        if as_json or failed:
            text = json_text(json.loads(kept) | receipt.balance())
        else:
            text = _shown(release, shape, points, facts)
        deliver(text, receipt, kept)
        if failed:
            raise click.ClickException(f"{failed} {receipt.told}".strip())


def show_plan(plan: "Planned", receipt: Receipt, *, as_json: bool, verbose: bool) -> None:
    """Prints what an answer would cost and how good it would be; nothing was charged."""
    cost = plan.cost
    balance = receipt.balance(cost)
    if as_json:
        told = {
            "accuracy": plan.accuracy.to_dict(),
            "epsilon": decimal_text(cost.epsilon) if cost.pure else None,
            "rho": short_text(cost.rho, up=True),
            "mechanism": cost.mechanism,
            "neighbours": str(cost.neighbours),
            "leaks": list(cost.leaks),
        }
        write(json_text(told | balance))
        return
    facts = {"accuracy": _in_options(plan.accuracy)} | _cost_facts(cost, balance)
    write(facts_text(facts | (_method_facts(cost) if verbose else {})))


def release_facts(release: "Release", receipt: Receipt, *, verbose: bool) -> dict[str, Any]:
    """The facts that are printed below an answer."""
    measured = {"number": _measured_text(release)} if "measure" in release.parameters else {}
    facts: dict[str, Any] = {**measured, "accuracy": _in_options(release.accuracy)}
    facts |= _cost_facts(release, receipt.balance())
    if verbose:
        facts |= _method_facts(release)
        facts |= {} if release.charge is None else {"charge": release.charge}
    return facts


def _in_options(accuracy: "Accuracy") -> str:
    """The sentence on accuracy with the options of the command in place of parameters."""
    return in_options(accuracy.sentence, click.get_current_context().command)


def deliver(text: str, receipt: Receipt, answer: str) -> None:
    """Prints an answer that was paid for.

    Raises:
        Undelivered: if it could not be printed; with the answer, unless that is kept.
    """
    with held():
        try:
            write(text)
        except Unprinted as error:
            lost = f"The answer could not be printed: {error.reason}. {receipt.told}".strip()
            where = "" if receipt.kept else " The answer follows."
            raise Undelivered(lost + where, None if receipt.kept else answer) from None


def _shown(release: "Release", shape: "Shape", points: str, facts: dict[str, Any]) -> str:
    """The answer, then the facts."""
    answer = release.answer
    if shape == "model":
        from dampen.questions.classify.model import model_of, report

        return f"{report(model_of(answer), release)}\n\n{facts_text(facts)}"
    if shape == "number" and not isinstance(answer, dict):
        return facts_text(_number_facts(release) | facts)
    if shape == "number":
        table = table_text(*_number_table(release))
    elif isinstance(answer, dict) and shape == "value" and isinstance(release.numbers, dict):
        table = table_text(*_key_table(release))
    elif isinstance(answer, dict):
        table = table_text(["group", "answer"], answer.items())
    elif isinstance(answer, list) and shape in ("ranking", "points"):
        named = release.parameters.get(points) if shape == "points" else None
        if isinstance(named, list | tuple) and len(named) == len(answer):
            table = table_text([points, "answer"], zip(named, answer, strict=True))
        elif shape == "ranking" and release.law is not None and isinstance(release.numbers, dict):
            table = table_text(["rank", "answer", "count", "interval"], _counted_ranks(release))
        else:
            table = table_text(["rank", "answer"], enumerate(answer, 1))
    else:
        first = {"answer": answer, "accuracy": facts["accuracy"]}
        return facts_text(first | _margin_facts(release, shape) | facts)
    return f"{table}\n{facts_text(facts)}"


def _key_table(release: "Release") -> tuple[list[str], list[list[Any]]]:
    """The values that were found, each with its count, and the interval of that if there is one."""
    rows = [[name, count] for name, count in release.answer.items()]
    if release.law is None:
        return ["value", "count"], rows
    ends = release.interval()
    return ["value", "count", "interval"], [[*row, _ends_text(ends[row[0]])] for row in rows]


def _counted_ranks(release: "Release") -> list[list[Any]]:
    """The candidates best first, with their noisy counts."""
    ends = release.interval()
    return [
        [rank, name, release.numbers[name], _ends_text(ends[name])]
        for rank, name in enumerate(release.answer, 1)
    ]


def _margin_facts(release: "Release", shape: "Shape") -> dict[str, Any]:
    """The noisy lead of a name over all others, where it came with the name."""
    if shape != "name" or not isinstance(release.numbers, int):
        return {}
    return {"lead": f"{release.numbers:,}, {_ends_text(release.interval())}"}


def _number_facts(release: "Release") -> dict[str, Any]:
    """A noisy number and the interval of the true one."""
    told = {"answer": release.answer}
    return told if release.law is None else told | {"interval": _ends_text(release.interval())}


def _number_table(release: "Release") -> tuple[list[str], list[list[Any]]]:
    """Noisy numbers by name, each with its interval."""
    rows = [
        [*names, number, _ends_text(ends)]
        for (names, number), (_, ends) in zip(
            _leaves(release.answer), _leaves(release.interval()), strict=True
        )
    ]
    names = ["group", "value"] if rows and len(rows[0]) == 4 else ["group"]
    return [*names, "answer", "interval"], rows


def _leaves(answer: Any, names: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """The values of nested dicts, each with its path of names."""
    if not isinstance(answer, dict):
        return [(names, answer)]
    return [
        leaf for name, each in answer.items() for leaf in _leaves(each, (*names, _name_text(name)))
    ]


def _name_text(name: Any) -> str:
    return ", ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _ends_text(ends: tuple[Any, Any]) -> str:
    low, high = map(_end_text, ends)
    return f"{low} to {high} (95 %)"


def _end_text(end: Any) -> str:
    if isinstance(end, float):
        return f"{end:,.0f}" if abs(end) >= 100_000 else f"{end:,.6g}"
    return f"{end:,}" if isinstance(end, int) else str(end)


def _measured_text(release: "Release") -> str:
    """The winners' own numbers with their intervals."""
    from dampen.releases.numbers import bars

    told = []
    for bar in bars(release):
        low, high = (int(end) if end.is_integer() else end for end in (bar.low, bar.high))
        number = f"{int(bar.height):,}" if bar.height.is_integer() else f"{bar.height:,.6g}"
        name = f"{', '.join(bar.names)}: " if bar.names else ""
        told.append(f"{name}{number}, {_ends_text((low, high))}")
    return "; ".join(told)


def _cost_facts(cost: "Cost | Release", balance: dict[str, Any]) -> dict[str, Any]:
    """What an answer costs, what is left, and what the cost does not cover."""
    facts: dict[str, Any] = {"cost": cost.price}
    if budget := balance.get("budget"):
        if f"epsilon {budget['charged']}" != cost.price and cost.price.startswith("epsilon"):
            facts["cost"] += f", charged as {budget['charged']} for what this budget protects"
        facts["budget"] = f"{budget['name']}, {budget['left']} of {budget['total']} left"
    if cost.delta:
        facts["cost"] += f", delta {decimal_text(cost.delta)}"
    if cost.leaks:
        facts["NOT COVERED BY EPSILON"] = cost.leaks
    return facts


def _method_facts(cost: "Cost | Release") -> dict[str, Any]:
    return {"mechanism": cost.mechanism, "neighbours": cost.neighbours, "protects": cost.protects}


def _failure(output: Path | None, text: str) -> str:
    """Writes a file, if one is named; what to say if that failed."""
    if output is None:
        return ""
    try:
        write_text(output, text + "\n")
    except OSError as error:
        return f"Cannot write {output}: {error.strerror}. The answer is on standard output."
    return ""


FILES = {
    "table": "FILE is CSV, TSV, JSON lines, Parquet or Feather, packed or not, or a DuckDB or "
    "SQLite file; - is standard input.",
    "edges": "FILE is an edge list: CSV, TSV, JSON lines, Parquet, npz or two columns of text, "
    "packed or not, or a table of DuckDB or SQLite; - is standard input.",
}
WIDTH = 84
COMMON: tuple[Callable[..., Any], ...] = (
    schema_option,
    unit_options,
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
    /,
    *,
    file: str,
    schema_file: Path | None,
    unit: str | None,
    rows_per_unit: int | None,
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

    if receipt.schema is not None and unit not in (None, receipt.schema.unit):
        raise ParameterError(f"The data set protects {receipt.schema.protected}. Leave --unit out.")
    typed = with_unit(read_schema(schema_file, options.get("target")), unit, rows_per_unit)
    schema = facts_of(typed, receipt.schema)
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


HEADING = "prediction"


@click.command(epilog=examples("dampen predict tree.json new.csv"))
@click.argument("model_file", metavar="MODEL", type=click.Path(path_type=Path))
@file_argument
@header_option
@table_option
@json_option
def predict(model_file: Path, file: str, header: bool, table: str | None, as_json: bool) -> None:
    """Predicts the class or number of every row of FILE with the model in MODEL, as CSV.

    Costs nothing: the model is released already, and the rows stay with you. MODEL is what `dampen
    tree -o`, `dampen regression-tree -o`, `dampen naive-bayes -o`, `dampen classifier -o` or
    `dampen budget answer` wrote.
    """
    from dampen.data.open import open_table
    from dampen.questions.classify.question import predictions

    model = _model(model_file)
    with looking_at(file):
        found = predictions(model, open_table(file, header=header, table=table)).tolist()
    if as_json:
        print_json(found)
    else:
        write("\n".join([HEADING, *map(_csv_cell, found)]))


def _model(path: Path) -> "Model":
    from dampen.questions.classify.model import model_of, read_release

    text = read_text(path, "a model")
    with suppress(ParameterError):
        return model_of(read_release(text).answer)
    raise ParameterError(
        f"Expected a model written by `dampen tree -o`, `dampen regression-tree -o`, `dampen "
        f"naive-bayes -o` or `dampen classifier -o`, not {path}."
    )


def _csv_cell(value: Any) -> str:
    text = printable(str(value))
    return '"' + text.replace('"', '""') + '"' if set(text) & set('",') else text


EXAMPLE = "SELECT hospital FROM stays GROUP BY hospital ORDER BY MEDIAN(days) DESC LIMIT 1"


@click.command(epilog=examples(f'dampen sql "{EXAMPLE}" --epsilon 0.3'))
@click.argument("statement")
@epsilon_option
@click.option(
    "--delta",
    metavar="D",
    help="Probability that epsilon fails, such as 1e-6, to find groups that nobody lists.",
)
@expect_option
@paying_options
@verbose_option
@json_option
def sql(
    *,
    statement: str,
    epsilon: str | None,
    rho: str | None,
    delta: str | None,
    expect: bool,
    verbose: bool,
    as_json: bool,
    **paying: Any,
) -> None:
    """Asks one SELECT STATEMENT about a data set that is registered in dampen.toml.

    The statement is parsed, never run. It may ask for counts, sums, means, percentiles, the largest
    groups (ORDER BY with LIMIT) or groups above a threshold (HAVING). All else is refused before
    anything is charged.
    """
    from dampen.datasets import Dataset
    from dampen.schema import Schema
    from dampen.sql import parse

    receipt = click.get_current_context().ensure_object(Receipt)
    name = parse(statement).dataset
    place, table = receipt.open(name, **paying)
    if place == name and "://" not in name and not Path(name).exists():
        raise ParameterError(
            f"FROM names {name!r}: expected a data set that dampen.toml lists (--config names the "
            'file), or a file in quotes, FROM "stays.csv".'
        )
    stays = Dataset(place, receipt.schema or Schema(), receipt.budget, table=table)
    asked = stays.statement(statement, delta)
    question = stays.question(asked.question, **asked.stated)
    price: dict[str, Any] = {"epsilon": asked.offered(epsilon, rho), "rho": rho}
    shown: dict[str, Any] = {"as_json": as_json, "verbose": verbose}
    if expect:
        show_plan(stays.expect(asked.question, **price, **asked.stated), receipt, **shown)
        return
    receipt.asked = question.text()
    release = stays.ask(asked.question, **price, **asked.stated)
    show_release(release, receipt, question.shape(), **shown)


@click.command(
    epilog=examples(
        "dampen watch visits.csv --where \"diagnosis == 'flu'\" --threshold 30 --epsilon 1 "
        "--state flu.watch",
    )
)
@file_argument
@click.option(
    "--threshold",
    type=int,
    required=True,
    metavar="INTEGER",
    help="How many rows or persons are enough.",
)
@click.option("--where", metavar="CONDITION", help="Only rows for which this holds.")
@click.option("--epsilon", required=True, metavar="E", help="Privacy parameter of a run.")
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="Keeps the run between looks. As private as the data; only you can read it.",
)
@click.option(
    "--unit", metavar="COLUMN", help="Column that names the person: counts persons, once each."
)
@header_option
@table_option
@expect_option
@budget_options
@verbose_option
@json_option
def watch(
    *,
    file: str,
    threshold: int,
    where: str | None,
    epsilon: str,
    state: Path,
    unit: str | None,
    header: bool,
    table: str | None,
    expect: bool,
    receipt: Receipt,
    verbose: bool,
    as_json: bool,
) -> None:
    """Checks whether FILE has enough rows or persons now, and prints yes or no.

    Look as often as you like. One epsilon pays for all looks up to the first yes; the look after it
    starts another run.
    """
    from dampen.questions.watch import watch as watching
    from dampen.schema import Schema

    schema = with_unit(receipt.schema, unit, None) or Schema()
    check_output(state, file)
    watched = watching(
        threshold=threshold,
        where=where,
        epsilon=epsilon,
        budget=None if receipt.account is None else _RunPayer(receipt),
        state=state,
        unit=schema.people,
    )
    facts = {"accuracy": watched.accuracy.sentence, "cost": f"{watched.cost.price} a run"}
    facts |= _method_facts(watched.cost) if verbose else {}
    if expect:
        write(json_text(facts) if as_json else facts_text(facts))
        return
    with looking_at(file):
        release = watched.look(file, header=header, table=table)
    kept = release.to_json()
    told = {"answer": "yes" if release.answer else "no", "looks": release.parameters["looks"]}
    balance = receipt.balance(watched.cost)
    if budget := balance.get("budget"):
        facts["budget"] = f"{budget['name']}, {budget['left']} of {budget['total']} left"
    text = json_text(json.loads(kept) | balance) if as_json else facts_text(told | facts)
    deliver(text, receipt, kept)


class _RunPayer:
    """The account of a watch: the receipt records charges, the ledger takes one yes for each."""

    def __init__(self, receipt: Receipt) -> None:
        assert receipt.account is not None
        self.receipt = receipt
        self.account = receipt.account
        self.ledger = receipt.account.ledger

    def charge(self, cost: "Cost", /) -> str | None:
        return self.receipt.charge(cost)

    def keep(self, charge: str, answer: str, /) -> None:
        self.account.keep(charge, answer)
        self.receipt.kept = True
