"""The forward messages of a chain whose links prefer a given distance: one pass per link."""

from __future__ import annotations

import numpy as np

from dampen.kernels.uncompiled import kernel

try:
    import cython
except ImportError:
    from dampen.kernels import uncompiled as cython
if cython.compiled:
    from cython.cimports.dampen.kernels.primitives import heed
    from cython.cimports.libc.math import exp
else:
    from math import exp

    from dampen.kernels.primitives import heed


@kernel
def forward(
    cells: cython.const[cython.double][:, ::1],
    alpha: cython.double,
    floor: cython.double,
    steps: cython.const[cython.double][:],
    messages: cython.double[:, ::1],
) -> None:
    """Fills messages[j, c], the weight of all chains that end in cell c with their j-th link.

    messages[0] is given.  With v = messages[j-1] * base,

        messages[j, c] = Σ over i <= c of v[i] (exp(-alpha d) + floor),
                     d = |place[c] - place[i] - steps[j-1]|,

    each row divided by a power of two.  Cells from which the distance is too long are summed in
    `left`, which decays as c moves on; those from which it is too short are a queue, kept as two
    sums of which neither ever has anything subtracted: `older`, by first cell, up to the cell
    `split`, and `newer`, of the cells after it.  So no digit is ever cancelled.

    Args:
        cells: three rows: place, which never decreases; base, the weight of each cell; and decay,
            exp(-alpha (place[c] - place[c-1])).
        alpha: at least 0.
        floor: above 0.
        steps: the preferred distances of all links but the first.
        messages: one row per link.
    """
    size: cython.Py_ssize_t = cells.shape[1]
    v: cython.double[::1] = memoryview(np.empty(size))
    older: cython.double[::1] = memoryview(np.empty(size))
    place: cython.double[::1] = memoryview(np.array(cells)[0])
    decay: cython.double[::1] = memoryview(np.array(cells)[2])
    first: cython.Py_ssize_t
    split: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    c: cython.Py_ssize_t
    step: cython.double
    left: cython.double
    right: cython.double
    newer: cython.double
    total: cython.double
    top: cython.double
    scale: cython.double
    with cython.nogil:
        for j in range(1, messages.shape[0]):
            heed()
            step = steps[j - 1]
            for i in range(size):
                v[i] = messages[j - 1, i] * cells[1, i]
            first = 0
            split = -1
            left = 0.0
            newer = 0.0
            total = 0.0
            top = 0.0
            for c in range(size):
                total += v[c]
                left *= decay[c]
                newer += v[c] * exp(-alpha * (place[c] - place[split + 1]))
                while first <= c and place[c] - place[first] >= step:
                    left += v[first] * exp(-alpha * (place[c] - place[first] - step))
                    first += 1
                right = 0.0
                if first > c:
                    split = c
                    newer = 0.0
                else:
                    if first > split:
                        older[c] = v[c]
                        for i in range(c - 1, first - 1, -1):
                            older[i] = older[i + 1] * decay[i + 1] + v[i]
                        split = c
                        newer = 0.0
                    right = older[first]
                    if split < c:
                        right += newer * exp(-alpha * (place[split + 1] - place[first]))
                    right *= exp(-alpha * (step - (place[c] - place[first])))
                messages[j, c] = left + right + floor * total
                top = max(top, messages[j, c])
            scale = 1.0
            while top >= 1.0:
                top /= 2.0
                scale /= 2.0
            while 0.0 < top < 0.5:
                top *= 2.0
                scale *= 2.0
            for c in range(size):
                messages[j, c] *= scale
