"""The service over HTTP: its requests, and how it starts and stops.

| request | gives |
|---|---|
| `GET /v1/me` | whose token it is |
| `GET /v1/questions` | what can be asked: every question with its parameters |
| `GET /v1/datasets` | public facts of what one may ask |
| `POST /v1/datasets/{name}/{question}` | a release, as `Release.to_json` writes it, and more |
| `POST /v1/datasets/{name}/{question}/expect` | its cost and accuracy, before paying; free |
| `POST /v1/sql`, `POST /v1/sql/expect` | the same for one SELECT statement |
| `GET /v1/budget` | what is left |
| `GET /v1/releases`, `GET /v1/releases/{charge}` | your own releases |

What curators may do besides is in `dampen.service.curator`.

A question that takes longer than the service is patient for goes on: its answer is among the
caller's releases when it is ready.
"""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from hmac import compare_digest
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import uvicorn
from fastapi import Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from uvicorn.protocols.http.h11_impl import H11Protocol

from dampen import __version__
from dampen.errors import BudgetError, DampenError
from dampen.service.catalogue import NotFound
from dampen.service.configuration import load_configuration
from dampen.service.curator import add_curators
from dampen.service.middleware import Middleware, Rate, Refusal, Scope, error_body, log_line
from dampen.service.questions import (
    Body,
    Login,
    Sql,
    bodies,
    body_of,
    declarations,
    json_schema,
    mistake,
)
from dampen.service.tokens import Role, Token, random_text
from dampen.service.workflow import Failed, Workflow

if TYPE_CHECKING:
    from dampen.sql import Statement

__all__ = ["Service", "application", "check", "run"]

WRONG_TOKENS_PER_MINUTE = 30
"""From one address; ten times as many from all, for an address is what a proxy says it is."""
ADMINISTRATOR = "administrator"
SECONDS_OF_LINK = 15 * 60
"""How long the administrator's link is good for."""
SPENT_LINK = (
    "This login link has expired. Run dampen token create NAME --role curator on the server to "
    "get a token."
)
B = TypeVar("B", bound=Body)
LOCAL = ("127.0.0.1", "localhost", "[::1]")
NOWHERE = (
    "There is nothing at this address. GET /v1/datasets lists the data sets and their questions, "
    "GET /v1/questions what each question takes, and /docs describes the rest."
)
PAGES = {"/": "index.html", "/docs": "docs.html"}
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


@dataclass
class Service:
    """A workflow and the limits of its callers.

    Attributes:
        workflow: answers questions.
        code: the hash of the code of the administrator's link, until it is used.
        opened: when that link was made, by `time.monotonic`.
    """

    workflow: Workflow
    code: str | None = None
    opened: float = 0.0

    def __post_init__(self) -> None:
        self.tokens = self.workflow.tokens
        self.rate = Rate(self.workflow.settings.requests_per_minute)
        self._wrong = Rate(WRONG_TOKENS_PER_MINUTE)
        self._all_wrong = Rate(10 * WRONG_TOKENS_PER_MINUTE)

    def hears_wrong_one(self, request: Request) -> bool:
        """Whether wrong tokens and codes are still few enough to be answered."""
        address = request.client.host if request.client else ""
        return self._wrong.allows(address) and self._all_wrong.allows("")

    def open_link(self) -> str | None:
        """A code that gives its first user, if soon, a curator's token; kept as a hash.

        None if there is a curator already, who can do without.
        """
        if any(each.role is Role.CURATOR and not each.revoked for each in self.tokens.tokens()):
            return None
        code = random_text(24)
        self.code = _hash(code)
        self.opened = time.monotonic()
        return code

    def log_in(self, code: str) -> str | None:
        """The token for the code of the administrator's link, once."""
        if self.code is None or not compare_digest(self.code, _hash(code)):
            return None
        self.code = None
        if time.monotonic() - self.opened > SECONDS_OF_LINK:
            return None
        return self.tokens.create(ADMINISTRATOR, Role.CURATOR)

    def caller(self, scope: Scope) -> Token:
        """Whose request it is.

        Raises:
            Refusal: if nobody's, or the caller makes too many.
        """
        request = Request(scope)
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        found = None
        if kind.lower() == "bearer" and token:
            found = self.tokens.find(token.strip())
        if found is None:
            if not self.hears_wrong_one(request):
                raise Refusal(429, "Too many wrong tokens. Wait a minute.")
            raise Refusal(401, "Expected a valid token: authorization: Bearer dampen_...")
        scope.setdefault("state", {})["who"] = found.analyst
        if not self.rate.allows(found.analyst):
            raise Refusal(429, "Too many requests. Wait a moment. Nothing was charged.")
        return found


