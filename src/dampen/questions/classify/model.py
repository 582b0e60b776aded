"""Released classifiers in plain Python that JSON can hold, and the models made from them.

- `Tree`: where rows go, which class they get, and how sure that is (`leaf_chances`, `leaf_values`).
- `NoisyTables`: naive Bayes: every attribute's histogram by class, released once with exact
  discrete noise.
- `TreeModel`, `RegressionModel`, `BayesModel`: models made from them; `model_of` reads one.
- `report`, `html`: a released model as text, and in a notebook.

All of it is public, and everything here is a function of what was released: it costs nothing
(post-processing).  What comes back is not trusted.  A file may be damaged or hostile, so its size
and its structure are checked before anything is built from it: children come after their parents
(no cycles), every number lies in its range, sizes are bounded.
"""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from html import escape
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dampen.core.losses import equal_parts
from dampen.core.sampling import Entropy
from dampen.core.selection import FloatArray, IntArray, Neighbours
from dampen.epsilon import decimal_text, exact, price_text, root_below
from dampen.errors import ParameterError, raise_alone
from dampen.printing import html_table, printable
from dampen.questions.classify.encoding import (
    COARSEST,
    Bins,
    Branches,
    Categories,
    Classes,
    Domain,
    attributes_of,
    checked_classes,
    class_array,
    columns_of,
    first_codes,
    merged_codes,
    merged_values,
)
from dampen.questions.classify.plan import (
    FEWER_BINS,
    PURPOSES,
    SCORE_BINS,
    WINDOW,
    Spending,
    TreeFacts,
    checked_depth,
)
from dampen.questions.classify.splits import check_max_rows
from dampen.releases.cost import rho_from
from dampen.releases.numbers import GAUSSIAN, LAPLACE, IntegerNoise, with_noise
from dampen.releases.release import Release

__all__ = [
    "BayesModel",
    "BayesPlan",
    "Columns",
    "Model",
    "NoisyTables",
    "RegressionModel",
    "Score",
    "Tree",
    "TreeModel",
    "bayes_content",
    "bayes_rho",
    "chances",
    "collapsed",
    "deviation",
    "expected_counts",
    "filtered_logs",
    "html",
    "leading",
    "leaf_chances",
    "leaf_values",
    "model_of",
    "noise_scale",
    "noisy_tables",
    "read_release",
    "report",
    "table_bins",
    "tree_content",
]


PSEUDO_COUNT = 0.5
LEAST_LEAD = 0.001
MOST_BAYES = 2 / 5
"""The weight of naive Bayes where every count of its tables has very many rows times ε."""
BAYES_POWER = 2.0
"""What its odds are taken to beside a tree, in units of 1/√m for m columns."""
SCORE_STEPS = 2**20
LEAST_SPAN = 1 / 16
"""Of the score of naive Bayes: steps of 1, and from its first bin to its last one."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A released tree: arrays with one entry per node, the root first.  Nothing here is private.

    Attributes:
        attribute: the attribute a node splits by, -1 for a leaf.
        route_start: where a node's routes begin.
        routes: the child for every code of the attribute, node after node.
        label: the class of a leaf, -1 inside the tree.
        level: the distance from the root.
        counts: the noisy class counts of the leaves, where leaves were made from them.
    """

    attribute: IntArray
    route_start: IntArray
    routes: IntArray
    label: IntArray
    level: IntArray
    counts: IntArray | None

    @property
    def leaves(self) -> IntArray:
        """The nodes that are leaves, in their order."""
        return np.flatnonzero(self.attribute < 0)

    @property
    def slots(self) -> IntArray:
        """The place of every leaf among the leaves; -1 inside the tree."""
        leaf = self.attribute < 0
        return np.where(leaf, np.cumsum(leaf) - 1, -1)

    @property
    def depth(self) -> int:
        """The levels of splits."""
        return int(self.level.max())

    def apply(self, codes: Any, above: IntArray | None = None) -> IntArray:
        """The leaf of every row, which is at or below the node `above` if that is known."""
        node = np.zeros(len(codes), dtype=np.int64) if above is None else above.copy()
        moving = np.flatnonzero(self.attribute[node] >= 0)
        while len(moving):
            at = node[moving]
            node[moving] = self.routes[self.route_start[at] + codes[moving, self.attribute[at]]]
            moving = moving[self.attribute[node[moving]] >= 0]
        return node

    def children(self, node: int) -> IntArray:
        """The child for every code of the attribute of a node; none for a leaf."""
        later = node + 1
        end = self.route_start[later] if later < len(self.route_start) else len(self.routes)
        return self.routes[self.route_start[node] : end]


def collapsed(tree: Tree) -> Tree:
    """The tree without splits into leaves of one class; noisy counts of leaves are kept apart.

    Splits whose leaves all agree are taken back: the tree is smaller and predicts the same.
    """
    if tree.counts is not None:
        return tree
    attribute = tree.attribute.copy()
    label = tree.label.copy()
    for node in reversed(range(len(attribute))):  # children come after their parents
        agreed = np.unique(label[tree.children(node)])
        if len(agreed) == 1 and agreed[0] >= 0:
            attribute[node] = -1
            label[node] = agreed[0]
    return _kept(tree, attribute, label)


def _kept(tree: Tree, attribute: IntArray, label: IntArray) -> Tree:
    """What can still be reached from the root, numbered anew in the same order."""
    kept = np.zeros(len(attribute), dtype=np.bool_)
    kept[0] = True
    for node in range(len(attribute)):
        if kept[node] and attribute[node] >= 0:
            kept[tree.children(node)] = True
    nodes = np.flatnonzero(kept)
    number = np.cumsum(kept) - 1
    routes = [number[tree.children(int(i))] if attribute[i] >= 0 else number[:0] for i in nodes]
    starts = np.cumsum([0, *map(len, routes)], dtype=np.int64)[:-1]
    return Tree(
        attribute[nodes], starts, np.concatenate(routes), label[nodes], tree.level[nodes], None
    )


def expected_counts(noisy: IntArray, epsilon: float) -> FloatArray:
    """The mean of a count given its noisy value, for noise at ε.

    It follows from the public law of the noise.  A leaf's noisy count is z = t + Z with P(Z = j)
    proportional to q^|j|, q = exp(-ε).  If every t >= 0 was as likely before, the mean of t given z
    is

        z + q^(z+1) (z + 1 - z q) / ((1 - q) (1 + q - q^(z+1)))  for z >= 0,
        q / (1 - q)  for z <= 0,

    sums of geometric series.  It is above 0 where z is not, and z itself where there is no noise.
    Half a row more for each class (Jeffreys) keeps a leaf of few rows from being sure.

    >>> expected_counts(np.array([-5, 0, 3, 50]), 1.0).round(2).tolist()
    [0.58, 0.58, 3.06, 50.0]
    """
    z = np.maximum(noisy, 0).astype(np.float64)
    q = np.exp(-epsilon)
    tail = np.exp(-epsilon * (z + 1))
    gap = -np.expm1(-epsilon)
    raised: FloatArray = z + tail * (1 + z * gap) / (gap * (1 + q - tail))
    return raised


