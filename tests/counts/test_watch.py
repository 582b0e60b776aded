"""Watching: what is charged and when, what is kept, and the law of the answers."""

import json
import stat
from fractions import Fraction

import numpy as np
import pytest

import dampen
from dampen import Ledger
from dampen.core.sampling import InsecureEntropy
from dampen.core.thresholds import first_above_law
from dampen.errors import BudgetError, ParameterError
from dampen.testing import Universe
from dampen.testing.checks import law_loss
from goodness import assert_draws_follow, counts_of

FEW = {"d": ["flu"] * 40 + ["measles"]}
MANY = {"d": ["flu"] * 40 + ["measles"] * 90}
ASKED = {"threshold": 30, "where": "d == 'measles'", "epsilon": "2"}


@pytest.fixture
def account(tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    return ledger.create("watching", epsilon=10, neighbours="add-remove-row")


def test_looks_without_an_event_are_paid_once(account, tmp_path):
    measles = dampen.watch(**ASKED, budget=account, state=tmp_path / "state")
    assert account.spent == 0
    assert [measles.look(FEW).answer for _ in range(20)] == [False] * 20
    assert account.spent == 2
    found = measles.look(MANY)
    assert (found.answer, found.parameters["looks"], account.spent) == (True, 21, 2)
    assert json.loads(account.ledger.answer(found.charge))["answer"] is True
    assert not measles.look(FEW).answer
    assert account.spent == 4


def test_a_run_goes_on_in_another_process(account, tmp_path):
    state = tmp_path / "state"
    first = dampen.watch(**ASKED, budget=account, state=state).look(FEW)
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    again = dampen.watch(**ASKED, budget=account, state=state).look(FEW)
    assert (again.charge, again.parameters["looks"], account.spent) == (first.charge, 2, 2)
    with pytest.raises(ParameterError, match="state of this watch"):
        dampen.watch(**{**ASKED, "threshold": 5}, budget=account, state=state).look(FEW)
    assert account.spent == 2


def test_a_copy_of_the_state_cannot_go_on_after_the_yes(account, tmp_path):
    state = tmp_path / "state"
    measles = dampen.watch(**ASKED, budget=account, state=state)
    measles.look(FEW)
    copy = state.read_text()
    assert measles.look(MANY).answer
    state.write_text(copy)
    assert dampen.watch(**ASKED, budget=account, state=state).look(MANY).answer
    assert account.spent == 4


def test_two_at_once_give_one_yes(account, tmp_path, monkeypatch):
    """The second one looked before the first one's yes was recorded."""
    state = tmp_path / "state"
    measles = dampen.watch(**ASKED, budget=account, state=state)
    measles.look(FEW)
    copy = state.read_text()
    assert measles.look(MANY).answer
    state.write_text(copy)
    late = dampen.watch(**ASKED, budget=account, state=state)
    monkeypatch.setattr(type(late), "_has_ended", lambda *_: False)
    with pytest.raises(BudgetError):
        late.look(MANY)


class Full:
    """A budget whose answers cannot be kept."""

    def __init__(self):
        self.charges = 0

    def charge(self, _):
        self.charges += 1
        return f"id {self.charges}"

    def keep(self, *_):
        raise BudgetError("The disk is full.")


@pytest.mark.parametrize("state", [None, "state"])
def test_a_yes_that_cannot_be_recorded_ends_the_run(state, tmp_path):
    """The error came for a yes alone and the run went on: any number of answers for one ε."""
    budget = Full()
    place = state and tmp_path / state
    measles = dampen.watch(**ASKED, budget=budget, state=place)
    for charges in (1, 2, 3):
        assert not measles.look(FEW).answer
        with pytest.raises(BudgetError, match="full"):
            measles.look(MANY)
        assert budget.charges == charges
        assert place is None or not place.exists()


def test_a_state_that_cannot_be_written_tells_nothing(tmp_path, monkeypatch):
    """It was written after a no alone, so that an error told it."""
    measles = dampen.watch(**ASKED, state=tmp_path / "state")
    measles.look(FEW)
    monkeypatch.setattr("os.open", lambda *_: (_ for _ in ()).throw(OSError("read-only")))
    for data in (FEW, MANY):
        with pytest.raises(OSError, match="read-only"):
            measles.look(data)


def test_another_run_in_the_state_is_left_alone(account, tmp_path, monkeypatch):
    """A process that is late with its yes has no say about the run of another one."""
    state = tmp_path / "state"
    measles = dampen.watch(**ASKED, budget=account, state=state)
    measles.look(FEW)
    late = measles._read()
    assert measles.look(MANY).answer
    assert not measles.look(FEW).answer
    monkeypatch.setattr(type(measles), "_continued", lambda *_: late)
    monkeypatch.setattr(type(measles), "_keep", lambda *_: None)
    with pytest.raises(BudgetError):
        dampen.watch(**ASKED, budget=account, state=state).look(MANY)
    assert measles._read().charge != late.charge


def test_nothing_private_is_shown(tmp_path):
    measles = dampen.watch(**ASKED, state=tmp_path / "state")
    made = measles.look(FEW)
    level = json.loads((tmp_path / "state").read_text())["level"]
    assert f"level={level}" not in repr(measles)
    assert "level" not in made.to_json()


@pytest.mark.parametrize("wrong", [{"threshold": 0}, {"threshold": 1.5}, {"epsilon": "1e-20"}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ParameterError):
        dampen.watch(**{**ASKED, **wrong})


def test_the_loss_of_a_run_is_at_most_epsilon():
    """Four looks; a row is there at some of them.  Noise of scale 1/ε would not do."""
    a = Fraction(3, 5)
    epsilon = -2 * np.log(float(a))

    def law(rows):
        counts = [sum(each >> i & 1 for each in rows) for i in range(4)]
        return np.array([float(p) for p in first_above_law([2 - c for c in counts], a)])

    universe = Universe.add_remove_row([0b1111, 0b0111, 0b1000, 0b1100], max_rows=4)
    assert law_loss(law, universe, epsilon=epsilon)
    assert not law_loss(law, universe, epsilon=epsilon / 2)


def test_draws_follow_the_stated_law():
    """False alarms below 1e-7; an ε that is 30 % off is rejected."""
    entropy = InsecureEntropy(4, allow_release=True)
    looks = [["x"] * 2, ["x"] * 3, ["x"] * 4]
    drawn = []
    for _ in range(2400):
        run = dampen.watch(threshold=4, epsilon="1")
        yes = [run.look({"d": rows}, entropy=entropy).answer for rows in looks]
        drawn.append(yes.index(True) if True in yes else 3)
    right, wrong = (
        first_above_law([2, 1, 0], Fraction(np.exp(-e / 2)).limit_denominator(10**6))
        for e in (1.0, 0.6)
    )
    found = counts_of(drawn, range(4))
    assert_draws_follow(found, [float(p) for p in right], [float(p) for p in wrong])


def test_persons_are_counted_once_each(tmp_path):
    """A person with many rows at every look is one person."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    account = ledger.create("people", epsilon=10, neighbours="add-remove-unit", unit="who")
    asked = dampen.watch(threshold=400, unit="who", epsilon="2", budget=account)
    few = {"who": ["x"] * 10_000 + ["y", "z"], "d": ["flu"] * 10_002}
    many = {"who": [f"P{i}" for i in range(900)] * 2, "d": ["flu"] * 1800}
    assert not asked.look(few).answer
    made = asked.look(many)
    assert made.answer
    assert made.protects == "one who, with all their rows"
    assert "people" in made.accuracy.sentence
    assert account.history[-1].unit == "who"
    with pytest.raises(ParameterError, match="whom"):
        dampen.watch(threshold=5, unit="whom", epsilon="2", budget=account).look(few)
    assert account.spent == 2
