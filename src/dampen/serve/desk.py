"""The desk: one question from a caller to an answer, without a word about HTTP.

1. Who asks, what, of which data set: checked against public facts, nothing charged.
2. The same question was answered before: the recorded release, for free.
3. One of the data set's budgets is charged, in the caller's name; then rows are looked at.
4. The answer is in the ledger before it is given.  If the data is not as promised, the caller is
   told one public sentence; why is kept for the curator.
"""

import json
import threading
from collections.abc import Iterable
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from dampen.epsilon import decimal_text, short_text
from dampen.errors import DampenError, DataError, ParameterError
from dampen.ledger import Account, Balance
from dampen.ledger.orders import spent
from dampen.ledger.rules import steps_between
from dampen.releases import Budget, Cost, Release
from dampen.selection import Neighbours
from dampen.serve.configuration import Configuration, Served
from dampen.serve.expectations import expected, on_sample
from dampen.serve.history import History, Record, marked
from dampen.serve.memory import Memory
from dampen.serve.purse import Purse, Quote, Quoted, payer
from dampen.serve.questions import Question, question
from dampen.serve.store import Role, Store, Token

__all__ = ["Asked", "Desk", "Failed", "NotFound"]


class NotFound(DampenError):
    """There is no such thing, or the caller may not know of it."""


