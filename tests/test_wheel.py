"""The wheel is the product: no study in it, and it runs without what only studies need."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dampen.cli.demo import write_files

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "dampen"
FOREIGN = ("dampen_studies", "matplotlib", "duckdb", "pooch")
EXTRAS = ("networkx", "sklearn", "scipy", "pyarrow", "rich")
"""What the commands do without."""
BLOCK = "import sys\nfor name in {names}: sys.modules[name] = None\n"
IMPORT_ALL = """
import importlib, pkgutil, dampen
for module in pkgutil.walk_packages(dampen.__path__, "dampen."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
        print(module.name)
"""
APPLICATIONS = """
import numpy as np
from dampen import TreeClassifier, most_frequent, percentile, top_k
rows, classes = np.arange(40).reshape(-1, 1) % 2, np.arange(40) % 2
print(top_k((np.zeros(9, int), np.arange(1, 10)), k=1, epsilon=1000, n=10).answer)
print(percentile(np.arange(101), p=50, epsilon=1000, upper=100, step=1).answer)
print(most_frequent(["a"] * 50, categories=["a", "b"], epsilon=1000).answer)
print(TreeClassifier(
    epsilon=1000, max_depth=1, domains=[2], classes=[0, 1], max_rows=50
).fit(rows, classes).score(rows, classes))
"""


def run(code: str, *arguments: str, block: tuple[str, ...] = FOREIGN, cwd: Path | None = None):
    call = [sys.executable, "-c", BLOCK.format(names=block) + code, *arguments]
    return subprocess.run(call, capture_output=True, text=True, check=False, cwd=cwd)


def test_the_wheel_holds_the_library_and_nothing_else():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert project["packages"]["find"] == {"where": ["src"]}
    data = [path for given in project["package-data"]["dampen"] for path in PACKAGE.glob(given)]
    files = [
        path.relative_to(PACKAGE.parent).as_posix() for path in [*PACKAGE.rglob("*.py"), *data]
    ]
    assert "dampen/py.typed" in files
    assert "dampen/service/page/index.html" in files
    reproduction = ("studies/", "datasets/", "claims", "report")
    assert [f for f in files if any(word in f for word in reproduction)] == []


def test_no_module_imports_what_only_studies_need():
    done = run(IMPORT_ALL, block=(*FOREIGN, "networkx", "pyarrow", "rich"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") > 50


def test_every_application_runs_without_them():
    done = run(APPLICATIONS, block=(*FOREIGN, "networkx", "rich"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n") == ["[0]", "50", "a", "1.0", ""]


@pytest.mark.parametrize(
    "arguments",
    [
        "top-k follows.csv.gz -k 2 --epsilon 1 --n 40",
        "percentile salaries.csv --value salary -p 50 --upper 500000 --step 500 --epsilon 1",
        "most-frequent visits.csv --value diagnosis --categories flu,cold --epsilon 1",
        "tree census.csv --target income --schema census.toml --epsilon 1 -o tree.json",
        "draft census.csv --look",
        "verify my_problem.py",
        "example",
        "compare top-k follows.csv.gz --n 40 -k 2 --epsilon 1 --tries 2 --public",
    ],
)
def test_every_command_runs_without_them(tmp_path, arguments):
    call = "import sys; from dampen.cli.main import main; main(sys.argv[1:])"
    write_files(tmp_path)
    done = run(call, *arguments.split(), block=(*FOREIGN, *EXTRAS), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


FRAMES = """
import datetime as dt, sys, warnings
import numpy as np, pandas as pd, polars as pl
import dampen
days = [dt.datetime(2024, 1, 1 + i % 28) if i % 7 else None for i in range(60)]
columns = {
    "x": [i % 10 if i % 9 else None for i in range(60)],
    "g": ["aabbbc"[i % 6] if i % 11 else None for i in range(60)],
    "who": [f"p{i % 20}" for i in range(60)],
    "day": days,
}
frame = pl.DataFrame(columns)
pandas = pd.DataFrame(columns)
pandas["x"] = pandas["x"].astype("Int64")
arrays = {
    "x": np.array([np.nan if x is None else x for x in columns["x"]]),
    "g": np.array([g or "" for g in columns["g"]]),
    "who": np.array(columns["who"]),
    "day": np.array(days, "M8[ns]"),
}
for data in (columns, arrays, pandas, pandas.convert_dtypes(), frame, frame.lazy()):
    numbers = {"lower": 0, "upper": 9, "step": 1, "epsilon": 10**6}
    by = {"by": "g", "groups": ["a", "b"]}
    table = dampen.dataset(data, unit="who", columns={"x": dampen.number(0, 9, step=1)})
    print(
        dampen.top_groups(data, "x", **by, **numbers).answer,
        dampen.percentile(data, "x", p=40, **numbers).answer,
        dampen.most_frequent(data, "g", categories=["a", "b", "c"], k=3, epsilon=10**6).answer,
        dampen.count(data, where="g >= 'b' and x > 3", epsilon=10**6).answer,
        dampen.count(data, where="day < '2024-01-09'", epsilon=10**6).answer,
        sorted(dampen.keys(data, "g", epsilon=10**6, delta="1e-6").answer),
        table.count(epsilon=10**6).answer,
        dampen.top_k(frame[["who", "g"]] if data is frame else (arrays["who"], arrays["g"]), k=1,
            epsilon=10**6, nodes=["a", "b", "c", *(f"p{i}" for i in range(20))]).answer,
    )
"""


def test_answers_from_memory_are_the_same_without_pyarrow():
    """Of lists, numpy, pandas and polars."""
    told = [run(FRAMES, block=blocked) for blocked in (("rich",), ("rich", "pyarrow"))]
    assert [done.returncode for done in told] == [0, 0], [done.stderr[-800:] for done in told]
    assert told[0].stdout == told[1].stdout
    assert told[0].stdout.count("\n") == 6


@pytest.mark.parametrize(
    ("code", "command"),
    [
        ("dampen.count('t.parquet', epsilon=1)", "pip install 'dampen[files]'"),
        ("import duckdb; dampen.count(duckdb.sql('select now() as x'), epsilon=1)",
         "pip install 'dampen[files]'"),
    ],
)  # fmt: skip
def test_missing_extras_name_the_command(tmp_path, code, command):
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    done = run(f"import dampen; {code}", block=("pyarrow",), cwd=tmp_path)
    assert done.returncode == 1
    assert command in done.stderr.splitlines()[-1]


def test_an_estimator_names_the_extra_that_it_needs():
    done = run("import dampen; dampen.TreeClassifier", block=("sklearn",))
    assert done.returncode == 1
    assert "pip install 'dampen[models]'" in done.stderr.splitlines()[-1]
