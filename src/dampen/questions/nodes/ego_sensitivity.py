"""q(m) and the two sensitivity functions of egocentric betweenness, in closed form.

The theory is in `dampen.questions.nodes.betweenness`.
"""

from dataclasses import dataclass

import numpy as np

from dampen.core.selection import FloatArray, IntArray


def q(m: int) -> float:
    """max(m(m-1)/4, m): how much one edge can change the EBC of a node of degree m, at most."""
    return max(m * (m - 1) / 4, float(m))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EgoSensitivity:
    """min(max((C+t)(C+t-1)/4, d+t), cap), in closed form; C = d gives min(q(d+t), cap).

    Guarantee: `at_each` and `sum_to` have a relative error of at most 2^-50: all terms are positive
    but one, which is a third of what it is taken from, and each is a product of integers up to a
    few roundings.  Where those products are below 2^53, `at_each` is exact.

    Attributes:
        d, C: degrees and codegrees, C <= d; integers, as floats.
        cap, horizon: public; δ has reached the cap by then.
        curve: from this t on the first term of the maximum is the larger one.
        top: from this t on δ is the cap.
    """

    d: FloatArray
    C: FloatArray
    cap: float
    horizon: int
    curve: FloatArray
    top: FloatArray

    @classmethod
    def of(cls, d: IntArray, C: IntArray, cap: float, horizon: int) -> "EgoSensitivity":
        # (C+t)(C+t-1) >= 4(d+t), in m = C+t: m² - 5m >= 4(d-C), for good from its larger root on.
        # The root in floats may be off by one; two exact comparisons correct that.
        m = ((5 + np.sqrt(25 + 16.0 * (d - C))) / 2).astype(np.int64) - 1
        for _ in range(3):
            m += m * (m - 5) < 4 * (d - C)
        top = np.minimum(_first_above(cap) - C, int(np.ceil(cap)) - d)
        numbers = d, C, np.maximum(m - C, 0), np.clip(top, 0, horizon)
        degrees, codegrees, curve, end = (x.astype(np.float64) for x in numbers)
        return cls(degrees, codegrees, cap, horizon, curve, end)

    def part(self, candidates: slice, /) -> "EgoSensitivity":
        d, C, curve, top = (a[candidates] for a in (self.d, self.C, self.curve, self.top))
        return EgoSensitivity(d, C, self.cap, self.horizon, curve, top)

    def at(self, t: int, /) -> FloatArray:
        return self._at(t)

    def at_each(self, t: IntArray, /) -> FloatArray:
        return self._at(t)

    def _at(self, t: int | IntArray) -> FloatArray:
        m = self.C + t
        delta = m * (m - 1)
        delta *= 0.25
        np.maximum(delta, self.d + t, out=delta)
        return np.minimum(delta, self.cap, out=delta)

    def sum_to(self, t: IntArray, /) -> FloatArray:
        return self._sum(t)

    def _sum(self, t: IntArray | FloatArray) -> FloatArray:
        if t.max(initial=0) <= 1:
            return t * self._at(0)
        below = np.minimum(t, self.top)
        straight = np.minimum(below, self.curve)
        # The sum of m(m-1)/4 over a <= m < b is (b-a) ((a+b)(a+b-3) - ab + 2) / 12.
        a = self.C + straight
        b = self.C + below
        both = a + b
        squares = both * (both - 3)
        squares -= a * b
        squares += 2
        b -= a
        squares *= b
        squares /= 12
        squares += straight * (2 * self.d + (straight - 1)) * 0.5
        squares += (t - below) * self.cap
        return squares

    def steps_within(self, u: FloatArray, /) -> IntArray:
        """The largest t with `sum_to(t)` <= u.

        EBC <= 2 q(d) is within two steps of the degree version.
        """
        one = self._at(0)
        two = self._at(1)
        two += one
        if (u < two).all():
            return (u >= one).astype(np.int64)
        return self._by_roots(u)

    def _by_roots(self, u: FloatArray) -> IntArray:
        """The sums are a parabola, then a cubic, then a line.

        With B = 2d - 1, the root of t² + Bt = 2u is 4u / (B + sqrt(B² + 8u)), without cancellation.
        """
        B = 2 * self.d - 1
        t = np.sqrt(B * B + 8 * u)
        t += B
        t = 4 * u / np.maximum(t, 1e-300)
        curved = t > self.curve
        if curved.any():
            np.copyto(t, self._along_the_curve(u), where=curved)
        at_top = self._sum(self.top)
        above = u >= at_top
        if above.any():
            np.copyto(t, self.top + np.maximum(u - at_top, 0) / self.cap, where=above)
        return t.astype(np.int64)

    def _along_the_curve(self, u: FloatArray) -> FloatArray:
        """The sum of m(m-1)/4 over m < M is (y³ - y) / 12 with y = M - 1.

        Of y³ - y = v, for y >= 1, the root is cbrt(v) and one step of Newton's method.
        """
        start = self.C + (self.curve - 1)
        v = 12 * (u - self._sum(self.curve)) + start * (start * start - 1)
        y = np.cbrt(np.maximum(v, 1.0))
        y -= (y * (y * y - 1) - v) / (3 * y * y - 1)
        return y + 1 - self.C


def _first_above(cap: float) -> int:
    """The smallest m with m(m-1)/4 >= cap."""
    m = int(np.sqrt(4 * cap))
    while m * (m - 1) / 4 < cap:
        m += 1
    return m
