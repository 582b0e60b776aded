"""Labels of nodes: one column of them as an array, and their positions in a public node set."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import IntArray
from dampen.data.columns import is_missing
from dampen.data.source import Chunk
from dampen.errors import DataError, raise_alone

__all__ = ["Labels", "Numbering", "as_labels", "distinct", "joined"]

Labels: TypeAlias = NDArray[Any]


def as_labels(chunk: Chunk) -> Labels:
    """One column of labels: integers where all are, else objects, unchanged.

    Raises:
        DataError: if it is not a column, or labels are missing or fractions.
    """
    array = _array(chunk)
    if array.ndim != 1:
        raise DataError("Expected the ends of edges in one dimension.")
    if array.dtype.kind == "u" or (array.dtype.kind == "O" and all(map(_is_integer, array))):
        array = _integers(array)
    if len(array) == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iOU" or any(map(is_missing, _objects_in(array))):
        raise DataError(
            "Expected labels of nodes, integers or text, none of them missing or a fraction."
        )
    return array


def distinct(src: Labels, dst: Labels) -> Sequence[Hashable]:
    """The labels that occur: integers sorted, others in the order in which they occur."""
    if src.dtype.kind in "iu" and dst.dtype.kind in "iu":
        labels: list[Hashable] = np.unique(np.concatenate([src, dst])).tolist()
        return labels
    return list(dict.fromkeys(src.tolist()) | dict.fromkeys(dst.tolist()))


def joined(pieces: Sequence[Labels]) -> Labels:
    """Pieces of a column as one array."""
    parts = [piece for piece in pieces if len(piece)]
    if not parts:
        return np.empty(0, dtype=np.int64)
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False, repr=False)
class Numbering:
    """The position of labels in `nodes`, for one column after another."""

    nodes: Sequence[Hashable]

    def positions(self, labels: Labels) -> NDArray[np.int32]:
        """One position per label; the labels themselves where they are that already.

        Raises:
            DataError: if a label is not among the nodes; it does not say which.
        """
        integers = labels.dtype.kind in "iu"
        if integers and len(labels) and labels.min() < 0:
            raise DataError("Expected node ids >= 0; some are negative.")
        if self._is_range and (integers or not len(labels)):
            if len(labels) and labels.max() >= len(self.nodes):
                raise _outside()
            return labels.astype(np.int32, copy=False)
        if integers and self._ids.dtype.kind in "iu":
            return self._search(labels)
        number = self._number
        try:
            return np.fromiter((number[label] for label in labels.tolist()), np.int32, len(labels))
        except (KeyError, TypeError):
            raise_alone(_outside())

    def _search(self, labels: Labels) -> NDArray[np.int32]:
        place = np.searchsorted(self._ids, labels, sorter=self._order)
        found = self._order[np.minimum(place, len(self._ids) - 1)]
        if not np.array_equal(self._ids[found], labels):
            raise _outside()
        return found.astype(np.int32)

    @property
    def _is_range(self) -> bool:
        return isinstance(self.nodes, range) and self.nodes == range(len(self.nodes))

    @cached_property
    def _ids(self) -> Labels:
        return as_labels(list(self.nodes))

    @cached_property
    def _order(self) -> IntArray:
        return np.argsort(self._ids, kind="stable")

    @cached_property
    def _number(self) -> dict[Hashable, int]:
        return {label: i for i, label in enumerate(self._ids.tolist())}


def _array(chunk: Any) -> Labels:
    if not hasattr(chunk, "to_pylist"):
        return chunk if isinstance(chunk, np.ndarray) else _array_of_objects(chunk)
    import pyarrow.types as kinds

    if kinds.is_integer(chunk.type) and not chunk.null_count:
        integers: Labels = chunk.to_numpy(zero_copy_only=False)
        return integers
    if kinds.is_dictionary(chunk.type):
        chunk = chunk.dictionary_decode()
    coded = chunk.dictionary_encode()
    words = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
    labels: Labels = words[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return labels


def _outside() -> DataError:
    return DataError(
        "Expected every edge to join two of the given nodes; at least one does not. Add what is "
        "missing to nodes= if it is public, or drop such edges before the release."
    )


def _array_of_objects(values: Iterable[Any]) -> Labels:
    try:
        return np.fromiter(values, dtype=object)
    except TypeError:
        raise DataError("Expected two columns of labels, the ends of the edges.") from None


def _integers(array: Labels) -> Labels:
    """Signed integers of 64 bits where they fit: numpy compares others with them as floats."""
    if len(array) and array.max() > np.iinfo(np.int64).max:
        return array.astype(object)
    return array.astype(np.int64)


def _is_integer(label: Any) -> bool:
    return isinstance(label, int | np.integer) and not isinstance(label, bool)


def _objects_in(array: Labels) -> Iterable[Any]:
    return array if array.dtype.kind == "O" else ()
