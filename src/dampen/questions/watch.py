"""`watch`: check data repeatedly, and pay only when a threshold is reached.

Each look asks whether at least T rows hold a condition.  Looks that are answered with no cost
nothing: one run of AboveThreshold (`dampen.core.thresholds`) answers them all, and ends with
the first yes.  The first look of a run is charged; the look after a yes starts another run.

Data may grow and change between looks.  Neighbours are two histories of which one has one row more,
at all looks or from some look on: it moves every count by 0 or 1 upwards, so that the questions are
monotone, and a run is ε-DP with noise of scale 2/ε.  Where a column names the person, persons are
counted, each once: one person more, with any rows at any looks, moves every count by 0 or 1 too.

**State.**  The threshold with its noise has to last for a run and is as private as the data.  It is
kept in a file that only its owner can read, or in the object alone.  That a run has ended is kept
in the ledger, beside its charge: a copy of the file cannot continue a run after its yes, because
the ledger takes one answer for a charge.
"""

import json
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dampen.core.sampling import Entropy
from dampen.core.selection import Neighbours
from dampen.core.thresholds import AboveThreshold, likely_miss, noise_scale
from dampen.data.source import Opened, require_labels
from dampen.data.units import Shares, UnitTable
from dampen.epsilon import Epsilon, decimal_text, exact
from dampen.errors import BudgetError, ParameterError, raise_alone
from dampen.questions.counts import CountQuestion
from dampen.releases.accuracy import CONFIDENCE, Accuracy
from dampen.releases.answer import Paid, open_entropy, pay
from dampen.releases.cost import Budget, Cost, Keeper, Price, composed_cost
from dampen.releases.release import Release

__all__ = ["Watch", "watch"]

LOOKS = 100
"""That the stated accuracy is about."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run: the noisy threshold, the id of its charge, and how many looks it had."""

    level: int
    charge: str | None
    looks: int

    def __repr__(self) -> str:
        return f"<Run of {self.looks} looks>"


