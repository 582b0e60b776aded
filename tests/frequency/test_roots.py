"""Keys of persons with many keys by weights 1/√r: exact δ, the threshold, and what is found."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from scipy.signal import fftconvolve

import dampen
from dampen.core.sampling import InsecureEntropy, SystemEntropy
from dampen.data.units import Pairs, Shares
from dampen.questions.keys import ROOT_QUANTUM, EitherShares, RootMethod, RootShares
from goodness import FALSE_ALARM, p_value


def method(cap, delta):
    return RootMethod("keys", ("v",), Fraction(delta), None, "who", cap)


def gaussian(scale):
    """The law of the noise on -12 to 12 scales."""
    steps = np.arange(-12 * scale, 12 * scale + 1)
    weights = np.exp(-(steps**2) / (2 * scale**2))
    return steps, weights / weights.sum()


def delta_of_shift(shift, r, scale, epsilon):
    """The exact δ of noise on r counts that all move by `shift`: the loss is linear in the sum."""
    _, law = gaussian(scale)
    total = law
    for _ in range(r - 1):
        total = np.maximum(fftconvolve(total, law), 0)
    sums = np.arange(len(total)) - (len(total) - 1) // 2
    loss = (2 * shift * sums + r * shift**2) / (2 * scale**2)
    return float((total * np.maximum(1 - np.exp(epsilon - loss), 0)).sum())


@pytest.mark.parametrize("r", [1, 2, 3, 8])
@pytest.mark.parametrize(("epsilon", "delta"), [(1, "0.01"), (3, "0.0001")])
def test_the_true_delta_is_at_most_the_stated_one(r, epsilon, delta):
    of = method(8, delta)
    scale = of.scale(Fraction(epsilon))
    weight = isqrt(ROOT_QUANTUM**2 // r)
    half = float(of.delta) / 2
    assert 0 < delta_of_shift(weight, r, scale, epsilon) <= half
    steps, law = gaussian(scale)
    one = law[weight + steps > of.threshold(Fraction(epsilon))].sum()
    assert 0 < 1 - (1 - one) ** r <= half


def test_the_threshold_is_not_wasteful():
    """The hardest number of keys uses nearly all of δ₂."""
    of = method(8, "0.001")
    steps, law = gaussian(of.scale(Fraction(1)))
    threshold = of.threshold(Fraction(1))
    used = [r * law[isqrt(ROOT_QUANTUM**2 // r) + steps > threshold].sum() for r in range(1, 9)]
    assert 0.95 < max(used) / 0.0005 <= 1


def test_whole_weights_for_every_key_are_not_private():
    """The broken twin: a person with four keys weighs Q in each."""
    of = method(4, "0.01")
    assert delta_of_shift(ROOT_QUANTUM, 4, of.scale(Fraction(1)), 1) > 0.005


def test_the_squares_of_a_person_add_up_to_at_most_one():
    rng = np.random.default_rng(1)
    pairs = Pairs(*np.unique(rng.integers(0, 40, (2, 600)), axis=1), np.ones(1))
    weights = RootShares(ROOT_QUANTUM, 5, SystemEntropy()).weights(pairs)
    squares = np.bincount(pairs.owner, weights=weights.astype(float) ** 2)
    counted = np.bincount(pairs.owner, weights=weights > 0)
    assert squares.max() <= ROOT_QUANTUM**2
    assert squares.min() > 0.99 * ROOT_QUANTUM**2
    assert counted.max() == 5


def test_which_keys_count_is_random():
    pairs = Pairs(np.zeros(4, dtype=int), np.arange(4), np.ones(4))
    entropy = InsecureEntropy(3)
    shares = RootShares(ROOT_QUANTUM, 1, entropy)
    chosen = [int(shares.weights(pairs).argmax()) for _ in range(4000)]
    assert p_value(np.bincount(chosen, minlength=4), np.full(4, 1 / 4)) > FALSE_ALARM


def test_keys_are_published_as_often_as_the_law_says():
    of = method(4, "0.01")
    scale, threshold = of.scale(Fraction(1)), of.threshold(Fraction(1))
    weight = threshold - scale // 2
    steps, law = gaussian(scale)
    chance = law[weight + steps > threshold].sum()
    found = dict.fromkeys(range(20_000), weight)
    shown = len(of.published(found, Fraction(1), InsecureEntropy(5)))
    assert p_value(np.array([20_000 - shown, shown]), np.array([1 - chance, chance])) > FALSE_ALARM
    wrong = law[weight + steps > threshold + scale // 8].sum()
    assert p_value(np.array([20_000 - shown, shown]), np.array([1 - wrong, wrong])) < FALSE_ALARM


WORDS = [f"w{i:02d}" for i in range(20)]
TABLE = {
    "who": [i for i in range(400) for _ in WORDS],
    "word": WORDS * 400,
}


def test_more_keys_are_found_of_persons_with_many():
    """Each of 20 words has the weight 400 / √20 = 89; the threshold is about 27."""
    many = dampen.dataset(TABLE, unit="who", groups_per_unit=20)
    made = many.keys("word", epsilon=1, delta="1e-6")
    assert made.mechanism == "gaussian-threshold"
    assert sorted(made.answer) == WORDS  # false alarms: 12 standard deviations
    assert all(number < 400 for number in made.answer.values())
    assert made.delta == Fraction(1, 10**6)
    assert "people" in made.accuracy.sentence
    one = dampen.dataset(TABLE, unit="who", groups_per_unit=1).keys("word", epsilon=1, delta="1e-6")
    assert one.mechanism == "threshold"
    rho = many.keys("word", rho="0.01", delta="1e-6")
    assert rho.mechanism == "threshold"


def keys_of(sizes):
    """Persons with so many keys each."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return Pairs(owner, np.arange(len(owner)), np.ones(len(owner), dtype=np.int64))


