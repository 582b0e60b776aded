"""Starting and stopping a service.

A stop (SIGTERM, Ctrl-C) takes no new questions, finishes those that were begun, and ends; what was
charged and could not be finished within a minute stands in the ledger.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from dampen.service.app import Service, application
from dampen.service.configuration import load_configuration
from dampen.service.middleware import Middleware
from dampen.service.workflow import Workflow

__all__ = ["check", "run"]

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
    return Workflow.of(load_configuration(path)).check()


def run(
    path: str | Path,
    *,
    host: str,
    port: int,
    say: Callable[[str, str | None], None],
    made: Callable[[Service], Middleware] = application,
) -> None:
    """Serves until it is told to stop.

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
    """Says where it listens once it does, and ends in peace when it is told to stop."""

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
