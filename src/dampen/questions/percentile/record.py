"""`percentile_record`: which record is at a percentile, or which k are nearest to it, privately.

`StreamedLabels` answers where rows stay where they are: two passes, in the memory of one batch.
"""

import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from operator import itemgetter
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from dampen.core.mechanisms import PF, Mechanism, named, select, select_streamed
from dampen.core.noise import EXPONENTIAL, Noise
from dampen.core.sampling import (
    Contenders,
    Entropy,
    contenders,
    discrete_laplace,
    narrowed,
    settle,
)
from dampen.core.scores import Dampened
from dampen.core.selection import FloatArray, IntArray, Neighbours, Selection, check_k
from dampen.data.cells import Keyed
from dampen.data.columns import (
    as_labels,
    as_names,
    as_numbers,
    clipped,
    finite_range,
    joined_numbers,
)
from dampen.data.open import open_columns, open_table
from dampen.data.source import (
    Chunk,
    Kind,
    Opened,
    reading,
    require_labels,
    require_numbers,
    whole_columns,
)
from dampen.epsilon import Epsilon, decimal_text
from dampen.errors import DataError, ParameterError
from dampen.paper.percentile_selection import (
    NEAR,
    Delta,
    Percent,
    PercentileLabel,
    no_values,
)
from dampen.questions.percentile.methods import (
    Near,
    Shares,
    Staircase,
    TwoStages,
    likeliest_in_one_draw,
    likeliest_in_two_stages,
    record_accuracy,
    worth_it,
)
from dampen.questions.percentile.question import SINGLE, for_one_selection, warn_of_shares
from dampen.questions.percentile.values import missing_as_lowest
from dampen.releases.accuracy import CONFIDENCE, UNKNOWN, Accuracy
from dampen.releases.answer import answer
from dampen.releases.cost import Budget, Cost, Price, composed_cost, selection_cost
from dampen.releases.method import Drawn, Leak, Measured, checked_share
from dampen.releases.numbers import ShiftLaw, check_scale, likely
from dampen.releases.question import Fact, Shape, checked_choice, parameter
from dampen.releases.release import Release
from dampen.schema.schema import Schema

__all__ = [
    "RecordQuestion",
    "StreamedLabels",
    "label_mechanism",
    "percentile_record",
]


Blocks: TypeAlias = Iterator[tuple[Selection, Callable[[int], Hashable]]]
"""Labels inside or not, batch by batch, and the name of the i-th of a batch."""


@dataclass(frozen=True, slots=True)
class StreamedLabels:
    """The numbers and the labels of a table; without labels a label is the place of its row.

    The first pass counts rows by cell, in the engine where it can.  Place and reach are drawn from
    the counts, as in memory.  The second pass reads numbers and labels batch by batch; whether a
    label is inside depends on its own number, so every batch leaves its contenders and is forgotten
    (`dampen.core.mechanisms.select_streamed`); of k labels, the k best so far are kept, and
    near-ties.  All bits are drawn here, by the one source of the release: an executor would need a
    source of its own, and a seeded one would repeat.

    Rows come in the order in which the engine gives them.  The law does not depend on it, since
    noise is independent; for the same order and the same bits the answer is that of memory.

    That labels are different is not checked, for it would take all of them: where a name occurs
    twice, the answer may mean either record.  A missing name is `(missing)`.
    """

    opened: Opened
    column: str
    labels: str | None

    def counts(self, problem: TwoStages) -> IntArray:
        """The number of rows in every cell; a missing number counts as the lower end."""
        of = ("ends", self.column, problem.lower, problem.upper, len(problem.points))
        cell_of = Keyed({self.column: problem.key}, itemgetter(self.column), of)
        counts = self.opened.counts({self.column: "numbers"}, cell_of, len(problem.points))
        return missing_as_lowest(counts)[:-1]

    def drawn(
        self, problem: TwoStages, counts: IntArray, entropy: Entropy
    ) -> tuple[list[Hashable], tuple[float, float]]:
        """The names of records in their order, and the interval that was released on the way."""
        self._require(int(counts.sum()) == problem.n)
        near = problem.near(counts, entropy)
        blocks = self._blocks(problem, near)
        label = problem.shares.label
        if problem.count == 1:
            one = select_streamed(
                blocks, epsilon=label, mechanism=problem.mechanism, entropy=entropy
            )
            return [one], near.interval
        return _several(blocks, Staircase(label), problem.count, entropy), near.interval

    def _blocks(self, problem: TwoStages, near: Near) -> Blocks:
        wanted: dict[str, Kind] = {self.column: "numbers"}
        if self.labels is not None:
            wanted[self.labels] = "text"
        seen = 0
        with reading(self.opened.batches(wanted)) as batches:
            for batch in batches:
                cells = np.maximum(problem.cells_in(as_numbers(batch[self.column])), 0)
                if len(cells) == 0:
                    continue
                names = (
                    range(seen, seen + len(cells)) if self.labels is None else batch[self.labels]
                )
                yield problem.label(near.inside[cells]), _named(names)
                seen += len(cells)
        self._require(seen == problem.n)

    def _require(self, unchanged: bool) -> None:
        if not unchanged:
            raise DataError(
                f"Expected {self.opened.title} to hold rows that do not change while they are "
                "read twice."
            )


