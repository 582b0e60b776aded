"""The shell examples of the documentation and of --help, run as printed and compared."""

import doctest
import json
import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from dampen.cli.main import group

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    "../README.md", "getting-started.md", "frequency.md", "numbers.md", "cli.md", "budgets.md",
    "ledger.md", "choosing-a-mechanism.md", "messy-data.md", "privacy-officer.md",
]  # fmt: skip
APART = ("dampen compare ", "dampen verify ")
"""Neither charge nor write what others read, and take seconds: their place cannot matter."""
NEEDS_A_SHELL = re.compile(r"[|>]|<\(|\$\(")


def examples(page: str) -> Iterator[tuple[str, str]]:
    """Commands and what should be printed; nothing expected means that anything may be."""
    text = (DOCS / page).read_text()
    for block in re.findall(r"^ *```console\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", textwrap.dedent(block), flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            yield command, expected


def run(dampen, shell, command: str):
    """One line of an example; a real shell only where it takes one."""
    if NEEDS_A_SHELL.search(re.sub(r"'[^']*'", "", command)):
        return shell(f"set -o pipefail; {command}")
    words = shlex.split(command, comments=True)
    assert words[0] == "dampen"
    return dampen(*words[1:])


@pytest.mark.parametrize("order", [1, -1], ids=["as listed", "backwards"])
def test_shell_examples_of_all_pages_in_one_directory_and_ledger(dampen, shell, order: int) -> None:
    """As by a reader of all pages: no page may stand in the way of another, in either order."""
    for page in PAGES[::order]:
        found = list(examples(page))
        assert found, page
        for command, expected in found:
            if command == "dampen demo" or (order == -1 and command.startswith(APART)):
                continue  # the demo has a test of its own
            done = run(dampen, shell, command)
            fails = "dampen: " in expected or '"exit_code"' in expected
            assert (done.code != 0) == fails, (page, command, done.err)
            same = doctest.OutputChecker().check_output(
                expected, done.err + done.out, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            )
            assert same or not expected, (page, command, done.err, done.out)


def test_every_page_with_commands_is_tried() -> None:
    pages = {page.name for page in DOCS.glob("*.md") if "```console" in page.read_text()}
    assert pages - {"service.md"} == {Path(page).name for page in PAGES} - {"README.md"}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([\w-]+\.md)\)", (DOCS / page).read_text()):
        assert (DOCS / page).parent.joinpath(target).is_file(), target


def helped() -> Iterator[tuple[str, str]]:
    """Every command with its examples, one line each."""
    root = group()
    for name in root.listed:
        command = root.get_command(click.Context(root), name)
        inner = getattr(command, "commands", {})
        for path, each in [(name, command), *((f"{name} {k}", v) for k, v in inner.items())]:
            assert each is not None
            text = (each.epilog or "").partition("Example:\n")[2].replace("\\\n", " ")
            assert text, path
            for line in text.splitlines():
                yield path, " ".join(line.split())


ELSEWHERE = {
    "demo": "it takes seconds, and has a test of its own",
    "completion": "it writes into a home directory",
    "budget answer": "it needs the id of a charge: see the tests of delivery",
    "serve": "it runs until it is stopped: see the tests of the service",
    "mcp": "it runs until its agent ends: see the tests of the service",
    "budget restore": "it needs a ledger that is damaged: see the tests of budgets",
    "budget witness": "it needs other storage or a server: see the tests of witnesses",
}
BEFORE = {
    "predict": "dampen tree census.csv --target income --schema census.toml --epsilon 1 "
    "-o tree.json",
    "budget thaw": "dampen budget freeze payroll",
    "token revoke": "dampen token create ana",
}


STAYS = """
[[data]]
name = "stays"
budgets = ["stays"]
files = ["stays.csv"]
[data.columns]
hospital = ["H1", "H2", "H3"]
days = { lower = 0, upper = 100, step = 1 }
"""
SERVED = """
ledger = "ledger.sqlite3"
[[data]]
name = "salaries"
budgets = ["payroll"]
files = ["salaries.csv"]
[data.columns]
salary = { lower = 0, upper = 500000, step = 1000 }
"""


@pytest.mark.parametrize("path", sorted({path for path, _ in helped()} - ELSEWHERE.keys()))
def test_the_examples_of_help(dampen, shell, path: str) -> None:
    if path not in ("budget", "budget create"):
        dampen("budget", "create", "payroll", "--epsilon", "3", "--neighbours", "replace-one")
    if path in ("check", "sql") or path.startswith("token"):
        Path("dampen.toml").write_text(SERVED + STAYS)
        Path("stays.toml").write_text(STAYS)
        dampen("budget", "create", "stays", "--epsilon", "3", "--neighbours", "add-remove-row")
    if path in BEFORE:
        dampen(*shlex.split(BEFORE[path])[1:])
    if path == "budget verify":
        Path("head.txt").write_text(json.loads(dampen("budget", "verify", "--json").out)["head"])
    for command in (line for each, line in helped() if each == path):
        fewer = " --tries 3" if path == "compare" and ".py" not in command else ""  # in place of 40
        done = run(dampen, shell, command + fewer)
        assert done.code == 0, (command, done.err)
