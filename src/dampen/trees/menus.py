"""Several levels of a tree by one selection: whole small trees from a public menu.

Growing level by level pays for a choice at every level.  Where ε allows few choices, it is better
to make one among many small trees that were drawn without looking at the data: no split at all,
every single split, and trees of several levels with random splits.

Add/remove one row.  τ_lc counts the rows of class c at end l of a small tree, K is the number of
classes and e > 0 a public number: the ε by which the leaves will be labelled.

A public prior π over the menu is added as ln π / ε' to the utility of a selection at ε', which no
row changes: without signal, trees are chosen by it.  A tenth is no split and a tenth a single one.

**Free energy.**  u = Σ_l f(τ_l) with f(t) = (1/e) ln( (1/K) Σ_c exp(e t_c) ).

*Theorem.*  Δ = 1 and u is one-sided.  Proof: ∂f/∂t_c = exp(e t_c) / Σ_k exp(e t_k) lies between 0
and 1, and a row is at one end of the tree: along the path on which its count grows by 1, u grows by
at most 1 and never falls.

*Meaning.*  Let p be the distribution of a class drawn by the exponential mechanism at e from the
counts t (one-sided: p_c proportional to exp(e t_c)), and H its entropy.  Then
f(t) = E_p[t_c] - (ln K - H(p)) / e: the rows that the label is expected to classify rightly, less
at most ln K / e.  Permute-and-flip labels at least as well.  So trees of any number of ends are
compared by what they will be worth once their labels are noisy: many ends with few rows each count
for little more than the share 1/K that a label at random gets, and an empty end for nothing.  As
e grows, u becomes `max`.

*Rounding.*  All terms are of one sign.  With x = e max_c t_c <= 700, exp(x) - 1 of a rounded x is
right to x + 3 units of 2^-53, the compensated mean y of them to x + 6, and ln(1 + y) to
(x + 6) y / ((1 + y) ln(1 + y)) + 2 units.  As x <= ln(1 + K y), this is at most ln(1 + K) + 8 for
y <= 1, less for larger y, and below 30 for K <= 2^31.  For x > 700 the sum e max t + ln(...) loses
no more.  So u is right to 2^-47 of itself, and 0 <= u <= N.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dampen import sensitivity
from dampen._kernels import menus as kernel
from dampen.sampling import Entropy
from dampen.selection import FloatArray, IntArray, Selection
from dampen.trees.candidates import Candidates

__all__ = [
    "STAY",
    "Menu",
    "draw_menu",
    "free_energies",
    "menu_selection",
    "menu_size",
]

ATTEMPTS = 3
"""How often a split is drawn that could tell rows apart."""


@dataclass(frozen=True, eq=False)
class Menu:
    """Small public trees; see `dampen._kernels.menus` for the arrays.

    Attributes:
        log_prior: ln π of every tree.
    """

    attribute: IntArray
    low: IntArray
    high: IntArray
    height: IntArray
    log_prior: FloatArray

    def __len__(self) -> int:
        return len(self.height)

    @property
    def ends(self) -> int:
        """How many ends the highest tree has."""
        return self.attribute.shape[1] + 1

    @property
    def arrays(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        return self.attribute, self.low, self.high, self.height

    def part(self, begin: int, end: int) -> "Menu":
        """Some of its trees."""
        attribute, low, high, height = (array[begin:end] for array in self.arrays)
        return Menu(attribute, low, high, height, self.log_prior[begin:end])


def _blank(heights: Sequence[int], ends: int, prior: Sequence[float]) -> Menu:
    attribute, low, high = np.zeros((3, len(heights), ends - 1), dtype=np.int64)
    return Menu(attribute, low, high, np.array(heights, dtype=np.int64), np.log(prior))


STAY = _blank([0], 1, [1.0])
"""The menu of the tree without splits: its counts are those of the classes."""


def draw_menu(candidates: Candidates, height: int, drawn: int, entropy: Entropy) -> Menu:
    """No split, all single splits, and so many trees of up to `height` levels drawn at random.

    A function of public sizes and of randomness, never of the data.  How it is drawn is a matter of
    accuracy alone.
    """
    singles, levels = len(candidates), range(max(2, height // 2), height + 1)
    heights = [levels[i % len(levels)] for i in range(drawn)] if levels and singles else []
    prior = [0.1, *[0.1 / max(singles, 1)] * singles, *[0.8 / max(drawn, 1)] * len(heights)]
    menu = _blank([0, *[1] * singles, *heights], 2**height, prior)
    first = candidates.first
    sizes = np.diff(first)
    splits = np.column_stack([candidates.low, candidates.high]) - first[candidates.attribute, None]
    single = slice(1, 1 + singles)
    menu.attribute[single, 0] = candidates.attribute
    menu.low[single, 0], menu.high[single, 0] = splits.T
    # Attributes of one value split nothing.
    able = np.flatnonzero(np.bincount(candidates.attribute, minlength=len(sizes)))
    begins = np.searchsorted(candidates.attribute, [*able, len(sizes)])
    trees = menu.part(1 + singles, len(menu))
    shape = len(trees), menu.ends - 1, ATTEMPTS
    words = np.frombuffer(entropy.read(8 * int(np.prod(shape))), dtype="<i8").reshape(shape)
    kernel.draw_trees(words & (2**63 - 1), splits, begins, sizes[able], trees.arrays)
    trees.attribute[:] = able[trees.attribute]
    return menu


def menu_selection(
    utility: FloatArray,
    log_prior: FloatArray,
    epsilon: float,
    max_rows: int,
    *,
    one_sided: bool = True,
) -> Selection:
    """The selection of one small tree for one node, at ε, among at most `max_rows` rows."""
    prior = log_prior / epsilon
    largest = max_rows + float(np.abs(prior).max())
    return Selection(
        utility + prior,
        sensitivity.constant(1),
        one_sided=one_sided,
        utility_range=largest,
        rounding=2.0**-46 * largest,
    )


def free_energies(tables: IntArray, epsilon: float) -> FloatArray:
    """u of (node, tree), from counts (node, tree, end, class) and the ε of labels."""
    u: FloatArray = kernel.free_energy(tables.reshape(-1, *tables.shape[2:]), epsilon)
    return u.reshape(tables.shape[:2])


def menu_size(max_rows: int, stages: int) -> int:
    """How many trees to draw: a thousand in all, fewer where so many rows would take long."""
    return max(64, min(1000 // stages, 2**28 // max_rows))