def _several(blocks: Blocks, noise: Staircase, k: int, entropy: Entropy) -> list[Hashable]:
    """Those of `noisy_top` over all blocks; only contenders of all blocks so far are kept."""
    left = list[Contenders]()
    names = dict[int, Hashable]()
    start = 0
    for labels, name in blocks:
        found = contenders(labels.utility, noise.scale, noise, k, entropy, start=start)
        names |= {i: name(i - start) for i in found.ids.tolist()}
        left = [narrowed([*left, found], noise.scale, noise, k)]
        names = {i: names[i] for i in left[0].ids.tolist()}
        start += len(labels)
    return [names[i] for i in sorted(settle(left, noise.scale, noise, k, entropy))]


def _named(labels: "Chunk | range") -> Callable[[int], Hashable]:
    """The name of one record of a batch, as a copy, so that the batch may be forgotten."""
    if isinstance(labels, range):
        return labels.__getitem__
    return lambda i: as_names([labels[i : i + 1]])[0]


MANY = 1 << 62
CELLS = 100_000
"""Steps of the grid of a record's own value."""


@dataclass(frozen=True, kw_only=True)
class RecordQuestion:
    """Which record is at a percentile, or which k are nearest to it?"""

    value: str = parameter("column", "Column of the numbers.", holds="numbers")
    p: Percent = parameter(
        "exact", "Percentile from 0 to 100.", label="Percentile", short="p", usual="50"
    )
    upper: float = parameter(
        "exact", "Public upper end of the numbers.", fact=Fact("upper", of="value")
    )
    lower: float = parameter(
        "exact", "Public lower end of the numbers.", default=0.0, fact=Fact("lower", of="value")
    )
    labels: str | None = parameter(
        "column",
        "Column of public names of the records; their places if left out.",
        default=None,
        holds="names",
        fact=Fact("names"),
    )
    k: int | None = parameter(
        "count", "How many records; one if left out.", default=None, label="How many", short="k"
    )
    mechanism: str | Mechanism | None = parameter(
        "word",
        "Mechanism; the best known method if left out.",
        default=None,
        choices=SINGLE,
    )
    delta: Delta | None = parameter(
        "word",
        "Sensitivity function of dampening: the exact one, or a simple bound.",
        default=None,
        choices=("exact", "simple"),
    )
    measure: str | None = parameter(
        "word",
        "Give the value of every record that is named too, for a share of ε.",
        default=None,
        choices=("value",),
        label="Also its",
    )
    share: Epsilon | None = parameter(
        "exact", "Share of ε for the value; a quarter if left out.", default=None
    )
    name: ClassVar[str] = "percentile-record"
    title: ClassVar[str] = "Record at a percentile"
    data: ClassVar[Literal["table", "edges"]] = "table"
    shows_size: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = (
        "dampen percentile-record salaries.csv --value salary --labels employee -p 95 "
        "--upper 500000 --epsilon 2",
        "dampen percentile-record salaries.csv --value salary --labels employee -p 95 -k 5 "
        "--upper 500000 --epsilon 8",
    )

    def __post_init__(self) -> None:
        warn_of_shares([self.p])

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Opened:
        """A table; in memory the number of records and their names are at hand, and both public."""
        opened = open_table(data, header=header, table=table)
        require_numbers(opened, self.value)
        if self.labels is not None:
            require_labels(opened, self.labels)
        elif not opened.ordered:
            raise ParameterError(
                f"Expected labels=, a column of public names: the rows of {opened.title} have no "
                "places of their own, so that a position would name nobody."
            )
        if opened.rows is not None:
            self.problem(opened.rows, self._names(opened))
            check_k(self.k, opened.rows)
        return opened

    def method(
        self, source: Opened, schema: Schema, price: Price, /
    ) -> "OneDraw | InTwoStages | Measured":
        """How a record is named, and the value of every record if it is asked for."""
        del schema
        if self.measure is None:
            if self.share is not None:
                raise ParameterError("Expected measure= with share=, such as measure='value'.")
            return self._naming(source, price)
        checked_choice("measure", self.measure, ("value",))
        share = checked_share(self.share)
        naming = self._naming(source, Price(price.asked() * (1 - share)))
        return Measured(naming, partial(RecordValues, self), share, range(self.size))

    def _naming(self, source: Opened, price: Price) -> "OneDraw | InTwoStages":
        """What is asked for by name, else two stages; few records, or a δ, ask for dampening."""
        n = source.rows
        if self.mechanism is not None:
            chosen = for_one_selection(self.mechanism)
            return OneDraw(self, chosen, self.delta or "simple", None, n)
        few = label_mechanism(self.lower, self.upper, named(price.selection).noise)
        dampened = OneDraw(self, few, self.delta or "exact", NEAR, n)
        if self.delta is not None or (n is not None and not worth_it(n)):
            return dampened
        return InTwoStages(self, dampened, n, named(price.selection))

    def shown(self) -> Mapping[str, Any]:
        facts: dict[str, Any] = {"p": self.p, "lower": self.lower, "upper": self.upper}
        if self.k is not None:
            facts["k"] = self.k
        if self.measure is not None:
            facts |= {"measure": self.measure, "share": decimal_text(checked_share(self.share))}
        return facts

    def text(self) -> str:
        return f"p={self.p}, k={self.size} of {self.value}"

    def shape(self) -> Shape:
        return "name" if self.k is None else "set"

    def resolved(self, price: Price, /) -> Mapping[str, Any]:
        del price
        return {} if self.mechanism is None else {"delta": self.delta or "simple"}

    @property
    def size(self) -> int:
        """How many records are asked for."""
        return check_k(self.k, sys.maxsize)

    def problem(
        self,
        n: int,
        names: Sequence[Hashable] | None,
        delta: Delta = "exact",
        horizon: int | None = None,
    ) -> PercentileLabel:
        """The paper's problem, of n records."""
        return PercentileLabel(
            n=n,
            p=self.p,
            upper=self.upper,
            lower=self.lower,
            labels=names,
            delta=delta,
            horizon=horizon,
        )

    def answered(self, names: list[Any]) -> Any:
        """The names as they were asked for: without k, one without a list."""
        return names[0] if self.k is None else names

    def read(self, source: Opened) -> tuple[FloatArray, Sequence[Hashable] | None]:
        """The values, and the names of their records if they have any.

        Raises:
            DataError: if there are no records.
        """
        wanted: dict[str, Kind] = {self.value: "numbers"}
        if self.labels is not None:
            wanted[self.labels] = "text" if source.rows is None else "any"
        columns = whole_columns(source, wanted)
        values = joined_numbers(columns[self.value])
        if len(values) == 0:
            raise no_values()
        return values, None if self.labels is None else as_names(columns[self.labels])

    def _names(self, opened: Opened) -> Sequence[Hashable] | None:
        if self.labels is None:
            return None
        return as_labels(whole_columns(opened, {self.labels: "any"})[self.labels])


