"""`dampen report`: the promises and the spending of budgets, for a privacy officer.

A report is made from the entries of a ledger alone, which hold public parameters: whom ε protects,
ε, δ, ρ, questions, mechanisms, who asked, and what the curator did.  It holds no answer and no
data.  Names and questions may come from anyone, so every text is escaped for its format.

Three formats: Markdown for a record of processing or an impact assessment, HTML for a reader, and
YAML with the fields of the Differential Privacy Deployments Registry (its template as of 2026).
What a ledger cannot know, such as the intended use, is left empty there and marked.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from html import escape

from dampen.core.selection import Neighbours
from dampen.epsilon import decimal_text, short_text
from dampen.errors import ParameterError
from dampen.ledger.accounts import Ledger, verify
from dampen.ledger.log import Charge, Entry, Kind, key_of
from dampen.ledger.state import Balance, Spent, spent
from dampen.printing import html_table, printable
from dampen.schema.schema import protected
from dampen.versions import library_version

__all__ = ["FORMATS", "report"]

ADJACENT = {
    Neighbours.ADD_REMOVE_EDGE: "one of them has one edge more than the other",
    Neighbours.ADD_REMOVE_ROW: "one of them has one row more than the other",
    Neighbours.ADD_REMOVE_UNIT: "one of them has one person more, with any number of rows",
    Neighbours.REPLACE_ONE: "they have the same number of rows and differ in one of them",
}
"""When two data sets are neighbours."""

ACTS = (Kind.CREATE, Kind.RAISE, Kind.CAP, Kind.FREEZE, Kind.THAW, Kind.CLOSE, Kind.RESTORE)
"""Entries in which a curator changed a budget."""

NOBODY = "not recorded"


@dataclass(frozen=True, slots=True)
class _Section:
    """The entries of one budget."""

    balance: Balance
    protects: str
    charges: Sequence[Charge]
    acts: Sequence[Entry]
    refusals: int

    @property
    def facts(self) -> dict[str, str]:
        """The promise and what is used of it."""
        balance = self.balance
        limit = balance.limit
        used = spent(balance)
        facts = {
            "Data set": balance.dataset or _listed(each.dataset for each in self.charges),
            "Protects": self.protects,
            "Relation": f"{balance.neighbours}: two data sets are neighbours if "
            f"{ADJACENT[balance.neighbours]}",
            "ε, in all": decimal_text(limit.epsilon),
            "δ": "0" if limit.delta is None else decimal_text(limit.delta),
            "Adds up by": "the sum of ε (basic composition)"
            if limit.delta is None
            else "the sum of ε, or of ρ (zero-concentrated DP), whichever allows more",
            "ε spent": short_text(used, up=True),
            "ε left": short_text(limit.epsilon - used, up=False),
            "δ spent": decimal_text(balance.spent.delta),
            "ρ spent": short_text(balance.spent.rho, up=True),
            "Charges": str(len(self.charges)),
            "Questions refused": str(self.refusals),
            "Period": self.period,
            "Status": f"{balance.status}{', a trial' if balance.trial else ''}",
        }
        if balance.largest is not None:
            facts["Largest ε of one question"] = decimal_text(balance.largest)
        for who, most in balance.caps.items():
            name = "each analyst" if who == "*" else who
            facts[f"Most that {name} may spend"] = decimal_text(most.epsilon)
        return facts

    @property
    def period(self) -> str:
        """From the first to the last question."""
        days = [f"{each.time:%Y-%m-%d}" for each in self.charges]
        return f"{days[0]} to {days[-1]}" if days else "no question yet"

    @property
    def questions(self) -> list[list[str]]:
        """Every charge, oldest first."""
        return [
            [
                f"{each.time:%Y-%m-%d %H:%M}",
                each.analyst or NOBODY,
                each.query or NOBODY,
                each.mechanism or NOBODY,
                *_price(each),
                ", ".join(each.leaks) or "none",
                each.id,
            ]
            for each in self.charges
        ]

    @property
    def leaks(self) -> list[str]:
        """Public parameters that were taken from the data, which ε does not cover."""
        return sorted({leak for each in self.charges for leak in each.leaks})

    def totals(self, of: str) -> list[list[str]]:
        """Questions, ε, δ and ρ for each analyst, or for each mechanism."""
        sums: dict[str, Spent] = {}
        for each in self.charges:
            name = getattr(each, of) or NOBODY
            sums.setdefault(name, Spent()).add(each.epsilon, each.rho, each.delta)
        return [
            [
                name,
                str(total.charges),
                "" if total.epsilon is None else short_text(total.epsilon, up=True),
                decimal_text(total.delta),
                short_text(total.rho, up=True),
            ]
            for name, total in sums.items()
        ]

    @property
    def changes(self) -> list[list[str]]:
        """What the curator did."""
        return [
            [
                f"{datetime.fromisoformat(each.details['time']):%Y-%m-%d %H:%M}",
                each.details.get("who") or NOBODY,
                _act(each),
                each.details.get("why", ""),
            ]
            for each in self.acts
        ]


QUESTIONS = ["time", "analyst", "question", "mechanism", "ε", "δ", "ρ", "taken from data", "id"]
TOTALS = ["charges", "ε", "δ", "ρ"]
CHANGES = ["time", "who", "change", "reason"]


def report(
    ledger: Ledger,
    names: Iterable[str] = (),
    *,
    style: str = "markdown",
    protects: Mapping[str, str] | None = None,
) -> str:
    """A report on budgets for a privacy officer or an auditor, from the whole log, checked again.

    Args:
        ledger: that holds the budgets.
        names: of the budgets; all of them by default.
        style: markdown, html or yaml; yaml has one document for each budget.
        protects: whom the ε of a budget protects, by its name, in better words than its relation
            has, such as "one patient, with all their rows".

    Returns:
        The text of the report.

    Raises:
        ParameterError: if the style is none of these.
        BudgetError: if there is no such budget, or the ledger is not whole.
    """
    if style not in FORMATS:
        raise ParameterError(f"Expected style to be one of {', '.join(FORMATS)}, got {style!r}.")
    head = verify(ledger)
    chosen = list(names) or list(ledger)
    words = {} if protects is None else protects
    entries = ledger.entries()
    sections = [_section(ledger.balance(name), entries, words.get(name)) for name in chosen]
    return FORMATS[style](sections, str(head))


def _section(balance: Balance, entries: Sequence[Entry], protects: str | None) -> _Section:
    key = key_of(balance.name)
    own = [each for each in entries if each.budget == key]
    refused = [each for each in own if each.kind is Kind.REFUSAL]
    return _Section(
        balance,
        protects or protected(balance.neighbours, balance.unit),
        [Charge.of(each) for each in own if each.kind is Kind.CHARGE],
        [each for each in entries if each.kind in ACTS and each.budget in (key, "")],
        sum(1 + int(each.details.get("repeats", 0)) for each in refused),
    )


def _price(charge: Charge) -> list[str]:
    """What a charge took from the budget."""
    return [
        "" if charge.epsilon is None else short_text(charge.epsilon, up=True),
        decimal_text(charge.delta),
        short_text(charge.rho, up=True),
    ]


def _act(entry: Entry) -> str:
    """One change in words."""
    details = entry.details
    amount = f" ε {details['epsilon']}" if details.get("epsilon") else ""
    delta = f", δ {details['delta']}" if details.get("delta") else ""
    analyst = details.get("analyst", "")
    whom = f" for {'each analyst' if analyst == '*' else analyst}" if analyst else ""
    return f"{entry.kind}{amount}{delta}{whom}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(name for name in names if name)) or NOBODY


def _tables(section: _Section) -> dict[str, tuple[list[str], list[list[str]]]]:
    """The tables of a section by their titles; empty ones are left out."""
    tables = {
        "Charges": (QUESTIONS, section.questions),
        "By analyst": (["analyst", *TOTALS], section.totals("analyst")),
        "By mechanism": (["mechanism", *TOTALS], section.totals("mechanism")),
        "What the curator did": (CHANGES, section.changes),
    }
    return {title: table for title, table in tables.items() if table[1]}


def _made(head: str) -> str:
    return (
        f"Made by dampen {library_version()} from the entries of its ledger, all of which were "
        f"checked. Head of the ledger: {head}. Answers and data are not part of this report."
    )


def _uncovered(section: _Section) -> str:
    if not section.leaks:
        return (
            "Nothing was taken from the data outside ε: every public parameter was declared, or "
            "found with a part of ε. A question that finds something first has two charges."
        )
    return (
        f"Taken from the data and not covered by ε: {', '.join(section.leaks)}. Declare these "
        "facts before the next question."
    )


def _markdown(sections: Sequence[_Section], head: str) -> str:
    lines = ["# Privacy report", "", _md(_made(head))]
    for section in sections:
        facts = [[name, value] for name, value in section.facts.items()]
        lines += ["", f"## Budget {_md(section.balance.name)}", ""]
        lines += [*_md_table(["fact", "value"], facts), "", _md(_uncovered(section))]
        for title, (columns, rows) in _tables(section).items():
            lines += ["", f"### {title}", "", *_md_table(columns, rows)]
    return "\n".join(lines)


def _md_table(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> list[str]:
    cells = [columns, ["---"] * len(columns), *(map(_md, row) for row in rows)]
    return [f"| {' | '.join(row)} |" for row in cells]


def _md(text: str) -> str:
    """A text that is itself in Markdown, and in HTML made from it."""
    marked = "".join(f"\\{c}" if c in "\\`*_[]|#" else c for c in printable(text))
    return marked.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Privacy report</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: anywhere; }}
h1, h2 {{ line-height: 1.2; }} h2 {{ margin-top: 3rem; }}
div.table {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: .9rem; overflow-wrap: normal; }}
th, td {{ text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #8886;
  vertical-align: top; }}
@media print {{ div.table {{ overflow: visible; }} }}
</style></head><body>
<h1>Privacy report</h1>
<p>{made}</p>
{sections}
</body></html>"""


