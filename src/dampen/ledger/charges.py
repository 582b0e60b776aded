"""A charge, for people and programs that read a ledger."""

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Self

from dampen.core.selection import Neighbours
from dampen.ledger.log import Entry

__all__ = ["Charge"]


@dataclass(frozen=True, slots=True)
class Charge:
    """One charge of a budget; `epsilon` is None if the release had no pure ε."""

    id: str
    epsilon: Fraction | None
    rho: Fraction
    query: str
    mechanism: str
    neighbours: Neighbours
    analyst: str
    dataset: str
    leaks: tuple[str, ...]
    converted: str
    time: datetime
    version: str

    @classmethod
    def of(cls, entry: Entry) -> Self:
        """The charge in an entry."""
        details = dict(entry.details)
        return cls(
            id=entry.id,
            epsilon=Fraction(details["epsilon"]) if details["epsilon"] else None,
            rho=Fraction(details["rho"]),
            query=details["query"],
            mechanism=details["mechanism"],
            neighbours=Neighbours(details["neighbours"]),
            analyst=details["analyst"],
            dataset=details["dataset"],
            leaks=tuple(details["leaks"]),
            converted=details.get("converted", ""),
            time=datetime.fromisoformat(details["time"]),
            version=details["version"],
        )
