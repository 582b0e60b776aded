"""`dampen warm`: compiles what the first release would wait for."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dampen.cli.output import examples, write

__all__ = ["warm"]


@click.command(epilog=examples("dampen warm"))
def warm() -> None:
    """Compiles all kernels now, once, so that the first answer does not wait for it.

    Machine code is made for this processor and kept on disk, beside the library or in your cache
    directory. Without this command it is made when it is first needed, which takes seconds.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        for ask in _questions(Path(place)):
            ask()
    write(f"All kernels are compiled ({time.monotonic() - started:.0f} s).")


def _questions(place: Path) -> list[Callable[[], Any]]:
    """One question for every set of kernels, of made-up data."""
    import numpy as np

    import dampen
    from dampen.cli.demo_files import write_files

    write_files(place)
    follows = str(place / "follows.csv.gz")
    census = str(place / "census.csv")
    ends = np.arange(39), np.arange(1, 40)
    public: dict[str, Any] = {"domains": {"age": dampen.bins(17, 90, 8)}}
    public |= {"classes": ["<=50K", ">50K"]}
    labels = np.arange(1 << 19) % 977.0  # enough for the kernel of large columns

    def nodes(graph: Any, **asked: Any) -> Callable[[], Any]:
        return lambda: dampen.top_k(graph, n=40, epsilon=1, **asked)

    return [
        nodes(follows, k=3),
        nodes(ends, k=3),
        nodes(ends, k=1),
        nodes(ends, k=3, mechanism="sld"),
        lambda: dampen.percentile_record(labels, p=50, upper=1000, epsilon=20),
        lambda: dampen.percentile_record(labels[:9], p=50, upper=1000, epsilon=20),
        lambda: dampen.percentile(labels[:9], p="quartiles", upper=1000, step=100, epsilon=20),
        lambda: dampen.TreeClassifier(epsilon=1, max_rows=500, **public).fit_table(
            census, target="income"
        ),
        lambda: dampen.NaiveBayesClassifier(epsilon=1, **public).fit_table(census, target="income"),
    ]
