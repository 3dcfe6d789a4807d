"""Standings, pairs and profiles of the contenders of a bench, with bootstrap intervals."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum, hypot, inf
from statistics import fmean, median
from typing import Literal

import msgspec

from schedopt.instances.errors import InputError, listing, quote, suggestion
from schedopt.instances.extras import report_missing_extras
from schedopt.problems import problem as record_of
from schedopt.sweep.rows import NOTHING, BenchRow

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


SAME = 1e-9  # numbers that differ by less than this, relatively, are the same


def contenders(rows: Iterable[BenchRow]) -> dict[str, str]:
    """Return the contender of each row, by its key: the policy, with options where these differ."""
    rows = list(rows)
    options = {
        row.key: " ".join(f"{key}={value}" for key, value in sorted(row.options.items()))
        for row in rows
    }
    settings: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        settings.setdefault((row.problem, row.policy), set()).add(options[row.key])
    return {
        row.key: f"{row.policy} {options[row.key]}".strip()
        if len(settings[row.problem, row.policy]) > 1
        else row.policy
        for row in rows
    }


def group_rows(
    rows: Iterable[BenchRow], by: Literal["problem", "file"]
) -> dict[str, list[BenchRow]]:
    """Return the rows of each problem, or of each instance's file, in their order."""
    groups: dict[str, list[BenchRow]] = {}
    for row in rows:
        groups.setdefault(getattr(row, by), []).append(row)
    return groups


def from_bound(row: BenchRow) -> bool:
    """Tell whether a row's gap is from the reference's bound, not from its solution."""
    return row.reference_formulation in record_of(row.problem).from_bounds


def reference_is_zero(row: BenchRow) -> bool:
    """Tell whether a row's reference is 0, of which nothing is a fraction."""
    return row.reference is not None and abs(row.reference) < NOTHING


def better(a: float, b: float, sign: float) -> bool:
    """Tell whether a is better than b, beyond rounding."""
    return sign * (a - b) > SAME * max(abs(a), abs(b))


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of a problem's contenders on each instance: means over seeds."""

    problem: str
    sign: float  # 1 where more is better, -1 where less is
    rows: Mapping[str, list[BenchRow]]  # each contender's
    of: Mapping[str, Mapping[str, float]]  # by contender and file
    best: Mapping[str, float]  # the best score on each file. Its files are the problem's instances


def scores_by_problem(rows: Iterable[BenchRow]) -> list[Scores]:
    """Return the scores of each problem's contenders."""
    rows = list(rows)
    who = contenders(rows)
    found = []
    for problem, mine in group_rows(rows, "problem").items():
        own: dict[str, list[BenchRow]] = {}
        for row in mine:
            own.setdefault(who[row.key], []).append(row)
        of = {name: _scores(runs) for name, runs in own.items()}
        more_is_better = record_of(problem).sense == "maximize"
        best: dict[str, float] = {}
        for scores in of.values():
            for file, value in scores.items():
                choose = max if more_is_better else min
                best[file] = choose(value, best.get(file, value))
        sign = 1.0 if more_is_better else -1.0
        found.append(Scores(problem=problem, sign=sign, rows=own, of=of, best=best))
    return found


def _scores(rows: Iterable[BenchRow]) -> dict[str, float]:
    """Return a contender's score on each file on which all of its runs count."""
    return {
        file: fmean(row.objective or 0.0 for row in runs)
        for file, runs in group_rows(rows, "file").items()
        if all(map(_counts, runs))
    }


def _counts(row: BenchRow) -> bool:
    """Tell whether a run counts: it breaks nothing, and answers the reference's question."""
    comparable = row.gap is not None or row.reference is None or reference_is_zero(row)
    return row.objective is not None and not row.violations and comparable


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
    low: float  # the 95% bootstrap interval of the mean: see `schedopt.analysis.statistics`
    high: float


def against(rows: Iterable[BenchRow], a: str) -> list[Pair]:
    """Compare one contender with every other on each problem; `InputError` if it has no rows."""
    problems = scores_by_problem(rows)
    compared = dict.fromkeys(name for scores in problems for name in scores.of)
    if a not in compared:
        hint = suggestion(a, compared) or listing(compared)
        raise InputError(f"a policy in the rows{hint}", found=quote(a))
    return [
        pair
        for scores in problems
        if a in scores.of
        for b in scores.of
        if b != a and (pair := _compare_pair(scores, a, b))
    ]


def _compare_pair(scores: Scores, a: str, b: str) -> Pair | None:
    """Return the pair of two contenders, if some instance has a score of both."""
    values = _common_scores(scores, a, b)
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


def _common_scores(scores: Scores, a: str, b: str) -> list[tuple[float, float]]:
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


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """A performance profile after Dolan and Moré (Mathematical Programming 91, 2002).

    The profile of a contender s is the function ρ_s(τ) = |{p : r_ps ≤ τ}| / |P| over the instances
    P, where the ratio r_ps says how many times worse than the best score on p that of s is: 1 for
    the best itself, and infinite where s has no score.
    """

    problem: str
    contender: str
    instances: int  # |P|: instances on which any contender has a score
    ratios: tuple[float, ...]  # r_ps for each instance on which this one has a score, ascending


def profiles(rows: Iterable[BenchRow]) -> list[Profile]:
    """Return the performance profile of each contender, by problem."""
    return [
        Profile(
            problem=scores.problem,
            contender=name,
            instances=len(scores.best),
            ratios=tuple(
                sorted(ratio(value, scores.best[file], scores.sign) for file, value in of.items())
            ),
        )
        for scores in scores_by_problem(rows)
        if scores.best
        for name, of in scores.of.items()
    ]


