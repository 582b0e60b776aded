"""What `dampen serve` is told: data sets and their public facts (`dampen.schema`), and settings.

[service]
state = "service.sqlite3"      # tokens and incidents, relative to this file
hosts = ["dampen.example.org"] # names under which it is reached, besides this machine's own
step = 0.25                    # seconds: answers leave at multiples of it
patience = 60                  # seconds: an answer that takes longer is fetched later
requests-per-minute = 240      # of one analyst
waiting = 1000                 # questions that wait; more are turned away
waiting-each = 100             # the same of one analyst
workers = 16                   # questions that are worked on at a time; a quarter may be long ones
register-from = ["data"]       # directories whose files curators may register on the page
show-check = "local"           # who sees exact counts there: curators on this machine; or "always"
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Literal

from dampen.errors import ParameterError, did_you_mean
from dampen.ledger import DataSet, Ledger, default_place
from dampen.ledger.policy import policy_of
from dampen.schema import Schema
from dampen.schema.grammar import Data, File, Place, load_file, read_table, with_nodes
from dampen.service.questions import possible_questions
from dampen.service.sources import Source, source_of

__all__ = ["Configuration", "Served", "Settings", "configuration_of", "load_configuration"]

STATE = "service.sqlite3"
LARGEST = 10**6


@dataclass(frozen=True, slots=True)
class Settings:
    """How a service behaves; all of it public."""

    state: Path = Path(STATE)
    hosts: tuple[str, ...] = ()
    step: float = 0.25
    patience: float = 60
    requests_per_minute: int = 240
    waiting: int = 1000
    waiting_each: int = 100
    workers: int = 16
    register_from: tuple[Path, ...] = ()
    show_check: Literal["local", "always", "never"] = "local"

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, int | float) and not 0 < value < LARGEST:
                key = each.name.replace("_", "-")
                raise ParameterError(f"Expected {key} to be a number above 0 and below 10^6.")


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """A data set that can be asked, by all analysts or by some; `digest` is that of its schema."""

    name: str
    budgets: tuple[str, ...]
    schema: Schema
    digest: str
    source: Source
    questions: tuple[str, ...]
    analysts: tuple[str, ...] | None = None
    sample: Path | None = None

    def shown(self) -> dict[str, object]:
        """The public facts as JSON, for analysts."""
        asked = {"questions": list(self.questions), "sample": self.sample is not None}
        return self.schema.shown() | asked


@dataclass(frozen=True, slots=True)
class Configuration:
    """All that a service knows before it looks at anything."""

    source: Path
    settings: Settings
    sets: Mapping[str, Served]
    ledger: Ledger


def load_configuration(path: str | Path) -> Configuration:
    """Reads and checks a `dampen.toml` for a service; no data is opened.

    Raises:
        ParameterError: if it cannot be read, or says what no configuration can say.
    """
    source = Path(path)
    return configuration_of(load_file(source), source)


def configuration_of(file: File, source: Path) -> Configuration:
    """The configuration in a `dampen.toml` that was read from `source`; no data is opened.

    Raises:
        ParameterError: if it says what no configuration can say.
    """
    policy = policy_of(file, source)
    settings = read_table(Settings, file.service, Place(str(source), "service"))
    served: dict[str, Served] = {}
    for registered, data in zip(policy.sets, file.data, strict=True):
        if not data.schema.columns and data.schema.graph is None:
            continue
        if data.name in served:
            raise ParameterError(f"Expected another name than {data.name!r} in {source}.")
        served[data.name] = _served(registered, data, source)
    if not served and not settings.register_from:
        raise ParameterError(
            f"Expected a data set with [data.columns] or [data.graph] in {source}, or "
            "register-from in [service] to register one on the page."
        )
    base = source.resolve().parent
    open_to = tuple(base / each for each in settings.register_from)
    settings = replace(settings, state=base / settings.state, register_from=open_to)
    return Configuration(source, settings, served, Ledger(policy.ledger or default_place()))


def _served(registered: DataSet, data: Data, source: Path) -> Served:
    where = f"[[data]] of {data.name!r} in {source}"
    base = source.resolve().parent
    if "/" in data.name or not data.name.isprintable():
        raise ParameterError(f"Expected a name without '/' in {where}.")
    schema = with_nodes(data.schema, base)
    return Served(
        data.name,
        registered.budgets,
        schema,
        schema.digest(),
        source_of(registered.files, registered.tables, data.table, where, schema),
        _questions(schema, data.questions, where),
        data.analysts,
        None if data.sample is None else base / data.sample,
    )


def _questions(schema: Schema, wanted: tuple[str, ...] | None, where: str) -> tuple[str, ...]:
    possible = possible_questions(schema)
    for name in wanted or ():
        if name not in possible:
            raise ParameterError(
                f"Expected questions that the facts are enough for, {', '.join(possible)}, in "
                f"{where}, got {name!r}.{did_you_mean(name, possible)}"
            )
    return possible if wanted is None else wanted
