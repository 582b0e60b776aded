"""The questions for a classifier: a tree, naive Bayes, or the one that public facts recommend.

- `TreeQuestion`, `RegressionQuestion`, `BayesQuestion`, `ClassifierQuestion`: what is asked.
- `TreeMethod`, `BayesMethod`, `EitherMethod`: how classifiers are made: a tree that is grown in
  stages, or the noisy tables of naive Bayes.
- `predictions`, `wrong_share`, `mean_distance`: what a released model predicts for the rows of a
  table, and how often that is wrong.

**A tree of numbers** (`RegressionQuestion`) is grown as one of classes, which are equal steps
between the public ends of the target; see `dampen.questions.classify.plan`.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dampen.core.losses import ONE_PART, Losses, equal_parts
from dampen.core.mechanisms import named
from dampen.core.sampling import LARGEST_SCALE, Entropy
from dampen.core.selection import IntArray, Neighbours, Selection
from dampen.core.sensitivity import constant
from dampen.data.columns import Lookup, finite_range
from dampen.data.open import open_table
from dampen.data.source import (
    Batch,
    Kind,
    Opened,
    reading,
    require,
    require_labels,
    require_numbers,
)
from dampen.epsilon import Epsilon, exact
from dampen.errors import ParameterError, a_thing
from dampen.questions.classify.encoding import (
    COARSEST,
    Bins,
    Classes,
    Domain,
    attributes_of,
    bins,
    candidates_of,
    checked_classes,
    encode_queries,
    first_codes,
    fixed,
    given_domains,
    merged_values,
    numbers_of,
    with_one_hash,
)
from dampen.questions.classify.found import ColumnKind, Search, SearchPlan, kind_of
from dampen.questions.classify.growing import (
    LevelRows,
    ReadRows,
    Statement,
    grown,
    leaked_rows,
    read_rows,
)
from dampen.questions.classify.model import (
    BayesPlan,
    Model,
    NoisyTables,
    Score,
    Tree,
    bayes_content,
    bayes_rho,
    model_of,
    noise_scale,
    noisy_tables,
    tree_content,
)
from dampen.questions.classify.plan import (
    FEW_TABLES,
    JOINT,
    STEPS,
    SUMS_OF_NUMBERS,
    TreePlan,
    bin_count,
    given_stages,
    is_staged,
    tree_plan,
)
from dampen.questions.classify.splits import check_max_rows
from dampen.questions.keys import exact_delta
from dampen.releases.accuracy import UNKNOWN, Accuracy, by_distance, by_lead, lead, likely_noise
from dampen.releases.cost import Cost, Price, composed_cost
from dampen.releases.method import Drawn, Leak
from dampen.releases.numbers import LAPLACE, IntegerNoise, check_scale, noise_for
from dampen.releases.question import Fact, Shape, checked_choice, parameter, where_parameter
from dampen.releases.units import OfUnits, kept_rows
from dampen.schema import schema as facts
from dampen.schema.schema import Schema

__all__ = [
    "Asked",
    "BayesMethod",
    "BayesQuestion",
    "ClassifierQuestion",
    "EitherMethod",
    "RegressionQuestion",
    "Supervision",
    "TreeMethod",
    "TreeQuestion",
    "has_names",
    "leaf_lead",
    "mean_distance",
    "open_supervised",
    "predictions",
    "prefers_bayes",
    "supervision",
    "tables_and_tree",
    "wrong_share",
]


COUNTS = Selection(np.zeros(3, dtype=np.int64), constant(1), one_sided=True, exact=True)
MOST_DIGITS = 40
"""Of ε: its parts have up to 20 more, and none may have more than `dampen.epsilon.DIGITS`."""
UNPLANNED = f"pf or {JOINT}"
"""What a tree is made by where its plan follows the data."""


@dataclass(frozen=True)
class Supervision:
    """The public facts of a table with a column of classes.

    Attributes:
        target: the column of classes.
        domains: of every column to predict from, None where it is not stated.
        classes: None only where they are taken from the data.
        search: what is to be found privately.
        leaky: whether what is not stated is taken from the data, with a warning.
        numbers: whether the classes are steps of a number.
    """

    target: str
    domains: Mapping[str, Domain | None]
    classes: Classes | None
    search: Search
    leaky: bool = False
    numbers: bool = False

    @property
    def max_rows(self) -> int | None:
        """A stated bound on the number of rows."""
        return self.search.max_rows

    @property
    def complete(self) -> bool:
        """Whether nothing has to be found, or taken from the data."""
        return self.classes is not None and not self.search.kinds and not self.search.needs_rows

    def leaks(self) -> tuple[Leak, ...]:
        """The public parameters that are taken from the data, each with its remedy."""
        if not self.leaky:
            return ()
        leaks = [
            Leak(
                "domains",
                f"The domain of {name}",
                f"Pass domains={{{name!r}: dampen.bins(low, high, count)}} or a list of "
                "categories, or leave out public='data'.",
            )
            for name, domain in self.domains.items()
            if domain is None
        ]
        if self.classes is None and self.numbers:
            leaks.append(Leak("lower", "The range of the target", "Pass lower= and upper=."))
        elif self.classes is None:
            leaks.append(Leak("classes", "The list of classes", "Pass classes=[...]."))
        if self.search.needs_rows and self.search.counts_rows:
            leaks.append(Leak("max_rows", "The number of rows", "Leave out public='data'."))
        return tuple(leaks)

    def public_domains(self) -> list[Domain]:
        """The domains of all columns, where all of them are stated."""
        return [domain for domain in self.domains.values() if domain is not None]

    def for_bayes(self) -> "Supervision":
        """With ten bins where their number is left to the model."""
        return self._fixed(COARSEST)

    def for_tree(self) -> "Supervision":
        """With as many bins as suit a tree where their number is left to it."""
        classes = 2 if self.classes is None else len(self.classes)
        sums = SUMS_OF_NUMBERS if self.numbers else classes
        return self._fixed(bin_count(len(self.domains), sums))

    def _fixed(self, count: int) -> "Supervision":
        domains = {name: d and fixed(d, count) for name, d in self.domains.items()}
        return replace(self, domains=domains)

    def cost(
        self,
        price: Price,
        query: str,
        mechanism: str,
        *,
        rho: Callable[[Fraction], Fraction] | None = None,
        pure: bool = True,
        losses: Losses = ONE_PART,
    ) -> Cost:
        """The cost of a model that is ε-DP in total, or (ε, δ)-DP where categories get names.

        `rho`, `pure` and `losses` are those of a model of a table of which everything is stated;
        what has to be found takes shares of ε that follow from the data, so that only ε in all is
        known beforehand.

        Raises:
            ParameterError: if ε is too small to share, or has so many digits that its parts would
                have too many.
        """
        leaks = dict.fromkeys(leak.parameter for leak in self.leaks())
        cost = composed_cost(
            Neighbours.ADD_REMOVE_ROW,
            price,
            query=query,
            mechanism=mechanism,
            leaks=tuple(leaks),
            rho=rho if self.complete else None,
            pure=pure,
            delta=Fraction(0) if self.leaky else self.search.needed_delta,
            losses=losses if self.complete else ONE_PART,
        )
        exact(cost.epsilon, digits=MOST_DIGITS)
        if not self.leaky:
            self.search.check(cost.epsilon)
        return cost

    def read(self, source: Opened, epsilon: Fraction, entropy: Entropy) -> ReadRows:
        """The private rows; spends what `ReadRows.found` says."""
        stated = Statement(self.domains, self.target, self.classes, self.numbers)
        if self.leaky:
            return leaked_rows(source, stated, self.max_rows)
        return read_rows(source, stated, self.search, epsilon, entropy)

    def most(self, rows: int | None) -> int | None:
        """The least public bound on the number of rows."""
        return min((n for n in (self.max_rows, rows) if n is not None), default=None)


@dataclass(frozen=True)
class TreeMethod:
    """A tree that is grown in stages; see `dampen.questions.classify.plan`.

    Attributes:
        query: what is asked, for the ledger.
        table: what is public of it.
        max_depth: levels of splits, each selected by itself.
        stages: in place of it, the levels of each stage.
        plan: all public decisions; None where they follow what is found.
        selection: of single splits and of classes, see `TreePlan`.
        probabilities: whether parts of ε are for them.
    """

    query: str
    table: Supervision
    max_depth: int | None = None
    stages: Sequence[int] | None = None
    plan: TreePlan | None = None
    selection: str = "pf"
    probabilities: bool = False

    @classmethod
    def planned(
        cls,
        query: str,
        table: Supervision,
        price: Price,
        *,
        max_depth: int | None = None,
        stages: Sequence[int] | None = None,
        probabilities: bool = False,
    ) -> "TreeMethod":
        """Decides all that is public at this price."""
        selection = price.selection if table.complete else "pf"
        method = cls(
            query, table, max_depth, stages, selection=selection, probabilities=probabilities
        )
        given_stages(max_depth, stages)
        if not isinstance(probabilities, bool | np.bool_):
            raise ParameterError(
                f"Expected probabilities to be True or False, got {probabilities!r}."
            )
        epsilon = method.cost(price).epsilon
        least = epsilon * FEW_TABLES
        if probabilities and len(table.domains) > least * LARGEST_SCALE:
            raise ParameterError(
                "Expected a larger epsilon for probabilities: its share for them is too small to "
                "draw noise for. Raise epsilon or leave out probabilities."
            )
        if not table.complete:
            return method
        plan = method._public_plan(epsilon)
        if plan.numbers:
            check_scale(2 * plan.window / plan.odds)
        return replace(method, plan=plan)

    @property
    def mechanism(self) -> str:
        """The name of what is used."""
        if self.plan is not None:
            return self.plan.mechanism
        given = given_stages(self.max_depth, self.stages)
        return "pf" if given is not None and not is_staged(given) else UNPLANNED

    def cost(self, price: Price, /) -> Cost:
        return self.table.cost(price, self.query, self.mechanism, rho=self._rho)

    def _rho(self, epsilon: Fraction) -> Fraction:
        """The ρ of the plan for ε, for a table whose facts are all stated."""
        return self._public_plan(epsilon).rho

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        return UNKNOWN if self.plan is None else self._accuracy(self.plan, epsilon, rows)

    def _accuracy(self, plan: TreePlan, epsilon: Fraction, rows: int | None) -> Accuracy:
        if plan.numbers:
            return by_distance(
                leaf_noise(plan),
                "rows",
                subject="the noisy number of rows of a leaf",
                target="the true number",
                epsilon=epsilon,
                most=self.table.most(rows),
            )
        return by_lead(
            leaf_lead(plan),
            "rows",
            who=("class", "classes"),
            k=1,
            epsilon=epsilon,
            most=self.table.most(rows),
            of="that leaf",
            subject="the class of a leaf",
        )

    def leaks(self) -> tuple[Leak, ...]:
        return self.table.leaks()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        return self.grown(source, self.table.read(source, epsilon, entropy), epsilon, entropy)

    def grown(self, source: Opened, read: ReadRows, epsilon: Fraction, entropy: Entropy) -> Drawn:
        """A tree of rows that were read, for what is left of ε."""
        found = read.found
        domains = list(read.domains.values())
        plan = self.plan or self._plan(
            epsilon - found.epsilon, domains, len(read.classes), found.rows
        )
        tables, tree = tables_and_tree(plan, domains, read.rows, entropy)
        content = tree_content(
            read.domains, read.classes, plan.facts.after(found.charges), tree, tables,
            named=has_names(source), scored=plan.scored,
        )  # fmt: skip
        told = None if self.plan else self._accuracy(plan, epsilon, None)
        return Drawn(content, {"depth": plan.depth}, told)

    def _public_plan(self, epsilon: Fraction) -> TreePlan:
        table = self.table
        assert table.classes is not None
        assert table.max_rows is not None
        return self._plan(epsilon, table.public_domains(), len(table.classes), table.max_rows)

    def _plan(
        self, epsilon: Fraction, domains: Sequence[Domain], classes: int, max_rows: int
    ) -> TreePlan:
        plan = partial(
            tree_plan,
            epsilon,
            domains,
            classes=classes,
            max_rows=max_rows,
            selection=self.selection,
            probabilities=self.probabilities,
            numbers=self.table.numbers,
        )
        try:
            return plan(max_depth=self.max_depth, stages=self.stages)
        except ParameterError:
            if self.table.complete or self.stages is None:
                raise
        # It was paid already, and what was found has too many splits for a joint release at this ε.
        return plan(max_depth=sum(self.stages))


@dataclass(frozen=True)
class BayesMethod:
    """One noisy histogram per attribute and class; see `dampen.questions.classify.model`.

    Attributes:
        query: what is asked, for the ledger.
        table: what is public of it.
        noise: Gaussian for ρ, of a table of which everything is stated.
    """

    query: str
    table: Supervision
    noise: IntegerNoise = LAPLACE

    @classmethod
    def of(cls, query: str, table: Supervision, price: Price) -> "BayesMethod":
        """The method with the noise that suits the price."""
        return cls(query, table, noise_for(price) if table.complete else LAPLACE)

    def cost(self, price: Price, /) -> Cost:
        attributes = len(self.table.domains)
        cost = self.table.cost(
            price,
            self.query,
            self.noise,
            pure=self.noise == LAPLACE,
            losses=equal_parts(attributes),
        )
        if noise_scale(attributes, cost.epsilon, self.noise) > LARGEST_SCALE:
            raise ParameterError(
                f"Expected epsilon >= {attributes} / 2^40 for {attributes} attributes. Raise "
                "epsilon."
            )
        return cost

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        if not self.table.complete:
            return UNKNOWN
        scale = noise_scale(len(self.table.domains), epsilon, self.noise)
        noise = likely_noise(1 / scale, 1, self.noise)
        return by_distance(
            noise,
            "rows",
            subject="a noisy count",
            target="the true count",
            epsilon=epsilon,
            most=self.table.most(rows),
        )

    def leaks(self) -> tuple[Leak, ...]:
        return self.table.leaks()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        return self.counted(source, self.table.read(source, epsilon, entropy), epsilon, entropy)

    def counted(self, source: Opened, read: ReadRows, epsilon: Fraction, entropy: Entropy) -> Drawn:
        """The noisy tables of rows that were read, for what is left of ε."""
        left = epsilon - read.found.epsilon
        domains = {name: with_one_hash(domain) for name, domain in read.domains.items()}
        first = first_codes(list(domains.values()))
        counts = counts_of_columns(read.rows, list(read.domains.values()))
        tables = noisy_tables(counts, first, left, entropy=entropy, noise=self.noise)
        named = has_names(source)
        assert not isinstance(read.classes, Bins)
        content = bayes_content(domains, read.classes, left, tables, named=named)
        return Drawn(content, {"attributes": len(read.domains)})


@dataclass(frozen=True)
class EitherMethod:
    """A tree or naive Bayes, as what was found recommends; what is found is public by then.

    Attributes:
        tree: how a tree is grown.
        bayes: how naive Bayes is made.
        prefers_bayes: the rule, from ε, rows, sizes of domains and the number of classes.
    """

    tree: TreeMethod
    bayes: BayesMethod
    prefers_bayes: Callable[[Fraction, int, Sequence[int], int], bool]

    def cost(self, price: Price, /) -> Cost:
        return self.tree.cost(price)

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        return self.tree.accuracy(epsilon, rows)

    def leaks(self) -> tuple[Leak, ...]:
        return self.tree.leaks()

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        read = self.tree.table.read(source, epsilon, entropy)
        sizes = [len(domain) for domain in read.domains.values()]
        if self.prefers_bayes(epsilon, read.found.rows, sizes, len(read.classes)):
            return self.bayes.counted(source, read, epsilon, entropy)
        return self.tree.grown(source, read, epsilon, entropy)


def tables_and_tree(
    plan: TreePlan, domains: Sequence[Domain], rows: LevelRows, entropy: Entropy
) -> tuple[NoisyTables | None, Tree]:
    """What a plan buys: noisy tables first, then a tree, which may ask for the score by them."""
    if not plan.tables:
        return None, grown(plan, candidates_of(domains), rows, entropy=entropy)
    counts = counts_of_columns(rows, domains)
    first, joined = merged_values(domains, plan.table_bins)
    merged = np.zeros((first[-1], counts.shape[1]), dtype=np.int64)
    np.add.at(merged, joined, counts)
    tables = noisy_tables(merged, first, plan.tables, entropy=entropy)
    if not plan.scored:
        return tables, grown(plan, candidates_of(domains), rows, entropy=entropy)
    score = Score.of(tables, domains)
    candidates = candidates_of(domains, late=score.domain)
    return tables, grown(plan, candidates, rows.with_score(score), entropy=entropy)


def counts_of_columns(rows: LevelRows, domains: Sequence[Domain]) -> IntArray:
    """Counts (value, class) of the columns, by one hash each."""
    counts = rows.tables([0], first_codes(attributes_of(domains)))[0]
    return counts[: sum(map(len, domains))]


def leaf_lead(plan: TreePlan) -> float:
    """The lead in rows at which the class of a deepest leaf is right with probability 0.9.

    **What a leaf of a tree will be worth**, from the public plan alone
    (`dampen.releases.accuracy`).  The class of a leaf is drawn by permute-and-flip on the counts of
    its rows, as the most frequent category is, or by the exponential mechanism, where levels above
    it are drawn with it.  So a class that leads every other one by some number of rows *in its
    leaf* is named with a probability of 0.9, whatever the splits are.  Where not even all rows
    together make such a lead, every leaf is close to chance.
    """
    mechanism = named("em" if plan.staged else plan.selection)
    needed = lead(COUNTS, mechanism, m=plan.classes, k=1, epsilon=plan.label_epsilon)
    assert needed is not None
    return needed


def leaf_noise(plan: TreePlan) -> float:
    """How far the noisy number of rows of a leaf is from the true one, in 9 of 10 runs.

    Two sums with noise at ε_v / 2w each, added up and divided by 2w.
    """
    each = likely_noise(plan.odds / (2 * plan.window), 2)
    return each / plan.window


def has_names(source: Opened) -> bool:
    """Whether the columns have names of their own; those of an array have not."""
    return bool(getattr(source, "named", True))


def predictions(model: Model, opened: Opened) -> NDArray[Any]:
    """The class or the number of every row of a table.

    Raises:
        ParameterError: if the table lacks a column of the model.
    """
    require(opened, *model.columns.by_name)
    found = [answers for answers, _ in _by_batch(model, opened, {})]
    return np.concatenate([model.columns.classes[:0], *found])


def wrong_share(answer: Any, opened: Opened, target: str) -> float:
    """The share of the rows of a table that a released model gets wrong; not private.

    Raises:
        ParameterError: if the table lacks a column, or the answer is no model.
    """
    model = model_of(answer)
    require(opened, target, *model.columns.by_name)
    classes = Lookup(model.columns.classes.tolist())
    wrong = [
        classes.positions(answers) != classes.positions(batch[target])
        for answers, batch in _by_batch(model, opened, {target: classes.kind})
    ]
    return float(np.mean(np.concatenate([np.zeros(0, dtype=bool), *wrong])))


def mean_distance(answer: Any, opened: Opened, target: str) -> float:
    """How far a released model is from the numbers of a table, on average; not private.

    Raises:
        ParameterError: if the table lacks a column, or the answer is no model.
    """
    model = model_of(answer)
    require_numbers(opened, target)
    require(opened, *model.columns.by_name)
    away = [
        np.abs(answers - numbers_of(batch[target]))
        for answers, batch in _by_batch(model, opened, {target: "numbers"})
    ]
    return float(np.nanmean(np.concatenate([np.zeros(0), *away])))


def _by_batch(
    model: Model, opened: Opened, more: dict[str, Kind]
) -> Iterator[tuple[NDArray[Any], Batch]]:
    domains = model.columns.by_name
    wanted = {name: domain.kind for name, domain in domains.items()} | more
    with reading(opened.batches(wanted)) as stream:
        for batch in stream:
            codes = encode_queries([batch[name] for name in domains], domains)
            yield model.answers(codes), batch


LACKING = (
    "A plan without a table needs domains=, max_rows= and classes= (or lower= and upper=). Or pass "
    "the table, plan(X): only the names and types of its columns are looked at."
)
MANY = 8
"""From so many classes on, naive Bayes is considered."""
FEW_VALUES = 4
"""Values of an attribute up to which it is, on average."""
ROWS_OF_A_COUNT = 16
"""Rows times ε for every count of its tables, at least."""
Domains: TypeAlias = Mapping[str, Any] | Sequence[Any] | None


class Asked(Protocol):
    """What every question for a model states."""

    @property
    def target(self) -> str: ...
    @property
    def columns(self) -> Sequence[str] | None: ...
    @property
    def domains(self) -> Domains: ...
    @property
    def classes(self) -> Classes | None: ...
    @property
    def max_rows(self) -> int | None: ...
    @property
    def delta(self) -> Epsilon | None: ...
    @property
    def public(self) -> str | None: ...
    @property
    def where(self) -> str | None: ...


class ModelQuestion:
    """What every question for a model has."""

    data: ClassVar[Literal["table", "edges"]] = "table"

    def unit_method(self: Any, source: Opened, schema: Schema, price: Price, /) -> OfUnits:
        """A model of at most m rows of every person, without the column that names them."""
        question = self
        if self.columns is None and not self.domains:
            left_out = (self.target, schema.people)
            names = [field.name for field in source.fields if field.name not in left_out]
            question = replace(self, columns=names)
        return kept_rows(question.method, source, schema, price, self.title)

    def text(self: Asked) -> str:
        return f"for {self.target}"

    def shape(self) -> Shape:
        return "model"


class ClassQuestion(ModelQuestion):
    """What every question for a model of classes has."""

    def open(
        self: Asked, data: Any, /, *, header: bool = False, table: str | None = None
    ) -> Opened:
        return open_supervised(self, data, header=header, table=table)

    def shown(self: Asked) -> Mapping[str, Any]:
        """The number of classes, and the bound on the number of rows."""
        shown = {} if self.classes is None else {"classes": len(self.classes)}
        return shown if self.max_rows is None else shown | {"max_rows": int(self.max_rows)}

    def wrong_share(self: Asked, answer: Any, source: Opened, /) -> float:
        """The share of the rows that a model gets wrong; for public data."""
        return wrong_share(answer, source, self.target)


def columns_parameter() -> Any:
    """The field `columns` of a question for a model."""
    return parameter(
        "columns", "Columns to predict from; all that have a domain if left out.", default=None
    )


def depth_parameter() -> Any:
    """The field `max_depth` of a question for a tree."""
    return parameter(
        "count",
        "Levels of splits, each selected by itself; chosen from ε and the public sizes if left "
        "out.",
        default=None,
        label="Depth",
        least=0,
    )


def domains_parameter() -> Any:
    """The field `domains` of a question for a model."""
    return parameter(
        "other",
        "Public bins or categories of columns; those of other columns are found privately.",
        default=None,
        fact=Fact("domains", optional=True),
    )


def classes_parameter() -> Any:
    """The field `classes` beside it."""
    return parameter(
        "labels", "Public list of the classes.", default=None, fact=Fact("values", of="target")
    )


def max_rows_parameter() -> Any:
    """The field `max_rows` beside it."""
    return parameter(
        "count",
        "Public upper bound on the number of rows; they are counted privately if left out.",
        default=None,
        fact=Fact("rows", optional=True),
    )


def delta_parameter() -> Any:
    """The field `delta` beside it."""
    return parameter(
        "exact",
        "Probability δ of a failure of ε, such as 1e-6: frequent categories that nobody listed "
        "then have names in the model.",
        default=None,
        label="δ",
    )


def probabilities_parameter() -> Any:
    """The field `probabilities` of a question for a tree."""
    return parameter(
        "flag",
        "Probabilities of classes, for which a part of ε is spent; a tree without them releases "
        "classes alone.",
        default=False,
    )


def public_parameter() -> Any:
    """The field `public` beside it."""
    return parameter(
        "other",
        "Pass 'data' to take missing facts from the data, which epsilon does not cover.",
        default=None,
        choices=("data",),
    )


@dataclass(frozen=True, kw_only=True)
class TreeQuestion(ClassQuestion):
    """Which decision tree predicts the class of a row?"""

    target: str = parameter("column", "Column of the classes.", holds="categories")
    columns: Sequence[str] | None = columns_parameter()
    max_depth: int | None = depth_parameter()
    stages: Sequence[int] | None = parameter(
        "other",
        "In place of a depth, the levels that each stage decides, such as (1, 1, 4).",
        default=None,
    )
    probabilities: bool = probabilities_parameter()
    domains: Domains = domains_parameter()
    classes: Sequence[Hashable] | None = classes_parameter()
    max_rows: int | None = max_rows_parameter()
    delta: Epsilon | None = delta_parameter()
    public: Literal["data"] | None = public_parameter()
    where: str | None = where_parameter()
    name: ClassVar[str] = "tree"
    title: ClassVar[str] = "Decision tree"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen tree census.csv --target income --schema census.toml --epsilon 1 --max-depth 4 "
        "-o model.json",
        "dampen predict model.json new.csv",
    )
    estimator: ClassVar[str] = "TreeClassifier"

    def method(self, source: Opened, schema: Schema, price: Price, /) -> TreeMethod:
        del schema
        known = supervision(self, source).for_tree()
        return TreeMethod.planned(
            self.name, known, price, max_depth=self.max_depth, stages=self.stages,
            probabilities=self.probabilities,
        )  # fmt: skip

    def plan(self, price: Price, source: Opened | None = None) -> TreePlan | SearchPlan:
        """What would be done; no row is read.  A source tells the columns without a domain.

        Raises:
            ParameterError: if a public parameter is wrong or missing.
        """
        found = _search_plan(self, price, source)
        return found or _tree_plan(
            self, price, max_depth=self.max_depth, stages=self.stages,
            probabilities=self.probabilities,
        )  # fmt: skip


def end_parameter(name: str, beyond: str) -> Any:
    """The field `lower` or `upper` of a question for numbers."""
    return parameter(
        "exact",
        f"Public {name} end of the target; {beyond} numbers count as this.",
        default=None,
        fact=Fact(name, of="target"),
    )


@dataclass(frozen=True, kw_only=True)
class RegressionQuestion(ModelQuestion):
    """Which regression tree predicts a number for every row?"""

    target: str = parameter("column", "Column of the numbers to predict.", holds="numbers")
    lower: Epsilon | None = end_parameter("lower", "smaller")
    upper: Epsilon | None = end_parameter("upper", "larger")
    columns: Sequence[str] | None = columns_parameter()
    max_depth: int | None = depth_parameter()
    domains: Domains = domains_parameter()
    max_rows: int | None = max_rows_parameter()
    delta: Epsilon | None = delta_parameter()
    public: Literal["data"] | None = public_parameter()
    where: str | None = where_parameter()
    name: ClassVar[str] = "regression-tree"
    title: ClassVar[str] = "Regression tree"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen regression-tree census.csv --target age --columns workclass "
        "--schema census.toml --epsilon 1 -o model.json",
        "dampen predict model.json new.csv",
    )
    estimator: ClassVar[str] = "TreeRegressor"

    @property
    def classes(self) -> Bins | None:
        """The equal steps of the target; None where its ends are taken from the data.

        Raises:
            ParameterError: if an end is wrong, or missing where it may not be.
        """
        if self.lower is not None and self.upper is not None:
            return bins(*finite_range(self.lower, self.upper), STEPS)
        if self.public == "data":
            return None
        raise ParameterError(
            "Expected lower= and upper=, the public ends of the target, such as lower=0, "
            "upper=100. If you do not know them, release dampen.percentile(..., p=[1, 99], "
            "epsilon=...) first and pass what it finds."
        )

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Opened:
        return open_supervised(self, data, header=header, table=table, numbers=True)

    def method(self, source: Opened, schema: Schema, price: Price, /) -> TreeMethod:
        del schema
        known = supervision(self, source, numbers=True).for_tree()
        return TreeMethod.planned(self.name, known, price, max_depth=self.max_depth)

    def plan(self, price: Price, source: Opened | None = None) -> TreePlan | SearchPlan:
        """What would be done; no row is read.  A source tells the columns without a domain.

        Raises:
            ParameterError: if a public parameter is wrong or missing.
        """
        found = _search_plan(self, price, source)
        return found or _tree_plan(self, price, max_depth=self.max_depth)

    def shown(self) -> Mapping[str, Any]:
        ends = {"lower": self.lower, "upper": self.upper}
        stated = {name: str(end) for name, end in ends.items() if end is not None}
        return stated if self.max_rows is None else stated | {"max_rows": int(self.max_rows)}

    def mean_distance(self, answer: Any, source: Opened, /) -> float:
        """How far a model is from the true numbers on average; for public data."""
        return mean_distance(answer, source, self.target)


@dataclass(frozen=True, kw_only=True)
class BayesQuestion(ClassQuestion):
    """Which naive Bayes predicts the class of a row?"""

    target: str = parameter("column", "Column of the classes.", holds="categories")
    columns: Sequence[str] | None = parameter(
        "columns",
        "Columns to predict from, each of which adds noise; all that have a domain if left out.",
        default=None,
    )
    domains: Domains = domains_parameter()
    classes: Sequence[Hashable] | None = classes_parameter()
    max_rows: int | None = max_rows_parameter()
    delta: Epsilon | None = delta_parameter()
    public: Literal["data"] | None = public_parameter()
    where: str | None = where_parameter()
    name: ClassVar[str] = "naive-bayes"
    title: ClassVar[str] = "Naive Bayes"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen naive-bayes census.csv --target income --schema census.toml --epsilon 1 "
        "-o model.json",
        "dampen predict model.json new.csv",
    )
    estimator: ClassVar[str] = "NaiveBayesClassifier"

    def method(self, source: Opened, schema: Schema, price: Price, /) -> BayesMethod:
        del schema
        known = supervision(self, source, counts_rows=False).for_bayes()
        return BayesMethod.of(self.name, known, price)

    def plan(self, price: Price, source: Opened | None = None) -> BayesPlan | SearchPlan:
        """What would be done; no row is read.  A source tells the columns without a domain.

        Raises:
            ParameterError: if a public parameter is wrong or missing.
        """
        return _search_plan(self, price, source, counts_rows=False) or _bayes_plan(self, price)


@dataclass(frozen=True, kw_only=True)
class ClassifierQuestion(ClassQuestion):
    """Which tree or naive Bayes predicts the class of a row?

    Which of the two is fitted follows from public facts: ε, the bound on rows, columns, classes.
    """

    target: str = parameter("column", "Column of the classes.", holds="categories")
    columns: Sequence[str] | None = columns_parameter()
    probabilities: bool = probabilities_parameter()
    domains: Domains = domains_parameter()
    classes: Sequence[Hashable] | None = classes_parameter()
    max_rows: int | None = max_rows_parameter()
    delta: Epsilon | None = delta_parameter()
    public: Literal["data"] | None = public_parameter()
    where: str | None = where_parameter()
    name: ClassVar[str] = "classifier"
    title: ClassVar[str] = "Classifier"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen classifier census.csv --target income --schema census.toml --epsilon 1 "
        "-o model.json",
        "dampen predict model.json new.csv",
    )
    estimator: ClassVar[str] = "Classifier"

    def method(
        self, source: Opened, schema: Schema, price: Price, /
    ) -> TreeMethod | BayesMethod | EitherMethod:
        del schema
        stated = supervision(self, source)
        known = stated.for_bayes()
        tree = TreeMethod.planned(
            self.name, stated.for_tree(), price, probabilities=self.probabilities
        )
        bayes = BayesMethod.of(self.name, known, price)
        if not known.complete:
            return tree if known.leaky else EitherMethod(tree, bayes, prefers_bayes)
        return bayes if self._prefers_bayes(known.public_domains(), price) else tree

    def plan(self, price: Price, source: Opened | None = None) -> TreePlan | BayesPlan | SearchPlan:
        """What would be done; no row is read.  A source tells the columns without a domain.

        Raises:
            ParameterError: if a public parameter is wrong or missing.
        """
        found = _search_plan(self, price, source)
        if found is not None:
            return found
        tree = _tree_plan(self, price, probabilities=self.probabilities)
        if self._prefers_bayes(_coarse_domains(self), price):
            return _bayes_plan(self, price)
        return tree

    def _prefers_bayes(self, domains: Sequence[Domain], price: Price) -> bool:
        assert self.classes is not None
        assert self.max_rows is not None
        sizes = [len(domain) for domain in domains]
        return prefers_bayes(price.asked(), int(self.max_rows), sizes, len(self.classes))


def prefers_bayes(epsilon: Fraction, max_rows: int, sizes: Sequence[int], classes: int) -> bool:
    """The public rule: many classes, no more attributes, of few values, and many rows.

    **Which of them** (`ClassifierQuestion`).  The choice looks at nothing private: ε, the bound n
    on the rows, m attributes with V values in all, K classes.  Naive Bayes is taken if K >= 8,
    K >= m, V <= 4 m and ε n >= 16 V K; in all other cases a tree.

    *Why.*  A leaf of a tree has one class, so that K classes take log2 K levels of choices before
    each could have a leaf, and every level costs a share of ε.  To naive Bayes every attribute
    costs a share and classes cost nothing but rows: it releases V K counts with noise of m/ε rows
    each.  But it sees attributes one by one, and its bins are coarse; a tree makes more of
    attributes with many values.  With fewer classes the question is whether attributes tell of the
    class one by one or together; that is not public, and a tree is safer.
    `dampen-studies run bins` compares rules, leaving one table out at a time.

    >>> prefers_bayes(Fraction(1), 2_800, [2] * 7, 10)
    True
    >>> prefers_bayes(Fraction(1), 14_000, [10] * 16, 26)
    False
    """
    counts = sum(sizes) * classes
    few = classes >= max(MANY, len(sizes)) and sum(sizes) <= FEW_VALUES * len(sizes)
    return few and epsilon * max_rows >= ROWS_OF_A_COUNT * counts


def open_supervised(
    question: Asked, data: Any, *, header: bool, table: str | None, numbers: bool = False
) -> Opened:
    """Opens a table with a column of classes, or of numbers, and checks its columns; reads no row.

    Raises:
        ParameterError: if a public parameter is wrong.
    """
    opened = open_table(data, header=header, table=table, where=question.where)
    supervision(question, opened, numbers=numbers)
    return opened


def supervision(
    question: Asked, source: Opened, *, counts_rows: bool = True, numbers: bool = False
) -> Supervision:
    """The public facts of a table, as a question states them, and the facts to be found.

    Args:
        question: what is asked.
        source: the opened table.
        counts_rows: whether the model needs the number of rows.
        numbers: whether the target is one of numbers.

    Raises:
        ParameterError: if something of it is wrong, or does not fit the table.
    """
    if question.public is not None:
        checked_choice("public", question.public, ("data",))
    delta = Fraction(0) if question.delta is None else exact_delta(question.delta)
    if question.max_rows is not None:
        check_max_rows(question.max_rows)
    columns = _columns(question, source)
    require_labels(source, question.target, *columns)
    given = given_domains(_relevant(question.domains, columns, source), columns)
    domains = dict(zip(columns, given, strict=True))
    numeric = [name for name in columns if isinstance(domains[name], Bins)]
    numeric = [name for name in numeric if not _has_days(domains[name])]
    require_numbers(source, *numeric, *[question.target] * numbers)
    fields = {field.name: field for field in source.fields}
    kinds = {
        name: _kind(question.domains, name, kind_of(fields[name]))
        for name in columns
        if domains[name] is None
    }
    leaky = question.public == "data"
    classes = _classes(question, leaky=leaky)
    search = Search(kinds, question.max_rows, delta, counts_rows)
    return Supervision(question.target, domains, classes, search, leaky, numbers)


def _kind(domains: Domains, name: str, declared: ColumnKind) -> ColumnKind:
    """The kind of a column without a domain, from its type or from a schema."""
    stated = domains.get(name) if isinstance(domains, Mapping) else None
    if declared in ("either", "text") and isinstance(stated, facts.Numbers) and stated.dates:
        return "days"
    if declared != "either" or stated is None:
        return declared
    return "numbers" if isinstance(stated, facts.Numbers) else "text"


def _classes(question: Asked, *, leaky: bool) -> Classes | None:
    """The public classes.

    Raises:
        ParameterError: if they are not stated, or wrong.
    """
    stated = question.classes
    if isinstance(stated, Bins):
        return stated
    if stated is not None:
        return checked_classes(stated).values
    if not leaky:
        raise ParameterError(
            "Expected classes=[...], the public list of at least two classes, such as ['no', "
            "'yes']. Finding them privately would miss rare ones."
        )
    return None


def _has_days(domain: Domain | None) -> bool:
    return isinstance(domain, Bins) and domain.days


def _columns(question: Asked, source: Opened) -> list[str]:
    """The columns to predict from: those asked for, those with a domain, or all but the target.

    Raises:
        ParameterError: if they cannot be told, there is none, or one is the target.
    """
    if question.columns is not None:
        columns = _asked_columns(question.columns)
        if question.target in columns:
            raise ParameterError(
                f"Expected columns other than {question.target!r}, which is the target."
            )
    elif isinstance(question.domains, Mapping) and question.domains:
        columns = [str(name) for name in question.domains if name != question.target]
    elif source.declared:
        columns = [field.name for field in source.fields if field.name != question.target]
    else:
        raise ParameterError(
            f"Expected the columns to predict from: the first line of {source.title} may be data, "
            "so names are not taken from it. Pass header=True if that line holds the names of the "
            "columns, or name them with columns=[...] or in a file of facts, which `dampen draft "
            "FILE` drafts."
        )
    if not columns:
        raise ParameterError("Expected at least one column besides the target.")
    return columns


def _asked_columns(columns: Any) -> list[str]:
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise ParameterError(f"Expected columns to be a list of names, got {a_thing(columns)}.")
    names = [str(name) for name in columns]
    if len(set(names)) < len(names):
        raise ParameterError("Expected different columns; some are listed twice.")
    return names


def _relevant(domains: Domains, columns: Sequence[str], source: Opened) -> Domains:
    """The domains of the columns that are asked for; domains of unknown columns are refused."""
    if not isinstance(domains, Mapping):
        return domains
    left_out = {field.name for field in source.fields}.difference(columns)
    return {name: domain for name, domain in domains.items() if name not in left_out}


def _search_plan(
    question: Asked, price: Price, source: Opened | None, *, counts_rows: bool = True
) -> SearchPlan | None:
    """What would be found of a table and what that costs; None where nothing is to be found."""
    if source is None:
        return None
    known = supervision(question, source, counts_rows=counts_rows)
    return None if known.complete else SearchPlan(price.asked(), known.search)


def _public_domains(question: Asked) -> list[Domain]:
    """The domains without a table.

    Raises:
        ParameterError: if they are not given.
    """
    domains = question.domains
    if domains is None:
        raise ParameterError(LACKING)
    if isinstance(domains, Mapping):
        names = [str(name) for name in domains if name != question.target]
        given = given_domains({name: domains[name] for name in names}, names)
    else:
        names = [f"x{i}" for i in range(len(domains))] if hasattr(domains, "__len__") else []
        given = given_domains(domains, names)
    return [domain for domain in given if domain is not None]


def _coarse_domains(question: Asked) -> list[Domain]:
    return [fixed(domain, COARSEST) for domain in _public_domains(question)]


def _tree_plan(
    question: Asked,
    price: Price,
    *,
    max_depth: int | None = None,
    stages: Sequence[int] | None = None,
    probabilities: bool = False,
) -> TreePlan:
    domains = _public_domains(question)
    classes = _classes(question, leaky=True)
    if classes is None or question.max_rows is None:
        raise ParameterError(LACKING)
    numbers = isinstance(classes, Bins)
    count = bin_count(len(domains), SUMS_OF_NUMBERS if numbers else len(classes))
    plan = partial(
        tree_plan,
        domains=[fixed(domain, count) for domain in domains],
        classes=len(classes),
        max_rows=question.max_rows,
        max_depth=max_depth,
        stages=stages,
        selection=price.selection,
        probabilities=probabilities,
        numbers=numbers,
    )
    return plan(price.asked(lambda e: plan(e).rho))


def _bayes_plan(question: Asked, price: Price) -> BayesPlan:
    domains = _coarse_domains(question)
    if question.classes is None:
        raise ParameterError(LACKING)
    values = sum(map(len, domains))
    classes = len(checked_classes(question.classes))
    noise = noise_for(price)
    epsilon = price.asked(bayes_rho(len(domains), noise))
    return BayesPlan(epsilon, len(domains), values, classes, noise)
