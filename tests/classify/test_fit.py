"""What a fit takes, and what each error says.  Its order: `tests/contracts`."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from dampen.core.sampling import InsecureEntropy
from dampen.errors import DataError, ParameterError, PrivacyLeakWarning
from dampen.questions.classify import (
    Bins,
    Categories,
    Classifier,
    NaiveBayesClassifier,
    TreeClassifier,
    TreeRegressor,
    bins,
)
from dampen.questions.classify.encoding import as_domain
from leaks import NUMBER

PUBLIC = {"domains": [3, bins(0, 10, 5)], "classes": ["a", "b"], "max_rows": 100}
X = np.column_stack([np.arange(60) % 3, np.arange(60) % 10]).astype(float)
Y = np.where(X[:, 0] == 1, "b", "a")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": None}, "epsilon= or rho="),
        ({"epsilon": 0}, "epsilon > 0"),
        ({"max_depth": -1}, "max_depth to be an integer >= 0"),
        ({"max_depth": 99}, "max_depth <= 16"),
        ({"classes": ["a"]}, "at least two classes"),
        ({"classes": ["a", "a"]}, "different"),
        ({"max_rows": 0}, "max_rows"),
        ({"domains": {"x7": 3}}, "'x7'"),
        ({"domains": [3]}, "one domain per column"),
        ({"domains": [3, 1.5]}, "domain of x1"),
        ({"entropy": InsecureEntropy(1)}, "secure entropy"),
    ],
)
def test_wrong_parameters_are_explained(change, message):
    with pytest.raises(ParameterError, match=message):
        TreeClassifier(**{"epsilon": "1", **PUBLIC, **change}).fit(X, Y)


class Counting:
    """A budget that counts what it is asked for."""

    def __init__(self):
        self.charges = 0

    def charge(self, _):
        self.charges += 1


MANY_DIGITS = Fraction(10**56 + 1, 10**57 + 3)


@pytest.mark.parametrize(
    ("make", "epsilon", "options", "message"),
    [
        (TreeClassifier, MANY_DIGITS, {"max_depth": 2}, "40 digits"),
        (Classifier, MANY_DIGITS, {"domains": None, "max_rows": None}, "40 digits"),
        (NaiveBayesClassifier, MANY_DIGITS, {}, "40 digits"),
        (TreeRegressor, "1e-12", {}, "larger epsilon"),
        (TreeClassifier, "1e-12", {"probabilities": True}, "larger epsilon"),
        (NaiveBayesClassifier, "1e-12", {}, "epsilon >= 2"),
    ],
)
def test_an_epsilon_whose_parts_cannot_be_spent_is_refused_before_the_charge(
    make, epsilon, options, message
):
    budget = Counting()
    public = {**PUBLIC, **options}
    if make is TreeRegressor:
        public = {**public, "lower": 0, "upper": 1}
        del public["classes"]
    model = make(epsilon, **public, budget=budget)
    with pytest.raises(ParameterError, match=message):
        model.fit(X, Y)
    assert budget.charges == 0


def test_parts_of_an_epsilon_of_forty_digits_can_be_spent():
    """Columns to be found, probabilities, levels: what divides ε most."""
    rows = {f"c{i}": X[:, i % 2] for i in range(13)} | {"text": Y}
    epsilon = Fraction(10**39 + 1, 10**39 + 3)
    model = TreeClassifier(
        epsilon, classes=["a", "b"], max_depth=7, probabilities=True, delta="1e-6"
    )
    again = TreeClassifier.from_json(model.fit(rows, Y).to_json())
    assert sum(charge.epsilon for charge in again.plan_.charges) == epsilon


@pytest.mark.parametrize("make", [TreeClassifier, NaiveBayesClassifier, Classifier])
@pytest.mark.parametrize(
    "rows",
    [X, X.tolist(), pd.DataFrame(X), pl.DataFrame(X), {"x0": X[:, 0], "x1": X[:, 1]}],
    ids=["array", "lists", "pandas", "polars", "columns"],
)
@pytest.mark.parametrize(
    "classes",
    [Y[:-3], Y[:-3, None], Y[:-3].tolist(), pd.Series(Y[:-3]), pd.DataFrame(Y[:-3]), []],
    ids=["array", "column of an array", "list", "series", "frame", "empty"],
)
def test_a_wrong_number_of_classes_is_refused_before_the_charge(make, rows, classes):
    account = Account()
    with pytest.raises(
        ParameterError, match="X and y have inconsistent numbers of samples"
    ) as told:
        make("1", **PUBLIC, budget=account).fit(rows, classes)
    assert "fit_table(table, target=...)" in str(told.value)
    assert not any(letter.isdigit() for letter in str(told.value))
    assert account.charges == []


def test_a_wrong_number_of_persons_is_refused_before_the_charge():
    account = Account()
    with pytest.raises(ParameterError, match="X and unit= have inconsistent numbers of samples"):
        TreeClassifier("1", **PUBLIC, budget=account).fit(X, Y, unit=list(range(59)))
    assert account.charges == []


FRAME = pd.DataFrame({"patient": np.arange(60) // 2, "x0": X[:, 0], "x1": X[:, 1]})


@pytest.mark.parametrize("make", [TreeClassifier, NaiveBayesClassifier, Classifier])
@pytest.mark.parametrize(
    "rows",
    [FRAME, pl.from_pandas(FRAME), {name: FRAME[name].tolist() for name in FRAME}],
    ids=["pandas", "polars", "columns"],
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_persons_may_be_a_column_of_the_rows(make, rows):
    """The model that the column itself gives: it is not predicted from."""
    facts = {**PUBLIC, "entropy": InsecureEntropy(3, allow_release=True)}
    model = make("500", **facts).fit(rows, Y, unit="patient", rows_per_unit=2)
    assert model.release_.protects == "one patient, with all their rows"
    assert model.feature_names_in_.tolist() == ["x0", "x1"]
    beside = make("500", **facts).fit(
        FRAME[["x0", "x1"]], Y, unit=FRAME["patient"], rows_per_unit=2
    )
    assert model.release_.answer == beside.release_.answer
    assert (model.predict(FRAME[["x0", "x1"]]) == Y).mean() > 0.9


@pytest.mark.parametrize(
    ("rows", "unit", "message"),
    [
        (FRAME, "patiant", r"X has no column 'patiant'\. Did you mean 'patient'\?"),
        (X, "patient", r"unit=stays\['patient'\].*X has no names of columns"),
        (FRAME, 3, r"a column with one id of a person per row.*got an int"),
        (FRAME[["patient"]], "patient", "0 feature"),
        (FRAME.rename(columns={"patient": "row"}), "row", "rename the column"),
        (FRAME.rename(columns={"patient": ""}), "", "X has no column ''"),
    ],
)
def test_messages_say_what_the_unit_of_a_fit_is(rows, unit, message):
    with pytest.raises(ParameterError, match=message):
        TreeClassifier("1", classes=["a", "b"]).fit(rows, Y, unit=unit)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ((0, 110), r"dampen\.bins\(0, 110\).*the list \[0, 110\]"),
        ((0, 1), r"dampen\.bins\(0, 1\).*the list \[0, 1\]"),
        ((2**70, 0), r"dampen\.bins\(0, 1180591620717411303424\)"),
        ((np.float64(0.5), np.int64(-2)), r"dampen\.bins\(-2, 0\.5\).*the list \[0\.5, -2\]"),
    ],
)
def test_a_pair_of_numbers_is_no_domain(pair, message):
    account = Account()
    for domains in ([3, pair], {"x1": pair}):
        given = {**PUBLIC, "domains": domains, "budget": account}
        with pytest.raises(ParameterError, match=message):
            TreeClassifier("1", **given).fit({"x0": X[:, 0], "x1": X[:, 1]}, Y)
    assert account.charges == []


@pytest.mark.parametrize(
    "domain", [[0, 1], ("a", "b"), (0, 1, 2), (0,), (True, False), (0, None), (2**70, "x")], ids=str
)
def test_lists_and_other_tuples_are_categories(domain):
    assert as_domain(domain, "x") == Categories(tuple(domain))


@pytest.mark.parametrize(
    ("rows", "classes", "message"),
    [
        (X[:, 0], Y, "2D array"),
        (X[None], Y, "2D array"),
        ("rows.csv", Y, "fit_table"),
        (iter(X), Y, "fit_table"),
        ({1, 2}, Y, "fit_table"),
        (None, Y, "fit_table"),
        (pl.LazyFrame(X), Y, "fit_table"),
        (pa.table({"a": [1.0]}).to_reader(), Y, "fit_table"),
        (scipy.sparse.csr_array(X), Y, "dense"),
        (scipy.sparse.dok_array(X), Y, "dense"),
        (X + 1j, Y, "Complex"),
        (X[:, :0], Y, "0 feature"),
        (X, None, "requires y"),
        (X, "abc", "a column"),
        (X, iter(Y), "a column"),
        (X, pl.LazyFrame({"y": Y}), "a column"),
        (X, set(Y), "a column"),
        (X, 3, "a column"),
        (X, np.column_stack([Y, Y]), "a column"),
    ],
)
def test_objects_other_than_tables_are_refused(rows, classes, message):
    with pytest.raises(ParameterError, match=message):
        TreeClassifier("1", **PUBLIC).fit(rows, classes)


class Account:
    def __init__(self):
        self.charges = []

    def charge(self, cost, /):
        self.charges.append(cost.epsilon)


@pytest.mark.parametrize("make", [TreeClassifier, NaiveBayesClassifier, Classifier])
@pytest.mark.parametrize(
    "pairs",
    [
        (([], []), ([[0, 1.0]], ["a"])),
        (((), ()), (((0, 1.0),), ("a",))),
        ((X[:0], []), (X[:1], ["a"])),
        (({"x0": [], "x1": []}, []), ({"x0": [0], "x1": [1.0]}, ["a"])),
    ],
    ids=["lists", "tuples", "arrays", "columns"],
)
def test_the_charge_does_not_depend_on_the_number_of_rows(make, pairs):
    account = Account()
    for rows, classes in pairs:
        make("1", **PUBLIC, budget=account).fit(rows, classes)
    assert account.charges == [1, 1]


def test_a_list_does_not_say_how_many_columns_it_has():
    """Its first row would, and no row is looked at before the charge."""
    account = Account()
    given = {**PUBLIC, "domains": {"x0": 3}, "budget": account}
    for rows, classes in (([], []), ([[0, 1.0]], ["a"])):
        with pytest.raises(ParameterError, match="one domain per column for rows in a list"):
            TreeClassifier("1", **given).fit(rows, classes)
    assert account.charges == []


def test_no_rows_are_charged_for_where_all_is_taken_from_the_data():
    account = Account()
    for rows, classes in (([], []), ([[0, 1.0]], ["a"]), ([0], ["a"])):
        with pytest.warns(PrivacyLeakWarning), pytest.raises(DataError):
            TreeClassifier("1", public="data", budget=account).fit(rows, classes)
    assert account.charges == [1, 1, 1]


SECRET = "Ms Secret"


@pytest.mark.parametrize("make", [TreeClassifier, NaiveBayesClassifier, Classifier])
@pytest.mark.parametrize("kind", ["columns", "pandas", "polars", "arrow", "records", "array"])
def test_predict_takes_what_fit_takes(make, kind):
    columns = {"x0": X[:, 0].astype(int), "x1": X[:, 1]}
    rows = {
        "columns": {name: column.tolist() for name, column in columns.items()},
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "arrow": pa.table(columns),
        "records": pd.DataFrame(columns).to_records(index=False),
        "array": X,
    }[kind]
    model = make("500", **PUBLIC).fit(rows, Y)
    assert (model.predict(rows) == Y).mean() > 0.9
    assert model.predict_proba(rows).shape == (60, 2)
    assert hasattr(model, "feature_names_in_") == (kind != "array")


@pytest.mark.parametrize(
    "rows",
    [
        {"x0": [SECRET], "other": [SECRET]},
        [SECRET, SECRET],
        np.array([SECRET, SECRET]),
        [[SECRET], [SECRET, SECRET]],
        [[SECRET]],
        [[0, SECRET]],
        {SECRET},
        pd.DataFrame({"x0": [0], "x1": [SECRET]}),
        {"x0": [0], "x1": [SECRET]},
        pl.LazyFrame({"x0": [SECRET], "x1": [SECRET]}),
    ],
    ids=range(10),
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("make", [TreeClassifier, NaiveBayesClassifier, Classifier])
def test_no_error_of_a_prediction_quotes_rows(make, rows):
    model = make("1", **PUBLIC).fit({"x0": [0], "x1": [1.0]}, ["a"])
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        model.predict(rows)
    assert SECRET not in str(caught.value)
    assert SECRET not in str(caught.value.__cause__)
    assert SECRET not in str(caught.value.__context__)


def test_no_rows_give_a_tree():
    """The empty table is a neighbour of every table of one row."""
    for rows in (X, pd.DataFrame(X, columns=["a", "b"])):
        tree = TreeClassifier("1", **PUBLIC).fit(rows[:0], [])
        assert set(tree.predict(rows)) <= {"a", "b"}


def test_classes_come_back_as_they_are():
    rows = [[0, 1.0], [1, 2.0], [0, 3.0]] * 20
    for classes in (["a", 1], [(0, 1), (1, 0)], [True, "x"], ["(missing)", "x"], [2**70, 0]):
        y = [classes[0], classes[1], classes[0]] * 20
        tree = TreeClassifier("500", max_depth=1, **{**PUBLIC, "classes": classes}).fit(rows, y)
        assert tree.predict(rows).tolist() == y


def test_names_of_an_undeclared_header_are_not_taken_for_attributes(tmp_path):
    (tmp_path / "t.csv").write_text(f"{NUMBER},yes\n18,no\n19,yes\n")
    with pytest.raises(ParameterError, match="header=True") as caught:
        TreeClassifier("1", classes=[0, 1]).fit_table(tmp_path / "t.csv", target="yes")
    assert str(NUMBER) not in str(caught.value)


def test_too_many_categories_in_the_data_are_not_counted_out():
    rows = pd.DataFrame({"a": [f"v{i}" for i in range(40_000)]})
    with pytest.warns(PrivacyLeakWarning), pytest.raises(DataError) as caught:
        TreeClassifier("1", public="data").fit(rows, np.arange(40_000) % 2)
    assert "40" not in str(caught.value)


@pytest.mark.parametrize("values", [[1e16, 1e16 + 2], [-1.7e308, 1.7e308], [5e-324, 0.0], [3, 3]])
def test_any_range_in_the_data_gives_bins(values):
    with pytest.warns(PrivacyLeakWarning):
        tree = TreeClassifier("1", public="data").fit(np.array([values]).T, [0, 1])
    assert len(tree.domains_[0]) >= 1


def test_one_class_in_the_data_alone():
    with (
        pytest.warns(PrivacyLeakWarning, match="classes"),
        pytest.raises(DataError, match="one class"),
    ):
        TreeClassifier("1", domains=PUBLIC["domains"], public="data", max_rows=100).fit(
            X, ["a"] * 60
        )


@pytest.mark.parametrize(
    ("missing", "name"),
    [
        ({"domains": None}, "domain of x0"),
        ({"domains": {"x0": 3}}, "domain of x1"),
        ({"classes": None}, "list of classes"),
        ({"max_rows": None}, "number of rows"),
    ],
)
def test_facts_taken_from_the_data_are_named(missing, name):
    with pytest.warns(PrivacyLeakWarning) as caught:
        TreeClassifier("1", public="data", **{**PUBLIC, **missing}).fit(X, Y)
    assert any(name in str(w.message) for w in caught)


def test_unseen_values_go_to_the_stated_branch():
    """Numbers beyond the edges to the end bins, categories not listed to the last one."""
    y = np.where(X[:, 0] == 2, "b", "a")
    tree = TreeClassifier("1000", max_depth=2, **PUBLIC).fit(X, y)
    assert tree.predict([[99, -50.0], [2, 0.0]]).tolist() == ["b", "b"]
    assert tree.predict([[0, 1e9], [0, 9.0]]).tolist() == ["a", "a"]


def test_domains_encode_as_they_say():
    assert bins(0, 10, 5).encode([-1, 0, 1.99, 2, 9.9, 10, 99]).tolist() == [0, 0, 0, 1, 4, 4, 4]
    assert Categories(["x", "y"]).encode(np.array(["y", "z", "x"])).tolist() == [1, -1, 0]
    assert Categories(range(3)).encode(np.array([2, 3, -1])).tolist() == [2, -1, -1]
    assert Categories(range(3)).encode(np.array([2, 3, 255], dtype=np.uint8)).tolist() == [
        2,
        -1,
        -1,
    ]
    assert Categories([1.5, 2]).encode(np.array([2.0, 1.5])).tolist() == [1, 0]
    assert Categories(["x", 7]).encode(np.array([7, "x", None], dtype=object)).tolist() == [
        1,
        0,
        -1,
    ]
    for edges in ([1], [1, 1], [2, 1], [0, np.inf], ["a", "b"], [[1, 2]], 5, "12", [10**400, 1]):
        with pytest.raises(ParameterError, match="bin edges"):
            Bins(edges)
    for low, high, count in ((0, 0, 3), (0, np.inf, 3), ("a", 1, 3), (0, 1, 0), (0, 1, 10**9)):
        with pytest.raises(ParameterError, match="Expected"):
            bins(low, high, count)