def application(service: Service, *, log: Callable[..., None] = log_line) -> Middleware:
    """The ASGI application of a service."""
    app = FastAPI(
        title="dampen", version=__version__, docs_url=None, redoc_url=None,
        description="Private answers about data that stays with its curator.",
    )  # fmt: skip
    _add_errors(app)

    async def caller(request: Request) -> Token:
        return service.caller(request.scope)

    for name, shape in bodies().items():
        _add_question(app, service, name, shape)
    _add_sql(app, service)
    _add_analysts(app, service, caller)
    add_curators(app, service, caller)
    _add_page(app)
    hosts = {*LOCAL, *service.workflow.settings.hosts}
    return Middleware(app, hosts, log)


def _add_analysts(app: FastAPI, service: Service, caller: Any) -> None:
    workflow = service.workflow
    catalogue = workflow.catalogue

    @app.get("/healthz", tags=["service"])
    async def health(request: Request) -> Response:
        """Whether the service can charge; to curators also why not."""
        who = service.caller(request.scope) if "authorization" in request.headers else None
        told: dict[str, str] = {} if who is None else {"version": __version__}
        try:
            await workflow.control(catalogue.history.follow)
        except DampenError as error:
            why = {"why": str(error)} if who is not None and who.role is Role.CURATOR else {}
            return JSONResponse({"status": "failing", **told, **why}, 503)
        return JSONResponse({"status": "ok", **told})

    @app.post("/v1/login", tags=["service"])
    async def log_in(body: Login, request: Request) -> dict[str, str]:
        """A curator's token for the code of the administrator's link, once."""
        token = service.log_in(body.code)
        if token is None:
            if not service.hears_wrong_one(request):
                raise Refusal(429, "Too many wrong codes. Wait a minute.")
            raise Refusal(401, SPENT_LINK)
        return {"token": token}

    @app.get("/v1/me", tags=["analysts"])
    async def me(who: Annotated[Token, Depends(caller)]) -> dict[str, str]:
        """The name and the role of your token."""
        return {"analyst": who.analyst, "role": str(who.role)}

    @app.get("/v1/questions", tags=["analysts"])
    async def questions(_: Annotated[Token, Depends(caller)]) -> list[dict[str, Any]]:
        """Every question with its parameters; a data set lists those that it answers."""
        return declarations()

    @app.get("/v1/datasets", tags=["analysts"])
    async def datasets(who: Annotated[Token, Depends(caller)]) -> list[dict[str, Any]]:
        """The public facts of the data sets that you may ask about, and their budgets."""
        return await workflow.work(partial(catalogue.datasets, who))

    @app.get("/v1/budget", tags=["analysts"])
    async def budget(who: Annotated[Token, Depends(caller)]) -> list[dict[str, Any]]:
        """The remainder of every budget that you may use."""
        return await workflow.control(partial(catalogue.budgets, who))

    @app.get("/v1/releases", tags=["analysts"])
    async def releases(
        who: Annotated[Token, Depends(caller)],
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        skip: Annotated[int, Query(ge=0)] = 0,
    ) -> list[dict[str, Any]]:
        """Your own releases, newest first."""
        return await workflow.work(partial(catalogue.releases, who, limit=limit, skip=skip))

    @app.get("/v1/releases/{charge}", tags=["analysts"])
    async def release(charge: str, who: Annotated[Token, Depends(caller)]) -> dict[str, Any]:
        """One of your own releases."""
        return await workflow.work(partial(catalogue.release, who, charge))


def _add_question(app: FastAPI, service: Service, question: str, shape: type[Body]) -> None:
    workflow = service.workflow
    said = (shape.__doc__ or "").strip().partition("\n")[0]

    async def ask(name: str, request: Request) -> Response:
        who = service.caller(request.scope)
        body = _checked(shape, await request.body())
        answer = await workflow.ask(who, name, question, dict(body), body.budget, reuse=body.reuse)
        return Response(answer.shown(), media_type="application/json")

    async def expect(name: str, request: Request) -> Response:
        who = service.caller(request.scope)
        body = _checked(shape, await request.body())
        task = partial(workflow.expect, who, name, question, dict(body), body.budget)
        return JSONResponse(await workflow.try_out(task))

    ask.__doc__ = f"{said} Costs epsilon, unless it was asked before."
    expect.__doc__ = f"The price and the accuracy of the same question. Free. {said}"
    path = f"/v1/datasets/{{name}}/{question}"
    _add_routes(app, path, shape, {question: ask, f"{question}-expect": expect})


