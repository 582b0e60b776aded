"""The corners of questions: one candidate, hardly any rows, extreme ε, and neighbours compared.

The suites of single questions enumerate the laws of ordinary small universes.  Here every question
is asked with parameters at their ends: one category, group, bin, class or node, as many answers as
candidates, thresholds beyond the range.  What a release shows may then be degenerate, but two
neighbours must not tell by it which of them was asked.
"""

import json
import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pandas as pd
import pytest

import dampen
from dampen import InsecureEntropy, Release
from dampen.core.sampling import Entropy, geometric
from dampen.core.selection import IntArray
from dampen.errors import DampenError, DataError, ParameterError, raise_alone
from dampen.questions.classify.question import BayesQuestion, RegressionQuestion, TreeQuestion
from dampen.questions.groups.reach import ByMinMax
from dampen.questions.groups.statistics import Histograms
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
    "a name": lambda **o: dampen.most_frequent(FEW, "g", categories=["a", "b"], **o),
    "a name by group, of persons": lambda **o: dampen.most_frequent(
        FEW, "v", categories=[1, 3], unit="p", **GROUPS, **o
    ),
    "percentile by group": lambda **o: dampen.percentile(FEW, "v", p=99, **GROUPS, **o),
    "percentiles by group": lambda **o: dampen.percentile(FEW, "v", p="deciles", **GROUPS, **o),
    "min-max, cautious": lambda **o: dampen.top_groups(
        FEW, "v", caution=1000, unit="p", groups_per_unit=5, k=2, **GROUPS, **o
    ),
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
    "keys of persons": lambda **o: dampen.keys(FEW, "g", delta="1e-58", unit="p", **o),
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
@pytest.mark.parametrize("epsilon", [f"1e-{places}" for places in (*range(6, 16), 20, 30)])
def test_an_epsilon_too_small_for_its_noise_is_refused_before_the_charge(
    name: str, epsilon: str
) -> None:
    budget = Charges()
    try:
        assert TINY[name](epsilon=epsilon, budget=budget).answer != ""
    except ParameterError:
        assert budget.made == 0


@pytest.mark.parametrize("odd", [b"b", (1, 2), 2**70, 1.5], ids=repr)
@pytest.mark.parametrize("usual", ["a", (1, 2), (1, "x")], ids=repr)
def test_a_category_of_another_type_leaves_the_others_as_they_are(usual: Any, odd: Any) -> None:
    """Among texts one row of bytes made bytes of all, and rows of tuples were an error."""
    for known, codes in (([usual], [0] * 50), ([usual, odd], [0] * 50 + [1])):
        categories = pd.Index(known, dtype=object, tupleize_cols=False)
        if len(categories.unique()) < len(known):
            continue
        column = pd.Series(pd.Categorical.from_codes(codes, categories=categories))
        counted = dampen.count({"g": column}, by="g", groups=[usual], epsilon=50)
        assert counted.answer[usual] == 50


@pytest.mark.parametrize("confidence", ["1e-59", "0.5", "0." + 59 * "9"])
@pytest.mark.parametrize(
    "ask",
    [
        lambda: dampen.count(FEW, epsilon=1),
        lambda: dampen.count(FEW, rho=1),
        lambda: dampen.most_frequent(FEW, "g", categories=["a", "b"], epsilon=1),
        lambda: dampen.mean(FEW, "v", **RANGE, epsilon=1),
        lambda: dampen.mean(FEW, "v", **RANGE, rho=1),
        lambda: dampen.keys(["a"] * 99, epsilon=1, delta="0.1"),
    ],
    ids=["Laplace", "Gaussian", "margin", "two sums", "two Gaussian sums", "threshold"],
)
def test_intervals_of_any_confidence(ask: Callable[[], Release], confidence: str) -> None:
    """Nearly none is as good as any: it was an error of a logarithm."""
    made = ask()
    found = made.interval(confidence)
    low, high = found["a"] if isinstance(found, dict) else found
    assert low <= high


