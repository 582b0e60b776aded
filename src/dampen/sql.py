"""One SQL statement is one private question: `SELECT ... ORDER BY MEDIAN(days) DESC LIMIT 1`.

A statement is parsed (by `sqlglot`, in the extra `dampen[sql]`) and never run.  What it means is
read off its clauses:

| statement | question |
|---|---|
| `SELECT g ... GROUP BY g ORDER BY COUNT(*) DESC LIMIT k` | most-frequent |
| `SELECT g ... GROUP BY g ORDER BY MEDIAN(x) DESC LIMIT k`, also AVG, SUM | top-groups |
| `SELECT g ... GROUP BY g HAVING MEDIAN(x) >= t`, or `> t` | groups-above |
| `SELECT MEDIAN(x) ...`, also by group | percentile |
| `SELECT COUNT(*) ...`, also by group | count |
| `SELECT SUM(x) ...`, `SELECT AVG(x) ...`, also by group | total, mean |

MEDIAN(x) may be any `PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)`, or `QUANTILE_CONT(x, 0.9)`,
and x may be a formula.  COUNT(x) counts the rows in which x is not missing; COUNT(*) FILTER (WHERE
c), COUNT_IF(c) and SUM(CASE WHEN c THEN 1 ELSE 0 END) those of which c holds, and AVG(CASE WHEN c
THEN 1 ELSE 0 END) is their share.

Whatever else stands in a statement is refused before anything is charged, by a sentence that names
the clause.  Of several groups LIMIT k gives the set of the k best, in their public order.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dampen.data.expressions import RESERVED
from dampen.epsilon import decimal_text
from dampen.errors import ParameterError, did_you_mean, raise_alone

if TYPE_CHECKING:
    from sqlglot import exp

    from dampen.schema import Schema

__all__ = ["Statement", "parse"]

DIALECT = "duckdb"
LONGEST = 10_000
"""Characters of a statement."""
DEEPEST = 200
"""Levels of an expression: recursion stays far from Python's limit."""
CLAUSES = {"expressions", "from_", "where", "group", "having", "order", "limit"}
CLAUSE_NAMES = {
    "joins": "JOIN",
    "with_": "WITH",
    "offset": "OFFSET",
    "qualify": "QUALIFY",
    "laterals": "LATERAL",
    "into": "INTO",
    "sample": "TABLESAMPLE",
    "windows": "WINDOW",
}
ORDERED = {"this", "desc"}
"""What ORDER BY may hold."""
NEAREST = (
    "Ask for a count, a sum, a mean, a percentile, the largest groups (ORDER BY ... LIMIT) or the "
    "groups above a threshold (HAVING) of one data set."
)


@dataclass(frozen=True, slots=True)
class Statement:
    """What a statement asks; public parameters alone.

    Attributes:
        dataset: the name after FROM.
        question: the name of the question.
        stated: its parameters.
        epsilon: what OPTIONS states, if anything.
        delta: likewise.
        unit: likewise, `privacy_unit_column`.
        counted: the column of COUNT(DISTINCT column), which has to be that unit.
        renamed: the columns that GROUP BY names by another name, by that name.
    """

    dataset: str
    question: str
    stated: Mapping[str, Any]
    epsilon: str | None = None
    delta: str | None = None
    unit: str | None = None
    counted: str | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)

    def offered(self, epsilon: Any, rho: Any) -> Any:
        """The ε to pay: the one beside the statement, or the one in its OPTIONS.

        Raises:
            ParameterError: if both are stated.
        """
        if self.epsilon is None:
            return epsilon
        if epsilon is not None or rho is not None:
            raise ParameterError("Expected epsilon once: beside the statement, or in OPTIONS.")
        return self.epsilon

    def about(self, schema: "Schema", delta: Any = None) -> "Statement":
        """The same about a data set, its columns as declared: SQL does not tell Days from days.

        Args:
            schema: the public facts of the data set.
            delta: what may be spent on finding values, beside the statement; it is left alone where
                the data set lists them.

        Raises:
            ParameterError: if OPTIONS names another unit than the data set protects, δ is stated
                twice, or nobody stated in how many groups a person counts once.
        """
        if delta is not None and self.delta is not None:
            raise ParameterError("Expected delta once: beside the statement, or in OPTIONS.")
        self._check_counted(schema)
        if self.unit is not None and self.unit != schema.unit:
            raise ParameterError(
                f"privacy_unit_column is {self.unit!r}, and the data set protects one "
                f"{schema.unit}. Leave it out."
            )
        folded = {name.lower(): name for name in schema.columns}
        folded |= {name: name for name in schema.columns}
        self._check_renamed(folded)
        known = {key: self.stated[key] for key in ("value", "by") if key in self.stated}
        declared = {key: _declared(value, folded) for key, value in known.items()}
        stated = {**self.stated, **declared}
        offered = self.delta if delta is None else delta
        if _finds_values(self.question, stated, schema):
            if offered is None:
                _check_undeclared(self.question, stated, schema)
            else:
                stated["delta"] = offered
        return replace(self, stated=stated)

    def _check_renamed(self, folded: Mapping[str, str]) -> None:
        """Refuses GROUP BY name where SQL would take the column of that name, not the alias."""
        for alias, column in self.renamed.items():
            if alias in folded and _declared(column, folded) != folded[alias]:
                raise ParameterError(
                    f"GROUP BY {alias} can mean the column {folded[alias]!r}, or {column!r}, which "
                    "SELECT calls so. Give it another name."
                )

    def _check_counted(self, schema: "Schema") -> None:
        if self.counted is not None and self.counted.lower() != schema.unit.lower():
            raise ParameterError(
                f"COUNT(DISTINCT {self.counted}) cannot be asked privately here: DISTINCT counts "
                "the persons that epsilon protects, and this data set protects one "
                f"{schema.unit}. {NEAREST}"
            )
        shared = self.counted and self.question == "count" and self.stated.get("by")
        if shared and schema.groups_per_unit is None:
            raise ParameterError(
                f"COUNT(DISTINCT {self.counted}) counts a person once in every group, and nobody "
                "stated in how many. State groups_per_unit among the facts of the data set, the "
                "number of groups in which a person counts in full; or ask for COUNT(*), in which "
                "one in several groups counts in part in each."
            )


