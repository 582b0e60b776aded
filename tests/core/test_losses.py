"""Losses and their sums: never below the truth, by enumeration and against Google's accountant."""

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from dampen.core import losses as module
from dampen.core.losses import ANY, Loss, composed_epsilon, read_losses, text_of_losses
from dampen.core.noise import pure_rho
from dampen.core.zcdp import epsilon_at
from dampen.errors import ParameterError
from sticks import law, sticks, summed

DELTA = Fraction("1e-6")
POINTS = np.linspace(-3.0, 3.0, 241)
"""Of ε at which hockey sticks are compared."""


def stated(losses: list[Loss], points: np.ndarray = POINTS) -> np.ndarray:
    """δ of the sum at every ε."""
    totals, chances = summed(losses)
    return np.array([chances @ np.maximum(0, -np.expm1(each - totals)) for each in points])


def noise(b: float, moved: int, far: int) -> np.ndarray:
    """P(Z + moved = z) for P(Z = z) ~ e^(-b |z|)."""
    z = np.arange(-far, far + 1)
    return np.exp(-b * np.abs(z - moved)) * math.tanh(b / 2)


def moved_by(b: float, moves: tuple[int, ...], far: int = 60) -> np.ndarray:
    """δ of independent noise on several integers of which each moves; never above the truth."""
    laws = [(noise(b, 0, far), noise(b, each, far)) for each in moves]
    p, q = (functools.reduce(np.multiply.outer, each).ravel() for each in zip(*laws, strict=True))
    return sticks(p, q, POINTS)


@pytest.mark.parametrize("steps", [1, 2, 3, 7])
@pytest.mark.parametrize("b", [0.4, 1.0])
def test_integer_noise_that_moves_by_m_loses_what_theorem_1_says(steps: int, b: float) -> None:
    """Far tails are cut off: both sides are equal up to e^-24."""
    loss = Loss(Fraction(str(b)) * steps, steps)
    assert sum(law(loss).values()) == pytest.approx(1)
    assert stated([loss]) == pytest.approx(moved_by(b, (steps,)), abs=1e-8)


@pytest.mark.parametrize("moves", [(2,), (1, 1), (1, 2), (2, 1), (0, 3), (1, 1, 1), (-2, 1, 1)])
def test_several_integers_lose_no_more_than_one_that_moves_by_all(moves: tuple[int, ...]) -> None:
    """A twin that counts one step less is found."""
    b = Fraction("0.5")
    m = sum(map(abs, moves))
    true = moved_by(float(b), moves, far=30 if len(moves) < 3 else 20)
    assert np.all(true <= stated([Loss(b * m, m)]) + 1e-12)
    twin = stated([Loss(b * (m - 1), m - 1)])
    assert np.any(true > twin + 1e-4)


def test_a_twin_with_finer_steps_than_integers_is_found() -> None:
    true = moved_by(0.5, (2,))
    assert np.any(true > stated([Loss(Fraction(1), 20)]) + 1e-4)


@pytest.mark.parametrize("steps", [1, 2, 5, 40])
def test_continuous_noise_loses_less_than_any_number_of_steps(steps: int) -> None:
    """It touches the bound at the losses of the steps, up to rounding, and is below it between."""
    e = 1.5
    ends = [float(each) for each in law(Loss(Fraction("1.5"), steps))]
    points = np.concatenate([POINTS, ends])
    true = np.where(
        np.abs(points) < e, 1 - np.exp((points - e) / 2), np.maximum(0, 1 - np.exp(points))
    )
    bound = stated([Loss(Fraction("1.5"), steps)], points)
    assert np.all(true <= bound + 1e-12)
    assert true[len(POINTS) :] == pytest.approx(bound[len(POINTS) :])


def chains() -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Laws of four answers that follow each other, each 0.4-DP to the last one."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        steps = int(rng.integers(1, 5))
        first = rng.dirichlet(np.ones(4))
        last = first
        for _ in range(steps):
            ratio = np.exp(rng.choice([-0.2, 0.2], 4))
            last = last * ratio / (last * ratio).sum()
        yield steps, first, last


