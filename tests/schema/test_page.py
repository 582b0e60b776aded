"""The page about `dampen.toml`: it names every key, and its statement of all facts can be read."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from dampen.schema import Categories, Names, Numbers, Schema, load_schema

PAGE = Path(__file__).parents[2] / "docs" / "dampen-toml.md"


@pytest.mark.parametrize("kind", [Schema, Numbers, Categories, Names])
def test_every_key_is_on_the_page(kind):
    keys = {field.name.replace("_", "-") for field in fields(kind)}
    page = set(re.findall(r"[a-z][a-z-]*", PAGE.read_text()))
    assert keys - page == set()


def test_the_statement_of_facts_can_be_read(tmp_path):
    [statement] = [
        block
        for block in re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
        if "max-delta" in block
    ]
    (tmp_path / "dampen.toml").write_text(statement)
    schema = load_schema(tmp_path / "dampen.toml")
    assert schema.max_delta == 1e-6
    assert schema.columns["born"].dates
