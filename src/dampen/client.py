"""Asking a service (`dampen serve`) as one asks the library; the data stays where it is.

    import dampen
    service = dampen.connect("https://dampen.example.org", token="dampen_...")
    service.percentile("salaries", "salary", p=95, epsilon="0.5").answer

The methods have the names of the library's functions.  In the place of the data stands the name of
a data set, and its bounds, categories, groups and nodes are public facts that the service knows.
Errors are the library's: `ParameterError`, `BudgetError` (nothing was charged), `DataError` (the
charge stands).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from dampen.core.selection import Neighbours
from dampen.epsilon import Epsilon
from dampen.errors import BudgetError, DampenError, DataError, ParameterError
from dampen.releases.release import Release

__all__ = ["Service", "ServiceError", "connect"]

LOCAL = {"127.0.0.1", "localhost", "::1"}
SECONDS = 600


class ServiceError(DampenError):
    """The service did not answer as it should; `releases` shows whether something was charged."""


def connect(url: str, *, token: str, insecure: bool = False) -> "Service":
    """A service at an address, for the holder of a token.

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
    """A service, in the hands of one analyst."""

    url: str
    token: str = field(repr=False)

    def datasets(self) -> list[dict[str, Any]]:
        """The public facts of the data sets that one may ask."""
        return list(self._get("/v1/datasets"))

    def budget(self) -> list[dict[str, Any]]:
        """What is left of every budget that one may use."""
        return list(self._get("/v1/budget"))

    def releases(self, *, limit: int = 50, skip: int = 0) -> list[dict[str, Any]]:
        """One's own releases, newest first."""
        return list(self._get(f"/v1/releases?limit={limit:d}&skip={skip:d}"))

    def expect(self, dataset: str, question: str, **options: Any) -> dict[str, Any]:
        """What a question, such as "percentile", would cost and how good it would be; free."""
        return self._post(f"{_path(dataset, question)}/expect", options)

    def percentile(
        self,
        dataset: str,
        column: str,
        *,
        p: Any,
        epsilon: Epsilon | None = None,
        release: str = "value",
        **options: Any,
    ) -> Release:
        """What value, or whose record, is at a percentile: see `dampen.percentile`."""
        asked = {"column": column, "p": p, "epsilon": epsilon, "release": release, **options}
        return self._ask(dataset, "percentile", asked)

    def most_frequent(
        self, dataset: str, column: str, *, epsilon: Epsilon | None = None, **options: Any
    ) -> Release:
        """The most frequent category, or k of them: see `dampen.most_frequent`."""
        asked = {"column": column, "epsilon": epsilon, **options}
        return self._ask(dataset, "most-frequent", asked)

    def top_groups(
        self, dataset: str, value: str, *, by: str, epsilon: Epsilon | None = None, **options: Any
    ) -> Release:
        """The group, or k groups, with the largest statistic: see `dampen.top_groups`."""
        asked = {"value": value, "by": by, "epsilon": epsilon, **options}
        return self._ask(dataset, "top-groups", asked)

    def top_k(self, dataset: str, *, epsilon: Epsilon | None = None, **options: Any) -> Release:
        """The most influential nodes: see `dampen.top_k`."""
        return self._ask(dataset, "top-k", {"epsilon": epsilon, **options})

    def tree(
        self, dataset: str, *, target: str, epsilon: Epsilon | None = None, **options: Any
    ) -> Release:
        """A decision tree; `dampen.TreeClassifier.from_json(release.to_json())` predicts."""
        return self._ask(dataset, "tree", {"target": target, "epsilon": epsilon, **options})

    def _ask(self, dataset: str, question: str, options: Mapping[str, Any]) -> Release:
        return _release(self._post(_path(dataset, question), options))

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
            with urlopen(request, timeout=SECONDS) as response:
                return json.load(response)
        except HTTPError as error:
            with error:
                _fail(error.code, error.read())
        except (URLError, TimeoutError, OSError, ValueError) as error:
            why = getattr(error, "reason", None) or type(error).__name__
            raise ServiceError(f"The service at {self.url} did not answer: {why}.") from None


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
    except (ValueError, KeyError, TypeError):
        raise ServiceError(f"The service answered with status {status}.") from None
    if code == 3:
        raise DataError(message)
    if code != 2:
        raise ServiceError(message)
    raise (BudgetError if status == 409 else ParameterError)(message)


def _release(told: Mapping[str, Any]) -> Release:
    rho = told.get("rho")
    return Release(
        told["answer"],
        Fraction(told["epsilon"]),
        told["mechanism"],
        Neighbours(told["neighbours"]),
        told["parameters"] | {"question": told["question"], "reused": told["reused"]},
        told["secure"],
        tuple(told["leaks"]),
        told["charge"],
        told["version"],
        None if rho is None else Fraction(rho.lstrip("<>")),
    )
