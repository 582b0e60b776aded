"""Charges with a δ: they add up, and no budget promises less than the truth."""

from fractions import Fraction
from itertools import product

import pytest

import dampen
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
    both = ledger.create("both", epsilon=100, delta="3e-6", neighbours="add-remove-row")
    for _ in range(3):
        dampen.keys(WORDS, **ASKED, budget=both)
    assert [str(charge.delta) for charge in ledger.history("both")] == ["1/1000000"] * 3
    with pytest.raises(BudgetError, match="cannot pay"):
        dampen.keys(WORDS, **ASKED, budget=both)
    dampen.most_frequent(WORDS, categories=["news", "weather"], epsilon=1, budget=both)
    again = dampen.Ledger(tmp_path / "ledger.sqlite3")
    assert again.balance("both").spent.delta == Fraction(3, 10**6)
    assert again.spent("both") == ledger.spent("both") == Fraction(5, 2)


def test_zcdp_pays_at_the_remainder_of_delta():
    """Σδ is taken off before ρ is converted; the promise is never below the truth."""
    epsilon, delta = Fraction(2), Fraction(1, 10**6)
    limit = Limit(epsilon, delta, rho_within(epsilon, delta))
    for n, each in product((1, 10, 60), (Fraction(0), Fraction(1, 10**8), Fraction(1, 10**7))):
        spent = Spent()
        for _ in range(n):
            spent.add(Fraction(1, 20), Fraction(1, 800), each)
        left = delta - n * each
        by_sum = Fraction(n, 20) <= epsilon and left >= 0
        by_zcdp = left > 0 and epsilon_at(Fraction(n, 800), left) <= epsilon
        assert limit.covers(spent) == (by_sum or by_zcdp)


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
