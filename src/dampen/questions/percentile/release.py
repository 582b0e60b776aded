"""`percentile`: which record is at the percentile, or what its value is, privately."""

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, cast

from dampen.core.mechanisms import Mechanism, named
from dampen.core.noise import EXPONENTIAL
from dampen.core.sampling import Entropy
from dampen.core.scores import Dampened
from dampen.core.selection import Neighbours
from dampen.data.columns import finite_range
from dampen.data.open import open_columns
from dampen.data.source import require_numbers
from dampen.epsilon import Epsilon
from dampen.errors import AccuracyWarning, ParameterError, did_you_mean
from dampen.questions.percentile.accuracy import label_accuracy, nearly_chance
from dampen.questions.percentile.methods import GroupedValues, Question, Values
from dampen.questions.percentile.record import NEAR, Delta, Percent
from dampen.questions.percentile.record_methods import Labels, LabelsInTwoStages
from dampen.releases.answer import pay
from dampen.releases.cost import Budget
from dampen.releases.release import Release

__all__ = ["label_mechanism", "percentile"]

Wanted = Literal["label", "value"]
WANTED = ("label", "value")
LISTS = {"quartiles": range(25, 100, 25), "deciles": range(10, 100, 10)}


def percentile(
    data: Any,
    column: str | None = None,
    *,
    p: Percent | Sequence[Percent],
    epsilon: Epsilon | None = None,
    upper: float,
    lower: float = 0.0,
    rho: Epsilon | None = None,
    labels: Any = None,
    release: Wanted = "label",
    k: int | None = None,
    step: float | None = None,
    mechanism: str | Mechanism | None = None,
    delta: Delta | None = None,
    by: Any = None,
    groups: Sequence[Hashable] | None = None,
    neighbours: Neighbours | str | None = None,
    header: bool = False,
    table: str | None = None,
    budget: Budget | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """The p-th percentile with ε-differential privacy: the label of its record, or its value.

    Guarantee: ε-DP under replacing one value; the number of values, the labels, the range, the step
    and p are public.  For values also under adding or removing one row, where the number of rows is
    private.  Values outside the range are clipped, and how many is not shown.

    With `by=` and `groups=` the answer is a dict with the value of every group, for one ε: under
    adding or removing one row, the default then; or under replacing one value, where everyone's
    group, and so the number of rows of every group, is public and fixed.  (Where a replacement may
    change the group too, the release under add/remove-row costs 2ε.)  Rows of groups that are not
    listed are dropped, and groups without rows have an answer like any other.

    Args:
        data: a column of numbers, a table, or the path of a file (see `dampen.data`).
        column: in a table, the name of the column of numbers.
        p: the percentile, 0 to 100; for values also "quartiles", "deciles" or a list in any order.
            The answer is then a list in that order, never decreasing in p, for one ε: they are
            drawn together (`dampen.questions.percentile.joint_cuts`), on grids above 2^17 points by
            halving (`dampen.questions.percentile.halving`).
        epsilon: the privacy parameter, exact: pass "0.1" or Fraction(1, 10).
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        upper: public upper end of the values.
        lower: public lower end of the values.
        labels: one public name per value, as a column or the name of one; None means 0..n-1.
        release: "label" names the record whose value is nearest to the percentile; "value" gives a
            point of the public grid.  No private mechanism can name a record well when others are
            much like it (see `docs/percentile.md`); if you want a number, take the value.
        k: for labels, how many: those nearest to the percentile, as a list in the order of the
            records; None for one that is not in a list.  In two stages any k costs ε once.
        step: distance of the grid's points, for values.
        mechanism: for values "pf" by default; a name given with a list of p asks for equal shares
            of ε; for labels two stages (`dampen.questions.percentile
            .two_stages`), which also release an interval, shown among the parameters; for fewer
            than 1000 records, or with `delta=`, local dampening with permute-and-flip, of the
            utility lowered by the range (`label_mechanism`).
        delta: for labels, "exact" is the local sensitivity itself, "simple" a little more.  It
            concerns SLD, where "simple" costs one sort and "exact" O(n²) time.  None takes
            "simple" for a mechanism that is asked for by name.
        by: for values, the column of groups, or its name.
        groups: the public list of groups.
        neighbours: for values, "replace-one" or "add-remove-row", what ε speaks of; see above.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database file (DuckDB, SQLite), which table.
        budget: where to charge ε; None charges nothing.
        entropy: of random bits; the operating system's by default.

    Returns:
        A `Release`: the answer and the public facts about it.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.
        BudgetError: if the budget refuses; nothing was charged.
        DataError: if the data is not as promised; the charge stands.

    >>> import dampen
    >>> hours = [35, 38, 40, 40, 40, 41, 45, 50, 60, 38] * 30
    >>> dampen.percentile(hours, p=50, epsilon="2", upper=100, release="value", step=5).answer
    40
    """
    _check_wanted(release)
    points = _check_points(p, release, step, labels, k)
    _check_grouping(release, by, groups, neighbours)
    public: dict[str, Any] = {"p": p, "lower": lower, "upper": upper, "release": release}
    question: Question
    if release == "label":
        public |= {} if k is None else {"k": k}
        question = _label_question(points[0], lower, upper, mechanism, delta=delta, k=k)
    else:
        public["step"] = step
        question = Values(
            points,
            lower,
            upper,
            cast("float", step),
            many=not _is_one(p),
            neighbours=_relation(neighbours, grouped=by is not None),
            mechanism=None if mechanism is None else _for_one_selection(mechanism),
        )
        if groups is not None:
            question = GroupedValues(question, groups)
    opened, names = open_columns(
        data, column=column, labels=labels, by=by, header=header, table=table
    )
    require_numbers(opened, names["column"])
    question.check(opened, names)
    cost = question.cost(opened, epsilon=epsilon, rho=rho)
    cost = replace(cost, accuracy=question.accuracy(opened.rows, cost.epsilon))
    if release == "label" and cost.mechanism == "two-stages" and opened.rows is not None:
        _warn_of_chance(opened.rows, cost.epsilon, k or 1)
    paid = pay(cost, budget=budget, entropy=entropy)
    with paid.looking():
        facts, answer = question.answer(opened, names, paid)
    told = cost.accuracy or question.accuracy(facts.get("n"), cost.epsilon)
    return paid.release(answer, facts | public, told)


def _warn_of_chance(n: int, epsilon: Fraction, k: int) -> None:
    """Before the charge, where n is known: labels that are nearly uniform say nothing."""
    if nearly_chance(n, epsilon, k):
        warnings.warn(
            f"{label_accuracy(n, epsilon, k)} That is nearly chance: ask for release='value', or "
            "raise epsilon.",
            AccuracyWarning,
            stacklevel=3,
        )


def _label_question(
    p: Percent,
    lower: float,
    upper: float,
    mechanism: str | Mechanism | None,
    *,
    delta: Delta | None,
    k: int | None,
) -> Question:
    """What was asked for by name, else two stages; a sensitivity asks for dampening."""
    if mechanism is not None:
        chosen = _for_one_selection(mechanism)
        return Labels(p, lower, upper, chosen, delta=delta or "simple", horizon=None, k=k)
    dampened = Labels(
        p, lower, upper, label_mechanism(lower, upper), delta=delta or "exact", horizon=NEAR, k=k
    )
    return dampened if delta is not None else LabelsInTwoStages(dampened)


def _for_one_selection(mechanism: str | Mechanism) -> Mechanism:
    chosen = named(mechanism)
    if chosen.noise.joint:
        raise ParameterError(
            f"Expected a mechanism for one selection, got {chosen.name!r}: a joint release is for "
            "counts and nodes."
        )
    return chosen


def label_mechanism(lower: float, upper: float) -> Mechanism:
    """For few labels, the default: permute-and-flip on D of the utility lowered by the range.

    Sound because the shift is public; `dampen-studies run labels` measures it.
    """
    low, high = finite_range(lower, upper)
    return Mechanism("ld-pf-range", Dampened(shift=high - low), EXPONENTIAL)


def _check_wanted(release: str) -> None:
    if release not in WANTED:
        hint = did_you_mean(str(release), WANTED)
        raise ParameterError(f"Expected release='label' or release='value', got {release!r}.{hint}")


def _check_grouping(release: str, by: Any, groups: Any, neighbours: Any) -> None:
    if release == "label" and not (by is groups is neighbours is None):
        raise ParameterError(
            "Expected no by=, groups= or neighbours= for a label. Pass release='value' for numbers."
        )
    if (by is None) != (groups is None):
        raise ParameterError(
            "Expected both by=, the column of groups, and groups=, the public list of them."
        )


def _relation(neighbours: Neighbours | str | None, *, grouped: bool) -> Neighbours:
    """What ε speaks of: groups are private unless said otherwise, the number of values public."""
    known = {str(near): near for near in (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ROW)}
    if neighbours is None:
        return Neighbours.ADD_REMOVE_ROW if grouped else Neighbours.REPLACE_ONE
    if str(neighbours) not in known:
        raise ParameterError(
            f"Expected neighbours to be one of {', '.join(known)}, got {str(neighbours)!r}."
            f"{did_you_mean(str(neighbours), known)}"
        )
    return known[str(neighbours)]


def _check_points(
    p: Percent | Sequence[Percent], release: str, step: float | None, labels: Any, k: int | None
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
    if labels is not None or k is not None:
        raise ParameterError(
            "Expected no labels= and no k= for release='value': the answer is a number."
        )
    if isinstance(p, str) and p in LISTS:
        return list(LISTS[p])
    points = [cast("Percent", p)] if _is_one(p) else list(cast("Sequence[Percent]", p))
    if not points:
        raise ParameterError("Expected at least one percentile p, got none.")
    return points


def _is_one(p: Percent | Sequence[Percent]) -> bool:
    return p not in LISTS if isinstance(p, str) else not hasattr(p, "__len__")
