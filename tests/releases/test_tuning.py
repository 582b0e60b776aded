"""`tune`: the law of the number of runs, the loss by enumeration, and what must be found."""

import copy
import itertools
import math
import warnings
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dampen
from dampen.core.noise import pure_rho
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import Neighbours
from dampen.epsilon import root_below
from dampen.errors import BudgetError, DataError, ParameterError
from dampen.ledger import Ledger
from dampen.releases.answer import pay
from dampen.releases.cost import Price, composed_cost
from dampen.releases.tuning import (
    Share,
    expected_runs,
    hits_of,
    noisy_hits,
    number_of_runs,
    scale_for,
    tune,
)
from dampen.testing import Universe

ROW = "add-remove-row"
SHAPES = [Fraction(0), Fraction(1, 3), Fraction(1)]


def entropy(seed: int = 0) -> InsecureEntropy:
    return InsecureEntropy(seed, allow_release=True)


def law_of_runs(scale: float, shape: float, most: int = 4000) -> np.ndarray:
    """P(K = k) for k = 1, 2, ..., by its definition."""
    k = np.arange(1, most)
    factors = np.log((k[:-1] + shape) / (k[:-1] + 1))
    logs = -k / scale + np.concatenate([[0.0], np.cumsum(factors)])
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def renyi_price(rho: float, runs: int) -> float:
    """The least ρ of the whole by Theorem 2 of Papernot and Steinke, η = 0, or by all K runs."""
    gamma = -math.expm1(-1 / float(scale_for(runs, Fraction(0))))
    order = max(1.0, math.sqrt(math.log(1 / gamma) / rho))
    alphas = 1 + np.exp(np.linspace(-8, 12, 4000))
    fixed = (order - 1) * rho + math.log(1 / gamma) / order
    theorem = alphas * rho + fixed + math.log(runs) / (alphas - 1)
    larger = np.minimum.accumulate(theorem[::-1])[::-1]
    grown = (1 - gamma) * np.exp(np.minimum((alphas - 1) * alphas * rho, 700.0))
    with np.errstate(invalid="ignore"):
        moments = np.where(grown < 1, np.log1p(-np.minimum(grown, 1 - 1e-15)), np.nan)
    all_runs = np.log(moments / math.log(gamma)) / (alphas - 1)
    return float(np.max(np.fmin(larger, all_runs) / alphas))


def test_in_zcdp_pure_runs_cost_least() -> None:
    """The figures of the module: 31 and 36 times the ρ of one run, 4 times for pure runs."""
    assert renyi_price(0.01, 10) / 0.01 == pytest.approx(31, abs=0.5)
    assert renyi_price(0.1, 1000) / 0.1 == pytest.approx(36, abs=0.5)
    for rho in (1e-4, 1e-2, 0.1):
        for runs in (2, 10, 100, 1000):
            assert renyi_price(rho, runs) > float(pure_rho(2 * root_below(2 * Fraction(rho))))


