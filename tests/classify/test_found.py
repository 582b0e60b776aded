"""Bins, categories and rows that nobody stated: the law, its loss, broken twins, whole fits."""

import itertools
import json
import warnings
from contextlib import nullcontext
from datetime import date
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pytest

import dampen
from dampen import BudgetError, InsecureEntropy, Ledger, ParameterError, TreeClassifier
from dampen.data.source import Field
from dampen.questions.classify import encoding, found
from dampen.questions.classify.encoding import Bins, Branches, Categories
from dampen.questions.classify.found import (
    ABSENT,
    BRANCHES,
    NUMBER,
    PUBLIC_BRANCHES,
    TEXT,
    Cells,
    Hashes,
    Library,
    Search,
    Tally,
    agreeing_rows,
    are_more,
    draw_common,
    drawn_kinds,
    kind_of,
    public_hashes,
    regret,
)
from dampen.questions.classify.question import Supervision, TreeMethod
from dampen.testing import Universe, law_loss
from goodness import assert_draws_follow

SMALL = Library(bins=4, decades=range(0, 1), starts=4)
VALUES = (-3.0, 0.5, 2.0, 7.5)
E = Fraction(1, 2)
SCALE = np.array([4, 2, 2, 1]) / 4


def utilities_by_definition(library, rows, weights=SCALE):
    """u of every binning, straight from the docstring."""
    found = []
    for candidate in range(len(library)):
        edges = library.edges(candidate)
        counts = np.bincount([int((edges <= x).sum()) for x in rows], minlength=library.bins)
        found.append(-(np.sort(counts)[::-1][: len(weights)] @ weights))
    return np.array(found)


def by_definition(library, rows, epsilon, weights=SCALE):
    """The probability of every binning, straight from the docstring."""
    utility = utilities_by_definition(library, rows, weights)
    terms = library.weights(np.arange(len(library))) * np.exp(epsilon * utility)
    return terms / terms.sum()


def tally(rows):
    return Tally.of(np.array(rows, dtype=np.float64))


def by_runs(library, rows, epsilon):
    """The same from the runs that are drawn from."""
    utility, mass = library.runs(tally(rows))
    weight = mass * np.exp(epsilon * utility / 4)
    law = np.zeros(len(library))
    at = 0
    for _, low, high, _ in library._scored(tally(rows)):
        for first, last in zip(low.tolist(), high.tolist(), strict=True):
            inside = library.weights(np.arange(first, last + 1))
            law[first : last + 1] += weight[at] * inside / inside.sum()
            at += 1
    return law / weight.sum()


def test_runs_have_the_law_of_the_definition():
    for x in Universe.add_remove_row(VALUES, max_rows=3).databases:
        right = by_definition(SMALL, x, 0.7)
        np.testing.assert_allclose(by_runs(SMALL, x, 0.7), right, rtol=1e-12)


def test_the_loss_is_at_most_epsilon():
    universe = Universe.add_remove_row(VALUES, max_rows=4)
    verdict = law_loss(lambda x: by_runs(SMALL, x, 0.5), universe, epsilon=E)
    assert verdict.holds, verdict
    assert verdict.value > 0.25


@pytest.mark.parametrize("weights", [[1.5, 0.5, 0.5, 0], [0.5, 1.5, 0, 0], [1, -1, 0, 0]])
def test_other_weights_break_it(weights):
    """Above 1, or not falling, or below 0: one row then moves a utility by more than 1."""
    universe = Universe.add_remove_row(VALUES, max_rows=4)
    twin = law_loss(lambda x: by_definition(SMALL, x, 1.0, np.array(weights)), universe, epsilon=1)
    assert twin.outcome == "fails"


def test_draws_follow_the_law():
    """False alarms: see `goodness`."""
    rows = [-3.0, 0.5, 0.5, 2.0, 2.0, 7.5, 7.5, 7.5]
    entropy = InsecureEntropy(5)
    index = {tuple(SMALL.edges(i)): i for i in range(len(SMALL))}
    drawn = [SMALL.draw(tally(rows), E * 2, entropy) for _ in range(3000)]
    draws = [index[tuple(SMALL.edges(candidate))] for candidate in drawn]
    counts = np.bincount(draws, minlength=len(SMALL))
    merged = {tuple(SMALL.edges(i)): i for i in range(len(SMALL))}  # equal edges are one outcome
    right, wrong = (
        np.bincount(
            [merged[tuple(SMALL.edges(i))] for i in range(len(SMALL))],
            weights=by_definition(SMALL, rows, e),
            minlength=len(SMALL),
        )
        for e in (1.0, 2.5)
    )
    kept = right > 0
    assert_draws_follow(counts[kept], right[kept], wrong[kept])


PAIRS = (*((x, x) for x in VALUES), (0.5, 7.5))


