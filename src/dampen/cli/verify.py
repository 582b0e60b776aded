"""`dampen verify` and `dampen study`: a problem of your own in a Python file."""

import runpy
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dampen.cli.options import json_option
from dampen.cli.output import cell, examples, print_json, write
from dampen.epsilon import exact
from dampen.errors import DampenError, ParameterError

if TYPE_CHECKING:
    from dampen.core.mechanisms import Mechanism
    from dampen.testing import Verdict

__all__ = ["study", "verify"]


@click.command(
    epilog=examples(
        "dampen verify my_problem.py --epsilon 1",
        "dampen verify my_problem.py --mechanism ld-shifted -k 2",
        "dampen verify my_problem.py --mechanism sld --direction down",
    )
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--epsilon",
    default="1",
    show_default=True,
    help="Epsilon for which the privacy loss is computed.",
)
@click.option(
    "--mechanism",
    "mechanisms",
    multiple=True,
    metavar="NAME",
    help="Mechanism whose loss is computed; may be repeated. [default: em, pf, ld, sld, ld-pf, "
    "sld-pf]",
)
@click.option("-k", type=click.IntRange(1), default=1, show_default=True, help="Answers.")
@click.option(
    "--direction",
    type=click.Choice(["up", "down"]),
    default="up",
    show_default=True,
    help="Direction in which sld and sld-pf shift: +infinity or -infinity.",
)
@json_option
@click.pass_context
def verify(
    ctx: click.Context,
    *,
    file: Path,
    epsilon: str,
    mechanisms: tuple[str, ...],
    k: int,
    direction: str,
    as_json: bool,
) -> None:
    """Runs the proof kit on the `problem` and the `universe` that the Python file FILE defines.

    Computes, for every database of the universe and all its neighbours, whether the sensitivity
    function is admissible, the scores have sensitivity 1, and the privacy loss is at most epsilon.
    Reports what the universe is too weak to show, and what was not checked. Exits with 1 if a
    check fails, and shows its counterexample. FILE is run as a program, so trust it.
    """
    from dampen.testing import verify as check

    chosen = _directed(mechanisms or DEFAULTS, direction)
    defined = run_file(file, "problem", "universe")
    with failing(file):
        verdicts = check(
            defined["problem"], defined["universe"], epsilon=epsilon, mechanisms=chosen, k=k
        )
    if as_json:
        print_json([_facts(verdict) for verdict in verdicts])
    else:
        write("\n".join(map(_lines, verdicts)))
    if any(verdict.fails for verdict in verdicts):
        ctx.exit(1)


DEFAULTS = ("em", "pf", "ld", "sld", "ld-pf", "sld-pf")


def _directed(names: Iterable[str], direction: str) -> "list[Mechanism]":
    """The named mechanisms; those that shift to infinity, in the stated direction."""
    from dampen.core.mechanisms import named
    from dampen.core.scores import Shifted

    found = [named(name) for name in names]
    if direction == "up":
        return found
    return [
        replace(each, name=f"{each.name}-down", score=replace(each.score, towards=-1))
        if isinstance(each.score, Shifted)
        else each
        for each in found
    ]


@click.command(
    epilog=examples(
        "dampen study my_problem.py", "dampen study my_problem.py --epsilon 0.1,1 --out study"
    )
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--epsilon",
    default="0.1,0.3,1,2",
    show_default=True,
    metavar="E,E,...",
    help="Values of epsilon to compare.",
)
@click.option(
    "--pairs",
    type=click.IntRange(1),
    default=20_000,
    show_default=True,
    help="Pairs of neighbours that the search for a counterexample looks at.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Where to write study.csv, study.tex, advice.txt and study.svg.",
)
@json_option
@click.pass_context
def study(
    ctx: click.Context, *, file: Path, epsilon: str, pairs: int, out: Path | None, as_json: bool
) -> None:
    """Checks the problem that the Python file FILE defines, and compares all mechanisms on it.

    FILE defines `problem` and any of these: `universe`, small databases to enumerate;
    `neighbours`, a function that gives all neighbours of a database, with `starts`, a list of
    databases from which a guided search looks for a counterexample; `sample`, PUBLIC data of the
    same kind as yours, for accuracy and advice. Exits with 1 if a check fails. FILE is run as a
    program, so trust it.
    """
    from dampen import workbench

    epsilons = [exact(part) for part in epsilon.split(",")]
    defined = run_file(file, "problem")
    problem = defined["problem"]
    told: dict[str, Any] = {}
    sound = True
    with failing(file):
        if "universe" in defined or {"neighbours", "starts"} <= defined.keys():
            found = workbench.check(
                problem,
                universe=defined.get("universe"),
                neighbours=defined.get("neighbours"),
                starts=defined.get("starts", ()),
                pairs=pairs,
            )
            sound = found.sound
            told |= {"checks": [_facts(each) for each in found.verdicts], "shape": found.shape}
            if not as_json:
                write("\n".join([*map(_lines, found.verdicts), *map(cell, found.shape)]))
        if "sample" in defined and sound:
            made = workbench.study(problem, defined["sample"], epsilons=epsilons)
            told |= {"errors": made.errors, "epsilons": epsilon, "advice": made.advice}
            written = [] if out is None else made.save(out)
            if not as_json:
                write("\n".join(["", str(made), *map(str, written)]))
    if not told:
        raise ParameterError(
            f"Expected {file} to define universe, or neighbours and starts, or sample."
        )
    if as_json:
        print_json(told)
    if not sound:
        ctx.exit(1)


def _facts(verdict: "Verdict") -> dict[str, Any]:
    keys = ("claim", "outcome", "scope", "counterexample", "value", "remark")
    return {key: getattr(verdict, key) for key in keys}


@contextmanager
def failing(file: Path) -> Iterator[None]:
    """Errors of a user's own problem in one line."""
    try:
        yield
    except DampenError:
        raise
    except (Exception, SystemExit) as error:
        raise ParameterError(f"The problem in {file} failed: {_describe(error)}") from None


def _lines(verdict: "Verdict") -> str:
    word, colour, rest = {
        "holds": ("holds", "green", verdict.scope),
        "fails": ("FAILS", "red", verdict.counterexample),
        "not checked": ("not checked", "yellow", verdict.remark),
    }[verdict.outcome]
    line = f"{click.style(word, fg=colour)}  {cell(verdict.claim)}: {cell(rest)}"
    if verdict and verdict.remark:
        return f"{line}\n       {click.style('but', fg='yellow')} {cell(verdict.remark)}"
    return line


def run_file(file: Path, *needed: str) -> dict[str, Any]:
    """What a Python file defines.

    Raises:
        ParameterError: if it cannot be run, or does not define what is needed.
    """
    try:
        file.open().close()
    except OSError as error:
        raise ParameterError(f"Cannot read {file}: {error.strerror}.") from None
    # A problem may import modules that lie beside it, as a script may.
    sys.path.insert(0, str(file.parent.absolute()))
    try:
        defined = runpy.run_path(str(file))
    except (Exception, SystemExit) as error:
        raise ParameterError(f"{file} cannot be run: {_describe(error)}") from None
    for name in needed:
        if name not in defined:
            raise ParameterError(f"Expected {file} to define {name!r}.")
    return defined


def _describe(error: BaseException) -> str:
    """The error of a user's own code: its type, message and last line.

    A file that exits has proved nothing, whatever code it exits with.
    """
    frames = traceback.extract_tb(error.__traceback__)
    line = f" (line {frames[-1].lineno} of {Path(frames[-1].filename).name})" if frames else ""
    return f"{type(error).__name__}: {error}{line}"
