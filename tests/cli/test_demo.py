"""`dampen demo`: runs, draws, and does not flatter."""

from pathlib import Path


def test_the_demo(dampen, place: Path) -> None:
    done = dampen("demo", "-o", "picture.png")
    assert (done.code, done.err) == (0, "")
    assert (place / "picture.png").read_bytes().startswith(b"\x89PNG")
    for words in ("Les Misérables", "percentile", "decision tree", "exponential mechanism", "█"):
        assert words in done.out
    assert max(map(len, done.out.splitlines())) <= 160


def test_a_place_that_does_not_exist(dampen) -> None:
    done = dampen("demo", "-o", "nowhere/picture.png")
    assert (done.code, done.out) == (2, "")
    assert "nowhere" in done.err
