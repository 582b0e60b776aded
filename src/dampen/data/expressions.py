"""Conditions and formulas over the columns of one row: `where="age >= 65 and ward == 'A'"`.

- `parse_condition`, `parse_formula`: the language.
- `filtered`, `derived`: views of an opened table: some of its rows (`where=`), or one more column
  (a formula).
- `condition_sql`: a condition as SQL, where an engine surely keeps the same rows as Python does.

**The language** is one of its own, read by a recursive descent and never handed to Python:

    condition   = conjunction { "or" conjunction }
    conjunction = negation { "and" negation }
    negation    = "not" negation | comparison
    comparison  = sum { ("==" | "!=" | "<" | "<=" | ">" | ">=") sum }
                | sum ["not"] "in" "[" literal { "," literal } "]"
                | column "is" ["not"] "missing"
    sum         = product { ("+" | "-") product }
    product     = signed { ("*" | "/") signed }
    signed      = "-" signed | literal | column | "(" condition ")"
    literal     = 12.5 | 'text' | "text" | true | false
    column      = a_name | `any name`

**It is total.**  Every row has an outcome: arithmetic with a missing or unreadable number is
missing; a comparison with something missing is false, and so is membership.  `a != b` is
`not (a == b)`, and `not` turns false into true, as in Python and pandas; so `ward != 'A'` holds
where the ward is missing.

**It is row-wise.**  Whether a row is kept depends on that row and on public text alone.  So
neighbours by adding or removing one row stay neighbours, or become equal: whatever is ε-DP for
adding or removing a row is so after a filter, and after a formula.  Where a row is *replaced* this
does not hold, for it may enter or leave.

Numbers are floats of 64 bits.  Text is compared by its code points.  A column is read as text if it
is compared with text, and as numbers if it is compared with numbers or calculated with.  Dates
count in days since 1970; a text that is compared with a column of dates is read as one.  A column
holds dates if its type says so, or the public facts of the data set.  Of a column without a type
that is compared with true or false, texts such as `True` are truth values.  An empty text is
missing.  Words such as `and` may be written in capitals.

**Views** (`FilteredTable`, `DerivedTable`) are `Opened` themselves, so that questions need not know
of them.  What they add is a public function of one row, worked out where the rows are read, after
the charge.  The number of rows that a filter keeps is private: a filtered table has no public
`rows`.

An engine that can filter by itself does so (`Filters`), where its SQL surely keeps the same rows
(`condition_sql`); else rows are filtered as they come.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from itertools import repeat
from typing import Any, Literal, NoReturn, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dampen.core.selection import FloatArray, IntArray
from dampen.data.columns import (
    as_measured,
    as_number,
    as_numbers,
    dotted_date,
    is_arrow,
    parsed_numbers,
)
from dampen.data.source import (
    Batch,
    CellOf,
    Chunk,
    Field,
    Kind,
    Opened,
    PassedOn,
    reading,
    require,
)
from dampen.errors import ParameterError, a_thing

__all__ = [
    "Column",
    "Comparison",
    "DerivedTable",
    "Expression",
    "FilteredTable",
    "Filters",
    "Logic",
    "Membership",
    "Missing",
    "Node",
    "Number",
    "Operation",
    "SqlTerms",
    "Text",
    "condition_sql",
    "derived",
    "double_literal",
    "filtered",
    "is_formula",
    "kept",
    "looks_like_formula",
    "parse_condition",
    "parse_formula",
    "whole_literal",
]


LONGEST = 2000
"""Characters of an expression."""
DEEPEST = 50
"""Nested parentheses and signs."""
MOST_LISTED = 10_000
LARGEST = 1e308
LARGEST_DIGITS = 300
PYTHON: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip

Bools: TypeAlias = NDArray[np.bool_]
As: TypeAlias = Literal["numbers", "text", "dates", "truths", "either"]
"""How a column is read; either: row by row, as a number where it is one."""

DAY = 86_400_000_000
"""Microseconds."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word of an expression, with the place of its first character."""

    kind: Literal["number", "text", "name", "column", "symbol", "end"]
    text: str
    place: int


@dataclass(frozen=True, slots=True)
class Number:
    """A number, or true and false as 1 and 0; one without a point is whole, as in Python."""

    value: int | float
    token: Token


@dataclass(frozen=True, slots=True)
class Text:
    """A literal text."""

    value: str
    token: Token


@dataclass(frozen=True, slots=True)
class Column:
    """The cell of a column."""

    name: str
    token: Token