@dataclass(frozen=True)
class OneDraw:
    """A mechanism on the paper's problem: the default is local dampening, for few records.

    k records are drawn at ε/k each, or with Gumbel noise at once (`dampen.select`), and named in
    the order of the records.  Where fewer than k turn out to be there, all of them are named.

    Attributes:
        question: what is asked.
        mechanism: how it is drawn.
        delta: the sensitivity function.
        horizon: of it; see `PercentileLabel`.
        n: the number of records, where it is known.
    """

    question: RecordQuestion
    mechanism: Mechanism
    delta: Delta
    horizon: int | None
    n: int | None

    def __post_init__(self) -> None:
        self.question.problem(1, None, self.delta, self.horizon)

    def cost(self, price: Price, /) -> Cost:
        return selection_cost(
            Neighbours.REPLACE_ONE,
            price,
            query=self.question.name,
            mechanism=self.mechanism,
            k=self.question.size,
        )

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        n = self.n or rows
        if n is None:
            return UNKNOWN
        lower, upper = finite_range(self.question.lower, self.question.upper)
        k = self.question.size
        likeliest = likeliest_in_one_draw(self.mechanism, n, epsilon, k=k, width=upper - lower)
        return record_accuracy(likeliest, n, k, epsilon)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        return self.drawn(*self.question.read(source), epsilon, entropy)

    def drawn(
        self,
        values: FloatArray,
        names: Sequence[Hashable] | None,
        epsilon: Fraction,
        entropy: Entropy,
    ) -> Drawn:
        n = len(values)
        problem = self.question.problem(n, None, self.delta, self.horizon)
        picked = select(
            problem.selection(values),
            epsilon=epsilon,
            mechanism=self.mechanism,
            k=min(self.question.size, n),
            entropy=entropy,
        )
        found = [i if names is None else names[i] for i in sorted(picked)]
        return Drawn(self.question.answered(found), {"n": n}, self.accuracy(epsilon, n))


