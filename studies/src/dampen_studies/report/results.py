"""The README's table: four questions, from full runs of what the library does by default."""

from statistics import fmean, median

from dampen_studies.claims import Tables
from dampen_studies.experiments import many
from dampen_studies.experiments.model_methods import PEERS
from dampen_studies.report.group_tables import needed
from dampen_studies.report.model_tables import means
from dampen_studies.rows import values, where
from dampen_studies.study import Rows, number

__all__ = ["STUDIES", "results"]

STUDIES = ("groups", "nodes", "many", "models")
HEADER = ["question", "measured", "exponential mechanism", "the best of other ways", "dampen"]
GRAPH = "dblp"
K = 20.0
NODES_EPSILON = 0.5
HISTOGRAM = "md-sal-fa"
POINTS = 99.0
MODELS_EPSILON = 0.1


def results(tables: Tables) -> tuple[list[str], list[list[str]]]:
    """One line per question."""
    lines = [
        _groups(where(tables["groups"], statistic="median")),
        _nodes(where(tables["nodes"], dataset=GRAPH, k=K, epsilon=NODES_EPSILON)),
        _percentiles(where(tables["many"], dataset=HISTOGRAM, percentiles=POINTS)),
        _models(where(tables["models"], epsilon=MODELS_EPSILON)),
    ]
    return HEADER, lines


def _groups(rows: Rows) -> list[str]:
    count = len(values(rows, "dataset"))
    at = {m: median(needed(row) for row in where(rows, method=m)) for m in ("em", "control")}
    ours = median(needed(row) for row in where(rows, method="reach"))
    return [
        f"Which group has the largest median? {count} tables",
        "ε for nine right answers in ten, median over tables",
        "never" if at["em"] == float("inf") else f"{at['em']:.2g}",
        f"{at['control']:.2g}, a private median for each group",
        f"**{ours:.2g}**",
    ]


def _nodes(rows: Rows) -> list[str]:
    share = {str(row["method"]): number(row, "accuracy") for row in rows if row["runs"]}
    return [
        f"Who are the {K:g} most influential of 317,080 authors? DBLP",
        f"share of the true {K:g}, ε = {NODES_EPSILON:g}",
        f"{share['em']:.2f}",
        f"{share['degree-joint']:.2f}, noisy degrees",
        f"**{share['dampen']:.2f}**",
    ]


def _percentiles(rows: Rows) -> list[str]:
    error = {str(row["method"]): number(row, "error") for row in rows}
    others = {"diffprivlib": "diffprivlib", "opendp": "OpenDP", "split": "equal shares of ε"}
    best = min((m for m in others if m in error), key=lambda m: error[m])
    return [
        f"What are all {POINTS:g} percentiles of 100,534 salaries? MD-SAL-FA",
        f"mean error in ranks, ε = {float(many.EPSILON):g} for all",
        _rank(error.get("diffprivlib")),
        f"{_rank(error[best])}, {others[best]}",
        f"**{_rank(error['together'])}**",
    ]


def _models(rows: Rows) -> list[str]:
    mean = means(rows)
    names = values(rows, "dataset")
    methods = {str(row["method"]) for row in rows}

    def over_tables(method: str) -> float:
        return fmean(mean[name, MODELS_EPSILON, method] for name in names)

    best = max(PEERS, key=over_tables)
    others = {"gaussian": "naive Bayes", "dpl-tree": "tree", "dpl-forest": "forest"}
    return [
        f"Which class does a row belong to? {len(names)} tables",
        f"mean accuracy, ε = {MODELS_EPSILON:g}",
        f"{over_tables('em'):.2f}, ID3" if "em" in methods else "not measured",
        f"{over_tables(best):.2f}, diffprivlib's {others[best]}",
        f"**{over_tables('dampen'):.2f}**",
    ]


def _rank(error: float | None) -> str:
    return "fails" if error is None else f"{error:,.0f}" if error >= 10 else f"{error:.1f}"
