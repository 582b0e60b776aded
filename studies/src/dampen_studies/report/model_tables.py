"""The published tables of the studies `models`, `criteria` and `regression`."""

import math
from collections.abc import Sequence
from statistics import fmean, median, stdev

from dampen_studies.experiments.model_methods import PEERS
from dampen_studies.rows import values, where
from dampen_studies.study import Rows, Value, number

Means = dict[tuple[Value, Value, Value], float]
Scores = dict[tuple[Value, Value, Value], list[float]]
OURS = "dampen"
FORMER = "former"
BAYES = "bayes"
LOSS = 0.01
SPLITS = ("em", "em-fair", "pf", "ld", "sld", "ld-pf", "max", "tsallis", OURS)


def means(rows: Rows) -> Means:
    """The mean accuracy of every (table, ε, method) over the seeds."""
    return {key: fmean(scores) for key, scores in _scores(rows).items()}


def models(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Per table the default and, below it, its predecessor, naive Bayes and the best peer."""
    mean = means(rows)
    epsilons = values(rows, "epsilon")
    lines = []
    for name in values(rows, "dataset"):
        first = where(rows, dataset=name)[0]
        title = f"{name}, {first['classes']:g} classes, {first['rows']:,.0f} rows"
        for method in (OURS, FORMER, BAYES, "peers"):
            scores = [_best(mean, name, e, _methods(method)) for e in epsilons]
            lines.append([title if method == OURS else "", _LABELS[method], *map(_score, scores)])
    return ["table", "model", *(f"ε = {e:g}" for e in epsilons)], lines


def models_summary(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Per ε: means, cells that lose more than .01 on 0.1, cells at or above all others."""
    scores = _scores(rows)
    names = values(rows, "dataset")
    epsilons = values(rows, "epsilon")
    groups = {**{f"{e:g}": [e] for e in epsilons}, "all": epsilons}
    lines = [[title, *_summary(scores, names, group)] for title, group in groups.items()]
    header = [
        "ε", "default", "default of 0.1", "naive Bayes", "best of diffprivlib",
        "more than .01 below 0.1 (beyond two standard errors)", "largest loss",
        "at or above naive Bayes and diffprivlib (within one standard error)",
    ]  # fmt: skip
    return header, lines


def _scores(rows: Rows) -> Scores:
    """The accuracy of every (table, ε, method), seed after seed: splits are the same for all."""
    found: Scores = {}
    for row in sorted(rows, key=lambda row: number(row, "seed")):
        key = row["dataset"], row["epsilon"], row["method"]
        found.setdefault(key, []).append(number(row, "accuracy"))
    return found


def _summary(scores: Scores, names: Sequence[Value], epsilons: Sequence[Value]) -> list[str]:
    cells = [(name, e) for name in names for e in epsilons]

    def best(methods: Sequence[str]) -> list[list[float]]:
        return [max((scores[n, e, m] for m in methods), key=fmean) for n, e in cells]

    ours = best([OURS])
    former = best([FORMER])
    bayes = best([BAYES])
    losses = [_difference(f, o) for f, o in zip(former, ours, strict=True)]
    behind = [_difference(r, o) for r, o in zip(best([BAYES, *PEERS]), ours, strict=True)]
    lossy = [(loss, error) for loss, error in losses if loss > LOSS]
    sure = sum(loss - LOSS > 2 * error for loss, error in lossy)
    above = sum(loss <= 0 for loss, _ in behind) / len(cells)
    near = sum(loss <= error for loss, error in behind) / len(cells)
    return [
        *(_score(fmean(map(fmean, found))) for found in (ours, former, bayes, best(list(PEERS)))),
        f"{len(lossy)} ({sure}) of {len(cells)}",
        _score(max(0.0, *(loss for loss, _ in losses))),
        f"{above:.0%} ({near:.0%})",
    ]


def _difference(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """The mean of paired differences, and its standard error."""
    differences = [a - b for a, b in zip(one, other, strict=True)]
    spread = stdev(differences) if len(differences) > 1 else 0.0
    return fmean(differences), spread / math.sqrt(len(differences))


def criteria(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Mean accuracy of every selection, and in how many cells it is the best, ties shared."""
    mean = means(rows)
    epsilons = values(rows, "epsilon")
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


def regression(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Per table and ε the root of squares and the distance of every method, the better rivals."""
    squares, distances = (_errors(rows, column) for column in ("rmse", "mae"))
    epsilons = [e for e in values(rows, "epsilon") if e != math.inf]
    lines = []
    for name in values(rows, "dataset"):
        for epsilon in epsilons:
            cells = [
                f"{_least(squares, name, epsilon, methods)} / "
                f"{_least(distances, name, epsilon, methods)}"
                for methods in _REGRESSORS.values()
            ]
            lines.append([str(name) if epsilon == epsilons[0] else "", f"{epsilon:g}", *cells])
    return ["table", "ε", *_REGRESSORS], lines


def regression_summary(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Per ε: on how many tables the tree has the smaller error, and the median ratio to a rival."""
    epsilons = [e for e in values(rows, "epsilon") if e != math.inf]
    names = values(rows, "dataset")
    lines = []
    for epsilon in epsilons:
        cells = [f"{epsilon:g}"]
        for rivals in (RIVALS, "linear regression", "DP-EBM"):
            for column in ("rmse", "mae"):
                error = _errors(rows, column)
                methods = _REGRESSORS.get(rivals, _ALL_RIVALS)
                ratios = [
                    error[n, epsilon, OURS] / min(error[n, epsilon, m] for m in methods)
                    for n in names
                ]
                wins = sum(ratio <= 1 for ratio in ratios)
                cells.append(f"{median(ratios):.2f} ({wins} of {len(names)})")
        lines.append(cells)
    header = [
        f"{what}, {unit}"
        for what in (RIVALS, "linear regression", "DP-EBM")
        for unit in ("squares", "distance")
    ]
    return ["ε", *header], lines


def _errors(rows: Rows, column: str) -> Means:
    """The mean error of every (table, ε, method) over the seeds."""
    found: Scores = {}
    for row in rows:
        key = row["dataset"], row["epsilon"], row["method"]
        found.setdefault(key, []).append(number(row, column))
    return {key: fmean(errors) for key, errors in found.items()}


def _least(error: Means, name: Value, epsilon: Value, methods: Sequence[str]) -> str:
    at = math.inf if methods == ("open",) else epsilon
    return f"{min(error[name, at, method] for method in methods):.2f}"


def _methods(method: str) -> Sequence[str]:
    return list(PEERS) if method == "peers" else [method]


def _best(mean: Means, name: Value, epsilon: Value, methods: Sequence[str]) -> float:
    return max(mean[name, epsilon, method] for method in methods)


def _score(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


RIVALS = "best of all"
_REGRESSORS: dict[str, tuple[str, ...]] = {
    "tree": (OURS,),
    "private mean": ("mean",),
    "linear regression": ("linear", "linear-numbers"),
    "DP-EBM": ("dp-ebm", "dp-ebm-slow"),
    "tree without privacy": ("open",),
}
_ALL_RIVALS = ("mean", "linear", "linear-numbers", "dp-ebm", "dp-ebm-slow")
_LABELS = {OURS: "default", FORMER: "0.1", BAYES: "naive Bayes", "peers": "best of diffprivlib"}
_SPLIT_LABELS = {
    "em": "EM on information gain, as printed",
    "em-fair": "EM, one-sided",
    "pf": "PF, one-sided",
    "ld": "LD",
    "sld": "SLD",
    "ld-pf": "LD with PF",
    "max": "PF on `max`",
    "tsallis": "PF on `tsallis-max`",
    OURS: "default",
}
