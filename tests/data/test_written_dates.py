"""Dates that are text: what counts as one, and that public facts make conditions read it so."""

from datetime import date, datetime, timedelta

import numpy as np
import pytest

import dampen
from dampen.data.columns import as_bound, as_measured

DAYS = [date(2024, 1, 5) + timedelta(days=37 * i) for i in range(40)]
EXACT = {"epsilon": 2000}
FACTS = {"columns": {"in": dampen.number(dates=True), "out": dampen.number(dates=True)}}


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("31.12.2024", datetime(2024, 12, 31)),
        ("1.2.2024", datetime(2024, 2, 1)),
        (" 01.02.2024 ", datetime(2024, 2, 1)),
        ("01.02.2024 6:30", datetime(2024, 2, 1, 6, 30)),
        ("01.02.2024 06:30:15", datetime(2024, 2, 1, 6, 30, 15)),
    ],
)
def test_a_date_with_dots_begins_with_the_day(text, moment):
    days = (moment - datetime(1970, 1, 1)) / timedelta(days=1)
    assert as_measured([text], "time") == pytest.approx([days], abs=1e-9)
    assert as_measured([text], "date") == [int(days)]
    assert float(as_bound(text)) == pytest.approx(days, abs=1e-9)


@pytest.mark.parametrize(
    "text",
    ["31.02.2024", "12.31.2024", "0.1.2024", "1.1.0000", "1.1.24", "1/2/2024", "1.2.2024 24:00",
     "1.2.2024x", "\u0661.1.2024", "1.234.567", "n/a", "-", ""],
)  # fmt: skip
def test_text_of_other_forms_counts_as_missing(text):
    assert np.isnan(as_measured([text], "date")).all()


@pytest.fixture(params=["file", "lists", "frame", "file in cp1252"])
def stays(request, tmp_path):
    """Stays of four days, once for each day, then a row without dates."""
    came = [f"{day:%d.%m.%Y}" for day in DAYS] + ["n/a"]
    left = [f"{day + timedelta(days=4):%Y-%m-%d}" for day in DAYS] + ["31.02.2024"]
    if request.param == "lists":
        return dampen.dataset({"in": came, "out": left}, **FACTS)
    if request.param == "frame":
        pandas = pytest.importorskip("pandas")
        return dampen.dataset(pandas.DataFrame({"in": came, "out": left}), **FACTS)
    path = tmp_path / "stays.csv"
    lines = ["in;out", *map(";".join, zip(came, left, strict=True))]
    path.write_text("\n".join(lines))
    encoding = {"encoding": "cp1252"} if "cp1252" in request.param else {}
    return dampen.dataset(path, **FACTS, **encoding)


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ("`in` >= '2025-06-01'", lambda day: day >= date(2025, 6, 1)),
        ("`in` >= '01.06.2025'", lambda day: day >= date(2025, 6, 1)),
        ("'2024-12-31' < `in` < '1.10.2025'", lambda day: day.year == 2025 and day.month <= 9),
        ("`in` in ['05.01.2024', '2024-02-11']", lambda day: day <= date(2024, 2, 11)),
        ("`out` - `in` == 4", lambda day: True),
        ("`in` is not missing", lambda day: True),
    ],
)  # fmt: skip
def test_conditions_read_what_facts_declare_as_dates(stays, where, holds):
    """The text '06.11.2025' comes before '2025-06-01'; the date does not."""
    assert stays.count(where=where, **EXACT).answer == sum(map(holds, DAYS))


def test_formulas_of_dates_are_days(stays):
    stayed = stays.mean("`out` - `in`", lower=0, upper=10, **EXACT)
    assert stayed.answer == pytest.approx(4, abs=0.01)
    assert DAYS[18] <= stays.percentile("in", p=50, **EXACT).answer <= DAYS[21]


def test_a_literal_of_another_form_is_refused_before_the_charge(stays):
    with pytest.raises(dampen.ParameterError, match="a date, such as"):
        stays.count(where="`in` >= '31.02.2024'", **EXACT)


def test_labels_of_a_column_of_dates_stay_text(stays):
    first = f"{DAYS[0]:%d.%m.%Y}"
    counted = stays.histogram("in", categories=[first], where="`in` < '2030-01-01'", **EXACT)
    assert counted.answer == {first: 1}
