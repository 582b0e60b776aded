"""Edge lists of integers, parsed from bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dampen.kernels.uncompiled import kernel

try:
    import cython
except ImportError:
    from dampen.kernels import uncompiled as cython

NEWLINE = cython.declare(cython.longlong, 10)
RETURN = cython.declare(cython.longlong, 13)
TAB = cython.declare(cython.longlong, 9)
BLANK = cython.declare(cython.longlong, 32)
HASH = cython.declare(cython.longlong, 35)
QUOTE = cython.declare(cython.longlong, 34)
PERCENT = cython.declare(cython.longlong, 37)
PLUS = cython.declare(cython.longlong, 43)
MINUS = cython.declare(cython.longlong, 45)
ZERO = cython.declare(cython.longlong, 48)
LARGEST_TENTH = cython.declare(cython.longlong, 922337203685477580)
MOST_DIGITS = cython.declare(cython.longlong, 18)


@kernel
def parsed(
    text: cython.const[cython.uchar][::1],
    separator: cython.int,
    columns: cython.int,
    first: cython.int,
    second: cython.int,
) -> Any:
    """Two columns, integers, of lines of `columns` fields.

    `separator` is a byte, or 0 for runs of blanks.  Numbers may be quoted.  Empty lines, lines that
    begin with # or % and lines that are not as expected are skipped, each by what it holds alone.
    """
    lines: cython.Py_ssize_t = np.count_nonzero(np.asarray(text) == NEWLINE) + 1
    src: cython.longlong[::1] = memoryview(np.empty(lines, np.int64))
    dst: cython.longlong[::1] = memoryview(np.empty(lines, np.int64))
    n: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t = 0
    size: cython.Py_ssize_t = len(text)
    after: cython.Py_ssize_t
    begin: cython.Py_ssize_t
    column: cython.int
    quoted: cython.bint
    value: cython.longlong
    plain: cython.bint = columns == 2 and first == 0 and second == 1
    tabs: cython.bint = separator == TAB and columns > 2  # a field between two may be empty
    with cython.nogil:
        while i < size:
            if plain:
                after = _plain_line(text, i, separator, src, dst, n)
                if after > 0:
                    n += 1
                    i = after
                    continue
            i = _after_spaces(text, i) if tabs else _after_blanks(text, i)
            begin = i
            if i < size and text[i] != NEWLINE and text[i] != HASH and text[i] != PERCENT:
                for column in range(columns):
                    if column:
                        i = _after_tab(text, i) if tabs else _after_separator(text, i, separator)
                    if i < 0:
                        break
                    if column in (first, second):
                        quoted = i < size and text[i] == QUOTE
                        i += quoted
                        after = _end_of_integer(text, i)
                        value = 0 if after < 0 else _integer(text, i, after)
                        i = after
                        if quoted and i >= 0:
                            i = i + 1 if i < size and text[i] == QUOTE else -1
                        if column == first:
                            src[n] = value
                        if column == second:
                            dst[n] = value
                    else:
                        i = _other(text, i, separator)
                if i >= 0:
                    i = _after_blanks(text, i)
                if i >= 0 and (i >= size or text[i] == NEWLINE):
                    n += 1
                else:
                    i = begin
            while i < size and text[i] != NEWLINE:
                i += 1
            i += 1
    return np.asarray(src)[:n], np.asarray(dst)[:n]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _plain_line(
    text: cython.const[cython.uchar][::1],
    i: cython.Py_ssize_t,
    separator: cython.int,
    src: cython.longlong[::1],
    dst: cython.longlong[::1],
    n: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Fills in two numbers with one separator: where the next line begins; 0 for other lines."""
    begin: cython.Py_ssize_t = i
    stop: cython.Py_ssize_t = min(begin + MOST_DIGITS, len(text))
    value: cython.longlong = 0
    while i < stop and ZERO <= text[i] <= ZERO + 9:
        value = value * 10 + (text[i] - ZERO)
        i += 1
    if i == begin or i >= len(text):
        return 0
    if text[i] != separator and not (separator == 0 and (text[i] == BLANK or text[i] == TAB)):
        return 0
    src[n] = value
    i += 1
    begin = i
    stop = min(begin + MOST_DIGITS, len(text))
    value = 0
    while i < stop and ZERO <= text[i] <= ZERO + 9:
        value = value * 10 + (text[i] - ZERO)
        i += 1
    dst[n] = value
    if i == begin or (i < len(text) and text[i] != NEWLINE):
        return 0
    return i + 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _after_blanks(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t) -> cython.Py_ssize_t:
    while i < len(text) and (text[i] == BLANK or text[i] == TAB or text[i] == RETURN):
        i += 1
    return i


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _after_spaces(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t) -> cython.Py_ssize_t:
    while i < len(text) and (text[i] == BLANK or text[i] == RETURN):
        i += 1
    return i


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _after_tab(text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Where the field after one tab begins; -1 where there is none."""
    i = _after_spaces(text, i)
    return _after_spaces(text, i + 1) if i < len(text) and text[i] == TAB else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _after_separator(
    text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, separator: cython.int
) -> cython.Py_ssize_t:
    """Where the next field begins; -1 where there is none."""
    j: cython.Py_ssize_t = _after_blanks(text, i)
    if separator in (0, TAB):
        return j if i < j < len(text) and text[j] != NEWLINE else -1
    return _after_blanks(text, j + 1) if j < len(text) and text[j] == separator else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _end_of_integer(
    text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Where an integer of 64 bits ends; -1 where there is none."""
    start: cython.Py_ssize_t
    value: cython.longlong = 0
    digit: cython.int
    if i >= len(text):
        return -1
    if text[i] == MINUS or text[i] == PLUS:
        i += 1
    start = i
    while i < len(text) and ZERO <= text[i] <= ZERO + 9:
        digit = text[i] - ZERO
        if value > LARGEST_TENTH or (value == LARGEST_TENTH and digit > 7):
            return -1
        value = value * 10 + digit
        i += 1
    return i if i > start else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _integer(
    text: cython.const[cython.uchar][::1], begin: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.longlong:
    value: cython.longlong = 0
    i: cython.Py_ssize_t
    for i in range(begin, end):
        if text[i] >= ZERO:
            value = value * 10 + (text[i] - ZERO)
    return -value if text[begin] == MINUS else value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _other(
    text: cython.const[cython.uchar][::1], i: cython.Py_ssize_t, separator: cython.int
) -> cython.Py_ssize_t:
    """The end of a field that is not read; in quotes it may hold separators."""
    if separator and i < len(text) and text[i] == QUOTE:
        i += 1
        while i < len(text) and text[i] != NEWLINE:
            if text[i] == QUOTE:
                if i + 1 >= len(text) or text[i + 1] != QUOTE:
                    break
                i += 1
            i += 1
    while i < len(text) and text[i] != NEWLINE and text[i] != separator:
        if separator == 0 and (text[i] == BLANK or text[i] == TAB):
            break
        i += 1
    return i
