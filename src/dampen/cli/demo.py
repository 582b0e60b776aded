"""Commands that need no data of yours, and the made-up files of the documentation.

- `dampen demo`: the README's story on made-up data, and commands to try next.
- `dampen completion`: the script that makes a shell complete commands, options and values.
- `dampen example`: the paper's running example, computed from the definition.
- `write_files`: the files of the documentation's examples: small, made up, the same every time.
- `write_service`: a service on these files: their facts, and budgets.
"""

import gzip
import json
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from click.shell_completion import get_completion_class

from dampen.cli.output import examples, table_text, write
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import FloatArray, IntArray
from dampen.errors import DampenError, ParameterError
from dampen.ledger import Ledger

if TYPE_CHECKING:
    from dampen.releases.question import Question
    from dampen.schema import Schema

__all__ = ["completion", "demo", "example", "next_commands", "write_service"]

FOLDER = Path("dampen-demo")
EPSILONS = ("0.1", "0.3", "1")
TRIES = 40
BAR = 20
WIDTH = 80
DAMPEN = "dampen"
USUAL = "exponential mechanism"
HOSPITALS = ("H1", "H2", "H3")
STORY: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "Which hospital has the longest median stay?",
        "top_groups",
        {"value": "days", "by": "hospital", "epsilon": 0.3},
    ),
    (
        "In which hospitals is the median stay 10 days or more?",
        "groups_above",
        {"value": "days", "by": "hospital", "threshold": 10, "epsilon": 0.3},
    ),
    (
        "How many patients did each hospital treat?",
        "count",
        {"by": "hospital", "epsilon": 0.5},
    ),
    (
        "What is the median stay, in days?",
        "percentile",
        {"value": "days", "p": 50, "epsilon": 1},
    ),
)
"""Each question in words, the method of the data set, and its arguments."""


@dataclass(frozen=True)
class Scene:
    """One question about made-up data, and how the exponential mechanism would answer it.

    Attributes:
        words: the question.
        data: a sentence about the data.
        question: the declared question.
        source: the data, opened.
        usual: the error of the exponential mechanism at an ε.
        schema: the public facts that say whom ε protects; None for single rows and edges.
    """

    words: str
    data: str
    question: "Question"
    source: Any
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
    help="Directory for the example files.",
)
@click.option(
    "--files",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIRECTORY",
    help="Write only the example files of the documentation, to this directory.",
)
def demo(output: Path, files: Path | None) -> None:
    """Asks questions of made-up hospital stays and shows how good the answers are.

    Each private answer stands above the true one. Bars compare dampen with the exponential
    mechanism, the usual method. The demo seeds its random numbers, so that you see the same
    answers every time; real answers use the random numbers of the operating system.
    """
    if files is not None:
        write(f"Wrote {', '.join(write_files(files))}.")
        return
    started = time.monotonic()
    _make(output)
    write_files(output)
    write("\n".join(_story(output / "stays.csv")))
    write("\n".join(_comparison(output)))
    seconds = time.monotonic() - started
    write(f"Done in {seconds:.0f} s. The example files are in {output}/.\n")
    write("Next, pay for answers from a budget (--trial marks it as a test):\n")
    for command in next_commands(output):
        write(textwrap.indent(" \\\n    ".join(command), "  "))


def _story(file: Path) -> Iterator[str]:
    """The README's example: columns and ε are declared, and nothing else."""
    from dampen.datasets import dataset
    from dampen.releases.answer import EXACTLY, rehearse

    yield click.style("Hospital stays: 600 made-up stays of 360 patients", bold=True)
    yield "A patient has several stays, and ε protects the patient with all of them."
    yield "ε is the privacy parameter: smaller is more private.\n"
    yield "  >>> import dampen"
    yield "  >>> stays = dampen.dataset("
    yield f"  ...     {_literal(str(file))},"
    yield '  ...     unit="patient",'
    yield f'  ...     columns={{"hospital": [{", ".join(map(_literal, HOSPITALS))}]}},'
    yield "  ... )\n"
    stays = dataset(str(file), unit="patient", columns={"hospital": HOSPITALS})
    for words, method, stated in STORY:
        release = stays.ask(method, entropy=InsecureEntropy(5, allow_release=True), **stated)
        asked = {name: each for name, each in stated.items() if name != "epsilon"}
        question = stays.question(method, **asked)
        source = question.open(stays.data)
        [true] = rehearse(question, source, EXACTLY, draws=1, schema=stays.schema).answers
        yield click.style(words, bold=True)
        yield f"  >>> stays.{_call(method, stated)}"
        yield from _fact("answer", _text(release.answer))
        yield from _fact("accuracy", release.accuracy.sentence)
        yield from _fact("truth", _text(true))
        yield ""


