"""Questions: public parameters, each declared once with one sentence of help.

A question is a frozen dataclass whose fields are made by `parameter`.  A loop over its fields makes
the options of the command line, the body of a request, the form on the page and the table of the
reference.  Signatures of public functions are written out by hand; a test compares them.

Parameters that are facts of the data set (`Fact`) are filled in from its schema where it has one.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    Protocol,
    TypeAlias,
    get_args,
    runtime_checkable,
)

from dampen.core.selection import Neighbours
from dampen.data.columns import KINDS
from dampen.data.source import named_columns
from dampen.errors import ParameterError, did_you_mean
from dampen.releases.cost import Price
from dampen.schema.schema import Schema

if TYPE_CHECKING:
    from dampen.releases.method import Method

__all__ = [
    "Fact",
    "Kind",
    "Parameter",
    "Question",
    "Resolved",
    "Shape",
    "by_parameter",
    "check_size_is_public",
    "checked_choice",
    "delta_parameter",
    "first_missing",
    "groups_parameter",
    "kind_parameter",
    "lower_parameter",
    "parameter",
    "parameters",
    "plain_label",
    "public_parameter",
    "shows_size",
    "upper_parameter",
    "weigh_parameter",
    "where_parameter",
    "with_facts",
]

Kind: TypeAlias = Literal[
    "column",  # the name of a column
    "columns",  # a list of names of columns
    "count",  # a whole number, at least 0 or 1
    "exact",  # a number that is taken as it is written
    "flag",  # yes or no
    "word",  # one of a few words
    "labels",  # a public list of categories, groups or nodes
    "percentiles",  # one number, a list of them, or the name of a list
    "condition",  # a text that is true or false of every row
    "other",  # for Python alone
]
"""How a parameter is written in the command line, in JSON and on the page."""

Shape: TypeAlias = Literal["value", "points", "number", "name", "ranking", "set", "model"]
"""How an answer is read: an amount in the range of a column; one for each of several points; a
noisy number with an interval; a candidate; candidates best first; candidates in public order; a
model that predicts.  With groups, one for every group.
"""


@dataclass(frozen=True, slots=True)
class Fact:
    """Where a schema has the value of a parameter.

    Attributes:
        name: of the fact: `values`, `lower`, `upper`, `step` of a column; `nodes`, `rows`,
            `domains` and others of the data set.
        of: the parameter that names the column; empty for a fact of the data set.
        optional: whether the question can be asked where the schema does not state it.
        either: if given, the alternative that the fact belongs to: a column needs all facts of one
            alternative, such as the values of categories or both ends of numbers.
    """

    name: str
    of: str = ""
    optional: bool = False
    either: str = ""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One public parameter of a question.

    Attributes:
        name: of the field, and of the argument of the public function.
        kind: how it is written down.
        help: one sentence.
        default: what it is when it is left out; `dataclasses.MISSING` if it may not be.
        choices: the words that it can be, if there are few.
        label: on a form.
        short: one letter for the command line, such as "k".
        least: the smallest count.
        holds: of a column, what its cells must be: "numbers", "categories" or "names".
        usual: what a form begins with, where there is no default.
        several: of a column, whether several may be named, with commas.
        fact: where a schema has it; analysts of a service do not state it.
    """

    name: str
    kind: Kind
    help: str
    default: Any = MISSING
    choices: tuple[str, ...] = ()
    label: str = ""
    short: str = ""
    least: int = 1
    holds: str = ""
    usual: str = ""
    several: bool = False
    fact: Fact | None = None

    @property
    def required(self) -> bool:
        return self.default is MISSING

    @property
    def asked(self) -> bool:
        """Whether an analyst states it; facts and Python objects are not asked for."""
        return self.fact is None and self.kind != "other"