DRAWS = 100
OFTEN = 30
"""Of the draws.  At ε = 1/2 a neighbour then has it with a probability of about 0.18 or more, and
lacks it in all draws with one of 2e-9."""
EPSILON = "0.5"
NOBODY: list[Row] = []
ONE: list[Row] = [(3.0, "a", "p0")]
TWO: list[Row] = [*ONE, (7.0, "b", "p1")]
SAME: list[Row] = [*ONE, (3.0, "a", "p1")]
SEVERAL: list[Row] = [(3.0, "a", f"p{i}") for i in range(6)]
NEIGHBOURS: Mapping[str, tuple[list[Row], list[Row]]] = {
    "nobody and one": (NOBODY, ONE),
    "one and one more": (ONE, SAME),
    "one and another": (ONE, TWO),
    "one and nobody's": (ONE, [*ONE, (99.0, "unlisted", "p1")]),
    "several and a missing number": (SEVERAL, [*SEVERAL, (float("nan"), "", "p9")]),
}
HEAVY: list[Row] = [(3.0, "a", "h"), (7.0, "b", "h"), (9.0, "c", "h"), (3.0, "a", "h")]
OF_PERSONS: Mapping[str, tuple[list[Row], list[Row]]] = {
    "nobody and one of many rows": (NOBODY, HEAVY),
    "two and one of many rows more": (TWO, [*TWO, *HEAVY]),
}
ALONE = {"by": "g", "groups": ["a"]}
FOUND = {"by": "g", "delta": "0.01"}
Asked = Callable[..., Release]


def of(question: Callable[..., Release], *columns: str, **stated: Any) -> Asked:
    """The question with these parameters, to be asked of data."""
    return lambda data, **options: question(data, *columns, **stated, **options)


def edges_of(data: Mapping[str, list[Any]]) -> tuple[list[int], list[int]]:
    """A star: a row is an edge of node 0, a row without a number one to nowhere."""
    targets = [i + 1 if data["v"][i] < 10 else 99 for i in range(len(data["v"]))]
    return [0] * len(targets), targets


def top_k(**stated: Any) -> Asked:
    return lambda data, **options: dampen.top_k(edges_of(data), n=7, **stated, **options)


def watched(data: Any, *, epsilon: Any, budget: Any, entropy: Any) -> Release:
    """Up to three looks."""
    watch = dampen.watch(threshold=2, epsilon=epsilon, budget=budget)
    for _ in range(2):
        if (made := watch.look(data, entropy=entropy)).answer:
            return made
    return watch.look(data, entropy=entropy)


def model(question: type[Any], **stated: Any) -> Asked:
    """A model that tells groups by numbers."""
    asked = question(target="g", classes=["a", "b"], **stated)
    return lambda data, **options: answer(asked, data, **options)


