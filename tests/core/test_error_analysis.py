import numpy as np
import pytest

from dampen import ParameterError, Selection, probabilities
from dampen.core import error_analysis, sensitivity
from dampen.core.mechanisms import Mechanism
from dampen.core.noise import GUMBEL
from dampen.core.scores import Shifted

S = Selection([5.0, 5.0, 3.0, 0.0], sensitivity.table([[2, 2, 1, 1]]), bound=4)


@pytest.mark.parametrize("name", ["em", "pf", "ld", "sld"])
def test_the_error_distribution_is_that_of_the_draws(name: str) -> None:
    p = probabilities(S, epsilon=1, mechanism=name)
    error, probability = error_analysis.error_distribution(S, epsilon=1, mechanism=name)
    assert error.tolist() == [0, 2, 5]
    assert probability == pytest.approx([p[0] + p[1], p[2], p[3]])
    assert error_analysis.expected_error(S, epsilon=1, mechanism=name) == pytest.approx(
        2 * p[2] + 5 * p[3]
    )
    assert error_analysis.tail_probability(S, epsilon=1, mechanism=name, theta=2) == pytest.approx(
        p[2] + p[3]
    )
    assert error_analysis.tail_probability(S, epsilon=1, mechanism=name, theta=0) == pytest.approx(
        1
    )


def test_which_epsilon_reaches_an_error() -> None:
    for name in ("em", "pf", "sld"):
        needed = error_analysis.epsilon_for_error(S, mechanism=name, error=0.5)
        assert error_analysis.expected_error(S, epsilon=needed, mechanism=name) <= 0.5
        assert error_analysis.expected_error(S, epsilon=needed * 99 / 100, mechanism=name) > 0.5
    assert error_analysis.epsilon_for_error(S, mechanism="em", error=100) == pytest.approx(1e-4)
    with pytest.raises(ParameterError, match="reaches"):
        error_analysis.epsilon_for_error(S, mechanism="em", error=0.01, highest=1)
    with pytest.raises(ParameterError, match="error >= 0"):
        error_analysis.epsilon_for_error(S, mechanism="em", error=-1)


def test_comparison_has_one_line_per_mechanism_and_epsilon() -> None:
    lines = error_analysis.compare(S, epsilons=["0.1", 1], mechanisms=["em", "ld"])
    assert [(line.mechanism, float(line.epsilon)) for line in lines] == [
        ("em", 0.1), ("ld", 0.1), ("em", 1.0), ("ld", 1.0)
    ]  # fmt: skip
    assert lines[3].expected_error == pytest.approx(
        error_analysis.expected_error(S, epsilon=1, mechanism="ld")
    )
    assert lines[2].best_probability == pytest.approx(
        probabilities(S, epsilon=1, mechanism="em")[:2].sum()
    )


def test_a_comparison_at_one_rho_gives_every_noise_its_own_epsilon() -> None:
    lines = error_analysis.compare(S, rhos=["0.02"], mechanisms=["em", "pf"])
    assert [round(float(line.epsilon), 4) for line in lines] == [0.4, 0.2069]
    assert all(float(line.rho) == pytest.approx(0.02) for line in lines)
    for line in lines:
        named = {"mechanism": line.mechanism}
        assert line.expected_error == error_analysis.expected_error(
            S, epsilon=line.epsilon, **named
        )
        assert line.expected_error == error_analysis.expected_error(S, rho="0.02", **named)
        assert error_analysis.tail_probability(S, rho="0.02", theta=0, **named) == pytest.approx(1)
    with pytest.raises(ParameterError, match="epsilons= or rhos="):
        error_analysis.compare(S)


def test_the_printed_order_of_dominance_is_refuted_for_the_shift_to_plus_infinity() -> None:
    small = Selection([1, 0], sensitivity.table([[2, 2]] * 5), bound=10)
    large = Selection([1, 0], sensitivity.table([[8, 2]] * 5), bound=10)
    # By the printed order (gaps 6 >= 0) the first dominates; its error is nearly three times it.
    assert error_analysis.expected_error(small, epsilon=1, mechanism="sld") == pytest.approx(
        0.4875, abs=1e-4
    )
    assert error_analysis.expected_error(large, epsilon=1, mechanism="sld") == pytest.approx(
        0.1751, abs=1e-4
    )
    assert error_analysis.dominates(large, small) and not error_analysis.dominates(small, large)


