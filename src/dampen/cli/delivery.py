"""Showing a release, and seeing to it that an answer that was paid for is not lost.

An answer is printed; if that fails it is in the ledger, and the message says how to fetch it; if it
is not there either, it goes to standard error.  The answer comes first, then its accuracy, what it
cost and what is left; mechanism and relation only on request, and in JSON.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dampen.cli.interrupts import held
from dampen.cli.output import Unprinted, facts_text, json_text, table_text, write
from dampen.cli.reading import write_text
from dampen.cli.receipt import Receipt
from dampen.epsilon import decimal_text, short_text

if TYPE_CHECKING:
    from dampen.releases.answer import Planned
    from dampen.releases.cost import Cost
    from dampen.releases.question import Shape
    from dampen.releases.release import Release

__all__ = ["Undelivered", "deliver", "release_facts", "show_plan", "show_release"]


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
            "epsilon": decimal_text(cost.epsilon),
            "rho": short_text(cost.rho, up=True),
            "mechanism": cost.mechanism,
            "neighbours": str(cost.neighbours),
            "leaks": list(cost.leaks),
        }
        write(json_text(told | balance))
        return
    facts = {"accuracy": plan.accuracy.sentence} | _cost_facts(cost, balance)
    write(facts_text(facts | (_method_facts(cost) if verbose else {})))


def release_facts(release: "Release", receipt: Receipt, *, verbose: bool) -> dict[str, Any]:
    """What stands below an answer."""
    facts: dict[str, Any] = {"accuracy": release.accuracy.sentence}
    facts |= _cost_facts(release, receipt.balance())
    if verbose:
        facts |= _method_facts(release)
        facts |= {} if release.charge is None else {"charge": release.charge}
    return facts


def deliver(text: str, receipt: Receipt, answer: str) -> None:
    """Prints what was paid for.

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
        from dampen.questions.classify.model import model_of
        from dampen.questions.classify.rendering import report

        return f"{report(model_of(answer), release)}\n\n{facts_text(facts)}"
    if shape == "number" and not isinstance(answer, dict):
        return facts_text(_number_facts(release) | facts)
    if shape == "number":
        table = table_text(*_number_table(release))
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
    """A noisy number and where the true one lies."""
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
    """What stands at the ends of nested dicts, with the names on the way."""
    if not isinstance(answer, dict):
        return [(names, answer)]
    return [leaf for name, each in answer.items() for leaf in _leaves(each, (*names, str(name)))]


def _ends_text(ends: tuple[Any, Any]) -> str:
    low, high = (f"{end:,}" if isinstance(end, int) else f"{end:,.6g}" for end in ends)
    return f"{low} to {high} (95 %)"


def _cost_facts(cost: "Cost | Release", balance: dict[str, Any]) -> dict[str, Any]:
    """What an answer costs, what is left, and what the cost does not cover."""
    epsilon = decimal_text(cost.epsilon)
    facts: dict[str, Any] = {"cost": f"epsilon {epsilon}"}
    if budget := balance.get("budget"):
        if budget["charged"] != epsilon:
            facts["cost"] += f", charged as {budget['charged']} for what this budget protects"
        facts["budget"] = f"{budget['name']}, {budget['left']} of {budget['total']} left"
    if cost.leaks:
        facts["NOT COVERED BY EPSILON"] = cost.leaks
    return facts


def _method_facts(cost: "Cost | Release") -> dict[str, Any]:
    return {"mechanism": cost.mechanism, "neighbours": cost.neighbours}


def _failure(output: Path | None, text: str) -> str:
    """Writes a file, if one is named; what to say if that failed."""
    if output is None:
        return ""
    try:
        write_text(output, text + "\n")
    except OSError as error:
        return f"Cannot write {output}: {error.strerror}. The answer is on standard output."
    return ""
