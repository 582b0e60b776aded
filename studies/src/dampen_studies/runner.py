"""Computes studies: cells on several processes, resumable, one CSV per study.

Every cell has a seed of its own and cells are written in the order of the study, so the CSVs do not
depend on the number of workers, on the order in which cells finish, or on interruptions.
"""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from pathlib import Path

from dampen.progress import progress
from dampen_studies import datasets, journal, provenance, studies
from dampen_studies.journal import Result
from dampen_studies.study import Parameters, Row, Study


@dataclass(frozen=True, slots=True)
class State:
    """How far a study is."""

    study: Study
    done: int
    total: int
    seconds: float
    missing: tuple[str, ...] = field(default=())

    @property
    def complete(self) -> bool:
        return self.done == self.total


def run(
    chosen: Sequence[Study], folder: Path, *, quick: bool = False, workers: int = 2
) -> list[State]:
    """Computes what is not finished yet and writes the CSV of every chosen study.

    Cells whose data set is not in the data home are left out; the returned states name it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pending = [(s, cell) for s in chosen for cell in _pending(s, folder, quick)]
    os.environ[provenance.COMMIT] = provenance.commit()
    try:
        with progress(len(pending), "Studies") as advance:
            for study, cell, result in _results(pending, min(workers, len(pending))):
                journal.append(folder, study, study.key(cell), result)
                advance(1)
    finally:
        for study in chosen:
            _write(study, folder, quick)
    return [state(study, folder, quick=quick) for study in chosen]


def state(study: Study, folder: Path, *, quick: bool = False) -> State:
    """How far a study is, from its journal and the data home."""
    cells = study.cells(quick)
    finished = journal.read_journal(folder, study)
    done = [finished[key] for cell in cells if (key := study.key(cell)) in finished]
    missing = {name for cell in cells if (name := missing_data(cell))}
    seconds = sum(result.seconds for result in done)
    return State(study, len(done), len(cells), seconds, tuple(sorted(missing)))


def missing_data(cell: Parameters) -> str | None:
    """The data set that a cell needs and the data home has not."""
    found = datasets.CATALOGUE.get(str(cell.get("dataset", "")))
    return found.name if found is not None and not found.present else None


def finished_at_full_length(study: Study, folder: Path) -> dict[str, Result]:
    """The finished cells that are cells of the full run too, by key; a quick run may have some."""
    finished = journal.read_journal(folder, study)
    keys = (study.key(cell) for cell in study.cells(False))
    return {key: finished[key] for key in keys if key in finished}


def _pending(study: Study, folder: Path, quick: bool) -> Iterator[Parameters]:
    finished = journal.read_journal(folder, study)
    for cell in study.cells(quick):
        if study.key(cell) not in finished and missing_data(cell) is None:
            yield cell


def _write(study: Study, folder: Path, quick: bool) -> None:
    finished = journal.read_journal(folder, study)
    keys = [study.key(cell) for cell in study.cells(quick)]
    rows: list[Row] = [row for key in keys if key in finished for row in finished[key].rows]
    journal.write_csv(journal.csv_path(folder, study), study.columns, rows)


def _compute(name: str, cell: dict[str, str | int | float]) -> Result:
    """In a worker: one cell, with its processor time."""
    started = time.process_time()
    rows = [tuple(row) for row in studies.named(name).compute(cell)]
    return Result(rows, time.process_time() - started, provenance.made())


def _results(
    pending: Sequence[tuple[Study, Parameters]], workers: int
) -> Iterator[tuple[Study, Parameters, Result]]:
    """Results as they finish: on processes that start clean, or here where one is enough."""
    if workers <= 1:
        for study, cell in pending:
            yield study, cell, _compute(studies.location(study), dict(cell))
        return
    spawn = get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn, initializer=_start_worker) as pool:
        waiting = {
            pool.submit(_compute, studies.location(s), dict(cell)): (s, cell) for s, cell in pending
        }
        try:
            for future in as_completed(waiting):
                yield *waiting[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _start_worker() -> None:
    # Workers are processes; kernels with threads of their own would fight over the cores.
    os.environ["NUMBA_NUM_THREADS"] = "1"
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """A killed run leaves no worker behind."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
