"""The contract of every function that releases: parameters, then the charge, then the data."""

import html
import json
import warnings
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import pytest

from asking import ALWAYS_WRONG, EPSILON, Ask
from asks import ASKS
from dampen.core.sampling import InsecureEntropy, SystemEntropy
from dampen.epsilon import decimal_text
from dampen.errors import BudgetError, DataError, ParameterError, PrivacyLeakWarning
from dampen.releases.accuracy import UNKNOWN
from dampen.releases.cost import Cost
from dampen.releases.release import Release
from leaks import NUMBER, WORD, listening, secrets_in

pytestmark = [
    pytest.mark.parametrize("ask", ASKS, ids=lambda ask: ask.name),
    pytest.mark.filterwarnings("ignore::dampen.errors.AccuracyWarning"),  # of three rows
]
NOT_TOLD = {
    "release",  # a problem of one's own
    "top_k, dampened",  # betweenness follows the data
}
"""Questions whose accuracy no public fact tells."""
NOT_ROWS = {
    "release",  # a problem of one's own
    "most_frequent",  # of counts that somebody else made
}
"""Questions that can be asked of data that is no rows, which may be wrong."""
STANDS = f"The charge of epsilon {decimal_text(EPSILON)} (id 7) stands."


class Recorder:
    """A budget that notes what happens, and in which order."""

    def __init__(self, *, refuse: bool = False) -> None:
        self.refuse, self.events, self.costs = refuse, list[str](), list[Cost]()

    def charge(self, cost: Cost, /) -> str:
        if self.refuse:
            raise BudgetError("Expected a smaller epsilon. Nothing was charged.")
        self.events.append("charge")
        self.costs.append(cost)
        return "id 7"

    def look(self) -> None:
        self.events.append("look")

    def explode(self, error: BaseException) -> None:
        self.look()
        raise error


class Keeper(Recorder):
    """A budget that keeps answers, or fails to."""

    def __init__(self, failure: BaseException | None = None) -> None:
        super().__init__()
        self.failure, self.kept = failure, list[tuple[str, str]]()

    def keep(self, charge: str, answer: str, /) -> None:
        if self.failure is not None:
            raise self.failure
        self.kept.append((charge, answer))


def test_one_charge_of_the_right_cost_before_the_data(ask: Ask) -> None:
    budget = Recorder()
    made = ask(ask.armed(budget.look), budget=budget)
    assert budget.events[0] == "charge"
    assert set(budget.events[1:]) == {"look"}
    assert budget.costs == [ask.cost]
    assert (made.epsilon, made.rho) == (ask.cost.epsilon, ask.cost.rho)
    assert (made.mechanism, made.neighbours) == (ask.cost.mechanism, ask.cost.neighbours)
    assert (made.leaks, made.charge, made.secure) == ((), "id 7", True)


def test_a_release_comes_back_from_its_json(ask: Ask) -> None:
    text = ask(budget=Recorder()).to_json()
    assert Release.from_json(text).to_json() == text


def test_an_insecure_release_comes_back_insecure(ask: Ask) -> None:
    text = ask(entropy=InsecureEntropy(1, allow_release=True)).to_json()
    again = Release.from_json(text)
    assert again.secure is False
    assert again.to_json() == text


def test_a_release_has_all_facts_for_an_auditor(ask: Ask) -> None:
    shown = json.loads(ask(budget=Recorder()).to_json())
    assert shown["version"] == version("dampen")
    assert shown["charge"] == "id 7"
    assert shown["leaks"] == []
    assert shown["secure"] is True
    assert shown["epsilon"] == decimal_text(EPSILON)
    assert shown["neighbours"] == str(ask.cost.neighbours)
    assert json.loads(ask().to_json())["charge"] is None


def test_every_answer_says_what_it_is_worth_or_that_this_is_not_known(ask: Ask) -> None:
    made = ask()
    assert made.accuracy.sentence.endswith(".")
    assert (made.accuracy == UNKNOWN) == (ask.name in NOT_TOLD)
    shown = json.loads(made.to_json()), str(made), made._repr_html_()
    assert shown[0]["accuracy"] == made.accuracy.to_dict()
    assert f"accuracy: {made.accuracy.sentence}" in shown[1]
    assert html.escape(made.accuracy.sentence) in shown[2]


