"""After a charge the answer is delivered or kept, and the message says truly what was charged."""

import json
import os
import re
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

import pytest

from dampen.cli import question_command
from dampen.cli.output import Unprinted
from dampen.errors import BudgetError
from dampen.ledger import Account, Ledger

COUNT = "dampen most-frequent visits.csv --value diagnosis --categories flu,cold --epsilon 0.5"
TOP_K = "dampen top-k follows.csv.gz -k 1 --metric degree --n 40 --epsilon 0.5"
RECORD = "dampen percentile-record salaries.csv --value salary -p 50 --upper 500000 --epsilon 0.5"
TREE = "dampen tree census.csv --target income --schema census.toml --epsilon 0.5"
COMMANDS = {
    "add-remove-row": COUNT,
    "add-remove-edge": TOP_K,
    "replace-one": RECORD,
    "tree": TREE,
}
WAYS = {"full": "> /dev/full", "closed": ">&-", "reader gone": "| true"}
FETCH = re.compile(r"The answer is kept: dampen budget answer (\S+)")


@pytest.fixture
def ledger(place: Path) -> Ledger:
    ledger = Ledger(place / "ledger.sqlite3")
    for name in COMMANDS:
        relation = "add-remove-row" if name == "tree" else name
        ledger.create(name, epsilon=100, neighbours=relation)
    return ledger


@pytest.mark.parametrize("how", WAYS)
def test_a_real_process_keeps_what_it_cannot_print(shell, ledger, how: str) -> None:
    lost = shell(f"set -o pipefail; {COUNT} --budget add-remove-row {WAYS[how]}")
    check_kept(lost, ledger, "add-remove-row")


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("how", WAYS)
def test_an_answer_that_cannot_be_printed_is_kept(
    dampen, ledger, monkeypatch: pytest.MonkeyPatch, name: str, how: str
) -> None:
    with monkeypatch.context() as patch, unwritable(how) as stream:
        patch.setattr(sys, "stdout", stream)
        lost = dampen(*COMMANDS[name].split()[1:], "--budget", name)
    fetched = dampen("budget", "answer", check_kept(lost, ledger, name))
    assert fetched.code == 0
    assert json.loads(fetched.out)["answer"]


def check_kept(lost, ledger: Ledger, name: str) -> str:
    (charge,) = ledger.history(name)
    assert (lost.code, lost.out) == (1, "")
    assert lost.err.startswith("dampen: The answer could not be printed: ")
    assert f"The charge of epsilon 0.5 ({charge.id}) stands." in lost.err
    assert lost.err.count("\n") == 1
    found = FETCH.search(lost.err)
    assert found is not None
    assert json.loads(ledger.answer(found[1]))["charge"] == charge.id
    return found[1]


@contextmanager
def unwritable(how: str) -> Iterator[TextIO | None]:
    """A standard output that takes nothing."""
    if how == "closed":
        yield None  # so Python shows a descriptor that was closed before it started
        return
    if how == "full":
        descriptor = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, descriptor = os.pipe()
        os.close(reader)
    # What is left in its buffer cannot be written when it is closed either.
    with suppress(OSError), open(descriptor, "w") as stream:
        yield stream


