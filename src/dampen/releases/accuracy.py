"""How good an answer will be: from public facts alone, before anything is paid.

- `Accuracy`: what every method states, and `by_lead`, `by_noise` and so on, which make its
  sentences.
- `lead`, `least_probability`, `likely_noise` and so on: the numbers behind them.

Whether an answer is right depends on the data.  What does not: how far the best candidates must be
ahead to be named with a given probability.  That *lead* is a function of the noise, of ε and of the
number of candidates.

Every method states its accuracy as an `Accuracy`: a number with a unit, bounded by what is
possible, and whether the answer would be chance.  All sentences about accuracy are made here.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from dampen.core.mechanisms import Mechanism, with_scores
from dampen.core.noise import Exponential, Gumbel, Laplace, gauss
from dampen.core.selection import FloatArray, Selection
from dampen.data.source import Opened
from dampen.epsilon import decimal_text
from dampen.errors import ParameterError
from dampen.releases.numbers import LAPLACE, IntegerNoise, at_most, likely

__all__ = [
    "CONFIDENCE",
    "UNKNOWN",
    "Accuracy",
    "by_distance",
    "by_lead",
    "by_likeliest",
    "by_neighbours",
    "by_noise",
    "by_rows",
    "by_sides",
    "by_tail",
    "by_threshold",
    "counted_in_part",
    "even_distance",
    "in_unit",
    "lead",
    "least_probability",
    "likely_noise",
    "likely_push",
    "likely_side",
    "of_all",
    "of_numbers",
    "rounded_up",
    "too_few",
]

CONFIDENCE = 0.9
"""The probability that sentences about accuracy speak of."""
RUNS = "In at least 9 of 10 runs"
FINE = 64
"""Noise of a larger scale is added up in so many blocks a scale."""
LONGEST = 8
"""Characters of an ε in a sentence."""
NEAR = 0.9
"""An error above this share of the largest possible one is nearly chance."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How good an answer will be, whatever the data is; from public facts alone.

    Attributes:
        error: how far off the answer is in one of ten runs at most, in `unit`; None where public
            facts do not tell.  Never above what is possible.
        unit: what `error` counts, such as "rows" or "ranks".
        sentence: the same for people.
        chance: whether the answer is hardly better than a guess.
        usual: a smaller error that values keep to which are spread evenly, where `error` depends on
            the gaps of the data; None where there is no such number.
    """

    error: float | None
    unit: str
    sentence: str
    chance: bool = False
    usual: float | None = None

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        told = {
            "error": self.error,
            "unit": self.unit,
            "sentence": self.sentence,
            "chance": self.chance,
        }
        return told if self.usual is None else told | {"usual": self.usual}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> "Accuracy":
        """What `to_dict` gave.

        Raises:
            ParameterError: if it is something else.
        """
        error = told["error"]
        if not (error is None or isinstance(error, int | float)):
            raise ParameterError("Expected the error of an accuracy to be a number or null.")
        usual = told.get("usual")
        if not (usual is None or isinstance(usual, int | float)):
            raise ParameterError("Expected the usual error of an accuracy to be a number or null.")
        sentence = str(told["sentence"])
        return cls(error, str(told["unit"]), sentence, told["chance"] is True, usual)


UNKNOWN = Accuracy(
    None,
    "",
    "The accuracy cannot be stated without looking at the private data. Estimate it with "
    "`dampen compare` on similar public data.",
)


def by_lead(
    needed: float | None,
    unit: str,
    *,
    who: tuple[str, str],
    k: int,
    epsilon: Fraction,
    most: float | None = None,
    of: str = "",
    subject: str = "the answer",
) -> Accuracy:
    """The accuracy of k candidates that must lead all others to be named.

    Args:
        needed: the lead, in `unit`; None where it is not known.
        unit: what a lead counts, in the plural.
        who: what candidates are, one and several.
        k: how many are released.
        epsilon: of all of them.
        most: the largest lead that is possible, where it is public.
        of: what leads, such as "its sum", where it is not the candidate itself.
        subject: what names the candidates, such as "the class of a leaf".

    >>> who = ("category", "categories")
    >>> print(by_lead(4.2, "rows", who=who, k=1, epsilon=Fraction(1, 2)))
    In at least 9 of 10 runs the answer is the true winner if it leads every other category by 5 ...
    >>> by_lead(4.2, "rows", who=who, k=1, epsilon=Fraction(1, 2), most=3).chance
    True
    """
    if needed is None:
        return UNKNOWN
    one, several = who
    lead = rounded_up(needed)
    if most is not None and needed > most:
        enough = _larger_epsilon(epsilon, needed, most)
        named = f"the right {one}" if k == 1 else f"most of the right {several}"
        sentence = (
            f"ε = {_shown(epsilon)} is too small for this question: a lead of {lead:,} "
            f"{unit} is needed and at most {most:,.0f} are possible. Do not expect {named}. "
            f"Use ε ≥ {enough}{', or ask for fewer' if k > 1 else ''}."
        )
        return Accuracy(float(most), unit, sentence, chance=True)
    winner = "the true winner if it leads" if k == 1 else f"the true top {k} if they lead"
    lead = lead if most is None else min(lead, int(most))
    lead_of = f" in {of}" if of else ""
    by = counted(lead, unit)
    sentence = f"{RUNS} {subject} is {winner} every other {one} by {by}{lead_of}."
    return Accuracy(float(lead), unit, sentence)


def by_neighbours(
    needed: float | None,
    *,
    k: int,
    epsilon: Fraction,
    most: int,
    enough: float,
    one_is_enough: bool,
    decides: bool = True,
    of: str = "",
) -> Accuracy:
    """The accuracy of k nodes of a graph that must lead all others to be named.

    Args:
        needed: the lead, in neighbours; None where it is not known.
        k: how many are released.
        epsilon: of all of them.
        most: the largest lead that is possible.
        enough: an ε at which no more than that is needed.
        one_is_enough: whether one node alone could be named.
        decides: whether nodes with that lead are the answer; else they are among those that are
            compared at last.
        of: what leads, where it is not the number of neighbours itself.

    >>> print(by_neighbours(95, k=3, epsilon=Fraction(1, 2), most=36, enough=1.32,
    ...     one_is_enough=True))
    This graph is too small for ε = 0.5: expect most of the top 3 to be wrong. Use ε ≥ 1.4 or ask
    for one node.
    """
    if needed is None:
        return UNKNOWN
    if most < 1:
        sentence = "This graph is too small: no node can have more neighbours than all others."
        return Accuracy(0.0, "neighbours", sentence, chance=True)
    if needed > most:
        wrong = "the answer to be wrong" if k == 1 else f"most of the top {k} to be wrong"
        fewer = " or ask for one node" if k > 1 and one_is_enough else ""
        sentence = (
            f"This graph is too small for ε = {_shown(epsilon)}: expect {wrong}. "
            f"Use ε ≥ {_two_digits(enough)}{fewer}."
        )
        return Accuracy(float(most), "neighbours", sentence, chance=True)
    if decides:
        who = ("node", "nodes")
        return by_lead(needed, "neighbours", who=who, k=k, epsilon=epsilon, most=most, of=of)
    lead = min(rounded_up(needed), most)
    who_leads = "a node that leads" if k == 1 else f"{k} nodes that lead"
    sentence = (
        f"{RUNS} {who_leads} every other node by {counted(lead, 'neighbours')} "
        f"{'reaches' if k == 1 else 'reach'} the second round, which decides."
    )
    return Accuracy(float(lead), "neighbours", sentence)


def by_edges(wrong: int, *, k: int) -> Accuracy:
    """The accuracy of k nodes of a noisy copy of a graph, with so many wrong pairs at most.

    >>> print(by_edges(0, k=5))
    In at least 9 of 10 runs the answer is the true top 5.
    >>> print(by_edges(12, k=1))
    In at least 9 of 10 runs the answer is the true winner after at most 12 edges were added or
    removed.
    """
    best = "winner" if k == 1 else f"top {k}"
    copy = f" after at most {counted(wrong, 'edges')} were added or removed" if wrong else ""
    return Accuracy(float(wrong), "edges", f"{RUNS} the answer is the true {best}{copy}.")


def by_distance(
    error: float,
    unit: str,
    *,
    subject: str,
    target: str,
    epsilon: Fraction,
    most: float | None = None,
    than: str = "",
    aside: str = "",
    usual: float | None = None,
) -> Accuracy:
    """The accuracy of a value that lies near its target.

    Args:
        error: the distance, in `unit`.
        unit: what it counts, in the plural.
        subject: what is near, such as "the value".
        target: what it is near to, such as "the percentile".
        epsilon: of the release.
        most: the largest distance that is possible, where it is public.
        than: what the distance is in excess of, such as "the best point"; empty for the target.
        aside: what the distance does not count.
        usual: the distance where values are spread evenly, if it is known.

    >>> print(by_distance(11.2, "ranks", subject="the value", target="the percentile",
    ...     epsilon=Fraction(1)))
    In at least 9 of 10 runs the value is at most 12 ranks from the percentile.
    >>> print(by_distance(11.2, "ranks", subject="the value", target="the percentile",
    ...     epsilon=Fraction(1), usual=2.3))
    In at least 9 of 10 runs the value is at most 12 ranks from the percentile. If the values are
    spread evenly, the bound is 3 ranks.
    """
    whole = rounded_up(error)
    if most is not None and error > NEAR * most:
        sentence = (
            f"ε = {_shown(epsilon)} is too small for this question: {subject} can be up to "
            f"{most:,.0f} {unit} from {target}, which is no better than a guess. "
            f"Use ε ≥ {_larger_epsilon(epsilon, error, most / 10)}."
        )
        return Accuracy(float(most), unit, sentence, chance=True)
    away = f"farther from {target} than {than}" if than else f"from {target}"
    but = f", not counting {aside}" if aside else ""
    sentence = f"{RUNS} {subject} is at most {counted(whole, unit)} {away}{but}."
    error = float(whole) if most is None else min(float(whole), most)
    if usual is None or rounded_up(usual) >= error:
        return Accuracy(error, unit, sentence)
    evenly = rounded_up(usual)
    sentence += f" If the values are spread evenly, the bound is {counted(evenly, unit)}."
    return Accuracy(error, unit, sentence, usual=float(evenly))


def too_few(
    what: str = "rows", groups: tuple[int, int] | None = None, *, several: bool = False
) -> Accuracy:
    """The accuracy of a percentile that was not answered, because the rows are too few.

    Args:
        what: is too few, "rows" or "people".
        groups: in how many of how many groups; None where there are no groups.
        several: whether several percentiles were asked for; some of them may have an answer.

    >>> print(too_few(groups=(2, 5)).sentence.partition(":")[0])
    There are too few rows in 2 of 5 groups for an answer at this ε
    """
    where = "" if groups is None else f" in {groups[0]} of {groups[1]} groups"
    answer = "an answer to every percentile" if several else "an answer"
    return Accuracy(
        None,
        "ranks",
        f"There are too few {what}{where} for {answer} at this ε: it could lie far outside the "
        "data. Use a larger ε, ask for a percentile nearer to 50, or state lower= and upper=.",
        chance=groups is None or groups[0] == groups[1],
    )


def of_numbers(told: Accuracy, source: Opened, column: str) -> Accuracy:
    """The accuracy of a missing answer; whether cells of no known type are numbers is private.

    So the hint is the same for every column of no known type.
    """
    if all(field.name != column or field.holds is not None for field in source.fields):
        return told
    hint = (
        "Only numbers count here. If the column holds dates, pass kind='date'; if its decimals "
        'have a comma, write decimal = "," into dampen.toml, or pass it to dampen.dataset.'
    )
    return replace(told, sentence=f"{told.sentence} {hint}")


def by_tail(
    n: int,
    *,
    p: Fraction,
    epsilon: Fraction,
    needed: Fraction | None,
    first: Fraction | None,
    noise: int = 0,
    by_group: bool = False,
) -> Accuracy:
    """The accuracy of a percentile of so few rows that the answer may lie far outside the data.

    Args:
        n: the public number of rows, or a bound on it; or a noisy one.
        p: the percentile that is hardest to have.
        epsilon: of the release.
        needed: the rows that would be enough; None if none are.
        first: the smallest percentile that this ε is enough for; None if none is.
        noise: how far n may be off, in 19 of 20 runs; 0 if it is public.
        by_group: whether groups have so many rows on average.

    >>> print(by_tail(300, p=Fraction(99), epsilon=Fraction(1), needed=Fraction(7425),
    ...     first=Fraction(200, 10)))
    300 rows are too few for p = 99 at ε = 1, which needs 7,425: the answer may lie far outside \
