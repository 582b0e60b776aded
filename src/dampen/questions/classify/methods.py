"""How classifiers are made: a tree that is grown in stages, or the noisy tables of naive Bayes.

**What a leaf of a tree will be worth**, from the public plan alone (`dampen.releases.accuracy`).
The class of a leaf is drawn by permute-and-flip on the counts of its rows, as the most frequent
category is, or by the exponential mechanism, where levels above it are drawn with it.  So a class
that leads every other one by some number of rows *in its leaf* is named with a probability of 0.9,
whatever the splits are.  Where not even all rows together make such a lead, every leaf is close to
chance.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dampen.core.mechanisms import named
from dampen.core.sampling import LARGEST_SCALE, Entropy
from dampen.core.selection import Neighbours, Selection
from dampen.core.sensitivity import constant
from dampen.data.source import Opened
from dampen.errors import ParameterError
from dampen.questions.classify.candidates import candidates_of
from dampen.questions.classify.encoding import Domain, first_codes
from dampen.questions.classify.growing import grown
from dampen.questions.classify.model import bayes_content, tree_content
from dampen.questions.classify.noisy_tables import noise_scale, noisy_tables
from dampen.questions.classify.plan import JOINT, TreePlan, given_stages, is_staged, tree_plan
from dampen.questions.classify.rows import ReadRows, read_rows
from dampen.releases.accuracy import UNKNOWN, Accuracy, by_distance, by_lead, lead, likely_noise
from dampen.releases.cost import Cost, Price, composed_cost
from dampen.releases.method import Drawn, Leak

__all__ = ["BayesMethod", "Supervision", "TreeMethod", "has_names", "leaf_lead"]

COUNTS = Selection(np.zeros(3, dtype=np.int64), constant(1), one_sided=True, exact=True)
UNPLANNED = f"pf or {JOINT}"
"""What a tree is made by where its plan follows the data."""


@dataclass(frozen=True)
class Supervision:
    """What is public of a table with a column of classes.

    Attributes:
        target: the column of classes.
        domains: of every column to predict from, None where it is not public.
        classes: None where they are not public.
        max_rows: a bound on the number of rows, if one is public.
    """

    target: str
    domains: Mapping[str, Domain | None]
    classes: Sequence[Hashable] | None
    max_rows: int | None

    def leaks(self, *, bounded: bool) -> tuple[Leak, ...]:
        """The public parameters that are missing, each with its remedy.

        Args:
            bounded: whether the number of rows is one of them.
        """
        leaks = [
            Leak(
                "domains",
                f"The domain of {name}",
                f"Pass domains={{{name!r}: dampen.bins(low, high, count)}} or a list of "
                "categories.",
            )
            for name, domain in self.domains.items()
            if domain is None
        ]
        if self.classes is None:
            leaks.append(Leak("classes", "The list of classes", "Pass classes=[...]."))
        if bounded and self.max_rows is None:
            leaks.append(Leak("max_rows", "The number of rows", "Pass max_rows=, a public bound."))
        return tuple(leaks)

    def public_domains(self) -> list[Domain]:
        """Of every column; all of them are public."""
        return [domain for domain in self.domains.values() if domain is not None]

    def read(self, source: Opened) -> ReadRows:
        """The private rows."""
        return read_rows(source, self.domains, self.target, self.classes)

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
        plan: all public decisions; None where they follow the data.
    """

    query: str
    table: Supervision
    max_depth: int | None = None
    stages: Sequence[int] | None = None
    plan: TreePlan | None = None

    @classmethod
    def planned(
        cls,
        query: str,
        table: Supervision,
        price: Price,
        *,
        max_depth: int | None = None,
        stages: Sequence[int] | None = None,
    ) -> "TreeMethod":
        """Decides all that is public at this price."""
        method = cls(query, table, max_depth, stages)
        given_stages(max_depth, stages)
        epsilon = method.cost(price).epsilon
        if method.leaks():
            return method
        assert table.classes is not None
        assert table.max_rows is not None
        plan = method._plan(epsilon, table.public_domains(), len(table.classes), table.max_rows)
        return cls(query, table, max_depth, stages, plan)

    @property
    def mechanism(self) -> str:
        """The name of what is used."""
        if self.plan is not None:
            return self.plan.mechanism
        given = given_stages(self.max_depth, self.stages)
        return "pf" if given is not None and not is_staged(given) else UNPLANNED

    def cost(self, price: Price, /) -> Cost:
        leaks = dict.fromkeys(leak.parameter for leak in self.leaks())
        return composed_cost(
            Neighbours.ADD_REMOVE_ROW,
            price,
            query=self.query,
            mechanism=self.mechanism,
            leaks=tuple(leaks),
        )

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        if self.plan is None:
            return UNKNOWN
        return by_lead(
            leaf_lead(self.plan),
            "rows",
            who=("class", "classes"),
            k=1,
            epsilon=epsilon,
            most=self.table.most(rows),
            of="that leaf",
            subject="the class of a leaf",
        )

    def leaks(self) -> tuple[Leak, ...]:
        return self.table.leaks(bounded=True)

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        read = self.table.read(source)
        domains = list(read.domains.values())
        max_rows = self.table.max_rows or read.size
        plan = self.plan or self._plan(epsilon, domains, len(read.classes), max_rows)
        tree = grown(plan, candidates_of(domains), read.rows, entropy=entropy)
        named = has_names(source)
        content = tree_content(read.domains, read.classes, plan.facts, tree, named=named)
        return Drawn(content, {"depth": plan.depth})

    def _plan(
        self, epsilon: Fraction, domains: Sequence[Domain], classes: int, max_rows: int
    ) -> TreePlan:
        return tree_plan(
            epsilon,
            domains,
            classes=classes,
            max_rows=max_rows,
            max_depth=self.max_depth,
            stages=self.stages,
        )


