"""Start-up, help, exit codes, pipes: what holds for every command."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import numpy as np
import pytest

from dampen.cli import COMMANDS, group
from dampen.cli.running import run
from dampen.ledger import Ledger

CALL = [sys.executable, "-c", "from dampen.cli import main; main()"]
HEAVY = ["numba", "matplotlib", "sklearn", "pyarrow", "pandas", "networkx", "rich", "scipy"]


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from dampen.cli import group; from dampen.cli.running import run;"
        "assert run(group(), ['--help']) == 0;"
        f"print('heavy:', [m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("heavy: []")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(dampen, name: str) -> None:
    command = group().get_command(click.Context(group()), name)
    inner = [(name, each) for each in getattr(command, "commands", [])]
    for path in [(name,), *inner]:
        shown = dampen(*path, "--help")
        assert (shown.code, shown.err) == (0, "")
        assert shown.out.startswith(f"Usage: dampen {' '.join(path)}")
        assert "Example:\n" in shown.out


def test_every_summary_is_listed(dampen) -> None:
    shown = dampen("--help")
    assert all(lazy.summary in shown.out for lazy in COMMANDS.values())
    assert dampen().out == shown.out


def test_unknown_commands_and_options(dampen) -> None:
    wrong = dampen("precentile")
    assert (wrong.code, wrong.out) == (2, "")
    assert "Did you mean 'percentile'?" in wrong.err
    wrong = dampen("percentile", "--uper", "3")
    assert wrong.code == 2
    assert "--upper" in wrong.err
    assert wrong.err.count("\n") == 1


def test_version(dampen) -> None:
    import dampen as library

    assert dampen("--version").out == f"dampen, version {library.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(dampen, shell: str) -> None:
    assert "_DAMPEN_COMPLETE" in dampen("completion", shell).out


def test_completion_answers() -> None:
    words = {"_DAMPEN_COMPLETE": "bash_complete", "COMP_WORDS": "dampen per", "COMP_CWORD": "1"}
    done = subprocess.run(CALL, env=os.environ | words, capture_output=True, text=True, check=False)
    assert "percentile" in done.stdout
    assert done.stderr == ""


def test_completion_knows_the_budgets(dampen) -> None:
    dampen("budget", "create", "payroll", "--epsilon", "1", "--neighbours", "replace-one")
    words = {"_DAMPEN_COMPLETE": "bash_complete", "COMP_CWORD": "3"}
    words["COMP_WORDS"] = "dampen budget show pa"
    done = subprocess.run(CALL, env=os.environ | words, capture_output=True, text=True, check=False)
    assert done.stdout == "plain,payroll\n"


def test_no_colours_in_a_pipe(dampen) -> None:
    for arguments in (("example",), ("budget", "show"), ("--help",), ("verify", "my_problem.py")):
        shown = dampen(*arguments)
        assert "\x1b" not in shown.out + shown.err


def test_a_reader_that_leaves_early() -> None:
    reader = subprocess.Popen([*CALL, "example"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert reader.stdout is not None
    assert reader.stderr is not None
    reader.stdout.close()
    assert reader.stderr.read() == b""
    assert reader.wait() in (0, 1)  # 1 is click's habit
    reader.stderr.close()


def broken(error: BaseException) -> click.Command:
    @click.command()
    def command() -> None:
        raise error

    return command


def test_foreign_errors_are_not_quoted(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = click.Group("root", {"go": broken(KeyError("SECRET"))})
    assert run(root, ["go"]) == 1
    err = capfd.readouterr().err
    assert "KeyError" in err
    assert "SECRET" not in err
    monkeypatch.setenv("DAMPEN_TRACEBACK", "1")
    assert run(root, ["go"]) == 1
    assert "SECRET" in capfd.readouterr().err


INTERRUPTED = """
import sys, time
import dampen.data.tables as tables
from dampen.cli import main

def slow(self, kinds):
    print("reading", flush=True)
    time.sleep(60)

tables.Table.read = slow
main()
"""


def test_an_interrupt_after_the_charge_says_that_it_stands(dampen, place: Path) -> None:
    dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "add-remove-row")
    arguments = ["most-frequent", "visits.csv", "--column", "diagnosis", "--categories", "flu"]
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, *arguments, "--epsilon", "0.5", "--budget", "b"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "reading\n"
    time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate()
    assert child.returncode == 130
    assert err.strip() == "dampen: Interrupted. Budget 'b' was charged epsilon 0.5."


@pytest.mark.slow
def test_killed_commands_have_paid(dampen, place: Path) -> None:
    dampen("budget", "create", "b", "--epsilon", "1000", "--neighbours", "add-remove-row")
    asked = ["most-frequent", "visits.csv", "--column", "diagnosis", "--categories", "flu,cold"]
    answers, moments = 0, np.random.default_rng(3).uniform(0.3, 1.5, 40)
    for moment in moments:
        child = subprocess.Popen(
            [*CALL, *asked, "--epsilon", "1", "--budget", "b", "--json"], stdout=subprocess.PIPE
        )
        time.sleep(moment)
        child.kill()
        answers += b"answer" in child.communicate()[0]
        assert answers <= len(Ledger(place / "ledger.sqlite3").history("b"))
    assert dampen(*asked, "--epsilon", "1", "--budget", "b").code == 0