def parameter(
    kind: Kind,
    help: str,
    *,
    default: Any = MISSING,
    choices: tuple[str, ...] = (),
    label: str = "",
    short: str = "",
    least: int = 1,
    holds: str = "",
    usual: str = "",
    several: bool = False,
    fact: Fact | None = None,
) -> Any:
    """A field of a question; see `Parameter`."""
    assert kind in get_args(Kind), kind
    told = {
        "kind": kind, "help": help, "choices": choices, "label": label, "short": short,
        "least": least, "holds": holds, "usual": usual, "several": several, "fact": fact,
    }  # fmt: skip
    return field(default=default, metadata={"dampen": told})


def where_parameter() -> Any:
    """The field `where` of a question about a table: which rows it is asked of."""
    return parameter(
        "condition",
        "Only rows for which this holds, such as \"age >= 65 and ward == 'A'\".",
        default=None,
        label="Only rows where",
    )


def weigh_parameter() -> Any:
    """The field `weigh` of a question about a table: whose statistic is meant."""
    return parameter(
        "word",
        "Whether persons or rows count equally, where ε protects persons. people: every person "
        "counts the same; the default, unless rows_per_unit is above 1. rows: every row counts "
        "the same, up to rows_per_unit rows of a person, or 8 if that is 1.",
        default=None,
        choices=("people", "rows"),
        label="Statistic of",
    )


def by_parameter(what: str = "answer") -> Any:
    """The field `by` of a question that can be asked of every group."""
    return parameter(
        "column",
        f"Column of groups: one {what} for every group; several with commas.",
        default=None,
        label="For every",
        holds="categories",
        several=True,
    )


def groups_parameter() -> Any:
    """The field `groups` beside `by`."""
    return parameter(
        "labels",
        "Public list of the groups; rows of other groups are left out.",
        default=None,
        fact=Fact("values", of="by"),
    )


def delta_parameter(unlisted: str = "groups") -> Any:
    """The field `delta`: where nobody lists the groups or categories, they are found with it."""
    return parameter(
        "exact",
        f"Probability δ that ε fails, such as 1e-6, if you cannot list the {unlisted}.",
        default=None,
        label="δ",
    )


def public_parameter(what: str) -> Any:
    """The field `public`: for Python alone, "data" takes facts from data that is public itself."""
    return parameter(
        "other",
        f'Pass "data" to take the {what} from the data. Only for public data: ε does not cover it.',
        default=None,
    )


def lower_parameter(*, optional: bool = False) -> Any:
    """The field `lower` of a question that needs, or may have, a public range of `value`."""
    return _end_parameter("lower", "smaller", optional)


def kind_parameter() -> Any:
    """The field `kind` of a question about a column that may hold dates or durations."""
    return parameter(
        "word",
        "What a column without a declared type holds, if not numbers: date, time, duration or "
        "bool.",
        default=None,
        choices=tuple(KINDS),
    )


def upper_parameter(*, optional: bool = False) -> Any:
    """The field `upper` beside `lower`."""
    return _end_parameter("upper", "larger", optional)


def _end_parameter(name: str, beyond: str, optional: bool) -> Any:
    return parameter(
        "exact",
        f"Public {name} end of the values{', if you know it' if optional else ''}; {beyond} ones "
        "count as this.",
        default=None if optional else MISSING,
        fact=Fact(name, of="value", optional=optional),
    )


def parameters(question: "type[Question] | Question") -> tuple[Parameter, ...]:
    """The parameters of a question, in the order of its fields."""
    return tuple(_declared(each) for each in fields(question))  # type: ignore[arg-type]


def with_facts(
    question: "type[Question]", stated: Mapping[str, Any], schema: Schema
) -> dict[str, Any]:
    """What was stated, and the facts of a schema for what was left out.

    Args:
        question: the class that declares the parameters.
        stated: their values, by name.
        schema: the public facts of the data set.

    Returns:
        The values that are known; a parameter may still be missing (`first_missing`).

    Raises:
        ParameterError: if a column is of another kind than the question needs.
    """
    known = {name: value for name, value in stated.items() if value is not None}
    for each in parameters(question):
        if each.fact is None or each.name in known:
            continue
        column = known.get(each.fact.of)
        if each.fact.of and not _is_known(column, schema):
            continue
        value = _fact(each.fact, column, schema)
        if value is not None:
            known[each.name] = value
    return known


