"""Trials of a search: dispatch some jobs in some order, and add up what they earn in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.planned import Floats, Ints

if TYPE_CHECKING:
    from schedopt.solvers.dssp.schedule.dispatch_kernels import Dispatch, Record

Mask = NDArray[np.bool_]


class Trials:
    """Dispatches sets of jobs, compiled, and says what each job earns.

    The task with the least time to spare on the way to its job's deadline goes first, or that of
    the job with the least such time from its start; jobs may be moved later or earlier. In some of
    the `orders` the last tasks are packed (see `packing_kernels`), where there are no releases, no
    seats, and nothing is paid for what is late. `able` are the jobs that could be in time by
    themselves, and earn something.
    """

    def __init__(self, night: Instance, seats: Sequence[Seats]) -> None:
        from schedopt.solvers.dssp.schedule import dispatch_kernels

        self.night, self.tasks = night, night.tasks
        tasks, names = self.tasks, [job.name for job in night.jobs]
        rows = [[rule.use.get(name, 0) for name in names] for rule in seats]
        use = np.array(rows, dtype=np.int64).reshape(len(seats), len(names))
        capacity = np.array([rule.capacity for rule in seats], dtype=np.int64)
        paths = tasks.remaining_paths[tasks.first_stage[:-1]]
        due = night.deadlines
        self._order = dispatch_kernels.order_of(-tasks.lengths, tasks.first_task)
        by_task = due[tasks.job_of] - (tasks.lengths + tasks.following_paths[tasks.stage_of])
        by_job = due[tasks.job_of] - paths[tasks.job_of]
        self._keys = [by_task[self._order], by_job[self._order]]
        self._dispatch = dispatch_kernels.Dispatch(
            tasks.lengths[self._order],
            tasks.first_task,
            tasks.first_stage,
            min(night.processors, max(1, len(tasks.lengths))),
            night.releases.copy(),  # numba compiles anew for arrays that nobody may change
            capacity,
            use,
        )
        held = bool(len(seats)) or bool((night.releases > 0).any())
        plain = not held and len(night.late) < 2 and len(tasks.lengths) > 0
        self._packing = Packing(night, self._order) if plain else None
        self.orders = len(self._keys) * (1 + len(TAILS) * plain)
        self._job_of = tasks.job_of[self._order]
        self._starts = np.full(len(tasks.lengths), np.inf)  # what is never run never starts
        self._places = np.zeros(len(tasks.lengths), dtype=np.int64)
        self._limit = due * (1 + 1e-11)
        fits = (use <= capacity[:, None]).all(axis=0)
        last = night.deadlines + night.delay
        self.able: Mask = (
            fits & (night.rewards > 0) & (night.releases + paths <= last * (1 + 1e-11))
        )

    def run(self, jobs: Mask, order: int, shift: Floats | None) -> Floats:
        """Dispatch some jobs, and return what each earns, shape (jobs,).

        Parameters
        ----------
        jobs : ndarray of bool, shape (jobs,)
        order : int
            Which order of tasks, and whether from some time on they are packed.
        shift : ndarray of float, shape (jobs,), optional
            By how much each job is put off in it.
        """
        from schedopt.solvers.dssp.schedule import dispatch_kernels, held_kernels

        keys = self._keys[order % len(self._keys)]
        if shift is not None:
            keys = keys + shift[self._job_of]
        some: Ints = np.flatnonzero(jobs)
        completion = np.full(len(self.night.jobs), np.nan)
        record = dispatch_kernels.Record(self._starts, self._places, completion)
        how = order // len(self._keys)
        if how and self._packing:
            self._packing.run(self._dispatch, keys, some, record, TAILS[how - 1])
        else:
            held_kernels.by_least_key(self._dispatch, keys, some, record)
        return self._earned(completion)

    def _earned(self, completion: Floats) -> Floats:
        night = self.night
        part = (completion <= self._limit).astype(np.float64)
        if len(night.late) > 1:
            delays, paid = np.array(night.late).T
            delay = completion - night.deadlines
            late = np.interp(delay, delays, paid, right=0.0)
            part = np.where(delay > delays[-1], 0.0, np.where(part == 1.0, 1.0, late))
            part = np.nan_to_num(part, nan=0.0)
        return np.asarray(part * night.rewards, dtype=np.float64)

    @property
    def starts(self) -> Floats:
        """When each task started in the last trial, in the file's order."""
        in_order = np.empty_like(self._starts)
        in_order[self._order] = self._starts
        return in_order


LIGHT = 0.1
"""Largest share of a job's demand in the stages after its last long one."""

TAILS = (0.15, 0.3, 0.5)
"""When packing begins: time left to the deadline, as fractions of it."""

EFFORT = 500_000
"""Most comparisons that a trial spends on tasks that found no place."""


class Packing:
    """Packs what a dispatcher has not started some time before the deadline.

    The night has stages for every job, no releases, and pays nothing for what is late. `order` is
    the order in which stages hand their tasks out; `early` marks, in that order, the tasks that
    must have started before packing begins.
    """

    def __init__(self, night: Instance, order: Ints) -> None:
        from schedopt.solvers.dssp.schedule.packing_kernels import Due

        tasks, lengths = night.tasks, night.tasks.lengths[order]
        job_of, stage_of = tasks.job_of[order], tasks.stage_of[order]
        main = _last_long(night)
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
        packing_kernels.packed(of, self._due, early_first, jobs, record, until, EFFORT)


def _last_long(night: Instance) -> Ints:
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
