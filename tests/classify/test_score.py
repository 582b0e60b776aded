"""The score of naive Bayes as one more column of a tree: its loss with the tables, and its law."""

import itertools
import json
from dataclasses import replace
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dampen import InsecureEntropy, ParameterError, TreeClassifier, bins
from dampen.core.noise import pure_rho
from dampen.core.sampling import SystemEntropy
from dampen.data.open import open_table
from dampen.questions.classify import growing, model
from dampen.questions.classify.encoding import Categories, candidates_of, first_codes
from dampen.questions.classify.growing import Coding, Rows, StreamedRows, Weights
from dampen.questions.classify.model import NoisyTables, Score, filtered_logs, noisy_tables
from dampen.questions.classify.plan import (
    FOR_ODDS,
    FOR_SCORE,
    RANKING_TABLES,
    SCORE_BINS,
    TreePlan,
    split_shares,
    tree_plan,
)
from dampen.questions.classify.question import tables_and_tree
from dampen.testing.universe import Universe
from goodness import assert_draws_follow, counts_of

DOMAINS = [Categories((0, 1)), Categories("ab")]
FIRST = first_codes(DOMAINS)
FEW_BINS = 4
PAID = Fraction(1, 2)
"""By the tables, and as much by the tree."""


@pytest.fixture
def few_bins(monkeypatch):
    monkeypatch.setattr(model, "SCORE_BINS", FEW_BINS)


def counts_in(rows, domains=DOMAINS):
    first = first_codes(domains)
    counts = np.zeros((int(first[-1]), 2), dtype=np.int64)
    for *codes, c in rows:
        for a, code in enumerate(codes):
            counts[first[a] + code, c] += 1
    return counts


def score_of(counts):
    return Score.of(NoisyTables(FIRST, np.array(counts), 2 / PAID), DOMAINS)


def labelled(counts, epsilon):
    powers = epsilon * counts
    return powers - np.logaddexp.reduce(powers)


def tree_law(rows, score, epsilon):
    """ln P of every tree of one level with its classes, by the definition of the release."""
    candidates = candidates_of(DOMAINS, late=score.domain)
    weights = Weights(candidates, epsilon)
    codes = np.array([r[:-1] for r in rows], dtype=np.int64).reshape(-1, 2)
    all_codes = score.appended(codes)
    classes = np.array([r[-1] for r in rows], dtype=np.int64)
    [table] = Rows(all_codes, classes, 2).tables([0], candidates.first)
    terms = weights.last_level(table)
    logs = terms - np.logaddexp.reduce(terms)
    total = table[: candidates.first[1]].sum(axis=0)
    law = [logs[0] + each for each in labelled(total, epsilon)]
    for s in range(len(candidates)):
        inside = table[candidates.low[s] : candidates.high[s]].sum(axis=0)
        sides = labelled(inside, epsilon), labelled(total - inside, epsilon)
        law += [logs[1 + s] + p + q for p in sides[0] for q in sides[1]]
    assert np.exp(law).sum() == pytest.approx(1)
    return np.array(law)


def largest_loss(score_by, table_scale=2 / PAID):
    """Of noisy tables and tree together, over all tables of two rows at most.

    `score_by` makes the score of the true and the released counts.
    """
    rows = list(itertools.product(range(2), repeat=3))
    every = Universe.add_remove_row(rows, max_rows=2)
    counts = [counts_in(x) for x in every.databases]
    rng = np.random.default_rng(1)
    losses = []
    for z in [np.zeros((4, 2), dtype=np.int64), *rng.integers(-1, 6, (60, 4, 2))]:
        laws = [
            tree_law(x, score_by(each, z), float(PAID))
            for x, each in zip(every.databases, counts, strict=True)
        ]
        tables = [-np.abs(z - each).sum() / float(table_scale) for each in counts]
        for a, b in every.neighbours:
            losses.append(np.abs(tables[a] + laws[a] - tables[b] - laws[b]).max())
    return max(losses)


