"""`dampen demo` runs, and every call and command that it prints works."""

import doctest
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def printed(dampen, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the demo prints."""
    monkeypatch.setattr(sys, "argv", ["dampen"])
    done = dampen("demo")
    assert (done.code, done.err) == (0, "")
    return done.out


def test_demo(printed: str, place: Path, shell) -> None:
    """One test, since the demo takes seconds."""
    it_asks_about_patients_and_compares(printed, place)
    its_calls_work_in_python(printed)
    its_commands_work_in_a_shell(printed, shell)


def it_asks_about_patients_and_compares(printed: str, place: Path) -> None:
    assert (place / "dampen-demo/stays.csv").exists()
    for words in ("longest median stay", "influential", "quartiles", "exponential mechanism"):
        assert words in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert printed.count("  answer    ") == printed.count("  truth     ") == 4


def its_calls_work_in_python(printed: str) -> None:
    """H2 is the first answer but for a probability of 2e-11, computed from the law of reach."""
    names: dict[str, Any] = {}
    calls = doctest.DocTestParser().get_examples(textwrap.dedent(printed))
    assert len(calls) == 6
    for call in calls[:2]:
        exec(call.source, names)
    answers = [eval(call.source, names).answer for call in calls[2:]]
    assert answers[0] == "H2"
    assert list(answers[2]) == ["H1", "H2", "H3"]


def its_commands_work_in_a_shell(printed: str, shell) -> None:
    commands = printed.partition("test):\n")[2]
    assert commands.count("dampen ") == 4
    tried = shell(f"set -e\n{commands}")
    assert tried.code == 0, (commands, tried.err)
    assert "answer    H2" in tried.out
    assert "one patient, with all their rows" in tried.out
    assert "ε left | 0.4" in tried.out


def test_a_program_that_is_not_on_the_path_is_called_by_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dampen.cli.demo import next_commands

    program = tmp_path / "dampen"
    program.write_text("")
    monkeypatch.setattr(sys, "argv", [str(program)])
    assert next_commands(Path("demo"))[-1][0].startswith(f"{program} report ")
    monkeypatch.setattr(sys, "argv", ["/somewhere/dampen/__main__.py"])
    assert next_commands(Path("demo"))[-1][0].startswith("python -m dampen report ")


def test_a_second_demo_names_a_budget_that_does_not_exist_yet(dampen) -> None:
    from dampen.cli.demo import next_commands

    def name() -> str:
        return next_commands(Path("dampen-demo"))[-1][0].rpartition(" ")[2]

    assert name() == "demo"
    dampen("budget", "create", "demo", "--epsilon", "1", "--neighbours", "replace-one")
    assert name() == "demo-2"


def test_a_place_that_does_not_exist(dampen) -> None:
    done = dampen("demo", "-o", "nowhere/demo")
    assert (done.code, done.out) == (2, "")
    assert "nowhere" in done.err
