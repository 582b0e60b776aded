"""System calls that fail on demand: a full disk and a failed synchronisation, without either.

A filter in the kernel (seccomp) makes the calling process get an error from single system calls.
It lasts for the life of the process, so it is installed in children only.
"""

import ctypes
import errno
import platform
import struct

ERRORS = {"full disk": errno.ENOSPC, "failed sync": errno.EIO}
CALLS = {"full disk": ["pwrite64"], "failed sync": ["fsync", "fdatasync"]}
_NUMBERS = {
    "x86_64": {"pwrite64": 18, "fsync": 74, "fdatasync": 75},
    "aarch64": {"pwrite64": 68, "fsync": 82, "fdatasync": 83},
}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_NO_NEW_PRIVILEGES, _SET_FILTER, _ALL_THREADS = 38, 1, 1
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def supported() -> bool:
    return platform.system() == "Linux" and platform.machine() in _NUMBERS


def inject(fault: str) -> None:
    """From now on these calls fail in this process, in all of its threads."""
    numbers = [_NUMBERS[platform.machine()][call] for call in CALLS[fault]]
    code = [(_LOAD, 0, 0, 0)]
    code += [(_IF_EQUAL, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    code += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _FAIL | ERRORS[fault])]
    packed = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    program = _Program(len(code), ctypes.cast(packed, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    failed = libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    number = _SECCOMP[platform.machine()]
    failed = failed or libc.syscall(number, _SET_FILTER, _ALL_THREADS, ctypes.byref(program))
    if failed:
        raise OSError(ctypes.get_errno(), "no filter of system calls")
