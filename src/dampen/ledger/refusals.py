"""Which refusals are recorded: the first ones of a day in full, then ever fewer with a count.

A refusal costs nothing, so an analyst without budget could fill a disk with them.  Refusals of one
analyst, by one budget and for one reason, are alike.  Of those that are alike the first 10 of a day
are recorded, then the 16th, the 32nd and so on; each entry says how many were not recorded since
the last one (`repeats`).  So n refusals a day make at most 10 + log2(n) entries, and an audit sees
who was refused, why, when it began and, within a factor of two, how often.  A process that ends
forgets the repeats that it has not recorded yet.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from dampen.ledger.log import Draft, folded

__all__ = ["Refusals"]

IN_FULL = 10
"""Refusals that are alike and recorded one by one, each day."""

MOST_ANALYSTS = 100
"""Names of analysts that are counted apart, for each budget and day; the others share a count."""

_Alike: TypeAlias = tuple[str, str, str]


@dataclass(slots=True)
class Refusals:
    """How often was refused today, and how many of these refusals are in no entry."""

    day: str = ""
    counts: dict[_Alike, int] = field(default_factory=dict)
    analysts: dict[str, set[str]] = field(default_factory=dict)
    unrecorded: dict[_Alike, int] = field(default_factory=dict)

    def add(self, budget: str, details: Mapping[str, Any]) -> None:
        """Counts a refusal that is in the log, with those that it stands for."""
        alike = self._alike(budget, details)
        before = self.counts.get(alike, 0)
        # This process has counted its own repeats already.
        others = max(0, int(details.get("repeats", 0)) - self.unrecorded.pop(alike, 0))
        self.counts[alike] = before + others + 1

    def entry(self, draft: Draft) -> Draft | None:
        """The entry of a refusal; None if it is only counted."""
        alike = self._alike(draft.budget, draft.details)
        count = self.counts.get(alike, 0) + 1
        repeats = self.unrecorded.get(alike, 0)
        if count > IN_FULL and count.bit_count() != 1:
            self.counts[alike] = count
            self.unrecorded[alike] = repeats + 1
            return None
        if not repeats:
            return draft
        return replace(draft, details={**draft.details, "repeats": repeats})

    def _alike(self, budget: str, details: Mapping[str, Any]) -> _Alike:
        day = str(details.get("time", ""))[:10]
        if day > self.day:
            self.day = day
            self.counts.clear()
            self.analysts.clear()
        who = folded(str(details.get("analyst", "")))
        known = self.analysts.setdefault(budget, set())
        if who not in known and len(known) >= MOST_ANALYSTS:
            who = "*"
        known.add(who)
        return budget, who, str(details.get("rule", ""))
