"""Quick studies run on bundled data here, whatever data this machine has."""

import pytest


@pytest.fixture
def bundled(monkeypatch, tmp_path):
    monkeypatch.setenv("DAMPEN_DATA", str(tmp_path / "no data"))


@pytest.fixture(scope="module")
def bundled_throughout(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAMPEN_DATA", str(tmp_path_factory.mktemp("no data")))
        yield
