"""Groups on the command line: `top-groups`, and `--by` on other commands."""

import json

import pytest

STAYS = ("stays.csv", "--by", "hospital", "--groups", "H3,H2,H1", "--upper", "100", "--step", "1")
TOP = ("top-groups", *STAYS, "--value", "days", "--lower", "0", "--epsilon", "9")
VALUES = ("percentile", *STAYS, "--value", "days", "--epsilon", "90")


def test_the_best_group(dampen):
    done = dampen(*TOP)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0].split() == ["answer", "H2"]


def test_a_set_of_groups_is_shown_without_ranks(dampen):
    done = dampen(*TOP, "-k", "2", "--smallest")
    assert done.out.splitlines()[0].split() == ["answer", "H3,", "H1"]
    assert "rank" not in done.out


def test_groups_in_order_are_ranked(dampen):
    done = dampen(*TOP, "-k", "2", "--ordered", "--statistic", "sum")
    assert "rank" in done.out
    assert done.out.splitlines()[2].split() == ["1", "H2"]


def test_groups_may_be_listed_in_a_file(dampen, place):
    (place / "groups.txt").write_text("H1\nH2\n")
    given = [word for word in TOP if word not in ("--groups", "H3,H2,H1")]
    assert "H2" in dampen(*given, "--groups-file", "groups.txt").out


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--statistic", "max"], "--statistic quantile, p=99"),
        (["--statistic", "medan"], "Did you mean 'median'?"),
        (["-k", "4"], "Expected k <= 3"),
        (["--step", "7"], "divides"),
        (["--caution", "-1"], "Expected caution >= 0"),
        (["--min-rows", "0"], "Expected min_rows"),
        (["--groups", "H1,H1"], "different groups"),
        (["--groups-file", "none.txt"], "either --groups or --groups-file"),
        (["--by", "clinic"], "Expected a column 'clinic'"),
        (["--neighbours", "replace-one"], "No such option"),
    ],
)
def test_wrong_parameters_in_the_words_of_the_command_line(dampen, more, says):
    done = dampen(*TOP, *more)
    assert (done.code, done.out) == (2, "")
    assert says in done.err


def test_values_of_every_group(dampen):
    done = dampen(*VALUES, "-p", "50", "--json")
    made = json.loads(done.out)
    assert list(made["answer"]) == ["H3", "H2", "H1"]
    assert made["answer"]["H2"] > made["answer"]["H1"]
    assert made["neighbours"] == "add-remove-row"
    assert [line.split()[0] for line in dampen(*VALUES, "-p", "50").out.splitlines()[2:5]] == [
        "H3",
        "H2",
        "H1",
    ]


def test_values_of_every_group_where_groups_are_public(dampen, place):
    (place / "fixed.toml").write_text(
        "[[data]]\nname = 'stays'\nunits-public = true\n"
        "[data.columns]\nhospital = { values = ['H1', 'H2', 'H3'], public = true }\n"
    )
    done = dampen(*VALUES, "-p", "50,90", "--schema", "fixed.toml", "--json")
    made = json.loads(done.out)
    assert made["neighbours"] == "replace-one"
    assert all(len(pair) == 2 and pair[0] <= pair[1] for pair in made["answer"].values())


def test_the_most_frequent_of_every_group(dampen):
    done = dampen(
        "most-frequent", "visits.csv", "--value", "diagnosis", "--categories", "flu,cold",
        "--by", "day", "--groups", "1,2", "--epsilon", "9", "--json",
    )  # fmt: skip
    assert json.loads(done.out)["answer"] == {"1": "flu", "2": "cold"}


def test_a_value_for_every_group_needs_both_options(dampen):
    given = [word for word in VALUES if word not in ("--groups", "H3,H2,H1")]
    done = dampen(*given, "-p", "50")
    assert (done.code, done.out) == (2, "")
    assert "Expected --groups, the public list of groups" in done.err


COMPARE = (
    "compare", "top-groups", *STAYS, "--value", "days", "--lower", "0", "--public", "--json",
)  # fmt: skip


def test_methods_are_compared_by_any_statistic(dampen):
    """On these stays H2 is best by far, so that a small ε tells the statistics apart."""
    for more in ([], ["--p", "50"], ["--statistic", "mean"], ["--statistic", "sum"]):
        lines = json.loads(dampen(*COMPARE, "--epsilon", "0.001,9", *more).out)
        assert [line["share right"] for line in lines] == ["default"]
        assert lines[0]["ε = 0.001"] < lines[0]["ε = 9"] == 1
    assert "no -p" in dampen(*COMPARE, "--epsilon", "1", "--statistic", "mean", "-p", "90").err


def test_several_columns_of_groups_read_the_same_in_every_table(dampen, place):
    asked = ("--by", "hospital,patient", "--groups", "H1,P0;H1,P1", "--epsilon", "5")
    counted = dampen("count", "stays.csv", *asked)
    assert counted.code == 0, counted.err
    assert "\nH1, P0  " in counted.out
    assert "('H1'" not in counted.out


def test_a_list_with_blanks_is_refused_with_a_hint_at_commas(dampen):
    asked = ("--value", "days", "--by", "hospital", "--groups", "H1", "H2", "--epsilon", "1")
    refused = dampen("top-groups", "stays.csv", *asked)
    told = "Got unexpected extra argument (H2). Write a list with commas, such as A,B,C."
    assert (refused.code, told in refused.err) == (2, True), refused.err


def test_values_that_are_found_come_with_counts_and_intervals(dampen):
    found = dampen("keys", "stays.csv", "--value", "hospital", "--delta", "1e-6", "--epsilon", "5")
    assert found.out.startswith("value   count   interval\n")
    assert found.out.count("(95 %)") == 3
