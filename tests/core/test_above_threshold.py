"""AboveThreshold: its exact law, its loss by enumeration, broken twins, draws against the law."""

from fractions import Fraction
from itertools import product
from math import exp, log

import pytest

from dampen.core.sampling import InsecureEntropy
from dampen.core.thresholds import (
    AboveThreshold,
    first_above_law,
    likely_miss,
    noise_scale,
)
from dampen.errors import ParameterError
from dampen.testing import Universe, law_loss
from goodness import assert_draws_follow, counts_of

A = Fraction(2, 3)


def walked_law(gaps, a, most=400):
    """Brute force: the sum over all Z up to `most`, the noise of each question by its tail."""
    law = [0.0] * (len(gaps) + 1)
    for z in range(most):
        left = (1 - a) * a**z
        for i, gap in enumerate(gaps):
            yes = a ** max(gap + z, 0)
            law[i] += left * yes
            left *= 1 - yes
        law[-1] += left
    return law


@pytest.mark.parametrize("gaps", [[0], [3, -2, 1], [-5, -5], [2, 2, 2, 2], [4, -7, 0, 1, -1]])
def test_the_law_is_that_of_all_noise(gaps):
    law = first_above_law(gaps, A)
    assert sum(law) == 1
    assert [float(p) for p in law] == pytest.approx(walked_law(gaps, float(A)), abs=1e-12)


def prefix_counts(rows):
    """Three monotone questions: rows that are a; a or b; any."""
    return [sum(row in kinds for row in rows) for kinds in ("a", "ab", "abc")]


def both_ways(rows):
    """Two questions that one row moves in opposite directions."""
    return [-len(rows), -len(rows), len(rows)]


def loss(questions, per_step, *, threshold, law=first_above_law):
    """The verdict of the kit where the noise has a = 2/3 and ε is what s = per_step / ε says."""
    universe = Universe.add_remove_row(["a", "b", "c"], max_rows=4)
    epsilon = Fraction(per_step * -log(float(A))).limit_denominator(10**15)

    def of(rows):
        gaps = [threshold - number for number in questions(rows)]
        return [float(p) for p in law(gaps, A)]

    return law_loss(of, universe, epsilon=epsilon, name="above threshold")


@pytest.mark.parametrize("threshold", [-1, 0, 1, 2, 3, 6])
def test_the_loss_of_monotone_questions_is_at_most_epsilon(threshold):
    assert loss(prefix_counts, 2, threshold=threshold).holds


@pytest.mark.parametrize("threshold", [-3, -2, 0, 2])
def test_the_loss_of_other_questions_is_at_most_epsilon(threshold):
    assert loss(both_ways, 3, threshold=threshold).holds


def test_the_theorem_holds_for_all_small_moves():
    """Every gap from -2 to 2 of three questions, every move by at most 1."""
    epsilon = {True: 2 * -log(float(A)), False: 3 * -log(float(A))}
    laws = {
        gaps: [float(p) for p in first_above_law(gaps, A)]
        for gaps in product(range(-3, 4), repeat=3)
    }
    worst = {True: 0.0, False: 0.0}
    for gaps in product(range(-2, 3), repeat=3):
        for moves in product((-1, 0, 1), repeat=3):
            other = laws[tuple(g + m for g, m in zip(gaps, moves, strict=True))]
            monotone = min(moves) >= 0 or max(moves) <= 0
            found = max(abs(log(p / q)) for p, q in zip(laws[gaps], other, strict=True))
            worst[monotone] = max(worst[monotone], found)
    assert worst[True] == pytest.approx(epsilon[True], rel=1e-9)  # reached
    assert worst[False] == pytest.approx(epsilon[False], rel=1e-9)


def without_noise_in_the_threshold(gaps, a):
    law, left = [], Fraction(1)
    for gap in gaps:
        yes = a ** max(gap, 0)
        law.append(left * yes)
        left *= 1 - yes
    return [*law, left]


def without_noise_in_questions(gaps, a):
    """Z alone decides: what was answered with no cannot be above a higher answer."""
    law = [Fraction(0)] * (len(gaps) + 1)
    for z in range(60):
        first = next((i for i, gap in enumerate(gaps) if gap + z <= 0), len(gaps))
        law[first] += (1 - a) * a**z
    return law


def with_all_answers(gaps, a):
    """It goes on after a yes and shows every answer."""
    law = []
    for answers in product((True, False), repeat=len(gaps)):
        chance = 0.0
        for z in range(200):
            p = float((1 - a) * a**z)
            for gap, told in zip(gaps, answers, strict=True):
                yes = float(a) ** max(gap + z, 0)
                p *= yes if told else 1 - yes
            chance += p
        law.append(chance)
    return law


@pytest.mark.parametrize(
    "twin", [without_noise_in_the_threshold, without_noise_in_questions, with_all_answers]
)
def test_broken_twins_are_rejected(twin):
    assert not loss(prefix_counts, 2, threshold=2, law=twin).holds


def test_the_scale_of_monotone_questions_does_not_suffice_for_others():
    assert not loss(both_ways, 2, threshold=0).holds


def test_draws_follow_the_law():
    entropy = InsecureEntropy(5)
    numbers = [1, 3, 2]
    scale = noise_scale(Fraction(1))
    places = [
        AboveThreshold.start(4, scale, entropy).first(numbers, entropy) for _ in range(20_000)
    ]
    law = first_above_law([4 - n for n in numbers], Fraction(exp(-0.5)))
    wrong = first_above_law([4 - n for n in numbers], Fraction(exp(-0.55)))
    laws = ([float(p) for p in each] for each in (law, wrong))
    assert_draws_follow(counts_of(places, [0, 1, 2, None]), *laws)


def test_all_noise_is_below_the_bound_as_often_as_stated():
    scale = noise_scale(Fraction(1, 5), sensitivity=2)
    assert scale == 20
    bound = likely_miss(scale, 30, 0.9)
    a = exp(-1 / 20)
    assert (1 - a ** (bound + 1)) ** 31 >= 0.9 > (1 - a**bound) ** 31


def test_a_run_ends_with_its_first_yes_and_shows_nothing_private():
    entropy = InsecureEntropy(6)
    run = AboveThreshold.start(123_456, noise_scale(Fraction(1)), entropy)
    assert run.first([0, 0, 10**9], entropy) == 2
    assert "level" not in repr(run)
    with pytest.raises(ParameterError, match="ended with a yes"):
        run.is_above(0, entropy)


def test_noise_that_does_not_fit_is_refused():
    with pytest.raises(ParameterError, match="larger epsilon"):
        noise_scale(Fraction(1, 2**42))
    assert noise_scale(Fraction(1), sensitivity=5, monotone=False) == 15
