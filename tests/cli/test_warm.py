"""`dampen warm`: afterwards no first answer waits for a compiler."""

import sys
from pathlib import Path

import pytest

WATCHED = """
import sys
from numba.core.dispatcher import _FunctionCompiler
from dampen.cli.main import run
compiled = []
plain = _FunctionCompiler._compile_core
def noted(self, args, return_type):
    compiled.append(self.py_func.__name__)
    return plain(self, args, return_type)
_FunctionCompiler._compile_core = noted
code = run(sys.argv[1:])
print("compiled:", ", ".join(compiled))
"""


@pytest.mark.slow
def test_after_it_nothing_is_compiled(shell, place: Path) -> None:
    (place / "watched.py").write_text(WATCHED)
    cache = {"NUMBA_CACHE_DIR": str(place / "cache")}
    assert "All kernels are compiled" in shell("dampen warm", **cache).out
    for line in (
        "top-k follows.csv.gz -k 3 --n 40 --epsilon 1",
        "percentile-record salaries.csv --column salary -p 50 --upper 500000 --epsilon 20",
        "percentile salaries.csv --column salary -p 10,20,...,90 --upper 500000 --epsilon 1 "
        "--step 1000",
        "tree census.csv --target income --schema census.toml --epsilon 1 -o tree.json",
        "top-groups stays.csv --value days --by hospital --groups H1,H2,H3 --lower 0 --upper 100 "
        "--step 1 --epsilon 1",
    ):
        done = shell(f'"{sys.executable}" watched.py {line}', **cache)
        assert done.code == 0, done.err
        assert done.out.endswith("compiled: \n"), done.out
