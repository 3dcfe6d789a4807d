"""What a report says of many rows: summaries, quantiles, performance profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean, quantiles

from schedopt.analysis.contenders import counts
from schedopt.sweep.rows import Row

AT_OPTIMUM = 1e-9
"""A gap below this is rounding."""


@dataclass(frozen=True)
class Summary:
    """One policy over all instances of a problem.

    Attributes
    ----------
    policy : str
    mean, median, worst : float or None
        Gaps; None where there is none.
    worst_on : Row or None
        The row of the worst gap.
    runs, gaps, optimal : int
        Rows in all, those with a gap, those at the optimum.
    cases, best : int
        Instances with a seed each, and those on which no policy beats this one.
    seconds : float
        The policy's mean time.
    """

    policy: str
    mean: float | None
    median: float | None
    worst: float | None
    worst_on: Row | None
    runs: int
    gaps: int
    optimal: int
    cases: int
    best: int
    seconds: float


def summaries(rows: Sequence[Row], sense: str) -> list[Summary]:
    """Return a summary of each policy of one problem, in the rows' order."""
    ratios = _ratios(rows, sense)
    found = []
    for policy in dict.fromkeys(row.policy for row in rows):
        mine = [row for row in rows if row.policy == policy]
        gaps = sorted(row.gap for row in mine if row.gap is not None)
        worst = max((row for row in mine if row.gap is not None), key=_gap, default=None)
        found.append(
            Summary(
                policy=policy,
                mean=fmean(gaps) if gaps else None,
                median=quantile(gaps, 0.5) if gaps else None,
                worst=gaps[-1] if gaps else None,
                worst_on=worst,
                runs=len(mine),
                gaps=len(gaps),
                optimal=sum(gap <= AT_OPTIMUM for gap in gaps),
                cases=len(ratios[policy]),
                best=sum(ratio <= 1 + AT_OPTIMUM for ratio in ratios[policy]),
                seconds=fmean(row.seconds for row in mine),
            )
        )
    return found


def _gap(row: Row) -> float:
    return row.gap or 0.0


def quantile(ordered: Sequence[float], part: float) -> float:
    """Return a quantile of numbers in ascending order, between the two next to it."""
    if len(ordered) == 1:
        return ordered[0]
    cuts = quantiles(ordered, n=100, method="inclusive")
    at = round(100 * part)
    return ordered[0] if at == 0 else ordered[-1] if at == 100 else cuts[at - 1]


def profiles(
    rows: Sequence[Row], sense: str
) -> dict[str, tuple[tuple[float, ...], tuple[float, ...]]]:
    """Return the performance profiles of Dolan and Moré, 2002.

    A case is an instance with a seed; a policy's ratio on it is how many times worse than the best
    policy it is, infinite where it has no answer.

    Parameters
    ----------
    rows : sequence of Row
        Rows of one problem.
    sense : str
        ``maximize`` or ``minimize``.

    Returns
    -------
    dict
        For each policy the ratios, ascending from 1, and the part of the cases on which the policy
        is within them.
    """
    found = {}
    for policy, ratios in _ratios(rows, sense).items():
        steps: dict[float, float] = {1.0: 0.0}
        finite = sorted(ratio for ratio in ratios if ratio < inf)
        for number, ratio in enumerate(finite, start=1):
            steps[max(1.0, ratio)] = number / len(ratios)
        found[policy] = tuple(steps), tuple(steps.values())
    return found


def _ratios(rows: Sequence[Row], sense: str) -> dict[str, list[float]]:
    """Return each policy's ratio to the best on every case."""
    values = {(r.file, r.policy, r.seed): r.objective for r in rows if counts(r)}
    seeds = {(row.file, row.policy): row.seed for row in reversed(rows)}
    policies = list(dict.fromkeys(row.policy for row in rows))
    ratios: dict[str, list[float]] = {policy: [] for policy in policies}
    for file, seed in dict.fromkeys((row.file, row.seed) for row in rows):
        got: dict[str, float | None] = {}
        for policy in policies:  # what draws no random numbers ran once, for all seeds
            own = (file, policy, seed)
            only = (file, policy, seeds.get((file, policy), seed))
            got[policy] = values.get(own, values.get(only))
        for policy, ratio in _to_best(got, sense).items():
            ratios[policy].append(ratio)
    return ratios


def _to_best(got: Mapping[str, float | None], sense: str) -> dict[str, float]:
    known = [value for value in got.values() if value is not None]
    best = (max if sense == "maximize" else min)(known, default=0.0)
    ratios = {}
    for policy, value in got.items():
        if value is None:
            ratios[policy] = inf
        elif value == best:
            ratios[policy] = 1.0
        else:
            more, less = (best, value) if sense == "maximize" else (value, best)
            ratios[policy] = more / less if less > 0 else inf
    return ratios