the data. Use ε ≥ 25, or ask for a percentile from 20 to 80.
    >>> print(by_tail(90, p=Fraction(99), epsilon=Fraction(1), needed=Fraction(7425), first=None,
    ...     noise=600))
    The rows, fewer than about 690, are too few for p = 99 at ε = 1, which needs 7,425: the \
answer may lie far outside the data. Use a larger ε, or ask for a percentile nearer to 50.
    """
    ways = []
    if n > noise and needed is not None:
        ways.append(f"use ε ≥ {_two_digits(float(epsilon * needed / n))}")
    if n > noise and first is not None:
        ends = (decimal_text(end) for end in (first, 100 - first))
        ways.append(f"ask for a percentile from {' to '.join(ends)}")
    instead = ", or ".join(ways) or "use a larger ε, or ask for a percentile nearer to 50"
    asked = f"p = {decimal_text(p) if p else 0} at ε = {_shown(epsilon)}"
    if needed is not None:
        asked = f"{asked}, which needs {math.ceil(needed):,}"
    sentence = (
        f"{_of_tail(n, noise, by_group=by_group)} are too few for {asked}: the answer may lie far "
        f"outside the data. {instead[0].upper()}{instead[1:]}."
    )
    return Accuracy(float(n), "ranks", sentence, chance=True)


def _of_tail(n: int, noise: int, *, by_group: bool) -> str:
    """The subject of the sentence, a bound where noise hides the number."""
    if not noise:
        rows = f"{n:,} rows"
    elif n > noise:
        rows = f"About {n:,} rows (up to {noise:,} off)"
    else:
        rows = f"The rows, fewer than about {n + noise:,},"
    return f"{rows} per group, the average," if by_group else rows


def by_threshold(
    found: int,
    farthest: int,
    *,
    epsilon: Fraction,
    delta: Fraction,
    rows: int | None,
    unit: str = "rows",
    what: str = "value",
) -> Accuracy:
    """The accuracy of values that are released if enough rows have them.

    Args:
        found: a value that so many rows have is released in 9 of 10 runs.
        farthest: how far a released count can be from the true one.
        epsilon: of the release.
        delta: of the release.
        rows: a public bound on the number of rows, if there is one.
        unit: what is counted, "rows" or "people".
        what: is released, "value" or "group".

    >>> print(by_threshold(16, 14, epsilon=Fraction(1), delta=Fraction(1, 10**6), rows=None))
    In at least 9 of 10 runs a value with 16 rows or more is released. Released counts are at most \
