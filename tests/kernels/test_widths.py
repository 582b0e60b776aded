"""Widths of numbers: C's `long` has 32 bits on Windows, so no kernel may rely on it."""

import re
from pathlib import Path

import pytest

import dampen

FOLDER = Path(dampen.__file__).parent / "kernels"
GENERATED = FOLDER.parents[2] / "build" / "src" / "dampen" / "kernels"
PLAIN_LONG = re.compile(r"(?<!long )(?<!long  )\b(?:c\w+\.)?\blong\b(?! long)(?=\s+\w|\[)")


def test_declared_types_have_a_fixed_width() -> None:
    for path in FOLDER.glob("*.pxd"):
        assert not PLAIN_LONG.findall(path.read_text()), path.name


def test_variables_whose_types_cython_infers_have_a_fixed_width() -> None:
    """A literal alone, as in `count = 0`, is inferred as C's `long`."""
    made = list(GENERATED.glob("*.c"))
    if not made:
        pytest.skip("kernels were not compiled here")
    for path in made:
        text = path.read_text()
        variables = re.findall(r"^ +(?:unsigned )?long __pyx_v_(\w+);", text, re.MULTILINE)
        assert not [name for name in variables if not name.startswith("__")], path.name
