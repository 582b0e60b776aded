"""The workbench: δ by enumeration, planted faults that the search must find, studies and advice."""

import csv
from itertools import combinations

import numpy as np
import pytest

import dampen
from dampen import DataError, Neighbours, ParameterError, Selection, sensitivity
from dampen.core.sampling import InsecureEntropy
from dampen.testing import Universe, check_admissible, local_sensitivity
from dampen.workbench import (
    AddRemove,
    OwnProblem,
    ReplaceOne,
    check,
    enumerated,
    enumerated_by_summary,
    search,
    study,
)

ROWS = tuple("abcdefgh")
EDGES = tuple(combinations(range(6), 2))


def counts(rows):
    return [sum(row == each for row in rows) for each in "abc"]


def flipped(graph):
    """All graphs with one edge more or fewer: a function without `some`."""
    for edge in EDGES:
        yield graph ^ {edge}


# -- universes around a database -----------------------------------------------------------------


def test_a_universe_around_a_database_is_what_enumeration_gives() -> None:
    whole = Universe.add_remove_row("abc", 4)
    near = Universe.around((), AddRemove("abc"), 4)
    assert set(near.databases) == set(whole.databases)
    assert len(near.neighbours) == len(whole.neighbours)
    graphs = Universe.around(frozenset(), flipped, 2)
    assert (len(graphs.databases), len(graphs.neighbours)) == (1 + 15 + 105, 15 + 210)


def test_databases_that_cannot_be_hashed_are_distinguished() -> None:
    near = Universe.around([0, 0], lambda x: ([1 - x[0], x[1]], [x[0], 1 - x[1]]), 2)
    assert len(near.databases) == 4


def test_a_universe_around_refuses_too_many_and_asymmetric_relations() -> None:
    with pytest.raises(ParameterError, match="at most 100 databases"):
        Universe.around((), AddRemove(range(50)), 3, most=100)
    with pytest.raises(ParameterError, match="symmetric"):
        Universe.around(0, lambda n: (n + 1,), 3)


# -- δ by enumeration ----------------------------------------------------------------------------


def spread(rows):
    return [max(rows, default=0) - min(rows, default=0), len(set(rows))]


def test_enumerated_is_the_local_sensitivity() -> None:
    x = (1, 4)
    near = AddRemove((0, 1, 4, 9))
    problem = OwnProblem("ab", spread, bound=9)
    universe = Universe.around(x, near, 5)
    delta = enumerated(spread, x, near, 4)
    for t in range(4):
        assert delta.at(t).tolist() == local_sensitivity(problem, universe, t)[0].tolist()
    assert delta.horizon == 4
    with pytest.raises(ParameterError, match="enumerated_by_summary"):
        enumerated(spread, x, AddRemove(range(60)), 4, most=500)


def f1(summary):
    a, b = summary
    return 2 * a / (2 * a + b) if a + b else 0.0


def steps(summary):
    a, b = summary
    around = ((a + 1, b), (a - 1, b), (a, b + 1), (a, b - 1))
    return [each for each in around if min(each) >= 0]


def summaries(rows):
    """Rows are (class, first prediction, second prediction)."""
    return [(sum(y and p[r] for y, *p in rows), sum(y != p[r] for y, *p in rows)) for r in range(2)]


def by_f1(distances=6):
    class ByF1:
        candidates = ("first", "second")
        neighbours = Neighbours.ADD_REMOVE_ROW

        def selection(self, rows, /):
            found = summaries(rows)
            delta = enumerated_by_summary(f1, found, steps, distances)
            return Selection([f1(s) for s in found], delta, 1.0, utility_range=1.0)

    return ByF1()


def test_enumeration_by_summary_is_exact_and_admissible() -> None:
    kinds = [(1, 1, 0), (1, 0, 0), (0, 1, 0), (1, 1, 1), (0, 0, 1)]
    universe = Universe.add_remove_row(kinds, 4)
    problem = by_f1()
    assert check_admissible(problem, universe)
    inner = Universe.around((kinds[0],), AddRemove(kinds), 4)
    near = local_sensitivity(problem, inner, 2)[0]
    delta = problem.selection((kinds[0],)).sensitivity.at(2)
    assert delta.tolist() == pytest.approx(near.tolist())


