"""What the fits of all private classifiers share: public parameters first, rows after the charge.

An *estimator* here is a scikit-learn classifier with the parameters `epsilon`, `rho`, `domains`,
`classes`, `budget` and `entropy`, and, once fitted, `domains_` and `classes_`.
"""

import inspect
from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from dampen.core.selection import IntArray
from dampen.data.memory import MemoryTable, as_chunk, open_memory
from dampen.data.open import open_table
from dampen.data.source import Opened, reading, require, require_labels
from dampen.epsilon import asked_epsilon
from dampen.errors import ParameterError, warn_leak
from dampen.questions.classify.encoding import Domain, encode_queries
from dampen.searches import warn_of_search

__all__ = [
    "Leak",
    "clone_sharing",
    "domains_by_name",
    "features_of",
    "leaks_of",
    "query_codes",
    "refuse",
    "set_names",
    "table_codes",
    "tag_as_private",
    "warn_of",
]

E = TypeVar("E")


class Leak(NamedTuple):
    """A public parameter that is taken from the data: what of it, and what to pass instead."""

    parameter: str
    what: str
    remedy: str


def leaks_of(
    domains: Mapping[str, Domain | None], classes: Sequence[Hashable] | None
) -> list[Leak]:
    """The public parameters that are missing, each with its remedy."""
    leaks = [
        Leak(
            "domains",
            f"The domain of {name}",
            f"Pass domains={{{name!r}: dampen.bins(low, high, count)}} or a list of categories.",
        )
        for name, domain in domains.items()
        if domain is None
    ]
    if classes is None:
        leaks.append(Leak("classes", "The list of classes", "Pass classes=[...]."))
    return leaks


def warn_of(leaks: Sequence[Leak]) -> None:
    """One warning for each, at the line that called `fit`."""
    for leak in leaks:
        warn_leak(leak.what, leak.remedy, stacklevel=2 + _own_frames())


def _own_frames() -> int:
    """How many calls above this one are the library's own: an estimator may fit another."""
    frame = inspect.currentframe()
    count = -1
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("dampen."):
        frame = frame.f_back
        count = count + 1
    return count


def features_of(table: Opened, domains: Any, target: str) -> list[str]:
    """The attributes: the columns that `domains` names, or all others where it names none.

    Raises:
        ParameterError: if they cannot be told, or one is the target.
    """
    if isinstance(domains, Mapping):
        features = [str(name) for name in domains]
    elif table.declared:
        features = [field.name for field in table.fields if field.name != target]
    else:
        raise ParameterError(
            f"Expected domains by the names of columns, or header=True: the first line of "
            f"{table.title} may be data."
        )
    if target in features:
        raise ParameterError(f"Expected no domain of {target!r}: it is the target.")
    require_labels(table, target, *features)
    return features


def set_names(estimator: Any, names: Sequence[str] | None, count: int) -> None:
    """As scikit-learn does, which would look at the data."""
    estimator.n_features_in_ = count
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def domains_by_name(estimator: Any) -> dict[str, Domain]:
    """The domains of a fitted estimator, by the names of their columns."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = [f"x{i}" for i in range(len(estimator.domains_))]
    return {str(name): domain for name, domain in zip(names, estimator.domains_, strict=True)}


def query_codes(estimator: Any, X: Any) -> IntArray:
    """The rows to predict, in the codes of the public domains."""
    check_is_fitted(estimator)
    return encode_queries(_queries(estimator, X), domains_by_name(estimator))


def _queries(estimator: Any, X: Any) -> list[Any]:
    """The columns of X, those of a frame with their own types."""
    table = open_memory(X)
    if isinstance(table, MemoryTable) and hasattr(X, "columns"):
        validate_data(estimator, X, reset=False, skip_check_array=True)
        return list(map(as_chunk, table.columns.values()))
    finite: Any = "allow-nan" if any(d.holds_missing for d in estimator.domains_) else True
    return list(validate_data(estimator, X, dtype=None, reset=False, ensure_all_finite=finite).T)


def table_codes(
    estimator: Any, data: Any, *, header: bool, table: str | None
) -> Iterator[IntArray]:
    """The rows of a table to predict, in pieces, in the codes of the public domains."""
    check_is_fitted(estimator)
    opened = open_table(data, header=header, table=table)
    domains = domains_by_name(estimator)
    require(opened, *domains)
    wanted = {name: domain.kind for name, domain in domains.items()}
    with reading(opened.batches(wanted)) as stream:
        for batch in stream:
            yield encode_queries([batch[name] for name in domains], domains)


def clone_sharing(estimator: E) -> E:
    """A clone shares budget and entropy: copies could be spent, or their noise repeated."""
    given: Any = estimator
    if given.budget is not None:
        warn_of_search(asked_epsilon(given.epsilon, given.rho, Fraction(1, 2)))
    parameters = {
        name: value if name in ("budget", "entropy") else clone(value, safe=False)
        for name, value in given.get_params(deep=False).items()
    }
    return type(estimator)(**parameters)


def tag_as_private(tags: Any) -> Any:
    """scikit-learn's tags of a classifier whose fits are drawn, and which takes categories."""
    tags.non_deterministic = True
    tags.input_tags.categorical = True
    tags.input_tags.string = True
    return tags


def refuse(options: Mapping[str, Any]) -> None:
    """Refuses what `fit` does not take, weights with the reason.

    Weights are no parameter of `fit`, or scikit-learn would take them for supported.
    """
    if "sample_weight" in options:
        raise ParameterError(
            "Expected no sample_weight: privacy is for one row that counts once. One of weight w "
            "would need w times the noise."
        )
    for name in options:
        raise ParameterError(f"Expected only X and y, got {name}=.")