def _is_known(column: str | None, schema: Schema) -> bool:
    """Whether a schema has the column, or all of several."""
    if column is None:
        return False
    return all(name in schema.columns for name in named_columns(column, schema.columns))


def _fact(fact: Fact, column: str | None, schema: Schema) -> Any:
    if fact.either and column is not None:
        return schema.fact_if_any(fact.name, column)
    return schema.fact(fact.name, column)


def first_missing(question: "type[Question]", known: Mapping[str, Any]) -> Parameter | None:
    """The first parameter that must be stated and is not."""
    return next(
        (each for each in parameters(question) if each.required and each.name not in known), None
    )


def plain_label(name: str) -> str:
    """The label of a parameter that has none of its own; a form may fold such a parameter."""
    return name.replace("_", " ").capitalize()


def _declared(declared: "Field[Any]") -> Parameter:
    told = dict(declared.metadata["dampen"])
    label = told.pop("label") or plain_label(declared.name)
    return Parameter(declared.name, default=declared.default, label=label, **told)


class Question(Protocol):
    """What is asked.  A frozen dataclass of public parameters; data is never among them.

    Attributes:
        name: as the command line and the service write it, such as "most-frequent".
        title: for people, such as "Most frequent category".
        data: what it is asked of, "table" or "edges".
        examples: commands to copy, for the help of the command line; each runs as it is on the
            files of `dampen demo`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    data: ClassVar[Literal["table", "edges"]]
    examples: ClassVar[tuple[str, ...]]

    def open(self, data: Any, /, *, header: bool = False, table: str | None = None) -> Any:
        """Opens the data by its public facts and checks the columns; reads no row.

        Raises:
            ParameterError: if a column does not exist or cannot hold what is asked for.
        """
        ...

    def method(self, source: Any, schema: Schema, price: Price, /) -> "Method":
        """The method that answers: the one place where it is chosen, from public facts alone.

        It may be one for adding or removing one row where the schema says that one is replaced:
        `dampen.releases.method.Replacing` then asks it at ε/2.

        Raises:
            ParameterError: if the parameters do not fit together.
        """
        ...

    def shown(self) -> Mapping[str, Any]:
        """The public parameters as a release shows them: long lists by their length."""
        ...

    def text(self) -> str:
        """The question in a few words, for the ledger."""
        ...

    def shape(self) -> Shape:
        """How the answer is to be read and shown."""
        ...


@runtime_checkable
class Resolved(Protocol):
    """A question that has parameters which follow from the others where they are left out."""

    def resolved(self, price: Price, /) -> Mapping[str, Any]:
        """Those parameters as they are taken, so that left out and spelled out are the same.

        Raises:
            ParameterError: if a public parameter is wrong.
        """
        ...


def shows_size(question: "type[Question] | Question") -> bool:
    """Whether asking tells the number of rows, by an error if not by an answer.

    Such a question says so (`shows_size = True`), and is refused where the number is private before
    the data is opened: the header of a file may state the number.
    """
    return bool(getattr(question, "shows_size", False))


def check_size_is_public(question: "Question", schema: Schema) -> None:
    """Refuses a question that shows the number of rows where that is private.

    Raises:
        ParameterError: if it is.
    """
    if not shows_size(question) or schema.relation is Neighbours.REPLACE_ONE:
        return
    if schema.people is not None:
        raise ParameterError(
            f"{question.title}: this question names single rows, and the data set protects "
            f"{schema.protected}. Ask for a value instead, such as percentile."
        )
    raise ParameterError(
        f"{question.title}: this question shows the number of rows, which this data set keeps "
        "private. If the number is public, the curator can state it: units_public=True in "
        "Python, units-public = true in dampen.toml."
    )


def checked_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """A word that is one of a few.

    Raises:
        ParameterError: if it is none of them.
    """
    if value in choices:
        return str(value)
    raise ParameterError(
        f"Expected {name} to be one of {', '.join(choices)}, got {value!r}."
        f"{did_you_mean(str(value), choices)}"
    )
