"""How a question is answered on a public sample, if the curator registered one.

Nothing here looks at private data, so it costs nothing.  What a public sample says is told apart
from the accuracy of the question: it speaks of the sample.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dampen.core.sampling import InsecureEntropy
from dampen.errors import DampenError
from dampen.releases.answer import Paid, Planned
from dampen.releases.cost import Price
from dampen.releases.release import Release
from dampen.service.cache import Cache
from dampen.service.configuration import Served
from dampen.service.questions import Asked
from dampen.service.sources import FileSource

__all__ = ["Samples"]

DRAWS = 20
MODELS = 3
EXACTLY = Price(epsilon="1000000")
"""An ε at which an answer is the best one, for all that anybody can see."""
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
        named = {each.name: each.facts.sample for each in sets}
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

    Gives `draws`, the commonest `answers` with their counts (or the share of rows that each model
    gets right, `correct`), `error` and a `sentence` about it.
    """
    try:
        plan = asked.plan(cache)
        if asked.question.shape() == "model":
            made = [_release(plan, seed) for seed in range(MODELS)]
            return _of_models([_correct(asked, cache, each) for each in made])
        answers = [_release(plan, seed).answer for seed in range(DRAWS)]
        best = _release(replace(asked, price=EXACTLY).plan(cache), 0).answer
        error, sentence = _error(answers, best)
    except DampenError:
        return {"sentence": "This question could not be answered on the public sample."}
    told = Counter(json.dumps(each, default=str) for each in answers).most_common(5)
    return {
        "draws": DRAWS,
        "answers": [[json.loads(text), count] for text, count in told],
        "error": error,
        "sentence": f"On the public sample, which is not the data, {DRAWS} tries {sentence}.",
    }


def _release(plan: Planned, seed: int) -> Release:
    return plan.release(Paid(plan.cost, InsecureEntropy(seed, allow_release=True)))


def _error(answers: Sequence[Any], best: Any) -> tuple[float, str]:
    """How far answers are from the best one: a distance of numbers, else a share of wrong names."""
    wanted = _parts(best)
    if all(isinstance(each, int | float) for each in wanted):
        away = [abs(a - b) for each in answers for a, b in zip(_parts(each), wanted, strict=True)]
        error = float(np.mean(away))
        return error, f"were off by {error:,.4g} on average"
    right = [len(set(_parts(each)) & set(wanted)) / len(set(wanted)) for each in answers]
    share = float(np.mean(right))
    return round(1 - share, 3), f"named {share:.0%} of what is right there"


def _parts(answer: Any) -> list[Any]:
    """The numbers or names of an answer; those of a group carry its name."""
    if isinstance(answer, Mapping):
        parts = [(str(name), part) for name, each in answer.items() for part in _parts(each)]
        numbers = all(isinstance(part, int | float) for _, part in parts)
        return [part for _, part in parts] if numbers else parts
    return list(answer) if isinstance(answer, list | tuple) else [answer]


def _of_models(correct: Sequence[float]) -> dict[str, Any]:
    shown = ", ".join(f"{share:.0%}" for share in correct)
    return {
        "draws": len(correct),
        "correct": list(correct),
        "error": round(1 - float(np.mean(correct)), 3),
        "sentence": f"On the public sample, which is not the data, {len(correct)} models were "
        f"right for {shown} of its rows.",
    }


def _correct(asked: Asked, cache: Cache, release: Release) -> float:
    """The share of the sample's rows that a model gets right."""
    from dampen.data.columns import as_labels
    from dampen.data.source import whole_columns
    from dampen.questions.classify import TreeClassifier

    target = str(asked.options["target"])
    table = cache.table()
    guessed = TreeClassifier.from_json(release.to_json()).predict_table(table)
    truth = as_labels(whole_columns(table, {target: "text"})[target])
    return round(float(np.mean(np.asarray(truth, dtype=object) == guessed)), 3)
