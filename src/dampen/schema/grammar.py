"""The grammar of `dampen.toml`: data sets, their public facts and who pays for them.

- `load_file`, `parse_schema`, `format_schema`: the grammar that stands below.
- `updated`: the grammars of 0.2, which are read with a warning.
- `read_table`: the one reader of TOML: tables become frozen dataclasses, driven by their types.
- `draft_data`: a first `[[data]]` for a table, every fact of which the curator still has to
  confirm.

    ledger = "ledger.sqlite3"        # where the budgets are; relative to this file
    registered-only = true           # data that is not listed here may not be asked at all

    [[data]]
    name = "stays"
    files = ["stays.parquet"]        # files and directories; or tables = ["postgresql://..."]
    budgets = ["stays"]
    title = "Days in hospital"
    unit = "row"                     # or the name of a column; of edges "edge" or "source"
    units-public = false             # whether the number of units is public
    rows-per-unit = 1                # where unit is a column: rows of a person that count in full
    groups-per-unit = 2              # a hint: in how many groups a person usually is
    rows = 5000                      # a public bound on the number of rows
    max-delta = 1e-6                 # the largest δ of one question; 0 allows no δ at all
    version = "May"                  # a new version makes every question a new one
    missing = "drop"                 # or "own"; what happens to rows with a missing cell
    unlisted = "drop"                # or "own"; the same for values that are not listed
    encoding = "cp1252"              # of a text file that is not UTF-8
    decimal = ","                    # the point of numbers in CSV, if it is not "."

    [data.columns]
    hospital = ["Ash", "Birch"]      # short for { values = ["Ash", "Birch"] }
    diagnosis = []                   # nobody lists its values: ask with a δ
    days = { lower = 0, upper = 90, step = 1, bins = 10, missing = "drop" }
    employee = { names = true }      # public names of the rows

    [data.graph]
    nodes = 40                       # 0 to 39; or a list; or a file with one name per line
    source = "from"
    target = "to"

For `dampen serve` a data set may have `questions`, `analysts`, `sample` and `table`, and the file a
table `[service]`.
"""

import json
import re
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from dataclasses import field as declared
from datetime import date
from functools import cache
from math import isfinite
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from dampen.core.selection import FloatArray
from dampen.data.columns import as_labels, as_measured, as_numbers
from dampen.data.files import TextFile, likely_form, with_point
from dampen.data.open import located, open_table
from dampen.data.source import Field as SourceField
from dampen.data.source import Opened, whole_columns
from dampen.epsilon import shortened
from dampen.errors import OldGrammarWarning, ParameterError, did_you_mean
from dampen.schema.schema import Categories, Column, Graph, Numbers, Schema, Word

__all__ = [
    "Data",
    "File",
    "Place",
    "draft_data",
    "drafted_column",
    "format_schema",
    "load_file",
    "load_schema",
    "load_toml",
    "name_of",
    "parse_file",
    "parse_schema",
    "parse_toml",
    "read_table",
    "updated",
    "with_nodes",
    "written",
    "written_key",
]

