"""Averages over instances, with intervals for other instances."""

from collections.abc import Iterable, Sequence
from math import expm1, fsum, log1p

LEVEL = 0.95  # the coverage that an interval aims at, unless told otherwise
FEW = 10  # instances below which a bootstrap interval is rough: it then covers less than it aims at
MANY = 2_500  # instances from which on resampling is replaced by its limit, the normal interval

RESAMPLES = 2_000

SHIFT_GAP = 0.01  # the shift for gaps: one percent of the reference
SHIFT_SECONDS = 0.001  # the shift for the times of policies: a millisecond


def shifted_geometric_mean(values: Iterable[float], shift: float) -> float | None:
    """Return the shifted geometric mean of values v_1, ..., v_n, None where one is at most -s.

    It is exp(mean of log(v_i + s)) - s. Where a geometric mean is ruled by the smallest values, and
    an arithmetic mean by the largest, this one is ruled by neither; the shift s > 0 says what is
    small (Achterberg, Constraint Integer Programming, PhD thesis, TU Berlin, 2007, appendix A).
    """
    found = list(values)
    if not found or min(found) <= -shift:
        return None
    # log(1 + v/s), that values far below the shift keep their digits.
    return shift * expm1(fsum(log1p(value / shift) for value in found) / len(found))


def interval(
    groups: Sequence[Sequence[float]],
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[float, float]:
    """Return an interval that aims to cover the mean of values in groups, such as runs by instance.

    Whole groups are resampled, since runs on one instance are not independent, and the percentiles
    of the means are read off (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section
    13.3). From `MANY` groups on it is the normal interval of a ratio of sums instead, which is what
    the percentiles tend to. No group may be empty; the same seed gives the same interval.
    """
    import numpy as np

    counts = np.array([len(group) for group in groups], dtype=np.float64)
    sums = np.array([fsum(group) for group in groups])
    if len(groups) >= MANY:
        from statistics import NormalDist

        mean = sums.sum() / counts.sum()
        error = np.sqrt(((sums - mean * counts) ** 2).sum()) / counts.sum()
        half = NormalDist().inv_cdf((1 + level) / 2) * float(error)
        return float(mean) - half, float(mean) + half
    draw = np.random.Generator(np.random.PCG64(seed))
    means = np.empty(resamples)
    step = max(1, 5_000_000 // len(groups))  # memory for so many at a time
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        picked = draw.integers(len(groups), size=(count, len(groups)))
        means[start : start + count] = sums[picked].sum(axis=1) / counts[picked].sum(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
