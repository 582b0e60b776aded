"""`dampen.toml`: registered data can only be asked with its budget, however its file is named."""

import os
from pathlib import Path

import pytest

from dampen.errors import BudgetError, ParameterError
from dampen.ledger.policy import DataSet, check_policy, load_policy

POLICY = """
ledger = "books/ledger.sqlite3"

[[data]]
name = "payroll"
budgets = ["payroll", "payroll-edges"]
files = ["salaries.csv", "exports"]
tables = ["postgresql://hr/staff/salaries"]
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DAMPEN_CONFIG", raising=False)
    for directory in ("data/exports/2026", "elsewhere"):
        (tmp_path / directory).mkdir(parents=True)
    for file in ("data/salaries.csv", "data/exports/2026/may.csv", "data/visits.csv"):
        (tmp_path / file).write_text("a\n1\n")
    (tmp_path / "data" / "dampen.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "data"


def refused(location: object, budget: str | None = None, **options: object) -> bool:
    try:
        check_policy(location, budget, **options)  # type: ignore[arg-type]
    except BudgetError as error:
        return "Nothing was charged, no data was read." in str(error)
    return False


def test_a_registered_file_needs_its_budget(place: Path) -> None:
    assert refused(place / "salaries.csv")
    assert refused(place / "salaries.csv", "visits")
    found = check_policy(place / "salaries.csv", " PAYROLL")
    assert found is not None
    assert (found.name, found.ledger) == ("payroll", str(place / "books" / "ledger.sqlite3"))
    assert check_policy(place / "visits.csv", None) is None


def test_a_directory_holds_all_that_lies_in_it(place: Path) -> None:
    assert refused(place / "exports" / "2026" / "may.csv")
    assert refused(place / "exports")
    assert not refused(place / "exports" / "2026" / "may.csv", "payroll-edges")


def test_other_ways_to_the_same_file(place: Path) -> None:
    here = Path.cwd()
    (here / "link").symlink_to(place / "salaries.csv")
    (here / "folder").symlink_to(place / "exports")
    assert refused("link")
    assert refused("folder/2026/may.csv")
    assert refused("../data/exports/../salaries.csv")
    (here / "x:").mkdir()
    assert refused("x://../../data/salaries.csv")
    os.link(place / "salaries.csv", here / "hard")
    # Its directory has no policy; the one that was named knows the file again.
    assert refused("hard", config=place / "dampen.toml")


@pytest.mark.parametrize(
    "named", ["", "*.parquet", "p?rts/*.parquet", "parts", "**/*.parquet", "parts/../parts"]
)
def test_directories_and_patterns_of_parquet_stand_for_their_files(place: Path, named: str) -> None:
    config = place / "dampen.toml"
    more = '[[data]]\nname = "parts"\nbudgets = ["parts"]\nfiles = ["parts/a.parquet"]\n'
    config.write_text(POLICY + more)
    (place / "parts").mkdir()
    (place / "parts" / "a.parquet").touch()
    (place / "b.parquet").symlink_to(place / "parts" / "a.parquet")
    asked = os.path.join(place, named)
    assert refused(asked)
    assert refused(asked, "payroll")
    found = check_policy(asked, "parts")
    assert found is not None
    assert found.name == "parts"
    (place / "exports" / "c.parquet").touch()
    others = os.path.join(place, "other")
    os.mkdir(others)
    assert check_policy(others, None) is None
    assert refused(place, "parts")  # the files of payroll too


def test_a_pattern_names_one_data_set(place: Path) -> None:
    config = place / "dampen.toml"
    one = '[[data]]\nname = "{0}"\nbudgets = ["both"]\nfiles = ["parts/{0}.parquet"]\n'
    config.write_text(one.format("a") + one.format("b"))
    (place / "parts").mkdir()
    for name in "ab":
        (place / "parts" / f"{name}.parquet").touch()
    assert not refused(place / "parts" / "a*.parquet", "both")
    with pytest.raises(BudgetError, match="files of several data sets"):
        check_policy(place / "parts", "both")


def test_tables_are_compared_as_text(place: Path) -> None:
    config = place / "dampen.toml"
    assert refused("postgresql://hr/staff/salaries", config=config)
    assert not refused("postgresql://hr/staff/salaries", "payroll", config=config)
    assert not refused("postgresql://hr/staff/visits", config=config)


def test_the_policy_around_the_data_holds_beside_the_one_that_is_named(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = place.parent / "other.toml"
    other.write_text("registered-only = true\n")
    assert refused(place / "salaries.csv", "payroll", config=other)
    assert refused(place / "visits.csv", config=other)
    monkeypatch.setenv("DAMPEN_CONFIG", str(other))
    assert refused(place / "visits.csv")
    monkeypatch.delenv("DAMPEN_CONFIG")
    assert not refused(place / "visits.csv")


def test_the_analyst_does_not_choose_the_ledger_of_a_data_set(place: Path) -> None:
    found = check_policy(place / "salaries.csv", "payroll")
    assert found is not None
    own = str(place / "books" / "ledger.sqlite3")
    assert (
        found.place(None) == found.place(own) == found.place("../data/books/ledger.sqlite3") == own
    )
    with pytest.raises(BudgetError, match="in another ledger"):
        found.place("/tmp/mine.sqlite3")
    assert DataSet("a", ("a",)).place(None) is None
    assert DataSet("a", ("a",)).place("/tmp/mine.sqlite3") == "/tmp/mine.sqlite3"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("ledger = ", "not valid TOML"),
        (b"\xff\xfe", "not valid TOML"),
        ("ledgr = 'x'", "Unknown key 'ledgr'.*Did you mean 'ledger'"),
        ("ledger = 1", "ledger to be text"),
        ("registered-only = 'yes'", "true or false"),
        ("data = 1", "data to be an array of tables"),
        ("[[data]]\nbudgets = ['a']\nfiles = ['a']", "Expected name, text"),
        ("[[data]]\nname = 'a'\nbudgets = ['a']", "files or tables"),
        ("[[data]]\nname = 'a'\nfiles = ['a']", "Expected budgets"),
        ("[[data]]\nname = 'a'\nfiles = 'a'\nbudgets = ['a']", "a list of texts"),
        ("[[data]]\nname = 'a'\nfiles = [1]\nbudgets = ['a']", "a list of texts"),
        ("[[data]]\nname = 'a'\nbudget = 'a'", "Did you mean 'budgets'"),
        ("#" * (2**24 + 1), "at most 16 MB"),
    ],
)
def test_invalid_policies_are_refused(tmp_path: Path, content: str | bytes, message: str) -> None:
    file = tmp_path / "dampen.toml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ParameterError, match=message):
        load_policy(file)


def test_a_policy_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"Cannot read .*none\.toml"):
        check_policy(tmp_path / "x", None, config=tmp_path / "none.toml")
