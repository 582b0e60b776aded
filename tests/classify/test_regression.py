"""Trees of numbers: `dampen.TreeRegressor`, its law, and its exact privacy loss."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dampen.core.sampling import InsecureEntropy
from dampen.questions.classify import TreeRegressor

SEEDED = InsecureEntropy(5, allow_release=True)


@pytest.mark.filterwarnings("ignore::dampen.errors.PrivacyLeakWarning")
@parametrize_with_checks([TreeRegressor(epsilon=10_000, public="data", entropy=SEEDED)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
