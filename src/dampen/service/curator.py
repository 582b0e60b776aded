"""Requests of curators: budgets, tokens, new data sets and the audit log.

| request | does |
|---|---|
| `GET /v1/activity`, `GET /v1/incidents/{id}` | who asked what; why a question failed |
| `GET /v1/audit`, `GET /v1/audit/download` | every entry of the ledger but answers |
| `GET /v1/budgets`, `POST /v1/budgets` | all budgets; a new one for a data set |
| `POST /v1/budgets/{name}/raise`, `/cap`, `/freeze`, `/thaw`, `/close` | changes one |
| `GET /v1/tokens`, `POST /v1/tokens`, `POST /v1/tokens/{id}/revoke` | who may ask |
| `GET /v1/registration`, `POST /v1/registration` | the form of a data set; a new data set |
| `POST /v1/registration/columns`, `/check` | the columns of a file; exact counts of its cells |

Every act is an entry of the ledger, with the name of the curator.  A new data set is appended to
`dampen.toml` and served at once; other servers on the same file serve it after a restart.

**Files.**  A curator's token is not the operator's account.  Only files below the directories that
the operator lists in `register-from` can be registered, wherever links lead, and none of the
service's own.  `check` shows exact counts, which are not private: by default only to a curator on
the server's own machine (`show-check`).
"""

import ipaddress
import json
import os
import re
import threading
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass, replace
from functools import partial
from inspect import getdoc
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from fastapi import Depends, FastAPI, Query, Request
from fastapi.responses import Response

from dampen.data.open import open_table
from dampen.datasets import Dataset
from dampen.epsilon import decimal_text, short_text
from dampen.errors import BudgetError, ParameterError
from dampen.ledger import Account
from dampen.ledger.log import folded
from dampen.printing import csv_text
from dampen.schema import Column, Graph, Schema
from dampen.schema.grammar import Place as Where
from dampen.schema.grammar import format_schema, parse_file, parse_schema, read_table, written
from dampen.service.cache import Cache
from dampen.service.catalogue import NotFound, shown_balance
from dampen.service.configuration import Configuration, FileSource, Served, configuration_of
from dampen.service.middleware import Refusal
from dampen.service.questions import (
    Cap,
    Limits,
    NewBudget,
    NewToken,
    Place,
    Raise,
    Registration,
    Thaw,
    Why,
    example,
    question_of,
)
from dampen.service.tokens import Role, Token, random_text

if TYPE_CHECKING:
    from dampen.service.app import Service
    from dampen.service.workflow import Workflow

__all__ = ["Curating", "add_curators", "declared_facts"]

MOST_FILES = 1000
"""Files that are listed for registration."""
ENDINGS = (
    ".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json", ".parquet", ".feather", ".arrow",
    ".duckdb", ".db", ".sqlite", ".sqlite3",
)  # fmt: skip
FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
HERE = ("127.0.0.1", "localhost", "::1")
DATA = re.compile(r"^\s*\[\[\s*data\s*\]\]", re.MULTILINE)
BUDGETS = re.compile(r"^(\s*budgets\s*=\s*\[)", re.MULTILINE)


def add_curators(app: FastAPI, service: "Service", caller: Any) -> None:
    """Adds the requests that only curators may make."""
    curating = Curating(service.workflow)

    async def curator(who: Annotated[Token, Depends(caller)]) -> Token:
        if who.role is not Role.CURATOR:
            raise Refusal(403, "Only curators may do this.")
        return who

    for add in (_add_looks, _add_budgets, _add_tokens, _add_registration):
        add(app, curating, curator)


