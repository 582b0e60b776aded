"""A client of a service (`dampen serve`), with the methods of the library.

    import dampen
    service = dampen.connect("https://dampen.example.org", token="dampen_...")
    service.percentile("salaries", "salary", p=95, epsilon="0.5").answer

The methods are the questions of the library, by their names: `percentile`, `most_frequent` and so
on.  In the place of the data stands the name of a data set; its bounds, categories, groups and
nodes are public facts that the service knows.  Errors are the library's: `ParameterError`,
`BudgetError` (nothing was charged), `DataError` (the charge stands).

The token goes to the address that was given and nowhere else: no redirect is followed, and nothing
that is meant for this machine passes a proxy.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPException
from inspect import Parameter as SignatureParameter
from inspect import Signature
from typing import Any, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from dampen.epsilon import Epsilon
from dampen.errors import BudgetError, DampenError, DataError, ParameterError
from dampen.questions import QUESTIONS, question_type, which_question
from dampen.releases.question import Parameter, parameters
from dampen.releases.release import Release

__all__ = ["Service", "ServiceError", "connect"]

KEYWORD = SignatureParameter.KEYWORD_ONLY
POSITIONAL = SignatureParameter.POSITIONAL_OR_KEYWORD
LOCAL = {"127.0.0.1", "localhost", "::1"}
SECONDS = 600


class ServiceError(DampenError):
    """The service failed or sent an unexpected answer; `releases` shows what was charged."""


def connect(url: str, *, token: str, insecure: bool = False) -> "Service":
    """Connects to a service with a token.

    Args:
        url: such as https://dampen.example.org.
        token: as `dampen token create` printed it.
        insecure: lets the token, and answers, travel in the clear to another machine.

    Returns:
        The service, whose methods are the library's functions.

    Raises:
        ParameterError: if the address is none, or is not https:// and on another machine.
        ServiceError: if nothing answers there.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError(f"Expected an address such as https://host, got {url!r}.")
    if parts.scheme == "http" and parts.hostname not in LOCAL and not insecure:
        raise ParameterError(
            "Expected https:// for a service on another machine: the token would travel in the "
            "clear. Pass insecure=True if the network is private."
        )
    service = Service(url.rstrip("/"), token)
    service._get("/v1/me")
    return service