def columns_of(rows):
    return [Tally.of(np.array([row[j] for row in rows], dtype=np.float64)) for j in range(2)]


def common_law(library, rows, epsilon, parts=2):
    both = sum(library.utilities(tally) for tally in columns_of(rows)) / 4
    weight = library.weights(np.arange(len(library))) * np.exp(epsilon * both / parts)
    return weight / weight.sum()


def test_utilities_of_all_candidates_are_those_of_the_definition():
    for x in Universe.add_remove_row(VALUES, max_rows=3).databases:
        right = utilities_by_definition(SMALL, x)
        np.testing.assert_allclose(SMALL.utilities(tally(x)) / 4, right, rtol=1e-12)
        each = [SMALL.utility(tally(x), candidate) for candidate in range(len(SMALL))]
        np.testing.assert_allclose(np.array(each) / 4, right, rtol=1e-12)


LIKELY = 5


def likely_law(choices, column, epsilon):
    """Of an own draw after a common one: a tenth of all weight is on that one."""
    weight = choices.prior.astype(float)
    weight[LIKELY] += weight.sum() // 9
    terms = weight * np.exp(epsilon * choices.utilities(column) / 4)
    return terms / terms.sum()


def test_a_likely_binning_or_hash_loses_at_most_epsilon_and_follows_its_law():
    """False alarms: see `goodness`."""
    universe = Universe.add_remove_row(VALUES, max_rows=4)
    verdict = law_loss(lambda x: likely_law(SMALL, tally(x), 0.5), universe, epsilon=E)
    assert verdict.holds, verdict
    twin = law_loss(lambda x: likely_law(SMALL, tally(x), 1.0), universe, epsilon=E)
    assert twin.outcome == "fails"
    cells = cells_of([*"aaaaabbbc", None, None])
    rows = tally([-3.0, 0.5, 0.5, 2.0, 2.0, 7.5, 7.5, 7.5])
    entropy = InsecureEntropy(9)
    for choices, column in ((SMALL, rows), (FEW, cells)):
        draws = [choices.draw(column, E * 2, entropy, LIKELY) for _ in range(3000)]
        counts = np.bincount(draws, minlength=len(choices.prior))
        laws = (likely_law(choices, column, e) for e in (1.0, 2.5))
        assert_draws_follow(counts, *laws)


def test_a_common_binning_loses_at_most_epsilon():
    universe = Universe.add_remove_row(PAIRS, max_rows=4)
    verdict = law_loss(lambda x: common_law(SMALL, x, 0.5), universe, epsilon=E)
    assert verdict.holds, verdict
    assert verdict.value > 0.25
    twin = law_loss(lambda x: common_law(SMALL, x, 0.5, parts=1), universe, epsilon=E)
    assert twin.outcome == "fails"


def test_common_binnings_follow_their_law():
    """False alarms: see `goodness`."""
    rows = [*PAIRS, PAIRS[0], PAIRS[3], PAIRS[3]]
    entropy = InsecureEntropy(6)
    draws = [draw_common(SMALL, columns_of(rows), E * 2, entropy) for _ in range(1800)]
    counts = np.bincount(draws, minlength=len(SMALL))
    assert_draws_follow(counts, common_law(SMALL, rows, 1.0), common_law(SMALL, rows, 2.5))


def test_regret_moves_by_at_most_one():
    universe = Universe.add_remove_row(PAIRS, max_rows=4)
    columns = [columns_of(x) for x in universe.databases]
    found = np.array([[SMALL.utilities(tally) for tally in both] for both in columns])
    each = (found.max(axis=2, keepdims=True) - found) / 4
    worst = np.floor(each.max(axis=1))
    assert [regret(SMALL, both, 3) for both in columns] == worst[:, 3].tolist()
    i, j = np.array(universe.neighbours).T
    assert abs(worst[i] - worst[j]).max() == 1
    total = each.sum(axis=1)
    assert abs(total[i] - total[j]).max() > 1  # the sum over columns would need more noise


def tail(epsilon, least):
    """P(Z >= least) of discrete Laplace noise of scale 1/ε."""
    q = np.exp(-epsilon)
    return q**least / (1 + q) if least > 0 else 1 - q ** (1 - least) / (1 + q)


def more_law(rows, epsilon, texts=1):
    p = tail(epsilon, 1 - rows.count("n") + texts * rows.count("t"))
    return [p, 1 - p]


