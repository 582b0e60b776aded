"""The public surface: a flat list that changes only on purpose."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dampen

ROOT = Path(__file__).parents[1]

EXPORTED = [
    "BudgetError", "Classifier", "DampenError", "DataError", "InsecureEntropy", "Ledger", "MISSING",
    "Mechanism", "NaiveBayesClassifier", "Neighbours", "Noise", "OTHER", "ParameterError",
    "PrivacyLeakWarning", "Problem", "Release", "Selection", "TreeClassifier", "TreeRegressor",
    "Universe", "accuracy", "bins", "categories", "connect", "count", "data", "dataset",
    "egocentric_betweenness", "errors", "groups_above", "histogram", "keys", "mean", "mechanisms",
    "most_frequent", "names", "noise", "number", "paper", "percentile", "percentile_record",
    "probabilities", "problems", "release", "sampling", "select", "sensitivity", "show_versions",
    "testing", "top_groups", "top_k", "total", "tune", "universe", "warehouse", "watch",
    "workbench",
]  # fmt: skip


def test_the_exported_members() -> None:
    assert sorted(dampen.__all__) == EXPORTED == dir(dampen)


@pytest.mark.parametrize("name", EXPORTED)
def test_every_exported_name_exists(name: str) -> None:
    assert getattr(dampen, name) is not None


PUBLIC_MODULES = [
    "client", "core.error_analysis", "core.mechanisms", "core.noise", "core.sampling",
    "core.scores", "core.selection", "core.sensitivity", "data", "epsilon", "errors", "ledger",
    "paper.id3", "paper.influential_nodes", "paper.percentile_selection",
    "problems",
    "questions.classify",
    "questions.counts", "questions.frequency", "questions.groups", "questions.means",
    "questions.nodes", "questions.percentile", "releases.numbers", "releases.release", "testing",
]  # fmt: skip


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_every_public_module_says_what_it_exports(name: str) -> None:
    module = importlib.import_module(f"dampen.{name}")
    assert module.__all__
    assert all(getattr(module, member) is not None for member in module.__all__)


def test_no_other_name() -> None:
    with pytest.raises(AttributeError):
        dampen.no_such_name  # noqa: B018


def examples(page: Path) -> str:
    """The Python examples of a page, as the body of one function."""
    found = (re.match(r"\s*(>>>|\.\.\.) ?(.*)", line) for line in page.read_text().splitlines())
    lines = [(match[1], match[2]) for match in found if match]
    starts = any(prompt == ">>>" for prompt, _ in lines)
    return "\n".join(f"    {code}" for _, code in lines) if starts else ""


OF_EXAMPLES = """
[[tool.mypy.overrides]]
module = "examples.*"
allow_untyped_defs = true
allow_untyped_calls = true
disable_error_code = ["func-returns-value"]
"""


def test_the_examples_of_the_documentation_are_typed(tmp_path: Path) -> None:
    """mypy, strict but for functions without annotations, on every example of every page.

    With the settings of the library, whose types mypy then need not find again.
    """
    folder = tmp_path / "examples"
    folder.mkdir()
    (folder / "__init__.py").touch()
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for page in pages:
        if body := examples(page):
            name = re.sub(r"\W", "_", page.stem)
            (folder / f"{name}.py").write_text(f"def example() -> None:\n{body}\n")
    declared = (ROOT / "pyproject.toml").read_text()
    settings = re.search(r"\n\[tool\.mypy\]\n.*?(?=\n\[tool\.)", declared, re.DOTALL)
    assert settings is not None
    (tmp_path / "mypy.toml").write_text(settings[0] + OF_EXAMPLES)
    command = [sys.executable, "-m", "mypy", f"--config-file={tmp_path}/mypy.toml", str(folder)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert found.returncode == 0, found.stdout