@dataclass(frozen=True)
class InTwoStages:
    """Two stages where there are many records, else one draw.

    Where the number of records is known beforehand, the ledger says which; in a file it is public
    too, but known only once it is read, and the ledger then says two stages.  Where fewer than k
    turn out to be there, all of them are named.

    Attributes:
        question: what is asked.
        few: how few records are drawn.
        n: the number of records, where it is known.
        mechanism: of the two stages, for one answer of each.
    """

    question: RecordQuestion
    few: OneDraw
    n: int | None
    mechanism: Mechanism = PF

    def cost(self, price: Price, /) -> Cost:
        cost = composed_cost(
            Neighbours.REPLACE_ONE,
            price,
            query=self.question.name,
            mechanism="two-stages",
            rho=self._rho,
        )
        if self.question.size > 1:
            Staircase(Shares.of(cost.epsilon).label)  # refuses an ε that is too small for it
        return cost

    def _rho(self, epsilon: Fraction) -> Fraction:
        """The ρ of the three draws; where n is not known yet, of the dearer of both ways."""
        stages = Shares.of(epsilon).rho(self.mechanism, self.question.size)
        one_draw = self.few.mechanism.rho(epsilon, self.question.size)
        if self.n is None:
            return max(stages, one_draw)
        return stages if worth_it(self.n) else one_draw

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        n = self.n or rows
        if n is None:
            return UNKNOWN
        if not worth_it(n):
            return self.few.accuracy(epsilon, n)
        k = self.question.size
        likeliest = likeliest_in_two_stages(n, epsilon, k, self.mechanism)
        return record_accuracy(likeliest, n, k, epsilon)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        if source.streams:
            return self._streamed(source, epsilon, entropy)
        values, names = self.question.read(source)
        if not worth_it(len(values)):
            return self.few.drawn(values, names, epsilon, entropy)
        problem = self._problem(len(values), epsilon)
        lower, upper = finite_range(problem.lower, problem.upper)
        drawn = problem.draw(clipped(values, lower, upper), entropy)
        found = drawn.labels if names is None else [names[i] for i in drawn.labels]
        return self._told(found, problem.n, drawn.interval, epsilon)

    def _streamed(self, source: Opened, epsilon: Fraction, entropy: Entropy) -> Drawn:
        """The number of cells is that of many records nearly always: one count will do."""
        rows = StreamedLabels(source, self.question.value, self.question.labels)
        of_many = self._problem(MANY, epsilon)
        counts = rows.counts(of_many)
        n = int(counts.sum())
        if not worth_it(n):
            return self.few.draw(source, epsilon, entropy)
        problem = self._problem(n, epsilon)
        if len(problem.points) != len(of_many.points):
            counts = rows.counts(problem)
        found, interval = rows.drawn(problem, counts, entropy)
        return self._told(found, n, interval, epsilon)

    def _problem(self, n: int, epsilon: Fraction) -> TwoStages:
        return TwoStages(
            n=n,
            p=self.question.p,
            upper=self.question.upper,
            lower=self.question.lower,
            shares=Shares.of(epsilon),
            count=min(self.question.size, n),
            mechanism=self.mechanism,
        )

    def _told(
        self, found: list[Any], n: int, interval: tuple[float, float], epsilon: Fraction
    ) -> Drawn:
        shown = {"n": n, "interval": list(interval)}
        return Drawn(self.question.answered(found), shown, self.accuracy(epsilon, n))


