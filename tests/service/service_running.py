"""A service on the small made-up data of the demo, behind a real server on this machine."""

import asyncio
import json
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import uvicorn

from dampen.ledger import Ledger
from dampen.service.app import Service, application
from dampen.service.configuration import Configuration, load_configuration
from dampen.service.tokens import Tokens
from dampen.service.workflow import Workflow


@dataclass(frozen=True)
class Response:
    status_code: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Http:
    """Requests to a port of this machine."""

    port: int

    def send(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: bytes = b""
    ) -> Response:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=600)) as connection:
            connection.request(method, path, body, headers or {})
            found = connection.getresponse()
            named = {name.lower(): value for name, value in found.getheaders()}
            return Response(found.status, named, found.read())

    def get(self, path: str, headers: dict[str, str] | None = None) -> Response:
        return self.send("GET", path, headers)

    def post(self, path: str, headers: dict[str, str] | None = None, json: Any = None) -> Response:
        given = {"content-type": "application/json", **(headers or {})}
        return self.send("POST", path, given, _bytes(json))


def _bytes(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


@dataclass
class Running:
    """A service, and who asks it."""

    config: Path
    service: Service
    http: Http
    server: uvicorn.Server
    thread: threading.Thread
    log: list[dict[str, Any]] = field(default_factory=list)

    @property
    def workflow(self) -> Workflow:
        return self.service.workflow

    @property
    def configuration(self) -> Configuration:
        return self.workflow.catalogue.configuration

    @property
    def tokens(self) -> Tokens:
        return self.workflow.tokens

    @property
    def ledger(self) -> Ledger:
        return self.configuration.ledger

    def token(self, analyst: str = "ana", role: str = "analyst") -> dict[str, str]:
        """The headers of a new token."""
        return {"authorization": f"Bearer {self.tokens.create(analyst, role)}"}

    def ask(self, path: str, who: dict[str, str], **body: Any) -> Response:
        return self.http.post(f"/v1/datasets/{path}", who, body)

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join()
        self.workflow.close()


class Prompt(uvicorn.Server):
    """Sees within a hundredth of a second, not a tenth, that it should stop."""

    async def main_loop(self) -> None:
        while not self.should_exit:
            await self.on_tick(0)
            await asyncio.sleep(0.01)


def started(config: Path, made: Any = application, lifespan: Any = "off") -> Running:
    """A service for a configuration, in a thread."""
    log: list[dict[str, Any]] = []
    service = Service(Workflow.of(load_configuration(config)))
    app = made(service, log=lambda **facts: log.append(facts))
    server = Prompt(uvicorn.Config(app, port=0, log_config=None, lifespan=lifespan))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    return Running(config, service, Http(port), server, thread, log)
