"""The paper's experiment: 4096 bin counts as the database.  Needs its data (DAMPEN_DATA)."""

import os
from pathlib import Path

import numpy as np
import pytest

from dampen.core.error_analysis import expected_error
from dampen.paper.percentile_selection import NEAR, PercentileLabel
from dampen.questions.percentile.record import label_mechanism

EPSILONS = np.logspace(-1, 2, 30)
REDUCTION = {"PATENT": (45, 53, 60), "HEPTH": (12, 53, 74), "INCOME": (4, 3, 4)}
CASES = [(name, p, r) for name, row in REDUCTION.items() for p, r in zip((50, 90, 99), row)]  # noqa: B905


def counts(name):
    if "DAMPEN_DATA" not in os.environ:
        pytest.skip("DAMPEN_DATA does not say where the paper's data is")
    return np.load(Path(os.environ["DAMPEN_DATA"]) / "histograms" / f"{name}.n4096.npy")


@pytest.mark.parametrize(("name", "p", "reduction"), CASES)
def test_local_dampening_reduces_the_expected_error_as_in_the_paper(name, p, reduction):
    x = counts(name)
    s = PercentileLabel(n=len(x), p=p, upper=int(x.max())).selection(x)
    ratio = [
        expected_error(s, epsilon=e, mechanism="ld") / expected_error(s, epsilon=e, mechanism="em")
        for e in EPSILONS
    ]
    assert 100 * (1 - min(ratio)) == pytest.approx(reduction, abs=1)


@pytest.mark.parametrize(("name", "p", "reduction"), CASES)
def test_the_default_is_never_much_worse_and_often_much_better(name, p, reduction):
    x = counts(name)
    bound = int(x.max())
    s = PercentileLabel(n=len(x), p=p, upper=bound, horizon=NEAR).selection(x)
    default = label_mechanism(0, bound)
    ratio = [
        expected_error(s, epsilon=e, mechanism=default)
        / expected_error(s, epsilon=e, mechanism="ld")
        for e in (1, 10, 30, 100)
    ]
    assert max(ratio) < 1.2
    assert ratio[-1] < 0.9
