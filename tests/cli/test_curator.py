"""What a curator does before the first question: `dampen draft`, `dampen check`."""

import json
import tomllib

import pytest

from dampen.check import HEADING

MESSY = "Ward name,age\n" + "Ash,40\n" * 6 + "Oak,\n" + "Elm,n/a\n" + ",200\n" + "Ash,-1\n"
FACTS = """[[data]]
name = "wards"
files = ["wards.csv"]
budgets = ["wards"]
rows = 5

[data.columns]
"Ward name" = ["Ash", "Oak", "Birch"]
age = { lower = 0, upper = 120 }
"""


@pytest.fixture
def wards(place):
    (place / "wards.csv").write_text(MESSY)
    (place / "dampen.toml").write_text(FACTS)
    return place


def test_a_draft_from_the_header_states_no_fact_of_a_row(dampen, wards):
    before = dampen("draft", "wards.csv", "--header")
    (wards / "wards.csv").write_text("Ward name,age\nElm,7\n")
    assert dampen("draft", "wards.csv", "--header").out == before.out
    drafted = tomllib.loads(before.out)["data"][0]
    assert (drafted["name"], drafted["unit"], drafted["units-public"]) == ("wards", "row", False)
    assert not drafted["columns"]
    assert '# "Ward name" = ' in before.out


def test_a_draft_from_the_data_marks_every_fact(dampen, wards):
    done = dampen("draft", "wards.csv", "--look", "-o", "facts.toml")
    assert (done.code, done.out) == (0, "")
    text = (wards / "facts.toml").read_text()
    assert tomllib.loads(text)["data"][0]["columns"]["Ward name"] == ["Ash", "Elm", "Oak"]
    facts = text.partition("[data.columns]\n")[2].splitlines()
    assert all("# taken from the data: confirm that it is public" in line for line in facts)


def test_a_check_counts_what_questions_make_of_the_cells(dampen, wards):
    told = json.loads(dampen("check", "wards", "--json").out)
    assert told["rows"] == 10
    ward, age = told["columns"]["Ward name"], told["columns"]["age"]
    assert (ward["missing"], ward["unlisted"], ward["empty"]) == (1, 1, ["Birch"])
    assert (age["missing"], age["below"], age["above"]) == (2, 1, 1)
    assert any("more rows than rows = 5" in line for line in told["advice"])
    assert dampen("check", "wards").out.startswith(HEADING)


def test_a_check_names_the_likely_encoding(dampen, wards):
    (wards / "wards.csv").write_bytes("Ward name,age\nMünchen,4\nAsh,5\n".encode("cp1252"))
    done = dampen("check", "wards")
    assert 'encoding = "cp1252"' in done.out


def test_a_check_needs_facts(dampen, wards):
    (wards / "other.csv").write_text(MESSY)
    done = dampen("check", "other.csv")
    assert done.code == 2
    assert "dampen draft other.csv" in done.err


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "latin-1", "utf-8"])
def test_a_file_is_read_as_it_is_written(dampen, wards, encoding):
    rows = "Ward name;age\n" + "München;40,5\n" * 60 + "Ash;30,5\n" * 20
    (wards / "wards.csv").write_bytes(rows.encode(encoding))
    facts = FACTS.replace('"Ash", "Oak"', '"Ash", "München"')
    stated = f'rows = 100\nencoding = "{encoding}"\ndecimal = ","\n'
    (wards / "dampen.toml").write_text(facts.replace("rows = 5\n", stated))
    dampen("budget", "create", "wards", "--epsilon", "99", "--neighbours", "add-remove-row")
    found = dampen("most-frequent", "wards", "--value", "Ward name", "--epsilon", "20")
    assert found.out.splitlines()[0].split() == ["answer", "München"], found
    half = dampen("percentile", "wards", "--value", "age", "-p", "50", "--epsilon", "20")
    assert half.out.splitlines()[0].split() == ["answer", "40.5"], half
    told = json.loads(dampen("check", "wards", "--json").out)
    assert (told["columns"]["age"]["missing"], told["rows"]) == (0, 80)


def test_an_unknown_encoding_is_refused_before_the_charge(dampen, wards):
    (wards / "dampen.toml").write_text(FACTS.replace("rows = 5\n", 'encoding = "cp125"\n'))
    dampen("budget", "create", "wards", "--epsilon", "9", "--neighbours", "add-remove-row")
    done = dampen("percentile", "wards", "--value", "age", "-p", "50", "--epsilon", "1")
    assert (done.code, "such as 'cp1252'" in done.err) == (2, True)


