"""The plan of a tree, made before the data is read: depth, stages and every share of ε.

Privacy of a whole tree, add/remove one row.  It is grown in stages: one level of splits each, then
the classes of the leaves; or in the end several levels together with the classes, by one release
(`dampen.questions.classify.growing`).  The nodes of one stage hold disjoint sets of rows,
and which rows a node holds was decided by earlier releases; so a row takes part in one node per
stage, and one stage costs what its dearest node costs (parallel composition).  Stages add up
(sequential composition). All shares are exact fractions of ε and add up to 1, hence a fit is ε-DP.

**Probabilities** (`probabilities=True`) are bought with two parts of ε besides: noisy counts
(leaf, class) of the finished tree, and the noisy tables of naive Bayes.  Leaves hold disjoint rows,
so a row is in one of the former counts, which are ε_c-DP with discrete Laplace noise of scale
1/ε_c; the tables are ε_t-DP (`dampen.questions.classify.model`).  The tree has the rest.

**The score of naive Bayes** (`TreePlan.scored`) is one more attribute of every row, where there are
two classes and enough rows: the log-odds of the classes by noisy tables, a whole number, cut into
`SCORE_BINS` bins (`dampen.questions.classify.model.Score`).  Where evidence adds up over many
columns, one split by it says more than many by columns.  *Theorem.*  The release of tables and
tree is ε-DP.  Proof: the tables are ε_t-DP, and released first.  Given them, the score is a fixed
function of one row, so that it is an attribute like all others: a row more is a row more of the
table with the score, of which the tree is (ε - ε_t)-DP.  Adaptive composition adds up. ∎  The score
by the exact counts would not do: a row more would move the scores of all others.  Where
probabilities are asked for, the same tables serve both.

It is not taken on the levels that are selected one by one.  There it would win as soon as it is
informative, on all nodes, and hide columns that tell of the class together.  Instead the release
that ends the tree may take back those levels, in part or all of them, for one cut of the score
(`dampen.questions.classify.growing`).  Their number is one less, and e of that release at most
`MOST_E`, and a thousandth of ε: with more, a tree follows chance in leaves of few rows.  What it
leaves of its share goes to the tables.

With probabilities the tables have most of ε where there are two classes and a row times ε for every
count, and are paid for anyway: the score is then an attribute from there on (`ROWS_BESIDE`).

**A tree of numbers** (`numbers=True`) is the same tree: its classes are `STEPS` equal steps between
the public ends of the target, and a label is worth something to rows within `WINDOW` steps of it
(`dampen.questions.classify.splits` and `growing` have the proofs).  A fifth of ε buys noisy sums of
the leaves, from which their values are made (`dampen.questions.classify.model`).  The page
docs/lab-trees.md tells how these were chosen, and what lost.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias, get_args

from dampen.core.mechanisms import named
from dampen.core.noise import GUMBEL, pure_rho
from dampen.core.sampling import LARGEST_SCALE
from dampen.epsilon import decimal_text
from dampen.errors import ParameterError
from dampen.questions.classify.encoding import (
    COARSEST,
    Domain,
    attributes_of,
    candidates_of,
    merged_values,
)
from dampen.questions.classify.splits import (
    MOST_ROWS,
    Criterion,
    check_integer,
    check_max_rows,
    split_bound,
)
from dampen.schema.schema import FINEST_BINS

__all__ = [
    "JOINT",
    "PURPOSES",
    "Purpose",
    "Spending",
    "TreeFacts",
    "TreePlan",
    "checked_depth",
    "tree_plan",
]

Purpose: TypeAlias = Literal[
    "rows",
    "kinds",
    "bins",
    "names",
    "branches",
    "table",
    "odds",
    "count",
    "split",
    "tree",
    "leaf",
    "value",
]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)
BESIDE = ("table", "odds", "value")
"""What is spent on noisy counts beside the tree."""
FINDING = PURPOSES[:5]
"""What is spent on public facts that nobody stated, before the tree is grown."""
FOR_ODDS = Fraction(3, 20)
"""The share of ε for noisy counts of leaves, where probabilities are asked for."""
FEW_TABLES = Fraction(1, 10)
PLENTY_TABLES = Fraction(1, 5)
PLENTY = 2**14
"""Shares for naive Bayes beside them; from so many rows times ε on the second one."""
RANKING_TABLES = Fraction(3, 5)
CLEAR_TABLES = Fraction(2, 5)
CLEAR = 100
"""Shares where the classes are two and every count of the tables has `ROWS_BESIDE`; from so many
rows times ε for each on the second one."""
FOR_SCORE = Fraction(3, 10)
"""The share of ε for the tables of a score, where no probabilities are asked for."""
SCORE_BINS = FINEST_BINS
"""Of the score of naive Bayes."""
ROWS_OF_A_SCORE = 8
"""Rows times ε for every count of its tables, at least, where the score is an attribute."""
ROWS_BESIDE = 1
"""The same where probabilities are asked for, which need the tables anyway."""
ROWS_OF_TEN_BINS = 3
"""Rows times ε for every count of tables of ten bins, at least, if they have ten beside a tree."""
FEWER_BINS = 5
"""Of these tables where there are fewer."""
COLUMNS_OF_A_SCORE = 4
"""Of fewer, a tree has room for all, and `ROWS_OF_FEW_COLUMNS` take the place of these rows."""
ROWS_OF_FEW_COLUMNS = 512
MOST_E = 1
"""e of the release that ends a tree with a score, at most."""
STEPS = 32
"""The classes of a number."""
WINDOW = 6
"""Steps away from a label at which a row is worth nothing to it, and beyond which its distance from
the label counts no more."""
FOR_VALUES = Fraction(1, 5)
"""The share of ε for noisy sums of the leaves of a tree of numbers."""
STAGES_LIKE = 2
"""A tree of numbers has the stages of one of so many classes."""
JOINT = "joint-subtrees"
"""The release of several levels and the classes at once, as releases and ledgers name it."""
DEEPEST = 16
HIGHEST = 6
"""Levels that one release can decide."""
MOST_SINGLE = 7
"""Levels that are selected one by one before several at once, at most."""
WIDTHS = {2: (144,), 3: (12, 12), 4: (8, 6, 3), 5: (4, 4, 3, 3), 6: (4, 3, 3, 2, 2)}
"""Splits of every node of a menu, level by level, for each number of levels."""
MOST_COUNTS = 2**28
MOST_TERMS = 2**26
"""Bounds on the work for a menu: counts of rows, and terms of the weights of splits."""
BIN_COUNTS = (COARSEST, 20, 40, FINEST_BINS)
MOST_SUMS = 51_200
SUMS_OF_NUMBERS = 2
"""Of every bin in a regression tree, where a classifier has one for each class: rows and total."""
"""Columns times classes times bins of a tree, at most, where it chooses its bins."""
MOST_CELLS = 2**25
"""Counts that are held at once."""


@dataclass(frozen=True)
class Spending:
    """One line of the budget: what a stage, mostly a level, spends on one kind of query."""

    level: int
    purpose: Purpose
    epsilon: Fraction


@dataclass(frozen=True)
class TreeFacts:
    """The public facts of a tree: how it was made and what each stage spent.

    Attributes:
        epsilon: of the whole tree.
        max_rows: the public bound on the number of rows.
        depth: the most levels of splits that there could be.
        mechanism: the name of the method, as the release has it.
        charges: all lines of the budget; they add up to ε exactly.
    """

    epsilon: Fraction
    max_rows: int
    depth: int
    mechanism: str
    charges: tuple[Spending, ...]

    def spent(self, purpose: Purpose) -> Fraction:
        """What all lines of a kind spend."""
        return sum((c.epsilon for c in self.charges if c.purpose == purpose), Fraction(0))

    def after(self, found: tuple[Spending, ...]) -> "TreeFacts":
        """The facts with the ε that was spent on finding public facts."""
        spent = sum((charge.epsilon for charge in found), Fraction(0))
        return replace(self, epsilon=self.epsilon + spent, charges=found + self.charges)

    @property
    def staged(self) -> bool:
        """Whether the last stage decides several levels and the classes of the leaves at once."""
        return self.charges[-1].purpose == "tree"

    @property
    def size(self) -> str:
        """The depth in words."""
        if not self.staged:
            return f"depth {self.depth}"
        single = sum(charge.purpose == "split" for charge in self.charges)
        first = f"{single} levels, then " if single else ""
        return f"{first}up to {self.depth - single} levels at once with the classes"

    @property
    def stage_name(self) -> str:
        return "stage" if self.staged else "level"


@dataclass(frozen=True)
class TreePlan:
    """The public decisions of one fit.

    Attributes:
        epsilon: of all stages, without what tables and probabilities cost.
        max_rows: a public bound on the number of rows.
        stages: the levels that each stage decides, 1 but for the last.
        shares: of ε, for each stage and, unless the last one includes them, for the leaves.
        candidates: how many splits there are.
        classes: how many classes there are.
        widths: splits of every node of the menu of a last stage of several levels.
        attributes: those with at least two values.
        selection: the mechanism of a split of its own, and of the class of a leaf: `pf`, or for ρ
            `em`.
        odds: ε of noisy counts of the leaves, or of their noisy sums for numbers.
        tables: ε of naive Bayes beside the tree.
        window: more than 1 where the classes are steps of a number; see `splits`.
        scored: whether the score of naive Bayes is one more attribute.
        columns: how many tables naive Bayes has.
        table_bins: how many bins they have, at most.
    """

    epsilon: Fraction
    max_rows: int
    stages: tuple[int, ...]
    shares: tuple[Fraction, ...]
    candidates: int
    classes: int
    widths: tuple[int, ...] = ()
    attributes: int = 0
    selection: str = "pf"
    odds: Fraction = Fraction(0)
    tables: Fraction = Fraction(0)
    window: int = 1
    scored: bool = False
    columns: int = 1
    table_bins: int = COARSEST

    def __post_init__(self) -> None:
        # Refused before anything is paid, or not at all.
        if self._largest_scale > LARGEST_SCALE:
            raise ParameterError(
                "Expected a larger epsilon: its share for counts is too small to draw noise for. "
                "Raise epsilon."
            )
        if self.staged:
            _ = self.joint_epsilon

    def __str__(self) -> str:
        """The plan as text: depth, shares, and what the noise amounts to, in rows."""
        return "\n".join(_plan_lines(self))

    @property
    def _largest_scale(self) -> Fraction:
        """Of the noise on counts of the leaves, or their sums, and on those of naive Bayes."""
        moved = 2 * self.window if self.numbers else 1
        bought = [(moved, self.odds), (self.columns, self.tables)]
        return max((much / cost for much, cost in bought if cost), default=Fraction(0))

    @property
    def depth(self) -> int:
        """The most levels of splits that there can be."""
        return sum(self.stages)

    @property
    def staged(self) -> bool:
        """Whether the last stage decides several levels and the classes of the leaves at once."""
        return is_staged(self.stages)

    @property
    def mechanism(self) -> str:
        """The name of what is used, for single splits and leaves, and the joint release."""
        if not self.staged:
            return self.selection
        return JOINT if len(self.stages) == 1 else f"{self.selection} + {JOINT}"

    @property
    def rho(self) -> Fraction:
        """The zCDP cost: ρ of the dearest node of every stage, added up.

        Nodes of a stage hold disjoint rows.  A joint release is an exponential mechanism for a
        one-sided utility, within its rounding: ε-bounded range, the sum of all weights being the
        same for all outcomes.  Every table of naive Bayes costs its own.  Level by level, a leaf
        that no split is left for gets the rest of ε at once; that takes as many splits as there are
        attributes, and the dearest leaf is the first such one.
        """
        spent = [self.epsilon * share for share in self.shares]
        single = named(self.selection).noise.rho
        besides = pure_rho(self.odds) + self.columns * pure_rho(self.tables / self.columns)
        if self.staged:
            return sum(map(single, spent[:-1]), GUMBEL.rho(spent[-1]) + besides)
        level = min(self.attributes, self.depth)
        leaf = sum(spent[level:], Fraction(0))
        return sum(map(single, spent[:level]), single(leaf) + besides)

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """What the splits that are selected one by one maximise: `max` where only leaves follow."""
        single = len(self.stages) - 1 if self.staged else self.depth
        return tuple(self._criterion(level) for level in range(single))

    def _criterion(self, level: int) -> Criterion:
        last = not self.staged and level == self.depth - 1
        return "max" if last or self.numbers else "tsallis"

    @property
    def numbers(self) -> bool:
        """Whether the classes are steps of a number."""
        return self.window > 1

    @property
    def label_epsilon(self) -> Fraction:
        """ε for the class of a leaf that all stages led to."""
        return self.epsilon * self.shares[-1]

    @property
    def joint_epsilon(self) -> float:
        """e of the release of several levels and classes: its share, less what rounding may cost.

        Of a window, e is for all of its steps together.

        Raises:
            ParameterError: if rounding costs too much of it.
        """
        size = self.candidates + self.classes
        levels = self.depth if self.scored else self.stages[-1]  # with those it may take back
        found = rounded_epsilon(self.label_epsilon, levels, size)
        if found is None:
            raise ParameterError(
                "Expected epsilon of at least about 1e-6 for stages of several levels. Pass "
                "max_depth= instead."
            )
        return found

    @cached_property
    def facts(self) -> TreeFacts:
        """What a released tree says of its plan."""
        charges = tuple(
            Spending(level, self._purpose(level), self.epsilon * share)
            for level, share in enumerate(self.shares)
        )
        facts = TreeFacts(self.epsilon, self.max_rows, self.depth, self.mechanism, charges)
        of_leaves: Purpose = "value" if self.numbers else "odds"
        bought: list[tuple[Purpose, Fraction]] = [("table", self.tables), (of_leaves, self.odds)]
        return facts.after(tuple(Spending(0, what, cost) for what, cost in bought if cost))

    def _purpose(self, level: int) -> Purpose:
        if level < len(self.shares) - 1:
            return "split"
        return "tree" if self.staged else "leaf"


def tree_plan(
    epsilon: Fraction,
    domains: Sequence[Domain],
    *,
    classes: int,
    max_rows: int,
    max_depth: int | None = None,
    stages: Sequence[int] | None = None,
    selection: str = "pf",
    probabilities: bool = False,
    numbers: bool = False,
) -> TreePlan:
    """Every public decision, from public sizes; ε is that of the whole fit.

    Raises:
        ParameterError: if they do not fit together.
    """
    check_max_rows(max_rows)
    given = given_stages(max_depth, stages)
    odds = epsilon * FOR_VALUES if numbers else Fraction(0)
    beside = Fraction(0)
    table_bins = COARSEST
    if probabilities:
        odds = epsilon * FOR_ODDS
        beside = epsilon * tables_share(epsilon, domains, classes, max_rows)
        table_bins = bins_beside(epsilon, domains, classes, max_rows)

    def drafted(scored: bool) -> TreePlan:
        sizes = sizes_of(domains, classes, scored=scored)
        tables = beside or epsilon * FOR_SCORE * scored
        left = epsilon - odds - tables
        like = STAGES_LIKE if numbers else None
        chosen = given
        if chosen is None:
            chosen = default_stages(left, max_rows, sizes, like=like, scored=scored)
        shares = split_shares(chosen)
        spared = spared_epsilon(left * shares[-1], epsilon) if scored else Fraction(0)
        return TreePlan(
            epsilon=left - spared,
            max_rows=int(max_rows),
            stages=chosen,
            shares=without_end(shares, spared / left),
            candidates=sizes.candidates,
            classes=classes,
            widths=default_widths(chosen, int(max_rows), sizes),
            attributes=sum(len(domain) > 1 for domain in attributes_of(domains)),
            selection=selection,
            odds=odds,
            tables=tables + spared,
            window=WINDOW if numbers else 1,
            scored=scored,
            columns=len(domains),
            table_bins=table_bins,
        )

    rows = ROWS_BESIDE if probabilities else ROWS_OF_A_SCORE
    if not numbers and score_pays(epsilon, domains, classes, max_rows, rows):
        plan = drafted(scored=True)
        if plan.staged:  # level by level there is no release that ends the tree
            return plan
    return drafted(scored=False)


def tables_share(
    epsilon: Fraction, domains: Sequence[Domain], classes: int, max_rows: int
) -> Fraction:
    """The share of ε for naive Bayes where probabilities are asked for, by public facts alone.

    Of two classes most of ε, where every count of its tables has one row times ε: there it orders
    rows better than the leaves of a tree do, and its score is an attribute of the tree.  From a
    hundred on noise is no matter in the tables, but in the tree.

    >>> from dampen.questions.classify.encoding import Categories
    >>> domains = [Categories("ab")] * 5
    >>> [str(tables_share(Fraction(1), domains, classes, 20)) for classes in (2, 3)]
    ['3/5', '1/10']
    """
    if classes == 2 and has_rows(epsilon, domains, classes, max_rows, CLEAR):
        return CLEAR_TABLES
    if classes == 2 and has_rows(epsilon, domains, classes, max_rows, ROWS_BESIDE):
        return RANKING_TABLES
    return PLENTY_TABLES if epsilon * max_rows >= PLENTY else FEW_TABLES


def bins_beside(epsilon: Fraction, domains: Sequence[Domain], classes: int, max_rows: int) -> int:
    """How many bins naive Bayes has where probabilities are asked for, by public facts alone.

    >>> from dampen.questions.classify.encoding import bins
    >>> domains = [bins(0, 1, 20)] * 5
    >>> [bins_beside(Fraction(1), domains, 2, rows) for rows in (99, 100, 299, 300)]
    [10, 5, 5, 10]
    """
    few = classes == 2 and has_rows(epsilon, domains, classes, max_rows, ROWS_BESIDE)
    if few and not has_rows(epsilon, domains, classes, max_rows, ROWS_OF_TEN_BINS):
        return FEWER_BINS
    return COARSEST


def has_rows(
    epsilon: Fraction, domains: Sequence[Domain], classes: int, max_rows: int, rows: int
) -> bool:
    """Whether every count of naive Bayes of ten bins has so many rows times ε on average."""
    first, _ = merged_values(domains)
    return epsilon * max_rows >= rows * int(first[-1]) * classes


def score_pays(
    epsilon: Fraction,
    domains: Sequence[Domain],
    classes: int,
    max_rows: int,
    rows: int = ROWS_OF_A_SCORE,
) -> bool:
    """Whether the score of naive Bayes is one more attribute, by public facts alone.

    Two classes, and enough rows times ε for every count of its tables; else their noise would drown
    the score, and their share of ε would be lost.  Of few columns the score tells little more than
    a tree does, but with it levels may be taken back, which is worth most where rows are plenty.

    >>> from dampen.questions.classify.encoding import Categories
    >>> domain = Categories("ab")
    >>> [score_pays(Fraction(1), [domain] * 5, 2, rows) for rows in (159, 160)]
    [False, True]
    >>> [score_pays(Fraction(1), [domain] * 3, 2, rows) for rows in (6143, 6144)]
    [False, True]
    """
    each = rows if len(domains) >= COLUMNS_OF_A_SCORE else ROWS_OF_FEW_COLUMNS
    return classes == 2 and has_rows(epsilon, domains, classes, max_rows, each)


def given_stages(max_depth: int | None, stages: Sequence[int] | None) -> tuple[int, ...] | None:
    """What the parameters say of the stages; None leaves them to the default.

    Raises:
        ParameterError: if both are given, or one of them is wrong.
    """
    if stages is not None and max_depth is not None:
        raise ParameterError("Expected max_depth= or stages=, got both.")
    if stages is not None:
        return checked_stages(stages)
    checked_depth(max_depth)
    return None if max_depth is None else (1,) * int(max_depth)


def _plan_lines(plan: TreePlan) -> Iterator[str]:
    facts = plan.facts
    yield (
        f"A binary tree of {facts.size} for epsilon {decimal_text(facts.epsilon)}: "
        f"at most {plan.max_rows} rows, {plan.candidates} candidate splits, {plan.classes} "
        f"{'steps' if plan.numbers else 'classes'}"
    )
    rows = float(plan.max_rows)
    for charge in facts.charges:
        share = decimal_text(charge.epsilon / facts.epsilon)
        noise = f"noise about {_rows_of_noise(plan, charge):,.0f} rows"
        of = f"nodes of up to {rows:,.0f} on average"
        if charge.purpose in BESIDE:
            of = "in every count of " + ("naive Bayes" if charge.purpose == "table" else "a leaf")
            if charge.purpose == "table" and plan.scored:
                of += ", whose score is one more column"
        yield (
            f"  {facts.stage_name} {charge.level:>2}  {charge.purpose:<5}  {share:>7} of epsilon: "
            f"{noise}, {of}"
        )
        if charge.purpose in ("split", "tree"):
            rows = rows / 2 ** plan.stages[charge.level]


def _rows_of_noise(plan: TreePlan, charge: Spending) -> float:
    """The largest of all candidates' noise, in units of the utility: about Δ ln(candidates) / ε."""
    epsilon = float(charge.epsilon)
    if charge.purpose in BESIDE:
        return (plan.columns if charge.purpose == "table" else 1) / epsilon
    if charge.purpose == "leaf":
        return math.log(1 + plan.classes) / epsilon
    if charge.purpose == "tree":
        return math.log(1 + max(plan.candidates, plan.classes)) / epsilon
    bound = split_bound(plan.criteria[charge.level], plan.max_rows)  # in rows, not in steps
    return bound * math.log(1 + plan.candidates) / epsilon


