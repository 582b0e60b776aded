"""Labels in two stages where rows stay where they are: two passes, in the memory of one batch.

The first pass counts rows by cell, in the engine where it can.  Place and reach are drawn from the
counts, as in memory.  The second pass reads numbers and labels batch by batch; whether a label is
inside depends on its own number, so every batch leaves its contenders and is forgotten
(`dampen.core.mechanisms.select_streamed`); of k labels, the k best so far are kept, and near-ties.
All bits are drawn here, by the one source of the release: an executor would need a source of its
own, and a seeded one would repeat.

Rows come in the order in which the engine gives them.  The law does not depend on it, since noise
is independent; for the same order and the same bits the answer is that of memory.

That labels are different is not checked, for it would take all of them: where a name occurs twice,
the answer may mean either record.  A missing name is `(missing)`.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from dampen.core.mechanisms import PF, select_streamed
from dampen.core.sampling import Contenders, Entropy, contenders, narrowed, settle
from dampen.core.selection import IntArray, Selection
from dampen.data.cells import Keyed
from dampen.data.columns import as_names, as_numbers
from dampen.data.source import Chunk, Kind, Opened, reading
from dampen.errors import DataError
from dampen.questions.percentile.record_two_stages import Near, TwoStages
from dampen.questions.percentile.set_noise import Staircase
from dampen.questions.percentile.values import missing_as_lowest

__all__ = ["StreamedLabels"]

Blocks: TypeAlias = Iterator[tuple[Selection, Callable[[int], Hashable]]]
"""Labels inside or not, batch by batch, and the name of the i-th of a batch."""


@dataclass(frozen=True, slots=True)
class StreamedLabels:
    """Where the numbers are, and the labels; without labels a label is the place of its row."""

    opened: Opened
    column: str
    labels: str | None

    def counts(self, problem: TwoStages) -> IntArray:
        """The number of rows in every cell; a missing number counts as the lower end."""
        of = ("ends", self.column, problem.lower, problem.upper, len(problem.points))
        cell_of = Keyed({self.column: problem.key}, itemgetter(self.column), of)
        counts = self.opened.counts({self.column: "numbers"}, cell_of, len(problem.points))
        return missing_as_lowest(counts)[:-1]

    def drawn(
        self, problem: TwoStages, counts: IntArray, entropy: Entropy
    ) -> tuple[list[Hashable], tuple[float, float]]:
        """The names of records in their order, and the interval that was released on the way."""
        self._require(int(counts.sum()) == problem.n)
        near = problem.near(counts, entropy)
        blocks = self._blocks(problem, near)
        label = problem.shares.label
        if problem.count == 1:
            one = select_streamed(blocks, epsilon=label, mechanism=PF, entropy=entropy)
            return [one], near.interval
        return _several(blocks, Staircase(label), problem.count, entropy), near.interval

    def _blocks(self, problem: TwoStages, near: Near) -> Blocks:
        wanted: dict[str, Kind] = {self.column: "numbers"}
        if self.labels is not None:
            wanted[self.labels] = "text"
        seen = 0
        with reading(self.opened.batches(wanted)) as batches:
            for batch in batches:
                cells = np.maximum(problem.cells_in(as_numbers(batch[self.column])), 0)
                if len(cells) == 0:
                    continue
                names = (
                    range(seen, seen + len(cells)) if self.labels is None else batch[self.labels]
                )
                yield problem.label(near.inside[cells]), _named(names)
                seen += len(cells)
        self._require(seen == problem.n)

    def _require(self, unchanged: bool) -> None:
        if not unchanged:
            raise DataError(
                f"Expected {self.opened.title} to hold rows that do not change while they are "
                "read twice."
            )


def _several(blocks: Blocks, noise: Staircase, k: int, entropy: Entropy) -> list[Hashable]:
    """Those of `noisy_top` over all blocks; only contenders of all blocks so far are kept."""
    left = list[Contenders]()
    names = dict[int, Hashable]()
    start = 0
    for labels, name in blocks:
        found = contenders(labels.utility, noise.scale, noise, k, entropy, start=start)
        names |= {i: name(i - start) for i in found.ids.tolist()}
        left = [narrowed([*left, found], noise.scale, noise, k)]
        names = {i: names[i] for i in left[0].ids.tolist()}
        start += len(labels)
    return [names[i] for i in sorted(settle(left, noise.scale, noise, k, entropy))]


def _named(labels: "Chunk | range") -> Callable[[int], Hashable]:
    """The name of one record of a batch, as a copy, so that the batch may be forgotten."""
    if isinstance(labels, range):
        return labels.__getitem__
    return lambda i: as_names([labels[i : i + 1]])[0]
