"""Instances of the disconnected staged scheduling problem (dssp).

Source: Anderson et al., "Value-Maximizing Deadline Scheduling and its Application to Animation
Rendering", SPAA 2005, section 2.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import fsum, inf, isfinite
from operator import attrgetter
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.instances import constraints as kinds
from schedopt.instances.decimals import as_written, common_scale
from schedopt.instances.declarations import Count, Name, NonNegative, Share
from schedopt.instances.dssp.answers import Scheduled, Selected, SelectedNights
from schedopt.instances.dssp.jobs import (
    Deadline,
    Job,
    Night,
    Processors,
    with_stage_counts,
)
from schedopt.instances.dssp.machine import (
    ONE,
    Counts,
    Down,
    Machine,
    Profile,
    check_machine,
    features_of,
    in_order,
)
from schedopt.instances.dssp.planned import FORGIVEN, Planned, Tasks
from schedopt.instances.errors import InputError, expect, listing, quote
from schedopt.instances.options import Option, is_count, is_number
from schedopt.instances.protocol import BaseInstance

Floats = NDArray[np.float64]
LEAST = "-"
"""Before an objective of which the least is best."""
SideConstraint = (
    kinds.FairShare
    | kinds.Require
    | kinds.Forbid
    | kinds.Imply
    | kinds.Together
    | kinds.Apart
    | kinds.AtMost
    | kinds.AtLeast
    | kinds.Resource
    | kinds.Seats
)

FILL = Option(
    1.0,
    "a number above 0, or guaranteed",
    lambda v: v == "guaranteed" or (is_number(v) and v > 0),
)
"""The selection parameter r, which selections and selectors take as option ``fill``."""
PROCESSORS = Option(None, "a whole number of at least 1", lambda v: is_count(v, 10**9))
"""The converters' option ``processors``, for files that do not know the machine."""