def test_a_draft_that_looks_does_not_list_dates(dampen, place):
    lines = [f"2024-01-{1 + i % 28:02d},{i % 2}" for i in range(60)]
    (place / "days.csv").write_text("\n".join(["born,sex", *lines, "unknown,1"]))
    drafted = dampen("draft", "days.csv", "--look").out
    assert "born = { dates = true }  # taken from the data" in drafted
    assert "2024-01-03" not in drafted
    assert "[] if nobody has one" in dampen("draft", "days.csv").out


EXPORT = """[[data]]
name = "export"
files = ["export.csv"]
budgets = ["export"]
unit = "Patient"
encoding = "cp1252"
decimal = ","

[data.columns]
Station = ["Gynäkologie", "Chirurgie"]
Diagnose = []
Aufnahme = { dates = true }
Tage = { lower = 0, upper = 90 }
Kosten = {}
"""


@pytest.fixture
def export(place):
    """As a spreadsheet writes it: semicolons, commas, dates with dots, columns without a name."""
    rows = ["Patient;Station;Diagnose;Aufnahme;Tage;Kosten;;"]
    for i in range(80):
        patient = f"KA-{i % 60:04d}"
        patient = patient.lower() if i >= 70 else patient
        rows.append(
            f"{patient};Gynäkologie;D{i % 30};{1 + i % 28:02d}.03.2025;{i},5;1.2{i:02d},50;;"
        )
    rows.append("Summe;;;;3.160,0;99.999,00;;")
    (place / "export.csv").write_bytes("\r\n".join(rows).encode("cp1252"))
    (place / "dampen.toml").write_text(EXPORT)
    return place


def test_a_draft_that_looks_finds_how_an_export_is_written(dampen, export):
    (export / "dampen.toml").unlink()
    done = dampen("draft", "export.csv", "--look")
    drafted = tomllib.loads(done.out)["data"][0]
    assert (drafted["encoding"], drafted["decimal"]) == ("cp1252", ",")
    columns = drafted["columns"]
    assert columns["Aufnahme"] == {"dates": True}
    assert columns["Tage"] == {"lower": 0.5, "upper": 3160.0}  # with the row of sums
    assert columns["Station"] == ["Gynäkologie"]
    assert '"" =' not in dampen("draft", "export.csv").out


def test_a_check_finds_what_an_export_loses(dampen, export):
    told = json.loads(dampen("check", "export", "--json").out)
    advice = " ".join(told["advice"])
    assert told["columns"]["Kosten"]["missing"] == 0
    assert "thousands" not in advice
    assert "10 of the 71 names in Patient differ from another one in capitals" in advice
    assert "no usable Diagnose" not in advice  # nobody lists its values
    assert "special" not in advice
    assert told["columns"]["Aufnahme"] == {
        "kind": "dates", "missing": 1, "unlisted": 0, "below": 0, "above": 0, "empty": [],
    }  # fmt: skip
    written = (export / "export.csv").read_bytes()
    (export / "export.csv").write_bytes(written.replace(b";1.2", b";1 2"))
    advice = " ".join(json.loads(dampen("check", "export", "--json").out)["advice"])
    assert "Cells of Kosten with a sign between thousands are not read: 80." in advice
    (export / "export.csv").write_bytes(written)
    (export / "dampen.toml").write_text(EXPORT.replace('decimal = ","\n', ""))
    advice = " ".join(json.loads(dampen("check", "export", "--json").out)["advice"])
    assert "Cells of Tage with a decimal comma are not read: 81. State decimal" in advice


def test_a_report_names_a_question_once(dampen, place):
    """It said "mean mean of days"."""
    dampen("budget", "create", "n", "--epsilon", "9", "--neighbours", "add-remove-row")
    numbers = ("--lower", "0", "--upper", "9", "--epsilon", "1", "--budget", "n")
    for question in ("mean", "total", "histogram"):
        assert dampen(question, "stays.csv", "--value", "days", *numbers).code == 0
    told = dampen("report", "n").out
    assert all(f"| {each} of days |" in told for each in ("mean", "total", "histogram"))


def test_a_budget_with_a_delta_shows_what_is_spent_of_it(dampen, place):
    dampen("budget", "create", "d", "--epsilon", "9", "--delta", "1e-4", "--neighbours",
           "add-remove-row")  # fmt: skip
    asked = ("--by", "hospital", "--delta", "1e-6", "--epsilon", "1", "--budget", "d")
    counted = dampen("count", "stays.csv", *asked)
    assert counted.code == 0
    shown = dampen("budget", "show", "d").out
    assert "delta spent  0.000001\n" in shown
    assert "   epsilon   delta      query" in shown
    assert json.loads(dampen("budget", "show", "d", "--json").out)["delta spent"] == "0.000001"
    dampen("budget", "create", "e", "--epsilon", "9", "--neighbours", "add-remove-row")
    assert "delta" not in dampen("budget", "show", "e").out
