"""What a released model predicts for the rows of a table, and how often that is wrong."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from dampen.core.selection import IntArray
from dampen.data.columns import Lookup
from dampen.data.source import Batch, Kind, Opened, reading, require
from dampen.questions.classify.encoding import encode_queries
from dampen.questions.classify.model import Model, model_of

__all__ = ["predicted_places", "wrong_share"]


def predicted_places(model: Model, opened: Opened) -> IntArray:
    """The class of every row of a table, by its place among the classes.

    Raises:
        ParameterError: if the table lacks a column of the model.
    """
    require(opened, *model.columns.by_name)
    found = [places for places, _ in _by_batch(model, opened, {})]
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def wrong_share(answer: Any, opened: Opened, target: str) -> float:
    """The share of the rows of a table that a released model gets wrong; not private.

    Raises:
        ParameterError: if the table lacks a column, or the answer is no model.
    """
    model = model_of(answer)
    require(opened, target, *model.columns.by_name)
    classes = Lookup(model.columns.classes.tolist())
    wrong = [
        places != classes.positions(batch[target])
        for places, batch in _by_batch(model, opened, {target: classes.kind})
    ]
    return float(np.mean(np.concatenate([np.zeros(0, dtype=bool), *wrong])))


def _by_batch(
    model: Model, opened: Opened, more: dict[str, Kind]
) -> Iterator[tuple[IntArray, Batch]]:
    domains = model.columns.by_name
    wanted = {name: domain.kind for name, domain in domains.items()} | more
    with reading(opened.batches(wanted)) as stream:
        for batch in stream:
            codes = encode_queries([batch[name] for name in domains], domains)
            yield model.predicted(codes), batch
