"""The public facts of one column: numbers in a range, listed values, or public names of the rows.

    days = { lower = 0, upper = 90, step = 1, bins = 10 }
    age = { edges = [0, 18, 65, 120] }
    hospital = ["Ash", "Birch"]                        # short for { values = ["Ash", "Birch"] }
    ward = { values = ["A", "B"], public = true }      # everyone's ward is known and never changes
    employee = { names = true }

`missing` and `unlisted` say what happens to a row whose cell is missing, or is none of the listed
values: "drop" leaves the row out, "own" makes it a category of its own, `dampen.MISSING` or
`dampen.OTHER` among the values.  Where a column does not say, the rule of its data set holds.

A missing *number* is a bin of its own in models, where the rule is "own".  Elsewhere its row is
left out in any case; where the number of rows is public, it counts as the lower end.
"""

import math
import sys
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal, NewType, TypeAlias

from dampen.errors import ParameterError
from dampen.rules import MISSING, OTHER

__all__ = ["Categories", "Column", "Names", "Numbers", "Rule", "Word"]

Rule: TypeAlias = Literal["drop", "own"]

Word = NewType("Word", str)
"""A text; in TOML also a whole number, which is taken as its text."""

DEFAULT_BINS = 10
MOST_BINS = 2**15 - 1
LARGEST = sys.float_info.max


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers; one beyond a public bound is moved to it.

    Attributes:
        lower: the smallest number, NaN if it is not stated; with `edges` the first of them.
        upper: the largest number, likewise; with `edges` the last of them.
        step: the distance of the public grid of possible values, if there is one.
        bins: how many bins of equal width a model sorts the numbers into.
        edges: the ends of bins one by one, ascending, in place of `bins`.
        missing: what happens to a row without a number.
        public: whether everyone's number is known and does not change.
    """

    lower: float = math.nan
    upper: float = math.nan
    step: float | None = None
    bins: int = DEFAULT_BINS
    edges: tuple[float, ...] = ()
    missing: Rule | None = None
    public: bool = False
    kind: ClassVar[str] = "numbers"

    def __post_init__(self) -> None:
        if self.edges:
            self._check_edges()
            object.__setattr__(self, "lower", self.edges[0])
            object.__setattr__(self, "upper", self.edges[-1])
            object.__setattr__(self, "bins", len(self.edges) - 1)
        if math.isinf(self.lower) or math.isinf(self.upper) or not self._ascends:
            raise ParameterError("Expected lower < upper, both finite.")
        if self.step is not None and not 0 < self.step <= LARGEST:
            raise ParameterError("Expected step to be a number above 0.")
        if not 1 <= self.bins <= MOST_BINS:
            raise ParameterError(f"Expected bins to be a whole number from 1 to {MOST_BINS}.")

    @property
    def bounded(self) -> bool:
        """Whether both ends are stated."""
        return not (math.isnan(self.lower) or math.isnan(self.upper))

    @property
    def _ascends(self) -> bool:
        return not self.bounded or 0 < self.upper - self.lower <= LARGEST

    def _check_edges(self) -> None:
        ascending = all(a < b for a, b in pairwise(self.edges))
        if not (2 <= len(self.edges) <= MOST_BINS + 1 and ascending):
            raise ParameterError(f"Expected 2 to {MOST_BINS + 1} ascending, finite edges.")
        for given, end in ((self.lower, self.edges[0]), (self.upper, self.edges[-1])):
            if not math.isnan(given) and given != end:
                raise ParameterError("Expected edges alone, or edges from lower to upper.")

    @property
    def bin_edges(self) -> tuple[float, ...]:
        """The ends of all bins, ascending."""
        if self.edges:
            return tuple(map(float, self.edges))
        import numpy as np

        ends: list[float] = np.linspace(
            float(self.lower), float(self.upper), self.bins + 1
        ).tolist()
        return tuple(ends)

    def shown(self) -> dict[str, Any]:
        """As JSON, for analysts."""
        stated = {"lower": self.lower, "upper": self.upper, "step": self.step}
        known = {
            name: value
            for name, value in stated.items()
            if value is not None and not math.isnan(value)
        }
        return {"kind": self.kind, **known, "bins": self.bins}


@dataclass(frozen=True, slots=True)
class Categories:
    """Text, one of public values.

    Attributes:
        values: all of them, different.
        missing: what happens to a row without a value.
        unlisted: what happens to a row with another value.
        public: whether everyone's value is known and does not change.
    """

    values: tuple[Word, ...]
    missing: Rule | None = None
    unlisted: Rule | None = None
    public: bool = False
    kind: ClassVar[str] = "categories"

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) < len(self.values):
            raise ParameterError("Expected values, at least one and all different.")

    @property
    def labels(self) -> tuple[str, ...]:
        """The values, then the labels of missing and of unlisted cells that are their own."""
        own = ((MISSING, self.missing), (OTHER, self.unlisted))
        rules = (label for label, rule in own if rule == "own" and label not in self.values)
        return (*self.values, *rules)

    def shown(self) -> dict[str, Any]:
        """As JSON, for analysts."""
        return {"kind": self.kind, "values": list(self.values)}


@dataclass(frozen=True, slots=True)
class Names:
    """Public names of the rows."""

    names: bool = True
    kind: ClassVar[str] = "names"

    def __post_init__(self) -> None:
        if self.names is not True:
            raise ParameterError("Expected names = true.")

    def shown(self) -> dict[str, Any]:
        """As JSON, for analysts."""
        return {"kind": self.kind}


Column: TypeAlias = Numbers | Categories | Names
