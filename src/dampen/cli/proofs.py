"""`dampen verify`: looks at a problem, not at data."""

import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

import click

from dampen.cli.printing import cell, example, print_json
from dampen.errors import DampenError, ParameterError


@click.command(epilog=example("dampen verify my_problem.py --epsilon 1"))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--epsilon", default="1", show_default=True, help="For the privacy loss.")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON, for machines.")
@click.pass_context
def verify(ctx: click.Context, file: Path, epsilon: str, as_json: bool) -> None:
    """Runs the proof kit on the `problem` and the `universe` that the Python file FILE defines.

    Computes, for every database of the universe and all its neighbours, whether the sensitivity
    function is admissible, the scores have sensitivity 1, and the privacy loss is at most epsilon.
    Exits with 1 if a check fails, and shows its counterexample. FILE is run: trust it.
    """
    from dampen.testing import verify as check

    defined = _run_file(file)
    try:
        verdicts = check(defined["problem"], defined["universe"], epsilon)
    except DampenError:
        raise
    except Exception as error:
        raise ParameterError(f"The problem in {file} failed: {_describe(error)}") from None
    if as_json:
        keys = ("claim", "holds", "scope", "counterexample", "value")
        print_json([{key: getattr(verdict, key) for key in keys} for verdict in verdicts])
    else:
        for verdict in verdicts:
            mark = click.style("holds", fg="green") if verdict else click.style("FAILS", fg="red")
            rest = verdict.scope if verdict else verdict.counterexample
            click.echo(f"{mark}  {cell(verdict.claim)}: {cell(rest)}")
    if not all(verdicts):
        ctx.exit(1)


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
