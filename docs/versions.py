"""Adds the documentation of one version to a site that keeps those of all versions.

    DAMPEN_VERSIONS=1 make docs
    python docs/versions.py docs/_build SITE 0.3.0

Copies the pages into SITE/0.3.0 and lists all versions, newest first, in SITE/versions.json, from
which the pages of every version fill their switcher, and in SITE/index.html.
"""

import json
import re
import shutil
import sys
from pathlib import Path

NUMBER = re.compile(r"\d+\.\d+\.\d+")
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>dampen</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"></head>
<body><h1>dampen</h1><p>Documentation of every version, newest first:</p><ul>{}</ul></body></html>
"""


def add_version(pages: Path, site: Path, version: str) -> None:
    """Adds or replaces one version.

    Args:
        pages: what `make docs` built.
        site: the folder of all versions.
        version: such as 0.3.0.
    """
    shutil.rmtree(site / version, ignore_errors=True)
    shutil.copytree(pages, site / version)
    found = [path.name for path in site.iterdir() if NUMBER.fullmatch(path.name)]
    found.sort(key=lambda name: tuple(map(int, name.split("."))), reverse=True)
    listed = "".join(f'<li><a href="{name}/index.html">{name}</a></li>' for name in found)
    (site / "index.html").write_text(PAGE.format(listed), encoding="utf-8")
    (site / "versions.json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    add_version(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
