"""The grammars of 0.2, rewritten as today's before they are read.

`[data.public]` of `dampen.toml`: its keys stand under `[[data]]` itself now, and a column of public
names says `names` in place of `label`.  `schema.toml` of models: `rows`, `[columns.X]` with
`bins = [lower, upper, count]`, and the classes under `[target]`; it is a `[[data]]` now, and the
classes are the values of the target column.
"""

import sys
import warnings
from typing import Any

from dampen.errors import OldGrammarWarning, ParameterError

__all__ = ["updated"]

PUBLIC = (
    "{} has [data.public], as dampen 0.2 wrote it. Write its keys under [[data]] itself: "
    "[data.public.columns] becomes [data.columns], [data.public.graph] becomes [data.graph], and "
    "{{ label = true }} becomes {{ names = true }}."
)
SCHEMA = (
    "{} is a schema as dampen 0.2 wrote it. Write it as [[data]] with [data.columns], such as "
    "age = {{ lower = 17, upper = 90, bins = 10 }}, and list the classes as the values of the "
    "target column. `dampen schema init` drafts one."
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
