"""The machine, the needs of jobs, and their tasks, as flat arrays for the simulator.

Seats are amounts like resources. All amounts are integers.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from schedopt.instances.constraints import Seats
from schedopt.instances.decimals import as_written, lowest
from schedopt.instances.dssp.machine import Steps
from schedopt.instances.dssp.planned import Floats, Ints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schedopt.instances.dssp import Instance, Tasks

NEAR = 1 + 1e-11
"""Relative tolerance of the end of a task, against rounding."""
MOST_IN_PYTHON = 500
"""Most tasks that are simulated as plain Python."""
LARGEST = 1 << 60
"""Largest amount in integer units; larger amounts are rounded to the safe side."""


class MachineArrays(NamedTuple):
    """A machine, and the needs of jobs that do not depend on lengths and keys."""

    changes: Floats  # times at which something changes
    first_layer: Ints  # of each pool, (pools + 1,)
    first_step: Ints  # of each layer, (layers + 1,)
    step_times: Floats  # when each step begins, (steps,)
    there: Ints  # processors of the layer in the step, (steps,)
    stays: Floats  # until when these processors stay, or -1 without processors, (steps,)
    first_level: Ints  # of each amount, (amounts + 1,)
    level_times: Floats  # when each level begins, (levels,)
    level: Ints  # the amount in the level, (levels,)
    width: Ints  # processors of a task, (classes,)
    use: Ints  # amounts that a task holds, (classes, amounts)
    first_pool: Ints  # (classes + 1,)
    pools: Ints  # the pools of each class, in the order of the file
    class_of: Ints  # (jobs,)
    most: Ints  # most processors that a job may hold, (jobs,)
    releases: Floats  # (jobs,)
    due: Floats  # (jobs,)
    delay: float  # the longest delay with a reward
    end: float  # when the machine ends
    predecessors: Ints  # their number, (jobs,)
    first_successor: Ints  # (jobs + 1,)
    successors: Ints


class TaskKinds(NamedTuple):
    """Kinds of tasks, in the order of jobs and stages."""

    first: Ints  # the first task of each kind, in that order, (kinds + 1,)
    lengths: Floats  # (kinds,)
    keys: Floats  # (kinds,)
    latest: Floats  # latest start; after it the job is dropped, (kinds,)
    job_of: Ints  # (kinds,)
    stage_of: Ints  # (kinds,)
    first_kind: Ints  # of each stage, (stages + 1,)
    first_stage: Ints  # of each job, (jobs + 1,)


def machine_arrays(night: Instance) -> MachineArrays:
    """Return the machine of an instance with its seats; the result is cached."""
    arrays: MachineArrays | None = vars(night).get("_site")
    if arrays is None:
        own = [rule for rule in night.constraints if isinstance(rule, Seats)]
        arrays = vars(night)["_site"] = with_seats(night, own)
    return arrays


def with_seats(night: Instance, seats: Sequence[Seats]) -> MachineArrays:
    """Return the machine of an instance with some seats in place of its own."""
    machine, jobs = night.machine, night.jobs
    amounts = [*machine.resources.values()]
    needs = [[as_written(job.holds.get(n, 0.0)) for n in machine.resources] for job in jobs]
    uses = [
        *(_in_units(there, [n[i] for n in needs]) for i, there in enumerate(amounts)),
        *(([rule.capacity], [rule.use.get(job.name, 0) for job in jobs]) for rule in seats),
    ]
    times = [*(list(map(float, there.times)) for there in amounts), *([0.0] for _ in seats)]
    layers, pools = machine.layers, list(machine.pools)
    classes: dict[tuple[Any, ...], int] = {}
    class_of = [
        classes.setdefault(
            (
                job.processors,
                tuple(map(pools.index, machine.of_job(job))),
                *(u[j] for _, u in uses),
            ),
            len(classes),
        )
        for j, job in enumerate(jobs)
    ]
    after: list[list[int]] = [[] for _ in jobs]
    for j, job in enumerate(jobs):
        for name in job.after:
            after[night.index[name]].append(j)
    changes = {float(time) for layer in layers for time in layer.there.times}
    return MachineArrays(
        np.array(sorted(changes.union(*times, [0.0]))),
        _offsets([[layer for layer in layers if layer.pool == pool] for pool in pools]),
        _offsets([layer.there.times for layer in layers]),
        _concatenate([layer.there.times for layer in layers], float),
        _concatenate([layer.there.amounts for layer in layers], int),
        _concatenate([_constant_until(layer.there) for layer in layers], float),
        _offsets(times),
        _concatenate(times, float),
        _concatenate([there for there, _ in uses], int),
        np.array([key[0] for key in classes], dtype=np.int64),
        np.array([key[2:] for key in classes], dtype=np.int64).reshape(len(classes), len(uses)),
        _offsets([key[1] for key in classes]),
        _concatenate([key[1] for key in classes], int),
        np.array(class_of, dtype=np.int64),
        np.array([job.max_processors or LARGEST for job in jobs], dtype=np.int64),
        night.releases.copy(),  # numba compiles again for read-only arrays
        night.deadlines.copy(),
        night.delay,
        np.inf if night.end is None else float(night.end),
        np.array([len(job.after) for job in jobs], dtype=np.int64),
        _offsets(after),
        _concatenate(after, int),
    )


def _in_units(there: Steps, needs: Sequence[Any]) -> tuple[list[int], list[int]]:
    """Return an amount over time, and what each job holds of it, in integer units."""
    unit = min(lowest([*needs, *there.amounts])[1], LARGEST / max(there.most, Fraction(1)))
    return [floor(a * unit) for a in there.amounts], [min(ceil(n * unit), LARGEST) for n in needs]


def _constant_until(there: Steps) -> list[float]:
    """Return until when the processors of each step stay."""
    until, levels = float("inf"), list[float]()
    for time, amount in zip(there.times[::-1], there.amounts[::-1], strict=True):
        levels.append(until if amount else -1.0)
        until = until if amount else float(time)
    return levels[::-1]


def _offsets(parts: Sequence[Sequence[Any]]) -> Ints:
    """Return the positions at which concatenated parts begin, and the end of the last."""
    return np.cumsum([0, *map(len, parts)]).astype(np.int64)


def _concatenate(parts: Sequence[Sequence[Any]], kind: type) -> Any:
    """Return all parts as one array."""
    return np.array([kind(one) for part in parts for one in part], dtype=kind)


def task_kinds(
    tasks: Tasks, lengths: Floats, keys: Floats | None, latest: Floats | None = None
) -> TaskKinds:
    """Return the kinds of tasks.

    ``lengths``, ``keys`` and ``latest`` have one number for each task, in the order of the stages,
    shape (tasks,). Without keys, all keys are 0.
    """
    count, first = len(lengths), tasks.first_task[:-1]
    starts = np.zeros(count, dtype=np.bool_)
    starts[first] = True
    starts[1:] |= lengths[1:] != lengths[:-1]
    for other in (keys, latest):
        if other is not None:
            starts[1:] |= other[1:] != other[:-1]
    at = np.flatnonzero(starts)
    return TaskKinds(
        np.append(at, count),
        lengths[at],
        np.zeros(len(at)) if keys is None else keys[at],
        np.full(len(at), np.inf) if latest is None else latest[at],
        tasks.job_of[at],
        tasks.stage_of[at],
        np.searchsorted(at, tasks.first_task),
        tasks.first_stage,
    )


def is_plain(site: MachineArrays) -> bool:
    """Return True if every task needs one processor, and all processors are always there."""
    return (
        len(site.changes) == 1
        and not len(site.successors)
        and not site.use.shape[1]
        and len(site.first_step) == 2
        and bool((site.width == 1).all() and (site.most == LARGEST).all())
        and not site.releases.any()
    )
