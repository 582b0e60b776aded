"""The questions of `percentile` for labels: who is there, or which k are nearest to it.

As in `dampen.questions.percentile.methods`: `check` looks at public facts about the opened data;
`answer` looks at the data, and returns what the release may say of it besides.
"""

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

from dampen.core.mechanisms import Mechanism, check_k, select
from dampen.core.selection import FloatArray, Neighbours
from dampen.data.columns import as_labels, clipped, finite_range, joined_numbers
from dampen.data.source import Kind, Opened, require_labels, whole_columns
from dampen.epsilon import Epsilon
from dampen.errors import DataError, ParameterError
from dampen.questions.percentile.accuracy import label_accuracy
from dampen.questions.percentile.record import (
    KERNEL_FROM,
    Delta,
    Percent,
    PercentileLabel,
    check_labels,
    no_values,
    prepare,
)
from dampen.questions.percentile.record_streamed import StreamedLabels
from dampen.questions.percentile.record_two_stages import Shares, TwoStages, worth_it
from dampen.questions.percentile.set_noise import Staircase
from dampen.releases.answer import Paid
from dampen.releases.cost import Cost, composed_cost, selection_cost

__all__ = ["Labels", "LabelsInTwoStages"]

MANY = 1 << 62


class Labels:
    """Whose value is at the percentile?  Its public parameters, and the answer once n is known.

    k labels are drawn at ε/k each, or with Gumbel noise at once (`dampen.select`), and named in the
    order of the records.
    """

    neighbours = Neighbours.REPLACE_ONE

    def __init__(
        self,
        p: Percent,
        lower: float,
        upper: float,
        mechanism: Mechanism,
        *,
        delta: Delta,
        horizon: int | None,
        k: int | None = None,
    ) -> None:
        self.public: dict[str, Any] = {"p": p, "upper": upper, "lower": lower}
        self.dampening: dict[str, Any] = {"delta": delta, "horizon": horizon}
        self.mechanism = mechanism
        self.k = k
        self.size = check_k(k, MANY)
        self._problem(1, None)

    def check(self, opened: Opened, names: dict[str, str]) -> None:
        """In memory the number of records and their labels are at hand, and both are public."""
        if "labels" in names:
            require_labels(opened, names["labels"])
        elif not opened.ordered:
            raise ParameterError(
                f"Expected labels=, a column of public names: the rows of {opened.title} have no "
                "places of their own, so that a position would name nobody."
            )
        prepare(self.dampening["delta"], many=(opened.rows or 0) >= KERNEL_FROM)
        if opened.rows is not None:
            self._problem(opened.rows, self._labels(opened, names))
            check_k(self.k, opened.rows)

    def cost(self, _: Opened, /, *, epsilon: Epsilon | None, rho: Epsilon | None) -> Cost:
        return selection_cost(
            self.neighbours,
            query="percentile-label",
            epsilon=epsilon,
            rho=rho,
            mechanism=self.mechanism,
            k=self.size,
        )

    def accuracy(self, _n: int | None, _epsilon: Fraction, /) -> str:
        return ""

    def answer(
        self, opened: Opened, names: dict[str, str], paid: Paid
    ) -> tuple[dict[str, Any], Any]:
        return self.drawn(*self.read(opened, names), paid)

    def read(
        self, opened: Opened, names: dict[str, str]
    ) -> tuple[FloatArray, Sequence[Hashable] | None]:
        """The values, and their labels if they have any."""
        wanted: dict[str, Kind] = {names["column"]: "numbers"}
        if "labels" in names:
            wanted[names["labels"]] = "text" if opened.rows is None else "any"
        columns = whole_columns(opened, wanted)
        values = joined_numbers(columns[names["column"]])
        self.require_enough(len(values))
        return values, as_labels(columns[names["labels"]]) if "labels" in names else None

    def require_enough(self, n: int) -> None:
        """Raises a `DataError` if there are no records, or fewer than k."""
        if n == 0:
            raise no_values()
        if n < self.size:
            raise DataError("Expected k to be at most the number of records.")

    def drawn(
        self, values: FloatArray, labels: Sequence[Hashable] | None, paid: Paid
    ) -> tuple[dict[str, Any], Any]:
        problem = self._problem(len(values), labels)
        picked = select(
            problem.selection(values),
            epsilon=paid.epsilon,
            mechanism=self.mechanism,
            k=self.size,
            entropy=paid.entropy,
        )
        return {"n": problem.n}, self.named([problem.candidates[i] for i in sorted(picked)])

    def named(self, names: list[Any]) -> Any:
        """The names as they were asked for: without k, one without a list."""
        return names[0] if self.k is None else names

    def _problem(self, n: int, labels: Sequence[Hashable] | None) -> PercentileLabel:
        return PercentileLabel(n=n, labels=labels, **self.public, **self.dampening)

    @staticmethod
    def _labels(opened: Opened, names: dict[str, str]) -> Any:
        if "labels" not in names:
            return None
        return as_labels(whole_columns(opened, {names["labels"]: "any"})[names["labels"]])


