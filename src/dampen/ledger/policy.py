"""The policy of a `dampen.toml`: which data may be asked with which budget.

    ledger = "ledger.sqlite3"        # where its budgets are; relative to this file
    registered-only = true           # data that is not listed here may not be asked at all

    [[data]]
    name = "payroll"
    budgets = ["payroll"]
    files = ["salaries.csv", "exports"]              # files, and all that lies in directories
    tables = ["postgresql://hr/staff/salaries"]      # compared as text

What else the file may hold, public facts and settings of `dampen serve`, is described in
`dampen.schema.grammar`, which reads it.

Whoever asks a registered file, by whatever link, directory or pattern leads to it, must name one of
its budgets; nothing is read before that is checked.  The same rows have one relation: two data sets
that share a file or a table and protect something else are refused, since what one of them shows,
such as the number of rows, would break the promise of the other.  The policy is the one given by
`--config`, else by `$DAMPEN_CONFIG`, else the nearest `dampen.toml` above the current directory;
and always also the nearest one above the data itself.  It guards against mistakes: whoever may read
a file can ask it with other software.
"""

import os
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from dampen.core.selection import Neighbours
from dampen.data.files import files_of, is_pattern
from dampen.errors import BudgetError, ParameterError, did_you_mean
from dampen.ledger.log import folded
from dampen.schema.grammar import Data, File, load_file, with_nodes
from dampen.schema.schema import Schema

__all__ = [
    "DataSet",
    "Policy",
    "check_policy",
    "load_policy",
    "near_ledger",
    "payable_by",
    "policy_of",
    "registered_name",
]

FILE = "dampen.toml"


@dataclass(frozen=True, slots=True)
class DataSet:
    """Data that can only be asked with its budgets.

    Attributes:
        name: what charges record as the data set.
        budgets: the names of its budgets; several if it is asked under several relations.
        files: files and directories.
        tables: addresses of tables.
        ledger: where the budgets are; None for the default.
        schema: its public facts, and so its relation.
        table: of a database, which table.
    """

    name: str
    budgets: tuple[str, ...]
    files: tuple[Path, ...] = ()
    tables: tuple[str, ...] = ()
    ledger: str | None = None
    schema: Schema = field(default_factory=Schema)
    table: str | None = None

    @property
    def only_place(self) -> str:
        """Where its rows are.

        Raises:
            ParameterError: if they are in several places.
        """
        places = [*map(str, self.files), *self.tables]
        if len(places) != 1:
            raise ParameterError(
                f"The data set {self.name!r} has {len(places)} files and tables. Name the one to "
                "ask, or register each of them as a data set of its own."
            )
        return places[0]

    def place(self, ledger: str | None) -> str | None:
        """The ledger to pay from: its own or, where the policy names none, the one asked for.

        Raises:
            BudgetError: if another one than its own was asked for.
        """
        if self.ledger is None or ledger is None:
            return self.ledger or ledger
        if ledger != self.ledger and os.path.realpath(ledger) != os.path.realpath(self.ledger):
            raise BudgetError(
                f"The budgets of the data set {self.name!r} are in another ledger. Nothing was "
                "charged, no data was read."
            )
        return self.ledger

    @property
    def protected(self) -> str:
        """What ε protects, in words; under replacement also which columns stay as they are."""
        if self.schema.people is not None:
            return f"{self.schema.relation} of {self.schema.people}"
        fixed = [name for name in self.schema.columns if self.schema.is_fixed(name)]
        if self.schema.relation is not Neighbours.REPLACE_ONE or not fixed:
            return str(self.schema.relation)
        return f"{self.schema.relation} with public {', '.join(sorted(fixed))}"

    def shares_rows(self, other: "DataSet") -> bool:
        """Whether rows of another data set may be rows of this one too."""
        if None not in (self.table, other.table) and self.table != other.table:
            return False
        places = [*map(str, self.files), *self.tables]
        others = [*map(str, other.files), *other.tables]
        return any(map(other.holds, places)) or any(map(self.holds, others))

    def holds(self, location: str) -> bool:
        """Whether data at a location belongs to it, by its path, a link to it, or its text."""
        return location in self.tables or any(_within(location, place) for place in self.files)


@dataclass(frozen=True, slots=True)
class Policy:
    """The data sets of one `dampen.toml`; `ledger` is where their budgets are, None by default."""

    source: str = ""
    sets: tuple[DataSet, ...] = ()
    registered_only: bool = False
    ledger: str | None = None

    def named(self, name: str) -> DataSet:
        """The data set of that name.

        Raises:
            ParameterError: if there is none.
        """
        for each in self.sets:
            if each.name == name:
                return each
        known = [each.name for each in self.sets]
        raise ParameterError(
            f"Expected the name of a data set in {self.source}, one of {', '.join(known)}, got "
            f"{name!r}.{did_you_mean(name, known)}"
        )

    def find(self, location: str) -> DataSet | None:
        """The data set that a location belongs to, if it is registered."""
        return next((each for each in self.sets if each.holds(location)), None)

    def check(self, location: str, budget: str | None) -> DataSet | None:
        """Refuses a question that the policy does not allow.

        Returns:
            The data set, if the location is registered.

        Raises:
            BudgetError: if it is registered and another budget, or none, was named; or if it is
                not and only registered data may be asked.
        """
        found = self.find(location)
        if found is None:
            if self.registered_only:
                raise BudgetError(
                    f"This data is not registered in {self.source}, which allows only registered "
                    f"data. "
                    "Nothing was charged, no data was read."
                )
            return None
        if budget is None or folded(budget) not in map(folded, found.budgets):
            named = " or ".join(map(repr, found.budgets))
            raise BudgetError(
                f"The data set {found.name!r} can only be asked with the budget {named} "
                f"({self.source}). Name the data set in place of the file, or add --budget. "
                "Nothing was charged, no data was read."
            )
        return found


