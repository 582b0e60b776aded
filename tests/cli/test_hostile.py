"""Files that mean harm: outputs that are inputs, terminal escapes, damaged trees."""

import copy
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dampen.ledger import Ledger
from dampen.questions.classify import TreeClassifier

TREE = ("tree", "census.csv", "--target", "income", "--schema", "census.toml", "--epsilon", "1")
ESCAPE = "\x1b[31m\x9b5m\u202e\x07"


def aliases(place: Path) -> Iterator[tuple[str, str]]:
    """Names of files that `dampen tree` reads, one as it is, others through links."""
    (place / "link.csv").symlink_to("census.csv")
    os.link(place / "census.csv", place / "hard.csv")
    (place / "folder").symlink_to(".")
    yield "census.csv", "census.csv"
    yield "census.csv", "link.csv"
    yield "link.csv", "census.csv"
    yield "census.csv", "hard.csv"
    yield "census.csv", "folder/census.csv"
    yield "census.csv", "census.toml"
    yield "census.csv", "ledger.sqlite3"


def test_a_tree_never_overwrites_what_it_is_grown_from(dampen, place: Path) -> None:
    ledger = Ledger(place / "ledger.sqlite3")
    ledger.create("b", epsilon=9, neighbours="add-remove-row")
    before = {name: (place / name).read_bytes() for name in ("census.csv", "census.toml")}
    for read, written in aliases(place):
        command = ["tree", read, *TREE[2:], "-o", written, "--budget", "b"]
        refused = dampen(*command)
        assert (refused.code, refused.out) == (2, ""), written
        assert "because the data is read from it" in refused.err
    assert {name: (place / name).read_bytes() for name in before} == before
    assert ledger.spent("b") == 0


@pytest.mark.parametrize("file", ["parts", "parts/*.parquet"])
def test_a_tree_never_overwrites_a_part_of_its_input(dampen, place: Path, file: str) -> None:
    import pyarrow.csv
    import pyarrow.parquet as pq

    (place / "parts").mkdir()
    pq.write_table(pyarrow.csv.read_csv(place / "census.csv"), place / "parts" / "1.parquet")
    refused = dampen("tree", file, *TREE[2:], "-o", "parts/1.parquet")
    assert (refused.code, refused.out) == (2, "")
    assert dampen("tree", file, *TREE[2:], "-o", "tree.json").code == 0


def test_a_schema_never_overwrites_its_input(dampen, place: Path) -> None:
    before = (place / "census.csv").read_bytes()
    refused = dampen("schema", "init", "census.csv", "--public", "-o", "census.csv")
    assert (refused.code, refused.out) == (2, "")
    assert (place / "census.csv").read_bytes() == before


def harmless(text: str) -> bool:
    return all(c.isprintable() or c == "\n" for c in text)


def test_escapes_in_a_tree(dampen, place: Path) -> None:
    """In names of columns, values and classes; all come from files."""
    quoted = json.dumps(ESCAPE)
    schema = f"[[data]]\nname = {quoted}\nrows = 99\n[data.columns]\n{quoted} = [{quoted}, 'b']\n"
    (place / "s.toml").write_text(schema + f"y = [{quoted}, 'no']\n")
    (place / "t.csv").write_text(f"{ESCAPE},y\n".replace("\x07", "\x07") + f"{ESCAPE},no\nb,no\n")
    (place / "t.jsonl").write_text(
        "".join(json.dumps({ESCAPE: v, "y": c}) + "\n" for v, c in ((ESCAPE, "no"), ("b", ESCAPE)))
    )
    command = ("tree", "t.jsonl", "--target", "y", "--schema", "s.toml", "--epsilon", "90")
    grown = dampen(*command, "--max-depth", "1", "-o", "tree.json")
    assert grown.code == 0, grown.err
    as_json = dampen(*command, "--json")
    assert ESCAPE in json.loads(as_json.out)["answer"]["classes"]
    predicted = dampen("predict", "tree.json", "t.jsonl")
    assert predicted.code == 0, predicted.err
    predictions = dampen("predict", "tree.json", "t.jsonl", "--json")
    assert set(json.loads(predictions.out)) <= {ESCAPE, "no"}
    wrong = dampen(*command, "--columns", ESCAPE)
    for shown in (grown, as_json, predicted, predictions, wrong):
        assert harmless(shown.out)
        assert harmless(shown.err)
    report = TreeClassifier.from_json((place / "tree.json").read_text()).report()
    assert harmless(report)


