"""Collects what the page docs/play.md loads: Pyodide, its packages that dampen needs, dampen.

    python packaging/browser.py PYODIDE docs/_static/pyodide

PYODIDE is the folder of an unpacked Pyodide release; it holds the runtime and the packages that
`pyodide-lock.json` lists.  Those that are missing there are named, and nothing is written.
"""

import json
import shutil
import sys
import zipfile
from pathlib import Path

RUNTIME = ("pyodide.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
SCRIPTS = ("pyodide.asm.mjs", "pyodide.asm.js")
"""One of them: its name changed between releases."""
PACKAGES = ("numpy", "click", "platformdirs")
SOURCES = Path(__file__).parents[1] / "src"


def main(release: Path, target: Path) -> int:
    """The exit code: 1 if the release lacks a file."""
    listed = json.loads((release / "pyodide-lock.json").read_text())["packages"]
    script = next((name for name in SCRIPTS if (release / name).exists()), SCRIPTS[0])
    wanted = [*RUNTIME, script, *(listed[name]["file_name"] for name in PACKAGES)]
    if missing := [name for name in wanted if not (release / name).exists()]:
        print(f"Missing in {release}: {', '.join(missing)}")
        return 1
    target.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        shutil.copy(release / name, target / name)
    with zipfile.ZipFile(target / "dampen.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(SOURCES.glob("dampen/**/*.py")):
            packed.write(path, path.relative_to(SOURCES).as_posix())
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
