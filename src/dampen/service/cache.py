"""What a service keeps to answer sooner: counts of rows, and how questions fare on public samples.

- `Cache`: counts of rows by public cells, so that rows are read once.
- `Samples`: how a question is answered on a public sample, if the curator registered one.
"""

import json
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dampen.core.selection import IntArray
from dampen.data.cells import Keyed, ValueCounts, ValuesOf
from dampen.data.expressions import Expression, kept
from dampen.data.open import open_table
from dampen.data.source import Batch, CellOf, Field, Kind, Opened, PassedOn
from dampen.errors import DampenError
from dampen.releases.answer import DRAWS, rehearse
from dampen.service.configuration import FileSource, Served, Source
from dampen.service.middleware import Pace
from dampen.service.questions import Asked

__all__ = [
    "Cache",
    "CachedTable",
    "Samples",
]


MOST_BYTES = 256 * 2**20


@dataclass
class Cache:
    """The histograms of one data set, as of one state of its rows; those not used go first.

    A histogram is private, as the rows are; it never leaves the process.  What a question draws
    from it is what it would draw from the rows: `Opened.counts` is a function of the rows and of
    the public cells alone.  The key names both: the state of the rows, and what the cells are a
    function of (`Keyed.of`).  Cells that do not say what they are a function of are counted anew
    every time.

    Several questions may wait for one histogram, each with a clock of its own: together they would
    tell to a hair when it was ready.  So it is given to all of them, its maker too, at a public
    step of time after it was begun.

    Attributes:
        source: where the rows are.
        step: seconds: a histogram is ready at a multiple of it; 0 for at once.
        most_bytes: of all histograms together.
    """

    source: Source
    step: float = 0.0
    most_bytes: int = MOST_BYTES
    _state: Hashable = None
    _table: "CachedTable | None" = None
    _counts: "OrderedDict[Hashable, IntArray]" = field(default_factory=OrderedDict)
    _mutex: threading.RLock = field(default_factory=threading.RLock)
    _making: dict[Hashable, threading.Lock] = field(default_factory=dict)

    def table(self) -> "CachedTable":
        """The data set, opened; no row is read.  A file that changed is another one."""
        state = self.source.state()
        with self._mutex:
            if self._table is None or state != self._state:
                data, table = self.source.data()
                self._table = CachedTable(open_table(data, table=table), self, state)
                self._state = state
                self._counts.clear()
            return self._table

    def counts(self, key: Hashable, opened: Opened, asked: tuple[Any, ...]) -> IntArray:
        """A histogram, from the cache where it is there; one thread makes it, others wait."""
        with self._mutex:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._mutex:
                if key in self._counts:
                    self._making.pop(key, None)
                    self._counts.move_to_end(key)
                    return self._counts[key]
            made = self._made(opened, asked)
            with self._mutex:
                self._keep(key, made)
                self._making.pop(key, None)
        return made

    def _made(self, opened: Opened, asked: tuple[Any, ...]) -> IntArray:
        start = time.monotonic()
        try:
            made = opened.counts(*asked)
            made.flags.writeable = False
            return made
        finally:
            if self.step:
                time.sleep(Pace(self.step).left(start))

    def _keep(self, key: Hashable, made: IntArray) -> None:
        self._counts[key] = made
        total = sum(each.nbytes for each in self._counts.values())
        while total > self.most_bytes and self._counts:
            total -= self._counts.popitem(last=False)[1].nbytes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CachedTable:
    """Opened data whose counts are kept; `state` is that of its rows."""

    opened: Opened
    cache: Cache
    state: Hashable

    title = PassedOn[str]()
    fields = PassedOn[Sequence[Field]]()
    declared = PassedOn[bool]()
    rows = PassedOn[int | None]()
    ordered = PassedOn[bool]()
    streams = PassedOn[bool]()

    def filtered(self, condition: Expression, /) -> "CachedTable":
        """Its histograms are kept beside those of all rows."""
        state = (self.state, condition.text)
        return CachedTable(kept(self.opened, condition), self.cache, state)

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        return self.opened.batches(wanted)

    def value_counts(self, asked: ValuesOf, /) -> ValueCounts:
        return asked.of(self.opened)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        if not isinstance(cell_of, Keyed) or cell_of.of is None:
            return self.opened.counts(wanted, cell_of, size)
        key = (self.state, tuple(wanted.items()), size, cell_of.of)
        return self.cache.counts(key, self.opened, (wanted, cell_of, size))


MODELS = 3
"""Draws of a question that takes long; others have `DRAWS`."""
MOST_KEPT = 1000
"""Questions whose answers on a sample are kept."""


@dataclass
class Samples:
    """The public samples of data sets, by name, and what was found on them.

    Nothing here looks at private data, so it costs nothing.  What a public sample says is told
    apart from the accuracy of the question: it speaks of the sample.
    """

    _caches: Mapping[str, Cache]
    _found: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, sets: Iterable[Served]) -> "Samples":
        """The samples of data sets; opens none."""
        named = {each.name: each.sample for each in sets}
        return cls({name: Cache(FileSource(path)) for name, path in named.items() if path})

    def check(self) -> None:
        """Opens every sample.

        Raises:
            ParameterError: if one cannot be opened.
        """
        for cache in self._caches.values():
            cache.table()

    def tried(self, asked: Asked) -> dict[str, Any] | None:
        """A question on the sample of its data set; None if there is none.

        The same for the same question, so that it is worked out once.
        """
        cache = self._caches.get(asked.served.name)
        if cache is None:
            return None
        if asked.mark not in self._found:
            while len(self._found) >= MOST_KEPT:
                self._found.pop(next(iter(self._found)))
            self._found[asked.mark] = _on_sample(asked, cache)
        return self._found[asked.mark]


def _on_sample(asked: Asked, cache: Cache) -> dict[str, Any]:
    """How the same question is answered on a public sample, several times, and how far off.

    Gives `draws`, the commonest `answers` with their counts (none of models), `error` and a
    `sentence` about it.
    """
    model = asked.question.shape() == "model"
    draws = MODELS if model else DRAWS
    try:
        source = asked.opened(cache)
        tried = rehearse(
            asked.question, source, asked.price, draws=draws, schema=asked.served.schema
        )
    except DampenError:
        return {"sentence": "This question could not be answered on the public sample."}
    texts = [] if model else [json.dumps(each, default=str) for each in tried.answers]
    return {
        "draws": draws,
        "answers": [[json.loads(text), count] for text, count in Counter(texts).most_common(5)],
        "error": round(tried.error, 3),
        "sentence": f"{tried.sentence} The public sample is not the data.",
    }
