"""Questions that are charged together, and the short way of those that are well put."""

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from service_running import Running

from dampen import BudgetError, DataError, ParameterError
from dampen.ledger import verify
from dampen.service.app import Service, application
from dampen.service.configuration import load_configuration
from dampen.service.door import Door
from dampen.service.pacing import Pace
from dampen.service.payment import Receipt
from dampen.service.stages import Charged, Drawn, Failed, Prepared
from dampen.service.tokens import Role, Token
from dampen.service.workflow import Desk

ANA = Token("1", "ana", Role.ANALYST, "")


def asked(desk: Desk, epsilon: object, dataset: str = "visits", **more: Any) -> Prepared:
    options = {"column": "diagnosis", "epsilon": epsilon} | more
    return desk.prepared(ANA, dataset, "most-frequent", options, None)


@pytest.fixture
def desk(config: Path) -> Desk:
    return Desk.of(load_configuration(config))


def test_a_group_is_charged_at_once_and_judged_one_by_one(desk: Desk) -> None:
    """A wrong parameter or a refused charge concerns nobody else; nothing looks at rows."""
    place = desk.configuration.sets["visits"].source.place
    Path(place).write_text("diagnosis,day\nbroken\n")
    group = [asked(desk, e) for e in ("1/4", "1000", "1/8")] + [asked(desk, 1, mechanism="x")]
    first, rich, second, wrong = desk.charged([(each, True) for each in group])
    assert isinstance(first, Charged) and isinstance(second, Charged)
    assert isinstance(rich, BudgetError) and isinstance(wrong, ParameterError)
    charges = desk.configuration.ledger.history("visits")
    assert [charge.id for charge in charges] == [c.receipt.charged for c in (first, second)]
    verify(desk.configuration.ledger)


def test_a_failure_in_a_group_is_of_one_question(desk: Desk) -> None:
    good, other = asked(desk, 1), asked(desk, 2)
    charged = desk.charged([(good, True), (other, True)])
    assert isinstance(charged[0], Charged) and isinstance(charged[1], Charged)
    cheaper = replace(charged[1].receipt.cost, epsilon=charged[0].receipt.cost.epsilon)
    forged = Charged(other, Receipt(cheaper, charged[1].receipt.charged))
    drawn, failed = desk.drawn([charged[0], forged])
    assert isinstance(drawn, Drawn) and isinstance(failed, Failed)
    assert failed.charge == charged[1].receipt.charged
    (answer,) = desk.kept([drawn])
    assert answer.own and not answer.reused
    reused, again = desk.charged([(good, True), (good, False)])
    assert reused == replace(answer, reused=True)
    assert isinstance(again, Charged)


def test_a_receipt_pays_for_what_it_was_given_for(desk: Desk) -> None:
    cost = desk.quote(asked(desk, 1).question)
    receipt = Receipt(cost, "id")
    assert receipt.charge(cost) == "id"
    with pytest.raises(DataError, match="changed"):
        receipt.charge(replace(cost, epsilon=2 * cost.epsilon))


def test_those_that_come_meanwhile_share_a_charge_and_a_step(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their clocks together tell no more than one: they leave at one step after a charge."""
    gate, waited, groups = threading.Event(), list[float](), list[int]()
    desk, asking = running.desk, running.service.asking
    charged = desk.charged

    def held(group: Any) -> Any:
        gate.wait()
        groups.append(len(group))
        return charged(group)

    async def no_sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(desk, "charged", held)
    asking.pace = Pace(60, no_sleep)
    who, told = running.token(), list[int]()

    def ask(i: int) -> None:
        body = {"column": "diagnosis", "epsilon": f"0.1{i}"}
        told.append(running.ask("visits/most-frequent", who, **body).status_code)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    while asking.waiting < 6:
        pass
    gate.set()
    for thread in threads:
        thread.join()
    assert told == [200] * 6
    assert sum(groups) == 6
    # The first may be charged alone, before the others have come.
    assert len(groups) == len(waited) <= 2
    assert len(running.ledger.history("visits")) == 6


BODIES: list[Any] = [
    {"column": "diagnosis", "epsilon": "0.5"},
    {"column": "diagnosis", "epsilon": 1, "k": 2},
    {"column": "diagnosis", "epsilon": 0.25, "reuse": True, "budget": "visits"},
    {"column": "diagnosis", "epsilon": 1, "budget": "none"},
    {"column": "diagnosis", "epsilon": 1, "budget": None},
    {"column": "diagnosis", "epsilon": "1000"},
    {"column": "none", "epsilon": 1},
    {"column": "\ud800", "epsilon": 1},
    {"column": "diagnosis", "epsilon": 1, "k": 1.0},
    {"column": "diagnosis", "epsilon": 1, "k": "1"},
    {"column": "diagnosis", "epsilon": 1, "k": True},
    {"column": "diagnosis", "epsilon": 10**400},
    {"column": "diagnosis", "epsilon": float("nan")},
    {"column": "diagnosis", "epsilon": 1, "more": 1},
    {"column": 7, "epsilon": 1},
    {"column": "diagnosis"},
    [1],
    b'{"column": "diagnosis", "epsilon": 1, "epsilon": 2}',
    b'\xef\xbb\xbf{"column": "diagnosis", "epsilon": 1}',
    b'{"column": "diagnosis", "epsilon": 1} x',
    b'{"column": "\xff", "epsilon": 1}',
    b"",
]


def test_the_short_way_and_the_long_way_are_one(config: Path) -> None:
    """What the door lets through is what FastAPI lets through, and the answers are the same."""

    async def both() -> None:
        service = Service(Desk.of(load_configuration(config)))
        door = application(service).app
        assert isinstance(door, Door)
        token = service.desk.store.create("ana")
        answered = 0
        for body in BODIES:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            for name, bearer in (("visits", token), ("none", token), ("visits", "wrong")):
                ways = [await sent(way, name, bearer, content) for way in (door, door.app)]
                assert ways[0] == ways[1], (body, name, ways)
                answered += ways[0][0] == 200
        assert answered == 6
        service.asking.close()

    asyncio.run(both())


async def sent(app: Callable[..., Any], name: str, token: str, body: bytes) -> tuple[int, Any]:
    """The status and the content of a reply, but for who paid."""
    got: list[dict] = []
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": f"/v1/datasets/{name}/most-frequent", "query_string": b"", "root_path": "",
        "raw_path": b"", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2), "state": {},
        "headers": [(b"authorization", f"Bearer {token}".encode()),
                    (b"content-type", b"application/json")],
    }  # fmt: skip

    async def receive() -> dict:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        got.append(message)

    from dampen.service.middleware import Refusal

    try:
        await app(scope, receive, send)
    except Refusal as refusal:  # which the guard writes in the same form
        return refusal.status, refusal.message
    told = json.loads(b"".join(each.get("body", b"") for each in got))
    told.pop("reused", None)
    return got[0]["status"], told["message"] if got[0]["status"] in (401, 429) else told
