"""`dampen-studies`: the paper's data, its evaluation, and the report.

Exit codes: 0 done; 1 something is missing (data, results); 2 a wrong parameter.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from dampen.errors import DampenError, ParameterError
from dampen_studies import datasets, journal, record, runner, studies
from dampen_studies.runner import State
from dampen_studies.study import Study

RESULTS = click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("study-results"),
    show_default=True,
    help="Folder of journals and CSVs.",
)
QUICK = click.option("--quick", is_flag=True, help="The quick version: few runs on little data.")
RECORD = click.option(
    "--record",
    "kept",
    type=click.Path(file_okay=False, path_type=Path),
    default=record.FOLDER,
    help="Folder of committed results.  [default: studies/results]",
)


class Commands(click.Group):
    """Errors of the library become one line."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ParameterError as error:
            raise click.UsageError(str(error)) from None
        except DampenError as error:
            raise click.ClickException(str(error)) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """The studies behind every published number of dampen, and the report of the paper."""


@main.command("list")
@RESULTS
def list_studies(results: Path) -> None:
    """Lists every study, and how far its quick and its full run are."""
    for name in ("paper", "beyond"):
        click.echo(f"{name}:")
        for study in studies.SETS[name]:
            click.echo(f"  {study.name}: {study.title} ({study.figure})")
            for quick in (True, False):
                state = runner.state(study, _folder(results, quick), quick=quick)
                click.echo(f"    {'quick' if quick else 'full':<6} {_said(state, quick)}")


@main.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@QUICK
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True)
@click.option(
    "--skip-missing",
    is_flag=True,
    help="Exit with 0 although data is missing: the report names it.",
)
@RESULTS
def run(names: Sequence[str], quick: bool, workers: int, skip_missing: bool, results: Path) -> None:
    """Computes studies: some by name, `paper`, `beyond` it, `losses`, or all.  Stop it at any time:
    it resumes.

    NAME may be a Python file that defines STUDY, and CLAIMS, which are then judged.
    """
    folder = _folder(results, quick)
    states = runner.run(_chosen(names), folder, quick=quick, workers=workers)
    for state in states:
        click.echo(f"  {state.study.name:<12} {_said(state, quick)}")
    option = " --quick" if quick else ""
    _judge_own([name for name in names if name.endswith(".py")], folder)
    click.echo(f"CSVs are in {folder}; next: dampen-studies report{option} -o report.html")
    missing = sorted({name for state in states for name in state.missing})
    for name in missing:
        click.echo(f"not here: {name}, {datasets.dataset(name).source}", err=True)
    if not skip_missing:
        _require_complete(states, missing)


@main.command()
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), required=True)
@QUICK
@RESULTS
def report(output: Path, quick: bool, results: Path) -> None:
    """Writes one self-contained page; figures for papers go beside the CSVs."""
    from dampen_studies.report import writing

    findings = writing.write(_folder(results, quick), output, quick=quick)
    for outcome, count in Counter(finding.outcome for finding in findings).items():
        click.echo(f"  {count:>3} {outcome}")
    committed = sum(bool(finding.run) for finding in findings)
    if committed:
        click.echo(f"  {committed} of them by the committed full run")
    click.echo(f"{output}")


@main.command()
@RECORD
@RESULTS
def losses(kept: Path, results: Path) -> None:
    """Shows the aim of each question beside its full run, or beside the record without one."""
    from dampen_studies.report import losses as lines

    folder = _folder(results, quick=False)
    found = dict(record.tables(kept))
    for study in studies.LOSSES:
        if runner.state(study, folder, quick=False).complete:
            found[study.name] = journal.read_csv(journal.csv_path(folder, study))
    for line in lines.LOSSES:
        click.echo(f"{line.question}\n  aim: {line.aim}\n  now: {line.measured(found[line.study])}")


@main.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@RECORD
@RESULTS
def keep(names: Sequence[str], kept: Path, results: Path) -> None:
    """Puts full runs into the record, with commit, seeds, versions and time."""
    for study in _chosen(names):
        run = record.keep(study, _folder(results, quick=False), kept)
        click.echo(f"{run.study}: {run.cells} cells, {_time(run.seconds)}, commit {run.commit}")


