"""Jobs in stages, and their reward for completing by the deadline.

Source: Anderson et al., "Value-Maximizing Deadline Scheduling and its Application to Animation
Rendering", SPAA 2005, section 2; section 5.1 for rewards where a trace has only ordinal priorities.
"""

from collections.abc import Callable
from copy import copy
from math import fsum, inf, isfinite
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec

from schedopt.instances.declarations import CheckedRecord, Name, NonNegative
from schedopt.instances.errors import InputError, quote

Reward = Callable[[float, float], float]
N = TypeVar("N", bound=Any)


def linear(priority: float, demand: float) -> float:
    """Return the reward 500 - priority, at least 0; the paper's is negative above 500."""
    del demand
    return max(0.0, 500.0 - priority)


def size(priority: float, demand: float) -> float:
    """Return the reward T_1(j), in proportion to the demand."""
    del priority
    return float(demand)


def banded_reward(priority: float, demand: float) -> float:
    """Return the reward 100,000, 1,000, 10 or 1 for priorities below 100, 200, 300 and others."""
    del demand
    bands = ((100, 100_000.0), (200, 1_000.0), (300, 10.0), (inf, 1.0))
    return next(reward for bound, reward in bands if priority < bound)


REWARDS: dict[str, Reward] = {"linear": linear, "size": size, "banded": banded_reward}
"""The reward functions by name; each takes a priority and a demand in processor time."""

MOST_TASKS = 10_000_000
"""Most tasks of stages that a file writes as a number of tasks: a few bytes would fill memory."""
FEW_TASKS = 3
"""Up to so many equal tasks of a stage are written one by one."""


class EqualTasks(CheckedRecord, kw_only=True):
    """A stage of equal tasks, as in files; in memory it is a tuple of task lengths.

    Attributes
    ----------
    tasks : int
        The number of tasks.
    time : float
        The length of each task.
    """

    tasks: Annotated[int, msgspec.Meta(ge=1, le=MOST_TASKS)]
    time: NonNegative


Stage = Annotated[tuple[NonNegative, ...], msgspec.Meta(min_length=1)]
if TYPE_CHECKING:
    Stages = tuple[Stage, ...]
else:
    Stages = Annotated[tuple[Stage | EqualTasks, ...], msgspec.Meta(min_length=1)]
Deadline = Annotated[float, msgspec.Meta(ge=1e-290, extra_json_schema={"exclusiveMinimum": 0})]
MOST_NIGHTS = 10_000
Night = Annotated[int, msgspec.Meta(ge=1, le=MOST_NIGHTS)]
Spread = Annotated[float, msgspec.Meta(ge=0, lt=1)]
Processors = Annotated[int, msgspec.Meta(ge=1, le=10**9)]


class Lognormal(CheckedRecord, kw_only=True, tag="lognormal", tag_field="kind"):
    """Lognormal run times whose mean is the planned run time.

    Attributes
    ----------
    sigma : float
        The standard deviation of the logarithms.
    """

    sigma: Annotated[float, msgspec.Meta(gt=0, le=2)]


