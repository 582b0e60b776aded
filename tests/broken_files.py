"""Some six hundred broken files, the same every time: bytes damaged at random, and hostile content.

Secrets of `leaks` are planted in all of them, where no release may show them.
"""

import bz2
import gzip
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from leaks import NUMBER, WORD

COUNT = "most-frequent FILE --value diagnosis --categories flu,cold"
VALUE = "percentile FILE --value salary --step 1000 -p 10 --upper 1000000"
WHO = "percentile-record FILE --value salary --labels badge -p 90 --upper 1000000"
TREE = "tree FILE --target income --schema good.toml"
GRAPH = "top-k FILE --n 40 -k 2"
TABLES = (COUNT, VALUE, WHO, TREE)

ROWS = 60
SEEDS = 5


@dataclass(frozen=True)
class Broken:
    """A file and the question that is asked of it.

    Attributes:
        name: of the case.
        content: of the file.
        command: what is asked; FILE stands for the file.
        suffix: how the file is called.
        surely: whether no release can come of it; bytes that were damaged may still be legal.
        answered: whether a release has to come of it: only what rows say is wrong.
    """

    name: str
    content: bytes
    command: str
    suffix: str = ".csv"
    surely: bool = True
    answered: bool = False


def bad_row(name: str, content: bytes, command: str, suffix: str = ".csv") -> Broken:
    """A file in which a row is not as it should be, which no question may fail for."""
    return Broken(name, content, command, suffix, surely=False, answered=True)


def broken_files() -> Iterator[Broken]:
    """All of them."""
    yield from _damaged()
    yield from _texts()
    yield from _parquet()
    yield from _graphs()
    yield from _public_files()


def columns() -> dict[str, list[Any]]:
    """A legal table; nobody asks for its first column."""
    return {
        "person": [f"{WORD}{i}" for i in range(ROWS)],
        "badge": [f"B{i}" for i in range(ROWS)],
        "diagnosis": ["flu" if i % 3 else "cold" for i in range(ROWS)],
        "salary": [1000 * i if i % 9 else NUMBER for i in range(ROWS)],
        "income": ["low" if i % 2 else "high" for i in range(ROWS)],
    }


SCHEMA = """[[data]]
name = "visits"
rows = 1000
[data.columns]
salary = { lower = 0, upper = 60000, bins = 6 }
diagnosis = ["flu", "cold"]
income = ["low", "high"]
"""


def csv_of(table: dict[str, list[Any]], separator: str = ",") -> bytes:
    lines = [list(table), *zip(*table.values(), strict=True)]
    return "".join(separator.join(map(str, line)) + "\n" for line in lines).encode()


def json_of(table: dict[str, list[Any]]) -> bytes:
    rows = zip(*table.values(), strict=True)
    return "".join(json.dumps(dict(zip(table, row, strict=True))) + "\n" for row in rows).encode()


def parquet_of(table: dict[str, Any]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(table), sink)
    return sink.getvalue()


def feather_of(table: dict[str, Any]) -> bytes:
    sink = io.BytesIO()
    pyarrow.feather.write_feather(pa.table(table), sink)
    return sink.getvalue()


def npz_of(**arrays: Any) -> bytes:
    sink = io.BytesIO()
    np.savez(sink, **arrays)
    return sink.getvalue()


def edges() -> dict[str, list[int]]:
    return {"source": [0] * 39 + [3, 5], "target": [*range(1, 40), 7, 9]}


Damage = Callable[[bytes, np.random.Generator], bytes]


def _cut(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: int(rng.integers(1, len(content)))]


def _flipped(content: bytes, rng: np.random.Generator, count: int) -> bytes:
    array = np.frombuffer(content, dtype=np.uint8).copy()
    where = rng.integers(0, len(array), count)
    array[where] ^= (1 << rng.integers(0, 8, count)).astype(np.uint8)
    return array.tobytes()


