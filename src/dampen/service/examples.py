"""One question of every kind that the public facts allow: for `--check`, and to begin with."""

from typing import Any

from dampen.schema import Categories, Names, Numbers, Schema

__all__ = ["example"]


def example(facts: Schema, kind: str) -> dict[str, Any]:
    """The options of a question that can be asked."""
    numbers = facts.of_kind(Numbers)
    categories = facts.of_kind(Categories)
    gridded = [n for n in numbers if getattr(facts.columns[n], "step", None) is not None]
    match kind:
        case "percentile" if not gridded:
            asked: dict[str, Any] = {"column": numbers[0], "p": 50, "release": "label"}
            assert facts.of_kind(Names)
        case "percentile":
            asked = {"column": gridded[0], "p": 50}
        case "most-frequent":
            asked = {"column": categories[0]}
        case "top-groups":
            asked = {"value": gridded[0], "by": categories[0]}
        case "top-k":
            assert facts.graph is not None
            asked = {"k": min(3, facts.graph.size)}
        case _:
            asked = {"target": categories[-1]}
    return asked | {"epsilon": "1"}
