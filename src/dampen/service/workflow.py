"""The desk: one question from a caller to an answer, without a word about HTTP.

1. `prepared`: who asks, what, of which data set: checked against public facts, nothing charged.
2. `charged`: the same question was answered before: that release, for free.  Else one of the data
   set's budgets is charged, in the caller's name.
3. `drawn`: rows are looked at.  If the data is not as promised, the caller is told one public
   sentence; why is kept for the curator.
4. `kept`: the answer is in the ledger before it is given.

All but the first take a group of questions: a group shares one look at the ledger, one charge that
is synchronised to disk, and one record.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dampen.core.selection import Neighbours
from dampen.epsilon import decimal_text, short_text
from dampen.errors import DampenError, ParameterError
from dampen.ledger import Account, Balance
from dampen.ledger.requests import spent
from dampen.ledger.rules import steps_between
from dampen.releases.cost import Budget, Cost
from dampen.releases.release import Release
from dampen.service.cache import Memory
from dampen.service.configuration import Configuration, Served
from dampen.service.expect import expected, on_sample
from dampen.service.history import History, Record
from dampen.service.payment import Quote, Quoted, Receipt, payer
from dampen.service.questions import Question, question
from dampen.service.sources import FileSource
from dampen.service.stages import (
    Answer,
    Charged,
    Drawn,
    Failed,
    NotFound,
    Order,
    Prepared,
    with_members,
)
from dampen.service.tokens import Role, Store, Token

__all__ = ["Desk"]


QUICK = {"percentile", "most-frequent"}
MOST_SAMPLED = 1000
"""Questions whose answers on the public sample are kept."""


@dataclass
class Desk:
    """Everything a service does, for any number of threads."""

    configuration: Configuration
    store: Store
    history: History
    _memories: dict[str, Memory] = field(default_factory=dict)
    _samples: dict[str, Memory] = field(default_factory=dict)
    _sampled: dict[str, dict[str, Any]] = field(default_factory=dict)
    _relations: dict[str, Neighbours] = field(default_factory=dict)

    @classmethod
    def of(cls, configuration: Configuration) -> "Desk":
        """A desk for a configuration; opens no data."""
        desk = cls(
            configuration, Store(configuration.settings.state), History(configuration.ledger)
        )
        for name, served in configuration.sets.items():
            desk._memories[name] = Memory(served.source, configuration.settings.step)
            if served.sample is not None:
                desk._samples[name] = Memory(FileSource(served.sample))
        return desk

    def datasets(self, caller: Token) -> list[dict[str, Any]]:
        """The public facts of what a caller may ask."""
        return [
            {"name": served.name, **served.shown(), "budgets": self._budgets(served, caller)}
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
        prepared = self.prepared(caller, dataset, kind, options, budget)
        asked = prepared.question
        cost = self.quote(asked)
        balance = payer(prepared.accounts, cost.neighbours).balance
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
            told["sample"] = self._on_sample(asked)
        return told

    def _on_sample(self, asked: Question) -> dict[str, Any]:
        """The same for the same question, so that it is worked out once."""
        if asked.mark not in self._sampled:
            while len(self._sampled) >= MOST_SAMPLED:
                self._sampled.pop(next(iter(self._sampled)))
            self._sampled[asked.mark] = on_sample(asked, self._samples[asked.served.name])
        return self._sampled[asked.mark]

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
            told = str(error)
            for secret in asked.served.source.secrets:
                told = told.replace(secret, asked.served.name)
            raise ParameterError(told) from None

    def prepared(
        self, caller: Token, dataset: str, kind: str, options: dict[str, Any], budget: str | None
    ) -> Prepared:
        """A question, checked, and who can pay for it.

        A percentile speaks of the relation that there is a budget for, unless it was said.

        Raises:
            NotFound: if there is no such data set for this caller.
            ParameterError: if it cannot be asked.
        """
        served = self._served(caller, dataset)
        accounts = self._accounts(served, caller, budget)
        of_values = kind == "percentile" and options.get("release", "value") == "value"
        if of_values and Neighbours.REPLACE_ONE not in accounts.values():
            options = {"neighbours": str(Neighbours.ADD_REMOVE_ROW)} | options
        return Prepared(question(served, kind, options), accounts, caller)

    def charged(
        self, group: Sequence[tuple[Prepared, bool]]
    ) -> "list[Answer | Charged | BaseException]":
        """Recorded answers, for free, of those that would take one; a charge for the others.

        Each is told what concerns it: a wrong parameter or a refusing budget, and then nothing was
        charged, is no matter of the others.  Nothing here looks at rows.
        """
        self.history.follow()
        found = [self._recorded_or_ordered(asked, reuse) for asked, reuse in group]
        orders = [each for each in found if isinstance(each, Order)]
        charges = self.configuration.ledger.charge_all([(o.account, o.recorded) for o in orders])
        paid = dict(zip(map(id, orders), charges, strict=True))
        return [self._paid(each, paid[id(each)]) if isinstance(each, Order) else each
                for each in found]  # fmt: skip

    def _recorded_or_ordered(self, asked: Prepared, reuse: bool) -> Answer | Order | BaseException:
        try:
            if reuse and (found := self.history.answered(asked.mark)) is not None:
                record, text = found
                return Answer(text, record.charge.analyst, reused=True).seen_by(asked.caller)
            cost = self.quote(asked.question)
            return Order(asked, cost, payer(asked.accounts, cost.neighbours))
        except Exception as error:
            return error

    def _paid(self, order: Order, charge: str | BaseException) -> Charged | BaseException:
        if isinstance(charge, BaseException):
            return charge
        return Charged(order.asked, Receipt(order.cost, charge))

    def drawn(self, group: Sequence[Charged]) -> list[Drawn | BaseException]:
        """Looks at the data and draws the answers; where the data is not as promised, says so."""
        return [self._drawn(each) for each in group]

    def _drawn(self, charged: Charged) -> Drawn | BaseException:
        asked = charged.asked
        charge = charged.receipt.charged
        made = asked.question
        try:
            release = self._run(made, charged.receipt)
        except DampenError as error:
            incident = self.store.report(
                asked.caller.analyst, made.served.name, f"{made.kind} {made.text}", charge,
                str(error),
            )  # fmt: skip
            return Failed(incident, charge)
        except Exception as error:  # of dampen itself, and of this question alone
            return error
        return Drawn(asked, charge, with_members(release.to_json(), question=made.shown()))

    def kept(self, group: Sequence[Drawn]) -> list[Answer]:
        """Puts answers into the ledger; they are given even if it is full: they were paid for."""
        self.configuration.ledger.keep_all([(each.charge, each.release) for each in group])
        return [each.answer() for each in group]

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
        kept = self.history.answers([each.charge.id for each in own if each.released])
        releases = {charge: json.loads(answer) for charge, answer in kept.items()}
        return [_shown_record(each) | {"release": releases.get(each.charge.id)} for each in own]

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
        from dampen.service.examples import example

        curator = Token("", "check", Role.CURATOR, "")
        said = []
        for served in self._sets:
            relations = []
            for kind in served.questions:
                options = example(served.schema, kind)
                asked = self.prepared(curator, served.name, kind, options, None)
                cost = self.quote(asked.question)
                payer(asked.accounts, cost.neighbours)
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

    def _accounts(
        self, served: Served, caller: Token, budget: str | None
    ) -> dict[Account, Neighbours]:
        names = served.registered.budgets
        if budget is not None and budget not in names:
            raise ParameterError(
                f"Expected one of the budgets of {served.name!r}, {', '.join(names)}, got "
                f"{budget[:100]!r}."
            )
        ledger = self.configuration.ledger
        place = served.source.place
        return {
            Account(ledger, name, caller.analyst, served.name, place): self._relation(name)
            for name in ([budget] if budget is not None else names)
        }

    def _relation(self, budget: str) -> Neighbours:
        """The relation of a budget, which never changes."""
        if budget not in self._relations:
            self._relations[budget] = self.configuration.ledger.neighbours(budget)
        return self._relations[budget]

    def is_quick(self, dataset: str, kind: str) -> bool:
        """Whether such questions are prepared in no time: the ledger need not be asked."""
        served = self.configuration.sets.get(dataset)
        if served is None or kind not in QUICK:
            return False
        return all(name in self._relations for name in served.registered.budgets)

    def _budgets(self, served: Served, caller: Token) -> list[dict[str, Any]]:
        ledger = self.configuration.ledger
        return [_shown_balance(ledger.balance(name), caller) for name in served.registered.budgets]


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
    limit = balance.limit
    used = spent(balance)
    cap = balance.cap(caller.analyst)
    own = balance.by(caller.analyst)
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
