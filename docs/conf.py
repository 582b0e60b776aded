"""The documentation site: `make docs` builds it into docs/_build, without the network."""

import os
import re
import tomllib
from itertools import groupby
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

project = "dampen"
author = "The dampen developers"
copyright = author
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
release = DECLARED["version"]
version = release

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "_templates", "jupyter_execute"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the tests run the notebooks; the site shows what is committed
copybutton_exclude = ".linenos, .gp, .go"

autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
default_role = "code"  # docstrings are written for help() first: `x` is code
templates_path = ["_templates"]
suppress_warnings = ["myst.header"]  # published tables have headings of the third level

html_theme = "pydata_sphinx_theme"
html_title = "dampen"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["dampen.css"]
html_sidebars = {
    "index": [],
    "concepts": [],
    "getting-started": [],
}  # they have no siblings to show
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "dampen", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "show_prev_next": True,
    "navbar_align": "left",
    # A choice of versions, where this one will be beside the others (docs/versions.py).
    "navbar_end": [
        *(["versions"] if "DAMPEN_VERSIONS" in os.environ else []),
        "theme-switcher",
        "navbar-icon-links",
    ],
    "icon_links": [
        {
            "name": "Repository",
            "url": DECLARED["urls"]["Repository"],
            "icon": "fa-solid fa-code-branch",
        }
    ],
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
html_context = {"default_mode": "auto"}


SECTION = re.compile(r"(Args|Attributes|Returns|Raises|Yields):$")


def rst_of(lines: list[str]) -> list[str]:
    """Docstrings are Markdown in three respects: tables, indented formulas, bars as they are."""
    done: list[str] = []
    for is_table, block in groupby(lines, lambda line: line.lstrip().startswith("|")):
        rewrite = table_of if is_table else text_of
        done += rewrite(list(block))
    return done


def table_of(rows: list[str]) -> list[str]:
    """A Markdown table as a list-table of reStructuredText."""
    indent = " " * (len(rows[0]) - len(rows[0].lstrip()))
    cells = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in rows]
    del cells[1]  # the line under the head
    items = [f"   {' ' if i else '*'} - {cell}" for row in cells for i, cell in enumerate(row)]
    lines = [".. list-table::", "   :header-rows: 1", "", *items]
    return ["", *(indent + line for line in lines), ""]


def text_of(lines: list[str]) -> list[str]:
    """Paragraphs with their bars escaped; an indented block after an empty line is literal."""
    done: list[str] = []
    within_section = literal = False
    for line in lines:
        indented = line.startswith("    ")
        if line and not indented:
            within_section, literal = bool(SECTION.match(line)), False
        elif indented and not within_section and not literal and done and not done[-1]:
            done += ["::", ""]
            literal = True
        done.append(line if literal else escaped(line))
    return done


def escaped(line: str) -> str:
    """Bars outside code would be substitutions."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(part if part.startswith("`") else part.replace("|", "\\|") for part in parts)


def process_docstring(
    _app: Any, _what: str, _name: str, _it: Any, _options: Any, lines: list[str]
) -> None:
    lines[:] = rst_of(lines)


def trim_examples(_app: Any, _page: str, source: list[str]) -> None:
    """The empty line that ends an example is for doctest, not for readers."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def setup(app: Any) -> None:
    app.connect("source-read", trim_examples)
    app.connect("autodoc-process-docstring", process_docstring, priority=400)  # before napoleon
