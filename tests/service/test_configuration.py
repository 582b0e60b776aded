"""What a configuration may say, what `--check` finds without looking at rows, and tokens."""

import json
import re
from pathlib import Path

import pytest

from dampen.cli.main import run
from dampen.errors import ParameterError
from dampen.ledger import Ledger, check_policy
from dampen.ledger.policy import load_policy
from dampen.schema import Categories, Names, Numbers
from dampen.service.configuration import load_configuration
from dampen.service.tokens import Tokens

BASE = """
[[data]]
name = "pay"
budgets = ["pay"]
files = ["pay.csv"]
"""
TABLE = BASE.replace('files = ["pay.csv"]', 'tables = ["{}"]')
COLUMN = "[data.columns]\npay = { lower = 0, upper = 9, step = 1 }\n"


def config(place: Path, text: str) -> Path:
    file = place / "dampen.toml"
    file.write_text(text)
    return file


def test_facts_and_settings(tmp_path: Path) -> None:
    text = BASE + "rows = 9\nunits-public = true\n" + COLUMN + (
        'sex = ["f", "m"]\nname = { names = true }\n'
        '[service]\nstep = 0.5\nhosts = ["h"]\nrequests-per-minute = 7\n'
    )  # fmt: skip
    found = load_configuration(config(tmp_path, text))
    assert found.sets["pay"].schema.columns == {
        "pay": Numbers(0, 9, 1), "sex": Categories(("f", "m")), "name": Names()
    }  # fmt: skip
    assert found.sets["pay"].questions == (
        "most-frequent",
        "keys",
        "top-groups",
        "groups-above",
        "percentile",
        "percentile-record",
        "count",
        "histogram",
        "total",
        "mean",
        "tree",
        "regression-tree",
        "naive-bayes",
        "classifier",
    )
    assert (found.settings.step, found.settings.requests_per_minute) == (0.5, 7)
    assert found.settings.state == tmp_path.resolve() / "service.sqlite3"


def test_a_column_alone_predicts_nothing(tmp_path: Path) -> None:
    text = BASE + 'rows = 9\n[data.columns]\n"1" = ["f", "m"]\nname = { names = true }\n'
    found = load_configuration(config(tmp_path, text))
    assert found.sets["pay"].questions == ("most-frequent", "keys", "count", "histogram")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expected a data set with [data.columns] or [data.graph]"),
        (BASE + "rows = 3", "Expected a data set with [data.columns]"),
        (BASE + "row = 3\n" + COLUMN, "Unknown key 'row'"),
        (BASE + "rows = 0\n" + COLUMN, "a whole number above 0"),
        (BASE + "questions = ['tree']\n" + COLUMN, "that the facts are enough for"),
        (BASE + COLUMN.replace("lower = 0", "lower = 'a'"), "Expected lower to be a number"),
        (BASE + COLUMN.replace("lower = 0, ", "lower = 9, "), "lower < upper"),
        (BASE + COLUMN + "x = { values = [1, 1] }", "all different"),
        (BASE + COLUMN + "x = { values = ['a', 'a'] }", "different"),
        (BASE + COLUMN + "x = { names = false }", "names = true"),
        (BASE + "[data.graph]\nnodes = -1", "a number, a list or a file"),
        (BASE + COLUMN + "[service]\nsteps = 1", "Unknown key 'steps'"),
        (BASE + COLUMN + "[service]\nstep = 0", "above 0"),
        (BASE + COLUMN + "[service]\nworkers = 1.5", "a whole number"),
        (BASE + COLUMN + "[service]\nhosts = 'h'", "a list of texts"),
        (BASE.replace('"pay.csv"', '"a", "b"') + COLUMN, "one of files"),
        (BASE + 'tables = ["postgresql://h/d"]\n' + COLUMN, "one of files, or one of tables"),
        (TABLE.format("mysql://h/d") + COLUMN, "Expected tables = ['postgresql://...']"),
        (TABLE.format("sc://h:15002") + COLUMN, "the name of a table of Spark"),
        (BASE.replace('name = "pay"', 'name = "a/b"') + COLUMN, "without '/'"),
        ((BASE + COLUMN) * 2, "The name 'pay' occurs twice"),
    ],
)
def test_invalid_configurations_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        load_configuration(config(tmp_path, text))


NAMES = "name = { names = true }\n"


