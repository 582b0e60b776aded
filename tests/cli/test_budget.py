"""`dampen budget`, and what every command does with a budget."""

import csv
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dampen.ledger import Ledger, worker
from dampen.questions.frequency import most_frequent

COUNT = ("most-frequent", "visits.csv", "--value", "diagnosis", "--categories", "flu,cold")


def test_a_budget_from_creation_to_refusal(dampen, place: Path) -> None:
    made = dampen("budget", "create", "visits", "--epsilon", "1", "--neighbours", "add-remove-row")
    assert (made.code, made.err) == (0, "")
    paid = dampen(*COUNT, "--epsilon", "0.75", "--budget", "visits", "--analyst", "audit")
    assert paid.code == 0
    assert "visits, 0.25 of 1 left" in paid.out
    refused = dampen(*COUNT, "--epsilon", "0.26", "--budget", "visits")
    assert (refused.code, refused.out) == (2, "")
    assert "0.25 of 1 is left. Nothing was charged." in refused.err
    assert refused.err.count("\n") == 1
    shown = dampen("budget", "show", "visits", "--json")
    (charge,) = json.loads(shown.out)["charges"]
    assert (charge["epsilon"], charge["analyst"]) == ("0.75", "audit")
    assert (charge["dataset"], charge["query"]) == ("visits.csv", "most-frequent k=1 of diagnosis")
    assert "audit" in dampen("budget", "show", "visits").out
    assert "visits" in dampen("budget", "show").out
    assert json.loads(dampen("budget", "show", "--json").out)[0]["left"] == "0.25"


def test_a_named_config_decides_relation_and_ledger(dampen, place: Path) -> None:
    facts = 'name = "visits"\nfiles = ["visits.csv"]\nbudgets = ["b"]\nunit = "patient"\n'
    (place / "clinic.toml").write_text(f'ledger = "own.sqlite3"\n\n[[data]]\n{facts}')
    made = dampen("budget", "create", "b", "--epsilon", "1", "--config", "clinic.toml")
    assert "one patient, with all their rows" in made.out
    shown = dampen("budget", "show", "b", "--config", "clinic.toml")
    assert (shown.code, (place / "own.sqlite3").exists()) == (0, True)
    (place / "clinic.toml").rename(place / "dampen.toml")
    assert "unit" in dampen("budget", "show", "--json").out
    assert dampen("report").out.startswith("# Privacy report")


def test_both_charges_of_a_question_are_added_up(dampen, place: Path) -> None:
    rows = "\n".join(str(i % 40) for i in range(4000))
    (place / "ages.csv").write_text(f"age\n{rows}\n")
    dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "add-remove-row")
    asked = ("percentile", "ages.csv", "--value", "age", "-p", "50", "--budget", "b")
    paid = dampen(*asked, "--epsilon", "0.5")
    assert "charged as" not in paid.out
    assert "b, 0.5 of 1 left" in paid.out


def test_json_states_the_remainder(dampen) -> None:
    dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "add-remove-row")
    paid = dampen(*COUNT, "--epsilon", "0.5", "--budget", "b", "--json")
    told = json.loads(paid.out)["budget"]
    assert told == {"name": "b", "charged": "0.5", "left": "0.5", "total": "1"}


def test_a_converted_charge_is_reported(dampen) -> None:
    dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "replace-one")
    paid = dampen(*COUNT, "--epsilon", "0.25", "--budget", "b")
    assert "b, 0.5 of 1 left" in paid.out
    assert "epsilon 0.25, charged as 0.5 for what this budget protects" in paid.out