def _finds_values(question: str, stated: Mapping[str, Any], schema: "Schema") -> bool:
    """Whether the groups or categories are none that the data set lists."""
    grouped = stated.get("value" if question == "most-frequent" else "by")
    if grouped is None:
        return False
    names = grouped if isinstance(grouped, list) else [grouped]
    return not all(getattr(schema.columns.get(name), "values", ()) for name in names)


def _check_undeclared(question: str, stated: Mapping[str, Any], schema: "Schema") -> None:
    """Refuses groups that the data set declares without their values, if nothing finds them.

    Raises:
        ParameterError: if they are.
    """
    grouped = stated["value" if question == "most-frequent" else "by"]
    names = grouped if isinstance(grouped, list) else [grouped]
    if all(name in schema.columns for name in names):
        raise ParameterError(
            f"The data set does not list the values of {', '.join(names)}. Pass delta=, such as "
            "'1e-6': a share of epsilon then finds them. Or list them among its facts."
        )


def parse(statement: str) -> Statement:
    """The question that a statement asks.

    Raises:
        ParameterError: if it is no SQL, or asks what no private question answers; nothing was
            charged and no data was read.

    >>> asked = parse("SELECT ward FROM stays GROUP BY ward ORDER BY MEDIAN(days) DESC LIMIT 1")
    >>> asked.question, dict(asked.stated)
    ('top-groups', {'value': 'days', 'by': 'ward', 'statistic': 'median'})
    """
    if not isinstance(statement, str) or not statement.strip():
        raise ParameterError("Expected a statement of SQL, such as SELECT COUNT(*) FROM stays.")
    if len(statement) > LONGEST:
        raise ParameterError(f"Expected a statement of at most {LONGEST:,} characters.")
    bare, options = _without_options(statement)
    select = _select(bare)
    _refuse_other_clauses(select)
    _refuse_other_tables(select)
    clauses = _Clauses.of(select)
    question, stated = clauses.question()
    wheres = [each for each in (clauses.where, clauses.filter) if each]
    if wheres:
        stated["where"] = wheres[0] if len(wheres) == 1 else f"({' and '.join(wheres)})"
    return Statement(
        clauses.dataset,
        question,
        stated,
        options.get("epsilon"),
        options.get("delta"),
        options.get("privacy_unit_column"),
        clauses.counted,
        _renamed(select),
    )


def _declared(value: Any, folded: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_declared(each, folded) for each in value]
    return folded.get(value, folded.get(value.lower(), value))


def _select(statement: str) -> "exp.Select":
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        found = [each for each in sqlglot.parse(statement, read=DIALECT) if each is not None]
    except (SqlglotError, RecursionError, ValueError):
        raise_alone(
            ParameterError(f"Expected one statement of SQL; this cannot be read. {NEAREST}")
        )
    if len(found) != 1:
        raise ParameterError(f"Expected one statement, got {len(found)}.")
    [select] = found
    if not isinstance(select, exp.Select):
        known = isinstance(select, exp.DDL | exp.DML | exp.Drop | exp.Query)
        got = f", got {_word(select)}" if known else ""
        raise ParameterError(f"Expected a SELECT statement{got}. {NEAREST}")
    if _depth(select) > DEEPEST:
        raise ParameterError("Expected a statement with fewer nested parts.")
    return select


