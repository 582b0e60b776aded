"""Commands that are made from the declarations of questions."""

import json
from pathlib import Path
from typing import Any

import click
import pytest

from dampen.cli.lazy import in_options
from dampen.cli.main import COMMANDS, group, run
from dampen.cli.options import options_of, typed_value
from dampen.errors import ParameterError
from dampen.ledger import Ledger
from dampen.questions import QUESTIONS, question_type
from dampen.releases.question import Kind, Parameter, parameters

COUNT = ("most-frequent", "visits.csv", "--value", "diagnosis", "--epsilon", "0.5")
LISTED = (*COUNT, "--categories", "flu,cold")
COMMON = {
    "--schema", "--unit", "--rows-per-unit", "--table", "--epsilon", "--rho", "--expect",
    "--budget", "--ledger",
    "--analyst", "--dataset", "--config", "--output", "--verbose", "--json",
}  # fmt: skip
FOR_PYTHON_ALONE: dict[str, set[str]] = {
    "most-frequent": {"public"},
    "keys": set(),
    "top-groups": set(),
    "groups-above": set(),
    "percentile": set(),
    "percentile-record": set(),
    "count": set(),
    "histogram": set(),
    "total": set(),
    "mean": set(),
    "top-k": {"public"},
    "tree": {"stages", "domains", "public"},
    "regression-tree": {"domains", "public"},
    "naive-bayes": {"domains", "public"},
    "classifier": {"domains", "public"},
}
"""Declared parameters that no command has."""


