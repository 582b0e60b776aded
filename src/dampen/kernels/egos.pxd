from dampen.kernels.primitives cimport *

cdef class Workspace:
    cdef OutBytes is_hub
    cdef OutInts place, count
    cdef OutUints later, adjacent, touched
    cdef OutLongs start, degree, row, up, members, pairs
    cdef OutWords hubs, classes, words
    cdef Bytes stop
    cdef Long d, e, wedges, h

cpdef betweenness_of(Longs egos, Longs first, Uints to, Longs later, Workspace work, OutDoubles result)
cdef inline void _ego_network(Long c, Longs first, Uints to, Longs later, Workspace work) noexcept nogil
cdef inline void _count_pairs(Long apart, Workspace work) noexcept nogil
cdef inline void _choose_hubs(Workspace work) noexcept nogil
cdef inline Long _pairs_of_classes(Long h, Long d) noexcept nogil
cdef inline void _symmetric_rows(Workspace work) noexcept nogil
cdef inline void _pairs_by_hubs(Workspace work) noexcept nogil
cdef inline Long _classes(Workspace work) noexcept nogil
cdef inline void _sink(OutWords heap, Long i, Long end) noexcept nogil
cdef inline void _correct_by_wedges(Workspace work) noexcept nogil
cdef inline void _pairs_by_bits(Long size, Workspace work) noexcept nogil
cdef inline double _sum_of_shares(Workspace work) noexcept nogil
cpdef fill_words(Longs first, Uints to, Size hub, OutWords words)
cpdef codegrees_of_range(Size begin, Size end, Longs first, Uints to, unsigned int hub, Words words, OutInts common,
    OutUints touched, Bytes stop, OutLongs result)
cpdef shared_hubs(Words words, OutLongs result)
