"""Edge lists of integers, parsed from bytes."""

from typing import Any

import numpy as np

from dampen.kernels.compile import compiled

NEWLINE = 10
RETURN = 13
TAB = 9
BLANK = 32
HASH = 35
PERCENT = 37
PLUS = 43
MINUS = 45
ZERO = 48
LARGEST_TENTH = (2**63 - 1) // 10
MOST_DIGITS = 18


@compiled
def parsed(text: Any, begin: int, separator: int, columns: int, ends: tuple[int, int]) -> Any:
    """The columns `ends`, integers, of lines of `columns` fields.

    `separator` is a byte, or 0 for runs of blanks.  Empty lines and lines that begin with # or %
    are skipped.  Returns both columns and -1, or the index of the first byte of a line that is not
    as expected.
    """
    lines = 1
    for i in range(begin, len(text)):
        lines += text[i] == NEWLINE
    src = np.empty(lines, np.int64)
    dst = np.empty(lines, np.int64)
    n = 0
    i = begin
    plain = columns == 2 and ends[0] == 0 and ends[1] == 1
    while i < len(text):
        if plain:
            a, b, after = _plain_line(text, i, separator)
            if after > 0:
                src[n] = a
                dst[n] = b
                n = n + 1
                i = after
                continue
        line = i
        i = _after_blanks(text, i)
        if i < len(text) and text[i] != NEWLINE and text[i] != HASH and text[i] != PERCENT:
            for column in range(columns):
                if column:
                    i = _after_separator(text, i, separator)
                value, i = _integer(text, i) if column in ends else (0, _other(text, i, separator))
                if i < 0:
                    return src[:n], dst[:n], line
                if column == ends[0]:
                    src[n] = value
                if column == ends[1]:
                    dst[n] = value
            i = _after_blanks(text, i)
            if i < len(text) and text[i] != NEWLINE:
                return src[:n], dst[:n], line
            n += 1
        while i < len(text) and text[i] != NEWLINE:
            i += 1
        i += 1
    return src[:n], dst[:n], -1


@compiled
def _plain_line(text: Any, i: int, separator: int) -> tuple[int, int, int]:
    """Two numbers, one separator, and where the next line begins; 0 for any other line."""
    a, middle = _digits(text, i)
    if middle == i or middle - i > MOST_DIGITS or middle >= len(text):
        return 0, 0, 0
    found = text[middle]
    blank = found in (BLANK, TAB)
    if found != separator and not (separator == 0 and blank):
        return 0, 0, 0
    b, end = _digits(text, middle + 1)
    if end == middle + 1 or end - middle > MOST_DIGITS:
        return 0, 0, 0
    if end < len(text) and text[end] != NEWLINE:
        return 0, 0, 0
    return a, b, end + 1


@compiled
def _digits(text: Any, i: int) -> tuple[int, int]:
    """The number that digits make, and where they end; it is right up to `MOST_DIGITS`."""
    value: Any = np.int64(0)
    while i < len(text):
        digit: Any = np.int64(text[i]) - ZERO
        if digit < 0 or digit > 9:
            break
        value = value * 10 + digit
        i += 1
    return value, i


@compiled
def _after_blanks(text: Any, i: int) -> int:
    while i < len(text) and (text[i] == BLANK or text[i] == TAB or text[i] == RETURN):
        i += 1
    return i


@compiled
def _after_separator(text: Any, i: int, separator: int) -> int:
    """Where the next field begins; -1 where there is none."""
    if separator in (0, TAB):
        j = _after_blanks(text, i)
        return j if i < j < len(text) and text[j] != NEWLINE else -1
    i = _after_blanks(text, i)
    return _after_blanks(text, i + 1) if i < len(text) and text[i] == separator else -1


@compiled
def _integer(text: Any, i: int) -> tuple[int, int]:
    """An integer of 64 bits and where it ends; -1 where there is none."""
    if i < 0 or i >= len(text):
        return 0, -1
    sign = -1 if text[i] == MINUS else 1
    if text[i] == MINUS or text[i] == PLUS:
        i += 1
    start = i
    value = 0
    while i < len(text) and ZERO <= text[i] <= ZERO + 9:
        digit: Any = np.int64(text[i]) - ZERO
        if value > LARGEST_TENTH or (value == LARGEST_TENTH and digit > 7):
            return 0, -1
        value = value * 10 + digit
        i += 1
    return sign * value, i if i > start else -1


@compiled
def _other(text: Any, i: int, separator: int) -> int:
    """The end of a field that is not read."""
    while 0 <= i < len(text) and text[i] != NEWLINE and text[i] != separator:
        if separator == 0 and (text[i] == BLANK or text[i] == TAB):
            break
        i += 1
    return i