def _depth(node: "exp.Expression") -> int:
    deepest = 0
    stack = [(node, 1)]
    while stack:
        each, depth = stack.pop()
        deepest = max(deepest, depth)
        stack += [(child, depth + 1) for child in each.iter_expressions()]
    return deepest


def _refuse_other_clauses(select: "exp.Select") -> None:
    if select.args.get("distinct"):
        raise ParameterError(
            "DISTINCT cannot be asked privately here. Ask for counts, SELECT column, COUNT(*) ... "
            "GROUP BY column, with a delta: they find the values that enough rows have."
        )
    for name, value in select.args.items():
        if value and name not in CLAUSES:
            clause = CLAUSE_NAMES.get(name, name.strip("_").upper())
            raise _not_private(clause)


def _refuse_other_tables(select: "exp.Select") -> None:
    """Refuses columns of a table that is not the one after FROM."""
    from sqlglot import exp

    dataset = _dataset(select)
    known = {dataset.lower(), select.args["from_"].this.alias_or_name.lower()}
    for column in select.find_all(exp.Column):
        if column.table and column.table.lower() not in known:
            raise ParameterError(f"Expected a column of {dataset}, got {_shown(column)}.")


COUNTED = ("count", "people")
"""Aggregates that count: COUNT(*), and COUNT(DISTINCT person)."""


@dataclass(frozen=True, slots=True)
class _Aggregate:
    """An aggregate of a column: count, sum, mean, or a percentile with its p; and of which rows."""

    name: str
    value: str = ""
    p: str | None = None
    where: str = ""

    def statistic(self) -> dict[str, Any]:
        """As parameters of a question about groups."""
        if self.name != "percentile":
            return {"statistic": self.name}
        return {"statistic": "median"} if self.p == "50" else {"p": self.p}


