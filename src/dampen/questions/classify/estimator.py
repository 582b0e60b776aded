"""Private classifiers, and a regressor, as scikit-learn estimators.

- `TreeClassifier`, `TreeRegressor`, `NaiveBayesClassifier`, `Classifier`: the estimators.
- `Supervised`, `query_columns`: X and y as scikit-learn takes them, opened before the charge and
  read after it; and rows to predict.

One shell does what all of them do: `fit` asks a question through `dampen.releases.answer` and takes
over the model that was released; `from_json` takes over one that was released before.  Nothing else
of a fit is kept, so that a model that was read back is the model that was fitted.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from dampen.core.sampling import Entropy, fresh
from dampen.core.selection import FloatArray, IntArray
from dampen.data.cells import check_labels
from dampen.data.memory import (
    COLUMNS,
    TABLES,
    MemoryTable,
    StreamTable,
    as_chunk,
    field_of,
    is_column,
    offers,
    open_memory,
)
from dampen.data.open import open_table
from dampen.data.source import Batch, CellOf, Chunk, Field, Kind, counted
from dampen.epsilon import Epsilon
from dampen.errors import DataError, ParameterError, a_thing, did_you_mean, raise_alone
from dampen.printing import printable
from dampen.questions.classify import model
from dampen.questions.classify.encoding import encode_queries
from dampen.questions.classify.found import SearchPlan
from dampen.questions.classify.model import (
    BayesModel,
    BayesPlan,
    Model,
    NoisyTables,
    RegressionModel,
    Tree,
    TreeModel,
    model_of,
    read_release,
)
from dampen.questions.classify.plan import TreeFacts, TreePlan
from dampen.questions.classify.question import (
    BayesQuestion,
    ClassifierQuestion,
    RegressionQuestion,
    TreeQuestion,
    predictions,
)
from dampen.releases.answer import answer
from dampen.releases.cost import Budget, Price
from dampen.releases.question import parameters
from dampen.releases.release import Release
from dampen.releases.units import persons
from dampen.schema.schema import Schema

__all__ = [
    "PERSON",
    "TARGET",
    "Classifier",
    "NaiveBayesClassifier",
    "PrivateClassifier",
    "PrivateModel",
    "Supervised",
    "TreeClassifier",
    "TreeRegressor",
    "query_columns",
]


TARGET = "y="
"""The name of the classes beside the columns of X."""
PERSON = "person="
"""The name of the ids of persons beside the columns of X."""
UNIT_EXPECTED = (
    "Expected unit= to be a column with one id of a person per row, such as unit=stays['patient'], "
    "or the name of a column of X"
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Supervised:
    """X and y as scikit-learn takes them, opened: their rows are looked at after the charge.

    What is public of X is its kind, its names, its types and its width.  How many rows there are is
    not, so nothing here depends on it before the charge.  A plain list does not say how many
    columns it has, and its first row is private; the number of columns is then that of `domains`,
    or taken from the data as well with `public="data"`, which is warned of.

    Attributes:
        X, y, unit: the private data; `unit` says whose row it is, if a person may have many.
        names: of the columns; `named` says whether X has them itself.
        person: the name of the column `unit`.
    """

    X: Any
    y: Any
    names: Sequence[str]
    named: bool
    fields: Sequence[Field]
    unit: Any = None
    person: str = PERSON
    title: str = "X and y"
    declared = True
    rows = None
    ordered = True
    streams = False

    @classmethod
    def open(
        cls, X: Any, y: Any, *, domains: Any, unit: Any = None, leaky: bool = False
    ) -> "Supervised":
        """Looks at the names, the types and the width of X alone.

        Args:
            X: a table in memory.
            y: a column.
            domains: of the columns, as the estimator has them.
            unit: a column that says whose row it is, or its name in X, or None.
            leaky: whether the width of a list may be taken from its rows.

        Raises:
            ParameterError: if X is not a table of at least one column in memory, or y or unit no
                column.
        """
        _check_y(y)
        table = open_memory(X)
        if isinstance(table, StreamTable):
            raise ParameterError(
                "Expected X in memory, got a table that is read in a stream. Use fit_table, which "
                "takes the target as one of its columns."
            )
        named = table is not None and _has_text_names(X)
        person = PERSON
        if isinstance(unit, str):
            person = unit
            X, unit = _without_person(table, person)
            table = X
        elif unit is not None and not is_column(unit):
            raise ParameterError(f"{UNIT_EXPECTED}; got {a_thing(unit)}.")
        if table is None:
            width = _width(X, domains, leaky=leaky)
            fields: Sequence[Field] = [field_of(f"x{i}", X) for i in range(width)]
        else:
            fields = table.fields
        if not fields:
            raise ParameterError(
                "Expected columns, got 0 feature(s) (shape=(, 0)) while a minimum of 1 is required."
            )
        names = [field.name for field in fields]
        beside = [Field(TARGET)] if unit is None else [Field(TARGET), Field(person)]
        return cls(X, y, names, named, [*fields, *beside], unit, person)

    def check_lengths(self) -> None:
        """Refuses columns that cannot belong together, before any charge; no row is looked at.

        Of two neighbouring data sets, both are of one length or neither is: whoever adds or removes
        a row does so in X, y and unit at once.  So the refusal says nothing of a row, and no number
        of rows is told.

        Raises:
            ParameterError: if y or unit has not one value for each row of X.
        """
        rows = _length(self.X)
        if _length(self.y) != rows:
            raise ParameterError(
                "X and y have inconsistent numbers of samples. Expected one class or number in y "
                "for each row of X, in the same order. Take both from one table, or pass the table "
                "to fit_table(table, target=...)."
            )
        if self.unit is not None and _length(self.unit) != rows:
            raise ParameterError(
                "X and unit= have inconsistent numbers of samples. Expected one id of a person for "
                "each row of X, in the same order. Take both from one table, or pass the table to "
                "fit_table(table, target=..., unit=...)."
            )

    def batches(self, wanted: Mapping[str, Kind], /) -> Iterator[Batch]:
        columns = _columns(self.X, self.names)
        beside = {TARGET: _only_column(self.y)}
        if self.unit is not None:
            beside[self.person] = self.unit
        yield from MemoryTable({**columns, **beside}).batches(wanted)

    def counts(self, wanted: Mapping[str, Kind], cell_of: CellOf, size: int, /) -> IntArray:
        return counted(self.batches(wanted), cell_of, size)


def query_columns(estimator: Any, X: Any, names: Sequence[str], *, missing: bool) -> list[Chunk]:
    """The columns of rows to predict, those of a table with their own types.

    Takes what `fit` takes.  No error quotes a row.

    Args:
        estimator: fitted; scikit-learn compares its names and number of columns.
        X: a table in memory.
        names: of the columns of the model.
        missing: whether any of them may be missing.

    Raises:
        ParameterError: if X is no table, or has other columns.
        DataError: if its rows are not of equal length, or numbers are not finite.
    """
    table = open_memory(X)
    if isinstance(table, StreamTable):
        raise ParameterError(
            "Expected X in memory, got a table that is read in a stream. Use predict_table."
        )
    if table is None:
        _check_rows(X)
        array = _array(X)
        _check_dimensions(array.ndim)
        _check_names(estimator, array)
        _check_finite(array, missing=missing)
        return list(array.T)
    if hasattr(X, "columns"):
        _check_names(estimator, X)
        return list(map(as_chunk, table.columns.values()))
    for name in names:
        if name not in table.columns:
            raise ParameterError(f"Expected a column {name!r} in X: the model predicts from it.")
    return [as_chunk(table.columns[name]) for name in names]


def _check_names(estimator: Any, X: Any) -> None:
    """scikit-learn's check of the names and the number of columns; a model may be somebody's."""
    from sklearn.utils.validation import validate_data

    try:
        validate_data(estimator, X, reset=False, skip_check_array=True)
    except ValueError as error:
        told = "\n".join(map(printable, str(error).split("\n")))
        raise_alone(ValueError(told))


def _has_text_names(X: Any) -> bool:
    """Whether the columns are named by text; a frame may number them."""
    labels = getattr(X, "columns", ()) if offers("pandas", "columns", "iloc")(X) else ()
    return all(isinstance(label, str) for label in labels)


def _without_person(table: MemoryTable | None, person: str) -> tuple[MemoryTable, Any]:
    """A table without one of its columns, and this column."""
    if table is None:
        raise ParameterError(f"{UNIT_EXPECTED}; X has no names of columns.")
    if not person or person not in table.columns:
        hint = did_you_mean(person, table.columns)
        raise ParameterError(f"{UNIT_EXPECTED}; X has no column {person!r}.{hint}")
    others = {name: column for name, column in table.columns.items() if name != person}
    return MemoryTable(others), table.columns[person]


def _length(data: Any) -> int:
    """How many rows a table or a column in memory has; they are not looked at."""
    table = None if is_column(data) else open_memory(data)
    if isinstance(table, MemoryTable):
        return table.rows
    return len(data) if isinstance(data, list | tuple) else _shape(data)[0]


def _check_y(y: Any) -> None:
    """A column, or what scikit-learn also takes for one: an array or a frame with one column."""
    if y is None:
        raise ParameterError(
            "Expected y, one class or number per row: this estimator requires y to be passed, but "
            "the target y is None."
        )
    frame = open_memory(y)
    one_column = isinstance(frame, MemoryTable) and len(frame.fields) == 1
    if not (is_column(y) or one_column or len(_shape(y)) == 1 or _shape(y)[1:] == (1,)):
        hint = f" To name a column, call fit_table(table, target={y!r})." if type(y) is str else ""
        raise ParameterError(f"Expected y to be a column: {COLUMNS}; got {a_thing(y)}.{hint}")


def _check_classes(classes: Any, y: Any) -> None:
    """Refuses classes of another type than that of y, of which no row could be one."""
    if isinstance(classes, list | tuple | np.ndarray) and is_column(y):
        field = field_of("y", y)
        check_labels(field, list(classes), "classes", where=f"in y, which holds {field.type}")


def _only_column(y: Any) -> Any:
    """The column that `_check_y` found, in its own type: an array of a table may have another."""
    from sklearn.utils.validation import column_or_1d

    table = None if is_column(y) else open_memory(y)
    if isinstance(table, MemoryTable):
        [column] = table.columns.values()
        return column
    return y if is_column(y) else column_or_1d(y, warn=True)


def _width(X: Any, domains: Any, *, leaky: bool) -> int:
    """How many columns there are, by what X says of itself, or by the public domains."""
    _check_rows(X)
    if isinstance(X, list | tuple):
        return _leaked_width(X) if leaky and domains is None else _declared_width(domains)
    shape = _shape(X)
    _check_dimensions(len(shape))
    return shape[1]


def _declared_width(domains: Any) -> int:
    if isinstance(domains, Mapping) or not isinstance(domains, Sequence):
        raise ParameterError(
            "Expected domains=[...] with one domain per column for rows in a list, which does not "
            "say how many columns it has. Or pass X as a numpy array or a DataFrame."
        )
    return len(domains)


def _leaked_width(X: Sequence[Any]) -> int:
    """The width of the first row, taken with the domains and a warning; 1 without rows."""
    first = X[0] if X else None
    return len(first) if isinstance(first, list | tuple | np.ndarray) else 1


def _check_rows(X: Any) -> None:
    """Refuses objects that are not tables of rows, by their type."""
    if offers("scipy", "tocoo")(X):
        raise ParameterError(
            "Expected a dense table, got a sparse matrix; sparse data is not supported. Use "
            "X.toarray()."
        )
    if isinstance(X, np.ndarray) and X.dtype.kind == "c":
        raise ParameterError("Expected numbers or text. Complex data not supported.")
    rows = isinstance(X, list | tuple | np.ndarray) or is_column(X)
    if not (rows or hasattr(type(X), "__array__")):
        raise ParameterError(
            f"Expected a table: an array with rows and columns, {TABLES}; got {a_thing(X)}. "
            "fit_table and predict_table take files and tables that are read in a stream."
        )


def _check_dimensions(dimensions: int) -> None:
    if dimensions != 2:
        raise ParameterError(
            f"Expected 2D array, rows and columns, got {dimensions} dimension(s) instead. Reshape "
            "your data."
        )


def _check_finite(array: Any, *, missing: bool) -> None:
    """Numbers of an array; NaN is fine where missing values are declared."""
    if array.dtype.kind != "f":
        return
    if np.isinf(array).any() or (not missing and np.isnan(array).any()):
        wanted = "or NaN for a missing value" if missing else "with no missing value"
        raise DataError(
            f"Expected finite numbers in X, {wanted}; some are NaN or infinite (inf). Replace them "
            "before you predict, as numpy.nan_to_num(X) does; or release a model that has a place "
            "for missing values, with dampen.bins(low, high, missing='own') as domains."
        )


def _shape(data: Any) -> tuple[int, ...]:
    """The shape of an array, of a column one number; empty for all else."""
    if isinstance(data, np.ndarray):
        return data.shape
    if hasattr(type(data), "__array__") and not is_column(data):
        # What scikit-learn takes for an array; one that does not say its shape lies in memory.
        return tuple(data.shape) if hasattr(data, "shape") else np.asarray(data).shape
    return (len(data),) if is_column(data) else ()


def _columns(X: Any, names: Sequence[str]) -> dict[str, Any]:
    table = open_memory(X)
    if isinstance(table, MemoryTable):
        return dict(table.columns)
    if isinstance(X, list | tuple):
        return _columns_of_rows(X, names)
    array = _array(X)
    return {name: array[:, i] for i, name in enumerate(names)}


def _columns_of_rows(X: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """The columns of a list of rows; a row of another length has no values.

    Cells stay the objects that they are.  In one array of all rows, a complex number or a date in
    one of them would change the type of all others.
    """
    absent = [None] * len(names)
    rows = [_row(row, len(names)) or absent for row in X]
    return {
        name: np.fromiter((row[i] for row in rows), dtype=object, count=len(rows))
        for i, name in enumerate(names)
    }


def _row(row: Any, width: int) -> list[Any] | None:
    """The cells of a row of a list; None unless it has so many."""
    if not isinstance(row, Sequence | np.ndarray) and not hasattr(type(row), "__array__"):
        return None
    with suppress(Exception):  # whatever an object does
        plain = isinstance(row, np.ndarray) and row.dtype.kind in "biufU"
        cells = [] if isinstance(row, str | bytes) else row.tolist() if plain else list(row)
        return cells if len(cells) == width else None
    return None


def _array(X: Any) -> Any:
    if isinstance(X, np.ndarray):
        return X
    try:
        array = np.asarray(X)
    except ValueError:
        raise_alone(DataError("Expected a table: rows of equal length."))
    if array.dtype.kind in "US":  # numbers beside text stay numbers
        array = np.array(X, dtype=object)
    return array


try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    raise ImportError(
        "Expected scikit-learn, whose estimators these are: pip install 'dampen[models]'. Without "
        "it dampen.dataset(...).tree(...) and `dampen tree` release the same models."
    ) from None

E = TypeVar("E", bound="PrivateModel")
C = TypeVar("C", bound="PrivateClassifier")
OF_TABLE = ("target", "columns", "where")
"""What of a question is stated with the table."""


class PrivateModel(BaseEstimator):  # type: ignore[misc]
    """A model that is made by asking a question; its parameters are those of the question.

    Attributes:
        release_: the model as it was released, with the public facts about it.
        model_: what predicts.
        domains_, n_features_in_, feature_names_in_: as in scikit-learn, or as given.
    """

    asks: ClassVar[Any]
    """The class of the question."""
    holds: ClassVar[tuple[type[Any], ...]]
    """The kinds of models that it can hold."""
    called: ClassVar[str]

    def fit(
        self: E, X: Any, y: Any, *, unit: Any = None, rows_per_unit: int = 1, **refused: Any
    ) -> E:
        """Releases a model: checks the parameters, charges the budget, then looks at the data.

        With `unit`, one id of a person per row, ε protects a person with all their rows: at most
        `rows_per_unit` rows of each, drawn at random, are used at ε / `rows_per_unit`.  It is a
        column beside X, or the name of a column of X; the model does not predict from that column,
        so leave it out of what is passed to `predict`.

        A `sample_weight` is refused: the noise is made for rows that count once.
        """
        refuse(refused)
        leaky = self.public == "data"
        source = Supervised.open(X, y, domains=self.domains, unit=unit, leaky=leaky)
        source.check_lengths()
        _check_classes(getattr(self, "classes", None), y)
        facts = persons({} if unit is None else {"unit": source.person}, rows_per_unit)
        return self._ask(self._question(TARGET, source.names), source, schema=facts)

    def fit_table(
        self: E,
        data: Any,
        *,
        target: str,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        unit: str | None = None,
        rows_per_unit: int = 1,
        header: bool = False,
        table: str | None = None,
    ) -> E:
        """Releases a model of a table: a DataFrame, lazy or not, or a file (see `dampen.data`).

        Args:
            data: the table.
            target: the name of its column of classes, or of numbers.
            columns: the columns to predict from; those that `domains` names if left out, or all
                others where it names none.
            where: a condition on every row; other rows are left out.
            unit: the name of the column that says whose row it is: ε then protects a person with
                all their rows.
            rows_per_unit: how many rows of a person are used at most, drawn at random.
            header: says that the first line of a text file surely holds the names of its columns.
            table: of a database file (DuckDB, SQLite), which table.
        """
        if unit is not None and columns is None and self.domains is None:
            raise ParameterError(
                "Pass domains= or columns= together with unit=. Otherwise the model would predict "
                "from the ids of persons."
            )
        question = self._question(target, columns, where)
        facts = persons({} if unit is None else {"unit": unit}, rows_per_unit)
        return self._ask(question, data, schema=facts, header=header, table=table)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class, or the number, of every row; X is whatever `fit` takes.

        A number beyond the outer bin edges counts as inside the end bin, a category that is not
        in its domain as the last one of it.
        """
        return self._model.answers(self._codes(X))

    def predict_table(
        self, data: Any, *, header: bool = False, table: str | None = None
    ) -> NDArray[Any]:
        """What `predict` tells, of a table that has columns of the names in the model."""
        return predictions(self._model, open_table(data, header=header, table=table))

    def plan(self, X: Any = None) -> TreePlan | BayesPlan | SearchPlan:
        """What a fit would do, before it is paid for; print it.  No row is read.

        Args:
            X: a table, of which the names and types of columns are looked at; needed where domains
                or the number of rows are to be found.

        Raises:
            ParameterError: if a public parameter is wrong or missing.
        """
        source = names = None
        if X is not None:
            source = Supervised.open(X, [], domains=self.domains, leaky=self.public == "data")
            names = source.names
        planned: TreePlan | BayesPlan | SearchPlan = self._question(TARGET, names).plan(
            Price(self.epsilon, self.rho), source
        )
        return planned

    def report(self) -> str:
        """What was released and what it cost, as text.  Nothing in it is private."""
        return model.report(self._model, self.release_)

    def to_json(self) -> str:
        """The release of the fitted model as one JSON object: all that prediction needs."""
        check_is_fitted(self)
        return self.release_.to_json()

    @classmethod
    def from_json(cls: type[E], text: str) -> E:
        """The fitted model that `to_json` wrote; it predicts without any data or budget."""
        release = read_release(text)
        return cls(epsilon=release.epsilon)._take(release)

    def _question(
        self, target: str, columns: Sequence[str] | None, where: str | None = None
    ) -> Any:
        own = [each.name for each in parameters(self.asks) if each.name not in OF_TABLE]
        given = {name: getattr(self, name) for name in own}
        return self.asks(target=target, columns=columns, where=where, **given)

    def _ask(
        self: E,
        question: Any,
        data: Any,
        *,
        schema: Schema | None = None,
        header: bool = False,
        table: str | None = None,
    ) -> E:
        release = answer(
            question,
            data,
            epsilon=self.epsilon,
            rho=self.rho,
            budget=self.budget,
            entropy=None if self.entropy is None else fresh(self.entropy),
            schema=schema,
            header=header,
            table=table,
        )
        return self._take(release)

    def _take(self: E, release: Release) -> E:
        """Becomes the model that was released.

        Raises:
            ParameterError: if the release is of something else.
        """
        model = model_of(release.answer)
        if not isinstance(model, self.holds):
            raise ParameterError(f"Expected the JSON of {self.called}, as to_json() writes it.")
        self.release_ = release
        self.model_: Model = model
        self.domains_ = list(model.columns.domains)
        self.n_features_in_ = len(self.domains_)
        if model.columns.features is not None:
            self.feature_names_in_ = np.array(model.columns.features, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    @property
    def _model(self) -> Model:
        check_is_fitted(self)
        return self.model_

    def _codes(self, X: Any) -> IntArray:
        """The rows to predict, in the codes of the public domains."""
        domains = self._model.columns.by_name
        missing = any(domain.holds_missing for domain in domains.values())
        return encode_queries(query_columns(self, X, list(domains), missing=missing), domains)

    def _repr_html_inner(self) -> str:
        if hasattr(self, "model_"):
            return model.html(self.model_, self.release_)
        return str(super()._repr_html_inner())

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_inner()}

    def __sklearn_tags__(self) -> Any:
        """The tags of a model with random fits that takes categories."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def __sklearn_clone__(self: E) -> E:
        """A clone shares budget and entropy: copies could be spent, or their noise repeated."""
        given = {
            name: value if name in ("budget", "entropy") else clone(value, safe=False)
            for name, value in self.get_params(deep=False).items()
        }
        return type(self)(**given)


class PrivateClassifier(ClassifierMixin, PrivateModel):  # type: ignore[misc]
    """A private model that predicts classes.

    Attributes:
        classes_: the public classes.
    """

    holds: ClassVar[tuple[type[Any], ...]] = (TreeModel, BayesModel)
    called = "a tree or a naive Bayes"
    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> FloatArray:
        """P(class | row).

        Of a tree, zeros and a one: its leaves release a class and no more.  With
        `probabilities=True`, those of its noisy leaves mixed with those of naive Bayes; `predict`
        is then the likeliest class.

        Of naive Bayes, (n_c Π_a P(v_a | c)) to the power 1/√m, for m attributes: without the power,
        naive Bayes counts what attributes say together several times over and noise as well, and is
        far too sure.  The power is public and leaves the order of classes, and so `predict`, as it
        is.  Where attributes are independent given the class it makes probabilities too cautious.
        """
        model = self._model
        assert not isinstance(model, RegressionModel)
        return model.chances(self._codes(X))

    def _take(self: C, release: Release) -> C:
        taken = super()._take(release)
        taken.classes_ = taken.model_.columns.classes
        return taken


class OneTree:
    """What is known of a model that is one tree."""

    _model: Any

    @property
    def tree_(self) -> Tree:
        """The released tree."""
        return self._model.tree

    @property
    def plan_(self) -> TreeFacts:
        """The public facts of the fit, its budget among them."""
        return self._model.facts

    def get_depth(self) -> int:
        """The levels of splits of the released tree, which may be fewer than planned."""
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """The leaves of the released tree."""
        return len(self.tree_.leaves)


class TreeClassifier(OneTree, PrivateClassifier):
    """A decision tree that is ε-differentially private for adding or removing one row.

    Guarantee: `fit` releases one tree and spends ε in all, exactly, and δ where categories get
    names.  `domains` and `max_rows` that are left out are found privately, with a part of ε
    (`dampen.questions.classify.found` has the proof, `plan` the shares).  Every `fit` is a release
    of its own, also that of a clone inside cross-validation or a grid search, and is charged to
    `budget`.  Scores on private test data are not private.

    The default is the most accurate configuration we know: two branches per node; some levels by
    one-sided permute-and-flip and the criterion `tsallis`, then several levels and the classes of
    the leaves by one release; 1.3 times as much of ε for a stage as for the one above it.  Splits
    whose leaves agree are taken back.  The paper's trees are in `dampen.paper.id3`.

    Args:
        epsilon: the privacy parameter of one fit; required, unless ρ is given.
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        max_depth: levels of splits, each selected by itself; None chooses stages from ε and the
            public sizes (see `plan`).
        stages: in place of it, the levels that each stage decides, 1 but for the last: (1, 1, 4)
            selects two levels, then up to four together with the classes, by one release.
        probabilities: whether parts of ε buy them, for `predict_proba`; see `plan`.
        classes: the public classes; required.
        domains: per column the public `dampen.bins(...)`, a list of categories or a number of
            integer codes; by column name, or in column order.  Those of other columns are found
            privately.
        max_rows: a public upper bound on the number of rows, which are counted privately else.
        delta: the probability with which ε may fail, such as "1e-6"; frequent categories that
            nobody listed then have names in the model.  Not needed, and not charged, where no
            column can hold text.
        public: "data" takes what is not stated from the data, with a `PrivacyLeakWarning`.
        budget: an account to charge ε to, before the data is looked at.
        entropy: of random bits; the operating system's by default.  An `InsecureEntropy` starts
            anew at every fit, so that equal fits give equal trees.

    Attributes:
        tree_: the released tree.
        plan_: the public facts of the fit, its budget among them.
        model_, release_: what predicts, and what was released.
        classes_, domains_, n_features_in_, feature_names_in_: as in scikit-learn, or as given.
    """

    asks = TreeQuestion
    holds = (TreeModel,)
    called = "a tree"

    def __init__(
        self,
        epsilon: Epsilon | None = None,
        *,
        rho: Epsilon | None = None,
        max_depth: int | None = None,
        stages: Sequence[int] | None = None,
        probabilities: bool = False,
        domains: Mapping[str, Any] | Sequence[Any] | None = None,
        classes: Sequence[Hashable] | None = None,
        max_rows: int | None = None,
        delta: Epsilon | None = None,
        public: Literal["data"] | None = None,
        budget: Budget | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.rho = rho
        self.max_depth = max_depth
        self.stages = stages
        self.probabilities = probabilities
        self.domains = domains
        self.classes = classes
        self.max_rows = max_rows
        self.delta = delta
        self.public = public
        self.budget = budget
        self.entropy = entropy


class TreeRegressor(OneTree, RegressorMixin, PrivateModel):  # type: ignore[misc]
    """A regression tree that is ε-differentially private for adding or removing one row.

    Guarantee: `fit` releases one tree and spends ε in all, exactly, and δ where categories get
    names.  `domains` and `max_rows` that are left out are found privately, with a part of ε.
    Every `fit` is a release of its own, also that of a clone inside cross-validation or a grid
    search, and is charged to `budget`.  Scores on private test data are not private.

    It is grown as `TreeClassifier` is, on equal steps between the public ends of the target; a
    fifth of ε buys noisy sums of the leaves, from which their means are made.  Numbers beyond the
    ends count as the ends.  The closer the ends, the smaller noise and steps are.

    Args:
        epsilon: the privacy parameter of one fit; required, unless ρ is given.
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        lower: the public lower end of the target; required.
        upper: its public upper end; required.
        max_depth: levels of splits, each selected by itself; None chooses stages from ε and the
            public sizes (see `plan`).
        domains: per column the public `dampen.bins(...)`, a list of categories or a number of
            integer codes; by column name, or in column order.  Those of other columns are found
            privately.
        max_rows: a public upper bound on the number of rows, which are counted privately else.
        delta: the probability with which ε may fail, such as "1e-6"; frequent categories that
            nobody listed then have names in the model.  Not needed, and not charged, where no
            column can hold text.
        public: "data" takes what is not stated from the data, with a `PrivacyLeakWarning`.
        budget: an account to charge ε to, before the data is looked at.
        entropy: of random bits; the operating system's by default.  An `InsecureEntropy` starts
            anew at every fit, so that equal fits give equal trees.

    Attributes:
        tree_: the released tree.
        plan_: the public facts of the fit, its budget among them.
        model_, release_: what predicts, and what was released.
        domains_, n_features_in_, feature_names_in_: as in scikit-learn, or as given.

    >>> import dampen
    >>> X = {"job": ["none", "farm", "office"] * 2000}
    >>> hours = [4, 41, 36] * 2000
    >>> model = dampen.TreeRegressor(
    ...     epsilon=1,
    ...     lower=0,
    ...     upper=64,
    ...     domains={"job": ["none", "farm", "office"]},
    ...     max_rows=10_000,
    ... )
    >>> model.fit(X, hours).predict({"job": ["farm"]}).round(-1).tolist()
    [40.0]
    """

    asks = RegressionQuestion
    holds = (RegressionModel,)
    called = "a regression tree"

    def __init__(
        self,
        epsilon: Epsilon | None = None,
        *,
        rho: Epsilon | None = None,
        lower: Epsilon | None = None,
        upper: Epsilon | None = None,
        max_depth: int | None = None,
        domains: Mapping[str, Any] | Sequence[Any] | None = None,
        max_rows: int | None = None,
        delta: Epsilon | None = None,
        public: Literal["data"] | None = None,
        budget: Budget | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.rho = rho
        self.lower = lower
        self.upper = upper
        self.max_depth = max_depth
        self.domains = domains
        self.max_rows = max_rows
        self.delta = delta
        self.public = public
        self.budget = budget
        self.entropy = entropy


class NaiveBayesClassifier(PrivateClassifier):
    """Naive Bayes that is ε-differentially private for adding or removing one row.

    Guarantee: `fit` releases one histogram per attribute and class and spends ε in all, exactly
    (`dampen.questions.classify.model` has the proof), and δ where categories get names.
    `domains` that are left out are found privately, with a part of ε.  Every `fit` is a release of
    its own, also that of a clone inside cross-validation or a grid search, and is charged to
    `budget`.  Scores on private test data are not private.

    One pass over the rows and no choices.  It suits many classes and attributes that each say a
    little; every further attribute makes the noise on all counts larger, so leave out those that
    cannot matter.

    Args:
        epsilon: the privacy parameter of one fit; required, unless ρ is given.
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        classes: the public classes; required.
        domains: per column the public `dampen.bins(...)`, a list of categories or a number of
            integer codes; by column name, or in column order.  Those of other columns are found
            privately.
        max_rows: a public upper bound on the number of rows, if there is one: a model that would be
            noise is then warned of.
        delta: the probability with which ε may fail, such as "1e-6"; frequent categories that
            nobody listed then have names in the model.  Not needed, and not charged, where no
            column can hold text.
        public: "data" takes what is not stated from the data, with a `PrivacyLeakWarning`.
        budget: an account to charge ε to, before the data is looked at.
        entropy: of random bits; the operating system's by default.  An `InsecureEntropy` starts
            anew at every fit, so that equal fits give equal tables.

    Attributes:
        tables_: the released tables.
        model_, release_: what predicts, and what was released.
        classes_, domains_, n_features_in_, feature_names_in_: as in scikit-learn, or as given.

    >>> import dampen
    >>> X = {"hours": [12, 45, 48] * 500, "job": ["none", "farm", "office"] * 500}
    >>> y = ["poor", "poor", "rich"] * 500
    >>> model = dampen.NaiveBayesClassifier(
    ...     epsilon=1,
    ...     domains={"hours": dampen.bins(0, 60, 6), "job": ["none", "farm", "office"]},
    ...     classes=["poor", "rich"],
    ... )
    >>> model.fit(X, y).predict({"hours": [46], "job": ["office"]}).tolist()
    ['rich']
    """

    asks = BayesQuestion
    holds = (BayesModel,)
    called = "a naive Bayes"

    def __init__(
        self,
        epsilon: Epsilon | None = None,
        *,
        rho: Epsilon | None = None,
        domains: Mapping[str, Any] | Sequence[Any] | None = None,
        classes: Sequence[Hashable] | None = None,
        max_rows: int | None = None,
        delta: Epsilon | None = None,
        public: Literal["data"] | None = None,
        budget: Budget | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.rho = rho
        self.domains = domains
        self.classes = classes
        self.max_rows = max_rows
        self.delta = delta
        self.public = public
        self.budget = budget
        self.entropy = entropy

    @property
    def tables_(self) -> NoisyTables:
        """The released tables."""
        model = self._model
        assert isinstance(model, BayesModel)
        return model.tables


class Classifier(PrivateClassifier):
    """The default private classifier: a tree or naive Bayes, chosen by public facts.

    Guarantee: `fit` is ε-differentially private for adding or removing one row, as the fit of the
    model that it chooses; the choice is a function of public parameters, and of what was found
    privately before it (`dampen.questions.classify.question` has the rule).

    Args:
        epsilon: the privacy parameter of one fit; required, unless ρ is given.
        rho: in place of ε, the privacy parameter of zCDP, for budgets with a δ.
        probabilities: whether a tree has them too, for `predict_proba`, with parts of ε.
        classes: the public classes; required.
        domains: per column the public `dampen.bins(...)`, a list of categories or a number of
            integer codes; by column name, or in column order.  Those of other columns are found
            privately.
        max_rows: a public upper bound on the number of rows, which are counted privately else.
        delta: the probability with which ε may fail, such as "1e-6"; frequent categories that
            nobody listed then have names in the model.  Not needed, and not charged, where no
            column can hold text.
        public: "data" takes what is not stated from the data, with a `PrivacyLeakWarning`.
        budget: an account to charge ε to, before the data is looked at.
        entropy: of random bits; the operating system's by default.  An `InsecureEntropy` starts
            anew at every fit, so that equal fits give equal models.

    Attributes:
        model_: what predicts, a `TreeModel` or a `BayesModel`.
        release_: what was released.
        classes_, domains_, n_features_in_, feature_names_in_: as in scikit-learn, or as given.

    >>> import dampen
    >>> X = {"hours": [12, 45, 48] * 500, "job": ["none", "farm", "office"] * 500}
    >>> y = ["poor", "poor", "rich"] * 500
    >>> model = dampen.Classifier(
    ...     epsilon=1,
    ...     domains={"hours": dampen.bins(0, 60, 6), "job": ["none", "farm", "office"]},
    ...     classes=["poor", "rich"],
    ...     max_rows=2000,
    ... )
    >>> model.fit(X, y).predict({"hours": [46], "job": ["office"]}).tolist()
    ['rich']
    >>> type(model.model_).__name__
    'TreeModel'
    """

    asks = ClassifierQuestion

    def __init__(
        self,
        epsilon: Epsilon | None = None,
        *,
        rho: Epsilon | None = None,
        probabilities: bool = False,
        domains: Mapping[str, Any] | Sequence[Any] | None = None,
        classes: Sequence[Hashable] | None = None,
        max_rows: int | None = None,
        delta: Epsilon | None = None,
        public: Literal["data"] | None = None,
        budget: Budget | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.rho = rho
        self.probabilities = probabilities
        self.domains = domains
        self.classes = classes
        self.max_rows = max_rows
        self.delta = delta
        self.public = public
        self.budget = budget
        self.entropy = entropy


def refuse(options: Mapping[str, Any]) -> None:
    """Refuses what `fit` does not take, weights with the reason.

    Weights are no parameter of `fit`, or scikit-learn would take them for supported.
    """
    if "sample_weight" in options:
        raise ParameterError(
            "Expected no sample_weight. Privacy is stated for rows of weight 1; a row of weight w "
            "would need w times the noise."
        )
    for name in options:
        raise ParameterError(f"Expected only X and y, got {name}=.")
