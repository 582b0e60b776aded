"""Text that may come from files, made safe to show: on a terminal, in a notebook."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

__all__ = ["csv_text", "html_facts", "html_table", "printable", "text_of"]


def printable(text: str) -> str:
    """One line that cannot command a terminal: every control character becomes a mark.

    >>> printable("a" + chr(27) + "[31mb")
    'a\N{REPLACEMENT CHARACTER}[31mb'
    """
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    r"""Rows as CSV with a header; no spreadsheet takes a cell for a formula.

    >>> csv_text([{"who": "=1+1", "n": 2}])
    "who,n\r\n'=1+1,2\r\n"
    """
    columns = list(dict.fromkeys(column for row in rows for column in row))
    written = io.StringIO()
    writer = csv.DictWriter(written, columns or ["id"], restval="")
    writer.writeheader()
    writer.writerows({column: _cell(value) for column, value in row.items()} for row in rows)
    return written.getvalue()


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def html_table(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table of a notebook; all text is escaped."""
    head = "".join(f"<th>{_html(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_html(value)}</td>" for value in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_facts(facts: Mapping[str, Any]) -> str:
    """Names and values, one pair per line, for a notebook; all text is escaped."""
    lines = [
        f'<tr><th style="text-align:left">{_html(name)}</th>'
        f'<td style="text-align:left">{_html(value)}</td></tr>'
        for name, value in facts.items()
    ]
    return f"<table>{''.join(lines)}</table>"


def text_of(value: Any) -> str:
    """A value, or several with commas, as one printable line."""
    if isinstance(value, dict):
        value = [f"{name}: {_pair(each)}" for name, each in value.items()]
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return printable(text)


def _pair(value: Any) -> str:
    """A tuple without the names of the types in it, such as those of dates."""
    return f"({', '.join(map(str, value))})" if isinstance(value, tuple) else str(value)


def _html(value: Any) -> str:
    return escape(text_of(value))
