"""Dispatch orders: dispatch jobs in one of many orders, and return their rewards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.machine import in_order
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.solvers.dssp.schedule.machine_arrays import (
    NEAR,
    MachineArrays,
    TaskKinds,
    is_plain,
    task_kinds,
    with_seats,
)
from schedopt.solvers.dssp.schedule.processor_numbers import Simulated
from schedopt.solvers.dssp.schedule.simulation_kernels import simulate

if TYPE_CHECKING:
    from schedopt.solvers.dssp.schedule.packing_kernels import Tail

JobMask = NDArray[np.bool_]
NOTHING = np.empty(0)


@dataclass(frozen=True)
class DispatchParams:
    """Parameters of the dispatch orders.

    Attributes
    ----------
    no_slack : float
        A required job with less slack, as a fraction of the horizon, goes first in every order.
    tails : tuple of float
        When packing begins: time until the deadline, as fractions of it.
    light : float
        Largest share of a job's demand in the stages after its last long one.
    effort : int
        Most comparisons of a packing for tasks that have found no place.
    """

    no_slack: float = 1e-5
    tails: tuple[float, ...] = (0.15, 0.3, 0.5)
    light: float = 0.1
    effort: int = 500_000


DEFAULTS = DispatchParams()


class TrialOutcome(NamedTuple):
    """The outcome of a dispatch."""

    earned: Floats  # reward of each job, (jobs,)
    done: JobMask  # jobs that complete on time, or late with a reward
    simulated: Simulated


class DispatchOrders:
    """Dispatches sets of jobs in `count` orders, and returns the reward of each job.

    The first order takes the task with the least slack to the deadline of its job and of the jobs
    that wait for it, and the second the job with the least slack. Other orders are those of
    dispatchers. In some orders the last tasks are packed (see `packing_kernels`): on machines that
    do not change, if late jobs have no reward. A job that can no longer be on time is dropped.

    Parameters
    ----------
    night : Instance
    seats : sequence of Seats
    able : ndarray of bool, optional
        Jobs that may run.
    worthless : bool
        Whether jobs without reward may run too.
    starts : ndarray of float, shape (tasks,), optional
        Start times of tasks; the last order is by these times.
    required : ndarray of bool, optional
        Such a job without slack from its release to its deadline goes first in every order.
    params : DispatchParams, optional

    Attributes
    ----------
    able : ndarray of bool
        Jobs that can be on time alone, and have a reward or are predecessors of such jobs.
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
        params: DispatchParams = DEFAULTS,
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
        self._waiting: list[int] = []  # jobs with predecessors, in topological order
        if any(self.before):
            self._close(fits, due, paths)
        following = tasks.following_paths[tasks.stage_of]
        latest = (last * NEAR)[tasks.job_of] - following - tasks.lengths
        kinds = task_kinds(tasks, lengths, None)
        first = kinds.first[:-1]
        self._kinds = kinds._replace(latest=latest[self._order][first])
        slack = due[kinds.job_of] - following[self._order][first] - kinds.lengths
        with np.errstate(over="ignore"):  # jobs without demand come first
            ratios = -night.rewards / np.maximum(self.demands, 1e-300)
        by_job = [
            due - paths,
            *map(self._ranks_of_due_times, (ratios, -paths)),
            *map(self._ranks_of_due_times, (self.demands, -night.rewards, due)),
        ]
        self._keys = [slack, *(key[kinds.job_of] for key in by_job)]
        if starts is not None:
            self._keys.append(np.minimum.reduceat(starts[self._order], first))
        at_once = night.releases + paths >= night.deadlines - params.no_slack * night.horizon
        at_once &= False if required is None else required
        for key in self._keys if at_once.any() else ():
            key[at_once[kinds.job_of]] -= 1e3 * (1 + night.horizon)  # before all others
        self._end = float(last.max(initial=0.0)) * NEAR * NEAR
        plain = is_plain(self.site)
        self._lengths = lengths
        self._kind_of = np.repeat(np.arange(len(first)), np.diff(kinds.first))
        packs = plain and len(night.late) < 2 and len(lengths) > 0
        self._packing = PackingOrders(night, self._order, params) if packs else None
        self._plans: list[tuple[int, float | None]] = [(0, None), (1, None)]
        self._plans += [(key, tail) for tail in params.tails for key in (0, 1) if packs]
        self._plans += [(key, None) for key in range(2, len(self._keys))]
        self.count = len(self._plans)

    def _peak_amounts(self) -> Ints:
        """Return the largest amount of each resource at any time."""
        first = self.site.first_level.tolist()
        most = [self.site.level[a:b].max() for a, b in pairwise(first)]
        return np.array(most, dtype=np.int64)

    def _ranks_of_due_times(self, key: Floats) -> Floats:
        """Return the ranks of a key, scaled from 0 to the last deadline."""
        rank = np.empty(len(key))
        rank[np.argsort(key, kind="stable")] = np.arange(len(key))
        return rank * (float(self.night.deadlines.max(initial=1.0)) / max(1, len(key)))

    def _close(self, fits: JobMask, due: Floats, paths: Floats) -> None:
        """Make predecessors of able jobs able, with the due times that their successors need."""
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
        """Return jobs without those whose predecessors are missing."""
        kept = jobs
        for j in self._waiting:
            if kept[j] and not kept[self.before[j]].all():
                kept = kept.copy() if kept is jobs else kept
                kept[j] = False
        return kept

    def with_predecessors(self, j: int) -> list[int]:
        """Return a job and all its predecessors."""
        chain = [j]
        for i in chain:
            chain += [other for other in self.before[i] if other not in chain]
        return chain

    def run(self, jobs: JobMask, order: int, shift: Floats | None) -> TrialOutcome:
        """Dispatch some jobs, and return their rewards.

        Parameters
        ----------
        jobs : ndarray of bool, shape (jobs,)
        order : int
            The number of the order, from 0 to `count` - 1.
        shift : ndarray of float, shape (stages,), optional
            How much later each stage is in the order, in units of time.
        """
        which, tail = self._plans[order]
        keys, night = self._keys[which], self.night
        if shift is not None:
            keys = keys + shift[self._kinds.stage_of]
        some: Ints = np.flatnonzero(jobs)
        some = some[np.argsort(night.releases[some], kind="stable")]
        kinds, history = self._kinds._replace(keys=keys), None
        if tail is not None and self._packing:
            starts, completion = self._packing.run(self.site, kinds, some, tail)
        else:
            starts = np.full(len(self._lengths), np.nan)
            completion = np.full(len(night.jobs), np.nan)
            history = simulate(self.site, kinds, some, self._end, NOTHING, starts, completion)
        in_order = np.empty_like(starts)
        in_order[self._order] = starts
        simulated = Simulated(
            in_order, completion, self._lengths, keys[self._kind_of], self._order, history
        )
        return self._outcome(simulated)

    def _outcome(self, simulated: Simulated) -> TrialOutcome:
        """Return the rewards of a simulation."""
        night, completion = self.night, simulated.completion
        in_time, delay = completion <= night.deadlines * NEAR, completion - night.deadlines
        part = in_time.astype(np.float64)
        if len(night.late) > 1:
            delays, paid = np.array(night.late).T
            late = np.where(delay > delays[-1], 0.0, np.interp(delay, delays, paid))
            part = np.nan_to_num(np.where(in_time, 1.0, late), nan=0.0)
        return TrialOutcome(part * night.rewards, in_time | (delay <= night.delay), simulated)