def test_a_price_in_zcdp_buys_the_epsilon_of_any_pure_release(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.jsonl")
    account = book.create("private", epsilon=2, delta="1e-6", neighbours=ROW)
    given = {"neighbours": ROW, "rho": "0.02", "budget": account, "entropy": entropy()}
    best = tune([1, 2], lambda candidate, share: (candidate, share.epsilon), **given)
    [charge] = account.history
    assert charge.rho <= Fraction("0.02") < charge.rho * Fraction("1.000001")
    assert charge.epsilon is not None
    assert charge.epsilon == 2 * best.result
    assert float(charge.epsilon) == pytest.approx(0.2003, abs=1e-4)
    with pytest.raises(ParameterError, match="epsilon= or rho="):
        tune([1], lambda *_: (0, None), neighbours=ROW)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_number_of_runs_follows_its_law(shape: Fraction) -> None:
    """A chi-square test at the level 10^-6, on 1,000 draws, that rejects a shape 0.5 away."""
    scale, source = scale_for(6, shape), entropy(1)
    drawn = Counter(number_of_runs(scale, shape, source) for _ in range(1000))
    law = law_of_runs(float(scale), float(shape))
    cells = [1, 2, 3, 4, 6, 9, 14]
    bounds = list(itertools.pairwise([*cells, len(law) + 1]))
    seen = [sum(drawn[k] for k in range(a, b) if k in drawn) for a, b in bounds]
    expected = [1000 * law[a - 1 : b - 1].sum() for a, b in bounds]
    assert sum(seen) == 1000
    assert stats.chisquare(seen, expected).pvalue > 1e-6
    other = law_of_runs(float(scale), float(shape) + (0.5 if shape < 1 else -0.5))
    wrong = [1000 * other[a - 1 : b - 1].sum() for a, b in bounds]
    assert stats.chisquare(seen, wrong).pvalue < 1e-6


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("runs", [2, 10, 100])
def test_as_many_runs_as_expected(shape: Fraction, runs: int) -> None:
    scale = scale_for(runs, shape)
    law = law_of_runs(float(scale), float(shape), 200_000)
    assert math.isclose((law * np.arange(1, len(law) + 1)).sum(), runs, rel_tol=1e-3)
    assert math.isclose(expected_runs(float(scale), float(shape)), runs, rel_tol=1e-3)


# By enumeration: a run takes one of two settings and answers with randomised response on whether
# most rows agree with it, with the answer as its score, so that scores tie.

UNIVERSE = Universe.add_remove_row([0, 1], 4)
EPSILON = 0.7
Law = dict[tuple[int, int], float]


def run_law(database: tuple[int, ...]) -> Law:
    """P(setting, score) of one run, EPSILON-DP: the exponential mechanism on a clipped count."""
    law: Law = {}
    for setting in (0, 1):
        count = min(database.count(setting), 3)
        weights = {score: math.exp(-EPSILON / 2 * abs(score - count)) for score in range(4)}
        for score, weight in weights.items():
            law[setting, score] = weight / sum(weights.values()) / 2
    return law


def best_law(runs: np.ndarray, law: Law) -> Law:
    """P of the best of a random number of runs, the first of equals, by sums over all k."""
    exponents = np.arange(1, len(runs) + 1)
    result: Law = {}
    for (setting, score), p in law.items():
        below = sum(q for (_, other), q in law.items() if other < score)
        tied = sum(q for (_, other), q in law.items() if other == score)
        lies = (runs * ((below + tied) ** exponents - below**exponents)).sum()
        result[setting, score] = p / tied * lies
    return result


def loss(mechanism: Callable[[tuple[int, ...]], Law]) -> float:
    laws = [mechanism(database) for database in UNIVERSE.databases]
    return max(
        abs(math.log(laws[i][y] / laws[j][y])) for i, j in UNIVERSE.neighbours for y in laws[i]
    )


def test_the_best_of_two_by_hand() -> None:
    """The law of the best against every sequence of two runs."""
    law = run_law((0, 0, 1))
    best: Law = dict.fromkeys(law, 0.0)
    for one, other in itertools.product(law, law):
        best[other if other[1] > one[1] else one] += law[one] * law[other]
    exactly_two = best_law(np.array([0.0, 1.0]), law)
    assert all(math.isclose(best[y], exactly_two[y], abs_tol=1e-12) for y in law)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("runs", [2, 10, 50])
def test_the_total_by_enumeration(shape: Fraction, runs: int) -> None:
    law = law_of_runs(float(scale_for(runs, shape)), float(shape))
    one = loss(run_law)
    assert one <= EPSILON + 1e-9
    total = loss(lambda database: best_law(law, run_law(database)))
    assert one < total <= (2 + float(shape)) * EPSILON + 1e-9


def grid_law(settings: int) -> Callable[[tuple[int, ...]], Law]:
    """Each of many settings once, as a grid search does."""

    def law(database: tuple[int, ...]) -> Law:
        return best_law(np.eye(settings)[-1], run_law(database))

    return law


def test_a_grid_search_that_is_charged_once_is_found() -> None:
    assert loss(grid_law(40)) > 3 * EPSILON


def test_a_published_number_of_runs_is_found() -> None:
    law = law_of_runs(float(scale_for(50, Fraction(1))), 1.0)

    def telling(database: tuple[int, ...]) -> Law:
        told = {}
        for k in (1, 10, 60):
            best = best_law(np.eye(k)[-1], run_law(database))
            told |= {(k, 10 * s + score): law[k - 1] * p for (s, score), p in best.items()}
        return told

    assert loss(telling) > 3 * EPSILON


def answers(score: float) -> Callable[[str, Share], tuple[float, str]]:
    return lambda setting, share: (score, f"{setting} at {share.epsilon}")


def asks(*epsilons: str, neighbours: str = ROW) -> Callable[[str, Share], tuple[float, Share]]:
    """A run with a step for each ε, all charged to its share."""

    def run(setting: str, share: Share) -> tuple[float, Share]:
        for epsilon in epsilons:
            relation = Neighbours(neighbours)
            pay(composed_cost(relation, Price(epsilon), query="", mechanism=""), budget=share)
        return 1.0, share

    return run


@pytest.mark.parametrize("epsilons", [(), ("0.5",), ("0.2", "0.3"), ("0.1",)])
def test_a_run_may_spend_its_share_or_less(tmp_path: Path, epsilons: tuple[str, ...]) -> None:
    account = Ledger(tmp_path / "ledger").create("b", epsilon=1, neighbours=ROW)
    best = tune(["a"], asks(*epsilons), neighbours=ROW, epsilon=1, budget=account)
    assert [charge.epsilon for charge in account.history] == [1]
    with pytest.raises(BudgetError, match="run has ended"):
        asks("0.1")("a", best.result)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (asks("0.500001"), "more than its share of epsilon 0.5"),
        (asks("0.5", "0.000001"), "more than its share"),
        (asks("0.1", neighbours="replace-one"), "share is for add-remove-row"),
        (lambda a, share: asks("0.3")(a, copy.deepcopy(asks("0.3")(a, share)[1])), "its share"),
        (lambda a, share: (noisy_hits([1], [1], epsilon=1, budget=share), None), "its share"),
    ],
)
def test_a_run_that_spends_more_than_its_share_is_refused(
    tmp_path: Path, run: Callable, message: str
) -> None:
    account = Ledger(tmp_path / "ledger").create("b", epsilon=9, neighbours=ROW)
    with pytest.raises(DataError, match=message):
        tune(["a"], run, neighbours=ROW, epsilon=1, budget=account)
    assert [charge.epsilon for charge in account.history] == [1]


