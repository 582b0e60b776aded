"""The client: questions as methods, and releases as the service made them."""

import inspect
import json
import socket
import threading

import pytest

import dampen
from dampen import InsecureEntropy, ParameterError, Release
from dampen.client import Service, ServiceError, _release
from dampen.questions import QUESTIONS, question_type
from dampen.releases.question import parameters
from dampen.service.requests import bodies

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


def test_an_unknown_question_is_no_attribute() -> None:
    service = Service("https://x", "token")
    with pytest.raises(AttributeError, match="Did you mean 'most-frequent'"):
        service.most_frequen  # noqa: B018
    assert not hasattr(service, "percentil_")
