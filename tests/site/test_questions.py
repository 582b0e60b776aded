"""The reference of questions: as the declarations say, and every example works in its front."""

import importlib.util
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dampen
from dampen.cli.demo import RELATIONS, write_service
from dampen.cli.main import run
from dampen.ledger import Ledger, worker
from dampen.questions import QUESTIONS
from dampen.service.questions import options_of

DOCS = Path(__file__).parents[2] / "docs"


def _script() -> Any:
    spec = importlib.util.spec_from_file_location("side_by_side", DOCS / "side_by_side.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = _script()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files and facts of `dampen serve --demo`, with budgets that have a δ."""
    monkeypatch.chdir(tmp_path)
    facts = write_service(tmp_path)
    facts.write_text(facts.read_text().replace('"ledger.sqlite3"', '"approximate.sqlite3"'))
    ledger = Ledger(tmp_path / "approximate.sqlite3")
    for name, neighbours in RELATIONS.items():
        ledger.create(name, epsilon="10", delta="1e-5", neighbours=neighbours, dataset=name)
    yield tmp_path
    worker.close_all()


def test_the_page_is_what_the_declarations_say() -> None:
    assert (DOCS / "questions.md").read_text() == SCRIPT.page(), "run python docs/side_by_side.py"
    assert SCRIPT.ASKED.keys() == QUESTIONS.keys()


@pytest.mark.filterwarnings("ignore::dampen.errors.AccuracyWarning")
@pytest.mark.parametrize("name", QUESTIONS)
def test_python_asks_it(name: str, place: Path) -> None:
    data, stated = SCRIPT.ASKED[name]
    asked = dampen.dataset(data, config="dampen.toml")
    release = eval(SCRIPT.python_call(name), {data: asked})
    assert str(float(release.epsilon)) == str(float(stated["epsilon"]))


@pytest.mark.filterwarnings("always::dampen.errors.AccuracyWarning")
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_command_line_asks_it(
    name: str, place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = run(shlex.split(SCRIPT.command(name))[1:])
    assert code == 0, capfd.readouterr().err


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_request_asks_it(name: str) -> None:
    _, stated = SCRIPT.ASKED[name]
    path, _, body = SCRIPT.request(name).partition(" {")
    assert path.endswith(f"/{name}")
    given = json.loads("{" + body)
    assert given == stated
    offered = {"epsilon": given.pop("epsilon")}
    assert options_of(name, given, offered).epsilon == offered["epsilon"]


@pytest.mark.parametrize("name", SCRIPT.SQL)
def test_a_statement_asks_it(name: str, place: Path) -> None:
    data, stated = SCRIPT.ASKED[name]
    asked = dampen.dataset(data, config="dampen.toml")
    statement = asked.statement(SCRIPT.SQL[name])
    wanted = {key: value for key, value in stated.items() if key != "epsilon"}
    assert statement.question == name
    spelled_out = {"statistic": "median", "k": 1}
    given = {**wanted, **{key: spelled_out[key] for key in statement.stated.keys() - wanted.keys()}}
    assert asked.question(name, **statement.stated) == asked.question(name, **given)