@main.command()
@click.argument("pages", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@RECORD
def publish(pages: Sequence[Path], kept: Path) -> None:
    """Writes tables and numbers of the record into the marked places of Markdown pages.

    What needs a study that is not in the record stays as it is; then the exit code is 1.
    """
    from dampen_studies import claims
    from dampen_studies.report import tables

    found = record.tables(kept)
    findings = claims.evaluate(found)
    lacking: list[str] = []
    for page in pages:
        published = tables.publish(page.read_text(encoding="utf-8"), found, findings)
        page.write_text(published.text, encoding="utf-8")
        if published.filled:
            click.echo(f"{page}: {published.filled} places written")
        lacking += published.lacking
    if lacking:
        names = ", ".join(dict.fromkeys(lacking))
        raise click.ClickException(
            f"Other places stay as they are: the record lacks {names}. {tables.HOW}"
        )


@main.command()
@click.argument("pages", nargs=-1, type=click.Path(exists=True, path_type=Path))
@RECORD
def check(pages: Sequence[Path], kept: Path) -> None:
    """Compares every published number with the record: README.md and docs/*.md, or PAGES."""
    from dampen_studies import claims
    from dampen_studies.report import tables

    found = record.tables(kept)
    findings = claims.evaluate(found)
    wrong = record.differences(kept)
    numbers = 0
    unrecorded: list[str] = []
    for page in pages or [Path("README.md"), *sorted(Path("docs").glob("*.md"))]:
        compared = tables.compare(page.read_text(encoding="utf-8"), found, findings)
        numbers += compared.numbers
        unrecorded += compared.unrecorded
        wrong += [
            f"{page}, table {each.table}: printed {each.printed!r}, recorded {each.recorded!r}"
            for each in compared.different
        ]
    for line in wrong:
        click.echo(line)
    if unrecorded:
        names = ", ".join(dict.fromkeys(unrecorded))
        click.echo(f"not compared, because there is no record: {names}")
    if older := record.without_run(kept):
        click.echo(f"kept before runs were recorded: {', '.join(older)}")
    click.echo(f"{numbers:,} published numbers compared: {len(wrong)} differences")
    if wrong:
        raise click.ClickException("Write the pages anew with `dampen-studies publish`.")


@main.command()
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), required=True)
@RECORD
def figure(output: Path, kept: Path) -> None:
    """Draws the README's figure from the record: light, dark, and both for phones."""
    from dampen_studies.report import headline

    for path in headline.write(record.tables(kept), output):
        click.echo(f"{path}")


@main.group("datasets")
def data() -> None:
    """The data sets: which, where, and how to get them."""


@data.command("list")
def list_datasets() -> None:
    """Lists the data sets, and whether they are here."""
    click.echo(f"data home: {datasets.home()}")
    for each in datasets.CATALOGUE.values():
        where = "here" if each.present else "fetch" if each.originals else "by hand"
        counts = ", ".join(f"{v:,} {k.replace('_', ' ')}" for k, v in each.counts.items())
        click.echo(f"  {each.name:<8} {where:<8} {each.path:<32} {counts}")
    click.echo("fetch: `dampen-studies datasets fetch NAME`. by hand: put the file at its path.")


@data.command()
@click.argument("names", nargs=-1)
def fetch(names: Sequence[str]) -> None:
    """Downloads and checks data sets; all, if none is named."""
    chosen = [datasets.dataset(name) for name in names] or list(datasets.CATALOGUE.values())
    failed = 0
    for each in chosen:
        try:
            click.echo(f"{each.name}: {datasets.fetch(each.name)}")
        except datasets.DatasetError as error:
            failed += 1
            click.echo(f"{each.name}: {error}", err=True)
    if failed:
        raise click.ClickException(f"{failed} of {len(chosen)} data sets are not here.")


@data.command()
@click.argument("name", required=False)
def path(name: str | None) -> None:
    """Prints the data home, or the place of one data set."""
    click.echo(datasets.home() if name is None else datasets.dataset(name).file())


def _judge_own(files: Sequence[str], folder: Path) -> None:
    """The claims of files, judged by the rows just computed."""
    for file in files:
        study = studies.named(file)
        found = {study.name: journal.read_csv(journal.csv_path(folder, study))}
        for claim in studies.defined(file).get("CLAIMS", ()):
            finding = claim.evaluate(found)
            click.echo(f"  {finding.outcome}: {claim.name}, {claim.where}: {claim.says}")
            click.echo(f"    measured {finding.measured}. {finding.sentence}")


def _folder(results: Path, quick: bool) -> Path:
    return results / ("quick" if quick else "full")


def _chosen(names: Sequence[str]) -> Sequence[Study]:
    if not names:
        return studies.ALL
    return [each for name in names for each in studies.SETS.get(name) or (studies.named(name),)]


def _said(state: State, quick: bool) -> str:
    if state.complete:
        return f"done, {_time(state.seconds)} of one worker"
    progress = f"{state.done} of {state.total} cells" if state.done else "not run"
    about = "" if quick else f" (about {_time(60 * state.study.minutes)})"
    needs = f", needs {', '.join(state.missing)}" if state.missing else ""
    return f"{progress}{about}{needs}"


def _require_complete(states: Sequence[State], missing: Sequence[str]) -> None:
    """A run that could not compute everything it was asked for has failed."""
    short = [state.study.name for state in states if not state.complete]
    if short:
        raise click.ClickException(
            f"Not everything was computed ({', '.join(short)}), because this is not here: "
            f"{', '.join(missing)}. See `dampen-studies datasets list`."
        )


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
