"""How deep a tree is by default, from public facts alone: ε, the rows, the sizes of the table."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from dampen.questions.classify.candidates import candidates_of
from dampen.questions.classify.encoding import Domain
from dampen.questions.classify.plan import DEEPEST, Branching, is_staged, rounded_epsilon
from dampen.questions.classify.splits import check_max_rows

__all__ = ["Sizes", "default_depth", "default_stages", "default_widths", "sizes_of"]

MOST_SINGLE = 7
"""Levels that are selected one by one, at most."""
WIDTHS = {2: (144,), 3: (12, 12), 4: (8, 6, 3), 5: (4, 4, 3, 3), 6: (4, 3, 3, 2, 2)}
"""Splits of every node of a menu, level by level, for each number of levels."""
MOST_COUNTS = 2**28
MOST_TERMS = 2**26
"""Bounds on the work for a menu: counts of rows, and terms of the weights of splits."""
MOST_CELLS = 2**25
"""Counts that are held at once."""


class Sizes(NamedTuple):
    """The public sizes of a table: attributes, their values in all, splits of them, classes."""

    attributes: int
    values: int
    candidates: int
    classes: int


def sizes_of(domains: Sequence[Domain], branching: Branching, classes: int) -> Sizes:
    """The public sizes of a table with these domains and classes."""
    candidates = len(candidates_of(domains, branching))
    return Sizes(len(domains), sum(map(len, domains)), candidates, classes)


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


def default_stages(epsilon: Fraction, max_rows: int, sizes: Sizes) -> tuple[int, ...]:
    """Stages from public sizes alone: the more choices ε allows, the more levels come first.

    One release that decides several levels finds more than choices level by level, as far as its
    menu goes; levels that are selected from all splits come before it where ε n bears their price.
    1.1 log2(ε n) + .3 log2(K/2) - 10 of them: the constants have the largest mean accuracy over the
    tables of `dampen-studies run models`, on other splits of their rows (leaving one table out at a
    time, the rule loses .006 to the best number of levels of every cell).  Without such levels, the
    fewer rows and classes there are, the fewer levels are worth their noise.
    """
    rows = float(min(epsilon, Fraction(10**9))) * max_rows
    signal = math.log2(max(rows, 1.0))
    doublings = math.log2(sizes.classes / 2)
    single = min(max(0, round(1.1 * signal + 0.3 * doublings - 10)), MOST_SINGLE)
    several = 3 if single > 1 else 4
    if not single:
        several = min(max(2, round(signal / 2 + 0.75 * doublings - 0.25)), 5)
    stages = *(1,) * single, several
    cells = (sizes.values * sizes.classes) << (sum(stages) - 1)
    bearable = rounded_epsilon(epsilon / 5, max_rows, several, sizes.candidates + sizes.classes)
    if cells > MOST_CELLS or bearable is None:
        return (1,) * default_depth(epsilon, max_rows, sizes.candidates, 2.0, sizes.classes)
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
