"""`dampen report`: what a ledger says of its budgets, in three formats, whatever names it holds."""

import re
from fractions import Fraction
from pathlib import Path

import pytest
import yaml

from dampen.core.selection import Neighbours
from dampen.epsilon import short_text
from dampen.errors import BudgetError, ParameterError
from dampen.ledger import Ledger, report, worker
from dampen.ledger.audit import ADJACENT, FORMATS

HOSTILE = "Eve | <script>alert(1)</script> `x` *y* \x1b[31m: '\" &amp; - #"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    book = Ledger(tmp_path / "ledger.sqlite3")
    book.create("stays", epsilon="1", neighbours="add-remove-unit", dataset="stays", who="Carla")
    ask = {"neighbours": "add-remove-unit", "dataset": "stays"}
    book.charge("stays", epsilon="0.25", query="top-groups of days", mechanism="reach",
                analyst="Ana", **ask)  # fmt: skip
    book.charge("stays", epsilon="0.5", query="mean of days", mechanism="laplace", analyst="Ben",
                leaks=("nodes",), **ask)  # fmt: skip
    book.charge("stays", epsilon="0.125", query="count", mechanism="laplace", analyst="Ana", **ask)
    with pytest.raises(BudgetError):
        book.charge("stays", epsilon="0.5", query="count", mechanism="laplace", **ask)
    return book


def test_markdown_has_unit_relation_prices_questions_and_totals(ledger: Ledger) -> None:
    text = report(ledger)
    for expected in (
        "| Protects | one person, with all their rows |",
        "| ε, in all | 1 |",
        "| ε spent | 0.875 |",
        "| ε left | 0.125 |",
        f"| ρ spent | {short_text(ledger.balance('stays').spent.rho, up=True)} |",
        "| Charges | 3 |",
        "| Questions refused | 1 |",
        f"| Ana | 2 | 0.375 | 0 | {_rho(ledger, 0, 2)} |",
        f"| laplace | 2 | 0.625 | 0 | {_rho(ledger, 1, 2)} |",
        "| create ε 1 |",
        "not covered by ε: nodes",
    ):
        assert expected in text
    assert "Carla" in text
    assert ADJACENT[Neighbours.ADD_REMOVE_UNIT] in text


def _rho(ledger: Ledger, *charges: int) -> str:
    history = ledger.history("stays")
    return short_text(sum((history[i].rho for i in charges), Fraction(0)), up=True)


def test_totals_are_those_of_the_ledger_after_a_conversion(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.sqlite3")
    book.create("b", epsilon="1", neighbours="replace-one")
    book.charge("b", epsilon="0.25", neighbours="add-remove-row", query="count", mechanism="m")
    assert book.spent("b") == Fraction(1, 2)
    assert "| m | 1 | 0.5 |" in report(book, ["b"])


def test_a_budget_with_a_delta_shows_rho_and_gaussian_charges(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.sqlite3")
    book.create("b", epsilon="1", delta="1e-6", neighbours="add-remove-row")
    book.charge("b", rho="0.001", neighbours="add-remove-row", query="count", mechanism="gaussian")
    assert "| gaussian | 1 |  | 0 | 0.001 |" in report(book)
    record = yaml.safe_load(report(book, style="yaml"))["deployment"]
    assert record["dp_variant"]["variant_name"] == "Approximate DP"
    parameters = record["privacy_loss"]["privacy_parameters"]
    assert (parameters["epsilon"], parameters["delta"]) == (1, 1e-6)
    assert 0.01 < parameters["rho"] < 0.1


def test_yaml_has_the_fields_of_the_registry(ledger: Ledger) -> None:
    words = "one patient, with all their rows"
    record = yaml.safe_load(report(ledger, style="yaml", protects={"stays": words}))
    assert set(record) == {"url_slug", "deployment"}
    assert list(record["deployment"]) == [
        "basic", "dp_variant", "privacy_loss", "deployment_model", "implementation",
        "administrative",
    ]  # fmt: skip
    loss = record["deployment"]["privacy_loss"]
    assert loss["privacy_unit"] == words
    assert loss["privacy_parameters"] == {"epsilon": 1}
    assert record["deployment"]["dp_variant"] == {
        "variant_name": "Pure DP", "data_domain": "", "unprotected_quantities": "nodes",
    }  # fmt: skip
    assert "reach, laplace" in record["deployment"]["implementation"]["mechanisms"]


def test_yaml_has_a_document_for_each_budget(ledger: Ledger) -> None:
    ledger.create("other", epsilon="1/3", neighbours="replace-one")
    first, second = yaml.safe_load_all(report(ledger, style="yaml"))
    assert first["url_slug"] == "stays"
    epsilon = second["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"]
    assert Fraction(1, 3) <= Fraction(str(epsilon)) < Fraction(334, 1000)
    assert second["deployment"]["basic"]["publication_date"] == ""


@pytest.mark.parametrize("style", FORMATS)
def test_no_name_breaks_a_format(tmp_path: Path, style: str) -> None:
    book = Ledger(tmp_path / "ledger.sqlite3")
    account = book.create(
        "b", epsilon="1", neighbours="add-remove-row", dataset=HOSTILE, who=HOSTILE
    )
    account.freeze(why=HOSTILE)
    account.thaw()
    book.charge("b", epsilon="0.5", neighbours="add-remove-row", query=HOSTILE, mechanism=HOSTILE,
                analyst=HOSTILE, dataset=HOSTILE)  # fmt: skip
    text = report(book, style=style)
    assert "\x1b" not in text
    if style == "yaml":
        record = yaml.safe_load(text)["deployment"]
        assert record["implementation"]["mechanisms"].startswith(HOSTILE.replace("\x1b", "\ufffd"))
    else:
        assert "<script" not in text
    if style == "markdown":
        widths = [len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines()]
        assert set(widths) == {0, 3, 5, 6, 10}


def test_wrong_names_and_styles_are_refused(ledger: Ledger) -> None:
    with pytest.raises(ParameterError, match="one of markdown, html, yaml, got 'pdf'"):
        report(ledger, style="pdf")
    with pytest.raises(BudgetError):
        report(ledger, ["none"])


def test_an_edited_ledger_has_no_report(ledger: Ledger) -> None:
    worker.close_all()
    content = ledger.path.read_bytes()
    assert content.count(b"Carla") == 1
    ledger.path.write_bytes(content.replace(b"Carla", b"Clara"))
    with pytest.raises(BudgetError, match="damaged"):
        report(ledger)
