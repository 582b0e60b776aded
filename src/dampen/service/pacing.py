"""How much one caller may do at a time, whose turn it is, and when answers leave.

**Pace.**  How long an answer takes may depend on the data.  An answer therefore leaves at a
multiple of a public step after its question came, so that an observer learns a number of steps and
nothing finer.  Two data sets that differ in one row take nearly the same time: they are told apart
only if a step ends between the two, which for a difference of a microsecond and a step of a quarter
of a second happens once in 250,000 times.

**Turns.**  Who asks much waits behind those who ask little: of what waits, one of each caller is
taken, then the next of each.
"""

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["Pace", "Rate", "Turns"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pace:
    """Public steps of time, in seconds, and a way to wait."""

    step: float
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def steps(self, seconds: float) -> int:
        """How many steps an answer takes that was ready after so many seconds."""
        return max(1, math.ceil(seconds / self.step))

    async def wait(self, start: float) -> None:
        """Waits until the next step after `start`, a moment of `time.monotonic`."""
        await self.sleep(self.left(start))

    def left(self, start: float) -> float:
        """Seconds until then."""
        elapsed = time.monotonic() - start
        return self.steps(elapsed) * self.step - elapsed


@dataclass
class Rate:
    """A bucket per caller that holds a minute's requests and fills as time goes by."""

    per_minute: int
    most_callers: int = 10_000
    _buckets: "OrderedDict[str, tuple[float, float]]" = field(default_factory=OrderedDict)

    def allows(self, caller: str, now: float | None = None) -> bool:
        """Whether a caller may make one more request now; if so, it counts."""
        moment = time.monotonic() if now is None else now
        level, seen = self._buckets.pop(caller, (float(self.per_minute), moment))
        level = min(float(self.per_minute), level + (moment - seen) * self.per_minute / 60)
        allowed = level >= 1
        self._buckets[caller] = (level - 1 if allowed else level, moment)
        while len(self._buckets) > self.most_callers:
            self._buckets.popitem(last=False)
        return allowed


@dataclass
class Turns(Generic[T]):
    """What waits, by who asked for it."""

    _waiting: "OrderedDict[str, deque[T]]" = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def add(self, caller: str, thing: T) -> None:
        """Lets something wait for its turn."""
        self._waiting.setdefault(caller, deque()).append(thing)

    def take(self, most: int) -> list[T]:
        """The next ones, at most so many: in turn, one of each caller."""
        taken: list[T] = []
        while self._waiting and len(taken) < most:
            caller, own = self._waiting.popitem(last=False)
            taken.append(own.popleft())
            if own:
                self._waiting[caller] = own
        return taken

    def remove(self, unwanted: Callable[[T], bool]) -> list[T]:
        """What shall wait no longer."""
        removed: list[T] = []
        for caller, own in list(self._waiting.items()):
            removed += [each for each in own if unwanted(each)]
            kept = deque(each for each in own if not unwanted(each))
            if kept:
                self._waiting[caller] = kept
            else:
                del self._waiting[caller]
        return removed
