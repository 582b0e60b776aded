"""The files of the documentation's examples: small, made up, the same every time.

A service on small made-up data: the files of the documentation, their facts, and budgets.
"""

import gzip
from pathlib import Path

import numpy as np

from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import FloatArray, IntArray
from dampen.ledger import Ledger

__all__ = [
    "write_service",
]


SCHEMA = """[[data]]
name = "census"
files = ["census.csv"]
budgets = ["census"]
rows = 500

[data.columns]
age = { lower = 17, upper = 90, bins = 8 }
workclass = ["Private", "Government", "?"]
income = ["<=50K", ">50K"]
"""

PROBLEM = """from dampen.questions.frequency import MostFrequent
from dampen.testing import Universe

problem = MostFrequent(["a", "b"])
universe = Universe.add_remove_row(["a", "b"], max_rows=3)
"""


def write_files(directory: Path) -> list[str]:
    """Writes the files and returns their names."""
    entropy = InsecureEntropy(0)
    texts = {
        "salaries.csv": _salaries(entropy),
        "visits.csv": "diagnosis,day\n" + "flu,1\n" * 90 + "cold,2\n" * 20,
        "census.csv": _census(entropy),
        "census.toml": SCHEMA,
        "new.csv": "age,workclass\n25,Private\n80,Government\n60,?\n",
        "my_problem.py": PROBLEM,
        "stays.csv": _stays(InsecureEntropy(1)),
    }
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
    edges = _edges(entropy).encode()
    (directory / "follows.csv.gz").write_bytes(gzip.compress(edges, mtime=0))
    return [*texts, "follows.csv.gz"]


def _uniform(entropy: InsecureEntropy, *shape: int) -> FloatArray:
    words = np.frombuffer(entropy.read(4 * int(np.prod(shape))), dtype=np.uint32)
    return words.reshape(shape).astype(np.float64) * 2.0**-32


def _salaries(entropy: InsecureEntropy) -> str:
    # The sum of twelve uniform numbers is nearly normal, so salaries are nearly lognormal.
    salaries = np.exp(10.8 + 0.5 * (_uniform(entropy, 300, 12).sum(axis=1) - 6))
    rows = (f"E{i},{salary:.0f}\n" for i, salary in enumerate(salaries))
    return "employee,salary\n" + "".join(rows)


def _stays(entropy: InsecureEntropy) -> str:
    """Three hospitals with 200 stays each, of 120 patients; those in H2 are longer."""
    days = -np.log(1 - _uniform(entropy, 3, 200)) * np.array([[6.0], [25.0], [7.0]])
    rows = (
        f"H{h + 1},{day:.0f},P{120 * h + i % 120}\n"
        for h in range(3)
        for i, day in enumerate(days[h])
    )
    return "hospital,days,patient\n" + "".join(rows)


def _edges(entropy: InsecureEntropy) -> str:
    """Forty people; number 0 knows everybody."""
    ends = (_uniform(entropy, 200, 2) * 40).astype(int).tolist() + [[0, i] for i in range(1, 40)]
    return "source,target\n" + "".join(f"{a},{b}\n" for a, b in ends if a != b)


def friends() -> tuple[IntArray, IntArray]:
    """A network of 1,000 people who befriend those that have many friends."""
    entropy = InsecureEntropy(2)
    source: list[int] = []
    target: list[int] = []
    ends = [0]
    for person, draws in enumerate(_uniform(entropy, 999, 4), start=1):
        known = {ends[int(draw * len(ends))] for draw in draws}
        source += [person] * len(known)
        target += sorted(known)
        ends += [*known, person]
    return np.array(source), np.array(target)


def _census(entropy: InsecureEntropy) -> str:
    ages = (17 + _uniform(entropy, 400) * 73).astype(int)
    work = (_uniform(entropy, 400) * 3).astype(int)
    rows = (
        f"{age},{('Private', 'Government', '?')[w]},{'>50K' if age > 50 else '<=50K'}\n"
        for age, w in zip(ages, work, strict=True)
    )
    return "age,workclass,income\n" + "".join(rows)


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
