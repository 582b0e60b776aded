"""What a study is: cells in, rows out."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dampen.core.sampling import InsecureEntropy

Value: TypeAlias = str | int | float
Parameters: TypeAlias = Mapping[str, Value]
Row: TypeAlias = tuple[Value, ...]
Rows: TypeAlias = Sequence[dict[str, Value]]
"""Rows of a study's CSV, by column."""


@dataclass(frozen=True, slots=True)
class Study:
    """One figure or table.

    Attributes:
        name: the name of its CSV file.
        title: one line for people.
        figure: where the paper shows it, or that it is beyond the paper.
        about: what is shown, true of every run of it.
        finding: what the full run says; shown with the full run only.
        caption: from rows to what this very run was: data, number of runs.
        columns: of the CSV.
        cells: the parameters of every cell; True for the quick version.
        run: computes one cell.  All randomness comes from the entropy, which belongs to the cell.
        revision: raised when the code changes what a cell means, so that old results are dropped.
        minutes: about how long the full version takes on two cores.
    """

    name: str
    title: str
    figure: str
    about: str
    finding: str
    caption: Callable[[Rows], str]
    columns: tuple[str, ...]
    cells: Callable[[bool], Sequence[Parameters]]
    run: Callable[[Parameters, InsecureEntropy], Sequence[Row]]
    revision: int = 1
    minutes: float = 0.1

    def key(self, parameters: Parameters) -> str:
        """Names a cell for good: equal keys mean equal rows."""
        return json.dumps([self.name, self.revision, dict(parameters)], sort_keys=True)

    def compute(self, parameters: Parameters) -> Sequence[Row]:
        """The rows of one cell, the same on every machine and in any order of cells."""
        return self.run(parameters, InsecureEntropy(seed_of(self.key(parameters))))


def seed_of(key: str) -> int:
    """A seed that depends on the key alone."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")


def text(value: Value) -> str:
    """A value as the CSV shows it: ten digits are the same on every machine."""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def number(cell: Mapping[str, Value], name: str) -> float:
    """A numeric parameter or column."""
    return float(cell[name])
