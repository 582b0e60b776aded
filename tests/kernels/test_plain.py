"""Every kernel, compiled and as plain Python, on the same small inputs: equal bit for bit."""

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dampen.kernels
from dampen.kernels import primitives

FOLDER = Path(dampen.kernels.__file__).parent
Load = Callable[[str], Any]
RANDOM = 20


def compiled(name: str) -> ModuleType:
    """As it is installed: compiled, where there is a compiler."""
    return importlib.import_module(f"dampen.kernels.{name}")


def plain(name: str) -> ModuleType:
    """The source, run as it is."""
    spec = importlib.util.spec_from_file_location(f"plain_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def graph(seed: int) -> tuple[Any, ...]:
    """First, to and the half rows of a random graph with a hub or two."""
    rng = np.random.default_rng(seed)
    n = 30 + 40 * (seed % 3)
    dense = rng.random((n, n)) < rng.choice([0.1, 0.5, 0.9])
    dense[:2] |= rng.random((2, n)) < 0.95
    upper = np.triu(dense, 1)
    low, high = (ends.astype(np.int32) for ends in np.nonzero(upper))
    whole = upper | upper.T
    first = np.concatenate([[0], np.cumsum(whole.sum(axis=1))]).astype(np.int64)
    half = np.concatenate([[0], np.cumsum(upper.sum(axis=1))]).astype(np.int64)
    return first, np.nonzero(whole)[1].astype(np.int32), (half[:-1], half[1:], high), (low, high)


def of_rows(load: Load, seed: int) -> Iterator[Any]:
    first, to, half, (low, high) = graph(seed)
    n = len(first) - 1
    degrees = np.diff(first)
    yield from load("graphs").both_ways(*half, degrees)
    core = degrees.copy()
    load("graphs").peel(first, to, core)
    yield core
    sums = np.empty(n, dtype=np.int64)
    load("graphs").weighted_degrees(first, to, np.arange(n), degrees * 3, sums)
    yield sums
    kernels = load("graphs")
    for src, dst in ((low, high), (high[::-1].copy(), low[::-1].copy())):
        starts = np.full(n + 1, len(src), dtype=np.int64)
        rows, above = np.empty(len(src), dtype=np.int32), np.zeros(n, dtype=np.int32)
        yield kernels.rows_in_order(0, len(src), src, dst, starts, rows, above)
        yield above
        cells = np.zeros(n // 2 + 1, dtype=np.int64)
        kernels.count_cells(0, len(src), src, dst, 1, cells)
        bucket, place = np.zeros(len(cells), dtype=np.int64), np.zeros(1, dtype=np.int64)
        pairs = np.zeros(2 * len(src), dtype=np.uint64)
        for _ in range(2):
            kernels.deal(0, len(src), src, dst, 1, bucket, place, pairs)
        lengths, rows = np.zeros(n, dtype=np.int64), np.zeros(len(pairs), dtype=np.int32)
        bits, above = np.zeros(n // 64 + 1, dtype=np.uint64), np.zeros(n, dtype=np.int32)
        yield kernels.fill_rows(0, len(pairs), 0, n, pairs, lengths, rows, above, bits)
        yield from (cells, pairs, lengths, rows, above, bits)


def of_graphs(load: Load, seed: int) -> Iterator[Any]:
    first, to, half, edges = graph(seed)
    n = len(first) - 1
    ordered = load("graphs").by_degree(first, to)
    yield from ordered
    stop = np.zeros(1, dtype=np.uint8)
    egos = load("egos")
    ebc = np.zeros(n)
    work = egos.Workspace(n, len(to) // 2, n, stop)
    egos.betweenness_of(np.arange(n), *ordered[1:], work, ebc)
    yield ebc
    kernels = load("egos")
    hub = kernels.first_hub(ordered.first)
    for at in (hub, n - 3):
        words, most = np.zeros(n, dtype=np.uint64), np.zeros(n, dtype=np.int64)
        kernels.fill_words(ordered.first, ordered.to, at, words)
        common, touched = np.zeros(n, dtype=np.int32), np.empty(n + 1, dtype=np.uint32)
        kernels.codegrees_of_range(
            0, n, ordered.first, ordered.to, at, words, common, touched, stop, most
        )
        kernels.shared_hubs(words, most)
        yield from (at, words, most)
    on_it = (np.arange(n) % 3 == 0).astype(np.uint8)
    last = np.where(np.arange(n) % 2, n, n // 2).astype(np.int32)
    nodes = np.flatnonzero(on_it)
    found = np.zeros((len(nodes), 2), dtype=np.int64)
    load("graphs").outside_and_triangles(
        0, len(nodes), first, to, nodes, on_it, last, np.zeros(n, dtype=np.uint8), stop, found
    )
    yield found
    yield from around(load("graphs"), n, half, edges, on_it)


def around(kernels: Any, n: int, half: Any, edges: Any, on_it: Any) -> Iterator[Any]:
    counted = np.zeros(n, dtype=np.int32)
    kernels.count_oriented(0, n, *half, np.arange(n) % 7, counted)
    low, high = np.zeros((2, len(half[2])), dtype=np.int32)
    size = kernels.fill_touching(0, n, *half, on_it, low, high)
    last = np.full(n, n, dtype=np.int32)
    kernels.fill_lists(*edges, *half, on_it, last, 1 - on_it, 5)
    number = np.full(n, -1, dtype=np.int32)
    number[on_it > 0] = np.arange(on_it.sum())
    outside, words = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.uint64)
    kernels.count_outside(*edges, number, on_it, outside)
    kernels.fill_words(*edges, number, on_it, 0, words)
    triangles = np.zeros(64, dtype=np.int64)
    kernels.count_triangles(0, n, *half, last, words, triangles)
    yield from (counted, size, low, high, last, outside, words, triangles)


def of_text(load: Load, seed: int) -> Iterator[Any]:
    rng = np.random.default_rng(seed)
    parsed = load("graphs").parsed
    for separator in (0, ord(","), ord("\t")):
        text = chr(separator or 32)
        lines = [
            text.join(map(str, row)) for row in rng.integers(-9, 10 ** rng.integers(1, 18), (9, 2))
        ]
        lines += ["# of", "", f"{2**63 - 1}{text}+3", "1234567890123456789" + text + "7 "]
        wrong = ["1", f"1{text}x", f"{2**63}{text}1"]
        for more in ([], *([line] for line in wrong)):
            content = np.frombuffer("\n".join(lines + more).encode(), dtype=np.uint8)
            yield from parsed(content, separator, 2, 0, 1)
        three = np.frombuffer(text.join(["7", "name", "-8"]).encode(), dtype=np.uint8)
        yield from parsed(three, separator, 3, 2, 0)


def of_splits(load: Load, seed: int) -> Iterator[Any]:
    rng = np.random.default_rng(seed)
    kernels = load("trees")
    table = rng.integers(0, 10 ** int(rng.integers(1, 6)), (40, 3)) * (rng.random((40, 3)) < 0.8)
    starts = np.array([0, 2, 5, 21, 40])
    for order in (1.0, 1.5, 2.0):
        yield kernels.impurities(table, starts, order)
    N = int(table.sum()) + 5
    bound = float(np.log2(N + 1) + 1 / np.log(2))
    begins, pieces, sums = kernels.envelopes(table, starts, N, bound)
    yield from (begins, pieces, sums)
    for t in rng.integers(0, N, (5, 4)):
        yield kernels.envelope(begins, pieces, sums[:0], t, N, bound)
        yield kernels.envelope(begins, pieces, sums, t, N, bound)


def of_trees(load: Load, seed: int) -> Iterator[Any]:
    rng = np.random.default_rng(seed)
    rows = 60
    codes = rng.integers(0, 3, (rows, 2)).astype(np.int16)
    classes = rng.integers(0, 2, rows)
    first = np.array([0, 3, 6])
    node = rng.integers(-1, 2, rows)
    kernels = load("trees")
    order, begins = kernels.group_rows(node, 2)
    tables = np.zeros((2, 6, 2), dtype=np.int64)
    kernels.count_tables(codes, classes, order, begins, first, tables)
    kernels.move_rows(
        codes, node, np.array([1, -1]), np.array([0, 0]), np.array([2, 1, 0], dtype=np.int64)
    )
    yield from (order, begins, tables, node)
    yield from of_menus(load("trees"), rng, codes, classes, first)


def of_menus(kernels: Any, rng: Any, codes: Any, classes: Any, first: Any) -> Iterator[Any]:
    widths = np.array([2, 3])
    menu = (*np.zeros((3, 2, 14), dtype=np.int64), np.array([0, 2, 14]), widths)
    splits = np.array([[0, 0, 1], [0, 1, 2], [1, 0, 2], [1, 1, 3]])
    words = rng.integers(0, 2**63, (2, 14, 3))
    allowed = (rng.random((2, 6)) < 0.7).astype(np.uint8)
    kernels.draw_splits(words, splits, np.array([0, 2, 4]), first, allowed, *menu)
    slot = rng.integers(0, 2, len(codes))
    tables = np.zeros((2, 6, 4, 6, 2), dtype=np.int64)
    cells = ((codes + first[:-1]) * 2 + classes[:, None]).astype(np.int32)
    kernels.count_ends(codes, cells, slot, *menu, 0, 2, tables)
    yield from (*menu, tables)
    yield kernels.end_cells(codes, classes, slot, *menu, 1, 4, first, 2)
    powers = np.exp(-0.3 * np.arange(9))
    given = tables.reshape(-1, 6, 2)
    of_table = np.array([[0, 0, 1, 3], [0, 1, 3, 3], [3, 4, 6, 6]])
    prior = np.array([0.1, 0.3, 0.3, 0.3])
    yield kernels.log_means(given[0], 0.3, powers)
    yield kernels.split_weights(given[:1], of_table, np.log(prior[1:]), 0.3, powers)
    yield kernels.end_weights(given, given[:, :3].sum(axis=1), of_table, prior, 0.3, powers)


def of_percentiles(load: Load, seed: int) -> Iterator[Any]:
    rng = np.random.default_rng(seed)
    values = np.sort(rng.random(50))
    yield load("percentiles").at_zero(values, values[7], rng.random(3), rng.random(3))
    yield from load("percentiles").exact_sums(values, 1 - values[::-1], 2.0**-53)
    edges = np.concatenate([[0.0], np.cumsum(rng.integers(0, 3, 20))])
    owner, place = np.arange(20.0), edges[:-1].copy()
    after = np.empty((3, 60))
    size = load("percentiles").taut_step(
        edges[:-1], edges[1:], 0.4, 0.0, 2.0, -5.0, 30.0, owner, place, rng.random(20), *after
    )
    yield from (size, after[:, :size])


CASES = [of_rows, of_graphs, of_text, of_splits, of_trees, of_percentiles]


@pytest.mark.parametrize("seed", range(RANDOM))
@pytest.mark.parametrize("case", CASES)
def test_plain_kernels_give_the_same_bits(case: Any, seed: int) -> None:
    made = [np.asarray(each) for each in case(compiled, seed)]
    same = [np.asarray(each) for each in case(plain, seed)]
    assert len(made) == len(same) > 0
    for one, other in zip(made, same, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert np.array_equal(one, other)


@pytest.mark.parametrize("begin", [0, 1, 4])
def test_larger_ends_are_counted_by_subtraction(begin: int) -> None:
    """The counts are those of the cells of every row, wherever a part of the trees begins."""
    rng = np.random.default_rng(begin)
    codes = rng.integers(0, 4, (300, 3)).astype(np.int16)
    classes = rng.integers(0, 2, 300)
    slot = rng.integers(0, 2, 300)
    widths, start = np.array([2, 3]), np.array([0, 2, 14])
    attribute, low = rng.integers(0, 3, (2, 14)), rng.integers(0, 4, (2, 14))
    first, menu = np.array([0, 4, 8, 12]), (attribute, low, low + 1, start, widths)
    for load in (compiled, plain):
        of = load("trees")
        tables = np.zeros((2, 6 - begin, 4, 12, 2), dtype=np.int64)
        values = ((codes + first[:-1]) * 2 + classes[:, None]).astype(np.int32)
        of.count_ends(codes, values, slot, *menu, begin, 3, tables)
        cells = np.asarray(of.end_cells(codes, classes, slot, *menu, begin, 6, first, 2))
        assert np.array_equal(tables.ravel(), np.bincount(cells, minlength=tables.size))


def test_every_kernel_is_compared() -> None:
    names = {path.stem for path in FOLDER.glob("*.py")} - {"__init__", "primitives"}
    source = Path(__file__).read_text()
    assert [name for name in names if f'load("{name}")' not in source] == []


def test_plain_kernels_say_once_that_they_are_slow(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(primitives, "LARGE", 100)
    monkeypatch.setattr(primitives, "_noted", [])
    for values in (np.zeros(3), np.zeros(50), np.zeros(50)):
        plain("percentiles").at_zero(values, 0.0, np.zeros(3), np.zeros(3))
    assert capsys.readouterr().err.count("not compiled") == 1
