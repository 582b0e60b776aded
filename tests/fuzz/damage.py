"""What hypothesis does to a file: edits of its bytes, and values put in the place of others."""

import copy
import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FEW, MANY = 25, int(os.environ.get("FUZZ_EXAMPLES", "1000"))
examples = pytest.mark.parametrize("examples", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
"""Seconds in `make test`, half an hour in `make test-slow`; FUZZ_EXAMPLES says how many there."""

HOSTILE: list[Any] = [
    None, True, False, -1, 0, 1, 7, 2**31, 2**63, 10**30, -0.0, 1.5, 1e308, float("nan"),
    float("inf"), "", "x", "1e999999999", "0", "1/0", "٣", "\x00", "\x1b[31m", "\ud800", "9" * 5000,
    "../" * 50, [], {}, [1], [[1]], {"a": 1}, [[[[[[[[]]]]]]]],
]  # fmt: skip


def fuzz(examples: int, strategy: st.SearchStrategy[Any], check: Callable[[Any], None]) -> None:
    """Asks hypothesis for examples; the smallest one that fails is shown."""

    @settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=[*HealthCheck]
    )
    @given(strategy)
    def run(example: Any) -> None:
        check(example)

    run()


def damaged(whole: bytes) -> st.SearchStrategy[bytes]:
    """The bytes of a file after some edits; or bytes that were never a file."""
    place = st.integers(0, len(whole))
    piece = st.one_of(
        st.binary(max_size=9),
        st.sampled_from([b"\0" * 64, b"\xff" * 8, b"\n", b'"', b",", b"\xef\xbb\xbf", b"9" * 400]),
        st.tuples(place, place).map(lambda span: whole[min(span) : max(span)]),
    )
    edit = st.tuples(place, st.sampled_from([0, 1, 4, 64, len(whole)]), piece)
    edited = st.lists(edit, min_size=1, max_size=4).map(lambda edits: _edited(whole, edits))
    beginning = st.binary(max_size=40).map(lambda noise: whole[:12] + noise)
    return st.one_of(edited, edited, edited, beginning, st.binary(max_size=200))


def _edited(whole: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    for begin, length, piece in edits:
        whole = whole[:begin] + piece + whole[begin + length :]
    return whole


def mutated_json(text: str) -> st.SearchStrategy[str]:
    """A JSON text with some of its values replaced, dropped or repeated; or with damaged bytes."""
    content = json.loads(text)
    places = _places(content)
    change = st.tuples(
        st.integers(0, len(places) - 1),
        st.sampled_from(["replace", "replace", "drop", "repeat"]),
        st.sampled_from(HOSTILE),
    )
    values = st.lists(change, min_size=1, max_size=3).map(
        lambda changes: json.dumps(_changed(content, places, changes))
    )
    broken = damaged(text.encode()).map(lambda content: content.decode(errors="replace"))
    return st.one_of(values, values, broken)


def _places(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value."""
    keys = content if isinstance(content, dict) else range(len(content))
    found = []
    for key in keys:
        found.append((*path, key))
        if isinstance(content[key], dict | list):
            found += _places(content[key], (*path, key))
    return found


def _changed(content: Any, places: list[Any], changes: list[tuple[int, str, Any]]) -> Any:
    content = copy.deepcopy(content)
    for number, how, value in changes:
        *way, last = places[number]
        held = content
        try:
            for key in way:
                held = held[key]
            if how == "drop":
                del held[last]
            elif how == "repeat" and isinstance(held, list):
                held += held
            else:
                held[last] = value
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change has taken the place away
    return content
