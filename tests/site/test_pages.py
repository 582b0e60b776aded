"""How the pages speak: ε at most 2, no phrase that must be read twice, guides of three screens."""

import ast
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

import click

from dampen.cli.main import group

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
PAGE = ROOT / "src/dampen/service/page"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))

LARGEST = 2
PAPER = {"paper.md", "errata.md", "influence-tables.md", "trees-accuracy.md", "choosing-epsilon.md"}
"""The paper's pages, tables of studies, and the page that says what large numbers mean."""

EPSILON = re.compile(
    r"""(?<![\w-])(?:--)?\\?"?epsilon\\?"?(?:=|:\ |\ +)\\?["']?([0-9][0-9.,]*)(?!\w|\ bins)""", re.X
)
"""Lines that speak of a whole budget, or of a share."""

BANNED = [
    "whoever", "for who has", "is warned of", "are warned of", "it is none", "answer by chance",
    "must prove themselves", "facts alone do not tell", "no number of steps", "an own cap",
    "or is none", "by a rule that looks at each record alone",
]  # fmt: skip
BANNED_IN_CODE = [
    *BANNED, "that is none", "is none of them", "and are none", "is no number", "is no text",
    "is no table", "for who ", "one's own", "shall count", "would be chance", "for ever.",
    "for ever,",
    "cannot share a budget", "keeps quiet", "what is wrong is", "it deserves",
    "is told by", "heard of", "told of",
]  # fmt: skip
"""Phrases that docstring summaries, errors, help and the texts of the service's page avoid."""
BANNED_NAMES = [
    "warned_of", "is_told", "are_told", "is_said", "are_said", "is_none", "_are_none",
    "that_is_no_", "_are_no_", "hears", "nobody", "somebody", "whoever", "test_what_is_",
    "purse", "of_straw", "of_ones_own",
]  # fmt: skip
"""Phrases that names of tests avoid."""

SCREENS = 3
WORDS = 330
"""Words of text on a screen, without code and tables."""
GUIDES = {
    "groups", "frequency", "numbers", "percentile", "influence", "trees", "datasets", "messy-data",
    "people", "data", "engines", "choosing-epsilon", "budgets", "privacy-officer", "cli",
    "service", "sql", "agents", "concepts", "getting-started", "which-question", "cheat-sheet",
    "story", "from-02", "from-diffprivlib", "from-opendp", "index", "dampen-toml", "ledger",
    "postgres", "running-service",
}  # fmt: skip


def _large(path: Path) -> set[float]:
    """The ε above 2 of the examples of a page."""
    texts = EPSILON.findall(path.read_text())
    numbers = [float(each) for text in texts for each in text.strip(".,").split(",") if each]
    return {each for each in numbers if each > LARGEST}


def test_epsilon_is_at_most_two_in_examples() -> None:
    found = {path.name: _large(path) for path in [*PAGES, *NOTEBOOKS] if path.name not in PAPER}
    assert {name: values for name, values in found.items() if values} == {}


def test_the_reader_of_epsilon_finds_it() -> None:
    """The pattern sees every way in which pages write it."""
    lines = {
        "epsilon=3": [3], 'epsilon="3.5",': [3.5], "--epsilon 1,5 --public": [1, 5],
        '{"epsilon": "4"}': [4], '\\"epsilon=4)': [4], "min_epsilon=3": [],
        "epsilon     3": [3],
    }  # fmt: skip
    for line, wanted in lines.items():
        texts = [each for text in EPSILON.findall(line) for each in text.strip(".,").split(",")]
        assert [float(each) for each in texts] == wanted, line


def test_banned_phrases_are_not_in_the_pages() -> None:
    found = {
        path.name: {phrase for phrase in BANNED if phrase in path.read_text().lower()}
        for path in PAGES
    }
    assert {name: phrases for name, phrases in found.items() if phrases} == {}


def _helps() -> Iterator[tuple[str, str]]:
    root = group()
    for name in root.listed:
        command = root.get_command(click.Context(root), name)
        for inner in (command, *getattr(command, "commands", {}).values()):
            assert inner is not None
            yield f"{name} {inner.name}", inner.get_help(click.Context(inner, info_name=name))


def test_banned_phrases_are_not_in_help() -> None:
    helps = {name: " ".join(text.lower().split()) for name, text in _helps()}
    assert len(helps) > 30
    assert [(name, each) for name, text in helps.items() for each in BANNED if each in text] == []


def _sentences(path: Path) -> Iterator[str]:
    """The texts of a module that people read: first paragraphs of docstrings, and messages."""
    tree = ast.parse(path.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node):
            docstrings.add(id(getattr(node.body[0], "value", None)))
            yield (ast.get_docstring(node) or "").partition("\n\n")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(getattr(part, "value", "")) for part in node.values)
        elif isinstance(node, ast.Constant) and id(node) not in docstrings:
            yield str(node.value)