def _call(method: str, stated: dict[str, Any]) -> str:
    """A call as you would type it: the column of values comes first and has no name."""
    given = (
        _literal(each) if name == "value" else f"{name}={_literal(each)}"
        for name, each in stated.items()
    )
    return f"{method}({', '.join(given)})"


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _fact(name: str, text: str) -> list[str]:
    start = f"  {name:<10}"
    return textwrap.wrap(text, WIDTH, initial_indent=start, subsequent_indent=" " * len(start))


def _comparison(folder: Path) -> Iterator[str]:
    """Bars for dampen and the exponential mechanism."""
    yield click.style("How good are the answers, compared with the usual method?", bold=True)
    yield f"Each bar is the average of {TRIES} answers, or computed exactly.\n"
    for scene in _scenes(folder):
        yield from _compared(scene)


def next_commands(folder: Path) -> list[list[str]]:
    """Commands, each in lines, that work after this one as they are printed."""
    program = _program()
    budget = _free_name("demo")
    file = folder / "stays.csv"
    by = f"--by hospital --groups {','.join(HOSPITALS)}"
    paid = f"--unit patient --epsilon 0.3 --budget {budget}"
    return [
        [
            f"{program} budget create {budget} --epsilon 1 --trial",
            "--neighbours add-remove-unit --unit patient",
        ],
        [f"{program} top-groups {file} --value days", by, paid],
        [f"{program} count {file}", by, paid],
        [f"{program} report {budget}"],
    ]


def _program() -> str:
    """The command that runs this program; a path if `dampen` alone would not find it."""
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


def _compared(scene: Scene) -> list[str]:
    """The question and bars for every ε."""
    from dampen.releases.answer import rehearse
    from dampen.releases.cost import Price

    seen = {
        epsilon: rehearse(
            scene.question, scene.source, Price(epsilon), draws=TRIES, schema=scene.schema
        )
        for epsilon in EPSILONS
    }
    numeric = seen[EPSILONS[0]].numeric
    errors = {epsilon: (each.error, scene.usual(epsilon)) for epsilon, each in seen.items()}
    measure = "Mean error, less is better" if numeric else "Share right, more is better"
    return [
        click.style(scene.words, bold=True),
        click.style(scene.data, dim=True),
        f"  {measure}:",
        *_bars(errors, numeric=numeric),
        "",
    ]


def _text(answer: Any) -> str:
    if isinstance(answer, dict):
        return ", ".join(f"{name} {_text(each)}" for name, each in answer.items())
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