CORNERS: Mapping[str, Asked] = {
    "one category": of(dampen.most_frequent, "g", categories=["a"]),
    "one category in a list": of(dampen.most_frequent, "g", categories=["a"], k=1),
    "one category of nobody": of(dampen.most_frequent, "g", categories=["c"]),
    "one category by group": of(dampen.most_frequent, "v", categories=[3], **ALONE),
    "one category, joint": of(dampen.most_frequent, "g", categories=["a"], mechanism="joint"),
    "one category of persons": of(dampen.most_frequent, "g", categories=["a"], unit="p"),
    "one category, rows of persons": of(
        dampen.most_frequent, "g", categories=["a"], unit="p", weigh="rows"
    ),
    "all categories": of(dampen.most_frequent, "g", categories=["a", "b"], k=2),
    "all categories of persons": of(
        dampen.most_frequent, "g", categories=["a", "b", "c"], k=3, unit="p"
    ),
    "all of a universe": of(
        dampen.most_frequent, "g", categories=dampen.universe(words=1, alphabet="ab"), k=2
    ),
    "categories found": of(dampen.most_frequent, "g", k=3, delta="0.01"),
    "categories of persons found": of(dampen.most_frequent, "g", k=3, delta="0.01", unit="p"),
    "one found category by found group": of(dampen.most_frequent, "v", categories=[3], **FOUND),
    "keys": of(dampen.keys, "g", delta="0.01", k=1),
    "keys of persons": of(dampen.keys, "g", delta="0.01", unit="p"),
    "count": of(dampen.count, nonnegative=True),
    "count of one group": of(dampen.count, **ALONE, nonnegative=True),
    "count of found groups": of(dampen.count, **FOUND),
    "mean of persons": of(dampen.mean, "v", unit="p", **RANGE),
    "total of persons": of(dampen.total, "v", unit="p", **RANGE),
    "percentiles of persons": of(dampen.percentile, "v", p=[0, 100], unit="p", **RANGE),
    "all groups of persons": of(
        dampen.top_groups, "v", k=2, unit="p", groups_per_unit=3, **GROUPS, **RANGE
    ),
    "count of persons": of(dampen.count, **ALONE, unit="p"),
    "one bin": of(dampen.histogram, "v", bins=1, lower=0, upper=10),
    "one category, histogram": of(dampen.histogram, "g", categories=["a"]),
    "total in one step": of(dampen.total, "v", lower=0, upper=10, step=10),
    "total below 0": of(dampen.total, "v", lower=-10, upper=0),
    "total without a range": of(dampen.total, "v"),
    "mean in one step": of(dampen.mean, "v", lower=0, upper=10, step=10),
    "mean without a range": of(dampen.mean, "v"),
    "mean of found groups": of(dampen.mean, "v", **FOUND, **RANGE),
    "lowest percentile": of(dampen.percentile, "v", p=0, **RANGE),
    "highest percentile": of(dampen.percentile, "v", p=100, **RANGE),
    "next to the highest": of(dampen.percentile, "v", p="99.99", lower=0, upper=10),
    "one in a list": of(dampen.percentile, "v", p=[50], **RANGE),
    "twice the same": of(dampen.percentile, "v", p=[50, 50], **RANGE),
    "both ends": of(dampen.percentile, "v", p=[0, 100], **RANGE),
    "deciles of two points": of(dampen.percentile, "v", p="deciles", lower=0, upper=10, step=10),
    "percentile without a range": of(dampen.percentile, "v", p=50),
    "percentile of one candidate": of(dampen.percentile, "v", p=50, lower=0, upper="1e-12"),
    "percentiles of found groups": of(dampen.percentile, "v", p=[10, 50], **FOUND),
    "one group": of(dampen.top_groups, "v", **ALONE),
    "one group, its sum": of(dampen.top_groups, "v", statistic="sum", **ALONE, **RANGE),
    "all groups in order": of(dampen.top_groups, "v", k=2, ordered=True, **GROUPS),
    "groups that are too small": of(dampen.top_groups, "v", min_rows=1000, **GROUPS),
    "groups far in the tail": of(dampen.top_groups, "v", p="99.9999", **GROUPS),
    "one group, measured": of(
        dampen.top_groups, "v", measure="statistic", share="0.999", **ALONE, **RANGE
    ),
    "a group, hardly measured": of(dampen.top_groups, "v", measure="count", share="1e-6", **GROUPS),
    "found groups, measured": of(dampen.top_groups, "v", k=2, measure="count", **FOUND),
    "one group of persons": of(
        dampen.top_groups, "v", unit="p", k=1, groups_per_unit=1000, **ALONE, **RANGE
    ),
    "above all": of(dampen.groups_above, "v", threshold=1e9, **GROUPS),
    "below all": of(dampen.groups_above, "v", threshold=-5, **GROUPS, **RANGE),
    "at the end": of(dampen.groups_above, "v", threshold=10, strict=True, **GROUPS, **RANGE),
    "all nodes": top_k(k=7, metric="degree"),
    "a node": top_k(),
    "a node, measured": top_k(k=1, measure="degree"),
    "nodes of one neighbour": top_k(k=2, max_degree=1),
    "watch": watched,
    "tree of one bin": model(TreeQuestion, domains={"v": dampen.bins(0, 9, 1)}, max_rows=1),
    "tree without splits": model(
        TreeQuestion, domains={"v": dampen.bins(0, 9, 3)}, max_rows=3, max_depth=0
    ),
    "Bayes of one bin": model(BayesQuestion, domains={"v": dampen.bins(0, 9, 1)}),
    "regression of one category": lambda data, **options: answer(
        RegressionQuestion(target="v", lower=0, upper=9, domains={"g": ["a"]}, max_rows=3),
        data,
        **options,
    ),
}


def leaves_of(path: str, told: Any) -> Iterator[tuple[str, Any]]:
    """All that can be seen of what is told: values, their types, lengths and orders."""
    yield f"type of {path}", type(told).__name__
    if isinstance(told, Mapping):
        yield f"names of {path}", str(list(told))
        for name, each in told.items():
            yield from leaves_of(f"{path}/{name}", each)
    elif isinstance(told, list | tuple):
        yield f"all of {path}", str(told)
        for i, each in enumerate(told):
            yield from leaves_of(f"{path}[{i}]", each)
    else:
        yield path, told


