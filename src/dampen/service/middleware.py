"""The checks and the headers of every request, and when its answer leaves.

- `Middleware`: the checks of every request, and the headers of every response.
- `Rate`, `Turns`: how much one caller may do at a time, and whose turn it is.
- `Pace`: when answers leave.

What is checked, and what is sent:

- The host must be one that the service is known by, so that no other name can be made to lead here.
- A request that changes something, and says where it comes from, must come from this very service:
  no page elsewhere can make a browser ask.  (Tokens travel in a header that browsers never add on
  their own; this is the second lock.)
- Bodies are small and flat: at most 64 KiB, at most 20 levels deep, and arrive in time.
- Headers as OWASP asks; nothing is stored by browsers or proxies, no other site is loaded.
- One line of JSON per request: when, what, who, status.  No query, no body, no address, no exact
  duration: what is not written cannot leak.
"""

import asyncio
import json
import math
import sys
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

__all__ = [
    "App",
    "Middleware",
    "Pace",
    "Rate",
    "Receive",
    "Refusal",
    "Scope",
    "Send",
    "Turns",
    "error_body",
    "log_line",
]


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_BODY = 64 * 1024
DEEPEST = 20
SECONDS_FOR_BODY = 20
SAFE = {"GET", "HEAD"}
DECISIVE = {b"host", b"origin", b"authorization", b"content-type", b"content-length"}
MEANING = {
    1: "an error of dampen itself, or it is stopping or busy",
    2: "a wrong parameter, a missing right or a refused budget; no data was read",
    3: "the data is not what the public facts promise; a charge stands",
}
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_SENT = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


class Refusal(Exception):
    """A refused request, with a status and one public sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def error_body(
    code: int, message: str, *, charge: str | None = None, incident: str | None = None
) -> dict[str, Any]:
    """The one form of all errors; the codes mean what the command line's exit codes mean."""
    return {
        "exit_code": code,
        "message": message,
        "meaning": MEANING[code],
        "charge": charge,
        "incident": incident,
    }


def log_line(**facts: Any) -> None:
    """One line of JSON on standard error."""
    stamped = {"time": datetime.now(UTC).isoformat(timespec="seconds"), **facts}
    sys.stderr.write(json.dumps(stamped) + "\n")


@dataclass
class Middleware:
    """An application behind these checks."""

    app: App
    hosts: Iterable[str]
    log: Callable[..., None] = log_line
    _known: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self._known = {host.lower() for host in self.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 500

        async def checked_send(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", []), *_SENT]}
            await send(message)

        try:
            await self._pass(scope, receive, checked_send)
        except Refusal as refusal:
            await _answer(checked_send, refusal)
        except Exception as error:
            self.log(event="error", kind=type(error).__name__)
            said = "The service failed. Tell the curator."
            await _answer(checked_send, Refusal(500, said))
        finally:
            self._tell(scope, status)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _once(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if _name_of(host) not in self._known:
            raise Refusal(
                421,
                "This service does not answer to that host name. Its operator can "
                "add it to hosts in [service].",
            )
        if scope["method"] not in SAFE:
            _check_origin(headers, host)
            kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
            if kind != b"application/json":
                raise Refusal(415, "Expected content-type: application/json.")
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > LARGEST_BODY:
            raise Refusal(413, f"Expected a body of at most {LARGEST_BODY} bytes.")
        body = await _body(receive)
        if _depth(body) > DEEPEST:
            raise Refusal(400, f"Expected JSON of at most {DEEPEST} levels.")
        if _repeats_a_name(body):
            raise Refusal(400, "Expected every name once in an object of JSON.")
        await self.app(scope, _replayed(body, receive), send)

    def _tell(self, scope: Scope, status: int) -> None:
        route = scope.get("route")
        state = scope.get("state", {})
        self.log(
            event="request",
            method=scope["method"] if scope["method"] in SAFE | {"POST"} else "other",
            route=getattr(route, "path", "unknown"),
            status=status,
            who=state.get("who", ""),
        )


def _once(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """The headers by name; those that decide something must not be there twice."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        if name.lower() in found and name.lower() in DECISIVE:
            raise Refusal(400, "Expected each header once.")
        found[name.lower()] = value
    return found


def _check_origin(headers: MutableMapping[bytes, bytes], host: str) -> None:
    origin = headers.get(b"origin")
    if origin is not None and urlsplit(origin.decode("latin-1")).netloc.lower() != host:
        raise Refusal(403, "Requests from other origins may not change anything.")
    if headers.get(b"sec-fetch-site", b"same-origin") not in (b"same-origin", b"none"):
        raise Refusal(403, "Requests from other sites may not change anything.")


def _name_of(host: str) -> str:
    """The name in a Host header, without a port."""
    name = host.rpartition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
    return name or "?"


async def _body(receive: Receive) -> bytes:
    try:
        async with asyncio.timeout(SECONDS_FOR_BODY):
            return await _whole_body(receive)
    except TimeoutError:
        raise Refusal(408, "The body of the request took too long.") from None


async def _whole_body(receive: Receive) -> bytes:
    parts = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(400, "The request ended early.")
        part = message.get("body", b"")
        size += len(part)
        if size > LARGEST_BODY:
            raise Refusal(413, f"Expected a body of at most {LARGEST_BODY} bytes.")
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _depth(body: bytes) -> int:
    """How deeply JSON is nested, at most; brackets in texts do not count if there are many."""
    if (brackets := body.count(b"[") + body.count(b"{")) <= DEEPEST:
        return brackets
    depth = deepest = 0
    in_text = escaped = False
    for byte in body:
        if in_text:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                in_text = False
        elif byte == 0x22:
            in_text = True
        elif byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def _repeats_a_name(body: bytes) -> bool:
    """Whether a name occurs twice in an object: one reader takes the first, another the last."""
    repeated = list[bool]()

    def names(pairs: list[tuple[str, Any]]) -> None:
        repeated.append(len({name for name, _ in pairs}) < len(pairs))

    with suppress(ValueError, RecursionError):  # its reader will report it
        json.loads(body, object_pairs_hook=names)
    return any(repeated)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A receiver that gives the body once, then what comes after it."""
    given = False

    async def again() -> MutableMapping[str, Any]:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _answer(send: Send, refusal: Refusal) -> None:
    code = 1 if refusal.status >= 500 else 2
    body = json.dumps(error_body(code, refusal.message)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pace:
    """Public steps of time, in seconds, and a way to wait.

    How long an answer takes may depend on the data.  An answer therefore leaves at a multiple of a
    public step after its charge, and not before the number of steps that the slowest data takes for
    its class of question (`questions.least_steps`).  Beyond it an observer learns a number of steps
    and nothing finer.  Two data sets that differ in one row take nearly the same time: they are
    told apart only if a step ends between the two, which for a difference of a microsecond and a
    step of a quarter of a second happens once in 250,000 times.
    """

    step: float
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def steps(self, seconds: float, least: int = 1) -> int:
        """How many steps an answer takes that was ready after so many seconds."""
        return max(least, math.ceil(seconds / self.step))

    async def wait(self, start: float, least: int = 1) -> None:
        """Waits until the next step after `start`, a moment of `time.monotonic`."""
        await self.sleep(self.left(start, least))

    def left(self, start: float, least: int = 1) -> float:
        """Seconds until then."""
        elapsed = time.monotonic() - start
        return self.steps(elapsed, least) * self.step - elapsed


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
    """A queue that takes callers in turn.

    Who asks much waits behind those who ask little: of what waits, one of each caller is taken,
    then the next of each.
    """

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