class LabelsInTwoStages:
    """The default for labels: two stages where there are many, else one, by local dampening.

    Where the number of records is known beforehand, the ledger says which; in a file it is public
    too, but known only once it is read, and the ledger then says two stages.
    """

    neighbours = Neighbours.REPLACE_ONE

    def __init__(self, few: Labels) -> None:
        self.few = few

    def check(self, opened: Opened, names: dict[str, str]) -> None:
        self.few.check(opened, names)

    def cost(self, opened: Opened, /, *, epsilon: Epsilon | None, rho: Epsilon | None) -> Cost:
        if opened.rows is not None and not worth_it(opened.rows):
            return self.few.cost(opened, epsilon=epsilon, rho=rho)
        cost = composed_cost(
            self.neighbours,
            query="percentile-label",
            epsilon=epsilon,
            rho=rho,
            mechanism="two-stages",
        )
        if self.few.size > 1:
            Staircase(Shares.of(cost.epsilon).label)
        return cost

    def accuracy(self, n: int | None, epsilon: Fraction, /) -> str:
        if n is None or not worth_it(n):
            return ""
        return label_accuracy(n, epsilon, self.few.size)

    def answer(
        self, opened: Opened, names: dict[str, str], paid: Paid
    ) -> tuple[dict[str, Any], Any]:
        if opened.streams:
            return self._streamed(opened, names, paid)
        values, labels = self.few.read(opened, names)
        if not worth_it(len(values)):
            return self.few.drawn(values, labels, paid)
        problem = self._problem(len(values), paid)
        if labels is not None:
            check_labels(labels, problem.n)
        lower, upper = finite_range(problem.lower, problem.upper)
        drawn = problem.draw(clipped(values, lower, upper), paid.entropy)
        found = drawn.labels if labels is None else [labels[i] for i in drawn.labels]
        return {"n": problem.n, "interval": list(drawn.interval)}, self.few.named(found)

    def _streamed(
        self, opened: Opened, names: dict[str, str], paid: Paid
    ) -> tuple[dict[str, Any], Any]:
        """The number of cells is that of many records nearly always: one count will do."""
        rows = StreamedLabels(opened, names["column"], names.get("labels"))
        of_many = self._problem(MANY, paid)
        counts = rows.counts(of_many)
        n = int(counts.sum())
        self.few.require_enough(n)
        if not worth_it(n):
            return self.few.answer(opened, names, paid)
        problem = self._problem(n, paid)
        if len(problem.points) != len(of_many.points):
            counts = rows.counts(problem)
        found, interval = rows.drawn(problem, counts, paid.entropy)
        return {"n": n, "interval": list(interval)}, self.few.named(found)

    def _problem(self, n: int, paid: Paid) -> TwoStages:
        shares = Shares.of(paid.epsilon)
        return TwoStages(n=n, shares=shares, count=self.few.size, **self.few.public)
