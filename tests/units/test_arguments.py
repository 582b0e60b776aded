"""`unit=` as an argument: functions, estimators, `tune` and `compare`, without a data set."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import dampen
from dampen.cli.compare import compare
from dampen.core.sampling import InsecureEntropy
from dampen.core.selection import Neighbours
from dampen.releases.tuning import noisy_hits

WARDS = ["Ash", "Birch", "Oak"]
STAYS = {
    "patient": [f"P{i % 150}" for i in range(600)],
    "ward": [WARDS[i % 150 % 3] for i in range(600)],
    "days": [2 + 3 * (i % 150 % 3) + i % 2 for i in range(600)],
}
RANGE = {"lower": 0, "upper": 90, "step": 1}
ASKED = {
    "top_groups": ("days", {"by": "ward", "groups": WARDS, **RANGE}),
    "groups_above": ("days", {"by": "ward", "groups": WARDS, "threshold": 4, **RANGE}),
    "percentile": ("days", {"p": 50, **RANGE}),
    "most_frequent": ("ward", {"categories": WARDS}),
    "histogram": ("ward", {"categories": WARDS}),
    "total": ("days", RANGE),
    "mean": ("days", RANGE),
    "keys": ("ward", {"delta": "1e-6"}),
    "count": (None, {}),
}


def asked(name, data=STAYS, **options):
    value, given = ASKED[name]
    place = () if value is None else (value,)
    bits = InsecureEntropy(5, allow_release=True)
    return getattr(dampen, name)(data, *place, epsilon=1, entropy=bits, **given, **options)


@pytest.mark.parametrize("name", ASKED)
def test_a_function_answers_like_a_data_set(name):
    value, given = ASKED[name]
    of_set = dampen.dataset(STAYS, unit="patient", rows_per_unit=2)
    bits = InsecureEntropy(5, allow_release=True)
    stated = given if value is None else {"value": value, **given}
    told = of_set.ask(name.replace("_", "-"), epsilon=1, entropy=bits, **stated)
    made = asked(name, unit="patient", rows_per_unit=2)
    assert made.to_json() == told.to_json()
    assert made.neighbours is Neighbours.ADD_REMOVE_UNIT
    assert "one patient, with all their rows" in str(made)


@pytest.mark.parametrize("name", ["count", "histogram", "keys", "most_frequent"])
def test_in_how_many_groups_a_person_is_may_be_stated(name):
    data = {**STAYS, "ward": ["Ash", "Birch"] * 300, "patient": [i // 2 for i in range(600)]}
    given = {"categories": WARDS, "by": "ward", "groups": WARDS, "delta": "1e-6"}
    wanted = {"count": ("by", "groups"), "keys": ("delta",)}.get(name, ("categories",))
    stated = {key: given[key] for key in wanted}
    place = () if name == "count" else ("ward",)
    for groups in (None, 2):
        facts = {"unit": "patient", "groups_per_unit": groups}
        bits = [InsecureEntropy(5, allow_release=True) for _ in range(2)]
        made = getattr(dampen, name)(data, *place, **stated, **facts, epsilon=9, entropy=bits[0])
        named = {} if name == "count" else {"value": "ward"}
        of_set = dampen.dataset(data, **facts)
        told = of_set.ask(name.replace("_", "-"), **named, **stated, epsilon=9, entropy=bits[1])
        assert made.to_json() == told.to_json()
    with pytest.raises(dampen.ParameterError, match="need unit="):
        getattr(dampen, name)(data, *place, **stated, groups_per_unit=2, epsilon=9)


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("unit", ["", "row", "edge"])
def test_a_unit_has_a_name_of_its_own(name, unit):
    """An empty one would protect rows, and nobody would notice."""
    with pytest.raises(dampen.ParameterError, match="rename the column"):
        asked(name, {**STAYS, unit: STAYS["patient"]}, unit=unit)


@pytest.mark.parametrize("name", ["top_groups", "percentile", "most_frequent", "count"])
def test_whose_statistic_is_meant(name):
    """People by default; rows of a person up to 8, or up to as many as are stated."""
    shown = {"rows_per_unit", "kept_rows_per_unit"}
    caps = [
        [made.parameters[each] for each in shown & made.parameters.keys()]
        for made in (
            asked(name, unit="patient", weigh="people", rows_per_unit=3),
            asked(name, unit="patient", weigh="rows"),
            asked(name, unit="patient", weigh="rows", rows_per_unit=3),
        )
    ]
    assert caps[1:] == [[8], [3]]
    assert caps[0] in ([1], [])  # distinct persons have no cap


def test_a_column_of_ids_beside_a_column():
    made = dampen.percentile(STAYS["days"], p=50, unit=STAYS["patient"], epsilon=9, **RANGE)
    assert made.answer in (5, 6)
    assert "one person, with all their rows" in str(made)
    table = {name: STAYS[name] for name in ("ward", "days")}
    made = dampen.most_frequent(
        table, "ward", categories=WARDS, unit=np.array(STAYS["patient"]), epsilon=1
    )
    assert made.parameters["unit"] == "person"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weigh": "people"}, "needs unit="),
        ({"rows_per_unit": 3}, "need unit="),
        ({"unit": "patent"}, "Did you mean 'patient'"),
        ({"unit": "patient", "weigh": "persons"}, "people or rows"),
    ],
)
def test_unsuitable_parameters_are_refused(options, words):
    with pytest.raises(dampen.ParameterError, match=words):
        asked("percentile", **options)


def test_rows_are_weighed_where_rows_are_protected():
    assert asked("percentile", weigh="rows").neighbours is Neighbours.ADD_REMOVE_ROW


@pytest.mark.parametrize("kind", [dampen.TreeClassifier, dampen.NaiveBayesClassifier])
def test_estimators(kind):
    facts = {"domains": {"days": dampen.bins(0, 12, 4)}, "classes": WARDS, "max_rows": 1000}
    model = kind(epsilon=20, entropy=InsecureEntropy(3, allow_release=True), **facts)
    days = {"days": STAYS["days"]}
    model.fit(days, STAYS["ward"], unit=STAYS["patient"], rows_per_unit=2)
    assert model.release_.neighbours is Neighbours.ADD_REMOVE_UNIT
    assert "one person, with all their rows" in str(model.release_)
    again = kind(epsilon=20, **facts).fit_table(STAYS, target="ward", unit="patient")
    assert again.release_.parameters["unit"] == "patient"
    assert (again.predict(days) == np.array(STAYS["ward"])).mean() > 0.5
    with pytest.raises(dampen.ParameterError, match="ids of persons"):
        kind(epsilon=1).fit_table(STAYS, target="ward", unit="patient")


def test_tune():
    def run(p, share):
        half = share.epsilon / 2
        made = dampen.percentile(
            STAYS, "days", p=p, unit="patient", epsilon=half, budget=share, **RANGE
        )
        right = np.array(STAYS["days"]) == made.answer
        hits = noisy_hits(right, np.ones(600), unit=STAYS["patient"], epsilon=half, budget=share)
        return hits, made.answer

    best = dampen.tune([10, 50, 90], run, unit="patient", epsilon=60)
    assert best.release.neighbours is Neighbours.ADD_REMOVE_UNIT
    assert "one patient, with all their rows" in str(best.release)
    assert 20 < best.score < 30  # a third of the patients are right in half of their rows
    for given in ({}, {"unit": "patient", "neighbours": "add-remove-row"}):
        with pytest.raises(dampen.ParameterError, match="unit="):
            dampen.tune([1], run, epsilon=1, **given)


def test_noisy_hits_of_one_person_with_many_rows():
    """A person with all rows but one weighs one: the law moves by e^ε at most, far from 10^5."""
    right = np.ones(10**5, dtype=bool)
    ids = np.zeros(10**5, dtype=np.int64)
    assert noisy_hits(right, right, unit=ids, epsilon=50) == pytest.approx(1, abs=0.5)


def test_compare(tmp_path):
    path = tmp_path / "stays.csv"
    lines = zip(*STAYS.values(), strict=True)
    path.write_text("\n".join([",".join(STAYS), *(f"{a},{b},{c}" for a, b, c in lines)]))
    options = "--value days --by ward --groups Ash,Birch,Oak --lower 0 --upper 90 --step 1"
    protect = "--unit patient --rows-per-unit 2 --epsilon 5 --tries 3 --public --json --header"
    made = CliRunner().invoke(
        compare, ["top-groups", str(path), *options.split(), *protect.split()]
    )
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)[0]["ε = 5"] == 1
