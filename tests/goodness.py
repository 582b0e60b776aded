"""Goodness of fit with a stated false-alarm rate and tested power."""

from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

FALSE_ALARM = 1e-7
"""Every statistical test here fails a correct sampler with at most this probability."""


def counts_of(draws: Iterable[Hashable], outcomes: Sequence[Hashable]) -> NDArray[np.int64]:
    index = {outcome: i for i, outcome in enumerate(outcomes)}
    return np.bincount([index[d] for d in draws], minlength=len(outcomes))


def p_value(counts: ArrayLike, probabilities: ArrayLike) -> float:
    """Pearson's test, rare outcomes pooled so that the chi-square law is a good approximation."""
    observed, p = np.asarray(counts, dtype=float), np.asarray(probabilities, dtype=float)
    expected = p / p.sum() * observed.sum()
    rare = expected < 20
    if rare.any():
        observed = np.r_[observed[~rare], observed[rare].sum()]
        expected = np.r_[expected[~rare], expected[rare].sum()]
    return float(stats.chisquare(observed, expected).pvalue)


def assert_draws_follow(counts: ArrayLike, right: ArrayLike, wrong: ArrayLike) -> None:
    """The counts fit the right law, and would not fit the law of an ε that is 30 % off."""
    assert p_value(counts, right) > FALSE_ALARM
    assert p_value(counts, wrong) < FALSE_ALARM


def draw_many(draw: Callable[[], Hashable], times: int) -> list[Hashable]:
    return [draw() for _ in range(times)]
