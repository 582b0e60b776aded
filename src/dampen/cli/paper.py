"""`dampen datasets` and `dampen paper`: the paper's data, and its evaluation."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dampen.paper.runner import State
    from dampen.paper.study import Study

_RESULTS = click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("paper-results"),
    show_default=True,
    help="Folder of journals and CSVs.",
)


@click.group()
def datasets() -> None:
    """The data sets of the paper: which, where, and how to get them."""


@datasets.command("list")
def list_datasets() -> None:
    """Lists the data sets, and whether they are here."""
    from dampen.datasets import CATALOGUE, home

    click.echo(f"data home: {home()}")
    for each in CATALOGUE.values():
        where = "here" if each.present else "fetch" if each.originals else "by hand"
        counts = ", ".join(f"{v:,} {k.replace('_', ' ')}" for k, v in each.counts.items())
        click.echo(f"  {each.name:<8} {where:<8} {each.path:<32} {counts}")
    click.echo("fetch: `dampen datasets fetch NAME`. by hand: put the file at its path.")


@datasets.command()
@click.argument("names", nargs=-1)
def fetch(names: Sequence[str]) -> None:
    """Downloads and checks data sets; all, if none is named."""
    _require("pooch")
    from dampen.datasets import CATALOGUE, DatasetError, dataset
    from dampen.datasets import fetch as fetch_one

    chosen = [dataset(name) for name in names] or list(CATALOGUE.values())
    failed = 0
    for each in chosen:
        try:
            click.echo(f"{each.name}: {fetch_one(each.name)}")
        except DatasetError as error:
            failed += 1
            click.echo(f"{each.name}: {error}", err=True)
    if failed:
        raise click.ClickException(f"{failed} of {len(chosen)} data sets are not here.")


@datasets.command()
@click.argument("name", required=False)
def path(name: str | None) -> None:
    """Prints the data home, or the place of one data set."""
    from dampen.datasets import dataset, home

    click.echo(home() if name is None else dataset(name).file())


@click.group()
def paper() -> None:
    """The evaluation of the paper: run it, look at it."""


@paper.command("list")
@click.option("--quick", is_flag=True, help="The quick version, on bundled data.")
@_RESULTS
def list_studies(quick: bool, results: Path) -> None:
    """Lists every figure and table with its state and run time."""
    from dampen.paper import runner, studies

    for study in studies.ALL:
        state = runner.state(study, _folder(results, quick), quick=quick)
        click.echo(
            f"  {study.name:<12} {study.figure:<23} {study.title:<52} {_state(state, quick)}"
        )


@paper.command()
@click.argument("names", nargs=-1, metavar="[ID]...")
@click.option("--quick", is_flag=True, help="Small bundled data; under a minute.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True)
@_RESULTS
def run(names: Sequence[str], quick: bool, workers: int, results: Path) -> None:
    """Computes studies, all if none is named.  Stop it at any time: it resumes."""
    _require("duckdb")
    from dampen.paper import runner

    folder = _folder(results, quick)
    states = runner.run(_chosen(names), folder, quick=quick, workers=workers)
    for state in states:
        click.echo(f"  {state.study.name:<12} {_state(state, quick)}")
    missing = sorted({name for state in states for name in state.missing})
    if missing:
        click.echo(f"Left out: {', '.join(missing)}. Get them with `dampen datasets fetch`.")
    option = " --quick" if quick else ""
    click.echo(f"CSVs are in {folder}; next: dampen paper report{option} -o report.html")


@paper.command()
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), required=True)
@click.option("--quick", is_flag=True, help="Report the quick run.")
@click.option(
    "--summary",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the claims as a Markdown table, into the marked place of this file.",
)
@_RESULTS
def report(output: Path, quick: bool, summary: Path | None, results: Path) -> None:
    """Writes one self-contained page; figures for papers go beside the CSVs."""
    _require("matplotlib")
    from dampen.paper import report as writer

    folder = _folder(results, quick)
    if not writer.load(folder):
        raise click.ClickException(f"Nothing in {folder} yet. Start with `dampen paper run`.")
    findings = writer.write(folder, output, quick=quick)
    if summary is not None:
        writer.write_summary(summary, findings)
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.verdict] = counts.get(finding.verdict, 0) + 1
    for verdict, count in counts.items():
        click.echo(f"  {count:>3} {verdict}")
    click.echo(f"{output}")


def _folder(results: Path, quick: bool) -> Path:
    return results / ("quick" if quick else "full")


def _chosen(names: Sequence[str]) -> "Sequence[Study]":
    from dampen.paper import studies

    return [studies.named(name) for name in names] if names else studies.ALL


def _state(state: "State", quick: bool) -> str:
    if state.complete:
        return f"done, {_time(state.seconds)} of one worker"
    progress = f"{state.done} of {state.total} cells" if state.done else "not run"
    about = "" if quick else f" (about {_time(60 * state.study.minutes)})"
    needs = f", needs {', '.join(state.missing)}" if state.missing else ""
    return f"{progress}{about}{needs}"


def _require(*packages: str) -> None:
    """The studies need more than dampen itself does."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise click.ClickException(f"This needs {', '.join(missing)}: pip install 'dampen[paper]'.")


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