@dataclass(frozen=True, slots=True)
class Operation:
    """Arithmetic of two numbers."""

    symbol: Literal["+", "-", "*", "/"]
    left: "Node"
    right: "Node"
    token: Token


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two things that are compared; "!=" is a negated "=="."""

    symbol: Literal["==", "<", "<=", ">", ">="]
    left: "Node"
    right: "Node"
    token: Token


@dataclass(frozen=True, slots=True)
class Membership:
    """Whether something is in a public list."""

    what: "Node"
    listed: "tuple[Number | Text, ...]"
    token: Token


@dataclass(frozen=True, slots=True)
class Missing:
    """Whether a cell is missing."""

    what: Column
    token: Token


@dataclass(frozen=True, slots=True)
class Logic:
    """and, or of two conditions; not of one."""

    word: Literal["and", "or", "not"]
    parts: "tuple[Node, ...]"
    token: Token


Node: TypeAlias = Number | Text | Column | Operation | Comparison | Membership | Missing | Logic
CONDITIONS = (Comparison, Membership, Missing, Logic)

TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
      | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<column>`[^`]+`)
      | (?P<name>[^\W\d]\w*)
      | (?P<symbol>==|!=|<=|>=|[<>()+\-*/\[\],])""",
    re.VERBOSE | re.DOTALL,
)
WORDS = ("and", "or", "not", "in", "is", "missing", "true", "false")
RESERVED = frozenset({*WORDS, "none", "null"})
"""Names of columns that stand between backticks."""
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
NO_CELL = "For missing cells write: ward is missing."
INSTEAD = {
    "=": "Write ==.",
    "&": "Write and.",
    "&&": "Write and.",
    "|": "Write or.",
    "||": "Write or.",
    "!": "Write not.",
    "~": "Write not.",
    ".": "A condition cannot call methods of columns. " + NO_CELL,
    "none": NO_CELL,
    "null": NO_CELL,
    "between": "Write: 60 <= age <= 70.",
    "like": "Write a list of values: ward in ['A', 'B'].",
}
"""What to write in place of what other languages have."""
MEANT = re.compile(r"[-+*/`(<>=]|\bin\s*\[|\bis\s+(not\s+)?missing\b", re.IGNORECASE)
"""What a formula has that names of columns hardly have."""
BARE_DATE = re.compile(r"\d{4}-\d\d-\d\d(?!\d)", re.ASCII)
"""Would be read as two subtractions."""


def parse_condition(text: str, name: str = "where") -> "Expression":
    """Reads a condition.

    Args:
        text: what a user wrote.
        name: of the parameter, for errors.

    Raises:
        ParameterError: if it is no condition; the error points at the word that is wrong.
    """
    parser = _Parser(name, _checked_text(text, name))
    node = parser.whole()
    if not isinstance(node, CONDITIONS):
        parser.refuse("a condition, such as age >= 65, not only a value", node.token)
    return Expression(parser.text, name, node, _kinds(node, parser.refuse))


def parse_formula(text: str) -> "Expression":
    """Reads the formula of `value=`, whose outcome is a number, or a condition: true or false.

    Raises:
        ParameterError: if it is none; the error points at the word that is wrong.
    """
    parser = _Parser("value", _checked_text(text, "value"))
    node = parser.whole()
    if not isinstance(node, CONDITIONS):
        parser.number(node)
    return Expression(parser.text, parser.name, node, _kinds(node, parser.refuse))


def is_formula(text: str, opened: Opened) -> bool:
    """Whether a text is a formula: no column is called so, and it calculates or compares."""
    return looks_like_formula(text) and all(field.name != text for field in opened.fields)


def looks_like_formula(text: str) -> bool:
    """Whether a text that is no name of a column calculates or compares."""
    return bool(MEANT.search(text)) and bool(re.search(r"\w", text))


