"""Influential nodes in tables: every cell, a few of them, and what they come to.

Two methods differ in a cell if their means do by more than two standard errors of the difference.
A fall, the worst of ten pairs of ε for each k, counts beyond three.
"""

from collections import Counter
from itertools import combinations
from math import hypot
from typing import NamedTuple

from dampen_studies.datasets.names import printed
from dampen_studies.report.palette import LOOKS
from dampen_studies.rows import values, where
from dampen_studies.study import Rows, Value, number

Table = tuple[list[str], list[list[str]]]
METHODS = ("em", "ld", "sld", "degree-joint", "dampen")
CHOSEN = ("sld", "degree-joint", "dampen")
CHOSEN_K = 20.0
CEILINGS = ("degree-ceiling", "triangle-ceiling")


def nodes(rows: Rows, k: Value, methods: tuple[str, ...] = METHODS) -> Table:
    """Methods on every graph, with standard errors, and what they would find without noise."""
    rows = where(rows, k=k)
    epsilons = values(rows, "epsilon")
    lines = []
    for dataset in values(rows, "dataset"):
        here = where(rows, dataset=dataset)
        fixed = [_share(number(where(here, method=m)[0], "accuracy")) for m in CEILINGS]
        for method in methods:
            cells = [where(here, method=method, epsilon=e)[0] for e in epsilons]
            shown = [
                f"{_share(number(c, 'accuracy'))} ± {_share(number(c, 'spread'))}" for c in cells
            ]
            lines.append([printed(str(dataset)), LOOKS[method].label, *shown, *fixed])
    header = [f"k = {k:g}", "method", *(f"ε = {e:g}" for e in epsilons)]
    return [*header, *(LOOKS[m].label for m in CEILINGS)], lines


def limits(rows: Rows) -> Table:
    """How few edges decide about the k-th node, and the limit that follows; one line per graph."""
    sizes = values(rows, "k")
    epsilons = values(rows, "epsilon")
    header = ["graph"] + [
        f"k = {k:g}: h; limit at ε = {epsilons[1]:g}, {epsilons[3]:g}" for k in sizes
    ]
    lines = []
    for dataset in values(rows, "dataset"):
        cells = []
        for k in sizes:
            here = where(rows, dataset=dataset, k=k, method="limit")
            low, high = (_share(number(here[i], "accuracy")) for i in (1, 3))
            cells.append(f"{number(here[0], 'flips'):g}; {low}, {high}")
        lines.append([printed(str(dataset)), *cells])
    return header, lines


def centralities(rows: Rows) -> Table:
    """What is found of the top 20 by other measures, one line per graph and method."""
    pairs = [(m, e) for m in values(rows, "centrality") for e in values(rows, "epsilon")]
    lines = []
    for dataset in values(rows, "dataset"):
        for method in ("degree", "dampen", "itself"):
            found = where(rows, dataset=dataset, method=method)
            cells = [where(found, centrality=m, epsilon=e) for m, e in pairs]
            lines.append([printed(str(dataset)), method, *map(_with_error, cells)])
    return ["k = 20", "by", *(f"{m}, ε = {e:g}" for m, e in pairs)], lines


def _with_error(cell: Rows) -> str:
    """The mean of a cell, or nothing where a method has none."""
    if not cell:
        return ""
    return f"{_share(number(cell[0], 'found'))} ± {_share(number(cell[0], 'spread'))}"


class Difference(NamedTuple):
    """One mean less another, with its standard error, and where it was seen."""

    mean: float
    error: float
    place: str

    @property
    def outcome(self) -> str:
        if abs(self.mean) <= 2 * self.error:
            return "level"
        return "better" if self.mean > 0 else "worse"


def summary(rows: Rows) -> Table:
    """The default against the joint release of degrees: how many cells, and how much, by graph."""
    graphs = [(printed(str(d)), where(rows, dataset=d)) for d in values(rows, "dataset")]
    header = ["graph", "better", "level", "worse", "largest gain", "largest loss"]
    return [*header, "largest fall as ε grows"], [
        [name, *_counted(differences(here)), *_extremes(here)]
        for name, here in [*graphs, ("all", list(rows))]
    ]


