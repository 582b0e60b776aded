"""`dampen compare`: compares the methods of a question on public data."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dampen.cli.options import (
    json_option,
    looking_at,
    public_option,
    read_schema,
    schema_option,
    table_option,
    unit_options,
    with_unit,
)
from dampen.cli.output import examples, print_json, print_table
from dampen.cli.question_command import command_of, stated_question
from dampen.epsilon import decimal_text, exact
from dampen.errors import ParameterError
from dampen.questions import QUESTIONS, question_type
from dampen.releases.question import parameters

if TYPE_CHECKING:
    from dampen.releases.cost import Price
    from dampen.releases.question import Question
    from dampen.schema import Schema

__all__ = ["compare"]

DEFAULT = "default"


class _Comparisons(click.Group):
    """One command for every question, made when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(QUESTIONS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name.endswith(".py"):
            return _own_comparison(cmd_name)
        return _comparison(cmd_name) if cmd_name in QUESTIONS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Questions"):
            formatter.write_dl([(name, each.summary) for name, each in QUESTIONS.items()])
        with formatter.section("Your own problem"):
            formatter.write_dl([("FILE.py", "A file that defines problem and sample.")])


@click.group(
    cls=_Comparisons,
    epilog=examples(
        "dampen compare top-k follows.csv.gz --n 40 -k 5 --epsilon 0.1,0.5,1 --public",
        "dampen compare percentile salaries.csv --value salary -p 50 --upper 500000 \\",
        "  --step 1000 --epsilon 0.1,1 --public",
        "dampen compare my_problem.py --epsilon 0.1,1 --public",
    ),
)
def compare() -> None:
    """Compares the methods of a question on public data: how good are they at which epsilon?

    It looks at the data without privacy. Use public data of the same kind as yours.
    """


def _comparison(name: str) -> click.Command:
    return command_of(
        question_type(name),
        _compare,
        (
            schema_option,
            unit_options,
            table_option,
            public_option,
            _prices_option,
            _tries_option,
            json_option,
        ),
        help="Asks the question several times by every method and shows the mean error of amounts, "
        "or the share of right names.",
    )


def _own_comparison(file: str) -> click.Command:
    """Mechanisms on the `problem` and the public `sample` that a Python file defines."""

    @click.command(name=file)
    @public_option
    @_prices_option
    @json_option
    def own(public: bool, epsilon: str | None, rho: str | None, as_json: bool) -> None:
        """Expected errors of all mechanisms on the problem and the sample of FILE, computed."""
        from dampen.cli.verify import failing, run_file
        from dampen.core.error_analysis import compare as errors_of
        from dampen.workbench import suited

        _check_public(public)
        prices = _prices(epsilon, rho)
        place = Path(file)
        defined = run_file(place, "problem", "sample")
        with failing(place):
            selection = defined["problem"].selection(defined["sample"])
            lines = []
            for each in suited(selection):
                line: dict[str, Any] = {"expected error": each.name}
                for heading, price in prices.items():
                    asked = each.asked_epsilon(price.epsilon, price.rho)
                    [found] = errors_of(selection, epsilons=[asked], mechanisms=[each])
                    line[heading] = float(f"{found.expected_error:.4g}")
                lines.append(line)
        _show(lines, as_json)

    return own


def _check_public(public: bool) -> None:
    if not public:
        raise ParameterError(
            "Expected --public: compare looks at the data without privacy. Use public data of the "
            "same kind to choose a method."
        )


def _show(lines: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(lines)
    else:
        print_table(list(lines[0]), [line.values() for line in lines])


def _prices_option(command: Callable[..., Any]) -> Callable[..., Any]:
    add_rho = click.option("--rho", metavar="R,R,...", help="The same in zCDP.")
    add_epsilon = click.option("--epsilon", metavar="E,E,...", help="One or more, with commas.")
    return add_epsilon(add_rho(command))


def _tries_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--tries", type=click.IntRange(1), default=40, show_default=True, help="Answers each."
    )(command)


def _compare(
    kind: "type[Question]",
    /,
    *,
    file: str,
    schema_file: Path | None,
    unit: str | None,
    rows_per_unit: int | None,
    table: str | None,
    public: bool,
    epsilon: str | None,
    rho: str | None,
    tries: int,
    as_json: bool,
    header: bool = False,
    **options: Any,
) -> None:
    _check_public(public)
    prices = _prices(epsilon, rho)
    schema = with_unit(read_schema(schema_file, options.get("target")), unit, rows_per_unit)
    question = stated_question(kind, options, schema)
    if hasattr(question, "public"):
        question = replace(question, public="data")  # type: ignore[type-var]
    with looking_at(file):
        source = question.open(file, header=header, table=table)
        lines = list(_lines(question, source, prices, tries, schema))
    _show(lines, as_json)


def _prices(epsilon: str | None, rho: str | None) -> "dict[str, Price]":
    from dampen.releases.cost import Price

    epsilons = [exact(each) for each in _parts(epsilon)]
    rhos = [exact(each, "rho") for each in _parts(rho)]
    if not epsilons and not rhos:
        raise ParameterError("Expected --epsilon, --rho or both.")
    prices = {f"ε = {decimal_text(each)}": Price(each) for each in epsilons}
    return prices | {f"ρ = {decimal_text(each)}": Price(rho=each) for each in rhos}


def _parts(text: str | None) -> list[str]:
    return [] if text is None else [part.strip() for part in text.split(",")]


def _lines(
    question: "Question",
    source: Any,
    prices: "dict[str, Price]",
    tries: int,
    schema: "Schema | None",
) -> Iterator[dict[str, Any]]:
    """One line for every method, with its error at every price."""
    from dampen.progress import progress
    from dampen.releases.answer import rehearse

    methods = _methods(question)
    with progress(len(methods) * len(prices), "Comparing") as advance:
        for name, asked in methods.items():
            line: dict[str, Any] = {}
            for heading, price in prices.items():
                try:
                    seen = rehearse(asked, source, price, draws=tries, schema=schema)
                except ParameterError:
                    if name == DEFAULT:
                        raise
                    break  # the mechanism is not for this question
                finally:
                    advance(1)
                line.setdefault("mean error" if seen.numeric else "share right", name)
                line[heading] = round(seen.error if seen.numeric else 1 - seen.error, 4)
            if line:
                yield line


def _methods(question: Any) -> dict[str, Any]:
    """The question as it is, and by every mechanism that can be named for it."""
    named = [each for each in parameters(question) if each.name == "mechanism"]
    if not named or question.mechanism is not None:
        return {DEFAULT: question}
    return {DEFAULT: question} | {
        each: replace(question, mechanism=each) for each in named[0].choices
    }
