"""LD with a private shift, and `auto`: losses on small universes, laws, twins."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from dampen import Neighbours, Selection, sensitivity
from dampen.core.mechanisms import (
    AUTO,
    LD_SHIFTED,
    MECHANISMS,
    PF,
    PrivateShift,
    chosen_for,
    named,
    prepare,
    select,
)
from dampen.core.noise import EXPONENTIAL, laplace_rho
from dampen.core.sampling import InsecureEntropy
from dampen.paper.percentile_selection import PercentileLabel
from dampen.problems import InfluentialNode
from dampen.testing import Universe, check_admissible, check_public, law_loss, privacy_loss
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
        at = n + middle
        rows = [
            np.max([padded[at + j] - padded[at + j - t - 1] for j in range(t + 2)], axis=0)
            for t in range(n)
        ]
        return Selection(
            -distances[middle], sensitivity.table(rows), bound=self.top, utility_range=1.0
        )


def worlds():
    return {
        "site": (MedianSite(), Universe.replace_one((0, 1, 4), 3)),
        "label": (PercentileLabel(p=50, n=3, upper=3), Universe.replace_one((0, 1, 3), 3)),
        "node": (InfluentialNode(3), Universe.graphs(3)),
    }


@pytest.mark.parametrize("world", worlds())
def test_the_problems_are_sound(world: str) -> None:
    assert check_admissible(*worlds()[world])


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("world", worlds())
def test_the_loss_is_at_most_epsilon(world: str, k: int) -> None:
    problem, universe = worlds()[world]
    assert privacy_loss(problem, universe, epsilon="2", mechanism=SMALL, k=k)


def pairs(selection, epsilon: Fraction, shifts: Fraction):
    """The law of shift and answer together; `shifts` times ε is what the shift is drawn by."""
    ready = prepare(selection, SMALL)
    values, scale = ready._shift_scores(epsilon, 1)
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
    assert law_loss(law(3), universe, epsilon=epsilon).fails


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
    assert LD_SHIFTED.rho(Fraction(1)) == laplace_rho(Fraction(1, 4)) + laplace_rho(Fraction(3, 4))


def test_the_grid_is_public() -> None:
    """It follows from the bound and the stated range alone, and has 0 among its shifts."""
    one = MedianSite().selection([0, 0, 0])
    other = MedianSite().selection([4, 4, 4])
    grid = PrivateShift().grid(one)
    assert grid.tolist() == PrivateShift().grid(other).tolist()
    assert 0 in grid
    assert (grid.min(), grid.max()) == (-4, 4)


def test_the_target_is_half_of_what_tells_candidates_apart() -> None:
    """c = k ln(n) / ε2, and half of it where one step changes one candidate."""
    rows = [[1.0, 2.0, 3.0]] * 4
    for separable, factor in ((False, 1), (True, 2)):
        selection = Selection([4, 2, 1], sensitivity.table(rows), 4, separable=separable)
        ready = prepare(selection, SMALL)
        for k in (1, 2):
            values, _ = ready._shift_scores(Fraction(2), k)
            heights = np.array(
                [np.sort(ready.at(s).scores.values)[-k] for s in SMALL.shift.grid(selection)]
            )
            c = k * np.log(3) / 1.5 / factor
            assert values == pytest.approx(-np.abs(heights - c), abs=1e-5)


def test_the_grid_of_a_wide_or_unknown_range() -> None:
    """Even up to the stated range; else even near zero and by octaves beyond."""

    def grid(reach: float, n: int = 2):
        u = np.zeros(n)
        selection = Selection(u, sensitivity.constant(2.0), utility_range=reach)
        return PrivateShift().grid(selection)

    even = grid(40.0)
    assert (len(even), even.max()) == (2049, 80.0)
    assert np.ptp(np.diff(even)) < 1e-9
    unknown = grid(2.0**28)
    assert unknown.max() == 2.0**29
    assert len(unknown) == 2049 + 2 * 8 * 24
    assert len(grid(40.0, 10**5)) == 257


SMALL_AUTO = replace(AUTO, shift=PrivateShift(points=8))


@dataclass(frozen=True)
class Means:
    """Two numbers that fall as rows come: one-sided."""

    candidates = ("a", "b")
    neighbours = Neighbours.ADD_REMOVE_ROW
    one_sided: bool = True

    def selection(self, rows, /):
        m = len(rows) + 1
        t = np.arange(6)[:, None]
        delta = sensitivity.table(1 / np.maximum(1, m - t) * np.ones(2))
        u = [1 / m, 1 / (rows.count("a") + 1)]
        return Selection(u, delta, 1.0, one_sided=self.one_sided, ends=(0.0, 1.0))


def choices():
    return {
        "one-sided": (Means(), Universe.add_remove_row(["a"], 5)),
        "two-sided": (Means(one_sided=False), Universe.add_remove_row(["a"], 5)),
        "site": (MedianSite(), Universe.replace_one((0, 1, 4), 3)),
        "triangles": (InfluentialNode(4, metric="triangles"), Universe.graphs(4)),
    }


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("epsilon", ["1", "4"])
@pytest.mark.parametrize("world", choices())
def test_auto_loses_at_most_epsilon(world: str, epsilon: str, k: int) -> None:
    problem, universe = choices()[world]
    assert check_admissible(problem, universe)
    assert privacy_loss(problem, universe, epsilon=epsilon, mechanism=SMALL_AUTO, k=k)


def test_auto_is_chosen_by_public_facts() -> None:
    rows = [[1.0, 1.0]] * 4
    assert chosen_for(Selection([1, 0], sensitivity.constant(2))) is PF
    one_sided = Selection([1, 0], sensitivity.table(rows), 2, one_sided=True)
    assert chosen_for(one_sided) is PF
    assert chosen_for(Selection([1, 0], sensitivity.table(rows), 2, rounding=1e-3)) is PF
    assert chosen_for(Selection([1, 0], sensitivity.table(rows), 2)) == LD_SHIFTED
    law = prepare(one_sided, "auto").probabilities(epsilon=1)
    assert law.tolist() == prepare(one_sided, "pf").probabilities(epsilon=1).tolist()


def test_a_choice_by_the_data_is_rejected() -> None:
    """Were `auto` chosen by the data at hand, the kit would find the loss."""

    @dataclass(frozen=True)
    class Leaky(Means):
        def selection(self, rows, /):
            even = len(rows) % 2 == 0
            u = [6.0, 0.0]
            return Selection(u, sensitivity.constant(1), one_sided=even, exact=True)

    universe = Universe.add_remove_row(["a"], 3)
    assert check_public(Leaky(), universe).fails
    assert privacy_loss(Leaky(), universe, epsilon=1, mechanism="auto").fails


def test_auto_is_named_and_costs_the_dearer_of_both() -> None:
    assert named("auto") is AUTO
    for k in (1, 3, 50):
        price = AUTO.rho(Fraction(1), k)
        assert price == max(PF.rho(Fraction(1), k), LD_SHIFTED.rho(Fraction(1), k))
    assert AUTO not in MECHANISMS
