"""Schedules under risk: prices of scenarios bound them, and orders are tried in scenarios."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from schedopt.formulations.dssp.played import Order, Play, PlayedSample
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.solvers.clock import now
from schedopt.solvers.deciding import left
from schedopt.solvers.dssp.schedule import held_kernels
from schedopt.solvers.dssp.schedule.dispatch_kernels import Dispatch, Record, order_of
from schedopt.solvers.dssp.schedule.trial import Mask, Trials
from schedopt.solvers.dssp.selection import sampled
from schedopt.solvers.engine import Certificate, Given, HandOn, NoCertificateError
from schedopt.solvers.result import Limits, Result

if TYPE_CHECKING:
    from schedopt.formulations.dssp import Schedule

PRICED = 0.3
"""The part of a time limit that prices may take."""
SMALL = 2_000
"""Pairs of tasks, times scenarios, up to which the declared model follows."""
TRIES = 400
"""Moves without improvement after which the search ends."""
REMEMBERED = 500
"""Orders whose jobs in time are remembered."""
BARELY = 1e-300
"""Reward of a job that runs but is never in time."""


def solve(model: Schedule, given: Given) -> Result | HandOn:
    """Solve a schedule under risk: a bound by prices, and the best order that a search finds."""
    from schedopt.solvers.dssp.schedule import solving

    sample, limits, began = given.read, given.limits, now()
    sample.player = compiled
    relaxed = solving.relaxed_of(model, limits)
    if relaxed.termination == "infeasible":  # then schedules are too, for the same reason
        result = solving.told(model, limits, None, None, "infeasible", solver="played")
        return msgspec.structs.replace(result, conflict=relaxed.conflict)
    bound = min(float(np.inf if relaxed.bound is None else relaxed.bound), _priced(model, limits))
    few = len(sample.long) ** 2 * sample.count <= SMALL and not given.alone
    best, interrupted = solving.searched(
        model,
        limits,
        relaxed,
        seconds=solving.seconds_of(model, limits, began, few=few),
        patience=TRIES,
        target=bound,
        trials=lambda: InScenarios(model.instance, sample),
    )
    result = solving.told(model, limits, best, bound, "completed", solver="played")
    late = left(limits, began).time_limit == 0
    if interrupted or late:
        return msgspec.structs.replace(
            result, termination="interrupted" if interrupted else "time-limit"
        )
    if result.gap is not None and result.gap <= limits.gap:
        return msgspec.structs.replace(result, termination="optimal")
    return HandOn(result, bound) if few else result


def certify(
    model: Schedule, result: Result, limits: Limits, holds: Callable[[Certificate], bool]
) -> Certificate | None:
    """Return prices of scenarios, or branchings of the selection by planned times."""
    from schedopt.solvers.dssp.schedule import solving

    try:
        return sampled.certify(model, result, limits, holds)
    except NoCertificateError:
        return solving.certify(model, result, limits, holds)


def _priced(model: Schedule, limits: Limits) -> float:
    """Return the bound of prices: no schedule earns more in a scenario than what fits there."""
    from schedopt.formulations.dssp import Selection
    from schedopt.solvers.dssp.schedule.solving import bounding_selection

    plain = bounding_selection(model)
    selection = Selection(plain.instance, **model.asked_at_risk).add(*plain.added)
    if selection.sample is None:
        return float("inf")
    if limits.time_limit is not None:
        limits = replace(limits, time_limit=PRICED * limits.time_limit)
    search = sampled.Search(selection, selection.sample, limits, now(), rounds=2, each=True)
    search.run()
    if model.sample is not None:
        model.sample.proof = search.proof()
    return search.bound


def compiled(sample: PlayedSample, jobs: Ints, rank: Ints) -> Play:
    """Play jobs in the order of ranks: what `played.plainly` does, compiled."""
    order = order_of(rank.astype(np.float64), sample.first_task)
    some = jobs[sample.first_stage[jobs] < sample.first_stage[jobs + 1]]
    releases, count = sample.releases.astype(np.float64), len(rank)
    keys, starts, places = rank[order].astype(np.float64), np.empty(count), np.empty(count, int)
    processors = min(sample.night.processors, max(1, count))
    none = np.zeros(0, np.int64), np.zeros((0, len(releases)), np.int64)

    def play(lengths: Floats) -> Floats:
        ends = releases.copy()
        held_kernels.by_least_key(
            Dispatch(
                lengths[order], sample.first_task, sample.first_stage, processors, releases, *none
            ),
            keys,
            some,
            Record(starts, places, ends),
        )
        return ends

    return play


class InScenarios(Trials):
    """Trials that tell what jobs earn in scenarios, of those that are in time as planned."""

    def __init__(self, night: Instance, sample: PlayedSample) -> None:
        super().__init__(night, ())
        self.sample, self._lengths_in = sample, [sample.lengths(one) for one in sample.drawn]
        self._known: dict[tuple[bytes, bytes], Mask] = {}

    def _in_time(self, run: Mask, starts: Floats) -> Mask:
        """Return who is in time in scenarios; few jobs come back in the same order again."""
        key = run.tobytes(), starts[run[self.tasks.job_of]].tobytes()
        if key not in self._known:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[key] = self.sample.in_time(Order(run, starts), self._lengths_in)
        return self._known[key]

    def run(self, jobs: Mask, order: int, shift: Floats | None) -> Floats:
        """Dispatch some jobs as planned, then in scenarios; return what each earns, shape (jobs,).

        Jobs that have not their chance are left out, until all others have theirs.
        """
        sample, rewards = self.sample, self.night.rewards
        run, starts = super().run(jobs, order, shift) > 0, self.starts
        found = self._in_time(run, starts)
        if sample.measure.kind == "chance":
            while not (kept := found.sum(axis=0) >= sample.least)[run].all():
                run = run & kept
                found = self._in_time(run, starts)
            return np.where(run, rewards, 0.0)
        earned = rewards * found.mean(axis=0)
        if sample.measure.kind == "cvar" and earned.any():
            earned *= (sample.worth(found, run) or 0.0) / float(earned.sum())
        return np.where(run, np.maximum(earned, BARELY), 0.0)
