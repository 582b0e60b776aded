"""Text that may come from files, made safe to show."""

__all__ = ["printable"]


def printable(text: str) -> str:
    """One line that cannot command a terminal: every control character becomes a mark.

    >>> printable("a" + chr(27) + "[31mb")
    'a\N{REPLACEMENT CHARACTER}[31mb'
    """
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
