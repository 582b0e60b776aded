"""The proof kit accepts what is sound and finds what is broken, each with a counterexample."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from dampen import DataError, Neighbours, ParameterError, Selection
from dampen.core import sensitivity
from dampen.core.mechanisms import MECHANISMS, Mechanism
from dampen.core.scores import Dampened, Global, Shifted
from dampen.questions.frequency import MostFrequent
from dampen.testing import (
    Universe,
    check_admissible,
    check_exact_sensitivity,
    check_joint_sensitivity,
    check_one_sided,
    check_unit_sensitivity,
    local_sensitivity,
    privacy_loss,
    verify,
)

UNIVERSE = Universe.replace_one(range(4), 3)


def utility(x: tuple[int, ...]) -> list[float]:
    """How far the sum of the squares is from three targets: sensitivities differ by database."""
    total = sum(v * v for v in x)
    return [-abs(total - target) for target in (0.0, 9.0, 27.0)]


DELTA = 9.0


@dataclass(frozen=True)
class Toy:
    """A problem with a table of deltas per database, so that tests can break it at will."""

    rows: Callable[[tuple[int, ...]], Sequence[np.ndarray]]
    bound: float = DELTA
    one_sided: bool = False
    joint: dict | None = None
    candidates = ("low", "middle", "high")
    neighbours = Neighbours.REPLACE_ONE

    def selection(self, x: tuple[int, ...], /) -> Selection:
        delta = (
            sensitivity.table(self.rows(x)) if len(self.rows(x)) else sensitivity.constant(DELTA)
        )
        return Selection(utility(x), delta, self.bound, one_sided=self.one_sided, joint=self.joint)


GLOBAL = Toy(lambda x: [])
LS = [local_sensitivity(GLOBAL, UNIVERSE, t) for t in range(4)]
INDEX = {x: i for i, x in enumerate(UNIVERSE.databases)}
EXACT = Toy(lambda x: [LS[t][INDEX[x]] for t in range(3)])


def test_local_sensitivity_is_its_definition() -> None:
    for x in UNIVERSE.databases[::7]:
        near = [
            abs(np.subtract(utility(x), utility((*x[:i], v, *x[i + 1 :]))))
            for i in range(3) for v in range(4)
        ]  # fmt: skip
        assert LS[0][INDEX[x]].tolist() == np.max(near, axis=0).tolist()
    assert LS[3].max() == DELTA


def test_sound_problems_pass_every_check() -> None:
    for problem in (GLOBAL, EXACT):
        assert check_admissible(problem, UNIVERSE)
        for score in (
            Global(),
            Dampened(),
            Dampened(shift=-5.0),
            Shifted(1),
            Shifted(-1, cap=20.0),
        ):
            assert check_unit_sensitivity(problem, UNIVERSE, score)
        for mechanism in ("em", "pf", "ld", "sld", "ld-pf", "sld-pf"):
            verdict = privacy_loss(problem, UNIVERSE, epsilon="1.5", mechanism=mechanism)
            assert verdict and 0 < verdict.value <= 1.5
        assert privacy_loss(problem, UNIVERSE, epsilon="1.5", mechanism="ld", k=2)
    assert check_exact_sensitivity(EXACT, UNIVERSE, 3)


BROKEN = {
    "frozen at t = 0": (Toy(lambda x: [LS[0][INDEX[x]]] * 3), "(2)"),
    "below the local sensitivity": (Toy(lambda x: [LS[t][INDEX[x]] / 2 for t in range(3)]), "(1)"),
    "a bound below Δ": (Toy(lambda x: [], bound=9.0), None),
    "one distance too late": (
        Toy(lambda x: [LS[0][INDEX[x]], LS[0][INDEX[x]], LS[1][INDEX[x]]]), "(2)"),
    "other candidates' sensitivity": (
        Toy(lambda x: [np.roll(LS[t][INDEX[x]], 1) for t in range(3)]), "(1)"),
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in BROKEN if BROKEN[n][1]])
def test_broken_deltas_are_found_with_a_counterexample(name: str) -> None:
    problem, condition = BROKEN[name]
    verdict = check_admissible(problem, UNIVERSE)
    assert not verdict and str(condition) in verdict.counterexample
    assert "x = (" in verdict.counterexample and "candidate" in verdict.counterexample


def test_a_bound_below_the_global_sensitivity_is_found() -> None:
    @dataclass(frozen=True)
    class Low:
        candidates = ("low", "middle", "high")
        neighbours = Neighbours.REPLACE_ONE

        def selection(self, x: tuple[int, ...], /) -> Selection:
            return Selection(utility(x), sensitivity.constant(DELTA / 2))

    assert "above the bound" in check_admissible(Low(), UNIVERSE).counterexample
    assert not check_unit_sensitivity(Low(), UNIVERSE, "em")
    loss = privacy_loss(Low(), UNIVERSE, epsilon="1", mechanism="em")
    assert not loss and loss.value > 1 and "log-ratio" in loss.counterexample


def test_a_delta_frozen_at_zero_is_found_by_the_scores_too() -> None:
    frozen = BROKEN["frozen at t = 0"][0]
    assert not check_unit_sensitivity(frozen, UNIVERSE, Dampened()) or not check_unit_sensitivity(
        frozen, UNIVERSE, Shifted()
    )


def test_dropping_the_factor_of_two_of_a_two_sided_utility_is_found() -> None:
    cheat = Toy(lambda x: [], one_sided=True)
    assert not check_one_sided(cheat, UNIVERSE)
    assert not privacy_loss(cheat, UNIVERSE, epsilon="1", mechanism="em")


def test_joint_sensitivity() -> None:
    assert check_joint_sensitivity(Toy(lambda x: [], joint={Shifted(): 3.0}), UNIVERSE)
    verdict = check_joint_sensitivity(Toy(lambda x: [], joint={Shifted(): 1.0}), UNIVERSE)
    assert not verdict and "1-norm" in verdict.counterexample
    with pytest.raises(ParameterError, match="joint"):
        check_joint_sensitivity(EXACT, UNIVERSE)


def test_most_frequent_is_private_by_enumeration() -> None:
    problem = MostFrequent(["a", "b", "c"])
    universe = Universe.add_remove_row("abc", max_rows=4)
    verdicts = verify(problem, universe, epsilon="1")
    assert all(verdicts), [str(v) for v in verdicts if not v]
    assert any("1-norm" in v.claim for v in verdicts) and any(
        "one-sided" in v.claim for v in verdicts
    )
    # one-sided: the whole of ε is used, not half of it
    assert privacy_loss(problem, universe, epsilon="1", mechanism="pf").value == pytest.approx(
        1, abs=1e-6
    )
    for k in (2, 3):
        assert privacy_loss(problem, universe, epsilon="1", mechanism="pf", k=k)
        assert privacy_loss(problem, universe, epsilon="1", mechanism="em", k=k)
    with pytest.raises(ParameterError, match="k=1"):
        privacy_loss(problem, universe, epsilon="1", mechanism="joint", k=2)


def test_boundedness_does_not_follow_from_local_sensitivity() -> None:
    """Slopes 1 and 1/2: the second candidate never reaches Δ, however far one walks."""

    @dataclass(frozen=True)
    class Slopes:
        candidates = ("full", "half")
        neighbours = Neighbours.REPLACE_ONE

        def selection(self, x: tuple[int, ...], /) -> Selection:
            return Selection([float(x[0]), x[0] / 2], sensitivity.constant(1.0))

    universe = Universe.of([(v,) for v in range(5)], lambda x, y: abs(x[0] - y[0]) == 1)
    assert local_sensitivity(Slopes(), universe, 10)[:, 1].max() == 0.5
    assert check_admissible(Slopes(), universe)


@pytest.mark.parametrize(("n", "databases", "pairs"), [(3, 8, 12), (4, 64, 192)])
def test_universe_of_graphs(n: int, databases: int, pairs: int) -> None:
    universe = Universe.graphs(n)
    assert (len(universe.databases), len(universe.neighbours)) == (databases, pairs)
    for i, j in universe.neighbours:
        smaller, larger = (
            set(zip(*map(np.ndarray.tolist, universe.databases[d]), strict=True)) for d in (i, j)
        )
        assert smaller < larger and len(larger - smaller) == 1


def test_universe_of_rows_and_tuples() -> None:
    rows = Universe.add_remove_row("ab", max_rows=2)
    assert set(rows.databases) == {(), ("a",), ("b",), ("a", "a"), ("a", "b"), ("b", "b")}
    assert len(rows.neighbours) == 2 + 4
    tuples = Universe.replace_one([0, 1], 2)
    assert len(tuples.databases) == 4 and len(tuples.neighbours) == 4


def test_a_problem_that_rejects_a_database_is_reported() -> None:
    class Refusing:
        candidates = ("a",)
        neighbours = Neighbours.ADD_REMOVE_ROW

        def selection(self, x: tuple[str, ...], /) -> Selection:
            if "b" in x:
                raise DataError("Expected a.")
            return Selection([float(len(x))], sensitivity.constant(1.0))

    with pytest.raises(ParameterError, match="accepts every database"):
        check_admissible(Refusing(), Universe.add_remove_row("ab", 1))


def test_all_named_mechanisms_are_combinations() -> None:
    assert all(isinstance(m, Mechanism) for m in MECHANISMS)
    assert len({(m.score, m.noise, m.shift) for m in MECHANISMS}) == len(MECHANISMS)