def fields_of(asked: Asked, rows: list[Row], seed: int) -> dict[str, Any]:
    """One release with its charges, or its refusal."""
    budget = Charges()
    entropy = InsecureEntropy(seed, allow_release=True)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            made = asked(table(rows), epsilon=EPSILON, budget=budget, entropy=entropy)
        except DampenError as error:
            return {"error": str(error), "charges": budget.made}
    said = sorted(str(each.message) for each in warned)
    told = json.loads(made.to_json()) | {"charges": budget.made, "warnings": said}
    return dict(leaves_of("", told | {"as it is": made.answer}))


def telling(some: list[dict[str, Any]], others: list[dict[str, Any]]) -> Iterator[str]:
    """What is often seen in some releases and never in the others."""
    for path in {path for each in some for path in each}:
        seen = [each[path] for each in some if path in each]
        also = [each[path] for each in others if path in each]
        for value, times in Counter(map(repr, seen)).items():
            if times >= OFTEN and value not in set(map(repr, also)):
                yield f"{path} is {value}"
        numbers = sorted(each for each in seen if isinstance(each, int | float))
        if len(numbers) >= OFTEN and all(isinstance(each, int | float) for each in also):
            low, high = numbers[OFTEN - 1], numbers[-OFTEN]
            if not any(each <= low for each in also):
                yield f"{path} is at most {low}"
            if not any(each >= high for each in also):
                yield f"{path} is at least {high}"


@cache
def releases(asked: Asked, rows: tuple[Row, ...]) -> list[dict[str, Any]]:
    return [fields_of(asked, list(rows), seed) for seed in range(DRAWS)]


def told_apart(asked: Asked, pair: tuple[list[Row], list[Row]]) -> list[str]:
    one, other = (releases(asked, tuple(rows)) for rows in pair)
    return sorted([*telling(one, other), *telling(other, one)])


