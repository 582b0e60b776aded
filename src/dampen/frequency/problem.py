"""The most frequent category: the simplest problem, and a pattern for your own.

Add/remove one row.  u(x, r) = the number of rows of category r: integers, Δ = 1, and one-sided,
because adding a row never lowers a count.  One row changes one count: the selection is separable,
so that no score pays a factor 2, and the whole vector of counts has 1-norm sensitivity 1, so that
`joint` reads off any k for one ε.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from dampen import sensitivity
from dampen.errors import DataError, ParameterError
from dampen.scores import Global, Shifted
from dampen.selection import IntArray, Neighbours, Selection


@dataclass(frozen=True)
class MostFrequent:
    """Which of the public `categories` occurs most often?"""

    categories: Sequence[Hashable]
    neighbours = Neighbours.ADD_REMOVE_ROW
    joint = MappingProxyType({Global(): 1.0, Shifted(): 1.0})

    def __post_init__(self) -> None:
        if len(self.categories) == 0:
            raise ParameterError("Expected at least one category, got none.")
        if len(set(self.categories)) < len(self.categories):
            raise ParameterError("Expected different categories; some occur twice.")

    @property
    def candidates(self) -> Sequence[Hashable]:
        return self.categories

    def selection(self, values: Sequence[Hashable], /) -> Selection:
        """Counts per category; a value outside the categories is a `DataError`."""
        return Selection(
            self._counts(values),
            sensitivity.constant(1),
            one_sided=True,
            separable=True,
            joint=self.joint,
            exact=True,
        )

    def _counts(self, values: Sequence[Hashable]) -> IntArray:
        position = {category: i for i, category in enumerate(self.categories)}
        try:
            codes = np.fromiter((position[v] for v in values), dtype=np.int64)
        except (KeyError, TypeError):
            raise DataError(
                "Expected only values from the given categories; there is another one. Add it to "
                "categories= if it is public, or drop such rows before the release."
            ) from None
        return np.bincount(codes, minlength=len(self.categories))