def test_numbers_or_text_loses_at_most_epsilon_and_follows_its_law():
    """False alarms: see `goodness`."""
    universe = Universe.add_remove_row(["n", "t", "missing"], max_rows=4)
    verdict = law_loss(lambda x: more_law(x, 0.5), universe, epsilon=E)
    assert verdict.holds, verdict
    assert verdict.value > 0.4
    twin = law_loss(lambda x: more_law(x, 0.5, texts=2), universe, epsilon=E)
    assert twin.outcome == "fails"
    entropy = InsecureEntropy(7)
    drawn = sum(are_more(3, 4, E, entropy) for _ in range(4000))
    laws = (more_law(["n"] * 3 + ["t"] * 4, e) for e in (0.5, 1.0))
    assert_draws_follow([drawn, 4000 - drawn], *laws)


ROWS_OF_KINDS = list(itertools.product((ABSENT, NUMBER, TEXT), repeat=2))
KINDS = list(itertools.product((False, True), repeat=2))


def agreement_by_definition(rows):
    """Rows that contradict no column of each list of kinds."""
    return [sum(not contradicted(row, kinds) for row in rows) for kinds in KINDS]


def contradicted(row, kinds):
    """How many columns of a row contradict a list of kinds."""
    return sum(cell == (TEXT if kind else NUMBER) for cell, kind in zip(row, kinds, strict=True))


def patterns_of(rows, columns=2):
    counts = np.zeros(3**columns, dtype=np.int64)
    for row in rows:
        counts[sum(cell * 3 ** (columns - 1 - i) for i, cell in enumerate(row))] += 1
    return counts


def kinds_law(rows, epsilon, columns_apart=False):
    """The probability of every list of kinds; apart, each column has all of ε: too much."""
    agreeing = np.array(agreement_by_definition(rows), dtype=float)
    if columns_apart:
        agreeing = np.array([-sum(contradicted(row, kinds) for row in rows) for kinds in KINDS])
    terms = np.exp(epsilon * agreeing)
    return terms / terms.sum()


def test_rows_that_agree_are_those_of_the_definition():
    for x in Universe.add_remove_row(ROWS_OF_KINDS, max_rows=3).databases:
        assert agreeing_rows(patterns_of(x)).tolist() == agreement_by_definition(x)
    rows = [(NUMBER, TEXT, ABSENT)] * 5 + [(NUMBER, TEXT, TEXT), (TEXT, TEXT, NUMBER)]
    most = int(agreeing_rows(patterns_of(rows, 3)).argmax())
    assert most == 0b100  # numbers, text, text


def test_the_kinds_of_a_block_lose_at_most_epsilon_and_follow_their_law():
    """False alarms: see `goodness`."""
    universe = Universe.add_remove_row(ROWS_OF_KINDS, max_rows=3)
    verdict = law_loss(lambda x: kinds_law(x, 0.5), universe, epsilon=E)
    assert verdict.holds, verdict
    assert verdict.value > 0.4
    twin = law_loss(lambda x: kinds_law(x, 0.5, columns_apart=True), universe, epsilon=E)
    assert twin.outcome == "fails"
    rows = [(NUMBER, TEXT)] * 2 + [(TEXT, TEXT), (ABSENT, NUMBER)]
    entropy = InsecureEntropy(8)
    counts = np.zeros(4, dtype=np.int64)
    for _ in range(3000):
        counts[KINDS.index(tuple(drawn_kinds(agreeing_rows(patterns_of(rows)), E, entropy)))] += 1
    assert_draws_follow(counts, kinds_law(rows, 0.5), kinds_law(rows, 1.0))


FEW = Hashes(sizes=(2, 3), salts=4)


HASH_SCALE = np.array([4, 1, 1]) / 4


def hash_utilities(hashes, texts, weights=HASH_SCALE):
    """u of every hash, straight from the docstring."""
    found = []
    for candidate in range(len(hashes)):
        branches = hashes.branches(candidate)
        counts = np.bincount(branches.encode(list(texts)), minlength=4)
        found.append(-(np.sort(counts)[::-1][: len(weights)] @ weights[: len(counts)]))
    return np.array(found)


def hash_law(hashes, texts, epsilon, weights=HASH_SCALE):
    terms = hashes.prior * np.exp(epsilon * hash_utilities(hashes, texts, weights))
    return terms / terms.sum()


def cells_of(texts):
    return Cells.of(np.bincount(encoding.cells_of(texts)))


def test_hashes_lose_at_most_epsilon_and_follow_their_law():
    """False alarms: see `goodness`."""
    universe = Universe.add_remove_row(["a", "g", "b", None], max_rows=4)
    for x in universe.databases:
        right = hash_utilities(FEW, x)
        np.testing.assert_allclose(FEW.utilities(cells_of(x)) / 4, right, rtol=1e-12)
    verdict = law_loss(lambda x: hash_law(FEW, x, 0.5), universe, epsilon=E)
    assert verdict.holds, verdict
    assert verdict.value > 0.2
    broken = np.array([4.0, 0.5, 0.5, 0])
    twin = law_loss(lambda x: hash_law(FEW, x, 0.5, broken), universe, epsilon=E)
    assert twin.outcome == "fails"
    rows = ["a"] * 3 + ["b"] * 5 + ["g", None, None]
    entropy = InsecureEntropy(8)
    draws = [FEW.draw(cells_of(rows), E * 2, entropy) for _ in range(3000)]
    counts = np.bincount(draws, minlength=len(FEW))
    assert_draws_follow(counts, hash_law(FEW, rows, 1.0), hash_law(FEW, rows, 2.5))


