"""All decimals as candidates: weights and codes against an enumeration of small universes."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from dampen.errors import ParameterError
from dampen.questions.percentile.unbounded import FLIP_SHARES, SHARES, YEARS, Decimals


def digits_of(mantissa):
    """How many significant digits a positive number with these digits has."""
    return len(str(mantissa).rstrip("0"))


@cache
def unbounded(digits, low, high, peak):
    """Every decimal with its prior weight, by definition; a decade's largest weight is 1."""
    shares = (SHARES if peak is None else FLIP_SHARES[8 - peak :])[:digits]
    years = int(YEARS * sum(shares)) if digits > 4 else 0
    weights = {Fraction(0): Fraction(1)}
    for e in range(low, high + 1):
        unit = Fraction(10) ** (e - digits + 1)
        mantissas = range(10 ** (digits - 1), 10**digits)
        away = max(-e, e - 4, 0)
        by_digits = [digits_of(mantissa) for mantissa in mantissas]
        usual = {
            j: Fraction(shares[j - 1], 2**away * sum(shares) * many)
            for j, many in Counter(by_digits).items()
        }
        for mantissa, j in zip(mantissas, by_digits, strict=True):
            number = mantissa * unit
            weight = usual[j]
            if years and 1900 <= number <= 2099 and number.denominator == 1:
                weight += Fraction(years, sum(shares) * 200)
            weights |= {number: weight, -number: weight}
    return dict(sorted(weights.items()))


def listed(decimals):
    """The candidates within bounds and on the grid of steps."""
    weights = unbounded(decimals.digits, *decimals.exponents, decimals.peak)
    bounds = [None if b is None else Fraction(str(b)) for b in (decimals.lower, decimals.upper)]
    step = None if decimals.step is None else Fraction(str(decimals.step))
    return {
        number: weight
        for number, weight in weights.items()
        if (bounds[0] is None or bounds[0] <= number)
        and (bounds[1] is None or number <= bounds[1])
        and (step is None or (number / step).denominator == 1)
    }


def enumerated(decimals):
    """The same from codes: the value of every code that weighs anything."""
    low, high = decimals.ends
    codes = np.arange(low, high + 1)
    mass = np.diff(decimals.mass(codes), prepend=0)
    return {
        Fraction(str(decimals.value(int(c)))): int(m) for c, m in zip(codes, mass, strict=True) if m
    }


SMALL = [
    Decimals(digits=digits, exponents=exponents, lower=lower, upper=upper, step=step)
    for digits, exponents in ((1, (-1, 1)), (2, (-1, 1)), (2, (4, 6)), (3, (-2, 0)))
    for (lower, upper), step in product(
        ((None, None), (0, None), (None, "0.5"), ("-7.77", 12), (-3, "-0.02")),
        (None, "0.1", 1, "0.25", 3, "0.07"),
    )
    if not (exponents == (4, 6) and (upper is not None or step == "0.07"))
    and not (exponents == (-2, 0) and step == 3 and upper == "-0.02")
]
WITH_YEARS = [
    Decimals(digits=5, exponents=(3, 3), lower=lower, upper=upper, step=step)
    for lower, upper, step in (
        (None, None, None),
        (1950, "2003.4", None),
        (None, None, 7),
        (-1990, 3, "0.7"),
    )
] + [
    Decimals(digits=5, exponents=(3, 3), peak=3),
    Decimals(digits=3, exponents=(-1, 1), step="0.25", peak=5),
]


def proportional(weights, masses):
    unit = next(iter(masses.values())) / next(iter(weights.values()))
    return {number: weight * unit for number, weight in weights.items()} == masses


def assert_kinds_are(masses, decimals):
    """In a block all candidates of a kind weigh alike, and their weights add up to the masses."""
    low, high = decimals.ends
    codes = np.arange(low, high + 1)
    block = np.searchsorted(decimals.blocks, codes, side="right") - 1
    each = np.diff(decimals.kinds(codes), axis=0, prepend=0)
    begins = np.append(True, np.diff(block) > 0)
    each[begins] = decimals.kinds(codes)[begins]
    if decimals.blocks[block[0]] < low:  # the block was cut off
        each[0] -= decimals.kinds(codes[:1] - 1)[0]
    assert each.min() >= 0
    assert each.max() == 1
    found = (each * decimals.weights[block]).sum(axis=1)
    assert found[found > 0].tolist() == list(masses.values())


