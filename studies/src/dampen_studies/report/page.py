"""Pieces of the report page: plain HTML, one style sheet, a few lines of script, no network."""

import base64
from collections.abc import Sequence
from html import escape

from dampen_studies.report import palette

Cell = str | float


def document(title: str, body: str) -> str:
    """A whole page."""
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{_style()}</style></head>\n"
        f"<body>\n{_HEADER}\n<main>\n{body}\n</main>\n<script>{_SCRIPT}</script>\n"
        "</body></html>\n"
    )


def table(header: Sequence[str], rows: Sequence[Sequence[Cell]], caption: str = "") -> str:
    """A table that sorts when a heading is clicked; numbers sort as numbers."""
    first = rows[0] if rows else header
    head = "".join(
        f'<th{_class(value)}><button type="button">{escape(name)}</button></th>'
        for name, value in zip(header, first, strict=True)
    )
    lines = ["<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows]
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "\n".join(lines)
    return (
        f'<div class="scroll"><table class="sortable">{title}<thead><tr>{head}</tr></thead>'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def badge(text: str, kind: str) -> Html:
    """A small coloured word; the word, not the colour, carries the meaning."""
    return Html(f'<span class="badge {escape(kind)}">{escape(text)}</span>')


def figure(svg: str, title: str, name: str) -> str:
    """One panel with its title."""
    return (
        f'<figure id="figure-{escape(name)}"><figcaption>{escape(title)}</figcaption>{svg}</figure>'
    )


def panels(figures: Sequence[str], columns: int) -> str:
    """Figures in a grid of so many columns; fewer on a narrow page, one on a phone."""
    if not figures:
        return ""
    return f'<div class="panels in-{columns}">{"".join(figures)}</div>'


def side_by_side(words: str, figures: str, *, alone: bool) -> str:
    """A single panel stands beside its words; several stand below them."""
    return f'<div class="side"><div>{words}</div>{figures}</div>' if alone else words + figures


def legend(methods: Sequence[str]) -> str:
    """The methods of a figure, with a sample of their lines."""
    items = []
    for name in methods:
        look = palette.look(name)
        colour = palette.variable(name)
        dash = ' stroke-dasharray="5 3"' if look.dashes else ""
        line = (
            f'<svg width="26" height="8" aria-hidden="true"><line x1="0" x2="26" y1="4" y2="4" '
            f'stroke="var({colour})" stroke-width="{look.width + 0.6:.1f}"{dash}/></svg>'
        )
        items.append(f"<li>{line}<b>{escape(look.label)}</b> {escape(look.about)}</li>")
    return f'<ul class="legend">{"".join(items)}</ul>'


def download(name: str, content: str) -> str:
    """A link that holds the file itself."""
    data = base64.b64encode(content.encode()).decode()
    return f'<a download="{escape(name)}" href="data:text/csv;base64,{data}">{escape(name)}</a>'


def _cell(value: Cell) -> str:
    if isinstance(value, float):
        return f'<td class="n" data-v="{value:.10g}">{_short(value)}</td>'
    return f"<td>{value if isinstance(value, Html) else escape(value)}</td>"


def _class(value: Cell) -> str:
    return ' class="n"' if isinstance(value, float) else ""


def _short(value: float) -> str:
    if abs(value) < 1e6 and value == int(value):
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _style() -> str:
    light = palette.variables(dark=False)
    dark = palette.variables(dark=True)
    return (
        f":root {{ {_LIGHT} {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {_DARK} {dark} }} }}\n{_RULES}"
    )


# The colours, the header and the cards are those of the service's page (`service/page/page.css`).
_LIGHT = (
    "--page: #f6f6f2; --shade: #0003; --card: #ffffff; --line: #dcddd5; --sunk: #f1f2ee; "
    "--ok: #00704f; --fix: #8a5a00; --no: #b3261e; --link: #1f5fa8;"
)
_DARK = (
    "--page: #121518; --shade: #0009; --card: #1a1e22; --line: #343b42; --sunk: #22272c; "
    "--ok: #72d19a; --fix: #f0a95a; --no: #ff8f85; --link: #82b4ee;"
)
_HEADER = (
    '<header class="top"><span class="brand"><svg viewBox="0 0 24 24" aria-hidden="true">'
    '<path d="M2 12C4 2 6 2 8 12s3.5 7 5 0 2.5-4 3.5 0 1.5 2 2 0h3.5"/></svg>dampen</span>'
    "<span>The paper, re-run</span></header>"
)
_RULES = """
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { margin: 0 auto; padding: 1.5rem clamp(1rem, 4vw, 2.5rem) 4rem; max-width: 78rem; }
.top { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; align-items: center;
  padding: .6rem max(clamp(1rem, 4vw, 2.5rem), calc((100vw - 78rem) / 2 + 2.5rem));
  background: var(--card); border-bottom: 1px solid var(--line); color: var(--muted); }
.brand { display: flex; gap: .5rem; align-items: center; font-weight: 700; font-size: 1.15rem;
  letter-spacing: -.02em; color: var(--text); }
.brand svg { width: 1.5rem; height: 1.5rem; }
.brand path { fill: none; stroke: var(--link); stroke-width: 2.5; stroke-linecap: round; }
h1 { font-size: clamp(1.5rem, 4vw, 2rem); line-height: 1.25; margin: .5rem 0; text-wrap: balance;
  letter-spacing: -.01em; }
h2 { font-size: 1.35rem; margin: 3rem 0 .25rem; padding-top: 1rem;
  border-top: 1px solid var(--grid); }
p { max-width: 46rem; } a { color: var(--link); }
.where, .note { color: var(--muted); font-size: .92rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; padding: 0; list-style: none; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .8rem; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: .9rem 1rem; }
.tile b { display: block; font-size: 1.9rem; line-height: 1.1; }
.panels { display: grid; gap: 1rem; margin: 1rem 0; grid-template-columns: minmax(0, 1fr); }
.in-2 { grid-template-columns: repeat(2, minmax(0, 1fr)); }
.in-3 { grid-template-columns: repeat(3, minmax(0, 1fr)); }
.side { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1.5rem;
  align-items: start; border-top: 1px solid var(--grid); margin-top: 3rem; }
.side h2 { border: 0; margin-top: 0; } .side .panels { margin-top: 1.4rem; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: .8rem .6rem .3rem; }
figcaption { font-weight: 600; font-size: .95rem; padding: 0 .3rem .2rem; }
figure svg { width: 100%; height: auto; display: block; font-family: inherit; }
figure svg text { font-family: inherit; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; padding: 0; margin: .6rem 0;
  list-style: none; font-size: .88rem; color: var(--muted); }
.legend b { color: var(--text); font-weight: 600; } .legend svg { margin-right: .45rem; }
.scroll { overflow-x: auto; margin: .8rem 0; -webkit-overflow-scrolling: touch;
  background: linear-gradient(to right, var(--page) 40%, transparent) left / 2.5rem 100%,
    linear-gradient(to left, var(--page) 40%, transparent) right / 2.5rem 100%,
    linear-gradient(to right, var(--shade), transparent) left / .8rem 100%,
    linear-gradient(to left, var(--shade), transparent) right / .8rem 100%;
  background-repeat: no-repeat; background-attachment: local, local, scroll, scroll; }
table { border-collapse: collapse; min-width: 100%; font-size: .9rem; }
caption { text-align: left; color: var(--muted); padding: .2rem 0; }
th { text-align: left; border-bottom: 2px solid var(--grid); padding: 0; white-space: nowrap; }
th button { all: unset; cursor: pointer; padding: .4rem .6rem; font-weight: 600; display: block;
  width: 100%; box-sizing: border-box; }
th button:focus-visible { outline: 2px solid var(--link); border-radius: .2rem; }
th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
td { border-bottom: 1px solid var(--grid); padding: .45rem .6rem; vertical-align: top;
  white-space: nowrap; }
.claims td { white-space: normal; }
th.n { text-align: right; }
td.n { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
.badge { display: inline-block; border: 1.5px solid currentColor; border-radius: 1rem;
  font-size: .8rem; padding: .05rem .6rem; font-weight: 600; margin: .1rem 0; }
td .badge { white-space: nowrap; }
.ok { color: var(--ok); } .fix { color: var(--fix); } .no { color: var(--no); }
.none { color: var(--muted); }
details { margin: .6rem 0; } summary { cursor: pointer; color: var(--link); }
code { background: var(--sunk); border-radius: .3rem; padding: .1rem .35rem; font-size: .9em; }
@media (max-width: 62rem) { .side { display: block; } }
@media (max-width: 52rem) { .panels { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 40rem) {
  .claims td, .claims th { display: block; border: 0; white-space: normal; }
  .claims thead { display: none; }
  .claims tr { display: block; padding: .6rem 0;
  border-bottom: 1px solid var(--grid); } .claims td { padding: .1rem 0; }
  .claims td:nth-child(3)::before { content: "Paper: "; color: var(--muted); }
  .claims td:nth-child(4)::before { content: "Measured: "; color: var(--muted); } }
@media print { details { display: none; } .panels { grid-template-columns: 1fr 1fr; } }
"""

_SCRIPT = """
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.firstChild.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = row => row.cells[column].dataset.v ?? row.cells[column].textContent;
    const order = (a, b) => (isNaN(a) || isNaN(b)) ? String(a).localeCompare(b) : a - b;
    const body = table.tBodies[0];
    const rows = [...body.rows].sort((a, b) => (up ? 1 : -1) * order(key(a), key(b)));
    body.append(...rows);
  }));
}
"""
