"""`dampen verify` and `dampen example`."""

import json
from pathlib import Path

import pytest

BROKEN = """
import dampen
from dataclasses import dataclass
from dampen.testing import Universe

@dataclass(frozen=True)
class Tripled:
    neighbours = dampen.Neighbours.ADD_REMOVE_ROW
    candidates = ("a", "b")

    def selection(self, x):
        utility = [3 * x.count("a"), x.count("b")]
        return dampen.Selection(utility, dampen.sensitivity.constant(1))

problem = Tripled()
universe = Universe.add_remove_row(["a", "b"], max_rows=2)
"""


def test_a_sound_problem(dampen) -> None:
    done = dampen("verify", "my_problem.py")
    assert (done.code, done.err) == (0, "")
    assert "holds  admissible" in done.out
    assert "FAILS" not in done.out


def test_a_broken_problem_shows_its_counterexample(dampen, place: Path) -> None:
    (place / "broken.py").write_text(BROKEN)
    done = dampen("verify", "broken.py")
    assert done.code == 1
    assert "FAILS  privacy loss" in done.out
    assert "y = ('a',)" in done.out
    verdicts = json.loads(dampen("verify", "broken.py", "--json").out)
    assert {v["outcome"] for v in verdicts} == {"holds", "fails"}
    assert all((v["counterexample"] != "") == (v["outcome"] == "fails") for v in verdicts)


def test_unchecked_claims_and_weak_universes_are_reported(dampen, place: Path) -> None:
    weak = BROKEN.replace("3 * ", "").replace("constant(1)", "constant(1), 2")
    (place / "weak.py").write_text(weak)
    done = dampen("verify", "weak.py")
    assert (done.code, done.err) == (0, "")
    assert "not checked  privacy loss of at most epsilon 1 (sld): δ has no horizon" in done.out
    assert "but no step here changes a utility by more than 1 of the bound 2" in done.out
    verdicts = json.loads(dampen("verify", "weak.py", "--json").out)
    (sld,) = [v for v in verdicts if "(sld)" in v["claim"]]
    assert sld["outcome"] == "not checked" and "no horizon" in sld["remark"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero (line 1 of p.py)"),
        ("def (", "SyntaxError"),
        ("x = 1", "to define 'problem'"),
        ("problem = 1", "to define 'universe'"),
        ("problem = universe = 1", "The problem in p.py failed"),
        (BROKEN.replace("x.count", "x.cuont"), "has no attribute 'cuont'"),
        ("import sys; sys.exit(0)", "p.py cannot be run: SystemExit: 0 (line 1 of p.py)"),
        ("raise SystemExit", "p.py cannot be run: SystemExit"),
        (BROKEN.replace("utility = [", "exit(0); [ "), "The problem in p.py failed: SystemExit: 0"),
    ],
)
def test_a_file_without_a_problem(dampen, place: Path, content: str, message: str) -> None:
    (place / "p.py").write_text(content)
    done = dampen("verify", "p.py")
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1


def test_missing_file_and_wrong_epsilon(dampen) -> None:
    assert "No such file" in dampen("verify", "none.py").err
    assert "got epsilon='abc'" in dampen("verify", "my_problem.py", "--epsilon", "abc").err


def test_mechanism_k_and_direction(dampen) -> None:
    done = dampen("verify", "my_problem.py", "--mechanism", "ld-pf", "--mechanism", "em", "-k", "2")
    losses = [line for line in done.out.splitlines() if "privacy loss" in line]
    assert done.code == 0
    assert [line.split("(")[1].split(")")[0] for line in losses][:2] == ["ld-pf", "em"]
    done = dampen("verify", "my_problem.py", "--mechanism", "sld", "--direction", "down")
    assert "(sld-down)" in done.out
    wrong = dampen("verify", "my_problem.py", "--mechanism", "sdl")
    assert wrong.code == 2
    assert "Did you mean" in wrong.err


LATE = """
from dampen.testing import Universe
from dampen.workbench import AddRemove, OwnProblem

def utility(rows):
    return [rows.count("a") * min(len(rows), 9), 0]

def right(rows, t):
    return 2 * (len(rows) + t + 2)

def late(rows, t):      # wrong only from distance 3 on
    return right(rows, min(t, 2))

def six(rows, t):       # wrong only from six rows on
    return right(rows, t) / (3 if len(rows) >= 6 else 1)

problem = OwnProblem("ab", utility, bound=40, delta=right, horizon=16)
neighbours = AddRemove("ab", most=14)
starts = [()]
"""


@pytest.mark.parametrize("wrong", ["late", "six"])
def test_study_finds_what_enumeration_does_not(dampen, place: Path, wrong: str) -> None:
    (place / "late.py").write_text(LATE)
    done = dampen("study", "late.py", "--pairs", "2000")
    assert (done.code, done.err) == (0, "")
    assert "holds  admissible, searched" in done.out
    (place / "late.py").write_text(LATE.replace("delta=right", f"delta={wrong}"))
    done = dampen("study", "late.py")
    assert done.code == 1
    assert "FAILS  admissible, searched: (2) δ(" in done.out


def test_study_compares_advises_and_writes(dampen, place: Path) -> None:
    done = dampen("study", "my_problem.py", "--epsilon", "0.1,1", "--pairs", "300", "--out", "out")
    assert (done.code, done.err) == (0, "")
    assert "there is nothing to dampen" in done.out
    assert {"study.csv", "study.tex", "advice.txt"} <= {p.name for p in (place / "out").iterdir()}
    told = json.loads(dampen("study", "my_problem.py", "--pairs", "300", "--json").out)
    assert set(told) == {"checks", "shape", "errors", "epsilons", "advice"}
    (place / "bare.py").write_text("problem = 1")
    assert "to define universe, or neighbours" in dampen("study", "bare.py").err


def test_compare_takes_a_problem(dampen, place: Path) -> None:
    done = dampen("compare", "my_problem.py", "--epsilon", "0.1,1", "--public")
    assert (done.code, done.err) == (0, "")
    assert "auto" in done.out
    lines = json.loads(
        dampen(
            "compare", "my_problem.py", "--epsilon", "1", "--rho", "0.5", "--public", "--json"
        ).out
    )
    em = next(line for line in lines if line["expected error"] == "em")
    assert em["ρ = 0.5"] < em["ε = 1"]
    assert "--public" in dampen("compare", "my_problem.py", "--epsilon", "1").err
    (place / "bare.py").write_text("problem = 1")
    assert "to define 'sample'" in dampen("compare", "bare.py", "--epsilon", "1", "--public").err


def test_the_running_example(dampen) -> None:
    lines = dampen("example").out.splitlines()
    (a,) = [line.split() for line in lines if line.strip().startswith("a ")]
    assert a == ["a", "6.5", "1.7", "0.22", "0.24", "0.32", "0.22", "0.35"]
