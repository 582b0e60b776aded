"""Which data may be asked with which budget: `dampen.toml`.

    ledger = "ledger.sqlite3"        # where its budgets are; relative to this file
    registered-only = true           # data that is not listed here may not be asked at all

    [[data]]
    name = "payroll"
    budgets = ["payroll"]
    files = ["salaries.csv", "exports"]              # files, and all that lies in directories
    tables = ["postgresql://hr/staff/salaries"]      # compared as text

What else the file may hold, public facts and settings of `dampen serve`, is described in
`dampen.schema.grammar`, which reads it.

Whoever asks a registered file, by whatever link leads to it, must name one of its budgets; nothing
is read before that is checked.  The policy is the one given by `--config`, else by
`$DAMPEN_CONFIG`, else the nearest `dampen.toml` above the current directory; and always also the
nearest one above the data itself.  It guards against mistakes: whoever may read a file can ask it
with other software.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from dampen.errors import BudgetError, ParameterError
from dampen.ledger.log import folded
from dampen.schema.grammar import Data, File, load_file

__all__ = ["DataSet", "Policy", "check_policy", "load_policy", "policy_of"]

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
    """

    name: str
    budgets: tuple[str, ...]
    files: tuple[Path, ...] = ()
    tables: tuple[str, ...] = ()
    ledger: str | None = None

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

    def holds(self, location: str) -> bool:
        """Whether data at a location belongs to it, by its path, a link to it, or its text."""
        return location in self.tables or any(_within(location, place) for place in self.files)


@dataclass(frozen=True, slots=True)
class Policy:
    """The data sets of one `dampen.toml`."""

    source: str = ""
    sets: tuple[DataSet, ...] = ()
    registered_only: bool = False

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
                    f"This data is not registered in {self.source}, which allows no other. "
                    "Nothing was charged, no data was read."
                )
            return None
        if budget is None or folded(budget) not in map(folded, found.budgets):
            named = " or ".join(map(repr, found.budgets))
            raise BudgetError(
                f"The data set {found.name!r} can only be asked with the budget {named} "
                f"({self.source}). Nothing was charged, no data was read."
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
    return found


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
        ParameterError: if a data set has no budgets, or neither files nor tables.
    """
    base = source.resolve().parent
    ledger = _ledger(file.ledger, base)
    sets = tuple(_data_set(data, base, ledger, str(source)) for data in file.data)
    return Policy(str(source), sets, file.registered_only)


def _data_set(data: Data, base: Path, ledger: str | None, source: str) -> DataSet:
    if not data.budgets or not (data.files or data.tables):
        raise ParameterError(
            f"Expected budgets, and files or tables, of {data.name!r} in {source}."
        )
    files = tuple(base / file for file in data.files)
    return DataSet(data.name, data.budgets, files, data.tables, ledger)


def _ledger(value: str | None, base: Path) -> str | None:
    if value is None or "://" in value:
        return value
    return str(base / value)


def _policies(location: str, config: str | os.PathLike[str] | None) -> list[Policy]:
    named = config or os.environ.get("DAMPEN_CONFIG")
    around = [_nearest(Path(os.path.realpath(location)).parent)] if "://" not in location else []
    files = [Path(named) if named else _nearest(Path.cwd()), *around]
    distinct = dict.fromkeys(file for file in files if file is not None)
    return [load_policy(file) for file in distinct]


def _nearest(directory: Path) -> Path | None:
    candidates = (above / FILE for above in (directory, *directory.parents))
    return next((file for file in candidates if file.is_file()), None)


def _within(location: str, place: Path) -> bool:
    """Whether a path is a registered file, or lies in a registered directory."""
    if "://" in location:
        return False
    asked = Path(os.path.realpath(location))
    registered = Path(os.path.realpath(place))
    if asked == registered or registered in asked.parents:
        return True
    try:
        return asked.samefile(registered)  # a hard link
    except OSError:
        return False
