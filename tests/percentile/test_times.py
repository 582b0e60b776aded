"""Dates, times, durations, truth values, decimals: drawn as numbers, answered as themselves."""

import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import ceil, floor

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dampen
from dampen.cli.main import run
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import Neighbours
from dampen.data.columns import as_bound, as_measured, in_own_type
from dampen.errors import ParameterError
from dampen.questions.percentile.unbounded import DAYS, Column, Moments, RankDraw, Runs
from dampen.releases.numbers import ShiftLaw, TypedLaw, likely
from dampen.schema.grammar import format_schema, parse_schema
from dampen.testing import Universe
from dampen.testing.checks import law_loss

rng = np.random.default_rng(11)
N = 4000
MOMENTS = np.datetime64("2015-01-01T00:00:00") + rng.integers(0, 2000 * 86400, N).astype("m8[s]")
DATES = [each.astype("M8[D]").item() for each in MOMENTS]
MIDDLE = sorted(DATES)[N // 2]
WARDS = rng.choice(["A", "B"], N)
FRAME = pd.DataFrame({"day": DATES, "moment": MOMENTS, "ward": WARDS})
NEAR = timedelta(days=60)
"""At ε = 5 an answer this far off, over 100 ranks, has a probability below 1e-60."""


def median(data, value=None, **options):
    return dampen.percentile(data, value, p=50, epsilon=5, **options).answer


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (MOMENTS, datetime),
        (MOMENTS.astype("M8[D]"), date),
        (pd.Series(MOMENTS), datetime),
        (pd.Series(MOMENTS).dt.tz_localize("UTC"), datetime),
        (pl.Series(DATES), date),
        (pl.Series(MOMENTS.astype("M8[us]")), datetime),
        (pa.array(DATES), date),
        (pa.array(MOMENTS), datetime),
        (pd.Series(DATES, dtype="date32[day][pyarrow]"), date),
    ],
    ids=str,
)
def test_a_declared_type_is_enough(column, kind):
    answer = median(column)
    assert type(answer) is kind
    assert abs(pd.Timestamp(answer) - pd.Timestamp(MIDDLE)) < NEAR


def test_files_and_engines(tmp_path):
    FRAME.to_parquet(tmp_path / "stays.parquet")
    FRAME.to_csv(tmp_path / "stays.csv", index=False)
    found = [
        median(tmp_path / "stays.parquet", "day"),
        median(tmp_path / "stays.csv", "day", lower="1990-01-01"),
        median(DATES, lower=date(1990, 1, 1)),
        median(FRAME, "day", upper=np.datetime64("2040-01-01")),
    ]
    with duckdb.connect() as connection:
        found.append(median(connection.sql("select day::date as day from FRAME"), "day"))
        found.append(median(connection.sql("select moment from FRAME"), "moment").date())
    assert {type(each) for each in found} == {date}
    assert all(abs(each - MIDDLE) < NEAR for each in found)


def test_bounds_steps_groups_and_conditions():
    on_grid = median(FRAME, "moment", lower="2010-01-01", upper="2030-01-01",
                     step=timedelta(hours=12))  # fmt: skip
    assert on_grid.hour in (0, 12)
    assert abs(on_grid.date() - MIDDLE) < NEAR
    each = median(FRAME, "moment", by="ward", groups=["A", "B"])
    assert {type(value) for value in each.values()} == {datetime}
    late = median(FRAME, "moment", where="moment >= '2019-01-01'")
    assert late.year >= 2019
    quartiles = dampen.percentile(FRAME, "moment", p="deciles", epsilon=5).answer
    assert quartiles == sorted(quartiles)
    with pytest.raises(ParameterError, match="beside step="):
        median(FRAME, "moment", step=timedelta(days=1))


def test_durations_and_truth_values():
    lengths = pd.Series(pd.to_timedelta(rng.gamma(2, 3000, N).round(), "s"))
    assert abs(median(lengths) - lengths.median()) < timedelta(minutes=10)
    assert median(rng.random(N) < 0.8) is True


