"""The standing of each contender over all instances of a problem."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import hypot
from statistics import fmean, median

import msgspec

from schedopt.analysis.averages import FEW, interval
from schedopt.analysis.contenders import (
    SAME,
    Scores,
    better,
    from_bound,
    group_rows,
    reference_is_zero,
    scores_by_problem,
)
from schedopt.sweep.rows import Row


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """The standing of one contender over all instances of a problem."""

    problem: str
    contender: str
    runs: int
    counted: int  # runs that have a gap
    mean: float | None  # of the gaps, as the median; None where there are none
    median: float | None
    # The 95% bootstrap interval of the mean gap over instances, of one alone over replications;
    # None on fewer than ten, where it would be rough: see `schedopt.analysis.averages`.
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


def overview(rows: Iterable[Row]) -> list[Overview]:
    """Return what the rows of each problem are about, in the order of the rows."""
    found = []
    for problem, mine in group_rows(rows, "problem").items():
        files = {row.file for row in mine}
        unproven = {row.file for row in mine if not row.reference_proven}
        found.append(
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
    return found


def summary(rows: Iterable[Row]) -> list[Standing]:
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
            gap <= SAME and row.reference_proven and not _simulated(row) for gap, row in gaps
        ),
        seconds=fmean(row.seconds for row in rows),
        endings=dict(Counter(_why(row) for row in rows if row.gap is None)),
    )


def _noise(rows: Sequence[Row]) -> float:
    """Return the half-width of the 95% interval that simulation adds to a mean gap."""
    shares = [
        (row.confidence or 0.0) / max(1e-10, abs(row.reference or 0.0)) if _simulated(row) else 0.0
        for row in rows
    ]
    return hypot(*shares) / len(shares) if shares else 0.0


def _simulated(row: Row) -> bool:
    """Tell whether a run is a random sample; the replay of a log is deterministic."""
    return (row.sampled or bool(row.confidence)) and not row.measures


def rank(standings: Iterable[Standing]) -> list[Standing]:
    """Return standings, the best first: by instances with a score, mean gap, then wins."""
    return sorted(
        standings,
        key=lambda s: (-s.scored, s.mean is None, s.mean or 0.0, -s.wins),
    )


def _why(row: Row) -> str:
    """Return a word on why a row has no gap."""
    if row.violations:
        return "violations"
    if row.termination != "completed":
        return row.termination
    if row.reference is None:
        return "no reference"
    return "reference 0" if reference_is_zero(row) else "not comparable"
