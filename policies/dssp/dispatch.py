"""The dispatch simulator: which task goes to an idle processor, played through to the end.

Nonpreemptive, on P identical processors, and non-delay: no processor is idle while a task is
runnable. A task is runnable once its job is released and all tasks of its previous stage have
ended. A runnable task that does not find the seats that it holds waits, and the next one goes.
Everything that ends at an instant ends before jobs are released at it, and then tasks start.

Source: Anderson et al., SPAA 2005, section 3.2.
"""

from typing import Any

import numpy as np
from msgspec.structs import replace

from schedopt.instances.dssp import Instance, Scheduled, scheduled
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.policies.dssp.changing import play_changing
from schedopt.policies.dssp.played import Held, Played, prepared

__all__ = ["Held", "Played", "play", "prepared", "schedule_of"]


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
    if night.beyond:
        return play_changing(night, jobs, keys=keys, draws=draws)
    from schedopt.solvers.dssp.schedule import dispatch_kernels as kernels
    from schedopt.solvers.dssp.schedule import held_kernels

    tasks, by_task = prepared(night, keys)
    order: Any = slice(None)
    if keys is not None and len(keys) > len(night.jobs):
        order = kernels.order_of(keys, tasks.first_task)
    starts = np.full(len(tasks.lengths), np.nan)
    places = np.full(len(tasks.lengths), -1, dtype=np.int64)
    completion = np.full(len(night.jobs), np.nan)
    jobs = np.asarray(jobs, dtype=np.int64)
    of = kernels.Dispatch(
        tasks.lengths[order],
        tasks.first_task,
        tasks.first_stage,
        min(night.processors, max(1, len(tasks.lengths))),
        night.releases.copy(),  # numba compiles anew for arrays that nobody may change
        *Held.of(night),
    )
    record = kernels.Record(starts, places, completion)
    if by_task is not None:
        held_kernels.by_least_key(of, by_task[order], jobs, record)
    elif draws is not None:
        by_release = jobs[np.argsort(night.releases[jobs], kind="stable")]
        held_kernels.by_draw(of, draws, by_release, record)
    if isinstance(order, slice):
        return Played(starts, places, completion)
    played = Played(np.empty_like(starts), np.empty_like(places), completion)
    played.starts[order], played.processors[order] = starts, places
    return played


def schedule_of(night: Instance, jobs: Ints, played: Played, fill: float = 1.0) -> Scheduled:
    """Return the solution record of a simulation of some jobs, chosen under a fill of r."""
    done = [int(j) for j in jobs if not night.beyond or np.isfinite(played.completion[j])]
    found = scheduled(night, done, played.starts, played.processors, fill, several=played.several)
    if len(done) == len(jobs):
        return found
    names = [night.jobs[j].name for j in jobs if j not in done]
    return replace(found, note=f"never completed on this machine: {', '.join(names)}")