def test_an_answer_paid_by_rho(dampen) -> None:
    dampen("budget", "create", "b", "--epsilon", "1", "--delta", "1e-6",
           "--neighbours", "add-remove-row")  # fmt: skip
    paid = dampen(*COUNT, "--rho", "0.005", "--mechanism", "em", "--budget", "b", "--json")
    assert json.loads(paid.out)["epsilon"] == "0.2"
    assert json.loads(dampen("budget", "show", "b", "--json").out)["charges"][0]["rho"] == "0.005"
    assert "composed" in json.loads(dampen("budget", "show", "b", "--json").out)
    assert "if all prices and noise were fixed beforehand" in dampen("budget", "show", "b").out
    both = dampen(*COUNT, "--rho", "0.005", "--epsilon", "1")
    assert both.code == 2
    assert "Expected --epsilon or --rho, one of them" in both.err
    assert dampen(*COUNT, "--rho", "-1").err == "dampen: Expected rho > 0, got rho=-1.\n"


def test_a_ledger_that_other_users_may_write_causes_a_warning(dampen, place: Path) -> None:
    dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "replace-one")
    (place / "ledger.sqlite3").chmod(0o666)
    worker.close_all()
    assert "warning: Other users may write the file of the ledger" in dampen("budget", "show").err


def test_data_that_cannot_be_answered_costs_the_charge_and_says_so(dampen, place: Path) -> None:
    """A record is named among rows whose number is public, and there is none."""
    dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "replace-one")
    (place / "salaries.csv").write_text("SECRET,salary\n")
    asked = ("percentile-record", "salaries.csv", "--value", "salary", "-p", "95", "--upper", "9")
    bad = dampen(*asked, "--epsilon", "0.25", "--budget", "b")
    assert bad.code == 3
    assert "The charge of epsilon 0.25 (" in bad.err
    assert "SECRET" not in bad.err
    assert Ledger(place / "ledger.sqlite3").remaining("b") == 0.75


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["budget", "create", "b"], "Missing option '--epsilon'"),
        (
            ["budget", "create", "b", "--epsilon", "x", "--neighbours", "replace-one"],
            "got epsilon='x'",
        ),
        (["budget", "create", "b", "--epsilon", "1", "--neighbours", "rows"], "one of replace-one"),
        (["budget", "create", "", "--epsilon", "1", "--neighbours", "replace-one"], "a name"),
        (["budget", "create", "a", "--epsilon", "1", "--neighbours", "replace-one"], "already"),
        (["budget", "show", "ab"], "no budget 'ab'"),
        (["budget", "show", "--ledger", "none"], "There is no ledger"),
        (["budget", "show", "--ledger", "visits.csv"], "not a ledger"),
        (["budget", "answer", "7"], "Expected a head or an id"),
        (["budget", "raise", "a", "--epsilon", "0.5"], "Expected epsilon >= 1"),
        (["budget", "thaw", "a", "--spent", "1"], "Expected no --spent"),
        (["budget", "restore", "visits.csv"], "is intact"),
        (["budget", "backup", "visits.csv"], "There is a file"),
        (["budget", "verify", "--head", "1-" + "0" * 16], "does not contain"),
        (["budget", "shwo"], "No such command"),
        ([*COUNT, "--epsilon", "1", "--budget", "zzz"], "no budget 'zzz'"),
        ([*COUNT, "--epsilon", "1", "--analyst", "me"], "Expected --budget"),
        ([*COUNT, "--epsilon", "0.6", "--budget", "a"], "cannot pay epsilon 1.2"),
    ],
)
def test_mistakes_are_one_line_and_cost_nothing(dampen, place: Path, arguments, message) -> None:
    dampen("budget", "create", "a", "--epsilon", "1", "--neighbours", "replace-one")
    wrong = dampen(*arguments)
    assert (wrong.code, wrong.out) == (2, "")
    assert message in wrong.err
    assert wrong.err.count("\n") == 1
    assert Ledger(place / "ledger.sqlite3").spent("a") == 0


def test_a_damaged_ledger_is_one_line(dampen, place: Path) -> None:
    dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "add-remove-row")
    worker.close_all()
    ledger = place / "ledger.sqlite3"
    ledger.write_bytes(ledger.read_bytes()[:-1000])
    refused = dampen(*COUNT, "--epsilon", "0.5", "--budget", "b")
    assert (refused.code, refused.out) == (2, "")
    assert "Nothing was charged." in refused.err
    assert refused.err.count("\n") == 1


