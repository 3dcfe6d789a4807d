"""Schedule: which jobs to run and when, as optional intervals under cumulative constraints."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import floor, gcd
from typing import TYPE_CHECKING, ClassVar, Literal

import msgspec
import numpy as np

from schedopt.formulations.cp_sat import WholeModel
from schedopt.formulations.dssp.capacity import MachineCapacity, TaskVariables
from schedopt.formulations.dssp.columns import JobColumns, rows_of
from schedopt.formulations.dssp.grid import Grid, GridRow, whole_rewards, whole_rows
from schedopt.formulations.dssp.rows import Row
from schedopt.formulations.dssp.selection import Selection
from schedopt.formulations.protocol import Hints, Settings, Value, Variable
from schedopt.instances import dssp
from schedopt.instances.constraints import Constraint, Seats
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp.machine import in_order
from schedopt.instances.errors import expect
from schedopt.instances.options import Option

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


class Schedule(WholeModel):
    """Choose and schedule the jobs whose rewards by their completion times sum to the most.

    Tasks are scheduled with their given lengths, not with predicted demands. The jobs of the
    solution are those that earn something or that side constraints ask for; all of them complete
    by their horizon.

    Parameters
    ----------
    night : Instance
        With stages for every job; its side constraints are part of the model.

    Attributes
    ----------
    model : cp_model.CpModel
        The CP-SAT model, see Notes, built when it is first asked for; users can change it.
    x : dict of str to IntVar
        Whether each job runs.
    starts : list
        The start of each task, in units of 1/`grid.scale`.

    Raises
    ------
    InputError
        If a job has no stages.

    Notes
    -----
    With x_j = 1 if job j runs, s_i and p_i the start and the length of task i, w_j the processors
    of each task of job j, C_j the completion time, and h_j the horizon of job j::

        maximize    sum_j R_j u(C_j) x_j
        subject to  s_i >= r_j                                task i of job j
                    s_i >= s_k + p_k                          task k in an earlier stage than i
                    s_i >= C_k, x_j <= x_k                    job j after job k
                    s_i + p_i <= C_j <= h_j                   task i of job j
                    sum_{tasks at time t} w_j <= P(t)         each time t: a cumulative constraint
                    the same for resources, seats, and the most processors of each job
                    side constraints on x

    u is 1 until the job's deadline, and then falls as ``late`` says. Source: Anderson et al., SPAA
    2005, section 2, and ``docs/problems/dssp-machine.md``. If P(t) is not constant, the blocks of
    `capacity` let tasks keep their processors. Several `objectives` are maximized one after
    another, each by a model of its own.
    """

    problem: ClassVar[str] = "dssp"
    name: ClassVar[str] = "schedule"
    sense: ClassVar[Literal["maximize", "minimize"]] = "maximize"
    known_options: ClassVar[Mapping[str, Option]] = {}
    elsewhere: ClassVar[Mapping[str, str]] = {
        "risk": "a formulation that takes it: choose with `selection`, which is dispatched "
        "(schedopt plan --risk)"
    }
    inexact: ClassVar[str] = "among schedules on a grid that rounds lengths up"

    def __init__(self, night: dssp.Instance) -> None:
        began = time.perf_counter()
        super().__init__(night)
        dssp.refuse_nights(night, "schedule")
        expected = "no payment of late jobs beside several objectives"
        expect(not (night.late and self.ordered), expected, list(night.late), "late")
        self.grid = Grid.of(night)
        self.rewards, self.reward_scale, self._lost = whole_rewards(night, self.grid)
        self.exact = self.grid.exact
        self.columns = JobColumns(night)
        self._rows: dict[str, list[Row]] = {}
        for name, rule in self.rules.items():
            self._accept_rule(rule, name)
        self.seconds = time.perf_counter() - began

    @property
    def ordered(self) -> bool:
        """Whether there are objectives after the reward."""
        return len(self.instance.objectives) > 1

    @property
    def options(self) -> Settings:
        """The scale, in units per unit of time, and what it costs."""
        return {"scale": self.grid.scale, "exact": self.exact, "rounding": self.grid.rounding}

    @property
    def loss(self) -> int:
        """Units of reward that rounding may cost; in a changed model, late payments too."""
        late = len(self.instance.late) > 1 and self.changed
        return max(self._lost, 2 * len(self.instance.jobs) * late)

    @property
    def _variables(self) -> TaskVariables:
        """The variables of the model, which is built if need be."""
        self.model  # noqa: B018 - builds it
        return self._tasks

    @property
    def x(self) -> dict[str, cp_model.IntVar]:
        """Whether each job runs, by name."""
        return dict(zip(self.instance.index, self._variables.x, strict=True))

    @property
    def starts(self) -> list[Variable]:
        """The start of each task, in units; 0 for tasks without a length."""
        return self._variables.starts

    @property
    def ends(self) -> list[Variable]:
        """The completion time of each job, in units."""
        return self._variables.ends

    @property
    def earned(self) -> Variable:
        """The total reward, in units of 1/`reward_scale`."""
        self.model  # noqa: B018 - builds it
        return self._earned

    @property
    def seats(self) -> list[Seats]:
        """The side constraints on what running tasks hold."""
        return [rule for rule in self.rules.values() if isinstance(rule, Seats)]

    @cached_property
    def before(self) -> list[list[int]]:
        """The predecessors of each job."""
        return [[self.instance.index[name] for name in job.after] for job in self.instance.jobs]

    @cached_property
    def in_order(self) -> list[int]:
        """The jobs in a topological order."""
        if "after" not in self.instance.features:
            return list(range(len(self.instance.jobs)))
        return in_order(self.instance.jobs, self.instance.index)[0]

    def _build(self) -> None:
        """State the model of the Notes: variables, stages, capacity, objective."""
        night, model = self.instance, self.model
        expected = "`reward` alone: the model of CP-SAT has one objective"
        expect(not self.ordered, expected, list(night.objectives), "objectives")
        self._tasks = TaskVariables(
            model,
            x=[model.new_bool_var(f"x[{job.name}]") for job in night.jobs],
            starts=[0] * len(self.grid.lengths),
            ends=[0] * len(night.jobs),
        )
        for j in self.in_order:
            self._tasks.ends[j] = self._add_stages(j)

        self._machine = machine = MachineCapacity(night, self.grid, self._tasks)
        machine.add_pools()
        machine.add_resources()
        machine.add_job_limits()
        self.exact = self.exact and machine.exact
        self._add_implied_rows()

        self._earned = sum(self._reward_of(j) for j in range(len(night.jobs)))
        model.maximize(self._earned)

    def _add_implied_rows(self) -> None:
        """State the rows of the selection that bounds the schedule; they speed up the search."""
        above = Selection(msgspec.structs.replace(dssp.bounding(self.instance), constraints=()))
        for closed in np.flatnonzero(~above.open).tolist():
            self.model.add(self._tasks.x[closed] == 0)
        for whole in (whole for row in above.own_rows for whole in whole_rows(row)):
            if whole.exact and whole.upper is not None:
                self.model.add(self._body_of(whole) <= whole.upper)

    def _body_of(self, row: GridRow) -> Variable:
        """Return the sum of a row."""
        from ortools.sat.python import cp_model

        x = [self._tasks.x[j] for j in row.jobs]
        return cp_model.LinearExpr.weighted_sum(x, list(row.coefficients))

    def _add_stages(self, j: int) -> Variable:
        """State the tasks of a job, stage after stage, and return its completion time."""
        tasks, model, x = self.instance.tasks, self.model, self._tasks.x[j]
        release, horizon = int(self.grid.releases[j]), int(self.grid.horizons[j])
        stages = range(int(tasks.first_stage[j]), int(tasks.first_stage[j + 1]))
        lengths = self.grid.lengths
        paths = [int(lengths[tasks.first_task[s] : tasks.first_task[s + 1]].max()) for s in stages]
        if release + sum(paths) > horizon:  # T_∞(j) does not fit: it can earn nothing
            model.add(x == 0)
            return 0
        head, tail = release, sum(paths)
        opened: Variable = release
        if self.before[j]:
            opened = model.new_int_var(release, horizon - tail, f"opened[{j}]")
            for other in self.before[j]:
                model.add_implication(x, self._tasks.x[other])
                model.add(opened >= self._tasks.ends[other]).only_enforce_if(x)
        for s, longest in zip(stages, paths, strict=True):
            if longest == 0:
                continue  # tasks without a length need no processor
            closed = model.new_int_var(head + longest, horizon - tail + longest, f"end[{j},{s}]")
            last: dict[int, Variable] = {}
            for i in range(int(tasks.first_task[s]), int(tasks.first_task[s + 1])):
                length = int(lengths[i])
                if length == 0:
                    continue
                start = model.new_int_var(head, horizon - tail + longest - length, f"start[{i}]")
                self._tasks.starts[i] = start
                model.add(start >= opened)  # the barrier between stages
                model.add(start + length <= closed)
                self._tasks.intervals.append(
                    model.new_optional_fixed_size_interval_var(start, length, x, f"task[{i}]")
                )
                self._tasks.job_of.append(j)
                self._tasks.task_of.append(i)
                if length in last:  # equal tasks of a stage run in the file's order
                    model.add(last[length] <= start)
                last[length] = start
            opened, head, tail = closed, head + longest, tail - longest
        return opened

    def _reward_of(self, j: int) -> Variable:
        """Return the reward of a job: R_j x_j, since jobs that run complete by the deadline.

        If late jobs are paid too, it is R_j u(C_j) in units, rounded down along the slopes of u.
        """
        reward, x, night = self.rewards[j], self._tasks.x[j], self.instance
        if len(night.late) < 2:
            return reward * x
        model, grid = self.model, self.grid
        earned = model.new_int_var(0, reward, f"earned[{j}]")
        in_time = model.new_bool_var(f"in time[{j}]")
        deadline = int(grid.deadlines[j])
        model.add(self._tasks.ends[j] <= deadline).only_enforce_if(in_time)
        pieces: list[Variable] = [in_time]
        for (a, high), (b, low) in zip(night.late, night.late[1:], strict=False):
            piece = model.new_bool_var(f"late by {a:g} to {b:g}[{j}]")
            start, end = round(a * grid.scale), max(round(b * grid.scale), 1)
            most, least = (floor(reward * as_written(part)) for part in (high, low))
            late = self._tasks.ends[j] - deadline
            model.add(late <= end).only_enforce_if(piece)
            model.add(late >= start).only_enforce_if(piece)
            unit = gcd(most - least, end - start) or 1
            fall = (most - least) // unit * (late - start)
            model.add((earned - most) * ((end - start) // unit) + fall <= 0).only_enforce_if(piece)
            pieces.append(piece)
        model.add(sum(pieces) == x)
        model.add(earned == 0).only_enforce_if(x.negated())
        return earned

    def _accept_rule(self, rule: Constraint, name: str) -> None:
        """Keep the rows of a side constraint; raise `InputError` if it does not apply."""
        declared = rows_of(rule, self.columns)
        if isinstance(rule, Seats):  # a cumulative constraint implies the rows between two times
            declared = [row for row in declared if len(row.columns) == 1 and row.upper == 0]
        self._rows[name] = declared

    def _state(self, rule: Constraint, name: str) -> None:
        """State a side constraint, enforced by a literal of its own."""
        model, asked = self.model, self.literal(name)
        if isinstance(rule, Seats):
            self._limit_seats(rule, asked)
        for row in self._rows[name]:
            literals: list[Variable] = [asked]
            if row.unless:
                lifted = model.new_bool_var(f"lifted[{name},{row.what}]")
                every = [self._tasks.x[j] for (j,) in row.unless]
                model.add_bool_and(every).only_enforce_if(lifted)
                literals.append(lifted.negated())
            for whole in whole_rows(row):
                self.exact = self.exact and whole.exact
                body = self._body_of(whole)
                if whole.lower is not None:
                    model.add(body >= whole.lower).only_enforce_if(literals)
                if whole.upper is not None:
                    model.add(body <= whole.upper).only_enforce_if(literals)

    def _limit_seats(self, rule: Seats, asked: cp_model.IntVar) -> None:
        """State that running tasks hold no more seats than there are, while enforced."""
        names = list(self.instance.index)
        held = [rule.use.get(names[j], 0) for j in self._tasks.job_of]
        intervals = [v for v, use in zip(self._tasks.intervals, held, strict=True) if use]
        uses = [use for use in held if use]
        if sum(uses) > rule.capacity:
            spare = sum(uses) - rule.capacity
            capacity = rule.capacity + spare - spare * asked
            self.model.add_cumulative(intervals, uses, capacity)

    def _running_tasks(self, solution: dssp.Scheduled) -> dict[int, dssp.PlacedTask]:
        index, tasks = self.instance.index, self.instance.tasks
        stages = (
            (task, tasks.first_stage[index[task.job]] + task.stage) for task in solution.tasks
        )
        return {int(tasks.first_task[stage]) + task.task: task for task, stage in stages}

    def hint(self, solution: dssp.Scheduled) -> Hints:
        """Yield x_j of every job and the starts of the tasks that are run, in units."""
        index, grid, ends = self.instance.index, self.grid, solution.completion
        run = {n for n in ends if floor(ends[n] * grid.scale) <= grid.horizons[index[n]]}
        for name, x in self.x.items():
            yield x, float(name in run)
        tasks = self._running_tasks(solution)
        for i, task in tasks.items():
            if not isinstance(self.starts[i], int):
                yield self.starts[i], round(task.start * grid.scale)

    def decode(self, value: Value) -> dssp.Scheduled:
        """Turn values of the variables into a schedule, in the given lengths."""
        starts, x = self.starts, self._variables.x
        run = [j for j, variable in enumerate(x) if value(variable) > 0.5]
        begin = [start if isinstance(start, int) else round(value(start)) for start in starts]
        return self.schedule_at(run, begin, self._machine.processors(value, set(run), begin))

    def schedule_at(
        self, run: Sequence[int], begin: list[int], on: Mapping[int, Sequence[int]]
    ) -> dssp.Scheduled:
        """Return the schedule of some jobs whose tasks start at given times, in units.

        Those of no length do as soon as they can; ``on`` has the processors of all others.
        """
        night, lengths, ended = self.instance, self.grid.lengths, dict[int, int]()
        stages = night.tasks.stage_of.tolist()
        for i in on:
            ended[stages[i]] = max(ended.get(stages[i], 0), begin[i] + int(lengths[i]))
        for i in np.flatnonzero(lengths == 0).tolist():
            begin[i] = self.opens(stages[i], ended)
        places = np.zeros(len(begin), dtype=np.int64)
        for i, numbers in on.items():
            places[i] = numbers[0]
        starts = np.array(begin, dtype=float) / self.grid.scale
        several = {i: tuple(numbers) for i, numbers in on.items() if len(numbers) > 1}
        return dssp.scheduled(night, run, starts, places, several=several)

    def opens(self, stage: int, ended: Mapping[int, int]) -> int:
        """Return when a stage opens: after its job's release, stages before it, and other jobs."""
        j = int(self.instance.tasks.job_of_stage[stage])
        first = int(self.instance.tasks.first_stage[j])
        before = [ended[s] for s in range(first, stage) if s in ended]
        done = () if before else (self._completion_of(other, ended) for other in self.before[j])
        return max(int(self.grid.releases[j]), 0, *before, *done)

    def _completion_of(self, j: int, ended: Mapping[int, int]) -> int:
        """Return when a job completes; where all its tasks have no length, when it is opened."""
        first, after = map(int, self.instance.tasks.first_stage[j : j + 2])
        ends = [ended[s] for s in range(first, after) if s in ended]
        return max(ends) if ends else self.opens(first, ended)

    @property
    def side_rows(self) -> list[tuple[str, Row]]:
        """The rows of the side constraints, under their names, without seats."""
        return [(name, row) for name in self.rules for row in self._rows[name]]
