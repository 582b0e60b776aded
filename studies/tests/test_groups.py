"""The best group on real tables: what the acceptance of the default asks for."""

from statistics import median

import pytest

from dampen.questions.groups.problem import BestGroup
from dampen_studies.datasets import DatasetError
from dampen_studies.datasets.grouped import TABLES, GroupedTable
from dampen_studies.experiments.groups import STUDY
from dampen_studies.rivals.groups import epsilon_for_best, group_methods, true_statistics

SMALL = [table for table in TABLES if table.item in ("attrition", "flchain", "wagepan", "storms")]
MOST_TIMES_THE_CONTROL = 1.2
LEAST_GAIN = 3


def gain(table):
    """How many times more ε the parallel control needs for a probability of 0.9."""
    values, by = table.load()
    problem = BestGroup(
        groups=sorted(set(by)), lower=table.lower, upper=table.upper, step=table.step
    )
    counts = problem.counts(values, by)
    best = true_statistics(problem, counts)
    laws = {method.name: method for method in group_methods(problem, counts)}
    return epsilon_for_best(laws["control"], best) / epsilon_for_best(laws["reach"], best)


@pytest.mark.parametrize("table", SMALL, ids=lambda table: table.name)
def test_the_default_needs_less_epsilon_than_a_private_median_of_every_group(table):
    assert gain(table) > 1


@pytest.mark.slow
def test_the_default_needs_a_third_of_the_epsilon_and_never_more():
    gains = [gain(table) for table in TABLES]
    assert median(gains) >= LEAST_GAIN
    assert min(gains) >= 1 / MOST_TIMES_THE_CONTROL


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_ranges_hold_most_of_the_values(table):
    values, by = table.load()
    assert 7 <= len(set(by)) <= 100
    inside = (values >= table.lower) & (values <= table.upper)
    assert inside.mean() > 0.95


def test_an_unknown_table_is_an_error():
    with pytest.raises(DatasetError, match="no table"):
        GroupedTable("ggplot2", "diamond", "color", "price", 0, 20000, "20").load()


def test_the_quick_run_needs_no_table():
    assert {cell["dataset"] for cell in STUDY.cells(True)} == {"wards"}