def chances(noisy: IntArray, epsilon: float) -> FloatArray:
    """The share of every class (last axis) in the expected counts."""
    counts = expected_counts(noisy, epsilon) + PSEUDO_COUNT
    shares: FloatArray = counts / counts.sum(axis=-1, keepdims=True)
    return shares


def leaf_chances(tree: Tree, counts: IntArray, odds: float, drawn: float) -> FloatArray:
    """P(class) of every node, from noisy counts at ε `odds`; classes were drawn at ε `drawn`."""
    above = np.full(len(tree.attribute), -1)
    sums = counts.astype(np.float64)
    for node in reversed(range(len(above))):  # children come after their parents
        for child in np.unique(tree.children(node)):
            above[child] = node
            sums[node] += sums[child]
    found = np.empty(sums.shape)
    weight = 1 + 2 / odds
    for node, label in enumerate(tree.label.tolist()):
        rows = np.maximum(sums[node], 0)
        if label >= 0:
            rows[label] += 1 / drawn
        before = found[above[node]] if node else 1 / len(rows)
        found[node] = (rows + weight * before) / (rows.sum() + weight)
        if label >= 0:
            found[node] = leading(found[node], label)
    return found


def leading(chances: FloatArray, first: int) -> FloatArray:
    """The nearest chances by which no class is before the first one, which a thousandth decides.

    >>> leading(np.array([0.1, 0.6, 0.3]), 2).round(4).tolist()
    [0.0999, 0.4496, 0.4505]
    """
    mean = size = 0.0
    for chance in [chances[first], *sorted(np.delete(chances, first), reverse=True)]:
        if size and chance <= mean:
            break
        mean = (mean * size + chance) / (size + 1)
        size += 1
    found: FloatArray = np.minimum(chances, mean)
    found[first] = mean + LEAST_LEAD
    return found / (1 + LEAST_LEAD)


def leaf_values(tree: Tree, sums: IntArray, epsilon: float, steps: int) -> FloatArray:
    """The value of every node in steps, from the noisy sums of the leaves at ε `epsilon`.

    Of every leaf there are two noisy sums A and B, of w + d and w - d, where d are the steps of a
    row from the label of its leaf, moved into -w .. w (`growing.noisy_leaves` has the proof).  So
    (A + B) / 2w estimates the rows of the leaf with variance 4/ε_v², and (A - B) / 2 the sum of d
    with variance 4w²/ε_v².  Of a node above, both are the sums over its l leaves.  With n rows and
    the mean step y, a node has the value v' + (y - v') / (1 + 1/n + l r²) with r = 2w / (ε_v s n),
    where v' is the value of the node above it, and of the root the middle: the best mixture where
    rows deviate from their leaf, and leaves from their parent, by s = K/12 steps.  A leaf of few
    rows has nearly the value of the node above it.
    """
    above = np.full(len(tree.attribute), -1)
    leaf = tree.label >= 0
    rows = sums.sum(axis=1) / (2 * WINDOW)
    total = np.where(leaf, tree.label * rows + (sums[:, 0] - sums[:, 1]) / 2, 0.0)
    leaves = leaf.astype(np.float64)
    for node in reversed(range(len(above))):  # children come after their parents
        for child in np.unique(tree.children(node)):
            above[child] = node
            for each in (rows, total, leaves):
                each[node] += each[child]
    found = np.empty(len(above))
    noise = 2 * WINDOW / (epsilon * steps / 12)
    for node in range(len(above)):
        n = max(float(rows[node]), 1.0)
        before = found[above[node]] if node else (steps - 1) / 2
        own = min(max(float(total[node]) / n, 0.0), steps - 1.0)
        found[node] = before + (own - before) / (1 + 1 / n + leaves[node] * (noise / n) ** 2)
    return found


@dataclass(frozen=True, eq=False)
class NoisyTables:
    """The released tables.  Nothing here is private.

    Add/remove one row.  There are m attributes with public domains; τ_avc counts the rows with
    value v of attribute a and class c.  Released is τ_avc + Z_avc for every cell of every
    attribute, empty ones too, with independent integers Z,

        P(Z = z)  proportional to  exp(-ε |z| / m).

    **Theorem.**  The release of all m tables is ε-DP.  Proof: one row lies in exactly one cell of
    each attribute's table, so that adding or removing it changes m counts, by 1 each.  The
    probability of an outcome z is the product of P(Z_avc = z_avc - τ_avc) over the cells, whose
    normalising constants do not depend on the data; of its factors m change, each by at most
    e^(ε/m).  The bound is reached.  Integers are drawn exactly
    (`dampen.core.sampling.discrete_laplace`), so nothing is lost to rounding.  In zCDP each table
    costs its own: m (ε/m) tanh(ε/2m).

    **For ρ** the noise is discrete Gaussian, of variance σ² >= m / (2ρ).  **Theorem.**  The release
    is ρ-zCDP.  Proof: the m counts that change have independent noise, so that their Rényi
    divergences add up; each is at most α / (2σ²) for a count that moves by 1 (Canonne, Kamath and
    Steinke 2020, Theorem 4). ∎  The variance is half of that of Laplace noise of this ρ.

    **What is made of them** costs nothing more.  Let b = m/ε be the scale of the noise and V_a the
    number of values of attribute a.

    - The rows n_c of a class are estimated m times, by the sums Σ_v of each table, with variances
      proportional to V_a; they are averaged with weights 1 / V_a.  A query of its own for them, at
      the expense of the others, was worse in the mean over 28 tables for ε <= 1 and no better
      above.
    - P(v | c) is (max(τ_avc + Z_avc, 0) + α) / Σ_v (the same), with α = (1 + b) / 2: the
      pseudo-count 1/2 of Jeffreys where there is no noise, and of the size of the noise where there
      is: a table that is nothing but noise then says little.
    - P(c | row) is proportional to n_c Π_a P(v_a | c), as if attributes were independent given c;
      as a probability, it is taken to the power 1/√m.  Over the 29 tables of
      `dampen-studies run models` the mean log-loss, in units of ln K, falls by that from
      1.59 / 1.04 / .63 to .87 / .66 / .54 at ε = .03 / .3 / 3 (one split each).

    Attributes:
        first: where the values of each attribute begin when all are written below each other.
        counts: noisy counts (value, class); they may be below 0.
        scale: of the noise, b = m/ε, or σ.
        noise: its law.
    """

    first: IntArray
    counts: IntArray
    scale: Fraction
    noise: IntegerNoise = LAPLACE

    @cached_property
    def log_priors(self) -> FloatArray:
        """log P(c), from the sums of all tables."""
        return np.asarray(np.log(self.rows / self.rows.sum()))

    @cached_property
    def rows(self) -> FloatArray:
        """The rows of every class, from the sums of all tables."""
        weights = 1 / np.diff(self.first)
        sums = np.add.reduceat(self.counts, self.first[:-1], axis=0)
        return np.asarray(np.maximum(weights @ sums / weights.sum(), self.pseudo_count))

    @cached_property
    def log_likelihoods(self) -> FloatArray:
        """log P(v | c), the values of all attributes below each other."""
        raised = np.maximum(self.counts, 0) + self.pseudo_count
        sums = np.add.reduceat(raised, self.first[:-1], axis=0)
        return np.asarray(np.log(raised / np.repeat(sums, np.diff(self.first), axis=0)))

    def chances(self, codes: Any, power: float = 1.0) -> FloatArray:
        """P(class | row), tempered: (n_c Π_a P(v_a | c)) to the power/√m, for m attributes."""
        scores = self.log_scores(codes) * (power / math.sqrt(codes.shape[1]))
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def log_scores(self, codes: Any) -> FloatArray:
        """log P(c) + Σ_a log P(v_a | c) of every row: one column per class."""
        scores = np.tile(self.log_priors, (len(codes), 1))
        for a, begin in enumerate(self.first[:-1]):
            scores += self.log_likelihoods[begin + codes[:, a]]
        return scores

    @property
    def pseudo_count(self) -> float:
        """α of every count."""
        return (1 + self._size) / 2

    @property
    def _size(self) -> float:
        """b, or that of Laplace noise of the variance of Gaussian noise."""
        return float(self.scale) / (math.sqrt(2) if self.noise == GAUSSIAN else 1)


