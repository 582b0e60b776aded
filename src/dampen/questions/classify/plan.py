"""What is decided before the data is looked at: depth, mechanism, and every share of ε.

Privacy of a whole tree, add/remove one row.  It is grown in stages: one level of splits each, then
the classes of the leaves; or in the end several levels together with the classes, by one release
(`dampen.questions.classify.joint_subtrees`).  The nodes of one stage hold disjoint sets of rows,
and which rows a node holds was decided by earlier releases; so a row takes part in one node per
stage, and one stage costs what its dearest node costs (parallel composition).  Stages add up
(sequential composition). All shares are exact fractions of ε and add up to 1, hence a fit is ε-DP.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

from dampen.core.mechanisms import MECHANISMS, Mechanism
from dampen.epsilon import Epsilon, decimal_text, exact
from dampen.errors import ParameterError, did_you_mean
from dampen.questions.classify.splits import (
    CRITERIA,
    Criterion,
    check_integer,
    split_bound,
)

TreeCriterion: TypeAlias = Literal[
    "information-gain", "max", "gini", "tsallis", "gini-max", "tsallis-max"
]
Branching: TypeAlias = Literal["binary", "multiway"]
Leaves: TypeAlias = Literal["pf", "noisy-counts"]

SULQ: Literal["sulq"] = "sulq"
MOST_NODES = 2**20
DEEPEST = 16
HIGHEST = 6
"""Levels that one release can decide."""


@dataclass(frozen=True)
class Spending:
    """One line of the budget: what a stage, mostly a level, spends on one kind of query."""

    level: int
    purpose: Literal["count", "split", "tree", "leaf"]
    epsilon: Fraction


@dataclass(frozen=True)
class Plan:
    """The public decisions of one fit; see `TreeClassifier` for what they mean."""

    epsilon: Fraction
    max_rows: int
    stages: tuple[int, ...]
    shares: tuple[Fraction, ...]
    mechanism: Mechanism | Literal["sulq"]
    criterion: TreeCriterion
    branching: Branching
    stopping: bool
    leaves: Leaves
    one_sided: bool
    candidates: int
    classes: int
    widths: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.staged:  # refused before anything is paid, or not at all
            _ = self.joint_epsilon

    @property
    def depth(self) -> int:
        """The most levels of splits that there can be."""
        return sum(self.stages)

    @property
    def staged(self) -> bool:
        """Whether the last stage decides several levels and the classes of the leaves at once."""
        return is_staged(self.stages)

    @property
    def size(self) -> str:
        """The depth in words."""
        if not self.staged:
            return f"depth {self.depth}"
        *single, several = self.stages
        first = f"{len(single)} levels, then " if single else ""
        return f"{first}up to {several} levels at once with the classes"

    @property
    def stage_name(self) -> str:
        return "stage" if self.staged else "level"

    def __str__(self) -> str:
        """The plan as text: depth, shares, and what the noise amounts to, in rows."""
        return "\n".join(_plan_lines(self))

    def criterion_at(self, level: int) -> Criterion:
        """`tsallis-max` is `tsallis`, but `max` where only leaves follow; so is `gini-max`."""
        if self.criterion in CRITERIA:
            return self.criterion  # type: ignore[return-value]
        above: Criterion = "gini" if self.criterion == "gini-max" else "tsallis"
        return "max" if level == self.depth - 1 else above

    def count_epsilon(self, level: int) -> Fraction:
        """For the noisy count of a node, where there is one: half of the level's share."""
        return self.epsilon * self.shares[level] / 2 if self.stopping else Fraction(0)

    def query_epsilon(self, level: int) -> Fraction:
        """For a split, or in the paper's template for a leaf."""
        return self.epsilon * self.shares[level] - self.count_epsilon(level)

    def leaf_epsilon(self, level: int) -> Fraction:
        """A leaf: one query in the paper's template, else all that its path has not spent."""
        if self.stopping:
            return self.query_epsilon(level)
        return self.epsilon * sum(self.shares[level:], Fraction(0))

    @property
    def label_epsilon(self) -> Fraction:
        """For the class of a leaf that all stages led to."""
        return self.epsilon * self.shares[-1]

    @property
    def joint_epsilon(self) -> float:
        """e of the release of several levels and classes: its share, less what rounding may cost.

        Raises:
            ParameterError: if rounding costs too much of it.
        """
        size = self.candidates + self.classes
        found = rounded_epsilon(self.label_epsilon, self.max_rows, self.stages[-1], size)
        if found is None:
            raise ParameterError(
                "Expected epsilon of at least about 1e-6, and max_rows below some billions, for "
                "stages of several levels. Pass max_depth= instead."
            )
        return found

    def charges(self) -> list[Spending]:
        """All lines of the budget; they add up to ε exactly."""
        lines: list[Spending] = []
        for level in range(len(self.shares)):
            if self.stopping:
                lines.append(Spending(level, "count", self.count_epsilon(level)))
            lines.append(Spending(level, self._purpose(level), self.query_epsilon(level)))
        return lines

    def _purpose(self, level: int) -> Literal["split", "tree", "leaf"]:
        if level < len(self.shares) - 1:
            return "split"
        return "tree" if self.staged else "leaf"


