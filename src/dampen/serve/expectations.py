"""What to expect of an answer, from public facts and, if there is one, a public sample.

Nothing here looks at private data, so it costs nothing.  The sentence is the release's own
(`Cost.accuracy`): what is said before a question is paid for is what stands in its answer.
"""

import json
from collections import Counter
from typing import Any

from dampen.errors import DampenError
from dampen.releases import UNTOLD, Cost, Release
from dampen.sampling import InsecureEntropy
from dampen.serve.memory import Memory
from dampen.serve.questions import Question

__all__ = ["expected", "on_sample"]

DRAWS = 20


def expected(question: Question, cost: Cost) -> dict[str, Any]:
    """What public facts alone tell, as JSON."""
    return {"candidates": question.candidates, "sentence": cost.accuracy or UNTOLD}


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
