"""A condition as SQL, where an engine surely keeps the same rows as `dampen.data.expressions`.

Only comparisons of columns with literals and with columns are handed over, never arithmetic:
engines differ in what they do about overflow and division by zero.  Three facts make the rest
equal.  Numbers are compared as doubles, and NaN, which engines call equal to itself, is made null
first.  Text is compared by its bytes in UTF-8, whose order is that of code points.  And a
comparison with null is false, not unknown, so that `not` means the same.

What is not surely equal, such as a column of another type, gives no SQL: those rows are filtered as
they come.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dampen.data.expressions import (
    Column,
    Comparison,
    Expression,
    Logic,
    Membership,
    Missing,
    Node,
    Number,
    Text,
)
from dampen.data.source import Field

__all__ = ["SqlTerms", "condition_sql", "double_literal", "whole_literal"]

LARGEST_WHOLE = 2**53


@dataclass(frozen=True)
class SqlTerms:
    """How an engine writes what a condition is made of; {x} is the quoted name of a column.

    Attributes:
        quoted: the name of a column as SQL.
        whole: types of whole numbers.
        floats: types of floats.
        text: types of text.
        whole_number: the SQL of a whole number as a double, null if it is missing.
        float_number: the SQL of a float as a double, null if it is missing or NaN.
        text_bytes: the SQL of a text that is compared by its bytes.
        number: the SQL of a literal double; None if the engine might read it in another way.
        literal: the SQL of a literal text, with {x} for its quoted characters.
        orders_text: whether texts may be compared by their order.
    """

    quoted: Callable[[str], str]
    whole: frozenset[str]
    floats: frozenset[str]
    text: frozenset[str]
    whole_number: str
    float_number: str
    text_bytes: str
    number: Callable[[float], str | None]
    literal: str
    orders_text: bool = True


class _NoSql(Exception):
    """The condition has a part that SQL might see in another way."""


def condition_sql(condition: Expression, fields: Sequence[Field], terms: SqlTerms) -> str | None:
    """A fitted condition as SQL that is true or false, never null; None where that is not sure."""
    writer = _Writer({field.name: field for field in fields}, condition, terms)
    try:
        return writer.condition(condition.node)
    except _NoSql:
        return None


@dataclass(frozen=True)
class _Writer:
    fields: Mapping[str, Field]
    expression: Expression
    terms: SqlTerms

    def condition(self, node: Node) -> str:
        if isinstance(node, Logic):
            parts = [self.condition(part) for part in node.parts]
            return (
                f"(not {parts[0]})" if node.word == "not" else f"({f' {node.word} '.join(parts)})"
            )
        if isinstance(node, Comparison):
            return self._comparison(node)
        if isinstance(node, Membership):
            return self._membership(node)
        assert isinstance(node, Missing)
        return self._missing(node)

    def _comparison(self, node: Comparison) -> str:
        symbol = "=" if node.symbol == "==" else node.symbol
        if symbol != "=" and not self.terms.orders_text and self._is_text(node.left, node.right):
            raise _NoSql
        return f"coalesce({self._term(node.left)} {symbol} {self._term(node.right)}, false)"

    def _membership(self, node: Membership) -> str:
        if not node.listed:
            raise _NoSql
        listed = ", ".join(self._term(each) for each in node.listed)
        return f"coalesce({self._term(node.what)} in ({listed}), false)"

    def _missing(self, node: Missing) -> str:
        term = self._term(node.what)
        if self._is_text(node.what):
            return f"coalesce({term} = {self._literal('')}, true)"
        return f"({term} is null)"

    def _is_text(self, *nodes: Node) -> bool:
        kinds = self.expression.kinds
        return any(isinstance(each, Column) and kinds[each.name] == "text" for each in nodes)

    def _term(self, node: Node) -> str:
        if isinstance(node, Column):
            return self._column(node)
        if isinstance(node, Number):
            number = self.terms.number(node.value)
            if number is None:
                raise _NoSql
            return number
        if isinstance(node, Text):
            return self._literal(node.value)
        raise _NoSql

    def _column(self, node: Column) -> str:
        kind = self.expression.kinds[node.name]
        declared = self.fields[node.name].type or ""
        quoted = self.terms.quoted(node.name)
        if kind == "numbers" and declared in self.terms.whole:
            return self.terms.whole_number.replace("{x}", quoted)
        if kind == "numbers" and declared in self.terms.floats:
            return self.terms.float_number.replace("{x}", quoted)
        if kind == "text" and declared in self.terms.text:
            return self.terms.text_bytes.replace("{x}", quoted)
        raise _NoSql

    def _literal(self, text: str) -> str:
        if not text.isprintable() or "\\" in text:
            raise _NoSql
        escaped = text.replace("'", "''")
        return self.terms.literal.replace("{x}", f"'{escaped}'")


def double_literal(number: float) -> str:
    """A float as SQL of DuckDB and Spark: a bare 0.1 would be a decimal."""
    return f"cast('{float(number)!r}' as double)"


def whole_literal(number: float) -> str | None:
    """A whole number, for an engine that might read decimals in another way."""
    whole = number == int(number) and abs(number) < LARGEST_WHOLE
    return str(int(number)) if whole else None