def command_of(name: str) -> click.Command:
    root = group()
    found = root.get_command(click.Context(root), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_declared_parameter_is_an_option_and_every_option_is_declared(dampen, name) -> None:
    kind = question_type(name)
    declared = parameters(kind)
    common = COMMON | ({"--header"} if kind.data == "table" else set())
    stated = {p.name: {spelled for option in options_of(p) for spelled in option.opts}
              for p in declared}  # fmt: skip
    assert {name for name, options in stated.items() if not options} == FOR_PYTHON_ALONE[name]
    own = set().union(*stated.values())
    assert not own & common
    options = [o for o in command_of(name).params if isinstance(o, click.Option)]
    spelled = {each for option in options for each in option.opts}
    assert spelled - {"-o"} == own | common
    shown = " ".join(dampen(name, "--help").out.split())
    assert spelled <= set(shown.replace(",", " ").split())
    for parameter in declared:
        assert not stated[parameter.name] or " ".join(parameter.help.split()) in shown
        # Lines may end at a hyphen.
        assert all(choice in shown.replace("- ", "-") for choice in parameter.choices)


def test_the_exceptions_are_questions() -> None:
    assert FOR_PYTHON_ALONE.keys() == QUESTIONS.keys()


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_are_listed_by_the_first_line_of_their_docstring(name) -> None:
    kind = question_type(name)
    assert (kind.__doc__ or "").partition("\n")[0] == QUESTIONS[name].summary
    assert kind.name == name
    assert f"dampen {name} " in kind.examples[0]


def test_a_question_is_not_a_command_of_its_own() -> None:
    assert not QUESTIONS.keys() & COMMANDS.keys()
    for name in QUESTIONS:
        module = f"{name.replace('-', '_')}.py"
        assert not (Path(__file__).parents[2] / "src/dampen/cli" / module).exists()


def test_the_answer_comes_first_then_accuracy_cost_and_remainder(dampen) -> None:
    dampen("budget", "create", "b", "--epsilon", "3", "--neighbours", "add-remove-row")
    lines = dampen(*LISTED, "--budget", "b").out.splitlines()
    assert [line.split()[0] for line in lines] == ["answer", "accuracy", "lead", "cost", "budget"]
    assert lines[4].split(None, 1)[1] == "b, 2.5 of 3 left"
    more = dampen(*LISTED, "--budget", "b", "--verbose").out.splitlines()
    assert [line.split()[0] for line in more[5:]] == [
        "mechanism",
        "neighbours",
        "protects",
        "charge",
    ]


def test_expect_is_free_and_reads_no_row(dampen, place: Path) -> None:
    dampen("budget", "create", "b", "--epsilon", "3", "--neighbours", "add-remove-row")
    asked = (*LISTED, "--budget", "b")
    before = dampen(*asked, "--expect")
    (place / "visits.csv").write_text("diagnosis,day\nSECRET,1\n")
    told = dampen(*asked, "--expect")
    assert told == before
    assert (told.code, told.err) == (0, "")
    assert [line.split()[0] for line in told.out.splitlines()] == ["accuracy", "cost", "budget"]
    assert "3 of 3 left" in told.out
    assert "pf" in dampen(*asked, "--expect", "--verbose").out
    plan = json.loads(dampen(*asked, "--expect", "--json").out)
    assert plan["accuracy"]["error"] == 4
    assert (plan["epsilon"], plan["mechanism"]) == ("0.5", "pf")
    assert plan["budget"]["left"] == "3"
    assert Ledger(place / "ledger.sqlite3").spent("b") == 0


def test_nothing_is_taken_from_the_data_that_could_be_stated(dampen) -> None:
    for asked in (COUNT, (*COUNT, "--expect")):
        told = dampen(*asked)
        assert (told.code, told.out) == (2, "")
        assert "Expected --categories, the public list of them" in told.err


SCHEMA = """
[[data]]
name = "visits"
rows = 3

[data.columns]
diagnosis = ["flu", "cold"]
"""


def test_facts_come_from_a_schema(dampen, place: Path) -> None:
    (place / "visits.toml").write_text(SCHEMA)
    done = dampen(*COUNT[:-1], "20", "--schema", "visits.toml", "--json")
    assert done.err == ""
    assert json.loads(done.out)["parameters"] == {"categories": 2}
    stated = dampen(*COUNT[:-1], "20", "--schema", "visits.toml", "--json",
                    "--categories", "flu,cold,covid")  # fmt: skip
    assert json.loads(stated.out)["parameters"] == {"categories": 3}


def test_a_missing_fact_is_named(dampen) -> None:
    given = ("top-groups", "stays.csv", "--value", "days", "--by", "hospital", "--epsilon", "1")
    wrong = dampen(*given)
    assert (wrong.code, wrong.out) == (2, "")
    assert "--groups" in wrong.err
    (Path("stays.toml")).write_text(
        "data = [{ name = 'stays', columns = { hospital = ['H1', 'H2', 'H3'], "
        "days = { lower = 0, upper = 100, step = 1 } } }]"
    )
    assert dampen(*given, "--schema", "stays.toml").code == 0


def test_a_guess_causes_a_warning_before_the_charge(dampen, place: Path) -> None:
    (place / "visits.toml").write_text(SCHEMA)
    dampen("budget", "create", "b", "--epsilon", "0.1", "--neighbours", "add-remove-row")
    refused = dampen(*COUNT, "--schema", "visits.toml", "--budget", "b")
    warned, error = refused.err.splitlines()
    assert warned.startswith("warning: ε = 0.5 is too small for this question")
    assert error.startswith("dampen: ")
    assert (refused.code, refused.out) == (2, "")
    assert Ledger(place / "ledger.sqlite3").spent("b") == 0
    as_json = dampen(*COUNT, "--schema", "visits.toml", "--json")
    assert "too small" in json.loads(as_json.err)["warning"]


def test_an_answer_is_written_to_a_file_that_is_not_in_use(dampen, place: Path) -> None:
    done = dampen(*LISTED, "-o", "answer.json")
    assert done.out.splitlines()[-1].split() == ["written", "to", "answer.json"]
    assert json.loads((place / "answer.json").read_text())["answer"] in ("flu", "cold")
    before = (place / "visits.csv").read_bytes()
    assert dampen(*LISTED, "-o", "visits.csv").code == 2
    assert (place / "visits.csv").read_bytes() == before


def test_labels_with_commas_are_quoted(dampen, place: Path) -> None:
    (place / "visits.csv").write_text('diagnosis\n"flu, severe"\n' + "cold\n" * 3)
    done = dampen(*COUNT, "--categories", '"flu, severe", cold', "--json")
    assert json.loads(done.out)["parameters"] == {"categories": 2}
    wrong = dampen(*COUNT, "--categories", '"flu, severe')
    assert wrong.code == 2
    assert "--categories-file FILE" in wrong.err


def typed(kind: Kind, *arguments: str, edges: bool = False, **told: Any) -> Any:
    """The value that a parameter `x_y` gets from a command line."""
    parameter = Parameter("x_y", kind, "What.", **{"default": None} | told)
    command = click.Command("ask", params=options_of(parameter))
    context = command.make_context("ask", list(arguments))
    return typed_value(parameter, context.params, edges=edges)


def test_every_kind_of_parameter(place: Path) -> None:
    (place / "list.txt").write_text("a\nb, c\n")
    (place / "nodes.txt").write_text("1\n2\n")
    assert typed("column", "--x-y", "a") == "a"
    assert typed("columns", "--x-y", 'a,"b,c"') == ["a", "b,c"]
    assert typed("count", "--x-y", "3") == 3
    assert typed("count", "-k", "3", short="k") == 3
    assert typed("count", "--x-y", "3", short="k") == 3
    assert typed("exact", "--x-y", "-1/3") == "-1/3"
    assert typed("flag", "--x-y") is True
    assert typed("flag", default=False) is None
    assert typed("word", "--x-y", "b", choices=("a", "b")) == "b"
    assert typed("labels", "--x-y", "1, 2") == ["1", "2"]
    assert typed("labels", "--x-y", "1, 2", edges=True) == [1, 2]
    assert typed("labels", "--x-y", "1,a", edges=True) == ["1", "a"]
    assert typed("labels", "--x-y-file", "list.txt") == ["a", "b, c"]
    assert typed("labels", "--x-y-file", "nodes.txt", edges=True) == [1, 2]
    assert typed("percentiles", "--x-y", "deciles") == "deciles"
    assert typed("percentiles", "--x-y", "50") == "50"
    assert typed("percentiles", "--x-y", "1,5, 7.5,...,12.5") == ["1", "5", "7.5", "10", "12.5"]
    assert typed("other") is None
    for given in ("...", "10,...,90", "10,20,...", "10,20,...,95", "20,10,...,5", "a,b,...,c"):
        with pytest.raises(ParameterError, match=r"such as 10,20,\.\.\.,90"):
            typed("percentiles", "--x-y", given)


def test_a_file_is_not_taken_for_a_list(dampen, place: Path) -> None:
    (place / "nodes.txt").write_text("1\n2\n")
    wrong = dampen("top-k", "follows.csv.gz", "--epsilon", "1", "--nodes", "nodes.txt")
    assert (wrong.code, wrong.out) == (2, "")
    assert "use --nodes-file nodes.txt" in wrong.err


def test_help_names_choices_and_defaults() -> None:
    def shown(kind: Kind, help: str, default: Any, **told: Any) -> str:
        (option,) = options_of(Parameter("x", kind, help, default, **told))
        return option.help or ""

    assert shown("exact", "Lower end.", 0.0) == "Lower end. [default: 0]"
    assert shown("count", "Rows.", 1) == "Rows. [default: 1]"
    assert shown("flag", "In order.", False) == "In order."
    assert shown("word", "How.", None, choices=("a", "b")) == "How. One of a, b."
    assert shown("word", "How: old or new.", "old", choices=("old", "new")) == (
        "How: old or new. [default: old]"
    )


def test_a_required_parameter_is_named(dampen) -> None:
    wrong = dampen("most-frequent", "visits.csv", "--epsilon", "1")
    assert wrong.code == 2
    assert "Missing option '--value'" in wrong.err


def test_only_exact_references_to_parameters_become_options() -> None:
    flag = Parameter("in_order", "flag", "What.", None)
    word = Parameter("release", "word", "What.", None, choices=("value",))
    many = Parameter("groups", "labels", "What.", None)
    params = [option for each in (flag, word, many) for option in options_of(each)]
    command = click.Command("ask", params=params)
    told = "Pass in_order=True (release='value'), groups=[...], groups= or release=."
    assert in_options(told, command) == (
        "Pass --in-order (--release value), --groups A,B,..., --groups or --release."
    )
    for path in ("groups=1/a.csv", "release=x", "my-groups=", "in_order=False", "a/groups="):
        assert in_options(path, command) == path


@pytest.mark.parametrize("question", ["most-frequent x.csv --value g", "top-k e.txt"])
def test_errors_name_nothing_that_cannot_be_typed(
    question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("g\na\n")
    (tmp_path / "e.txt").write_text("a b\nb c\n")
    assert run([*question.split(), "--epsilon", "1"]) == 2
    told = capsys.readouterr().err
    assert "Expected --" in told
    assert "Python" not in told
    assert "public=" not in told


REGISTERED = """
[[data]]
name = "ours"
files = ["stays.csv"]
budgets = ["ours"]
{facts}
[data.columns]
hospital = ["H1", "H2", "H3"]
days = {{ lower = 0, upper = 100 }}
"""


def register(dampen, place: Path, facts: str = "", relation: str = "add-remove-row") -> None:
    dampen("budget", "create", "ours", "--epsilon", "30", "--neighbours", relation)
    (place / "dampen.toml").write_text(REGISTERED.format(facts=facts))


TOP = ("--value", "days", "--by", "hospital", "--epsilon", "9", "--json")
MEDIAN = ("--value", "days", "--step", "1", "-p", "50", "--epsilon", "9", "--json")


def test_a_registered_name_stands_for_its_file_facts_and_budget(dampen, place: Path) -> None:
    register(dampen, place)
    done = dampen("top-groups", "ours", *TOP)
    assert (done.code, done.err) == (0, "")
    made = json.loads(done.out)
    assert (made["answer"], made["neighbours"]) == ("H2", "add-remove-row")
    [charge] = Ledger(place / "ledger.sqlite3").history("ours")
    assert (charge.id, charge.dataset, charge.epsilon) == (made["charge"], "ours", 9)


@pytest.mark.parametrize("name", ["ours", "stays.csv"])
@pytest.mark.parametrize(
    ("facts", "relation"), [("", "add-remove-row"), ("units-public = true", "replace-one")]
)
def test_a_name_and_a_path_have_the_relation_of_the_facts(
    dampen, place: Path, name: str, facts: str, relation: str
) -> None:
    register(dampen, place, facts, relation)
    budget = ("--budget", "ours") if name != "ours" else ()
    made = json.loads(dampen("percentile", name, *MEDIAN, *budget).out)
    assert made["neighbours"] == relation
    assert ("n" in made["parameters"]) == (relation == "replace-one")


def test_a_typed_schema_does_not_change_the_relation(dampen, place: Path) -> None:
    register(dampen, place)
    (place / "mine.toml").write_text(
        "[[data]]\nname = 'mine'\nunits-public = true\n"
        "[data.columns]\nhospital = { values = ['H1', 'H2'], public = true }\n"
    )
    for name, *budget in (("ours",), ("stays.csv", "--budget", "ours")):
        asked = (name, *budget, "--schema", "mine.toml")
        made = json.loads(dampen("percentile", *asked, *MEDIAN).out)
        assert made["neighbours"] == "add-remove-row"
        assert "n" not in made["parameters"]
        refused = dampen(
            "percentile-record", *asked, "--value", "days", "-p", "50", "--epsilon", "1"
        )
        assert (refused.code, refused.out) == (2, "")
        assert "keeps private" in refused.err
    assert Ledger(place / "ledger.sqlite3").spent("ours") == 18


def test_a_file_comes_before_a_name(dampen, place: Path) -> None:
    register(dampen, place)
    (place / "ours").write_text("hospital,days\nH1,3\n")
    assert dampen("top-groups", "ours", *TOP).code == 2
    assert Ledger(place / "ledger.sqlite3").history("ours") == []
