"""All tasks of an instance as flat arrays, the way simulators and solvers take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tasks:
    """Tasks in the file's order: by job, then by stage."""

    lengths: Floats  # shape (tasks,)
    first_task: Ints  # shape (stages + 1,): those of stage s go up to ``first_task[s + 1]``
    first_stage: Ints  # shape (jobs + 1,): those of job j go up to ``first_stage[j + 1]``
    longest: Floats  # shape (stages,): the longest task of each

    @classmethod
    def of(cls, jobs: Sequence[Sequence[Sequence[float]]]) -> Tasks:
        """Flatten jobs, each a list of stages, each a list of task lengths."""
        stages = [stage for job in jobs for stage in job]
        lengths = np.array(list(chain.from_iterable(stages)), dtype=np.float64)
        first_task = np.concatenate(([0], np.cumsum([len(stage) for stage in stages])))
        first_stage = np.concatenate(([0], np.cumsum([len(job) for job in jobs])))
        return cls(
            lengths=lengths,
            first_task=first_task.astype(np.int64),
            first_stage=first_stage.astype(np.int64),
            longest=np.array([max(stage) for stage in stages], dtype=np.float64),
        )

    @cached_property
    def stage_of(self) -> Ints:
        """The stage of each task, shape (tasks,), counted over all jobs."""
        return np.repeat(np.arange(len(self.first_task) - 1), np.diff(self.first_task))

    @cached_property
    def job_of_stage(self) -> Ints:
        """The job of each stage, shape (stages,)."""
        return np.repeat(np.arange(len(self.first_stage) - 1), np.diff(self.first_stage))

    @cached_property
    def job_of(self) -> Ints:
        """The job of each task, shape (tasks,)."""
        return self.job_of_stage[self.stage_of]

    @cached_property
    def demands(self) -> Floats:
        """T_1 as it happens, shape (jobs,)."""
        jobs = len(self.first_stage) - 1
        return np.bincount(self.job_of, self.lengths, minlength=jobs).astype(np.float64)

    @cached_property
    def remaining_paths(self) -> Floats:
        """The longest path from the start of each stage to its job's end, shape (stages,)."""
        paths = self.longest.copy()  # each job is summed by itself: running sums would round
        for j in range(len(self.first_stage) - 1):
            for s in range(self.first_stage[j + 1] - 2, self.first_stage[j] - 1, -1):
                paths[s] += paths[s + 1]
        return paths

    @cached_property
    def following_paths(self) -> Floats:
        """The longest path from the end of each stage to its job's end, shape (stages,)."""
        paths = np.append(self.remaining_paths[1:], 0.0)
        paths[self.first_stage[1:] - 1] = 0.0
        return paths