def _add_looks(app: FastAPI, curating: "Curating", curator: Any) -> None:
    workflow = curating.workflow

    @app.get("/v1/activity", tags=["curators"])
    async def activity(_: Annotated[Token, Depends(curator)]) -> dict[str, Any]:
        """Every charge, without its answer, and how often each analyst was refused."""
        return await workflow.work(workflow.catalogue.activity)

    @app.get("/v1/incidents/{number}", tags=["curators"])
    async def incident(number: str, _: Annotated[Token, Depends(curator)]) -> dict[str, str | None]:
        """Why a question that was paid for has no answer.  Not for analysts."""
        found = await workflow.control(partial(workflow.tokens.incident, number))
        if found is None:
            raise Refusal(404, "There is no such incident.")
        return asdict(found)

    @app.get("/v1/audit", tags=["curators"])
    async def audit(
        _: Annotated[Token, Depends(curator)],
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        skip: Annotated[int, Query(ge=0)] = 0,
    ) -> dict[str, Any]:
        """The entries of the ledger, newest first, after the whole log was verified."""
        return await workflow.work(partial(curating.audit, limit, skip))

    @app.get("/v1/audit/download", tags=["curators"])
    async def download(
        _: Annotated[Token, Depends(curator)], format: Literal["csv", "jsonl"] = "csv"
    ) -> Response:
        """Every entry of the ledger but answers, oldest first, as CSV or as lines of JSON."""
        text = await workflow.work(partial(curating.audit_text, format))
        name = f'attachment; filename="audit.{format}"'
        kind = "text/csv" if format == "csv" else "application/jsonl"
        return Response(text, media_type=kind, headers={"content-disposition": name})


def _add_budgets(app: FastAPI, curating: "Curating", curator: Any) -> None:
    workflow = curating.workflow

    @app.get("/v1/budgets", tags=["curators"])
    async def budgets(who: Annotated[Token, Depends(curator)]) -> dict[str, Any]:
        """All budgets of the data sets, with caps and who spent what; and the ledger's witness."""
        return await workflow.control(partial(curating.budgets, who))

    @app.post("/v1/budgets", tags=["curators"])
    async def create(body: NewBudget, who: Annotated[Token, Depends(curator)]) -> dict[str, Any]:
        """A new budget, from which questions about a data set are paid from now on."""
        return await workflow.work(partial(curating.create_budget, body, who))

    @app.post("/v1/budgets/{name}/raise", tags=["curators"])
    async def raise_to(
        name: str, body: Raise, who: Annotated[Token, Depends(curator)]
    ) -> dict[str, Any]:
        """Raises the total of a budget to epsilon."""
        return await workflow.control(partial(curating.raise_to, name, body, who))

    @app.post("/v1/budgets/{name}/cap", tags=["curators"])
    async def cap(name: str, body: Cap, who: Annotated[Token, Depends(curator)]) -> dict[str, Any]:
        """Limits one analyst, or every analyst, to epsilon."""
        return await workflow.control(partial(curating.cap, name, body, who))

    @app.post("/v1/budgets/{name}/freeze", tags=["curators"])
    async def freeze(
        name: str, body: Why, who: Annotated[Token, Depends(curator)]
    ) -> dict[str, Any]:
        """Freezes a budget until it is thawed, and ends the questions that wait for it."""
        told = await workflow.control(partial(curating.freeze, name, body, who))
        workflow.stop(name)
        return told

    @app.post("/v1/budgets/{name}/thaw", tags=["curators"])
    async def thaw(
        name: str, body: Thaw, who: Annotated[Token, Depends(curator)]
    ) -> dict[str, Any]:
        """Thaws a budget, so that it pays again."""
        return await workflow.control(partial(curating.thaw, name, body, who))

    @app.post("/v1/budgets/{name}/close", tags=["curators"])
    async def close(
        name: str, body: Why, who: Annotated[Token, Depends(curator)]
    ) -> dict[str, Any]:
        """Closes a budget for good, and ends the questions that wait for it."""
        told = await workflow.control(partial(curating.close, name, body, who))
        workflow.stop(name)
        return told


