"""The public candidate splits of a node, and their counts.

With two branches (`binary`) an ordered attribute is cut between two of its values, and of an
unordered one each value in turn is set apart from the others.  With one branch per value
(`multiway`, ID3) the candidates are the attributes.  Either way a candidate is a function of one
row, so that `dampen.questions.classify.splits` covers both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import IntArray
from dampen.questions.classify.encoding import Domain, first_codes

__all__ = ["BoolArray", "Branching", "Candidates", "candidates_of"]

BoolArray = NDArray[np.bool_]
Branching: TypeAlias = Literal["binary", "multiway"]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The public splits.  Codes low .. high-1 of an attribute go left, the others right.

    With one branch per value (`multiway`) a candidate is an attribute, and low, high are unused.
    """

    branching: Branching
    first: IntArray
    attribute: IntArray
    low: IntArray
    high: IntArray

    def __len__(self) -> int:
        return len(self.attribute)

    def possible(self, allowed: BoolArray) -> BoolArray:
        """Which candidates can still tell rows apart, given the values a node's path allows."""
        below = np.concatenate([[0], np.cumsum(allowed)])
        all_values = below[self.first[self.attribute + 1]] - below[self.first[self.attribute]]
        if self.branching == "multiway":
            return np.asarray(all_values >= 2)
        left = below[self.high] - below[self.low]
        return np.asarray((left > 0) & (left < all_values))

    def tables(self, base: IntArray) -> IntArray:
        """Counts (node, candidate, side, class) of two-way splits, from (node, value, class)."""
        zero = np.zeros((len(base), 1, base.shape[2]), dtype=np.int64)
        below = np.concatenate([zero, np.cumsum(base, axis=1)], axis=1)
        left = below[:, self.high] - below[:, self.low]
        begin = self.first[self.attribute]
        end = self.first[self.attribute + 1]
        return np.stack([left, below[:, end] - below[:, begin] - left], axis=2)

    def codes(self, chosen: int) -> tuple[int, int, int]:
        """The attribute of a two-way split, and the codes low .. high - 1 that go left."""
        attribute = int(self.attribute[chosen])
        begin = int(self.first[attribute])
        return attribute, int(self.low[chosen]) - begin, int(self.high[chosen]) - begin

    def branches(self, chosen: int) -> list[list[int]]:
        """The codes that go to each child."""
        a = self.attribute[chosen]
        size = int(self.first[a + 1] - self.first[a])
        if self.branching == "multiway":
            return [[code] for code in range(size)]
        low = self.low[chosen] - self.first[a]
        high = self.high[chosen] - self.first[a]
        left = list(range(int(low), int(high)))
        return [left, [code for code in range(size) if not low <= code < high]]


def candidates_of(domains: Sequence[Domain], branching: Branching = "binary") -> Candidates:
    """All splits: ordered values are cut in two; of unordered ones each is set apart in turn."""
    first = first_codes(domains)
    found: list[tuple[int, int, int]] = []
    for a, domain in enumerate(domains):
        size = len(domain)
        begin = int(first[a])
        if branching == "multiway":
            found.append((a, begin, begin + size))
        elif domain.ordered or size == 2:
            found += [(a, begin, begin + cut) for cut in range(1, size)]
        else:
            found += [
                (a, begin + code, begin + code + 1) for code in range(size if size > 2 else 0)
            ]
    columns = np.array(found, dtype=np.int64).reshape(-1, 3).T
    return Candidates(branching, first, columns[0], columns[1], columns[2])