@dataclass(frozen=True, slots=True)
class _Clauses:
    """The parts of a statement, read."""

    dataset: str
    keys: Sequence[str]
    listed: Sequence[str]
    aggregates: Sequence[_Aggregate]
    where: str
    having: "tuple[_Aggregate, str, str] | None"
    order: "tuple[_Aggregate, bool] | None"
    limit: int | None

    @classmethod
    def of(cls, select: "exp.Select") -> "_Clauses":
        items = [_item(each) for each in select.expressions]
        listed = [item for _, item in items if isinstance(item, str)]
        aggregates = [item for _, item in items if isinstance(item, _Aggregate)]
        where = select.args.get("where")
        return cls(
            _dataset(select),
            _keys(select, items, listed),
            listed,
            aggregates,
            "" if where is None else _condition(where.this),
            _having(select),
            _order(select, items),
            _limit(select),
        )

    def question(self) -> tuple[str, dict[str, Any]]:
        """The name of the question and its parameters, without the filter."""
        keys = {key.lower() for key in self.keys}
        for name in self.listed:
            if name.lower() not in keys:
                raise ParameterError(
                    f"SELECT {name} would show rows. Group by it, or put it into an aggregate."
                )
        if self.having is not None:
            return self._above()
        if self.order is not None or self.limit is not None:
            return self._largest()
        return self._numbers()

    def _above(self) -> tuple[str, dict[str, Any]]:
        assert self.having is not None
        aggregate, compared, threshold = self.having
        self._require(compared in (">=", ">"), "HAVING with > or >=, such as MEDIAN(days) >= 6")
        self._require(bool(self.keys), "GROUP BY before HAVING")
        self._require(
            aggregate.name not in COUNTED,
            "HAVING with a median, mean or percentile. For counts leave HAVING out, and compare "
            "the numbers of all groups with the threshold",
        )
        self._require(not self.aggregates, "SELECT with the group alone beside HAVING")
        self._require(
            self.order is None and self.limit is None, "HAVING without ORDER BY and LIMIT"
        )
        strict = {"strict": True} if compared == ">" else {}
        stated = {"value": aggregate.value, "by": self._by(), "threshold": threshold}
        return "groups-above", stated | aggregate.statistic() | strict

    def _largest(self) -> tuple[str, dict[str, Any]]:
        self._require(
            self.order is not None and self.limit is not None,
            "ORDER BY with LIMIT, which asks for the groups that come first. For the numbers of "
            "all groups leave it out, and sort the answer",
        )
        self._require(bool(self.keys), "GROUP BY with ORDER BY and LIMIT")
        assert self.order is not None
        aggregate, descending = self.order
        k = {} if self.limit == 1 else {"k": self.limit}
        if aggregate.name in COUNTED:
            self._require(descending, "ORDER BY COUNT(*) DESC: the most frequent, not the rarest")
            self._require(len(self.keys) == 1, "one column in GROUP BY beside ORDER BY COUNT(*)")
            self._require(not set(self.aggregates) - {aggregate}, "SELECT with COUNT(*) at most")
            weigh = {} if aggregate.name == "count" else {"weigh": "people"}
            return "most-frequent", {"value": self._by(), **weigh, **k}
        self._require(
            not self.aggregates,
            f"SELECT {', '.join(self.keys)}, the group alone: which groups are first is one "
            "question, and their numbers are another",
        )
        smallest = {} if descending else {"smallest": True}
        stated = {"value": aggregate.value, "by": self._by()}
        return "top-groups", stated | aggregate.statistic() | smallest | k

    def _numbers(self) -> tuple[str, dict[str, Any]]:
        self._require(bool(self.aggregates), "an aggregate after SELECT, such as COUNT(*)")
        first = self.aggregates[0]
        by = {"by": self._by()} if self.keys else {}
        if first.name == "percentile":
            same = all(
                each.name == "percentile" and each.value == first.value for each in self.aggregates
            )
            self._require(same, "percentiles of one column")
            points = [each.p for each in self.aggregates]
            return "percentile", {
                "value": first.value,
                "p": points if len(points) > 1 else points[0],
                **by,
            }
        self._require(
            len(self.aggregates) == 1,
            "one aggregate; each is a question of its own, with its own price. Write a statement "
            "for each",
        )
        if first.name in COUNTED:
            return "count", by if first.name == "count" else {**by, "weigh": "people"}
        return {"sum": "total", "mean": "mean"}[first.name], {"value": first.value, **by}

    @property
    def filter(self) -> str:
        """Of which rows the aggregates are, beside WHERE.

        Raises:
            ParameterError: if they are of different rows.
        """
        stated = [*self.aggregates, *([self.order[0]] if self.order else [])]
        if self.having is not None:
            stated.append(self.having[0])
        filters = {each.where for each in stated}
        self._require(len(filters) < 2, "aggregates of the same rows; a statement for each of them")
        return "".join(filters)

    @property
    def counted(self) -> str | None:
        """The column of COUNT(DISTINCT column)."""
        stated = [*self.aggregates, *([self.order[0]] if self.order else [])]
        return next((each.value for each in stated if each.name == "people"), None)

    def _by(self) -> Any:
        return self.keys[0] if len(self.keys) == 1 else list(self.keys)

    @staticmethod
    def _require(holds: bool, wanted: str) -> None:
        if not holds:
            raise ParameterError(f"Expected {wanted}. Nothing was charged.")


def _dataset(select: "exp.Select") -> str:
    from sqlglot import exp

    origin = select.args.get("from_")
    table = None if origin is None else origin.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise ParameterError("Expected FROM with the name of one data set.")
    if any(value for key, value in table.args.items() if key not in ("this", "alias")):
        raise ParameterError("Expected FROM with the plain name of one data set.")
    alias = table.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise ParameterError("FROM with other names of columns cannot be asked privately here.")
    return str(table.name)


def _item(node: "exp.Expression") -> "tuple[str, str | _Aggregate]":
    """What stands after SELECT: its alias, and a column or an aggregate."""
    from sqlglot import exp

    alias = ""
    if isinstance(node, exp.Alias):
        alias = node.alias
        node = node.this
    if isinstance(node, exp.Column):
        return alias, _column(node)
    return alias, _aggregate(node)


def _keys(
    select: "exp.Select", items: "Sequence[tuple[str, str | _Aggregate]]", listed: Sequence[str]
) -> list[str]:
    from sqlglot import exp

    group = select.args.get("group")
    if group is None:
        return []
    others = [
        name for name, value in group.args.items() if value and name not in ("expressions", "all")
    ]
    if others:
        raise ParameterError(f"GROUP BY with {others[0].upper()} cannot be asked privately here.")
    if group.args.get("all"):
        if group.expressions:
            raise ParameterError("Expected GROUP BY with ALL alone, or with the names of columns.")
        return list(listed)
    keys: list[str] = []
    for node in group.expressions:
        named = _referred(node, items)
        if named is None and isinstance(node, exp.Column):
            named = _column(node)
        if not isinstance(named, str):
            raise ParameterError("Expected GROUP BY with the names of columns.")
        keys.append(named)
    return keys


