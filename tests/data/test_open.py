"""Which kind of table an object is, is told by its class alone."""

import pytest

from dampen.data.memory import MemoryTable, is_column, open_memory
from dampen.data.open import open_table
from dampen.errors import ParameterError


class Engine:
    """A frame whose attributes would run a query."""

    def __getattr__(self, name):
        raise AssertionError(f"asked for {name}")


def test_nothing_is_asked_of_an_object_to_find_out_that_it_is_not_in_memory():
    assert open_memory(Engine()) is None
    assert not is_column(Engine())


def test_an_opened_table_is_returned_as_it_is():
    opened = MemoryTable({"a": [1, 2]})
    assert open_table(opened) is opened
    with pytest.raises(ParameterError, match="Expected a table"):
        open_table(3)
