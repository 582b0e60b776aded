"""For all tests: examples that hypothesis makes are not timed; tests on few rows may be chance."""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("dampen", deadline=None)
settings.load_profile("dampen")

SMALL = {"engines", "fuzz"}
"""Folders whose tests ask of few rows or nodes: that answers are chance is not their point."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SMALL & set(Path(item.path).parts):
            item.add_marker(pytest.mark.filterwarnings("ignore::dampen.errors.AccuracyWarning"))