def checked_depth(max_depth: int | None) -> None:
    """None, or an integer from 0 on."""
    if max_depth is None:
        return
    check_integer("max_depth", max_depth, 0)
    if max_depth > DEEPEST:
        raise ParameterError(f"Expected max_depth <= {DEEPEST}, got max_depth={max_depth}.")


def checked_stages(stages: Sequence[int]) -> tuple[int, ...]:
    """The levels of each stage, 1 but for the last.

    Raises:
        ParameterError: if they are something else.
    """
    if not isinstance(stages, list | tuple) or not stages:
        raise ParameterError("Expected stages to be a list of numbers of levels, as (1, 1, 4).")
    for levels in stages:
        check_integer("every stage", levels, 1)
    if max(stages) > HIGHEST or max([1, *stages[:-1]]) > 1:
        raise ParameterError(
            f"Expected stages of one level, and a last one of at most {HIGHEST}; got {stages!r}."
        )
    checked_depth(sum(stages))
    return tuple(map(int, stages))


def is_staged(stages: Sequence[int]) -> bool:
    """Whether the last stage decides several levels, and then the classes too."""
    return len(stages) > 0 and stages[-1] > 1


def rounded_epsilon(epsilon: Fraction, levels: int, size: int) -> float | None:
    """e of `dampen.questions.classify.growing`: a float, used exactly, so far below ε that
    rounding is paid for, up to 2^31 rows: no public bound on the rows can be broken.

    `size` is that of the sums: splits and classes.  None if rounding costs more than 1 % of ε.
    """
    rows = levels * epsilon * MOST_ROWS
    reserve = 4 * Fraction(1, 2**48) * (rows + 2**levels * (size + 64))
    if 100 * reserve > epsilon:
        return None
    return math.nextafter(float(epsilon - reserve), 0.0)


