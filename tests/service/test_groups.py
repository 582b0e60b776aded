"""Questions that are charged together, planned once, and drawn from what was charged."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from service_running import Running

import dampen.service.questions
from dampen import BudgetError, DataError, ParameterError
from dampen.ledger import verify
from dampen.releases.release import Release
from dampen.service.configuration import load_configuration
from dampen.service.middleware import Pace
from dampen.service.tokens import Role, Token
from dampen.service.workflow import Charged, Drawn, Failed, Prepared, Workflow

ANA = Token("1", "ana", Role.ANALYST, "")


def asked(workflow: Workflow, epsilon: object, *, reuse: bool = True, **more: Any) -> Prepared:
    options = {"value": "diagnosis", "epsilon": epsilon} | more
    return workflow.prepare(ANA, "visits", "most-frequent", options, reuse=reuse)


@pytest.fixture
def workflow(config: Path) -> Workflow:
    return Workflow.of(load_configuration(config))


def visits(workflow: Workflow) -> list[Any]:
    return workflow.catalogue.configuration.ledger.history("visits")


def test_a_group_is_charged_at_once_and_judged_one_by_one(workflow: Workflow) -> None:
    """A wrong parameter or a refused charge concerns nobody else; nothing looks at rows."""
    place = workflow.catalogue.configuration.sets["visits"].source.place
    Path(place).write_text("diagnosis,day\nbroken\n")
    group = [asked(workflow, e) for e in ("1/4", "1000", "1/8")] + [asked(workflow, 1, k=3)]
    first, rich, second, wrong = workflow.charge(group)
    assert isinstance(first, Charged) and isinstance(second, Charged)
    assert isinstance(rich, BudgetError) and isinstance(wrong, ParameterError)
    assert [charge.id for charge in visits(workflow)] == [first.charge, second.charge]
    verify(workflow.catalogue.configuration.ledger)


def test_a_failure_in_a_group_is_of_one_question(workflow: Workflow) -> None:
    good, other = asked(workflow, 1), asked(workflow, 2)
    charged = workflow.charge([good, other])
    assert isinstance(charged[0], Charged) and isinstance(charged[1], Charged)

    class Broken:
        def draw(self, *_: object) -> None:
            raise DataError("The rows are gone.")

    broken = replace(charged[1], plan=replace(charged[1].plan, method=Broken()))  # type: ignore[arg-type]
    drawn, failed = workflow.draw([charged[0], broken])
    assert isinstance(drawn, Drawn) and isinstance(failed, Failed)
    assert failed.charge == charged[1].charge
    (answer,) = workflow.keep([drawn])
    assert answer.own and not answer.reused
    reused, again = workflow.charge([good, asked(workflow, 1, reuse=False)])
    assert reused == replace(answer, reused=True)
    assert isinstance(again, Charged)


def test_an_answer_that_cannot_be_written_is_of_one_question(
    workflow: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    charged = workflow.charge([asked(workflow, 1), asked(workflow, 2)])
    written = Release.to_json

    def unwritten(release: Release) -> str:
        if release.epsilon == 2:
            raise OverflowError("An answer that JSON cannot hold.")
        return written(release)

    monkeypatch.setattr(Release, "to_json", unwritten)
    drawn, failed = workflow.draw([each for each in charged if isinstance(each, Charged)])
    assert isinstance(drawn, Drawn)
    assert isinstance(failed, OverflowError)


def test_a_question_is_planned_once_and_its_answer_drawn_from_that_plan(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[Any] = []
    planned = dampen.service.questions.planned

    def noted(*given: Any, **more: Any) -> Any:
        plans.append(planned(*given, **more))
        return plans[-1]

    monkeypatch.setattr(dampen.service.questions, "planned", noted)
    told = running.ask("visits/most-frequent", running.token(), value="diagnosis", epsilon=1)
    assert len(plans) == 1
    assert told.json()["accuracy"] == plans[0].accuracy.to_dict()
    (charge,) = running.ledger.history("visits")
    assert (charge.epsilon, charge.rho) == (plans[0].cost.epsilon, plans[0].cost.rho)


def test_those_that_come_meanwhile_share_a_charge_and_a_step(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their clocks together tell no more than one: they leave at one step after a charge."""
    gate, waited, groups = threading.Event(), list[float](), list[int]()
    workflow = running.workflow
    charge = workflow.charge

    def held(group: Any) -> Any:
        gate.wait()
        groups.append(len(group))
        return charge(group)

    async def no_sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(workflow, "charge", held)
    workflow.pace = Pace(60, no_sleep)
    who, told = running.token(), list[int]()

    def ask(i: int) -> None:
        body = {"value": "diagnosis", "epsilon": f"0.1{i}"}
        told.append(running.ask("visits/most-frequent", who, **body).status_code)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    while workflow.waiting < 6:
        pass
    gate.set()
    for thread in threads:
        thread.join()
    assert told == [200] * 6
    assert sum(groups) == 6
    # The first may be charged alone, before the others have come.
    assert len(groups) == len(waited) <= 2
    assert len(running.ledger.history("visits")) == 6


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"value": "diagnosis", "epsilon": "0.5"}, 200),
        ({"value": "diagnosis", "epsilon": 1, "k": 2}, 200),
        ({"value": "diagnosis", "epsilon": 0.25, "reuse": True, "budget": "visits"}, 200),
        ({"value": "diagnosis", "epsilon": 1, "budget": None}, 200),
        ({"value": "diagnosis", "epsilon": 1, "budget": "none"}, 400),
        ({"value": "diagnosis", "epsilon": "1000"}, 409),
        ({"value": "none", "epsilon": 1}, 400),
        ({"value": "\ud800", "epsilon": 1}, 400),
        ({"value": "diagnosis", "epsilon": 1, "k": 1.0}, 400),
        ({"value": "diagnosis", "epsilon": 1, "k": "1"}, 400),
        ({"value": "diagnosis", "epsilon": 1, "k": True}, 400),
        ({"value": "diagnosis", "epsilon": 1, "k": 10**30}, 400),
        ({"value": "diagnosis", "epsilon": 1, "categories": ["flu"]}, 400),
        ({"value": "diagnosis", "epsilon": 10**400}, 400),
        ({"value": "diagnosis", "epsilon": float("nan")}, 400),
        ({"value": "diagnosis", "epsilon": 1, "more": 1}, 400),
        ({"value": 7, "epsilon": 1}, 400),
        ({"value": "diagnosis"}, 400),
        ([1], 400),
        (b'\xef\xbb\xbf{"value": "diagnosis", "epsilon": 1}', 400),
        (b'{"value": "diagnosis", "epsilon": 1} x', 400),
        (b'{"value": "\xff", "epsilon": 1}', 400),
        (b"", 400),
    ],
)  # fmt: skip
def test_bodies_are_as_declared(running: Running, body: Any, status: int) -> None:
    """Asking and expecting read the same body, and a wrong one costs nothing."""
    who = running.token()
    told = running.http.post("/v1/datasets/visits/most-frequent", who, body)
    assert told.status_code == status, told.content
    expected = running.http.post("/v1/datasets/visits/most-frequent/expect", who, body)
    assert expected.status_code == (200 if status in (200, 409) else 400), expected.content
    assert len(running.ledger.history("visits")) == (status == 200)