def test_a_common_hash_loses_at_most_epsilon():
    """Of three columns, each with a third of the weight."""
    rows = [("a", "a", "a"), ("g", "g", "g"), (None, "b", "a")]
    universe = Universe.add_remove_row(rows, max_rows=4)

    def law(rows, parts):
        columns = [cells_of([row[j] for row in rows]) for j in range(3)]
        total = sum(FEW.utilities(column) for column in columns) / 4
        terms = FEW.prior * np.exp(0.5 * total / parts)
        return terms / terms.sum()

    assert law_loss(lambda x: law(x, 3), universe, epsilon=E).holds
    assert law_loss(lambda x: law(x, 1), universe, epsilon=E).outcome == "fails"


def test_hashes_of_many_cells_are_counted_in_parts(monkeypatch):
    column = cells_of([None] * 7 + [f"v{i}" for i in range(50) for _ in range(i + 1)])
    whole = FEW.utilities(column)
    monkeypatch.setattr("dampen.questions.classify.found.MOST_AT_ONCE", 12)
    np.testing.assert_array_equal(FEW.utilities(column), whole)


def test_a_hash_keeps_frequent_values_apart():
    """At n ε = 30 in 19 of 20 draws, with ten branches on average at most."""
    texts = ["poor", "fair", "good", "best"] * 1500
    cells = cells_of(texts)
    hashes = Hashes()
    entropy = InsecureEntropy(4)
    drawn = [hashes.branches(hashes.draw(cells, Fraction(30, 6000), entropy)) for _ in range(20)]
    apart = [len(set(branches.encode(texts[:4]).tolist())) == 4 for branches in drawn]
    assert sum(apart) >= 19
    assert np.mean([len(branches) for branches in drawn]) <= 10


def test_text_and_numbers_are_distinguished():
    """Columns of text, of numbers with some text, and a mixed one, in one block or in several."""
    columns = {
        "a": ["x", "y"] * 300,
        "b": [str(i) for i in range(590)] + ["?"] * 10,
        "c": ["1", "2", "many"] * 200,
    }
    for names in ("abc", "aaaa", "bbbb", "a" * 12, "abc" * 5):
        search = Search(
            {f"{i}{name}": "either" for i, name in enumerate(names)},
            600,
            Fraction(0),
            counts_rows=True,
        )
        tallies = search.tallied()
        tallies.add({column: columns[column[-1]] for column in search.kinds}, 600)
        found = search.find(tallies, Fraction(2), InsecureEntropy(1))
        text = {name: isinstance(domain, Branches) for name, domain in found.domains.items()}
        assert text == {column: column[-1] == "a" for column in search.kinds}
        assert found.charges[0].purpose == "kinds"


def found_of(X, epsilon=1):
    """The charges and domains of a tree of two classes with nothing else declared."""
    y = np.where(np.arange(len(X)) % 2, "yes", "no")
    entropy = InsecureEntropy(3, allow_release=True)
    tree = TreeClassifier(epsilon, classes=CLASSES, entropy=entropy).fit(X, y)
    return {line.purpose: line.epsilon for line in tree.plan_.charges}, tree.domains_


def test_many_columns_of_one_scale_share_a_binning():
    """Twenty columns pay for one; with two of another scale each pays, and has bins that fit."""
    columns = {f"x{i}": np.random.default_rng(i).normal(size=6000) for i in range(20)}
    charges, domains = found_of(pd.DataFrame(columns))
    assert len(set(domains)) == 1
    assert charges["bins"] < Fraction(1, 50)
    far = {f"x{i}": 1e5 + 10 * columns[f"x{i}"] for i in range(2)}
    charges, domains = found_of(pd.DataFrame(columns | far))
    assert charges["bins"] > Fraction(1, 11)
    for i in range(20):
        values = (columns | far)[f"x{i}"]
        assert np.bincount(domains[i].encode(values)).max() < 4000


def test_many_columns_of_text_share_a_hash():
    """Twenty columns of the same four values pay for one hash, which keeps these apart."""
    rng = np.random.default_rng(5)
    words = np.array(["north", "east", "south", "west"], dtype=object)
    columns = {f"x{i}": words[rng.integers(0, 4, 6000)] for i in range(20)}
    charges, domains = found_of(pd.DataFrame(columns))
    assert len(set(domains)) == 1
    assert len(set(domains[0].encode(words).tolist())) == 4
    assert charges["branches"] < Fraction(1, 50)