def _add_tokens(app: FastAPI, curating: "Curating", curator: Any) -> None:
    workflow = curating.workflow

    @app.get("/v1/tokens", tags=["curators"])
    async def tokens(who: Annotated[Token, Depends(curator)]) -> list[dict[str, Any]]:
        """Who has a token and since when, without the tokens."""
        return await workflow.control(partial(curating.tokens, who))

    @app.post("/v1/tokens", tags=["curators"])
    async def create(body: NewToken, who: Annotated[Token, Depends(curator)]) -> dict[str, str]:
        """A new token, which is shown once; only its hash is kept."""
        return await workflow.control(partial(curating.create_token, body, who))

    @app.post("/v1/tokens/{number}/revoke", tags=["curators"])
    async def revoke(
        number: str, body: Why, who: Annotated[Token, Depends(curator)]
    ) -> dict[str, Any]:
        """Ends a token at once."""
        return await workflow.control(partial(curating.revoke_token, number, body, who))


def _add_registration(app: FastAPI, curating: "Curating", curator: Any) -> None:
    workflow = curating.workflow

    @app.get("/v1/registration", tags=["curators"])
    async def form(request: Request, _: Annotated[Token, Depends(curator)]) -> dict[str, Any]:
        """The facts that can be stated about a data set, and the files that may be registered."""
        shown = curating.why_no_check(request) is None
        return await workflow.work(lambda: curating.form() | {"check": shown})

    @app.post("/v1/registration", tags=["curators"])
    async def register(
        body: Registration, who: Annotated[Token, Depends(curator)]
    ) -> dict[str, Any]:
        """A new data set, in dampen.toml and served at once; reads no row."""
        return await workflow.work(partial(curating.register, body, who))

    @app.post("/v1/registration/columns", tags=["curators"])
    async def columns(body: Place, _: Annotated[Token, Depends(curator)]) -> list[dict[str, Any]]:
        """The columns of a file, from its header; reads no row."""
        return await workflow.work(partial(curating.columns, body))

    @app.post("/v1/registration/check", tags=["curators"])
    async def check(
        body: Registration, request: Request, who: Annotated[Token, Depends(curator)]
    ) -> dict[str, Any]:
        """NOT PRIVATE: exact counts of how questions would read the cells of a file."""
        if (why := curating.why_no_check(request)) is not None:
            raise Refusal(403, why)
        return await workflow.try_out(partial(curating.check, body, who))


