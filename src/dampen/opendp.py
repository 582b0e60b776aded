"""Questions as measurements of OpenDP, so that an odometer or filter of OpenDP pays for them.

    import dampen.opendp, opendp.prelude as dp
    dp.enable_features("contrib", "honest-but-curious")
    top = dampen.opendp.measurement(
        "top-groups", value="days", by="ward", groups=["A", "B"], lower=0, upper=90, epsilon="0.3"
    )
    top(frame), top.map(1)

A measurement takes a table (whatever `dampen.data` opens) from the space of tables under the
symmetric distance, which counts added and removed rows, and gives the answer of one question.

**Privacy map.**  A question that protects one added or removed row with (ε, δ) protects k of them,
by group privacy, with kε and δ (1 + e^ε + ... + e^((k-1)ε)).  Numbers are rounded up.  Without a δ
the measure is OpenDP's max divergence, with one its approximate form.

Needs the extra `dampen[opendp]`.  OpenDP lets you use measurements that it has not proved itself
after `enable_features("contrib", "honest-but-curious")`; that step is yours.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import exp, inf, nextafter
from typing import TYPE_CHECKING, Any

from dampen.core.selection import Neighbours
from dampen.datasets import dataset
from dampen.epsilon import Epsilon, exact
from dampen.errors import ParameterError
from dampen.schema import Column

if TYPE_CHECKING:
    from opendp.mod import Measurement

__all__ = ["measurement"]

DOMAIN = "tables of dampen"


def measurement(
    question: str,
    *,
    epsilon: Epsilon,
    columns: "dict[str, Column | Sequence[Any]] | None" = None,
    **parameters: Any,
) -> "Measurement":
    """One question as a measurement of OpenDP.

    Args:
        question: its name, such as "top-groups", "percentile" or "keys".
        epsilon: the privacy parameter for one row.
        columns: public facts of columns, as for `dampen.dataset`.
        **parameters: of the question.

    Returns:
        A measurement whose function gives the answer and whose privacy map follows ε and δ.

    Raises:
        ParameterError: if a parameter is wrong, OpenDP is missing, or it asks about a graph.
    """
    dp = _opendp()
    asked = dataset(None, columns=columns)
    stated = asked.question(question, **parameters)
    if stated.data != "table" or asked.relation is not Neighbours.ADD_REMOVE_ROW:
        raise ParameterError(
            f"OpenDP has no distance for {question!r} here. Expected a question about the rows of "
            "a table."
        )
    delta = exact(parameters["delta"], "delta") if parameters.get("delta") else Fraction(0)
    spent = exact(epsilon)

    def ask(table: Any) -> Any:
        return dataset(table, columns=columns).ask(question, epsilon=epsilon, **parameters).answer

    def loss(rows: int) -> Any:
        return _loss(spent, delta, int(rows))

    measure = dp.max_divergence() if not delta else dp.approximate(dp.max_divergence())
    space = dp.user_domain(DOMAIN, lambda _: True), dp.symmetric_distance()
    return dp.m.make_user_measurement(*space, measure, ask, loss)


def _loss(epsilon: Fraction, delta: Fraction, rows: int) -> Any:
    """What the group of that many rows loses, rounded up."""
    total = _up(rows * epsilon)
    if not delta:
        return total
    growth = sum(exp(i * float(epsilon)) for i in range(rows))
    return total, min(1.0, _up(Fraction(float(delta) * growth) * (1 + Fraction(1, 2**40))))


def _up(number: Fraction) -> float:
    """The least float that is not below."""
    found = float(number)
    return found if Fraction(found) >= number else nextafter(found, inf)


def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError:
        raise ParameterError('Expected the package opendp: pip install "dampen[opendp]".') from None
    return dp
