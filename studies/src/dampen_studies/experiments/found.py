"""What is found with a share of ε where nobody stated it: ranges of means, groups, keys.

`ranges`: the error of a mean without bounds beside that with the exact bounds of the sample, which
nobody could know.  `found-groups`: how often the best group is named where a share of ε finds the
groups first, for several shares.  `keys`: how many keys a threshold publishes beside the largest
number that any (ε, δ)-DP way can, on columns of keys.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.core.thresholds import Threshold
from dampen.data.open import open_table
from dampen.questions.groups.question import GroupsQuestion
from dampen.questions.keys import SHARE
from dampen.releases.answer import planned_in_two_steps
from dampen.releases.cost import Price
from dampen_studies.datasets.grouped import TABLES
from dampen_studies.experiments.unbounded import COLUMNS, load, sample
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study

ROWS = 10_000
FEWEST = 2_000
STRENGTHS = (1_000, 10_000)
RUNS = 40
SHARES = ("1/10", "2/10", "3/10", "5/10")


def _ranges(quick: bool) -> Sequence[Parameters]:
    columns = COLUMNS[:1] if quick else COLUMNS
    strengths = STRENGTHS[:1] if quick else STRENGTHS
    return [
        {"package": each.package, "item": each.item, "column": each.column, "strength": strength}
        for each, strength in product(columns, strengths)
    ]


def _range_row(cell: Parameters, _: InsecureEntropy) -> Sequence[Row]:
    numbers = sample(load(str(cell["package"]), str(cell["item"]), str(cell["column"])), ROWS)
    n = len(numbers)
    if n < FEWEST:
        return []
    epsilon = Fraction(int(cell["strength"]), n)
    low, high = str(numbers.min()), str(numbers.max())
    exact = _mean_error(numbers, epsilon, lower=low, upper=high)
    wide = _mean_error(numbers, epsilon, **_ten_times(numbers))
    ratios = [_mean_error(numbers, epsilon, **known) / exact for known in ({}, {"lower": low})]
    name = f"{cell['item']}.{cell['column']}"
    found = [round(ratio, 2) for ratio in (*ratios, wide / exact)]
    return [(name, n, int(cell["strength"]), float(f"{exact:.3g}"), *found)]


def _ten_times(numbers: np.ndarray) -> dict[str, str]:
    middle, half = (numbers.max() + numbers.min()) / 2, 5 * np.ptp(numbers)
    return {"lower": str(middle - half), "upper": str(middle + half)}


def _mean_error(numbers: np.ndarray, epsilon: Fraction, **known: Any) -> float:
    errors = [
        dampen.mean(
            numbers, epsilon=epsilon, entropy=InsecureEntropy(seed, allow_release=True), **known
        ).answer
        - numbers.mean()
        for seed in range(RUNS)
    ]
    return float(np.abs(errors).mean())


RANGES = Study(
    name="ranges",
    title="Means without bounds",
    figure="beyond the paper",
    about="The mean absolute error of a mean without bounds, divided by that with the exact bounds "
    "of the sample; with the lower bound alone; and with a range that is ten times too wide.",
    finding="Without any bound the error is about twice that with the exact bounds.",
    caption=lambda rows: f"n ε = {listed(rows, 'strength')}; {RUNS} runs a cell.",
    columns=("dataset", "n", "strength", "error", "unbounded", "lower_known", "ten_times_too_wide"),
    cells=_ranges,
    run=_range_row,
    minutes=20,
)


def _groups(quick: bool) -> Sequence[Parameters]:
    tables = range(1) if quick else range(len(TABLES))
    return [
        {"table": table, "epsilon": epsilon, "share": share}
        for table, epsilon, share in product(tables, ("0.3", "1"), SHARES)
    ]


@lru_cache(maxsize=32)
def _table(place: int) -> tuple[list[float], list[str], str]:
    values, groups = TABLES[place].load()
    medians = {g: np.median(values[np.array(groups) == g]) for g in set(groups)}
    return values.tolist(), groups, max(medians, key=lambda g: float(medians[g]))


def _groups_row(cell: Parameters, _: InsecureEntropy) -> Sequence[Row]:
    table = TABLES[int(cell["table"])]
    values, groups, best = _table(int(cell["table"]))
    source = open_table({"value": values, "by": groups})
    question = GroupsQuestion(
        value="value", by="by", delta="1e-6", lower=table.lower, upper=table.upper, step=table.step
    )
    assert question.finding is not None
    finding = replace(question.finding, share=Fraction(str(cell["share"])))
    price = Price(str(cell["epsilon"]))
    plan = planned_in_two_steps(question, finding, source, price, None)
    drawn = [
        plan.method.draw(source, plan.cost.epsilon, InsecureEntropy(seed)) for seed in range(RUNS)
    ]
    right = np.mean([each.answer == best for each in drawn])
    found = np.mean([int(each.shown["groups"]) for each in drawn]) / len(set(groups))
    known = (table.name, len(set(groups)), float(cell["epsilon"]), float(Fraction(cell["share"])))
    return [(*known, round(float(right), 3), round(float(found), 3))]


GROUPS = Study(
    name="found-groups",
    title="The best group, where nobody lists the groups",
    figure="beyond the paper",
    about="How often the group with the largest median is named, and how many of the groups are "
    "found, where a share of ε finds them.",
    finding=f"A share of {float(SHARE):g} is taken.",
    caption=lambda rows: f"δ = 1e-6, ε = {listed(rows, 'epsilon')}; {RUNS} runs a cell.",
    columns=("dataset", "groups", "epsilon", "share", "right", "found"),
    cells=_groups,
    run=_groups_row,
    minutes=10,
)


def best_possible(count: int, epsilon: float, delta: float) -> float:
    """The largest probability with which (ε, δ)-DP lets a key of so many rows be published.

    π(0) = 0, and both π(c) <= e^ε π(c-1) + δ and 1 - π(c-1) <= e^ε (1 - π(c)) + δ hold: the optimum
    of Desfontaines et al. (2022) takes the largest π(c) that both allow.
    """
    chance = 0.0
    for _ in range(count):
        more = np.exp(epsilon) * chance + delta
        less = 1 - np.exp(-epsilon) * (1 - chance - delta)
        chance = min(more, less, 1.0)
    return chance


def _keys(quick: bool) -> Sequence[Parameters]:
    epsilons = ("1",) if quick else ("0.1", "0.3", "1", "3", "5", "10")
    deltas = ("1e-6",) if quick else ("1e-4", "1e-6", "1e-9")
    return [{"epsilon": e, "delta": d} for e, d in product(epsilons, deltas)]


def _keys_row(cell: Parameters, _: InsecureEntropy) -> Sequence[Row]:
    epsilon, delta = Fraction(str(cell["epsilon"])), Fraction(str(cell["delta"]))
    threshold = Threshold.of(epsilon, delta)
    sizes = Counter(int(1.3 ** (i % 40)) for i in range(4_000))
    ours = sum(keys * threshold.chance(count) for count, keys in sizes.items())
    best = sum(
        keys * best_possible(count, float(epsilon), float(delta)) for count, keys in sizes.items()
    )
    return [(float(epsilon), float(delta), round(ours, 2), round(best, 2), round(ours / best, 5))]


def _keys_caption(rows: Rows) -> str:
    return f"Keys of 1 to {int(1.3**39):,} rows; ε = {listed(rows, 'epsilon')}; computed."


KEYS = Study(
    name="keys",
    title="Keys that nobody lists",
    figure="beyond the paper",
    about="The expected number of published keys, beside the largest that (ε, δ)-DP allows.",
    finding="Truncated noise with a coin publishes as many keys as any way can.",
    caption=_keys_caption,
    columns=("epsilon", "delta", "published", "optimum", "ratio"),
    cells=_keys,
    run=_keys_row,
    minutes=1,
)
