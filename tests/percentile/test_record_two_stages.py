"""Labels in two stages: the whole law on small universes, twins that are not private, accuracy."""

import json
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import dampen
from dampen.core import sensitivity
from dampen.core.mechanisms import EM, PF, probabilities
from dampen.core.selection import Selection
from dampen.errors import ParameterError
from dampen.paper.percentile_selection import NEAR, PercentileLabel, rank
from dampen.questions.percentile import methods
from dampen.questions.percentile.methods import SHELLS, UNIT, Shares, TwoStages, worth_it
from dampen.questions.percentile.record import label_mechanism
from dampen.testing import Universe
from dampen_studies.rivals.record_law import best_error, expected_error, law
from renyi import least_rho_of

SETTINGS = [(3, 4, 50, 5, "2"), (4, 3, 50, 6, "4"), (4, 3, 90, 4, "1"), (3, 3, 0, 9, "9")]


def small(n, values, p, cells, epsilon, kind=TwoStages):
    shares = Shares.of(Fraction(epsilon))
    problem = kind(n=n, p=p, upper=values - 1, shares=shares, cells=cells)
    return problem, Universe.replace_one(range(values), n)


def loss(problem, universe):
    """The largest log-ratio over places, reaches and labels, and over all neighbours."""
    log_p = np.log([law(problem, np.array(x, float)).ravel() for x in universe.databases])
    left, right = universe.neighbours.T
    return float(np.abs(log_p[left] - log_p[right]).max())


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_loss_of_all_that_is_released_is_at_most_epsilon(setting):
    problem, universe = small(*setting)
    assert 0.5 * float(setting[-1]) < loss(problem, universe) <= float(setting[-1]) + 1e-9


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_price_in_zcdp_covers_all_that_is_released(setting):
    """And a twin that is charged for a third of its ε is found."""
    problem, universe = small(*setting)
    laws = [law(problem, np.array(x, float)).ravel() for x in universe.databases]
    lost = least_rho_of(np.log(laws), universe)
    third = Shares.of(Fraction(setting[-1]) / 3)
    assert float(third.rho()) < lost <= float(problem.shares.rho())


@pytest.mark.parametrize("mechanism", [PF, EM], ids=lambda each: each.name)
def test_the_price_in_zcdp_covers_every_draw(mechanism):
    """The place by rank, and a label that may move in or out: a twin pays for a third of ε."""
    problem, universe = small(3, 4, 50, 5, "4")
    shares = problem.shares
    columns = [np.array(x, float) for x in universe.databases]
    counts = [np.bincount(problem.cells_of(x), minlength=5) for x in columns]
    inside = [x >= 2 for x in columns]
    drawn = {
        shares.place: [problem.place(each) for each in counts],
        shares.label: [problem.label(each) for each in inside],
    }
    for epsilon, selections in drawn.items():
        laws = [probabilities(each, epsilon=epsilon, mechanism=mechanism) for each in selections]
        lost = least_rho_of(np.log(laws), universe)
        assert float(mechanism.rho(epsilon / 3)) < lost <= float(mechanism.rho(epsilon))


@pytest.mark.parametrize("setting", SETTINGS[:2], ids=str)
def test_shares_are_exact_and_their_sum_is_epsilon(setting):
    shares = Shares.of(Fraction(setting[-1]))
    assert shares.place + shares.reach + shares.label == Fraction(setting[-1])


class WithoutTheHalf(TwoStages):
    """Stage 1 as if one record moved the rank of one cell only."""

    def place(self, counts):
        made = super().place(counts)
        return Selection(made.utility, sensitivity.constant(1), separable=True, exact=True)


@dataclass(frozen=True, kw_only=True)
class PlaceFromData(TwoStages):
    """The place is where the percentile is, without noise."""

    def place(self, counts):
        made = super().place(counts)
        return Selection(made.utility * 10, sensitivity.constant(1), exact=True)


class ReachOfMany(TwoStages):
    """A record counts as much as its distance says, without a bound."""

    @property
    def balance(self):
        return 64 * super().balance