def test_records_are_named_only_where_their_number_is_public(tmp_path: Path) -> None:
    private = load_configuration(config(tmp_path, BASE + COLUMN + NAMES))
    numbers = ("count", "histogram", "total", "mean")
    assert private.sets["pay"].questions == ("percentile", *numbers)
    asked = BASE + "questions = ['percentile-record']\n" + COLUMN + NAMES
    with pytest.raises(ParameterError, match="that the facts are enough for"):
        load_configuration(config(tmp_path, asked))
    public = load_configuration(config(tmp_path, BASE + "units-public = true\n" + COLUMN + NAMES))
    assert public.sets["pay"].questions == ("percentile", "percentile-record", *numbers)


def test_questions_are_those_of_the_unit(tmp_path: Path) -> None:
    """A graph is asked about its edges, a table of persons names no single row."""
    graph = load_configuration(config(tmp_path, BASE + "[data.graph]\nnodes = 3\n"))
    assert graph.sets["pay"].questions == ("top-k",)
    people = BASE + "unit = 'who'\nunits-public = true\n" + COLUMN + NAMES
    asked = load_configuration(config(tmp_path, people)).sets["pay"].questions
    assert asked == ("percentile", "count", "histogram", "total", "mean")


def test_no_question_is_planned_about_the_ids_of_persons(tmp_path: Path) -> None:
    """The only unlisted column names the persons: no values of it can be released."""
    people = BASE + "unit = 'who'\n" + COLUMN + "who = { values = [] }\n"
    asked = load_configuration(config(tmp_path, people)).sets["pay"].questions
    assert "keys" not in asked
    assert "percentile" in asked


PUBLIC = "units-public = true\n"
WARDS = "ward = { values = ['A'], public = true }\n"
OTHER = BASE.replace('name = "pay"', 'name = "other"')


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (BASE + COLUMN, OTHER + PUBLIC + COLUMN),
        (BASE + COLUMN, OTHER + PUBLIC),
        (BASE + COLUMN, OTHER + "[data.graph]\nnodes = 3\n"),
        (BASE + PUBLIC + COLUMN + WARDS, OTHER + PUBLIC + COLUMN),
        (BASE + COLUMN, OTHER.replace('"pay.csv"', '"."') + PUBLIC + COLUMN),
        (BASE + COLUMN, OTHER.replace('"pay.csv"', '"link.csv"') + PUBLIC + COLUMN),
        (BASE + COLUMN, OTHER.replace('"pay.csv"', '"./x/../pay.csv"') + PUBLIC + COLUMN),
    ],
)
def test_two_relations_on_the_same_rows_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], one: str, other: str
) -> None:
    (tmp_path / "pay.csv").write_text("pay\n1\n")
    (tmp_path / "link.csv").symlink_to("pay.csv")
    for text in (one + other, other + one):
        file = config(tmp_path, text)
        for load in (load_configuration, load_policy):
            with pytest.raises(ParameterError, match="rows in common") as caught:
                load(file)
            assert "\n" not in str(caught.value)
        assert run(["serve", str(file), "--check"]) == 2
        assert "need one relation" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (BASE + COLUMN, OTHER + COLUMN),
        (BASE + COLUMN + WARDS, OTHER + COLUMN),
        (BASE + PUBLIC + COLUMN + WARDS, OTHER + PUBLIC + "[data.columns]\n" + WARDS),
        (BASE + COLUMN, OTHER.replace('"pay.csv"', '"pay.csv.gz"') + PUBLIC + COLUMN),
        (
            BASE.replace("pay.csv", "db.sqlite") + "table = 'a'\n" + COLUMN,
            OTHER.replace("pay.csv", "db.sqlite") + "table = 'b'\n" + PUBLIC + COLUMN,
        ),
    ],
)
def test_one_relation_or_other_rows_are_served(tmp_path: Path, one: str, other: str) -> None:
    assert set(load_configuration(config(tmp_path, one + other)).sets) == {"pay", "other"}