14 rows off.
    """
    if rows is not None and rows < found:
        sentence = (
            f"ε = {_shown(epsilon)} and δ = {decimal_text(delta)} are too small for {rows:,} "
            f"rows: only a {what} with {found:,} {unit} or more is released in 9 of 10 runs. "
            f"Use ε ≥ {_larger_epsilon(epsilon, found, rows / 10)}."
        )
        return Accuracy(float(found), unit, sentence, chance=True)
    sentence = (
        f"{RUNS} a {what} with {counted(found, unit)} or more is released. Released counts are at "
        f"most {counted(farthest, unit)} off."
    )
    return Accuracy(float(found), unit, sentence)


def counted_in_part(told: Accuracy, full: int, what: str) -> Accuracy:
    """The accuracy of counts of persons who count in full in so many groups or values.

    >>> print(counted_in_part(Accuracy(7.0, "people", "At most 7 off."), 1, "group"))
    At most 7 off. A person in several groups counts in part in each; state groups_per_unit= of \
the data set if most are in several.
    """
    many = "several" if full == 1 else f"more than {full}"
    if what == "value":
        part = f"A person with {many} values counts in part for each"
        most = "have several"
    else:
        part = f"A person in {many} {what}s counts in part in each"
        most = "are in several"
    if full == 1:
        part = f"{part}; state groups_per_unit= of the data set if most {most}"
    return replace(told, sentence=f"{told.sentence} {part}.")


def by_likeliest(
    probability: float,
    *,
    who: tuple[str, str],
    n: int,
    k: int,
    epsilon: Fraction,
    instead: str = "",
) -> Accuracy:
    """The accuracy of k of n candidates of which none can be named with a high probability.

    The error is a lower bound: a candidate that should be named is missed with that probability or
    more, whatever the data is.  Nothing is said of how near the named ones are.

    Args:
        probability: the largest with which any candidate can be named.
        who: what candidates are, one and several.
        n: how many there are.
        k: how many are released.
        epsilon: of all of them.
        instead: a sentence on what to ask in place of an answer that would be chance.

    >>> told = by_likeliest(0.274, who=("record", "records"), n=90, k=1, epsilon=Fraction(2))
    >>> print(told)
    Among 90 records at ε = 2 no record is named with a probability above 0.28, whatever the data...
    >>> told.error, told.unit, told.chance
    (0.72, 'probability of missing the right record', False)
    """
    one, several = who
    shown = _probability_up(probability)
    named = "named" if k == 1 else f"among the {k:,}"
    sentence = (
        f"Among {n:,} {several} at ε = {_shown(epsilon)} no {one} is {named} with a "
        f"probability above {shown}, whatever the data is."
    )
    guess = min(k / n, 1.0)
    chance = probability < guess + (1 - NEAR) * (1 - guess)
    if chance:
        sentence = " ".join(f"{sentence} That is hardly better than a guess. {instead}".split())
    error = float(1 - Fraction(shown))
    return Accuracy(error, f"probability of missing the right {one}", sentence, chance)


def _probability_up(probability: float) -> str:
    """To two digits, never less than it is.

    >>> _probability_up(0.274), _probability_up(0.00101), _probability_up(0.999), _probability_up(1)
    ('0.28', '0.0011', '1', '1')
    """
    if not 0 < probability < 1:
        return str(round(probability))
    step = Fraction(10) ** (math.floor(math.log10(probability)) - 1)
    return decimal_text(min(math.ceil(Fraction(probability) / step) * step, Fraction(1)))


def by_rows(
    rows: float,
    *,
    who: tuple[str, str],
    k: int,
    epsilon: Fraction,
    most: float | None = None,
    ordered: bool = False,
    guard: tuple[int, int] | None = None,
) -> Accuracy:
    """The accuracy of an answer that is right but for candidates that a few rows decide between.

    Args:
        rows: how many rows, of both candidates together, decide at most.
        who: what candidates are, one and several.
        k: how many are released.
        epsilon: of all of them.
        most: the largest number of rows that a candidate can have, where it is public.
        ordered: whether they are released best first.
        guard: below how many rows, after so many are gone, a winner must lead by how many more.

    >>> print(by_rows(14, who=("group", "groups"), k=1, epsilon=Fraction(3, 10)))
    In at least 9 of 10 runs the answer is the true winner, or a group so close that 14 rows decide.
    >>> print(by_rows(14, who=("group", "groups"), k=1, epsilon=Fraction(3, 10), guard=(20, 10)))
    In at least 9 of 10 runs the answer is the true winner, or a group so close that 14 rows decide
    (24 if the true winner has fewer than 34).
    >>> by_rows(14, who=("group", "groups"), k=1, epsilon=Fraction(3, 10), most=10).chance
    True
    """
    one, several = who
    unit = "rows"
    whole = rounded_up(rows)
    if most is not None and rows >= max(most, 1):
        named = f"the right {one}" if k == 1 else f"most of the right {several}"
        sentence = (
            f"ε = {_shown(epsilon)} is too small for this question: the noise is worth "
            f"{whole:,} {unit}, and there are at most {most:,.0f} rows. Do not expect {named}. "
            f"Use ε ≥ {_larger_epsilon(epsilon, rows, most / 10)}."
        )
        return Accuracy(float(most), unit, sentence, chance=True)
    whole = whole if most is None else min(whole, math.floor(most))
    order = ", in order" if ordered and k > 1 else ""
    right = "the true winner" if k == 1 else f"the true top {k}{order}"
    near = f"a {one}" if k == 1 else several
    decide = "1 row decides" if whole == 1 else f"{whole:,} rows decide"
    close = f", or {near} so close that {decide}" if whole else ""
    small = ""
    if whole and guard is not None:
        few, more = (rounded_up(rows + each) for each in guard)
        winner = "the true winner" if k == 1 else "one of the true ones"
        small = f" ({more:,} if {winner} has fewer than {few:,})"
    return Accuracy(float(whole), unit, f"{RUNS} the answer is {right}{close}{small}.")


def by_sides(rows: int, *, epsilon: Fraction, most: float | None = None) -> Accuracy:
    """The accuracy of one bit for every group, which so many of its rows decide at most.

    >>> print(by_sides(14, epsilon=Fraction(3, 10)))
    In at least 9 of 10 runs every group is on the right side of the threshold, or so
    close to it that 14 rows decide.
    """
    unit = "rows per group"
    if most is not None and rows >= max(most, 1):
        sentence = (
            f"ε = {_shown(epsilon)} is too small for this question: the noise is worth "
            f"{rows:,} {unit}, and there are at most {most:,.0f} rows. "
            f"Use ε ≥ {_larger_epsilon(epsilon, rows, most / 10)}."
        )
        return Accuracy(float(most), unit, sentence, chance=True)
    decide = f"{rows:,} rows decide" if rows != 1 else "1 row decides"
    close = f", or so close to it that {decide}" if rows else ""
    return Accuracy(
        float(rows), unit, f"{RUNS} every group is on the right side of the threshold{close}."
    )


def by_noise(
    noise: float, unit: str, *, numbers: int, epsilon: Fraction, most: float | None = None
) -> Accuracy:
    """The accuracy of numbers with noise.

    Args:
        noise: how large the noise of all of them is at most, in nine of ten runs.
        unit: of the noise, in the plural; "units" of a column, which have no name, are left out.
        numbers: how many are released.
        epsilon: of all of them.
        most: the largest possible number, where it is public.

    >>> print(by_noise(24, "rows", numbers=3, epsilon=Fraction(1, 10)))
    In at least 9 of 10 runs each of the 3 numbers is off by at most 24 rows.
    >>> by_noise(24, "rows", numbers=1, epsilon=Fraction(1, 10), most=20).chance
    True
    """
    told = counted(rounded_up(noise), unit) if noise >= 1 or not noise else f"{noise:.2g} {unit}"
    told = told.removesuffix(" units").removesuffix(" unit") if unit == "units" else told
    if most is not None and noise >= max(most, 1):
        sentence = (
            f"ε = {_shown(epsilon)} is too small for this question: the noise is up to "
            f"{told}, and the true number at most {most:,.0f}. "
            f"Use ε ≥ {_larger_epsilon(epsilon, noise, most / 10)}."
        )
        return Accuracy(float(most), unit, sentence, chance=True)
    which = "the number" if numbers == 1 else f"each of the {numbers:,} numbers"
    return Accuracy(float(noise), unit, f"{RUNS} {which} is off by at most {told}.")


def of_all(unit: str, *, who: tuple[str, str], ordered: bool) -> Accuracy:
    """The accuracy of an answer that names all candidates.

    >>> print(of_all("rows", who=("group", "groups"), ordered=False))
    The answer names all groups, so it is always right.
    """
    _, several = who
    right = "only their order can be wrong" if ordered else "so it is always right"
    return Accuracy(0.0, unit, f"The answer names all {several}, {right}.")


def counted(number: int, unit: str) -> str:
    """A number with its unit, which is given in the plural.

    >>> counted(1, "rows"), counted(1200, "rows")
    ('1 row', '1,200 rows')
    """
    if number != 1:
        return f"{number:,} {unit}"
    return "1 person" if unit == "people" else f"1 {unit.removesuffix('s')}"


def in_unit(told: Accuracy, unit: str) -> Accuracy:
    """An accuracy in units of the values, with their name.

    >>> print(in_unit(by_noise(24, "units", numbers=1, epsilon=Fraction(1, 10)), "seconds"))
    In at least 9 of 10 runs the number is off by at most 24 seconds.
    """
    if told.unit != "units":
        return told
    named = NOISE.sub(lambda found: f"{found[1]} {_counted(found[2], unit)}", told.sentence)
    sentence = named.replace(" units", f" {unit}")
    return replace(told, unit=unit, sentence=sentence.replace(" 1 unit", f" 1 {unit[:-1]}"))


NOISE = re.compile(
    r"(is off by at most|the noise is up to) ([0-9,]*(?:[0-9]|\.[0-9])+(?:e-?[0-9]+)?)"
)
"""What `by_noise` writes before a number, and the number."""


def _counted(number: str, unit: str) -> str:
    return f"{number} {unit[:-1] if number == '1' else unit}"


def _larger_epsilon(epsilon: Fraction, needed: float, most: float) -> str:
    """An ε at which the error is about `most`, to two digits: errors fall as 1/ε."""
    return _two_digits(float(epsilon) * needed / max(most, 1e-9))


def _shown(epsilon: Fraction) -> str:
    """The exact text where it is short; that of a price in ρ has four digits.

    >>> _shown(Fraction(1, 1000)), _shown(Fraction(1004974372, 10**9))
    ('0.001', '1.005')
    """
    text = decimal_text(epsilon)
    return text if len(text) <= LONGEST else f"{float(epsilon):.4g}"


def _two_digits(wanted: float) -> str:
    """The next number above with two digits."""
    places = 1 - math.floor(math.log10(wanted))
    step = Fraction(10) ** -places
    return decimal_text(math.ceil(Fraction(wanted) / step) * step)


def lead(
    tiny: Selection, mechanism: Mechanism, *, m: int, k: int, epsilon: Fraction
) -> float | None:
    """The lead in scores at which k of m candidates are the answer with probability 0.9.

    Args:
        tiny: any selection of the problem's kind: sensitivity, one-sided, separable, joint bounds.
        mechanism: how it is drawn.
        m: the number of candidates.
        k: how many are released.
        epsilon: of all k answers together.

    Returns:
        In units of the mechanism's scores, of which one step changes each by at most 1; 0 if all
        candidates are released; None for noise that this module does not know, and where the score
        depends on a private shift.
    """
    if k >= m:
        return 0.0
    law = _law(mechanism, m, k)
    if law is None or mechanism.shift is not None:
        return None
    return _lead_at_scale_1(law) / float(with_scores(tiny, mechanism).noise_scale(epsilon, k))


def even_distance(tiny: Selection, mechanism: Mechanism, *, epsilon: Fraction) -> float | None:
    """How far in scores the answer is from the best one, where scores fall evenly on both sides.

    Let candidates be dense, and their scores -|r| at the distance r.  The exponential mechanism
    with the scale λ has a density proportional to e^(-λ|r|), so that |r| exceeds ln(10) / λ with
    probability 0.1.  Permute-and-flip comes to the same law as candidates become dense, and is
    nearer to the best one where they are not.

    Args:
        tiny: any selection of the problem's kind.
        mechanism: how it is drawn.
        epsilon: of the answer.

    Returns:
        In units of the mechanism's scores; None where the score depends on a private shift.
    """
    if mechanism.shift is not None:
        return None
    return -math.log(1 - CONFIDENCE) / float(with_scores(tiny, mechanism).noise_scale(epsilon, 1))


def least_probability(mechanism: Mechanism, *, m: int, k: int, g: float) -> float | None:
    """The least probability that k candidates that lead by g are the answer; noise of scale 1.

    **Theorem.**  Let k of m candidates have scores that are at least g above those of all the
    others, and add independent noise with distribution F to all scores.  The probability that these
    k are the answer is least when they are tied, and the others are tied, at a distance of exactly
    g.  (Raising one of the k or lowering one of the others, under the same noise, only helps.)
    There it is

        ∫ F(x)^(m-k) d(1 - (1 - F(x - g))^k)                      for one draw of noise,
        Π over j = 1..k of P(one of j tied candidates beats m-k others)  for an answer at a time,

    which are sums or integrals of one variable, here to about 1e-9.
    """
    law = _law(mechanism, m, k)
    return None if law is None else law.probability(g)


def likely_noise(epsilon: Fraction, draws: int, noise: IntegerNoise = LAPLACE) -> int:
    """The smallest B such that `draws` integers all have |Z| <= B with probability 0.9.

    They are independent, with a scale of 1/ε: P(z) is proportional to exp(-ε |z|), or for Gaussian
    noise to exp(-ε² z² / 2).

    >>> likely_noise(Fraction(1), 1), likely_noise(Fraction(3, 10), 17)
    (2, 17)
    """
    # (1 - tail)^draws >= 0.9
    tail = -math.expm1(math.log(CONFIDENCE) / draws)
    return likely(1 / epsilon, Fraction(tail), noise)


def likely_push(
    epsilon: Fraction,
    best: int,
    others: int,
    *,
    offset: int = 0,
    noise: IntegerNoise = LAPLACE,
    draws: int = 1,
) -> int:
    """How far the noise of two candidates pushes them past each other, with probability 0.9.

    Candidates have independent integers W = offset + Z, Z as in `likely_noise`.  Let A be the
    largest of 0 and all -W of the best, B the largest of 0 and all W of the others: they are
    independent, and this is the smallest t with P(A + B <= t) >= 0.9.  Beyond a scale of `FINE` it
    is rounded up by at most a `FINE`-th of the scale: sums over blocks, A at the end of its block.

    Args:
        epsilon: of one draw.
        best: how many are the best.
        others: how many others there are.
        offset: what is added to every Z.
        noise: the law of Z.
        draws: if above 1, so many draws follow each other, of the best one each; the one drawn is
            no longer among the others.

    >>> likely_push(Fraction(3, 10), 1, 2), likely_push(Fraction(3, 10), 1, 2, offset=-3)
    (11, 11)
    """
    scale = 1 / epsilon
    block = max(1, math.floor(scale / FINE))
    longest = block * (2 * math.ceil(abs(offset) / block) + 1)
    left = [others - drawn for drawn in range(draws) if others > drawn]

    def within(t: int) -> float:
        ends = np.arange(0, t + block, block, dtype=np.float64)
        a = at_most(ends + offset, scale, noise) ** best
        a[1:] -= a[:-1].copy()
        b = at_most(t - ends - offset, scale, noise)
        b[t < ends] = 0.0
        return math.prod(float((a * b**more).sum()) for more in left)

    while within(longest) < CONFIDENCE:
        longest *= 2
    low = -1
    high = longest // block
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if within(middle * block) >= CONFIDENCE else (middle, high)
    return high * block


def likely_side(epsilon: Fraction, draws: int, noise: IntegerNoise = LAPLACE) -> int:
    """The smallest B such that `draws` integers all have Z <= B with probability 0.9.

    By symmetry also that all are on the right side of bounds -B and B, one for each.

    >>> likely_side(Fraction(1), 1), likely_side(Fraction(3, 10), 17)
    (1, 15)
    """
    # 1 - P(|Z| > B) / 2 >= 0.9^(1 / draws)
    tail = -2 * math.expm1(math.log(CONFIDENCE) / draws)
    return likely(1 / epsilon, Fraction(min(tail, 1.0)), noise)


def rounded_up(number: float) -> int:
    """A whole number of rows or neighbours, rounded up to two digits."""
    whole = math.ceil(number)
    unit = 10 ** max(0, len(str(whole)) - 2)
    return -(-whole // unit) * unit


def _law(mechanism: Mechanism, m: int, k: int) -> "_Gumbel | _Peeled | _Joint | None":
    match mechanism.noise:
        case Gumbel():
            return _Gumbel(m - k, k)
        case Exponential():
            return _Peeled(m - k, k)
        case Laplace():
            return _Joint(m - k, k)
    return None


@lru_cache(maxsize=1024)
def _lead_at_scale_1(law: "_Gumbel | _Peeled | _Joint") -> float:
    """The lead where the noise has scale 1; cached, because a service asks for it repeatedly."""
    return _smallest(lambda g: law.probability(g) >= CONFIDENCE)


def _smallest(holds: Callable[[float], bool]) -> float:
    """The smallest g >= 0 for which a monotone property holds, from above, to one part in 10^6."""
    low = 0.0
    high = 1.0
    while not holds(high):
        low = high
        high *= 2
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class _Gumbel:
    """k draws without replacement, with weights e^g and 1."""

    others: int
    k: int

    def probability(self, g: float) -> float:
        j = np.arange(1, self.k + 1)
        return float(np.exp(-np.log1p(self.others * np.exp(-g) / j).sum()))


@dataclass(frozen=True, slots=True)
class _Peeled:
    """Exponential noise, anew for every answer: the largest of j beats g less of the others'."""

    others: int
    k: int

    def probability(self, g: float) -> float:
        return math.prod(self._one(j, math.exp(-g)) for j in range(1, self.k + 1))

    def _one(self, j: int, a: float) -> float:
        """∫ over y in [0, 1] of j (1-y)^(j-1) (1 - a y)^others."""
        end = min(1.0, 45 / max(j - 1 + a * self.others, 1e-9))
        y, weight = gauss(0.0, end, 48)
        logs = (j - 1) * np.log1p(-y) + self.others * np.log1p(-a * y)
        return min(1.0, float(j * (weight * np.exp(logs)).sum()))


@dataclass(frozen=True, slots=True)
class _Joint:
    """Laplace noise, once: the smallest of k beats the largest of the others."""

    others: int
    k: int

    def probability(self, g: float) -> float:
        """∫ of F(x)^others over the law of the smallest of k."""
        edges = np.union1d(np.arange(-45.0, 45 + math.log(self.others) + g), [0.0, g])
        panels = [gauss(low, high, 16) for low, high in pairwise(edges)]
        x, weight = map(np.concatenate, zip(*panels, strict=True))
        density = _density(x - g) * self.k * np.exp((self.k - 1) * _log_above(x - g))
        return min(1.0, float((weight * density * np.exp(self.others * _log_above(-x))).sum()))


def _density(x: FloatArray) -> FloatArray:
    return 0.5 * np.exp(-np.abs(x))


def _log_above(x: FloatArray) -> FloatArray:
    """The logarithm of P(noise > x) of Laplace noise, which is symmetric."""
    tail = np.log(0.5) - np.abs(x)
    return np.where(x > 0, tail, np.log1p(-np.exp(np.minimum(tail, -np.log(2)))))
