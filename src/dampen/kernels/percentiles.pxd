from dampen.kernels.primitives cimport *

cpdef at_zero(StridedDoubles values, double m, Doubles reach, Doubles gap)
cpdef exact_sums(StridedDoubles above, StridedDoubles below, double unit)
cpdef taut_step(Doubles low, Doubles high, double alpha, double first, double step, double least, double
    largest, Doubles owner, Doubles place, Doubles weight, OutDoubles owners, OutDoubles places,
    OutDoubles weights)
cdef inline void _fill_from_above(Doubles high, double alpha, double first, double step, Doubles owner, Doubles
    place, Doubles weight, OutDoubles older, OutDoubles found) noexcept nogil
