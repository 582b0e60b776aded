"""How many modules a reader meets who follows one question from the call to the answer."""

import sys
from pathlib import Path

import pytest

import dampen

HOME = Path(dampen.__file__).parent
DAYS = [2, 3, 4] * 20 + [5, 6, 9] * 20
WARDS = ["A"] * 60 + ["B"] * 60
GIVEN = {"groups": ["A", "B"], "lower": 0, "upper": 30, "step": 1, "epsilon": "1"}


def walked(ask):
    """The files of the library whose code runs; a first call loads what is loaded once."""
    ask()
    files = set()

    def note(frame, event, _):
        if event == "call":
            files.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        ask()
    finally:
        sys.setprofile(None)
    return {Path(file).relative_to(HOME) for file in files if file.startswith(f"{HOME}/")}


@pytest.mark.parametrize(
    ("data", "columns"),
    [(DAYS, {"by": WARDS}), ({"d": DAYS, "w": WARDS}, {"value": "d", "by": "w"})],
    ids=["columns", "table"],
)
def test_one_question_walks_through_few_modules(data, columns):
    top_groups = dampen.top_groups
    files = walked(lambda: top_groups(data, **columns, **GIVEN))
    assert Path("questions/groups/reach.py") in files  # else nothing was noted
    assert len(files) <= 19, sorted(map(str, files))
