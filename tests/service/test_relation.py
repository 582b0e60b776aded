"""Attacks on the size of a group over HTTP: what neighbouring data sets let an attacker see."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from service_running import Running

from dampen.core.selection import Neighbours
from dampen.service.tokens import Role, Token

ANA = Token("1", "ana", Role.ANALYST, "")
TINY = "1e-9"
BISECTED = [(n, caution) for n in (512, 256, 384, 336, 334) for caution in (0, "0.5", 3)]
DRAWN = ("answer", "charge", "sample")
"""The sample is public, and tried anew every time."""


def written(place: Path, size: int) -> None:
    """Two large hospitals, and one whose size the attacker wants to know."""
    hospitals = ["H1"] * 400 + ["H2"] * 400 + ["H3"] * size
    lines = [f"{name},{7 * i % 23}\n" for i, name in enumerate(hospitals)]
    (place / "stays.csv").write_text("hospital,days\n" + "".join(lines))


@pytest.fixture
def neighbours(serving: Callable[..., Running]) -> Running:
    return serving()


def seen(told: Any) -> tuple[int, Any]:
    """Status and body, without what was drawn and what was asked before."""
    body = told.json()
    return told.status_code, {
        name: body[name] for name in body.keys() - {*DRAWN, "recorded", "budget"}
    }


def asked(running: Running, size: int) -> list[Any]:
    """All that the attacker sees; each question is new, none is answered from the record."""
    written(running.config.parent, size)
    who = running.token()
    found: list[Any] = []
    for min_rows, caution in BISECTED:
        body = {"value": "days", "by": "hospital", "k": 2, "min_rows": min_rows,
                "caution": caution, "epsilon": TINY}  # fmt: skip
        found.append(seen(running.ask("stays/top-groups/expect", who, **body)))
        found.append(seen(running.ask("stays/top-groups", who, **body, reuse=False)))
        chosen = running.ask("stays/top-groups", who, **body, neighbours="replace-one")
        found.append((chosen.status_code, chosen.content))
    for name, body in {
        "percentile": {"value": "days", "p": 50, "epsilon": "0.001"},
        "percentile-record": {"value": "days", "p": 50, "k": 10**6, "epsilon": "0.001"},
    }.items():
        found.append(seen(running.ask(f"stays/{name}", who, **body, reuse=False)))
    return found


@pytest.mark.parametrize("size", [333, 334])
def test_bisection_over_http_sees_the_same(neighbours: Running, size: int) -> None:
    """Statuses and bodies are equal, answers apart; the relation cannot be chosen."""
    one, other = (asked(neighbours, n) for n in (size, size + 1))
    assert one == other
    assert [status for status, _ in one] == [200, 200, 400] * len(BISECTED) + [200, 400]
    shown = json.dumps([body for _, body in one if isinstance(body, dict)])
    assert '"n"' not in shown
    assert "replace-one" not in shown
    spent = neighbours.ledger.spent("stays")
    assert spent == 2 * (len(BISECTED) * Fraction("1e-9") + Fraction("0.001"))


def test_answers_over_http_differ_by_at_most_epsilon(neighbours: Running) -> None:
    """The law of the very plan that HTTP draws from, for k = 1, between neighbours."""
    workflow = neighbours.workflow
    for min_rows, caution in BISECTED[::4]:
        laws = []
        for size in (333, 334):
            written(neighbours.config.parent, size)
            options = {"value": "days", "by": "hospital", "min_rows": min_rows,
                       "caution": caution, "epsilon": TINY}  # fmt: skip
            plan = workflow.plan(workflow.prepare(ANA, "stays", "top-groups", options).asked)
            problem = plan.method.problem  # type: ignore[attr-defined]
            assert problem.neighbours is Neighbours.ADD_REMOVE_ROW
            counts = problem.opened_counts(plan.source, "days", "hospital")
            assert counts.sum() == 800 + size
            laws.append(problem.contest(counts).probabilities(plan.cost.epsilon))
        assert np.abs(np.log(laws[0]) - np.log(laws[1])).max() <= 1e-9 + 1e-11
