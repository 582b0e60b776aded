"""Bundled small data for quick runs: no file, no network, the same on every machine."""

from collections.abc import Sequence

import numpy as np

from dampen.core.selection import FloatArray, IntArray
from dampen_studies.datasets.catalogue import dataset
from dampen_studies.datasets.loading import Edges

HISTOGRAMS = ("steep", "even")
GRAPHS = ("karate", "miserables")
TABLES = ("cancer",)


def chosen(
    paper: Sequence[str], bundled: Sequence[str], *, quick: bool, cheap: bool = False
) -> Sequence[str]:
    """What a run works on: the paper's data; a quick one on the first of them, if it is here, else
    on bundled data.  A study that is cheap enough works on all that are here, in a quick run too.
    """
    if not quick:
        return paper
    here = [name for name in (paper if cheap else paper[:1]) if dataset(name).present]
    return here or bundled


def histogram(name: str) -> IntArray:
    """256 counts by a fixed formula: a few large ones, or an even spread."""
    golden = np.modf(np.arange(1, 257) * 0.6180339887498949)[0]
    shape = {"steep": 1000 * golden**8, "even": 1000 * golden}[name]
    return np.floor(shape).astype(np.int64)


def graph(name: str) -> Edges:
    """Zachary's karate club or the characters of Les Misérables, from networkx."""
    import networkx as nx

    make = {"karate": nx.karate_club_graph, "miserables": nx.les_miserables_graph}[name]
    named = nx.convert_node_labels_to_integers(make(), ordering="sorted")
    ends = np.sort(np.array(named.edges, dtype=np.int32), axis=1)
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    return Edges(ends[:, 0].copy(), ends[:, 1].copy(), named.number_of_nodes())


CANCER_RANGES = {
    "radius": (5.0, 30.0),
    "texture": (5.0, 40.0),
    "perimeter": (40.0, 190.0),
    "area": (100.0, 2600.0),
    "smoothness": (0.05, 0.17),
    "concavity": (0.0, 0.45),
}
"""Public ranges for six columns of the breast-cancer table."""


def table() -> tuple[FloatArray, IntArray]:
    """Six columns and the class of the breast-cancer table of scikit-learn."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    names = [name.removeprefix("mean ") for name in data.feature_names[:10]]
    columns = [names.index(name) for name in CANCER_RANGES]
    return data.data[:, columns], data.target.astype(np.int64)
