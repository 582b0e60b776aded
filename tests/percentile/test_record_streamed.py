"""Labels of rows that stay where they are: the draw of memory, in the memory of one batch."""

import tracemalloc
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import dampen
from dampen.core.mechanisms import EM, PF, SLD, select, select_streamed
from dampen.core.sampling import InsecureEntropy
from dampen.data.source import Batch, Field, Kind, counted
from dampen.errors import DataError

SIZE = 1 << 14


class Rows:
    """Rows that are made when they are asked for; `late` batches more after they were counted."""

    title, declared, rows, ordered, streams = "the made-up rows", True, None, True, True
    fields = (Field("x"), Field("who"))

    def __init__(self, size: int, late: int = 0) -> None:
        self.size, self.late = size, late

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        return made(self.size + self.late, wanted)

    def counts(self, wanted: Mapping[str, Kind], cell_of: Any, size: int, /) -> Any:
        return counted(made(self.size, wanted), cell_of, size)


def made(batches: int, wanted: Mapping[str, Kind]) -> Iterator[Batch]:
    for start in range(0, batches * SIZE, SIZE):
        rows = range(start, start + SIZE)
        named = {"who": [f"n{i}" for i in rows]} if "who" in wanted else {}
        yield {"x": (np.arange(start, start + SIZE) * 7919 % 10_007).astype(np.float64), **named}


def asked(data: Any, seed: int, **keywords: Any) -> Any:
    entropy = InsecureEntropy(seed, allow_release=True)
    got = dampen.percentile_record(
        data, "x", p=40, upper=10_007, epsilon="14", entropy=entropy, **keywords
    )
    return got.answer, got.parameters["interval"], got.parameters["n"]


@pytest.mark.parametrize("mechanism", [PF, EM, SLD], ids=lambda m: m.name)
def test_blocks_are_drawn_as_the_whole_is(mechanism: Any) -> None:
    utility = (np.arange(1000) % 7).astype(np.float64)
    delta = dampen.sensitivity.constant(1)
    for seed in range(20):
        whole = dampen.Selection(utility, delta)
        expected = select(whole, epsilon=2, mechanism=mechanism, entropy=InsecureEntropy(seed))
        for cuts in ([], [1], [400, 401, 999], range(10, 1000, 10)):
            starts = [0, *cuts]
            blocks = (
                (dampen.Selection(part, delta), lambda i, start=start: start + i)
                for start, part in zip(starts, np.split(utility, list(cuts)), strict=True)
            )
            drawn = select_streamed(
                blocks, epsilon=2, mechanism=mechanism, entropy=InsecureEntropy(seed)
            )
            assert drawn == expected


def test_the_answer_is_that_of_memory() -> None:
    [*batches] = Rows(3).batches({"x": "numbers", "who": "text"})
    x = np.concatenate([batch["x"] for batch in batches])
    who = [name for batch in batches for name in batch["who"]]
    for seed in range(5):
        assert asked(Rows(3), seed) == asked({"x": x}, seed)
        named = {"x": x, "who": who}
        for k in (None, 1, 6, 40_000):
            streamed = asked(Rows(3), seed, labels="who", k=k)
            assert streamed == asked(named, seed, labels="who", k=k)


def test_all_rows_are_named_where_more_were_asked_for() -> None:
    answer, _, n = asked(Rows(1), 1, k=SIZE + 1)
    assert answer == list(range(SIZE))
    assert n == SIZE


@pytest.mark.parametrize("late", [-1, 1])
def test_rows_that_change_between_passes_are_an_error(late: int) -> None:
    with pytest.raises(DataError, match=r"^The data could not be read"):
        asked(Rows(3, late), 1)


@pytest.mark.parametrize("k", [None, 200])
def test_memory_is_that_of_one_batch(k: int | None) -> None:
    """Eight times the rows, the same memory, but for a fifth."""
    peaks = []
    asked(Rows(1), 1)
    for batches in (8, 64):
        tracemalloc.start()
        asked(Rows(batches), 1, k=k)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
