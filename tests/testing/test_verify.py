"""`verify`: what is not private does not pass, whatever its name; what was not checked is said."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from dampen import Mechanism, Neighbours, ParameterError, Selection
from dampen.core import sensitivity
from dampen.core.noise import GUMBEL, LAPLACE
from dampen.core.scores import Dampened, Global, Scores, Shifted
from dampen.testing import Universe, check_public, check_unit_sensitivity, verify

UNIVERSE = Universe.add_remove_row("ab", max_rows=3)


@dataclass(frozen=True)
class Votes:
    """Counts of two categories, with as many claims as a test wants."""

    bound: float = 1.0
    joint: dict | None = None
    candidates = ("a", "b")
    neighbours = Neighbours.ADD_REMOVE_ROW

    def selection(self, rows: tuple[str, ...], /) -> Selection:
        counts = [rows.count("a"), rows.count("b")]
        return Selection(counts, sensitivity.constant(1), self.bound, joint=self.joint, exact=True)


NO_HORIZON = Votes(bound=2.0)


@dataclass(frozen=True)
class Tenfold:
    """Scores of sensitivity 10, which a mechanism may not have."""

    keeps_one_sided = False
    pointwise = True
    needs_horizon = False

    def of(self, selection: Selection, /) -> Scores:
        return Scores(10 * selection.utility, Fraction(1), Fraction(0))


def outcomes(verdicts: list, claim: str) -> set[str]:
    return {v.outcome for v in verdicts if claim in v.claim}


def test_a_mechanism_is_not_let_through_by_its_name() -> None:
    mine = Mechanism("sld-mine", Tenfold(), GUMBEL)
    verdicts = verify(NO_HORIZON, UNIVERSE, mechanisms=[mine])
    assert outcomes(verdicts, "(sld-mine)") == {"fails"}
    assert outcomes(verdicts, "Tenfold") == {"fails"}


def test_unchecked_claims_are_reported_and_do_not_hold() -> None:
    verdicts = verify(NO_HORIZON, UNIVERSE)
    assert outcomes(verdicts, "(sld)") == outcomes(verdicts, "(sld-pf)") == {"not checked"}
    assert outcomes(verdicts, "shifted scores") == {"not checked"}
    assert outcomes(verdicts, "(ld)") == outcomes(verdicts, "(em)") == {"holds"}
    (sld,) = [v for v in verdicts if "(sld)" in v.claim]
    assert not sld and not sld.holds and not sld.fails
    assert "NOT CHECKED: δ has no horizon" in str(sld)


def test_a_joint_release_without_a_bound_for_its_score_is_not_checked() -> None:
    joint = Mechanism("mine", Dampened(), LAPLACE)
    stated = Votes(joint={Shifted(): 1.0, Global(): 1.0})
    verdicts = verify(stated, UNIVERSE, mechanisms=["em", joint])
    assert outcomes(verdicts, "(mine)") == {"not checked"}
    assert outcomes(verdicts, "1-norm sensitivity 1") == {"holds"}
    assert (
        outcomes(verdicts, "(joint)") == outcomes(verdicts, "(joint, global scores)") == {"holds"}
    )


def test_a_bound_for_the_wrong_score_fails() -> None:
    """One row moves one count: 0.5 is too little, for every score it is stated for."""
    for score in (Global(), Shifted(), Dampened(shift=3.0), Shifted(-1)):
        verdicts = verify(Votes(joint={score: 0.5}), UNIVERSE, mechanisms=[])
        assert outcomes(verdicts, "1-norm sensitivity 0.5") == {"fails"}
        assert outcomes(verdicts, "joint") == {"fails"}


def test_bounds_that_a_universe_never_reaches_are_reported() -> None:
    def remarks(problem: Votes) -> str:
        return " | ".join(v.remark for v in verify(problem, UNIVERSE, mechanisms=["em"]) if v)

    assert remarks(Votes(joint={Global(): 1.0})) == " | " * 5
    assert "more than 1 of the bound 4" in remarks(Votes(bound=4.0))
    assert "more than 0.25 of the allowed 1" in remarks(Votes(bound=4.0))
    assert "more than 1 of the stated 3" in remarks(Votes(joint={Global(): 3.0}))


def test_unchecked_distances_are_reported() -> None:
    @dataclass(frozen=True)
    class Long(Votes):
        def selection(self, rows: tuple[str, ...], /) -> Selection:
            counts = np.array([rows.count("a"), rows.count("b")])
            return Selection(counts, sensitivity.bounded(sensitivity.constant(1), 1, 40))

    (admissible,) = [v for v in verify(Long(), UNIVERSE) if v.claim == "admissible"]
    assert "up to t = 12" in admissible.remark and "40" in admissible.remark


def test_public_facts_that_follow_the_data_are_found() -> None:
    @dataclass(frozen=True)
    class Peeking:
        fact: str
        candidates = ("a", "b")
        neighbours = Neighbours.ADD_REMOVE_ROW

        def selection(self, rows: tuple[str, ...], /) -> Selection:
            seen = float(1 + len(rows))
            facts = {"bound": {"bound": seen}, "joint": {"joint": {Global(): seen}},
                     "utility_range": {"utility_range": seen}, "exact": {"exact": seen > 2},
                     "horizon": {}}[self.fact]  # fmt: skip
            horizon = int(seen) if self.fact == "horizon" else 1
            rows_of_delta = sensitivity.table([[1.0, 1.0]] * horizon)
            return Selection([0.0, 1.0], rows_of_delta, **({"bound": 5.0} | facts))

    for fact in ("bound", "joint", "utility_range", "exact", "horizon"):
        verdict = check_public(Peeking(fact), UNIVERSE)
        assert verdict.fails and verdict.counterexample.startswith(f"{fact} is ")
        assert any(v.fails for v in verify(Peeking(fact), UNIVERSE))


def test_a_universe_without_neighbours_proves_nothing() -> None:
    lonely = Universe.of([("a",)], lambda x, y: False)
    with pytest.raises(ParameterError, match="at least one pair of neighbours"):
        verify(Votes(), lonely)


def test_a_selection_has_one_utility_per_candidate() -> None:
    @dataclass(frozen=True)
    class Short(Votes):
        candidates = ("a", "b", "c")

    with pytest.raises(ParameterError, match="one utility per candidate"):
        check_unit_sensitivity(Short(), UNIVERSE, "em")


def test_every_selection_is_made_once() -> None:
    made: list[tuple[str, ...]] = []

    @dataclass(frozen=True)
    class Counting(Votes):
        def selection(self, rows: tuple[str, ...], /) -> Selection:
            made.append(rows)
            return super().selection(rows)

    verify(replace(Counting(), joint={Global(): 1.0}), UNIVERSE)
    assert len(made) == len(UNIVERSE.databases)
