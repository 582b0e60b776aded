"""What rho buys: discrete Gaussian noise on counts, totals, means and rankings."""

from fractions import Fraction

import numpy as np
import pytest

import dampen
from dampen import Ledger, Release
from dampen.core.sampling import InsecureEntropy
from dampen.errors import BudgetError, DataError, ParameterError
from dampen.releases.numbers import GAUSSIAN, RatioLaw, ShiftLaw, drawn_noise
from goodness import assert_draws_follow, counts_of

RHO = Fraction(1, 8)  # σ = 2
DATA = {"v": [1.0, 2.0, 2.0, float("nan"), 9.0], "g": ["a", "b", "b", "a", "c"]}
ASKED = {
    "count": (lambda **given: dampen.count(DATA, **given), 5, 1),
    "histogram": (lambda **given: dampen.histogram(DATA, "g", categories=["b"], **given), 2, 1),
    "total": (lambda **given: dampen.total(DATA, "v", lower=0, upper=4, step=1, **given), 9, 4),
    "ranking": (
        lambda **given: dampen.most_frequent(DATA, "g", categories=["b", "c"], k=2, **given),
        2,
        1,
    ),
}


def law(window, true, scale):
    p = np.exp(-((np.array(window) - true) ** 2) / (2 * float(scale) ** 2))
    return p / p.sum()


@pytest.mark.parametrize("name", list(ASKED))
def test_draws_follow_the_stated_law(name):
    """False alarms below 1e-7; a scale that is 30 % off is rejected."""
    ask, true, sensitivity = ASKED[name]
    entropy = InsecureEntropy(5, allow_release=True)
    made = [ask(rho=RHO, entropy=entropy) for _ in range(2100)]
    drawn = [m.numbers["b"] if isinstance(m.numbers, dict) else m.numbers for m in made]
    window = range(true - 100, true + 101)
    scale = 2 * sensitivity
    assert_draws_follow(
        counts_of(drawn, window), law(window, true, scale), law(window, true, 1.3 * scale)
    )
    assert {m.mechanism for m in made} == {"discrete-gaussian"}


@pytest.mark.parametrize("name", [*ASKED, "mean"])
def test_the_cost_is_rho_and_no_epsilon(name):
    ask = ASKED.get(name, [lambda **given: dampen.mean(DATA, "v", lower=0, upper=4, **given)])[0]
    made = ask(rho="0.125")
    assert (made.epsilon, made.rho) == (None, RHO)
    assert "rho=0.125" in repr(made)
    assert "rho: 0.125" in str(made)
    back = Release.from_json(made.to_json())
    assert (back.epsilon, back.law, back.interval()) == (None, made.law, made.interval())
    assert ask(epsilon="0.5").epsilon == Fraction(1, 2)


def test_the_charge_is_rho_and_a_pure_budget_refuses(tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    private = ledger.create("private", epsilon=1, delta="1e-6", neighbours="add-remove-row")
    pure = ledger.create("pure", epsilon=1, neighbours="add-remove-row")
    made = dampen.count(DATA, rho="0.001", budget=private)
    [entry] = private.history
    assert (entry.rho, entry.epsilon) == (made.rho, None)
    assert Fraction(999999999999, 10**15) < entry.rho <= Fraction(1, 1000)
    assert made.charge == entry.id
    with pytest.raises(BudgetError, match="no pure epsilon"):
        dampen.count(DATA, rho="0.001", budget=pure)
    assert dampen.count(DATA, epsilon="0.1", budget=pure).answer is not None


def test_persons_and_replaced_rows_pay_rho():
    data = {"who": ["a", "a", "b", "c"], "v": ["x", "y", "x", "y"]}
    people = dampen.dataset(data, unit="who")
    fixed = dampen.dataset({"v": data["v"]}, units_public=True)
    for asked in (people, fixed):
        made = asked.histogram("v", categories=["x", "y"], rho="0.02")
        assert made.epsilon is None
        assert Fraction("0.019999999999") < made.rho <= Fraction(1, 50)


def test_a_run_of_tune_refuses_what_has_no_epsilon():
    with pytest.raises(DataError, match="rho alone"):
        dampen.tune(
            [1],
            lambda candidate, share: dampen.count(DATA, rho="0.001", budget=share).answer,
            neighbours="add-remove-row",
            epsilon=1,
        )


def test_noise_that_would_not_fit_is_refused_before_the_charge():
    with pytest.raises(ParameterError, match="larger epsilon"):
        dampen.most_frequent(DATA, "g", categories=["a", "b"], k=2, rho="1e-30")
    with pytest.raises(ParameterError, match="larger epsilon"):
        dampen.count(DATA, rho="1e-30")


@pytest.mark.parametrize("scale", [Fraction(4), Fraction(50)])
def test_counts_are_held_as_often_as_stated(scale):
    """100,000 draws: 95 %, and no more than one further step of the noise adds."""
    law = ShiftLaw(scale, least=0, noise=GAUSSIAN)
    noise = drawn_noise(GAUSSIAN, scale, 100_000, InsecureEntropy(1))
    low, high = law.interval(1000, Fraction(1, 20))
    held = np.mean((noise >= low - 1000) & (noise <= high - 1000))
    assert 0.947 <= held <= 0.953 + 2 * 0.0585 / float(scale)


@pytest.mark.parametrize(("above", "below"), [(0, 4000), (300, 700), (2000, 2000), (0, 0)])
def test_means_are_held_as_often_as_stated(above, below):
    """3,000 draws; five standard deviations of slack."""
    law = RatioLaw(Fraction(100), Fraction(5), Fraction(15), Fraction(1), GAUSSIAN)
    noise = drawn_noise(GAUSSIAN, law.scale, 6000, InsecureEntropy(2)).reshape(-1, 2)
    true = 5 + 10 * above / (above + below) if above + below else 10
    held = 0
    for one, other in noise.tolist():
        rows = (above + below + one + other) / 10
        low, high = law.interval({"sum": 5 * rows + above + one, "count": rows}, Fraction(1, 20))
        held += low <= true + 1e-9 and true - 1e-9 <= high
    assert held / len(noise) > 0.93
    if above + below == 4000 and above:
        assert held / len(noise) < 0.97
