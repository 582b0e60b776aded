from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import dampen
from dampen import InsecureEntropy, ParameterError, Selection, probabilities, select
from dampen.core import sensitivity
from dampen.core.mechanisms import LD, MECHANISMS, SLD, Mechanism, named, prepare
from dampen.core.noise import EXPONENTIAL, GUMBEL, LAPLACE
from dampen.core.scores import Dampened, Global, Score, Scores, Shifted
from dampen.questions.nodes.metrics import InfluentialNode

TABLE = sensitivity.table([[3] * 8, [5] * 8])
RUNNING = Selection([6.5, 6.5, 0, 0, 0, 0, 0, 0], TABLE, bound=7.5, joint={Shifted(): 2.0})


def softmax(a: np.ndarray) -> np.ndarray:
    w = np.exp(a - a.max())
    return w / w.sum()


def test_probabilities_by_the_definitions() -> None:
    u, eps = RUNNING.utility, 2.0
    assert probabilities(RUNNING, epsilon=2, mechanism="em") == pytest.approx(
        softmax(eps * u / 15), rel=1e-6
    )
    D = np.where(u > 0, 1.7, 0)
    assert probabilities(RUNNING, epsilon=2, mechanism="ld") == pytest.approx(
        softmax(eps * D / 2), rel=1e-5
    )
    assert probabilities(RUNNING, epsilon=2, mechanism="sld") == pytest.approx(
        softmax(eps * u / 15), rel=1e-5
    )


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
def test_probabilities_sum_to_one_and_respect_symmetry(mechanism: Mechanism) -> None:
    p = probabilities(RUNNING, epsilon="0.7", mechanism=mechanism)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert p[0] == pytest.approx(p[1]) and np.ptp(p[2:]) < 1e-12 and p[0] > p[2]


def test_with_a_constant_delta_ld_sld_and_em_agree_within_the_rounding_bound() -> None:
    u = np.random.default_rng(2).normal(size=200) * 4
    s = Selection(u, sensitivity.constant(1.5))
    em = probabilities(s, epsilon=3, mechanism="em")
    for name in ("ld", "sld"):
        # |difference in log-probability| <= eps * (eta + |q| * 2 eta) with eta = 2^-20
        assert (
            np.abs(np.log(probabilities(s, epsilon=3, mechanism=name) / em)).max()
            < 3 * 2.0**-20 * 40
        )


def test_sld_is_the_limit_of_ld_under_ever_larger_shifts() -> None:
    rows = [[1, 2, 4, 5], [2, 2, 6, 8], [9, 9, 9, 9]]
    s = Selection([1.0, 4.0, 6.0, 8.0], sensitivity.table(rows), bound=10)
    for towards, shift in ((1, 1e3), (-1, -1e3)):
        limit = Mechanism("limit", Shifted(towards), GUMBEL)
        finite = Mechanism("finite", Dampened(shift=shift), GUMBEL)
        assert probabilities(s, epsilon=2, mechanism=finite) == pytest.approx(
            probabilities(s, epsilon=2, mechanism=limit), rel=1e-4
        )


def test_permute_and_flip_is_never_worse_than_em_on_the_same_scores() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        u = rng.exponential(3, size=rng.integers(2, 30))
        s = Selection(u, sensitivity.constant(1))
        best = u.max() - u
        assert (
            best @ probabilities(s, epsilon=2, mechanism="pf")
            <= best @ probabilities(s, epsilon=2, mechanism="em") + 1e-9
        )


def test_probabilities_survive_extreme_scores() -> None:
    for mechanism in MECHANISMS:
        s = Selection([1e300, 0, -1e300], sensitivity.constant(1e-3), joint={Shifted(): 1.0})
        best = probabilities(s, epsilon=5, mechanism=mechanism)[0]
        assert best == pytest.approx(1, abs=1e-6 if mechanism.shift is None else 1e-2)


def test_probabilities_of_a_million_candidates() -> None:
    n = 10**6
    s = Selection(np.r_[20.0, np.zeros(n - 1)], sensitivity.constant(1), exact=True)
    p = probabilities(s, epsilon=1, mechanism="pf")
    assert p.sum() == pytest.approx(1)
    # P[best] = the integral of (1 - w y)^(n-1) with w = exp(-10), in closed form
    w = np.exp(-10.0)
    assert p[0] == pytest.approx(-np.expm1(n * np.log1p(-w)) / (n * w), rel=1e-9)


def test_select_gives_an_index_or_a_list() -> None:
    assert select(RUNNING, epsilon=2, mechanism="ld") in range(8)
    for mechanism in MECHANISMS:
        picked = select(RUNNING, epsilon=2, mechanism=mechanism, k=8)
        assert isinstance(picked, list) and sorted(picked) == list(range(8))
        assert len(select(RUNNING, epsilon=2, mechanism=mechanism, k=1)) == 1


@pytest.mark.parametrize("name", ["em", "sld", "pf"])
def test_select_by_rho_draws_as_at_its_epsilon(name: str) -> None:
    s = Selection(np.arange(30.0), sensitivity.constant(1))
    for seed in range(20):
        # k = 4 answers at ε together cost what four at ε/4 do.
        rho = named(name).rho(Fraction(2), 4)
        by_rho = select(s, rho=rho, mechanism=name, k=4, entropy=InsecureEntropy(seed))
        assert by_rho == select(s, epsilon=2, mechanism=name, k=4, entropy=InsecureEntropy(seed))
    with pytest.raises(ParameterError, match="epsilon= or rho="):
        select(s, mechanism=name)
    with pytest.raises(ParameterError, match="epsilon= or rho="):
        select(s, epsilon=1, rho=1, mechanism=name)