@dataclass
class Curating:
    """The acts of curators; each raises `ParameterError` or `BudgetError` if it cannot be done."""

    workflow: "Workflow"
    _writing: threading.Lock = field(default_factory=threading.Lock)

    @property
    def _configuration(self) -> Configuration:
        return self.workflow.catalogue.configuration

    def audit(self, limit: int, skip: int) -> dict[str, Any]:
        """A page of the ledger's entries, newest first, and how many there are."""
        entries = self._configuration.ledger.entries()
        some = entries[::-1][skip : skip + limit]
        return {"entries": [each.row() for each in some], "all": len(entries)}

    def audit_text(self, style: str) -> str:
        """All of the ledger's entries but answers, oldest first."""
        rows = [each.row() for each in self._configuration.ledger.entries()]
        if style == "csv":
            return csv_text(rows)
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

    def budgets(self, who: Token) -> dict[str, Any]:
        """Every budget of a data set, with what only curators see."""
        named = {name: each for each in self.workflow.catalogue.sets for name in each.budgets}
        shown = [self._shown(self._account(name), who) for name in named]
        return {"budgets": shown, "witness": self._configuration.ledger.witness != ""}

    def create_budget(self, body: NewBudget, who: Token) -> dict[str, Any]:
        """A new budget of a data set, which pays before its others."""
        with self._writing:
            served = self._served(body.dataset)
            text, before = self._file()
            changed = _with_budget(text, served.name, body.name)
            with self._replacing(changed, before):
                account = self._create(body.name, served.name, served.schema, body, who)
            self.workflow.serve(replace(served, budgets=(account.name, *served.budgets)))
        return self._shown(account, who)

    def raise_to(self, name: str, body: Raise, who: Token) -> dict[str, Any]:
        """Raises the total of a budget."""
        account = self._account(name)
        account.raise_to(_number(body.epsilon), who=who.analyst)
        return self._shown(account, who)

    def cap(self, name: str, body: Cap, who: Token) -> dict[str, Any]:
        """Limits what an analyst, or every analyst, may spend of a budget."""
        account = self._account(name)
        named = {} if body.analyst is None else {"analyst": body.analyst}
        account.cap(_number(body.epsilon), **named, who=who.analyst)
        return self._shown(account, who)

    def freeze(self, name: str, body: Why, who: Token) -> dict[str, Any]:
        """Freezes a budget until it is thawed."""
        account = self._account(name)
        account.freeze(why=body.why, who=who.analyst)
        return self._shown(account, who)

    def thaw(self, name: str, body: Thaw, who: Token) -> dict[str, Any]:
        """Lets a budget pay again."""
        account = self._account(name)
        spent = None if body.spent is None else _number(body.spent)
        account.thaw(spent=spent, why=body.why, who=who.analyst)
        return self._shown(account, who)

    def close(self, name: str, body: Why, who: Token) -> dict[str, Any]:
        """Closes a budget for good."""
        account = self._account(name)
        account.close(why=body.why, who=who.analyst)
        return self._shown(account, who)

    def tokens(self, who: Token) -> list[dict[str, Any]]:
        """Who has tokens, and which is the caller's own."""
        return [asdict(t) | {"own": t.id == who.id} for t in self.workflow.tokens.tokens()]

    def create_token(self, body: NewToken, who: Token) -> dict[str, str]:
        """Creates a token after recording it in the ledger."""
        name = self.workflow.tokens.checked_name(body.analyst)
        self._note("create token", {"analyst": name, "role": body.role}, who)
        return {"analyst": name, "token": self.workflow.tokens.create(name, body.role)}

    def revoke_token(self, number: str, body: Why, who: Token) -> dict[str, Any]:
        """Revokes a token of another person."""
        if number == who.id:
            raise ParameterError(
                "This is the token that you use. Ask another curator to revoke it, or run "
                f"dampen token revoke {number} on the server."
            )
        found = next((t for t in self.workflow.tokens.tokens() if t.id == number), None)
        if found is None or found.revoked is not None:
            raise NotFound(f"There is no valid token {number[:100]!r}.")
        (ended,) = self.workflow.tokens.revoke(found.id)
        details = {"token": ended.id, "analyst": ended.analyst, "why": body.why}
        self._note("revoke token", details, who)
        return asdict(ended) | {"revoked": True}

    def form(self) -> dict[str, Any]:
        """The form of a data set, from the declarations of its facts, and what may be chosen."""
        return {
            "facts": declared_facts(Schema),
            "columns": {each.kind: declared_facts(each) for each in get_args(Column)},
            "graph": declared_facts(Graph),
            "files": list(self._files()),
            "open": bool(self._configuration.settings.register_from),
        }

    def columns(self, body: Place) -> list[dict[str, Any]]:
        """The columns of a file, and what they hold if the file says so."""
        source = FileSource(self._allowed(body.file), body.table, body.encoding, body.decimal)
        data, table = source.data()
        opened = self._told(source, body.file, lambda: open_table(data, table=table))
        return [{"name": each.name, "holds": each.holds} for each in opened.fields]

    def check(self, body: Registration, who: Token) -> dict[str, Any]:
        """`dampen check` of a file with the facts of a form.  Not private."""
        place = self._allowed(body.file)
        self._note("check", {"dataset": body.name, "file": body.file}, who)
        source = FileSource(place)
        asked = Dataset(str(place), _schema(body), table=body.table)
        return self._told(source, body.file, lambda: asked.check().to_dict())

    def register(self, body: Registration, who: Token) -> dict[str, Any]:
        """A data set that is asked from now on.

        Whatever is wrong is found before anything is written: the facts, the header of the file,
        one question of each kind, and the budget.
        """
        place = self._allowed(body.file)
        schema = _schema(body)
        with self._writing:
            section = self._section(body, place, schema)
            text, before = self._file()
            changed = f"{text.rstrip()}\n\n{section}"
            served = self._candidate(changed, body.name)
            self._try(served, body.file)
            with self._replacing(changed, before):
                account = self._budget_of(body, schema, who)
            details = {"dataset": body.name, "file": body.file, "budget": account.name,
                       "protects": schema.protected}  # fmt: skip
            self._note("register", details, who)
            self.workflow.serve(served)
        return {
            "name": served.name, "protects": schema.protected, "questions": list(served.questions),
            "budget": self._shown(account, who), "toml": section,
        }  # fmt: skip

    def why_no_check(self, request: Request) -> str | None:
        """Why exact counts are not shown for a request; None if they are shown."""
        rule = self._configuration.settings.show_check
        if rule == "always" or (rule == "local" and _is_here(request)):
            return None
        return (
            "Exact counts are not private, and are shown on the server's own machine alone. Run "
            'dampen check there, or let the operator set show-check = "always" in [service].'
        )

    def _section(self, body: Registration, place: Path, schema: Schema) -> str:
        """The text of a data set, which says exactly what the form said."""
        base = self._configuration.source.resolve().parent
        file = os.path.relpath(place, base) if place.is_relative_to(base) else str(place)
        section = format_schema(
            schema, name=body.name, files=[file], budgets=[body.budget],
            analysts=body.analysts or [], table=body.table or "",
        )  # fmt: skip
        if parse_schema(section) != schema:
            raise ParameterError("These facts cannot be written to dampen.toml. Write them there.")
        return section

    def _candidate(self, text: str, name: str) -> Served:
        """The new data set of a file that is not written yet, all of which is checked."""
        configuration = self._configuration
        if folded(name) in map(folded, configuration.sets):
            raise ParameterError(f"There is a data set {name!r} already. Choose another name.")
        source = configuration.source
        found = configuration_of(parse_file(text, source.name), source)
        if name not in found.sets:
            raise ParameterError("Expected columns, or a graph: without them nothing can be asked.")
        return found.sets[name]

    def _try(self, served: Served, file: str) -> None:
        """Opens the header of a file and plans one question of each kind; reads no row."""
        if not served.questions:
            raise ParameterError("These facts are not enough for any question. Add columns.")
        cache = Cache(served.source)
        for name in served.questions:
            asked = question_of(served, name, example(served.schema, name) or {})
            self._told(served.source, file, partial(asked.plan, cache))

    def _told(self, source: Any, file: str, task: Any) -> Any:
        """What a task gives; errors about a file call it as the curator did."""
        try:
            return task()
        except ParameterError as error:
            told = str(error)
            for secret in (*source.secrets, source.place):
                told = told.replace(secret, file)
            raise ParameterError(told) from None

    def _budget_of(self, body: Registration, schema: Schema, who: Token) -> Account:
        """The budget that was named, if it fits the facts, or a new one."""
        ledger = self._configuration.ledger
        if not self._has_budget(body.budget):
            if body.limits is None:
                raise ParameterError(f"There is no budget {body.budget!r}. State its epsilon.")
            return self._create(body.budget, body.name, schema, body.limits, who)
        balance = ledger.balance(body.budget)
        other = balance.neighbours != schema.relation
        other |= balance.unit not in ("", schema.unit_name)
        if other or balance.dataset not in ("", body.name):
            raise BudgetError(
                f"Budget {balance.name!r} is for {balance.dataset or 'any data set'} and protects "
                f"{balance.protects} ({balance.neighbours}), and these facts protect "
                f"{schema.protected} ({schema.relation}). Choose a new budget."
            )
        return ledger[body.budget]

    def _has_budget(self, name: str) -> bool:
        try:
            return folded(name) in map(folded, self._configuration.ledger)
        except BudgetError:  # there is no ledger yet, or `create` says what is wrong with it
            return False

    def _create(
        self, name: str, dataset: str, schema: Schema, limits: Limits, who: Token
    ) -> Account:
        given = {"delta": limits.delta, "largest": limits.largest, "each": limits.each}
        stated = {key: _number(value) for key, value in given.items() if value is not None}
        return self._configuration.ledger.create(
            name, epsilon=_number(limits.epsilon), neighbours=schema.relation,
            unit=schema.unit_name, dataset=dataset, trial=limits.trial, who=who.analyst, **stated,
        )  # fmt: skip

    def _shown(self, account: Account, who: Token) -> dict[str, Any]:
        balance = account.balance
        served = self._serving(account.name)
        protects = balance.protects if served is None else served.schema.protected
        return shown_balance(balance, who, protects) | {
            "dataset": None if served is None else served.name,
            "trial": balance.trial,
            "caps": {who: decimal_text(each.epsilon) for who, each in balance.caps.items()},
            "spent_by": {
                who: None if each.epsilon is None else short_text(each.epsilon, up=True)
                for who, each in balance.spent_by.items()
            },
        }

    def _serving(self, budget: str) -> Served | None:
        wanted = folded(budget)
        sets = self.workflow.catalogue.sets
        return next((each for each in sets if wanted in map(folded, each.budgets)), None)

    def _account(self, name: str) -> Account:
        if self._serving(name) is None:
            raise NotFound(f"No data set here has a budget {name[:100]!r}.")
        return self._configuration.ledger[name]

    def _served(self, name: str) -> Served:
        found = self._configuration.sets.get(name)
        if found is None:
            raise NotFound(f"There is no data set {name[:100]!r}.")
        return found

    def _note(self, what: str, details: Mapping[str, str], who: Token) -> None:
        self._configuration.ledger.note(what, details, who=who.analyst)

    def _allowed(self, file: str) -> Path:
        """Where a file lies that may be registered.

        Raises:
            ParameterError: the same for a file that is elsewhere and for one that does not exist.
        """
        for directory in self._configuration.settings.register_from:
            base = Path(os.path.realpath(directory))
            if "\0" in file:
                break
            place = Path(os.path.realpath(base / file))
            if place.is_relative_to(base) and place.is_file() and not self._is_own(place):
                return place
        raise ParameterError(
            f"Expected a file below a directory that register-from in [service] lists, got "
            f"{file[:100]!r}."
        )

    def _files(self) -> Iterator[str]:
        """The files that may be registered, as they are named, by their endings."""
        left = MOST_FILES
        for directory in self._configuration.settings.register_from:
            base = Path(os.path.realpath(directory))
            for place in sorted(base.rglob("*")):
                named = place.name.lower().removesuffix(".gz").removesuffix(".bz2")
                inside = Path(os.path.realpath(place)).is_relative_to(base)
                fits = named.endswith(ENDINGS) and inside and place.is_file()
                if not fits or self._is_own(place) or left == 0:
                    continue
                left -= 1
                yield str(place.relative_to(base))

    def _is_own(self, place: Path) -> bool:
        """Whether a file is one of the service's own: its configuration, tokens or ledger."""
        configuration = self._configuration
        own = [str(configuration.source), str(configuration.settings.state)]
        if "://" not in configuration.ledger.place:
            own.append(configuration.ledger.place)
        return any(os.path.realpath(place).startswith(os.path.realpath(each)) for each in own)

    def _file(self) -> tuple[str, bytes]:
        """The text of dampen.toml, and its bytes to compare with later."""
        source = self._configuration.source
        try:
            content = source.read_bytes()
            return content.decode("utf-8-sig"), content
        except (OSError, ValueError):
            raise ParameterError(f"Cannot read {source.name}.") from None

    @contextmanager
    def _replacing(self, text: str, before: bytes) -> Iterator[None]:
        """Replaces dampen.toml in one step, if what is done inside succeeds.

        A crash leaves the old file or the new one.  Whatever the machine may refuse but the last
        step, such as a file that may not be written, is found before.
        """
        target = Path(os.path.realpath(self._configuration.source))
        made = target.with_name(f".{target.name}.{random_text(6)}")
        try:
            _write_copy(made, text, target.stat().st_mode & 0o777)
            yield
            if target.read_bytes() != before:
                raise ParameterError(f"{target.name} was changed meanwhile. Try again.")
            os.replace(made, target)
        except OSError as error:
            raise ParameterError(
                f"Cannot write {target.name}: {error.strerror}. Let the operator change it, and "
                "restart the service."
            ) from None
        finally:
            made.unlink(missing_ok=True)


