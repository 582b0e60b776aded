"""`percentile` without a grid: what goes in, what comes out, what is said before the charge."""

import json
import warnings
from datetime import date
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dampen
from dampen import testing
from dampen.core.noise import laplace_rho, pure_rho
from dampen.core.sampling import InsecureEntropy
from dampen.data.cells import Grouping
from dampen.data.open import open_table
from dampen.errors import AccuracyWarning, ParameterError
from dampen.questions.percentile.question import PercentileQuestion
from dampen.questions.percentile.unbounded import Decimals, RankDraw, read_columns
from dampen.releases.answer import expect
from dampen.schema import Schema
from goodness import FALSE_ALARM, p_value

PAY = np.random.default_rng(1).lognormal(10.8, 0.6, size=20_000).round(2)


def seeded(seed=1):
    return InsecureEntropy(seed, allow_release=True)


def rank_of(values, answer):
    return np.searchsorted(np.sort(values), answer)


def test_nothing_but_the_column_is_needed():
    made = dampen.percentile(PAY, p=50, epsilon=1)
    assert abs(rank_of(PAY, made.answer) - 10_000) < 150  # false alarms: below 1e-25
    assert made.mechanism == "pf"
    spent = pure_rho(Fraction(4, 100)) + laplace_rho(Fraction(96, 100))
    assert spent <= made.rho < spent * Fraction(1001, 1000)
    assert made.neighbours == "add-remove-row"
    assert made.parameters == {"p": 50, "epsilon_for_rows": "0.04"}
    stated = dampen.dataset({"pay": PAY}, rows=20_000).percentile("pay", p=50, epsilon=1)
    assert laplace_rho(Fraction(1)) <= stated.rho < Fraction(37, 100)
    assert stated.parameters == {"p": 50}


def test_for_rho_the_exponential_mechanism_answers():
    data = dampen.dataset({"pay": PAY}, rows=20_000)
    made = data.percentile("pay", p=50, rho="0.02")
    assert made.mechanism == "em"
    assert made.rho == Fraction(2, 100)
    assert made.epsilon == Fraction(4, 10)
    assert abs(rank_of(PAY, made.answer) - 10_000) < 350


def test_a_public_number_of_rows_is_shown():
    made = dampen.dataset({"pay": PAY}, units_public=True).percentile("pay", p=50, epsilon=1)
    assert abs(rank_of(PAY, made.answer) - 10_000) < 150
    assert made.neighbours == "replace-one"
    assert made.parameters == {"p": 50, "n": 20_000}


