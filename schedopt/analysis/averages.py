"""Averages over instances, with intervals for other instances."""

from collections.abc import Sequence
from math import fsum

FEW = 10  # instances below which a bootstrap interval is rough: it then covers less than it aims at


def interval(
    groups: Sequence[Sequence[float]], *, level: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> tuple[float, float]:
    """Return an interval that aims to cover the mean of values in groups, such as runs by instance.

    Whole groups are resampled, since runs on one instance are not independent, and the percentiles
    of the means are read off (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section
    13.3). No group may be empty; the same seed gives the same interval.
    """
    import numpy as np

    counts = np.array([len(group) for group in groups], dtype=np.float64)
    sums = np.array([fsum(group) for group in groups])
    draw = np.random.Generator(np.random.PCG64(seed))
    means = np.empty(resamples)
    step = max(1, 5_000_000 // len(groups))  # memory for so many at a time
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        picked = draw.integers(len(groups), size=(count, len(groups)))
        means[start : start + count] = sums[picked].sum(axis=1) / counts[picked].sum(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