def check_policy(
    location: str | os.PathLike[str],
    budget: str | None,
    config: str | os.PathLike[str] | None = None,
) -> DataSet | None:
    """Refuses a question that a policy does not allow, before any data is read.

    Args:
        location: the path of a file or directory, or the address of a table.
        budget: the name of the budget that shall pay, if any.
        config: a policy that was named; see the module for where others are looked for.

    Returns:
        The data set that the location belongs to, if it is registered.

    Raises:
        ParameterError: if a policy cannot be read.
        BudgetError: if one does not allow the question.
    """
    place = os.fspath(location)
    found = None
    for policy in _policies(place, config):
        found = policy.check(place, budget) or found
    several = not _is_address(place) and (os.path.isdir(place) or is_pattern(place))
    around: dict[str, list[Policy]] = {}
    for file in files_of(place) if several else []:
        directory = os.path.dirname(os.path.realpath(file))
        if directory not in around:
            around[directory] = _policies(file, config)
        for policy in around[directory]:
            other = policy.check(file, budget)
            if found is not None and other is not None and found.name != other.name:
                raise BudgetError(
                    f"{place} stands for files of several data sets. Name one of them. Nothing was "
                    "charged, no data was read."
                )
            found = found or other
    return found


def registered_name(name: str, config: str | os.PathLike[str] | None = None) -> DataSet | None:
    """The data set of that name in the policy that was named, or is the nearest; None for none.

    A file of that name comes first, so that what was a path stays one.

    Raises:
        ParameterError: if a policy cannot be read.
    """
    if name == "-" or "://" in name or os.path.lexists(name):
        return None
    return next((each for each in _near_sets(config) if each.name == name), None)


def payable_by(budget: str, config: str | os.PathLike[str] | None = None) -> DataSet | None:
    """The data set that a budget is registered to pay for, if there is one.

    Raises:
        ParameterError: if a policy cannot be read.
    """
    asked = folded(budget)
    return next((each for each in _near_sets(config) if asked in map(folded, each.budgets)), None)


def near_ledger(config: str | os.PathLike[str] | None = None) -> str | None:
    """The ledger of the policy that was named, or is the nearest.

    Returns:
        Its place; None if the policy names none, or several.

    Raises:
        ParameterError: if a policy cannot be read.
    """
    places = {each.ledger for each in _near_sets(config)}
    return places.pop() if len(places) == 1 else None


def _near_sets(config: str | os.PathLike[str] | None) -> tuple[DataSet, ...]:
    """The data sets of the policy that was named, or is the nearest."""
    named = config or os.environ.get("DAMPEN_CONFIG")
    file = Path(named) if named else _nearest(Path.cwd())
    return () if file is None else load_policy(file).sets


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """Reads a `dampen.toml`.

    Raises:
        ParameterError: if it cannot be read, or says what no policy can say.
    """
    source = Path(path)
    return policy_of(load_file(source), source)


def policy_of(file: File, source: Path) -> Policy:
    """The policy in a `dampen.toml` that was read from `source`.

    Raises:
        ParameterError: if a data set has no budgets, or neither files nor tables; or if two of
            them have the same rows and different relations.
    """
    base = source.resolve().parent
    ledger = _ledger(file.ledger, base)
    sets = tuple(_data_set(data, base, ledger, str(source)) for data in file.data)
    for one, other in combinations(sets, 2):
        _check_relations(one, other, str(source))
    return Policy(str(source), sets, file.registered_only, ledger)


def _check_relations(one: DataSet, other: DataSet, source: str) -> None:
    if one.protected == other.protected or not one.shares_rows(other):
        return
    raise ParameterError(
        f"{one.name!r} and {other.name!r} in {source} have rows in common, but {one.name!r} "
        f"protects {one.protected} and {other.name!r} {other.protected}. The same rows need one "
        "relation: write the same unit, units-public and public columns in both, or register the "
        "rows once."
    )


def _data_set(data: Data, base: Path, ledger: str | None, source: str) -> DataSet:
    if not data.budgets or not (data.files or data.tables):
        raise ParameterError(
            f"Expected budgets, and files or tables, of {data.name!r} in {source}."
        )
    files = tuple(base / file for file in data.files)
    schema = with_nodes(data.schema, base)
    return DataSet(data.name, data.budgets, files, data.tables, ledger, schema, data.table)


def _ledger(value: str | None, base: Path) -> str | None:
    if value is None or "://" in value:
        return value
    return str(base / value)


def _policies(location: str, config: str | os.PathLike[str] | None) -> list[Policy]:
    named = config or os.environ.get("DAMPEN_CONFIG")
    beside = Path(os.path.realpath(location)).parent
    around = [] if _is_address(location) else [_nearest(beside)]
    files = [Path(named) if named else _nearest(Path.cwd()), *around]
    distinct = dict.fromkeys(file for file in files if file is not None)
    return [load_policy(file) for file in distinct]


def _nearest(directory: Path) -> Path | None:
    candidates = (above / FILE for above in (directory, *directory.parents))
    return next((file for file in candidates if file.is_file()), None)


def _is_address(location: str) -> bool:
    """Whether a location is on a server; a path may look like an address."""
    return "://" in location and not os.path.lexists(location)


def _within(location: str, place: Path) -> bool:
    """Whether a path is a registered file, or lies in a registered directory."""
    if _is_address(location):
        return False
    asked = Path(os.path.realpath(location))
    registered = Path(os.path.realpath(place))
    if asked == registered or registered in asked.parents:
        return True
    try:
        return asked.samefile(registered)  # a hard link
    except OSError:
        return False
