"""The best group is ε-DP: the exact law of every answer, for every pair of neighbours.

With e^ε = q, a whole number, all probabilities are whole numbers over one denominator, so that
64-bit integers compute them without rounding.  Three groups, at most four rows each, values 0..3.
By symmetry it is enough that group 1 changes, beside all pairs of groups 2 and 3.
"""

from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

import group_balls as balls
from dampen import testing
from dampen.core.selection import Neighbours
from dampen.problems import BestGroup
from dampen.questions.groups.reach import (
    Reach,
    Replacements,
    Rows,
    Steps,
    _levels,
    winning_probabilities,
)
from dampen.questions.groups.statistics import Histograms, Mean, Quantile, Statistic, TrimmedMean

GROUPS = list(balls.histograms(4, 4))
STATISTICS = [
    *(Quantile(Fraction(p, 100)) for p in (10, 50, 90)),
    *(Quantile(Fraction(p, 100), "lower") for p in (10, 50, 90)),
    Mean(),
    TrimmedMean(Fraction(1, 4)),
]
RELATIONS = [(Rows(), balls.row_neighbours), (Replacements(), balls.value_neighbours)]
Integers = NDArray[np.int64]


@dataclass
class World:
    """All groups: f[s, l] = P(R = level l), below = P(R < level l), both times `whole`."""

    f: Integers
    whole: int

    @property
    def below(self) -> Integers:
        return np.cumsum(self.f, axis=1) - self.f

    @property
    def above(self) -> Integers:
        return self.whole - self.below - self.f

    def upside_down(self) -> "World":
        return World(self.f[:, ::-1], self.whole)


def world(
    statistic: Statistic,
    steps: Steps,
    floor: int,
    offset: int,
    q: int,
    guard: tuple[int, int] | None = None,
    kind: type[Reach] = Reach,
) -> World:
    """The exact law of R(x, Z + offset) with P(Z = z) proportional to q^-|z|."""
    x = Histograms(np.array(GROUPS))
    reach = kind(x, statistic, steps, floor, guard)
    first, last = reach.ends(np.arange(len(GROUPS)))
    far = int(max(last.max() - offset, offset - first.min())) + 1
    who, w, mass = [], [], []
    for s, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        for point in range(a, b + 1):
            z = point - offset
            end = point in (a, b)
            tail = at_least(-z if point == a else z, q, far)
            who.append(s)
            w.append(point)
            mass.append(tail if end else (q - 1) * q ** (far - abs(z)))
    level = _levels(reach.at(np.array(who), np.array(w)))
    f = np.zeros((len(GROUPS), level.max() + 1), dtype=np.int64)
    np.add.at(f, (np.array(who), level), np.array(mass))
    whole = (q + 1) * q**far
    assert (f.sum(axis=1) == whole).all()
    assert whole**3 * 6 < 2**63
    return World(f, whole)


def at_least(z: int, q: int, far: int) -> int:
    """P(Z >= z) times (q + 1) q^far."""
    return q ** (far + 1 - z) if z > 0 else (q + 1) * q**far - q ** (far + z)


def first_of_three(all_groups: World) -> tuple[Integers, Integers]:
    """6 P(group 1 is the largest) and 6 P(group 2 is): one row per group 1, a column per pair."""
    f, below = all_groups.f, all_groups.below
    f2, f3 = f[:, None, :], f[None, :, :]
    b2, b3 = below[:, None, :], below[None, :, :]
    mine = 6 * b2 * b3 + 3 * (f2 * b3 + b2 * f3) + 2 * f2 * f3
    other = (f2 * (6 * b3 + 3 * f3), f2 * (3 * b3 + 2 * f3))
    shape = (-1, f.shape[1])
    return (
        f @ mine.reshape(shape).T,
        below @ other[0].reshape(shape).T + f @ other[1].reshape(shape).T,
    )


def second_of_three(all_groups: World) -> Integers:
    """6 P(the order is 2, 1, 3)."""
    f, below, above = all_groups.f, all_groups.below, all_groups.above
    f2, f3, b3, a2 = f[:, None, :], f[None, :, :], below[None, :, :], above[:, None, :]
    between = 6 * a2 * b3 + 3 * (f2 * b3 + a2 * f3) + f2 * f3
    return f @ between.reshape(-1, f.shape[1]).T