LARGEST_FILE = 2**24
"""Bytes of a file: what is read here is written by people."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """Where in which file, for errors.

    Attributes:
        file: what errors call it.
        table: the path of the table, such as "data.columns.days"; empty for the file itself.
        item: the name of the data set that the table belongs to, if any.
    """

    file: str
    table: str = ""
    item: str = ""

    def __str__(self) -> str:
        table = f"[{self.table}] of " if self.table else ""
        item = f"{self.item!r} in " if self.item else ""
        return f"{table}{item}{self.file}"

    def at(self, key: str, content: object = None) -> "Place":
        """The place of what a key holds."""
        table = f"{self.table}.{key}" if self.table else key
        name = content.get("name") if isinstance(content, dict) else None
        item = name[:100] if isinstance(name, str) and not self.table else self.item
        return Place(self.file, table, item)


def load_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file, unchecked.

    Raises:
        ParameterError: if it cannot be read, is too large or is not TOML.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise ParameterError(f"Cannot read {path}: {error.strerror}.") from None
    except ValueError:
        raise ParameterError(f"{path} is not valid TOML: it is not UTF-8 text.") from None
    return parse_toml(text, str(path))


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """The content of a TOML text, unchecked; `name` is its name in errors.

    Raises:
        ParameterError: if it is too large or is not TOML.
    """
    if len(text.encode("utf-8", "surrogatepass")) > LARGEST_FILE:
        raise ParameterError(f"Expected {name} to be at most 16 MB.")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = error if isinstance(error, tomllib.TOMLDecodeError) else "it holds too much"
        raise ParameterError(f"{name} is not valid TOML: {reason}.") from None


def read_table(kind: type[T], content: object, place: Place) -> T:
    """A dataclass from what a table holds.

    A key is the name of a field, with `-` for `_`.  A field whose metadata says `inline` takes its
    keys from the same table.  A field that is one of several dataclasses becomes the one that knows
    most of the keys; a list in the place of a table is the first field of the one that begins with
    a list.  Dataclasses check their own values and raise `ParameterError`; the reader adds the
    place.

    Every error is one line that names the key, the place and what was expected.

    Raises:
        ParameterError: if a key is unknown or missing, or holds what it cannot hold.
    """
    result: T = _dataclass((kind,), content, place)
    return result


def _value(kind: Any, content: Any, key: str, place: Place) -> Any:
    """What one key holds, as its type says; None if no type of the key fits."""
    kinds = _members(kind)
    tables = tuple(each for each in kinds if is_dataclass(each))
    if tables and isinstance(content, dict | list):
        return _dataclass(tables, content, place.at(key))
    for each in kinds:
        read = _reader(each)
        if read is not None and (found := read(each, content, key, place)) is not None:
            return found
    raise ParameterError(
        f"Expected {key} to be {_described(kind)} in {place}, got {_shown(content)}."
    )


def _dataclass(kinds: tuple[Any, ...], content: Any, place: Place) -> Any:
    if isinstance(content, list):
        content = _spelled_out(kinds, content)
    if not isinstance(content, dict):
        raise ParameterError(f"Expected a table {place}, got {_shown(content)}.")
    kind = max(kinds, key=lambda each: len(content.keys() & _keys(each).keys()))
    _check_keys(content, _keys(kind), [key for each in kinds for key in _keys(each)], place)
    return _built(kind, content, place)


def _spelled_out(kinds: tuple[Any, ...], content: list[Any]) -> Any:
    """A list in the place of a table, as the table that it is short for."""
    for kind in kinds:
        first = fields(kind)[0].name
        if get_origin(_hints(kind)[first]) is tuple:
            return {first: content}
    return content


def _shown(content: object) -> str:
    try:
        return shortened(content)
    except ValueError:  # Python does not write out numbers of thousands of digits
        return "a number that is too long"


def _built(kind: Any, content: Mapping[str, Any], place: Place) -> Any:
    """A dataclass of those keys of a table that are its own."""
    hints = _hints(kind)
    given: dict[str, Any] = {}
    for field in fields(kind):
        key = _key(field)
        if field.metadata.get("inline"):
            own = {key: content[key] for key in content.keys() & _keys(hints[field.name]).keys()}
            ordered = {key: value for key, value in content.items() if key in own}
            given[field.name] = _built(hints[field.name], ordered, place)
        elif key in content:
            given[field.name] = _value(hints[field.name], content[key], key, place)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ParameterError(f"Expected {key}, {_described(hints[field.name])}, in {place}.")
    try:
        return kind(**given)
    except ParameterError as error:
        raise ParameterError(f"{str(error).rstrip('.')}, in {place}.") from None


def _check_keys(
    content: Mapping[str, Any], own: Mapping[str, Any], known: Iterable[str], place: Place
) -> None:
    listed = list(dict.fromkeys(known))
    for key in content:
        if key not in own:
            hint = did_you_mean(key, listed) or f" Known keys are {', '.join(listed)}."
            raise ParameterError(f"Unknown key {key!r} in {place}.{hint}")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _keys(kind: Any) -> dict[str, Any]:
    """The keys of a table, each with its field; inlined fields have those of their own type."""
    hints = _hints(kind)
    found: dict[str, Any] = {}
    for field in fields(kind):
        inline = field.metadata.get("inline")
        found |= _keys(hints[field.name]) if inline else {_key(field): field}
    return found


def _key(field: "Field[Any]") -> str:
    return field.name.replace("_", "-")


def _members(kind: Any) -> tuple[Any, ...]:
    """The types of a union, without None: TOML has none."""
    if get_origin(kind) in (Union, UnionType):
        return tuple(each for each in get_args(kind) if each is not NoneType)
    return (kind,)


Reader = Callable[[Any, Any, str, Place], Any]


def _reader(kind: Any) -> Reader | None:
    return _SIMPLE.get(kind) or _GENERIC.get(get_origin(kind))


def _text(_kind: Any, content: Any, _key: str, _place: Place) -> str | None:
    return content if isinstance(content, str) else None


def _word(_kind: Any, content: Any, _key: str, _place: Place) -> str | None:
    whole = isinstance(content, int) and not isinstance(content, bool)
    return str(content) if whole or isinstance(content, str) else None


def _path(_kind: Any, content: Any, _key: str, _place: Place) -> Path | None:
    return Path(content) if isinstance(content, str) else None


def _flag(_kind: Any, content: Any, _key: str, _place: Place) -> bool | None:
    return content if isinstance(content, bool) else None


def _whole(_kind: Any, content: Any, _key: str, _place: Place) -> int | None:
    return content if isinstance(content, int) and not isinstance(content, bool) else None


def _number(_kind: Any, content: Any, key: str, _place: Place) -> float | None:
    """A finite number, whole if it was written so; or the date that is the end of a range."""
    if isinstance(content, date) and key in ("lower", "upper"):
        return cast("float", content)
    if isinstance(content, bool) or not isinstance(content, int | float):
        return None
    try:
        return content if isfinite(content) else None
    except OverflowError:
        return None


def _literal(kind: Any, content: Any, _key: str, _place: Place) -> Any:
    return content if content in get_args(kind) else None


def _items(kind: Any, content: Any, key: str, place: Place) -> tuple[Any, ...] | None:
    if not isinstance(content, list):
        return None
    item = get_args(kind)[0]
    if is_dataclass(item):
        return tuple(_dataclass((item,), each, place.at(key, each)) for each in content)
    read = _reader(item)
    assert read is not None, item
    found = tuple(read(item, each, key, place) for each in content)
    return None if None in found else found


def _mapping(kind: Any, content: Any, key: str, place: Place) -> dict[str, Any] | None:
    if not isinstance(content, dict):
        return None
    value = get_args(kind)[1]
    if value is Any:
        return content
    inside = place.at(key)
    return {name: _value(value, each, name, inside) for name, each in content.items()}


_SIMPLE: Mapping[Any, Reader] = {
    str: _text, Word: _word, Path: _path, bool: _flag, int: _whole, float: _number,
}  # fmt: skip

_GENERIC: Mapping[Any, Reader] = {Literal: _literal, tuple: _items, Mapping: _mapping}

_DESCRIBED: Mapping[Any, str] = {
    str: "text",
    Word: "text",
    Path: "a path",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
}

_LISTED: Mapping[Any, str] = {
    str: "a list of texts",
    Word: "a list of texts or whole numbers",
    float: "a list of numbers",
    Path: "a list of paths",
}


def _described(kind: Any) -> str:
    return " or ".join(dict.fromkeys(map(_described_one, _members(kind))))


def _described_one(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    if get_origin(kind) is tuple:
        return _LISTED.get(get_args(kind)[0], "an array of tables")
    return _DESCRIBED.get(kind, "a table")


PUBLIC = (
    "{} has [data.public], as dampen 0.2 wrote it. Write its keys under [[data]] itself: "
    "[data.public.columns] becomes [data.columns], [data.public.graph] becomes [data.graph], and "
    "{{ label = true }} becomes {{ names = true }}."
)
SCHEMA = (
    "{} is a schema as dampen 0.2 wrote it. Write it as [[data]] with [data.columns], such as "
    "age = {{ lower = 17, upper = 90, bins = 10 }}, and list the classes as the values of the "
    "target column. `dampen draft` writes a first one."
)


def updated(content: dict[str, Any], name: str, target: str | None = None) -> dict[str, Any]:
    """What a file holds, in the grammar of today; warns if it was in another.

    The grammars of 0.2 are rewritten as today's before they are read.

    `[data.public]` of `dampen.toml`: its keys stand under `[[data]]` itself now, and a column of
    public names says `names` in place of `label`.  `schema.toml` of models: `rows`, `[columns.X]`
    with `bins = [lower, upper, count]`, and the classes under `[target]`; it is a `[[data]]` now,
    and the classes are the values of the target column.

    Args:
        content: what the file holds, unchecked.
        name: what errors call the file.
        target: the column that the classes of an old schema are in; None leaves them out.

    Raises:
        ParameterError: if an old schema says what none can say.
    """
    data = content.get("data")
    if isinstance(data, list) and any(isinstance(e, dict) and "public" in e for e in data):
        _warn(PUBLIC.format(name))
        return content | {"data": [_flat(entry, name) for entry in data]}
    if data is None and content.keys() & {"rows", "columns", "target"}:
        _warn(SCHEMA.format(name))
        return {"data": [_data(content, name, target)]}
    return content


def _flat(entry: Any, name: str) -> Any:
    if not isinstance(entry, dict) or "public" not in entry:
        return entry
    public = entry["public"]
    if not isinstance(public, dict):
        raise ParameterError(f"Expected a table [data.public] in {name}.")
    own = {key: value for key, value in entry.items() if key != "public"}
    for key in own.keys() & public.keys():
        raise ParameterError(f"Expected {key} once, under [[data]] of {name}.")
    columns = public.get("columns")
    if isinstance(columns, dict):
        public = public | {"columns": {key: _renamed(each) for key, each in columns.items()}}
    return own | public


def _renamed(column: Any) -> Any:
    if not isinstance(column, dict):
        return column
    return {"names" if key == "label" else key: value for key, value in column.items()}


def _data(content: dict[str, Any], name: str, target: str | None) -> dict[str, Any]:
    columns = content.get("columns", {})
    about = content.get("target", {})
    if not isinstance(columns, dict) or not isinstance(about, dict):
        raise ParameterError(f"Expected [columns.NAME] and [target] in {name}.")
    written = {key: _column(each, f"[columns.{key}] of {name}") for key, each in columns.items()}
    others = {key: value for key, value in content.items() if key not in ("columns", "target")}
    if about.keys() - {"classes"} or target in written:
        raise ParameterError(
            f"Expected classes alone in [target] of {name}, and no [columns.NAME] of the target."
        )
    if target is not None and about:
        written[target] = {"values": about["classes"]}
    return {"name": "table", **others, "columns": written}


def _column(column: Any, where: str) -> Any:
    if not isinstance(column, dict):
        return column
    found = dict(column)
    if "bins" in found:
        given = found.pop("bins")
        if not isinstance(given, list) or len(given) != 3:
            raise ParameterError(f"Expected bins = [lower, upper, count] in {where}.")
        if found.keys() & {"edges", "values"}:
            raise ParameterError(f"Expected either bins, edges or values in {where}.")
        found |= dict(zip(("lower", "upper", "bins"), given, strict=True))
    return found


def _warn(text: str) -> None:
    """A warning at the caller's own line, above all frames of the library."""
    depth = 1
    frame = sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("dampen."):
        frame = frame.f_back
        depth += 1
    warnings.warn(text, OldGrammarWarning, stacklevel=depth)


