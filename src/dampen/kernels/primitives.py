"""What kernels share; `primitives.pxd` has the same in C."""


def popcount(word: int) -> int:
    """The number of ones in an unsigned 64-bit word."""
    return word.bit_count()


def trailing_zeros(word: int) -> int:
    """The place of the lowest one of an unsigned 64-bit word that is not zero."""
    return (word & -word).bit_length() - 1


def lost(total: float, term: float, new: float) -> float:
    """What is lost by rounding total + term to new (Neumaier)."""
    if abs(total) >= abs(term):
        return (total - new) + term
    return (term - new) + total


def heed() -> None:
    """Where a long kernel lets an interrupt through; Python does so everywhere."""