def table_bins(domains: Sequence[Domain], values: int) -> int:
    """How many bins tables of so many values in all have, at most; see `bins_beside`.

    Raises:
        ValueError: if no tables of these domains have so many.
    """
    for most in (COARSEST, FEWER_BINS):
        if merged_values(domains, most)[0][-1] == values:
            return most
    raise ValueError


def filtered_logs(tables: NoisyTables, domains: Sequence[Domain]) -> FloatArray:
    """log P(v | c) of two classes, with the noise filtered out of what tells them apart.

    **The score of naive Bayes** (`dampen.questions.classify.plan`) sums log-odds of the same
    tables, from which noise is filtered, column by column.  Let w be the shares of the two classes
    and D_v = w_0 z_v1 - w_1 z_v0, which is 0 in the mean where class and column are independent;
    its variance is that of the noise, s² (w_0² + w_1²), and about n w_0 w_1 / V of the rows
    themselves.  D is written in waves: cosines over values in order (an orthonormal transform),
    each value alone for others.  Neighbouring values mostly say the same, so that wave k is
    expected to be of the power A / k, in units of the variance, and is multiplied by
    (A/k) / (A/k + 1).  A is fitted to the powers found, noise included, half by the column and half
    by the mean of all columns: columns that are nothing but noise say little, and none is silenced.
    n_vc is then w_c n_v plus or minus D_v, at least 0, with the pseudo-count 2 α w_c.  Naive Bayes
    as a model of its own has no filter: it ranks rows worse where ε is small.
    """
    shares = np.exp(tables.log_priors)
    rows = tables.rows.sum()
    noise = (deviation(tables.scale, tables.noise) * np.linalg.norm(shares)) ** 2
    counts = np.split(tables.counts, tables.first[1:-1])
    columns = [
        _Filter.of(count, domain, shares, noise + rows / len(count) * shares.prod())
        for count, domain in zip(counts, domains, strict=True)
    ]
    common = float(np.mean([column.strength for column in columns]))
    found = []
    for count, column in zip(counts, columns, strict=True):
        apart = column.filtered((column.strength + common) / 2)
        total = np.maximum(count.sum(axis=1), 0)
        total = total * (rows / max(total.sum(), 1))
        each = np.maximum(total[:, None] * shares + apart[:, None] * (-1, 1), 0)
        each += 2 * tables.pseudo_count * shares
        found.append(np.log(each / each.sum(axis=0)))
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class _Filter:
    """What tells two classes apart in one column, as waves over its values; see `filtered_logs`.

    Attributes:
        waves: one row each, orthonormal.
        prior: how strong each is expected to be.
        heights: found, in deviations of their noise.
        deviation: of the noise, in rows.
    """

    waves: FloatArray
    prior: FloatArray
    heights: FloatArray
    deviation: float

    @classmethod
    def of(cls, counts: IntArray, domain: Domain, shares: FloatArray, variance: float) -> "_Filter":
        size = len(counts)
        waves = np.eye(size)
        prior = np.ones(size)
        ordered = _ordered(domain, size)
        if ordered > 2:
            k = np.arange(ordered)
            waves[:ordered, :ordered] = np.cos(np.outer(k, np.pi / ordered * (k + 0.5)))
            waves[:ordered] /= np.linalg.norm(waves[:ordered], axis=1)[:, None]
            prior[:ordered] = 1 / np.maximum(k, 1)
            prior[:ordered] /= prior[:ordered].mean()
        apart = shares[0] * counts[:, 1] - shares[1] * counts[:, 0]
        deviation = math.sqrt(variance)
        return cls(waves, prior, (waves * apart).sum(axis=1) / deviation, deviation)

    @property
    def strength(self) -> float:
        """Of signal and noise, in units of the prior."""
        return float((self.heights**2 * self.prior).sum() / (self.prior**2).sum())

    def filtered(self, strength: float) -> FloatArray:
        """In rows of every value; waves that are expected to be noise are left out, nearly."""
        expected = strength * self.prior
        kept = self.heights * expected / (expected + 1) * self.deviation
        return np.asarray((self.waves * kept[:, None]).sum(axis=0))


def _ordered(domain: Domain, size: int) -> int:
    """How many of the values of a table are in order, from the first one on."""
    if isinstance(domain, Bins):
        return size - domain.holds_missing
    return size if domain.ordered else 0