@dataclass(frozen=True, slots=True)
class Data:
    """One `[[data]]`: where a data set lies, who pays for it, and its public facts.

    Attributes:
        name: of the data set.
        files: files and directories, as they are written.
        tables: addresses of tables.
        budgets: the names of its budgets.
        table: of a database, which table.
        questions: those that a service answers; all that the facts allow by default.
        analysts: those whom a service answers; all by default.
        sample: a public file of the same shape.
        schema: its public facts.
    """

    name: str
    files: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    budgets: tuple[str, ...] = ()
    table: str | None = None
    questions: tuple[str, ...] | None = None
    analysts: tuple[str, ...] | None = None
    sample: str | None = None
    schema: Schema = declared(default_factory=Schema, metadata={"inline": True})

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ParameterError("Expected name, a text that is not empty.")
        for key in ("files", "tables", "budgets", "questions", "analysts"):
            check_texts(getattr(self, key) or (), key)


@dataclass(frozen=True, slots=True)
class File:
    """The content of a `dampen.toml`.

    Attributes:
        ledger: where the budgets are, as it is written.
        registered_only: whether data that is not listed may not be asked.
        data: the data sets.
        service: the settings of a service, which checks them.
    """

    ledger: str | None = None
    registered_only: bool = False
    data: tuple[Data, ...] = ()
    service: Mapping[str, Any] = declared(default_factory=dict)

    def __post_init__(self) -> None:
        if self.ledger is not None:
            check_texts((self.ledger,), "ledger")


