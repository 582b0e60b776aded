"""diffprivlib beside a scikit-learn that is newer than it knows."""

import warnings
from types import ModuleType

import numpy as np

__all__ = ["diffprivlib"]


def diffprivlib() -> ModuleType:
    """The library, its models and tools imported, with the names that scikit-learn 1.8 dropped."""
    import sklearn.tree._tree as compiled

    for name, kind in (("DOUBLE", np.float64), ("DTYPE", np.float32)):
        if not hasattr(compiled, name):
            setattr(compiled, name, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import diffprivlib.models
        import diffprivlib.tools
    return diffprivlib
