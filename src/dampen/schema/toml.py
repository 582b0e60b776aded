"""The one reader of TOML: tables become frozen dataclasses, driven by their types.

A key is the name of a field, with `-` for `_`.  A field whose metadata says `inline` takes its keys
from the same table.  A field that is one of several dataclasses becomes the one that knows most of
the keys; a list in the place of a table is the first field of the one that begins with a list.
Dataclasses check their own values and raise `ParameterError`; the reader adds the place.

Every error is one line that names the key, the place and what was expected.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from math import isfinite
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from dampen.epsilon import shortened
from dampen.errors import ParameterError, did_you_mean
from dampen.schema.columns import Word

__all__ = ["Place", "load_toml", "parse_toml", "read_table"]

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
    """All that a file in TOML holds, unchecked.

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
    """All that a text in TOML holds, unchecked; `name` is what errors call it.

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


def _number(_kind: Any, content: Any, _key: str, _place: Place) -> float | None:
    """A finite number, whole if it was written so."""
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
}


def _described(kind: Any) -> str:
    return " or ".join(dict.fromkeys(map(_described_one, _members(kind))))


def _described_one(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    if get_origin(kind) is tuple:
        return _LISTED.get(get_args(kind)[0], "an array of tables")
    return _DESCRIBED.get(kind, "a table")
