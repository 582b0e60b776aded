"""What every releasing command shares: its options, and how its answer is shown."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dampen.cli.printing import print_facts, print_json, print_table
from dampen.cli.till import Till, budget_options
from dampen.epsilon import decimal_text
from dampen.errors import ParameterError

if TYPE_CHECKING:
    from dampen.releases import Release

PACKED = (b"\x1f\x8b", b"PAR1", b"PK")
"""How gzip, Parquet and npz files begin."""

F = TypeVar("F", bound=Callable[..., Any])


def release_options(command: F) -> F:
    """Adds --epsilon, --mechanism, --json and the options of a budget."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="One line of JSON, for machines."),
        budget_options,
        click.option("--mechanism", metavar="NAME", help="[default: the best known here]"),
        click.option("--epsilon", required=True, metavar="E", help="The privacy parameter, exact."),
    ):
        command = option(command)
    return command


def show_release(
    release: "Release",
    till: Till,
    *,
    as_json: bool,
    names: tuple[str, Sequence[Any]] | None = None,
) -> None:
    """Prints an answer and the public facts about it.

    Several answers are ranked, or carry the `names`: a heading and one name each.
    """
    if as_json:
        print_json(json.loads(release.to_json()) | till.facts())
        return
    facts: dict[str, Any] = {
        "epsilon": decimal_text(release.epsilon),
        "mechanism": release.mechanism,
        "neighbours": release.neighbours,
    }
    if budget := till.facts().get("budget"):
        facts["budget"] = f"{budget['name']}, {budget['left']} of {budget['total']} left"
    if isinstance(release.answer, list):
        heading, each = names or ("rank", range(1, len(release.answer) + 1))
        print_table([heading, "answer"], zip(each, release.answer, strict=True))
        print_facts(facts)
    else:
        print_facts({"answer": release.answer} | facts)


def public_lines(file: Path) -> list[str]:
    """The lines of a file of public names."""
    try:
        return file.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise ParameterError(f"Cannot read {file}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ParameterError(f"Expected one name per line in {file}, UTF-8 text.") from None


def check_edge_list(file: Path) -> None:
    """Refuses, before any charge, a file that is surely no edge list: empty, or binary."""
    try:
        with file.open("rb") as stream:
            start = stream.read(4096)
    except OSError as error:
        raise ParameterError(f"Cannot read {file}: {error.strerror}.") from None
    if not start:
        raise ParameterError(f"Expected an edge list, but {file} is empty.")
    if b"\0" in start and not start.startswith(PACKED):
        raise ParameterError(f"Expected an edge list, CSV, TSV, text or Parquet; {file} is binary.")
