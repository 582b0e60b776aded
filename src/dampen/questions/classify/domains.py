"""The domains of a model, from the public facts of columns."""

from collections.abc import Mapping

from dampen.errors import ParameterError
from dampen.questions.classify.encoding import Bins, Categories, Domain
from dampen.schema import columns as facts

__all__ = ["domains_of"]


def domains_of(columns: Mapping[str, facts.Column]) -> dict[str, Domain]:
    """Bins of numbers, and listed values; see `Schema.fact("domains", target)`.

    >>> domains_of({"age": facts.Numbers(0, 9, bins=3)})
    {'age': Bins(edges=(0.0, 3.0, 6.0, 9.0), missing=None)}

    Raises:
        ParameterError: if a column has names of rows, which split nothing, or too many values.
    """
    return {name: _domain(column, name) for name, column in columns.items()}


def _domain(column: facts.Column, name: str) -> Domain:
    match column:
        case facts.Numbers():
            return Bins(column.bin_edges, "own" if column.missing == "own" else None)
        case facts.Categories():
            missing = (None,) if column.missing == "own" else ()
            return Categories((*column.values, *missing))
    raise ParameterError(
        f"Column {name!r} has public names of rows, which predict nothing. Leave it out."
    )
