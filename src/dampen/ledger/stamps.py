"""When an entry was written, and by which version of dampen."""

from datetime import UTC, datetime

from dampen.versions import library_version

__all__ = ["stamp"]


def stamp() -> dict[str, str]:
    """When, and by which version of dampen."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "version": library_version(),
    }
