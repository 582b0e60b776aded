"""The page that runs dampen in the browser: what it runs, and what is collected for it."""

import importlib.util
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = """
import sys
sys.modules["flint"] = None  # as in the browser
sys.path.insert(0, sys.argv[1])
import play
print(play.play(80, 2, 5))
"""


def test_the_page_runs_without_flint_and_compiled_kernels() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(ROOT / "docs" / "_static")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["North", "East", "South", "West"]
    assert sum(int(line.split()[-1]) for line in lines) == 5


def test_missing_files_of_a_release_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("browser", ROOT / "packaging" / "browser.py")
    assert spec is not None and spec.loader is not None
    browser = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(browser)
    release, target = tmp_path / "release", tmp_path / "site"
    release.mkdir()
    wheels = {name: {"file_name": f"{name}.whl"} for name in browser.PACKAGES}
    (release / "pyodide-lock.json").write_text(json.dumps({"packages": wheels}))
    assert browser.main(release, target) == 1
    assert "numpy.whl" in capsys.readouterr().out
    assert not target.exists()
    for name in (*browser.RUNTIME[:-1], browser.SCRIPTS[0], *(f"{n}.whl" for n in wheels)):
        (release / name).write_bytes(b"")
    assert browser.main(release, target) == 0
    with zipfile.ZipFile(target / "dampen.zip") as packed:
        assert {"dampen/__init__.py", "dampen/kernels/graphs.py"} <= set(packed.namelist())
