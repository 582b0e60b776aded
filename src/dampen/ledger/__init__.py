"""A budget that persists: `Ledger(path)`, and `ledger[name]` to pass to a release as `budget=`."""

from dampen.ledger.accounts import Account, Charge, Ledger, default_path

__all__ = ["Account", "Charge", "Ledger", "default_path"]
