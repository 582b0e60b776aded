"""The published tables of the studies `models` and `criteria`."""

from collections.abc import Sequence
from statistics import fmean

from dampen_studies.experiments.model_methods import PEERS
from dampen_studies.rows import values, where
from dampen_studies.study import Rows, Value, number

Means = dict[tuple[Value, Value, Value], float]
OURS, FORMER, BAYES = "dampen", "former", "bayes"
LOSS = 0.01
SPLITS = ("em", "em-fair", "pf", "ld", "sld", "ld-pf", "max", OURS)


def means(rows: Rows) -> Means:
    """The mean accuracy of every (table, ε, method) over the seeds."""
    found: dict[tuple[Value, Value, Value], list[float]] = {}
    for row in rows:
        key = row["dataset"], row["epsilon"], row["method"]
        found.setdefault(key, []).append(number(row, "accuracy"))
    return {key: fmean(scores) for key, scores in found.items()}


def models(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Per table the default and, below it, its predecessor, naive Bayes and the best peer."""
    mean, epsilons = means(rows), values(rows, "epsilon")
    lines = []
    for name in values(rows, "dataset"):
        first = where(rows, dataset=name)[0]
        title = f"{name}, {first['classes']:g} classes, {first['rows']:,.0f} rows"
        for method in (OURS, FORMER, BAYES, "peers"):
            scores = [_best(mean, name, e, _methods(method)) for e in epsilons]
            lines.append([title if method == OURS else "", _LABELS[method], *map(_score, scores)])
    return ["table", "model", *(f"ε = {e:g}" for e in epsilons)], lines


def models_summary(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Per ε: means, cells that lose .01 or more on 0.1, cells at or above all others."""
    mean, names, epsilons = means(rows), values(rows, "dataset"), values(rows, "epsilon")
    groups = {**{f"{e:g}": [e] for e in epsilons}, "all": epsilons}
    lines = [[title, *_summary(mean, names, group)] for title, group in groups.items()]
    header = [
        "ε", "default", "default of 0.1", "naive Bayes", "best of diffprivlib",
        "cells more than .01 below 0.1", "largest loss", "at or above naive Bayes and diffprivlib",
    ]  # fmt: skip
    return header, lines


def _summary(mean: Means, names: Sequence[Value], epsilons: Sequence[Value]) -> list[str]:
    cells = [(name, e) for name in names for e in epsilons]
    ours = [mean[name, e, OURS] for name, e in cells]
    former = [mean[name, e, FORMER] for name, e in cells]
    bayes = [mean[name, e, BAYES] for name, e in cells]
    peers = [_best(mean, name, e, list(PEERS)) for name, e in cells]
    rivals = [_best(mean, name, e, [BAYES, *PEERS]) for name, e in cells]
    losses = [f - o for f, o in zip(former, ours, strict=True)]
    above = sum(o >= r for o, r in zip(ours, rivals, strict=True))
    return [
        *(_score(fmean(scores)) for scores in (ours, former, bayes, peers)),
        f"{sum(loss > LOSS for loss in losses)} of {len(cells)}",
        _score(max(0.0, *losses)),
        f"{above / len(cells):.0%}",
    ]


def criteria(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Mean accuracy of every selection, and in how many cells it is the best, ties shared."""
    mean, epsilons = means(rows), values(rows, "epsilon")
    cells = [(name, e) for name in values(rows, "dataset") for e in epsilons]
    lines = []
    for method in SPLITS:
        at = [_score(fmean(mean[n, e, method] for n, e in cells if e == eps)) for eps in epsilons]
        wins = [
            mean[name, e, method] >= max(mean[name, e, other] for other in SPLITS)
            for name, e in cells
        ]
        lines.append([_SPLIT_LABELS[method], *at, f"{sum(wins)} of {len(cells)}"])
    return ["split selected by", *(f"ε = {e:g}" for e in epsilons), "best or level"], lines


def _methods(method: str) -> Sequence[str]:
    return list(PEERS) if method == "peers" else [method]


def _best(mean: Means, name: Value, epsilon: Value, methods: Sequence[str]) -> float:
    return max(mean[name, epsilon, method] for method in methods)


def _score(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


_LABELS = {OURS: "default", FORMER: "0.1", BAYES: "naive Bayes", "peers": "best of diffprivlib"}
_SPLIT_LABELS = {
    "em": "EM on information gain, as printed",
    "em-fair": "EM, one-sided",
    "pf": "PF, one-sided",
    "ld": "LD",
    "sld": "SLD",
    "ld-pf": "LD with PF",
    "max": "PF on `max`",
    OURS: "default: PF on `tsallis-max`",
}