def split_shares(stages: Sequence[int]) -> tuple[Fraction, ...]:
    """Every level 1.3 times the one above it, the leaves included: rows get fewer, noise must too.

    Of several levels at once with the leaves, as much as one level.  Rounded to thousandths, so
    that they can be read; the last gets what is left.

    >>> [str(share) for share in split_shares([1, 1])]
    ['251/1000', '163/500', '423/1000']
    >>> [str(share) for share in split_shares([1, 4])]
    ['87/200', '113/200']
    """
    count = len(stages) + (0 if is_staged(stages) else 1)
    weights = [Fraction(13, 10) ** stage for stage in range(count)]
    splits = [Fraction(round(1000 * weight / sum(weights)), 1000) for weight in weights[:-1]]
    return (*splits, 1 - sum(splits, Fraction(0)))


def spared_epsilon(last: Fraction, epsilon: Fraction) -> Fraction:
    """What is above `MOST_E` of the share of a last stage, in whole thousandths of ε.

    >>> spared_epsilon(Fraction(3, 2), Fraction(10)), spared_epsilon(Fraction(1, 2), Fraction(10))
    (Fraction(1, 2), Fraction(0, 1))
    """
    return max(0, math.floor(1000 * (last - MOST_E) / epsilon)) * epsilon / 1000