@dataclass(frozen=True, eq=False)
class Score:
    """One more attribute of a row: the log-odds of two classes by naive Bayes, cut into bins.

    A sum of whole numbers, one for each value, so that it is the same wherever and with whatever
    other rows it is computed.

    Attributes:
        first: where the values of each attribute begin when all are written below each other.
        weights: of every value, in steps of 1 / `SCORE_STEPS`.
        cuts: between the bins, ascending.
    """

    first: IntArray
    weights: IntArray
    cuts: IntArray

    @classmethod
    def of(cls, tables: NoisyTables, domains: Sequence[Domain]) -> "Score":
        """The score by released tables, between three deviations from its mean in each class."""
        logs = filtered_logs(tables, domains)
        odds = logs[:, 1] - logs[:, 0]
        parts = np.exp(logs) * odds[:, None]
        means = parts.sum(axis=0)
        of_attributes = np.add.reduceat(parts, tables.first[:-1], axis=0)
        variance = (parts * odds[:, None]).sum(axis=0) - (of_attributes**2).sum(axis=0)
        away = 3 * np.sqrt(np.maximum(variance, 0))
        low = float((means - away).min())
        high = max(float((means + away).max()), low + LEAST_SPAN)
        inner = np.linspace(low, high, SCORE_BINS + 1)[1:-1]
        _, joined = merged_values(domains, table_bins(domains, len(tables.counts)))
        weights = np.rint(odds * SCORE_STEPS).astype(np.int64)[joined]
        return cls(first_codes(domains), weights, np.rint(inner * SCORE_STEPS).astype(np.int64))

    @cached_property
    def domain(self) -> Bins:
        """The bins, in log-odds."""
        edges = (self.cuts / SCORE_STEPS).tolist()
        return Bins([2 * edges[0] - edges[1], *edges, 2 * edges[-1] - edges[-2]])

    def appended(self, codes: Any) -> IntArray:
        """Codes with those of the score after all others."""
        score = np.zeros(len(codes), dtype=np.int64)
        for a, begin in enumerate(self.first[:-1]):
            score += self.weights[begin:][codes[:, a]]
        bins = np.searchsorted(self.cuts, score, side="right")
        return np.column_stack([codes, bins.astype(np.int16)])


@dataclass(frozen=True)
class BayesPlan:
    """What a fit would do: public sizes, and the noise that follows from them."""

    epsilon: Fraction
    attributes: int
    values: int
    classes: int
    noise: IntegerNoise = LAPLACE

    def __str__(self) -> str:
        """The plan as text, with the noise in rows."""
        noise = deviation(noise_scale(self.attributes, self.epsilon, self.noise), self.noise)
        pure = self.noise == LAPLACE
        price = price_text(self.epsilon if pure else None, self.epsilon**2 / 2)
        return (
            f"Naive Bayes for {price}: {self.attributes} attributes, "
            f"{self.values} values, {self.classes} classes\n"
            f"  {self.values * self.classes} counts, each with noise of standard deviation "
            f"{noise:.3g} rows"
        )


def noisy_tables(
    counts: IntArray,
    first: IntArray,
    epsilon: Fraction,
    *,
    entropy: Entropy,
    noise: IntegerNoise = LAPLACE,
) -> NoisyTables:
    """Adds the noise to counts (value, class), all attributes below each other."""
    scale = noise_scale(len(first) - 1, epsilon, noise)
    return NoisyTables(first, with_noise(counts, noise, scale, entropy), scale, noise)


def bayes_rho(attributes: int, noise: IntegerNoise = LAPLACE) -> Callable[[Fraction], Fraction]:
    """The zCDP cost of all tables as a function of ε: one row moves one count of each by 1."""
    return rho_from(equal_parts(attributes), pure=noise == LAPLACE)


def noise_scale(attributes: int, epsilon: Fraction, noise: IntegerNoise = LAPLACE) -> Fraction:
    """b = m/ε: a row is in one cell of each of m tables; σ = √m/ε, or a little above it."""
    if noise == GAUSSIAN:
        return 1 / root_below(epsilon**2 / attributes)
    return attributes / epsilon


def deviation(scale: Fraction, noise: IntegerNoise = LAPLACE) -> float:
    """The deviation of the noise on one count: σ, or with a = exp(-1/b) the root of 2a / (1-a)²."""
    if noise == GAUSSIAN:
        return float(scale)
    a = math.exp(-1 / float(scale))
    return math.sqrt(2 * a) / (1 - a)


TREE = "tree 8"
OLDER_TREE = "tree 6"
"""Without naive Bayes beside it."""
REGRESSION = "regression-tree 1"
BAYES = "naive-bayes 2"
MOST_CHARACTERS = 1 << 28
MOST_LINES = 64
_TREE_ARRAYS = ("attribute", "route_start", "routes", "label", "level")


@dataclass(frozen=True, eq=False)
class Columns:
    """The public columns of a model.

    Attributes:
        classes: what is predicted.
        features: the names of the columns, None where they have none.
        domains: of every column.
    """

    classes: NDArray[Any]
    features: tuple[str, ...] | None
    domains: tuple[Domain, ...]

    @property
    def by_name(self) -> dict[str, Domain]:
        """The domains by the names of their columns, x0, x1, ... where they have none."""
        names = self.features or [f"x{i}" for i in range(len(self.domains))]
        return dict(zip(names, self.domains, strict=True))