def test_a_lost_answer_can_be_fetched(dampen, place: Path) -> None:
    account = Ledger(place / "ledger.sqlite3").create("b", epsilon=1, neighbours="add-remove-row")
    paid = most_frequent(["flu", "flu"], categories=["flu", "cold"], epsilon=1, budget=account)
    assert paid.charge is not None
    assert dampen("budget", "answer", paid.charge).out.strip() == paid.to_json()
    missing = dampen("budget", "answer", "7-" + "0" * 16)
    assert (missing.code, missing.out) == (2, "")
    assert "no charge 7-0000000000000000" in missing.err


def test_a_curator_raises_caps_freezes_and_closes(dampen) -> None:
    dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "add-remove-row",
           "--largest", "0.5", "--each", "0.75", "--dataset", "visits.csv")  # fmt: skip
    assert "at most epsilon 0.5" in dampen(*COUNT, "--epsilon", "0.6", "--budget", "b").err
    assert dampen(*COUNT, "--epsilon", "0.5", "--budget", "b").code == 0
    assert "is left for this analyst" in dampen(*COUNT, "--epsilon", "0.5", "--budget", "b").err
    assert "epsilon" in dampen("budget", "raise", "b", "--epsilon", "2").out
    assert dampen("budget", "cap", "b", "--epsilon", "2", "--analyst", "ana").code == 0
    ask = (*COUNT, "--epsilon", "0.5", "--budget", "b", "--analyst", "ana")
    assert dampen(*ask).code == 0
    assert "frozen" in dampen("budget", "freeze", "b", "--why", "audit", "--who", "eve").out
    assert "is frozen. Nothing was charged." in dampen(*ask).err
    assert dampen("budget", "thaw", "b").code == 0
    wrong = dampen(*ask, "--dataset", "other")
    assert "for the data set 'visits.csv', not for 'other'" in wrong.err
    assert "closed" in dampen("budget", "close", "b").out
    lines = [json.loads(line) for line in dampen("budget", "export", "b").out.splitlines()]
    kinds = [line["kind"] for line in lines]
    assert kinds == ["create", "refusal", "charge", "refusal", "raise", "cap", "charge", "freeze",
                     "refusal", "thaw", "refusal", "close"]  # fmt: skip
    assert (lines[7]["who"], lines[7]["why"]) == ("eve", "audit")
    table = list(csv.DictReader(dampen("budget", "export", "--format", "csv").out.splitlines()))
    assert [row["id"] for row in table] == [line["id"] for line in lines]


POLICY = """
ledger = "books.sqlite3"
[[data]]
name = "visits"
budgets = ["visits"]
files = ["visits.csv"]
"""


def test_registered_data_is_asked_with_its_budget_alone(dampen, place: Path) -> None:
    (place / "dampen.toml").write_text(POLICY)
    create = ("budget", "create", "visits", "--epsilon", "1", "--neighbours", "add-remove-row")
    assert dampen(*create, "--ledger", "books.sqlite3").code == 0
    dampen(*create, "--ledger", "ledger.sqlite3")  # another one of that name
    for extra in ([], ["--budget", "other"], ["--budget", "visits", "--ledger", "ledger.sqlite3"]):
        refused = dampen(*COUNT, "--epsilon", "0.5", *extra)
        assert (refused.code, refused.out) == (2, "")
        assert "Nothing was charged, no data was read." in refused.err
    assert dampen(*COUNT, "--epsilon", "0.5", "--budget", "visits").code == 0
    (charge,) = Ledger(place / "books.sqlite3").history("visits")
    assert charge.dataset == "visits"
    assert Ledger(place / "ledger.sqlite3").spent("visits") == 0
    (place / "strict.toml").write_text("registered-only = true")
    strict = ("--epsilon", "0.5", "--config", "strict.toml", "--budget", "visits")
    assert "is not registered in strict.toml" in dampen(*COUNT, *strict).err