def load_file(path: str | Path) -> File:
    """Reads and checks a `dampen.toml`, and no other file.

    Raises:
        ParameterError: if it cannot be read, or does not follow the grammar.
    """
    return _read(load_toml(Path(path)), str(path))


def parse_file(text: str, name: str) -> File:
    """Checks the text of a `dampen.toml`; `name` is what errors call it.

    Raises:
        ParameterError: if it does not follow the grammar.
    """
    return _read(parse_toml(text, name), name)


def load_schema(path: str | Path, *, target: str | None = None) -> Schema:
    """The public facts of the one data set of a file; see `parse_schema`."""
    source = Path(path)
    file = _read(load_toml(source), str(source), target)
    return with_nodes(_only(file, str(source)).schema, source.resolve().parent)


def parse_schema(text: str, name: str = "the schema", *, target: str | None = None) -> Schema:
    """The public facts of the one data set of a text.

    Args:
        text: in TOML.
        name: what errors call it.
        target: the column that `[target]` of a schema of 0.2 is about, if it is needed.

    Raises:
        ParameterError: if it does not follow the grammar, or has not exactly one `[[data]]`.

    >>> parse_schema("data = [{ name = 'a', columns = { sex = ['f', 'm'] } }]").columns["sex"]
    Categories(values=('f', 'm'), missing=None, unlisted=None, public=False)
    """
    return with_nodes(_only(_read(parse_toml(text, name), name, target), name).schema, Path())