def _renamed(select: "exp.Select") -> dict[str, str]:
    """The columns that GROUP BY names by an alias, by that alias in lower case."""
    from sqlglot import exp

    group = select.args.get("group")
    named = [] if group is None else group.expressions
    grouped = {node.name.lower() for node in named if isinstance(node, exp.Column)}
    aliased = (node for node in select.expressions if isinstance(node, exp.Alias))
    return {
        node.alias.lower(): node.this.name
        for node in aliased
        if isinstance(node.this, exp.Column) and node.alias.lower() in grouped
    }


def _referred(
    node: "exp.Expression", items: "Sequence[tuple[str, str | _Aggregate]]"
) -> "str | _Aggregate | None":
    """What a place (GROUP BY 1) or an alias (ORDER BY n) stands for."""
    from sqlglot import exp

    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdecimal():
        place = int(node.this)
        if not 1 <= place <= len(items):
            raise ParameterError(f"Expected a place from 1 to {len(items)}, got {place}.")
        return items[place - 1][1]
    if isinstance(node, exp.Column) and not node.table:
        for alias, item in items:
            if alias and alias.lower() == node.name.lower():
                return item
    return None


def _having(select: "exp.Select") -> "tuple[_Aggregate, str, str] | None":
    from sqlglot import exp

    having = select.args.get("having")
    if having is None:
        return None
    compared = {exp.GTE: ">=", exp.GT: ">", exp.LTE: "<=", exp.LT: "<"}
    kind = compared.get(type(having.this))
    if kind is None:
        raise ParameterError("Expected HAVING with one comparison, such as MEDIAN(days) >= 6.")
    return _aggregate(having.this.this), kind, _number(having.this.expression)


def _order(
    select: "exp.Select", items: "Sequence[tuple[str, str | _Aggregate]]"
) -> "tuple[_Aggregate, bool] | None":
    from sqlglot import exp

    order = select.args.get("order")
    if order is None:
        return None
    if len(order.expressions) != 1:
        raise ParameterError("Expected ORDER BY with one aggregate.")
    ordered = _ordered(order)
    found = _referred(ordered.this, items)
    if found is None and not isinstance(ordered.this, exp.Column):
        found = _aggregate(ordered.this)
    if not isinstance(found, _Aggregate):
        raise ParameterError(
            "Expected ORDER BY with an aggregate, such as MEDIAN(days). To have groups in another "
            "order leave it out, and sort the answer."
        )
    return found, bool(ordered.args.get("desc"))


def _ordered(order: "exp.Order") -> "exp.Expression":
    """What stands after ORDER BY.  A group without a value is never first here."""
    [ordered] = order.expressions
    others = [name for name, value in ordered.args.items() if value and name not in ORDERED]
    if others:
        clause = others[0].replace("_", " ").upper()
        raise ParameterError(f"ORDER BY with {clause} cannot be asked privately here. {NEAREST}")
    return ordered


def _limit(select: "exp.Select") -> int | None:
    from sqlglot import exp

    limit = select.args.get("limit")
    if limit is None:
        return None
    count = limit.args.get("expression")
    if not isinstance(limit, exp.Limit) or not isinstance(count, exp.Literal) or count.is_string:
        raise ParameterError("Expected LIMIT with a whole number.")
    if any(value for name, value in limit.args.items() if name != "expression"):
        raise ParameterError("Expected LIMIT with a whole number and nothing else.")
    if not count.this.isdecimal() or len(count.this) > 9 or int(count.this) < 1:
        raise ParameterError("Expected LIMIT with a whole number of at least 1.")
    return int(count.this)


def _aggregate(node: "exp.Expression") -> _Aggregate:
    from sqlglot import exp

    found = _counting(node) or _of_values(node)
    if found is not None:
        return found
    if isinstance(node, exp.Max | exp.Min):
        share = "0.99" if isinstance(node, exp.Max) else "0.01"
        raise ParameterError(
            f"One row decides {_shown(node)}, so no private answer is near it. Ask for "
            f"PERCENTILE_CONT({share}) WITHIN GROUP (ORDER BY {node.this.sql()})."
        )
    parts: list[Any] = list(node.find_all(exp.AggFunc))
    inner = next((each for each in parts if each is not node), None)
    if inner is not None and not isinstance(node, exp.Window):
        raise ParameterError(
            f"Expected an aggregate alone, got {_shown(node)}. Ask for {_shown(inner)}, and "
            "calculate with the answer."
        )
    if node.find(exp.DateTrunc, exp.TimestampTrunc, exp.Extract, exp.Year, exp.Month):
        raise ParameterError(
            f"{_shown(node)} cannot be asked privately here. For counts by month ask in Python for "
            "a histogram of the column, with the first days of the months as bins=."
        )
    raise _not_private(_shown(node))


