"""The paper's decision trees (section 7): ID3 with one branch per value and noisy counts.

All follow one template (Friedman & Schuster 2010).  A node first gets a noisy count of its rows,
which may end the branch; then an attribute is selected by information gain, or, in a leaf, the
classes get noisy counts.  Depth d, each query at ε' = ε / (2 (d+1)).  The algorithms differ in how
the attribute is selected:

| name | selection by information gain |
|---|---|
| `GlobalDiffPID3` | exponential mechanism with the factor 1/2, as printed |
| `LocalDiffPID3` | local dampening |
| `ShiftedLocalDiffPID3` | shifted local dampening |
| `SuLQID3` | the best gain of noisy counts of every attribute (Blum et al. 2005) |

**Theorem.**  A fit is ε-DP under adding or removing one row.  Proof: the nodes of a level hold
disjoint rows, and which rows a node holds follows from splits that were released before.  So a row
takes part in one node per level, which spends ε' on its count and ε' on its split or its leaf; d+1
levels spend ε.  One count changes by 1, so its noise has scale 1/ε'; of the counts of the classes
in a leaf one changes by 1.  In zCDP a fit costs the sum of these queries' own prices.

Three things that are printed otherwise make the trees private and sensible: Δ uses the public bound
`max_rows`, not the rows of the node; bins are public; a branch ends where N / (t |C|) is below
sqrt(2) / ε', for a noisy count N, at most t values and |C| classes.  The paper's sensitivity
function (`Candidates`, with `a < τ`) is not admissible; `dampen.questions.classify.splits` has one
that is.

`dampen.TreeClassifier` is more accurate than all of them at every ε that we tried.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from dampen.core.mechanisms import MECHANISMS, named, select
from dampen.core.noise import pure_rho
from dampen.core.sampling import Entropy, discrete_laplace
from dampen.core.selection import FloatArray, IntArray
from dampen.data.source import Opened
from dampen.epsilon import Epsilon
from dampen.questions.classify.encoding import candidates_of
from dampen.questions.classify.estimator import PrivateClassifier
from dampen.questions.classify.growing import grow
from dampen.questions.classify.model import TreeModel, tree_content
from dampen.questions.classify.plan import Spending, TreeFacts, checked_depth
from dampen.questions.classify.question import (
    ClassQuestion,
    Domains,
    Supervision,
    classes_parameter,
    columns_parameter,
    delta_parameter,
    domains_parameter,
    has_names,
    max_rows_parameter,
    public_parameter,
    supervision,
)
from dampen.questions.classify.splits import check_integer, split_selection
from dampen.releases.accuracy import UNKNOWN, Accuracy, by_lead, likely_noise
from dampen.releases.cost import Budget, Cost, Price
from dampen.releases.method import Drawn, Leak
from dampen.releases.numbers import check_scale
from dampen.releases.question import checked_choice, parameter, where_parameter
from dampen.schema.schema import Schema

__all__ = [
    "DiffPID3",
    "GlobalDiffPID3",
    "ID3Question",
    "LocalDiffPID3",
    "ShiftedLocalDiffPID3",
    "SuLQID3",
]

SULQ = "sulq"
SELECTIONS = (*(each.name for each in MECHANISMS if each.name != "joint"), SULQ)
"""How an attribute can be selected: by a mechanism for one answer, or from noisy counts."""


@dataclass(frozen=True)
class ID3Rule:
    """How the nodes of a level are decided; see `dampen.questions.classify.growing.Rule`.

    Attributes:
        query_epsilon: ε', of every query.
        max_rows: the public bound on the number of rows.
        depth: d.
        widest: t, the most values of an attribute.
        mechanism: how an attribute is selected.
        one_sided: False makes `em` and `pf` pay the factor 2 that they need not, as printed.
    """

    query_epsilon: Fraction
    max_rows: int
    depth: int
    widest: int
    mechanism: str
    one_sided: bool

    def growing(self, level: int, totals: IntArray, entropy: Entropy, /) -> list[int]:
        """The paper's stop rule, on noisy counts: N / (t |C|) < sqrt(2) / ε' makes a leaf."""
        del level
        scale = 1 / self.query_epsilon
        noisy = totals.sum(axis=1) + discrete_laplace(scale, len(totals), entropy)
        least = math.sqrt(2) / float(self.query_epsilon) * self.widest * totals.shape[1]
        return [int(i) for i in np.flatnonzero(noisy >= least)]

    def choose(self, level: int, table: IntArray, starts: IntArray, entropy: Entropy, /) -> int:
        """One attribute, from the counts (value, class) of each."""
        del level
        if self.mechanism == SULQ:
            return _noisiest_gain(table, starts, self.query_epsilon, entropy)
        node = split_selection(
            table, starts, self.max_rows, "information-gain", one_sided=self.one_sided
        )
        mechanism = named(self.mechanism)
        picked = select(node, epsilon=self.query_epsilon, mechanism=mechanism, entropy=entropy)
        assert isinstance(picked, int)
        return picked

    def labels(
        self, level: int, counts: IntArray, entropy: Entropy, /
    ) -> tuple[IntArray, IntArray | None]:
        """The largest of the noisy counts of every leaf, and these counts."""
        del level
        noise = discrete_laplace(1 / self.query_epsilon, counts.size, entropy)
        noisy = counts + noise.reshape(counts.shape)
        return noisy.argmax(axis=1), noisy


def _noisiest_gain(table: IntArray, starts: IntArray, epsilon: Fraction, entropy: Entropy) -> int:
    """SuLQ-based ID3 (Blum et al. 2005): the best information gain of noisy counts.

    Every attribute gets an equal part of ε, half for the counts τ_j and half for the τ_jc.
    """
    scale = 2 * (len(starts) - 1) / epsilon
    cells = table + discrete_laplace(scale, table.size, entropy).reshape(table.shape)
    values = table.sum(axis=1) + discrete_laplace(scale, len(table), entropy)
    whole = np.maximum(values, 1)[:, None]
    part = np.clip(cells, 1, whole)
    gains: FloatArray = np.where(cells > 0, part * np.log2(part / whole), 0.0).sum(axis=1)
    return int(np.argmax(np.add.reduceat(gains, starts[:-1])))


@dataclass(frozen=True, kw_only=True)
class ID3Question(ClassQuestion):
    """Which tree does ID3 grow?"""

    target: str = parameter("column", "Column of the classes.", holds="categories")
    columns: Sequence[str] | None = columns_parameter()
    mechanism: str = parameter(
        "word", "How an attribute is selected.", default="sld", choices=SELECTIONS
    )
    one_sided: bool = parameter(
        "flag", "Whether em and pf save the factor 2 that they need not pay.", default=True
    )
    max_depth: int = parameter("count", "Levels of splits.", default=5, label="Depth", least=0)
    domains: Domains = domains_parameter()
    classes: Sequence[Hashable] | None = classes_parameter()
    max_rows: int | None = max_rows_parameter()
    delta: Epsilon | None = delta_parameter()
    public: Literal["data"] | None = public_parameter()
    where: str | None = where_parameter()
    name: ClassVar[str] = "id3"
    title: ClassVar[str] = "Decision tree of the paper"
    estimator: ClassVar[str] = "DiffPID3"

    def method(self, source: Opened, schema: Schema, price: Price, /) -> "ID3Method":
        del schema, price
        checked_choice("mechanism", self.mechanism, SELECTIONS)
        check_integer("max_depth", self.max_depth, 0)
        checked_depth(self.max_depth)
        return ID3Method(self, supervision(self, source).for_bayes())

    def shown(self) -> Mapping[str, Any]:
        return {**super().shown(), "depth": self.max_depth}


@dataclass(frozen=True)
class ID3Method:
    """The template of the paper with one of its selections."""

    question: ID3Question
    table: Supervision

    @property
    def mechanism(self) -> str:
        """Half of ε is for noisy counts."""
        return f"{self.question.mechanism} + noisy-counts"

    def cost(self, price: Price, /) -> Cost:
        cost = self.table.cost(price, self.question.name, self.mechanism, rho=self._rho)
        parts = 2 * len(self.table.domains) if self.question.mechanism == SULQ else 1
        check_scale(parts / self._query_epsilon(cost.epsilon))
        return cost

    def _rho(self, epsilon: Fraction) -> Fraction:
        """A row is in a count of every level, in a split of all but the last, and in a leaf."""
        each = self._query_epsilon(epsilon)
        chosen = self.question.mechanism
        split = pure_rho(each) if chosen == SULQ else named(chosen).rho(each)
        depth = self.question.max_depth
        return (depth + 2) * pure_rho(each) + depth * split

    def accuracy(self, epsilon: Fraction, rows: int | None, /) -> Accuracy:
        """Noisy counts keep a lead that is more than twice what any of them is likely to be off."""
        if not self.table.complete:
            return UNKNOWN
        assert self.table.classes is not None
        return by_lead(
            2 * likely_noise(self._query_epsilon(epsilon), len(self.table.classes)) + 1,
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
        read = self.table.read(source, epsilon, entropy)
        found = read.found
        left = epsilon - found.epsilon
        facts = self._facts(left, found.rows).after(found.charges)
        candidates = candidates_of(list(read.domains.values()), "multiway")
        rule = ID3Rule(
            self._query_epsilon(left),
            facts.max_rows,
            self.question.max_depth,
            max(map(len, read.domains.values())),
            self.question.mechanism,
            self.question.one_sided,
        )
        tree = grow(rule, candidates, read.rows, entropy=entropy)
        return Drawn(tree_content(read.domains, read.classes, facts, tree, named=has_names(source)))

    def _query_epsilon(self, epsilon: Fraction) -> Fraction:
        return epsilon / (2 * (self.question.max_depth + 1))

    def _facts(self, epsilon: Fraction, max_rows: int) -> TreeFacts:
        depth = self.question.max_depth
        query = self._query_epsilon(epsilon)
        charges = []
        for level in range(depth + 1):
            charges.append(Spending(level, "count", query))
            charges.append(Spending(level, "split" if level < depth else "leaf", query))
        return TreeFacts(epsilon, max_rows, depth, self.mechanism, tuple(charges))


class DiffPID3(PrivateClassifier):
    """ID3 that is ε-differentially private for adding or removing one row, as in the paper.

    Guarantee: as for `dampen.TreeClassifier`.  Leaves have noisy counts, so that `predict_proba`
    gives the mean of every count given its noisy value, as shares.

    Args:
        epsilon: the privacy parameter of one fit; required, unless ρ is given.
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        mechanism: how an attribute is selected: `em`, `ld`, `sld` or `sulq`; or by permute-and-flip
            on the same scores, `pf`, `ld-pf`, `sld-pf`.
        one_sided: False makes `em` and `pf` pay the factor 2 that they need not, as printed.
        max_depth: levels of splits.
        domains: per column the public `dampen.bins(...)`, a list of categories or a number of
            integer codes; by column name, or in column order.
        classes: the public classes.
        max_rows: a public upper bound on the number of rows.
        delta: as for `dampen.TreeClassifier`.
        public: as for `dampen.TreeClassifier`.
        budget: an account to charge ε to, before the data is looked at.
        entropy: of random bits; the operating system's by default.

    >>> public = {"domains": [2, 3], "classes": ["a", "b"], "max_rows": 99}
    >>> model = ShiftedLocalDiffPID3("50", max_depth=1, **public)
    >>> model.fit([[0, 0], [1, 2]] * 40, ["a", "b"] * 40).predict([[0, 0], [1, 2]]).tolist()
    ['a', 'b']
    """

    asks = ID3Question
    holds = (TreeModel,)
    called = "a tree"

    def __init__(
        self,
        epsilon: Epsilon | None = None,
        *,
        rho: Epsilon | None = None,
        mechanism: str = "sld",
        one_sided: bool = True,
        max_depth: int = 5,
        domains: Mapping[str, Any] | Sequence[Any] | None = None,
        classes: Sequence[Hashable] | None = None,
        max_rows: int | None = None,
        delta: Epsilon | None = None,
        public: Literal["data"] | None = None,
        budget: Budget | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.rho = rho
        self.mechanism = mechanism
        self.one_sided = one_sided
        self.max_depth = max_depth
        self.domains = domains
        self.classes = classes
        self.max_rows = max_rows
        self.delta = delta
        self.public = public
        self.budget = budget
        self.entropy = entropy


GlobalDiffPID3 = partial(DiffPID3, mechanism="em", one_sided=False)
"""ID3 by the exponential mechanism with the factor 1/2, which it need not pay."""
LocalDiffPID3 = partial(DiffPID3, mechanism="ld")
"""ID3 by local dampening."""
ShiftedLocalDiffPID3 = partial(DiffPID3, mechanism="sld")
"""ID3 by shifted local dampening."""
SuLQID3 = partial(DiffPID3, mechanism=SULQ)
"""ID3 from noisy counts of every attribute (Blum et al. 2005)."""
