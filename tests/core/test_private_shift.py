"""LD with a private shift: its loss on small universes, its law, and twins that are not private."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from dampen import Neighbours, Selection, sensitivity
from dampen.core.mechanisms import LD_SHIFTED, MECHANISMS, PrivateShift, named, prepare, select
from dampen.core.noise import EXPONENTIAL, pure_rho
from dampen.core.sampling import InsecureEntropy
from dampen.paper.percentile_selection import PercentileLabel
from dampen.problems import InfluentialNode
from dampen.testing import Universe, privacy_loss
from dampen.testing.checks import law_loss
from goodness import assert_draws_follow

SMALL = replace(LD_SHIFTED, shift=PrivateShift(points=8))


@dataclass(frozen=True)
class MedianSite:
    """The site with the smallest median distance to the clients, on a line; replace-one."""

    top: int = 4
    candidates = (0, 2, 4)
    neighbours = Neighbours.REPLACE_ONE

    def selection(self, clients, /):
        n = len(clients)
        middle = n // 2
        distances = np.sort(np.abs(np.subtract.outer(clients, self.candidates)), axis=0)
        padded = np.vstack([np.zeros((n, 3)), distances, np.full((n + 1, 3), self.top)])
        gaps = np.diff(padded, axis=0)
        at = n + middle
        rows = [gaps[at - t - 1 : at + t + 1].max(axis=0) for t in range(n)]
        return Selection(
            -distances[middle], sensitivity.table(rows), bound=self.top, utility_range=1.0
        )


def worlds():
    return {
        "site": (MedianSite(), Universe.replace_one((0, 1, 4), 3)),
        "label": (PercentileLabel(p=50, n=3, upper=3), Universe.replace_one((0, 1, 3), 3)),
        "node": (InfluentialNode(3), Universe.graphs(3)),
    }


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("world", worlds())
def test_the_loss_is_at_most_epsilon(world: str, k: int) -> None:
    problem, universe = worlds()[world]
    assert privacy_loss(problem, universe, epsilon="2", mechanism=SMALL, k=k)


def pairs(selection, epsilon: Fraction, shifts: Fraction):
    """The law of shift and answer together; `shifts` times ε is what the shift is drawn by."""
    ready = prepare(selection, SMALL)
    values, scale = ready._shift_scores(SMALL.shift.share * epsilon, 1)
    drawn = EXPONENTIAL.law((values - values.max()) * float(scale * shifts))
    left = epsilon * (1 - SMALL.shift.share)
    grid = SMALL.shift.grid(selection).tolist()
    laws = [ready.at(s).probabilities(epsilon=left) for s in grid]
    return (drawn[:, None] * np.array(laws)).ravel()


@dataclass(frozen=True)
class Steep:
    """Two candidates whose scores move by 1 against each other in a step."""

    candidates = ("a", "b")
    neighbours = Neighbours.ADD_REMOVE_ROW

    def selection(self, rows, /):
        up = len(rows)
        return Selection([up, 4 - up], sensitivity.constant(1), utility_range=4.0, exact=True)


def test_shift_and_answer_together_lose_epsilon_and_no_less_noise_would_do() -> None:
    universe = Universe.add_remove_row(["row"], 4)
    epsilon = Fraction(2)

    def law(factor: int):
        return lambda rows: pairs(Steep().selection(rows), epsilon, Fraction(factor))

    assert law_loss(law(1), universe, epsilon=epsilon)
    assert law_loss(law(2), universe, epsilon=epsilon).fails


def test_draws_follow_the_law() -> None:
    selection = MedianSite().selection([0, 1, 1, 2, 4])
    ready = prepare(selection, SMALL)
    entropy = InsecureEntropy(3)
    drawn = [ready.draw(epsilon=3, entropy=entropy) for _ in range(2500)]
    wrong = prepare(selection, SMALL).probabilities(epsilon=1)
    assert_draws_follow(np.bincount(drawn, minlength=3), ready.probabilities(epsilon=3), wrong)


def test_several_answers_are_different() -> None:
    selection = MedianSite().selection([0, 1, 1, 2, 4])
    assert sorted(select(selection, epsilon=1, mechanism="ld-shifted", k=3)) == [0, 1, 2]


def test_it_is_a_mechanism_like_any_other() -> None:
    assert named("ld-shifted") is LD_SHIFTED in MECHANISMS
    assert LD_SHIFTED.rho(Fraction(1)) == pure_rho(Fraction(3, 10)) + pure_rho(Fraction(7, 10))


def test_the_grid_is_public() -> None:
    """It follows from the bound and the stated range alone, and has 0 among its shifts."""
    one = MedianSite().selection([0, 0, 0])
    other = MedianSite().selection([4, 4, 4])
    grid = PrivateShift().grid(one)
    assert grid.tolist() == PrivateShift().grid(other).tolist()
    assert 0 in grid
    assert (grid.min(), grid.max()) == (-4, 4)
