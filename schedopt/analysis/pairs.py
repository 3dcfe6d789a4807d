"""Differences of one contender from each other, instance by instance."""

from collections.abc import Iterable
from statistics import fmean

import msgspec

from schedopt.analysis.averages import interval
from schedopt.analysis.contenders import Scores, better, scores_by_problem
from schedopt.instances.errors import InputError, listing, shown, suggestion
from schedopt.sweep.rows import Row


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two contenders on the instances on which both have a score.

    The advantage of a on an instance is the difference of the two scores, in a's favour, as a
    fraction of the larger of the two in absolute value: between -1 and 1 for scores of one sign.
    On one instance alone, seeds that both have stand for instances.
    """

    problem: str
    a: str
    b: str
    compared: int  # instances, or seeds of the only one
    better: int  # of them, on which a is better than b
    same: int
    worse: int
    mean: float  # of a's advantage
    low: float  # the 95% bootstrap interval of the mean: see `schedopt.analysis.averages`
    high: float


def against(rows: Iterable[Row], a: str) -> list[Pair]:
    """Compare one contender with every other on each problem; `InputError` if it has no rows."""
    problems = scores_by_problem(rows)
    known = dict.fromkeys(name for scores in problems for name in scores.of)
    if a not in known:
        hint = suggestion(a, known) or listing(known)
        raise InputError(f"a policy in the rows{hint}", found=shown(a))
    return [
        pair
        for scores in problems
        if a in scores.of
        for b in scores.of
        if b != a and (pair := _pair(scores, a, b))
    ]


def _pair(scores: Scores, a: str, b: str) -> Pair | None:
    """Return the pair of two contenders, if some instance has a score of both."""
    values = _shared(scores, a, b)
    if not values:
        return None
    gains = [scores.sign * (x - y) / (max(abs(x), abs(y)) or 1.0) + 0.0 for x, y in values]
    low, high = interval([(gain,) for gain in gains])
    ahead = sum(better(x, y, scores.sign) for x, y in values)
    behind = sum(better(y, x, scores.sign) for x, y in values)
    return Pair(
        problem=scores.problem,
        a=a,
        b=b,
        compared=len(values),
        better=ahead,
        same=len(values) - ahead - behind,
        worse=behind,
        mean=fmean(gains),
        low=low,
        high=high,
    )


def _shared(scores: Scores, a: str, b: str) -> list[tuple[float, float]]:
    """Return both scores on each instance that has both; of one alone, both values at each seed."""
    x, y = scores.of[a], scores.of[b]
    files = [file for file in x if file in y]
    if len(files) != 1:
        return [(x[file], y[file]) for file in files]
    mine, others = (
        {row.seed: row.objective or 0.0 for row in scores.rows[name] if row.file == files[0]}
        for name in (a, b)
    )
    return [  # who draws nothing has one run, and the same value at each seed
        (mine.get(seed, x[files[0]]), others.get(seed, y[files[0]]))
        for seed in max(mine, others, key=len)
        if (seed in mine or len(mine) == 1) and (seed in others or len(others) == 1)
    ]
