"""Separable selections: one step, one candidate.  No mechanism needs the factor 2.

The universe is every table of at most five rows in two or three groups, add/remove one row.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from dampen import Neighbours, Selection, probabilities
from dampen.core import sensitivity
from dampen.core.mechanisms import Mechanism
from dampen.core.noise import EXPONENTIAL, GUMBEL
from dampen.core.scores import Dampened, Scores, Shifted
from dampen.questions.frequency import MostFrequent
from dampen.questions.nodes.metrics import InfluentialNode
from dampen.testing import Universe, check_separable, privacy_loss, verify

MECHANISMS = ("em", "pf", "ld", "sld", "ld-pf", "sld-pf")
ROWS = 5


@dataclass(frozen=True)
class Squares:
    """Which group has most pairs of rows?  u = n², δ(t) = 2 (n + t) + 1: one group changes only."""

    groups: str = "ab"
    separable: bool = True
    neighbours = Neighbours.ADD_REMOVE_ROW

    @property
    def candidates(self) -> str:
        return self.groups

    def selection(self, rows: tuple[str, ...], /) -> Selection:
        n = np.array([rows.count(group) for group in self.groups], dtype=float)
        return self.of(n)

    def of(self, n: np.ndarray) -> Selection:
        delta = sensitivity.function(lambda t: np.minimum(2 * (n + t) + 1, 2 * ROWS - 1), ROWS)
        return Selection(n**2, delta, bound=2 * ROWS - 1, separable=self.separable, exact=True)


@dataclass(frozen=True)
class Falling(Squares):
    """Empty groups first: u = -n², with the same sensitivity, which now falls with utility."""

    def of(self, n: np.ndarray) -> Selection:
        delta = sensitivity.function(lambda t: np.minimum(2 * (n + t) + 1, 2 * ROWS - 1), ROWS)
        return Selection(-(n**2), delta, 2 * ROWS - 1, separable=self.separable, exact=True)


@dataclass(frozen=True)
class SharedSensitivity(Squares):
    """A broken twin: admissible, but the sensitivity of a group follows the others' rows."""

    def of(self, n: np.ndarray) -> Selection:
        others = n.sum() - n
        delta = sensitivity.function(lambda t: np.where(others + t >= 3, 3.0, 1.0), 3)
        u = n + (np.arange(len(n)) > 0)  # the first group starts one behind
        return Selection(u, delta, bound=3, separable=True, exact=True)


@dataclass(frozen=True)
class Share(Squares):
    """A broken twin: adding a row to one group raises it and lowers the others."""

    def of(self, n: np.ndarray) -> Selection:
        return Selection(2 * n - n.sum(), sensitivity.constant(1), separable=True, exact=True)


UNIVERSES = {groups: Universe.add_remove_row(groups, max_rows=ROWS) for groups in ("ab", "abc")}


@pytest.mark.parametrize("groups", UNIVERSES)
@pytest.mark.parametrize("problem", [Squares, Falling])
def test_no_mechanism_pays_the_factor_of_two(problem: type[Squares], groups: str) -> None:
    verdicts = verify(problem(groups), UNIVERSES[groups], epsilon="1")
    assert all(verdicts), [str(v) for v in verdicts if not v]
    assert any("separable" in v.claim for v in verdicts)


