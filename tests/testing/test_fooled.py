"""Mechanisms that are not private, written as docs/own-problem.md has it: none of them passes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dampen
from dampen import Mechanism, ParameterError, Selection
from dampen.core import sensitivity
from dampen.core.noise import GUMBEL
from dampen.core.scores import Global
from dampen.core.selection import FloatArray
from dampen.testing import (
    Universe,
    check_admissible,
    check_one_sided,
    check_public,
    law_loss,
    privacy_loss,
    verify,
)
from dampen.workbench import AddRemove, OwnProblem, ReplaceOne, check, search

ROWS = Universe.add_remove_row("ab", max_rows=3)


def votes(rows: Sequence[str]) -> list[int]:
    return [rows.count("a"), rows.count("b")]


REPLACED = OwnProblem("ab", votes, bound=1, neighbours="replace-one", one_sided=True, exact=True)
"""A replaced vote moves two counts against each other; one more moves one."""


def test_rows_more_and_less_say_nothing_of_replaced_rows() -> None:
    with pytest.raises(ParameterError, match=r"steps of replace-one.*got those of add-remove-row"):
        verify(REPLACED, ROWS)
    with pytest.raises(ParameterError, match="steps of replace-one"):
        privacy_loss(REPLACED, ROWS, epsilon=1, mechanism="em")
    with pytest.raises(ParameterError, match="steps of replace-one"):
        check(REPLACED, universe=Universe.around((), AddRemove("ab"), 2))
    with pytest.raises(ParameterError, match="steps of replace-one"):
        search(REPLACED, [("a",)], AddRemove("ab"))
    assert any(verdict.fails for verdict in verify(REPLACED, Universe.replace_one("ab", 3)))
    assert search(REPLACED, [("a", "b")], ReplaceOne("ab")).fails


def test_rows_say_nothing_of_persons() -> None:
    """Each row of a person counts, and a person may have two."""

    def of_persons(people: Sequence[Sequence[str]]) -> list[int]:
        return votes([row for person in people for row in person])

    broken = OwnProblem("ab", of_persons, bound=1, neighbours="add-remove-unit", exact=True)
    with pytest.raises(ParameterError, match="steps of add-remove-unit"):
        verify(broken, Universe.add_remove_row([("a",), ("b",)], max_rows=3))
    assert not check_admissible(broken, Universe.units("ab", max_units=2, max_rows=2))


def test_a_custom_relation_may_be_any() -> None:
    ballots = OwnProblem("ab", votes, bound=1, neighbours="own:ballot", one_sided=True, exact=True)
    assert all(verify(ballots, ROWS, mechanisms=["pf"]))


@pytest.mark.parametrize("bound", [1e-12, 1.0, 1e12])
def test_one_sided_is_found_out_at_every_scale(bound: float) -> None:
    def against(rows: Sequence[str]) -> list[float]:
        return [bound * rows.count("a"), -bound * rows.count("a")]

    assert check_one_sided(OwnProblem("ab", against, bound=bound, one_sided=True), ROWS).fails


@dataclass
class ByData:
    """Candidates in the order of their votes: which name the first has is not drawn."""

    neighbours: str = "add-remove-row"
    candidates: list[str] = field(default_factory=lambda: ["a", "b"])

    def selection(self, rows: Sequence[str], /) -> Selection:
        self.candidates = sorted("ab", key=lambda name: -rows.count(name))
        return Selection([1, 0], sensitivity.constant(1), exact=True)


def test_candidates_may_not_follow_the_data() -> None:
    with pytest.raises(ParameterError, match=r"public candidates.*change with"):
        verify(ByData(), ROWS)
    made = dampen.release(ByData(), lambda: ["b"] * 9, query="votes", epsilon=1000)
    assert made.answer == "a"  # the first of those that were there before the data


@dataclass(frozen=True)
class RoundedByData:
    """The price of rounding tells whether somebody voted for a."""

    neighbours: str = "add-remove-row"
    candidates: str = "ab"

    def selection(self, rows: Sequence[str], /) -> Selection:
        rounding = 0.4 if "a" in rows else 0.0
        return Selection([1, 0], sensitivity.constant(1), rounding=rounding)


def test_the_rounding_is_public() -> None:
    found = check_public(RoundedByData(), ROWS)
    assert found.fails
    assert "rounding" in found.counterexample
    assert search(RoundedByData(), [()], AddRemove("ab")).fails


@dataclass(frozen=True)
class TenthOfTheNoise:
    """Noise that states the law of Gumbel noise, and is a tenth of it."""

    name = "tenth"
    joint = False
    one_draw = True

    def upper(self, words: Any, bits: int, /) -> FloatArray:
        return GUMBEL.upper(words, bits) / 10

    def lower(self, words: Any, bits: int, /) -> FloatArray:
        return GUMBEL.lower(words, bits) / 10

    def ball(self, word: int, bits: int, /) -> Any:
        return GUMBEL.ball(word, bits) / 10

    def law(self, a: FloatArray, /) -> FloatArray:
        return GUMBEL.law(a)

    def rho(self, epsilon: Fraction, k: int = 1, /) -> Fraction:
        return GUMBEL.rho(epsilon, k)


def test_custom_noise_is_reported_as_not_checked() -> None:
    counted = OwnProblem("ab", votes, bound=1, one_sided=True, exact=True)
    mine = Mechanism("mine", Global(), TenthOfTheNoise())
    verdicts = verify(counted, ROWS, mechanisms=["em", mine])
    told = [verdict for verdict in verdicts if "tenth" in verdict.claim]
    assert [verdict.outcome for verdict in told] == ["not checked"]
    assert not all(verdicts)
    assert all(verify(counted, ROWS, mechanisms=["em", "pf"]))


def overflowing(rows: Sequence[str]) -> FloatArray:
    """The exponential mechanism at ε = 2000, which overflows where there are rows."""
    with np.errstate(all="ignore"):
        weights = np.exp(1000.0 * np.array([len(rows), len(rows) + 1]))
        shares: FloatArray = weights / weights.sum()
    return shares


LAWS: dict[str, Callable[[Sequence[str]], Any]] = {
    "not numbers": overflowing,
    "below 0": lambda rows: [-len(rows), 1 + len(rows)],
    "not 1 together": lambda rows: [5, 1],
    "other outputs": lambda rows: [1 / (1 + len(rows))] * (1 + len(rows)),
    "one number": lambda rows: 1.0,
}


@pytest.mark.parametrize("law", LAWS)
def test_a_law_without_probabilities_is_refused(law: str) -> None:
    with pytest.raises(ParameterError, match="Expected the probabilities of"):
        law_loss(LAWS[law], ROWS, epsilon=1)


def test_no_neighbours_prove_nothing() -> None:
    alone = Universe.of("ab", lambda x, y: False)
    with pytest.raises(ParameterError, match="at least one pair of neighbours"):
        law_loss(lambda row: [float(row == "a"), float(row == "b")], alone, epsilon=1)
    found = search(OwnProblem("ab", votes, bound=1), [("a",)], lambda rows: [])
    assert found.outcome == "not checked"
    looked = check(OwnProblem("ab", votes, bound=1), neighbours=lambda rows: [], starts=[("a",)])
    assert not looked


def forgets(rows: Sequence[str]) -> list[int]:
    """The second row of a kind counts three times."""
    return [count + 2 * (count >= 2) for count in votes(rows)]


BROKEN = {
    "a bound of one step": OwnProblem("ab", forgets, bound=1, exact=True),
    "a δ of one step": OwnProblem(
        "ab", forgets, bound=3, delta=lambda rows, t: 1, horizon=2, exact=True
    ),
    "a δ that looks at another database": OwnProblem(
        "ab", forgets, bound=3, delta=lambda rows, t: 3 - len(rows) % 2, horizon=1, exact=True
    ),
    "the share of a": OwnProblem(
        "ab", lambda rows: [rows.count("a") / max(len(rows), 1), 0], bound=0.1
    ),
    "the number of rows": OwnProblem("ab", lambda rows: [len(rows) ** 2, 0], bound=2, exact=True),
    "one candidate alone": OwnProblem(
        "ab", lambda rows: [len(rows), -len(rows)], bound=1, separable=True, exact=True
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_sensitivity_that_is_not_admissible_fails(name: str) -> None:
    assert any(verdict.fails for verdict in verify(BROKEN[name], ROWS))
    assert search(BROKEN[name], [()], AddRemove("ab")).fails


def test_what_was_checked_is_what_is_released() -> None:
    counted = OwnProblem("ab", votes, bound=1, one_sided=True, exact=True)
    assert all(verify(counted, ROWS, mechanisms=["pf"]))
    assert dampen.release(counted, lambda: ["a"] * 90, query="votes", epsilon=1).answer == "a"
