"""Speedup functions, all concave with s(0) = 0.

A constant share therefore does at least as much work as a varying share of the same mean.
"""

from math import inf
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.instances.declarations import CheckedRecord, NonNegative
from schedopt.instances.errors import InputError, expect, quote

Floats = NDArray[np.float64]
Point = tuple[NonNegative, NonNegative]


class _Speedup(CheckedRecord, kw_only=True, tag_field="kind"):
    """Base class of speedups; the kind is the JSON tag."""


class Power(_Speedup, frozen=True, tag="power"):
    """The speedup s(k) = k^p.

    Attributes
    ----------
    p : float
        In (0, 1]; 1 is an embarrassingly parallel job.

    Notes
    -----
    Source: Berg, Vesilo and Harchol-Balter, 2019, section 1.
    """

    p: Annotated[float, msgspec.Meta(gt=0, le=1)]

    def at(self, servers: Any) -> Any:
        """Return s(k) for a number or an array of any shape."""
        return np.asarray(servers, dtype=np.float64) ** self.p

    def servers_for(self, rate: Any) -> Any:
        """Return the least k with s(k) >= rate."""
        with np.errstate(over="ignore"):
            return np.asarray(rate, dtype=np.float64) ** (1 / self.p)

    def knee(self, size_by_alpha: Any) -> Any:
        """Return the k at which one more server reduces x/s(k) by alpha, given x/alpha."""
        return (self.p * np.asarray(size_by_alpha)) ** (1 / (1 + self.p))

    def width(self, cost_by_price: Any) -> Any:
        """Return the k with the least (c + k)/s(k), given c."""
        ratio = self.p / (1 - self.p) if self.p < 1 else inf
        return ratio * np.asarray(cost_by_price)

    def corners(self, most: float) -> Floats:
        """Return where s^2/k can be largest on [1, most]: at an end, since it is monotone."""
        return np.array([most if self.p >= 1 / 2 else 1.0])


class Amdahl(_Speedup, frozen=True, tag="amdahl"):
    """The speedup s(k) = k / ((1 - f)·k + f) of Amdahl's law.

    Attributes
    ----------
    parallel : float
        The parallelizable fraction f, in (0, 1].
    """

    parallel: Annotated[float, msgspec.Meta(gt=0, le=1)]

    def at(self, servers: Any) -> Any:
        """Return s(k) for a number or an array of any shape."""
        k, f = np.asarray(servers, dtype=np.float64), self.parallel
        return k / ((1 - f) * k + f)

    def servers_for(self, rate: Any) -> Any:
        """Return the least k with s(k) >= rate; infinity beyond the limit 1/(1 - f)."""
        r, f = np.asarray(rate, dtype=np.float64), self.parallel
        remaining = 1 - (1 - f) * r
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(remaining > 0, f * r / remaining, inf)

    def knee(self, size_by_alpha: Any) -> Any:
        """Return the k at which one more server reduces x/s(k) by alpha: x f/k^2 = alpha."""
        return np.sqrt(self.parallel * np.asarray(size_by_alpha))

    def width(self, cost_by_price: Any) -> Any:
        """Return the k with the least (c + k)/s(k), given c."""
        f = self.parallel
        return np.sqrt((f / (1 - f) if f < 1 else inf) * np.asarray(cost_by_price))

    def corners(self, most: float) -> Floats:
        """Return where s^2/k can be largest on [1, most]: at about k = f/(1 - f)."""
        f = self.parallel
        best = most if f == 1 else min(max(f / (1 - f), 1.0), most)
        return np.unique(np.clip([np.floor(best), np.ceil(best)], 1.0, most))


class Table(_Speedup, frozen=True, tag="table"):
    """Measured points with linear interpolation from (0, 0), constant after the last point.

    Attributes
    ----------
    points : tuple of (float, float)
        Pairs (servers, speedup) in increasing order; together with (0, 0) they must be concave.
    """

    points: Annotated[tuple[Point, ...], msgspec.Meta(min_length=1)]

    def __post_init__(self) -> None:
        before, slope = (0.0, 0.0), inf
        for i, (k, s) in enumerate(self.points):
            if i == 0 and k == 0:
                expect(s == 0, "0, with no server", s, "points[0][1]")
                continue
            expect(before[0] < k < inf, f"a finite number over {before[0]:g}", k, f"points[{i}][0]")
            expected = f"a finite number over 0, no less than {before[1]:g}"
            expect(max(before[1], 5e-324) <= s < inf, expected, s, f"points[{i}][1]")
            steepness = (s - before[1]) / (k - before[0])
            if steepness > slope * (1 + 1e-12):  # rounding of measured points is forgiven
                raise InputError(
                    "a concave table: a point no higher than the line through the two before it",
                    found=quote(s),
                    place=f"points[{i}][1]",
                )
            before, slope = (k, s), min(slope, steepness)
        if before == (0.0, 0.0):
            raise InputError("a point besides (0, 0)", found="none", place="points")

    def breaks(self) -> tuple[Floats, Floats]:
        """Return servers and speedups of the points, with (0, 0) first, shape (n,) each."""
        points = self.points if self.points[0][0] == 0 else ((0.0, 0.0), *self.points)
        k, s = np.array(points, dtype=np.float64).T
        return k, s

    def at(self, servers: Any) -> Any:
        """Return s(k) for a number or an array of any shape."""
        return np.interp(servers, *self.breaks())

    def servers_for(self, rate: Any) -> Any:
        """Return the least k with s(k) >= rate; infinity above the largest speedup."""
        k, s = self.breaks()
        rising = np.concatenate([[True], np.diff(s) > 0])
        least = np.interp(rate, s[rising], k[rising])
        return np.where(np.asarray(rate) > s[-1], inf, least)

    def knee(self, size_by_alpha: Any) -> Any:
        """Return the least k from which on one more server reduces x/s(k) by at most alpha."""
        k, s = self.breaks()
        slope = np.diff(s) / np.diff(k)
        wanted = np.atleast_1d(np.asarray(size_by_alpha, dtype=np.float64))
        # On segment i the fall x·b/s² meets alpha where s = sqrt(b·x/alpha).
        meets = np.sqrt(wanted[:, None] * slope)
        inside = np.clip(meets, s[:-1], s[1:])
        with np.errstate(divide="ignore", invalid="ignore"):
            place = np.where(slope > 0, k[:-1] + (inside - s[:-1]) / slope, k[:-1])
        needed = np.where(meets > s[:-1], place, 0.0).max(axis=1)
        return needed if np.ndim(size_by_alpha) else needed[0]

    def width(self, cost_by_price: Any) -> Any:
        """Return the k with the least (c + k)/s(k), given c: a point, the first of equals."""
        k, s = (of[1:] for of in self.breaks())
        c = np.asarray(cost_by_price, dtype=np.float64)
        with np.errstate(divide="ignore"):
            return k[((c[..., None] + k) / s).argmin(axis=-1)]

    def corners(self, most: float) -> Floats:
        """Return where s^2/k can be largest on [1, most]; it is convex on each segment."""
        k, _ = self.breaks()
        return np.unique(np.clip([*np.floor(k), *np.ceil(k), most], 1.0, most))


Speedup = Power | Amdahl | Table