@pytest.mark.parametrize("epsilon", ["0.3", "1", "4"])
def test_the_loss_reaches_epsilon_so_that_nothing_is_left_to_gain(epsilon: str) -> None:
    shares = {}
    for m in MECHANISMS:
        loss = privacy_loss(Squares("abc"), UNIVERSES["abc"], epsilon=epsilon, mechanism=m)
        assert loss, str(loss)
        shares[m] = loss.value / float(epsilon)
        charged = Squares("abc", separable=False)
        twice = privacy_loss(charged, UNIVERSES["abc"], epsilon=epsilon, mechanism=m)
        assert twice.value < 0.6 * loss.value
    assert max(shares.values()) == pytest.approx(1, abs=0.01) and min(shares.values()) > 0.5


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_several_answers_need_none_either(mechanism: str) -> None:
    for k in (2, 3):
        problem, universe = Squares("abc"), UNIVERSES["abc"]
        loss = privacy_loss(problem, universe, epsilon=1, mechanism=mechanism, k=k)
        assert loss, str(loss)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_probabilities_are_those_of_twice_the_epsilon(mechanism: str) -> None:
    rows = ("a", "b", "b", "c")
    once = probabilities(Squares("abc").selection(rows), epsilon=1, mechanism=mechanism)
    plain = Squares("abc", separable=False).selection(rows)
    assert once == pytest.approx(probabilities(plain, epsilon=2, mechanism=mechanism), rel=1e-5)


@pytest.mark.parametrize("problem", [SharedSensitivity("abc"), Share("abc")], ids=repr)
def test_broken_twins_are_found(problem: Squares) -> None:
    verdict = check_separable(problem, UNIVERSES["abc"])
    assert verdict.fails and "change at once" in verdict.counterexample
    losses = [privacy_loss(problem, UNIVERSES["abc"], epsilon=1, mechanism=m) for m in MECHANISMS]
    assert any(loss.value > 1.2 for loss in losses)
    assert any(v.fails for v in verify(problem, UNIVERSES["abc"]))


def test_an_edge_changes_two_degrees() -> None:
    @dataclass(frozen=True)
    class Degrees:
        neighbours = Neighbours.ADD_REMOVE_EDGE
        candidates = range(4)

        def selection(self, graph: object, /) -> Selection:
            s = InfluentialNode(n=4, metric="degree").selection(graph)
            return Selection(s.utility, s.sensitivity, separable=True, exact=True, bound=1)

    verdict = check_separable(Degrees(), Universe.graphs(4))
    assert "0 and 1 change at once" in verdict.counterexample


def test_votes_are_separable_and_say_so() -> None:
    problem, universe = MostFrequent(["a", "b", "c"]), Universe.add_remove_row("abc", max_rows=4)
    assert check_separable(problem, universe)
    s = problem.selection(["a", "a", "b"])
    assert probabilities(s, epsilon=1, mechanism="ld") == pytest.approx(
        probabilities(s, epsilon=1, mechanism="em"), rel=1e-5
    )


@dataclass(frozen=True)
class AgainstTheMean:
    """A score of one's own that looks at all candidates: (u - mean of u) / (2 Δ)."""

    keeps_one_sided = False
    pointwise = False
    needs_horizon = False

    def of(self, selection: Selection, /) -> Scores:
        inner = Dampened().of(selection)
        q = (inner.values - inner.values.mean()) / 2
        return Scores(q, inner.unit, 2 * inner.eta)


def test_a_score_that_is_not_pointwise_keeps_the_factor_of_two() -> None:
    own, s = Mechanism("own", AgainstTheMean(), GUMBEL), Squares("abc").selection(("a", "a", "b"))
    plain = Squares("abc", separable=False).selection(("a", "a", "b"))
    both = [probabilities(each, epsilon=1, mechanism=own) for each in (s, plain)]
    assert both[0].tolist() == both[1].tolist()
    assert privacy_loss(Squares("abc"), UNIVERSES["abc"], epsilon=1, mechanism=own)


@pytest.mark.parametrize("noise", [GUMBEL, EXPONENTIAL], ids=lambda n: n.name)
def test_other_shifts_and_directions_need_none_either(noise: object) -> None:
    for score in (Dampened(shift=4.0), Dampened(shift=-30.0), Shifted(-1), Shifted(cap=40.0)):
        mechanism = Mechanism("other", score, noise)
        for problem in (Squares("abc"), Falling("abc")):
            loss = privacy_loss(problem, UNIVERSES["abc"], epsilon="2", mechanism=mechanism)
            assert loss, str(loss)
