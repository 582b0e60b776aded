"""The corners of questions: one candidate, hardly any rows, extreme ε, and neighbours compared.

The suites of single questions enumerate the laws of ordinary small universes.  Here every question
is asked with parameters at their ends: one category, group, bin, class or node, as many answers as
candidates, thresholds beyond the range.  What a release shows may then be degenerate, but two
neighbours must not tell by it which of them was asked.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

import dampen
from dampen import Release
from dampen.errors import ParameterError
from dampen.questions.classify.question import RegressionQuestion
from dampen.releases.answer import answer

pytestmark = pytest.mark.filterwarnings("ignore::dampen.errors.AccuracyWarning")

Row = tuple[float, str, str]
"""A number v, a group g, a person p."""


def table(rows: list[Row]) -> dict[str, list[Any]]:
    return {name: [row[i] for row in rows] for i, name in enumerate("vgp")}


FEW = table([(3.0, "ab"[i % 2], f"p{i}") for i in range(8)])
GROUPS = {"by": "g", "groups": ["a", "b"]}
RANGE = {"lower": 0, "upper": 10, "step": 1}
OF_TREES = {"target": "v", "lower": 0, "upper": 10, "domains": {"g": ["a", "b"]}, "max_rows": 9}

TINY: Mapping[str, Callable[..., Release]] = {
    "names": lambda **o: dampen.most_frequent(FEW, "g", categories=["a", "b"], k=2, **o),
    "names by group": lambda **o: dampen.most_frequent(
        FEW, "v", categories=[1, 3], k=2, **GROUPS, **o
    ),
    "names of persons": lambda **o: dampen.most_frequent(
        FEW, "g", categories=["a", "b", "c"], k=3, unit="p", **o
    ),
    "names of persons, found": lambda **o: dampen.most_frequent(
        FEW, "g", k=3, delta="0.1", unit="p", **o
    ),
    "percentile": lambda **o: dampen.percentile(FEW, "v", p=50, **o),
    "percentile of persons": lambda **o: dampen.percentile(FEW, "v", p=50, unit="p", **o),
    "percentiles of persons": lambda **o: dampen.percentile(FEW, "v", p="deciles", unit="p", **o),
    "mean of persons": lambda **o: dampen.mean(FEW, "v", unit="p", **o),
    "measured quantile": lambda **o: dampen.top_groups(
        FEW, "v", p="0.001", measure="statistic", unit="p", **GROUPS, **RANGE, **o
    ),
    "measured quantile, min-max": lambda **o: dampen.top_groups(
        FEW, "v", measure="statistic", unit="p", groups_per_unit=5, **GROUPS, **RANGE, **o
    ),
    "regression tree": lambda **o: answer(RegressionQuestion(**OF_TREES), FEW, **o),
}
"""Questions whose noise may have a scale that is far from 1/ε."""


class Charges:
    """A budget that counts."""

    def __init__(self) -> None:
        self.made = 0

    def charge(self, _: Any, /) -> str:
        self.made += 1
        return f"id {self.made}"


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("epsilon", [f"1e-{places}" for places in range(6, 16)])
def test_an_epsilon_too_small_for_its_noise_is_refused_before_the_charge(
    name: str, epsilon: str
) -> None:
    budget = Charges()
    try:
        assert TINY[name](epsilon=epsilon, budget=budget).answer != ""
    except ParameterError:
        assert budget.made == 0
