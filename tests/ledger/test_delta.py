"""Charges with a δ: they add up, and no budget promises less than the truth."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from statistics import NormalDist

import pytest

import dampen
from dampen.core.noise import pure_rho
from dampen.core.zcdp import epsilon_at, rho_within
from dampen.errors import BudgetError
from dampen.ledger.state import Limit, Spent
from dampen.releases.cost import group_delta

WORDS = ["weather"] * 400 + ["news"] * 90
ASKED = {"epsilon": "0.5", "delta": "1e-6"}


@pytest.fixture
def ledger(tmp_path):
    return dampen.Ledger(tmp_path / "ledger.sqlite3")


def test_a_pure_budget_refuses_a_delta_with_the_reason(ledger):
    pure = ledger.create("pure", epsilon=9, neighbours="add-remove-row")
    with pytest.raises(BudgetError, match=r"is pure.*needs delta 0.000001.*with delta="):
        dampen.keys(WORDS, **ASKED, budget=pure)
    assert ledger.history("pure") == []


def test_the_delta_of_charges_adds_up_to_that_of_the_budget(ledger, tmp_path):
    both = ledger.create("both", epsilon=100, delta="6e-6", neighbours="add-remove-row")
    for _ in range(3):
        dampen.keys(WORDS, **ASKED, budget=both)
    assert [str(charge.delta) for charge in ledger.history("both")] == ["1/1000000"] * 3
    with pytest.raises(
        BudgetError, match=r"cannot pay delta 0.000001\. .* half .* 0.000003, .*0.000008 or more"
    ):
        dampen.keys(WORDS, **ASKED, budget=both)
    dampen.most_frequent(WORDS, categories=["news", "weather"], epsilon=1, budget=both)
    again = dampen.Ledger(tmp_path / "ledger.sqlite3")
    assert again.balance("both").spent.delta == Fraction(3, 10**6)
    assert again.spent("both") == ledger.spent("both") == Fraction(5, 2)


def test_a_budget_of_02_keeps_its_rho_and_refuses_releases_with_a_delta(ledger, monkeypatch):
    """All of its δ was taken for zCDP when it was opened."""
    epsilon = Fraction(1)
    delta = Fraction(1, 10**6)
    whole = Limit(epsilon, delta, rho_within(epsilon, delta))
    with monkeypatch.context() as patch:
        patch.setattr(Limit, "of", lambda *_: whole)
        old = ledger.create("old", epsilon=1, delta="1e-6", neighbours="add-remove-row")
    assert ledger.balance("old").limit == whole
    with pytest.raises(BudgetError, match=r"opened by dampen 0\.2 .*Open another budget"):
        dampen.keys(WORDS, epsilon="0.1", delta="1e-9", budget=old)
    ledger.charge("old", epsilon=9, rho=whole.rho, neighbours="add-remove-row")
    with pytest.raises(BudgetError, match="cannot pay"):
        ledger.charge("old", epsilon=1, rho="0.001", neighbours="add-remove-row")


def test_half_of_delta_is_for_zcdp_and_half_for_charges_with_a_delta():
    epsilon, delta = Fraction(2), Fraction(1, 10**6)
    limit = Limit.of(epsilon, delta)
    older = Limit(epsilon, delta, rho_within(epsilon, delta))
    for n, each in product((1, 10, 60), (Fraction(0), Fraction(1, 10**8), Fraction(1, 10**7))):
        spent = Spent()
        for _ in range(n):
            spent.add(Fraction(1, 20), Fraction(1, 800), each)
        by_sum = Fraction(n, 20) <= epsilon
        by_zcdp = epsilon_at(Fraction(n, 800), delta / 2) <= epsilon
        granted = n * each <= delta / 2 and (by_sum or by_zcdp)
        assert limit.covers(spent) == granted
        assert older.covers(spent) == (not each and (by_sum or spent.rho <= older.rho))


def excess_of_gaussian(rho: float, epsilon: float) -> float:
    """The δ at ε of Gaussian noise that costs ρ, exactly."""
    if rho <= 0:
        return max(0.0, 1 - math.exp(epsilon))
    shift = math.sqrt(2 * rho)
    below = NormalDist().cdf
    near = below(shift / 2 - epsilon / shift)
    return near - math.exp(epsilon) * below(-shift / 2 - epsilon / shift)


def largest(fits: Callable[[Fraction], bool], most: Fraction) -> Fraction:
    """The largest amount up to `most` that fits, nearly."""
    low = Fraction(0)
    for _ in range(30):
        middle = (low + most) / 2
        low, most = (middle, most) if fits(middle) else (low, middle)
    return low


def whole_at_the_remainder(limit: Limit, spent: Spent) -> bool:
    """The broken twin: one δ, of which charges and conversion take what the other leaves."""
    assert limit.delta is not None
    left = limit.delta - spent.delta
    if spent.epsilon is not None and spent.epsilon <= limit.epsilon and left >= 0:
        return True
    return left > 0 and epsilon_at(spent.rho, left) <= limit.epsilon


@pytest.mark.parametrize(("rule", "least", "most"), [
    (Limit.covers, 0.3, 1.0),
    (whole_at_the_remainder, 1.15, 1.2),
])  # fmt: skip
def test_answers_may_decide_how_delta_is_spent(rule, least, most):
    """8 answers, then Gaussian noise if 7 say yes, else one answer that may tell everything."""
    epsilon, delta = Fraction(1), Fraction(1, 100)
    limit = Limit.of(epsilon, delta)
    n, needed, each = 8, 7, Fraction("0.123")
    before = Spent()
    for _ in range(n):
        before.add(each, pure_rho(each))
    rest = epsilon - n * each
    rho = largest(lambda r: rule(limit, before.plus(None, r)), Fraction(1))
    own = largest(lambda d: rule(limit, before.plus(rest, pure_rho(rest), d)), delta)
    yes = 1 / (1 + math.exp(-float(each)))
    found = 0.0
    for count in range(n + 1):
        chance = math.comb(n, count) * yes**count * (1 - yes) ** (n - count)
        lost = (2 * count - n) * float(each)
        after = excess_of_gaussian(float(rho), float(epsilon) - lost)
        found += chance * (after if count >= needed else float(own))
    assert least <= found / float(delta) <= most


def test_sums_without_a_delta_are_kept_as_before():
    spent = Spent()
    spent.add(Fraction(1, 3), Fraction(1, 18))
    assert len(spent.sums()) == 4
    spent.add(Fraction(1, 3), Fraction(1, 18), Fraction(1, 9))
    assert len(spent.sums()) == 6


@pytest.mark.parametrize("steps", [2, 5])
def test_the_delta_of_a_group_is_never_too_small(steps):
    from flint import arb, fmpq

    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(7, 2)):
        found = group_delta(Fraction(1, 10**9), epsilon, steps)
        powers = [arb(fmpq(i * epsilon.numerator, epsilon.denominator)).exp() for i in range(steps)]
        exact = sum(powers, arb(0)) / 10**9
        assert arb(fmpq(found.numerator, found.denominator)) >= exact
        assert float(found) <= float(exact.mid()) * (1 + 1e-6)


def test_replaced_rows_pay_for_both_steps():
    words = dampen.dataset({"word": WORDS}, units_public=True)
    released = words.keys("word", **ASKED)
    assert released.delta > Fraction(2, 10**6)
    assert released.epsilon == Fraction(1, 2)
