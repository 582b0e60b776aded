from cpython.exc cimport PyErr_CheckSignals


cdef inline int popcount(unsigned long long word) noexcept nogil:
    # One instruction where the processor has it: compilers know this by sight.
    word = word - ((word >> 1) & 0x5555555555555555ULL)
    word = (word & 0x3333333333333333ULL) + ((word >> 2) & 0x3333333333333333ULL)
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0FULL
    return (word * 0x0101010101010101ULL) >> 56


cdef inline int trailing_zeros(unsigned long long word) noexcept nogil:
    return popcount((word & (~word + 1)) - 1)


cdef inline double lost(double total, double term, double new) noexcept nogil:
    if abs(total) >= abs(term):
        return (total - new) + term
    return (term - new) + total


cdef inline int heed() except -1 nogil:
    with gil:
        return PyErr_CheckSignals()
