"""What is said of an answer before it is paid for."""

import re

import pytest

import dampen
from dampen.questions.frequency import MostFrequent
from dampen.releases.accuracy import UNKNOWN


def rows_in(sentence: str) -> int:
    """The lead that a sentence tells."""
    return int(re.search(r"by ([\d,]+) rows", sentence)[1].replace(",", ""))


@pytest.mark.parametrize("k", [None, 1, 3])
def test_the_accuracy_follows_from_public_facts_alone(k):
    """The same sentence for any data; more ε or fewer categories ask for a smaller lead."""
    public = {"categories": list("abcdefgh"), "k": k}

    def told(rows: str, epsilon: str, **changed) -> str:
        return dampen.most_frequent(
            list(rows), epsilon=epsilon, **(public | changed)
        ).accuracy.sentence

    one = told("aab", "0.1")
    assert one == told("h" * 500, "0.1")
    assert rows_in(told("a", "1")) < rows_in(told("a", "0.1"))
    assert rows_in(told("a", "0.1", categories=list("abcd"))) < rows_in(one)


def test_the_stated_lead_suffices():
    """At the lead the law names the leader with probability 0.9; at half of it, it does not."""
    categories = list("abcdef")
    sentence = dampen.most_frequent(["a"], categories=categories, epsilon="0.05").accuracy.sentence
    rows = rows_in(sentence)
    problem = MostFrequent(categories)
    for count, enough in [(rows, True), (rows // 2, False)]:
        law = dampen.probabilities(problem.selection({"a": count}), epsilon="0.05", mechanism="pf")
        assert (law[0] >= 0.9) == enough


def test_no_accuracy_is_stated_where_categories_come_from_the_data():
    with pytest.warns(dampen.PrivacyLeakWarning):
        assert dampen.most_frequent(["a", "b"], epsilon="1", public="data").accuracy == UNKNOWN