def test_the_smallest_sensitivity_is_not_the_best_one() -> None:
    """Lemma 8 as printed is false: LS = (2, 2), below the non-increasing δ = (2, 8), errs more."""
    down = Mechanism("sld-down", Shifted(-1), GUMBEL)
    least, other = (
        Selection([1, 0], sensitivity.table([rows] * 5), bound=10) for rows in ([2, 2], [2, 8])
    )
    errors = [error_analysis.expected_error(s, epsilon=1, mechanism=down) for s in (least, other)]
    assert errors == pytest.approx([0.4875, 0.1751], abs=1e-4)
    assert not error_analysis.dominates(least, other, towards=-1)


def test_shifting_does_not_keep_the_order_of_utilities() -> None:
    """u = (2, 1), δ = (1, 2) and (4, 4), Δ = 4: the second candidate gets the larger score."""
    s = Selection([2, 1], sensitivity.table([[1, 4], [2, 4]]), bound=4)
    scores = Shifted().of(s).values
    assert scores[1] - scores[0] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("towards", [1, -1])
def test_a_dominating_instance_is_never_worse(towards: int) -> None:
    rng = np.random.default_rng(6)
    mechanism, dominated = Mechanism("sld", Shifted(towards), GUMBEL), 0
    for _ in range(300):
        u = np.sort(rng.integers(0, 6, 3).astype(float))
        first, second = (
            Selection(u, sensitivity.table(np.sort(rng.integers(0, 6, (2, 3)), axis=0)), bound=6)
            for _ in range(2)
        )
        if error_analysis.dominates(first, second, towards=towards):
            dominated += 1
            for theta in (1.0, 2.0, 4.0):
                tails = [
                    error_analysis.tail_probability(s, epsilon=2, mechanism=mechanism, theta=theta)
                    for s in (first, second)
                ]
                assert tails[0] <= tails[1] + 1e-5
    assert dominated > 30


def test_a_stable_delta_makes_sld_never_worse_than_em() -> None:
    """The corollary of the paper, which does hold, with its directions."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        u = np.sort(rng.integers(0, 9, 4).astype(float))
        _, where = np.unique(u, return_inverse=True)
        delta = np.sort(np.sort(rng.integers(0, 7, (3, where.max() + 1)), axis=1), axis=0)[:, where]
        for rows, towards in ((delta, 1), (7 - delta[::-1], -1)):
            s = Selection(u, sensitivity.table(rows), bound=7)
            assert sensitivity.classify(s).stable
            em = error_analysis.expected_error(s, epsilon=2, mechanism="em")
            sld = error_analysis.expected_error(
                s, epsilon=2, mechanism=Mechanism("", Shifted(towards), GUMBEL)
            )
            assert sld <= em + 1e-5


def test_smaller_delta_is_not_better() -> None:
    """u = 9, 8 with δ = (1, 1, 3, 10) against (3, 3, 3, 10), bound 10: errata of the paper."""

    def separation(name: str, rows: list[float]) -> float:
        s = Selection([9, 8], sensitivity.table([[r, r] for r in rows]), bound=10)
        p = probabilities(s, epsilon=2, mechanism=name)
        return float(np.log(p[0] / p[1]))

    assert separation("ld", [1, 1, 3, 10]) == pytest.approx(0.1, abs=1e-4)
    assert separation("ld", [3, 3, 3, 10]) == pytest.approx(1 / 3, abs=1e-4)


def test_dominance_compares_like_with_like() -> None:
    other = Selection([5.0, 4.0, 3.0, 0.0], sensitivity.constant(4))
    with pytest.raises(ParameterError, match="same utilities"):
        error_analysis.dominates(S, other)


def test_a_notebook_shows_a_comparison_as_a_table() -> None:
    s = Selection([3, 0, 0], sensitivity.constant(1))
    lines = error_analysis.compare(s, epsilons=[1], mechanisms=["em", "pf"])
    shown = lines._repr_html_()
    assert shown.count("<tr>") == 3
    assert "<td>pf</td><td>1</td><td>0.367879441171443</td>" in shown
