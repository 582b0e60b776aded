"""Billions of rows: what floats hold of utilities and sensitivities, and what the score pays."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from dampen.core.mechanisms import LD, Mechanism
from dampen.core.noise import GUMBEL
from dampen.core.scores import Dampened, Global
from dampen.errors import ParameterError
from dampen.questions.classify.splits import BestSplit, split_selection

ROWS = [2**20, 2**24, 2**28, 2**31]


@pytest.fixture(autouse=True)
def many_digits():
    with ctx.workprec(256):
        yield


def gain(cells):
    terms = (arb(b) * (arb(b) / sum(row)).log() for row in cells for b in row if b)
    return sum(terms, arb(0)) / arb(2).log()


def gini(cells):
    terms = (arb(sum(row)) - arb(sum(b * b for b in row)) / sum(row) for row in cells if sum(row))
    return -sum(terms, arb(0))


def tsallis(cells):
    terms = (arb(b) * (1 - (arb(b) / sum(row)).sqrt()) for row in cells for b in row if b)
    return -sum(terms, arb(0))


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(("classes", "values"), [(2, 2), (2, 40), (5, 7)])
@pytest.mark.parametrize(
    ("criterion", "exact"), [("gini", gini), ("information-gain", gain), ("tsallis", tsallis)]
)
def test_utilities_keep_their_digits_and_the_score_pays_for_the_rest(
    rows, classes, values, criterion, exact
):
    """The error is at most 2^-50 |u|, and at most η in units of Δ."""
    rng = np.random.default_rng(rows + values)
    cells = rng.multinomial(rows, rng.dirichlet(np.full(classes * values, 0.3)))
    cells = cells.reshape(values, classes)
    s = split_selection(cells, np.array([0, values]), rows, criterion)
    truth, scores = exact(cells.tolist()), Global().of(s)
    error = abs(arb(float(s.utility[0])) - truth)
    assert error < abs(truth) / 2**50
    assert error < arb(float(scores.eta)) * arb(float(scores.unit))
    assert scores.values[0] == s.utility[0]  # it lies inside the public range


def test_the_price_of_rounding_is_public():
    """η = max(2^-28, 2^-50 range) depends on max_rows and never on the counts."""
    for rows, eta in ((100, 28), (2**23, 28), (2**24, 27), (2**31, 20)):
        for cells in ([[1, 0], [0, 1]], [[50, 3], [4, 9]]):
            s = split_selection(np.array(cells), np.array([0, 2]), rows, "gini")
            assert Global().of(s).eta == Fraction(1, 2**eta)
    exact = split_selection(np.array([[1, 0], [0, 1]]), np.array([0, 2]), 2**31, "max")
    assert Global().of(exact).eta == 0


@pytest.mark.parametrize("rows", ROWS)
def test_sums_of_sensitivities_keep_their_digits(rows):
    """One value: phi(n-t) - phi(m-t) for t < m, then phi(n-2m+t); its sums telescope."""
    for rare in (1, 3, rows // 1000, rows // 3):
        a, b = rows, rare
        s = split_selection(np.array([[b, a - b]]), np.array([0, 1]), rows, "information-gain")
        n, m = a - 1, b - 1
        for t in {1, m // 2, m, min(m + 5, 2 * m), rows // 10} - {0}:
            down = min(t, m)
            total = xlogx(n + 1) - xlogx(n + 1 - down) - xlogx(m + 1) + xlogx(m + 1 - down)
            up = min(t - down, 2 * m)  # from there on n + t > N and δ is the bound
            total += xlogx(n - m + up) - xlogx(n - m)
            if t - down > up:
                continue
            got = arb(float(s.sensitivity.sum_to(np.array([t]))[0]))
            assert abs(got / (total / arb(2).log()) - 1) < arb(2) ** -50


def xlogx(x):
    return arb(x) * arb(x).log() if x else arb(0)


def test_shifted_dampening_needs_more_digits_than_many_rows_leave():
    shifted = Mechanism("ld-shifted", Dampened(shift=-3.0), GUMBEL)
    cells, starts = np.array([[1, 2], [3, 4]]), np.array([0, 2])
    few = split_selection(cells, starts, 2**22, "information-gain")
    many = split_selection(cells, starts, 2**23, "information-gain")
    assert np.isfinite(shifted.score.of(few).values).all()
    with pytest.raises(ParameterError, match="rounding"):
        shifted.score.of(many)
    LD.score.of(many)


def test_more_rows_than_integers_hold_are_refused():
    BestSplit([2], classes=2, max_rows=2**31)
    with pytest.raises(ParameterError, match=r"max_rows <= 2\^31"):
        BestSplit([2], classes=2, max_rows=2**31 + 1)
