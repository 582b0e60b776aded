"""`percentile`: which record is at the percentile, or what its value is, privately."""

from collections.abc import Sequence
from typing import Any, Literal, cast

from dampen.data.columns import as_labels, finite_range, joined_numbers
from dampen.data.open import open_columns
from dampen.data.opened import Kind, Opened, require_labels, require_numbers, whole_columns
from dampen.epsilon import Epsilon
from dampen.errors import DataError, ParameterError, did_you_mean
from dampen.mechanisms import Mechanism, named, select
from dampen.percentiles.labels import NEAR, Delta, Percent, PercentileLabel, as_fraction
from dampen.percentiles.values import PercentileValue
from dampen.releases import Budget, Paid, Release, pay, selection_cost
from dampen.sampling import Entropy, Noise
from dampen.scores import Dampened
from dampen.selection import Neighbours

__all__ = ["label_mechanism", "percentile"]

Wanted = Literal["label", "value"]
WANTED = ("label", "value")


def percentile(
    data: Any,
    column: str | None = None,
    *,
    p: Percent | Sequence[Percent],
    epsilon: Epsilon,
    upper: float,
    lower: float = 0.0,
    labels: Any = None,
    release: Wanted = "label",
    step: float | None = None,
    mechanism: str | Mechanism | None = None,
    delta: Delta | None = None,
    header: bool = False,
    table: str | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The p-th percentile with ε-differential privacy: the label of its record, or its value.

    Guarantee: ε-DP under replacing one value.  The number of values, the labels, the range, the
    step and p are public.  Values outside the range are clipped, and how many is not shown.

    Args:
        data: a column of numbers, a table, or the path of a file (see `dampen.data`).
        column: in a table, the name of the column of numbers.
        p: the percentile, 0 to 100; for values also a list, each at an equal share of ε, with
            answers that never decrease in p.
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        upper: public upper end of the values.
        lower: public lower end of the values.
        labels: one public name per value, as a column or the name of one; None means 0..n-1.
        release: "label" names the record whose value is nearest to the percentile; "value" gives a
            point of the public grid.  No private mechanism can name a record well when others are
            much like it (see `docs/percentile.md`); if you want a number, take the value.
        step: distance of the grid's points, for values.
        mechanism: for values "pf" by default; for labels local dampening with permute-and-flip, of
            the utility lowered by the range (`label_mechanism`).
        delta: for labels, "exact" is the local sensitivity itself, "simple" a little more.  It
            concerns SLD, where "simple" costs one sort and "exact" O(n²) time.  None takes "exact"
            for the default mechanism, "simple" for others.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database file (DuckDB, SQLite), which table.
        budget: where to charge ε; None charges nothing.
        entropy: of random bits; the operating system's by default.

    >>> import dampen
    >>> hours = [35, 38, 40, 40, 40, 41, 45, 50, 60, 38] * 30
    >>> dampen.percentile(hours, p=50, epsilon="2", upper=100, release="value", step=5).answer
    40
    """
    _check_wanted(release)
    points = _check_points(p, release, step, labels)
    chosen = named(mechanism or ("pf" if release == "value" else label_mechanism(lower, upper)))
    public: dict[str, Any] = {"p": p, "lower": lower, "upper": upper, "release": release}
    question: _Labels | _Values
    if release == "label":
        given = delta or ("simple" if mechanism else "exact")
        question = _Labels(points[0], lower, upper, given, None if mechanism else NEAR)
    else:
        question = _Values(points, lower, upper, cast("float", step), many=not _is_one(p))
        public["step"] = step
    opened, names = open_columns(data, column=column, labels=labels, header=header, table=table)
    require_numbers(opened, names["column"])
    question.check(opened, names)
    cost = selection_cost(
        Neighbours.REPLACE_ONE,
        query=f"percentile-{release}",
        epsilon=epsilon,
        mechanism=chosen,
    )
    paid = pay(cost, budget=budget, entropy=entropy)
    with paid.looking():
        n, answer = question.answer(opened, names, paid, chosen)
    return paid.release(answer, {"n": n} | public)


def label_mechanism(lower: float, upper: float) -> Mechanism:
    """The default for labels: permute-and-flip on D of the utility lowered by the range.

    Sound because the shift is public; `dampen-studies run percentile-default` measures it.
    """
    low, high = finite_range(lower, upper)
    return Mechanism("ld-pf-range", Dampened(shift=high - low), Noise.EXPONENTIAL)


class _Labels:
    """Whose value is at the percentile?  Its public parameters, and the answer once n is known."""

    def __init__(
        self, p: Percent, lower: float, upper: float, delta: Delta, horizon: int | None
    ) -> None:
        self.public: dict[str, Any] = {
            "p": p, "upper": upper, "lower": lower, "delta": delta, "horizon": horizon
        }  # fmt: skip
        PercentileLabel(n=1, **self.public)

    def check(self, opened: Opened, names: dict[str, str]) -> None:
        """In memory the number of records and their labels are at hand, and both are public."""
        if "labels" in names:
            require_labels(opened, names["labels"])
        if opened.rows is not None:
            PercentileLabel(n=opened.rows, labels=self._labels(opened, names), **self.public)

    def answer(
        self, opened: Opened, names: dict[str, str], paid: Paid, mechanism: Mechanism
    ) -> tuple[int, Any]:
        wanted: dict[str, Kind] = {names["column"]: "numbers"}
        if "labels" in names:
            wanted[names["labels"]] = "text" if opened.rows is None else "any"
        columns = whole_columns(opened, wanted)
        values = joined_numbers(columns[names["column"]])
        if len(values) == 0:
            raise _empty()
        labels = as_labels(columns[names["labels"]]) if "labels" in names else None
        problem = PercentileLabel(n=len(values), labels=labels, **self.public)
        drawn = paid.draw(problem.selection(values), problem.candidates, mechanism)
        return problem.n, drawn

    @staticmethod
    def _labels(opened: Opened, names: dict[str, str]) -> Any:
        if "labels" not in names:
            return None
        return as_labels(whole_columns(opened, {names["labels"]: "any"})[names["labels"]])


class _Values:
    """What is the value at each percentile?"""

    def __init__(
        self, points: Sequence[Percent], lower: float, upper: float, step: float, *, many: bool
    ) -> None:
        self.points, self.many = points, many
        self.public: dict[str, Any] = {"upper": upper, "lower": lower, "step": step}
        for point in points:
            PercentileValue(n=1, p=point, **self.public)

    def check(self, opened: Opened, _: dict[str, str]) -> None:
        if opened.rows == 0:
            raise ParameterError("Expected at least one value, got an empty column.")

    def answer(
        self, opened: Opened, names: dict[str, str], paid: Paid, mechanism: Mechanism
    ) -> tuple[int, Any]:
        """One value per point, at an equal and exact share of ε each, in the order of p.

        Sorting the answers is post-processing.  ε-DP in total, by sequential composition.
        """
        counts = PercentileValue(n=1, p=50, **self.public).opened_counts(opened, names["column"])
        n = int(counts.sum())
        if n == 0:
            raise _empty()
        problems = [PercentileValue(n=n, p=p, **self.public) for p in self.points]
        share = paid.epsilon / len(problems)
        picked = [
            select(
                q.selection_of_counts(counts),
                epsilon=share,
                mechanism=mechanism,
                entropy=paid.entropy,
            )
            for q in problems
        ]
        in_order = sorted(range(len(problems)), key=lambda i: as_fraction(self.points[i]))
        answers: list[Any] = [None] * len(problems)
        for i, drawn in zip(in_order, sorted(cast("list[int]", picked)), strict=True):
            answers[i] = problems[0].candidates[drawn]
        return n, answers if self.many else answers[0]


def _empty() -> DataError:
    return DataError("Expected at least one value, got an empty column.")


def _check_wanted(release: str) -> None:
    if release not in WANTED:
        hint = did_you_mean(str(release), WANTED)
        raise ParameterError(f"Expected release='label' or release='value', got {release!r}.{hint}")


def _check_points(
    p: Percent | Sequence[Percent], release: str, step: float | None, labels: Any
) -> Sequence[Percent]:
    """The percentiles asked for."""
    if release == "label":
        if step is not None or not _is_one(p):
            raise ParameterError(
                "Expected one p and no step= for a label. Pass release='value' for numbers."
            )
        return [cast("Percent", p)]
    if step is None:
        raise ParameterError(
            "Expected step=, the public distance of the grid's points, for release='value'."
        )
    if labels is not None:
        raise ParameterError("Expected no labels= for release='value': the answer is a number.")
    points = [cast("Percent", p)] if _is_one(p) else list(cast("Sequence[Percent]", p))
    if not points:
        raise ParameterError("Expected at least one percentile p, got none.")
    return points


def _is_one(p: Percent | Sequence[Percent]) -> bool:
    return isinstance(p, str) or not hasattr(p, "__len__")