def chance_of_roots(sizes, epsilon):
    """P(D + X > 0)."""
    lead = sum(1 if r >= 4 else -1 for r in sizes)
    a = np.exp(-epsilon)
    return 1 - a**lead / (1 + a) if lead >= 1 else a ** (1 - lead) / (1 + a)


def test_the_choice_of_weights_is_private():
    """One person more or less moves either probability by a factor of at most e^ε."""
    few = [[r] * n for r in (1, 4) for n in range(1, 5)] + [[1, 4], [1, 4, 4], [3, 3, 9]]
    for sizes in few:
        for more in (1, 3, 4, 9):
            one, other = (chance_of_roots(x, 0.3) for x in (sizes, [*sizes, more]))
            assert abs(np.log(one / other)) <= 0.3 + 1e-12
            assert abs(np.log((1 - one) / (1 - other))) <= 0.3 + 1e-12


@pytest.mark.parametrize("sizes", [[1, 4], [4, 4, 1, 7], [3, 3, 5]])
def test_the_choice_follows_its_law(sizes):
    entropy = InsecureEntropy(11)
    roots = RootShares(ROOT_QUANTUM, 50, entropy)
    rooted = 0
    for _ in range(10_000):
        either = EitherShares(Fraction("0.3"), roots, Shares(840, 1, distinct=True), entropy)
        weights = either.weights(keys_of(sizes))
        assert weights[0] == (
            isqrt(ROOT_QUANTUM**2 // sizes[0]) if either.rooted else 840 // sizes[0]
        )
        rooted += either.rooted
    observed = np.array([10_000 - rooted, rooted])
    right, wrong = (chance_of_roots(sizes, e) for e in (0.3, 1.0))
    assert p_value(observed, np.array([1 - right, right])) > FALSE_ALARM
    assert p_value(observed, np.array([1 - wrong, wrong])) < FALSE_ALARM or right == wrong


def test_the_number_of_keys_of_a_person_need_not_be_stated():
    """400 persons with 20 words, then 400 with one: the choice errs with probability e^-20."""
    many = dampen.keys(TABLE, "word", unit="who", epsilon=1, delta="1e-6")
    assert many.mechanism == "either-threshold"
    assert many.epsilon == 1
    assert sorted(many.answer) == WORDS  # false alarms: 11 standard deviations
    assert many.parameters["groups_per_unit"] == 50
    alone = {"who": list(range(400)), "word": ["a"] * 400}
    one = dampen.keys(alone, "word", unit="who", epsilon=1, delta="1e-6")
    assert one.parameters["groups_per_unit"] == 1
    assert abs(one.answer["a"] - 400) < 40
    low, high = one.interval(0.95)["a"]
    assert low < high
