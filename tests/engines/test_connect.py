"""Spark Connect: the same door, the same answers, errors that quote nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engines import sparks

WHY = sparks.missing("grpc", "grpc_status")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(WHY), reason=WHY),
    pytest.mark.xdist_group("spark"),
]


def test_every_application_through_connect() -> None:
    tests = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "engines.over_connect"],
        env=os.environ | {"PYTHONPATH": tests},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["session"] == "pyspark.sql.connect.session"
    assert found["different"] == []
    assert {text.split()[0] for text in found["refused"]} == {"not"}  # enough left
    for text in found["failed"]:
        assert "the engine failed" in text
        assert "charge of epsilon 1 (c-1) stands" in text
        assert text.endswith(" None None")
        assert "secret" not in text