@dataclass(frozen=True, eq=False)
class TreeModel:
    """A released tree that predicts.

    **Probabilities of the default tree** (`probabilities=True`): from noisy counts of its leaves at
    ε_c, from the classes of the leaves, which were drawn at e, and from naive Bayes at ε_t.  Every
    count of a node above is the sum of those of its leaves.  From the root on, the chances of a
    node are its counts (at least 0) and those of the node above it, weighted as 1 + 2/ε_c rows,
    about the noise; at a leaf, its class has 1/e rows more, and chances that would put another
    class before it are made equal to its own (the nearest ones that put it first): at small ε the
    class, which was drawn with the tree, is known far better than the counts.  Of these and the
    chances of naive Bayes the model is a mixture, with the weight 2r / (5 (r + 1)) for naive Bayes,
    r = ε_t n / (V K): the noisy number n of rows over the counts of its tables, times ε_t.  The
    chances of naive Bayes are those of `NoisyTables` to the power 2/√m in place of 1/√m: its order
    of the rows then counts for more beside the few levels of the leaves, and the log-loss is
    smaller.  How shares, weight and power were chosen is on the page docs/lab-trees.md.

    Attributes:
        columns: the public columns.
        facts: how the tree was made.
        tree: what was released.
        tables: of the naive Bayes beside it, where they were bought.
        score: by them, where it is one more attribute of the tree.
    """

    columns: Columns
    facts: TreeFacts
    tree: Tree
    tables: NoisyTables | None = None
    score: Score | None = None

    def answers(self, codes: Any) -> NDArray[Any]:
        """The class of every row."""
        found: NDArray[Any] = self.columns.classes[self.predicted(codes)]
        return found

    def predicted(self, codes: Any) -> IntArray:
        """The class of every row, by its place: the likeliest one where there are probabilities."""
        if self.tables is not None and self.tree.counts is not None:
            return np.asarray(self.chances(codes).argmax(axis=1))
        found: IntArray = self.tree.label[self._leaves(codes)]
        return found

    def _leaves(self, codes: Any) -> IntArray:
        return self.tree.apply(codes if self.score is None else self.score.appended(codes))

    def chances(self, codes: Any) -> FloatArray:
        """P(class | row) from noisy counts where they are bought; else zeros and a one."""
        leaf = self._leaves(codes)
        if self.tree.counts is None:
            return np.eye(len(self.columns.classes))[self.tree.label[leaf]]
        if self.tables is None:
            return chances(self.tree.counts[leaf], float(self.facts.charges[-1].epsilon))
        weight = self._bayes_weight
        most = table_bins(self.columns.domains, len(self.tables.counts))
        merged = np.column_stack(
            [merged_codes(d, most)[codes[:, a]] for a, d in enumerate(self.columns.domains)]
        )
        by_tables = self.tables.chances(merged, BAYES_POWER)
        return (1 - weight) * self.leaf_chances[leaf] + weight * by_tables

    @cached_property
    def leaf_chances(self) -> FloatArray:
        """P(class) of every node by the tree alone, where probabilities were asked for."""
        assert self.tree.counts is not None
        odds = float(self.facts.spent("odds"))
        drawn = float(self.facts.charges[-1].epsilon)
        return leaf_chances(self.tree, self.tree.counts, odds, drawn)

    @cached_property
    def _bayes_weight(self) -> float:
        """Of naive Bayes: the more rows times ε every count of its tables has, the more."""
        assert self.tables is not None
        assert self.tree.counts is not None
        rows = max(int(self.tree.counts.sum()), 0)
        each = float(self.facts.spent("table")) * rows / self.tables.counts.size
        return MOST_BAYES * each / (each + 1)


@dataclass(frozen=True, eq=False)
class RegressionModel:
    """A released tree that predicts numbers.

    Attributes:
        columns: the public columns; the classes are the middles of the steps of the target.
        facts: how the tree was made.
        tree: what was released; the counts are the two noisy sums of every leaf.
    """

    columns: Columns
    facts: TreeFacts
    tree: Tree

    def answers(self, codes: Any) -> FloatArray:
        """The number of every row."""
        found: FloatArray = self.values[self.tree.apply(codes)]
        return found

    @cached_property
    def values(self) -> FloatArray:
        """The number of every node."""
        assert self.tree.counts is not None
        middles = self.columns.classes
        epsilon = float(self.facts.spent("value"))
        steps = leaf_values(self.tree, self.tree.counts, epsilon, len(middles))
        return np.interp(steps, np.arange(len(middles)), middles)


@dataclass(frozen=True, eq=False)
class BayesModel:
    """A released naive Bayes that predicts."""

    columns: Columns
    epsilon: Fraction
    tables: NoisyTables

    def answers(self, codes: Any) -> NDArray[Any]:
        """The likeliest class of every row."""
        found: NDArray[Any] = self.columns.classes[self.predicted(codes)]
        return found

    def predicted(self, codes: Any) -> IntArray:
        """The likeliest class of every row, by its place."""
        found: IntArray = self.tables.log_scores(codes).argmax(axis=1)
        return found

    def chances(self, codes: Any) -> FloatArray:
        """P(class | row), tempered."""
        return self.tables.chances(codes)


AnyTree: TypeAlias = TreeModel | RegressionModel
Model: TypeAlias = TreeModel | BayesModel | RegressionModel


def tree_content(
    domains: Mapping[str, Domain],
    classes: Classes,
    facts: TreeFacts,
    tree: Tree,
    tables: NoisyTables | None = None,
    *,
    named: bool,
    scored: bool = False,
) -> dict[str, Any]:
    """A tree of classes or of numbers in plain Python, with exact parts of ε."""
    if isinstance(classes, Bins):
        classes = np.convolve(classes.edges, [0.5, 0.5], mode="valid").tolist()
        kind = REGRESSION
    else:
        kind = TREE
    return {
        "format": kind,
        **_columns_content(domains, classes, named=named),
        "plan": {
            "epsilon": str(facts.epsilon),
            "max_rows": facts.max_rows,
            "depth": facts.depth,
            "mechanism": facts.mechanism,
            "charges": [[line.level, line.purpose, str(line.epsilon)] for line in facts.charges],
        },
        "tree": {name: getattr(tree, name).tolist() for name in _TREE_ARRAYS},
        "counts": None if tree.counts is None else tree.counts.tolist(),
        **({} if tables is None else {"tables": tables.counts.tolist()}),
        **({"score": True} if scored else {}),
    }


def bayes_content(
    domains: Mapping[str, Domain],
    classes: Sequence[Hashable],
    epsilon: Fraction,
    tables: NoisyTables,
    *,
    named: bool,
) -> dict[str, Any]:
    """A naive Bayes in plain Python, with its exact ε."""
    return {
        "format": BAYES,
        **_columns_content(domains, classes, named=named),
        "epsilon": str(epsilon),
        "counts": tables.counts.tolist(),
        **({"noise": GAUSSIAN} if tables.noise == GAUSSIAN else {}),
    }


def read_release(text: str) -> Release:
    """The release of a model, from its JSON.

    Raises:
        ParameterError: if it is something else.
    """
    if len(text) > MOST_CHARACTERS:
        raise ParameterError(f"Expected a model of at most {MOST_CHARACTERS:,} characters.")
    return Release.from_json(text)


def model_of(content: Any) -> Model:
    """The model that was released, from `Release.answer`.

    Raises:
        ParameterError: if it is not what a release of a model could hold.
    """
    try:
        if content["format"] == TREE or (
            content["format"] == OLDER_TREE and "tables" not in content
        ):
            return _tree_model(content)
        if content["format"] == REGRESSION:
            return _regression_model(content)
        if content["format"] == BAYES:
            return _bayes_model(content)
    except ParameterError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError):
        raise_alone(ParameterError("Expected a whole tree or naive Bayes; something is damaged."))
    raise ParameterError(
        f"Expected a model of the format {TREE!r}, {REGRESSION!r} or {BAYES!r}, got another format."
    )


def _tree_model(content: Any) -> TreeModel:
    scored = content.get("score", False) is True
    columns, facts, tree = _tree_parts(content, late=[SCORE_BINS] if scored else [])
    _check_nodes(tree, len(columns.classes), len(columns.classes), facts.depth)
    if "tables" not in content and not scored:
        return TreeModel(columns, facts, tree)
    sure = tree.counts is not None and bool(facts.spent("odds"))
    if not (sure or (scored and tree.counts is None)) or (scored and len(columns.classes) != 2):
        raise ValueError
    most = table_bins(columns.domains, len(content["tables"]))
    first, _ = merged_values(columns.domains, most)
    tables = _tables_of(content["tables"], columns, first, facts.spent("table"))
    score = Score.of(tables, columns.domains) if scored else None
    return TreeModel(columns, facts, tree, tables, score)


