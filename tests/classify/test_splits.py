"""Splits: closed form against enumeration, admissibility, unit sensitivity, privacy loss."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from dampen.core.scores import Dampened
from dampen.core.selection import Neighbours, Selection
from dampen.core.sensitivity import constant, table
from dampen.errors import DataError, ParameterError
from dampen.questions.classify.splits import BestSplit, split_bound, split_selection
from dampen.testing import (
    check_admissible,
    check_one_sided,
    check_unit_sensitivity,
    local_sensitivity,
    privacy_loss,
    verify,
)
from dampen.testing.universe import Universe


def phi(x):
    return (x + 1) * math.log2(x + 1) - x * math.log2(x) if x > 0 else 0.0


def h(a, b):
    """The paper's h, both of its terms."""
    added = phi(a) - phi(b)
    return max(added, phi(a - 1) - phi(b - 1)) if b >= 1 else added


def theory_sensitivity(cells, t, bound):
    """theory.md, section 5, word for word: all cells, three numbers of removals, running max."""
    largest = 0.0
    for row, step in itertools.product(cells, range(t + 1)):
        a = int(sum(row))
        for b in map(int, row):
            for s in {0, min(step, b), max(0, min(step, b - 1))}:
                largest = max(largest, h(a + step - 2 * s, b - s))
    return min(largest, bound)


def universe(domains, classes, max_rows):
    rows = itertools.product(*(range(d) for d in domains), range(classes))
    return Universe.add_remove_row(list(rows), max_rows)


@pytest.mark.parametrize(
    ("values", "classes", "rows"),
    [(1, 2, 8), (2, 2, 8), (3, 2, 6), (2, 3, 6), (1, 4, 7), (4, 2, 5)],
)
def test_the_envelope_is_the_local_sensitivity(values, classes, rows):
    """δ(x, t) = LS(x, t) wherever the universe holds all that t + 1 steps can reach."""
    problem = BestSplit(domains=[values], classes=classes, max_rows=60)
    every = universe([values], classes, rows)
    size = np.array([len(x) for x in every.databases])
    instances = [problem.selection(x) for x in every.databases]
    for t in range(5):
        inside = size + t + 1 <= rows
        ls = local_sensitivity(problem, every, t)[inside, 0]
        delta = np.array([s.sensitivity.at(t)[0] for s in instances])[inside]
        assert len(delta) > 0
        np.testing.assert_allclose(delta, ls, rtol=1e-12, atol=1e-12)


def random_cells(rng, values, classes, largest):
    """Counts of very different sizes, some zero, some equal."""
    cells = np.exp(rng.uniform(0, math.log(largest), (values, classes))).astype(np.int64)
    cells[rng.random((values, classes)) < 0.1] = 0
    cells[rng.random(values) < 0.1] = 1
    return cells


