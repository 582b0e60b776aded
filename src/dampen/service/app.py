"""The desk over HTTP.

| request | gives |
|---|---|
| `GET /v1/me` | whose token it is |
| `GET /v1/datasets` | public facts of what one may ask |
| `POST /v1/datasets/{name}/{question}` | a release, as `Release.to_json` writes it, and more |
| `POST /v1/datasets/{name}/{question}/expect` | its cost and accuracy, before paying; free |
| `GET /v1/budget` | what is left |
| `GET /v1/releases`, `GET /v1/releases/{charge}` | one's own releases |
| `GET /v1/activity`, `POST /v1/budgets/{name}/freeze`, `/thaw` | for curators |
| `GET /v1/incidents/{id}` | for curators: why a question failed |

A question that takes longer than the service is patient for goes on: its answer is among the
caller's releases when it is ready.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from hmac import compare_digest
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from dampen import __version__
from dampen.errors import BudgetError, DampenError, ParameterError
from dampen.service.door import Door
from dampen.service.middleware import Guard, Refusal, Scope, error_body, log_line
from dampen.service.pacing import Pace, Rate
from dampen.service.queue import Asking
from dampen.service.requests import BODIES, Body, Login, Why
from dampen.service.stages import Answer, Failed, NotFound
from dampen.service.tokens import Role, Token, random_text
from dampen.service.workflow import Desk

__all__ = ["Service", "application"]

WRONG_TOKENS_PER_MINUTE = 30
"""From one address; ten times as many from all, for an address is what a proxy says it is."""
ADMINISTRATOR = "administrator"
LOCAL = ("127.0.0.1", "localhost", "[::1]")
PAGES = {"/": "index.html", "/docs": "docs.html"}
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


@dataclass
class Service:
    """A desk, its workers and its limits."""

    desk: Desk
    code: str | None = None
    asking: Asking = field(init=False)

    def __post_init__(self) -> None:
        settings = self.desk.configuration.settings
        self.asking = Asking(
            self.desk, settings.workers, Pace(settings.step), settings.patience, settings.waiting
        )
        self.rate = Rate(settings.requests_per_minute)
        self._wrong = Rate(WRONG_TOKENS_PER_MINUTE)
        self._all_wrong = Rate(10 * WRONG_TOKENS_PER_MINUTE)

    def hears_wrong_one(self, request: Request) -> bool:
        """Whether a wrong token, or code, is still told from many."""
        address = request.client.host if request.client else ""
        return self._wrong.allows(address) and self._all_wrong.allows("")

    def open_link(self) -> str:
        """A code that gives its first user a curator's token; kept as a hash.

        Tokens from earlier links end here.
        """
        code = random_text(24)
        self.code = _hash(code)
        with suppress(ParameterError):  # if nobody came by such a link before
            self.desk.store.revoke(ADMINISTRATOR)
        return code

    def log_in(self, code: str) -> str | None:
        """The token for the code of the administrator's link, once."""
        if self.code is None or not compare_digest(self.code, _hash(code)):
            return None
        self.code = None
        return self.desk.store.create(ADMINISTRATOR, Role.CURATOR)

    def caller(self, scope: Scope) -> Token:
        """Whose request it is.

        Raises:
            Refusal: if nobody's, or the caller makes too many.
        """
        request = Request(scope)
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        found = None
        if kind.lower() == "bearer" and token:
            found = self.desk.store.find(token.strip())
        if found is None:
            if not self.hears_wrong_one(request):
                raise Refusal(429, "Too many wrong tokens. Wait a minute.")
            raise Refusal(401, "Expected a valid token: authorization: Bearer dampen_...")
        scope.setdefault("state", {})["who"] = found.analyst
        if not self.rate.allows(found.analyst):
            raise Refusal(429, "Too many requests. Wait a moment. Nothing was charged.")
        return found

    async def ask(self, who: Token, name: str, kind: str, body: Body) -> Answer:
        """The answer to a question."""
        return await self.asking.ask(who, name, kind, body.options(), body.budget, reuse=body.reuse)


def application(service: Service, *, log: Callable[..., None] = log_line) -> Guard:
    """The ASGI application of a service."""
    app = FastAPI(
        title="dampen", version=__version__, docs_url=None, redoc_url=None,
        description="Private answers about data that stays with its curator.",
    )  # fmt: skip
    _add_errors(app)
    _add_page(app)

    async def caller(request: Request) -> Token:
        return service.caller(request.scope)

    _add_analysts(app, service, caller)
    _add_questions(app, service, caller)
    _add_curators(app, service, caller)
    hosts = {*LOCAL, *service.desk.configuration.settings.hosts}
    return Guard(Door(app, _routes(app), service.caller, service.ask, _told), hosts, log)


def _routes(app: FastAPI) -> dict[str, Any]:
    """The route of each kind of question."""
    found = {getattr(route, "operation_id", None): route for route in app.routes}
    return {kind: found[kind] for kind in BODIES}