class Failed(DataError):
    """The data is not what the public facts promise; the charge stands.

    Its text is the same whatever was wrong; `incident` is for the curator.
    """

    def __init__(self, incident: str, charge: str | None) -> None:
        stands = "Nothing was charged." if charge is None else f"The charge {charge} stands."
        super().__init__(
            f"The data set could not answer this question. {stands} The curator can look up "
            f"{incident}."
        )
        self.incident, self.charge = incident, charge


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer on its way: the JSON of a release, and whether it was free."""

    answer: dict[str, Any]
    reused: bool


@dataclass
class Desk:
    """Everything a service does, for any number of threads."""

    configuration: Configuration
    store: Store
    history: History
    _memories: dict[str, Memory] = field(default_factory=dict)
    _samples: dict[str, Memory] = field(default_factory=dict)
    _relations: dict[str, Neighbours] = field(default_factory=dict)
    _asked: "dict[str, Future[dict[str, Any]]]" = field(default_factory=dict)
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, configuration: Configuration) -> "Desk":
        """A desk for a configuration; opens no data."""
        desk = cls(
            configuration, Store(configuration.settings.state), History(configuration.ledger)
        )
        for name, served in configuration.sets.items():
            desk._memories[name] = Memory(served.location, served.facts.table)
            if served.facts.sample is not None:
                desk._samples[name] = Memory(served.facts.sample)
        return desk

    def datasets(self, caller: Token) -> list[dict[str, Any]]:
        """The public facts of what a caller may ask."""
        return [
            {"name": served.name, **served.facts.shown(), "budgets": self._budgets(served, caller)}
            for served in self._allowed(caller)
        ]

    def budgets(self, caller: Token) -> list[dict[str, Any]]:
        """The budgets of what a caller may ask, each once."""
        found = [each for served in self._allowed(caller) for each in self._budgets(served, caller)]
        return list({each["name"]: each for each in found}.values())

    def expect(
        self, caller: Token, dataset: str, kind: str, options: dict[str, Any], budget: str | None
    ) -> dict[str, Any]:
        """What a question would cost and how good its answer would be; looks at no private row."""
        asked, accounts = self._question(caller, dataset, kind, options, budget)
        cost = self.quote(asked)
        balance = payer(accounts, cost.neighbours).balance
        told = expected(asked, cost) | {
            "epsilon": decimal_text(cost.epsilon),
            "rho": short_text(cost.rho, up=True),
            "mechanism": cost.mechanism,
            "neighbours": str(cost.neighbours),
            "budget": _shown_balance(balance, caller),
            "charged": decimal_text(
                steps_between(cost.neighbours, balance.neighbours) * cost.epsilon
            ),
            "recorded": self.history.released(asked.mark) is not None,
        }
        if dataset in self._samples:
            told["sample"] = on_sample(asked, self._samples[dataset])
        return told

    def quote(self, asked: Question) -> Cost:
        """What a question costs: its parameters are checked, nothing is charged or read."""
        try:
            self._run(asked, Quote())
        except Quoted as quoted:
            return quoted.cost
        raise AssertionError("a release without a charge")

    def _run(self, asked: Question, budget: Budget) -> Release:
        """The release; analysts are told of a data set by its name, not by where it lies."""
        try:
            return asked.ask(self._memories[asked.served.name], budget, None)
        except ParameterError as error:
            served = asked.served
            told = str(error).replace(str(served.location), served.name)
            raise ParameterError(told) from None

    def ask(
        self,
        caller: Token,
        dataset: str,
        kind: str,
        options: dict[str, Any],
        *,
        budget: str | None = None,
        reuse: bool = True,
    ) -> Asked:
        """Answers a question, and charges for it unless it was answered before.

        Raises:
            NotFound: if there is no such data set for this caller.
            ParameterError: if it cannot be asked; nothing was charged.
            BudgetError: if no budget pays; nothing was charged.
            Failed: if the data is not as promised; the charge stands.
        """
        asked, accounts = self._question(caller, dataset, kind, options, budget)
        if not reuse:
            return Asked(self._release(asked, accounts, caller), reused=False)
        mine: Future[dict[str, Any]] = Future()
        while True:
            recorded = self.history.released(asked.mark)
            if recorded is not None:
                return Asked(json.loads(recorded), reused=True)
            with self._mutex:
                others = self._asked.setdefault(asked.mark, mine)
            if others is mine:
                break
            wait([others])
            with suppress(DampenError):
                return Asked(others.result(), reused=True)
        try:
            answer = self._release(asked, accounts, caller)
            mine.set_result(answer)
            return Asked(answer, reused=False)
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            with self._mutex:
                del self._asked[asked.mark]

    def release(self, caller: Token, charge: str) -> dict[str, Any]:
        """A release by the id of its charge: the caller's own, and for a curator any."""
        record = self.history.record(charge)
        if record is None or not (_is_curator(caller) or record.charge.analyst == caller.analyst):
            raise NotFound(f"You have no release {charge}.")
        if not record.released:
            raise NotFound(
                f"The charge {charge} stands; no answer to it is kept: it is being made, or failed."
            )
        return _shown_record(record) | {"release": json.loads(self.history.answer(charge))}

    def releases(self, caller: Token, *, limit: int, skip: int) -> list[dict[str, Any]]:
        """The caller's own charges, newest first, each with its answer."""
        own = self.history.records(caller.analyst)[skip : skip + limit]
        return [_shown_record(each) | {"release": self._answer(each)} for each in own]

    def _answer(self, record: Record) -> Any:
        return json.loads(self.history.answer(record.charge.id)) if record.released else None

    def activity(self) -> dict[str, Any]:
        """What a curator sees: every charge, without its answer, and refusals per analyst."""
        records = self.history.records()
        return {
            "charges": [_shown_record(each) for each in records],
            "refusals": dict(self.history.refusals),
        }

    def account(self, name: str) -> Account:
        """A budget, for a curator."""
        known = {budget for served in self._sets for budget in served.registered.budgets}
        if name not in known:
            raise NotFound(f"No data set here has a budget {name!r}.")
        return self.configuration.ledger[name]

    def check(self) -> list[str]:
        """Opens every data set, budget and sample, and quotes a question of each kind; no rows."""
        from dampen.serve.examples import example

        curator = Token("", "check", Role.CURATOR, "")
        said = []
        for served in self._sets:
            relations = []
            for kind in served.facts.questions:
                options = example(served.facts, kind)
                asked, accounts = self._question(curator, served.name, kind, options, None)
                cost = self.quote(asked)
                payer(accounts, cost.neighbours)
                relations.append(f"{kind} ({cost.neighbours})")
            if served.name in self._samples:
                self._samples[served.name].opened()
            said.append(f"{served.name}: {', '.join(relations)}")
        return said

    @property
    def _sets(self) -> Iterable[Served]:
        return self.configuration.sets.values()

    def _allowed(self, caller: Token) -> list[Served]:
        return [s for s in self._sets if _is_curator(caller) or s.allows(caller.analyst)]

    def _served(self, caller: Token, dataset: str) -> Served:
        for served in self._allowed(caller):
            if served.name == dataset:
                return served
        raise NotFound(f"There is no data set {dataset[:100]!r} for you. Nothing was charged.")

    def _question(
        self, caller: Token, dataset: str, kind: str, options: dict[str, Any], budget: str | None
    ) -> tuple[Question, dict[Account, Neighbours]]:
        """A question, checked, and who can pay for it.

        A percentile speaks of the relation that there is a budget for, unless it was said.
        """
        served = self._served(caller, dataset)
        accounts = self._accounts(served, caller, budget)
        of_values = kind == "percentile" and options.get("release", "value") == "value"
        if of_values and Neighbours.REPLACE_ONE not in accounts.values():
            options = {"neighbours": str(Neighbours.ADD_REMOVE_ROW)} | options
        return question(served, kind, options), accounts

    def _accounts(
        self, served: Served, caller: Token, budget: str | None
    ) -> dict[Account, Neighbours]:
        names = served.registered.budgets
        if budget is not None and budget not in names:
            raise ParameterError(
                f"Expected one of the budgets of {served.name!r}, {', '.join(names)}, got "
                f"{budget[:100]!r}."
            )
        ledger, location = self.configuration.ledger, str(served.location.resolve())
        return {
            Account(ledger, name, caller.analyst, served.name, location): self._relation(name)
            for name in ([budget] if budget is not None else names)
        }

    def _relation(self, budget: str) -> Neighbours:
        """The relation of a budget, which never changes."""
        if budget not in self._relations:
            self._relations[budget] = self.configuration.ledger.neighbours(budget)
        return self._relations[budget]

    def _budgets(self, served: Served, caller: Token) -> list[dict[str, Any]]:
        ledger = self.configuration.ledger
        return [_shown_balance(ledger.balance(name), caller) for name in served.registered.budgets]

    def _release(
        self, asked: Question, accounts: dict[Account, Neighbours], caller: Token
    ) -> dict[str, Any]:
        purse = Purse(accounts, marked(asked.text, asked.mark), asked.shown())
        try:
            release = self._run(asked, purse)
        except DataError as error:
            incident = self.store.report(
                caller.analyst, asked.served.name, f"{asked.kind} {asked.text}",
                purse.charged,
                str(error),
            )  # fmt: skip
            raise Failed(incident, purse.charged) from None
        told: dict[str, Any] = json.loads(purse.with_question(release.to_json()))
        return told


