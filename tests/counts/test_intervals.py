"""Intervals hold the true number with the stated confidence: from the law, and over many draws."""

from fractions import Fraction

import numpy as np
import pytest

import dampen
from dampen import Release
from dampen.core.sampling import InsecureEntropy, discrete_laplace
from dampen.errors import ParameterError
from dampen.questions.counts import CountQuestion, HistogramQuestion
from dampen.questions.frequency import FrequencyQuestion
from dampen.questions.groups.question import GroupsQuestion
from dampen.questions.means import MeanQuestion, TotalQuestion
from dampen.releases.answer import expect
from dampen.releases.method import Measured
from dampen.releases.numbers import (
    GAUSSIAN,
    LAPLACE,
    SHARES,
    RatioLaw,
    ShiftLaw,
    _normal_quantiles,
    _quantiles,
    drawn_noise,
    likely,
)
from dampen.service.cache import Cache
from dampen.service.configuration import FileSource

LEVELS = (Fraction(1, 2), Fraction(9, 10), Fraction(19, 20), Fraction(99, 100))


@pytest.mark.parametrize("epsilon", [Fraction(1, 50), Fraction(1, 3), Fraction(1), Fraction(4)])
@pytest.mark.parametrize("level", LEVELS)
def test_the_width_is_the_smallest_that_holds(epsilon, level):
    """By adding up the probabilities of all integers."""
    z = np.arange(-5000, 5001)
    p = np.exp(-float(epsilon) * np.abs(z))
    p /= p.sum()
    width = likely(1 / epsilon, 1 - level)
    assert p[np.abs(z) <= width].sum() >= float(level) - 1e-12
    assert width == 0 or p[np.abs(z) < width].sum() < float(level)


@pytest.mark.parametrize("epsilon", ["0.02", "0.1", "1"])
def test_counts_are_held_as_often_as_stated(epsilon):
    """100,000 draws: 95 %, and no more than one further step of the noise adds."""
    scale = 1 / Fraction(epsilon)
    law = ShiftLaw(scale, least=0)
    noise = discrete_laplace(scale, 100_000, InsecureEntropy(1))
    ends = [law.interval(40 + int(each), Fraction(1, 20)) for each in noise]
    held = np.mean([low <= 40 <= high for low, high in ends])
    step = 2 * np.exp(-likely(scale, Fraction(1, 20)) / float(scale)) * (1 / float(scale))
    assert 0.945 <= held <= 0.955 + step


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
@pytest.mark.parametrize(
    ("above", "below"), [(0, 4000), (300, 700), (2000, 2000), (90, 10), (0, 0)]
)
def test_means_are_held_as_often_as_stated(epsilon, above, below):
    """Two sums with noise of scale 10 / ε, 4,000 draws; seven standard deviations of slack."""
    law = RatioLaw(10 / Fraction(epsilon), Fraction(5), Fraction(15), Fraction(1))
    noise = discrete_laplace(law.scale, 8000, InsecureEntropy(2)).reshape(-1, 2)
    true = 5 + 10 * above / (above + below) if above + below else 10
    held = 0
    for one, other in noise.tolist():
        rows = (above + below + one + other) / 10
        number = {"sum": 5 * rows + above + one, "count": rows}
        low, high = law.interval(number, Fraction(1, 20))
        assert 5 <= low <= high <= 15
        held += low <= true + 1e-9 and true - 1e-9 <= high
    assert held / len(noise) > 0.925
    if above + below == 4000 and epsilon == "1":
        assert held / len(noise) < 0.975