# -- planted faults ------------------------------------------------------------------------------


def sound(**changed):
    """Counts weighted by the number of rows up to ten: δ follows the data."""

    def weight(n):
        return min(n, 10)

    def utility(rows):
        return [each * weight(len(rows)) for each in counts(rows)]

    def delta(rows, t):
        n = len(rows) + t
        largest = [min(each + t + 1, n + 1) for each in counts(rows)]
        return [weight(n + 1) + each for each in largest]

    stated = {"bound": 60.0, "delta": delta, "horizon": 20} | changed
    return OwnProblem("abc", utility, **stated)


def capped(rows, t):
    return min(60.0, 2 * (len(rows) + t + 2))


def test_a_sound_problem_passes() -> None:
    problem = sound(delta=capped)
    near = AddRemove(ROWS, most=15)
    assert check_admissible(problem, Universe.add_remove_row("abz", 4))
    found = search(problem, [()], near, pairs=6000)
    assert found.holds
    assert "pairs of neighbours met on walks" in str(found)


def planted():
    """Faults that enumeration of five rows cannot see, and one beyond distance 2."""

    def six_rows(rows, t):
        return capped(rows, t) * (0.3 if len(rows) >= 6 else 1)

    def six_alike(rows, t):
        return 1.0 if rows.count("a") >= 6 and t == 0 else capped(rows, t)

    def from_distance_three(rows, t):
        return capped(rows, min(t, 2))

    def six_rows_and_distance_three(rows, t):
        return capped(rows, min(t, 2) if len(rows) >= 6 else t)

    def one_candidate_of_many_rows(rows, t):
        low = 0.5 if rows.count("b") >= 4 and rows.count("c") >= 2 and t == 0 else 60.0
        return [capped(rows, t), min(low, capped(rows, t)), capped(rows, t)]

    return [six_rows, six_alike, from_distance_three, six_rows_and_distance_three,
            one_candidate_of_many_rows]  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("delta", planted(), ids=lambda delta: delta.__name__)
def test_planted_faults_are_found(delta, seed: int) -> None:
    problem = sound(delta=delta)
    near = AddRemove(ROWS, most=15)
    found = search(problem, [()], near, seed=seed)
    assert found.fails, found
    assert "x = " in found.counterexample


@pytest.mark.parametrize("delta", planted()[:2], ids=lambda delta: delta.__name__)
def test_enumeration_alone_does_not_see_six_rows(delta) -> None:
    assert check_admissible(sound(delta=delta), Universe.add_remove_row("abz", 4), 4)


@pytest.mark.parametrize("seed", range(4))
def test_a_fault_of_six_edges_is_found_by_a_plain_function(seed: int) -> None:
    """The utility jumps at a clique of four nodes: six edges at least."""

    def cliques(graph):
        found = sum(all(e in graph for e in combinations(q, 2)) for q in combinations(range(6), 4))
        return [len(graph) + 3 * (found > 0), 0]

    wrong = OwnProblem(
        "ab", cliques, bound=4, delta=lambda graph, t: 1, horizon=9,
        neighbours="own:one-road",
    )  # fmt: skip
    found = search(wrong, [frozenset()], flipped, seed=seed)
    assert found.fails
    assert "the change of u = 4 > δ" in found.counterexample


def test_a_counterexample_is_made_small() -> None:
    problem = sound(delta=planted()[0])
    start = tuple(sorted(ROWS * 5))
    found = search(problem, [start], AddRemove(ROWS))
    assert found.fails
    x = found.counterexample.split("x = ")[1].split("), y")[0]
    assert x.count("'") // 2 <= 8


