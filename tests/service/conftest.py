"""A service on the small made-up data of the demo."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from dampen.cli.demo import write_service
from dampen.ledger import worker
from dampen.questions.frequency import CountMethod

sys.path.insert(0, str(Path(__file__).parent))
from service_running import Running, started

SETTINGS = "\n[service]\nstep = 0.02\npatience = 600\nrequests-per-minute = 10000\n"


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts a service; what is passed changes the text of its configuration."""
    opened: list[Running] = []

    def start(change: Callable[[str], str] = str, settings: str = SETTINGS) -> Running:
        config = write_service(tmp_path)
        config.write_text(change(config.read_text()) + settings)
        opened.append(started(config))
        return opened[-1]

    yield start
    for each in opened:
        each.stop()
    worker.close_all()


@pytest.fixture
def running(serving: Callable[..., Running]) -> Running:
    return serving()


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts fail after the charge, as on a machine whose disk breaks."""

    def draw(*_: object) -> None:
        raise OSError("SECRET")

    monkeypatch.setattr(CountMethod, "draw", draw)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The demo without the graph and the tree, whose kernels take long to compile."""
    made = write_service(tmp_path)
    sets = made.read_text().split("[[data]]")
    kept = [re.sub(r"rows = .*", "", s) for s in sets if "census" not in s and "follows" not in s]
    made.write_text("[[data]]".join(kept)
                    + "\n[service]\nstep = 0.02\nrequests-per-minute = 100000\n")  # fmt: skip
    return made
