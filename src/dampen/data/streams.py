"""Bytes of a file, a pipe or standard input, packed or not; a pipe is read once.

The beginning may be looked at before a charge, for the form of a file and its header; `open` gives
everything from the beginning.
"""

import bz2
import codecs
import gzip
import io
import os
import stat
import sys
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, cast

from dampen.errors import DataError, ParameterError

__all__ = ["BROKEN", "HEAD_BYTES", "Bytes", "open_bytes"]

HEAD_BYTES = 1 << 20
"""How much of a text may be looked at for its form: a header line is not longer."""

BUFFER = 1 << 16
MOST_EXPANDED = 1 << 28
MOST_EXPANSION = 200
"""A packed file may expand to 256 MiB in any case, and to 200 times its size."""

BROKEN = (OSError, EOFError, zlib.error)
"""What reading a broken file raises."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bytes:
    """A file that was opened and not read beyond its beginning.

    Attributes:
        title: what errors call it.
        head: its beginning, unpacked.
        path: where it lies, None for a pipe.
        encoding: of its text, if it is not UTF-8; what is read is UTF-8 in any case.
    """

    title: str
    head: bytes
    path: Path | None
    _pipe: Any = None
    encoding: str = ""

    def open(self) -> IO[bytes]:
        """All bytes from the beginning, unpacked and as UTF-8; of a pipe only once."""
        if self.path is None:
            return cast("IO[bytes]", self._pipe)
        return _as_utf8(_unpacked(self.path.open("rb")), self.encoding)

    def in_encoding(self, encoding: str) -> "Bytes":
        """The same text, whose bytes are in this encoding.

        Raises:
            ParameterError: if there is no such encoding of text, or this is a pipe.
        """
        try:
            if not codecs.lookup(encoding)._is_text_encoding:
                raise LookupError
        except (LookupError, ValueError):
            raise ParameterError(
                f"Expected the name of an encoding, such as 'cp1252', got {encoding!r}."
            ) from None
        if self.path is None:
            raise ParameterError("Expected a file where an encoding is stated, not a pipe.")
        start = codecs.getincrementaldecoder(encoding)("replace").decode(self.head)
        return replace(self, head=start.encode(), encoding=encoding)


def open_bytes(path: str | Path) -> Bytes:
    """Opens a file, a pipe or, for `-`, standard input, and looks at its beginning.

    Raises:
        ParameterError: if it cannot be read.
    """
    title = "standard input" if str(path) == "-" else str(path)
    if os.path.isdir(path):
        raise ParameterError(f"Expected a file, but {title} is a directory.")
    try:
        if str(path) == "-":
            return _of_pipe(title, _standard_input())
        file = Path(path)
        if not stat.S_ISREG(file.stat().st_mode):
            return _of_pipe(title, file.open("rb", buffering=0))
        with _unpacked(file.open("rb")) as stream:
            return Bytes(title, stream.read(HEAD_BYTES), file)
    except OSError as error:
        reason = error.strerror or "it is broken"
    except (EOFError, zlib.error, ValueError, DataError):
        reason = "it is broken"
    raise ParameterError(f"Cannot read {title}: {reason}.")


def _standard_input() -> IO[bytes]:
    if not hasattr(sys.stdin, "buffer"):  # closed, or replaced by one of text
        raise OSError(0, "there is none")
    return sys.stdin.buffer


def _of_pipe(title: str, pipe: IO[bytes]) -> Bytes:
    raw = _Unpacked(pipe)
    return Bytes(title, raw.head(HEAD_BYTES), None, io.BufferedReader(raw, BUFFER))


def _as_utf8(stream: IO[bytes], encoding: str) -> IO[bytes]:
    return io.BufferedReader(_Recoded(stream, encoding), BUFFER) if encoding else stream


class _Recoded(io.RawIOBase):
    """Text of another encoding as UTF-8; what cannot be decoded becomes U+FFFD."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._ahead = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._ahead and not self._ended:
            piece = self._stream.read(BUFFER)
            self._ended = not piece
            self._ahead = self._decoder.decode(piece, final=self._ended).encode()
        given = self._ahead[: len(buffer)]
        self._ahead = self._ahead[len(given) :]
        buffer[: len(given)] = given
        return len(given)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def _unpacked(stream: IO[bytes]) -> IO[bytes]:
    return io.BufferedReader(_Unpacked(stream), BUFFER)


class _Unpacked(io.RawIOBase):
    """The bytes of a stream, unpacked if they begin like gzip or bz2."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._packed = _Counted(stream)
        self._ahead = b""
        self._given = 0
        start = self._packed.peek(3)
        self._stream: Any = self._packed
        if start[:2] == b"\x1f\x8b":
            self._stream = gzip.GzipFile(fileobj=cast("IO[bytes]", self._packed))
        elif start[:3] == b"BZh":
            self._stream = bz2.BZ2File(cast("IO[bytes]", self._packed))

    def head(self, limit: int) -> bytes:
        """The first bytes, which stay to be read."""
        while len(self._ahead) < limit and (piece := self._take(limit - len(self._ahead))):
            self._ahead += piece
        return self._ahead

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        piece = self._ahead[: len(buffer)] or self._take(len(buffer))
        self._ahead = self._ahead[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            self._packed.close()
        super().close()

    def _take(self, size: int) -> bytes:
        piece: bytes = self._stream.read(size)
        self._given += len(piece)
        is_packed = self._stream is not self._packed
        if is_packed and self._given > max(MOST_EXPANDED, MOST_EXPANSION * self._packed.taken):
            raise DataError(
                f"Expected a packed file that expands to at most {MOST_EXPANSION} times its size; "
                "this one expands further. Unpack it first."
            )
        return piece


class _Counted:
    """A stream that can be peeked at and knows how many bytes were taken from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._ahead = b""
        self.taken = 0

    def peek(self, size: int) -> bytes:
        while len(self._ahead) < size and (more := self._stream.read(size - len(self._ahead))):
            self._ahead += more
        return self._ahead

    def read(self, size: int = -1) -> bytes:
        if self._ahead:
            piece = self._ahead
            self._ahead = b""
            if size >= 0:
                piece, self._ahead = piece[:size], piece[size:]
        else:
            piece = self._stream.read(size)
        self.taken += len(piece)
        return piece

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self._stream.close()
