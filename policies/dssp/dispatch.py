"""The simulator of nights: which task goes to idle processors, simulated to the end.

`solvers.dssp.schedule.simulation_kernels` says what a dispatcher means.
"""

import numpy as np
from msgspec.structs import replace

from schedopt.instances.dssp import Instance, Scheduled
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.solvers.dssp.schedule.machine_arrays import NEAR
from schedopt.solvers.dssp.schedule.processor_numbers import Simulated, simulate_keys

__all__ = ["NEAR", "Simulated", "clocks_of", "key_of_tasks", "schedule_of", "simulate"]


def simulate(
    night: Instance,
    jobs: Ints,
    *,
    keys: Floats | None = None,
    draws: Floats | None = None,
    lengths: Floats | None = None,
) -> Simulated:
    """Simulate a dispatcher on some jobs.

    Parameters
    ----------
    night : Instance
        With stages for every job: what happens, whatever was predicted.
    jobs : ndarray of int
        Positions of the jobs to run.
    keys : ndarray of float, shape (jobs,) or (tasks,)
        Of all runnable tasks the one whose job, or which itself, has the least key goes first; the
        file's order decides ties.
    draws : ndarray of float, shape (tasks,)
        In place of keys: numbers in [0, 1) that draw one task after the other.
    lengths : ndarray of float, shape (tasks,), optional
        How long tasks take, if not as long as the instance says.
    """
    clocks = np.empty(0) if draws is None else clocks_of(draws)
    by_task = keys is not None and len(keys) > len(night.jobs)
    keys = key_of_tasks(night, keys)
    return simulate_keys(night, jobs, keys, by_task=by_task, clocks=clocks, lengths=lengths)


def key_of_tasks(night: Instance, keys: Floats | None) -> Floats:
    """Return a key for each task, shape (tasks,): its own, its job's rank, or 0 without keys."""
    tasks = night.tasks
    if keys is None:
        return np.zeros(len(tasks.lengths))
    if len(keys) == len(tasks.lengths):
        return np.ascontiguousarray(keys, dtype=np.float64)
    rank = np.empty(len(keys))
    rank[np.argsort(keys, kind="stable")] = np.arange(len(keys))
    return rank[tasks.job_of]


def clocks_of(draws: Floats) -> Floats:
    """Return exponential numbers for uniform ones.

    Of tasks that wait as long as such numbers say, each is as likely as another to be the first,
    and remains so however long it has waited.
    """
    return -np.log1p(-draws)


def schedule_of(night: Instance, jobs: Ints, outcome: Simulated, fill: float = 1.0) -> Scheduled:
    """Return the solution record of a simulation of some jobs, chosen under a fill of r."""
    done = [int(j) for j in jobs if np.isfinite(outcome.completion[j])]
    schedule = outcome.schedule(night, done, fill)
    if len(done) == len(jobs):
        return schedule
    never = set(jobs.tolist()) - set(done)
    names = [night.jobs[j].name for j in sorted(never)]
    return replace(schedule, note=f"never completed on this machine: {', '.join(names)}")