def test_the_interval_of_a_mean_is_found_by_brute_force():
    """Every share of a fine grid that is held is inside, and the ends are at those shares."""
    law = RatioLaw(Fraction(20), Fraction(0), Fraction(1), Fraction(1, 10))
    rng = np.random.default_rng(3)
    shares = np.linspace(0, 1, 20_001)
    samples = rng.laplace(0, 20, (2, 200_000))
    quantile = np.array(
        [np.quantile(np.abs((1 - r) * samples[0] - r * samples[1]), 0.95) for r in shares[::2000]]
    )
    within = np.interp(shares, shares[::2000], quantile) + 0.5
    for above, below in [(200.0, 50.0), (30.0, 900.0), (-10.0, 300.0), (500.0, 500.0)]:
        held = shares[np.abs((1 - shares) * above - shares * below) <= within]
        number = {"sum": above / 10, "count": (above + below) / 10}
        low, high = law.interval(number, Fraction(1, 20))
        assert low == pytest.approx(held.min(), abs=0.02)
        assert high == pytest.approx(held.max(), abs=0.02)


def test_an_interval_comes_back_from_json():
    table = {"v": np.arange(100.0), "g": ["a", "b"] * 50}
    for made in [
        dampen.count(table, by="g", groups=["a", "b"], epsilon="0.3"),
        dampen.mean(table, "v", lower=0, upper=99, step=1, epsilon="0.3"),
        dampen.total(table, "v", lower=0, upper=99, step=1, epsilon="1/3"),
    ]:
        back = Release.from_json(made.to_json())
        assert back.interval("0.9") == made.interval(0.9)
        assert back.law == made.law


def test_a_release_without_numbers_says_so():
    made = dampen.most_frequent(["a"], categories=["a", "b"], mechanism="em", epsilon="1")
    assert made.numbers is None
    with pytest.raises(ParameterError, match="with numbers"):
        made.interval()


@pytest.mark.parametrize("wrong", [0, 1, 1.5, -1, "x", None, float("nan")])
def test_a_confidence_is_a_share(wrong):
    with pytest.raises(ParameterError, match="confidence"):
        dampen.count([1, 2], epsilon="1").interval(wrong)


def held_share(law, true, numbers):
    """How many intervals hold the true number; numbers of one law are looked up once each."""
    distinct, times = np.unique(numbers, return_counts=True)
    ends = [law.interval(int(each), Fraction(1, 20)) for each in distinct]
    inside = [low <= true <= high for low, high in ends]
    return times[inside].sum() / times.sum()


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN])
def test_a_tenth_less_noise_than_stated_would_be_seen(noise):
    """Power: 95 % are held to .5 %, and intervals for noise that is a tenth smaller are not.

    100,000 draws of scale 400: the standard error is .07 %, so that false alarms are below 1e-9.
    """
    scale = Fraction(400)
    numbers = 10**6 + drawn_noise(noise, scale, 100_000, InsecureEntropy(11))
    assert abs(held_share(ShiftLaw(scale, noise=noise), 10**6, numbers) - 0.95) < 0.005
    short = held_share(ShiftLaw(scale * 9 / 10, noise=noise), 10**6, numbers)
    assert short < 0.945


STAYS = {"v": [*range(100)] * 40, "g": ["a", "b", "b", "b"] * 1000}
V = {"lower": 0, "upper": 99, "step": 1}


def measured(statistic, what):
    """All but a thousandth of the price is for the number."""
    asked = {"by": "g", "groups": ["a"], "statistic": statistic, "measure": what}
    return GroupsQuestion(value="v", **asked, **V, share="0.999")


COVERED = {
    "ranking": (FrequencyQuestion(value="g", categories=["a", "b"], k=2), 1000),
    "measured count": (measured("median", "count"), 1000),
    "measured mean": (measured("mean", "statistic"), 48.0),
    "count": (CountQuestion(), 4000),
    "histogram": (HistogramQuestion(value="g", categories=["a"]), 1000),
    "total": (TotalQuestion(value="v", **V), 198_000),
    "mean": (MeanQuestion(value="v", **V), 49.5),
}