def _counting(node: "exp.Expression") -> _Aggregate | None:
    """An aggregate that counts rows, or is of some rows; None for any other one."""
    from sqlglot import exp

    match node:
        case exp.Filter():
            return _filtered(node)
        case exp.Count():
            return _count(node)
        case exp.CountIf():
            return _Aggregate("count", where=_condition(node.this))
        case exp.Sum(this=exp.Case() as case):
            where = _one_where(case, ("0", None))
            return _Aggregate("count", where=where) if where else None
    return None


def _of_values(node: "exp.Expression") -> _Aggregate | None:
    """An aggregate of a column or a formula; None for any other one."""
    from sqlglot import exp

    match node:
        case exp.Sum():
            return _Aggregate("sum", _value(node.this))
        case exp.Avg():
            return _Aggregate("mean", _one_where(node.this, ("0",)) or _value(node.this))
        case exp.Median():
            return _Aggregate("percentile", _value(node.this), "50")
        case exp.WithinGroup():
            return _within_group(node)
        case exp.PercentileCont() | exp.PercentileDisc() if node.args.get("expression"):
            return _Aggregate("percentile", _value(node.this), _percent(node.expression))
    return None


def _filtered(node: "exp.Filter") -> _Aggregate:
    """An aggregate with FILTER (WHERE ...)."""
    found = _aggregate(node.this)
    wheres = [each for each in (found.where, _condition(node.expression.this)) if each]
    return replace(found, where=" and ".join(wheres))


def _count(node: "exp.Count") -> _Aggregate:
    """COUNT(*) or COUNT(1), of a column, of a CASE, or of DISTINCT persons."""
    from sqlglot import exp

    match node.this:
        case exp.Star() | exp.Literal() if not node.expressions:
            return _Aggregate("count")
        case exp.Distinct(expressions=[exp.Column() as person]):
            return _Aggregate("people", _column(person))
        case exp.Column() as column:
            return _Aggregate("count", where=f"(not ({_name(_column(column))} is missing))")
        case exp.Case() as case if where := _one_where(case, (None,)):
            return _Aggregate("count", where=where)
    raise _not_private(_shown(node))


def _one_where(node: Any, otherwise: tuple[str | None, ...]) -> str:
    """The condition c of CASE WHEN c THEN 1 ELSE 0 END; nothing of other expressions.

    Args:
        node: the expression.
        otherwise: what may stand after ELSE; None where there may be no ELSE.
    """
    from sqlglot import exp

    if not isinstance(node, exp.Case) or node.this is not None or len(node.args["ifs"]) != 1:
        return ""
    [branch] = node.args["ifs"]
    default = node.args.get("default")
    if not _is_literal(branch.args.get("true"), ("1",)) or not _is_literal(default, otherwise):
        return ""
    return _condition(branch.this)


def _is_literal(node: Any, texts: tuple[str | None, ...]) -> bool:
    from sqlglot import exp

    if node is None:
        return None in texts
    return isinstance(node, exp.Literal) and not node.is_string and node.this in texts


def _value(node: Any) -> str:
    """A column, or a formula of columns."""
    from sqlglot import exp

    while isinstance(node, exp.Paren):
        node = node.this
    if type(node).__name__ not in ARITHMETIC or not node.find(exp.Column):
        return _column(node)
    return _amount(node)


def _not_private(clause: str) -> ParameterError:
    return ParameterError(f"{clause} cannot be asked privately here. {NEAREST}")


def _within_group(node: "exp.WithinGroup") -> _Aggregate:
    from sqlglot import exp

    inner = node.this
    order = node.args.get("expression")
    if (
        not isinstance(inner, exp.PercentileCont | exp.PercentileDisc)
        or inner.args.get("expression")
        or not isinstance(order, exp.Order)
        or len(order.expressions) != 1
    ):
        raise ParameterError("Expected PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY column).")
    ordered = _ordered(order)
    share = Fraction(_percent(inner.this))
    p = 100 - share if ordered.args.get("desc") else share
    return _Aggregate("percentile", _value(ordered.this), decimal_text(p) if p else "0")


def _percent(node: "exp.Expression") -> str:
    """A share such as 0.95 as the percentile 95."""
    share = Fraction(_number(node))
    if not 0 <= share <= 1:
        raise ParameterError("Expected a percentile as a share from 0 to 1, such as 0.95.")
    return decimal_text(100 * share) if share else "0"


