"""Opening private data from memory, files and engines.

| what | from |
|---|---|
| a column | a list, numpy, one column of pandas, polars or pyarrow |
| a table | frames of pandas and polars (also lazy), pyarrow tables, readers, dicts of columns |
| a file | CSV, TSV, JSON lines, Parquet, Feather; gzip, bz2; directories of Parquet; `-` |
| edges | networkx, igraph, sparse matrices, (src, dst), any table, text with two columns, npz |

What is opened shows public facts alone; rows are read after the charge (`dampen.releases.answer`).
"""

from dampen.data.edges import OpenedEdges, open_edges
from dampen.data.open import open_columns, open_table
from dampen.data.source import Field, Opened

__all__ = ["Field", "Opened", "OpenedEdges", "open_columns", "open_edges", "open_table"]
