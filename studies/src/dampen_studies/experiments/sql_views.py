"""The PrivateSQL approach to top-k EBC (section 6.5 and the second appendix of the paper).

One view per node c counts, for every pair of other nodes u < v, the paths u - w - v inside the
ego network of c: w is c or a neighbour of c, u and v are neighbours of c and not adjacent.  The
SQL below is the appendix's query Q(u, v, c), grouped by (u, v) instead of asked once for each of
the n^3 triples, on a table of edges that holds both directions, with its truncation operator
written out. (The text says that Q is 1 for adjacent u, v; the SQL gives 0, which is what EBC
needs.)

Each of the n views gets ε/n.  The counts of a view are released with two-sided geometric noise of
scale S n / ε, where S is the view's sensitivity in the 1-norm for one edge, degrees at most D:

**Derived**, `sensitivity(D)`.  If the edge {x, y} is not at c, both x and y must be neighbours of
c to matter.  Adding it removes the pair (x, y), which counted 1 + g with g common neighbours
inside the ego network, and opens at most D - 2 - g paths for each of x and y: at most 1 + g + 2
(D - 2 - g) <= 2 D - 3.  If the edge is {c, y}, let y be adjacent to j of the at most D - 1 other
neighbours of c: the others form pairs with y that count at most 1 + j each, and each pair among
the j gains one path: at most (D - 1 - j)(1 + j) + j (j - 1) / 2.  S is the largest of these
numbers; 37 for D = 10.

**Elastic**, `elastic_sensitivity(D)`, a static reading of the SQL in the way of PrivateSQL: a join
of r1 and r2 has m1 S2 + m2 S1 + S1 S2, with m the largest number of rows that share a join key.  An
undirected edge is two rows, so the self-join e1, e2 has 4 D + 4.  The subqueries magic2 and magic3
change by one row, their key is unique, and an end of e1, e2 occurs D^2 times: S becomes D^2 + 2 S,
twice.  magic1 changes by two rows, and a pair (u, v) occurs D times: 2 D + 3 S.  That is
9 D^2 + 50 D + 48, and 1448 for D = 10: the one number that the paper prints.  This is a
reconstruction: we looked for a rule that gives it, and other rules may.

**View selection**, `joint_sensitivity(D)`.  A view for every node is not the only choice: one view
with c as a third column answers the same questions and gets all of ε.  Adding the edge {x, y}, with
j common neighbours, changes the views of x and of y as above and those of the j common neighbours
by at most 2 D - 3 each: at most 2 ((D - 1 - j)(1 + j) + j (j - 1) / 2) + j (2 D - 3) in all, some
eight times less noise than n views for D = 10 and n = 50.

**Synopsis**, `synopsis`.  PrivateSQL publishes noisy answers to the workload and takes the
non-negative least squares fit.  For a workload of single counts the fit is the noisy count, or 0 if
that is negative, which `betweenness` does anyway.  The fit says more if the total of every node is
asked too: x minimises sum (x_i - y_i)^2 + (sum x_i - t)^2 over x >= 0.  By the conditions of
Karush, Kuhn and Tucker x_i = max(y_i - l, 0) with l = sum x_i - t: sort, and find how many are
positive.  A test compares it with `scipy.optimize.nnls`, which is a thousand times slower here.
"""

from typing import TYPE_CHECKING

import numpy as np

from dampen.core.selection import FloatArray, IntArray

if TYPE_CHECKING:
    from dampen_studies.datasets import Edges

VIEW = """
WITH kept AS (
    SELECT a FROM all_edge GROUP BY a HAVING COUNT(*) <= $truncation
), edge AS (
    SELECT a, b FROM all_edge WHERE a IN (FROM kept) AND b IN (FROM kept)
), adjacent AS (
    SELECT np2.id1 AS id1, np2.id2 AS id2, COUNT(*) AS cnt_2
    FROM node_pair AS np2, edge AS e3
    WHERE e3.a = np2.id1 AND e3.b = np2.id2
    GROUP BY np2.id1, np2.id2
), magic1 AS (
    SELECT np1.id1 AS idd1, np1.id2 AS idd2, COALESCE(cnt_2, 0) AS cnt_1
    FROM node_pair AS np1 LEFT OUTER JOIN adjacent
      ON np1.id1 = adjacent.id1 AND np1.id2 = adjacent.id2
), neighbour AS (
    SELECT a AS id, COUNT(*) AS cnt FROM edge WHERE b = $c GROUP BY a
), magic4 AS (
    SELECT node.id AS m4id FROM node LEFT OUTER JOIN neighbour ON node.id = neighbour.id
    WHERE neighbour.cnt > 0 OR node.id = $c
)
SELECT e1.a AS u, e2.b AS v, COUNT(*) AS paths
FROM edge AS e1, edge AS e2, magic1, neighbour AS magic2, neighbour AS magic3, magic4
WHERE e1.b = e2.a AND e1.a = idd1 AND e2.b = idd2 AND cnt_1 = 0
  AND magic2.id = e1.a AND magic3.id = e2.b AND m4id = e2.a
GROUP BY e1.a, e2.b
ORDER BY e1.a, e2.b
"""


