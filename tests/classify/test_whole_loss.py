"""What whole fits lose: picks and noisy numbers of one data set, followed on its neighbour.

Enumerations of whole laws are in other tests, of parts on tiny data.  Here the code that fits is
run on real plans.  In place of every draw stands an outcome, which was chosen before, and the
logarithm of its probability is added up.  Outcomes are changed pick by pick to make the loss large.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dampen import MISSING, InsecureEntropy, bins
from dampen.core.mechanisms import probabilities
from dampen.questions.classify import growing, model
from dampen.questions.classify.encoding import Categories
from dampen.questions.classify.plan import TreePlan, tree_plan
from dampen.questions.classify.question import tables_and_tree

DOMAINS = [
    Categories(range(3)),
    bins(0, 1, 4),
    bins(0, 1, 3, missing="own"),
    Categories(("a", MISSING)),
    Categories(("only",)),
]
CASES = {
    "a score and levels that may be taken back": {"epsilon": 10, "stages": (1, 1, 3)},
    "a score in the only stage": {"epsilon": 20, "stages": (3,)},
    "probabilities with a score": {"epsilon": 3, "stages": (1, 2), "probabilities": True},
    "probabilities of many classes": {"epsilon": 1, "classes": 7, "probabilities": True},
    "a score by the exponential mechanism": {"epsilon": 2, "stages": (1, 2), "selection": "em"},
    "level by level": {"epsilon": 5, "max_depth": 3, "probabilities": True},
    "numbers": {"epsilon": 4, "classes": 32, "stages": (1, 2), "numbers": True},
    "no splits": {"epsilon": 1, "classes": 40, "max_depth": 0},
}
TRIES = 6
CHANGES = 12


class Outcome:
    """The picks and noisy numbers of one fit, chosen at random where none are given."""

    def __init__(self, rng):
        self.rng = rng
        self.picks = []
        self.sizes = []
        self.noisy = {}
        self.restart()

    def restart(self, picks=None):
        self.picks = self.picks if picks is None else picks
        self.sizes = []
        self.numbers = 0
        self.log_p = 0.0

    def pick(self, log_p):
        place = len(self.sizes)
        if place == len(self.picks):
            likely = self.rng.random() < 0.5
            p = np.exp(log_p) / np.exp(log_p).sum() if likely else None
            self.picks.append(int(self.rng.choice(len(log_p), p=p)))
        self.sizes.append(len(log_p))
        self.log_p += log_p[self.picks[place]]
        return self.picks[place]

    def drawn(self, terms, scale, _):
        """In place of `growing._draw`: exp(scale * term)."""
        scaled = np.asarray(terms, dtype=np.float64) * float(scale)
        scaled -= scaled.max()
        return self.pick(scaled - math.log(np.exp(scaled).sum()))

    def selected(self, node, *, epsilon, mechanism, entropy):
        """In place of `select`."""
        law = probabilities(node, epsilon=epsilon, mechanism=mechanism)
        return self.pick(np.log(np.maximum(law, 1e-300)))

    def with_noise(self, counts, _, scale, __):
        """In place of `with_noise`: numbers far above, far below, or near."""
        asked = self.numbers, counts.shape  # a tree of other picks has other leaves
        self.numbers += 1
        if asked not in self.noisy:
            away = self.rng.integers(-3, 4, counts.shape)
            self.noisy[asked] = counts + [away, 50, -50][self.rng.integers(3)]
        found = self.noisy[asked]
        self.log_p -= float(np.abs(found - counts).sum() / float(scale))
        return found


def fitted(plan, rows, outcome, monkeypatch):
    """ln of the probability of an outcome, up to what is the same for all data."""
    menu = growing.draw_menu
    with monkeypatch.context() as patched:
        patched.setattr(growing, "_draw", outcome.drawn)
        patched.setattr(growing, "select", outcome.selected)
        patched.setattr(growing, "with_noise", outcome.with_noise)
        patched.setattr(model, "with_noise", outcome.with_noise)
        patched.setattr(growing, "draw_menu", lambda *a: menu(*a[:3], InsecureEntropy(1)))
        codes = np.array([row[:-1] for row in rows], dtype=np.int16).reshape(-1, len(DOMAINS))
        classes = np.array([row[-1] for row in rows], dtype=np.int64)
        held = growing.Rows(codes, classes, plan.classes)
        tables_and_tree(plan, DOMAINS, held, InsecureEntropy(1))
    assert len(outcome.sizes) == len(outcome.picks)
    return outcome.log_p


def loss(plan, rows, more, outcome, monkeypatch, picks=None):
    """ln of the ratio of the probabilities with and without one row more."""
    outcome.restart(picks)
    without = fitted(plan, rows, outcome, monkeypatch)
    outcome.restart()
    return fitted(plan, [*rows, more], outcome, monkeypatch) - without


def largest_loss(plan, rows, more, rng, monkeypatch):
    """Of some outcomes, each of which is changed while that makes its loss larger."""
    found = 0.0
    for _ in range(TRIES):
        outcome = Outcome(rng)
        best = loss(plan, rows, more, outcome, monkeypatch)
        sign = math.copysign(1, best)
        for _ in range(CHANGES if outcome.picks else 0):
            before = list(outcome.picks)
            place = int(rng.integers(len(before)))
            changed = [*before[:place], int(rng.integers(outcome.sizes[place]))]
            new = loss(plan, rows, more, outcome, monkeypatch, changed)
            if sign * new > sign * best:
                best = new
            else:
                outcome.restart(before)
                assert loss(plan, rows, more, outcome, monkeypatch) == best
        found = max(found, abs(best))
    return found


def planned(case):
    asked = {"classes": 2, "max_rows": 2000, **CASES[case]}
    plan = tree_plan(Fraction(asked.pop("epsilon")), DOMAINS, **asked)
    return replace(plan, widths=tuple(min(width, 3) for width in plan.widths))


def rows_of(plan, n, rng):
    sizes = [*map(len, DOMAINS), plan.classes]
    return [tuple(int(rng.integers(size)) for size in sizes) for _ in range(n)]


@pytest.mark.parametrize("n", [0, 1, 40])
@pytest.mark.parametrize("case", CASES)
def test_no_outcome_of_a_fit_loses_more_than_is_charged(case, n, monkeypatch):
    rng = np.random.default_rng(n)
    plan = planned(case)
    assert plan.scored == ("score" in case)
    *rows, more = rows_of(plan, n + 1, rng)
    charged = plan.epsilon + plan.tables + plan.odds
    assert charged == CASES[case]["epsilon"]
    assert largest_loss(plan, rows, more, rng, monkeypatch) <= float(charged) * (1 + 1e-9)


def test_outcomes_that_lose_nearly_all_are_found(monkeypatch):
    rng = np.random.default_rng(3)
    plan = planned("a score in the only stage")
    *rows, more = rows_of(plan, 4, rng)
    assert largest_loss(plan, rows, more, rng, monkeypatch) > 0.95 * 20


@pytest.mark.parametrize("twin", ["exact tables", "an e of its own"])
def test_twins_are_found(twin, monkeypatch):
    """Tables without noise make the score of one row that of all; twice the e is paid once."""
    plan = planned("a score in the only stage")
    rng = np.random.default_rng(5)
    *rows, more = rows_of(plan, 9, rng)
    if twin == "exact tables":
        monkeypatch.setattr(Outcome, "with_noise", lambda self, counts, *_: counts)
    else:
        twice = plan.joint_epsilon + 2
        monkeypatch.setattr(TreePlan, "joint_epsilon", twice)
    paid = plan.epsilon if twin == "exact tables" else 20
    assert largest_loss(plan, rows, more, rng, monkeypatch) > 1.02 * float(paid)