def test_escapes_elsewhere(dampen, place: Path) -> None:
    (place / "visits.csv").write_text("diagnosis\n" + "red\n" * 90)
    (place / "nodes.txt").write_text(f"{ESCAPE}\nb\n")
    (place / "edges.txt").write_text("b b\n")
    (place / f"{ESCAPE}.csv").write_text("")
    (place / "public.jsonl").write_text(
        "".join(json.dumps({"a": ESCAPE, "b": c}) + "\n" for c in ("x", f"y{ESCAPE}"))
    )
    frequent = ("most-frequent", "visits.csv", "--value", "diagnosis", "--epsilon", "90")
    commands = [
        (*frequent, "--categories", f"red,{ESCAPE}", "-k", "2"),
        (*frequent, "--categories", f"red,{ESCAPE}", "-k", "2", "--json"),
        (*frequent, "--categories", "red", "--dataset", ESCAPE, "--budget", ESCAPE),
        ("top-k", "edges.txt", "--nodes-file", "nodes.txt", "-k", "2", "--epsilon", "1"),
        ("top-k", f"{ESCAPE}.csv", "--epsilon", "1"),
        ("draft", "public.jsonl", "--look"),
        ("predict", ESCAPE, "visits.csv"),
        ("predict", ESCAPE, "visits.csv", "--json"),
        (ESCAPE,),
        ("verify", f"{ESCAPE}.csv"),
    ]
    for command in commands:
        shown = dampen(*command)
        assert harmless(shown.out), command
        assert harmless(shown.err), command
    draft = dampen("draft", "public.jsonl", "--look").out
    assert "\\U0000202E" in draft  # which TOML reads back


VALUES: list[Any] = [
    None, True, -1, 0, 1, 7, 2**31, 10**30, 1.5, 1e308, "", "x", "1e999999999", "0", [], {},
    [1], [[1]], {"a": 1}, "\x1b[31m", "9" * 5000,
]  # fmt: skip


def places_in(content: Any) -> list[tuple[Any, Any]]:
    """Every key and index of a JSON value, with what holds it."""
    found, waiting = [], [content]
    while waiting:
        held = waiting.pop()
        for key in list(held) if isinstance(held, dict) else range(len(held)):
            found.append((held, key))
            if isinstance(held[key], dict | list):
                waiting.append(held[key])
    return found


def mutated(text: str, seed: int) -> str:
    """A tree with some of its JSON replaced, removed or repeated; or with damaged text."""
    chance = random.Random(seed)
    if seed % 5 == 0:
        at = chance.randrange(len(text))
        return text[:at] + chance.choice(["", "[" * 50_000, "\0", text]) + text[at + 1 :]
    content = copy.deepcopy(json.loads(text))
    for _ in range(chance.choice([1, 1, 2, 5])):
        held, key = chance.choice(places_in(content))
        if chance.random() < 0.2:
            del held[key]
        elif chance.random() < 0.2 and isinstance(held, list):
            held += held
        else:
            held[key] = chance.choice(VALUES)
    return json.dumps(content)


@pytest.fixture
def tree_text(dampen, place: Path) -> str:
    assert dampen(*TREE, "--max-depth", "3", "-o", "tree.json").code == 0
    return (place / "tree.json").read_text()


def predict_with(dampen, place: Path, text: str) -> None:
    (place / "mutant.json").write_text(text)
    done = dampen("predict", "mutant.json", "new.csv")
    assert done.code in (0, 2), done
    if done.code:
        assert done.out == ""
        assert done.err.count("\n") == 1
    assert harmless(done.out + done.err)


def test_damaged_trees(dampen, place: Path, tree_text: str) -> None:
    for seed in range(100):
        predict_with(dampen, place, mutated(tree_text, seed))


@pytest.mark.slow
def test_many_damaged_trees(dampen, place: Path, tree_text: str) -> None:
    for seed in range(100, 1100):
        predict_with(dampen, place, mutated(tree_text, seed))


def test_a_tree_with_a_cycle(dampen, place: Path, tree_text: str) -> None:
    content = json.loads(tree_text)
    tree = content["answer"]["tree"]
    tree["routes"] = [0] * len(tree["routes"])
    (place / "mutant.json").write_text(json.dumps(content))
    refused = dampen("predict", "mutant.json", "new.csv")
    assert refused.code == 2
    assert refused.err.startswith("dampen: Expected a model")
    assert refused.err.endswith(", not mutant.json.\n")


def test_a_tree_is_not_any_file(dampen) -> None:
    there = [file for file in ("/dev/zero", "/proc/self/mem") if Path(file).exists()]
    for file in (*there, "/", "census.csv"):
        refused = dampen("predict", file, "new.csv")
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.count("\n") == 1
