# The types of kernels, and in C what `primitives.py` has in Python.
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport exp, log, log1p, sqrt

ctypedef Py_ssize_t Size
ctypedef long long Long
ctypedef unsigned long long Word
# Arrays that are read; strided ones may be views of others.
ctypedef const unsigned char[::1] Bytes
ctypedef const unsigned char[:, ::1] Bytes2
ctypedef const short[:, ::1] Shorts2
ctypedef const int[::1] Ints
ctypedef const int[:, ::1] Ints2
ctypedef const unsigned int[::1] Uints
ctypedef const long long[::1] Longs
ctypedef const long long[:, ::1] Longs2
ctypedef const long long[:, :, ::1] Longs3
ctypedef const unsigned long long[::1] Words
ctypedef const double[::1] Doubles
ctypedef const long long[:, :] StridedLongs2
ctypedef const long long[:, :, :] StridedLongs3
ctypedef const double[:] StridedDoubles
# Arrays that are filled.
ctypedef unsigned char[::1] OutBytes
ctypedef int[::1] OutInts
ctypedef unsigned int[::1] OutUints
ctypedef long long[::1] OutLongs
ctypedef long long[:, ::1] OutLongs2
ctypedef long long[:, :, ::1] OutLongs3
ctypedef long long[:, :, :, :, ::1] OutLongs5
ctypedef unsigned long long[::1] OutWords
ctypedef double[::1] OutDoubles


cdef inline int popcount(Word word) noexcept nogil:
    # One instruction where the processor has it: compilers know this by sight.
    word = word - ((word >> 1) & 0x5555555555555555ULL)
    word = (word & 0x3333333333333333ULL) + ((word >> 2) & 0x3333333333333333ULL)
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0FULL
    return (word * 0x0101010101010101ULL) >> 56


cdef inline int trailing_zeros(Word word) noexcept nogil:
    return popcount((word & (~word + 1)) - 1)


cdef inline double lost(double total, double term, double new) noexcept nogil:
    if abs(total) >= abs(term):
        return (total - new) + term
    return (term - new) + total


cdef inline Long heed(Long steps) except -1 nogil:
    if steps < (1 << 20) - 1:
        return steps
    with gil:
        PyErr_CheckSignals()
    return 0