@pytest.mark.filterwarnings("ignore::dampen.errors.PrivacyLeakWarning")
@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda **o: dampen.keys(["a"] * 9, delta="0.5", **o), "delta 0.5"),
        (lambda **o: dampen.count({"g": ["a"]}, by="g", delta="0.1", **o), "delta 0.1"),
        (lambda **o: dampen.most_frequent(["a"], public="data", **o), "categories from the data"),
    ],
    ids=["keys", "found groups", "leak"],
)
def test_a_run_pays_for_nothing_that_its_epsilon_does_not_cover(
    step: Callable, message: str
) -> None:
    """A δ of 1/2 was granted, and the release of `tune` told of none."""
    with pytest.raises(DataError, match=message):
        tune(
            ["a"],
            lambda _, share: (1.0, step(epsilon=share.epsilon, budget=share)),
            neighbours=ROW,
            epsilon=1,
        )


def test_a_run_pays_for_the_unit_that_is_stated(tmp_path: Path) -> None:
    """ε for doctors says nothing about patients; it was charged to the share of patients."""
    visits = {"patient": ["p", "q"], "doctor": ["d", "d"]}
    account = Ledger(tmp_path / "ledger").create(
        "b", epsilon=9, neighbours=Neighbours.ADD_REMOVE_UNIT, unit="patient"
    )

    def counted(unit: str) -> Callable:
        return lambda _, share: (
            dampen.count(visits, unit=unit, epsilon=share.epsilon, budget=share).answer,
            repr(share),
        )

    with pytest.raises(DataError, match=r"protects one patient, .* protects one doctor, "):
        tune(["a"], counted("doctor"), unit="patient", epsilon=1, budget=account)
    best = tune(["a"], counted("patient"), unit="patient", epsilon=1, budget=account)
    assert best.result == "Share(epsilon='0.5', neighbours='add-remove-unit', unit='patient')"
    assert account.spent == 2


