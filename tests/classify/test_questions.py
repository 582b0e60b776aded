"""The questions for classifiers as they are declared, and the estimators that ask them."""

import inspect
import json

import pytest

import dampen
from dampen.paper import id3
from dampen.questions import QUESTIONS, question_type
from dampen.questions.classify.question import TreeQuestion
from dampen.releases.answer import answer
from dampen.releases.question import parameters

OF_THE_PRICE = {"epsilon", "rho", "budget", "entropy"}
OF_THE_TABLE = {"data", "header", "table", "unit", "rows_per_unit"}
TABLE = {"x": ["p", "q"] * 50, "z": [1.0, 5.0] * 50, "c": ["no", "yes"] * 50}
PUBLIC = {
    "domains": {"x": ["p", "q"], "z": dampen.bins(0, 10, 5), "c": ["no", "yes"]},
    "classes": ["no", "yes"],
    "max_rows": 200,
}


@pytest.mark.parametrize("name", ["tree", "naive-bayes", "classifier", "id3"])
def test_estimators_take_the_declared_parameters(name):
    asked = id3.ID3Question if name == "id3" else question_type(name)
    home = id3 if name == "id3" else dampen
    estimator = getattr(home, asked.estimator)
    made = set(inspect.signature(estimator).parameters) - OF_THE_PRICE
    fitted = set(inspect.signature(estimator("1").fit_table).parameters) - OF_THE_TABLE
    assert made | fitted == {each.name for each in parameters(asked)}
    assert not made & fitted
    for each in parameters(asked):
        if each.name in made:
            assert inspect.signature(estimator).parameters[each.name].default == each.default


def test_facts_are_those_of_a_schema():
    facts = {each.name: each.fact for each in parameters(TreeQuestion) if each.fact is not None}
    assert {(fact.name, fact.of) for fact in facts.values()} == {
        ("domains", ""),
        ("values", "target"),
        ("rows", ""),
    }


@pytest.mark.parametrize("name", ["tree", "naive-bayes", "classifier"])
def test_the_answer_is_the_model(name):
    """A schema has the domain of the target too; the estimator is restored from what was drawn."""
    assert name in QUESTIONS
    question = question_type(name)(target="c", **PUBLIC)
    assert question.shape() == "model"
    made = answer(question, TABLE, epsilon="50")
    assert json.loads(made.to_json())["answer"] == made.answer
    restored = dampen.Classifier.from_json(made.to_json())
    assert restored.feature_names_in_.tolist() == ["x", "z"]
    assert restored.predict(TABLE).tolist() == TABLE["c"]
    assert restored.to_json() == made.to_json()


def test_columns_choose_what_a_model_predicts_from():
    tree = dampen.TreeClassifier("50", **PUBLIC).fit_table(TABLE, target="c", columns=["z"])
    assert tree.feature_names_in_.tolist() == ["z"]
    assert tree.predict({"z": [1.0, 5.0]}).tolist() == ["no", "yes"]


def test_a_released_model_is_shown_by_how_it_is_read():
    data = {"x": [0, 1] * 300, "old": ["no", "yes"] * 300}
    held = dampen.dataset(data, columns={"old": ["no", "yes"], "x": dampen.number(0, 1)})
    for name, reader in (("tree", "TreeClassifier"), ("naive_bayes", "NaiveBayesClassifier")):
        release = getattr(held, name)(target="old", epsilon=5)
        told = f"dampen.{reader}.from_json(release.to_json()) reads it"
        assert told in str(release)
        assert told in repr(release)
        assert max(map(len, str(release).splitlines())) < 200
        read = getattr(dampen, reader).from_json(release.to_json())
        assert read.predict({"x": [0, 1]}).tolist() == ["no", "yes"]
    numbers = held.regression_tree(target="x", epsilon=5)
    assert "dampen.TreeRegressor.from_json" in str(numbers)
    assert dampen.TreeRegressor.from_json(numbers.to_json()) is not None