def _zeroed(content: bytes, rng: np.random.Generator) -> bytes:
    begin = int(rng.integers(0, len(content)))
    return content[:begin] + bytes(len(content[begin : begin + 64])) + content[begin + 64 :]


def _moved(content: bytes, rng: np.random.Generator) -> bytes:
    begin, end = sorted(rng.integers(0, len(content), 2).tolist())
    return content[end:] + content[:begin] + content[begin:end] * 2


def _padded(content: bytes, rng: np.random.Generator) -> bytes:
    return content + rng.bytes(200)


DAMAGES: dict[str, Damage] = {
    "cut": _cut,
    "one bit": partial(_flipped, count=1),
    "ten bits": partial(_flipped, count=10),
    "zeros": _zeroed,
    "moved": _moved,
    "padded": _padded,
}


def _damaged() -> Iterator[Broken]:
    """Damage at random to files of every form; tables are asked every question in turn."""
    table, graph = columns(), edges()
    wholes = {
        ".csv": csv_of(table),
        ".csv.gz": gzip.compress(csv_of(table), mtime=0),
        ".csv.bz2": bz2.compress(csv_of(table)),
        ".tsv": csv_of(table, "\t"),
        ".jsonl": json_of(table),
        ".jsonl.gz": gzip.compress(json_of(table), mtime=0),
        ".parquet": parquet_of(table),
        ".feather": feather_of(table),
        ".edges.txt": csv_of(graph, " "),
        ".edges.csv.gz": gzip.compress(csv_of(graph), mtime=0),
        ".edges.parquet": parquet_of(graph),
        ".edges.npz": npz_of(src=graph["source"], dst=graph["target"], n=40),
    }
    for i, (suffix, whole) in enumerate(wholes.items()):
        for j, (kind, damage) in enumerate(DAMAGES.items()):
            for seed in range(SEEDS):
                command = GRAPH if "edges" in suffix else TABLES[(i + j + seed) % len(TABLES)]
                content = damage(whole, np.random.default_rng([i, j, seed]))
                yield Broken(f"{kind} {seed} {suffix}", content, command, suffix, surely=False)


