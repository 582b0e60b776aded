"""Budgets as a table in a notebook."""

from collections.abc import Iterable

from dampen.epsilon import decimal_text, short_text
from dampen.ledger.requests import spent
from dampen.ledger.state import Balance
from dampen.printing import html_table

__all__ = ["balances_html"]

COLUMNS = ["budget", "neighbours", "ε", "δ", "spent", "left", "status"]


def balances_html(balances: Iterable[Balance]) -> str:
    """One row per budget; rounded numbers are marked, names are escaped."""
    return html_table(COLUMNS, map(_cells, balances))


def _cells(balance: Balance) -> list[str]:
    limit = balance.limit
    used = spent(balance)
    return [
        f"{balance.name} (trial)" if balance.trial else balance.name,
        str(balance.neighbours),
        decimal_text(limit.epsilon),
        "" if limit.delta is None else decimal_text(limit.delta),
        short_text(used, up=True),
        short_text(limit.epsilon - used, up=False),
        str(balance.status),
    ]
