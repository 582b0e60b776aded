"""The table of concepts.md on how many rows one needs is what `expect` says."""

import re
from pathlib import Path

import pytest

import dampen

PAGE = Path(__file__).parents[2] / "docs" / "concepts.md"
ASKED = {
    "most frequent of 10": ("most-frequent", {"value": "c"}),
    "best of 10 groups": ("top-groups", {"value": "v", "by": "c"}),
    "a median": ("percentile", {"value": "v", "p": 50}),
    "a count": ("count", {}),
    "a mean": ("mean", {"value": "v"}),
}


@pytest.mark.filterwarnings("ignore::dampen.errors.AccuracyWarning")
@pytest.mark.parametrize("row", ASKED)
def test_the_table_says_what_expect_says(row: str) -> None:
    facts = {"c": [f"c{i}" for i in range(10)], "v": dampen.number(0, 100, step=1)}
    table = dampen.dataset({"p": ["a"], "c": ["c1"], "v": [1]}, unit="p", columns=facts)
    question, stated = ASKED[row]
    sentence = table.expect(question, epsilon="0.5", **stated).accuracy.sentence
    [line] = [each for each in PAGE.read_text().splitlines() if row in each and each[0] == "|"]
    told = set(re.findall(r"\d+", line.split("|")[2]))
    assert told == set(re.findall(r"\d+", sentence.split("9 of 10 runs")[1]))