@pytest.fixture(scope="module")
def stays(tmp_path_factory):
    """A table that is read once, as a service keeps it: draws alone take time."""
    file = tmp_path_factory.mktemp("coverage") / "stays.csv"
    lines = [f"{v},{g}" for v, g in zip(STAYS["v"], STAYS["g"], strict=True)]
    file.write_text("v,g\n" + "\n".join(lines) + "\n")
    return Cache(FileSource(str(file))).table()


PRICES = [{"epsilon": "0.02"}, {"rho": "0.0002"}]


def method_of(name, stays, price):
    """The method that draws the numbers, its ε, and the true number."""
    question, true = COVERED[name]
    plan = expect(question, stays, **price)
    method, epsilon = plan.method, plan.cost.epsilon
    if isinstance(method, Measured):  # one group alone can be named
        method, epsilon = method.measuring(["a"]), method.share * epsilon
    return method, epsilon, true


def one_number(drawn):
    number = drawn.numbers
    return number["a"] if isinstance(number, dict) and "a" in number else number


@pytest.mark.parametrize("price", PRICES, ids=str)
@pytest.mark.parametrize("name", list(COVERED))
def test_the_stated_law_holds_95_percent_of_100_000_numbers(name, price, stays):
    """Between 94.5 and 95.5 %, seven standard deviations around what is stated.

    Noise is drawn by the stated law, of which a release tells the scale; whether a release draws
    this noise is seen by the test of releases below, and for means whether an interval holds the
    true one exactly if the theorem says so.
    """
    method, epsilon, true = method_of(name, stays, price)
    drawn = method.draw(stays, epsilon, InsecureEntropy(13))
    law = drawn.law
    if isinstance(law, ShiftLaw):
        noise = drawn_noise(law.noise, law.scale, 100_000, InsecureEntropy(12))
        distinct, times = np.unique(noise, return_counts=True)
        ends = [
            law.interval(float(true + z * law.unit), Fraction(1, 20)) for z in distinct.tolist()
        ]
        inside = [low - 1e-6 <= true <= high + 1e-6 for low, high in ends]
        held = times[inside].sum() / 100_000
    else:
        held = held_means(law, true, 1000 if name.startswith("measured") else 4000)
    assert 0.945 <= held <= 0.955


def held_means(law, true, rows):
    """The share of 100,000 pairs of noisy sums whose interval holds the true mean."""
    noise = drawn_noise(law.noise, law.scale, 200_000, InsecureEntropy(12)).reshape(-1, 2)
    r = (true - float(law.lower)) / float(law.upper - law.lower)
    steps = rows * float((law.upper - law.lower) / law.step)
    above, below = r * steps + noise[:, 0], (1 - r) * steps + noise[:, 1]
    normal = law.noise == GAUSSIAN
    quantiles = (_normal_quantiles if normal else _quantiles)(0.05)
    within = np.interp(r, SHARES, quantiles) * float(law.scale) + (1.0 if normal else 0.5)
    held = np.abs((1 - r) * above - r * below) <= within
    for one, other, inside in zip(above[:200], below[:200], held[:200], strict=True):
        count = Fraction(one + other) * law.step / (law.upper - law.lower)
        number = {"sum": float(law.lower * count + Fraction(one) * law.step), "count": float(count)}
        low, high = law.interval(number, Fraction(1, 20))
        assert (low - 1e-9 <= true <= high + 1e-9) == inside
    return held.mean()


@pytest.mark.slow
@pytest.mark.parametrize("price", PRICES, ids=str)
@pytest.mark.parametrize("name", list(COVERED))
def test_stated_intervals_hold_95_percent_of_100_000_releases(name, price, stays):
    """Between 94.5 and 95.5 %, seven standard deviations around what is stated."""
    method, epsilon, true = method_of(name, stays, price)
    entropy = InsecureEntropy(12)
    held = 0
    for _ in range(100_000):
        drawn = method.draw(stays, epsilon, entropy)
        low, high = drawn.law.interval(one_number(drawn), Fraction(1, 20))
        held += low <= true <= high
    assert 0.945 <= held / 100_000 <= 0.955
