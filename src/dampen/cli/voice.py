"""The library's sentences in the words of the command line: `--n`, not `n=`."""

import re

__all__ = ["in_options"]

OPTIONS = {
    "budget": "--budget",
    "by": "--by",
    "categories": "--categories",
    "caution": "--caution",
    "column": "--column",
    "epsilon": "--epsilon",
    "groups": "--groups",
    "header": "--header",
    "k": "-k",
    "labels": "--label",
    "lower": "--lower",
    "max_degree": "--max-degree",
    "max_depth": "--depth",
    "max_rows": "`rows`",
    "mechanism": "--mechanism",
    "metric": "--metric",
    "min_rows": "--min-rows",
    "n": "--n",
    "neighbours": "--neighbours",
    "nodes": "--nodes",
    "p": "-p",
    "release": "--release",
    "rho": "--rho",
    "source": "--source",
    "statistic": "--statistic",
    "step": "--step",
    "table": "--table",
    "target": "--target",
    "upper": "--upper",
    "value": "--value",
}
"""What the keywords of the library are called here, where they are public parameters."""

_NAME = "|".join(OPTIONS)
_VALUE = r"""'([^']*)'|"([^"]*)"|([+-]?\d+/\d+|[+-]?\w+(?:\.\w+)?)"""
_KEYWORD = re.compile(rf"(?<![\w/.'\"-])({_NAME})=(?:True|{_VALUE})?(?![\w/=])")
_BARE = re.compile(
    rf"(?<=Expected )(?:{_NAME})(?= (?:[<>]|to be ))"  # Expected k <= 3; Expected n to be ...
    rf"|(?<=[<>] )(?:{_NAME})\b"  # lower < upper
    r"|(?<=Expected one )[knp](?=[ ,])"
    r"|\bmax_\w+\b"
)


def in_options(text: str) -> str:
    """A message with options in place of keyword arguments.

    >>> in_options("Expected epsilon > 0, got epsilon=-1.")
    'Expected --epsilon > 0, got --epsilon -1.'
    >>> in_options("Expected one p and no step= for a label. Pass release='value' for numbers.")
    'Expected one -p and no --step for a label. Pass --release value for numbers.'
    >>> in_options("Cannot read k=3/edges.csv: No such file or directory.")
    'Cannot read k=3/edges.csv: No such file or directory.'
    """
    return _BARE.sub(lambda found: OPTIONS.get(found[0], found[0]), _KEYWORD.sub(_option, text))


def _option(found: re.Match[str]) -> str:
    value = next((part for part in found.groups()[1:] if part is not None), None)
    option = OPTIONS[found[1]]
    return option if value is None else f"{option} {value}"
