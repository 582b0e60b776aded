"""One id with 10^6 rows, in all groups, of all values: no question sees more of it than one person.

Every question is asked with and without that person, with the same bits.  What its method is told
of persons' weights, whole, differs by at most what one person may weigh; the theorems of
`dampen.data.units` then bound the loss.  Of questions that look at rows, at most `rows_per_unit`
rows of the person are seen.
"""

import numpy as np
import pytest

import dampen
from dampen.core.sampling import InsecureEntropy
from dampen.data.units import KeptRows, Shares, UnitTable

rng = np.random.default_rng(17)
MANY = 10**6
STAYS = {
    "patient": np.array([f"P{i}" for i in rng.integers(0, 40, 200)]),
    "ward": rng.choice(["A", "B", "C"], 200),
    "days": rng.integers(0, 6, 200).astype(float),
    "ill": rng.choice(["yes", "no"], 200),
}
HOSTILE = {
    "patient": np.r_[STAYS["patient"], np.full(MANY, "X")],
    "ward": np.r_[STAYS["ward"], np.resize(["A", "B", "C", "elsewhere"], MANY)],
    "days": np.r_[STAYS["days"], rng.choice([-1e300, -1, 0, 3, 5, 1e300, np.nan, np.inf], MANY)],
    "ill": np.r_[STAYS["ill"], rng.choice(["yes", "no", "perhaps"], MANY)],
}
COLUMNS = {"ward": ["A", "B", "C"], "days": dampen.number(0, 5, step=1), "ill": ["yes", "no"]}
DAYS = {"value": "days"}
BY = {"by": "ward"}
QUESTIONS = {
    "percentile": ("percentile", {**DAYS, "p": 50}),
    "percentiles": ("percentile", {**DAYS, "p": [10, 50, 90]}),
    "percentile by": ("percentile", {**DAYS, **BY, "p": 50}),
    "median": ("top-groups", {**DAYS, **BY}),
    "mean of groups": ("top-groups", {**DAYS, **BY, "statistic": "mean"}),
    "sum of groups": ("top-groups", {**DAYS, **BY, "statistic": "sum"}),
    "two groups": ("top-groups", {**DAYS, **BY, "k": 2}),
    "measured": ("top-groups", {**DAYS, **BY, "k": 3, "measure": "statistic"}),
    "measured count": ("top-groups", {**DAYS, **BY, "k": 3, "measure": "count"}),
    "above": ("groups-above", {**DAYS, **BY, "threshold": 3}),
    "frequent": ("most-frequent", {"value": "ward"}),
    "two frequent": ("most-frequent", {"value": "ward", "k": 2}),
    "frequent by": ("most-frequent", {"value": "ill", **BY}),
    "count": ("count", {}),
    "count by": ("count", BY),
    "histogram": ("histogram", {"value": "ill", **BY}),
    "bins": ("histogram", {**DAYS, "bins": 2}),
    "total": ("total", DAYS),
    "total by": ("total", {**DAYS, **BY}),
    "total of people": ("total", {**DAYS, **BY, "weigh": "people"}),
    "mean": ("mean", DAYS),
    "mean by": ("mean", {**DAYS, **BY}),
    "where": ("count", {**BY, "where": "days >= 3"}),
}
FACTS = [{}, {"rows_per_unit": 3}, {"groups_per_unit": 3}]


def heard(monkeypatch, data, question, options, facts):
    """What the views of persons tell a method, each with the most that one person may move it."""
    told = []
    real = {name: getattr(UnitTable, name) for name in ("counts", "added", "value_counts")}

    def spied(name):
        def spy(self, *given):
            answer = real[name](self, *given)
            told.append((self.weighing, self.width, name, answer))
            return answer

        return spy

    for name in real:
        monkeypatch.setattr(UnitTable, name, spied(name))
    asked = dampen.dataset(data, unit="patient", columns=COLUMNS, **facts)
    asked.ask(question, epsilon=1, entropy=InsecureEntropy(1, allow_release=True), **options)
    monkeypatch.undo()
    return told


def moved(weighing, width, name, before, after):
    """By how much a person moved what was told, and the most that is allowed."""
    if name == "added":
        cells = max(each[0].max(initial=0) for each in (before, after)) + 1
        before, after = (np.bincount(*each, minlength=cells) for each in (before, after))
    change = np.abs(after - before)
    if isinstance(weighing, Shares):
        within = change[:-1].reshape(-1, width).sum(axis=1).max() if weighing.within_lines else 0
        return within or change.sum(), weighing.quantum
    return (change.sum(), weighing.most) if name == "added" else (change.max(), 1)


@pytest.mark.parametrize("facts", FACTS, ids=str)
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_hostile_person_is_one_person(monkeypatch, name, facts):
    """10^6 rows; 10^4 of them where other facts are stated, which changes what a person adds."""
    question, options = QUESTIONS[name]
    rows = 10_200 if facts else None
    hostile = {column: cells[:rows] for column, cells in HOSTILE.items()}
    before = heard(monkeypatch, STAYS, question, options, facts)
    after = heard(monkeypatch, hostile, question, options, facts)
    assert len(before) == len(after) > 0
    for (weighing, width, kind, old), (_, _, _, new) in zip(before, after, strict=True):
        change, most = moved(weighing, width, kind, old, new)
        assert 0 < change <= most


@pytest.mark.parametrize("question", ["tree", "naive-bayes", "classifier"])
@pytest.mark.parametrize("most", [1, 3])
def test_models_see_few_rows_of_a_hostile_person(monkeypatch, question, most):
    seen = []
    real = KeptRows.batches

    def spy(self, wanted):
        batches = list(real(self, wanted))
        seen.append(sum(len(next(iter(batch.values()))) for batch in batches if batch))
        return iter(batches)

    monkeypatch.setattr(KeptRows, "batches", spy)
    facts = {"rows_per_unit": most, "rows": 2 * MANY}
    rows = []
    for data in (STAYS, HOSTILE):
        seen.clear()
        asked = dampen.dataset(data, unit="patient", columns=COLUMNS, **facts)
        entropy = InsecureEntropy(1, allow_release=True)
        asked.ask(question, target="ill", epsilon=1, entropy=entropy)
        rows.append(max(seen))
    assert 0 < rows[1] - rows[0] <= most


def test_keys_of_a_hostile_person():
    """The mass of all keys moves by at most one person's."""
    from dampen.data.memory import MemoryTable
    from dampen.data.units import weights_by_key

    before, after = (
        weights_by_key(MemoryTable(data), "patient", ["ward", "ill"], Shares(840, distinct=True))
        for data in (STAYS, HOSTILE)
    )
    keys = before.keys() | after.keys()
    assert sum(abs(after.get(key, 0) - before.get(key, 0)) for key in keys) <= 840