@pytest.mark.parametrize("decimals", SMALL + WITH_YEARS, ids=repr)
def test_masses_are_the_prior_weights_of_the_candidates(decimals):
    expected = listed(decimals)
    found = enumerated(decimals)
    assert list(found) == list(expected)
    assert proportional(expected, found)
    assert decimals.total == sum(found.values())
    assert_kinds_are(found, decimals)
    assert decimals.least <= min(found.values())


@pytest.mark.parametrize("decimals", SMALL[::5], ids=repr)
def test_a_place_in_the_mass_names_its_candidate(decimals):
    """Of every candidate; of thousands every seventh, with all numbers of digits and both signs."""
    start = 0
    found = enumerated(decimals)
    step = 1 if len(found) < 2000 else 7
    for i, (number, mass) in enumerate(found.items()):
        for place in {start, start + mass - 1} if i % step == 0 else ():
            assert Fraction(str(decimals.value(decimals.code_at(place)))) == number
        start += mass


def test_the_least_weight_is_that_of_some_candidate():
    for decimals in SMALL:
        if decimals.lower is None and decimals.upper is None:
            assert decimals.least == min(enumerated(decimals).values())


def test_every_candidate_is_its_own_code():
    rng = np.random.default_rng(1)
    decimals = Decimals()
    m = np.r_[10**8, 10**9 - 1, 123456789, 5 * 10**8, rng.integers(10**8, 10**9, size=400)]
    for e in range(-9, 15):
        numbers = np.array([float(Fraction(int(a)) * Fraction(10) ** (e - 8)) for a in m])
        codes = decimals.codes(numbers)
        assert codes.tolist() == ((e + 9) * 10**9 + m).tolist()
        assert decimals.codes(-numbers).tolist() == (-codes).tolist()
        for code, number in zip(codes[:20].tolist(), numbers, strict=False):
            assert decimals.value(code) == number


def test_numbers_are_rounded_to_nine_digits_and_moved_into_the_range():
    decimals = Decimals()

    def rounded(number):
        return decimals.value(int(decimals.codes(np.array([number]))[0]))

    assert rounded(1 / 3) == 0.333333333
    assert rounded(float(np.float32(0.1))) == 0.100000001
    assert rounded(9.9999999999) == 10
    assert rounded(1e300) == rounded(np.inf) == 999_999_999_000_000
    assert rounded(-np.inf) == -999_999_999_000_000
    assert [rounded(x) for x in (0.0, -0.0, 4e-10, 6e-10, 9.99999999999e-10)] == [
        0,
        0,
        0,
        1e-9,
        1e-9,
    ]
    bounded = Decimals(lower=0, upper=100)
    ends = [bounded.value(int(c)) for c in bounded.codes(np.array([-5.0, 1e9, 20.5]))]
    assert ends == [0, 100, 20.5]


def test_order_is_kept():
    rng = np.random.default_rng(2)
    numbers = np.sort(rng.standard_cauchy(2000) * 10.0 ** rng.integers(-12, 17, size=2000))
    codes = Decimals().codes(numbers)
    assert (np.diff(codes) >= 0).all()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"lower": 1, "upper": 1}, "lower < upper"),
        ({"lower": "x"}, "lower to be a finite number"),
        ({"upper": float("nan")}, "upper to be a finite number"),
        ({"step": 0}, "step > 0"),
        ({"step": -1}, "step > 0"),
        ({"step": True}, "step to be a finite number"),
        ({"lower": 1e20}, "wider range"),
        ({"lower": 1, "upper": 9, "step": 100}, "wider range"),
    ],
)
def test_ranges_without_candidates_are_refused(given, says):
    with pytest.raises(ParameterError, match=says):
        Decimals(**given)
