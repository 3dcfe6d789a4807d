"""Schedule: which jobs to run and when, exactly, as optional intervals under one cumulative."""

from __future__ import annotations

import time
from collections.abc import Mapping
from heapq import heapreplace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from formulations.cp_sat import WholeModel
from formulations.dssp.grid import Grid, whole_rewards, whole_rows
from formulations.dssp.rows import rows
from formulations.protocol import Hints, Settings, Value, Variable
from instances.constraints import Constraint, check_names, check_references, label
from instances.dssp import (
    Instance,
    Scheduled,
    refuse_nights,
    refuse_seats,
    refuse_windows,
    scheduled,
)
from instances.options import Option

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


class Schedule(WholeModel):
    """Choose and schedule the jobs whose rewards by their completion times sum to the most.

    What happens is scheduled: the tasks, whatever was predicted. The jobs of the solution are those
    that earn something or that side constraints ask for; all of them complete by the horizon.

    Parameters
    ----------
    night : Instance
        With stages for every job; its side constraints are taken over.

    Attributes
    ----------
    model : cp_model.CpModel
        Add native constraints as you like; `x[job name]` says whether a job is run, and
        `starts` has the start of each task, in units of 1/`grid.scale`.

    Raises
    ------
    InputError
        If a job has no stages.

    Notes
    -----
    Source: Anderson et al., SPAA 2005, section 2. The processors are identical, so a cumulative
    over all tasks suffices: sorted by start, each task finds a processor free.
    """

    problem: ClassVar[str] = "dssp"
    name: ClassVar[str] = "schedule"
    sense: ClassVar[Literal["maximize", "minimize"]] = "maximize"
    known_options: ClassVar[Mapping[str, Option]] = {}
    inexact: ClassVar[str] = "among schedules on a grid that rounds lengths up"

    def __init__(self, night: Instance) -> None:
        began = time.perf_counter()
        super().__init__()
        refuse_windows(night, "schedule")
        refuse_nights(night, "schedule")
        self.instance = night
        self.grid = Grid.of(night)
        self.rewards, self.reward_scale, self.loss = whole_rewards(night, self.grid)
        self.exact = self.grid.exact
        self._build()
        for position, constraint in enumerate(night.constraints):
            self._state(constraint, label(constraint, position))
        self.stated()
        self.seconds = time.perf_counter() - began

    @property
    def options(self) -> Settings:
        """The scale, in units per unit of time, and what it costs."""
        return {"scale": self.grid.scale, "exact": self.exact, "rounding": self.grid.rounding}

    def _build(self) -> None:
        from ortools.sat.python import cp_model

        night, model = self.instance, self.model
        self.x = {job.name: model.new_bool_var(f"x[{job.name}]") for job in night.jobs}
        self._x = list(self.x.values())
        self.starts: list[Variable] = [0] * len(self.grid.lengths)
        self.ends: list[Variable] = []
        self._intervals: list[cp_model.IntervalVar] = []
        for j in range(len(night.jobs)):
            self.ends.append(self._stages(j))
        processors = min(night.processors, max(1, len(self._intervals)))  # more have nothing to do
        if self._intervals:
            model.add_cumulative(self._intervals, [1] * len(self._intervals), processors)
        demands = np.bincount(night.tasks.job_of, self.grid.lengths, minlength=len(night.jobs))
        room = processors * self.grid.horizon  # implied: all that runs by then fits (equation 2)
        bounded = np.minimum(demands, room + 1).astype(int).tolist()
        model.add(cp_model.LinearExpr.weighted_sum(self._x, bounded) <= room)
        model.maximize(sum(self._earned(j) for j in range(len(night.jobs))))

    def _stages(self, j: int) -> Variable:
        """State the tasks of a job, stage after stage, and return when the job completes."""
        tasks, model, x, horizon = self.instance.tasks, self.model, self._x[j], self.grid.horizon
        stages = range(int(tasks.first_stage[j]), int(tasks.first_stage[j + 1]))
        lengths = self.grid.lengths
        paths = [int(lengths[tasks.first_task[s] : tasks.first_task[s + 1]].max()) for s in stages]
        if sum(paths) > horizon:  # T_∞(j) > D: it can earn nothing
            model.add(x == 0)
            return 0
        head, tail = 0, sum(paths)
        opened: Variable = 0
        for s, longest in zip(stages, paths, strict=True):
            if longest == 0:
                continue  # tasks of no length find a processor at any instant: see `_in_order`
            closed = model.new_int_var(head + longest, horizon - tail + longest, f"end[{j},{s}]")
            last: dict[int, Variable] = {}
            for i in range(int(tasks.first_task[s]), int(tasks.first_task[s + 1])):
                length = int(lengths[i])
                if length == 0:
                    continue
                start = model.new_int_var(head, horizon - tail + longest - length, f"start[{i}]")
                self.starts[i] = start
                model.add(start >= opened)  # the barrier between stages
                model.add(start + length <= closed)
                self._intervals.append(
                    model.new_optional_fixed_size_interval_var(start, length, x, f"task[{i}]")
                )
                if length in last:  # equal tasks of a stage run in the file's order
                    model.add(last[length] <= start)
                last[length] = start
            opened, head, tail = closed, head + longest, tail - longest
        return opened

    def _earned(self, j: int) -> Variable:
        """Return what a job earns: R_j x_j, where being run means completing by the deadline."""
        reward, x, night = self.rewards[j], self._x[j], self.instance
        if len(night.late) < 2:
            return reward * x
        return self._earned_late(j, reward, x)

    def _earned_late(self, j: int, reward: int, x: cp_model.IntVar) -> Variable:
        """Return U_D of a job's completion, in units, rounded down along the slopes of ``late``."""
        model, grid, night = self.model, self.grid, self.instance
        earned = model.new_int_var(0, reward, f"earned[{j}]")
        in_time = model.new_bool_var(f"in time[{j}]")
        model.add(self.ends[j] <= grid.deadline).only_enforce_if(in_time)
        pieces: list[Variable] = [in_time]
        for (a, high), (b, low) in zip(night.late, night.late[1:], strict=False):
            piece = model.new_bool_var(f"late by {a:g} to {b:g}[{j}]")
            start, end = round(a * grid.scale), max(round(b * grid.scale), 1)
            most, least = int(reward * high), int(reward * low)
            late = self.ends[j] - grid.deadline
            model.add(late <= end).only_enforce_if(piece)
            model.add(late >= start).only_enforce_if(piece)
            fall = (most - least) * (late - start)
            model.add((earned - most) * (end - start) + fall <= 0).only_enforce_if(piece)
            pieces.append(piece)
        model.add(sum(pieces) == x)
        model.add(earned == 0).only_enforce_if(x.negated())
        return earned

    def add(self, *constraints: Constraint) -> Self:
        """Add side constraints to those of the instance.

        Raises
        ------
        InputError
            If one names a job or group that does not exist, has a name that is taken, or is of a
            kind that a schedule cannot take.
        """
        began = time.perf_counter()
        together = [*self.instance.constraints, *self.added, *constraints]
        check_names(together)
        check_references(together, self.instance.index, self.instance.groups)
        native = self.native
        for constraint in constraints:
            position = len(self.instance.constraints) + len(self.added)
            self._state(constraint, label(constraint, position))
            self.added.append(constraint)
        self.stated(native)
        self.seconds += time.perf_counter() - began
        return self

    def _state(self, constraint: Constraint, name: str) -> None:
        """State a side constraint, asked for by a literal of its own."""
        from ortools.sat.python import cp_model

        model = self.model
        refuse_seats([constraint], "schedule")
        asked = self.literal(name)
        for row in rows(constraint, self.instance, self.instance.exact_capacity()):
            literals: list[Variable] = [asked]
            if row.unless_all:
                lifted = model.new_bool_var(f"lifted[{name},{row.what}]")
                model.add_bool_and([self._x[j] for j in row.unless_all]).only_enforce_if(lifted)
                literals.append(lifted.negated())
            for whole in whole_rows(row):
                self.exact = self.exact and whole.exact
                body = cp_model.LinearExpr.weighted_sum(
                    [self._x[j] for j in whole.jobs], list(whole.coefficients)
                )
                if whole.lower is not None:
                    model.add(body >= whole.lower).only_enforce_if(literals)
                if whole.upper is not None:
                    model.add(body <= whole.upper).only_enforce_if(literals)

    def adopt(self, solution: Scheduled) -> Scheduled:
        """Return the schedule of those jobs alone that a known schedule completes by the horizon.

        Replaying tasks in the order of their starts, without some of them, starts none later.
        """
        index, tasks = self.instance.index, self.instance.tasks
        worth = self.instance.worth
        jobs = [index[n] for n, end in solution.completion.items() if worth(index[n], end) > 0]
        begin = np.full(len(tasks.lengths), np.inf)
        for task in solution.tasks:
            first = tasks.first_task[tasks.first_stage[index[task.job]] + task.stage]
            begin[first + task.task] = task.start
        return self._replayed(jobs, begin)

    def hint(self, solution: Scheduled) -> Hints:
        """Yield x_j of every job and the starts of the tasks that are run, in units."""
        run = set(solution.selected)
        for name, x in self.x.items():
            yield x, float(name in run)
        index, tasks = self.instance.index, self.instance.tasks
        begin = np.full(len(tasks.lengths), np.inf)
        for task in solution.tasks:
            first = tasks.first_task[tasks.first_stage[index[task.job]] + task.stage]
            begin[first + task.task] = task.start
        starts, _ = self._in_order([index[n] for n in run], begin, self.grid.lengths)
        for i in np.flatnonzero(np.isfinite(begin)):
            if not isinstance(self.starts[i], int):
                yield self.starts[i], float(starts[i])

    def decode(self, value: Value) -> Scheduled:
        """Turn values of the variables into a schedule, in the lengths as they are given."""
        jobs = [j for j, x in enumerate(self._x) if value(x) > 0.5]
        begin = np.array([v if isinstance(v, int) else value(v) for v in self.starts], dtype=float)
        return self._replayed(jobs, begin)

    def _replayed(self, jobs: list[int], begin: Any) -> Scheduled:
        starts, processors = self._in_order(jobs, begin, self.instance.tasks.lengths)
        return scheduled(self.instance, jobs, starts, processors)

    def _in_order(self, jobs: list[int], begin: Any, lengths: Any) -> tuple[Variable, Any]:
        """Place tasks in the order of given starts, each as early as its stage and a processor let.

        With lengths that are no longer than those behind the given starts, none starts later. A
        task of no length takes the place where a longer one of its stage starts, or else where the
        stage before has ended: there a processor is between two tasks.
        """
        tasks = self.instance.tasks
        stage_of, job_of = tasks.stage_of, tasks.job_of
        mine = np.flatnonzero(np.isin(job_of, jobs))
        long = mine[lengths[mine] > 0]
        order = long[np.lexsort((long, stage_of[long], begin[long]))]
        zero = 0 * lengths[0] if len(lengths) else 0
        free = [(zero, p) for p in range(max(1, min(self.instance.processors, len(order))))]
        first: dict[int, tuple[Variable, int]] = {}
        last: dict[int, tuple[Variable, int]] = {}
        starts = np.zeros(len(lengths), dtype=lengths.dtype)
        processors = np.full(len(lengths), -1, dtype=np.int64)

        def opens(s: int) -> tuple[Variable, int]:
            """When and where the stage before has ended."""
            while s > tasks.first_stage[tasks.job_of_stage[s]]:
                s -= 1
                if s in last:
                    return last[s]
            return zero, 0

        for i in order:
            s = int(stage_of[i])
            at, p = free[0]
            starts[i], processors[i] = max(at, opens(s)[0]), p
            end = starts[i] + lengths[i]
            first.setdefault(s, (starts[i], p))
            last[s] = max(last.get(s, (zero, 0)), (end, p))
            heapreplace(free, (end, p))
        for i in mine[lengths[mine] == 0]:
            s = int(stage_of[i])
            starts[i], processors[i] = first.get(s) or opens(s)
        return starts, processors
