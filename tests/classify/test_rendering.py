"""Text, drawing and JSON of a released tree."""

import json
import re

import numpy as np
import pytest

import dampen
from dampen.errors import ParameterError
from dampen.questions.classify import TreeClassifier, bins
from dampen.questions.classify.model import html, model_of, report

PUBLIC = {
    "domains": {"colour": ["red", "green", "blue"], "size": bins(0, 8, 4)},
    "classes": ["no", "yes"],
    "max_rows": 500,
}


@pytest.fixture(scope="module")
def fitted():
    import pandas as pd

    frame = pd.DataFrame(
        {"colour": ["red", "green", "blue", "red"] * 100, "size": np.arange(400) % 8}
    )
    y = np.where((frame["colour"] == "red") & (frame["size"] >= 2), "yes", "no")
    return TreeClassifier("100", max_depth=2, **PUBLIC).fit(frame, y), frame


def test_the_report_tells_budget_and_tree(fitted):
    tree, _ = fitted
    text = tree.report()
    assert "epsilon 100 for adding or removing one row; at most 500 rows in all" in text
    assert "level  0  split      25.1  (0.251 of epsilon)" in text
    assert "level  2  leaf       42.3  (0.423 of epsilon)" in text
    assert "colour: red" in text
    assert "size: >= 2 -> yes" in text
    assert "colour: not red -> no" in text  # a split below it would change nothing


def test_rows_that_were_counted_with_noise_are_about_so_many():
    X = {"x": [0, 1] * 200}
    model = TreeClassifier(1, classes=[0, 1]).fit(X, [0, 1] * 200)
    assert f"one row; about {model.plan_.max_rows} rows in all" in model.report()


ROWS = {"p": [0, 0, 1, 2] * 100, "x": [0, 1, 2, 3] * 100, "y": [0, 1, 1, 0] * 100}
QUESTIONS = {
    "tree": {"classes": [0, 1]},
    "regression_tree": {"lower": 0, "upper": 1},
    "naive_bayes": {"classes": [0, 1]},
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("found", [False, True], ids=["stated", "found"])
def test_a_model_says_whom_epsilon_protects(question, found):
    """Also where domains are found, with a part of ε."""
    facts = {} if found else {"domains": {"x": bins(0, 4, 4)}, "max_rows": 1000}
    asked = {"epsilon": "0.6", **QUESTIONS[question], **facts}
    persons = dampen.dataset(ROWS, unit="p", rows_per_unit=3)
    shown = shown_model(getattr(persons, question)("y", **asked))
    assert all("0.6 for adding or removing one p, with all their rows" in text for text in shown)
    assert not any("one row," in text or "one row;" in text for text in shown)
    replaced = dampen.dataset(ROWS, units_public=True)
    shown = shown_model(getattr(replaced, question)("y", **asked))
    assert all("0.6 for changing what one row says" in text for text in shown)
    shown = shown_model(getattr(dampen.dataset(ROWS), question)("y", **asked))
    assert all("0.6 for adding or removing one row" in text for text in shown)


def test_the_budget_of_a_tree_is_that_of_one_row():
    asked = {"classes": [0, 1], "epsilon": "0.6"}
    text, _ = shown_model(dampen.dataset(ROWS, unit="p", rows_per_unit=3).tree("y", **asked))
    assert "\nat most 3 rows of each p, at epsilon 0.2 for one row\n" in text
    text, _ = shown_model(dampen.dataset(ROWS, units_public=True).tree("y", **asked))
    assert "\na changed row is one removed and one added, at epsilon 0.3 for each\n" in text
    text, _ = shown_model(dampen.dataset(ROWS, unit="p", rows_per_unit=1).tree("y", **asked))
    assert "rows of each" not in text


def shown_model(release):
    """The text of a model and its picture, without what is between tags."""
    model = model_of(release.answer)
    return report(model, release), html(model, release)


def test_a_tree_of_depth_zero_is_one_class():
    tree = TreeClassifier("100", max_depth=0, **{**PUBLIC, "domains": [3, 4]})
    tree.fit([[0, 1]] * 20, ["yes"] * 20)
    assert tree.report().endswith("always -> yes")
    assert tree.predict([[2, 2]]).tolist() == ["yes"]


def test_json_keeps_everything_that_prediction_needs(fitted):
    tree, frame = fitted
    text = tree.to_json()
    again = TreeClassifier.from_json(text)
    assert again.to_json() == text
    assert again.report() == tree.report()
    assert (again.predict(frame) == tree.predict(frame)).all()
    assert again.plan_ == tree.plan_
    charges = json.loads(text)["answer"]["plan"]["charges"]
    assert charges == [[0, "split", "251/10"], [1, "split", "163/5"], [2, "leaf", "423/10"]]
    assert again.release_ == tree.release_
    assert again.epsilon == 100


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"format": 99}'])
def test_other_text_is_refused(text):
    with pytest.raises(ParameterError, match="JSON of a release"):
        TreeClassifier.from_json(text)


def test_a_notebook_shows_the_tree_drawn(fitted):
    tree, _ = fitted
    shown = tree._repr_mimebundle_()["text/html"]
    assert shown == tree._repr_html_()
    assert "ε = 100 for adding or removing one row: 3 leaves, depth 2" in shown
    assert shown.count("<rect") == 5
    drawn = re.findall(r'<rect [^>]*fill="(#\w+)"[^>]*/><text[^>]*>(\w+)</text>', shown)
    assert len(drawn) == 3
    assert len(set(drawn)) == 2  # one colour per class
    assert "NOT SECURE" not in shown


def test_an_unfitted_tree_is_shown_as_scikit_learn_does():
    assert "<svg" not in TreeClassifier("1")._repr_mimebundle_()["text/html"]


def test_names_cannot_command_a_notebook():
    rows = [[value] for value in ("<b>", "&", "</svg>") * 50]
    tree = TreeClassifier(
        "100", max_depth=1, domains=[["<b>", "&", "</svg>"]], classes=["<i>", "'"], max_rows=200
    ).fit(rows, ["<i>" if row == ["<b>"] else "'" for row in rows])
    shown = tree._repr_html_()
    assert "<b>" not in shown and "<i>" not in shown and shown.count("</svg>") == 1
    assert "&lt;i&gt;" in shown
