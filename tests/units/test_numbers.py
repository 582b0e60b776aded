"""Counts, totals and means of persons: exact loss over all small worlds, draws, broken twins."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

import dampen
import unit_worlds as worlds
from dampen.core.sampling import InsecureEntropy
from dampen.data.memory import MemoryTable
from dampen.data.units import Amounts, Pairs, Shares, UnitTable
from dampen.errors import AccuracyWarning
from dampen.questions.counts import CountQuestion, HistogramQuestion
from dampen.questions.groups.above import AboveQuestion
from dampen.questions.means import MeanQuestion, TotalQuestion
from dampen.releases.cost import Price
from dampen.schema.schema import Schema
from dampen.testing import Universe
from goodness import assert_draws_follow

EPSILON = Fraction(1)
VALUE = {"value": "value", "lower": -1, "upper": 2, "step": 1}
BY = {"by": "group", "groups": list("abc")}
PERSONS = [
    person
    for database in Universe.units(
        [(group, value) for group in "abc" for value in (-1, 0, 2)], max_units=1, max_rows=3
    ).databases
    for person in database
]
"""Everyone with at most three rows in three groups, with one of three values."""


def vectors(method, source):
    """What integer noise is added to, whole."""
    asked = getattr(method, "totals", None) or getattr(method, "two_sums", None)
    return asked(source) if asked else method.question.counts(source)


def added(question, persons, view=None, **facts):
    """The vector that noise is added to, and the method, for a world of persons."""
    schema = Schema(unit="unit", **facts).weighing(question.weigh)
    opened = MemoryTable(worlds.table(persons))
    of_units = question.unit_method(opened, schema, Price(EPSILON))
    seen = of_units.view(opened, None) if view is None else view(opened)
    return vectors(of_units.method, seen), of_units


def loss(question, view=None, **facts):
    """The largest exact log-ratio: |c - c'|₁ over the scale of the discrete Laplace noise.

    What a person adds depends on nobody else, which another test shows: so that the pairs of
    neighbours are one person more than nobody.
    """
    empty, of_units = added(question, [], view, **facts)
    scale = of_units.method.scale(EPSILON / of_units.steps)
    moved = [np.abs(added(question, [p], view, **facts)[0] - empty).sum() for p in PERSONS]
    return max(moved) / scale


QUESTIONS = {
    "count": CountQuestion(),
    "count by": CountQuestion(**BY),
    "histogram": HistogramQuestion(value="group", categories=list("abc")),
    "histogram by": HistogramQuestion(value="value", lower=-1, upper=2, bins=3, **BY),
    "total": TotalQuestion(**VALUE),
    "total by": TotalQuestion(**VALUE, **BY),
    "total of people": TotalQuestion(**VALUE, **BY, weigh="people"),
    "mean": MeanQuestion(**VALUE),
    "mean by": MeanQuestion(**VALUE, **BY),
}
FACTS = [{}, {"rows_per_unit": 2}, {"groups_per_unit": 2}]


@pytest.mark.parametrize("facts", FACTS, ids=str)
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_loss_is_at_most_epsilon(name, facts):
    """And all of it is used: somebody moves the numbers by what the noise protects."""
    assert loss(QUESTIONS[name], **facts) == 1


@pytest.mark.parametrize("name", QUESTIONS)
def test_persons_add_up(name):
    """What a person adds does not depend on others."""
    rng = np.random.default_rng(4)
    empty = added(QUESTIONS[name], [])[0]
    for _ in range(20):
        persons = [PERSONS[i] for i in rng.integers(0, len(PERSONS), 4)]
        one_by_one = sum(added(QUESTIONS[name], [p])[0] - empty for p in persons)
        assert (added(QUESTIONS[name], persons)[0] - empty == one_by_one).all()


class RowCounts(Shares):
    """A broken twin: every row counts in full."""

    def weights(self, pairs: Pairs, /):
        return self.quantum // self.cap * pairs.rows


class Uncut(Amounts):
    """A broken twin: the total of a person is not cut."""

    def weights(self, pairs: Pairs, /):
        return pairs.rows * (self.first + self.step * (pairs.cell % self.cells))


class CutByGroup(Amounts):
    """A broken twin: the total of a person is cut in every group, not in all."""

    def weights(self, pairs: Pairs, /):
        value = self.first + self.step * (pairs.cell % self.cells)
        return np.clip(pairs.rows * value, -self.most, self.most)


@pytest.mark.parametrize("name", QUESTIONS)
def test_rows_in_place_of_weights_are_not_private(name):
    def twin(opened):
        of_units = added(QUESTIONS[name], [])[1]
        weighing = of_units.view(opened, None).weighing
        broken = (
            RowCounts(weighing.quantum)
            if isinstance(weighing, Shares)
            else Uncut(weighing.most, weighing.cells, weighing.first, weighing.step)
        )
        width = of_units.view(opened, None).width
        return UnitTable(opened, "unit", broken, width)

    assert loss(QUESTIONS[name], twin) > 1.1


def test_a_total_that_is_cut_in_every_group_is_not_private():
    asked = QUESTIONS["total by"]
    right = added(asked, [])[1].method.amounts(1)
    twin = CutByGroup(right.most, right.cells, right.first, right.step)
    assert loss(asked, lambda opened: UnitTable(opened, "unit", twin)) > 1.1


def test_amounts_are_cut_as_defined():
    """Coin by coin, for small numbers and for those beyond 64 bits."""
    rng = np.random.default_rng(9)
    for most, first, step in [(7, -3, 2), (10**9 + 7, -(10**9), 5 * 10**8), (10**17, 0, 10**16)]:
        weighing = Amounts(most, 6, first, step)
        owner = np.sort(rng.integers(0, 5, 60))
        keys = np.unique(owner * 18 + rng.integers(0, 18, 60))
        owner, cell = np.divmod(keys, 18)
        rows = rng.integers(1, 400, len(keys))
        found = weighing.weights(Pairs(owner, cell, rows))
        for who in np.unique(owner):
            mine = np.flatnonzero(owner == who)
            values = [first + step * (int(cell[i]) % 6) for i in mine]
            coins = [int(rows[i]) * abs(v) for i, v in zip(mine, values, strict=True)]
            before = 0
            for i, v, ends in zip(mine, values, np.cumsum(np.array(coins, object)), strict=True):
                up_to = most * ends // max(sum(coins), most)
                assert abs(int(found[i])) == up_to - before
                assert int(found[i]) * v >= 0
                before = up_to
            assert before <= most
            if sum(coins) <= most:
                assert [abs(int(found[i])) for i in mine] == coins


STAYS = {
    "unit": [f"P{i % 40}" for i in range(160)],
    "group": [list("abc")[i * i % 3] for i in range(160)],
    "value": [float(i % 4 - 1) for i in range(160)],
}
FEW = {
    "unit": [f"P{i % 6}" for i in range(24)],
    "group": [list("abc")[i * i % 3] for i in range(24)],
    "value": [float(i % 4 - 1) for i in range(24)],
}
"""For draws, thousands of times: their noise depends on no row."""
COLUMNS = {"group": list("abc"), "value": dampen.number(-1, 2, step=1)}


@pytest.mark.parametrize("facts", FACTS[:2], ids=str)
@pytest.mark.parametrize("name", QUESTIONS)
def test_noise_is_drawn_as_enumerated(name, facts):
    """The noise of the first number, in steps: 3,000 draws, and those of an ε 30 % off."""
    question = QUESTIONS[name]
    schema = Schema(unit="unit", **facts).weighing(question.weigh)
    opened = MemoryTable(FEW)
    of_units = question.unit_method(opened, schema, Price(EPSILON))
    truth = vectors(of_units.method, of_units.view(opened, None)).ravel()[0]
    scale = float(of_units.method.scale(EPSILON / of_units.steps))
    entropy = InsecureEntropy(21)
    noise = [
        first_of(of_units.draw(opened, EPSILON, entropy), of_units.method) - truth
        for _ in range(3000)
    ]
    edges = np.unique(np.round(scale * np.linspace(-3, 3, 13))).astype(int)

    def law(s):
        below = np.array([cumulative(int(edge), s) for edge in edges])
        return np.diff(np.r_[0, below, 1])

    counts = np.bincount(np.searchsorted(edges, noise), minlength=len(edges) + 1)
    assert_draws_follow(counts, law(scale), law(scale * 1.3))


def cumulative(z, scale):
    """P(Z <= z) of discrete Laplace noise."""
    a = np.exp(-1 / scale)
    return 1 - a ** (z + 1) / (1 + a) if z >= 0 else a**-z / (1 + a)


def first_of(drawn, method):
    """The first noisy number, in steps of the noise."""
    number = drawn.numbers
    while isinstance(number, dict) and "sum" not in number:
        number = next(iter(number.values()))
    if isinstance(number, dict):
        return round(drawn.law.sums(number)[0])
    return round(Fraction(number) / drawn.law.unit)


def test_answers_of_persons_are_whole_and_right():
    """With hardly any noise: 40 persons in one or more groups each."""
    asked = dampen.dataset(STAYS, unit="unit", columns=COLUMNS, groups_per_unit=3)
    assert asked.count(epsilon=1000).answer == 40
    pairs = set(zip(STAYS["unit"], STAYS["group"], strict=True))
    by_group = {g: sum(group == g for _, group in pairs) for g in "abc"}
    made = asked.count(by="group", epsilon=1000)
    assert made.answer == by_group
    for group, (low, high) in made.interval(0.95).items():
        assert low <= by_group[group] + 0.1 and by_group[group] - 0.1 <= high
    assert made.parameters["groups_per_unit"] == 3
    rows = dampen.dataset(STAYS, unit="unit", columns=COLUMNS, rows_per_unit=4)
    assert rows.count(epsilon=1000).answer == 160
    assert rows.total("value", epsilon=1000).answer == pytest.approx(sum(STAYS["value"]), abs=1)
    mean = rows.mean("value", epsilon=1000).answer
    assert mean == pytest.approx(np.mean(STAYS["value"]), abs=0.01)


CATEGORIES = {"value": "group", "categories": ["a", "b", "c"], "unit": "unit"}


@pytest.mark.parametrize("price", [{"epsilon": 50}, {"rho": 2000}])
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"by": "value", "groups": [0.0]},
        {"k": 3},
        {"k": 3, "groups_per_unit": 1},
        {"k": 3, "by": "value", "groups": [0.0]},
    ],
    ids=str,
)
@pytest.mark.parametrize("weigh", [{}, {"rows_per_unit": 2}])
def test_numbers_of_names_are_persons_or_rows(price, asked, weigh):
    """They were weights: a lead of 30 persons was told as one of 25,200."""
    persons = [(("a", 0),)] * 50 + [(("b", 0),)] * 20
    rows_of_one = weigh.get("rows_per_unit", 1)
    table = worlds.table([rows * rows_of_one for rows in persons])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        made = dampen.most_frequent(table, **CATEGORIES, **asked, **weigh, **price)
    if made.law is None:
        return
    again = dampen.Release.from_json(made.to_json())
    grouped = made.numbers[0.0] if "by" in asked else made.numbers
    ends = made.interval()[0.0] if "by" in asked else made.interval()
    one = grouped["a"] if "k" in asked else grouped
    low, high = ends["a"] if "k" in asked else ends
    true = (50 if "k" in asked else 30) * rows_of_one
    assert abs(one - true) < 3
    assert low <= true <= high
    assert high - low < 6
    assert again.law == made.law


def test_the_rho_of_one_step_is_not_shown():
    table = worlds.table([(("a", 1), ("b", 0))] * 9)
    given = {"by": "group", "groups": ["a", "b"], "k": 2, "ordered": True, "rho": "0.5"}
    asked = {"lower": 0, "upper": 1, "step": 1}
    made = dampen.top_groups(table, "value", **asked, **given, unit="unit")
    assert "rho_each" not in made.parameters
    assert "rho_each" in dampen.top_groups(table, "value", **asked, **given).parameters


def test_more_cells_than_are_counted_one_by_one():
    """The same sums by cells that are not listed."""
    fine = {"value": "value", "lower": -1, "upper": 2}
    for question in (MeanQuestion(**fine, step="0.000001"), MeanQuestion(**fine, step="0.001")):
        sums, of_units = added(question, [[("a", -1), ("b", 2)], [("c", 0)]])
        grid = question.column.grid
        weights = np.array([420 * 0 + 420 * grid.top + 840 * grid.top // 3, 0])
        assert sums[0, 0] == weights[0]
        assert sums.sum() == 2 * 840 * grid.top
        assert of_units.steps == 840


def test_groups_above_by_weights():
    """Bits of reach on weights: the exact law of each bit, one person more or less."""
    question = AboveQuestion(value="value", threshold=1, lower=0, upper=1, step=1, **BY)
    schema = Schema(unit="unit")
    universe = Universe.units([("a", 1), ("b", 0), ("b", 1), ("c", 1)], max_units=2, max_rows=3)

    def log_laws(persons):
        opened = MemoryTable(worlds.table(persons))
        of_units = question.unit_method(opened, schema, Price(EPSILON))
        asked = of_units.method.question
        counts = asked.problem.opened_counts(of_units.view(opened, None), "value", "group")
        noise = np.arange(-4000, 4001)
        who = np.repeat(np.arange(3), len(noise))
        bits = asked.passes(asked.reach(counts).at(who, np.tile(noise, 3)), asked.cells)
        above = bits.reshape(3, -1)
        first = [int(noise[np.argmax(each)]) if each.any() else 4001 for each in above]
        yes = np.array([1 - cumulative(w - 1, 840.0) for w in first])
        return np.log(yes), np.log1p(-yes)

    laws = [log_laws(persons) for persons in universe.databases]
    worst = 0.0
    for left, right in universe.neighbours:
        each = [np.abs(laws[left][bit] - laws[right][bit]) for bit in (0, 1)]
        worst = max(worst, np.maximum(*each).sum())
    assert 0.5 < worst <= 1 + 1e-9


def test_questions_about_ids_are_refused():
    asked = dampen.dataset(STAYS, unit="unit", columns=COLUMNS)
    with pytest.raises(dampen.ParameterError, match="names whom"):
        asked.count(by="unit", groups=["P1"], epsilon=1)


def test_the_accuracy_says_that_persons_in_several_groups_count_in_part():
    """Everybody is in both wards: each of them has 500 persons, of whom half is counted."""
    stays = {"who": [i // 2 for i in range(1_000)], "ward": ["A", "B"] * 500}
    shared = " A person in several groups counts in part in each; state groups_per_unit="
    one = dampen.dataset(stays, unit="who", columns={"ward": ["A", "B"]})
    made = one.count(by="ward", epsilon=5)
    assert abs(made.answer["A"] - 250) < 20
    assert shared in made.accuracy.sentence
    found = dampen.dataset(stays, unit="who").keys("ward", epsilon=5, delta="1e-6")
    assert " A person with several values counts in part for each" in found.accuracy.sentence
    two = dampen.dataset(stays, unit="who", groups_per_unit=2, columns={"ward": ["A", "B"]})
    made = two.count(by="ward", epsilon=5)
    assert abs(made.answer["A"] - 500) < 20
    assert "in part" not in made.accuracy.sentence
    assert "in part" not in one.count(epsilon=5).accuracy.sentence
    rows = dampen.count(stays, by="ward", groups=["A", "B"], epsilon=5)
    assert "in part" not in rows.accuracy.sentence
