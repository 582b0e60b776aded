"""What a run has finished, on disk: one line per cell, safe against a kill at any moment."""

import csv
import io
import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dampen_studies.provenance import Made
from dampen_studies.study import Row, Study, Value, text

UNKNOWN = Made("unknown", "", "")


@dataclass(frozen=True, slots=True)
class Result:
    """One finished cell: its rows, seconds of one worker, and where it comes from."""

    rows: Sequence[Row]
    seconds: float
    made: Made = UNKNOWN


def journal_path(folder: Path, study: Study) -> Path:
    return folder / f"{study.name}.journal"


def csv_path(folder: Path, study: Study) -> Path:
    return folder / f"{study.name}.csv"


def read_journal(folder: Path, study: Study) -> dict[str, Result]:
    """Finished cells by key.  A line that was cut off by a kill counts as not finished."""
    try:
        lines = journal_path(folder, study).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    finished = {}
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        rows = [tuple(row) for row in entry["rows"]]
        made = Made(*entry["made"]) if "made" in entry else UNKNOWN
        finished[entry["key"]] = Result(rows, entry["seconds"], made)
    return finished


def append(folder: Path, study: Study, key: str, result: Result) -> None:
    """Adds one finished cell, on disk before this returns."""
    entry = {
        "key": key,
        "seconds": round(result.seconds, 3),
        "made": result.made,
        "rows": result.rows,
    }
    path = journal_path(folder, study)
    with path.open("ab") as file:
        # A line cut off by a kill must not swallow this one.
        start = b"" if _ends_with_newline(path) else b"\n"
        file.write(start + json.dumps(entry).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Writes a table in one step: a half-written CSV is never seen."""
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([text(value) for value in row] for row in rows)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
        file.write(content.getvalue())
    os.chmod(temporary, 0o644)
    os.replace(temporary, path)


def read_csv(path: Path) -> list[dict[str, Value]]:
    """Rows by column name; numbers are floats."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _value(word) for name, word in row.items()} for row in csv.DictReader(file)]


def as_read(columns: Sequence[str], rows: Iterable[Row]) -> list[dict[str, Value]]:
    """Rows as they would be read from a CSV that they were written to."""
    return [
        {name: _value(text(value)) for name, value in zip(columns, row, strict=True)}
        for row in rows
    ]


def _value(word: str) -> Value:
    try:
        return float(word)
    except ValueError:
        return word


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
