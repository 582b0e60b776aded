"""`dampen verify` and `dampen example`: look at a problem, not at data."""

import runpy
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dampen.cli.printing import cell, example, print_json, print_table
from dampen.errors import DampenError, ParameterError

if TYPE_CHECKING:
    from dampen.testing import Verdict


@click.command(epilog=example("dampen verify my_problem.py --epsilon 1"))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--epsilon", default="1", show_default=True, help="For the privacy loss.")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON, for machines.")
@click.pass_context
def verify(ctx: click.Context, file: Path, epsilon: str, as_json: bool) -> None:
    """Runs the proof kit on the `problem` and the `universe` that the Python file FILE defines.

    Computes, for every database of the universe and all its neighbours, whether the sensitivity
    function is admissible, the scores have sensitivity 1, and the privacy loss is at most epsilon.
    Says what the universe was too weak to show, and what was not checked at all. Exits with 1 if a
    check fails, and shows its counterexample. FILE is run: trust it.
    """
    from dampen.testing import verify as check

    defined = _run_file(file)
    try:
        verdicts = check(defined["problem"], defined["universe"], epsilon=epsilon)
    except DampenError:
        raise
    except Exception as error:
        raise ParameterError(f"The problem in {file} failed: {_describe(error)}") from None
    if as_json:
        keys = ("claim", "outcome", "scope", "counterexample", "value", "remark")
        print_json([{key: getattr(verdict, key) for key in keys} for verdict in verdicts])
    else:
        for verdict in verdicts:
            _print_verdict(verdict)
    if any(verdict.fails for verdict in verdicts):
        ctx.exit(1)


@click.command("example", epilog=example("dampen example"))
def example_command() -> None:
    """The running example of the paper: which of eight nodes has the largest betweenness?

    Prints the chance of every node at epsilon = 2 (Examples 5 and 6 of the paper).
    """
    import numpy as np

    from dampen import probabilities, sensitivity
    from dampen.paper.examples import NODES, USUAL, betweenness, graph
    from dampen.scores import Dampened
    from dampen.selection import Selection

    u = betweenness(graph(USUAL))
    s = Selection(u, sensitivity.table([np.full(8, 3.0), np.full(8, 5.0)]), bound=7.5)
    scores = Dampened().of(s)
    names = ("em", "pf", "ld", "sld", "ld-pf")
    chances = [probabilities(s, epsilon=2, mechanism=name).round(2).tolist() for name in names]
    rows = zip(
        NODES, u.tolist(), (scores.values / float(scores.unit)).tolist(), *chances, strict=True
    )
    click.echo(f"edges: {USUAL}")
    print_table(["node", "betweenness", "dampened", *[f"P[{name}]" for name in names]], rows)
    click.echo("This sensitivity is the same for all nodes, so SLD is the exponential mechanism.")


def _print_verdict(verdict: "Verdict") -> None:
    word, colour, rest = {
        "holds": ("holds", "green", verdict.scope),
        "fails": ("FAILS", "red", verdict.counterexample),
        "not checked": ("not checked", "yellow", verdict.remark),
    }[verdict.outcome]
    click.echo(f"{click.style(word, fg=colour)}  {cell(verdict.claim)}: {cell(rest)}")
    if verdict and verdict.remark:
        click.echo(f"       {click.style('but', fg='yellow')} {cell(verdict.remark)}")


def _run_file(file: Path) -> dict[str, Any]:
    try:
        file.open().close()
    except OSError as error:
        raise ParameterError(f"Cannot read {file}: {error.strerror}.") from None
    # A problem may import modules that lie beside it, as a script may.
    sys.path.insert(0, str(file.parent.absolute()))
    try:
        defined = runpy.run_path(str(file))
    except Exception as error:
        raise ParameterError(f"{file} cannot be run: {_describe(error)}") from None
    for name in ("problem", "universe"):
        if name not in defined:
            raise ParameterError(f"Expected {file} to define {name!r}.")
    return defined


def _describe(error: Exception) -> str:
    """The error of a user's own code: its type, message and last line."""
    frames = traceback.extract_tb(error.__traceback__)
    line = f" (line {frames[-1].lineno} of {Path(frames[-1].filename).name})" if frames else ""
    return f"{type(error).__name__}: {error}{line}"
