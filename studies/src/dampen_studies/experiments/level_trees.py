"""Trees that are grown level by level by other rules than the library's, on tables of codes.

For comparisons on public data: they draw as a release would, but nothing is charged.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dampen.core.mechanisms import named, select
from dampen.core.sampling import Entropy, SystemEntropy, discrete_laplace, fresh
from dampen.core.selection import IntArray
from dampen.questions.classify.encoding import Branching, Domain, as_domain, candidates_of
from dampen.questions.classify.growing import Rows, Rule, Selections, grow, most_frequent
from dampen.questions.classify.model import Tree, collapsed
from dampen.questions.classify.plan import default_depth, split_shares
from dampen.questions.classify.splits import Criterion, split_selection

__all__ = [
    "LevelTree",
    "StoppingMax",
    "by_gain",
    "by_gini",
    "by_max",
    "by_tsallis",
    "level_tree",
]


@dataclass
class LevelTree:
    """A tree by any rule; codes are the values, and classes are numbered.

    Attributes:
        rule: how the nodes of a level are decided.
        domains: of every column.
        classes: how many there are.
        branching: into two branches, or one per value.
        entropy: of random bits; a seeded one starts anew at every fit.
    """

    rule: Rule
    domains: Sequence[Domain]
    classes: int
    branching: Branching = "binary"
    entropy: Entropy = field(default_factory=SystemEntropy)
    tree: Tree | None = None

    def fit(self, codes: NDArray[Any], classes: IntArray) -> "LevelTree":
        """Grows the tree."""
        candidates = candidates_of(self.domains, self.branching)
        rows = Rows(codes.astype(np.int16), classes.astype(np.int64), self.classes)
        self.tree = collapsed(grow(self.rule, candidates, rows, entropy=fresh(self.entropy)))
        return self

    def predict(self, codes: NDArray[Any]) -> IntArray:
        """The class of every row."""
        assert self.tree is not None
        found: IntArray = self.tree.label[self.tree.apply(codes)]
        return found

    def score(self, codes: NDArray[Any], classes: IntArray) -> float:
        """The share of rows that are classified rightly."""
        return float(np.mean(self.predict(codes) == classes))


def by_gain(level: int, depth: int) -> Criterion:
    """Information gain on every level."""
    del level, depth
    return "information-gain"


def by_max(level: int, depth: int) -> Criterion:
    """`max` on every level."""
    del level, depth
    return "max"


def by_tsallis(level: int, depth: int) -> Criterion:
    """`tsallis`, and `max` on the last level: the library's own."""
    return "max" if level == depth - 1 else "tsallis"


def by_gini(level: int, depth: int) -> Criterion:
    """`gini`, and `max` on the last level: the library's of 0.1."""
    return "max" if level == depth - 1 else "gini"


def level_tree(
    epsilon: str,
    depth: int | None = None,
    *,
    criterion: Callable[[int, int], Criterion] = by_gain,
    mechanism: str = "pf",
    one_sided: bool = True,
    shares: Sequence[Fraction] | None = None,
    domains: Sequence[Any],
    classes: Sequence[Any],
    max_rows: int,
    entropy: Entropy | None = None,
) -> LevelTree:
    """A binary tree whose splits are selected one by one; by default of the library's depth.

    Args:
        epsilon: of the whole tree.
        depth: levels of splits.
        criterion: what the splits of a level maximise, given the depth.
        mechanism: how a split is selected.
        one_sided: False makes `em` and `pf` pay the factor 2 that they need not.
        shares: of ε, for each level and then for the leaves.
        domains: of every column.
        classes: 0, 1, ...
        max_rows: a public bound on the number of rows.
        entropy: of random bits.
    """
    found = (as_domain(domain, f"x{i}") for i, domain in enumerate(domains))
    known = [domain for domain in found if domain is not None]
    size = len(candidates_of(known))
    exact = Fraction(epsilon)
    chosen = default_depth(exact, max_rows, size, len(classes)) if depth is None else depth
    rule = Selections(
        exact,
        max_rows,
        tuple(shares or split_shares((1,) * chosen)),
        tuple(criterion(level, chosen) for level in range(chosen)),
        named(mechanism),
        one_sided=one_sided,
    )
    return LevelTree(rule, known, len(classes), "binary", entropy or SystemEntropy())


@dataclass(frozen=True)
class StoppingMax:
    """The paper's template with the criterion `max` and classes by permute-and-flip."""

    query_epsilon: Fraction
    max_rows: int
    depth: int
    widest: int

    def growing(self, level: int, totals: IntArray, entropy: Entropy, /) -> list[int]:
        """The stop rule of `dampen.paper.id3`."""
        del level
        scale = 1 / self.query_epsilon
        noisy = totals.sum(axis=1) + discrete_laplace(scale, len(totals), entropy)
        least = np.sqrt(2) / float(self.query_epsilon) * self.widest * totals.shape[1]
        return [int(i) for i in np.flatnonzero(noisy >= least)]

    def choose(self, level: int, table: IntArray, starts: IntArray, entropy: Entropy, /) -> int:
        """The attribute whose values classify most rows rightly."""
        del level
        node = split_selection(table, starts, self.max_rows, "max")
        picked = select(node, epsilon=self.query_epsilon, mechanism=named("pf"), entropy=entropy)
        assert isinstance(picked, int)
        return picked

    def labels(
        self, level: int, counts: IntArray, entropy: Entropy, /
    ) -> tuple[IntArray, IntArray | None]:
        """The classes of leaves."""
        del level
        found = [most_frequent(leaf, self.query_epsilon, entropy) for leaf in counts]
        return np.array(found, dtype=np.int64), None