def test_columns_of_text_have_public_hashes_where_own_ones_are_too_dear():
    """Of 8 columns of other values: nothing is drawn at n ε = 600, and nothing paid."""
    rng = np.random.default_rng(6)
    columns = {f"x{i}": rng.choice([f"{i} {j}" for j in range(3)], 6000) for i in range(8)}
    charges, domains = found_of(pd.DataFrame(columns).astype(object), Fraction(1, 10))
    assert domains == [*map(public_hashes, range(8))]
    assert "branches" not in charges
    hashes = [(each.count, each.salt) for own in domains for each in (own, *own.further)]
    assert len(set(hashes)) == 8 * len(PUBLIC_BRANCHES)
    assert min(salt for _, salt in hashes) >= Hashes().salts  # none of the library that is drawn of


def test_public_hashes_lose_nothing_and_hashes_that_are_fitted_to_the_rows_break_it():
    values = ("a", "b", "c")
    universe = Universe.add_remove_row(values, max_rows=3)
    library = Hashes(sizes=(2,), salts=8)

    def cells(x):
        return Cells.of(np.bincount(encoding.cells_of(list(x)), minlength=encoding.CELLS + 1))

    def of_public(x):
        shares = found.Shares(Search({}, 10, Fraction(0), counts_rows=False), E, 10)
        [hashed], spent = shares.hashes([cells(x)], InsecureEntropy(0))
        assert spent == 0
        return np.array([1.0 if hashed == public_hashes(i) else 0.0 for i in range(3)])

    def of_fitted(x):
        return np.eye(len(library))[library.utilities(cells(x)).argmax()]

    assert law_loss(of_public, universe, epsilon=Fraction(1, 10**6)).holds
    assert law_loss(of_fitted, universe, epsilon=E).outcome == "fails"


def values_of_one_branch():
    """Two values that share a branch of the first public hash, and of no other."""
    values = [f"v{i}" for i in range(40)]
    own = public_hashes(0)
    first, *others = [each.encode(values) for each in (own, *own.further)]
    return next(
        (values[i], values[j])
        for i, j in itertools.combinations(range(40), 2)
        if first[i] == first[j] and all(other[i] != other[j] for other in others)
    )


@pytest.mark.parametrize("kind", ["pandas", "duckdb"])
def test_a_further_hash_distinguishes_values_of_one_branch(kind):
    """At n ε = 150.  False alarms: the tree is wrong with a probability below 10^-7."""
    one, other = values_of_one_branch()
    frame = pd.DataFrame({"x": [one, other] * 150, "y": ["no", "yes"] * 150}, dtype=object)
    table = frame if kind == "pandas" else duckdb.from_df(frame)
    model = TreeClassifier("1/2", classes=["no", "yes"], max_rows=300)
    model.fit_table(table, target="y")
    assert model.predict(frame[["x"]]).tolist() == frame["y"].tolist()
    assert "x (hash " in model.report()
    assert "x (hash " in model._repr_html_()
    text = model.release_.to_json()
    assert TreeClassifier.from_json(text).predict(frame[["x"]]).tolist() == frame["y"].tolist()
    damaged = json.loads(text)
    for wrong in ([[4]], [[4, "1"]], [[True, 1]], 7, [[0, 1]]):
        damaged["answer"]["domains"][0]["further"] = wrong
        with pytest.raises(ParameterError):
            TreeClassifier.from_json(json.dumps(damaged))


def test_naive_bayes_and_its_score_look_at_a_column_once():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 800)
    columns = {f"x{i}": np.array(["a", "b", "c"])[rng.integers(0, 2, 800) + y] for i in range(5)}
    X = pd.DataFrame(columns).astype(object)
    public = {"classes": [0, 1], "max_rows": 800}
    bayes = dampen.NaiveBayesClassifier(1, **public).fit(X, y)
    assert bayes.domains_ == [encoding.with_one_hash(public_hashes(i)) for i in range(5)]
    for probabilities in (False, True):
        tree = TreeClassifier(1, probabilities=probabilities, **public).fit(X, y)
        assert tree.domains_ == [*map(public_hashes, range(5))]
        assert "table" in {charge.purpose for charge in tree.plan_.charges}
        again = TreeClassifier.from_json(tree.release_.to_json())
        np.testing.assert_array_equal(again.predict_proba(X), tree.predict_proba(X))
        assert np.mean(tree.predict(X) == y) > 0.6


