"""Noise and its blurred copy: exact laws, and what both tell together."""

from fractions import Fraction

import numpy as np
import pytest

from dampen import ParameterError
from dampen.core.sampling import InsecureEntropy
from dampen.questions.nodes.two_rounds import nested_laplace
from goodness import FALSE_ALARM, p_value

REACH = 60


def laplace_law(scale: float) -> np.ndarray:
    z = np.arange(-REACH, REACH + 1)
    return np.tanh(0.5 / scale) * np.exp(-np.abs(z) / scale)


def blur_law(scale: float, ratio: float) -> np.ndarray:
    """What is added to the first to make the second: 0, or a number of the second law."""
    p, w = np.exp(-1 / scale), np.exp(-ratio / scale)
    law = (1 - p / w * ((1 - w) / (1 - p)) ** 2) * laplace_law(scale / ratio)
    law[REACH] += p / w * ((1 - w) / (1 - p)) ** 2
    return law


@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
def test_the_laws_fit_together(scale: float) -> None:
    blurred = np.convolve(laplace_law(scale), blur_law(scale, 0.3), mode="same")
    middle = slice(REACH - 15, REACH + 16)
    assert np.allclose(blurred[middle], laplace_law(scale / 0.3)[middle], rtol=1e-3)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(7, 2)])
def test_both_numbers_and_their_difference_have_their_laws(scale: Fraction) -> None:
    """The table of (X, Z - X) follows the product of their laws: so they are independent too."""
    size, edge = 400_000, 6
    fine_noise, Z = nested_laplace(scale, Fraction(3, 10), size, InsecureEntropy(5))
    X = fine_noise()
    assert fine_noise() is X
    wide = np.arange(-REACH, REACH + 1)

    def pooled(law: np.ndarray) -> np.ndarray:
        return np.bincount(np.clip(wide, -edge, edge) + edge, law, 2 * edge + 1)

    def table(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        a, b = (np.clip(v, -edge, edge) + edge for v in (x, y))
        return np.bincount(a * (2 * edge + 1) + b, minlength=(2 * edge + 1) ** 2)

    fine, blur = pooled(laplace_law(float(scale))), pooled(blur_law(float(scale), 0.3))
    assert p_value(table(X, Z - X), np.outer(fine, blur).ravel()) > FALSE_ALARM
    coarse = pooled(laplace_law(float(scale) / 0.3))
    assert p_value(table(Z, Z * 0)[edge :: 2 * edge + 1], coarse) > FALSE_ALARM
    wrong = pooled(blur_law(float(scale), 0.25))
    assert p_value(table(X, Z - X), np.outer(fine, wrong).ravel()) < FALSE_ALARM


def test_a_tiny_scale_adds_nothing_and_a_huge_one_is_refused() -> None:
    fine, Z = nested_laplace(Fraction(1, 10**12), Fraction(3, 10), 1000, InsecureEntropy(1))
    assert not fine().any()
    assert not Z.any()
    with pytest.raises(ParameterError, match="Raise epsilon"):
        nested_laplace(Fraction(2**40), Fraction(3, 10), 1, InsecureEntropy(1))