@pytest.mark.parametrize("values", [PAY - 1e6, -PAY, PAY / 1e7, PAY * 1e7, 2000 + PAY // 10_000])
def test_whatever_the_size_and_sign_of_the_numbers(values):
    made = dampen.percentile(values, p=50, epsilon=2)
    less, at_most = (
        np.searchsorted(np.sort(values), made.answer, side=s) for s in ("left", "right")
    )
    assert less - 150 < 10_000 < at_most + 150


def test_a_fine_step_in_a_wide_range_costs_no_time():
    made = dampen.percentile(PAY, p=50, epsilon=2, step=0.01, upper=1e9)
    assert abs(rank_of(PAY, made.answer) - 10_000) < 150
    assert (Fraction(str(made.answer)) * 100).denominator == 1
    assert made.parameters["step"] == 0.01


def test_bounds_and_steps_cut_the_answers():
    nothing = {"epsilon": 1, "p": 50}
    for seed in range(50):
        bounded = dampen.percentile([], lower=3, upper=4, entropy=seeded(seed), **nothing)
        assert 3 <= bounded.answer <= 4
        stepped = dampen.percentile(
            [], lower=0, upper=10**9, step=7, entropy=seeded(seed), **nothing
        )
        assert stepped.answer >= 0
        assert stepped.answer % 7 == 0


def test_whole_numbers_come_back_whole():
    made = dampen.percentile([40] * 500, p=50, epsilon=1)
    assert made.answer == 40
    assert type(made.answer) is int
    assert dampen.percentile([0.25] * 500, p=50, epsilon=1).answer == 0.25


def test_few_percentiles_split_epsilon_and_many_are_drawn_together():
    few = dampen.percentile(PAY, p=[75, 25], epsilon=2)
    many = dampen.percentile(PAY, p=[90, 10, 50, 30, 70], epsilon=2)
    assert (few.mechanism, many.mechanism) == ("pf", "joint-in-range")
    assert few.answer == sorted(few.answer, reverse=True)
    assert [many.answer[i] for i in (1, 3, 2, 4, 0)] == sorted(many.answer)
    part = Fraction(25, 100) / (25 * Fraction(75, 100) * 2)
    spent = pure_rho(2 * part) + 2 * laplace_rho(1 - part)
    assert spent <= few.rho < spent * Fraction(1001, 1000)


def test_every_group_has_its_value():
    table = pd.DataFrame({"v": PAY, "g": np.where(PAY > 50_000, "high", "low")})
    made = dampen.percentile(table, "v", p=50, by="g", groups=["high", "low", "none"], epsilon=2)
    assert list(made.answer) == ["high", "low", "none"]
    for name in ("high", "low"):
        values = PAY[table["g"] == name]
        assert abs(rank_of(values, made.answer[name]) / len(values) - 0.5) < 0.02


def test_rows_without_a_number_are_skipped():
    values = [None, 5.0, float("nan"), 5.0] * 200
    assert dampen.percentile(values, p=50, epsilon=2).answer == 5
    assert dampen.percentile([None, None], p=50, epsilon=2) is not None
    known = dampen.dataset({"v": [None, None]}, units_public=True)
    with pytest.warns(AccuracyWarning, match="too few"):
        assert known.percentile("v", p=50, epsilon=2) is not None


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_give_what_memory_gives(tmp_path, suffix):
    path = tmp_path / f"pay.{suffix}"
    frame = pd.DataFrame({"pay": PAY, "team": np.arange(len(PAY)) % 3})
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    options = {"p": 30, "epsilon": 1, "by": "team"}
    groups = ["0", "1"] if suffix == "csv" else [0, 1]
    from_file = dampen.percentile(path, "pay", groups=groups, entropy=seeded(), **options)
    from_memory = dampen.percentile(frame, "pay", groups=[0, 1], entropy=seeded(), **options)
    assert list(from_file.answer.values()) == list(from_memory.answer.values())


def test_batches_are_merged():
    table = {"v": np.arange(300_000) % 7, "g": np.arange(300_000) % 2}
    [column], n = read_columns(open_table(table), "v", Decimals())
    assert n == column.n == 300_000
    assert len(column.codes) == 7
    opened = open_table(table)
    two, _ = read_columns(opened, "v", Decimals(), Grouping((0, 1)).lookup(opened, "g"))
    assert [each.n for each in two] == [150_000, 150_000]


@pytest.mark.parametrize(
    ("p", "epsilon", "says"),
    [
        (99, 1, "300 rows are too few for p = 99 at ε = 1"),
        (99, 1, "Use ε ≥ 25, or ask for a percentile from 25.1 to 74.9"),
        (50, "0.01", "Use ε ≥ 0.5."),
        ([5, 50], 1, "p = 5 at"),
    ],
)
def test_too_few_rows_are_reported_before_the_charge(p, epsilon, says):
    class Refusing:
        def charge(self, cost, /):
            raise RuntimeError("charged")

    known = dampen.dataset({"pay": PAY[:300]}, units_public=True, budget=Refusing())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError, match="charged"):
            known.percentile("pay", p=p, epsilon=epsilon)
    assert [w.category for w in caught] == [AccuracyWarning]
    assert says in str(caught[0].message)


def test_groups_that_are_too_small_on_average_are_reported_before_the_charge():
    table = {"pay": PAY[:1200], "team": np.arange(1200) % 4}
    known = dampen.dataset(table, rows=1200, columns={"team": [0, 1, 2, 3]})
    with pytest.warns(AccuracyWarning, match="300 rows per group, the average, are too few for p"):
        known.percentile("pay", p=99, by="team", epsilon=1)
    planned = known.expect("percentile", value="pay", p=50, by="team", epsilon=2)
    assert "ranks from the percentile" in planned.accuracy.sentence


@pytest.mark.parametrize("several", [False, True])
def test_groups_without_an_answer_are_counted(several):
    """Ten rows have an answer with a probability below 10^-5, 3,000 none with one below 10^-8."""
    table = {"pay": PAY[:3010], "team": ["large"] * 3000 + ["small"] * 10, "who": np.arange(3010)}
    asked = {"p": [40, 50] if several else 50, "by": "team", "groups": ["large", "small"]}
    made = dampen.percentile(table, "pay", epsilon=2, entropy=seeded(), **asked)
    assert "too few rows in 1 of 2 groups" in made.accuracy.sentence
    assert not made.accuracy.chance
    assert made.answer["small"] == ([None, None] if several else None)
    people = dampen.percentile(table, "pay", epsilon=2, unit="who", entropy=seeded(), **asked)
    assert "too few people in 1 of 2 groups" in people.accuracy.sentence


def test_a_list_of_dates_gets_the_hint_about_kinds():
    """A number is the answer with a probability below 10^-6: there is none to count."""
    made = dampen.percentile([date(2020, 1, 1)] * 300, p=50, epsilon=1, entropy=seeded())
    assert made.answer is None
    assert "If the column holds dates, pass kind='date'" in made.accuracy.sentence
    typed = dampen.percentile(np.ones(3), p=50, epsilon=1, entropy=seeded())
    assert "kind=" not in typed.accuracy.sentence


def test_too_few_rows_have_no_answer():
    """The probability of a number is below 10^-5 for ten rows."""
    made = dampen.percentile(PAY[:10], p=99, epsilon=1)
    assert made.answer is None
    assert made.accuracy.chance
    assert "are too few for p = 99 at ε = 1, which needs 7,425" in made.accuracy.sentence
    assert json.loads(made.to_json())["answer"] is None
    several = dampen.percentile(PAY, p=[50, "99.9"], epsilon="0.5")
    assert several.answer[0] is not None
    assert several.answer[1] is None
    assert dampen.percentile(PAY[:10], p=99, epsilon=1, lower=0, upper=1e6).answer is not None


@pytest.mark.parametrize(("p", "ends"), [(0, {}), (100, {"lower": 0}), ([0, 50], {"upper": 9})])
def test_the_ends_need_a_public_end(p, ends):
    with pytest.raises(ParameterError, match="needs a public end"):
        dampen.percentile(PAY, p=p, epsilon=1, **ends)


@pytest.mark.parametrize("relation", ["add-remove-row", "replace-one"])
@pytest.mark.parametrize("p", ["50", "99", "99.99"])
def test_too_few_rows_has_an_exact_utility(p, relation):
    """A record more moves it by t; as a float far above 2^53 it stayed, or moved by 32 and more."""
    draw = RankDraw(p, Decimals(), dampen.Neighbours(relation))

    def steps(epsilon):
        told = [draw.none_utility(n, epsilon) for n in range(2000, 2100)]
        return set(np.diff(told))

    t = draw.open_tail * draw.share.denominator
    for epsilon in (Fraction(1, 10**i) for i in range(18)):
        try:
            draw.check(epsilon)
        except ParameterError:
            break
        assert steps(epsilon) == {-t}
    assert epsilon < Fraction(1, 10**9)
    assert steps(Fraction(1, 10**18)) != {-t}  # what was drawn by


def test_percentiles_whose_halves_have_too_many_decimals_are_refused_before_the_charge():
    """The range is found by percentiles half way to the ends: they failed after the charge."""
    asked = {"p": ["0.0003", 20, 40, 60, 80], "epsilon": 1}
    with pytest.raises(ParameterError, match="at most three decimals"):
        dampen.percentile([1.0] * 9, **asked)
    assert dampen.percentile([1.0] * 9, lower=0, upper=9, step=1, **asked).answer


def test_stated_rows_are_enough_to_say_it():
    question = PercentileQuestion(value="v", p=99)
    table = {"v": PAY[:300]}
    assert not expect(question, table, epsilon=1).accuracy.chance
    assert expect(question, table, epsilon=1, schema=Schema(rows=300)).accuracy.chance
    assert not expect(question, table, epsilon=1, schema=Schema(rows=30_000)).accuracy.chance


@pytest.mark.parametrize("p", [10, 50, 95])
def test_where_the_rule_lets_an_answer_pass_it_lies_near_the_data(p):
    """Years are far from 0 compared with their range.  False alarms: 10 times 10^-5 a line."""
    years = np.random.default_rng(2).integers(1975, 2016, size=1000)
    epsilon = Fraction(51_000, 10 * min(p, 100 - p)) / 100
    for seed in range(10):
        made = dampen.percentile(years, p=p, epsilon=epsilon, entropy=seeded(seed))
        assert not made.accuracy.chance
        assert 1995 - 205 <= made.answer <= 1995 + 205


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"mechanism": "ld"}, "Only mechanism='pf' and mechanism='em'"),
        ({"p": "33.33333"}, "four decimals"),
        ({"lower": 5, "upper": 4}, "lower < upper"),
        ({"step": 0}, "step > 0"),
        ({"upper": "x"}, "upper to be a finite number"),
    ],
)
def test_wrong_parameters_cost_nothing(options, says):
    with pytest.raises(ParameterError, match=says):
        dampen.percentile(PAY, **({"p": 50, "epsilon": 1} | options))