def test_csv_has_no_formulas(dampen) -> None:
    dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "add-remove-row")
    dampen(*COUNT, "--epsilon", "0.5", "--budget", "b", "--analyst", "=1+1")
    row = list(csv.DictReader(dampen("budget", "export", "--format", "csv").out.splitlines()))[1]
    assert row["analyst"] == "'=1+1"


def test_backup_verify_restore(dampen, place: Path) -> None:
    dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "add-remove-row")
    assert dampen(*COUNT, "--epsilon", "0.25", "--budget", "b").code == 0
    head = json.loads(dampen("budget", "verify", "--json").out)["head"]
    copied = dampen("budget", "backup", "monday")
    assert (copied.code, copied.err) == (0, "")
    assert dampen("budget", "backup", "monday").code == 2
    assert dampen(*COUNT, "--epsilon", "0.25", "--budget", "b").code == 0
    assert dampen("budget", "verify", "--head", head).code == 0
    worker.close_all()
    (place / "ledger.sqlite3").write_bytes((place / "monday").read_bytes())
    assert "went backwards" in dampen(*COUNT, "--epsilon", "0.25", "--budget", "b").err
    assert "went backwards" in dampen("budget", "show").err
    restored = dampen("budget", "restore", "monday")
    assert (restored.code, restored.err) == (0, "")
    assert "charges may be" in restored.out
    assert "thaw NAME --spent E" in dampen(*COUNT, "--epsilon", "0.25", "--budget", "b").err
    thawed = dampen("budget", "thaw", "b", "--spent", "0.25")
    assert "left        0.5" in thawed.out
    assert dampen("budget", "verify", "--head", head).code == 0


AS_NOBODY = """
import contextlib, io, os, sys
from dampen.ledger import worker
from dampen.cli.main import main, run
if os.geteuid() == 0:  # as root nothing is read-only; so ask once as root, which loads all modules
    with contextlib.redirect_stdout(io.StringIO()):
        assert run(sys.argv[1:]) == 0
    worker.close_all()
    os.setuid(65534)
main()
"""


def test_a_read_only_ledger_is_one_line(dampen, place: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        ledger = Path(directory, "ledger")
        dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "add-remove-row",
               "--ledger", str(ledger))  # fmt: skip
        table = shutil.copy(place / "visits.csv", directory)
        worker.close_all()
        ledger.chmod(0o444)
        ledger.with_name("ledger-head").chmod(0o444)
        Path(directory).chmod(0o555)
        asked = ["most-frequent", table, *COUNT[2:], "--epsilon", "0.5", "--budget", "b"]
        refused = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, *asked, "--ledger", str(ledger)],
            capture_output=True,
            text=True,
            check=False,
            cwd=directory,
        )
        Path(directory).chmod(0o755)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "it is read-only. Nothing was charged." in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_a_report_names_whom_the_facts_protect(dampen, place: Path) -> None:
    (place / "dampen.toml").write_text(
        '[[data]]\nname = "stays"\nbudgets = ["stays"]\nfiles = ["stays.csv"]\nunit = "patient"\n'
    )
    assert dampen("budget", "create", "stays", "--epsilon", "1").code == 0
    asked = ("count", "stays", "--epsilon", "0.25", "--budget", "stays", "--analyst", "audit")
    assert dampen(*asked).code == 0
    shown = dampen("report", "stays")
    assert "| Protects | one patient, with all their rows |" in shown.out
    assert "| audit | 1 | 0.25 |" in shown.out
    assert shown.out == dampen("report").out


def test_a_report_goes_to_a_file_but_never_over_the_ledger(dampen, place: Path) -> None:
    dampen("budget", "create", "b", "--epsilon", "1", "--neighbours", "replace-one")
    made = dampen("report", "b", "--format", "html", "-o", "report.html")
    assert (made.code, made.err) == (0, "")
    assert (place / "report.html").read_text().startswith("<!doctype html>")
    refused = dampen("report", "-o", "ledger.sqlite3")
    assert (refused.code, refused.out) == (2, "")
    assert dampen("report", "-o", "missing/report.md").code == 2
    assert dampen("report", "nothing").code == 2
