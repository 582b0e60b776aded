"""`dampen demo`: the README's questions on made-up data, and what to try next."""

import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dampen.cli.output import examples, write
from dampen.errors import DampenError, ParameterError

if TYPE_CHECKING:
    from dampen.releases.question import Question
    from dampen.schema import Schema

__all__ = ["demo", "next_commands"]

FOLDER = Path("dampen-demo")
EPSILONS = ("0.1", "0.3", "1")
TRIES = 40
BAR = 20
DAMPEN = "dampen"
USUAL = "exponential mechanism"


@dataclass(frozen=True)
class Scene:
    """One question about made-up data, which is public, and the usual way to answer it.

    Attributes:
        words: the question.
        data: what it is asked of, in words.
        question: as it is asked.
        source: what it is asked of.
        epsilon: of the answer that is shown.
        usual: the error of the exponential mechanism at an ε.
        schema: the public facts that say whom ε protects; None for single rows and edges.
    """

    words: str
    data: str
    question: "Question"
    source: Any
    epsilon: str
    usual: Callable[[str], float]
    schema: "Schema | None" = None


@click.command(epilog=examples("dampen demo", "dampen demo -o tour", "dampen demo --files ."))
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIRECTORY",
    default=FOLDER,
    show_default=True,
    help="Where the files of the examples are put.",
)
@click.option(
    "--files",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIRECTORY",
    help="Write the files of the documentation's examples there, and stop.",
)
def demo(output: Path, files: Path | None) -> None:
    """Asks four questions of made-up data and shows how good the answers are.

    Each private answer stands beside the true one. Bars compare dampen with the exponential
    mechanism, the usual method. The randomness is seeded here, so that you see the same every
    time; real answers use the randomness of the operating system.
    """
    from dampen.cli.demo_files import write_files

    if files is not None:
        write(f"Wrote {', '.join(write_files(files))}.")
        return
    started = time.monotonic()
    _make(output)
    write_files(output)
    for scene in _scenes(output):
        write("\n".join(_shown(scene)))
    seconds = time.monotonic() - started
    write(f"Done in {seconds:.0f} s. The files of all examples are in {output}/.\n")
    write("Next, an answer that a budget pays for, marked as a trial:\n")
    for command in next_commands(output):
        write(textwrap.indent(" \\\n    ".join(command), "  "))


def next_commands(folder: Path) -> list[list[str]]:
    """Three commands, each in lines, that work after this one as they are printed."""
    program = _program()
    budget = _free_name("demo")
    return [
        [f"{program} budget create {budget} --epsilon 1", "--neighbours add-remove-row --trial"],
        [
            f"{program} top-groups {folder / 'stays.csv'}",
            "--value days --by hospital --groups H1,H2,H3",
            f"--epsilon 0.3 --budget {budget}",
        ],
        [f"{program} budget show {budget}"],
    ]


def _program() -> str:
    """How this program was called, if its name alone would call another one, or none."""
    from shutil import which

    called = Path(sys.argv[0])
    if called.stem == "__main__":
        return "python -m dampen"
    found = which("dampen")
    if called.exists() and (found is None or not called.samefile(found)):
        return str(called)
    return "dampen"


def _free_name(name: str) -> str:
    """A name that the ledger does not have."""
    from dampen.ledger import Ledger, default_place

    try:
        taken = set(Ledger(default_place()))
    except DampenError:
        return name
    names = (name, *(f"{name}-{i}" for i in range(2, len(taken) + 3)))
    return next(each for each in names if each not in taken)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ParameterError(f"Cannot write {folder}: {error.strerror}.") from None


def _shown(scene: Scene) -> list[str]:
    """The question, its private and its true answer, and bars for every ε."""
    from dampen.releases.cost import Price
    from dampen.releases.rehearsal import EXACTLY, rehearse

    facts = scene.schema
    seen = rehearse(scene.question, scene.source, Price(scene.epsilon), draws=1, schema=facts)
    [private] = seen.answers
    [true] = rehearse(scene.question, scene.source, EXACTLY, draws=1, schema=facts).answers
    errors = {
        epsilon: (
            rehearse(scene.question, scene.source, Price(epsilon), draws=TRIES, schema=facts).error,
            scene.usual(epsilon),
        )
        for epsilon in EPSILONS
    }
    measure = "mean error, less is better" if seen.numeric else "share right, more is better"
    return [
        click.style(scene.words, bold=True),
        click.style(scene.data, dim=True),
        f"  {'true answer':<24} {_text(true)}",
        f"  {f'private, at ε = {scene.epsilon}':<24} {_text(private)}",
        f"  {measure}:",
        *_bars(errors, numeric=seen.numeric),
        "",
    ]


