"""The documentation site builds without a warning, is whole, and asks nothing of the network."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import dampen

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("site")
    doctrees = tmp_path_factory.mktemp("doctrees")
    command = [
        sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html",
        "-d", str(doctrees), "docs", str(built),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return built


def test_every_page_is_in_the_site(site: Path) -> None:
    for page in (ROOT / "docs").glob("*.md"):
        assert (site / f"{page.stem}.html").exists()


def test_every_exported_name_is_documented(site: Path) -> None:
    text = "".join(page.read_text() for page in site.glob("generated/*.html"))
    places = re.findall(r'id="(?:module-)?dampen\.([\w.]+)"', text)
    named = {part for place in places for part in place.split(".")}
    missing = [name for name in dampen.__all__ if name not in named]
    assert missing == []


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    """Links may lead away; scripts, styles, fonts and pictures may not."""
    for page in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|img|iframe)[^>]*\ssrc="(https?:[^"]*)"', page.read_text())
        styles = re.findall(
            r'<link[^>]*rel="stylesheet"[^>]*href="(https?:[^"]*)"', page.read_text()
        )
        assert loaded + styles == [], page.name
