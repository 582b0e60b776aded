"""Missing values: a bin or a category of their own where that is declared, else a row less."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dampen import MISSING, OTHER
from dampen.errors import ParameterError
from dampen.questions.classify import Bins, Categories, TreeClassifier, bins
from dampen.questions.classify.encoding import given_domains
from dampen.schema import parse_schema

ROWS = 40
AGES: list[Any] = [20, 70, None, 70] * (ROWS // 4)
JOBS: list[Any] = ["farm", None, "office", None] * (ROWS // 4)
CLASSES = ["young", "lost", "hidden", "lost"] * (ROWS // 4)
"""Only who knows that an age or a job is missing can tell these classes apart."""
OWN = {"age": bins(0, 100, 4, missing="own"), "job": ["farm", "office", None]}
GIVEN = {"epsilon": 2000, "max_depth": 2, "classes": ["young", "lost", "hidden"], "max_rows": ROWS}

FRAMES = {
    "pandas": lambda: pd.DataFrame({"age": AGES, "job": JOBS}),
    "pandas nullable": lambda: pd.DataFrame({"age": AGES, "job": JOBS}).convert_dtypes(),
    "pandas categories": lambda: pd.DataFrame({"age": AGES, "job": JOBS}).astype(
        {"job": "category"}
    ),
    "pandas arrow": lambda: pd.DataFrame({"age": AGES, "job": JOBS}).convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "pandas objects": lambda: pd.DataFrame({"age": AGES, "job": JOBS}, dtype=object),
    "objects with NA": lambda: pd.DataFrame({"age": AGES, "job": JOBS}, dtype=object).fillna(pd.NA),
    "polars": lambda: pl.DataFrame({"age": AGES, "job": JOBS}),
    "polars categories": lambda: pl.DataFrame(
        {"age": AGES, "job": JOBS}, schema_overrides={"job": pl.Categorical}
    ),
    "numpy": lambda: pd.DataFrame({"age": AGES, "job": JOBS}).to_numpy(dtype=object),
    "lists": lambda: [list(row) for row in zip(AGES, JOBS, strict=True)],
}


def asked(domains: Any = None, **options: Any) -> TreeClassifier:
    return TreeClassifier(**{**GIVEN, "domains": domains or OWN, **options})


@pytest.mark.parametrize("kind", FRAMES)
def test_missing_values_are_distinguished(kind: str) -> None:
    """At ε = 2000 a wrong split or leaf has a probability below 1e-9."""
    rows = FRAMES[kind]()
    domains = OWN if hasattr(rows, "columns") else list(OWN.values())
    tree = asked(domains).fit(rows, CLASSES)
    assert tree.predict(rows).tolist() == CLASSES
    again = TreeClassifier.from_json(tree.to_json())
    assert again.predict(rows).tolist() == CLASSES
    assert again.report() == tree.report()
    assert "missing" in tree.report()


@pytest.mark.parametrize("kind", FRAMES)
def test_rows_with_missing_values_that_are_not_declared_are_dropped(kind: str) -> None:
    """What is left is one class for who has an age, and one for who has a job."""
    rows = FRAMES[kind]()
    for domains, left in (
        ({"age": bins(0, 100, 4)}, "lost"),
        ({"job": ["farm", "office"]}, "hidden"),
    ):
        given = OWN | domains if hasattr(rows, "columns") else list((OWN | domains).values())
        assert left in asked(given).fit(rows, CLASSES).to_json()


def csv_text() -> str:
    cells = (
        "" if value is None else str(value)
        for pair in zip(AGES, JOBS, strict=True)
        for value in pair
    )
    pairs = zip(cells, cells, CLASSES, strict=False)
    return "age,job,class\n" + "".join(f"{age},{job},{c}\n" for age, job, c in pairs)


def write_json(path: Path) -> None:
    rows = zip(AGES, JOBS, CLASSES, strict=True)
    path.write_text("\n".join(json.dumps({"age": a, "job": j, "class": c}) for a, j, c in rows))


WRITERS = {
    "csv": lambda path: path.write_text(csv_text()),
    "csv.gz": lambda path: path.write_bytes(gzip.compress(csv_text().encode())),
    "parquet": lambda path: pq.write_table(
        pa.table({"age": AGES, "job": JOBS, "class": CLASSES}), path
    ),
    "jsonl": write_json,
}


@pytest.mark.parametrize("kind", WRITERS)
def test_missing_cells_of_files(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"people.{kind}"
    WRITERS[kind](path)
    schema = parse_schema(
        f"""
        [[data]]
        name = "people"
        rows = {ROWS}
        [data.columns]
        age = {{ lower = 0, upper = 100, bins = 4, missing = "own" }}
        job = {{ values = ["farm", "office"], missing = "own" }}
        class = ["young", "lost", "hidden"]
        """
    )
    facts = {name: each for name, each in schema.fact("domains").items() if name != "class"}
    domains = OWN | {"job": Categories(("farm", "office", None))}
    assert given_domains(facts, list(facts)) == list(domains.values())
    tree = asked(facts).fit_table(path, target="class")
    assert tree.predict_table(path).tolist() == CLASSES
    assert "lost" in asked(OWN | {"age": bins(0, 100, 4)}).fit_table(path, target="class").to_json()


def test_codes_of_missing_values() -> None:
    own = Bins([0, 10, 20], missing="own")
    assert len(own) == 3
    assert own.encode([np.nan, 5.0, None, 15]).tolist() == [2, 0, 2, 1]
    assert own.describe([2]) == "missing"
    assert own.describe([1, 2]) == ">= 10 or missing"
    places = Categories(["a", None, "b"])
    assert places.encode(["b", None, "a", float("nan"), pd.NA, ""]).tolist() == [2, 1, 0, 1, 1, 1]
    assert places.encode(np.array(["b", "z", ""])).tolist() == [2, -1, 1]
    assert places.describe([1]) == "(missing)"
    assert Categories(["a", None, ""]).encode(["", None]).tolist() == [2, 1]
    assert Categories([1, np.nan]).values == (1, MISSING)
    other = Categories(["a", OTHER])
    assert other.encode(["z", "a", None]).tolist() == [1, 0, -1]
    for repeated in ([None, float("nan")], [np.nan, pd.NA]):
        with pytest.raises(ParameterError, match="occur twice"):
            Categories(repeated)
    with pytest.raises(ParameterError, match="missing='own'"):
        Bins([0, 1], missing="drop")  # type: ignore[arg-type]


def test_predictions_of_what_was_never_declared() -> None:
    """A category that is not listed is the last one; a missing number has no place."""
    rows = pd.DataFrame({"age": [20, 70] * 20, "job": ["farm", "office"] * 20})
    tree = asked({"age": bins(0, 100, 4), "job": ["farm", "office"]}).fit(
        rows, ["young", "lost"] * 20
    )
    assert tree.predict(pd.DataFrame({"age": [70], "job": ["pirate"]})).tolist() == ["lost"]
    with pytest.raises(ValueError, match="NaN") as told:
        tree.predict(pd.DataFrame({"age": [None, 20], "job": ["farm", "farm"]}))
    assert "in every cell of 'age'" in str(told.value)
    assert "Fill them before you predict" in str(told.value)
    assert "dampen.bins(0, 100, missing='own') as the domain of 'age'" in str(told.value)
    assert 'missing = "own" in the facts' in str(told.value)


def test_numbers_of_an_array_to_predict() -> None:
    """Either remedy of the message works."""
    rows = np.array([[20.0], [70.0], [np.nan]])
    classes = ["young", "lost", "hidden"]
    plain = asked([bins(0, 100, 4)]).fit(rows, classes)
    with pytest.raises(
        ValueError, match=r"with no missing value; some are NaN.*nan_to_num"
    ) as told:
        plain.predict(rows)
    assert "missing='own'" in str(told.value)
    assert len(plain.predict(np.nan_to_num(rows))) == 3
    own = asked([bins(0, 100, 4, missing="own")]).fit(rows, classes)
    assert len(own.predict(rows)) == 3
    with pytest.raises(ValueError, match="or NaN for a missing value; some are NaN or infinite"):
        own.predict(np.array([[np.inf]]))
