"""A budget that persists: `Ledger(path)`, and `ledger[name]` to pass to a release as `budget=`."""

from dampen.core.losses import ANY, Loss
from dampen.errors import ExposedLedgerWarning
from dampen.ledger.accounts import (
    Account,
    Ledger,
    Watch,
    backup,
    default_place,
    restore,
    verify,
    watch,
)
from dampen.ledger.audit import report
from dampen.ledger.log import Charge, Entry, Head, Kind
from dampen.ledger.policy import DataSet, Policy, check_policy, load_policy
from dampen.ledger.state import Balance, Limit, Spent, Status

__all__ = [
    "ANY",
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
    "Loss",
    "Policy",
    "Spent",
    "Status",
    "Watch",
    "backup",
    "check_policy",
    "default_place",
    "load_policy",
    "report",
    "restore",
    "verify",
    "watch",
]