class _Parser:
    """A recursive descent over the tokens of one expression."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.tokens = list(self._split())
        self.at = 0
        self.depth = 0

    def whole(self) -> Node:
        node = self._condition()
        if self.next.kind != "end":
            self._refuse_rest()
        return node

    def _refuse_rest(self) -> NoReturn:
        after_name = self.tokens[self.at - 1].kind == "name"
        if after_name and self.next.text.lower() not in INSTEAD:
            self.refuse("and, or, or the end, or backticks around a name with blanks,", self.next)
        self.refuse("and, or, or the end", self.next)

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def refuse(self, expected: str, token: Token) -> NoReturn:
        """Points at a token.

        Raises:
            ParameterError: always.
        """
        _refuse(self.name, self.text, expected, token)

    def number(self, node: Node) -> Node:
        """Checks that a part can be calculated with."""
        if isinstance(node, (Text, *CONDITIONS)):
            self.refuse("a number or a column", node.token)
        return node

    def condition(self, node: Node) -> Node:
        """Checks that a part is true or false."""
        if not isinstance(node, CONDITIONS):
            self.refuse("a comparison", self.next if node.token.kind == "end" else node.token)
        return node

    def _split(self) -> Iterator[Token]:
        place = 0
        while place < len(self.text):
            if dated := BARE_DATE.match(self.text, place):
                self.refuse("a date in quotes", Token("symbol", dated[0], place))
            found = TOKEN.match(self.text, place)
            if found is None:
                wrong = re.match(r"&&|\|\||.", self.text[place:], re.DOTALL)
                assert wrong is not None
                self.refuse(
                    "a column, a number, a text or a comparison", Token("symbol", wrong[0], place)
                )
            kind = found.lastgroup
            if kind != "space":
                yield Token(kind, found[0], place)  # type: ignore[arg-type]
            place = found.end()
        yield Token("end", "", len(self.text))

    def _word(self, *words: str) -> Token | None:
        """Takes the next token if it is one of these words."""
        token = self.next
        if token.kind in ("name", "symbol") and token.text.lower() in words:
            self.at += 1
            return token
        return None

    def _need(self, word: str) -> Token:
        found = self._word(word)
        if found is None:
            self.refuse(repr(word), self.next)
        return found

    def _condition(self) -> Node:
        node = self._conjunction()
        while token := self._word("or"):
            parts = self.condition(node), self.condition(self._conjunction())
            node = Logic("or", parts, token)
        return node

    def _conjunction(self) -> Node:
        node = self._negation()
        while token := self._word("and"):
            parts = self.condition(node), self.condition(self._negation())
            node = Logic("and", parts, token)
        return node

    def _negation(self) -> Node:
        if token := self._word("not"):
            with_depth = self._deeper(token, self._negation)
            return Logic("not", (self.condition(with_depth),), token)
        return self._comparison()

    def _comparison(self) -> Node:
        first = self._sum()
        if token := self._word("is"):
            return self._missing(first, token)
        negated = self._word("not")
        if token := self._word("in"):
            member = Membership(self._comparable(first), self._list(), token)
            return Logic("not", (member,), negated) if negated else member
        if negated:
            self.refuse("in", self.next)
        found: Node | None = None
        while token := self._word("==", "!=", "<", "<=", ">", ">="):
            second = self._sum()
            one = self._compared(token, self._comparable(first), self._comparable(second))
            found = one if found is None else Logic("and", (found, one), token)
            first = second
        return first if found is None else found

    def _compared(self, token: Token, left: Node, right: Node) -> Node:
        symbol: Any = "==" if token.text == "!=" else token.text
        made = Comparison(symbol, left, right, token)
        return Logic("not", (made,), token) if token.text == "!=" else made

    def _comparable(self, node: Node) -> Node:
        if isinstance(node, CONDITIONS):
            self.refuse("a column, a number or a text to compare", node.token)
        return node

    def _missing(self, what: Node, token: Token) -> Node:
        negated = self._word("not")
        self._need("missing")
        if not isinstance(what, Column):
            self.refuse("a column before 'is missing'", what.token)
        made = Missing(what, token)
        return Logic("not", (made,), token) if negated else made

    def _list(self) -> tuple[Number | Text, ...]:
        opening = self._need("[")
        listed: list[Number | Text] = []
        while not self._word("]"):
            if listed:
                self._need(",")
            node = self._signed()
            if not isinstance(node, Number | Text):
                self.refuse("a number or a text in the list", node.token)
            listed.append(node)
            if len(listed) > MOST_LISTED:
                self.refuse(f"at most {MOST_LISTED:,} values in the list", opening)
        if len({type(each) for each in listed}) > 1:
            self.refuse("a list of numbers or a list of texts", opening)
        return tuple(listed)

    def _sum(self) -> Node:
        node = self._product()
        while token := self._word("+", "-"):
            node = self._operation(token, node, self._product())
        return node

    def _product(self) -> Node:
        node = self._signed()
        while token := self._word("*", "/"):
            node = self._operation(token, node, self._signed())
        return node

    def _operation(self, token: Token, left: Node, right: Node) -> Node:
        symbol: Any = token.text
        self.number(left)
        self.number(right)
        if not (isinstance(left, Number) and isinstance(right, Number)):
            return Operation(symbol, left, right, token)
        if symbol == "/" and right.value == 0:
            self.refuse("a divisor other than 0", token)
        return self._finite(PYTHON[token.text](left.value, right.value), token)

    def _finite(self, value: int | float, token: Token) -> Number:
        if not -LARGEST < value < LARGEST:
            self.refuse("a number below 1e308", token)
        return Number(value, token)

    def _signed(self) -> Node:
        token = self.next
        if self._word("-"):
            node = self._deeper(token, self._signed)
            if isinstance(node, Number):
                return Number(-node.value, token)
            # -0.0 - x is -x for every float, 0.0 among them.
            return Operation("-", Number(-0.0, token), self.number(node), token)
        if self._word("("):
            node = self._deeper(token, self._condition)
            self._need(")")
            return node
        return self._atom()

    def _atom(self) -> Node:
        token = self.next
        if token.kind == "number":
            self.at += 1
            return self._finite(_literal(token.text), token)
        if token.kind == "text":
            self.at += 1
            return Text(_unescaped(token.text[1:-1]), token)
        if token.kind == "column":
            self.at += 1
            return Column(token.text[1:-1], token)
        if token.kind == "name" and token.text.lower() in ("true", "false"):
            self.at += 1
            return Number(int(token.text.lower() == "true"), token)
        if token.kind == "name" and token.text.lower() not in RESERVED:
            self.at += 1
            return Column(token.text, token)
        return self.refuse("a column, a number or a text", token)

    def _deeper(self, token: Token, read: Callable[[], Node]) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            self.refuse(f"at most {DEEPEST} nested parentheses and signs", token)
        node = read()
        self.depth -= 1
        return node


def _refuse(name: str, text: str, expected: str, token: Token) -> NoReturn:
    shown = "the end" if token.kind == "end" else repr(token.text)
    instead = INSTEAD.get(token.text.lower())
    raise ParameterError(
        f"Expected {expected} in {name}={text!r}, got {shown} at character {token.place + 1}."
        + ("" if instead is None else f" {instead}")
    )


def _checked_text(text: Any, name: str) -> str:
    if not isinstance(text, str):
        raise ParameterError(
            f'Expected {name}= to be a text, such as "age >= 65", got {a_thing(text)}.'
        )
    if not text.strip():
        raise ParameterError(f'Expected a condition in {name}=, such as "age >= 65", got none.')
    if len(text) > LONGEST:
        raise ParameterError(f"Expected at most {LONGEST:,} characters in {name}=.")
    return text


def _literal(text: str) -> int | float:
    return int(text) if text.isdecimal() and len(text) < LARGEST_DIGITS else float(text)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), text, flags=re.DOTALL)


def _kinds(node: Node, refuse: "Callable[[str, Token], NoReturn]") -> dict[str, As | None]:
    """How every column is read, as far as the expression tells; None where it does not.

    Raises:
        ParameterError: if a column, or a comparison, mixes text and numbers.
    """
    kinds: dict[str, As | None] = {column.name: None for column in _columns(node)}
    return _spread(node, kinds, refuse)


def _spread(
    node: Node, kinds: dict[str, As | None], refuse: "Callable[[str, Token], NoReturn]"
) -> dict[str, As | None]:
    """Columns that are compared are of one kind."""
    pairs = list(_pairs(node))
    changed = True
    while changed:
        changed = False
        for left, right, token in pairs:
            sides = {_kind(left, kinds), _kind(right, kinds)} - {None}
            if (
                len(sides) > 1
                and sides != {"dates", "numbers"}
                and not _is_dated(left, right, kinds)
            ):
                refuse("text on both sides, or numbers on both sides,", token)
            for side in (left, right):
                if sides and isinstance(side, Column) and kinds[side.name] is None:
                    kinds[side.name] = min(sides, key=str)
                    changed = True
    return kinds


def _is_dated(left: Node, right: Node, kinds: Mapping[str, As | None]) -> bool:
    """Whether a date is compared with a literal text."""
    literal = isinstance(left, Text) or isinstance(right, Text)
    return literal and "dates" in (_kind(left, kinds), _kind(right, kinds))


def _kind(node: Node, kinds: Mapping[str, As | None]) -> As | None:
    if isinstance(node, Column):
        return kinds[node.name]
    return "text" if isinstance(node, Text) else "numbers"


def _is_truth(node: Node) -> bool:
    """Whether it is the word true or false."""
    return isinstance(node, Number) and node.token.kind == "name"


def _pairs(node: Node) -> Iterator[tuple[Node, Node, Token]]:
    """What must be of one kind."""
    if isinstance(node, Comparison):
        yield node.left, node.right, node.token
    if isinstance(node, Membership):
        for each in node.listed:
            yield node.what, each, node.token
    if isinstance(node, Operation):
        for side in (node.left, node.right):
            yield side, Number(0.0, node.token), node.token
    for part in _parts(node):
        yield from _pairs(part)


def _parts(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Operation | Comparison):
        return (node.left, node.right)
    if isinstance(node, Membership | Missing):
        return (node.what,)
    return node.parts if isinstance(node, Logic) else ()


def _columns(node: Node) -> Iterator[Column]:
    if isinstance(node, Column):
        yield node
    for part in _parts(node):
        yield from _columns(part)


@dataclass(frozen=True)
class Expression:
    """A condition or a formula, and how its columns are read.

    Attributes:
        text: as it was written.
        name: of the parameter that it was written for.
        node: as it was read.
        kinds: of every column, as far as the expression tells.
        written: the columns of dates whose cells have no type and may be text.
    """

    text: str
    name: str
    node: Node
    kinds: Mapping[str, As | None]
    written: frozenset[str] = frozenset()

    def fitted(self, opened: Opened) -> "Expression":
        """The expression with the kinds of all columns, from declared types where it is open.

        Raises:
            ParameterError: if a column does not exist, or cannot be what the expression takes it
                for.
        """
        self._require_columns(opened)
        declared = {field.name: field for field in opened.fields if field.name in self.kinds}
        kinds = {
            column: self._kind(column, kind, declared[column])
            for column, kind in self.kinds.items()
        }
        spread = _spread(self.node, kinds, self._refuse)
        self._check_dates(spread)
        known: dict[str, As | None] = {name: kind or "either" for name, kind in spread.items()}
        untyped = {name for name, field in declared.items() if field.holds is None}
        known |= dict.fromkeys(untyped & self._truths(), "truths")
        written = frozenset(
            name for name, field in declared.items() if field.dates and not _is_date(field)
        )
        return Expression(self.text, self.name, self.node, known, written)

    @property
    def is_condition(self) -> bool:
        """Whether it is true or false, not a number."""
        return isinstance(self.node, CONDITIONS)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it speaks of."""
        return tuple(self.kinds)

    @cached_property
    def wanted(self) -> dict[str, Kind]:
        """The columns, and how to read them."""
        reads: dict[As | None, Kind] = {"numbers": "numbers", "dates": "any", "truths": "text"}
        found = {name: reads.get(kind, "text") for name, kind in self.kinds.items()}
        return found | dict.fromkeys(self.written, "text")

    def keeps(self, batch: Batch) -> Bools:
        """Whether a condition keeps each row of a batch."""
        return _Cells(batch, self.kinds).condition(self.node)

    def numbers(self, batch: Batch) -> FloatArray:
        """The number that a formula gives for each row of a batch, NaN where a cell is missing."""
        cells = _Cells(batch, self.kinds)
        made = np.broadcast_to(cells.number(self.node), cells.size)
        return np.array(made, dtype=np.float64)

    def _kind(self, column: str, kind: As | None, field: Field) -> As | None:
        place = next(each.token.place for each in _columns(self.node) if each.name == column)
        where = f"in {self.name}={self.text!r} at character {place + 1}"
        if field.holds == "other":
            raise ParameterError(
                f"Column {column!r} holds {field.type}, {where}. Choose a column of text, numbers, "
                "truth values or dates."
            )
        if _is_date(field) or field.dates:
            return "dates"
        if _is_bool(field):
            return "numbers"
        if kind is None:
            return {"numbers": "numbers", "labels": "text", None: None}[field.holds]
        if kind == "numbers" and field.holds == "labels":
            raise ParameterError(
                f"Column {column!r} holds {field.type}, not numbers, {where}. Compare it with "
                "text, such as 'A'."
            )
        if kind == "text" and field.holds == "numbers":
            raise ParameterError(
                f"Column {column!r} holds numbers, {where}. Compare it with numbers, without "
                "quotes."
            )
        return kind

    def _truths(self) -> set[str]:
        """The columns that are compared with true or false."""
        compared = [pair for *pair, _ in _pairs(self.node) if any(map(_is_truth, pair))]
        return {each.name for pair in compared for each in pair if isinstance(each, Column)}

    def _require_columns(self, opened: Opened) -> None:
        try:
            require(opened, *self.kinds)
        except ParameterError as error:
            known = {field.name for field in opened.fields}
            right = [each for _, each, _ in _pairs(self.node) if isinstance(each, Column)]
            bare = [each.name for each in right if each.name not in known]
            if not bare:
                raise
            raise ParameterError(f"{error} If it is a text, write {bare[0]!r}.") from None

    def _check_dates(self, kinds: Mapping[str, As | None]) -> None:
        """Refuses what is compared with dates but is no date."""
        for left, right, token in _pairs(self.node):
            for one, other in ((left, right), (right, left)):
                dated = _kind(one, kinds) == "dates"
                if dated and isinstance(other, Text) and np.isnan(_day(other.value)):
                    self._refuse("a date, such as '2024-12-31',", other.token)
                number = isinstance(other, Number) and token.text not in ARITHMETIC
                if dated and isinstance(one, Column) and number:
                    self._refuse("a date in quotes, such as '2024-12-31',", other.token)

    def _refuse(self, expected: str, token: Token) -> NoReturn:
        _refuse(self.name, self.text, expected, token)


