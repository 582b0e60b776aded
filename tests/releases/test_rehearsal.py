"""Questions tried on public data."""

import pytest

from dampen.questions.frequency import FrequencyQuestion
from dampen.releases.answer import Rehearsal, rehearse
from dampen.releases.cost import Price

VOTES = {"vote": ["a"] * 30 + ["b"] * 25 + ["c"] * 5}


def rehearsed(epsilon: str, **options: object) -> Rehearsal:
    question = FrequencyQuestion(value="vote", categories=["a", "b", "c"], **options)
    return rehearse(question, question.open(VOTES), Price(epsilon), draws=200)


def test_the_error_falls_as_epsilon_grows():
    """P(c wins or b wins) is far from 0 at a small ε and below 1e-8 at a large one."""
    few = rehearsed("0.01")
    assert 0.3 < few.error < 0.9
    assert rehearsed("5").error == 0
    assert few.error == pytest.approx(sum(each != "a" for each in few.answers) / 200)
    assert "was right" in few.sentence


def test_several_names_count_by_their_share():
    best_two = rehearsed("0.02", k=2)
    assert set(best_two.errors) <= {0.0, 0.5, 1.0}
    assert 0 < best_two.error < 1


def test_numbers_count_by_their_distance():
    """Of a question whose answer is a number."""

    class Count(FrequencyQuestion):
        def shape(self):
            return "value"

        def method(self, source, schema, price):
            method = super().method(source, schema, price)

            class Counted:
                cost, accuracy, leaks = method.cost, method.accuracy, method.leaks

                def draw(self, source, epsilon, entropy):
                    from dataclasses import replace

                    return replace(
                        method.draw(source, epsilon, entropy), answer=7 if epsilon < 100 else 4
                    )

            return Counted()

    question = Count(value="vote", categories=["a", "b", "c"])
    made = rehearse(question, question.open(VOTES), Price(1), draws=3)
    assert (made.errors, made.numeric) == ([3.0, 3.0, 3.0], True)
    assert "off by 3 on average" in made.sentence