def _number(node: "exp.Expression | None") -> str:
    from sqlglot import exp

    sign = ""
    if isinstance(node, exp.Neg):
        sign = "-"
        node = node.this
    if isinstance(node, exp.Literal) and not node.is_string:
        text = f"{sign}{node.this}"
        try:
            Fraction(text)
        except (ValueError, ZeroDivisionError):
            pass
        else:
            return text
    raise ParameterError(f"Expected a number, got {_shown(node)}.")


def _column(node: "exp.Expression | None") -> str:
    from sqlglot import exp

    if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier):
        if node.args.get("db") or node.args.get("catalog"):
            raise ParameterError("Expected the plain name of a column.")
        return str(node.name)
    raise ParameterError(f"Expected the name of a column, got {_shown(node)}.")


ARITHMETIC = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}
COMPARED = {"EQ": "==", "NEQ": "!=", "GT": ">", "GTE": ">=", "LT": "<", "LTE": "<="}
OPPOSITE = {"==": "!=", "!=": "==", ">": "<=", ">=": "<", "<": ">=", "<=": ">"}
JOINED = {"And": ("and", "or"), "Or": ("or", "and")}
"""What sqlglot calls an operation, and how `dampen.data.expressions` writes it."""


def _condition(node: Any, *, negated: bool = False) -> str:
    """A condition of SQL in the language of `where=`.

    To SQL a comparison with a missing value is neither true nor false, and so is its negation.  In
    `where=` it is false, and "not" and "!=" of it are true.  Both leave out the same rows if NOT is
    moved inwards, to the comparisons, and "!=" asks for values on both sides.
    """
    from sqlglot import exp

    kind = type(node).__name__
    if kind in JOINED:
        word = JOINED[kind][negated]
        parts = (_condition(each, negated=negated) for each in (node.this, node.expression))
        return f"({f' {word} '.join(parts)})"
    if kind in COMPARED:
        compared = OPPOSITE[COMPARED[kind]] if negated else COMPARED[kind]
        sides = f"{_amount(node.this)} {compared} {_amount(node.expression)}"
        return f"({_present(node)}{sides})" if compared == "!=" else f"({sides})"
    if isinstance(node, exp.Paren | exp.Not):
        return _condition(node.this, negated=negated != isinstance(node, exp.Not))
    return _special(node, negated=negated)


def _special(node: Any, *, negated: bool) -> str:
    """BETWEEN, IN and IS NULL."""
    from sqlglot import exp

    of = _amount(node.this) if isinstance(node, exp.Between | exp.In | exp.Is) else ""
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        low, high = _amount(node.args["low"]), _amount(node.args["high"])
        outside = f"({of} < {low} or {of} > {high})"
        return outside if negated else f"({of} >= {low} and {of} <= {high})"
    if isinstance(node, exp.In) and node.expressions:
        listed = [_amount(each) for each in node.expressions]
        if negated:
            return f"({_present(node)}" + " and ".join(f"{of} != {each}" for each in listed) + ")"
        return f"({of} in [{', '.join(listed)}])"
    if isinstance(node, exp.Column):  # SQL's truth is of columns that hold truth values
        return f"({_name(_column(node))} == {'false' if negated else 'true'})"
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Boolean):
        compared = f"({of} == {_amount(node.expression)})"
        return f"(not {compared})" if negated else compared
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return f"(not ({of} is missing))" if negated else f"({of} is missing)"
    raise ParameterError(f"WHERE cannot hold {_shown(node)}. {_WHERE}")


def _present(node: Any) -> str:
    """That no column of a comparison is missing, to stand before it."""
    from sqlglot import exp

    names = dict.fromkeys(_name(_column(each)) for each in node.find_all(exp.Column))
    return "".join(f"not ({name} is missing) and " for name in names)


def _amount(node: Any) -> str:
    """A column, a literal or arithmetic with them."""
    from sqlglot import exp

    kind = type(node).__name__
    if kind in ARITHMETIC:
        return f"({_amount(node.this)} {ARITHMETIC[kind]} {_amount(node.expression)})"
    match node:
        case exp.Paren():
            return _amount(node.this)
        case exp.Neg():
            return f"(-{_amount(node.this)})"
        case exp.Column():
            return _name(_column(node))
    return _literal(node)


def _literal(node: Any) -> str:
    from sqlglot import exp

    match node:
        case exp.Boolean():
            return "true" if node.this else "false"
        case exp.Literal():
            return _quoted(_without_zone(node.this)) if node.is_string else _number(node)
        case exp.Cast(this=exp.Literal() as text) if text.is_string and _is_moment(node):
            return _quoted(_moment(text.this, node))
    raise ParameterError(f"WHERE cannot hold {_shown(node)}. {_WHERE}")


def _is_moment(cast: "exp.Cast") -> bool:
    """Whether a cast is to dates or times, as in DATE '2024-12-31'."""
    return cast.to.is_type("date", "datetime", "timestamp", "timestamptz", "timestampntz")


