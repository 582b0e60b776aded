"""What is decided before the data is looked at: depth, mechanism, and every share of ε.

Privacy of a whole tree, add/remove one row.  The nodes of one level hold disjoint sets of rows, and
which rows a node holds was decided by earlier releases; so a row takes part in one node per level,
and one level costs what its dearest node costs (parallel composition).  Levels add up (sequential
composition).  All shares are exact fractions of ε and add up to 1, hence a fit is ε-DP.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

from dampen.epsilon import Epsilon, decimal_text, exact
from dampen.errors import ParameterError, did_you_mean
from dampen.mechanisms import MECHANISMS, Mechanism
from dampen.trees.splits import (
    CRITERIA,
    Criterion,
    check_integer,
    check_max_rows,
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


@dataclass(frozen=True)
class Spending:
    """One line of the budget: what a level spends on one kind of query."""

    level: int
    purpose: Literal["count", "split", "leaf"]
    epsilon: Fraction


@dataclass(frozen=True)
class Plan:
    """The public decisions of one fit; see `TreeClassifier` for what they mean."""

    epsilon: Fraction
    max_rows: int
    depth: int
    shares: tuple[Fraction, ...]
    mechanism: Mechanism | Literal["sulq"]
    criterion: TreeCriterion
    branching: Branching
    stopping: bool
    leaves: Leaves
    one_sided: bool
    candidates: int
    classes: int

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

    def charges(self) -> list[Spending]:
        """All lines of the budget; they add up to ε exactly."""
        lines: list[Spending] = []
        for level in range(self.depth + 1):
            if self.stopping:
                lines.append(Spending(level, "count", self.count_epsilon(level)))
            purpose: Literal["split", "leaf"] = "split" if level < self.depth else "leaf"
            lines.append(Spending(level, purpose, self.query_epsilon(level)))
        return lines


def _plan_lines(plan: Plan) -> Iterator[str]:
    yield (
        f"A {plan.branching} tree of depth {plan.depth} for epsilon {decimal_text(plan.epsilon)}: "
        f"at most {plan.max_rows} rows, {plan.candidates} candidate splits, {plan.classes} classes"
    )
    rows = float(plan.max_rows)
    for charge in plan.charges():
        share = decimal_text(charge.epsilon / plan.epsilon)
        noise = f"{_rows_of_noise(plan, charge):,.0f}"
        yield (
            f"  level {charge.level:>2}  {charge.purpose:<5}  {share:>7} of epsilon: noise about "
            f"{noise} rows, nodes of up to {rows:,.0f} on average"
        )
        rows = rows / 2 if charge.purpose == "split" and plan.branching == "binary" else rows


def _rows_of_noise(plan: Plan, charge: Spending) -> float:
    """The largest of all candidates' noise, in units of the utility: about Δ ln(candidates) / ε."""
    epsilon = float(charge.epsilon)
    match charge.purpose:
        case "count":
            return 1 / epsilon
        case "leaf":
            return math.log(1 + plan.classes) / epsilon
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
    criterion: str | None, mechanism: Mechanism | Literal["sulq"]
) -> TreeCriterion:
    """The criterion; by default `tsallis-max`, information gain where δ matters or counts do."""
    if criterion is None:
        plain = isinstance(mechanism, Mechanism) and mechanism.name in {"em", "pf"}
        return "tsallis-max" if plain else "information-gain"
    _one_of("criterion", criterion, get_args(TreeCriterion))
    if mechanism == SULQ and criterion != "information-gain":
        raise ParameterError("Expected criterion='information-gain' with mechanism='sulq'.")
    return criterion  # type: ignore[return-value]


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


def checked_shares(
    shares: Sequence[Epsilon] | None, depth: int, *, stopping: bool
) -> tuple[Fraction, ...]:
    """One share of ε per level, the leaves' last; exact, positive, adding up to 1."""
    if shares is None:
        return _equal_shares(depth) if stopping else _split_shares(depth)
    given = tuple(exact(s, "every share") for s in shares)
    if len(given) != depth + 1:
        raise ParameterError(
            f"Expected {depth + 1} shares, one per level of splits and one for the leaves, got "
            f"{len(given)}."
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


def default_depth(
    epsilon: Fraction, max_rows: int, candidates: int, branches: float, classes: int
) -> int:
    """A depth from public sizes alone.

    *Derivation.*  A split at level l sees n / 2^l rows and has to tell a gain of some share of them
    from noise of about ln(candidates) / ε_l: log2(ε n / ln candidates) levels would use up all
    signal.  Shares of ε shrink with the depth and gains shrink from level to level, so that only a
    part of these levels pays.  Every doubling of the classes is worth a part of a level more,
    because a leaf has one class.  At least one level: with no split at all, the tree is a constant.

    The three constants have the largest mean accuracy over 28 tables and seven ε, two seeds, of a
    grid of 735; they were not cross-validated over tables.  `dampen-studies run models` compares
    the rule with its predecessor on other splits.  Nodes with more than two branches
    use rows up faster.
    """
    check_max_rows(max_rows)
    signal = float(min(epsilon, Fraction(10**9))) * max_rows / math.log(1 + max(candidates, 2))
    levels = 0.65 * math.log2(max(signal, 1.0)) + 0.25 * math.log2(classes / 2) - 1.75
    return min(max(1, round(levels / math.log2(max(branches, 2.0)))), DEEPEST)


def _split_shares(depth: int) -> tuple[Fraction, ...]:
    """Every level 1.3 times the one above it, the leaves included: rows get fewer, noise must too.

    Rounded to thousandths, so that they can be read; the leaves get what is left.

    >>> [str(share) for share in _split_shares(2)]
    ['251/1000', '163/500', '423/1000']
    """
    weights = [Fraction(13, 10) ** level for level in range(depth + 1)]
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
