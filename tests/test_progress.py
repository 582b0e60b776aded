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


def test_nothing_is_shown_without_a_terminal(
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


class Places:
    """What a notebook shows: the last picture of every place."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, made: object, *, display_id: bool) -> "Place":
        assert display_id
        self.shown.append(made.data)  # type: ignore[attr-defined]
        return Place(self)


class Place:
    def __init__(self, places: Places) -> None:
        self.places, self.at = places, len(places.shown) - 1

    def update(self, made: object) -> None:
        self.places.shown[self.at] = made.data  # type: ignore[attr-defined]


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Places:
    import IPython.display

    places = Places()
    monkeypatch.setattr(progress, "_in_notebook", lambda: True)
    monkeypatch.setattr(IPython.display, "display", places.display)
    return places


def test_a_long_run_shows_a_bar_in_a_notebook_until_it_ends(
    notebook: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    with progress.progress(3, "Counting nodes") as advance:
        advance(1)
        assert notebook.shown == ['Counting nodes <progress value="1" max="3"></progress> 1 of 3']
        advance(1)
        assert "2 of 3" in notebook.shown[0]
    assert notebook.shown == [""]
