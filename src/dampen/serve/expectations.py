"""What to expect of an answer, from public facts and, if there is one, a public sample.

Nothing here looks at private data, so it costs nothing.  With N candidates, probability 1 - β and
noise as in `dampen.mechanisms`:

- A draw at ε whose scores move against each other by at most s per step is, by a union bound over
  the weights of the exponential mechanism (permute-and-flip is never worse), at most
  s ln(N / β) / ε below the best.  For counts s = 1, because one row raises one of them; for ranks
  s = 2 Δ with Δ = 1 (replace one) or at most max(q, 1 - q) (add or remove one).
- Of N Laplace variables of scale b none exceeds b ln(N / β), so two scores that are compared are
  wrong by at most twice that.
- The reach mechanism judges each of G groups as if |Z| rows were others, P(|Z| > t) <= 2 e^(-εt).

For m parts at equal shares, ε / m takes the place of ε and m N that of N.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log
from typing import Any

from dampen.errors import DampenError
from dampen.releases import Cost, Release
from dampen.sampling import InsecureEntropy
from dampen.selection import Neighbours
from dampen.serve.memory import Memory
from dampen.serve.questions import Question

__all__ = ["expected", "on_sample"]

DOUBT = 0.05
DRAWS = 20


@dataclass(frozen=True, slots=True)
class Bound:
    """An error that is not exceeded with probability 1 - β, in words for what it counts."""

    size: float
    sentence: str


def expected(question: Question, cost: Cost) -> dict[str, Any]:
    """What public facts alone tell, as JSON."""
    found = _BOUNDS[question.kind](question, float(cost.epsilon), cost)
    rows = question.served.facts.rows
    told: dict[str, Any] = {"candidates": question.candidates}
    if found is None:
        return told | {
            "sentence": "Public facts alone do not tell how good the answer will be; a public "
            "sample does."
        }
    size = ceil(found.size)
    told |= {"error": size, "confidence": 1 - DOUBT}
    share = f" ({size / rows:.1%} of {rows:,} rows)" if rows else ""
    return told | {"sentence": f"{1 - DOUBT:.0%} sure: {found.sentence.format(size)}{share}."}


def on_sample(question: Question, memory: Memory) -> dict[str, Any]:
    """How the same question is answered on a public sample, several times."""
    draws = 3 if question.kind == "tree" else DRAWS
    try:
        made = [
            question.ask(memory, None, InsecureEntropy(seed, allow_release=True))
            for seed in range(draws)
        ]
    except DampenError:
        return {"sentence": "The public sample could not be asked this question."}
    if question.kind == "tree":
        return {"draws": draws, "correct": [_correct(question, memory, each) for each in made]}
    told = Counter(json.dumps(each.answer, default=str) for each in made).most_common(5)
    return {"draws": draws, "answers": [[json.loads(text), count] for text, count in told]}


def _correct(question: Question, memory: Memory, release: Release) -> float:
    """The share of the sample's rows that a tree gets right."""
    import numpy as np

    from dampen.data.columns import as_labels
    from dampen.data.opened import whole_columns
    from dampen.trees import TreeClassifier

    target = str(question.options["target"])
    guessed = TreeClassifier.from_json(release.to_json()).predict_table(memory.opened())
    truth = as_labels(whole_columns(memory.opened(), {target: "text"})[target])
    return round(float(np.mean(np.asarray(truth, dtype=object) == guessed)), 3)


def _frequent(question: Question, epsilon: float, _: Cost) -> Bound:
    many = question.candidates * question.parts
    factor = 2 if question.options.get("k", 1) > 1 else 1
    size = factor * log(many / DOUBT) / epsilon
    return Bound(size, "no category that is left out is ahead by more than {} rows")


def _percentile(question: Question, epsilon: float, cost: Cost) -> Bound | None:
    if question.options.get("release", "value") == "label":
        return None
    p = question.options["p"]
    points = p if isinstance(p, list) else [p]
    worst = max(max(q, 1 - q) for q in (float(Fraction(str(each))) / 100 for each in points))
    spread = 1.0 if cost.neighbours is Neighbours.REPLACE_ONE else worst
    share = epsilon / len(points)
    size = 2 * spread * log(question.candidates * question.parts / DOUBT) / share
    return Bound(size, "the answer is at most {} records away from the true percentile")


def _groups(question: Question, epsilon: float, _: Cost) -> Bound:
    k = question.options.get("k", 1) if question.options.get("ordered") else 1
    share = epsilon / k
    caution = float(Fraction(str(question.options.get("caution", 1))))
    size = (caution + log(2 * question.candidates * k / DOUBT)) / share
    return Bound(size, "groups are told apart if more than {} rows in each would have to change")


def _nodes(question: Question, epsilon: float, _: Cost) -> Bound:
    k = question.options.get("k", 1)
    size = (
        k * log(question.candidates * k / DOUBT) if k <= 2 else 4 * log(question.candidates / DOUBT)
    )
    return Bound(size / epsilon, "no node that is left out has {} connections more")


_BOUNDS: Mapping[str, Callable[[Question, float, Cost], Bound | None]] = {
    "most-frequent": _frequent,
    "percentile": _percentile,
    "top-groups": _groups,
    "top-k": _nodes,
    "tree": lambda *_: None,
}
