"""Damaged, truncated, edited and exchanged files: refused, and never more left than before.

The ledger here has 40 charges of 0.05 and so 1 left of 3.  Whatever is done to its file, to its log
or to its head, a reader says "1 left" or refuses, and a charge above 1 is refused.
"""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dampen.errors import BudgetError
from dampen.ledger import Ledger, verify, worker
from dampen.ledger.log import Draft, Head, Kind, sealed

ONE = "replace-one"
LEFT = Fraction(1)


def made(path: Path, charges: int = 40) -> Ledger:
    ledger = Ledger(path)
    ledger.create("payroll", epsilon=3, neighbours=ONE)
    for i in range(charges):
        ledger.charge("payroll", epsilon="0.05", neighbours=ONE, query=f"question {i}")
    return ledger


def files_of(ledger: Ledger) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in ledger.path.parent.iterdir()}


def put(place: Path, files: dict[str, bytes]) -> Ledger:
    worker.close_all()
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(mode=0o700)
    for name, content in files.items():
        (place / name).write_bytes(content)
        (place / name).chmod(0o600)
    return Ledger(place / "ledger")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a ledger that was closed."""
    ledger = made(tmp_path_factory.mktemp("whole") / "ledger")
    worker.close_all()
    files = files_of(ledger)
    assert set(files) == {"ledger", "ledger-head"}
    return files


@pytest.fixture(scope="module")
def in_use(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a ledger that is open: its charges are in the log."""
    ledger = made(tmp_path_factory.mktemp("in_use") / "ledger")
    files = files_of(ledger)
    assert len(files["ledger-wal"]) > 40 * 4096
    return files


def shown(ledger: Ledger) -> Fraction | None:
    """What is said to be left; None if the ledger refuses to say."""
    try:
        return ledger.remaining("payroll")
    except BudgetError:
        return None


def paid(ledger: Ledger, epsilon: object) -> bool:
    try:
        ledger.charge("payroll", epsilon=epsilon, neighbours=ONE)  # type: ignore[arg-type]
    except BudgetError:
        return False
    return True


def assert_no_gain(ledger: Ledger) -> bool:
    """Never more than before; whether the ledger still says what is left."""
    left = shown(ledger)
    assert left in (None, LEFT)
    assert not paid(ledger, "1.01")
    return left is not None


def test_an_intact_ledger_states_the_remainder(tmp_path: Path, whole, in_use) -> None:
    assert assert_no_gain(put(tmp_path / "l", whole))
    assert assert_no_gain(put(tmp_path / "m", in_use))


def test_a_ledger_without_its_last_bytes_pays_nothing(tmp_path: Path, whole) -> None:
    cut = whole | {"ledger": whole["ledger"][:-1000]}
    assert not assert_no_gain(put(tmp_path / "l", cut))


@pytest.mark.parametrize("word", [b"CREATE TABLE", b"INTEGER PRIMARY", b"entry"])
def test_a_schema_that_cannot_be_decoded_pays_nothing(tmp_path: Path, whole, word: bytes) -> None:
    # SQLite's own message then quotes bytes that Python cannot decode.
    garbled = whole["ledger"].replace(word, word[:-3] + b"\xce(\xff", 1)
    assert garbled != whole["ledger"]
    assert not assert_no_gain(put(tmp_path / "l", whole | {"ledger": garbled}))


def truncations(files: dict[str, bytes], name: str, step: int) -> Iterator[dict[str, bytes]]:
    for length in range(0, len(files[name]), step):
        yield files | {name: files[name][:length]}


def survivors(place: Path, damaged: Iterator[dict[str, bytes]]) -> tuple[int, int]:
    results = [assert_no_gain(put(place, files)) for files in damaged]
    return sum(results), len(results)


