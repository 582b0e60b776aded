"""What follows from a declaration: bodies, descriptions, answers; and how far a reader walks."""

import asyncio
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

import dampen
import dampen.questions
from dampen.core.selection import Neighbours
from dampen.data.cells import Keyed, LabelKey
from dampen.data.open import open_table
from dampen.errors import ParameterError
from dampen.questions.percentile.methods import Shares, TwoStages
from dampen.questions.percentile.record import StreamedLabels
from dampen.releases.accuracy import Accuracy
from dampen.releases.answer import Paid, planned
from dampen.releases.cost import Cost, Price, composed_cost
from dampen.releases.method import Drawn
from dampen.releases.question import Fact, parameter
from dampen.schema import Schema
from dampen.service.app import Service, application
from dampen.service.cache import Cache
from dampen.service.configuration import FileSource, load_configuration
from dampen.service.questions import example, options_of, possible_questions, question_of
from dampen.service.workflow import Workflow

MOST_MODULES = 35


@dataclass(frozen=True, kw_only=True)
class MiddleQuestion:
    """What is in the middle of the range?"""

    value: str = parameter("column", "Column of the numbers.", holds="numbers")
    lower: float = parameter("exact", "Lower end.", fact=Fact("lower", of="value"))
    upper: float = parameter("exact", "Upper end.", fact=Fact("upper", of="value"))
    shift: Any = parameter("exact", "What to add; nothing if left out.", default=0)
    twice: bool = parameter("flag", "Twice that.", default=False)
    tone: str = parameter("word", "How to say it.", default="flat", choices=("flat", "sharp"))
    name: ClassVar[str] = "middle"
    title: ClassVar[str] = "Middle of the range"
    data: ClassVar[str] = "table"

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Any:
        return open_table(data, header=header, table=table)

    def method(self, source: Any, schema: Schema, price: Price, /) -> "MiddleQuestion":
        return self

    def shown(self) -> Mapping[str, Any]:
        return {"shift": self.shift}

    def text(self) -> str:
        return f"of {self.value}"

    def shape(self) -> str:
        return "value"

    def cost(self, price: Price, /) -> Cost:
        return composed_cost(Neighbours.ADD_REMOVE_ROW, price, query="middle", mechanism="none")

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        return Accuracy(1.0, "rows", "This would be chance.", chance=True)

    def leaks(self) -> tuple[Any, ...]:
        return ()

    def draw(self, source: Any, epsilon: Fraction, entropy: Any, /) -> Drawn:
        return Drawn((self.lower + self.upper) / 2 + float(self.shift))


