"""Floating-point intervals that contain the true value under any rounding.

The four operations on floats are exact up to the last bit (IEEE 754), so they are bounded by the
next floats outwards. Logarithm and exponential are computed from these alone, by series with a
priori error bounds; no library function is trusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LN2 = 0.6931471805599453
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2 in two parts; the product of the first with integers up to 2^20 is exact."""
LOG_ERROR, EXP_ERROR = 2.0**-46, 2.0**-48
"""Relative errors of the series below, about four times those of the analysis at each."""
MOST_EXPONENT = 690.0


def _round_down(x: Floats) -> Floats:
    return np.nextafter(x, -inf)


def _round_up(x: Floats) -> Floats:
    return np.nextafter(x, inf)


@dataclass(frozen=True)
class Interval:
    """Bounds on numbers, of any shape that broadcasts."""

    low: Floats
    high: Floats

    @staticmethod
    def exactly(x: Floats | float) -> Interval:
        """Return floats as exact intervals."""
        array = np.asarray(x, dtype=np.float64)
        return Interval(array, array)

    @staticmethod
    def decimals(x: Floats | float) -> Interval:
        """Return intervals around floats that contain the decimals of the file."""
        array = np.asarray(x, dtype=np.float64)
        whole = array == np.round(array)  # whole numbers up to 2^53 are what was written
        whole &= np.abs(array) < 2.0**53
        return Interval(
            np.where(whole, array, _round_down(array)), np.where(whole, array, _round_up(array))
        )

    def __add__(self, other: Interval) -> Interval:
        """Return sums."""
        return Interval(_round_down(self.low + other.low), _round_up(self.high + other.high))

    def __sub__(self, other: Interval) -> Interval:
        """Return differences."""
        return Interval(_round_down(self.low - other.high), _round_up(self.high - other.low))

    def __mul__(self, other: Interval) -> Interval:
        """Return products."""
        corners = np.array(
            np.broadcast_arrays(
                self.low * other.low,
                self.low * other.high,
                self.high * other.low,
                self.high * other.high,
            )
        )
        return Interval(_round_down(corners.min(axis=0)), _round_up(corners.max(axis=0)))

    def __truediv__(self, other: Interval) -> Interval:
        """Return quotients by numbers over 0."""
        if not (other.low > 0).all():
            raise ValueError("a division by what may be 0")
        return self * Interval(_round_down(1.0 / other.high), _round_up(1.0 / other.low))

    def total(self, axis: int = -1) -> Interval:
        """Return sums along an axis; n - 1 last bits of the sum of absolute values are lost."""
        sizes = np.maximum(np.abs(self.low), np.abs(self.high)).sum(axis=axis)
        count = self.low.shape[axis]
        error = _round_up(sizes * (count * 2.0**-51))
        return Interval(
            _round_down(self.low.sum(axis=axis) - error),
            _round_up(self.high.sum(axis=axis) + error),
        )

    def log(self) -> Interval:
        """Return logarithms of numbers over 0."""
        low, high = _log(self.low), _log(self.high)
        return Interval(low - np.abs(low) * LOG_ERROR, high + np.abs(high) * LOG_ERROR)

    def exp(self) -> Interval:
        """Return exponentials; beyond the range of floats, only that they are positive."""
        low = np.where(self.low < -MOST_EXPONENT, 0.0, _exp(self.low) * (1.0 - EXP_ERROR))
        high = _exp(np.maximum(self.high, -MOST_EXPONENT)) * (1.0 + EXP_ERROR)
        return Interval(low, np.where(self.high > MOST_EXPONENT, inf, high))

    def power(self, exponent: Interval) -> Interval:
        """Return powers of numbers over 0."""
        return (self.log() * exponent).exp()


def _log(x: Floats) -> Floats:
    """Return log x by x = f 2^e, sqrt(1/2) <= f < sqrt 2, and log f = 2 artanh((f - 1)/(f + 1)).

    With z = (f-1)/(f+1), |z| < 0.1716, z² < 0.0295, twelve terms of the series leave less than
    1e-19 of it. f - 1 is exact, so z is off by 2 half last bits (of size 2^-53), the sum of the
    series by 3, log f by 8 in all. Where e is not 0, |log x| >= 0.3465, at least half of |e ln 2|
    and no less than |log f|: it is off by 4 + 8 + 1 half last bits, under 2^-48.
    """
    f, e = np.frexp(x)
    small = f < np.sqrt(0.5)
    f, e = np.where(small, 2.0 * f, f), e - small
    z = (f - 1.0) / (f + 1.0)
    w = z * z
    series = np.zeros_like(w)
    for k in range(11, -1, -1):
        series = series * w + 1.0 / (2 * k + 1)
    return np.asarray(e * LN2 + 2.0 * z * series)


def _exp(x: Floats) -> Floats:
    """Return exp x by x = n ln 2 + r, |r| < 0.35, and eighteen terms of the series of exp r.

    n times the high part of ln 2 is exact, and so is its difference to x; the low part's product
    and the last difference are off by less than 2^-54 in all, which is the relative error that it
    makes of exp r. The series leaves 1e-23, and rounding in it costs 4 half last bits.
    """
    x = np.clip(x, -MOST_EXPONENT, MOST_EXPONENT)
    n = np.rint(x / LN2)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    series = np.ones_like(r)
    for k in range(18, 0, -1):
        series = series * r / k + 1.0
    return np.asarray(np.ldexp(series, n.astype(np.int64)))