@pytest.mark.parametrize("seed", range(4))
def test_a_search_on_values_that_are_replaced(seed: int) -> None:
    """The median of 101 values, with a δ that forgets gaps beyond the next: from t = 1 on."""

    def utility(x):
        return [sorted(x)[50]]

    def gaps(x, t):
        v = [0.0] * 101 + sorted(x) + [100.0] * 101
        return [max(v[151 + j] - v[150 + j] for j in range(-t - 1, t + 1))]

    def spans(x, t):
        v = [0.0] * 101 + sorted(x) + [100.0] * 101
        return [max(v[151 + j] - v[150 + j - t] for j in range(t + 2))]

    near = ReplaceOne(range(101))
    start = tuple(range(101))
    right = OwnProblem("m", utility, 100, "replace-one", delta=spans, horizon=5)
    wrong = OwnProblem("m", utility, 100, "replace-one", delta=gaps, horizon=5)
    assert search(right, [start], near, pairs=800, seed=seed).holds
    assert search(wrong, [start], near, pairs=4000, seed=seed).fails


def test_claims_of_a_selection_are_searched_too() -> None:
    def utility(rows):
        return [len(rows), -len(rows)]

    near = AddRemove("a", most=6)
    one_sided = OwnProblem("ab", utility, bound=1, one_sided=True)
    assert "both directions" in search(one_sided, [()], near, pairs=200).counterexample
    separable = OwnProblem("ab", utility, bound=1, separable=True)
    assert "several candidates" in search(separable, [()], near, pairs=200).counterexample

    class Leaky:
        candidates = "ab"
        neighbours = "add-remove-row"

        def selection(self, rows, /):
            return Selection([0, 1], sensitivity.constant(1 + len(rows)))

    assert "public fact" in search(Leaky(), [()], near, pairs=200).counterexample
    with pytest.raises(ParameterError, match="at least one database"):
        search(one_sided, [], near)


def test_check_says_what_kind_of_sensitivity_it_is() -> None:
    problem = sound(delta=capped)
    found = check(
        problem,
        universe=Universe.add_remove_row("abz", 3),
        neighbours=AddRemove(ROWS),
        starts=[()],
        pairs=500,
        mechanisms=["pf", "ld"],
        k=2,
    )
    assert found and found.sound
    assert found.shape[0] == "bounded: yes, δ is the bound from t = 20 on"
    assert found.shape[2] == "stable: yes, shift towards +infinity"
    assert "admissible, searched" in str(found)
    assert not check(sound(delta=planted()[2]), neighbours=AddRemove(ROWS), starts=[()])
    with pytest.raises(ParameterError, match="universe="):
        check(problem)


def test_a_delta_that_falls_is_a_counterexample_and_not_an_error() -> None:
    problem = sound(delta=lambda rows, t: 60.0 if t < 3 else 20.0)
    found = check(problem, universe=Universe.add_remove_row("ab", 3))
    assert not found
    assert {verdict.outcome for verdict in found.verdicts} == {"holds", "fails", "not checked"}


# -- studies -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made():
    rows = [(1, 1, 0)] * 60 + [(1, 0, 1)] * 20 + [(0, 1, 1)] * 25 + [(0, 0, 0)] * 100
    return study(by_f1(40), rows, epsilons=["0.1", "1"])


def test_a_study_compares_all_mechanisms(made) -> None:
    assert list(made.errors) == ["em", "pf", "ld", "ld-pf", "sld", "sld-down", "ld-shifted", "auto"]
    assert made.errors["ld-shifted"] == made.errors["auto"]
    assert made.errors["ld-pf"][1] < made.errors["em"][1]


def test_a_study_is_exported(made, tmp_path) -> None:
    frame = made.frame()
    assert len(frame) == 16
    lines = list(csv.DictReader(made.csv().splitlines()))
    assert [line["mechanism"] for line in lines] == frame["mechanism"].tolist()
    errors = [float(line["expected_error"]) for line in lines]
    assert errors == pytest.approx(frame["expected_error"].tolist())
    latex = made.latex()
    assert latex.startswith("\\begin{tabular}{lrr}")
    assert latex.count("\\\\") == 9
    pytest.importorskip("matplotlib")
    written = made.save(tmp_path / "out")
    assert sorted(path.name for path in written) == [
        "advice.txt", "study.csv", "study.svg", "study.tex",
    ]  # fmt: skip
    assert (tmp_path / "out" / "study.svg").read_text(encoding="utf-8").count("<svg") == 1


def test_advice_is_about_shift_direction_and_horizon(made) -> None:
    told = " ".join(made.advice)
    for word in ("Least error", "Sensitivity:", "Shift:", "Direction:", "Horizon:"):
        assert word in told
    assert "mechanism" in str(made)
    assert "<table>" in made._repr_html_()