def test_parameters_come_first(ask: Ask) -> None:
    for change in (*ALWAYS_WRONG, *ask.wrong):
        budget = Recorder()
        with pytest.raises(ParameterError):
            ask(ask.armed(budget.look), **({"budget": budget} | change))
        assert budget.events == [], change


@pytest.mark.parametrize("epsilon", ["1e-14", "1e-11", "1e-8", "1e-5", "50", "1e6", "1e12"])
def test_an_extreme_epsilon_is_refused_before_the_charge_or_answered(
    ask: Ask, epsilon: str
) -> None:
    """Noise of too large a scale was an error after the charge; a threshold at 1e12 never ended."""
    budget = Recorder()
    try:
        made = ask(ask.armed(budget.look), budget=budget, epsilon=epsilon)
    except ParameterError:
        assert budget.events == []
    else:
        assert made.epsilon == sum(cost.epsilon for cost in budget.costs)


def test_a_refused_charge_sees_nothing(ask: Ask) -> None:
    budget = Recorder(refuse=True)
    with pytest.raises(BudgetError, match="Nothing was charged"):
        ask(ask.armed(budget.look), budget=budget)
    assert budget.events == []


@pytest.mark.parametrize(
    "error",
    [ValueError(WORD), KeyError(WORD, NUMBER), OSError(5, WORD), StopIteration(WORD),
     AssertionError(WORD), MemoryError(WORD), RecursionError(WORD), UserWarning(WORD),
     ParameterError(f"Expected k <= {NUMBER}, got k={NUMBER}.")],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_data_that_explodes_costs_the_charge_and_tells_nothing(ask: Ask, error: Exception) -> None:
    budget = Recorder()
    with listening(DataError) as ears:
        ask(ask.armed(lambda: budget.explode(error)), budget=budget)
    assert budget.events == ["charge", "look"]
    assert str(ears.error).endswith(STANDS)
    assert_tells_nothing(ears)


def test_bad_rows_are_answered_without_a_trace(ask: Ask) -> None:
    for data in ask.bad:
        budget = Recorder()
        with listening(DataError) as ears:
            ask(data, budget=budget)
        assert budget.events == ["charge"]
        assert secrets_in(ears.text()) == []
        if ears.error is not None:
            assert ask.name in NOT_ROWS, data
            assert str(ears.error).endswith(STANDS)
            assert_tells_nothing(ears)


def assert_tells_nothing(ears: Any) -> None:
    assert ears.error is not None
    assert secrets_in(ears.text()) == []
    assert ears.error.__cause__ is None
    assert ears.error.__context__ is None


def test_errors_without_a_budget_do_not_mention_a_charge(ask: Ask) -> None:
    if not ask.bad:
        pytest.skip("no data is wrong")
    with pytest.raises(DataError) as caught:
        ask(ask.armed(lambda: Recorder().explode(ValueError())))
    assert "charge of" not in str(caught.value)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_passes_and_carries_a_note(ask: Ask, interrupt: type[BaseException]) -> None:
    budget = Recorder()

    def look() -> None:
        try:
            raise ValueError(WORD)
        except ValueError:
            budget.explode(interrupt())

    with listening(interrupt) as ears:
        ask(ask.armed(look), budget=budget)
    assert budget.events == ["charge", "look"]
    assert getattr(ears.error, "__notes__", []) == [STANDS]
    assert secrets_in(ears.text()) == []
    with pytest.raises(interrupt) as caught:
        ask(ask.armed(lambda: budget.explode(interrupt())))
    assert not hasattr(caught.value, "__notes__")


def test_a_leak_causes_a_warning_before_the_charge_and_is_recorded(ask: Ask) -> None:
    if not ask.leaky:
        pytest.skip("it has no public parameter that could be taken from the data")
    budget = Recorder()
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        with pytest.raises(PrivacyLeakWarning):
            ask(ask.armed(budget.look), budget=budget, **ask.leaky)
    assert budget.events == []
    with pytest.warns(PrivacyLeakWarning) as caught:
        made = ask(ask.armed(budget.look), budget=budget, **ask.leaky)
    assert {warning.filename for warning in caught} & callers(ask)
    assert budget.events[0] == "charge"
    assert budget.costs[0].leaks == made.leaks == ask.leaks
    assert json.loads(made.to_json())["leaks"] == list(ask.leaks)
    assert "NOT COVERED BY EPSILON" in repr(made)
    refusing = Recorder(refuse=True)
    with pytest.warns(PrivacyLeakWarning), pytest.raises(BudgetError):
        ask(ask.armed(refusing.look), budget=refusing, **ask.leaky)
    assert refusing.events == []


def callers(ask: Ask) -> set[str]:
    """Where the question is asked, which a warning must point at: the entry or what it calls."""
    entry = type(ask).__call__.__code__.co_filename
    called = ask.run
    own = called.__module__.startswith("dampen")
    return {entry} if own else {entry, called.__code__.co_filename}


def test_an_answer_is_kept_beside_its_charge(ask: Ask) -> None:
    budget = Keeper()
    made = ask(budget=budget)
    assert budget.kept == [("id 7", made.to_json())]


@pytest.mark.parametrize("failure", [BudgetError, OSError, RuntimeError])
def test_an_answer_that_cannot_be_kept_is_not_lost(ask: Ask, failure: type[Exception]) -> None:
    assert isinstance(ask(budget=Keeper(failure("full"))), Release)


def test_an_interrupt_while_an_answer_is_kept_carries_a_note(ask: Ask) -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        ask(budget=Keeper(KeyboardInterrupt()))
    assert caught.value.__notes__ == [STANDS]


def test_seeded_bits_repeat_the_answer_and_are_declared(ask: Ask) -> None:
    one, two = (ask(entropy=InsecureEntropy(3, allow_release=True)) for _ in range(2))
    assert one.to_json() == two.to_json()
    assert json.loads(one.to_json())["secure"] is False
    assert "NOT SECURE" in repr(one)


def test_entropy_that_is_not_secure_must_be_allowed(ask: Ask) -> None:
    class Weak:
        secure = False
        read = SystemEntropy().read

    budget = Recorder()
    with pytest.raises(ParameterError, match="secure entropy"):
        ask(budget=budget, entropy=Weak())
    assert budget.events == []


def test_secure_entropy_is_shared_and_never_copied(ask: Ask) -> None:
    """Bits that are drawn twice would show the difference of two data sets without noise."""

    class Counting:
        secure = True
        read_so_far = 0

        def read(self, size: int, /) -> bytes:
            self.read_so_far += size
            return SystemEntropy().read(size)

        def __deepcopy__(self, memo: Any) -> Any:
            raise AssertionError("secure entropy was copied")

        __copy__ = __deepcopy__

    entropy = Counting()
    ask(entropy=entropy)
    first = entropy.read_so_far
    assert first > 0
    ask(entropy=entropy)
    assert entropy.read_so_far > first


PUBLIC = {
    "categories", "classes", "domains", "groups", "labels", "lower", "max_rows", "n", "nodes",
    "step", "upper",
}  # fmt: skip
"""Public facts that somebody may not know."""


def test_a_missing_fact_is_found_privately_or_asked_for(ask: Ask) -> None:
    """Never taken from the data, unless `public="data"` says so."""
    for name in PUBLIC & ask.given.keys():
        options = {key: value for key, value in ask.given.items() if key != name}
        unstated = replace(ask, given=options)
        budget = Recorder()
        made, refusal = _made_or_refused(unstated, budget)
        if made is None:
            assert budget.events == [], name
            assert name in refusal, name
        else:
            assert made.leaks == (), name
            assert budget.events[0] == "charge", name
    if ask.leaks:
        assert ask.leaky.get("public") == "data"


def _made_or_refused(ask: Ask, budget: Recorder) -> tuple[Release | None, str]:
    """Python's own words name an argument that a signature asks for."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        try:
            return ask(ask.armed(budget.look), budget=budget), ""
        except (ParameterError, TypeError) as error:
            return None, str(error)
