"""What is said of accuracy, beside what happens: every question on data that makes it hard.

Sentences speak of 9 of 10 runs.  Two kinds of them are tried:

- *an error*: `held` is the share of runs whose error is at most what is stated, `third` the share
  at most a third of it, `real` the error that 9 of 10 runs keep to;
- *a lead*: the right answer leads by the stated number, by a third of it; `real` is the smallest
  lead at which 9 of 10 runs are right, to about a tenth.

A statement is tight where `third` is below 0.9: the real number is then more than a third of it.
Statements hold for all data.  Where they depend on how many possible answers lie between two
records, which is private, `gaps` says so: on other data they are tight.  There `usual` is the
second number of the sentence, for values that are spread evenly, `usual_held` the share of runs
that keep to it, and `usual_ratio` its ratio to `real`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import FloatArray
from dampen.paper.percentile_selection import rank
from dampen.questions.percentile.halving import Ranks
from dampen.releases.release import Release
from dampen_studies.experiments.long_lists import rank_errors, ranks_of
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study, seed_of

EPSILONS = ("0.1", "1")
RUNS = 200
FEWER = 20
"""Of lists, which take longer."""
COLUMNS = ("hepth-9415", "lognormal-4096", "uniform-4096", "ages-3000")
LETTERS = [f"c{i}" for i in range(12)]


@dataclass(frozen=True)
class Tried:
    """One line of the table.

    Attributes:
        unit: of the numbers.
        stated: by the sentence.
        held: the share of runs that keep to it.
        third: the share of runs that keep to a third of it.
        real: what nine of ten runs keep to.
        gaps: whether the statement depends on the gaps of the data.
        usual: what is said of values that are spread evenly.
        usual_held: the share of runs that keep to it.
    """

    unit: str
    stated: float
    held: float
    third: float
    real: float
    gaps: bool = False
    usual: float | None = None
    usual_held: float = 0.0


Ask = Callable[[InsecureEntropy], Release]


@dataclass(frozen=True)
class Draws:
    """Releases of one cell, each with bits of its own."""

    cell: str
    runs: int

    def of(self, ask: Ask) -> list[Release]:
        seeds = (seed_of(f"{self.cell} {i}") for i in range(self.runs))
        return [ask(InsecureEntropy(seed, allow_release=True)) for seed in seeds]

    def errors(self, ask: Ask, error: Callable[[Release], float], *, gaps: bool = False) -> Tried:
        made = self.of(ask)
        told = made[0].accuracy
        assert told is not None
        assert told.error is not None
        found = np.array([error(each) for each in made])
        held = float((found <= told.error).mean())
        third = float((found <= told.error / 3).mean())
        real = float(np.quantile(found, 0.9, method="higher"))
        evenly = 0.0 if told.usual is None else float((found <= told.usual).mean())
        return Tried(told.unit, told.error, held, third, real, gaps, told.usual, evenly)

    def leads(self, ask: Callable[[int], Ask], right: Callable[[Release], bool]) -> Tried:
        """Of data with a lead, which `ask` makes."""
        told = self.of(ask(1))[0].accuracy
        assert told is not None
        assert told.error is not None

        def share(lead: int) -> float:
            return float(np.mean([right(each) for each in self.of(ask(lead))]))

        stated = int(told.error)
        low, high = 0, stated
        while high - low > max(1, stated // 16):
            middle = (low + high) // 2
            low, high = (low, middle) if share(middle) >= 0.9 else (middle, high)
        return Tried(told.unit, stated, share(stated), share(stated // 3), high)


GAP = "one gap"
"""A column of two values, with all possible answers between them."""
GAPS = "gaps"
"""A column of as many gaps as percentiles, each so many ranks from its percentile."""
TO_GAP = {1: 8.5, 9: 90, 99: 428}
"""How many ranks, times ε, by the number of percentiles: so near that a wrong answer is drawn now
and then."""
TO_OPEN_GAP = 33
"""The same where the gap has nearly all decimals."""


def _ranks(name: str, percentiles: int, epsilon: str) -> Ranks:
    """Those of a column; every percentile of the gaps is `TO_GAP` / ε ranks below one."""
    if name not in (GAP, GAPS):
        return ranks_of(name)
    near = int(TO_GAP[percentiles] / float(epsilon))
    each = 6 * near
    counts = np.zeros(4096, dtype=np.int64)
    at = np.linspace(0, len(counts) - 1, percentiles + 1).astype(np.int64)
    counts[at] = each
    counts[at[0]] += near
    counts[at[-1]] -= near
    at_most = np.cumsum(counts)
    return Ranks(at_most - counts, at_most)


def _records(ranks: Ranks) -> tuple[FloatArray, int]:
    counts = ranks.at_most - ranks.less
    return np.repeat(np.arange(len(counts)), counts).astype(np.float64), len(counts)


def _percentiles(name: str, p: Sequence[int], epsilon: str, draws: Draws) -> Tried:
    ranks = _ranks(name, len(p), epsilon)
    x, bins = _records(ranks)
    shares = [Fraction(each, 100) for each in p]
    data = dampen.dataset({"v": x}, columns={"v": dampen.number(0, bins - 1, step=1)})

    def error(made: Release) -> float:
        answers = made.answer if len(p) > 1 else [made.answer]
        return float(rank_errors(ranks, shares, [int(each) for each in answers]).max())

    asked = list(p) if len(p) > 1 else p[0]
    return draws.errors(
        lambda bits: data.percentile("v", p=asked, epsilon=epsilon, entropy=bits),
        error,
        gaps=True,
    )


def _unbounded(name: str, epsilon: str, draws: Draws) -> Tried:
    x = _numbers(name, epsilon)
    k = rank(50, len(x))

    def error(made: Release) -> float:
        less, at_most = (np.searchsorted(x, made.answer, side=s) for s in ("left", "right"))
        return float(max(less + 1 - k, k - at_most, 0))

    def ask(bits: InsecureEntropy) -> Release:
        return dampen.percentile(x, p=50, epsilon=epsilon, entropy=bits)

    return draws.errors(ask, error, gaps=True)


def _numbers(name: str, epsilon: str) -> FloatArray:
    """Of a column without a grid."""
    if name == GAP:
        near = int(TO_OPEN_GAP / float(epsilon))
        ends = (-123456789e6, 123456789e6)
        return np.repeat(ends, (10 * near + near, 10 * near - near))
    if name in LAWS:
        quantiles = (np.arange(5_000) + 0.5) / 5_000
        return LAWS[name](quantiles)
    return _records(ranks_of(name))[0]


def _frequent(k: int, epsilon: str, draws: Draws) -> Tried:
    """All others are tied."""

    def ask(lead: int) -> Ask:
        column = [c for i, c in enumerate(LETTERS) for _ in range(300 + lead * (i < k))]

        def of(bits: InsecureEntropy) -> Release:
            given: dict[str, Any] = {"categories": LETTERS, "epsilon": epsilon, "entropy": bits}
            given |= {"k": k} if k > 1 else {}
            return dampen.most_frequent(column, **given)

        return of

    def right(made: Release) -> bool:
        named = made.answer if k > 1 else [made.answer]
        return set(named) == set(LETTERS[:k])

    return draws.leads(ask, right)


def _groups(statistic: str, groups: int, k: int, epsilon: str, draws: Draws) -> Tried:
    """Evenly spread values, 2 apart, so that two rows move a median by 2.

    One row moves it up by 2 as well.  So an odd shift s is decided by s rows, and not by fewer.
    """
    rows = 400
    names = LETTERS[:groups]

    def ask(lead: int) -> Ask:
        shift = lead + 1 + lead % 2
        values = [2 * np.arange(rows) + shift * (i < k) for i in range(groups)]
        by = np.repeat(names, rows)
        facts = {"g": names, "v": dampen.number(0, 2 * rows + shift, step=1)}
        data = dampen.dataset({"v": np.concatenate(values), "g": by}, columns=facts)
        given: dict[str, Any] = {"by": "g", "statistic": statistic, "epsilon": epsilon}
        given |= {"k": k} if k > 1 else {}
        return lambda bits: data.top_groups("v", entropy=bits, **given)

    def right(made: Release) -> bool:
        named = made.answer if k > 1 else [made.answer]
        return set(named) == set(names[:k])

    return draws.leads(ask, right)


def _above(epsilon: str, draws: Draws) -> Tried:
    """Every other group above the threshold, all decided by as many rows."""
    names = LETTERS[:8]

    def ask(lead: int) -> Ask:
        base = 500
        low = np.r_[np.zeros(base + lead + 1), np.full(base, 9.0)]
        values = [9 - low if i % 2 else low for i in range(len(names))]
        by = np.repeat(names, 2 * base + lead + 1)
        given: dict[str, Any] = {"by": by, "groups": names, "threshold": 5, "epsilon": epsilon}
        given |= {"lower": 0, "upper": 9, "step": 1}
        return lambda bits: dampen.groups_above(np.concatenate(values), entropy=bits, **given)

    return draws.leads(ask, lambda made: made.answer == names[1::2])


def _count(epsilon: str, draws: Draws) -> Tried:
    return draws.errors(
        lambda bits: dampen.count([1] * 900, epsilon=epsilon, entropy=bits),
        lambda made: abs(made.answer - 900),
    )


def _histogram(epsilon: str, draws: Draws) -> Tried:
    column = LETTERS * 100
    return draws.errors(
        lambda bits: dampen.histogram(column, categories=LETTERS, epsilon=epsilon, entropy=bits),
        lambda made: max(abs(each - 100) for each in made.answer.values()),
    )


def _total(epsilon: str, draws: Draws) -> Tried:
    column = np.tile(np.arange(11.0), 100)
    given: dict[str, Any] = {"lower": 0, "upper": 10, "epsilon": epsilon}
    return draws.errors(
        lambda bits: dampen.total(column, entropy=bits, **given),
        lambda made: abs(made.answer - column.sum()),
    )


def _mean(share: float, epsilon: str, draws: Draws) -> Tried:
    """With as many rows as the sentence asks for; in hundredths of a percent of the range."""
    given: dict[str, Any] = {"lower": 0, "upper": 10, "epsilon": epsilon}
    told = dampen.mean([1.0], entropy=InsecureEntropy(1, allow_release=True), **given).accuracy
    assert told is not None
    assert told.error is not None
    rows = int(told.error)
    column = np.where(np.arange(rows) < share * rows, 10.0, 0.0)
    made = draws.of(lambda bits: dampen.mean(column, entropy=bits, **given))
    off = np.abs(np.array([each.answer for each in made]) - column.mean()) * 10
    held, third = (float((off <= bound).mean()) for bound in (1, 1 / 3))
    return Tried("% of the range", 1.0, held, third, float(np.quantile(off, 0.9)))


def _keys(epsilon: str, draws: Draws) -> Tried:
    def ask(lead: int) -> Ask:
        column = ["x"] * lead
        return lambda bits: dampen.keys(column, epsilon=epsilon, delta="1e-6", entropy=bits)

    return draws.leads(ask, lambda made: "x" in made.answer)


def _nodes(epsilon: str, draws: Draws) -> Tried:
    """Five hubs of a graph whose other nodes have a few neighbours each."""
    n, k = 600, 5

    def ask(lead: int) -> Ask:
        ring = [(i, (i + j) % n) for i in range(n) for j in (1, 2, 3)]
        spokes = [(h, (h + 7 + 2 * j) % n) for h in range(k) for j in range(min(lead, 280))]
        edges = sorted({(min(e), max(e)) for e in ring + spokes if e[0] != e[1]})
        given: dict[str, Any] = {"k": k, "n": n, "metric": "degree", "epsilon": epsilon}
        return lambda bits: dampen.top_k(edges, entropy=bits, **given)

    return draws.leads(ask, lambda made: set(made.answer) == set(range(k)))


LAWS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "exponential, 5000": lambda q: -37.3 * np.log1p(-q),
    "logistic, 5000": lambda q: 171.3 + 5.1 * np.log(q / (1 - q)),
}
"""Columns without ties, by their quantiles."""
PERCENTS = (
    ("a percentile", (50,)),
    ("a percentile", (95,)),
    ("9 percentiles", tuple(range(10, 100, 10))),
    ("99 percentiles", tuple(range(1, 100))),
)
OTHERS: dict[tuple[str, str], Callable[[str, Draws], Tried]] = {
    **{
        ("a percentile, no grid", name): partial(_unbounded, name)
        for name in (GAP, "lognormal-4096", *LAWS)
    },
    ("most frequent", "12 categories"): lambda e, d: _frequent(1, e, d),
    ("most frequent, 3", "12 categories"): lambda e, d: _frequent(3, e, d),
    ("best group, median", "4 groups"): lambda e, d: _groups("median", 4, 1, e, d),
    ("best group, median", "12 groups"): lambda e, d: _groups("median", 12, 1, e, d),
    ("3 best groups, median", "12 groups"): lambda e, d: _groups("median", 12, 3, e, d),
    ("groups above", "8 groups"): _above,
    ("count", "900 rows"): _count,
    ("histogram", "12 categories"): _histogram,
    ("total", "1100 rows"): _total,
    ("mean", "half at the top"): lambda e, d: _mean(0.5, e, d),
    ("mean", "all at the bottom"): lambda e, d: _mean(0.0, e, d),
    ("keys", "one value"): _keys,
    ("nodes by degree", "5 hubs of 600"): _nodes,
}


def _cells(quick: bool) -> Sequence[Parameters]:
    epsilons = EPSILONS[-1:] if quick else EPSILONS
    asked = [(*each, e, RUNS) for each, e in product(OTHERS, epsilons)]
    columns = COLUMNS[-1:] if quick else COLUMNS
    asked += [("percentile 50", GAP, e, RUNS) for e in epsilons]
    asked += [(f"{m} percentiles", GAPS, e, FEWER) for m, e in product((9, 99), epsilons)]
    for (question, p), name, e in product(PERCENTS, columns, epsilons):
        label = question if len(p) > 1 else f"percentile {p[0]}"
        asked.append((label, name, e, FEWER if len(p) > 1 else RUNS))
    return [
        {"question": question, "data": name, "epsilon": e, "runs": 10 if quick else runs}
        for question, name, e, runs in asked
    ]


def _run(cell: Parameters, _: InsecureEntropy) -> Sequence[Row]:
    question = str(cell["question"])
    name = str(cell["data"])
    epsilon = str(cell["epsilon"])
    draws = Draws(f"{question} {name} {epsilon}", int(cell["runs"]))
    by_label = {q if len(p) > 1 else f"percentile {p[0]}": p for q, p in PERCENTS}
    if question in by_label:
        tried = _percentiles(name, by_label[question], epsilon, draws)
    else:
        tried = OTHERS[question, name](epsilon, draws)
    ratio = _ratio(tried.stated, tried.real)
    known = (question, name, float(epsilon), int(cell["runs"]), tried.unit)
    shares = (round(tried.held, 3), round(tried.third, 3))
    gaps = "gaps" if tried.gaps else ""
    found: Row = (*known, tried.stated, *shares, round(tried.real, 3), ratio, gaps)
    if tried.usual is None:
        return [(*found, "", "", "")]
    evenly = _ratio(tried.usual, tried.real)
    return [(*found, tried.usual, round(tried.usual_held, 3), evenly)]


def _ratio(stated: float, real: float) -> float | str:
    return round(stated / real, 2) if real > 0 else "no error"


def _caption(rows: Rows) -> str:
    return f"{listed(rows, 'runs')} runs."


STUDY = Study(
    name="accuracy-bounds",
    title="What is said of accuracy",
    figure="beyond the paper",
    about="The stated bound of every question, the share of runs that keep to it and to a third of "
    "it, and the bound that nine of ten runs keep to.",
    finding="Stated bounds hold in at least nine of ten runs; those that do not depend on the gaps "
    "of the data are at most three times the real ones. Of percentiles, the second number of the "
    "sentence is.",
    caption=_caption,
    columns=(
        "question",
        "data",
        "epsilon",
        "runs",
        "unit",
        "stated",
        "held",
        "third",
        "real",
        "ratio",
        "gaps",
        "usual",
        "usual_held",
        "usual_ratio",
    ),
    cells=_cells,
    run=_run,
    revision=2,
    minutes=4,
)