def test_advice_for_a_constant_sensitivity() -> None:
    rows = tuple("aaab")
    told = study(OwnProblem("abc", counts, bound=1), rows, epsilons=[1]).advice
    assert "nothing to dampen" in told[-1]


# -- from u to a ledger --------------------------------------------------------------------------


def test_a_relation_of_one_s_own_through_release_and_ledger(tmp_path) -> None:
    problem = OwnProblem("abc", counts, bound=1, neighbours="own:one-ballot")
    ledger = dampen.Ledger(tmp_path / "ledger")
    budget = ledger.create("votes", epsilon=2, neighbours="own:one-ballot")
    made = dampen.release(problem, lambda: "a" * 400, query="winner", epsilon=1, budget=budget)
    assert (made.answer, made.mechanism, str(made.neighbours)) == ("a", "auto", "own:one-ballot")
    assert dampen.Release.from_json(made.to_json()).neighbours == made.neighbours
    other = ledger.create("rows", epsilon=2, neighbours="add-remove-row")
    with pytest.raises(dampen.BudgetError, match="but this release protects"):
        dampen.release(problem, lambda: "a", query="winner", epsilon=1, budget=other)
    again = dampen.Ledger(tmp_path / "ledger")
    assert str(again.neighbours("votes")) == "own:one-ballot"
    assert again.remaining("votes") == 1


@pytest.mark.parametrize("name", ["own:", "own:Big", "own:two words", "client", "own:-x", "own:ü"])
def test_a_relation_needs_a_plain_name(name: str, tmp_path) -> None:
    with pytest.raises(ParameterError, match="own:NAME"):
        OwnProblem("abc", counts, bound=1, neighbours=name)
    with pytest.raises(ParameterError, match="own:NAME"):
        dampen.Ledger(tmp_path / "ledger").create("b", epsilon=1, neighbours=name)


def test_relations_are_equal_by_name() -> None:
    one = Neighbours("own:one-ballot")
    assert one == Neighbours("own:one-ballot") != Neighbours("own:other")
    assert len({one, Neighbours("own:one-ballot")}) == 1
    assert [each.value for each in Neighbours] == [
        "replace-one", "add-remove-edge", "add-remove-row", "add-remove-unit",
    ]  # fmt: skip


def test_a_delta_needs_a_horizon() -> None:
    with pytest.raises(ParameterError, match="horizon >= 1"):
        OwnProblem("abc", counts, bound=1, delta=lambda rows, t: 1)


def test_answers_of_a_problem_follow_its_law() -> None:
    """The best candidate leads by 80 steps: a draw by ε = 2 misses it with e^-40 at most."""
    problem = OwnProblem("abc", counts, bound=1, exact=True)
    entropy = InsecureEntropy(1, allow_release=True)
    made = dampen.release(problem, lambda: "a" * 80, query="q", epsilon=2, entropy=entropy)
    assert made.answer == "a"
    assert np.isfinite(float(made.epsilon))


@pytest.mark.parametrize("bound", [0, -1, float("inf"), float("nan"), "1", True])
def test_a_bound_is_a_positive_number(bound) -> None:
    with pytest.raises(ParameterError, match="bound > 0"):
        OwnProblem("ab", lambda rows: [0, 0], bound=bound)


def test_a_utility_has_one_number_for_each_candidate() -> None:
    """With fewer, the last candidates could never win, and nobody was told."""
    short = OwnProblem("abc", lambda rows: [rows.count("a"), rows.count("b")], bound=1)
    with pytest.raises(DataError, match="return 3 numbers"):
        short.selection("aab")
    with pytest.raises(DataError):
        dampen.release(short, lambda: "aab", query="most", epsilon=1)


@pytest.mark.parametrize("epsilons", ["0.5", 1, 0.5])
def test_a_study_takes_one_epsilon(epsilons) -> None:
    problem = OwnProblem("ab", lambda rows: [rows.count("a"), rows.count("b")], bound=1)
    assert [float(e) for e in study(problem, "aab", epsilons=epsilons).epsilons] == [
        float(epsilons)
    ]
