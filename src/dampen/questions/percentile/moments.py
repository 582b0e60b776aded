"""The possible answers about dates and times where nobody stated a range.

**Candidates** are the days from 1900-01-01 to 2099-12-31, of times every second of them.

**Prior.**  A year shares its weight equally among its first day, the first days of its months, and
all of its days; a day, of times, among its start, its hours, its minutes and its seconds.  Years
from 1975 to 2024 weigh 8, and half as much for every half century farther away.  All of it is
public and does not depend on any data.

**In whole numbers.**  The code of a candidate is its day, or second, from 1900 on.  The weight of
all candidates up to a code is looked up in two tables, of days and of the seconds of a day.
`dampen.questions.percentile.decimals` has the theorem and the draw.
"""

from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np

from dampen.core.selection import FloatArray, IntArray
from dampen.data.times import DAY
from dampen.errors import ParameterError

__all__ = ["Moments"]

FIRST = date(1900, 1, 1)
LAST = date(2099, 12, 31)
ORIGIN = date(1970, 1, 1).toordinal() - FIRST.toordinal()
NEAR = 1e-3
"""Of a second: what a float of days may be off."""
DAYS = LAST.toordinal() - FIRST.toordinal() + 1


@dataclass(frozen=True)
class Moments:
    """The public candidates, with their prior weights; numbers are days since 1970-01-01.

    Attributes:
        lower: the smallest possible answer, if it is bounded.
        upper: the largest possible answer, if it is bounded.
        seconds: whether the candidates are seconds; days if not.

    Raises:
        ParameterError: if no candidate is left.
    """

    lower: float | None = None
    upper: float | None = None
    seconds: bool = False

    def __post_init__(self) -> None:
        low, high = self.ends
        if low > high:
            raise ParameterError(
                f"Expected lower < upper between {FIRST} and {LAST}. Other ranges need a step, "
                "such as step=1 for days."
            )

    def codes(self, numbers: FloatArray) -> IntArray:
        """The codes of numbers that are not missing, within the range."""
        day = np.clip(numbers + ORIGIN, -1, DAYS + 1)
        place = np.rint(day * DAY) if self.seconds else np.floor(day)
        return np.clip(place.astype(np.int64), *self.ends)

    def mass(self, codes: IntArray) -> IntArray:
        """The prior weight of all candidates up to each code, the range cut off."""
        low, high = self.ends
        return self._uncut(np.clip(codes, low - 1, high)) - self._before

    def value(self, code: int) -> int | float:
        """The number with that code."""
        day, second = divmod(code, DAY if self.seconds else 1)
        return day - ORIGIN + second / DAY if second else day - ORIGIN

    def code_at(self, mass: int) -> int:
        """The first code up to which candidates weigh more than `mass`; 0 <= mass < total."""
        low, high = self.ends
        while low < high:
            middle = (low + high) // 2
            if int(self.mass(np.array([middle]))[0]) > mass:
                high = middle
            else:
                low = middle + 1
        return low

    def listed(self, low: int, high: int, most: int) -> IntArray:
        """Candidates from one code to another at even distances, at most about `most` of them."""
        steps = (1, 60, 3600, DAY) if self.seconds else (1,)
        step = next((each for each in steps if (high - low) // each < most), steps[-1])
        inside = np.arange(-(-low // step) * step, high + 1, step)
        return np.unique(np.concatenate([[low, high], inside]))

    @cached_property
    def total(self) -> int:
        """The weight of all candidates."""
        return int(self.mass(np.array([self.ends[1]]))[0])

    @cached_property
    def least(self) -> int:
        """A weight that no candidate is below."""
        return int(self._day.min() * self._second.min())

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The codes of the range."""
        part = DAY if self.seconds else 1
        low = 0 if self.lower is None else int(np.ceil((self.lower + ORIGIN) * part - NEAR))
        last = DAYS * part - 1
        high = last if self.upper is None else int(np.floor((self.upper + ORIGIN) * part + NEAR))
        return max(low, 0), min(high, last)

    @cached_property
    def _day(self) -> IntArray:
        """The weight of every day: shares of a year are 1/3 each, in units of 1/(12 366)."""
        days = [date.fromordinal(FIRST.toordinal() + i) for i in range(DAYS)]
        plain = np.full(DAYS, 12)
        plain[[each.day == 1 for each in days]] += 366
        plain[[each.day == each.month == 1 for each in days]] += 12 * 366
        era = np.array([2 ** max(0, 3 - abs((each.year - 1975) // 50)) for each in days])
        return plain * era

    @cached_property
    def _second(self) -> IntArray:
        """The weight of every second of a day, in units of 1/86,400 of a share."""
        if not self.seconds:
            return np.ones(1, dtype=np.int64)
        second = np.ones(DAY, dtype=np.int64)
        second[::60] += 60
        second[::3600] += 3600
        second[0] += DAY
        return second

    @cached_property
    def _upto(self) -> tuple[IntArray, IntArray]:
        """The weight of the days, and of the seconds, before each."""
        none = np.zeros(1, dtype=np.int64)
        days = np.concatenate([none, np.cumsum(self._day)])
        return days, np.concatenate([none, np.cumsum(self._second)])

    @cached_property
    def _before(self) -> int:
        return int(self._uncut(np.array([self.ends[0] - 1]))[0])

    def _uncut(self, codes: IntArray) -> IntArray:
        """The weight of all candidates up to codes from -1 on, whatever the range is."""
        days, seconds = self._upto
        day, second = np.divmod(codes + 1, DAY if self.seconds else 1)
        whole = days[day] * seconds[-1]
        return whole + np.append(self._day, 0)[day] * seconds[second]
