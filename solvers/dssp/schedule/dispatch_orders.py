"""Dispatch orders: dispatch some jobs in one of many orders, and add up what they earn in time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.machine import in_order
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.solvers.dssp.schedule.dispatch_kernels import Dispatch, Record, by_key
from schedopt.solvers.dssp.schedule.machine_arrays import NEAR, is_plain, task_kinds, with_seats
from schedopt.solvers.dssp.schedule.processor_numbers import Simulated
from schedopt.solvers.dssp.schedule.simulation_kernels import simulate

JobMask = NDArray[np.bool_]
NOTHING = np.empty(0)
NO_SLACK = 1e-5
"""The part of the horizon that counts as no slack."""
AT_ONCE = 1e3
"""By how many horizons required jobs without slack are moved earlier in every order."""
FEW = 4
"""Tasks of a kind, on average, from which on kinds are simulated and not tasks."""


class Outcome(NamedTuple):
    """What came of a trial."""

    earned: Floats  # by each job, (jobs,)
    done: JobMask  # the jobs that complete while they are paid
    simulated: Simulated


class DispatchOrders:
    """Dispatches sets of jobs, compiled, and says what each job earns.

    The task with the least time to spare on the way to its job's deadline, and to those of jobs
    that wait for it, goes first, or that of the job with the least such time from its start; jobs
    may be moved later or earlier. There are `count` orders; others are those of dispatchers. In
    some the last tasks are packed (see `packing_kernels`), where tasks wait for processors alone,
    which are there all the time, and nothing is paid for what is late. A job that can no longer be
    in time is given up.

    A `required` job without time to spare from its release to its deadline goes first in every
    order. `starts` are times of tasks, shape (tasks,): the last order is that of these times.

    `able` are the jobs that could be in time by themselves, and earn something, or are waited for
    by such; all that could be where `worthless` ones count too.
    """

    def __init__(
        self,
        night: Instance,
        seats: Sequence[Seats] = (),
        *,
        able: JobMask | None = None,
        worthless: bool = False,
        starts: Floats | None = None,
        required: JobMask | None = None,
    ) -> None:
        self.night, tasks = night, night.tasks
        self.site = with_seats(night, seats)
        self._order = np.lexsort((-tasks.lengths, tasks.stage_of))
        lengths = tasks.lengths[self._order]
        paths = tasks.remaining_paths[tasks.first_stage[:-1]]
        last, due = night.deadlines + night.delay, night.deadlines.copy()
        self.demands = tasks.demands * [job.processors for job in night.jobs]
        self.before = [[night.index[name] for name in job.after] for job in night.jobs]
        held = np.asarray((self.site.use <= self._peak_amounts()).all(axis=1))
        fits: JobMask = held[self.site.class_of]
        fits &= night.releases + paths <= last * NEAR
        fits &= fits if able is None else able
        self.able = fits & (worthless | (night.rewards > 0))
        self._waiting: list[int] = []  # jobs that wait for others, these first
        if any(self.before):
            self._close(fits, due, paths)
        following = tasks.following_paths[tasks.stage_of]
        latest = (last * NEAR)[tasks.job_of] - following - tasks.lengths
        kinds = task_kinds(tasks, lengths, None)
        first = kinds.first[:-1]
        self._kinds = kinds._replace(latest=latest[self._order][first])
        slack = due[kinds.job_of] - following[self._order][first] - kinds.lengths
        by_job = [
            due - paths,
            *map(
                self._ranks_of_due_times,
                (-night.rewards / np.maximum(self.demands, 1e-300), -paths),
            ),
            *map(self._ranks_of_due_times, (self.demands, -night.rewards, due)),
        ]
        self._keys = [slack, *(key[kinds.job_of] for key in by_job)]
        if starts is not None:
            self._keys.append(np.minimum.reduceat(starts[self._order], first))
        at_once = night.releases + paths >= night.deadlines - NO_SLACK * night.horizon
        at_once &= False if required is None else required
        for key in self._keys if at_once.any() else ():
            key[at_once[kinds.job_of]] -= AT_ONCE * (1 + night.horizon)
        self._end = float(last.max(initial=0.0)) * NEAR * NEAR
        plain = is_plain(self.site)
        self._dispatch = Dispatch(
            lengths,
            tasks.first_task,
            tasks.first_stage,
            min(int(self.site.there[0]), max(1, len(lengths))) if plain else 0,
        )
        self._by_task = plain and lengths.all() and len(first) * FEW > len(lengths)
        self._kind_of = np.repeat(np.arange(len(first)), np.diff(kinds.first))
        packs = plain and len(night.late) < 2 and len(lengths) > 0
        self._packing = PackingOrders(night, self._order) if packs else None
        self._plans: list[tuple[int, float | None]] = [(0, None), (1, None)]
        self._plans += [(key, tail) for tail in TAILS for key in (0, 1) if packs]
        self._plans += [(key, None) for key in range(2, len(self._keys))]
        self.count = len(self._plans)

    def _peak_amounts(self) -> Ints:
        """Return the most that there ever is of each amount."""
        first = self.site.first_level.tolist()
        most = [self.site.level[a:b].max() for a, b in pairwise(first)]
        return np.array(most, dtype=np.int64)

    def _ranks_of_due_times(self, key: Floats) -> Floats:
        """Return ranks, from 0 to the last deadline."""
        rank = np.empty(len(key))
        rank[np.argsort(key, kind="stable")] = np.arange(len(key))
        return rank * (float(self.night.deadlines.max(initial=1.0)) / max(1, len(key)))

    def _close(self, fits: JobMask, due: Floats, paths: Floats) -> None:
        """Take jobs that wait for others with these, which are then due before."""
        order = in_order(self.night.jobs, self.night.index)[0]
        self._waiting = [j for j in order if self.before[j]]
        for j in self._waiting:
            fits[j] &= all(fits[i] for i in self.before[j])
            self.able[j] &= fits[j]
        for j in reversed(self._waiting):
            for i in self.before[j] if self.able[j] else ():
                self.able[i] = True
                due[i] = min(due[i], due[j] - paths[j])

    def without_orphans(self, jobs: JobMask) -> JobMask:
        """Return jobs without those that wait for others."""
        kept = jobs
        for j in self._waiting:
            if kept[j] and not kept[self.before[j]].all():
                kept = kept.copy() if kept is jobs else kept
                kept[j] = False
        return kept

    def with_predecessors(self, j: int) -> list[int]:
        """Return a job and all that it waits for."""
        chain = [j]
        for i in chain:
            chain += [other for other in self.before[i] if other not in chain]
        return chain

    def run(self, jobs: JobMask, order: int, shift: Floats | None) -> Outcome:
        """Dispatch some jobs, and return what each earns.

        Parameters
        ----------
        jobs : ndarray of bool, shape (jobs,)
        order : int
            Which order of tasks, and whether from some time on they are packed.
        shift : ndarray of float, shape (stages,), optional
            By how much each stage is put off in it.
        """
        which, tail = self._plans[order]
        keys, night = self._keys[which], self.night
        if shift is not None:
            keys = keys + shift[self._kinds.stage_of]
        some: Ints = np.flatnonzero(jobs)
        completion = np.full(len(night.jobs), np.nan)
        starts, history = np.full(len(self._dispatch.lengths), np.nan), None
        main = night.tasks.first_stage[:-1]
        if tail is not None and self._packing:
            starts[:] = np.inf
            record = Record(starts, completion)
            self._packing.run(self._dispatch, keys[self._kind_of], some, record, tail)
        elif self._by_task:
            record = Record(starts, completion)
            by_key(self._dispatch, keys[self._kind_of], some, record, self._end, main)
        else:
            some = some[np.argsort(night.releases[some], kind="stable")]
            kinds = self._kinds._replace(keys=keys)
            history = simulate(self.site, kinds, some, self._end, NOTHING, starts, completion)
        in_order = np.empty_like(starts)
        in_order[self._order] = starts
        simulated = Simulated(
            in_order, completion, self._dispatch.lengths, keys[self._kind_of], self._order, history
        )
        return self._outcome(simulated)

    def _outcome(self, simulated: Simulated) -> Outcome:
        """Return what jobs earn."""
        night, completion = self.night, simulated.completion
        in_time, delay = completion <= night.deadlines * NEAR, completion - night.deadlines
        part = in_time.astype(np.float64)
        if len(night.late) > 1:
            delays, paid = np.array(night.late).T
            late = np.where(delay > delays[-1], 0.0, np.interp(delay, delays, paid))
            part = np.nan_to_num(np.where(in_time, 1.0, late), nan=0.0)
        return Outcome(part * night.rewards, in_time | (delay <= night.delay), simulated)


LIGHT = 0.1
"""Largest share of a job's demand in the stages after its last long one."""