def _write_copy(path: Path, text: str, mode: int) -> None:
    """A new file that is on the disk when this returns."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    with os.fdopen(descriptor, "wb") as file:
        os.chmod(path, mode)
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())


def declared_facts(kind: type) -> list[dict[str, Any]]:
    """The facts that a class declares, as the fields of a form; help is its docstring's."""
    hints = get_type_hints(kind)
    helps = _helps(kind)
    return [
        {
            "name": each.name.replace("_", "-"),
            "help": helps.get(each.name, ""),
            "required": each.default is MISSING and each.default_factory is MISSING,
            "default": _shown_default(each.default),
            **_control(hints[each.name]),
        }
        for each in fields(kind)
    ]


def _helps(kind: type) -> dict[str, str]:
    """What a docstring says about each attribute."""
    _, _, told = (getdoc(kind) or "").partition("Attributes:\n")
    parts = re.split(r"^    (\w+): ", told, flags=re.MULTILINE)[1:]
    return {
        name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)
    }


def _shown_default(value: Any) -> Any:
    if isinstance(value, str | bool | int):
        return value
    return None


CONTROLS: Mapping[Any, str] = {
    bool: "flag", int: "count", float: "number", str: "text", tuple: "list", Literal: "word",
    Mapping: "columns",
}  # fmt: skip