def ratio(value: float, best: float, sign: float) -> float:
    """Return the ratio of a score to the best; 1 for the best itself."""
    if not better(best, value, sign):
        return 1.0
    small, large = (value, best) if sign > 0 else (best, value)
    return large / small if small > 0 else inf


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """The standing of one contender over all instances of a problem."""

    problem: str
    contender: str
    runs: int
    counted: int  # runs that have a gap
    mean: float | None  # of the gaps, as the median; None where there are none
    median: float | None
    # The 95% bootstrap interval of the mean gap over instances, of one alone over replications;
    # None on fewer than ten, where it would be rough: see `schedopt.analysis.statistics`.
    low: float | None
    high: float | None
    # The half-width of the mean gap's 95% interval that comes from simulation, were runs
    # independent; 0 where none was simulated.
    noise: float
    worst: float | None  # the largest gap, and the instance that shows it
    worst_instance: str | None
    instances: int  # on which any contender has a score
    scored: int  # on which this one has
    wins: int  # on which none has a better score; several can be the best of one instance
    at_optimum: int  # runs that meet a proven optimum; simulated ones, which are inexact, do not
    seconds: float  # its own mean time
    # Why rows have no gap: ``violations``, ``no reference``, ``not comparable`` where the policy
    # answers another question, ``reference 0``, or the run's end: ``time-limit``, ...
    endings: Mapping[str, int]


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """What a problem's rows are about."""

    problem: str
    runs: int
    instances: int
    proven: int  # instances whose references are all proven optimal
    re_proved: int  # those of them whose bound the checker has re-proved from a certificate
    from_bounds: bool  # whether gaps are from bounds, not from solutions
    reference_seconds: float  # what the references took together, each counted once


def overview(rows: Iterable[BenchRow]) -> list[Overview]:
    """Return what the rows of each problem are about, in the order of the rows."""
    overviews = []
    for problem, mine in group_rows(rows, "problem").items():
        files = {row.file for row in mine}
        unproven = {row.file for row in mine if not row.reference_proven}
        overviews.append(
            Overview(
                problem=problem,
                runs=len(mine),
                instances=len(files),
                proven=len(files - unproven),
                re_proved=len({row.file for row in mine if row.bound_checked} - unproven),
                from_bounds=all(map(from_bound, mine)),
                reference_seconds=sum(
                    seconds
                    for *_, seconds in {(r.file, r.reference, r.reference_seconds) for r in mine}
                ),
            )
        )
    return overviews


@report_missing_extras()
def summary(rows: Iterable[BenchRow]) -> list[Standing]:
    """Summarize rows by problem and contender, in the order of the rows."""
    return [_standing(scores, name) for scores in scores_by_problem(rows) for name in scores.of]


def _standing(scores: Scores, name: str) -> Standing:
    rows, of = scores.rows[name], scores.of[name]
    gaps = [(row.gap, row) for row in rows if row.gap is not None]
    values = [gap for gap, _ in gaps]
    worst = max(gaps, key=lambda pair: pair[0])[1] if gaps else None
    by_file = group_rows((row for _, row in gaps), "file")
    of_files = [[row.gap or 0.0 for row in mine] for mine in by_file.values()]
    if len(of_files) == 1:  # then runs are replications of it, each with a stream of its own
        of_files = [[gap] for gap in of_files[0]]
    low, high = (None, None) if len(of_files) < FEW else interval(of_files)
    return Standing(
        problem=scores.problem,
        contender=name,
        runs=len(rows),
        counted=len(gaps),
        mean=fmean(values) if values else None,
        median=median(values) if values else None,
        low=low,
        high=high,
        noise=_noise([row for _, row in gaps]),
        worst=worst.gap if worst else None,
        worst_instance=worst.instance if worst else None,
        instances=len(scores.best),
        scored=len(of),
        wins=sum(not better(scores.best[file], value, scores.sign) for file, value in of.items()),
        at_optimum=sum(
            gap <= SAME and row.reference_proven and not _is_sample(row) for gap, row in gaps
        ),
        seconds=fmean(row.seconds for row in rows),
        endings=dict(Counter(_why(row) for row in rows if row.gap is None)),
    )


def _noise(rows: Sequence[BenchRow]) -> float:
    """Return the half-width of the 95% interval that simulation adds to a mean gap."""
    shares = [
        (row.confidence or 0.0) / max(1e-10, abs(row.reference or 0.0)) if _is_sample(row) else 0.0
        for row in rows
    ]
    return hypot(*shares) / len(shares) if shares else 0.0


def _is_sample(row: BenchRow) -> bool:
    """Tell whether a run is a random sample; the replay of a log is deterministic."""
    return (row.sampled or bool(row.confidence)) and not row.measures


def rank(standings: Iterable[Standing]) -> list[Standing]:
    """Return standings, the best first: by instances with a score, mean gap, then wins."""
    return sorted(
        standings,
        key=lambda s: (-s.scored, s.mean is None, s.mean or 0.0, -s.wins),
    )


def _why(row: BenchRow) -> str:
    """Return a word on why a row has no gap."""
    if row.violations:
        return "violations"
    if row.termination != "completed":
        return row.termination
    if row.reference is None:
        return "no reference"
    return "reference 0" if reference_is_zero(row) else "not comparable"
