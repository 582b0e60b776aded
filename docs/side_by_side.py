"""Writes docs/questions.md from the declarations of the questions: `python docs/side_by_side.py`.

Every question is asked once in Python, on the command line, over HTTP and, where it has one, by a
statement of SQL. The facts of the data sets are those of `dampen serve --demo`.
`tests/site/test_questions.py` compares the page with this and runs every example.
"""

import json
from dataclasses import MISSING
from pathlib import Path
from typing import Any

from dampen.questions import QUESTIONS, question_type
from dampen.releases.question import Parameter, parameters

PAGE = Path(__file__).parent / "questions.md"

ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "most-frequent": ("visits", {"value": "diagnosis", "epsilon": "0.5"}),
    "keys": ("visits", {"value": "diagnosis", "delta": "1e-6", "epsilon": "0.5"}),
    "top-groups": ("stays", {"value": "days", "by": "hospital", "epsilon": "0.5"}),
    "groups-above": (
        "stays", {"value": "days", "by": "hospital", "threshold": "6", "epsilon": "0.5"},
    ),
    "percentile": ("salaries", {"value": "salary", "p": "50", "epsilon": "0.5"}),
    "percentile-record": ("salaries", {"value": "salary", "p": "95", "epsilon": "2"}),
    "count": ("stays", {"by": "hospital", "epsilon": "0.5"}),
    "histogram": ("visits", {"value": "diagnosis", "epsilon": "0.5"}),
    "total": ("stays", {"value": "days", "epsilon": "0.5"}),
    "mean": ("stays", {"value": "days", "by": "hospital", "epsilon": "0.5"}),
    "top-k": ("follows", {"k": 3, "epsilon": "1"}),
    "tree": ("census", {"target": "income", "epsilon": "1"}),
    "regression-tree": ("census", {"target": "age", "epsilon": "1"}),
    "naive-bayes": ("census", {"target": "income", "epsilon": "1"}),
    "classifier": ("census", {"target": "income", "epsilon": "1"}),
}  # fmt: skip
"""Of which data set each question is asked, and how."""

SQL = {
    "most-frequent": "SELECT diagnosis FROM visits GROUP BY diagnosis "
    "ORDER BY COUNT(*) DESC LIMIT 1",
    "top-groups": "SELECT hospital FROM stays GROUP BY hospital ORDER BY MEDIAN(days) DESC LIMIT 1",
    "groups-above": "SELECT hospital FROM stays GROUP BY hospital HAVING MEDIAN(days) >= 6",
    "percentile": "SELECT MEDIAN(salary) FROM salaries",
    "count": "SELECT hospital, COUNT(*) FROM stays GROUP BY hospital",
    "total": "SELECT SUM(days) FROM stays",
    "mean": "SELECT hospital, AVG(days) FROM stays GROUP BY hospital",
}  # fmt: skip

HEAD = """# Every question in every front

<!-- Written by `python docs/side_by_side.py` from the declarations of the questions. -->

Each question below is asked in Python, on the command line, over HTTP and, where there is a
statement for it, in SQL. All four ask the same and cost the same. The facts of the data sets stand
in `dampen.toml`, so no question repeats them; the data sets here are those that
`dampen serve --demo` shows. How to write your own: [data sets](datasets.md).

In Python, open a data set by its name:

```python
import dampen

stays = dampen.dataset("stays", config="dampen.toml")
```

Every question also takes what pays for it: `epsilon` or `rho`, and `budget`, the name of an
account. On the command line `--expect` prints the price and the accuracy without asking; over HTTP,
post the same body to `.../expect`. A question with a `delta` needs a [budget](budgets.md) that has
one. A parameter marked *fact* is stated once for the data set, and analysts of a service cannot
change it.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *map(section, QUESTIONS)])


def section(name: str) -> str:
    """One question: its title, four fronts, and its parameters."""
    declared = question_type(name)
    data, _ = ASKED[name]
    rows = [
        ("Python", python_call(name)),
        ("command line", command(name)),
        ("HTTP", request(name)),
        *([("SQL", SQL[name])] if name in SQL else []),
    ]
    lines = [
        f"## {declared.title}",
        "",
        f"{QUESTIONS[name].summary} Asked here of `{data}`.",
        "",
        "| front | question |",
        "|---|---|",
        *(f"| {front} | `{text}` |" for front, text in rows),
        "",
        "| parameter | what it is | if left out |",
        "|---|---|---|",
        *map(_row, parameters(declared)),
        "",
    ]
    return "\n".join(lines)


def python_call(name: str) -> str:
    """The method of a data set; the first parameter of a question needs no name."""
    data, stated = ASKED[name]
    first = parameters(question_type(name))[0]
    given = [
        _python(value) if key == first.name and first.required else f"{key}={_python(value)}"
        for key, value in stated.items()
    ]
    return f"{data}.{name.replace('-', '_')}({', '.join(given)})"


def command(name: str) -> str:
    """The line of the command line."""
    data, stated = ASKED[name]
    short = {each.name: each.short for each in parameters(question_type(name)) if each.short}
    options = [
        f"-{short[key]} {value}" if key in short else f"--{key.replace('_', '-')} {value}"
        for key, value in stated.items()
    ]
    return f"dampen {name} {data} {' '.join(options)}"


def request(name: str) -> str:
    """The path and the body of a request."""
    data, stated = ASKED[name]
    return f"POST /v1/datasets/{data}/{name} {json.dumps(stated)}"


def _python(value: Any) -> str:
    """Numbers as one writes them: texts are for JSON and for exact decimals."""
    try:
        float(value)
    except ValueError:
        return json.dumps(value)
    return str(value)


def _row(each: Parameter) -> str:
    fact = " *fact*" if each.fact is not None else ""
    python = " Python only." if each.kind == "other" else ""
    choices = f" One of {', '.join(f'`{c}`' for c in each.choices)}." if each.choices else ""
    help = each.help.replace("|", "\\|")
    told = "" if all(c in each.help for c in each.choices) else choices
    return f"| `{each.name}`{fact} | {help}{told}{python} | {_default(each)} |"


def _default(each: Parameter) -> str:
    if each.default is MISSING:
        return "the data set states it" if each.fact is not None else "required"
    return "" if each.default is None else f"`{each.default}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
