"""The template of docs/own-study.md runs as printed, on one process and on two."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from dampen_studies.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "own-study.md"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_template_runs_and_its_claim_is_judged(tmp_path: Path, workers: str) -> None:
    [text] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(text.splitlines()) <= 70
    file = tmp_path / "my_study.py"
    file.write_text(text, encoding="utf-8")
    asked = ["run", str(file), "--quick", "--workers", workers, "--results", str(tmp_path)]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    assert "never worse, Section 5.1" in done.output
    lines = (tmp_path / "quick" / "frequent.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "lead,epsilon,method,right"
    assert len(lines) == 5
    assert lines[1] == "4,0.5,em,0.6375"


def test_a_file_without_a_study(tmp_path: Path) -> None:
    (tmp_path / "none.py").write_text("x = 1", encoding="utf-8")
    for name in ("none.py", "missing.py"):
        done = CliRunner().invoke(main, ["run", str(tmp_path / name)])
        assert done.exit_code == 2
        assert "STUDY" in done.output