def test_the_parts_are_never_more_than_most_of_epsilon():
    kinds = dict.fromkeys("abcdefghij", "either") | dict.fromkeys("ABCDEFGHIJ", "whole")
    search = Search(kinds | dict.fromkeys("klmnopqrs", "text"), None, Fraction(0), counts_rows=True)
    for rows in (1, 100, 10_000, 10**6):
        shares = found.Shares(search, Fraction(1, 10), rows)
        assert sum(cost for _, cost, _ in shares.lines()) <= Fraction(95, 1000)


@pytest.mark.parametrize(
    ("numbers", "low", "high"),
    [
        (np.linspace(990, 1040, 3000), 980, 1050),
        (np.linspace(1990, 2020, 3000).round(), 1980, 2030),
        (np.linspace(40.5, 40.9, 3000), 40, 41),
        (np.linspace(0, 1e7, 3000), -1e7, 2e7),
        (-np.linspace(0, 1e-3, 3000), -0.002, 0.001),
    ],
)
def test_bins_lie_where_the_rows_are(numbers, low, high):
    """At n ε = 40 in 20 of 20 draws the rows are in several bins; chance would not do it."""
    tally = Tally.of(numbers)
    for seed in range(20):
        library = Library(10)
        drawn = library.draw(tally, Fraction(40, len(numbers)), InsecureEntropy(seed))
        edges = library.edges(drawn)
        held = np.bincount(np.searchsorted(edges, numbers, side="right"))
        assert held.max() < 0.8 * len(numbers)
        assert ((edges > low) & (edges < high)).any()


def frame(n=6000, seed=1):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(17, 90, n),
            "income": rng.lognormal(10, 1, n),
            "job": rng.choice(["farm", "office", "none"], n, p=[0.5, 0.3, 0.2]),
            "flag": rng.random(n) < 0.5,
            "day": pd.Timestamp("2013-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D"),
        }
    )
    X.loc[::17, "income"] = np.nan
    X.loc[::19, "job"] = None
    return X, np.where((X["age"] > 40) & (X["job"] != "farm"), "yes", "no")


CLASSES = ["no", "yes"]
MODELS = [dampen.TreeClassifier, dampen.NaiveBayesClassifier, dampen.Classifier]


@pytest.mark.parametrize("make", MODELS)
def test_a_plain_frame_needs_classes_alone(make):
    X, y = frame()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = make(epsilon=4, delta="1e-6", classes=CLASSES).fit(X, y)
    assert np.mean(model.predict(X) == y) > 0.9
    assert model.release_.leaks == ()
    assert model.release_.delta == Fraction(1, 10**6)
    again = make.from_json(model.to_json())
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    job = model.domains_[2]
    assert set(job.values) >= {"farm", "office", "(missing)"}
    assert len(job.values) < len(job) < len(job.values) + BRANCHES
    unseen = X.assign(job="nobody ever had this", flag=None, day=pd.NaT, age=-(10**9))
    assert set(model.predict(unseen)) <= set(CLASSES)


def test_the_parts_of_epsilon_add_up():
    X, y = frame()
    tree = TreeClassifier(epsilon="0.7", delta="1e-6", classes=CLASSES).fit(X, y)
    assert sum(line.epsilon for line in tree.plan_.charges) == tree.release_.epsilon
    assert [line.purpose for line in tree.plan_.charges][:2] == ["rows", "bins"]
    assert abs(tree.plan_.max_rows - 6000) < 3000
    assert "bins" in tree.report()


def test_no_delta_is_charged_where_no_column_can_hold_text():
    X, y = frame()
    numeric = X[["age", "income", "flag", "day"]]
    account = Recorder()
    TreeClassifier(1, classes=CLASSES, delta="1e-6", budget=account).fit(numeric, y)
    TreeClassifier(1, classes=CLASSES, budget=account).fit(X, y)
    assert [cost.delta for cost in account.costs] == [0, 0]


class Recorder:
    def __init__(self):
        self.costs = []

    def charge(self, cost, /):
        self.costs.append(cost)


def test_pure_budgets_refuse_a_delta(tmp_path):
    X, y = frame(200)
    ledger = Ledger(tmp_path / "ledger")
    pure = ledger.create("pure", epsilon=5, neighbours="add-remove-row")
    with pytest.raises(BudgetError):
        TreeClassifier(1, classes=CLASSES, delta="1e-6", budget=pure).fit(X, y)
    TreeClassifier(1, classes=CLASSES, budget=pure).fit(X, y)
    approximate = ledger.create("approximate", epsilon=5, delta="1e-5", neighbours="add-remove-row")
    TreeClassifier(1, classes=CLASSES, delta="1e-6", budget=approximate).fit(X, y)