def pairs_of(near: balls.Relation) -> Integers:
    index = {x: i for i, x in enumerate(GROUPS)}
    return np.array(
        [(index[x], index[y]) for x in GROUPS for y in near(x) if y in index], dtype=np.int64
    )


def is_private(probability: Integers, near: balls.Relation, q: int) -> bool:
    """P(x) <= q P(y) for all neighbours, both ways round."""
    x, y = pairs_of(near).T
    return bool((probability[x] <= q * probability[y]).all())


@pytest.mark.parametrize(("steps", "near"), RELATIONS, ids=["rows", "fixed-groups"])
@pytest.mark.parametrize("statistic", STATISTICS, ids=str)
def test_sets_of_groups_are_private(statistic, steps, near):
    """caution 0 and 1 are the offsets 0 and -1 at ε = ln 2 and ln 4; any other is as good."""
    for q, floor, offset in [(q, N, z0) for q in (2, 4) for N in (1, 2) for z0 in (0, -1, 1)]:
        assert_private(world(statistic, steps, floor, offset, q), near, q)


class BySize(Reach):
    """The broken twin: more caution for the groups that are small, by their exact sizes."""

    def at(self, who, w):
        enough, more = self.guard
        return replace(self, guard=None)._among(
            self.floor, who, w - np.where(self.x.sizes[who] < enough, more, 0)
        )


GUARDS = [(2, 1), (3, 1), (3, 2), (4, 1)]


@pytest.mark.parametrize(("steps", "near"), RELATIONS, ids=["rows", "fixed-groups"])
@pytest.mark.parametrize("statistic", STATISTICS[:6:2], ids=str)
def test_more_caution_for_small_groups_is_private(statistic, steps, near):
    for guard, floor, offset in [(g, N, z0) for g in GUARDS for N in (1, 2) for z0 in (0, -1)]:
        assert_private(world(statistic, steps, floor, offset, 2, guard), near, 2)


@pytest.mark.parametrize("guard", GUARDS)
def test_caution_by_exact_sizes_is_not_private(guard):
    mine, _ = first_of_three(world(STATISTICS[1], Rows(), 1, 0, 2, guard, BySize))
    assert not is_private(mine, balls.row_neighbours, 2)


@pytest.mark.parametrize("statistic", STATISTICS, ids=str)
def test_sets_of_the_smallest_are_private(statistic):
    for floor, offset in [(N, z0) for N in (1, 2) for z0 in (0, -1)]:
        one = world(statistic.mirrored(), Rows(), floor, offset, 2)
        assert_private(one, balls.row_neighbours, 2)


def assert_private(one: World, near: balls.Relation, q: int) -> None:
    """k = 1, and k = 2: all but the last."""
    for probability in (*first_of_three(one), *first_of_three(one.upside_down())):
        assert is_private(probability, near, q)


@pytest.mark.parametrize("statistic", STATISTICS, ids=str)
def test_the_noise_is_not_larger_than_it_must_be(statistic):
    mine, _ = first_of_three(world(statistic, Rows(), 1, 0, 4))
    x, y = pairs_of(balls.row_neighbours).T
    assert (mine[x] / mine[y]).max() > 3.99


@pytest.mark.parametrize("statistic", STATISTICS, ids=str)
def test_the_noisy_order_is_not_private(statistic):
    """What must never be released: which of the two winners came first."""
    order = second_of_three(world(statistic, Rows(), 1, 0, 2))
    assert not is_private(order, balls.row_neighbours, 2)
    assert not is_private(order, balls.row_neighbours, 4)


def test_half_the_noise_is_not_private():
    mine, _ = first_of_three(world(Quantile(Fraction(1, 2)), Rows(), 1, 0, 4))
    assert not is_private(mine, balls.row_neighbours, 2)


