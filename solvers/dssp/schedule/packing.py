"""Trials that pack the last tasks of a night: the arrays of the compiled steps, made once."""

import numpy as np

from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.planned import Floats, Ints

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
        tasks = night.tasks
        self.night, self.lengths = night, tasks.lengths[order]
        self.job_of, self.stage_of = tasks.job_of[order], tasks.stage_of[order]
        self.main = _last_long(night)
        due = night.deadlines[tasks.job_of_stage]
        self.latest: Floats = due - tasks.remaining_paths
        self.due: Floats = (due - tasks.following_paths)[self.stage_of]
        self.early = self.stage_of < self.main[self.job_of]
        late = np.flatnonzero(~self.early)
        self.by_due = late[np.lexsort((-self.lengths[late], self.due[late]))]
        self._processors = min(night.processors, max(1, len(order)))

    def run(self, keys: Floats, jobs: Ints, part: float, starts: Floats) -> Floats:
        """Dispatch some jobs by least key, pack the rest, and return when each job completes.

        Tasks are packed for a `part` of the night, at its end; `starts` takes when each task
        starts.
        """
        from schedopt.solvers.dssp.schedule import packing_kernels

        night, tasks = self.night, self.night.tasks
        tail = part * float(self.due.max(initial=0.0))
        completion = np.full(len(night.jobs), np.nan)
        packing_kernels.packed(
            self.lengths,
            np.where(self.early, keys - tail, keys),
            tasks.first_task,
            tasks.first_stage,
            self.main,
            jobs,
            self._processors,
            tail * (1 / part - 1),
            self.by_due,
            self.due,
            self.latest,
            self.stage_of,
            self.job_of,
            night.rewards,
            EFFORT,
            starts,
            completion,
        )
        return completion


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
