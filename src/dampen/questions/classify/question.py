"""The questions for a classifier: a decision tree, naive Bayes, or the one that public facts
recommend.

**Which of them** (`ClassifierQuestion`).  The choice looks at nothing private: ε, the bound n on
the rows, m attributes with V values in all, K classes.  Naive Bayes is taken if K >= 8, K >= m and
ε n >= V K.

*Why.*  A leaf of a tree has one class, so that K classes take log2 K levels of choices before each
could have a leaf, and every level costs a share of ε.  To naive Bayes every attribute costs a share
and classes cost nothing but rows: it releases V K counts with noise of m/ε rows each, which
ε n >= V K makes worth having.  With many classes and few attributes it therefore pays less.  With
fewer classes the question is whether attributes tell of the class one by one or together; that is
not public, and a tree is safer.  `dampen-studies run models` compares them.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from dampen.data.open import open_table
from dampen.data.source import Opened, require_labels, require_numbers
from dampen.errors import ParameterError
from dampen.questions.classify.encoding import Bins, Domain, checked_classes, given_domains
from dampen.questions.classify.methods import BayesMethod, Supervision, TreeMethod
from dampen.questions.classify.noisy_tables import BayesPlan
from dampen.questions.classify.plan import TreePlan, tree_plan
from dampen.questions.classify.prediction import wrong_share
from dampen.questions.classify.splits import check_max_rows
from dampen.releases.cost import Price
from dampen.releases.question import Fact, Shape, parameter, where_parameter
from dampen.schema.schema import Schema

__all__ = [
    "Asked",
    "BayesQuestion",
    "ClassifierQuestion",
    "TreeQuestion",
    "open_supervised",
    "prefers_bayes",
    "shown_facts",
    "supervision",
]

HALF = Fraction(1, 2)
"""The cost of a model in zCDP is ε²/2."""
MANY = 8
"""From so many classes on, naive Bayes is considered."""
Domains: TypeAlias = Mapping[str, Any] | Sequence[Any] | None


class Asked(Protocol):
    """What every question for a classifier states."""

    @property
    def target(self) -> str: ...
    @property
    def columns(self) -> Sequence[str] | None: ...
    @property
    def domains(self) -> Domains: ...
    @property
    def classes(self) -> Sequence[Hashable] | None: ...
    @property
    def max_rows(self) -> int | None: ...
    @property
    def where(self) -> str | None: ...


@dataclass(frozen=True, kw_only=True)
class TreeQuestion:
    """Which decision tree predicts the class of a row?"""

    target: str = parameter("column", "Column of the classes.", holds="categories")
    columns: Sequence[str] | None = parameter(
        "columns", "Columns to predict from; all that have a domain if left out.", default=None
    )
    max_depth: int | None = parameter(
        "count",
        "Levels of splits, each selected by itself; chosen from ε and the public sizes if left "
        "out.",
        default=None,
        label="Depth",
        least=0,
    )
    stages: Sequence[int] | None = parameter(
        "other",
        "In place of a depth, the levels that each stage decides, such as (1, 1, 4).",
        default=None,
    )
    domains: Domains = parameter(
        "other",
        "Public bins or categories of every column.",
        default=None,
        fact=Fact("domains"),
    )
    classes: Sequence[Hashable] | None = parameter(
        "labels", "Public list of the classes.", default=None, fact=Fact("values", of="target")
    )
    max_rows: int | None = parameter(
        "count", "Public upper bound on the number of rows.", default=None, fact=Fact("rows")
    )
    where: str | None = where_parameter()
    name: ClassVar[str] = "tree"
    title: ClassVar[str] = "Decision tree"
    data: ClassVar[Literal["table", "edges"]] = "table"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen tree census.csv --target income --schema census.toml --epsilon 1 --max-depth 4 "
        "-o model.json",
        "dampen predict model.json new.csv",
    )
    estimator: ClassVar[str] = "TreeClassifier"

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Opened:
        return open_supervised(self, data, header=header, table=table)

    def method(self, source: Opened, schema: Schema, price: Price, /) -> TreeMethod:
        del schema
        facts = supervision(self, source)
        return TreeMethod.planned(
            self.name, facts, price, max_depth=self.max_depth, stages=self.stages
        )

    def plan(self, price: Price) -> TreePlan:
        """What would be done; no data is needed.

        Raises:
            ParameterError: unless `domains`, `classes` and `max_rows` are given.
        """
        return _tree_plan(self, price, max_depth=self.max_depth, stages=self.stages)

    def shown(self) -> Mapping[str, Any]:
        return shown_facts(self)

    def text(self) -> str:
        return f"for {self.target}"

    def shape(self) -> Shape:
        return "model"

    def wrong_share(self, answer: Any, source: Opened, /) -> float:
        """The share of the rows that a model gets wrong; for public data."""
        return wrong_share(answer, source, self.target)


@dataclass(frozen=True, kw_only=True)
class BayesQuestion:
    """Which naive Bayes predicts the class of a row?"""

    target: str = parameter("column", "Column of the classes.", holds="categories")
    columns: Sequence[str] | None = parameter(
        "columns",
        "Columns to predict from, each of which adds noise; all that have a domain if left out.",
        default=None,
    )
    domains: Domains = parameter(
        "other",
        "Public bins or categories of every column.",
        default=None,
        fact=Fact("domains"),
    )
    classes: Sequence[Hashable] | None = parameter(
        "labels", "Public list of the classes.", default=None, fact=Fact("values", of="target")
    )
    max_rows: int | None = parameter(
        "count", "Public upper bound on the number of rows.", default=None, fact=Fact("rows")
    )
    where: str | None = where_parameter()
    name: ClassVar[str] = "naive-bayes"
    title: ClassVar[str] = "Naive Bayes"
    data: ClassVar[Literal["table", "edges"]] = "table"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen naive-bayes census.csv --target income --schema census.toml --epsilon 1 "
        "-o model.json",
        "dampen predict model.json new.csv",
    )
    estimator: ClassVar[str] = "NaiveBayesClassifier"

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Opened:
        return open_supervised(self, data, header=header, table=table)

    def method(self, source: Opened, schema: Schema, price: Price, /) -> BayesMethod:
        del schema, price
        return BayesMethod(self.name, supervision(self, source))

    def plan(self, price: Price) -> BayesPlan:
        """What would be done; no data is needed.

        Raises:
            ParameterError: unless `domains` and `classes` are given.
        """
        return _bayes_plan(self, price)

    def shown(self) -> Mapping[str, Any]:
        return shown_facts(self)

    def text(self) -> str:
        return f"for {self.target}"

    def shape(self) -> Shape:
        return "model"

    def wrong_share(self, answer: Any, source: Opened, /) -> float:
        """The share of the rows that a model gets wrong; for public data."""
        return wrong_share(answer, source, self.target)


@dataclass(frozen=True, kw_only=True)
class ClassifierQuestion:
    """Which tree or naive Bayes predicts the class of a row?

    Which of the two is fitted follows from public facts: ε, the bound on rows, columns, classes.
    """

    target: str = parameter("column", "Column of the classes.", holds="categories")
    columns: Sequence[str] | None = parameter(
        "columns", "Columns to predict from; all that have a domain if left out.", default=None
    )
    domains: Domains = parameter(
        "other",
        "Public bins or categories of every column.",
        default=None,
        fact=Fact("domains"),
    )
    classes: Sequence[Hashable] | None = parameter(
        "labels", "Public list of the classes.", default=None, fact=Fact("values", of="target")
    )
    max_rows: int | None = parameter(
        "count", "Public upper bound on the number of rows.", default=None, fact=Fact("rows")
    )
    where: str | None = where_parameter()
    name: ClassVar[str] = "classifier"
    title: ClassVar[str] = "Classifier"
    data: ClassVar[Literal["table", "edges"]] = "table"
    examples: ClassVar[tuple[str, ...]] = (
        "dampen classifier census.csv --target income --schema census.toml --epsilon 1 "
        "-o model.json",
        "dampen predict model.json new.csv",
    )
    estimator: ClassVar[str] = "Classifier"

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Opened:
        return open_supervised(self, data, header=header, table=table)

    def method(self, source: Opened, schema: Schema, price: Price, /) -> TreeMethod | BayesMethod:
        del schema
        facts = supervision(self, source)
        if facts.leaks(bounded=True):
            return TreeMethod.planned(self.name, facts, price)
        if self._prefers_bayes(facts.public_domains(), price):
            return BayesMethod(self.name, facts)
        return TreeMethod.planned(self.name, facts, price)

    def plan(self, price: Price) -> TreePlan | BayesPlan:
        """What would be done; no data is needed.

        Raises:
            ParameterError: unless `domains`, `classes` and `max_rows` are given.
        """
        tree = _tree_plan(self, price)
        if self._prefers_bayes(_public_domains(self), price):
            return _bayes_plan(self, price)
        return tree

    def shown(self) -> Mapping[str, Any]:
        return shown_facts(self)

    def text(self) -> str:
        return f"for {self.target}"

    def shape(self) -> Shape:
        return "model"

    def wrong_share(self, answer: Any, source: Opened, /) -> float:
        """The share of the rows that a model gets wrong; for public data."""
        return wrong_share(answer, source, self.target)

    def _prefers_bayes(self, domains: Sequence[Domain], price: Price) -> bool:
        assert self.classes is not None
        assert self.max_rows is not None
        sizes = [len(domain) for domain in domains]
        return prefers_bayes(price.asked(HALF), int(self.max_rows), sizes, len(self.classes))


def prefers_bayes(epsilon: Fraction, max_rows: int, sizes: Sequence[int], classes: int) -> bool:
    """The public rule: many classes, no more attributes, and a row times ε for every count.

    >>> prefers_bayes(Fraction(1), 14_000, [10] * 16, 26)
    True
    >>> prefers_bayes(Fraction(1, 10), 14_000, [10] * 16, 26)
    False
    """
    return classes >= max(MANY, len(sizes)) and epsilon * max_rows >= sum(sizes) * classes


def open_supervised(question: Asked, data: Any, *, header: bool, table: str | None) -> Opened:
    """Opens a table with a column of classes and checks its columns; reads no row.

    Raises:
        ParameterError: if a public parameter is wrong.
    """
    opened = open_table(data, header=header, table=table, where=question.where)
    supervision(question, opened)
    return opened


def supervision(question: Asked, source: Opened) -> Supervision:
    """What is public of a table, as a question states it.

    Raises:
        ParameterError: if something of it is wrong, or does not fit the table.
    """
    classes = question.classes
    if classes is not None:
        classes = checked_classes(classes).values
    if question.max_rows is not None:
        check_max_rows(question.max_rows)
    columns = _columns(question, source)
    require_labels(source, question.target, *columns)
    given = given_domains(_relevant(question.domains, columns, source), columns)
    domains = dict(zip(columns, given, strict=True))
    require_numbers(source, *[name for name in columns if isinstance(domains[name], Bins)])
    return Supervision(question.target, domains, classes, question.max_rows)


def shown_facts(question: Asked) -> dict[str, Any]:
    """The public parameters of a model as a release shows them."""
    facts: dict[str, Any] = {}
    if question.classes is not None:
        facts["classes"] = len(question.classes)
    if question.max_rows is not None:
        facts["max_rows"] = int(question.max_rows)
    return facts


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
    elif isinstance(question.domains, Mapping):
        columns = [str(name) for name in question.domains if name != question.target]
    elif source.declared:
        columns = [field.name for field in source.fields if field.name != question.target]
    else:
        raise ParameterError(
            f"Expected domains by the names of columns, or header=True: the first line of "
            f"{source.title} may be data."
        )
    if not columns:
        raise ParameterError("Expected at least one column besides the target.")
    return columns


def _asked_columns(columns: Any) -> list[str]:
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise ParameterError(
            f"Expected columns to be a list of names, got a {type(columns).__name__}."
        )
    names = [str(name) for name in columns]
    if len(set(names)) < len(names):
        raise ParameterError("Expected different columns; some are listed twice.")
    return names


def _relevant(domains: Domains, columns: Sequence[str], source: Opened) -> Domains:
    """Without the domains of columns that are not asked for; those of no column are refused."""
    if not isinstance(domains, Mapping):
        return domains
    left_out = {field.name for field in source.fields}.difference(columns)
    return {name: domain for name, domain in domains.items() if name not in left_out}


def _public_domains(question: Asked) -> list[Domain]:
    """The domains without a table.

    Raises:
        ParameterError: if they are not given.
    """
    domains = question.domains
    if domains is None:
        raise ParameterError("Expected domains=, classes= and max_rows= for a plan.")
    if isinstance(domains, Mapping):
        names = [str(name) for name in domains if name != question.target]
        given = given_domains({name: domains[name] for name in names}, names)
    else:
        names = [f"x{i}" for i in range(len(domains))] if hasattr(domains, "__len__") else []
        given = given_domains(domains, names)
    return [domain for domain in given if domain is not None]


def _tree_plan(
    question: Asked,
    price: Price,
    *,
    max_depth: int | None = None,
    stages: Sequence[int] | None = None,
) -> TreePlan:
    domains = _public_domains(question)
    if question.classes is None or question.max_rows is None:
        raise ParameterError("Expected domains=, classes= and max_rows= for a plan.")
    return tree_plan(
        price.asked(HALF),
        domains,
        classes=len(checked_classes(question.classes)),
        max_rows=question.max_rows,
        max_depth=max_depth,
        stages=stages,
    )


def _bayes_plan(question: Asked, price: Price) -> BayesPlan:
    domains = _public_domains(question)
    if question.classes is None:
        raise ParameterError("Expected domains= and classes= for a plan.")
    values = sum(map(len, domains))
    classes = len(checked_classes(question.classes))
    return BayesPlan(price.asked(HALF), len(domains), values, classes)
