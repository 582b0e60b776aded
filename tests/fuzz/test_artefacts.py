"""Public files that come from elsewhere, fuzzed: they are read whole, or refused in a sentence."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.data.edges import read_nodes
from dampen.errors import BudgetError, DataError, ParameterError
from dampen.ledger import Account, Ledger, worker
from dampen.ledger.accounts import backup, restore, verify
from dampen.ledger.policy import check_policy, load_policy
from dampen.paper.id3 import DiffPID3
from dampen.questions.classify import TreeClassifier
from dampen.schema import format_schema, parse_schema
from fuzz.damage import damaged, examples, fuzz, mutated_json

pytestmark = pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")

SCHEMA = """[[data]]
name = "visits"
unit = "row"
units-public = true
rows = 1000
missing = "own"
[data.columns]
salary = { lower = 0, upper = 60000, bins = 6, missing = "own" }
age = { edges = [0, 18, 65] }
diagnosis = ["flu", "cold", 3]
badge = { names = true }
[data.graph]
nodes = 40
source = "from"
"""
OLD_SCHEMA = """rows = 1000
[columns.salary]
bins = [0, 60000, 6]
missing = "own"
[columns.age]
edges = [0, 18, 65]
[columns.diagnosis]
values = ["flu", "cold", 3, true]
[target]
classes = ["low", "high"]
"""
POLICY = """ledger = "books/ledger.sqlite3"
registered-only = true
[[data]]
name = "payroll"
budgets = ["pay", "Pay "]
files = ["salaries.csv", "exports"]
tables = ["postgresql://host/base"]
"""


def is_plain(error: Exception) -> None:
    """One sentence without what a terminal would obey."""
    assert "\x1b" not in str(error)
    assert error.__cause__ is None


def words(text: str) -> st.SearchStrategy[bytes]:
    """A text with lines and words exchanged, beside damage to its bytes."""
    lines = st.lists(st.sampled_from(text.splitlines()), max_size=12)
    other = st.sampled_from(
        [
            "1e400",
            "nan",
            "-1",
            "[[[[]]]]",
            "'''",
            "1979-05-27",
            "{a=1}",
            "0x10",
            '"\\u0000"',
            "9" * 30,
        ]
    )
    exchanged = st.tuples(lines, other).map(
        lambda drawn: "\n".join(drawn[0]).replace("60000", drawn[1]).replace('"pay"', drawn[1])
    )
    return st.one_of(damaged(text.encode()), exchanged.map(str.encode))


@pytest.mark.filterwarnings("ignore::dampen.errors.OldGrammarWarning")
@pytest.mark.parametrize("written", [SCHEMA, OLD_SCHEMA], ids=["new", "old"])
@examples
def test_schemas(examples: int, written: str) -> None:
    def check(content: bytes) -> None:
        text = content.decode(errors="replace")
        try:
            schema = parse_schema(text, target="income")
        except ParameterError as error:
            is_plain(error)
        else:
            assert parse_schema(format_schema(schema, name="a")) == schema

    fuzz(examples, words(written), check)


@pytest.mark.filterwarnings("ignore::dampen.errors.OldGrammarWarning")
@examples
def test_policies(tmp_path: Path, examples: int) -> None:
    path = tmp_path / "dampen.toml"

    def check(content: bytes) -> None:
        path.write_bytes(content)
        try:
            load_policy(path)
            check_policy(tmp_path / "salaries.csv", "pay", path)
        except (ParameterError, BudgetError) as error:
            is_plain(error)

    fuzz(examples, words(POLICY), check)


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 5000 + "]" * 5000,
        "a" + ".a" * 5000 + " = 1",
        'ledger = "\\u0000"',
        POLICY.replace("exports", "\\u0000"),
        POLICY.replace("exports", "a" * 5000),
        POLICY.replace("payroll", "\\u001b[31m"),
        POLICY + '"\\u001b[31m" = 1',
    ],
    ids=range(7),
)
def test_hostile_policies(tmp_path: Path, text: str) -> None:
    (tmp_path / "dampen.toml").write_text(text)
    with pytest.raises((ParameterError, BudgetError)) as caught:
        check_policy(tmp_path / "salaries.csv", "other", tmp_path / "dampen.toml")
    is_plain(caught.value)


@examples
def test_lists_of_nodes(tmp_path: Path, examples: int) -> None:
    path = tmp_path / "nodes.txt"

    def check(content: bytes) -> None:
        path.write_bytes(content)
        try:
            nodes = read_nodes(path)
            dampen.top_k(([], []), nodes=nodes, epsilon=1)
        except ParameterError as error:
            is_plain(error)

    fuzz(examples, damaged("# nodes\n0\n1\n17\nÄnne\n".encode()), check)


DOMAINS = {"x": ["p", "q"], "z": dampen.bins(0, 10, 5, missing="own")}
SEEDED = InsecureEntropy(4, allow_release=True)
FRAME = pd.DataFrame({"x": ["p", "q", "p"], "z": [1.0, 5.0, 9.0]})


@pytest.fixture(scope="module")
def trees() -> list[TreeClassifier]:
    return [
        make(
            epsilon=5,
            domains=DOMAINS,
            classes=["no", "yes"],
            max_rows=50,
            entropy=SEEDED,
            **levels,
        ).fit(FRAME, ["no", "yes", "no"])
        for make, levels in (
            (TreeClassifier, {"max_depth": 2}),
            (DiffPID3, {"max_depth": 2}),
            (TreeClassifier, {"stages": (3,)}),
        )
    ]


def use(text: str) -> None:
    """What comes back works as a tree, or nothing comes back."""
    try:
        tree = TreeClassifier.from_json(text)
    except ParameterError as error:
        is_plain(error)
        return
    try:
        assert len(tree.predict(FRAME)) == 3
    except (DataError, ValueError) as error:  # its columns are others
        is_plain(error)
    assert tree.report().isprintable() or "\n" in tree.report()
    assert json.loads(tree.to_json())["answer"]["format"] == "tree 8"
    assert np.isfinite(tree.tree_.level).all()


@examples
@pytest.mark.parametrize("which", [0, 1, 2])
def test_trees(trees: list[TreeClassifier], which: int, examples: int) -> None:
    fuzz(examples, mutated_json(trees[which].to_json()), use)


@examples
def test_naive_bayes(examples: int) -> None:
    made = dampen.NaiveBayesClassifier(
        epsilon=1, domains=DOMAINS, classes=["no", "yes"], entropy=SEEDED
    ).fit(FRAME, ["no", "yes", "no"])

    def check(text: str) -> None:
        try:
            read = dampen.NaiveBayesClassifier.from_json(text)
        except ParameterError as error:
            is_plain(error)
            return
        assert json.loads(read.to_json())
        try:
            assert np.isfinite(read.predict_proba(FRAME)).all()
        except (DataError, ValueError) as error:  # its columns are others
            is_plain(error)

    fuzz(examples, mutated_json(made.to_json()), check)


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    made = Ledger(tmp_path / "books" / "ledger.sqlite3")
    account = made.create("b", epsilon=2, neighbours="add-remove-row")
    for _ in range(5):
        dampen.most_frequent(["a"], categories=["a", "c"], epsilon="0.3", budget=account)
    worker.close_all()
    return made


@examples
@pytest.mark.parametrize("part", ["ledger.sqlite3", "ledger.sqlite3-head"])
def test_ledgers(ledger: Ledger, part: str, examples: int) -> None:
    """Never more left than before; what is said to be spent is what was spent."""
    folder = Path(ledger.path).parent
    wholes = {path.name: path.read_bytes() for path in folder.iterdir()}
    if part not in wholes:
        pytest.skip(f"there is no {part}")

    def check(content: bytes) -> None:
        worker.close_all()
        for path in folder.iterdir():
            path.unlink()
        for name, whole in wholes.items():
            (folder / name).write_bytes(content if name == part else whole)
        try:
            assert Ledger(ledger.path).spent("b") == 1.5
        except BudgetError as error:
            is_plain(error)
        try:
            Account(Ledger(ledger.path), "b").charge(cost_of("0.6"))
        except BudgetError as error:
            is_plain(error)
        else:
            raise AssertionError("a charge beyond the budget was granted")
        worker.close_all()

    fuzz(examples, damaged(wholes[part]), check)


def cost_of(epsilon: str) -> Any:
    from fractions import Fraction

    from dampen.releases.cost import Cost

    e = Fraction(epsilon)
    return Cost(e, e**2 / 2, "q", "pf", dampen.Neighbours("add-remove-row"))


@examples
def test_backups(ledger: Ledger, tmp_path: Path, examples: int) -> None:
    """A backup is restored with all that was spent, or refused."""
    backup(ledger, tmp_path / "whole.backup")
    whole, number = (tmp_path / "whole.backup").read_bytes(), iter(range(10**9))

    def check(content: bytes) -> None:
        (tmp_path / "broken.backup").write_bytes(content)
        target = Ledger(tmp_path / f"new{next(number)}" / "ledger.sqlite3")
        try:
            restore(tmp_path / "broken.backup", target)
        except BudgetError as error:
            is_plain(error)
        else:
            assert target.spent("b") == 1.5
        worker.close_all()

    fuzz(examples, damaged(whole), check)


@examples
def test_heads(ledger: Ledger, examples: int) -> None:
    head = str(verify(ledger))

    def check(text: str) -> None:
        try:
            verify(ledger, text)
        except (ParameterError, BudgetError) as error:
            is_plain(error)

    mutated = damaged(head.encode()).map(lambda content: content.decode(errors="replace"))
    fuzz(examples, st.one_of(mutated, st.text()), check)
