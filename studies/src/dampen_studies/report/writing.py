"""The report: one self-contained page, and files for papers beside it."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from dampen_studies import claims, datasets, journal, record, runner, studies
from dampen_studies.claims import Finding, Outcome, Tables
from dampen_studies.claims.influence import table_1
from dampen_studies.report import drawing, figures, page, tables
from dampen_studies.report.group_tables import group_rows
from dampen_studies.report.palette import look
from dampen_studies.rows import values
from dampen_studies.study import Rows, Study, Value, number

_KIND = {
    Outcome.CONFIRMED: "ok",
    Outcome.CORRECTED: "fix",
    Outcome.NOT_CONFIRMED: "no",
    Outcome.NOT_MEASURED: "none",
}
MOST_LINES = 400
"""Of a table on the page; the file beside it has all."""
_MEASURES = ("error", "accuracy")
_ASIDE = ("runs", "spread", "sample", "size", "run", "folds", "deviation")


def load(folder: Path) -> Tables:
    """The rows of every study that has a CSV in the folder."""
    paths = {study.name: journal.csv_path(folder, study) for study in studies.ALL}
    return {name: journal.read_csv(path) for name, path in paths.items() if path.is_file()}


def findings(folder: Path, committed: Path = record.FOLDER) -> list[Finding]:
    """Every claim, judged by the cells of this run if it has all that the claim needs at full
    length, and by the committed run otherwise.
    """
    known = record.tables(committed)
    found = []
    for claim in claims.ALL:
        study = studies.named(claim.study)
        cells = runner.finished_at_full_length(study, folder)
        needed = [study.key(cell) for cell in study.cells(False) if claim.part(cell)]
        if all(key in cells for key in needed):
            rows = [row for key in needed for row in cells[key].rows]
            found.append(claim.evaluate({study.name: journal.as_read(study.columns, rows)}))
        else:
            found.append(claim.evaluate(known, record.cited([study.name], committed)))
    return found


def write(folder: Path, target: Path, *, quick: bool = False) -> list[Finding]:
    """Writes the page, and PNG and SVG of every panel into `folder/figures`.

    Returns:
        the findings, one per claim.
    """
    found = load(folder)
    judged = findings(folder)
    shown = [study for study in studies.ALL if found.get(study.name)]
    sections = [_section(s, found[s.name], folder, judged, quick) for s in shown]
    header = _header(judged, shown, quick)
    parts = [header, _claims(judged), *sections, _missing(folder, quick), _footer(folder, quick)]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page.document("Local dampening, re-run", "\n".join(parts)), encoding="utf-8")
    return judged


def _header(findings: Sequence[Finding], shown: Sequence[Study], quick: bool) -> str:
    counts = {outcome: sum(f.outcome is outcome for f in findings) for outcome in Outcome}
    tiles = [
        f'<div class="tile"><b class="{_KIND[outcome]}">{count}</b>{outcome}</div>'
        for outcome, count in counts.items()
    ]
    links = "".join(f'<li><a href="#{s.name}">{escape(s.title)}</a></li>' for s in shown)
    note = (
        '<p class="note"><b>Quick run.</b> Little data and few runs, to show that everything '
        "works. A claim that it does not compute at full length is judged by the committed full "
        "run, <code>studies/results</code>, and says so.</p>"
        if quick
        else ""
    )
    return (
        "<header><h1>Local dampening, re-run and checked</h1>"
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
            page.Html(f"{escape(f.sentence)}{_source(f)}"),
        )
        for f in findings
    ]
    table = page.table(header, rows)
    return f'<section id="claims" class="claims"><h2>Claims</h2>{table}</section>'


def _source(finding: Finding) -> str:
    run = f"Not run now; the full run, {finding.run}." if finding.run else ""
    return f"<br><span class=where>{escape(run)}</span>" if run else ""


def _section(
    study: Study, rows: Rows, folder: Path, findings: Sequence[Finding], quick: bool
) -> str:
    drawn = figures.panels(study.name, rows)
    panels = page.panels([_panel(panel, folder) for panel in drawn], _columns(rows, len(drawn)))
    lines = [line for panel in drawn for line in panel.lines if not line.marks]
    methods = dict.fromkeys(line.method for line in lines)
    finding = "" if quick else study.finding
    words = (
        f'<h2>{escape(study.title)}</h2><p class="where">{escape(study.figure)}</p>'
        f"<p>{escape(f'{study.about} {finding}'.strip())}</p>"
        f'<p class="note">{escape(study.caption(rows))}</p>'
        f"{page.legend(list(methods)) if methods else ''}"
    )
    beside = _beside(study, rows, quick)
    judged = [f for f in findings if f.claim.study == study.name]
    marks = " ".join(page.badge(f"{f.claim.name}: {f.outcome}", _KIND[f.outcome]) for f in judged)
    content = journal.csv_path(folder, study).read_text(encoding="utf-8")
    opened = "" if drawn or beside else " open"
    return (
        f'<section id="{study.name}">{page.side_by_side(words, panels, alone=len(drawn) == 1)}'
        f"{beside}{f'<p>{marks}</p>' if marks else ''}"
        f"<details{opened}><summary>Numbers</summary>"
        f"<p>{page.download(f'{study.name}.csv', content)}</p>"
        f"{_numbers(study.name, rows)}</details></section>"
    )


def _beside(study: Study, rows: Rows, quick: bool) -> str:
    """A table that says more than a figure would; the paper's numbers stand beside a full run."""
    if study.name == "privatesql" and not quick:
        return page.table(*table_1(rows))
    shown = {
        "peers": tables.peer_rows, "split": tables.split_rows, "groups": group_rows,
    }.get(study.name)  # fmt: skip
    return page.table(*shown(rows)) if shown else ""