def _html(sections: Sequence[_Section], head: str) -> str:
    parts: list[str] = []
    for section in sections:
        facts = [[name, value] for name, value in section.facts.items()]
        parts += [f"<h2>Budget {_escaped(section.balance.name)}</h2>"]
        parts += [_html_table(["fact", "value"], facts)]
        parts += [f"<p>{_escaped(_uncovered(section))}</p>"]
        for title, (columns, rows) in _tables(section).items():
            parts += [f"<h3>{title}</h3>", _html_table(columns, rows)]
    return PAGE.format(made=_escaped(_made(head)), sections="\n".join(parts))


def _html_table(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    return f'<div class="table">{html_table(columns, rows)}</div>'


def _escaped(text: str) -> str:
    return escape(printable(text))


def _yaml(sections: Sequence[_Section], head: str) -> str:
    """One document of the registry for each budget."""
    return "\n---\n".join(_document(section, head) for section in sections)


def _document(section: _Section, head: str) -> str:
    balance = section.balance
    limit = balance.limit
    facts = section.facts
    approximate = limit.delta is not None
    parameters = [f"epsilon: {_number(limit.epsilon)}"]
    if limit.delta is not None and limit.rho is not None:
        parameters += [f"delta: {_number(limit.delta)}", f"rho: {_number(limit.rho)}"]
    analysts = {each.analyst for each in section.charges}
    mechanisms = ", ".join(row[0] for row in section.totals("mechanism"))
    unprotected = ", ".join(section.leaks)
    started = section.charges[0].time if section.charges else None
    caps = [f"{name}: ε {value}" for name, value in facts.items() if name.startswith("Most that")]
    text = _text
    lines = [
        f"url_slug: {text(_slug(balance.name))}",
        "deployment:",
        "  basic:",
        f"    name: {text(balance.name)}",
        "    data_curators:",
        "      -",
        "        data_curator_name: ''  # Fill in: who publishes the answers.",
        "        data_curator_type: ''  # Fill in, such as Government, Industry, Nonprofit.",
        f"    description: {text(_description(section))}",
        "    intended_use: ''  # Fill in.",
        "    data_product_type: Summary statistics  # Change for a model.",
        "    data_product_region: ''  # Fill in.",
        "    data_product_sector: ''  # Fill in, such as Healthcare.",
        f"    publication_date: '{f'{started:%Y-%m-%d}' if started else ''}'  # The first answer.",
        "  dp_variant:",
        f"    variant_name: {'Approximate DP' if approximate else 'Pure DP'}",
        "    data_domain: ''  # Fill in: which data sets could have been asked.",
        f"    unprotected_quantities: {text(unprotected or 'none')}",
        "  privacy_loss:",
        f"    privacy_unit: {text(section.protects)}",
        f"    privacy_unit_details: {text(facts['Relation'])}",
        "    privacy_parameters:",
        *(f"      {each}" for each in parameters),
        f"    privacy_parameters_details: {text(_spending(facts))}",
        "  deployment_model:",
        "    model_name: Central",
        f"    model_name_details: {text(TRUST)}",
        f"    actors: {text(f'The curator and {len(analysts)} analysts. Others see answers.')}",
        f"    release_type: {'One release' if len(section.charges) == 1 else 'Many releases'}",
        f"    release_type_details: {text('Nothing is answered once the budget is spent.')}",
        "    data_source_type: Static  # Change where new data comes in.",
        "    access_type: Interactive  # Change where a fixed set of answers is published.",
        f"    access_type_details: {text('; '.join(caps) or 'All analysts share one budget.')}",
        "  implementation:",
        "    preprocessing_and_hyperparameter_tuning: ''  # Fill in.",
        f"    mechanisms: {text(f'{mechanisms or NOBODY}. {EXACT}')}",
        f"    composition: {text(facts['Adds up by'])}",
        "    post_processing: ''  # Fill in: what was computed from the answers.",
        "    justification: ''  # Fill in: why this unit and this epsilon.",
        f"    additional_information: {text(_made(head))}",
        "  administrative:",
        "    evidence_sources: {}  # Fill in.",
        "    status: Draft",
        "    registry_authors:",
        "      - ''  # Fill in: who wrote this record.",
        "    tier: 2",
    ]
    return "\n".join(lines)


TRUST = "The curator holds the data and is trusted; only answers are given out."
EXACT = (
    f"Implemented by dampen {library_version()}: exact sampling, no floating-point noise; the time "
    "that an answer takes is not protected."
)


def _description(section: _Section) -> str:
    return (
        f"{len(section.charges)} charges for private answers about {section.facts['Data set']}, "
        f"{section.period}."
    )


def _spending(facts: Mapping[str, str]) -> str:
    names = ("ε spent", "δ spent", "ρ spent", "ε left", "Charges", "Status")
    return "The promise in all. " + "; ".join(f"{name}: {facts[name]}" for name in names) + "."


def _text(text: str) -> str:
    """A text in quotes; YAML reads what JSON writes."""
    return json.dumps(printable(text), ensure_ascii=False)


def _number(value: Fraction) -> str:
    """A number of YAML, never below the exact one; readers of YAML 1.1 want a point in 1.0e-06."""
    context = Context(prec=12, rounding=ROUND_CEILING)
    number = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    digits, e, exponent = f"{number.normalize():g}".partition("e")
    return digits + (f"{'' if '.' in digits else '.0'}e{exponent}" if e else "")


def _slug(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


FORMATS = {"markdown": _markdown, "html": _html, "yaml": _yaml}
