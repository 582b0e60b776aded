"""Private classifiers on 29 real tables: accuracy over ε, two studies; and beside rivals.

`models` compares the default tree with its predecessor, naive Bayes and diffprivlib's models;
`criteria` only the selection of splits, in trees of equal depth and shares; `rivals` the default
with its own bins beside its rivals, and the probabilities of classes, on 29 tables of at most
10,000 rows.  70 % of the rows are for fitting, the rest for testing; ten bins of equal width per
number, in `rivals` 160 for rivals; the public bound on the rows is their number.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import FloatArray, IntArray
from dampen.schema.schema import FINEST_BINS
from dampen_studies.datasets.packaged import BUNDLED, TABLES, Packaged, load
from dampen_studies.experiments.model_methods import COMPARED, CRITERIA, FREE, OURS, PEERS, Maker
from dampen_studies.rows import values
from dampen_studies.study import Parameters, Row, Rows, Study, seed_of

EPSILONS = ("0.01", "0.03", "0.1", "0.3", "1", "3", "10")
SEEDS = 10
FEW_SEEDS = 2
BINS = 10
FULL = tuple(name for name in TABLES if name != "wine")
"""178 wines are too few for any ε."""
MORE_CLASSES = (
    "letter", "penbased", "satimage", "segment", "texture", "marketing", "splice", "digits",
    "nursery", "diamonds", "rodents", "storms", "hpc", "vowel", "segments", "region",
)  # fmt: skip
"""Three to 30: DP-EBM has no private form for them."""
TWO_CLASSES = (
    "magic", "ring", "twonorm", "phoneme", "banana", "chess", "spambase", "adult", "wa_churn",
    "churn", "credit", "default", "page",
)  # fmt: skip
RIVALS_SEEDS = 10
RIVALS_ROWS = 10_000
LEAST_CHANCE = 1e-6
"""Of the true class, for the log-loss: zeros would make it infinite."""


def parts(name: str, rows: int, seed: int) -> tuple[IntArray, IntArray]:
    """Rows to fit and rows to test, the same for all methods and ε."""
    entropy = InsecureEntropy(seed_of(f"split of {name}, seed {seed}"))
    order = np.argsort(np.frombuffer(entropy.read(8 * rows), dtype="<u8"), kind="stable")
    cut = int(0.7 * rows)
    return order[:cut], order[cut:]


def _cells(
    methods: Iterable[str], seeds: int, epsilons: Sequence[str]
) -> Callable[[bool], Sequence[Parameters]]:
    named = tuple(methods)

    def cells(quick: bool) -> Sequence[Parameters]:
        return [
            {"dataset": name, "epsilon": epsilon, "seed": seed, "method": method}
            for seed in range(1 if quick else seeds)
            for name in (BUNDLED if quick else FULL)
            for epsilon in (epsilons[-1:] if quick else epsilons)
            for method in named
        ]

    return cells


class Fitted(NamedTuple):
    """A model of a part of a table, and the other part.

    Attributes:
        known: the columns before the scores.
        model: fitted.
        codes: of the rows for testing.
        classes: of the same rows.
    """

    known: Row
    model: Any
    codes: NDArray[Any]
    classes: IntArray

    @property
    def accuracy(self) -> float:
        """The share of classes that are predicted rightly."""
        return float(np.mean(self.model.predict(self.codes) == self.classes))


def fitted_to(
    table: Packaged, cell: Parameters, make: Maker, *, free: bool = False, seeds: int = 2**32
) -> Fitted:
    """A model of the rows of a table that are for fitting.

    Paired: the same random bits for all methods, so that equal models give equal scores.  `free`
    leaves the number of bins to the model.
    """
    name = str(cell["dataset"])
    epsilon = str(cell["epsilon"])
    seed = int(cell["seed"])
    train, test = parts(name, len(table.classes), seed)
    bits = seed_of(f"fit of {name}, epsilon {epsilon}, seed {seed}") % seeds
    model = make(table, epsilon, len(train), bits)
    numbers = table.numbers() if free else table.codes
    model.fit(numbers[train], table.classes[train])
    known = (name, table.n_classes, len(train), float(epsilon), seed, str(cell["method"]))
    return Fitted(known, model, numbers[test], table.classes[test])


def _run(
    methods: Mapping[str, Maker],
) -> Callable[[Parameters, InsecureEntropy], Sequence[Row]]:
    def run(cell: Parameters, _: InsecureEntropy) -> Sequence[Row]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = load(str(cell["dataset"]), BINS)
            fitted = fitted_to(table, cell, methods[str(cell["method"])])
            return [(*fitted.known, fitted.accuracy)]

    return run


def area(positive: NDArray[np.bool_], scores: FloatArray) -> float:
    """The area under the curve: how often a positive row has the larger score, ties half."""
    from scipy.stats import rankdata

    ranks = rankdata(scores)[positive]
    rows = len(ranks)
    return float((ranks.sum() - rows * (rows + 1) / 2) / (rows * (len(scores) - rows)))


def mean_area(classes: IntArray, chances: FloatArray) -> float:
    """Of every class that has rows against all others, averaged; of two classes, one."""
    wanted = range(1 if chances.shape[1] == 2 else 0, chances.shape[1])
    found = [area(classes == c, chances[:, c]) for c in wanted if 0 < np.mean(classes == c) < 1]
    return float(np.mean(found))


def log_loss(classes: IntArray, chances: FloatArray) -> float:
    """In units of that of equal chances, ln K."""
    true = np.maximum(chances[np.arange(len(classes)), classes], LEAST_CHANCE)
    return float(-np.log(true).mean() / np.log(chances.shape[1]))


def chances_of(model: Any, codes: NDArray[Any], classes: int) -> FloatArray:
    """What a model predicts for all classes, 0 for one that it did not see or has no number for."""
    found = np.nan_to_num(np.asarray(model.predict_proba(codes), dtype=np.float64))
    if found.shape[1] == classes:
        return found
    chances = np.zeros((len(found), classes))
    chances[:, np.asarray(model.classes_, dtype=np.int64)] = found
    return chances


def _rival_cells(quick: bool) -> Sequence[Parameters]:
    return [
        {"dataset": name, "epsilon": epsilon, "seed": seed, "method": method}
        for seed in range(1 if quick else RIVALS_SEEDS)
        for name in (BUNDLED[:1] if quick else (*MORE_CLASSES, *TWO_CLASSES))
        for epsilon in (EPSILONS[-1:] if quick else EPSILONS[2::2])
        for method in COMPARED
        if method != "dp-ebm" or name in TWO_CLASSES
    ]


def _run_rivals(cell: Parameters, _: InsecureEntropy) -> Sequence[Row]:
    method = str(cell["method"])
    table = load(str(cell["dataset"]), FINEST_BINS, RIVALS_ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        free = method in FREE
        fitted = fitted_to(table, cell, COMPARED[method], free=free, seeds=2**31)
        chances = chances_of(fitted.model, fitted.codes, table.n_classes)
        areas = mean_area(fitted.classes, chances)
        scores = fitted.accuracy, areas, log_loss(fitted.classes, chances)
    return [(*fitted.known, *(round(score, 4) for score in scores))]


def _caption(rows: Rows) -> str:
    tables = len(values(rows, "dataset"))
    seeds = len(values(rows, "seed"))
    return f"{tables} tables, mean of {seeds} splits into 70 % for fitting and 30 % for testing."


_COLUMNS = ("dataset", "classes", "rows", "epsilon", "seed", "method", "accuracy")

MODELS = Study(
    name="models",
    title="Classifiers on many tables",
    figure="beyond the paper",
    about="Accuracy of the default tree, of the default of 0.1, of naive Bayes and of "
    "diffprivlib's models.",
    finding="Several levels of splits and the classes by one release gain most where ε times the "
    "rows is small, and where there are many classes.",
    caption=_caption,
    columns=_COLUMNS,
    cells=_cells(OURS | PEERS, SEEDS, EPSILONS),
    run=_run(OURS | PEERS),
    revision=3,
    minutes=30,
)
CRITERIA_STUDY = Study(
    name="criteria",
    title="Selections of splits on many tables",
    figure="beyond the paper",
    about="Accuracy of trees of equal depth, shares and leaves that differ in how a split is "
    "selected.",
    finding="Where a dampened criterion wins, and how often.",
    caption=_caption,
    columns=_COLUMNS,
    cells=_cells(CRITERIA, FEW_SEEDS, EPSILONS[2::2]),
    run=_run(CRITERIA),
    revision=3,
    minutes=30,
)
RIVALS_STUDY = Study(
    name="rivals",
    title="Classifiers beside their rivals",
    figure="beyond the paper",
    about="Accuracy, area under the curve and log-loss of the default with and without "
    "probabilities, of naive Bayes, of interpret's DP-EBM (two classes alone, δ = 10^-6) and of "
    "diffprivlib's logistic regression, Gaussian naive Bayes and forest.",
    finding="Noisy counts of leaves and naive Bayes beside the tree make probabilities of zeros "
    "and ones.",
    caption=_caption,
    columns=(*_COLUMNS, "auc", "log_loss"),
    cells=_rival_cells,
    run=_run_rivals,
    revision=1,
    minutes=5,
)
