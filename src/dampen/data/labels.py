"""Labels of nodes: one column of them as an array, and their positions in a public node set.

Every label has a public outcome.  It means the node that it equals; or else, text that reads as a
whole number means that number (`"007"` the node 7), and a whole number the node that is its text (7
the node `"7"`).  Whatever else there is means no node: what is missing, a fraction, True and False,
text that cannot be decoded, a label that is not among the nodes.  Nothing here raises an error.
"""

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from numbers import Number
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import IntArray
from dampen.data.columns import is_missing
from dampen.data.source import Chunk

__all__ = ["INTEGER", "Labels", "Numbering", "as_labels", "distinct", "is_label", "joined"]

Labels: TypeAlias = NDArray[Any]

INTEGER = re.compile("[+-]?[0-9]{1,19}")
"""Text that reads as a whole number."""
NOBODY = -1
"""The position of what is no node."""
WORD = 2.0**63


def as_labels(chunk: Chunk) -> Labels:
    """One column of labels: integers where all are, else floats or objects, unchanged."""
    array = _array(chunk)
    if array.dtype.kind == "u" or (array.dtype.kind == "O" and all(map(_is_integer, array))):
        array = _integers(array)
    if len(array) == 0:
        return array.astype(np.int64)
    return array if array.dtype.kind in "ifOU" else _objects(array.tolist())


def is_label(label: Any) -> bool:
    """Whether a label may name a node: it is not missing, no fraction, not True or False."""
    try:
        hash(label)
        if isinstance(label, bool | np.bool_) or is_missing(label):
            return False
        return not isinstance(label, Number) or bool(label == int(label))  # type: ignore[call-overload]
    except Exception:  # whatever an object raises that cannot be compared
        return False


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

    @cached_property
    def as_text(self) -> bool:
        """Whether a text file is to be read as text: some nodes are not whole numbers."""
        return not self._is_range and not all(map(_is_integer, self.nodes))

    @cached_property
    def all_text(self) -> bool:
        """Whether all nodes are text, so that different text means different nodes."""
        return not self._is_range and all(isinstance(node, str) for node in self.nodes)

    def positions(self, labels: Labels) -> NDArray[np.int32]:
        """One position per label, or -1 where it names no node.

        Guarantee: a position depends on its label and on the nodes alone.  Where labels are their
        own positions they are returned as they are.
        """
        if not (self._is_range or self._ids.dtype.kind == "i"):
            return self._looked_up(labels)
        if labels.dtype.kind == "i":
            return self._found(labels)
        numbers, whole = _whole_numbers(labels)
        found = self._found(numbers)
        return np.where(whole, found, np.int32(NOBODY))

    def _found(self, numbers: IntArray) -> NDArray[np.int32]:
        if not len(numbers):
            return numbers.astype(np.int32)
        if not self._is_range:
            return self._search(numbers)
        n = len(self.nodes)
        if numbers.min() >= 0 and numbers.max() < n:
            return numbers.astype(np.int32, copy=False)
        inside = (numbers >= 0) & (numbers < n)
        return np.where(inside, numbers, NOBODY).astype(np.int32)

    def _search(self, numbers: IntArray) -> NDArray[np.int32]:
        place = np.searchsorted(self._ids, numbers, sorter=self._order)
        found = self._order[np.minimum(place, len(self._ids) - 1)]
        missed = self._ids[found] != numbers
        if missed.any():
            found = np.where(missed, NOBODY, found)
        return found.astype(np.int32)

    def _looked_up(self, labels: Labels) -> NDArray[np.int32]:
        words = labels.tolist()
        try:
            found = np.fromiter(map(self._number.get, words, repeat(NOBODY)), np.int32, len(words))
        except Exception:  # whatever a label raises that cannot be compared
            found = np.full(len(words), NOBODY, dtype=np.int32)
        for i in np.flatnonzero(found < 0):
            found[i] = self._position(words[i])
        for place in self._doubtful(words):
            found[place] = NOBODY
        return found

    def _doubtful(self, words: Sequence[Any]) -> list[int]:
        """Where True and False stand, which Python holds to be 1 and 0."""
        if self.all_text:
            return []
        return [i for i, word in enumerate(words) if isinstance(word, bool)]

    def _position(self, label: Any) -> int:
        number = self._number
        if not is_label(label):
            return NOBODY
        if label in number:
            return number[label]
        if isinstance(label, str):
            return number.get(int(label), NOBODY) if INTEGER.fullmatch(label) else NOBODY
        return number.get(str(int(label)), NOBODY) if isinstance(label, Number) else NOBODY  # type: ignore[call-overload]

    @cached_property
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


def _whole_numbers(labels: Labels) -> tuple[IntArray, NDArray[np.bool_]]:
    """Labels as whole numbers of 64 bits, and which of them are."""
    if labels.dtype.kind == "f":
        wide = labels.astype(np.float64, copy=False)
        whole = (np.trunc(wide) == wide) & (wide >= -WORD) & (wide < WORD)
        return np.where(whole, wide, 0).astype(np.int64), whole
    read = [_whole_number(label) for label in labels.tolist()]
    whole = np.fromiter((number is not None for number in read), np.bool_, len(read))
    return np.fromiter((number or 0 for number in read), np.int64, len(read)), whole


def _whole_number(label: Any) -> int | None:
    try:
        if isinstance(label, str):
            number = int(label) if INTEGER.fullmatch(label) else None
        else:
            number = int(label) if isinstance(label, Number) and is_label(label) else None  # type: ignore[call-overload]
    except Exception:  # whatever an object raises that cannot be compared
        return None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _array(chunk: Any) -> Labels:
    if isinstance(chunk, np.ndarray):
        return chunk
    if not hasattr(chunk, "to_pylist"):
        return _objects(chunk)
    import pyarrow.types as kinds

    if kinds.is_integer(chunk.type) and not chunk.null_count:
        integers: Labels = chunk.to_numpy(zero_copy_only=False)
        return integers
    if kinds.is_dictionary(chunk.type):
        chunk = chunk.dictionary_decode()
    coded = chunk.dictionary_encode()
    words = _objects([*_values(coded.dictionary), None])
    labels: Labels = words[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return labels


def _values(array: Any) -> list[Any]:
    """The values of an Arrow array; None for text that cannot be decoded and the like."""
    try:
        values: list[Any] = array.to_pylist()
    except Exception:  # Arrow raises errors of many kinds
        return [_value(cell) for cell in array]
    return values


def _value(cell: Any) -> Any:
    try:
        return cell.as_py()
    except Exception:  # as above
        return None


def _objects(values: Iterable[Any]) -> Labels:
    return np.fromiter(values, dtype=object)


def _integers(array: Labels) -> Labels:
    """Signed integers of 64 bits where they fit: numpy compares others with them as floats."""
    if len(array) and (
        array.max() > np.iinfo(np.int64).max or array.min() < np.iinfo(np.int64).min
    ):
        return array.astype(object)
    return array.astype(np.int64)


def _is_integer(label: Any) -> bool:
    return isinstance(label, int | np.integer) and not isinstance(label, bool)
