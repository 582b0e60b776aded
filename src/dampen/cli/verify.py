"""`dampen verify`: the proof kit on a problem in a Python file."""

import runpy
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dampen.cli.options import json_option
from dampen.cli.output import cell, examples, print_json, write
from dampen.errors import DampenError, ParameterError

if TYPE_CHECKING:
    from dampen.testing import Verdict

__all__ = ["verify"]


@click.command(epilog=examples("dampen verify my_problem.py --epsilon 1"))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--epsilon", default="1", show_default=True, help="For the privacy loss.")
@json_option
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
    except (Exception, SystemExit) as error:
        raise ParameterError(f"The problem in {file} failed: {_describe(error)}") from None
    if as_json:
        keys = ("claim", "outcome", "scope", "counterexample", "value", "remark")
        print_json([{key: getattr(verdict, key) for key in keys} for verdict in verdicts])
    else:
        write("\n".join(map(_lines, verdicts)))
    if any(verdict.fails for verdict in verdicts):
        ctx.exit(1)


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


def _run_file(file: Path) -> dict[str, Any]:
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
    for name in ("problem", "universe"):
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
