"""Upper bounds on speedups, in intervals: values and slopes at any number of servers.

A concave speedup lies below its tangents. Each function returns, for servers k0, bounds with
s(k) <= value + right (k - k0) for k >= k0 and s(k) <= value + left (k - k0) for k <= k0.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from schedopt.instances.hesrpt import Amdahl, Instance, Power, Table
from schedopt.validation.hesrpt.intervals import Floats, Interval

LEAST = 1e-280  # fewest servers at which a power has a finite tangent
Above = tuple[Floats, Floats, Floats]  # value, right and left slope, each of the shape of k0


class Curve(Protocol):
    """A speedup for the proofs: ``demand`` is an estimate, the other methods are rigorous."""

    def demand(self, steepness: Floats) -> Floats:
        """Return approximately the k at which the slope is ``steepness``."""
        ...

    def upper_lines(self, k0: Floats) -> Above:
        """Return upper bounds of value and slopes."""
        ...

    def values(self, k: Floats) -> Interval:
        """Return s(k), at whole numbers."""
        ...


@dataclass(frozen=True)
class PowerCurve:
    """s(k) = k^p."""

    p: float

    def demand(self, steepness: Floats) -> Floats:
        """Return (p/steepness)^(1/(1-p)), no more than floats hold."""
        with np.errstate(divide="ignore", over="ignore"):
            exponent = np.log(self.p / steepness) / max(1.0 - self.p, 1e-300)
        return np.asarray(np.exp(np.clip(exponent, -600.0, 600.0)))

    def upper_lines(self, k0: Floats) -> Above:
        """Return the tangent: value k0^p, slope p k0^p / k0."""
        k, p = Interval.exactly(np.maximum(k0, LEAST)), Interval.decimals(self.p)
        value = k.power(p)
        slope = p * value / k
        return value.high, slope.high, slope.low

    def values(self, k: Floats) -> Interval:
        """Return k^p."""
        powers = Interval.exactly(np.maximum(k, 1.0)).power(Interval.decimals(self.p))
        return Interval(np.where(k < 1, 0.0, powers.low), np.where(k < 1, 0.0, powers.high))


@dataclass(frozen=True)
class AmdahlCurve:
    """s(k) = k / ((1 - f) k + f)."""

    f: float

    def demand(self, steepness: Floats) -> Floats:
        """Return (sqrt(f/steepness) - f)/(1 - f), no more than floats hold."""
        with np.errstate(divide="ignore"):
            root = np.sqrt(self.f / steepness) - self.f
        return np.clip(root / max(1.0 - self.f, 1e-300), 0.0, 1e250)

    def upper_lines(self, k0: Floats) -> Above:
        """Return the tangent: value k/D, slope f/D², D = (1 - f) k + f."""
        k, f = Interval.exactly(np.maximum(k0, LEAST)), Interval.decimals(self.f)
        below = self._denominator(k)
        return (k / below).high, (f / below / below).high, (f / below / below).low

    def values(self, k: Floats) -> Interval:
        """Return k/D."""
        return Interval.exactly(k) / self._denominator(Interval.exactly(k))

    def _denominator(self, k: Interval) -> Interval:
        f = Interval.decimals(self.f)
        below = (Interval.exactly(1.0) - f) * k + f
        return Interval(np.maximum(below.low, LEAST), below.high)


class TableCurve:
    """A piecewise linear speedup, constant after the last point."""

    def __init__(self, servers: Interval, speeds: Interval) -> None:
        self.k, self.s = servers, speeds
        step = Interval(servers.low[1:], servers.high[1:]) - Interval(
            servers.low[:-1], servers.high[:-1]
        )
        rise = Interval(speeds.low[1:], speeds.high[1:]) - Interval(
            speeds.low[:-1], speeds.high[:-1]
        )
        slopes = rise / step
        # Rounding of measured points is forgiven: later slopes count as large as any after them.
        self.right = np.append(np.maximum.accumulate(slopes.high[::-1])[::-1], 0.0)
        self.left = np.minimum.accumulate(slopes.low)
        self.guess = 0.5 * (slopes.low + slopes.high)

    def demand(self, steepness: Floats) -> Floats:
        """Return the point after which slopes are at most ``steepness``."""
        falling = -np.minimum.accumulate(self.guess)
        at = np.searchsorted(falling, -np.asarray(steepness), side="left")
        return np.asarray(self.k.high[np.minimum(at, len(self.k.high) - 1)])

    def upper_lines(self, k0: Floats) -> Above:
        """Return an upper bound on s(k0), and bounds on the slopes after and before k0.

        The speedup has at most the slope ``right`` after k0, and at least the slope ``left`` before
        it, within rounding of the points.
        """
        last = len(self.k.low) - 1
        at = np.clip(np.searchsorted(self.k.high, k0, side="right") - 1, 0, last)
        point = k0 == self.k.high[at]
        start = Interval(self.k.low[at], self.k.high[at])
        beyond = Interval.exactly(k0) - start
        value = Interval(self.s.low[at], self.s.high[at]).high
        value = value + np.maximum(beyond.high, 0.0) * self.right[at] * (1.0 + 1e-15)
        before = np.maximum(np.where(point, at - 1, np.minimum(at, last - 1)), 0)
        left = np.where((at == last) & ~point, 0.0, self.left[before])
        return np.nextafter(value, np.inf), self.right[at], left

    def values(self, k: Floats) -> Interval:
        """Return the values on segments, within rounding."""
        high, middle = self.upper_lines(k)[0], np.interp(k, self.k.high, self.s.high)
        rounding = 1e-12 * np.maximum(high, float(self.s.high.max()))
        return Interval(np.maximum(middle - rounding, 0.0), np.maximum(high, middle + rounding))


def curve_of(instance: Instance) -> Curve:
    """Return the speedup of the first job as a curve, from the raw fields."""
    speedup = instance.jobs[0].speedup or instance.speedup
    if isinstance(speedup, Power):
        curve: Curve = PowerCurve(speedup.p)
    elif isinstance(speedup, Amdahl):
        curve = AmdahlCurve(speedup.parallel)
    elif isinstance(speedup, Table):
        corners = np.array(sorted({(0.0, 0.0), *speedup.points}))
        curve = TableCurve(Interval.decimals(corners[:, 0]), Interval.decimals(corners[:, 1]))
    else:
        raise TypeError(f"no curve for {speedup}")
    return _time_shared(curve, instance.servers) if instance.whole else curve


def _time_shared(curve: Curve, servers: int, most: int = 20_000) -> TableCurve:
    """Return the speedup for time shared between the two nearest integers of servers.

    Raises
    ------
    ValueError
        If there are more than ``most`` servers.
    """
    if servers > most:
        raise ValueError(f"more than {most} whole servers")
    k = np.arange(servers + 1.0)
    return TableCurve(Interval.exactly(k), curve.values(k))