class PackingOrders:
    """Packs the tasks that a dispatcher has not started some time before the deadline.

    All jobs have stages and no releases, and late jobs have no reward. ``order`` is the order of
    the tasks within stages. Packing takes the last long stage of each job and the stages after it.
    A job whose earlier tasks have not all started by then is dropped.
    """

    def __init__(self, night: Instance, order: Ints, params: DispatchParams) -> None:
        tasks, self._lengths = night.tasks, night.tasks.lengths[order]
        self._tasks, self._jobs = tasks, len(night.jobs)
        self._processors = sum(map(len, night.machine.numbers.values()))
        self._effort = params.effort
        self._early = tasks.stage_of < _last_long_stage(night, params.light)[tasks.job_of]
        by_stage = night.deadlines[tasks.job_of_stage]
        self._due = (by_stage - tasks.following_paths)[tasks.stage_of]
        self._latest = by_stage - tasks.remaining_paths
        late = np.flatnonzero(~self._early)
        self._by_due = late[np.lexsort((-self._lengths[late], self._due[late]))]

    def run(
        self, site: MachineArrays, kinds: TaskKinds, jobs: Ints, part: float
    ) -> tuple[Floats, Floats]:
        """Dispatch some jobs, and pack the remaining tasks in the last part of the horizon.

        Returns the start of each task, in the order within stages, and the completion time of each
        job. They are NaN for jobs that are not run or are dropped.
        """
        from schedopt.solvers.dssp.schedule.packing_kernels import pack

        tasks, lengths = self._tasks, self._lengths
        starts, completion = np.full(len(lengths), np.nan), np.full(self._jobs, np.nan)
        span = float(self._due.max(initial=0.0))
        until = (1 - part) * span
        keys = kinds.keys - part * span * self._early[kinds.first[:-1]]
        history = simulate(
            site, kinds._replace(keys=keys), jobs, until, NOTHING, starts, completion
        )
        starts[np.isnan(starts)] = np.inf
        chosen = np.zeros(self._jobs, dtype=np.bool_)
        chosen[jobs] = True
        chosen[tasks.job_of[self._early & np.isinf(starts)]] = False
        ends = np.repeat(history.starts + lengths[history.first], history.processors)
        begin, running = np.full(self._processors, until), np.sort(ends[ends > until])
        begin[self._processors - len(running) :] = running
        tail, effort = self._unstarted_tasks(chosen, starts, begin), np.array([self._effort])
        pack(tail, np.arange(len(begin)), begin.copy(), span, effort, chosen, starts)
        last = np.maximum.reduceat(starts + lengths, tasks.first_task[tasks.first_stage[:-1]])
        return starts, np.where(chosen, last, np.nan)

    def _unstarted_tasks(self, chosen: JobMask, starts: Floats, begin: Floats) -> Tail:
        """Return the tasks of chosen jobs that have not started, by due time.

        A stage opens at the end of the previous one if all its tasks have started, and otherwise at
        the latest possible time.
        """
        from schedopt.solvers.dssp.schedule.packing_kernels import Tail

        tasks = self._tasks
        stage_ends = np.maximum.reduceat(starts + self._lengths, tasks.first_task[:-1])
        opens = np.append(0.0, stage_ends[:-1])
        opens = np.where(np.isinf(opens), self._latest, opens)
        opens[tasks.first_stage[:-1]] = 0.0
        left = self._by_due[chosen[tasks.job_of[self._by_due]] & np.isinf(starts[self._by_due])]
        return Tail(
            tasks=left,
            owners=tasks.job_of[left],
            lengths=self._lengths[left],
            opens=opens[tasks.stage_of[left]],
            due=self._due[left],
            bins=np.full(len(left), -1),
            begin=begin,
            end=begin.copy(),
            head=np.full(len(begin), -1),
            after=np.full(len(left), -1),
        )


def _last_long_stage(night: Instance, light: float) -> Ints:
    """Return the last long stage of each job; the later ones have a small share of the demand."""
    tasks = night.tasks
    work = np.add.reduceat(tasks.lengths, tasks.first_task[:-1])
    stages = np.empty(len(night.jobs), dtype=np.int64)
    for j, demand in enumerate(tasks.demands.tolist()):
        s, later = int(tasks.first_stage[j + 1]) - 1, 0.0
        while s > tasks.first_stage[j] and later + work[s] <= light * demand:
            later += float(work[s])
            s -= 1
        stages[j] = s
    return stages
