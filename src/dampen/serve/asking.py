"""Questions on their way: who shares an answer, how long it is worked on, and when it leaves.

- A question that is asked again while it is being answered gets the same answer, for free.
- What looked at data is heard of at a public step of time alone (`limits.Pace`): the answer is
  neither sent nor in the ledger before, so that nobody can watch the moment when it was ready, not
  by asking the same, not by looking at releases, not at another server on the same ledger.
- What was begun is finished even if nobody waits for it any more.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

from dampen.errors import DampenError
from dampen.serve.desk import Answer, Desk, Failed, Prepared
from dampen.serve.guard import Refusal
from dampen.serve.limits import Pace

__all__ = ["Asking"]

T = TypeVar("T")


@dataclass
class Asking:
    """Takes questions to a desk and its workers; lives in one event loop.

    Attributes:
        desk: what answers.
        pool: threads that do what may take a while.
        pace: when answers leave.
        patience: seconds after which a caller is told to fetch the answer later.
        most: questions that may be on their way.
    """

    desk: Desk
    pool: ThreadPoolExecutor
    pace: Pace
    patience: float
    most: int
    _tasks: "set[asyncio.Task[Answer]]" = field(default_factory=set)
    _first: "dict[str, asyncio.Future[Answer]]" = field(default_factory=dict)

    async def work(self, task: Callable[[], T]) -> T:
        """Does something that may take a while beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, task)

    async def ask(self, prepare: Callable[[], Prepared], *, reuse: bool) -> Answer:
        """The answer to a question.

        Raises:
            Refusal: if too many wait, or the answer takes longer than the service is patient for.
            DampenError: as the desk does.
        """
        if len(self._tasks) >= self.most:
            raise Refusal(503, "Too many questions are waiting. Nothing was charged.")
        task = asyncio.create_task(self._answer(prepare, reuse, time.monotonic()))
        self._tasks.add(task)
        task.add_done_callback(self._done)
        try:
            return await asyncio.wait_for(asyncio.shield(task), self.patience)
        except TimeoutError:
            raise Refusal(
                504, "The answer takes longer. Fetch it from your releases in a while."
            ) from None

    async def finish(self, seconds: float) -> None:
        """Waits for what was begun."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    async def _answer(self, prepare: Callable[[], Prepared], reuse: bool, start: float) -> Answer:
        asked = await self.work(prepare)
        if not reuse:
            return await self._drawn(asked, start)
        while (first := self._first.get(asked.mark)) is not None:
            try:
                return replace(await asyncio.shield(first), reused=True).seen_by(asked.caller)
            except Failed as failed:
                raise Failed(failed.incident, None) from None
            except DampenError:
                continue  # it was the first one's own, such as a cap
        return await self._answered_first(asked, start)

    async def _answered_first(self, asked: Prepared, start: float) -> Answer:
        mine: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._first[asked.mark] = mine
        try:
            mine.set_result(await self._drawn(asked, start, self.desk.recorded))
            return mine.result()
        except Exception as error:
            mine.set_exception(error)
            mine.exception()  # seen: nobody may be waiting for it
            raise
        finally:
            mine.cancel()  # where neither happened
            del self._first[asked.mark]

    async def _drawn(
        self,
        asked: Prepared,
        start: float,
        recorded: Callable[[Prepared], Answer | None] = lambda _: None,
    ) -> Answer:
        try:
            made = await self.work(lambda: recorded(asked) or self.desk.drawn(asked))
        except Failed:
            await self.pace.wait(start)
            raise
        if isinstance(made, Answer):
            return made
        await self.pace.wait(start)
        return await self.work(made.kept)

    def _done(self, task: "asyncio.Task[Answer]") -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # seen: nobody may be waiting for it