def _columns(rows: Rows, count: int) -> int:
    """Panels side by side: one per data set, or else what leaves no gap."""
    count_of = len(values(rows, "dataset")) if "dataset" in rows[0] else 1
    if count_of in (2, 3) and count % count_of == 0:
        return count_of
    return next((n for n in (3, 2) if count % n == 0), min(count, 3))


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


def _numbers(study: str, rows: Rows) -> str:
    header, lines = _pivot(study, rows)
    note = f"The first {MOST_LINES} of {len(lines):,} lines." if len(lines) > MOST_LINES else ""
    return page.table(header, lines[:MOST_LINES], note)


def _pivot(study: str, rows: Rows) -> tuple[list[str], list[list[page.Cell]]]:
    """One line per setting and one column per method; other tables as they are."""
    measure = next((name for name in _MEASURES if name in rows[0]), None)
    if "method" not in rows[0] or measure is None or study in ("peers", "split"):
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
    return [*keys, *(look(str(m)).label for m in methods)], body


def _mean(found: Sequence[float]) -> float:
    return sum(found) / len(found)


def _missing(folder: Path, quick: bool) -> str:
    """Data that is not here: what it is, where to get it, and which studies lack it."""
    lacking: dict[str, list[str]] = {}
    for study in _concerned(folder):
        for name in runner.state(study, folder, quick=quick).missing:
            lacking.setdefault(name, []).append(study.name)
    if not lacking:
        return ""
    rows = [
        (
            name,
            datasets.dataset(name).about,
            ", ".join(lacking[name]),
            datasets.dataset(name).source,
        )
        for name in sorted(lacking)
    ]
    table = page.table(("data", "what", "studies without it", "source"), rows)
    return (
        "<section id=missing><h2>Not run: data that is not here</h2><p>"
        "<code>dampen-studies datasets fetch</code> gets what has an address; then the same "
        f"command computes only what is missing.</p>{table}</section>"
    )


def _concerned(folder: Path) -> list[Study]:
    """The studies of the paper, and others that were run."""
    found = load(folder)
    return [study for study in studies.ALL if study in studies.PAPER or found.get(study.name)]


def _footer(folder: Path, quick: bool) -> str:
    states = [runner.state(study, folder, quick=quick) for study in _concerned(folder)]
    rows: list[list[page.Cell]] = [
        [s.study.name, s.study.figure, f"{s.done} of {s.total}", round(float(s.seconds), 1)]
        for s in states
    ]
    table = page.table(("study", "in the paper", "cells", "seconds of one worker"), rows)
    command = "dampen-studies run paper --quick" if quick else "dampen-studies run paper"
    return (
        f"<section id=how><h2>How this was made</h2><p><code>{command}</code> computes the cells, "
        "each with a seed of its own, so the numbers are the same on any number of cores; "
        "<code>dampen-studies report</code> draws this page. Sampling is seeded, for study only; "
        f"releases use the entropy of the operating system.</p>{table}</section>"
    )
