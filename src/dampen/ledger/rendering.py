"""Budgets as a table in a notebook."""

from collections.abc import Iterable
from html import escape

from dampen.epsilon import decimal_text, short_text
from dampen.ledger.orders import spent
from dampen.ledger.state import Balance

__all__ = ["html_table"]

COLUMNS = ["budget", "neighbours", "ε", "δ", "spent", "left", "status"]


def html_table(balances: Iterable[Balance]) -> str:
    """One row per budget; rounded numbers are marked, names are escaped."""
    rows = [COLUMNS, *map(_cells, balances)]
    lines = [
        "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"
        for row, tag in zip(rows, ["th", *["td"] * len(rows)], strict=False)
    ]
    return "<table>" + "".join(lines) + "</table>"


def _cells(balance: Balance) -> list[str]:
    limit, used = balance.limit, spent(balance)
    return [
        balance.name,
        str(balance.neighbours),
        decimal_text(limit.epsilon),
        "" if limit.delta is None else decimal_text(limit.delta),
        short_text(used, up=True),
        short_text(limit.epsilon - used, up=False),
        str(balance.status),
    ]
