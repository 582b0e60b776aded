"""Several labels by the service: asked with k, charged once, in the order of the rows."""

import pytest

ASKED = {"column": "salary", "p": 50, "epsilon": "1", "release": "label"}


def test_several_labels_are_named_and_charged_once(running) -> None:
    answer = running.ask("salaries/percentile", running.token(), **ASKED, k=3).json()
    assert len(set(answer["answer"])) == 3
    assert all(name.startswith("E") for name in answer["answer"])
    (charge,) = running.ledger.history("salaries")
    assert charge.epsilon == 1
    one = running.ask("salaries/percentile", running.token(), **ASKED).json()
    assert not one["reused"]
    assert one["answer"].startswith("E")


@pytest.mark.parametrize("k", [0, -1, "3", 1.5, 10**6])
def test_a_wrong_number_of_labels_is_refused(running, k) -> None:
    refused = running.ask("salaries/percentile", running.token(), **ASKED, k=k)
    assert refused.status_code in (400, 422, 500)
    assert "answer" not in refused.json()


def test_values_are_not_counted(running) -> None:
    refused = running.ask(
        "salaries/percentile", running.token(), column="salary", p=50, epsilon=1, k=3
    )
    assert refused.status_code == 400
    assert "no k" in refused.json()["message"]
    assert not running.ledger.history("salaries")