def _add_analysts(app: FastAPI, service: Service, caller: Any) -> None:
    desk = service.desk

    @app.get("/healthz", tags=["service"])
    async def health() -> dict[str, str]:
        """Whether the service can charge."""
        await service.asking.work(desk.history.follow)
        return {"status": "ok", "version": __version__}

    @app.post("/v1/login", tags=["service"])
    async def log_in(body: Login, request: Request) -> dict[str, str]:
        """A curator's token for the code of the administrator's link, once."""
        token = service.log_in(body.code)
        if token is None:
            if not service.hears_wrong_one(request):
                raise Refusal(429, "Too many wrong codes. Wait a minute.")
            raise Refusal(401, "This link was used, or is none. Start the service for another.")
        return {"token": token}

    @app.get("/v1/me", tags=["analysts"])
    async def me(who: Annotated[Token, Depends(caller)]) -> dict[str, str]:
        """Whose token this is."""
        return {"analyst": who.analyst, "role": str(who.role)}

    @app.get("/v1/datasets", tags=["analysts"])
    async def datasets(who: Annotated[Token, Depends(caller)]) -> list[dict[str, Any]]:
        """The public facts of the data sets that one may ask, and their budgets."""
        return await service.asking.work(partial(desk.datasets, who))

    @app.get("/v1/budget", tags=["analysts"])
    async def budget(who: Annotated[Token, Depends(caller)]) -> list[dict[str, Any]]:
        """What is left of every budget that one may use."""
        return await service.asking.work(partial(desk.budgets, who))

    @app.get("/v1/releases", tags=["analysts"])
    async def releases(
        who: Annotated[Token, Depends(caller)],
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        skip: Annotated[int, Query(ge=0)] = 0,
    ) -> list[dict[str, Any]]:
        """One's own releases, newest first."""
        return await service.asking.work(partial(desk.releases, who, limit=limit, skip=skip))

    @app.get("/v1/releases/{charge}", tags=["analysts"])
    async def release(charge: str, who: Annotated[Token, Depends(caller)]) -> dict[str, Any]:
        """One of one's own releases."""
        return await service.asking.work(partial(desk.release, who, charge))


def _add_questions(app: FastAPI, service: Service, caller: Any) -> None:
    for kind, shape in BODIES.items():
        _add_question(app, service, caller, kind, shape)


def _add_question(app: FastAPI, service: Service, caller: Any, kind: str, shape: Any) -> None:
    desk = service.desk
    said = (shape.__doc__ or "").strip()

    async def ask(name: str, body: Any, who: Annotated[Token, Depends(caller)]) -> Response:
        answer = await service.ask(who, name, kind, body)
        return Response(answer.shown(), media_type="application/json")

    async def expect(
        name: str, body: Any, who: Annotated[Token, Depends(caller)]
    ) -> dict[str, Any]:
        task = partial(desk.expect, who, name, kind, body.options(), body.budget)
        return await service.asking.work(task)

    ask.__annotations__["body"] = expect.__annotations__["body"] = shape
    ask.__doc__ = f"{said} Costs epsilon, unless it was asked before."
    expect.__doc__ = f"What to expect of the same question, before paying. Free. {said}"
    path = f"/v1/datasets/{{name}}/{kind}"
    app.post(path, tags=["questions"], operation_id=kind, response_model=dict[str, Any])(ask)
    app.post(f"{path}/expect", tags=["questions"], operation_id=f"{kind}-expect")(expect)


def _add_curators(app: FastAPI, service: Service, caller: Any) -> None:
    desk = service.desk

    async def curator(who: Annotated[Token, Depends(caller)]) -> Token:
        if who.role is not Role.CURATOR:
            raise Refusal(403, "This is for curators.")
        return who

    @app.get("/v1/activity", tags=["curators"])
    async def activity(_: Annotated[Token, Depends(curator)]) -> dict[str, Any]:
        """Every charge, without its answer, and how often each analyst was refused."""
        return await service.asking.work(desk.activity)

    @app.post("/v1/budgets/{name}/freeze", tags=["curators"])
    async def freeze(
        name: str, body: Why, who: Annotated[Token, Depends(curator)]
    ) -> dict[str, str]:
        """The budget pays nothing until it is thawed."""
        account = desk.account(name)
        await service.asking.work(partial(account.freeze, why=body.why, who=who.analyst))
        return {"name": name, "status": str(account.status)}

    @app.post("/v1/budgets/{name}/thaw", tags=["curators"])
    async def thaw(name: str, body: Why, who: Annotated[Token, Depends(curator)]) -> dict[str, str]:
        """The budget pays again."""
        account = desk.account(name)
        await service.asking.work(partial(account.thaw, why=body.why, who=who.analyst))
        return {"name": name, "status": str(account.status)}

    @app.get("/v1/incidents/{number}", tags=["curators"])
    async def incident(number: str, _: Annotated[Token, Depends(curator)]) -> dict[str, str | None]:
        """Why a question that was paid for has no answer.  Not for analysts."""
        found = await service.asking.work(partial(desk.store.incident, number))
        if found is None:
            raise Refusal(404, "There is no such incident.")
        return asdict(found)


def _add_page(app: FastAPI) -> None:
    """The page, read once; no path of a request ever reaches the disk."""
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
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body")
        text = f"Expected another {where or 'body'}: {first['msg']}. Nothing was charged."
        return JSONResponse(error_body(2, text), 400)

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> JSONResponse:
        code = 1 if error.status_code >= 500 else 2
        return JSONResponse(error_body(code, f"{error.detail}."), error.status_code)


def _told(error: DampenError) -> tuple[int, dict[str, Any]]:
    """The status and the body of an error."""
    if isinstance(error, Failed):
        return 500, error_body(3, str(error), charge=error.charge, incident=error.incident)
    status = 409 if isinstance(error, BudgetError) else 404 if isinstance(error, NotFound) else 400
    return status, error_body(2, str(error))


def _hash(code: str) -> str:
    return sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