def _is_curator(caller: Token) -> bool:
    return caller.role is Role.CURATOR


def _shown_record(record: Record) -> dict[str, Any]:
    charge = record.charge
    return {
        "charge": charge.id,
        "time": charge.time.isoformat(timespec="seconds"),
        "budget": record.budget,
        "dataset": charge.dataset,
        "analyst": charge.analyst,
        "query": record.query,
        "mechanism": charge.mechanism,
        "epsilon": None if charge.epsilon is None else decimal_text(charge.epsilon),
        "released": record.released,
    }


def _shown_balance(balance: Balance, caller: Token) -> dict[str, Any]:
    limit, used = balance.limit, spent(balance)
    cap, own = balance.cap(caller.analyst), balance.by(caller.analyst)
    return {
        "name": balance.name,
        "neighbours": str(balance.neighbours),
        "epsilon": decimal_text(limit.epsilon),
        "delta": None if limit.delta is None else decimal_text(limit.delta),
        "spent": short_text(used, up=True),
        "left": short_text(limit.epsilon - used, up=False),
        "status": str(balance.status),
        "largest": None if balance.largest is None else decimal_text(balance.largest),
        "your_cap": None if cap is None else decimal_text(cap.epsilon),
        "spent_by_you": None if own.epsilon is None else short_text(own.epsilon, up=True),
    }