def _regression_model(content: Any) -> RegressionModel:
    columns, facts, tree = _tree_parts(content)
    _check_nodes(tree, len(columns.classes), 2, facts.depth)
    middles = columns.classes
    fits = middles.dtype.kind == "f" and np.isfinite(middles).all() and (np.diff(middles) > 0).all()
    if not fits or tree.counts is None or not facts.spent("value"):
        raise ValueError
    return RegressionModel(columns, facts, tree)


def _tree_parts(content: Any, late: Sequence[int] = ()) -> tuple[Columns, TreeFacts, Tree]:
    columns = _columns_of(content)
    arrays = {name: _integers(content["tree"][name]) for name in _TREE_ARRAYS}
    counts = content["counts"]
    tree = Tree(**arrays, counts=None if counts is None else _integers(counts, dimensions=2))
    _check_routes(tree, [*map(len, attributes_of(columns.domains)), *late])
    return columns, _facts_of(content["plan"]), tree


def _tables_of(
    content: Any,
    columns: Columns,
    first: IntArray,
    epsilon: Fraction,
    noise: IntegerNoise = LAPLACE,
) -> NoisyTables:
    counts = _integers(content, dimensions=2)
    if counts.shape != (first[-1], len(columns.classes)) or not epsilon:
        raise ValueError
    return NoisyTables(first, counts, noise_scale(len(first) - 1, epsilon, noise), noise)


def _bayes_model(content: Any) -> BayesModel:
    columns = _columns_of(content)
    epsilon = exact(_text(content["epsilon"]))
    noise = GAUSSIAN if content.get("noise") == GAUSSIAN else LAPLACE
    first = first_codes(columns.domains)
    tables = _tables_of(content["counts"], columns, first, epsilon, noise)
    return BayesModel(columns, epsilon, tables)


def _facts_of(plan: Any) -> TreeFacts:
    check_max_rows(plan["max_rows"])
    checked_depth(plan["depth"])
    epsilon = exact(_text(plan["epsilon"]))
    if len(plan["charges"]) > MOST_LINES:
        raise ValueError
    charges = tuple(_spending(*line) for line in plan["charges"])
    if sum((line.epsilon for line in charges), Fraction(0)) != epsilon:
        raise ValueError
    depth = 0 if plan["depth"] is None else int(plan["depth"])
    return TreeFacts(epsilon, int(plan["max_rows"]), depth, _text(plan["mechanism"]), charges)


def _spending(level: Any, purpose: Any, epsilon: Any) -> Spending:
    if purpose not in PURPOSES:
        raise ValueError
    checked_depth(level)
    return Spending(int(level), purpose, exact(_text(epsilon)))


def _columns_content(
    domains: Mapping[str, Domain], classes: Sequence[Hashable], *, named: bool
) -> dict[str, Any]:
    return {
        "classes": class_array(classes).tolist(),
        "features": list(domains) if named else None,
        "domains": [_domain_content(domain) for domain in domains.values()],
    }


def _columns_of(content: Any) -> Columns:
    classes = checked_classes(content["classes"])
    domains = tuple(_domain_of(domain) for domain in content["domains"])
    names = content["features"]
    if not domains:
        raise ValueError
    if names is not None and [len(names), *{type(name) for name in names}] != [len(domains), str]:
        raise ValueError
    features = None if names is None else tuple(names)
    return Columns(class_array(classes.values), features, domains)


def _domain_content(domain: Domain) -> dict[str, Any]:
    if isinstance(domain, Bins):
        days = {"days": True} if domain.days else {}
        return {"edges": list(domain.edges), "missing": domain.missing, **days}
    if isinstance(domain, Branches):
        further = [[each.count, each.salt] for each in domain.further]
        own = {"branches": domain.count, "salt": domain.salt}
        return own | ({"further": further} if further else {})
    branches = {"branches": domain.branches} if domain.branches else {}
    return {"values": list(domain.values), "ordered": domain.ordered, **branches}


def _domain_of(content: Any) -> Domain:
    if "edges" in content:
        return Bins(content["edges"], content["missing"], days=content.get("days", False) is True)
    branches = content.get("branches", 0)
    if type(branches) is not int:
        raise ValueError
    if "salt" in content:
        further = [_hash_of(*each) for each in content.get("further", [])]
        return replace(_hash_of(branches, content["salt"]), further=tuple(further))
    if not isinstance(content["values"], list) or not isinstance(content["ordered"], bool):
        raise ValueError
    return Categories(tuple(content["values"]), content["ordered"], branches)


def _hash_of(branches: Any, salt: Any) -> Branches:
    if type(branches) is not int or type(salt) is not int:
        raise ValueError
    return Branches(branches, salt)


def _integers(values: Any, dimensions: int = 1) -> IntArray:
    """An array of integers of so many dimensions, or a `ValueError`."""
    array = np.array(values)
    if array.size == 0 and dimensions == 1:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind != "i" or array.ndim != dimensions:
        raise ValueError
    return array.astype(np.int64)


def _text(value: Any) -> str:
    """Text of a bearable length, or a `ValueError`."""
    if not isinstance(value, str) or len(value) > 1000:
        raise ValueError
    return value


def _check_nodes(tree: Tree, classes: int, counts: int, depth: int) -> None:
    """Labels are classes, levels are within the depth, and a node has so many counts, if any."""
    nodes = len(tree.attribute)
    leaf = tree.attribute < 0
    sizes = {nodes, len(tree.route_start), len(tree.label), len(tree.level)}
    label = tree.label[leaf] if nodes else tree.label
    fits = (
        nodes > 0
        and sizes == {nodes}
        and bool(((label >= 0) & (label < classes)).all())
        and bool(((tree.level >= 0) & (tree.level <= depth)).all())
        and (tree.counts is None or tree.counts.shape == (nodes, counts))
    )
    if not fits:
        raise ValueError


def _check_routes(tree: Tree, sizes: list[int]) -> None:
    """Every code of a split leads to a later node, one level below; routes are dense."""
    begin = 0
    for node, attribute in enumerate(tree.attribute.tolist()):
        size = sizes[attribute] if 0 <= attribute < len(sizes) else 0
        route = tree.routes[begin : begin + size]
        inside = len(route) == size and bool(((route > node) & (route < len(tree.level))).all())
        if attribute >= len(sizes) or tree.route_start[node] != begin or not inside:
            raise ValueError
        if (tree.level[route] != tree.level[node] + 1).any():
            raise ValueError
        begin += size
    if begin != len(tree.routes):
        raise ValueError