def _plan_lines(plan: Plan) -> Iterator[str]:
    yield (
        f"A {plan.branching} tree of {plan.size} for epsilon {decimal_text(plan.epsilon)}: "
        f"at most {plan.max_rows} rows, {plan.candidates} candidate splits, {plan.classes} classes"
    )
    rows = float(plan.max_rows)
    for charge in plan.charges():
        share = decimal_text(charge.epsilon / plan.epsilon)
        noise = f"{_rows_of_noise(plan, charge):,.0f}"
        yield (
            f"  {plan.stage_name} {charge.level:>2}  {charge.purpose:<5}  {share:>7} of epsilon: "
            f"noise about {noise} rows, nodes of up to {rows:,.0f} on average"
        )
        if charge.purpose in {"split", "tree"} and plan.branching == "binary":
            rows = rows / 2 ** plan.stages[charge.level]


def _rows_of_noise(plan: Plan, charge: Spending) -> float:
    """The largest of all candidates' noise, in units of the utility: about Δ ln(candidates) / ε."""
    epsilon = float(charge.epsilon)
    match charge.purpose:
        case "count":
            return 1 / epsilon
        case "leaf":
            return math.log(1 + plan.classes) / epsilon
        case "tree":
            return math.log(1 + max(plan.candidates, plan.classes)) / epsilon
        case "split":
            bound = split_bound(plan.criterion_at(charge.level), plan.max_rows)
            return bound * math.log(1 + plan.candidates) / epsilon


def checked_mechanism(mechanism: str | Mechanism) -> Mechanism | Literal["sulq"]:
    """A mechanism by name; `joint` releases many scores and does not fit a split."""
    if isinstance(mechanism, Mechanism):
        return mechanism
    known = {m.name: m for m in MECHANISMS if m.name != "joint"}
    if mechanism == SULQ:
        return SULQ
    if mechanism in known:
        return known[mechanism]
    names = [*known, SULQ]
    hint = did_you_mean(str(mechanism), names)
    raise ParameterError(
        f"Expected mechanism to be one of {', '.join(names)}, got {mechanism!r}.{hint}"
    )


def checked_criterion(
    criterion: str | None, mechanism: Mechanism | Literal["sulq"], *, staged: bool = False
) -> TreeCriterion:
    """The criterion; by default `tsallis-max`, information gain where δ matters or counts do.

    Where several levels at once follow, none is the last: `tsallis`.
    """
    if criterion is None and staged:
        return "tsallis"
    if criterion is None:
        return "tsallis-max" if _is_plain(mechanism) else "information-gain"
    _one_of("criterion", criterion, get_args(TreeCriterion))
    if mechanism == SULQ and criterion != "information-gain":
        raise ParameterError("Expected criterion='information-gain' with mechanism='sulq'.")
    return criterion  # type: ignore[return-value]


def _is_plain(mechanism: Mechanism | Literal["sulq"]) -> bool:
    """Whether it uses global sensitivities alone."""
    return isinstance(mechanism, Mechanism) and mechanism.name in {"em", "pf"}


def checked_choice(name: str, value: str, options: Any) -> Any:
    """One of the words of a `Literal`."""
    _one_of(name, value, get_args(options))
    return value


def checked_depth(max_depth: int | None) -> None:
    """None, or an integer from 0 on."""
    if max_depth is None:
        return
    check_integer("max_depth", max_depth, 0)
    if max_depth > DEEPEST:
        raise ParameterError(f"Expected max_depth <= {DEEPEST}, got max_depth={max_depth}.")