class _Cells:
    """The columns of a batch, each turned into what it is read as, once."""

    def __init__(self, batch: Batch, kinds: Mapping[str, As | None]) -> None:
        self.batch = batch
        self.kinds = kinds
        self.read: dict[Any, Any] = {}
        self.size = len(next(iter(batch.values()))) if batch else 0

    def condition(self, node: Node) -> Bools:
        if isinstance(node, Logic):
            parts = [self.condition(part) for part in node.parts]
            if node.word == "not":
                return ~parts[0]
            return parts[0] & parts[1] if node.word == "and" else parts[0] | parts[1]
        if isinstance(node, Missing):
            return self._missing(node.what)
        if isinstance(node, Membership):
            return self._member(node)
        assert isinstance(node, Comparison)
        return self._compared(node)

    def _compared(self, node: Comparison) -> Bools:
        if self._is_either(node.left) or self._is_either(node.right):
            both = ~(np.isnan(self.number(node.left)) | np.isnan(self.number(node.right)))
            return np.where(both, self._number_comparison(node), self._text_comparison(node))
        if self._is_text(node.left) or self._is_text(node.right):
            return self._text_comparison(node)
        return self._number_comparison(node)

    def number(self, node: Node) -> Any:
        """Floats, one for all rows or one for each."""
        if isinstance(node, Number):
            return np.float64(node.value)
        if isinstance(node, Text):  # compared with dates
            return np.float64(_day(node.value))
        if isinstance(node, Column):
            turned = {"dates": as_days, "truths": as_truths}.get(str(self.kinds[node.name]))
            return self._column(node.name, turned or as_floats)
        assert isinstance(node, Operation)
        left = self.number(node.left)
        right = self.number(node.right)
        with np.errstate(all="ignore"):
            return ARITHMETIC[node.symbol](left, right)

    def _number_comparison(self, node: Comparison) -> Bools:
        with np.errstate(all="ignore"):
            left = self.number(node.left)
            right = self.number(node.right)
            return self._whole(NUMPY[node.symbol](left, right))

    def _is_either(self, node: Node) -> bool:
        return isinstance(node, Column) and self.kinds[node.name] in ("either", None)

    def _is_text(self, node: Node) -> bool:
        """Whether it is a column of text; a literal is compared as its other side is."""
        return isinstance(node, Column) and self.kinds[node.name] == "text"

    def _column(self, name: str, turned: Callable[[Chunk], Any]) -> Any:
        key = (name, turned)
        if key not in self.read:
            self.read[key] = turned(self.batch[name])
        return self.read[key]

    def _text(self, node: Node) -> Any:
        """An Arrow array or a list for a column, one text for a literal."""
        if isinstance(node, Text):
            return _encodable(node.value)
        assert isinstance(node, Column)
        return self._column(node.name, as_texts)

    def _text_comparison(self, node: Comparison) -> Bools:
        left = self._text(node.left)
        right = self._text(node.right)
        if not (is_arrow(left) or is_arrow(right)):
            return self._python_comparison(node.symbol, left, right)
        import pyarrow as pa
        import pyarrow.compute as pc

        compare = getattr(pc, ARROW[node.symbol])
        first = pa.array(left, pa.string()) if isinstance(left, list) else left
        second = pa.array(right, pa.string()) if isinstance(right, list) else right
        return self._whole(_true(compare(first, second)))

    def _python_comparison(self, symbol: str, left: Any, right: Any) -> Bools:
        """The order of Python's texts, by characters, is that of Arrow's, by bytes of UTF-8."""
        compare = ORDER[symbol]
        first = repeat(left, self.size) if isinstance(left, str) else left
        second = repeat(right, self.size) if isinstance(right, str) else right
        pairs = zip(first, second, strict=True)
        true = (a is not None and b is not None and compare(a, b) for a, b in pairs)
        return np.fromiter(true, dtype=np.bool_, count=self.size)

    def _member(self, node: Membership) -> Bools:
        if not node.listed:
            return np.zeros(self.size, dtype=np.bool_)
        if self._is_text(node.what):
            texts = [_encodable(each.value) for each in node.listed if isinstance(each, Text)]
            return self._text_member(self._text(node.what), texts)
        listed = [self.number(each) for each in node.listed]
        return self._whole(np.isin(self.number(node.what), np.array(listed)))

    def _text_member(self, cells: Any, texts: list[str]) -> Bools:
        if not is_arrow(cells):
            known = frozenset(texts)
            return np.fromiter(map(known.__contains__, cells), dtype=np.bool_, count=self.size)
        import pyarrow as pa
        import pyarrow.compute as pc

        return _true(pc.is_in(cells, pa.array(texts, pa.string())))

    def _missing(self, column: Column) -> Bools:
        number = np.zeros(self.size, dtype=np.bool_)
        text = np.zeros(self.size, dtype=np.bool_)
        if not self._is_text(column):
            number = ~np.isnan(self.number(column))
        if self._is_text(column) or self._is_either(column):
            cells = self._text(column)
            if is_arrow(cells):
                import pyarrow.compute as pc

                text = _true(pc.not_equal(cells, ""))
            else:
                text = np.fromiter(map(bool, cells), dtype=np.bool_, count=self.size)
        missing: Bools = ~(number | text)
        return missing

    def _whole(self, found: Any) -> Bools:
        return np.broadcast_to(np.asarray(found, dtype=np.bool_), self.size)