def _text(answer: Any) -> str:
    parts = answer if isinstance(answer, list) else [answer]
    return ", ".join(f"{each:,}" if isinstance(each, int | float) else str(each) for each in parts)


def _bars(errors: dict[str, tuple[float, float]], *, numeric: bool) -> Iterator[str]:
    """One line per ε, one bar per method, all on one scale."""
    values = {
        epsilon: pair if numeric else (1 - pair[0], 1 - pair[1]) for epsilon, pair in errors.items()
    }
    top = max(max(pair) for pair in values.values()) if numeric else 1.0
    yield f"    {'ε':<5}{DAMPEN:<{BAR + 9}}{USUAL}"
    for epsilon, pair in values.items():
        yield f"    {epsilon:<5}{''.join(_bar(value, top) for value in pair)}".rstrip()


def _bar(value: float, top: float) -> str:
    eighths = round(8 * BAR * value / top) if top > 0 else 0
    full, part = divmod(eighths, 8)
    block = "█" * full + ("▏▎▍▌▋▊▉"[part - 1] if part else "")
    number = f"{value:.2f}" if value < 10 else f"{value:,.0f}"
    return f"{block:<{BAR}} {number:<8}"


def _scenes(folder: Path) -> Iterator[Scene]:
    yield _hospitals(folder / "stays.csv")
    yield _people()
    yield _salaries(folder / "salaries.csv")
    yield _diagnoses(folder / "visits.csv")


def _columns(file: Path, *numbers: str) -> dict[str, list[Any]]:
    """A small file in memory: it is asked many times."""
    import csv

    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {
        name: [int(row[name]) if name in numbers else row[name] for row in rows] for name in rows[0]
    }


def _hospitals(file: Path) -> Scene:
    from dampen.questions.groups.question import GroupsQuestion
    from dampen.schema import Schema

    stays = _columns(file, "days")
    groups = ["H1", "H2", "H3"]
    question = GroupsQuestion(value="days", by="hospital", groups=groups)
    return Scene(
        "Which hospital has the longest median stay?",
        "600 made-up stays of 360 patients; a patient with all stays is protected",
        question,
        question.open(stays),
        "0.3",
        lambda epsilon: _usual_medians(stays, groups, epsilon),
        Schema(unit="patient"),
    )


def _usual_medians(stays: dict[str, list[Any]], groups: Sequence[str], epsilon: str) -> float:
    """A median can change by the whole range, so the noise is made for 100 days."""
    from statistics import median

    from dampen import Selection, probabilities, sensitivity

    rows = list(zip(stays["hospital"], stays["days"], strict=True))
    medians = [median(days for name, days in rows if name == group) for group in groups]
    law = probabilities(
        Selection(medians, sensitivity.constant(100)), epsilon=epsilon, mechanism="em"
    )
    return float(1 - law[medians.index(max(medians))])


def _people() -> Scene:
    from dampen.cli.demo_files import friends
    from dampen.questions.nodes import NodesQuestion

    source, target = friends()
    question = NodesQuestion(n=1000, k=5)
    return Scene(
        "Who are the five most influential people?",
        "A made-up network of 1,000 people; each friendship is protected",
        question,
        question.open((source, target)),
        "1",
        _usual_way(question, (source, target)),
    )


def _salaries(file: Path) -> Scene:
    from dampen.questions.percentile import PercentileQuestion

    salaries = _columns(file, "salary")
    question = PercentileQuestion(value="salary", p="quartiles", lower=0, upper=500_000, step=500)
    return Scene(
        "What are the quartiles of the salaries?",
        "300 made-up salaries; each salary is protected",
        question,
        question.open(salaries),
        "1",
        _usual_way(question, salaries),
    )


def _diagnoses(file: Path) -> Scene:
    from dampen.questions.frequency import FrequencyQuestion

    visits = _columns(file)
    question = FrequencyQuestion(
        value="diagnosis", categories=["flu", "cold", "asthma", "fracture", "migraine"]
    )
    return Scene(
        "Which diagnosis is the most frequent?",
        "110 made-up visits; each visit is protected",
        question,
        question.open(visits),
        "0.3",
        _usual_way(question, visits),
    )


def _usual_way(question: Any, data: Any) -> Callable[[str], float]:
    """The same question answered by the exponential mechanism, as it is usually set up."""
    from dampen.releases.cost import Price
    from dampen.releases.rehearsal import rehearse

    usual = replace(question, mechanism="em")
    source = usual.open(data)
    return lambda epsilon: rehearse(usual, source, Price(epsilon), draws=TRIES).error
