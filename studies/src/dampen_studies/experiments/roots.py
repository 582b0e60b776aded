"""Who is chosen at the root of a tree (section 7.4 of the paper): does dampening change the order?

The attributes of each table by information gain, and by their dampened and shifted scores; rank 1
is the best.  The paper reports that LD swaps the second and the third attribute of ACS.
"""

from collections.abc import Sequence

import numpy as np

from dampen.core.mechanisms import LD, SLD
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import FloatArray, IntArray
from dampen_studies.datasets import small
from dampen_studies.experiments.coded_tables import TABLES, load
from dampen_studies.study import Parameters, Row, Study


def _cells(quick: bool) -> Sequence[Parameters]:
    return [
        {"dataset": name} for name in small.chosen(TABLES, small.TABLES, quick=quick, cheap=True)
    ]


def _run(cell: Parameters, entropy: InsecureEntropy) -> Sequence[Row]:
    from dampen.questions.classify.splits import BestSplit

    del entropy  # nothing is random
    name = str(cell["dataset"])
    table = load(str(cell["dataset"]))
    sizes = [len(domain) for domain in table.domains]
    problem = BestSplit(domains=sizes, classes=2, max_rows=table.max_rows)
    selection = problem.selection(np.column_stack([table.codes, table.classes]))
    ld = LD.score.of(selection).values
    sld = SLD.score.of(selection).values
    ranks = [_ranks(values) for values in (selection.utility, ld, sld)]
    return [
        (name, a, float(selection.utility[a]), float(ld[a]), *(int(rank[a]) for rank in ranks))
        for a in np.argsort(ranks[0]).tolist()
    ]


def _ranks(values: FloatArray) -> IntArray:
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return ranks


STUDY = Study(
    name="roots",
    title="Decision trees: the order of attributes at the root",
    figure="Section 7.4, inversion",
    about="Every attribute with its information gain, its dampened score, and its rank by gain, "
    "by LD and by SLD.",
    finding="On ACS, LD exchanges the second and the third attribute, as the paper says; SLD does "
    "not.",
    caption=lambda rows: f"{len(rows)} attributes; nothing is random.",
    columns=("dataset", "attribute", "gain", "dampened", "rank", "rank_ld", "rank_sld"),
    cells=_cells,
    run=_run,
)
