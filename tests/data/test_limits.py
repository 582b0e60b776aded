"""Public limits: what is too large by a public number costs nothing, the rest costs the charge."""

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dampen
from dampen.data import edges, files
from dampen.errors import DataError, ParameterError
from dampen.questions.classify import Categories
from dampen.questions.nodes import graphs

SMALL = 4 << 20
BOMB = b"diagnosis,day\n" + b"flu,1\n" * 4_000_000


class Recorder:
    def __init__(self) -> None:
        self.charges = 0

    def charge(self, _: Any, /) -> str:
        self.charges += 1
        return "id"


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress], ids=["gzip", "bz2"])
def test_a_packed_file_that_expands_too_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    path, budget = tmp_path / "t.csv", Recorder()
    path.write_bytes(pack(BOMB))
    monkeypatch.setattr(files, "MOST_EXPANDED", SMALL)
    with pytest.raises(DataError, match="could not be read"):
        dampen.most_frequent(path, "diagnosis", categories=["flu"], epsilon=1, budget=budget)
    assert budget.charges == 1


def test_an_array_that_expands_too_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, budget, zeros = tmp_path / "t.npz", Recorder(), np.zeros(2_000_000, dtype=np.int64)
    np.savez_compressed(path, src=zeros, dst=zeros, n=5)
    monkeypatch.setattr(edges, "MOST_EXPANDED", SMALL)
    with pytest.raises(DataError, match="could not be read"):
        dampen.top_k(path, epsilon=1, budget=budget)
    assert budget.charges == 1


def test_nodes_that_do_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "_most_nodes", lambda: 1000)
    budget = Recorder()
    for n in (1001, 2**30, 2**30 + 1, 10**12):
        with pytest.raises(ParameterError, match="Expected at most"):
            dampen.top_k(([0], [1]), n=n, epsilon=1, budget=budget)
    assert budget.charges == 0


def test_many_categories_are_described_in_one_pass() -> None:
    """One look at a list for every code would take minutes."""
    many = Categories(range(2**15))
    assert many.describe(range(2**15 - 1)) == "not 32767"
    assert len(many.describe(range(2**14))) > 2**14
