"""How kernels are compiled: cached on disk, without the interpreter's lock."""

from typing import Any

from numba import njit, types
from numba.extending import intrinsic

compiled: Any = njit(nogil=True, cache=True)


@intrinsic
def popcount(_context: Any, word: Any) -> Any:
    """The number of ones in an unsigned 64-bit word."""

    def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate if word == types.uint64 else None


@intrinsic
def trailing_zeros(_context: Any, word: Any) -> Any:
    """The place of the lowest one of an unsigned 64-bit word that is not zero."""

    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), generate if word == types.uint64 else None
