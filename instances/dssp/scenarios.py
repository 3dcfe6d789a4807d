"""Scenarios: random factors that multiply the planned run times.

In each scenario a job has one factor, drawn from its `spread`, for all its run times. Factors are
integer numbers of millionths, so that feasibility in a scenario is integer arithmetic. Scenario s
of a seed does not depend on how many scenarios are drawn.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from math import pi
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import as_written, fraction_of
from schedopt.instances.dssp.jobs import Lognormal
from schedopt.instances.dssp.machine import in_order
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.instances.dssp.records import Instance
from schedopt.instances.errors import InputError, quote
from schedopt.instances.options import Option, check_options, whole
from schedopt.instances.recipes import stream

MILLION = 1_000_000  # factors are in units of one part of it
THOUSANDFOLD = 1_000 * MILLION  # the largest factor that is drawn
DECIDING, JUDGING = 0, 1
"""Streams of a seed: for deciding, and for judging."""

SCENARIOS = whole(100, 1, 10_000)  # how many scenarios decide
Spread = float | Lognormal | None


class Measure(NamedTuple):
    """A risk measure of rewards: ``mean``, ``cvar`` or ``chance``, with its level."""

    kind: str
    level: Fraction = Fraction(0)

    @classmethod
    def read(cls, text: object) -> Measure:
        """Return the measure that a text such as ``mean``, ``cvar:0.9`` or ``chance:95%`` names."""
        kind, _, level = str(text).partition(":")
        if kind == "mean" and not level:
            return cls(kind)
        try:
            part = fraction_of(level)
        except (ValueError, OverflowError):
            part = Fraction(-1)
        if kind not in ("cvar", "chance") or not 0 < part < 1:
            expected = "mean, cvar:Q or chance:Q, with Q between 0 and 1"
            raise InputError(expected, found=quote(text), place="risk")
        return cls(kind, part)


def is_measure(value: object) -> bool:
    """Return True if a text names a risk measure."""
    try:
        Measure.read(value)
    except InputError:
        return False
    return isinstance(value, str)


AT_RISK = {
    "risk": Option(None, "mean, cvar:Q or chance:Q, with Q between 0 and 1", is_measure),
    "scenarios": SCENARIOS,
    "seed": whole(0, 0, 2**31 - 1, ", of scenarios"),
}
"""Options of a formulation under risk."""


def at_risk(whose: str, **given: object) -> dict[str, Any]:
    """Return the complete, checked options of a formulation under risk; none without risk."""
    asked = {key: value for key, value in given.items() if value is not None}
    check_options(asked, AT_RISK, whose)
    if asked and "risk" not in asked:
        key = next(iter(asked))
        raise InputError("--risk together with it", found=f"{key}={asked[key]}", place="option")
    return {"risk": None, "scenarios": SCENARIOS.default, "seed": 0} | asked if asked else {}


def factors(night: Instance, seed: int, use: int, count: int) -> Ints:
    """Return the factors of jobs in scenarios, in millionths, shape (count, jobs)."""
    spreads = [job.spread for job in night.jobs]
    wide, sigma = _uniform(spreads), _sigmas(spreads)
    tailed = np.flatnonzero(sigma)
    units = np.empty((count, len(spreads)), dtype=np.int64)
    for s in range(count):
        uniform, angle = stream(seed, use, s).random((2, len(spreads)))
        factor = 1 + wide * (2 * uniform - 1)
        if tailed.size:
            normal = np.sqrt(-2 * np.log1p(-uniform[tailed])) * np.cos(2 * pi * angle[tailed])
            factor[tailed] = np.exp(sigma[tailed] * normal - sigma[tailed] ** 2 / 2)
        units[s] = np.clip(np.rint(MILLION * factor), 1, THOUSANDFOLD)
    return units


def longest(night: Instance) -> int:
    """Return an upper bound on all factors, in millionths."""
    spreads = [job.spread for job in night.jobs]
    drawn = np.exp(8.6 * _sigmas(spreads)).max(initial=1)
    most = max(1 + _uniform(spreads).max(initial=0), drawn)
    return min(THOUSANDFOLD, int(MILLION * most) + 1)


def on_time_alone(night: Instance, drawn: Ints) -> NDArray[np.bool_]:
    """Return whether each job completes on time in each scenario if it runs alone.

    Its predecessors complete first, even if they are late. ``drawn`` are the factors of run times,
    in millionths, shape (scenarios, jobs).
    """
    after = [[night.index[name] for name in job.after] for job in night.jobs]
    in_chains = {j for j, before in enumerate(after) if before}.union(*after)
    ends: dict[int, list[Fraction | None]] = {}
    on_time = np.zeros(drawn.shape, dtype=np.bool_)

    def end(s: int, j: int) -> Fraction | None:
        before = [ends[k][s] for k in after[j]]
        return night.completion_alone(j, before, Fraction(int(drawn[s, j]), MILLION))

    for j in in_order(night.jobs, night.index)[0]:
        due = as_written(float(night.deadlines[j]))
        if j in in_chains:
            ends[j] = [end(s, j) for s in range(len(drawn))]
            on_time[:, j] = [time is not None and time <= due for time in ends[j]]
            continue

        def is_late(s: int, j: int = j, due: Fraction = due) -> bool:
            return (time := end(s, j)) is None or time > due

        by_length = np.argsort(drawn[:, j])  # the longer it takes, the later it completes
        on_time[by_length[: bisect_left(by_length, True, key=is_late)], j] = True
    return on_time


def judges(night: Instance) -> int:
    """Return the number of scenarios that evaluate a solution: 1,000, down to 100 for many jobs."""
    return max(100, min(1_000, 2_000_000 // max(1, len(night.jobs))))


def _uniform(spreads: Sequence[Spread]) -> Floats:
    return np.array([s if isinstance(s, int | float) else 0.0 for s in spreads], dtype=np.float64)


def _sigmas(spreads: Sequence[Spread]) -> Floats:
    sigmas = [s.sigma if isinstance(s, Lognormal) else 0.0 for s in spreads]
    return np.array(sigmas, dtype=np.float64)
