"""scikit-learn for real: its own checks, pipelines, searches, DataFrames."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dampen.sampling import InsecureSource
from dampen.trees import TreeClassifier, bins, paper_tree

SEEDED = InsecureSource(5, allow_release=True)


@pytest.mark.filterwarnings("ignore::dampen.errors.PrivacyLeakWarning")
@parametrize_with_checks(
    [
        TreeClassifier(epsilon=10_000, max_depth=5, source=SEEDED),
        paper_tree("ShiftedLocalDiffPID3", epsilon=100_000, max_depth=3, source=SEEDED),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
