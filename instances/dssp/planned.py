"""The planned demand and critical path of each job, exactly, and the tolerances of dssp.

Numbers are exact decimals or fractions (`instances.decimals`), and so are their sums T_1 and T_∞.

- Selections have no tolerance: solvers and the checker compare exact numbers.
- Schedules add lengths in double precision in the order of events. A completion is on time up to
  D·(1 + 1e-11), and bounds on schedules allow for this.
- The checker accepts differences of times up to 1e-9 of the longest one, and of totals in a
  document (objective, demand, shares) up to 1e-9 of their size.

A window is a release, a deadline and the jobs that must run between them. A job's own deadline may
be later than the instance's, which is only the default. Shares are of r·P·D with the instance's
deadline D in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import Whole, as_written
from schedopt.instances.dssp.machine import Steps
from schedopt.instances.errors import InputError, expect

if TYPE_CHECKING:
    from schedopt.instances.dssp.jobs import Job


Instance = Any  # `records.Instance`, which imports this module
FORGIVEN = 1 + Fraction(1, 10**11)
"""What a completion may exceed a deadline by, as the rounding of sums of lengths."""
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tasks:
    """All tasks as flat arrays in the file's order: by job, then by stage."""

    lengths: Floats  # shape (tasks,)
    first_task: Ints  # shape (stages + 1,): those of stage s go up to ``first_task[s + 1]``
    first_stage: Ints  # shape (jobs + 1,): those of job j go up to ``first_stage[j + 1]``
    longest: Floats  # shape (stages,): the longest task of each

    @classmethod
    def of(cls, jobs: Sequence[Sequence[Sequence[float]]]) -> Tasks:
        """Return the tasks of jobs given as stages of task lengths."""
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
        """The actual T_1 of each job, shape (jobs,)."""
        jobs = len(self.first_stage) - 1
        return np.bincount(self.job_of, self.lengths, minlength=jobs).astype(np.float64)

    @cached_property
    def remaining_paths(self) -> Floats:
        """The critical path from the start of each stage to the end of its job, shape (stages,)."""
        paths = self.longest.copy()  # each job is summed by itself: running sums would round
        for j in range(len(self.first_stage) - 1):
            for s in range(self.first_stage[j + 1] - 2, self.first_stage[j] - 1, -1):
                paths[s] += paths[s + 1]
        return paths

    @cached_property
    def following_paths(self) -> Floats:
        """The critical path from the end of each stage to the end of its job, shape (stages,)."""
        paths = np.append(self.remaining_paths[1:], 0.0)
        paths[self.first_stage[1:] - 1] = 0.0
        return paths


@dataclass(frozen=True, eq=False)
class Planned:
    """The exact planned T_1 and T_∞ of each job: the predictions where given."""

    demands: Whole  # T_1 in processor time, shape (J,)
    paths: Whole  # T_∞ in time, shape (J,)

    @classmethod
    def of(cls, jobs: Sequence[Job]) -> Planned:
        """Return the exact demands and paths of jobs."""
        tasks = [tuple(chain(*(job.stages or ()))) for job in jobs]
        work = _exact_sums([job.demand for job in jobs], tasks)
        wide = [1 if job.demand is not None else job.processors for job in jobs]
        if max(wide, default=1) > 1:
            work = Whole.of_fractions(map(mul, work.fractions, wide))
        tasks = [tuple(map(max, job.stages or ())) for job in jobs]
        paths = _exact_sums([job.critical_path for job in jobs], tasks)
        if any(job.max_processors is not None for job in jobs):
            paths = Whole.of_fractions(
                path if job.max_processors is None else max(path, demand / job.widest)
                for job, path, demand in zip(jobs, paths.fractions, work.fractions, strict=True)
            )
        return cls(work, paths)


def _exact_sums(predicted: Sequence[float | None], tasks: Sequence[tuple[float, ...]]) -> Whole:
    """Return the prediction of each job, or the exact sum of its task lengths."""
    parts = [
        own if total is None else (total,) for total, own in zip(predicted, tasks, strict=True)
    ]
    flat = np.fromiter(chain(*parts), dtype=np.float64)
    starts = np.cumsum([0, *(len(part) for part in parts)])[:-1]
    return Whole.of(flat).sums(starts)


# --- windows between a release and a deadline ---------------------------------------------------

MOST_LISTED = 20_000_000  # most jobs that the windows of an instance may list in all


class Window(NamedTuple):
    """A release, a deadline, and the jobs that must run between them."""

    release: float
    deadline: float
    jobs: NDArray[np.intp]  # positions, ascending

    def room(self, there: Steps) -> Fraction:
        """Return the exact capacity from the release to the deadline."""
        return there.until(as_written(self.deadline)) - there.until(as_written(self.release))


def windows(
    night: Instance, among: NDArray[np.bool_], work: NDArray[np.float64], rate: Steps
) -> list[Window]:
    """Return the windows whose jobs could exceed the capacity in them."""
    at = np.flatnonzero(among & (work > 0))
    if not at.size:
        return []
    releases, first = np.unique(night.releases[at], return_inverse=True)
    deadlines, last = np.unique(night.deadlines[at], return_inverse=True)
    shape = (len(releases), len(deadlines))
    too_many = InputError(
        "fewer different releases and deadlines; round them",
        found=f"{shape[0]} releases and {shape[1]} deadlines",
        place="jobs",
    )
    if shape[0] * shape[1] > MOST_LISTED:
        raise too_many
    count, asked = np.zeros(shape), np.zeros(shape)
    np.add.at(count, (first, last), 1.0)
    np.add.at(asked, (first, last), work[at])
    # Some job within has the window's own deadline, and some its own release.
    ends = np.cumsum(count[::-1], axis=0)[::-1] > 0
    starts = np.cumsum(count, axis=1) > 0
    asked = np.cumsum(np.cumsum(asked[::-1], axis=0), axis=1)[::-1]
    opened, due = _cumulative_capacity(rate, releases), _cumulative_capacity(rate, deadlines)
    room = due[None, :] - opened[:, None]
    room = room * (1 - 1e-9) - 1e-12 * due.max()  # rounding never hides one that matters
    tight = ends & starts & (asked > room)
    kept: list[Window] = []
    listed = 0
    for a, b in np.argwhere(tight):
        inside = at[(first >= a) & (last <= b)]
        listed += inside.size
        if listed > MOST_LISTED:
            raise too_many
        kept.append(Window(float(releases[a]), float(deadlines[b]), inside))
    return kept


def _cumulative_capacity(rate: Steps, times: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([float(rate.until(as_written(time))) for time in times.tolist()])


def refuse_nights(night: Instance, who: str) -> None:
    """Raise `InputError` if an instance has several nights; ``who`` supports only one."""
    expected = f"1: {who} is for a single night, formulation season for several"
    expect(night.nights <= 1, expected, night.nights, "nights")
