"""The tables and the questions of `scale.py`."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import dampen

Hold = Callable[[Path], Any]

WARDS = [f"ward {i}" for i in range(50)]
GRID = {"lower": 0, "upper": 500_000, "step": 500}

ROWS = """
    select
        x as id,
        round(600000 * u * v, 2) as pay,
        cast(60 * u as integer) as days,
        'ward ' || cast(hash(x) % 50 as integer) as ward,
        cast(17 + 73 * v as integer) as age,
        'job ' || cast(hash(x + 7) % 12 as integer) as job,
        case when u + v > 1.1 then 'yes' else 'no' end as rich
    from (
        select x, hash(x * 2) / 18446744073709551615.0 as u,
               hash(x * 2 + 1) / 18446744073709551615.0 as v
        from range({size}) t(x)
    )
"""
WIDE = f"select *, md5(cast(id as varchar)) as note from ({ROWS})"
"""About 50 bytes a row in Parquet, of which 32 are a text that nobody asks for."""
EDGES = """
    select cast(hash(x) % {nodes} as bigint) as a,
           cast(floor(pow(hash(x + 3) / 18446744073709600000.0, 3) * {nodes}) as bigint) as b
    from range({size}) t(x)
"""
CANDIDATES = "select hash(x) % {size} as code from range({rows}) t(x)"
GROUPS = """
    select hash(x) % {size} as code, cast(hash(x + 5) % 60 as integer) as days
    from range({rows}) t(x)
"""
MANY = 10**6
"""Rows of the tables whose candidates or groups grow."""


def nodes(edges: int) -> int:
    return max(10, edges // 10)


def percentile_value(data: Any, _: int) -> Any:
    return dampen.percentile(data, "pay", p=95, **GRID, epsilon="1")


def percentile_label(data: Any, _: int) -> Any:
    return dampen.percentile_record(data, "pay", p=95, labels="id", upper=600_000, epsilon="1")


def most_frequent(data: Any, _: int) -> Any:
    return dampen.most_frequent(data, "ward", categories=WARDS, epsilon="1")


def top_groups(data: Any, _: int) -> Any:
    return dampen.top_groups(
        data, "days", by="ward", groups=WARDS, lower=0, upper=60, step=1, epsilon="1"
    )


def count(data: Any, _: int) -> Any:
    return dampen.count(data, by="ward", groups=WARDS, epsilon="1")


def total(data: Any, _: int) -> Any:
    pay = {"lower": 0, "upper": 600_000, "step": 1}
    return dampen.total(data, "pay", **pay, by="ward", groups=WARDS, epsilon="1")


def mean(data: Any, _: int) -> Any:
    pay = {"lower": 0, "upper": 600_000, "step": 1}
    return dampen.mean(data, "pay", **pay, by="ward", groups=WARDS, epsilon="1")


def mean_days(data: Any, _: int) -> Any:
    days = {"lower": 0, "upper": 60, "step": 1}
    return dampen.mean(data, "days", **days, by="ward", groups=WARDS, epsilon="1")


def tree(data: Any, size: int) -> Any:
    return dampen.TreeClassifier(
        "1",
        domains={
            "pay": dampen.bins(0, 600_000, 12),
            "days": dampen.bins(0, 60, 6),
            "age": dampen.bins(17, 90, 10),
            "ward": WARDS,
            "job": [f"job {i}" for i in range(12)],
        },
        classes=["no", "yes"],
        max_rows=2 * size,
        max_depth=5,
    ).fit_table(data, target="rich")


def degree(data: Any, size: int) -> Any:
    ends = {"source": "a", "target": "b", "n": nodes(size)}
    return dampen.top_k(data, **ends, k=20, metric="degree", epsilon="1")


def betweenness(data: Any, size: int) -> Any:
    return dampen.top_k(data, source="a", target="b", n=nodes(size), k=20, epsilon="1")


def candidates(data: Any, size: int) -> Any:
    return dampen.most_frequent(data, "code", categories=range(size), epsilon="1")


def groups(data: Any, size: int) -> Any:
    return dampen.top_groups(
        data, "days", by="code", groups=range(size), lower=0, upper=60, step=1, epsilon="1"
    )


TASKS: dict[str, Callable[[Any, int], Any]] = {
    "percentile value": percentile_value,
    "percentile label": percentile_label,
    "most frequent": most_frequent,
    "top groups": top_groups,
    "count": count,
    "total": total,
    "mean": mean,
    "mean of whole numbers": mean_days,
    "tree": tree,
    "degree": degree,
    "betweenness": betweenness,
    "candidates": candidates,
    "groups": groups,
}
LARGE = ("percentile value", "percentile label", "most frequent", "top groups", "tree")
"""What is asked of the table `WIDE`."""
QUERIES = {
    "degree": EDGES,
    "betweenness": EDGES,
    "candidates": CANDIDATES,
    "groups": GROUPS,
    "wide": WIDE,
}
MOST = {"betweenness": 10**7, "candidates": 10**6, "groups": 10**5}
"""Where a task stops by default: beyond it takes minutes, or there are no such questions."""


def sizes(task: str, most: int) -> list[int]:
    least = {"candidates": 10**3, "groups": 10**2}.get(task, 10**5)
    return [10**k for k in range(2, 9) if least <= 10**k <= min(most, MOST.get(task, most))]


def made(task: str, size: int, folder: Path) -> Path:
    """The table of a task, made where it is not there yet."""
    import duckdb

    query = QUERIES.get(task, ROWS)
    names = {EDGES: "edges", CANDIDATES: "candidates", GROUPS: "groups", WIDE: "wide"}
    name = names.get(query, "rows")
    path = folder / f"{name}-{size}.parquet"
    if not path.exists():
        text = query.format(size=size, nodes=nodes(size), rows=max(MANY, size))
        with closing(duckdb.connect()) as connection:
            connection.execute("set enable_progress_bar = false")
            connection.execute("set preserve_insertion_order = false")
            connection.execute(f"copy ({text}) to '{path}.part' (format parquet)")
        path.with_suffix(".parquet.part").rename(path)
    return path


def bare(engine: str, data: Any) -> dict[str, Callable[[], Any]]:
    """The GROUP BY that a release needs at least, by the engine itself."""
    cell = "cast(floor(greatest(0, least(pay, 500000)) / 500) as integer)"
    if engine == "duckdb":
        return {
            "percentile value": lambda: data.aggregate(f"{cell} as c, count(*)", "c").fetchall(),
            "top groups": lambda: data.aggregate("ward, days, count(*)", "ward, days").fetchall(),
            "count": lambda: data.aggregate("ward, count(*)", "ward").fetchall(),
            "total": lambda: data.aggregate("ward, sum(pay)", "ward").fetchall(),
            "mean": lambda: data.aggregate("ward, avg(pay)", "ward").fetchall(),
            "mean of whole numbers": lambda: data.aggregate("ward, avg(days)", "ward").fetchall(),
        }
    if engine == "spark":
        return {
            "percentile value": lambda: (
                data.selectExpr(f"{cell} as c").groupBy("c").count().collect()
            ),
            "top groups": lambda: data.groupBy("ward", "days").count().collect(),
        }
    return {}
