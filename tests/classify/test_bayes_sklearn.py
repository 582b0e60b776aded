"""Naive Bayes as scikit-learn sees it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from dampen.core.sampling import InsecureEntropy
from dampen.questions.classify import NaiveBayesClassifier


@pytest.mark.filterwarnings("ignore::dampen.errors.PrivacyLeakWarning")
@parametrize_with_checks(
    [
        NaiveBayesClassifier(
            epsilon=10_000, public="data", entropy=InsecureEntropy(5, allow_release=True)
        )
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class Account:
    def __init__(self):
        self.charges = []

    def charge(self, cost, /):
        self.charges.append(float(cost.epsilon))


def test_every_fit_is_charged_and_clones_share_the_budget():
    X, y = np.arange(90).reshape(-1, 1) % 3, np.arange(90) % 3
    account = Account()
    model = NaiveBayesClassifier("20", domains=[3], classes=[0, 1, 2], budget=account)
    assert cross_val_score(model, X, y, cv=3).mean() == 1
    assert account.charges == [20.0] * 3
    assert clone(model).budget is account
    GridSearchCV(model, {"classes": [[0, 1, 2], [2, 1, 0]]}, cv=2).fit(X, y)
    assert account.charges == [20.0] * 8