TAILS = (0.15, 0.3, 0.5)
"""When packing begins: time left to the deadline, as fractions of it."""

EFFORT = 500_000
"""Most comparisons that a trial spends on tasks that found no place."""


class PackingOrders:
    """Packs what a dispatcher has not started some time before the deadline.

    The night has stages for every job, no releases, and pays nothing for what is late. `order` is
    the order in which stages hand their tasks out; `early` marks, in that order, the tasks that
    must have started before packing begins.
    """

    def __init__(self, night: Instance, order: Ints) -> None:
        from schedopt.solvers.dssp.schedule.packing_kernels import Due

        tasks, lengths = night.tasks, night.tasks.lengths[order]
        job_of, stage_of = tasks.job_of[order], tasks.stage_of[order]
        main = _last_long_stage(night)
        by_stage = night.deadlines[tasks.job_of_stage]
        due = (by_stage - tasks.following_paths)[stage_of]
        self.early = stage_of < main[job_of]
        late = np.flatnonzero(~self.early)
        by_due = late[np.lexsort((-lengths[late], due[late]))]
        latest = by_stage - tasks.remaining_paths
        self._due = Due(main, by_due, due, latest, stage_of, job_of)

    def run(self, of: Dispatch, keys: Floats, jobs: Ints, record: Record, part: float) -> None:
        """Dispatch some jobs by least key, and pack the rest in the last part of the night."""
        from schedopt.solvers.dssp.schedule import packing_kernels

        tail = part * float(self._due.due.max(initial=0.0))
        early_first, until = np.where(self.early, keys - tail, keys), tail * (1 / part - 1)
        packing_kernels.dispatch_and_pack(of, self._due, early_first, jobs, record, until, EFFORT)


def _last_long_stage(night: Instance) -> Ints:
    """Return the last stage of each job after which little of its demand is left."""
    tasks = night.tasks
    work = np.add.reduceat(tasks.lengths, tasks.first_task[:-1])
    stages = np.empty(len(night.jobs), dtype=np.int64)
    for j, demand in enumerate(tasks.demands.tolist()):
        s, later = int(tasks.first_stage[j + 1]) - 1, 0.0
        while s > tasks.first_stage[j] and later + work[s] <= LIGHT * demand:
            later += float(work[s])
            s -= 1
        stages[j] = s
    return stages
