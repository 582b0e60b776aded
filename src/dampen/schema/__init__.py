"""The public facts of a data set, and the one grammar in which they are written."""

from dampen.schema.grammar import format_schema, load_schema, parse_schema
from dampen.schema.schema import Categories, Column, Graph, Names, Numbers, Schema

__all__ = [
    "Categories",
    "Column",
    "Graph",
    "Names",
    "Numbers",
    "Schema",
    "format_schema",
    "load_schema",
    "parse_schema",
]
