"""Windows: which there are, by brute force what they are worth, and what a record can change."""

from itertools import product

import numpy as np
import pytest

from dampen.questions.percentile.methods import PART, Windows


@pytest.mark.parametrize("cells", [1, 2, 3, 7, 8, 13])
def test_windows_are_runs_of_cells_of_every_size(cells):
    windows = Windows(cells)
    sizes = windows.ends - windows.starts
    assert (windows.starts >= 0).all()
    assert (windows.ends <= cells).all()
    assert set(sizes.tolist()) == {2**i for i in range(5) if 2**i <= cells}
    for size in set(sizes.tolist()):  # every cell is in a window of every size
        covered = np.zeros(cells, dtype=bool)
        for start in windows.starts[sizes == size]:
            covered[start : start + size] = True
        assert covered.all()
    assert ((windows.starts <= windows.centres) & (windows.centres < windows.ends)).all()


def by_definition(counts, start, end, k, t):
    counts, size = list(counts), end - start
    low, high = sum(counts[:start]), sum(counts[:end])
    half, step = size // 2, max(size // 4, 1)
    shifts = range(0, half + 1, step) if size > 1 else ()
    fullest = max((sum(counts[start + s : start + s + half]) for s in shifts), default=0)
    return -max(0, low + 1 - k, k - high, t - (high - low), (fullest - t) / PART)


def test_utilities_are_those_of_the_definition():
    generator = np.random.default_rng(1)
    for cells in (1, 5, 16, 21):
        counts, windows = generator.integers(0, 4, cells), Windows(cells)
        for k, t in ((1, 1), (5, 3), (20, 6)):
            got = windows.selection(counts, k, t).utility / PART
            ends = zip(windows.starts.tolist(), windows.ends.tolist(), strict=True)
            assert got.tolist() == [by_definition(counts, a, b, k, t) for a, b in ends]


def test_a_replaced_record_changes_a_utility_by_at_most_one():
    """All columns of four records in four cells, and all replacements of one."""
    windows, largest = Windows(4), 0.0
    for k, t in ((1, 1), (2, 2), (4, 1), (3, 4)):
        utility = {
            column: windows.selection(np.bincount(column, minlength=4), k, t)
            for column in product(range(4), repeat=4)
        }
        for column, here in utility.items():
            for cell in range(4):
                there = utility[(cell, *column[1:])]
                change = np.abs(here.utility - there.utility).max() / here.bound
                largest = max(largest, change)
    assert largest == 1


def test_a_gap_does_not_outweigh_what_it_ends_at():
    """The percentile is two ranks beyond a tie; by rank alone a hundred empty cells would win."""
    from dampen.core.mechanisms import probabilities

    counts = np.zeros(200, dtype=np.int64)
    counts[0], counts[100], counts[101:] = 4000, 12, 1
    windows = Windows(200)
    chance = probabilities(windows.selection(counts, 4002, 8), epsilon=2, mechanism="pf")
    beyond = windows.centres >= 99
    assert chance[beyond].sum() > 0.6
