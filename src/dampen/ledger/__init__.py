"""A budget that persists: `Ledger(path)`, and `ledger[name]` to pass to a release as `budget=`."""

from dampen.errors import ExposedLedgerWarning
from dampen.ledger.accounts import Account, Ledger, default_place
from dampen.ledger.log import Charge, Entry, Head, Kind
from dampen.ledger.policy import DataSet, Policy, check_policy, load_policy
from dampen.ledger.recovery import Watch, backup, restore, verify, watch
from dampen.ledger.state import Balance, Limit, Spent, Status

__all__ = [
    "Account",
    "Balance",
    "Charge",
    "DataSet",
    "Entry",
    "ExposedLedgerWarning",
    "Head",
    "Kind",
    "Ledger",
    "Limit",
    "Policy",
    "Spent",
    "Status",
    "Watch",
    "backup",
    "check_policy",
    "default_place",
    "load_policy",
    "restore",
    "verify",
    "watch",
]
