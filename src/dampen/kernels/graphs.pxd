from dampen.kernels.primitives cimport *

cpdef both_ways(Longs begin, Longs end, Ints higher, Longs degrees)
cpdef by_degree(Longs first, Ints to)
cpdef weighted_degrees(Longs first, Ints to, Longs nodes, Longs weights, OutLongs result)
cpdef peel(Longs first, Ints to, OutLongs core)
cpdef rows_in_order(Size begin, Size end, Ints src, Ints dst, OutLongs first, OutInts to, OutInts above)
cpdef count_cells(Size begin, Size end, Ints src, Ints dst, int shift, OutLongs counts)
cpdef deal(Size begin, Size end, Ints src, Ints dst, int shift, Longs bucket, OutLongs place, OutWords pairs)
cpdef fill_rows(Size begin, Size end, Size node, Size node_end, Words pairs, OutLongs length, OutInts to,
    OutInts above, OutWords bits)
cpdef parsed(Bytes text, int separator, int columns, int first, int second)
cdef inline Size _plain_line(Bytes text, Size i, int separator, OutLongs2 found, Size n) noexcept nogil
cdef inline Size _after_blanks(Bytes text, Size i, int blank) noexcept nogil
cdef inline Size _after_separator(Bytes text, Size i, int separator, int blank) noexcept nogil
cdef inline Size _quoted_integer(Bytes text, Size i, OutLongs2 found, Size end, Size n) noexcept nogil
cdef inline Size _other(Bytes text, Size i, int separator) noexcept nogil
cpdef count_oriented(Size begin, Size end, Longs begins, Longs ends, Ints to, Longs level, OutInts result)
cpdef fill_touching(Size begin, Size end, Longs begins, Longs ends, Ints to, Bytes chosen, OutInts low,
    OutInts high)
cpdef fill_lists(Ints low, Ints high, Longs begins, Longs ends, Ints to, Bytes on_it, OutInts last, Bytes
    long, Long length)
cdef inline Size _smallest(OutInts values, Size size, Long rank, Size n) noexcept nogil
cpdef count_outside(Ints low, Ints high, Ints number, Bytes on_it, OutLongs result)
cpdef fill_words(Ints low, Ints high, Ints number, Bytes on_it, int begin, OutWords words)
cpdef count_triangles(Size begin, Size end, Longs begins, Longs ends, Ints to, Ints last, Words words,
    OutLongs result)
cpdef outside_and_triangles(Size begin, Size end, Longs first, Ints to, Longs nodes, Bytes on_it, Ints last,
    OutBytes mark, Bytes stop, OutLongs2 result)