@dataclass(frozen=True, slots=True)
class Service:
    """A service, as one analyst sees it."""

    url: str
    token: str = field(repr=False)

    def datasets(self) -> list[dict[str, Any]]:
        """The public facts of the data sets that you may ask about."""
        return list(self._get("/v1/datasets"))

    def budget(self) -> list[dict[str, Any]]:
        """The remainder of every budget that you may use."""
        return list(self._get("/v1/budget"))

    def releases(self, *, limit: int = 50, skip: int = 0) -> list[dict[str, Any]]:
        """Your own releases, newest first."""
        return list(self._get(f"/v1/releases?limit={limit:d}&skip={skip:d}"))

    def ask(self, dataset: str, question: str, **options: Any) -> Release:
        """The answer to a question, such as "most-frequent", by its name.

        Raises:
            ParameterError: if a parameter is wrong; nothing was charged.
            BudgetError: if the budget refuses; nothing was charged.
            DataError: if the data set cannot answer; the charge stands.
        """
        return _release(self._post(_path(dataset, question), options))

    def expect(self, dataset: str, question: str, **options: Any) -> dict[str, Any]:
        """What a question, such as "percentile", would cost and how good it would be; free."""
        return self._post(f"{_path(dataset, question)}/expect", options)

    def sql(self, statement: str, **options: Any) -> Release:
        """The answer to one SELECT statement; epsilon, rho, delta, budget and reuse as in `ask`.

        Raises:
            ParameterError: if no private question answers the statement; nothing was charged.
            BudgetError: if the budget refuses; nothing was charged.
        """
        return _release(self._post("/v1/sql", {"statement": statement, **options}))

    def __getattr__(self, name: str) -> Callable[..., Release]:
        """A question as a method: `most_frequent` for "most-frequent"."""
        question = name.replace("_", "-")
        if question not in QUESTIONS:
            raise AttributeError(
                f"A service has no question {name!r}.{which_question(question, QUESTIONS)}"
            )
        return _method(self, question)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *(name.replace("-", "_") for name in QUESTIONS)]

    def _get(self, path: str) -> Any:
        return self._send(Request(self.url + path, headers=self._headers()))

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        given = {key: _plain(value) for key, value in body.items() if value is not None}
        headers = self._headers() | {"Content-Type": "application/json"}
        told: dict[str, Any] = self._send(
            Request(self.url + path, json.dumps(given).encode(), headers, method="POST")
        )
        return told

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def _send(self, request: Request) -> Any:
        try:
            with _opener(self.url).open(request, timeout=SECONDS) as response:
                return json.load(response)
        except HTTPError as error:
            with error:
                if 300 <= error.code < 400:
                    raise _redirected(self.url, error.headers.get("Location", "")) from None
                _fail(error.code, error.read())
        except RecursionError:
            raise ServiceError(
                f"The service at {self.url} sent JSON that is nested too deeply."
            ) from None
        except (URLError, HTTPException, OSError, ValueError) as error:
            why = getattr(error, "reason", None) or type(error).__name__
            raise ServiceError(f"The service at {self.url} did not answer: {why}.") from None


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects, because urllib would send the token to the new address."""

    def redirect_request(self, *_: Any) -> None:
        return None


@cache
def _opener(url: str) -> OpenerDirector:
    here = [ProxyHandler({})] if urlsplit(url).hostname in LOCAL else []
    return build_opener(_NoRedirects, *here)


def _redirected(url: str, location: str) -> ServiceError:
    return ServiceError(
        f"The service at {url} redirects to {location[:200]!r}. The token was not sent there. If "
        "the service has moved, connect to that address."
    )


def _path(dataset: str, question: str) -> str:
    return f"/v1/datasets/{quote(dataset, safe='')}/{quote(question, safe='')}"


def _plain(value: Any) -> Any:
    """Exact numbers travel as text."""
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, Sequence):
        return [_plain(each) for each in value]
    return str(value)


def _fail(status: int, body: bytes) -> NoReturn:
    try:
        told = json.loads(body)
        code = told["exit_code"]
        message = str(told["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ServiceError(f"The service answered with status {status}.") from None
    if code == 3:
        raise DataError(message)
    if code != 2:
        raise ServiceError(message)
    raise (BudgetError if status == 409 else ParameterError)(message)


def _release(told: Mapping[str, Any]) -> Release:
    more = {name: told[name] for name in ("question", "reused")}
    return Release.from_json(json.dumps({**told, "parameters": {**told["parameters"], **more}}))


def _method(service: Service, question: str) -> Callable[..., Release]:
    """A question as a function: the name of the data set, the column if there is one, options."""
    signature = _signature(question)

    def ask(*given: Any, **options: Any) -> Release:
        try:
            bound = signature.bind(*given, **options)
        except TypeError as error:
            names = ", ".join(signature.parameters)
            raise ParameterError(
                f"{ask.__name__}: {error}. It takes {names}. Ranges and other facts are stated by "
                "the curator."
            ) from None
        named = bound.arguments
        return service.ask(named.pop("dataset"), question, **named)

    declared = question_type(question)
    ask.__name__ = ask.__qualname__ = question.replace("-", "_")
    ask.__doc__ = f"{declared.__doc__}\n\n{_described(question)}"
    ask.__signature__ = signature  # type: ignore[attr-defined]
    return ask


@cache
def _signature(question: str) -> Signature:
    asked = [each for each in parameters(question_type(question)) if each.asked]
    first = next((each for each in asked if each.kind == "column" and each.required), None)
    positional = [SignatureParameter("dataset", POSITIONAL, annotation=str)]
    if first is not None:
        positional.append(SignatureParameter(first.name, POSITIONAL, annotation=str))
    named = [_named(each) for each in asked if each is not first]
    price = {"epsilon": Epsilon | None, "rho": Epsilon | None, "budget": str | None}
    paying = [
        SignatureParameter(name, KEYWORD, default=None, annotation=kind)
        for name, kind in price.items()
    ]
    reuse = SignatureParameter("reuse", KEYWORD, default=True, annotation=bool)
    return Signature([*positional, *named, *paying, reuse], return_annotation=Release)


def _named(each: Parameter) -> SignatureParameter:
    default = SignatureParameter.empty if each.required else each.default
    return SignatureParameter(each.name, KEYWORD, default=default)


def _described(question: str) -> str:
    """The parameters and their help, as a docstring has them."""
    asked = [each for each in parameters(question_type(question)) if each.asked]
    lines = [f"    {each.name}: {each.help}" for each in asked]
    return "\n".join(["Args:", "    dataset: The name of the data set.", *lines])