@dataclass(frozen=True)
class RecordValues:
    """The values of records that are public by now, with integer noise: for `measure=`.

    **Theorem.**  The number of records and their names are public.  Values are moved to the nearest
    point of a public grid of m steps.  A record that is replaced moves the value of one record, by
    at most m steps.  So discrete Laplace noise of scale m/ε on the values of any number of records
    is ε-DP.  ∎  No ε-DP number about one record can be much better: its law at one end of the range
    is within e^ε of that at the other end.

    Attributes:
        question: what was asked.
        names: the records; of a name that occurs twice, the first.
    """

    question: RecordQuestion
    names: Sequence[Hashable]

    def cost(self, price: Price, /) -> Cost:
        cost = composed_cost(
            Neighbours.REPLACE_ONE, price, query="measure", mechanism="discrete-laplace"
        )
        check_scale(self.scale(cost.epsilon))
        return cost

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        del rows
        tail = 1 - Fraction(str(CONFIDENCE)) ** (1 / len(self.names))
        most = likely(self.scale(epsilon), Fraction(tail))
        off = float(most * self.step)
        each = "the value is" if len(self.names) == 1 else "all values are"
        runs = f"In at least {10 * CONFIDENCE:.0f} of 10 runs"
        sentence = f"{runs} {each} off by at most {off:,.4g}."
        if most >= CELLS:
            sentence += f" That is more than the range, {float(CELLS * self.step):,.6g}."
        return Accuracy(off, "units", sentence)

    def leaks(self) -> tuple[Leak, ...]:
        return ()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        scale = self.scale(epsilon)
        lower = self._ends[0]
        cells = np.rint((self._values(source) - float(lower)) / float(self.step))
        noisy = cells.astype(np.int64) + discrete_laplace(scale, len(self.names), entropy)
        told = [float(lower + int(cell) * self.step) for cell in noisy]
        numbers = dict(zip(self.names, told, strict=True))
        least = int(lower) if lower.denominator == 1 else None
        return Drawn(numbers, numbers=numbers, law=ShiftLaw(scale, self.step, least))

    def scale(self, epsilon: Fraction) -> Fraction:
        """The scale of the noise, in steps: m/ε."""
        return CELLS / epsilon

    @property
    def step(self) -> Fraction:
        """The step of the public grid."""
        lower, upper = self._ends
        return (upper - lower) / CELLS

    @property
    def _ends(self) -> tuple[Fraction, Fraction]:
        lower, upper = finite_range(self.question.lower, self.question.upper)
        return Fraction(str(lower)), Fraction(str(upper))

    def _values(self, source: Opened) -> FloatArray:
        """Within the range; a missing one is the lower end; private."""
        values, names = self.question.read(source)
        places = list(self.names) if names is None else _places(names, self.names)
        lower, upper = finite_range(self.question.lower, self.question.upper)
        return clipped(values[np.array(places, dtype=np.int64)], lower, upper)