def test_declared_facts_are_not_searched():
    X, y = frame()
    public = {
        "classes": CLASSES,
        "max_rows": 9000,
        "entropy": InsecureEntropy(3, allow_release=True),
    }
    domains = {"age": dampen.bins(0, 100, 10), "flag": [False, True]}
    tree = TreeClassifier(1, domains=domains, **public).fit(X[["age", "flag"]], y)
    also = TreeClassifier(1, domains=domains, delta="1e-6", **public).fit(X[["age", "flag"]], y)
    assert tree.release_ == also.release_
    assert {line.purpose for line in tree.plan_.charges} <= {"split", "tree", "leaf"}
    part = TreeClassifier(1, domains={"age": dampen.bins(0, 100, 10)}, **public).fit(X, y)
    assert part.domains_[0] == Bins(dampen.bins(0, 100, 10).edges)
    assert part.plan_.charges[0].purpose == "bins"


HOSTILE = [
    {"a": [object(), [1], {"k": 1}, float("inf"), "x\ud800", b"\xff", 10**400, None, True, ""]},
    {
        "a": [
            date(1, 1, 1),
            pd.Timestamp("2013-01-01"),
            pd.NaT,
            "nan",
            "1e999",
            -0.0,
            1j,
            (),
            "?",
            3,
        ]
    },
    {"a": np.array([np.nan, np.inf, -np.inf, 5e-324, 1.7e308, 0, -1, 2, 3, 4])},
    {"a": np.array(["NaT", "1677-09-22", "2262-04-11", *["2013-01-01"] * 7], dtype="M8[ns]")},
    {"a": np.array(["NaT", *range(9)], dtype="m8[us]")},
    {"a": pd.Series([True, None] * 5, dtype="boolean")},
    {"a": pd.Series(["x", None] * 5, dtype="category")},
]


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("columns", HOSTILE, ids=range(len(HOSTILE)))
def test_no_cell_makes_a_fit_fail(make, columns):
    X = pd.DataFrame(columns)
    model = make(epsilon=1, delta="1e-6", classes=CLASSES).fit(X, ["no", "yes"] * 5)
    json.loads(model.to_json())


@pytest.mark.parametrize("make", MODELS)
def test_no_rows_and_files_of_text(make, tmp_path):
    X, y = frame(800)
    empty = make(epsilon=1, delta="1e-6", classes=CLASSES).fit(X[:0], [])
    assert set(empty.predict(X)) <= set(CLASSES)
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    model = make(epsilon=20, delta="1e-6", classes=CLASSES)
    model.fit_table(tmp_path / "t.csv", target="y", header=True)
    assert np.mean(model.predict_table(tmp_path / "t.csv", header=True) == y) > 0.85
    assert isinstance(model.domains_[0], Bins)
    assert isinstance(model.domains_[2], Categories)