MOST_CLASSES = 8
MOST_ATTRIBUTES = 40
"""Of naive Bayes, what is shown in a notebook."""
MOST_LEAVES = 64
"""More do not fit on a page; the tree is then shown as text."""

INKS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5cc9")
"""One colour per class, told apart by colour-blind eyes too; further classes are grey."""
GREY = "#888888"

BOX_WIDE = 118
BOX_HIGH = 24
GAP = 84
PITCH = 32
"""A box, the way to the next one, and the distance of two leaves, in pixels."""

NAME_LETTERS = 17
CONDITION_LETTERS = 14
"""Of what is written; the whole is shown where the pointer rests."""


def report(model: Model, release: Release) -> str:
    """What was released and what it cost, as text."""
    if isinstance(model, BayesModel):
        return "\n".join(map(printable, _bayes_report(model, release)))
    return "\n".join(map(printable, _tree_report(model, release)))


def html(model: Model, release: Release) -> str:
    """What a model is, its warnings, and its picture or table.

    A tree is drawn as HTML with an inline SVG.  The root is at the left, so that a tree of many
    leaves is long and not wide.  Lines and words have the colour of the surrounding text and leaves
    a translucent one, so that one drawing suits light and dark pages.  Splits whose leaves agree
    are drawn as one leaf.
    """
    if isinstance(model, BayesModel):
        return _bayes_html(model, release)
    return _tree_html(model, release)


def _warnings(release: Release) -> Iterator[str]:
    if not release.secure:
        yield "NOT SECURE: seeded randomness"
    if release.leaks:
        yield f"NOT COVERED BY EPSILON: {', '.join(release.leaks)}"


def _promise(release: Release) -> str:
    """What it cost, and whom that protects."""
    changed = release.neighbours is Neighbours.REPLACE_ONE
    step = "changing" if changed else "adding or removing"
    return f"{release.price} for {step} {release.protects}"


def _row_price(model: AnyTree, release: Release) -> Iterator[str]:
    """What is left for one row where several may differ: shares of the budget are shares of it."""
    epsilon = model.facts.epsilon
    rows = 1 if release.epsilon is None else release.epsilon / epsilon
    if rows == 1 or rows.denominator > 1:
        return
    for_one = f"at epsilon {decimal_text(epsilon)}"
    if release.neighbours is Neighbours.REPLACE_ONE:
        yield f"a changed row is one removed and one added, {for_one} for each"
    else:
        whose = release.parameters.get("unit", "person")
        yield f"at most {rows} rows of each {whose}, {for_one} for one row"


def _tree_report(model: AnyTree, release: Release) -> Iterator[str]:
    """A heading, the budget, the tree."""
    facts = model.facts
    bound = "about" if facts.spent("rows") else "at most"  # counted with noise, or stated
    yield f"{_title(model)}: {_promise(release)}; {bound} {facts.max_rows} rows in all"
    yield from _row_price(model, release)
    yield f"mechanism {facts.mechanism}, {facts.size}"
    yield from _warnings(release)
    yield ""
    yield from _budget_lines(facts)
    yield ""
    yield from _tree_lines(model)


def _budget_lines(facts: TreeFacts) -> Iterator[str]:
    yield f"budget, per {facts.stage_name} (a row is in one node of each)"
    for charge in facts.charges:
        share = decimal_text(charge.epsilon / facts.epsilon)
        spent = f"{decimal_text(charge.epsilon):>8}  ({share} of epsilon)"
        yield f"  {facts.stage_name} {charge.level:>2}  {charge.purpose:<5}  {spent}"
    yield f"  total            {decimal_text(facts.epsilon):>8}"


def _title(model: AnyTree) -> str:
    kind = "regression" if isinstance(model, RegressionModel) else "decision"
    return f"Private {kind} tree"


def _tree_lines(model: AnyTree) -> Iterator[str]:
    """Depth first; one line per branch."""
    tree = model.tree
    if tree.attribute[0] < 0:
        yield f"always -> {_leaf_text(model, 0)}"
        return
    stack = [(0, child, text, 0) for child, text in reversed(list(_branches(model, tree, 0)))]
    while stack:
        parent, node, condition, depth = stack.pop()
        ending = f" -> {_leaf_text(model, node)}" if tree.attribute[node] < 0 else ""
        yield f"{'|   ' * depth}{_node_text(model, tree, parent)}: {condition}{ending}"
        for child, text in reversed(list(_branches(model, tree, node))):
            stack.append((node, child, text, depth + 1))


def _branches(model: AnyTree, tree: Tree, node: int) -> Iterator[tuple[int, str]]:
    """The children of a node, each with the values that lead to it."""
    a = int(tree.attribute[node])
    if a < 0:
        return
    route = tree.children(node)
    by_child = np.argsort(route, kind="stable")
    children, begins = np.unique(route[by_child], return_index=True)
    for child, codes in zip(children.tolist(), np.split(by_child, begins[1:]), strict=True):
        yield child, _domain_at(model, a).describe(codes.tolist())


def _node_text(model: AnyTree, tree: Tree, node: int) -> str:
    """The class or number of a leaf, or the name of the attribute that a node asks for."""
    a = int(tree.attribute[node])
    if a < 0 and isinstance(model, RegressionModel):
        return f"{model.values[node]:.4g}"
    if a < 0:
        return str(model.columns.classes[tree.label[node]])
    column = columns_of(model.columns.domains)
    if a == len(column):
        return f"score for {model.columns.classes[1]}"
    name = _name(model.columns, column[a])
    before = column[:a].count(column[a])
    return f"{name} (hash {before + 1})" if before else name


def _domain_at(model: AnyTree, attribute: int) -> Domain:
    attributes = attributes_of(model.columns.domains)
    if isinstance(model, TreeModel) and model.score is not None:
        attributes.append(model.score.domain)
    return attributes[attribute]


def _leaf_text(model: AnyTree, node: int) -> str:
    """The class of a leaf, and its share of the rows there where probabilities were asked for."""
    name = _node_text(model, model.tree, node)
    if isinstance(model, RegressionModel) or model.tables is None or model.tree.counts is None:
        return name
    return f"{name} ({model.leaf_chances[node, model.tree.label[node]]:.0%})"


def _name(columns: Columns, attribute: int) -> str:
    return f"x{attribute}" if columns.features is None else columns.features[attribute]