def without_end(shares: Sequence[Fraction], spared: Fraction) -> tuple[Fraction, ...]:
    """Shares of what is left where the last one gives up a part of the whole.

    >>> [str(share) for share in without_end([Fraction(2, 5), Fraction(3, 5)], Fraction(1, 5))]
    ['1/2', '1/2']
    """
    *others, last = shares
    return tuple(share / (1 - spared) for share in (*others, last - spared))


class Sizes(NamedTuple):
    """The public sizes of a table: attributes, their values in all, splits of them, classes."""

    attributes: int
    values: int
    candidates: int
    classes: int


def sizes_of(domains: Sequence[Domain], classes: int, *, scored: bool = False) -> Sizes:
    """The public sizes of a table with these domains and classes, and perhaps a score."""
    candidates = len(candidates_of(domains))
    attributes = attributes_of(domains)
    sizes = Sizes(len(attributes), sum(map(len, attributes)), candidates, classes)
    if not scored:
        return sizes
    return Sizes(
        sizes.attributes + 1,
        sizes.values + SCORE_BINS,
        sizes.candidates + SCORE_BINS - 1,
        classes,
    )


def bin_count(columns: int, classes: int) -> int:
    """How many bins of equal width a tree has where their number is left to it.

    160, 40, 20 or 10: the most with which columns times classes times bins are at most `MOST_SUMS`.
    A regression tree counts as one of `SUMS_OF_NUMBERS` classes: 160 bins up to 160 columns.
    A function of public facts alone.  Bins show what ten hide in skewed columns, and are cheap, as
    noise grows with the logarithm of the number of splits; but the more sums every split takes, the
    fewer splits a menu has.  `MOST_SUMS` is chosen by `dampen-studies run bins`, leaving one table
    out at a time.

    >>> [bin_count(columns, 2) for columns in (100, 500, 1000, 2000)]
    [160, 40, 20, 10]
    """
    each = columns * classes
    return max((n for n in BIN_COUNTS if n * each <= MOST_SUMS), default=COARSEST)