@pytest.fixture
def middle(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A new question: its class, and its line in the list."""
    module = ModuleType("dampen.questions.middle")
    module.MiddleQuestion = MiddleQuestion  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    listed = dampen.questions.Listed("middle.MiddleQuestion", "What is in the middle?")
    monkeypatch.setitem(dampen.questions.QUESTIONS, "middle", listed)  # type: ignore[attr-defined]
    yield
    dampen.questions.question_type.cache_clear()


def test_a_declared_question_is_in_every_front(middle: None, serving) -> None:
    running = serving()
    who = running.token()
    listed = running.http.get("/v1/questions", who).json()
    (told,) = [each for each in listed if each["name"] == "middle"]
    assert (told["title"], told["data"]) == ("Middle of the range", "table")
    column, shift, twice, tone = told["parameters"]
    assert column == {
        "name": "value", "label": "Value", "help": "Column of the numbers.", "kind": "column",
        "choices": [], "holds": "numbers", "facts": ["lower", "upper"], "required": True,
        "default": None, "usual": "", "several": False, "rare": False,
    }  # fmt: skip
    assert (shift["default"], twice["default"], tone["choices"]) == (0, False, ["flat", "sharp"])
    sets = running.http.get("/v1/datasets", who).json()
    assert {each["name"] for each in sets if "middle" in each["questions"]} == {
        "salaries", "visits", "stays", "census"
    }  # fmt: skip
    asked = {"value": "day", "epsilon": "0.5", "shift": "0.5"}
    expected = running.ask("visits/middle/expect", who, **asked).json()
    assert (expected["sentence"], expected["chance"]) == ("This would be chance.", True)
    answer = running.ask("visits/middle", who, **asked).json()
    assert (answer["answer"], answer["accuracy"]["chance"]) == (16.5, True)
    assert answer["question"] == {
        "dataset": "visits", "kind": "middle", "options": {**asked, "shift": "0.5"},
        "shape": "value",
    }  # fmt: skip
    again = running.ask("visits/middle", who, **asked, tone="flat", twice=False).json()
    assert (again["charge"], again["reused"]) == (answer["charge"], True)
    service = dampen.connect(f"http://127.0.0.1:{running.http.port}", token=_token(who))
    assert service.middle("visits", "day", epsilon=1).answer == 16
    described = running.http.get("/openapi.json").json()["paths"]["/v1/datasets/{name}/middle"]
    shape = described["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert shape["properties"]["shift"]["description"] == "What to add; nothing if left out."


@pytest.mark.parametrize(
    "wrong",
    [{"lower": 0}, {"shift": "1e9999999"}, {"twice": "yes"}, {"tone": "loud"}, {"value": "x"},
     {"value": "diagnosis"}, {"shift": [1]}, {"value": None}],
)  # fmt: skip
def test_undeclared_questions_are_refused(middle: None, serving, wrong: dict) -> None:
    running = serving()
    body = {"value": "day", "epsilon": "0.5"} | wrong
    told = running.ask("visits/middle", running.token(), **body)
    assert (told.status_code, told.json()["exit_code"]) == (400, 2)
    assert not running.ledger.history("visits")


def _token(who: dict[str, str]) -> str:
    return who["authorization"].split()[1]


TABLE = "a,b,c\n" + "x,y,z\n" * 3 + "y,x,x\n" * 2
FACTS = """ledger = "ledger.sqlite3"
[[data]]
name = "t"
budgets = ["t"]
files = ["t.csv"]
[data.columns]
a = { values = ["x", "y"] }
b = { values = ["x", "y"] }
c = { values = ["x", "y", "z"] }
"""


def test_questions_about_different_cells_never_share_a_histogram(tmp_path: Path) -> None:
    """Columns, groups, their order, and lists: each has counts of its own, those of the rows."""
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "dampen.toml").write_text(FACTS)
    served = load_configuration(tmp_path / "dampen.toml").sets["t"]
    cells = [{"value": name} for name in "abc"]
    cells += [{"value": c, "by": g} for c in "abc" for g in "abc" if c != g]
    cache = Cache(served.source)
    for asked in cells:
        before = set(cache._counts)
        for drawn in ({"k": 1}, {"k": 2}, {"mechanism": "em"}):
            question = question_of(served, "most-frequent", {**asked, **drawn, "epsilon": 1})
            plan = question.plan(cache)
            plan.release(Paid(plan.cost, dampen.sampling.SystemEntropy()))
        (new,) = set(cache._counts) - before
        alone = Cache(served.source)
        plan = question.plan(alone)
        plan.release(Paid(plan.cost, dampen.sampling.SystemEntropy()))
        ((key, counts),) = alone._counts.items()
        assert key == new
        assert (cache._counts[new] == counts).all()
    assert len(cache._counts) == len(cells)
    assert all(one != other for one, other in combinations(cache._counts, 2))


NUMBERS = "x,y,g\n" + "".join(f"{i % 7},{i % 5},{'ab'[i % 2]}\n" for i in range(90))
GRID = {"lower": 0, "upper": 8, "step": 1}
GRIDS = [GRID, {**GRID, "lower": 2}, {**GRID, "upper": 6}, {**GRID, "step": 2}]
GROUPS = [("a", "b"), ("b", "a"), ("a", "b", "c")]
OF_NUMBERS = [
    *[("percentile", {"value": c, "p": 50, **grid}) for c in "xy" for grid in GRIDS],
    *[("percentile", {"value": "x", "p": 50, "by": "g", "groups": groups, **grid})
      for groups in GROUPS for grid in GRIDS],
    *[("top-groups", {"value": c, "by": "g", "groups": groups, **grid})
      for c in "xy" for groups in GROUPS for grid in GRIDS],
]  # fmt: skip


def test_different_grids_and_groups_never_share_a_histogram(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text(NUMBERS)
    shared = Cache(FileSource(tmp_path / "n.csv"))
    for name, asked in OF_NUMBERS:
        question = dampen.questions.question_type(name)(**asked)
        before = set(shared._counts)
        _answer(question, shared)
        _answer(question, shared)
        (new,) = set(shared._counts) - before
        alone = Cache(FileSource(tmp_path / "n.csv"))
        _answer(question, alone)
        assert (shared._counts[new] == alone._counts[new]).all()
    assert len(shared._counts) == len(OF_NUMBERS)


def test_the_cells_of_records_are_kept_by_their_ends(tmp_path: Path) -> None:
    """p, k and ε change nothing of the cells; the ends do."""
    (tmp_path / "n.csv").write_text(NUMBERS)
    shared = Cache(FileSource(tmp_path / "n.csv"))
    shares = Shares.of(Fraction(1))
    for lower, upper in ((0, 8), (0, 6), (2, 8)):
        for p in (50, 90):
            problem = TwoStages(n=90, p=p, lower=lower, upper=upper, shares=shares, count=1)
            kept = StreamedLabels(shared.table(), "x", "g").counts(problem)
            anew = Cache(FileSource(tmp_path / "n.csv")).table()
            assert (kept == StreamedLabels(anew, "x", "g").counts(problem)).all()
    assert len(shared._counts) == 3


def _answer(question: Any, cache: Cache) -> None:
    plan = planned(question, question.open(cache.table()), Price("1"))
    plan.release(Paid(plan.cost, dampen.sampling.SystemEntropy()))


def test_cells_that_do_not_say_what_they_are_of_are_counted_anew(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "dampen.toml").write_text(FACTS)
    cache = Cache(load_configuration(tmp_path / "dampen.toml").sets["t"].source)

    def all_in(cell: int) -> Keyed:
        return Keyed({"a": LabelKey(("x",))}, lambda keys: np.full(len(keys["a"]), cell))

    table = cache.table()
    assert table.counts({"a": "text"}, all_in(0), 2).tolist() == [5, 0, 0]
    assert table.counts({"a": "text"}, all_in(1), 2).tolist() == [0, 5, 0]
    assert not cache._counts


def test_one_question_walks_through_few_modules(config: Path) -> None:
    """From the request to the answer, with workers and ledger; everything was loaded before."""
    seen: set[str] = set()
    watching = threading.Event()

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call" and watching.is_set():
            name = frame.f_globals.get("__name__", "")
            if name.startswith("dampen."):
                seen.add(name)

    async def asked() -> None:
        workflow = Workflow.of(load_configuration(config))
        app = application(Service(workflow), log=lambda **_: None)
        token = workflow.tokens.create("ana")
        await _sent(app, token, b'{"value": "diagnosis", "epsilon": "0.1"}')
        watching.set()
        await _sent(app, token, b'{"value": "diagnosis", "epsilon": "0.2"}')
        watching.clear()
        workflow.close()

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        asyncio.run(asked())
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    assert "dampen.ledger.accounts" in seen and "dampen.core.sampling" in seen
    assert len(seen) <= MOST_MODULES, sorted(seen)


async def _sent(app: Any, token: str, body: bytes) -> None:
    statuses: list[int] = []
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": "/v1/datasets/visits/most-frequent", "query_string": b"", "root_path": "",
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2), "state": {},
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json"),
                    (b"authorization", f"Bearer {token}".encode())],
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        statuses.append(message.get("status", 200))

    await app(scope, receive, send)
    assert statuses == [200, 200]


def test_what_the_library_finds_by_itself_need_not_be_stated():
    columns = {"ward": ["A", "B"], "days": dampen.number(0, 90)}
    schema = dampen.dataset("stays.csv", columns=columns).schema
    found = {"mean", "total", "tree", "regression-tree", "naive-bayes", "classifier"}
    assert found <= set(possible_questions(schema))


@pytest.mark.parametrize("half", [dampen.number(dates=True), dampen.number(lower=0)])
def test_a_histogram_needs_values_or_both_ends_of_a_column(half):
    def schema_of(**columns):
        return dampen.dataset("stays.csv", columns=columns).schema

    assert "histogram" not in possible_questions(schema_of(born=half))
    assert example(schema_of(born=half, ward=["A"]), "histogram") == {
        "value": "ward",
        "epsilon": "1",
    }
    assert example(schema_of(born=half, days=dampen.number(0, 9)), "histogram") is not None


def test_a_threshold_is_a_number_or_a_date():
    asked = {"value": "born", "by": "ward"}
    for moment in ("2021-01-31", "2021-01-31T12:30"):
        body = options_of("groups-above", {**asked, "threshold": moment}, {"epsilon": "1"})
        assert body.threshold == moment
    for wrong in ("2021-01", "soon", "1e999999999"):
        with pytest.raises(ParameterError) as caught:
            options_of("groups-above", {**asked, "threshold": wrong}, {"epsilon": "1"})
        told = "Expected threshold to be a number. Nothing was charged."
        assert str(caught.value) == told
    with pytest.raises(ParameterError, match="Expected p to be a number"):
        options_of("percentile", {"value": "born", "p": "median"}, {"epsilon": "1"})


def test_a_date_is_refused_for_a_column_of_numbers(serving):
    running = serving(with_dates)
    who = running.token()
    asked = {"by": "hospital", "threshold": "2021-01-31", "epsilon": "5"}
    refused = running.ask("stays/groups-above", who, value="days", **asked)
    assert refused.status_code == 400
    assert refused.json()["message"] == "Expected threshold to be a number. Nothing was charged."
    answered = running.ask("stays/groups-above", who, value="patient", **asked)
    assert answered.status_code == 200


def with_dates(text: str) -> str:
    """States that a column of the stays holds dates; what is no date is left out."""
    assert "\ndays = {" in text
    return text.replace("\ndays = {", "\npatient = { dates = true }\ndays = {")
