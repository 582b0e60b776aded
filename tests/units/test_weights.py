"""The weights of persons: how far one person moves counts, whatever rows they have."""

import numpy as np
import pytest

import unit_worlds as worlds
from dampen.data.cells import Grouping, ValuesOf
from dampen.data.memory import MemoryTable
from dampen.data.units import Pairs, Present, Shares, UnitTable, quantum_of

WEIGHINGS = [
    Shares(6), Shares(4), Shares(5, cap=2), Shares(840), Shares(6, distinct=True),
    Shares(6, cap=3, distinct=True),
]  # fmt: skip


class Unfloored(Shares):
    """A broken twin: every cell is rounded up by itself."""

    def weights(self, pairs: Pairs, /):
        own = np.bincount(pairs.owner, weights=pairs.rows).astype(np.int64)[pairs.owner]
        own = np.maximum(own, self.cap)
        return -(-self.quantum * pairs.rows // own)


class RowCounts(Shares):
    """A broken twin: rows are counted as they are, the quantum each."""

    def weights(self, pairs: Pairs, /):
        return self.quantum * pairs.rows


@pytest.mark.parametrize("weighing", WEIGHINGS, ids=repr)
@pytest.mark.parametrize("universe", worlds.UNIVERSES)
def test_a_person_moves_counts_upwards_by_the_quantum_at_most(universe, weighing):
    moves = worlds.moves(universe, weighing)
    assert moves.sum(axis=(1, 2)).max() == weighing.quantum
    assert moves.min() == 0


@pytest.mark.parametrize("twin", [Unfloored(4), RowCounts(4)], ids=["no floor", "rows"])
def test_broken_weights_move_by_more(twin):
    assert worlds.moves("two persons", twin).sum(axis=(1, 2)).max() > twin.quantum


def test_distinct_persons_move_every_count_by_one():
    moves = worlds.moves("two persons", Present())
    assert moves.min() == 0
    assert moves.max() == 1


def test_within_groups_a_person_moves_every_group_by_the_quantum():
    moves = worlds.moves("two persons", Shares(4, within_lines=True))
    assert moves.min() == 0
    assert moves.sum(axis=2).max() == 4
    assert moves.sum(axis=(1, 2)).max() == 12


def test_everyone_weighs_the_same():
    """840 for everybody with a row that counts, however many rows they have."""
    rng = np.random.default_rng(1)
    unit = rng.zipf(1.5, 5000) % 300
    opened = MemoryTable({"unit": unit, "cell": rng.integers(0, 40, 5000)})
    counts = UnitTable(opened, "unit", Shares(840)).counts(
        {"cell": "any"}, lambda batch: np.asarray(batch["cell"]), 40
    )
    assert counts.sum() == 840 * len(np.unique(unit))


def test_rows_share_evenly_up_to_one():
    """By brute force: cell j has ⌊Q C_j / R⌋ less what those before it have."""
    rng = np.random.default_rng(2)
    for cap in (1, 3):
        for size in (1, 2, 7, 30):
            cells = np.sort(rng.integers(0, 12, size))
            found = UnitTable(
                MemoryTable({"unit": np.zeros(size, dtype=int), "cell": cells}),
                "unit",
                Shares(quantum_of(cap), cap),
            ).counts({"cell": "any"}, lambda batch: np.asarray(batch["cell"]), 12)
            exact = quantum_of(cap) * np.bincount(cells, minlength=12) / max(size, cap)
            assert np.abs(found[:-1] - exact).max() < 1


@pytest.mark.parametrize(
    "ids",
    [
        ["x", "y", "x", None, "", "z"],
        np.array(["x", "y", "x", "", "", "z"]),
        np.array([1.0, 2.0, 1.0, np.nan, np.nan, 3.0]),
        [1, "1", 1, None, float("nan"), (2, 3)],
        [1.5, 2, 1.5, None, [7], True],
        np.array([1, 2, 1, None, None, 3], dtype=object),
    ],
    ids=["text", "array of text", "floats", "mixed", "some that cannot be compared", "objects"],
)
def test_ids_of_any_type(ids):
    """Three persons, the first with two rows; rows without an id belong to nobody."""
    opened = MemoryTable({"unit": ids, "cell": np.arange(6)})
    counts = UnitTable(opened, "unit", Shares(840)).counts(
        {"cell": "any"}, lambda batch: np.asarray(batch["cell"]), 6
    )
    assert counts.tolist() == [420, 840, 420, 0, 0, 840, 0]


@pytest.mark.parametrize("kind", ["text", "numbers far apart", "fractions", "objects"])
def test_ids_in_many_batches(kind):
    """The same counts as with small whole numbers, which are used as they are."""
    rng = np.random.default_rng(4)
    small = rng.integers(0, 5000, 300_000)
    ids = {
        "text": np.array([f"person {i}" for i in range(5000)])[small],
        "numbers far apart": small * 2**50 - 2**60,
        "fractions": small / 7,
        "objects": [(i, "x") if i % 2 else i for i in small.tolist()],
    }[kind]
    cell = rng.integers(0, 50, 300_000)
    found = [
        UnitTable(MemoryTable({"unit": each, "cell": cell}), "unit", Shares(840)).counts(
            {"cell": "any"}, lambda batch: np.asarray(batch["cell"]), 50
        )
        for each in (small, ids)
    ]
    assert found[0].tolist() == found[1].tolist()
    assert found[0].sum() == 840 * 5000


@pytest.mark.parametrize("power", [0, 40, 58, 59, 60, 61, 62])
@pytest.mark.parametrize("groups", [2, 16, 32, 1024])
def test_ids_far_apart_are_different_persons(power, groups):
    """Ids 2^59 apart, in 32 groups: both were one person, since their codes were beyond 64 bits.

    Who came with many rows then took the weight of another away.
    """
    ids = np.array([0, *[2**power] * 99], dtype=np.int64)
    column = {"v": np.array([1.0, *[2.0] * 99]), "g": np.array(["g0"] * 100), "p": ids}
    table = MemoryTable(column)
    people = UnitTable(table, "p", Shares(840, within_lines=True))
    asked = ValuesOf("v", Grouping([f"g{i}" for i in range(groups)]).lookup(table, "g"))
    assert asked.of(people).rows.tolist() == [840, 840]


def test_rows_that_do_not_count_take_no_weight():
    """Rows of no cell, and of the last cell of a line."""
    opened = MemoryTable({"unit": [1, 1, 1, 2, 2], "cell": np.array([-1, 0, 2, 5, 4])})
    counts = UnitTable(opened, "unit", Shares(840), width=3).counts(
        {"cell": "any"}, lambda batch: np.asarray(batch["cell"]), 6
    )
    assert counts.tolist() == [840, 0, 0, 0, 840, 0, 0]