@pytest.mark.parametrize(("values", "classes"), [(1, 2), (2, 2), (3, 3), (6, 2), (12, 4)])
def test_values_and_sums_agree_with_theory(values, classes):
    rng = np.random.default_rng(values)
    for _ in range(12):
        cells = random_cells(rng, values, classes, 40)
        N = int(cells.sum() + rng.integers(1, 20))
        s = split_selection(cells, np.array([0, values]), N, "information-gain")
        for t in {0, 1, 2, N // 4, N // 2, N - 1} & set(range(N)):
            expected = theory_sensitivity(cells, t, s.bound) if t < 40 else None
            if expected is not None:
                assert s.sensitivity.at(t)[0] == pytest.approx(expected, rel=1e-12, abs=1e-12)
        at = [s.sensitivity.at(t)[0] for t in range(N)]
        assert (np.diff(at) >= -1e-12).all()
        for t in rng.integers(0, N + 1, 8):
            total = s.sensitivity.sum_to(np.array([t]))[0]
            assert total == pytest.approx(math.fsum(at[:t]), rel=1e-13, abs=1e-13)


def removal_path(n, m, t):
    """R(t) of the module's docstring."""
    return phi(n - t) - phi(m - t) if t < m else phi(n - 2 * m + t)


def test_the_envelope_is_the_largest_path_of_all_values():
    """Large counts: the envelope against the maximum over all values, at many t."""
    rng = np.random.default_rng(7)
    for _ in range(30):
        cells = random_cells(rng, 15, 2, 3000)
        N = int(cells.sum() + 100)
        s = split_selection(cells, np.array([0, 15]), N, "information-gain")
        a, b = cells.sum(axis=1), cells.min(axis=1)
        n, m = a - (b >= 1), np.maximum(b - 1, 0)
        for t in [*range(0, 50, 7), *rng.integers(0, N, 60)]:
            largest = max(removal_path(int(i), int(j), int(t)) for i, j in zip(n, m, strict=True))
            assert s.sensitivity.at(int(t))[0] == pytest.approx(min(largest, s.bound), rel=1e-10)


def test_rounding_stays_below_two_to_the_minus_fifty():
    """Utilities, values and sums against ball arithmetic at 200 bits."""
    from flint import arb, ctx

    def exact_sum(k, length):
        """The sum of φ(i), k <= i < k + length."""
        end = arb(k + length)
        start = arb(k) * arb(k).log() if k > 0 else arb(0)
        return (end * end.log() - start) / arb(2).log()

    rng = np.random.default_rng(3)
    worst = {"utility": 0.0, "value": 0.0, "sum": 0.0}
    with ctx.workprec(200):
        for _ in range(60):
            cells = random_cells(rng, 1, 2, 10**6)
            a, b = int(cells.sum()), int(cells.min())
            n, m = a - (b >= 1), max(b - 1, 0)
            s = split_selection(cells, np.array([0, 1]), a + 1000, "information-gain")
            u = sum(
                (arb(int(c)) * (arb(int(c)) / a).log() / arb(2).log() for c in cells[0] if c),
                arb(0),
            )
            if b:
                worst["utility"] = max(
                    worst["utility"], float(abs(arb(float(s.utility[0])) / u - 1))
                )
            if m == 0:
                continue
            t = int(rng.integers(0, m))
            value = exact_sum(n - t, 1) - exact_sum(m - t, 1)
            got = arb(float(s.sensitivity.at(t)[0]))
            worst["value"] = max(worst["value"], float(abs(got / value - 1)))
            total = exact_sum(n - t, t + 1) - exact_sum(m - t, t + 1)
            got = arb(float(s.sensitivity.sum_to(np.array([t + 1]))[0]))
            worst["sum"] = max(worst["sum"], float(abs(got / total - 1)))
    assert max(worst.values()) < 2.0**-50, worst


@pytest.mark.parametrize("criterion", ["information-gain", "max", "gini", "tsallis"])
@pytest.mark.parametrize(
    ("domains", "classes", "rows"),
    [([2], 2, 6), ([3], 2, 4), ([2], 3, 4), ([2, 2], 2, 3), ([1, 3], 2, 4)],
)
def test_every_check_of_the_proof_kit_holds(criterion, domains, classes, rows):
    """The public bound is the size of the universe: its rim and its cap are inside."""
    problem = BestSplit(domains=domains, classes=classes, max_rows=rows, criterion=criterion)
    for verdict in verify(problem, universe(domains, classes, rows)):
        assert verdict, str(verdict)


@pytest.mark.parametrize("criterion", ["information-gain", "max"])
def test_one_sided_em_uses_its_whole_budget(criterion):
    """No factor 1/2: the loss passes ε/2, so paying for both sides would be waste."""
    problem = BestSplit(domains=[2, 2], classes=2, max_rows=4, criterion=criterion)
    loss = privacy_loss(problem, universe([2, 2], 2, 4), epsilon="1", mechanism="em")
    assert loss
    assert loss.value > 0.5


def test_a_twin_of_tsallis_with_the_bound_of_max_is_found():
    """Δ = 1 is too small: a first row of another class moves u by 1.03 and more."""

    @dataclass(frozen=True)
    class Twin:
        neighbours = Neighbours.ADD_REMOVE_ROW
        candidates = (0, 1)

        def selection(self, rows, /):
            cells = np.zeros((3, 2), dtype=np.int64)
            for _, c in rows:
                cells[0, c] += 1
            u = split_selection(cells, np.array([0, 1, 3]), 9, "tsallis").utility
            return Selection(u, constant(1), 1, one_sided=True)

    every = universe([1], 2, 6)
    assert not privacy_loss(Twin(), every, epsilon="40", mechanism="em")


@dataclass(frozen=True)
class PaperSplit:
    """The paper's Candidates, with its condition `a < τ`: drops the insertion it needs."""

    max_rows: int
    neighbours = Neighbours.ADD_REMOVE_ROW
    candidates = (0,)

    def selection(self, rows, /):
        cells = np.zeros((2, 2), dtype=np.int64)
        for j, c in rows:
            cells[j, c] += 1
        tau, bound = int(cells.sum()), split_bound("information-gain", self.max_rows)
        pairs = {(int(row.sum()), int(b)) for row in cells for b in row}
        largest, deltas = 0.0, []
        for _ in range(self.max_rows):
            largest = max([largest, *(h(a, b) for a, b in pairs)])
            deltas.append([min(largest, bound)])
            pairs = {(a - 1, b - 1) for a, b in pairs if a > 0 and b > 0} | {
                (a + 1, b) for a, b in pairs if a < tau
            }
        gain = split_selection(cells, np.array([0, 2]), self.max_rows, "information-gain").utility
        return Selection(gain, table(deltas), bound, one_sided=True)


def test_the_paper_s_candidates_are_caught():
    every = universe([2], 2, 6)
    verdict = check_admissible(PaperSplit(max_rows=12), every, distances=4)
    assert not verdict
    assert "(2)" in verdict.counterexample
    changes = [check_unit_sensitivity(PaperSplit(max_rows=N), every, "sld") for N in (12, 40)]
    assert not any(changes)


def test_a_dampened_score_is_not_one_sided():
    """Without the factor 1/2 local dampening loses more than ε."""
    problem = BestSplit(domains=[2, 2], classes=2, max_rows=5)
    every = universe([2, 2], 2, 4)
    assert check_one_sided(problem, every)
    q = np.array([Dampened().of(problem.selection(x)).values for x in every.databases])
    left, right = every.neighbours.T
    rise = q[right] - q[left]
    assert rise.min() < -1e-3
    assert rise.max() > 1e-3


@pytest.mark.parametrize("criterion", ["information-gain", "max", "gini", "tsallis"])
def test_utilities_against_their_definition(criterion):
    rng = np.random.default_rng(2)
    rows = np.column_stack([rng.integers(0, d, 300) for d in (2, 5, 3)])
    s = BestSplit(domains=[2, 5], classes=3, max_rows=400, criterion=criterion).selection(rows)
    for attribute, size in enumerate((2, 5)):
        expected = 0.0
        for j in range(size):
            counts = np.bincount(rows[rows[:, attribute] == j, 2], minlength=3)
            a = counts.sum()
            shares = counts[counts > 0] / a
            match criterion:
                case "information-gain":
                    expected += a * (shares * np.log2(shares)).sum()
                case "max":
                    expected += counts.max()
                case "tsallis":
                    expected -= a * (shares * (1 - np.sqrt(shares))).sum()
                case "gini":
                    expected -= a * (1 - (shares**2).sum())
        assert s.utility[attribute] == pytest.approx(expected, rel=1e-12)


def test_gini_of_many_values_keeps_its_digits():
    """Ten thousand terms: the sum is rounded once, as exact fractions show."""
    rng = np.random.default_rng(8)
    cells = random_cells(rng, 10_000, 3, 200)
    exact = -sum(
        (a - Fraction(int((row * row).sum()), a) for row in cells if (a := int(row.sum()))),
        Fraction(0),
    )
    s = split_selection(cells, np.array([0, 10_000]), 2**24, "gini")
    assert abs(Fraction(float(s.utility[0])) / exact - 1) < Fraction(1, 2**50)


def test_pure_values_have_a_gain_of_exactly_zero():
    s = split_selection(
        np.array([[7, 0], [0, 12345], [0, 0]]), np.array([0, 3]), 20_000, "information-gain"
    )
    assert s.utility[0] == 0.0
    assert s.sensitivity.at(0)[0] == pytest.approx(phi(12345))


def test_errors_name_the_column_and_nothing_private():
    problem = BestSplit(domains=[2, 3], classes=2, max_rows=3)
    with pytest.raises(DataError, match="attribute 1") as error:
        problem.selection([(0, 3, 1), (1, 0, 0)])
    assert "3" not in str(error.value)
    with pytest.raises(DataError, match="the class"):
        problem.selection([(0, 1, 2)])
    with pytest.raises(DataError, match="integer codes"):
        problem.selection([(0.5, 0, 0)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"domains": []}, "at least one attribute"),
        ({"domains": [0]}, "integer >= 1"),
        ({"classes": 1}, "classes to be an integer >= 2"),
        ({"max_rows": 0}, "max_rows to be an integer >= 1"),
        ({"max_rows": 2**32}, "max_rows <= 2"),
        ({"criterion": "ginni"}, "Did you mean 'gini'"),
    ],
)
def test_public_parameters_are_checked(change, message):
    with pytest.raises(ParameterError, match=message):
        BestSplit(**{"domains": [2], "classes": 2, "max_rows": 10, **change})


@pytest.mark.parametrize("criterion", ["information-gain", "gini", "tsallis", "max"])
def test_more_rows_than_the_bound_break_nothing(criterion):
    """All tables of up to 9 rows, for N = 3: one row moves u by at most Δ, and down alone."""
    tables = [
        np.array(counts).reshape(2, 2)
        for counts in itertools.product(range(6), repeat=4)
        if sum(counts) <= 9
    ]
    bound = split_bound(criterion, 3)
    sign = 1 if criterion == "max" else -1
    for cells in tables:
        before = split_selection(cells, np.array([0, 2]), 3, criterion)
        for cell in itertools.product(range(2), repeat=2):
            more = cells.copy()
            more[cell] += 1
            after = split_selection(more, np.array([0, 2]), 3, criterion)
            change = sign * (after.utility[0] - before.utility[0])
            assert -1e-12 <= change <= bound + 1e-12
            for x in (before, after):
                assert abs(change) <= x.sensitivity.at(0)[0] + 1e-12 or criterion == "max"
