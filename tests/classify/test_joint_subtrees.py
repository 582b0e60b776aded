"""Several levels and the classes by one release: the law of whole labelled trees, its weights."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from flint import arb, ctx

from dampen import InsecureEntropy, TreeClassifier
from dampen.core.noise import laplace_rho
from dampen.core.sampling import SystemEntropy
from dampen.data.open import open_table
from dampen.questions.classify import growing
from dampen.questions.classify.encoding import (
    Branches,
    Categories,
    attributes_of,
    candidates_of,
    columns_of,
    encode_batch,
)
from dampen.questions.classify.growing import (
    LEAF,
    STAY,
    Choices,
    Coding,
    Rows,
    StreamedRows,
    Weights,
    draw_menu,
)
from dampen.questions.classify.plan import TreePlan, split_shares
from dampen.testing.universe import Universe
from goodness import assert_draws_follow
from renyi import least_rho_of

DOMAINS = [Categories((0, 1)), Categories("ab")]
WIDE = [*DOMAINS, Categories(range(3), ordered=True)]
HASHED = [Branches(3, 1, (Branches(2, 2),)), Categories("ab")]


def plan_of(epsilon, stages=(2,), widths=(2,), domains=DOMAINS, classes=2):
    candidates = len(candidates_of(domains))
    return TreePlan(
        Fraction(epsilon), 1000, stages, split_shares(stages), candidates, classes, widths
    )


def menu_of(domains, widths, seed, leaves=1):
    candidates = candidates_of(domains)
    allowed = [np.ones(int(candidates.first[-1]), dtype=np.bool_)] * leaves
    return draw_menu(candidates, widths, allowed, InsecureEntropy(seed))


def root_of(domains):
    return growing._Nodes(candidates_of(domains))


def table_of(rows, domains, classes=2):
    first = candidates_of(domains).first
    table = np.zeros((int(first[-1]), classes), dtype=np.int64)
    for *codes, c in rows:
        for a, code in enumerate(codes):
            table[first[a] + code, c] += 1
    return table


def rows_of(rows, domains=DOMAINS, classes=2):
    width = len(attributes_of(domains))
    codes = np.array([r[:-1] for r in rows], dtype=np.int64).reshape(-1, width)
    return Rows(codes, np.array([r[-1] for r in rows], dtype=np.int64), classes)


def softmax(terms):
    powers = np.exp(np.asarray(terms) - np.max(terms))
    return powers / powers.sum()


class Law:
    """The distribution of labelled trees: of every pick, as it is drawn from the root on."""

    def __init__(self, rows, menu, epsilon, domains=DOMAINS):
        self.menu, self.domains, self.rows = menu, domains, rows
        self.weights = Weights(candidates_of(domains), epsilon)
        tables = rows_of(rows, domains).ends(
            root_of(domains).tree(), menu, range(menu.trees), self.weights.candidates.first
        )
        self.choices = Choices(menu, self.weights, *self.weights.ends(tables))

    def labels(self, rows):
        counts = np.bincount([r[-1] for r in rows], minlength=2)
        return [(("label", c), p) for c, p in enumerate(softmax(self.weights.epsilon * counts))]

    def last_level(self, rows):
        terms = softmax(self.weights.last_level(table_of(rows, self.domains)))
        yield from ((key, terms[0] * p) for key, p in self.labels(rows))
        for s in range(len(self.weights.candidates)):
            sides = split_rows(rows, self.weights.candidates.codes(s))
            for (a, p), (b, q) in itertools.product(*map(self.labels, sides)):
                yield (s, a, b), terms[1 + s] * p * q

    def node(self, rows, level=0, choice=0, place=0):
        if level == len(self.menu.widths):
            yield from self.last_level(rows)
            return
        terms = softmax(self.choices.at(0, level, choice, place))
        yield from ((key, terms[0] * p) for key, p in self.labels(rows))
        for r in range(self.menu.widths[level]):
            chosen = choice * self.menu.widths[level] + r
            sides = split_rows(rows, self.menu.split(0, level, chosen, place))
            below = [
                list(self.node(side, level + 1, chosen, 2 * place + k))
                for k, side in enumerate(sides)
            ]
            for (a, p), (b, q) in itertools.product(*below):
                yield (r, a, b), terms[1 + r] * p * q

    def probabilities(self):
        return dict(self.node(self.rows))


def split_rows(rows, split):
    a, low, high = split
    inside = [r for r in rows if low <= r[a] < high]
    return inside, [r for r in rows if not low <= r[a] < high]


def by_definition(rows, menu, epsilon, domains=DOMAINS):
    """π(T) times exp(e · rows that are classified rightly), over all labelled trees."""
    candidates = candidates_of(domains)
    column = np.array(columns_of(domains))[candidates.attribute]
    able, counts = np.unique(column, return_counts=True)
    single = dict(zip(able.tolist(), 1 / (len(able) * counts), strict=True))

    def leaf(rows):
        right = np.bincount([r[-1] for r in rows], minlength=2)
        return [(("label", c), 0.5 * math.exp(epsilon * n)) for c, n in enumerate(right)]

    def both(key, prior, left, right):
        return [((key, a, b), prior * p * q) for (a, p), (b, q) in itertools.product(left, right)]

    def node(rows, level, choice, place):
        found = [(key, LEAF * w) for key, w in leaf(rows)]
        if level == len(menu.widths):
            for s in range(len(candidates)):
                prior = (1 - LEAF) * single[int(column[s])]
                sides = split_rows(rows, candidates.codes(s))
                found += both(s, prior, *map(leaf, sides))
            return found
        for r in range(menu.widths[level]):
            chosen = choice * menu.widths[level] + r
            left, right = split_rows(rows, menu.split(0, level, chosen, place))
            found += both(
                r, (1 - LEAF) / menu.widths[level],
                node(left, level + 1, chosen, 2 * place),
                node(right, level + 1, chosen, 2 * place + 1),
            )  # fmt: skip
        return found

    weights = dict(node(rows, 0, 0, 0))
    total = sum(weights.values())
    return {key: w / total for key, w in weights.items()}


SMALL_MENUS = [((2,), seed) for seed in range(3)] + [((1,), 0), ((1, 1), 1)]


@pytest.mark.parametrize(("widths", "seed"), SMALL_MENUS)
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_picks_from_the_root_on_have_the_law_of_one_exponential_mechanism(epsilon, widths, seed):
    menu = menu_of(DOMAINS, widths, seed)
    rng = np.random.default_rng(seed)
    for n in (0, 1, 7):
        rows = [tuple(r) for r in rng.integers(0, 2, (n, 3)).tolist()]
        found = Law(rows, menu, epsilon).probabilities()
        expected = by_definition(rows, menu, epsilon)
        assert found.keys() == expected.keys()
        np.testing.assert_allclose(
            list(found.values()), [expected[key] for key in found], rtol=1e-9
        )


@pytest.mark.parametrize("widths", [(2,), (1, 1)])
def test_columns_of_several_hashes_follow_the_same_law_and_lose_no_more(widths):
    """Splits of all hashes of a column are as likely together as those of another column."""
    menu = menu_of(HASHED, widths, 1)
    rng = np.random.default_rng(0)
    for n in (0, 1, 7):
        rows = [tuple(r) for r in rng.integers(0, [3, 2, 2, 2], (n, 4)).tolist()]
        found = Law(rows, menu, 0.5, HASHED).probabilities()
        expected = by_definition(rows, menu, 0.5, HASHED)
        assert found.keys() == expected.keys()
        np.testing.assert_allclose(
            list(found.values()), [expected[key] for key in found], rtol=1e-9
        )
    cells = list(itertools.product(range(3), range(2), range(2), range(2)))
    every = Universe.add_remove_row(cells, max_rows=2 if len(widths) < 2 else 1)
    laws = [Law(x, menu, 0.5, HASHED).probabilities() for x in every.databases]
    log_p = np.log([list(law.values()) for law in laws])
    left, right = every.neighbours.T
    assert 0.25 < np.abs(log_p[left] - log_p[right]).max() <= 0.5 + 1e-9


def test_random_splits_are_of_a_random_column_whatever_its_hashes():
    """False alarms: one in 10^6 or fewer, at five deviations."""
    domains = [Branches(4, 1, (Branches(4, 2), Branches(4, 3))), Categories(range(3))]
    attributes = menu_of(domains, (1000,), 5).attribute[0, :1000]
    column = np.array(columns_of(domains))[attributes]
    assert abs((column == 0).sum() - 500) < 5 * math.sqrt(250)
    assert set(attributes.tolist()) == {0, 1, 2, 3}


def largest_loss(menu, epsilon, law=Law, max_rows=3):
    every = Universe.add_remove_row(list(itertools.product(range(2), repeat=3)), max_rows=max_rows)
    laws = [law(x, menu, epsilon).probabilities() for x in every.databases]
    log_p = np.log([[p[key] for key in laws[0]] for p in laws])
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1)
    left, right = every.neighbours.T
    return np.abs(log_p[left] - log_p[right]).max()


@pytest.mark.parametrize(("widths", "seed"), SMALL_MENUS)
@pytest.mark.parametrize("epsilon", ["1/2", "4"])
def test_privacy_loss_of_a_whole_labelled_tree(epsilon, widths, seed):
    """Splits and classes together, over all tables with at most three rows: at most ε, not 2 ε."""
    plan = plan_of(epsilon, (len(widths) + 1,), widths)
    rows = 3 if len(widths) < 2 else 2
    loss = largest_loss(menu_of(DOMAINS, widths, seed), plan.joint_epsilon, max_rows=rows)
    paid = float(Fraction(epsilon))
    assert 0.5 * paid < loss <= paid + 1e-9


@pytest.mark.parametrize("epsilon", ["1/2", "1", "4"])
def test_the_price_in_zcdp_covers_a_whole_labelled_tree_and_is_tight(epsilon):
    """ε²/8 for one stage: 0.986 of it is lost at ε = 1.  A twin that forgets 2 % is found."""
    plan, menu = plan_of(epsilon, (2,), (2,)), menu_of(DOMAINS, (2,), 0)
    every = Universe.add_remove_row(list(itertools.product(range(2), repeat=3)), max_rows=3)
    laws = [Law(x, menu, plan.joint_epsilon).probabilities() for x in every.databases]
    lost = least_rho_of(np.log([[p[key] for key in laws[0]] for p in laws]), every)
    assert plan.rho == Fraction(epsilon) ** 2 / 8
    assert 0.8 * float(plan.rho) < lost <= float(plan.rho)
    if epsilon == "1/2":
        assert lost > 0.98 * float(plan.rho)


def test_stages_cost_the_sum_of_their_own_prices():
    """A leaf without a split gets what its path has not spent."""
    staged = plan_of("1", (1, 3))
    first, second = staged.shares
    assert staged.rho == laplace_rho(first) + second**2 / 8 < Fraction("0.123")
    by_rho = replace(staged, selection="em")
    assert by_rho.rho == (first**2 + second**2) / 8
    level_by_level = replace(plan_of("1", (1, 1)), attributes=2)
    assert level_by_level.rho == sum(map(laplace_rho, level_by_level.shares))
    one_attribute = replace(level_by_level, attributes=1)
    first, *others = one_attribute.shares
    assert one_attribute.rho == laplace_rho(first) + laplace_rho(sum(others)) > level_by_level.rho


def test_classes_drawn_at_another_epsilon_than_the_tree_are_rejected():
    """The theorem needs one e: a tree for labels of e, with labels drawn at e/4 or 2 e."""

    class Other(Law):
        factor = 2.0

        def labels(self, rows):
            counts = np.bincount([r[-1] for r in rows], minlength=2)
            law = softmax(self.factor * self.weights.epsilon * counts)
            return [(("label", c), p) for c, p in enumerate(law)]

    assert largest_loss(menu_of(DOMAINS, (2,), 0), 2.0, Other) > 2.2


def test_a_prior_that_depends_on_the_rows_is_rejected():
    """Leaving out splits of empty nodes tells that they are empty."""

    class Occupied(Law):
        def last_level(self, rows):
            yield from super().last_level(rows) if rows else self.padded(rows)

        def padded(self, rows):
            for key, p in super().last_level(rows):
                yield key, p * (1.9 if key[0] == "label" else (1 - 0.1 * 1.9) / 0.9)

    assert largest_loss(menu_of(DOMAINS, (2,), 0), 0.5, Occupied) > 0.55


def test_fits_follow_the_law(monkeypatch):
    """1,500 trees against the law of their splits; an ε that is 30 % off would be rejected."""
    menu = menu_of(DOMAINS, (2,), 5)
    rng = np.random.default_rng(4)
    rows = [(a, b, int(a == b or rng.random() < 0.2)) for a, b in rng.integers(0, 2, (30, 2))]
    rows = [tuple(map(int, r)) for r in rows]
    picked = []

    def draw(*arguments, draw=growing._draw):
        picked[-1].append(draw(*arguments))
        return picked[-1][-1]

    monkeypatch.setattr(growing, "draw_menu", lambda *_: menu)
    monkeypatch.setattr(growing, "_draw", draw)
    plan = plan_of("0.5")
    for _ in range(1500):
        picked.append([])
        growing.grow_in_stages(plan, candidates_of(DOMAINS), rows_of(rows), entropy=SystemEntropy())
    keys = [(0,), *itertools.product((1, 2), range(3), range(3))]
    counts = dict.fromkeys(keys, 0)
    for picks in picked:
        counts[tuple(picks[: 3 if picks[0] else 1])] += 1
    right, wrong = (splits_law(Law(rows, menu, e), keys) for e in (plan.joint_epsilon, 0.65))
    assert_draws_follow(np.array(list(counts.values())), right, wrong)


def splits_law(law, keys):
    """The probabilities of picks, 0 for no split, without those of the classes."""
    found = dict.fromkeys(keys, 0.0)
    for key, p in law.probabilities().items():
        if key[0] == "label":
            found[0,] += p
        else:
            sides = [0 if side[0] == "label" else 1 + side[0] for side in key[1:]]
            found[1 + key[0], *sides] += p
    return np.array(list(found.values()))


@pytest.mark.parametrize("scale", [1, 30, 10**4, 2**31])
@pytest.mark.parametrize("epsilon", [1e-6, 3e-4, 0.01, 0.7, 5.0, 1e6])
def test_logarithms_of_weights_are_within_the_paid_rounding(epsilon, scale):
    rng = np.random.default_rng(scale)
    weights = Weights(candidates_of(WIDE), epsilon)
    table = rng.integers(0, scale + 1, (7, 5)) * rng.integers(0, 2, (7, 5))
    table[2:4], table[4:] = 0, 0  # the same rows in every attribute
    table[2], table[5] = table[0], table[:2].sum(axis=0)
    table[3] = table[1]
    terms = weights.last_level(table)
    rows = int(table[:2].sum())
    eta = arb(2) ** -48 * (arb(epsilon) * rows + 4 + 5 + 64)
    ctx.prec = 300
    for s, term in enumerate(terms[1:].tolist()):
        begin, low, high, end = weights.splits[s].tolist()
        inside = table[low:high].sum(axis=0)
        exact = arb(float(weights.log_prior[1 + s]))
        for side in (inside, table[begin:end].sum(axis=0) - inside):
            exact += (sum((arb(epsilon) * int(t)).exp() for t in side) / 5).log()
        assert abs(arb(term) - exact) <= eta
    [found], [counts] = weights.ends(table[None])
    largest = arb(float(terms.max()))
    exact = sum((arb(term) - largest).exp() for term in terms.tolist()).log() + largest
    assert abs(arb(float(found)) - exact) <= eta
    assert counts.tolist() == table[:2].sum(axis=0).tolist()


def ends_by_hand(menu, codes, tree):
    """Where every row ends in a tree of the menu, walking one split at a time."""
    found = []
    for row in codes:
        place = 0
        for level, _ in enumerate(menu.widths):
            choice = tree // math.prod(menu.widths[level + 1 :])
            a, low, high = menu.split(0, level, choice, place)
            place = 2 * place + (0 if low <= row[a] < high else 1)
        found.append(place)
    return found


def test_counts_at_the_ends_in_memory_and_in_a_stream():
    rng = np.random.default_rng(2)
    codes, classes = rng.integers(0, [2, 2, 3], (50, 3)), rng.integers(0, 4, 50)
    menu, first = menu_of(WIDE, (2, 3), 3), candidates_of(WIDE).first
    root = root_of(WIDE).tree()
    found = Rows(codes, classes, 4).ends(root, menu, range(1, 6), first)
    expected = np.zeros((1, 5, 4, 7, 4), dtype=np.int64)
    for tree in range(1, 6):
        for row, end, c in zip(codes, ends_by_hand(menu, codes, tree), classes, strict=True):
            expected[0, tree - 1, end, first[:-1] + row, c] += 1
    np.testing.assert_array_equal(found, expected)
    named = {"a": codes[:, 0], "b": np.array(["a", "b"])[codes[:, 1]], "c": codes[:, 2]}
    table = open_table(duckdb.from_arrow(pa.table(named | {"y": classes})))
    coding = Coding(dict(zip("abc", WIDE, strict=True)), "y", range(4))
    streamed = StreamedRows(table, coding)
    np.testing.assert_array_equal(streamed.ends(root, menu, range(1, 6), first), expected)


def test_rows_have_a_code_for_every_hash_in_memory_and_in_a_stream():
    texts = np.array([f"v{i}" for i in range(9)], dtype=object)[np.arange(60) * 7 % 9]
    batch = {"a": texts, "b": np.array(["a", "b"], dtype=object)[np.arange(60) % 2]}
    domains = dict(zip("ab", HASHED, strict=True))
    codes = encode_batch(batch, domains)
    own, further = HASHED[0], HASHED[0].further[0]
    expected = [own.encode(texts), HASHED[1].encode(batch["b"]), further.encode(texts)]
    np.testing.assert_array_equal(codes, np.column_stack(expected))
    first = candidates_of(HASHED).first
    menu, root, y = menu_of(HASHED, (2, 3), 3), root_of(HASHED).tree(), np.arange(60) % 3
    table = open_table(duckdb.from_arrow(pa.table(batch | {"y": y})))
    streamed = StreamedRows(table, Coding(domains, "y", range(3)))
    held = Rows(codes, y, 3)
    np.testing.assert_array_equal(streamed.tables([0], first), held.tables([0], first))
    np.testing.assert_array_equal(
        streamed.ends(root, menu, range(6), first), held.ends(root, menu, range(6), first)
    )


def test_splits_of_a_menu_tell_rows_apart_where_any_can():
    menu = menu_of(WIDE, (5, 5, 5), 1)
    apart = []
    for tree in range(menu.trees):
        growth = root_of(WIDE)
        nodes = {0: 0}
        for level in range(2):
            choice = tree // math.prod(menu.widths[level + 1 :])
            for place, leaf in list(nodes.items()):
                sides = growth.split(leaf, *menu.split(0, level, choice, place))
                apart.append(len(sides) == 2)
                del nodes[place]
                nodes |= {2 * place + side: child for side, child in sides}
    assert np.mean(apart) > 0.9  # a split that tells nothing apart was drawn again


def test_an_attribute_of_one_value_splits_nothing():
    domains = [Categories("a"), Categories((0, 1))]
    assert set(menu_of(domains, (4,), 0).attribute.ravel().tolist()) == {1}
    assert menu_of(domains[:1], (4,), 0) is STAY
    X, y = [["a"], ["a"], ["a"]], [0, 1, 1]
    alone = TreeClassifier("1", domains=domains[:1], classes=[0, 1], max_rows=9).fit(X, y)
    assert alone.get_depth() == 0