def _add_sql(app: FastAPI, service: Service) -> None:
    workflow = service.workflow

    async def asked(request: Request) -> tuple[Token, "Statement", Body]:
        who = service.caller(request.scope)
        body = _checked(Sql, await request.body())
        read = partial(workflow.statement, who, body.statement, body.delta)
        statement = await workflow.work(read)
        return who, statement, body_of(statement, dict(body))

    async def ask(request: Request) -> Response:
        """One SELECT statement as one question. Costs epsilon, unless it was asked before."""
        who, of, body = await asked(request)
        answer = await workflow.ask(
            who, of.dataset, of.question, dict(body), body.budget, reuse=body.reuse
        )
        return Response(answer.shown(), media_type="application/json")

    async def expect(request: Request) -> Response:
        """The price and the accuracy of a SELECT statement. Free."""
        who, of, body = await asked(request)
        task = partial(workflow.expect, who, of.dataset, of.question, dict(body), body.budget)
        return JSONResponse(await workflow.try_out(task))

    _add_routes(app, "/v1/sql", Sql, {"sql": ask, "sql-expect": expect})


def _add_routes(
    app: FastAPI, path: str, shape: type[Body], handlers: Mapping[str, Callable[..., Any]]
) -> None:
    """A question at its path, and what to expect of it below."""
    described = {"application/json": {"schema": json_schema(shape)}}
    for end, (name, handler) in zip(("", "/expect"), handlers.items(), strict=True):
        app.router.add_api_route(
            path + end, handler, methods=["POST"], tags=["questions"], operation_id=name,
            response_model=dict[str, Any], route_class_override=_QuestionRoute,
            openapi_extra={"requestBody": {"content": described, "required": True}},
        )  # fmt: skip


