"""The pages for those who come from another library: its code runs, and asks the same."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
QUESTIONS = [
    "How many rows?", "What is the mean?", "What is the median?", "How many of each category?",
    "Which group has the largest median?",
]  # fmt: skip
PAGES = ["from-02", "from-diffprivlib", "from-opendp"]


@pytest.mark.parametrize("page", PAGES)
def test_each_page_has_the_same_five_questions(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text()
    assert [line for line in re.findall(r"^## (.*)$", text, re.MULTILINE) if "?" in line] == (
        QUESTIONS
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES[1:])
def test_the_code_of_the_other_library_runs(page: str) -> None:
    if page == "from-diffprivlib":
        pytest.importorskip("dampen_studies.experiments.diffprivlib_names").diffprivlib()
    blocks = re.findall(r"```python\n(?!>>>)(.*?)```", (DOCS / f"{page}.md").read_text(), re.DOTALL)
    assert len(blocks) == len(QUESTIONS)
    names: dict[str, object] = {
        "ward": ["Ash", "Birch", "Oak"] * 200,
        "days": [2, 5, 9, 3, 4, 8] * 100,
    }
    for block in blocks:
        exec(block, names)