@pytest.fixture
def _scores_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact scores of persons are computed once for all draws: they follow from the rows alone."""
    scores = ByMinMax.scores
    known: dict[Any, IntArray] = {}

    def remembered(self: ByMinMax, groups: IntArray, offset: int) -> IntArray:
        x = self.reach.x
        assert isinstance(x, Histograms)
        facts = self.quantum, self.reach.statistic, self.reach.steps, self.reach.guard
        key = x.counts.shape, x.counts.tobytes(), groups.tobytes(), offset, facts, self.reach.floor
        if key not in known:
            known[key] = scores(self, groups, offset)
        return known[key].copy()

    monkeypatch.setattr(ByMinMax, "scores", remembered)


@pytest.mark.usefixtures("_scores_once")
@pytest.mark.parametrize("name", CORNERS)
def test_no_field_tells_neighbours_apart(name: str) -> None:
    """What one of two neighbours often shows, the other shows too: losses are not infinite."""
    of_persons = OF_PERSONS if "persons" in name else {}
    for title, pair in {**NEIGHBOURS, **of_persons}.items():
        assert told_apart(CORNERS[name], pair) == [], title


def broken(shown: Callable[[list[Any], Entropy], Any]) -> Asked:
    """A question that shows what it should not."""

    def ask(data: Any, *, epsilon: Any, budget: Any, entropy: Entropy) -> Release:
        made = dampen.count(data, epsilon=epsilon, budget=budget, entropy=entropy)
        return replace(made, answer=shown(data["v"], entropy), numbers=None, law=None)

    return ask


BROKEN: Mapping[str, Asked] = {
    "noise that is never negative": broken(
        lambda v, entropy: len(v) + int(geometric(Fraction(2), 1, entropy)[0])
    ),
    "the number of rows": broken(lambda v, _: {"n": len(v)}),
    "the length of a list": broken(lambda v, _: [0] * min(len(v), 1)),
    "the type": broken(lambda v, _: 1 if v else 1.0),
    "the order": broken(lambda v, _: {"a": 1, "b": 1} if len(v) % 2 else {"b": 1, "a": 1}),
    "a warning": broken(lambda v, _: warnings.warn("few rows", stacklevel=2) if not v else None),
    "a failure": broken(lambda v, _: raise_alone(DataError("no rows")) if not v else 0),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_questions_are_found_out(name: str) -> None:
    assert any(told_apart(BROKEN[name], pair) for pair in NEIGHBOURS.values())


ODD_CELLS: tuple[Any, ...] = (None, float("nan"), 1e308, -1e300, 99, "zz", True, "4", 10**30, -0.0)
ODD_GROUPS: tuple[Any, ...] = (None, "c", "", "a ", 3, float("nan"), "A")
ASKED: Mapping[str, tuple[dict[str, Any], ...]] = {
    "count": ({}, {"nonnegative": True}),
    "histogram": (
        {"value": "v", "lower": 0, "upper": 10, "bins": 2},
        {"value": "v", "lower": 0, "upper": 10, "bins": 1},
    ),
    "total": ({"value": "v", **RANGE}, {"value": "v", "lower": 0}, {"value": "v"}),
    "mean": ({"value": "v", **RANGE}, {"value": "v", "upper": 10}, {"value": "v"}),
    "percentile": (
        {"value": "v", "p": 50},
        {"value": "v", "p": "deciles", **RANGE},
        {"value": "v", "p": [25, 75], "lower": 0},
        {"value": "v", "p": 99, **RANGE},
    ),
    "most-frequent": (
        {"value": "g", "k": 2},
        {"value": "g"},
        {"value": "v", "categories": [1, 3], "mechanism": "em"},
        {"value": "v", "categories": [1, 3, 99], "k": 3},
    ),
    "keys": ({"value": "g"}, {"value": ["g", "v"]}),
    "top-groups": (
        {"value": "v", "caution": 0},
        {"value": "v", "k": 2, "ordered": True, **RANGE},
        {"value": "v", "statistic": "mean", "measure": "count", **RANGE},
        {"value": "v", "p": 90, "min_rows": 3, "measure": "statistic", **RANGE},
    ),
    "groups-above": ({"value": "v", "threshold": 3, **RANGE}, {"value": "v", "threshold": 2.5}),
}
KNOWN: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"g": ["a", "b"]},
    {"g": ["a"], "v": dampen.number(0, 10)},
    {"g": dampen.categories(["a", "b"], missing="own", unlisted="own")},
    {"g": []},
)


def product_of(seed: int) -> tuple[Asked, tuple[list[Row], list[Row]]]:
    """A random question with random parameters and facts, and random neighbours."""
    chance = random.Random(seed)
    facts: dict[str, Any] = {"columns": chance.choice(KNOWN)}
    name = chance.choice(list(ASKED))
    stated = dict(chance.choice(ASKED[name]))
    if chance.random() < 0.5:
        facts["unit"] = "p"
        facts["groups_per_unit"] = chance.choice([None, 1, 5])
        facts["rows_per_unit"] = chance.choice([1, 1, 2, 8])
    if name in ("top-groups", "groups-above") or (name != "keys" and chance.random() < 0.5):
        stated["by"] = "g"
    nobody_lists = not facts["columns"].get("g") and "categories" not in stated
    if name == "keys" or (nobody_lists and "g" in (stated.get("by"), stated.get("value"))):
        stated["delta"] = "0.01"
    if chance.random() < 0.2:
        stated["where"] = chance.choice(["v >= 3", "g == 'a'", "not (v < 3)", "v is not missing"])
    price = chance.choice(["epsilon", "epsilon", "rho"])

    def row(person: str) -> Row:
        value = chance.choice([0, 1.5, 3, 3, 7, 10])
        group = chance.choice("aab")
        if person == "new":
            value = chance.choice([value, value, chance.choice(ODD_CELLS)])
            group = chance.choice([group, group, chance.choice(ODD_GROUPS)])
        return value, group, person

    persons = chance.choice([1, 3, 20])
    rows = [row(f"p{chance.randrange(persons)}") for _ in range(chance.choice([0, 1, 2, 5, 12]))]
    more = [row("new") for _ in range(chance.choice([1, 2, 6]) if "unit" in facts else 1)]
    place = chance.randrange(len(rows) + 1)

    def asked(data: Any, *, epsilon: Any, **options: Any) -> Release:
        # Answers for this ρ are about as noisy as those at ε.
        cost = {"epsilon": epsilon} if price == "epsilon" else {"rho": "0.03"}
        return dampen.dataset(data, **facts).ask(name, **stated, **cost, **options)

    return asked, (rows, [*rows[:place], *more, *rows[place:]])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_random_questions_tell_no_random_neighbours_apart(seed: int) -> None:
    """Products of features, with cells of any kind; what is refused is refused on both sides."""
    asked, pair = product_of(seed)
    assert told_apart(asked, pair) == []
    for rows in pair:
        for made in releases(asked, tuple(rows)):
            assert "error" not in made or not made["charges"]
