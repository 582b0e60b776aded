"""The notebooks run, and show what was kept of them wherever that does not depend on a draw."""

import importlib.util
from pathlib import Path
from typing import Any

import nbformat
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"


@pytest.mark.filterwarnings("ignore:Kernel is running over TCP")
@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_shows_what_was_kept(path: Path, tmp_path: Path) -> None:
    kept = nbformat.read(path, as_version=4)
    for old, new in zip(kept.cells, _execute()(path, tmp_path.resolve()).cells, strict=True):
        assert _kinds(old) == _kinds(new), old.source
        if "varies" not in old.metadata.get("tags", []):
            assert _text(old) == _text(new), old.source


def test_there_are_five() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == {
        "table", "graph", "model", "budgets", "story",
    }  # fmt: skip


def _execute() -> Any:
    spec = importlib.util.spec_from_file_location("execute", NOTEBOOKS / "execute.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.executed


def _kinds(cell: Any) -> list[list[str]]:
    return [sorted(output.get("data", {output["output_type"]: ""})) for output in _outputs(cell)]


def _text(cell: Any) -> list[str]:
    return [output.get("text") or output.data["text/plain"] for output in _outputs(cell)]


def _outputs(cell: Any) -> Any:
    return cell.get("outputs", [])
