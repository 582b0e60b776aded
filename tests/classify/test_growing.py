"""Growing: tables by one pass, routes, and the tree that a huge ε must give."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dampen.core.mechanisms import named
from dampen.core.sampling import InsecureEntropy
from dampen.paper.id3 import ID3Rule
from dampen.questions.classify.encoding import Bins, Categories, candidates_of
from dampen.questions.classify.growing import Rows, Selections, grow
from dampen.questions.classify.model import collapsed
from dampen.questions.classify.plan import default_depth, split_shares, tree_plan
from dampen.questions.classify.splits import split_selection

DOMAINS = [Bins([0, 1, 2, 3, 4]), Categories("abc"), Categories((0, 1)), Categories((0,))]


def coded_rows(n=500, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, len(d), n) for d in DOMAINS]).astype(np.int16)
    label = (codes[:, 0] + 2 * codes[:, 2] + (rng.random(n) < 0.2)) % classes
    return codes, label.astype(np.int64)


def rule_of(depth, epsilon="1000000", criteria=None, mechanism="pf"):
    chosen = criteria or ("gini",) * depth
    return Selections(Fraction(epsilon), 1000, split_shares((1,) * depth), chosen, named(mechanism))


def id3_of(depth, epsilon, mechanism="em"):
    query = Fraction(epsilon) / (2 * (depth + 1))
    return ID3Rule(query, 1000, depth, widest=4, mechanism=mechanism, one_sided=True)


def seeded(seed=0):
    return InsecureEntropy(seed)


def side_of(candidates, r, codes):
    """Which child every row goes to, straight from the definition of a candidate."""
    a = candidates.attribute[r]
    branches = candidates.branches(r)
    return np.array([next(k for k, b in enumerate(branches) if c in b) for c in codes[:, a]])


@pytest.mark.parametrize("branching", ["binary", "multiway"])
def test_candidates_are_all_splits_that_tell_rows_apart(branching):
    candidates = candidates_of(DOMAINS, branching)
    sizes = [len(b) for b in map(candidates.branches, range(len(candidates)))]
    if branching == "multiway":
        assert sizes == [4, 3, 2, 1]
    else:  # three cuts, three categories, one for two values, none for a single one
        assert np.bincount(candidates.attribute, minlength=4).tolist() == [3, 3, 1, 0]
        assert set(sizes) == {2}
    everything = np.ones(int(candidates.first[-1]), dtype=bool)
    possible = candidates.possible(everything)
    assert possible.sum() == (3 if branching == "multiway" else 7)
    everything[1:4] = False  # only the first value of the first attribute is left
    assert not candidates.possible(everything)[candidates.attribute == 0].any()


def test_tables_of_a_level_against_counting():
    codes, classes = coded_rows()
    rows = Rows(codes, classes, 3)
    rows.move(np.array([1]), np.array([0]), np.array([0, 1, 2]), 3)
    candidates = candidates_of(DOMAINS, "binary")
    base = rows.tables([2, 0], candidates.first)
    two_way = candidates.tables(base)
    assert rows.class_counts().sum() == len(codes)
    for place, node in enumerate([2, 0]):
        inside = codes[:, 1] == node
        for a, code in itertools.product(range(4), range(4)):
            if code < len(DOMAINS[a]):
                expected = np.bincount(classes[inside & (codes[:, a] == code)], minlength=3)
                assert (base[place, candidates.first[a] + code] == expected).all()
        for r in range(len(candidates)):
            side = side_of(candidates, r, codes[inside])
            for k in (0, 1):
                expected = np.bincount(classes[inside][side == k], minlength=3)
                assert (two_way[place, r, k] == expected).all()


def greedy(codes, classes, rule, candidates, allowed, level=0):
    """The non-private twin: recursive, from definitions, one node at a time."""
    counts = np.bincount(classes, minlength=3)
    possible = np.flatnonzero(candidates.possible(allowed))
    if level == rule.depth or len(possible) == 0:
        return int(counts.argmax())
    gains = []
    for r in possible:
        side = side_of(candidates, r, codes)
        cells = np.array(
            [np.bincount(classes[side == k], minlength=3) for k in range(side.max(initial=0) + 1)]
        )
        criterion = rule.criteria[level]
        starts = np.array([0, len(cells)])
        gains.append(split_selection(cells, starts, rule.max_rows, criterion).utility[0])
    best = int(possible[int(np.argmax(gains))])
    side, a = side_of(candidates, best, codes), candidates.attribute[best]
    children = []
    for k, branch in enumerate(candidates.branches(best)):
        child = allowed.copy()
        child[candidates.first[a] : candidates.first[a + 1]] = False
        mine = candidates.first[a] + np.array(branch)
        child[mine] = allowed[mine]
        subset = side == k
        children.append(greedy(codes[subset], classes[subset], rule, candidates, child, level + 1))
    return int(a), candidates.branches(best), children


def walk(tree, row):
    while isinstance(tree, tuple):
        a, branches, children = tree
        tree = children[next(k for k, b in enumerate(branches) if row[a] in b)]
    return tree


@pytest.mark.parametrize(
    "criteria",
    [("gini",) * 2, ("max",) * 2, ("information-gain",) * 2, ("tsallis",) * 2, ("tsallis", "max")],
    ids="+".join,
)
@pytest.mark.parametrize("branching", ["binary", "multiway"])
def test_a_huge_epsilon_gives_the_greedy_tree(criteria, branching):
    """Where the data decides, permute-and-flip at ε = 10^6 does not; ties are left out."""
    codes, classes = coded_rows()
    rule = rule_of(2, criteria=criteria)
    candidates = candidates_of(DOMAINS, branching)
    tree = grow(rule, candidates, Rows(codes, classes, 3), entropy=seeded())
    allowed = np.ones(int(candidates.first[-1]), dtype=bool)
    expected = greedy(codes, classes, rule, candidates, allowed)
    got = tree.label[tree.apply(codes)]
    assert (got == [walk(expected, row) for row in codes]).all()
    assert tree.attribute[0] == expected[0]


@pytest.mark.parametrize("mechanism", ["em", "ld", "sld", "ld-pf", "sld-pf", "sulq"])
def test_every_mechanism_finds_the_attribute_that_decides(mechanism):
    codes, _ = coded_rows()
    classes = codes[:, 2].astype(np.int64)
    rule = id3_of(1, "1000000", mechanism)
    candidates = candidates_of(DOMAINS, "multiway")
    tree = grow(rule, candidates, Rows(codes, classes, 2), entropy=seeded())
    assert tree.attribute[0] == 2
    assert (tree.label[tree.apply(codes)] == classes).all()


def test_empty_nodes_are_grown_like_any_others():
    """The shape of a tree without stopping is public: it tells nothing about the rows."""
    codes, classes = coded_rows(4)
    for rows in (Rows(codes, classes, 3), Rows(codes[:0], classes[:0], 3)):
        tree = grow(rule_of(3), candidates_of(DOMAINS), rows, entropy=seeded())
        assert (np.bincount(tree.level) == [1, 2, 4, 8]).all()
        assert ((tree.label >= 0) == (tree.attribute < 0)).all()


def test_used_up_attributes_end_a_branch_with_all_its_budget():
    rows = Rows(np.array([[0], [1], [1]]), np.array([0, 1, 1]), 2)
    rule = rule_of(4)
    tree = grow(rule, candidates_of([Categories((0, 1))]), rows, entropy=seeded())
    assert tree.level.max() == 1
    assert rule.leaf_epsilon(1) == rule.epsilon * (1 - rule.shares[0])


def test_the_stop_rule_ends_small_nodes():
    codes, classes = coded_rows(500)
    rows = Rows(codes, classes, 3)
    tree = grow(id3_of(3, "1"), candidates_of(DOMAINS, "multiway"), rows, entropy=seeded())
    # 500 rows are below sqrt(2) / (1/8) * 4 * 3 = 136 only after a split.
    assert tree.level.max() in {1, 2}
    assert tree.counts.shape == (len(tree.label), 3)


def test_charges_add_up_exactly():
    for stages in ((), (1,), (1, 1, 1), (2,), (1, 4), (1,) * 5 + (3,)):
        plan = tree_plan(
            Fraction(1, 3), DOMAINS, classes=3, max_rows=1000, stages=stages or None,
            max_depth=None if stages else 0,
        )  # fmt: skip
        assert plan.stages == stages
        assert sum(line.epsilon for line in plan.facts.charges) == Fraction(1, 3)
    for depth in range(7):
        rule = rule_of(depth, epsilon="1/3")
        spent = [rule.split_epsilon(i) for i in range(depth)]
        for level in range(depth + 1):
            assert sum(spent[:level], rule.leaf_epsilon(level)) == Fraction(1, 3)


def test_shares_grow_by_the_level():
    """Rows get fewer from level to level, so their noise gets less; thousandths, the rest last."""
    for depth in range(17):
        shares = split_shares((1,) * depth)
        assert sum(shares) == 1
        assert list(shares) == sorted(shares)
        assert all(1000 % share.denominator == 0 for share in shares)
        for one, next_one in itertools.pairwise(shares):
            assert next_one / one == pytest.approx(1.3, rel=0.2 if depth > 8 else 0.02)


def test_depth_grows_with_epsilon_rows_and_classes():
    depths = [default_depth(Fraction(e), 30_000, 180, 2) for e in ("0.001", "0.01", "0.1", "1")]
    assert depths == [1, 2, 4, 6]
    assert default_depth(Fraction(1), 10, 180, 2) == 1  # a tree without a split is a constant
    by_classes = [default_depth(Fraction(1), 30_000, 180, k) for k in (2, 8, 32)]
    assert by_classes == sorted(by_classes)
    assert by_classes[-1] > by_classes[0]


def test_splits_whose_leaves_agree_are_taken_back():
    """The smaller tree predicts the same for every possible row, and nothing more collapses."""
    every = np.array(list(itertools.product(*(range(len(d)) for d in DOMAINS))))
    smaller = 0
    for seed in range(20):
        codes, classes = coded_rows(60, seed=seed)
        candidates = candidates_of(DOMAINS, "multiway" if seed % 2 else "binary")
        rows = Rows(codes, classes, 3)
        tree = grow(rule_of(3, epsilon="2"), candidates, rows, entropy=InsecureEntropy(seed))
        small = collapsed(tree)
        assert (small.label[small.apply(every)] == tree.label[tree.apply(every)]).all()
        smaller += len(small.label) < len(tree.label)
        ends = np.append(small.route_start[1:], len(small.routes))
        for node in np.flatnonzero(small.attribute >= 0):
            children = small.routes[small.route_start[node] : ends[node]]
            assert (small.level[children] == small.level[node] + 1).all()
            assert len(np.unique(small.label[children])) > 1 or small.label[children[0]] < 0
    assert smaller > 10


def test_noisy_counts_are_not_thrown_together():
    codes, classes = coded_rows(60)
    rows = Rows(codes, classes, 3)
    tree = grow(id3_of(2, "2"), candidates_of(DOMAINS, "multiway"), rows, entropy=seeded())
    assert collapsed(tree) is tree