def _moment(text: str, cast: "exp.Cast") -> str:
    """A date or a time as it stands; DATE of a time would be its day."""
    if cast.to.is_type("date") and not DATE.fullmatch(text.strip()):
        raise ParameterError(f"Expected a date such as DATE '2024-12-31', got {_shown(cast)}.")
    return text if cast.to.is_type("timestamptz") else _without_zone(text)


def _without_zone(text: str) -> str:
    """A text, unless it is a time of another zone, which SQL ignores in a TIMESTAMP.

    Raises:
        ParameterError: if it is one.
    """
    if ZONED.fullmatch(text.strip()):
        raise ParameterError(
            f"Expected a time without a zone, got {text!r}. Of columns with a zone write "
            f"TIMESTAMPTZ {text!r}."
        )
    return text


_WHERE = "It takes comparisons, AND, OR, NOT, IN, BETWEEN, IS NULL and arithmetic."


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _name(column: str) -> str:
    if "`" in column:
        raise ParameterError("WHERE cannot hold a column whose name has a backtick.")
    bare = column.isidentifier() and column.lower() not in RESERVED
    return column if bare else f"`{column}`"


def _shown(node: "exp.Expression | None") -> str:
    """A part of the statement, shortened; it is the caller's own text."""
    if node is None:
        return "nothing"
    text = node.sql(dialect=DIALECT)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _word(node: Any) -> str:
    return type(node).__name__.upper()


def _without_options(statement: str) -> tuple[str, dict[str, str]]:
    """The statement without OPTIONS(epsilon=...), in BigQuery's place or at the end, and them."""
    try:
        from sqlglot.errors import SqlglotError
        from sqlglot.tokens import Tokenizer
    except ImportError:
        raise ParameterError(
            "Expected sqlglot, which reads statements: pip install 'dampen[sql]'."
        ) from None
    try:
        tokens = Tokenizer(dialect=DIALECT).tokenize(statement)
    except (SqlglotError, ValueError):
        raise_alone(
            ParameterError(f"Expected one statement of SQL; this cannot be read. {NEAREST}")
        )
    words = [token.text.upper() for token in tokens]
    if words[1:4] == ["WITH", "DIFFERENTIAL_PRIVACY", "OPTIONS"]:
        end = _closing(words, 4)
        options = _options(tokens[5:end])
        return statement[: tokens[1].start] + statement[tokens[end].end + 1 :], options
    while words and words[-1] == ";":
        words.pop()
    if words and words[-1] == ")" and "OPTIONS" in words:
        start = len(words) - 1 - words[::-1].index("OPTIONS")
        if _closing(words, start + 1) == len(words) - 1:
            options = _options(tokens[start + 2 : len(words) - 1])
            return statement[: tokens[start].start], options
    return statement, {}


def _closing(words: Sequence[str], start: int) -> int:
    """The place of the parenthesis that closes the one at `start`."""
    if words[start : start + 1] == ["("]:
        for place in range(start + 1, len(words)):
            if words[place] == "(":
                break
            if words[place] == ")":
                return place
    raise ParameterError("Expected OPTIONS(epsilon=...), names and numbers alone.")


DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
ZONED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+\s*[+-](?!00:?00$|00$)[0-9:]+")
"""A time with a distance from UTC."""
NUMBER = re.compile(r"[0-9]*\.?[0-9]+(?:[eE]-?[0-9]+)?")
KNOWN = ("epsilon", "delta", "privacy_unit_column")


def _options(tokens: Sequence[Any]) -> dict[str, str]:
    """Names and values between the parentheses of OPTIONS."""
    parts: list[list[str]] = [[]]
    for i, token in enumerate(tokens):
        if token.text == ",":
            parts.append([])
        else:
            apart = len(parts[-1]) > 2 and tokens[i - 1].end + 1 != token.start
            parts[-1].append(f" {token.text}" if apart else token.text)  # 1 0 is no number
    found: dict[str, str] = {}
    for part in parts:
        value = "".join(part[2:])
        if part[1:2] != ["="] or not (len(part) == 3 or NUMBER.fullmatch(value)):
            raise ParameterError("Expected OPTIONS(epsilon=0.5): names, equal signs and values.")
        name = part[0].lower()
        if name not in KNOWN:
            raise ParameterError(
                f"OPTIONS has no {name!r} here; it takes {', '.join(KNOWN)}."
                f"{did_you_mean(name, KNOWN)}"
            )
        if name in found:
            raise ParameterError(f"Expected {name} once in OPTIONS.")
        found[name] = value
    return found
