"""How a question is answered on a public sample, if the curator registered one.

Nothing here looks at private data, so it costs nothing.  What a public sample says is told apart
from the accuracy of the question: it speaks of the sample.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dampen.errors import DampenError
from dampen.releases.rehearsal import DRAWS, rehearse
from dampen.service.cache import Cache
from dampen.service.configuration import Served
from dampen.service.questions import Asked
from dampen.service.sources import FileSource

__all__ = ["Samples"]

MODELS = 3
"""Draws of a question that takes long; others have `DRAWS`."""
MOST_KEPT = 1000
"""Questions whose answers on a sample are kept."""


@dataclass
class Samples:
    """The public samples of data sets, by name, and what was found on them."""

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
        tried = rehearse(asked.question, source, asked.price, draws=draws)
    except DampenError:
        return {"sentence": "This question could not be answered on the public sample."}
    texts = [] if model else [json.dumps(each, default=str) for each in tried.answers]
    return {
        "draws": draws,
        "answers": [[json.loads(text), count] for text, count in Counter(texts).most_common(5)],
        "error": round(tried.error, 3),
        "sentence": f"{tried.sentence} The public sample is not the data.",
    }