def test_means_and_totals_have_the_type_of_the_column():
    lengths = pd.Series(pd.to_timedelta(rng.gamma(2, 3000, N).round(), "s"))
    ends = {"lower": 0, "upper": timedelta(hours=10)}
    mean = dampen.mean(lengths, **ends, epsilon=5)
    low, high = mean.interval()
    assert low < mean.answer < high
    assert low < lengths.mean() < high
    total = dampen.total(lengths, **ends, epsilon=5)
    assert abs(total.answer - lengths.sum()) < timedelta(hours=100)
    assert "seconds" in total.accuracy.sentence
    assert "timedelta" not in str(total)
    day = dampen.mean(FRAME, "moment", epsilon=5)
    assert abs(day.answer - FRAME.moment.mean()) < NEAR
    assert all(isinstance(end, datetime) for end in day.interval())
    by_ward = dampen.mean(FRAME, "moment", by="ward", groups=["A", "B"], epsilon=5)
    assert {type(each) for each in by_ward.answer.values()} == {datetime}
    assert dampen.Release.from_json(by_ward.to_json()).interval() == by_ward.interval()
    with pytest.raises(ParameterError, match="which have no total"):
        dampen.total(FRAME, "moment", epsilon=1)
    with pytest.raises(ParameterError, match="as dates"):
        dampen.mean(FRAME, "moment", lower=0, upper=10, epsilon=1)


@pytest.mark.parametrize(("measure", "finest"), [("time", 86_400), ("duration", 10**6)])
def test_intervals_of_times_are_rounded_outwards(measure, finest):
    """The ends lie within 1/3 of the finest step, on either side."""
    noise = ShiftLaw(Fraction(1), Fraction(1, 3 * finest))
    low, high = noise.interval(Fraction(9), Fraction(1, 20))
    typed = TypedLaw(noise, measure).interval(Fraction(9), Fraction(1, 20))
    ends = [round(Fraction(str(as_bound(end))) * finest) for end in typed]
    assert ends == [floor(Fraction(low) * finest), ceil(Fraction(high) * finest)]


def test_intervals_of_days_are_rounded_outwards():
    noise = TypedLaw(ShiftLaw(Fraction(1), Fraction(1, 4)), "date")
    low, high = noise.interval(10.5, Fraction(1, 20))
    steps = likely(Fraction(1), Fraction(1, 20)) / 4
    assert (low - date(1970, 1, 1)).days == floor(10.5 - steps)
    assert (high - date(1970, 1, 1)).days == ceil(10.5 + steps)


def test_kind_says_what_an_undeclared_column_holds(tmp_path):
    """Dates in Python's lists and in text files, in every question about numbers."""
    late = [
        day + timedelta(days=900 * (ward == "B")) for day, ward in zip(DATES, WARDS, strict=True)
    ]
    table = {"day": late, "ward": WARDS}
    by = {"by": "ward", "groups": ["A", "B"], "epsilon": 5}
    assert dampen.top_groups(table, "day", kind="date", **by).answer == "B"
    assert dampen.groups_above(table, "day", threshold="2019-06-01", **by).answer == ["B"]
    assert type(dampen.mean(table, "day", kind="date", epsilon=5).answer) is date
    assert type(dampen.mean(table, "day", lower="1990-01-01", epsilon=5).answer) is date
    half = dampen.histogram(table, "day", bins=["1990-01-01", "2019-06-01", "2040-01-01"], **by)
    assert list(half.answer["A"]) == ["1990-01-01 to 2019-06-01", "2019-06-01 to 2040-01-01"]
    assert half.answer["B"]["2019-06-01 to 2040-01-01"] > N / 4
    ends = {"lower": "2010-01-01", "upper": "2030-01-01"}
    measured = dampen.top_groups(table, "day", measure="statistic", **ends, **by)
    assert {type(each) for each in measured.numbers.values()} == {date}
    path = tmp_path / "late.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    assert dampen.top_groups(path, "day", kind="date", **by).answer == "B"
    for asked in (dampen.mean, dampen.total):
        lacking = asked(table, "day", epsilon=1)
        assert (lacking.answer, "kind='date'" in lacking.accuracy.sentence) == (None, True)
        typed = asked(pd.DataFrame({"day": [1.5, 2.5]}), "day", epsilon=1)
        assert (typed.answer, "kind=" in typed.accuracy.sentence) == (None, False)
        with pytest.raises(ParameterError, match="Did you mean 'date'"):
            asked(table, "day", kind="dates", epsilon=1)