def test_the_privacy_loss_of_tables_and_a_tree_with_their_score(few_bins):
    """At most ε in all.  Twins are found: a score by the exact counts, which tells of other rows,
    and tables of which each has the noise of one alone.
    """
    paid = float(2 * PAID)
    loss = largest_loss(lambda _, released: score_of(released))
    assert 0.8 * paid < loss <= paid + 1e-9
    assert largest_loss(lambda true, _: score_of(true)) > paid + 0.1
    each_alone = largest_loss(lambda _, released: score_of(released), 1 / PAID)
    assert each_alone == pytest.approx(loss + float(PAID), abs=0.05)


def plan_of(epsilon, tables):
    """A tree of one level, drawn at once with its classes, and a score."""
    candidates = len(candidates_of(DOMAINS)) + FEW_BINS - 1
    return TreePlan(
        Fraction(epsilon), 1000, (2,), split_shares((2,)), candidates, 2, (), 2,
        tables=Fraction(tables), scored=True,
    )  # fmt: skip


def test_fits_follow_the_law(few_bins, monkeypatch):
    """1,000 trees against the law of their splits, given the score by tables with next to no noise;
    an ε that is 30 % off would be rejected.
    """
    rng = np.random.default_rng(4)
    rows = [(a, b, int(a + b + rng.random() > 1.4)) for a, b in rng.integers(0, 2, (30, 2))]
    rows = [tuple(map(int, r)) for r in rows]
    picked = []

    def draw(*arguments, draw=growing._draw):
        picked[-1].append(draw(*arguments))
        return picked[-1][-1]

    monkeypatch.setattr(growing, "draw_menu", lambda *_: growing.STAY)
    monkeypatch.setattr(growing, "_draw", draw)
    plan = plan_of("0.3", 10**6)
    codes, classes = np.array([r[:-1] for r in rows]), np.array([r[-1] for r in rows])
    for _ in range(1000):
        picked.append([])
        tables, _tree = tables_and_tree(plan, DOMAINS, Rows(codes, classes, 2), SystemEntropy())
        assert tables.counts.tolist() == counts_in(rows).tolist()
    score = Score.of(NoisyTables(FIRST, counts_in(rows), 2 / Fraction(10**6)), DOMAINS)
    splits = range(1 + plan.candidates)

    def law(epsilon):
        parts = np.exp(tree_law(rows, score, epsilon))
        return np.array([parts[:2].sum(), *parts[2:].reshape(-1, 4).sum(axis=1)])

    counts = counts_of([picks[0] for picks in picked], splits)
    assert_draws_follow(counts, law(plan.joint_epsilon), law(2.0))


def test_a_score_is_as_likely_as_all_columns_together():
    candidates = candidates_of(DOMAINS, late=Categories(range(5), ordered=True))
    prior = np.exp(Weights(candidates, 1.0).log_prior)
    assert prior.sum() == pytest.approx(1)
    assert prior[1:][candidates.attribute == 2] == pytest.approx([0.9 / 2 / 4] * 4)
    assert prior[1:3] == pytest.approx([0.9 / 4] * 2)


