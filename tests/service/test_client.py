"""The client: questions as methods, and releases as the service made them."""

import inspect
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import dampen
from dampen import InsecureEntropy, ParameterError, Release
from dampen.client import Service, ServiceError, _release
from dampen.questions import QUESTIONS, question_type
from dampen.releases.question import parameters
from dampen.service.questions import bodies

VOTES = ["tea"] * 9 + ["coffee"]


def answered(**options) -> dict:
    """What a service sends for a release."""
    made = dampen.most_frequent(VOTES, categories=["tea", "coffee"], epsilon="1/3", **options)
    return json.loads(made.to_json()) | {"question": {"kind": "most-frequent"}, "reused": True,
                                         "own": True}  # fmt: skip


def test_a_release_keeps_its_accuracy_and_all_public_facts() -> None:
    told = answered()
    made = _release(told)
    assert made.accuracy.to_dict() == told["accuracy"]
    assert made.accuracy.error is not None
    assert made.parameters == {"categories": 2, "question": told["question"], "reused": True}
    again = json.loads(made.to_json())
    for name in ("answer", "epsilon", "rho", "mechanism", "neighbours", "secure", "leaks",
                 "charge", "version", "accuracy"):  # fmt: skip
        assert again[name] == told[name]


def test_an_insecure_release_stays_insecure() -> None:
    told = answered(entropy=InsecureEntropy(1, allow_release=True))
    assert _release(told).secure is False
    assert _release(answered()).secure is True


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_signature_of_a_method_is_the_declaration(name: str) -> None:
    service = Service("https://x", "token")
    method = getattr(service, name.replace("-", "_"))
    found = list(inspect.signature(method).parameters.values())
    asked = [each for each in parameters(question_type(name)) if each.asked]
    assert {each.name for each in asked} | {"dataset", "epsilon", "rho", "budget", "reuse"} == {
        each.name for each in found
    }
    positional = [each for each in found if each.kind is each.POSITIONAL_OR_KEYWORD]
    assert positional[0].name == "dataset"
    assert len(positional) <= 2
    assert set(bodies()[name].model_fields) == {each.name for each in found} - {"dataset"}
    assert all(each.help in (method.__doc__ or "") for each in asked)
    assert method.__name__ in dir(service)


def test_a_method_sends_what_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple] = []

    def ask(self: Service, dataset: str, question: str, **options: object) -> Release:
        sent.append((dataset, question, options))
        return _release(answered())

    monkeypatch.setattr(Service, "ask", ask)
    service = Service("https://x", "token")
    service.most_frequent("visits", "diagnosis", epsilon=1, k=2)
    assert sent == [("visits", "most-frequent", {"value": "diagnosis", "epsilon": 1, "k": 2})]
    with pytest.raises(ParameterError, match="unexpected keyword argument 'kk'"):
        service.most_frequent("visits", "diagnosis", kk=2)
    with pytest.raises(ParameterError, match="missing a required argument: 'value'"):
        service.most_frequent("visits")


def test_an_answer_that_breaks_off_is_an_error_of_the_service() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_half() -> None:
            with server.accept()[0] as wire:
                wire.recv(65536)
                wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{")

        thread = threading.Thread(target=answer_half)
        thread.start()
        service = Service(f"http://127.0.0.1:{server.getsockname()[1]}", "token")
        with pytest.raises(ServiceError, match="did not answer"):
            service.budget()
        thread.join()


def test_an_unknown_question_is_not_an_attribute() -> None:
    service = Service("https://x", "token")
    with pytest.raises(AttributeError, match="Did you mean 'most-frequent'"):
        service.most_frequen  # noqa: B018
    assert not hasattr(service, "percentil_")


@contextmanager
def server(status: int = 200, body: bytes = b"[]", location: str = "") -> Iterator[list]:
    """A server that answers everything alike; gives its address, then what it was asked."""
    seen: list = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append((self.path, self.headers.get("Authorization")))
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    seen.append(f"http://127.0.0.1:{http.server_address[1]}")
    try:
        yield seen
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_gets_no_token(status: int) -> None:
    """Neither to another origin nor, since a service has none, to its own."""
    with server() as other, server(status, location=f"{other[0]}/v1/budget") as first:
        with pytest.raises(ServiceError, match="The token was not sent there"):
            Service(first[0], "secret").budget()
        assert first[1:] == [("/v1/budget", "Bearer secret")]
        assert other[1:] == []


def test_no_proxy_sees_what_is_sent_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with server() as proxy, server() as here:
        monkeypatch.setenv("http_proxy", proxy[0])
        monkeypatch.setattr("urllib.request._opener", None)  # which knows the proxies of before
        monkeypatch.delenv("no_proxy", raising=False)
        assert Service(here[0], "secret").budget() == []
        assert proxy[1:] == []


@pytest.mark.parametrize("status", [200, 400])
def test_deep_json_is_an_error_of_the_service(status: int) -> None:
    with server(status, b"[" * 10**6) as deep, pytest.raises(ServiceError):
        Service(deep[0], "secret").budget()
