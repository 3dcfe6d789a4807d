"""Standings, pairs and profiles of the contenders of a bench, with bootstrap intervals.

A *contender* is a policy, or a policy with options if the rows have it with several. Its *score* on
an instance is the mean of its objectives over seeds. A run counts if it has an objective, violates
no side constraint, and answers the same question as its reference. The instances of a problem are
those on which some contender has a score. Wins are by score, not by gap, since gaps to different
references cannot be compared.
"""

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

FEW = 10  # least instances for a bootstrap interval; on fewer its coverage is too low


def interval(
    groups: Sequence[Sequence[float]], *, level: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> tuple[float, float]:
    """Return a bootstrap confidence interval of the mean of values in groups.

    Whole groups are resampled, since values of one group, such as the runs on one instance, are not
    independent. The interval consists of percentiles of the means; no group is empty.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3.
    """
    import numpy as np

    counts = np.array([len(group) for group in groups], dtype=np.float64)
    sums = np.array([fsum(group) for group in groups])
    draw = np.random.Generator(np.random.PCG64(seed))
    picked = draw.integers(len(groups), size=(resamples, len(groups)))
    means = sums[picked].sum(axis=1) / counts[picked].sum(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


SAME = 1e-9  # relative difference below which two numbers are the same


def contenders(rows: Iterable[BenchRow]) -> dict[str, str]:
    """Return the contender of each row by its key: the policy, with its options if these vary."""
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
    """Return the rows by problem or by instance file, in their order."""
    groups: dict[str, list[BenchRow]] = {}
    for row in rows:
        groups.setdefault(getattr(row, by), []).append(row)
    return groups


def from_bound(row: BenchRow) -> bool:
    """Return True if a row's gap is to the reference's bound instead of its solution."""
    return row.reference_formulation in record_of(row.problem).from_bounds


def reference_is_zero(row: BenchRow) -> bool:
    """Return True if a row's reference is 0, so that there is no relative gap."""
    return row.reference is not None and abs(row.reference) < NOTHING


def better(a: float, b: float, sign: float) -> bool:
    """Return True if a is better than b by more than rounding."""
    return sign * (a - b) > SAME * max(abs(a), abs(b))


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of a problem's contenders on each instance: means over seeds."""

    problem: str
    sign: float  # 1 if the objective is maximized, -1 if it is minimized
    rows: Mapping[str, list[BenchRow]]  # by contender
    of: Mapping[str, Mapping[str, float]]  # scores by contender and file
    best: Mapping[str, float]  # the best score by file, for all instances of the problem


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
    """Return a contender's score by file, for the files on which all of its runs count."""
    return {
        file: fmean(row.objective or 0.0 for row in runs)
        for file, runs in group_rows(rows, "file").items()
        if all(map(_counts, runs))
    }


def _counts(row: BenchRow) -> bool:
    """Return True if a run counts: it is feasible, and comparable with its reference."""
    comparable = row.gap is not None or row.reference is None or reference_is_zero(row)
    return row.objective is not None and not row.violations and comparable


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison of two contenders on the instances on which both have a score.

    The advantage of a on an instance is the difference of the two scores, positive if a is better,
    divided by the larger absolute value.
    """

    problem: str
    a: str
    b: str
    compared: int  # the number of instances
    better: int  # on which a is better than b
    same: int
    worse: int
    mean: float  # the mean advantage of a
    low: float  # the 95% bootstrap interval of the mean
    high: float


def against(rows: Iterable[BenchRow], a: str) -> list[Pair]:
    """Return the comparisons of one contender, which must have rows, with every other."""
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
    """Return the comparison of two contenders, or None if no instance has a score of both."""
    x, y = scores.of[a], scores.of[b]
    values = [(x[file], y[file]) for file in x if file in y]
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


class PerformanceProfile(msgspec.Struct, frozen=True, kw_only=True):
    """A performance profile after Dolan and Moré (Mathematical Programming 91, 2002).

    The profile of a contender s is the function ρ_s(τ) = |{p : r_ps ≤ τ}| / |P| over the instances
    P, where r_ps is the ratio of the score of s to the best score on p: 1 for the best, and
    infinite if s has no score.
    """

    problem: str
    contender: str
    instances: int  # |P|
    ratios: tuple[float, ...]  # r_ps of the instances on which s has a score, ascending


def profiles(rows: Iterable[BenchRow]) -> list[PerformanceProfile]:
    """Return the performance profile of each contender, by problem."""
    return [
        PerformanceProfile(
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
    counted: int  # runs with a gap
    mean: float | None  # mean and median gap; None without gaps
    median: float | None
    # The 95% bootstrap interval of the mean gap over instances or, of a single instance, over
    # replications; None if there are fewer than ten.
    low: float | None
    high: float | None
    # The half-width of the 95% interval of the mean gap that is due to simulation, for independent
    # runs; 0 without simulation.
    noise: float
    worst: float | None  # the largest gap, and its instance
    worst_instance: str | None
    instances: int  # on which any contender has a score
    scored: int  # on which this contender has a score
    wins: int  # on which no contender has a better score
    at_optimum: int  # runs that meet a proven optimum; simulated runs do not count
    seconds: float  # the mean time of a run
    # Runs without a gap by reason: ``violations``, ``no reference``, ``not comparable`` (the policy
    # answers another question), ``reference 0``, or the termination, such as ``time-limit``.
    endings: Mapping[str, int]


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of runs and instances of a problem."""

    problem: str
    runs: int
    instances: int
    proven: int  # instances whose references are all proven optimal
    re_proved: int  # of these, instances whose bound was proved again from a certificate
    from_bounds: bool  # whether gaps are to bounds instead of solutions
    reference_seconds: float  # the time of all references


def overview(rows: Iterable[BenchRow]) -> list[Overview]:
    """Return the overview of each problem, in the order of the rows."""
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
    """Return the standing of each contender by problem, in the order of the rows.

    Parameters
    ----------
    rows : iterable of BenchRow
        The rows of a bench.
    """
    return [_standing(scores, name) for scores in scores_by_problem(rows) for name in scores.of]


def _standing(scores: Scores, name: str) -> Standing:
    rows, of = scores.rows[name], scores.of[name]
    gaps = [(row.gap, row) for row in rows if row.gap is not None]
    values = [gap for gap, _ in gaps]
    worst = max(gaps, key=lambda pair: pair[0])[1] if gaps else None
    by_file = group_rows((row for _, row in gaps), "file")
    of_files = [[row.gap or 0.0 for row in mine] for mine in by_file.values()]
    if len(of_files) == 1:  # runs on one instance are independent replications
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
    """Return the half-width of the 95% interval of a mean gap that is due to simulation."""
    shares = [
        (row.confidence or 0.0) / max(1e-10, abs(row.reference or 0.0)) if _is_sample(row) else 0.0
        for row in rows
    ]
    return hypot(*shares) / len(shares) if shares else 0.0


def _is_sample(row: BenchRow) -> bool:
    """Return True if the objective of a run is a random sample; replayed logs are exact."""
    return (row.sampled or bool(row.confidence)) and not row.measures


def rank(standings: Iterable[Standing]) -> list[Standing]:
    """Return standings from best to worst: by instances with a score, mean gap, and wins."""
    return sorted(
        standings,
        key=lambda s: (-s.scored, s.mean is None, s.mean or 0.0, -s.wins),
    )


def _why(row: BenchRow) -> str:
    """Return the reason why a row has no gap, for `Standing.endings`."""
    if row.violations:
        return "violations"
    if row.termination != "completed":
        return row.termination
    if row.reference is None:
        return "no reference"
    return "reference 0" if reference_is_zero(row) else "not comparable"
