"""The tables of the tree benchmarks, coded by public domains; DAMPEN_DATA says where they are."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dampen.trees import Categories, bins
from dampen.trees.encoding import encode_rows, given_domains
from dampen_studies.experiments.trees import ADULT_RANGES

ADULT_CLASSES = ("<=50K", ">50K")


@dataclass(frozen=True)
class CodedTable:
    """Integer codes, their domains, and class codes."""

    name: str
    codes: Any
    domains: list[Categories]
    classes: Any

    def public(self, max_rows: int = 50_000) -> dict[str, Any]:
        return {"domains": self.domains, "classes": [0, 1], "max_rows": max_rows}


def tables_directory() -> Path:
    if "DAMPEN_DATA" not in os.environ:
        raise SystemExit("Set DAMPEN_DATA to the directory with the paper's data.")
    return Path(os.environ["DAMPEN_DATA"]) / "tables"


def binary_table(name: str, class_column: int) -> CodedTable:
    """NLTCS or ACS: all columns are binary."""
    rows = pd.read_csv(tables_directory() / f"{name.lower()}.csv.gz").to_numpy(dtype=np.int64)
    others = [c for c in range(rows.shape[1]) if c != class_column]
    domains = [Categories((0, 1))] * len(others)
    return CodedTable(name, rows[:, others], domains, rows[:, class_column])


def adult_frame(file: str = "adult_nomissing") -> pd.DataFrame:
    return pd.read_csv(tables_directory() / f"{file}.csv.gz")


def adult_predictors(frame: pd.DataFrame) -> list[str]:
    return [c for c in frame.columns if c not in {"fnlwgt", "education", "income", "split"}]


def adult_domains(frame: pd.DataFrame, bin_count: int) -> dict[str, Any]:
    """Public bins; the categories are those of the census code book, which all occur."""
    return {
        c: bins(*ADULT_RANGES[c], bin_count) if c in ADULT_RANGES else sorted(frame[c].unique())
        for c in adult_predictors(frame)
    }


def adult_table(bin_count: int = 10) -> CodedTable:
    frame = adult_frame()
    names, domains = adult_predictors(frame), adult_domains(frame, bin_count)
    columns = [frame[c].to_numpy() for c in names]
    codes = encode_rows(columns, [d for d in given_domains(domains, names) if d], names)
    sizes = [Categories(range(len(domains[c])), ordered=c in ADULT_RANGES) for c in names]
    return CodedTable(
        "Adult", codes.astype(np.int64), sizes, (frame["income"] == ">50K").to_numpy().astype(int)
    )


def paper_tables() -> list[CodedTable]:
    """The three tables of the paper; NLTCS's class is column 13, that of ACS column 10."""
    return [binary_table("NLTCS", 13), binary_table("ACS", 10), adult_table()]
