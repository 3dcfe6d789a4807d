"""Inputs and outputs of dispatch simulations."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance, Tasks
from schedopt.instances.dssp.planned import Floats, Ints


class Played(NamedTuple):
    """The outcome of a simulation."""

    starts: Floats  # when each task starts; NaN for tasks of jobs that are not run; shape (tasks,)
    processors: Ints  # where; -1 for those; shape (tasks,)
    # When each job completes; NaN for jobs that are not run, or never complete; shape (jobs,).
    completion: Floats
    # The processors of tasks that take more than one.
    several: Mapping[int, tuple[int, ...]] = MappingProxyType({})


class Held(NamedTuple):
    """Seats that running tasks hold.

    ``capacity``: how many seats there are of each kind (shape (kinds,)); ``use``: how many of them
    each running task of a job holds (shape (kinds, jobs)).
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
        """Return the jobs none of whose tasks needs more seats than there are."""
        if not len(self.capacity):
            return jobs
        within = (self.use[:, jobs] <= self.capacity[:, None]).all(axis=0)
        return np.asarray(jobs[within], dtype=np.int64)


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
