"""For all tests: hypothesis makes the same examples, untimed; tests on few rows may be chance."""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("same examples", deadline=None, derandomize=True)
settings.register_profile("other examples", deadline=None)


def pytest_configure(config: pytest.Config) -> None:
    other = config.getoption("--system-entropy")
    settings.load_profile("other examples" if other else "same examples")


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
