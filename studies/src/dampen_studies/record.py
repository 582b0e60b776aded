"""The record: full runs that are committed, each with commit, seeds, versions and time.

`studies/results/NAME.csv` holds the rows of one study, `studies/results/runs.csv` one line for each
of them.  What the documentation publishes is made from these files and from nothing else.
"""

import csv
import hashlib
import io
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from dampen.errors import DampenError
from dampen_studies import journal, studies
from dampen_studies.study import Rows, Study

FOLDER = Path(__file__).parents[2] / "results"
"""Of a checkout; an installed copy has no record."""


class NotComplete(DampenError):
    """A study cannot be kept before all its cells are finished."""


@dataclass(frozen=True, slots=True)
class Run:
    """Where the rows of one committed CSV come from.

    Attributes:
        study: its name.
        commit: of the code that computed the cells; several, if it changed on the way.
        first: when the first cell was finished, UTC.
        last: when the last one was.
        seconds: of processor time, all cells together.
        cells: how many there are.
        seeds: digest of the keys of all cells.  The seed of a cell is the beginning of the SHA-256
            of its key, so that equal digests mean equal cells and equal seeds.
        versions: of Python and the packages that can change a number.
        sha256: of the CSV.
    """

    study: str
    commit: str
    first: str
    last: str
    seconds: float
    cells: int
    seeds: str
    versions: str
    sha256: str


def keep(study: Study, folder: Path, target: Path = FOLDER) -> Run:
    """Copies the full run of a study into the record.

    Raises:
        NotComplete: if cells are missing; says how many.
    """
    finished = journal.read_journal(folder, study)
    keys = [study.key(cell) for cell in study.cells(False)]
    done = [finished[key] for key in keys if key in finished]
    if len(done) < len(keys):
        raise NotComplete(
            f"{study.name} has {len(done)} of {len(keys)} cells. "
            f"Run `dampen-studies run {study.name}` first."
        )
    times = sorted(result.made.time for result in done)
    run = Run(
        study=study.name,
        commit=" ".join(dict.fromkeys(result.made.commit for result in done)),
        first=times[0],
        last=times[-1],
        seconds=round(sum(result.seconds for result in done), 1),
        cells=len(keys),
        seeds=seeds(study),
        versions="; ".join(dict.fromkeys(result.made.versions for result in done)),
        sha256=_digest(journal.csv_path(folder, study)),
    )
    target.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(journal.csv_path(folder, study), journal.csv_path(target, study))
    _write_runs({**runs(target), study.name: run}, target)
    return run


def runs(folder: Path = FOLDER) -> dict[str, Run]:
    """The committed runs by study."""
    try:
        text = (folder / "runs.csv").read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    found = [
        Run(
            study=row["study"],
            commit=row["commit"],
            first=row["first"],
            last=row["last"],
            seconds=float(row["seconds"]),
            cells=int(row["cells"]),
            seeds=row["seeds"],
            versions=row["versions"],
            sha256=row["sha256"],
        )
        for row in csv.DictReader(io.StringIO(text))
    ]
    return {run.study: run for run in found}


def tables(folder: Path = FOLDER) -> dict[str, Rows]:
    """The committed rows by study."""
    paths = {study.name: journal.csv_path(folder, study) for study in studies.ALL}
    return {name: journal.read_csv(path) for name, path in paths.items() if path.is_file()}


def seeds(study: Study) -> str:
    """A digest of the cells of a full run, and so of their seeds."""
    keys = sorted(study.key(cell) for cell in study.cells(False))
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()[:16]


def differences(folder: Path = FOLDER) -> list[str]:
    """Where files and record disagree, or a study has changed since it was kept."""
    found = []
    for name, run in runs(folder).items():
        study = studies.named(name)
        path = journal.csv_path(folder, study)
        if not path.is_file() or _digest(path) != run.sha256:
            found.append(f"{name}.csv is not the file that was kept.")
        if seeds(study) != run.seeds:
            found.append(f"{name} has other cells now than when it was kept: run it again.")
    return found


def without_run(folder: Path = FOLDER) -> list[str]:
    """Committed CSVs from before runs were recorded."""
    return sorted(set(tables(folder)) - set(runs(folder)))


def cited(names: Sequence[str], folder: Path = FOLDER) -> str:
    """The runs of some studies in words: commits and days."""
    known = runs(folder)
    found = [known[name] for name in names if name in known]
    commits = dict.fromkeys(run.commit for run in found)
    days = sorted({run.last[:10] for run in found})
    return f"commit {', '.join(commits)}, {' and '.join(days)}" if found else ""


def _write_runs(found: dict[str, Run], folder: Path) -> None:
    order = [study.name for study in studies.ALL]
    lines = sorted(found.values(), key=lambda run: order.index(run.study))
    columns = [field.name for field in fields(Run)]
    rows = [tuple(asdict(run).values()) for run in lines]
    journal.write_csv(folder / "runs.csv", columns, rows)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
