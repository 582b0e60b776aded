"""The algorithms of the paper, by the names of the paper, on the public core.

Farias, Brito, Flynn, Machado, Majumdar, Srivastava: *Local Dampening: Differential Privacy for
Non-numeric Queries via Local Sensitivity*, PVLDB 14.  The mechanisms are in
`dampen.core.mechanisms`: `em` (the exponential mechanism), `pf` (permute-and-flip), `ld` (local
dampening), `sld` (shifted local dampening, in both directions).

| module | application | algorithms |
|---|---|---|
| `dampen.paper.percentile_selection` | 1, percentile selection | LS, both δ |
| `dampen.paper.influential_nodes` | 2, influential nodes | PrivTopk, EBC, δ^EBC, codegrees |
| `dampen.paper.id3` | 3, ID3 | Global-, Local-, ShiftedLocalDiffPID3, SuLQ-based ID3 |

Each module states where the printed text is wrong and what is done in its place.  What answers best
is not always the paper's: the questions (`dampen.questions`) hold the methods that win.
"""

from importlib import import_module
from typing import Any

__all__ = ["id3", "influential_nodes", "percentile_selection"]


def __getattr__(name: str) -> Any:
    # Loaded when first used: ID3 waits for scikit-learn.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
