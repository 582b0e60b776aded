"""Studies run cell by cell: the same bytes for any number of workers and after any interruption."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from dampen.errors import ParameterError
from dampen_studies import journal, runner, studies
from dampen_studies.study import seed_of, text

BETA = studies.named("beta")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one-worker")
    runner.run([BETA], folder, quick=True, workers=1)
    return journal.csv_path(folder, BETA).read_bytes()


def test_two_workers_give_the_same_bytes(finished, tmp_path):
    [state] = runner.run([BETA], tmp_path, quick=True, workers=2)
    assert state.complete
    assert journal.csv_path(tmp_path, BETA).read_bytes() == finished


def test_finished_cells_are_not_computed_again(finished, tmp_path, monkeypatch):
    compute = runner._compute
    seen = []

    def counted(name, cell):
        if len(seen) == 3:
            raise KeyboardInterrupt
        seen.append(cell)
        return compute(name, cell)

    monkeypatch.setattr(runner, "_compute", counted)
    with pytest.raises(KeyboardInterrupt):
        runner.run([BETA], tmp_path, quick=True, workers=1)
    assert runner.state(BETA, tmp_path, quick=True).done == 3
    again = []
    monkeypatch.setattr(
        runner, "_compute", lambda name, cell: again.append(cell) or compute(name, cell)
    )
    runner.run([BETA], tmp_path, quick=True, workers=1)
    assert len(again) == len(BETA.cells(True)) - 3
    assert not [cell for cell in again if cell in seen]
    assert journal.csv_path(tmp_path, BETA).read_bytes() == finished


def test_a_line_cut_off_by_a_kill_is_computed_again(finished, tmp_path):
    runner.run([BETA], tmp_path, quick=True, workers=1)
    path = journal.journal_path(tmp_path, BETA)
    path.write_bytes(path.read_bytes()[:-20])
    journal.csv_path(tmp_path, BETA).unlink()
    assert runner.state(BETA, tmp_path, quick=True).done == len(BETA.cells(True)) - 1
    runner.run([BETA], tmp_path, quick=True, workers=1)
    assert journal.csv_path(tmp_path, BETA).read_bytes() == finished
    assert runner.state(BETA, tmp_path, quick=True).complete


def test_a_killed_process_resumes(finished, tmp_path):
    code = (
        "from pathlib import Path; import sys, time\n"
        "from dampen_studies import journal, runner, studies\n"
        "real = journal.append\n"
        "def slow(*args):\n    real(*args); time.sleep(0.2)\n"
        "journal.append = slow\n"
        "runner.run([studies.named('beta')], Path(sys.argv[1]), quick=True, workers=1)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)])
    path = journal.journal_path(tmp_path, BETA)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (
        path.is_file() and path.read_bytes().count(b"\n") > 1
    ):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() != 0
    before = runner.state(BETA, tmp_path, quick=True).done
    assert 0 < before < len(BETA.cells(True))
    kept = path.read_bytes().splitlines()[:before]
    runner.run([BETA], tmp_path, quick=True, workers=1)
    assert path.read_bytes().splitlines()[:before] == kept
    assert journal.csv_path(tmp_path, BETA).read_bytes() == finished


def test_a_failing_cell_stops_the_run_and_keeps_the_others(tmp_path, monkeypatch):
    compute = runner._compute

    def failing(name, cell):
        if cell["beta"] > 1:
            raise RuntimeError("broken cell")
        return compute(name, cell)

    monkeypatch.setattr(runner, "_compute", failing)
    with pytest.raises(RuntimeError, match="broken cell"):
        runner.run([BETA], tmp_path, quick=True, workers=1)
    assert runner.state(BETA, tmp_path, quick=True).done == 11


def test_a_new_revision_drops_old_cells():
    def study(revision):
        return replace(BETA, revision=revision)

    assert study(1).key({"a": 1}) != study(2).key({"a": 1})
    assert study(1).key({"a": 1, "b": 2}) == study(1).key({"b": 2, "a": 1})


def test_every_cell_has_a_seed_of_its_own():
    keys = {s.key(c) for s in studies.ALL for quick in (True, False) for c in s.cells(quick)}
    assert len({seed_of(key) for key in keys}) == len(keys)


def test_cells_without_their_data_are_left_out_and_named(tmp_path, monkeypatch):
    monkeypatch.setenv("DAMPEN_DATA", str(tmp_path / "empty"))
    study = studies.named("percentiles")
    [state] = runner.run([study], tmp_path, quick=False, workers=1)
    assert state.missing == ("hepth", "income", "patent")
    assert state.done == 0
    assert journal.read_csv(journal.csv_path(tmp_path, study)) == []


@pytest.mark.parametrize("study", studies.ALL, ids=lambda s: s.name)
def test_cells_are_json_and_all_different(study):
    for quick in (True, False):
        cells = [json.dumps(dict(cell), sort_keys=True) for cell in study.cells(quick)]
        assert len(set(cells)) == len(cells) > 0


def test_quick_cells_need_no_data(bundled):
    cells = [cell for study in studies.ALL for cell in study.cells(True)]
    assert not [cell for cell in cells if runner.missing_data(cell)]


def test_values_are_written_with_ten_digits():
    assert [text(0.1 + 0.2), text(1.0), text(1e-180), text("a"), text(7)] == [
        "0.3", "1", "1e-180", "a", "7",
    ]  # fmt: skip


def test_unknown_studies_are_refused_with_a_hint():
    with pytest.raises(ParameterError, match="Did you mean 'beta'"):
        studies.named("bta")
