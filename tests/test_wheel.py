"""The wheel is the product: no study in it, and it runs without what only studies need."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "dampen"
FOREIGN = ("dampen_studies", "matplotlib", "duckdb", "pooch")
EXTRAS = ("networkx", "sklearn", "scipy")
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
    done = run(IMPORT_ALL, block=(*FOREIGN, "networkx"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") > 50


def test_every_application_runs_without_them():
    done = run(APPLICATIONS, block=(*FOREIGN, "networkx"))
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
    assert run(call, "demo", "--files", ".", cwd=tmp_path).returncode == 0
    done = run(call, *arguments.split(), block=(*FOREIGN, *EXTRAS), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_an_estimator_names_the_extra_that_it_needs():
    done = run("import dampen; dampen.TreeClassifier", block=("sklearn",))
    assert done.returncode == 1
    assert "pip install 'dampen[models]'" in done.stderr.splitlines()[-1]