def test_a_score_is_a_sum_of_whole_numbers_of_one_row():
    domains = [bins(0, 1), Categories("abc")]
    first, _ = model.merged_values(domains)
    rng = np.random.default_rng(2)
    tables = noisy_tables(
        rng.integers(0, 90, (13, 2)), first, Fraction(1), entropy=InsecureEntropy(1)
    )
    score = Score.of(tables, domains)
    codes = np.column_stack([rng.integers(0, 160, 500), rng.integers(0, 3, 500)]).astype(np.int16)
    scored = score.appended(codes)
    np.testing.assert_array_equal(scored[:, :2], codes)
    for i in (0, 7, 499):
        np.testing.assert_array_equal(score.appended(codes[i : i + 1])[0], scored[i])
    logs = filtered_logs(tables, domains)
    odds = logs[:, 1] - logs[:, 0]
    order = np.argsort(odds[codes[:, 0] // 16] + odds[10 + codes[:, 1]])
    assert (np.diff(scored[order, 2]) >= 0).all()
    assert len(np.unique(scored[:, 2])) > 20
    flat = Score.of(NoisyTables(first, np.zeros((13, 2), dtype=np.int64), Fraction(1)), domains)
    assert len(np.unique(flat.appended(codes)[:, 2])) == 1


SLOPE = np.linspace(-1.5, 1.5, 10)


def sloped(rows=4000, columns=8):
    """Tables of columns whose log-odds rise over ten bins, and their domains."""
    domains = [bins(0, 10, 10)] * columns
    one = np.stack([1 / (1 + np.exp(SLOPE)), 1 / (1 + np.exp(-SLOPE))], axis=1)
    counts = np.rint(np.tile(one, (columns, 1)) * rows / 10).astype(np.int64)
    return counts, first_codes(domains), domains


def odds_of(logs):
    return logs[:, 1] - logs[:, 0]


def test_the_filter_leaves_signal_and_takes_noise():
    """Without noise nothing changes; with much of it, log-odds are nearer to those of the law."""
    counts, first, domains = sloped()
    sure = NoisyTables(first, counts, Fraction(1, 100))
    true = np.tile(SLOPE, 8)
    np.testing.assert_allclose(odds_of(filtered_logs(sure, domains)), true, atol=0.05)
    np.testing.assert_allclose(np.exp(filtered_logs(sure, domains)[:10]).sum(axis=0), 1)
    noisy = noisy_tables(counts, first, Fraction(1, 10), entropy=InsecureEntropy(1))
    plain, filtered = odds_of(noisy.log_likelihoods), odds_of(filtered_logs(noisy, domains))
    assert np.corrcoef(filtered, true)[0, 1] > np.corrcoef(plain, true)[0, 1] + 0.1


def test_missing_values_and_categories_are_not_in_the_waves():
    """Categories may stand in any order, and a missing value is no neighbour of the last bin."""
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 60, (11, 2))
    logs = {
        kind: odds_of(
            filtered_logs(NoisyTables(first_codes([domain]), each, Fraction(9)), [domain])
        )
        for kind, domain, each in (
            ("listed", Categories("abcdefghijk"), counts),
            ("turned", Categories("abcdefghijk"), counts[::-1]),
            ("bins", bins(0, 10, 11), counts),
            ("own", bins(0, 10, 10, missing="own"), counts),
        )
    }
    np.testing.assert_allclose(logs["turned"], logs["listed"][::-1], rtol=1e-9)
    assert np.abs(np.diff(logs["bins"])).sum() < 0.8 * np.abs(np.diff(logs["listed"])).sum()
    more = counts.copy()
    more[10] = (0, 60)
    lone = bins(0, 10, 10, missing="own")
    moved = odds_of(filtered_logs(NoisyTables(first_codes([lone]), more, Fraction(9)), [lone]))
    assert moved[10] > logs["own"][10] + 0.5
    assert np.abs(np.diff(moved[:10]) - np.diff(logs["own"][:10])).max() < 0.3


def additive(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 12)) + 0.8 * y[:, None], y


PUBLIC = {"domains": [bins(-4, 5)] * 12, "classes": [0, 1], "max_rows": 4000}


def fitted(epsilon="2", **options):
    entropy = InsecureEntropy(1, allow_release=True)
    return TreeClassifier(epsilon, **PUBLIC, entropy=entropy, **options).fit(*additive())


def test_evidence_that_adds_up_over_columns_is_found():
    """A tree alone, level by level or at once, has .80 at most here."""
    X, y = additive(4000, 1)
    for options in ({}, {"probabilities": True}, {"stages": (1, 2)}):
        tree = fitted(**options)
        assert np.mean(tree.predict(X) == y) > 0.86
        assert tree.model_.score is not None
        assert tree.plan_.charges[0].purpose == "table"
        assert sum(line.epsilon for line in tree.plan_.charges) == 2
    plain = fitted(max_depth=4)
    assert np.mean(plain.predict(X) == y) < 0.82
    assert "score" in fitted().report()


