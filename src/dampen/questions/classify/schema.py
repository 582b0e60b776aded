"""A schema: the public facts about a table, in a few readable lines of TOML.

    rows = 50000

    [columns.age]
    bins = [17, 90, 10]

    [columns.workclass]
    values = ["Private", "Self-employed", "Government", "?"]

    [target]
    classes = ["<=50K", ">50K"]

`bins` are lower end, upper end and number of bins; `edges` lists the ends of bins one by one;
`missing = "own"` gives missing values a bin or a value of their own; `rows` is an upper bound on
the number of rows.  Everything in it is public: write it from what is known about the data without
looking at it.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dampen.errors import ParameterError, did_you_mean
from dampen.questions.classify.encoding import MOST_VALUES, Bins, Categories, Domain, bins

LARGEST = sys.float_info.max
MOST_ROWS = 2**52

__all__ = ["Schema", "format_schema", "load_schema", "parse_schema"]


@dataclass(frozen=True, slots=True)
class Schema:
    """The public description of a table."""

    rows: int
    columns: Mapping[str, Domain]
    classes: tuple[str, ...]


def load_schema(path: str | Path) -> Schema:
    """Reads and checks a schema.

    Raises:
        ParameterError: if the file is missing, is not TOML, or says something else than a schema.
    """
    return parse_schema(_text(Path(path)), str(path))


def parse_schema(text: str, name: str = "the schema") -> Schema:
    """A schema from its text; `name` is what errors call it.

    >>> parse_schema("rows = 9; columns.age.bins = [0, 9, 3]; target.classes = ['a', 'b']".replace(
    ...     "; ", chr(10))).columns["age"]
    Bins(edges=(0.0, 3.0, 6.0, 9.0), missing=None)
    """
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = error if isinstance(error, tomllib.TOMLDecodeError) else "it holds too much"
        raise ParameterError(f"{name} is not valid TOML: {reason}.") from None
    _check_keys(content, {"rows", "columns", "target"}, name)
    columns = _table(content, "columns", name)
    target = _table(content, "target", name)
    _check_keys(target, {"classes"}, f"[target] of {name}")
    return Schema(
        rows=_rows(content.get("rows"), name),
        columns={key: _column(key, value, name) for key, value in columns.items()},
        classes=_words(target.get("classes"), f"[target] classes of {name}", at_least=2),
    )


def format_schema(schema: Schema) -> str:
    """The text that `parse_schema` reads back as the same schema."""
    parts = [f"rows = {schema.rows}\n"]
    for name, column in schema.columns.items():
        parts.append(f"[columns.{_key(name)}]\n{_lines(column)}\n")
    parts.append(f"[target]\nclasses = {_listed(schema.classes)}\n")
    return "\n".join(parts)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"Cannot read the schema {path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{path} is not a schema: it is not UTF-8 text.") from None


def _check_keys(content: Mapping[str, Any], known: set[str], name: str) -> None:
    for key in content:
        if key not in known:
            raise ParameterError(
                f"Expected only {', '.join(sorted(known))} in {name}, got {key!r}."
                f"{did_you_mean(key, known)}"
            )


def _table(content: Mapping[str, Any], key: str, name: str) -> Mapping[str, Any]:
    table = content.get(key)
    if not isinstance(table, dict) or not table:
        example = "[columns.NAME]" if key == "columns" else f"[{key}]"
        raise ParameterError(f"Expected {example} in {name}.")
    return table


def _rows(rows: Any, name: str) -> int:
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS:
        raise ParameterError(
            f"Expected rows = N in {name}, a public upper bound on the number of rows, at most "
            "2^52."
        )
    return rows


def _column(key: str, content: Any, name: str) -> Domain:
    where = f"[columns.{key}] of {name}"
    kinds = {"bins", "edges", "values"}
    if isinstance(content, dict):
        _check_keys(content, kinds | {"missing"}, where)
    if not isinstance(content, dict) or len(kinds & content.keys()) != 1:
        raise ParameterError(f"Expected either bins, edges or values in {where}.")
    missing = content.get("missing")
    if missing not in (None, "own"):
        raise ParameterError(f'Expected missing = "own" in {where}, or nothing.')
    if "bins" in content:
        return _bins(content["bins"], missing, where)
    if "edges" in content:
        return _edges(content["edges"], missing, where)
    words = _words(content["values"], f"values in {where}", at_least=1)
    return Categories((*words, None) if missing else words)


def _bins(given: Any, missing: Any, where: str) -> Bins:
    wanted = f"Expected bins = [lower, upper, count] in {where}"
    if not isinstance(given, list) or len(given) != 3 or any(isinstance(b, bool) for b in given):
        raise ParameterError(f"{wanted}.")
    lower, upper, count = given
    numbers = isinstance(lower, int | float) and isinstance(upper, int | float)
    if not (numbers and -LARGEST <= lower < upper <= LARGEST):
        raise ParameterError(f"{wanted} with lower < upper, both finite numbers.")
    if not isinstance(count, int) or not 1 <= count < MOST_VALUES:
        raise ParameterError(f"{wanted} with a whole count from 1 to {MOST_VALUES - 1}.")
    return bins(float(lower), float(upper), count, missing=missing)


def _edges(given: Any, missing: Any, where: str) -> Bins:
    if not isinstance(given, list) or not all(isinstance(e, int | float) for e in given):
        raise ParameterError(f"Expected edges = [number, number, ...] in {where}.")
    try:
        return Bins(given, missing)
    except (ParameterError, OverflowError):
        raise ParameterError(f"Expected ascending, finite edges in {where}.") from None


def _words(given: Any, where: str, at_least: int) -> tuple[str, ...]:
    if not isinstance(given, list) or len(given) < at_least:
        raise ParameterError(f"Expected a list of at least {at_least} {where}.")
    if not all(isinstance(word, str | int) and not isinstance(word, bool) for word in given):
        raise ParameterError(f"Expected text or whole numbers as {where}.")
    words = tuple(map(str, given))
    if len(set(words)) < len(words):
        raise ParameterError(f"Expected different {where}; some occur twice.")
    return words


def _lines(domain: Domain) -> str:
    own = '\nmissing = "own"' if domain.holds_missing else ""
    if isinstance(domain, Categories):
        return f"values = {_listed(str(v) for v in domain.values if v is not None)}{own}"
    lower = domain.edges[0]
    upper = domain.edges[-1]
    count = len(domain.edges) - 1
    if domain.edges == bins(lower, upper, count).edges:
        return f"bins = [{lower:.17g}, {upper:.17g}, {count}]{own}"
    return f"edges = [{', '.join(f'{edge:.17g}' for edge in domain.edges)}]{own}"


def _listed(words: Iterable[str]) -> str:
    return "[" + ", ".join(map(_quoted, words)) + "]"


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(word: str) -> str:
    """A TOML basic string; JSON's escapes are among TOML's once DEL is escaped too."""
    return json.dumps(word, ensure_ascii=False).replace("\x7f", "\\u007f")
