"""`make notebooks`: runs the notebooks again, and writes what they show into them."""

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def executed(path: Path, folder: Path) -> nbformat.NotebookNode:
    """The notebook with what its cells show when they are run in a folder."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # the times would change with every run
        for output in cell.get("outputs", []):
            shown = output.get("data", {})
            if "text/plain" in shown:
                shown["text/plain"] = shown["text/plain"].replace(f"{folder}/", "")
    return notebook


if __name__ == "__main__":
    for path in sorted(HERE.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(path, Path(folder).resolve()), path)
        sys.stdout.write(f"{path.name}\n")