def test_persons_keep_working():
    X, y = frame(3000)
    data = dampen.dataset(X.assign(y=y, who=np.arange(3000) // 3), unit="who")
    columns = ["age", "income", "job"]
    release = data.tree(target="y", columns=columns, classes=CLASSES, epsilon=5, delta="1e-6")
    assert str(release.neighbours) == "add-remove-unit"
    assert release.delta >= Fraction(1, 10**6)


def test_missing_facts_are_refused_with_the_call_that_works():
    X, y = frame(50)
    with pytest.raises(ParameterError, match=r"classes=\[\.\.\.\].*\['no', 'yes'\]"):
        TreeClassifier(1).fit(X, y)
    with pytest.raises(ParameterError, match="at least two"):
        TreeClassifier(1, classes=["no"]).fit(X, y)
    with pytest.raises(ParameterError, match=r"epsilon >= 0.0001"):
        TreeClassifier("0.00001", classes=CLASSES).fit(X, y)
    with pytest.raises(ParameterError, match="DataFrame"):
        TreeClassifier(1, classes=CLASSES).fit([[1, 2]], ["no"])
    with pytest.raises(ParameterError, match="public"):
        TreeClassifier(1, classes=CLASSES, public="all").fit(X, y)


def test_the_plan_says_what_each_share_buys():
    X, _ = frame(50)
    told = str(TreeClassifier(1, classes=CLASSES, delta="1e-6").plan(X))
    assert "10 bins for each of 3 columns" in told
    assert "names of values of" in told
    assert "with 100,000 rows" in told
    stated = str(TreeClassifier(1, classes=CLASSES, max_rows=5000).plan(X))
    assert "with 5,000 rows" in stated
    assert "their number" not in stated
    assert "Pass delta=" in stated


@pytest.mark.parametrize("kind", ["text", "either"])
def test_the_plan_covers_what_hashes_cost_however_many_columns_hold_text(kind):
    search = Search({f"x{i}": kind for i in range(8)}, None, Fraction(0), counts_rows=True)
    for rows in (300, 1000, 9000, 10**5):
        shares = found.Shares(search, Fraction(1, 10), rows)
        [(_, most, bought)] = [line for line in shares.lines() if line[0] == "branches"]
        for columns in range(1, 9) if kind == "either" else (8,):
            cells = [Cells.of(np.array([0, 5, 5]))] * columns
            assert shares.hashes(cells, InsecureEntropy(0))[1] <= most
        assert ("4 public hashes" in bought) == (rows < 15_000)
        assert ("own ones" in bought) == (most > 0 and rows < 15_000)


def test_kinds_follow_from_declared_types():
    kinds = {"int64": "whole", "float32": "numbers", "decimal128(5, 2)": "numbers"}
    assert {name: kind_of(Field("a", name, "numbers")) for name in kinds} == kinds
    kinds = {"bool": "flags", "datetime64[ns]": "days", "date32[day]": "days", "string": "text"}
    assert {name: kind_of(Field("a", name, "labels")) for name in kinds} == kinds
    search = Search({"a": "whole", "b": "text"}, None, Fraction(1, 10**6), counts_rows=True)
    assert search.needed_delta == Fraction(1, 10**6)
    assert Search({"a": "whole"}, None, Fraction(1, 10**6), counts_rows=True).needed_delta == 0


@pytest.mark.parametrize(
    "born", [dampen.number(dates=True), dampen.number("1950-01-01", "2009-12-31")]
)
@pytest.mark.parametrize("kind", ["csv", "text", "dates", "datetime64"])
def test_trees_read_the_dates_that_a_data_set_states(tmp_path, born, kind):
    days = [date(1950 + i % 60, 1 + i % 12, 1 + i % 28) for i in range(3000)]
    old = np.where([day.year < 1980 for day in days], "yes", "no")
    frame = pd.DataFrame({"born": [str(day) for day in days], "old": old})
    data = frame if kind == "text" else frame.assign(born=days)
    if kind == "csv":
        data = tmp_path / "born.csv"
        frame.to_csv(data, index=False)
    if kind == "datetime64":
        data = frame.assign(born=pd.to_datetime(frame.born))
    stated = dampen.dataset(data, columns={"born": born, "old": CLASSES})
    release = stated.tree(target="old", epsilon=10)
    tree = TreeClassifier.from_json(release.to_json())
    assert release.answer["domains"][0]["days"]
    new = pd.DataFrame({"born": ["1955-03-04", "2001-05-06"]})
    assert tree.predict(new).tolist() == ["yes", "no"]


def test_classes_are_of_the_type_of_y():
    X, y = frame(60)
    codes = (pd.Series(y) == "yes").astype(int)
    model = TreeClassifier(5, classes=["0", "1"], delta="1e-6")
    with pytest.raises(ParameterError, match=r"Expected classes as they stand in y, .* int64; got"):
        model.fit(X, codes)
    with pytest.raises(ParameterError, match="got numbers"):
        TreeClassifier(5, classes=[0, 1]).fit(X, np.array(y))
    with pytest.raises(ParameterError, match=r"holds truth values. Expected classes=\[True"):
        TreeClassifier(5, classes=["True", "False"]).fit(X, codes == 1)
    for classes in ([0, 1], [0.0, 1.0], [False, True], np.array([0, 1])):
        assert TreeClassifier(5, classes=classes).fit(X, codes).classes_.tolist() == [0, 1]
    assert TreeClassifier(5, classes=["0", "1"]).fit(X, list(codes)) is not None


def test_a_name_in_place_of_y_refers_to_fit_table():
    X, y = frame(60)
    told = r"got a str\. To name a column, call fit_table\(table, target='sick'\)\."
    with pytest.raises(ParameterError, match=told):
        TreeClassifier(5, classes=CLASSES).fit(X.assign(sick=y), "sick")


def test_public_data_with_missing_numbers_is_refused_with_the_way_to_read_them():
    X = pd.DataFrame({"age": [1.0, np.nan] * 50})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dampen.PrivacyLeakWarning)
        with pytest.raises(dampen.DataError, match=r"Leave out public='data', or pass domains="):
            TreeClassifier(5, public="data").fit(X, ["no", "yes"] * 50)


@pytest.mark.parametrize("stated", [False, True])
def test_stages_that_do_not_fit_what_was_found_are_levels(stated: bool) -> None:
    """After the charge no content of the rows ends a fit; a public table is refused before it."""
    domains = [encoding.bins(0, 1, 13)] * 1200
    columns = {} if stated else {"x": None}
    kinds = {} if stated else {"x": "numbers"}
    search = Search(kinds, 2**31 if stated else None, Fraction(0), counts_rows=True)
    known = Supervision("y", columns, [0, 1], search)
    method = TreeMethod("tree", known, stages=(*(1,) * 10, 6))
    with pytest.raises(ParameterError) if stated else nullcontext():
        plan = method._plan(Fraction(1, 200_000), domains, 2, 2**31)
        assert (plan.depth, plan.staged) == (16, False)