def format_schema(
    schema: Schema,
    *,
    name: str,
    files: Sequence[str] = (),
    budgets: Sequence[str] = (),
    analysts: Sequence[str] = (),
    table: str = "",
) -> str:
    """The text of a data set, which `parse_schema` reads back as the same schema."""
    places = {"files": list(files), "table": table}
    people = {"budgets": list(budgets), "analysts": list(analysts)}
    simple = {"title": schema.title, "unit": schema.unit, "units-public": schema.units_public,
              "rows": schema.rows, "max-delta": schema.max_delta, "version": schema.version,
              "rows-per-unit": None if schema.rows_per_unit == 1 else schema.rows_per_unit,
              "groups-per-unit": schema.groups_per_unit}  # fmt: skip
    rules = {"missing": schema.missing, "unlisted": schema.unlisted}
    written_as = {"encoding": schema.encoding, "decimal": schema.decimal}
    lines = ["[[data]]", f"name = {written(name)}"]
    lines += [_line(key, value) for key, value in (places | people).items() if value]
    lines += [_line(key, value) for key, value in simple.items() if value not in ("", None)]
    lines += [_line(key, value) for key, value in rules.items() if value != "drop"]
    lines += [_line(key, value) for key, value in written_as.items() if value not in ("", ".")]
    if schema.columns:
        lines += ["", "[data.columns]"]
        lines += [_line(key, column) for key, column in schema.columns.items()]
    if schema.graph is not None:
        lines += ["", "[data.graph]"]
        lines += [_line(key, value) for key, value in _given(schema.graph).items()]
    return "\n".join(lines) + "\n"


