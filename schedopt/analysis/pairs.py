"""Two contenders instance by instance, and how sure the difference is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, median

import msgspec

from instances.errors import InputError, listing, shown, suggestion
from schedopt.analysis.contenders import (
    Scores,
    better,
    by_problem,
    contenders,
    counts,
    scored,
)
from schedopt.sweep.rows import Row

FEW = 10
"""Instances below which a bootstrap interval is rough: it then covers less than it aims at."""


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two contenders on the instances on which both have a score.

    The advantage of a on an instance is the difference of the two scores, in a's favour, as a
    fraction of the larger of the two in absolute value: between -1 and 1 for scores of one sign.

    Attributes
    ----------
    problem, a, b : str
    instances, better, same, worse : int
        How many, and on how many of them a is better than b, the same, and worse.
    mean, median : float
        Of a's advantage.
    low, high : float
        The percentile bootstrap interval of the mean over resampled instances (Efron and
        Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3).
    level : float
        The coverage that the interval aims at.
    """

    problem: str
    a: str
    b: str
    instances: int
    better: int
    same: int
    worse: int
    mean: float
    median: float
    low: float
    high: float
    level: float


def paired(
    rows: Iterable[Row],
    a: str,
    b: str,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Pair]:
    """Compare two contenders instance by instance, for each problem that has both.

    Parameters
    ----------
    rows : iterable of Row
    a, b : str
        As in `summary`: a policy, or a policy and its options.
    level : float
        The coverage that the interval aims at.
    resamples, seed : int
        Of the bootstrap: the same seed gives the same interval.

    Raises
    ------
    InputError
        If one of them is not in the rows, or there is no instance on which both have a score.
    """
    rows = list(rows)
    who = contenders(rows)
    known = dict.fromkeys(who.values())
    for name in (a, b):
        if name not in known:
            hint = suggestion(name, known) or listing(known)
            raise InputError(f"a policy in the rows{hint}", found=shown(name))
    found = []
    for problem, mine in by_problem(rows).items():
        scores = scored(problem, mine, who)
        others = scored(problem, mine, who, counts=_other)
        shared = _shared(scores, a, b) + _shared(others, a, b)
        sign = scores.sign
        if shared:
            gains = [sign * (x - y) / (max(abs(x), abs(y)) or 1.0) + 0.0 for x, y in shared]
            low, high = _interval(gains, level, resamples, seed)
            ahead = sum(better(x, y, sign) for x, y in shared)
            behind = sum(better(y, x, sign) for x, y in shared)
            pair = Pair(
                problem=problem, a=a, b=b, level=level,
                instances=len(shared), better=ahead, same=len(shared) - ahead - behind,
                worse=behind, mean=fmean(gains), median=median(gains), low=low, high=high,
            )  # fmt: skip
            found.append(pair)
    if not found:
        raise InputError(f"an instance on which both {a} and {b} count", found="none")
    return found


def _other(row: Row) -> bool:
    """Tell whether a run is sound, but answers another question than the reference."""
    return row.objective is not None and not row.violations and not counts(row)


def _shared(scores: Scores, a: str, b: str) -> list[tuple[float, float]]:
    ours, theirs = scores.of.get(a, {}), scores.of.get(b, {})
    return [(value, theirs[file]) for file, value in ours.items() if file in theirs]


def _interval(
    values: Sequence[float], level: float, resamples: int, seed: int
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a mean."""
    import numpy as np

    sample = np.asarray(values)
    draw = np.random.Generator(np.random.PCG64(seed))
    means = np.empty(resamples)
    step = max(1, 10_000_000 // len(sample))  # memory for so many at a time
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        picked = draw.integers(len(sample), size=(count, len(sample)))
        means[start : start + count] = sample[picked].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