NUMPY = {
    "==": np.equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip
ORDER = {
    "==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
ARROW = {"==": "equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide}


def as_floats(chunk: Chunk) -> FloatArray:
    """A chunk as floats, NaN where a cell is missing or not a number; nothing is refused.

    Booleans are 1 and 0, dates days since 1970.  Text is read as a number where a column has no
    declared type: in a file, and among Python's objects.
    """
    if is_arrow(chunk):
        return _arrow_floats(chunk)
    array = chunk if isinstance(chunk, np.ndarray) else None
    if array is not None and array.dtype.kind in "iufb":
        return array.astype(np.float64)
    if array is not None and array.dtype.kind in "Mm":
        return _days_of(array)
    return np.fromiter(map(_float, chunk), dtype=np.float64, count=len(chunk))


def as_truths(chunk: Chunk) -> FloatArray:
    """A chunk of a column without a type, as numbers; texts such as True are 1, False 0."""
    numbers = as_floats(chunk)
    return np.where(np.isnan(numbers), as_measured(chunk, "truth"), numbers)


def as_days(chunk: Any) -> FloatArray:
    """A chunk of a column of dates, in days since 1970.

    Cells without a type of their own are dates, or texts of dates as SQLite and text files hold
    them; what else there is among them is missing.
    """
    if is_arrow(chunk):
        import pyarrow as pa

        return as_floats(chunk) if pa.types.is_temporal(chunk.type) else as_measured(chunk, "time")
    if isinstance(chunk, np.ndarray) and chunk.dtype.kind == "M":
        return as_floats(chunk)
    return as_measured(chunk, "time")


def as_texts(chunk: Chunk) -> Any:
    """A chunk as text, of Arrow or in a list; None where a cell is missing or not text."""
    if not is_arrow(chunk):
        return [_encodable(cell) if isinstance(cell, str) else None for cell in chunk]
    import pyarrow as pa

    kinds = pa.types
    array: Any = chunk
    if kinds.is_dictionary(array.type):
        array = array.dictionary_decode()
    if kinds.is_large_string(array.type) or kinds.is_string_view(array.type):
        return array.cast(pa.string()) if array.nbytes < 2**31 else array
    return array if kinds.is_string(array.type) else pa.nulls(len(array), pa.string())


def _arrow_floats(chunk: Any) -> FloatArray:
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(chunk.type):
        return _arrow_floats(chunk.dictionary_decode())
    if kinds.is_date(chunk.type) or kinds.is_timestamp(chunk.type):
        moment = chunk.cast(pa.timestamp("us", getattr(chunk.type, "tz", None)), safe=False)
        return _arrow_floats(moment.cast(pa.int64())) / DAY
    if kinds.is_duration(chunk.type):
        span = chunk.cast(pa.duration("us"), safe=False)
        return _arrow_floats(span.cast(pa.int64())) / DAY
    if kinds.is_string(chunk.type) or kinds.is_large_string(chunk.type):
        return parsed_numbers(chunk)
    return as_numbers(chunk.cast(pa.int8()) if kinds.is_boolean(chunk.type) else chunk)


def _days_of(array: NDArray[Any]) -> FloatArray:
    """Days of times or spans; numpy's NaT is the smallest integer."""
    unit = "datetime64[us]" if array.dtype.kind == "M" else "timedelta64[us]"
    whole = array.astype(unit).astype(np.int64)
    return np.where(np.isnat(array), np.nan, whole / DAY)


def _float(cell: Any) -> float:
    """A Python cell as a float; other types are missing."""
    if isinstance(cell, str):
        return as_number(cell)
    # numpy would turn the last two into floats, with a warning.
    if isinstance(cell, bytes | np.complexfloating | np.ndarray):
        return np.nan
    try:
        return _days(cell) if isinstance(cell, date) else float(cell)
    except Exception:  # too large, or whatever an object does
        return np.nan


def _day(text: str) -> float:
    """A date as days since 1970, NaN for other cells; without a zone it is UTC."""
    try:
        return _days(dotted_date(text) or datetime.fromisoformat(text))
    except ValueError:
        return np.nan


def _days(cell: date) -> float:
    """Since 1970; without a zone it is UTC."""
    moment = cell if isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    span = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (span.days * DAY + span.seconds * 1_000_000 + span.microseconds) / DAY


def _encodable(text: str) -> str:
    """Replaces lone surrogates, which no encoding can hold, by a mark."""
    return text.encode("utf-8", "replace").decode()


def _true(found: Any) -> Bools:
    """Arrow's truth, null as false."""
    if not is_arrow(found):
        return np.asarray(bool(found.as_py()))
    made: Bools = found.fill_null(False).to_numpy(zero_copy_only=False)
    return made


def _is_date(field: Field) -> bool:
    return field.type is not None and field.type.lower().startswith(("date", "timestamp"))


def _is_bool(field: Field) -> bool:
    return field.type is not None and field.type.lower().startswith("bool")


@runtime_checkable
class Filters(Protocol):
    """A table in an engine that can filter rows by itself."""

    def filtered(self, condition: Expression, /) -> Opened | None:
        """The rows that a condition keeps; None where the engine's own rules might differ."""
        ...


def filtered(opened: Opened, where: str | None) -> Opened:
    """The rows of a table for which a condition holds; no row is read.

    Args:
        opened: the table.
        where: the condition, or None for all rows.

    Raises:
        ParameterError: if it is no condition on the columns of this table.
    """
    if where is None:
        return opened
    condition = parse_condition(where).fitted(opened)
    if not condition.columns:
        raise ParameterError(f"Expected a condition on a column in where={where!r}; it names none.")
    return kept(opened, condition)


def kept(opened: Opened, condition: Expression) -> Opened:
    """The rows that a fitted condition keeps."""
    by_engine = opened.filtered(condition) if isinstance(opened, Filters) else None
    return FilteredTable(opened, condition) if by_engine is None else by_engine


def derived(opened: Opened, value: str) -> Opened:
    """A table that has a column `value`: as it is, or with a formula of that text worked out.

    Raises:
        ParameterError: if it is a formula that cannot be read, or not of this table.
    """
    if not is_formula(value, opened):
        return opened
    formula = parse_formula(value).fitted(opened)
    return DerivedTable(opened, formula) if formula.columns else opened


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FilteredTable:
    """The rows of a table for which a condition holds."""

    opened: Opened
    condition: Expression

    title = PassedOn[str]()
    fields = PassedOn[Sequence[Field]]()
    declared = PassedOn[bool]()

    @property
    def rows(self) -> None:
        """How many rows are kept is private."""

    ordered = PassedOn[bool]()
    streams = PassedOn[bool]()

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        needed = {**self.condition.wanted, **wanted}
        with reading(self.opened.batches(needed)) as stream:
            for batch in stream:
                yield _kept_rows(batch, wanted, self.condition)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        needed = {**self.condition.wanted, **wanted}
        cells = KeptCells(self.condition, dict(wanted), cell_of)
        return self.opened.counts(needed, cells, size)


@dataclass(frozen=True, slots=True)
class KeptCells:
    """The cells of the rows that are kept; a `CellOf` that skips the others."""

    condition: Expression
    wanted: Mapping[str, Kind]
    cell_of: CellOf

    def __call__(self, batch: Batch) -> IntArray:
        return self.cell_of(_kept_rows(batch, self.wanted, self.condition))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DerivedTable:
    """A table with one more column, which has the text of its formula as its name.

    It holds numbers; truth values if the formula is a condition.
    """

    opened: Opened
    formula: Expression

    title = PassedOn[str]()

    @property
    def fields(self) -> Sequence[Field]:
        made = "bool" if self.formula.is_condition else "double"
        return [*self.opened.fields, Field(self.formula.text, made, "numbers")]

    declared = PassedOn[bool]()
    rows = PassedOn[int | None]()
    ordered = PassedOn[bool]()
    streams = PassedOn[bool]()

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        with reading(self.opened.batches(self._needed(wanted))) as stream:
            for batch in stream:
                yield _with_formula(batch, wanted, self.formula)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        if self.formula.text not in wanted:
            return self.opened.counts(wanted, cell_of, size)
        cells = DerivedCells(self.formula, dict(wanted), cell_of)
        return self.opened.counts(self._needed(wanted), cells, size)

    def _needed(self, wanted: Mapping[str, Kind]) -> dict[str, Kind]:
        own = {name: kind for name, kind in wanted.items() if name != self.formula.text}
        return own if len(own) == len(wanted) else {**self.formula.wanted, **own}


@dataclass(frozen=True, slots=True)
class DerivedCells:
    """The cells of rows with a formula worked out; a `CellOf`."""

    formula: Expression
    wanted: Mapping[str, Kind]
    cell_of: CellOf

    def __call__(self, batch: Batch) -> IntArray:
        return self.cell_of(_with_formula(batch, self.wanted, self.formula))


def _with_formula(batch: Batch, wanted: Mapping[str, Kind], formula: Expression) -> Batch:
    return {
        name: _worked_out(batch, kind, formula) if name == formula.text else batch[name]
        for name, kind in wanted.items()
    }


def _worked_out(batch: Batch, kind: Kind, formula: Expression) -> Chunk:
    """The column of a formula: floats, or truth values where they may be of any type."""
    if not formula.is_condition:
        return formula.numbers(batch)
    holds = formula.keeps(batch)
    return holds if kind == "any" else holds.astype(np.float64)


def _kept_rows(batch: Batch, wanted: Mapping[str, Kind], condition: Expression) -> Batch:
    """The wanted columns of the rows that are kept."""
    keeps = condition.keeps(batch)
    if keeps.all():
        return {name: batch[name] for name in wanted}
    return {name: _taken(batch[name], keeps) for name in wanted}


def _taken(chunk: Any, keeps: Bools) -> Any:
    if isinstance(chunk, np.ndarray):
        return chunk[keeps]
    if is_arrow(chunk):
        import pyarrow as pa

        return chunk.filter(pa.array(keeps))
    return [chunk[i] for i in np.flatnonzero(keeps)]


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
    """A fitted condition as SQL that is true or false, never null; None where that is not sure.

    Only comparisons of columns with literals and with columns are handed over, never arithmetic:
    engines differ in what they do about overflow and division by zero.  Three facts make the rest
    equal.  Numbers are compared as doubles, and NaN, which engines call equal to itself, is made
    null first.  Text is compared by its bytes in UTF-8, whose order is that of code points.  And a
    comparison with null is false, not unknown, so that `not` means the same.

    What is not surely equal, such as a column of another type, gives no SQL: those rows are
    filtered as they come.
    """
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