def sweep(rows: Rows) -> Table:
    """The default against the joint release of degrees on generated graphs; runs are paired."""
    graphs = [(str(name), where(rows, graph=name)) for name in values(rows, "graph")]
    header = ["graph", "nodes", "edges", "better", "level", "worse", "largest gain"]
    return [*header, "largest loss", "largest fall as ε grows"], [
        *(
            [name, *(f"{number(here[0], c):.0f}" for c in ("nodes", "edges")), *_swept(here)]
            for name, here in graphs
        ),
        ["all", "", "", *_swept(list(rows))],
    ]


def _swept(rows: Rows) -> list[str]:
    found = paired(rows)
    fallen = [each for each in falls_in_sweep(rows) if each.mean < -3 * each.error]
    skip = 1 if len(values(rows, "graph")) == 1 else 0
    ends = [_told(each, skip) for each in (max(found), min(found))]
    return [*_counted(found), *ends, _told(min(fallen), skip) if fallen else "none"]


def paired(rows: Rows) -> list[Difference]:
    """The default less the joint release with the same noise, cell by cell of a sweep."""
    return [
        Difference(number(row, "gain"), number(row, "gain_error"), _cell_of_sweep(row))
        for row in rows
    ]


def falls_in_sweep(rows: Rows) -> list[Difference]:
    """The same for a sweep; the place also tells by how much the joint release changes."""
    found = []
    for graph in values(rows, "graph"):
        for k in values(rows, "k"):
            for low, high in combinations(where(rows, graph=graph, k=k), 2):
                mean = number(high, "accuracy") - number(low, "accuracy")
                error = hypot(number(high, "spread"), number(low, "spread"))
                joint = f"{number(high, 'joint') - number(low, 'joint'):+.3f}".replace("0.", ".")
                place = f"{_cell_of_sweep(low)} to {high['epsilon']:g}, joint {joint}"
                found.append(Difference(mean, error, place))
    return found


def _cell_of_sweep(row: dict[str, Value]) -> str:
    return f"{row['graph']}, k = {row['k']:g}, ε = {row['epsilon']:g}"


def differences(rows: Rows) -> list[Difference]:
    """The default less the joint release of degrees, cell by cell."""
    return [
        _difference(ours, theirs)
        for ours, theirs in zip(
            where(rows, method="dampen"), where(rows, method="degree-joint"), strict=True
        )
    ]


def falls(rows: Rows) -> list[Difference]:
    """What the default finds at an ε less what it found at a smaller one."""
    found = []
    ours = where(rows, method="dampen")
    for dataset in values(ours, "dataset"):
        for k in values(ours, "k"):
            cells = where(ours, dataset=dataset, k=k)
            pairs = ((low, high) for i, low in enumerate(cells) for high in cells[i + 1 :])
            found += [_difference(high, low) for low, high in pairs]
    return found


def _difference(first: dict[str, Value], second: dict[str, Value]) -> Difference:
    mean = number(first, "accuracy") - number(second, "accuracy")
    error = hypot(number(first, "spread"), number(second, "spread"))
    place = f"{printed(str(first['dataset']))}, k = {first['k']:g}, ε = {first['epsilon']:g}"
    return Difference(mean, error, place)


def _counted(found: list[Difference]) -> list[str]:
    outcomes = Counter(each.outcome for each in found)
    return [str(outcomes[word]) for word in ("better", "level", "worse")]


def _extremes(rows: Rows) -> list[str]:
    """The largest gain, loss and fall."""
    found = differences(rows)
    fallen = [each for each in falls(rows) if each.mean < -3 * each.error]
    skip = 1 if len(values(rows, "dataset")) == 1 else 0
    chosen = [max(found), min(found), *([min(fallen)] if fallen else [])]
    return [_told(each, skip) for each in chosen] + ([] if fallen else ["none"])


def _told(difference: Difference, skip: int) -> str:
    place = ", ".join(difference.place.split(", ")[skip:])
    return f"{difference.mean:+.3f} ± {difference.error:.3f} ({place})".replace("0.", ".", 2)


def _share(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")
