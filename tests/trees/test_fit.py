"""The order of a fit: parameters, then the charge, then the data; and what each error says."""

from fractions import Fraction

import numpy as np
import pytest

from dampen.errors import BudgetError, DataError, ParameterError, PrivacyLeakWarning
from dampen.sampling import InsecureEntropy
from dampen.trees import Bins, Categories, TreeClassifier, bins


class Account:
    def __init__(self, limit=10):
        self.left, self.charges = Fraction(limit), []

    def charge(self, cost, /):
        epsilon, query, mechanism = cost.epsilon, cost.query, cost.mechanism
        neighbours = cost.neighbours
        if epsilon > self.left:
            raise BudgetError("Expected a charge within the budget.")
        self.left -= epsilon
        self.charges.append((epsilon, query, mechanism, str(neighbours)))


class Trap:
    """Data that must not be touched."""

    shape = (60, 2)

    def __array__(self, *args, **kwargs):
        raise AssertionError("the data was looked at")

    def __len__(self):
        raise AssertionError("the data was looked at")


PUBLIC = {"domains": [3, bins(0, 10, 5)], "classes": ["a", "b"], "max_rows": 100}
X = np.column_stack([np.arange(60) % 3, np.arange(60) % 10]).astype(float)
Y = np.where(X[:, 0] == 1, "b", "a")


def test_one_exact_charge_before_the_data():
    account = Account()
    TreeClassifier("0.1", budget=account, **PUBLIC).fit(X, Y)
    assert account.charges == [(Fraction(1, 10), "tree", "pf", "add-remove-row")]
    with pytest.raises(DataError, match=r"AssertionError.*stands"):
        TreeClassifier("0.2", budget=account, **PUBLIC).fit(Trap(), Y)
    assert len(account.charges) == 2  # the charge stands


def test_a_refused_charge_leaves_the_data_alone():
    with pytest.raises(BudgetError):
        TreeClassifier("11", budget=Account(), **PUBLIC).fit(Trap(), Y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": None}, "epsilon="),
        ({"epsilon": 0}, "epsilon > 0"),
        ({"max_depth": -1}, "max_depth to be an integer >= 0"),
        ({"max_depth": 99}, "max_depth <= 16"),
        ({"mechanism": "slt"}, "Did you mean 'sld'"),
        ({"mechanism": "joint"}, "mechanism to be one of"),
        ({"criterion": "entropy"}, "criterion to be one of"),
        ({"mechanism": "sulq", "criterion": "max"}, "information-gain"),
        ({"branching": "ternary"}, "branching to be one of"),
        ({"leaves": "noisy-count"}, "Did you mean 'noisy-counts'"),
        ({"shares": ["0.5", "0.4"]}, "add up to exactly 1, got 0.9"),
        ({"shares": ["0.5", "0.5"], "max_depth": 3}, "Expected 4 shares"),
        ({"classes": ["a"]}, "at least two classes"),
        ({"classes": ["a", "a"]}, "different"),
        ({"max_rows": 0}, "max_rows"),
        ({"domains": {"x7": 3}}, "'x7'"),
        ({"domains": [3]}, "one domain per column"),
        ({"domains": [3, 1.5]}, "domain of x1"),
        ({"entropy": InsecureEntropy(1)}, "secure entropy"),
        ({"branching": "multiway", "domains": [3000, 3000], "max_depth": 2}, "2\\^20 leaves"),
    ],
)
def test_public_parameters_come_first(change, message):
    account = Account()
    with pytest.raises(ParameterError, match=message):
        TreeClassifier(**{"epsilon": "1", "budget": account, **PUBLIC, **change}).fit(Trap(), Y)
    assert account.charges == []


@pytest.mark.parametrize(
    ("rows", "classes", "message"),
    [
        ([[0, 1.0], [7, 2.0]], ["a", "b"], "domain of x0"),
        ([[0, 1.0], [1, np.nan]], ["a", "b"], "NaN"),
        ([[0, 1.0], [1, 2.0]], ["a", "z"], "public classes"),
        ([[0, 1.0]] * 101, ["a"] * 101, "max_rows"),
        (np.array([[0, 1.0], [1, 2.0]]), np.array(["a"]), "as many classes"),
    ],
)
def test_data_errors_name_the_column_and_nothing_private(rows, classes, message):
    account = Account()
    with pytest.raises(ValueError, match=message) as error:
        TreeClassifier("1", budget=account, **PUBLIC).fit(rows, classes)
    assert len(account.charges) == 1
    assert not any(word in str(error.value) for word in ("7", "101", "'z'"))


def test_one_class_in_the_data_alone():
    with (
        pytest.warns(PrivacyLeakWarning, match="classes"),
        pytest.raises(DataError, match="one class"),
    ):
        TreeClassifier("1", domains=PUBLIC["domains"], max_rows=100).fit(X, ["a"] * 60)


@pytest.mark.parametrize(
    ("missing", "name"),
    [
        ({"domains": None}, "domain of x0"),
        ({"domains": {"x0": 3}}, "domain of x1"),
        ({"classes": None}, "list of classes"),
        ({"max_rows": None}, "number of rows"),
    ],
)
def test_what_is_taken_from_the_data_is_named(missing, name):
    with pytest.warns(PrivacyLeakWarning) as caught:
        TreeClassifier("1", **{**PUBLIC, **missing}).fit(X, Y)
    assert any(name in str(w.message) for w in caught)


def test_unseen_values_go_to_the_stated_branch():
    """Numbers beyond the edges to the end bins, categories not listed to the last one."""
    y = np.where(X[:, 0] == 2, "b", "a")
    tree = TreeClassifier("1000", max_depth=2, criterion="max", **PUBLIC).fit(X, y)
    assert tree.predict([[99, -50.0], [2, 0.0]]).tolist() == ["b", "b"]
    assert tree.predict([[0, 1e9], [0, 9.0]]).tolist() == ["a", "a"]


def test_domains_encode_as_they_say():
    assert bins(0, 10, 5).encode([-1, 0, 1.99, 2, 9.9, 10, 99]).tolist() == [0, 0, 0, 1, 4, 4, 4]
    assert Categories(["x", "y"]).encode(np.array(["y", "z", "x"])).tolist() == [1, -1, 0]
    assert Categories(range(3)).encode(np.array([2, 3, -1])).tolist() == [2, -1, -1]
    assert Categories([1.5, 2]).encode(np.array([2.0, 1.5])).tolist() == [1, 0]
    assert Categories(["x", 7]).encode(np.array([7, "x", None], dtype=object)).tolist() == [
        1,
        0,
        -1,
    ]
    for edges in ([1], [1, 1], [2, 1], [0, np.inf]):
        with pytest.raises(ParameterError, match="bin edges"):
            Bins(edges)


@pytest.mark.parametrize("mechanism", ["em", "ld", "sld", "sulq"])
def test_the_template_of_the_paper(mechanism):
    """One branch per value, a noisy count per node, ε / (2 (d + 1)) for each query."""
    tree = TreeClassifier(
        epsilon="1000",
        max_depth=2,
        mechanism=mechanism,
        criterion="information-gain",
        branching="multiway",
        stopping=True,
        leaves="noisy-counts",
        **PUBLIC,
    ).fit(X, Y)
    assert tree.score(X, Y) == 1.0
    assert {c.epsilon for c in tree.plan_.charges()} == {Fraction(1000, 6)}
    assert tree.tree_.counts is not None
