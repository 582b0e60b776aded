"""The grammar of `dampen.toml`: data sets, their public facts and who pays for them.

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
    version = "May"                  # a new version makes every question a new one
    missing = "drop"                 # or "own"; what happens to rows with a missing cell
    unlisted = "drop"                # or "own"; the same for values that are not listed
    encoding = "cp1252"              # of a text file that is not UTF-8
    decimal = ","                    # the point of numbers in CSV, if it is not "."

    [data.columns]
    hospital = ["Ash", "Birch"]      # short for { values = ["Ash", "Birch"] }
    days = { lower = 0, upper = 90, step = 1, bins = 10, missing = "drop" }
    employee = { names = true }      # public names of the rows

    [data.graph]
    nodes = 40                       # 0 to 39; or a list; or a file with one name per line
    source = "from"
    target = "to"

For `dampen serve` a data set may have `questions`, `analysts`, `sample` and `table`, and the file a
table `[service]`.

**The grammars of 0.2** are read with a warning, rewritten as today's before they are read.

`[data.public]` of `dampen.toml`: its keys stand under `[[data]]` itself now, and a column of public
names says `names` in place of `label`.  `schema.toml` of models: `rows`, `[columns.X]` with
`bins = [lower, upper, count]`, and the classes under `[target]`; it is a `[[data]]` now, and the
classes are the values of the target column.
"""

import json
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from dampen.errors import OldGrammarWarning, ParameterError
from dampen.schema.columns import Column, Numbers, Word
from dampen.schema.schema import Graph, Schema
from dampen.schema.toml import Place, load_toml, parse_toml, read_table

__all__ = [
    "Data",
    "File",
    "format_schema",
    "load_file",
    "load_schema",
    "parse_schema",
    "updated",
    "with_nodes",
    "written",
    "written_key",
]

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
    schema: Schema = field(default_factory=Schema, metadata={"inline": True})

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ParameterError("Expected name, a text that is not empty.")
        for key in ("files", "tables", "budgets", "questions", "analysts"):
            check_texts(getattr(self, key) or (), key)


@dataclass(frozen=True, slots=True)
class File:
    """All that a `dampen.toml` holds.

    Attributes:
        ledger: where the budgets are, as it is written.
        registered_only: whether data that is not listed may not be asked.
        data: the data sets.
        service: the settings of a service, which checks them.
    """

    ledger: str | None = None
    registered_only: bool = False
    data: tuple[Data, ...] = ()
    service: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.ledger is not None:
            check_texts((self.ledger,), "ledger")


def load_file(path: str | Path) -> File:
    """Reads and checks a `dampen.toml`, and no other file.

    Raises:
        ParameterError: if it cannot be read, or does not follow the grammar.
    """
    return _read(load_toml(Path(path)), str(path))


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
) -> str:
    """The text of a data set, which `parse_schema` reads back as the same schema."""
    listed = {"name": name, "files": list(files), "budgets": list(budgets)}
    simple = {"title": schema.title, "unit": schema.unit, "units-public": schema.units_public,
              "rows": schema.rows, "version": schema.version,
              "rows-per-unit": None if schema.rows_per_unit == 1 else schema.rows_per_unit,
              "groups-per-unit": schema.groups_per_unit}  # fmt: skip
    rules = {"missing": schema.missing, "unlisted": schema.unlisted}
    written_as = {"encoding": schema.encoding, "decimal": schema.decimal}
    lines = ["[[data]]", f"name = {written(name)}"]
    lines += [_line(key, listed[key]) for key in ("files", "budgets") if listed[key]]
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
    from dampen.data.edge_files import read_nodes

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