def _found(texts: Iterable[str], banned: list[str]) -> set[str]:
    lines = [" ".join(text.lower().split()) for text in texts]
    return {phrase for phrase in banned for line in lines if phrase in line}


def test_banned_phrases_are_not_in_messages_and_summaries() -> None:
    modules = sorted((ROOT / "src").rglob("*.py")) + sorted((ROOT / "studies/src").rglob("*.py"))
    assert len(modules) > 150
    found = {path.name: _found(_sentences(path), BANNED_IN_CODE) for path in modules}
    assert {name: phrases for name, phrases in found.items() if phrases} == {}


def test_banned_phrases_are_not_on_the_page_of_the_service() -> None:
    files = [path for path in PAGE.iterdir() if path.suffix in {".js", ".html"}]
    assert len(files) > 8
    found = {path.name: _found([path.read_text()], BANNED_IN_CODE) for path in files}
    assert {name: phrases for name, phrases in found.items() if phrases} == {}


def test_banned_phrases_are_not_in_names_of_tests() -> None:
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "studies/tests").rglob("*.py")]
    names = [name for path in files for name in re.findall(r"def (test_\w+)", path.read_text())]
    assert len(names) > 2000
    assert {name for name in names for phrase in BANNED_NAMES if phrase in name} == set()


def test_guides_are_three_screens_long() -> None:
    long = {name for name in GUIDES if _words(DOCS / f"{name}.md") > SCREENS * WORDS}
    assert long == set()


def test_the_readme_is_short_and_leads_to_every_guide_of_a_question() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) < 110
    for guide in ("groups", "frequency", "numbers", "percentile", "influence", "trees"):
        assert f"(docs/{guide}.md" in text


def test_three_questions_are_two_clicks_from_the_front() -> None:
    """Can I protect a patient, how many rows do I need, what do I tell my privacy officer?"""
    front = (DOCS / "index.md").read_text()
    for link in ("people.html", "concepts.html#how-many-rows-do-i-need", "privacy-officer.html"):
        assert f'href="{link}"' in front
    assert "## How many rows do I need?" in (DOCS / "concepts.md").read_text()
    readme = (ROOT / "README.md").read_text()
    for link in ("people.md", "concepts.md#how-many-rows-do-i-need", "privacy-officer.md"):
        assert f"(docs/{link})" in readme


def test_files_and_names_of_code_in_pages_exist() -> None:
    wrong = [
        (path.name, name)
        for path in PAGES
        for name in re.findall(r"`([\w./]+)`", path.read_text())
        if not _exists(name)
    ]
    assert wrong == []


def test_names_of_code_in_docstrings_and_the_changelog_exist() -> None:
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "studies/src").rglob("*.py"), *PAGES]
    texts = {path: path.read_text() for path in (*files, ROOT / "CONTRIBUTING.md")}
    changelog = ROOT / "CHANGELOG.md"
    texts[changelog] = _coming_version(changelog.read_text())
    named = {
        (str(path.relative_to(ROOT)), name)
        for path, text in texts.items()
        for name in re.findall(r"`(dampen(?:\.\w+)+)", text)
    }
    assert len({name for _, name in named}) > 150
    assert sorted((path, name) for path, name in named if not _exists(name)) == []


def _coming_version(changelog: str) -> str:
    """Its section of the changelog, without what was removed and the first cells of tables."""
    section = re.split(r"^## ", changelog, flags=re.MULTILINE)[1].partition("### Removed")[0]
    return re.sub(r"^\|[^|]*\|", "", section, flags=re.MULTILINE)


def _exists(name: str) -> bool:
    """Whether a path such as dampen/core/noise.py, or a name such as dampen.core.noise, exists."""
    if re.fullmatch(r"(dampen|dampen_studies|tests|benchmarks|studies|docs)/[\w./]+\.py", name):
        places = (ROOT, ROOT / "src", ROOT / "studies" / "src")
        return any((place / name).exists() for place in places)
    if not name.startswith("dampen.") or name == "dampen.toml":
        return True
    parts = name.split(".")
    for i in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:i]))
        except ModuleNotFoundError:
            continue
        return _has(found, parts[i:])
    return False


def _has(found: object, names: list[str]) -> bool:
    for name in names:
        if not hasattr(found, name):
            return False
        found = getattr(found, name)
    return True


def test_drawings_have_words_and_follow_light_and_dark() -> None:
    drawings = [
        path for path in (DOCS / "figures").glob("*.svg") if 'class="drawing"' in path.read_text()
    ]
    assert len(drawings) == 7
    for path in drawings:
        text = path.read_text()
        assert re.search(r'role="img" aria-label="[^"]{40,}"', text), path.name
        assert 'html[data-theme="dark"]' in text
        assert re.search(r'viewBox="0 0 360 \d+"', text), path.name


def _words(path: Path) -> int:
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    return sum(
        len(re.findall(r"\w+", line)) for line in text.splitlines() if not line.startswith("|")
    )
