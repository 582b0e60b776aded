"""What `dampen serve` is told: the policy of `dampen.toml`, public facts, and settings.

[service]
state = "service.sqlite3"      # tokens and incidents, relative to this file
hosts = ["dampen.example.org"] # names under which it is reached, besides this machine's own
step = 0.25                    # seconds: answers leave at multiples of it
patience = 60                  # seconds: an answer that takes longer is fetched later
requests-per-minute = 240      # of one analyst
waiting = 1000                 # questions that wait; more are turned away
workers = 16                   # questions that are worked on at a time
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from dampen.errors import ParameterError, did_you_mean
from dampen.ledger import Ledger, default_place, load_policy
from dampen.ledger.names import folded
from dampen.ledger.policy import read_policy
from dampen.service.facts import Facts, parse_facts
from dampen.service.questions import possible_questions
from dampen.service.sources import Source, source_of

__all__ = ["Configuration", "Served", "Settings", "load_configuration"]

STATE = "service.sqlite3"


@dataclass(frozen=True, slots=True)
class Settings:
    """How a service behaves; all of it public."""

    state: Path = Path(STATE)
    hosts: tuple[str, ...] = ()
    step: float = 0.25
    patience: float = 60
    requests_per_minute: int = 240
    waiting: int = 1000
    workers: int = 16


@dataclass(frozen=True, slots=True)
class Served:
    """A data set that can be asked; `digest` is that of its facts."""

    name: str
    budgets: tuple[str, ...]
    facts: Facts
    digest: str
    source: Source

    def allows(self, analyst: str) -> bool:
        """Whether an analyst may ask it."""
        if self.facts.analysts is None:
            return True
        return folded(analyst) in map(folded, self.facts.analysts)


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
    policy = load_policy(source)
    content = read_policy(source)
    base = source.resolve().parent
    served: dict[str, Served] = {}
    ledgers: set[str | None] = set()
    for registered, entry in zip(policy.sets, content.get("data", []), strict=True):
        if "public" not in entry:
            continue
        where = f"[data.public] of {registered.name!r} in {source}"
        if "/" in registered.name or not registered.name.isprintable():
            raise ParameterError(f"Expected a name without '/' beside {where}.")
        if registered.name in served:
            raise ParameterError(f"Expected another name than {registered.name!r} in {source}.")
        facts = _with_questions(parse_facts(entry["public"], base, where), where)
        source_ = source_of(registered.files, registered.tables, facts.table, where)
        served[registered.name] = Served(
            registered.name, registered.budgets, facts, facts.digest(), source_
        )
        ledgers.add(registered.ledger)
    if not served:
        raise ParameterError(f"Expected a data set with [data.public] in {source}.")
    settings = _settings(content.get("service", {}), base, source)
    return Configuration(source, settings, served, Ledger(ledgers.pop() or default_place()))


def _with_questions(facts: Facts, where: str) -> Facts:
    """The facts with the questions that may be asked: those that are listed, or all possible."""
    possible = possible_questions(facts)
    for name in facts.questions:
        if name not in possible:
            raise ParameterError(
                f"Expected questions that the facts are enough for, {', '.join(possible)}, in "
                f"{where}, got {name!r}.{did_you_mean(name, possible)}"
            )
    return replace(facts, questions=facts.questions or possible)


def _settings(content: object, base: Path, source: Path) -> Settings:
    where = f"[service] of {source}"
    if not isinstance(content, dict):
        raise ParameterError(f"Expected a table {where}.")
    known = {field.name.replace("_", "-"): field for field in fields(Settings)}
    given: dict[str, Any] = {"state": base / str(content.get("state", STATE))}
    for key, value in content.items():
        if key not in known:
            raise ParameterError(f"Unknown key {key!r} in {where}.{did_you_mean(key, known)}")
        if key == "state":
            continue
        given[known[key].name] = (
            _hosts(value, where)
            if key == "hosts"
            else _above_zero(value, key, whole=known[key].type is int, where=where)
        )
    return Settings(**given)


def _hosts(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ParameterError(f"Expected hosts to be a list of texts in {where}.")
    return tuple(value)


def _above_zero(value: Any, key: str, *, whole: bool, where: str) -> Any:
    kinds = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value < 10**6:
        what = "whole number" if whole else "number"
        raise ParameterError(f"Expected {key} to be a {what} above 0 in {where}.")
    return value
