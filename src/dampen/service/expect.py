"""What to expect of an answer, from public facts and, if there is one, a public sample.

Nothing here looks at private data, so it costs nothing.  The sentence is the release's own
(`Cost.accuracy`): what is said before a question is paid for is what stands in its answer.  What a
public sample adds is said apart: it speaks of the sample.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dampen.core.sampling import InsecureEntropy
from dampen.errors import DampenError
from dampen.releases.cost import Cost
from dampen.releases.release import Release
from dampen.service.cache import Memory
from dampen.service.questions import Question, question

__all__ = ["expected", "on_sample"]

DRAWS = 20
EXACTLY = "1000000"
"""An ε at which an answer is the best one, for all that anybody can see."""
UNTOLD = "Public facts alone do not tell how good the answer will be; a public sample does."


def expected(question: Question, cost: Cost) -> dict[str, Any]:
    """What public facts alone tell, as JSON."""
    return {"candidates": question.candidates, "sentence": cost.accuracy or UNTOLD}


def on_sample(asked: Question, memory: Memory) -> dict[str, Any]:
    """How the same question is answered on a public sample, several times, and how far off.

    Gives `draws`, the commonest `answers` with their counts (or the share of rows that each tree
    gets right, `correct`), `error` and a `sentence` about it.
    """
    tree = asked.kind == "tree"
    try:
        made = [_on(asked, memory, seed) for seed in range(3 if tree else DRAWS)]
        if tree:
            return _of_trees([_correct(asked, memory, each) for each in made])
        answers = [each.answer for each in made]
        error, sentence = _error(answers, _on(_exactly(asked), memory, 0).answer)
    except DampenError:
        return {"sentence": "The public sample could not be asked this question."}
    told = Counter(json.dumps(each, default=str) for each in answers).most_common(5)
    return {
        "draws": DRAWS,
        "answers": [[json.loads(text), count] for text, count in told],
        "error": error,
        "sentence": f"On the public sample, which is not the data, {DRAWS} tries {sentence}.",
    }


def _on(asked: Question, memory: Memory, seed: int) -> Release:
    return asked.ask(memory, None, InsecureEntropy(seed, allow_release=True))


def _exactly(asked: Question) -> Question:
    options = {key: value for key, value in asked.options.items() if key != "rho"}
    return question(asked.served, asked.kind, options | {"epsilon": EXACTLY})


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


def _of_trees(correct: Sequence[float]) -> dict[str, Any]:
    shown = ", ".join(f"{share:.0%}" for share in correct)
    return {
        "draws": len(correct),
        "correct": list(correct),
        "error": round(1 - float(np.mean(correct)), 3),
        "sentence": f"On the public sample, which is not the data, trees were right for {shown} of "
        "its rows.",
    }


def _correct(asked: Question, memory: Memory, release: Release) -> float:
    """The share of the sample's rows that a tree gets right."""
    from dampen.data.columns import as_labels
    from dampen.data.source import whole_columns
    from dampen.questions.classify import TreeClassifier

    target = str(asked.options["target"])
    guessed = TreeClassifier.from_json(release.to_json()).predict_table(memory.opened())
    truth = as_labels(whole_columns(memory.opened(), {target: "text"})[target])
    return round(float(np.mean(np.asarray(truth, dtype=object) == guessed)), 3)
