"""One question from a caller to an answer, independent of HTTP.

1. `prepare`: who asks what of which data set, checked against public facts.  Nothing is charged.
2. `charge`: if the same question was answered before, that release is given for free.  Otherwise
   its method, price and accuracy are planned, and one of the data set's budgets is charged in the
   caller's name.  No row is read.
3. `draw`: rows are looked at and the answer is drawn, from the plan that was charged.  If the data
   is not as promised, the caller is told one public sentence; why is kept for the curator.
4. `keep`: the answer is in the ledger before it is given.

Steps 2 to 4 take a group of questions: it shares one look at the ledger, one charge that is
synchronised to disk, and one record.  `Workflow.ask` takes a question through all of them:

- Questions wait for their charge, and analysts take turns (`Turns`).  Those about a table
  that wait when others were charged are charged together; then one worker draws those of the same
  kind about the same columns.  Graphs and models, which take long, are charged one by one, when a
  worker is free, so that a freeze finds most of them not charged and ends them (`stop`).
- Control (freezing, balances, health) has threads of its own, and waits for no question.
- A question that is asked again while it is being answered gets the same answer, for free.
- What looked at data is heard of at a public step of time alone (`Pace`), not before the
  least one of its class of question, counted from its charge, which no data has a part in: the
  answer is neither sent nor in the ledger before, so that nobody can watch the moment when it was
  ready, not by asking the same, not by looking at releases, not at another server on the same
  ledger.  Those that are drawn by one worker one after the other leave at the same step, so that
  their clocks together tell no more than one.  A worker is free for the next long question at that
  step, too: no charge tells when the one before was ready.
- What was begun is finished even if nobody waits for it any more.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from dampen.core.sampling import SystemEntropy
from dampen.core.selection import Neighbours
from dampen.epsilon import decimal_text, short_text
from dampen.errors import BudgetError, DampenError, DataError, ParameterError
from dampen.ledger import Account
from dampen.ledger.log import key_of
from dampen.ledger.rules import steps_between
from dampen.ledger.worker import Unwanted
from dampen.releases.answer import Paid, Planned, is_refused
from dampen.releases.cost import Cost
from dampen.releases.method import Rest
from dampen.releases.release import Release
from dampen.service.cache import Cache, Samples
from dampen.service.catalogue import Catalogue, History, marked, payer, shown_balance
from dampen.service.configuration import Configuration, Served
from dampen.service.middleware import Pace, Refusal, Turns
from dampen.service.questions import Asked, example, least_steps, question_of
from dampen.service.tokens import Role, Token, Tokens

if TYPE_CHECKING:
    from dampen.sql import Statement

__all__ = ["Answer", "Charged", "Drawn", "Failed", "Prepared", "Workflow"]

T = TypeVar("T")
R = TypeVar("R")

LARGEST_GROUP = 64
"""Questions that are charged together."""
GATHERING = 0.002
"""Seconds that a charge, or a record, waits for others to share its transaction."""
FEW_SETS = 8
"""Data sets that are charged at a time without waiting for each other, at least."""
CONTROLLERS = 4
"""Threads for freezing, balances and health."""


class Failed(DataError):
    """The data is not what the public facts promise; the charge stands.

    Its text is the same whatever was wrong; `incident` is for the curator.
    """

    def __init__(self, incident: str, charge: str | None) -> None:
        stands = "Nothing was charged." if charge is None else f"The charge {charge} stands."
        super().__init__(
            f"The data set could not answer this question. {stands} Ask the curator to look up "
            f"{incident}."
        )
        self.incident = incident
        self.charge = charge


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A question that was checked, who asks it, and the budgets that may pay.

    Attributes:
        asked: the question.
        accounts: the budgets, each with its relation.
        caller: who asks.
        reuse: whether the recorded answer to the same question will do.
    """

    asked: Asked
    accounts: Sequence[tuple[Account, Neighbours]]
    caller: Token
    reuse: bool = True


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A question that was not charged yet, and who waits for its answer."""

    prepared: Prepared
    answer: "asyncio.Future[Answer]"

    def is_paid_by(self, budget: str) -> bool:
        """Whether no other budget can pay for it."""
        return all(key_of(each.name) == key_of(budget) for each, _ in self.prepared.accounts)


@dataclass
class _Lane:
    """Questions that wait for their charge, and how many of its groups may be on their way."""

    waiting: "Turns[_Waiting]" = field(default_factory=Turns)
    free: int = 1


@dataclass(frozen=True, slots=True)
class _Order:
    """A question that was planned and not answered before, and who pays."""

    prepared: Prepared
    plan: Planned
    account: Account
    first: Cost | None = None

    def wanted(self) -> tuple[Account, Cost, str | None]:
        """Who pays, what, with all that the ledger records, and which recorded answer will do."""
        mark = self.prepared.asked.mark
        return self.account, self.recorded(self.cost), mark if self.prepared.reuse else None

    def recorded(self, cost: Cost) -> Cost:
        """A cost with what the ledger records of the question."""
        asked = self.prepared.asked
        text = marked(asked.question.text(), asked.mark)
        return replace(cost, query=f"{cost.query} {text}")

    @property
    def cost(self) -> Cost:
        """What is charged now: the first part alone where the rest is charged later."""
        return self.first or self.plan.cost


@dataclass(frozen=True, slots=True)
class Charged:
    """A question that was paid for, and for which no row was looked at.

    Attributes:
        prepared: the question.
        plan: how it is answered.
        charge: the id of the charge.
        order: where only the first part was charged, who pays for the rest.
        rest: where the first part was answered, how the rest is drawn; private.
    """

    prepared: Prepared
    plan: Planned
    charge: str
    order: _Order | None = None
    rest: Rest | None = None


@dataclass(frozen=True, slots=True)
class _Begun:
    """A question whose first look says that the rest is worth its charge."""

    charged: Charged
    order: _Order
    rest: Rest


@dataclass(frozen=True, slots=True)
class Drawn:
    """A release that was paid for and drawn, but not sent yet."""

    prepared: Prepared
    charge: str
    release: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer on its way.

    Attributes:
        release: its JSON, with the question.
        analyst: who paid for it.
        own: whether that is the caller.
        reused: whether it was free.
    """

    release: str
    analyst: str
    own: bool = True
    reused: bool = False

    def again_for(self, caller: Token) -> "Answer":
        """The same, for free, for somebody who asked the same."""
        return replace(self, own=caller.analyst == self.analyst, reused=True)

    def shown(self) -> str:
        """As JSON; of who paid for it, whether it was the caller."""
        return _with_members(self.release, reused=self.reused, own=self.own)


