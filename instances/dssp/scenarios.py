"""Scenarios: random factors that multiply the planned run times.

In each scenario a job has one factor, drawn from its `spread`, for all its run times. Factors are
integer numbers of millionths, so that feasibility in a scenario is integer arithmetic. Scenario s
of a seed does not depend on how many scenarios are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import pi
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import as_written, fraction_of
from schedopt.instances.dssp.jobs import Lognormal
from schedopt.instances.dssp.machine import Steps, in_order
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.instances.dssp.records import Instance
from schedopt.instances.errors import InputError, quote
from schedopt.instances.options import Option, check_options, whole
from schedopt.instances.recipes import stream

MILLION = 1_000_000  # factors are in units of one part of it
MARGIN = 1e-11
"""Rounding of a completion time at each step, relative to the largest time or work."""
THOUSANDFOLD = 1_000 * MILLION  # the largest factor that is drawn
DECIDING, JUDGING, RUNNING = 0, 1, 2
"""Streams of a seed: for deciding, for judging, and for runs by a dispatcher."""

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

    Its predecessors complete first, even if they are late. Completion times are computed in doubles
    for all scenarios at once, rounded up and rounded down. Where these disagree about a deadline,
    the completion time is computed exactly.

    Parameters
    ----------
    night : Instance
        The instance.
    drawn : ndarray, shape (scenarios, jobs)
        The factors of run times, in millionths.
    """
    after = [[night.index[name] for name in job.after] for job in night.jobs]
    order = in_order(night.jobs, night.index)[0]
    on_time: NDArray[np.bool_] = _ends_alone(night, drawn, order, MARGIN) <= night.deadlines
    unsure = ~on_time & (_ends_alone(night, drawn, order, -MARGIN) <= night.deadlines)
    chains: dict[int, list[int]] = {}  # each job after all its predecessors
    for j in order:
        chain = chains[j] = [*dict.fromkeys(i for k in after[j] for i in chains[k]), j]
        open_ = np.flatnonzero(unsure[:, j])
        rows, alike = np.unique(drawn[open_][:, chain], axis=0, return_inverse=True)
        for r, row in enumerate(rows.tolist()):
            ends: dict[int, Fraction | None] = {}
            for i, factor in zip(chain, row, strict=True):
                before = [ends[k] for k in after[i]]
                ends[i] = night.completion_alone(i, before, Fraction(factor, MILLION))
            end = ends[j]
            in_time = end is not None and end <= as_written(float(night.deadlines[j]))
            on_time[open_[alike.ravel() == r], j] = in_time
    return on_time


def _ends_alone(night: Instance, drawn: Ints, order: Sequence[int], margin: float) -> Floats:
    """Return upper bounds on completion times, or lower bounds for a negative ``margin``."""
    machine, ends, demands = night.machine, np.empty(drawn.shape), night.planned.demands.floats
    steps = [*machine.pools.values(), *machine.resources.values()]
    last = max([float(one.times[-1]) for one in steps], default=0.0)
    slack = margin * max(last, night.releases.max(initial=0), night.deadlines.max(initial=0))
    for j in order:
        job, factor = night.jobs[j], drawn[:, j] / MILLION
        at = np.full(len(drawn), job.release)
        for name in job.after:
            at = np.maximum(at, ends[:, night.index[name]])
        pools = machine.of_job(job)
        most = None if job.max_processors is None else job.widest
        end = _time_reached(machine.usable(pools, most=most), at, factor * demands[j], margin)
        if job.critical_path is not None:
            running = machine.usable(pools, need=job.processors)
            at = _time_reached(running, at, factor * job.critical_path, margin)
        holds = [(machine.resources[name], as_written(a)) for name, a in job.holds.items()]
        asks = [[(machine.pools[name], Fraction(job.processors)), *holds] for name in pools]
        for stage in () if job.critical_path is not None else job.stages or ():
            if longest_task := max(stage):
                length = np.maximum(factor * longest_task + slack, 0.0)
                at = np.minimum.reduce([_first_end(one, at, length) for one in asks])
        ends[:, j] = np.maximum(end, at) + slack
    return ends


def _time_reached(steps: Steps, at: Floats, work: Floats, margin: float) -> Floats:
    """Return when the integral of an amount from ``at`` on reaches ``work``; infinity if never.

    ``margin`` changes all work by this fraction of the largest work.
    """
    times, amounts = np.array(steps.times, float), np.array(steps.amounts, float)
    sums = np.array([float(steps.until(time)) for time in steps.times])
    finite = np.isfinite(at)
    begin = np.where(finite, at, 0.0)
    i = np.maximum(np.searchsorted(times, begin, side="right") - 1, 0)
    whole = sums[i] + amounts[i] * (begin - times[i]) + work
    whole = np.maximum(whole + margin * whole.max(initial=sums[-1]), 0.0)
    i = np.maximum(np.searchsorted(sums, whole, side="left") - 1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        more = np.where(amounts[i] > 0, (whole - sums[i]) / amounts[i], np.inf)
    ends = np.maximum(times[i] + more, begin)
    return np.where(finite, np.where(work > 0, ends, at), np.inf)


def _first_end(asks: Sequence[tuple[Steps, Fraction]], at: Floats, length: Floats) -> Floats:
    """Return the earliest end of a task that starts at ``at`` or later; infinity if never.

    The task needs several amounts, each of which must be large enough until it ends.
    """
    times = sorted({time for steps, _ in asks for time in steps.times})
    enough = [all(steps.at(time) >= need for steps, need in asks) for time in times]
    ends, until = np.full(at.shape, np.inf), np.inf
    for time, fits in reversed([*zip(times, enough, strict=True)]):
        if fits:
            own = np.maximum(at, float(time)) + length
            ends = np.where(own <= until, own, ends)
        else:
            until = float(time)
    return ends


def judges(night: Instance) -> int:
    """Return the number of scenarios that evaluate a solution: 1,000, down to 100 for many jobs."""
    return max(100, min(1_000, 2_000_000 // max(1, len(night.jobs))))


def _uniform(spreads: Sequence[Spread]) -> Floats:
    return np.array([s if isinstance(s, int | float) else 0.0 for s in spreads], dtype=np.float64)


def _sigmas(spreads: Sequence[Spread]) -> Floats:
    sigmas = [s.sigma if isinstance(s, Lognormal) else 0.0 for s in spreads]
    return np.array(sigmas, dtype=np.float64)