def _tree_html(model: AnyTree, release: Release) -> str:
    """What a tree is, its warnings, and its picture; leaves of numbers have one colour."""
    if isinstance(model, RegressionModel):
        tree = replace(model.tree, label=np.minimum(model.tree.label, 0))
        legend = ""
    else:
        tree = collapsed(replace(model.tree, counts=None))
        legend = f"<div>{_legend(list(map(str, model.columns.classes)))}</div>"
    if len(tree.leaves) > MOST_LEAVES:
        return f"<pre>{escape(report(model, release))}</pre>"
    head = _html_lines([_tree_heading(model, tree, release), *_warnings(release)])
    return f'{head}<div style="overflow-x:auto">{_svg(model, tree)}</div>{legend}'


def _tree_heading(model: AnyTree, tree: Tree, release: Release) -> str:
    facts = model.facts
    leaves = len(tree.leaves)
    fewer = f" of {facts.depth} that were paid for" if tree.depth < facts.depth else ""
    return (
        f"{_title(model)}, {_promise(release).replace('epsilon ', 'ε = ', 1)}: "
        f"{leaves} {'leaf' if leaves == 1 else 'leaves'}, depth {tree.depth}{fewer}"
    )


def _html_lines(lines: Sequence[str]) -> str:
    return f"<div>{'<br>'.join(escape(printable(line)) for line in lines)}</div>"


def _positions(tree: Tree) -> list[float]:
    """Leaves from left to right, every other node above the middle of its children."""
    x = [0.0] * len(tree.attribute)
    leaves = iter(range(len(x)))

    def place(node: int) -> float:
        children = [place(int(child)) for child in np.unique(tree.children(node))]
        x[node] = float(np.mean(children)) if children else float(next(leaves))
        return x[node]

    place(0)
    return x


def _legend(classes: Sequence[str]) -> str:
    shown = [
        f'<span style="white-space:nowrap"><span style="color:{_ink(i)}">■</span> '
        f"{escape(printable(name))}</span>"
        for i, name in enumerate(classes[: len(INKS)])
    ]
    if len(classes) > len(INKS):
        shown.append(f'<span style="color:{GREY}">■</span> others')
    return " &nbsp; ".join(shown)


def _svg(model: AnyTree, tree: Tree) -> str:
    leaf = _positions(tree)
    x = [(BOX_WIDE + GAP) * int(level) + 1.0 for level in tree.level]
    y = [PITCH * (place + 0.5) for place in leaf]
    wide = max(x) + BOX_WIDE + 1
    high = PITCH * (max(leaf) + 1)
    edges = []
    boxes = []
    for node in range(len(leaf)):
        for child, condition in _branches(model, tree, node):
            edges.append(_edge(x[node] + BOX_WIDE, y[node], y[child], condition))
        boxes.append(_box(x[node], y[node], _node_text(model, tree, node), tree, node))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:g}" height="{high:g}" '
        f'viewBox="0 0 {wide:g} {high:g}" role="img" aria-label="decision tree" '
        'font-family="system-ui, sans-serif" font-size="12" text-anchor="middle" '
        f'fill="currentColor">{"".join(edges)}{"".join(boxes)}</svg>'
    )


def _edge(x: float, y: float, to_y: float, condition: str) -> str:
    bend = x + 14
    end = x + GAP
    return (
        f'<path d="M{x:g} {y:g}C{bend:g} {y:g} {x:g} {to_y:g} {bend:g} {to_y:g}H{end:g}" '
        'fill="none" stroke="currentColor" stroke-opacity=".35"/>'
        f'<g font-size="11" opacity=".85">'
        f"{_words((bend + end) / 2, to_y - 4, condition, CONDITION_LETTERS)}</g>"
    )


def _box(x: float, y: float, name: str, tree: Tree, node: int) -> str:
    leaf = tree.attribute[node] < 0
    ink = _ink(int(tree.label[node])) if leaf else "currentColor"
    fill = f'fill="{ink}" fill-opacity=".28"' if leaf else 'fill="none"'
    return (
        f'<rect x="{x:g}" y="{y - BOX_HIGH / 2:g}" width="{BOX_WIDE}" height="{BOX_HIGH}" '
        f'rx="{BOX_HIGH / 2 if leaf else 4:g}" {fill} stroke="{ink}" '
        f'stroke-opacity="{1 if leaf else 0.5}"/>'
        f"{_words(x + BOX_WIDE / 2, y + 4, name, NAME_LETTERS)}"
    )


def _words(x: float, y: float, text: str, letters: int) -> str:
    whole = printable(text)
    short = whole if len(whole) <= letters else f"{whole[: letters - 1].rstrip()}…"
    title = "" if short == whole else f"<title>{escape(whole)}</title>"
    return f'<text x="{x:g}" y="{y:g}">{title}{escape(short)}</text>'


def _ink(label: int) -> str:
    return INKS[label] if label < len(INKS) else GREY


def _bayes_report(model: BayesModel, release: Release) -> Iterator[str]:
    """What was released, the noise, and the estimated shares of the classes."""
    values, classes = model.tables.counts.shape
    law = "discrete Gaussian" if model.tables.noise == GAUSSIAN else "discrete Laplace"
    yield f"Private naive Bayes: {_promise(release)}"
    yield (
        f"{len(model.columns.domains)} attributes, {values} values, {classes} classes: "
        f"{values * classes} counts, each with {law} noise of standard deviation "
        f"{deviation(model.tables.scale, model.tables.noise):.3g}"
    )
    yield from _warnings(release)
    yield ""
    yield "classes, estimated"
    for name, log in zip(model.columns.classes, model.tables.log_priors.tolist(), strict=True):
        yield f"  {math.exp(log):6.1%}  {name}"


def _bayes_html(model: BayesModel, release: Release) -> str:
    """A heading, the warnings, and the likeliest value of every attribute in each class."""
    columns = model.columns
    heading = (
        f"Private naive Bayes, {_promise(release)}: "
        f"{len(columns.domains)} attributes, {len(columns.classes)} classes"
    )
    classes = [f"in {name}" for name in columns.classes[:MOST_CLASSES]]
    table = html_table(["likeliest", *classes], _bayes_rows(model))
    return f"{_html_lines([heading, *_warnings(release)])}{table}"


def _bayes_rows(model: BayesModel) -> Iterator[list[str]]:
    shares = np.exp(model.tables.log_priors)
    yield ["share of rows", *[f"{share:.0%}" for share in shares[:MOST_CLASSES]]]
    first = model.tables.first
    for a, domain in enumerate(model.columns.domains[:MOST_ATTRIBUTES]):
        likelihood = np.exp(model.tables.log_likelihoods[first[a] : first[a + 1]])
        best = likelihood.argmax(axis=0)[:MOST_CLASSES]
        cells = [f"{domain.describe([v])} ({likelihood[v, c]:.0%})" for c, v in enumerate(best)]
        yield [_name(model.columns, a), *cells]
