"""The data: where it lives, how to fetch it, how to check it.

The nine data sets of the paper's evaluation and a few more.  None of them is shipped.  They live in
the data home, `$DAMPEN_DATA` or the user's cache directory, in one normalised layout:

    graphs/NAME.npz              src, dst (int32, src < dst, sorted, each edge once) and n
    histograms/FILE.npy          int64 counts
    tables/NAME.csv.gz           one header row; missing values are `?`

`fetch` downloads the originals from their canonical addresses and normalises them; a file that is
already in place is checked, not fetched.  `load_*` check the counts the paper states and a checksum
of the normalised arrays, so that a study cannot run on other data by accident.
"""

from dampen_studies.datasets.catalogue import CATALOGUE, Dataset, DatasetError, dataset, home
from dampen_studies.datasets.fetching import fetch
from dampen_studies.datasets.loading import (
    Columns,
    Edges,
    load_graph,
    load_histogram,
    load_table,
    verify,
)

__all__ = [
    "CATALOGUE",
    "Columns",
    "Dataset",
    "DatasetError",
    "Edges",
    "dataset",
    "fetch",
    "home",
    "load_graph",
    "load_histogram",
    "load_table",
    "verify",
]