def check_texts(texts: Sequence[str], key: str) -> None:
    """Checks what may be the name of a file, a budget or a person.

    Raises:
        ParameterError: if one is empty, or cannot be a name.
    """
    if any(not text or "\0" in text for text in texts):
        raise ParameterError(f"Expected {key} to be a list of texts that are not empty.")


def with_nodes(schema: Schema, base: Path) -> Schema:
    """A schema whose nodes are listed, if a file, relative to `base`, has them.

    Raises:
        ParameterError: if that file cannot be read.
    """
    graph = schema.graph
    if graph is None or not isinstance(graph.nodes, str):
        return schema
    from dampen.data.edges import read_nodes

    nodes = tuple(Word(str(name)) for name in read_nodes(base / graph.nodes))
    return replace(schema, graph=replace(graph, nodes=nodes))


def _read(content: dict[str, Any], name: str, target: str | None = None) -> File:
    return read_table(File, updated(content, name, target), Place(name))


def _only(file: File, name: str) -> Data:
    if len(file.data) != 1:
        raise ParameterError(f"Expected one [[data]] in {name}, got {len(file.data)}.")
    return file.data[0]


def _line(key: str, value: Any) -> str:
    return f"{written_key(key)} = {written(value)}"


def written_key(key: str) -> str:
    """A name as a key of TOML."""
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else written(key)


