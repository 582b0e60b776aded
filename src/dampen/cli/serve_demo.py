"""A service on small made-up data: the files of the documentation, their facts, and budgets."""

from pathlib import Path

from dampen.cli.demo_files import write_files
from dampen.ledger import Ledger

__all__ = ["write_service"]

CONFIGURATION = """ledger = "ledger.sqlite3"

[[data]]
name = "salaries"
budgets = ["salaries"]
files = ["salaries.csv"]
title = "Salaries of a company"
units-public = true
rows = 300

[data.columns]
salary = { lower = 0, upper = 500000, step = 1000 }
employee = { names = true }

[[data]]
name = "visits"
budgets = ["visits"]
files = ["visits.csv"]
title = "Diagnoses in a practice"
rows = 200

[data.columns]
diagnosis = ["flu", "cold"]
day = { lower = 1, upper = 31, step = 1 }

[[data]]
name = "stays"
budgets = ["stays"]
files = ["stays.csv"]
title = "Days in three hospitals"
rows = 1000
sample = "stays-sample.csv"

[data.columns]
hospital = ["H1", "H2", "H3"]
days = { lower = 0, upper = 100, step = 1 }

[[data]]
name = "census"
budgets = ["census"]
files = ["census.csv"]
title = "Who earns more than 50,000"
rows = 500

[data.columns]
age = { lower = 17, upper = 90, bins = 8 }
workclass = ["Private", "Government", "?"]
income = ["<=50K", ">50K"]

[[data]]
name = "follows"
budgets = ["follows"]
files = ["follows.csv.gz"]
title = "Who follows whom, forty people"

[data.graph]
nodes = 40
"""

SAMPLE = "hospital,days\n" + "".join(
    f"H{1 + i % 3},{7 * i % 23 + 6 * (i % 3 == 1)}\n" for i in range(300)
)
"""Public: what somebody thinks that such data looks like."""

RELATIONS = {
    "salaries": "replace-one",
    "visits": "add-remove-row",
    "stays": "add-remove-row",
    "census": "add-remove-row",
    "follows": "add-remove-edge",
}


def write_service(directory: Path) -> Path:
    """Writes files, budgets and a `dampen.toml`, and returns the latter."""
    write_files(directory)
    (directory / "stays-sample.csv").write_text(SAMPLE, encoding="utf-8")
    ledger = Ledger(directory / "ledger.sqlite3")
    for name, neighbours in RELATIONS.items():
        ledger.create(
            name, epsilon="10", neighbours=neighbours, dataset=name, largest="5", trial=True
        )
    configuration = directory / "dampen.toml"
    configuration.write_text(CONFIGURATION, encoding="utf-8")
    return configuration