class Job(CheckedRecord, kw_only=True, omit_defaults=True, gc=False):  # it can be in no cycle
    """A job: tasks in stages, and the reward for completing by the deadline.

    A job has ``stages``, or ``demand`` and ``critical_path``, or both. With both, ``stages`` are
    the actual tasks, and the other two are the predictions that planning uses.

    Attributes
    ----------
    name : str
        Its name, unique in the instance.
    reward : float
        R_j, earned if the job completes by the deadline.
    priority : float, optional
        An ordinal priority; lower is more important.
    groups : dict of str to str
        Its group in each grouping, such as ``{"team": "fx"}``.
    stages : tuple of tuple of float, optional
        Task lengths by stage. All tasks of a stage end before the next stage begins. In a file, a
        stage of equal tasks may be ``{"tasks": 120, "time": 2.5}``.
    demand : float, optional
        The predicted total processing demand T_1(j), in processor time.
    critical_path : float, optional
        The predicted critical path length T_∞(j).
    release : float, optional
        The earliest start of its first tasks.
    deadline : float, optional
        Its own deadline; without it, the instance's deadline applies. It may be later than that.
    first_night, last_night : int, optional
        With several nights: the first and the last night on which it may run, counted from 1; all
        nights if not given. The whole job runs on one night.
    values : dict of str to float
        Its value to other `objectives` of the instance, by name; 0 for names not given.
    after : tuple of str
        Its predecessors, which must complete before it starts. Selecting it requires selecting
        them.
    max_processors : int, optional
        The most processors it may hold at a time.
    processors : int
        The number of processors of each task, all in one pool.
    holds : dict of str to float
        How much of the instance's `resources` each running task holds.
    pools : tuple of str, optional
        The pools that its tasks may run on; all pools if not given.
    labels : dict of str to str
        Texts that are passed on to plans and scripts, such as the farm's own job id.
    spread : float or Lognormal, optional
        The uncertainty of run times, as one random factor for all tasks of the job. A number s
        means that the factor is uniform in 1 ± s. It has an effect only with ``--risk``.
    """

    name: Name
    reward: NonNegative
    priority: float | None = None
    groups: dict[Name, Name] = msgspec.field(default_factory=dict)
    stages: Stages | None = None
    demand: NonNegative | None = None
    critical_path: NonNegative | None = None
    release: NonNegative = 0.0
    deadline: Deadline | None = None
    first_night: Night = 1
    last_night: Night | None = None
    values: dict[Name, NonNegative] = msgspec.field(default_factory=dict)
    after: tuple[Name, ...] = ()
    max_processors: Processors | None = None
    processors: Processors = 1
    holds: dict[Name, NonNegative] = msgspec.field(default_factory=dict)
    pools: Annotated[tuple[Name, ...], msgspec.Meta(min_length=1)] | None = None
    spread: Spread | Lognormal | None = None
    labels: dict[Name, str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.first_night != 1 or self.last_night is not None:
            self._check_nights()
        if self.stages is not None:
            self._check_stages()
        elif self.demand is None or self.critical_path is None:
            raise InputError("`stages`, or both `demand` and `critical_path`")

    def _check_nights(self) -> None:
        if self.last_night is not None and self.last_night < self.first_night:
            expected = f"at least {self.first_night}, the job's own `first_night`"
            raise InputError(expected, found=quote(self.last_night), place="last_night")

    def _check_stages(self) -> None:
        """Expand stages that are given as a number of equal tasks, and check the lengths."""
        stages, room = list[Stage](), MOST_TASKS
        for s, stage in enumerate(self.stages or ()):
            if isinstance(stage, EqualTasks):
                if (room := room - stage.tasks) < 0:
                    expected = f"at most {MOST_TASKS:,} such tasks of a job"
                    raise InputError(expected, found="more in all", place=f"stages[{s}].tasks")
                stage = (stage.time,) * stage.tasks  # noqa: PLW2901
            stages.append(stage)
        msgspec.structs.force_setattr(self, "stages", tuple(stages))
        if not isfinite(sum(map(sum, stages))):
            raise InputError("lengths whose sum is finite", found="an overflow", place="stages")

    @property
    def planned_demand(self) -> float:
        """T_1(j) for planning: the prediction, or the sum of task lengths (section 2)."""
        if self.demand is not None:
            return self.demand
        return self.processors * fsum(length for stage in self.stages or () for length in stage)

    @property
    def planned_critical_path(self) -> float:
        """T_∞(j) for planning: the prediction, or the sum of the stages' longest tasks (section 2).

        With a limit on the processors of the job, it is at least T_1(j) divided by that limit.
        """
        path = self.critical_path
        if path is None:
            path = fsum(max(stage) for stage in self.stages or ())
        return path if self.max_processors is None else max(path, self.planned_demand / self.widest)

    @property
    def widest(self) -> int:
        """The most processors that tasks of the job can hold at a time, given `max_processors`."""
        most = self.max_processors or 0
        return max(self.processors, most - most % self.processors)


def with_stage_counts(night: N) -> N:
    """Return an instance for writing, with stages of equal tasks as a number and a length.

    The result must only be written: its derived properties are invalid.
    """
    jobs = list[Job]()
    for job in night.jobs:
        stages: tuple[Any, ...] = tuple(
            EqualTasks(tasks=len(stage), time=stage[0])
            if len(stage) > FEW_TASKS and stage[0] and stage.count(stage[0]) == len(stage)
            else stage
            for stage in job.stages or ()
        )
        counted = copy(job)
        msgspec.structs.force_setattr(counted, "stages", stages or None)
        jobs.append(counted)
    written = copy(night)
    msgspec.structs.force_setattr(written, "jobs", tuple(jobs))
    return written