@pytest.mark.parametrize("name", ["ledger", "ledger-head"])
def test_truncated_files_pay_nothing(tmp_path: Path, whole, name: str) -> None:
    step = 127 if name == "ledger" else 8
    still_whole, tried = survivors(tmp_path / "l", truncations(whole, name, step))
    assert tried > 30
    # Half of a head file is one of its two slots: the older, which is in the chain too.
    assert still_whole <= (0 if name == "ledger" else tried // 2)


def test_a_truncated_log_pays_nothing(tmp_path: Path, in_use) -> None:
    still_whole, tried = survivors(tmp_path / "l", truncations(in_use, "ledger-wal", 2357))
    assert tried > 70
    assert still_whole == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ledger", "ledger-wal", "ledger-head"])
def test_truncation_at_every_byte(tmp_path: Path, whole, in_use, name: str) -> None:
    files, step = (in_use, 13) if name == "ledger-wal" else (whole, 1)
    still_whole, tried = survivors(tmp_path / "l", truncations(files, name, step))
    assert tried >= len(files[name]) // step
    assert still_whole <= (tried // 2 if name == "ledger-head" else 0)


def corruptions(files: dict[str, bytes], times: int, seed: int) -> Iterator[dict[str, bytes]]:
    """Flipped bits, zeroed or repeated ranges, exchanged pages, lost tails, in any of the files."""
    rng = np.random.default_rng(seed)
    names = [name for name in files if not name.endswith("-shm")]
    for _ in range(times):
        name = names[rng.integers(len(names))]
        content = bytearray(files[name])
        start, length = int(rng.integers(len(content))), int(rng.integers(1, 5000))
        match rng.integers(6):
            case 0:
                content[start] ^= 1 << int(rng.integers(8))
            case 1:
                content[start : start + length] = bytes(len(content[start : start + length]))
            case 2:
                content[start : start + length] = rng.bytes(len(content[start : start + length]))
            case 3:
                content[start : start + length] = b""
            case 4:
                a, b = sorted(rng.integers(0, max(1, len(content) // 4096), 2) * 4096)
                one, other = content[a : a + 4096], content[b : b + 4096]
                content[a : a + 4096], content[b : b + 4096] = other, one
            case _:
                del content[start:]
        yield files | {name: bytes(content)}


def test_random_corruptions_give_nothing_back(tmp_path: Path, whole, in_use) -> None:
    for files, seed in ((whole, 1), (in_use, 2)):
        still_whole, tried = survivors(tmp_path / "l", corruptions(files, 200, seed))
        assert still_whole < tried  # some hit unused bytes


@pytest.mark.slow
def test_ten_thousand_corruptions_give_nothing_back(tmp_path: Path, whole, in_use) -> None:
    for files, seed in ((whole, 3), (in_use, 4)):
        still_whole, tried = survivors(tmp_path / "l", corruptions(files, 5000, seed))
        assert tried == 5000
        assert still_whole < tried


@contextmanager
def unguarded(ledger: Ledger) -> Iterator[sqlite3.Connection]:
    """The database of a forger, who drops the triggers first."""
    worker.close_all()
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            connection.execute(f"DROP TRIGGER {name}")
        yield connection


EDITS = {
    "smaller": "UPDATE entry SET content = replace(content, '0.05', '0.01') WHERE seq = 20",
    "renamed": "UPDATE entry SET kind = 'refusal' WHERE seq = 20",
    "removed": "DELETE FROM entry WHERE seq = 20",
    "shortened": "DELETE FROM entry WHERE seq > 20",
    "emptied": "DELETE FROM entry",
    "renumbered": "UPDATE entry SET seq = 1000 WHERE seq = 20",
    "inserted": "INSERT INTO entry SELECT 42, kind, budget, replace(content, '0.05', '-1'), digest"
    " FROM entry WHERE seq = 41",
    "headless": "DELETE FROM head",
    "two heads": "CREATE TABLE h AS SELECT * FROM head; DROP TABLE head;"
    " CREATE TABLE head AS SELECT * FROM h UNION ALL SELECT 2, 1, 'x' FROM h",
    "no head": "UPDATE head SET seq = NULL",
}


@pytest.mark.parametrize("edit", EDITS)
def test_edited_entries_pay_nothing(tmp_path: Path, whole, edit: str) -> None:
    ledger = put(tmp_path / "l", whole)
    with unguarded(ledger) as connection:
        connection.executescript(EDITS[edit])
    assert not assert_no_gain(ledger)


def test_an_entry_behind_the_head_is_not_believed(tmp_path: Path, whole) -> None:
    """Also with the shortened head to match: the head file knows better."""
    ledger = put(tmp_path / "l", whole)
    with unguarded(ledger) as connection:
        connection.execute("DELETE FROM entry WHERE seq > 20")
        connection.execute(
            "UPDATE head SET (seq, digest) = (SELECT seq, digest FROM entry WHERE seq = 20)"
        )
    with pytest.raises(BudgetError, match="went backwards"):
        ledger.remaining("payroll")
    assert not assert_no_gain(ledger)


@pytest.mark.parametrize("epsilon", ["-1", "0", "1/0", "abc", "", None])
def test_a_forged_amount_that_no_charge_can_have(tmp_path: Path, whole, epsilon: object) -> None:
    """Even if its digest is right."""
    ledger = put(tmp_path / "l", whole)
    details = {"epsilon": epsilon, "rho": epsilon, "analyst": ""}
    row = sealed(Draft(Kind.CHARGE, "payroll", details), verify(ledger))
    with unguarded(ledger) as connection:
        connection.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", row)
        connection.execute("UPDATE head SET seq = ?, digest = ?", (row.seq, row.digest))
    with pytest.raises(BudgetError, match="entry 42 cannot be read"):
        ledger.remaining("payroll")
    assert not assert_no_gain(ledger)


def test_damage_while_the_ledger_is_open(tmp_path: Path, whole) -> None:
    ledger = put(tmp_path / "l", whole)
    assert shown(ledger) == LEFT
    ledger.path.write_bytes(b"\x55" * len(whole["ledger"]))
    assert not paid(ledger, "1.01")
    assert shown(ledger) in (None, LEFT)
    worker.close_all()
    assert shown(ledger) is None


def test_a_copy_of_the_file_alone_pays_nothing(tmp_path: Path, in_use) -> None:
    """The example of the review: the log was left behind, and the copy reads "spent 0"."""
    alone = {"ledger": in_use["ledger"]}
    ledger = put(tmp_path / "l", alone)
    with pytest.raises(BudgetError, match=r"no valid head file.*a copy or a backup"):
        ledger.charge("payroll", epsilon=1, neighbours=ONE)
    with_head = put(tmp_path / "m", alone | {"ledger-head": in_use["ledger-head"]})
    with pytest.raises(BudgetError, match="went backwards: entry 41-"):
        with_head.charge("payroll", epsilon=1, neighbours=ONE)


@pytest.mark.parametrize("head", [b"", b"x" * 256])
def test_a_new_budget_does_not_make_a_lost_head_good(tmp_path: Path, whole, head: bytes) -> None:
    ledger = put(tmp_path / "l", whole | {"ledger-head": head})
    with pytest.raises(BudgetError, match="no valid head file"):
        ledger.create("other", epsilon=1, neighbours=ONE)
    assert not assert_no_gain(ledger)


def test_an_older_copy_put_back_pays_nothing(tmp_path: Path) -> None:
    ledger = made(tmp_path / "l" / "ledger", charges=10)
    worker.close_all()
    older = files_of(ledger)
    ledger.charge("payroll", epsilon="0.05", neighbours=ONE)
    worker.close_all()
    ledger.path.write_bytes(older["ledger"])
    with pytest.raises(BudgetError, match="went backwards: entry 12-"):
        ledger.charge("payroll", epsilon="0.05", neighbours=ONE)


def test_another_ledger_in_its_place_pays_nothing(tmp_path: Path, whole) -> None:
    other = made(tmp_path / "other" / "ledger", charges=60)
    worker.close_all()
    ledger = put(tmp_path / "l", whole | {"ledger": other.path.read_bytes()})
    with pytest.raises(BudgetError, match="went backwards: entry 41-"):
        ledger.charge("payroll", epsilon="0.05", neighbours=ONE)


def test_a_head_names_its_entry() -> None:
    row = sealed(Draft(Kind.OPEN, "", {"a": 1}), Head(6, "f" * 64))
    head = Head(row.seq, row.digest)
    assert json.loads(row.content) == {"a": 1}
    assert Head.parse(str(head)) == head
    assert Head.parse(head.id).names(row)
    assert not Head(7, "0" * 64).names(row)
