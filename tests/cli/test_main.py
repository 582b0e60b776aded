"""Start-up, help, exit codes, errors, completion: what holds for every command."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

import dampen as library
from dampen.cli import main as running
from dampen.cli.main import EXIT_CODES, group, run

ROOT = Path(__file__).parents[2]
CALL = [sys.executable, "-m", "dampen"]
HEAVY = ["numpy", "matplotlib", "sklearn", "pyarrow", "pandas", "networkx", "rich"]
EMPTY = ("percentile-record", "empty.csv", "--value", "salary", "-p", "9", "--upper", "9",
         "--epsilon", "1")  # fmt: skip
FREQUENT = ("most-frequent", "visits.csv", "--value", "diagnosis", "--epsilon", "1")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from dampen.cli.main import run; assert run(['--help']) == 0;"
        f"print('heavy:', [m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("heavy: []")


def test_the_installed_command_is_this_one() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts["dampen"] == f"{running.__name__}:{running.main.__name__}"


def every_command() -> list[tuple[str, ...]]:
    root, paths = group(), list[tuple[str, ...]]()
    for name in root.listed:
        command = root.get_command(click.Context(root), name)
        paths += [(name,), *[(name, each) for each in getattr(command, "commands", [])]]
    return paths


@pytest.mark.parametrize("path", every_command(), ids=" ".join)
def test_every_command_has_help(dampen, path: tuple[str, ...]) -> None:
    shown = dampen(*path, "--help")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith(f"Usage: dampen {' '.join(path)}")
    assert "Example:\n" in shown.out
    assert dampen(*path, "-h").out == shown.out


def test_the_help_of_the_whole(dampen) -> None:
    shown = dampen("--help")
    words = " ".join(shown.out.split())
    assert all(f" {name} {each.summary}" in words for name, each in group().listed.items())
    assert shown.out.index("Questions:") < shown.out.index("Other commands:")
    assert all(f"{code:<5}{meaning}" in shown.out for code, meaning in EXIT_CODES.items())
    assert dampen().out == dampen("-h").out == shown.out


def test_the_exit_codes_are_documented() -> None:
    page = (ROOT / "docs" / "cli.md").read_text()
    assert all(f"| {code} |" in page for code in EXIT_CODES)


def test_a_group_without_a_command_shows_its_help(dampen) -> None:
    shown = dampen("budget")
    assert shown.code == 0
    assert shown.out.startswith("Usage: dampen budget")


def test_unknown_commands_and_options(dampen) -> None:
    wrong = dampen("precentile")
    assert (wrong.code, wrong.out) == (2, "")
    assert "Did you mean 'percentile'?" in wrong.err
    wrong = dampen("percentile", "--uper", "3")
    assert wrong.code == 2
    assert "--upper" in wrong.err
    assert wrong.err.count("\n") == 1


def test_version(dampen) -> None:
    assert dampen("--version").out == f"dampen, version {library.__version__}\n"


def test_as_a_module(shell) -> None:
    assert shell("dampen --version").out == f"dampen, version {library.__version__}\n"


def test_no_colours_in_a_pipe(dampen) -> None:
    for arguments in (("example",), ("budget", "show"), ("--help",), ("verify", "my_problem.py")):
        shown = dampen(*arguments)
        assert "\x1b" not in shown.out + shown.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("precentile",), 2, "There is no command"),
        ((*FREQUENT, "--categories", "flu,flu"), 2, "some occur twice"),
        ((*FREQUENT, "--categories", "flu,cold", "--budget", "b"), 2, "There is no ledger"),
        (EMPTY, 3, "The data could not be read"),
        (("verify", "none.py"), 2, "none.py"),
    ],
)
def test_errors_as_json(
    dampen, place: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    (place / "empty.csv").write_text("employee,salary\n")
    wrong = dampen(*arguments, "--json")
    assert (wrong.code, wrong.out) == (code, "")
    assert wrong.err.count("\n") == 1
    told = json.loads(wrong.err)
    assert told.keys() == {"exit_code", "meaning", "message", "charge"}
    assert (told["exit_code"], told["meaning"]) == (code, EXIT_CODES[code])
    assert words in told["message"]
    assert told["charge"] is None


def test_an_error_as_json_names_the_charge(dampen, place: Path) -> None:
    dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "replace-one")
    (place / "empty.csv").write_text("employee,salary\n")
    wrong = dampen(*EMPTY, "--budget", "b", "--json")
    told = json.loads(wrong.err)
    assert wrong.code == 3
    assert f"({told['charge']}) stands." in told["message"]


def test_warnings_as_json(dampen) -> None:
    given = ("percentile", "salaries.csv", "--value", "salary", "-p", "0.5", "--epsilon", "1")
    done = dampen(*given, "--json")
    assert "did you mean 50" in json.loads(done.err)["warning"]
    assert json.loads(done.out)["leaks"] == []


def broken(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    @click.command()
    def command() -> None:
        raise error

    root = click.Group("dampen", {"go": command})
    monkeypatch.setattr(running, "group", lambda: root)


def test_foreign_errors_are_not_quoted(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, KeyError("SECRET"))
    assert run(["go"]) == 1
    err = capfd.readouterr().err
    assert "KeyError" in err
    assert "SECRET" not in err
    monkeypatch.setenv("DAMPEN_TRACEBACK", "1")
    assert run(["go"]) == 1
    assert "SECRET" in capfd.readouterr().err


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_completion_script(dampen, shell_name: str) -> None:
    assert "_DAMPEN_COMPLETE" in dampen("completion", shell_name).out


def completed(line: str) -> list[str]:
    words = {"_DAMPEN_COMPLETE": "bash_complete", "COMP_CWORD": str(len(line.split(" ")) - 1)}
    done = subprocess.run(
        CALL,
        env=os.environ | words | {"COMP_WORDS": line},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return [answer.removeprefix("plain,") for answer in done.stdout.split()]


def test_completion_of_commands(place: Path) -> None:
    assert completed("dampen per") == ["percentile", "percentile-record"]


def test_completion_of_values(dampen) -> None:
    dampen("budget", "create", "payroll", "--epsilon", "1", "--neighbours", "replace-one")
    assert completed("dampen budget show pa") == ["payroll"]
    assert completed("dampen percentile x --budget ") == ["payroll"]
    assert completed("dampen percentile x --mechanism sl") == ["sld", "sld-pf"]
    assert completed("dampen budget create x --neighbours add") == [
        "add-remove-edge",
        "add-remove-row",
        "add-remove-unit",
    ]


def test_completion_of_columns_quotes_only_declared_names(place: Path) -> None:
    import pyarrow.csv
    import pyarrow.parquet as pq

    pq.write_table(pyarrow.csv.read_csv(place / "salaries.csv"), place / "s.parquet")
    assert completed("dampen percentile s.parquet --value sa") == ["salary"]
    assert completed("dampen percentile-record --header salaries.csv --labels ") == [
        "employee",
        "salary",
    ]
    assert completed("dampen percentile salaries.csv --value sa") == []
    if hasattr(os, "mkfifo"):
        os.mkfifo(place / "pipe")  # a completion that opened it would wait for ever
    assert completed("dampen percentile --header pipe --value sa") == []
    assert completed("dampen percentile --header none --value sa") == []
