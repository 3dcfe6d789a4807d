"""One trial of a search: dispatch some jobs in some order, and add up what they earn in time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.solvers.dssp.schedule.packing import TAILS, Packing

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
        from schedopt.solvers.dssp.schedule import dispatch_kernels, held_kernels

        self.night, self.tasks = night, night.tasks
        tasks, names = self.tasks, [job.name for job in night.jobs]
        use = [[rule.use.get(name, 0) for name in names] for rule in seats]
        self._use = np.array(use, dtype=np.int64).reshape(len(seats), len(names))
        self._capacity = np.array([rule.capacity for rule in seats], dtype=np.int64)
        self.held = bool(len(seats)) or bool((night.releases > 0).any())
        self._kernel: Any = held_kernels.by_key_until if self.held else dispatch_kernels.by_key
        paths = tasks.remaining_paths[tasks.first_stage[:-1]]
        due = night.deadlines
        self._order = dispatch_kernels.order_of(-tasks.lengths, tasks.first_task)
        by_task = due[tasks.job_of] - (tasks.lengths + tasks.following_paths[tasks.stage_of])
        by_job = due[tasks.job_of] - paths[tasks.job_of]
        self._keys = [by_task[self._order], by_job[self._order]]
        plain = not self.held and len(night.late) < 2 and len(tasks.lengths) > 0
        self._packing = Packing(night, self._order) if plain else None
        self.orders = len(self._keys) * (1 + len(TAILS) * plain)
        self._lengths = tasks.lengths[self._order]
        self._job_of = tasks.job_of[self._order]
        self._starts = np.full(len(tasks.lengths), np.inf)  # what is never run never starts
        self._places = np.zeros(len(tasks.lengths), dtype=np.int64)
        self._limit = due * (1 + 1e-11)
        fits = (self._use <= self._capacity[:, None]).all(axis=0)
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
        night, tasks = self.night, self.tasks
        keys = self._keys[order % len(self._keys)]
        if shift is not None:
            keys = keys + shift[self._job_of]
        some: Ints = np.flatnonzero(jobs)
        how = order // len(self._keys)
        if how and self._packing:
            return self._earned(self._packing.run(keys, some, TAILS[how - 1], self._starts))
        held: tuple[Any, ...] = ()
        until: tuple[Any, ...] = ()
        if self.held:
            some = some[np.argsort(night.releases[some], kind="stable")]
            held = (night.releases, self._capacity, self._use)
            until = (np.inf, tasks.first_stage)
        completion = np.full(len(night.jobs), np.nan)
        self._kernel(
            self._lengths,
            keys,
            tasks.first_task,
            tasks.first_stage,
            some,
            min(night.processors, max(1, len(tasks.lengths))),
            *held,
            self._starts,
            self._places,
            completion,
            *until,
        )
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
