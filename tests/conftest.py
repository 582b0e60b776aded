"""For all tests: examples that hypothesis makes are not timed; tests on few rows may be chance."""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("dampen", deadline=None)
settings.load_profile("dampen")


@pytest.fixture(params=[True, False], ids=["pyarrow", "without"])
def arrow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether dampen finds pyarrow; a test that asks for it runs both ways."""
    if not request.param:
        monkeypatch.setattr("dampen.data.source.find_spec", lambda name: None)
    return bool(request.param)


SMALL = {"engines", "fuzz"}
"""Folders whose tests ask of few rows or nodes: that answers are chance is not their point."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SMALL & set(Path(item.path).parts):
            item.add_marker(pytest.mark.filterwarnings("ignore::dampen.errors.AccuracyWarning"))
