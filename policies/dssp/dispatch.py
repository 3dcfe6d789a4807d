"""Simulation of dispatchers on a night.

`solvers.dssp.schedule.simulation_kernels` defines what a dispatcher does.
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
        An instance with stages for every job; predictions are ignored.
    jobs : ndarray of int
        Positions of the jobs to run.
    keys : ndarray of float, shape (jobs,) or (tasks,)
        Priorities of jobs or tasks: the runnable task with the smallest key starts first. The
        file's order breaks ties.
    draws : ndarray of float, shape (tasks,)
        In place of keys: numbers in [0, 1) from which tasks are drawn at random.
    lengths : ndarray of float, shape (tasks,), optional
        Actual task lengths, if they differ from the instance's.
    """
    clocks = np.empty(0) if draws is None else clocks_of(draws)
    by_task = keys is not None and len(keys) > len(night.jobs)
    keys = key_of_tasks(night, keys)
    return simulate_keys(night, jobs, keys, by_task=by_task, clocks=clocks, lengths=lengths)


def key_of_tasks(night: Instance, keys: Floats | None) -> Floats:
    """Return the key of each task, shape (tasks,): its own, or its job's rank; 0 without keys."""
    tasks = night.tasks
    if keys is None:
        return np.zeros(len(tasks.lengths))
    if len(keys) == len(tasks.lengths):
        return np.ascontiguousarray(keys, dtype=np.float64)
    rank = np.empty(len(keys))
    rank[np.argsort(keys, kind="stable")] = np.arange(len(keys))
    return rank[tasks.job_of]


def clocks_of(draws: Floats) -> Floats:
    """Return exponential random numbers from uniform ones.

    With exponential waiting times, each of the waiting tasks is equally likely to be the first,
    however long it has waited.
    """
    return -np.log1p(-draws)


def schedule_of(night: Instance, jobs: Ints, outcome: Simulated, fill: float = 1.0) -> Scheduled:
    """Return the solution record of a simulated schedule; shares are of r·P·D for r = ``fill``."""
    done = [int(j) for j in jobs if np.isfinite(outcome.completion[j])]
    schedule = outcome.schedule(night, done, fill)
    if len(done) == len(jobs):
        return schedule
    never = set(jobs.tolist()) - set(done)
    names = [night.jobs[j].name for j in sorted(never)]
    return replace(schedule, note=f"never completed on this machine: {', '.join(names)}")