class Recording:
    """A budget that pays for so many charges."""

    def __init__(self, most=9):
        self.costs = []
        self.most = most

    def charge(self, cost, /):
        if len(self.costs) == self.most:
            raise dampen.BudgetError("No more.")
        self.costs.append(cost)
        return str(len(self.costs))


def test_rows_are_counted_first_and_the_rest_is_charged_after():
    budget = Recording()
    made = dampen.percentile(PAY, p=50, epsilon=1, budget=budget)
    first, rest = budget.costs
    assert (first.epsilon, rest.epsilon) == (Fraction(4, 100), Fraction(96, 100))
    assert (first.mechanism, rest.mechanism) == ("count", "pf")
    assert (made.epsilon, made.rho) == (1, first.rho + rest.rho)
    assert made.charge == "2"


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "0.125"}])
def test_the_rest_is_not_charged_if_the_rows_are_too_few(price):
    """The noise would have to be 3,700 rows at a scale of 200: exp(-18) / 2."""
    budget = Recording()
    made = dampen.percentile(PAY[:10], p=99, **price, budget=budget)
    [only] = budget.costs
    assert made.answer is None
    assert made.epsilon == only.epsilon < Fraction(1, 100)
    assert made.rho == only.rho
    assert pure_rho(only.epsilon) <= only.rho < pure_rho(only.epsilon) * (1 + Fraction(1, 10**11))
    assert made.charge == "1"
    assert "are too few for p = 99 at ε = 1" in made.accuracy.sentence
    assert len(made.accuracy.sentence) < 200