@pytest.mark.parametrize("twin", [WithoutTheHalf, PlaceFromData, ReachOfMany])
def test_a_broken_twin_is_found(twin):
    found = [loss(*small(*s, kind=twin)) / float(s[-1]) for s in SETTINGS]
    assert max(found) > 1.05


def test_a_record_moves_the_balance_by_at_most_one():
    for epsilon in ("0.01", "1", "20", "5000"):
        psi = TwoStages(n=5, p=50, upper=1, shares=Shares.of(Fraction(epsilon))).balance
        assert np.abs(psi).max() <= UNIT // 2
        assert psi.shape == (SHELLS + 1, SHELLS + 1)
        assert (psi[:, 0] == UNIT // 2).all()


def test_the_surplus_is_public_and_falls_with_the_reach():
    surplus = TwoStages(n=5000, p=50, upper=1, shares=Shares.of(Fraction(5))).surplus
    assert (np.diff(surplus) <= 0).all()
    assert surplus[-1] == methods.MORE * 4 * UNIT
    assert surplus[0] == 5000 * UNIT


def test_cells_keep_the_order_and_every_point_is_in_its_own():
    problem = TwoStages(n=5000, p=50, lower=-7, upper=900, shares=Shares.of(Fraction(12)))
    x = np.sort(np.random.default_rng(0).uniform(-7, 900, 5000))
    cells = problem.cells_of(np.r_[-7.0, x, 900.0])
    assert (np.diff(cells) >= 0).all()
    assert (cells[0], cells[-1]) == (0, len(problem.points) - 1)
    assert (problem.cells_of(problem.points) == np.arange(len(problem.points))).all()


def test_the_expected_error_is_that_of_the_law():
    x = np.array([0, 1, 1, 3, 5, 5, 5, 8], float)
    for epsilon in ("1", "6", "25"):
        shares = Shares.of(Fraction(epsilon))
        problem = TwoStages(n=8, p=60, upper=8, shares=shares, cells=12)
        error = np.abs(x - np.sort(x)[rank(60, 8) - 1])
        by_law = float(law(problem, x).sum(axis=(0, 1)) @ error)
        assert expected_error(problem, x) == pytest.approx(by_law, rel=1e-9)


@pytest.mark.parametrize("inside", [(), (1,), (0, 2), (0, 1, 2, 3)])
def test_the_law_is_that_of_the_selections(inside):
    x = np.array([0.0, 1, 2, 3])
    problem = TwoStages(n=4, p=50, upper=3, shares=Shares.of(Fraction(5)), cells=8)
    wanted = np.isin(np.arange(4), inside)
    label = probabilities(problem.label(wanted), epsilon=problem.shares.label, mechanism="pf")
    cells = problem.cells_of(x)
    counts, joint = np.bincount(cells, minlength=8), law(problem, x)
    assert joint.sum() == pytest.approx(1)
    for c in range(8):
        shells = problem.shells(c)
        reach = probabilities(
            problem.reach(counts, shells), epsilon=problem.shares.reach, mechanism="pf"
        )
        given = joint[c] / joint[c].sum()
        assert given.sum(axis=1) == pytest.approx(reach, rel=1e-9)
        for j in np.flatnonzero(
            [((shells <= j)[cells] == wanted).all() for j in range(SHELLS + 1)]
        ):
            assert given[j] / reach[j] == pytest.approx(label, rel=1e-9)


def test_draws_have_the_law():
    """Chi-square over labels; false alarms: below 1e-6."""
    from scipy.stats import chisquare

    x = np.array([0, 1, 1, 3, 5, 8], float)
    problem = TwoStages(n=6, p=50, upper=8, shares=Shares.of(Fraction(5)), cells=10)
    entropy = dampen.InsecureEntropy(3)
    drawn = [problem.draw(x, entropy) for _ in range(4000)]
    count = np.bincount([d.labels[0] for d in drawn], minlength=6)
    assert chisquare(count, 4000 * law(problem, x).sum(axis=(0, 1))).pvalue > 1e-6
    assert all(0 <= low < high <= 8 for low, high in (d.interval for d in drawn))


def test_best_error_is_the_least_over_all_weights():
    generator = np.random.default_rng(2)
    for _ in range(20):
        error, weight = generator.exponential(size=7), generator.uniform(1, 50)
        every = np.array(np.meshgrid(*[[1, weight]] * 7)).reshape(7, -1)
        brute = ((every * error[:, None]).sum(axis=0) / every.sum(axis=0)).min()
        assert best_error(error, weight) == pytest.approx(brute)
        between = generator.uniform(1, weight, size=(7, 500))
        assert ((between * error[:, None]).sum(0) / between.sum(0)).min() >= brute


COLUMNS = {
    "lognormal": lambda g: g.lognormal(3, 1.5, 2000),
    "uniform": lambda g: g.uniform(0, 50, 2000),
    "zeros": lambda g: np.where(g.random(2000) < 0.9, 0, g.lognormal(3, 2, 2000)),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_two_stages_beat_dampening(name):
    x = COLUMNS[name](np.random.default_rng(11))
    top, ratios = float(x.max()), []
    for p in (20, 50, 97):
        near = PercentileLabel(n=len(x), p=p, upper=top, horizon=NEAR).selection(x)
        for epsilon in (2, 5, 10, 20):
            problem = TwoStages(n=len(x), p=p, upper=top, shares=Shares.of(Fraction(epsilon)))
            one = -near.utility @ probabilities(
                near, epsilon=epsilon, mechanism=label_mechanism(0, top)
            )
            ratios.append(expected_error(problem, x) / one)
    assert max(ratios) < 1.1
    assert np.exp(np.mean(np.log(ratios))) < 0.4


def test_the_default_takes_two_stages_for_many_records():
    values = np.random.default_rng(4).permutation(2000).astype(float)
    made = dampen.percentile_record(values, p=75, epsilon=60, upper=2000)
    assert made.mechanism == "two-stages"
    low, high = made.parameters["interval"]
    assert low - 1e-9 <= values[made.answer] <= high + 1e-9
    assert abs(values[made.answer] - 1500) < 60
    assert json.loads(made.to_json())["parameters"]["interval"] == [low, high]
    few = dampen.percentile_record(values[:999], p=75, epsilon=60, upper=2000)
    assert few.mechanism == "ld-pf-range"
    assert "interval" not in few.parameters
    asked = dampen.percentile_record(values, p=75, epsilon=60, upper=2000, delta="exact")
    assert asked.mechanism == "ld-pf-range"
    assert worth_it(1000)
    assert not worth_it(999)


def test_a_file_says_two_stages_whatever_its_length(tmp_path):
    for rows in (5, 1500):
        path = tmp_path / f"{rows}.csv"
        path.write_text("who,v\n" + "".join(f"w{i},{i}\n" for i in range(rows)))
        made = dampen.percentile_record(path, "v", labels="who", p=50, epsilon=500, upper=1500)
        assert made.mechanism == "two-stages"
        assert ("interval" in made.parameters) == (rows == 1500)
        assert abs(int(made.answer[1:]) - rows / 2) <= 20


def test_labels_of_a_file_may_occur_twice_or_be_missing(tmp_path):
    for rows in (1500, 15):
        path = tmp_path / "twice.csv"
        path.write_text("who,v\n" + "".join(f"w{i % 9},{i}\n" for i in range(rows)) + "x\n")
        found = dampen.percentile_record(path, "v", labels="who", p=50, epsilon=5, upper=1500)
        assert found.answer in {*(f"w{i}" for i in range(9)), "(missing)"}


def test_wrong_parameters_cost_nothing():
    with pytest.raises(ParameterError, match="0 to 100"):
        TwoStages(n=3, p=101, upper=1, shares=Shares.of(Fraction(1)))
    with pytest.raises(ParameterError, match="lower < upper"):
        TwoStages(n=3, p=50, upper=0, shares=Shares.of(Fraction(1)))


@pytest.mark.filterwarnings("ignore::dampen.errors.AccuracyWarning")
def test_extreme_epsilons_and_constant_columns_work():
    for epsilon in ("1e-6", "1e6"):
        made = dampen.percentile_record(np.full(1200, 7.0), p=50, epsilon=epsilon, upper=9)
        assert 0 <= made.answer < 1200
    assert methods.MOST_CELLS == 2**20