@dataclass(slots=True)
class Watch:
    """Repeated looks that are paid for when a threshold is reached; made by `dampen.watch`.

    Attributes:
        threshold: how many rows are enough.
        where: the condition that they hold; None for all rows.
        epsilon: of every run.
        budget: where runs are charged; None charges nothing.
        state: the file that keeps the run; None to keep it in this object.
        unit: the column that names the person; None to count rows.
    """

    threshold: int
    where: str | None
    epsilon: Fraction
    budget: Budget | None
    state: Path | None
    unit: str | None = None
    _run: Run | None = None

    def look(
        self,
        data: Any,
        *,
        header: bool = False,
        table: str | None = None,
        entropy: Entropy | None = None,
    ) -> Release:
        """Whether there are enough rows, or persons; the first look of a run is charged.

        Args:
            data: a table, a column, or the path of a file, as it is now.
            header: says that the first line of a text file surely holds the names of its columns.
            table: of a database file, which table.
            entropy: of random bits; the operating system's by default.

        Returns:
            A `Release` whose answer is True or False.

        Raises:
            ParameterError: if a public parameter is wrong; nothing was charged.
            BudgetError: if the budget refuses, or the run has ended elsewhere.
            DataError: if the machine cannot read the data; the charge stands.
        """
        question = CountQuestion(where=self.where)
        source = self._seen(question.open(data, header=header, table=table))
        bits = open_entropy(entropy)
        run = self._continued() or self._paid(bits)
        run = replace(run, looks=run.looks + 1)
        self._keep(run)  # before the draw: a state that cannot be written tells of no answer
        above = self._is_above(question, source, run, bits)
        made = self._release(above, run, bits)
        if above:
            self._end(run, made)
        return made

    @property
    def accuracy(self) -> Accuracy:
        """How many rows more or less than the threshold may decide."""
        miss = likely_miss(self.scale, LOOKS, CONFIDENCE)
        counted = "rows" if self.unit is None else "people"
        sentence = (
            f"In at least {10 * CONFIDENCE:.0f} of 10 runs of up to {LOOKS} looks no look says yes "
            f"below {max(self.threshold - miss, 0):,} {counted}, and each does from "
            f"{self.threshold + miss:,} {counted} on."
        )
        return Accuracy(float(miss), counted, sentence)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise."""
        return noise_scale(self.epsilon, monotone=True)

    @property
    def cost(self) -> Cost:
        """The cost of a run."""
        rows = self.unit is None
        cost = composed_cost(
            Neighbours.ADD_REMOVE_ROW if rows else Neighbours.ADD_REMOVE_UNIT,
            Price(self.epsilon),
            query="watch",
            mechanism="above-threshold",
        )
        return replace(cost, unit=self.unit or "")

    def _seen(self, source: Opened) -> Opened:
        """The count of rows, or of persons once each.

        Raises:
            ParameterError: if there is no column of persons.
        """
        if self.unit is None:
            return source
        require_labels(source, self.unit)
        return UnitTable(source, self.unit, Shares(1))

    def _paid(self, bits: Entropy) -> Run:
        """Another run, charged."""
        paid = pay(self.cost, budget=self.budget, entropy=bits)
        level = AboveThreshold.start(self.threshold, self.scale, bits).level
        run = Run(level, paid.charge, 0)
        self._keep(run)
        return run

    def _is_above(self, question: CountQuestion, source: Opened, run: Run, bits: Entropy) -> bool:
        paid = Paid(self.cost, bits, self.budget, run.charge)
        with paid.looking():
            rows = int(question.counts(source)[0])
        return AboveThreshold(run.level, self.scale).is_above(rows, bits)

    def _release(self, above: bool, run: Run, bits: Entropy) -> Release:
        shown: dict[str, Any] = {"threshold": self.threshold, "looks": run.looks}
        shown |= {} if self.where is None else {"where": self.where}
        shown |= {} if self.unit is None else {"unit": self.unit}
        return Paid(self.cost, bits, None, run.charge).release(above, shown, self.accuracy)

    def _end(self, run: Run, made: Release) -> None:
        """Records the yes before it is returned; the ledger takes one for each charge.

        Where it cannot be recorded the error tells the yes, so that the run has ended too.
        """
        keeper: object = self.budget
        try:
            if run.charge is not None and isinstance(keeper, Keeper):
                keeper.keep(run.charge, made.to_json())
        finally:
            self._forget(run)

    def _forget(self, run: Run) -> None:
        """Lets a run go; the file may hold another one by now, of another process."""
        self._run = None
        with suppress(ParameterError):
            held = None if self.state is None else self._read()
            if self.state is not None and held is not None and held.charge == run.charge:
                self.state.unlink(missing_ok=True)

    def _continued(self) -> Run | None:
        """The run that goes on, if there is one."""
        run = self._run if self.state is None else self._read()
        if run is None or not self._has_ended(run):
            return run
        return None

    def _has_ended(self, run: Run) -> bool:
        ledger = getattr(self.budget, "ledger", None)
        if run.charge is None or ledger is None:
            return False
        try:
            ledger.answer(run.charge)
        except BudgetError:
            return False
        return True

    def _keep(self, run: Run) -> None:
        self._run = run
        if self.state is None:
            return
        told = {"watch": self._asked, "level": run.level, "charge": run.charge, "looks": run.looks}
        part = self.state.with_name(self.state.name + ".part")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(told, file)
        part.replace(self.state)

    def _read(self) -> Run | None:
        """The run of the file.

        Raises:
            ParameterError: if it is of another watch.
        """
        assert self.state is not None
        if not self.state.exists():
            return None
        try:
            told = json.loads(self.state.read_text(encoding="utf-8"))
            same = told["watch"] == self._asked
            run = Run(int(told["level"]), told["charge"], int(told["looks"]))
        except (KeyError, TypeError, ValueError, OSError):
            same = False
            run = None
        if not same:
            # Without the context, which may quote the file.
            raise_alone(
                ParameterError(
                    f"Expected {self.state} to be the state of this watch. Pass another state=, or "
                    "the same threshold, where and epsilon as before."
                )
            )
        return run

    @property
    def _asked(self) -> list[Any]:
        asked = [self.threshold, self.where, decimal_text(self.epsilon)]
        return asked if self.unit is None else [*asked, self.unit]


def watch(
    *,
    threshold: int,
    where: str | None = None,
    epsilon: Epsilon,
    budget: Budget | None = None,
    state: str | os.PathLike[str] | None = None,
    unit: str | None = None,
) -> Watch:
    """Watches for a number of rows: look as often as you like, and pay when it is reached.

    Guarantee: every run, all looks up to and with the first yes, is ε-DP under adding or removing
    one row.  A run is charged at its first look; the look after a yes starts another run.

    Args:
        threshold: how many rows are enough, public.
        where: the condition that they hold, such as "diagnosis == 'measles'"; None for all rows.
        epsilon: the privacy parameter of a run, exact: pass "0.5".
        budget: where to charge runs; None charges nothing.
        state: a file that keeps a run between processes.  Only its owner can read it: it is as
            private as the data.  None to keep it in the object.
        unit: the column that names the person a row belongs to: persons are then counted, and ε
            protects a person with all their rows at all looks.

    Returns:
        A `Watch`; ask `watch.look(data)`.

    Raises:
        ParameterError: if a public parameter is wrong; nothing was charged.

    >>> import dampen
    >>> measles = dampen.watch(threshold=30, where="diagnosis == 'measles'", epsilon="2")
    >>> monday = {"diagnosis": ["measles"] * 2 + ["flu"] * 90}
    >>> friday = {"diagnosis": ["measles"] * 60 + ["flu"] * 95}
    >>> measles.look(monday).answer, measles.look(friday).answer
    (False, True)
    """
    if isinstance(threshold, bool) or not isinstance(threshold, int) or threshold < 1:
        raise ParameterError(f"Expected threshold to be an integer >= 1, got {threshold!r}.")
    place = None if state is None else Path(state)
    made = Watch(threshold, where, exact(epsilon), budget, place, unit)
    made.scale  # noqa: B018  # an epsilon that is too small is refused here
    return made
