"""The published tables of the studies `models`, `criteria`, `bins`, `rivals` and
`regression`.
"""

import math
from collections.abc import Sequence
from operator import itemgetter
from statistics import fmean, median, stdev

from dampen.questions.classify.question import MANY
from dampen_studies.experiments import bins as bin_rules
from dampen_studies.experiments.model_methods import PEERS, RIVALS
from dampen_studies.rows import values, where
from dampen_studies.study import Rows, Value, number

Means = dict[tuple[Value, Value, Value], float]
Scores = dict[tuple[Value, Value, Value], list[float]]
OURS = "dampen"
FORMER = "former"
BAYES = "bayes"
LOSS = 0.01
WORST = 8
"""Cells of each score that are listed."""
SPLITS = ("em", "em-fair", "pf", "ld", "sld", "ld-pf", "max", "tsallis", OURS)


def means(rows: Rows, score: str = "accuracy") -> Means:
    """The mean accuracy, or another score, of every (table, ε, method) over the seeds."""
    return {key: fmean(scores) for key, scores in _scores(rows, score).items()}


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


def _scores(rows: Rows, score: str = "accuracy") -> Scores:
    """The scores of every (table, ε, method), seed after seed: splits are the same for all."""
    found: Scores = {}
    for row in sorted(rows, key=lambda row: number(row, "seed")):
        key = row["dataset"], row["epsilon"], row["method"]
        found.setdefault(key, []).append(number(row, score))
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
        for rivals in (BEST, "linear regression", "DP-EBM"):
            for column in ("rmse", "mae"):
                error = _errors(rows, column)
                methods = _REGRESSORS.get(rivals, _ALL_OTHERS)
                ratios = [
                    error[n, epsilon, OURS] / min(error[n, epsilon, m] for m in methods)
                    for n in names
                ]
                wins = sum(ratio <= 1 for ratio in ratios)
                cells.append(f"{median(ratios):.2f} ({wins} of {len(names)})")
        lines.append(cells)
    header = [
        f"{what}, {unit}"
        for what in (BEST, "linear regression", "DP-EBM")
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


def bins(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Mean accuracy of trees by their bins, by the public rule, and with one table left out."""
    cells = bin_rules.cells_of(rows)
    without = bin_rules.left_out(
        cells, lambda others, cell: cell.with_bins(bin_rules.chosen_bins(others))
    )
    losses = [cell.scores["10"] - cell.tree for cell in cells]
    lines = []
    for epsilon in (*values(rows, "epsilon"), None):
        at = [i for i, cell in enumerate(cells) if epsilon in (cell.epsilon, None)]
        worst = max(at, key=losses.__getitem__)
        lines.append(
            [
                "all" if epsilon is None else f"{epsilon:g}",
                *(_score(fmean(cells[i].scores[m] for i in at)) for m in bin_rules.COUNTS),
                _score(fmean(cells[i].tree for i in at)),
                _score(fmean(without[i] for i in at)),
                f"{_score(losses[worst])} ({cells[worst].dataset})",
                f"{sum(losses[i] > LOSS for i in at)} of {len(at)}",
            ]
        )
    header = ["ε", *(f"{count} bins" for count in bin_rules.COUNTS), "the rule", "left out"]
    return [*header, "largest loss to 10 bins", "more than .01 below 10 bins"], lines


def which_model(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Trees and naive Bayes where classes are many, the rule between them, and one left out."""
    known = bin_rules.cells_of(rows)
    without = bin_rules.left_out(
        known, lambda others, cell: cell.by(bin_rules.chosen_bayes(others))
    )
    cells = [
        (cell, left) for cell, left in zip(known, without, strict=True) if cell.classes >= MANY
    ]
    lines = []
    for epsilon in values(rows, "epsilon"):
        here = [(cell, left) for cell, left in cells if cell.epsilon == epsilon]
        ahead = [cell.dataset for cell, _ in here if cell.scores[BAYES] > cell.tree]
        scores = (
            [cell.tree for cell, _ in here],
            [cell.scores[BAYES] for cell, _ in here],
            [cell.scores[BAYES] if cell.bayes_by_rule else cell.tree for cell, _ in here],
            [left for _, left in here],
        )
        means = (_score(fmean(each)) for each in scores)
        lines.append([f"{epsilon:g}", str(len(here)), *means, ", ".join(ahead) or "none"])
    header = ["ε", "tables", "tree", "naive Bayes", "the rule", "left out"]
    return [*header, "naive Bayes is better"], lines


SCORES = {"accuracy": OURS, "auc": "probabilities", "log_loss": "probabilities"}
"""Which model of ours is compared by which score."""


def rivals(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """In how many cells ours is at or above each rival, and all of them."""
    header = ["against", "ε", "cells"]
    header += ["accuracy", "area under the curve", "log-loss", "mean accuracy, ours and theirs"]
    found = {score: means(rows, score) for score in SCORES}
    epsilons = values(rows, "epsilon")
    lines = []
    for rival in ("every rival", *RIVALS):
        for epsilon in (*epsilons, None):
            against = tuple(RIVALS) if rival == "every rival" else (rival,)
            lines.append(
                [
                    _LABELS.get(rival, rival),
                    "all" if epsilon is None else f"{epsilon:g}",
                    *_shares(found, against, epsilon),
                ]
            )
    return header, lines


def _shares(found: dict[str, Means], rivals: Sequence[str], epsilon: Value | None) -> list[str]:
    cells = [
        (name, e)
        for name, e in dict.fromkeys((n, e) for n, e, m in found["accuracy"] if m in rivals)
        if epsilon in (e, None)
    ]
    shares = []
    for score in SCORES:
        ahead = margins(found[score], score, cells, rivals)
        shares.append(f"{sum(margin >= 0 for margin in ahead) / len(cells):.0%}")
    mean = found["accuracy"]
    own = fmean(mean[n, e, OURS] for n, e in cells)
    theirs = fmean(best for *_, best in _bests(mean, cells, rivals, 1))
    return [str(len(cells)), *shares, f"{_score(own)} {_score(theirs)}"]


def margins(
    mean: Means, score: str, cells: Sequence[tuple[Value, Value]], rivals: Sequence[str]
) -> list[float]:
    """By how much ours is better than the best of some rivals, cell by cell."""
    sign = -1 if score == "log_loss" else 1
    ours = SCORES[score]
    return [sign * (mean[n, e, ours] - best) for n, e, best in _bests(mean, cells, rivals, sign)]


def _bests(
    mean: Means, cells: Sequence[tuple[Value, Value]], rivals: Sequence[str], sign: int
) -> list[tuple[Value, Value, float]]:
    return [
        (n, e, sign * max(sign * mean[n, e, m] for m in rivals if (n, e, m) in mean))
        for n, e in cells
    ]


def rival_losses(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """The cells in which ours is furthest below a rival, in accuracy and in area."""
    lines = []
    for score in ("accuracy", "auc"):
        mean = means(rows, score)
        cells = list(dict.fromkeys((n, e) for n, e, _ in mean))
        behind = []
        for name, e in cells:
            best = max((mean[name, e, m], m) for m in RIVALS if (name, e, m) in mean)
            own = mean[name, e, SCORES[score]]
            if best[0] > own:
                behind.append((best[0] - own, name, e, own, best))
        shown = "accuracy" if score == "accuracy" else "area under the curve"
        for _, name, e, own, (theirs, rival) in sorted(behind, reverse=True, key=itemgetter(0))[
            :WORST
        ]:
            lines.append([shown, str(name), f"{e:g}", _score(own), _score(theirs), _LABELS[rival]])
    return ["score", "table", "ε", "ours", "best rival", "which"], lines


def _methods(method: str) -> Sequence[str]:
    return list(PEERS) if method == "peers" else [method]


def _best(mean: Means, name: Value, epsilon: Value, methods: Sequence[str]) -> float:
    return max(mean[name, epsilon, method] for method in methods)


def _score(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


BEST = "best of all"
_REGRESSORS: dict[str, tuple[str, ...]] = {
    "tree": (OURS,),
    "private mean": ("mean",),
    "linear regression": ("linear", "linear-numbers"),
    "DP-EBM": ("dp-ebm", "dp-ebm-slow"),
    "tree without privacy": ("open",),
}
_ALL_OTHERS = ("mean", "linear", "linear-numbers", "dp-ebm", "dp-ebm-slow")
_LABELS = {
    OURS: "default",
    FORMER: "0.1",
    BAYES: "naive Bayes",
    "peers": "best of diffprivlib",
    "dp-ebm": "DP-EBM (two classes, δ = 10^-6)",
    "logistic": "logistic regression of diffprivlib",
    "gaussian": "Gaussian naive Bayes of diffprivlib",
    "dpl-forest": "forest of diffprivlib",
}
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