@dataclass
class Workflow:
    """Answers questions; `ask` lives in one event loop, the rest is for any number of threads.

    Attributes:
        catalogue: the data sets, and who may ask them.
        tokens: where incidents are kept.
        pace: when answers leave.
        waiting: questions on their way, those that wait for the answer to the same one included.
    """

    catalogue: Catalogue
    tokens: Tokens
    pace: Pace
    waiting: int = 0
    _caches: dict[str, Cache] = field(default_factory=dict)
    _open: "set[asyncio.Future[Answer]]" = field(default_factory=set)
    _first: "dict[str, asyncio.Future[Answer]]" = field(default_factory=dict)
    _lanes: dict[str, _Lane] = field(default_factory=dict)
    _ready: list[Drawn] = field(default_factory=list)
    _keeping: "asyncio.Future[Sequence[Answer | BaseException]] | None" = None
    _asking: Counter[str] = field(default_factory=Counter)
    _begun: Counter[str] = field(default_factory=Counter)
    _tasks: "set[asyncio.Task[None]]" = field(default_factory=set)

    @classmethod
    def of(cls, configuration: Configuration) -> "Workflow":
        """The workflow for a configuration; opens no data."""
        settings = configuration.settings
        catalogue = Catalogue(configuration, History(configuration.ledger))
        return cls(catalogue, Tokens(settings.state), Pace(settings.step))

    def __post_init__(self) -> None:
        self.settings = self.catalogue.configuration.settings
        self.samples = Samples.of(self.catalogue.sets)
        for served in self.catalogue.sets:
            self.serve(served)
        self._long = _Lane(free=max(1, self.settings.workers // 4))
        # Charges and records never wait for those who look at data; more sets may come.
        clerks = 2 * max(FEW_SETS, len(self.catalogue.sets))
        self._pool = ThreadPoolExecutor(self.settings.workers, thread_name_prefix="dampen-worker")
        self._clerks = ThreadPoolExecutor(clerks, thread_name_prefix="dampen-clerk")
        self._trials = ThreadPoolExecutor(self._long.free, thread_name_prefix="dampen-trial")
        self._control = ThreadPoolExecutor(CONTROLLERS, thread_name_prefix="dampen-control")

    def serve(self, served: Served) -> None:
        """Answers questions about a data set from now on, or by other facts about it."""
        if served.name not in self._caches:
            self._caches[served.name] = Cache(served.source, self.settings.step)
            self._lanes[served.name] = _Lane()
        self.catalogue.serve(served)

    async def ask(
        self,
        caller: Token,
        dataset: str,
        name: str,
        options: Mapping[str, Any],
        budget: str | None = None,
        *,
        reuse: bool = True,
    ) -> Answer:
        """The answer to a question.

        Raises:
            Refusal: if too many wait, or the answer takes longer than the service is patient for.
            DampenError: as the steps do.
        """
        who = caller.analyst
        if max(self.waiting, len(self._open)) >= self.settings.waiting:
            raise Refusal(503, "Too many questions are waiting. Nothing was charged.")
        if max(self._asking[who], self._begun[who]) >= self.settings.waiting_each:
            raise Refusal(429, "Too many of your questions are waiting. Nothing was charged.")
        self.waiting += 1
        _count(self._asking, who, 1)
        try:
            async with asyncio.timeout(self.settings.patience):
                prepare = partial(self.prepare, caller, dataset, name, options, budget, reuse=reuse)
                known = self.catalogue.is_open(dataset)
                prepared = prepare() if known else await self.work(prepare)
                return await self._answer(prepared)
        except TimeoutError:
            raise Refusal(
                504, "The answer is not ready yet. Fetch it later from your releases."
            ) from None
        finally:
            self.waiting -= 1
            _count(self._asking, who, -1)

    async def _answer(self, prepared: Prepared) -> Answer:
        while prepared.reuse and (first := self._first.get(prepared.asked.mark)) is not None:
            try:
                return (await asyncio.shield(first)).again_for(prepared.caller)
            except Failed as failed:
                raise Failed(failed.incident, None) from None
            except DampenError:
                continue  # it was the first one's own, such as a cap
        return await asyncio.shield(self._begin(prepared))

    def _begin(self, prepared: Prepared) -> "asyncio.Future[Answer]":
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open.add(answer)
        if prepared.reuse:
            self._first[prepared.asked.mark] = answer
        _count(self._begun, prepared.caller.analyst, 1)
        asked = prepared.asked
        lane = self._long if _is_long(asked) else self._lanes[asked.served.name]
        lane.waiting.add(prepared.caller.analyst, _Waiting(prepared, answer))
        if lane.free:
            lane.free -= 1
            self._go(self._work_through(lane))
        return answer

    async def _work_through(self, lane: _Lane) -> None:
        """Charges the questions of a lane in turn, until none is left."""
        long = lane is self._long
        try:
            while len(lane.waiting):
                await asyncio.sleep(0 if long else self._gathering())
                taken = lane.waiting.take(1 if long else LARGEST_GROUP)
                drawing = await self._charge_group({w.prepared: w.answer for w in taken})
                if long and drawing:
                    await asyncio.wait(drawing)
        finally:
            lane.free += 1

    def _gathering(self) -> float:
        """Seconds to wait for others; none if nobody else is on the way."""
        return GATHERING if len(self._open) > 1 else 0

    async def _charge_group(
        self, group: "Mapping[Prepared, asyncio.Future[Answer]]"
    ) -> "list[asyncio.Task[None]]":
        """Charges questions, if any, and begins to draw the answers to those that were paid for."""
        outcomes = await self._outcomes(self._clerks, self.charge, list(group))
        start = time.monotonic()
        paid = [each for each in outcomes if isinstance(each, Charged)]
        for prepared, outcome in zip(group, outcomes, strict=True):
            if not isinstance(outcome, Charged):
                self._end(prepared, group[prepared], outcome)
        return [self._go(self._draw_and_keep(some, group, start)) for some in _together(paid)]

    def stop(self, budget: str) -> None:
        """Ends all questions that wait and that only this budget could pay for: it was frozen."""
        refusal = f"Budget {budget!r} is frozen. Nothing was charged."
        for lane in (self._long, *self._lanes.values()):
            for each in lane.waiting.remove(lambda one: one.is_paid_by(budget)):
                self._end(each.prepared, each.answer, BudgetError(refusal))

    async def _draw_and_keep(
        self, paid: Sequence[Charged], group: "Mapping[Prepared, asyncio.Future[Answer]]",
        start: float,
    ) -> None:  # fmt: skip
        """Draws answers, and at their step lets everyone know."""
        outcomes = await self._outcomes(self._pool, self.draw, paid)
        await self.pace.wait(start, least_steps(paid[0].prepared.asked.question))
        if begun := [each for each in outcomes if isinstance(each, _Begun)]:
            # At a public step of time, as every charge that follows a look at data.
            self._go(self._go_on(begun, group))
        drawn = [each for each in outcomes if isinstance(each, Drawn)]
        for charged, outcome in zip(paid, outcomes, strict=True):
            if not isinstance(outcome, Drawn | _Begun):
                self._end(charged.prepared, group[charged.prepared], outcome)
        for each, answer in zip(drawn, await self._kept(drawn), strict=True):
            self._end(each.prepared, group[each.prepared], answer)

    async def _go_on(
        self, begun: Sequence[_Begun], group: "Mapping[Prepared, asyncio.Future[Answer]]"
    ) -> None:
        """Charges the rest of questions, and draws the answers to those that were paid for."""
        outcomes = await self._outcomes(self._clerks, self.charge_rest, begun)
        start = time.monotonic()
        for each, outcome in zip(begun, outcomes, strict=True):
            if not isinstance(outcome, Charged):
                prepared = each.charged.prepared
                self._end(prepared, group[prepared], outcome)
        if paid := [each for each in outcomes if isinstance(each, Charged)]:
            await self._draw_and_keep(paid, group, start)

    async def _kept(self, drawn: Sequence[Drawn]) -> "Sequence[Answer | BaseException]":
        """Answers that are in the ledger; those that are ready at the same step share a record."""
        first = len(self._ready)
        self._ready += drawn
        if self._keeping is None:
            self._keeping = asyncio.ensure_future(self._keep_all())
        kept = await self._keeping
        return kept[first : first + len(drawn)]

    async def _keep_all(self) -> "Sequence[Answer | BaseException]":
        await asyncio.sleep(self._gathering())
        group = self._ready
        self._ready = []
        self._keeping = None
        return await self._outcomes(self._clerks, self.keep, group)

    def _end(
        self, prepared: Prepared, answer: "asyncio.Future[Answer]", outcome: Answer | BaseException
    ) -> None:
        self._open.discard(answer)
        _count(self._begun, prepared.caller.analyst, -1)
        if prepared.reuse:
            del self._first[prepared.asked.mark]
        if isinstance(outcome, Answer):
            answer.set_result(outcome)
        else:
            answer.set_exception(outcome)
            answer.exception()  # seen: nobody may be waiting for it

    def prepare(
        self,
        caller: Token,
        dataset: str,
        name: str,
        options: Mapping[str, Any],
        budget: str | None = None,
        *,
        reuse: bool = True,
    ) -> Prepared:
        """A question, checked, and who can pay for it.

        Raises:
            NotFound: if there is no such data set for this caller.
            ParameterError: if it cannot be asked.
        """
        served = self.catalogue.served(caller, dataset)
        accounts = self.catalogue.accounts(served, caller, budget)
        asked = question_of(served, name, options)
        return Prepared(asked, accounts, caller, reuse)

    def statement(self, caller: Token, text: Any, delta: Any = None) -> "Statement":
        """What a statement of SQL asks of a data set that a caller may ask.

        Raises:
            NotFound: if there is no such data set for this caller.
            ParameterError: if no private question answers it.
        """
        from dampen.sql import parse

        try:
            asked = parse(text)
        except ImportError:
            raise ParameterError(
                "This service was installed without SQL. Ask its operator to install dampen[sql]."
            ) from None
        return asked.about(self.catalogue.served(caller, asked.dataset).schema, delta)

    def plan(self, asked: Asked) -> Planned:
        """Method, price and accuracy of a question; no row is read.

        Raises:
            ParameterError: if it cannot be asked.  Analysts are told of a data set by its name, not
                by where it lies.
        """
        try:
            return asked.plan(self._caches[asked.served.name])
        except ParameterError as error:
            told = str(error)
            for secret in asked.served.source.secrets:
                told = told.replace(secret, asked.served.name)
            raise ParameterError(told) from None

    def charge(self, group: Sequence[Prepared]) -> "list[Answer | Charged | BaseException]":
        """Recorded answers, for free, where they will do; a charge for the others.

        Each is told what concerns it: a wrong parameter or a refusing budget, and then nothing was
        charged, is no matter of the others.  Nothing here looks at rows.
        """
        found = [self._recorded_or_planned(each) for each in group]
        orders = [each for each in found if isinstance(each, _Order)]
        wanted = [each.wanted() for each in orders]
        paid = iter(self.catalogue.history.charge(wanted) if wanted else [])
        return [
            self._charged(each, next(paid)) if isinstance(each, _Order) else each for each in found
        ]

    def _recorded_or_planned(self, prepared: Prepared) -> "Answer | _Order | BaseException":
        try:
            if (recorded := self._recorded(prepared)) is not None:
                return recorded
            plan = self.plan(prepared.asked)
            account = payer(prepared.accounts, plan.cost.neighbours)
            first = plan.first_cost
            if first is not None and is_refused(plan.cost, account):
                first = None  # all of it is asked for, and refused
            return _Order(prepared, plan, account, first)
        except Exception as error:
            self.catalogue.history.follow()  # it may have been answered by another server
            return self._recorded(prepared) or error

    def _recorded(self, prepared: Prepared) -> Answer | None:
        """The answer to the same question, as of the last look at the ledger, if it will do."""
        found = self.catalogue.history.answered(prepared.asked.mark) if prepared.reuse else None
        if found is None:
            return None
        record, text = found
        return Answer(text, record.charge.analyst).again_for(prepared.caller)

    def _charged(
        self, order: _Order, charge: str | BaseException
    ) -> Answer | Charged | BaseException:
        if isinstance(charge, Unwanted):
            return self._recorded(order.prepared) or charge
        if isinstance(charge, BaseException):
            return charge
        return Charged(order.prepared, order.plan, charge, order if order.first else None)

    def charge_rest(self, group: Sequence[_Begun]) -> list[Charged | BaseException]:
        """Charges the rest of questions whose first look was paid for; each is told its own."""
        orders = [each.order for each in group]
        wanted = [(each.account, each.recorded(each.plan.rest_cost), None) for each in orders]
        outcomes = self.catalogue.history.charge(wanted)
        return [
            _refused_rest(outcome, each.charged)
            if isinstance(outcome, BaseException)
            else replace(each.charged, charge=outcome, order=None, rest=each.rest)
            for each, outcome in zip(group, outcomes, strict=True)
        ]

    def draw(self, group: Sequence[Charged]) -> list[Drawn | _Begun | BaseException]:
        """Looks at the data and draws the answers; where reading failed, says so."""
        return [self._drawn(each) for each in group]

    def _drawn(self, charged: Charged) -> Drawn | _Begun | BaseException:
        asked = charged.prepared.asked
        plan = charged.plan
        reasons: list[str] = []
        try:
            paid = Paid(plan.cost, SystemEntropy(), charge=charged.charge, reasons=reasons)
            if charged.rest is not None:
                release = plan.finish(charged.rest, paid)
            elif charged.order is not None and charged.order.first is not None:
                begun = plan.begin(replace(paid, cost=charged.order.first))
                if not isinstance(begun, Release):
                    return _Begun(charged, charged.order, begun)
                release = begun
            else:
                release = plan.release(paid)
            text = _with_members(release.to_json(), question=asked.shown())
        except DampenError as error:
            incident = self.tokens.report(
                charged.prepared.caller.analyst, asked.served.name,
                f"{asked.question.name} {asked.question.text()}", charged.charge,
                " ".join([str(error), *reasons]),
            )  # fmt: skip
            return Failed(incident, charged.charge)
        except Exception as error:  # of dampen itself, and of this question alone
            return error
        return Drawn(charged.prepared, charged.charge, text)

    def keep(self, group: Sequence[Drawn]) -> list[Answer]:
        """Puts answers into the ledger; they are given even if it is full: they were paid for."""
        ledger = self.catalogue.configuration.ledger
        ledger.keep_all([(each.charge, each.release) for each in group])
        return [Answer(each.release, each.prepared.caller.analyst) for each in group]

    def expect(
        self,
        caller: Token,
        dataset: str,
        name: str,
        options: Mapping[str, Any],
        budget: str | None = None,
    ) -> dict[str, Any]:
        """What a question would cost and how good its answer would be; looks at no private row."""
        prepared = self.prepare(caller, dataset, name, options, budget)
        plan = self.plan(prepared.asked)
        cost = plan.cost
        account = payer(prepared.accounts, cost.neighbours)
        balance = account.balance
        protects = prepared.asked.served.schema.protected
        recorded = self.catalogue.history.released(prepared.asked.mark) is not None
        steps = steps_between(cost.neighbours, balance.neighbours)
        told = plan.accuracy.to_dict() | {
            "epsilon": decimal_text(cost.epsilon) if cost.pure else None,
            "rho": short_text(cost.rho, up=True),
            "mechanism": cost.mechanism,
            "neighbours": str(cost.neighbours),
            "protects": protects,
            "budget": shown_balance(balance, caller, protects),
            "charged": decimal_text(steps * cost.epsilon) if cost.pure else None,
            "recorded": recorded,
            "refusal": None if recorded else account.refusal(cost) or None,
        }
        sample = self.samples.tried(prepared.asked)
        return told if sample is None else told | {"sample": sample}

    def check(self) -> list[str]:
        """Opens every data set, budget and sample, and plans a question of each kind; no rows.

        Raises:
            BudgetError: if no budget of a data set pays for any question about it.
        """
        self.samples.check()
        return [
            f"{served.name}: {', '.join(self._checked(served))}" for served in self.catalogue.sets
        ]

    def _checked(self, served: Served) -> list[str]:
        """The questions about a data set, each with the relation that it protects."""
        curator = Token("", "check", Role.CURATOR, "")
        told: list[str] = []
        refusals: list[BudgetError] = []
        for name in served.questions:
            options = example(served.schema, name) or {}
            prepared = self.prepare(curator, served.name, name, options)
            relation = self.plan(prepared.asked).cost.neighbours
            try:
                payer(prepared.accounts, relation)
                told.append(f"{name} ({relation})")
            except BudgetError as refusal:
                refusals.append(refusal)
                told.append(f"{name} (no budget for {relation})")
        if told and len(refusals) == len(told):
            raise refusals[0]
        return told

    async def work(self, task: Callable[[], T]) -> T:
        """Does something that may take a while beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, task)

    async def control(self, task: Callable[[], T]) -> T:
        """Does something that must wait for no question, and takes no longer than a transaction."""
        return await asyncio.get_running_loop().run_in_executor(self._control, task)

    async def try_out(self, task: Callable[[], T]) -> T:
        """Does something that reads no private row, such as `expect`, and may take long."""
        return await asyncio.get_running_loop().run_in_executor(self._trials, task)

    async def finish(self, seconds: float) -> None:
        """Waits for what was begun."""
        if self._open:
            await asyncio.wait(self._open, timeout=seconds)

    def close(self) -> None:
        """Waits for the threads to end."""
        for pool in (self._pool, self._clerks, self._trials, self._control):
            pool.shutdown(wait=True)

    async def _outcomes(
        self,
        pool: ThreadPoolExecutor,
        step: "Callable[[Sequence[T]], Sequence[R]]",
        group: Sequence[T],
    ) -> "Sequence[R | BaseException]":
        """What came of each of a group; an error of the whole group is one of each."""
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, step, group)
        except Exception as error:
            return [error] * len(group)

    def _go(self, work: "Coroutine[Any, Any, None]") -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _together(paid: Iterable[Charged]) -> list[list[Charged]]:
    """Those of one kind about the same columns together: groups by public parameters alone."""
    groups: dict[Hashable, list[Charged]] = {}
    for each in paid:
        asked = each.prepared.asked
        kind = (asked.question.name, asked.columns(), least_steps(asked.question))
        groups.setdefault(kind, []).append(each)
    return list(groups.values())


def _refused_rest(error: BaseException, first: Charged) -> BaseException:
    """Why the rest was not charged; the first part stands."""
    if not isinstance(error, BudgetError):
        return error
    return BudgetError(f"{error} The charge {first.charge} for the number of rows stands.")


def _is_long(asked: Asked) -> bool:
    """Whether a question, by its kind, takes long: one about a graph, or a model."""
    return asked.question.data == "edges" or asked.question.shape() == "model"


def _count(counter: Counter[str], who: str, change: int) -> None:
    counter[who] += change
    if not counter[who]:
        del counter[who]


def _with_members(text: str, **more: Any) -> str:
    """The JSON of an object that has members, and more of them."""
    return f"{text[:-1]}, {json.dumps(more)[1:]}"
