from dampen.kernels.primitives cimport *

cdef class Merging:
    cdef OutLongs2 given, out
    cdef Size begin, size
    cdef Long N
    cdef double bound

cdef class Sides:
    cdef OutLongs2 below, side
    cdef OutLongs leads
    cdef OutDoubles means

cpdef count_tables(Shorts2 codes, Longs classes, Longs order, Longs begins, Longs starts, OutLongs3 tables)
cpdef group_rows(Longs node_of_row, Size nodes)
cpdef move_rows(Shorts2 codes, OutLongs node_of_row, Longs attribute, Longs route_start, Longs routes)
cdef inline Long _sum(StridedLongs2 table, Size j) noexcept nogil
cpdef impurities(StridedLongs2 table, Longs starts, double order)
cdef inline double _impurity(StridedLongs2 table, Size j, Size c, Long a, double order) noexcept nogil
cdef inline double _phi_difference(Long n, Long m) noexcept nogil
cdef inline double _value(Longs2 pieces, Size i, Long t, Long N, double bound) noexcept nogil
cdef inline double _telescoped(Long x, Long length) noexcept nogil
cdef inline double _piece_sum(Longs2 pieces, Size i, Long t1, Long N, double bound) noexcept nogil
cdef inline Size _frontier(StridedLongs2 table, Size begin, Size end, OutLongs2 lines) noexcept nogil
cdef inline void _lines_alone(OutLongs2 lines, Size count, Long N, OutLongs2 out, OutLongs begins) noexcept nogil
cdef inline Size _append(OutLongs2 out, Size size, Long t0, Long kind, Long n, Long m) noexcept nogil
cdef inline void _emit(Merging work, Long t0, Size p) noexcept nogil
cdef inline Long _turn(Merging work, Size p, Size q, Long lo, Long hi) noexcept nogil
cdef inline bint _wins(Merging work, Size p, Size q, Long t) noexcept nogil
cdef inline void _emit_monotone(Merging work, Size p, Size q, Long lo, Long hi) noexcept nogil
cdef inline void _emit_larger(Merging work, Size p, Size q, Long lo, Long hi) noexcept nogil
cdef inline void _merge(Merging work, Size p, Size q, Size end) noexcept nogil
cdef inline Size _merge_pairs(Merging work, OutLongs begins, Size count) noexcept nogil
cpdef envelopes(StridedLongs2 table, Longs starts, Long N, double bound)
cpdef _fill_sums_before(Longs begins, Longs2 pieces, Long N, double bound, OutDoubles sums)
cpdef envelope(Longs begins, Longs2 pieces, Doubles sums, Longs t, Long N, double bound)
cpdef draw_splits(Longs3 words, StridedLongs2 splits, Longs first_split, Longs first, Bytes2 allowed,
    OutLongs2 attribute, OutLongs2 low, OutLongs2 high, Longs start, Longs widths)
cdef inline bint _tells_apart(Size leaf, Size level, Long k, Longs first, Bytes2 allowed, OutLongs2 attribute,
    OutLongs2 low, OutLongs2 high, Longs start, Longs widths) noexcept nogil
cdef inline Long _end(Shorts2 codes, Size row, Long leaf, Longs2 attribute, Longs2 low, Longs2 high,
    OutLongs2 places, Size tree, Size levels) noexcept nogil
cpdef count_ends(Shorts2 codes, Ints2 cells, Longs slot, Longs2 attribute, Longs2 low, Longs2 high,
    Longs start, Longs widths, Long begin, Size width, OutLongs5 tables)
cdef inline void _count_rows(OutLongs counts, Size table, Longs rows, Size begin, Size end, Ints2 cells,
    Size width, OutLongs5 tables) noexcept nogil
cdef inline void _fill_difference(OutLongs5 tables, Size leaf, Size tree, Long end) noexcept nogil
cpdef end_cells(Shorts2 codes, Longs classes, Longs slot, Longs2 attribute, Longs2 low, Longs2 high,
    Longs start, Longs widths, Long begin, Long stop, Longs first, Long n_classes)
cdef inline Long _largest(StridedLongs2 counts, Size i) noexcept nogil
cdef inline double _powers_below(StridedLongs2 counts, Size i, Long largest, double epsilon,
    Doubles powers) noexcept nogil
cdef inline double _power(Long below, double epsilon, Doubles powers) noexcept nogil
cpdef log_means(StridedLongs2 counts, double epsilon, Doubles powers)
cdef inline void _fill_sides(StridedLongs3 tables, Size i, StridedLongs2 splits, double epsilon, Doubles powers,
    Sides work) noexcept nogil
cpdef split_weights(StridedLongs3 tables, StridedLongs2 splits, StridedDoubles log_prior, double epsilon,
    Doubles powers)
cpdef end_weights(StridedLongs3 tables, StridedLongs2 counts, StridedLongs2 splits, StridedDoubles prior,
    double epsilon, Doubles powers)