def views(graph: "Edges", truncation: int) -> IntArray:
    """The n views as one array: view c, then the pairs u < v in the order of `pairs`."""
    import duckdb

    nodes = np.arange(graph.n)
    a = np.concatenate([graph.src, graph.dst])
    b = np.concatenate([graph.dst, graph.src])
    id1, id2 = pairs(graph.n)
    place = np.zeros((graph.n, graph.n), dtype=np.int64)
    place[id1, id2] = np.arange(len(id1))
    counts = np.zeros((graph.n, len(id1)), dtype=np.int64)
    with duckdb.connect(":memory:", config={"threads": 1}) as base:
        for table, columns in (
            ("node", {"id": nodes}),
            ("node_pair", {"id1": id1, "id2": id2}),
            ("all_edge", {"a": a, "b": b}),
        ):
            _create(base, table, columns)
        for c in range(graph.n):
            found = base.execute(VIEW, {"c": c, "truncation": truncation}).fetchnumpy()
            counts[c, place[found["u"], found["v"]]] = found["paths"]
    return counts


def pairs(n: int) -> tuple[IntArray, IntArray]:
    """All pairs u < v."""
    u, v = np.triu_indices(n, k=1)
    return u.astype(np.int64), v.astype(np.int64)


def betweenness(counts: IntArray) -> FloatArray:
    """EBC from (noisy) views: a count q >= 1 is q paths of which one goes through c.

    On exact views this is EBC itself.
    """
    positive = counts >= 1
    terms = np.divide(1.0, counts, out=np.zeros(counts.shape), where=positive)
    return np.asarray(terms.sum(axis=-1))


def sensitivity(max_degree: int) -> int:
    """S(D), derived above.

    >>> sensitivity(10)
    37
    """
    j = np.arange(max_degree)
    at_centre = (max_degree - 1 - j) * (1 + j) + j * (j - 1) // 2
    return int(max(2 * max_degree - 3, at_centre.max(initial=0), 1))


def joint_sensitivity(max_degree: int) -> int:
    """The sensitivity of one view for all nodes, derived above.

    >>> joint_sensitivity(10)
    225
    """
    d = max_degree
    j = np.arange(max(max_degree, 1))
    ends = 2 * ((d - 1 - j) * (1 + j) + j * (j - 1) // 2)
    return int(max((ends + j * max(2 * d - 3, 0)).max(), 1))


def synopsis(counts: FloatArray, totals: FloatArray) -> FloatArray:
    """The non-negative least squares fit to noisy counts and their noisy total, row by row.

    >>> synopsis(np.array([[3.0, -1.0, 0.5]]), np.array([2.0]))
    array([[2.5, 0. , 0. ]])
    """
    descending = -np.sort(-counts, axis=1)
    positive = np.arange(1, counts.shape[1] + 1)
    less = (np.cumsum(descending, axis=1) - totals[:, None]) / (1 + positive)
    fits = descending > less
    last = counts.shape[1] - 1 - np.argmax(fits[:, ::-1], axis=1)
    chosen = np.take_along_axis(less, last[:, None], axis=1)
    return np.asarray(np.where(fits.any(axis=1)[:, None], np.maximum(counts - chosen, 0), 0))


def elastic_sensitivity(max_degree: int) -> int:
    """The static bound, derived above.

    >>> elastic_sensitivity(10)
    1448
    """
    d = max_degree
    s = 4 * max_degree + 4
    for _ in range(2):
        s = d * d + 2 * s
    return 2 * d + 3 * s


def _create(base: object, table: str, columns: dict[str, IntArray]) -> None:
    import pyarrow

    base.register("given", pyarrow.table(columns))  # type: ignore[attr-defined]
    base.execute(f"CREATE TABLE {table} AS SELECT * FROM given")  # type: ignore[attr-defined]
    base.unregister("given")  # type: ignore[attr-defined]