class Instance(BaseInstance, kw_only=True, tag="dssp"):
    """Jobs, identical processors and a deadline.

    Attributes
    ----------
    processors : int
        P, at least 1; 0 if there are `pools`.
    deadline : float
        D, in the file's unit of time: the deadline of jobs without a deadline of their own.
    jobs : tuple of Job
        The jobs; their order breaks ties in policies.
    nights : int
        The number of nights, each with the same machine until the deadline.
    late : tuple of (float, float)
        Rewards after the deadline, U_D: points (delay, fraction of the reward) with linear
        interpolation; the first has delay 0. Nothing is earned after the last point. Without
        points, a late job earns nothing.
    constraints : tuple of Constraint
        Side constraints on the selection.
    changes : tuple of (float, int)
        In files `capacity`: increasing times, and the number of processors from each on; P before
        the first.
    resources : dict of str to float, or to tuple of (float, float)
        The amount of each resource that running tasks hold, or times and the amount from each on.
    pools : dict of str to int, or to tuple of (float, int)
        In place of P: the number of processors in each pool, or times and the number from each on.
    down : tuple of Down
        Processors that are reserved or down for some time.
    end : float, optional
        The time after which nothing runs.
    start : str, optional
        The clock time of time 0, in ISO format with its zone, such as ``2026-11-22T20:00+01:00``
        or, where daylight saving time matters, ``2026-11-22T20:00+01:00[Europe/Berlin]``.
    unit : str
        The file's unit of time: s, m, h or d.
    overhead : float
        The part of each task's length that starting the task takes.
    objectives : tuple of str
        Lexicographic objectives: ``reward`` first, then ``demand`` or names of jobs' `values`, each
        optimized among the optima of those before it; ``reward`` alone if empty. A leading ``-``
        minimizes, as in ``-bill``.
    """

    processors: Annotated[int, msgspec.Meta(ge=0, le=10**9, extra_json_schema={"minimum": 1})] = 0
    deadline: Deadline
    jobs: tuple[Job, ...]
    nights: Night = 1
    late: tuple[tuple[NonNegative, Share], ...] = ()
    constraints: tuple[SideConstraint, ...] = ()
    objectives: tuple[Name, ...] = ()
    changes: tuple[tuple[NonNegative, Count], ...] = msgspec.field(default=(), name="capacity")
    resources: dict[Name, NonNegative | Profile] = msgspec.field(default_factory=dict)
    pools: dict[Name, Processors | Counts] = msgspec.field(default_factory=dict)
    down: tuple[Down, ...] = ()
    end: Deadline | None = None
    start: str | None = None
    unit: str = "s"
    overhead: NonNegative = 0.0
    as_filed = with_stage_counts

    def __post_init__(self) -> None:
        check_machine(self)
        if not isfinite(
            float(self.machine.total.most) * float(self.deadlines.max(initial=self.deadline))
        ):
            raise InputError("a finite P·D", found="an overflow", place="deadline")
        with np.errstate(over="ignore"):
            total = float(self.demands.sum() + self.rewards.sum())
        if not isfinite(total):
            expected = "finite sums of demands and rewards"
            raise InputError(expected, found="an overflow", place="jobs")
        self._check_late()
        self._check_nights()
        self._check_objectives()
        kinds.check_rules(self)
        _ = self.index  # refuses two jobs of one name

    @cached_property
    def machine(self) -> Machine:
        """The processors and resources over time."""
        return Machine.of(self)

    @cached_property
    def features(self) -> dict[str, str]:
        """The features used beyond jobs on a constant machine, with their places."""
        return features_of(self)

    def _check_nights(self) -> None:
        if not isfinite(self.capacity() * self.nights):
            raise InputError("a finite P·D on all nights", found="an overflow", place="nights")
        for j, job in enumerate(self.jobs):
            if job.first_night == 1 and job.last_night is None:
                continue
            for field in ("first_night", "last_night"):
                night = getattr(job, field)
                if night is not None and night > self.nights:
                    expected = f"at most {self.nights}, the file's `nights`"
                    raise InputError(expected, found=quote(night), place=f"jobs[{j}].{field}")

    def _check_objectives(self) -> None:
        objectives = self.objectives
        if not objectives:
            return
        expect(objectives[0] == "reward", "'reward' first", objectives[0], "objectives[0]")
        columns = dict.fromkeys(
            ["reward", "demand", *(name for job in self.jobs for name in job.values)]
        )
        for i, name in enumerate(objectives):
            where = f"objectives[{i}]"
            own = name.removeprefix(LEAST)
            expect(own in columns, f"a name of jobs' values{listing(columns)}", name, where)
            expect(name not in objectives[:i], "each objective once", name, where)
        expect(
            self.nights == 1 or len(objectives) == 1,
            "`reward` alone, of several nights",
            list(objectives),
            "objectives",
        )

    def worths(self, objective: str) -> Floats:
        """Return the value of each job for an objective, shape (J,), negated if it is minimized."""
        if objective.startswith(LEAST):
            return -self.worths(objective.removeprefix(LEAST))
        if objective in ("reward", "demand"):
            return self.rewards if objective == "reward" else self.demands
        return self._floats(job.values.get(objective, 0.0) for job in self.jobs)

    def _check_late(self) -> None:
        before, most = -1.0, 1.0
        for i, (delay, fraction) in enumerate(self.late):
            expected = "0, the deadline itself" if i == 0 else f"a delay over {before:g}"
            expect(delay == 0 if i == 0 else before < delay < inf, expected, delay, f"late[{i}][0]")
            expected = f"a fraction from 0 to {most:g}"
            expect(0 <= fraction <= most, expected, fraction, f"late[{i}][1]")
            before, most = delay, fraction

    def with_overhead(self, overhead: float) -> "Instance":
        """Return an instance whose task lengths include the time that starting a task takes.

        Jobs without tasks are unchanged.
        """
        jobs = tuple(
            msgspec.structs.replace(
                job,
                stages=tuple(tuple(t + overhead for t in stage) for stage in job.stages),
                demand=_more(job.demand, overhead * job.processors * sum(map(len, job.stages))),
                critical_path=_more(job.critical_path, overhead * len(job.stages)),
            )
            if job.stages
            else job
            for job in self.jobs
        )
        return msgspec.structs.replace(self, jobs=jobs, overhead=self.overhead + overhead)

    def _floats(self, numbers: Iterable[float]) -> Floats:
        return np.fromiter(numbers, np.float64, len(self.jobs))

    def column(self, field: str) -> Floats:
        """Return a field of each job as given, NaN if missing."""
        return np.array(list(map(attrgetter(field), self.jobs)), dtype=np.float64)

    @cached_property
    def rewards(self) -> Floats:
        """R_j, shape (J,)."""
        return self.column("reward")

    @cached_property
    def demands(self) -> Floats:
        """T_1(j) as planned, shape (J,), in processor time."""
        return self._floats(job.planned_demand for job in self.jobs)

    @cached_property
    def critical_paths(self) -> Floats:
        """T_∞(j) as planned, shape (J,), in time."""
        return self._floats(job.planned_critical_path for job in self.jobs)

    @cached_property
    def releases(self) -> Floats:
        """The release of each job, shape (J,)."""
        return self.column("release")

    @cached_property
    def deadlines(self) -> Floats:
        """The deadline of each job, shape (J,): its own, or the instance's."""
        own = self.column("deadline")
        return np.where(np.isnan(own), self.deadline, own)

    @cached_property
    def windowed(self) -> bool:
        """Whether a job has a release after 0, or a deadline other than the instance's."""
        return bool((self.releases > 0).any() or (self.deadlines != self.deadline).any())

    @cached_property
    def due(self) -> NDArray[np.bool_]:
        """Mask of the jobs that are due by the instance's deadline, shape (J,)."""
        return np.asarray(self.deadlines <= self.deadline)

    def completion_alone(
        self, j: int, before: Sequence[Fraction | None], longer: Fraction = ONE
    ) -> Fraction | None:
        """Return when job ``j`` completes alone, after its predecessors; None for never.

        ``before`` are the completion times of its predecessors; ``longer`` multiplies run times.
        """
        job, known = self.jobs[j], [end for end in before if end is not None]
        if len(known) < len(before):
            return None
        start = max([as_written(job.release), *known])
        return self.machine.completes(job, start, self.planned.demands.fractions[j], longer)

    def _in_time_alone(self) -> NDArray[np.bool_]:
        able = np.zeros(len(self.jobs), dtype=np.bool_)
        ends: dict[str, Fraction | None] = {}
        for j in in_order(self.jobs, self.index)[0]:
            job = self.jobs[j]
            end = self.completion_alone(j, [ends[name] for name in job.after])
            ends[job.name] = end
            due = self.deadlines[j] if self.end is None else min(self.deadlines[j], self.end)
            own = end is not None and end <= as_written(float(due))
            able[j] = own and all(able[self.index[name]] for name in job.after)
        return able

    @cached_property
    def in_time(self) -> NDArray[np.bool_]:
        """Mask of the jobs that can be on time, shape (J,).

        T_∞(j) must fit between release and deadline.
        """
        if self.features:
            return self._in_time_alone()
        lengths = map(as_written, self.deadlines.tolist()), map(as_written, self.releases.tolist())
        within = (
            path <= due - release
            for path, due, release in zip(self.planned.paths.fractions, *lengths, strict=True)
        )
        return np.fromiter(within, np.bool_, len(self.jobs))

    def capacity(self, fill: float = 1.0) -> float:
        """Return r·P·D, the processor time available to a selection (equation 2)."""
        if self.features:
            return float(self.exact_capacity(fill))
        return fill * self.processors * self.deadline

    @cached_property
    def planned(self) -> Planned:
        """The exact planned T_1 and T_∞ of each job."""
        return Planned.of(self.jobs)

    def exact_capacity(self, fill: float = 1.0) -> Fraction:
        """Return r·P·D exactly."""
        if self.features:
            return as_written(fill) * self.machine.total.until(as_written(self.deadline))
        return as_written(fill) * self.processors * as_written(self.deadline)

    def room(self, fill: float = 1.0) -> Fraction:
        """Return the largest multiple of the unit of `planned` that is at most r·P·D."""
        demands = self.planned.demands
        return Fraction(demands.down(self.exact_capacity(fill)), demands.scale)

    def fill(self, asked: float | str) -> float:
        """Return r as a number; ``guaranteed`` gives that of Theorem 4.

        `InputError` if r·P·D overflows, or Theorem 4 does not hold: see `unguaranteed`.
        """
        if asked == "guaranteed" and (why := self.unguaranteed):
            raise InputError(
                f"a number, since of Theorem 4 {why}", found="'guaranteed'", place="option fill"
            )
        r = self.guaranteed_fill() if asked == "guaranteed" else float(asked)
        if not isfinite(self.capacity(r)):
            raise InputError("a finite r·P·D", found=quote(asked), place="option fill")
        return r

    @property
    def unguaranteed(self) -> str:
        """The reason why Theorems 3 and 4 do not hold for this instance; empty if they do."""
        if self.features:
            return f"its proof knows nothing of `{next(iter(self.features))}`"
        if self.windowed:
            return "its proof is for jobs that are all released at 0 and due at the same time"
        if any(isinstance(rule, kinds.Seats) for rule in self.constraints):
            return "its proof is for tasks that wait for processors alone, not for seats"
        return ""

    def guaranteed_fill(self) -> float:
        """Return r = 1 - (1 - 1/P)·max T_∞/D, for which every selected job completes on time.

        The maximum is over the jobs that can complete by the deadline; r is 1 if there are none.
        Source: Theorem 4, valid for any non-delay dispatcher.
        """
        paths = self.planned.paths
        longest = Fraction(int(paths.numbers[self.in_time].max(initial=0)), paths.scale)
        others = Fraction(self.processors - 1, self.processors)
        return float(1 - others * longest / as_written(self.deadline))

    @cached_property
    def has_common_unit(self) -> bool:
        """Whether all times are multiples of a unit larger than the tolerance of completions.

        If so, the tolerance only absorbs rounding, and being on time is decided exactly.
        """
        if any(job.stages is None for job in self.jobs):  # which are not scheduled
            return True
        there = [*self.machine.pools.values(), *self.machine.resources.values()]
        changes = [float(time) for steps in there for time in steps.times]
        late = [delay for delay, _ in self.late]
        times = (self.tasks.lengths, self.releases, self.deadlines, changes, late)
        most = float(1 / (FORGIVEN - 1)) / max(self.horizon, 1e-300)
        return bool(common_scale(np.concatenate(times), most))

    @property
    def horizon(self) -> float:
        """The time after which nothing is earned: the last deadline plus `delay`."""
        return float(self.deadlines.max(initial=self.deadline)) + self.delay

    @property
    def delay(self) -> float:
        """The longest delay after a deadline that still earns a reward."""
        return self.late[-1][0] if self.late else 0.0

    def worth(self, j: int, completion: float) -> float:
        """Return U_D(C)/R, the fraction of its reward that job ``j`` earns by completing at C.

        It is 1 up to the deadline. Each point in time has a relative tolerance of 1e-11 for the
        rounding of sums.
        """
        own = self.jobs[j].deadline
        deadline = self.deadline if own is None else own
        if completion <= deadline * (1 + 1e-11):
            return 1.0
        delay = completion - deadline
        for (start, high), (end, low) in pairwise(self.late):
            if abs(completion - deadline - end) <= 1e-11 * completion:
                return low
            if delay < end:
                return high + (low - high) * (delay - start) / (end - start)
        return 0.0

    def objective_of(self, solution: Selected | SelectedNights) -> float:
        """Return the total reward of a selection (equation 1), or of a schedule (U_D)."""
        run = self.positions(solution)
        rewards = self.rewards[run]
        if isinstance(solution, Scheduled):
            done = zip(rewards.tolist(), run.tolist(), solution.selected, strict=True)
            return fsum(r * self.worth(j, solution.completion[name]) for r, j, name in done)
        return fsum(rewards.tolist())

    def positions(self, solution: Selected | SelectedNights) -> NDArray[np.intp]:
        """Return the positions of the selected jobs, in the order of `selected`."""
        names = solution.selected
        return np.fromiter(map(self.index.__getitem__, names), np.intp, len(names))

    @cached_property
    def tasks(self) -> Tasks:
        """The actual tasks of all jobs as flat arrays; `InputError` if a job has no stages."""
        for j, job in enumerate(self.jobs):
            if job.stages is None:
                expected = "`stages`, without which a job cannot be scheduled"
                raise InputError(expected, found="predictions alone", place=f"jobs[{j}]")
        return Tasks.of([job.stages or () for job in self.jobs])


def _more(amount: float | None, by: float) -> float | None:
    return None if amount is None else amount + by
