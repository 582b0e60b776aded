"""The documentation site builds without a warning, is whole, and asks nothing of the network."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import dampen

ROOT = Path(__file__).parents[2]


def test_the_site(tmp_path: Path) -> None:
    """One test, since a build takes half a minute."""
    site, doctrees = tmp_path / "site", tmp_path / "doctrees"
    command = [
        sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html",
        "-d", str(doctrees), "docs", str(site),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    every_page_is_there(site)
    every_exported_name_is_documented(site)
    nothing_is_loaded_from_elsewhere(site)


def every_page_is_there(site: Path) -> None:
    for page in (ROOT / "docs").glob("*.md"):
        assert (site / f"{page.stem}.html").exists()


def every_exported_name_is_documented(site: Path) -> None:
    text = "".join(page.read_text() for page in site.glob("generated/*.html"))
    places = re.findall(r'id="(?:module-)?dampen\.([\w.]+)"', text)
    named = {part for place in places for part in place.split(".")}
    assert set(dampen.__all__) - named == set()


def nothing_is_loaded_from_elsewhere(site: Path) -> None:
    """Links may lead away; scripts, styles, fonts and pictures may not."""
    for page in site.rglob("*.html"):
        text = page.read_text()
        loaded = re.findall(r'<(?:script|img|iframe)[^>]*\ssrc="(https?:[^"]*)"', text)
        styles = re.findall(r'<link[^>]*rel="stylesheet"[^>]*href="(https?:[^"]*)"', text)
        assert loaded + styles == [], page.name


def test_versions_stand_beside_each_other(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("versions", ROOT / "docs" / "versions.py")
    assert spec is not None
    assert spec.loader is not None
    versions = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(versions)
    pages, site = tmp_path / "pages", tmp_path / "site"
    pages.mkdir()
    site.mkdir()
    for version in ("0.9.0", "0.10.0", "0.9.0"):
        (pages / "index.html").write_text(version)
        versions.add_version(pages, site, version)
    listed = re.findall(r'href="([^"]*)"', (site / "index.html").read_text())
    assert listed == ["0.10.0/index.html", "0.9.0/index.html"]
    assert json.loads((site / "versions.json").read_text()) == ["0.10.0", "0.9.0"]
    assert (site / "0.10.0" / "index.html").read_text() == "0.10.0"