@pytest.mark.parametrize("how", WAYS)
def test_an_answer_that_cannot_be_kept_goes_to_standard_error(
    dampen, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    with monkeypatch.context() as patch, unwritable(how) as stream:
        patch.setattr(sys, "stdout", stream)
        lost = dampen(*COUNT.split()[1:])
    assert (lost.code, lost.out) == (1, "")
    told, answer = lost.err.splitlines()
    assert told.endswith("The answer follows.")
    assert "charge" not in told
    assert json.loads(answer)["answer"] in ("flu", "cold")


def test_as_json(dampen, ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    lost = json.loads(dampen(*COUNT.split()[1:], "--json", "--budget", "add-remove-row").err)
    assert lost["charge"] == ledger.history("add-remove-row")[0].id
    assert "answer" not in lost
    lost = json.loads(dampen(*COUNT.split()[1:], "--json").err)
    assert lost["answer"]["answer"] in ("flu", "cold")


def test_the_ledger_that_was_named_is_named_again(
    dampen, ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    budget = ("--budget", "add-remove-row", "--ledger", "ledger.sqlite3")
    assert dampen(*COUNT.split()[1:], *budget).err.rstrip().endswith(" --ledger ledger.sqlite3")


def test_both_streams_are_closed(shell, ledger) -> None:
    lost = shell(f"{COUNT} --budget add-remove-row > /dev/full 2> /dev/full")
    assert (lost.code, lost.err) == (1, "")
    lost = shell(f"{COUNT} --budget add-remove-row >&- 2>&- <&-")
    assert (lost.code, lost.err) == (1, "")
    for charge in ledger.history("add-remove-row"):
        assert json.loads(ledger.answer(charge.id))["charge"] == charge.id


def test_closed_streams_are_not_written_over(shell, place: Path, ledger) -> None:
    """A file that is opened while 1 or 2 are closed must not become standard output."""
    before = (place / "visits.csv").read_bytes()
    shell(f"{COUNT} --budget add-remove-row >&- 2>&- <&-; dampen example >&- 2>&-")
    assert (place / "visits.csv").read_bytes() == before
    assert len(ledger.history("add-remove-row")) == 1


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that charges, and whose disk is full afterwards."""

    def keep(*_: object) -> None:
        raise BudgetError("The disk is full.")

    monkeypatch.setattr(Account, "keep", keep)


@pytest.mark.usefixtures("forgetful")
def test_an_answer_that_cannot_be_kept_is_printed(dampen, ledger) -> None:
    done = dampen(*COUNT.split()[1:], "--verbose", "--budget", "add-remove-row")
    assert (done.code, done.err) == (0, "")
    assert ledger.history("add-remove-row")[0].id in done.out


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("name", COMMANDS)
def test_an_answer_that_no_ledger_keeps_is_printed_with_the_error(
    dampen, ledger, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def full(_: str) -> None:
        raise Unprinted("No space left on device")

    monkeypatch.setattr(question_command, "write", full)
    lost = dampen(*COMMANDS[name].split()[1:], "--budget", name)
    assert (lost.code, lost.out) == (1, "")
    told, answer = lost.err.splitlines()
    (charge,) = ledger.history(name)
    assert f"({charge.id}) stands. The answer follows." in told
    assert json.loads(answer)["charge"] == charge.id


@pytest.mark.usefixtures("forgetful")
def test_a_ledger_that_fails_while_the_answer_is_shown(
    dampen, ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: object) -> None:
        raise BudgetError("The ledger cannot be read. Nothing was charged.")

    monkeypatch.setattr(Account, "remaining", property(unreadable))
    done = dampen(*COUNT.split()[1:], "--budget", "add-remove-row")
    assert (done.code, done.err) == (0, "")
    assert "answer" in done.out
    assert "left" not in done.out


@pytest.mark.parametrize("size", [*range(1, 120, 7), *range(24, 40)])
def test_a_disk_that_is_full(dampen, ledger, size: int) -> None:
    """No file may grow beyond some size: whatever fails then, the message tells the truth."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size << 10, hard))
    try:
        done = dampen(*COUNT.split()[1:], "--verbose", "--budget", "add-remove-row")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    charges = ledger.history("add-remove-row")
    if done.code == 0:
        assert charges[0].id in done.out
    else:
        assert (done.code, done.out) == (2, "")
        assert charges == [] or "not certain whether this was charged" in done.err


def test_a_tree_that_cannot_be_written_is_not_lost(
    dampen, place: Path, ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "full").symlink_to("/dev/full")
    lost = dampen(*TREE.split()[1:], "--budget", "tree", "-o", "full")
    assert lost.code == 1
    assert json.loads(lost.out)["answer"]["features"] == ["age", "workclass"]
    assert "The answer is on standard output." in lost.err
    assert f"({ledger.history('tree')[0].id}) stands." in lost.err
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        both = dampen(*TREE.split()[1:], "--budget", "tree", "-o", "full")
    found = FETCH.search(both.err)
    assert both.code == 1
    assert found is not None
    (place / "fetched.json").write_text(dampen("budget", "answer", found[1]).out)
    assert dampen("predict", "fetched.json", "new.csv").out.startswith("prediction\n")


def test_other_commands(dampen, shell, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = shell("set -o pipefail; dampen example | true; echo $?")
    assert (gone.out, gone.err) == ("0\n", "")
    for command in ("example", "--help", "budget answer --help", "draft stays.csv"):
        with monkeypatch.context() as patch, unwritable("full") as stream:
            patch.setattr(sys, "stdout", stream)
            full = dampen(*command.split())
        assert full.code == 1
        assert full.err == "dampen: Cannot write to standard output: No space left on device.\n"