def _with(column: str, value: Any) -> dict[str, list[Any]]:
    """The table, with another value in the middle of a column."""
    table = columns()
    table[column][ROWS // 2] = value
    return table


def _texts() -> Iterator[Broken]:
    whole = csv_of(columns())
    for command in TABLES:
        yield bad_row(f"latin-1 {command}", whole + f"{WORD}é,é,é,é,é\n".encode("latin-1"), command)
        yield Broken(f"latin-1 first {command}", f"é{WORD},b\n".encode("latin-1") + whole, command)
        yield Broken(f"utf-16 {command}", whole.decode().encode("utf-16"), command)
        yield bad_row(f"nul {command}", whole + b"\0" + WORD.encode() + b",\0,\0,\0,\0\n", command)
        yield Broken(f"no header {command}", whole.partition(b"\n")[2], command)
        twice = whole.replace(b"person,badge,diagnosis", b"salary,salary,salary")
        yield Broken(f"twice {command}", twice, command)
        yield bad_row(f"long row {command}", whole + f"{WORD},1,2,3,4,5,6\n".encode(), command)
        yield bad_row(f"short row {command}", whole + f"{WORD},1\n".encode(), command)
        yield bad_row(f"quote {command}", whole + f'"{WORD},1,2,3,4\n'.encode(), command)
        yield Broken(f"list {command}", json.dumps([WORD, 1]).encode(), command, ".jsonl")
        yield Broken(f"null {command}", b"null\n" * 3, command, ".jsonl")
        deep = b'{"salary": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
        yield Broken(f"deep {command}", deep, command, ".jsonl")
        later = json_of(columns()) + b"[" * 50_000 + WORD.encode() + b"\n"
        yield bad_row(f"deep later {command}", later, command, ".jsonl")
        nested = json_of(_with("salary", {WORD: [1]}) | {"diagnosis": [[WORD]] * ROWS})
        yield bad_row(f"nested {command}", nested, command, ".jsonl")
        header = f"{WORD}," * 200_000 + "salary\n"
        yield Broken(f"long header {command}", header.encode() + b"1\n", command)
        many = ",".join(f"c{i}" for i in range(50_000)) + f"\n{WORD}\n"
        yield Broken(f"many columns {command}", many.encode(), command)
    for number in ("1e400", "0x10", WORD, f"{NUMBER}x", "", "nan", "1,5", "९"):
        table = _with("salary", number)
        for command in (VALUE, TREE):
            yield bad_row(f"number {number[:5]} {command}", csv_of(table), command)
    for command, column in ((COUNT, "diagnosis"), (TREE, "diagnosis"), (TREE, "income")):
        yield bad_row(f"word {column} {command}", csv_of(_with(column, WORD)), command)
    yield bad_row("label twice", csv_of(_with("badge", "B1")), WHO)


def _parquet() -> Iterator[Broken]:
    """Types that are none of labels and numbers, and numbers that are hard to hold."""
    other: dict[str, Any] = {
        "list": pa.array([[WORD]] * ROWS),
        "struct": pa.array([{"a": WORD}] * ROWS),
        "map": pa.array([[(WORD, 1)]] * ROWS, type=pa.map_(pa.string(), pa.int64())),
        "binary": pa.array([WORD.encode()] * ROWS),
        "fixed binary": pa.array([WORD.encode()] * ROWS, type=pa.binary(len(WORD))),
    }
    for kind, array in other.items():
        places = ((COUNT, "diagnosis"), (VALUE, "salary"), (WHO, "badge"), (WHO, "salary"),
                  (TREE, "diagnosis"), (TREE, "salary"), (TREE, "income"))  # fmt: skip
        for command, column in places:
            content = parquet_of(columns() | {column: array})
            yield Broken(f"{kind} {column} {command}", content, command, ".parquet")
        ends = parquet_of({"source": array, "target": array})
        yield Broken(f"{kind} edges", ends, GRAPH, ".parquet")
    numbers: dict[str, Any] = {
        "text": [WORD] * ROWS,
        "bool": [True] * ROWS,
        "date": pa.array([NUMBER] * ROWS, type=pa.timestamp("s")),
        "null": pa.nulls(ROWS),
        "large": pa.array([2**53 + 1 + i for i in range(ROWS)]),
        "largest": pa.array([2**64 - 1 - i for i in range(ROWS)], type=pa.uint64()),
        "infinite": [float("inf")] * ROWS,
        "nan": [float("nan")] * ROWS,
    }
    for kind, array in numbers.items():
        content = parquet_of(columns() | {"salary": array})
        surely = kind in ("text", "bool", "date", "null")
        yield Broken(f"{kind} numbers", content, VALUE, ".parquet", kind in ("text", "null"))
        yield Broken(f"{kind} in bins", content, TREE, ".parquet", surely)
        ends = parquet_of({"source": array, "target": array})
        refused = kind in ("bool", "date")
        yield Broken(f"{kind} as nodes", ends, GRAPH, ".parquet", refused)
    yield Broken("no rows", parquet_of(columns() | {}).replace(b"PAR1", b"PAR2"), VALUE, ".parquet")
    yield Broken("no columns", parquet_of({}), VALUE, ".parquet")


def _graphs() -> Iterator[Broken]:
    src, dst = edges()["source"], edges()["target"]
    arrays: dict[str, dict[str, Any]] = {
        "no n": {"src": src, "dst": dst},
        "huge n": {"src": src, "dst": dst, "n": 10**12},
        "negative n": {"src": src, "dst": dst, "n": -3},
        "n is text": {"src": src, "dst": dst, "n": WORD},
        "n is a list": {"src": src, "dst": dst, "n": [40, 40]},
        "matrix": {"src": [src], "dst": [dst], "n": 40},
        "fractions": {"src": np.array(src) + 0.5, "dst": dst, "n": 40},
        "lengths": {"src": src, "dst": dst[:-1], "n": 40},
        "outside": {"src": src, "dst": [*dst[:-1], NUMBER], "n": 40},
        "negative": {"src": src, "dst": [*dst[:-1], -NUMBER], "n": 40},
        "objects": {"src": np.array([WORD, {}], dtype=object), "dst": dst, "n": 40},
        "complex": {"src": np.array(src) * 1j, "dst": dst, "n": 40},
    }
    for kind, content in arrays.items():
        dropped = kind in ("fractions", "outside", "negative")
        yield Broken(f"npz {kind}", npz_of(**content), "top-k FILE -k 2", ".npz", not dropped)
    whole = csv_of(edges())
    lines = {
        "text": f"{WORD},1\n",
        "outside": f"{NUMBER},1\n",
        "one": f"{NUMBER}\n",
        "three": f"1,2,{NUMBER}\n",
        "negative": f"-{NUMBER},1\n",
        "empty": ",\n",
        "long": "9" * 5000 + ",1\n",
        "fraction": "1.5,2\n",
        "quote": f'"{WORD},1\n',
    }
    for kind, line in lines.items():
        yield bad_row(f"line {kind}", whole + line.encode(), GRAPH)
        yield Broken(f"first {kind}", line.encode() + whole, GRAPH, surely=False)
    latin = f"{WORD}é,1\n".encode("latin-1")
    yield bad_row("latin-1 edges", whole + latin, GRAPH)
    yield Broken("weights", b"source,target,weight\n0,1,5\n", GRAPH)
    yield Broken("four columns", f"1,2,3,{NUMBER}\n".encode(), GRAPH)
    yield Broken("only comments", b"# nothing\n" * 9 + b"\xff\xfe" + WORD.encode(), GRAPH)


def _public_files() -> Iterator[Broken]:
    """Hostile files of nodes, categories, schemas and trees."""
    lists = {
        "binary": bytes(range(256)),
        "latin-1": "é\n".encode("latin-1"),
        "long number": b"9" * 10_000 + b"\n1\n",
        "twice": b"a\na\n",
        "empty": b"",
        "torn gzip": gzip.compress(b"1\n2\n" * 1000)[:30],
    }
    for kind, content in lists.items():
        surely = kind != "long number"  # a name as any other
        asked = "top-k edges.csv --nodes-file FILE"
        yield Broken(f"nodes {kind}", content, asked, ".txt", surely)
        asked = "most-frequent good.csv --value diagnosis --categories-file FILE"
        yield Broken(f"categories {kind}", content, asked, ".txt", surely)
    schemas = {
        "bins": SCHEMA.replace("bins = 6", "bins = 1000000000"),
        "long": SCHEMA.replace("1000", "9" * 5000),
        "huge": SCHEMA.replace("60000", "1" + "0" * 400),
        "deep": "a = " + "[" * 5000 + "]" * 5000,
        "dotted": "a" + ".a" * 5000 + " = 1",
        "infinite": SCHEMA.replace("60000", "inf"),
        "dates": SCHEMA.replace(
            "lower = 0, upper = 60000", "lower = 1979-05-27, upper = 1979-05-28"
        ),
        "nothing": "",
        "other": "x = 1",
        "unknown": SCHEMA.replace("bins", "bnis"),
        "one class": SCHEMA.replace('"low", ', ""),
        "no such column": SCHEMA.replace("salary", "slry"),
        "escape": SCHEMA.replace('"flu"', '"\\u001b[31m"').replace("bins", "\x1b[31m"),
        "edges": SCHEMA.replace("lower = 0, upper = 60000, bins = 6", "edges = [3, 2, 1]"),
        "long edges": SCHEMA.replace(
            "lower = 0, upper = 60000, bins = 6", f"edges = {list(range(40_000))}"
        ),
    }
    for kind, text in schemas.items():
        asked = "tree good.csv --target income --schema FILE"
        yield Broken(f"schema {kind}", text.encode(), asked, ".toml", kind != "dates")
