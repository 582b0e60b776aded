"""(ε, δ) budgets: bounds that never round down, against Google's accountants and by enumeration."""

import functools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from dampen.core.losses import ANY, Loss, composed_epsilon
from dampen.core.noise import pure_rho
from dampen.core.zcdp import epsilon_at, rho_within
from dampen.errors import BudgetError, ParameterError
from dampen.ledger import Charge, Entry, Kind, Ledger, Limit, Spent

DELTA = Fraction("1e-6")
EDGES = {"neighbours": "add-remove-edge"}


def tightest(rho: float, delta: float) -> float:
    """The least ε over α, in floats: right to some ten digits."""

    def bound(x: float) -> float:
        a = 1 + math.exp(x)
        g = (math.log(1 / delta) + (a - 1) * math.log(a - 1) - a * math.log(a)) / (a - 1)
        return a * rho + g

    grid = np.linspace(-20, 20, 4001)
    start = grid[np.argmin([bound(x) for x in grid])]
    best = minimize_scalar(bound, bounds=(start - 0.02, start + 0.02), method="bounded").fun
    return max(0.0, float(best))


@pytest.mark.parametrize("rho", ["0.00001", "0.001", "0.125", "1", "7.5", "40"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-6", "0.01", "0.5"])
def test_the_bound_is_the_best_over_all_orders(rho: str, delta: str) -> None:
    found = float(epsilon_at(Fraction(rho), Fraction(delta)))
    expected = tightest(float(rho), float(delta))
    assert expected * (1 - 1e-8) - 1e-12 <= found <= expected * (1 + 1e-8) + 1e-8


def test_a_hundred_answers_of_the_exponential_mechanism() -> None:
    assert epsilon_at(100 * Fraction("0.1") ** 2 / 8, DELTA) <= Fraction("2.43")


@pytest.mark.parametrize("delta", ["1e-59", "1e-6", "0.999"])
def test_both_directions_agree_and_round_to_the_safe_side(delta: str) -> None:
    d = Fraction(delta)
    for exponent in (-50, -20, -6, -2, 0, 1, 3, 20, 50):
        rho = Fraction(10) ** exponent
        epsilon = epsilon_at(rho, d)
        assert epsilon_at(rho * 2, d) >= epsilon
        if epsilon > 0:
            assert rho_within(epsilon, d) >= rho * (1 - Fraction(1, 10**6))
            assert epsilon_at(rho_within(epsilon, d), d) <= epsilon * (1 + Fraction(1, 10**9))
    assert epsilon_at(Fraction(0), d) == 0


def bounded_range(epsilon: float, t: float) -> tuple[list[float], list[float]]:
    """Two distributions on two outcomes whose privacy loss is t or t - ε: an extreme of EM."""
    q = (1 - math.exp(t - epsilon)) / (math.exp(t) - math.exp(t - epsilon))
    p = q * math.exp(t)
    return [p, 1 - p], [q, 1 - q]


def sequences() -> Iterator[list[tuple[str, float]]]:
    rng = np.random.default_rng(7)
    for _ in range(6):
        kinds = rng.choice(["em", "rr", "laplace"], rng.integers(3, 25))
        yield [(str(kind), float(rng.choice([0.02, 0.1, 0.3, 0.5]))) for kind in kinds]


def rho_of(kind: str, epsilon: float) -> Fraction:
    return Fraction(str(epsilon)) ** 2 / (8 if kind == "em" else 2)


def true_cost(sequence: list[tuple[str, float]], delta: float) -> float:
    """The ε of a sequence by numerical composition, never above the truth."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    options = {"pessimistic_estimate": False, "value_discretization_interval": 1e-3}
    losses = []
    for i, (kind, epsilon) in enumerate(sequence):
        if kind == "laplace":
            laplace = pld.from_laplace_mechanism(1 / epsilon, use_connect_dots=False, **options)
            losses.append(laplace)
        else:
            # Randomised response has losses ε and -ε; an exponential mechanism t and t - ε.
            t = epsilon * (0.25, 0.5, 0.75)[i % 3]
            p, q = bounded_range(*((epsilon, t) if kind == "em" else (2 * epsilon, epsilon)))
            upper, lower = dict(enumerate(np.log(p))), dict(enumerate(np.log(q)))
            losses.append(pld.from_two_probability_mass_functions(lower, upper, **options))
    total = functools.reduce(lambda one, other: one.compose(other), losses)
    return float(total.get_epsilon_for_delta(delta))


@pytest.mark.parametrize("sequence", list(sequences()), ids=lambda s: f"{len(s)} answers")
def test_never_below_the_truth_and_close_to_the_zcdp_accountant(
    sequence: list[tuple[str, float]],
) -> None:
    dp_accounting = pytest.importorskip("dp_accounting")
    rho = sum(rho_of(*each) for each in sequence)
    stated = float(epsilon_at(rho, DELTA))
    assert stated >= true_cost(sequence, float(DELTA))
    accountant = dp_accounting.rdp.RdpAccountant()
    accountant.compose(dp_accounting.ZCDpEvent(rho=float(rho)))
    theirs = accountant.get_epsilon(float(DELTA))
    assert theirs * 0.95 <= stated <= theirs * 1.05


def test_a_budget_reports_its_composition_and_pays_by_zcdp(ledger: Ledger) -> None:
    account = ledger.create("many", epsilon="5", delta="1e-6", **EDGES)
    assert account.composed == 0
    for _ in range(60):
        ledger.charge("many", epsilon="0.1", **EDGES)  # type: ignore[arg-type]
    counts = Loss(Fraction("0.1"), times=60)
    assert account.composed == composed_epsilon([counts], DELTA) < account.spent
    ledger.charge("many", epsilon=None, rho="0.001", **EDGES)  # type: ignore[arg-type]
    both = composed_epsilon([counts], DELTA, Fraction("0.001"))
    assert composed_epsilon([counts], DELTA) < account.composed == both < account.spent
    assert ledger.remaining("many") == 5 - account.spent


def test_a_charge_may_state_what_it_loses(ledger: Ledger) -> None:
    """Continuous noise, and 1,000 charges of few rows' counts; nothing else of a budget changes."""
    account = ledger.create("many", epsilon="9", delta="1e-6", **EDGES)
    said = [Loss(Fraction("0.2"), ANY)]
    for _ in range(50):
        ledger.charge("many", epsilon="0.2", losses=said, **EDGES)  # type: ignore[arg-type]
    worst = composed_epsilon([Loss(Fraction("0.2"), times=50)], DELTA)
    assert account.composed == composed_epsilon(50 * said, DELTA) < worst
    assert account.history[-1].losses == tuple(said)
    assert ledger.entries("many")[-1].details["losses"] == "0.2 in any steps"
    assert account.balance.spent.epsilon == 10
    assert account.balance.spent.rho == 50 * pure_rho(Fraction("0.2"))


def test_losses_are_converted_with_their_charge(ledger: Ledger) -> None:
    account = ledger.create("rows", epsilon="9", delta="1e-6", neighbours="replace-one")
    row = {"epsilon": "0.1", "neighbours": "add-remove-row"}
    ledger.charge("rows", **row)  # type: ignore[arg-type]
    ledger.charge("rows", losses=[Loss(Fraction("0.05"), 7, 2)], **row)  # type: ignore[arg-type]
    ledger.charge("rows", epsilon="0.2", neighbours="replace-one")
    two = Loss(Fraction("0.2"), 2)
    assert [each.losses for each in account.history] == [
        (two,), (Loss(Fraction("0.1"), 14, 2),), ()
    ]  # fmt: skip


@pytest.mark.parametrize(
    "losses",
    [
        [Loss(Fraction("0.2"))],
        [Loss(Fraction("0.05"), times=3)],
        [Loss(Fraction("0.1")), Loss(Fraction("0.1"))],
    ],
)
def test_losses_that_do_not_add_up_are_refused(ledger: Ledger, losses: list[Loss]) -> None:
    ledger.create("many", epsilon="9", delta="1e-6", **EDGES)
    for cost in ({"epsilon": "0.1"}, {"rho": "0.1"}):
        with pytest.raises(ParameterError, match="add up"):
            ledger.charge("many", losses=losses, **cost, **EDGES)  # type: ignore[arg-type]
    assert ledger.history("many") == []


@pytest.mark.parametrize(
    "said",
    ["0.2 in any steps", "0.01 in any steps", "0.1 in -1 steps", "gaussian", 7, "0.1 in 1e9 steps"],
)
def test_losses_that_cannot_be_relied_on_count_as_the_worst_noise(said: object) -> None:
    """Entries that somebody forged, or a later version wrote."""
    details = {
        "epsilon": "0.1", "rho": "0.005", "query": "", "mechanism": "", "analyst": "",
        "dataset": "", "leaks": [], "version": "9", "time": "2026-01-01T00:00:00+00:00",
        "neighbours": "add-remove-edge", "losses": said,
    }  # fmt: skip
    assert Charge.of(Entry("1-0", Kind.CHARGE, "b", details)).losses == ()
    true = details | {"losses": "0.1 in any steps"}
    assert Charge.of(Entry("1-0", Kind.CHARGE, "b", true)).losses == (Loss(Fraction("0.1"), ANY),)


@pytest.fixture
def many(ledger: Ledger) -> Ledger:
    ledger.create("many", epsilon="2.5", delta="1e-6", **EDGES)
    return ledger


def ask(ledger: Ledger, times: int, **cost: object) -> int:
    for i in range(times):
        try:
            ledger.charge("many", **EDGES, **cost)  # type: ignore[arg-type]
        except BudgetError:
            return i
    return times


def test_many_small_answers_cost_less_than_their_sum(many: Ledger) -> None:
    granted = ask(many, 300, epsilon="0.1", rho="0.00125")
    assert 100 <= granted < 300
    balance = many.balance("many")
    assert balance.spent.epsilon == Fraction(granted, 10)
    assert balance.limit.rho is not None
    assert balance.spent.rho <= balance.limit.rho < balance.spent.rho + Fraction("0.00125")
    assert Fraction("2.4") < many.spent("many") <= Fraction("2.5")
    with pytest.raises(BudgetError, match=r"rho .* of .* \(epsilon 2\.5 at delta 0\.000001\) is"):
        many.charge("many", epsilon="0.1", **EDGES)


def test_a_few_large_answers_are_never_dearer_than_their_sum(many: Ledger) -> None:
    assert ask(many, 9, epsilon="0.5") == 5
    assert many.spent("many") == Fraction("2.5")
    assert many.remaining("many") == 0


def test_answers_without_a_pure_epsilon(many: Ledger) -> None:
    assert ask(many, 9, rho="0.05") == 2
    assert many.balance("many").spent.epsilon is None
    assert [row.epsilon for row in many.history("many")] == [None, None]
    with pytest.raises(BudgetError, match="has no delta, and this release has no pure epsilon"):
        many.charge("payroll", rho="0.001", neighbours="replace-one")


def test_caps_raises_and_conversions_of_a_budget_with_delta(ledger: Ledger) -> None:
    one = ledger.create("one", epsilon=1, delta="1e-6", each="0.5", neighbours="replace-one")
    for who in ("a", "b"):
        ledger.charge("one", epsilon="0.5", neighbours="replace-one", analyst=who)
    with pytest.raises(BudgetError, match="left for this analyst"):
        ledger.charge("one", epsilon="0.1", neighbours="replace-one", analyst="a")
    one.raise_to(2)
    assert one.balance.limit == Limit.of(Fraction(2), DELTA)
    ledger.charge("one", epsilon="0.1", rho="0.001", neighbours="add-remove-row", analyst="c")
    assert one.history[-1].epsilon == Fraction("0.2")
    assert one.history[-1].rho == Fraction("0.004")


@pytest.mark.parametrize("own_rho", [None, "0.001"])
def test_a_conversion_never_charges_more_than_any_release_of_its_epsilon(
    ledger: Ledger, own_rho: str | None
) -> None:
    """2 steps at ε = 1 are 2-DP, which costs ρ = 1.523 at most, and not 4 times 0.462."""
    one = ledger.create("one", epsilon=4, delta="1e-6", neighbours="replace-one")
    ledger.charge("one", epsilon=1, rho=own_rho, neighbours="add-remove-row")
    (charged,) = one.history
    assert charged.epsilon == 2
    assert charged.rho == (pure_rho(Fraction(2)) if own_rho is None else 4 * Fraction(own_rho))
    assert 1.523 < float(pure_rho(Fraction(2))) < 1.5232
    said = "as for any release of that epsilon" if own_rho is None else "4 times"
    assert f"2 times, rho {said}, because 2" in charged.converted


# The filter by enumeration: an analyst asks randomised response again and again, each time at an ε
# that depends on the answers so far, until the budget refuses.  What is the largest δ at ε?

Filter = Callable[[list[Fraction]], bool]


def transcripts(
    grants: Filter, asked: list[Fraction], answers: str
) -> Iterator[tuple[float, float]]:
    """The probabilities, on two neighbouring databases, of everything that can be answered."""
    wanted = [Fraction("0.3"), Fraction("0.1")]
    if answers.startswith("1"):
        wanted = [Fraction("1.6"), *wanted]
    epsilon = next((e for e in wanted if grants([*asked, e])), None)
    if epsilon is None:
        yield 1.0, 1.0
        return
    yes = 1 / (1 + math.exp(-float(epsilon)))
    for answer, (p, q) in {"1": (yes, 1 - yes), "0": (1 - yes, yes)}.items():
        for later_p, later_q in transcripts(grants, [*asked, epsilon], answers + answer):
            yield p * later_p, q * later_q


def delta_of(grants: Filter, epsilon: float) -> float:
    pairs = list(transcripts(grants, [], ""))
    assert math.isclose(sum(p for p, _ in pairs), 1, abs_tol=1e-9)
    one = math.fsum(max(0.0, p - math.exp(epsilon) * q) for p, q in pairs)
    other = math.fsum(max(0.0, q - math.exp(epsilon) * p) for p, q in pairs)
    return max(one, other)


LIMIT = Limit(Fraction(2), Fraction("0.02"), rho_within(Fraction(2), Fraction("0.02")))
"""With the ρ of all of its δ: the theorem of `dampen.core.zcdp`."""


def spent_on(costs: list[Fraction]) -> Spent:
    total = Spent()
    for cost in costs:
        total = total.plus(cost, cost**2 / 2)
    return total


def test_either_sum_may_be_spent_by_enumeration() -> None:
    def grants(costs: list[Fraction]) -> bool:
        return LIMIT.covers(spent_on(costs))

    assert len(list(transcripts(grants, [], ""))) > 200
    assert LIMIT.delta is not None
    assert 0 < delta_of(grants, float(LIMIT.epsilon)) <= LIMIT.delta


def test_a_broken_twin_with_two_separate_sums_is_found() -> None:
    """Large answers paid by ε and small ones by ρ, neither counted in the other sum."""

    def grants(costs: list[Fraction]) -> bool:
        large = spent_on([cost for cost in costs if cost > 1])
        small = spent_on([cost for cost in costs if cost <= 1])
        assert large.epsilon is not None
        assert LIMIT.rho is not None
        return large.epsilon <= LIMIT.epsilon and small.rho <= LIMIT.rho

    assert LIMIT.delta is not None
    assert delta_of(grants, float(LIMIT.epsilon)) > LIMIT.delta
