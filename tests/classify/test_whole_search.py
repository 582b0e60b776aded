"""What a whole search for facts loses: its draws of one table, followed on its neighbour.

As `test_whole_loss` does for trees.  Enumerated laws of every part are in `test_found`.
"""

from datetime import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dampen.data.columns import as_labels
from dampen.questions.classify import found
from dampen.questions.classify.encoding import cell_of
from dampen.questions.classify.found import Library, Search

CELLS = [
    *("a", "b", "cc", "7", "x" * 9, "", None, True, 1, 2.5, -3, 1e9, 0.01, float("nan")),
    *(Decimal("1.0"), datetime(2020, 1, 1), [1], 10**400),
]
CASES = {
    "numbers or text": (["either"] * 4, 1000),
    "many, numbers or text": (["either"] * 23, None),
    "text": (["text"] * 9, 1000),
    "text of public hashes": (["text"] * 9, 50),
    "numbers": (["numbers"] * 4 + ["whole"], 1000),
    "all kinds": (["either", "text", "numbers", "whole", "days", "flags"], None),
}


class Outcome:
    """What is drawn in a search, chosen at random where nothing is given."""

    def __init__(self, rng):
        self.rng = rng
        self.drawn = []
        self.restart()

    def restart(self):
        self.place = 0
        self.log_p = 0.0

    def pick(self, terms):
        """One of several, with a probability proportional to exp(term)."""
        log_p = terms - terms.max()
        log_p -= np.log(np.exp(log_p).sum())
        if self.place == len(self.drawn):
            kind = self.rng.integers(3)
            likely = [self.rng.choice(len(log_p), p=np.exp(log_p)), self.rng.integers(len(log_p))]
            self.drawn.append(int([*likely, log_p.argmin()][kind]))
        self.place += 1
        self.log_p += log_p[self.drawn[self.place - 1]]
        return self.drawn[self.place - 1]

    def number(self, exact, epsilon):
        """A whole number with Laplace noise."""
        if self.place == len(self.drawn):
            self.drawn.append(exact + int(self.rng.choice([-(10**6), -20, 0, 20, 10**6])))
        self.place += 1
        self.log_p -= abs(self.drawn[self.place - 1] - exact) * float(epsilon)
        return self.drawn[self.place - 1]


def follow(outcome, monkeypatch):
    """Puts an outcome in place of every draw of `found`."""
    scales = []
    regret = found.regret

    def binning(library, tally, epsilon, _, likely=None):
        mass = library.prior.copy()
        if likely is not None:
            mass[likely] += mass.sum() // found.LIKELY
        return outcome.pick(np.log(mass) + float(epsilon) * library.utilities(tally) / 4)

    def rows(search, tallies, epsilon, _):
        if not search.needs_rows:
            return search.max_rows or 1
        return max(1, outcome.number(tallies.rows, epsilon * found.FOR_ROWS))

    def no_noise(scale, *_):  # the regret, which comes next, is drawn with it
        scales.append(scale)
        return [0]

    def best(values, weights, scale, _):
        return outcome.pick(np.log(weights) + float(scale) * values)

    monkeypatch.setattr(found, "weighted_best", best)
    monkeypatch.setattr(Library, "draw", binning)
    monkeypatch.setattr(Search, "_rows", rows)
    monkeypatch.setattr(found, "discrete_laplace", no_noise)
    monkeypatch.setattr(found, "regret", lambda *a: outcome.number(regret(*a), 1 / scales.pop()))
    monkeypatch.setattr(
        found, "are_more", lambda some, others, e, _: outcome.number(some - others, e) > 0
    )


def searched(search, table, epsilon, outcome):
    tallies = search.tallied()
    columns = {
        name: np.fromiter((row[i] for row in table), dtype=object, count=len(table))
        for i, name in enumerate(search.kinds)
    }
    tallies.add(columns, len(table))
    outcome.restart()
    return search.find(tallies, epsilon, None)


def loss(case, rows, place, epsilon, rng, monkeypatch):
    """What was found, and what one outcome loses where one of the rows is left out."""
    kinds, max_rows = CASES[case]
    names = {f"c{i}": kind for i, kind in enumerate(kinds)}
    search = Search(names, max_rows, Fraction(0), counts_rows=True)
    outcome = Outcome(rng)
    with monkeypatch.context() as patched, np.errstate(all="ignore"):
        follow(outcome, patched)
        whole = searched(search, rows, epsilon, outcome)
        log_p = outcome.log_p
        less = searched(search, [*rows[:place], *rows[place + 1 :]], epsilon, outcome)
    assert whole == less
    return whole, abs(log_p - outcome.log_p)


@pytest.mark.parametrize("epsilon", ["1/10", "3", "100"])
@pytest.mark.parametrize("case", CASES)
def test_no_outcome_of_a_search_loses_more_than_it_spends(case, epsilon, monkeypatch):
    """In every other table all rows are alike but for one."""
    rng = np.random.default_rng(0)
    columns = len(CASES[case][0])
    for i in range(6):
        rows = [[CELLS[rng.integers(len(CELLS))] for _ in range(columns)] for _ in range(30)]
        if i % 2:
            rows = [rows[0]] * 29 + [rows[1]]
        place = 29 if i % 4 == 1 else int(rng.integers(30))
        facts, lost = loss(case, rows, place, Fraction(epsilon), rng, monkeypatch)
        assert lost <= float(facts.epsilon) * (1 + 1e-9) + 1e-12
        assert facts.epsilon <= Fraction(95, 100) * Fraction(epsilon)


def test_a_hash_of_equal_values_is_found(monkeypatch):
    """As if 1 were hashed as the first value of its column that is equal to it, which is true."""

    def cells_of(column):
        first = {}
        labels = [first.setdefault(label, label) for label in as_labels([column])]
        return np.array([cell_of(label) for label in labels])

    rng = np.random.default_rng(0)
    rows = [[True] * 9, *[[1] * 9, ["a"] * 9] * 20]
    for cells, breaks in ((found.cells_of, False), (cells_of, True)):
        monkeypatch.setattr(found, "cells_of", cells)
        lost = [loss("text", rows, 0, Fraction(3), rng, monkeypatch) for _ in range(20)]
        assert breaks == any(much > 1.5 * float(facts.epsilon) for facts, much in lost)
