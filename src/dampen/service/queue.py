"""Questions on their way: who shares an answer, how long it is worked on, and when it leaves.

- Questions that come while others are charged are charged together, at one synchronisation; one
  worker then draws those that look at the same histogram, and other workers the others, each alone.
- A question that is asked again while it is being answered gets the same answer, for free.
- What looked at data is heard of at a public step of time alone (`limits.Pace`), counted from its
  charge, which no data has a part in: the answer is neither sent nor in the ledger before, so that
  nobody can watch the moment when it was ready, not by asking the same, not by looking at releases,
  not at another server on the same ledger.  Those that are drawn by one worker one after the other
  leave at the same step, so that their clocks together tell no more than one.
- What was begun is finished even if nobody waits for it any more.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from dampen.errors import DampenError
from dampen.service.middleware import Refusal
from dampen.service.pacing import Pace
from dampen.service.stages import Answer, Charged, Drawn, Failed, Prepared
from dampen.service.tokens import Token
from dampen.service.workflow import Desk

__all__ = ["Asking"]

T = TypeVar("T")

LARGEST_GROUP = 64
"""Questions that are charged together."""


@dataclass(frozen=True, slots=True, eq=False)
class _Open:
    """A question that was begun; its answer is drawn anew unless it may be reused."""

    asked: Prepared
    reuse: bool
    answer: "asyncio.Future[Answer]"


@dataclass
class Asking:
    """Takes questions to a desk and its workers; lives in one event loop.

    Attributes:
        desk: what answers.
        workers: threads that look at data, at most.
        pace: when answers leave.
        patience: seconds after which a caller is told to fetch the answer later.
        most: questions that may be on their way.
        waiting: questions that are, those that wait for the answer to the same question included.
    """

    desk: Desk
    workers: int
    pace: Pace
    patience: float
    most: int
    waiting: int = 0
    _pool: ThreadPoolExecutor = field(init=False)
    _clerks: ThreadPoolExecutor = field(init=False)
    _open: "set[asyncio.Future[Answer]]" = field(default_factory=set)
    _first: "dict[str, asyncio.Future[Answer]]" = field(default_factory=dict)
    _queues: dict[str, list[_Open]] = field(default_factory=dict)
    _tasks: "set[asyncio.Task[None]]" = field(default_factory=set)

    def __post_init__(self) -> None:
        # Charges and records never wait for those who look at data.
        sets = len(self.desk.configuration.sets)
        self._pool = ThreadPoolExecutor(self.workers, thread_name_prefix="dampen-desk")
        self._clerks = ThreadPoolExecutor(2 * sets, thread_name_prefix="dampen-clerk")

    def close(self) -> None:
        """Waits for the threads to end."""
        self._pool.shutdown(wait=True)
        self._clerks.shutdown(wait=True)

    async def work(self, task: Callable[[], T]) -> T:
        """Does something that may take a while beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, task)

    async def ask(
        self,
        caller: Token,
        dataset: str,
        kind: str,
        options: dict[str, Any],
        budget: str | None,
        *,
        reuse: bool,
    ) -> Answer:
        """The answer to a question.

        Raises:
            Refusal: if too many wait, or the answer takes longer than the service is patient for.
            DampenError: as the desk does.
        """
        if max(self.waiting, len(self._open)) >= self.most:
            raise Refusal(503, "Too many questions are waiting. Nothing was charged.")
        self.waiting += 1
        try:
            async with asyncio.timeout(self.patience):
                prepare = partial(self.desk.prepared, caller, dataset, kind, options, budget)
                quick = self.desk.is_quick(dataset, kind)
                asked = prepare() if quick else await self.work(prepare)
                return await self._answer(asked, reuse)
        except TimeoutError:
            raise Refusal(
                504, "The answer takes longer. Fetch it from your releases in a while."
            ) from None
        finally:
            self.waiting -= 1

    async def finish(self, seconds: float) -> None:
        """Waits for what was begun."""
        if self._open:
            await asyncio.wait(self._open, timeout=seconds)

    async def _answer(self, asked: Prepared, reuse: bool) -> Answer:
        while reuse and (first := self._first.get(asked.mark)) is not None:
            try:
                return replace(await asyncio.shield(first), reused=True).seen_by(asked.caller)
            except Failed as failed:
                raise Failed(failed.incident, None) from None
            except DampenError:
                continue  # it was the first one's own, such as a cap
        return await asyncio.shield(self._begin(asked, reuse))

    def _begin(self, asked: Prepared, reuse: bool) -> "asyncio.Future[Answer]":
        one = _Open(asked, reuse, asyncio.get_running_loop().create_future())
        self._open.add(one.answer)
        if reuse:
            self._first[asked.mark] = one.answer
        if asked.dataset in self._queues:
            self._queues[asked.dataset].append(one)
        else:
            self._queues[asked.dataset] = [one]
            self._go(self._charge(asked.dataset))
        return one.answer

    def _end(self, one: _Open, outcome: Answer | BaseException) -> None:
        self._open.discard(one.answer)
        if one.reuse:
            del self._first[one.asked.mark]
        if isinstance(outcome, Answer):
            one.answer.set_result(outcome)
        else:
            one.answer.set_exception(outcome)
            one.answer.exception()  # seen: nobody may be waiting for it

    async def _charge(self, dataset: str) -> None:
        """Charges the questions about a data set, group after group, until there are none."""
        while queue := self._queues[dataset]:
            group = queue[:LARGEST_GROUP]
            self._queues[dataset] = queue[LARGEST_GROUP:]
            task = partial(self.desk.charged, [(one.asked, one.reuse) for one in group])
            outcomes = await self._outcomes(self._clerks, task, len(group))
            start = time.monotonic()
            paid = dict[_Open, Charged]()
            for one, outcome in zip(group, outcomes, strict=True):
                if isinstance(outcome, Charged):
                    paid[one] = outcome
                else:
                    self._end(one, outcome)
            for some in _by_histogram(paid):
                self._go(self._draw(some, [paid[one] for one in some], start))
        del self._queues[dataset]

    async def _draw(self, group: list[_Open], paid: Sequence[Charged], start: float) -> None:
        """Draws answers, and at their step lets everyone know."""
        outcomes = await self._outcomes(self._pool, partial(self.desk.drawn, paid), len(group))
        await self.pace.wait(start)
        drawn = dict[_Open, Drawn]()
        for one, outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, Drawn):
                drawn[one] = outcome
            else:
                self._end(one, outcome)
        task = partial(self.desk.kept, list(drawn.values()))
        for one, kept in zip(
            drawn, await self._outcomes(self._clerks, task, len(drawn)), strict=True
        ):
            self._end(one, kept)

    async def _outcomes(
        self, pool: ThreadPoolExecutor, task: Callable[[], Sequence[T]], count: int
    ) -> "Sequence[T | BaseException]":
        """What came of each of a group; an error of the whole group is one of each."""
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, task)
        except Exception as error:
            return [error] * count

    def _go(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _by_histogram(paid: Iterable[_Open]) -> list[list[_Open]]:
    """Those that look at the same histogram together, and every other one alone."""
    together: dict[str, list[_Open]] = {}
    alone: list[list[_Open]] = []
    for one in paid:
        if one.asked.question.cells:
            together.setdefault(one.asked.question.cells, []).append(one)
        else:
            alone.append([one])
    return [*together.values(), *alone]
