"""The short way of a question that is well put: past the framework, which takes longer than it.

All else goes the long way, through FastAPI: another path, and a body that is not as described.
There questions are described too, and there one learns what is wrong with a body.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from dampen.errors import DampenError
from dampen.service.middleware import App, Receive, Scope, Send, replayed
from dampen.service.requests import BODIES, Body
from dampen.service.stages import Answer
from dampen.service.tokens import Token

__all__ = ["Door"]


@dataclass(frozen=True, slots=True)
class Door:
    """An application behind the door.

    Attributes:
        app: the long way.
        routes: that of each kind of question, for the log.
        caller: who asks, or a `Refusal`.
        ask: the answer to a question.
        told: the status and the body of an error.
    """

    app: App
    routes: Mapping[str, Any]
    caller: Callable[[Scope], Token]
    ask: "Callable[[Token, str, str, Body], Any]"
    told: Callable[[DampenError], tuple[int, dict[str, Any]]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["path"].split("/") if scope.get("method") == "POST" else ():
            case ["", "v1", "datasets", name, kind] if name and kind in BODIES:
                body = (await receive()).get("body", b"")
                try:
                    asked = BODIES[kind].model_validate_json(body)
                except ValidationError:
                    await self.app(scope, replayed(body, receive), send)
                else:
                    scope["route"] = self.routes[kind]
                    await self._answer(scope, name, kind, asked, send)
            case _:
                await self.app(scope, receive, send)

    async def _answer(self, scope: Scope, name: str, kind: str, asked: Body, send: Send) -> None:
        status = 200
        try:
            answer: Answer = await self.ask(self.caller(scope), name, kind, asked)
            text = answer.shown()
        except DampenError as error:
            status, told = self.told(error)
            text = json.dumps(told)
        content = text.encode()
        length = b"%d" % len(content)
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})