def test_replacing_a_value_costs_twice_if_rows_were_meant():
    """Rows and replacements are different relations, each with its own reach."""
    mine, _ = first_of_three(world(Quantile(Fraction(1, 2)), Rows(), 1, 0, 2))
    assert not is_private(mine, balls.value_neighbours, 2)
    assert is_private(mine, balls.value_neighbours, 4)


@pytest.mark.parametrize("options", [{}, {"p": 90, "caution": 2}, {"statistic": "mean"}], ids=str)
@pytest.mark.parametrize("epsilon", ["1", "2"])
def test_the_proof_kit_agrees(options, epsilon):
    """The law that everybody can ask for, over a universe of rows; half of ε is too little.

    (At an ε far below 1 / rows no group can prove itself, and the loss is far below ε.)
    """
    problem = BestGroup(groups=["a", "b"], lower=0, upper=2, step=1, min_rows=2, **options)
    universe = testing.Universe.add_remove_row([(g, v) for g in "ab" for v in (0, 1, 2)], 4)

    def law(rows):
        values, by = [v for _, v in rows], [g for g, _ in rows]
        return problem.probabilities(values, by, epsilon=epsilon)

    verdict = testing.law_loss(law, universe, epsilon=epsilon, name="reach")
    assert verdict, verdict
    half = testing.law_loss(law, universe, epsilon=Fraction(epsilon) / 2, name="reach")
    assert half.fails
    assert "output" in str(half)


def test_the_proof_kit_rejects_caution_by_exact_sizes():
    problem = BestGroup(groups=["a", "b"], lower=0, upper=2, step=1)
    universe = testing.Universe.add_remove_row([(g, v) for g in "ab" for v in (0, 1, 2)], 4)
    epsilon = Fraction(1)

    def law(rows, kind=Reach):
        counts = problem.counts([v for _, v in rows], [g for g, _ in rows])
        reach = problem.contest(counts).guarded(epsilon)
        assert reach.guard == (3, 3)
        parts = (getattr(reach, field.name) for field in fields(reach))
        return winning_probabilities(kind(*parts), epsilon, problem.offset(epsilon))

    assert testing.law_loss(law, universe, epsilon=1, name="reach")
    twin = testing.law_loss(lambda rows: law(rows, BySize), universe, epsilon=1, name="by size")
    assert twin.fails


@dataclass(frozen=True)
class Sums:
    """The sum as a selection problem, for the proof kit."""

    problem: BestGroup

    @property
    def neighbours(self):
        return self.problem.neighbours

    @property
    def candidates(self):
        return self.problem.candidates

    def selection(self, rows):
        by, values = [g for g, _ in rows], [v for _, v in rows]
        return self.problem.contest(self.problem.counts(values, by)).sums


ROWS = [(g, v) for g in "ab" for v in (-1, 0, 2)]


@pytest.mark.parametrize("smallest", [False, True])
@pytest.mark.parametrize("lower", [-1, 0])
def test_sums_need_no_factor_of_two(lower, smallest):
    problem = Sums(
        BestGroup(
            groups=["a", "b"], statistic="sum", lower=lower, upper=2, step=1, smallest=smallest
        )
    )
    universe = testing.Universe.add_remove_row(ROWS, 4)
    loss = testing.privacy_loss(problem, universe, epsilon="1", mechanism="pf")
    assert loss, loss
    assert loss.value == pytest.approx(1)
    assert testing.check_joint_sensitivity(problem, universe)


def test_sums_of_replaced_values():
    problem = Sums(
        BestGroup(
            groups=["a", "b"],
            statistic="sum",
            lower=-1,
            upper=2,
            step=1,
            neighbours=Neighbours.REPLACE_ONE,
        )
    )
    fixed = [
        tuple(zip("aab", values, strict=True))
        for values in testing.Universe.replace_one((-1, 0, 2), 3).databases
    ]
    universe = testing.Universe.of(
        fixed, lambda x, y: sum(a != b for a, b in zip(x, y, strict=True)) == 1
    )
    loss = testing.privacy_loss(problem, universe, epsilon="1", mechanism="pf")
    assert loss and loss.value == pytest.approx(1)