def test_every_chain_is_dominated() -> None:
    """A twin that takes twice as many steps for the same ε is found."""
    found = 0
    for steps, first, last in chains():
        true = np.maximum(sticks(first, last, POINTS), sticks(last, first, POINTS))
        assert np.all(true <= stated([Loss(Fraction("0.4") * steps, steps)]) + 1e-12)
        found += bool(np.any(true > stated([Loss(Fraction("0.2") * steps, 2 * steps)]) + 1e-12))
    assert found > 0


def exact_delta(losses: list[Loss], epsilon: float) -> float:
    return float(stated(losses, np.array([epsilon]))[0])


MIXED = [
    [Loss(Fraction("0.50003"), 3, 2), Loss(Fraction("0.70001"), 7), Loss(Fraction("0.40003"))],
    [Loss(Fraction("1.00001"), 2), Loss(Fraction("0.30007"), 5, 2), Loss(Fraction("0.2"), 1, 3)],
    [Loss(Fraction(1), times=3)],
    [Loss(Fraction("0.5"), times=2), Loss(Fraction(1), times=2)],
    [Loss(Fraction("0.3"), times=4), Loss(Fraction("0.7"), times=3), Loss(Fraction(2))],
    [Loss(Fraction("0.6"), 4, 3)],
    [Loss(Fraction("0.5"), 3, 2), Loss(Fraction("0.7"), 7), Loss(Fraction("0.4"))],
    [Loss(Fraction(1), 2), Loss(Fraction("0.3"), 5, 2), Loss(Fraction("0.2"), times=3)],
    [Loss(Fraction("0.2"), times=50)],
    [Loss(Fraction("0.5"), 4, 20)],
]


@pytest.mark.parametrize("losses", MIXED, ids=text_of_losses)
@pytest.mark.parametrize("delta", ["1e-6", "0.001", "0.05"])
def test_composition_by_adding_up_over_all_outcomes(losses: list[Loss], delta: str) -> None:
    """δ at the ε that is found is within it; a twin that is 1 % lower exceeds it."""
    found = float(composed_epsilon(losses, Fraction(delta)))
    assert exact_delta(losses, found) <= float(delta) * (1 + 1e-9)
    assert exact_delta(losses, found * 0.99) > float(delta)


@pytest.mark.parametrize("losses", MIXED[:2], ids=text_of_losses)
def test_a_twin_that_rounds_losses_down_is_found(
    losses: list[Loss], monkeypatch: pytest.MonkeyPatch
) -> None:
    """These are on no common grid."""
    down = SimpleNamespace(ceil=math.floor, gcd=math.gcd, lcm=math.lcm)
    monkeypatch.setattr(module, "math", down)
    found = float(composed_epsilon(losses, Fraction("0.001")))
    assert exact_delta(losses, found) > 0.001 * (1 + 1e-9)


PRICES = [
    [Loss(Fraction(1))],
    [Loss(Fraction("0.2"), times=50)],
    [Loss(Fraction("0.01"), times=1000)],
    [Loss(Fraction(2), times=20)],
    [Loss(Fraction("0.1"), times=30), Loss(Fraction("0.3"), times=10), Loss(Fraction("0.5"), 1, 3)],
    [Loss(Fraction("0.02"), times=100), Loss(Fraction(1))],
    [Loss(Fraction(i, 100), times=2) for i in range(11, 60)],
    [Loss(Fraction("0.2"), ANY, 50)],
    [Loss(Fraction("0.5"), 4, 20)],
    [Loss(Fraction("0.5"), 1009, 50)],
    [Loss(Fraction("0.2"), 10**6 + 3, 30), Loss(Fraction("0.2"), times=20)],
    [Loss(Fraction("0.3"), ANY, 10), Loss(Fraction("0.1"), 2, 30), Loss(Fraction("0.5"), 1, 2)],
    [Loss(Fraction(i, 100), i, 2) for i in range(11, 60)],
]


