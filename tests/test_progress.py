"""The progress bar: quiet by default, gone at the end, on standard error only."""

import io
import sys

import pytest

from dampen import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(steps: int = 3) -> None:
    with progress.progress(steps, "Counting nodes") as advance:
        for _ in range(steps):
            advance(1)


def test_nothing_is_shown_when_nobody_looks(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    run()
    assert capfd.readouterr() == ("", "")


def test_nothing_is_shown_in_the_first_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    run()
    assert terminal.getvalue() == ""
    assert progress.PATIENCE == 2


def test_a_long_run_shows_a_bar_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    run()
    assert "Counting nodes" in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_an_error_inside_passes_through_and_closes_the_bar(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted() -> None:
        with progress.progress(3, "Counting nodes") as advance:
            advance(1)
            raise KeyboardInterrupt

    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    run()