def test_budgets_of_two_relations_for_the_same_rows_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who asks would choose the relation by naming a budget."""
    text = BASE.replace('["pay"]', '["pay", "old"]')
    file = config(tmp_path, 'ledger = "ledger"\n' + text + COLUMN)
    (tmp_path / "pay.csv").write_text("pay\n1\n")
    ledger = Ledger(tmp_path / "ledger")
    ledger.create("pay", epsilon=1, neighbours="add-remove-row")
    ledger.create("old", epsilon=1, neighbours="replace-one")
    assert run(["serve", str(file), "--check"]) != 0
    told = capsys.readouterr().err
    assert "budgets of different relations: 'pay' (add-remove-row), 'old' (replace-one)" in told


def test_a_budget_of_replaced_rows_pays_twice_for_a_private_number_of_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Percentiles of 0.2 had such budgets; they keep working."""
    told = checked(tmp_path, capsys, "pay\n1\n", "replace-one")
    names = ("percentile", "count", "histogram", "total", "mean")
    assert told == f"pay: {', '.join(f'{name} (add-remove-row)' for name in names)}\n"


def test_the_same_file_is_a_policy(tmp_path: Path) -> None:
    file = config(tmp_path, BASE + COLUMN + "[service]\nstep = 1\n")
    (tmp_path / "pay.csv").write_text("pay\n1\n")
    found = check_policy(tmp_path / "pay.csv", "pay", file)
    assert found is not None and found.name == "pay"


def checked(place: Path, capsys: pytest.CaptureFixture[str], csv: str, near: str) -> str:
    file = config(place, 'ledger = "ledger"\n' + BASE + COLUMN)
    (place / "pay.csv").write_text(csv)
    Ledger(place / "ledger").create("pay", epsilon=1, neighbours=near)
    code = run(["serve", str(file), "--check"])
    told = capsys.readouterr()
    assert (code == 0) == (told.err == "")
    return told.out + told.err


def test_check_reads_no_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = checked(tmp_path, capsys, "pay\nno number at all\n", "add-remove-row")
    assert told == (
        "pay: percentile (add-remove-row), count (add-remove-row), histogram (add-remove-row), "
        "total (add-remove-row), mean (add-remove-row)\n"
    )
    assert not Ledger(tmp_path / "ledger").history("pay")


@pytest.mark.parametrize(
    ("csv", "near", "message"),
    [
        ("salary\n1\n", "replace-one", "Expected a column 'pay'"),
        ("pay\n1\n", "add-remove-edge", "no budget for add-remove-row neighbours"),
    ],
)
def test_check_finds_what_is_missing(tmp_path: Path, capsys, csv, near, message) -> None:
    assert message in checked(tmp_path, capsys, csv, near)


def test_check_needs_every_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = config(tmp_path, 'ledger = "ledger"\n' + BASE + COLUMN)
    assert run(["serve", str(file), "--check"]) == 2
    assert "There is no ledger" in capsys.readouterr().err


def test_the_file_is_dampen_toml_if_none_is_named(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DAMPEN_CONFIG", raising=False)
    assert run(["serve"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("dampen: There is no dampen.toml. Pass the file")
    assert run(["serve", "other.toml", "--demo"]) == 2
    other = BASE.replace('"pay"', '"plain"')
    config(tmp_path, 'ledger = "ledger"\n' + BASE + COLUMN + other)
    (tmp_path / "pay.csv").write_text("pay\n1\n")
    Ledger(tmp_path / "ledger").create("pay", epsilon=1, neighbours="add-remove-row")
    capsys.readouterr()
    assert run(["serve", "--check"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("pay: percentile")
    assert told.endswith("\nplain: not served, because it states no [data.columns] and no "
                         "[data.graph]\n")  # fmt: skip
    (tmp_path / "dampen.toml").rename(tmp_path / "named.toml")
    monkeypatch.setenv("DAMPEN_CONFIG", "named.toml")
    assert run(["serve", "--check"]) == 0


def test_tokens_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(config(tmp_path, BASE + COLUMN))
    assert run(["token", "create", "ana", "--config", file]) == 0
    token = capsys.readouterr().out.strip()
    store = Tokens(tmp_path.resolve() / "service.sqlite3")
    found = store.find(token)
    assert found is not None and (found.analyst, found.role) == ("ana", "analyst")
    assert store.find(token + "x") is None
    run(["token", "list", "--config", file, "--json"])
    (listed,) = json.loads(capsys.readouterr().out)
    assert token not in json.dumps(listed)
    assert run(["token", "revoke", listed["id"], "--config", file]) == 0
    assert store.find(token) is None
    assert run(["token", "revoke", "ana", "--config", file]) == 2
    assert run(["token", "create", " ", "--config", file]) == 2
    assert run(["token", "create", "ana", "--role", "king", "--config", file]) == 2
