"""The dispatch simulator: which task goes to an idle processor, played through to the end.

Nonpreemptive, on P identical processors, and non-delay: no processor is idle while a task is
runnable. A task is runnable once its job is released and all tasks of its previous stage have
ended. A runnable task that does not find the seats that it holds waits, and the next one goes.
Everything that ends at an instant ends before jobs are released at it, and then tasks start.

Source: Anderson et al., SPAA 2005, section 3.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance, Scheduled, Tasks, scheduled
from schedopt.instances.dssp.tasks import Floats, Ints


class Played(NamedTuple):
    """What a simulation gives.

    Attributes
    ----------
    starts : ndarray of float, shape (tasks,)
        When each task starts; NaN for tasks of jobs that are not run.
    processors : ndarray of int, shape (tasks,)
        Where; -1 for those.
    completion : ndarray of float, shape (jobs,)
        When each job completes; NaN for jobs that are not run.
    """

    starts: Floats
    processors: Ints
    completion: Floats


class Held(NamedTuple):
    """Seats that running tasks hold.

    Attributes
    ----------
    capacity : ndarray of int, shape (kinds,)
        How many seats there are of each kind.
    use : ndarray of int, shape (kinds, jobs)
        How many of them each running task of a job holds.
    """

    capacity: Ints
    use: Ints

    @classmethod
    def of(cls, night: Instance) -> Held:
        """Return the seats of an instance."""
        rules = [rule for rule in night.constraints if isinstance(rule, Seats)]
        use = np.zeros((len(rules), len(night.jobs)), dtype=np.int64)
        for k, rule in enumerate(rules):
            for name, seats in rule.use.items():
                use[k, night.index[name]] = seats
        return cls(np.array([rule.capacity for rule in rules], dtype=np.int64), use)

    def able(self, jobs: Ints) -> Ints:
        """Return those of some jobs whose tasks hold no more seats than there are."""
        if not len(self.capacity):
            return jobs
        within = (self.use[:, jobs] <= self.capacity[:, None]).all(axis=0)
        return np.asarray(jobs[within], dtype=np.int64)


def play(
    night: Instance, jobs: Ints, *, keys: Floats | None = None, draws: Floats | None = None
) -> Played:
    """Simulate a dispatcher on some jobs, compiled.

    Parameters
    ----------
    night : Instance
        With stages for every job: what happens, whatever was predicted.
    jobs : ndarray of int
        Positions of the jobs to run, in the file's order; none may hold more seats than there are.
    keys : ndarray of float, shape (jobs,) or (tasks,)
        Of all runnable tasks the one whose job, or which itself, has the least key goes first; the
        file's order decides ties.
    draws : ndarray of float, shape (tasks,)
        In place of keys: numbers in [0, 1) that draw one task after the other.
    """
    from schedopt.solvers.dssp.schedule import dispatch_kernels as kernels
    from schedopt.solvers.dssp.schedule import held_kernels

    tasks, by_task = prepared(night, keys)
    order: Any = slice(None)
    if keys is not None and len(keys) > len(night.jobs):
        order = kernels.order_of(keys, tasks.first_task)
    starts = np.full(len(tasks.lengths), np.nan)
    places = np.full(len(tasks.lengths), -1, dtype=np.int64)
    completion = np.full(len(night.jobs), np.nan)
    jobs, held = np.asarray(jobs, dtype=np.int64), Held.of(night)
    unhindered = not len(held.capacity) and not (night.releases[jobs] > 0).any()
    plain = unhindered and by_task is not None
    choice: Any = draws if by_task is None else by_task[order]
    kernel: Any = held_kernels.by_draw
    until: tuple[Any, ...] = ()
    if by_task is not None:
        kernel = kernels.by_key if plain else held_kernels.by_key_until
        until = () if plain else (np.inf, tasks.first_stage)
    by_release = jobs[np.argsort(night.releases[jobs], kind="stable")]
    kernel(
        tasks.lengths[order],
        choice,
        tasks.first_task,
        tasks.first_stage,
        by_release,
        min(night.processors, max(1, len(tasks.lengths))),
        *(() if plain else (night.releases, *held)),
        starts,
        places,
        completion,
        *until,
    )
    if isinstance(order, slice):
        return Played(starts, places, completion)
    played = Played(np.empty_like(starts), np.empty_like(places), completion)
    played.starts[order], played.processors[order] = starts, places
    return played


def prepared(night: Instance, keys: Floats | None) -> tuple[Tasks, Floats | None]:
    """Return the tasks, and a key for each of them."""
    tasks = night.tasks
    if keys is None:
        return tasks, None
    if len(keys) == len(tasks.lengths):
        return tasks, np.ascontiguousarray(keys, dtype=np.float64)
    rank = np.empty(len(keys))
    rank[np.argsort(keys, kind="stable")] = np.arange(len(keys))
    return tasks, rank[tasks.job_of]


def schedule_of(night: Instance, jobs: Ints, played: Played, fill: float = 1.0) -> Scheduled:
    """Return the solution record of a simulation of some jobs, chosen under a fill of r."""
    return scheduled(night, jobs.tolist(), played.starts, played.processors, fill)
