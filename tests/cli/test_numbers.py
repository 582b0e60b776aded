"""Noisy numbers on the command line: with their intervals."""

import json
import re

import pandas as pd
import pytest


@pytest.fixture
def stays(place):
    path = place / "numbers.csv"
    pd.DataFrame({"days": [1, 2, 3] * 50, "ward": ["A", "B"] * 75}).to_csv(path, index=False)
    return str(path)


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("count", r"answer +150\ninterval +150 to 150 \(95 %\)"),
        ("count --by ward --groups A,B", r"A +75 +75 to 75 \(95 %\)"),
        ("histogram --value ward --categories A,B", r"B +75 +75 to 75"),
        (
            "histogram --value days --bins 2 --lower 0 --upper 4 --by ward --groups A",
            r"A +2 to 4 +50 +50 to 50",
        ),
        ("total --value days --lower 0 --upper 4", r"answer +(300|299)(\.\d*)?\n"),
        ("mean --value days --lower 0 --upper 4", r"answer +(2|2\.0\d*|1\.9\d*)\n"),
    ],
)
def test_numbers_have_intervals(dampen, stays, asked, shown):
    command, *options = asked.split()
    done = dampen(command, stays, *options, "--epsilon", "1000000")
    assert done.code == 0, done.err
    assert re.search(shown, done.out), done.out


def test_a_filter_is_an_option(dampen, stays):
    sure = ("--epsilon", "1000000")
    done = dampen("count", stays, "--where", "days >= 2 and ward == 'A'", *sure)
    assert re.search(r"answer +50\n", done.out), done.out + done.err
    done = dampen("most-frequent", stays, "--value", "ward", "--categories", "A,B", *sure,
                  "--where", "ward != 'A'")  # fmt: skip
    assert re.search(r"answer +B\n", done.out), done.out + done.err
    wrong = dampen("count", stays, "--where", "days => 2", *sure)
    assert wrong.code == 2
    assert "got '=' at character 6" in wrong.err


def test_json_has_numbers_law_and_intervals(dampen, stays):
    done = dampen("count", stays, "--epsilon", "1", "--json")
    told = json.loads(done.out)
    assert told["law"] == {"law": "discrete-laplace", "scale": "1", "unit": "1", "least": 0}
    low, high = told["intervals"]["ends"]
    assert low <= told["answer"] == told["numbers"] <= high


def test_a_winner_is_shown_with_its_number(dampen, stays):
    given = ("--value", "days", "--by", "ward", "--groups", "A,B", "--lower", "0", "--upper", "4")
    asked = (*given, "--step", "1", "--statistic", "sum", "--epsilon", "1000000")
    done = dampen("top-groups", stays, *asked, "--measure", "statistic", "-k", "2")
    assert done.code == 0, done.err
    assert re.search(r"number +A: 150, 150 to 150 \(95 %\); B: 150", done.out), done.out


def test_rho_is_shown_as_the_cost_of_gaussian_noise(dampen, stays):
    done = dampen("count", stays, "--rho", "0.02", "--verbose")
    assert re.search(r"cost +rho 0.02\n", done.out), done.out + done.err
    assert "discrete-gaussian" in done.out


def test_a_watch_is_paid_once_until_it_says_yes(dampen, stays, place):
    """The ε is so large that noise has no say: P(|noise| > 20) is below exp(-20 * 50 / 2)."""
    dampen("budget", "create", "watching", "--epsilon", "200", "--neighbours", "add-remove-row")
    state = str(place / "ward.watch")
    asked = ("watch", stays, "--where", "ward == 'A'", "--epsilon", "50", "--state", state)
    paid = (*asked, "--budget", "watching")
    expected = dampen(*asked, "--threshold", "200", "--expect")
    assert "epsilon 50 a run" in expected.out
    for look in ("1", "2"):
        done = dampen(*paid, "--threshold", "200")
        assert done.code == 0, done.err
        assert re.search(rf"answer +no\nlooks +{look}\n", done.out), done.out
        assert "watching, 150 of 200 left" in done.out
    other = dampen(*paid, "--threshold", "30")
    assert other.code == 2
    assert "state of this watch" in other.err
    again = str(place / "other.watch")
    found = dampen(*paid[:-4], "--state", again, *paid[-2:], "--threshold", "30", "--json")
    assert json.loads(found.out)["answer"] is True, found.err
    assert json.loads(found.out)["budget"]["left"] == "100"
