"""How many bins a tree should have, and when naive Bayes is better than a tree.

The development data of two public rules: trees of 10 to 160 bins of equal width, and naive Bayes of
ten, on the same splits of the same rows.  What a rule takes is one of them, cell by cell, so
that every rule of a family can be scored afterwards; `left_out` scores the one that all other
tables choose.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import product
from statistics import fmean
from typing import NamedTuple

from dampen.core.sampling import InsecureEntropy
from dampen.questions.classify.plan import MOST_SUMS, bin_count
from dampen.questions.classify.question import prefers_bayes
from dampen.schema.schema import FINEST_BINS
from dampen_studies.datasets.packaged import BUNDLED, MORE, load
from dampen_studies.experiments.model_methods import OURS, tree_of_bins
from dampen_studies.experiments.models import FULL, fitted_to
from dampen_studies.rows import values
from dampen_studies.study import Parameters, Row, Rows, Study, number, text

COUNTS = ("10", "20", "40", "160")
BAYES = "bayes"
EPSILONS = ("0.1", "1", "10")
SEEDS = 1
MOST_ROWS = 14_000
MOST = (1_000, 2_000, 3_200, 4_800, 6_400, 9_600, 12_800, 25_600, MOST_SUMS, 10**9)
"""What `MOST_SUMS` was chosen from: always ten bins, nearly, to always 160."""


class BayesRule(NamedTuple):
    """Naive Bayes from so many classes on, for at most so many columns for each class and so many
    values of a column, if rows times ε are so many for each count of its tables.
    """

    classes: float
    columns: float
    values: float
    rows: float


NEVER = BayesRule(math.inf, 1, 1, 1)
BAYES_RULES = (
    NEVER,
    *(BayesRule(*rule) for rule in product((8, 16), (1, math.inf), (4, math.inf), (16, 4, 1))),
)


class Cell(NamedTuple):
    """What is public of a table at one ε, and the mean accuracy of every method.

    Attributes:
        dataset: its name.
        epsilon: ε.
        rows: to fit.
        columns: to predict from.
        values: of ten bins, of all columns.
        classes: how many.
        scores: by method; that of ten bins where no column has more than ten values.
    """

    dataset: str
    epsilon: float
    rows: int
    columns: int
    values: int
    classes: int
    scores: dict[str, float]

    def with_bins(self, most: int) -> float:
        """The accuracy of a tree with at most so many columns times classes times bins."""
        each = self.columns * self.classes
        return self.scores[max((m for m in COUNTS if int(m) * each <= most), key=int, default="10")]

    @property
    def tree(self) -> float:
        """The accuracy of a tree with the bins of the rule that is in force."""
        return self.scores[str(bin_count(self.columns, self.classes))]

    def by(self, rule: BayesRule) -> float:
        """The accuracy of the model that a rule takes."""
        taken = (
            self.classes >= rule.classes
            and self.columns <= rule.columns * self.classes
            and self.values <= rule.values * self.columns
            and self.epsilon * self.rows >= rule.rows * self.values * self.classes
        )
        return self.scores[BAYES] if taken else self.tree

    @property
    def bayes_by_rule(self) -> bool:
        """Whether the rule in force takes naive Bayes."""
        sizes = [self.values - self.columns + 1, *[1] * (self.columns - 1)]  # of the same sum
        return prefers_bayes(Fraction(str(self.epsilon)), self.rows, sizes, self.classes)


def cells_of(rows: Rows) -> list[Cell]:
    """The means over the seeds, table by table and ε by ε."""
    found: dict[tuple[str, float], dict[str, list[float]]] = {}
    facts = {}
    for row in rows:
        key = str(row["dataset"]), number(row, "epsilon")
        facts[key] = [int(number(row, name)) for name in ("rows", "columns", "values", "classes")]
        by_method = found.setdefault(key, {})
        by_method.setdefault(text(row["model"]), []).append(number(row, "accuracy"))
    cells = []
    for key, scores in found.items():
        means = {method: fmean(each) for method, each in scores.items()}
        size, columns, coded, classes = facts[key]
        whole = dict.fromkeys(COUNTS, means["10"]) | means
        cells.append(Cell(*key, size, columns, coded, classes, whole))
    return cells


def chosen_bins(cells: Iterable[Cell]) -> int:
    """The bound of the largest mean accuracy; of equals the smallest."""
    known = list(cells)
    return max(MOST, key=lambda most: fmean(cell.with_bins(most) for cell in known))


def chosen_bayes(cells: Iterable[Cell]) -> BayesRule:
    """The rule of the largest mean accuracy; of equals the first."""
    known = list(cells)
    return max(BAYES_RULES, key=lambda rule: fmean(cell.by(rule) for cell in known))


def left_out(cells: Sequence[Cell], score: Callable[[Sequence[Cell], Cell], float]) -> list[float]:
    """For every cell, `score` with what the cells of all other tables say."""
    names = {cell.dataset for cell in cells}
    others = {name: [cell for cell in cells if cell.dataset != name] for name in names}
    return [score(others[cell.dataset], cell) for cell in cells]


def _cells(quick: bool) -> Sequence[Parameters]:
    return [
        {"dataset": name, "epsilon": epsilon, "seed": seed, "method": method}
        for seed in range(1 if quick else SEEDS)
        for name in (BUNDLED if quick else (*FULL, *MORE))
        for epsilon in (EPSILONS[-1:] if quick else EPSILONS)
        for method in (*COUNTS, BAYES)
    ]


def _run(cell: Parameters, _: InsecureEntropy) -> Sequence[Row]:
    method = str(cell["method"])
    ten = load(str(cell["dataset"]), 10, MOST_ROWS)
    finest = load(str(cell["dataset"]), FINEST_BINS, MOST_ROWS)
    if method not in ("10", BAYES) and finest.sizes == ten.sizes:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method == BAYES:
            fitted = fitted_to(ten, cell, OURS[BAYES])
        else:
            fitted = fitted_to(finest, cell, tree_of_bins(int(method)), free=True)
        size = len(ten.sizes), sum(ten.sizes)
        return [(*fitted.known[:3], *size, *fitted.known[3:], round(fitted.accuracy, 4))]


def _caption(rows: Rows) -> str:
    tables = len(values(rows, "dataset"))
    return (
        f"{tables} tables of at most {MOST_ROWS:,} rows, mean of {len(values(rows, 'seed'))} "
        f"splits; the rule is at most {MOST_SUMS:,} columns times classes times bins."
    )


STUDY = Study(
    name="bins",
    title="Bins of a tree",
    figure="beyond the paper",
    about="Accuracy of trees of 10 to 160 bins of equal width and of naive Bayes of ten: what the "
    "public rules for the number of bins and between the two models were chosen from.",
    finding="More than ten bins gain most in skewed columns; naive Bayes needs many classes and "
    "many rows times ε.",
    caption=_caption,
    columns=(
        "dataset", "classes", "rows", "columns", "values", "epsilon", "seed", "model", "accuracy",
    ),
    cells=_cells,
    run=_run,
    revision=2,
    minutes=10,
)  # fmt: skip
