"""The questions of `percentile` for values: what value is there, and in every group.

Who is there is asked by `dampen.questions.percentile.record_methods`.

Each knows its public parameters and its neighbour relation.  `check` looks at public facts about
the opened data; `answer` looks at the data, and returns what the release may say of it besides.
"""

from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from operator import itemgetter
from typing import Any, Protocol

import numpy as np

from dampen.core.mechanisms import PF, Mechanism, select
from dampen.core.selection import IntArray, Neighbours, Selection
from dampen.data.cells import Keyed
from dampen.data.grouping import Grouping
from dampen.data.source import Opened
from dampen.epsilon import Epsilon
from dampen.errors import ParameterError
from dampen.questions.percentile import joint_tight
from dampen.questions.percentile.accuracy import joint_accuracy, value_accuracy
from dampen.questions.percentile.halving import Ranks
from dampen.questions.percentile.joint_tight import Way
from dampen.questions.percentile.record import Percent, as_fraction, no_values
from dampen.questions.percentile.values import (
    FINEST,
    PercentileValue,
    PercentileValueOfRows,
    ValueGrid,
)
from dampen.releases.answer import Paid
from dampen.releases.cost import Cost, composed_cost, selection_cost

__all__ = ["GroupedValues", "Question", "Values"]


class Question(Protocol):
    """One kind of question about a percentile."""

    @property
    def neighbours(self) -> Neighbours: ...

    def check(self, opened: Opened, names: dict[str, str], /) -> None: ...

    def cost(self, opened: Opened, /, *, epsilon: Epsilon | None, rho: Epsilon | None) -> Cost: ...

    def accuracy(self, n: int | None, epsilon: Fraction, /) -> str:
        """What the answer will be worth, for n records if that is public; empty if unknown."""
        ...

    def answer(
        self, opened: Opened, names: dict[str, str], paid: Paid, /
    ) -> tuple[dict[str, Any], Any]: ...


