"""Examples of the documentation run beside the files that `dampen demo --files .` writes."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent


@pytest.fixture(autouse=True)
def beside_the_files(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For pages only: each in a directory of its own."""
    if request.node.path.suffix == ".md":
        from dampen.cli.demo_files import write_files

        write_files(tmp_path)
        monkeypatch.chdir(tmp_path)