def test_with_enough_epsilon_the_best_come_first() -> None:
    s = Selection([1.0, 5.0, 3.0, 2.0], sensitivity.constant(1), joint={Shifted(): 1.0})
    for mechanism in MECHANISMS:
        assert select(s, epsilon=1000, mechanism=mechanism, k=3) == [1, 2, 3]


def test_dampened_scores_keep_the_factor_of_two_of_a_one_sided_utility() -> None:
    """u = 2 unchanged while δ goes from 1, 3, 3... to 3, 3, ...: D falls, though u did not."""
    before = Selection([2.0], sensitivity.table([[1.0]]), bound=3, one_sided=True)
    after = Selection([2.0], sensitivity.constant(3.0), one_sided=True)
    D = [float(Dampened().of(s).values[0]) for s in (before, after)]
    assert D == pytest.approx([4 / 3, 2 / 3], abs=1e-6)
    for one_sided in (False, True):
        s = Selection([2.0, 1.0], sensitivity.table([[1.0, 1.0]]), bound=3, one_sided=one_sided)
        assert probabilities(s, epsilon=1, mechanism=LD)[0] == pytest.approx(
            softmax(np.array([2 / 3, 0.5]))[0], 1e-5
        )
        assert probabilities(s, epsilon=1, mechanism=SLD)[0] == pytest.approx(
            softmax(np.array([1 / 6, 0]))[0], 1e-5
        )


def test_a_mechanism_object_passes_as_it_is() -> None:
    own = Mechanism("down", Shifted(-1), EXPONENTIAL)
    assert named(own) is own
    assert named("sld-pf").noise is EXPONENTIAL


def book(pages: int, *, spine: bool) -> tuple[list[int], list[int]]:
    """Nodes 0 and 1 share every page; the edge between them is the spine."""
    ends = [(end, 2 + page) for page in range(pages) for end in (0, 1)] + [(0, 1)] * spine
    src, dst = zip(*ends, strict=True)
    return list(src), list(dst)


@pytest.mark.parametrize("score", [Dampened(), Shifted(-1), Shifted(cap=1e9), Global()])
def test_a_joint_bound_holds_for_its_score_only(score: Score) -> None:
    """One edge of a book moves the dampened scores of all pages, by far more than it states."""
    pages, own = 75, Mechanism("own", score, LAPLACE)
    problem = InfluentialNode(n=pages + 2)
    without, whole = (problem.selection(book(pages, spine=spine)) for spine in (False, True))
    (stated,) = without.joint.values()
    for refused in (prepare, partial(select, epsilon=1), partial(probabilities, epsilon=1)):
        with pytest.raises(ParameterError, match="Expected a score with a 1-norm bound for 'own'"):
            refused(without, mechanism=own)
    change = score.of(without).values - score.of(whole).values
    if score == Dampened():
        assert np.abs(change).sum() > 15 * stated  # the log-ratio at ε = 1, were it drawn
    shifted = Shifted().of(without).values - Shifted().of(whole).values
    assert np.abs(shifted).sum() <= stated
    assert len(select(without, epsilon=1, mechanism="joint", k=4)) == 4


def test_a_joint_release_without_a_bound_is_refused_before_the_charge() -> None:
    class Untouchable:
        def charge(self, *_: object, **__: object) -> str:
            raise AssertionError("charged")

        def __iter__(self) -> None:
            raise AssertionError("looked at the data")

    nothing, graph = Untouchable(), book(5, spine=True)
    for score in (Dampened(), Shifted(-1)):
        own = Mechanism("own", score, LAPLACE)
        with pytest.raises(ParameterError, match="1-norm bound"):
            dampen.top_k(graph, n=7, k=2, epsilon=1, mechanism=own, budget=nothing)
        with pytest.raises(ParameterError, match="1-norm bound"):
            dampen.most_frequent(
                ["a"], categories=["a", "b"], epsilon=1, mechanism=own, budget=nothing
            )
        with pytest.raises(ParameterError, match="1-norm bound"):
            dampen.release(
                InfluentialNode(n=7), lambda: nothing, query="q", epsilon=1, mechanism=own,
                budget=nothing,
            )  # fmt: skip


def test_scores_are_computed_once_and_drawn_from_often() -> None:
    calls = []

    @dataclass(frozen=True)
    class Counted(Dampened):
        def of(self, selection: Selection, /) -> Scores:
            calls.append(selection)
            return super().of(selection)

    for mechanism in (Mechanism("own", Counted(), GUMBEL), Mechanism("", Counted(), EXPONENTIAL)):
        calls.clear()
        ready = prepare(RUNNING, mechanism)
        for epsilon in (1, "2.5"):
            for k in (None, 1, 3):
                drawn = ready.draw(epsilon=epsilon, k=k, entropy=InsecureEntropy(4))
                entropy = InsecureEntropy(4)
                again = select(RUNNING, epsilon=epsilon, mechanism=mechanism, k=k, entropy=entropy)
                assert drawn == again
            law = probabilities(RUNNING, epsilon=epsilon, mechanism=mechanism)
            assert ready.probabilities(epsilon=epsilon).tolist() == law.tolist()
        assert len(calls) == 1 + 2 * 4
    with pytest.raises(ParameterError, match="k <= 8"):
        ready.draw(epsilon=1, k=9)
    with pytest.raises(ParameterError, match="epsilon"):
        ready.draw(epsilon=-1)
