"""The processors of simulated tasks, from the history of their starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from schedopt.instances.dssp import Scheduled, scheduled
from schedopt.solvers.compiling import kernel
from schedopt.solvers.dssp.schedule.machine_arrays import (
    MOST_IN_PYTHON,
    machine_arrays,
    task_kinds,
)
from schedopt.solvers.dssp.schedule.simulation_kernels import History, simulate
from schedopt.solvers.kernels import pop, push

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schedopt.instances.dssp import Instance
    from schedopt.instances.dssp.planned import Floats, Ints


class Simulated(NamedTuple):
    """The outcome of a simulation; times are NaN for tasks that do not run."""

    starts: Floats  # start of each task, shape (tasks,)
    completion: Floats  # completion time of each job, shape (jobs,)
    lengths: Floats  # of tasks, in the order of the stages
    keys: Floats  # of tasks, in the same order
    order: Ints | None  # this order, if it is not that of the file
    history: History | None  # None if each task takes one processor of one layer

    def processors(self, night: Instance) -> dict[int, tuple[int, ...]]:
        """Return the processors of each task of positive length that has started.

        In a layer, idle processors of the lowest numbers are taken first.
        """
        history = self._history_by_task() if self.history is None else self.history
        layers = night.machine.layers
        first = np.cumsum([0, *(len(layer.numbers) for layer in layers[:-1])]).astype(np.int64)
        ends = history.starts + self.lengths[history.first]
        flat = _numbers(first, ends, history).tolist()
        if night.machine.away:
            numbers = [number for layer in layers for number in layer.numbers]
            flat = [numbers[at] for at in flat]
        job_of, at, on = night.tasks.job_of, 0, dict[int, tuple[int, ...]]()
        order = np.arange(len(self.starts)) if self.order is None else self.order
        width = [night.jobs[j].processors for j in job_of[order[history.first]].tolist()]
        lines = zip(history.first, history.tasks, history.processors, width, strict=True)
        for first, tasks, taken, wide in lines:
            for i, task in enumerate(order[first : first + tasks].tolist()):
                on[task] = tuple(flat[at + i * wide : at + (i + 1) * wide])
            at += taken
        return on

    def _history_by_task(self) -> History:
        """Return the history of tasks that start one by one."""
        starts = self.starts if self.order is None else self.starts[self.order]
        run = np.flatnonzero(np.isfinite(starts) & (self.lengths > 0))
        some = run[np.lexsort((self.keys[run], starts[run]))]
        ones = np.ones(len(some), np.int64)
        return History(starts[some], some, ones, np.zeros(len(some), np.int64), ones)

    def schedule(self, night: Instance, jobs: Iterable[int], fill: float = 1.0) -> Scheduled:
        """Return the solution record of some jobs that complete."""
        on = self.processors(night)
        places = np.zeros(len(self.starts), dtype=np.int64)
        places[list(on)] = [own[0] for own in on.values()]
        several = {task: own for task, own in on.items() if len(own) > 1}
        return scheduled(night, jobs, self.starts, places, fill, several=several)


def simulate_keys(
    night: Instance,
    jobs: Ints,
    keys: Floats,
    *,
    by_task: bool,
    clocks: Floats,
    lengths: Floats | None = None,
) -> Simulated:
    """Simulate some jobs, with a key for each task: see `policies.dssp.dispatch.simulate`.

    `by_task`: whether tasks of one stage may have different keys.
    """
    tasks = night.tasks
    lengths = tasks.lengths if lengths is None else lengths
    order = np.lexsort((keys, tasks.stage_of)) if by_task else None
    if order is not None:
        lengths, keys = lengths[order], keys[order]
    starts, completion = np.full(len(lengths), np.nan), np.full(len(night.jobs), np.nan)
    kinds = task_kinds(tasks, lengths, keys)
    by_release = jobs[np.argsort(night.releases[jobs], kind="stable")]
    history = simulate(machine_arrays(night), kinds, by_release, np.inf, clocks, starts, completion)
    if order is not None:
        starts, in_order = np.empty_like(starts), starts
        starts[order] = in_order
    return Simulated(starts, completion, lengths, keys, order, history)


@kernel(python_up_to=MOST_IN_PYTHON, size=lambda first, ends, history: int(history.tasks.sum()))
def _numbers(first: Ints, ends: Floats, history: History) -> Ints:
    """Return the processors of each line of a history: idle ones of the lowest numbers."""
    starts, layers, processors = history.starts, history.layers, history.processors
    taken = np.zeros(len(first) + 1, np.int64)
    for line in range(len(starts)):
        taken[layers[line] + 1] += processors[line]
    offset = np.cumsum(taken)
    numbers, begin = np.empty(offset[-1], np.int64), np.empty(len(starts), np.int64)
    keys, idle = np.empty(offset[-1]), np.empty(offset[-1], np.int64)
    back, fresh = np.zeros(len(first), np.int64), first.copy()
    times, busy, running, at = np.empty(len(starts)), np.empty(len(starts), np.int64), 0, 0
    for line in range(len(starts)):
        while running > 0 and times[0] <= starts[line]:
            other = busy[0]
            running = pop(times, busy, running)
            layer = layers[other]
            own, items = keys[offset[layer] :], idle[offset[layer] :]
            for i in range(begin[other], begin[other] + processors[other]):
                back[layer] = push(own, items, back[layer], float(numbers[i]), numbers[i])
        layer, begin[line] = layers[line], at
        own, items = keys[offset[layer] :], idle[offset[layer] :]
        for i in range(at, at + processors[line]):
            if back[layer] > 0:
                numbers[i] = items[0]
                back[layer] = pop(own, items, back[layer])
            else:
                numbers[i] = fresh[layer]
                fresh[layer] += 1
        at += processors[line]
        running = push(times, busy, running, ends[line], line)
    return numbers