def default_depth(epsilon: Fraction, max_rows: int, candidates: int, classes: int) -> int:
    """A depth from public sizes alone.

    *Derivation.*  A split at level l sees n / 2^l rows and has to tell a gain of some share of them
    from noise of about ln(candidates) / ε_l: log2(ε n / ln candidates) levels would use up all
    signal.  Shares of ε shrink with the depth and gains shrink from level to level, so that only a
    part of these levels pays.  Every doubling of the classes is worth a part of a level more,
    because a leaf has one class.  At least one level: with no split at all, the tree is a constant.

    The three constants have the largest mean accuracy over 28 tables and seven ε, two seeds, of a
    grid of 735; they were not cross-validated over tables.  `dampen-studies run models` compares
    the rule with its predecessor on other splits.
    """
    signal = float(min(epsilon, Fraction(10**9))) * max_rows / math.log(1 + max(candidates, 2))
    levels = 0.65 * math.log2(max(signal, 1.0)) + 0.25 * math.log2(classes / 2) - 1.75
    return min(max(1, round(levels)), DEEPEST)


def default_stages(
    epsilon: Fraction,
    max_rows: int,
    sizes: Sizes,
    *,
    like: int | None = None,
    scored: bool = False,
) -> tuple[int, ...]:
    """Stages from public sizes alone: the more choices ε allows, the more levels come first.

    One release that decides several levels finds more than choices level by level, as far as its
    menu goes; levels that are selected from all splits come before it where ε n bears their price.
    1.1 log2(ε n) + .3 log2(K/2) - 10 of them: the constants have the largest mean accuracy over the
    tables of `dampen-studies run models`, on other splits of their rows (leaving one table out at a
    time, the rule loses .006 to the best number of levels of every cell).  Without such levels, the
    fewer rows and classes there are, the fewer levels are worth their noise.  K is `like` where the
    classes are steps of a number.  With a score, one level less comes first.
    """
    rows = float(min(epsilon, Fraction(10**9))) * max_rows
    signal = math.log2(max(rows, 1.0))
    doublings = math.log2((like or sizes.classes) / 2)
    less = 11 if scored else 10
    single = min(max(0, round(1.1 * signal + 0.3 * doublings - less)), MOST_SINGLE)
    several = 3 if single > 1 else 4
    if not single:
        several = min(max(2, round(signal / 2 + 0.75 * doublings - 0.25)), 5)
    stages = *(1,) * single, several
    cells = (sizes.values * sizes.classes) << (sum(stages) - 1)
    bearable = rounded_epsilon(epsilon / 5, sum(stages), sizes.candidates + sizes.classes)
    if cells > MOST_CELLS or bearable is None:
        return (1,) * default_depth(epsilon, max_rows, sizes.candidates, sizes.classes)
    return stages


def default_widths(stages: Sequence[int], max_rows: int, sizes: Sizes) -> tuple[int, ...]:
    """How many splits the nodes of a menu have, level by level; its last level has them all.

    Every row is counted once for each product of them and each attribute, and every end of their
    trees has a weight for each split and class.  Fewer, where that would take long.
    """
    if not is_staged(stages) or not sizes.candidates:
        return ()
    widths = WIDTHS[stages[-1]]
    counts = max_rows * sizes.attributes
    terms = (sizes.candidates * sizes.classes) << (sum(stages) - 1)
    bearable = min(MOST_COUNTS / counts, MOST_TERMS / terms) / math.prod(widths)
    shrink = min(1.0, bearable) ** (1 / len(widths))
    return tuple(max(1, math.floor(width * shrink)) for width in widths)
