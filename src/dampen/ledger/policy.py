"""Which data may be asked with which budget: `dampen.toml`.

    ledger = "ledger.sqlite3"        # where its budgets are; relative to this file
    registered-only = true           # data that is not listed here may not be asked at all

    [[data]]
    name = "payroll"
    budgets = ["payroll"]
    files = ["salaries.csv", "exports"]              # files, and all that lies in directories
    tables = ["postgresql://hr/staff/salaries"]      # compared as text

What else the file may hold, `[service]` and `[data.public]`, is for `dampen serve`.

Whoever asks a registered file, by whatever link leads to it, must name one of its budgets; nothing
is read before that is checked.  The policy is the one given by `--config`, else by
`$DAMPEN_CONFIG`, else the nearest `dampen.toml` above the current directory; and always also the
nearest one above the data itself.  It guards against mistakes: whoever may read a file can ask it
with other software.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from dampen.errors import BudgetError, ParameterError, did_you_mean
from dampen.ledger.names import folded

__all__ = ["DataSet", "Policy", "check_policy", "load_policy", "read_policy"]

FILE = "dampen.toml"
LARGEST_FILE = 2**20


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
    content = read_policy(source)
    _check_keys(content, {"ledger", "registered-only", "data", "service"}, str(source))
    only = content.get("registered-only", False)
    if not isinstance(only, bool):
        raise ParameterError(f"Expected registered-only to be true or false in {source}.")
    base = source.resolve().parent
    ledger = _ledger(content.get("ledger"), base, str(source))
    listed = content.get("data", [])
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise ParameterError(f"Expected [[data]] tables in {source}.")
    return Policy(str(source), tuple(_data_set(d, base, ledger, str(source)) for d in listed), only)


def read_policy(source: Path) -> dict[str, Any]:
    """All that a `dampen.toml` holds, unchecked.

    Raises:
        ParameterError: if it cannot be read.
    """
    try:
        if source.stat().st_size > LARGEST_FILE:
            raise ParameterError(f"Expected {source} to be a policy of at most 1 MB.")
        return tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParameterError(f"Cannot read {source}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        raise ParameterError(f"Expected {source} to be a policy in TOML.") from None


def _data_set(entry: Mapping[str, Any], base: Path, ledger: str | None, source: str) -> DataSet:
    _check_keys(entry, {"name", "budgets", "files", "tables", "public"}, source)
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ParameterError(f"Expected a name for every [[data]] in {source}.")
    budgets, files, tables = (_texts(entry, key, source) for key in ("budgets", "files", "tables"))
    if not budgets or not (files or tables):
        raise ParameterError(f"Expected budgets, and files or tables, of {name!r} in {source}.")
    return DataSet(name, budgets, tuple(base / file for file in files), tables, ledger)


def _texts(entry: Mapping[str, Any], key: str, source: str) -> tuple[str, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list) or not all(map(_is_text, value)):
        raise ParameterError(f"Expected {key} to be a list of texts in {source}.")
    return tuple(value)


def _ledger(value: object, base: Path, source: str) -> str | None:
    if value is None:
        return None
    if not _is_text(value):
        raise ParameterError(f"Expected ledger to be a path or an address in {source}.")
    return value if "://" in value else str(base / value)


def _is_text(value: object) -> TypeGuard[str]:
    """Something that may be the name of a file."""
    return isinstance(value, str) and value != "" and "\0" not in value


def _check_keys(table: Mapping[str, Any], known: set[str], source: str) -> None:
    for key in table:
        if key not in known:
            raise ParameterError(f"Unknown key {key!r} in {source}.{did_you_mean(key, known)}")


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
