"""Instances of the disconnected staged scheduling problem (dssp).

Source: Anderson et al., "Value-Maximizing Deadline Scheduling and its Application to Animation
Rendering", SPAA 2005, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import fsum, inf, isfinite
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from instances.constraints import (
    Apart,
    AtLeast,
    AtMost,
    FairShare,
    Forbid,
    Imply,
    Name,
    NonNegative,
    Require,
    Resource,
    Seats,
    Share,
    Together,
    check_names,
    check_references,
)
from instances.decimals import as_written
from instances.dssp.answers import Scheduled, Selected
from instances.dssp.jobs import Deadline, Job, check_deadline
from instances.dssp.planned import Planned, guaranteed
from instances.dssp.tasks import Tasks
from instances.errors import InputError, shown
from instances.naming import groups_of, index_of
from instances.options import Option, is_number

Floats = NDArray[np.float64]
SCHEMA: Mapping[str, Mapping[str, object]] = {
    "Job": {
        "anyOf": [
            {"required": ["stages"], "properties": {"stages": {"type": "array"}}},
            {
                "required": ["demand", "critical_path"],
                "properties": {"demand": {"type": "number"}, "critical_path": {"type": "number"}},
            },
        ]
    },
}
"""What the JSON Schema says beyond the types of fields: see `instances.schema`."""
SideConstraint = (
    FairShare | Require | Forbid | Imply | Together | Apart | AtMost | AtLeast | Resource | Seats
)

FILL = Option(
    default=1.0,
    expected="a number above 0, or guaranteed",
    accepts=lambda value: value == "guaranteed" or (is_number(value) and value > 0),
)
"""The selection parameter r, which selections and selectors take as option ``fill``."""


class Instance(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    dict=True,
    tag_field="problem",
    tag="dssp",
):
    """Jobs, identical processors and a deadline.

    Attributes
    ----------
    name : str
        The instance's name.
    description : str, optional
        A line that says what the instance shows.
    processors : int
        P, at least 1.
    deadline : float
        D, in the file's unit of time.
    jobs : tuple of Job
        The jobs; their order decides where a policy leaves a choice open.
    late : tuple of (float, float)
        U_D after the deadline: points (delay, fraction of the reward), linear between, the first at
        delay 0; nothing is paid after the last, and without points nothing is paid late.
    constraints : tuple of Constraint
        Side constraints on the selection.
    """

    name: Name
    description: str | None = None
    processors: Annotated[int, msgspec.Meta(ge=1, le=10**9)]
    deadline: Deadline
    jobs: tuple[Job, ...]
    late: tuple[tuple[NonNegative, Share], ...] = ()
    constraints: tuple[SideConstraint, ...] = ()

    def __post_init__(self) -> None:
        if self.processors < 1:
            raise InputError("a number >= 1", found=shown(self.processors), place="processors")
        check_deadline(self.deadline)
        if not isfinite(self.processors * max([self.deadline, *self.deadlines.tolist()])):
            raise InputError("a finite P·D", found="an overflow", place="deadline")
        if not isfinite(sum(self.demands.tolist()) + sum(self.rewards.tolist())):
            raise InputError(
                "finite sums of demands and rewards", found="an overflow", place="jobs"
            )
        self._check_late()
        check_names(self.constraints)
        check_references(self.constraints, self.index, self.groups)

    def _check_late(self) -> None:
        before, most = -1.0, 1.0
        for i, (delay, fraction) in enumerate(self.late):
            expected = "0, the deadline itself" if i == 0 else f"a delay over {before:g}"
            if not (delay == 0 if i == 0 else before < delay < inf):
                raise InputError(expected, found=shown(delay), place=f"late[{i}][0]")
            if not 0 <= fraction <= most:
                raise InputError(
                    f"a fraction from 0 to {most:g}", found=shown(fraction), place=f"late[{i}][1]"
                )
            before, most = delay, fraction

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each job by name."""
        return index_of(self.jobs)

    @cached_property
    def rewards(self) -> Floats:
        """R_j, shape (J,)."""
        return np.array([job.reward for job in self.jobs], dtype=np.float64)

    @cached_property
    def demands(self) -> Floats:
        """T_1(j) as planned, shape (J,), in processor time."""
        return np.array([job.planned_demand for job in self.jobs], dtype=np.float64)

    @cached_property
    def critical_paths(self) -> Floats:
        """T_∞(j) as planned, shape (J,), in time."""
        return np.array([job.planned_critical_path for job in self.jobs], dtype=np.float64)

    @cached_property
    def releases(self) -> Floats:
        """When each job is released, shape (J,)."""
        return np.array([job.release for job in self.jobs], dtype=np.float64)

    @cached_property
    def deadlines(self) -> Floats:
        """By when each job must complete, shape (J,): its own deadline, else the file's."""
        own = [self.deadline if job.deadline is None else job.deadline for job in self.jobs]
        return np.array(own, dtype=np.float64)

    @cached_property
    def windowed(self) -> bool:
        """Whether some job is released after 0, or has another deadline than the file's."""
        return bool((self.releases > 0).any() or (self.deadlines != self.deadline).any())

    @cached_property
    def in_time(self) -> NDArray[np.bool_]:
        """Which jobs can complete by the deadline at all: T_∞(j) <= D, shape (J,)."""
        paths = self.planned.paths
        within: NDArray[np.bool_] = paths.numbers <= paths.down(as_written(self.deadline))
        return within.astype(np.bool_)

    @cached_property
    def groups(self) -> dict[str, dict[str, list[int]]]:
        """For each grouping and each of its groups, the positions of its jobs."""
        return groups_of(self.jobs)

    def capacity(self, fill: float = 1.0) -> float:
        """Return r·P·D, the processor time that a selection may use (equation 2).

        Parameters
        ----------
        fill : float
            The selection parameter r.
        """
        return fill * self.processors * self.deadline

    @cached_property
    def planned(self) -> Planned:
        """T_1 and T_∞ of each job as planned, exactly."""
        return Planned.of(self.jobs)

    def exact_capacity(self, fill: float = 1.0) -> Fraction:
        """Return r·P·D, exactly."""
        return as_written(fill) * self.processors * as_written(self.deadline)

    def room(self, fill: float = 1.0) -> Fraction:
        """Return the largest total demand that fits into r·P·D, in whole units of `planned`."""
        demands = self.planned.demands
        return Fraction(demands.down(self.exact_capacity(fill)), demands.scale)

    def fill(self, asked: float | str) -> float:
        """Return r as a number: the one that is asked for, or Theorem 4's for ``guaranteed``.

        Raises
        ------
        InputError
            If r·P·D overflows.
        """
        r = self.guaranteed_fill() if asked == "guaranteed" else float(asked)
        if not isfinite(self.capacity(r)):
            raise InputError("a finite r·P·D", found=shown(asked), place="option fill")
        return r

    def guaranteed_fill(self) -> float:
        """Return Theorem 4's r: see `guaranteed`."""
        return guaranteed(self.planned.paths, self.in_time, self.processors, self.deadline)

    @property
    def horizon(self) -> float:
        """The time after which nothing is paid: the deadline, or the last point of ``late``."""
        return self.deadline + (self.late[-1][0] if self.late else 0.0)

    def worth(self, completion: float) -> float:
        """Return U_D(C)/R: the fraction of its reward that a job earns by completing at C.

        1 by the deadline, whose 1e-11th is forgiven as the rounding of sums of lengths.
        """
        if completion <= self.deadline * (1 + 1e-11):
            return 1.0
        delay = completion - self.deadline
        for (start, high), (end, low) in pairwise(self.late):
            if delay <= end:
                return high + (low - high) * (delay - start) / (end - start)
        return 0.0

    def objective_of(self, solution: Selected) -> float:
        """Return the total reward of a selection (equation 1), or what a schedule earns (U_D)."""
        reward = {name: self.jobs[self.index[name]].reward for name in solution.selected}
        if isinstance(solution, Scheduled):
            return fsum(reward[name] * self.worth(solution.completion[name]) for name in reward)
        return fsum(reward.values())

    @cached_property
    def tasks(self) -> Tasks:
        """What happens: every task of every job, as flat arrays.

        Raises
        ------
        InputError
            If a job has no stages.
        """
        for j, job in enumerate(self.jobs):
            if job.stages is None:
                raise InputError(
                    "`stages`, without which a job cannot be scheduled",
                    found="predictions alone",
                    place=f"jobs[{j}]",
                )
        return Tasks.of([job.stages or () for job in self.jobs])
