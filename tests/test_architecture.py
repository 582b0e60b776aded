"""Promises about the code itself."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = [
    "sklearn",
    "scipy",
    "matplotlib",
    "pandas",
    "networkx",
    "pyarrow",
    "duckdb",
    "rich",
    "click",
]


@pytest.mark.parametrize(
    "code",
    [
        "from random import random\n",
        "import secrets\n",
        "import numpy as np\n\nx = np.random.default_rng()\n",
        "from numpy.random import default_rng\n",
        "from os import urandom\n",
    ],
)
def test_drawing_outside_sampling_is_refused(code: str) -> None:
    """`make lint` bans the names; here it is seen to reject modules that draw."""
    assert "TID251" in _linted(code, "src/dampen/planted.py")
    assert "TID251" not in _linted(code, "src/dampen/core/sampling.py")


def _linted(code: str, name: str) -> str:
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--select",
        "TID251",
        "--stdin-filename",
        name,
    ]
    done = subprocess.run(
        [*command, "-"], input=code, capture_output=True, text=True, check=False, cwd=ROOT
    )
    return done.stdout


def test_importing_dampen_pays_for_numpy_alone() -> None:
    code = f"import dampen, sys; print([m for m in {HEAVY} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_every_public_name_exists() -> None:
    import dampen

    for name in dampen.__all__:
        assert getattr(dampen, name) is not None
    assert sorted(dampen.__all__) == dir(dampen)
    with pytest.raises(AttributeError):
        dampen.no_such_name  # noqa: B018


def test_every_public_name_is_in_the_reference() -> None:
    import dampen

    reference = (ROOT / "docs" / "reference.md").read_text()
    missing = [n for n in dampen.__all__ if not re.search(rf"\b{n}\b", reference)]
    assert missing == []


def test_every_link_in_the_documentation_leads_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert target.startswith("http") or (page.parent / target).exists(), (page.name, target)