def test_a_noisy_number_of_rows_that_tells_nothing_names_no_percentile():
    """Of ten rows noise of 600 tells nothing but that they are few."""
    made = dampen.percentile(PAY[:10], p=99, epsilon=1, entropy=seeded(3))
    assert made.accuracy.sentence.startswith("The rows, fewer than about ")
    assert made.accuracy.sentence.endswith("or ask for a percentile nearer to 50.")


def test_the_last_percentile_that_can_be_had_is_named():
    """About 1,000 rows, of which p = 99 needs 7,425: p from 7 to 93 can be had."""
    made = dampen.percentile(PAY[:1000], p=99, epsilon=1, entropy=seeded(5))
    assert made.answer is None
    assert "ask for a percentile from" in made.accuracy.sentence


def test_a_first_charge_stands_if_the_rest_is_refused():
    with pytest.raises(
        dampen.BudgetError, match=r"No more. The charge of epsilon 0.04 \(1\) stands."
    ):
        dampen.percentile(PAY, p=50, epsilon=1, budget=Recording(most=1))


def test_a_budget_that_cannot_pay_for_all_is_not_charged(tmp_path):
    ledger = dampen.Ledger(tmp_path / "ledger")
    ledger.create("pay", epsilon="0.5", neighbours="add-remove-row")
    with pytest.raises(dampen.BudgetError):
        dampen.percentile(PAY, p=50, epsilon=1, budget=ledger["pay"])
    assert ledger.history("pay") == []
    made = dampen.percentile(PAY, p=50, epsilon="0.5", budget=ledger["pay"])
    assert ledger.remaining("pay") == 0
    assert json.loads(ledger.answer(made.charge))["answer"] == made.answer


def test_people_and_dates_are_counted_first_too():
    budget = Recording()
    table = {"day": np.datetime64("2020-01-01") + np.arange(900) // 3, "who": np.arange(900) // 2}
    made = dampen.percentile(table, "day", p=50, unit="who", epsilon=2, budget=budget)
    assert sum(cost.epsilon for cost in budget.costs) == made.epsilon == 2
    assert [cost.mechanism for cost in budget.costs] == ["count", "pf"]
    few = {name: column[:4] for name, column in table.items()}
    lonely = dampen.percentile(few, "day", p=99, unit="who", epsilon=1, entropy=seeded(1))
    assert lonely.answer is None
    assert "too few people" in lonely.accuracy.sentence


def stops(n, scale, below):
    """The probability that n plus discrete Laplace noise is below a number, by summing up."""
    steps = np.arange(-4000, 4001)
    weights = np.exp(-np.abs(steps) / scale)
    return float(weights[np.maximum(n + steps, 0) < below].sum() / weights.sum())


def law_of_stopping(noise):
    """n* = 75 at ε = 1: fewer than 37.5 rows stop; the noise has the scale 25."""

    def law(rows):
        ended = stops(len(rows), noise, 37.5)
        return np.array([1 - ended, ended])

    return law


UP_TO_80 = testing.Universe.add_remove_row((1.0,), max_rows=80)


def test_whether_the_rest_is_charged_is_private():
    verdict = testing.law_loss(law_of_stopping(25), UP_TO_80, epsilon="0.04", name="stops")
    assert verdict, verdict


def test_stopping_with_less_noise_is_not_private():
    """The broken twin: noise of half the scale."""
    assert not testing.law_loss(law_of_stopping(12.5), UP_TO_80, epsilon="0.04", name="twin")


def test_stopping_follows_its_law():
    entropy = seeded(11)
    drawn = [dampen.percentile(PAY[:50], p=50, epsilon=1, entropy=entropy) for _ in range(800)]
    counts = np.bincount([made.epsilon < 1 for made in drawn], minlength=2)
    assert p_value(counts, law_of_stopping(25)(range(50))) > FALSE_ALARM
    assert p_value(counts, law_of_stopping(12.5)(range(50))) < FALSE_ALARM