def test_groups_are_compared_by_dates():
    stays = FRAME.assign(moment=FRAME.moment + 900 * (FRAME.ward == "B") * pd.Timedelta("1D"))
    asked = {"by": "ward", "groups": ["A", "B"], "epsilon": 5}
    assert dampen.top_groups(stays, "moment", **asked).answer == "B"
    assert dampen.groups_above(stays, "moment", threshold="2019-06-01", **asked).answer == ["B"]
    assert dampen.groups_above(
        stays, "moment", threshold=date(2019, 6, 1), lower="2010-01-01", upper="2030-01-01",
        step=timedelta(days=1), **asked,
    ).answer == ["B"]  # fmt: skip


def test_data_sets_state_dates(tmp_path):
    FRAME.to_csv(tmp_path / "stays.csv", index=False)
    facts = {"day": dampen.number(date(2010, 1, 1), date(2030, 1, 1)), "moment": dampen.number()}
    schema = dampen.dataset(tmp_path / "stays.csv", columns=facts)
    assert abs(schema.percentile("day", p=50, epsilon=5).answer - MIDDLE) < NEAR
    open_range = {"day": dampen.number(dates=True)}
    answer = dampen.dataset(tmp_path / "stays.csv", columns=open_range).percentile(
        "day", p=50, epsilon=5
    )
    assert type(answer.answer) is date
    text = '[[data]]\nname = "stays"\n[data.columns]\nday = { lower = 2010-01-01 }\n'
    read = parse_schema(text)
    assert read.fact("lower", "day") == date(2010, 1, 1)
    assert parse_schema(format_schema(read, name="stays")).columns == read.columns


def test_the_command_line_takes_dates(tmp_path, capsys):
    FRAME.to_csv(tmp_path / "stays.csv", index=False)
    asked = ["percentile", str(tmp_path / "stays.csv"), "--value", "day", "-p", "50"]
    assert run([*asked, "--lower", "2010-01-01", "--epsilon", "5"]) == 0
    assert capsys.readouterr().out.split()[1].startswith("201")


@pytest.mark.parametrize("measure", ["date", "time", "duration", "truth"])
def test_every_cell_has_a_number_or_none(measure):
    odd = [None, "", "x", "2020-13-45", 5, 1.5, object(), [1], b"2020-01-01", float("nan"), pd.NaT,
           "9999-12-31", date.max, timedelta.max, True, "2020-01-01T10:00Z"]  # fmt: skip
    assert len(as_measured(odd, measure)) == len(odd)
    assert np.isnan(as_measured(odd[:11], measure)).all()
    assert np.isnan(as_measured(np.array(["NaT"], "M8[us]"), "time")).all()
    assert np.isnan(as_measured(np.array([1.0]), measure)).all()


@pytest.mark.parametrize("bound", ["2020-01-31", date(2020, 1, 31), timedelta(days=1)])
def test_dates_as_ends_of_declared_numbers_are_refused(bound):
    frame = pd.DataFrame({"days": [1.0, 2.0] * 50, "ward": ["A", "B"] * 50})
    told = "'days' holds numbers. State its ends and thresholds as numbers."
    with pytest.raises(ParameterError, match=told):
        dampen.percentile(frame, "days", p=50, lower=bound, epsilon=1)
    with pytest.raises(ParameterError, match=told):
        dampen.groups_above(frame, "days", by="ward", groups=["A", "B"], threshold=bound, epsilon=1)


def test_dates_and_durations_are_not_confused():
    spans = np.arange(100).astype("m8[s]")
    with pytest.raises(ParameterError, match=r"holds durations\. State .* in seconds, or as"):
        dampen.percentile(spans, p=50, lower="2020-01-31", epsilon=1)
    days = np.datetime64("2020-01-01") + np.arange(100)
    with pytest.raises(ParameterError, match=r"holds dates\. State .* as dates"):
        dampen.percentile(days, p=50, lower=timedelta(days=1), epsilon=1)


def test_bounds_are_numbers():
    for moment in (date(1999, 12, 31), datetime(2020, 2, 29, 13, 30)):
        kind = "time" if isinstance(moment, datetime) else "date"
        assert in_own_type(as_bound(moment), kind) == moment
        assert as_bound(str(moment)) == as_bound(np.datetime64(moment)) == as_bound(moment)
    assert as_bound("12.5") == "12.5"


