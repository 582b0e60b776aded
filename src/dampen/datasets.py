"""A data set: state its public facts once, then ask questions.

    stays = dampen.dataset(
        "stays.parquet",
        columns={"hospital": ["Ash", "Birch", "Oak"], "days": dampen.number(0, 90)},
        budget=ledger["stays"],
    )
    stays.top_groups("days", by="hospital", epsilon=0.3)
    stays.percentile("days", p=95, epsilon=0.5)

The relation that ε speaks of follows from the facts (`Schema.relation`); who asks cannot choose
another one.  Opening a data set looks at no row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from inspect import Parameter as Argument
from inspect import Signature
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dampen.core.sampling import Entropy
from dampen.core.selection import Neighbours
from dampen.data.source import joined_columns
from dampen.epsilon import Epsilon
from dampen.errors import ParameterError, a_thing, did_you_mean
from dampen.questions import QUESTIONS, question_type, which_question
from dampen.releases.answer import Planned, answer, expect
from dampen.releases.cost import Budget
from dampen.releases.question import Parameter, Question, first_missing, parameters, with_facts
from dampen.releases.release import Release
from dampen.schema import Categories, Column, Graph, Names, Numbers, Schema
from dampen.schema.schema import Rule

if TYPE_CHECKING:
    from dampen.check import Check
    from dampen.sql import Statement

__all__ = ["Dataset", "categories", "dataset", "names", "number"]

PAYING = ("epsilon", "rho", "budget", "entropy")


def number(
    lower: float | date | None = None,
    upper: float | date | None = None,
    *,
    step: float | None = None,
    bins: int | None = None,
    edges: Sequence[float] = (),
    missing: Rule | None = None,
    public: bool = False,
    dates: bool = False,
) -> Numbers:
    """The public facts of a column of numbers, or of dates.

    Args:
        lower: its lower end; smaller numbers count as this.  A date for a column of dates.
        upper: its upper end; larger numbers count as this.
        step: the distance of possible values, such as 1 for whole numbers.
        bins: how many bins of equal width a model sorts the numbers into; its own rule if left out.
        edges: the ends of bins one by one, ascending, in place of `bins`.
        missing: "drop" leaves out a row without a number; "own" gives a model one more bin.
        public: whether everyone's number is known and does not change.
        dates: whether the numbers are dates, where no end says so.

    Returns:
        The facts, for `columns=` of `dampen.dataset`.

    Raises:
        ParameterError: if the facts do not fit together.
    """
    ends: dict[str, Any] = {"lower": lower, "upper": upper, "dates": dates or None}
    stated = {name: end for name, end in ends.items() if end is not None}
    return Numbers(
        **stated, step=step, bins=bins, edges=tuple(edges), missing=missing, public=public
    )


def categories(
    values: Sequence[Any],
    *,
    missing: Rule | None = None,
    unlisted: Rule | None = None,
    public: bool = False,
) -> Categories:
    """The public facts of a column with listed values.

    Args:
        values: all of them, different; a plain list of them does as well.
        missing: "drop" leaves out a row without a value, "own" makes it a category of its own.
        unlisted: the same for a row with another value.
        public: whether everyone's value is known and does not change, as a ward is on the door.

    Returns:
        The facts, for `columns=` of `dampen.dataset`.

    Raises:
        ParameterError: if there is none, or one occurs twice.
    """
    return Categories(_listed(values), missing=missing, unlisted=unlisted, public=public)


def names() -> Names:
    """The public facts of a column that holds the public names of the rows.

    Returns:
        The facts, for `columns=` of `dampen.dataset`.
    """
    return Names()


def dataset(
    data: Any,
    *,
    unit: str = "",
    units_public: bool = False,
    rows_per_unit: int = 1,
    groups_per_unit: int | None = None,
    rows: int | None = None,
    max_delta: float | None = None,
    columns: Mapping[str, Column | Sequence[Any]] | None = None,
    nodes: int | Sequence[Any] | None = None,
    source: str | None = None,
    target: str | None = None,
    max_degree: int | None = None,
    missing: Rule = "drop",
    unlisted: Rule = "drop",
    encoding: str = "",
    decimal: str = ".",
    title: str = "",
    budget: Budget | None = None,
    config: str | PathLike[str] | None = None,
    header: bool = False,
    table: str | None = None,
) -> "Dataset":
    """A data set with its public facts, stated once; no row is read.

    Args:
        data: a table, a graph or the path of a file (see `dampen.data`); with `config=` the name of
            a data set that is registered there.
        unit: what one person or thing contributes: "row", "edge" in a graph, or the name of the
            column that says whose row it is: ε then protects a person with all their rows.
        units_public: whether the number of units is public.  If it is, ε protects a replaced unit,
            else that a unit is there at all.
        rows_per_unit: where `unit` is a column, how many rows of a person count in full; see
            `dampen.data.units`.
        groups_per_unit: a hint, in how many groups or categories a person usually is.
        rows: a public bound on the number of rows, or the number to expect.
        max_delta: the largest δ of one question; None for any.
        columns: the facts of columns by their names: a list of values, `dampen.number`,
            `dampen.categories` or `dampen.names`.
        nodes: of a graph, how many, named 0, 1, ..., or their names.
        source: of a graph in a table, the column of one end of each edge.
        target: the column of the other end.
        max_degree: of a graph, a public bound on the number of neighbours of a node, if there is
            one that surely holds; see `dampen.problems.InfluentialNode`.
        missing: "drop" leaves out rows with a missing cell, "own" makes them a category of their
            own, where a column does not say.
        unlisted: the same for values that are not listed.
        encoding: of a text file that is not UTF-8, such as "cp1252".
        decimal: the point of numbers in CSV, if it is not ".".
        title: for people.
        budget: where to charge ε.  One that is registered is opened by itself.
        config: a `dampen.toml` that holds the facts.
        header: says that the first line of a text file surely holds the names of its columns.
        table: of a database, which table.

    Returns:
        A `Dataset`, with a method for every question.

    Raises:
        ParameterError: if the facts do not fit together.

    >>> import dampen
    >>> visits = dampen.dataset({"sex": ["f", "m"] * 50}, columns={"sex": ["f", "m", "x"]})
    >>> visits.most_frequent("sex", k=2, epsilon=1).answer in (["f", "m"], ["m", "f"])
    True
    """
    if config is not None:
        return _registered(data, config, budget)
    if not isinstance(unit, str):
        raise ParameterError(f"Expected unit= to be the name of one column, got {a_thing(unit)}.")
    _check_unit(unit, data)
    graph = None if nodes is None else _graph(nodes, source, target, max_degree)
    schema = Schema(
        unit=unit,
        units_public=units_public,
        rows_per_unit=rows_per_unit,
        groups_per_unit=groups_per_unit,
        rows=rows,
        max_delta=max_delta,
        columns=_columns(columns, data),
        graph=graph,
        title=title,
        missing=missing,
        unlisted=unlisted,
        encoding=encoding,
        decimal=decimal,
    )
    return Dataset(data, schema, budget, header=header, table=table)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Dataset:
    """Data with its public facts; every question of `dampen.questions.QUESTIONS` is a method.

    Attributes:
        data: where the rows are; it is opened when a question is asked.
        schema: the public facts.
        budget: who pays, if anybody.
        header: whether the first line of a text file surely holds the names of its columns.
        table: of a database, which table.
    """

    data: Any
    schema: Schema
    budget: Budget | None = None
    header: bool = False
    table: str | None = None

    @property
    def relation(self) -> Neighbours:
        """What two neighbouring data sets differ in; it follows from the facts."""
        return self.schema.relation

    def ask(
        self,
        question: str,
        *,
        epsilon: Epsilon | None = None,
        rho: Epsilon | None = None,
        budget: Budget | None = None,
        entropy: Entropy | None = None,
        **stated: Any,
    ) -> Release:
        """The private answer to a question.

        Args:
            question: its name, such as "top-groups".
            epsilon: the privacy parameter, exact.
            rho: in place of ε, that of zCDP, for budgets with a δ.
            budget: where to charge ε in place of the data set's own budget.
            entropy: of random bits; the operating system's by default.
            **stated: the parameters of the question; facts of the data set may be left out.

        Raises:
            ParameterError: if a public parameter is wrong; nothing was charged.
            BudgetError: if the budget refuses; nothing was charged.
            DataError: if the data could not be read; the charge stands.
        """
        return answer(
            self.question(question, **stated),
            self.data,
            epsilon=epsilon,
            rho=rho,
            budget=self.budget if budget is None else budget,
            entropy=entropy,
            schema=self.schema,
            header=self.header,
            table=self.table,
        )

    def expect(
        self,
        question: str,
        *,
        epsilon: Epsilon | None = None,
        rho: Epsilon | None = None,
        **stated: Any,
    ) -> Planned:
        """The cost and the accuracy of an answer, before you pay.  Free; no row is read."""
        return expect(
            self.question(question, **stated),
            self.data,
            epsilon=epsilon,
            rho=rho,
            schema=self.schema,
            header=self.header,
            table=self.table,
        )

    def question(self, name: str, **stated: Any) -> Question:
        """The question, with the stated parameters and the facts of the data set.

        Raises:
            ParameterError: if there is no such question, or a parameter is missing.
        """
        kind = _kind(name)
        unknown = stated.keys() - {each.name for each in parameters(kind)}
        for each in sorted(unknown):
            declared = [parameter.name for parameter in parameters(kind)]
            raise ParameterError(
                f"{kind.name} has no parameter {each}.{did_you_mean(each, declared)}"
            )
        known = with_facts(kind, _with_names(kind, stated), self.schema)
        lacking = first_missing(kind, known)
        if lacking is not None:
            raise ParameterError(f"{kind.name} needs {lacking.name}=. {_advice(lacking, known)}")
        return kind(**known)

    def sql(
        self,
        statement: str,
        *,
        epsilon: Epsilon | None = None,
        rho: Epsilon | None = None,
        delta: Epsilon | None = None,
        budget: Budget | None = None,
        entropy: Entropy | None = None,
    ) -> Release:
        """The private answer to one statement of SQL, see `dampen.sql`.

        Args:
            statement: `SELECT ... FROM name ...`; the name after FROM is not looked at here.
            epsilon: the privacy parameter, unless OPTIONS(epsilon=...) states it.
            rho: in place of ε, that of zCDP.
            delta: finds groups or categories that the data set does not list; also
                OPTIONS(delta=...).
            budget: where to charge ε in place of the data set's own budget.
            entropy: of random bits; the operating system's by default.

        Raises:
            ParameterError: if the statement asks what no private question answers; nothing was
                charged.
        """
        asked = self.statement(statement, delta)
        paying: dict[str, Any] = {"rho": rho, "budget": budget, "entropy": entropy}
        offered = asked.offered(epsilon, rho)
        return self.ask(asked.question, epsilon=offered, **paying, **asked.stated)

    def statement(self, text: str, delta: Epsilon | None = None) -> "Statement":
        """What a statement asks of this data set, its columns by their declared names.

        Args:
            text: the statement.
            delta: as in `sql`.

        Raises:
            ParameterError: if no private question answers it.
        """
        from dampen.sql import parse

        return parse(text).about(self.schema, delta)

    def check(self) -> "Check":
        """Exact counts for the curator, before any charge: **not private**, not for publication."""
        from dampen.check import check

        return check(self)

    def __getattr__(self, name: str) -> "Callable[..., Release]":
        if name.replace("_", "-") not in QUESTIONS:
            raise AttributeError(
                f"A data set has no question {name!r}.{which_question(name, dir(self))}"
            )
        return _method(self, name)

    def __dir__(self) -> list[str]:
        asked = [name.replace("-", "_") for name in QUESTIONS]
        return sorted({*dir(type(self)), *asked})

    def __repr__(self) -> str:
        facts = ", ".join(self.schema.columns) or "no columns"
        return f"<Dataset ({facts}), protects {self.schema.protected}>"


def _kind(name: str) -> type[Question]:
    asked = name.replace("_", "-")
    if asked not in QUESTIONS:
        raise ParameterError(f"There is no question {name!r}.{which_question(asked, QUESTIONS)}")
    return question_type(asked)


def _with_names(kind: type[Question], stated: Mapping[str, Any]) -> dict[str, Any]:
    """What was stated, lists of names of columns joined."""
    columns = {each.name for each in parameters(kind) if each.kind == "column"}
    return {
        name: joined_columns(value)
        if name in columns and isinstance(value, list | tuple)
        else value
        for name, value in stated.items()
    }


def _advice(lacking: Parameter, known: Mapping[str, Any]) -> str:
    """What a parameter is, and where a fact of it is stated."""
    if lacking.fact is None or not lacking.fact.of:
        return lacking.help
    column = known.get(lacking.fact.of, "...")
    if lacking.kind == "labels":
        return f'{lacking.help} State it once: columns={{"{column}": [...]}}.'
    return f'{lacking.help} State it once: columns={{"{column}": dampen.number(lower, upper)}}.'


def _method(asked: Dataset, name: str) -> "Callable[..., Release]":
    """A question as a method; the column that it needs first may stand without its name."""
    kind = _kind(name)
    declared = parameters(kind)
    first = next((each for each in declared if each.kind == "column" and each.required), None)
    positional = () if first is None else (Argument(first.name, Argument.POSITIONAL_OR_KEYWORD),)
    others = [each.name for each in declared if each is not first]
    signature = Signature(
        [
            *positional,
            *(Argument(each, Argument.KEYWORD_ONLY, default=None) for each in (*others, *PAYING)),
        ]
    )

    def ask(*given: Any, **stated: Any) -> Release:
        try:
            bound = signature.bind(*given, **stated)
        except TypeError as error:
            raise ParameterError(f"{name}: {error}. Expected {name}{signature}.") from None
        return asked.ask(kind.name, **bound.arguments)

    ask.__name__ = ask.__qualname__ = name
    ask.__doc__ = kind.__doc__
    ask.__signature__ = signature  # type: ignore[attr-defined]
    return ask


def _columns(stated: Any, data: Any) -> dict[str, Column]:
    """The facts of the columns, which have to be columns of the data where it names them.

    Raises:
        ParameterError: if there is no such column, or these are no facts.
    """
    if stated is None:
        return {}
    if not isinstance(stated, Mapping):
        raise ParameterError(
            "Expected columns= to map names of columns to facts, such as "
            f'columns={{"age": dampen.number(0, 120)}}, got {a_thing(stated)}.'
        )
    known = _names_in_memory(data)
    for name in stated:
        if known is not None and name not in known:
            raise ParameterError(
                f"columns= states facts of a column {name!r}, which the data does not have."
                f"{did_you_mean(str(name), known)}"
            )
    return {name: _column(name, each) for name, each in stated.items()}


def _check_unit(unit: str, data: Any) -> None:
    """Refuses the name of a column that the data does not have.

    Raises:
        ParameterError: if it is one.
    """
    known = _names_in_memory(data)
    if unit and known is not None and unit not in ("row", "edge", "source", *known):
        raise ParameterError(
            f"Expected unit= to be 'row', 'edge', 'source' or a column of the data, got {unit!r}."
            f"{did_you_mean(unit, known)}"
        )


def _names_in_memory(data: Any) -> list[str] | None:
    """The names of the columns of a table in memory, None of anything else."""
    from dampen.data.memory import open_memory

    held = open_memory(data)
    return None if held is None else [field.name for field in held.fields]


def _column(name: str, facts: Any) -> Column:
    if isinstance(facts, Numbers | Categories | Names):
        return facts
    ends = isinstance(facts, tuple) and len(facts) == 2
    if ends and all(isinstance(end, int | float) for end in facts):
        raise ParameterError(
            f"The facts of {name!r} may be a range or a list of two values. Write "
            f"dampen.number({facts[0]}, {facts[1]}), or {list(facts)}."
        )
    return categories(facts)


def _listed(values: Sequence[Any]) -> tuple[Any, ...]:
    if isinstance(values, str | Mapping) or not hasattr(values, "__len__"):
        raise ParameterError(
            "Expected the facts of a column: a list of its values, dampen.number(lower, upper) or "
            f"dampen.names(), got {a_thing(values)}."
        )
    return tuple(values.tolist() if hasattr(values, "tolist") else values)


def _graph(
    nodes: int | Sequence[Any], source: str | None, target: str | None, max_degree: int | None
) -> Graph:
    listed = nodes if isinstance(nodes, int) else _listed(nodes)
    return Graph(listed, source=source, target=target, max_degree=max_degree)


def _registered(name: Any, config: str | PathLike[str], budget: Budget | None) -> Dataset:
    """The data set of that name in a `dampen.toml`, with its facts and its budget."""
    from dampen.ledger import Ledger, default_place
    from dampen.ledger.policy import load_policy

    found = load_policy(Path(config)).named(str(name))
    if budget is None:
        account = Ledger(found.ledger or default_place())[found.budgets[0]]
        budget = account.by(dataset=found.name, location=str(found.only_place))
    return Dataset(found.only_place, found.schema, budget, table=found.table)