def checked_stages(
    stages: Sequence[int] | None, mechanism: Mechanism | Literal["sulq"], branching: Branching
) -> None:
    """None, or levels of each stage, 1 but for the last; several suit two branches and pf or em."""
    if stages is None:
        return
    if not isinstance(stages, list | tuple) or not stages:
        raise ParameterError("Expected stages to be a list of numbers of levels, as (1, 1, 4).")
    for levels in stages:
        check_integer("every stage", levels, 1)
    if max(stages) > HIGHEST or max([1, *stages[:-1]]) > 1:
        raise ParameterError(
            f"Expected stages of one level, and a last one of at most {HIGHEST}; got {stages!r}."
        )
    checked_depth(sum(stages))
    if is_staged(stages) and not (branching == "binary" and _is_plain(mechanism)):
        raise ParameterError(
            "Expected branching='binary' and mechanism 'pf' or 'em' for stages of several levels."
        )


def is_staged(stages: Sequence[int]) -> bool:
    """Whether the last stage decides several levels, and then the classes too."""
    return len(stages) > 0 and stages[-1] > 1


def checked_shares(
    shares: Sequence[Epsilon] | None, stages: Sequence[int], *, stopping: bool
) -> tuple[Fraction, ...]:
    """One share of ε per stage, the leaves' last; exact, positive, adding up to 1."""
    if shares is None:
        return _equal_shares(len(stages)) if stopping else _split_shares(stages)
    given = tuple(exact(s, "every share") for s in shares)
    needed = len(stages) + (0 if is_staged(stages) else 1)
    if len(given) != needed:
        raise ParameterError(
            f"Expected {needed} shares, one per stage of splits and one for the leaves unless the "
            f"last stage includes them, got {len(given)}."
        )
    if sum(given) != 1:
        total = decimal_text(sum(given, Fraction(0)))
        raise ParameterError(
            f"Expected shares that add up to exactly 1, got {total}. Write them as text or "
            "fractions."
        )
    return given


def check_size(sizes: Sequence[int], depth: int, branching: Branching, *, stopping: bool) -> None:
    """A tree that grows empty nodes as well must have a bearable public size."""
    widest = sorted(sizes, reverse=True)[:depth]
    if branching == "multiway" and not stopping and math.prod(widest) > MOST_NODES:
        raise ParameterError(
            "Expected a tree of at most 2^20 leaves; with one branch per value these domains allow "
            "more. Use branching='binary', stopping=True or a smaller max_depth."
        )


def rounded_epsilon(epsilon: Fraction, max_rows: int, levels: int, size: int) -> float | None:
    """e of `dampen.questions.classify.joint_subtrees`: a float, used exactly, so far below ε that
    rounding is paid for.

    `size` is that of the sums: splits and classes.  None if rounding costs more than 1 % of ε.
    """
    eta = Fraction(1, 2**48) * (epsilon * max_rows + size + 64)
    reserve = 4 * 2**levels * eta
    if 100 * reserve > epsilon:
        return None
    return math.nextafter(float(epsilon - reserve), 0.0)


def _split_shares(stages: Sequence[int]) -> tuple[Fraction, ...]:
    """Every level 1.3 times the one above it, the leaves included: rows get fewer, noise must too.

    Of several levels at once with the leaves, as much as one level.  Rounded to thousandths, so
    that they can be read; the last gets what is left.

    >>> [str(share) for share in _split_shares([1, 1])]
    ['251/1000', '163/500', '423/1000']
    >>> [str(share) for share in _split_shares([1, 4])]
    ['87/200', '113/200']
    """
    count = len(stages) + (0 if is_staged(stages) else 1)
    weights = [Fraction(13, 10) ** stage for stage in range(count)]
    splits = [Fraction(round(1000 * weight / sum(weights)), 1000) for weight in weights[:-1]]
    return (*splits, 1 - sum(splits, Fraction(0)))


def _equal_shares(depth: int) -> tuple[Fraction, ...]:
    return (Fraction(1, depth + 1),) * (depth + 1)


def _one_of(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        hint = did_you_mean(str(value), known)
        raise ParameterError(
            f"Expected {name} to be one of {', '.join(known)}, got {value!r}.{hint}"
        )
