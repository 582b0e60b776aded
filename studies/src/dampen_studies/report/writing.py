"""The report: one self-contained page, and files for papers beside it."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from dampen_studies import claims, journal, runner, studies
from dampen_studies.claims import Finding, Outcome, Tables
from dampen_studies.claims.influence import table_1
from dampen_studies.report import drawing, figures, page
from dampen_studies.rows import values
from dampen_studies.study import Study, Value, number

_KIND = {
    Outcome.CONFIRMED: "ok",
    Outcome.CORRECTED: "fix",
    Outcome.NOT_CONFIRMED: "no",
    Outcome.NOT_MEASURED: "none",
}
_BEGIN = "<!-- claims: written by `dampen-studies report --summary` -->"
_END = "<!-- end of claims -->"
_MEASURES = ("error", "accuracy")
_ASIDE = ("runs", "spread", "sample", "run")


def load(folder: Path) -> Tables:
    """The rows of every study that has a CSV in the folder."""
    paths = {study.name: journal.csv_path(folder, study) for study in studies.ALL}
    return {name: journal.read_csv(path) for name, path in paths.items() if path.is_file()}


def write(folder: Path, target: Path, *, quick: bool = False) -> list[Finding]:
    """Writes the page, and PNG and SVG of every panel into `folder/figures`.

    Returns:
        the findings, one per claim.
    """
    tables = load(folder)
    findings = claims.evaluate(tables)
    sections = [_section(s, tables[s.name], folder, findings) for s in _shown(tables)]
    header = _header(findings, _shown(tables), quick)
    body = "\n".join([header, _claims(findings), *sections, _footer(folder, quick)])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page.document("Local dampening, re-run", body), encoding="utf-8")
    return findings


def summary(findings: Sequence[Finding]) -> str:
    """The findings as a Markdown table, for the documentation."""
    lines = ["| claim | paper | measured | outcome |", "|---|---|---|---|"]
    for f in findings:
        claim = f"{f.claim.name} ({f.claim.where})"
        cells = (claim, f.claim.says, f.measured, f"**{f.outcome}**. {f.sentence}")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def write_summary(path: Path, findings: Sequence[Finding]) -> None:
    """Puts the table between the two marks of a Markdown file, or at its end."""
    before, mark, rest = path.read_text(encoding="utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    if not mark:
        before = before.rstrip() + "\n\n"
    path.write_text(f"{before}{_BEGIN}\n\n{summary(findings)}\n{_END}{after}", encoding="utf-8")


def _with(findings: Sequence[Finding], outcome: Outcome) -> list[Finding]:
    return [finding for finding in findings if finding.outcome is outcome]


def _shown(tables: Tables) -> list[Study]:
    return [study for study in studies.ALL if tables.get(study.name)]


def _header(findings: Sequence[Finding], shown: Sequence[Study], quick: bool) -> str:
    tiles = [
        f'<div class="tile"><b class="{_KIND[v]}">{len(_with(findings, v))}</b>{v}</div>'
        for v in Outcome
    ]
    links = "".join(f'<li><a href="#{s.name}">{escape(s.title)}</a></li>' for s in shown)
    note = (
        '<p class="note"><b>Quick run.</b> These are small bundled data, to show that everything '
        "works; claims about the paper's data need <code>dampen-studies run</code>.</p>"
        if quick
        else ""
    )
    return (
        "<header><p class=where>dampen · evaluation</p><h1>Local dampening, re-run and checked</h1>"
        "<p>Every figure and table of <i>Local Dampening: Differential Privacy for Non-numeric "
        "Queries via Local Sensitivity</i> (Farias et al.), computed again with corrected "
        "sensitivity functions and exact sampling, beside controls that the paper lacks.</p>"
        f'{note}<div class="tiles">{"".join(tiles)}</div><nav><ul>{links}</ul></nav></header>'
    )


def _claims(findings: Sequence[Finding]) -> str:
    header = ("claim", "outcome", "paper says", "measured", "in a sentence")
    rows = [
        (
            page.Html(
                f"<b>{escape(f.claim.name)}</b><br><span class=where>{escape(f.claim.where)}</span>"
            ),
            page.badge(f.outcome, _KIND[f.outcome]),
            f.claim.says,
            f.measured,
            f.sentence,
        )
        for f in findings
    ]
    table = page.table(header, rows)
    return f'<section id="claims" class="claims"><h2>Claims</h2>{table}</section>'


def _section(
    study: Study, rows: Sequence[dict[str, Value]], folder: Path, findings: Sequence[Finding]
) -> str:
    drawn = [_panel(panel, folder) for panel in figures.panels(study.name, rows)]
    shown = f'<div class="panels">{"".join(drawn)}</div>' if drawn else ""
    methods = [str(m) for m in values(rows, "method")] if "method" in rows[0] else []
    judged = [f for f in findings if f.claim.study == study.name]
    marks = " ".join(page.badge(f"{f.claim.name}: {f.outcome}", _KIND[f.outcome]) for f in judged)
    content = journal.csv_path(folder, study).read_text(encoding="utf-8")
    numbers = page.table(*_pivot(rows))
    opened = "" if drawn else " open"
    beside = page.table(*table_1(rows)) if study.name == "privatesql" and table_1(rows)[1] else ""
    return (
        f'<section id="{study.name}"><h2>{escape(study.title)}</h2>'
        f'<p class="where">{escape(study.figure)}</p><p>{escape(study.about)}</p>'
        f"{page.legend(methods) if methods else ''}{shown}{beside}<p>{marks}</p>"
        f"<details{opened}><summary>Numbers</summary>"
        f"<p>{page.download(f'{study.name}.csv', content)}</p>{numbers}</details></section>"
    )


def _panel(panel: drawing.Panel, folder: Path) -> str:
    drawn = drawing.draw(panel)
    drawing.save(drawn, folder / "figures", panel.name)
    lines = [
        (line.method, x, y) for line in panel.lines for x, y in zip(line.x, line.y, strict=True)
    ]
    journal.write_csv(
        folder / "figures" / f"{panel.name}.csv", ("method", panel.x_label, panel.y_label), lines
    )
    return page.figure(drawing.svg(drawn, panel.name, panel.title), panel.title, panel.name)


def _pivot(rows: Sequence[dict[str, Value]]) -> tuple[list[str], list[list[page.Cell]]]:
    """One line per setting and one column per method; other tables as they are."""
    measure = next((name for name in _MEASURES if name in rows[0]), None)
    if "method" not in rows[0] or measure is None:
        return list(rows[0]), [list(row.values()) for row in rows]
    keys = [name for name in rows[0] if name not in ("method", measure, *_ASIDE)]
    methods = values(rows, "method")
    lines: dict[tuple[Value, ...], dict[Value, list[float]]] = {}
    for row in rows:
        cells = lines.setdefault(tuple(row[key] for key in keys), {})
        cells.setdefault(row["method"], []).append(number(row, measure))
    body: list[list[page.Cell]] = [
        [*setting, *(_mean(cells[m]) if m in cells else "–" for m in methods)]
        for setting, cells in lines.items()
    ]
    return [*keys, *map(str, methods)], body


def _mean(found: Sequence[float]) -> float:
    return sum(found) / len(found)


def _footer(folder: Path, quick: bool) -> str:
    states = [runner.state(study, folder, quick=quick) for study in studies.ALL]
    rows: list[list[page.Cell]] = [
        [s.study.name, s.study.figure, f"{s.done} of {s.total}", round(float(s.seconds), 1)]
        for s in states
    ]
    table = page.table(("study", "in the paper", "cells", "seconds of one worker"), rows)
    command = "dampen-studies run --quick" if quick else "dampen-studies run"
    return (
        f"<section id=how><h2>How this was made</h2><p><code>{command}</code> computes the cells, "
        "each with a seed of its own, so the numbers are the same on any number of cores; "
        "<code>dampen-studies report</code> draws this page. Sampling is seeded, for study only; "
        f"releases use the entropy of the operating system.</p>{table}</section>"
    )