@dataclass(frozen=True)
class BayesMethod:
    """One noisy histogram per attribute and class; see `dampen.questions.classify.noisy_tables`.

    Attributes:
        query: what is asked, for the ledger.
        table: what is public of it.
    """

    query: str
    table: Supervision

    def cost(self, price: Price, /) -> Cost:
        leaks = dict.fromkeys(leak.parameter for leak in self.leaks())
        cost = composed_cost(
            Neighbours.ADD_REMOVE_ROW,
            price,
            query=self.query,
            mechanism="discrete-laplace",
            leaks=tuple(leaks),
        )
        attributes = len(self.table.domains)
        if noise_scale(attributes, cost.epsilon) > LARGEST_SCALE:
            raise ParameterError(
                f"Expected epsilon >= {attributes} / 2^40 for {attributes} attributes. Raise "
                "epsilon."
            )
        return cost

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        noise = likely_noise(1 / noise_scale(len(self.table.domains), epsilon), 1)
        return by_distance(
            noise,
            "rows",
            subject="a noisy count",
            target="the true count",
            epsilon=epsilon,
            most=self.table.most(rows),
        )

    def leaks(self) -> tuple[Leak, ...]:
        return self.table.leaks(bounded=False)

    def draw(self, source: Opened, epsilon: Fraction, entropy: Entropy, /) -> Drawn:
        read = self.table.read(source)
        first = first_codes(list(read.domains.values()))
        counts = read.rows.tables([0], first)[0]
        tables = noisy_tables(counts, first, epsilon, entropy=entropy)
        named = has_names(source)
        content = bayes_content(read.domains, read.classes, epsilon, tables, named=named)
        return Drawn(content, {"attributes": len(read.domains)})


def leaf_lead(plan: TreePlan) -> float:
    """The lead in rows at which the class of a deepest leaf is right with probability 0.9."""
    mechanism = named("em" if plan.staged else "pf")
    needed = lead(COUNTS, mechanism, m=plan.classes, k=1, epsilon=plan.label_epsilon)
    assert needed is not None
    return needed


def has_names(source: Opened) -> bool:
    """Whether the columns have names of their own; those of an array have not."""
    return bool(getattr(source, "named", True))
