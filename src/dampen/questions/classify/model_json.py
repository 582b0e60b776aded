"""What all released models have in common as JSON, and back.

All of it is public; what comes back is not trusted.  A file may be damaged or hostile, so its size
and its structure are checked before anything is built from it.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from dampen.core.selection import IntArray
from dampen.errors import ParameterError, raise_alone
from dampen.questions.classify.encoding import (
    Bins,
    Categories,
    Domain,
    checked_classes,
    class_array,
)
from dampen.releases.release import Release

__all__ = [
    "as_text",
    "checked_integers",
    "checked_text",
    "common_content",
    "fill_common",
    "restore",
]

MOST_CHARACTERS = 1 << 28
FACTS = ("leaks", "charge", "version")


def as_text(content: dict[str, Any], release: Release) -> str:
    """A model with the facts that an auditor needs."""
    facts = {"leaks": list(release.leaks), "charge": release.charge, "version": release.version}
    return json.dumps(content | facts, ensure_ascii=False)


def restore(text: str, what: str, fill: Callable[[Any], None]) -> None:
    """Fills a model from its JSON, or from a whole release of it, as a ledger keeps it.

    Raises:
        ParameterError: if the text is not what `to_json` could have written.
    """
    try:
        if len(text) > MOST_CHARACTERS:
            raise ValueError
        read = json.loads(text)
        if "answer" in read:
            read = read["answer"] | {name: read[name] for name in FACTS}
        fill(read)
    except ParameterError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError):
        raise_alone(ParameterError(f"Expected the JSON of {what}, as to_json() writes it."))


def common_content(model: Any) -> dict[str, Any]:
    """Classes, columns and domains of a fitted model, in plain Python."""
    names = getattr(model, "feature_names_in_", None)
    return {
        "secure": model.secure_,
        "classes": model.classes_.tolist(),
        "features": None if names is None else [str(n) for n in names],
        "domains": [_domain_to_json(d) for d in model.domains_],
    }


def fill_common(model: Any, read: Any) -> None:
    """The opposite of `common_content`."""
    classes = checked_classes(read["classes"])
    domains = [_domain_from_json(d) for d in read["domains"]]
    names = read["features"]
    if not domains or (
        names is not None and [len(names), *{type(n) for n in names}] != [len(domains), str]
    ):
        raise ValueError
    model.classes_ = class_array(classes.values)
    model.domains_ = domains
    model.n_features_in_ = len(domains)
    if names is not None:
        model.feature_names_in_ = np.asarray(names, dtype=object)
    model.secure_ = bool(read["secure"])


def checked_integers(values: Any, dimensions: int = 1) -> IntArray:
    """An array of integers of so many dimensions, or a `ValueError`."""
    array = np.array(values)
    if array.size == 0 and dimensions == 1:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind != "i" or array.ndim != dimensions:
        raise ValueError
    return array.astype(np.int64)


def checked_text(value: Any) -> str:
    """Text of a bearable length, or a `ValueError`."""
    if not isinstance(value, str) or len(value) > 1000:
        raise ValueError
    return value


def _domain_to_json(domain: Domain) -> dict[str, Any]:
    if isinstance(domain, Bins):
        return {"edges": list(domain.edges), "missing": domain.missing}
    return {"values": list(domain.values), "ordered": domain.ordered}


def _domain_from_json(fields: Any) -> Domain:
    if "edges" in fields:
        return Bins(fields["edges"], fields["missing"])
    if not isinstance(fields["values"], list) or not isinstance(fields["ordered"], bool):
        raise ValueError
    return Categories(tuple(fields["values"]), ordered=fields["ordered"])
