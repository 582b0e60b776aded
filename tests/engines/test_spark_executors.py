"""What executors run, without Spark: the parts of a count, and the proof that dampen is there."""

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dampen.data import spark
from dampen.data.spark import CountedPart, VersionPart, open_spark_frame
from dampen.errors import ParameterError
from dampen.questions.classify.encoding import Bins
from dampen.questions.classify.growing import Coding, LevelCells
from dampen.questions.percentile.values import ValueGrid


def batches(*columns: list[Any]) -> Any:
    schema = pa.schema([("x", pa.int64())])
    return iter([pa.RecordBatch.from_pydict({"x": column}, schema) for column in columns])


def cell(batch: Any) -> Any:
    return np.asarray(batch["x"], dtype=np.int64)


def counts(part: Any, given: Any) -> dict[int, int]:
    [made] = part(given)
    assert made.schema.names == ["cell", "rows"]
    return dict(zip(made.column("cell").to_pylist(), made.column("rows").to_pylist(), strict=True))


def test_a_part_sends_the_counts_that_are_not_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    part = CountedPart({"x": "numbers"}, cell, 10)
    assert counts(part, batches([3, 3], [9], [-1, 3], [])) == {3: 3, 9: 1, 10: 1}
    assert counts(part, batches()) == {}
    monkeypatch.setattr(spark, "ROWS", 2)
    assert counts(part, batches([3], [3], [9], [-1], [3])) == {3: 3, 9: 1, 10: 1}


def test_tasks_for_executors_are_small_and_can_be_pickled() -> None:
    grid = ValueGrid(0, 100, 1)
    coding = Coding({"x": Bins([0, 1, 2])}, "y", ["no", "yes"])
    level = LevelCells(coding, (), np.zeros(1, dtype=np.int64))
    for cell_of in (grid.cells, level):
        part = CountedPart({"x": "numbers"}, cell_of, 10)
        assert len(pickle.dumps(part)) < 5000
        pickle.loads(pickle.dumps(part))


class Frame:
    """A DataFrame of Spark that says what its executors import."""

    isStreaming, schema = False, ()

    def __init__(self, *versions: str) -> None:
        self.versions = versions

    @property
    def sparkSession(self) -> "Frame":
        return self

    def range(self, *_: int) -> "Frame":
        return self

    def mapInArrow(self, part: Any, _: str) -> "Frame":
        assert isinstance(part, VersionPart)
        assert len(list(part(iter([])))) == 1
        return self

    def distinct(self) -> "Frame":
        return self

    def toArrow(self) -> pa.Table:
        if not self.versions:
            raise RuntimeError("ModuleNotFoundError: secret")
        return pa.table({"version": list(self.versions)})


def test_executors_must_import_this_dampen() -> None:
    mine = spark._version()
    open_spark_frame(Frame(mine))
    for versions in ([], ["0.0.1"], [mine, "0.0.1"]):
        with pytest.raises(ParameterError, match=r"executors .* PYSPARK_PYTHON") as caught:
            open_spark_frame(Frame(*versions))
        assert "secret" not in str(caught.value)
