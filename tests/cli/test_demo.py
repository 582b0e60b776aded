"""`dampen demo`: runs, and what it says to try next works."""

import sys
from pathlib import Path

import pytest


def test_the_demo_and_what_it_says_to_try_next(
    dampen, shell, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["dampen"])
    done = dampen("demo")
    assert (done.code, done.err) == (0, "")
    assert (place / "dampen-demo/stays.csv").exists()
    for words in ("hospital", "influential", "quartiles", "diagnosis", "exponential mechanism"):
        assert words in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    commands = done.out.partition("trial:\n")[2]
    assert commands.count("dampen ") == 3
    tried = shell(f"set -e\n{commands}")
    assert tried.code == 0, (commands, tried.err)
    assert "H2" in tried.out
    assert "trial       yes" in tried.out
    assert "left        0.7" in tried.out


def test_a_program_that_is_not_on_the_path_is_called_by_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dampen.cli.demo import next_commands

    program = tmp_path / "dampen"
    program.write_text("")
    monkeypatch.setattr(sys, "argv", [str(program)])
    assert next_commands(Path("demo"))[2][0].startswith(f"{program} budget show ")
    monkeypatch.setattr(sys, "argv", ["/somewhere/dampen/__main__.py"])
    assert next_commands(Path("demo"))[2][0].startswith("python -m dampen budget show ")


def test_a_second_demo_names_a_budget_that_does_not_exist_yet(dampen) -> None:
    from dampen.cli.demo import next_commands

    def name() -> str:
        return next_commands(Path("dampen-demo"))[2][0].rpartition(" ")[2]

    assert name() == "demo"
    dampen("budget", "create", "demo", "--epsilon", "1", "--neighbours", "replace-one")
    assert name() == "demo-2"


def test_a_place_that_does_not_exist(dampen) -> None:
    done = dampen("demo", "-o", "nowhere/demo")
    assert (done.code, done.out) == (2, "")
    assert "nowhere" in done.err