def _columns(file: Path, *numbers: str) -> dict[str, list[Any]]:
    """A small file in memory, because many answers are drawn from it."""
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
    question = GroupsQuestion(value="days", by="hospital", groups=list(HOSPITALS))
    return Scene(
        STORY[0][0],
        "The stays above. ε protects a patient with all stays.",
        question,
        question.open(stays),
        lambda epsilon: _usual_medians(stays, HOSPITALS, epsilon),
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
    from dampen.questions.nodes import NodesQuestion

    source, target = friends()
    question = NodesQuestion(n=1000, k=5)
    return Scene(
        "Who are the five most influential people?",
        "A made-up network of 1,000 people. ε protects each friendship.",
        question,
        question.open((source, target)),
        _usual_way(question, (source, target)),
    )


def _salaries(file: Path) -> Scene:
    from dampen.questions.percentile import PercentileQuestion

    salaries = _columns(file, "salary")
    question = PercentileQuestion(value="salary", p="quartiles", lower=0, upper=500_000, step=500)
    return Scene(
        "What are the quartiles of the salaries?",
        "300 made-up salaries. ε protects each salary.",
        question,
        question.open(salaries),
        _usual_way(question, salaries),
    )


def _usual_way(question: Any, data: Any) -> Callable[[str], float]:
    """The same question answered by the exponential mechanism, as it is usually set up."""
    from dampen.releases.answer import rehearse
    from dampen.releases.cost import Price

    usual = replace(question, mechanism="em")
    source = usual.open(data)
    return lambda epsilon: rehearse(usual, source, Price(epsilon), draws=TRIES).error


@click.command(
    epilog=examples(
        "dampen completion bash > ~/.local/share/bash-completion/completions/dampen",
        "dampen completion fish > ~/.config/fish/completions/dampen.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Prints a completion script for SHELL. For zsh, save it as _dampen in a folder of $fpath."""
    from dampen.cli.main import group

    kind = get_completion_class(shell)
    if kind is None:
        raise click.ClickException(f"click knows no completion for {shell}.")
    write(kind(group(), {}, "dampen", "_DAMPEN_COMPLETE").source())


NODES = ("a", "b", "v0", "v1", "v2", "v3", "v4", "v5")
EDGES = "a-b a-v0 a-v1 a-v2 a-v3 b-v2 b-v3 b-v4 b-v5 v0-v1 v4-v5"


@click.command(epilog=examples("dampen example"))
def example() -> None:
    """The running example of the paper: which of eight nodes has the largest betweenness?

    Prints the chance of every node at epsilon = 2 (Examples 5 and 6 of the paper).
    """
    import numpy as np

    from dampen import probabilities
    from dampen.core import sensitivity
    from dampen.core.scores import Dampened
    from dampen.core.selection import Selection

    u = _betweenness()
    s = Selection(u, sensitivity.table([np.full(8, 3.0), np.full(8, 5.0)]), bound=7.5)
    scores = Dampened().of(s)
    names = ("em", "pf", "ld", "sld", "ld-pf")
    chances = [probabilities(s, epsilon=2, mechanism=name).round(2).tolist() for name in names]
    rows = zip(NODES, u, (scores.values / float(scores.unit)).tolist(), *chances, strict=True)
    columns = ["node", "betweenness", "dampened", *[f"P[{name}]" for name in names]]
    remark = "This sensitivity is the same for all nodes, so SLD is the exponential mechanism."
    write("\n".join([f"edges: {EDGES}", table_text(columns, rows), remark]))


def _betweenness() -> list[float]:
    """Egocentric: one term per pair of neighbours that are not adjacent (Definition 19)."""
    near: dict[str, set[str]] = {node: set() for node in NODES}
    for edge in EDGES.split():
        one, other = edge.split("-")
        near[one].add(other)
        near[other].add(one)
    return [
        sum(
            1 / (1 + len(near[c] & near[u] & near[v]))
            for u, v in combinations(sorted(near[c]), 2)
            if v not in near[u]
        )
        for c in NODES
    ]


SCHEMA = """[[data]]
name = "census"
files = ["census.csv"]
budgets = ["census"]
rows = 500

[data.columns]
age = { lower = 17, upper = 90, bins = 8 }
workclass = ["Private", "Government", "?"]
income = ["<=50K", ">50K"]
"""

PROBLEM = """from dampen.questions.frequency import MostFrequent
from dampen.testing import Universe
from dampen.workbench import AddRemove

problem = MostFrequent(["a", "b"])
universe = Universe.add_remove_row(["a", "b"], max_rows=3)
neighbours = AddRemove(["a", "b"])  # for a search beyond the universe
starts = [(), ("a", "b") * 5]
sample = ["a"] * 12 + ["b"] * 9  # public data of the same kind
"""


def write_files(directory: Path) -> list[str]:
    """Writes the files and returns their names."""
    entropy = InsecureEntropy(0)
    texts = {
        "salaries.csv": _salaries_file(entropy),
        "visits.csv": "diagnosis,day\n" + "flu,1\n" * 90 + "cold,2\n" * 20,
        "census.csv": _census(entropy),
        "census.toml": SCHEMA,
        "new.csv": "age,workclass\n25,Private\n80,Government\n60,?\n",
        "my_problem.py": PROBLEM,
        "stays.csv": _stays(InsecureEntropy(1)),
    }
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
    edges = _edges(entropy).encode()
    (directory / "follows.csv.gz").write_bytes(gzip.compress(edges, mtime=0))
    return [*texts, "follows.csv.gz"]


def _uniform(entropy: InsecureEntropy, *shape: int) -> FloatArray:
    words = np.frombuffer(entropy.read(4 * int(np.prod(shape))), dtype=np.uint32)
    return words.reshape(shape).astype(np.float64) * 2.0**-32


def _salaries_file(entropy: InsecureEntropy) -> str:
    # The sum of twelve uniform numbers is nearly normal, so salaries are nearly lognormal.
    salaries = np.exp(10.8 + 0.5 * (_uniform(entropy, 300, 12).sum(axis=1) - 6))
    rows = (f"E{i},{salary:.0f}\n" for i, salary in enumerate(salaries))
    return "employee,salary\n" + "".join(rows)


def _stays(entropy: InsecureEntropy) -> str:
    """Three hospitals with 200 stays each, of 120 patients; those in H2 are longer."""
    days = -np.log(1 - _uniform(entropy, 3, 200)) * np.array([[6.0], [25.0], [7.0]])
    rows = (
        f"H{h + 1},{day:.0f},P{120 * h + i % 120}\n"
        for h in range(3)
        for i, day in enumerate(days[h])
    )
    return "hospital,days,patient\n" + "".join(rows)


def _edges(entropy: InsecureEntropy) -> str:
    """Forty people; number 0 knows everybody."""
    ends = (_uniform(entropy, 200, 2) * 40).astype(int).tolist() + [[0, i] for i in range(1, 40)]
    return "source,target\n" + "".join(f"{a},{b}\n" for a, b in ends if a != b)


def friends() -> tuple[IntArray, IntArray]:
    """A network of 1,000 people who befriend those that have many friends."""
    entropy = InsecureEntropy(2)
    source: list[int] = []
    target: list[int] = []
    ends = [0]
    for person, draws in enumerate(_uniform(entropy, 999, 4), start=1):
        known = {ends[int(draw * len(ends))] for draw in draws}
        source += [person] * len(known)
        target += sorted(known)
        ends += [*known, person]
    return np.array(source), np.array(target)


def _census(entropy: InsecureEntropy) -> str:
    ages = (17 + _uniform(entropy, 400) * 73).astype(int)
    work = (_uniform(entropy, 400) * 3).astype(int)
    rows = (
        f"{age},{('Private', 'Government', '?')[w]},{'>50K' if age > 50 else '<=50K'}\n"
        for age, w in zip(ages, work, strict=True)
    )
    return "age,workclass,income\n" + "".join(rows)


CONFIGURATION = """ledger = "ledger.sqlite3"

[[data]]
name = "salaries"
budgets = ["salaries"]
files = ["salaries.csv"]
title = "Salaries of a company"
units-public = true
rows = 300

[data.columns]
salary = { lower = 0, upper = 500000, step = 1000 }
employee = { names = true }

[[data]]
name = "visits"
budgets = ["visits"]
files = ["visits.csv"]
title = "Diagnoses in a practice"
rows = 200

[data.columns]
diagnosis = ["flu", "cold"]
day = { lower = 1, upper = 31, step = 1 }

[[data]]
name = "stays"
budgets = ["stays"]
files = ["stays.csv"]
title = "Days in three hospitals"
rows = 1000
sample = "stays-sample.csv"

[data.columns]
hospital = ["H1", "H2", "H3"]
days = { lower = 0, upper = 100, step = 1 }

[[data]]
name = "census"
budgets = ["census"]
files = ["census.csv"]
title = "Who earns more than 50,000"
rows = 500

[data.columns]
age = { lower = 17, upper = 90, bins = 8 }
workclass = ["Private", "Government", "?"]
income = ["<=50K", ">50K"]

[[data]]
name = "follows"
budgets = ["follows"]
files = ["follows.csv.gz"]
title = "Who follows whom, forty people"

[data.graph]
nodes = 40
"""

SAMPLE = "hospital,days\n" + "".join(
    f"H{1 + i % 3},{7 * i % 23 + 6 * (i % 3 == 1)}\n" for i in range(300)
)
"""Public: what somebody thinks that such data looks like."""

RELATIONS = {
    "salaries": "replace-one",
    "visits": "add-remove-row",
    "stays": "add-remove-row",
    "census": "add-remove-row",
    "follows": "add-remove-edge",
}


def write_service(directory: Path) -> Path:
    """Writes files, budgets and a `dampen.toml`, and returns the latter."""
    write_files(directory)
    (directory / "stays-sample.csv").write_text(SAMPLE, encoding="utf-8")
    ledger = Ledger(directory / "ledger.sqlite3")
    for name, neighbours in RELATIONS.items():
        ledger.create(
            name, epsilon="10", neighbours=neighbours, dataset=name, largest="5", trial=True
        )
    configuration = directory / "dampen.toml"
    configuration.write_text(CONFIGURATION, encoding="utf-8")
    return configuration
