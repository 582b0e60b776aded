"""What is said of a percentile before it is paid for."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import dampen
from dampen.core.mechanisms import named
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import Neighbours
from dampen.data.memory import StreamTable
from dampen.data.source import Field
from dampen.epsilon import exact
from dampen.errors import AccuracyWarning
from dampen.paper.percentile_selection import NEAR, PercentileLabel
from dampen.questions.percentile import joint_tight
from dampen.questions.percentile.halving import NoisyTree, Ranks, target_ranks
from dampen.questions.percentile.joint_tight import Paths
from dampen.questions.percentile.methods import (
    Shares,
    TwoStages,
    likeliest_in_one_draw,
    likeliest_in_two_stages,
)
from dampen.questions.percentile.question import PercentileQuestion
from dampen.questions.percentile.record import label_mechanism
from dampen.questions.percentile.values import PercentileValue, PercentileValueOfRows
from dampen.releases.accuracy import Accuracy
from dampen.releases.answer import expect
from dampen_studies.rivals.record_law import law
from relations import RELATIONS, facts, percentile

VALUE = {"upper": 100, "step": 1, "epsilon": "0.5"}


class Refusing:
    def charge(self, cost, /):
        raise dampen.BudgetError("No.")


def test_the_accuracy_does_not_depend_on_the_data():
    one, other = (dampen.percentile(v, p=50, **VALUE).accuracy for v in ([1] * 200, [99, 5] * 100))
    assert one == other
    assert one.unit == "ranks"
    assert f"the value is at most {one.error:.0f} ranks farther from the percentile" in str(one)


@pytest.mark.parametrize("rows", [1, 2, 30, 300, 10_000])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("p", [0, 50, 99, "deciles"])
def test_no_error_is_larger_than_is_possible(rows, relation, p):
    question = PercentileQuestion(value="v", p=p, upper=100, step=1)
    stream = StreamTable([Field("v")], lambda _: iter(()))
    told = expect(question, stream, epsilon="0.1", schema=facts(relation, rows)).accuracy
    values = np.zeros(rows) if p == 100 else np.full(rows, 100.0)
    possible = max(rank_error(values, q, rows) for q in question.points)
    assert told.error <= possible + 1
    assert told.chance == (rows <= (300 if p == "deciles" else 30))


def rank_error(values, p, rows):
    """The largest of all points, on two columns that are as bad as can be."""
    errors = [
        -PercentileValue(n=rows, p=p, upper=100, step=1).selection(x).utility.min()
        for x in (values, 100 - values)
    ]
    return max(errors)


def test_nine_percentiles_of_few_rows_cause_a_warning_before_the_charge():
    """It once said more ranks than there are rows, and charged."""
    warned = pytest.warns(AccuracyWarning, match="can be up to 108 ranks from its percentile")
    with warned, pytest.raises(dampen.BudgetError):
        percentile(np.arange(119.0), "replace-one", p="deciles", **VALUE, budget=Refusing())


def test_a_private_number_of_rows_bounds_nothing():
    """Under add/remove the accuracy of one row is that of a thousand."""
    one, many = (dampen.percentile([5] * n, p=50, **VALUE).accuracy for n in (1, 1000))
    assert one == many


def test_the_rows_of_a_file_bound_the_accuracy_once_they_are_read(tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("v\n1\n2\n3\n")
    made = dampen.dataset(path, units_public=True).percentile("v", p=50, **VALUE)
    assert made.accuracy.error == 2
    assert made.accuracy.chance


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("p", [10, 50, 95])
@pytest.mark.parametrize("data", ["uniform", "one end", "two ends"])
def test_values_are_as_near_as_stated(relation, p, data):
    """By the law of the draw, on data of several shapes."""
    values = {
        "uniform": np.arange(1000) / 10,
        "one end": np.r_[np.zeros(990), np.full(10, 100.0)],
        "two ends": np.r_[np.zeros(500), np.full(500, 100.0)],
    }[data]
    told = percentile(values, relation, p=p, **VALUE).accuracy.error
    public = {"p": p, "upper": 100, "step": 1}
    rows = relation == "add-remove-row"
    problem = PercentileValueOfRows(**public) if rows else PercentileValue(n=1000, **public)
    selection = problem.selection(values)
    chance = dampen.probabilities(selection, epsilon="0.5", mechanism="pf")
    unit = {10: 10, 50: 2, 95: 20}[p] if rows else 1
    near = selection.utility >= selection.utility.max() - told * unit
    assert chance[near].sum() >= 0.9


def test_the_accuracy_reflects_splitting_and_the_number_of_points():
    told = {
        name: dampen.percentile([1, 2, 3] * 100, **(VALUE | options)).accuracy.error
        for name, options in {
            "one": {"p": 50},
            "two": {"p": [25, 75], "mechanism": "pf"},
            "fine": {"p": 50, "step": 0.01},
        }.items()
    }  # fmt: skip
    assert told["one"] < told["fine"]
    assert told["one"] < told["two"]


@pytest.mark.parametrize("epsilon", [1, 4, 12])
def test_no_label_is_more_likely_than_stated(epsilon):
    bound = likeliest_in_two_stages(6, exact(epsilon))
    for values in ([0, 1, 2, 3, 4, 8], [5, 5, 5, 5, 5, 5], [0, 0, 0, 8, 8, 8]):
        problem = TwoStages(n=6, p=50, upper=8, shares=Shares.of(exact(epsilon)), cells=16)
        chance = law(problem, np.array(values, dtype=float)).sum(axis=(0, 1))
        assert chance.max() <= bound + 1e-9


@pytest.mark.parametrize("mechanism", ["em", "pf", "ld", "ld-pf", None])
@pytest.mark.parametrize("delta", ["exact", "simple"])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_no_record_is_more_likely_than_stated_in_one_draw(mechanism, delta, n):
    """By the law of the draw, of all columns of n values in {0, 1, 2, 3, 9}."""
    chosen = label_mechanism(0, 9) if mechanism is None else named(mechanism)
    horizon = NEAR if mechanism is None else None
    largest = 0.0
    bound = likeliest_in_one_draw(chosen, n, exact(6), width=9)
    for p, x in product((0, 30, 50, 100), product((0, 1, 2, 3, 9), repeat=n)):
        problem = PercentileLabel(n=n, p=p, upper=9, delta=delta, horizon=horizon)
        selection = problem.selection(np.array(x, dtype=float))
        chance = dampen.probabilities(selection, epsilon=6, mechanism=chosen)
        largest = max(largest, chance.max())
    assert largest <= bound + 1e-9
    assert n == 1 or largest > 0.5 * bound


def test_a_random_record_causes_a_warning_before_the_charge():
    warned = pytest.warns(
        AccuracyWarning, match=r"no record is named with a probability above 0\.00"
    )
    with warned, pytest.raises(dampen.BudgetError):
        dampen.percentile_record(np.arange(2000.0), p=50, upper=2000, epsilon=2, budget=Refusing())


def test_random_records_among_few_cause_a_warning_too():
    with pytest.warns(AccuracyWarning, match="Ask for the value with dampen.percentile"):
        dampen.percentile_record(np.arange(500.0), p=50, upper=500, epsilon=2)


def test_a_record_that_can_be_found_causes_no_warning():
    told = dampen.percentile_record(np.arange(2000.0), p=50, upper=2000, epsilon=40).accuracy
    assert told.sentence.startswith("Among 2,000 records at ε = 40 no record is named with")
    assert told.unit == "probability of missing the right record"
    assert told.error == 0


def test_several_records_are_found_less_often_one_after_the_other():
    one, three = (
        dampen.percentile_record(np.arange(200.0), p=50, upper=200, epsilon=9, k=k).accuracy.error
        for k in (1, 3)
    )
    assert one < three


def evenly(points, n):
    """Ranks of n values, spread evenly over the points of a grid; not whole numbers of them."""
    edges = np.arange(points + 1) * n / points
    return edges[:-1], edges[1:]


@pytest.mark.parametrize("mechanism", ["em", "pf"])
@pytest.mark.parametrize("p", [50, 90])
def test_the_usual_error_is_that_of_dense_values(p, mechanism):
    """The exact law, of 20,004 values on 5,001 points."""
    question = PercentileQuestion(value="v", p=p, upper=5000, step=1, mechanism=mechanism)
    told = expect(question, {"v": []}, epsilon="0.02").accuracy
    rows = PercentileValueOfRows(p=p, upper=5000, step=1)
    edges = np.arange(5002) * 4
    of = rows.selection_of_ranks(edges[:-1], edges[1:], int(edges[-1]))
    law = dampen.probabilities(of, epsilon="0.02", mechanism=mechanism)
    off = -of.utility / Fraction(p, 100).denominator
    held = law[off <= told.usual].sum()
    assert 0.9 <= held <= 0.94
    assert told.usual < told.error / 2


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("m", [3, 9])
def test_the_usual_error_of_several_is_that_of_dense_values(m, relation):
    """The exact law of the joint draw: the paths that stay within it, among all paths."""
    shares = tuple(Fraction(i, m + 1) for i in range(1, m + 1))
    way = joint_tight.together(shares, Neighbours(relation), 4000)
    epsilon = Fraction(1, 5)
    n = 4000
    targets = way.targets(
        float(n), n if way.neighbours is Neighbours.REPLACE_ONE else None, epsilon
    )
    usual = way.usual(epsilon, n)

    def weight(reach):
        paths = Paths(np.stack(evenly(4000, n)), targets, reach)
        return np.exp(paths.last_scores()[:-1]).sum()

    assert 0.9 <= weight(usual) / weight(6 * usual) <= 0.94


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_usual_error_of_a_tree_is_near_the_real_one(relation):
    """Forty draws with given bits."""
    shares = tuple(Fraction(i, 100) for i in range(1, 100))
    tree = NoisyTree(shares, Neighbours(relation), 1000)
    edges = np.arange(1001) * 40
    ranks = Ranks(edges[:-1], edges[1:])
    targets = np.array(target_ranks(shares, 40_000))
    errors = []
    for seed in range(40):
        at = np.array(tree.draw(ranks, Fraction(1, 4), InsecureEntropy(seed)))
        off = np.maximum(edges[at] - targets, targets - edges[at + 1])
        errors.append(float(np.maximum(off, 0).max()))
    real = np.quantile(errors, 0.9, method="higher")
    assert real / 1.5 <= tree.usual(Fraction(1, 4)) <= 2 * real


def test_a_usual_error_is_kept_with_the_accuracy():
    told = dampen.percentile([1, 2, 3], p=50, **VALUE).accuracy
    assert "If the values are spread evenly, the bound is" in told.sentence
    assert Accuracy.from_dict(told.to_dict()) == told
    with pytest.raises(dampen.ParameterError, match="usual"):
        Accuracy.from_dict(told.to_dict() | {"usual": "small"})
