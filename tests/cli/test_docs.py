"""The shell examples of the documentation, run as printed; what they print is compared."""

import doctest
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ["../README.md", "getting-started.md", "cli.md", "budgets.md", "choosing-a-mechanism.md"]


def examples(page: str) -> Iterator[tuple[str, str]]:
    """Commands and what should be printed; nothing expected means that anything may be."""
    for block in re.findall(r"```console\n(.*?)```", (DOCS / page).read_text(), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            yield command, expected


@pytest.mark.parametrize("page", PAGES)
def test_shell_examples(dampen, page: str) -> None:
    found = list(examples(page))
    assert found
    for command, expected in found:
        words = shlex.split(command, comments=True)
        assert words[0] == "dampen"
        done = dampen(*words[1:])
        assert done.code == 0, (command, done.err)
        same = doctest.OutputChecker().check_output(
            expected, done.out, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        )
        assert same or not expected, (command, done.out)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([\w-]+\.md)\)", (DOCS / page).read_text()):
        assert (DOCS / page).parent.joinpath(target).is_file(), target