def _control(hint: Any) -> dict[str, Any]:
    """What a form shows for a type: a tick, words to choose from, a number, a list or a text.

    Of several types it is the list, in which a number can be written, too.
    """
    union = get_origin(hint) in (Union, UnionType)
    kinds = [each for each in (get_args(hint) if union else (hint,)) if each is not NoneType]
    if is_dataclass(kinds[0]):
        return {"kind": "graph", "choices": []}
    known = [CONTROLS.get(get_origin(each) or each, "text") for each in kinds]
    if known[0] == "word":
        return {"kind": "word", "choices": list(get_args(kinds[0]))}
    if "list" in known:
        numbers = get_args(kinds[known.index("list")])[0] is float
        return {"kind": "numbers" if numbers else "list", "choices": []}
    return {"kind": known[0], "choices": []}


def _schema(body: Registration) -> Schema:
    """The facts of a form, read by the grammar of dampen.toml."""
    given = {key.replace("_", "-"): value for key, value in body.facts.items()}
    schema: Schema = read_table(Schema, given, Where("the facts"))
    if schema.graph is not None and isinstance(schema.graph.nodes, str):
        raise ParameterError(
            "Expected nodes to be a number or a list. A file of nodes is registered in dampen.toml "
            "by the operator."
        )
    return schema


def _with_budget(text: str, dataset: str, budget: str) -> str:
    """The text of dampen.toml with one more budget of a data set; all else as it is.

    Raises:
        ParameterError: if the text is written so that this cannot be done safely.
    """
    content = tomllib.loads(text)
    names = [each["name"] for each in content["data"]]
    starts = [each.start() for each in DATA.finditer(text)]
    if len(starts) == len(names):
        [*_, start] = starts[: names.index(dataset) + 1]
        listed = BUDGETS.search(text, start)
        if listed is not None:
            changed = f"{text[: listed.end()]}{written(budget)}, {text[listed.end() :]}"
            content["data"][names.index(dataset)]["budgets"].insert(0, budget)
            if _parsed(changed) == content:
                return changed
    raise ParameterError(
        f"Cannot add the budget to dampen.toml. Write {written(budget)} into budgets of "
        f"{dataset!r} there, run dampen budget create, and restart the service."
    )


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except ValueError:
        return None


def _number(value: str | int | float) -> str:
    return str(value)


def _is_here(request: Request) -> bool:
    """Whether a request comes from this machine and passed no proxy."""
    if any(name in request.headers for name in FORWARDED) or request.client is None:
        return False
    try:
        near = ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
    return near and (request.url.hostname or "") in HERE