class Values:
    """What is the value at each percentile?"""

    def __init__(
        self,
        points: Sequence[Percent],
        lower: float,
        upper: float,
        step: float,
        *,
        many: bool,
        neighbours: Neighbours,
        mechanism: Mechanism | None,
    ) -> None:
        self.points = points
        self.many = many
        self.neighbours = neighbours
        self.mechanism = mechanism or PF
        self.grid = ValueGrid(lower, upper, step)
        self.public: dict[str, Any] = {"upper": upper, "lower": lower, "step": step}
        self.together = None if mechanism else self._together()
        for _ in self._selections(np.zeros(1, np.int64), np.zeros(1, np.int64), 1):
            pass

    def check(self, opened: Opened, _: dict[str, str]) -> None:
        if opened.rows == 0 and self._size_is_public:
            raise ParameterError("Expected at least one value, got an empty column.")
        self.prepare()

    def prepare(self) -> None:
        joint_tight.prepare(self.together)

    def cost(self, _: Opened, /, *, epsilon: Epsilon | None, rho: Epsilon | None) -> Cost:
        query = "percentile-value"
        if self.together is not None:
            return composed_cost(
                self.neighbours,
                query=query,
                epsilon=epsilon,
                rho=rho,
                mechanism=self.together.name,
                shares=self.together.zcdp_shares,
            )
        return selection_cost(
            self.neighbours,
            query=query,
            epsilon=epsilon,
            rho=rho,
            mechanism=self.mechanism,
            k=len(self.points),
        )

    def accuracy(self, _n: int | None, epsilon: Fraction, /) -> str:
        if self.together is not None:
            return joint_accuracy(self.together, points=len(self.grid.points), epsilon=epsilon)
        none = np.zeros(1, np.int64)
        units = [
            1 if self._size_is_public else (as_fraction(p) / 100).denominator for p in self.points
        ]
        kinds = list(zip(self._selections(none, none, 1), units, strict=True))
        points = len(self.grid.points)
        return value_accuracy(kinds, self.mechanism, points=points, epsilon=epsilon)

    def answer(
        self, opened: Opened, names: dict[str, str], paid: Paid
    ) -> tuple[dict[str, Any], Any]:
        counts = self._counts(opened, names["column"])
        n = int(counts.sum())
        if n == 0 and self._size_is_public:
            raise no_values()
        shown = {"n": n} if self._size_is_public else {}
        return shown, self.drawn(counts, paid)

    def _counts(self, opened: Opened, column: str) -> IntArray:
        cell_of = Keyed({column: self.grid.key}, itemgetter(column))
        return opened.counts({column: "numbers"}, cell_of, self.grid.size)

    def drawn(self, counts: IntArray, paid: Paid) -> Any:
        """One value per point, in the order of p, none above that of a larger p.

        Together, or at an equal and exact share of ε each: ε-DP in total, by sequential
        composition, and sorting the answers is post-processing.
        """
        ranks = Ranks(*self.grid.ranks(counts))
        if self.together is not None:
            drawn = self.together.draw(ranks, paid.epsilon, paid.entropy)
            at = dict(zip(self.together.shares, drawn, strict=True))
            picked = [at[as_fraction(p) / 100] for p in self.points]
        else:
            picked = self._split(ranks, int(counts.sum()), paid)
        answers = [self.grid.candidates[i] for i in picked]
        return answers if self.many else answers[0]

    def _split(self, ranks: Ranks, n: int, paid: Paid) -> list[int]:
        share = paid.epsilon / len(self.points)
        picked = [
            select(one, epsilon=share, mechanism=self.mechanism, entropy=paid.entropy)
            for one in self._selections(ranks.less, ranks.at_most, n)
        ]
        in_order = sorted(range(len(picked)), key=lambda i: as_fraction(self.points[i]))
        answers = [0] * len(picked)
        for i, drawn in zip(in_order, sorted(picked), strict=True):
            answers[i] = drawn
        return answers

    def _together(self) -> Way | None:
        """How several are drawn at once: a public rule.

        Percentiles have up to four decimals there.
        """
        shares = tuple(sorted({as_fraction(p) / 100 for p in self.points}))
        if len(shares) == 1 or max(q.denominator for q in shares) > FINEST:
            return None
        return joint_tight.together(shares, self.neighbours, len(self.grid.points))

    @property
    def _size_is_public(self) -> bool:
        return self.neighbours is Neighbours.REPLACE_ONE

    def _selections(self, less: IntArray, at_most: IntArray, n: int) -> Iterator[Selection]:
        """One per point.  Of no values at all every candidate is as good."""
        for p in self.points:
            if self._size_is_public and n > 0:
                yield PercentileValue(n=n, p=p, **self.public).selection_of_ranks(less, at_most)
            else:
                problem = PercentileValueOfRows(p=p, **self.public)
                yield problem.selection_of_ranks(less, at_most, n)


class GroupedValues:
    """What is the value at each percentile, in every group?

    One ε for all groups, by parallel composition: see `dampen.data.grouping`.
    """

    def __init__(self, values: Values, groups: Sequence[Hashable]) -> None:
        self.values, self.grouping = values, Grouping(groups)
        self.grouping.check_size(values.grid.size)

    @property
    def neighbours(self) -> Neighbours:
        return self.values.neighbours

    def check(self, opened: Opened, names: dict[str, str]) -> None:
        self.grouping.check_column(opened, names["by"], names["column"])
        self.values.prepare()

    def cost(self, opened: Opened, /, *, epsilon: Epsilon | None, rho: Epsilon | None) -> Cost:
        return self.values.cost(opened, epsilon=epsilon, rho=rho)

    def accuracy(self, n: int | None, epsilon: Fraction, /) -> str:
        return self.values.accuracy(n, epsilon)

    def answer(
        self, opened: Opened, names: dict[str, str], paid: Paid
    ) -> tuple[dict[str, Any], Any]:
        """A value, or a list of them, for every group, those without rows included."""
        counts = self._counts(opened, names["column"], names["by"])
        answers: dict[Hashable, Any] = {}
        for group, line in zip(self.grouping.groups, counts, strict=True):
            answers[group] = self.values.drawn(line, paid)
        return {"groups": len(answers)}, answers

    def _counts(self, opened: Opened, column: str, by: str) -> IntArray:
        grid = self.values.grid
        cell_of = Keyed({column: grid.key}, itemgetter(column))
        return self.grouping.counts(opened, by, {column: "numbers"}, cell_of, grid.size)