def numerical(losses: list[Loss], *, pessimistic: bool) -> Callable[[float], float]:
    """ε at a δ by Google's composition, from one side."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    options = {"pessimistic_estimate": pessimistic, "value_discretization_interval": 1e-4}
    found = []
    for each in losses:
        scale = float((each.steps or 1) / each.epsilon)
        if each.steps == ANY:
            one = pld.from_laplace_mechanism(scale, use_connect_dots=pessimistic, **options)
        else:
            one = pld.from_discrete_laplace_mechanism(1 / scale, each.steps, **options)
        found.append(one.self_compose(each.times))
    total = functools.reduce(lambda one, other: one.compose(other), found)
    return lambda delta: float(total.get_epsilon_for_delta(delta))


@pytest.mark.parametrize("losses", PRICES, ids=lambda losses: text_of_losses(losses)[:40])
def test_composition_is_never_below_the_truth_and_near_it(losses: list[Loss]) -> None:
    """Google's optimistic composition is a floor, up to floats; the pessimistic one is as far off.

    More than 48 different losses, of the last ones, are rounded up.
    """
    pytest.importorskip("dp_accounting")
    low, high = (numerical(losses, pessimistic=pessimistic) for pessimistic in (False, True))
    for delta in ("1e-9", "1e-6", "0.01"):
        found = float(composed_epsilon(losses, Fraction(delta)))
        assert found >= low(float(delta)) * (1 - 1e-7), delta
        assert found <= high(float(delta)) * 1.01 + 1e-9, delta
        assert found <= sum(each.total for each in losses), delta


def test_fifty_counts_and_fifty_continuous_numbers() -> None:
    """The table of docs/lab-budgets.md: 7.766 by ε²/2, 7.751 by ε tanh(ε/2), then these."""
    price = Fraction("0.2")
    assert float(epsilon_at(50 * price**2 / 2, DELTA)) == pytest.approx(7.766, abs=1e-3)
    assert float(epsilon_at(50 * pure_rho(price), DELTA)) == pytest.approx(7.751, abs=1e-3)
    for steps, expected in ((1, 6.884), (2, 6.737), (10, 6.672), (ANY, 6.670)):
        found = composed_epsilon([Loss(price, steps, 50)], DELTA)
        assert float(found) == pytest.approx(expected, abs=1e-3)


def test_larger_losses_in_fewer_steps_stand_for_others() -> None:
    """Of more than 48 different ones; and of steps that are too many to be added up."""
    many = [Loss(Fraction(i, 100), i % 4, 2) for i in range(11, 300)]
    few = module._few(many)
    assert len(few) == module.MOST_LOSSES
    assert sum(each.times for each in few) == 2 * len(many)
    for each in many:
        stands = (module._for_both(each, one) == replace(one, times=one.times + 2) for one in few)
        assert any(stands)
    assert module._few([Loss(Fraction(1), ANY), Loss(Fraction(1), ANY)]) == [
        Loss(Fraction(1), ANY, 2)
    ]
    for each in (Loss(Fraction("0.2"), 1009, 50), Loss(Fraction(3), 10**9 + 7, 20_000)):
        coarse = module._coarser(each)
        assert each.epsilon <= coarse.epsilon <= each.epsilon * Fraction(101, 100)
        one = each.epsilon / each.steps
        assert (coarse.epsilon / coarse.steps / one).denominator == 1
        assert coarse.rho >= each.rho


# Others that are ρ-zCDP: Gaussian noise by its exact δ, exponential mechanisms by enumeration.


def gaussian_delta(rho: float, epsilon: np.ndarray) -> np.ndarray:
    """Of Gaussian noise that is ρ-zCDP (Balle and Wang 2018)."""
    mu = math.sqrt(2 * rho)
    above = norm.logcdf(-epsilon / mu - mu / 2)
    return norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon + above)


@pytest.mark.parametrize("rho", ["1e-9", "0.001", "0.125", "2"])
@pytest.mark.parametrize("losses", MIXED, ids=text_of_losses)
def test_gaussian_noise_beside_them(losses: list[Loss], rho: str) -> None:
    """A twin that forgets the others is found; the sum is below halves of δ."""
    delta = Fraction("0.0001")
    found = composed_epsilon(losses, delta, Fraction(rho))
    totals, chances = summed(losses)

    def true(epsilon: float) -> float:
        return float(chances @ gaussian_delta(float(rho), epsilon - totals))

    assert true(float(found)) <= delta
    alone = composed_epsilon(losses, delta)
    assert alone <= found
    assert true(float(alone)) > delta or rho == "1e-9"
    half = delta / 2
    assert found <= composed_epsilon(losses, half) + epsilon_at(Fraction(rho), half)


def bounded_range(epsilon: float, t: float) -> tuple[list[float], list[float]]:
    """Two answers whose losses are t and t - ε: an extreme of exponential mechanisms."""
    q = (1 - math.exp(t - epsilon)) / (math.exp(t) - math.exp(t - epsilon))
    return [q * math.exp(t), 1 - q * math.exp(t)], [q, 1 - q]


def interleaved(left: int, answers: str, yes: float, e: float) -> Iterator[tuple[float, float]]:
    """All answers to randomised response and exponential mechanisms in turn.

    Each exponential mechanism is chosen by what was answered before.
    """
    if not left:
        yield 1.0, 1.0
        return
    t = e * (0.2, 0.5, 0.8)[answers.count("0") % 3]
    pair = ([yes, 1 - yes], [1 - yes, yes]) if left % 2 else bounded_range(e, t)
    for answer, p, q in zip("01", *pair, strict=True):
        for later_p, later_q in interleaved(left - 1, answers + answer, yes, e):
            yield p * later_p, q * later_q


@pytest.mark.parametrize("delta", ["1e-6", "0.001", "0.05"])
def test_exponential_mechanisms_between_them(delta: str) -> None:
    """Order does not matter; a twin that forgets the ρ of every other mechanism is found."""
    price, e = Fraction("0.5"), 0.6
    pairs = list(interleaved(10, "", 1 / (1 + math.exp(-0.5)), e))
    p, q = (np.array(each) for each in zip(*pairs, strict=True))
    rho = 5 * Fraction("0.6") ** 2 / 8
    found = float(composed_epsilon([Loss(price, times=5)], Fraction(delta), rho))
    true = max(sticks(p, q, np.array([found]))[0], sticks(q, p, np.array([found]))[0])
    assert true <= float(delta)
    twin = float(composed_epsilon([Loss(price, times=5)], Fraction(delta)))
    assert sticks(p, q, np.array([twin]))[0] > float(delta)


def test_others_alone_are_converted_from_zcdp() -> None:
    assert composed_epsilon([], DELTA, Fraction("0.125")) == epsilon_at(Fraction("0.125"), DELTA)
    assert composed_epsilon([], DELTA) == 0
    tiny = composed_epsilon([Loss(Fraction("1e-9"))], DELTA, Fraction("0.125"))
    assert float(tiny) == pytest.approx(float(epsilon_at(Fraction("0.125"), DELTA)), rel=1e-6)


def test_an_epsilon_that_floats_make_too_small_is_not_proved() -> None:
    """The bound is proved in balls: what is a millionth lower is refused."""
    part = Loss(Fraction("0.2"), times=50)
    rho = Fraction("0.125")
    law_of_all = module._added_up([module._Lattice.of(part, 300)], 300)
    orders = module._Orders.of(float(rho))
    found = module._solved_beside(law_of_all, rho, DELTA)
    assert module._is_proved(law_of_all, rho, DELTA, found, orders)
    lower = found * (1 - Fraction(1, 10**6))
    assert not module._is_proved(law_of_all, rho, DELTA, lower, orders)


def test_losses_are_read_as_they_are_written() -> None:
    losses = (Loss(Fraction(1, 3), 10, 5), Loss(Fraction("0.2")), Loss(Fraction("1e-9"), ANY))
    text = "5 x 1/3 in 10 steps, 0.2 in 1 step, 0.000000001 in any steps"
    assert text_of_losses(losses) == text
    assert read_losses(text) == losses
    assert read_losses("") == ()


@pytest.mark.parametrize(
    "text", ["0.2", "0.2 in steps", "-1 in 2 steps", "0 x 0.2 in 1 step", "0.2 in 1 step;", "x"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        read_losses(text)


@pytest.mark.parametrize("wrong", [{"epsilon": Fraction(0)}, {"steps": -1}, {"times": 0}])
def test_numbers_out_of_range_are_refused(wrong: dict[str, Fraction]) -> None:
    with pytest.raises(ParameterError):
        Loss(**({"epsilon": Fraction(1)} | wrong))  # type: ignore[arg-type]
