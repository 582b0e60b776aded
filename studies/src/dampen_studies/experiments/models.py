"""Private classifiers on 29 real tables: accuracy over ε, two studies.

`models` compares the default tree with its predecessor, naive Bayes and diffprivlib's models;
`criteria` only the selection of splits, in trees of equal depth and shares.  70 % of the rows are
for fitting, the rest for testing; ten bins of equal width per number; the public bound on the rows
is their number.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import IntArray
from dampen_studies.datasets.packaged import BUNDLED, TABLES, load
from dampen_studies.experiments.model_methods import CRITERIA, OURS, PEERS, Maker
from dampen_studies.rows import values
from dampen_studies.study import Parameters, Row, Rows, Study, seed_of

EPSILONS = ("0.01", "0.03", "0.1", "0.3", "1", "3", "10")
SEEDS = 10
FEW_SEEDS = 2
BINS = 10
FULL = tuple(name for name in TABLES if name != "wine")
"""178 wines are too few for any ε."""


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


def _run(
    methods: Mapping[str, Maker],
) -> Callable[[Parameters, InsecureEntropy], Sequence[Row]]:
    def run(cell: Parameters, _: InsecureEntropy) -> Sequence[Row]:
        name = str(cell["dataset"])
        epsilon = str(cell["epsilon"])
        seed = int(cell["seed"])
        method = str(cell["method"])
        table = load(name, BINS)
        train, test = parts(name, len(table.classes), seed)
        # Paired: the same random bits for all methods, so that equal models give equal scores.
        bits = seed_of(f"fit of {name}, epsilon {epsilon}, seed {seed}") % 2**32
        model = methods[method](table, epsilon, len(train), bits)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(table.codes[train], table.classes[train])
            right = model.predict(table.codes[test]) == table.classes[test]
        known = (name, table.n_classes, len(train), float(epsilon), seed)
        return [(*known, method, float(np.mean(right)))]

    return run


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
