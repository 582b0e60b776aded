"""Single numbers of the record that stand in sentences of the documentation."""

from collections.abc import Callable
from statistics import fmean

from dampen_studies.claims.influence import orders
from dampen_studies.claims.trees import DATASETS, DEPTHS, gains
from dampen_studies.experiments.correlation import correlations
from dampen_studies.rows import curve, where
from dampen_studies.study import Rows, number


def _tree(dataset: str, depth: float, method: str, epsilon: float) -> Callable[[Rows], str]:
    """Percent correct, mean over the repetitions."""

    def made(rows: Rows) -> str:
        here = where(rows, dataset=dataset, depth=depth, method=method, epsilon=epsilon)
        return f"{100 * fmean(number(row, 'accuracy') for row in here):.1f}"

    return made


def _gain(dataset: str, ours: str, theirs: str) -> Callable[[Rows], str]:
    """The largest gain in points."""
    return lambda rows: f"{max(gains(rows, dataset, ours, theirs)):.1f}"


def _flip_range(rows: Rows) -> str:
    found = [gain for name in DATASETS for gain in gains(rows, name, "sld-pf", "sld")]
    return f"{min(found):+.1f} to {max(found):+.1f}"


def _default_range(rows: Rows) -> str:
    """What the default is ahead of the best of the paper's algorithms, over all settings."""
    found = []
    for name in DATASETS:
        for depth in DEPTHS:
            curves = {
                method: curve(
                    rows, "epsilon", "accuracy", dataset=name, depth=depth, method=method
                )[1]
                for method in ("dampen", "em", "ld", "sld")
            }
            ours = curves.pop("dampen")
            best = [max(each) for each in zip(*curves.values(), strict=True)]
            found += [100 * (a - b) for a, b in zip(ours, best, strict=True)]
    return f"{min(found):+.1f} to {max(found):+.1f}"


def _share(dataset: str, k: float, method: str, epsilon: float) -> Callable[[Rows], str]:
    """The share of the true top k."""

    def made(rows: Rows) -> str:
        [row] = where(rows, dataset=dataset, k=k, method=method, epsilon=epsilon)
        return f"{number(row, 'accuracy'):.2f}".removeprefix("0")

    return made


def _largest_spread(rows: Rows) -> str:
    return f"{max(number(row, 'spread') for row in rows):.2f}"


def _times(ours: str, theirs: str) -> Callable[[Rows], str]:
    """How many times the ε of ours the other needs at equal accuracy, median."""

    def made(rows: Rows) -> str:
        found = sorted(orders(rows, ours, theirs))
        return f"{10 ** found[len(found) // 2]:.1f}"

    return made


VALUES: dict[str, tuple[str, Callable[[Rows], str]]] = {
    "acs-inverted-em": ("trees", _tree("acs", 2.0, "em", 2.0)),
    "acs-inverted-ld": ("trees", _tree("acs", 2.0, "ld", 2.0)),
    "acs-inverted-sld": ("trees", _tree("acs", 2.0, "sld", 2.0)),
    "acs-deep-em": ("trees", _tree("acs", 5.0, "em", 2.0)),
    "acs-deep-ld": ("trees", _tree("acs", 5.0, "ld", 2.0)),
    "acs-deep-sld": ("trees", _tree("acs", 5.0, "sld", 2.0)),
    "acs-gain": ("trees", _gain("acs", "sld", "em")),
    "acs-gain-fair": ("trees", _gain("acs", "sld", "em-fair")),
    "nltcs-gain": ("trees", _gain("nltcs", "sld", "em")),
    "nltcs-gain-fair": ("trees", _gain("nltcs", "sld", "em-fair")),
    "adult-gain": ("trees", _gain("adult", "sld", "em")),
    "adult-gain-fair": ("trees", _gain("adult", "sld", "em-fair")),
    "sld-pf-over-sld": ("trees", _flip_range),
    "default-over-paper": ("trees", _default_range),
    "adult-own-depth": ("trees", _tree("adult", 2.0, "dampen-depth", 0.01)),
    "adult-depth-two": ("trees", _tree("adult", 2.0, "dampen", 0.01)),
    "topk-largest-error": ("topk", _largest_spread),
    "one-node-flip": ("topk", _share("enron", 1.0, "dampen", 0.1)),
    "one-node-joint": ("topk", _share("enron", 1.0, "degree-joint", 0.1)),
    "degree-over-sld": ("topk", _times("degree", "sld")),
    "joint-over-sld": ("topk", _times("degree-joint", "sld")),
    "enron-spearman": ("correlation", lambda rows: f"{correlations(rows, 'enron')[1]:.3f}"),
}
"""A value's name, the study it comes from, and how it is made."""
