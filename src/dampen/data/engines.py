"""Engines: where tables may live that are asked, not read."""

from dampen.errors import DataError

__all__ = ["failed"]


def failed(title: str) -> DataError:
    """What to say when an engine fails: its own words may quote rows."""
    return DataError(
        f"Expected {title} to be read to its end; the engine failed. Run the query by itself to "
        "see why; its message may show private data."
    )
