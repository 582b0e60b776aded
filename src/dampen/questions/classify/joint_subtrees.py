"""Several levels of a tree and the classes of its leaves by one exponential mechanism.

Growing level by level pays for a choice at every level, and for the classes of the leaves besides.
Here one release decides all of them together: T, a tree of up to h levels from a public menu, and a
class for each of its leaves.  Add/remove one row; K is the number of classes, τ_lc counts the rows
of class c at leaf l, π is a public prior over trees, and e > 0.  Among all labelled trees, one is
drawn with

    P(T, c)  proportional to  π(T) Π_l (1/K) exp(e τ_{l c_l}).

**Theorem.**  The release of T and c is e-DP.  Proof: Σ_l τ_{l c_l} is the number of rows that the
labelled tree classifies rightly.  A row more raises it by 0 or 1, whatever T and c are.  So every
weight grows by a factor from 1 to e^e, so does their sum, and a probability changes by a factor
from e^-e to e^e.  (The exponential mechanism for a one-sided utility of sensitivity 1.)

There are astronomically many labelled trees, but the law factorises.

**How it is drawn.**  The prior is that of a branching process: a node is a leaf with probability
1/10; else its split is one of those that the menu has for it, each as likely, and on the last level
any split, each attribute as likely and each split of it.  Let Z of a node be the sum of the weights
of all labelled trees below it,

    Z = (1/10) m(τ) + (9/10) Σ_s π(s) Z(inside s) Z(outside s),     m(τ) = (1/K) Σ_c exp(e τ_c),

and Z = m(τ) below the last level.  A split (or none) is drawn from the root on, each by its term of
Z; given the splits above it, every leaf gets class c with probability proportional to exp(e τ_c).
The product of these probabilities telescopes to P(T, c).

*Rounding.*  Terms of Z are floats, taken as exact numbers when one is drawn
(`dampen.core.sampling.noisy_top`).  Let every ln of a term be within η of what it stands for: ln of
a prior, plus ln of the exact sums of the terms that are drawn from below.  Then ln of a product of
at most 2^h probabilities is off by 2^h η, ln of the sum of all weights is too, on either of two
neighbours: the loss is at most e + 4 · 2^h η.  `TreePlan.joint_epsilon` makes e so much smaller
than the ε that is paid.  For S splits and N rows, |ln Z| <= e N + ln(10 S) + 3, as a leaf alone has
a tenth of the weight.  A sum of K or S exponentials, its logarithm and three additions are right to
2^-52 (e N + ln(10 S) + K + 9) in absolute terms, and η = 2^-48 (e N + S + K + 64) is far more.

**The menu** is drawn without looking at the data, so it costs nothing; how it is drawn is a matter
of accuracy alone.  A node of level l has widths[l] splits drawn at random, and each of their two
sides has splits of its own, so that few splits make very many trees.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dampen.core.sampling import Entropy
from dampen.core.selection import FloatArray, IntArray
from dampen.kernels import joint_subtrees as kernel
from dampen.questions.classify.candidates import BoolArray, Candidates

__all__ = ["STAY", "Choices", "Menu", "Weights", "draw_menu"]

ATTEMPTS = 3
"""How often a split is drawn that could tell rows apart."""
LEAF = 0.1
"""The prior probability that a node is a leaf."""
MOST_POWERS = 2**16


@dataclass(frozen=True, eq=False)
class Menu:
    """Public splits for some leaves; see `dampen.kernels.joint_subtrees` for the arrays."""

    attribute: IntArray
    low: IntArray
    high: IntArray
    widths: tuple[int, ...]

    @property
    def ends(self) -> int:
        """Of a tree that is drawn, before its last level."""
        return int(2 ** len(self.widths))

    @property
    def trees(self) -> int:
        """How many trees have to be counted, so that all splits are."""
        return math.prod(self.widths)

    @cached_property
    def start(self) -> IntArray:
        """Where the splits of each level are."""
        sizes = [math.prod(self.widths[: i + 1]) << i for i in range(len(self.widths))]
        return np.cumsum([0, *sizes], dtype=np.int64)

    @property
    def arrays(self) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
        widths = np.array(self.widths, dtype=np.int64)
        return self.attribute, self.low, self.high, self.start, widths

    def split(self, leaf: int, level: int, choice: int, place: int) -> tuple[int, int, int]:
        """The attribute of a split, and the codes low .. high - 1 that it sets apart."""
        at = leaf, self.start[level] + (choice << level) + place
        return int(self.attribute[at]), int(self.low[at]), int(self.high[at])


def _blank(leaves: int, widths: tuple[int, ...]) -> Menu:
    size = sum(math.prod(widths[: i + 1]) << i for i in range(len(widths)))
    attribute, low, high = np.zeros((3, leaves, size), dtype=np.int64)
    return Menu(attribute, low, high, widths)


STAY = _blank(1, ())
"""The menu without splits: what it counts is the leaves themselves."""


def draw_menu(
    candidates: Candidates, widths: tuple[int, ...], allowed: Sequence[BoolArray], entropy: Entropy
) -> Menu:
    """Random splits for leaves, of which `allowed` tells the values that their paths leave.

    A function of public sizes and of randomness, never of the data.
    """
    if not len(candidates):
        return STAY
    menu = _blank(len(allowed), widths)
    first = candidates.first
    begin = first[candidates.attribute]
    splits = [candidates.attribute, candidates.low - begin, candidates.high - begin]
    where = np.unique(candidates.attribute, return_index=True)[1]
    shape = *menu.attribute.shape, ATTEMPTS
    words = np.frombuffer(entropy.read(8 * math.prod(shape)), dtype="<i8").reshape(shape)
    first_split = np.array([*where, len(candidates)], dtype=np.int64)
    values = np.stack(allowed).view(np.uint8)
    bits = words & (2**63 - 1)
    kernel.draw_splits(bits, np.column_stack(splits), first_split, first, values, *menu.arrays)
    return menu


@dataclass(frozen=True, eq=False)
class Weights:
    """ln m and ln Z from counts, at e = `epsilon`."""

    candidates: Candidates
    epsilon: float

    @cached_property
    def powers(self) -> FloatArray:
        most = min(MOST_POWERS, int(746 / self.epsilon) + 1)
        return np.exp(-self.epsilon * np.arange(most))

    @cached_property
    def log_prior(self) -> FloatArray:
        """Of no split, and of every candidate on the last level."""
        able, where, counts = np.unique(
            self.candidates.attribute, return_inverse=True, return_counts=True
        )
        if not len(able):
            return np.zeros(1)
        return np.log([LEAF, *(1 - LEAF) / (len(able) * counts[where])])

    @cached_property
    def splits(self) -> IntArray:
        """Of every candidate, where its attribute begins, the split, where the attribute ends."""
        c = self.candidates
        begin = c.first[c.attribute]
        end = c.first[c.attribute + 1]
        return np.column_stack([begin, c.low, c.high, end])

    def leaves(self, counts: IntArray) -> FloatArray:
        """ln m from counts (..., class)."""
        rows = counts.reshape(-1, counts.shape[-1])
        found: FloatArray = kernel.log_means(rows, self.epsilon, self.powers)
        return found.reshape(counts.shape[:-1])

    def ends(self, tables: IntArray) -> tuple[FloatArray, IntArray]:
        """ln Z before the last level, and class counts, from counts (..., value, class)."""
        counts = tables[..., : self.candidates.first[1], :].sum(axis=-2)
        given = tables.reshape(-1, *tables.shape[-2:])
        classes = counts.reshape(-1, counts.shape[-1])
        prior = np.exp(self.log_prior)
        found: FloatArray = kernel.end_weights(
            given, classes, self.splits, prior, self.epsilon, self.powers
        )
        return found.reshape(tables.shape[:-2]), counts

    def last_level(self, table: IntArray) -> FloatArray:
        """ln of the terms of Z on the last level: no split, and every candidate."""
        first = self.candidates.first
        stay = self.leaves(table[: first[1]].sum(axis=0)[None])
        splits = kernel.split_weights(
            table[None], self.splits, self.log_prior[1:], self.epsilon, self.powers
        )
        return np.concatenate([self.log_prior[:1] + stay, splits])


class Choices:
    """ln of the terms of Z for all nodes of a menu, level by level."""

    def __init__(self, menu: Menu, weights: Weights, ends: FloatArray, counts: IntArray) -> None:
        """From ln Z (leaf, tree, end) and class counts (leaf, tree, end, class)."""
        self.stay: list[FloatArray] = []
        self.splits: list[FloatArray] = []
        leaves = len(ends)
        below = ends
        for level, width in reversed(list(enumerate(menu.widths))):
            before = math.prod(menu.widths[:level])
            nodes = 2**level
            pairs = below.reshape(leaves, before, width, nodes, 2).sum(axis=-1)
            splits = pairs + math.log((1 - LEAF) / width)
            # The rows of a node are the same in all trees with the same choices above it.
            one = counts.reshape(leaves, before, -1, *counts.shape[2:])[:, :, 0]
            here = one.reshape(leaves, before, nodes, -1, counts.shape[-1]).sum(axis=3)
            stay = weights.leaves(here) + math.log(LEAF)
            self.stay.insert(0, stay)
            self.splits.insert(0, splits)
            below = _log_sums(np.concatenate([stay[:, :, None], splits], axis=2))

    def at(self, leaf: int, level: int, choice: int, place: int) -> FloatArray:
        """No split, then every split of the menu: ln of the terms of one node."""
        stay = self.stay[level]
        splits = self.splits[level]
        return np.array([stay[leaf, choice, place], *splits[leaf, choice, :, place]])


def _log_sums(terms: FloatArray) -> FloatArray:
    largest = terms.max(axis=2, keepdims=True)
    total: FloatArray = np.log(np.exp(terms - largest).sum(axis=2)) + largest[:, :, 0]
    return total