def written(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, str):
        # JSON's escapes are among TOML's once DEL is escaped too.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
        return repr(int(value) if whole else value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    return _written_facts(_given(value))


def _written_facts(given: Mapping[str, Any]) -> str:
    """An inline table; of listed values alone, the list."""
    if given.keys() == {"values"}:
        return written(given["values"])
    return f"{{ {', '.join(_line(key, value) for key, value in given.items())} }}"


def _given(facts: Column | Graph) -> dict[str, Any]:
    """The facts of a column or graph that are stated and not the default; always its first one."""
    first = fields(facts)[0].name
    given = {
        each.name: value
        for each in fields(facts)
        if (value := getattr(facts, each.name)) == value  # an end that is not stated is NaN
        and (value != _default(each) or each.name == first)
    }
    if isinstance(facts, Numbers) and facts.edges:
        given = {
            key: value for key, value in given.items() if key not in ("lower", "upper", "bins")
        }
    return given


def _default(declared: Any) -> Any:
    return None if declared.default is MISSING else declared.default


FEW = 12
"""Whole numbers with at most so many different values are codes, not quantities."""
MANY = 1000
"""A column with more different texts than this names things."""
CONFIRM = """# A draft: confirm every line. State only what is known without looking at the data.

[[data]]
name = {name}
files = [{file}]
budgets = [{name}]
unit = "row"                # what ε protects: one row; or a person, by the name of their column
units-public = false        # true only if the number of rows is public
# rows = 1000               # a public bound on the number of rows, if there is one
{form}
[data.columns]
"""
TAKEN = "# taken from the data: confirm that it is public"
NUMBERS = "{ lower = 0, upper = 100 }    # the public range, or {} if nobody knows one"
VALUES = '["A", "B"]    # the public list of values, or [] if nobody has one'
EITHER = (
    '["A", "B"]    # the public list, or [] if nobody has one; or { lower = 0, upper = 100 }; or '
    "{ dates = true }"
)
DATES = "{ dates = true }    # or { lower = 2024-01-01, upper = 2025-12-31 }, the public range"


def draft_data(data: Any, *, file: str, name: str, look: bool = False, header: bool = False) -> str:
    """The text of a draft.

    From the header alone it states no fact about any row: each column is a line to fill in.  With
    `look` ranges and lists are read off the data, and each of them is marked: whoever keeps such a
    line publishes what it says.

    Args:
        data: any table (see `dampen.data`).
        file: how the draft names where the rows are.
        name: of the data set.
        look: whether ranges and values are read off the data, which the draft then shows.
        header: says that the first line of a text file surely holds the names of its columns.

    Raises:
        ParameterError: if there is no such table.
    """
    opened = open_table(data, header=header)
    form = ""
    if look and isinstance(opened, TextFile) and opened.bytes.path is not None:
        encoding, decimal = likely_form(opened)
        opened = located(data, header=header, encoding=encoding, decimal=decimal)
        opened = open_table(opened, header=header)
        form = _form_lines(encoding, decimal)
    named = [each for each in opened.fields if each.name.strip()]
    lines = _looked(opened, named) if look else [_open_line(each) for each in named]
    head = CONFIRM.format(name=written(name), file=written(file), form=form)
    return head + "\n".join(lines) + "\n"


def _form_lines(encoding: str, decimal: str) -> str:
    """How a text file is written, where that is not the usual way."""
    lines = [f'encoding = "{encoding}"         # the file is not UTF-8'] if encoding else []
    if decimal != ".":
        lines.append(f'decimal = "{decimal}"               # the point of its numbers')
    return "".join(f"{line}\n" for line in lines)


def _open_line(field: SourceField) -> str:
    """A column of which only its name, and perhaps its type, is known."""
    if field.holds == "other":
        return f"# {written_key(field.name)}: {field.type} cannot be asked about"
    if (field.type or "").lower().startswith(("date", "timestamp")):
        facts = DATES
    else:
        facts = {None: EITHER, "numbers": NUMBERS}.get(field.holds, VALUES)
    return f"# {written_key(field.name)} = {facts}"


def _looked(opened: Opened, named: Sequence[SourceField]) -> list[str]:
    held = [each for each in named if each.holds != "other"]
    decimal = opened.decimal if isinstance(opened, TextFile) else "."
    columns = whole_columns(opened, dict.fromkeys((each.name for each in held), "text"))
    lines: list[str] = []
    for each in named:
        labels = as_labels(columns[each.name]) if each in held else []
        if decimal != ".":
            labels = [_with_point(label, decimal) for label in labels]
        column = drafted_column(labels) if labels else None
        if column is None:
            lines.append(_open_line(each))
        else:
            lines.append(f"{written_key(each.name)} = {written(column)}  {TAKEN}")
    return lines


def drafted_column(values: Sequence[Any]) -> Column | None:
    """The range of numbers, or the listed values; None for a column that names things.

    Numbers are drafted where nine of ten different texts are: the others are cells such as "n/a".
    Dates are drafted in the same way, without their range.
    """
    present = sorted({str(value) for value in values if value not in (None, "")})
    numbers = _numbers_of(present)
    if 10 * len(numbers) >= 9 * len(present) > 0 and not _are_codes(numbers):
        return Numbers(float(numbers.min()), float(numbers.max()))
    if 10 * sum(map(_is_date, present)) >= 9 * len(present) > 0:
        return Numbers(dates=True)
    if not 1 <= len(present) <= MANY:
        return None
    return Categories(tuple(map(Word, present)))


def _with_point(label: Any, decimal: str) -> Any:
    """A cell with a point where it is a number with another sign in its place."""
    pointed = with_point(label, decimal) if isinstance(label, str) else label
    return pointed if isinstance(pointed, str) and not np.isnan(_number_of(pointed)) else label


def _is_date(text: str) -> bool:
    return not np.isnan(as_measured([text], "time")[0])


def _numbers_of(texts: Sequence[str]) -> FloatArray:
    """Those texts that are finite numbers."""
    numbers: FloatArray = as_numbers(list(map(_number_of, texts)))
    return numbers[np.isfinite(numbers)]


def _number_of(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _are_codes(numbers: FloatArray) -> bool:
    """Few whole numbers, or one number that leaves no range."""
    if not len(numbers):
        return True
    few_whole = len(numbers) <= FEW and bool((numbers == np.rint(numbers)).all())
    return few_whole or bool(numbers.min() == numbers.max())


def name_of(file: str) -> str:
    """The name of a data set in a file."""
    return "table" if file == "-" else Path(file).name.partition(".")[0] or "table"