def _places(names: Sequence[Hashable], wanted: Sequence[Hashable]) -> list[int]:
    """Where each of the wanted names occurs first."""
    place = dict.fromkeys(wanted, 0)
    for i in range(len(names) - 1, -1, -1):
        if names[i] in place:
            place[names[i]] = i
    return [place[name] for name in wanted]


def label_mechanism(lower: float, upper: float, noise: Noise = EXPONENTIAL) -> Mechanism:
    """For few records, the default: permute-and-flip on D of the utility lowered by the range; for
    ρ Gumbel noise.

    Sound because the shift is public; `dampen-studies run labels` measures it.
    """
    low, high = finite_range(lower, upper)
    name = "ld-pf-range" if noise is EXPONENTIAL else "ld-range"
    return Mechanism(name, Dampened(shift=high - low), noise)


def percentile_record(
    data: Any,
    value: str | None = None,
    *,
    p: Percent,
    epsilon: Epsilon | None = None,
    upper: float,
    lower: float = 0.0,
    rho: Epsilon | None = None,
    labels: Any = None,
    k: int | None = None,
    mechanism: str | Mechanism | None = None,
    delta: Delta | None = None,
    measure: str | None = None,
    share: Epsilon | None = None,
    header: bool = False,
    table: str | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The record whose value is nearest to the p-th percentile, with ε-differential privacy.

    Guarantee: ε-DP under replacing one value; the number of values, the labels, the range and p are
    public.  Values outside the range are clipped, and a missing value counts as `lower`; how many
    is not shown.  In a file a name may occur twice; the answer may then mean either record.

    No private mechanism can name a record well when others are much like it (see
    `docs/lab-percentile.md`); if you want a number, ask `dampen.percentile`.

    Args:
        data: a column of numbers, a table, or the path of a file (see `dampen.data`).
        value: in a table, the name of the column of numbers.
        p: the percentile, 0 to 100.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        upper: public upper end of the values.
        lower: public lower end of the values.
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        labels: one public name per value, as a column or the name of one; None means 0..n-1.
        k: how many: those nearest to the percentile, as a list in the order of the records; None
            for one that is not in a list.  In two stages any k costs ε once.  If a file turns out
            to hold fewer than k records, all of them are named.
        mechanism: two stages by default (`dampen.questions.percentile.methods`), which
            also release an interval, shown among the parameters; for fewer than 1000 records, or
            with `delta=`, local dampening with permute-and-flip, of the utility lowered by the
            range (`label_mechanism`).  A name asks for a mechanism of the paper.
        delta: "exact" is the local sensitivity itself, "simple" a little more.  It concerns SLD,
            where "simple" costs one sort and "exact" O(n²) time.  None takes "simple" for a
            mechanism that is asked for by name.
        measure: "value": give the value of every record that is named too, for a share of ε, as
            `Release.numbers`, with `Release.interval`.  One record's value has an error of about
            the range divided by that share of ε; the value at the percentile, which
            `dampen.percentile` gives, can be had much better.
        share: of ε, for the value; a quarter by default.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database file (DuckDB, SQLite), which table.
        budget: where to charge ε; None charges nothing.
        entropy: of random bits; the operating system's by default.

    Returns:
        A `Release`: the answer and the public facts about it.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the machine cannot read the data; the charge stands.

    >>> import dampen
    >>> shops = {"sales": [12, 30, 31, 95], "shop": ["north", "east", "south", "west"]}
    >>> best = dampen.percentile_record(
    ...     shops, "sales", p=100, upper=100, labels="shop", epsilon=200
    ... )
    >>> best.answer
    'west'
    """
    opened, names = open_columns(data, value=value, labels=labels, header=header, table=table)
    question = RecordQuestion(
        value=names["value"],
        p=p,
        upper=upper,
        lower=lower,
        labels=names.get("labels"),
        k=k,
        mechanism=mechanism,
        delta=delta,
        measure=measure,
        share=share,
    )
    return answer(question, opened, epsilon=epsilon, rho=rho, budget=budget, entropy=entropy)