@pytest.mark.parametrize("seconds", [False, True])
def test_weights_are_those_of_the_definition(seconds):
    moments = Moments(seconds=seconds)
    part = 86400 if seconds else 1
    codes = np.unique(rng.integers(0, DAYS * part, 400))
    weight = np.diff(np.stack([moments.mass(codes - 1), moments.mass(codes)]), axis=0)[0]
    for code, found in zip(codes.tolist(), weight.tolist(), strict=True):
        day, second = divmod(code, part)
        on = date.fromordinal(date(1900, 1, 1).toordinal() + day)
        own = 12 + 366 * (on.day == 1) + 12 * 366 * (on.day == on.month == 1)
        own *= 2 ** (3 - abs((on.year - 1975) // 50))
        if seconds:
            own *= 1 + 60 * (second % 60 == 0) + 3600 * (second % 3600 == 0) + part * (second == 0)
        assert found == own
    for mass in rng.integers(0, moments.total, 20).tolist():
        code = moments.code_at(mass)
        assert moments.mass(np.array([code - 1]))[0] <= mass < moments.mass(np.array([code]))[0]
        assert moments.codes(np.array([moments.value(code)]))[0] == code


@pytest.mark.parametrize("p", [25, 50, 100])
def test_the_loss_is_at_most_epsilon(p):
    """The days of two months; every set of at most three records on four days of them."""
    candidates = Moments(as_bound("2024-12-15"), as_bound("2025-02-15"))
    draw = RankDraw(p, candidates, Neighbours.ADD_REMOVE_ROW)
    everything = np.arange(candidates.ends[0], candidates.ends[1] + 1)
    weight = np.diff(candidates.mass(np.append(everything[0] - 1, everything)))
    days = [as_bound(f"2025-{m:02}-{d:02}") for m, d in product((1, 2), (1, 7))]

    def law(rows):
        column = Column.of(candidates.codes(np.array(rows, float)))
        runs = Runs.of(column, candidates)
        each = draw.law(runs, column.n, Fraction(1)) / runs.mass
        upto = candidates.mass(everything)
        return each[np.searchsorted(runs.start, upto, side="left") - 1] * weight

    assert law_loss(law, Universe.add_remove_row(days, max_rows=3), epsilon=1)


def test_drawn_days_follow_the_law():
    """One cell of the law, 1,000 draws; a false alarm has a probability below 1e-6."""
    candidates = Moments()
    draw = RankDraw(50, candidates, Neighbours.ADD_REMOVE_ROW)
    column = Column.of(candidates.codes(np.array([18000.0, 18100, 18200, 18200, 18300])))
    runs = Runs.of(column, candidates)
    inside = draw.law(runs, column.n, Fraction(2))[runs.less == 2].sum()
    entropy = InsecureEntropy(3)
    codes = np.array([draw.draw(column, Fraction(2), entropy) for _ in range(1000)])
    ends = candidates.codes(np.array([18100.0, 18200]))
    hits = ((codes > ends[0]) & (codes <= ends[1])).sum()
    assert abs(hits - 1000 * inside) < 5 * np.sqrt(1000 * inside * (1 - inside))


LISTED = [date(2020, 1, 1) + timedelta(i % 300) for i in range(3000)]


@pytest.mark.parametrize(
    ("values", "kind", "low", "high"),
    [
        (LISTED, "date", date(2020, 5, 1), date(2020, 7, 1)),
        ([str(day) for day in LISTED], "date", date(2020, 5, 1), date(2020, 7, 1)),
        ([timedelta(hours=5)] * 3000, "duration", timedelta(hours=5), timedelta(hours=5)),
        ([True, False, True] * 1000, "bool", True, True),
    ],
)
def test_a_plain_list_is_read_by_its_stated_kind(values, kind, low, high):
    """By at least 300 ranks; false alarms: below e^-250."""
    made = dampen.percentile(values, kind=kind, p=50, epsilon=1)
    assert low <= made.answer <= high
    assert type(made.answer) is type(low)


def test_a_kind_is_not_taken_from_the_elements():
    """Dates among numbers have no number, whoever's they are."""
    assert dampen.percentile([5.0] * 3000 + LISTED[:50], p=50, epsilon=1).answer == 5


@pytest.mark.parametrize("column", [np.array([1, 2]), np.array(LISTED, dtype="datetime64[D]")])
def test_a_declared_type_needs_no_kind(column):
    with pytest.raises(ParameterError, match="leave it out for 'values'"):
        dampen.percentile(column, kind="bool", p=50, epsilon=1)
    with pytest.raises(ParameterError, match="Did you mean 'date'"):
        dampen.percentile(column, kind="dates", p=50, epsilon=1)


def test_the_command_line_takes_a_kind(tmp_path, capsys):
    """By at least 300 ranks; false alarms: below e^-250."""
    lines = ["day", *map(str, LISTED)]
    (tmp_path / "days.csv").write_text("\n".join(lines))
    asked = ["percentile", str(tmp_path / "days.csv"), "--value", "day", "-p", "50"]
    assert run([*asked, "--kind", "date", "--epsilon", "1"]) == 0
    assert "2020-0" in capsys.readouterr().out


def test_decimals_stay_decimals():
    """The type of an Arrow column is public; the step is a decimal itself."""
    cents = pa.array([Decimal(n % 500) / 100 for n in range(3000)], type=pa.decimal128(9, 2))
    table = pa.table({"paid": cents, "shop": ["a", "b", "c"] * 1000})
    made = dampen.percentile(table, "paid", p=50, epsilon=2, lower=0, upper=5, step="0.01")
    assert isinstance(made.answer, Decimal)
    assert made.answer == made.answer.quantize(Decimal("0.01"))
    assert json.loads(made.to_json())["answer"] == float(made.answer)
    free = dampen.percentile(table, "paid", by="shop", groups=["a", "b"], p=[25, 75], epsilon=2)
    assert {type(each) for pair in free.answer.values() for each in pair} == {Decimal}
    known = {"groups": ["a", "b"], "lower": 0, "upper": 5}
    best = dampen.top_groups(table, "paid", by="shop", measure="statistic", epsilon=2, **known)
    assert {type(each) for each in best.numbers.values()} == {Decimal}
    assert isinstance(dampen.mean(table, "paid", epsilon=2).answer, float)


def test_no_noise_leads_beyond_the_dates_and_durations_of_python():
    """Such answers and intervals failed after the charge."""
    years = {"lower": timedelta(0), "upper": timedelta(days=10**6)}
    made = dampen.total([timedelta(days=500_000)] * 3_000, epsilon=1, **years)
    assert made.answer == timedelta(days=timedelta.max.days)
    few = dampen.dataset({"day": [date(2020, 1, 1)] * 3}, units_public=True)
    centuries = {"lower": date(1900, 1, 1), "upper": date(2100, 1, 1)}
    for _ in range(5):
        made = few.mean("day", kind="date", epsilon="0.001", **centuries)
        assert centuries["lower"] <= made.answer <= centuries["upper"]
        assert date.min <= made.interval()[0] <= made.interval()[1] <= date.max
        assert made.to_json()
    longest = dampen.percentile([timedelta.max] * 3_000, p=50, kind="duration", epsilon=3)
    assert longest.answer <= timedelta.max


@pytest.mark.parametrize("number", [10**30, -(10**30), 1e300, -1e300])
@pytest.mark.parametrize("measure", ["date", "time", "duration"])
def test_every_number_has_a_date_or_a_duration(number, measure):
    ends = {
        "date": (date.min, date.max),
        "time": (datetime.min, datetime.max.replace(microsecond=0)),
        "duration": (timedelta(days=-timedelta.max.days), timedelta(days=timedelta.max.days)),
    }
    assert in_own_type(number, measure) == ends[measure][number > 0]


WHOLE = {
    "numpy": np.arange(1_000) // 3,
    "pandas": pd.Series(range(1_000)) // 3,
    "nullable": pd.array([*range(1_000), None], dtype="Int64") // 3,
    "arrow": pa.array([i // 3 for i in range(1_000)]),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_whole_numbers_are_answered_by_whole_numbers(kind):
    for seed in range(30):
        bits = InsecureEntropy(seed, allow_release=True)
        made = dampen.percentile(WHOLE[kind], p=[40, 50], epsilon=2, entropy=bits)
        assert all(type(answer) is int for answer in made.answer)
        halves = dampen.percentile(WHOLE[kind], p=50, step=0.5, upper=999, epsilon=2, entropy=bits)
        assert halves.answer % 0.5 == 0
    floats = [
        dampen.percentile(np.arange(1_000) / 3, p=50, epsilon=2, entropy=bits).answer
        for bits in (InsecureEntropy(seed, allow_release=True) for seed in range(30))
    ]
    assert any(answer % 1 for answer in floats)


def test_rounding_goes_to_the_nearer_whole_number():
    assert [in_own_type(n, "whole") for n in (-1.5, -0.2, 2.5, Fraction(7, 3), 10**20)] == [
        -1, 0, 3, 2, 10**20,
    ]  # fmt: skip
