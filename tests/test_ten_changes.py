"""The table of `docs/architecture.md`: ten changes, each one new file and one line in a list.

Each change is really made, in a copy of the sources, and then used from outside: the new thing must
be in every front that lists its kind.  The number of files that a change touches is what is tested.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "dampen"


@dataclass(frozen=True)
class Change:
    """One change of the table.

    Attributes:
        kind: what is added, as the table calls it.
        file: the new file, and what is in it; none if it can be a user's own.
        lines: by file, a line that is there and what it becomes.
        check: a program that uses the new thing and prints what it sees.
        shown: what the program must print.
    """

    kind: str
    check: str
    shown: str
    file: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)


METRIC = '''"""Twice the degree, to test how a metric is added."""

from dataclasses import dataclass
from typing import ClassVar

from dampen.core.selection import Selection
from dampen.questions.nodes.metric import Degree


@dataclass(frozen=True)
class Popularity(Degree):
    name: ClassVar[str] = "popularity"
    help: ClassVar[str] = "how many know a node"
'''

STATISTIC = '''"""The lower quartile, to test how a statistic is added."""

from fractions import Fraction

from dampen.questions.groups.statistics import NamedStatistic, Quantile

QUARTILE = NamedStatistic("quartile", "the lower quartile", lambda: Quantile(Fraction(1, 4)))
'''

QUESTION = '''"""The least frequent category, to test how a question is added."""

from dataclasses import dataclass
from typing import ClassVar

from dampen.questions.frequency import FrequencyQuestion


@dataclass(frozen=True, kw_only=True)
class RarityQuestion(FrequencyQuestion):
    """Which category occurs least often?"""

    name: ClassVar[str] = "least-frequent"
    title: ClassVar[str] = "Least frequent category"
'''

COMMAND = '''"""`dampen greet`."""

import click


@click.command()
def greet() -> None:
    """Says hello."""
    click.echo("hello")
'''

ENGINE = '''"""Tables of an engine that is a list of rows."""

from typing import Any

from dampen.data.memory import MemoryTable
from dampen.data.source import Opened


class Rows(list[Any]):
    """Rows with a column `vote`."""


def is_rows(data: Any) -> bool:
    return type(data) is Rows


def open_rows(data: Rows) -> Opened:
    return MemoryTable({"vote": list(data)})
'''

VOTES = """
import dampen
votes = dampen.Selection([9, 1], dampen.sensitivity.constant(1), exact=True)
"""

FRONTS = """
from dampen.cli.main import run
from dampen.client import Service
from dampen.service.questions import bodies
"""

CHANGES = [
    Change(
        "a mechanism",
        VOTES + "print(dampen.select(votes, epsilon=50, mechanism='em-twice'))",
        r"^0$",
        lines={
            "core/mechanisms.py": (
                ("MECHANISMS = (EM,", 'MECHANISMS = (Mechanism("em-twice", Global(), GUMBEL), EM,'),
            )
        },
    ),
    Change(
        "a noise",
        "from dampen.core.noise import Gumbel\n"
        "class Wider(Gumbel):\n    name = 'wider'\n"
        + VOTES
        + "from dampen.core.scores import Global\n"
        "own = dampen.Mechanism('own', Global(), Wider())\n"
        "print(dampen.select(votes, epsilon=50, mechanism=own))",
        r"^0$",
    ),
    Change(
        "a score",
        "from dampen.core.noise import GUMBEL\nfrom dampen.core.scores import Global\n"
        "class Same(Global):\n    pass\n"
        + VOTES
        + "own = dampen.Mechanism('own', Same(), GUMBEL)\n"
        "print(dampen.select(votes, epsilon=50, mechanism=own))",
        r"^0$",
    ),
    Change(
        "a sensitivity function",
        "import dampen\n"
        "delta = dampen.sensitivity.function(lambda t: [min(1 + t, 5), min(2 + t, 5)], horizon=9)\n"
        "own = dampen.Selection([9, 1], delta, bound=5)\n"
        "print(dampen.select(own, epsilon=99, mechanism='ld'))",
        r"^0$",
    ),
    Change(
        "a graph metric",
        FRONTS + "run(['top-k', '--help'])\n"
        "print(bodies()['top-k'].model_json_schema())\n"
        "import dampen\n"
        "print(dampen.top_k(([0, 0], [1, 2]), n=9, k=1, metric='popularity', epsilon=99).answer)",
        r"(?s)popularity.*popularity.*\[0\]",
        file={"questions/nodes/popularity.py": METRIC},
        lines={
            "questions/nodes/metrics.py": (
                ("    Degree(),\n", "    Degree(),\n    Popularity(),\n"),
                (
                    "from dampen.questions.nodes.centralities",
                    "from dampen.questions.nodes.popularity import Popularity\n"
                    "from dampen.questions.nodes.centralities",
                ),
            )
        },
    ),
    Change(
        "a group statistic",
        FRONTS + "run(['top-groups', '--help'])\n"
        "print(bodies()['top-groups'].model_json_schema())\n"
        "import dampen\n"
        "table = {'v': [1] * 50 + [9] * 50, 'g': ['a'] * 50 + ['b'] * 50}\n"
        "print(dampen.top_groups(table, 'v', by='g', groups=['a', 'b'], lower=0, upper=9, step=1,"
        " statistic='quartile', epsilon=9).answer)",
        r"(?s)quartile.*quartile.*\nb\n",
        file={"questions/groups/quartile.py": STATISTIC},
        lines={
            "questions/groups/problem.py": (
                ("    TRIMMED_MEAN,\n    SUM,\n)", "    TRIMMED_MEAN,\n    SUM,\n    QUARTILE,\n)"),
                (
                    "from dampen.questions.groups.statistics",
                    "from dampen.questions.groups.quartile import QUARTILE\n"
                    "from dampen.questions.groups.statistics",
                ),
            )
        },
    ),
    Change(
        "an input type",
        "import dampen\n"
        "class Ballots(tuple):\n    pass\n"
        "box = Ballots(['a'] * 50 + ['b'])\n"
        "print(dampen.most_frequent(box, 'vote', categories=['a', 'b'], epsilon=9).answer)",
        r"^a$",
        lines={
            "data/memory.py": (
                (
                    '    (offers("pandas", "columns", "iloc"), _of_pandas),\n',
                    '    (offers("pandas", "columns", "iloc"), _of_pandas),\n'
                    '    (lambda data: type(data).__name__ == "Ballots", '
                    'lambda data: MemoryTable({"vote": list(data)})),\n',
                ),
            )
        },
    ),
    Change(
        "an engine",
        "import dampen\nfrom dampen.data.rows import Rows\n"
        "rows = Rows(['a'] * 50 + ['b'])\n"
        "print(dampen.most_frequent(rows, 'vote', categories=['a', 'b'], epsilon=9).answer)",
        r"^a$",
        file={"data/rows.py": ENGINE},
        lines={
            "data/open.py": (
                (
                    "    (is_relation, open_relation),\n",
                    "    (is_relation, open_relation),\n    (is_rows, open_rows),\n",
                ),
                (
                    "from dampen.data.source import",
                    "from dampen.data.rows import is_rows, open_rows\n"
                    "from dampen.data.source import",
                ),
            )
        },
    ),
    Change(
        "a command",
        "from dampen.cli.main import run\nrun(['--help'])\nrun(['greet'])",
        r"(?s)greet +Says hello.*\nhello\n",
        file={"cli/greet.py": COMMAND},
        lines={
            "cli/main.py": (
                (
                    "COMMANDS = {\n",
                    'COMMANDS = {\n    "greet": Listed("greet.greet", "Says hello."),\n',
                ),
            )
        },
    ),
    Change(
        "a question with all its fronts",
        FRONTS + "run(['--help'])\nrun(['least-frequent', '--help'])\n"
        "print(bodies()['least-frequent'].model_json_schema()['properties'].keys())\n"
        "print([name for name in dir(Service('http://x', 't')) if 'least' in name])\n"
        "from dampen.service.questions import declarations\n"
        "print([each['title'] for each in declarations()])",
        r"(?s)least-frequent.*--value.*'value'.*least_frequent.*Least frequent category",
        file={"questions/rarity.py": QUESTION},
        lines={
            "questions/__init__.py": (
                (
                    '    "top-groups": Listed(',
                    '    "least-frequent": Listed("rarity.RarityQuestion", "Which category occurs '
                    'least often?"),\n    "top-groups": Listed(',
                ),
            )
        },
    ),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.kind)
def test_a_change_is_one_file_and_its_line(change: Change, tmp_path: Path) -> None:
    assert len(change.file) <= 1
    assert len(change.lines) <= 1
    copy = tmp_path / "dampen"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in change.file.items():
        assert not (copy / name).exists()
        (copy / name).write_text(text)
    for name, edits in change.lines.items():
        text = (copy / name).read_text()
        for before, after in edits:
            assert text.count(before) == 1, (name, before)
            text = text.replace(before, after)
        (copy / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", change.check],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )
    assert re.search(change.shown, done.stdout), (done.stdout[-3000:], done.stderr[-3000:])


def test_the_table_names_these_ten_changes() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| (an? [^|]+?) \|", page, re.MULTILINE)
    assert rows == [change.kind for change in CHANGES]
    assert len(CHANGES) == 10
