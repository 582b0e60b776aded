"""Several labels by the service: asked with k, charged once, in the order of the rows."""

import numpy as np

from dampen.serve.bodies import Percentile


def test_k_is_part_of_the_question(running) -> None:
    body = Percentile(column="salary", p=50, epsilon="1", release="label", k=3).options()
    assert body["k"] == 3
    wrong = {"column": "salary", "p": 50, "epsilon": 1, "k": 3}
    refused = running.ask("salaries/percentile", running.token(), **wrong)
    assert refused.status_code == 400
    assert "no k" in refused.json()["message"]
    assert len(running.ledger.history("salaries")) == 0


def test_k_must_be_a_whole_number(running) -> None:
    for k in (0, -1, "3", 1.5):
        asked = {"column": "salary", "p": 50, "epsilon": 1, "release": "label", "k": k}
        refused = running.ask("salaries/percentile", running.token(), **asked)
        assert refused.status_code in (400, 422)
    assert np.size(running.ledger.history("salaries")) == 0
