"""Questions as measurements of OpenDP: an odometer pays for them."""

import math
from fractions import Fraction

import pytest

from dampen.errors import ParameterError
from dampen.opendp import measurement

dp = pytest.importorskip("opendp.prelude")
TABLE = {"ward": ["A", "B", "B"] * 100, "days": [3, 7, 8] * 100}
FACTS = {"by": "ward", "groups": ["A", "B"], "lower": 0, "upper": 90, "step": 1}
dp.enable_features("contrib", "honest-but-curious")


def _questions() -> dict[str, dp.Measurement]:
    return {
        "top-groups": measurement("top-groups", value="days", **FACTS, epsilon="1"),
        "percentile": measurement(
            "percentile", value="days", p=[25, 50, 75], lower=0, upper=90, step=1, epsilon="1"
        ),
        "keys": measurement("keys", value="ward", epsilon="1", delta="1e-6"),
    }


def test_answers() -> None:
    asked = _questions()
    assert asked["top-groups"](TABLE) == "B"
    assert len(asked["percentile"](TABLE)) == 3
    assert set(asked["keys"](TABLE)) == {"A", "B"}


@pytest.mark.parametrize("rows", [0, 1, 2, 5])
def test_the_privacy_map_is_that_of_groups_of_rows(rows: int) -> None:
    asked = _questions()
    assert asked["top-groups"].map(rows) == rows
    epsilon, delta = asked["keys"].map(rows)
    exact = Fraction(1, 10**6) * sum(Fraction(math.exp(i)) for i in range(rows))
    assert epsilon == rows
    assert float(exact) <= delta <= float(exact) * (1 + 1e-9)


def test_a_filter_of_opendp_pays_and_refuses() -> None:
    one = _questions()["top-groups"]
    odometer = dp.c.make_fully_adaptive_composition(
        one.input_domain, one.input_metric, dp.max_divergence()
    )
    paying = dp.c.make_privacy_filter(odometer, d_in=1, d_out=2.0)(TABLE)
    assert [paying(one), paying(one)] == ["B", "B"]
    with pytest.raises(dp.OpenDPException, match=r"budget|exceed"):
        paying(one)


def test_graphs_have_no_distance_in_opendp() -> None:
    with pytest.raises(ParameterError, match="about the rows of a table"):
        measurement("top-k", n=10, k=2, epsilon="1")


def test_mistakes_are_found_before_any_table() -> None:
    with pytest.raises(ParameterError, match="needs by="):
        measurement("top-groups", value="days", lower=0, upper=9, epsilon="1")