def test_the_best_is_kept_and_charged_once(tmp_path: Path) -> None:
    account = Ledger(tmp_path / "ledger").create("b", epsilon=1, neighbours=ROW)
    scores = {"poor": 1.0, "good": 2.0, "broken": math.nan}
    asked: list[Fraction] = []

    def run(setting: str, share: Share) -> tuple[float, str]:
        asked.append(share.epsilon)
        assert account.spent == 1
        return scores[setting], setting.upper()

    best = tune(
        list(scores), run, neighbours=ROW, epsilon=1, runs=100, shape=1, budget=account,
        entropy=entropy(5),
    )  # fmt: skip
    assert (best.candidate, best.score, best.result) == ("good", 2.0, "GOOD")
    assert set(asked) == {Fraction(1, 3)}
    (charge,) = account.history
    assert (charge.epsilon, charge.query) == (1, "tune")
    assert best.release.charge == charge.id
    assert not any(str(len(asked)) in str(value) for value in best.release.parameters.values())
    with pytest.raises(BudgetError, match="0 of 1 is left"):
        tune(list(scores), run, neighbours=ROW, epsilon=1, budget=account)


def test_only_broken_scores_give_a_broken_result() -> None:
    best = tune(["a"], answers(math.nan), neighbours=ROW, epsilon=1, entropy=entropy())
    assert best.score == -math.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"candidates": []}, "Expected candidates"),
        ({"runs": 1}, "Expected runs from 2"),
        ({"runs": 10**6}, "Expected runs from 2"),
        ({"runs": 2.5}, "Expected runs from 2"),
        ({"shape": -1}, "Expected 0 <= shape"),
        ({"shape": 2}, "Expected 0 <= shape"),
        ({"shape": "x"}, "Expected 0 <= shape"),
        ({"shape": "0.0001"}, "denominator"),
        ({"epsilon": 0}, "epsilon > 0"),
        ({"neighbours": "rows"}, "neighbours to be one of"),
    ],
)
def test_bad_parameters_charge_nothing(tmp_path: Path, change: dict, message: str) -> None:
    account = Ledger(tmp_path / "ledger").create("b", epsilon=9, neighbours=ROW)
    asked = {"candidates": ["a"], "epsilon": 1, "neighbours": ROW, "budget": account} | change
    with pytest.raises(ParameterError, match=message):
        tune(asked.pop("candidates"), answers(1.0), **asked)
    assert account.spent == 0


def test_a_run_that_fails_tells_nothing_of_the_data(tmp_path: Path) -> None:
    account = Ledger(tmp_path / "ledger").create("b", epsilon=1, neighbours=ROW)

    def run(setting: str, share: Share) -> tuple[float, str]:
        raise ValueError("SECRET")

    with pytest.raises(DataError, match="stands") as caught:
        tune(["a"], run, neighbours=ROW, epsilon=1, budget=account)
    assert "SECRET" not in str(caught.value)
    assert account.spent == 1


@pytest.mark.parametrize("kind", [list, tuple, pd.Series, lambda v: np.array(v, dtype=object)])
@pytest.mark.parametrize("cell", ["x", None, pd.NA, 10**400, [1], np.array([1, 2]), 1.5, object()])
def test_what_one_row_holds_decides_nothing_about_another(kind: Any, cell: Any) -> None:
    """One text among numbers made texts of all of them, so that no prediction was right."""
    predicted, truth = [1, 2] * 50, [1, 3] * 50
    assert hits_of(kind(predicted), kind(truth)).sum() == 50
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        more = hits_of([*predicted, 1], kind([*truth, cell]))
        assert [*more] == [*hits_of(predicted, truth), False]
        assert noisy_hits([*predicted, 1], kind([*truth, cell]), epsilon=50) == 50


def test_a_missing_class_is_not_right() -> None:
    truth = pd.Series(["a", None, "b"], dtype="string")
    assert [*hits_of(np.array(["a", "a", "a"]), truth)] == [True, False, False]


def test_noisy_hits_have_discrete_laplace_noise() -> None:
    """Two-sided geometric: the share of exact answers is tanh(ε/2), within 5 standard errors."""
    source, epsilon = entropy(2), 1.0
    truth = [1, 0, 1, 1]
    found = [noisy_hits([1, 1, 1, 1], truth, epsilon=1, entropy=source) for _ in range(1500)]
    exact, share = np.mean(np.array(found) == 3), math.tanh(epsilon / 2)
    assert abs(exact - share) < 5 * math.sqrt(share * (1 - share) / 1500)
    with pytest.raises(DataError, match="could not be read"):
        noisy_hits([1], [1, 2], epsilon=1)