class _QuestionRoute(APIRoute):
    """A route whose handler reads the request itself: FastAPI's own reading costs as much again."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def handle(request: Request) -> Response:
            answer: Response = await self.endpoint(request=request, **request.path_params)
            return answer

        return handle


def _checked(shape: type[B], content: bytes) -> B:
    """The body of a question.  FastAPI would take longer to read it than to answer it."""
    try:
        return shape.model_validate_json(content)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


def _add_page(app: FastAPI) -> None:
    """Serves the page from memory, so that no path of a request reaches the disk."""
    found = {each.name: each.read_bytes() for each in (files("dampen.service") / "page").iterdir()}
    paths = PAGES | {f"/{name}": name for name in found if not name.endswith(".html")}
    for path, name in paths.items():
        kind = f"{KINDS[Path(name).suffix]}; charset=utf-8"
        app.get(path, include_in_schema=False)(_giving(found[name], kind))


def _giving(content: bytes, kind: str) -> Callable[[], Awaitable[Response]]:
    async def give() -> Response:  # an argument here would be one that a request can set
        return Response(content, media_type=kind)

    return give


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(Refusal)
    async def refused(_: Request, refusal: Refusal) -> JSONResponse:
        code = 1 if refusal.status >= 500 else 2
        headers = {"www-authenticate": "Bearer"} if refusal.status == 401 else None
        return JSONResponse(error_body(code, refusal.message), refusal.status, headers)

    @app.exception_handler(DampenError)
    async def wrong(_: Request, error: DampenError) -> JSONResponse:
        status, body = _told(error)
        return JSONResponse(body, status)

    @app.exception_handler(RequestValidationError)
    async def misshapen(_: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse(error_body(2, mistake(error)), 400)

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> JSONResponse:
        code = 1 if error.status_code >= 500 else 2
        told = NOWHERE if error.status_code == 404 else f"{error.detail}."
        return JSONResponse(error_body(code, told), error.status_code)


def _told(error: DampenError) -> tuple[int, dict[str, Any]]:
    """The status and the body of an error."""
    if isinstance(error, Failed):
        return 500, error_body(3, str(error), charge=error.charge, incident=error.incident)
    status = 409 if isinstance(error, BudgetError) else 404 if isinstance(error, NotFound) else 400
    return status, error_body(2, str(error))


def _hash(code: str) -> str:
    return sha256(code.encode("utf-8", "surrogatepass")).hexdigest()


MOST_CONNECTIONS = 10_000
BACKLOG = 128
"""Connections that are taken at once."""
MOST_FILES = 128
"""Descriptors of a service besides those of connections."""
SECONDS_TO_FINISH = 60
SECONDS_FOR_HEAD = 10


def check(path: str | Path) -> list[str]:
    """What would be served; opens every file's header, and reads no row.

    Raises:
        DampenError: if something is not as the configuration says.
    """
    configuration = load_configuration(path)
    without = "not served, because it states no [data.columns] and no [data.graph]"
    unserved = [f"{name}: {without}" for name in configuration.unserved]
    return Workflow.of(configuration).check() + unserved


def run(
    path: str | Path,
    *,
    host: str,
    port: int,
    say: Callable[[str, str | None], None],
    made: Callable[[Service], Middleware] = application,
) -> None:
    """Runs the service until it is stopped.

    A stop (SIGTERM, Ctrl-C) takes no new questions, finishes those that were begun, and ends; what
    was charged and could not be finished within a minute stands in the ledger.

    Args:
        path: of the configuration.
        host: where to listen.
        port: the same; 0 for any.
        say: is told the address, and the administrator's link if there is no curator yet.
        made: what is served, as an ASGI application.
    """
    workflow = Workflow.of(load_configuration(path))
    workflow.check()
    service = Service(workflow)
    settings = uvicorn.Config(
        made(service), host=host, port=port, http=_Punctual, ws="none", log_config=None,
        access_log=False,
        server_header=False, timeout_graceful_shutdown=SECONDS_TO_FINISH, timeout_keep_alive=30,
        limit_concurrency=min(2 * workflow.settings.waiting, _most_connections()),
        h11_max_incomplete_event_size=16384, backlog=BACKLOG,
    )  # fmt: skip
    server = _Server(settings)

    def started_at(address: str) -> None:
        code = service.open_link()
        say(f"{address}/", None if code is None else f"{address}/#login={code}")

    server.started_at = started_at
    server.finish = workflow.finish
    try:
        server.run()
    finally:
        workflow.close()


def _most_connections() -> int:
    """What the process has descriptors for, besides those of its files and those that knock."""
    try:
        import resource
    except ImportError:  # not on Windows
        return MOST_CONNECTIONS
    found, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if found == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(MOST_FILES // 2, min(MOST_CONNECTIONS, found - MOST_FILES - BACKLOG))


class _Punctual(H11Protocol):
    """Ends a connection whose next request does not come in time, once it has begun.

    uvicorn itself counts from the end of an answer until the next byte, and then waits for ever.
    If there are too many connections, the one that has been idle for longest makes room.
    """

    _timer: asyncio.TimerHandle | None = None
    _since = 0.0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._since = self.loop.time()
        self._expect_head()
        if len(self.connections) >= (self.limit_concurrency or MOST_CONNECTIONS):
            own = [each for each in self.connections if isinstance(each, _Punctual)]
            idle = [each for each in own if each.is_idle()]
            min(idle, key=lambda each: each._since).transport.abort()

    def is_idle(self) -> bool:
        """Whether it is open and no request is being answered."""
        if self.transport.is_closing():
            return False
        return self.cycle is None or self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        self._since = self.loop.time()
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._forget()
        elif before is None or before.response_complete:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(SECONDS_FOR_HEAD, self.transport.close)

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Server(uvicorn.Server):
    """Prints its address once it listens, and finishes its work when it is stopped."""

    started_at: Callable[[str], None]
    finish: Callable[[float], Awaitable[None]]

    async def startup(self, sockets: "list[object] | None" = None) -> None:  # type: ignore[override]
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            self.started_at(f"http://{shown}:{port}")

    async def shutdown(self, sockets: "list[object] | None" = None) -> None:  # type: ignore[override]
        await super().shutdown(sockets)  # type: ignore[arg-type]
        await self.finish(SECONDS_TO_FINISH)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's, which would end the process by the same signal before work is done."""
        before = {
            number: signal.signal(number, self.handle_exit)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