def test_levels_that_are_selected_one_by_one_leave_the_score_out(monkeypatch):
    monkeypatch.setattr(growing.TakenBack, "drawn", lambda *_: [])
    tree = fitted("40", stages=(1, 1, 1, 2)).tree_
    assert (tree.attribute[tree.level < 3] < 12).all()
    assert (tree.attribute == 12).any()


def test_found_facts_and_rows_in_a_database_have_the_same_score():
    X, y = additive(500)
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(12)]).assign(y=y)
    domains = {f"c{i}": bins(-4, 5, 10) for i in range(12)}
    streamed = StreamedRows(
        open_table(duckdb.from_arrow(pa.table(frame))), Coding(domains, "y", (0, 1))
    )
    codes = np.column_stack([d.encode(frame[name].to_numpy()) for name, d in domains.items()])
    held = Rows(codes, y, 2)
    every = [*domains.values()]
    counts = held.tables([0], first_codes(every))[0]
    score = Score.of(NoisyTables(first_codes(every), counts, Fraction(1)), every)
    first = first_codes([*every, score.domain])
    np.testing.assert_array_equal(
        streamed.with_score(score).tables([0], first), held.with_score(score).tables([0], first)
    )
    X, y = additive()
    found = TreeClassifier("2", classes=[0, 1]).fit(pd.DataFrame(X).rename(columns=str), y)
    assert found.model_.score is not None
    assert TreeClassifier.from_json(found.to_json()).report() == found.report()


def test_a_public_rule_tells_where_the_score_pays():
    domains = [Categories("ab")] * 6
    enough = {"classes": 2, "max_rows": 300}
    plan = tree_plan(Fraction(1), domains, **enough)
    assert plan.scored
    assert plan.tables == FOR_SCORE
    assert plan.candidates == 6 + SCORE_BINS - 1
    assert "whose score is one more column" in str(plan)
    whole = replace(plan, columns=1)
    assert whole.rho - plan.rho == pure_rho(FOR_SCORE) - 6 * pure_rho(FOR_SCORE / 6) > 0
    others = [
        tree_plan(Fraction(1), domains[:3], **enough),
        tree_plan(Fraction(1), domains, classes=2, max_rows=100),
        tree_plan(Fraction(1), domains, classes=3, max_rows=10_000),
        tree_plan(Fraction(1), domains, **enough, max_depth=2),
        tree_plan(Fraction(1), domains, classes=32, max_rows=10_000, numbers=True),
    ]
    assert not any(other.scored or other.tables for other in others)
    sure = tree_plan(Fraction(1), domains, **enough, probabilities=True)
    assert (sure.scored, sure.odds, sure.tables) == (True, FOR_ODDS, RANKING_TABLES)


@pytest.mark.parametrize("probabilities", [False, True])
def test_a_tree_with_a_score_survives_json_and_its_damages_are_refused(probabilities):
    X, _ = additive(300, 2)
    tree = fitted(probabilities=probabilities)
    text = tree.to_json()
    again = TreeClassifier.from_json(text)
    np.testing.assert_array_equal(again.predict(X), tree.predict(X))
    np.testing.assert_array_equal(again.predict_proba(X), tree.predict_proba(X))
    assert again.report() == tree.report()
    content = json.loads(text)
    answer = content["answer"]
    three = {"classes": [0, 1, 2], "tables": [[*row, 0] for row in answer["tables"]]}
    without = {key: value for key, value in answer.items() if key != "tables"}
    fewer = answer | {"tables": answer["tables"][1:]}
    for damaged in (fewer, answer | {"score": False}, answer | three, without):
        with pytest.raises(ParameterError):
            TreeClassifier.from_json(json.dumps(content | {"answer": damaged}))


def test_trees_that_were_written_before_scores_are_read():
    X, y = additive()
    plain = TreeClassifier("1", **PUBLIC, max_depth=2).fit(X, y)
    older = plain.to_json().replace('"tree 8"', '"tree 6"')
    assert older != plain.to_json()
    np.testing.assert_array_equal(TreeClassifier.from_json(older).predict(X), plain.predict(X))
