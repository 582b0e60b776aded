"""Records by the service: public names, asked with k, charged once, in the order of the rows."""

import pytest

ASKED = {"value": "salary", "p": 50, "epsilon": "1"}


def test_several_labels_are_named_and_charged_once(running) -> None:
    answer = running.ask("salaries/percentile-record", running.token(), **ASKED, k=3).json()
    assert len(set(answer["answer"])) == 3
    assert all(name.startswith("E") for name in answer["answer"])
    (charge,) = running.ledger.history("salaries")
    assert charge.epsilon == 1
    one = running.ask("salaries/percentile-record", running.token(), **ASKED).json()
    assert not one["reused"]
    assert one["answer"].startswith("E")


@pytest.mark.parametrize("k", [0, -1, "3", 1.5, 10**13])
def test_a_wrong_number_of_labels_is_refused(running, k) -> None:
    refused = running.ask("salaries/percentile-record", running.token(), **ASKED, k=k)
    assert refused.status_code in (400, 422, 500)
    assert "answer" not in refused.json()


def test_more_records_than_there_are_is_all_of_them(running) -> None:
    answer = running.ask("salaries/percentile-record", running.token(), **ASKED, k=10**6).json()
    assert len(set(answer["answer"])) == answer["parameters"]["n"] == 300


def test_values_are_not_counted(running) -> None:
    refused = running.ask("salaries/percentile", running.token(), **ASKED, k=3)
    assert refused.status_code == 400
    assert "k" in refused.json()["message"]
    assert not running.ledger.history("salaries")


def test_records_without_public_names_are_not_asked_for(running) -> None:
    """Else the answer would be the place of a row, which names nobody."""
    assert "percentile-record" not in running.configuration.sets["stays"].questions
